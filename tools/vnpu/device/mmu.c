// SPDX-License-Identifier: MIT
/* What engines and MCU ask of the MMU: views, copies, words; and the forgetting of translations. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core.h"
#include "tlb.h"

/* Chunks of which tables are read before others get a chance at the lock. */
#define LOCK_CHUNKS	16u
#define MAX_TRIES	8u
/* Chunks beside those that engines may hold at once. */
#define SPARE_CHUNKS	8192u

static bool in_range(npu_u64 va, npu_u64 size)
{
	return size && va < 1ull << NPU_MMU_VA_BITS && size <= (1ull << NPU_MMU_VA_BITS) - va;
}

/* Half of what the system allows; the rest is for the transport, libraries and splits. */
static unsigned int pieces_limit(void)
{
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned int n = 65530;

	if (f) {
		if (fscanf(f, "%u", &n) != 1)
			n = 65530;
		fclose(f);
	}
	return n / 2;
}

int npu_mmu_init(struct npu_mmu *mmu, struct npu_vdev_core *core)
{
	npu_u32 span = NPU_MMU_MAX_SPAN >> NPU_CHUNK_SHIFT;
	unsigned int i;

	mmu->core = core;
	mmu->max_chunks = SPARE_CHUNKS + core->config.engines * span;
	mmu->max_pieces = pieces_limit();
	for (i = 0; i < NPU_HW_MAX_CONTEXTS; i++) {
		pthread_mutex_init(&mmu->context[i].lock, NULL);
		pthread_cond_init(&mmu->context[i].idle, NULL);
	}
	return 0;
}

void npu_mmu_reset(struct npu_mmu *mmu)
{
	struct npu_mirror_window *windows;
	struct npu_mmu_context *c;

	for (c = mmu->context; c < mmu->context + NPU_HW_MAX_CONTEXTS; c++) {
		pthread_mutex_lock(&c->lock);
		windows = npu_mirror_detach(c);
		npu_tlb_free_all(mmu, c);
		c->root = 0;
		atomic_store(&c->root_reg, 0);
		pthread_mutex_unlock(&c->lock);
		npu_mirror_free(mmu, windows);
	}
}

void npu_mmu_fini(struct npu_mmu *mmu)
{
	unsigned int i;

	npu_mmu_reset(mmu);
	for (i = 0; i < NPU_HW_MAX_CONTEXTS; i++) {
		pthread_mutex_destroy(&mmu->context[i].lock);
		pthread_cond_destroy(&mmu->context[i].idle);
	}
}

/* The transport and invalidations come first. */
static void lock_first(struct npu_mmu_context *c)
{
	atomic_fetch_add(&c->waiters, 1);
	pthread_mutex_lock(&c->lock);
	atomic_fetch_sub(&c->waiters, 1);
}

static void give_way(struct npu_mmu_context *c)
{
	pthread_mutex_unlock(&c->lock);
	while (atomic_load(&c->waiters))
		sched_yield();
	pthread_mutex_lock(&c->lock);
}

/* ---- holds ---- */

static bool holds(const struct npu_mmu_hold *h, npu_u64 va, npu_u64 size)
{
	return !h->copy && h->first <= va + (size - 1) && va <= h->last;
}

static npu_u32 context_number(const struct npu_mmu *mmu, const struct npu_mmu_context *c)
{
	return (npu_u32)(c - mmu->context);
}

bool npu_mmu_held(struct npu_mmu *mmu, const struct npu_mmu_context *c, npu_u64 va, npu_u64 size,
		  bool doomed)
{
	struct npu_mmu_client *client;
	unsigned int i, k;

	for (i = 0; i < NPU_HW_MAX_ENGINES; i++) {
		client = mmu->client[i];
		if (!client || atomic_load(&client->context) != context_number(mmu, c))
			continue;
		for (k = 0; k < client->num_holds; k++)
			if ((!doomed || client->hold[k].doomed) &&
			    holds(&client->hold[k], va, size))
				return true;
	}
	return false;
}

static void hold_doom(struct npu_mmu_client *client, struct npu_mmu_hold *h, npu_u32 why)
{
	h->doomed |= why;
	if (why == NPU_DOOMED_UNMAP)
		client->stop(client->ctx);
}

