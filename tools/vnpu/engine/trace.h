/* SPDX-License-Identifier: MIT */
/* What is recorded of an instruction that ran: the digests of its results. For observers. */
#ifndef NPU_TRACE_H
#define NPU_TRACE_H

#include "npu_isa_desc.h"

struct npu_trace_digest {
	npu_u32 slot;
	npu_u64 digest;
};

/*
 * XXH64 (seed 0) of the elements, in row-major order, of every output of @insn whose operands lie
 * at @ptr (as struct npu_observer gets them). Returns how many there are in @out: none for a
 * timestamp, as a clock is not a result. Pure; thread safe.
 */
unsigned int npu_trace_digests(const struct npu_insn *insn, void *const *ptr,
			       struct npu_trace_digest out[NPU_MAX_OPERANDS]);

#endif
