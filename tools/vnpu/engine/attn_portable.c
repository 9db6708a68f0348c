// SPDX-License-Identifier: MIT
#include "vf_portable.h"
#include "attn_elem.h"

#define ROWS(X)	X(1) X(2)
#define KEYS	1

/* One key. */
INLINE void dots_keys(float *out, ptrdiff_t step, const float *q, npu_u32 depth,
		      const struct npu_attn_run *k, npu_u32 j, npu_u32 left,
		      enum npu_attn_type type, unsigned int rows)
{
	vf acc[ATTN_MAX_ROWS][2], scale = type == ATTN_I8 ? vf_bcast(k->scale + j) : vf_zero(), v;
	const char *p = k->p + (ptrdiff_t)j * k->step;
	unsigned int r, i, half;
	npu_u32 d;

	(void)left;
	for (r = 0; r < rows; r++)
		acc[r][0] = acc[r][1] = vf_zero();
	for (d = 0; d < depth; d += VL) {
		v = elem_load(p + (size_t)d * elem_size(type), type, k->zero, scale);
		for (r = 0; r < rows; r++)
			acc[r][d / VL % 2] = vf_fma(vf_load(q + (size_t)r * depth + d), v,
						    acc[r][d / VL % 2]);
	}
	for (r = 0; r < rows; r++) {
		v = vf_add(acc[r][0], acc[r][1]);
		for (half = VL / 2; half; half >>= 1)
			for (i = 0; i < half; i++)
				v.f[i] += v.f[i + half];
		out[(ptrdiff_t)r * step] = v.f[0];
	}
}

#include "attn_plain.h"
#include "attn_impl.h"

const struct npu_attn npu_attn_portable = { ATTN_KERNELS, .ns = 2.0 };
