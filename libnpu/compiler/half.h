/* SPDX-License-Identifier: MIT */
/* f32 to the 16-bit float types, rounding to nearest even. */
#ifndef NPU_COMPILER_HALF_H
#define NPU_COMPILER_HALF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint16_t npu_half_from_float(float f);
float npu_half_to_float(uint16_t h);
uint16_t npu_bf16_from_float(float f);

/*
 * Whether @count f32 values at @data survive as f16: none overflows, and what is lost at the small end (below f16's
 * subnormals) is under 2^-11 of the largest value, which is what rounding that largest value may lose, too.
 */
bool npu_half_is_fit(const void *data, size_t count);

#endif
