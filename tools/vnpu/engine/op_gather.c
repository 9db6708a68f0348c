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
	npu_u64 first, count;		/* rows of this part */
	bool raw, as_int;
};

#define STRETCH	16384u	/* elements between looks at the stop flag */

static void convert(const struct gather *w, char *dst, const char *src, npu_u64 inner)
{
	npu_s64 ds = w->out->stride[2], ss = w->in->stride[2];
	float f[NPU_BLOCK];
	npu_s64 v[NPU_BLOCK];
	npu_u64 n, i;

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

/* The inner elements of one row, by blocks when they are converted. */
static void move_row(const struct npu_exec *x, const struct gather *w, char *dst, const char *src)
{
	npu_s64 ds = w->out->stride[2], ss = w->in->stride[2];
	npu_u64 n, i, inner = w->out->dim[2];

	for (i = 0; i < inner; i += n) {
		n = inner - i < STRETCH ? inner - i : STRETCH;
		if (i && npu_exec_stopped(x))
			return;
		if (w->raw)
			npu_raw_line(dst + (npu_s64)i * ds, ds, src + (npu_s64)i * ss, ss, n,
				     w->oe.size);
		else
			convert(w, dst + (npu_s64)i * ds, src + (npu_s64)i * ss, n);
	}
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct gather *w = arg;

	for (; begin < end; begin++) {
		npu_s64 o = (npu_s64)(begin / w->count), i = (npu_s64)(begin % w->count);

		move_row(x, w,
			 w->op + o * w->out->stride[0] +
				 ((npu_s64)w->first + i) * w->out->stride[1],
			 w->ip + o * w->in->stride[0] + w->index[i] * w->in->stride[1]);
	}
}

int npu_op_gather(struct npu_exec *x)
{
	const struct npu_operand *out = &x->operand[NPU_GATHER_OUT],
				 *in = &x->operand[NPU_GATHER_IN];
	struct gather w = {
		.vec = npu_vec_get(x->simd),
		.out = out,
		.in = in,
		.oe = npu_elem_of(out),
		.ie = npu_elem_of(in),
		.op = x->ptr[NPU_GATHER_OUT],
		.ip = x->ptr[NPU_GATHER_IN],
	};
	int ret = 0;

	if (x->param[NPU_GATHER_P_GROUP])
		return npu_exec_fault(x, 0, NPU_FAULT_OPERAND, NPU_GATHER_IN, NPU_GATHER_P_GROUP,
				      x->param[NPU_GATHER_P_GROUP],
				      "gather: this engine has no rows of group-quantized data");
	w.raw = npu_elem_same_code(&w.oe, &w.ie);
	w.as_int = npu_elem_plain_int(&w.oe) && npu_elem_plain_int(&w.ie);
	npu_exec_path(x, w.raw ? NPU_PATH_GATHER_ROWS : NPU_PATH_GATHER_GENERIC);
	for (; !ret && w.first < out->dim[1]; w.first += w.count) {
		ret = npu_index_copy(x, NPU_GATHER_INDEX, w.first, in->dim[1], false);
		w.index = npu_exec_shared(x);
		w.count = out->dim[1] - w.first < NPU_INDEX_PART ? out->dim[1] - w.first :
								   NPU_INDEX_PART;
		if (!ret)
			ret = npu_exec_parallel(x, out->dim[0] * w.count,
						15 + out->dim[2] * (w.raw ? 0.2 : 0.6), run, &w);
	}
	return ret;
}
