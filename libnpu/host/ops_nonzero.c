// SPDX-License-Identifier: MIT
/* NonZero: where elements are not zero, one column per element, in row-major order. */
#include <errno.h>

#include "host/dense.h"

int npu_host_nonzero(const struct npu_host_call *call, struct npu_error *err)
{
	int64_t n, found = 0, at = 0, i, rest, dim[2], *to;
	const struct npu_host_tensor *in;
	uint32_t d, rank;
	int ret = npu_host_check(call, 1, 1, 1, err);

	if (ret || !npu_host_out(call, 0))
		return ret;
	in = &call->in[0];
	n = npu_host_elems(in);
	rank = in->rank ? in->rank : 1;
	for (i = 0; i < n; i++) {
		if (NPU_HOST_NOW_AND_THEN(i, call, err))
			return -ECANCELED;
		found += npu_host_get(in, i) != 0;
	}
	dim[0] = rank;
	dim[1] = found;
	ret = npu_host_shape(call, 0, NPU_I64, 2, dim, err);
	if (ret)
		return ret;
	to = call->out[0].data;
	for (i = 0; i < n; i++) {
		if (NPU_HOST_NOW_AND_THEN(i, call, err))
			return -ECANCELED;
		if (npu_host_get(in, i) == 0)
			continue;
		for (d = rank, rest = i; d-- > 0; rest /= in->rank ? in->dim[d] : 1)
			to[d * found + at] = in->rank ? rest % in->dim[d] : 0;
		at++;
	}
	return 0;
}
