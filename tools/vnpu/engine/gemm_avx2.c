// SPDX-License-Identifier: MIT
#include "vf_avx2.h"
#include "gemm_impl.h"

#define ROWS_2(X)	X(1) X(2)
#define ROWS_4(X)	ROWS_2(X) X(3) X(4)
#define ROWS_6(X)	ROWS_4(X) X(5) X(6)
#define ROWS_12(X)	ROWS_4(X) X(6) X(8) X(10) X(12)

#define X(r) TILE_FNS(r, 1)
ROWS_12(X)
#undef X
#define X(r) TILE_FNS(r, 2)
ROWS_6(X)
#undef X
#define X(r) TILE_FNS(r, 3)
ROWS_4(X)
#undef X
#define X(r) TILE_FNS(r, 4)
ROWS_2(X)
#undef X

/* 32 columns for few rows: enough accumulators to hide the latency of the multiplications. */
const struct npu_gemm npu_gemm_avx2 = {
	.rows = { [GEMM_8] = 12, [GEMM_16] = 6, [GEMM_24] = 4, [GEMM_32] = 2 },
	.fn = {
#define X(r) TILE_ROW(GEMM_8, r, 1),
		ROWS_12(X)
#undef X
#define X(r) TILE_ROW(GEMM_16, r, 2),
		ROWS_6(X)
#undef X
#define X(r) TILE_ROW(GEMM_24, r, 3),
		ROWS_4(X)
#undef X
#define X(r) TILE_ROW(GEMM_32, r, 4),
		ROWS_2(X)
#undef X
	},
	.load_f32 = load_f32,
	.load_f16 = load_f16,
	.load_bf16 = load_bf16,
	.path = NPU_PATH_GEMM_AVX2,
};
