// SPDX-License-Identifier: MIT
/*
 * The MMU against a walk that is written the other way round: from the bytes of the tables to what
 * the comment in npu_hw.h says about them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../tap.h"
#include "guest.h"

#define PAGE	4096u

struct expect {
	bool mapped, r, w, x;
	npu_u64 iova;
};

/* Digits of the address, most significant first, each picks a line of a table. */
static struct expect expected(struct guest *g, npu_u64 root, npu_u64 va)
{
	const unsigned int digit[4] = { va >> 39 & 511, va >> 30 & 511, va >> 21 & 511,
					va >> 12 & 511 };
	struct expect none = { 0 }, found = { .mapped = true };
	npu_u64 at = root, line;
	int depth;

	if (va >> 48)
		return none;
	for (depth = 0; depth < 4; depth++) {
		if (at < FAKE_IOVA_BASE || at >= FAKE_IOVA_BASE + (npu_u64)FAKE_PAGES * PAGE)
			return none;
		memcpy(&line, g->dev->mem + (at - FAKE_IOVA_BASE) + 8 * digit[depth], 8);
		if (line % 2 == 0 || line / 32 % 128 || line >> 52)
			return none;
		at = line / 4096 * 4096;
		if (line / 16 % 2) {
			if (depth < 2 || (depth == 2 && at % (2u << 20)))
				return none;
			found.r = line / 2 % 2;
			found.w = line / 4 % 2;
			found.x = line / 8 % 2;
			found.iova = at + (depth == 2 ? va % (2u << 20) : va % 4096);
			if (found.iova < FAKE_IOVA_BASE ||
			    found.iova >= FAKE_IOVA_BASE + (npu_u64)FAKE_PAGES * PAGE)
				return none;
			return found;
		}
		if (depth == 3 || line / 2 % 8)
			return none;
	}
	return none;
}

/* An entry of @level that may have anything wrong with it. */
static npu_u64 random_entry(struct guest *g, unsigned int level, npu_u32 pool, npu_u32 pool_pages)
{
	npu_u64 entry = page_iova(pool + guest_random(g) % pool_pages);
	npu_u32 dice = guest_random(g) % 100;

	entry |= (guest_random(g) & 7) << 1 | 0x11;
	if (level == 1)
		entry &= ~0x1ff000ull;
	if (dice < 6)
		entry &= ~1ull;
	else if (dice < 10)
		entry |= 1ull << (5 + guest_random(g) % 7);
	else if (dice < 14)
		entry |= 1ull << (52 + guest_random(g) % 12);
	else if (dice < 17)
		entry &= ~0x10ull;
	else if (dice < 20 && level == 1)
		entry |= 0x1000ull << guest_random(g) % 9;
	else if (dice < 22)
		entry = (entry & 0xfff) | 0x40000000;	/* no memory there */
	return entry;
}

static unsigned int check_page(struct guest *g, npu_u32 context, npu_u64 root, npu_u64 va)
{
	struct npu_mmu *mmu = &g->core->mmu;
	struct expect e = expected(g, root, va);
	unsigned char *at = e.mapped ? g->dev->mem + (e.iova - FAKE_IOVA_BASE) : NULL, byte = 0,
		      old;
	unsigned int bad = 0;
	npu_u64 where = 0;

	bad += !npu_mmu_copy(mmu, context, va, &byte, 1, NPU_ACCESS_READ, &where) !=
	       (e.mapped && e.r);
	bad += e.mapped && e.r && byte != *at;
	bad += !(e.mapped && e.r) && where != va;
	bad += !npu_mmu_copy(mmu, context, va, &byte, 1, NPU_ACCESS_EXEC, &where) !=
	       (e.mapped && e.x);
	old = at ? *at : 0;
	byte = (unsigned char)~old;
	bad += !npu_mmu_copy(mmu, context, va, &byte, 1, NPU_ACCESS_WRITE, &where) !=
	       (e.mapped && e.w);
	bad += at && *at != (e.w ? (unsigned char)~old : old);
	if (bad)
		tap_diag("va 0x%llx: expected %d %d%d%d", (unsigned long long)va, e.mapped, e.r,
			 e.w, e.x);
	return bad;
}

