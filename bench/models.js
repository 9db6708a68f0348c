#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// models.js [--rounds 3] [--seconds 2] [--only NAME] [--threads 1,2]
//
// This stack (f32, f16, int8) beside ONNX Runtime (fp32, CPU) on the same models, shapes and
// threads, in one run: rounds of one after the other, so that what else the machine does hits all.
// Two models that were quantized elsewhere are run by both as they are. Prints medians over the
// rounds and their ratios, then which models are slower in int8 than in f16, compile times, and how
// long npu-ocr takes to its first line when everything is compiled already.
'use strict';
const { execFileSync, spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const stack = require('../tests/accuracy/stack');
const pages = require('../tests/accuracy/pages');
const samples = require('../tests/accuracy/samples');

const { root, build, models } = stack;
const work = path.join(build, 'bench');
const shared = process.env.NPU_SHARED_MODELS ?? path.join(root, '../shared/models');
const precisions = ['f32', 'f16', 'int8'];

const table = [
	{ name: 'det', range: 'x=1x3x{H=32..1280:32}x{W=32..1280:32}',
		shapes: ['1x3x640x640', '1x3x320x640'] },
	{ name: 'rec', range: 'x=1x3x48x{W=16..3200:8}', shapes: ['1x3x48x320', '1x3x48x800'] },
	{ name: 'cls', range: 'x=1x3x48x192', shapes: ['1x3x48x192'] },
	{ name: 'blazeface_front', shapes: ['1x128x128x3'] },
	{ name: 'blazeface_back', shapes: ['1x256x256x3'] },
	{ name: 'fr_detect', shapes: ['1x3x240x320'] },
	{ name: 'fr_feature', shapes: ['1x3x112x112'] },
	// As they are: their own int8 on both sides.
	{ name: 'fr_detect_qdq_s8s8_pc', folder: shared, shapes: ['1x3x240x320'], as_is: true },
	{ name: 'fr_detect_qop_u8s8', folder: shared, shapes: ['1x3x240x320'], as_is: true },
];

function option(name, fallback)
{
	const at = process.argv.indexOf(`--${name}`);
	return at < 0 ? fallback : process.argv[at + 1];
}

const median = v => v.slice().sort((a, b) => a - b)[v.length >> 1];
const tool = name => path.join(build, name);
const file_of = model => path.join(model.folder ?? models, `${model.name}.onnx`);

// Samples of what a model sees: those that its accuracy is measured with.
function calib_of(model)
{
	if (!model.range) {
		const dir = path.join(work, 'samples', model.name);
		return samples.prepare(samples.models.find(m => m.name === model.name), dir).calib;
	}
	calib_of.ocr ??= pages.make_calib(path.join(work, 'samples'),
		path.join(work, 'samples/cache'));
	return path.join(calib_of.ocr, model.name);
}

function compile(model, precision)
{
	const out = path.join(work, `${model.name}-${precision}.npu`);
	const calib = precision === 'int8' && !model.as_is ? calib_of(model) : null;
	const start = performance.now();

	stack.compile(file_of(model), out, model.as_is ? 'f16' : precision, calib,
		model.range ? ['--shape', model.range] : []);
	return { out, ms: performance.now() - start };
}

// Median of one short series on the NPU stack, in ms.
function run_npu(job, input, shape, threads, iters)
{
	const args = [job, `--bench=${iters}`, '--threads', String(threads), '--input',
		`${input}=random`];
	if (shape)
		args.push('--shape', `${input}=${shape}`);
	const text = execFileSync(tool('npu-run'), args,
		{ encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
	return Number(/median ([0-9.]+) ms/.exec(text)[1]);
}

function run_ort(model, shape, threads, iters)
{
	const args = [path.join(root, 'tests/ort/ort_bench.js'), file_of(model),
		'--shape', shape, '--threads', String(threads), '--iters', String(iters)];
	return JSON.parse(execFileSync('node', args, { encoding: 'utf8' })).median_ms;
}

function input_name(job)
{
	const info = execFileSync(tool('npu-run'), [job, '--info'], { encoding: 'utf8' });
	return /^\s*input\s+(\S+)/m.exec(info)[1];
}

// Nothing where a precision was not run.
const cell = (v, width) => (Number.isFinite(v) ? v.toFixed(2) : '-').padStart(width);

function print_row(model, shape, threads, t)
{
	console.log(
		`${model.name.padEnd(22)} ${shape.padEnd(12)} ${threads} ${cell(t.ort, 9)} ${cell(t.f32, 9)} ` +
		`${cell(t.f16, 9)} ${cell(t.int8, 9)}  ${cell(t.ort / t.f32, 7)} ${cell(t.ort / t.f16, 7)} ` +
		`${cell(t.ort / t.int8, 8)} ${cell(t.f16 / t.int8, 8)}`);
}

// One model at all shapes and numbers of threads. Returns compile times and where int8 was slower
// than f16.
function bench(model, rounds, seconds)
{
	const kinds = model.as_is ? ['int8'] : precisions;
	const made = Object.fromEntries(kinds.map(p => [p, compile(model, p)]));
	const input = input_name(made.int8.out), slower = [];

	for (const shape of model.shapes) {
		for (const threads of option('threads', '1,2').split(',').map(Number)) {
			const once = run_ort(model, shape, threads, 3);
			const iters = Math.max(5, Math.min(300, Math.round(1000 * seconds / once)));
			const lists = Object.fromEntries(['ort', ...kinds].map(k => [k, []]));

			for (let r = 0; r < rounds; r++) {
				lists.ort.push(run_ort(model, shape, threads, iters));
				for (const k of kinds)
					lists[k].push(run_npu(made[k].out, input,
						model.range?.includes('{') ? shape : null,
						threads, iters));
			}
			const t = Object.fromEntries(Object.entries(lists)
				.map(([k, v]) => [k, median(v)]));
			print_row(model, shape, threads, t);
			if (t.int8 > t.f16)
				slower.push(
					`${model.name} ${shape} on ${threads} (${(t.int8 / t.f16).toFixed(2)})`);
		}
	}
	return { ms: Object.fromEntries(kinds.map(k => [k, made[k].ms])), slower };
}

// Time until npu-ocr prints its first line, by its own clock of stages and by ours around the
// process.
function bench_ocr()
{
	const args = [path.join(models, 'imageTextN.png'), '--models', models, '--cache',
		path.join(work, 'cache')];
	const times = [];

	if (!fs.existsSync(tool('npu-ocr')))
		return;
	for (let i = 0; i < 6; i++) {
		const start = performance.now();
		const r = spawnSync('sh',
			['-c', '"$0" "$@" | { head -n 1 >/dev/null; cat >/dev/null; }',
				tool('npu-ocr'), ...args],
			{ encoding: 'utf8' });
		if (r.status)
			throw new Error(`npu-ocr: ${r.stderr}`);
		times.push(performance.now() - start);
	}
	console.log(
		`\nnpu-ocr on imageTextN.png: first start ${times[0].toFixed(0)} ms (compiles three models), ` +
		`then ${median(times.slice(1)).toFixed(0)} ms`);
}

fs.mkdirSync(work, { recursive: true });
for (const dir of ['cache', 'samples'])
	fs.rmSync(path.join(work, dir), { recursive: true, force: true });
const only = option('only', null);
const compile_ms = {}, slower = [];

console.log(
	`${os.cpus()[0].model}, ${os.cpus().length} CPUs; medians of ${option('rounds', 3)} rounds, in ms`);
console.log(
	'model                  input   threads  ORT     npu f32   npu f16  npu int8  ORT/f32 ORT/f16 ORT/int8 f16/int8');
for (const model of table) {
	if (only && only !== model.name)
		continue;
	if (!fs.existsSync(file_of(model))) {
		console.log(`${model.name}: not here (NPU_SHARED_MODELS names its folder)`);
		continue;
	}
	const r = bench(model, Number(option('rounds', 3)), Number(option('seconds', 2)));
	compile_ms[model.name] = r.ms;
	slower.push(...r.slower);
}
console.log(`\nslower in int8 than in f16: ${slower.join(', ') || 'none'}`);
console.log('compile times (ms): ' + Object.entries(compile_ms).map(([n, t]) => `${n} ` +
	Object.entries(t).map(([p, ms]) => `${p} ${ms.toFixed(0)}`).join(' ')).join(', '));
if (!only)
	bench_ocr();
