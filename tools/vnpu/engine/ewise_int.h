/* SPDX-License-Identifier: MIT */
/* Element-wise functions of plain integers, in i64 with wrapping. */
#ifndef NPU_EWISE_INT_H
#define NPU_EWISE_INT_H

#include "npu_isa.h"
#include <stdbool.h>
#include <stddef.h>

/* Whether @func has a meaning of its own for integers; the others are computed in f32. */
bool npu_ewise_int_has_unary(unsigned int func);

/* v = func(v) and a = func(a, b) of n values. */
void npu_ewise_int_unary(npu_s64 *v, size_t n, unsigned int func);
void npu_ewise_int_binary(npu_s64 *a, const npu_s64 *b, size_t n, unsigned int func);

#endif
