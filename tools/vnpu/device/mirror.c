// SPDX-License-Identifier: MIT
/*
 * Mirrors: guest pages that lie scattered in the host, mapped in a row as a context sees them. A
 * window is a range of host addresses for 16 GiB of a context's address space, and for the 16 GiB
 * behind them, so that what begins in it fits in; pages are mapped into it when they are first
 * needed in a row, and stay until their translation goes.
 *
 * A process may have so many mappings only. When they run out, windows that nobody uses are taken
 * down; when that does not help there is no view, and the caller copies.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "core.h"
#include "tlb.h"

#define WINDOW_SHIFT	34
#define WINDOW_BYTES	(2ull << WINDOW_SHIFT)
#define MAX_WINDOWS	64u
#define MAX_RUNS	16u

struct npu_mirror_window {
	struct npu_mirror_window *next;
	npu_u64 index;			/* address >> WINDOW_SHIFT */
	char *base;
	unsigned int pieces;		/* mappings since it was made: no more than these exist */
	npu_u64 live;			/* pages that it shows */
};

static struct npu_mirror_window *window_find(struct npu_mmu_context *c, npu_u64 index)
{
	struct npu_mirror_window *w = c->windows;

	while (w && w->index != index)
		w = w->next;
	return w;
}

static char *window_at(const struct npu_mirror_window *w, npu_u64 va)
{
	return w->base + (va - (w->index << WINDOW_SHIFT));
}

/* Which of the two windows that can show a chunk @w is. */
static unsigned int window_side(const struct npu_mirror_window *w, npu_u64 tag)
{
	return (unsigned int)((tag >> (WINDOW_SHIFT - NPU_CHUNK_SHIFT)) - w->index);
}

