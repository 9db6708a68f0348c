// SPDX-License-Identifier: MIT
/* Histograms whose bins double. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "quant/histogram.h"

/* Bins never get narrower than a float's own steps at the largest value, nor subnormal. */
static int exp_floor(float top)
{
	int e = top > 0 ? ilogbf(top) - 23 : -126;

	return e < -126 ? -126 : e;
}

static int64_t bin_of(float v, int exp)
{
	/* a power of two times a float is exact in double */
	return (int64_t)floor(ldexp((double)v, -exp));
}

/* Halve the number of bins @steps times, and move bin[0] to @first. */
static void rebin(struct npu_histogram *h, int exp, int64_t first)
{
	uint64_t old[NPU_HISTOGRAM_BINS];
	int steps = exp - h->exp;

	memcpy(old, h->bin, sizeof(old));
	memset(h->bin, 0, sizeof(h->bin));
	for (int i = 0; i < NPU_HISTOGRAM_BINS; i++) {
		int64_t k = h->first + i;

		if (old[i])	/* an arithmetic shift is a division that rounds down */
			h->bin[(steps < 63 ? k >> steps : k < 0 ? -1 : 0) - first] += old[i];
	}
	h->exp = exp;
	h->first = first;
}

/* Make room for [lo, hi]. */
static void cover(struct npu_histogram *h, float lo, float hi)
{
	float min = h->count ? fminf(h->min, lo) : lo, max = h->count ? fmaxf(h->max, hi) : hi;
	int exp = exp_floor(fmaxf(fabsf(min), fabsf(max)));

	if (h->count && exp < h->exp)
		exp = h->exp;
	while (bin_of(max, exp) - bin_of(min, exp) >= NPU_HISTOGRAM_BINS)
		exp++;
	if (!h->count) {
		h->exp = exp;
		h->first = bin_of(min, exp);
	} else if (exp != h->exp || bin_of(min, exp) != h->first) {
		rebin(h, exp, bin_of(min, exp));
	}
	h->min = min;
	h->max = max;
}

static void count_bins(struct npu_histogram *h, const float *value, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		float v = value[i];

		if (!(fabsf(v) <= FLT_MAX)) {
			h->not_finite++;
			continue;
		}
		h->zeros += v == 0;
		h->bin[bin_of(v, h->exp) - h->first]++;
		h->count++;
	}
}

/*
 * The same where all are finite and v * 2^-exp is exact in f32, with not more than 24 bits in
 * front: most of what calibration sees. Neighbours are often in the same bin and count in tables of
 * their own, or each would wait for the one before it.
 */
static void count_bins_fast(struct npu_histogram *h, const float *value, size_t count)
{
	enum { TABLES = 4 };
	uint32_t table[TABLES][NPU_HISTOGRAM_BINS] = { 0 };
	const float inverse = ldexpf(1, -h->exp);
	uint64_t zeros = 0;

	for (size_t i = 0; i < count; i++) {
		float v = value[i] * inverse;
		int32_t k = (int32_t)v;

		k -= (float)k > v;	/* towards minus infinity */
		zeros += v == 0;
		table[i % TABLES][k - (int32_t)h->first]++;
	}
	for (int i = 0; i < NPU_HISTOGRAM_BINS; i++)
		for (int t = 0; t < TABLES; t++)
			h->bin[i] += table[t][i];
	h->zeros += zeros;
	h->count += count;
}

/* Smallest and largest of the finite values; true when all are. */
static bool ends_of(const float *value, size_t count, float *lo, float *hi)
{
	enum { LANES = 16 };
	float low[LANES], high[LANES], odd[LANES];
	bool all = true;
	size_t i = 0;

	for (int k = 0; k < LANES; k++) {
		low[k] = FLT_MAX;
		high[k] = -FLT_MAX;
		odd[k] = 0;
	}
	for (; i + LANES <= count; i += LANES)
		for (int k = 0; k < LANES; k++) {
			float v = value[i + (size_t)k];

			low[k] = v < low[k] ? v : low[k];
			high[k] = v > high[k] ? v : high[k];
			odd[k] += v * 0;	/* NaN from a NaN or an infinity on */
		}
	for (; i < count; i++) {
		low[0] = value[i] < low[0] ? value[i] : low[0];
		high[0] = value[i] > high[0] ? value[i] : high[0];
		odd[0] += value[i] * 0;
	}
	*lo = FLT_MAX;
	*hi = -FLT_MAX;
	for (int k = 0; k < LANES; k++) {
		*lo = fminf(*lo, low[k]);
		*hi = fmaxf(*hi, high[k]);
		all = all && odd[k] == 0;
	}
	return all;
}

void npu_histogram_add(struct npu_histogram *h, const float *value, size_t count)
{
	float lo, hi;
	bool all = ends_of(value, count, &lo, &hi);

	for (size_t i = 0; !all && i < count; i++) {
		bool finite = fabsf(value[i]) <= FLT_MAX;

		lo = !i ? FLT_MAX : lo;
		hi = !i ? -FLT_MAX : hi;
		lo = finite && value[i] < lo ? value[i] : lo;
		hi = finite && value[i] > hi ? value[i] : hi;
	}
	if (lo > hi) {
		h->not_finite += count;
		return;
	}
	cover(h, lo + 0.0f, hi + 0.0f);
	if (all && h->exp >= -100 && h->exp <= 0 && count <= UINT32_MAX)
		count_bins_fast(h, value, count);
	else
		count_bins(h, value, count);
}

void npu_histogram_merge(struct npu_histogram *to, const struct npu_histogram *from)
{
	struct npu_histogram f = *from;

	to->not_finite += f.not_finite;
	if (!f.count)
		return;
	cover(to, f.min, f.max);
	if (f.exp > to->exp)
		rebin(to, f.exp, bin_of(to->min, f.exp));
	if (to->exp > f.exp)
		rebin(&f, to->exp, bin_of(f.min, to->exp));
	for (int i = 0; i < NPU_HISTOGRAM_BINS; i++)
		if (f.bin[i])
			to->bin[f.first + i - to->first] += f.bin[i];
	to->count += f.count;
	to->zeros += f.zeros;
}

double npu_histogram_outside(const struct npu_histogram *h, float lo, float hi)
{
	const double w = ldexp(1, h->exp);
	uint64_t out = 0;

	if (!h->count || (lo <= h->min && hi >= h->max))
		return 0;
	for (int i = 0; i < NPU_HISTOGRAM_BINS; i++) {
		double centre = ((double)(h->first + i) + 0.5) * w;

		out += centre < lo || centre > hi ? h->bin[i] : 0;
	}
	return (double)out / (double)h->count;
}
