/* SPDX-License-Identifier: MIT */
/*
 * Faults and mutants that the control socket arms: the only list of them. A fault is what hardware
 * or firmware may do to a driver, a mutant is a defect of the device that a test must notice.
 *
 * X(name, kind, its name on the control socket, what it does)
 */
#ifndef NPU_VDEV_FAULT_H
#define NPU_VDEV_FAULT_H

#include <stdbool.h>

#define NPU_VDEV_FAULTS(X)									\
	X(HANG,		  FAULT,  "hang",							\
	  "a job makes no progress from its start until it is stopped")				\
	X(HANG_HARD,	  FAULT,  "hang-hard",							\
	  "the same, and the firmware's stop does not help: a reset of the engine does")	\
	X(HANG_DEAD,	  FAULT,  "hang-dead",							\
	  "the same, and only a reset of the device helps")					\
	X(SLOW_JOB,	  FAULT,  "slow-job",							\
	  "a job takes 20 ms more for each instruction, and shows progress")			\
	X(LOST_INTERRUPT, FAULT,  "lost-interrupt",						\
	  "an interrupt does not reach the guest")						\
	X(BAD_ID,	  FAULT,  "bad-completion-id",						\
	  "a completion names a job that was never submitted")					\
	X(BAD_LENGTH,	  FAULT,  "bad-completion-length",					\
	  "the tail of the message ring runs ahead by more than the ring holds")		\
	X(DUPLICATE,	  FAULT,  "duplicate-completion",					\
	  "a completion comes twice")								\
	X(BAD_INDEX,	  FAULT,  "bad-index",							\
	  "a completion names a queue that the device does not have")				\
	X(BAD_TAIL,	  FAULT,  "bad-tail",							\
	  "behind a completion the firmware says that the ring of its queue is damaged")	\
	X(FW_CRASH,	  FAULT,  "firmware-crash",						\
	  "the firmware takes a trap at its next instruction")					\
	X(BOOT_FAIL,	  FAULT,  "boot-failure",						\
	  "the management processor does not start when told to")				\
	X(MMU_FAULT,	  FAULT,  "mmu-fault",							\
	  "a translation of a job fails as if nothing were mapped")				\
	X(REMOVAL,	  FAULT,  "surprise-removal",						\
	  "registers and configuration read all ones, writes are lost, no DMA, no interrupts;"	\
	  " lasts until disarmed")								\
	X(WORKER_ABORT,	  FAULT,  "worker-abort",						\
	  "the worker process aborts at a register write")					\
	X(IGNORE_INV,	  MUTANT, "ignore-invalidate",						\
	  "an invalidation is acknowledged, but old translations stay in use")			\
	X(IGNORE_RO,	  MUTANT, "ignore-readonly",						\
	  "a write through a read-only translation is carried out")				\
	X(SKIP_SCRUB,	  MUTANT, "skip-sram-scrub",						\
	  "on-chip memory is not cleared between jobs")						\
	X(MIX_CONTEXTS,	  MUTANT, "mix-contexts",						\
	  "a translation is looked up without regard to its context")				\
	X(IGNORE_BME,	  MUTANT, "ignore-bus-master",						\
	  "DMA goes on while bus mastering is off")

enum npu_vdev_fault {
#define X(name, kind, text, what) NPU_VDEV_##kind##_##name,
	NPU_VDEV_FAULTS(X)
#undef X
	NPU_VDEV_NUM_FAULTS
};

struct npu_vdev;

/*
 * Called where the fault would happen, from any thread: true when it is armed, and one occurrence
 * less is left then. Costs a load when nothing is armed.
 */
bool npu_vdev_fault_take(struct npu_vdev *dev, enum npu_vdev_fault id);

/* The same without using it up: for what lasts. */
bool npu_vdev_fault_armed(struct npu_vdev *dev, enum npu_vdev_fault id);

#endif
