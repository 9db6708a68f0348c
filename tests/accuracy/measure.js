// SPDX-License-Identifier: MIT
//
// The figures of a model in one precision against ONNX Runtime in fp32, for the tests and for the
// table.
'use strict';
const path = require('path');
const npy = require('../ort/npy');
const session = require('../ort/session');
const stack = require('./stack');
const { prepare, output_cosines, same_face } = require('./samples');

// ONNX Runtime's answers to .npy files.
async function reference(model, files)
{
	const ort = session.load();
	const s = await session.open(path.join(stack.models, `${model}.onnx`), 2);
	const answers = [];

	for (const file of files) {
		const { type, dims, data } = npy.read(file);

		answers.push(await s.run({ [s.inputNames[0]]: new ort.Tensor(type, data, dims) }));
	}
	return { answers, input: s.inputNames[0] };
}

// What share of a job's multiply-accumulates has 8-bit operands, 0..1; the compiler counts them at
// the size of the samples.
function int8_share(job)
{
	const q = stack.report(job).quantization;

	return q ? q.int8_macs / q.macs : 0;
}

// Of one of samples.js: the cosine of each output, and for detectors the face found and what is
// seen where none is.
class Measured {
	constructor(model, dir)
	{
		this.model = model;
		this.dir = dir;
		Object.assign(this, prepare(model, dir));
	}

	async open()
	{
		({ answers: this.want, input: this.input } = await reference(this.model.name,
			this.inputs));
		return this;
	}

	figures(precision)
	{
		const job = path.join(this.dir, `${precision.replace(/\W/g, '-')}.npu`);

		stack.compile(this.model.name, job, precision, this.calib);
		const got = this.inputs.map(file => stack.run(job, { [this.input]: file }));
		const { boxes, join } = this.model;

		return {
			job,
			share: int8_share(job),
			cosines: output_cosines(got, this.want),
			// The first output's, of the input where it is worst.
			least: Math.min(...got.map((g, i) =>
				output_cosines([g], [this.want[i]])[0])),
			// The first test picture has a face, the second has none.
			face: boxes && same_face(got[0], this.want[0], boxes, join),
			no_face: boxes && Math.max(...boxes(got[1]).map(b => b.score)),
			ref_no_face: boxes && Math.max(...boxes(this.want[1]).map(b => b.score)),
			// Where the answer is a class: how many are the reference's.
			same_class: this.model.name === 'mnist-8' &&
				got.filter((g, i) => best(g) === best(this.want[i])).length,
		};
	}
}

const best = out => {
	const { data } = Object.values(out)[0];

	return data.indexOf(Math.max(...data));
};

module.exports = { Measured, reference, int8_share };
