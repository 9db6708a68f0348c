// SPDX-License-Identifier: MIT
/*
 * Histograms, ranges and weight codes against sorting, counting and trying, written out plainly
 * here.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/histogram.h"
#include "quant/weight.h"
#include "tap.h"

#define COUNT	20000

static uint64_t state = 1;

static double uniform(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 11) / 9007199254740992.0;
}

static float normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform();
	return (float)sum;
}

/* Kinds of distributions that activations have. */
enum kind { UNIFORM, NORMAL, RELU, TAIL, TINY, HUGE_VALUES, ONE_VALUE, KINDS };

static const char *const kind_name[] = { "uniform",   "normal", "rectified", "long tails",
					 "subnormal", "huge",	"one value" };

static void fill(float *v, size_t n, enum kind kind)
{
	for (size_t i = 0; i < n; i++) {
		float x = normal();

		v[i] = kind == UNIFORM	   ? (float)(3 * uniform() - 1) :
		       kind == NORMAL	   ? x :
		       kind == RELU	   ? fmaxf(x, 0) :
		       kind == TAIL	   ? x * expf(fabsf(x)) * (i % 997 ? 1 : 30) :
		       kind == TINY	   ? x * 1e-41f :
		       kind == HUGE_VALUES ? x * 5e37f :
					     -2.5f;
	}
}

/* Every bin by dividing in double, and the width by trying. */
static bool bins_are_right(const struct npu_histogram *h, const float *v, size_t n)
{
	uint64_t zeros = 0, *want = calloc(NPU_HISTOGRAM_BINS, sizeof(*want));
	float min = FLT_MAX, max = -FLT_MAX;
	bool ok = true;

	for (size_t i = 0; i < n; i++) {
		double k = floor((double)v[i] / exp2(h->exp)) - (double)h->first;

		ok = ok && k >= 0 && k < NPU_HISTOGRAM_BINS;
		if (ok)
			want[(int)k]++;
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
		zeros += v[i] == 0;
	}
	for (int i = 0; i < NPU_HISTOGRAM_BINS; i++)
		ok = ok && want[i] == h->bin[i];
	free(want);
	return ok && h->count == n && h->zeros == zeros && h->min == min && h->max == max;
}

static bool narrowest(const struct npu_histogram *h)
{
	double half = exp2(h->exp - 1);
	int top = ilogbf(fmaxf(fabsf(h->min), fabsf(h->max)));

	return floor((double)h->max / half) - floor((double)h->min / half) >= NPU_HISTOGRAM_BINS ||
	       h->exp == (top - 23 < -126 ? -126 : top - 23);
}

static void test_histogram(void)
{
	float *v = malloc(COUNT * sizeof(*v)), *back = malloc(COUNT * sizeof(*back));

	for (int k = 0; k < KINDS; k++) {
		struct npu_histogram whole = { 0 }, parts = { 0 }, reverse = { 0 }, merged = { 0 },
				     other = { 0 };

		fill(v, COUNT, (enum kind)k);
		for (size_t i = 0; i < COUNT; i++)
			back[i] = v[COUNT - 1 - i];
		npu_histogram_add(&whole, v, COUNT);
		for (size_t i = 0; i < COUNT; i += 13)
			npu_histogram_add(&parts, v + i, i + 13 < COUNT ? 13 : COUNT - i);
		for (size_t i = 0; i < COUNT; i += 7)
			npu_histogram_add(&reverse, back + i, i + 7 < COUNT ? 7 : COUNT - i);
		npu_histogram_add(&merged, v, 100);
		npu_histogram_add(&other, v + 100, COUNT - 100);
		npu_histogram_merge(&merged, &other);
		tap_ok(bins_are_right(&whole, v, COUNT) && narrowest(&whole),
		       "%s: %d values in the right bins", kind_name[k], COUNT);
		tap_ok(!memcmp(&whole, &parts, sizeof(whole)) &&
			       !memcmp(&whole, &reverse, sizeof(whole)) &&
			       !memcmp(&whole, &merged, sizeof(whole)),
		       "%s: the same in pieces, backwards and merged", kind_name[k]);
	}
	free(v);
	free(back);
}