static char *window_reserve(void *at)
{
	char *p = mmap(at, WINDOW_BYTES, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void window_free(struct npu_mmu *mmu, struct npu_mirror_window *w)
{
	munmap(w->base, WINDOW_BYTES);
	atomic_fetch_sub_explicit(&mmu->num_pieces, w->pieces, memory_order_relaxed);
	atomic_fetch_sub_explicit(&mmu->num_windows, 1, memory_order_relaxed);
	free(w);
}

/* Nothing is mapped in @w any more, as far as the chunks know. */
static void window_forget(struct npu_mmu_context *c, const struct npu_mirror_window *w)
{
	struct npu_tlb_chunk *chunk;
	unsigned int b, side;

	for (b = 0; c->bucket && b < NPU_TLB_BUCKETS; b++) {
		for (chunk = c->bucket[b]; chunk; chunk = chunk->next) {
			side = window_side(w, chunk->tag);
			if (side > 1)
				continue;
			memset(&chunk->mapped[side], 0, sizeof(chunk->mapped[side]));
			memset(&chunk->stale[side], 0, sizeof(chunk->stale[side]));
		}
	}
}

/* Take down the windows of @c that no hold lies in, but for @keep; only the @worn ones? */
static void windows_trim(struct npu_mmu *mmu, struct npu_mmu_context *c,
			 const struct npu_mirror_window *keep, bool worn)
{
	struct npu_mirror_window *w, **at = &c->windows;

	while ((w = *at)) {
		if (w == keep || (worn && w->pieces <= 2 * w->live + mmu->max_pieces / 8) ||
		    npu_mmu_held(mmu, c, w->index << WINDOW_SHIFT, WINDOW_BYTES, false)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		window_forget(c, w);
		window_free(mmu, w);
	}
}

void npu_mirror_renew(struct npu_mmu *mmu, struct npu_mmu_context *c)
{
	if (c->windows)
		windows_trim(mmu, c, NULL, true);
}

/* Of all contexts; of others only if nobody is at work there: one lock is held already. */
static void windows_trim_all(struct npu_mmu *mmu, struct npu_mmu_context *c,
			     const struct npu_mirror_window *keep)
{
	struct npu_mmu_context *other;

	windows_trim(mmu, c, keep, false);
	for (other = mmu->context; other < mmu->context + NPU_HW_MAX_CONTEXTS; other++) {
		if (other == c || !atomic_load(&other->active) ||
		    pthread_mutex_trylock(&other->lock))
			continue;
		windows_trim(mmu, other, NULL, false);
		pthread_mutex_unlock(&other->lock);
	}
}

static struct npu_mirror_window *window_get(struct npu_mmu *mmu, struct npu_mmu_context *c,
					    npu_u64 index)
{
	struct npu_mirror_window *w = window_find(c, index);

	if (w)
		return w;
	if (atomic_load(&mmu->num_windows) >= MAX_WINDOWS)
		windows_trim_all(mmu, c, NULL);
	if (atomic_load(&mmu->num_windows) >= MAX_WINDOWS)
		return NULL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->index = index;
	w->base = window_reserve(NULL);
	if (!w->base) {
		free(w);
		return NULL;
	}
	w->next = c->windows;
	c->windows = w;
	atomic_fetch_add(&mmu->num_windows, 1);
	return w;
}

/* Room for @n more mappings. */
static bool pieces_take(struct npu_mmu *mmu, struct npu_mmu_context *c,
			struct npu_mirror_window *w, unsigned int n)
{
	if (atomic_load(&mmu->num_pieces) + n > mmu->max_pieces)
		windows_trim_all(mmu, c, w);
	if (atomic_load(&mmu->num_pieces) + n > mmu->max_pieces)
		return false;
	atomic_fetch_add(&mmu->num_pieces, n);
	w->pieces += n;
	return true;
}

/* Pages @i to @i + @n - 1 of @chunk, whose DMA addresses are in a row. */
static bool map_row(struct npu_mmu *mmu, struct npu_mmu_context *c, struct npu_mirror_window *w,
		    struct npu_tlb_chunk *chunk, unsigned int i, unsigned int n)
{
	npu_u64 iova = npu_tlb_page(chunk, i).entry & NPU_PTE_ADDR, size = n * NPU_PAGE_SIZE;
	char *at = window_at(w, (chunk->tag << NPU_CHUNK_SHIFT) + i * NPU_PAGE_SIZE);
	struct npu_vdev *dev = mmu->core->dev;
	struct npu_vdev_run run[MAX_RUNS];
	struct npu_vdev_pin pin;
	int k, num, prot;

	while (size) {
		num = npu_vdev_dma_acquire(dev, iova, size, NPU_ACCESS_READ, &pin, run, MAX_RUNS,
					   NULL);
		if (num < 0)
			return false;
		for (k = 0; k < num; k++) {
			prot = PROT_READ | (run[k].writable ? PROT_WRITE : 0);
			if (run[k].fd < 0 || !pieces_take(mmu, c, w, 1) ||
			    mmap(at, run[k].size, prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
				 run[k].fd, (off_t)run[k].offset) == MAP_FAILED)
				break;
			at += run[k].size;
			iova += run[k].size;
			size -= run[k].size;
		}
		npu_vdev_dma_release(dev, &pin);
		if (k < num)
			return false;
	}
	return true;
}

/* Is there a page among these whose old translation a doomed hold uses by way of the window? */
static bool old_in_use(struct npu_mmu *mmu, struct npu_mmu_context *c,
		       const struct npu_tlb_chunk *chunk, unsigned int side, unsigned int i,
		       unsigned int n)
{
	npu_u64 va = chunk->tag << NPU_CHUNK_SHIFT;
	unsigned int k;

	for (k = i; k < i + n; k++)
		if (npu_bit_get(&chunk->stale[side], k) &&
		    npu_mmu_held(mmu, c, va + k * NPU_PAGE_SIZE, NPU_PAGE_SIZE, true))
			return true;
	return false;
}

/* Pages @first to @last of @chunk, all known. False: not in a row, or there is no room. */
static bool map_chunk(struct npu_mmu *mmu, struct npu_mmu_context *c, struct npu_mirror_window *w,
		      struct npu_tlb_chunk *chunk, unsigned int first, unsigned int last)
{
	unsigned int side = window_side(w, chunk->tag), i, n, k;
	npu_u64 entry;

	for (i = first; i <= last; i += n) {
		n = 1;
		if (npu_bit_get(&chunk->mapped[side], i))
			continue;
		entry = npu_tlb_page(chunk, i).entry;
		while (i + n <= last && !npu_bit_get(&chunk->mapped[side], i + n) &&
		       (npu_tlb_page(chunk, i + n).entry & NPU_PTE_ADDR) ==
			       (entry & NPU_PTE_ADDR) + n * NPU_PAGE_SIZE)
			n++;
		if (!entry || old_in_use(mmu, c, chunk, side, i, n) ||
		    !map_row(mmu, c, w, chunk, i, n))
			return false;
		for (k = i; k < i + n; k++) {
			npu_bit_put(&chunk->mapped[side], k, true);
			npu_bit_put(&chunk->stale[side], k, false);
		}
		w->live += n;
	}
	return true;
}

bool npu_mirror_map(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 start, npu_u64 va,
		    npu_u64 size)
{
	struct npu_mirror_window *w = window_get(mmu, c, start >> WINDOW_SHIFT);
	npu_u64 at = va, end = va + size, stop;
	struct npu_tlb_chunk *chunk;
	unsigned int first, last;

	for (; w && at < end; at = stop) {
		stop = (at | (NPU_CHUNK_SIZE - 1)) + 1;
		if (stop > end)
			stop = end;
		chunk = npu_tlb_find(c, at >> NPU_CHUNK_SHIFT);
		first = (unsigned int)(at / NPU_PAGE_SIZE % NPU_CHUNK_PAGES);
		last = (unsigned int)((stop - 1) / NPU_PAGE_SIZE % NPU_CHUNK_PAGES);
		if (!chunk || !map_chunk(mmu, c, w, chunk, first, last))
			return false;
	}
	return w;
}

char *npu_mirror_find(struct npu_mmu_context *c, npu_u64 va, npu_u64 size)
{
	struct npu_mirror_window *w = window_find(c, va >> WINDOW_SHIFT);
	npu_u64 page = va / NPU_PAGE_SIZE, last = (va + size - 1) / NPU_PAGE_SIZE;
	struct npu_tlb_chunk *chunk = NULL;
	const npu_u64 *word;
	unsigned int bit;

	if (!w)
		return NULL;
	while (page <= last) {
		bit = (unsigned int)(page % NPU_CHUNK_PAGES);
		if (!chunk || !bit)
			chunk = npu_tlb_find(c, page / NPU_CHUNK_PAGES);
		if (!chunk)
			return NULL;
		word = chunk->mapped[window_side(w, chunk->tag)].word;
		if (!(bit % 64) && last - page >= 63 && word[bit / 64] == ~0ull) {
			page += 64;
			continue;
		}
		if (!(word[bit / 64] >> (bit % 64) & 1))
			return NULL;
		page++;
	}
	return window_at(w, va);
}

static void unmap_pages(struct npu_mmu *mmu, struct npu_mirror_window *w, npu_u64 va, npu_u64 size)
{
	/* Fails when mappings have run out; the pages are not looked at any more either way. */
	if (mmap(window_at(w, va), size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return;
	w->pieces++;
	atomic_fetch_add(&mmu->num_pieces, 1);
}

/* Pages @i on of @chunk that nobody uses any more. Returns how many were looked at. */
static unsigned int sweep_row(struct npu_mmu *mmu, struct npu_mmu_context *c,
			      struct npu_mirror_window *w, struct npu_tlb_chunk *chunk,
			      unsigned int i)
{
	struct npu_chunk_bits *stale = &chunk->stale[window_side(w, chunk->tag)];
	npu_u64 va = chunk->tag << NPU_CHUNK_SHIFT;
	unsigned int n = 0;

	while (i + n < NPU_CHUNK_PAGES && npu_bit_get(stale, i + n) &&
	       !npu_mmu_held(mmu, c, va + (i + n) * NPU_PAGE_SIZE, NPU_PAGE_SIZE, true))
		npu_bit_put(stale, i + n++, false);
	if (n)
		unmap_pages(mmu, w, va + i * NPU_PAGE_SIZE, n * NPU_PAGE_SIZE);
	return n ? n : 1;
}

void npu_mirror_sweep(struct npu_mmu *mmu, struct npu_mmu_context *c, struct npu_tlb_chunk *chunk)
{
	npu_u64 index = chunk->tag >> (WINDOW_SHIFT - NPU_CHUNK_SHIFT);
	struct npu_mirror_window *w;
	unsigned int side, i;

	for (side = 0; side < 2; side++) {
		w = window_find(c, index - side);
		for (i = 0; w && i < NPU_CHUNK_PAGES;)
			i += sweep_row(mmu, c, w, chunk, i);
	}
}

void npu_mirror_drop(struct npu_mmu *mmu, struct npu_mmu_context *c, struct npu_tlb_chunk *chunk,
		     unsigned int first, unsigned int last)
{
	npu_u64 index = chunk->tag >> (WINDOW_SHIFT - NPU_CHUNK_SHIFT);
	struct npu_mirror_window *w;
	unsigned int side, i;

	for (side = 0; side < 2; side++) {
		w = window_find(c, index - side);
		for (i = first; w && i <= last; i++) {
			if (!npu_bit_get(&chunk->mapped[side], i))
				continue;
			w->live--;
			npu_bit_put(&chunk->mapped[side], i, false);
			npu_bit_put(&chunk->stale[side], i, true);
			atomic_store_explicit(&mmu->stale, true, memory_order_relaxed);
		}
	}
}

struct npu_mirror_window *npu_mirror_detach(struct npu_mmu_context *c)
{
	struct npu_mirror_window *list = c->windows;

	c->windows = NULL;
	return list;
}

void npu_mirror_free(struct npu_mmu *mmu, struct npu_mirror_window *list)
{
	struct npu_mirror_window *next;

	for (; list; list = next) {
		next = list->next;
		window_free(mmu, list);
	}
}
