// SPDX-License-Identifier: MIT
/* Weights per output channel. */
#include <errno.h>
#include <float.h>
#include <math.h>

#include "quant/weight.h"

#define TOP	127

/* Narrower ranges that are tried, in steps of 1/64 of the largest magnitude. */
#define NARROWEST	40
#define UNITS		64

static float code_of(float v, float inverse)
{
	float q = rintf(v * inverse);

	return q > TOP ? TOP : q < -TOP ? -TOP : q;
}

static double error_of(const float *value, const struct npu_weight_shape *s, size_t channel,
		       float scale)
{
	const float inverse = 1 / scale;
	double sum = 0;

	for (size_t o = 0; o < s->outer; o++) {
		const float *v = value + (o * s->channels + channel) * s->inner;
		float part = 0;

		for (size_t i = 0; i < s->inner; i++) {
			float d = v[i] - code_of(v[i], inverse) * scale;

			part += d * d;
		}
		sum += (double)part;
	}
	return sum;
}

static float largest(const float *value, const struct npu_weight_shape *s, size_t channel)
{
	float top = 0;

	for (size_t o = 0; o < s->outer; o++) {
		const float *v = value + (o * s->channels + channel) * s->inner;

		for (size_t i = 0; i < s->inner; i++) {
			if (!(fabsf(v[i]) <= FLT_MAX))
				return NAN;
			top = fmaxf(top, fabsf(v[i]));
		}
	}
	return top;
}

static float best_scale(const float *value, const struct npu_weight_shape *s, size_t channel,
			float top)
{
	float whole = fmaxf(top / TOP, FLT_MIN), best = whole;
	double least;

	/* magnitudes whose squares leave f32 keep their range */
	if (top < 1e-15f || top > 1e15f)
		return whole;
	least = error_of(value, s, channel, whole);
	for (int f = UNITS - 1; f >= NARROWEST && least > 0; f--) {
		float scale = whole * (float)f / UNITS;
		double e = error_of(value, s, channel, scale);

		if (e < least) {
			least = e;
			best = scale;
		}
	}
	return best;
}

/*
 * The least scale of a channel: far below what the other channels can tell, and such that its
 * product with the activation's is a normal number. Channels that training has given up have
 * weights of 1e-40.
 */
static float least_scale(const float *value, const struct npu_weight_shape *s, float in_scale)
{
	float top = 0;

	for (size_t i = 0; i < s->outer * s->channels * s->inner; i++)
		top = fmaxf(top, fabsf(value[i]));
	return fminf(fmaxf(ldexpf(top / TOP, -30), 1e-30f / fminf(in_scale, 1)), FLT_MAX / TOP);
}

int npu_weight_scales(const float *value, const struct npu_weight_shape *s, float *scale)
{
	for (size_t c = 0; c < s->channels; c++) {
		float top = largest(value, s, c);

		if (isnan(top))
			return -EINVAL;
		scale[c] = best_scale(value, s, c, top);
	}
	return 0;
}

int npu_weight_quantize(const float *value, const struct npu_weight_shape *s, const float *best,
			const float *bias, float in_scale, int8_t *code, float *scale)
{
	const float least = least_scale(value, s, in_scale);

	for (size_t c = 0; c < s->channels; c++) {
		float room;

		if (bias && !(fabsf(bias[c]) <= FLT_MAX))
			return -EINVAL;
		/* half of i32 for the bias, the rest for the products */
		room = bias ? fabsf(bias[c]) / in_scale / (float)(1 << 30) : 0;
		scale[c] = fminf(fmaxf(fmaxf(best[c], room), least), FLT_MAX / TOP);
		for (size_t o = 0; o < s->outer; o++) {
			size_t at = (o * s->channels + c) * s->inner;

			for (size_t i = 0; i < s->inner; i++)
				code[at + i] = (int8_t)code_of(value[at + i], 1 / scale[c]);
		}
	}
	return 0;
}
