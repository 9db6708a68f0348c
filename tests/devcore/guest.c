// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "guest.h"

#define PAGE	4096u

npu_u32 get32(const void *at, unsigned int offset)
{
	npu_u32 v;

	memcpy(&v, (const char *)at + offset, 4);
	return v;
}

npu_u64 get64(const void *at, unsigned int offset)
{
	npu_u64 v;

	memcpy(&v, (const char *)at + offset, 8);
	return v;
}

void put32(void *at, unsigned int offset, npu_u32 value)
{
	memcpy((char *)at + offset, &value, 4);
}

void put64(void *at, unsigned int offset, npu_u64 value)
{
	memcpy((char *)at + offset, &value, 8);
}

npu_u32 guest_random(struct guest *g)
{
	g->seed = g->seed * 1664525u + 1013904223u;
	return g->seed >> 8;
}

npu_u32 reg_read(struct guest *g, npu_u32 offset)
{
	return npu_vdev_core.reg_read(g->core, offset);
}

void reg_write(struct guest *g, npu_u32 offset, npu_u32 value)
{
	npu_vdev_core.reg_write(g->core, offset, value);
}

void reg_write64(struct guest *g, npu_u32 offset, npu_u64 value)
{
	reg_write(g, offset, (npu_u32)value);
	reg_write(g, offset + 4, (npu_u32)(value >> 32));
}

npu_u64 reg_read64(struct guest *g, npu_u32 offset)
{
	npu_u64 low = reg_read(g, offset);

	return low | (npu_u64)reg_read(g, offset + 4) << 32;
}

bool wait_ready(struct guest *g)
{
	int i;

	for (i = 0; i < 100000 && !(reg_read(g, 0x60) & 1); i++)
		usleep(100);
	return reg_read(g, 0x60) & 1;
}

npu_u32 guest_alloc(struct guest *g, npu_u32 pages)
{
	npu_u32 page = g->next_page;

	g->next_page += pages;
	if (g->next_page > FAKE_PAGES) {
		printf("Bail out! guest memory is full\n");
		exit(2);
	}
	return page;
}

unsigned char *guest_page(struct guest *g, npu_u32 page)
{
	return g->dev->mem + (npu_u64)page * PAGE;
}

npu_u64 page_iova(npu_u32 page)
{
	return FAKE_IOVA_BASE + (npu_u64)page * PAGE;
}

/* ---- tables ---- */

static npu_u64 *entry_in(struct guest *g, npu_u64 table, npu_u64 va, unsigned int level)
{
	npu_u64 *t = (npu_u64 *)guest_page(g, (npu_u32)((table - FAKE_IOVA_BASE) / PAGE));

	return &t[(va >> (12 + 9 * level)) & 511];
}

npu_u64 *table_entry(struct guest *g, npu_u32 context, npu_u64 va, unsigned int level)
{
	npu_u64 table = g->root[context], *e;
	unsigned int l;

	for (l = 3; l > level; l--) {
		e = entry_in(g, table, va, l);
		if (!(*e & 1) || *e & 0x10)
			return NULL;
		table = *e & 0x000ffffffffff000ull;
	}
	return entry_in(g, table, va, level);
}

void table_set(struct guest *g, npu_u32 context, npu_u64 va, unsigned int level, npu_u64 entry)
{
	npu_u64 table = g->root[context], *e;
	unsigned int l;

	for (l = 3; l > level; l--) {
		e = entry_in(g, table, va, l);
		if (!*e)
			*e = page_iova(guest_alloc(g, 1)) | 1;
		table = *e & 0x000ffffffffff000ull;
	}
	__atomic_store_n(entry_in(g, table, va, level), entry, __ATOMIC_RELEASE);
}

void guest_context(struct guest *g, npu_u32 context)
{
	if (!g->root[context])
		g->root[context] = page_iova(guest_alloc(g, 1));
	reg_write64(g, 0x2000 + 8 * context, g->root[context] | 1);
	guest_invalidate(g, context, 0, 0);
}

