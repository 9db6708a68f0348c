/* SPDX-License-Identifier: MIT */
/* What the lowerings of convolutions share. */
#ifndef NPU_COMPILER_LOWER_CONV_H
#define NPU_COMPILER_LOWER_CONV_H

#include "compiler/lower.h"

/* Geometry of a convolution or pooling window; index 0 is the height. */
struct npu_window {
	int64_t kernel[2], stride[2], dilation[2], pad[2];
};

/*
 * A transposed convolution with few outputs whose kernel equals its stride, as one 1x1 convolution per row of the kernel
 * (lower_conv_rows.c). @out is [N, H, W, O]. The bits are the same: every output has one tap either way.
 */
bool npu_conv_rows_can(const struct npu_gnode *n, const struct npu_window *w, const struct npu_lview *out);
int npu_lower_conv_rows(struct npu_lower *l, struct npu_gnode *n, const struct npu_window *w, const struct npu_lview *in,
			const struct npu_lview *out);

#endif
