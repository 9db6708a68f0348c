// SPDX-License-Identifier: MIT
/* Which constant nodes are folded, and the element access that the evaluators share. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/fold.h"
#include "npu_half.h"

/* largest result, bytes, unless it is no larger than the input */
#define FOLD_MAX	(64u << 20)

bool npu_fold_is_float(enum npu_gtype type)
{
	return type == NPU_GT_F32 || type == NPU_GT_F64 || type == NPU_GT_F16 ||
	       type == NPU_GT_BF16;
}

void npu_fold_put_int(struct npu_gtensor *t, size_t i, int64_t v)
{
	unsigned char *p = (unsigned char *)t->data + i * npu_gtype_size(t->type);

	if (npu_fold_is_float(t->type)) {
		npu_fold_put(t, i, (double)v);
		return;
	}
	if (t->type == NPU_GT_BOOL)
		v = v != 0;
	/* little-endian: the low bytes are the value modulo 2^bits */
	memcpy(p, &v, npu_gtype_size(t->type));
}

void npu_fold_put(struct npu_gtensor *t, size_t i, double v)
{
	unsigned char *p = (unsigned char *)t->data + i * npu_gtype_size(t->type);
	float f = (float)v;
	uint16_t h;

	switch (t->type) {
	case NPU_GT_F32:
		memcpy(p, &f, sizeof(f));
		return;
	case NPU_GT_F64:
		memcpy(p, &v, sizeof(v));
		return;
	case NPU_GT_F16: case NPU_GT_BF16:
		h = t->type == NPU_GT_F16 ? npu_half_narrow(f) : npu_bfloat_narrow(f);
		memcpy(p, &h, sizeof(h));
		return;
	case NPU_GT_BOOL:
		*p = v != 0;
		return;
	default:
		/*
		 * out of range or NaN has no defined result in ONNX; zero is one that C can compute
		 */
		npu_fold_put_int(t, i, v > -9.2e18 && v < 9.2e18 ? (int64_t)v : 0);
		return;
	}
}

void npu_fold_walk_init(struct npu_fold_walk *w, const struct npu_gtensor *shape)
{
	int i;

	memset(w, 0, sizeof(*w));
	w->rank = shape->rank;
	for (i = 0; i < w->rank; i++)
		w->dim[i] = shape->dim[i].base;
}

void npu_fold_walk_operand(struct npu_fold_walk *w, const struct npu_gtensor *t)
{
	int64_t *stride = w->stride[w->operands++], step = 1;
	int i;

	for (i = t->rank - 1; i >= 0; i--) {
		stride[i + w->rank - t->rank] = t->dim[i].base == 1 ? 0 : step;
		step *= t->dim[i].base;
	}
}

void npu_fold_walk_next(struct npu_fold_walk *w)
{
	unsigned int k;
	int i;

	for (i = w->rank - 1; i >= 0; i--) {
		for (k = 0; k < w->operands; k++)
			w->index[k] += w->stride[k][i];
		if (++w->at[i] < w->dim[i])
			return;
		for (k = 0; k < w->operands; k++)
			w->index[k] -= w->stride[k][i] * w->dim[i];
		w->at[i] = 0;
	}
}

static bool fold_wanted(const struct npu_gnode *n)
{
	unsigned int i, k;
	size_t have = 0, want = 0;

	for (i = 0; i < n->num_inputs; i++) {
		if (!n->inputs[i])
			continue;
		if (!n->inputs[i]->data || n->inputs[i]->type == NPU_GT_STRING)
			return false;
		/* Once each: a chain of values joined with themselves would double without end. */
		for (k = 0; k < i && n->inputs[k] != n->inputs[i]; k++)
			;
		if (k == i)
			have += n->inputs[i]->size;
	}
	for (i = 0; i < n->num_outputs; i++) {
		int64_t elems;
		size_t bytes;

		if (!n->outputs[i])
			continue;
		elems = npu_gtensor_const_elems(n->outputs[i]);
		if (elems < 0 || n->outputs[i]->type == NPU_GT_STRING ||
		    __builtin_mul_overflow((size_t)elems, npu_gtype_size(n->outputs[i]->type),
					   &bytes) ||
		    __builtin_add_overflow(want, bytes, &want))
			return false;
	}
	return n->num_inputs && (want <= FOLD_MAX || want <= have);
}

static bool fold_eval(const struct npu_gnode *n, struct npu_gtensor **outs)
{
	switch (npu_gnode_info(n)->family) {
	case NPU_GF_UNARY:
	case NPU_GF_ACT:
	case NPU_GF_BINARY:
	case NPU_GF_VARIADIC:
	case NPU_GF_COMPARE:
	case NPU_GF_LOGIC: case NPU_GF_SELECT:
		return npu_fold_elementwise(n, outs[0]);
	case NPU_GF_CAST:
		return npu_fold_cast(n, outs[0]);
	case NPU_GF_RESHAPE: case NPU_GF_MOVE: case NPU_GF_INDEX:
		return npu_fold_move(n, outs);
	case NPU_GF_REDUCE:
		return npu_fold_reduce(n, outs[0]);
	case NPU_GF_MATMUL:
		return n->op == NPU_GOP_MatMul && npu_fold_matmul(n, outs[0]);
	case NPU_GF_HOST: case NPU_GF_ARG: case NPU_GF_OTHER:
		return npu_fold_host(n, outs);
	default:
		return false;
	}
}

int npu_fold_node(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gtensor made[64], *outs[64];
	unsigned int i;

	if (n->op == NPU_GOP_QuantizeLinear || n->op == NPU_GOP_DequantizeLinear)
		return npu_fold_quant(g, n);
	if (n->num_outputs > 64 || !fold_wanted(n))
		return 0;
	/*
	 * evaluated into copies, so that an operator that is not covered leaves the graph untouched
	 */
	for (i = 0; i < n->num_outputs; i++) {
		outs[i] = NULL;
		if (!n->outputs[i])
			continue;
		made[i] = *n->outputs[i];
		outs[i] = &made[i];
		made[i].size = (size_t)npu_gtensor_const_elems(&made[i]) *
			       npu_gtype_size(made[i].type);
		made[i].data = npu_arena_alloc(&g->arena, made[i].size ? made[i].size : 1);
		if (!made[i].data)
			return -ENOMEM;
	}
	if (!outs[0] || !fold_eval(n, outs))
		return 0;
	for (i = 0; i < n->num_outputs; i++) {
		if (!outs[i])
			continue;
		n->outputs[i]->data = made[i].data;
		n->outputs[i]->size = made[i].size;
		memcpy(n->outputs[i]->dim, made[i].dim, sizeof(made[i].dim));
		n->outputs[i]->value = NULL;
	}
	if (n->op == NPU_GOP_Transpose && npu_fold_quant_transpose(g, n))
		return -ENOMEM;
	npu_graph_remove(g, n);
	return 1;
}
