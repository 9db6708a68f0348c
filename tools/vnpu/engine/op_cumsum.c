// SPDX-License-Identifier: MIT
/* CUMSUM: each line in order, by blocks. */
#include "reduce.h"

struct cumsum {
	const struct npu_vec *vec;
	struct npu_elem oe, ie;
	const char *in;
	char *out;
	struct npu_axes lines;
	npu_u64 len;
	npu_s64 in_step, out_step;	/* negative from the end */
	bool exclusive, as_int;
};

static void line_float(const struct cumsum *w, const struct npu_patch *d, const struct npu_patch *s,
		       float *sum)
{
	float v[NPU_BLOCK], t;
	npu_u32 i;

	w->vec->load(v, &w->ie, s);
	for (i = 0; i < s->cols; i++) {
		t = *sum + v[i];
		v[i] = w->exclusive ? *sum : t;
		*sum = t;
	}
	w->vec->store(v, &w->oe, d);
}

static void line_int(const struct cumsum *w, const struct npu_patch *d, const struct npu_patch *s,
		     npu_u64 *sum)
{
	npu_s64 v[NPU_BLOCK];
	float f[NPU_BLOCK];
	npu_u64 t;
	npu_u32 i;

	w->vec->load_int(v, &w->ie, s);
	for (i = 0; i < s->cols; i++) {
		t = *sum + (npu_u64)v[i];
		v[i] = (npu_s64)(w->exclusive ? *sum : t);
		f[i] = (float)v[i];
		*sum = t;
	}
	if (npu_elem_plain_int(&w->oe))
		w->vec->store_int(v, &w->oe, d);
	else
		w->vec->store(f, &w->oe, d);
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct cumsum *w = arg;

	for (; begin < end; begin++) {
		npu_s64 oo, io = npu_axes_offset(&w->lines, begin, &oo);
		npu_u64 i, n, isum = 0;
		float fsum = 0;

		for (i = 0; i < w->len && !npu_exec_stopped(x); i += n) {
			struct npu_patch d = { .p = w->out + oo + (npu_s64)i * w->out_step,
					       .col = w->out_step,
					       .rows = 1 };
			struct npu_patch s = { .p = (char *)w->in + io + (npu_s64)i * w->in_step,
					       .col = w->in_step,
					       .rows = 1 };

			n = w->len - i < NPU_BLOCK ? w->len - i : NPU_BLOCK;
			d.cols = s.cols = (npu_u32)n;
			if (w->as_int)
				line_int(w, &d, &s, &isum);
			else
				line_float(w, &d, &s, &fsum);
		}
	}
}

int npu_op_cumsum(struct npu_exec *x)
{
	const struct npu_operand *in = &x->operand[NPU_CUMSUM_IN],
				 *out = &x->operand[NPU_CUMSUM_OUT];
	unsigned int axis = x->param[NPU_CUMSUM_P_AXIS], d;
	struct cumsum w = {
		.vec = npu_vec_get(x->simd),
		.oe = npu_elem_of(out),
		.ie = npu_elem_of(in),
		.in = x->ptr[NPU_CUMSUM_IN],
		.out = x->ptr[NPU_CUMSUM_OUT],
		.len = in->dim[axis],
		.in_step = in->stride[axis],
		.out_step = out->stride[axis],
		.exclusive = x->param[NPU_CUMSUM_P_EXCLUSIVE],
	};

	w.as_int = npu_elem_plain_int(&w.ie);
	if (x->param[NPU_CUMSUM_P_REVERSE]) {
		w.in += (npu_s64)(w.len - 1) * w.in_step;
		w.out += (npu_s64)(w.len - 1) * w.out_step;
		w.in_step = -w.in_step;
		w.out_step = -w.out_step;
	}
	npu_axes_add(&w.lines, 1, 0, 0);
	for (d = 0; d < in->rank; d++)
		if (d != axis)
			npu_axes_add(&w.lines, in->dim[d], in->stride[d], out->stride[d]);
	return npu_exec_parallel(x, w.lines.count, 20 + 1.5 * (double)w.len, run, &w);
}
