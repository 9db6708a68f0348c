/* SPDX-License-Identifier: MIT */
/*
 * The seam inside the virtual device. On one side the transport: vfio-user socket, PCI config
 * space, guest memory, the interrupt, the control socket, the supervisor. On the other side the
 * core: registers, MMU, management processor, engines. The transport calls the core through struct
 * npu_vdev_core_ops, the core calls the transport through the functions below.
 *
 * Threads. All of the core's functions are called from the transport's one thread, one at a time.
 * The client (QEMU) waits meanwhile, with its big lock held: they must return within
 * NPU_VDEV_CALL_MS, and a worker that stays in one for NPU_VDEV_STUCK_MS is killed and restarted.
 * The transport's functions may be called from any thread, also from inside the core's functions.
 *
 * Life. A worker process makes one core with create() and keeps it for all connections; reset()
 * says what happens in between. When a worker dies, the next one makes a new core in the same state
 * of the connection and calls reset(NPU_VDEV_RESET_RESTART); what must survive that lies in
 * npu_vdev_keep().
 */
#ifndef NPU_VDEV_H
#define NPU_VDEV_H

#include <stdbool.h>
#include <stddef.h>
#include "npu_engine.h"
#include "npu_hw.h"
#include "vdev_fault.h"

#define NPU_VDEV_CALL_MS	100
#define NPU_VDEV_STUCK_MS	3000
#define NPU_VDEV_KEEP_SIZE	4096u

struct npu_vdev;
struct npu_vdev_core;

/* What a device is built with. Numbers are checked by npu_vdev_config_check(). */
struct npu_vdev_config {
	npu_u32 engines;		/* 1 .. NPU_HW_MAX_ENGINES */
	npu_u32 queues;			/* 1 .. NPU_HW_MAX_QUEUES */
	npu_u32 mac_rows, mac_cols;	/* 1 .. 65535; what CAP_MAC says */
	npu_u32 sram_size;		/* bytes of an engine, multiple of 4096 */
	npu_u32 threads;		/* of an engine, one is its own; 0: one per CPU */
	enum npu_simd simd;
	npu_u32 fw_gdb_port;		/* TCP port of 127.0.0.1 for the MCU's gdb stub; 0: none */
	npu_u32 irq_gap_us;		/* two interrupts are at least so far apart; 0: no gap */
	bool echo;			/* a doorbell is answered at once; no MCU, no engines */
};

/* Members of the configuration, and what they may be at least and at most. */
#define NPU_VDEV_CONFIG_RANGES(X)						\
	X(engines, 1, NPU_HW_MAX_ENGINES)					\
	X(queues, 1, NPU_HW_MAX_QUEUES)						\
	X(mac_rows, 1, 65535)							\
	X(mac_cols, 1, 65535)							\
	X(sram_size, 4096, 1u << 30)						\
	X(threads, 0, NPU_ENGINE_MAX_THREADS)					\
	X(simd, 0, NPU_NUM_SIMDS - 1)						\
	X(fw_gdb_port, 0, 65535)						\
	X(irq_gap_us, 0, 1000000)

enum {
#define X(name, min, max) NPU_VDEV_MIN_##name = (min), NPU_VDEV_MAX_##name = (max),
	NPU_VDEV_CONFIG_RANGES(X)
#undef X
};

/* NPU_VDEV_CONFIG_DEFAULT: one engine, as the in-process device has it. */
#define NPU_VDEV_CONFIG_DEFAULT { .engines = 1, .queues = 64, .mac_rows = 64, .mac_cols = 64, \
				  .sram_size = 2u << 20 }

/* 0, or -EINVAL and in @why (of @size bytes) what is wrong with which member. */
int npu_vdev_config_check(const struct npu_vdev_config *config, char *why, size_t size);

enum npu_vdev_reset {
	NPU_VDEV_RESET_CONNECT,		/* a client came: power on. What is kept is zero */
	NPU_VDEV_RESET_BUS,		/* the client's reset of the bus or the machine */
	NPU_VDEV_RESET_FLR,		/* function level reset by the guest */
	NPU_VDEV_RESET_POWER,		/* from D3hot back to D0: as FLR */
	NPU_VDEV_RESET_DISCONNECT,	/* the client went: guest memory goes when DMA has ended */
	NPU_VDEV_RESET_RESTART		/* a worker died; tell the guest (NPU_FATAL_RESTART) */
};