void guest_map(struct guest *g, npu_u32 context, npu_u64 va, npu_u64 bytes, npu_u32 perms,
	       bool scatter)
{
	npu_u32 n = (npu_u32)((bytes + PAGE - 1) / PAGE), i, k, t;
	npu_u32 first = guest_alloc(g, n), *page = malloc(n * sizeof(*page));

	for (i = 0; i < n; i++)
		page[i] = first + i;
	for (i = 0; scatter && i + 1 < n; i++) {
		k = i + guest_random(g) % (n - i);
		t = page[i];
		page[i] = page[k];
		page[k] = t;
	}
	for (i = 0; i < n; i++)
		table_set(g, context, va + (npu_u64)i * PAGE, 0, page_iova(page[i]) | perms | 0x11);
	free(page);
}

void guest_map_large(struct guest *g, npu_u32 context, npu_u64 va, npu_u64 bytes, npu_u32 perms)
{
	npu_u32 n = (npu_u32)((bytes + (2u << 20) - 1) / (2u << 20)), i;
	npu_u32 page = (guest_alloc(g, n * 512 + 511) + 511) & ~511u;

	/* Backwards: what is in a row for the context is not so in memory. */
	for (i = 0; i < n; i++)
		table_set(g, context, va + i * (2ull << 20), 1,
			  page_iova(page + (n - 1 - i) * 512) | perms | 0x11);
}

bool guest_invalidate_ms(struct guest *g, npu_u32 context, npu_u64 va, npu_u64 size,
			 unsigned int ms)
{
	npu_u32 *seq = (npu_u32 *)(g->dev->mem + (g->events - FAKE_IOVA_BASE) + 4);
	unsigned int i;

	g->seq++;
	reg_write64(g, 0xc0, va);
	reg_write64(g, 0xc8, size);
	reg_write(g, 0xd0, context);
	reg_write(g, 0xd4, g->seq);
	for (i = 0; i < ms * 20; i++) {
		if (__atomic_load_n(seq, __ATOMIC_ACQUIRE) == g->seq)
			return true;
		usleep(50);
	}
	return false;
}

bool guest_invalidate(struct guest *g, npu_u32 context, npu_u64 va, npu_u64 size)
{
	return guest_invalidate_ms(g, context, va, size, 20000);
}

bool guest_copy(struct guest *g, npu_u32 context, npu_u64 va, void *buf, npu_u64 size, bool write)
{
	npu_u64 done, *e, n, in_page;
	unsigned char *at;

	for (done = 0; done < size; done += n) {
		in_page = (va + done) % PAGE;
		n = PAGE - in_page < size - done ? PAGE - in_page : size - done;
		e = table_entry(g, context, va + done, 1);
		if (e && *e & 0x10)
			in_page += (va + done) & 0x1ff000;
		else
			e = e ? table_entry(g, context, va + done, 0) : NULL;
		if (!e || !(*e & 0x10))
			return false;
		at = g->dev->mem + ((*e & 0x000ffffffffff000ull) - FAKE_IOVA_BASE) + in_page;
		if (write)
			memcpy(at, (char *)buf + done, n);
		else
			memcpy((char *)buf + done, at, n);
	}
	return true;
}

/* ---- kernel memory ---- */

npu_u32 kernel_alloc(struct guest *g, npu_u32 bytes)
{
	npu_u32 at = g->kernel_used;

	g->kernel_used += (bytes + 63) & ~63u;
	if (g->kernel_used > GUEST_KERNEL_SIZE) {
		printf("Bail out! kernel memory is full\n");
		exit(2);
	}
	return GUEST_KERNEL + at;
}

unsigned char *kernel_at(struct guest *g, npu_u32 va)
{
	return guest_page(g, g->kernel_page) + (va - GUEST_KERNEL);
}

void guest_init(struct guest *g, const struct npu_vdev_config *config)
{
	char why[128] = "";
	npu_u32 i;

	memset(g, 0, sizeof(*g));
	g->seed = 12345;
	g->dev = fake_create();
	for (i = 0; i < FAKE_PAGES; i++)
		fake_map(g->dev, i, i, true);
	g->core = npu_vdev_core.create(g->dev, config, why, sizeof(why));
	if (!g->core) {
		printf("Bail out! %s\n", why);
		exit(2);
	}
	npu_vdev_core.reset(g->core, NPU_VDEV_RESET_CONNECT);
	guest_restart(g);
}

