/* SPDX-License-Identifier: MIT */
/*
 * Half precision and bfloat16 to and from binary32, in integer arithmetic: the same bits on every
 * host and at every compiler setting. Widening is exact. Narrowing rounds to nearest even, keeps
 * subnormals, overflows to infinity, and stores every NaN as the positive quiet NaN with zero
 * payload.
 */
#ifndef NPU_HALF_H
#define NPU_HALF_H

#include <string.h>
#include "npu_isa.h"

static inline npu_u32 npu_half_f32_bits(float f)
{
	npu_u32 u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline float npu_half_f32(npu_u32 u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline npu_u32 npu_half_widen_bits(npu_u16 h)
{
	npu_u32 sign = (npu_u32)(h & 0x8000) << 16, exp = h >> 10 & 0x1f, man = h & 0x3ff;
	int shift;

	if (exp == 0x1f)
		return man ? 0x7fc00000 : sign | 0x7f800000;
	if (exp)
		return sign | (exp + 112) << 23 | man << 13;
	if (!man)
		return sign;
	/* A subnormal: man * 2^-24, normalized. */
	shift = __builtin_clz(man) - 21;
	return sign | (npu_u32)(113 - shift) << 23 | (man << shift & 0x3ff) << 13;
}

static inline npu_u16 npu_half_narrow_bits(npu_u32 u)
{
	npu_u32 sign = u >> 16 & 0x8000, mag = u & 0x7fffffff, man, rest, half;
	int shift;

	if (mag > 0x7f800000)
		return 0x7e00;
	if (mag >= 0x47800000)		/* 65536 and more; 65520 up to it round up below */
		return sign | 0x7c00;
	/* normal: drop 13 bits, a carry walks into the exponent by itself */
	if (mag >= 0x38800000) {
		mag -= 112u << 23;
		mag += 0xfff + (mag >> 13 & 1);
		return sign | mag >> 13;
	}
	if (mag < 0x33000000)		/* below half of the smallest subnormal */
		return sign;
	shift = 126 - (int)(mag >> 23);	/* 14 .. 24 */
	man = (mag & 0x7fffff) | 0x800000;
	half = 1u << (shift - 1);
	rest = man & (2 * half - 1);
	man >>= shift;
	return sign | (man + (rest > half || (rest == half && man & 1)));
}

static inline npu_u32 npu_bfloat_widen_bits(npu_u16 h)
{
	return (h & 0x7fff) > 0x7f80 ? 0x7fc00000 : (npu_u32)h << 16;
}

static inline npu_u16 npu_bfloat_narrow_bits(npu_u32 u)
{
	if ((u & 0x7fffffff) > 0x7f800000)
		return 0x7fc0;
	return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

static inline float npu_half_widen(npu_u16 h)
{
	return npu_half_f32(npu_half_widen_bits(h));
}

static inline npu_u16 npu_half_narrow(float f)
{
	return npu_half_narrow_bits(npu_half_f32_bits(f));
}

static inline float npu_bfloat_widen(npu_u16 h)
{
	return npu_half_f32(npu_bfloat_widen_bits(h));
}

static inline npu_u16 npu_bfloat_narrow(float f)
{
	return npu_bfloat_narrow_bits(npu_half_f32_bits(f));
}

#endif
