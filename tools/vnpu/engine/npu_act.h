/* SPDX-License-Identifier: MIT */
/*
 * The activations of epilogues and element-wise instructions (enum npu_act), one f32 operation at a
 * time as their formulas in npu_isa.h say.
 */
#ifndef NPU_ACT_H
#define NPU_ACT_H

#include <stddef.h>
#include "npu_isa.h"
#include "npu_math.h"

NPU_MATH float npu_act_leaky(float v, float slope)
{
	return v < 0.0f ? v * slope : v;
}

/*
 * The max and min of activations are single comparisons: NaN stays, and so does -0 beside a bound
 * of 0.
 */
NPU_MATH float npu_act_clip(float v, float lo, float hi)
{
	v = v < lo ? lo : v;
	return v > hi ? hi : v;
}

NPU_MATH float npu_act_hard_sigmoid(float v, float alpha, float beta)
{
	return npu_act_clip(npu_fma_f32(v, alpha, beta), 0.0f, 1.0f);
}

NPU_MATH float npu_act_gelu_erf(float v)
{
	return (0.5f * v) * (1.0f + npu_erf_f32(v * 0x1.6a09e6p-1f));
}

NPU_MATH float npu_act_gelu_tanh(float v)
{
	float t = npu_fma_f32((0.044715f * v) * v, v, v);

	return (0.5f * v) * (1.0f + npu_tanh_f32(0x1.988454p-1f * t));
}

/*
 * act of one value; @slope is prelu's. For a constant @act the switch folds, so a loop with it
 * inside vectorises.
 */
NPU_MATH float npu_act_f32(float v, unsigned int act, float alpha, float beta, float slope)
{
	switch (act) {
	case NPU_ACT_RELU:
		return v < 0.0f ? 0.0f : v;
	case NPU_ACT_RELU6:
		return npu_act_clip(v, 0.0f, 6.0f);
	case NPU_ACT_CLIP:
		return npu_act_clip(v, alpha, beta);
	case NPU_ACT_LEAKY_RELU:
		return npu_act_leaky(v, alpha);
	case NPU_ACT_PRELU:
		return npu_act_leaky(v, slope);
	case NPU_ACT_SIGMOID:
		return npu_sigmoid_f32(v);
	case NPU_ACT_TANH:
		return npu_tanh_f32(v);
	case NPU_ACT_HARD_SIGMOID:
		return npu_act_hard_sigmoid(v, alpha, beta);
	case NPU_ACT_HARD_SWISH:
		return v * npu_act_hard_sigmoid(v, alpha, beta);
	case NPU_ACT_SILU:
		return v * npu_sigmoid_f32(v);
	case NPU_ACT_GELU_ERF:
		return npu_act_gelu_erf(v);
	case NPU_ACT_GELU_TANH:
		return npu_act_gelu_tanh(v);
	case NPU_ACT_ELU:
		return v < 0.0f ? alpha * npu_expm1_f32(v) : v;
	case NPU_ACT_SOFTPLUS:
		return npu_softplus_f32(v);
	case NPU_ACT_MISH:
		return v * npu_tanh_f32(npu_softplus_f32(v));
	default:
		return v;
	}
}

/*
 * act of @n values in place. @slope: prelu's slope of every value (n of them), else unused. One
 * loop per function, so that each is vectorised for the instruction set of the file that includes
 * this.
 */
static inline __attribute__((unused)) void npu_act_block(float *v, size_t n, unsigned int act,
							 float alpha, float beta,
							 const float *slope)
{
	size_t i;

	switch (act) {
	case NPU_ACT_NONE:
		return;
	case NPU_ACT_PRELU:
		for (i = 0; i < n; i++)
			v[i] = npu_act_leaky(v[i], slope[i]);
		return;
#define ACT_LOOP(name)									\
	case NPU_ACT_##name:								\
		for (i = 0; i < n; i++)							\
			v[i] = npu_act_f32(v[i], NPU_ACT_##name, alpha, beta, 0.0f);	\
		return
	ACT_LOOP(RELU);
	ACT_LOOP(RELU6);
	ACT_LOOP(CLIP);
	ACT_LOOP(LEAKY_RELU);
	ACT_LOOP(SIGMOID);
	ACT_LOOP(TANH);
	ACT_LOOP(HARD_SIGMOID);
	ACT_LOOP(HARD_SWISH);
	ACT_LOOP(SILU);
	ACT_LOOP(GELU_ERF);
	ACT_LOOP(GELU_TANH);
	ACT_LOOP(ELU);
	ACT_LOOP(SOFTPLUS);
	ACT_LOOP(MISH);
#undef ACT_LOOP
	}
}

#endif
