#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// table.js OUT.md: measure every model in every precision and write Documentation/accuracy.md (make
// accuracy). Takes some minutes: int8 is calibrated and its layers are tried.
'use strict';
const fs = require('fs');
const path = require('path');
const stack = require('./stack');
const pages = require('./pages');
const { models } = require('./samples');
const { Measured, int8_share } = require('./measure');

// As npu-ocr compiles them.
const ocr_shapes = {
	det: 'x=1x3x{H=32..1280:32}x{W=32..1280:32}',
	cls: 'x=1x3x48x192',
	rec: 'x=1x3x48x{W=16..3200:8}',
};
const ocr_budget = 'speed=0.9';
const names = Object.keys(stack.precisions);
const share = v => (v ? `${(100 * v).toFixed(1)} %` : '-');
const cos = v => v.toFixed(5);
const rows = { ocr: [], nets: [], faces: [], others: [] };

function say(text)
{
	process.stderr.write(`${text}\n`);
}

async function measure_ocr(dir)
{
	const cache = path.join(dir, 'cache');
	const list = pages.test_pages(path.join(dir, 'pages'));
	const calib = pages.make_calib(dir, cache);
	const ref = pages.reference(list, dir, cache);

	for (const precision of names) {
		const jobs = {};

		for (const [net, shape] of Object.entries(ocr_shapes)) {
			say(`${net} ${precision}`);
			jobs[net] = stack.compile(net,
				path.join(dir, `${net}-${precision.replace(/\W/g, '-')}.npu`),
				precision, path.join(calib, net), ['--shape', shape,
					...(precision === 'int8' ? ['--budget', ocr_budget] : [])]);
			const near = pages.nearness(jobs[net], ref[net], net === 'rec');
			rows.nets.push([net, precision, share(int8_share(jobs[net])),
				cos(near.cosine), cos(near.worst.cosine),
				near.steps === undefined ? '' :
				`${(100 * near.steps).toFixed(2)} % of steps read the same`]);
		}
		const r = pages.read(list, cache,
			Object.entries(jobs).flatMap(([net, job]) => ['--job', `${net}=${job}`]));
		rows.ocr.push([precision, `${r.errors} of ${r.characters}`, r.per_100.toFixed(2),
			`${r.pages.filter(p => !p.errors).length} of ${r.pages.length}`]);
	}
	return list;
}

async function measure_model(model, dir)
{
	const m = await new Measured(model, path.join(dir, model.name)).open();

	for (const precision of names) {
		say(`${model.name} ${precision}`);
		const f = m.figures(precision);
		const near = Math.min(...f.cosines);

		if (model.boxes)
			rows.faces.push([model.name, precision, share(f.share), cos(near),
				f.face.iou.toFixed(3),
				`${f.face.score?.toFixed(3)} (${f.face.ref_score.toFixed(3)})`,
				`${f.no_face.toFixed(3)} (${f.ref_no_face.toFixed(3)})`]);
		else
			rows.others.push([model.name, precision, share(f.share), cos(near),
				cos(f.least)]);
	}
}

const table = (head, body) => [head, head.map(() => '---'), ...body]
	.map(r => `| ${r.join(' | ')} |`).join('\n');

function document(list)
{
	const lines = list.reduce((n, p) => n + p.text.split('\n').length, 0);

	return `# Accuracy of each model in each precision

Written by \`make accuracy\` (tests/accuracy/table.js); \`make check\` tests limits on the same figures for int8. The reference is
always ONNX Runtime in fp32 on the same input. Calibration never sees what is measured on: its pages have other text
in other fonts and sizes (tests/accuracy/pages_calib.txt), its pictures are other ones (tests/accuracy/samples.js).

*f16* and *f32* are npu-compile's \`--precision\`. *int8* is \`--int8 --calib DIR\` as it is, for the networks that read
pages with \`--budget ${ocr_budget}\` as npu-ocr has it: layers that would cost too much stay float. *int8 min-max* is
\`--calib-method minmax --budget speed=1\`: all layers in int8, ranges as wide as the samples, what a plain quantizer
does. Results are the same bits on every machine, so the figures are, too.

## Reading pages

${list.length} pages, ${lines} lines: ${list.length - 2} pages rendered in serif, sans, mono, bold and italic faces of 14 to 40
pixels, some light on dark, coloured, noisy or blurred, and two of OpenCV's. A wrong character is one that has to be
inserted, deleted or replaced. Most errors of fp32 are a full stop at a line's end or a missing space.

${table(['precision', 'wrong characters', 'in 100', 'pages without error'], rows.ocr)}

The networks by themselves, on all that they are given for these pages:

${table(['network', 'precision', 'MACs in int8', 'cosine to fp32', 'on the worst page', ''], rows.nets)}

The figure of det in *int8 min-max* is good to no more than 0.04: steps that are 0.3 % wider move it by that much. Most of
its error comes from two early layers, whose inputs reach from -0.2 to 37 and from -0.8 to 146.

## Faces

On a picture with one face (astronaut.png) and one with none (coffee.png). IoU is the overlap of the box found with
fp32's; scores in brackets are fp32's. The cosine is that of the output that is furthest off.

${table(['model', 'precision', 'MACs in int8', 'cosine', 'IoU', 'score', 'score without a face'], rows.faces)}

Embeddings and points of four cuts of a face; for mnist the five odd digits. The last column is the input that is
furthest off.

${table(['model', 'precision', 'MACs in int8', 'cosine', 'worst'], rows.others)}
`;
}

async function main()
{
	const dir = stack.temp_dir();

	if (process.argv.length !== 3)
		throw new Error('usage: table.js OUT.md');
	stack.fetch('ocr', 'text', 'faces', 'photos', 'mnist', 'accuracy', 'ort');
	const list = await measure_ocr(dir);
	for (const model of models)
		await measure_model(model, dir);
	fs.writeFileSync(process.argv[2], document(list));
}

main().catch(err => {
	say(`table.js: ${err.message}`);
	process.exit(1);
});