/* One of 64 large pages, or a table in its place, that belong to @base. */
static npu_u64 large_place(struct guest *g, npu_u64 base)
{
	return ((base & ~0x3fffffffull) ^ 0x40000000) + ((npu_u64)(guest_random(g) % 64) << 21);
}

/* Random tables of all kinds of mistakes, looked up in a random order, some of it twice. */
static void test_walk(struct guest *g)
{
	static const npu_u64 bases[] = { 0, 0x7ffffe00000ull, 0xffff80000000ull,
					 0xffffffe00000ull };
	npu_u32 pool = guest_alloc(g, 4096), context = 3, i, mapped = 0;
	unsigned int bad = 0, n = tap_cases(20000);
	npu_u64 va, root;

	pool = (pool + 511) & ~511u;
	for (i = 0; i < 3072 * PAGE / 4; i++)
		put32(guest_page(g, pool), 4 * i, guest_random(g));
	guest_context(g, context);
	root = g->root[context];
	for (i = 0; i < 2048; i++) {
		va = bases[i % 4] + (npu_u64)(guest_random(g) % 512) * PAGE;
		if (i % 8 == 7)
			table_set(g, context, large_place(g, bases[i / 8 % 4]), 1,
				  random_entry(g, 1, pool, 3072));
		else
			table_set(g, context, va, 0, random_entry(g, 0, pool, 3072));
	}
	/* Whole branches with something wrong. */
	table_set(g, context, 0x100000000000ull, 3, page_iova(pool) | 0x11);
	table_set(g, context, 0x200000000000ull, 2, page_iova(pool) | 0x13);
	table_set(g, context, 0x300000000000ull, 3, page_iova(guest_alloc(g, 1)) | 3);
	table_set(g, context, 0x400000000000ull, 3, root | 1);
	table_set(g, context, 0x480000000000ull, 3, 0x7000 | 1);
	guest_invalidate(g, context, 0, 0);
	for (i = 0; i < n && bad < 10; i++) {
		va = bases[guest_random(g) % 4] + (npu_u64)(guest_random(g) % 512) * PAGE +
		     guest_random(g) % PAGE;
		if (guest_random(g) % 4 == 0)
			va = large_place(g, va) + guest_random(g) % (2u << 20);
		if (guest_random(g) % 16 == 0)
			va = (npu_u64)guest_random(g) << 24 ^ guest_random(g);
		mapped += expected(g, root, va).mapped;
		bad += check_page(g, context, root, va);
	}
	tap_ok(!bad && mapped > n / 3 && mapped < n,
	       "walks of random tables: %u, %u mapped, %u wrong", n, mapped, bad);
	bad = check_page(g, context, root, 0x100000000000ull) +
	      check_page(g, context, root, 0x200000000123ull) +
	      check_page(g, context, root, 0x300000000000ull) +
	      check_page(g, context, root, 0x400000000000ull) +
	      check_page(g, context, root, 0x480000000000ull) +
	      check_page(g, context, root, 1ull << 48) + check_page(g, context, root, ~0ull);
	tap_ok(!bad,
	       "leaves too high, tables with permissions, tables in a circle, addresses too high");
	tap_ok(reg_read64(g, 0x5000 + 8 * 2) && reg_read64(g, 0x5000 + 8 * 1) &&
	       reg_read64(g, 0x5000 + 8 * 4), "counters: %llu walks, %llu hits, %llu faults",
	       (unsigned long long)reg_read64(g, 0x5010), (unsigned long long)reg_read64(g, 0x5008),
	       (unsigned long long)reg_read64(g, 0x5020));
}

