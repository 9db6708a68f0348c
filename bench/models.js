#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// models.js [--rounds 3] [--seconds 2] [--only NAME] [--threads 1,2]
//
// This stack beside ONNX Runtime (fp32, CPU) on the same models, shapes and threads, in one run: rounds of one after
// the other, so that what else the machine does hits both. Prints medians over the rounds and their ratio, then compile
// times and how long npu-ocr takes to its first line when everything is compiled already.
'use strict';
const { execFileSync, spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const root = path.join(__dirname, '..');
const build = process.env.NPU_BUILD ?? path.join(root, 'build');
const models = process.env.NPU_MODELS ?? path.join(root, 'build/models');
const work = path.join(build, 'bench');

const table = [
	{ name: 'det', range: 'x=1x3x{H=32..1280:32}x{W=32..1280:32}', shapes: ['1x3x640x640', '1x3x320x640'] },
	{ name: 'rec', range: 'x=1x3x48x{W=16..3200:8}', shapes: ['1x3x48x320', '1x3x48x800'] },
	{ name: 'cls', range: 'x=1x3x48x192', shapes: ['1x3x48x192'] },
	{ name: 'blazeface_front', shapes: [null] },
	{ name: 'blazeface_back', shapes: [null] },
];
const fixed = { blazeface_front: '1x128x128x3', blazeface_back: '1x256x256x3' };

function option(name, fallback)
{
	const at = process.argv.indexOf(`--${name}`);
	return at < 0 ? fallback : process.argv[at + 1];
}

const median = v => v.slice().sort((a, b) => a - b)[v.length >> 1];
const tool = name => path.join(build, name);

function compile(model, precision)
{
	const out = path.join(work, `${model.name}-${precision}.npu`);
	const args = [path.join(models, `${model.name}.onnx`), '-o', out, '--precision', precision, '--quiet'];
	if (model.range)
		args.push('--shape', model.range);
	const start = performance.now();
	execFileSync(tool('npu-compile'), args, { stdio: ['ignore', 'ignore', 'inherit'] });
	return { out, ms: performance.now() - start };
}

// Median of one short series on the NPU stack, in ms.
function run_npu(job, input, shape, threads, iters)
{
	const args = [job, `--bench=${iters}`, '--threads', String(threads), '--input', `${input}=random`];
	if (shape)
		args.push('--shape', `${input}=${shape}`);
	const text = execFileSync(tool('npu-run'), args, { encoding: 'utf8' });
	return Number(/median ([0-9.]+) ms/.exec(text)[1]);
}

function run_ort(model, shape, threads, iters)
{
	const args = [path.join(root, 'tests/ort/ort_bench.js'), path.join(models, `${model.name}.onnx`),
		'--shape', shape ?? fixed[model.name], '--threads', String(threads), '--iters', String(iters)];
	return JSON.parse(execFileSync('node', args, { encoding: 'utf8' })).median_ms;
}

function input_name(job)
{
	const info = execFileSync(tool('npu-run'), [job, '--info'], { encoding: 'utf8' });
	return /^\s*input\s+(\S+)/m.exec(info)[1];
}

function bench(model, rounds, seconds)
{
	const made = { f16: compile(model, 'f16'), f32: compile(model, 'f32') };
	const input = input_name(made.f16.out);

	for (const shape of model.shapes) {
		for (const threads of option('threads', '1,2').split(',').map(Number)) {
			const once = run_ort(model, shape, threads, 3);
			const iters = Math.max(5, Math.min(300, Math.round(1000 * seconds / once)));
			const t = { ort: [], f16: [], f32: [] };

			for (let r = 0; r < rounds; r++) {
				t.ort.push(run_ort(model, shape, threads, iters));
				t.f16.push(run_npu(made.f16.out, input, model.range?.includes('{') ? shape : null, threads, iters));
				t.f32.push(run_npu(made.f32.out, input, model.range?.includes('{') ? shape : null, threads, iters));
			}
			const [ort, f16, f32] = [median(t.ort), median(t.f16), median(t.f32)];
			console.log(`${model.name.padEnd(16)} ${(shape ?? fixed[model.name]).padEnd(12)} ${threads}` +
				`  ${ort.toFixed(2).padStart(9)} ${f16.toFixed(2).padStart(9)} ${f32.toFixed(2).padStart(9)}` +
				`  ${(ort / f16).toFixed(2).padStart(6)} ${(ort / f32).toFixed(2).padStart(6)}`);
		}
	}
	return made.f16.ms;
}

// Time until npu-ocr prints its first line, by its own clock of stages and by ours around the process.
function bench_ocr()
{
	const args = [path.join(models, 'imageTextN.png'), '--models', models, '--cache', path.join(work, 'cache')];
	const times = [];

	if (!fs.existsSync(tool('npu-ocr')))
		return;
	for (let i = 0; i < 6; i++) {
		const start = performance.now();
		const r = spawnSync('sh', ['-c', '"$0" "$@" | { head -n 1 >/dev/null; cat >/dev/null; }', tool('npu-ocr'), ...args],
			{ encoding: 'utf8' });
		if (r.status)
			throw new Error(`npu-ocr: ${r.stderr}`);
		times.push(performance.now() - start);
	}
	console.log(`\nnpu-ocr on imageTextN.png: first start ${times[0].toFixed(0)} ms (compiles three models), ` +
		`then ${median(times.slice(1)).toFixed(0)} ms`);
}

fs.mkdirSync(work, { recursive: true });
fs.rmSync(path.join(work, 'cache'), { recursive: true, force: true });
const only = option('only', null);
const compile_ms = {};

console.log(`${os.cpus()[0].model}, ${os.cpus().length} CPUs; medians of ${option('rounds', 3)} rounds, in ms`);
console.log('model            input        threads  ORT fp32   npu f16   npu f32  ORT/f16 ORT/f32');
for (const model of table)
	if (!only || only === model.name)
		compile_ms[model.name] = bench(model, Number(option('rounds', 3)), Number(option('seconds', 2)));
console.log('\ncompile times (f16): ' + Object.entries(compile_ms).map(([n, t]) => `${n} ${t.toFixed(0)} ms`).join(', '));
if (!only)
	bench_ocr();
