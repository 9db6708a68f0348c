/* SPDX-License-Identifier: MIT */
/*
 * Strides and offsets of tensors whose dimensions are linear in run-time symbols: base + sum of
 * factor * s[a] or factor * s[a] * s[b]. A row of an image of run-time width has a linear stride; a
 * plane of an image whose height varies too has one with a product, which reaches the device as a
 * scalar of its own. Higher powers are refused. Terms are kept sorted and without zeros, so that
 * equal polynomials are equal bytes.
 */
#ifndef NPU_COMPILER_POLY_H
#define NPU_COMPILER_POLY_H

#include "compiler/graph.h"

#define NPU_POLY_TERMS	6

struct npu_poly {
	int64_t base;
	unsigned int num_terms;
	struct npu_poly_term {
		int64_t factor;
		int16_t a, b;	/* symbols, a <= b; b is -1 for a linear term */
	} term[NPU_POLY_TERMS];
};

static inline struct npu_poly npu_poly_const(int64_t v)
{
	return (struct npu_poly){ .base = v };
}

struct npu_poly npu_poly_dim(struct npu_dim d);

/*
 * These return 0, -ERANGE on overflow, or -EDOM when the result needs a third power or too many
 * terms.
 */
int npu_poly_add(const struct npu_poly *a, const struct npu_poly *b, struct npu_poly *out);
int npu_poly_scale(const struct npu_poly *a, int64_t k, struct npu_poly *out);
int npu_poly_mul_dim(const struct npu_poly *a, struct npu_dim d, struct npu_poly *out);

bool npu_poly_equal(const struct npu_poly *a, const struct npu_poly *b);

/* No value within the symbols' bounds is larger; saturates. */
int64_t npu_poly_high(const struct npu_graph *g, const struct npu_poly *p);

#endif
