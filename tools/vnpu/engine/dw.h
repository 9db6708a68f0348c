/* SPDX-License-Identifier: MIT */
/* Engine internal: depthwise kernels. */
#ifndef NPU_DW_H
#define NPU_DW_H

#include "npu_op.h"

/*
 * One vector of channels of @count pixels: acc = +0; for every tap in order
 * acc = fma(tap[t][i * step + lane], w, acc); result i at c[i * lanes]. Weights of tap t at
 * w[t * w_tap].
 */
struct npu_dw_tile {
	const float *const *tap;
	size_t num_taps;
	size_t row_taps; /* runs of so many taps lie one pixel apart each; 1: nothing is known */
	size_t offset;	 /* added to every tap: the channel */
	ptrdiff_t step;	 /* floats from pixel to pixel */
	const float *w;
	ptrdiff_t w_tap;
	const float *w_zero; /* of one more tap, which reads zeros; NULL: none */
	float *c;
	size_t count;
};

/* Pixels of data in memory, each one's channels side by side. */
struct npu_dw_pixels {
	const char *p;
	ptrdiff_t step; /* bytes from pixel to pixel */
	unsigned int dtype;
	npu_s32 zero; /* taken off 8-bit codes */
	size_t count, channels;
};

/* dst[i] = code i - zero; codes of type @dtype, i8 or u8, @step bytes apart. */
typedef void (*npu_dw_codes_fn)(float *dst, const char *src, ptrdiff_t step, size_t n,
				unsigned int dtype, npu_s32 zero);

struct npu_dw {
	unsigned int lanes;
	void (*tile)(const struct npu_dw_tile *t);
	/*
	 * Channel ch of pixel i to dst[ch / lanes * ld + i * lanes + ch % lanes], zeros behind the
	 * last channel.
	 */
	void (*load)(float *dst, ptrdiff_t ld, const struct npu_dw_pixels *src);
	/*
	 * Of weights w[kh][kw][period] (period in whole vectors): rest[y] has what stands for all
	 * of rows y and up where they meet zeros: a number that is negative only if all are. False
	 * when one of them is not finite, so that none can.
	 */
	bool (*rest)(float *rest, const float *w, size_t kh, size_t kw, size_t period);
	npu_dw_codes_fn codes;
	/* Whole numbers below 2^24 to i32, in place. */
	void (*to_int)(float *acc, size_t n);
};

const struct npu_dw *npu_dw_select(enum npu_simd simd);
extern const struct npu_dw npu_dw_portable, npu_dw_avx2, npu_dw_avx512;

#endif
