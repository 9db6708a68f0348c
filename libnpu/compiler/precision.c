// SPDX-License-Identifier: MIT
/*
 * Where an f16 job stays f32. A result that comes out of an exponential (a sigmoid's map, a
 * softmax's scores) is a steep function of what goes in: values of some tens with eleven bits of
 * mantissa are off by hundredths, and so is the result at every edge. Rounding that early layers do
 * is amplified on the way there, so keeping the last layer alone does not help (measured on
 * PP-OCRv4 detection, largest error on a page: f16 throughout 0.054, f32 from the middle on 0.056,
 * f32 throughout 3e-5). So all that a steep result is made of stays f32; everything else is f16.
 */
#include <errno.h>

#include "compiler/lower.h"

/*
 * Nodes that pass values on as they are, or scale them by constants: what is steep behind them is
 * steep in front.
 */
static bool passes_on(const struct npu_gnode *n)
{
	switch (n->op) {
	case NPU_GOP_Reshape:
	case NPU_GOP_Transpose:
	case NPU_GOP_Concat:
	case NPU_GOP_Slice:
	case NPU_GOP_Split:
	case NPU_GOP_Pad:
	case NPU_GOP_Clip:
	case NPU_GOP_Cast:
	case NPU_GOP_Add:
	case NPU_GOP_Sub:
	case NPU_GOP_Mul:
	case NPU_GOP_Div:
		return true;
	default:
		return false;
	}
}

static bool act_is_steep(const struct npu_gact *act)
{
	return act->kind == NPU_GA_SIGMOID || act->kind == NPU_GA_TANH;
}

static bool node_is_steep(const struct npu_gnode *n)
{
	switch (n->op) {
	case NPU_GOP_Softmax:
	case NPU_GOP_LogSoftmax:
	case NPU_GOP_Exp:
		return true;
	default:
		return act_is_steep(&n->ep.act) || act_is_steep(&n->ep.act2);
	}
}

/* From the outputs towards the inputs; a node stands before those that use its results. */
static void mark(struct npu_lower *l, bool *looked_at)
{
	struct npu_graph *g = l->g;

	for (unsigned int i = 0; i < g->num_outputs; i++)
		looked_at[g->outputs[i]->id] = true;
	for (unsigned int i = g->num_nodes; i-- > 0;) {
		const struct npu_gnode *n = g->nodes[i];
		bool shown = false, steep = false;

		for (unsigned int o = 0; o < n->num_outputs; o++) {
			shown |= n->outputs[o] && looked_at[n->outputs[o]->id];
			steep |= n->outputs[o] && l->keep_f32[n->outputs[o]->id];
		}
		steep |= shown && node_is_steep(n);
		for (unsigned int k = 0; k < n->num_inputs; k++) {
			if (!n->inputs[k])
				continue;
			looked_at[n->inputs[k]->id] |= shown && passes_on(n);
			l->keep_f32[n->inputs[k]->id] |= steep;
		}
		for (unsigned int o = 0; o < n->num_outputs && steep; o++)
			if (n->outputs[o])
				l->keep_f32[n->outputs[o]->id] = true;
	}
}

/*
 * What decides codes, element by element or as a scale: an error of half a step of f16 would change
 * them.
 */
static void keep_for_codes(struct npu_lower *l, const struct npu_gtensor *t, int depth)
{
	const struct npu_gnode *n = t ? t->producer : NULL;

	if (!t || npu_gtensor_is_const(t) || depth > 16)
		return;
	l->keep_f32[t->id] = true;
	switch (n ? npu_gnode_info(n)->family : NPU_GF_OTHER) {
	case NPU_GF_UNARY:
	case NPU_GF_BINARY:
	case NPU_GF_VARIADIC:
	case NPU_GF_ACT:
	case NPU_GF_CAST:
	case NPU_GF_REDUCE:
	case NPU_GF_RESHAPE:
		for (unsigned int i = 0; i < n->num_inputs; i++)
			keep_for_codes(l, n->inputs[i], depth + 1);
		break;
	default:
		break;
	}
}

static bool by_element(const struct npu_gnode *n)
{
	switch (npu_gnode_info(n)->family) {
	case NPU_GF_UNARY:
	case NPU_GF_BINARY:
	case NPU_GF_VARIADIC:
	case NPU_GF_ACT:
	case NPU_GF_CAST:
	case NPU_GF_SOFTMAX:
		return true;
	default:
		return false;
	}
}

static void mark_codes(struct npu_lower *l)
{
	for (unsigned int i = 0; i < l->g->num_nodes; i++) {
		const struct npu_gnode *n = l->g->nodes[i];
		enum npu_gtype type = n->outputs[0] ? n->outputs[0]->type : NPU_GT_NONE;

		if (n->op == NPU_GOP_QuantizeLinear ||
		    (n->op == NPU_GOP_Cast && (type == NPU_GT_I8 || type == NPU_GT_U8)))
			keep_for_codes(l, n->inputs[0], 0);
		if (n->outputs[0] && n->outputs[0]->quant && by_element(n))
			for (unsigned int k = 0; k < n->num_inputs; k++)
				keep_for_codes(l, n->inputs[k], 0);
		if (n->op == NPU_GOP_ConvInteger || n->op == NPU_GOP_MatMulInteger)
			keep_for_codes(l, npu_gnode_in(n, 4), 0);
	}
}

/* The host has the model's types: its arguments need no conversion then. */
static void mark_host(struct npu_lower *l)
{
	for (unsigned int i = 0; i < l->g->num_nodes; i++) {
		const struct npu_gnode *n = l->g->nodes[i];

		for (unsigned int k = 0; n->host && k < n->num_inputs + n->num_outputs; k++) {
			const struct npu_gtensor *t = k < n->num_inputs ? n->inputs[k] :
									  n->outputs[k - n->num_inputs];

			if (t)
				l->keep_f32[t->id] = true;
		}
	}
}

int npu_precision_choose(struct npu_lower *l)
{
	bool *looked_at = npu_arena_array(l->arena, l->g->num_tensors + 1, sizeof(*looked_at));

	l->keep_f32 = npu_arena_array(l->arena, l->g->num_tensors + 1, sizeof(*l->keep_f32));
	if (!looked_at || !l->keep_f32)
		return -ENOMEM;
	if (l->precision == NPU_PRECISION_F16 && !l->all_f16)
		mark(l, looked_at);
	if (l->precision == NPU_PRECISION_F16)
		mark_codes(l);
	mark_host(l);
	return 0;
}
