// SPDX-License-Identifier: MIT
/*
 * Movement of data by parameters that are known at run time only, or of types that the NPU lacks.
 */
#include <errno.h>
#include <string.h>

#include "host/dense.h"

static void copy_elem(struct npu_host_tensor *out, int64_t to, const struct npu_host_tensor *in,
		      int64_t from)
{
	size_t size = npu_host_dtype_size(out->dtype);

	memcpy((char *)out->data + (size_t)to * size, (const char *)in->data + (size_t)from * size,
	       size);
}

/* Slice along one axis, by ONNX's rules for out of range ends. */
static void slice_range(int64_t size, int64_t start, int64_t end, int64_t step, int64_t *from,
			int64_t *count)
{
	int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1, span;

	if (start < 0)
		start = start < -size ? low : start + size;
	if (end < 0)
		end = end < -size ? low : end + size;
	start = start < low ? low : start > high ? high : start;
	end = end < low ? low : end > high ? high : end;
	span = step > 0 ? end - start : start - end;
	*from = start;
	*count = span <= 0  ? 0
		 : step > 0 ? (span - 1) / step + 1
			    : (span - 1) / (step == INT64_MIN ? INT64_MAX : -step) + 1;
}

int npu_host_slice(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *axes = npu_host_in(call, 3),
				     *steps = npu_host_in(call, 4);
	int64_t from[NPU_HOST_RANK], step[NPU_HOST_RANK], stride[NPU_HOST_RANK],
		index[NPU_HOST_RANK] = { 0 };
	struct npu_host_tensor *out = &call->out[0];
	int64_t n, i, axis, at = 0, to, dim[NPU_HOST_RANK];
	uint32_t d;

	if (!npu_host_in(call, 1) || !npu_host_in(call, 2))
		return npu_host_fail(call, err, -ENOTSUP, "expected starts and ends as inputs");
	n = npu_host_elems(&call->in[1]);
	if (npu_host_elems(&call->in[2]) != n || (axes && npu_host_elems(axes) != n) ||
	    (steps && npu_host_elems(steps) != n))
		return npu_host_fail(call, err, -EINVAL,
				     "starts, ends, axes and steps have different lengths");
	for (d = 0; d < x->rank; d++) {
		from[d] = 0;
		step[d] = 1;
		dim[d] = x->dim[d];
	}
	for (i = 0; i < n; i++) {
		axis = axes ? npu_host_get_int(axes, i) : i;
		if (!npu_host_index(&axis, x->rank))
			return npu_host_fail(call, err, -EINVAL, "axis %lld of rank %u",
					     (long long)(axes ? npu_host_get_int(axes, i) : i),
					     x->rank);
		step[axis] = steps ? npu_host_get_int(steps, i) : 1;
		if (!step[axis])
			return npu_host_fail(call, err, -EINVAL, "step %lld is 0", (long long)i);
		slice_range(x->dim[axis], npu_host_get_int(&call->in[1], i),
			    npu_host_get_int(&call->in[2], i), step[axis], &from[axis], &dim[axis]);
	}
	if (npu_host_want(call, out, x->dtype, x->rank, dim, err))
		return -EINVAL;
	npu_host_strides(x, stride);
	if (!npu_host_elems(out))
		return 0;
	do {
		if (NPU_HOST_NOW_AND_THEN(at, call, err))
			return -ECANCELED;
		for (to = 0, d = 0; d < x->rank; d++)
			to += (from[d] + index[d] * step[d]) * stride[d];
		copy_elem(out, at++, x, to);
	} while (npu_host_next(out->rank, out->dim, index));
	return 0;
}

