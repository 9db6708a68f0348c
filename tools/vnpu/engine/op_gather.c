// SPDX-License-Identifier: MIT
/* GATHER of plain rows. */
#include "index.h"
#include "iter.h"
#include "raw.h"

struct gather {
	const struct npu_vec *vec;
	const struct npu_operand *out, *in;
	struct npu_elem oe, ie;
	char *op;
	const char *ip;
	const npu_s64 *index;
	bool raw, as_int;
};

/* The inner elements of one row, by blocks when they are converted. */
static void move_row(const struct gather *w, char *dst, const char *src)
{
	npu_s64 ds = w->out->stride[2], ss = w->in->stride[2];
	npu_u64 n, i, inner = w->out->dim[2];
	float f[NPU_BLOCK];
	npu_s64 v[NPU_BLOCK];

	if (w->raw) {
		npu_raw_line(dst, ds, src, ss, inner, w->oe.size);
		return;
	}
	for (i = 0; i < inner; i += n) {
		struct npu_patch s = { .p = (char *)src + (npu_s64)i * ss, .col = ss, .rows = 1 };
		struct npu_patch d = { .p = dst + (npu_s64)i * ds, .col = ds, .rows = 1 };

		n = inner - i < NPU_BLOCK ? inner - i : NPU_BLOCK;
		s.cols = d.cols = (npu_u32)n;
		if (w->as_int) {
			w->vec->load_int(v, &w->ie, &s);
			w->vec->store_int(v, &w->oe, &d);
		} else {
			w->vec->load(f, &w->ie, &s);
			w->vec->store(f, &w->oe, &d);
		}
	}
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct gather *w = arg;
	npu_u64 count = w->out->dim[1];

	for (; begin < end; begin++) {
		npu_s64 o = (npu_s64)(begin / count), i = (npu_s64)(begin % count);

		move_row(w, w->op + o * w->out->stride[0] + i * w->out->stride[1],
			 w->ip + o * w->in->stride[0] + w->index[i] * w->in->stride[1]);
	}
}

int npu_op_gather(struct npu_exec *x)
{
	const struct npu_operand *out = &x->operand[NPU_GATHER_OUT], *in = &x->operand[NPU_GATHER_IN];
	struct gather w = {
		.vec = npu_vec_get(x->simd), .out = out, .in = in, .oe = npu_elem_of(out), .ie = npu_elem_of(in),
		.op = x->ptr[NPU_GATHER_OUT], .ip = x->ptr[NPU_GATHER_IN],
	};
	int ret;

	if (x->param[NPU_GATHER_P_GROUP])
		return npu_exec_fault(x, 0, NPU_FAULT_OPERAND, NPU_GATHER_IN, NPU_GATHER_P_GROUP,
				      x->param[NPU_GATHER_P_GROUP], "gather: this engine has no rows of group-quantized data");
	ret = npu_index_copy(x, NPU_GATHER_INDEX, in->dim[1], false);
	if (ret)
		return ret;
	w.index = npu_exec_shared(x);
	w.raw = npu_elem_same_code(&w.oe, &w.ie);
	w.as_int = npu_elem_plain_int(&w.oe) && npu_elem_plain_int(&w.ie);
	npu_exec_path(x, w.raw ? NPU_PATH_GATHER_ROWS : NPU_PATH_GATHER_GENERIC);
	return npu_exec_parallel(x, (npu_u64)out->dim[0] * out->dim[1], 15 + out->dim[2] * (w.raw ? 0.2 : 0.6), run, &w);
}
