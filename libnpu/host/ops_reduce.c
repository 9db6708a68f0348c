// SPDX-License-Identifier: MIT
/* Reductions, running sums, the best k, normalization over axes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/dense.h"
#include "host/sort.h"

enum reduce { R_SUM, R_MEAN, R_MAX, R_MIN, R_PROD, R_L1, R_L2, R_SQUARE, R_LOG_SUM, R_LOG_SUM_EXP };

static double start_of(enum reduce op)
{
	return op == R_PROD			    ? 1
	       : op == R_MAX || op == R_LOG_SUM_EXP ? -INFINITY
	       : op == R_MIN			    ? INFINITY
						    : 0;
}

static double join(enum reduce op, double sum, double v)
{
	switch (op) {
	case R_MAX: return v > sum || isnan(v) ? v : sum;
	case R_MIN: return v < sum || isnan(v) ? v : sum;
	case R_PROD: return sum * v;
	case R_L1: return sum + fabs(v);
	case R_L2: case R_SQUARE: return sum + v * v;
	case R_LOG_SUM_EXP:
		/* the larger one is taken out, so that nothing overflows */
		if (sum == -INFINITY || v == -INFINITY)
			return sum > v ? sum : v;
		return sum > v ? sum + log1p(exp(v - sum)) : v + log1p(exp(sum - v));
	default: return sum + v;
	}
}

static double finish(enum reduce op, double sum, double count)
{
	switch (op) {
	case R_MEAN: return count > 0 ? sum / count : 0;
	case R_L2: return sqrt(sum);
	case R_LOG_SUM: return log(sum);
	default: return sum;
	}
}

/* Integers whose result double could not hold. */
static int64_t join_int(enum reduce op, int64_t a, int64_t b)
{
	uint64_t x = (uint64_t)a, y = (uint64_t)b;

	switch (op) {
	case R_MAX: return b > a ? b : a;
	case R_MIN: return b < a ? b : a;
	case R_PROD: return (int64_t)(x * y);
	case R_L1: return (int64_t)(x + (b < 0 ? 0 - y : y));
	case R_SQUARE: return (int64_t)(x + y * y);
	default: return (int64_t)(x + y);
	}
}

/* Bit per reduced dim: attribute axes or input 1; none named: all, or none with noop. */
static int reduced_axes(const struct npu_host_call *call, uint32_t *mask, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *list = npu_host_in(call, 1);
	int64_t n, v, value, i;
	uint32_t count;
	const int64_t *axes = npu_host_ints(call, "axes", &count);

	*mask = 0;
	n = list ? npu_host_elems(list) : count;
	for (i = 0; i < n; i++) {
		v = value = list ? npu_host_get_int(list, i) : axes[i];
		if (!npu_host_index(&v, x->rank))
			return npu_host_fail(call, err, -EINVAL, "axis %lld of rank %u",
					     (long long)value, x->rank);
		*mask |= 1u << v;
	}
	if (!n && !npu_host_int(call, "noop_with_empty_axes", 0))
		*mask = (1u << x->rank) - 1;
	return 0;
}

