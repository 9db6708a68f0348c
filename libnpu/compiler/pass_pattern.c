// SPDX-License-Identifier: MIT
/*
 * Activations that a model writes out in arithmetic. A product tree is flattened into a scalar and
 * at most two factors; arguments of clip, erf and tanh are read as polynomials of the other factor.
 * So all spellings of x * clip(x + 3, 0, 6) / 6, 0.5 * x * (1 + erf(x / sqrt 2)) and the like are
 * met by one rule each.
 */
#include <errno.h>
#include <math.h>

#include "compiler/fold.h"
#include "compiler/pass.h"

#define MAX_FACTORS	4

struct product {
	double scale;
	struct npu_gtensor *factor[MAX_FACTORS];
	unsigned int count;
};

struct poly {
	double c[4];
};

static bool near(double a, double b)
{
	return fabs(a - b) <= 2e-6 * fabs(b);
}

/* ---- products ---- */

static bool product_expand(struct product *p, struct npu_gtensor *t, unsigned int depth, bool root)
{
	struct npu_gnode *n = t->producer;
	double v;

	if (npu_gtensor_is_const(t) && npu_fold_is_float(t->type) && npu_gtensor_scalar(t, &v)) {
		p->scale *= v;
		return true;
	}
	/* a product that others use too is a value of its own, not a detail of this tree */
	if (n && depth && (root || npu_gtensor_only_consumer(t)) && npu_gnode_plain(n)) {
		if (n->op == NPU_GOP_Mul)
			return product_expand(p, n->inputs[0], depth - 1, false) &&
			       product_expand(p, n->inputs[1], depth - 1, false);
		if (n->op == NPU_GOP_Div && npu_gtensor_scalar(n->inputs[1], &v) && v != 0) {
			p->scale /= v;
			return product_expand(p, n->inputs[0], depth - 1, false);
		}
	}
	if (p->count == MAX_FACTORS)
		return false;
	p->factor[p->count++] = t;
	return true;
}

/* ---- polynomials ---- */

static bool poly_mul(const struct poly *a, const struct poly *b, struct poly *out)
{
	int i, j;

	*out = (struct poly){ { 0 } };
	for (i = 0; i < 4; i++) {
		for (j = 0; j < 4; j++) {
			if (a->c[i] == 0 || b->c[j] == 0)
				continue;
			if (i + j > 3)
				return false;
			out->c[i + j] += a->c[i] * b->c[j];
		}
	}
	return true;
}

static bool poly_of(const struct npu_gtensor *t, const struct npu_gtensor *x, unsigned int depth,
		    struct poly *out)
{
	const struct npu_gnode *n = t->producer;
	struct poly a, b;
	double v;
	int i;

	*out = (struct poly){ { 0 } };
	if (t == x) {
		out->c[1] = 1;
		return true;
	}
	if (npu_gtensor_is_const(t) && npu_fold_is_float(t->type) && npu_gtensor_scalar(t, &v)) {
		out->c[0] = v;
		return true;
	}
	if (!n || !depth || !npu_gnode_plain(n) || n->num_inputs != 2 ||
	    !poly_of(n->inputs[0], x, depth - 1, &a) || !poly_of(n->inputs[1], x, depth - 1, &b))
		return false;
	switch (n->op) {
	case NPU_GOP_Add: case NPU_GOP_Sub:
		for (i = 0; i < 4; i++)
			out->c[i] = n->op == NPU_GOP_Add ? a.c[i] + b.c[i] : a.c[i] - b.c[i];
		return true;
	case NPU_GOP_Mul:
		return poly_mul(&a, &b, out);
	case NPU_GOP_Div:
		if (b.c[0] == 0 || b.c[1] != 0 || b.c[2] != 0 || b.c[3] != 0)
			return false;
		for (i = 0; i < 4; i++)
			out->c[i] = a.c[i] / b.c[0];
		return true;
	default:
		return false;
	}
}

