/* SPDX-License-Identifier: MIT */
/*
 * The device's MMU. Each context has a lock, a table of translations (tlb.c) and mirrors
 * (mirror.c): ranges of host addresses that show scattered guest pages as the context sees them, in
 * a row.
 *
 * An engine's access to a range is a "hold" of a client. An invalidation forgets translations at
 * once and then waits for the holds that were made by them; a hold is "doomed" when that happens to
 * it. A range that a doomed hold covers is not mirrored anew before it has gone: who needs it
 * meanwhile gets a copy.
 */
#ifndef NPU_MMU_H
#define NPU_MMU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "npu_hw.h"
#include "npu_isa.h"

struct npu_vdev_core;
struct npu_tlb_chunk;
struct npu_mirror_window;

#define NPU_TLB_BUCKETS		1024u
/* The most that an operand spans: as much as an instruction may touch. */
#define NPU_MMU_MAX_SPAN	NPU_MAX_INSN_BYTES
/* Larger pieces are not copied for want of a contiguous view; the job faults. */
#define NPU_MMU_MAX_COPY	(1ull << 30)

#define NPU_DOOMED_INV		1u	/* by an invalidation */
#define NPU_DOOMED_UNMAP	2u	/* guest memory went away */

struct npu_mmu_hold {
	npu_u64 va, size;
	/* What the translations that it was made by cover: whole pages, large ones too. */
	npu_u64 first, last;
	npu_u64 dma_first, dma_last;	/* bounds of the DMA addresses that these led to */
	npu_u32 access;
	npu_u32 doomed;			/* NPU_DOOMED_* */
	char *copy;			/* gathered: no access to guest memory meanwhile */
	char *before;			/* what was gathered, when it is written back */
	npu_u32 context;		/* of the copy */
};

/* One user of resolve(): an engine unit. Its thread makes and ends holds. */
struct npu_mmu_client {
	struct npu_mmu *mmu;
	/* Changes only while there are no holds. */
	_Atomic(npu_u32) context;
	/* Protected by the lock of that context. */
	struct npu_mmu_hold hold[NPU_MAX_OPERANDS];
	unsigned int num_holds;
	/* The thread's own: a copy that could not be written back. */
	bool lost_write;
	npu_u64 lost_va;
	/* Make an end of the access soon; called with the lock of the context. */
	void (*stop)(void *ctx);
	void *ctx;
};

struct npu_mmu_context {
	/* Protects all below, and the holds of clients in this context. */
	pthread_mutex_t lock;
	pthread_cond_t idle;		/* a doomed hold has gone */
	npu_u64 root;			/* as of the last invalidation */
	struct npu_tlb_chunk **bucket;	/* NPU_TLB_BUCKETS; NULL before the first use */
	npu_u32 num_chunks;
	struct npu_mirror_window *windows;
	atomic_bool active;		/* there may be chunks */
	atomic_uint waiters;		/* who wants the lock soon; long work gives way */
	_Atomic(npu_u64) root_reg;	/* as the driver wrote it; without the lock */
};

struct npu_mmu {
	struct npu_vdev_core *core;
	struct npu_mmu_context context[NPU_HW_MAX_CONTEXTS];
	struct npu_mmu_client *client[NPU_HW_MAX_ENGINES];
	atomic_bool frozen;		/* a reset: nothing is translated */
	atomic_bool stale;		/* there may be mappings for the sweep */
	atomic_uint num_chunks;
	atomic_uint num_windows;
	atomic_uint num_pieces;		/* mappings in mirrors, at most */
	unsigned int max_chunks, max_pieces;
};

int npu_mmu_init(struct npu_mmu *mmu, struct npu_vdev_core *core);
void npu_mmu_fini(struct npu_mmu *mmu);

/* For struct npu_address_space; @ctx is a struct npu_mmu_client. */
void *npu_mmu_resolve(void *ctx, npu_u64 va, npu_u64 size, npu_u32 access, npu_u64 *bad);
void npu_mmu_release(void *ctx, npu_u64 va, npu_u64 size);
int npu_mmu_fetch(void *ctx, npu_u64 va, void *buf, npu_u32 size, npu_u64 *bad);

/*
 * Copy from (NPU_ACCESS_READ, EXEC) or to (WRITE) [va, va + size) of @context. 0, or -EFAULT with
 * the first bad address in *@bad (may be NULL); then a part may have been copied.
 */
int npu_mmu_copy(struct npu_mmu *mmu, npu_u32 context, npu_u64 va, void *buf, npu_u64 size,
		 npu_u32 access, npu_u64 *bad);
/* One aligned little-endian word of @size bytes, 1, 2 or 4, in a single access. 0 or -EFAULT. */
int npu_mmu_load(struct npu_mmu *mmu, npu_u32 context, npu_u64 va, unsigned int size,
		 npu_u32 *value);
int npu_mmu_store(struct npu_mmu *mmu, npu_u32 context, npu_u64 va, unsigned int size,
		  npu_u32 value);

/*
 * Forget the translations of @context that touch [va, va + size), size 0: all, and take over its
 * root. Returns when no access by them is left. Not on the transport's thread.
 */
void npu_mmu_invalidate(struct npu_mmu *mmu, npu_u32 context, npu_u64 va, npu_u64 size);
/* Forget everything that leads to DMA addresses [first, last]. 0, or -EBUSY while it is in use. */
int npu_mmu_dma_unmap(struct npu_mmu *mmu, npu_u64 first, npu_u64 last);
/* Unmap what mirrors show and nobody may look at any more. On the service thread. */
void npu_mmu_sweep(struct npu_mmu *mmu);
/* As after power on. There are no holds. */
void npu_mmu_reset(struct npu_mmu *mmu);

#endif