void guest_restart(struct guest *g)
{
	npu_u32 i;

	wait_ready(g);
	memset(g->root, 0, sizeof(g->root));
	g->next_page = 0;
	g->kernel_used = 0;
	madvise(g->dev->mem, (size_t)FAKE_PAGES * PAGE, MADV_REMOVE);
	g->events = page_iova(guest_alloc(g, 1));
	reg_write64(g, 0xb0, g->events);
	g->kernel_page = guest_alloc(g, GUEST_KERNEL_SIZE / PAGE);
	guest_context(g, 0);
	for (i = 0; i < GUEST_KERNEL_SIZE / PAGE; i++)
		table_set(g, 0, GUEST_KERNEL + (npu_u64)i * PAGE, 0,
			  page_iova(g->kernel_page + i) | P_R | P_W | 0x11);
}

void guest_fini(struct guest *g)
{
	npu_vdev_core.destroy(g->core);
	fake_destroy(g->dev);
}

/* ---- jobs ---- */

void job_alloc(struct guest *g, struct guest_job *j)
{
	j->desc = kernel_alloc(g, 128);
	j->regions = kernel_alloc(g, 256 * 24);
	j->result = kernel_alloc(g, 96);
	j->save = kernel_alloc(g, reg_read(g, 0x30));
}

void job_fill(struct guest *g, const struct guest_job *j, npu_u64 id, npu_u64 stream,
	      npu_u32 stream_size, const struct npu_region *region, npu_u32 num_regions)
{
	unsigned char *d = kernel_at(g, j->desc), *r = kernel_at(g, j->regions);
	npu_u32 i;

	memset(d, 0, 128);
	put64(d, 0, id);
	put64(d, 8, stream);
	put32(d, 16, stream_size);
	put32(d, 20, num_regions);
	put32(d, 24, j->regions);
	for (i = 0; i < num_regions; i++, r += 24) {
		put64(r, 0, region[i].base);
		put64(r, 8, region[i].size);
		put32(r, 16, region[i].access);
		put32(r, 20, 0);
	}
}

void unit_set(struct guest *g, unsigned int n, npu_u32 queue, const struct guest_job *j,
	      npu_u32 budget)
{
	struct npu_unit *unit = &g->core->unit[n];

	npu_unit_write(unit, 0x08, queue);
	npu_unit_write(unit, 0x0c, j->desc);
	npu_unit_write(unit, 0x10, j->result);
	npu_unit_write(unit, 0x14, j->save);
	npu_unit_write(unit, 0x18, budget);
}

void unit_cmd(struct guest *g, unsigned int n, npu_u32 cmd)
{
	npu_unit_write(&g->core->unit[n], 0, cmd);
}

npu_u32 unit_reg(struct guest *g, unsigned int n, npu_u32 offset)
{
	npu_u32 value = ~0u;

	npu_unit_read(&g->core->unit[n], offset, &value);
	return value;
}

npu_u32 unit_wait(struct guest *g, unsigned int n)
{
	unsigned int us = 10, total;
	npu_u32 state;

	/* Ever less often: who asks too much takes the processor from the engine. */
	for (total = 0; total < 60000000; total += us) {
		state = unit_reg(g, n, 4);
		if (state != 1 && state != 6)
			return state;
		usleep(us);
		us = us < 2000 ? us * 2 : us;
	}
	return state;
}

npu_u32 job_run(struct guest *g, unsigned int n, npu_u32 queue, const struct guest_job *j)
{
	unit_set(g, n, queue, j, ~0u);
	unit_cmd(g, n, 1);
	return unit_wait(g, n);
}

npu_u32 result32(struct guest *g, const struct guest_job *j, unsigned int offset)
{
	return get32(kernel_at(g, j->result), offset);
}
