// SPDX-License-Identifier: MIT
/*
 * Moves what follows a node into its epilogue, in the hardware's order: activation, scalar
 * multiply-add, residual, second activation. Only a result that has a single reader is fused, so
 * nothing is computed twice.
 */
#include <errno.h>

#include "compiler/fold.h"
#include "compiler/pass.h"

static bool full_epilogue(const struct npu_gnode *n)
{
	return n->op == NPU_GOP_Conv || n->op == NPU_GOP_ConvTranspose ||
	       n->op == NPU_GOP_MatMul ||
	       ((n->op == NPU_GOP_ConvInteger || n->op == NPU_GOP_MatMulInteger) &&
		npu_gnode_in(n, 4));	/* with a scale, its result is real */
}

static bool act_only(const struct npu_gnode *n)
{
	switch (n->op) {
	case NPU_GOP_Add:
	case NPU_GOP_Sub:
	case NPU_GOP_Mul:
	case NPU_GOP_Div:
	case NPU_GOP_Max:
	case NPU_GOP_Min: return true;
	default:
		return false;
	}
}

/* @n takes over the result and the sources of its consumer @c, which goes away. */
static int absorb(struct npu_graph *g, struct npu_gnode *n, struct npu_gnode *c)
{
	struct npu_gtensor *out = c->outputs[0];

	if (npu_gnode_take_sources(g, n, c))
		return -ENOMEM;
	npu_graph_remove(g, c);
	n->outputs[0]->producer = NULL;
	n->outputs[0] = out;
	out->producer = n;
	return 1;
}

static int fuse_act(struct npu_graph *g, struct npu_gnode *n, struct npu_gnode *c)
{
	struct npu_gact act = c->ep.act;
	struct npu_gtensor *slope = act.kind == NPU_GA_PRELU ? c->inputs[act.slope] : NULL;
	bool first = npu_gnode_plain(n);

	if (n->ep.act2.kind || (!first && !full_epilogue(n)) ||
	    (slope && (!first || !full_epilogue(n))))
		return 0;
	if (slope) {
		/* behind the bias, present or not */
		act.slope = (int)(n->num_inputs < 3 ? 3 : n->num_inputs);
		if (npu_gnode_set_input(g, n, (unsigned int)act.slope, slope))
			return -ENOMEM;
	}
	if (first)
		n->ep.act = act;
	else
		n->ep.act2 = act;
	return absorb(g, n, c);
}

static int fuse_affine(struct npu_graph *g, struct npu_gnode *n, struct npu_gnode *c, float v)
{
	struct npu_gepilogue *ep = &n->ep;

	if (!full_epilogue(n) || ep->res_op || ep->act2.kind)
		return 0;
	if (c->op == NPU_GOP_Mul) {
		ep->post_mul *= v;
		ep->post_add *= v;
	} else {
		ep->post_add += v;
	}
	ep->has_affine = true;
	return absorb(g, n, c);
}

static bool takes_residual(const struct npu_gnode *n)
{
	return full_epilogue(n) && !n->ep.res_op && !n->ep.act2.kind;
}

/*
 * c = n + r or n * r; when r comes from a node that could do it as well, the later one of the two
 * does.
 */
static int fuse_residual(struct npu_graph *g, struct npu_gnode *n, struct npu_gnode *c)
{
	struct npu_gtensor *y = n->outputs[0], *r = c->inputs[c->inputs[0] == y];
	struct npu_gnode *other = r->producer;
	unsigned int at = n->num_inputs < 3 ? 3 : n->num_inputs;

	/*
	 * a constant picture is better off in an Add of its own, which may be laid out like any
	 * other
	 */
	if (!takes_residual(n) || r == y || npu_gtensor_is_const(r) || r->type != y->type ||
	    !npu_gtensor_same_shape(r, y))
		return 0;
	if (other && other->mark > n->mark && takes_residual(other) &&
	    npu_gtensor_only_consumer(r) == c)
		return 0;
	if (npu_gnode_set_input(g, n, at, r))
		return -ENOMEM;
	n->ep.res_op = c->op == NPU_GOP_Add ? NPU_GR_ADD : NPU_GR_MUL;
	n->ep.res = (int)at;
	return absorb(g, n, c);
}

/* 1 when something was fused, 0 when not, -ENOMEM. */
static int fuse_next(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gnode *c = npu_gtensor_only_consumer(n->outputs[0]);
	unsigned int index;
	float v;

	if (!c || c->outputs[0]->type != n->outputs[0]->type ||
	    !npu_gtensor_same_shape(c->outputs[0], n->outputs[0]))
		return 0;
	if (c->op == NPU_GOP_Activation)
		return c->inputs[0] == n->outputs[0] ? fuse_act(g, n, c) : 0;
	if ((c->op != NPU_GOP_Mul && c->op != NPU_GOP_Add) || !npu_gnode_plain(c))
		return 0;
	if (npu_gnode_scalar_operand(c, &v, &index))
		return fuse_affine(g, n, c, v);
	return fuse_residual(g, n, c);
}

int npu_pass_fuse(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i;
	int did;

	for (i = 0; i < g->num_nodes; i++)
		g->nodes[i]->mark = i;
	for (i = 0; i < g->num_nodes; i++) {
		struct npu_gnode *n = g->nodes[i];

		if (n->dead || (!full_epilogue(n) && !act_only(n)) ||
		    !npu_fold_is_float(n->outputs[0]->type))
			continue;
		do
			did = fuse_next(g, n);
		while (did > 0);
		if (did < 0)
			return did;
	}
	return 0;
}
