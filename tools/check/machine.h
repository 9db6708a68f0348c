/* SPDX-License-Identifier: MIT */
/*
 * A job in memory that is executed one instruction at a time: the engine's result beside that of
 * the oracle, which computes the same instruction from the memory the engine has before it. Steps
 * on the host are executed as a run does; nobody else computes them.
 *
 * Nothing here is shared between machines: different ones may be used by different threads.
 */
#ifndef TOOLS_CHECK_MACHINE_H
#define TOOLS_CHECK_MACHINE_H

#include "core/jobfile.h"
#include "npu_engine.h"
#include "npu_isa_desc.h"

struct check_machine {
	const struct npu_jobfile *job;
	const struct npu_jobfile_program *program;
	npu_u32 scalar[NPU_MAX_SCALARS];
	unsigned char *mem[NPU_MAX_REGIONS];	/* NULL: on-chip memory, or the job's weights */
	npu_u64 size[NPU_MAX_REGIONS];
	struct npu_region table[NPU_MAX_REGIONS];
	struct npu_engine *engine;
	struct npu_engine_state state;		/* of the stream under way */
	bool started;				/* @state is one */
	npu_u32 step;				/* of the schedule */
	struct npu_jobfile_step current;
	npu_u32 done;				/* instructions and host steps so far */
	/* By tensor: its dims, which host steps may lower where the job says so. */
	int64_t (*dims)[NPU_TENSOR_MAX_RANK];
	npu_u32 words[NPU_MAX_INSN_WORDS] __attribute__((aligned(8)));
	struct npu_insn insn;			/* the one check_step() worked on; in @words */
};

/*
 * Program @program of @job at these scalars (PRODUCT symbols are filled in), all memory zero but
 * the weights, which stay the job's. @engine may be shared. Both must outlive @m. Returns 0,
 * -EINVAL or -ENOMEM with a text; check_machine_fini() in either case.
 */
int check_machine_init(struct check_machine *m, const struct npu_jobfile *job, unsigned int program,
		       const npu_u32 scalar[NPU_MAX_SCALARS], struct npu_engine *engine,
		       struct npu_error *err);
void check_machine_fini(struct check_machine *m);

/* Where region @r begins for the host. */
unsigned char *check_machine_region(const struct check_machine *m, unsigned int r);

/* Multiply-accumulates of the whole program at its scalars. */
npu_u64 check_machine_macs(const struct check_machine *m);

/*
 * Tensor @index of the program as an operand, at its dims. False for a tensor that has no valid
 * place at these scalars.
 */
bool check_machine_tensor(const struct check_machine *m, unsigned int index,
			  struct npu_operand *op);

/*
 * Go to what is next: 1, an instruction is in m->insn, its terms applied and checked; 2, the host
 * step m->current; 0, the end; or -EINVAL, -ENOMEM with a text.
 */
int check_machine_next(struct check_machine *m, struct npu_error *err);

/* Do the host step that is next. Returns 0, or what the operator returned, with a text. */
int check_host_step(struct check_machine *m, struct npu_error *err);

/* How instructions are checked. */
struct check_how {
	/*
	 * The oracle computes every @step-th output of convolutions and products; 0 and 1: all of
	 * them.
	 */
	npu_u64 step;
	unsigned int threads;		/* for those; 0: one */
};

/* What check_step() saw. */
struct check_result {
	npu_u32 index, tag;		/* of the instruction */
	const struct npu_op_desc *desc;	/* NULL: a host step */
	bool exact;			/* the formula says the bits; else a tolerance applies */
	bool ok;
	npu_u64 elements, compared;	/* of its outputs */
	npu_u64 bad;			/* compared ones that differ (by more than the tolerance) */
	double worst, largest;		/* difference, and the oracle's largest magnitude */
	/* The first that is bad. */
	unsigned int slot;
	npu_u32 at[NPU_MAX_RANK], rank;
	double got, want;
};

/*
 * Execute the next instruction and compare it with the oracle (a host step is only executed);
 * m->insn is it, and its outputs are in memory as the engine left them. Returns 1; 0 at the end of
 * the stream; -ENOTSUP (the oracle does not know the instruction, which the engine has executed all
 * the same: @r says which), -EIO (the engine faulted), -EINVAL or -ENOMEM, each with a text.
 */
int check_step(struct check_machine *m, const struct check_how *how, struct check_result *r,
	       struct npu_error *err);

/* Element @at of an operand as a number: real values of quantized data, else what is stored. */
double check_value(const struct npu_operand *op, const unsigned char *at);

#endif