void npu_mmu_doom(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 va, npu_u64 size,
		  npu_u32 why)
{
	struct npu_mmu_client *client;
	unsigned int i, k;

	for (i = 0; i < NPU_HW_MAX_ENGINES; i++) {
		client = mmu->client[i];
		if (!client || atomic_load(&client->context) != context_number(mmu, c))
			continue;
		for (k = 0; k < client->num_holds; k++)
			if (holds(&client->hold[k], va, size))
				hold_doom(client, &client->hold[k], why);
	}
}

/* Is there a hold that was doomed for @why, in [va, va + size)? */
static bool is_doomed(struct npu_mmu *mmu, const struct npu_mmu_context *c, npu_u64 va,
		      npu_u64 size, npu_u32 why)
{
	struct npu_mmu_client *client;
	unsigned int i, k;

	for (i = 0; i < NPU_HW_MAX_ENGINES; i++) {
		client = mmu->client[i];
		if (!client || atomic_load(&client->context) != context_number(mmu, c))
			continue;
		for (k = 0; k < client->num_holds; k++)
			if (client->hold[k].doomed & why && holds(&client->hold[k], va, size))
				return true;
	}
	return false;
}

/*
 * DMA addresses [first, last] go away. Translations that lead there find the holds that use them,
 * but those of a hold that an invalidation waits for have been forgotten: it has their bounds.
 */
static void doom_forgotten(struct npu_mmu *mmu, const struct npu_mmu_context *c, npu_u64 first,
			   npu_u64 last)
{
	struct npu_mmu_client *client;
	struct npu_mmu_hold *h;
	unsigned int i;

	for (i = 0; i < NPU_HW_MAX_ENGINES; i++) {
		client = mmu->client[i];
		if (!client || atomic_load(&client->context) != context_number(mmu, c))
			continue;
		for (h = client->hold; h < client->hold + client->num_holds; h++)
			if (h->doomed == NPU_DOOMED_INV && h->dma_first <= last &&
			    h->dma_last >= first)
				hold_doom(client, h, NPU_DOOMED_UNMAP);
	}
}

/* ---- looking up ---- */

static void refuse(struct npu_mmu *mmu, npu_u64 va, npu_u64 *bad)
{
	npu_core_count(mmu->core, NPU_COUNTER_MMU_FAULTS, 1);
	if (bad)
		*bad = va;
}

/*
 * A device that is out of its slot reaches no memory, by old translations either: else the firmware
 * would still report the fault of a job that was the first to notice.
 */
static bool is_removed(const struct npu_mmu *mmu)
{
	return npu_vdev_fault_armed(mmu->core->dev, NPU_VDEV_FAULT_REMOVAL);
}

/*
 * Page @va of @c for @access, walking the tables if need be; @last is how far the caller wants to
 * get in the same chunk. entry 0: not allowed.
 */
static struct npu_tlb_page page_get(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 va,
				    npu_u64 last, npu_u32 access, npu_u64 *walks)
{
	unsigned int i = (unsigned int)(va / NPU_PAGE_SIZE % NPU_CHUNK_PAGES), stop;
	struct npu_tlb_chunk *chunk = npu_tlb_find(c, va >> NPU_CHUNK_SHIFT);
	struct npu_tlb_page page = { 0 };

	if (is_removed(mmu))
		return page;
	if (chunk)
		page = npu_tlb_page(chunk, i);
	if (!page.entry) {
		stop = last >> NPU_CHUNK_SHIFT == va >> NPU_CHUNK_SHIFT ?
			       (unsigned int)(last / NPU_PAGE_SIZE % NPU_CHUNK_PAGES) :
			       NPU_CHUNK_PAGES - 1;
		chunk = npu_tlb_fill(mmu, c, va >> NPU_CHUNK_SHIFT, i, stop, walks);
		if (chunk)
			page = npu_tlb_page(chunk, i);
	}
	if (!npu_tlb_allows(mmu, page.entry, access)) {
		if (page.entry & NPU_PTE_WRITE && !(page.entry & NPU_TLB_HOST_WRITE))
			npu_vdev_dma_report(mmu->core->dev, page.entry & NPU_PTE_ADDR, access);
		page.entry = 0;
	}
	return page;
}

