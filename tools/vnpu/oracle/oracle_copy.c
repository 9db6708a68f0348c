// SPDX-License-Identifier: MIT
/* COPY, FILL, PAD and IOTA. */
#include <math.h>
#include <string.h>
#include "oracle.h"

int oracle_copy(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_COPY_OUT),
			   in = oracle_view(insn, mem, NPU_COPY_IN);
	npu_u32 index[NPU_MAX_RANK] = { 0 };

	do {
		oracle_move(out, oracle_at(out, index), in,
			oracle_at_broadcast(in, index, out.op->rank));
	} while (oracle_next(index, out.op->dim, out.op->rank));
	return 0;
}

int oracle_fill(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_FILL_OUT);
	npu_u64 bits = insn->param[NPU_FILL_P_VALUE_LO] | (npu_u64)insn->param[NPU_FILL_P_VALUE_HI]
								  << 32;
	npu_u32 index[NPU_MAX_RANK] = { 0 };

	do {
		memcpy(oracle_at(out, index), &bits, npu_dtype_bits(out.op->dtype) / 8);
	} while (oracle_next(index, out.op->dim, out.op->rank));
	return 0;
}

static npu_s64 modulo(npu_s64 a, npu_s64 n)
{
	return ((a % n) + n) % n;
}

/* Source index, or -1 for the constant. */
static npu_s64 pad_source(npu_s64 i, npu_s64 n, unsigned int mode)
{
	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case NPU_PAD_EDGE:
		return i < 0 ? 0 : n - 1;
	case NPU_PAD_WRAP:
		return modulo(i, n);
	case NPU_PAD_REFLECT:
		if (n == 1)
			return 0;
		i = modulo(i, 2 * (n - 1));
		return i < n ? i : 2 * (n - 1) - i;
	default:
		return -1;
	}
}

int oracle_pad(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_PAD_OUT),
			   in = oracle_view(insn, mem, NPU_PAD_IN);
	npu_u64 bits = insn->param[NPU_PAD_P_VALUE_LO] | (npu_u64)insn->param[NPU_PAD_P_VALUE_HI]
								 << 32;
	npu_u32 index[NPU_MAX_RANK] = { 0 }, from[NPU_MAX_RANK];
	size_t size = npu_dtype_bits(out.op->dtype) / 8;

	do {
		bool outside = false;

		for (unsigned int i = 0; i < out.op->rank; i++) {
			npu_s64 s = pad_source((npu_s64)index[i] -
						       (npu_s32)insn->param[NPU_PAD_P_BEFORE0 + i],
					       in.op->dim[i], insn->param[NPU_PAD_P_MODE]);

			outside |= s < 0;
			from[i] = (npu_u32)s;
		}
		if (outside)
			memcpy(oracle_at(out, index), &bits, size);
		else
			memcpy(oracle_at(out, index), oracle_at(in, from), size);
	} while (oracle_next(index, out.op->dim, out.op->rank));
	return 0;
}

int oracle_iota(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_IOTA_OUT);
	float start = oracle_param_f32(insn, NPU_IOTA_P_START),
	      step = oracle_param_f32(insn, NPU_IOTA_P_STEP);
	npu_u32 index[NPU_MAX_RANK] = { 0 }, axis = insn->param[NPU_IOTA_P_AXIS];

	do {
		if (oracle_is_real(out))
			oracle_store_real(out, oracle_at(out, index),
					  fmaf((float)index[axis], step, start));
		else
			oracle_store_int(out, oracle_at(out, index),
					 (npu_s64)start + (npu_s64)index[axis] * (npu_s64)step);
	} while (oracle_next(index, out.op->dim, out.op->rank));
	return 0;
}
