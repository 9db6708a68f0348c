// SPDX-License-Identifier: MIT
/* Codes in groups with AVX-512, as grouped_avx2.c. */
#include "grouped_512.h"

#define vs_dot(w, a)		_mm512_maddubs_epi16(w, a)
#define vs_add(a, b)		_mm512_add_epi16(a, b)
#define vi_pairs(sum, s)	_mm512_add_epi32(sum, _mm512_madd_epi16(s, _mm512_set1_epi16(1)))
#define w_even(w)		_mm512_and_si512(w, _mm512_set1_epi16(255))
#define w_odd(w)		_mm512_srli_epi16(w, 8)
#define a_even(a)		_mm512_srai_epi16(_mm512_slli_epi16(a, 8), 8)
#define a_odd(a)		_mm512_srai_epi16(a, 8)
#define vi_wide(sum, w, a)	_mm512_add_epi32(sum, _mm512_madd_epi16(w, a))

#define MANY_ROWS(X, kind)								\
	X(kind, 1) X(kind, 2) X(kind, 3) X(kind, 4) X(kind, 6) X(kind, 8) X(kind, 12)

#include "grouped_impl.h"

const struct npu_gq npu_gq_avx512 = {
	GQ_KERNELS,
	.ns = 0.007,
	.path = NPU_PATH_GROUPED_AVX512,
};
