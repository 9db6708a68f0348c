// SPDX-License-Identifier: MIT
/* Pooling of any rank, and what undoes it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/window.h"

enum pool_kind { POOL_MAX, POOL_AVERAGE, POOL_LP };

struct pool {
	struct npu_host_window win;
	enum pool_kind kind;
	bool count_padding;
	double p;		/* of POOL_LP */
};

struct pooled {
	double value;
	int64_t where;		/* of the maximum, in the plane */
};

/* A window may reach far beyond the plane, so it alone may take years: stopped, any result will do.
 */
static struct pooled pool_one(const struct npu_host_call *call, const struct pool *p,
			      const double *plane, const int64_t *index)
{
	int64_t tap[NPU_HOST_RANK] = { 0 }, at, count = 0;
	struct pooled r = { p->kind == POOL_MAX ? -INFINITY : 0, -1 };
	bool padded;

	do {
		at = npu_host_tap(&p->win, index, tap, &padded);
		count += p->count_padding ? padded : at >= 0;
		if (at < 0)
			continue;
		if (p->kind == POOL_LP)
			r.value += pow(fabs(plane[at]), p->p);
		else if (p->kind == POOL_AVERAGE)
			r.value += plane[at];
		else if (r.where < 0 || plane[at] > r.value || isnan(plane[at]))
			r = (struct pooled){ plane[at], at };
	} while (npu_host_next(p->win.rank, p->win.kernel, tap) && !npu_host_stopped(call));
	if (p->kind == POOL_AVERAGE)
		r.value /= count ? (double)count : 1;
	else if (p->kind == POOL_LP)
		r.value = pow(r.value, 1 / p->p);
	return r;
}

/* Index in the plane as column-major order would count it. */
static int64_t column_major(const struct npu_host_window *w, int64_t at)
{
	int64_t out = 0, index[NPU_HOST_RANK];
	uint32_t d;

	for (d = w->rank; d-- > 0; at /= w->in[d])
		index[d] = at % w->in[d];
	for (d = w->rank; d-- > 0;)
		out = out * w->in[d] + index[d];
	return out;
}

static int pool_planes(const struct npu_host_call *call, const struct pool *p, const double *x,
		       struct npu_error *err)
{
	struct npu_host_tensor *y = &call->out[0], *where = npu_host_out(call, 1);
	bool column = npu_host_int(call, "storage_order", 0) != 0;
	int64_t planes = npu_host_span(&call->in[0], 0, 2), i, at = 0, w;
	int64_t index[NPU_HOST_RANK] = { 0 };

	for (i = 0; i < planes && p->win.out_size; i++)
		do {
			struct pooled r = pool_one(call, p, x + i * p->win.in_size, index);

			if (npu_host_poll(call, err))
				return -ECANCELED;
			npu_host_set(y, at, r.value);
			w = r.where < 0 ? 0 : column ? column_major(&p->win, r.where) : r.where;
			if (where)
				((int64_t *)where->data)[at] = i * p->win.in_size + w;
			at++;
		} while (npu_host_next(p->win.rank, p->win.out, index));
	return 0;
}

static int pool(const struct npu_host_call *call, enum pool_kind kind, struct npu_error *err)
{
	struct pool p = { .kind = kind, .p = (double)npu_host_int(call, "p", 2) };
	int ret = npu_host_window(call, &call->in[0], &call->out[0], NULL, &p.win, err);
	double *x;

	if (ret)
		return ret;
	if (call->out[0].dim[0] != call->in[0].dim[0] || call->out[0].dim[1] != call->in[0].dim[1])
		return npu_host_fail(call, err, -EINVAL,
				     "the result has other planes than the input");
	if (npu_host_out(call, 1))
		ret = npu_host_want(call, npu_host_out(call, 1), NPU_I64, call->out[0].rank,
				    call->out[0].dim, err);
	if (ret)
		return ret;
	if (kind == POOL_LP && p.p < 1)
		return npu_host_fail(call, err, -EINVAL, "p is %g, expected 1 or more", p.p);
	p.count_padding = npu_host_int(call, "count_include_pad", 0) != 0;
	x = npu_host_doubles(call, &call->in[0], err);
	if (!x)
		return -ENOMEM;
	ret = pool_planes(call, &p, x, err);
	free(x);
	return ret;
}

