// SPDX-License-Identifier: MIT
//
// check_trace.js TRACE.json PROFILE.json RUNS: hold a trace of npu-run against the rules of the
// format and against the same model's profile. Prints a line per thing that is wrong, then a
// summary.
const fs = require('fs');
const [tracePath, profilePath, runs] = process.argv.slice(2);
const trace = JSON.parse(fs.readFileSync(tracePath));
const profile = JSON.parse(fs.readFileSync(profilePath));
const events = trace.traceEvents, eps = 2e-3;	// times are whole nanoseconds, in microseconds
let wrong = 0;

function check(ok, text) {
	if (ok)
		return;
	wrong++;
	console.log(`wrong: ${text}`);
}

for (const e of events) {
	check('XCM'.includes(e.ph) && e.pid === 1 && typeof e.name === 'string' &&
		Number.isInteger(e.tid), `event ${JSON.stringify(e)}`);
	check(e.ph === 'M' || e.ts >= 0, `time of ${e.name}`);
	check(e.ph !== 'X' || e.dur >= 0, `duration of ${e.name}`);
}

// On a track slices begin in order, and each lies within the one it began in, or behind it.
const slices = events.filter(e => e.ph === 'X');
for (const tid of new Set(slices.map(e => e.tid))) {
	const open = [];
	let last = 0;
	for (const e of slices.filter(e => e.tid === tid)) {
		check(e.ts >= last - eps, `${e.name} begins at ${e.ts}, before ${last}`);
		last = e.ts;
		while (open.length && open.at(-1).ts + open.at(-1).dur <= e.ts + eps)
			open.pop();
		check(!open.length || e.ts + e.dur <= open.at(-1).ts + open.at(-1).dur + eps,
			`${e.name} at ${e.ts} leaves ${open.length && open.at(-1).name}`);
		e.depth = open.length;
		open.push(e);
	}
	check(events.some(e => e.ph === 'M' && e.name === 'thread_name' && e.tid === tid),
		`track ${tid} has no name`);
}

const of = cat => slices.filter(e => e.cat === cat);
const sum = (list, f) => list.reduce((n, x) => n + f(x), 0);
const insns = of('instruction').concat(of('host')), layers = of('layer'), jobs = of('job');
check(jobs.length === +runs, `${jobs.length} jobs, want ${runs}`);
check(of('program').length === 2 * runs, 'a submit and a wait per run');
check(of('instruction').every(e => e.depth === 2) && layers.every(e => e.depth === 1) &&
	jobs.every(e => e.depth === 0), 'depth of slices');
for (const key of ['macs', 'bytes']) {
	const want = runs * sum(profile.layers, l => l[key]);
	check(sum(insns, e => e.args[key]) === want,
		`${key} of instructions: ${sum(insns, e => e.args[key])}, the profile has ${want}`);
	check(sum(layers, e => e.args[key]) + sum(of('host'), e => e.args[key]) === want,
		`${key} of layers`);
}
check(insns.length === runs * sum(profile.layers, l => l.instructions), 'number of instructions');
check([...new Set(insns.map(e => e.args.node))].sort().join() ===
	[...new Set(profile.layers.map(l => l.node))].sort().join(), 'names of nodes');
for (const e of insns)
	check(!e.dur || Math.abs(e.args.gmacs_per_s - e.args.macs / e.dur / 1e3) <=
		1e-9 * e.args.gmacs_per_s + 1e-12, `GMAC/s of ${e.args.node}`);
const time = sum(insns, e => e.dur), all = sum(jobs, e => e.dur);
check(time <= all + eps, `instructions take ${time}, jobs ${all}`);
for (const name of ['GMAC/s', 'GB/s']) {
	const c = events.filter(e => e.ph === 'C' && e.name === name);
	check(c.length >= runs && c.at(-1).args.value === 0, `counter ${name}`);
	check(c.every((e, i) => !i || e.ts >= c[i - 1].ts - eps), `times of counter ${name}`);
}
console.log(
	`${wrong} wrong in ${events.length} events: ${jobs.length} jobs, ${layers.length} layers, ${insns.length} instructions`);
