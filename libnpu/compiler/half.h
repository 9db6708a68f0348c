/* SPDX-License-Identifier: MIT */
/* f32 to the 16-bit float types, rounding to nearest even. */
#ifndef NPU_COMPILER_HALF_H
#define NPU_COMPILER_HALF_H

#include <stdbool.h>
#include <stdint.h>

uint16_t npu_half_from_float(float f);
float npu_half_to_float(uint16_t h);
uint16_t npu_bf16_from_float(float f);

/*
 * Whether values survive as f16: zero the struct, add them all, ask. None may overflow, and what is lost at the small end
 * (f16's subnormals) has to be under 2^-11 of the largest value, which is what rounding that value may lose, too.
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
