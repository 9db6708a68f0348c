/* SPDX-License-Identifier: MIT */
/*
 * What 8-bit codes do to the mean of a layer's results, and the bias that undoes it.
 *
 * Clipping takes more from one side than from the other, and the rounding errors of a weight's few
 * terms do not cancel. Noise is lost in the layers behind; a mean that has moved is the same at
 * every place, and they add it up. It can be told beforehand: with the mean of each input channel
 * as floats and as codes it is a sum over the weights.
 */
#ifndef NPU_QUANT_MEANS_H
#define NPU_QUANT_MEANS_H

#include "quant/calibrate.h"

/*
 * npu_means_collect - fill in ->means of every layer from up to sixteen samples, for the ranges of
 * @methods (a bit each), which have been chosen
 *
 * Leaves the ranges of one setting or other in force. Returns 0 or a negative errno with a text.
 */
int npu_means_collect(struct npu_calib *c, struct npu_trial_device *d, const struct npu_lower *like,
		      unsigned int methods);

/* Means of the channels of a layer's input. */
struct npu_channel_means {
	size_t channels;
	const double *plain, *coded;	/* as floats, and as codes stand for them */
};

/* Those of setting @now; ->plain is NULL when they are not known. */
struct npu_channel_means npu_means_of(const struct npu_qlayer *layer, struct npu_qsetting now);

/*
 * npu_means_shift - by how much the mean of each output of @n is too low with weight codes @code of
 * @scale (by output) and an input whose channels have the means @m
 * @shift: one per output channel
 *
 * Padding is not thought of, and of a transposed convolution every output counts as the average of
 * its phases. False when the operator's channels are not those of @m.
 */
bool npu_means_shift(const struct npu_gnode *n, const int8_t *code, const float *scale,
		     const struct npu_channel_means *m, double *shift);

#endif
