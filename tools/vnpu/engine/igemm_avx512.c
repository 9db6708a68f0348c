// SPDX-License-Identifier: MIT
/* AVX-512 without VNNI: as in igemm_avx2.c, pairs of 16-bit codes. */
#include <immintrin.h>
#include "igemm.h"

typedef __m512i vi, vq;
typedef __m512i vw;

#define PANEL_VECS	2
#define PRELOAD_ROWS	0

/* Sums in their order: else products would be added to each other first, and wait in memory. */
#define IN_ORDER(v) __asm__("" : "+v"(v))

#define vi_zero()	_mm512_setzero_si512()
#define vw_flip(f)	_mm512_set1_epi8((char)(f))

static inline vq vq_bcast(const char *p)
{
	npu_s32 quad;

	memcpy(&quad, p, sizeof(quad));
	return _mm512_cvtepu8_epi16(_mm256_set1_epi32(quad));
}

static inline vw vw_load(const char *p, vw flip)
{
	return _mm512_cvtepi8_epi16(_mm256_xor_si256(_mm256_loadu_si256((const void *)p),
						     _mm512_castsi512_si256(flip)));
}

static inline vi vi_dot(vi acc, vq q, vw w)
{
	acc = _mm512_add_epi32(acc, _mm512_madd_epi16(q, w));
	IN_ORDER(acc);
	return acc;
}

static inline void half_store(npu_s32 *c, const vi *acc)
{
	const __m512i even = _mm512_set_epi32(14, 12, 10, 8, 6, 4, 2, 0, 14, 12, 10, 8, 6, 4, 2, 0);
	__m512i odd = _mm512_srli_epi64(*acc, 32);

	_mm256_storeu_si256((void *)c, _mm512_castsi512_si256(_mm512_permutexvar_epi32(
					       even, _mm512_add_epi32(*acc, odd))));
}
#define half_store half_store

static inline void panel_store(npu_s32 *c, const vi *acc)
{
	const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4,
					      2, 0);
	const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));

	_mm512_storeu_si512(c, _mm512_add_epi32(_mm512_permutex2var_epi32(acc[0], even, acc[1]),
						_mm512_permutex2var_epi32(acc[0], odd, acc[1])));
}

#include "igemm_impl.h"

#define ROWS_16(X)	X(1) X(2) X(4) X(8) X(12) X(16)
#define ROWS_12(X)	X(1) X(2) X(3) X(4) X(6) X(8) X(10) X(12)
#define ROWS_6(X)	X(1) X(2) X(3) X(4) X(6)

#define X(r) ITILE_FN(r, 0)
ROWS_16(X)
#undef X
#define X(r) ITILE_FN(r, 1)
ROWS_12(X)
#undef X
#define X(r) ITILE_FN(r, 2)
ROWS_6(X)
#undef X

const struct npu_igemm npu_igemm_avx512 = {
	.rows = { [0] = 16, [1] = 12, [2] = 6 },
	.fn = {
#define X(r) ITILE_ROW(r, 0),
		ROWS_16(X)
#undef X
#define X(r) ITILE_ROW(r, 1),
		ROWS_12(X)
#undef X
#define X(r) ITILE_ROW(r, 2),
		ROWS_6(X)
#undef X
	},
	IGEMM_COMMON,
	.ns = 0.01,
	.path = NPU_PATH_IGEMM_AVX512,
};
