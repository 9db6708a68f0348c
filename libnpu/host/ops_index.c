// SPDX-License-Identifier: MIT
/* Gather and scatter kinds, ReverseSequence, EyeLike, Trilu. */
#include <errno.h>
#include <string.h>

#include "host/dense.h"

static int bad_index(const struct npu_host_call *call, struct npu_error *err, int64_t at, int64_t v,
		     int64_t size)
{
	return npu_host_fail(call, err, -EINVAL,
			     "index %lld of '%s' is %lld, expected %lld to %lld", (long long)at,
			     call->in[1].name, (long long)v, (long long)-size, (long long)size - 1);
}

/* How a new value joins the old one. */
enum reduction { REPLACE, ADD, MUL, MIN, MAX, NO_REDUCTION };

static int reduction_of(const struct npu_host_call *call, enum reduction *r, struct npu_error *err)
{
	static const char *const names[] = { "none", "add", "mul", "min", "max" };
	const char *text = npu_host_string(call, "reduction", "none");

	for (*r = REPLACE; *r < NO_REDUCTION; (*r)++)
		if (!strcmp(names[*r], text))
			return 0;
	return npu_host_fail(call, err, -ENOTSUP,
			     "reduction '%.20s', expected none, add, mul, min or max", text);
}

static void combine(struct npu_host_tensor *out, int64_t to, const struct npu_host_tensor *in,
		    int64_t from, enum reduction r)
{
	size_t size = npu_host_dtype_size(out->dtype);

	if (r == REPLACE) {
		memcpy((char *)out->data + (size_t)to * size,
		       (const char *)in->data + (size_t)from * size, size);
	} else if (npu_host_is_float(out->dtype)) {
		double a = npu_host_get(out, to), b = npu_host_get(in, from);

		npu_host_set(out, to, r == ADD ? a + b : r == MUL ? a * b :
			     r == MIN ? (b < a ? b : a) : (b > a ? b : a));
	} else {
		/* unsigned arithmetic wraps as two's complement does */
		uint64_t a = (uint64_t)npu_host_get_int(out, to),
			 b = (uint64_t)npu_host_get_int(in, from);
		bool less = out->dtype == NPU_HOST_U64 ? b < a : (int64_t)b < (int64_t)a;

		npu_host_set_int(out, to, (int64_t)(r == ADD ? a + b : r == MUL ? a * b :
						    less == (r == MIN) ? b : a));
	}
}

/* Where a tuple of @depth indices points to, in slices behind the first @batch dims. */
static int tuple_offset(const struct npu_host_call *call, int64_t tuple, int64_t depth,
			uint32_t batch, int64_t *at, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *idx = &call->in[1];
	int64_t i, v, value;

	for (*at = 0, i = 0; i < depth; i++) {
		v = value = npu_host_get_int(idx, tuple * depth + i);
		if (!npu_host_index(&v, x->dim[batch + i]))
			return bad_index(call, err, tuple * depth + i, value, x->dim[batch + i]);
		*at = *at * x->dim[batch + i] + v;
	}
	return 0;
}

int npu_host_gather_nd(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *idx = &call->in[1];
	int64_t batch = npu_host_int(call, "batch_dims", 0), depth, tuples, inner, batches, per, at,
		b, i;
	int64_t dim[NPU_HOST_RANK];
	size_t bytes;
	uint32_t d;
	int ret;

	if (idx->rank < 1 || batch < 0 || batch >= idx->rank ||
	    idx->dim[idx->rank - 1] + batch > (int64_t)x->rank)
		return npu_host_fail(call, err, -EINVAL,
				     "indices of rank %u and batch_dims %lld do not fit rank %u",
				     idx->rank, (long long)batch, x->rank);
	depth = idx->dim[idx->rank - 1];
	batches = npu_host_span(x, 0, (uint32_t)batch);
	if (batches != npu_host_span(idx, 0, (uint32_t)batch))
		return npu_host_fail(call, err, -EINVAL, "the first %lld dimensions differ",
				     (long long)batch);
	tuples = npu_host_span(idx, (uint32_t)batch, idx->rank - 1);
	inner = npu_host_span(x, (uint32_t)(batch + depth), x->rank);
	for (d = 0; d + 1 < idx->rank; d++)
		dim[d] = idx->dim[d];
	for (i = batch + depth; i < (int64_t)x->rank && d < NPU_HOST_RANK; i++)
		dim[d++] = x->dim[i];
	ret = npu_host_want(call, &call->out[0], x->dtype, d, dim, err);
	if (ret)
		return ret;
	per = npu_host_span(x, (uint32_t)batch, (uint32_t)(batch + depth));
	bytes = (size_t)inner * npu_host_dtype_size(x->dtype);
	for (b = 0; b < batches; b++)
		for (i = 0; i < tuples; i++) {
			ret = npu_host_poll(call, err);
			if (!ret)
				ret = tuple_offset(call, b * tuples + i, depth, (uint32_t)batch,
						   &at, err);
			if (ret)
				return ret;
			memcpy((char *)call->out[0].data + (size_t)(b * tuples + i) * bytes,
			       (const char *)x->data + (size_t)(b * per + at) * bytes, bytes);
		}
	return 0;
}

