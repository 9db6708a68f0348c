// SPDX-License-Identifier: MIT
/* Static checks of the convolutions and of MATMUL. */
#include "npu_isa_limits.h"
#include "npu_isa_priv.h"

/* Where the slots and parameters of the epilogue stand, which differs among the opcodes. */
struct epilogue {
	unsigned int out, bias, scale, residual, act_param, table;
	unsigned int act, post_mul, post_add, join, act2;
	npu_u64 outputs;
	const char *outputs_name;
};

#define EPILOGUE(op, n, what) (struct epilogue) {						\
	.out = NPU_##op##_OUT, .bias = NPU_##op##_BIAS, .scale = NPU_##op##_SCALE,		\
	.residual = NPU_##op##_RESIDUAL, .act_param = NPU_##op##_ACT_PARAM,			\
	.table = NPU_##op##_TABLE, .act = NPU_##op##_P_ACT, .post_mul = NPU_##op##_P_POST_MUL,	\
	.post_add = NPU_##op##_P_POST_ADD, .join = NPU_##op##_P_JOIN, .act2 = NPU_##op##_P_ACT2, \
	.outputs = n, .outputs_name = what }

static int check_epilogue_params(struct npu_check *c, const struct epilogue *e)
{
	const npu_u32 *p = c->param;

	if (p[e->act2] == NPU_ACT_PRELU)
		return check_fail(c, PARAM, NPU_NO_FIELD, e->act2, p[e->act2],
				  "parameter act2 is prelu, which only act may be");
	if (p[e->act] == NPU_ACT_PRELU ? npu_want_present(c, e->act_param, "by prelu") :
	    npu_want_absent(c, e->act_param, "without prelu"))
		return -EINVAL;
	return p[e->join] != NPU_JOIN_NONE ? npu_want_present(c, e->residual, "by parameter join") :
	       npu_want_absent(c, e->residual, "without parameter join");
}

static int check_epilogue_sizes(struct npu_check *c, const struct epilogue *e)
{
	if (npu_want_at_most(c, e->out, c->op[e->out].rank - 1, NPU_MAX_OUTPUTS) ||
	    npu_want_vector(c, e->bias, e->outputs, e->outputs_name) ||
	    npu_want_vector(c, e->act_param, e->outputs, e->outputs_name) ||
	    npu_want_vector(c, e->table, 256, "every code"))
		return -EINVAL;
	if (npu_is_present(&c->op[e->scale]) && c->op[e->scale].rank &&
	    npu_want_dim(c, e->scale, 0, e->outputs, e->outputs_name))
		return -EINVAL;
	if (npu_is_present(&c->op[e->residual]) && npu_want_broadcast(c, e->residual, e->out))
		return -EINVAL;
	if (npu_is_present(&c->op[e->table]) &&
	    (npu_want_type(c, e->out, T_INT8, "i8 or u8 with a table") ||
	     npu_want_type(c, e->table, npu_type_bit(&c->op[e->out]), "that of out")))
		return -EINVAL;
	return check_epilogue_params(c, e);
}

/* Without SCALE the accumulator itself is stored: i32 without an epilogue. */
static int check_raw_accumulator(struct npu_check *c, const struct epilogue *e)
{
	const npu_u32 *p = c->param;

	if (npu_want_type(c, e->out, T_I32, "i32 for an integer accumulator without scale"))
		return -EINVAL;
	if (c->op[e->out].scale != 0)
		return check_fail(
			c, OPERAND, e->out, NPU_NO_FIELD, 0,
			"out is quantized, which an integer accumulator without scale is not");
	if (p[e->act] || p[e->act2] || p[e->join] || npu_param_f32(p[e->post_mul]) != 1 ||
	    npu_param_f32(p[e->post_add]) != 0)
		return check_fail(
			c, PARAM, NPU_NO_FIELD, e->act, p[e->act],
			"an epilogue beside bias, expected none for an integer accumulator without scale");
	return 0;
}

