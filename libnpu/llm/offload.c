// SPDX-License-Identifier: MIT
/*
 * Blocks of the KV cache between the NPU and the host's memory. The NPU has a slot for each block
 * that its budget holds; a step has all that it needs in slots, and those that were needed longest
 * ago leave for them. A block that sessions share is one block here, too: it moves once.
 */
#include <errno.h>
#include <string.h>
#include "llm/runtime.h"

/* ---- bytes ---- */

/* Positions [from, to) of a block whose planes have @bytes together. */
static void copy_positions(const struct npu_llm_pool *pool, uint8_t *dst, const uint8_t *src,
			   uint64_t bytes, uint32_t from, uint32_t to)
{
	uint64_t plane = bytes / pool->planes, row = plane / pool->positions;
	uint32_t p;

	if (!from && to == pool->positions) {
		memcpy(dst, src, bytes);
		return;
	}
	for (p = 0; p < pool->planes; p++)
		memcpy(dst + p * plane + from * row, src + p * plane + from * row,
		       (to - from) * row);
}

static int sync_slot(struct npu_llm_pool *pool, uint32_t slot, enum npu_sync direction,
		     struct npu_error *err)
{
	int ret = npu_buffer_sync(pool->kv, slot * pool->block_bytes, pool->block_bytes, direction,
				  err);

	if (!ret && pool->scale)
		ret = npu_buffer_sync(pool->scale, slot * pool->scale_bytes, pool->scale_bytes,
				      direction, err);
	return ret;
}

static int slot_to_host(struct npu_llm_pool *pool, uint32_t slot, uint8_t *host, uint32_t from,
			uint32_t to, struct npu_error *err)
{
	int ret = sync_slot(pool, slot, NPU_SYNC_FROM_DEVICE, err);

	if (ret)
		return ret;
	copy_positions(pool, host, pool->kv_map + slot * pool->block_bytes, pool->block_bytes, from,
		       to);
	if (pool->scale)
		copy_positions(pool, host + pool->block_bytes,
			       pool->scale_map + slot * pool->scale_bytes, pool->scale_bytes, from,
			       to);
	return 0;
}

static int host_to_slot(struct npu_llm_pool *pool, uint32_t slot, const uint8_t *host, uint32_t to,
			struct npu_error *err)
{
	copy_positions(pool, pool->kv_map + slot * pool->block_bytes, host, pool->block_bytes, 0,
		       to);
	if (pool->scale)
		copy_positions(pool, pool->scale_map + slot * pool->scale_bytes,
			       host + pool->block_bytes, pool->scale_bytes, 0, to);
	return sync_slot(pool, slot, NPU_SYNC_TO_DEVICE, err);
}

static uint64_t bytes_of(const struct npu_llm_pool *pool, uint32_t positions)
{
	return (pool->block_bytes + pool->scale_bytes) / pool->positions * positions;
}

/* ---- the host's memory ---- */

/* That of a block which is on the NPU and has a copy: it can do without. */
static uint8_t *take_copy(struct npu_llm_pool *pool)
{
	uint8_t *host = NULL;
	uint32_t i;

	pthread_mutex_lock(&pool->lock);
	for (i = pool->oldest; i != NPU_LLM_NONE && !host; i = pool->blocks[i].newer) {
		host = pool->blocks[i].host;
		pool->blocks[i].host = NULL;
		pool->blocks[i].kept = 0;
	}
	pthread_mutex_unlock(&pool->lock);
	return host;
}

static int host_room(struct npu_llm_pool *pool, struct npu_llm_block *b, struct npu_error *err)
{
	uint64_t size = pool->block_bytes + pool->scale_bytes;

	if (b->host)
		return 0;
	b->host = npu_llm_host_alloc(size);
	if (b->host) {
		pthread_mutex_lock(&pool->lock);
		pool->num_host++;
		pthread_mutex_unlock(&pool->lock);
		return 0;
	}
	b->host = take_copy(pool);
	if (b->host)
		return 0;
	return npu_error_set(err, -ENOMEM,
			     "no memory of the host for a block of the KV cache that is to leave the NPU: %llu bytes",
			     (unsigned long long)size);
}

/* ---- moves ---- */

/* The host has all of @b, which has a slot. */
static int copy_out(struct npu_llm_pool *pool, struct npu_llm_block *b, struct npu_error *err)
{
	int ret = b->used ? host_room(pool, b, err) : 0;

	if (ret || b->kept == b->used)
		return ret;
	ret = slot_to_host(pool, b->slot, b->host, b->kept, b->used, err);
	if (ret)
		return ret;
	pthread_mutex_lock(&pool->lock);
	pool->bytes_out += bytes_of(pool, b->used - b->kept);
	pthread_mutex_unlock(&pool->lock);
	b->kept = b->used;
	return 0;
}

static uint32_t free_slot(struct npu_llm_pool *pool)
{
	return pool->num_free_slots ? pool->free_slots[--pool->num_free_slots] : NPU_LLM_NONE;
}

