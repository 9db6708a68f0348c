/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic on linear dimensions. Every function returns 0, or -ERANGE (overflow), -EDOM (the
 * result is not linear in one symbol for every permitted value). The symbols' bounds are needed to
 * decide exactness, so the graph is passed where they matter.
 */
#ifndef NPU_COMPILER_DIMS_H
#define NPU_COMPILER_DIMS_H

#include "compiler/graph.h"

int npu_dim_add(struct npu_dim a, struct npu_dim b, struct npu_dim *out);
int npu_dim_sub(struct npu_dim a, struct npu_dim b, struct npu_dim *out);
int npu_dim_mul(struct npu_dim a, struct npu_dim b, struct npu_dim *out);
int npu_dim_scale(struct npu_dim a, int64_t k, struct npu_dim *out);

/** npu_dim_div_floor - floor(a / k) for a constant k > 0: exact for every s, or -EDOM */
int npu_dim_div_floor(const struct npu_graph *g, struct npu_dim a, int64_t k, struct npu_dim *out);
int npu_dim_div_ceil(const struct npu_graph *g, struct npu_dim a, int64_t k, struct npu_dim *out);

/**
 * npu_dim_ratio - a / b when it is the same integer for every s (also of two symbolic dimensions)
 */
int npu_dim_ratio(struct npu_dim a, struct npu_dim b, int64_t *ratio);

/**
 * npu_dim_min, npu_dim_max - when one of the two is the smaller (larger) one for every s; -EDOM
 * otherwise
 */
int npu_dim_min(const struct npu_graph *g, struct npu_dim a, struct npu_dim b, struct npu_dim *out);
int npu_dim_max(const struct npu_graph *g, struct npu_dim a, struct npu_dim b, struct npu_dim *out);

/* Smallest and largest value over the symbol's bounds (saturating). */
int64_t npu_dim_low(const struct npu_graph *g, struct npu_dim d);
int64_t npu_dim_high(const struct npu_graph *g, struct npu_dim d);

/** npu_dim_text - "640", "8*W/2+3"-like text in a caller's buffer; returns @buf */
const char *npu_dim_text(const struct npu_graph *g, struct npu_dim d, char *buf, size_t size);

/* "[1,3,48,4*s0]" */
const char *npu_shape_text(const struct npu_graph *g, const struct npu_gtensor *t, char *buf,
			   size_t size);

/** npu_dims_broadcast - numpy broadcasting of two shapes; -EINVAL when they do not fit */
int npu_dims_broadcast(const struct npu_dim *a, int ra, const struct npu_dim *b, int rb,
		       struct npu_dim *out);

/** npu_dims_product - number of elements; -EDOM when two dimensions are symbolic */
int npu_dims_product(const struct npu_dim *d, int rank, struct npu_dim *out);

#endif
