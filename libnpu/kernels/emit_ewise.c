// SPDX-License-Identifier: MIT
/* Builders of element-wise functions, reductions, copies and fills. */
#include "kernels/emit.h"

int npu_emit_unary(struct npu_stream_builder *b, const struct npu_unary_args *a)
{
	SLOTS(EWISE1);
	PARAMS(EWISE1);

	t[NPU_EWISE1_OUT] = a->out;
	t[NPU_EWISE1_IN] = a->in;
	t[NPU_EWISE1_ACT_PARAM] = a->act_param;
	p[NPU_EWISE1_P_FUNC] = a->func;
	emit_act(p + NPU_EWISE1_P_ACT, a->act, a->act_alpha, a->act_beta, a->post, a->post_mul,
		 a->post_add);
	return EMIT(EWISE1);
}

int npu_emit_binary(struct npu_stream_builder *b, const struct npu_binary_args *a)
{
	SLOTS(EWISE2);
	PARAMS(EWISE2);

	t[NPU_EWISE2_OUT] = a->out;
	t[NPU_EWISE2_A] = a->a;
	t[NPU_EWISE2_B] = a->b;
	t[NPU_EWISE2_ACT_PARAM] = a->act_param;
	p[NPU_EWISE2_P_FUNC] = a->func;
	emit_act(p + NPU_EWISE2_P_ACT, a->act, a->act_alpha, a->act_beta, a->post, a->post_mul,
		 a->post_add);
	return EMIT(EWISE2);
}

int npu_emit_select(struct npu_stream_builder *b, const struct npu_select_args *a)
{
	SLOTS(SELECT);
	PARAMS(SELECT);

	t[NPU_SELECT_OUT] = a->out;
	t[NPU_SELECT_COND] = a->cond;
	t[NPU_SELECT_A] = a->a;
	t[NPU_SELECT_B] = a->b;
	return EMIT(SELECT);
}

int npu_emit_reduce(struct npu_stream_builder *b, const struct npu_reduce_args *a)
{
	SLOTS(REDUCE);
	PARAMS(REDUCE);

	t[NPU_REDUCE_OUT] = a->out;
	t[NPU_REDUCE_IN] = a->in;
	p[NPU_REDUCE_P_FUNC] = a->func;
	p[NPU_REDUCE_P_AXES] = a->axes;
	return EMIT(REDUCE);
}

int npu_emit_arg_reduce(struct npu_stream_builder *b, const struct npu_arg_reduce_args *a)
{
	SLOTS(ARG_REDUCE);
	PARAMS(ARG_REDUCE);

	t[NPU_ARG_REDUCE_OUT] = a->out;
	t[NPU_ARG_REDUCE_IN] = a->in;
	p[NPU_ARG_REDUCE_P_AXIS] = a->axis;
	p[NPU_ARG_REDUCE_P_IS_MIN] = a->is_min;
	p[NPU_ARG_REDUCE_P_LAST] = a->last;
	return EMIT(ARG_REDUCE);
}

int npu_emit_topk(struct npu_stream_builder *b, const struct npu_topk_args *a)
{
	SLOTS(TOPK);
	PARAMS(TOPK);

	t[NPU_TOPK_VALUES] = a->values;
	t[NPU_TOPK_INDICES] = a->indices;
	t[NPU_TOPK_IN] = a->in;
	p[NPU_TOPK_P_AXIS] = a->axis;
	p[NPU_TOPK_P_SMALLEST] = a->smallest;
	return EMIT(TOPK);
}

int npu_emit_cumsum(struct npu_stream_builder *b, const struct npu_cumsum_args *a)
{
	SLOTS(CUMSUM);
	PARAMS(CUMSUM);

	t[NPU_CUMSUM_OUT] = a->out;
	t[NPU_CUMSUM_IN] = a->in;
	p[NPU_CUMSUM_P_AXIS] = a->axis;
	p[NPU_CUMSUM_P_EXCLUSIVE] = a->exclusive;
	p[NPU_CUMSUM_P_REVERSE] = a->reverse;
	return EMIT(CUMSUM);
}

int npu_emit_softmax(struct npu_stream_builder *b, const struct npu_softmax_args *a)
{
	SLOTS(SOFTMAX);
	PARAMS(SOFTMAX);

	t[NPU_SOFTMAX_OUT] = a->out;
	t[NPU_SOFTMAX_IN] = a->in;
	p[NPU_SOFTMAX_P_AXIS] = a->axis;
	p[NPU_SOFTMAX_P_LOG] = a->log;
	return EMIT(SOFTMAX);
}

int npu_emit_norm(struct npu_stream_builder *b, const struct npu_norm_args *a)
{
	SLOTS(NORM);
	PARAMS(NORM);

	t[NPU_NORM_OUT] = a->out;
	t[NPU_NORM_IN] = a->in;
	t[NPU_NORM_GAMMA] = a->gamma;
	t[NPU_NORM_BETA] = a->beta;
	t[NPU_NORM_ADDEND] = a->addend;
	t[NPU_NORM_SUM] = a->sum;
	p[NPU_NORM_P_KIND] = a->kind;
	p[NPU_NORM_P_EPS] = emit_f32(a->eps);
	return EMIT(NORM);
}

int npu_emit_copy(struct npu_stream_builder *b, const struct npu_copy_args *a)
{
	SLOTS(COPY);
	PARAMS(COPY);

	t[NPU_COPY_OUT] = a->out;
	t[NPU_COPY_IN] = a->in;
	return EMIT(COPY);
}

int npu_emit_fill(struct npu_stream_builder *b, const struct npu_fill_args *a)
{
	SLOTS(FILL);
	PARAMS(FILL);

	t[NPU_FILL_OUT] = a->out;
	p[NPU_FILL_P_VALUE_LO] = a->bits;
	p[NPU_FILL_P_VALUE_HI] = a->bits >> 32;
	return EMIT(FILL);
}

int npu_emit_pad(struct npu_stream_builder *b, const struct npu_pad_args *a)
{
	SLOTS(PAD);
	PARAMS(PAD);
	unsigned int i;

	t[NPU_PAD_OUT] = a->out;
	t[NPU_PAD_IN] = a->in;
	p[NPU_PAD_P_MODE] = a->mode;
	for (i = 0; i < NPU_MAX_RANK; i++)
		p[NPU_PAD_P_BEFORE0 + i] = a->before[i];
	p[NPU_PAD_P_VALUE_LO] = a->bits;
	p[NPU_PAD_P_VALUE_HI] = a->bits >> 32;
	return EMIT(PAD);
}

int npu_emit_iota(struct npu_stream_builder *b, const struct npu_iota_args *a)
{
	SLOTS(IOTA);
	PARAMS(IOTA);

	t[NPU_IOTA_OUT] = a->out;
	p[NPU_IOTA_P_AXIS] = a->axis;
	p[NPU_IOTA_P_START] = emit_f32(a->start);
	p[NPU_IOTA_P_STEP] = emit_f32(a->step);
	return EMIT(IOTA);
}
