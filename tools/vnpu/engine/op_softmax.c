// SPDX-License-Identifier: MIT
/*
 * SOFTMAX: maximum, sum of exponentials in 16 lanes, quotient. Exponentials are computed again in
 * the last pass when the row does not fit the buffer; they are the same. Along the axis when it is
 * dense, else across many rows side by side, as in op_reduce.c.
 */
#include "npu_math.h"
#include "reduce.h"

#define LOG2E	1.44269504f
#define ROW	4096u	/* elements of a row that is kept as f32 */
#define ACROSS	64u

struct softmax {
	const struct npu_vec *vec;
	struct npu_elem oe, ie;
	const char *in;
	char *out;
	struct npu_axes rows;
	npu_u64 len;			/* of the axis */
	npu_s64 in_step, out_step;
	npu_u64 width, width_tiles;	/* across: the dimension beside the rows */
	npu_s64 width_in, width_out;
	bool log;
};

static void load_part(const struct softmax *w, float *v, const char *in, npu_u64 i, size_t n)
{
	w->vec->load(v, &w->ie,
		     &(struct npu_patch){ .p = (char *)in + (npu_s64)i * w->in_step,
					  .col = w->in_step,
					  .rows = 1,
					  .cols = (npu_u32)n });
}

/* The last pass over one block: v holds inputs, or the exponentials when @have_exp. */
static void finish_part(const struct softmax *w, float *v, char *out, npu_u64 i, size_t n,
			float max, float sum, bool have_exp)
{
	if (w->log) {
		w->vec->add(v, n, -max);
		w->vec->add(v, n, -npu_log_f32(sum));
	} else {
		if (!have_exp)
			w->vec->exp2_scaled(v, n, max, LOG2E);
		w->vec->div(v, n, sum);
	}
	w->vec->store(v, &w->oe,
		      &(struct npu_patch){ .p = out + (npu_s64)i * w->out_step,
					   .col = w->out_step,
					   .rows = 1,
					   .cols = (npu_u32)n });
}

static void row_short(const struct softmax *w, const char *in, char *out)
{
	float v[ROW], e[NPU_BLOCK], max[16], sum[16] = { 0 }, m, s;
	size_t n = w->len, i, k;

	for (i = 0; i < 16; i++)
		max[i] = -__builtin_inff();
	load_part(w, v, in, 0, n);
	w->vec->fold16(max, v, n, NPU_FOLD_MAX);
	m = npu_lanes_join(max, NPU_FOLD_MAX);
	for (i = 0; i < n; i += k) {
		float *p = v + i;

		k = n - i < NPU_BLOCK ? n - i : NPU_BLOCK;
		if (w->log)
			p = memcpy(e, p, k * sizeof(*e));
		w->vec->exp2_scaled(p, k, m, LOG2E);
		w->vec->fold16(sum, p, k, NPU_FOLD_SUM);
	}
	s = npu_lanes_join(sum, NPU_FOLD_SUM);
	finish_part(w, v, out, 0, n, m, s, true);
}

static void row_long(const struct npu_exec *x, const struct softmax *w, const char *in, char *out)
{
	float v[NPU_BLOCK], max[16], sum[16] = { 0 }, m, s;
	npu_u64 i, n;

	for (i = 0; i < 16; i++)
		max[i] = -__builtin_inff();
#define BLOCKS for (i = 0; i < w->len && !npu_exec_stopped(x); i += n)
	BLOCKS {
		n = w->len - i < NPU_BLOCK ? w->len - i : NPU_BLOCK;
		load_part(w, v, in, i, n);
		w->vec->fold16(max, v, n, NPU_FOLD_MAX);
	}
	m = npu_lanes_join(max, NPU_FOLD_MAX);
	BLOCKS {
		n = w->len - i < NPU_BLOCK ? w->len - i : NPU_BLOCK;
		load_part(w, v, in, i, n);
		w->vec->exp2_scaled(v, n, m, LOG2E);
		w->vec->fold16(sum, v, n, NPU_FOLD_SUM);
	}
	s = npu_lanes_join(sum, NPU_FOLD_SUM);
	BLOCKS {
		n = w->len - i < NPU_BLOCK ? w->len - i : NPU_BLOCK;
		load_part(w, v, in, i, n);
		finish_part(w, v, out, i, n, m, s, false);
	}
#undef BLOCKS
}

static void run_along(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		      npu_u64 end)
{
	const struct softmax *w = arg;

	for (; begin < end; begin++) {
		npu_s64 oo, io = npu_axes_offset(&w->rows, begin, &oo);

		if (w->len <= ROW)
			row_short(w, w->in + io, w->out + oo);
		else
			row_long(x, w, w->in + io, w->out + oo);
	}
}

static void load_across(const struct softmax *w, float *v, const char *in, npu_u64 i, npu_u32 rows,
			npu_u32 cols)
{
	w->vec->load(v, &w->ie,
		     &(struct npu_patch){ .p = (char *)in + (npu_s64)i * w->in_step,
					  .row = w->in_step,
					  .col = w->width_in,
					  .rows = rows,
					  .cols = cols });
}

