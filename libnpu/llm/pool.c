// SPDX-License-Identifier: MIT
/* The blocks of the KV cache: whose they are, and those on the NPU by when they were needed. */
#include <errno.h>
#include <stdlib.h>
#include "llm/runtime.h"

/* The lowest is taken first. */
static void fill_stack(uint32_t *stack, uint32_t num)
{
	uint32_t i;

	for (i = 0; i < num; i++)
		stack[i] = num - 1 - i;
}

int npu_llm_pool_init(struct npu_llm_pool *pool, uint32_t num, uint32_t num_slots,
		      struct npu_error *err)
{
	pool->blocks = calloc(num, sizeof(*pool->blocks));
	pool->free = calloc(num, sizeof(*pool->free));
	pool->free_slots = calloc(num_slots, sizeof(*pool->free_slots));
	if (!pool->blocks || !pool->free || !pool->free_slots) {
		free(pool->blocks);
		free(pool->free);
		free(pool->free_slots);
		pool->blocks = NULL;
		return npu_error_set(err, -ENOMEM, "no memory for a table of %u blocks", num);
	}
	pthread_mutex_init(&pool->lock, NULL);
	pool->num = pool->num_free = num;
	pool->num_slots = pool->num_free_slots = num_slots;
	pool->oldest = pool->newest = NPU_LLM_NONE;
	fill_stack(pool->free, num);
	fill_stack(pool->free_slots, num_slots);
	return 0;
}

void npu_llm_pool_fini(struct npu_llm_pool *pool)
{
	if (!pool->blocks)
		return;
	npu_buffer_put(pool->kv);
	npu_buffer_put(pool->scale);
	pthread_mutex_destroy(&pool->lock);
	free(pool->blocks);
	free(pool->free);
	free(pool->free_slots);
}

uint32_t npu_llm_pool_take(struct npu_llm_pool *pool)
{
	uint32_t block = NPU_LLM_NONE;

	pthread_mutex_lock(&pool->lock);
	if (pool->num_free) {
		block = pool->free[--pool->num_free];
		pool->blocks[block] = (struct npu_llm_block){ .refs = 1, .slot = NPU_LLM_NONE };
	}
	pthread_mutex_unlock(&pool->lock);
	return block;
}

void npu_llm_pool_share(struct npu_llm_pool *pool, uint32_t block)
{
	pthread_mutex_lock(&pool->lock);
	pool->blocks[block].refs++;
	pthread_mutex_unlock(&pool->lock);
}

void npu_llm_pool_drop(struct npu_llm_pool *pool, uint32_t block)
{
	struct npu_llm_block *b = &pool->blocks[block];
	uint8_t *host = NULL;

	pthread_mutex_lock(&pool->lock);
	if (!--b->refs) {
		if (b->slot != NPU_LLM_NONE) {
			npu_llm_pool_unlink(pool, block);
			pool->free_slots[pool->num_free_slots++] = b->slot;
		}
		host = b->host;
		pool->num_host -= host != NULL;
		pool->free[pool->num_free++] = block;
	}
	pthread_mutex_unlock(&pool->lock);
	npu_llm_host_free(host);
}

uint32_t npu_llm_pool_refs(struct npu_llm_pool *pool, uint32_t block)
{
	uint32_t refs;

	pthread_mutex_lock(&pool->lock);
	refs = pool->blocks[block].refs;
	pthread_mutex_unlock(&pool->lock);
	return refs;
}

uint32_t npu_llm_pool_free_blocks(struct npu_llm_pool *pool)
{
	uint32_t n;

	pthread_mutex_lock(&pool->lock);
	n = pool->num_free;
	pthread_mutex_unlock(&pool->lock);
	return n;
}

void npu_llm_pool_info(struct npu_llm_pool *pool, struct npu_llm_info *info)
{
	pthread_mutex_lock(&pool->lock);
	info->free_blocks = pool->num_free;
	info->host_blocks = pool->num - pool->num_free - pool->num_resident;
	info->kv_host = pool->num_host * (pool->block_bytes + pool->scale_bytes);
	info->blocks_out = pool->blocks_out;
	info->blocks_in = pool->blocks_in;
	info->bytes_out = pool->bytes_out;
	info->bytes_in = pool->bytes_in;
	pthread_mutex_unlock(&pool->lock);
}

/* ---- the list ---- */

void npu_llm_pool_link(struct npu_llm_pool *pool, uint32_t block)
{
	struct npu_llm_block *b = &pool->blocks[block];

	b->older = pool->newest;
	b->newer = NPU_LLM_NONE;
	if (b->older == NPU_LLM_NONE)
		pool->oldest = block;
	else
		pool->blocks[b->older].newer = block;
	pool->newest = block;
	pool->num_resident++;
}

void npu_llm_pool_unlink(struct npu_llm_pool *pool, uint32_t block)
{
	struct npu_llm_block *b = &pool->blocks[block];

	if (b->older == NPU_LLM_NONE)
		pool->oldest = b->newer;
	else
		pool->blocks[b->older].newer = b->newer;
	if (b->newer == NPU_LLM_NONE)
		pool->newest = b->older;
	else
		pool->blocks[b->newer].older = b->older;
	pool->num_resident--;
}
