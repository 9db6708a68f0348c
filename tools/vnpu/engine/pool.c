// SPDX-License-Identifier: MIT
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fpenv.h"
#include "npu_isa.h"
#include "pool.h"

static void batch_remove(struct npu_thread_pool *pool, struct npu_batch *batch)
{
	struct npu_batch **p;

	for (p = &pool->open; *p; p = &(*p)->next) {
		if (*p == batch) {
			*p = batch->next;
			atomic_fetch_sub_explicit(&pool->num_open, 1, memory_order_relaxed);
			return;
		}
	}
}

/* Called and left with the lock held. */
static void batch_join(struct npu_thread_pool *pool, struct npu_batch *batch)
{
	unsigned int slot = batch->next_slot++;

	if (batch->next_slot == batch->num_slots)
		batch_remove(pool, batch);
	atomic_fetch_add(&batch->active, 1);
	pthread_mutex_unlock(&pool->lock);
	batch->fn(batch->arg, slot);
	pthread_mutex_lock(&pool->lock);
	if (atomic_fetch_sub(&batch->active, 1) == 1)
		pthread_cond_signal(&batch->idle);
}

/*
 * Between two instructions of a job that are shared out lie some tens of microseconds, and waking a
 * sleeping thread takes ten or more, of a processor that sleeps several times that: so one that has
 * just worked looks around for a while before it sleeps, and so does the caller who waits for the
 * last helper. Nobody ever waits for a thread that looks, and an idle pool sleeps: what it costs is
 * LOOK_NS of each thread's processor behind the last work. With fewer processors than threads,
 * helpers and callers, that is taken from one that works, and nobody looks (npu_thread_pool.looks).
 */
#define LOOK_NS		100000

unsigned int npu_pool_processors(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	n = CPU_COUNT(&set);
	return n < 1 ? 1 : (unsigned int)n;
}

/* Is there nothing to be gained any more? *@until is 0 at the first call. */
static bool look_over(const struct npu_thread_pool *pool, npu_u64 *until)
{
	struct timespec now;
	npu_u64 ns;

	if (!pool->looks)
		return true;
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (npu_u64)now.tv_sec * 1000000000 + (npu_u64)now.tv_nsec;
	if (!*until)
		*until = ns + LOOK_NS;
	return ns >= *until;
}

/* Called and left with the lock held. True when there is work, or the pool ends. */
static bool look_for_work(struct npu_thread_pool *pool)
{
	npu_u64 until = 0;

	pthread_mutex_unlock(&pool->lock);
	while (!atomic_load_explicit(&pool->num_open, memory_order_relaxed) &&
	       !look_over(pool, &until))
		;
	pthread_mutex_lock(&pool->lock);
	return pool->open || pool->quit;
}

static void *pool_thread(void *arg)
{
	struct npu_thread_pool *pool = arg;
	bool worked = false;

	npu_fpenv_enter();
	pthread_mutex_lock(&pool->lock);
	while (!pool->quit) {
		if (pool->open) {
			batch_join(pool, pool->open);
			worked = true;
			continue;
		}
		if (worked && look_for_work(pool))
			continue;
		worked = false;
		pool->sleeping++;
		pthread_cond_wait(&pool->work, &pool->lock);
		pool->sleeping--;
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Signals are the program's business, not ours: helpers block them all. */
static int pool_start(struct npu_thread_pool *pool, unsigned int i)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&pool->threads[i], NULL, pool_thread, pool);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -ret;
}

static void pool_stop(struct npu_thread_pool *pool)
{
	unsigned int i;

	pthread_mutex_lock(&pool->lock);
	pool->quit = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->num_threads; i++)
		pthread_join(pool->threads[i], NULL);
}

int npu_pool_init(struct npu_thread_pool *pool, unsigned int num_threads,
		  unsigned int num_callers)
{
	unsigned int processors;
	int ret;

	memset(pool, 0, sizeof(*pool));
	processors = npu_pool_processors();
	pool->looks = num_callers <= processors && num_threads <= processors - num_callers;
	ret = -pthread_mutex_init(&pool->lock, NULL);
	if (ret)
		return ret;
	ret = -pthread_cond_init(&pool->work, NULL);
	if (ret)
		goto err_mutex;
	pool->threads = calloc(num_threads + 1, sizeof(*pool->threads));
	if (!pool->threads) {
		ret = -ENOMEM;
		goto err_cond;
	}
	for (; pool->num_threads < num_threads; pool->num_threads++) {
		ret = pool_start(pool, pool->num_threads);
		if (ret)
			goto err_threads;
	}
	return 0;

err_threads:
	pool_stop(pool);
	free(pool->threads);
err_cond:
	pthread_cond_destroy(&pool->work);
err_mutex:
	pthread_mutex_destroy(&pool->lock);
	return ret;
}

void npu_pool_fini(struct npu_thread_pool *pool, bool abandon)
{
	/*
	 * In a fork's child the lock and the conditions may be in any state, and destroying them
	 * may block.
	 */
	if (!abandon) {
		pool_stop(pool);
		pthread_cond_destroy(&pool->work);
		pthread_mutex_destroy(&pool->lock);
	}
	free(pool->threads);
}

int npu_batch_init(struct npu_batch *batch)
{
	memset(batch, 0, sizeof(*batch));
	return -pthread_cond_init(&batch->idle, NULL);
}

void npu_batch_fini(struct npu_batch *batch)
{
	pthread_cond_destroy(&batch->idle);
}

void npu_pool_run(struct npu_thread_pool *pool, struct npu_batch *batch)
{
	unsigned int wanted = batch->num_slots - 1;
	npu_u64 until = 0;

	batch->next_slot = 1;
	batch->active = 0;
	if (wanted > pool->num_threads)
		wanted = pool->num_threads;
	if (!wanted) {
		batch->fn(batch->arg, 0);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	batch->next = pool->open;
	pool->open = batch;
	atomic_fetch_add_explicit(&pool->num_open, 1, memory_order_relaxed);
	if (wanted > pool->sleeping)
		wanted = pool->sleeping;
	pthread_mutex_unlock(&pool->lock);
	while (wanted--)
		pthread_cond_signal(&pool->work);

	batch->fn(batch->arg, 0);

	pthread_mutex_lock(&pool->lock);
	batch_remove(pool, batch);
	pthread_mutex_unlock(&pool->lock);
	while (atomic_load_explicit(&batch->active, memory_order_relaxed) &&
	       !look_over(pool, &until))
		;
	pthread_mutex_lock(&pool->lock);
	while (batch->active)
		pthread_cond_wait(&batch->idle, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}
