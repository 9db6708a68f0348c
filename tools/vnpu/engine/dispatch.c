// SPDX-License-Identifier: MIT
#include "dw.h"
#include "gemm.h"
#include "run.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* clang 14's __builtin_cpu_supports() does not know the name. */
static bool has_f16c(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

bool npu_simd_available(enum npu_simd simd)
{
	switch (simd) {
	case NPU_SIMD_PORTABLE:
		return true;
#if defined(__x86_64__)
	case NPU_SIMD_AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		       has_f16c();
	case NPU_SIMD_AVX512:
		return npu_simd_available(NPU_SIMD_AVX2) && __builtin_cpu_supports("avx512f") &&
		       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx512dq");
#endif
	default:
		return false;
	}
}

enum npu_simd npu_simd_best(void)
{
	if (npu_simd_available(NPU_SIMD_AVX512))
		return NPU_SIMD_AVX512;
	if (npu_simd_available(NPU_SIMD_AVX2))
		return NPU_SIMD_AVX2;
	return NPU_SIMD_PORTABLE;
}

const struct npu_gemm *npu_gemm_select(enum npu_simd simd)
{
	switch (simd) {
#if defined(__x86_64__)
	case NPU_SIMD_AVX512:
		return &npu_gemm_avx512;
	case NPU_SIMD_AVX2:
		return &npu_gemm_avx2;
#endif
	default:
		return &npu_gemm_portable;
	}
}

const struct npu_dw *npu_dw_select(enum npu_simd simd)
{
	switch (simd) {
#if defined(__x86_64__)
	case NPU_SIMD_AVX512:
		return &npu_dw_avx512;
	case NPU_SIMD_AVX2:
		return &npu_dw_avx2;
#endif
	default:
		return &npu_dw_portable;
	}
}