/* Stops that a client is told of. */
static atomic_uint stops;

static void client_stop(void *ctx)
{
	atomic_fetch_add(&stops, 1);
}

/* The engine unit's own, whose thread is idle. */
static struct npu_mmu_client *client_take(struct guest *g, npu_u32 context)
{
	struct npu_mmu_client *client = &g->core->unit[0].client;

	client->stop = client_stop;
	client->lost_write = false;
	atomic_store(&client->context, context);
	return client;
}

/* Views of every kind of range hold what the pages hold, and what is written there arrives. */
static unsigned int check_view(struct guest *g, struct npu_mmu_client *client, npu_u64 va,
			       npu_u64 size, npu_u32 access)
{
	unsigned char *view, *want = malloc(size), *got = malloc(size);
	unsigned int bad = 0;
	npu_u64 where, i;

	guest_copy(g, client->context, va, want, size, false);
	view = npu_mmu_resolve(client, va, size, access, &where);
	if (!view) {
		tap_diag("no view of 0x%llx + 0x%llx", (unsigned long long)va,
			 (unsigned long long)size);
		bad = 1;
		goto out;
	}
	bad += access & NPU_ACCESS_READ && memcmp(view, want, size);
	if (access & NPU_ACCESS_WRITE) {
		for (i = 0; i < size; i += 1 + size / 50)
			want[i] = view[i] = (unsigned char)guest_random(g);
		want[size - 1] = view[size - 1] = (unsigned char)guest_random(g);
	}
	npu_mmu_release(client, va, size);
	guest_copy(g, client->context, va, got, size, false);
	bad += memcmp(got, want, size) != 0;
out:
	free(want);
	free(got);
	return bad;
}

static void test_views(struct guest *g, const char *what, bool copied)
{
	struct npu_mmu_client *client;
	npu_u32 context = 4, i, k;
	unsigned int bad = 0, n = tap_cases(1000);
	npu_u64 va, size, before;

	if (!g->root[context]) {
		guest_context(g, context);
		guest_map(g, context, 0x10000000, 4 << 20, P_R | P_W, true);
		guest_map(g, context, 0x10400000, 4 << 20, P_R | P_W, false);
		guest_map(g, context, 0x10800000, 1 << 20, P_R, true);
		/* Across the boundary of two mirror windows. */
		guest_map(g, context, (4ull << 34) - (1 << 20), 2 << 20, P_R | P_W, true);
		for (i = 0; i < 4; i++) {
			k = (guest_alloc(g, 1024) + 511) & ~511u;
			table_set(g, context, 0x11000000 + (3 - i) * (2ull << 20), 1,
				  page_iova(k) | P_R | P_W | 0x11);
		}
		for (i = 0; i < (8u << 20); i += 4) {
			k = guest_random(g);
			guest_copy(g, context, 0x10000000 + i, &k, 4, true);
			guest_copy(g, context, 0x11000000 + i, &k, 4, true);
		}
	}
	client = client_take(g, context);
	before = reg_read64(g, 0x5000 + 8 * 11);
	for (i = 0; i < n && bad < 5; i++) {
		size = 1 + guest_random(g) % (i % 16 ? 20000 : 3000000);
		switch (guest_random(g) % 4) {
		case 0:
			va = 0x10000000 + guest_random(g) % ((8u << 20) - size);
			break;
		case 1:
			va = 0x11000000 + guest_random(g) % ((8u << 20) - size);
			break;
		case 2:
			size = size > 1 << 20 ? 1 << 20 : size;
			va = 0x10800000 + guest_random(g) % ((1u << 20) - size + 1);
			bad += check_view(g, client, va, size, NPU_ACCESS_READ);
			continue;
		default:
			size = size > 2 << 20 ? 2 << 20 : size;
			va = (4ull << 34) - (1 << 20) + guest_random(g) % ((2u << 20) - size + 1);
		}
		bad += check_view(g, client, va, size,
				  1 + guest_random(g) % 3);
	}
	before = reg_read64(g, 0x5000 + 8 * 11) - before;
	tap_ok(!bad && !client->lost_write && !before == !copied,
	       "%s: %u views, %u wrong, %u pieces mapped, %llu bytes copied", what, n, bad,
	       atomic_load(&g->core->mmu.num_pieces), (unsigned long long)before);
}

