// SPDX-License-Identifier: MIT
#include "index.h"

npu_s64 npu_index_read(const struct npu_operand *op, const char *base, npu_u64 i)
{
	const char *p = base + (op->dim[0] == 1 ? 0 : (npu_s64)i * op->stride[0]);
	npu_s64 wide;
	npu_s32 narrow;

	if (op->dtype == NPU_I64) {
		memcpy(&wide, p, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, p, sizeof(narrow));
	return narrow;
}

int npu_index_copy(struct npu_exec *x, unsigned int slot, npu_u64 first, npu_u64 rows, bool skip)
{
	const struct npu_operand *op = &x->operand[slot];
	npu_u64 i, end = op->dim[0] - first < NPU_INDEX_PART ? op->dim[0] : first + NPU_INDEX_PART;
	npu_s64 *copy;

	if (npu_exec_reserve_shared(x, (end - first) * sizeof(*copy)))
		return -ENOMEM;
	copy = npu_exec_shared(x);
	for (i = first; i < end; i++) {
		npu_s64 v = npu_index_read(op, x->ptr[slot], i), at = v;

		if (!(i & 0xfff) && npu_exec_stopped(x))
			return -EINTR;
		if (!(skip && v == -1))
			at = v < 0 ? v + (npu_s64)rows : v;
		if (at >= (npu_s64)rows || (at < 0 && !(skip && v == -1)))
			return npu_exec_fault(
				x, i, NPU_FAULT_INDEX, slot, ~0u, v,
				"%s: index %lld at position %llu is outside of %llu rows",
				x->insn.desc->mnemonic, (long long)v, (unsigned long long)i,
				(unsigned long long)rows);
		copy[i - first] = at;
	}
	return 0;
}
