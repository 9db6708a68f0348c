// SPDX-License-Identifier: MIT
#include "vf_avx512.h"
#include "gemm_impl.h"

/* Eight columns twice: for two rows in one vector. */
INLINE vf b_load_twice(enum npu_gemm_b type, const char *p)
{
	__m256i h;

	if (type == GEMM_B_F32)
		return _mm512_broadcast_f32x8(_mm256_loadu_ps((const float *)p));
	h = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p));
	return _mm512_cvtph_ps(h);
}

/*
 * 8 or 24 columns without wasting half a vector: the last eight columns of two rows share a vector,
 * so 24 columns take three multiplications for two rows where padding to 32 takes four.
 */
INLINE void half_k(const char *const *pa, ptrdiff_t lda, unsigned int at, const char *b,
		   const char *b_half, enum npu_gemm_b type, unsigned int rows, bool full, vf *acc,
		   vf *half)
{
	unsigned int r, size = type == GEMM_B_F32 ? 4 : 2;
	vf bv = vf_zero(), bh = b_load_twice(type, b_half + at * 16 * size), a0, a1;

	if (full)
		bv = b_load(type, b + at * 16 * size);
#pragma GCC unroll 12
	for (r = 0; r < rows; r += 2) {
		const unsigned int s = r + 1 < rows ? r + 1 : r;

		a0 = vf_bcast((const float *)(pa[r / 3] + (r % 3) * lda) + at);
		a1 = vf_bcast((const float *)(pa[s / 3] + (s % 3) * lda) + at);
		if (full) {
			acc[r] = vf_fma(a0, bv, acc[r]);
			if (s != r)
				acc[s] = vf_fma(a1, bv, acc[s]);
		}
		half[r / 2] = vf_fma(_mm512_mask_blend_ps(0xff00, a0, a1), bh, half[r / 2]);
	}
}

INLINE void half_tile(const struct npu_gemm_tile *t, enum npu_gemm_b type, unsigned int rows,
		      bool full)
{
	const unsigned int size = type == GEMM_B_F32 ? 4 : 2;
	const ptrdiff_t lda = t->lda * 4;
	const struct npu_gemm_seg *seg = t->seg, *end = seg + t->num_segs;
	vf acc[GEMM_MAX_ROWS], half[GEMM_MAX_ROWS / 2];
	const char *pa[A_BASES];
	unsigned int r, i;

#pragma GCC unroll 24
	for (r = 0; r < rows; r++) {
		acc[r] = vf_zero();
		half[r / 2] = vf_zero();
	}
	for (; seg < end; seg++) {
		const char *b = (const char *)t->b + seg->b * 16 * (ptrdiff_t)size;
		const char *b_half = b + (full ? t->b_panel : 0);
		size_t k = seg->len;

#pragma GCC unroll 8
		for (i = 0; i * 3 < rows; i++) {
			pa[i] = (const char *)(t->a + seg->a) + (ptrdiff_t)i * 3 * lda;
			OPAQUE(pa[i]);
		}
		for (; k >= 2; k -= 2) {
			half_k(pa, lda, 0, b, b_half, type, rows, full, acc, half);
			half_k(pa, lda, 1, b, b_half, type, rows, full, acc, half);
			b += 32 * size;
			b_half += 32 * size;
#pragma GCC unroll 8
			for (i = 0; i * 3 < rows; i++)
				pa[i] += 8;
		}
		if (k)
			half_k(pa, lda, 0, b, b_half, type, rows, full, acc, half);
	}
#pragma GCC unroll 24
	for (r = 0; r < rows; r++) {
		float *c = t->c + (ptrdiff_t)r * t->ldc;

		if (full)
			vf_store(c, acc[r]);
		_mm256_storeu_ps(c + (full ? 16 : 0),
				 r % 2 ? _mm512_extractf32x8_ps(half[r / 2], 1) :
					 _mm512_castps512_ps256(half[r / 2]));
	}
}

#define HALF_FN(rows, cols, type, tname)							\
	KERNEL static void half_##rows##_##cols##_##tname(const struct npu_gemm_tile *t)	\
	{											\
		half_tile(t, type, rows, cols == 24);						\
	}
#define HALF_FNS(rows, cols)				\
	HALF_FN(rows, cols, GEMM_B_F32, f32)		\
	HALF_FN(rows, cols, GEMM_B_F16, f16)
#define HALF_ROW(kind, rows, cols)							\
	[GEMM_B_F32][kind][rows] = half_##rows##_##cols##_f32,				\
	[GEMM_B_F16][kind][rows] = half_##rows##_##cols##_f16

#define ROWS_6(X)	X(1) X(2) X(3) X(4) X(6)
#define ROWS_14(X)	X(1) X(2) X(3) X(4) X(6) X(8) X(10) X(12) X(14)
#define ROWS_16(X)	X(1) X(2) X(4) X(6) X(8) X(10) X(12) X(14) X(16)
#define ROWS_16_FEW(X)	X(1) X(2) X(4) X(8) X(12) X(16)

#define X(r) HALF_FNS(r, 24)
ROWS_16(X)
#undef X
#define X(r) HALF_FNS(r, 8) TILE_FNS(r, 1)
ROWS_16_FEW(X)
#undef X
#define X(r) TILE_FNS(r, 2)
ROWS_14(X)
#undef X
#define X(r) TILE_FNS(r, 4)
ROWS_6(X)
#undef X

const struct npu_gemm npu_gemm_avx512 = {
	.rows = { [GEMM_8] = 16, [GEMM_16] = 16, [GEMM_24] = 16, [GEMM_32] = 14, [GEMM_64] = 6 },
	.fn = {
#define X(r) HALF_ROW(GEMM_24, r, 24),
		ROWS_16(X)
#undef X
#define X(r) HALF_ROW(GEMM_8, r, 8), TILE_ROW(GEMM_16, r, 1),
		ROWS_16_FEW(X)
#undef X
#define X(r) TILE_ROW(GEMM_32, r, 2),
		ROWS_14(X)
#undef X
#define X(r) TILE_ROW(GEMM_64, r, 4),
		ROWS_6(X)
#undef X
	},
	.load_f32 = load_f32,
	.load_f16 = load_f16,
	.load_bf16 = load_bf16,
	.path = NPU_PATH_GEMM_AVX512,
};