static int reduce(const struct npu_host_call *call, enum reduce op, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0];
	struct npu_host_tensor *out = &call->out[0];
	int64_t n = npu_host_elems(out), index[NPU_HOST_RANK] = { 0 }, stride[NPU_HOST_RANK],
		own = 1, at = 0, i, o;
	bool whole = !npu_host_is_float(x->dtype) && (op <= R_L1 || op == R_SQUARE) && op != R_MEAN;
	uint32_t mask, d;
	double *sum, count = 1;
	int64_t *isum;
	int ret = reduced_axes(call, &mask, err);

	if (ret)
		return ret;
	for (d = x->rank; d-- > 0;) {
		stride[d] = mask & 1u << d ? 0 : own;
		own *= mask & 1u << d ? 1 : x->dim[d];
		count *= mask & 1u << d ? (double)x->dim[d] : 1;
	}
	if (own != n)
		return npu_host_fail(call, err, -EINVAL,
				     "the result has %lld elements, expected %lld", (long long)n,
				     (long long)own);
	sum = npu_host_alloc(call, n, sizeof(*sum), err);
	isum = npu_host_alloc(call, n, sizeof(*isum), err);
	ret = sum && isum ? 0 : -ENOMEM;
	for (i = 0; i < n && !ret; i++) {
		sum[i] = start_of(op);
		isum[i] = op == R_PROD ? 1 : op == R_MAX ? INT64_MIN : op == R_MIN ? INT64_MAX : 0;
	}
	if (!ret && npu_host_elems(x))
		do {
			o = npu_host_offset(x->rank, index, stride);
			if (whole)
				isum[o] = join_int(op, isum[o], npu_host_get_int(x, at++));
			else
				sum[o] = join(op, sum[o], npu_host_get(x, at++));
			ret = NPU_HOST_NOW_AND_THEN(at, call, err);
		} while (npu_host_next(x->rank, x->dim, index) && !ret);
	for (i = 0; i < n && !ret; i++) {
		if (whole)
			npu_host_set_int(out, i, isum[i]);
		else
			npu_host_set(out, i, finish(op, sum[i], count));
	}
	free(sum);
	free(isum);
	return ret;
}

#define REDUCE(name, op)								\
int npu_host_reduce_##name(const struct npu_host_call *call, struct npu_error *err)	\
{											\
	return reduce(call, op, err);							\
}

REDUCE(sum, R_SUM)
REDUCE(mean, R_MEAN)
REDUCE(max, R_MAX)
REDUCE(min, R_MIN)
REDUCE(prod, R_PROD)
REDUCE(l1, R_L1)
REDUCE(l2, R_L2)
REDUCE(sum_square, R_SQUARE)
REDUCE(log_sum, R_LOG_SUM)
REDUCE(log_sum_exp, R_LOG_SUM_EXP)

/* ---- running sums ---------------------------------------------------------------------------- */

int npu_host_cumsum(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0];
	bool exclusive = npu_host_int(call, "exclusive", 0) != 0,
	     reverse = npu_host_int(call, "reverse", 0) != 0;
	int64_t axis, outer, len, inner, o, k, i, at;
	bool whole = !npu_host_is_float(x->dtype);
	int ret = npu_host_want_number(call, 1, err);

	if (!ret)
		ret = npu_host_want(call, &call->out[0], 0, x->rank, x->dim, err);
	if (ret)
		return ret;
	axis = npu_host_get_int(&call->in[1], 0);
	if (!npu_host_index(&axis, x->rank))
		return npu_host_fail(call, err, -EINVAL, "axis %lld of rank %u",
				     (long long)npu_host_get_int(&call->in[1], 0), x->rank);
	outer = npu_host_span(x, 0, (uint32_t)axis);
	inner = npu_host_span(x, (uint32_t)axis + 1, x->rank);
	len = x->dim[axis];
	for (o = 0; o < outer; o++)
		for (k = 0; k < inner; k++) {
			double sum = 0;
			uint64_t isum = 0;

			if (npu_host_poll(call, err))
				return -ECANCELED;
			for (i = 0; i < len; i++) {
				at = (o * len + (reverse ? len - 1 - i : i)) * inner + k;
				if (exclusive && whole)
					npu_host_set_int(&call->out[0], at, (int64_t)isum);
				else if (exclusive)
					npu_host_set(&call->out[0], at, sum);
				sum += npu_host_get(x, at);
				isum += (uint64_t)npu_host_get_int(x, at);
				if (!exclusive && whole)
					npu_host_set_int(&call->out[0], at, (int64_t)isum);
				else if (!exclusive)
					npu_host_set(&call->out[0], at, sum);
			}
		}
	return 0;
}

/* ---- the best k ------------------------------------------------------------------------------ */

