// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page tables: 4 levels, 4 KiB and 2 MiB pages. Changing them is done in two steps, so that what
 * could fail has been done before anything is taken away: npu_pt_prepare() allocates the tables
 * that npu_pt_map() will need, npu_pt_prepare_unmap() splits the large pages that npu_pt_unmap()
 * will cut.
 */
#include <linux/dma-mapping.h>
#include <linux/dmapool.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "npu_device.h"
#include "npu_mmu.h"
#include "npu_pt.h"

#define NPU_PT_LARGE	SZ_2M
#define NPU_PT_SMALL	SZ_4K

static unsigned int npu_pt_index(u64 va, u32 level)
{
	return va >> NPU_MMU_SHIFT(level) & (NPU_MMU_ENTRIES - 1);
}

static struct npu_pt_table *npu_pt_table_alloc(struct npu_pt *pt, u32 level)
{
	struct npu_pt_table *table;

	table = kzalloc_obj(*table, GFP_KERNEL_ACCOUNT);
	if (!table)
		return NULL;

	table->level = level;
	if (level) {
		table->child = kcalloc(NPU_MMU_ENTRIES, sizeof(*table->child), GFP_KERNEL_ACCOUNT);
		if (!table->child)
			goto err_free_table;
	}

	/* The pool keeps what is given back: it is whoever made it grow that pays. */
	table->entries = dma_pool_zalloc(pt->npu->mmu.pool, GFP_KERNEL_ACCOUNT, &table->dma);
	if (!table->entries)
		goto err_free_child;

	return table;

err_free_child:
	kfree(table->child);
err_free_table:
	kfree(table);
	return NULL;
}

static void npu_pt_table_free(struct npu_pt *pt, struct npu_pt_table *table)
{
	dma_pool_free(pt->npu->mmu.pool, table->entries, table->dma);
	kfree(table->child);
	kfree(table);
}

static void npu_pt_tree_free(struct npu_pt *pt, struct npu_pt_table *table)
{
	unsigned int i;

	for (i = 0; table->child && i < NPU_MMU_ENTRIES; i++) {
		if (table->child[i])
			npu_pt_tree_free(pt, table->child[i]);
	}
	npu_pt_table_free(pt, table);
}

static void npu_pt_set(struct npu_pt_table *table, unsigned int i, u64 entry)
{
	bool was = table->entries[i] & NPU_PTE_VALID, is = entry & NPU_PTE_VALID;

	table->used += is - was;
	WRITE_ONCE(table->entries[i], entry);
}

static void npu_pt_link(struct npu_pt_table *table, unsigned int i, struct npu_pt_table *child)
{
	/* What is in the child must be there before the child is. */
	dma_wmb();
	table->child[i] = child;
	npu_pt_set(table, i, child->dma | NPU_PTE_VALID);
}

/**
 * npu_pt_gather_init() - start with nothing to invalidate
 * @gather: it
 */
void npu_pt_gather_init(struct npu_pt_gather *gather)
{
	gather->start = U64_MAX;
	gather->end = 0;
	INIT_LIST_HEAD(&gather->tables);
}

static void npu_pt_gather_range(struct npu_pt_gather *gather, u64 va, u64 size)
{
	gather->start = min(gather->start, va);
	gather->end = max(gather->end, va + size);
}

/**
 * npu_pt_gather_flush() - invalidate what was gathered, then free the tables
 * @pt: page tables
 * @gather: it; empty afterwards
 *
 * When it returns no access by what was unmapped is under way.
 */
void npu_pt_gather_flush(struct npu_pt *pt, struct npu_pt_gather *gather)
{
	struct npu_pt_table *table, *next;

	if (gather->end > gather->start)
		npu_mmu_invalidate(pt->npu, pt->context, gather->start,
				   gather->end - gather->start);

	list_for_each_entry_safe(table, next, &gather->tables, node)
		npu_pt_table_free(pt, table);
	npu_pt_gather_init(gather);
}

int npu_pt_init(struct npu_pt *pt, struct npu_device *npu, u32 context)
{
	pt->npu = npu;
	pt->context = context;
	pt->root = npu_pt_table_alloc(pt, NPU_MMU_LEVELS - 1);

	return pt->root ? 0 : -ENOMEM;
}

/* The device must not know the root any more. */
void npu_pt_fini(struct npu_pt *pt)
{
	if (pt->root)
		npu_pt_tree_free(pt, pt->root);
	pt->root = NULL;
}

/* Value for the root register. */
u64 npu_pt_root(const struct npu_pt *pt)
{
	return pt->root->dma | NPU_ROOT_VALID;
}

