#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// ort_dump.js DIR: run ONNX Runtime on every det-, cls- and rec-*.in.npy that `npu-ocr --dump DIR`
// left there, and write what it says beside the NPU's answer, as *.ort.npy.
'use strict';
const fs = require('fs');
const path = require('path');
const { load, open, fail, main, models } = require('../ort/session');
const npy = require('../ort/npy');

const files = {
	det: 'ch_PP-OCRv4_det_infer.onnx',
	cls: 'ch_ppocr_mobile_v2.0_cls_infer.onnx',
	rec: 'ch_PP-OCRv4_rec_infer.onnx',
};

main(async () => {
	if (process.argv.length !== 3)
		fail('usage: ort_dump.js DIR');
	const dir = process.argv[2];
	const ort = load();
	const sessions = {};

	for (const name of fs.readdirSync(dir).sort()) {
		const net = /^(det|cls|rec)-.*\.in\.npy$/.exec(name)?.[1];

		if (!net)
			continue;
		const session = sessions[net] ??= await open(path.join(models, files[net]));
		const { type, dims, data } = npy.read(path.join(dir, name));
		const out = await session.run({
			[session.inputNames[0]]: new ort.Tensor(type, data, dims) });

		npy.write(path.join(dir, name.replace('.in.npy', '.ort.npy')),
			out[session.outputNames[0]]);
	}
});
