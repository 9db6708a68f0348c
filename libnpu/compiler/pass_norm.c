// SPDX-License-Identifier: MIT
/* Layer and RMS normalization and softmax that a model writes out in arithmetic. */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass.h"

static struct npu_gnode *maker(const struct npu_gtensor *t, enum npu_gop op)
{
	struct npu_gnode *n = t ? t->producer : NULL;

	return n && n->op == op && npu_gnode_plain(n) ? n : NULL;
}

/* A mean over the last dimensions, kept: the first of them, or -1. */
static int trailing_axes(const struct npu_gnode *n)
{
	int rank = n->inputs[0]->rank;
	size_t count, i;
	const int64_t *axes = npu_gnode_ints(n, "axes", &count);

	if (!npu_gnode_int(n, "keepdims", 0) || !count || count > (size_t)rank)
		return -1;
	for (i = 0; i < count; i++)
		if (axes[i] != rank - (int64_t)count + (int64_t)i)
			return -1;
	return rank - (int)count;
}

/* t = sqrt(mean(square(d)) + eps): the mean node */
static struct npu_gnode *root_mean_square(const struct npu_gtensor *t, struct npu_gtensor **d,
					  float *eps)
{
	struct npu_gnode *root = maker(t, NPU_GOP_Sqrt), *add, *mean, *square;
	struct npu_gtensor *inner;
	unsigned int index;

	add = root ? maker(root->inputs[0], NPU_GOP_Add) : NULL;
	inner = add ? npu_gnode_scalar_operand(add, eps, &index) : NULL;
	mean = inner ? maker(inner, NPU_GOP_ReduceMean) : NULL;
	square = mean ? maker(mean->inputs[0], NPU_GOP_Mul) : NULL;
	if (!square || square->inputs[0] != square->inputs[1] || !(*eps > 0))
		return NULL;
	*d = square->inputs[0];
	return mean;
}

/* d = x - mean(x) over the same axes as @var: x, or NULL */
static struct npu_gtensor *centered(const struct npu_gtensor *d, const struct npu_gnode *var)
{
	struct npu_gnode *sub = maker(d, NPU_GOP_Sub), *mean;

	mean = sub ? maker(sub->inputs[1], NPU_GOP_ReduceMean) : NULL;
	if (!mean || mean->inputs[0] != sub->inputs[0] || trailing_axes(mean) != trailing_axes(var))
		return NULL;
	return sub->inputs[0];
}

/* Some exporters write the difference twice. */
static bool same_difference(const struct npu_gtensor *a, const struct npu_gtensor *b)
{
	const struct npu_gnode *na = maker(a, NPU_GOP_Sub), *nb = maker(b, NPU_GOP_Sub);

	return a == b ||
	       (na && nb && na->inputs[0] == nb->inputs[0] && na->inputs[1] == nb->inputs[1]);
}

/* The numerator and the root of num / root or num * (1 / root). */
static bool quotient(const struct npu_gnode *n, unsigned int side, struct npu_gtensor **num,
		     struct npu_gtensor **root)
{
	struct npu_gnode *inv;

	*num = n->inputs[side];
	if (n->op == NPU_GOP_Div) {
		*root = n->inputs[1];
		return side == 0;
	}
	inv = n->op == NPU_GOP_Mul ? maker(n->inputs[!side], NPU_GOP_Reciprocal) : NULL;
	*root = inv ? inv->inputs[0] : NULL;
	return inv != NULL;
}

/* Constant that covers exactly the normalized dimensions of @y. */
static bool covers(const struct npu_gtensor *k, const struct npu_gtensor *y, int axis)
{
	int i;

	if (!npu_gtensor_is_const(k) || k->type != y->type || k->rank > y->rank ||
	    k->rank < y->rank - axis)
		return false;
	for (i = 0; i < k->rank; i++) {
		int d = y->rank - k->rank + i;

		if (d < axis ? k->dim[i].base != 1 : !npu_dim_equal(k->dim[i], y->dim[d]))
			return false;
	}
	return true;
}

/*
 * The Mul or Add that follows @t with a constant over the normalized dimensions; *k is the
 * constant.
 */
static struct npu_gnode *follow(const struct npu_gtensor *t, enum npu_gop op, int axis,
				struct npu_gtensor **k)
{
	struct npu_gnode *c = npu_gtensor_only_consumer(t);

	if (!c || c->op != op || !npu_gnode_plain(c) || c->num_inputs != 2)
		return NULL;
	*k = c->inputs[c->inputs[0] == t];
	return covers(*k, t, axis) && npu_gtensor_same_shape(t, c->outputs[0]) ? c : NULL;
}

/*
 * The parameter as the operator wants it: of exactly the normalized shape; made of ones when there
 * is none.
 */
static struct npu_gtensor *param(struct npu_graph *g, const struct npu_gnode *n,
				 const struct npu_gtensor *y, int axis, const struct npu_gtensor *k)
{
	int64_t dims[NPU_GRAPH_MAX_RANK], count, i;
	struct npu_gtensor *t;
	int d;

	for (d = axis; d < y->rank; d++)
		dims[d - axis] = y->dim[d].base;
	t = npu_graph_const(g, k ? k->name : n->name, y->type, y->rank - axis, dims,
			    k ? k->data : NULL);
	count = t ? npu_gtensor_const_elems(t) : 0;
	for (i = 0; !k && i < count; i++)
		npu_fold_put(t, (size_t)i, 1);
	return t;
}

