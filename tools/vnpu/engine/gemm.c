// SPDX-License-Identifier: MIT
#include "gemm.h"

enum npu_gemm_kind npu_gemm_kind(const struct npu_gemm *g, npu_s64 left, npu_s64 rows)
{
	if (left > 48 && g->rows[GEMM_64] && rows <= g->rows[GEMM_64])
		return GEMM_64;
	if (left > 24 && g->rows[GEMM_32] &&
	    (rows <= g->rows[GEMM_32] || g->rows[GEMM_32] > g->rows[GEMM_16] / 2))
		return GEMM_32;
	if (left > 16 && left <= 24 && g->rows[GEMM_24])
		return GEMM_24;
	return left > 8 ? GEMM_16 : GEMM_8;
}

unsigned int npu_gemm_tile_rows(const struct npu_gemm *g, enum npu_gemm_kind kind, npu_s64 left)
{
	npu_s64 most = g->rows[kind], tiles = (left + most - 1) / most,
		rows = (left + tiles - 1) / tiles;

	while (!g->fn[GEMM_B_F32][kind][rows])
		rows++;
	while (rows > left || !g->fn[GEMM_B_F32][kind][rows])
		rows--;
	return (unsigned int)rows;
}

int npu_gemm_b_type(unsigned int dtype)
{
	switch (dtype) {
	case NPU_F32:
		return GEMM_B_F32;
	case NPU_F16:
		return GEMM_B_F16;
	default:
		return -1;
	}
}

void npu_gemm_load(const struct npu_gemm *g, unsigned int dtype, float *dst, const char *src,
		   ptrdiff_t stride, size_t n)
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
