// SPDX-License-Identifier: MIT
/*
 * Pad of zeros in front of a convolution, or of anything harmless in front of pooling, becomes the
 * window's padding.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass.h"

/* Results that cannot be negative, so that a zero in the padding never wins a maximum. */
static bool non_negative(const struct npu_gtensor *t)
{
	const struct npu_gnode *n = t->producer;

	if (!n || n->op != NPU_GOP_Activation)
		return false;
	return n->ep.act.kind == NPU_GA_RELU || n->ep.act.kind == NPU_GA_SIGMOID ||
	       n->ep.act.kind == NPU_GA_HARDSIGMOID ||
	       (n->ep.act.kind == NPU_GA_CLIP && n->ep.act.a >= 0);
}

static bool value_ok(const struct npu_gnode *pad, const struct npu_gnode *n)
{
	float value = npu_gnode_float(pad, "value", 0);

	if (n->op != NPU_GOP_MaxPool)
		return value == 0;
	if (n->num_outputs > 1 && n->outputs[1])
		return false;	/* indices count the padded picture */
	return (isinf(value) && value < 0) || value <= -3.4e38f ||
	       (value == 0 && non_negative(pad->inputs[0]));
}

/*
 * Average with the pads in the divisor; an average that leaves its own pads out cannot be merged
 * with Pad's.
 */
static bool pool_ok(const struct npu_gnode *n, const int64_t *own, size_t count)
{
	size_t i;

	if (n->op == NPU_GOP_MaxPool)
		return true;
	if (npu_gnode_int(n, "ceil_mode", 0))
		return false;
	for (i = 0; i < count; i++)
		if (own[i] && !npu_gnode_int(n, "count_include_pad", 0))
			return false;
	return true;
}

static bool reader_ok(const struct npu_gnode *pad, const struct npu_gnode *n)
{
	int rank = pad->inputs[0]->rank, i;
	size_t count, own_count, kernel_count, dil_count;
	const int64_t *pads = npu_gnode_ints(pad, "pads", &count);
	const int64_t *own = npu_gnode_ints(n, "pads", &own_count);
	const int64_t *kernel = npu_gnode_ints(n, "kernel_shape", &kernel_count);
	const int64_t *dil = npu_gnode_ints(n, "dilations", &dil_count);

	if ((n->op != NPU_GOP_Conv && n->op != NPU_GOP_MaxPool && n->op != NPU_GOP_AveragePool) ||
	    n->inputs[0] != pad->outputs[0] || count != 2 * (size_t)rank ||
	    own_count != 2 * (size_t)(rank - 2) || !value_ok(pad, n))
		return false;
	for (i = 0; i < 2 * rank; i++) {
		int d = i % rank - 2;

		if (pads[i] < 0 || (d < 0 && pads[i]))
			return false;
		/* a pooling window must not lie in the padding alone */
		if (d >= 0 && n->op != NPU_GOP_Conv &&
		    pads[i] + own[d + (i >= rank ? rank - 2 : 0)] >= (kernel[d] - 1) * dil[d] + 1)
			return false;
	}
	return n->op == NPU_GOP_Conv || pool_ok(n, own, own_count);
}

static int merge(struct npu_graph *g, const struct npu_gnode *pad, struct npu_gnode *n)
{
	int64_t sum[2 * NPU_GRAPH_MAX_RANK];
	int rank = pad->inputs[0]->rank, d;
	size_t count;
	const int64_t *pads = npu_gnode_ints(pad, "pads", &count);
	const int64_t *own = npu_gnode_ints(n, "pads", &count);
	int err;

	for (d = 0; d < rank - 2; d++) {
		sum[d] = own[d] + pads[d + 2];
		sum[rank - 2 + d] = own[rank - 2 + d] + pads[rank + d + 2];
	}
	err = npu_gnode_set_ints(g, n, "pads", sum, count);
	if (!err && n->op == NPU_GOP_AveragePool)
		err = npu_gnode_set_int(g, n, "count_include_pad", 1);
	if (!err)
		err = npu_gnode_take_sources(g, n, pad);
	return err ? err : npu_gnode_set_input(g, n, 0, pad->inputs[0]);
}

int npu_pass_pad(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i, k;
	int err;

	for (i = 0; i < g->num_nodes; i++) {
		struct npu_gnode *n = g->nodes[i];
		struct npu_gtensor *y;

		if (n->dead || n->op != NPU_GOP_Pad || n->inputs[0]->rank < 3 ||
		    strcmp(npu_gnode_string(n, "mode", ""), "constant"))
			continue;
		y = n->outputs[0];
		for (k = y->num_consumers; k--;) {
			if (!reader_ok(n, y->consumer[k]))
				continue;
			err = merge(g, n, y->consumer[k]);
			if (err)
				return err;
		}
	}
	npu_graph_sweep(g);
	return 0;
}
