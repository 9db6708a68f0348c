// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "fpenv.h"
#include "pool.h"

static void batch_remove(struct npu_thread_pool *pool, struct npu_batch *batch)
{
	struct npu_batch **p;

	for (p = &pool->open; *p; p = &(*p)->next) {
		if (*p == batch) {
			*p = batch->next;
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
	batch->active++;
	pthread_mutex_unlock(&pool->lock);
	batch->fn(batch->arg, slot);
	pthread_mutex_lock(&pool->lock);
	if (!--batch->active)
		pthread_cond_signal(&batch->idle);
}

static void *pool_thread(void *arg)
{
	struct npu_thread_pool *pool = arg;

	npu_fpenv_enter();
	pthread_mutex_lock(&pool->lock);
	while (!pool->quit) {
		if (pool->open) {
			batch_join(pool, pool->open);
			continue;
		}
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

int npu_pool_init(struct npu_thread_pool *pool, unsigned int num_threads)
{
	int ret;

	memset(pool, 0, sizeof(*pool));
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
	if (wanted > pool->sleeping)
		wanted = pool->sleeping;
	pthread_mutex_unlock(&pool->lock);
	while (wanted--)
		pthread_cond_signal(&pool->work);

	batch->fn(batch->arg, 0);

	pthread_mutex_lock(&pool->lock);
	batch_remove(pool, batch);
	while (batch->active)
		pthread_cond_wait(&batch->idle, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}
