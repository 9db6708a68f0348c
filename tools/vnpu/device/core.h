/* SPDX-License-Identifier: MIT */
/*
 * The core of the device: what its files share. Registers, MMU, management processor (MCU), engine
 * units, a crew of threads for the work of both, and a service thread for what the transport's
 * thread must not wait for.
 *
 * Order of locks: service.lock, events.lock, unit.lock and mcu.lock are never held together. Below
 * each of them, and below a context's lock of the MMU, the transport may be called; below mcu.lock
 * the lock of the debugger's stub may be taken, too. Two contexts' are never waited for together.
 */
#ifndef NPU_CORE_H
#define NPU_CORE_H

#include <errno.h>
#include <pthread.h>
#include "crew.h"
#include "engine_unit.h"
#include "mcu.h"
#include "mmu.h"
#include "regs.h"
#include "service.h"
#include "vdev.h"

#define NPU_TCM_SIZE		(256u << 10)
#define NPU_CLOCK_HZ		1000000000u

/* What must outlive the worker, in npu_vdev_keep(). */
struct npu_core_keep {
	npu_u32 epoch;
	npu_u32 msg_count, fatal_count;
	npu_u32 reserved;
	npu_u64 events;			/* address, 0: none */
};

/* The block in guest memory that says why there was an interrupt. */
struct npu_events {
	/* Protects the counts, fatal's being set, and the order of the stores of one event. */
	pthread_mutex_t lock;
	npu_u64 address;
	atomic_bool fatal;		/* NPU_STATUS_FATAL */
};

struct npu_vdev_core {
	struct npu_vdev *dev;
	struct npu_vdev_config config;
	struct npu_core_keep *keep;
	struct npu_engine *engine;
	struct npu_regs regs;
	struct npu_events events;
	struct npu_mmu mmu;
	struct npu_mcu mcu;
	struct npu_unit unit[NPU_HW_MAX_ENGINES];
	struct npu_crew crew;
	struct npu_service service;
	_Atomic(npu_u64) counter[NPU_NUM_COUNTERS];
};

/* Device time. */
npu_u64 npu_core_now(void);

static inline void npu_core_count(struct npu_vdev_core *core, enum npu_hw_counter counter,
				  npu_u64 n)
{
	atomic_fetch_add_explicit(&core->counter[counter], n, memory_order_relaxed);
}

/* events.c: from any thread. Where no block is set, nothing happens but the count. */
int npu_events_init(struct npu_vdev_core *core);
void npu_events_fini(struct npu_vdev_core *core);
void npu_events_set(struct npu_vdev_core *core, npu_u64 address);
/* A reset begins: one epoch more, and no block. */
void npu_events_reset(struct npu_vdev_core *core);
void npu_events_message(struct npu_vdev_core *core);
void npu_events_invalidated(struct npu_vdev_core *core, npu_u32 seq);
/* Sets NPU_STATUS_FATAL, too. Only a restart is told of while the device is reset. */
void npu_events_fatal(struct npu_vdev_core *core, enum npu_hw_fatal code, npu_u32 info);

/*
 * reset.c: begin a reset of the device; the service thread ends it. From the transport's thread,
 * which does not wait: engines and MCU are told to stop, and no DMA begins until it is over.
 */
void npu_reset_begin(struct npu_vdev_core *core);
/* On the service thread: the rest. */
void npu_reset_finish(struct npu_vdev_core *core);

#endif
