// SPDX-License-Identifier: MIT
//
// The models that take pictures: what their inputs look like, which pictures calibration sees and
// which accuracy is measured on (never the same ones), and how near two answers are.
'use strict';
const fs = require('fs');
const path = require('path');
const npy = require('../ort/npy');
const stack = require('./stack');
const { blazeface_boxes, rfb_boxes, iou, faces, blended } = require('./faces');

const to_one = { scale: '1/127.5', mean: '1' };
const by_128 = { scale: '1/128', mean: '127/128' };

// Scenes with and without people, whole and in parts; x, y, width, height.
const scenes = [
	['messi5.jpg'], ['messi5.jpg', [150, 40, 200, 200]], ['messi5.jpg', [0, 0, 342, 342]],
	['basketball1.png'], ['basketball1.png', [0, 60, 240, 240]],
	['basketball1.png', [400, 0, 240, 240]],
	['camera.png'], ['camera.png', [120, 60, 220, 220]], ['cards.png'], ['starry_night.jpg'],
	['building.jpg'], ['board.jpg'],
].map(([file, cut]) => ({ file, cut }));

// Close views of faces, at several distances.
const close = [['messi5.jpg', [208, 82, 64, 64]], ['messi5.jpg', [200, 76, 76, 76]],
	['messi5.jpg', [195, 70, 90, 90]], ['messi5.jpg', [216, 90, 48, 48]],
	['camera.png', [180, 100, 90, 100]], ['camera.png', [170, 90, 110, 120]],
	['camera.png', [190, 104, 76, 96]], ['basketball1.png', [52, 88, 64, 64]],
	['basketball1.png', [60, 94, 50, 50]],
	['basketball1.png', [490, 40, 72, 72]]].map(([file, cut]) => ({ file, cut }));

// Written to files, each as it is and mirrored.
function write_pictures(dir, list, options)
{
	list.forEach(({ file, cut }, i) => {
		for (const mirror of [0, 1])
			stack.picture(file,
				path.join(dir, `picture-${String(i).padStart(2, '0')}-${mirror}.npy`),
				{ ...options, mirror, ...(cut ? { cut: cut.join() } : {}) });
	});
}

// The first half of lfw_subset.npy: a hundred grey faces of 25x25, values 0 to 1; every @step-th is
// brought to @size x @size by linear interpolation.
function write_small_faces(dir, size, channels, low, high, step)
{
	const { data } = npy.read(path.join(stack.models, 'lfw_subset.npy'));
	const side = 25;

	for (let k = 0; k < 100; k += step) {
		const at = (y, x) => data[(k * side + Math.min(y, side - 1)) * side +
			Math.min(x, side - 1)];
		const out = new Float32Array(channels * size * size);

		for (let i = 0; i < size * size; i++) {
			const sy = Math.max(0, (Math.floor(i / size) + 0.5) * side / size - 0.5);
			const sx = Math.max(0, (i % size + 0.5) * side / size - 0.5);
			const y = Math.floor(sy), x = Math.floor(sx), fy = sy - y, fx = sx - x;
			const v = (at(y, x) * (1 - fx) + at(y, x + 1) * fx) * (1 - fy) +
				(at(y + 1, x) * (1 - fx) + at(y + 1, x + 1) * fx) * fy;

			for (let c = 0; c < channels; c++)
				out[c * size * size + i] = low + v * (high - low);
		}
		npy.write(path.join(dir, `face-${String(k).padStart(2, '0')}.npy`),
			{ type: 'float32', dims: [1, channels, size, size], data: out });
	}
}

// Ten handwritten digits, one byte a pixel.
function digit(i)
{
	const raw = fs.readFileSync(path.join(stack.models, 'digits.txt'));

	return { type: 'float32', dims: [1, 1, 28, 28],
		data: Float32Array.from(raw.subarray(i * 784, (i + 1) * 784)) };
}

// Of every output of a model: the cosine, over all test inputs at once.
function output_cosines(got, want)
{
	const join = (list, name) =>
		Float32Array.from(list.flatMap(out => Array.from(out[name].data)));

	return Object.keys(want[0]).map(name =>
		stack.compare(join(got, name), join(want, name)).cosine);
}

// The surest face of two answers; @join is what becomes of boxes that overlap.
function same_face(got, want, boxes, join)
{
	const [g, w] = [join(boxes(got)), join(boxes(want))];

	return { found: g.length, expected: w.length, score: g[0]?.score, ref_score: w[0]?.score,
		iou: g.length && w.length ? iou(g[0].box, w[0].box) : 0 };
}

// Pictures of the test: a person, no person.
const astronaut = { file: 'astronaut.png' }, coffee = { file: 'coffee.png' };
const portraits = [[140, 20, 180, 180], [160, 40, 140, 140], [170, 55, 116, 126],
	[150, 50, 150, 150]]
	.map(cut => ({ file: 'astronaut.png', cut }));

function detector(name, size, layout, norm, boxes, join)
{
	const options = { size: size.join('x'), layout, ...norm };

	return {
		name,
		calib: dir => write_pictures(dir, scenes, options),
		tests: [astronaut, coffee],
		write: (test, file) => stack.picture(test.file, file, options),
		boxes,
		join,
	};
}

const models = [
	detector('blazeface_front', [128, 128], 'nhwc', to_one, out => blazeface_boxes(out, 128),
		blended),
	detector('blazeface_back', [256, 256], 'nhwc', to_one, out => blazeface_boxes(out, 256),
		blended),
	detector('fr_detect', [320, 240], 'nchw', by_128, rfb_boxes, faces),
	{
		name: 'fr_feature',
		calib: dir => {
			write_pictures(dir, [...close, ...scenes], { size: '112x112', ...by_128 });
			write_small_faces(dir, 112, 3, -127 / 128, 1, 10);
		},
		tests: portraits,
		write: (test, file) => stack.picture(test.file, file,
			{ size: '112x112', cut: test.cut.join(), ...by_128 }),
	},
	{
		name: 'fr_landmark',
		calib: dir => {
			write_pictures(dir, close, { size: '64x64', layout: 'grey',
				scale: '1/256' });
			write_small_faces(dir, 64, 1, 0, 255 / 256, 4);
		},
		tests: portraits,
		write: (test, file) => stack.picture(test.file, file,
			{ size: '64x64', layout: 'grey', scale: '1/256',
			cut: test.cut.join() }),
	},
	{
		// There are ten digits in all: calibration sees the even ones.
		name: 'mnist-8',
		calib: dir => [0, 2, 4, 6, 8].forEach(i =>
			npy.write(path.join(dir, `digit-${i}.npy`), digit(i))),
		tests: [1, 3, 5, 7, 9],
		write: (test, file) => npy.write(file, digit(test)),
	},
];

// Write the calibration set of a model to @dir/calib and its test inputs to @dir; returns their
// paths.
function prepare(model, dir)
{
	const calib = path.join(dir, 'calib');

	fs.mkdirSync(calib, { recursive: true });
	model.calib(calib);
	return {
		calib,
		inputs: model.tests.map((test, i) => {
			const file = path.join(dir, `test-${i}.npy`);

			model.write(test, file);
			return file;
		}),
	};
}

module.exports = { models, prepare, output_cosines, same_face };
