// SPDX-License-Identifier: MIT
//
// examples/pipeline with a face detector and a model of face landmarks: the detector's outputs, the box that is picked on
// the NPU, and the landmarks are those of ONNX Runtime, with frames converted and cut here from the formulas. The second
// model is held against ONNX Runtime's answer to the cut at the NPU's own box, so that nothing of the first hides in it.
'use strict';
const fs = require('fs');
const path = require('path');
const ort = require('../ort/session');
const stack = require('../accuracy/stack');
const tap = require('../accuracy/tap');
const { blazeface_boxes } = require('../accuracy/faces');
const { make_frames } = require('./pipeline_frames');

const width = 640, height = 480, size = 128, factor = 1.2;
const parts = [['astronaut.png', '0,0,512,384'], ['astronaut.png', '40,0,400,300'], ['astronaut.png', '110,10,320,240'],
	['coffee.png', '0,0,600,400']];
const faces = 3;	// the rest has none: any box is cut
const rounds = 3;

/* ---- what the NPU should see ---- */

// y, u and v of a pixel.
function components(frame, y, x)
{
	const chroma = width * height + (y >> 1) * width + (x & ~1);

	return [frame[y * width + x], frame[chroma], frame[chroma + 1]];
}

function taps(lo, hi, o, n, limit)
{
	const v = lo + (o + 0.5) * (hi - lo) / n - 0.5, first = Math.floor(v);
	const clamp = i => Math.max(Math.max(0, Math.floor(lo)), Math.min(Math.min(limit, Math.ceil(hi)) - 1, i));

	return [clamp(first), clamp(first + 1), v - first];
}

// Box [y0, x0, y1, x1] as rows x cols pixels of (y, u, v), linear.
function cut(frame, box, rows, cols)
{
	const out = [];

	for (let i = 0; i < rows; i++)
		for (let j = 0; j < cols; j++) {
			const [ya, yb, fy] = taps(box[0], box[2], i, rows, height);
			const [xa, xb, fx] = taps(box[1], box[3], j, cols, width);
			const [a, b, c, d] = [[ya, xa], [ya, xb], [yb, xa], [yb, xb]].map(([y, x]) => components(frame, y, x));

			out.push([0, 1, 2].map(k => (a[k] * (1 - fx) + b[k] * fx) * (1 - fy) + (c[k] * (1 - fx) + d[k] * fx) * fy));
		}
	return out;
}

const byte = v => Math.max(0, Math.min(255, v));

function rgb([y, u, v])
{
	const luma = (y - 16) * 255 / 219, cb = (u - 128) * 255 / 224, cr = (v - 128) * 255 / 224;

	return [luma + 2 * (1 - 0.299) * cr, luma - 2 * 0.114 * (1 - 0.114) / 0.587 * cb - 2 * 0.299 * (1 - 0.299) / 0.587 * cr,
		luma + 2 * (1 - 0.114) * cb].map(byte);
}

// 640x480 in 128x128 is 128x96, with borders of colour 0 above and below.
function detector_input(frame)
{
	const data = new Float32Array(size * size * 3).fill(-1);

	cut(frame, [0, 0, height, width], 96, 128).forEach((pixel, i) =>
		rgb(pixel).forEach((v, c) => data[(16 * 128 + i) * 3 + c] = v / 127.5 - 1));
	return data;
}

const grey_input = (frame, box) => Float32Array.from(cut(frame, box, 64, 64), p => byte((p[0] - 16) * 255 / 219) / 256);

/* ---- what should come out ---- */

// The surest box as a square in pixels of the frame, and BlazeFace's own two points of the eyes.
function pick(out)
{
	const found = blazeface_boxes(out, size);
	const i = found.reduce((best, f, k) => f.score > found[best].score ? k : best, 0);
	const row = i < 512 ? out['Identity_2:0'].data.subarray(16 * i) : out['Identity_3:0'].data.subarray(16 * (i - 512));
	const [x0, y0, x1, y1] = found[i].box.map(v => v * size);
	const to_frame = (y, x) => [(y - 16) * 5, x * 5];
	const [cy, cx] = to_frame((y0 + y1) / 2, (x0 + x1) / 2);
	const reach = factor / 2 * 5 * Math.max(x1 - x0, y1 - y0);
	const begin = [cy - reach, cx - reach].map((v, k) => Math.min(Math.max(v, 0), [height, width][k] - 8));
	const end = [cy + reach, cx + reach].map((v, k) => Math.max(Math.min(v, [height, width][k]), begin[k] + 8));
	const anchor = [(x0 + x1) / 2 - row[0], (y0 + y1) / 2 - row[1]];

	return { score: found[i].score, box: [...begin, ...end],
		eyes: [0, 1].map(k => to_frame(anchor[1] + row[5 + 2 * k], anchor[0] + row[4 + 2 * k])) };
}

// The middle of six of the 68 points, in pixels of the frame: y, x.
function eye(points, first, box)
{
	const mean = c => [0, 1, 2, 3, 4, 5].reduce((sum, k) => sum + points[2 * (first + k) + c], 0) / 6;

	return [box[0] + mean(1) * (box[2] - box[0]), box[1] + mean(0) * (box[3] - box[1])];
}

