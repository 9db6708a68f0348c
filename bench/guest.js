#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// guest.js [--kernel 7.3] [--rounds 10] [--threads 1] [--iommu none,intel] [--vdev PROGRAM]
//          [--only noop,flight,trace,model,stream,recover] [--keep 1]
//
// The driver in a guest, held against what it may cost: two devices, one of them in echo mode for
// the floor (bench/guest/npu_floor.c); models and a large copy in the guest and in process by
// turns. Prints medians, ratios within this run, the targets, and how busy the machine was. The
// guest's requests (bench/guest/main.c):
//	sim ARGUMENT...		the same benchmark in process on the host, one round
//	fault NAME		arm a fault of the device; "kill": kill its worker
//	counters		the device's counters
'use strict';
const { execFileSync, spawn } = require('child_process');
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');

const root = path.join(__dirname, '..');
const build = process.env.NPU_BUILD ?? path.join(root, 'build');
const models = process.env.NPU_MODELS ?? path.join(root, 'build/models');
const tool = name => path.join(build, name);
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-guest-'));
const share = path.join(work, 'share');

const jobs = [
	{ name: 'det640', model: 'det.onnx', args: ['--shape', 'x=1x3x640x640'], count: 3 },
	{ name: 'rec', model: 'rec.onnx', args: ['--shape', 'x=1x3x48x320'], count: 8 },
	{ name: 'faces', model: 'blazeface_front.onnx', args: [], count: 12 },
];
const faults = ['hang', 'firmware-crash', 'worker-abort', 'kill'];
const depth = 32, noops = 50;
const batches = [1, 8, 16, 32];		// as in bench/guest/noop.c

function option(name, fallback)
{
	const at = process.argv.indexOf(`--${name}`);
	return at < 0 ? fallback : process.argv[at + 1];
}

const rounds = Number(option('rounds', 10));
const threads = Number(option('threads', 1));
const kernel = option('kernel', '7.3');
const vdev = option('vdev', tool('npu-vdev'));
const only = option('only', 'noop,flight,trace,model,stream,recover').split(',');

const sorted = v => v.slice().sort((a, b) => a - b);
const quantile = (v, q) => sorted(v)[Math.min(v.length - 1, Math.floor(q * v.length))];
const median = v => quantile(v, 0.5);
const fixed = (v, q) => quantile(v, q).toFixed(1);
const spread = v => `${fixed(v, 0.5)} us (10% ${fixed(v, 0.1)}, 90% ${fixed(v, 0.9)})`;
const load = () => os.loadavg().map(l => l.toFixed(1)).join(' ');

function verdict(text, value, target, atMost)
{
	const good = atMost ? value <= target : value >= target;
	const bound = `${atMost ? 'at most' : 'at least'} ${target}`;

	console.log(
		`  ${good ? 'met   ' : 'MISSED'} ${text}: ${value.toFixed(2)}, target ${bound}`);
}

// --- what the guest asks for ---

function control(...words)
{
	return execFileSync(tool('npu-vdev'), ['--ctl', path.join(work, 'npu.ctl'), ...words],
		{ encoding: 'utf8' });
}

// There is no answer to this one, and no time to lose.
function kill_worker()
{
	const socket = net.connect(path.join(work, 'npu.ctl'), () => socket.end('kill\n'));
	socket.on('error', () => {});
}

const requests = {
	sim: words => execFileSync(tool('bench/guest_bench'), words[0] === 'model' ?
		['model', `sim:threads=${threads}`, path.join(share, path.basename(words[1])), '1',
			words[2]] :
		['stream', `sim:threads=${threads}`, '1', words[1]], { encoding: 'utf8' }).trim(),
	fault: ([name]) =>
		name === 'kill' ? kill_worker() ?? 'killed' : control('arm', name).trim(),
	counters: () => control('counters').trim(),
};

function serve(line, socket)
{
	const [verb, ...words] = line.split(' ');
	try {
		socket.write(`0 ${requests[verb](words).replace(/\s*\n\s*/g, ' ')}\n`);
	} catch (e) {
		socket.write(`1 ${String(e.message).replace(/\s+/g, ' ')}\n`);
	}
}

