// SPDX-License-Identifier: MIT
/* Results whose length the data decide: Compress, Unique. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/dense.h"
#include "host/sort.h"

/* The slices of @in along an axis: @outer times @count times @inner bytes. */
struct slices {
	int64_t outer, count, inner;
};

static struct slices slices_of(const struct npu_host_tensor *in, bool flat, uint32_t axis)
{
	int64_t size = (int64_t)npu_host_dtype_size(in->dtype);

	if (flat)
		return (struct slices){ 1, npu_host_elems(in), size };
	return (struct slices){ npu_host_span(in, 0, axis), in->dim[axis],
				npu_host_span(in, axis + 1, in->rank) * size };
}

/* Copy slice @from of @in to slice @to of a result that has @count of them. */
static void copy_slice(const struct slices *s, const char *in, int64_t from, char *out, int64_t to,
		       int64_t count)
{
	int64_t o;

	for (o = 0; o < s->outer; o++)
		memcpy(out + (o * count + to) * s->inner, in + (o * s->count + from) * s->inner,
		       (size_t)s->inner);
}

/* @out has room for @count of the slices of the first input, and its type. */
static int want_slices(const struct npu_host_call *call, struct npu_host_tensor *out, bool flat,
		       uint32_t axis, int64_t count, struct npu_error *err)
{
	const struct npu_host_tensor *in = &call->in[0];
	int64_t dim[NPU_HOST_RANK];

	memcpy(dim, in->dim, sizeof(dim));
	dim[flat ? 0 : axis] = count;
	return npu_host_want(call, out, in->dtype, flat ? 1 : in->rank, dim, err);
}

int npu_host_compress(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *in = &call->in[0], *cond = &call->in[1];
	struct npu_host_tensor *out = &call->out[0];
	bool flat = !npu_host_attr(call, "axis", NPU_HOST_INT);
	int64_t n, i, found = 0, to = 0;
	uint32_t axis = 0;
	struct slices s;
	int ret = flat ? 0 : npu_host_axis(call, "axis", 0, in->rank, &axis, err);

	if (ret)
		return ret;
	s = slices_of(in, flat, axis);
	n = npu_host_elems(cond);
	if (n > s.count)
		return npu_host_fail(call, err, -EINVAL, "%lld conditions for %lld elements",
				     (long long)n, (long long)s.count);
	for (i = 0; i < n; i++) {
		if (NPU_HOST_NOW_AND_THEN(i, call, err))
			return -ECANCELED;
		found += npu_host_get_int(cond, i) != 0;
	}
	ret = want_slices(call, out, flat, axis, found, err);
	if (ret)
		return ret;
	for (i = 0; i < n; i++) {
		if (npu_host_poll(call, err))
			return -ECANCELED;
		if (npu_host_get_int(cond, i))
			copy_slice(&s, in->data, i, out->data, to++, found);
	}
	return 0;
}

/* ---- Unique ---------------------------------------------------------------------------------- */

struct unique {
	const struct npu_host_call *call;
	const struct npu_host_tensor *in;
	struct slices s;	/* inner in bytes */
	int64_t size;		/* of an element */
};

static int compare_elems(const struct npu_host_tensor *t, int64_t i, int64_t k)
{
	double a, b;

	if (!npu_host_is_float(t->dtype)) {
		int64_t x = npu_host_get_int(t, i), y = npu_host_get_int(t, k);

		if (t->dtype == NPU_HOST_U64)
			return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
		return (x > y) - (x < y);
	}
	a = npu_host_get(t, i);
	b = npu_host_get(t, k);
	/* NaN sorts last and every one is like the other, or sorting has no meaning */
	if (a != a || b != b)
		return (a != a) - (b != b);
	return (a > b) - (a < b);
}

/* When the job was cancelled slices are equal, whatever they are. */
static int compare_slices(const void *ctx, int64_t a, int64_t b)
{
	const struct unique *u = ctx;
	int64_t per = u->s.inner / u->size, o, i, steps = 0;
	int order;

	for (o = 0; o < u->s.outer; o++)
		for (i = 0; i < per; i++) {
			if (!(++steps & 4095) && npu_host_stopped(u->call))
				return 0;
			order = compare_elems(u->in, (o * u->s.count + a) * per + i,
					      (o * u->s.count + b) * per + i);
			if (order)
				return order;
		}
	return 0;
}

