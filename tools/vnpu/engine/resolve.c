// SPDX-License-Identifier: MIT
/*
 * From the stream to a checked private copy of an instruction, and from its operands to host
 * pointers.
 */
#include <string.h>
#include "run.h"

/*
 * A dim of size 1 may have any stride, which nothing may depend on; kernels multiply strides before
 * they know that they stay at index 0, and numbers of any size would overflow there.
 */
static void strides_tame(struct npu_insn_header *header, const struct npu_op_desc *desc)
{
	struct npu_operand *op = (struct npu_operand *)(header + 1);
	unsigned int i, d;

	for (i = 0; i < desc->num_slots; i++)
		for (d = 0; d < op[i].rank; d++)
			if (op[i].dim[d] == 1 &&
			    (op[i].stride[d] < 0 || op[i].stride[d] > INT32_MAX))
				op[i].stride[d] = 0;
}

int npu_stream_copy(struct npu_engine_state *state, npu_u32 offset, void *buf, npu_u32 size)
{
	npu_u64 va = state->stream_va + offset, bad = va;

	if (state->stream) {
		memcpy(buf, (const char *)state->stream + offset, size);
		return 0;
	}
	if (!state->space.fetch(state->space.ctx, va, buf, size, &bad))
		return 0;
	npu_state_fault(state, NPU_FAULT_FETCH,
			"address 0x%llx of the stream can not be fetched from",
			(unsigned long long)bad);
	state->fault.address = bad;
	state->fault.access = NPU_ACCESS_EXEC;
	return -EFAULT;
}

int npu_run_fetch(struct npu_run *run, struct npu_engine_state *state)
{
	const struct npu_stream_header *h = &state->priv->header;
	struct npu_insn_header first;
	struct npu_isa_error err = { 0 };
	size_t left, bytes;

	left = h->size - state->offset;
	if (state->offset > h->size || left < sizeof(first) || state->insn >= h->num_insns)
		return npu_state_fault(state, NPU_FAULT_FETCH,
				       "no instruction at offset %u: the stream ends without END",
				       state->offset);
	if (npu_stream_copy(state, state->offset, &first, sizeof(first)))
		return -EFAULT;
	bytes = (size_t)first.words * 4;
	if (bytes < sizeof(first) || bytes > sizeof(run->words) || bytes > left || bytes % 8) {
		npu_state_fault(state, NPU_FAULT_ENCODING,
				"instruction at offset %u: %u words, %zu bytes are left",
				state->offset, first.words, left);
		state->fault.opcode = first.opcode;
		state->fault.tag = first.tag;
		return -EFAULT;
	}
	/*
	 * The stream may change while we read it: the copy, of which no byte was read twice, is
	 * what counts.
	 */
	memcpy(run->words, &first, sizeof(first));
	if (bytes > sizeof(first) &&
	    npu_stream_copy(state, state->offset + sizeof(first),
			    (char *)run->words + sizeof(first), (npu_u32)(bytes - sizeof(first))))
		return -EFAULT;

	if (npu_insn_decode(run->words, first.words, &run->exec.insn, &err) ||
	    (first.num_terms && npu_insn_apply_terms(run->words, state->scalar, &err)) ||
	    npu_insn_check(&run->exec.insn, &err))
		return npu_state_fault_isa(state, &err);
	strides_tame((struct npu_insn_header *)run->words, run->exec.insn.desc);
	run->exec.operand = run->exec.insn.operand;
	run->exec.param = run->exec.insn.param;
	return 0;
}

static npu_u32 slot_access(const struct npu_slot_desc *slot)
{
	switch (slot->dir) {
	case NPU_DIR_IN:
		return NPU_ACCESS_READ;
	case NPU_DIR_OUT:
		return NPU_ACCESS_WRITE;
	default:
		return NPU_ACCESS_READ | NPU_ACCESS_WRITE;
	}
}

/*
 * Whether the instruction writes over what it reads: it can not be tried again after a stop half
 * way.
 */
static bool insn_in_place(const struct npu_insn *insn)
{
	const struct npu_op_desc *desc = insn->desc;
	const struct npu_operand *out, *in;
	unsigned int i, j;

	for (i = 0; i < desc->num_slots; i++) {
		out = &insn->operand[i];
		if (out->dtype == NPU_NONE || desc->slots[i].dir == NPU_DIR_IN)
			continue;
		if (desc->slots[i].dir == NPU_DIR_INOUT)
			return true;
		for (j = 0; (desc->slots[i].flags & NPU_SLOT_INPLACE) && j < desc->num_slots; j++) {
			in = &insn->operand[j];
			if (desc->slots[j].dir == NPU_DIR_IN && in->dtype != NPU_NONE &&
			    in->region == out->region && in->offset == out->offset)
				return true;
		}
	}
	return false;
}

static int operand_map(struct npu_run *run, struct npu_engine_state *state, unsigned int slot)
{
	const struct npu_insn *insn = &run->exec.insn;
	const struct npu_operand *op = &insn->operand[slot];
	const struct npu_region *region = &state->regions[op->region];
	npu_u32 access = slot_access(&insn->desc->slots[slot]);
	npu_u64 va = region->base + op->offset, size, bad = va;
	void *mem;

	if (npu_insn_operand_extent(insn, slot, &size))
		return npu_state_fault(state, NPU_FAULT_REGION, "%s: %s is too large",
				       insn->desc->mnemonic, insn->desc->slots[slot].name);
	if (region->access & NPU_ACCESS_SRAM) {
		if ((access & NPU_ACCESS_WRITE) && va + size > state->sram_used)
			state->sram_used = va + size;
		run->exec.ptr[slot] = (char *)state->sram + va;
		return 0;
	}
	if (!state->space.resolve) {
		run->exec.ptr[slot] = (void *)(uintptr_t)va;
		return 0;
	}
	mem = state->space.resolve(state->space.ctx, va, size, access, &bad);
	if (!mem) {
		npu_state_fault(state, NPU_FAULT_MMU,
				"%s: %s at address 0x%llx is not mapped for this access",
				insn->desc->mnemonic, insn->desc->slots[slot].name,
				(unsigned long long)bad);
		state->fault.opcode = insn->header->opcode;
		state->fault.tag = insn->header->tag;
		state->fault.operand = slot;
		state->fault.address = bad;
		state->fault.access = access;
		return -EFAULT;
	}
	run->held[run->num_held].va = va;
	run->held[run->num_held++].size = size;
	run->exec.ptr[slot] = mem;
	return 0;
}

int npu_run_resolve(struct npu_run *run, struct npu_engine_state *state)
{
	const struct npu_insn *insn = &run->exec.insn;
	struct npu_isa_error err = { 0 };
	unsigned int i;

	run->num_held = 0;
	memset(run->exec.ptr, 0, sizeof(run->exec.ptr));
	if (npu_insn_check_regions(insn, state->regions, state->num_regions_named, state->sram_size,
				   &err))
		return npu_state_fault_isa(state, &err);
	run->in_place = insn_in_place(insn);
	for (i = 0; i < insn->desc->num_slots; i++)
		if (insn->operand[i].dtype != NPU_NONE && operand_map(run, state, i))
			goto err_release;
	return 0;

err_release:
	npu_run_release(run, state);
	return -EFAULT;
}

void npu_run_release(struct npu_run *run, struct npu_engine_state *state)
{
	while (run->num_held) {
		run->num_held--;
		if (state->space.release)
			state->space.release(state->space.ctx, run->held[run->num_held].va,
					     run->held[run->num_held].size);
	}
}