// Connect to the guest's port as soon as QEMU has made it.
function listen(tries = 600)
{
	const socket = net.connect(path.join(work, 'host.sock'));
	let text = '';

	socket.on('data', data => {
		const lines = (text + data).split('\n');
		text = lines.pop();
		for (const line of lines)
			serve(line, socket);
	});
	socket.on('error', () => tries > 0 && setTimeout(listen, 100, tries - 1));
}

// --- the guest ---

// start_device NAME OPTION...: resolves when it listens.
async function start_device(name, ...options)
{
	const socket = path.join(work, `${name}.sock`);
	const log = path.join(work, `${name}.log`);
	const child = spawn(vdev, ['--socket', socket, '--log', log, ...options],
		{ stdio: 'inherit' });

	for (let i = 0; i < 200 && !fs.existsSync(socket); i++)
		await new Promise(done => setTimeout(done, 50));
	return { socket, child };
}

function stop_device(device)
{
	const gone = new Promise(done => device.child.on('exit', done));

	device.child.kill();
	return gone;
}

function guest_script()
{
	const b = '/mnt/host/guest_bench';
	const tracing = '/sys/kernel/tracing';
	const clock = '/sys/devices/system/clocksource/clocksource0/current_clocksource';
	// Lines "mcu-insns: N" as JSON.
	const counters = '/sys/kernel/debug/accel/*/counters';
	const insns = `sed -n 's/^mcu-insns: \\(.*\\)/{"what":"insns","count":\\1}/p' ${counters}`;
	const lines = ['cd /mnt/host', 'insmod npu_floor-$(uname -r).ko || exit 1',
		`echo "{\\"what\\":\\"guest\\",\\"kernel\\":\\"$(uname -r)\\",\\"clock\\":\\"$(cat ${clock})\\"}"`];
	const parts = {
		noop: [insns, `${b} noop ${rounds} ${noops}`, insns],
		flight: [`${b} flight ${rounds} 256 ${depth}`],
		trace: [`mount -t tracefs none ${tracing} 2>/dev/null; cd ${tracing}; echo mono >trace_clock`,
			'echo 1 >events/npu/enable', `${b} trace 100`, 'echo 0 >events/npu/enable',
			`grep -E 'npu_(job|fw)' trace | sed 's/^/trace: /'`, 'cd /mnt/host'],
		model: jobs.map(j =>
			`${b} model /dev/accel/accel0 ${j.name}.npu ${rounds} ${j.count}`),
		stream: [`${b} stream /dev/accel/accel0 ${rounds} 5`],
		recover: faults.map(f => `${b} recover ${f} 3`),
	};

	for (const part of only)
		lines.push(...parts[part]);
	return lines.join('\n');
}

function prepare()
{
	fs.mkdirSync(share);
	fs.copyFileSync(tool('bench/guest_bench'), path.join(share, 'guest_bench'));
	fs.chmodSync(path.join(share, 'guest_bench'), 0o755);
	const dir = tool('guest/modules');
	for (const k of fs.readdirSync(dir)) {
		const file = path.join(dir, k, 'guest/npu_floor.ko');
		if (fs.existsSync(file))
			fs.copyFileSync(file, path.join(share, `npu_floor-${k}.ko`));
	}
	if (only.includes('model'))
		for (const j of jobs)
			execFileSync(tool('npu-compile'),
				     [path.join(models, j.model), ...j.args, '-o',
				      path.join(share, `${j.name}.npu`)],
				     { stdio: ['ignore', 'ignore', 'inherit'] });
}

