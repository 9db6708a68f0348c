// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_lines.h"

static void put(struct ob_buf *b, const void *data, size_t size)
{
	if (b->size + size > b->max) {
		b->max = 2 * (b->size + size) + 64;
		b->data = realloc(b->data, b->max);
		if (!b->data)
			abort();
	}
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
}

void ob_varint(struct ob_buf *b, uint64_t v)
{
	uint8_t byte;

	do {
		byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		put(b, &byte, 1);
		v >>= 7;
	} while (v);
}

void ob_bytes(struct ob_buf *b, unsigned int field, const void *data, size_t size)
{
	ob_varint(b, field << 3 | 2);
	ob_varint(b, size);
	put(b, data, size);
}

void ob_string(struct ob_buf *b, unsigned int field, const char *s)
{
	ob_bytes(b, field, s, strlen(s));
}

void ob_int(struct ob_buf *b, unsigned int field, int64_t v)
{
	ob_varint(b, field << 3);
	ob_varint(b, (uint64_t)v);
}

static void ob_float(struct ob_buf *b, unsigned int field, float v)
{
	ob_varint(b, field << 3 | 5);
	put(b, &v, sizeof(v));
}

void ob_sub(struct ob_buf *b, unsigned int field, struct ob_buf *sub)
{
	ob_bytes(b, field, sub->data, sub->size);
	free(sub->data);
	memset(sub, 0, sizeof(*sub));
}

void ob_init(struct ob *b, int opset)
{
	memset(b, 0, sizeof(*b));
	b->opset = opset;
	ob_string(&b->graph, 2, "test");
}

/*
 * ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { value 1 | param 2
 * } } } }
 */
void ob_input(struct ob *b, const char *name, int type, int rank, const int64_t *dims)
{
	struct ob_buf info = { 0 }, t = { 0 }, tensor = { 0 }, shape = { 0 };
	int i;

	for (i = 0; i < rank; i++) {
		struct ob_buf dim = { 0 };

		if (dims[i] < 0)
			ob_string(&dim, 2, "d");
		else
			ob_int(&dim, 1, dims[i]);
		ob_sub(&shape, 1, &dim);
	}
	ob_int(&tensor, 1, type);
	ob_sub(&tensor, 2, &shape);
	ob_sub(&t, 1, &tensor);
	ob_string(&info, 1, name);
	ob_sub(&info, 2, &t);
	ob_sub(&b->graph, 11, &info);
}

void ob_output(struct ob *b, const char *name)
{
	struct ob_buf info = { 0 };

	ob_string(&info, 1, name);
	ob_sub(&b->graph, 12, &info);
}

void ob_const(struct ob *b, const char *name, int type, int rank, const int64_t *dims,
	      const void *data, size_t bytes)
{
	struct ob_buf t = { 0 };
	int i;

	for (i = 0; i < rank; i++)
		ob_int(&t, 1, dims[i]);
	ob_int(&t, 2, type);
	ob_string(&t, 8, name);
	ob_bytes(&t, 9, data, bytes);
	ob_sub(&b->graph, 5, &t);
}

float ob_noise(uint32_t seed, uint32_t i)
{
	uint32_t x = seed * 2654435761u + i * 2246822519u + 374761393u;

	x ^= x >> 15;
	x *= 2246822519u;
	x ^= x >> 13;
	x *= 3266489917u;
	x ^= x >> 16;
	return (float)(int32_t)x / 2147483648.0f;
}

float *ob_random(struct ob *b, const char *name, int rank, const int64_t *dims)
{
	size_t n = 1, i;
	uint32_t seed = 7;
	float *v;
	int k;

	for (k = 0; k < rank; k++)
		n *= (size_t)dims[k];
	for (k = 0; name[k]; k++)
		seed = seed * 31 + (unsigned char)name[k];
	v = malloc(n * sizeof(*v) + 1);
	if (!v)
		abort();
	for (i = 0; i < n; i++)
		v[i] = ob_noise(seed, (uint32_t)i);
	ob_const(b, name, 1, rank, dims, v, n * sizeof(*v));
	return v;
}

