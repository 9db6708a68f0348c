// SPDX-License-Identifier: MIT
/*
 * Translations that are known, and the walk of the driver's tables that finds them. Tables are
 * guest memory that may change meanwhile: each entry is read once, in one access, and the copy is
 * checked.
 */
#include <stdlib.h>
#include <string.h>
#include "core.h"
#include "tlb.h"

#define PTE_PERMS	(NPU_PTE_READ | NPU_PTE_WRITE | NPU_PTE_EXEC)
#define PTE_KNOWN	(NPU_PTE_ADDR | NPU_PTE_VALID | PTE_PERMS | NPU_PTE_LEAF)

static unsigned int bucket_of(npu_u64 tag)
{
	return (unsigned int)((tag ^ tag >> 10 ^ tag >> 20) % NPU_TLB_BUCKETS);
}

struct npu_tlb_chunk *npu_tlb_find(struct npu_mmu_context *c, npu_u64 tag)
{
	struct npu_tlb_chunk *chunk;

	if (!c->bucket)
		return NULL;
	for (chunk = c->bucket[bucket_of(tag)]; chunk && chunk->tag != tag; chunk = chunk->next)
		;
	return chunk;
}

struct npu_tlb_page npu_tlb_page(const struct npu_tlb_chunk *chunk, unsigned int i)
{
	struct npu_tlb_page page = { 0 };

	if (chunk->large) {
		page.entry = chunk->whole.entry + i * NPU_PAGE_SIZE;
		page.host = chunk->whole.host + i * NPU_PAGE_SIZE;
	} else if (chunk->page) {
		page = chunk->page[i];
	}
	return page;
}

bool npu_tlb_allows(struct npu_mmu *mmu, npu_u64 entry, npu_u32 access)
{
	npu_u64 want = 0;

	if (access & NPU_ACCESS_READ)
		want |= NPU_PTE_READ;
	if (access & NPU_ACCESS_EXEC)
		want |= NPU_PTE_EXEC;
	if (access & NPU_ACCESS_WRITE)
		want |= NPU_PTE_WRITE | NPU_TLB_HOST_WRITE;
	if ((entry & want) == want)
		return true;
	want &= ~NPU_PTE_WRITE;
	return (access & NPU_ACCESS_WRITE) && (entry & want) == want &&
	       npu_vdev_fault_armed(mmu->core->dev, NPU_VDEV_MUTANT_IGNORE_RO);
}

/* ---- chunks ---- */

static void chunk_unlink(struct npu_mmu *mmu, struct npu_mmu_context *c,
			 struct npu_tlb_chunk *chunk)
{
	struct npu_tlb_chunk **at = &c->bucket[bucket_of(chunk->tag)];

	while (*at != chunk)
		at = &(*at)->next;
	*at = chunk->next;
	c->num_chunks--;
	atomic_fetch_sub_explicit(&mmu->num_chunks, 1, memory_order_relaxed);
	free(chunk->page);
	free(chunk);
}

void npu_tlb_free_all(struct npu_mmu *mmu, struct npu_mmu_context *c)
{
	unsigned int b;

	if (!c->bucket)
		return;
	for (b = 0; b < NPU_TLB_BUCKETS; b++)
		while (c->bucket[b])
			chunk_unlink(mmu, c, c->bucket[b]);
	free(c->bucket);
	c->bucket = NULL;
	atomic_store(&c->active, false);
}

/* ---- forgetting ---- */

static bool is_stale(const struct npu_tlb_chunk *chunk)
{
	static const struct npu_chunk_bits none;

	return memcmp(&chunk->stale[0], &none, sizeof(none)) ||
	       memcmp(&chunk->stale[1], &none, sizeof(none));
}

/* Frees the chunk when nothing is left of it. */
static void chunk_drop(struct npu_mmu *mmu, struct npu_mmu_context *c, struct npu_tlb_chunk *chunk,
		       unsigned int first, unsigned int last)
{
	if (npu_tlb_is_one(chunk)) {
		/* Not waited for, if they are made by others; but mirrors of these go, too. */
		npu_mmu_doom(mmu, c, chunk->tag << NPU_CHUNK_SHIFT, NPU_CHUNK_SIZE,
			     NPU_DOOMED_INV);
		chunk->large = chunk->split = false;
		first = 0;
		last = NPU_CHUNK_PAGES - 1;
	}
	if (chunk->page)
		memset(chunk->page + first, 0, (last - first + 1) * sizeof(*chunk->page));
	npu_mirror_drop(mmu, c, chunk, first, last);
	if (first || last < NPU_CHUNK_PAGES - 1)
		return;
	chunk->first = UINT64_MAX;
	chunk->last = 0;
	if (!is_stale(chunk))
		chunk_unlink(mmu, c, chunk);
}

