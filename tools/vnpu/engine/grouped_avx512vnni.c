// SPDX-License-Identifier: MIT
/* Codes in groups with AVX-512 VNNI. */
#include "grouped_512.h"

#define VNNI
#define vi_dot(sum, w, a)	_mm512_dpbusd_epi32(sum, w, a)

#define MANY_ROWS(X, kind)								\
	X(kind, 1) X(kind, 2) X(kind, 3) X(kind, 4) X(kind, 5) X(kind, 6) X(kind, 7)	\
	X(kind, 8) X(kind, 9) X(kind, 10) X(kind, 11) X(kind, 12)

#include "grouped_impl.h"

const struct npu_gq npu_gq_avx512vnni = {
	GQ_KERNELS,
	.ns = 0.004,
	.path = NPU_PATH_GROUPED_AVX512VNNI,
};
