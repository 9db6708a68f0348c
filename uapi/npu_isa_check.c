// SPDX-License-Identifier: MIT
/*
 * The static check of one instruction: what holds for every opcode, and the words that the
 * families' checks are made of.
 */
#include "npu_isa_priv.h"

static const char *slot_name(const struct npu_check *c, unsigned int slot)
{
	return c->insn->desc->slots[slot].name;
}

int npu_want_dim(struct npu_check *c, unsigned int slot, unsigned int dim, npu_u64 want,
		 const char *what)
{
	npu_u32 got = c->op[slot].dim[dim];

	if (got == want)
		return 0;
	return check_fail(c, SHAPE, slot, dim, got, "%s dim %u is %u, expected %s = %llu",
			  slot_name(c, slot), dim, got, what, (unsigned long long)want);
}

int npu_want_rank(struct npu_check *c, unsigned int slot, unsigned int rank, const char *what)
{
	if (c->op[slot].rank == rank)
		return 0;
	return check_fail(c, SHAPE, slot, NPU_NO_FIELD, c->op[slot].rank,
			  "rank of %s is %u, expected %s = %u", slot_name(c, slot),
			  c->op[slot].rank, what, rank);
}

/* Dims of @slot equal those of @other, @axis (or NPU_NO_FIELD) excepted. */
int npu_want_same_but(struct npu_check *c, unsigned int slot, unsigned int other, unsigned int axis)
{
	const struct npu_operand *a = &c->op[slot], *b = &c->op[other];
	unsigned int i;

	if (a->rank != b->rank)
		return check_fail(c, SHAPE, slot, NPU_NO_FIELD, a->rank,
				  "rank of %s is %u, expected that of %s = %u", slot_name(c, slot),
				  a->rank, slot_name(c, other), b->rank);
	for (i = 0; i < a->rank; i++)
		if (i != axis && a->dim[i] != b->dim[i])
			return check_fail(c, SHAPE, slot, i, a->dim[i],
					  "%s dim %u is %u, expected that of %s = %u",
					  slot_name(c, slot), i, a->dim[i], slot_name(c, other),
					  b->dim[i]);
	return 0;
}

int npu_want_same_dims(struct npu_check *c, unsigned int slot, unsigned int other)
{
	return npu_want_same_but(c, slot, other, NPU_NO_FIELD);
}

int npu_want_broadcast(struct npu_check *c, unsigned int slot, unsigned int out)
{
	const struct npu_operand *a = &c->op[slot], *b = &c->op[out];
	unsigned int i;

	if (a->rank != b->rank)
		return check_fail(c, SHAPE, slot, NPU_NO_FIELD, a->rank,
				  "rank of %s is %u, expected that of %s = %u", slot_name(c, slot),
				  a->rank, slot_name(c, out), b->rank);
	for (i = 0; i < a->rank; i++)
		if (a->dim[i] != 1 && a->dim[i] != b->dim[i])
			return check_fail(c, SHAPE, slot, i, a->dim[i],
					  "%s dim %u is %u, expected 1 or that of %s = %u",
					  slot_name(c, slot), i, a->dim[i], slot_name(c, out),
					  b->dim[i]);
	return 0;
}

/* Codes are moved as they are, so quantization has to be the same too. */
int npu_want_same_type(struct npu_check *c, unsigned int slot, unsigned int other)
{
	const struct npu_operand *a = &c->op[slot], *b = &c->op[other];

	if (a->dtype != b->dtype)
		return check_fail(c, OPERAND, slot, NPU_NO_FIELD, a->dtype,
				  "type of %s is %s, expected that of %s = %s", slot_name(c, slot),
				  npu_dtype_name(a->dtype), slot_name(c, other),
				  npu_dtype_name(b->dtype));
	if (a->scale != b->scale || a->zero_point != b->zero_point)
		return check_fail(
			c, OPERAND, slot, NPU_NO_FIELD, a->zero_point,
			"scale %g and zero point %d of %s, expected those of %s = %g and %d",
			(double)a->scale, a->zero_point, slot_name(c, slot), slot_name(c, other),
			(double)b->scale, b->zero_point);
	return 0;
}