struct npu_vdev_core_ops {
	/* NULL on failure, with the reason in @why. Bus mastering is off, no memory is mapped. */
	struct npu_vdev_core *(*create)(struct npu_vdev *dev, const struct npu_vdev_config *config,
					char *why, size_t size);
	void (*destroy)(struct npu_vdev_core *core);
	/*
	 * All DMA ends: engines are told to stop, nothing new begins, cached translations are
	 * forgotten. Accesses that hold a pin may end later; the transport waits for them before it
	 * answers the client. The core counts its reset epoch on.
	 */
	void (*reset)(struct npu_vdev_core *core, enum npu_vdev_reset kind);
	/*
	 * BAR0, 32 bits, @offset a multiple of 4 below NPU_BAR0_SIZE. A 64-bit access of the guest
	 * comes as two, the low half first; narrower and unaligned ones do not come here.
	 */
	npu_u32 (*reg_read)(struct npu_vdev_core *core, npu_u32 offset);
	void (*reg_write)(struct npu_vdev_core *core, npu_u32 offset, npu_u32 value);
	/* Bus mastering was switched. While it is off npu_vdev_dma_acquire() fails (-EPERM). */
	void (*bus_master)(struct npu_vdev_core *core, bool on);
	/*
	 * [first, last] of DMA addresses has been unmapped: look-ups fail already. Forget every
	 * translation into it that was got under a pin and outlived it (a TLB, a mirror). Returns 0
	 * when no access by one of those is left, -EBUSY when one is; then it is called again until
	 * 0, and npu_vdev_dma_kick() hastens that. It must end in a bounded time: a worker that
	 * does not come to 0 within NPU_VDEV_STUCK_MS is killed.
	 */
	int (*dma_unmap)(struct npu_vdev_core *core, npu_u64 first, npu_u64 last);
};

/* The device's core, and one that answers doorbells at once (config.echo). */
extern const struct npu_vdev_core_ops npu_vdev_core, npu_vdev_echo_core;

/* ---- guest memory ---- */

/* A piece of guest memory that is contiguous in the host, too. */
struct npu_vdev_run {
	void *host;		/* valid while the pin is held */
	npu_u64 size;
	int fd;			/* may be mapped elsewhere: the transport's, not to be closed */
	npu_u64 offset;		/* of @host in @fd */
	bool writable;		/* what the guest's IOMMU allows */
};

/* An access in flight. The caller's memory, the transport's content; a pin is held by one owner. */
struct npu_vdev_pin {
	npu_u64 first, last;
	struct npu_vdev_pin *prev, *next;
};

/*
 * Begin an access to [iova, iova + size) for @access (NPU_ACCESS_READ | NPU_ACCESS_WRITE). Fills
 * @runs from @iova on, adjacent pieces merged, and returns their number, 1 .. @max_runs. They cover
 * the whole range, or with more pieces than @max_runs its beginning only. From here to
 * npu_vdev_dma_release() an unmapping of what the runs cover waits, so hold it for milliseconds at
 * most.
 *
 * Errors, with nothing pinned and the address in *@bad (may be NULL): -EFAULT nothing is mapped
 * there, -EACCES read-only, -ENXIO mapped but not reachable (a peer's registers), -EPERM bus
 * mastering is off or the device was removed, -EINVAL @size is 0 or the range wraps.
 */
int npu_vdev_dma_acquire(struct npu_vdev *dev, npu_u64 iova, npu_u64 size, npu_u32 access,
			 struct npu_vdev_pin *pin, struct npu_vdev_run *runs,
			 unsigned int max_runs, npu_u64 *bad);
void npu_vdev_dma_release(struct npu_vdev *dev, struct npu_vdev_pin *pin);

/* Copy, any size and alignment. 0 or an error as above; a failed write has written nothing. */
int npu_vdev_dma_read(struct npu_vdev *dev, npu_u64 iova, void *buf, npu_u64 size, npu_u64 *bad);
int npu_vdev_dma_write(struct npu_vdev *dev, npu_u64 iova, const void *buf, npu_u64 size,
		       npu_u64 *bad);

/* One aligned little-endian word in a single access; the store comes after all stores before it. */
int npu_vdev_dma_load32(struct npu_vdev *dev, npu_u64 iova, npu_u32 *value, npu_u64 *bad);
int npu_vdev_dma_load64(struct npu_vdev *dev, npu_u64 iova, npu_u64 *value, npu_u64 *bad);
int npu_vdev_dma_store32(struct npu_vdev *dev, npu_u64 iova, npu_u32 value, npu_u64 *bad);

/* An access that made dma_unmap() say -EBUSY has ended. */
void npu_vdev_dma_kick(struct npu_vdev *dev);

/*
 * An access at @iova failed with -EFAULT or -EACCES: have the guest's IOMMU see it, too. Returns at
 * once; too many at a time are dropped.
 */
void npu_vdev_dma_report(struct npu_vdev *dev, npu_u64 iova, npu_u32 access);

/* ---- the rest ---- */

/*
 * Raise the one interrupt. What it is about lies in guest memory before this is called. Several may
 * become one; one while it is masked or not set up stays pending.
 */
void npu_vdev_irq_raise(struct npu_vdev *dev);

/*
 * NPU_VDEV_KEEP_SIZE bytes that survive the worker: zero after NPU_VDEV_RESET_CONNECT, else as the
 * core left them. Aligned for any type; stores must leave it usable at every instant.
 */
void *npu_vdev_keep(struct npu_vdev *dev);

/* A line of the log, without newline; with the time in front. */
__attribute__((format(printf, 2, 3)))
void npu_vdev_log(struct npu_vdev *dev, const char *fmt, ...);

#endif
