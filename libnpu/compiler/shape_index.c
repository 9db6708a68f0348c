// SPDX-License-Identifier: MIT
/* Gather and scatter kinds, OneHot, Trilu. */
#include <errno.h>
#include <string.h>

#include "compiler/shape.h"

static int gather(struct npu_shape *s, const struct npu_gtensor *x, const struct npu_gtensor *idx)
{
	struct npu_dim dims[2 * NPU_GRAPH_MAX_RANK];
	int axis, i, rank = 0, err;

	if (!x->rank)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL, "input '%s' is a scalar",
				     x->name);
	err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", 0), x->rank, &axis);
	if (err)
		return err;
	for (i = 0; i < axis; i++)
		dims[rank++] = x->dim[i];
	for (i = 0; i < idx->rank; i++)
		dims[rank++] = idx->dim[i];
	for (i = axis + 1; i < x->rank; i++)
		dims[rank++] = x->dim[i];
	err = npu_gnode_set_int(s->g, s->n, "axis", axis);
	return err ? err : npu_shape_out(s, 0, x->type, rank, dims);
}

/* They are not the same, whatever happens at run time. */
static bool differ(const struct npu_gtensor *a, int i, const struct npu_gtensor *b, int k)
{
	return !a->bounded && !b->bounded && npu_dim_is_const(a->dim[i]) &&
	       npu_dim_is_const(b->dim[k]) && a->dim[i].base != b->dim[k].base;
}

static int gather_nd(struct npu_shape *s, const struct npu_gtensor *x,
		     const struct npu_gtensor *idx)
{
	int64_t batch = npu_gnode_int(s->n, "batch_dims", 0);
	struct npu_dim dims[2 * NPU_GRAPH_MAX_RANK];
	int depth, i, rank = 0;

	if (idx->rank < 1 || !npu_dim_is_const(idx->dim[idx->rank - 1]))
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "indices '%s': expected rank 1 or more", idx->name);
	if (batch < 0 || batch >= idx->rank || idx->dim[idx->rank - 1].base > x->rank - batch)
		return npu_diag_node(s->diag, -EINVAL, s->n, "batch_dims",
				     "%lld and an index of %lld entries do not fit rank %d",
				     (long long)batch, (long long)idx->dim[idx->rank - 1].base,
				     x->rank);
	for (i = 0; i < batch; i++)
		if (differ(x, i, idx, i))
			return npu_diag_node(s->diag, -EINVAL, s->n, "batch_dims",
					     "dimension %d of '%s' and of '%s' is not the same", i,
					     x->name, idx->name);
	depth = (int)idx->dim[idx->rank - 1].base;
	for (i = 0; i < idx->rank - 1; i++)
		dims[rank++] = idx->dim[i];
	for (i = (int)batch + depth; i < x->rank; i++)
		dims[rank++] = x->dim[i];
	return npu_shape_out(s, 0, x->type, rank, dims);
}

/* The updates are as many as the tuples, each what one of these names. */
static int scatter_nd(struct npu_shape *s, const struct npu_gtensor *x,
		      const struct npu_gtensor *idx, const struct npu_gtensor *u)
{
	int depth, i, rank;

	if (idx->rank < 1 || !npu_dim_is_const(idx->dim[idx->rank - 1]) ||
	    idx->dim[idx->rank - 1].base > x->rank)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "indices '%s': expected rank 1 or more, %d entries each at most",
				     idx->name, x->rank);
	depth = (int)idx->dim[idx->rank - 1].base;
	rank = idx->rank - 1 + x->rank - depth;
	if (u->rank != rank)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "updates '%s' have rank %d, expected %d", u->name, u->rank,
				     rank);
	for (i = 0; i < rank; i++)
		if (i < idx->rank - 1 ? differ(u, i, idx, i) :
					differ(u, i, x, i - (idx->rank - 1) + depth))
			return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
					     "dimension %d of updates '%s' is not that of the "
					     "places that '%s' names", i, u->name, idx->name);
	return npu_shape_out(s, 0, x->type, x->rank, x->dim);
}

static int one_hot(struct npu_shape *s, const struct npu_gtensor *idx)
{
	struct npu_dim dims[NPU_GRAPH_MAX_RANK + 1], depth;
	int axis, i, rank = 0, err;

	if (!npu_tensor_has_value(npu_shape_in(s, 1)) ||
	    !npu_tensor_value(npu_shape_in(s, 1), 0, &depth))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
				     "input 1 (depth) must be a constant");
	err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", -1), idx->rank + 1, &axis);
	if (err)
		return err;
	for (i = 0; i <= idx->rank; i++)
		dims[i] = i == axis ? depth : idx->dim[rank++];
	err = npu_gnode_set_int(s->g, s->n, "axis", axis);
	return err ? err : npu_shape_out(s, 0, npu_shape_in(s, 2)->type, idx->rank + 1, dims);
}

int npu_shape_index(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *idx = npu_shape_in(s, 1);
	int axis = 0, err;

	switch (s->n->op) {
	case NPU_GOP_Gather:
		return gather(s, x, idx);
	case NPU_GOP_GatherND:
		return gather_nd(s, x, idx);
	case NPU_GOP_ScatterND:
		return scatter_nd(s, x, idx, npu_shape_in(s, 2));
	case NPU_GOP_OneHot:
		return one_hot(s, x);
	case NPU_GOP_GatherElements: case NPU_GOP_ScatterElements: case NPU_GOP_Scatter:
		if (idx->rank != x->rank)
			return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
					     "indices '%s' have rank %d, expected %d", idx->name,
					     idx->rank, x->rank);
		err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", 0), x->rank, &axis);
		if (!err)
			err = npu_gnode_set_int(s->g, s->n, "axis", axis);
		if (err)
			return err;
		return s->n->op == NPU_GOP_GatherElements ?
			       npu_shape_out(s, 0, x->type, idx->rank, idx->dim) :
			       npu_shape_out(s, 0, x->type, x->rank, x->dim);
	default:
		return npu_shape_out(s, 0, x->type, x->rank, x->dim);
	}
}