void ob_scalar(struct ob *b, const char *name, float v)
{
	ob_const(b, name, 1, 0, NULL, &v, sizeof(v));
}

void ob_ints(struct ob *b, const char *name, int count, const int64_t *v)
{
	ob_const(b, name, 7, 1, OB_DIMS(count), v, (size_t)count * sizeof(*v));
}

/* AttributeProto: name 1, f 2, i 3, s 4, floats 7, ints 8, type 20 */
static const char *node_attr(struct ob_buf *node, const char *p)
{
	struct ob_buf a = { 0 };
	size_t len = strcspn(p, "=");
	const char *end;
	char *after;

	ob_bytes(&a, 1, p, len);
	p += len + 1;
	if (*p == '\'') {
		len = strcspn(p + 1, "'");
		ob_bytes(&a, 4, p + 1, len);
		ob_int(&a, 20, 3);
		p += len + 2;
	} else if (*p == '[') {
		end = p + strcspn(p, "]");
		after = memchr(p, '.', (size_t)(end - p));
		ob_int(&a, 20, after ? 6 : 7);
		for (p++; p < end; p = *after == ',' ? after + 1 : after) {
			if (memchr(p - 1, '.', (size_t)(end - p + 1)))
				ob_float(&a, 7, strtof(p, &after));
			else
				ob_int(&a, 8, strtoll(p, &after, 10));
		}
		p = end + 1;
	} else {
		len = strcspn(p, " ");
		if (memchr(p, '.', len)) {
			ob_float(&a, 2, strtof(p, NULL));
			ob_int(&a, 20, 1);
		} else {
			ob_int(&a, 3, strtoll(p, NULL, 10));
			ob_int(&a, 20, 2);
		}
		p += len;
	}
	ob_sub(node, 5, &a);
	return p;
}

static const char *name_list(struct ob_buf *node, unsigned int field, const char *p, char stop)
{
	size_t len;

	for (;;) {
		p += strspn(p, " ");
		len = strcspn(p, " ,=()");
		ob_bytes(node, field, p, len);
		p += len;
		p += strspn(p, " ");
		if (*p != ',')
			break;
		p++;
	}
	return *p == stop ? p + 1 : p;
}

void ob_node(struct ob *b, const char *line)
{
	struct ob_buf node = { 0 };
	const char *p = line, *colon = strstr(line, ": "), *dot;
	size_t len;

	if (colon && colon < strchr(line, '(')) {
		ob_bytes(&node, 3, line, (size_t)(colon - line));
		p = colon + 2;
	}
	p = name_list(&node, 2, p, '=');
	p += strspn(p, " ");
	len = strcspn(p, "(");
	dot = NULL;
	for (size_t i = 0; i < len; i++)
		dot = p[i] == '.' ? p + i : dot;
	if (dot)
		ob_bytes(&node, 7, p, (size_t)(dot - p));
	ob_bytes(&node, 4, dot ? dot + 1 : p, len - (dot ? (size_t)(dot + 1 - p) : 0));
	p += len + 1;
	if (*p == ')')
		p++;
	else
		p = name_list(&node, 1, p, ')');
	for (p += strspn(p, " "); *p; p += strspn(p, " "))
		p = node_attr(&node, p);
	ob_sub(&b->graph, 1, &node);
}

uint8_t *ob_finish(struct ob *b, size_t *size)
{
	struct ob_buf model = { 0 }, opset = { 0 };

	ob_int(&model, 1, 8);
	ob_string(&model, 2, "onnx_lines");
	ob_sub(&model, 7, &b->graph);
	ob_int(&opset, 2, b->opset);
	ob_sub(&model, 8, &opset);
	*size = model.size;
	return model.data;
}