/* Mapped and forgotten over and over: the budget of mappings is not used up by what is gone. */
static void test_wear(struct guest *g)
{
	npu_u64 at = 0x70000000, bad, copied = reg_read64(g, 0x5058), before;
	struct npu_mmu_client *client;
	unsigned int limit = g->core->mmu.max_pieces, i, n = 0;

	guest_context(g, 8);
	guest_map(g, 8, at, 64 * PAGE, P_R | P_W, true);
	client = client_take(g, 8);
	before = atomic_load(&g->core->mmu.num_pieces);
	g->core->mmu.max_pieces = (unsigned int)before + 1000;
	for (i = 0; i < 200; i++) {
		if (!npu_mmu_resolve(client, at, 64 * PAGE, NPU_ACCESS_READ, &bad))
			break;
		npu_mmu_release(client, at, 64 * PAGE);
		n += guest_invalidate(g, 8, at, 64 * PAGE);
	}
	tap_ok(n == 200 && reg_read64(g, 0x5058) == copied,
	       "64 scattered pages mirrored and forgotten 200 times with 1000 mappings: %llu bytes "
	       "copied", (unsigned long long)(reg_read64(g, 0x5058) - copied));
	g->core->mmu.max_pieces = limit;
}

static void test_refusals(struct guest *g)
{
	struct npu_mmu_client *client;
	npu_u64 bad = 0;
	npu_u32 context = 5;
	void *p;

	guest_context(g, context);
	guest_map(g, context, 0x20000000, 64 * PAGE, P_R | P_W, true);
	table_set(g, context, 0x20000000 + 40 * PAGE, 0, 0);
	guest_map(g, context, 0x20000000 + 50 * PAGE, PAGE, P_R, false);
	guest_map(g, context, 0x30000000, PAGE, P_X, false);
	client = client_take(g, context);
	p = npu_mmu_resolve(client, 0x20000000 + 100, 48 * PAGE, NPU_ACCESS_READ, &bad);
	tap_ok(!p && bad == 0x20000000 + 40 * PAGE, "the first address that is not mapped is told");
	p = npu_mmu_resolve(client, 0x20000000 + 45 * PAGE, 8 * PAGE, NPU_ACCESS_WRITE, &bad);
	tap_ok(!p && bad == 0x20000000 + 50 * PAGE, "the first address that can not be written");
	p = npu_mmu_resolve(client, 0x20000000 + 45 * PAGE, 8 * PAGE, NPU_ACCESS_READ, &bad);
	tap_ok(!!p, "it can be read");
	npu_mmu_release(client, 0x20000000 + 45 * PAGE, 8 * PAGE);
	p = npu_mmu_resolve(client, 0x30000000, 16, NPU_ACCESS_READ, &bad);
	tap_ok(!p && npu_mmu_fetch(client, 0x30000000, &bad, 8, &bad) == 0,
	       "a code page can be fetched from, and not read");
	p = npu_mmu_resolve(client, (1ull << 48) - 16, 32, NPU_ACCESS_READ, &bad);
	tap_ok(!p && !npu_mmu_resolve(client, ~0ull - 8, 32, NPU_ACCESS_READ, &bad) &&
		       !npu_mmu_resolve(client, 0x20000000, 1ull << 40, NPU_ACCESS_READ, &bad) &&
		       !npu_mmu_resolve(client, 0x20000000, 0, NPU_ACCESS_READ, &bad),
	       "ranges that end beyond the address space, wrap, are huge or empty");
	tap_ok(!client->num_holds, "nothing is held");
}

