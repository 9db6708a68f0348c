// SPDX-License-Identifier: MIT
/* Reductions, arg-max, top-k, running sums and softmax. */
#include <errno.h>
#include <string.h>

#include "compiler/lower.h"

/* Give @out the reduced dimensions back, as 1, when keepdims is 0. */
static void keep_dims(struct npu_lview *out, int rank, uint32_t axes)
{
	if (out->rank == rank)
		return;
	for (int i = 0; i < rank; i++)
		if (axes >> i & 1)
			npu_lview_insert(out, i);
}

static int reduce_func(enum npu_gop op)
{
	switch (op) {
	case NPU_GOP_ReduceSum:		return NPU_REDUCE_SUM;
	case NPU_GOP_ReduceMean:	return NPU_REDUCE_MEAN;
	case NPU_GOP_ReduceMax:		return NPU_REDUCE_MAX;
	case NPU_GOP_ReduceMin:		return NPU_REDUCE_MIN;
	case NPU_GOP_ReduceProd:	return NPU_REDUCE_PROD;
	case NPU_GOP_ReduceL1:		return NPU_REDUCE_L1;
	case NPU_GOP_ReduceL2:		return NPU_REDUCE_L2;
	case NPU_GOP_ReduceSumSquare:	return NPU_REDUCE_SUM_SQUARE;
	case NPU_GOP_ReduceLogSum:	return NPU_REDUCE_LOG_SUM;
	case NPU_GOP_ReduceLogSumExp:	return NPU_REDUCE_LOG_SUM_EXP;
	default:			return -1;
	}
}

int npu_lower_reduce_view(struct npu_lower *l, const struct npu_lview *out,
			  const struct npu_lview *in, enum npu_reduce func, uint32_t axes)
{
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_REDUCE);
	struct npu_lview o, i;
	int perm[NPU_GRAPH_MAX_RANK], err;
	uint32_t mask = 0;

	if (!insn)
		return -ENOMEM;
	npu_lview_order(l, in, perm);
	npu_lview_permute(out, perm, &o);
	npu_lview_permute(in, perm, &i);
	for (int d = 0; d < in->rank; d++)
		mask |= (axes >> perm[d] & 1) << d;
	npu_linsn_param(insn, NPU_REDUCE_P_FUNC, func);
	npu_linsn_param(insn, NPU_REDUCE_P_AXES, mask);
	err = npu_linsn_operand(l, insn, NPU_REDUCE_OUT, &o);
	return err ? err : npu_linsn_operand(l, insn, NPU_REDUCE_IN, &i);
}

int npu_lower_reduce(struct npu_lower *l, struct npu_gnode *n)
{
	size_t count = 0;
	const int64_t *axes = npu_gnode_ints(n, "axes", &count);
	struct npu_lview in, out, kept;
	struct npu_lact act;
	uint32_t mask = 0;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = npu_lower_node_act(l, n, &act);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		mask |= 1u << axes[i];
	kept = out;
	keep_dims(&kept, in.rank, mask);
	err = npu_lower_reduce_view(l, &kept, &in, (enum npu_reduce)reduce_func(n->op), mask);
	if (!err && (act.act != NPU_ACT_NONE || act.mul != 1 || act.add != 0))
		err = npu_lower_ewise1(l, &out, &out, NPU_UNARY_COPY, &act);
	return err;
}

int npu_lower_arg(struct npu_lower *l, struct npu_gnode *n)
{
	int64_t axis = npu_gnode_int(n, "axis", 0);
	struct npu_lview in, out;
	struct npu_linsn *insn;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_ARG_REDUCE);
	if (!insn)
		return -ENOMEM;
	keep_dims(&out, in.rank, 1u << axis);
	npu_linsn_param(insn, NPU_ARG_REDUCE_P_AXIS, (uint32_t)axis);
	npu_linsn_param(insn, NPU_ARG_REDUCE_P_IS_MIN, n->op == NPU_GOP_ArgMin);
	npu_linsn_param(insn, NPU_ARG_REDUCE_P_LAST,
			npu_gnode_int(n, "select_last_index", 0) ? 1 : 0);
	err = npu_linsn_operand(l, insn, NPU_ARG_REDUCE_OUT, &out);
	return err ? err : npu_linsn_operand(l, insn, NPU_ARG_REDUCE_IN, &in);
}

