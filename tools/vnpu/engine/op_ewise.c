// SPDX-License-Identifier: MIT
/*
 * EWISE1, EWISE2: a block of each input to f32 (or i64), the function, activation, scale and
 * offset, the store.
 */
#include "iter.h"
#include "ewise_int.h"

struct ewise {
	struct npu_iter it;
	const struct npu_vec *vec;
	unsigned int num_in;		/* operands 1 .. num_in of it are the inputs */
	unsigned int func;
	unsigned int act;
	unsigned int slope;		/* number of the operand with prelu's slopes, or 0 */
	float alpha, beta, mul, add;
	bool in_int, out_int;		/* computed, stored as plain integers */
};

/*
 * A block that is loaded again only when the tile looks at other memory: broadcast operands stay.
 */
struct cached {
	float *block;
	struct npu_patch at;
};

static const float *load_cached(const struct ewise *w, const struct npu_tile *t, unsigned int i,
				struct cached *c)
{
	const struct npu_patch *p = &t->patch[i];

	if (c->at.p != p->p || c->at.rows != p->rows || c->at.cols != p->cols) {
		w->vec->load(c->block, &w->it.op[i].elem, p);
		c->at = *p;
	}
	return c->block;
}

static void finish_float(const struct ewise *w, const struct npu_tile *t, float *v,
			 struct cached *slope)
{
	const float *s = w->slope ? load_cached(w, t, w->slope, slope) : NULL;

	if (w->act != NPU_ACT_NONE)
		w->vec->act(v, t->count, w->act, w->alpha, w->beta, s);
	if (w->mul != 1.0f || w->add != 0.0f)
		w->vec->muladd(v, t->count, w->mul, w->add);
	w->vec->store(v, &w->it.op[0].elem, &t->patch[0]);
}

static void run_float(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		      npu_u64 end)
{
	const struct ewise *w = arg;
	float v[NPU_BLOCK], b[NPU_BLOCK], s[NPU_BLOCK];
	struct cached second = { .block = b }, slope = { .block = s };
	struct npu_tile t;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		w->vec->load(v, &w->it.op[1].elem, &t.patch[1]);
		if (w->num_in == 2)
			w->vec->binary(v, load_cached(w, &t, 2, &second), t.count, w->func);
		else
			w->vec->unary(v, t.count, w->func);
		finish_float(w, &t, v, &slope);
	}
}

static void run_int(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct ewise *w = arg;
	npu_s64 v[NPU_BLOCK], b[NPU_BLOCK];
	float f[NPU_BLOCK], s[NPU_BLOCK];
	struct cached slope = { .block = s };
	struct npu_tile t;
	size_t i;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		w->vec->load_int(v, &w->it.op[1].elem, &t.patch[1]);
		if (w->num_in == 2) {
			w->vec->load_int(b, &w->it.op[2].elem, &t.patch[2]);
			npu_ewise_int_binary(v, b, t.count, w->func);
		} else {
			npu_ewise_int_unary(v, t.count, w->func);
		}
		if (w->out_int) {
			w->vec->store_int(v, &w->it.op[0].elem, &t.patch[0]);
			continue;
		}
		for (i = 0; i < t.count; i++)
			f[i] = (float)v[i];
		finish_float(w, &t, f, &slope);
	}
}

/* Estimated nanoseconds of one block. */
static double block_ns(const struct ewise *w)
{
	double ns = 120;

	if (w->in_int)
		ns += 400;
	if (w->num_in == 2 &&
	    (w->func == NPU_BINARY_POW || w->func == NPU_BINARY_MOD || w->func == NPU_BINARY_FMOD))
		ns += 3000;
	if (w->num_in == 1 && w->func != NPU_UNARY_COPY)
		ns += 300;
	if (w->act >= NPU_ACT_SIGMOID)
		ns += 400;
	return ns;
}

static bool is_fast(const struct ewise *w)
{
	const struct npu_iter *it = &w->it;
	unsigned int i;

	for (i = 0; i <= w->num_in; i++) {
		npu_s64 col = it->op[i].stride[it->rank - 1];

		if (col != (npu_s64)it->op[i].elem.size && (!i || col))
			return false;
	}
	return !w->in_int;
}

static int ewise_run(struct npu_exec *x, struct ewise *w)
{
	bool post;

	w->vec = npu_vec_get(x->simd);
	post = w->act != NPU_ACT_NONE || w->mul != 1.0f || w->add != 0.0f;
	w->out_int = w->in_int && !post && npu_elem_plain_int(&w->it.op[0].elem);
	npu_iter_finish(&w->it, NPU_BLOCK);
	npu_exec_path(x, is_fast(w) ? NPU_PATH_EWISE_FAST : NPU_PATH_EWISE_GENERIC);
	return npu_exec_parallel(x, w->it.num_tiles, block_ns(w), w->in_int ? run_int : run_float,
				 w);
}