/*
 * A mutant's: the context, another than @own, whose table of translations has @va; @own if none.
 */
static npu_u32 context_mixed(struct npu_mmu *mmu, npu_u32 own, npu_u64 va)
{
	struct npu_mmu_context *c;
	struct npu_tlb_chunk *chunk;
	npu_u32 i, found = own;

	for (i = 1; i < NPU_HW_MAX_CONTEXTS && found == own; i++) {
		c = &mmu->context[i];
		if (i == own || !atomic_load(&c->active))
			continue;
		pthread_mutex_lock(&c->lock);
		chunk = npu_tlb_find(c, va >> NPU_CHUNK_SHIFT);
		if (chunk && npu_tlb_page(chunk, va / NPU_PAGE_SIZE % NPU_CHUNK_PAGES).entry)
			found = i;
		pthread_mutex_unlock(&c->lock);
	}
	return found;
}

static void count_lookups(struct npu_mmu *mmu, npu_u64 pages, npu_u64 walks)
{
	if (walks)
		npu_core_count(mmu->core, NPU_COUNTER_PAGE_WALKS, walks);
	if (pages > walks)
		npu_core_count(mmu->core, NPU_COUNTER_TLB_HITS, pages - walks);
}

/* ---- copies and words ---- */

/* Within a page. Called with the lock, under which no translation goes away. */
static int copy_page(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 va, char *buf,
		     npu_u64 size, npu_u32 access, bool store)
{
	npu_u64 walks = 0;
	struct npu_tlb_page page = page_get(mmu, c, va, va, access, &walks);
	char *at;

	count_lookups(mmu, 1, walks);
	if (!page.entry)
		return -EFAULT;
	at = page.host + va % NPU_PAGE_SIZE;
	if (store)
		memcpy(at, buf, size);
	else
		memcpy(buf, at, size);
	return 0;
}

/* @access is what has to be allowed, @store the direction. */
static int transfer(struct npu_mmu *mmu, npu_u32 context, npu_u64 va, void *buf, npu_u64 size,
		    npu_u32 access, bool store, npu_u64 *bad)
{
	struct npu_mmu_context *c = &mmu->context[context];
	npu_u64 done, n;
	int ret = 0;

	if (!size)
		return 0;
	if (!in_range(va, size)) {
		refuse(mmu, va, bad);
		return -EFAULT;
	}
	for (done = 0; done < size && !ret; done += n) {
		n = NPU_PAGE_SIZE - (va + done) % NPU_PAGE_SIZE;
		if (n > size - done)
			n = size - done;
		pthread_mutex_lock(&c->lock);
		ret = copy_page(mmu, c, va + done, (char *)buf + done, n, access, store);
		pthread_mutex_unlock(&c->lock);
		if (ret)
			refuse(mmu, va + done, bad);
	}
	return ret;
}

int npu_mmu_copy(struct npu_mmu *mmu, npu_u32 context, npu_u64 va, void *buf, npu_u64 size,
		 npu_u32 access, npu_u64 *bad)
{
	return transfer(mmu, context, va, buf, size, access, access & NPU_ACCESS_WRITE, bad);
}

