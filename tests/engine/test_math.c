// SPDX-License-Identifier: MIT
/*
 * The engine's functions of one number against the host's libm in binary64: over bit patterns taken
 * at a stride from all of binary32 (every one of them, but for the slow ones, with
 * NPU_TEST_LONG=1), and at special values. The largest errors, in units in the last place, are
 * printed and bounded; Documentation/hardware/numerics.md states the same bounds.
 */
#include <math.h>
#include "tap.h"
#include "npu_act.h"

struct fn {
	const char *name;
	float (*f)(float);
	double (*ref)(double);
	double max_ulp;
};

#define WRAP(name, expr) static float f_##name(float x) { return expr; }
#define REF(name, expr) static double r_##name(double x) { return expr; }

WRAP(exp2, npu_exp2_f32(x))
WRAP(exp, npu_exp_f32(x))
WRAP(sigmoid, npu_sigmoid_f32(x))
WRAP(tanh, npu_tanh_f32(x))
WRAP(erf, npu_erf_f32(x))
WRAP(log, npu_log_f32(x))
WRAP(log1p, npu_log1p_f32(x))
WRAP(expm1, npu_expm1_f32(x))
WRAP(softplus, npu_softplus_f32(x))
WRAP(sinh, npu_sinh_f32(x))
WRAP(cosh, npu_cosh_f32(x))
WRAP(asinh, npu_asinh_f32(x))
WRAP(acosh, npu_acosh_f32(x))
WRAP(atanh, npu_atanh_f32(x))
WRAP(atan, npu_atan_f32(x))
WRAP(asin, npu_asin_f32(x))
WRAP(acos, npu_acos_f32(x))
WRAP(sin, npu_trig_f32(x, NPU_TRIG_SIN))
WRAP(cos, npu_trig_f32(x, NPU_TRIG_COS))
WRAP(tan, npu_trig_f32(x, NPU_TRIG_TAN))
WRAP(rsqrt, npu_rsqrt_f32(x))
/* further down sigmoid is subnormal, with the few bits that it has */
WRAP(silu, x < -87 ? 0 : npu_act_f32(x, NPU_ACT_SILU, 0, 0, 0))
WRAP(pow3, npu_pow_f32(x, 3.25f))
WRAP(pow_1, npu_pow_f32(x, -0.37f))
WRAP(pow2x, npu_pow_f32(2.0f, x))
WRAP(pow_neg, npu_pow_f32(x, -5.0f))

REF(sigmoid, x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)))
REF(softplus, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
REF(rsqrt, 1 / sqrt(x))
REF(silu, x < -87 ? 0 : x < 0 ? x * (exp(x) / (1 + exp(x))) : x / (1 + exp(-x)))
REF(pow3, pow(x, 3.25))
REF(pow_1, pow(x, (double)-0.37f))
REF(pow_neg, pow(x, -5))

static const struct fn fns[] = {
	{ "exp2", f_exp2, exp2, 1.0 },
	{ "exp", f_exp, exp, 1.0 },
	{ "sigmoid", f_sigmoid, r_sigmoid, 2.5 },
	{ "tanh", f_tanh, tanh, 1.5 },
	{ "erf", f_erf, erf, 1.25 },
	{ "log", f_log, log, 0.51 },
	{ "log1p", f_log1p, log1p, 0.51 },
	{ "expm1", f_expm1, expm1, 0.51 },
	{ "softplus", f_softplus, r_softplus, 2.0 },
	{ "sinh", f_sinh, sinh, 0.51 },
	{ "cosh", f_cosh, cosh, 0.51 },
	{ "asinh", f_asinh, asinh, 0.51 },
	{ "acosh", f_acosh, acosh, 0.51 },
	{ "atanh", f_atanh, atanh, 0.51 },
	{ "atan", f_atan, atan, 0.51 },
	{ "asin", f_asin, asin, 0.51 },
	{ "acos", f_acos, acos, 0.51 },
	{ "sin", f_sin, sin, 0.51 },
	{ "cos", f_cos, cos, 0.51 },
	{ "tan", f_tan, tan, 0.51 },
	{ "rsqrt", f_rsqrt, r_rsqrt, 1.5 },
	{ "silu", f_silu, r_silu, 3.5 },
	{ "pow(x,3.25)", f_pow3, r_pow3, 0.51 },
	{ "pow(x,-0.37)", f_pow_1, r_pow_1, 0.51 },
	{ "pow(2,x)", f_pow2x, exp2, 0.51 },
	{ "pow(x,-5)", f_pow_neg, r_pow_neg, 0.51 },
};

/*
 * |got - want| in units in the last place of want as a binary32; huge when only one of them is NaN
 * or infinite.
 */
static double ulp_error(float got, double want)
{
	float rounded = (float)want;
	int e;

	if (want != want || got != got)
		return want != want && got != got ? 0 : 1e9;
	if (isinf(rounded) || isinf(got))
		return rounded == got						  ? 0 :
		       fabs(want) < 0x1.ffffffp127 && fabs(want) > 0x1.fffffcp127 ? 1 :
										    1e9;
	if (want == 0)
		return got == 0 ? 0 : 1e9;
	frexp(want, &e);
	return fabs((double)got - want) / ldexp(1, e < -125 ? -149 : e - 24);
}

static void check(const struct fn *fn, unsigned int stride)
{
	double worst = 0;
	float at = 0;
	uint64_t u;

	for (u = 0; u < 1ull << 32; u += stride) {
		float x = npu_f32_bits((uint32_t)u);
		double err = ulp_error(fn->f(x), fn->ref(x));

		if (err > worst) {
			worst = err;
			at = x;
		}
	}
	tap_ok(worst <= fn->max_ulp, "%s: error %.3f ulp at %a, bound %g", fn->name, worst, at,
	       fn->max_ulp);
}

static void check_specials(const struct fn *fn)
{
	static const float x[] = { 0.0f,      -0.0f,	 INFINITY,   -INFINITY,
				   NAN,	      0x1p-149f, -0x1p-149f, 1.0f,
				   -1.0f,     88.8f,	 -103.9f,    -104.1f,
				   128.0f,    -149.5f,	 0x1p20f,    0x1.fffffep127f,
				   0x1p-126f, 0.625f,	 0.9375f };
	size_t i;

	for (i = 0; i < sizeof(x) / sizeof(*x); i++) {
		double err = ulp_error(fn->f(x[i]), fn->ref(x[i]));

		if (err > fn->max_ulp) {
			tap_ok(0, "%s(%a) = %a, libm says %a", fn->name, x[i], fn->f(x[i]),
			       fn->ref(x[i]));
			return;
		}
	}
	tap_ok(1, "%s at special values", fn->name);
}

/* C says what pow gives at every pair of these. */
static void check_pow_pairs(void)
{
	static const float v[] = { 0.0f,   -0.0f,  1.0f,  -1.0f,    2.0f,      -2.0f,	3.0f,
				   -3.0f,  0.5f,   -0.5f, INFINITY, -INFINITY, NAN,	1e30f,
				   -1e30f, 1e-30f, 7.0f,  -7.5f,    0x1p-149f, 0x1p24f, -0x1p25f };
	size_t i, j, n = sizeof(v) / sizeof(*v);
	int bad = 0;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			float got = npu_pow_f32(v[i], v[j]), want = (float)pow(v[i], v[j]);

			/* of b = 3 and the like, products rounded twice */
			if (ulp_error(got, want) > 1 ||
			    (got == 0 && !signbit(got) != !signbit(want))) {
				tap_diag("pow(%g, %g) = %g, libm says %g", v[i], v[j], got, want);
				bad++;
			}
		}
	}
	tap_ok(!bad, "pow of %zu pairs of special values", n * n);
}