static int check_epilogue(struct npu_check *c, const struct epilogue *e, bool integer)
{
	npu_u32 bias = npu_is_present(&c->op[e->bias]);

	if (check_epilogue_sizes(c, e))
		return -EINVAL;
	if (!integer) {
		if (npu_want_type(c, e->out, T_FLOAT, "f32, f16 or bf16 for float operands") ||
		    npu_want_absent(c, e->scale, "with a float accumulator") ||
		    npu_want_absent(c, e->table, "with a float accumulator"))
			return -EINVAL;
		return bias ? npu_want_type(c, e->bias, T_F32, "f32 for a float accumulator") : 0;
	}
	if (bias && npu_want_type(c, e->bias, T_I32, "i32 for an integer accumulator"))
		return -EINVAL;
	if (bias && c->op[e->bias].scale != 0)
		return check_fail(c, OPERAND, e->bias, NPU_NO_FIELD, 0,
				  "bias has a scale, expected plain i32");
	if (!npu_is_present(&c->op[e->scale]))
		return check_raw_accumulator(c, e);
	if (npu_type_bit(&c->op[e->out]) & (T_INT8 | T_I32) && c->op[e->out].scale == 0)
		return check_fail(c, OPERAND, e->out, NPU_NO_FIELD, 0,
				  "out of type %s has no scale, expected one beside operand scale",
				  npu_dtype_name(c->op[e->out].dtype));
	return 0;
}

/* The largest |code - zero point| that 8-bit data can have; with zero points in memory any. */
static npu_u64 code_reach(const struct npu_operand *op, bool zero_in_memory)
{
	npu_s32 lo = op->dtype == NPU_I8 ? -128 : 0, hi = lo + 255;

	if (zero_in_memory)
		return 255;
	return op->zero_point - lo > hi - op->zero_point ? op->zero_point - lo :
							   hi - op->zero_point;
}

static int check_accumulator(struct npu_check *c, unsigned int a, bool a_zero, unsigned int b,
			     bool b_zero, npu_u64 k)
{
	npu_u64 reach = code_reach(&c->op[a], a_zero) * code_reach(&c->op[b], b_zero);

	if (reach && k > INT32_MAX / reach)
		return check_fail(c, LIMIT, b, NPU_NO_FIELD, k,
				  "%llu products of up to %llu do not fit the i32 accumulator",
				  (unsigned long long)k, (unsigned long long)reach);
	return 0;
}

/* Both float or both 8-bit; *@integer tells which. The layout of the weight goes with it. */
static int check_operand_types(struct npu_check *c, unsigned int a, unsigned int b, bool *integer)
{
	static const char *const want[] = { "f32, f16 or bf16 beside a float operand",
					    "i8 or u8 beside an 8-bit operand" };

	*integer = npu_type_bit(&c->op[a]) & T_INT8;
	if (npu_want_type(c, b, *integer ? T_INT8 : T_FLOAT, want[*integer]))
		return -EINVAL;
	if (c->op[b].layout == NPU_LAYOUT_STRIDED ||
	    c->op[b].layout == (*integer ? NPU_LAYOUT_PANEL16K4 : NPU_LAYOUT_PANEL16))
		return 0;
	return check_fail(c, OPERAND, b, NPU_NO_FIELD, c->op[b].layout,
			  "layout of %s is %s, expected strided or %s for type %s",
			  c->insn->desc->slots[b].name, npu_layout_name(c->op[b].layout),
			  *integer ? "panel16k4" : "panel16", npu_dtype_name(c->op[b].dtype));
}

static bool has_slot(const struct npu_check *c, unsigned int slot)
{
	return npu_is_present(npu_insn_slot(c->insn, slot));
}

/* Zero points in memory replace the operand's: one for each of @outputs, or 0: one for all. */
static int check_zeros(struct npu_check *c, unsigned int zero, unsigned int data, npu_u64 outputs,
		       bool integer)
{
	if (!has_slot(c, zero))
		return 0;
	if (!integer)
		return npu_want_absent(c, zero, "with float operands");
	if (c->op[data].zero_point)
		return check_fail(c, OPERAND, data, NPU_NO_FIELD, c->op[data].zero_point,
				  "zero point of %s is %d, expected 0 beside operand %s",
				  c->insn->desc->slots[data].name, c->op[data].zero_point,
				  c->insn->desc->slots[zero].name);
	if (outputs ? npu_want_vector(c, zero, outputs, "outputs") : npu_want_one(c, zero))
		return -EINVAL;
	return npu_want_type(c, zero, npu_type_bit(&c->op[data]), "that of the data");
}

