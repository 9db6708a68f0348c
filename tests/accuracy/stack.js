// SPDX-License-Identifier: MIT
//
// The stack's tools for the scripts beside this one, as a user would call them.
'use strict';
const { execFileSync, spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const npy = require('../ort/npy');
const { models } = require('../ort/session');

const root = path.resolve(__dirname, '../..');
const build = process.env.NPU_BUILD ?? path.join(root, 'build');

// What a tool prints; its errors become exceptions that say all it said.
function tool(name, args)
{
	const r = spawnSync(path.join(build, name), args, { encoding: 'utf8', maxBuffer: 1 << 28 });

	if (r.error)
		throw r.error;
	if (r.status)
		throw new Error(
			`${name} ${args.join(' ')}: ${(r.stderr || r.stdout).trim() || `ended by ${r.signal}`}`);
	return r.stdout;
}

function fetch(...groups)
{
	execFileSync(path.join(root, 'scripts/models.sh'), groups,
		{ cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}

// A folder that goes away with the process.
function temp_dir()
{
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'npu-accuracy-'));

	process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
	return dir;
}

// A picture as a tensor; options as in picture_npy.c.
function picture(file, out, options)
{
	const from = path.isAbsolute(file) ? file : path.join(models, file);

	fs.mkdirSync(path.dirname(out), { recursive: true });
	tool('tests/accuracy/picture_npy', [from, out,
		...Object.entries(options).map(([k, v]) => `${k}=${v}`)]);
	return out;
}

// The precisions that figures are given for, as options of npu-compile; %s is the folder of
// samples.
const precisions = {
	'f32': ['--precision', 'f32'],
	'f16': [],
	'int8 min-max': ['--int8', '--calib', '%s', '--calib-method', 'minmax',
		'--budget', 'speed=1'],
	'int8': ['--int8', '--calib', '%s'],
};

function compile(model, out, precision, calib, extra = [])
{
	const options = precisions[precision].map(o => o === '%s' ? calib : o);

	tool('npu-compile', [path.isAbsolute(model) ? model : path.join(models, `${model}.onnx`),
		'-o', out, '--quiet',
		...options, ...extra]);
	return out;
}

// What the compiler says of the first program: its report's totals.
const report = job => JSON.parse(tool('npu-run', [job, '--report']));

// Run a job on .npy files, { input: file }; returns { output: { type, dims, data } }.
function run(job, inputs)
{
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'npu-accuracy-run-'));
	const info = tool('npu-run', [job, '--info']);
	const names = [...info.matchAll(/^\s*output\s+(\S+)\s/gm)].map(m => m[1]);

	try {
		const args = [job];

		for (const [name, file] of Object.entries(inputs))
			args.push('--input', `${name}=${file}`);
		names.forEach((name, i) => args.push('--output', `${name}=${dir}/${i}.npy`));
		tool('npu-run', args);
		return Object.fromEntries(names.map((name, i) =>
			[name, npy.read(`${dir}/${i}.npy`)]));
	} finally {
		fs.rmSync(dir, { recursive: true, force: true });
	}
}

// Closeness of two tensors: the cosine of the angle between them, and the largest difference.
function compare(a, b)
{
	let ab = 0, aa = 0, bb = 0, worst = 0;

	if (a.length !== b.length)
		throw new Error(`${a.length} values and ${b.length} cannot be compared`);
	for (let i = 0; i < a.length; i++) {
		ab += a[i] * b[i];
		aa += a[i] * a[i];
		bb += b[i] * b[i];
		worst = Math.max(worst, Math.abs(a[i] - b[i]));
	}
	return { cosine: ab / Math.sqrt(aa * bb), worst };
}

module.exports = { tool, fetch, temp_dir, picture, precisions, compile, report, run, compare,
	models, root, build };
