// SPDX-License-Identifier: MIT
/*
 * Element by element: unary, binary, variadic, comparison, selection, casts,
 * recurrent cells.
 */
#include <errno.h>
#include <string.h>

#include "compiler/onnx_import.h"
#include "compiler/shape.h"

int npu_shape_same(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	enum npu_gtype type = x->type;
	int err;

	if (s->n->opset < NPU_OPSET_BROADCAST && s->n->op == NPU_GOP_Dropout) {
		err = npu_shape_legacy_training(s);
		if (err)
			return err;
	}
	if (s->n->op == NPU_GOP_PRelu) {
		const struct npu_gtensor *slope;
		struct npu_dim dims[NPU_GRAPH_MAX_RANK];

		err = s->n->opset < NPU_OPSET_BROADCAST ? npu_shape_legacy_slope(s) : 0;
		if (err)
			return err;
		slope = npu_shape_in(s, 1);

		if (slope->rank > x->rank ||
		    npu_dims_broadcast(x->dim, x->rank, slope->dim, slope->rank, dims))
			return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
					     "slope '%s' cannot be broadcast to the input",
					     slope->name);
	}
	err = npu_shape_out(s, 0, type, x->rank, x->dim);
	return err ? err : npu_shape_out(s, 1, NPU_GT_BOOL, x->rank, x->dim);	/* Dropout's mask */
}

/*
 * Before operator set 7 `broadcast` and `axis` placed the second operand; later files must not
 * carry them.
 */
static int elementwise_types(struct npu_shape *s)
{
	unsigned int first = s->n->op == NPU_GOP_Where ? 1 : 0, i;
	const struct npu_gtensor *x = npu_shape_in(s, first);

	for (i = first + 1; i < s->n->num_inputs; i++) {
		/* Pow allows an exponent of another type */
		if (npu_shape_in(s, i)->type != x->type && s->n->op != NPU_GOP_Pow)
			return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
					     "inputs '%s' and '%s' have types %s and %s", x->name,
					     npu_shape_in(s, i)->name, npu_gtype_name(x->type),
					     npu_gtype_name(npu_shape_in(s, i)->type));
	}
	if (npu_gnode_int(s->n, "broadcast", 0) || npu_gnode_attr(s->n, "axis"))
		return npu_diag_node(
			s->diag, -EINVAL, s->n, "broadcast",
			"is an attribute of operator sets before 7, the model imports %d",
			s->n->opset);
	return 0;
}

int npu_shape_elementwise(struct npu_shape *s)
{
	const struct npu_gop_info *info = npu_gnode_info(s->n);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK], next[NPU_GRAPH_MAX_RANK];
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	enum npu_gtype type = x->type;
	char ta[256], tb[256];
	int rank = x->rank, err;
	unsigned int i;

	err = s->n->opset < NPU_OPSET_BROADCAST ? npu_shape_legacy_broadcast(s) : 0;
	if (!err)
		err = elementwise_types(s);
	if (!err && info->family == NPU_GF_SELECT && type != NPU_GT_BOOL)
		err = npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				    "condition '%s' is %s, expected bool", x->name,
				    npu_gtype_name(type));
	if (err)
		return err;
	memcpy(dims, x->dim, sizeof(dims));
	for (i = 1; i < s->n->num_inputs; i++) {
		const struct npu_gtensor *y = npu_shape_in(s, i);

		if (npu_dims_broadcast(dims, rank, y->dim, y->rank, next))
			return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
					     "input '%s' %s cannot be broadcast with '%s' %s",
					     x->name, npu_shape_text(s->g, x, ta, sizeof(ta)),
					     y->name, npu_shape_text(s->g, y, tb, sizeof(tb)));
		rank = rank > y->rank ? rank : y->rank;
		memcpy(dims, next, sizeof(dims));
	}
	if (info->family == NPU_GF_COMPARE || info->family == NPU_GF_LOGIC)
		type = NPU_GT_BOOL;
	else if (info->family == NPU_GF_SELECT)
		type = npu_shape_in(s, 1)->type;
	return npu_shape_out(s, 0, type, rank, dims);
}

int npu_shape_cast(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	enum npu_gtype type;

	if (s->n->op == NPU_GOP_CastLike)
		type = npu_shape_in(s, 1)->type;
	else
		type = npu_onnx_type((int)npu_gnode_int(s->n, "to", 0));
	if (type == NPU_GT_NONE)
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "to",
				     "element type %s (%lld) is not supported",
				     npu_onnx_type_name((int)npu_gnode_int(s->n, "to", 0)),
				     (long long)npu_gnode_int(s->n, "to", 0));
	return npu_shape_out(s, 0, type, x->rank, x->dim);
}

/* LSTM and GRU, layout 0: X [seq, batch, in], R [dirs, gates * hidden, hidden]. */
int npu_shape_rnn(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *r = npu_shape_in(s, 2);
	struct npu_dim y[4], h[3];
	bool batch_first;
	int err;

	if (x->rank != 3 || r->rank != 3)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL, "expected X and R of rank 3");
	batch_first = npu_gnode_int(s->n, "layout", 0) != 0;
	y[0] = x->dim[0];
	y[1] = batch_first ? x->dim[1] : r->dim[0];
	y[2] = batch_first ? r->dim[0] : x->dim[1];
	y[3] = h[2] = r->dim[2];
	h[0] = batch_first ? x->dim[0] : r->dim[0];
	h[1] = batch_first ? r->dim[0] : x->dim[1];
	err = npu_shape_out(s, 0, x->type, 4, y);
	if (!err)
		err = npu_shape_out(s, 1, x->type, 3, h);
	return err ? err : npu_shape_out(s, 2, x->type, 3, h);
}
