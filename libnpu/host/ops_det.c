// SPDX-License-Identifier: MIT
/* Det: the determinant of each matrix of the last two dimensions. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "host/dense.h"

/*
 * By elimination with the largest pivot of each column; @a is overwritten. Stopped, any result will
 * do.
 */
static double determinant(const struct npu_host_call *call, double *a, int64_t n)
{
	double det = 1, t;
	int64_t k, r, c, best;

	for (k = 0; k < n; k++) {
		for (best = k, r = k + 1; r < n; r++)
			if (fabs(a[r * n + k]) > fabs(a[best * n + k]))
				best = r;
		if (a[best * n + k] == 0)
			return 0;
		for (c = 0; c < n && best != k; c++) {
			t = a[k * n + c];
			a[k * n + c] = a[best * n + c];
			a[best * n + c] = t;
		}
		det *= best != k ? -a[k * n + k] : a[k * n + k];
		for (r = k + 1; r < n && !npu_host_stopped(call); r++) {
			t = a[r * n + k] / a[k * n + k];
			for (c = k; c < n; c++)
				a[r * n + c] -= t * a[k * n + c];
		}
	}
	return det;
}

int npu_host_det(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *in;
	int64_t n, count, i, k;
	double *a;
	int ret = npu_host_check(call, 1, 1, 1, err);

	if (ret || !npu_host_out(call, 0))
		return ret;
	in = &call->in[0];
	if (in->dtype != NPU_F32 && in->dtype != NPU_HOST_F64)
		return npu_host_bad_type(call, in, err);
	if (in->rank < 2 || in->dim[in->rank - 1] != in->dim[in->rank - 2])
		return npu_host_fail(call, err, -EINVAL, "the matrices are not square");
	ret = npu_host_shape(call, 0, in->dtype, in->rank - 2, in->dim, err);
	if (ret)
		return ret;
	n = in->dim[in->rank - 1];
	count = npu_host_elems(&call->out[0]);
	a = calloc((size_t)(n * n) + 1, sizeof(*a));
	if (!a)
		return npu_host_fail(call, err, -ENOMEM, "no memory for a matrix of %lld",
				     (long long)n);
	for (i = 0; i < count && !ret; i++) {
		ret = npu_host_poll(call, err);
		for (k = 0; k < n * n; k++)
			a[k] = npu_host_get(in, i * n * n + k);
		npu_host_set(&call->out[0], i, determinant(call, a, n));
	}
	free(a);
	return ret;
}
