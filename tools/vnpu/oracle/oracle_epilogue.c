// SPDX-License-Identifier: MIT
/* v = acc + bias; act; fma(post_mul, post_add); join residual; act2; q(). */
#include <math.h>
#include "oracle.h"

/* EPILOGUE_SLOTS and EPILOGUE_PARAMS stand in one run, in the order of CONV's. */
#define SLOT_AT(name)	(first_slot + NPU_CONV_##name - NPU_CONV_BIAS)
#define PARAM_AT(name)	(first_param + NPU_CONV_P_##name - NPU_CONV_P_ACT)

void oracle_epilogue_init(struct oracle_epilogue *e, const struct npu_insn *insn,
			  const struct oracle_memory *mem, unsigned int first_slot,
			  unsigned int first_param)
{
	e->bias = oracle_view(insn, mem, SLOT_AT(BIAS));
	e->scale = oracle_view(insn, mem, SLOT_AT(SCALE));
	e->residual = oracle_view(insn, mem, SLOT_AT(RESIDUAL));
	e->act_param = oracle_view(insn, mem, SLOT_AT(ACT_PARAM));
	e->table = oracle_view(insn, mem, SLOT_AT(TABLE));
	e->act = insn->param[PARAM_AT(ACT)];
	e->act2 = insn->param[PARAM_AT(ACT2)];
	e->join = insn->param[PARAM_AT(JOIN)];
	e->alpha = oracle_param_f32(insn, PARAM_AT(ACT_ALPHA));
	e->beta = oracle_param_f32(insn, PARAM_AT(ACT_BETA));
	e->post_mul = oracle_param_f32(insn, PARAM_AT(POST_MUL));
	e->post_add = oracle_param_f32(insn, PARAM_AT(POST_ADD));
	e->alpha2 = oracle_param_f32(insn, PARAM_AT(ACT2_ALPHA));
	e->beta2 = oracle_param_f32(insn, PARAM_AT(ACT2_BETA));
}

static void finish(const struct oracle_epilogue *e, struct oracle_view out, const npu_u32 *index,
		   npu_u32 o, float v)
{
	unsigned char *at = oracle_at(out, index);
	float slope = 0, r;

	if (oracle_present(e->act_param))
		slope = oracle_load_real(e->act_param, oracle_at(e->act_param, &o));
	v = oracle_act(e->act, v, e->alpha, e->beta, slope);
	if (e->post_mul != 1 || e->post_add != 0)
		v = fmaf(v, e->post_mul, e->post_add);
	if (oracle_present(e->residual) && e->join != NPU_JOIN_NONE) {
		r = oracle_load_real(e->residual,
				     oracle_at_broadcast(e->residual, index, out.op->rank));
		v = e->join == NPU_JOIN_ADD ? v + r : v * r;
	}
	v = oracle_act(e->act2, v, e->alpha2, e->beta2, 0);
	oracle_store_real(out, at, v);
	if (oracle_present(e->table))
		*at = e->table.base[*at * e->table.op->stride[0]];
}

void oracle_epilogue_float(const struct oracle_epilogue *e, struct oracle_view out,
			   const npu_u32 *index, npu_u32 o, float acc)
{
	if (oracle_present(e->bias))
		acc = acc + oracle_load_real(e->bias, oracle_at(e->bias, &o));
	finish(e, out, index, o, acc);
}

void oracle_epilogue_int(const struct oracle_epilogue *e, struct oracle_view out,
			 const npu_u32 *index, npu_u32 o, npu_s64 acc)
{
	float v;

	if (oracle_present(e->bias))
		acc += oracle_load_int(e->bias, oracle_at(e->bias, &o));
	acc = (npu_s32)acc;
	if (!oracle_present(e->scale) && out.op->dtype == NPU_I32 && out.op->scale == 0) {
		oracle_store_int(out, oracle_at(out, index), acc);
		return;
	}
	v = (float)acc;
	if (oracle_present(e->scale))
		v = v * oracle_load_real(e->scale, e->scale.op->rank ?
							   oracle_at_broadcast(e->scale, &o, 1) :
							   e->scale.base);
	finish(e, out, index, o, v);
}
