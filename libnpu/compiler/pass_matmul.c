// SPDX-License-Identifier: MIT
/* Transposes of the last two dimensions become flags of MatMul; its operands are read with strides anyway. */
#include <errno.h>

#include "compiler/fold.h"
#include "compiler/pass.h"

static bool swaps_last_two(const struct npu_gnode *n)
{
	size_t count, i;
	const int64_t *perm = npu_gnode_ints(n, "perm", &count);

	if (count < 2 || perm[count - 1] != (int64_t)count - 2 || perm[count - 2] != (int64_t)count - 1)
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
	return err ? err : npu_gnode_set_input(g, n, side, t->inputs[0]);
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
			if (err)
				return err;
		}
	}
	npu_graph_sweep(g);
	return 0;
}
