// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "dma_index.h"

void dma_index_init(struct dma_index *ix)
{
	memset(ix, 0, sizeof(*ix));
}

void dma_index_fini(struct dma_index *ix)
{
	npu_u32 i;

	for (i = 0; i < ix->num_blocks; i++)
		free(ix->block[i]);
	free(ix->block);
	dma_index_init(ix);
}

static npu_u64 block_last(const struct dma_block *b)
{
	return b->entry[b->num - 1].last;
}

/* The first block that ends at @addr or above, num_blocks if none does. */
static npu_u32 block_find(const struct dma_index *ix, npu_u64 addr)
{
	npu_u32 low = 0, high = ix->num_blocks;

	while (low < high) {
		npu_u32 mid = low + (high - low) / 2;

		if (block_last(ix->block[mid]) < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static npu_u32 entry_find(const struct dma_block *b, npu_u64 addr)
{
	npu_u32 low = 0, high = b->num;

	while (low < high) {
		npu_u32 mid = low + (high - low) / 2;

		if (b->entry[mid].last < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct dma_entry *dma_index_find(const struct dma_index *ix, npu_u64 addr, struct dma_pos *pos)
{
	pos->block = block_find(ix, addr);
	if (pos->block == ix->num_blocks)
		return NULL;
	pos->entry = entry_find(ix->block[pos->block], addr);
	return &ix->block[pos->block]->entry[pos->entry];
}

struct dma_entry *dma_index_next(const struct dma_index *ix, struct dma_pos *pos)
{
	if (++pos->entry == ix->block[pos->block]->num) {
		pos->entry = 0;
		pos->block++;
	}
	return pos->block < ix->num_blocks ? &ix->block[pos->block]->entry[pos->entry] : NULL;
}

/* A new, empty block at place @at. */
static struct dma_block *block_add(struct dma_index *ix, npu_u32 at)
{
	struct dma_block *b = malloc(sizeof(*b));

	if (!b)
		return NULL;
	if (ix->num_blocks == ix->max_blocks) {
		npu_u32 max = ix->max_blocks ? 2 * ix->max_blocks : 16;
		struct dma_block **p = realloc(ix->block, max * sizeof(*p));

		if (!p) {
			free(b);
			return NULL;
		}
		ix->block = p;
		ix->max_blocks = max;
	}
	memmove(&ix->block[at + 1], &ix->block[at], (ix->num_blocks - at) * sizeof(*ix->block));
	ix->block[at] = b;
	ix->num_blocks++;
	b->num = 0;
	return b;
}

/* Move the upper half of block @at to a new one behind it; in order, a new one that is empty. */
static struct dma_block *block_split(struct dma_index *ix, npu_u32 at, npu_u32 entry)
{
	struct dma_block *b = ix->block[at], *upper = block_add(ix, at + 1);
	npu_u32 keep = entry == DMA_BLOCK_ENTRIES ? entry : DMA_BLOCK_ENTRIES / 2;

	if (!upper)
		return NULL;
	upper->num = b->num - keep;
	memcpy(upper->entry, &b->entry[keep], upper->num * sizeof(*b->entry));
	b->num = keep;
	return upper;
}

int dma_index_insert(struct dma_index *ix, const struct dma_entry *e)
{
	npu_u32 at = block_find(ix, e->first), i;
	struct dma_block *b;

	/* Behind all of them: at the end of the last block. */
	if (at == ix->num_blocks && at)
		at--;
	b = ix->num_blocks ? ix->block[at] : block_add(ix, 0);
	if (!b)
		return -ENOMEM;
	i = entry_find(b, e->first);
	if (b->num == DMA_BLOCK_ENTRIES) {
		struct dma_block *upper = block_split(ix, at, i);

		if (!upper)
			return -ENOMEM;
		if (i >= b->num) {
			i -= b->num;
			b = upper;
		}
	}
	memmove(&b->entry[i + 1], &b->entry[i], (b->num - i) * sizeof(*b->entry));
	b->entry[i] = *e;
	b->num++;
	return 0;
}

static void block_drop(struct dma_index *ix, npu_u32 at)
{
	free(ix->block[at]);
	ix->num_blocks--;
	memmove(&ix->block[at], &ix->block[at + 1], (ix->num_blocks - at) * sizeof(*ix->block));
}

/* Blocks @at and @at + 1 become one if that leaves room: never are there many near empty. */
static void block_merge(struct dma_index *ix, npu_u32 at)
{
	struct dma_block *b = ix->block[at], *next = ix->block[at + 1];

	if (b->num + next->num > DMA_BLOCK_ENTRIES / 2)
		return;
	memcpy(&b->entry[b->num], next->entry, next->num * sizeof(*b->entry));
	b->num += next->num;
	block_drop(ix, at + 1);
}

void dma_index_remove(struct dma_index *ix, const struct dma_pos *pos)
{
	struct dma_block *b = ix->block[pos->block];

	memmove(&b->entry[pos->entry], &b->entry[pos->entry + 1],
		(b->num - pos->entry - 1) * sizeof(*b->entry));
	if (!--b->num) {
		block_drop(ix, pos->block);
		return;
	}
	if (pos->block + 1 < ix->num_blocks)
		block_merge(ix, pos->block);
	if (pos->block)
		block_merge(ix, pos->block - 1);
}
