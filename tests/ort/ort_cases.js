#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// ort_cases.js DIR [--floats LIMIT]
//
// Hold what the NPU computed against ONNX Runtime, for many small models in one process. DIR has,
// for every case, OPERATOR.LIMIT.NUMBER.onnx, the inputs as <case>.<name>.npy and the NPU's first
// output as <case>.out.npy. Codes may be LIMIT away; floats 4e-3 of the largest value (they are f16
// inside) or what --floats says. Prints one line an operator, and exits with status 1 when a case
// is further away or does not run.
'use strict';
const fs = require('fs');
const path = require('path');
const { load, open, args, fail, main } = require('./session');
const npy = require('./npy');

function compare(got, want, limit, floats)
{
	const float = want.type === 'float32';
	let top = 0, differ = 0, worst = 0;

	if (got.data.length !== want.data.length)
		return { differ: want.data.length, worst: Infinity, bad: true };
	for (const v of want.data)
		top = Math.max(top, Math.abs(Number(v)));
	for (let i = 0; i < want.data.length; i++) {
		const d = Math.abs(Number(got.data[i]) - Number(want.data[i]));

		differ += d > 0;
		worst = Math.max(worst, d);
	}
	return { differ, worst: float && top ? worst / top : worst,
		bad: !(worst <= (float ? floats * top : limit)) };
}

main(async () => {
	const opt = args({ floats: 1 }, 'ort_cases.js DIR [--floats LIMIT]');
	const ort = load(), sums = {}, floats = Number(opt.floats?.[0] ?? 4e-3);

	if (opt._.length !== 1)
		fail('exactly one folder is expected');
	const files = fs.readdirSync(opt._[0]);
	let failed = 0;

	for (const file of files.filter(f => f.endsWith('.onnx')).sort()) {
		const name = file.slice(0, -5), [op, limit] = name.split('.');
		const sum = sums[op] ??= { cases: 0, elements: 0, differ: 0, worst: 0, bad: 0 };
		const feeds = {};

		sum.cases++;
		try {
			const session = await open(path.join(opt._[0], file));

			for (const input of session.inputNames) {
				const { type, dims, data } =
					npy.read(path.join(opt._[0], `${name}.${input}.npy`));
				feeds[input] = new ort.Tensor(type, data, dims);
			}
			const want = Object.values(await session.run(feeds))[0];
			const result = compare(npy.read(path.join(opt._[0], name + '.out.npy')),
				want, Number(limit), floats);

			sum.elements += want.data.length;
			sum.differ += result.differ;
			sum.worst = Math.max(sum.worst, result.worst);
			sum.bad += result.bad;
			if (result.bad)
				console.log(
					`${name}: ${result.differ} of ${want.data.length} differ, by up to ${result.worst}`);
			await session.release();
		} catch (e) {
			sum.bad++;
			console.log(`${name}: ${e.message}`);
		}
	}
	for (const [op, s] of Object.entries(sums)) {
		console.log(
			`${op}: ${s.cases} models, ${s.differ} of ${s.elements} values differ, by up to ` +
			`${+s.worst.toPrecision(3)}, ${s.bad} too far`);
		failed += s.bad;
	}
	process.exit(failed || !Object.keys(sums).length ? 1 : 0);
});
