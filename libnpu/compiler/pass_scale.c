// SPDX-License-Identifier: MIT
/*
 * Multiplications and additions by constants, one number or one per channel, move into the weights
 * and bias of the convolution or matrix product before them (and, for what is left, behind them:
 * pass prescale).
 */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass.h"
#include "compiler/weights_edit.h"

/*
 * Constant operand of an Add or Mul with @y, one value or one per entry of dimension @axis; NULL
 * otherwise.
 */
static const struct npu_gtensor *channel_operand(const struct npu_gnode *c,
						 const struct npu_gtensor *y, int axis)
{
	const struct npu_gtensor *k = c->inputs[c->inputs[0] == y];

	return npu_weights_per_channel(k, y, axis) ? k : NULL;
}

static int fold_after(struct npu_graph *g, struct npu_gnode *n, struct npu_gnode *c)
{
	struct npu_gtensor *y = n->outputs[0];
	int axis = n->op == NPU_GOP_MatMul ? y->rank - 1 : 1, err;
	const struct npu_gtensor *k = channel_operand(c, y, axis);
	int64_t channels = y->dim[axis].base;

	if (!k || !npu_dim_is_const(y->dim[axis]))
		return 0;
	/* what is quantized keeps its codes */
	if (npu_gnode_in(n, 2) && n->inputs[2]->quant)
		return 0;
	if (c->op == NPU_GOP_Mul) {
		if (n->inputs[1]->quant || !npu_gtensor_is_const(n->inputs[1]) ||
		    (npu_gnode_in(n, 2) && !npu_gtensor_is_const(n->inputs[2])))
			return 0;
		err = npu_weights_scale_out(g, n, k);
		if (!err && npu_gnode_in(n, 2))
			err = npu_weights_bias(g, n, channels, k, NULL);
	} else {
		if (npu_gnode_in(n, 2) && !npu_gtensor_is_const(n->inputs[2]))
			return 0;
		err = npu_weights_bias(g, n, channels, NULL, k);
	}
	if (!err)
		err = npu_gnode_take_sources(g, n, c);
	if (err)
		return err;
	n->outputs[0] = c->outputs[0];
	npu_graph_remove(g, c);
	y->producer = NULL;
	n->outputs[0]->producer = n;
	return 1;
}

static bool weighted(const struct npu_gnode *n)
{
	if (n->dead || !npu_gnode_plain(n))
		return false;
	if (n->op != NPU_GOP_MatMul)
		return (n->op == NPU_GOP_Conv || n->op == NPU_GOP_ConvTranspose) &&
		       npu_fold_is_float(n->outputs[0]->type);
	if (!npu_fold_is_float(n->outputs[0]->type) || n->outputs[0]->rank < 1)
		return false;
	return n->inputs[1]->rank == 2 ||
	       (n->inputs[1]->rank > 2 && !npu_gtensor_is_const(n->inputs[1]));
}

int npu_pass_scale(struct npu_graph *g, struct npu_diag *diag)
{
	struct npu_gnode *n, *c;
	unsigned int i;
	int did = 0;

	for (i = 0; i < g->num_nodes; i++) {
		n = g->nodes[i];
		for (did = 1; did > 0 && weighted(n);) {
			c = npu_gtensor_only_consumer(n->outputs[0]);
			did = 0;
			if (c && (c->op == NPU_GOP_Mul || c->op == NPU_GOP_Add) &&
			    npu_gnode_plain(c) &&
			    npu_gtensor_same_shape(c->outputs[0], n->outputs[0]))
				did = fold_after(g, n, c);
		}
		if (did < 0)
			return did;
	}
	return 0;
}
