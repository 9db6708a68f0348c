// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include "onnx_build.h"

static void put(struct onnx_bytes *b, const void *data, size_t n)
{
	if (b->size + n > b->room) {
		b->room = (b->size + n) * 2 + 64;
		b->data = realloc(b->data, b->room);
		if (!b->data)
			abort();
	}
	if (n)
		memcpy(b->data + b->size, data, n);
	b->size += n;
}

static void put_varint(struct onnx_bytes *b, uint64_t v)
{
	unsigned char c;

	do {
		c = (v & 0x7f) | (v > 0x7f ? 0x80 : 0);
		put(b, &c, 1);
		v >>= 7;
	} while (v);
}

static void put_int(struct onnx_bytes *b, unsigned int field, int64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, (uint64_t)v);
}

static void put_float(struct onnx_bytes *b, unsigned int field, float v)
{
	put_varint(b, field << 3 | 5);
	put(b, &v, sizeof(v));
}

static void put_bytes(struct onnx_bytes *b, unsigned int field, const void *data, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	put(b, data, n);
}

static void put_string(struct onnx_bytes *b, unsigned int field, const char *s)
{
	put_bytes(b, field, s, strlen(s));
}

/* Append @inner as a message in @field of @outer and empty it. */
static void put_message(struct onnx_bytes *outer, unsigned int field, struct onnx_bytes *inner)
{
	put_bytes(outer, field, inner->data, inner->size);
	free(inner->data);
	memset(inner, 0, sizeof(*inner));
}

static void flush_node(struct onnx_build *b)
{
	if (b->node.size)
		put_message(&b->graph, 1, &b->node);
}

void onnx_begin(struct onnx_build *b, int opset)
{
	memset(b, 0, sizeof(*b));
	b->opset = opset;
	put_string(&b->graph, 2, "test");
}

static void value_info(struct onnx_build *b, unsigned int field, const char *name, int type, int rank, const int64_t *dims)
{
	struct onnx_bytes shape = { 0 }, tensor = { 0 }, proto = { 0 }, info = { 0 };

	flush_node(b);
	for (int i = 0; i < rank; i++) {
		struct onnx_bytes dim = { 0 };
		char symbol[8] = { 'd', (char)('0' + i), 0 };

		if (dims[i] < 0)
			put_string(&dim, 2, symbol);
		else
			put_int(&dim, 1, dims[i]);
		put_message(&shape, 1, &dim);
	}
	put_int(&tensor, 1, type);
	put_message(&tensor, 2, &shape);
	put_message(&proto, 1, &tensor);
	put_string(&info, 1, name);
	put_message(&info, 2, &proto);
	put_message(&b->graph, field, &info);
}

void onnx_input(struct onnx_build *b, const char *name, int type, int rank, const int64_t *dims)
{
	value_info(b, 11, name, type, rank, dims);
}

void onnx_output(struct onnx_build *b, const char *name, int type, int rank, const int64_t *dims)
{
	value_info(b, 12, name, type, rank, dims);
}

void onnx_tensor(struct onnx_build *b, const char *name, int type, int rank, const int64_t *dims, const void *data, size_t bytes)
{
	struct onnx_bytes t = { 0 };

	flush_node(b);
	for (int i = 0; i < rank; i++)
		put_int(&t, 1, dims[i]);
	put_int(&t, 2, type);
	put_string(&t, 8, name);
	put_bytes(&t, 9, data, bytes);
	put_message(&b->graph, 5, &t);
}

void onnx_weights(struct onnx_build *b, const char *name, int rank, const int64_t *dims, unsigned int seed)
{
	size_t n = 1;
	float *v;

	for (int i = 0; i < rank; i++)
		n *= (size_t)dims[i];
	v = malloc(n * sizeof(*v) + 1);
	if (!v)
		abort();
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		v[i] = (float)(int)(seed >> 16 & 0xff) / 256 - 0.5f;
	}
	onnx_tensor(b, name, ONNX_FLOAT, rank, dims, v, n * sizeof(*v));
	free(v);
}

static void put_names(struct onnx_bytes *b, unsigned int field, const char *names)
{
	while (*names) {
		size_t n = strcspn(names, " ");

		if (n == 1 && *names == '-')
			put_bytes(b, field, "", 0);
		else
			put_bytes(b, field, names, n);
		names += n;
		names += strspn(names, " ");
	}
}

void onnx_node(struct onnx_build *b, const char *op, const char *name, const char *inputs, const char *outputs)
{
	flush_node(b);
	put_names(&b->node, 1, inputs);
	put_names(&b->node, 2, outputs);
	put_string(&b->node, 3, name);
	put_string(&b->node, 4, op);
}

static void attribute(struct onnx_build *b, const char *name, struct onnx_bytes *value, int type)
{
	struct onnx_bytes a = { 0 };

	put_string(&a, 1, name);
	put(&a, value->data, value->size);
	put_int(&a, 20, type);
	put_message(&b->node, 5, &a);
	free(value->data);
}

void onnx_attr_int(struct onnx_build *b, const char *name, int64_t v)
{
	struct onnx_bytes value = { 0 };

	put_int(&value, 3, v);
	attribute(b, name, &value, 2);
}

void onnx_attr_float(struct onnx_build *b, const char *name, float v)
{
	struct onnx_bytes value = { 0 };

	put_float(&value, 2, v);
	attribute(b, name, &value, 1);
}

void onnx_attr_string(struct onnx_build *b, const char *name, const char *v)
{
	struct onnx_bytes value = { 0 };

	put_string(&value, 4, v);
	attribute(b, name, &value, 3);
}

void onnx_attr_ints(struct onnx_build *b, const char *name, int n, const int64_t *v)
{
	struct onnx_bytes value = { 0 };

	for (int i = 0; i < n; i++)
		put_int(&value, 8, v[i]);
	attribute(b, name, &value, 7);
}

unsigned char *onnx_finish(struct onnx_build *b, size_t *size)
{
	struct onnx_bytes model = { 0 }, opset = { 0 };

	flush_node(b);
	put_int(&model, 1, 7);
	put_string(&model, 2, "test");
	put_string(&opset, 1, "");
	put_int(&opset, 2, b->opset);
	put_message(&model, 8, &opset);
	put_message(&model, 7, &b->graph);
	*size = model.size;
	return model.data;
}
