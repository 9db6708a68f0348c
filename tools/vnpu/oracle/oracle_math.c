// SPDX-License-Identifier: MIT
/* Activations, by the C library in double where the architecture has a polynomial. */
#include <math.h>
#include "oracle.h"

static float clip(float v, float lo, float hi)
{
	if (v < lo)
		v = lo;
	if (v > hi)
		v = hi;
	return v;
}

static double sigmoid(double v)
{
	return 1 / (1 + exp(-v));
}

static double softplus(double v)
{
	return fmax(v, 0) + log1p(exp(-fabs(v)));
}

float oracle_act(unsigned int act, float v, float alpha, float beta, float slope)
{
	if (isnan(v))
		return NAN;
	switch (act) {
	case NPU_ACT_NONE:
		return v;
	case NPU_ACT_RELU:
		return v < 0 ? 0 : v;
	case NPU_ACT_RELU6:
		return clip(v, 0, 6);
	case NPU_ACT_CLIP:
		return clip(v, alpha, beta);
	case NPU_ACT_LEAKY_RELU:
		return v < 0 ? v * alpha : v;
	case NPU_ACT_PRELU:
		return v < 0 ? v * slope : v;
	case NPU_ACT_SIGMOID:
		return (float)sigmoid(v);
	case NPU_ACT_TANH:
		return (float)tanh(v);
	case NPU_ACT_HARD_SIGMOID:
		return clip(fmaf(v, alpha, beta), 0, 1);
	case NPU_ACT_HARD_SWISH:
		return v * clip(fmaf(v, alpha, beta), 0, 1);
	case NPU_ACT_SILU:
		return (float)(v * sigmoid(v));
	case NPU_ACT_GELU_ERF:
		return (float)(0.5 * v * (1 + erf(v * M_SQRT1_2)));
	case NPU_ACT_GELU_TANH:
		return (float)(0.5 * v * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))));
	case NPU_ACT_ELU:
		return v < 0 ? (float)(alpha * expm1(v)) : v;
	case NPU_ACT_SOFTPLUS:
		return (float)softplus(v);
	default:
		return (float)(v * tanh(softplus(v)));
	}
}

bool oracle_act_is_exact(unsigned int act)
{
	switch (act) {
	case NPU_ACT_NONE:
	case NPU_ACT_RELU:
	case NPU_ACT_RELU6:
	case NPU_ACT_CLIP:
	case NPU_ACT_LEAKY_RELU:
	case NPU_ACT_PRELU:
	case NPU_ACT_HARD_SIGMOID:
	case NPU_ACT_HARD_SWISH:
		return true;
	default:
		return false;
	}
}
