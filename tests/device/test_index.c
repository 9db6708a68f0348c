// SPDX-License-Identifier: MIT
/* The sorted table of ranges, beside a plain array. */
#include <stdlib.h>
#include <string.h>
#include "tap.h"
#include "tools/vnpu/device/dma_index.h"

#define MAX	4096u

static struct dma_entry model[MAX];
static unsigned int num;
static unsigned int seed = 7;

static unsigned int rnd(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static int compare(const void *a, const void *b)
{
	const struct dma_entry *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static bool overlaps(npu_u64 first, npu_u64 last)
{
	unsigned int i;

	for (i = 0; i < num; i++)
		if (model[i].first <= last && model[i].last >= first)
			return true;
	return false;
}

/* Both have the same entries in the same order, and no block is empty or too many. */
static bool same(const struct dma_index *ix)
{
	struct dma_pos pos;
	struct dma_entry *e = dma_index_find(ix, 0, &pos);
	unsigned int i;

	qsort(model, num, sizeof(*model), compare);
	for (i = 0; i < num && e; i++, e = dma_index_next(ix, &pos))
		if (e->first != model[i].first || e->last != model[i].last ||
		    e->slot != model[i].slot)
			return false;
	for (i = 0; i < ix->num_blocks; i++)
		if (!ix->block[i]->num)
			return false;
	return !e && i == ix->num_blocks && ix->num_blocks <= num / 16 + 1;
}

static bool find_check(const struct dma_index *ix, npu_u64 addr)
{
	const struct dma_entry *want = NULL, *got;
	struct dma_pos pos;
	unsigned int i;

	for (i = 0; i < num; i++)
		if (model[i].last >= addr && (!want || model[i].first < want->first))
			want = &model[i];
	got = dma_index_find(ix, addr, &pos);
	return want ? got && got->slot == want->slot : !got;
}

static void add(struct dma_index *ix, npu_u64 first, npu_u64 last)
{
	static unsigned int slot;

	if (num == MAX || overlaps(first, last))
		return;
	model[num] = (struct dma_entry){ .first = first, .last = last, .slot = slot++ };
	if (!dma_index_insert(ix, &model[num]))
		num++;
}

static void drop(struct dma_index *ix, unsigned int i)
{
	struct dma_pos pos;

	dma_index_find(ix, model[i].first, &pos);
	dma_index_remove(ix, &pos);
	model[i] = model[--num];
}

static void random_test(void)
{
	struct dma_index ix;
	unsigned int i, wrong = 0, n = tap_cases(20000);
	npu_u64 first;

	dma_index_init(&ix);
	for (i = 0; i < n; i++) {
		/* Grows and shrinks by turns. */
		if (num && rnd(100) < (i / 2000 % 2 ? 70 : 30)) {
			drop(&ix, rnd(num));
		} else {
			first = rnd(1 << 16) * 4096ull;
			add(&ix, first, first + (1 + rnd(8)) * 4096ull - 1);
		}
		wrong += !find_check(&ix, rnd(1 << 16) * 4096ull + rnd(4096));
		wrong += i % 500 == 0 && !same(&ix);
	}
	tap_ok(!wrong, "%u random changes, %u differences", n, wrong);
	while (num)
		drop(&ix, rnd(num));
	tap_ok(same(&ix) && !ix.num_blocks, "empty in the end");
	dma_index_fini(&ix);
}

static void order_test(const char *how, int up)
{
	struct dma_index ix;
	unsigned int i;
	struct dma_pos pos;

	dma_index_init(&ix);
	num = 0;
	for (i = 0; i < MAX; i++) {
		npu_u64 at = (up ? i : MAX - 1 - i) * 8192ull;

		add(&ix, at, at + 4095);
	}
	tap_ok(num == MAX && same(&ix), "%u entries, %s: %u blocks", num, how, ix.num_blocks);
	for (i = 0; i < MAX - 64; i++)
		drop(&ix, rnd(num));
	tap_ok(same(&ix), "less most of them: %u blocks", ix.num_blocks);
	add(&ix, UINT64_MAX - 4095, UINT64_MAX);
	tap_ok(dma_index_find(&ix, UINT64_MAX, &pos) != NULL, "the last address of all");
	dma_index_fini(&ix);
}

int main(void)
{
	random_test();
	order_test("upwards", 1);
	order_test("downwards", 0);
	return tap_done();
}
