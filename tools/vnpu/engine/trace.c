// SPDX-License-Identifier: MIT
#include "trace.h"
#include "xxh64.h"

/* Feed the elements of @op in row-major order; runs without gaps go in one piece. */
static void digest_dims(struct npu_xxh64 *xxh, const struct npu_operand *op, unsigned int d,
			const char *at)
{
	size_t elem = npu_dtype_bits(op->dtype) / 8, run = elem;
	unsigned int k = op->rank;
	npu_u32 i;

	while (k > d && (op->stride[k - 1] == (npu_s64)run || op->dim[k - 1] == 1))
		run *= op->dim[--k];
	if (k == d) {
		npu_xxh64_update(xxh, at, run);
		return;
	}
	for (i = 0; i < op->dim[d]; i++)
		digest_dims(xxh, op, d + 1, at + op->stride[d] * (npu_s64)i);
}

unsigned int npu_trace_digests(const struct npu_insn *insn, void *const *ptr,
			       struct npu_trace_digest out[NPU_MAX_OPERANDS])
{
	unsigned int slot, n = 0;
	struct npu_xxh64 xxh;

	if (insn->header->opcode == NPU_OP_TIMESTAMP)
		return 0;
	for (slot = 0; slot < insn->desc->num_slots; slot++) {
		if (insn->desc->slots[slot].dir == NPU_DIR_IN ||
		    insn->operand[slot].dtype == NPU_NONE)
			continue;
		npu_xxh64_init(&xxh, 0);
		digest_dims(&xxh, &insn->operand[slot], 0, ptr[slot]);
		out[n].slot = slot;
		out[n++].digest = npu_xxh64_final(&xxh);
	}
	return n;
}
