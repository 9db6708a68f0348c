// SPDX-License-Identifier: MIT
/*
 * QuantizeLinear and DequantizeLinear of constants. Weights and biases of convolutions and products
 * stay codes, with their quantization; everything else becomes floats.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/fold.h"

/* @n reads @t, whose codes have type @code, only where integer instructions take codes. */
static bool is_weight_of(const struct npu_gnode *n, const struct npu_gtensor *t,
			 enum npu_gtype code)
{
	unsigned int at = code == NPU_GT_I32 ? 2 : 1;

	if (n->op != NPU_GOP_Conv && n->op != NPU_GOP_ConvTranspose && n->op != NPU_GOP_Gemm &&
	    n->op != NPU_GOP_MatMul)
		return false;
	for (unsigned int i = 0; i < n->num_inputs; i++)
		if (n->inputs[i] == t && i != at)
			return false;
	return true;
}

/* The same, or a Transpose in front of such nodes. */
static bool takes_codes(const struct npu_gnode *n, const struct npu_gtensor *t,
			enum npu_gtype code)
{
	const struct npu_gtensor *y = n->num_outputs ? n->outputs[0] : NULL;

	if (n->op != NPU_GOP_Transpose)
		return is_weight_of(n, t, code);
	for (unsigned int i = 0; y && i < y->num_consumers; i++)
		if (!is_weight_of(y->consumer[i], y, code))
			return false;
	return y && y->num_consumers && !y->is_output;
}

const struct npu_gquant *npu_gnode_quant(struct npu_graph *g, const struct npu_gnode *n)
{
	const struct npu_gtensor *scale = n->inputs[1], *zero = npu_gnode_in(n, 2);
	int64_t count;
	int32_t *z;
	float *s;

	if (!npu_gtensor_is_const(scale) || (zero && !npu_gtensor_is_const(zero)))
		return NULL;
	count = npu_gtensor_const_elems(scale);
	if (count == 1)
		return npu_graph_quant(g, (float)npu_gtensor_elem(scale, 0),
				       zero ? (int32_t)npu_gtensor_elem_int(zero, 0) : 0);
	s = npu_arena_array(&g->arena, (size_t)count, sizeof(*s));
	z = npu_arena_array(&g->arena, (size_t)count, sizeof(*z));
	if (!s || !z)
		return NULL;
	for (int64_t i = 0; i < count; i++) {
		s[i] = (float)npu_gtensor_elem(scale, (size_t)i);
		z[i] = zero ? (int32_t)npu_gtensor_elem_int(zero, (size_t)i) : 0;
	}
	return npu_graph_quant_axis(g, (int)npu_gnode_int(n, "axis", 0), (unsigned int)count, s, z);
}

/* The codes of @x as a constant with @q; the data is shared. */
static struct npu_gtensor *coded(struct npu_graph *g, const struct npu_gtensor *x,
				 const struct npu_gquant *q)
{
	struct npu_gtensor *t = npu_graph_tensor(g, NULL, x->name, x->type);

	if (!t)
		return NULL;
	t->rank = x->rank;
	memcpy(t->dim, x->dim, sizeof(t->dim));
	t->data = x->data;
	t->size = x->size;
	t->quant = q;
	return t;
}

static int alloc_data(struct npu_graph *g, struct npu_gtensor *t)
{
	t->size = (size_t)npu_gtensor_const_elems(t) * npu_gtype_size(t->type);
	t->data = npu_arena_alloc(&g->arena, t->size ? t->size : 1);
	return t->data ? 0 : -ENOMEM;
}

struct npu_gtensor *npu_fold_dequantized(struct npu_graph *g, const struct npu_gtensor *codes,
					 enum npu_gtype type)
{
	struct npu_gtensor *t = npu_graph_tensor(g, NULL, codes->name, type);

	if (!t)
		return NULL;
	t->rank = codes->rank;
	memcpy(t->dim, codes->dim, sizeof(t->dim));
	if (alloc_data(g, t))
		return NULL;
	for (size_t i = 0; i < (size_t)npu_gtensor_const_elems(t); i++)
		npu_fold_put(t, i, npu_gtensor_elem(codes, i));
	return t;
}

static int fold_dequantize(struct npu_graph *g, struct npu_gnode *n, const struct npu_gquant *q)
{
	struct npu_gtensor *y = n->outputs[0], *codes = coded(g, n->inputs[0], q);

	if (!codes)
		return -ENOMEM;
	for (unsigned int i = 0; i < y->num_consumers;) {
		struct npu_gnode *c = y->consumer[i];

		if (!takes_codes(c, y, codes->type)) {
			i++;
			continue;
		}
		for (unsigned int k = 0; k < c->num_inputs; k++)
			if (c->inputs[k] == y && npu_gnode_set_input(g, c, k, codes))
				return -ENOMEM;
	}
	npu_graph_remove(g, n);
	if (!y->num_consumers && !y->is_output)
		return 1;
	if (alloc_data(g, y))
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)npu_gtensor_const_elems(y); i++)
		npu_fold_put(y, i, npu_gtensor_elem(codes, i));
	return 1;
}

static int fold_quantize(struct npu_graph *g, struct npu_gnode *n, const struct npu_gquant *q)
{
	struct npu_gtensor *y = n->outputs[0];
	struct npu_gtensor as = *y;
	double lo = y->type == NPU_GT_I8 ? -128 : 0, hi = lo + 255;

	if (alloc_data(g, y))
		return -ENOMEM;
	as.quant = q;
	for (size_t i = 0; i < (size_t)npu_gtensor_const_elems(y); i++) {
		size_t c = npu_gquant_index(&as, i);
		float v = (float)npu_gtensor_elem(n->inputs[0], i) / npu_gquant_scale(q, c);
		double code = (double)rintf(v) + npu_gquant_zero(q, c);

		if (isnan(code))
			code = npu_gquant_zero(q, c);
		npu_fold_put_int(y, i, (int64_t)(code < lo ? lo : code > hi ? hi : code));
	}
	npu_graph_remove(g, n);
	return 1;
}

int npu_fold_quant(struct npu_graph *g, struct npu_gnode *n)
{
	const struct npu_gquant *q;

	for (unsigned int i = 0; i < n->num_inputs; i++)
		if (n->inputs[i] && !n->inputs[i]->data)
			return 0;
	if (npu_gtensor_const_elems(n->outputs[0]) < 0)
		return 0;
	q = npu_gnode_quant(g, n);
	if (!q)
		return -ENOMEM;
	return n->op == NPU_GOP_QuantizeLinear ? fold_quantize(g, n, q) : fold_dequantize(g, n, q);
}

int npu_fold_quant_transpose(struct npu_graph *g, struct npu_gnode *n)
{
	const struct npu_gquant *q = n->inputs[0]->quant;
	struct npu_gquant *p;
	size_t count;
	const int64_t *perm = npu_gnode_ints(n, "perm", &count);

	n->outputs[0]->quant = q;
	if (!q || q->axis < 0)
		return 0;
	p = npu_arena_alloc(&g->arena, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = *q;
	for (size_t i = 0; i < count; i++)
		if (perm[i] == q->axis)
			p->axis = (int)i;
	n->outputs[0]->quant = p;
	return 0;
}
