// SPDX-License-Identifier: MIT
/*
 * Static checks of what goes by indices: gather and scatter, attention, RoPE; and of dynamic
 * quantization.
 */
#include "npu_isa_limits.h"
#include "npu_isa_priv.h"

_Static_assert((int)NPU_GATHER_P_SUPER == (int)NPU_MATMUL_P_SUPER,
	       "npu_check_groups() names the parameter");

/* Rows of codes, one behind the other or as a weight of MATMUL has them. */
static int check_quantized_rows(struct npu_check *c)
{
	const struct npu_operand *in = &c->op[NPU_GATHER_IN];
	struct npu_group_slots g = {
		.data = NPU_GATHER_IN, .scale = NPU_GATHER_GROUP_SCALE, .min = NPU_GATHER_GROUP_MIN,
		.super_scale = NPU_GATHER_SUPER_SCALE, .codebook = NPU_GATHER_CODEBOOK,
		.group = c->param[NPU_GATHER_P_GROUP], .super = c->param[NPU_GATHER_P_SUPER],
		.grouped = in->dim[2], .other = in->dim[1], .transposed = true,
	};

	if (in->layout != NPU_LAYOUT_STRIDED && in->layout != NPU_LAYOUT_GROUPED16)
		return check_fail(
			c, OPERAND, NPU_GATHER_IN, NPU_NO_FIELD, in->layout,
			"layout of in is %s, expected strided or grouped16 for quantized rows",
			npu_layout_name(in->layout));
	return npu_want_type(c, NPU_GATHER_OUT, T_FLOAT, "f32, f16 or bf16 for quantized rows") ?:
	       npu_want_dim(c, NPU_GATHER_IN, 0, 1, "one table of quantized rows") ?:
	       npu_check_groups(c, &g);
}

int npu_check_gather(struct npu_check *c)
{
	const struct npu_operand *out = &c->op[NPU_GATHER_OUT], *in = &c->op[NPU_GATHER_IN];

	if (npu_want_dim(c, NPU_GATHER_OUT, 0, in->dim[0], "outer of in") ||
	    npu_want_dim(c, NPU_GATHER_OUT, 2, in->dim[2], "inner of in") ||
	    npu_want_vector(c, NPU_GATHER_INDEX, out->dim[1], "rows of out"))
		return -EINVAL;
	if (c->param[NPU_GATHER_P_GROUP])
		return check_quantized_rows(c);
	if (c->param[NPU_GATHER_P_SUPER])
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_GATHER_P_SUPER,
				  c->param[NPU_GATHER_P_SUPER],
				  "parameter super is %u, expected 0 without group",
				  c->param[NPU_GATHER_P_SUPER]);
	if (in->layout != NPU_LAYOUT_STRIDED)
		return check_fail(c, OPERAND, NPU_GATHER_IN, NPU_NO_FIELD, in->layout,
				  "layout of in is %s, expected strided for plain rows",
				  npu_layout_name(in->layout));
	return npu_want_type(c, NPU_GATHER_IN, T_ALL, "a type of 8 bits or more for plain rows") ?:
	       npu_want_absent(c, NPU_GATHER_GROUP_SCALE, "without parameter group") ?:
	       npu_want_absent(c, NPU_GATHER_GROUP_MIN, "without parameter group") ?:
	       npu_want_absent(c, NPU_GATHER_SUPER_SCALE, "without parameter group") ?:
	       npu_want_absent(c, NPU_GATHER_CODEBOOK, "without parameter group");
}

/* Dims of @slot but @axis are at most those of @whole. */
static int check_within(struct npu_check *c, unsigned int slot, unsigned int whole,
			unsigned int axis)
{
	const struct npu_operand *a = &c->op[slot], *b = &c->op[whole];
	unsigned int i;

	if (npu_want_rank(c, slot, b->rank, "that of the data"))
		return -EINVAL;
	for (i = 0; i < a->rank; i++)
		if (i != axis && a->dim[i] > b->dim[i])
			return check_fail(c, SHAPE, slot, i, a->dim[i],
					  "%s dim %u is %u, expected at most that of %s = %u",
					  c->insn->desc->slots[slot].name, i, a->dim[i],
					  c->insn->desc->slots[whole].name, b->dim[i]);
	return 0;
}

