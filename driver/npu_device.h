/* SPDX-License-Identifier: GPL-2.0-only */
/* The device: what a probed NPU consists of, and which lock protects what. */
#ifndef NPU_DEVICE_H
#define NPU_DEVICE_H

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/drm_mm.h>

#include "../uapi/npu_hw.h"

#include "npu_fw.h"
#include "npu_kbo.h"
#include "npu_pt.h"
#include "npu_reset.h"

struct npu_coredump_snapshot;
struct npu_queue;
struct npu_vm;
struct pci_dev;

/**
 * struct npu_caps - capability registers, read once at probe
 * @hw_version: major << 16 | minor
 * @isa_version: major << 16 | minor
 * @mac_rows: of the MAC array
 * @mac_columns: of the MAC array
 * @sram_size: bytes of on-chip memory of an engine
 * @num_engines: jobs that run at the same time
 * @num_queues: hardware queues
 * @num_contexts: address spaces, the kernel's among them
 * @va_bits: of addresses in contexts
 * @dma_bits: of DMA addresses
 * @dtypes: bit per element type
 * @tcm_size: bytes of the management processor's memory
 * @save_size: bytes of a save area
 * @clock_hz: of the timestamp
 * @opcodes: bit per opcode
 */
struct npu_caps {
	u32 hw_version;
	u32 isa_version;
	u32 mac_rows;
	u32 mac_columns;
	u32 sram_size;
	u32 num_engines;
	u32 num_queues;
	u32 num_contexts;
	u32 va_bits;
	u32 dma_bits;
	u32 dtypes;
	u32 tcm_size;
	u32 save_size;
	u32 clock_hz;
	u32 opcodes[8];
};

/**
 * struct npu_device - a probed NPU
 */
struct npu_device {
	/** @base: DRM device; the memory lives until its last reference is gone */
	struct drm_device base;

	/** @caps: what the hardware can do */
	struct npu_caps caps;

	/** @hw: access to the hardware */
	struct {
		/** @hw.regs: BAR 0 */
		void __iomem *regs;

		/** @hw.irq: Linux interrupt number */
		int irq;

		/**
		 * @hw.lock: taken for reading by whoever speaks to the device from process context,
		 * for writing by whoever switches it on or off or resets it. Protects @hw.online.
		 * No memory may be allocated that waits for reclaim while it is held: fences wait
		 * for its writers.
		 */
		struct rw_semaphore lock;

		/** @hw.online: the firmware runs and knows the queues that are active */
		bool online;

		/** @hw.starting: it is being told of the queues. Under @hw.lock */
		bool starting;

		/**
		 * @hw.gone: unplugged, or beyond recovery. Never cleared; written with @hw.lock
		 * held for writing, read without where a stale value does no harm.
		 */
		bool gone;

		/** @hw.roots: what the root register of each context holds; under @hw.lock */
		u64 roots[NPU_HW_MAX_CONTEXTS];

		/** @hw.events: where the device tells the causes of interrupts */
		struct npu_hw_events *events;

		/** @hw.events_dma: its DMA address */
		dma_addr_t events_dma;
	} hw;

	/** @irq: what interrupts have told */
	struct {
		/**
		 * @irq.lock: protects the members below, the message ring's head and the table of
		 * queues. Taken in hard interrupt context. Fences are signalled under it.
		 */
		spinlock_t lock;

		/** @irq.enabled: the events page and the message ring are valid */
		bool enabled;

		/** @irq.fatal_count: fatal events seen */
		u32 fatal_count;

		/** @irq.count: interrupts taken, for debugfs */
		u64 count;

		/** @irq.work: takes messages that have come without one */
		struct irq_work work;

		/** @irq.wait: woken when a message or an invalidation has come */
		wait_queue_head_t wait;
	} irq;

	/** @mmu: contexts and invalidation */
	struct {
		/** @mmu.pool: pages of page tables */
		struct dma_pool *pool;

		/**
		 * @mmu.inv_lock: one invalidation at a time, as the hardware has registers for one;
		 * protects @mmu.inv_seq. It ends when the instruction that uses the translations
		 * has, so that one user's long instruction holds up what others unmap: for
		 * NPU_MMU_INV_MS at most, then the device is reset. What they map is not held up.
		 */
		struct mutex inv_lock;

		/** @mmu.inv_seq: of the last one */
		u32 inv_seq;

		/** @mmu.ctx_lock: protects @mmu.ctx_used and @mmu.vms */
		struct mutex ctx_lock;

		/** @mmu.ctx_used: contexts in use, 0 among them */
		DECLARE_BITMAP(ctx_used, NPU_HW_MAX_CONTEXTS);

		/** @mmu.vms: VMs by context, for debugfs and unplug; no reference is held */
		struct npu_vm *vms[NPU_HW_MAX_CONTEXTS];
	} mmu;

	/** @kernel: context 0 */
	struct {
		/** @kernel.lock: protects @kernel.mm and the entries of @kernel.pt */
		struct mutex lock;

		/** @kernel.mm: addresses in use */
		struct drm_mm mm;

		/** @kernel.pt: its page tables */
		struct npu_pt pt;
	} kernel;

	/** @fw: firmware image and the memory shared with it */
	struct npu_fw fw;

	/** @queues: hardware queues by number; written under @irq.lock */
	struct npu_queue *queues[NPU_HW_MAX_QUEUES];

	/** @jobs: jobs that exist, queued ones too */
	atomic_t jobs;

	/**
	 * @pm_refs: of runtime PM, that jobs of the schedulers hold; which job has which does not
	 * matter
	 */
	atomic_t pm_refs;

	/**
	 * @inflight: jobs that the hardware has, or will have when it is back, and calls of SUBMIT
	 * that came meanwhile. From the first one on the clock of npu_tdr.c runs, until it finds
	 * none
	 */
	atomic_t inflight;

	/** @reset: recovery */
	struct npu_reset reset;

	/** @gem: buffers */
	struct {
		/** @gem.lock: protects @gem.list */
		struct mutex lock;

		/** @gem.list: all buffers, struct npu_bo.node */
		struct list_head list;

		/**
		 * @gem.dma_lock: taken for reading by whoever maps memory for DMA or unmaps it, for
		 * writing by unplug, which sets @gem.unplugged
		 */
		struct rw_semaphore dma_lock;

		/** @gem.unplugged: nothing may be mapped for DMA any more, nothing is */
		bool unplugged;

		/** @gem.mnt: tmpfs with large pages, NULL: none or the core's */
		struct vfsmount *mnt;

		/** @gem.bounced: imports so far whose memory the kernel copies */
		atomic_t bounced;
	} gem;

	/** @limits: what each user has */
	struct {
		/** @limits.lock: protects @limits.users and their counts */
		struct mutex lock;

		/** @limits.users: struct npu_user.node */
		struct list_head users;
	} limits;

	/** @coredump: what the last failure left for user space */
	struct npu_coredump_snapshot *coredump;

	/** @busy_ns: time that engines have spent on jobs, for sysfs */
	atomic64_t busy_ns;
};

#define to_npu_device(ptr)	container_of(ptr, struct npu_device, base)

/* Releases of queues are deferred to it; remove() flushes it. */
extern struct workqueue_struct *npu_release_wq;

/* Runs the schedulers of all queues; a scheduler may live longer than its device is bound. */
extern struct workqueue_struct *npu_sched_wq;

int npu_device_init(struct npu_device *npu, struct pci_dev *pdev);
void npu_device_shut(struct npu_device *npu);
void npu_device_fini(struct npu_device *npu);

#endif
