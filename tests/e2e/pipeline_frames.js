#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// pipeline_frames.js WIDTHxHEIGHT OUT.nv12 PICTURE:X,Y,WIDTH,HEIGHT...: parts of pictures as NV12 frames, one behind the
// other, as a camera with BT.601's limited range would have them.
'use strict';
const fs = require('fs');
const path = require('path');
const stack = require('../accuracy/stack');
const npy = require('../ort/npy');

const clamp = v => Math.max(0, Math.min(255, Math.round(v)));

// From [H, W, 3] of 0 to 255.
function nv12(rgb, width, height)
{
	const out = Buffer.alloc(width * height * 3 / 2);
	const at = (y, x, c) => rgb[(y * width + x) * 3 + c];

	for (let y = 0; y < height; y++)
		for (let x = 0; x < width; x++)
			out[y * width + x] = clamp(16 + 219 / 255 *
				(0.299 * at(y, x, 0) + 0.587 * at(y, x, 1) + 0.114 * at(y, x, 2)));
	for (let y = 0; y < height; y += 2)
		for (let x = 0; x < width; x += 2) {
			const [r, g, b] = [0, 1, 2].map(c =>
				(at(y, x, c) + at(y, x + 1, c) + at(y + 1, x, c) + at(y + 1, x + 1, c)) / 4);
			const luma = 0.299 * r + 0.587 * g + 0.114 * b;
			const chroma = width * height + y / 2 * width + x;

			out[chroma] = clamp(128 + 224 / 255 * (b - luma) / (2 * (1 - 0.114)));
			out[chroma + 1] = clamp(128 + 224 / 255 * (r - luma) / (2 * (1 - 0.299)));
		}
	return out;
}

// @parts: [file, 'X,Y,WIDTH,HEIGHT'].
function make_frames(width, height, parts)
{
	const dir = stack.temp_dir();

	return parts.map(([file, cut], i) => {
		const tensor = stack.picture(file, path.join(dir, `${i}.npy`), { size: `${width}x${height}`, layout: 'nhwc', cut });

		return nv12(npy.read(tensor).data, width, height);
	});
}

if (require.main === module) {
	const [size, out, ...parts] = process.argv.slice(2);
	const [width, height] = size.split('x').map(Number);

	fs.writeFileSync(out, Buffer.concat(make_frames(width, height, parts.map(p => p.split(':')))));
}

module.exports = { make_frames };