int npu_host_scatter_nd(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *idx = &call->in[1], *up = &call->in[2];
	struct npu_host_tensor *out = &call->out[0];
	int64_t depth, tuples, inner, at, i, k;
	enum reduction r;
	int ret = reduction_of(call, &r, err);

	if (ret)
		return ret;
	if (idx->rank < 1 || idx->dim[idx->rank - 1] > (int64_t)x->rank)
		return npu_host_fail(call, err, -EINVAL, "indices of rank %u do not fit rank %u",
				     idx->rank, x->rank);
	ret = npu_host_want_like(call, out, x, err);
	if (!ret)
		ret = npu_host_want_type(call, up, x->dtype, err);
	if (ret)
		return ret;
	depth = idx->dim[idx->rank - 1];
	tuples = npu_host_span(idx, 0, idx->rank - 1);
	inner = npu_host_span(x, (uint32_t)depth, x->rank);
	if (npu_host_elems(up) != tuples * inner)
		return npu_host_fail(call, err, -EINVAL, "'%s' has %lld elements, expected %lld",
				     up->name, (long long)npu_host_elems(up),
				     (long long)(tuples * inner));
	memcpy(out->data, x->data, (size_t)npu_host_elems(x) * npu_host_dtype_size(x->dtype));
	for (i = 0; i < tuples; i++) {
		ret = npu_host_poll(call, err);
		if (!ret)
			ret = tuple_offset(call, i, depth, 0, &at, err);
		if (ret)
			return ret;
		for (k = 0; k < inner; k++)
			combine(out, at * inner + k, up, i * inner + k, r);
	}
	return 0;
}

/*
 * Visit every index, and where it points to in @x: the same place but for the axis. One walk for
 * gathering and scattering.
 */
static int along_axis(const struct npu_host_call *call, const struct npu_host_tensor *x,
		      bool gather, enum reduction r, struct npu_error *err)
{
	const struct npu_host_tensor *idx = &call->in[1];
	int64_t stride[NPU_HOST_RANK], index[NPU_HOST_RANK] = { 0 }, at = 0, v, value, to;
	uint32_t axis, d;
	int ret = npu_host_axis(call, "axis", 0, x->rank, &axis, err);

	if (ret)
		return ret;
	for (d = 0; d < x->rank; d++)
		if (idx->rank != x->rank || (d != axis && idx->dim[d] > x->dim[d]))
			return npu_host_fail(call, err, -EINVAL,
					     "the shapes of '%s' and '%s' do not fit", x->name,
					     idx->name);
	if (!npu_host_elems(idx))
		return 0;
	if (!gather && !npu_host_same_shape(idx, &call->in[2]))
		return npu_host_fail(call, err, -EINVAL, "'%s' and '%s' have different shapes",
				     idx->name, call->in[2].name);
	npu_host_strides(x, stride);
	do {
		if (NPU_HOST_NOW_AND_THEN(at, call, err))
			return -ECANCELED;
		v = value = npu_host_get_int(idx, at);
		if (!npu_host_index(&v, x->dim[axis]))
			return bad_index(call, err, at, value, x->dim[axis]);
		to = npu_host_offset(x->rank, index, stride) + (v - index[axis]) * stride[axis];
		if (gather)
			combine(&call->out[0], at, x, to, REPLACE);
		else
			combine(&call->out[0], to, &call->in[2], at, r);
		at++;
	} while (npu_host_next(idx->rank, idx->dim, index));
	return 0;
}

int npu_host_gather_elements(const struct npu_host_call *call, struct npu_error *err)
{
	int ret = npu_host_want(call, &call->out[0], call->in[0].dtype, call->in[1].rank,
				call->in[1].dim, err);

	return ret ? ret : along_axis(call, &call->in[0], true, REPLACE, err);
}

int npu_host_scatter_elements(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0];
	enum reduction r;
	int ret = reduction_of(call, &r, err);

	if (!ret)
		ret = npu_host_want_like(call, &call->out[0], x, err);
	if (!ret)
		ret = npu_host_want_type(call, &call->in[2], x->dtype, err);
	if (ret)
		return ret;
	memcpy(call->out[0].data, x->data,
	       (size_t)npu_host_elems(x) * npu_host_dtype_size(x->dtype));
	return along_axis(call, x, false, r, err);
}

