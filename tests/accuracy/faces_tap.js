// SPDX-License-Identifier: MIT
//
// The face models and mnist in int8 (or the precision that is given) against ONNX Runtime in fp32:
// the same face, no face where there is none, the same embedding, the same digits. Run by
// test_faces.sh.
'use strict';
const path = require('path');
const tap = require('./tap');
const stack = require('./stack');
const { models } = require('./samples');
const { Measured } = require('./measure');

const percent = v => `${(100 * v).toFixed(1)} %`;

function test_face(what, f)
{
	const { face } = f;

	tap.ok(face.found === 1 && face.expected === 1,
		`${what}: ${face.found} face on astronaut.png, fp32 finds ${face.expected}`);
	tap.ok(face.iou >= 0.9, `${what}: its box overlaps fp32's by ${percent(face.iou)} (score ` +
		`${face.score?.toFixed(3)}, fp32 ${face.ref_score?.toFixed(3)})`);
	tap.ok(f.no_face < 0.5,
		`${what}: no face on coffee.png: highest score ${f.no_face.toFixed(3)}, ` +
		`fp32 ${f.ref_no_face.toFixed(3)}`);
}

async function test_model(model, precision, dir)
{
	const m = await new Measured(model, path.join(dir, model.name)).open();
	const f = m.figures(precision);
	const what = `${model.name} ${precision}`;

	tap.diag(`${what}: ${percent(f.share)} of MACs in int8, cosine of the outputs ${f.cosines.map(c => c.toFixed(5)).join(' ')}`);
	if (precision.startsWith('int8'))
		tap.ok(f.share >= 0.5, `${what}: at least half of the MACs are in int8`);
	if (model.boxes)
		test_face(what, f);
	else if (model.name === 'mnist-8')
		tap.ok(f.same_class === 5, `${what}: ${f.same_class} of 5 digits`);
	else
		tap.ok(f.least >= 0.99,
			`${what}: ${model.tests.length} faces, cosine to fp32 at least ${f.least.toFixed(5)}`);
}

tap.run(async () => {
	const dir = stack.temp_dir();

	stack.fetch('faces', 'photos', 'mnist', 'accuracy', 'ort');
	for (const model of models)
		for (const precision of tap.is_long() ? ['f16', 'int8'] : [process.argv[2] ??
			'int8'])
			await test_model(model, precision, dir);
});