/* The table of level 1 that covers @va, NULL where there is none. */
static struct npu_pt_table *npu_pt_find(struct npu_pt *pt, u64 va)
{
	struct npu_pt_table *table = pt->root;

	while (table && table->level > 1)
		table = table->child[npu_pt_index(va, table->level)];

	return table;
}

static struct npu_pt_table *npu_pt_find_or_alloc(struct npu_pt *pt, u64 va)
{
	struct npu_pt_table *table = pt->root, *child;
	unsigned int i;

	while (table->level > 1) {
		i = npu_pt_index(va, table->level);
		child = table->child[i];
		if (!child) {
			child = npu_pt_table_alloc(pt, table->level - 1);
			if (!child)
				return NULL;
			npu_pt_link(table, i, child);
		}
		table = child;
	}

	return table;
}

/* Replace a large page by a table that says the same. */
static int npu_pt_split(struct npu_pt *pt, struct npu_pt_table *table, unsigned int i)
{
	u64 entry = table->entries[i];
	struct npu_pt_table *child;
	unsigned int k;

	child = npu_pt_table_alloc(pt, 0);
	if (!child)
		return -ENOMEM;

	for (k = 0; k < NPU_MMU_ENTRIES; k++)
		npu_pt_set(child, k, entry + k * NPU_PT_SMALL);
	npu_pt_link(table, i, child);

	return 0;
}

static bool npu_pt_is_large(const struct npu_pt_table *table, unsigned int i)
{
	return table->entries[i] & NPU_PTE_LEAF;
}

static int npu_pt_split_at(struct npu_pt *pt, u64 va)
{
	struct npu_pt_table *table;
	unsigned int i = npu_pt_index(va, 1);

	if (IS_ALIGNED(va, NPU_PT_LARGE))
		return 0;

	table = npu_pt_find(pt, va);
	if (!table || !npu_pt_is_large(table, i))
		return 0;

	return npu_pt_split(pt, table, i);
}

typedef int (*npu_pt_chunk_fn)(struct npu_pt *pt, u64 va, u64 dma, u64 size, bool large,
			       void *arg);

/* Call @fn for pieces that are a large page, or small ones within one table of level 0. */
static int npu_pt_chunks(struct npu_pt *pt, u64 va, u64 size, struct sg_table *sgt, u64 offset,
			 npu_pt_chunk_fn fn, void *arg)
{
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		u64 dma = sg_dma_address(sg), length = sg_dma_len(sg), chunk;

		if (offset >= length) {
			offset -= length;
			continue;
		}
		dma += offset;
		length = min(length - offset, size);
		offset = 0;
		for (; length; va += chunk, dma += chunk, length -= chunk, size -= chunk) {
			bool large = IS_ALIGNED(va | dma, NPU_PT_LARGE) && length >= NPU_PT_LARGE;

			chunk = large ? NPU_PT_LARGE :
				min(length, ALIGN_DOWN(va, NPU_PT_LARGE) + NPU_PT_LARGE - va);
			ret = fn(pt, va, dma, chunk, large, arg);
			if (ret)
				return ret;
		}
		if (!size)
			return 0;
	}

	return size ? -EINVAL : 0;
}

static int npu_pt_prepare_chunk(struct npu_pt *pt, u64 va, u64 dma, u64 size, bool large, void *arg)
{
	struct npu_pt_table *table = npu_pt_find_or_alloc(pt, va), *child;
	unsigned int i = npu_pt_index(va, 1);

	if (!table)
		return -ENOMEM;
	if (large || table->child[i])
		return 0;
	if (npu_pt_is_large(table, i))
		return npu_pt_split(pt, table, i);

	child = npu_pt_table_alloc(pt, 0);
	if (!child)
		return -ENOMEM;
	npu_pt_link(table, i, child);

	return 0;
}

/**
 * npu_pt_prepare_unmap() - make npu_pt_unmap() of this range possible, without changing what is
 * mapped
 * @pt: page tables
 * @va: first address
 * @size: bytes
 *
 * Return: 0 or -ENOMEM.
 */
int npu_pt_prepare_unmap(struct npu_pt *pt, u64 va, u64 size)
{
	int ret;

	ret = npu_pt_split_at(pt, va);
	if (!ret)
		ret = npu_pt_split_at(pt, va + size);

	return ret;
}

