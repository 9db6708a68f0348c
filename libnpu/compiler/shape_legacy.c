// SPDX-License-Identifier: MIT
/*
 * What operator sets 1 to 6 say in another way: where the second operand of an element-wise
 * operator lies within the first (`broadcast` and `axis`), one slope per channel, and the switch
 * between inference and training.
 */
#include <errno.h>
#include <string.h>

#include "compiler/shape.h"

/*
 * Give input @i dimensions of size 1 at its end, so that its first one meets @axis of the first
 * input. The new node is behind all others until the graph is sorted; its result has its shape
 * already.
 */
static int align_input(struct npu_shape *s, unsigned int i, int axis)
{
	struct npu_gtensor *x = npu_shape_in(s, 0), *y = npu_shape_in(s, i), *made;
	int64_t axes[NPU_GRAPH_MAX_RANK];
	int extra = x->rank - axis - y->rank, k, err;
	struct npu_gnode *n;

	if (extra < 0)
		return npu_diag_node(s->diag, -EINVAL, s->n, "axis",
				     "%d: '%s' of rank %d does not fit there into rank %d", axis,
				     y->name, y->rank, x->rank);
	if (!extra)
		return 0;
	made = npu_graph_tensor(s->g, NULL, y->name, y->type);
	n = made ? npu_graph_node(s->g, NPU_GOP_Unsqueeze, NULL, &y, 1, &made, 1) : NULL;
	if (!n)
		return -ENOMEM;
	n->opset = s->n->opset;
	for (k = 0; k < extra; k++)
		axes[k] = y->rank + k;
	err = npu_gnode_set_ints(s->g, n, "axes", axes, (size_t)extra);
	made->rank = y->rank + extra;
	for (k = 0; k < made->rank; k++)
		made->dim[k] = k < y->rank ? y->dim[k] : npu_dim_const(1);
	return err ? err : npu_gnode_set_input(s->g, s->n, i, made);
}

int npu_shape_legacy_broadcast(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *y = npu_shape_in(s, 1);
	bool broadcast = npu_gnode_int(s->n, "broadcast", 0) != 0, same;
	int axis, k, err = 0;

	if (s->n->num_inputs != 2 || npu_gnode_info(s->n)->in_max != 2)
		return 0;
	for (same = x->rank == y->rank, k = 0; same && k < x->rank; k++)
		same = npu_dim_equal(x->dim[k], y->dim[k]);
	if (!broadcast && !same)
		return npu_diag_node(
			s->diag, -EINVAL, s->n, "broadcast",
			"the shapes differ, which operator set %d allows with broadcast=1 only",
			s->n->opset);
	if (broadcast && npu_gnode_attr(s->n, "axis") && y->rank) {
		err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", 0), x->rank, &axis);
		if (!err)
			err = align_input(s, 1, axis);
	} else if (y->rank > x->rank) {
		err = npu_diag_node(s->diag, -EINVAL, s->n, "broadcast",
				    "the second input has rank %d, the first %d", y->rank, x->rank);
	}
	npu_gnode_del_attr(s->n, "broadcast");
	npu_gnode_del_attr(s->n, "axis");
	return err;
}

int npu_shape_legacy_slope(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *slope = npu_shape_in(s, 1);

	if (slope->rank != 1 || x->rank < 3 ||
	    (npu_dim_is_const(slope->dim[0]) && slope->dim[0].base == 1))
		return 0;
	return align_input(s, 1, 1);
}

int npu_shape_legacy_training(struct npu_shape *s)
{
	if (npu_gnode_int(s->n, "is_test", 0))
		return 0;
	return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "is_test",
			     "0, training: in operator set %d only is_test=1 is inference",
			     s->n->opset);
}
