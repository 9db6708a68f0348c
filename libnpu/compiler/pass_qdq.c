// SPDX-License-Identifier: MIT
/*
 * DequantizeLinear and QuantizeLinear around nodes. The tensor between a QuantizeLinear (or a model
 * input) and its DequantizeLinear becomes a quantized one, which nodes read as the real numbers
 * that its codes stand for; a node whose result is quantized at once writes the codes itself. No
 * rounding is added and none is lost: a node that stood between the two has one, at its end, as
 * before.
 */
#include <errno.h>
#include <string.h>

#include "compiler/lower.h"
#include "compiler/pass.h"

/* Nodes whose lowering stores its result with one rounding, whatever the type. */
static bool may_write_codes(const struct npu_gnode *n)
{
	const struct npu_op_rule *rule = npu_op_rule(n->op);

	if (!rule || !rule->lower)
		return false;
	switch (n->op) {
	case NPU_GOP_Conv:
	case NPU_GOP_ConvTranspose:
	case NPU_GOP_MatMul:
	case NPU_GOP_MaxPool:
	case NPU_GOP_AveragePool:
	case NPU_GOP_GlobalAveragePool:
	case NPU_GOP_GlobalMaxPool:
	case NPU_GOP_Resize:
	case NPU_GOP_Softmax:
	case NPU_GOP_LogSoftmax:
	case NPU_GOP_LayerNormalization:
	case NPU_GOP_Concat:
	case NPU_GOP_Tile:
	case NPU_GOP_DepthToSpace:
	case NPU_GOP_SpaceToDepth:
	case NPU_GOP_Gather:
	case NPU_GOP_Where:
	case NPU_GOP_Reshape:
	case NPU_GOP_Transpose:
	case NPU_GOP_Slice:
	case NPU_GOP_Expand:
	case NPU_GOP_Pad:
	case NPU_GOP_Activation:
		return true;
	case NPU_GOP_ConvInteger:
	case NPU_GOP_MatMulInteger:
		return npu_gnode_in(n, 4) != NULL;
	case NPU_GOP_ReduceMean:
	case NPU_GOP_ReduceSum:
	case NPU_GOP_ReduceMax:
	case NPU_GOP_ReduceMin:
		return npu_gnode_plain(n);
	default:
		switch (npu_gnode_info(n)->family) {
		case NPU_GF_UNARY:
		case NPU_GF_BINARY:
		case NPU_GF_VARIADIC:
			return true;
		default:
			return false;
		}
	}
}

/* Nodes of the device read quantized tensors as real numbers. */
static bool may_read_codes(const struct npu_gnode *n)
{
	const struct npu_op_rule *rule = npu_op_rule(n->op);

	return rule && rule->lower;
}

/* What is known while tensors are chosen. */
struct choice {
	struct npu_graph *g;
	const struct npu_gquant **q;	/* by tensor id: of the codes; NULL: plain */
	const struct npu_gquant **own; /* by node mark: what a QuantizeLinear or its inverse says */
};

static bool is_quant_node(const struct npu_gnode *n)
{
	return n->op == NPU_GOP_QuantizeLinear || n->op == NPU_GOP_DequantizeLinear;
}

/* Of a whole tensor; NULL: other nodes, scales along an axis, numbers that are no constants. */
static const struct npu_gquant *whole_quant(const struct choice *c, const struct npu_gnode *n)
{
	return is_quant_node(n) ? c->own[n->mark] : NULL;
}

static int choice_init(struct choice *c, struct npu_graph *g)
{
	c->g = g;
	c->q = npu_arena_array(&g->arena, g->num_tensors + 1, sizeof(*c->q));
	c->own = npu_arena_array(&g->arena, g->num_nodes + 1, sizeof(*c->own));
	if (!c->q || !c->own)
		return -ENOMEM;
	for (unsigned int i = 0; i < g->num_nodes; i++) {
		struct npu_gnode *n = g->nodes[i];
		const struct npu_gquant *q;

		n->mark = i;
		if (n->dead || !is_quant_node(n))
			continue;
		q = npu_gnode_quant(g, n);
		c->own[i] = q && q->axis < 0 ? q : NULL;
	}
	return 0;
}

/*
 * Nodes that only move codes, or pick the largest: what they do to codes they do to the numbers
 * behind them, as long as all have one quantization.
 */
