#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// ort_bench.js MODEL [--shape [NAME=]1x3x640x640 ...] [--threads 1] [--iters 20] [--warmup 3]
// [--seconds S]
//
// Time an ONNX model in ONNX Runtime, fp32 on the CPU, on uniform random input in [0, 1). Prints
// one line of JSON: median and fastest time of a run in milliseconds. --seconds ends early on slow
// models.
'use strict';
const { load, open, args, fail, main } = require('./session');

const usage =
	'ort_bench.js MODEL [--shape [NAME=]DxD...] [--threads N] [--iters N] [--warmup N] [--seconds S]';

function random(count)
{
	// A fixed generator: both sides of a comparison can have the same numbers.
	let state = 1;
	return Float32Array.from({ length: count }, () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return (state >>> 8) / (1 << 24);
	});
}

main(async () => {
	const opt = args({ shape: 1, threads: 1, iters: 1, warmup: 1, seconds: 1 }, usage);
	const number = (name, fallback) => Number(opt[name]?.[0] ?? fallback);
	const ort = load();

	if (opt._.length !== 1)
		fail(`exactly one model is expected\nusage: ${usage}`);
	const threads = number('threads', 1);
	const session = await open(opt._[0], threads);
	const feeds = {};

	for (const spec of opt.shape ?? []) {
		const at = spec.indexOf('=');
		const name = at < 0 ? session.inputNames.find(n => !(n in feeds)) :
			spec.slice(0, at);
		const dims = spec.slice(at + 1).split('x').map(Number);

		if (!session.inputNames.includes(name) || dims.some(d => !(d > 0)))
			fail(`--shape ${spec}: a shape for one of ${session.inputNames.join(', ')} is expected`);
		feeds[name] = new ort.Tensor('float32', random(dims.reduce((a, b) => a * b, 1)),
			dims);
	}
	for (let i = 0; i < number('warmup', 3); i++)
		await session.run(feeds);

	const times = [];
	const end = performance.now() + 1000 * number('seconds', Infinity);
	while (times.length < number('iters', 20) && (!times.length || performance.now() < end)) {
		const start = performance.now();
		await session.run(feeds);
		times.push(performance.now() - start);
	}
	times.sort((a, b) => a - b);
	const ms = v => Number(v.toFixed(3));
	console.log(JSON.stringify({ model: opt._[0], threads, iters: times.length,
		median_ms: ms(times[times.length >> 1]), min_ms: ms(times[0]) }));
});