struct inv {
	struct guest *g;
	npu_u64 va, size;
	bool done;
	atomic_bool over;
};

/* The invalidation has got as far as the one access that there is. */
static bool hold_doomed(struct npu_mmu_client *client)
{
	struct npu_mmu_context *c = &client->mmu->context[client->context];
	bool doomed;

	pthread_mutex_lock(&c->lock);
	doomed = client->hold[0].doomed;
	pthread_mutex_unlock(&c->lock);
	return doomed;
}

static void *inv_run(void *arg)
{
	struct inv *inv = arg;

	inv->done = guest_invalidate(inv->g, 6, inv->va, inv->size);
	atomic_store(&inv->over, true);
	return NULL;
}

/* An acknowledgement comes when the range is not in use, whatever else is. */
static void test_invalidate(struct guest *g, bool scatter)
{
	const char *what = scatter ? "mirrored" : "direct";
	npu_u64 at = scatter ? 0x50000000 : 0x40000000, bad;
	struct inv inv = { .g = g, .va = at, .size = 16 * PAGE };
	struct npu_mmu_client *client;
	unsigned char *view, *again;
	pthread_t thread;
	npu_u32 page, i;

	if (!g->root[6])
		guest_context(g, 6);
	guest_map(g, 6, at, 64 * PAGE, P_R | P_W, scatter);
	client = client_take(g, 6);
	view = npu_mmu_resolve(client, at, 4 * PAGE, NPU_ACCESS_READ | NPU_ACCESS_WRITE, &bad);
	tap_ok(guest_invalidate(g, 6, at + 16 * PAGE, 16 * PAGE) &&
		       guest_invalidate(g, 5, at, 16 * PAGE),
	       "%s: other ranges and contexts do not wait for one that is in use", what);
	/* New pages in the tables; the old ones stay with who has them. */
	for (i = 0; i < 16; i++) {
		page = guest_alloc(g, 2);
		memset(guest_page(g, page), 0x77, PAGE);
		table_set(g, 6, at + i * PAGE, 0, page_iova(page) | P_R | 0x11);
	}
	memset(view, 0x11, 4 * PAGE);
	pthread_create(&thread, NULL, inv_run, &inv);
	while (!hold_doomed(client))
		usleep(100);
	usleep(20000);
	tap_ok(!atomic_load(&inv.over), "%s: the range that is in use is waited for", what);
	again = npu_mmu_resolve(client, at, 2 * PAGE, NPU_ACCESS_READ, &bad);
	memset(view, 0x22, 4 * PAGE);
	tap_ok(again && again[0] == 0x77 && again[2 * PAGE - 1] == 0x77,
	       "%s: a new access has the new pages, the old one the old pages", what);
	npu_mmu_release(client, at, 2 * PAGE);
	usleep(20000);
	tap_ok(!atomic_load(&inv.over), "%s: the end of the new access is not the old one's", what);
	npu_mmu_release(client, at, 4 * PAGE);
	pthread_join(thread, NULL);
	tap_ok(inv.done, "%s: acknowledged behind the old access", what);
	view = npu_mmu_resolve(client, at, 4 * PAGE, NPU_ACCESS_READ, &bad);
	tap_ok(view && view[0] == 0x77 && view[4 * PAGE - 1] == 0x77 &&
		       !npu_mmu_resolve(client, at, PAGE, NPU_ACCESS_WRITE, &bad),
	       "%s: then the new pages alone, with their permissions", what);
	npu_mmu_release(client, at, 4 * PAGE);
}

