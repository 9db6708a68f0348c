// SPDX-License-Identifier: MIT
//
// .npy files (format 1.0 to 3.0, C order, little-endian) to and from ONNX Runtime's tensors.
'use strict';
const fs = require('fs');

// ONNX Runtime's name, its typed array, and NumPy's descriptor. f16 is kept as raw bits.
const TYPES = [
	{ ort: 'float32', descr: '<f4', array: Float32Array },
	{ ort: 'float64', descr: '<f8', array: Float64Array },
	{ ort: 'float16', descr: '<f2', array: Uint16Array },
	{ ort: 'int64', descr: '<i8', array: BigInt64Array },
	{ ort: 'uint64', descr: '<u8', array: BigUint64Array },
	{ ort: 'int32', descr: '<i4', array: Int32Array },
	{ ort: 'uint32', descr: '<u4', array: Uint32Array },
	{ ort: 'int16', descr: '<i2', array: Int16Array },
	{ ort: 'uint16', descr: '<u2', array: Uint16Array },
	{ ort: 'int8', descr: '|i1', array: Int8Array },
	{ ort: 'uint8', descr: '|u1', array: Uint8Array },
	{ ort: 'bool', descr: '|b1', array: Uint8Array },
];

// Returns { type, dims, data }: ONNX Runtime's type name, the shape, a typed array.
function read(path)
{
	const buf = fs.readFileSync(path);

	if (buf.length < 10 || buf.toString('latin1', 0, 6) !== '\x93NUMPY')
		throw new Error(`${path}: not a .npy file`);
	const wide = buf[6] > 1;
	const start = wide ? 12 : 10;
	const end = start + (wide ? buf.readUInt32LE(8) : buf.readUInt16LE(8));
	const header = buf.toString('latin1', start, end);
	const descr = /'descr':\s*'([^']*)'/.exec(header)?.[1].replace('=', '<');
	const dims = (/'shape':\s*\(([^)]*)\)/.exec(header)?.[1] ?? '').split(',')
		.map(s => s.trim())
		.filter(s => s).map(Number);
	const type = TYPES.find(t => t.descr === descr ||
		t.descr.slice(1) === descr?.slice(1) && descr[0] !== '>');

	if (!type)
		throw new Error(
			`${path}: type '${descr}' is not one of ${TYPES.map(t => t.descr).join(' ')}`);
	if (!/'fortran_order':\s*False/.test(header))
		throw new Error(`${path}: is in Fortran order, C order was expected`);
	const count = dims.reduce((a, b) => a * b, 1);
	const bytes = count * type.array.BYTES_PER_ELEMENT;

	if (buf.length - end < bytes)
		throw new Error(
			`${path}: has ${buf.length - end} bytes of data, its shape needs ${bytes}`);
	// The data may start at any offset: copy it to where a typed array may be laid over it.
	const data = new type.array(new Uint8Array(buf.subarray(end, end + bytes)).buffer);
	return { type: type.ort, dims, data };
}

// Write a tensor { type, dims, data }, as ONNX Runtime returns it.
function write(path, tensor)
{
	const type = TYPES.find(t => t.ort === tensor.type);

	if (!type)
		throw new Error(`${path}: tensors of type ${tensor.type} cannot be written`);
	const shape = tensor.dims.join(', ') + (tensor.dims.length === 1 ? ',' : '');
	let header = `{'descr': '${type.descr}', 'fortran_order': False, 'shape': (${shape}), }`;

	header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
	const head = Buffer.alloc(10);
	head.write('\x93NUMPY\x01\x00', 0, 'latin1');
	head.writeUInt16LE(header.length, 8);
	const { buffer, byteOffset, byteLength } = tensor.data;
	fs.writeFileSync(path, Buffer.concat([head, Buffer.from(header, 'latin1'),
		Buffer.from(buffer, byteOffset, byteLength)]));
}

module.exports = { read, write, TYPES };
