/* SPDX-License-Identifier: MIT */
/* Channels of what a layer reads and writes. */
#ifndef NPU_QUANT_CHANNELS_H
#define NPU_QUANT_CHANNELS_H

#include "compiler/graph.h"

/* A tensor as its channels lie: @outer blocks of @channels runs of @inner values. */
struct npu_channels {
	size_t outer, channels, inner;
};

/* The dimension of the input of layer @n that its sums run over. */
int npu_channels_axis(const struct npu_gnode *n);

/* Dimension @axis of @t, whose dimension 1 lies innermost with @channels_last. */
struct npu_channels npu_channels_of(const struct npu_gtensor *t, int axis, bool channels_last);

#endif