static bool moves_codes(const struct npu_gnode *n)
{
	switch (n->op) {
	case NPU_GOP_Reshape:
	case NPU_GOP_Transpose:
	case NPU_GOP_Slice:
	case NPU_GOP_Expand:
	case NPU_GOP_Tile:
	case NPU_GOP_DepthToSpace:
	case NPU_GOP_SpaceToDepth:
	case NPU_GOP_Concat:
	case NPU_GOP_Gather:
	case NPU_GOP_MaxPool:
	case NPU_GOP_GlobalMaxPool:
		return npu_gnode_plain(n);
	case NPU_GOP_Resize:
		return npu_gnode_plain(n) &&
		       !strcmp(npu_gnode_string(n, "mode", "nearest"), "nearest");
	default:
		return false;
	}
}

/* Inputs of such a node that carry codes. */
static unsigned int num_moved(const struct npu_gnode *n)
{
	return n->op == NPU_GOP_Concat ? n->num_inputs : 1;
}

static bool is_codes(const struct npu_gtensor *t)
{
	return t && !npu_gtensor_is_const(t) && !t->quant &&
	       (t->type == NPU_GT_I8 || t->type == NPU_GT_U8);
}

/* ---- which tensors -------------------------------------------------------------------------- */

/* What the readers of a model input say, when all are DequantizeLinear and say the same. */
static const struct npu_gquant *said_by_readers(const struct choice *c,
						const struct npu_gtensor *t)
{
	const struct npu_gquant *q = NULL, *own;

	for (unsigned int i = 0; i < t->num_consumers; i++) {
		const struct npu_gnode *n = t->consumer[i];

		own = n->op == NPU_GOP_DequantizeLinear && n->inputs[0] == t ? whole_quant(c, n)
									     : NULL;
		if (!own || (q && !npu_gquant_equal(q, own)))
			return NULL;
		q = own;
	}
	return q;
}

/* From where codes are made towards where they are read. */
static void propose(struct choice *c)
{
	struct npu_graph *g = c->g;
	const struct npu_gquant **q = c->q;

	for (unsigned int i = 0; i < g->num_inputs; i++)
		if (is_codes(g->inputs[i]))
			q[g->inputs[i]->id] = said_by_readers(c, g->inputs[i]);
	for (unsigned int i = 0; i < g->num_nodes; i++) {
		const struct npu_gnode *n = g->nodes[i];
		const struct npu_gtensor *y = n->num_outputs ? n->outputs[0] : NULL;

		if (n->dead || !is_codes(y))
			continue;
		if (n->op == NPU_GOP_QuantizeLinear) {
			q[y->id] = whole_quant(c, n);
			continue;
		}
		if (!moves_codes(n))
			continue;
		q[y->id] = q[n->inputs[0]->id];
		for (unsigned int k = 1; k < num_moved(n); k++)
			if (!npu_gquant_equal(q[y->id], q[n->inputs[k]->id]))
				q[y->id] = NULL;
	}
}

/* @n reads @t as what was proposed. */
static bool reader_agrees(const struct choice *c, const struct npu_gnode *n,
			  const struct npu_gtensor *t)
{
	const struct npu_gquant *own;

	if (n->op == NPU_GOP_DequantizeLinear && n->inputs[0] == t) {
		own = whole_quant(c, n);
		return own && npu_gquant_equal(own, c->q[t->id]);
	}
	if (!moves_codes(n) || !is_codes(n->outputs[0]))
		return false;
	for (unsigned int k = num_moved(n); k < n->num_inputs; k++)
		if (n->inputs[k] == t)
			return false;
	return npu_gquant_equal(c->q[n->outputs[0]->id], c->q[t->id]);
}

static bool stands(const struct choice *c, const struct npu_gtensor *t)
{
	const struct npu_gnode *from = t->producer;

	for (unsigned int k = 0; k < t->num_consumers; k++)
		if (!reader_agrees(c, t->consumer[k], t))
			return false;
	for (unsigned int k = 0; from && moves_codes(from) && k < num_moved(from); k++)
		if (!c->q[from->inputs[k]->id])
			return false;
	return true;
}

/*
 * Take back what a reader, or a tensor that it was moved from, contradicts. Against the order of
 * the graph and then along it, which is the way such news travel. True: something was.
 */
