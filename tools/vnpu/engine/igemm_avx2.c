// SPDX-License-Identifier: MIT
/*
 * Without an instruction for four products: codes are widened to 16 bits and multiplied in pairs,
 * which is exact. (vpmaddubsw would take bytes, but its sums of two saturate.) A sum of a column is
 * in two lanes until the end.
 */
#include <immintrin.h>
#include "igemm.h"

typedef __m256i vi, vq;
typedef __m256i vw;

#define PANEL_VECS	4
#define PRELOAD_ROWS	1

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
	return _mm256_add_epi32(acc, _mm256_madd_epi16(q, w));
}

#define half_store(c, acc) _mm256_storeu_si256((void *)(c),						\
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

const struct npu_igemm npu_igemm_avx2 = {
	.rows = { [0] = 5, [1] = 3 },
	.fn = { ITILE_ROW(1, 0), ITILE_ROW(2, 0), ITILE_ROW(4, 0), ITILE_ROW(5, 0), ITILE_ROW(1, 1),
		ITILE_ROW(2, 1), ITILE_ROW(3, 1) },
	IGEMM_COMMON,
	.ns = 0.02,
	.path = NPU_PATH_IGEMM_AVX2,
};