/* Positions stay far inside of s32, so that kernels may compute them in int. */
static int check_reach(struct npu_check *c, unsigned int slot, unsigned int dim, npu_u32 count,
		       npu_u32 stride, npu_u32 kernel, npu_u32 dilation)
{
	npu_u64 last = (npu_u64)(count - 1) * stride + (npu_u64)(kernel - 1) * dilation;

	if (last <= NPU_MAX_DIM / 2)
		return 0;
	return check_fail(c, SHAPE, slot, dim, last,
			  "%s dim %u reaches position %llu, expected at most %u",
			  c->insn->desc->slots[slot].name, dim, (unsigned long long)last,
			  NPU_MAX_DIM / 2);
}

/* CONV and CONV_TRANSPOSE have the same places for what is used here. */
static int check_conv_shapes(struct npu_check *c)
{
	const struct npu_operand *out = &c->op[NPU_CONV_OUT], *in = &c->op[NPU_CONV_IN],
				 *w = &c->op[NPU_CONV_WEIGHT];
	npu_u32 groups = c->param[NPU_CONV_P_GROUPS];
	unsigned int i;

	if (npu_want_dim(c, NPU_CONV_OUT, 0, in->dim[0], "the batch of in") ||
	    npu_want_dim(c, NPU_CONV_WEIGHT, 0, out->dim[3], "output channels"))
		return -EINVAL;
	if (in->dim[3] % groups)
		return check_fail(c, SHAPE, NPU_CONV_IN, 3, in->dim[3],
				  "in has %u channels, expected a multiple of groups = %u",
				  in->dim[3], groups);
	if (out->dim[3] % groups)
		return check_fail(c, SHAPE, NPU_CONV_OUT, 3, out->dim[3],
				  "out has %u channels, expected a multiple of groups = %u",
				  out->dim[3], groups);
	if (npu_want_dim(c, NPU_CONV_WEIGHT, 3, in->dim[3] / groups, "channels / groups"))
		return -EINVAL;
	for (i = 0; i < 2; i++) {
		bool transpose = c->insn->desc->code == NPU_OP_CONV_TRANSPOSE;
		unsigned int slot = transpose ? NPU_CONV_IN : NPU_CONV_OUT;

		if (check_reach(c, slot, 1 + i, c->op[slot].dim[1 + i],
				c->param[NPU_CONV_P_STRIDE_H + i], w->dim[1 + i],
				c->param[NPU_CONV_P_DIL_H + i]))
			return -EINVAL;
		/* The other side is an image of its own. */
		if (check_reach(c, transpose ? NPU_CONV_OUT : NPU_CONV_IN, 1 + i,
				(transpose ? out : in)->dim[1 + i], 1, 1, 1))
			return -EINVAL;
	}
	return 0;
}

static int check_conv_common(struct npu_check *c, const struct epilogue *e, bool x_zero,
			     bool w_zero)
{
	const struct npu_operand *w = &c->op[NPU_CONV_WEIGHT];
	npu_u64 k = (npu_u64)w->dim[1] * w->dim[2];
	bool integer;

	if (check_conv_shapes(c) || check_operand_types(c, NPU_CONV_IN, NPU_CONV_WEIGHT, &integer))
		return -EINVAL;
	if (__builtin_mul_overflow(k, w->dim[3], &k))
		k = UINT64_MAX;
	if (integer && check_accumulator(c, NPU_CONV_IN, x_zero, NPU_CONV_WEIGHT, w_zero, k))
		return -EINVAL;
	return check_epilogue(c, e, integer);
}

int npu_check_conv(struct npu_check *c)
{
	struct epilogue e = EPILOGUE(CONV, c->op[NPU_CONV_OUT].dim[3], "output channels");
	bool integer = npu_type_bit(&c->op[NPU_CONV_IN]) & T_INT8;

	if (check_conv_common(c, &e, has_slot(c, NPU_CONV_X_ZERO), has_slot(c, NPU_CONV_W_ZERO)))
		return -EINVAL;
	return check_zeros(c, NPU_CONV_W_ZERO, NPU_CONV_WEIGHT, e.outputs, integer) ?:
		       check_zeros(c, NPU_CONV_X_ZERO, NPU_CONV_IN, 0, integer);
}

