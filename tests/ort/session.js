// SPDX-License-Identifier: MIT
//
// ONNX Runtime for the scripts beside this one: where it is found, and how a model is opened.
'use strict';
const fs = require('fs');
const path = require('path');

const root = path.resolve(__dirname, '../..');
const models = process.env.NPU_MODELS || path.join(root, 'build/models');
const where = process.env.NPU_ORT || path.join(models, 'ort');

function load()
{
	const dir = path.join(where, 'node_modules/onnxruntime-node');

	if (!fs.existsSync(dir))
		throw new Error(`ONNX Runtime is not at ${dir}: run scripts/models.sh ort`);
	return require(dir);
}

// Open a model (a path or its bytes) in fp32 on the CPU.
function open(model, threads = 1, level = 'all')
{
	return load().InferenceSession.create(model, {
		executionProviders: ['cpu'],
		intraOpNumThreads: threads,
		interOpNumThreads: 1,
		graphOptimizationLevel: level,
		logSeverityLevel: 3,
	});
}

// Split the command line: options take the number of words given in @spec, and may be repeated.
function args(spec, usage)
{
	const out = { _: [] };
	const words = process.argv.slice(2);

	while (words.length) {
		const word = words.shift();
		const name = word.startsWith('--') ? word.slice(2) : null;

		if (name === null)
			out._.push(word);
		else if (!(name in spec) || words.length < spec[name])
			fail(`${name in spec ? 'a value is missing after' : 'unknown option'} ${word}\nusage: ${usage}`);
		else
			(out[name] ??= []).push(spec[name] ? words.shift() : true);
	}
	return out;
}

function fail(text)
{
	process.stderr.write(`${path.basename(process.argv[1])}: ${text}\n`);
	process.exit(1);
}

// Run an async main, with errors told in one line.
function main(fn)
{
	fn().catch(err => fail(err.message));
}

module.exports = { load, open, args, fail, main, models };
