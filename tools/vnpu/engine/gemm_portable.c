// SPDX-License-Identifier: MIT
/* The matrix kernels in plain C, and the choice among the sets. */
#include "vf_portable.h"
#include "gemm_impl.h"

#define ROWS(X) X(1) X(2) X(3) X(4)

#define X(r) TILE_FNS(r, 1) TILE_FNS(r, 2)
ROWS(X)
#undef X

const struct npu_gemm npu_gemm_portable = {
	.rows = { [GEMM_8] = 4, [GEMM_16] = 4 },
	.fn = {
#define X(r) TILE_ROW(GEMM_8, r, 1), TILE_ROW(GEMM_16, r, 2),
		ROWS(X)
#undef X
	},
	.load_f32 = load_f32,
	.load_f16 = load_f16,
	.load_bf16 = load_bf16,
	.path = NPU_PATH_GEMM_PORTABLE,
};

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

enum npu_gemm_kind npu_gemm_kind(const struct npu_gemm *g, npu_s64 left, npu_s64 rows)
{
	if (left > 48 && g->rows[GEMM_64] && rows <= g->rows[GEMM_64])
		return GEMM_64;
	if (left > 24 && g->rows[GEMM_32] && (rows <= g->rows[GEMM_32] || g->rows[GEMM_32] > g->rows[GEMM_16] / 2))
		return GEMM_32;
	if (left > 16 && left <= 24 && g->rows[GEMM_24])
		return GEMM_24;
	return left > 8 ? GEMM_16 : GEMM_8;
}

int npu_gemm_b_type(unsigned int dtype)
{
	switch (dtype) {
	case NPU_F32:
		return GEMM_B_F32;
	case NPU_F16:
		return GEMM_B_F16;
	case NPU_BF16:
		return GEMM_B_BF16;
	default:
		return -1;
	}
}

void npu_gemm_load(const struct npu_gemm *g, unsigned int dtype, float *dst, const char *src, ptrdiff_t stride, size_t n)
{
	switch (dtype) {
	case NPU_F32:
		g->load_f32(dst, src, stride, n);
		return;
	case NPU_F16:
		g->load_f16(dst, src, stride, n);
		return;
	default:
		g->load_bf16(dst, src, stride, n);
	}
}
