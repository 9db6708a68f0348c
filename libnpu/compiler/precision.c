// SPDX-License-Identifier: MIT
/*
 * Where an f16 job stays f32. A result that comes out of an exponential (a sigmoid's map, a
 * softmax's scores) is a steep function of what goes in: values of some tens with eleven bits of
 * mantissa are off by hundredths, and so is the result at every edge. Rounding that early layers do
 * is amplified on the way there, so keeping the last layer alone does not help (measured on
 * PP-OCRv4 detection, largest error on a page: f16 throughout 0.054, f32 from the middle on 0.056,
 * f32 throughout 3e-5). So all that a steep result is made of stays f32; everything else is f16.
 *
 * Codes that the compiler chose end that: their steps are sixteen times those of f16 and more, so
 * what is in front of them is f16 (PP-OCRv4 detection, all layers int8: cosine to float 0.98856
 * after it, 0.98860 before). Codes of the model's own are a matter of exact numbers; see below.
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

static bool is_coarse(const struct npu_gtensor *t)
{
	return t->quant && t->quant->chosen;
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
			const struct npu_gtensor *t = n->outputs[o];

			shown |= t && looked_at[t->id];
			steep |= t && l->keep_f32[t->id] && !is_coarse(t);
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
 * them. As far back as CODES_DEPTH nodes.
 */
#define CODES_DEPTH	17

static void keep_for_codes(const struct npu_gtensor *t, uint8_t depth, uint8_t *left)
{
	if (t && !npu_gtensor_is_const(t) && left[t->id] < depth)
		left[t->id] = depth;
}

static bool by_element(const struct npu_gnode *n)
{
	switch (npu_gnode_info(n)->family) {
	case NPU_GF_UNARY:
	case NPU_GF_BINARY:
	case NPU_GF_VARIADIC:
	case NPU_GF_ACT:
	case NPU_GF_CAST:
		return true;
	default:
		return false;
	}
}

/* The result is as precise as what the node reads. */
static bool hands_on(const struct npu_gnode *n)
{
	enum npu_gop_family family = npu_gnode_info(n)->family;

	return by_element(n) || family == NPU_GF_REDUCE || family == NPU_GF_RESHAPE;
}

/* Ends in one rounding to codes, of a number that no sum has averaged. */
static bool rounds_to_codes(const struct npu_gnode *n)
{
	const struct npu_gtensor *t = n->outputs[0];

	return t && t->quant && !is_coarse(t) &&
	       (by_element(n) || npu_gnode_info(n)->family == NPU_GF_SOFTMAX);
}

/* What node @n itself makes codes of, or takes as their scale. */
static void keep_sources(const struct npu_gnode *n, uint8_t *left)
{
	enum npu_gtype type = n->outputs[0] ? n->outputs[0]->type : NPU_GT_NONE;

	if (n->op == NPU_GOP_QuantizeLinear ||
	    (n->op == NPU_GOP_Cast && (type == NPU_GT_I8 || type == NPU_GT_U8) &&
	     !is_coarse(n->outputs[0])))
		keep_for_codes(n->inputs[0], CODES_DEPTH, left);
	if (rounds_to_codes(n))
		for (unsigned int k = 0; k < n->num_inputs; k++)
			keep_for_codes(n->inputs[k], CODES_DEPTH, left);
	if (n->op == NPU_GOP_ConvInteger || n->op == NPU_GOP_MatMulInteger)
		keep_for_codes(npu_gnode_in(n, 4), CODES_DEPTH, left);
}

/*
 * From the outputs towards the inputs, each node once: @left is by tensor how many nodes further
 * back it goes, 0 where nothing is kept.
 */
static void mark_codes(struct npu_lower *l, uint8_t *left)
{
	for (unsigned int i = l->g->num_nodes; i-- > 0;) {
		const struct npu_gnode *n = l->g->nodes[i];
		const struct npu_gtensor *y = n->outputs[0];

		keep_sources(n, left);
		for (unsigned int o = 0; o < n->num_outputs; o++)
			if (n->outputs[o] && (!y || left[n->outputs[o]->id] > left[y->id]))
				y = n->outputs[o];
		if (!y || left[y->id] < 2 || !hands_on(n))
			continue;
		for (unsigned int k = 0; k < n->num_inputs; k++)
			keep_for_codes(n->inputs[k], (uint8_t)(left[y->id] - 1), left);
	}
	for (unsigned int i = 0; i < l->g->num_tensors; i++)
		l->keep_f32[i] |= left[i] != 0;
}

/* The host has the model's types: its arguments need no conversion then. */
static void mark_host(struct npu_lower *l)
{
	for (unsigned int i = 0; i < l->g->num_nodes; i++) {
		const struct npu_gnode *n = l->g->nodes[i];

		for (unsigned int k = 0; n->host && k < n->num_inputs + n->num_outputs; k++) {
			const struct npu_gtensor *t = k < n->num_inputs ?
							      n->inputs[k] :
							      n->outputs[k - n->num_inputs];

			if (t)
				l->keep_f32[t->id] = true;
		}
	}
}

int npu_precision_choose(struct npu_lower *l)
{
	bool *looked_at = npu_arena_array(l->arena, l->g->num_tensors + 1, sizeof(*looked_at));
	uint8_t *left = npu_arena_array(l->arena, l->g->num_tensors + 1, sizeof(*left));

	l->keep_f32 = npu_arena_array(l->arena, l->g->num_tensors + 1, sizeof(*l->keep_f32));
	if (!looked_at || !left || !l->keep_f32)
		return -ENOMEM;
	if (l->precision == NPU_PRECISION_F16 && !l->all_f16)
		mark(l, looked_at);
	if (l->precision == NPU_PRECISION_F16)
		mark_codes(l, left);
	mark_host(l);
	return 0;
}
