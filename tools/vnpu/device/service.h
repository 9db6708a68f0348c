/* SPDX-License-Identifier: MIT */
/*
 * What registers start and what takes longer than the transport's thread may wait: resets,
 * invalidations, the copy of the firmware. One thread does them, resets first.
 */
#ifndef NPU_SERVICE_H
#define NPU_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "npu_hw.h"

struct npu_vdev_core;

struct npu_service_inv {
	npu_u64 va, size;
	npu_u32 context, seq;
};

struct npu_service_copy {
	npu_u64 src;
	npu_u32 dst, size;
};

struct npu_service {
	pthread_t thread;
	/* Protects all below but resets. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool quit;
	npu_u32 starting;		/* NPU_RESET_* whose first half is under way */
	npu_u32 todo;			/* those whose second half has not been begun */
	bool copy_busy;			/* asked for, and not over */
	bool inv_todo, copy_todo, sweep_todo;
	struct npu_service_inv inv;
	struct npu_service_copy copy;
	atomic_uint resets;		/* NPU_RESET_* under way; 0: NPU_STATUS_READY */
};

int npu_service_init(struct npu_vdev_core *core);
/* Ends the thread, after what it is at. */
void npu_service_fini(struct npu_vdev_core *core);

/*
 * @which are NPU_RESET_*: around their first half. From the first call to the end of the second
 * half the device is not READY. A reset of the device takes back other requests.
 */
void npu_service_reset_start(struct npu_vdev_core *core, npu_u32 which);
void npu_service_reset(struct npu_vdev_core *core, npu_u32 which);
/* False when there is one that has not begun, or for a copy: that is not over. */
bool npu_service_invalidate(struct npu_vdev_core *core, const struct npu_service_inv *inv);
/* Some time: npu_mmu_sweep(). */
void npu_service_sweep(struct npu_vdev_core *core);
bool npu_service_copy(struct npu_vdev_core *core, const struct npu_service_copy *copy);

#endif