/* Two pages of 2 MiB at @va, whose halves lie apart in the host if @split. */
static void map_two_large(struct guest *g, npu_u64 va, bool split)
{
	npu_u32 first, second, i;

	if (!split) {
		guest_map_large(g, 6, va, 4 << 20, P_R | P_W);
		return;
	}
	/* DMA addresses beyond those that are guest memory's own. */
	first = FAKE_PAGES + 1024;
	second = guest_alloc(g, 1024);
	for (i = 0; i < 1024; i++)
		fake_map(g->dev, first + i, second + (i + 256) % 1024, true);
	table_set(g, 6, va, 1, page_iova(first) | P_R | P_W | 0x11);
	table_set(g, 6, va + (2 << 20), 1, page_iova(first + 512) | P_R | P_W | 0x11);
}

/* Whether the invalidation of @size at @va waits for the one access, and until its end. */
static bool inv_waits(struct guest *g, struct npu_mmu_client *client, npu_u64 va, npu_u64 size,
		      unsigned char *view)
{
	struct inv inv = { .g = g, .va = va, .size = size };
	npu_u64 at = client->hold[0].va, bytes = client->hold[0].size;
	pthread_t thread;
	bool waits;

	pthread_create(&thread, NULL, inv_run, &inv);
	while (!hold_doomed(client) && !atomic_load(&inv.over))
		usleep(100);
	usleep(20000);
	waits = !atomic_load(&inv.over);
	/* What is in use stays what it is. */
	if (waits)
		memset(view, 0x33, bytes);
	npu_mmu_release(client, at, bytes);
	pthread_join(thread, NULL);
	return waits && inv.done;
}

/* A translation goes as a whole, whichever part of it an invalidation names. */
static void test_invalidate_part(struct guest *g)
{
	static const struct {
		const char *what;
		bool large, split;
		npu_u64 from;			/* of the access */
		npu_u64 inv, bytes;
		bool waits;
	} cases[] = {
		{ "a byte of a page", false, false, 0x1800, 0x1001, 1, true },
		{ "a byte of the last page", false, false, 0x1800, 0x4fff, 1, true },
		{ "the page before", false, false, 0x1800, 0xfff, 1, false },
		{ "the page behind", false, false, 0x1800, 0x5000, 1, false },
		{ "the first page of a large one", true, false, 0x1fe000, 0, 4096, true },
		{ "the last page of a large one", true, false, 0x1fe000, 0x3ff000, 4096, true },
		{ "the first page of a large one that is in pieces", true, true, 0x1fe000, 0, 4096,
		  true },
		{ "the last page of a large one that is in pieces", true, true, 0x1fe000, 0x3ff000,
		  4096, true },
	};
	struct npu_mmu_client *client;
	npu_u64 va = 0x80000000, bad;
	unsigned char *view;
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++, va += 4 << 20) {
		if (cases[i].large)
			map_two_large(g, va, cases[i].split);
		else
			guest_map(g, 6, va, 64 * PAGE, P_R | P_W, true);
		client = client_take(g, 6);
		view = npu_mmu_resolve(client, va + cases[i].from, 3 * PAGE,
				       NPU_ACCESS_READ | NPU_ACCESS_WRITE, &bad);
		tap_ok(view && inv_waits(g, client, va + cases[i].inv, cases[i].bytes, view) ==
				       cases[i].waits,
		       "invalidated is %s: an access %s", cases[i].what,
		       cases[i].waits ? "is waited for" : "goes on");
	}
}