static int take_inner(struct npu_graph *g, struct npu_gnode *to, struct npu_gnode *n,
		      const struct npu_gtensor *x, unsigned int depth)
{
	unsigned int i;
	int err;

	if (n->mark == to->id)
		return 0;
	n->mark = to->id;
	for (i = 0; i < n->num_inputs && depth; i++) {
		if (!n->inputs[i] || n->inputs[i] == x || !n->inputs[i]->producer)
			continue;
		err = take_inner(g, to, n->inputs[i]->producer, x, depth - 1);
		if (err)
			return err;
	}
	return npu_gnode_take_sources(g, to, n);
}

/* @last is the final node of the pattern: its result becomes the new node's. */
static int finish(struct npu_graph *g, struct npu_gnode *made, struct npu_gnode *root,
		  struct npu_gnode *mul, struct npu_gnode *add, const struct npu_gtensor *x)
{
	struct npu_gnode *last = add ? add : mul ? mul : root;
	int err = 0;

	made->num_sources = 0;
	made->id = g->next_node_id++;	/* the mark of visited nodes */
	err = take_inner(g, made, root, x, 6);
	if (!err && mul)
		err = npu_gnode_take_sources(g, made, mul);
	if (!err && add)
		err = npu_gnode_take_sources(g, made, add);
	return err ? err : npu_graph_substitute(g, last, made);
}

static int match_norm(struct npu_graph *g, struct npu_gnode *n, unsigned int side)
{
	struct npu_gtensor *num, *root, *d, *x, *gamma = NULL, *beta = NULL, *ins[3];
	struct npu_gnode *var, *mul, *add, *made;
	bool layer;
	float eps;
	int axis, i;

	if (!quotient(n, side, &num, &root) || !npu_gtensor_same_shape(num, n->outputs[0]))
		return 0;
	var = root_mean_square(root, &d, &eps);
	if (!var || !same_difference(num, d))
		return 0;
	axis = trailing_axes(var);
	x = axis >= 0 ? centered(d, var) : NULL;
	layer = x != NULL;
	x = layer ? x : d;
	if (axis < 0 || !npu_gtensor_same_shape(x, n->outputs[0]))
		return 0;
	for (i = axis; i < x->rank; i++)
		if (!npu_dim_is_const(x->dim[i]))
			return 0;
	mul = follow(n->outputs[0], NPU_GOP_Mul, axis, &gamma);
	add = layer ? follow(mul ? mul->outputs[0] : n->outputs[0], NPU_GOP_Add, axis, &beta) :
		      NULL;
	ins[0] = x;
	ins[1] = param(g, n, x, axis, mul ? gamma : NULL);
	ins[2] = add ? param(g, n, x, axis, beta) : NULL;
	if (!ins[1] || (add && !ins[2]))
		return -ENOMEM;
	made = npu_graph_insert(g, layer ? NPU_GOP_LayerNormalization : NPU_GOP_RMSNormalization, n,
				ins, add ? 3 : 2, n->outputs[0]);
	if (!made || npu_gnode_set_int(g, made, "axis", axis) ||
	    npu_gnode_set_float(g, made, "epsilon", eps))
		return -ENOMEM;
	return finish(g, made, n, mul, add, x);
}

/* exp(x) / sum(exp(x)), with or without the maximum taken off before */
static int match_softmax(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gnode *sum = maker(n->inputs[1], NPU_GOP_ReduceSum),
			 *e = maker(n->inputs[0], NPU_GOP_Exp), *sub, *max;
	struct npu_gtensor *x;
	struct npu_gnode *made;
	size_t count, other;
	const int64_t *axes, *max_axes;

	if (!sum || !e || sum->inputs[0] != n->inputs[0] || !npu_gnode_int(sum, "keepdims", 0))
		return 0;
	axes = npu_gnode_ints(sum, "axes", &count);
	if (count != 1)
		return 0;
	x = e->inputs[0];
	sub = maker(x, NPU_GOP_Sub);
	max = sub ? maker(sub->inputs[1], NPU_GOP_ReduceMax) : NULL;
	max_axes = max ? npu_gnode_ints(max, "axes", &other) : NULL;
	if (max && max->inputs[0] == sub->inputs[0] && other == 1 && max_axes[0] == axes[0])
		x = sub->inputs[0];
	made = npu_graph_insert(g, NPU_GOP_Softmax, n, &x, 1, n->outputs[0]);
	if (!made || npu_gnode_set_int(g, made, "axis", axes[0]))
		return -ENOMEM;
	made->opset = 13;
	return finish(g, made, n, NULL, NULL, x);
}

int npu_pass_norm(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i, count = g->num_nodes, side;
	int err = 0;

	for (i = 0; i < count; i++)
		g->nodes[i]->mark = UINT32_MAX;
	for (i = 0; i < count && !err; i++) {
		struct npu_gnode *n = g->nodes[i];

		if (n->dead || (n->op != NPU_GOP_Div && n->op != NPU_GOP_Mul) ||
		    !npu_gnode_plain(n) || !npu_fold_is_float(n->outputs[0]->type))
			continue;
		for (side = 0; side < 2 && !n->dead && !err; side++)
			err = match_norm(g, n, side);
		if (!err && !n->dead && n->op == NPU_GOP_Div)
			err = match_softmax(g, n);
	}
	if (!err)
		err = npu_graph_sort(g, diag);
	if (!err)
		npu_graph_sweep(g);
	return err;
}
