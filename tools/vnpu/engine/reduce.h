/* SPDX-License-Identifier: MIT */
/* Reading many elements in row-major order through blocks, for reductions. */
#ifndef NPU_REDUCE_H
#define NPU_REDUCE_H

#include "iter.h"

/* Some dimensions of an operand, outermost first; dims of size 1 dropped and neighbours merged. */
struct npu_axes {
	unsigned int rank;
	npu_u64 dim[NPU_MAX_RANK];
	npu_s64 stride[NPU_MAX_RANK];		/* of the operand that is read */
	npu_s64 other[NPU_MAX_RANK];		/* of a second operand, 0 if there is none */
	npu_u64 count;				/* product of dims */
};

/* Append a dimension behind the others. */
void npu_axes_add(struct npu_axes *a, npu_u64 dim, npu_s64 stride, npu_s64 other);

/* Offsets of element @index (row-major). */
npu_s64 npu_axes_offset(const struct npu_axes *a, npu_u64 index, npu_s64 *other);

/* Load elements [index, index + n) as one dense block. */
void npu_axes_load(const struct npu_axes *a, const struct npu_vec *vec, const struct npu_elem *e,
		   const char *base, npu_u64 index, size_t n, float *dst);

#endif