/* ---- the shapes that are looked for ---- */

static const struct npu_gnode *act_of(const struct npu_gtensor *t, enum npu_act_kind kind)
{
	const struct npu_gnode *n = t->producer;

	return n && n->op == NPU_GOP_Activation && n->ep.act.kind == kind ? n : NULL;
}

static const struct npu_gnode *op_of(const struct npu_gtensor *t, enum npu_gop op)
{
	const struct npu_gnode *n = t->producer;

	return n && n->op == op && npu_gnode_plain(n) ? n : NULL;
}

/* t = clip(c1 * x + c0, 0, h); x NULL: found as what is left when scalar steps are taken off. */
static bool hard_sigmoid(struct npu_gtensor *t, struct npu_gtensor **x, double scale, float *a,
			 float *b)
{
	const struct npu_gnode *clip = act_of(t, NPU_GA_CLIP);
	struct npu_gtensor *base, *next;
	unsigned int steps, index;
	struct poly p;
	double h;
	float v;

	if (!clip || clip->ep.act.a != 0 || !(clip->ep.act.b > 0) || isinf(clip->ep.act.b))
		return false;
	h = (double)clip->ep.act.b;
	base = *x ? *x : clip->inputs[0];
	for (steps = 0; !*x && steps < 3 && base->producer && npu_gnode_plain(base->producer) &&
			(base->producer->op == NPU_GOP_Add || base->producer->op == NPU_GOP_Mul ||
			 base->producer->op == NPU_GOP_Div);
	     steps++) {
		next = npu_gnode_scalar_operand(base->producer, &v, &index);
		if (!next || (base->producer->op == NPU_GOP_Div && index))
			break;
		base = next;
	}
	if (!near(h * scale, 1) || (!*x && !steps) || !poly_of(clip->inputs[0], base, 3, &p) ||
	    p.c[2] != 0 || p.c[3] != 0 || p.c[1] == 0)
		return false;
	*x = base;
	*a = (float)(p.c[1] / h);
	*b = (float)(p.c[0] / h);
	return true;
}

/* t = 1 + f(q(x)) with f erf or tanh */
static bool gelu_factor(const struct npu_gtensor *t, const struct npu_gtensor *x,
			enum npu_act_kind *kind)
{
	const struct npu_gnode *add = op_of(t, NPU_GOP_Add), *f;
	struct npu_gtensor *inner;
	unsigned int index;
	struct poly p;
	float one;

	inner = add ? npu_gnode_scalar_operand(add, &one, &index) : NULL;
	if (!inner || one != 1)
		return false;
	f = op_of(inner, NPU_GOP_Erf);
	if (f && poly_of(f->inputs[0], x, 3, &p) && p.c[0] == 0 && p.c[2] == 0 && p.c[3] == 0 &&
	    near(p.c[1], M_SQRT1_2)) {
		*kind = NPU_GA_GELU_ERF;
		return true;
	}
	f = act_of(inner, NPU_GA_TANH);
	if (f && poly_of(f->inputs[0], x, 6, &p) && p.c[0] == 0 && p.c[2] == 0 &&
	    near(p.c[1], 0.7978845608028654) && fabs(p.c[3] - 0.035677408136300125) < 1e-6) {
		*kind = NPU_GA_GELU_TANH;
		return true;
	}
	return false;
}

