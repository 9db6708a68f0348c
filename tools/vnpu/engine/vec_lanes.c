// SPDX-License-Identifier: MIT
/* The ends of 16-lane reductions; scalar, so one copy serves all instruction sets. */
#include "npu_math.h"
#include "vec.h"

static float join(float a, float b, enum npu_fold_kind kind)
{
	switch (kind) {
	case NPU_FOLD_MAX:
		return npu_max_f32(a, b);
	case NPU_FOLD_MIN:
		return npu_min_f32(a, b);
	case NPU_FOLD_PROD:
		return a * b;
	default:
		return a + b;
	}
}

float npu_lanes_join(float lane[16], enum npu_fold_kind kind)
{
	unsigned int step, i;

	for (step = 8; step; step >>= 1)
		for (i = 0; i < step; i++)
			lane[i] = join(lane[i], lane[i + step], kind);
	return lane[0];
}

float npu_fold_start(enum npu_fold_kind kind)
{
	switch (kind) {
	case NPU_FOLD_MAX:
		return -__builtin_inff();
	case NPU_FOLD_MIN:
		return __builtin_inff();
	case NPU_FOLD_PROD:
		return 1.0f;
	default:
		return 0.0f;
	}
}
