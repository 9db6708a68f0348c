// SPDX-License-Identifier: MIT
/* Codes in groups with AVX-512 VNNI. */
#include "grouped_512.h"

#define VNNI
#define vi_dot(sum, w, a)	_mm512_dpbusd_epi32(sum, w, a)

#include "grouped_impl.h"

const struct npu_gq npu_gq_avx512vnni = {
	GQ_KERNELS,
	.ns = 0.004,
	.path = NPU_PATH_GROUPED_AVX512VNNI,
};
