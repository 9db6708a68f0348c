// SPDX-License-Identifier: MIT
/*
 * Each mutant turns a check red that is green without it: the checks are the ones that tests of
 * isolation and invalidation rest on.
 */
#include <string.h>
#include "../tap.h"
#include "small.h"

#define PAGE	4096u
#define FLAG	0x77777777u

static struct small job[2];

static void fresh(struct guest *g)
{
	unsigned int i;

	for (i = 0; i < NPU_VDEV_NUM_FAULTS; i++)
		atomic_store(&g->dev->armed[i], 0);
	atomic_store(&g->dev->bus_master, true);
	reg_write(g, 0x70, 1);
	guest_restart(g);
	small_init(g, &job[0], 1, 1);
	small_init(g, &job[1], 2, 2);
}

/* Behind an invalidation a job sees the new page. */
static bool check_invalidate(struct guest *g)
{
	unsigned char zero[4] = { 0 }, got[4];
	npu_u32 page;

	if (small_run(g, &job[0]) != DONE)
		return false;
	page = guest_alloc(g, 1);
	table_set(g, 1, SMALL_IN, 0, page_iova(page) | P_R | 0x11);
	guest_invalidate(g, 1, SMALL_IN, PAGE);
	if (small_run(g, &job[0]) != DONE)
		return false;
	guest_copy(g, 1, SMALL_OUT, got, 4, false);
	return !memcmp(got, zero, 4);
}

/* A job can not write where its context may only read. */
static bool check_readonly(struct guest *g)
{
	unsigned char before[64], after[64];

	job[0].region[1] = (struct npu_region){ SMALL_STREAM - (1 << 20), SMALL_BYTES, 3, 0 };
	guest_map(g, 1, SMALL_STREAM - (1 << 20), SMALL_BYTES, P_R, true);
	small_fill(g, &job[0]);
	guest_copy(g, 1, SMALL_STREAM - (1 << 20), before, 64, false);
	if (small_run(g, &job[0]) == DONE)
		return false;
	guest_copy(g, 1, SMALL_STREAM - (1 << 20), after, 64, false);
	return !memcmp(before, after, 64);
}

/* On-chip memory of one job is not there for the next one. */
static bool check_scrub(struct guest *g)
{
	static struct small peek;
	unsigned char byte[64], zero[64] = { 0 };

	small_init(g, &peek, 3, 3);
	stream_begin(&peek.s, 4);
	stream_copy(&peek.s, 3, 0, 2, 0, 65536);
	stream_end(&peek.s);
	guest_copy(g, 3, SMALL_STREAM, peek.s.words, stream_bytes(&peek.s), true);
	small_fill(g, &peek);
	if (small_run(g, &job[0]) != DONE || small_run(g, &peek) != DONE)
		return false;
	guest_copy(g, 3, peek.region[3].base + 4096 + 100, byte, 64, false);
	return !memcmp(byte, zero, 64);
}

/* Contexts with the same addresses have memory of their own. */
static bool check_contexts(struct guest *g)
{
	return small_run(g, &job[0]) == DONE && small_run(g, &job[1]) == DONE &&
	       small_right(g, &job[0]) && small_right(g, &job[1]);
}

/* No DMA while bus mastering is off. */
static bool check_bus_master(struct guest *g)
{
	npu_u32 state;

	if (small_run(g, &job[0]) != DONE)
		return false;
	small_spoil(g, &job[0]);
	put32(kernel_at(g, job[0].job.result), 0, FLAG);
	atomic_store(&g->dev->bus_master, false);
	npu_vdev_core.bus_master(g->core, false);
	state = small_run(g, &job[0]);
	atomic_store(&g->dev->bus_master, true);
	npu_vdev_core.bus_master(g->core, true);
	return state == ERROR && result32(g, &job[0].job, 0) == FLAG && !small_right(g, &job[0]) &&
	       small_run(g, &job[0]) == DONE && small_right(g, &job[0]);
}

int main(void)
{
	static const struct {
		const char *what;
		enum npu_vdev_fault mutant;
		bool (*check)(struct guest *g);
	} cases[] = {
		{ "an invalidation", NPU_VDEV_MUTANT_IGNORE_INV, check_invalidate },
		{ "read-only pages", NPU_VDEV_MUTANT_IGNORE_RO, check_readonly },
		{ "on-chip memory between jobs", NPU_VDEV_MUTANT_SKIP_SCRUB, check_scrub },
		{ "contexts", NPU_VDEV_MUTANT_MIX_CONTEXTS, check_contexts },
		{ "bus mastering", NPU_VDEV_MUTANT_IGNORE_BME, check_bus_master },
	};
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	struct guest g;
	unsigned int i, k;
	bool good, bad;

	config.threads = 1;
	config.sram_size = 128 << 10;
	guest_init(&g, &config);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fresh(&g);
		good = cases[i].check(&g);
		tap_ok(good, "%s", cases[i].what);
		fresh(&g);
		atomic_store(&g.dev->armed[cases[i].mutant], -1);
		bad = cases[i].check(&g);
		tap_ok(!bad, "%s: red with the mutant", cases[i].what);
		/* And with no other one. */
		for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
			if (k == i)
				continue;
			fresh(&g);
			atomic_store(&g.dev->armed[cases[k].mutant], -1);
			tap_ok(cases[i].check(&g), "%s: green with the mutant of %s", cases[i].what,
			       cases[k].what);
		}
	}
	fresh(&g);
	guest_fini(&g);
	return tap_done();
}
