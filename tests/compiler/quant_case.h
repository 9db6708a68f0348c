/* SPDX-License-Identifier: MIT */
/*
 * Random models of one quantized operator each, with what they must give where that is a matter of
 * integers.
 */
#ifndef QUANT_CASE_H
#define QUANT_CASE_H

#include <stdbool.h>
#include "common/onnx_lines.h"
#include "run_job.h"

#define QUANT_INPUTS	3

/**
 * struct quant_case - a model, its inputs, and the exact result
 * @model, @size: free() it
 * @plain, @plain_size: the same in operators that ONNX Runtime has; NULL: @model is
 * @want: all zero when the result is left to ONNX Runtime
 * @depth: products per result
 */
struct quant_case {
	uint8_t *model, *plain;
	size_t size, plain_size;
	struct named_array in[QUANT_INPUTS];
	int num_in;
	struct npu_npy want;
	int64_t depth;
};

/* What the generators reached, over all cases. */
struct quant_reach {
	uint64_t elements, saturated, at_limits; /* results; codes of inputs that are extreme */
	int64_t depth;
	unsigned char zero[256];	/* zero points that occurred */
};
extern struct quant_reach quant_reach;

/*
 * Generators. @seed makes the case; @plain: only what ONNX Runtime takes (types, zero points), with
 * weights of 7 bits when @narrow.
 */
typedef void (*quant_maker)(struct quant_case *c, uint32_t seed, bool plain, bool narrow);

struct quant_op {
	const char *name;
	quant_maker make;
	bool exact;		/* .want is filled in */
	int off_by;		/* codes that ONNX Runtime's own kernels may be away */
};
extern const struct quant_op quant_ops[];
extern const unsigned int num_quant_ops;

void quant_case_free(struct quant_case *c);

/* ---- for the files that make cases ---- */

uint32_t quant_random(uint32_t *seed, uint32_t below);
float quant_scale(uint32_t *seed);

/* A quantized operand: element type (ONNX: 2 u8, 3 i8), scale, zero point. */
struct quant_type {
	int type;
	float scale;
	int zero;
};
struct quant_type quant_any_type(uint32_t *seed, bool is_unsigned, float scale);
static inline int quant_low(struct quant_type q)
{
	return q.type == 3 ? -128 : 0;
}

/* Codes of a type into a new array; sometimes extreme ones only. @bits 7: half the range. */
void quant_codes(struct npu_npy *a, uint32_t *seed, struct quant_type q, int bits, int rank,
		 const int64_t *dims);
int quant_code(const struct npu_npy *a, size_t i);
/* The array as an input or as a constant of the model; a constant is freed. */
void quant_input(struct quant_case *c, struct ob *b, const char *name, struct npu_npy *a);
void quant_const(struct ob *b, const char *name, struct npu_npy *a);
/* Constants NAME_s and NAME_z. */
void quant_params(struct ob *b, const char *name, struct quant_type q);
/* v as a code of @q: to even, saturated. */
int quant_store(float v, struct quant_type q);
void quant_put(struct npu_npy *a, size_t i, int code);
enum npu_npy_type quant_npy(int onnx_type);

/* The weight side: zero points and scales, one or one per output. */
struct quant_weight {
	struct quant_type q;
	int64_t outs;
	bool per_output;
	float *scale;
	int *zero;
	struct npu_npy codes;
};
void quant_weight_init(struct quant_weight *w, uint32_t *seed, bool is_unsigned, int64_t outs,
		       bool plain);
/* Constants w_z and, with @scales, w_s; frees both. */
void quant_weight_params(struct ob *b, struct quant_weight *w, bool scales);
/* A result scale that lets most results fit, and some not. */
float quant_result_scale(uint32_t *seed, float in, float w, int64_t depth);
/* @outs numbers to be freed, or NULL: none this time. */
int32_t *quant_bias(uint32_t *seed, int64_t outs);

void quant_make_conv(struct quant_case *c, uint32_t seed, bool plain, bool narrow);
void quant_make_conv_qdq(struct quant_case *c, uint32_t seed, bool plain, bool narrow);
void quant_make_conv_integer(struct quant_case *c, uint32_t seed, bool plain, bool narrow);
void quant_make_transpose_qdq(struct quant_case *c, uint32_t seed, bool plain, bool narrow);
void quant_make_matmul(struct quant_case *c, uint32_t seed, bool plain, bool narrow);
void quant_make_matmul_qdq(struct quant_case *c, uint32_t seed, bool plain, bool narrow);
void quant_make_matmul_integer(struct quant_case *c, uint32_t seed, bool plain, bool narrow);

#endif
