// SPDX-License-Identifier: MIT
/*
 * One form for every operator. Shape inference has resolved the attributes already; here operators
 * that are the same thing under several names become one, and inputs that only carried parameters
 * are dropped.
 */
#include <errno.h>

#include "compiler/fold.h"
#include "compiler/pass_canon.h"

struct npu_gtensor *npu_canon_scalar(struct npu_graph *g, const struct npu_gnode *n,
				     enum npu_gtype type, float v)
{
	struct npu_gtensor *t = npu_graph_const(g, n->name, type, 0, NULL, NULL);

	if (t)
		npu_fold_put(t, 0, (double)v);
	return t;
}

static int canon_reshape(struct npu_gnode *n)
{
	n->op = NPU_GOP_Reshape;
	n->num_attrs = 0;
	npu_gnode_trim_inputs(n, 1);
	return 0;
}

static int canon_cast(struct npu_gnode *n)
{
	n->op = NPU_GOP_Cast;
	npu_gnode_trim_inputs(n, 1);
	return 0;
}

static int canon_node(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	switch (n->op) {
	case NPU_GOP_Reshape: case NPU_GOP_Flatten: case NPU_GOP_Squeeze: case NPU_GOP_Unsqueeze:
		return canon_reshape(n);
	case NPU_GOP_Cast: case NPU_GOP_CastLike:
		return canon_cast(n);
	case NPU_GOP_Resize: case NPU_GOP_Upsample:
		return npu_canon_resize(g, n);
	case NPU_GOP_Slice:
		npu_gnode_trim_inputs(n, 1);
		return npu_canon_slice(g, n);
	case NPU_GOP_Tile:
		npu_gnode_trim_inputs(n, 1);
		return npu_canon_tile(g, n);
	case NPU_GOP_Einsum:
		return npu_canon_einsum(g, n, diag);
	case NPU_GOP_Pad:
	case NPU_GOP_Expand:
	case NPU_GOP_TopK: npu_gnode_trim_inputs(n, 1); return 0;
	case NPU_GOP_Split:
		return npu_canon_split(g, n, diag);
	case NPU_GOP_Sub: case NPU_GOP_Div: case NPU_GOP_Pow:
		return npu_canon_binary(g, n, diag);
	case NPU_GOP_GatherND: case NPU_GOP_ScatterND: case NPU_GOP_Scatter:
		return npu_canon_index(g, n, diag);
	case NPU_GOP_Gemm:
		return npu_canon_gemm(g, n, diag);
	case NPU_GOP_QuantizeLinear:
	case NPU_GOP_DequantizeLinear:
		return npu_canon_quant(g, n, diag);
	case NPU_GOP_BatchNormalization:
		return npu_canon_batchnorm(g, n, diag);
	case NPU_GOP_Softmax: case NPU_GOP_LogSoftmax: case NPU_GOP_Hardmax:
		return npu_canon_softmax(g, n, diag);
	default:
		break;
	}
	switch (npu_gnode_info(n)->family) {
	case NPU_GF_CONV: case NPU_GF_QCONV:
		return npu_canon_volume(g, n);
	case NPU_GF_POOL:
		return npu_canon_pool(g, n);
	case NPU_GF_ACT:
		return npu_canon_act(g, n, diag);
	case NPU_GF_VARIADIC:
		return npu_canon_variadic(g, n, diag);
	case NPU_GF_REDUCE:
		return npu_canon_reduce(g, n, diag);
	default:
		return 0;
	}
}

int npu_pass_canon(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i, count = g->num_nodes;
	int err, first = 0;

	/* nodes made here are canonical already, so the walk ends where the array ended before */
	for (i = 0; i < count; i++) {
		err = g->nodes[i]->dead ? 0 : canon_node(g, g->nodes[i], diag);
		first = first ? first : err;
		if (err == -ENOMEM)
			break;
	}
	if (first)
		return first;
	first = npu_graph_sort(g, diag);
	if (!first)
		npu_graph_sweep(g);
	return first;
}
