// SPDX-License-Identifier: MIT
#include "vf_portable.h"
#include "gemm_impl.h"

#define ROWS(X) X(1) X(2) X(4)

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