int npu_check_conv_transpose(struct npu_check *c)
{
	struct epilogue e = EPILOGUE(CONV_TRANSPOSE, c->op[NPU_CONV_TRANSPOSE_OUT].dim[3],
				     "output channels");

	_Static_assert((int)NPU_CONV_TRANSPOSE_WEIGHT == (int)NPU_CONV_WEIGHT &&
			       (int)NPU_CONV_TRANSPOSE_P_GROUPS == (int)NPU_CONV_P_GROUPS,
		       "shared by the convolutions");
	return check_conv_common(c, &e, false, false);
}

/* Leading dims of a or b equal out's or are 1. */
static int check_leading(struct npu_check *c, unsigned int slot)
{
	const struct npu_operand *op = &c->op[slot], *out = &c->op[NPU_MATMUL_OUT];
	unsigned int i;

	if (npu_want_rank(c, slot, out->rank, "that of out"))
		return -EINVAL;
	for (i = 0; i + 2 < op->rank; i++)
		if (op->dim[i] != 1 && op->dim[i] != out->dim[i])
			return check_fail(c, SHAPE, slot, i, op->dim[i],
					  "%s dim %u is %u, expected 1 or that of out = %u",
					  c->insn->desc->slots[slot].name, i, op->dim[i],
					  out->dim[i]);
	return 0;
}

static int check_matmul_shapes(struct npu_check *c)
{
	const struct npu_operand *out = &c->op[NPU_MATMUL_OUT], *a = &c->op[NPU_MATMUL_A];
	unsigned int r = out->rank;

	if (check_leading(c, NPU_MATMUL_A) || check_leading(c, NPU_MATMUL_B))
		return -EINVAL;
	return npu_want_dim(c, NPU_MATMUL_A, r - 2, out->dim[r - 2], "rows of out") ?:
	       npu_want_dim(c, NPU_MATMUL_B, r - 2, a->dim[r - 1], "the last dim of a") ?:
	       npu_want_dim(c, NPU_MATMUL_B, r - 1, out->dim[r - 1], "columns of out");
}

/* What belongs to groups of codes lies at strides, or in panels as the codes do. */
static int check_group_layout(struct npu_check *c, unsigned int slot)
{
	const struct npu_operand *op = &c->op[slot];

	if (!npu_is_present(op) || op->layout == NPU_LAYOUT_STRIDED ||
	    op->layout == NPU_LAYOUT_PANEL16)
		return 0;
	return check_fail(c, OPERAND, slot, NPU_NO_FIELD, op->layout,
			  "layout of %s is %s, expected strided or panel16",
			  c->insn->desc->slots[slot].name, npu_layout_name(op->layout));
}

static int check_group_codes(struct npu_check *c, const struct npu_group_slots *g)
{
	const struct npu_operand *op = &c->op[g->data];

	if (npu_want_type(c, g->data, T_U8 | T_SUB8, "u8, u6, u5 or u4 in groups"))
		return -EINVAL;
	if (op->scale != 0)
		return check_fail(
			c, OPERAND, g->data, NPU_NO_FIELD, 0,
			"%s has a scale of its own, expected 0 beside operand group_scale",
			c->insn->desc->slots[g->data].name);
	if (!npu_is_present(&c->op[g->codebook]))
		return 0;
	if (op->zero_point)
		return check_fail(c, OPERAND, g->data, NPU_NO_FIELD, op->zero_point,
				  "zero point of %s is %d, expected 0 beside a codebook",
				  c->insn->desc->slots[g->data].name, op->zero_point);
	return npu_want_type(c, g->data, 1u << NPU_U4, "u4 beside a codebook") ?:
		       npu_want_vector(c, g->codebook, 16, "codes");
}

/* Second-level scales, [2, ..] with minimums. */
static int check_super_groups(struct npu_check *c, const struct npu_group_slots *g)
{
	bool has_min = npu_is_present(&c->op[g->min]);

	if (g->super % g->group)
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_MATMUL_P_SUPER, g->super,
				  "parameter super is %u, expected a multiple of group = %u",
				  g->super, g->group);
	if (npu_want_present(c, g->super_scale, "by parameter super") ||
	    npu_want_type(c, g->scale, T_INT8, "i8 or u8 with parameter super") ||
	    (has_min && npu_want_type(c, g->min, T_INT8, "i8 or u8 with parameter super")) ||
	    npu_want_rank(c, g->super_scale, 2 + has_min, "2, or 3 with minimums"))
		return -EINVAL;
	if (has_min && npu_want_dim(c, g->super_scale, 0, 2, "scales and minimums"))
		return -EINVAL;
	return npu_want_dim(c, g->super_scale, has_min + g->transposed,
			    npu_div_up(g->grouped, g->super), "second-level groups") ?:
		       npu_want_dim(c, g->super_scale, has_min + !g->transposed, g->other,
				    "rows or columns");
}

