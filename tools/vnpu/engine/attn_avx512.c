// SPDX-License-Identifier: MIT
/*
 * A key's products are summed along the vector: lane d % 16 of a vector, and then all sixteen lanes
 * of sixteen keys together, half of them with the other half, four times. Sums are of the same two
 * numbers as in dot16(), on either side.
 */
#include "vf_avx512.h"
#include "attn_elem.h"
#include "npu_math.h"
#include "vec.h"

#define ROWS(X)	X(1) X(2) X(3) X(4)
#define KEYS	16

/* Lanes 0..7 of a with 8..15 of it, then those of b. */
INLINE vf fold8(vf a, vf b)
{
	return _mm512_add_ps(_mm512_mask_blend_ps(0xff00, a, b), _mm512_shuffle_f32x4(a, b, 0x4e));
}

/* Four lanes each: of the first of a, the first of b, the second of a, the second of b. */
INLINE vf fold4(vf a, vf b)
{
	vf other = _mm512_mask_blend_ps(0xf0f0, b, a);

	return _mm512_add_ps(_mm512_mask_blend_ps(0xf0f0, a, b),
			     _mm512_shuffle_f32x4(other, other, 0xb1));
}

/* Two lanes each, within each four: of a, then of b. */
INLINE vf fold2(vf a, vf b)
{
	return _mm512_add_ps(_mm512_mask_blend_ps(0xcccc, a, b), _mm512_shuffle_ps(a, b, 0x4e));
}

/* One lane each, within each four: the first of a, the first of b, the second of a, of b. */
INLINE vf fold1(vf a, vf b)
{
	vf other = _mm512_mask_blend_ps(0xaaaa, b, a);

	return _mm512_add_ps(_mm512_mask_blend_ps(0xaaaa, a, b), _mm512_permute_ps(other, 0xb1));
}

/* Key @i of those from @j on, of which @left are there: behind them the last one once more. */
INLINE npu_u32 key_at(npu_u32 j, npu_u32 left, npu_u32 i)
{
	return j + (left == KEYS || i < left ? i : left - 1);
}

/* out[r]: lanes d % 16 of keys e, 4 + e, 8 + e and 12 + e, down to four for each. */
INLINE void dots_four(vf *out, const float *q, npu_u32 depth, const struct npu_attn_run *k,
			   npu_u32 j, npu_u32 left, npu_u32 e, enum npu_attn_type type,
			   unsigned int rows)
{
	vf acc[ATTN_MAX_ROWS][4], scale[4], key, x;
	const char *p[4];
	unsigned int r, i;
	npu_u32 d;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		p[i] = k->p + (ptrdiff_t)key_at(j, left, 4 * i + e) * k->step;
		scale[i] = type == ATTN_I8 ? vf_bcast(k->scale + key_at(j, left, 4 * i + e)) :
					     vf_zero();
#pragma GCC unroll 4
		for (r = 0; r < rows; r++)
			acc[r][i] = vf_zero();
	}
	for (d = 0; d < depth; d += 16) {
#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			key = elem_load(p[i] + (size_t)d * elem_size(type), type, k->zero,
					scale[i]);
#pragma GCC unroll 4
			for (r = 0; r < rows; r++) {
				x = vf_load(q + (size_t)r * depth + d);
				acc[r][i] = vf_fma(x, key, acc[r][i]);
			}
		}
	}
#pragma GCC unroll 4
	for (r = 0; r < rows; r++)
		out[r] = fold4(fold8(acc[r][0], acc[r][2]), fold8(acc[r][1], acc[r][3]));
}

INLINE void dots_keys(float *out, ptrdiff_t step, const float *q, npu_u32 depth,
			   const struct npu_attn_run *k, npu_u32 j, npu_u32 left,
			   enum npu_attn_type type, unsigned int rows)
{
	vf even[ATTN_MAX_ROWS], odd[ATTN_MAX_ROWS], a[ATTN_MAX_ROWS], b[ATTN_MAX_ROWS], s;
	unsigned int r;

	dots_four(a, q, depth, k, j, left, 0, type, rows);
	dots_four(b, q, depth, k, j, left, 2, type, rows);
#pragma GCC unroll 4
	for (r = 0; r < rows; r++)
		even[r] = fold2(a[r], b[r]);
	dots_four(a, q, depth, k, j, left, 1, type, rows);
	dots_four(b, q, depth, k, j, left, 3, type, rows);
#pragma GCC unroll 4
	for (r = 0; r < rows; r++) {
		odd[r] = fold2(a[r], b[r]);
		s = fold1(even[r], odd[r]);
		if (left == KEYS)
			vf_store(out + (ptrdiff_t)r * step, s);
		else
			vf_store_part(out + (ptrdiff_t)r * step, s, left);
	}
}

static float scale_max(float *s, npu_u32 n, float scale)
{
	const vf factor = vf_set1(scale), log2e = vf_set1(ATTN_LOG2E);
	vf max = vf_set1(-__builtin_inff()), v;
	__mmask16 nan = 0, m;
	npu_u32 i;

	for (i = 0; i < n; i += 16) {
		m = n - i >= 16 ? 0xffff : (__mmask16)((1u << (n - i)) - 1u);
		v = vf_mul(vf_mul(_mm512_maskz_loadu_ps(m, s + i), factor), log2e);
		_mm512_mask_storeu_ps(s + i, m, v);
		max = _mm512_mask_max_ps(max, m, max, v);
		nan |= _mm512_mask_cmp_ps_mask(m, v, v, _CMP_UNORD_Q);
	}
	return nan ? __builtin_nanf("") : _mm512_reduce_max_ps(max);
}

/* npu_exp2_f32(): p * 2^n is rounded once there, too. */
INLINE vf exp2_vector(vf x)
{
	const vf round = vf_set1(NPU_ROUND_F32);
	vf c, n, f, p;

	c = _mm512_max_ps(vf_set1(-152.0f), _mm512_min_ps(vf_set1(130.0f), x));
	n = _mm512_sub_ps(_mm512_add_ps(c, round), round);
	f = _mm512_sub_ps(c, n);
	p = vf_fma(vf_set1(0x1.3eb2ap-13f), f, vf_set1(0x1.5f0b86p-10f));
	p = vf_fma(p, f, vf_set1(0x1.3b320ap-7f));
	p = vf_fma(p, f, vf_set1(0x1.c6af76p-5f));
	p = vf_fma(p, f, vf_set1(0x1.ebfbd6p-3f));
	p = vf_fma(p, f, vf_set1(0x1.62e43p-1f));
	p = vf_fma(p, f, vf_set1(1.0f));
	return _mm512_scalef_ps(p, n);
}

static float exp2_sum(float *s, npu_u32 n, npu_u32 skip, float max)
{
	const vf sub = vf_set1(max);
	float lane[16];
	__mmask16 m, seen;
	vf sum = vf_zero(), v;
	npu_u32 i;

	for (i = 0; i < n; i += 16) {
		m = n - i >= 16 ? 0xffff : (__mmask16)((1u << (n - i)) - 1u);
		seen = i ? m : m & (__mmask16)(0xffffu << skip);
		v = exp2_vector(_mm512_sub_ps(_mm512_maskz_loadu_ps(m, s + i), sub));
		v = _mm512_maskz_mov_ps(seen, v);
		_mm512_mask_storeu_ps(s + i, m, v);
		sum = vf_add(sum, v);
	}
	vf_store(lane, sum);
	return npu_lanes_join(lane, NPU_FOLD_SUM);
}

#include "attn_impl.h"

const struct npu_attn npu_attn_avx512 = { ATTN_KERNELS, .ns = 0.02 };
