/* SPDX-License-Identifier: MIT */
/* Depthwise kernels, included by one file per instruction set behind its vf_*.h and with DW defined. */
#include "dw.h"

#define DW_MAX	12

static inline __attribute__((always_inline)) void dw_block(const struct npu_dw_tile *t, size_t first, float *c, unsigned int n)
{
	const ptrdiff_t step = t->step;
	const float *w = t->w, *p;
	vf acc[DW_MAX], wv;
	unsigned int i;
	size_t k;

#pragma GCC unroll 12
	for (i = 0; i < n; i++)
		acc[i] = vf_zero();
	for (k = 0; k < t->num_taps; k++, w += t->w_tap) {
		p = t->tap[k] + t->offset + (ptrdiff_t)first * step;
		wv = vf_load(w);
#pragma GCC unroll 12
		for (i = 0; i < n; i++)
			acc[i] = vf_fma(vf_load(p + (ptrdiff_t)i * step), wv, acc[i]);
	}
#pragma GCC unroll 12
	for (i = 0; i < n; i++)
		vf_store(c + i * VL, acc[i]);
}

static void dw_tile(const struct npu_dw_tile *t)
{
	float *c = t->c;
	size_t i = 0;

	for (; i + DW_MAX <= t->count; i += DW_MAX, c += DW_MAX * VL)
		dw_block(t, i, c, DW_MAX);
	for (; i + 4 <= t->count; i += 4, c += 4 * VL)
		dw_block(t, i, c, 4);
	for (; i < t->count; i++, c += VL)
		dw_block(t, i, c, 1);
}

const struct npu_dw DW = { .lanes = VL, .tile = dw_tile };