int npu_want_type(struct npu_check *c, unsigned int slot, npu_u32 types, const char *why)
{
	if (types & npu_type_bit(&c->op[slot]))
		return 0;
	return check_fail(c, OPERAND, slot, NPU_NO_FIELD, c->op[slot].dtype,
			  "type of %s is %s, expected %s", slot_name(c, slot),
			  npu_dtype_name(c->op[slot].dtype), why);
}

int npu_want_axis(struct npu_check *c, unsigned int param, unsigned int slot)
{
	if (c->param[param] < c->op[slot].rank)
		return 0;
	return check_fail(c, PARAM, NPU_NO_FIELD, param, c->param[param],
			  "parameter %s is %u, expected less than the rank of %s = %u",
			  c->insn->desc->params[param].name, c->param[param], slot_name(c, slot),
			  c->op[slot].rank);
}

int npu_want_absent(struct npu_check *c, unsigned int slot, const char *when)
{
	if (!npu_is_present(npu_insn_slot(c->insn, slot)))
		return 0;
	return check_fail(c, OPERAND, slot, NPU_NO_FIELD, c->op[slot].dtype,
			  "%s is there, it can not be used %s", slot_name(c, slot), when);
}

int npu_want_present(struct npu_check *c, unsigned int slot, const char *when)
{
	if (npu_is_present(&c->op[slot]))
		return 0;
	return check_fail(c, OPERAND, slot, NPU_NO_FIELD, 0, "%s is absent, it is required %s",
			  slot_name(c, slot), when);
}

/* A vector of @want elements, if it is there. */
int npu_want_vector(struct npu_check *c, unsigned int slot, npu_u64 want, const char *what)
{
	if (!npu_is_present(&c->op[slot]))
		return 0;
	return npu_want_rank(c, slot, 1, "a vector") ?: npu_want_dim(c, slot, 0, want, what);
}

/* [] or [1] */
int npu_want_one(struct npu_check *c, unsigned int slot)
{
	return c->op[slot].rank ? npu_want_dim(c, slot, 0, 1, "one element") : 0;
}

/* A bound of the scratch memory that an instruction may need. */
int npu_want_at_most(struct npu_check *c, unsigned int slot, unsigned int dim, npu_u32 most)
{
	npu_u32 got = c->op[slot].dim[dim];

	if (got <= most)
		return 0;
	return check_fail(c, LIMIT, slot, dim, got, "%s dim %u is %u, at most %u is allowed",
			  slot_name(c, slot), dim, got, most);
}

int npu_check_timestamp(struct npu_check *c)
{
	return npu_want_one(c, NPU_TIMESTAMP_OUT);
}

int npu_check_load_scalar(struct npu_check *c)
{
	npu_u32 min = c->param[NPU_LOAD_SCALAR_P_MIN], max = c->param[NPU_LOAD_SCALAR_P_MAX];

	if (min > max)
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_LOAD_SCALAR_P_MIN, min,
				  "parameter min is %u, expected at most max = %u", min, max);
	return npu_want_one(c, NPU_LOAD_SCALAR_IN);
}

/*
 * Two elements of an output may not lie on each other. Sorted by stride, each dim must step over
 * all that the dims inside of it span: this refuses a few layouts that would be free of overlap,
 * none of which a tensor has.
 */