static int by_first(const void *ctx, int64_t a, int64_t b)
{
	const int64_t *first = ctx;

	return (first[a] > first[b]) - (first[a] < first[b]);
}

struct groups {
	int64_t num;
	int64_t *order;		/* slices, sorted */
	int64_t *group;		/* of each slice */
	int64_t *first, *size;	/* of each group: first slice, number of slices */
	int64_t *rank, *place;	/* groups in the order of the result, and its inverse */
	int64_t *scratch;
};

static int unique_group(const struct unique *u, struct groups *g, bool sorted,
			struct npu_error *err)
{
	int64_t i;
	int ret;

	for (i = 0; i < u->s.count; i++)
		g->order[i] = i;
	ret = npu_host_sort(u->call, g->order, g->scratch, u->s.count, compare_slices, u, err);
	for (i = 0; i < u->s.count; i++) {
		if (ret || NPU_HOST_NOW_AND_THEN(i, u->call, err))
			return -ECANCELED;
		if (!i || compare_slices(u, g->order[i - 1], g->order[i]))
			g->first[g->num++] = g->order[i];
		g->group[g->order[i]] = g->num - 1;
		g->size[g->num - 1]++;
	}
	for (i = 0; i < g->num; i++)
		g->rank[i] = i;
	if (!sorted)
		ret = npu_host_sort(u->call, g->rank, g->scratch, g->num, by_first, g->first, err);
	for (i = 0; i < g->num && !ret; i++)
		g->place[g->rank[i]] = i;
	return ret ? ret : npu_host_poll(u->call, err);
}

static int unique_write(const struct npu_host_call *call, const struct unique *u,
			const struct groups *g, struct npu_error *err)
{
	struct npu_host_tensor *y = &call->out[0], *first = npu_host_out(call, 1),
			       *inverse = npu_host_out(call, 2), *count = npu_host_out(call, 3);
	int64_t i;

	for (i = 0; i < g->num; i++) {
		if (npu_host_poll(call, err))
			return -ECANCELED;
		if (y->present)
			copy_slice(&u->s, u->in->data, g->first[g->rank[i]], y->data, i, g->num);
		if (first)
			((int64_t *)first->data)[i] = g->first[g->rank[i]];
		if (count)
			((int64_t *)count->data)[i] = g->size[g->rank[i]];
	}
	for (i = 0; i < u->s.count && inverse; i++)
		((int64_t *)inverse->data)[i] = g->place[g->group[i]];
	return 0;
}

/* Type and room of every output that is wanted. */
static int unique_check(const struct npu_host_call *call, bool flat, uint32_t axis,
			const struct unique *u, const struct groups *g, struct npu_error *err)
{
	int ret = call->out[0].present ? want_slices(call, &call->out[0], flat, axis, g->num, err)
				       : 0;
	uint32_t i;

	for (i = 1; i < 4 && !ret; i++)
		if (npu_host_out(call, i))
			ret = npu_host_want(call, npu_host_out(call, i), NPU_I64, 1,
					    i == 2 ? &u->s.count : &g->num, err);
	return ret;
}

int npu_host_unique(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *in = &call->in[0];
	bool flat = !npu_host_attr(call, "axis", NPU_HOST_INT);
	struct unique u = { .call = call, .in = in,
			    .size = (int64_t)npu_host_dtype_size(in->dtype) };
	struct groups g = { 0 };
	uint32_t axis = 0;
	int64_t *memory;
	int ret = flat ? 0 : npu_host_axis(call, "axis", 0, in->rank, &axis, err);

	if (ret)
		return ret;
	u.s = slices_of(in, flat, axis);
	memory = npu_host_alloc(call, 7 * u.s.count, sizeof(*memory), err);
	if (!memory)
		return -ENOMEM;
	g.order = memory;
	g.group = memory + u.s.count;
	g.first = memory + 2 * u.s.count;
	g.size = memory + 3 * u.s.count;
	g.rank = memory + 4 * u.s.count;
	g.place = memory + 5 * u.s.count;
	g.scratch = memory + 6 * u.s.count;
	ret = unique_group(&u, &g, npu_host_int(call, "sorted", 1) != 0, err);
	if (!ret)
		ret = unique_check(call, flat, axis, &u, &g, err);
	if (!ret)
		ret = unique_write(call, &u, &g, err);
	free(memory);
	return ret;
}
