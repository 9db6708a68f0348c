// SPDX-License-Identifier: MIT
/* Builders of the convolutions and of matmul. */
#include "kernels/emit.h"

/* The epilogue's slots follow each other, and so do its parameters, wherever they start. */
static void emit_epilogue(const struct npu_epilogue *e, const struct npu_tensor **t, npu_u32 *p)
{
	enum npu_join join = e->join == NPU_JOIN_NONE && e->residual ? NPU_JOIN_ADD : e->join;

	t[0] = e->bias;
	t[1] = e->scale;
	t[2] = e->residual;
	t[3] = e->act_param;
	t[4] = e->table;
	emit_act(p, e->act, e->act_alpha, e->act_beta, e->post, e->post_mul, e->post_add);
	p[5] = join;
	p[6] = e->act2;
	p[7] = emit_f32(e->act2_alpha);
	p[8] = emit_f32(e->act2_beta);
}

#define EPILOGUE_ORDER(op)								\
	_Static_assert(NPU_##op##_TABLE == NPU_##op##_BIAS + 4 &&			\
		       NPU_##op##_P_POST_ADD == NPU_##op##_P_ACT + 4 &&		\
		       NPU_##op##_P_ACT2_BETA == NPU_##op##_P_ACT + 8,			\
		       "order of the epilogue of " #op)
EPILOGUE_ORDER(CONV);
EPILOGUE_ORDER(CONV_TRANSPOSE);
EPILOGUE_ORDER(MATMUL);

static void emit_window(const struct npu_conv_args *a, npu_u32 *p)
{
	p[NPU_CONV_P_STRIDE_H] = emit_or_one(a->stride_h);
	p[NPU_CONV_P_STRIDE_W] = emit_or_one(a->stride_w);
	p[NPU_CONV_P_DIL_H] = emit_or_one(a->dil_h);
	p[NPU_CONV_P_DIL_W] = emit_or_one(a->dil_w);
	p[NPU_CONV_P_PAD_TOP] = a->pad_top;
	p[NPU_CONV_P_PAD_LEFT] = a->pad_left;
	p[NPU_CONV_P_GROUPS] = emit_or_one(a->groups);
}

int npu_emit_conv(struct npu_stream_builder *b, const struct npu_conv_args *a)
{
	SLOTS(CONV);
	PARAMS(CONV);

	t[NPU_CONV_OUT] = a->out;
	t[NPU_CONV_IN] = a->in;
	t[NPU_CONV_WEIGHT] = a->weight;
	t[NPU_CONV_W_ZERO] = a->w_zero;
	t[NPU_CONV_X_ZERO] = a->x_zero;
	emit_window(a, p);
	emit_epilogue(&a->epilogue, t + NPU_CONV_BIAS, p + NPU_CONV_P_ACT);
	return EMIT(CONV);
}

int npu_emit_conv_transpose(struct npu_stream_builder *b, const struct npu_conv_args *a)
{
	SLOTS(CONV_TRANSPOSE);
	PARAMS(CONV_TRANSPOSE);

	t[NPU_CONV_TRANSPOSE_OUT] = a->out;
	t[NPU_CONV_TRANSPOSE_IN] = a->in;
	t[NPU_CONV_TRANSPOSE_WEIGHT] = a->weight;
	emit_window(a, p);
	emit_epilogue(&a->epilogue, t + NPU_CONV_TRANSPOSE_BIAS, p + NPU_CONV_TRANSPOSE_P_ACT);
	return EMIT(CONV_TRANSPOSE);
}

int npu_emit_matmul(struct npu_stream_builder *b, const struct npu_matmul_args *a)
{
	SLOTS(MATMUL);
	PARAMS(MATMUL);

	t[NPU_MATMUL_OUT] = a->out;
	t[NPU_MATMUL_A] = a->a;
	t[NPU_MATMUL_B] = a->b;
	t[NPU_MATMUL_GROUP_SCALE] = a->group_scale;
	t[NPU_MATMUL_GROUP_MIN] = a->group_min;
	t[NPU_MATMUL_SUPER_SCALE] = a->super_scale;
	t[NPU_MATMUL_CODEBOOK] = a->codebook;
	t[NPU_MATMUL_B_ZERO] = a->b_zero;
	t[NPU_MATMUL_A_SCALE] = a->a_scale;
	t[NPU_MATMUL_A_ZERO] = a->a_zero;
	p[NPU_MATMUL_P_GROUP] = a->group;
	p[NPU_MATMUL_P_SUPER] = a->super;
	p[NPU_MATMUL_P_A_GROUP] = a->a_group;
	emit_epilogue(&a->epilogue, t + NPU_MATMUL_BIAS, p + NPU_MATMUL_P_ACT);
	return EMIT(MATMUL);
}