static bool is_empty(const struct npu_tlb_chunk *chunk)
{
	unsigned int i;

	for (i = 0; i < NPU_CHUNK_PAGES; i++)
		if (npu_tlb_page(chunk, i).entry)
			return false;
	return !is_stale(chunk);
}

void npu_tlb_sweep(struct npu_mmu *mmu, struct npu_mmu_context *c)
{
	struct npu_tlb_chunk *chunk, *next;
	unsigned int b;

	for (b = 0; b < NPU_TLB_BUCKETS; b++) {
		pthread_mutex_lock(&c->lock);
		for (chunk = c->bucket ? c->bucket[b] : NULL; chunk; chunk = next) {
			next = chunk->next;
			if (!is_stale(chunk))
				continue;
			npu_mirror_sweep(mmu, c, chunk);
			if (is_empty(chunk))
				chunk_unlink(mmu, c, chunk);
		}
		pthread_mutex_unlock(&c->lock);
	}
}

void npu_tlb_drop_va(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 va, npu_u64 size)
{
	npu_u64 tag = va >> NPU_CHUNK_SHIFT, stop = va + (size - 1), end = stop >> NPU_CHUNK_SHIFT;
	unsigned int b, first, last;
	struct npu_tlb_chunk *chunk, *next;
	bool all = end - tag >= c->num_chunks;

	/* By what there is, or by what is asked for, whichever is less. */
	for (b = 0; c->bucket && all && b < NPU_TLB_BUCKETS; b++) {
		for (chunk = c->bucket[b]; chunk; chunk = next) {
			next = chunk->next;
			if (chunk->tag < tag || chunk->tag > end)
				continue;
			first = chunk->tag > tag ? 0 : va / NPU_PAGE_SIZE % NPU_CHUNK_PAGES;
			last = chunk->tag < end ? NPU_CHUNK_PAGES - 1 :
						  stop / NPU_PAGE_SIZE % NPU_CHUNK_PAGES;
			chunk_drop(mmu, c, chunk, first, last);
		}
	}
	for (; !all && tag <= end; tag++) {
		chunk = npu_tlb_find(c, tag);
		first = tag > va >> NPU_CHUNK_SHIFT ? 0 : va / NPU_PAGE_SIZE % NPU_CHUNK_PAGES;
		last = tag < end ? NPU_CHUNK_PAGES - 1 : stop / NPU_PAGE_SIZE % NPU_CHUNK_PAGES;
		if (chunk)
			chunk_drop(mmu, c, chunk, first, last);
	}
}

static bool page_leads_to(const struct npu_tlb_chunk *chunk, unsigned int i, npu_u64 first,
			  npu_u64 last)
{
	npu_u64 entry = npu_tlb_page(chunk, i).entry, iova = entry & NPU_PTE_ADDR;

	return entry && iova <= last && iova + (NPU_PAGE_SIZE - 1) >= first;
}

static void chunk_drop_dma(struct npu_mmu *mmu, struct npu_mmu_context *c,
			   struct npu_tlb_chunk *chunk, npu_u64 first, npu_u64 last)
{
	npu_u64 va = chunk->tag << NPU_CHUNK_SHIFT;
	unsigned int i, n;

	if (chunk->large || (chunk->first >= first && chunk->last <= last)) {
		npu_mmu_doom(mmu, c, va, NPU_CHUNK_SIZE, NPU_DOOMED_UNMAP);
		chunk_drop(mmu, c, chunk, 0, NPU_CHUNK_PAGES - 1);
		return;
	}
	for (i = 0; i < NPU_CHUNK_PAGES; i += n) {
		n = 1;
		if (!page_leads_to(chunk, i, first, last))
			continue;
		while (i + n < NPU_CHUNK_PAGES && page_leads_to(chunk, i + n, first, last))
			n++;
		if (chunk->split) {
			i = 0;
			n = NPU_CHUNK_PAGES;
		}
		npu_mmu_doom(mmu, c, va + i * NPU_PAGE_SIZE, n * NPU_PAGE_SIZE, NPU_DOOMED_UNMAP);
		/* Part of a chunk: it is not freed. */
		chunk_drop(mmu, c, chunk, i, i + n - 1);
		if (n == NPU_CHUNK_PAGES)
			return;
	}
}

void npu_tlb_drop_dma(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 first, npu_u64 last)
{
	struct npu_tlb_chunk *chunk, *next;
	unsigned int b;

	for (b = 0; c->bucket && b < NPU_TLB_BUCKETS; b++) {
		for (chunk = c->bucket[b]; chunk; chunk = next) {
			next = chunk->next;
			if (chunk->first <= last && chunk->last >= first)
				chunk_drop_dma(mmu, c, chunk, first, last);
		}
	}
}

