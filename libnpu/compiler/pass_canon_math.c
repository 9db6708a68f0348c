// SPDX-License-Identifier: MIT
/* Arithmetic, reductions, softmax, batch normalization. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/dims.h"
#include "compiler/fold.h"
#include "compiler/pass_canon.h"

/*
 * Every element is a power of two of moderate size, so that multiplying by the reciprocal is exact.
 */
static bool powers_of_two(const struct npu_gtensor *t)
{
	int64_t count = npu_gtensor_const_elems(t), i;
	int exp;

	for (i = 0; i < count; i++) {
		double m = frexp(npu_gtensor_elem(t, (size_t)i), &exp);

		if ((m != 0.5 && m != -0.5) || exp < -100 || exp > 100)
			return false;
	}
	return count > 0;
}

/* x op c -> x op2 f(c) with a new constant of the same shape. */
static int rewrite_const(struct npu_graph *g, struct npu_gnode *n, enum npu_gop op, bool reciprocal)
{
	const struct npu_gtensor *c = n->inputs[1];
	int64_t dims[NPU_GRAPH_MAX_RANK], count = npu_gtensor_const_elems(c), i;
	struct npu_gtensor *t;
	int k;

	for (k = 0; k < c->rank; k++)
		dims[k] = c->dim[k].base;
	t = npu_graph_const(g, c->name, c->type, c->rank, dims, NULL);
	if (!t)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		double v = npu_gtensor_elem(c, (size_t)i);

		npu_fold_put(t, (size_t)i, reciprocal ? 1 / v : -v);
	}
	n->op = op;
	return npu_gnode_set_input(g, n, 1, t);
}

static int canon_pow(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gtensor *pair[2] = { n->inputs[0], n->inputs[0] };
	struct npu_gnode *square;
	float e;
	double v;

	if (!npu_gtensor_scalar(n->inputs[1], &v) || !npu_fold_is_float(n->outputs[0]->type) ||
	    !npu_gtensor_same_shape(n->inputs[0], n->outputs[0]))
		return 0;
	e = (float)v;
	if (e == 0.5f) {
		n->op = NPU_GOP_Sqrt;
		npu_gnode_trim_inputs(n, 1);
		return 0;
	}
	if (e == -1) {
		n->op = NPU_GOP_Reciprocal;
		npu_gnode_trim_inputs(n, 1);
		return 0;
	}
	if (e != 2 && e != 3)
		return 0;
	if (e == 3) {
		square = npu_graph_insert(g, NPU_GOP_Mul, n, pair, 2, n->outputs[0]);
		if (!square || npu_gnode_set_input(g, n, 0, square->outputs[0]))
			return -ENOMEM;
	}
	n->op = NPU_GOP_Mul;
	return npu_gnode_set_input(g, n, 1, pair[1]);
}

int npu_canon_binary(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	const struct npu_gtensor *c = n->inputs[1];

	if (n->op == NPU_GOP_Pow)
		return canon_pow(g, n);
	if (!npu_gtensor_is_const(c) || !npu_fold_is_float(c->type))
		return 0;
	if (n->op == NPU_GOP_Sub)
		return rewrite_const(g, n, NPU_GOP_Add, false);
	if (powers_of_two(c))
		return rewrite_const(g, n, NPU_GOP_Mul, true);
	return 0;
}

static int chain(struct npu_graph *g, struct npu_gnode *n, enum npu_gop op,
		 struct npu_gtensor **result)
{
	struct npu_gtensor *pair[2] = { n->inputs[0], NULL };
	struct npu_gnode *step;
	unsigned int i;

	for (i = 1; i < n->num_inputs; i++) {
		pair[1] = n->inputs[i];
		step = npu_graph_insert(g, op, n, pair, 2, n->outputs[0]);
		if (!step || npu_dims_broadcast(pair[0]->dim, pair[0]->rank, pair[1]->dim,
						pair[1]->rank, step->outputs[0]->dim))
			return -ENOMEM;
		step->outputs[0]->rank = pair[0]->rank > pair[1]->rank ? pair[0]->rank :
									 pair[1]->rank;
		pair[0] = step->outputs[0];
	}
	*result = pair[0];
	return 0;
}

int npu_canon_variadic(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	enum npu_gop op = n->op == NPU_GOP_Sum || n->op == NPU_GOP_Mean ? NPU_GOP_Add : n->op;
	struct npu_gtensor *pair[2];
	struct npu_gnode *scale;

	if (n->num_inputs == 2 && n->op != NPU_GOP_Mean) {
		n->op = op;
		return 0;
	}
	if (chain(g, n, op, &pair[0]))
		return -ENOMEM;
	if (n->op == NPU_GOP_Mean && n->num_inputs > 1) {
		/* divided, as the runtime does it: a reciprocal would round twice */
		pair[1] = npu_canon_scalar(g, n, n->outputs[0]->type, (float)n->num_inputs);
		scale = pair[1] ? npu_graph_insert(g, NPU_GOP_Div, n, pair, 2, n->outputs[0]) :
				  NULL;
		if (!scale || npu_canon_binary(g, scale, diag))
			return -ENOMEM;
		pair[0] = scale->outputs[0];
	}
	if (npu_graph_replace(g, n->outputs[0], pair[0]))
		return -ENOMEM;
	npu_graph_remove(g, n);
	return 0;
}

