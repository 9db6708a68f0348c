// SPDX-License-Identifier: MIT
/*
 * From a histogram to the range of an 8-bit code. A narrow range has small steps and clips more;
 * the methods differ in what they make least:
 *
 *  minmax      nothing is clipped
 *  percentile  a fixed share is clipped on either side
 *  mse         the expected square of the error, steps and clipping together
 *  kl          the information lost: divergence of the distribution of codes from that of values
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "quant/histogram.h"

#define CODES	256

static double edge(const struct npu_histogram *h, int i)
{
	return ldexp((double)(h->first + i), h->exp);
}

static struct npu_qrange whole_range(const struct npu_histogram *h)
{
	return (struct npu_qrange){ fminf(h->min, 0), fmaxf(h->max, 0) };
}

static struct npu_qrange by_percentile(const struct npu_histogram *h, double percentile)
{
	struct npu_qrange r = whole_range(h);
	const double most = (double)h->count * (100 - percentile) / 100;
	uint64_t below = 0, above = 0;
	int i;

	for (i = 0; i < NPU_HISTOGRAM_BINS && (double)(below + h->bin[i]) <= most; i++)
		below += h->bin[i];
	if (edge(h, i) > r.lo)
		r.lo = fminf((float)edge(h, i), 0);
	for (i = NPU_HISTOGRAM_BINS; i > 0 && (double)(above + h->bin[i - 1]) <= most; i--)
		above += h->bin[i - 1];
	if (edge(h, i) < r.hi)
		r.hi = fmaxf((float)edge(h, i), 0);
	return r;
}

/* Sums over the bins up to each edge: how many, of their centres, of the squares of those. */
struct sums {
	double n[NPU_HISTOGRAM_BINS + 1], x[NPU_HISTOGRAM_BINS + 1], xx[NPU_HISTOGRAM_BINS + 1];
};

static void sum_up(const struct npu_histogram *h, struct sums *s)
{
	s->n[0] = s->x[0] = s->xx[0] = 0;
	for (int i = 0; i < NPU_HISTOGRAM_BINS; i++) {
		double c = (edge(h, i) + edge(h, i + 1)) / 2, n = (double)h->bin[i];

		s->n[i + 1] = s->n[i] + n;
		s->x[i + 1] = s->x[i] + n * c;
		s->xx[i + 1] = s->xx[i] + n * c * c;
	}
}

/* Sum of squares of the distances to @bound of the bins [from, to). */
static double distance(const struct sums *s, int from, int to, double bound)
{
	double d = s->xx[to] - s->xx[from] - 2 * bound * (s->x[to] - s->x[from]) +
		   bound * bound * (s->n[to] - s->n[from]);

	return d > 0 ? d : 0;
}

/*
 * The expected error of a range that ends at edges @a and @b: a value inside is off by a step's
 * twelfth, square mean; zeros are exact.
 */
static double square_error(const struct npu_histogram *h, const struct sums *s, int a, int b)
{
	double lo = fmin(edge(h, a), 0), hi = fmax(edge(h, b), 0), step = (hi - lo) / (CODES - 1);
	double inside = s->n[b] - s->n[a] - (double)h->zeros;

	return (inside > 0 ? inside : 0) * step * step / 12 + distance(s, 0, a, lo) +
	       distance(s, b, NPU_HISTOGRAM_BINS, hi);
}

static struct npu_qrange by_square_error(const struct npu_histogram *h)
{
	struct npu_qrange r = whole_range(h);
	int used = NPU_HISTOGRAM_BINS, best_a = 0, best_b, zero;
	double best;
	struct sums s;

	while (used > 1 && !h->bin[used - 1])
		used--;
	/* the edge at 0, inside of what is looked at only when both signs occur */
	zero = h->first >= 0 ? 0 : -h->first > used ? used : (int)-h->first;
	sum_up(h, &s);
	best_b = used;
	best = square_error(h, &s, 0, used);
	for (int a = 0; a <= zero; a += 4)
		for (int b = used; b >= zero && b > a; b -= 4) {
			double e = square_error(h, &s, a, b);

			if (e < best) {
				best = e;
				best_a = a;
				best_b = b;
			}
		}
	if (best_a)
		r.lo = fmaxf(r.lo, fminf((float)edge(h, best_a), 0));
	if (best_b < used)
		r.hi = fminf(r.hi, fmaxf((float)edge(h, best_b), 0));
	return r;
}

