/* SPDX-License-Identifier: MIT */
/* From scores to weights, in loops that a compiler makes vectors of. */
#include "attn.h"
#include "npu_math.h"
#include "vec.h"

static float scale_max(float *restrict s, npu_u32 n, float scale)
{
	float lane[16], max = -__builtin_inff();
	npu_u32 i, k;

	for (k = 0; k < 16; k++)
		lane[k] = max;
	for (i = 0; i < n; i++)
		s[i] = (s[i] * scale) * ATTN_LOG2E;
	for (i = 0; i + 16 <= n; i += 16)
		for (k = 0; k < 16; k++)
			lane[k] = npu_max_f32(lane[k], s[i + k]);
	for (k = 0; i + k < n; k++)
		lane[k] = npu_max_f32(lane[k], s[i + k]);
	for (k = 0; k < 16; k++)
		max = npu_max_f32(max, lane[k]);
	return max;
}

static float exp2_sum(float *restrict s, npu_u32 n, npu_u32 skip, float max)
{
	float lane[16] = { 0 };
	npu_u32 i, k;

	for (i = skip; i < n; i++)
		s[i] = npu_exp2_f32(s[i] - max);
	for (i = 0; i < skip; i++)
		s[i] = 0.0f;
	for (i = 0; i + 16 <= n; i += 16)
		for (k = 0; k < 16; k++)
			lane[k] += s[i + k];
	for (k = 0; i + k < n; k++)
		lane[k] += s[i + k];
	return npu_lanes_join(lane, NPU_FOLD_SUM);
}