/**
 * npu_pt_prepare() - make npu_pt_map() of this range possible, without changing what is mapped
 * @pt: page tables
 * @va: first address
 * @size: bytes
 * @sgt: memory, mapped for DMA
 * @offset: of the first byte in it
 *
 * Return: 0, -ENOMEM, or -EINVAL when @sgt is shorter than it should be. Tables that were made in
 * vain go with npu_pt_prune().
 */
int npu_pt_prepare(struct npu_pt *pt, u64 va, u64 size, struct sg_table *sgt, u64 offset)
{
	int ret;

	ret = npu_pt_prepare_unmap(pt, va, size);
	if (ret)
		return ret;

	return npu_pt_chunks(pt, va, size, sgt, offset, npu_pt_prepare_chunk, NULL);
}

struct npu_pt_map_arg {
	u64 prot;
	struct npu_pt_gather *gather;
};

static int npu_pt_map_chunk(struct npu_pt *pt, u64 va, u64 dma, u64 size, bool large, void *data)
{
	struct npu_pt_table *table = npu_pt_find(pt, va), *child;
	const struct npu_pt_map_arg *arg = data;
	unsigned int i = npu_pt_index(va, 1);
	u64 at;

	child = table->child[i];
	if (large) {
		if (child) {
			table->child[i] = NULL;
			list_add(&child->node, &arg->gather->tables);
			npu_pt_gather_range(arg->gather, va, size);
		}
		npu_pt_set(table, i, dma | arg->prot | NPU_PTE_LEAF | NPU_PTE_VALID);
		return 0;
	}

	for (at = 0; at < size; at += NPU_PT_SMALL)
		npu_pt_set(child, npu_pt_index(va + at, 0),
			   (dma + at) | arg->prot | NPU_PTE_LEAF | NPU_PTE_VALID);

	return 0;
}

/**
 * npu_pt_map() - map memory into a range that npu_pt_prepare() has prepared and that is empty
 * @pt: page tables
 * @va: first address
 * @size: bytes
 * @sgt: memory, mapped for DMA
 * @offset: of the first byte in it
 * @prot: NPU_PTE_READ, NPU_PTE_WRITE, NPU_PTE_EXEC
 * @gather: collects what must be invalidated
 */
void npu_pt_map(struct npu_pt *pt, u64 va, u64 size, struct sg_table *sgt, u64 offset, u64 prot,
		struct npu_pt_gather *gather)
{
	struct npu_pt_map_arg arg = { .prot = prot, .gather = gather };

	npu_pt_chunks(pt, va, size, sgt, offset, npu_pt_map_chunk, &arg);
	dma_wmb();
}

#define NPU_PT_CLEAR	1u	/* invalidate entries */
#define NPU_PT_PRUNE	2u	/* take away tables without a valid entry */

static void npu_pt_walk(struct npu_pt_table *table, u64 va, u64 last, unsigned int what,
			struct npu_pt_gather *gather)
{
	u64 span = 1ull << NPU_MMU_SHIFT(table->level), start = ALIGN_DOWN(va, span);
	unsigned int i = npu_pt_index(va, table->level);
	struct npu_pt_table *child;

	for (; start <= last; start += span, i++) {
		child = table->child ? table->child[i] : NULL;
		if (child) {
			npu_pt_walk(child, max(va, start), min(last, start + span - 1), what,
				    gather);
			if (child->used || !(what & NPU_PT_PRUNE))
				continue;
			table->child[i] = NULL;
			list_add(&child->node, &gather->tables);
		} else if (!(what & NPU_PT_CLEAR) || !(table->entries[i] & NPU_PTE_VALID)) {
			continue;
		}
		npu_pt_gather_range(gather, start, span);
		npu_pt_set(table, i, 0);
	}
}

/**
 * npu_pt_unmap() - remove mappings; tables stay
 * @pt: page tables
 * @va: first address
 * @size: bytes; npu_pt_prepare_unmap() has been here
 * @gather: collects what must be invalidated before memory is freed
 */
void npu_pt_unmap(struct npu_pt *pt, u64 va, u64 size, struct npu_pt_gather *gather)
{
	npu_pt_walk(pt->root, va, va + size - 1, NPU_PT_CLEAR, gather);
	dma_wmb();
}

/**
 * npu_pt_prune() - remove tables of a range that are empty
 * @pt: page tables
 * @va: first address
 * @size: bytes
 * @gather: collects them
 */
void npu_pt_prune(struct npu_pt *pt, u64 va, u64 size, struct npu_pt_gather *gather)
{
	npu_pt_walk(pt->root, va, va + size - 1, NPU_PT_PRUNE, gather);
	dma_wmb();
}