/* Integers here are factors: their own quantization would be a third level. */
static int check_group_plain(struct npu_check *c, unsigned int slot)
{
	const struct npu_operand *op = &c->op[slot];

	if (op->scale == 0 && !op->zero_point)
		return 0;
	return check_fail(c, OPERAND, slot, NPU_NO_FIELD, op->zero_point,
			  "%s is quantized, expected plain integers",
			  c->insn->desc->slots[slot].name);
}

int npu_check_groups(struct npu_check *c, const struct npu_group_slots *g)
{
	npu_u64 groups = npu_div_up(g->grouped, g->group);
	bool has_min = npu_is_present(&c->op[g->min]);

	if (g->group % 4)
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_MATMUL_P_GROUP, g->group,
				  "parameter group is %u, expected a multiple of 4", g->group);
	if (npu_want_present(c, g->scale, "by parameter group") ||
	    npu_want_dim(c, g->scale, g->transposed, groups, "groups") ||
	    npu_want_dim(c, g->scale, !g->transposed, g->other, "rows or columns") ||
	    (has_min && npu_want_same_dims(c, g->min, g->scale)) || check_group_codes(c, g) ||
	    check_group_layout(c, g->scale) || check_group_layout(c, g->min) ||
	    check_group_layout(c, g->super_scale) || check_group_plain(c, g->scale) ||
	    check_group_plain(c, g->min) || check_group_plain(c, g->codebook))
		return -EINVAL;
	if (g->super)
		return check_super_groups(c, g);
	return npu_want_absent(c, g->super_scale, "without parameter super") ?:
	       npu_want_type(c, g->scale, T_F16 | T_F32, "f16 or f32 without parameter super") ?:
	       (has_min ? npu_want_type(c, g->min, T_F16 | T_F32,
					"f16 or f32 without parameter super") :
			  0);
}

/*
 * Rows of codes beside a grouped weight: one scale for all, or for each row or each group of one.
 */
static int check_a_scale(struct npu_check *c, npu_u32 group)
{
	const struct npu_operand *out = &c->op[NPU_MATMUL_OUT], *a = &c->op[NPU_MATMUL_A];
	npu_u32 a_group = npu_insn_param(c->insn, NPU_MATMUL_P_A_GROUP);
	unsigned int i;

	if (a->zero_point)
		return check_fail(c, OPERAND, NPU_MATMUL_A, NPU_NO_FIELD, a->zero_point,
				  "zero point of a is %d, expected 0 beside a grouped weight",
				  a->zero_point);
	if (a_group % group)
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_MATMUL_P_A_GROUP, a_group,
				  "parameter a_group is %u, expected a multiple of group = %u",
				  a_group, group);
	if (!npu_is_present(&c->op[NPU_MATMUL_A_SCALE])) {
		if (a->scale == 0 || a_group)
			return check_fail(
				c, OPERAND, NPU_MATMUL_A, NPU_NO_FIELD, 0,
				"a has no scale and a_scale is absent, expected one of them, with a_group a_scale");
		return 0;
	}
	if (npu_want_rank(c, NPU_MATMUL_A_SCALE, out->rank - !a_group,
			  a_group ? "that of out with a_group" : "rank of out - 1"))
		return -EINVAL;
	for (i = 0; i + 1 < out->rank; i++)
		if (npu_want_dim(c, NPU_MATMUL_A_SCALE, i, a->dim[i], "that of a"))
			return -EINVAL;
	return a_group ? npu_want_dim(c, NPU_MATMUL_A_SCALE, i, npu_div_up(a->dim[i], a_group),
				      "groups of a") :
			 0;
}

