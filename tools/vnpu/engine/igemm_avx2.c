// SPDX-License-Identifier: MIT
/*
 * Without an instruction for four products: codes are widened to 16 bits and multiplied in pairs,
 * which is exact. (vpmaddubsw would take bytes, but its sums of two saturate.) For few rows that is
 * done in the loop, where a sum of a column is in two lanes until the end.
 */
#include <immintrin.h>
#include "igemm.h"

typedef __m256i vi, vq;
typedef __m256i vw;

#define PANEL_VECS	4
#define PRELOAD_ROWS	1

/* Sums in their order: else products would be added to each other first, and wait in memory. */
#define IN_ORDER(v) __asm__("" : "+x"(v))

#define vi_zero()	_mm256_setzero_si256()
#define vw_flip(f)	_mm256_set1_epi8((char)(f))

static inline vq vq_bcast(const char *p)
{
	npu_s32 quad;

	memcpy(&quad, p, sizeof(quad));
	return _mm256_cvtepu8_epi16(_mm_set1_epi32(quad));
}

static inline vw vw_load(const char *p, vw flip)
{
	return _mm256_cvtepi8_epi16(_mm_xor_si128(_mm_loadu_si128((const void *)p),
						  _mm256_castsi256_si128(flip)));
}

static inline vi vi_dot(vi acc, vq q, vw w)
{
	acc = _mm256_add_epi32(acc, _mm256_madd_epi16(q, w));
	IN_ORDER(acc);
	return acc;
}

#define half_store(c, acc) _mm256_storeu_si256((void *)(c),					\
	_mm256_permute4x64_epi64(_mm256_hadd_epi32((acc)[0], (acc)[1]), 0xd8))

static inline void panel_store(npu_s32 *c, const vi *acc)
{
	__m256i lo = _mm256_hadd_epi32(acc[0], acc[1]), hi = _mm256_hadd_epi32(acc[2], acc[3]);

	_mm256_storeu_si256((void *)c, _mm256_permute4x64_epi64(lo, 0xd8));
	_mm256_storeu_si256((void *)(c + 8), _mm256_permute4x64_epi64(hi, 0xd8));
}

#include "igemm_impl.h"

ITILE_FN(1, 0)
ITILE_FN(2, 0)
ITILE_FN(4, 0)
ITILE_FN(5, 0)
ITILE_FN(1, 1)
ITILE_FN(2, 1)
ITILE_FN(3, 1)

static void wide_rows(npu_u32 *dst, const npu_u8 *src, ptrdiff_t lda, unsigned int rows,
		      size_t quads)
{
	const __m256i order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	const __m256i low = _mm256_set1_epi16(0xff);
	const __m256i last = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(quads % 8)), order);
	unsigned int r;
	__m256i v;
	size_t k;

	for (r = 0; r < rows; r++, src += lda, dst += IGEMM_WIDE_ROW_WORDS) {
		for (k = 0; k < quads; k += 8) {
			const void *p = src + 4 * k;

			v = quads - k >= 8 ? _mm256_loadu_si256(p) : _mm256_maskload_epi32(p, last);
			_mm256_storeu_si256((void *)(dst + k), _mm256_and_si256(v, low));
			_mm256_storeu_si256((void *)(dst + IGEMM_WIDE_STEP + k),
					    _mm256_srli_epi16(v, 8));
		}
	}
}

/* Even codes of columns 0-7 and 8-15, odd ones of both. */
static void wide_panel(npu_u8 *dst, const npu_u8 *src, size_t quads, npu_u8 flip)
{
	const __m256i f = _mm256_set1_epi8((char)flip);
	__m256i v;
	size_t k;
	int i;

	for (k = 0; k < quads; k++, src += IGEMM_QUAD_BYTES, dst += IGEMM_WIDE_BYTES) {
		for (i = 0; i < 2; i++) {
			v = _mm256_xor_si256(_mm256_loadu_si256((const void *)(src + 32 * i)), f);
			_mm256_storeu_si256((void *)(dst + 32 * i),
					    _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8));
			_mm256_storeu_si256((void *)(dst + 64 + 32 * i), _mm256_srai_epi16(v, 8));
		}
	}
}

INLINE void wide_pairs(const npu_u32 *a, const npu_u8 *b, unsigned int rows, unsigned int nv,
		       __m256i (*acc)[2])
{
	__m256i w[2], q;
	unsigned int r, v;

#pragma GCC unroll 2
	for (v = 0; v < nv; v++)
		w[v] = _mm256_loadu_si256((const void *)(b + 32 * v));
#pragma GCC unroll 6
	for (r = 0; r < rows; r++) {
		q = _mm256_set1_epi32((int)a[r * IGEMM_WIDE_ROW_WORDS]);
#pragma GCC unroll 2
		for (v = 0; v < nv; v++) {
			acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(q, w[v]));
			IN_ORDER(acc[r][v]);
		}
	}
}

INLINE void wide_tile(const npu_u32 *a, const npu_u8 *b, size_t quads, npu_s32 *c, ptrdiff_t ldc,
		      bool add, unsigned int rows, unsigned int nv)
{
	__m256i acc[IGEMM_WIDE_ROWS][2];
	unsigned int v;
	ptrdiff_t r;

#pragma GCC unroll 6
	for (r = 0; r < (ptrdiff_t)rows; r++)
#pragma GCC unroll 2
		for (v = 0; v < nv; v++)
			acc[r][v] = add ? _mm256_loadu_si256((const void *)(c + r * ldc + 8 * v)) :
					  _mm256_setzero_si256();
	for (; quads; quads--, a++, b += IGEMM_WIDE_BYTES) {
		wide_pairs(a, b, rows, nv, acc);
		wide_pairs(a + IGEMM_WIDE_STEP, b + 64, rows, nv, acc);
	}
#pragma GCC unroll 6
	for (r = 0; r < (ptrdiff_t)rows; r++)
#pragma GCC unroll 2
		for (v = 0; v < nv; v++)
			_mm256_storeu_si256((void *)(c + r * ldc + 8 * v), acc[r][v]);
}

#define WIDE_FN(r, half)									\
	KERNEL static void wide_##r##_##half(const npu_u32 *a, const npu_u8 *b, size_t quads,	\
					     npu_s32 *c, ptrdiff_t ldc, bool add)		\
	{											\
		wide_tile(a, b, quads, c, ldc, add, r, 2 - half);				\
	}
#define WIDE_ROWS(X)	X(1) X(2) X(3) X(4) X(5) X(6)

#define X(r) WIDE_FN(r, 0) WIDE_FN(r, 1)
WIDE_ROWS(X)
#undef X

static const struct npu_igemm_wide wide = {
	.rows = wide_rows,
	.panel = wide_panel,
	.tile = {
#define X(r) [0][r] = wide_##r##_0, [1][r] = wide_##r##_1,
		WIDE_ROWS(X)
#undef X
	},
};

const struct npu_igemm npu_igemm_avx2 = {
	.rows = { [0] = 5, [1] = 3 },
	.fn = { ITILE_ROW(1, 0), ITILE_ROW(2, 0), ITILE_ROW(4, 0), ITILE_ROW(5, 0), ITILE_ROW(1, 1),
		ITILE_ROW(2, 1), ITILE_ROW(3, 1) },
	IGEMM_COMMON,
	.wide = &wide,
	.ns = 0.015,
	.path = NPU_PATH_IGEMM_AVX2,
};
