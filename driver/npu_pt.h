/* SPDX-License-Identifier: GPL-2.0-only */
/* Page tables of one context. */
#ifndef NPU_PT_H
#define NPU_PT_H

#include <linux/list.h>
#include <linux/types.h>

struct npu_device;
struct sg_table;

/**
 * struct npu_pt_table - one page of a page table
 * @entries: what the device reads
 * @dma: its address
 * @level: 0 holds 4 KiB pages, 3 is the top
 * @used: entries that are valid
 * @child: tables below, NULL at level 0
 * @node: in struct npu_pt_gather.tables when it is about to be freed
 */
struct npu_pt_table {
	u64 *entries;
	dma_addr_t dma;
	u32 level;
	u32 used;
	struct npu_pt_table **child;
	struct list_head node;
};

/**
 * struct npu_pt - page tables of a context
 * @npu: device
 * @context: number
 * @root: top table, NULL after npu_pt_fini()
 *
 * The owner's lock protects it: npu_vm.lock, or npu_device.kernel.lock.
 */
struct npu_pt {
	struct npu_device *npu;
	u32 context;
	struct npu_pt_table *root;
};

/**
 * struct npu_pt_gather - what must be invalidated before memory may be freed
 * @start: first address
 * @end: address behind the last one; nothing was changed while it is not above @start
 * @tables: pages of tables that are in no table any more
 */
struct npu_pt_gather {
	u64 start;
	u64 end;
	struct list_head tables;
};

void npu_pt_gather_init(struct npu_pt_gather *gather);
void npu_pt_gather_flush(struct npu_pt *pt, struct npu_pt_gather *gather);

int npu_pt_init(struct npu_pt *pt, struct npu_device *npu, u32 context);
void npu_pt_fini(struct npu_pt *pt);
u64 npu_pt_root(const struct npu_pt *pt);

int npu_pt_prepare(struct npu_pt *pt, u64 va, u64 size, struct sg_table *sgt, u64 offset);
void npu_pt_map(struct npu_pt *pt, u64 va, u64 size, struct sg_table *sgt, u64 offset, u64 prot,
		struct npu_pt_gather *gather);
int npu_pt_prepare_unmap(struct npu_pt *pt, u64 va, u64 size);
void npu_pt_unmap(struct npu_pt *pt, u64 va, u64 size, struct npu_pt_gather *gather);
void npu_pt_prune(struct npu_pt *pt, u64 va, u64 size, struct npu_pt_gather *gather);

#endif
