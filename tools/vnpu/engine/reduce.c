// SPDX-License-Identifier: MIT
#include "reduce.h"

void npu_axes_add(struct npu_axes *a, npu_u64 dim, npu_s64 stride, npu_s64 other)
{
	unsigned int last = a->rank - 1;

	a->count = (a->rank || a->count ? a->count : 1) * dim;
	if (dim == 1)
		return;
	if (a->rank && a->stride[last] == stride * (npu_s64)dim &&
	    a->other[last] == other * (npu_s64)dim) {
		a->dim[last] *= dim;
		a->stride[last] = stride;
		a->other[last] = other;
		return;
	}
	a->dim[a->rank] = dim;
	a->stride[a->rank] = stride;
	a->other[a->rank++] = other;
}

npu_s64 npu_axes_offset(const struct npu_axes *a, npu_u64 index, npu_s64 *other)
{
	npu_s64 off = 0, second = 0;
	unsigned int d;

	for (d = a->rank; d-- > 0; index /= a->dim[d]) {
		off += (npu_s64)(index % a->dim[d]) * a->stride[d];
		second += (npu_s64)(index % a->dim[d]) * a->other[d];
	}
	if (other)
		*other = second;
	return off;
}

void npu_axes_load(const struct npu_axes *a, const struct npu_vec *vec, const struct npu_elem *e,
		   const char *base, npu_u64 index, size_t n, float *dst)
{
	npu_u64 inner = a->rank ? a->dim[a->rank - 1] : 1;
	npu_s64 step = a->rank ? a->stride[a->rank - 1] : 0;

	while (n) {
		npu_u64 left = inner - index % inner;
		npu_u32 m = (npu_u32)(left < n ? left : n);
		struct npu_patch p = {
			.p = (char *)base + npu_axes_offset(a, index, NULL),
			.col = step,
			.rows = 1,
			.cols = m,
		};

		vec->load(dst, e, &p);
		dst += m;
		index += m;
		n -= m;
	}
}
