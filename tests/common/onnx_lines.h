/* SPDX-License-Identifier: MIT */
/*
 * Builds small ONNX files in memory, byte by byte, so that tests of the importer do not go through
 * its own parser.
 */
#ifndef TESTS_COMMON_ONNX_LINES_H
#define TESTS_COMMON_ONNX_LINES_H

#include <stddef.h>
#include <stdint.h>

struct ob_buf {
	uint8_t *data;
	size_t size, max;
};

struct ob {
	struct ob_buf graph;
	int opset;
};

/* Raw pieces of the encoding, for files that are damaged on purpose. */
void ob_varint(struct ob_buf *b, uint64_t v);
void ob_bytes(struct ob_buf *b, unsigned int field, const void *data, size_t size);
void ob_string(struct ob_buf *b, unsigned int field, const char *s);
void ob_int(struct ob_buf *b, unsigned int field, int64_t v);
void ob_sub(struct ob_buf *b, unsigned int field, struct ob_buf *sub);	/* frees @sub */

void ob_init(struct ob *b, int opset);

/* Input of ONNX element type @type; a negative dimension is written as a name. */
void ob_input(struct ob *b, const char *name, int type, int rank, const int64_t *dims);
void ob_output(struct ob *b, const char *name);
void ob_const(struct ob *b, const char *name, int type, int rank, const int64_t *dims,
	      const void *data, size_t bytes);

/*
 * Floats from a fixed pseudo-random sequence in -1..1, different per name; returns them (owned by
 * the caller).
 */
float *ob_random(struct ob *b, const char *name, int rank, const int64_t *dims);
void ob_scalar(struct ob *b, const char *name, float v);
void ob_ints(struct ob *b, const char *name, int count, const int64_t *v);

/*
 * "y, z = Conv(x, w, ) pads=[1,1] alpha=0.5 mode='x' group=2": a number with a point is a float. A
 * name before a colon, "n1: y = ...", is the node's name; "domain.Op" sets the domain.
 */
void ob_node(struct ob *b, const char *line);

/* The model; free() it. The builder is empty afterwards. */
uint8_t *ob_finish(struct ob *b, size_t *size);

#define OB_DIMS(...)	((const int64_t[]){ __VA_ARGS__ })

/* The sequence behind ob_random(): value @i for a seed. */
float ob_noise(uint32_t seed, uint32_t i);

#endif
