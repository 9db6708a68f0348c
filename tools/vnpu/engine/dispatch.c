// SPDX-License-Identifier: MIT
#include "attn.h"
#include "dw.h"
#include "gemm.h"
#include "grouped.h"
#include "igemm.h"
#include "run.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* clang 14's __builtin_cpu_supports() does not know these names. */
static bool has_avx_vnni(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1;
}

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
	case NPU_SIMD_AVX_VNNI:
		return npu_simd_available(NPU_SIMD_AVX2) && has_avx_vnni();
	case NPU_SIMD_AVX512_VNNI:
		return npu_simd_available(NPU_SIMD_AVX512) &&
		       __builtin_cpu_supports("avx512vnni");
#endif
	default:
		return false;
	}
}

const char *npu_simd_name(unsigned int simd)
{
	static const char *const names[NPU_NUM_SIMDS] = {
		[NPU_SIMD_AUTO] = "auto",	  [NPU_SIMD_PORTABLE] = "portable",
		[NPU_SIMD_AVX2] = "avx2",	  [NPU_SIMD_AVX512] = "avx512",
		[NPU_SIMD_AVX_VNNI] = "avx-vnni", [NPU_SIMD_AVX512_VNNI] = "avx512-vnni",
	};

	return simd < NPU_NUM_SIMDS ? names[simd] : NULL;
}

enum npu_simd npu_simd_base(enum npu_simd simd, bool *vnni)
{
	*vnni = simd == NPU_SIMD_AVX_VNNI || simd == NPU_SIMD_AVX512_VNNI;
	if (simd == NPU_SIMD_AVX_VNNI)
		return NPU_SIMD_AVX2;
	return simd == NPU_SIMD_AVX512_VNNI ? NPU_SIMD_AVX512 : simd;
}

enum npu_simd npu_simd_best(void)
{
	static const enum npu_simd order[] = { NPU_SIMD_AVX512_VNNI, NPU_SIMD_AVX512,
					       NPU_SIMD_AVX_VNNI, NPU_SIMD_AVX2 };
	unsigned int i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (npu_simd_available(order[i]))
			return order[i];
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

const struct npu_igemm *npu_igemm_select(enum npu_simd simd, bool vnni)
{
	switch (simd) {
#if defined(__x86_64__)
	case NPU_SIMD_AVX512:
		return vnni ? &npu_igemm_avx512vnni : &npu_igemm_avx512;
	case NPU_SIMD_AVX2:
		return vnni ? &npu_igemm_avxvnni : &npu_igemm_avx2;
#endif
	default:
		return &npu_igemm_portable;
	}
}

const struct npu_gq *npu_gq_select(enum npu_simd simd, bool vnni)
{
	switch (simd) {
#if defined(__x86_64__)
	case NPU_SIMD_AVX512:
		return vnni ? &npu_gq_avx512vnni : &npu_gq_avx512;
	case NPU_SIMD_AVX2:
		return vnni ? &npu_gq_avxvnni : &npu_gq_avx2;
#endif
	default:
		return &npu_gq_portable;
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

const struct npu_attn *npu_attn_select(enum npu_simd simd)
{
	switch (simd) {
#if defined(__x86_64__)
	case NPU_SIMD_AVX512:
		return &npu_attn_avx512;
	case NPU_SIMD_AVX2:
		return &npu_attn_avx2;
#endif
	default:
		return &npu_attn_portable;
	}
}