int npu_host_transpose(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0];
	struct npu_host_tensor *out = &call->out[0];
	int64_t own[NPU_HOST_RANK], stride[NPU_HOST_RANK], index[NPU_HOST_RANK] = { 0 }, at = 0,
							   from;
	int64_t dim[NPU_HOST_RANK];
	uint32_t count, d, seen = 0;
	const int64_t *perm = npu_host_ints(call, "perm", &count);

	npu_host_strides(x, own);
	for (d = 0; d < x->rank; d++) {
		from = count == x->rank ? perm[d] : x->rank - 1 - d;
		if ((count && count != x->rank) || !npu_host_index(&from, x->rank) ||
		    seen & 1u << from)
			return npu_host_fail(call, err, -EINVAL,
					     "perm is no permutation of %u axes", x->rank);
		seen |= 1u << from;
		stride[d] = own[from];
		dim[d] = x->dim[from];
	}
	if (npu_host_want(call, out, x->dtype, x->rank, dim, err))
		return -EINVAL;
	if (!npu_host_elems(out))
		return 0;
	do {
		if (NPU_HOST_NOW_AND_THEN(at, call, err))
			return -ECANCELED;
		copy_elem(out, at++, x, npu_host_offset(x->rank, index, stride));
	} while (npu_host_next(out->rank, out->dim, index));
	return 0;
}

int npu_host_concat(const struct npu_host_call *call, struct npu_error *err)
{
	struct npu_host_tensor *out = &call->out[0];
	size_t size = npu_host_dtype_size(out->dtype);
	int64_t outer, whole, at = 0, part, o;
	uint32_t axis = 0, i, d;
	int ret = npu_host_axis(call, "axis", 1, out->rank, &axis, err);

	if (ret)
		return ret;
	for (i = 0; i < call->num_in; i++) {
		if (call->in[i].present && call->in[i].dtype != out->dtype)
			return npu_host_want_type(call, &call->in[i], out->dtype, err);
		for (d = 0; d < out->rank && call->in[i].rank == out->rank; d++)
			if (d != axis && call->in[i].dim[d] != call->in[0].dim[d])
				return npu_host_fail(call, err, -EINVAL,
						     "'%s' differs along dimension %u",
						     call->in[i].name, d);
		if (!call->in[i].present || call->in[i].rank != out->rank)
			return npu_host_fail(call, err, -EINVAL, "'%s' has rank %u, the result %u",
					     call->in[i].name, call->in[i].rank, out->rank);
		at += call->in[i].dim[axis];
	}
	for (i = 0; i < out->rank && !ret; i++)
		ret = npu_host_set_dim(call, out, i, i == axis ? at : call->in[0].dim[i], err);
	if (ret)
		return ret;
	at = 0;
	outer = npu_host_span(out, 0, axis);
	whole = npu_host_span(out, axis, out->rank) * (int64_t)size;
	for (i = 0; i < call->num_in; i++) {
		part = npu_host_span(&call->in[i], axis, call->in[i].rank) * (int64_t)size;
		if (at + part > whole || npu_host_span(&call->in[i], 0, axis) != outer)
			return npu_host_fail(call, err, -EINVAL, "'%s' does not fit the result",
					     call->in[i].name);
		for (o = 0; o < outer; o++)
			memcpy((char *)out->data + o * whole + at,
			       (const char *)call->in[i].data + o * part, (size_t)part);
		at += part;
	}
	return 0;
}

/* Expand and Tile: the result's shape says all. */
int npu_host_expand(const struct npu_host_call *call, struct npu_error *err)
{
	int64_t stride[NPU_HOST_RANK], index[NPU_HOST_RANK] = { 0 }, at = 0;
	struct npu_host_tensor *out = &call->out[0];
	int ret = npu_host_broadcast(call, &call->in[0], out, stride, err);

	if (!ret)
		ret = npu_host_want_type(call, out, call->in[0].dtype, err);
	if (ret || !npu_host_elems(out))
		return ret;
	do {
		if (NPU_HOST_NOW_AND_THEN(at, call, err))
			return -ECANCELED;
		copy_elem(out, at++, &call->in[0], npu_host_offset(out->rank, index, stride));
	} while (npu_host_next(out->rank, out->dim, index));
	return 0;
}

int npu_host_tile(const struct npu_host_call *call, struct npu_error *err)
{
	int64_t stride[NPU_HOST_RANK], index[NPU_HOST_RANK] = { 0 }, at = 0, from;
	const struct npu_host_tensor *x = &call->in[0];
	struct npu_host_tensor *out = &call->out[0];
	uint32_t d;

	if (x->rank != out->rank)
		return npu_host_fail(call, err, -EINVAL, "rank %u, the result %u", x->rank,
				     out->rank);
	if (npu_host_want_type(call, out, x->dtype, err))
		return -EINVAL;
	npu_host_strides(x, stride);
	if (!npu_host_elems(out) || !npu_host_elems(x))
		return 0;
	do {
		if (NPU_HOST_NOW_AND_THEN(at, call, err))
			return -ECANCELED;
		for (from = 0, d = 0; d < x->rank; d++)
			from += index[d] % x->dim[d] * stride[d];
		copy_elem(out, at++, x, from);
	} while (npu_host_next(out->rank, out->dim, index));
	return 0;
}

