/* SPDX-License-Identifier: MIT */
/*
 * The architecture's functions of one real number, as fixed sequences of IEEE operations. The
 * written form, with the error of each, is Documentation/hardware/numerics.md.
 *
 * Every function is free of branches that depend on data (but the reduction of huge angles), so
 * that a loop over an array is vectorised by the compiler with the same bits: an fma is always
 * spelled out, nothing else may be contracted (-ffp-contract=off), and no function of the host's
 * libm is used but those that IEEE 754 defines exactly (fma, sqrt, floor, ceil, rint).
 *
 * Names end in f32 when they work in binary32 throughout (the hot ones), in f64 when they are
 * helpers in binary64 whose result is rounded once to binary32 by the caller.
 */
#ifndef NPU_MATH_H
#define NPU_MATH_H

#include <stdint.h>
#include <string.h>

#define NPU_MATH static inline __attribute__((always_inline, unused))

#define NPU_QNAN_BITS	0x7fc00000u

NPU_MATH uint32_t npu_bits_f32(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

NPU_MATH float npu_f32_bits(uint32_t u)
{
	float x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

NPU_MATH uint64_t npu_bits_f64(double x)
{
	uint64_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

NPU_MATH double npu_f64_bits(uint64_t u)
{
	double x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

NPU_MATH float npu_abs_f32(float x)
{
	return npu_f32_bits(npu_bits_f32(x) & 0x7fffffffu);
}

NPU_MATH double npu_abs_f64(double x)
{
	return npu_f64_bits(npu_bits_f64(x) & 0x7fffffffffffffffull);
}

/* |x| with the sign of s. */
NPU_MATH float npu_copysign_f32(float x, float s)
{
	return npu_f32_bits((npu_bits_f32(x) & 0x7fffffffu) | (npu_bits_f32(s) & 0x80000000u));
}

NPU_MATH double npu_copysign_f64(double x, double s)
{
	return npu_f64_bits((npu_bits_f64(x) & 0x7fffffffffffffffull) |
			    (npu_bits_f64(s) & 0x8000000000000000ull));
}

/* The only NaN that is ever stored. */
NPU_MATH float npu_canon_f32(float x)
{
	return x != x ? npu_f32_bits(NPU_QNAN_BITS) : x;
}

/*
 * maximum and minimum of IEEE 754-2019: NaN when either is, +0 above -0. So the order in which many
 * values are compared does not matter.
 */
NPU_MATH float npu_max_f32(float a, float b)
{
	float m = b > a ? b : a;

	m = a == b ? npu_f32_bits(npu_bits_f32(a) & npu_bits_f32(b)) : m;
	return b != b ? b : m;
}

NPU_MATH float npu_min_f32(float a, float b)
{
	float m = b < a ? b : a;

	m = a == b ? npu_f32_bits(npu_bits_f32(a) | npu_bits_f32(b)) : m;
	return b != b ? b : m;
}

NPU_MATH float npu_fma_f32(float a, float b, float c)
{
	return __builtin_fmaf(a, b, c);
}

/* f16 and bf16: exact widening, and narrowing with one rounding to nearest even. */
NPU_MATH float npu_f16_to_f32(uint16_t h)
{
	uint32_t w = (uint32_t)h << 16, two_w = w + w;
	float normal = npu_f32_bits((two_w >> 4) + 0x70000000u) * 0x1p-112f;
	float tiny = npu_f32_bits((two_w >> 17) | 0x3f000000u) - 0.5f;
	uint32_t mag = two_w < 0x08000000u ? npu_bits_f32(tiny) : npu_bits_f32(normal);

	return npu_f32_bits((w & 0x80000000u) | mag);
}

NPU_MATH uint16_t npu_f32_to_f16(float x)
{
	/*
	 * The two products make an overflow infinite; adding a power of two rounds at f16's last
	 * bit.
	 */
	float base = (npu_abs_f32(x) * 0x1p+112f) * 0x1p-110f;
	uint32_t w = npu_bits_f32(x), two_w = w + w, bias = two_w & 0xff000000u, bits, mag;

	bias = bias < 0x71000000u ? 0x71000000u : bias;
	bits = npu_bits_f32(npu_f32_bits((bias >> 1) + 0x07800000u) + base);
	mag = ((bits >> 13) & 0x7c00u) + (bits & 0xfffu);
	mag |= (w >> 16) & 0x8000u;
	return (uint16_t)(two_w > 0xff000000u ? 0x7e00u : mag);
}

NPU_MATH float npu_bf16_to_f32(uint16_t h)
{
	return npu_f32_bits((uint32_t)h << 16);
}

NPU_MATH uint16_t npu_f32_to_bf16(float x)
{
	uint32_t w = npu_bits_f32(x), r = (w + 0x7fffu + ((w >> 16) & 1u)) >> 16;

	return (uint16_t)((w & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : r);
}

/*
 * p * 2^n for n from -300 to 300 and p near 1: two exact factors, so one rounding even when the
 * result is subnormal.
 */
NPU_MATH float npu_ldexp_f32(float p, uint32_t n)
{
	uint32_t half = (uint32_t)((int32_t)n >> 1);
	float a = npu_f32_bits((half + 127u) << 23), b = npu_f32_bits((n - half + 127u) << 23);

	return (p * a) * b;
}

/*
 * 1.5 * 2^23: adding it rounds to an integer, to nearest even, and leaves the integer in the low
 * bits.
 */
#define NPU_ROUND_F32	0x1.8p23f
#define NPU_ROUND_F64	0x1.8p52

/* 2^x */
NPU_MATH float npu_exp2_f32(float x)
{
	float c = x > 130.0f ? 130.0f : x < -152.0f ? -152.0f : x;
	float t = c + NPU_ROUND_F32, f = c - (t - NPU_ROUND_F32), p;
	uint32_t n = npu_bits_f32(t) - npu_bits_f32(NPU_ROUND_F32);

	p = npu_fma_f32(0x1.3eb2ap-13f, f, 0x1.5f0b86p-10f);
	p = npu_fma_f32(p, f, 0x1.3b320ap-7f);
	p = npu_fma_f32(p, f, 0x1.c6af76p-5f);
	p = npu_fma_f32(p, f, 0x1.ebfbd6p-3f);
	p = npu_fma_f32(p, f, 0x1.62e43p-1f);
	p = npu_fma_f32(p, f, 1.0f);
	return npu_ldexp_f32(p, n);
}

/* e^x: x = n ln 2 + r, ln 2 in two pieces */
NPU_MATH float npu_exp_f32(float x)
{
	float c = x > 90.0f ? 90.0f : x < -105.0f ? -105.0f : x;
	float t = npu_fma_f32(c, 0x1.715476p0f, NPU_ROUND_F32), k = t - NPU_ROUND_F32, r, p, one;
	uint32_t n = npu_bits_f32(t) - npu_bits_f32(NPU_ROUND_F32);

	r = npu_fma_f32(k, -0x1.62e43p-1f, c);
	r = npu_fma_f32(k, 0x1.05c61p-29f, r);
	p = npu_fma_f32(0x1.6a5618p-10f, r, 0x1.12397cp-7f);
	p = npu_fma_f32(p, r, 0x1.5558a8p-5f);
	p = npu_fma_f32(p, r, 0x1.555492p-3f);
	p = npu_fma_f32(p, r, 0x1.fffffcp-2f);
	/* 1 + r and what that rounds away, so that the last addition is nearly the only error */
	one = 1.0f + r;
	p = npu_fma_f32(p * r, r, r - (one - 1.0f));
	return npu_ldexp_f32(one + p, n);
}

/* 1 / (1 + e^-x), from e^-|x| so that neither end loses bits */
NPU_MATH float npu_sigmoid_f32(float x)
{
	float e = npu_exp_f32(-npu_abs_f32(x));

	return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

NPU_MATH float npu_tanh_f32(float x)
{
	float a = npu_abs_f32(x), s = a * a, p, big;

	p = npu_fma_f32(-0x1.758f96p-8f, s, 0x1.5211c2p-6f);
	p = npu_fma_f32(p, s, -0x1.b838ap-5f);
	p = npu_fma_f32(p, s, 0x1.110704p-3f);
	p = npu_fma_f32(p, s, -0x1.555532p-2f);
	p = npu_fma_f32(p * s, a, a);
	big = 1.0f - 2.0f / (npu_exp_f32(a + a) + 1.0f);
	return npu_copysign_f32(a < 0.625f ? p : big, x);
}

/* below 0.9375 an odd polynomial, above 1 - exp(-(a + a q(a))) */
NPU_MATH float npu_erf_f32(float x)
{
	float a = npu_abs_f32(x), s = a * a, p, q, c = a > 4.0f ? 4.0f : a;

	p = npu_fma_f32(-0x1.36c40ap-11f, s, 0x1.4670b4p-8f);
	p = npu_fma_f32(p, s, -0x1.b66a78p-6f);
	p = npu_fma_f32(p, s, 0x1.ce186p-4f);
	p = npu_fma_f32(p, s, -0x1.8126dcp-2f);
	p = npu_fma_f32(p, s, 0x1.06eba6p-3f);
	p = npu_fma_f32(p, a, a);
	q = npu_fma_f32(0x1.5df09p-17f, c, -0x1.4a1ef4p-12f);
	q = npu_fma_f32(q, c, 0x1.d9340ap-9f);
	q = npu_fma_f32(q, c, -0x1.8435b2p-6f);
	q = npu_fma_f32(q, c, 0x1.b2d3bep-4f);
	q = npu_fma_f32(q, c, 0x1.4538aep-1f);
	q = npu_fma_f32(q, c, 0x1.0772ep-3f);
	q = npu_fma_f32(q, c, c);
	q = 1.0f - npu_exp_f32(-q);
	q = a != a ? a : q;
	return npu_copysign_f32(a < 0.9375f ? p : q, x);
}

/*
 * e^x in binary64 for |x| < 700; relative error below 2^-35. Nothing is fused here, so it is fast
 * without fma too.
 */
NPU_MATH double npu_exp_f64(double x)
{
	double c = x > 700.0 ? 700.0 : x < -700.0 ? -700.0 : x;
	double t = c * 0x1.71547652b82fep0 + NPU_ROUND_F64, k = t - NPU_ROUND_F64, r, p;
	uint64_t n = npu_bits_f64(t) - npu_bits_f64(NPU_ROUND_F64);

	r = (c - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
	p = r * (1.0 / 3628800) + 1.0 / 362880;
	p = p * r + 1.0 / 40320;
	p = p * r + 1.0 / 5040;
	p = p * r + 1.0 / 720;
	p = p * r + 1.0 / 120;
	p = p * r + 1.0 / 24;
	p = p * r + 1.0 / 6;
	p = p * r + 0.5;
	p = p * r + 1.0;
	p = p * r + 1.0;
	return p * npu_f64_bits((n + 1023u) << 52);
}

/*
 * ln x in binary64 for x that is zero, positive normal, infinite or NaN; negative gives NaN.
 * Relative error below 2^-42.
 */
NPU_MATH double npu_log_f64(double x)
{
	/* x = 2^e m with m from sqrt(1/2) to sqrt(2); e is read through the low bits of 2^52 */
	uint64_t u = npu_bits_f64(x),
		 b = (u + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull)) >> 52;
	double e = npu_f64_bits(0x4330000000000000ull | b) - (0x1p52 + 1023.0);
	double m = npu_f64_bits(u - ((b - 1023u) << 52)), s = (m - 1.0) / (m + 1.0), z = s * s, p;

	p = z * (1.0 / 19) + 1.0 / 17;
	p = p * z + 1.0 / 15;
	p = p * z + 1.0 / 13;
	p = p * z + 1.0 / 11;
	p = p * z + 1.0 / 9;
	p = p * z + 1.0 / 7;
	p = p * z + 1.0 / 5;
	p = p * z + 1.0 / 3;
	p = (p * z) * (s + s) + (s + s);
	p = e * 0x1.62e42fefa39efp-1 + p;
	p = x == 0.0 ? -__builtin_inf() : p;
	p = x == __builtin_inf() ? x : p;
	return x >= 0.0 ? p : __builtin_nan("");
}

NPU_MATH float npu_log_f32(float x)
{
	return (float)npu_log_f64((double)x);
}

/* ln(1 + x); the series where 1 + x would drop bits */
NPU_MATH float npu_log1p_f32(float x)
{
	double d = (double)x, series = d - d * d * (0.5 - d * (1.0 / 3));

	return (float)(npu_abs_f64(d) < 1e-4 ? series : npu_log_f64(1.0 + d));
}

NPU_MATH float npu_expm1_f32(float x)
{
	double d = (double)x, series = d + d * d * (0.5 + d * (1.0 / 6));

	return (float)(npu_abs_f64(d) < 1e-4 ? series : npu_exp_f64(d) - 1.0);
}

NPU_MATH float npu_softplus_f32(float x)
{
	return npu_max_f32(x, 0.0f) + npu_log1p_f32(npu_exp_f32(-npu_abs_f32(x)));
}

NPU_MATH float npu_sinh_f32(float x)
{
	double d = (double)x, z = d * d, e = npu_exp_f64(d);
	double series = d + d * z * (1.0 / 6 + z * (1.0 / 120));

	return (float)(npu_abs_f64(d) < 0.01 ? series : (e - 1.0 / e) * 0.5);
}

NPU_MATH float npu_cosh_f32(float x)
{
	double e = npu_exp_f64((double)x);

	return (float)((e + 1.0 / e) * 0.5);
}

NPU_MATH float npu_asinh_f32(float x)
{
	double d = (double)x, a = npu_abs_f64(d), z = a * a;
	double series = a - a * z * (1.0 / 6 - z * (3.0 / 40));
	double big = npu_log_f64(a + __builtin_sqrt(z + 1.0));

	return (float)npu_copysign_f64(a < 0.01 ? series : big, d);
}

NPU_MATH float npu_acosh_f32(float x)
{
	double d = (double)x;

	return (float)(d >= 1.0 ? npu_log_f64(d + __builtin_sqrt(d * d - 1.0)) : __builtin_nan(""));
}

NPU_MATH float npu_atanh_f32(float x)
{
	double d = (double)x, series = d + d * (d * d) * (1.0 / 3 + d * d * (1.0 / 5));

	return (float)(npu_abs_f64(d) < 0.01 ? series : 0.5 * npu_log_f64((1.0 + d) / (1.0 - d)));
}

/* arc tangent: reduced to |t| <= tan(pi/8), then the series */
NPU_MATH double npu_atan_f64(double x)
{
	double a = npu_abs_f64(x), t, z, p, base;

	t = a > 2.414213562373095 ? -1.0 / a : a > 0.41421356237309503 ? (a - 1.0) / (a + 1.0) : a;
	base = a > 2.414213562373095   ? 0x1.921fb54442d18p0 :
	       a > 0.41421356237309503 ? 0x1.921fb54442d18p-1 :
					 0.0;
	z = t * t;
	p = z * (1.0 / 29) - 1.0 / 27;
	p = p * z + 1.0 / 25;
	p = p * z - 1.0 / 23;
	p = p * z + 1.0 / 21;
	p = p * z - 1.0 / 19;
	p = p * z + 1.0 / 17;
	p = p * z - 1.0 / 15;
	p = p * z + 1.0 / 13;
	p = p * z - 1.0 / 11;
	p = p * z + 1.0 / 9;
	p = p * z - 1.0 / 7;
	p = p * z + 1.0 / 5;
	p = p * z - 1.0 / 3;
	return npu_copysign_f64(base + ((p * z) * t + t), x);
}

NPU_MATH float npu_atan_f32(float x)
{
	return (float)npu_atan_f64((double)x);
}

NPU_MATH float npu_asin_f32(float x)
{
	double d = (double)x;

	return (float)npu_atan_f64(d / __builtin_sqrt((1.0 - d) * (1.0 + d)));
}

NPU_MATH float npu_acos_f32(float x)
{
	double d = (double)x;

	return (float)(2.0 * npu_atan_f64(__builtin_sqrt((1.0 - d) / (1.0 + d))));
}

/* The bits of 2/pi behind the binary point. */
static const uint32_t npu_two_over_pi[9] __attribute__((unused)) = {
	0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
	0xdebbc561u, 0xb7246e3au,
};

/* Angles from here on are reduced with integers. */
#define NPU_TRIG_BIG	0x1p20

/*
 * x = q pi/2 + r for a finite |x| >= 2^20: x is m 2^e, and of 2/pi only the 96 bits that reach
 * below 4 after the product count. Exact to 2^-70 of a quadrant.
 */
NPU_MATH double npu_trig_reduce_big(float x, uint64_t *quadrant)
{
	uint32_t u = npu_bits_f32(x), m = (u & 0x7fffffu) | 0x800000u;
	int e = (int)((u >> 23) & 0xff) - 150, drop = e > 2 ? e - 2 : 0, word = drop >> 5,
	    bit = drop & 31;
	int top = e > 2 ? 96 : 98 - e;		/* the weight of this bit of the product is 4 */
	unsigned __int128 w = 0, p;
	int64_t frac;
	double r;
	int i;

	for (i = 0; i < 3; i++) {
		uint64_t two = (uint64_t)npu_two_over_pi[word + i] << 32 |
			       npu_two_over_pi[word + i + 1];

		w = w << 32 | (uint32_t)(two >> (32 - bit));
	}
	p = (w * m) << (128 - top);		/* drops the multiples of 4 */
	*quadrant = (uint64_t)(p >> 126);
	/* the top half of a quadrant belongs to the next one, negative */
	frac = (int64_t)(uint64_t)(p >> 62);
	*quadrant += frac < 0;
	r = (double)frac * (0x1.921fb54442d18p0 * 0x1p-64);
	if (u >> 31) {
		*quadrant = 0u - *quadrant;
		r = -r;
	}
	return r;
}

/* sin (shift 0) or cos (shift 1) of r + quadrant pi/2, |r| <= pi/4 */
NPU_MATH double npu_trig_poly(double r, uint64_t q)
{
	double z = r * r, s, c, v;

	s = z * (1.0 / 6227020800.0) - 1.0 / 39916800;
	s = s * z + 1.0 / 362880;
	s = s * z - 1.0 / 5040;
	s = s * z + 1.0 / 120;
	s = s * z - 1.0 / 6;
	s = (s * z) * r + r;
	c = z * (-1.0 / 87178291200.0) + 1.0 / 479001600;
	c = c * z - 1.0 / 3628800;
	c = c * z + 1.0 / 40320;
	c = c * z - 1.0 / 720;
	c = c * z + 1.0 / 24;
	c = c * z - 0.5;
	c = c * z + 1.0;
	v = q & 1 ? c : s;
	return npu_f64_bits(npu_bits_f64(v) ^ ((q & 2) << 62));
}

/* x = q pi/2 + r for |x| < 2^20 */
NPU_MATH double npu_trig_reduce(double x, uint64_t *quadrant)
{
	double t = x * 0x1.45f306dc9c883p-1 + NPU_ROUND_F64, n = t - NPU_ROUND_F64;

	*quadrant = npu_bits_f64(t);
	return (x - n * 0x1.921fb544p0) - n * 0x1.0b4611a626331p-34;
}

enum npu_trig { NPU_TRIG_SIN, NPU_TRIG_COS, NPU_TRIG_TAN };

NPU_MATH float npu_trig_eval(double r, uint64_t q, enum npu_trig which)
{
	if (which == NPU_TRIG_TAN)
		return (float)(npu_trig_poly(r, q) / npu_trig_poly(r, q + 1));
	return (float)npu_trig_poly(r, q + (which == NPU_TRIG_COS));
}

/* For |x| < 2^20; vectorises. */
NPU_MATH float npu_trig_small(float x, enum npu_trig which)
{
	uint64_t q;
	double r = npu_trig_reduce((double)x, &q);

	return npu_trig_eval(r, q, which);
}

/* For any x. */
NPU_MATH float npu_trig_f32(float x, enum npu_trig which)
{
	uint64_t q;
	double r;

	if (npu_abs_f32(x) < (float)NPU_TRIG_BIG)
		return npu_trig_small(x, which);
	if (npu_abs_f32(x) == __builtin_inff() || x != x)
		return npu_f32_bits(NPU_QNAN_BITS);
	r = npu_trig_reduce_big(x, &q);
	return npu_trig_eval(r, q, which);
}

NPU_MATH float npu_rsqrt_f32(float x)
{
	return 1.0f / __builtin_sqrtf(x);
}

/*
 * a^b as C's pow: exp(b ln|a|) in binary64, but b = 0.5, 1, 2 and 3 by sqrt and products in
 * binary32.
 */
NPU_MATH float npu_pow_f32(float a, float b)
{
	float mag = npu_abs_f32(a), bm = npu_abs_f32(b), floor_b = __builtin_floorf(b), v;
	float half = __builtin_floorf(b * 0.5f);
	int whole = floor_b == b, odd = whole && half + half != b;

	v = (float)npu_exp_f64((double)b * npu_log_f64((double)mag));
	v = mag == 1.0f ? 1.0f : v;
	v = odd ? npu_copysign_f32(v, a) : v;
	v = a < 0.0f && !whole && mag != __builtin_inff() ? npu_f32_bits(NPU_QNAN_BITS) : v;
	v = b == 0.5f && a > 0.0f ? __builtin_sqrtf(a) : v;
	v = b == 1.0f ? a : v;
	v = b == 2.0f ? a * a : v;
	v = b == 3.0f ? (a * a) * a : v;
	v = a != a || b != b ? npu_f32_bits(NPU_QNAN_BITS) : v;
	v = mag == 1.0f && bm == __builtin_inff() ? 1.0f : v;
	return b == 0.0f || a == 1.0f ? 1.0f : v;
}

/* x - y floor(x / y) and x - y trunc(x / y), exact as in C's fmod; scalar */
static inline __attribute__((unused)) float npu_fmod_f32(float x, float y)
{
	uint32_t ux = npu_bits_f32(x), uy = npu_bits_f32(y), sign = ux & 0x80000000u;
	uint64_t mx, my;
	int ex, ey;

	ux &= 0x7fffffffu;
	uy &= 0x7fffffffu;
	if (!uy || ux >= 0x7f800000u || uy > 0x7f800000u)
		return npu_f32_bits(NPU_QNAN_BITS);
	if (ux < uy)
		return x;
	ex = (int)(ux >> 23);
	ey = (int)(uy >> 23);
	mx = ex ? (ux & 0x7fffffu) | 0x800000u : ux;
	my = ey ? (uy & 0x7fffffu) | 0x800000u : uy;
	ex += !ex;
	ey += !ey;
	while (ex > ey) {
		int step = ex - ey < 32 ? ex - ey : 32;

		mx = (mx << step) % my;
		ex -= step;
	}
	mx %= my;
	/* both are below 2^24 and exact, and so is their product with a power of two */
	return npu_f32_bits(npu_bits_f32((float)((double)mx *
						 npu_f64_bits((uint64_t)(ey + 1023 - 150) << 52))) |
			    sign);
}

static inline __attribute__((unused)) float npu_mod_f32(float x, float y)
{
	float r = npu_fmod_f32(x, y);

	if (r != r)
		return r;
	if (r == 0.0f)
		return npu_copysign_f32(0.0f, y);
	return (r < 0.0f) != (y < 0.0f) ? r + y : r;
}

#endif
