/* SPDX-License-Identifier: MIT */
/*
 * Small ONNX models for tests, written as protobuf wire bytes by hand, so that they do not come from the code that
 * reads them. Nothing is checked: tests build broken models with it as well.
 */
#ifndef TEST_ONNX_BUILD_H
#define TEST_ONNX_BUILD_H

#include <stddef.h>
#include <stdint.h>

struct onnx_bytes {
	unsigned char *data;
	size_t size, room;
};

struct onnx_build {
	struct onnx_bytes graph;	/* fields of GraphProto */
	struct onnx_bytes node;		/* the node under construction */
	int opset;
};

enum { ONNX_FLOAT = 1, ONNX_UINT8 = 2, ONNX_INT8 = 3, ONNX_INT32 = 6, ONNX_INT64 = 7, ONNX_BOOL = 9 };

void onnx_begin(struct onnx_build *b, int opset);
/* Value infos; a negative dim is written as a symbol of its own. */
void onnx_input(struct onnx_build *b, const char *name, int type, int rank, const int64_t *dims);
void onnx_output(struct onnx_build *b, const char *name, int type, int rank, const int64_t *dims);
/* An initializer from raw data of @bytes bytes. */
void onnx_tensor(struct onnx_build *b, const char *name, int type, int rank, const int64_t *dims, const void *data, size_t bytes);
/* An f32 initializer filled with small numbers that follow from @seed. */
void onnx_weights(struct onnx_build *b, const char *name, int rank, const int64_t *dims, unsigned int seed);
/* A node: inputs and outputs are lists of names separated by spaces ("-" stands for an absent input). */
void onnx_node(struct onnx_build *b, const char *op, const char *name, const char *inputs, const char *outputs);
/* Attributes of the node begun last. */
void onnx_attr_int(struct onnx_build *b, const char *name, int64_t v);
void onnx_attr_float(struct onnx_build *b, const char *name, float v);
void onnx_attr_string(struct onnx_build *b, const char *name, const char *v);
void onnx_attr_ints(struct onnx_build *b, const char *name, int n, const int64_t *v);
/* The finished model, to be freed by the caller; the builder is empty afterwards. */
unsigned char *onnx_finish(struct onnx_build *b, size_t *size);

#endif