struct topk {
	const struct npu_host_tensor *x;
	int64_t base, step;	/* element i of the row is at base + i * step */
	bool largest;
};

/* -1, 0, 1: element @a of the row is smaller than, like, or larger than @b. */
static int compare(const struct topk *t, int64_t a, int64_t b)
{
	int64_t at = t->base + a * t->step, to = t->base + b * t->step, i, k;
	double x, y;

	if (npu_host_is_float(t->x->dtype)) {
		x = npu_host_get(t->x, at);
		y = npu_host_get(t->x, to);
		/* NaN counts as larger than all numbers; otherwise there would be no order */
		return isnan(x) || isnan(y) ? !!isnan(x) - !!isnan(y) : (x > y) - (x < y);
	}
	i = npu_host_get_int(t->x, at);
	k = npu_host_get_int(t->x, to);
	return t->x->dtype == NPU_HOST_U64
		       ? ((uint64_t)i > (uint64_t)k) - ((uint64_t)i < (uint64_t)k)
		       : (i > k) - (i < k);
}

static int by_value(const void *ctx, int64_t a, int64_t b)
{
	const struct topk *t = ctx;
	int order = compare(t, a, b);

	return t->largest ? -order : order;
}

/* The first @k of @order, which are along the axis from t->base on, to their places from @to on. */
static int topk_write(const struct npu_host_call *call, const struct topk *t, const int64_t *order,
		      int64_t k, int64_t to, struct npu_error *err)
{
	struct npu_host_tensor *values = npu_host_out(call, 0), *where = npu_host_out(call, 1);
	size_t size = npu_host_dtype_size(t->x->dtype);
	int64_t i;

	for (i = 0; i < k; i++, to += t->step) {
		if (NPU_HOST_NOW_AND_THEN(i, call, err))
			return -ECANCELED;
		if (values)
			memcpy((char *)values->data + (size_t)to * size,
			       (const char *)t->x->data +
				       (size_t)(t->base + order[i] * t->step) * size,
			       size);
		if (where)
			((int64_t *)where->data)[to] = order[i];
	}
	return 0;
}

int npu_host_topk(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *kin = npu_host_in(call, 1);
	struct npu_host_tensor *values = npu_host_out(call, 0), *where = npu_host_out(call, 1);
	struct topk t = { .x = x, .largest = npu_host_int(call, "largest", 1) != 0 };
	int64_t k = kin && npu_host_elems(kin) ? npu_host_get_int(kin, 0)
					       : npu_host_int(call, "k", -1);
	int64_t outer, inner, len, o, i, c, *order, dim[NPU_HOST_RANK];
	uint32_t axis = 0;
	int ret = npu_host_axis(call, "axis", -1, x->rank, &axis, err);

	if (ret)
		return ret;
	outer = npu_host_span(x, 0, axis);
	inner = npu_host_span(x, axis + 1, x->rank);
	len = x->dim[axis];
	if (k < 0 || k > len)
		return npu_host_fail(call, err, -EINVAL, "k is %lld, expected 0 to %lld",
				     (long long)k, (long long)len);
	memcpy(dim, x->dim, sizeof(dim));
	dim[axis] = k;
	if (values)
		ret = npu_host_want(call, values, x->dtype, x->rank, dim, err);
	if (where && !ret)
		ret = npu_host_want(call, where, NPU_I64, x->rank, dim, err);
	if (ret)
		return ret;
	order = npu_host_alloc(call, 2 * len, sizeof(*order), err);
	if (!order)
		return -ENOMEM;
	t.step = inner;
	for (o = 0; o < outer; o++)
		for (c = 0; c < inner && !ret; c++) {
			t.base = o * len * inner + c;
			for (i = 0; i < len; i++)
				order[i] = i;
			ret = npu_host_sort(call, order, order + len, len, by_value, &t, err);
			if (!ret)
				ret = topk_write(call, &t, order, k, o * k * inner + c, err);
		}
	free(order);
	return ret;
}

