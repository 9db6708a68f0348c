// SPDX-License-Identifier: MIT
/*
 * Memory that outlives an instruction: workers' scratch, on-chip memory, contexts of callers. Jobs
 * find it warm.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "run.h"

#define SRAM_ALIGN	4096u	/* for vector loads, and as devices have it */

int npu_arena_grow(struct npu_arena *arena, size_t size)
{
	void *mem;

	if (size <= arena->size)
		return 0;
	if (size > SIZE_MAX - 4095)
		return -ENOMEM;
	size = (size + 4095) & ~(size_t)4095;
	mem = aligned_alloc(4096, size);
	if (!mem)
		return -ENOMEM;
	free(arena->mem);
	arena->mem = mem;
	arena->size = size;
	return 0;
}

void npu_arena_free(struct npu_arena *arena)
{
	free(arena->mem);
	memset(arena, 0, sizeof(*arena));
}

struct npu_sram_block *npu_sram_get(struct npu_engine *engine)
{
	struct npu_sram_block *block;

	pthread_mutex_lock(&engine->lock);
	block = engine->idle_sram;
	if (block)
		engine->idle_sram = block->next;
	pthread_mutex_unlock(&engine->lock);
	if (block) {
		memset(block->mem, 0, block->used);
		block->used = 0;
		return block;
	}
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	/* Zero without being touched: pages are taken from the system as jobs use them. */
	block->base = calloc(1, engine->config.sram_size + SRAM_ALIGN - 1);
	if (!block->base) {
		free(block);
		return NULL;
	}
	block->mem = (char *)block->base + (-(uintptr_t)block->base & (SRAM_ALIGN - 1));
	return block;
}

void npu_sram_put(struct npu_engine *engine, struct npu_sram_block *block)
{
	/* In a fork's child the lock may be held by a thread that is not there. */
	if (engine->pid != getpid()) {
		free(block->base);
		free(block);
		return;
	}
	pthread_mutex_lock(&engine->lock);
	block->next = engine->idle_sram;
	engine->idle_sram = block;
	pthread_mutex_unlock(&engine->lock);
}

void npu_sram_free_all(struct npu_engine *engine)
{
	struct npu_sram_block *block;

	while ((block = engine->idle_sram)) {
		engine->idle_sram = block->next;
		free(block->base);
		free(block);
	}
}

static struct npu_run *run_new(struct npu_engine *engine)
{
	struct npu_run *run = aligned_alloc(64, (sizeof(*run) + 63) & ~(size_t)63);

	if (!run)
		return NULL;
	memset(run, 0, sizeof(*run));
	run->engine = engine;
	run->arena = calloc(engine->num_workers, sizeof(*run->arena));
	if (!run->arena)
		goto err_run;
	if (pthread_mutex_init(&run->fault_lock, NULL))
		goto err_arena;
	if (npu_batch_init(&run->batch))
		goto err_lock;
	return run;

err_lock:
	pthread_mutex_destroy(&run->fault_lock);
err_arena:
	free(run->arena);
err_run:
	free(run);
	return NULL;
}

struct npu_run *npu_run_get(struct npu_engine *engine)
{
	struct npu_run *run;

	pthread_mutex_lock(&engine->lock);
	run = engine->idle_runs;
	if (run)
		engine->idle_runs = run->next;
	pthread_mutex_unlock(&engine->lock);
	return run ? run : run_new(engine);
}

void npu_run_put(struct npu_run *run)
{
	struct npu_engine *engine = run->engine;

	pthread_mutex_lock(&engine->lock);
	run->next = engine->idle_runs;
	engine->idle_runs = run;
	pthread_mutex_unlock(&engine->lock);
}

void npu_run_free_all(struct npu_engine *engine, bool abandon)
{
	struct npu_run *run;
	unsigned int i;

	while ((run = engine->idle_runs)) {
		engine->idle_runs = run->next;
		if (!abandon) {
			npu_batch_fini(&run->batch);
			pthread_mutex_destroy(&run->fault_lock);
		}
		for (i = 0; i < engine->num_workers; i++)
			npu_arena_free(&run->arena[i]);
		npu_arena_free(&run->shared);
		free(run->arena);
		free(run);
	}
}
