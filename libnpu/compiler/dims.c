// SPDX-License-Identifier: MIT
/* Arithmetic on linear dimensions. */
#include <errno.h>
#include <inttypes.h>

#include "compiler/dims.h"

static struct npu_dim dim_normal(struct npu_dim d)
{
	if (d.sym >= 0 && !d.factor)
		d.sym = NPU_DIM_CONST;
	return d;
}

static int dim_combine(struct npu_dim a, struct npu_dim b, int64_t sign, struct npu_dim *out)
{
	struct npu_dim r;
	int64_t base, factor;

	if (a.sym == NPU_DIM_UNKNOWN || b.sym == NPU_DIM_UNKNOWN)
		return -EDOM;
	if (a.sym >= 0 && b.sym >= 0 && a.sym != b.sym)
		return -EDOM;
	if (__builtin_mul_overflow(b.base, sign, &base) ||
	    __builtin_mul_overflow(b.factor, sign, &factor) ||
	    __builtin_add_overflow(a.base, base, &r.base) ||
	    __builtin_add_overflow(a.factor, factor, &r.factor))
		return -ERANGE;
	r.sym = a.sym >= 0 ? a.sym : b.sym;
	*out = dim_normal(r);
	return 0;
}

int npu_dim_add(struct npu_dim a, struct npu_dim b, struct npu_dim *out)
{
	return dim_combine(a, b, 1, out);
}

int npu_dim_sub(struct npu_dim a, struct npu_dim b, struct npu_dim *out)
{
	return dim_combine(a, b, -1, out);
}

int npu_dim_scale(struct npu_dim a, int64_t k, struct npu_dim *out)
{
	struct npu_dim r = a;

	if (a.sym == NPU_DIM_UNKNOWN)
		return -EDOM;
	if (__builtin_mul_overflow(a.base, k, &r.base) ||
	    __builtin_mul_overflow(a.factor, k, &r.factor))
		return -ERANGE;
	*out = dim_normal(r);
	return 0;
}

int npu_dim_mul(struct npu_dim a, struct npu_dim b, struct npu_dim *out)
{
	if (npu_dim_is_const(b))
		return npu_dim_scale(a, b.base, out);
	if (npu_dim_is_const(a))
		return npu_dim_scale(b, a.base, out);
	return -EDOM;
}

static int64_t floor_div(int64_t a, int64_t k)
{
	return a / k - (a % k < 0);
}

int npu_dim_div_floor(const struct npu_graph *g, struct npu_dim a, int64_t k, struct npu_dim *out)
{
	struct npu_dim r = a;
	int64_t s0, step, v, first;

	if (k <= 0 || a.sym == NPU_DIM_UNKNOWN)
		return -EDOM;
	if (a.sym == NPU_DIM_CONST) {
		*out = npu_dim_const(floor_div(a.base, k));
		return 0;
	}
	if (a.factor % k == 0) {
		r.base = floor_div(a.base, k);
		r.factor = a.factor / k;
		*out = dim_normal(r);
		return 0;
	}
	/*
	 * Not exact in general, but a symbol with few values may still give a line (one value: a
	 * constant).
	 */
	s0 = g->syms[a.sym].smin;
	if (g->syms[a.sym].smax - s0 > 1)
		return -EDOM;
	if (__builtin_mul_overflow(a.factor, s0, &v) || __builtin_add_overflow(v, a.base, &v))
		return -ERANGE;
	first = floor_div(v, k);
	if (g->syms[a.sym].smax == s0) {
		*out = npu_dim_const(first);
		return 0;
	}
	if (__builtin_add_overflow(v, a.factor, &v))
		return -ERANGE;
	step = floor_div(v, k) - first;
	if (__builtin_mul_overflow(step, s0, &v) || __builtin_sub_overflow(first, v, &r.base))
		return -ERANGE;
	r.factor = step;
	*out = dim_normal(r);
	return 0;
}

int npu_dim_div_ceil(const struct npu_graph *g, struct npu_dim a, int64_t k, struct npu_dim *out)
{
	if (k <= 0 || __builtin_add_overflow(a.base, k - 1, &a.base))
		return -ERANGE;
	return npu_dim_div_floor(g, a, k, out);
}

int npu_dim_ratio(struct npu_dim a, struct npu_dim b, int64_t *ratio)
{
	int64_t k, v;

	if (a.sym != b.sym || a.sym == NPU_DIM_UNKNOWN || b.factor == -1 || b.base == -1)
		return -EDOM;	/* dividing by -1 may overflow, and sizes have no use for it */
	if (b.factor ? a.factor % b.factor : (!b.base || a.base % b.base))
		return -EDOM;
	k = b.factor ? a.factor / b.factor : a.base / b.base;
	if (__builtin_mul_overflow(b.base, k, &v) || v != a.base)
		return -EDOM;
	*ratio = k;
	return 0;
}

static int64_t dim_at(struct npu_dim d, int64_t s)
{
	int64_t v;

	if (__builtin_mul_overflow(d.factor, s, &v))
		return (d.factor < 0) != (s < 0) ? INT64_MIN : INT64_MAX;
	if (__builtin_add_overflow(v, d.base, &v))
		return d.base < 0 ? INT64_MIN : INT64_MAX;
	return v;
}

