// SPDX-License-Identifier: MIT
/* As in attn_avx512.c, eight keys at a time; lanes 0 to 7 and 8 to 15 are in two vectors. */
#include "vf_avx2.h"
#include "attn_elem.h"

#define ROWS(X)	X(1) X(2)
#define KEYS	8

INLINE vf fold4(vf a, vf b)
{
	return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20),
			     _mm256_permute2f128_ps(a, b, 0x31));
}

INLINE vf fold2(vf a, vf b)
{
	return _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xee));
}

INLINE vf fold1(vf a, vf b)
{
	return _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x88), _mm256_shuffle_ps(a, b, 0xdd));
}

/* out[r]: keys e and 4 + e, four lanes for each. */
INLINE void dots_two(vf *out, const float *q, npu_u32 depth, const struct npu_attn_run *k,
			  npu_u32 j, npu_u32 left, npu_u32 e, enum npu_attn_type type,
			  unsigned int rows)
{
	vf low[ATTN_MAX_ROWS][2], high[ATTN_MAX_ROWS][2], scale, v, w;
	const float *x;
	const char *p;
	unsigned int r, i;
	npu_u32 d, at;

#pragma GCC unroll 2
	for (i = 0; i < 2; i++)
#pragma GCC unroll 2
		for (r = 0; r < rows; r++)
			low[r][i] = high[r][i] = vf_zero();
#pragma GCC unroll 2
	for (i = 0; i < 2; i++) {
		at = j + (left == KEYS || 4 * i + e < left ? 4 * i + e : left - 1);
		p = k->p + (ptrdiff_t)at * k->step;
		scale = type == ATTN_I8 ? vf_bcast(k->scale + at) : vf_zero();
		for (d = 0; d < depth; d += 16) {
			v = elem_load(p + (size_t)d * elem_size(type), type, k->zero, scale);
			w = elem_load(p + (size_t)(d + 8) * elem_size(type), type, k->zero, scale);
#pragma GCC unroll 2
			for (r = 0; r < rows; r++) {
				x = q + (size_t)r * depth + d;
				low[r][i] = vf_fma(vf_load(x), v, low[r][i]);
				high[r][i] = vf_fma(vf_load(x + 8), w, high[r][i]);
			}
		}
	}
#pragma GCC unroll 2
	for (r = 0; r < rows; r++)
		out[r] = fold4(vf_add(low[r][0], high[r][0]), vf_add(low[r][1], high[r][1]));
}

INLINE void dots_keys(float *out, ptrdiff_t step, const float *q, npu_u32 depth,
			   const struct npu_attn_run *k, npu_u32 j, npu_u32 left,
			   enum npu_attn_type type, unsigned int rows)
{
	vf a[ATTN_MAX_ROWS], b[ATTN_MAX_ROWS], first[ATTN_MAX_ROWS], s;
	unsigned int r;

	dots_two(a, q, depth, k, j, left, 0, type, rows);
	dots_two(b, q, depth, k, j, left, 1, type, rows);
#pragma GCC unroll 2
	for (r = 0; r < rows; r++)
		first[r] = fold2(a[r], b[r]);
	dots_two(a, q, depth, k, j, left, 2, type, rows);
	dots_two(b, q, depth, k, j, left, 3, type, rows);
#pragma GCC unroll 2
	for (r = 0; r < rows; r++) {
		s = fold1(first[r], fold2(a[r], b[r]));
		if (left == KEYS)
			vf_store(out + (ptrdiff_t)r * step, s);
		else
			vf_store_part(out + (ptrdiff_t)r * step, s, left);
	}
}

#include "attn_plain.h"
#include "attn_impl.h"

const struct npu_attn npu_attn_avx2 = { ATTN_KERNELS, .ns = 0.05 };