const worst = (a, b) => Math.max(...a.map((v, i) => Math.abs(v - b[i])));

/* ---- the test ---- */

function compile(dir)
{
	const job = name => path.join(dir, `${name}.npu`);
	const model = name => path.join(stack.models, `${name}.onnx`);
	const precise = ['--quiet', '--precision', 'f32', '--fail-on-host'];

	stack.tool('npu-compile', [model('blazeface_front'), ...precise, '-o', job('detect'), '--input-format',
		`nv12:${width}x${height},fit=letterbox,scale=1/127.5,mean=1`]);
	stack.tool('tests/e2e/select_box', [String(size), `${width}x${height}`, String(factor), path.join(dir, 'select.onnx')]);
	stack.tool('npu-compile', [path.join(dir, 'select.onnx'), ...precise, '-o', job('select')]);
	stack.tool('npu-compile', [model('fr_landmark'), ...precise, '-o', job('refine'), '--input-format',
		`nv12:${width}x${height},crop=box,scale=1/256`]);
	return ['detect', 'select', 'refine'].map(job);
}

function run(dir, jobs, frames, options)
{
	const lines = stack.tool('tests/e2e/pipeline', ['--npu', 'sim', '--file', path.join(dir, 'frames.nv12'), '--json',
		'-n', String(frames), ...options, ...jobs]).trim().split('\n').map(l => JSON.parse(l));

	return { frames: lines.slice(0, -1), summary: lines.at(-1).summary };
}

async function check_frame(what, read, frame, models, has_face)
{
	const run_ort = (s, data, dims) => s.run({ [s.inputNames[0]]: new (ort.load().Tensor)('float32', data, dims) });
	const boxes = await run_ort(models.detect, detector_input(frame), [1, size, size, 3]);
	const want = pick(boxes), box = Array.from(read('box')), points = read('output');
	const landmarks = (await run_ort(models.refine, grey_input(frame, box), [1, 1, 64, 64])).output.data;

	for (const [name, t] of Object.entries(boxes))
		tap.ok(stack.compare(read(name), t.data).cosine > 0.99999, `${what}: the detector's ${name} is ONNX Runtime's`);
	tap.ok(worst(box, want.box) < 0.1 && Math.abs(read('score')[0] - want.score) < 1e-3,
		`${what}: box ${box.map(v => v.toFixed(2)).join(' ')}, score ${read('score')[0].toFixed(3)}; expected ` +
		`${want.box.map(v => v.toFixed(2)).join(' ')}, ${want.score.toFixed(3)}`);
	tap.ok(points.length === 136 && worst(Array.from(points), landmarks) < 2e-4,
		`${what}: 68 points of the cut at this box, at most ${worst(Array.from(points), landmarks).toExponential(1)} of a side off`);
	if (!has_face)
		return;
	const off = [36, 42].map((first, k) => Math.hypot(...eye(points, first, box).map((v, i) => v - want.eyes[k][i])));
	tap.ok(want.score > 0.8 && Math.max(...off) < 0.08 * (box[3] - box[1]),
		`${what}: its eyes are where the detector has them, ${off.map(v => v.toFixed(1)).join(' and ')} pixels off`);
}

// Every stage began when the one before had ended.
function check_order(result)
{
	const good = result.frames.filter(({ us }) => us.select[1] >= us.detect[2] && us.refine[1] >= us.select[2]);

	tap.ok(good.length === result.frames.length, `${good.length} of ${result.frames.length} frames: one stage behind the other`);
	tap.ok(result.summary.most_in_flight === 3 && result.summary.cpu_waits === 0, 'three frames at once');
}

tap.run(async () => {
	const dir = stack.temp_dir(), dump = path.join(dir, 'dump');

	stack.fetch('faces', 'photos', 'ort');
	fs.mkdirSync(dump);
	const frames = make_frames(width, height, parts);
	fs.writeFileSync(path.join(dir, 'frames.nv12'), Buffer.concat(frames));
	const jobs = compile(dir), count = rounds * frames.length;
	const result = run(dir, jobs, count, ['--dump', dump]);
	const read = n => name => {
		const data = fs.readFileSync(path.join(dump, `${n}-${name}`));

		return new Float32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
	};
	const models = { detect: await ort.open(path.join(stack.models, 'blazeface_front.onnx')),
		refine: await ort.open(path.join(stack.models, 'fr_landmark.onnx')) };

	for (const [i, frame] of frames.entries())
		await check_frame(`frame ${i}`, read(i), frame, models, i < faces);
	const same = [...Array(count).keys()].filter(n => fs.readFileSync(path.join(dump, `${n}-output`))
		.equals(fs.readFileSync(path.join(dump, `${n % frames.length}-output`))));
	tap.ok(same.length === count, `${same.length} of ${count} frames in flight together have the bits that each has`);
	check_order(result);
	for (const options of [[], ['--flight', '1'], ['--flight', '1', '--wait']])
		tap.diag(`${options.join(' ') || 'three in flight'}: ${JSON.stringify(run(dir, jobs, 60, options).summary)}`);
});
