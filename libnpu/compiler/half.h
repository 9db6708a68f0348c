/* SPDX-License-Identifier: MIT */
/* Whether constants survive as f16; the conversions themselves are in npu_half.h. */
#ifndef NPU_COMPILER_HALF_H
#define NPU_COMPILER_HALF_H

#include <stdbool.h>

/*
 * Zero the struct, add all values, ask. None may overflow, and what is lost at the small end (f16's
 * subnormals) has to be under 2^-11 of the largest value, which is what rounding that value may
 * lose, too.
 */
struct npu_half_fit {
	float top, lost;
	bool overflow;
};

void npu_half_fit_add(struct npu_half_fit *fit, float f);

static inline bool npu_half_fit_ok(const struct npu_half_fit *fit)
{
	return !fit->overflow && fit->lost <= fit->top * 0x1p-11f;
}

#endif