static void check_fmod(unsigned int n)
{
	uint64_t s = 88172645463325252ull;
	int bad = 0;

	while (n--) {
		float x, y, got, want;

		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		x = npu_f32_bits((uint32_t)s);
		y = npu_f32_bits((uint32_t)(s >> 32));
		got = npu_fmod_f32(x, y);
		want = fmodf(x, y);
		bad += npu_bits_f32(npu_canon_f32(got)) != npu_bits_f32(npu_canon_f32(want));
	}
	tap_ok(!bad, "fmod is libm's");
}

/* Both directions of f16 and bf16 against the definition: a search by value through binary64. */
static void check_halves(void)
{
	int bad = 0;
	uint32_t h;

	for (h = 0; h < 0x10000; h++) {
		int e = (int)(h >> 10 & 31), m = (int)(h & 1023);
		double v = e == 31 ? (m ? NAN : INFINITY) :
			   e	   ? ldexp(1024 + m, e - 25) :
				     ldexp(m, -24);
		float got = npu_f16_to_f32((uint16_t)h), next;
		uint16_t back = npu_f32_to_f16(got);

		v = h >> 15 ? -v : v;
		bad += ulp_error(got, v) != 0 || (v == 0 && !signbit(got) != !signbit(v));
		bad += v == v ? back != h : back != 0x7e00;
		if (e == 31 || (h & 0x7fff) == 0x7bff)
			continue;
		/* half way to the next is rounded to even, just above upwards */
		next = npu_f16_to_f32((uint16_t)(h + 1));
		bad += npu_f32_to_f16((got + next) / 2) != (h & 1 ? h + 1 : h);
		bad += npu_f32_to_f16(nextafterf((got + next) / 2, next)) != h + 1;
		bad += npu_f32_to_f16(nextafterf((got + next) / 2, got)) != h;
	}
	bad += npu_f32_to_f16(65520.0f) != 0x7c00 || npu_f32_to_f16(65519.99f) != 0x7bff;
	tap_ok(!bad, "f16 conversions");
	bad = npu_f32_to_bf16(1.00390625f) != 0x3f80 || npu_f32_to_bf16(1.01171875f) != 0x3f82 ||
	      npu_f32_to_bf16(0x1.fffffep127f) != 0x7f80 || npu_f32_to_bf16(NAN) != 0x7fc0 ||
	      npu_f32_to_bf16(-0.0f) != 0x8000 || npu_f32_to_bf16(INFINITY) != 0x7f80;
	tap_ok(!bad, "bf16 conversions");
}

int main(void)
{
	unsigned int stride = tap_long() ? 61 : 6007;
	size_t i;

	for (i = 0; i < sizeof(fns) / sizeof(*fns); i++) {
		check(&fns[i], stride);
		check_specials(&fns[i]);
	}
	check_pow_pairs();
	check_fmod(tap_long() ? 10000000 : 200000);
	check_halves();
	return tap_done();
}