/* @cols rows side by side. */
static void softmax_across(const struct npu_exec *x, const struct softmax *w, const char *in,
			   char *out, npu_u32 cols)
{
	float v[16 * ACROSS], acc[16 * ACROSS], max[ACROSS];
	npu_u64 i;
	npu_u32 j, n, half;

	for (j = 0; j < cols; j++)
		max[j] = -__builtin_inff();
	for (i = 0; i < w->len && !npu_exec_stopped(x); i++) {
		load_across(w, v, in, i, 1, cols);
		w->vec->fold(max, v, cols, NPU_FOLD_MAX);
	}
	memset(acc, 0, sizeof(acc));
	for (i = 0; i < w->len && !npu_exec_stopped(x); i += n) {
		n = w->len - i < 16 ? (npu_u32)(w->len - i) : 16;
		load_across(w, v, in, i, n, cols);
		for (j = 0; j < n; j++)
			w->vec->exp2_scaled_cols(v + (size_t)j * cols, max, cols, LOG2E);
		w->vec->fold(acc, v, (size_t)n * cols, NPU_FOLD_SUM);
	}
	for (half = 8; half; half >>= 1)
		w->vec->fold(acc, acc + (size_t)half * cols, (size_t)half * cols, NPU_FOLD_SUM);
	if (w->log)
		w->vec->unary(acc, cols, NPU_UNARY_LOG);
	for (i = 0; i < w->len && !npu_exec_stopped(x); i++) {
		load_across(w, v, in, i, 1, cols);
		if (w->log)
			w->vec->binary(v, max, cols, NPU_BINARY_SUB);
		else
			w->vec->exp2_scaled_cols(v, max, cols, LOG2E);
		w->vec->binary(v, acc, cols, w->log ? NPU_BINARY_SUB : NPU_BINARY_DIV);
		w->vec->store(v, &w->oe,
			      &(struct npu_patch){ .p = out + (npu_s64)i * w->out_step,
						   .col = w->width_out,
						   .rows = 1,
						   .cols = cols });
	}
}

static void run_across(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct softmax *w = arg;

	for (; begin < end; begin++) {
		npu_u64 c = begin % w->width_tiles * ACROSS;
		npu_s64 oo, io = npu_axes_offset(&w->rows, begin / w->width_tiles, &oo);

		softmax_across(x, w, w->in + io + (npu_s64)c * w->width_in,
			       w->out + oo + (npu_s64)c * w->width_out,
			       (npu_u32)(w->width - c < ACROSS ? w->width - c : ACROSS));
	}
}

/* The dimension to go across: the densest one, if it is denser than the axis. */
static int find_width(const struct npu_operand *in, int axis)
{
	int d, best = -1;

	for (d = 0; d < in->rank; d++)
		if (d != axis && in->dim[d] > 1 && in->stride[d] < in->stride[axis] &&
		    (best < 0 || in->stride[d] <= in->stride[best]))
			best = d;
	return in->dim[axis] > 1 ? best : -1;
}

int npu_op_softmax(struct npu_exec *x)
{
	const struct npu_operand *in = &x->operand[NPU_SOFTMAX_IN],
				 *out = &x->operand[NPU_SOFTMAX_OUT];
	int axis = (int)x->param[NPU_SOFTMAX_P_AXIS], wide = find_width(in, axis), d;
	struct softmax w = {
		.vec = npu_vec_get(x->simd),
		.oe = npu_elem_of(out),
		.ie = npu_elem_of(in),
		.in = x->ptr[NPU_SOFTMAX_IN],
		.out = x->ptr[NPU_SOFTMAX_OUT],
		.len = in->dim[axis],
		.in_step = in->stride[axis],
		.out_step = out->stride[axis],
		.log = x->param[NPU_SOFTMAX_P_LOG],
	};
	double ns = 100 + (double)w.len * (w.log ? 0.6 : 0.5);

	npu_axes_add(&w.rows, 1, 0, 0);
	for (d = 0; d < in->rank; d++)
		if (d != axis && d != wide)
			npu_axes_add(&w.rows, in->dim[d], in->stride[d], out->stride[d]);
	npu_exec_path(x, wide >= 0 || w.in_step == w.ie.size ? NPU_PATH_SOFTMAX_FAST :
							       NPU_PATH_SOFTMAX_GENERIC);
	if (wide < 0)
		return npu_exec_parallel(x, w.rows.count, ns, run_along, &w);
	w.width = in->dim[wide];
	w.width_in = in->stride[wide];
	w.width_out = out->stride[wide];
	w.width_tiles = (w.width + ACROSS - 1) / ACROSS;
	return npu_exec_parallel(x, w.rows.count * w.width_tiles,
				 ns * (double)(w.width < ACROSS ? w.width : ACROSS), run_across,
				 &w);
}
