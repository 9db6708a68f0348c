// SPDX-License-Identifier: MIT
/* Reductions, arg-max, top-k, and operators that work along one axis. */
#include <errno.h>
#include <string.h>

#include "compiler/shape.h"

/*
 * The axes as a sorted list without repetition, from the attribute or (opset 13/18) the second
 * input.
 */
static int reduce_axes(struct npu_shape *s, const struct npu_gtensor *x, int64_t *axes,
		       size_t *count)
{
	bool hit[NPU_GRAPH_MAX_RANK] = { false };
	int64_t list[2 * NPU_GRAPH_MAX_RANK];
	int n, i, axis, err;

	n = npu_shape_ints(s, "axes", 1, list);
	if (n < 0 && n != -ENOENT)
		return n;
	for (i = 0; i < n; i++) {
		err = npu_shape_axis_arg(s, "axes", list[i], x->rank, &axis);
		if (err)
			return err;
		if (hit[axis])
			return npu_diag_node(s->diag, -EINVAL, s->n, "axes",
					     "axis %d is listed twice", axis);
		hit[axis] = true;
	}
	*count = 0;
	for (i = 0; i < x->rank; i++)
		if (hit[i] || (n <= 0 && !npu_gnode_int(s->n, "noop_with_empty_axes", 0)))
			axes[(*count)++] = i;
	return 0;
}

int npu_shape_reduce(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	int64_t axes[NPU_GRAPH_MAX_RANK];
	bool keep = npu_gnode_int(s->n, "keepdims", 1) != 0;
	size_t count = 0, next = 0;
	int i, rank = 0, err;

	err = reduce_axes(s, x, axes, &count);
	if (err)
		return err;
	for (i = 0; i < x->rank; i++) {
		if (next < count && axes[next] == i) {
			next++;
			if (keep)
				dims[rank++] = npu_dim_const(1);
		} else {
			dims[rank++] = x->dim[i];
		}
	}
	err = npu_gnode_set_ints(s->g, s->n, "axes", axes, count);
	if (!err)
		err = npu_gnode_set_int(s->g, s->n, "keepdims", keep);
	npu_gnode_del_attr(s->n, "noop_with_empty_axes");
	return err ? err : npu_shape_out(s, 0, x->type, rank, dims);
}

int npu_shape_arg(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	bool keep = npu_gnode_int(s->n, "keepdims", 1) != 0;
	int axis, i, rank = 0, err;

	err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", 0), x->rank, &axis);
	if (err)
		return err;
	for (i = 0; i < x->rank; i++) {
		if (i != axis)
			dims[rank++] = x->dim[i];
		else if (keep)
			dims[rank++] = npu_dim_const(1);
	}
	err = npu_gnode_set_int(s->g, s->n, "axis", axis);
	if (!err)
		err = npu_gnode_set_int(s->g, s->n, "keepdims", keep);
	return err ? err : npu_shape_out(s, 0, NPU_GT_I64, rank, dims);
}

int npu_shape_cumsum(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *at = npu_shape_in(s, 1);
	struct npu_dim value;
	int axis, err = 0;

	if (npu_tensor_has_value(at) && npu_tensor_value(at, 0, &value) && npu_dim_is_const(value))
		err = npu_shape_axis_arg(s, "axis", value.base, x->rank, &axis);
	return err ? err : npu_shape_same(s);
}

int npu_shape_topk(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	int64_t k[2 * NPU_GRAPH_MAX_RANK];
	int axis, n, err;

	if (npu_shape_in(s, 1) && !npu_tensor_has_value(npu_shape_in(s, 1))) {
		err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", -1), x->rank,
					 &axis);
		if (!err)
			err = npu_shape_at_run_time(s, "k");
		if (!err)
			err = npu_shape_out(s, 0, x->type, x->rank, x->dim);
		return err ? err : npu_shape_out(s, 1, NPU_GT_I64, x->rank, x->dim);
	}
	n = npu_shape_ints(s, "k", 1, k);
	if (n != 1)
		return n < 0 && n != -ENOENT ?
			       n :
			       npu_diag_node(s->diag, -EINVAL, s->n, "k", "expected one number");
	err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", -1), x->rank, &axis);
	if (err)
		return err;
	if (k[0] < 0 || k[0] > npu_dim_low(s->g, x->dim[axis]))
		return npu_diag_node(s->diag, -EINVAL, s->n, "k",
				     "%lld, but axis %d has %lld entries", (long long)k[0], axis,
				     (long long)npu_dim_low(s->g, x->dim[axis]));
	memcpy(dims, x->dim, sizeof(dims));
	dims[axis] = npu_dim_const(k[0]);
	err = npu_gnode_set_int(s->g, s->n, "axis", axis);
	if (!err)
		err = npu_gnode_set_int(s->g, s->n, "k", k[0]);
	if (!err)
		err = npu_shape_out(s, 0, x->type, x->rank, dims);
	return err ? err : npu_shape_out(s, 1, NPU_GT_I64, x->rank, dims);
}