int npu_check_gather_elements(struct npu_check *c)
{
	return npu_want_axis(c, NPU_GATHER_ELEMENTS_P_AXIS, NPU_GATHER_ELEMENTS_IN)		 ?:
		       npu_want_same_dims(c, NPU_GATHER_ELEMENTS_OUT, NPU_GATHER_ELEMENTS_INDEX) ?:
		       check_within(c, NPU_GATHER_ELEMENTS_INDEX, NPU_GATHER_ELEMENTS_IN,
				    c->param[NPU_GATHER_ELEMENTS_P_AXIS]) ?:
		       npu_want_same_type(c, NPU_GATHER_ELEMENTS_OUT, NPU_GATHER_ELEMENTS_IN);
}

int npu_check_scatter(struct npu_check *c)
{
	const struct npu_operand *data = &c->op[NPU_SCATTER_INOUT], *in = &c->op[NPU_SCATTER_IN];

	return npu_want_dim(c, NPU_SCATTER_IN, 0, data->dim[0], "outer of inout") ?:
	       npu_want_dim(c, NPU_SCATTER_IN, 2, data->dim[2], "inner of inout") ?:
	       npu_want_vector(c, NPU_SCATTER_INDEX, in->dim[1], "rows of in") ?:
	       npu_want_same_type(c, NPU_SCATTER_IN, NPU_SCATTER_INOUT);
}

int npu_check_scatter_elements(struct npu_check *c)
{
	return npu_want_axis(c, NPU_SCATTER_ELEMENTS_P_AXIS, NPU_SCATTER_ELEMENTS_INOUT)	  ?:
		       npu_want_same_dims(c, NPU_SCATTER_ELEMENTS_IN, NPU_SCATTER_ELEMENTS_INDEX) ?:
		       check_within(c, NPU_SCATTER_ELEMENTS_INDEX, NPU_SCATTER_ELEMENTS_INOUT,
				    c->param[NPU_SCATTER_ELEMENTS_P_AXIS]) ?:
		       npu_want_same_type(c, NPU_SCATTER_ELEMENTS_IN, NPU_SCATTER_ELEMENTS_INOUT);
}

/* An 8-bit cache has a scale of its own or one per row; a float cache has none. */
static int check_cache(struct npu_check *c, unsigned int slot, unsigned int scale)
{
	const struct npu_operand *op = &c->op[slot];
	unsigned int i;

	if (npu_type_bit(op) & T_FLOAT)
		return npu_want_absent(c, scale, "with a float cache");
	if (!npu_is_present(&c->op[scale])) {
		if (op->scale == 0)
			return check_fail(c, OPERAND, slot, NPU_NO_FIELD, op->dtype,
					  "%s is %s without a scale, expected one or operand %s",
					  c->insn->desc->slots[slot].name,
					  npu_dtype_name(op->dtype),
					  c->insn->desc->slots[scale].name);
		return 0;
	}
	for (i = 0; i < 3; i++)
		if (npu_want_dim(c, scale, i, op->dim[i], "that of the cache"))
			return -EINVAL;
	return 0;
}

static int check_attention_mask(struct npu_check *c, npu_u64 len)
{
	const struct npu_operand *mask = &c->op[NPU_ATTENTION_MASK], *q = &c->op[NPU_ATTENTION_Q];
	npu_u32 batch = c->param[NPU_ATTENTION_P_BATCH];
	npu_u32 rows = npu_is_present(&c->op[NPU_ATTENTION_Q_START]) ? q->dim[0] :
								       q->dim[0] / batch;

	if (!npu_is_present(mask))
		return 0;
	return (mask->dim[0] == 1 ? 0 :
		npu_want_dim(c, NPU_ATTENTION_MASK, 0, batch, "1 or batch")) ?:
	       (mask->dim[1] == 1 ? 0 :
		npu_want_dim(c, NPU_ATTENTION_MASK, 1, q->dim[1], "1 or heads")) ?:
	       (mask->dim[2] == 1 ? 0 :
		npu_want_dim(c, NPU_ATTENTION_MASK, 2, rows, "1 or query rows")) ?:
	       npu_want_dim(c, NPU_ATTENTION_MASK, 3, len, "positions of the cache");
}

