/* SPDX-License-Identifier: MIT */
/*
 * The threads that do the work of MCU and engines, one more than there are engines. None of them is
 * anybody's own: whichever is free runs the hart while it has something to do, and the command of
 * an engine when one was posted. So the thread that ran the firmware up to its wfi goes on with the
 * command that the firmware has given, and behind that with the firmware again, which is told of
 * the end: from doorbell to message one thread is woken, once.
 */
#ifndef NPU_CREW_H
#define NPU_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include "npu_hw.h"

struct npu_vdev_core;

struct npu_crew {
	pthread_t thread[NPU_HW_MAX_ENGINES + 1];
	unsigned int num_threads;

	/* All below is protected by mcu.lock. */
	pthread_cond_t wake;
	bool quit;
	npu_u32 commands;		/* bit per unit: a command that nobody has taken */
	unsigned int sleepers;
	npu_u64 alarm;			/* when one of them looks at the timer; UINT64_MAX: none */
};

void npu_crew_init(struct npu_vdev_core *core);
void npu_crew_fini(struct npu_vdev_core *core);
/* 0 or a negative errno; then npu_crew_stop() has to follow all the same. */
int npu_crew_start(struct npu_vdev_core *core);
/* The MCU is halted and what the threads are at is ended; commands that nobody has taken stay. */
void npu_crew_stop(struct npu_vdev_core *core);

/* From any thread, without locks: unit @n has a command. */
void npu_crew_command(struct npu_vdev_core *core, unsigned int n);
/*
 * With mcu.lock, which is dropped: @call one of the threads to look. Who is woken with the lock
 * taken goes to sleep again at once, and that doubles what a wake-up costs.
 */
void npu_crew_unlock(struct npu_vdev_core *core, bool call);

#endif