// Resolves to the lines that the guest printed.
function run_guest(devices, iommu)
{
	const file = path.join(work, `out-${iommu}`);
	const out = fs.openSync(file, 'w');		// QEMU opens it again: it can not be a pipe
	const qemu = spawn(tool('npu-qemu'),
			   ['--kernel', kernel, '--iommu', iommu, '--memory', '2G', '--share',
			    share, '--run', work, ...devices.flatMap(d => ['--attach', d.socket]),
			    '--timeout', '1500', '--cmd', guest_script()],
			   { stdio: ['ignore', out, 'inherit'] });

	listen();
	return new Promise(done => qemu.on('close', status => {
		fs.closeSync(out);
		done({ status, lines: fs.readFileSync(file, 'utf8').split(/\r?\n/) });
	}));
}

// --- what it means ---

const all = (records, key) => records.flatMap(r => r[key] ?? []);

function report_noop(records)
{
	const noop = records.filter(r => r.what === 'noop');
	const floor = records.filter(r => r.what === 'floor');
	const total = all(noop, 'total'), jobs = all(floor, 'jobs');

	if (!total.length || !jobs.length)
		return;
	console.log(`empty job, submit to fence, ${total.length} of each`);
	console.log(`  driver, ioctl to awake     ${spread(total)}`);
	console.log(`    of it the SUBMIT ioctl   ${spread(all(noop, 'submit'))}`);
	console.log(`    of it on the engine      ${spread(all(noop, 'engine'))}`);
	console.log(`  floor, drm_sched and echo  ${spread(jobs)}`);
	console.log(`  doorbell to interrupt      ${spread(all(floor, 'doorbells'))}`);
	const [from, to] = records.filter(r => r.what === 'insns').map(r => r.count);
	console.log(
		`  instructions of the firmware for each job: ${((to - from) / total.length).toFixed(0)}`);
	verdict('driver / floor', median(total) / median(jobs), 1.5, true);
}

function report_flight(records)
{
	const flight = records.filter(r => r.what === 'flight');

	if (!flight.length)
		return;
	const rate = key => median(flight.map(r => r[key])).toFixed(0);
	const ratio = key => median(flight.map(r => r[key] / r.serial));

	console.log(
		`empty jobs per second: serial ${rate('serial')}; ${depth} in flight, by calls of ` +
		batches.map(b => `${b}: ${rate(b)} (${ratio(b).toFixed(1)})`).join(', '));
	verdict('in flight / serial, a call each', ratio(1), 5, false);
	verdict(`in flight / serial, ${depth} in a call`, ratio(depth), 5, false);
}

// Events of the kernel's trace by job: microseconds of CLOCK_MONOTONIC.
function trace_events(lines)
{
	const events = {};

	for (const line of lines) {
		const m = /^trace: .* ([0-9]+\.[0-9]+): (npu_\w+): .*\bjob=([0-9]+)/.exec(line);
		if (m)
			(events[m[3]] ??= {})[m[2]] = Number(m[1]) * 1e6;
	}
	return events;
}

function report_trace(records, lines)
{
	const traces = records.filter(r => r.what === 'trace');
	const events = trace_events(lines);
	const steps = [
		['ioctl to run_job', (r, e) => e.npu_job_run - r.begin],
		['run_job (doorbell) to engine', (r, e) => r.started - e.npu_job_run],
		['engine', r => r.ended - r.started],
		['engine to the message being read', (r, e) => e.npu_fw_msg - r.ended],
		['these three, by one clock', (r, e) => e.npu_fw_msg - e.npu_job_run],
		['message to fence', (r, e) => e.npu_job_end - e.npu_fw_msg],
		['fence to awake', (r, e) => r.woken - e.npu_job_end],
		['all of it, traced', r => r.woken - r.begin],
	];
	const rows = traces.filter(r => events[r.job]?.npu_job_end);

	if (!rows.length)
		return;
	console.log(`where an empty job's time goes, ${rows.length} with tracepoints; ` +
		`the device's clock is known within ${median(rows.map(r => r.within)).toFixed(0)} us`);
	for (const [name, value] of steps)
		console.log(
			`  ${name.padEnd(33)} ${spread(rows.map(r => value(r, events[r.job])))}`);
}

