#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// ctc.js OUTPUT.npy KEYS.txt: print the text that a recognition model's output spells, one line a
// picture.
//
// OUTPUT is [N, T, C] probabilities. The best class of each step is taken, repeats are merged,
// class 0 is the blank, class i is line i of KEYS, and the class after the last line is a space. A
// line is "confidence<TAB> text", with the mean probability of the steps that gave a character.
'use strict';
const fs = require('fs');
const { args, fail, main } = require('./session');
const npy = require('./npy');

// The text and its confidence for one picture's @steps x @classes probabilities, starting at @base.
function decode(data, base, steps, classes, keys)
{
	let text = '', sum = 0, count = 0, last = 0;

	for (let t = 0; t < steps; t++) {
		const row = data.subarray(base + t * classes, base + (t + 1) * classes);
		let best = 0;

		for (let c = 1; c < classes; c++)
			if (row[c] > row[best])
				best = c;
		if (best && best !== last) {
			text += keys[best - 1] ?? ' ';
			sum += row[best];
			count++;
		}
		last = best;
	}
	return { text, confidence: count ? sum / count : 0 };
}

function read_keys(path)
{
	return fs.readFileSync(path, 'utf8').replace(/\n$/, '').split(/\r?\n/);
}

if (require.main === module)
	main(async () => {
		const opt = args({}, 'ctc.js OUTPUT.npy KEYS.txt');

		if (opt._.length !== 2)
			fail('usage: ctc.js OUTPUT.npy KEYS.txt');
		const { type, dims, data } = npy.read(opt._[0]);
		if (type !== 'float32' || dims.length !== 3)
			fail(`${opt._[0]}: f32 [N, T, C] was expected, it is ${type} [${dims.join(', ')}]`);
		const [n, steps, classes] = dims;
		const keys = read_keys(opt._[1]);

		for (let i = 0; i < n; i++) {
			const { text, confidence } = decode(data, i * steps * classes, steps,
				classes, keys);
			console.log(`${confidence.toFixed(4)}\t${text}`);
		}
	});

module.exports = { decode, read_keys };
