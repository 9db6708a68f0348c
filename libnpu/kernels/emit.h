/* SPDX-License-Identifier: MIT */
/* Inside of libnpu/kernels: what the operator builders are made of. */
#ifndef NPU_KERNELS_EMIT_H
#define NPU_KERNELS_EMIT_H

#include "npu_half.h"
#include "npu_kernels.h"

/* Names of the arrays' elements as the table has them. */
#define SLOTS(op) \
	const struct npu_tensor *t[NPU_##op##_NUM_SLOTS ? NPU_##op##_NUM_SLOTS : 1] = { NULL }
#define PARAMS(op)	npu_u32 p[NPU_##op##_NUM_PARAMS ? NPU_##op##_NUM_PARAMS : 1] = { 0 }
#define EMIT(op)	npu_stream_emit_tensors(b, NPU_OP_##op, t, p, NULL, 0, a->tag)

static inline npu_u32 emit_f32(float f)
{
	return npu_half_f32_bits(f);
}

/* 0 stands for a value that was not given. */
static inline npu_u32 emit_or_one(npu_u32 v)
{
	return v ? v : 1;
}

/*
 * act, act_alpha, act_beta, post_mul, post_add stand in this order in every opcode that has them.
 */
static inline void emit_act(npu_u32 *p, enum npu_act act, float alpha, float beta, bool post,
			    float mul, float add)
{
	p[0] = act;
	p[1] = emit_f32(alpha);
	p[2] = emit_f32(beta);
	p[3] = emit_f32(post ? mul : 1);
	p[4] = emit_f32(post ? add : 0);
}

#endif
