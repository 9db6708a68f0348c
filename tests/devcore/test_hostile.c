// SPDX-License-Identifier: MIT
/*
 * Streams, indices and page tables that change while jobs run. Between the pages that a context may
 * touch lie ones that it may not: those must be as they were, and the device must be alive.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../tap.h"
#include "small.h"

#define PAGE	4096u
#define ROWS	300u
#define COLS	200u
#define PICKS	256u
#define DATA	0x20000000ull
#define INDEX	0x28000000ull
#define OUT	0x30000000ull
#define CONTEXT	7u
#define QUEUE	7u
#define SPOILED	28u		/* pages whose entries change */
#define POOL	64u		/* pages that they may lead to then */

static npu_u32 canary[4096], num_canaries;

/* Pages with a forbidden one behind each. */
static void map_apart(struct guest *g, npu_u64 va, npu_u64 bytes, npu_u32 perms)
{
	npu_u64 at;
	npu_u32 page;

	for (at = 0; at < bytes; at += PAGE) {
		page = guest_alloc(g, 2);
		table_set(g, CONTEXT, va + at, 0, page_iova(page) | perms | 0x11);
		memset(guest_page(g, page + 1), 0xc5, PAGE);
		canary[num_canaries++] = page + 1;
	}
}

static unsigned int canaries_dead(struct guest *g)
{
	static unsigned char want[PAGE];
	unsigned int i, dead = 0;

	memset(want, 0xc5, PAGE);
	for (i = 0; i < num_canaries; i++)
		dead += memcmp(guest_page(g, canary[i]), want, PAGE) != 0;
	return dead;
}

struct hostile {
	struct guest *g;
	struct stream s;
	struct guest_job job;
	atomic_bool quit;
	void (*spoil)(struct hostile *h, npu_u32 *seed);
	npu_u32 pool;
	/* Of the spoiling thread until it is joined. */
	unsigned int led_astray, moved, moved_late;
	npu_u64 keep[SPOILED];
};

static npu_u32 next(npu_u32 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed >> 8;
}

/* Where byte @at of [va, ...) lies, by the tables as they were set up. */
static volatile npu_u32 *word_at(struct guest *g, npu_u64 va)
{
	npu_u64 *e = table_entry(g, CONTEXT, va, 0);
	npu_u64 iova = (*e & 0x000ffffffffff000ull) - FAKE_IOVA_BASE;

	return (npu_u32 *)(g->dev->mem + iova + va % PAGE);
}

static void spoil_stream(struct hostile *h, npu_u32 *seed)
{
	static const npu_u32 odd[] = { 0, 1, 2, 0x7fffffff, 0x80000000, ~0u, 4096, 0x10000 };
	npu_u32 words = h->s.used, at = next(seed) % words, value;

	switch (next(seed) % 4) {
	case 0:
		value = h->s.words[at] ^ 1u << next(seed) % 32;
		break;
	case 1:
		value = odd[next(seed) % 8];
		break;
	case 2:
		value = h->s.words[next(seed) % words];
		break;
	default:
		value = next(seed) % 300;
	}
	*word_at(h->g, SMALL_STREAM + 4 * at) = value;
	if (next(seed) % 16)
		*word_at(h->g, SMALL_STREAM + 4 * at) = h->s.words[at];
	at = next(seed) % PICKS;
	*word_at(h->g, INDEX + 4 * at) = next(seed) % 16 ? next(seed) % ROWS : next(seed) - 8000000;
	if (next(seed) % 16)
		*word_at(h->g, INDEX + 4 * at) = next(seed) % ROWS;
}

/* Or no job would ever get done. */
static void mend(struct hostile *h)
{
	npu_u64 at;
	npu_u32 i;

	for (i = 0; i < h->s.used; i++)
		*word_at(h->g, SMALL_STREAM + 4 * i) = h->s.words[i];
	for (i = 0; i < PICKS; i++)
		*word_at(h->g, INDEX + 4 * i) = i % ROWS;
	for (i = 0; i < SPOILED; i++) {
		at = (i % 2 ? DATA : OUT) + (npu_u64)(i / 2) * PAGE;
		if (h->keep[i])
			__atomic_store_n(table_entry(h->g, CONTEXT, at, 0), h->keep[i],
					 __ATOMIC_RELEASE);
	}
}

/* Is @entry for memory of the guest that these tables must not lead to? */
static bool leads_astray(const struct hostile *h, npu_u64 entry)
{
	npu_u64 page = ((entry & 0x000ffffffffff000ull) - FAKE_IOVA_BASE) / PAGE;

	return page < FAKE_PAGES && (page < h->pool || page >= h->pool + POOL);
}

