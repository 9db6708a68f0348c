/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: threads that sleep until there is work, after a short look around for more.
 *
 * A batch is one piece of work that up to num_slots threads carry out together: each calls fn(arg,
 * slot) once, with a slot of its own, and fn takes pieces of the work until none is left. The
 * caller is slot 0; helpers join while the batch is open, so nobody waits for a helper that is busy
 * elsewhere or was not scheduled by the host.
 */
#ifndef NPU_POOL_H
#define NPU_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct npu_batch {
	void (*fn)(void *arg, unsigned int slot);
	void *arg;
	unsigned int num_slots;
	unsigned int next_slot;
	atomic_uint active;		/* helpers inside fn; changed with the lock held */
	struct npu_batch *next;
	pthread_cond_t idle;		/* active became 0 */
};

struct npu_thread_pool {
	/* protects everything below and the fields of open batches */
	pthread_mutex_t lock;
	pthread_cond_t work;		/* a batch was opened, or quit */
	struct npu_batch *open;
	atomic_uint num_open;		/* of them; also read without the lock, as a hint */
	atomic_uint sleeping;		/* helpers that wait for work; a hint without the lock */
	bool quit;
	atomic_bool looks;		/* there is a processor for each helper and each caller */
	unsigned int num_threads;
	pthread_t *threads;
};

/* Processors that the calling thread may run on, at least 1. */
unsigned int npu_pool_processors(void);

/*
 * Start @num_threads helpers (may be 0) for @num_callers threads (at least 1) that have batches
 * carried out at a time. Returns 0 or a negative errno. Whether there are processors enough for all
 * of them, so that they look around for more work, is found out here, from what the calling thread
 * may use.
 */
int npu_pool_init(struct npu_thread_pool *pool, unsigned int num_threads,
		  unsigned int num_callers);
/* @abandon: the threads are not there (the process is a fork's child); only memory is freed. */
void npu_pool_fini(struct npu_thread_pool *pool, bool abandon);

int npu_batch_init(struct npu_batch *batch);
void npu_batch_fini(struct npu_batch *batch);

/* Whether a helper works or looks for work, so that it would join a batch at once; a hint. */
static inline bool npu_pool_is_awake(struct npu_thread_pool *pool)
{
	return atomic_load_explicit(&pool->sleeping, memory_order_relaxed) < pool->num_threads;
}

/*
 * Carry @batch out (fn, arg and num_slots filled in). Returns when every thread has left fn. Thread
 * safe.
 */
void npu_pool_run(struct npu_thread_pool *pool, struct npu_batch *batch);

#endif
