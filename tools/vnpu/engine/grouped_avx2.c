// SPDX-License-Identifier: MIT
/*
 * Codes in groups without an instruction for four products: those of up to 6 bits by vpmaddubsw,
 * whose sums of two can not saturate then, others widened to 16 bits.
 */
#include "grouped_256.h"

#define vs_dot(w, a)		_mm256_maddubs_epi16(w, a)
#define vs_add(a, b)		_mm256_add_epi16(a, b)
#define vi_pairs(sum, s)	_mm256_add_epi32(sum, _mm256_madd_epi16(s, _mm256_set1_epi16(1)))
#define w_even(w)		_mm256_and_si256(w, _mm256_set1_epi16(255))
#define w_odd(w)		_mm256_srli_epi16(w, 8)
#define a_even(a)		_mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8)
#define a_odd(a)		_mm256_srai_epi16(a, 8)
#define vi_wide(sum, w, a)	_mm256_add_epi32(sum, _mm256_madd_epi16(w, a))

#include "grouped_impl.h"

const struct npu_gq npu_gq_avx2 = {
	GQ_KERNELS,
	.ns = 0.01,
	.path = NPU_PATH_GROUPED_AVX2,
};