/*
 * What a hostile kernel may do to its own tables. Not to a forbidden page, nor to the tables: what
 * is written there then is allowed, or anything may come of it.
 */
static void spoil_tables(struct hostile *h, npu_u32 *seed)
{
	npu_u32 i = next(seed) % SPOILED;
	npu_u64 va = (i % 2 ? DATA : OUT) + (npu_u64)(i / 2) * PAGE, entry, flip;
	npu_u64 *e = table_entry(h->g, CONTEXT, va, 0);

	if (!h->keep[i])
		h->keep[i] = *e;

	entry = page_iova(h->pool + next(seed) % POOL) | (next(seed) & 7) << 1 | 0x11;
	flip = 1ull << next(seed) % 64;
	if (!(next(seed) % 4) && !leads_astray(h, entry ^ flip))
		entry ^= flip;
	h->led_astray += leads_astray(h, entry);
	__atomic_store_n(e, entry, __ATOMIC_RELEASE);
	if (!(next(seed) % 8))
		reg_write(h->g, 0xd4, next(seed));
	if (next(seed) % 16)
		__atomic_store_n(e, h->keep[i], __ATOMIC_RELEASE);
}

/*
 * Pages that jobs write move elsewhere. From the acknowledgement on the old place is forbidden,
 * until the page moves back.
 */
static void move_page(struct hostile *h, npu_u32 *seed)
{
	static unsigned char want[PAGE];
	npu_u32 to = h->pool + next(seed) % POOL;
	npu_u64 va = OUT + (npu_u64)(next(seed) % (SPOILED / 2)) * PAGE;
	npu_u64 *e = table_entry(h->g, CONTEXT, va, 0), old = *e;
	npu_u32 from = (npu_u32)(((old & 0x000ffffffffff000ull) - FAKE_IOVA_BASE) / PAGE);

	memset(want, 0x3c, PAGE);
	__atomic_store_n(e, page_iova(to) | P_R | P_W | 0x11, __ATOMIC_RELEASE);
	if (guest_invalidate(h->g, CONTEXT, va + next(seed) % PAGE, 1)) {
		memset(guest_page(h->g, from), 0x3c, PAGE);
		usleep(next(seed) % 1000);
		h->moved_late += memcmp(guest_page(h->g, from), want, PAGE) != 0;
		h->moved++;
	}
	__atomic_store_n(e, old, __ATOMIC_RELEASE);
	guest_invalidate(h->g, CONTEXT, va, PAGE);
}

static void *spoiler(void *arg)
{
	struct hostile *h = arg;
	npu_u32 seed = 4711;

	while (!atomic_load(&h->quit)) {
		h->spoil(h, &seed);
		if (next(&seed) % 32)
			continue;
		usleep(50);
		mend(h);
		usleep(200);
	}
	return NULL;
}

static void setup(struct hostile *h)
{
	const struct npu_region region[3] = {
		{ DATA, ROWS * COLS, NPU_ACCESS_READ | NPU_ACCESS_WRITE, 0 },
		{ INDEX, PICKS * 4, NPU_ACCESS_READ, 0 },
		{ OUT, 1 << 17, NPU_ACCESS_READ | NPU_ACCESS_WRITE, 0 },
	};
	struct guest *g = h->g;
	unsigned int i;

	guest_context(g, CONTEXT);
	reg_write(g, 0x3000 + 4 * QUEUE, CONTEXT | 0x80000000u);
	stream_begin(&h->s, 3);
	for (i = 0; i < 4; i++) {
		stream_gather(&h->s, 2, 0, 1, PICKS, ROWS, COLS);
		stream_copy(&h->s, 2, 0x10000, 0, 16 * i, 50000);
		stream_matmul(&h->s, 2, 0, 0, 64);
	}
	stream_end(&h->s);
	map_apart(g, SMALL_STREAM, stream_bytes(&h->s), P_X);
	guest_copy(g, CONTEXT, SMALL_STREAM, h->s.words, stream_bytes(&h->s), true);
	map_apart(g, DATA, ROWS * COLS, P_R | P_W);
	map_apart(g, INDEX, PICKS * 4, P_R);
	map_apart(g, OUT, 1 << 17, P_R | P_W);
	h->pool = guest_alloc(g, POOL);
	job_alloc(g, &h->job);
	job_fill(g, &h->job, 1, SMALL_STREAM, stream_bytes(&h->s), region, 3);
}

