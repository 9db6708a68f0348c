// SPDX-License-Identifier: MIT
/* IOTA: start + index * step along one axis, in i64 for plain integers, else by one fma in f32. */
#include "npu_math.h"
#include "reduce.h"

struct iota {
	const struct npu_vec *vec;
	struct npu_elem elem;
	char *out;
	struct npu_axes lines;
	npu_u64 len;
	npu_s64 step_bytes;
	float start, step;
	bool as_int;
};

static void line(const struct npu_exec *x, const struct iota *w, char *p)
{
	npu_s64 v[NPU_BLOCK];
	float f[NPU_BLOCK];
	npu_u64 i, k, n;

	for (i = 0; i < w->len && !npu_exec_stopped(x); i += n) {
		struct npu_patch d = { .p = p + (npu_s64)i * w->step_bytes,
				       .col = w->step_bytes,
				       .rows = 1 };

		n = w->len - i < NPU_BLOCK ? w->len - i : NPU_BLOCK;
		d.cols = (npu_u32)n;
		for (k = 0; k < n; k++) {
			v[k] = (npu_s64)((npu_u64)(npu_s64)w->start +
					 (i + k) * (npu_u64)(npu_s64)w->step);
			f[k] = npu_fma_f32((float)(i + k), w->step, w->start);
		}
		if (w->as_int)
			w->vec->store_int(v, &w->elem, &d);
		else
			w->vec->store(f, &w->elem, &d);
	}
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct iota *w = arg;

	for (; begin < end; begin++)
		line(x, w, w->out + npu_axes_offset(&w->lines, begin, NULL));
}

int npu_op_iota(struct npu_exec *x)
{
	const struct npu_operand *out = &x->operand[NPU_IOTA_OUT];
	unsigned int axis = x->param[NPU_IOTA_P_AXIS], d;
	struct iota w = {
		.vec = npu_vec_get(x->simd),
		.elem = npu_elem_of(out),
		.out = x->ptr[NPU_IOTA_OUT],
		.len = out->dim[axis],
		.step_bytes = out->stride[axis],
		.start = npu_exec_param_f32(x, NPU_IOTA_P_START),
		.step = npu_exec_param_f32(x, NPU_IOTA_P_STEP),
	};

	w.as_int = npu_elem_plain_int(&w.elem);
	if (w.as_int && !(npu_abs_f32(w.start) < 0x1p62f && npu_abs_f32(w.step) < 0x1p62f))
		return npu_exec_fault(x, 0, NPU_FAULT_PARAM, ~0u, NPU_IOTA_P_START, 0,
				      "iota: start or step is beyond 2^62 for an integer output");
	npu_axes_add(&w.lines, 1, 0, 0);
	for (d = 0; d < out->rank; d++)
		if (d != axis)
			npu_axes_add(&w.lines, out->dim[d], out->stride[d], 0);
	return npu_exec_parallel(x, w.lines.count, 20 + (double)w.len, run, &w);
}
