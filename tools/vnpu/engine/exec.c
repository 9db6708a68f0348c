// SPDX-License-Identifier: MIT
/* What opcode implementations use while they run: sharing out work, scratch, faults, counters. */
#include <stdarg.h>
#include <stdio.h>
#include "fpenv.h"
#include "run.h"

/*
 * Chunks: long enough that taking one is nothing, short enough to balance and to notice the stop
 * flag.
 */
#define CHUNK_MAX_NS	200e3
#define CHUNK_MIN_NS	2e3
/*
 * Waking a helper costs some ten microseconds: what is not several times that stays with the
 * caller. One that has just worked is awake for a while (pool.c), and takes part at once.
 */
#define PARALLEL_MIN_NS		30e3
#define PARALLEL_AWAKE_NS	7e3

static bool cut_wanted(const struct npu_run *run)
{
	if (atomic_load_explicit(&run->cut, memory_order_relaxed))
		return true;
	return run->stop && atomic_load_explicit(run->stop, memory_order_relaxed);
}

bool npu_exec_stopped(const struct npu_exec *x)
{
	if (!cut_wanted(x->run))
		return false;
	/*
	 * Who asked will leave its chunk unfinished: the instruction is not done even if no chunk
	 * is left.
	 */
	atomic_store_explicit(&x->run->unfinished, true, memory_order_relaxed);
	return true;
}

/*
 * The next piece of the range: a share of what is left, so that pieces get smaller towards the end.
 */
static bool chunk_claim(struct npu_run *run, npu_u64 *begin, npu_u64 *end)
{
	npu_u64 pos = atomic_load_explicit(&run->next_item, memory_order_relaxed);
	npu_u64 left, size;

	do {
		if (pos >= run->num_items)
			return false;
		left = run->num_items - pos;
		size = left / (2 * run->engine->num_workers);
		size = size < run->min_chunk ? run->min_chunk :
		       size > run->max_chunk ? run->max_chunk :
					       size;
		size = (size + run->align - 1) / run->align * run->align;
		if (size > left)
			size = left;
	} while (!atomic_compare_exchange_weak_explicit(&run->next_item, &pos, pos + size,
							memory_order_relaxed,
							memory_order_relaxed));
	*begin = pos;
	*end = pos + size;
	return true;
}

static void chunks_run(void *arg, unsigned int worker)
{
	struct npu_run *run = arg;
	npu_u64 begin, end;

	while (!cut_wanted(run) && chunk_claim(run, &begin, &end)) {
		run->chunk_fn(&run->exec, run->chunk_arg, worker, begin, end);
		if (run->progress)
			atomic_fetch_add_explicit(run->progress, 1, memory_order_relaxed);
	}
}

/* Threads of the caller's pool may have any floating-point environment. */
static void chunks_run_foreign(void *arg, unsigned int worker)
{
	npu_fpenv old = npu_fpenv_enter();

	chunks_run(arg, worker);
	npu_fpenv_leave(old);
}

static npu_u64 chunk_items(double ns, double item_ns, npu_u64 align)
{
	double n = item_ns > 0 ? ns / item_ns : 1e18;

	if (n > 1e18)
		n = 1e18;
	return n < (double)align ? align : (npu_u64)n;
}

static int run_result(struct npu_run *run)
{
	if (run->fault.code)
		return -EFAULT;
	if (atomic_load_explicit(&run->unfinished, memory_order_relaxed))
		return -EINTR;
	/* A stop that came after the last chunk changes nothing: the work is done. */
	return atomic_load_explicit(&run->next_item, memory_order_relaxed) < run->num_items ?
		       -EINTR :
		       0;
}

/*
 * Whether work of @ns is shared out. Where everything is too short to wake anybody, somebody is
 * woken all the same when so much of it has come together that this would have paid.
 */
