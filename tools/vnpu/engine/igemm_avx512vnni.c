// SPDX-License-Identifier: MIT
/* AVX-512 VNNI: a quad of a panel is one vector. */
#include <immintrin.h>
#include "igemm.h"

typedef __m512i vi, vq;
typedef __m512i vw;

#define PANEL_VECS	1
#define PRELOAD_ROWS	0

#define vi_zero()	_mm512_setzero_si512()
#define vw_flip(f)	_mm512_set1_epi8((char)(f))
#define vw_load(p, f)	_mm512_xor_si512(_mm512_loadu_si512(p), f)
#define vi_dot(c, q, w)	_mm512_dpbusd_epi32(c, q, w)

static inline vq vq_bcast(const char *p)
{
	npu_s32 quad;

	memcpy(&quad, p, sizeof(quad));
	return _mm512_set1_epi32(quad);
}

static inline void panel_store(npu_s32 *c, const vi *acc)
{
	_mm512_storeu_si512(c, *acc);
}

#include "igemm_impl.h"

#define ROWS_1(X)	X(1) X(2) X(4) X(6) X(8) X(10) X(12) X(14) X(16)
#define ROWS_2(X)	X(1) X(2) X(3) X(4) X(6) X(8) X(10) X(12) X(13)
#define ROWS_3(X)	X(1) X(2) X(3) X(4) X(6) X(7) X(8) X(9)
#define ROWS_4(X)	X(1) X(2) X(3) X(4) X(5) X(6)

#define X(r) ITILE_FN(r, 1)
ROWS_1(X)
#undef X
#define X(r) ITILE_FN(r, 2)
ROWS_2(X)
#undef X
#define X(r) ITILE_FN(r, 3)
ROWS_3(X)
#undef X
#define X(r) ITILE_FN(r, 4)
ROWS_4(X)
#undef X

const struct npu_igemm npu_igemm_avx512vnni = {
	.rows = { [1] = 16, [2] = 13, [3] = 9, [4] = 6 },
	.fn = {
#define X(r) ITILE_ROW(r, 1),
		ROWS_1(X)
#undef X
#define X(r) ITILE_ROW(r, 2),
		ROWS_2(X)
#undef X
#define X(r) ITILE_ROW(r, 3),
		ROWS_3(X)
#undef X
#define X(r) ITILE_ROW(r, 4),
		ROWS_4(X)
#undef X
	},
	IGEMM_COMMON,
	.ns = 0.004,
	.path = NPU_PATH_IGEMM_AVX512VNNI,
};
