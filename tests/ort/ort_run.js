#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// ort_run.js MODEL --in [NAME=]FILE.npy ... [--out DIR] [--all] [--threads N]
//
// Run an ONNX model in ONNX Runtime, fp32 on the CPU, and write every output to DIR/<name>.npy ('/'
// in a name becomes '_'). --all writes every intermediate tensor as well; graph optimizations are
// off then, so that the tensors are those of the file. An input without a name is the first that
// has none yet. Prints one line of JSON with each output's file, type and shape.
'use strict';
const fs = require('fs');
const path = require('path');
const { load, open, args, fail, main } = require('./session');
const { expose } = require('./onnx_outputs');
const npy = require('./npy');

main(async () => {
	const opt = args({ in: 1, out: 1, all: 0, threads: 1 },
		'ort_run.js MODEL --in [NAME=]FILE.npy ... [--out DIR] [--all] [--threads N]');
	const ort = load();

	if (opt._.length !== 1)
		fail('exactly one model is expected');
	let model = fs.readFileSync(opt._[0]);
	if (opt.all)
		model = expose(model);
	const session = await open(model, Number(opt.threads?.[0] ?? 1),
		opt.all ? 'disabled' : 'all');

	const feeds = {};
	for (const spec of opt.in ?? []) {
		const at = spec.indexOf('=');
		const name = at < 0 ? session.inputNames.find(n => !(n in feeds)) :
			spec.slice(0, at);
		const { type, dims, data } = npy.read(spec.slice(at + 1));

		if (!session.inputNames.includes(name))
			fail(`the model has no input '${name}'; it has ${session.inputNames.join(', ')}`);
		feeds[name] = new ort.Tensor(type, data, dims);
	}
	const results = await session.run(feeds);
	const report = {};

	for (const [name, tensor] of Object.entries(results)) {
		const file = opt.out && path.join(opt.out[0], name.replace(/\//g, '_') + '.npy');

		if (file) {
			fs.mkdirSync(path.dirname(file), { recursive: true });
			npy.write(file, tensor);
		}
		report[name] = { file, type: tensor.type, shape: tensor.dims };
	}
	console.log(JSON.stringify(report));
});
