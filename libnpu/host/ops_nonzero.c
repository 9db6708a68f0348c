// SPDX-License-Identifier: MIT
/* NonZero: where elements are not zero, one column per element, in row-major order. */
#include <string.h>
#include "host/host.h"

int npu_host_nonzero(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *in = &call->in[0];
	struct npu_host_tensor *out = &call->out[0];
	int64_t n = npu_host_elems(in), found = 0, *to = out->data, at = 0, i, rest;
	uint32_t d, rank = in->rank ? in->rank : 1;

	for (i = 0; i < n; i++)
		found += npu_host_get(in, i) != 0;
	for (i = 0; i < n; i++) {
		if (npu_host_get(in, i) == 0)
			continue;
		for (d = rank, rest = i; d-- > 0; rest /= in->rank ? in->dim[d] : 1)
			to[d * found + at] = in->rank ? rest % in->dim[d] : 0;
		at++;
	}
	out->dim[out->rank - 1] = found;
	return 0;
}