/* ---- the same elements in another shape ------------------------------------------------------ */

static int same_elements(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0];

	if (npu_host_want_type(call, &call->out[0], x->dtype, err))
		return -EINVAL;
	if (npu_host_elems(x) != npu_host_elems(&call->out[0]))
		return npu_host_fail(call, err, -EINVAL, "%lld elements become %lld",
				     (long long)npu_host_elems(x),
				     (long long)npu_host_elems(&call->out[0]));
	memcpy(call->out[0].data, x->data,
	       (size_t)npu_host_elems(x) * npu_host_dtype_size(x->dtype));
	return 0;
}

/* 0 stands for the input's size and -1 for what is left. */
int npu_host_reshape(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *shape = npu_host_in(call, 1);
	struct npu_host_tensor *out = &call->out[0];
	bool zero = npu_host_int(call, "allowzero", 0) != 0;
	int64_t v, rest = npu_host_elems(x), open = -1;
	uint32_t d;
	int ret = 0;

	if (shape && npu_host_elems(shape) != (int64_t)out->rank)
		return npu_host_fail(call, err, -EINVAL,
				     "the shape has %lld entries, the result rank %u",
				     (long long)npu_host_elems(shape), out->rank);
	for (d = 0; shape && d < out->rank && !ret; d++) {
		v = npu_host_get_int(shape, d);
		if (!v && !zero && d < x->rank)
			v = x->dim[d];
		if (v == -1) {
			open = d;
			continue;
		}
		rest = v > 0 ? rest / v : 0;
		ret = npu_host_set_dim(call, out, d, v, err);
	}
	if (open >= 0 && !ret)
		ret = npu_host_set_dim(call, out, (uint32_t)open, rest, err);
	return ret ? ret : same_elements(call, err);
}

/* Bit per axis: attribute axes or input 1, negative ones from the end of @rank. */
static int axes_mask(const struct npu_host_call *call, uint32_t rank, uint32_t *mask,
		     struct npu_error *err)
{
	const struct npu_host_tensor *list = npu_host_in(call, 1);
	const int64_t *axes;
	uint32_t count, i;
	int64_t v;

	axes = npu_host_ints(call, "axes", &count);
	count = list ? (uint32_t)npu_host_elems(list) : count;
	for (*mask = 0, i = 0; i < count; i++) {
		v = list ? npu_host_get_int(list, i) : axes[i];
		if (!npu_host_index(&v, rank))
			return npu_host_fail(call, err, -EINVAL, "axis %u is not one of rank %u", i,
					     rank);
		*mask |= 1u << v;
	}
	return 0;
}

static int squeeze(const struct npu_host_call *call, bool add, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0];
	struct npu_host_tensor *out = &call->out[0];
	uint32_t longer = add ? out->rank : x->rank, d, to = 0, mask;
	int ret = axes_mask(call, longer, &mask, err);

	for (d = 0; d < x->rank && !mask && !add; d++)
		mask |= (x->dim[d] == 1 ? 1u : 0u) << d;
	for (d = 0; d < longer && !ret; d++) {
		if (!add && !(mask & 1u << d))
			ret = npu_host_set_dim(call, out, to++, x->dim[d], err);
		else if (add)
			ret = npu_host_set_dim(call, out, d,
					       mask & 1u << d ? 1
					       : to < x->rank ? x->dim[to++]
							      : 1,
					       err);
	}
	return ret ? ret : same_elements(call, err);
}

int npu_host_squeeze(const struct npu_host_call *call, struct npu_error *err)
{
	return squeeze(call, false, err);
}

int npu_host_unsqueeze(const struct npu_host_call *call, struct npu_error *err)
{
	return squeeze(call, true, err);
}
