// SPDX-License-Identifier: MIT
/* Codes in groups with AVX-VNNI. */
#include "grouped_256.h"

#define VNNI
#define vi_dot(sum, w, a)	_mm256_dpbusd_avx_epi32(sum, w, a)

#include "grouped_impl.h"

const struct npu_gq npu_gq_avxvnni = {
	GQ_KERNELS,
	.ns = 0.007,
	.path = NPU_PATH_GROUPED_AVXVNNI,
};
