// SPDX-License-Identifier: MIT
/* Walking dense tensors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/dense.h"

void npu_host_strides(const struct npu_host_tensor *t, int64_t *stride)
{
	int64_t n = 1;
	uint32_t d;

	for (d = t->rank; d-- > 0; n *= t->dim[d])
		stride[d] = n;
}

int64_t npu_host_span(const struct npu_host_tensor *t, uint32_t from, uint32_t to)
{
	int64_t n = 1;
	uint32_t d;

	for (d = from; d < to; d++)
		n *= t->dim[d];
	return n;
}

int npu_host_broadcast(const struct npu_host_call *call, const struct npu_host_tensor *t,
		       const struct npu_host_tensor *out, int64_t *stride, struct npu_error *err)
{
	int64_t own[NPU_HOST_RANK];
	uint32_t d, skip = out->rank - t->rank;

	if (t->rank > out->rank)
		return npu_host_fail(call, err, -EINVAL, "'%s' has rank %u, the result %u", t->name,
				     t->rank, out->rank);
	npu_host_strides(t, own);
	for (d = 0; d < out->rank; d++) {
		stride[d] = 0;
		if (d < skip || t->dim[d - skip] == 1)
			continue;
		if (t->dim[d - skip] != out->dim[d])
			return npu_host_fail(call, err, -EINVAL,
					     "dimension %u of '%s' is %lld, the result has %lld",
					     d - skip, t->name, (long long)t->dim[d - skip],
					     (long long)out->dim[d]);
		stride[d] = own[d - skip];
	}
	return 0;
}

int npu_host_fit(const struct npu_host_call *call, struct npu_host_tensor *out,
		 struct npu_error *err)
{
	int64_t size[NPU_HOST_RANK];
	uint32_t i, d;
	int ret = 0;

	for (d = 0; d < out->rank; d++)
		size[d] = 1;
	for (i = 0; i < call->num_in; i++) {
		const struct npu_host_tensor *t = &call->in[i];

		if (t->present && t->rank > out->rank)
			return npu_host_fail(call, err, -EINVAL, "'%s' has rank %u, the result %u",
					     t->name, t->rank, out->rank);
		for (d = 0; t->present && d < t->rank; d++)
			if (t->dim[d] != 1)
				size[d + out->rank - t->rank] = t->dim[d];
	}
	for (d = 0; d < out->rank && !ret; d++)
		ret = npu_host_set_dim(call, out, d, size[d], err);
	return ret;
}

int npu_host_want_type(const struct npu_host_call *call, const struct npu_host_tensor *t,
		       uint32_t dtype, struct npu_error *err)
{
	if (t->dtype == dtype)
		return 0;
	return npu_host_fail(call, err, -EINVAL, "'%s' has the type %s, expected %s", t->name,
			     npu_host_dtype_name(t->dtype), npu_host_dtype_name(dtype));
}

int npu_host_want(const struct npu_host_call *call, struct npu_host_tensor *out, uint32_t dtype,
		  uint32_t rank, const int64_t *dim, struct npu_error *err)
{
	int ret = dtype ? npu_host_want_type(call, out, dtype, err) : 0;
	uint32_t d;

	if (!ret && out->rank != rank)
		ret = npu_host_fail(call, err, -EINVAL, "'%s' has rank %u, expected %u", out->name,
				    out->rank, rank);
	for (d = 0; d < rank && !ret; d++)
		ret = npu_host_set_dim(call, out, d, dim[d], err);
	return ret;
}

int npu_host_want_like(const struct npu_host_call *call, struct npu_host_tensor *out,
		       const struct npu_host_tensor *in, struct npu_error *err)
{
	return npu_host_want(call, out, in->dtype, in->rank, in->dim, err);
}

int npu_host_want_number(const struct npu_host_call *call, uint32_t i, struct npu_error *err)
{
	const struct npu_host_tensor *t = npu_host_in(call, i);

	return !t || npu_host_elems(t) > 0 ? 0 :
		npu_host_fail(call, err, -EINVAL, "'%s' is empty, expected a number", t->name);
}

int npu_host_set_dim(const struct npu_host_call *call, struct npu_host_tensor *out, uint32_t d,
		     int64_t size, struct npu_error *err)
{
	if (d >= out->rank || size < 0 || size > out->dim[d])
		return npu_host_fail(call, err, -EINVAL,
				     "the result's dimension %u is %lld, room is for %lld", d,
				     (long long)size, d < out->rank ? (long long)out->dim[d] : 0ll);
	out->dim[d] = size;
	return 0;
}

bool npu_host_next(uint32_t rank, const int64_t *dim, int64_t *index)
{
	uint32_t d;

	for (d = rank; d-- > 0;) {
		if (++index[d] < dim[d])
			return true;
		index[d] = 0;
	}
	return false;
}

int npu_host_axis(const struct npu_host_call *call, const char *name, int64_t def, uint32_t rank,
		  uint32_t *axis, struct npu_error *err)
{
	int64_t v = npu_host_int(call, name, def), value = v;

	if (!npu_host_index(&v, rank))
		return npu_host_fail(call, err, -EINVAL, "%s is %lld, expected %d to %d", name,
				     (long long)value, -(int)rank, (int)rank - 1);
	*axis = (uint32_t)v;
	return 0;
}

bool npu_host_same_shape(const struct npu_host_tensor *a, const struct npu_host_tensor *b)
{
	return a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0]));
}

bool npu_host_is_float(uint32_t dtype)
{
	return dtype == NPU_F32 || dtype == NPU_F16 || dtype == NPU_BF16 || dtype == NPU_HOST_F64;
}

bool npu_host_is_unsigned(uint32_t dtype)
{
	return dtype == NPU_U8 || dtype == NPU_BOOL || dtype == NPU_HOST_U16 ||
	       dtype == NPU_HOST_U32 || dtype == NPU_HOST_U64;
}

void *npu_host_alloc(const struct npu_host_call *call, int64_t count, size_t size,
		     struct npu_error *err)
{
	void *p = count < 0 ? NULL : calloc((size_t)count + 1, size);

	if (!p)
		npu_host_fail(call, err, -ENOMEM, "no memory for %lld elements of %zu bytes",
			      (long long)count, size);
	return p;
}

double *npu_host_doubles(const struct npu_host_call *call, const struct npu_host_tensor *t,
			 struct npu_error *err)
{
	int64_t n, i;
	double *v;

	if (!t)
		return NULL;
	n = npu_host_elems(t);
	v = npu_host_alloc(call, n, sizeof(*v), err);
	for (i = 0; v && i < n; i++) {
		if (NPU_HOST_NOW_AND_THEN(i, call, err)) {
			free(v);
			return NULL;
		}
		v[i] = npu_host_get(t, i);
	}
	return v;
}

int npu_host_poll(const struct npu_host_call *call, struct npu_error *err)
{
	return npu_host_stopped(call) ? npu_host_fail(call, err, -ECANCELED, "cancelled") : 0;
}

void npu_host_clear(struct npu_host_tensor *t)
{
	memset(t->data, 0, (size_t)npu_host_elems(t) * npu_host_dtype_size(t->dtype));
}
