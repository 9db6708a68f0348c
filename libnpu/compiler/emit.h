/* SPDX-License-Identifier: MIT */
/* From planned instructions to a program of the job file. */
#ifndef NPU_COMPILER_EMIT_H
#define NPU_COMPILER_EMIT_H

#include "compiler/lower.h"
#include "compiler/plan.h"
#include "core/jobfile.h"
#include "npu_kernels.h"

/* Regions of every program. */
enum npu_emit_region {
	NPU_REGION_ID_WEIGHTS,
	NPU_REGION_ID_SCRATCH,
	NPU_REGION_ID_SRAM,
	NPU_REGION_ID_IO,	/* inputs, then outputs */
};

/*
 * What a program's description points to; free with npu_emit_free(). Strings and arrays live in the
 * lowering's arena.
 */
struct npu_emitted {
	struct npu_jobfile_program program;
	struct npu_stream_builder **builder;	/* they own the streams */
	unsigned int num_builders;
};

/*
 * @weights_size: of the finished weight section, so that this comes after all programs are lowered.
 * Returns 0, -EINVAL (an
 * instruction the device would refuse: a text that names the node is in l->diag), -EOPNOTSUPP or
 * -ENOMEM.
 */
int npu_emit_program(struct npu_lower *l, const struct npu_plan *plan, uint64_t weights_size,
		     const char *name, struct npu_emitted *out);
void npu_emit_free(struct npu_emitted *e);

/* Bytes that @insn, or a host step, reads and writes at the bound. */
void npu_emit_traffic(const struct npu_lower *l, const struct npu_linsn *insn, uint64_t *read,
		      uint64_t *written);

#endif