/*
 * Divergence, in nats per value, of the distribution that is left when bins [a, b) share CODES
 * levels from that of the values, those outside counted at the ends. Inside a level, what has any
 * values counts as equal.
 */
static double divergence(const struct npu_histogram *h, const struct sums *s, int a, int b)
{
	const double total = s->n[NPU_HISTOGRAM_BINS], inside = s->n[b] - s->n[a];
	const double below = s->n[a], above = total - s->n[b];
	double kl = 0;

	if (inside <= 0)
		return DBL_MAX;
	for (int level = 0; level < CODES; level++) {
		int from = a + (int)((int64_t)(b - a) * level / CODES);
		int to = a + (int)((int64_t)(b - a) * (level + 1) / CODES), some = 0;

		for (int i = from; i < to; i++)
			some += h->bin[i] != 0;
		for (int i = from; i < to; i++) {
			double p =
				(double)h->bin[i] + (i == a ? below : 0) + (i == b - 1 ? above : 0);
			double q = h->bin[i] ? (s->n[to] - s->n[from]) / some : 0;

			/* values that no level stands for: as if one in a hundred million did */
			if (p > 0)
				kl += p / total * log(p / total / fmax(q / inside, 1e-8));
		}
	}
	return kl;
}

static struct npu_qrange by_divergence(const struct npu_histogram *all)
{
	struct npu_histogram values = *all, *h = &values;
	struct npu_qrange r = whole_range(h), out = r;
	double best = DBL_MAX;
	struct sums s;

	/* zeros, of which a relu makes many, are exact in any range and would ask for a bin of
	 * their own */
	if (h->zeros)
		h->bin[-h->first] -= h->zeros;
	sum_up(h, &s);
	if (s.n[NPU_HISTOGRAM_BINS] <= 0)
		return r;
	/* both ends move towards 0 in proportion */
	for (int f = 128; f >= 16; f--) {
		double lo = (double)r.lo * f / 128, hi = (double)r.hi * f / 128, e;
		int64_t a = (int64_t)floor(ldexp(lo, -h->exp)) - h->first;
		int64_t b = (int64_t)ceil(ldexp(hi, -h->exp)) - h->first;

		a = a < 0 ? 0 : a;
		b = b > NPU_HISTOGRAM_BINS ? NPU_HISTOGRAM_BINS : b;
		if (b - a < CODES)
			break;
		e = divergence(h, &s, (int)a, (int)b);
		if (e < best) {
			best = e;
			out = (struct npu_qrange){ (float)lo, (float)hi };
		}
	}
	return out;
}

struct npu_qrange npu_range_choose(const struct npu_histogram *h, enum npu_calib_method method,
				   double percentile)
{
	if (!h->count)
		return (struct npu_qrange){ 0, 0 };
	switch (method) {
	case NPU_CALIB_PERCENTILE:
		return by_percentile(h, percentile);
	case NPU_CALIB_MSE:
		return by_square_error(h);
	case NPU_CALIB_KL:
		return by_divergence(h);
	default:
		return whole_range(h);
	}
}

/* The scale that covers @r with code @zero of 0..CODES-1 for zero. */
static double scale_for(struct npu_qrange r, double zero)
{
	double below = r.lo < 0 ? -(double)r.lo / zero : 0;
	double above = r.hi > 0 ? (double)r.hi / (CODES - 1 - zero) : 0;

	return below > above ? below : above;
}

/*
 * Zero is a code, and where it would fall between two the scale is as much larger as both ends ask
 * for. To move the range by half a step instead would be wrong by half a step for every value of a
 * picture whose bytes were brought to [-1, 1].
 */
void npu_range_code(struct npu_qrange r, int code_lo, float *scale, int32_t *zero_point)
{
	double whole = (double)r.hi - (double)r.lo, zero = 0, s = 1;

	if (whole > 0) {
		double z = -(double)r.lo / whole * (CODES - 1);

		zero = scale_for(r, floor(z)) < scale_for(r, ceil(z)) ? floor(z) : ceil(z);
		s = scale_for(r, zero);
	}
	*scale = (float)fmin(fmax(s, (double)FLT_MIN * CODES), (double)FLT_MAX / CODES);
	*zero_point = (int32_t)zero + code_lo;
}
