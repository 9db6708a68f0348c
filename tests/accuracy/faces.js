// SPDX-License-Identifier: MIT
//
// Boxes from the outputs of the face detectors, after their published formats. A box is { score,
// box: [x0, y0, x1, y1] } with corners as fractions of the picture.
'use strict';

const sigmoid = x => 1 / (1 + Math.exp(-x));

// BlazeFace: anchors of size 1 at the centres of a coarse and a fine grid, @per_cell of them in
// each cell; a row is centre and size (then six points, which are not used here) in pixels of the
// input.
function blazeface(scores, rows, grid, per_cell, size)
{
	const width = rows.length / scores.length, found = [];

	if (scores.length !== grid * grid * per_cell || width !== 16)
		throw new Error(`blazeface: ${scores.length} scores of a ${grid}x${grid} grid`);
	for (let i = 0; i < scores.length; i++) {
		const cell = Math.floor(i / per_cell);
		const [x, y, w, h] = Array.from(rows.subarray(i * width, i * width + 4), v =>
			v / size);
		const cx = x + (cell % grid + 0.5) / grid, cy = y + (Math.floor(cell / grid) +
			0.5) / grid;

		found.push({ score: sigmoid(scores[i]), box: [cx - w / 2, cy - h / 2, cx + w / 2,
			cy + h / 2] });
	}
	return found;
}

// Two of the outputs belong to the finer grid (2 anchors a cell), two to the coarser one (6).
function blazeface_boxes(out, size)
{
	const of = name => out[name].data;
	const fine = Math.sqrt(of('Identity:0').length / 2),
		coarse = Math.sqrt(of('Identity_1:0').length / 6);

	return [...blazeface(of('Identity:0'), of('Identity_2:0'), fine, 2, size),
		...blazeface(of('Identity_1:0'), of('Identity_3:0'), coarse, 6, size)];
}

// RFB-320: the network ends in the decoding from priors itself: corners, and scores of background
// and face.
function rfb_boxes(out)
{
	const { data: scores } = out.scores, { data: boxes } = out.boxes;

	return Array.from({ length: scores.length / 2 }, (_, i) =>
		({ score: scores[2 * i + 1], box: Array.from(boxes.subarray(4 * i, 4 * i + 4)) }));
}

function iou(a, b)
{
	const side = (lo, hi) => Math.max(0, Math.min(a[hi], b[hi]) - Math.max(a[lo], b[lo]));
	const area = c => (c[2] - c[0]) * (c[3] - c[1]);
	const both = side(0, 2) * side(1, 3);

	return both / (area(a) + area(b) - both);
}

// Non-maximum suppression: the surest boxes above @least that do not overlap a surer one, best
// first.
function faces(found, least = 0.5, overlap = 0.3)
{
	const kept = [];

	for (const f of found.filter(f => f.score >= least).sort((a, b) => b.score - a.score))
		if (kept.every(k => iou(k.box, f.box) <= overlap))
			kept.push(f);
	return kept;
}

// BlazeFace's own way with boxes that overlap: they are blended, each with the weight of its score.
function blended(found, least = 0.5, overlap = 0.3)
{
	return faces(found, least, overlap).map(best => {
		const group = found.filter(f => f.score >= least && iou(f.box, best.box) > overlap);
		const sum = group.reduce((n, f) => n + f.score, 0);

		return { score: best.score, box: best.box.map((_, i) => group.reduce((n, f) => n +
			f.score * f.box[i], 0) / sum) };
	});
}

module.exports = { blazeface_boxes, rfb_boxes, iou, faces, blended };
