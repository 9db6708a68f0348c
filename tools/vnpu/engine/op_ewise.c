// SPDX-License-Identifier: MIT
/*
 * EWISE1, EWISE2: a block of each input to f32 (or i64), the function, activation, scale and
 * offset, the store.
 */
#include "codes.h"
#include "ewise_int.h"

#define TABLE_MIN	2048u	/* elements that are worth a table */
#define CODES_BLOCK	4096u

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

/* Functions of many operations: cheaper to look up, one code at a time if need be. */
static bool is_long(const struct ewise *w)
{
	return (w->num_in == 1 && w->func != NPU_UNARY_COPY && w->func != NPU_UNARY_ABS &&
		w->func != NPU_UNARY_NEG && w->func != NPU_UNARY_SQUARE) ||
	       (w->act >= NPU_ACT_SIGMOID && w->act != NPU_ACT_HARD_SIGMOID &&
		w->act != NPU_ACT_HARD_SWISH);
}

static bool table_can(const struct ewise *w)
{
	const struct npu_iter *it = &w->it;
	npu_u64 n = 1;
	unsigned int d;

	if (w->num_in != 1 || w->slope || w->in_int || !npu_elem_is_code(&it->op[0].elem) ||
	    !npu_elem_is_code(&it->op[1].elem))
		return false;
	for (d = 0; d < it->rank; d++)
		n *= it->dim[d];
	return n >= TABLE_MIN && (w->vec->look_up_fast() || is_long(w));
}

static int table_run(struct npu_exec *x, struct ewise *w)
{
	struct npu_codes_table t = { .it = &w->it, .vec = w->vec };
	float v[256];

	npu_codes_table_values(&t, v);
	w->vec->unary(v, 256, w->func);
	if (w->act != NPU_ACT_NONE)
		w->vec->act(v, 256, w->act, w->alpha, w->beta, NULL);
	if (w->mul != 1.0f || w->add != 0.0f)
		w->vec->muladd(v, 256, w->mul, w->add);
	npu_codes_table_set(&t, v);
	return npu_codes_table_run(x, &t);
}

/* Two 8-bit operands to a third. */
struct binary {
	const struct npu_iter *it;
	const struct npu_vec *vec;
	struct npu_codes_binary f;
};

static bool bounds_of(const struct ewise *w, float *lo, float *hi)
{
	*lo = -__builtin_inff();
	*hi = __builtin_inff();
	switch (w->act) {
	case NPU_ACT_NONE:
		return true;
	case NPU_ACT_RELU:
		*lo = 0.0f;
		return true;
	case NPU_ACT_RELU6:
		*lo = 0.0f;
		*hi = 6.0f;
		return true;
	case NPU_ACT_CLIP:
		*lo = w->alpha;
		*hi = w->beta;
		return true;
	default:
		return false;
	}
}

static bool binary_can(const struct ewise *w, struct binary *b)
{
	const struct npu_iter *it = &w->it;
	npu_s64 col = it->op[2].stride[it->rank - 1];
	unsigned int i;

	if (w->num_in != 2 || !w->vec->binary_codes || w->mul != 1.0f || w->add != 0.0f ||
	    (w->func != NPU_BINARY_ADD && w->func != NPU_BINARY_SUB && w->func != NPU_BINARY_MUL) ||
	    !bounds_of(w, &b->f.lo, &b->f.hi))
		return false;
	for (i = 0; i < 3; i++)
		if (!npu_elem_is_code(&it->op[i].elem) || it->op[i].elem.scale == 0.0f ||
		    (i < 2 && it->op[i].stride[it->rank - 1] != 1))
			return false;
	b->it = it;
	b->vec = w->vec;
	b->f.out = it->op[0].elem;
	b->f.a = it->op[1].elem;
	b->f.b = it->op[2].elem;
	b->f.func = w->func;
	b->f.b_same = col == 0;
	return col == 0 || col == 1;
}

static void run_codes(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		      npu_u64 end)
{
	const struct binary *b = arg;
	struct npu_tile t;

	for (; begin < end; begin++) {
		npu_iter_tile(b->it, begin, &t);
		b->vec->binary_codes(t.patch, &b->f);
	}
}

static int binary_run(struct npu_exec *x, struct ewise *w, struct binary *b)
{
	npu_u64 cols = w->it.dim[w->it.rank - 1];

	npu_iter_cut(&w->it, cols < CODES_BLOCK ? CODES_BLOCK / (npu_u32)cols : 1, CODES_BLOCK);
	npu_exec_path(x, NPU_PATH_CODES_BINARY);
	return npu_exec_parallel(x, w->it.num_tiles,
				 40 + (double)w->it.rows * (8 + w->it.cols * 0.15), run_codes, b);
}

static int ewise_run(struct npu_exec *x, struct ewise *w)
{
	struct binary b;
	bool post;

	w->vec = npu_vec_get(x->simd);
	post = w->act != NPU_ACT_NONE || w->mul != 1.0f || w->add != 0.0f;
	w->out_int = w->in_int && !post && npu_elem_plain_int(&w->it.op[0].elem);
	npu_iter_finish(&w->it, NPU_BLOCK);
	if (table_can(w))
		return table_run(x, w);
	if (binary_can(w, &b))
		return binary_run(x, w, &b);
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