int npu_host_gather(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *idx = &call->in[1];
	int64_t outer, inner, n, o, i, v, value;
	uint32_t axis, d;
	size_t bytes;
	int ret = npu_host_axis(call, "axis", 0, x->rank, &axis, err);

	if (ret)
		return ret;
	if (call->out[0].rank + 1 != x->rank + idx->rank || call->out[0].dtype != x->dtype)
		return npu_host_fail(call, err, -EINVAL, "the result has rank %u or another type",
				     call->out[0].rank);
	for (d = 0; d < call->out[0].rank && !ret; d++)
		ret = npu_host_set_dim(call, &call->out[0], d,
				       d < axis		      ? x->dim[d]
				       : d < axis + idx->rank ? idx->dim[d - axis]
							      : x->dim[d - idx->rank + 1],
				       err);
	if (ret)
		return ret;
	outer = npu_host_span(x, 0, axis);
	inner = npu_host_span(x, axis + 1, x->rank);
	bytes = (size_t)inner * npu_host_dtype_size(x->dtype);
	n = npu_host_elems(idx);
	for (o = 0; o < outer; o++)
		for (i = 0; i < n; i++) {
			if (npu_host_poll(call, err))
				return -ECANCELED;
			v = value = npu_host_get_int(idx, i);
			if (!npu_host_index(&v, x->dim[axis]))
				return bad_index(call, err, i, value, x->dim[axis]);
			memcpy((char *)call->out[0].data + (size_t)(o * n + i) * bytes,
			       (const char *)x->data + (size_t)(o * x->dim[axis] + v) * bytes,
			       bytes);
		}
	return 0;
}

int npu_host_reverse_sequence(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *lens = &call->in[1];
	int64_t stride[NPU_HOST_RANK], index[NPU_HOST_RANK] = { 0 }, from, len, at = 0, i;
	uint32_t batch = 0, time = 0;
	int ret = npu_host_axis(call, "batch_axis", 1, x->rank, &batch, err);

	if (!ret)
		ret = npu_host_axis(call, "time_axis", 0, x->rank, &time, err);
	if (!ret)
		ret = npu_host_want_like(call, &call->out[0], x, err);
	if (ret)
		return ret;
	if (batch == time || npu_host_elems(lens) != x->dim[batch])
		return npu_host_fail(call, err, -EINVAL, "expected %lld lengths and two axes",
				     (long long)x->dim[batch]);
	for (i = 0; i < x->dim[batch]; i++)
		if (npu_host_get_int(lens, i) < 0 || npu_host_get_int(lens, i) > x->dim[time])
			return npu_host_fail(call, err, -EINVAL,
					     "length %lld is %lld, expected 0 to %lld",
					     (long long)i, (long long)npu_host_get_int(lens, i),
					     (long long)x->dim[time]);
	if (!npu_host_elems(x))
		return 0;
	npu_host_strides(x, stride);
	do {
		len = npu_host_get_int(lens, index[batch]);
		from = at;
		if (index[time] < len)
			from += (len - 1 - 2 * index[time]) * stride[time];
		combine(&call->out[0], at++, x, from, REPLACE);
	} while (npu_host_next(x->rank, x->dim, index));
	return 0;
}

int npu_host_eye_like(const struct npu_host_call *call, struct npu_error *err)
{
	struct npu_host_tensor *out = &call->out[0];
	int64_t k = npu_host_int(call, "k", 0), i;

	if (out->rank != 2)
		return npu_host_fail(call, err, -EINVAL, "expected a matrix, got rank %u",
				     out->rank);
	npu_host_clear(out);
	for (i = 0; i < out->dim[0]; i++)
		if (k >= -i && k < out->dim[1] - i)
			npu_host_set(out, i * out->dim[1] + i + k, 1);
	return 0;
}

int npu_host_trilu(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *kin = npu_host_in(call, 1);
	struct npu_host_tensor *out = &call->out[0];
	bool upper = npu_host_int(call, "upper", 1) != 0;
	int64_t k = kin && npu_host_elems(kin) > 0 ? npu_host_get_int(kin, 0) : 0, rows, cols, n, i,
		c;

	if (x->rank < 2)
		return npu_host_fail(call, err, -EINVAL, "expected matrices, got rank %u", x->rank);
	if (npu_host_want_like(call, out, x, err))
		return -EINVAL;
	rows = x->dim[x->rank - 2];
	cols = x->dim[x->rank - 1];
	n = npu_host_span(x, 0, x->rank - 1);
	/* beyond the matrix one diagonal is like another */
	k = k > cols ? cols : k < -rows ? -rows : k;
	npu_host_clear(out);
	for (i = 0; i < n; i++)
		for (c = 0; c < cols; c++)
			if (upper ? c - i % rows >= k : c - i % rows <= k)
				combine(out, i * cols + c, x, i * cols + c, REPLACE);
	return 0;
}
