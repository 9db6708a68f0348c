// SPDX-License-Identifier: MIT
/* ROPE: sines and cosines of one position are found once and serve all heads. */
#include "index.h"
#include "iter.h"
#include "npu_math.h"

struct rope {
	const struct npu_vec *vec;
	const struct npu_operand *op;
	char *out;
	const char *in;
	struct npu_elem oe, ie;
	npu_u32 half;			/* pairs */
	const float *freq;		/* base^(-2i/dims) / factor */
	bool halves;			/* pairing */
	float pos_scale, mscale;
};

static struct npu_patch row_patch(const struct npu_operand *op, const char *base, npu_u64 t,
				  npu_u32 h)
{
	return (struct npu_patch){
		.p = (char *)base + (npu_s64)t * op->stride[0] + (npu_s64)h * op->stride[1],
		.col = op->stride[2],
		.rows = 1,
		.cols = op->dim[2],
	};
}

/* c[i], s[i] for every pair of position @pos; false after a fault. */
static bool angles(struct npu_exec *x, const struct rope *w, npu_u64 t, float *c, float *s)
{
	const struct npu_operand *table = &w->op[NPU_ROPE_COS_TABLE],
				 *sines = &w->op[NPU_ROPE_SIN_TABLE];
	npu_s64 pos = npu_index_read(&w->op[NPU_ROPE_POSITIONS], x->ptr[NPU_ROPE_POSITIONS], t);
	struct npu_elem e;
	float p;
	npu_u32 i;

	if (table->dtype == NPU_NONE) {
		p = (float)pos * w->pos_scale;
		for (i = 0; i < w->half; i++)
			c[i] = s[i] = p * w->freq[i];
		w->vec->unary(c, w->half, NPU_UNARY_COS);
		w->vec->unary(s, w->half, NPU_UNARY_SIN);
		return true;
	}
	if (pos < 0 || pos >= table->dim[0]) {
		npu_exec_fault(x, t, NPU_FAULT_INDEX, NPU_ROPE_POSITIONS, ~0u, pos,
			       "rope: position %lld of row %llu is outside of the table's %u rows",
			       (long long)pos, (unsigned long long)t, table->dim[0]);
		return false;
	}
	e = npu_elem_of(table);
	w->vec->load(c, &e,
		     &(struct npu_patch){ .p = (char *)x->ptr[NPU_ROPE_COS_TABLE] +
					       pos * table->stride[0],
					  .col = table->stride[1],
					  .rows = 1,
					  .cols = w->half });
	e = npu_elem_of(sines);
	w->vec->load(s, &e,
		     &(struct npu_patch){ .p = (char *)x->ptr[NPU_ROPE_SIN_TABLE] +
					       pos * sines->stride[0],
					  .col = sines->stride[1],
					  .rows = 1,
					  .cols = w->half });
	return true;
}

static void rotate(const struct rope *w, float *v, const float *c, const float *s)
{
	npu_u32 i, step = w->halves ? 1 : 2, other = w->halves ? w->half : 1;

	for (i = 0; i < w->half; i++) {
		float *p = v + (size_t)i * step, a = p[0], b = p[other];

		p[0] = (a * c[i] - b * s[i]) * w->mscale;
		p[other] = (a * s[i] + b * c[i]) * w->mscale;
	}
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct rope *w = arg;
	const struct npu_operand *in = &w->op[NPU_ROPE_IN];
	float *c = npu_exec_scratch(x, worker), *s = c + w->half, *v = s + w->half;
	npu_u32 h;

	for (; begin < end; begin++) {
		if (!angles(x, w, begin, c, s))
			return;
		for (h = 0; h < in->dim[1] && !npu_exec_stopped(x); h++) {
			struct npu_patch src = row_patch(in, w->in, begin, h);
			struct npu_patch dst = row_patch(&w->op[NPU_ROPE_OUT], w->out, begin, h);

			w->vec->load(v, &w->ie, &src);
			rotate(w, v, c, s);
			w->vec->store(v, &w->oe, &dst);
		}
	}
}

/* base^(-2i/dims) in f32, divided by the factor. */
static void frequencies(struct npu_exec *x, float *freq, npu_u32 half)
{
	const struct npu_operand *f = &x->operand[NPU_ROPE_FACTORS];
	float base = npu_exec_param_f32(x, NPU_ROPE_P_BASE), factor;
	npu_u32 i;

	for (i = 0; i < half; i++) {
		freq[i] = npu_pow_f32(base, -(float)(2 * i) / (float)(2 * half));
		if (!npu_exec_present(x, NPU_ROPE_FACTORS))
			continue;
		memcpy(&factor,
		       (char *)x->ptr[NPU_ROPE_FACTORS] + (f->dim[0] == 1 ? 0 : i * f->stride[0]),
		       sizeof(factor));
		freq[i] /= factor;
	}
}

int npu_op_rope(struct npu_exec *x)
{
	const struct npu_operand *in = &x->operand[NPU_ROPE_IN];
	struct rope w = {
		.vec = npu_vec_get(x->simd),
		.op = x->operand,
		.out = x->ptr[NPU_ROPE_OUT],
		.in = x->ptr[NPU_ROPE_IN],
		.oe = npu_elem_of(&x->operand[NPU_ROPE_OUT]),
		.ie = npu_elem_of(in),
		.half = x->param[NPU_ROPE_P_DIMS] / 2,
		.halves = x->param[NPU_ROPE_P_PAIRING] == NPU_ROPE_HALVES,
		.pos_scale = npu_exec_param_f32(x, NPU_ROPE_P_POS_SCALE),
		.mscale = npu_exec_param_f32(x, NPU_ROPE_P_MSCALE),
	};

	if (npu_exec_reserve_shared(x, w.half * sizeof(float)) ||
	    npu_exec_reserve(x, (2 * (size_t)w.half + in->dim[2]) * sizeof(float)))
		return -ENOMEM;
	if (!npu_exec_present(x, NPU_ROPE_COS_TABLE))
		frequencies(x, npu_exec_shared(x), w.half);
	w.freq = npu_exec_shared(x);
	return npu_exec_parallel(x, in->dim[0], w.half * 3.0 + in->dim[1] * (20 + in->dim[2] * 0.8),
				 run, &w);
}
