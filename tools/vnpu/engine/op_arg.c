// SPDX-License-Identifier: MIT
/* ARG_REDUCE: the best of each block first; only a block that improves on it is searched. */
#include "npu_math.h"
#include "reduce.h"

struct arg {
	const struct npu_vec *vec;
	struct npu_elem oe, ie;
	const char *in;
	char *out;
	struct npu_axes lines;
	npu_u64 len;
	npu_s64 step;
	bool min, last;
};

static struct npu_patch part(const struct arg *w, const char *in, npu_u64 i, npu_u64 n)
{
	return (struct npu_patch){ .p = (char *)in + (npu_s64)i * w->step,
				   .col = w->step,
				   .rows = 1,
				   .cols = (npu_u32)n };
}

/* Whether a block whose best is @m has the answer, given the @best so far. NaN beats everything. */
static bool improves(const struct arg *w, float m, float best)
{
	if (m != m || best != best)
		return m != m && (best == best || w->last);
	if (m == best)
		return w->last;
	return w->min ? m < best : m > best;
}

static npu_s64 find_float(const struct npu_exec *x, const struct arg *w, const char *in)
{
	enum npu_fold_kind kind = w->min ? NPU_FOLD_MIN : NPU_FOLD_MAX;
	float v[NPU_BLOCK], lane[16], best = 0, m;
	npu_s64 at = -1;
	npu_u64 i, n, k;

	for (i = 0; i < w->len && !npu_exec_stopped(x); i += n) {
		struct npu_patch p = part(w, in, i,
					  w->len - i < NPU_BLOCK ? w->len - i : NPU_BLOCK);

		n = p.cols;
		w->vec->load(v, &w->ie, &p);
		for (k = 0; k < 16; k++)
			lane[k] = npu_fold_start(kind);
		w->vec->fold16(lane, v, n, kind);
		m = npu_lanes_join(lane, kind);
		if (at >= 0 && !improves(w, m, best))
			continue;
		best = m;
		for (k = 0; k < n; k++) {
			npu_u64 j = w->last ? n - 1 - k : k;

			if (v[j] == m || (v[j] != v[j] && m != m)) {
				at = (npu_s64)(i + j);
				break;
			}
		}
	}
	return at;
}

static npu_s64 find_int(const struct npu_exec *x, const struct arg *w, const char *in)
{
	npu_s64 v[NPU_BLOCK], best = 0, at = -1;
	npu_u64 i, n, k;

	for (i = 0; i < w->len && !npu_exec_stopped(x); i += n) {
		struct npu_patch p = part(w, in, i,
					  w->len - i < NPU_BLOCK ? w->len - i : NPU_BLOCK);

		n = p.cols;
		w->vec->load_int(v, &w->ie, &p);
		for (k = 0; k < n; k++) {
			if (at >= 0 && !(w->min ? v[k] < best : v[k] > best) &&
			    !(w->last && v[k] == best))
				continue;
			best = v[k];
			at = (npu_s64)(i + k);
		}
	}
	return at;
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct arg *w = arg;

	for (; begin < end; begin++) {
		npu_s64 oo, io = npu_axes_offset(&w->lines, begin, &oo), at;

		at = npu_elem_plain_int(&w->ie) ? find_int(x, w, w->in + io) :
						  find_float(x, w, w->in + io);
		w->vec->store_int(&at, &w->oe,
				  &(struct npu_patch){ .p = w->out + oo, .rows = 1, .cols = 1 });
	}
}

int npu_op_arg_reduce(struct npu_exec *x)
{
	const struct npu_operand *in = &x->operand[NPU_ARG_REDUCE_IN],
				 *out = &x->operand[NPU_ARG_REDUCE_OUT];
	unsigned int axis = x->param[NPU_ARG_REDUCE_P_AXIS], d;
	struct arg w = {
		.vec = npu_vec_get(x->simd),
		.oe = npu_elem_of(out),
		.ie = npu_elem_of(in),
		.in = x->ptr[NPU_ARG_REDUCE_IN],
		.out = x->ptr[NPU_ARG_REDUCE_OUT],
		.len = in->dim[axis],
		.step = in->stride[axis],
		.min = x->param[NPU_ARG_REDUCE_P_IS_MIN],
		.last = x->param[NPU_ARG_REDUCE_P_LAST],
	};

	w.oe.scale = 0.0f;
	npu_axes_add(&w.lines, 1, 0, 0);
	for (d = 0; d < in->rank; d++)
		if (d != axis)
			npu_axes_add(&w.lines, in->dim[d], in->stride[d], out->stride[d]);
	return npu_exec_parallel(x, w.lines.count, 50 + 0.3 * (double)w.len, run, &w);
}