static void word_move(void *at, unsigned int size, npu_u32 *value, bool store)
{
	if (!store)
		*value = size == 4 ? __atomic_load_n((npu_u32 *)at, __ATOMIC_ACQUIRE) :
			 size == 2 ? __atomic_load_n((npu_u16 *)at, __ATOMIC_ACQUIRE) :
				     __atomic_load_n((npu_u8 *)at, __ATOMIC_ACQUIRE);
	else if (size == 4)
		__atomic_store_n((npu_u32 *)at, *value, __ATOMIC_RELEASE);
	else if (size == 2)
		__atomic_store_n((npu_u16 *)at, (npu_u16)*value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((npu_u8 *)at, (npu_u8)*value, __ATOMIC_RELEASE);
}

static int word_access(struct npu_mmu *mmu, npu_u32 context, npu_u64 va, unsigned int size,
		       npu_u32 *value, npu_u32 access)
{
	struct npu_mmu_context *c = &mmu->context[context];
	struct npu_tlb_page page;
	npu_u64 walks = 0;

	if (!in_range(va, size) || va % size)
		return -EFAULT;
	pthread_mutex_lock(&c->lock);
	page = page_get(mmu, c, va, va, access, &walks);
	if (page.entry)
		word_move(page.host + va % NPU_PAGE_SIZE, size, value, access == NPU_ACCESS_WRITE);
	pthread_mutex_unlock(&c->lock);
	count_lookups(mmu, 1, walks);
	if (page.entry)
		return 0;
	refuse(mmu, va, NULL);
	return -EFAULT;
}

int npu_mmu_load(struct npu_mmu *mmu, npu_u32 context, npu_u64 va, unsigned int size,
		 npu_u32 *value)
{
	return word_access(mmu, context, va, size, value, NPU_ACCESS_READ);
}

int npu_mmu_store(struct npu_mmu *mmu, npu_u32 context, npu_u64 va, unsigned int size,
		  npu_u32 value)
{
	return word_access(mmu, context, va, size, &value, NPU_ACCESS_WRITE);
}

int npu_mmu_fetch(void *ctx, npu_u64 va, void *buf, npu_u32 size, npu_u64 *bad)
{
	struct npu_mmu_client *client = ctx;

	return npu_mmu_copy(client->mmu, client->context, va, buf, size, NPU_ACCESS_EXEC, bad);
}

/* ---- views ---- */

enum span { SPAN_BAD, SPAN_DIRECT, SPAN_MIRRORED, SPAN_SCATTERED };

/* @p, page @va / NPU_PAGE_SIZE of @chunk, is one that @h uses. */
static void hold_cover(struct npu_mmu_hold *h, const struct npu_tlb_chunk *chunk,
		       struct npu_tlb_page p, npu_u64 va)
{
	npu_u64 size = npu_tlb_is_one(chunk) ? NPU_CHUNK_SIZE : NPU_PAGE_SIZE;
	npu_u64 iova = p.entry & NPU_PTE_ADDR & ~(size - 1);

	va &= ~(size - 1);
	if (va < h->first)
		h->first = va;
	if (va + (size - 1) > h->last)
		h->last = va + (size - 1);
	if (iova < h->dma_first)
		h->dma_first = iova;
	if (iova + (size - 1) > h->dma_last)
		h->dma_last = iova + (size - 1);
}

/* What is known of @h, without walking; what its translations cover. */
static enum span span_look(struct npu_mmu *mmu, struct npu_mmu_context *c, struct npu_mmu_hold *h,
			   char **host)
{
	npu_u64 va = h->va, page = va / NPU_PAGE_SIZE, last = (va + h->size - 1) / NPU_PAGE_SIZE;
	struct npu_tlb_chunk *chunk = NULL;
	struct npu_tlb_page p;
	char *next = NULL;
	bool row = true;

	h->first = h->dma_first = UINT64_MAX;
	h->last = h->dma_last = 0;
	for (; page <= last; page++) {
		if (!chunk || !(page % NPU_CHUNK_PAGES))
			chunk = npu_tlb_find(c, page / NPU_CHUNK_PAGES);
		if (!chunk)
			return SPAN_BAD;
		p = npu_tlb_page(chunk, page % NPU_CHUNK_PAGES);
		if (!npu_tlb_allows(mmu, p.entry, h->access))
			return SPAN_BAD;
		hold_cover(h, chunk, p, page * NPU_PAGE_SIZE);
		if (!next)
			*host = p.host + va % NPU_PAGE_SIZE;
		else if (p.host != next)
			row = false;
		next = p.host + NPU_PAGE_SIZE;
		if (chunk->large) {
			next += (NPU_CHUNK_PAGES - 1 - page % NPU_CHUNK_PAGES) * NPU_PAGE_SIZE;
			page |= NPU_CHUNK_PAGES - 1;
		}
	}
	if (row)
		return SPAN_DIRECT;
	*host = npu_mirror_find(c, va, h->size);
	return *host ? SPAN_MIRRORED : SPAN_SCATTERED;
}

/* Walk for what is not known. May give up the lock in between. 0 or -EFAULT. */
static int span_fill(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 va, npu_u64 size,
		     npu_u32 access, npu_u64 *walks, npu_u64 *bad)
{
	npu_u64 at = va, last = va + size - 1;
	unsigned int n = 0, chunks = 0;
	struct npu_tlb_chunk *chunk;

	for (n = 0; at <= last; n++) {
		if (!page_get(mmu, c, at, last, access, walks).entry) {
			*bad = at;
			return -EFAULT;
		}
		chunk = npu_tlb_find(c, at >> NPU_CHUNK_SHIFT);
		if (chunk && chunk->large)
			at |= NPU_CHUNK_SIZE - 1;
		at = (at | (NPU_PAGE_SIZE - 1)) + 1;
		if (!(at & (NPU_CHUNK_SIZE - 1)) && !(++chunks % LOCK_CHUNKS))
			give_way(c);
	}
	return 0;
}

/* Mirror it, giving up the lock in between. False: there can be no view. */
static bool span_mirror(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 va, npu_u64 size)
{
	npu_u64 at = va, stop;

	/* A chunk at a time: it may be 512 mappings. */
	for (stop = va; stop < va + size;) {
		stop = size - (at - va) > NPU_CHUNK_SIZE ? at + NPU_CHUNK_SIZE : va + size;
		if (!npu_mirror_map(mmu, c, va, at, stop - at))
			return false;
		at = stop;
		if (at < va + size)
			give_way(c);
	}
	return true;
}

/* A copy of its own; what is written goes back at release. */
static void *gather(struct npu_mmu_client *client, npu_u32 context, npu_u64 va, npu_u64 size,
		    npu_u32 access, npu_u64 *bad)
{
	struct npu_mmu *mmu = client->mmu;
	char *copy = NULL, *before = NULL;

	if (size <= NPU_MMU_MAX_COPY)
		copy = aligned_alloc(64, (size + 63) & ~63ull);
	if (copy && access & NPU_ACCESS_WRITE)
		before = malloc(size);
	*bad = va;
	if (!copy || (access & NPU_ACCESS_WRITE && !before) ||
	    transfer(mmu, context, va, copy, size, access, false, bad)) {
		free(copy);
		free(before);
		return NULL;
	}
	if (before)
		memcpy(before, copy, size);
	npu_core_count(mmu->core, NPU_COUNTER_COPIED, size);
	pthread_mutex_lock(&mmu->context[client->context].lock);
	client->hold[client->num_holds++] =
		(struct npu_mmu_hold){ .va = va, .size = size, .access = access, .copy = copy,
				       .before = before, .context = context };
	pthread_mutex_unlock(&mmu->context[client->context].lock);
	return copy;
}

void *npu_mmu_resolve(void *ctx, npu_u64 va, npu_u64 size, npu_u32 access, npu_u64 *bad)
{
	struct npu_mmu_client *client = ctx;
	struct npu_mmu *mmu = client->mmu;
	npu_u32 own = client->context, mixed = own;
	struct npu_mmu_hold hold = { .va = va, .size = size, .access = access };
	struct npu_mmu_context *c = &mmu->context[own];
	enum span span = SPAN_BAD;
	unsigned int tries;
	npu_u64 walks = 0;
	char *host = NULL;

	*bad = va;
	if (!in_range(va, size) || size > NPU_MMU_MAX_SPAN || is_removed(mmu) ||
	    npu_vdev_fault_take(mmu->core->dev, NPU_VDEV_FAULT_MMU_FAULT))
		goto err_refuse;
	if (npu_vdev_fault_armed(mmu->core->dev, NPU_VDEV_MUTANT_MIX_CONTEXTS))
		mixed = context_mixed(mmu, own, va);
	pthread_mutex_lock(&c->lock);
	if (!client->num_holds)
		npu_mirror_renew(mmu, c);
	for (tries = 0; tries < MAX_TRIES && mixed == own; tries++) {
		span = span_look(mmu, c, &hold, &host);
		if (span == SPAN_DIRECT || span == SPAN_MIRRORED) {
			client->hold[client->num_holds++] = hold;
			pthread_mutex_unlock(&c->lock);
			count_lookups(mmu, (va + size - 1) / NPU_PAGE_SIZE - va / NPU_PAGE_SIZE + 1,
				      walks);
			return host;
		}
		if (span == SPAN_BAD && span_fill(mmu, c, va, size, access, &walks, bad)) {
			pthread_mutex_unlock(&c->lock);
			count_lookups(mmu, 0, walks);
			goto err_refuse;
		}
		if (span == SPAN_SCATTERED && !span_mirror(mmu, c, va, size))
			break;
	}
	pthread_mutex_unlock(&c->lock);
	count_lookups(mmu, 0, walks);
	/* No view, or one that goes as fast as it is made. */
	host = gather(client, mixed, va, size, access, bad);
	if (host)
		return host;

err_refuse:
	npu_core_count(mmu->core, NPU_COUNTER_MMU_FAULTS, 1);
	return NULL;
}

/* Write back what has changed, and nothing else: others may write between an operand's elements. */
static void scatter(struct npu_mmu_client *client, const struct npu_mmu_hold *h)
{
	npu_u64 i, n;

	for (i = 0; i < h->size; i += n) {
		n = 1;
		if (h->copy[i] == h->before[i])
			continue;
		while (i + n < h->size && h->copy[i + n] != h->before[i + n])
			n++;
		if (transfer(client->mmu, h->context, h->va + i, h->copy + i, n, NPU_ACCESS_WRITE,
			     true, &client->lost_va)) {
			client->lost_write = true;
			return;
		}
	}
}

void npu_mmu_release(void *ctx, npu_u64 va, npu_u64 size)
{
	struct npu_mmu_client *client = ctx;
	struct npu_mmu *mmu = client->mmu;
	struct npu_mmu_context *c = &mmu->context[client->context];
	struct npu_mmu_hold h;
	unsigned int i;

	pthread_mutex_lock(&c->lock);
	for (i = client->num_holds - 1; client->hold[i].va != va || client->hold[i].size != size;)
		i--;
	h = client->hold[i];
	client->hold[i] = client->hold[--client->num_holds];
	if (h.doomed)
		pthread_cond_broadcast(&c->idle);
	pthread_mutex_unlock(&c->lock);
	if (h.doomed & NPU_DOOMED_UNMAP) {
		npu_vdev_dma_kick(mmu->core->dev);
		/* It was passed over because of this hold. */
		atomic_store(&mmu->stale, true);
	}
	if (h.before)
		scatter(client, &h);
	free(h.copy);
	free(h.before);
}

/* ---- forgetting ---- */

void npu_mmu_invalidate(struct npu_mmu *mmu, npu_u32 context, npu_u64 va, npu_u64 size)
{
	struct npu_mmu_context *c = &mmu->context[context];
	npu_u64 root = atomic_load(&c->root_reg);

	npu_core_count(mmu->core, NPU_COUNTER_INVALIDATES, 1);
	if (npu_vdev_fault_armed(mmu->core->dev, NPU_VDEV_MUTANT_IGNORE_INV) && c->root)
		return;
	lock_first(c);
	if (!in_range(va, size) || root != c->root) {
		va = 0;
		size = 1ull << NPU_MMU_VA_BITS;
	}
	c->root = root;
	npu_mmu_doom(mmu, c, va, size, NPU_DOOMED_INV);
	npu_tlb_drop_va(mmu, c, va, size);
	while (is_doomed(mmu, c, va, size, NPU_DOOMED_INV))
		pthread_cond_wait(&c->idle, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

int npu_mmu_dma_unmap(struct npu_mmu *mmu, npu_u64 first, npu_u64 last)
{
	struct npu_mmu_context *c;
	int ret = 0;

	for (c = mmu->context; c < mmu->context + NPU_HW_MAX_CONTEXTS; c++) {
		if (!atomic_load(&c->active))
			continue;
		lock_first(c);
		doom_forgotten(mmu, c, first, last);
		npu_tlb_drop_dma(mmu, c, first, last);
		if (is_doomed(mmu, c, 0, 1ull << NPU_MMU_VA_BITS, NPU_DOOMED_UNMAP))
			ret = -EBUSY;
		pthread_mutex_unlock(&c->lock);
	}
	return ret;
}

void npu_mmu_sweep(struct npu_mmu *mmu)
{
	struct npu_mmu_context *c = mmu->context;

	if (!atomic_exchange(&mmu->stale, false))
		return;
	for (; c < mmu->context + NPU_HW_MAX_CONTEXTS; c++)
		if (atomic_load(&c->active))
			npu_tlb_sweep(mmu, c);
}
