// SPDX-License-Identifier: MIT
/* AVX-VNNI: four products and their sum in one instruction, 256 bits wide. */
#include <immintrin.h>
#include "igemm.h"

typedef __m256i vi, vq;
typedef __m256i vw;

#define PANEL_VECS	2
#define PRELOAD_ROWS	0

#define vi_zero()	_mm256_setzero_si256()
#define vw_flip(f)	_mm256_set1_epi8((char)(f))
#define vw_load(p, f)	_mm256_xor_si256(_mm256_loadu_si256((const void *)(p)), f)
#define vi_dot(c, q, w)	_mm256_dpbusd_avx_epi32(c, q, w)

static inline vq vq_bcast(const char *p)
{
	npu_s32 quad;

	memcpy(&quad, p, sizeof(quad));
	return _mm256_set1_epi32(quad);
}

#define half_store(c, acc) _mm256_storeu_si256((void *)(c), (acc)[0])

static inline void panel_store(npu_s32 *c, const vi *acc)
{
	_mm256_storeu_si256((void *)c, acc[0]);
	_mm256_storeu_si256((void *)(c + 8), acc[1]);
}

#include "igemm_impl.h"

#define ROWS_12(X)	X(1) X(2) X(4) X(6) X(8) X(10) X(12)
#define ROWS_6(X)	X(1) X(2) X(3) X(4) X(5) X(6)

#define X(r) ITILE_FN(r, 0)
ROWS_12(X)
#undef X
#define X(r) ITILE_FN(r, 1)
ROWS_6(X)
#undef X
ITILE_FN(1, 2)
ITILE_FN(2, 2)

const struct npu_igemm npu_igemm_avxvnni = {
	.rows = { [0] = 12, [1] = 6, [2] = 2 },
	.fn = {
#define X(r) ITILE_ROW(r, 0),
		ROWS_12(X)
#undef X
#define X(r) ITILE_ROW(r, 1),
		ROWS_6(X)
#undef X
		ITILE_ROW(1, 2), ITILE_ROW(2, 2),
	},
	IGEMM_COMMON,
	.ns = 0.008,
	.path = NPU_PATH_IGEMM_AVXVNNI,
};