static int check_no_self_overlap(struct npu_check *c, unsigned int slot)
{
	const struct npu_operand *op = &c->op[slot];
	npu_u64 span = npu_elem_bytes(op->dtype);
	unsigned int order[NPU_MAX_RANK], n = 0, i, j;

	for (i = 0; i < op->rank; i++) {
		if (op->dim[i] == 1)
			continue;
		for (j = n++; j && op->stride[order[j - 1]] > op->stride[i]; j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
	for (i = 0; i < n; i++) {
		if ((npu_u64)op->stride[order[i]] < span)
			return check_fail(
				c, OPERAND, slot, order[i], op->stride[order[i]],
				"stride %u of output %s is %lld, its inner dims span %llu bytes",
				order[i], slot_name(c, slot), (long long)op->stride[order[i]],
				(unsigned long long)span);
		span += ((npu_u64)op->dim[order[i]] - 1) * op->stride[order[i]];
	}
	return 0;
}

static int check_strides(struct npu_check *c, unsigned int slot)
{
	const struct npu_operand *op = &c->op[slot];
	unsigned int bytes = npu_elem_bytes(op->dtype), i;
	npu_u64 extent;

	for (i = 0; i < op->rank; i++) {
		if (op->dim[i] == 1)
			continue;
		if (op->stride[i] < 0 || op->stride[i] & (bytes - 1))
			return check_fail(
				c, OPERAND, slot, i, op->stride[i],
				"stride %u of %s is %lld, expected >= 0 and a multiple of the element's %u bytes",
				i, slot_name(c, slot), (long long)op->stride[i], bytes);
	}
	if (npu_type_bit(op) & T_SUB8 && op->rank && op->stride[op->rank - 1])
		return check_fail(
			c, OPERAND, slot, op->rank - 1, op->stride[op->rank - 1],
			"stride of the last dim of %s is %lld, expected 0: %s codes are packed",
			slot_name(c, slot), (long long)op->stride[op->rank - 1],
			npu_dtype_name(op->dtype));
	if (npu_operand_extent(op, &extent))
		return check_fail(c, LIMIT, slot, NPU_NO_FIELD, op->dim[0],
				  "%s spans more than %llu bytes", slot_name(c, slot),
				  (unsigned long long)NPU_MAX_EXTENT);
	return c->insn->desc->slots[slot].dir == NPU_DIR_IN ? 0 : check_no_self_overlap(c, slot);
}

static int check_operand(struct npu_check *c, unsigned int slot)
{
	const struct npu_operand *op = &c->op[slot];
	unsigned int bytes = npu_elem_bytes(op->dtype), i;

	if (!npu_is_present(op))
		return 0;
	if (npu_type_bit(op) & T_SUB8 && op->layout != NPU_LAYOUT_GROUPED16 &&
	    c->insn->desc->code != NPU_OP_GATHER)
		return check_fail(c, OPERAND, slot, NPU_NO_FIELD, op->layout,
				  "%s of type %s has layout %s, expected grouped16",
				  slot_name(c, slot), npu_dtype_name(op->dtype),
				  npu_layout_name(op->layout));
	for (i = 0; i < op->rank; i++)
		if (!op->dim[i] || op->dim[i] > NPU_MAX_DIM)
			return check_fail(c, SHAPE, slot, i, op->dim[i],
					  "%s dim %u is %u, expected 1 to %u", slot_name(c, slot),
					  i, op->dim[i], NPU_MAX_DIM);
	if (op->offset & (bytes - 1))
		return check_fail(
			c, OPERAND, slot, NPU_NO_FIELD, op->offset,
			"offset of %s is %llu, expected a multiple of the element's %u bytes",
			slot_name(c, slot), (unsigned long long)op->offset, bytes);
	if (op->layout == NPU_LAYOUT_STRIDED && check_strides(c, slot))
		return -EINVAL;
	return 0;
}

static int check_len_params(struct npu_check *c)
{
	const struct npu_op_desc *desc = c->insn->desc;
	unsigned int i;

	for (i = 0; i < desc->num_params; i++) {
		const struct npu_param_desc *d = &desc->params[i];

		if (d->kind == NPU_PARAM_LEN && (c->param[i] < d->min || c->param[i] > d->max))
			return check_fail(c, PARAM, NPU_NO_FIELD, i, c->param[i],
					  "parameter %s is %u, expected %lld to %lld", d->name,
					  c->param[i], (long long)d->min, (long long)d->max);
	}
	return 0;
}

static int check_limits(struct npu_check *c)
{
	npu_u64 macs = npu_insn_macs(c->insn), bytes = npu_insn_bytes(c->insn), extent;
	unsigned int i;

	for (i = 0; i < c->insn->desc->num_slots; i++)
		if (c->op[i].layout != NPU_LAYOUT_STRIDED &&
		    npu_insn_operand_extent(c->insn, i, &extent))
			return check_fail(c, LIMIT, i, NPU_NO_FIELD, c->op[i].dim[0],
					  "%s spans more than %llu bytes", slot_name(c, i),
					  (unsigned long long)NPU_MAX_EXTENT);
	if (macs > NPU_MAX_INSN_MACS)
		return check_fail(c, LIMIT, NPU_NO_FIELD, NPU_NO_FIELD, macs,
				  "%llu multiply-accumulates, at most %llu are allowed",
				  (unsigned long long)macs, (unsigned long long)NPU_MAX_INSN_MACS);
	if (bytes > NPU_MAX_INSN_BYTES)
		return check_fail(c, LIMIT, NPU_NO_FIELD, NPU_NO_FIELD, bytes,
				  "%llu bytes read and written, at most %llu are allowed",
				  (unsigned long long)bytes,
				  (unsigned long long)NPU_MAX_INSN_BYTES);
	return 0;
}

static const npu_check_fn checks[NPU_NUM_OPCODES] = {
	[NPU_OP_TIMESTAMP] = npu_check_timestamp,
	[NPU_OP_LOAD_SCALAR] = npu_check_load_scalar,
	[NPU_OP_CONV] = npu_check_conv,
	[NPU_OP_CONV_TRANSPOSE] = npu_check_conv_transpose,
	[NPU_OP_MATMUL] = npu_check_matmul,
	[NPU_OP_EWISE1] = npu_check_ewise1,
	[NPU_OP_EWISE2] = npu_check_ewise2,
	[NPU_OP_SELECT] = npu_check_select,
	[NPU_OP_REDUCE] = npu_check_reduce,
	[NPU_OP_ARG_REDUCE] = npu_check_arg_reduce,
	[NPU_OP_TOPK] = npu_check_topk,
	[NPU_OP_CUMSUM] = npu_check_cumsum,
	[NPU_OP_SOFTMAX] = npu_check_softmax,
	[NPU_OP_NORM] = npu_check_norm,
	[NPU_OP_POOL] = npu_check_pool,
	[NPU_OP_RESIZE] = npu_check_resize,
	[NPU_OP_CROP_RESIZE] = npu_check_crop_resize,
	[NPU_OP_COPY] = npu_check_copy,
	[NPU_OP_PAD] = npu_check_pad,
	[NPU_OP_IOTA] = npu_check_iota,
	[NPU_OP_GATHER] = npu_check_gather,
	[NPU_OP_GATHER_ELEMENTS] = npu_check_gather_elements,
	[NPU_OP_SCATTER] = npu_check_scatter,
	[NPU_OP_SCATTER_ELEMENTS] = npu_check_scatter_elements,
	[NPU_OP_ATTENTION] = npu_check_attention,
	[NPU_OP_ROPE] = npu_check_rope,
	[NPU_OP_DYN_QUANT] = npu_check_dyn_quant,
	[NPU_OP_COLOR] = npu_check_color,
	[NPU_OP_COUNT] = npu_check_count,
};

int npu_insn_check(const struct npu_insn *insn, struct npu_isa_error *err)
{
	struct npu_check c = {
		.insn = insn, .op = insn->operand, .param = insn->param, .err = err
	};
	npu_check_fn check = checks[insn->desc->code];
	unsigned int i;

	for (i = 0; i < insn->desc->num_slots; i++)
		if (check_operand(&c, i))
			return -EINVAL;
	if (check_len_params(&c) || (check && check(&c)))
		return -EINVAL;
	return check_limits(&c);
}