static int check_attention_batch(struct npu_check *c)
{
	const struct npu_operand *k = &c->op[NPU_ATTENTION_K], *q = &c->op[NPU_ATTENTION_Q];
	npu_u32 batch = c->param[NPU_ATTENTION_P_BATCH];
	npu_u64 len = k->dim[1];

	if (!npu_is_present(&c->op[NPU_ATTENTION_Q_START]) && q->dim[0] % batch)
		return check_fail(
			c, SHAPE, NPU_ATTENTION_Q, 0, q->dim[0],
			"q has %u rows, expected a multiple of batch = %u without q_start",
			q->dim[0], batch);
	if (npu_want_vector(c, NPU_ATTENTION_POSITIONS, q->dim[0], "rows of q") ||
	    npu_want_vector(c, NPU_ATTENTION_Q_START, (npu_u64)batch + 1, "batch + 1") ||
	    npu_want_vector(c, NPU_ATTENTION_KV_LEN, batch, "batch") ||
	    npu_want_vector(c, NPU_ATTENTION_SINKS, q->dim[1], "heads"))
		return -EINVAL;
	if (npu_is_present(&c->op[NPU_ATTENTION_BLOCK_TABLE])) {
		if (npu_want_dim(c, NPU_ATTENTION_BLOCK_TABLE, 0, batch, "batch"))
			return -EINVAL;
		len *= c->op[NPU_ATTENTION_BLOCK_TABLE].dim[1];
		if (len > NPU_MAX_DIM)
			return check_fail(c, LIMIT, NPU_ATTENTION_BLOCK_TABLE, 1, len,
					  "%llu positions of the cache, expected at most %u",
					  (unsigned long long)len, NPU_MAX_DIM);
	} else if (npu_want_dim(c, NPU_ATTENTION_K, 0, batch, "batch without block_table")) {
		return -EINVAL;
	}
	return check_attention_mask(c, len);
}

int npu_check_attention(struct npu_check *c)
{
	const struct npu_operand *q = &c->op[NPU_ATTENTION_Q], *k = &c->op[NPU_ATTENTION_K],
				 *v = &c->op[NPU_ATTENTION_V];

	if (npu_want_dim(c, NPU_ATTENTION_OUT, 0, q->dim[0], "rows of q") ||
	    npu_want_dim(c, NPU_ATTENTION_OUT, 1, q->dim[1], "heads of q") ||
	    npu_want_dim(c, NPU_ATTENTION_OUT, 2, v->dim[3], "the last dim of v") ||
	    npu_want_dim(c, NPU_ATTENTION_K, 3, q->dim[2], "the last dim of q") ||
	    npu_want_same_but(c, NPU_ATTENTION_V, NPU_ATTENTION_K, 3))
		return -EINVAL;
	if (npu_want_at_most(c, NPU_ATTENTION_Q, 2, NPU_MAX_HEAD) ||
	    npu_want_at_most(c, NPU_ATTENTION_V, 3, NPU_MAX_HEAD))
		return -EINVAL;
	if (q->dim[1] % k->dim[2])
		return check_fail(c, SHAPE, NPU_ATTENTION_Q, 1, q->dim[1],
				  "q has %u heads, expected a multiple of kv_heads = %u", q->dim[1],
				  k->dim[2]);
	if (npu_param_f32(c->param[NPU_ATTENTION_P_SOFT_CAP]) < 0)
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_ATTENTION_P_SOFT_CAP,
				  c->param[NPU_ATTENTION_P_SOFT_CAP],
				  "parameter soft_cap is negative");
	return check_cache(c, NPU_ATTENTION_K, NPU_ATTENTION_K_SCALE) ?:
	       check_cache(c, NPU_ATTENTION_V, NPU_ATTENTION_V_SCALE) ?: check_attention_batch(c);
}

