// SPDX-License-Identifier: MIT
/* One instruction, or a stream of them, by the plain reference. */
#include <errno.h>
#include <string.h>
#include "oracle.h"

static int nothing(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	(void)insn;
	(void)mem;
	return 0;
}

static const struct {
	unsigned int opcode;
	int (*execute)(const struct npu_insn *insn, const struct oracle_memory *mem);
} oracle_ops[] = {
	{ NPU_OP_END, nothing },
	{ NPU_OP_MARKER, nothing },
	{ NPU_OP_CONV, oracle_conv },
	{ NPU_OP_CONV_TRANSPOSE, oracle_conv_transpose },
	{ NPU_OP_MATMUL, oracle_matmul },
	{ NPU_OP_EWISE1, oracle_ewise1 },
	{ NPU_OP_EWISE2, oracle_ewise2 },
	{ NPU_OP_SELECT, oracle_select },
	{ NPU_OP_REDUCE, oracle_reduce },
	{ NPU_OP_ARG_REDUCE, oracle_arg_reduce },
	{ NPU_OP_TOPK, oracle_topk },
	{ NPU_OP_CUMSUM, oracle_cumsum },
	{ NPU_OP_SOFTMAX, oracle_softmax },
	{ NPU_OP_NORM, oracle_norm },
	{ NPU_OP_POOL, oracle_pool },
	{ NPU_OP_RESIZE, oracle_resize },
	{ NPU_OP_CROP_RESIZE, oracle_crop_resize },
	{ NPU_OP_COPY, oracle_copy },
	{ NPU_OP_FILL, oracle_fill },
	{ NPU_OP_PAD, oracle_pad },
	{ NPU_OP_IOTA, oracle_iota },
	{ NPU_OP_GATHER, oracle_gather },
	{ NPU_OP_GATHER_ELEMENTS, oracle_gather_elements },
	{ NPU_OP_SCATTER, oracle_scatter },
	{ NPU_OP_SCATTER_ELEMENTS, oracle_scatter_elements },
	{ NPU_OP_ATTENTION, oracle_attention },
	{ NPU_OP_ROPE, oracle_rope },
	{ NPU_OP_DYN_QUANT, oracle_dyn_quant },
	{ NPU_OP_COUNT, oracle_count },
	{ NPU_OP_COLOR, oracle_color },
};

int oracle_execute(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	for (size_t i = 0; i < sizeof(oracle_ops) / sizeof(oracle_ops[0]); i++)
		if (oracle_ops[i].opcode == insn->desc->code)
			return oracle_ops[i].execute(insn, mem);
	return -ENOTSUP;
}

bool oracle_can_sample(const struct npu_insn *insn)
{
	switch (insn->desc->code) {
	case NPU_OP_CONV:
	case NPU_OP_CONV_TRANSPOSE:
	case NPU_OP_MATMUL:
		return true;
	}
	return false;
}

bool oracle_is_exact(const struct npu_insn *insn)
{
	switch (insn->desc->code) {
	case NPU_OP_CONV:
		return oracle_act_is_exact(insn->param[NPU_CONV_P_ACT]) &&
		       oracle_act_is_exact(insn->param[NPU_CONV_P_ACT2]);
	case NPU_OP_CONV_TRANSPOSE:
		return oracle_act_is_exact(insn->param[NPU_CONV_TRANSPOSE_P_ACT]) &&
		       oracle_act_is_exact(insn->param[NPU_CONV_TRANSPOSE_P_ACT2]);
	case NPU_OP_MATMUL:
		return oracle_act_is_exact(insn->param[NPU_MATMUL_P_ACT]) &&
		       oracle_act_is_exact(insn->param[NPU_MATMUL_P_ACT2]);
	case NPU_OP_EWISE1:
		switch (insn->param[NPU_EWISE1_P_FUNC]) {
		case NPU_UNARY_EXP:
		case NPU_UNARY_LOG:
		case NPU_UNARY_ERF:
		case NPU_UNARY_SIN:
		case NPU_UNARY_COS:
		case NPU_UNARY_TAN:
		case NPU_UNARY_ASIN:
		case NPU_UNARY_ACOS:
		case NPU_UNARY_ATAN:
		case NPU_UNARY_SINH:
		case NPU_UNARY_COSH:
		case NPU_UNARY_ASINH:
		case NPU_UNARY_ACOSH:
		case NPU_UNARY_ATANH:
			return false;
		}
		return oracle_act_is_exact(insn->param[NPU_EWISE1_P_ACT]);
	case NPU_OP_EWISE2:
		return insn->param[NPU_EWISE2_P_FUNC] != NPU_BINARY_POW &&
		       oracle_act_is_exact(insn->param[NPU_EWISE2_P_ACT]);
	case NPU_OP_REDUCE:
		return insn->param[NPU_REDUCE_P_FUNC] < NPU_REDUCE_LOG_SUM;
	case NPU_OP_SOFTMAX:
	case NPU_OP_ATTENTION:
	case NPU_OP_ROPE:
		return false;
	}
	return true;
}
