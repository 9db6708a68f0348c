// SPDX-License-Identifier: MIT
/*
 * What the engine's threads cost when there is nothing for them to do: a look around behind the
 * last work where there are processors for it, nothing where there are not. By the processor time
 * of the process, which other load on the machine does not add to.
 */
#include <limits.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include "../tap.h"
#include "npu_isa.h"
#include "run.h"

#define ROUNDS		50u
#define TRIES		4u
#define PAUSE_US	1000u
#define LOOK_NS		100000u
/* What the caller waits for helpers that the host does not let run. */
#define PATIENCE	500u

static npu_u64 process_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (npu_u64)ts.tv_sec * 1000000000 + (npu_u64)ts.tv_nsec;
}

struct counts {
	atomic_uint calls, slots;
	atomic_uint helpers;		/* of this piece of work */
};

/* The caller stays until a helper has come, who has worked then. */
static void count(void *arg, unsigned int slot)
{
	struct counts *counts = arg;
	unsigned int i;

	atomic_fetch_add(&counts->calls, 1);
	atomic_fetch_or(&counts->slots, 1u << slot);
	if (slot)
		atomic_fetch_add(&counts->helpers, 1);
	for (i = 0; !slot && i < PATIENCE && !atomic_load(&counts->helpers); i++)
		usleep(20);
}

/* Pieces of work with a pause behind each: ns of processor time for one; 0: something was wrong. */
static npu_u64 round_ns(struct npu_thread_pool *pool)
{
	unsigned int threads = pool->num_threads + 1, i;
	struct counts counts = { 0 };
	struct npu_batch batch;
	npu_u64 start, ns;

	if (npu_batch_init(&batch))
		return 0;
	batch.fn = count;
	batch.arg = &counts;
	batch.num_slots = threads;
	start = process_ns();
	for (i = 0; i < ROUNDS; i++) {
		atomic_store(&counts.helpers, 0);
		npu_pool_run(pool, &batch);
		usleep(PAUSE_US);
	}
	ns = (process_ns() - start) / ROUNDS;
	npu_batch_fini(&batch);
	/* The caller is slot 0 each time; helpers come when they can. */
	if (counts.calls <= ROUNDS || counts.calls > ROUNDS * threads || !(counts.slots & 1) ||
	    counts.slots >> threads)
		return 0;
	return ns;
}

struct extremes {
	npu_u64 least, most;
};

/* Of some tries; 0 when one was wrong. */
static struct extremes tries_ns(struct npu_thread_pool *pool)
{
	struct extremes e = { .least = ~0ull };
	unsigned int i;
	npu_u64 ns;

	for (i = 0; i < TRIES; i++) {
		ns = round_ns(pool);
		if (!ns)
			return (struct extremes){ 0 };
		e.least = ns < e.least ? ns : e.least;
		e.most = ns > e.most ? ns : e.most;
	}
	return e;
}

static void check_idle(const char *where)
{
	npu_u64 idle;

	/* The last look is over. */
	usleep(PAUSE_US);
	idle = process_ns();
	usleep(100000);
	idle = process_ns() - idle;
	tap_ok(idle < 1000000, "%s: %llu us in 100 ms without work", where,
	       (unsigned long long)idle / 1000);
}

/*
 * In a pool of @threads with one caller that is for @callers nobody looks, which it would cost much
 * more to do.
 */
static void test_without_looks(unsigned int threads, unsigned int callers, const char *where)
{
	struct npu_thread_pool pool;
	npu_u64 without, with;

	if (!tap_ok(!npu_pool_init(&pool, threads - 1, callers), "%u threads %s", threads,
		    where))
		return;
	without = tries_ns(&pool).least;
	check_idle(where);
	pool.looks = true;
	with = tries_ns(&pool).most;
	tap_ok(without && without < with / 2,
	       "%s: %llu us of processor time for a piece of work, with a look %llu", where,
	       (unsigned long long)without / 1000, (unsigned long long)with / 1000);
	npu_pool_fini(&pool, false);
}

/* Who has worked looks, for a bounded time. */
static void test_with_looks(void)
{
	const unsigned int threads = 2;
	struct npu_thread_pool pool;
	struct extremes with;
	npu_u64 without;

	if (npu_pool_processors() < threads) {
		tap_skip("a look behind the work", "there is one processor");
		return;
	}
	if (!tap_ok(!npu_pool_init(&pool, threads - 1, 1), "a pool"))
		return;
	with = tries_ns(&pool);
	check_idle("a processor each");
	pool.looks = false;
	without = tries_ns(&pool).most;
	tap_ok(with.most > LOOK_NS / 2 && with.least < without + threads * LOOK_NS,
	       "a processor each: %llu to %llu us of processor time for a piece of work, %llu "
	       "without a look", (unsigned long long)with.least / 1000,
	       (unsigned long long)with.most / 1000, (unsigned long long)without / 1000);
	npu_pool_fini(&pool, false);
}

/* All threads that are made from here on have one processor. */
static void test_one_processor(void)
{
	cpu_set_t all, one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	if (sched_getaffinity(0, sizeof(all), &all) || sched_setaffinity(0, sizeof(one), &one)) {
		tap_skip("one processor", "the processors of a thread can not be set");
		return;
	}
	tap_ok(npu_pool_processors() == 1, "one processor");
	test_without_looks(2, 1, "on one processor");
	sched_setaffinity(0, sizeof(all), &all);
}

/* Helpers and callers together are what there have to be processors for. */
static void test_callers(unsigned int processors)
{
	const struct {
		unsigned int threads, callers;
		bool looks;
	} cases[] = {
		{ processors, 0, true },
		{ processors, 1, true },
		{ processors, 2, false },
		{ processors + 1, 1, false },
		{ 1, processors, true },
		{ 1, processors + 1, false },
		{ 1, UINT_MAX, false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct npu_engine_config config = { .threads = cases[i].threads,
						    .callers = cases[i].callers };
		struct npu_engine *engine;

		if (!tap_ok(!npu_engine_create(&config, &engine), "an engine"))
			continue;
		tap_ok(engine->pool.looks == cases[i].looks,
		       "%u threads for %u callers on %u processors: %s looks", config.threads,
		       config.callers, processors, cases[i].looks ? "who has worked" : "nobody");
		npu_engine_destroy(engine);
	}
}

int main(void)
{
	unsigned int processors = npu_pool_processors();

	test_with_looks();
	test_one_processor();
	if (processors < 16)
		test_without_looks(2 * processors, 1, "twice as many as processors");
	if (processors > 1 && processors < 16)
		test_without_looks(processors, 2, "as many as processors, for two callers");
	if (processors < NPU_ENGINE_MAX_THREADS)
		test_callers(processors);
	return tap_done();
}