/* There is no room for one more chunk: let those go that nobody uses. */
static void chunks_evict(struct npu_mmu *mmu, struct npu_mmu_context *c)
{
	struct npu_tlb_chunk *chunk, *next;
	unsigned int b;

	for (b = 0; b < NPU_TLB_BUCKETS; b++) {
		for (chunk = c->bucket[b]; chunk; chunk = next) {
			next = chunk->next;
			if (npu_mmu_held(mmu, c, chunk->tag << NPU_CHUNK_SHIFT, NPU_CHUNK_SIZE,
					 false))
				continue;
			npu_mirror_drop(mmu, c, chunk, 0, NPU_CHUNK_PAGES - 1);
			npu_mirror_sweep(mmu, c, chunk);
			chunk_unlink(mmu, c, chunk);
		}
	}
}

static struct npu_tlb_chunk *chunk_get(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 tag)
{
	struct npu_tlb_chunk *chunk = npu_tlb_find(c, tag);

	if (chunk)
		return chunk;
	if (!c->bucket) {
		c->bucket = calloc(NPU_TLB_BUCKETS, sizeof(struct npu_tlb_chunk *));
		if (!c->bucket)
			return NULL;
		atomic_store(&c->active, true);
	}
	if (atomic_load_explicit(&mmu->num_chunks, memory_order_relaxed) >= mmu->max_chunks)
		chunks_evict(mmu, c);
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return NULL;
	chunk->tag = tag;
	chunk->first = UINT64_MAX;
	chunk->next = c->bucket[bucket_of(tag)];
	c->bucket[bucket_of(tag)] = chunk;
	c->num_chunks++;
	atomic_fetch_add_explicit(&mmu->num_chunks, 1, memory_order_relaxed);
	return chunk;
}

/* ---- the walk ---- */

/* A table's entry: 0 when it is not valid, malformed or not readable. */
static npu_u64 entry_read(struct npu_mmu *mmu, npu_u64 table, npu_u64 va, unsigned int level)
{
	npu_u64 at = table + (va >> NPU_MMU_SHIFT(level)) % NPU_MMU_ENTRIES * 8, entry;

	if (npu_vdev_dma_load64(mmu->core->dev, at, &entry, NULL)) {
		npu_vdev_dma_report(mmu->core->dev, at, NPU_ACCESS_READ);
		return 0;
	}
	if (!(entry & NPU_PTE_VALID) || (entry & ~PTE_KNOWN))
		return 0;
	if (!(entry & NPU_PTE_LEAF))
		return level && !(entry & PTE_PERMS) ? entry : 0;
	if (level > 1 || (level == 1 && entry & NPU_PTE_ADDR & (NPU_CHUNK_SIZE - 1)))
		return 0;
	return entry;
}

/* The entry of level 1 for @va, or 0. */
static npu_u64 walk_down(struct npu_mmu *mmu, npu_u64 root, npu_u64 va)
{
	npu_u64 table = root & NPU_PTE_ADDR, entry = 0;
	unsigned int level;

	if (!(root & NPU_ROOT_VALID) || (root & ~(NPU_PTE_ADDR | NPU_ROOT_VALID)))
		return 0;
	for (level = NPU_MMU_LEVELS - 1; level >= 1; level--) {
		entry = entry_read(mmu, table, va, level);
		if (!entry)
			return 0;
		table = entry & NPU_PTE_ADDR;
	}
	return entry;
}

static void page_set(struct npu_tlb_chunk *chunk, struct npu_tlb_page *page, npu_u64 entry,
		     char *host, bool writable, npu_u64 size)
{
	npu_u64 iova = entry & NPU_PTE_ADDR;

	page->entry = entry | (writable ? NPU_TLB_HOST_WRITE : 0);
	page->host = host;
	if (iova < chunk->first)
		chunk->first = iova;
	if (iova + (size - 1) > chunk->last)
		chunk->last = iova + (size - 1);
}

/* As one translation, if the 2 MiB are one piece in the host, too. */
static bool fill_large(struct npu_mmu *mmu, struct npu_tlb_chunk *chunk, npu_u64 entry)
{
	struct npu_vdev *dev = mmu->core->dev;
	struct npu_vdev_pin pin;
	struct npu_vdev_run run;
	bool whole;

	if (npu_vdev_dma_acquire(dev, entry & NPU_PTE_ADDR, NPU_CHUNK_SIZE, NPU_ACCESS_READ, &pin,
				 &run, 1, NULL) < 0)
		return false;
	whole = run.size == NPU_CHUNK_SIZE;
	if (whole) {
		page_set(chunk, &chunk->whole, entry, run.host, run.writable, NPU_CHUNK_SIZE);
		chunk->large = true;
	}
	npu_vdev_dma_release(dev, &pin);
	return whole;
}

#define MAX_RUNS	16u

/*
 * Pages @i on of which @entry says that their DMA addresses are in a row. Returns how many were
 * found in the host; at least one is dealt with.
 */