static void test_not_finite(void)
{
	const float v[] = { NAN, 1, INFINITY, -2, -INFINITY, 0 };
	struct npu_histogram h = { 0 }, none = { 0 };

	npu_histogram_add(&h, v, 6);
	npu_histogram_add(&none, v, 1);
	tap_ok(h.count == 3 && h.not_finite == 3 && h.min == -2 && h.max == 1,
	       "NaN and infinity are in no bin");
	tap_ok(!none.count && none.not_finite == 1 &&
		       npu_range_choose(&none, NPU_CALIB_MSE, 0).hi == 0 &&
		       npu_histogram_outside(&none, 0, 0) == 0,
	       "a histogram of nothing");
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

/* Mean square of the error of real codes for that range. */
static double true_error(const float *v, size_t n, struct npu_qrange r)
{
	double sum = 0;
	int32_t zero;
	float scale;

	npu_range_code(r, 0, &scale, &zero);
	for (size_t i = 0; i < n; i++) {
		double q = nearbyint((double)v[i] / (double)scale) + zero, d;

		q = q < 0 ? 0 : q > 255 ? 255 : q;
		d = (q - zero) * (double)scale - (double)v[i];
		sum += d * d;
	}
	return sum / (double)n;
}

static void test_percentile(float *v)
{
	for (int k = UNIFORM; k <= TAIL; k++) {
		struct npu_histogram h = { 0 };
		struct npu_qrange r;
		double w;
		size_t cut = COUNT / 100;

		fill(v, COUNT, (enum kind)k);
		npu_histogram_add(&h, v, COUNT);
		w = exp2(h.exp);
		r = npu_range_choose(&h, NPU_CALIB_PERCENTILE, 99);
		qsort(v, COUNT, sizeof(*v), compare);
		tap_ok((double)r.lo <= fmin((double)v[cut], 0) + 1e-9 &&
			       (double)r.lo >= fmin((double)v[cut], 0) - w &&
			       (double)r.hi >= (double)v[COUNT - 1 - cut] - 1e-9 &&
			       (double)r.hi <= (double)v[COUNT - 1 - cut] + w,
		       "%s: 99 %% on either side, %.4f..%.4f, are those of the sorted values",
		       kind_name[k], (double)r.lo, (double)r.hi);
		r = npu_range_choose(&h, NPU_CALIB_MINMAX, 0);
		tap_ok(r.lo == fminf(v[0], 0) && r.hi == fmaxf(v[COUNT - 1], 0), "%s: all of them",
		       kind_name[k]);
	}
}

/* The best of a grid of 64 x 64 ranges, tried on the values. */
static double least_error(const float *v, struct npu_qrange all)
{
	double best = DBL_MAX;

	for (int a = 0; a < 64; a++)
		for (int b = 0; b < 64; b++) {
			struct npu_qrange r = { all.lo * (float)(64 - a) / 64,
						all.hi * (float)(64 - b) / 64 };
			double e = true_error(v, COUNT / 10, r);

			best = e < best ? e : best;
			if (all.lo == 0 && a)
				return best;
		}
	return best;
}

static void test_square_error(float *v)
{
	for (int k = UNIFORM; k <= TAIL; k++) {
		struct npu_histogram h = { 0 };
		struct npu_qrange r, all;
		double got, least, whole;

		fill(v, COUNT / 10, (enum kind)k);
		npu_histogram_add(&h, v, COUNT / 10);
		r = npu_range_choose(&h, NPU_CALIB_MSE, 0);
		all = npu_range_choose(&h, NPU_CALIB_MINMAX, 0);
		got = true_error(v, COUNT / 10, r);
		whole = true_error(v, COUNT / 10, all);
		least = least_error(v, all);
		tap_ok(got <= 1.15 * least && got <= 1.02 * whole,
		       "%s: error %.3g, all %.3g, best of all ranges tried %.3g", kind_name[k], got,
		       whole, least);
	}
}

static void test_divergence(float *v)
{
	struct npu_histogram h = { 0 };
	struct npu_qrange r, all;

	fill(v, COUNT, TAIL);
	npu_histogram_add(&h, v, COUNT);
	r = npu_range_choose(&h, NPU_CALIB_KL, 0);
	all = npu_range_choose(&h, NPU_CALIB_MINMAX, 0);
	tap_ok(r.hi - r.lo < 0.7f * (all.hi - all.lo) &&
		       npu_histogram_outside(&h, r.lo, r.hi) < 0.02,
	       "long tails are cut by entropy: %.2f..%.2f of %.2f..%.2f, %.2f %% outside",
	       (double)r.lo, (double)r.hi, (double)all.lo, (double)all.hi,
	       100 * npu_histogram_outside(&h, r.lo, r.hi));
	memset(&h, 0, sizeof(h));
	fill(v, COUNT, UNIFORM);
	npu_histogram_add(&h, v, COUNT);
	r = npu_range_choose(&h, NPU_CALIB_KL, 0);
	tap_ok(npu_histogram_outside(&h, r.lo, r.hi) < 0.02,
	       "and an even distribution is not: %.2f %% outside",
	       100 * npu_histogram_outside(&h, r.lo, r.hi));
}

static void test_codes(void)
{
	unsigned int good = 0, tries = 3000;
	int32_t zero;
	float scale;

	for (unsigned int i = 0; i < tries; i++) {
		float size = exp2f((float)(uniform() * 200 - 100));
		struct npu_qrange r = { -size * (float)(uniform() < 0.3 ? 0 : uniform()),
					size * (float)(uniform() < 0.3 ? 0 : uniform()) };
		int low = i % 2 ? -128 : 0;
		double lo, hi;

		npu_range_code(r, low, &scale, &zero);
		lo = (low - zero) * (double)scale;
		hi = (low + 255 - zero) * (double)scale;
		good += scale > 0 && isnormal(scale) && zero >= low && zero <= low + 255 &&
			lo <= (double)r.lo + 0.51 * (double)scale &&
			hi >= (double)r.hi - 0.51 * (double)scale;
	}
	tap_ok(good == tries, "%u ranges: zero is a code, both ends are reached", tries);
	good = 0;
	for (int bytes = 0; bytes < 2; bytes++) {
		/* bytes brought to [-1, 1], and less 127 and divided by 128 */
		float lo = bytes ? -1 : -127.0f / 128;
		double sum = 0;

		npu_range_code((struct npu_qrange){ lo, 1 }, 0, &scale, &zero);
		for (int p = 0; p < 256; p++) {
			float v = bytes ? (float)p / 127.5f - 1 : (float)(p - 127) / 128;

			sum += pow((double)(rintf(v / scale) - v / scale), 2);
			good += (v / scale) - (float)-zero > -0.001f &&
				(v / scale) < 255.001f - (float)zero;
		}
		/* a step's square twelfth is what values have that nobody chose */
		tap_ok(sqrt(sum / 256) <= (bytes ? 0.3 : 0),
		       "bytes as %s: off by %.3f steps in square mean",
		       bytes ? "-1..1" : "n/128", sqrt(sum / 256));
	}
	tap_ok(good == 512, "all of them are inside");
	npu_range_code((struct npu_qrange){ 0, 0 }, 0, &scale, &zero);
	tap_ok(scale > 0 && zero == 0, "the empty range has a scale");
	npu_range_code((struct npu_qrange){ -FLT_MAX, FLT_MAX }, 0, &scale, &zero);
	tap_ok(isfinite(scale) && isfinite(scale * 255), "the largest one, too");
}

/* ---- weights --------------------------------------------------------------------------------- */

static double channel_error(const float *v, const struct npu_weight_shape *s, size_t c, float scale)
{
	double sum = 0;

	for (size_t o = 0; o < s->outer; o++)
		for (size_t i = 0; i < s->inner; i++) {
			double x = (double)v[(o * s->channels + c) * s->inner + i];
			double q = nearbyint(x / (double)scale), d;

			q = q < -127 ? -127 : q > 127 ? 127 : q;
			d = q * (double)scale - x;
			sum += d * d;
		}
	return sum;
}

static int quantize(const float *v, const struct npu_weight_shape *s, const float *bias,
		    float in_scale, int8_t *code, float *scale)
{
	float best[16];

	return npu_weight_scales(v, s, best) ||
			       npu_weight_quantize(v, s, best, bias, in_scale, code, scale) ?
		       -1 :
		       0;
}

static void test_weights(void)
{
	const struct npu_weight_shape shapes[] = {
		{ 1, 16, 27 }, { 40, 8, 1 }, { 3, 5, 9 }, { 1, 1, 200 }
	};
	float v[4000], scale[16], bias[16];
	unsigned int good = 0, coded = 0, total = 0, room = 0, channels = 0;
	int8_t code[4000];

	for (unsigned int r = 0; r < 200; r++) {
		const struct npu_weight_shape *s = &shapes[r % 4];
		size_t n = s->outer * s->channels * s->inner;

		fill(v, n, r % 3 ? NORMAL : TAIL);
		for (size_t c = 0; c < s->channels; c++)
			bias[c] = normal() * (r % 5 ? 1.0f : 1e9f);
		if (quantize(v, s, bias, 0.01f, code, scale))
			break;
		for (size_t c = 0; c < s->channels; c++, channels++) {
			float top = 0;

			room += fabs((double)bias[c] / (0.01 * (double)scale[c])) < 1.1 * (1 << 30);
			for (size_t o = 0; o < s->outer; o++)
				for (size_t i = 0; i < s->inner; i++)
					top = fmaxf(top,
						    fabsf(v[(o * s->channels + c) * s->inner + i]));
			good += r % 5 == 0 || channel_error(v, s, c, scale[c]) <=
						      1.0001 * channel_error(v, s, c, top / 127);
		}
		for (size_t i = 0; i < n; i++, total++) {
			double q = (double)v[i] / (double)scale[i / s->inner % s->channels];

			q = q < -127 ? -127 : q > 127 ? 127 : q;
			coded += fabs(q - code[i]) <= 0.5001;
		}
	}
	tap_ok(channels > 1000 && good == channels,
	       "%u channels: no error is larger than that of the whole range", channels);
	tap_ok(coded == total, "%u codes are the nearest", total);
	tap_ok(room == channels, "the bias of every channel fits into 31 bits");
	memset(v, 0, sizeof(v));
	tap_ok(!quantize(v, &shapes[0], NULL, 1, code, scale) && scale[0] > 0 &&
		       !code[0],
	       "weights that are all zero");
	for (size_t i = 0; i < 16 * 27; i++)
		v[i] = i < 27 ? 1e-40f : 0.5f;
	tap_ok(!quantize(v, &shapes[0], NULL, 1e-3f, code, scale) &&
		       isnormal(scale[0] * 1e-3f) && !code[0] && code[27] == 127,
	       "a channel of subnormal weights beside others is zero, and has a scale that can be "
	       "multiplied");
	v[5] = NAN;
	tap_ok(quantize(v, &shapes[0], NULL, 1, code, scale) < 0, "a NaN is refused");
}

int main(void)
{
	float *v = malloc(COUNT * sizeof(*v));

	test_histogram();
	test_not_finite();
	test_percentile(v);
	test_square_error(v);
	test_divergence(v);
	test_codes();
	test_weights();
	free(v);
	return tap_done();
}