/* A free slot; else that of the block which was needed longest ago, when that one is copied. */
static int get_slot(struct npu_llm_pool *pool, uint32_t *slot, struct npu_error *err)
{
	struct npu_llm_block *b;
	uint32_t victim;
	int ret;

	pthread_mutex_lock(&pool->lock);
	*slot = free_slot(pool);
	victim = pool->oldest;
	if (*slot == NPU_LLM_NONE)
		pool->blocks[victim].refs++;	/* its sessions may end meanwhile */
	pthread_mutex_unlock(&pool->lock);
	if (*slot != NPU_LLM_NONE)
		return 0;
	b = &pool->blocks[victim];
	ret = copy_out(pool, b, err);
	if (!ret) {
		pthread_mutex_lock(&pool->lock);
		npu_llm_pool_unlink(pool, victim);
		*slot = b->slot;
		b->slot = NPU_LLM_NONE;
		pool->blocks_out++;
		pthread_mutex_unlock(&pool->lock);
	}
	npu_llm_pool_drop(pool, victim);
	return ret;
}

static void set_slot(struct npu_llm_pool *pool, uint32_t block, uint32_t slot, bool moved)
{
	struct npu_llm_block *b = &pool->blocks[block];

	pthread_mutex_lock(&pool->lock);
	b->slot = slot;
	npu_llm_pool_link(pool, block);
	pool->blocks_in += moved;
	pool->bytes_in += moved ? bytes_of(pool, b->used) : 0;
	pthread_mutex_unlock(&pool->lock);
}

static void put_slot(struct npu_llm_pool *pool, uint32_t slot)
{
	pthread_mutex_lock(&pool->lock);
	pool->free_slots[pool->num_free_slots++] = slot;
	pthread_mutex_unlock(&pool->lock);
}

void npu_llm_pool_begin_step(struct npu_llm_pool *pool)
{
	pool->step++;
}

bool npu_llm_pool_need(struct npu_llm_pool *pool, uint32_t block)
{
	struct npu_llm_block *b = &pool->blocks[block];

	if (b->step == pool->step)
		return false;
	b->step = pool->step;
	if (b->slot != NPU_LLM_NONE) {
		pthread_mutex_lock(&pool->lock);
		npu_llm_pool_unlink(pool, block);
		npu_llm_pool_link(pool, block);
		pthread_mutex_unlock(&pool->lock);
	}
	return true;
}

int npu_llm_pool_bring(struct npu_llm_pool *pool, uint32_t block, struct npu_error *err)
{
	struct npu_llm_block *b = &pool->blocks[block];
	uint32_t slot;
	int ret;

	if (b->slot != NPU_LLM_NONE)
		return 0;
	ret = get_slot(pool, &slot, err);
	if (!ret && b->used) {
		ret = host_to_slot(pool, slot, b->host, b->used, err);
		if (ret)
			put_slot(pool, slot);
	}
	if (!ret)
		set_slot(pool, block, slot, b->used);
	return ret;
}

int npu_llm_pool_read(struct npu_llm_pool *pool, uint32_t block, uint32_t num, uint8_t *data,
		      struct npu_error *err)
{
	const struct npu_llm_block *b = &pool->blocks[block];

	if (b->slot != NPU_LLM_NONE)
		return slot_to_host(pool, b->slot, data, 0, num, err);
	copy_positions(pool, data, b->host, pool->block_bytes, 0, num);
	if (pool->scale)
		copy_positions(pool, data + pool->block_bytes, b->host + pool->block_bytes,
			       pool->scale_bytes, 0, num);
	return 0;
}

int npu_llm_pool_write(struct npu_llm_pool *pool, uint32_t block, uint32_t num,
		       const uint8_t *data, struct npu_error *err)
{
	struct npu_llm_block *b = &pool->blocks[block];
	uint32_t slot;
	int ret;

	pthread_mutex_lock(&pool->lock);
	slot = free_slot(pool);
	pthread_mutex_unlock(&pool->lock);
	if (slot != NPU_LLM_NONE) {
		ret = host_to_slot(pool, slot, data, num, err);
		if (ret)
			put_slot(pool, slot);
		else
			set_slot(pool, block, slot, false);
	} else {
		ret = host_room(pool, b, err);
		if (!ret) {
			memcpy(b->host, data, pool->block_bytes + pool->scale_bytes);
			b->kept = num;
		}
	}
	if (!ret)
		b->used = num;
	return ret;
}

int npu_llm_pool_copy(struct npu_llm_pool *pool, uint32_t to, uint32_t from, uint32_t num,
		      struct npu_error *err)
{
	struct npu_llm_block *t = &pool->blocks[to], *f = &pool->blocks[from];
	uint64_t kv = t->slot * pool->block_bytes, scale = t->slot * pool->scale_bytes;
	int ret = 0;

	if (f->slot == NPU_LLM_NONE) {
		ret = host_to_slot(pool, t->slot, f->host, num, err);
	} else {
		ret = sync_slot(pool, f->slot, NPU_SYNC_FROM_DEVICE, err);
		if (ret)
			return ret;
		copy_positions(pool, pool->kv_map + kv, pool->kv_map + f->slot * pool->block_bytes,
			       pool->block_bytes, 0, num);
		if (pool->scale)
			copy_positions(pool, pool->scale_map + scale,
				       pool->scale_map + f->slot * pool->scale_bytes,
				       pool->scale_bytes, 0, num);
		ret = sync_slot(pool, t->slot, NPU_SYNC_TO_DEVICE, err);
	}
	t->used = ret ? t->used : num;
	return ret;
}