static unsigned int fill_row(struct npu_mmu *mmu, struct npu_tlb_chunk *chunk,
			     const npu_u64 *entry, unsigned int i, unsigned int n)
{
	npu_u64 iova = entry[i] & NPU_PTE_ADDR, bad = iova, at;
	struct npu_vdev *dev = mmu->core->dev;
	struct npu_vdev_run run[MAX_RUNS];
	struct npu_vdev_pin pin;
	unsigned int done = 0;
	int k, num;

	num = npu_vdev_dma_acquire(dev, iova, n * NPU_PAGE_SIZE, NPU_ACCESS_READ, &pin, run,
				   MAX_RUNS, &bad);
	if (num < 0) {
		if (n > 1)
			return fill_row(mmu, chunk, entry, i, 1);
		npu_vdev_dma_report(dev, bad, NPU_ACCESS_READ);
		return 1;
	}
	for (k = 0; k < num; k++) {
		/* Mappings are made of whole pages. */
		for (at = 0; at + NPU_PAGE_SIZE <= run[k].size; at += NPU_PAGE_SIZE, done++)
			page_set(chunk, &chunk->page[i + done], entry[i + done],
				 (char *)run[k].host + at, run[k].writable, NPU_PAGE_SIZE);
	}
	npu_vdev_dma_release(dev, &pin);
	return done ? done : 1;
}

/* Copies entries @first to @last of a table of level 0; malformed ones become 0. */
static bool table_read(struct npu_mmu *mmu, npu_u64 table, npu_u64 *entry, unsigned int first,
		       unsigned int last)
{
	struct npu_vdev *dev = mmu->core->dev;
	struct npu_vdev_pin pin;
	struct npu_vdev_run run;
	const npu_u64 *p;
	unsigned int i;
	npu_u64 bad = table;

	if (npu_vdev_dma_acquire(dev, table, NPU_PAGE_SIZE, NPU_ACCESS_READ, &pin, &run, 1, &bad) <
	    0) {
		npu_vdev_dma_report(dev, bad, NPU_ACCESS_READ);
		return false;
	}
	p = run.host;
	for (i = first; i <= last && run.size == NPU_PAGE_SIZE; i++) {
		entry[i] = __atomic_load_n(&p[i], __ATOMIC_ACQUIRE);
		if (!(entry[i] & NPU_PTE_VALID) || !(entry[i] & NPU_PTE_LEAF) ||
		    (entry[i] & ~PTE_KNOWN))
			entry[i] = 0;
	}
	npu_vdev_dma_release(dev, &pin);
	return run.size == NPU_PAGE_SIZE;
}

/* @entry is of level 1: a table, or a large page that the host has in pieces. */
static void fill_small(struct npu_mmu *mmu, struct npu_tlb_chunk *chunk, npu_u64 level1,
		       unsigned int first, unsigned int last, npu_u64 *walks)
{
	npu_u64 entry[NPU_CHUNK_PAGES];
	unsigned int i, n;

	if (level1 & NPU_PTE_LEAF) {
		chunk->split = true;
		for (i = first; i <= last; i++)
			entry[i] = level1 + i * NPU_PAGE_SIZE;
	} else if (!table_read(mmu, level1 & NPU_PTE_ADDR, entry, first, last)) {
		return;
	}
	for (i = first; i <= last; i += n) {
		n = 1;
		if (!entry[i] || chunk->page[i].entry)
			continue;
		while (i + n <= last && !chunk->page[i + n].entry &&
		       (entry[i + n] & NPU_PTE_ADDR) ==
			       (entry[i] & NPU_PTE_ADDR) + n * NPU_PAGE_SIZE && entry[i + n])
			n++;
		n = fill_row(mmu, chunk, entry, i, n);
		*walks += n;
	}
}

struct npu_tlb_chunk *npu_tlb_fill(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 tag,
				   unsigned int first, unsigned int last, npu_u64 *walks)
{
	npu_u64 va = tag << NPU_CHUNK_SHIFT, level1;
	struct npu_tlb_chunk *chunk;

	if (atomic_load(&mmu->frozen))
		return NULL;
	level1 = walk_down(mmu, c->root, va);
	if (!level1)
		return NULL;
	chunk = chunk_get(mmu, c, tag);
	if (!chunk || chunk->large)
		return chunk;
	/* Pages that are known already keep their place: the chunk stays one of small pages. */
	if (level1 & NPU_PTE_LEAF && !chunk->page && fill_large(mmu, chunk, level1)) {
		++*walks;
		return chunk;
	}
	if (!chunk->page)
		chunk->page = calloc(NPU_CHUNK_PAGES, sizeof(*chunk->page));
	if (chunk->page)
		fill_small(mmu, chunk, level1, first, last, walks);
	return chunk;
}