/* Known by small pages; then the tables have a large one, which is invalidated where it is not. */
static void test_invalidate_mixed(struct guest *g)
{
	npu_u64 va = 0x90000000, bad;
	struct npu_mmu_client *client;
	unsigned char *view, *more;
	npu_u32 large;

	guest_map(g, 6, va, 512 * PAGE, P_R | P_W, true);
	client = client_take(g, 6);
	view = npu_mmu_resolve(client, va, 3 * PAGE, NPU_ACCESS_WRITE, &bad);
	large = (guest_alloc(g, 1024) + 511) & ~511u;
	table_set(g, 6, va, 1, page_iova(large) | P_R | P_W | 0x11);
	more = npu_mmu_resolve(client, va + 8 * PAGE, PAGE, NPU_ACCESS_WRITE, &bad);
	npu_mmu_release(client, va + 8 * PAGE, PAGE);
	tap_ok(view && more && guest_invalidate(g, 6, va + 100 * PAGE, PAGE),
	       "invalidated is a large page: an access by small ones goes on");
	usleep(20000);
	memset(view, 0x44, 3 * PAGE);
	more = npu_mmu_resolve(client, va, PAGE, NPU_ACCESS_WRITE, &bad);
	memset(more, 0x55, PAGE);
	tap_ok(view[0] == 0x44 && guest_page(g, large)[0] == 0x55,
	       "it keeps its pages, the next one has the large page");
	npu_mmu_release(client, va, PAGE);
	npu_mmu_release(client, va, 3 * PAGE);
	guest_invalidate(g, 6, 0, 0);
}

/* Guest memory goes away under an access that an invalidation waits for already. */
static void test_unmap_forgotten(struct guest *g, bool all)
{
	npu_u64 at = all ? 0xa0000000 : 0xa2000000, bad, first, last;
	struct inv inv = { .g = g, .va = at, .size = all ? 2 << 20 : 16 * PAGE };
	struct npu_mmu_client *client;
	pthread_t thread;
	int ret;

	guest_map(g, 6, at, 64 * PAGE, P_R | P_W, !all);
	client = client_take(g, 6);
	npu_mmu_resolve(client, at, 8 * PAGE, NPU_ACCESS_READ, &bad);
	first = all ? 0 : *table_entry(g, 6, at + 3 * PAGE, 0) & 0x000ffffffffff000ull;
	last = all ? UINT64_MAX : first + PAGE - 1;
	pthread_create(&thread, NULL, inv_run, &inv);
	while (!hold_doomed(client))
		usleep(100);
	atomic_store(&stops, 0);
	ret = npu_vdev_core.dma_unmap(g->core, first, last);
	tap_ok(ret == -EBUSY && npu_vdev_core.dma_unmap(g->core, first, last) == -EBUSY &&
		       atomic_load(&stops) >= 1,
	       "%s in use by what is invalidated: the unmapping waits, its user is told to stop",
	       all ? "all memory" : "memory");
	npu_mmu_release(client, at, 8 * PAGE);
	pthread_join(thread, NULL);
	tap_ok(inv.done && !npu_vdev_core.dma_unmap(g->core, first, last), "then both go on");
}

/* Guest memory goes away under an access. */
static void test_unmap(struct guest *g)
{
	npu_u64 at = 0x60000000, bad, iova;
	struct npu_mmu_client *client;
	unsigned char *view;
	npu_u32 page;

	guest_map(g, 6, at, 64 * PAGE, P_R | P_W, true);
	client = client_take(g, 6);
	view = npu_mmu_resolve(client, at, 8 * PAGE, NPU_ACCESS_READ, &bad);
	page = (npu_u32)((*table_entry(g, 6, at + 3 * PAGE, 0) - FAKE_IOVA_BASE) / PAGE);
	iova = page_iova(page);
	atomic_store(&stops, 0);
	pthread_mutex_lock(&g->dev->lock);
	g->dev->map[page] = 0;
	pthread_mutex_unlock(&g->dev->lock);
	tap_ok(view && npu_vdev_core.dma_unmap(g->core, iova, iova + PAGE - 1) == -EBUSY &&
		       npu_vdev_core.dma_unmap(g->core, iova, iova + PAGE - 1) == -EBUSY &&
		       atomic_load(&stops) >= 1,
	       "memory in use: the unmapping waits, its user is told to stop");
	npu_mmu_release(client, at, 8 * PAGE);
	tap_ok(!npu_vdev_core.dma_unmap(g->core, iova, iova + PAGE - 1) &&
		       atomic_load(&g->dev->kicks) > 0,
	       "then it goes on, and is told so");
	tap_ok(!npu_mmu_resolve(client, at, 8 * PAGE, NPU_ACCESS_READ, &bad) &&
		       bad == at + 3 * PAGE && atomic_load(&g->dev->reports) > 0,
	       "what it led to is not there any more; the guest's IOMMU hears of the access");
	view = npu_mmu_resolve(client, at, 3 * PAGE, NPU_ACCESS_READ, &bad);
	tap_ok(!!view, "the rest is");
	npu_mmu_release(client, at, 3 * PAGE);
	fake_map(g->dev, page, page, false);
	view = npu_mmu_resolve(client, at, 8 * PAGE, NPU_ACCESS_READ, &bad);
	tap_ok(view && !npu_mmu_resolve(client, at, 8 * PAGE, NPU_ACCESS_WRITE, &bad) &&
		       bad == at + 3 * PAGE,
	       "read-only for the guest's IOMMU is read-only");
	npu_mmu_release(client, at, 8 * PAGE);
	fake_map(g->dev, page, page, true);
}

