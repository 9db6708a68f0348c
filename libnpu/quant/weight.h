/* SPDX-License-Identifier: MIT */
/* Weights as i8, symmetric, one scale per output channel. Pure. */
#ifndef NPU_QUANT_WEIGHT_H
#define NPU_QUANT_WEIGHT_H

#include <stddef.h>
#include <stdint.h>

/* @outer blocks of @channels runs of @inner elements: the channels of any axis of a dense tensor.
 */
struct npu_weight_shape {
	size_t outer, channels, inner;
};

/*
 * npu_weight_scales - of each channel of @value the scale of least square error among its largest
 * magnitude / 127 and narrower ones
 *
 * Returns 0 or -EINVAL (a weight is not finite).
 */
int npu_weight_scales(const float *value, const struct npu_weight_shape *shape, float *scale);

/*
 * npu_weight_quantize - codes and scales of @value, which is finite
 * @best: what npu_weight_scales() said
 * @code: as many as values, in their order, -127..127
 * @scale: one per channel, positive and normal
 * @in_scale: of the activation; its product with every scale is a normal number
 * @bias: f32 per channel or NULL. A channel whose weights are so small that its bias would leave
 *	i32 in units of in_scale * scale gets a larger scale
 *
 * Returns 0 or -EINVAL (a bias is not finite).
 */
int npu_weight_quantize(const float *value, const struct npu_weight_shape *shape,
			const float *best, const float *bias, float in_scale, int8_t *code,
			float *scale);

#endif
