// SPDX-License-Identifier: MIT
/*
 * Builders of gather and scatter, attention, RoPE, dynamic quantization, and of what controls a
 * stream.
 */
#include "kernels/emit.h"

int npu_emit_gather(struct npu_stream_builder *b, const struct npu_gather_args *a)
{
	SLOTS(GATHER);
	PARAMS(GATHER);

	t[NPU_GATHER_OUT] = a->out;
	t[NPU_GATHER_IN] = a->in;
	t[NPU_GATHER_INDEX] = a->index;
	t[NPU_GATHER_GROUP_SCALE] = a->group_scale;
	t[NPU_GATHER_GROUP_MIN] = a->group_min;
	t[NPU_GATHER_SUPER_SCALE] = a->super_scale;
	t[NPU_GATHER_CODEBOOK] = a->codebook;
	p[NPU_GATHER_P_GROUP] = a->group;
	p[NPU_GATHER_P_SUPER] = a->super;
	return EMIT(GATHER);
}

int npu_emit_gather_elements(struct npu_stream_builder *b, const struct npu_gather_elements_args *a)
{
	SLOTS(GATHER_ELEMENTS);
	PARAMS(GATHER_ELEMENTS);

	t[NPU_GATHER_ELEMENTS_OUT] = a->out;
	t[NPU_GATHER_ELEMENTS_IN] = a->in;
	t[NPU_GATHER_ELEMENTS_INDEX] = a->index;
	p[NPU_GATHER_ELEMENTS_P_AXIS] = a->axis;
	return EMIT(GATHER_ELEMENTS);
}

int npu_emit_scatter(struct npu_stream_builder *b, const struct npu_scatter_args *a)
{
	SLOTS(SCATTER);
	PARAMS(SCATTER);

	t[NPU_SCATTER_INOUT] = a->inout;
	t[NPU_SCATTER_IN] = a->in;
	t[NPU_SCATTER_INDEX] = a->index;
	p[NPU_SCATTER_P_JOIN] = a->join;
	p[NPU_SCATTER_P_SKIP] = a->skip;
	return EMIT(SCATTER);
}

int npu_emit_scatter_elements(struct npu_stream_builder *b,
			      const struct npu_scatter_elements_args *a)
{
	SLOTS(SCATTER_ELEMENTS);
	PARAMS(SCATTER_ELEMENTS);

	t[NPU_SCATTER_ELEMENTS_INOUT] = a->inout;
	t[NPU_SCATTER_ELEMENTS_IN] = a->in;
	t[NPU_SCATTER_ELEMENTS_INDEX] = a->index;
	p[NPU_SCATTER_ELEMENTS_P_AXIS] = a->axis;
	p[NPU_SCATTER_ELEMENTS_P_JOIN] = a->join;
	return EMIT(SCATTER_ELEMENTS);
}

int npu_emit_attention(struct npu_stream_builder *b, const struct npu_attention_args *a)
{
	const struct npu_param_len batch = { NPU_ATTENTION_P_BATCH, a->batch };
	SLOTS(ATTENTION);
	PARAMS(ATTENTION);

	t[NPU_ATTENTION_OUT] = a->out;
	t[NPU_ATTENTION_Q] = a->q;
	t[NPU_ATTENTION_K] = a->k;
	t[NPU_ATTENTION_V] = a->v;
	t[NPU_ATTENTION_MASK] = a->mask;
	t[NPU_ATTENTION_POSITIONS] = a->positions;
	t[NPU_ATTENTION_Q_START] = a->q_start;
	t[NPU_ATTENTION_KV_LEN] = a->kv_len;
	t[NPU_ATTENTION_BLOCK_TABLE] = a->block_table;
	t[NPU_ATTENTION_SINKS] = a->sinks;
	t[NPU_ATTENTION_K_SCALE] = a->k_scale;
	t[NPU_ATTENTION_V_SCALE] = a->v_scale;
	p[NPU_ATTENTION_P_SCALE] = emit_f32(a->scale);
	p[NPU_ATTENTION_P_CAUSAL] = a->causal;
	p[NPU_ATTENTION_P_WINDOW] = a->window;
	p[NPU_ATTENTION_P_SOFT_CAP] = emit_f32(a->soft_cap);
	return npu_stream_emit_tensors(b, NPU_OP_ATTENTION, t, p, &batch, 1, a->tag);
}

int npu_emit_rope(struct npu_stream_builder *b, const struct npu_rope_args *a)
{
	SLOTS(ROPE);
	PARAMS(ROPE);

	t[NPU_ROPE_OUT] = a->out;
	t[NPU_ROPE_IN] = a->in;
	t[NPU_ROPE_POSITIONS] = a->positions;
	t[NPU_ROPE_FACTORS] = a->factors;
	t[NPU_ROPE_COS_TABLE] = a->cos_table;
	t[NPU_ROPE_SIN_TABLE] = a->sin_table;
	p[NPU_ROPE_P_DIMS] = a->dims;
	p[NPU_ROPE_P_PAIRING] = a->pairing;
	p[NPU_ROPE_P_BASE] = emit_f32(a->base);
	p[NPU_ROPE_P_POS_SCALE] = emit_f32(a->pos_scale != 0 ? a->pos_scale : 1);
	p[NPU_ROPE_P_MSCALE] = emit_f32(a->mscale != 0 ? a->mscale : 1);
	return EMIT(ROPE);
}

int npu_emit_dyn_quant(struct npu_stream_builder *b, const struct npu_dyn_quant_args *a)
{
	SLOTS(DYN_QUANT);
	PARAMS(DYN_QUANT);

	t[NPU_DYN_QUANT_OUT] = a->out;
	t[NPU_DYN_QUANT_SCALE] = a->scale;
	t[NPU_DYN_QUANT_ZERO] = a->zero;
	t[NPU_DYN_QUANT_IN] = a->in;
	p[NPU_DYN_QUANT_P_GROUP] = a->group;
	return EMIT(DYN_QUANT);
}

int npu_emit_count(struct npu_stream_builder *b, const struct npu_count_args *a)
{
	SLOTS(COUNT);
	PARAMS(COUNT);

	t[NPU_COUNT_INOUT] = a->inout;
	t[NPU_COUNT_IN] = a->in;
	return EMIT(COUNT);
}

int npu_emit_marker(struct npu_stream_builder *b, const struct npu_marker_args *a)
{
	SLOTS(MARKER);
	PARAMS(MARKER);

	p[NPU_MARKER_P_VALUE] = a->value;
	return EMIT(MARKER);
}

int npu_emit_timestamp(struct npu_stream_builder *b, const struct npu_timestamp_args *a)
{
	SLOTS(TIMESTAMP);
	PARAMS(TIMESTAMP);

	t[NPU_TIMESTAMP_OUT] = a->out;
	return EMIT(TIMESTAMP);
}

int npu_emit_load_scalar(struct npu_stream_builder *b, const struct npu_load_scalar_args *a)
{
	SLOTS(LOAD_SCALAR);
	PARAMS(LOAD_SCALAR);

	t[NPU_LOAD_SCALAR_IN] = a->in;
	p[NPU_LOAD_SCALAR_P_INDEX] = a->index;
	p[NPU_LOAD_SCALAR_P_MIN] = a->min;
	p[NPU_LOAD_SCALAR_P_MAX] = a->max;
	return EMIT(LOAD_SCALAR);
}