// What else runs makes a run longer, never shorter: of a round the best counts, of the rounds the
// median.
function report_pair(records, name, doorbell)
{
	const mine = records.filter(r => r.what === name);
	const guest = mine.filter(r => r.where === 'guest');
	const here = mine.filter(r => r.where === 'process');
	const best = (list, key) => median(list.map(r => Math.min(...r[key])));

	if (!guest.length || !here.length)
		return null;
	console.log(
		`${name}: ${guest.length} rounds of ${guest[0].total.length} in the guest and in process, ` +
		`us; medians of a round's best`);
	for (const [where, list] of [['guest', guest], ['in process', here]])
		console.log(
			`  ${where.padEnd(10)} submit to fence ${best(list, 'total').toFixed(0)}, of it on the engine ` +
			`${best(list, 'busy').toFixed(0)} (before it ${best(list, 'before').toFixed(0)}, ` +
			`behind it ${best(list, 'after').toFixed(0)})`);
	return {
		busy: best(guest, 'busy') / best(here, 'busy'),
		total: best(guest, 'total') / (best(here, 'total') + doorbell),
	};
}

function report_models(records)
{
	const doorbells = all(records.filter(r => r.what === 'floor'), 'doorbells');
	const doorbell = doorbells.length ? median(doorbells) : 0;

	for (const job of jobs) {
		const ratio = report_pair(records, `model ${job.name}.npu`, doorbell);
		if (!ratio)
			continue;
		verdict('on the engine, guest / in process', ratio.busy, 1.15, true);
		verdict('submit to fence, guest / (in process + doorbell to interrupt)',
			ratio.total, 1.15, true);
	}
}

function report_stream(records, iommu)
{
	const maps = records.filter(r => r.what === 'counters')
		.map(r => r.counters.counters['dma-maps']);
	const ratio = report_pair(records, 'stream', 0);

	if (!ratio || maps.length < 2)
		return;
	if (iommu === 'intel')
		verdict('messages that map a buffer of 64 MiB', maps[1] - maps[0], 64, true);
	verdict('speed of a copy of 64 MiB on the engine, guest / in process', 1 / ratio.busy,
		0.85, false);
	verdict('the same from submit to fence', 1 / ratio.total, 0.85, false);
}

function report_recover(records)
{
	const mine = records.filter(r => r.what === 'recover');

	if (mine.length)
		console.log('from a fault to the next job that ends well, ms');
	for (const fault of faults) {
		const list = mine.filter(r => r.fault === fault);
		if (list.length)
			console.log(
				`  ${fault.padEnd(16)} ${list.map(r => r.ms.toFixed(0)).join(' ')}` +
				` (jobs that ended badly before it: ${list.map(r => r.lost).join(' ')})`);
	}
}

function report(result, iommu)
{
	const records = result.lines.filter(l => l.startsWith('{')).map(l => JSON.parse(l));
	const other = result.lines.filter(l => l && !/^(\{|trace: )/.test(l));

	const guest = records.find(r => r.what === 'guest') ?? {};

	console.log(`== iommu ${iommu}, kernel ${guest.kernel}, clock ${guest.clock}, ` +
		`${threads} engine thread(s), ${os.cpus().length} processors, load ${load()}`);
	for (const line of other)
		console.log(`  ${line}`);
	report_noop(records);
	report_trace(records, result.lines);
	report_flight(records);
	report_models(records);
	report_stream(records, iommu);
	report_recover(records);
}

async function main()
{
	let failed = false;

	prepare();
	for (const iommu of option('iommu', 'none,intel').split(',')) {
		const devices = [
			await start_device('npu', '--control', path.join(work, 'npu.ctl'),
				'--threads', String(threads)),
			await start_device('echo', '--echo'),
		];
		const result = await run_guest(devices, iommu);
		for (const d of devices)
			await stop_device(d);
		report(result, iommu);
		failed ||= result.status !== 0;
	}
	process.exitCode = failed ? 1 : 0;
}

main().finally(() => option('keep') ? console.log(work) :
	fs.rmSync(work, { recursive: true, force: true }));
