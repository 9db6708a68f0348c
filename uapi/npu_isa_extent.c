// SPDX-License-Identifier: MIT
/* How much memory operands span and how much work an instruction is; all arithmetic is checked. */
#include "npu_isa_priv.h"

int npu_operand_extent(const struct npu_operand *op, npu_u64 *bytes)
{
	npu_u64 sum = npu_elem_bytes(op->dtype), bits;
	unsigned int i, rank = op->rank;
	npu_s64 span;

	*bytes = 0;
	if (!npu_is_present(op))
		return 0;
	if (op->layout != NPU_LAYOUT_STRIDED || rank > NPU_MAX_RANK)
		return -EINVAL;
	if (npu_type_bit(op) & T_SUB8 && rank) {
		/* The last dim is packed. */
		rank--;
		bits = (npu_u64)op->dim[rank] * npu_dtype_bits(op->dtype);
		sum = npu_div_up(bits, 8);
	}
	for (i = 0; i < rank; i++) {
		if (op->dim[i] <= 1)
			continue;
		if (__builtin_mul_overflow((npu_s64)op->dim[i] - 1, op->stride[i], &span) ||
		    span < 0 || __builtin_add_overflow(sum, (npu_u64)span, &sum))
			return -EOVERFLOW;
	}
	*bytes = sum;
	return sum > NPU_MAX_EXTENT ? -EOVERFLOW : 0;
}

/* @outs outputs in panels of 16 and, of each, @k elements; times @count such blocks. */
static int panel_bytes(const struct npu_operand *op, npu_u64 outs, npu_u64 k, npu_u64 count,
		       npu_u64 *bytes)
{
	npu_u64 sum;

	if (op->layout == NPU_LAYOUT_PANEL16K4 || op->layout == NPU_LAYOUT_GROUPED16)
		k = (k + 3) & ~3ull;
	if (__builtin_mul_overflow(npu_div_up(outs, NPU_PANEL), k, &sum) ||
	    __builtin_mul_overflow(sum, (npu_u64)NPU_PANEL / 8 * npu_dtype_bits(op->dtype), &sum) ||
	    __builtin_mul_overflow(sum, count, &sum) || sum > NPU_MAX_EXTENT)
		return -EOVERFLOW;
	*bytes = sum;
	return 0;
}

int npu_insn_operand_extent(const struct npu_insn *insn, unsigned int slot, npu_u64 *bytes)
{
	const struct npu_operand *op = &insn->operand[slot];
	npu_u64 k, count = 1, groups;
	unsigned int i;

	if (!npu_is_present(op) || op->layout == NPU_LAYOUT_STRIDED)
		return npu_operand_extent(op, bytes);
	*bytes = 0;
	switch (insn->desc->code) {
	case NPU_OP_CONV:
	case NPU_OP_CONV_TRANSPOSE:
		groups = insn->param[NPU_CONV_P_GROUPS];
		if (__builtin_mul_overflow((npu_u64)op->dim[1] * op->dim[2], op->dim[3], &k))
			return -EOVERFLOW;
		return panel_bytes(op, op->dim[0] / groups, k, groups, bytes);
	case NPU_OP_MATMUL:
		for (i = 0; i + 2 < op->rank; i++)
			if (__builtin_mul_overflow(count, op->dim[i], &count))
				return -EOVERFLOW;
		return panel_bytes(op, op->dim[op->rank - 1], op->dim[op->rank - 2], count, bytes);
	case NPU_OP_GATHER:	/* the same memory, its dims in the other order */
		for (i = 0; i + 2 < op->rank; i++)
			if (__builtin_mul_overflow(count, op->dim[i], &count))
				return -EOVERFLOW;
		return panel_bytes(op, op->dim[op->rank - 2], op->dim[op->rank - 1], count, bytes);
	default:
		return -EINVAL;
	}
}

/* Saturating product: a value at the top is over every bound. */
static npu_u64 sat_mul(npu_u64 a, npu_u64 b)
{
	npu_u64 r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static npu_u64 num_elements(const struct npu_operand *op)
{
	npu_u64 n = npu_is_present(op);
	unsigned int i;

	for (i = 0; i < op->rank; i++)
		n = sat_mul(n, op->dim[i]);
	return n;
}

npu_u64 npu_insn_bytes(const struct npu_insn *insn)
{
	npu_u64 sum = 0, bits;
	unsigned int i;

	for (i = 0; i < insn->desc->num_slots; i++) {
		bits = sat_mul(num_elements(&insn->operand[i]),
			       npu_dtype_bits(insn->operand[i].dtype));
		if (insn->desc->slots[i].dir == NPU_DIR_INOUT)
			bits = sat_mul(bits, 2);
		if (__builtin_add_overflow(sum, npu_div_up(bits, 8), &sum))
			return UINT64_MAX;
	}
	return sum;
}

static npu_u64 attention_macs(const struct npu_insn *insn)
{
	const struct npu_operand *q = &insn->operand[NPU_ATTENTION_Q],
				 *k = &insn->operand[NPU_ATTENTION_K];
	const struct npu_operand *v = &insn->operand[NPU_ATTENTION_V],
				 *table = &insn->operand[NPU_ATTENTION_BLOCK_TABLE];
	npu_u64 len = sat_mul(k->dim[1], npu_is_present(table) ? table->dim[1] : 1);

	return sat_mul(sat_mul(sat_mul(q->dim[0], q->dim[1]), len), (npu_u64)q->dim[2] + v->dim[3]);
}

npu_u64 npu_insn_macs(const struct npu_insn *insn)
{
	const struct npu_operand *op = insn->operand;
	npu_u64 k;

	switch (insn->desc->code) {
	case NPU_OP_CONV:
	case NPU_OP_CONV_TRANSPOSE:
		k = sat_mul(sat_mul(op[NPU_CONV_WEIGHT].dim[1], op[NPU_CONV_WEIGHT].dim[2]),
			    op[NPU_CONV_WEIGHT].dim[3]);
		return sat_mul(num_elements(&op[NPU_CONV_OUT]), k);
	case NPU_OP_MATMUL:
		return sat_mul(num_elements(&op[NPU_MATMUL_OUT]), npu_last_dim(&op[NPU_MATMUL_A]));
	case NPU_OP_POOL:
		k = sat_mul(insn->param[NPU_POOL_P_KERNEL_H], insn->param[NPU_POOL_P_KERNEL_W]);
		return sat_mul(num_elements(&op[NPU_POOL_OUT]), k);
	case NPU_OP_ATTENTION:
		return attention_macs(insn);
	default:
		return 0;
	}
}
