// SPDX-License-Identifier: MIT
/*
 * What pass scale and the epilogues did not take: a multiplication or addition of constants whose
 * only readers are convolutions or matrix products moves into their weights. Zero padding is put in
 * after an addition, so that one moves only when there is none.
 */
#include <errno.h>

#include "compiler/fold.h"
#include "compiler/pass.h"
#include "compiler/weights_edit.h"

static bool no_padding(const struct npu_gnode *n)
{
	size_t count, i;
	const int64_t *pads = npu_gnode_ints(n, "pads", &count);

	for (i = 0; i < count; i++)
		if (pads[i])
			return false;
	return true;
}

static bool reader_ok(const struct npu_gnode *n, const struct npu_gtensor *y,
		      const struct npu_gtensor *k, bool add)
{
	unsigned int i;
	int axis;

	if (n->op != NPU_GOP_Conv && n->op != NPU_GOP_MatMul)
		return false;
	if (n->inputs[0] != y || !npu_gtensor_is_const(n->inputs[1]) ||
	    !npu_fold_is_float(n->inputs[1]->type))
		return false;
	/* also as a residual: then the value itself is needed */
	for (i = 1; i < n->num_inputs; i++)
		if (n->inputs[i] == y)
			return false;
	if (n->op == NPU_GOP_MatMul && (n->inputs[1]->rank != 2 || npu_gnode_int(n, "transA", 0)))
		return false;
	if (add && ((npu_gnode_in(n, 2) && !npu_gtensor_is_const(n->inputs[2])) || !no_padding(n)))
		return false;
	axis = n->op == NPU_GOP_MatMul ? y->rank - 1 : 1;
	return y->rank > axis && npu_weights_per_channel(k, y, axis);
}

/* x op k -> into every reader. 1 when done. */
static int fold_before(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gtensor *y = n->outputs[0], *x, *k;
	unsigned int side = npu_gtensor_is_const(n->inputs[0]), i;
	bool add = n->op == NPU_GOP_Add;
	int err = 0;

	x = n->inputs[side];
	k = n->inputs[!side];
	if (!npu_gtensor_is_const(k) || npu_gtensor_is_const(x) || y->is_output ||
	    !y->num_consumers || !npu_gtensor_same_shape(x, y))
		return 0;
	for (i = 0; i < y->num_consumers; i++)
		if (!reader_ok(y->consumer[i], y, k, add))
			return 0;
	for (i = 0; i < y->num_consumers && !err; i++) {
		struct npu_gnode *reader = y->consumer[i];

		err = add ? npu_weights_shift_in(g, reader, k) : npu_weights_scale_in(g, reader, k);
		if (!err)
			err = npu_gnode_take_sources(g, reader, n);
	}
	if (!err)
		err = npu_graph_replace(g, y, x);
	if (err)
		return err;
	npu_graph_remove(g, n);
	return 1;
}

int npu_pass_prescale(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i = g->num_nodes;
	int err;

	/* backwards: the addition of a pair goes before its multiplication can */
	while (i--) {
		struct npu_gnode *n = g->nodes[i];

		if (n->dead || (n->op != NPU_GOP_Add && n->op != NPU_GOP_Mul) ||
		    !npu_gnode_plain(n) || !npu_fold_is_float(n->outputs[0]->type))
			continue;
		err = fold_before(g, n);
		if (err < 0)
			return err;
	}
	return 0;
}
