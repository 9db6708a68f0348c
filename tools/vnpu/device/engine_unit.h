/* SPDX-License-Identifier: MIT */
/*
 * An engine unit: the registers through which the firmware runs jobs, and the commands that the
 * threads of the crew carry out. All units share one engine library object: its helpers serve
 * whichever unit has work to share out.
 */
#ifndef NPU_ENGINE_UNIT_H
#define NPU_ENGINE_UNIT_H

#include <pthread.h>
#include "mmu.h"
#include "npu_engine.h"
#include "npu_hw.h"

struct npu_vdev_core;

/* Why a unit is to stop. */
#define NPU_UNIT_STOP_FIRMWARE	1u	/* NPU_ENGINE_CMD_STOP */
#define NPU_UNIT_STOP_RESET	2u	/* NPU_RESET_ENGINE */
#define NPU_UNIT_STOP_DEVICE	4u	/* the whole device is reset: no result, no event */
#define NPU_UNIT_STOP_UNMAP	8u	/* memory went away: the instruction is tried again */

/* Records into the user's memory, trace_unit.c. */
struct npu_unit_trace {
	npu_u32 flags;			/* NPU_JOB_TRACE_*; 0: none */
	npu_u32 context;
	npu_u64 va;
	npu_u32 room;			/* records */
	npu_u32 count, dropped;
	npu_u64 start_ns;
	bool failed;			/* at address bad */
	npu_u64 bad;
};

/* The job that is on the unit. */
struct npu_unit_job {
	bool open;			/* state is initialised */
	npu_u32 hang;			/* it hangs until one of these reasons to stop; 0: no */
	bool slow;			/* as armed when it started, like hang */
	struct npu_fw_job desc;		/* a copy */
	struct npu_region region[NPU_MAX_REGIONS];
	struct npu_engine_state state;
	npu_u32 queue, context;
	npu_u64 started_ns;
	struct npu_unit_trace trace;
};

/* What a command comes with, as of the moment it was written. */
struct npu_unit_args {
	npu_u32 queue, job, result, save, budget;
};

struct npu_unit {
	struct npu_vdev_core *core;
	unsigned int index;
	struct npu_mmu_client client;

	/* Protects all down to busy. */
	pthread_mutex_t lock;
	pthread_cond_t wake;		/* there is a reason to stop */
	pthread_cond_t idle;		/* busy became false */
	struct npu_unit_args reg;	/* as the firmware wrote them */
	struct npu_unit_args args;	/* of the command */
	npu_u32 cmd;			/* which */
	enum npu_engine_state_code state;
	bool busy;			/* from a command's being posted to its end */

	atomic_bool stop;		/* what the engine looks at */
	atomic_uint why;		/* NPU_UNIT_STOP_* */
	atomic_ullong progress;
	_Atomic(npu_u64) busy_ns;	/* of slices that are over */
	_Atomic(npu_u64) slice_ns;	/* when the present one began; 0: there is none */

	/* Its thread's while it is busy, else whoever's finds it idle. */
	struct npu_unit_job job;
	void *sram;
	npu_u64 sram_used;		/* bytes that may be other than zero */
};

int npu_unit_init(struct npu_vdev_core *core, unsigned int index);
void npu_unit_fini(struct npu_unit *unit);

/*
 * Registers, offsets NPU_ENGINE_*; from the thread that has the hart. False: there is no such
 * register.
 */
bool npu_unit_read(struct npu_unit *unit, npu_u32 offset, npu_u32 *value);
bool npu_unit_write(struct npu_unit *unit, npu_u32 offset, npu_u32 value);

/* From the crew: carry out the command that was posted. */
void npu_unit_work(struct npu_unit *unit);

/* From any thread; does not wait. */
void npu_unit_stop(struct npu_unit *unit, npu_u32 why);
/* On the service thread, after a stop for it: waits until it has come to an end. */
void npu_unit_reset_finish(struct npu_unit *unit);
void npu_unit_reset_device(struct npu_unit *unit);

/*
 * engine_job.c, from npu_unit_work(): take the job of unit->args up, from its beginning or from the
 * save area; write the save area; let go of the job and clear on-chip memory. DONE means that the
 * engine may run it; else FAULT (job.state.fault filled) or ERROR.
 */
enum npu_engine_state_code npu_unit_job_open(struct npu_unit *unit, bool restore);
bool npu_unit_job_save(struct npu_unit *unit);
void npu_unit_job_close(struct npu_unit *unit);
bool npu_unit_result_write(struct npu_unit *unit, enum npu_engine_state_code state, bool reset);

/* trace_unit.c. False: the descriptor's trace is not valid. */
bool npu_trace_open(struct npu_unit *unit, const struct npu_hw_save *save);
/* Write the head; the records are there. */
void npu_trace_flush(struct npu_unit *unit);

#endif