int npu_lower_topk(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_gtensor *some = n->outputs[0] ? n->outputs[0] : n->outputs[1];
	struct npu_lview in, values, indices;
	struct npu_linsn *insn;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (!err)
		err = n->outputs[0] ? npu_lower_out_like(l, n->outputs[0], &in, &values) :
				      npu_lower_temp_like(l, some->dim, some->rank, &in, &values);
	if (!err)
		err = n->num_outputs > 1 && n->outputs[1] ?
			      npu_lower_out(l, n->outputs[1], &indices) :
			      npu_lower_temp(l, some->dim, some->rank, NPU_I32, &indices);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_TOPK);
	if (!insn)
		return -ENOMEM;
	npu_linsn_param(insn, NPU_TOPK_P_AXIS, (uint32_t)npu_gnode_int(n, "axis", in.rank - 1));
	npu_linsn_param(insn, NPU_TOPK_P_SMALLEST, !npu_gnode_int(n, "largest", 1));
	err = npu_linsn_operand(l, insn, NPU_TOPK_VALUES, &values);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_TOPK_INDICES, &indices);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_TOPK_IN, &in);
	return err || !n->outputs[0] ? err : npu_lower_finish(l, n->outputs[0], &values);
}

int npu_lower_cumsum(struct npu_lower *l, struct npu_gnode *n)
{
	const struct npu_attr *a = npu_gnode_attr(n, "axis");
	struct npu_lview in, out;
	struct npu_linsn *insn;
	double axis = 0;
	int err;

	if (a)
		axis = (double)a->i;
	else if (!npu_gnode_in(n, 1) || !npu_gtensor_scalar(n->inputs[1], &axis))
		return npu_lower_refuse(l, "axis", "it must be a constant");
	err = npu_lower_in(l, n->inputs[0], &in);
	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (err)
		return err;
	if (!(axis >= -in.rank && axis < in.rank))
		return npu_lower_refuse(l, "axis", "%g, expected %d to %d", axis, -in.rank,
					in.rank - 1);
	insn = npu_lower_insn(l, NPU_OP_CUMSUM);
	if (!insn)
		return -ENOMEM;
	npu_linsn_param(insn, NPU_CUMSUM_P_AXIS, (uint32_t)(axis < 0 ? axis + in.rank : axis));
	npu_linsn_param(insn, NPU_CUMSUM_P_EXCLUSIVE, npu_gnode_int(n, "exclusive", 0) ? 1 : 0);
	npu_linsn_param(insn, NPU_CUMSUM_P_REVERSE, npu_gnode_int(n, "reverse", 0) ? 1 : 0);
	err = npu_linsn_operand(l, insn, NPU_CUMSUM_OUT, &out);
	return err ? err : npu_linsn_operand(l, insn, NPU_CUMSUM_IN, &in);
}

int npu_lower_softmax(struct npu_lower *l, struct npu_gnode *n)
{
	int64_t axis = npu_gnode_int(n, "axis", 0);
	struct npu_lview in, out;
	struct npu_linsn *insn;
	int perm[NPU_GRAPH_MAX_RANK], at = 0, err = npu_lower_in(l, n->inputs[0], &in);

	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_SOFTMAX);
	if (!insn)
		return -ENOMEM;
	npu_lview_order(l, &out, perm);
	npu_lview_permute(&in, perm, &in);
	npu_lview_permute(&out, perm, &out);
	while (perm[at] != (int)axis)
		at++;
	npu_linsn_param(insn, NPU_SOFTMAX_P_AXIS, (uint32_t)at);
	npu_linsn_param(insn, NPU_SOFTMAX_P_LOG, n->op == NPU_GOP_LogSoftmax);
	err = npu_linsn_operand(l, insn, NPU_SOFTMAX_OUT, &out);
	return err ? err : npu_linsn_operand(l, insn, NPU_SOFTMAX_IN, &in);
}
