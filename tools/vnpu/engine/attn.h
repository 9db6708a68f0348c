/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: kernels of ATTENTION that read keys and values where they lie in the cache. Some
 * query rows that share a kv head share each element that is loaded and widened. Depths are
 * multiples of 16. Whatever the instruction set, a score is dot16() and a sum goes by fma in the
 * order of the positions, so all give the same bits.
 */
#ifndef NPU_ATTN_H
#define NPU_ATTN_H

#include "npu_op.h"

#define ATTN_MAX_ROWS	4	/* query rows of a kernel */

/* How the cache is stored; ATTN_I8: codes with a scale for each position. */
enum npu_attn_type { ATTN_F32, ATTN_F16, ATTN_I8, ATTN_NUM_TYPES };

/* Positions of one head that lie the same step apart. */
struct npu_attn_run {
	const char *p;
	ptrdiff_t step;		/* bytes */
	npu_u32 n;		/* at least 1 */
	npu_s32 zero;		/* of codes */
	const float *scale;	/* [n], of codes */
};

/* score[r * step + j] = dot16(q[r * depth ..], key j) for all j of the run. */
typedef void (*npu_attn_dots_fn)(float *score, ptrdiff_t step, const float *q, npu_u32 depth,
				 const struct npu_attn_run *k);
/* sum[r * depth + d] = fma(w[r * step + j], value j at d, itself) for all j of the run in order. */
typedef void (*npu_attn_sums_fn)(float *sum, const float *w, ptrdiff_t step, npu_u32 depth,
				 const struct npu_attn_run *v);

struct npu_attn {
	/* By type and number of rows; NULL: take fewer. */
	npu_attn_dots_fn dots[ATTN_NUM_TYPES][ATTN_MAX_ROWS + 1];
	npu_attn_sums_fn sums[ATTN_NUM_TYPES][ATTN_MAX_ROWS + 1];
	/* s = (s * scale) * log2(e); the largest of them, NaN when one is */
	float (*scale_max)(float *s, npu_u32 n, float scale);
	/* s = 0 for the first @skip, < 16, exp2(s - max) for the others; sum16() of all @n */
	float (*exp2_sum)(float *s, npu_u32 n, npu_u32 skip, float max);
	double ns;		/* an estimate of the time of one product, for the size of chunks */
};

#define ATTN_LOG2E	1.44269504f

/* The enum npu_attn_type of keys or values, or -1: they are stored in another way. */
static inline int npu_attn_type(const struct npu_operand *op, const struct npu_operand *scale)
{
	if (op->stride[3] * 8 != (npu_s64)npu_dtype_bits(op->dtype) || op->dim[3] % 16)
		return -1;
	if (op->dtype == NPU_F32 || op->dtype == NPU_F16)
		return op->dtype == NPU_F32 ? ATTN_F32 : ATTN_F16;
	return op->dtype == NPU_I8 && scale->dtype != NPU_NONE ? ATTN_I8 : -1;
}

const struct npu_attn *npu_attn_select(enum npu_simd simd);
extern const struct npu_attn npu_attn_portable, npu_attn_avx2, npu_attn_avx512;

#endif