static bool withdraw(struct choice *c)
{
	bool did = false;

	for (unsigned int i = 0; i < 2 * c->g->num_nodes; i++) {
		unsigned int at =
			i < c->g->num_nodes ? c->g->num_nodes - 1 - i : i - c->g->num_nodes;
		const struct npu_gnode *n = c->g->nodes[at];
		const struct npu_gtensor *t = n->dead || !n->num_outputs ? NULL : n->outputs[0];

		if (!t || !c->q[t->id] || stands(c, t))
			continue;
		c->q[t->id] = NULL;
		did = true;
	}
	for (unsigned int i = 0; i < c->g->num_inputs; i++) {
		const struct npu_gtensor *t = c->g->inputs[i];

		if (!c->q[t->id] || stands(c, t))
			continue;
		c->q[t->id] = NULL;
		did = true;
	}
	return did;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static bool has_source(const struct npu_gnode *n, const char *name)
{
	for (unsigned int i = 0; i < n->num_sources; i++)
		if (n->sources[i] == name)
			return true;
	return false;
}

/* In front, so that messages about @to still name the model's own node. */
static int lead_sources(struct npu_graph *g, struct npu_gnode *to, const struct npu_gnode *from)
{
	const char **all = npu_arena_array(&g->arena, (size_t)to->num_sources + from->num_sources,
					   sizeof(*all));
	unsigned int count = 0;

	if (!all)
		return -ENOMEM;
	for (unsigned int i = 0; i < from->num_sources; i++)
		if (!has_source(to, from->sources[i]))
			all[count++] = from->sources[i];
	for (unsigned int i = 0; i < to->num_sources; i++)
		all[count++] = to->sources[i];
	to->sources = all;
	to->num_sources = count;
	return 0;
}

/* Readers of the reals read the codes; where that cannot be, @de stays, as a cast. */
static int bypass(struct npu_graph *g, struct npu_gnode *de)
{
	struct npu_gtensor *codes = de->inputs[0], *y = de->outputs[0];

	for (unsigned int i = 0; i < y->num_consumers;) {
		struct npu_gnode *c = y->consumer[i];

		if (!may_read_codes(c)) {
			i++;
			continue;
		}
		if (lead_sources(g, c, de))
			return -ENOMEM;
		for (unsigned int k = 0; k < c->num_inputs; k++)
			if (c->inputs[k] == y && npu_gnode_set_input(g, c, k, codes))
				return -ENOMEM;
	}
	if (!y->num_consumers && !y->is_output) {
		npu_graph_remove(g, de);
		return 0;
	}
	de->op = NPU_GOP_Cast;
	de->num_attrs = 0;
	npu_gnode_trim_inputs(de, 1);
	return 0;
}

/* The DequantizeLinear nodes behind a quantized tensor go. */
static int bypass_all(struct npu_graph *g, struct npu_gtensor *t)
{
	for (unsigned int i = 0; i < t->num_consumers;) {
		struct npu_gnode *de = t->consumer[i];
		int err;

		if (de->op != NPU_GOP_DequantizeLinear) {
			i++;
			continue;
		}
		err = bypass(g, de);
		if (err)
			return err;
		i = 0;	/* the list has changed */
	}
	return 0;
}

/* A QuantizeLinear whose result is a quantized tensor: into the node before it, or a cast. */
static int absorb(struct npu_graph *g, struct npu_gnode *q)
{
	struct npu_gtensor *x = q->inputs[0], *y = q->outputs[0];
	struct npu_gnode *n = x->producer;

	if (n && n->outputs[0] == x && npu_gtensor_only_consumer(x) == q && !x->quant &&
	    npu_gtensor_is_real(x) && may_write_codes(n)) {
		if (lead_sources(g, n, q))
			return -ENOMEM;
		npu_graph_remove(g, q);
		x->producer = NULL;
		n->outputs[0] = y;
		y->producer = n;
		return 0;
	}
	q->op = NPU_GOP_Cast;
	q->num_attrs = 0;
	npu_gnode_trim_inputs(q, 1);
	return 0;
}

int npu_pass_qdq(struct npu_graph *g, struct npu_diag *diag)
{
	struct choice c;
	int err = choice_init(&c, g);

	(void)diag;
	if (err)
		return err;
	propose(&c);
	while (withdraw(&c))
		;
	for (unsigned int i = 0; i < g->num_tensors; i++)
		if (c.q[g->tensors[i]->id])
			g->tensors[i]->quant = c.q[g->tensors[i]->id];
	for (unsigned int i = 0; i < g->num_tensors && !err; i++)
		if (c.q[g->tensors[i]->id])
			err = bypass_all(g, g->tensors[i]);
	for (unsigned int i = 0; i < g->num_nodes && !err; i++) {
		struct npu_gnode *n = g->nodes[i];

		if (!n->dead && n->op == NPU_GOP_QuantizeLinear && n->outputs[0]->quant)
			err = absorb(g, n);
	}
	return err;
}
