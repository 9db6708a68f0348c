// SPDX-License-Identifier: MIT
/* Gemm becomes MatMul with a bias; Split becomes slices. */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass_canon.h"

/* A [r, c] constant, transposed and scaled. */
static struct npu_gtensor *scaled_matrix(struct npu_graph *g, const struct npu_gtensor *b,
					 bool transposed, double k)
{
	int64_t rows = b->dim[0].base, cols = b->dim[1].base, i, j;
	int64_t dims[2] = { transposed ? cols : rows, transposed ? rows : cols };
	struct npu_gtensor *t = npu_graph_const(g, b->name, b->type, 2, dims, NULL);

	for (i = 0; t && i < rows; i++)
		for (j = 0; j < cols; j++)
			npu_fold_put(t, (size_t)(transposed ? j * rows + i : i * cols + j),
				     npu_gtensor_elem(b, (size_t)(i * cols + j)) * k);
	return t;
}

/* A constant C that is the same for every row, as f32 [N] times beta. */
static struct npu_gtensor *row_bias(struct npu_graph *g, const struct npu_gtensor *c, int64_t n,
				    double beta)
{
	int64_t count = npu_gtensor_const_elems(c), i;
	struct npu_gtensor *t = npu_graph_const(g, c->name, NPU_GT_F32, 1, &n, NULL);

	for (i = 0; t && i < n; i++)
		npu_fold_put(t, (size_t)i, npu_gtensor_elem(c, count == 1 ? 0 : (size_t)i) * beta);
	return t;
}

static bool is_row(const struct npu_gtensor *c, struct npu_dim n)
{
	if (!npu_gtensor_is_const(c) || !npu_gtensor_is_real(c) || !npu_dim_is_const(n))
		return false;
	if (npu_gtensor_const_elems(c) == 1)
		return true;
	return npu_gtensor_const_elems(c) == n.base && npu_dim_equal(c->dim[c->rank - 1], n);
}

static struct npu_gnode *scale_by(struct npu_graph *g, struct npu_gnode *n, struct npu_gtensor *x,
				  float k)
{
	struct npu_gtensor *pair[2] = { x, npu_canon_scalar(g, n, x->type, k) };

	return pair[1] ? npu_graph_insert(g, NPU_GOP_Mul, n, pair, 2, x) : NULL;
}

/* + beta * C for a C that is no row of constants */
static int gemm_add(struct npu_graph *g, struct npu_gnode *n, struct npu_gtensor *c, float beta)
{
	struct npu_gtensor *y = n->outputs[0], *pair[2];
	struct npu_gnode *scaled, *add;

	if (beta != 1) {
		scaled = scale_by(g, n, c, beta);
		if (!scaled)
			return -ENOMEM;
		c = scaled->outputs[0];
	}
	/* the sum takes over the result, so consumers move before it is connected */
	pair[0] = npu_graph_tensor(g, NULL, y->name, y->type);
	if (!pair[0])
		return -ENOMEM;
	npu_gtensor_copy_shape(pair[0], y);
	pair[1] = c;
	n->outputs[0] = pair[0];
	pair[0]->producer = n;
	add = npu_graph_node(g, NPU_GOP_Add, NULL, pair, 2, &y, 1);
	if (!add)
		return -ENOMEM;
	add->model_op = n->model_op;
	return npu_gnode_take_sources(g, add, n);
}

int npu_canon_gemm(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	float alpha = npu_gnode_float(n, "alpha", 1), beta = npu_gnode_float(n, "beta", 1);
	bool ta = npu_gnode_int(n, "transA", 0) != 0, tb = npu_gnode_int(n, "transB", 0) != 0;
	struct npu_gtensor *b = n->inputs[1], *c = npu_gnode_in(n, 2), *bias = NULL;
	struct npu_gnode *scaled;
	int err = 0;

	n->op = NPU_GOP_MatMul;
	n->num_attrs = 0;
	npu_gnode_trim_inputs(n, 2);
	if (npu_gtensor_is_const(b) && npu_fold_is_float(b->type)) {
		if (tb || alpha != 1)
			b = scaled_matrix(g, b, tb, (double)alpha);
		err = b ? npu_gnode_set_input(g, n, 1, b) : -ENOMEM;
	} else {
		if (alpha != 1) {
			scaled = scale_by(g, n, n->inputs[0], alpha);
			err = scaled ? npu_gnode_set_input(g, n, 0, scaled->outputs[0]) : -ENOMEM;
		}
		if (!err && tb)
			err = npu_gnode_set_int(g, n, "transB", 1);
	}
	if (!err && ta)
		err = npu_gnode_set_int(g, n, "transA", 1);
	if (err || !c || beta == 0)
		return err;
	if (!is_row(c, n->outputs[0]->dim[1]))
		return gemm_add(g, n, c, beta);
	if (c->quant && beta == 1 && npu_gtensor_const_elems(c) == n->outputs[0]->dim[1].base)
		return npu_gnode_set_input(g, n, 2, c);
	bias = row_bias(g, c, n->outputs[0]->dim[1].base, (double)beta);
	return bias ? npu_gnode_set_input(g, n, 2, bias) : -ENOMEM;
}

int npu_canon_split(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	struct npu_dim starts[NPU_GRAPH_MAX_RANK], at = npu_dim_const(0);
	int64_t steps[NPU_GRAPH_MAX_RANK], axis = npu_gnode_int(n, "axis", 0);
	struct npu_gtensor *x = n->inputs[0];
	unsigned int k;
	int i;

	for (i = 0; i < x->rank; i++) {
		starts[i] = npu_dim_const(0);
		steps[i] = 1;
	}
	for (k = 0; k < n->num_outputs; k++) {
		struct npu_gtensor *y = n->outputs[k];
		struct npu_gnode *slice;

		if (!y)
			return npu_diag_node(diag, -EINVAL, n, NULL, "output %u has no name", k);
		slice = npu_graph_insert(g, NPU_GOP_Slice, n, &x, 1, y);
		if (!slice)
			return -ENOMEM;
		starts[axis] = at;
		if (npu_gnode_set_dims(g, slice, "starts", starts, (size_t)x->rank) ||
		    npu_gnode_set_ints(g, slice, "steps", steps, (size_t)x->rank) ||
		    npu_graph_replace(g, y, slice->outputs[0]))
			return -ENOMEM;
		/* the rule of Split has added the same lengths before */
		at.base += y->dim[axis].base;
		at.factor += y->dim[axis].factor;
		at.sym = y->dim[axis].sym >= 0 ? y->dim[axis].sym : at.sym;
	}
	npu_graph_remove(g, n);
	return 0;
}