static bool is_shared(struct npu_run *run, double ns)
{
	struct npu_engine *engine = run->engine;

	if (ns >= PARALLEL_MIN_NS)
		return true;
	if (ns < PARALLEL_AWAKE_NS || engine->config.parallel_for)
		return false;
	if (npu_pool_is_awake(&engine->pool))
		return true;
	run->alone_ns += ns;
	if (run->alone_ns < PARALLEL_MIN_NS)
		return false;
	run->alone_ns = 0;
	return true;
}

int npu_exec_parallel_aligned(struct npu_exec *x, npu_u64 n, npu_u64 align, double item_ns,
			      npu_chunk_fn fn, void *arg)
{
	struct npu_run *run = x->run;
	struct npu_engine *engine = run->engine;

	if (!n)
		return 0;
	run->chunk_fn = fn;
	run->chunk_arg = arg;
	run->num_items = n;
	run->align = align ? align : 1;
	run->min_chunk = chunk_items(CHUNK_MIN_NS, item_ns, run->align);
	run->max_chunk = chunk_items(CHUNK_MAX_NS, item_ns, run->align);
	atomic_store_explicit(&run->next_item, 0, memory_order_relaxed);
	atomic_store_explicit(&run->unfinished, false, memory_order_relaxed);
	if (x->num_workers == 1 || n <= run->align || !is_shared(run, (double)n * item_ns)) {
		npu_exec_path(x, NPU_PATH_SERIAL);
		/*
		 * Nobody to balance with; a chunk may have to fetch again what the one before it
		 * had at hand.
		 */
		run->min_chunk = run->max_chunk;
		chunks_run(run, 0);
		return run_result(run);
	}
	npu_exec_path(x, NPU_PATH_PARALLEL);
	if (engine->config.parallel_for) {
		engine->config.parallel_for(engine->config.parallel_ctx, x->num_workers,
					    chunks_run_foreign, run);
		return run_result(run);
	}
	run->batch.fn = chunks_run;
	run->batch.arg = run;
	run->batch.num_slots = x->num_workers;
	npu_pool_run(&engine->pool, &run->batch);
	return run_result(run);
}

int npu_exec_parallel(struct npu_exec *x, npu_u64 n, double item_ns, npu_chunk_fn fn, void *arg)
{
	return npu_exec_parallel_aligned(x, n, 1, item_ns, fn, arg);
}

int npu_exec_reserve(struct npu_exec *x, size_t bytes)
{
	unsigned int i;

	for (i = 0; i < x->num_workers; i++)
		if (npu_arena_grow(&x->run->arena[i], bytes))
			return -ENOMEM;
	return 0;
}

void *npu_exec_scratch(struct npu_exec *x, unsigned int worker)
{
	return x->run->arena[worker].mem;
}

int npu_exec_reserve_shared(struct npu_exec *x, size_t bytes)
{
	return npu_arena_grow(&x->run->shared, bytes);
}

void *npu_exec_shared(struct npu_exec *x)
{
	return x->run->shared.mem;
}

int npu_exec_fault(struct npu_exec *x, npu_u64 order, enum npu_fault_code code, npu_u32 slot,
		   npu_u32 field, npu_s64 value, const char *fmt, ...)
{
	struct npu_run *run = x->run;
	va_list ap;

	pthread_mutex_lock(&run->fault_lock);
	if (!run->fault.code || order < run->fault_order) {
		run->fault_order = order;
		run->fault.code = code;
		run->fault.operand = slot;
		run->fault.field = field;
		run->fault.value = value;
		va_start(ap, fmt);
		vsnprintf(run->fault_text, sizeof(run->fault_text), fmt, ap);
		va_end(ap);
	}
	pthread_mutex_unlock(&run->fault_lock);
	/*
	 * Chunks are claimed in rising order, so every chunk before this one has been taken and
	 * will report its own: the lowest culprit is found whatever the timing, as long as chunks
	 * do not end early for a cut.
	 */
	atomic_store_explicit(&run->cut, true, memory_order_relaxed);
	return -EFAULT;
}

void npu_exec_path(struct npu_exec *x, enum npu_path path)
{
	atomic_fetch_add_explicit(&x->run->engine->path[path], 1, memory_order_relaxed);
}