int npu_host_max_pool(const struct npu_host_call *call, struct npu_error *err)
{
	return pool(call, POOL_MAX, err);
}

int npu_host_average_pool(const struct npu_host_call *call, struct npu_error *err)
{
	return pool(call, POOL_AVERAGE, err);
}

int npu_host_lp_pool(const struct npu_host_call *call, struct npu_error *err)
{
	return pool(call, POOL_LP, err);
}

static int global(const struct npu_host_call *call, enum pool_kind kind, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0];
	double p = (double)npu_host_int(call, "p", 2), v, sum;
	int64_t planes, per, i, k;

	if (x->rank < 3)
		return npu_host_fail(call, err, -EINVAL, "expected rank 3 or more, got %u",
				     x->rank);
	planes = npu_host_span(x, 0, 2);
	per = npu_host_span(x, 2, x->rank);
	if (npu_host_elems(&call->out[0]) != planes)
		return npu_host_fail(call, err, -EINVAL,
				     "the result has %lld elements, expected %lld",
				     (long long)npu_host_elems(&call->out[0]), (long long)planes);
	for (i = 0; i < planes; i++) {
		if (npu_host_poll(call, err))
			return -ECANCELED;
		sum = kind == POOL_MAX ? -INFINITY : 0;
		for (k = 0; k < per; k++) {
			v = npu_host_get(x, i * per + k);
			sum = kind == POOL_LP	     ? sum + pow(fabs(v), p)
			      : kind == POOL_AVERAGE ? sum + v
			      : v > sum || isnan(v)  ? v
						     : sum;
		}
		npu_host_set(&call->out[0], i, kind == POOL_LP ? pow(sum, 1 / p) :
			     kind == POOL_AVERAGE && per ? sum / (double)per : sum);
	}
	return 0;
}

int npu_host_global_average_pool(const struct npu_host_call *call, struct npu_error *err)
{
	return global(call, POOL_AVERAGE, err);
}

int npu_host_global_max_pool(const struct npu_host_call *call, struct npu_error *err)
{
	return global(call, POOL_MAX, err);
}

int npu_host_global_lp_pool(const struct npu_host_call *call, struct npu_error *err)
{
	return global(call, POOL_LP, err);
}

/*
 * The sizes that MaxPool's indices count in: those that its window gives back, which output_shape
 * may exceed.
 */
static int64_t unpool_place(int64_t at, uint32_t rank, const int64_t *plain, const int64_t *dim)
{
	int64_t index[NPU_HOST_RANK], to = 0;
	uint32_t d;

	for (d = rank; d-- > 0; at /= plain[d]) {
		index[d] = at % plain[d];
		if (index[d] >= dim[d])
			return -1;
	}
	if (at)
		return -1;
	for (d = 0; d < rank; d++)
		to = to * dim[d] + index[d];
	return to;
}

int npu_host_max_unpool(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *where = &call->in[1];
	struct npu_host_tensor *y = &call->out[0];
	int64_t plain[NPU_HOST_RANK], n = npu_host_elems(x), i, at, to;
	struct npu_host_window w;
	uint32_t d;
	int ret = npu_host_window(call, x, y, NULL, &w, err);

	if (ret)
		return ret;
	if (!npu_host_same_shape(x, where))
		return npu_host_fail(call, err, -EINVAL, "X and I have different shapes");
	for (d = 0; d < x->rank; d++) {
		plain[d] = y->dim[d];
		if (d >= 2)
			plain[d] = (x->dim[d] - 1) * w.stride[d - 2] - w.pad[d - 2] -
				   w.pad[d - 2 + w.rank] + w.kernel[d - 2];
		if (plain[d] < 1)
			return npu_host_fail(call, err, -EINVAL, "the windows give no result");
	}
	npu_host_clear(y);
	for (i = 0; i < n; i++) {
		at = npu_host_get_int(where, i);
		to = at < 0 ? -1 : unpool_place(at, y->rank, plain, y->dim);
		if (to < 0)
			return npu_host_fail(call, err, -EINVAL,
					     "index %lld is %lld, outside of the result",
					     (long long)i, (long long)at);
		npu_host_set(y, to, npu_host_get(x, i));
	}
	return 0;
}