/* x * t * scale with a known t */
static bool gate(struct npu_gtensor *x, struct npu_gtensor *t, double scale, struct npu_gact *act)
{
	const struct npu_gnode *s;
	struct npu_gtensor *same = x;

	*act = (struct npu_gact){ .slope = -1 };
	s = act_of(t, NPU_GA_SIGMOID);
	if (s && s->inputs[0] == x && scale == 1) {
		act->kind = NPU_GA_SILU;
		return true;
	}
	s = act_of(t, NPU_GA_HARDSIGMOID);
	if (s && s->inputs[0] == x && scale == 1) {
		*act = s->ep.act;
		act->kind = NPU_GA_HARDSWISH;
		return true;
	}
	s = act_of(t, NPU_GA_TANH);
	if (s && act_of(s->inputs[0], NPU_GA_SOFTPLUS) && s->inputs[0]->producer->inputs[0] == x &&
	    scale == 1) {
		act->kind = NPU_GA_MISH;
		return true;
	}
	if (hard_sigmoid(t, &same, scale, &act->a, &act->b)) {
		act->kind = NPU_GA_HARDSWISH;
		return true;
	}
	return near(scale, 0.5) && gelu_factor(t, x, &act->kind);
}

static bool match_root(struct npu_gnode *n, struct npu_gtensor **x, struct npu_gact *act)
{
	struct product p = { .scale = 1 };

	*x = NULL;
	*act = (struct npu_gact){ .kind = NPU_GA_HARDSIGMOID, .slope = -1 };
	if (n->op == NPU_GOP_Activation)
		return n->ep.act.kind == NPU_GA_CLIP && n->ep.act.b == 1 &&
		       hard_sigmoid(n->outputs[0], x, 1, &act->a, &act->b);
	if ((n->op != NPU_GOP_Mul && n->op != NPU_GOP_Div) || !npu_gnode_plain(n) ||
	    !product_expand(&p, n->outputs[0], 4, true))
		return false;
	if (p.count == 1)
		return hard_sigmoid(p.factor[0], x, p.scale, &act->a, &act->b);
	if (p.count != 2)
		return false;
	*x = p.factor[0];
	if (gate(p.factor[0], p.factor[1], p.scale, act))
		return true;
	*x = p.factor[1];
	return gate(p.factor[1], p.factor[0], p.scale, act);
}

/*
 * Everything between @x and @n that goes away is named as a source of the new node, in execution
 * order.
 */
static int take_tree(struct npu_graph *g, struct npu_gnode *to, struct npu_gnode *n,
		     const struct npu_gtensor *x, unsigned int depth)
{
	unsigned int i;
	int err;

	for (i = 0; i < n->num_inputs && depth; i++) {
		struct npu_gtensor *t = n->inputs[i];

		if (!t || t == x || !t->producer || !npu_gtensor_only_consumer(t))
			continue;
		err = take_tree(g, to, t->producer, x, depth - 1);
		if (err)
			return err;
	}
	return npu_gnode_take_sources(g, to, n);
}

static int rewrite(struct npu_graph *g, struct npu_gnode *n, struct npu_gtensor *x,
		   const struct npu_gact *act)
{
	struct npu_gnode *made = npu_graph_node(g, NPU_GOP_Activation, NULL, &x, 1, NULL, 0);
	struct npu_gtensor **out = npu_arena_array(&g->arena, 1, sizeof(*out));
	int err;

	if (!made || !out)
		return -ENOMEM;
	err = take_tree(g, made, n, x, 6);
	if (err)
		return err;
	made->ep.act = *act;
	made->model_op = n->model_op;
	made->outputs = out;
	made->num_outputs = 1;
	out[0] = n->outputs[0];
	npu_graph_remove(g, n);
	out[0]->producer = made;
	return 0;
}

int npu_pass_pattern(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i, count = g->num_nodes;
	struct npu_gtensor *x;
	struct npu_gact act;
	int err;

	for (i = 0; i < count; i++) {
		struct npu_gnode *n = g->nodes[i];

		if (n->dead || !n->num_outputs || !n->outputs[0] ||
		    !npu_fold_is_float(n->outputs[0]->type) || !match_root(n, &x, &act) ||
		    !npu_gtensor_same_shape(x, n->outputs[0]))
			continue;
		err = rewrite(g, n, x, &act);
		if (err)
			return err;
	}
	err = npu_graph_sort(g, diag);
	if (!err)
		npu_graph_sweep(g);
	return err;
}
