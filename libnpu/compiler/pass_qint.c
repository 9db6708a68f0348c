// SPDX-License-Identifier: MIT
/*
 * What exporters put behind ConvInteger and MatMulInteger: a cast to float, a product with the
 * scales of both operands, the addition of a bias. The scale becomes input 4 of the integer node
 * and the bias its residual, which broadcasts; what follows is the business of pass fuse.
 */
#include <errno.h>

#include "compiler/pass.h"

/* @t broadcasts against @y along dimension @axis only, or not at all. */
static bool along_axis(const struct npu_gtensor *t, const struct npu_gtensor *y, int axis)
{
	int shift = y->rank - t->rank;

	if (t->type != NPU_GT_F32 || shift < 0)
		return false;
	for (int i = 0; i < t->rank; i++) {
		bool one = npu_dim_is_const(t->dim[i]) && t->dim[i].base == 1;

		if (!one && (i + shift != axis || !npu_dim_is_const(t->dim[i]) ||
			     !npu_dim_equal(t->dim[i], y->dim[axis])))
			return false;
	}
	return true;
}

static int take_result(struct npu_graph *g, struct npu_gnode *n, struct npu_gnode *c)
{
	struct npu_gtensor *y = c->outputs[0];

	if (npu_gnode_take_sources(g, n, c))
		return -ENOMEM;
	npu_graph_remove(g, c);
	n->outputs[0]->producer = NULL;
	n->outputs[0] = y;
	y->producer = n;
	return 0;
}

static int fuse_integer(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gtensor *y = n->outputs[0], *other;
	int axis = n->op == NPU_GOP_ConvInteger ? 1 : y->rank - 1, err;
	struct npu_gnode *cast = npu_gtensor_only_consumer(y), *mul, *add;

	if (axis < 0 || npu_gnode_in(n, 4) || !cast || cast->op != NPU_GOP_Cast ||
	    cast->outputs[0]->type != NPU_GT_F32)
		return 0;
	mul = npu_gtensor_only_consumer(cast->outputs[0]);
	if (!mul || mul->op != NPU_GOP_Mul || !npu_gnode_plain(mul) ||
	    !npu_gtensor_same_shape(mul->outputs[0], y))
		return 0;
	other = mul->inputs[mul->inputs[0] == cast->outputs[0]];
	if (!along_axis(other, y, axis))
		return 0;
	err = npu_gnode_set_input(g, n, 4, other);
	if (!err)
		err = take_result(g, n, cast);
	if (!err)
		err = take_result(g, n, mul);
	add = err ? NULL : npu_gtensor_only_consumer(n->outputs[0]);
	if (!add || add->op != NPU_GOP_Add || !npu_gnode_plain(add) ||
	    !npu_gtensor_same_shape(add->outputs[0], n->outputs[0]))
		return err;
	other = add->inputs[add->inputs[0] == n->outputs[0]];
	if (!npu_gtensor_is_const(other) || !along_axis(other, n->outputs[0], axis))
		return 0;
	err = npu_gnode_set_input(g, n, 5, other);
	n->ep.res_op = NPU_GR_ADD;
	n->ep.res = 5;
	return err ? err : take_result(g, n, add);
}

int npu_pass_qint(struct npu_graph *g, struct npu_diag *diag)
{
	int err = 0;

	(void)diag;
	for (unsigned int i = 0; i < g->num_nodes && !err; i++) {
		struct npu_gnode *n = g->nodes[i];

		if (!n->dead && (n->op == NPU_GOP_ConvInteger || n->op == NPU_GOP_MatMulInteger))
			err = fuse_integer(g, n);
	}
	return err;
}