static void dim_range(const struct npu_graph *g, struct npu_dim d, int64_t *low, int64_t *high)
{
	int64_t a, b;

	*low = *high = d.base;
	if (d.sym < 0)
		return;
	a = dim_at(d, g->syms[d.sym].smin);
	b = dim_at(d, g->syms[d.sym].smax);
	*low = a < b ? a : b;
	*high = a < b ? b : a;
}

int64_t npu_dim_low(const struct npu_graph *g, struct npu_dim d)
{
	int64_t low, high;

	dim_range(g, d, &low, &high);
	return low;
}

int64_t npu_dim_high(const struct npu_graph *g, struct npu_dim d)
{
	int64_t low, high;

	dim_range(g, d, &low, &high);
	return high;
}

static int dim_pick(const struct npu_graph *g, struct npu_dim a, struct npu_dim b, bool smaller,
		    struct npu_dim *out)
{
	struct npu_dim diff;

	if (a.sym == NPU_DIM_UNKNOWN || b.sym == NPU_DIM_UNKNOWN)
		return -EDOM;
	if (npu_dim_sub(a, b, &diff)) {
		/* two symbols: their ranges may still decide */
		if (npu_dim_high(g, a) <= npu_dim_low(g, b))
			*out = smaller ? a : b;
		else if (npu_dim_low(g, a) >= npu_dim_high(g, b))
			*out = smaller ? b : a;
		else
			return -EDOM;
		return 0;
	}
	if (npu_dim_high(g, diff) <= 0)
		*out = smaller ? a : b;
	else if (npu_dim_low(g, diff) >= 0)
		*out = smaller ? b : a;
	else
		return -EDOM;
	return 0;
}

int npu_dim_min(const struct npu_graph *g, struct npu_dim a, struct npu_dim b, struct npu_dim *out)
{
	return dim_pick(g, a, b, true, out);
}

int npu_dim_max(const struct npu_graph *g, struct npu_dim a, struct npu_dim b, struct npu_dim *out)
{
	return dim_pick(g, a, b, false, out);
}

const char *npu_dim_text(const struct npu_graph *g, struct npu_dim d, char *buf, size_t size)
{
	int64_t step;
	const char *name;

	if (d.sym == NPU_DIM_UNKNOWN) {
		snprintf(buf, size, "?");
		return buf;
	}
	if (d.sym < 0) {
		snprintf(buf, size, "%" PRId64, d.base);
		return buf;
	}
	step = g->syms[d.sym].step;
	name = g->syms[d.sym].name;
	if (d.factor == step)
		snprintf(buf, size, "%s", name);
	else if (d.factor % step == 0)
		snprintf(buf, size, "%" PRId64 "*%s", d.factor / step, name);
	else if (step % d.factor == 0 && d.factor > 0)
		snprintf(buf, size, "%s/%" PRId64, name, step / d.factor);
	else
		snprintf(buf, size, "%" PRId64 "*%s/%" PRId64, d.factor, name, step);
	if (d.base) {
		size_t n = 0;

		while (buf[n])
			n++;
		snprintf(buf + n, size - n, "%+" PRId64, d.base);
	}
	return buf;
}

const char *npu_shape_text(const struct npu_graph *g, const struct npu_gtensor *t, char *buf,
			   size_t size)
{
	size_t used = 0;
	char text[64];
	int i, n;

	if (t->rank < 0) {
		snprintf(buf, size, "[?]");
		return buf;
	}
	n = snprintf(buf, size, "[");
	for (i = 0; i < t->rank && n >= 0; i++) {
		used += (size_t)n;
		if (used >= size)
			return buf;
		n = snprintf(buf + used, size - used, "%s%s", i ? "," : "",
			     npu_dim_text(g, t->dim[i], text, sizeof(text)));
	}
	used += n > 0 ? (size_t)n : 0;
	if (used < size)
		snprintf(buf + used, size - used, "]");
	return buf;
}

int npu_dims_broadcast(const struct npu_dim *a, int ra, const struct npu_dim *b, int rb,
		       struct npu_dim *out)
{
	int rank = ra > rb ? ra : rb, i;

	for (i = 0; i < rank; i++) {
		struct npu_dim x = i < rank - ra ? npu_dim_const(1) : a[i - (rank - ra)];
		struct npu_dim y = i < rank - rb ? npu_dim_const(1) : b[i - (rank - rb)];

		if (npu_dim_equal(x, y) || (npu_dim_is_const(y) && y.base == 1))
			out[i] = x;
		else if (npu_dim_is_const(x) && x.base == 1)
			out[i] = y;
		else
			return -EINVAL;
	}
	return 0;
}

int npu_dims_product(const struct npu_dim *d, int rank, struct npu_dim *out)
{
	struct npu_dim r = npu_dim_const(1);
	int i, err;

	for (i = 0; i < rank; i++) {
		err = npu_dim_mul(r, d[i], &r);
		if (err)
			return err;
	}
	*out = r;
	return 0;
}