/* Before operator set 13 softmax ran over all dimensions from `axis` on, as one. */
int npu_canon_softmax(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	struct npu_gtensor *x = n->inputs[0], *y = n->outputs[0];
	int64_t axis = npu_gnode_int(n, "axis", 0);
	struct npu_gnode *flat, *soft, *back;
	struct npu_dim dims[2];
	int i;

	for (i = (int)axis + 1; i < x->rank && npu_dim_equal(x->dim[i], npu_dim_const(1)); i++)
		;
	if (n->opset >= 13 || i >= x->rank)
		return 0;
	/* leading ones make the last axis the whole row */
	if (npu_dims_product(x->dim, (int)axis, &dims[0]) ||
	    npu_dims_product(x->dim + axis, x->rank - (int)axis, &dims[1]))
		return npu_diag_node(diag, -EDOM, n, "axis",
				     "the flattened size is not linear in one symbol");
	flat = npu_graph_insert(g, NPU_GOP_Reshape, n, &x, 1, x);
	if (!flat)
		return -ENOMEM;
	flat->outputs[0]->rank = 2;
	memcpy(flat->outputs[0]->dim, dims, sizeof(dims));
	soft = npu_graph_insert(g, n->op, n, flat->outputs, 1, flat->outputs[0]);
	if (!soft || npu_gnode_set_int(g, soft, "axis", 1))
		return -ENOMEM;
	back = npu_graph_insert(g, NPU_GOP_Reshape, n, soft->outputs, 1, y);
	return back ? npu_graph_substitute(g, n, back) : -ENOMEM;
}

/* Mean and maximum over all of a picture have an instruction of their own. */
int npu_canon_reduce(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	struct npu_gtensor *x = n->inputs[0], *y = n->outputs[0];
	bool keep = npu_gnode_int(n, "keepdims", 1) != 0;
	struct npu_gnode *pool, *shape;
	size_t count;
	const int64_t *axes = npu_gnode_ints(n, "axes", &count);
	enum npu_gop op = n->op == NPU_GOP_ReduceMean ? NPU_GOP_GlobalAveragePool :
							NPU_GOP_GlobalMaxPool;

	npu_gnode_trim_inputs(n, 1);
	if (!count) {
		/* nothing to reduce over: an empty list with noop_with_empty_axes, or a scalar */
		if (n->op != NPU_GOP_ReduceMean && n->op != NPU_GOP_ReduceSum &&
		    n->op != NPU_GOP_ReduceMax && n->op != NPU_GOP_ReduceMin &&
		    n->op != NPU_GOP_ReduceProd)
			return npu_diag_node(diag, -EOPNOTSUPP, n, "axes",
					     "is empty, which is not supported here");
		n->op = NPU_GOP_Reshape;
		n->num_attrs = 0;
		return 0;
	}
	if ((n->op != NPU_GOP_ReduceMean && n->op != NPU_GOP_ReduceMax) || x->rank != 4 ||
	    count != 2 || axes[0] != 2 || axes[1] != 3 || !npu_fold_is_float(x->type))
		return 0;
	if (keep) {
		n->op = op;
		n->num_attrs = 0;
		return 0;
	}
	pool = npu_graph_insert(g, op, n, &x, 1, x);
	if (!pool)
		return -ENOMEM;
	pool->outputs[0]->dim[2] = pool->outputs[0]->dim[3] = npu_dim_const(1);
	shape = npu_graph_insert(g, NPU_GOP_Reshape, n, pool->outputs, 1, y);
	return shape ? npu_graph_substitute(g, n, shape) : -ENOMEM;
}

/*
 * y = x * s + t with s = gamma / sqrt(var + eps), t = beta - mean * s; the scale pass moves both
 * into weights.
 */
int npu_canon_batchnorm(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	double eps = (double)npu_gnode_float(n, "epsilon", 1e-5f), s;
	struct npu_gtensor *pair[2] = { n->inputs[0], NULL }, *shift;
	int64_t dims[NPU_GRAPH_MAX_RANK], channels = n->inputs[1]->dim[0].base, c;
	struct npu_gnode *mul, *add;
	int i, rank = n->inputs[0]->rank - 1;

	for (i = 1; i < 5; i++)
		if (!npu_gtensor_is_const(n->inputs[i]) || !npu_fold_is_float(n->inputs[i]->type))
			return npu_diag_node(diag, -EOPNOTSUPP, n, NULL,
					     "input %d '%s' must be a constant", i,
					     n->inputs[i]->name);
	for (i = 0; i < rank; i++)
		dims[i] = i ? 1 : channels;
	pair[1] = npu_graph_const(g, n->inputs[1]->name, n->outputs[0]->type, rank, dims, NULL);
	shift = npu_graph_const(g, n->inputs[2]->name, n->outputs[0]->type, rank, dims, NULL);
	if (!pair[1] || !shift)
		return -ENOMEM;
	for (c = 0; c < channels; c++) {
		size_t k = (size_t)c;

		s = npu_gtensor_elem(n->inputs[1], k) /
		    sqrt(npu_gtensor_elem(n->inputs[4], k) + eps);
		npu_fold_put(pair[1], k, s);
		npu_fold_put(shift, k,
			     npu_gtensor_elem(n->inputs[2], k) -
				     npu_gtensor_elem(n->inputs[3], k) * s);
	}
	mul = npu_graph_insert(g, NPU_GOP_Mul, n, pair, 2, n->outputs[0]);
	if (!mul)
		return -ENOMEM;
	pair[0] = mul->outputs[0];
	pair[1] = shift;
	add = npu_graph_insert(g, NPU_GOP_Add, n, pair, 2, n->outputs[0]);
	if (!add)
		return -ENOMEM;
	add->num_sources = 0;	/* one model node; it is counted with the multiplication */
	return npu_graph_substitute(g, n, add);
}