struct ends {
	unsigned int of[8];		/* jobs by state */
	unsigned int codes;		/* faults of different kinds */
};

/* Jobs in slices, saved and restored now and then, while the other thread is at work. */
static void hammer(struct hostile *h, unsigned int jobs, struct ends *ends)
{
	npu_u32 seed = 1, seen = 0;
	unsigned int i, state;
	pthread_t thread;

	memset(ends, 0, sizeof(*ends));
	atomic_store(&h->quit, false);
	pthread_create(&thread, NULL, spoiler, h);
	for (i = 0; i < jobs; i++) {
		unit_set(h->g, 0, QUEUE, &h->job, next(&seed) % 2 ? ~0u : 0);
		unit_cmd(h->g, 0, CMD_START);
		while ((state = unit_wait(h->g, 0)) == YIELDED) {
			if (next(&seed) % 4) {
				unit_cmd(h->g, 0, CMD_CONTINUE);
				continue;
			}
			unit_cmd(h->g, 0, CMD_SAVE);
			unit_wait(h->g, 0);
			unit_cmd(h->g, 0, CMD_RESTORE);
		}
		ends->of[state]++;
		if (state == FAULT && !(seen >> result32(h->g, &h->job, RESULT_FAULT) & 1)) {
			seen |= 1u << result32(h->g, &h->job, RESULT_FAULT);
			ends->codes++;
		}
		unit_cmd(h->g, 0, CMD_RELEASE);
	}
	atomic_store(&h->quit, true);
	pthread_join(thread, NULL);
}

static void test_spoil(struct hostile *h, const char *what,
		       void (*spoil)(struct hostile *h, npu_u32 *seed))
{
	struct ends ends;
	unsigned int dead;

	h->spoil = spoil;
	hammer(h, tap_cases(3000), &ends);
	dead = canaries_dead(h->g);
	tap_ok(!dead && ends.of[DONE] && ends.of[FAULT] && !ends.of[ERROR],
	       "%s: %u jobs done, %u faulted in %u ways, %u of %u forbidden pages changed", what,
	       ends.of[DONE], ends.of[FAULT], ends.codes, dead, num_canaries);
}

static void test_moves(struct hostile *h, bool mutant)
{
	struct ends ends;

	h->spoil = move_page;
	h->moved = h->moved_late = 0;
	atomic_store(&h->g->dev->armed[NPU_VDEV_MUTANT_IGNORE_INV], mutant ? -1 : 0);
	hammer(h, tap_cases(1000), &ends);
	atomic_store(&h->g->dev->armed[NPU_VDEV_MUTANT_IGNORE_INV], 0);
	guest_invalidate(h->g, CONTEXT, 0, 0);
	tap_ok(h->moved && ends.of[DONE] && !ends.of[FAULT] && !ends.of[ERROR] &&
		       !h->moved_late == !mutant,
	       "pages that move%s: %u jobs done, %u of %u pages written after the acknowledgement",
	       mutant ? ", a device that forgets nothing" : "", ends.of[DONE], h->moved_late,
	       h->moved);
}

int main(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	static struct hostile h;
	static struct small good;
	struct guest g;
	npu_u32 state;

#if defined(__SANITIZE_THREAD__)
	tap_skip("hostile streams", "races are what this is about");
	return tap_done();
#endif
	config.threads = 2;
	config.sram_size = 64 << 10;
	guest_init(&g, &config);
	h.g = &g;
	setup(&h);
	state = job_run(&g, 0, QUEUE, &h.job);
	tap_ok(state == DONE, "the job before anything changes: fault %u of instruction %u",
	       result32(&g, &h.job, RESULT_FAULT), result32(&g, &h.job, RESULT_FAULT + 4));
	unit_cmd(&g, 0, CMD_RELEASE);
	small_init(&g, &good, 1, 1);
	test_moves(&h, false);
	test_moves(&h, true);
	test_spoil(&h, "streams and indices that change", spoil_stream);
	guest_copy(&g, CONTEXT, SMALL_STREAM, h.s.words, stream_bytes(&h.s), true);
	reg_write64(&g, 0xc0, 0);
	reg_write64(&g, 0xc8, 0);
	reg_write(&g, 0xd0, CONTEXT);
	test_spoil(&h, "page tables that change", spoil_tables);
	tap_ok(!h.led_astray, "none of the tables led to a page that was forbidden: %u did",
	       h.led_astray);
	usleep(10000);
	tap_ok(small_run(&g, &good) == DONE && small_right(&g, &good), "then a good job runs");
	guest_fini(&g);
	return tap_done();
}