static int arg_reduce(const struct npu_host_call *call, bool max, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0];
	bool last = npu_host_int(call, "select_last_index", 0) != 0;
	struct topk t = { .x = x };
	int64_t outer, inner, len, o, c, i, best;
	uint32_t axis = 0;
	int ret = npu_host_axis(call, "axis", 0, x->rank, &axis, err);

	if (ret)
		return ret;
	outer = npu_host_span(x, 0, axis);
	inner = npu_host_span(x, axis + 1, x->rank);
	len = x->dim[axis];
	if (call->out[0].dtype != NPU_I64 || npu_host_elems(&call->out[0]) != outer * inner || !len)
		return npu_host_fail(call, err, -EINVAL, "the result is not i64 of %lld elements",
				     (long long)(outer * inner));
	t.step = inner;
	for (o = 0; o < outer; o++)
		for (c = 0; c < inner; c++) {
			if (npu_host_poll(call, err))
				return -ECANCELED;
			t.base = o * len * inner + c;
			for (best = 0, i = 1; i < len; i++) {
				int order = max ? compare(&t, i, best) : compare(&t, best, i);

				if (NPU_HOST_NOW_AND_THEN(i, call, err))
					return -ECANCELED;
				if (order > 0 || (last && !order))
					best = i;
			}
			((int64_t *)call->out[0].data)[o * inner + c] = best;
		}
	return 0;
}

int npu_host_argmax(const struct npu_host_call *call, struct npu_error *err)
{
	return arg_reduce(call, true, err);
}

int npu_host_argmin(const struct npu_host_call *call, struct npu_error *err)
{
	return arg_reduce(call, false, err);
}

/* ---- MeanVarianceNormalization --------------------------------------------------------------- */

int npu_host_mvn(const struct npu_host_call *call, struct npu_error *err)
{
	static const int64_t usual[] = { 0, 2, 3 };
	const struct npu_host_tensor *x = &call->in[0];
	int64_t stride[NPU_HOST_RANK], index[NPU_HOST_RANK] = { 0 }, groups = 1, at = 0, v;
	uint32_t count, i, d, mask = 0;
	const int64_t *axes = npu_host_ints(call, "axes", &count);
	double *sum, *square, n = 1, mean;

	if (npu_host_want(call, &call->out[0], 0, x->rank, x->dim, err))
		return -EINVAL;
	for (i = 0; i < (count ? count : 3); i++) {
		v = count ? axes[i] : usual[i];
		if (!npu_host_index(&v, x->rank))
			return npu_host_fail(call, err, -EINVAL, "axis %lld of rank %u",
					     (long long)v, x->rank);
		mask |= 1u << v;
	}
	for (d = x->rank; d-- > 0;) {
		stride[d] = mask & 1u << d ? 0 : groups;
		groups *= mask & 1u << d ? 1 : x->dim[d];
		n *= mask & 1u << d ? (double)x->dim[d] : 1;
	}
	if (!npu_host_elems(x))
		return 0;
	sum = npu_host_alloc(call, 2 * groups, sizeof(*sum), err);
	if (!sum)
		return -ENOMEM;
	square = sum + groups;
	do
		sum[npu_host_offset(x->rank, index, stride)] += npu_host_get(x, at++);
	while (npu_host_next(x->rank, x->dim, index));
	at = 0;
	do {
		v = npu_host_offset(x->rank, index, stride);
		mean = npu_host_get(x, at++) - sum[v] / n;
		square[v] += mean * mean;
	} while (npu_host_next(x->rank, x->dim, index));
	at = 0;
	do {
		v = npu_host_offset(x->rank, index, stride);
		npu_host_set(&call->out[0], at,
			     (npu_host_get(x, at) - sum[v] / n) / (sqrt(square[v] / n) + 1e-9));
		at++;
	} while (npu_host_next(x->rank, x->dim, index));
	free(sum);
	return 0;
}