/* Out of its slot: translations that were found before do not serve any more. */
static void test_removed(struct guest *g)
{
	const npu_u64 at = 0xb0000000;
	struct npu_mmu_client *client;
	npu_u32 before = 0, value = 0;
	npu_u64 bad = 0;
	bool known;

	guest_map(g, 6, at, 8 * PAGE, P_R | P_W, false);
	client = client_take(g, 6);
	known = npu_mmu_resolve(client, at, 4 * PAGE, NPU_ACCESS_WRITE, &bad) != NULL;
	npu_mmu_release(client, at, 4 * PAGE);
	known = known && !npu_mmu_store(&g->core->mmu, 6, at, 4, 0x1234) &&
		!npu_mmu_load(&g->core->mmu, 6, at, 4, &before);
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_REMOVAL], -1);
	tap_ok(known && !npu_mmu_resolve(client, at, 4 * PAGE, NPU_ACCESS_WRITE, &bad) &&
		       bad == at && npu_mmu_store(&g->core->mmu, 6, at, 4, 0x5678) &&
		       npu_mmu_load(&g->core->mmu, 6, at, 4, &value),
	       "a device that is removed reaches nothing, by known translations either");
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_REMOVAL], 0);
	tap_ok(before == 0x1234 && !npu_mmu_load(&g->core->mmu, 6, at, 4, &value) &&
		       value == 0x1234,
	       "and has changed nothing");
}

int main(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	unsigned int limit;
	struct guest g;

	config.threads = 1;
	guest_init(&g, &config);
	test_walk(&g);
	test_views(&g, "mirrors", false);
	limit = g.core->mmu.max_pieces;
	g.core->mmu.max_pieces = atomic_load(&g.core->mmu.num_pieces) / 3;
	guest_invalidate(&g, 4, 0, 0);
	test_views(&g, "few mappings", true);
	g.core->mmu.max_pieces = limit;
	atomic_store(&g.dev->no_fd, 1);
	guest_invalidate(&g, 4, 0, 0);
	test_views(&g, "no file", true);
	atomic_store(&g.dev->no_fd, 0);
	test_wear(&g);
	test_refusals(&g);
	test_invalidate(&g, false);
	test_invalidate(&g, true);
	test_invalidate_part(&g);
	test_invalidate_mixed(&g);
	test_removed(&g);
	test_unmap_forgotten(&g, false);
	test_unmap_forgotten(&g, true);
	test_unmap(&g);
	reg_write(&g, 0x70, 1);
	tap_ok(wait_ready(&g) && !atomic_load(&g.core->mmu.num_pieces) &&
		       !atomic_load(&g.core->mmu.num_chunks) &&
		       !atomic_load(&g.core->mmu.num_windows) && !atomic_load(&g.dev->num_pins),
	       "a reset leaves no translation and no mirror");
	guest_fini(&g);
	return tap_done();
}
