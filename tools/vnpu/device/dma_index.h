/* SPDX-License-Identifier: MIT */
/*
 * Sorted table of ranges of DMA addresses that do not overlap: blocks of entries, so that putting
 * one in or taking one out moves some hundred of them at most. The caller locks.
 */
#ifndef NPU_DMA_INDEX_H
#define NPU_DMA_INDEX_H

#include <stdbool.h>
#include "npu_isa.h"

struct dma_entry {
	npu_u64 first, last;
	npu_u8 *host;			/* of @first; NULL: not reachable */
	npu_u64 offset;			/* of @first in the file */
	npu_u32 slot;			/* the owner's */
	npu_u16 file;
	npu_u16 access;			/* NPU_ACCESS_* */
};

#define DMA_BLOCK_ENTRIES	128u

struct dma_block {
	npu_u32 num;			/* never 0 */
	struct dma_entry entry[DMA_BLOCK_ENTRIES];
};

struct dma_index {
	struct dma_block **block;
	npu_u32 num_blocks, max_blocks;
};

/* Where an entry is; valid until the table changes. */
struct dma_pos {
	npu_u32 block, entry;
};

void dma_index_init(struct dma_index *ix);
void dma_index_fini(struct dma_index *ix);

/* The first entry that ends at @addr or above it. NULL: there is none. */
struct dma_entry *dma_index_find(const struct dma_index *ix, npu_u64 addr, struct dma_pos *pos);
struct dma_entry *dma_index_next(const struct dma_index *ix, struct dma_pos *pos);

/* @e must not overlap another one. 0 or -ENOMEM. */
int dma_index_insert(struct dma_index *ix, const struct dma_entry *e);
void dma_index_remove(struct dma_index *ix, const struct dma_pos *pos);

#endif
