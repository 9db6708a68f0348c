// SPDX-License-Identifier: MIT
/* 16-bit floats, in integer arithmetic so that every host agrees. */
#include <math.h>
#include <string.h>

#include "compiler/half.h"

static uint32_t float_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

uint16_t npu_half_from_float(float f)
{
	uint32_t u = float_bits(f), mag = u & 0x7fffffff, shift, mant, half;
	uint16_t sign = (u >> 16) & 0x8000;

	if (mag > 0x7f800000)
		return 0x7e00;	/* the device's one NaN */
	if (mag >= 0x47800000)	/* 65536 and more; 65520 rounds up below */
		return sign | 0x7c00;
	if (mag < 0x33000000)	/* below half of the smallest subnormal, 2^-25 */
		return sign;
	if (mag >= 0x38800000)	/* normal: rebias the exponent, round 13 bits off */
		return sign | (uint16_t)((mag - 0x38000000 + 0xfff + ((mag >> 13) & 1)) >> 13);
	shift = 126 - (mag >> 23);	/* subnormal: value / 2^-24 */
	mant = (mag & 0x7fffff) | 0x800000;
	half = mant >> shift;
	mant &= (1u << shift) - 1;
	if (mant > 1u << (shift - 1) || (mant == 1u << (shift - 1) && (half & 1)))
		half++;
	return sign | (uint16_t)half;
}

float npu_half_to_float(uint16_t h)
{
	uint32_t exp = (h >> 10) & 31, mant = h & 1023, u;
	float f;

	if (!exp) {
		f = (float)mant * 0x1p-24f;
		return h & 0x8000 ? -f : f;
	}
	u = (uint32_t)(h & 0x8000) << 16 | (exp == 31 ? 0x7f800000 : (exp + 112) << 23) | mant << 13;
	memcpy(&f, &u, sizeof(f));
	return f;
}

uint16_t npu_bf16_from_float(float f)
{
	uint32_t u = float_bits(f);

	if ((u & 0x7fffffff) > 0x7f800000)
		return 0x7fc0;
	return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

void npu_half_fit_add(struct npu_half_fit *fit, float f)
{
	float back;

	f = fabsf(f);
	if (isinf(f))
		return;	/* kept as it is */
	if (!(f < 65520.0f)) {
		fit->overflow = true;
		return;
	}
	fit->top = f > fit->top ? f : fit->top;
	if (f >= 0x1p-14f)
		return;
	back = fabsf(npu_half_to_float(npu_half_from_float(f)) - f);
	fit->lost = back > fit->lost ? back : fit->lost;
}
