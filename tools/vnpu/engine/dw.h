/* SPDX-License-Identifier: MIT */
/* Engine internal: depthwise kernels. */
#ifndef NPU_DW_H
#define NPU_DW_H

#include "npu_op.h"

/*
 * One vector of channels of @count pixels: acc = +0; for every tap in order acc = fma(tap[t][i * step + lane], w, acc);
 * result i at c[i * lanes]. Weights of tap t at w[t * w_tap].
 */
struct npu_dw_tile {
	const float *const *tap;
	size_t num_taps;
	size_t offset;			/* added to every tap: the channel */
	ptrdiff_t step;			/* floats from pixel to pixel */
	const float *w;
	ptrdiff_t w_tap;
	float *c;
	size_t count;
};

struct npu_dw {
	unsigned int lanes;
	void (*tile)(const struct npu_dw_tile *t);
};

const struct npu_dw *npu_dw_select(enum npu_simd simd);
extern const struct npu_dw npu_dw_portable, npu_dw_avx2, npu_dw_avx512;

#endif