int npu_check_rope(struct npu_check *c)
{
	const struct npu_operand *in = &c->op[NPU_ROPE_IN];
	npu_u32 dims = c->param[NPU_ROPE_P_DIMS];
	bool table = npu_is_present(&c->op[NPU_ROPE_COS_TABLE]);

	if (dims % 2 || dims > in->dim[2])
		return check_fail(
			c, PARAM, NPU_NO_FIELD, NPU_ROPE_P_DIMS, dims,
			"parameter dims is %u, expected an even number up to the last dim of in = %u",
			dims, in->dim[2]);
	if (npu_want_at_most(c, NPU_ROPE_IN, 2, NPU_MAX_HEAD) ||
	    npu_want_same_dims(c, NPU_ROPE_OUT, NPU_ROPE_IN) ||
	    npu_want_vector(c, NPU_ROPE_POSITIONS, in->dim[0], "rows of in") ||
	    npu_want_vector(c, NPU_ROPE_FACTORS, dims / 2, "dims / 2"))
		return -EINVAL;
	if (table)
		return npu_want_present(c, NPU_ROPE_SIN_TABLE, "beside cos_table") ?:
		       npu_want_dim(c, NPU_ROPE_COS_TABLE, 1, dims / 2, "dims / 2") ?:
		       npu_want_same_dims(c, NPU_ROPE_SIN_TABLE, NPU_ROPE_COS_TABLE);
	if (!(npu_param_f32(c->param[NPU_ROPE_P_BASE]) > 0))
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_ROPE_P_BASE,
				  c->param[NPU_ROPE_P_BASE],
				  "parameter base is %g, expected > 0 without a table",
				  (double)npu_param_f32(c->param[NPU_ROPE_P_BASE]));
	return npu_want_absent(c, NPU_ROPE_SIN_TABLE, "without cos_table");
}

static int check_quant_groups(struct npu_check *c, npu_u32 group)
{
	const struct npu_operand *in = &c->op[NPU_DYN_QUANT_IN];

	return npu_want_type(c, NPU_DYN_QUANT_OUT, T_I8, "i8 with parameter group")		 ?:
		       npu_want_absent(c, NPU_DYN_QUANT_ZERO, "with parameter group")		 ?:
		       npu_want_same_but(c, NPU_DYN_QUANT_SCALE, NPU_DYN_QUANT_IN, in->rank - 1) ?:
		       npu_want_dim(c, NPU_DYN_QUANT_SCALE, in->rank - 1,
				    npu_div_up(npu_last_dim(in), group), "groups of the last dim");
}

int npu_check_dyn_quant(struct npu_check *c)
{
	npu_u32 group = c->param[NPU_DYN_QUANT_P_GROUP];

	if (npu_want_same_dims(c, NPU_DYN_QUANT_OUT, NPU_DYN_QUANT_IN))
		return -EINVAL;
	if (group)
		return check_quant_groups(c, group);
	if (c->op[NPU_DYN_QUANT_SCALE].rank > 1)
		return npu_want_rank(c, NPU_DYN_QUANT_SCALE, 1, "one element, [] or [1]");
	return npu_want_type(c, NPU_DYN_QUANT_OUT, T_U8, "u8 without parameter group") ?:
	       npu_want_type(c, NPU_DYN_QUANT_SCALE, T_F32, "f32 without parameter group") ?:
	       npu_want_present(c, NPU_DYN_QUANT_ZERO, "without parameter group") ?:
	       npu_want_one(c, NPU_DYN_QUANT_SCALE) ?: npu_want_one(c, NPU_DYN_QUANT_ZERO);
}

int npu_check_count(struct npu_check *c)
{
	npu_u32 counters = c->op[NPU_COUNT_INOUT].dim[0];

	if (counters == 2 || counters == 3)
		return 0;
	return check_fail(c, SHAPE, NPU_COUNT_INOUT, 0, counters,
			  "inout dim 0 is %u, expected 2 or 3 counters", counters);
}
