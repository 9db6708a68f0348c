/* SPDX-License-Identifier: MIT */
/*
 * Changes to constant weights and biases of Conv, ConvTranspose and MatMul; new constants are made,
 * none is altered.
 */
#ifndef NPU_COMPILER_WEIGHTS_EDIT_H
#define NPU_COMPILER_WEIGHTS_EDIT_H

#include "compiler/graph.h"

/*
 * Whether constant @k broadcasts to @y as one number or as one per entry of dimension @axis, and as
 * nothing else.
 */
bool npu_weights_per_channel(const struct npu_gtensor *k, const struct npu_gtensor *y, int axis);

/* Multiply the weight of @n by @k (one value or one per output channel). 0 or -ENOMEM. */
int npu_weights_scale_out(struct npu_graph *g, struct npu_gnode *n, const struct npu_gtensor *k);

/*
 * Multiply the weight of Conv or MatMul @n by @k (one value or one per input channel). 0 or
 * -ENOMEM.
 */
int npu_weights_scale_in(struct npu_graph *g, struct npu_gnode *n, const struct npu_gtensor *k);

/*
 * bias = bias * @mul + @add, each one value, one per channel, or NULL; a missing bias is 0. 0 or
 * -ENOMEM.
 */
int npu_weights_bias(struct npu_graph *g, struct npu_gnode *n, int64_t channels,
		     const struct npu_gtensor *mul, const struct npu_gtensor *add);

/*
 * bias += what a constant input of @k per input channel would give (valid without padding only). 0
 * or -ENOMEM.
 */
int npu_weights_shift_in(struct npu_graph *g, struct npu_gnode *n, const struct npu_gtensor *k);

#endif
