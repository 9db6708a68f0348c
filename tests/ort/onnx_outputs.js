// SPDX-License-Identifier: MIT
//
// Make every tensor of an ONNX model one of its outputs, by editing the protobuf itself: a name
// alone is appended to graph.output (field 12) for each node output, and ONNX Runtime infers the
// rest. So nothing is needed but the wire format; field numbers are onnx.proto's.
'use strict';

const MODEL_GRAPH = 7, GRAPH_NODE = 1, GRAPH_OUTPUT = 12, NODE_OUTPUT = 2, NODE_OP = 4,
	VALUE_NAME = 1;

function varint(buf, pos)
{
	let value = 0, scale = 1, byte;

	do {
		if (pos >= buf.length)
			throw new Error('the ONNX file ends inside a number');
		byte = buf[pos++];
		value += (byte & 127) * scale;
		scale *= 128;
	} while (byte & 128);
	return [value, pos];
}

function put_varint(value)
{
	const out = [];

	for (; value >= 128; value = Math.floor(value / 128))
		out.push(value % 128 + 128);
	out.push(value);
	return Buffer.from(out);
}

const put_field = (number, body) =>
	Buffer.concat([put_varint(number * 8 + 2), put_varint(body.length), body]);

// The fields of one message: { number, body (of a length-delimited one), start, end }.
function *fields(buf)
{
	for (let pos = 0; pos < buf.length;) {
		const start = pos;
		let tag, len, body = null;

		[tag, pos] = varint(buf, pos);
		switch (tag & 7) {
		case 0: [, pos] = varint(buf, pos); break;
		case 1: pos += 8; break;
		case 2:
			[len, pos] = varint(buf, pos);
			body = buf.subarray(pos, pos + len);
			pos += len;
			break;
		case 5: pos += 4; break;
		default: throw new Error(`the ONNX file has wire type ${tag & 7} at ${start}`);
		}
		if (pos > buf.length)
			throw new Error('the ONNX file ends inside a field');
		yield { number: Math.floor(tag / 8), body, start, end: pos };
	}
}

const text = (buf, number) => [...fields(buf)].filter(f => f.number === number)
	.map(f => f.body.toString());

function expose_graph(graph)
{
	const outputs = new Set(), extra = [];

	for (const f of fields(graph))
		if (f.number === GRAPH_OUTPUT)
			outputs.add(text(f.body, VALUE_NAME)[0]);
	for (const f of fields(graph)) {
		if (f.number !== GRAPH_NODE || text(f.body, NODE_OP)[0] === 'Constant')
			continue;
		for (const name of text(f.body, NODE_OUTPUT).filter(n => n && !outputs.has(n))) {
			outputs.add(name);
			extra.push(put_field(GRAPH_OUTPUT,
				put_field(VALUE_NAME, Buffer.from(name))));
		}
	}
	return Buffer.concat([graph, ...extra]);
}

// Returns a model (bytes) that computes the same and hands out every intermediate tensor.
function expose(model)
{
	return Buffer.concat([...fields(model)].map(f =>
		f.number === MODEL_GRAPH ? put_field(MODEL_GRAPH, expose_graph(f.body)) :
		model.subarray(f.start, f.end)));
}

module.exports = { expose };
