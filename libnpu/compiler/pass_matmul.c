// SPDX-License-Identifier: MIT
/*
 * Transposes of the last two dimensions become flags of MatMul, whose operands are read with
 * strides anyway; a factor on one of two computed operands is applied to the result (the scaling of
 * attention scores). Factors on constants are the business of passes scale and prescale.
 */
#include <errno.h>

#include "compiler/fold.h"
#include "compiler/pass.h"

static bool swaps_last_two(const struct npu_gnode *n)
{
	size_t count, i;
	const int64_t *perm = npu_gnode_ints(n, "perm", &count);

	if (count < 2 || perm[count - 1] != (int64_t)count - 2 ||
	    perm[count - 2] != (int64_t)count - 1)
		return false;
	for (i = 0; i + 2 < count; i++)
		if (perm[i] != (int64_t)i)
			return false;
	return true;
}

static int take_transpose(struct npu_graph *g, struct npu_gnode *n, unsigned int side)
{
	struct npu_gnode *t = n->inputs[side]->producer;
	const char *flag = side ? "transB" : "transA";
	int err;

	if (!t || t->op != NPU_GOP_Transpose || !swaps_last_two(t))
		return 0;
	err = npu_gnode_set_int(g, n, flag, !npu_gnode_int(n, flag, 0));
	if (!err)
		err = npu_gnode_take_sources(g, n, t);
	if (!err)
		err = npu_gnode_set_input(g, n, side, t->inputs[0]);
	/* at once, so that what it read has one reader less */
	if (!err && !t->outputs[0]->num_consumers && !t->outputs[0]->is_output)
		npu_graph_remove(g, t);
	return err;
}

static int take_factor(struct npu_graph *g, struct npu_gnode *n, unsigned int side)
{
	struct npu_gnode *mul = n->inputs[side]->producer;
	struct npu_gtensor *x;
	unsigned int index;
	float v;
	int err;

	if (!mul || mul->op != NPU_GOP_Mul || !npu_gnode_plain(mul) ||
	    npu_gtensor_only_consumer(n->inputs[side]) != n ||
	    npu_gtensor_is_const(n->inputs[!side]) || npu_gnode_in(n, 2) || n->ep.act.kind ||
	    n->ep.res_op)
		return 0;
	x = npu_gnode_scalar_operand(mul, &v, &index);
	if (!x || x->rank != n->inputs[side]->rank)
		return 0;
	n->ep.has_affine = true;
	n->ep.post_mul *= v;
	err = npu_gnode_take_sources(g, n, mul);
	return err ? err : npu_gnode_set_input(g, n, side, x);
}

int npu_pass_matmul(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i, side;
	int err;

	for (i = 0; i < g->num_nodes; i++) {
		struct npu_gnode *n = g->nodes[i];

		if (n->dead || n->op != NPU_GOP_MatMul)
			continue;
		for (side = 0; side < 2; side++) {
			err = take_transpose(g, n, side);
			if (!err)
				err = take_factor(g, n, side);
			if (!err)	/* a transpose may have been behind the factor */
				err = take_transpose(g, n, side);
			if (err)
				return err;
		}
	}
	npu_graph_sweep(g);
	return 0;
}