static int check_a_float(struct npu_check *c)
{
	npu_u32 a_group = npu_insn_param(c->insn, NPU_MATMUL_P_A_GROUP);

	if (a_group)
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_MATMUL_P_A_GROUP, a_group,
				  "parameter a_group is %u, expected 0 with a float a", a_group);
	return npu_want_absent(c, NPU_MATMUL_A_SCALE, "with a float a");
}

static int check_grouped_matmul(struct npu_check *c, const struct epilogue *e)
{
	const struct npu_operand *b = &c->op[NPU_MATMUL_B];
	struct npu_group_slots g = {
		.data = NPU_MATMUL_B, .scale = NPU_MATMUL_GROUP_SCALE, .min = NPU_MATMUL_GROUP_MIN,
		.super_scale = NPU_MATMUL_SUPER_SCALE, .codebook = NPU_MATMUL_CODEBOOK,
		.group = c->param[NPU_MATMUL_P_GROUP], .super = c->param[NPU_MATMUL_P_SUPER],
		.grouped = b->dim[b->rank - 2], .other = b->dim[b->rank - 1],
	};
	unsigned int i;

	if (!g.group)
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_MATMUL_P_GROUP, 0,
				  "parameter group is 0, expected 1 or more for a grouped weight");
	for (i = 0; i + 2 < b->rank; i++)
		if (npu_want_dim(c, NPU_MATMUL_B, i, 1, "one grouped weight"))
			return -EINVAL;
	return npu_want_type(c, NPU_MATMUL_A, T_FLOAT | T_I8,
			     "f32, f16, bf16 or i8 beside a grouped weight") ?:
		       npu_want_absent(c, NPU_MATMUL_B_ZERO, "with a grouped weight") ?:
		       npu_want_absent(c, NPU_MATMUL_A_ZERO, "with a grouped weight") ?:
		       npu_check_groups(c, &g)					      ?:
		       (c->op[NPU_MATMUL_A].dtype == NPU_I8 ? check_a_scale(c, g.group) :
							      check_a_float(c))	      ?:
		       check_epilogue(c, e, false);
}

int npu_check_matmul(struct npu_check *c)
{
	const struct npu_operand *a = &c->op[NPU_MATMUL_A], *b = &c->op[NPU_MATMUL_B];
	struct epilogue e = EPILOGUE(MATMUL, npu_last_dim(&c->op[NPU_MATMUL_OUT]),
				     "columns of out");
	bool integer;

	if (check_matmul_shapes(c))
		return -EINVAL;
	if (b->layout == NPU_LAYOUT_GROUPED16)
		return check_grouped_matmul(c, &e);
	if (c->param[NPU_MATMUL_P_GROUP] || c->param[NPU_MATMUL_P_SUPER] ||
	    npu_insn_param(c->insn, NPU_MATMUL_P_A_GROUP))
		return check_fail(
			c, PARAM, NPU_NO_FIELD, NPU_MATMUL_P_GROUP, c->param[NPU_MATMUL_P_GROUP],
			"parameter group, super or a_group is set, expected 0: b is not grouped16");
	if (npu_want_absent(c, NPU_MATMUL_GROUP_SCALE, "without a grouped weight") ||
	    npu_want_absent(c, NPU_MATMUL_GROUP_MIN, "without a grouped weight") ||
	    npu_want_absent(c, NPU_MATMUL_SUPER_SCALE, "without a grouped weight") ||
	    npu_want_absent(c, NPU_MATMUL_CODEBOOK, "without a grouped weight") ||
	    npu_want_absent(c, NPU_MATMUL_A_SCALE, "without a grouped weight") ||
	    check_operand_types(c, NPU_MATMUL_A, NPU_MATMUL_B, &integer))
		return -EINVAL;
	if (integer &&
	    check_accumulator(c, NPU_MATMUL_A, has_slot(c, NPU_MATMUL_A_ZERO), NPU_MATMUL_B,
			      has_slot(c, NPU_MATMUL_B_ZERO), npu_last_dim(a)))
		return -EINVAL;
	return check_zeros(c, NPU_MATMUL_B_ZERO, NPU_MATMUL_B, e.outputs, integer) ?:
		       check_zeros(c, NPU_MATMUL_A_ZERO, NPU_MATMUL_A, 0, integer)	 ?:
		       check_epilogue(c, &e, integer);
}
