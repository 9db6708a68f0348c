// SPDX-License-Identifier: MIT
/*
 * Checks the canonical form that graph.h promises to the lowering; every violation is reported with
 * its node.
 */
#include <errno.h>

#include "compiler/pass.h"

/*
 * Operators that no other pass leaves behind unless their result depends on data or on a symbol at
 * run time.
 */
static const char *leftover(const struct npu_gnode *n)
{
	switch (n->op) {
	case NPU_GOP_Shape: case NPU_GOP_Size:
		return "its result depends on a symbol and is used as data; give that size exactly";
	case NPU_GOP_ConstantOfShape: case NPU_GOP_Range:
		return "its result is not known when compiling";
	case NPU_GOP_Constant:
	case NPU_GOP_Identity:
	case NPU_GOP_Dropout:
	case NPU_GOP_Flatten:
	case NPU_GOP_Squeeze:
	case NPU_GOP_Unsqueeze:
	case NPU_GOP_Split:
	case NPU_GOP_Sum:
	case NPU_GOP_Mean:
	case NPU_GOP_Upsample:
	case NPU_GOP_Gemm: case NPU_GOP_BatchNormalization:
		return "is not in canonical form (a defect of this compiler)";
	default:
		return NULL;
	}
}

static int check_node(const struct npu_gnode *n, struct npu_diag *diag)
{
	const char *why = leftover(n);
	unsigned int i;

	if (why)
		return npu_diag_node(diag, -EOPNOTSUPP, n, NULL, "%s", why);
	for (i = 0; i < n->num_inputs + n->num_outputs; i++) {
		const struct npu_gtensor *t = i < n->num_inputs ? n->inputs[i] :
								  n->outputs[i - n->num_inputs];

		if (!t)
			continue;
		if (t->rank < 0 || t->type == NPU_GT_NONE)
			return npu_diag_node(diag, -EINVAL, n, NULL, "'%s' has no shape or type",
					     t->name);
		if (i < n->num_inputs && !t->producer && !t->data && !t->is_input)
			return npu_diag_node(diag, -EINVAL, n, NULL, "input '%s' has no source",
					     t->name);
		if (t->type == NPU_GT_STRING)
			return npu_diag_node(diag, -EOPNOTSUPP, n, NULL,
					     "'%s': strings are not supported", t->name);
	}
	return 0;
}

int npu_pass_final(struct npu_graph *g, struct npu_diag *diag)
{
	int err, first = 0;
	unsigned int i;

	npu_graph_sweep(g);
	for (i = 0; i < g->num_nodes; i++) {
		err = g->nodes[i]->dead ? 0 : check_node(g->nodes[i], diag);
		first = first ? first : err;
	}
	return first;
}
