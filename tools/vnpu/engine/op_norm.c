// SPDX-License-Identifier: MIT
/* NORM: rows of the last dimension, each read once when it fits the buffer, else once per pass. */
#include <stdint.h>
#include "npu_math.h"
#include "reduce.h"

#define ROW	4096u

struct norm {
	const struct npu_vec *vec;
	struct npu_elem oe, ie, ae, se, ge, be;
	const char *in, *addend, *gamma, *beta;
	char *out, *sum;
	const struct npu_operand *op[NPU_NORM_NUM_SLOTS];
	npu_u64 num_rows, len;
	bool rms;
	float eps;
};

/* Byte offset of row @row in an operand with in's dims. */
static npu_s64 row_offset(const struct npu_operand *op, npu_u64 row)
{
	npu_s64 off = 0;
	int d;

	for (d = op->rank - 2; d >= 0; d--) {
		off += (npu_s64)(row % op->dim[d]) * op->stride[d];
		row /= op->dim[d];
	}
	return off;
}

static void load_line(const struct norm *w, float *v, const struct npu_elem *e, const char *p,
		      npu_s64 step, npu_u64 i, size_t n)
{
	w->vec->load(v, e, &(struct npu_patch){
		.p = (char *)p + (npu_s64)i * step, .col = step, .rows = 1, .cols = (npu_u32)n });
}

static npu_s64 last_stride(const struct npu_operand *op)
{
	return op->stride[op->rank - 1];
}

/* x = in (+ addend) of elements [i, i + n) of a row. @t: scratch. */
static void load_x(const struct norm *w, float *v, float *t, npu_u64 row, npu_u64 i, size_t n)
{
	const struct npu_operand *in = w->op[NPU_NORM_IN], *add = w->op[NPU_NORM_ADDEND];

	load_line(w, v, &w->ie, w->in + row_offset(in, row), last_stride(in), i, n);
	if (w->addend) {
		load_line(w, t, &w->ae, w->addend + row_offset(add, row), last_stride(add), i, n);
		w->vec->binary(v, t, n, NPU_BINARY_ADD);
	}
}

static void store_line(const struct norm *w, const float *v, const struct npu_operand *op,
		       const struct npu_elem *e, char *p, npu_u64 row, npu_u64 i, size_t n)
{
	npu_s64 step = last_stride(op);

	w->vec->store(v, e,
		      &(struct npu_patch){ .p = p + row_offset(op, row) + (npu_s64)i * step,
					   .col = step,
					   .rows = 1,
					   .cols = (npu_u32)n });
}

/* A block of gamma or beta, in place where it is f32 and dense. */
static const float *vector_block(const struct norm *w, unsigned int slot, const struct npu_elem *e,
				 const char *base, npu_u64 i, size_t n, float *buf)
{
	npu_s64 step = w->op[slot]->stride[0];

	if (!base)
		return NULL;
	if (e->dtype == NPU_F32 && step == 4 && !((uintptr_t)base & 3))
		return (const float *)base + i;
	load_line(w, buf, e, base, step, i, n);
	return buf;
}

/* y of one block to out. */
static void finish_block(const struct norm *w, float *v, npu_u64 row, npu_u64 i, size_t n,
			 float mul)
{
	float g[NPU_BLOCK], b[NPU_BLOCK];

	w->vec->affine(v, mul, vector_block(w, NPU_NORM_GAMMA, &w->ge, w->gamma, i, n, g),
		       vector_block(w, NPU_NORM_BETA, &w->be, w->beta, i, n, b), n);
	store_line(w, v, w->op[NPU_NORM_OUT], &w->oe, w->out, row, i, n);
}

/* One row; @buf holds all of it when @len <= ROW, else a block of it at a time. */
static void norm_row(const struct npu_exec *x, const struct norm *w, npu_u64 row, float *buf)
{
	bool whole = w->len <= ROW;
	float lane[16] = { 0 }, t[NPU_BLOCK], mean = 0, var, mul, *v;
	npu_u64 i, n;

#define EACH_BLOCK										\
	for (i = 0; n = w->len - i < NPU_BLOCK ? w->len - i : NPU_BLOCK,			\
	     v = whole ? buf + i : buf,								\
	     i < w->len && (whole || !npu_exec_stopped(x)); i += n)
	EACH_BLOCK {
		load_x(w, v, t, row, i, n);
		if (!w->rms)
			w->vec->fold16(lane, v, n, NPU_FOLD_SUM);
	}
	if (!w->rms)
		mean = npu_lanes_join(lane, NPU_FOLD_SUM) / (float)w->len;
	memset(lane, 0, sizeof(lane));
	EACH_BLOCK {
		if (!whole)
			load_x(w, v, t, row, i, n);
		if (w->sum)
			store_line(w, v, w->op[NPU_NORM_SUM], &w->se, w->sum, row, i, n);
		if (!w->rms)
			w->vec->add(v, n, -mean);
		w->vec->fold16(lane, v, n, NPU_FOLD_SQUARE);
	}
	var = npu_lanes_join(lane, NPU_FOLD_SUM) / (float)w->len;
	mul = 1.0f / __builtin_sqrtf(var + w->eps);
	EACH_BLOCK {
		if (!whole) {
			load_x(w, v, t, row, i, n);
			if (!w->rms)
				w->vec->add(v, n, -mean);
		}
		finish_block(w, v, row, i, n, mul);
	}
#undef EACH_BLOCK
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	float buf[ROW];

	for (; begin < end; begin++)
		norm_row(x, arg, begin, buf);
}

int npu_op_norm(struct npu_exec *x)
{
	const struct npu_operand *op = x->operand;
	struct norm w = {
		.vec = npu_vec_get(x->simd),
		.oe = npu_elem_of(&op[NPU_NORM_OUT]),
		.ie = npu_elem_of(&op[NPU_NORM_IN]),
		.ae = npu_elem_of(&op[NPU_NORM_ADDEND]),
		.se = npu_elem_of(&op[NPU_NORM_SUM]),
		.ge = npu_elem_of(&op[NPU_NORM_GAMMA]),
		.be = npu_elem_of(&op[NPU_NORM_BETA]),
		.in = x->ptr[NPU_NORM_IN],
		.addend = x->ptr[NPU_NORM_ADDEND],
		.gamma = x->ptr[NPU_NORM_GAMMA],
		.beta = x->ptr[NPU_NORM_BETA],
		.out = x->ptr[NPU_NORM_OUT],
		.sum = x->ptr[NPU_NORM_SUM],
		.rms = x->param[NPU_NORM_P_KIND] == NPU_NORM_RMS,
		.eps = npu_exec_param_f32(x, NPU_NORM_P_EPS),
		.num_rows = 1,
	};
	unsigned int d, i;

	for (i = 0; i < NPU_NORM_NUM_SLOTS; i++)
		w.op[i] = &op[i];
	for (d = 0; d + 1 < op[NPU_NORM_IN].rank; d++)
		w.num_rows *= op[NPU_NORM_IN].dim[d];
	w.len = op[NPU_NORM_IN].dim[d];
	npu_exec_path(x, last_stride(&op[NPU_NORM_IN]) == w.ie.size ? NPU_PATH_NORM_FAST :
								      NPU_PATH_NORM_GENERIC);
	return npu_exec_parallel(x, w.num_rows, 100 + 0.5 * (double)w.len, run, &w);
}
