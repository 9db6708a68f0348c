/* SPDX-License-Identifier: MIT */
/*
 * Kernels that read the cache, included by one file per instruction set behind attn_elem.h. It has
 * defined
 *
 *	ROWS(X)		numbers of rows that there are kernels for
 *	KEYS		keys whose dot products are made together
 *	dots_keys(out, step, q, depth, k, j, left, type, rows)
 *			those of keys [j, j + KEYS), of which @left are there: out[r * step + i]
 *	scale_max, exp2_sum	of struct npu_attn
 */
/* nv vectors from element @d on. */
INLINE void sums_cols(float *sum, const float *w, ptrdiff_t step, npu_u32 depth, npu_u32 d,
		      const struct npu_attn_run *run, enum npu_attn_type type, unsigned int rows,
		      unsigned int nv)
{
	const unsigned int size = elem_size(type);
	const char *p = run->p + (size_t)d * size;
	vf acc[ATTN_MAX_ROWS][4], v[4], x;
	unsigned int r, i;
	npu_u32 j;

#pragma GCC unroll 4
	for (r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (i = 0; i < nv; i++)
			acc[r][i] = vf_load(sum + (size_t)r * depth + d + i * VL);
	for (j = 0; j < run->n; j++, p += run->step) {
		x = elem_scale(run, j, type);
#pragma GCC unroll 4
		for (i = 0; i < nv; i++)
			v[i] = elem_load(p + i * VL * size, type, run->zero, x);
#pragma GCC unroll 4
		for (r = 0; r < rows; r++) {
			x = vf_bcast(w + (ptrdiff_t)r * step + j);
#pragma GCC unroll 4
			for (i = 0; i < nv; i++)
				acc[r][i] = vf_fma(x, v[i], acc[r][i]);
		}
	}
#pragma GCC unroll 4
	for (r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (i = 0; i < nv; i++)
			vf_store(sum + (size_t)r * depth + d + i * VL, acc[r][i]);
}

INLINE void sums(float *sum, const float *w, ptrdiff_t step, npu_u32 depth,
		 const struct npu_attn_run *run, enum npu_attn_type type, unsigned int rows)
{
	npu_u32 d = 0;

	for (; d + 4 * VL <= depth; d += 4 * VL)
		sums_cols(sum, w, step, depth, d, run, type, rows, 4);
	for (; d + 2 * VL <= depth; d += 2 * VL)
		sums_cols(sum, w, step, depth, d, run, type, rows, 2);
	for (; d < depth; d += VL)
		sums_cols(sum, w, step, depth, d, run, type, rows, 1);
}

INLINE void dots(float *score, ptrdiff_t step, const float *q, npu_u32 depth,
		 const struct npu_attn_run *run, enum npu_attn_type type, unsigned int rows)
{
	npu_u32 j;

	for (j = 0; j + KEYS <= run->n; j += KEYS)
		dots_keys(score + j, step, q, depth, run, j, KEYS, type, rows);
	if (j < run->n)
		dots_keys(score + j, step, q, depth, run, j, run->n - j, type, rows);
}

#define FNS(type, rows)									\
	KERNEL static void dots_##type##_##rows(float *score, ptrdiff_t step, const float *q, \
						npu_u32 depth, const struct npu_attn_run *k) \
	{										\
		dots(score, step, q, depth, k, ATTN_##type, rows);			\
	}										\
	KERNEL static void sums_##type##_##rows(float *sum, const float *w, ptrdiff_t step, \
						npu_u32 depth, const struct npu_attn_run *v) \
	{										\
		sums(sum, w, step, depth, v, ATTN_##type, rows);			\
	}
#define X(rows) FNS(F32, rows) FNS(F16, rows) FNS(I8, rows)
ROWS(X)
#undef X

#define DOTS_F32(rows)	[rows] = dots_F32_##rows,
#define DOTS_F16(rows)	[rows] = dots_F16_##rows,
#define DOTS_I8(rows)	[rows] = dots_I8_##rows,
#define SUMS_F32(rows)	[rows] = sums_F32_##rows,
#define SUMS_F16(rows)	[rows] = sums_F16_##rows,
#define SUMS_I8(rows)	[rows] = sums_I8_##rows,

#define ATTN_KERNELS									\
	.dots = { [ATTN_F32] = { ROWS(DOTS_F32) }, [ATTN_F16] = { ROWS(DOTS_F16) },	\
		  [ATTN_I8] = { ROWS(DOTS_I8) } },					\
	.sums = { [ATTN_F32] = { ROWS(SUMS_F32) }, [ATTN_F16] = { ROWS(SUMS_F16) },	\
		  [ATTN_I8] = { ROWS(SUMS_I8) } },					\
	.scale_max = scale_max, .exp2_sum = exp2_sum