int npu_shape_axis(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	int axis, err;

	/* operator set 13 moved the default from 1 (of a flattened matrix) to the last axis */
	err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", s->n->opset < 13 ? 1 : -1),
				 x->rank, &axis);
	if (!err)
		err = npu_gnode_set_int(s->g, s->n, "axis", axis);
	return err ? err : npu_shape_out(s, 0, x->type, x->rank, x->dim);
}

static int norm_params(struct npu_shape *s, const struct npu_gtensor *x)
{
	int64_t channels = x->dim[1].base;
	unsigned int i;

	if (x->rank < 2 || !npu_dim_is_const(x->dim[1]))
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "the number of channels must be a constant");
	for (i = 1; i < s->n->num_inputs; i++) {
		const struct npu_gtensor *p = npu_shape_in(s, i);

		if (p->rank != 1 || !npu_dim_is_const(p->dim[0]) ||
		    (p->dim[0].base != channels && s->n->op != NPU_GOP_GroupNormalization))
			return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
					     "input %u '%s': expected a list of %lld", i, p->name,
					     (long long)channels);
	}
	return 0;
}

static int layer_norm(struct npu_shape *s, const struct npu_gtensor *x)
{
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	int axis, i, err;

	err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", -1), x->rank, &axis);
	if (!err)
		err = npu_gnode_set_int(s->g, s->n, "axis", axis);
	if (!err && !npu_gnode_attr(s->n, "epsilon"))
		err = npu_gnode_set_float(s->g, s->n, "epsilon", 1e-5f);
	if (!err)
		err = npu_shape_out(s, 0, x->type, x->rank, x->dim);
	if (err)
		return err;
	for (i = 0; i < x->rank; i++)
		dims[i] = i < axis ? x->dim[i] : npu_dim_const(1);
	err = npu_shape_out(s, 1, NPU_GT_F32, x->rank, dims);
	return err ? err : npu_shape_out(s, 2, NPU_GT_F32, x->rank, dims);
}

int npu_shape_norm(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	unsigned int i;
	int err;

	switch (s->n->op) {
	case NPU_GOP_LayerNormalization: case NPU_GOP_RMSNormalization:
		return layer_norm(s, x);
	case NPU_GOP_LpNormalization:
		err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", -1), x->rank,
					 (int[]){ 0 });
		return err ? err : npu_shape_out(s, 0, x->type, x->rank, x->dim);
	case NPU_GOP_LRN:
		return npu_shape_out(s, 0, x->type, x->rank, x->dim);
	default:
		break;
	}
	err = norm_params(s, x);
	if (err)
		return err;
	if (s->n->op == NPU_GOP_BatchNormalization && s->n->opset < NPU_OPSET_BROADCAST) {
		err = npu_shape_legacy_training(s);
		if (err)
			return err;
	}
	if (npu_gnode_int(s->n, "training_mode", 0))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "training_mode",
				     "1: only inference is supported");
	if (s->n->op == NPU_GOP_BatchNormalization && !npu_gnode_int(s->n, "spatial", 1))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "spatial", "0 is not supported");
	for (i = 1; i < s->n->num_outputs; i++)
		if (s->n->outputs[i] &&
		    (s->n->outputs[i]->num_consumers || s->n->outputs[i]->is_output))
			return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
					     "output %u exists in training only", i);
		else
			s->n->outputs[i] = NULL;
	return npu_shape_out(s, 0, x->type, x->rank, x->dim);
}
