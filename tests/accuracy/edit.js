// SPDX-License-Identifier: MIT
//
// How many characters two texts differ in.
'use strict';

// Levenshtein's distance over code points: insertions, deletions and replacements count one each.
function distance(a, b)
{
	const x = Array.from(a), y = Array.from(b);
	let row = y.map((_, j) => j + 1);

	row.unshift(0);
	for (let i = 0; i < x.length; i++) {
		const next = [i + 1];

		for (let j = 0; j < y.length; j++)
			next.push(Math.min(row[j] + (x[i] !== y[j]), row[j + 1] + 1, next[j] + 1));
		row = next;
	}
	return row[y.length];
}

module.exports = { distance, length: text => Array.from(text).length };
