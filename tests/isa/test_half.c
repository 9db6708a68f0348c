// SPDX-License-Identifier: MIT
/*
 * Half precision and bfloat16 against rounding in double precision, which is exact there, and
 * against the compiler's own _Float16 arithmetic where it has any.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "npu_half.h"
#include "tap.h"

static npu_u32 bits_of(float f)
{
	npu_u32 u;

	memcpy(&u, &f, 4);
	return u;
}

static float float_of(npu_u32 u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

#ifdef __FLT16_MANT_DIG__
static npu_u16 compiler_narrow(float f)
{
	_Float16 h = (_Float16)f;
	npu_u16 u;

	memcpy(&u, &h, 2);
	return isnan(f) ? 0x7e00 : u;
}

static float compiler_widen(npu_u16 u)
{
	_Float16 h;

	memcpy(&h, &u, 2);
	return (float)h;
}
#endif

/*
 * Nearest multiple of the value's last place, ties to even, in double precision: a format of so
 * many significant bits, the leading one among them, whose normal numbers begin at 2^lowest.
 */
static npu_u16 reference_narrow(float f, int digits, int lowest)
{
	npu_u16 sign = signbit(f) ? 0x8000 : 0, infinity = 0x8000 - (1 << (digits - 1));
	double steps;
	int e;

	if (isnan(f))
		return infinity | infinity >> 1;
	if (f == 0)
		return sign;
	if (isinf(f))
		return sign | infinity;
	frexp(fabs((double)f), &e);
	e = e - 1 < lowest ? lowest : e - 1;	/* subnormals share the smallest exponent */
	steps = nearbyint(ldexp(fabs((double)f), digits - 1 - e));
	if (ldexp(steps, e - digits + 1) >= ldexp(1, 2 - lowest))
		return sign | infinity;
	return sign | (((e - lowest) << (digits - 1)) + (npu_u16)steps);
}

static npu_u16 reference_f16(float f)
{
	return reference_narrow(f, 11, -14);
}

static npu_u16 reference_bf16(float f)
{
	return reference_narrow(f, 8, -126);
}

static float reference_widen(npu_u16 u)
{
	int exponent = u >> 10 & 0x1f, significand = u & 0x3ff;
	double a = exponent ? ldexp(significand + 1024, exponent - 25) : ldexp(significand, -24);

	if (exponent == 31)
		a = significand ? NAN : INFINITY;
	return (float)(u & 0x8000 ? -a : a);
}

static void test_all_halves(void)
{
	unsigned int i, wrong16 = 0, back16 = 0, wrongb = 0, backb = 0;

	for (i = 0; i < 0x10000; i++) {
		npu_u32 got = npu_half_widen_bits(i);
		bool nan16 = (i & 0x7fff) > 0x7c00, nanb = (i & 0x7fff) > 0x7f80;

		wrong16 += got != (nan16 ? 0x7fc00000 : bits_of(reference_widen(i)));
#ifdef __FLT16_MANT_DIG__
		wrong16 += !nan16 && got != bits_of(compiler_widen(i));
#endif
		back16 += npu_half_narrow_bits(got) != (nan16 ? 0x7e00 : i);
		got = npu_bfloat_widen_bits(i);
		wrongb += got != (nanb ? 0x7fc00000 : i << 16);
		backb += npu_bfloat_narrow_bits(got) != (nanb ? 0x7fc0 : i);
	}
	tap_ok(!wrong16 && !back16, "all 65536 halves widen exactly and come back");
	tap_ok(!wrongb && !backb, "all 65536 bfloat16 widen exactly and come back");
}

static unsigned int check_one(npu_u32 u)
{
	unsigned int wrong = npu_bfloat_narrow_bits(u) != reference_bf16(float_of(u));

	wrong += npu_half_narrow_bits(u) != reference_f16(float_of(u));
#ifdef __FLT16_MANT_DIG__
	wrong += npu_half_narrow_bits(u) != compiler_narrow(float_of(u));
#endif
	return wrong;
}

/* Around every half and every midpoint between two of them. */
static void test_boundaries(void)
{
	unsigned int i, wrong = 0, count = 0;
	npu_s32 d;

	for (i = 0; i < 0x7c00; i++) {
		npu_u32 a = npu_half_widen_bits(i),
			b = i == 0x7bff ? 0x47800000 : npu_half_widen_bits(i + 1);
		npu_u32 mid = bits_of((float_of(a) + float_of(b)) / 2);

		for (d = -2; d <= 2; d++, count += 4) {
			wrong += check_one(a + d) + check_one((a + d) ^ 0x80000000);
			wrong += check_one(mid + d) + check_one((mid + d) ^ 0x80000000);
		}
	}
	tap_ok(!wrong, "%u values around halves and midpoints round to nearest even", count);
}

static void test_random(void)
{
	unsigned int i, n = tap_long() ? 50000000 : 2000000, wrong = 0;
	npu_u64 state = 88172645463325252ull;

	for (i = 0; i < n; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		wrong += check_one(state >> 20);
	}
	tap_ok(!wrong, "%u random values", n);
	for (i = 0; i < 0xffffff; i += 0xfff)
		wrong += check_one(0x7f000000 + i) + check_one(0xff000000 + i) + check_one(i) +
			 check_one(0x80000000 + i);
	tap_ok(!wrong, "infinities, NaNs, zeros and f32 subnormals");
	tap_ok(npu_half_narrow(65504) == 0x7bff && npu_half_narrow(65519.996f) == 0x7bff &&
		       npu_half_narrow(65520) == 0x7c00 && npu_half_narrow(-1e30f) == 0xfc00 &&
		       npu_half_narrow(5.9604645e-8f) == 1 && npu_half_narrow(2.9802322e-8f) == 0 &&
		       npu_half_narrow(2.9802326e-8f) == 1 &&
		       npu_half_widen(0x3555) == 0.333251953125f &&
		       npu_bfloat_narrow(1.00390625f) == 0x3f80 &&
		       npu_bfloat_widen(0x4049) == 3.140625f,
	       "values written out");
}

int main(void)
{
#ifndef __FLT16_MANT_DIG__
	tap_diag("this compiler has no _Float16 to compare with");
#endif
	test_all_halves();
	test_boundaries();
	test_random();
	return tap_done();
}