static void add_slope(struct npu_exec *x, struct ewise *w, unsigned int slot)
{
	if (w->act == NPU_ACT_PRELU)
		w->slope = npu_iter_add_vector(&w->it, &x->operand[slot], x->ptr[slot],
					       w->it.rank ? w->it.rank - 1 : 0);
}

int npu_op_ewise1(struct npu_exec *x)
{
	struct ewise w = {
		.num_in = 1,
		.func = x->param[NPU_EWISE1_P_FUNC],
		.act = x->param[NPU_EWISE1_P_ACT],
		.alpha = npu_exec_param_f32(x, NPU_EWISE1_P_ACT_ALPHA),
		.beta = npu_exec_param_f32(x, NPU_EWISE1_P_ACT_BETA),
		.mul = npu_exec_param_f32(x, NPU_EWISE1_P_POST_MUL),
		.add = npu_exec_param_f32(x, NPU_EWISE1_P_POST_ADD),
	};

	npu_iter_begin(&w.it, &x->operand[NPU_EWISE1_OUT]);
	npu_iter_add(&w.it, &x->operand[NPU_EWISE1_OUT], x->ptr[NPU_EWISE1_OUT]);
	npu_iter_add(&w.it, &x->operand[NPU_EWISE1_IN], x->ptr[NPU_EWISE1_IN]);
	if (w.act == NPU_ACT_PRELU && !npu_exec_present(x, NPU_EWISE1_ACT_PARAM))
		return npu_exec_fault(x, 0, NPU_FAULT_OPERAND, NPU_EWISE1_ACT_PARAM, ~0u, 0,
				      "ewise1: act prelu needs the act_param operand");
	add_slope(x, &w, NPU_EWISE1_ACT_PARAM);
	w.in_int = npu_elem_plain_int(&w.it.op[1].elem) && npu_ewise_int_has_unary(w.func);
	if (!w.in_int && w.func == NPU_UNARY_BITNOT)
		return npu_exec_fault(x, 0, NPU_FAULT_OPERAND, NPU_EWISE1_IN, ~0u,
				      w.it.op[1].elem.dtype, "ewise1: bitnot wants plain integers");
	return ewise_run(x, &w);
}

int npu_op_ewise2(struct npu_exec *x)
{
	struct ewise w = {
		.num_in = 2,
		.func = x->param[NPU_EWISE2_P_FUNC],
		.act = x->param[NPU_EWISE2_P_ACT],
		.alpha = npu_exec_param_f32(x, NPU_EWISE2_P_ACT_ALPHA),
		.beta = npu_exec_param_f32(x, NPU_EWISE2_P_ACT_BETA),
		.mul = npu_exec_param_f32(x, NPU_EWISE2_P_POST_MUL),
		.add = npu_exec_param_f32(x, NPU_EWISE2_P_POST_ADD),
	};

	npu_iter_begin(&w.it, &x->operand[NPU_EWISE2_OUT]);
	npu_iter_add(&w.it, &x->operand[NPU_EWISE2_OUT], x->ptr[NPU_EWISE2_OUT]);
	npu_iter_add(&w.it, &x->operand[NPU_EWISE2_A], x->ptr[NPU_EWISE2_A]);
	npu_iter_add(&w.it, &x->operand[NPU_EWISE2_B], x->ptr[NPU_EWISE2_B]);
	if (w.act == NPU_ACT_PRELU && !npu_exec_present(x, NPU_EWISE2_ACT_PARAM))
		return npu_exec_fault(x, 0, NPU_FAULT_OPERAND, NPU_EWISE2_ACT_PARAM, ~0u, 0,
				      "ewise2: act prelu needs the act_param operand");
	add_slope(x, &w, NPU_EWISE2_ACT_PARAM);
	w.in_int = npu_elem_plain_int(&w.it.op[1].elem) && npu_elem_plain_int(&w.it.op[2].elem);
	if (!w.in_int && w.func >= NPU_BINARY_BITAND && w.func <= NPU_BINARY_SHR)
		return npu_exec_fault(x, 0, NPU_FAULT_OPERAND, NPU_EWISE2_A, ~0u,
				      w.it.op[1].elem.dtype, "ewise2: %s wants plain integers",
				      npu_binary_name(w.func));
	return ewise_run(x, &w);
}
