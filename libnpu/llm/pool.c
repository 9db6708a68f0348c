// SPDX-License-Identifier: MIT
/* The blocks of the KV cache: who has which, and their bytes. */
#include <errno.h>
#include <stdlib.h>
#include "llm/runtime.h"

int npu_llm_pool_init(struct npu_llm_pool *pool, uint32_t num, struct npu_error *err)
{
	uint32_t i;

	pool->refs = calloc(num, sizeof(*pool->refs));
	pool->free = calloc(num, sizeof(*pool->free));
	if (!pool->refs || !pool->free) {
		free(pool->refs);
		free(pool->free);
		pool->refs = pool->free = NULL;
		return npu_error_set(err, -ENOMEM, "no memory for a table of %u blocks", num);
	}
	pthread_mutex_init(&pool->lock, NULL);
	pool->num = pool->num_free = num;
	/* the lowest is taken first */
	for (i = 0; i < num; i++)
		pool->free[i] = num - 1 - i;
	return 0;
}

void npu_llm_pool_fini(struct npu_llm_pool *pool)
{
	if (!pool->refs)
		return;
	npu_buffer_put(pool->kv);
	npu_buffer_put(pool->scale);
	pthread_mutex_destroy(&pool->lock);
	free(pool->refs);
	free(pool->free);
}

uint32_t npu_llm_pool_take(struct npu_llm_pool *pool)
{
	uint32_t block = ~0u;

	pthread_mutex_lock(&pool->lock);
	if (pool->num_free) {
		block = pool->free[--pool->num_free];
		pool->refs[block] = 1;
	}
	pthread_mutex_unlock(&pool->lock);
	return block;
}

void npu_llm_pool_share(struct npu_llm_pool *pool, uint32_t block)
{
	pthread_mutex_lock(&pool->lock);
	pool->refs[block]++;
	pthread_mutex_unlock(&pool->lock);
}

void npu_llm_pool_drop(struct npu_llm_pool *pool, uint32_t block)
{
	pthread_mutex_lock(&pool->lock);
	if (!--pool->refs[block])
		pool->free[pool->num_free++] = block;
	pthread_mutex_unlock(&pool->lock);
}

uint32_t npu_llm_pool_refs(struct npu_llm_pool *pool, uint32_t block)
{
	uint32_t refs;

	pthread_mutex_lock(&pool->lock);
	refs = pool->refs[block];
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

int npu_llm_pool_read(struct npu_llm_pool *pool, uint32_t block, void *kv, void *scale,
		      struct npu_error *err)
{
	int ret = npu_buffer_read(pool->kv, block * pool->block_bytes, kv, pool->block_bytes, err);

	if (!ret && pool->scale)
		ret = npu_buffer_read(pool->scale, block * pool->scale_bytes, scale,
				      pool->scale_bytes, err);
	return ret;
}

int npu_llm_pool_write(struct npu_llm_pool *pool, uint32_t block, const void *kv,
		       const void *scale, struct npu_error *err)
{
	int ret = npu_buffer_write(pool->kv, block * pool->block_bytes, kv, pool->block_bytes, err);

	if (!ret && pool->scale)
		ret = npu_buffer_write(pool->scale, block * pool->scale_bytes, scale,
				       pool->scale_bytes, err);
	return ret;
}

int npu_llm_pool_copy(struct npu_llm_pool *pool, uint32_t to, uint32_t from, struct npu_error *err)
{
	char *bytes = malloc(pool->block_bytes + pool->scale_bytes);
	int ret;

	if (!bytes)
		return npu_error_set(err, -ENOMEM, "no memory to copy a block of the KV cache");
	ret = npu_llm_pool_read(pool, from, bytes, bytes + pool->block_bytes, err);
	if (!ret)
		ret = npu_llm_pool_write(pool, to, bytes, bytes + pool->block_bytes, err);
	free(bytes);
	return ret;
}
