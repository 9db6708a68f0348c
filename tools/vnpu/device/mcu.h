/* SPDX-License-Identifier: MIT */
/*
 * The management processor: a RISC-V hart, which the threads of the crew run (mcu_hart.c), its
 * memory, its registers (mcu_regs.c) and its window to the kernel's context.
 */
#ifndef NPU_MCU_H
#define NPU_MCU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "npu_hw.h"

struct npu_vdev_core;
struct rv32;
struct rv32_gdb;

/* Where the message ring is moved to, after a message that the firmware knows nothing of. */
struct npu_mcu_skew {
	npu_u32 messages;		/* how many; 0: all is as the firmware has it */
	npu_u32 ring, entries, index;	/* of its configuration */
};

struct npu_mcu {
	struct npu_vdev_core *core;
	struct rv32 *hart;
	struct rv32_gdb *gdb;		/* NULL: no debugger can come */
	npu_u8 *tcm;

	/* Protects all down to timer_up, the hart while it is parked, and the crew. */
	pthread_mutex_t lock;
	pthread_cond_t parked_cond;
	bool run;
	bool fresh;			/* begin at entry */
	npu_u32 entry;
	bool taken;			/* a thread has the hart: owner */
	pthread_t owner;
	bool parked;			/* but it does not run it, nor will before run */
	bool ctl;			/* the pending bits */
	npu_u32 doorbell[NPU_HW_MAX_QUEUES / 32];
	npu_u32 engine_event;
	npu_u32 enable;
	npu_u64 timer;
	bool timer_up;			/* as npu_mcu_lines() has found it */

	atomic_bool stop;		/* what the hart looks at */
	atomic_uint boot_status;	/* enum npu_fw_boot, or what the firmware wrote */

	/* The owner's. */
	npu_u32 time_high;
	npu_u32 watchdog_us;		/* 0: off */
	npu_u64 watchdog_ns;		/* that the firmware has worked since it wrote it */
	struct npu_mcu_skew skew;
};

int npu_mcu_init(struct npu_vdev_core *core);
/*
 * Behind npu_crew_stop(), the engine units' end between the two: a debugger may still write to a
 * unit before the first.
 */
void npu_mcu_stop(struct npu_mcu *mcu);
void npu_mcu_fini(struct npu_mcu *mcu);

/* mcu_hart.c, for the crew, with the lock: is the hart nobody's, and has it to run? */
bool npu_mcu_wants(struct npu_mcu *mcu);
/* Run it, until it sleeps, is halted, or the crew quits. Drops the lock meanwhile. */
void npu_mcu_turn(struct npu_mcu *mcu);
/* Has this thread the hart? */
bool npu_mcu_is_mine(const struct npu_mcu *mcu);
/* When the hart, which is nobody's, has to be looked at for its timer; UINT64_MAX: not at all. */
npu_u64 npu_mcu_deadline(const struct npu_mcu *mcu);
/* Without the lock: let a thread go that a debugger holds. */
void npu_mcu_release(struct npu_mcu *mcu);

/* From the transport's thread; do not wait. Ignored when it runs already. */
void npu_mcu_start(struct npu_mcu *mcu, npu_u32 entry);
void npu_mcu_halt(struct npu_mcu *mcu);
void npu_mcu_doorbell_ctl(struct npu_mcu *mcu);
void npu_mcu_doorbell(struct npu_mcu *mcu, npu_u32 queue);
bool npu_mcu_running(struct npu_mcu *mcu);
npu_u64 npu_mcu_instructions(struct npu_mcu *mcu);

/* From the crew, which looks at the hart next: engine @n left RUNNING or SAVING. */
void npu_mcu_engine_event(struct npu_mcu *mcu, npu_u32 n);

/* On the service thread: wait until it has halted, and forget all of its state but the memory. */
void npu_mcu_reset(struct npu_mcu *mcu);
/* Copy from DMA address @src to the tightly coupled memory. False: not halted, range, or DMA. */
bool npu_mcu_load(struct npu_mcu *mcu, npu_u64 src, npu_u32 dst, npu_u32 size);

/* From the thread that has the hart: a fatal event, after which it stands still. */
void npu_mcu_fatal(struct npu_mcu *mcu, enum npu_hw_fatal code, npu_u32 info);
/* With the lock: NPU_MCU_PENDING_*. */
npu_u32 npu_mcu_pending(const struct npu_mcu *mcu);
/* With the lock: set the lines of the hart by what is pending and the time. */
void npu_mcu_lines(struct npu_mcu *mcu);

/* mcu_regs.c: registers, @offset from NPU_MCU_MMIO. 0, or -EFAULT: there is none. */
int npu_mcu_reg_load(struct npu_mcu *mcu, npu_u32 offset, npu_u32 *value);
int npu_mcu_reg_store(struct npu_mcu *mcu, npu_u32 offset, npu_u32 value);

/*
 * mcu_fault.c: faults of the firmware that the control socket arms. Before a word is stored in
 * kernel memory, which makes a message the driver's when it is the message ring's tail; and, while
 * messages were slipped in, where an access to the ring goes to.
 */
void npu_mcu_tamper(struct npu_mcu *mcu, npu_u32 addr, npu_u32 *value);
npu_u32 npu_mcu_skewed(const struct npu_mcu *mcu, npu_u32 addr);
/* Whether @addr is the message ring's tail, as the firmware counts it. */
bool npu_mcu_is_tail(const struct npu_mcu *mcu, npu_u32 addr);

#endif
