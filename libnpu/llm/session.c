// SPDX-License-Identifier: MIT
/* Sessions: a sequence's tokens and its blocks of the cache. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "llm/runtime.h"

int npu_llm_session_create(struct npu_llm *llm, struct npu_llm_session **session,
			   struct npu_error *err)
{
	struct npu_llm_session *s;

	if (!session)
		return npu_error_set(err, -EINVAL, "npu_llm_session_create: session is NULL");
	*session = NULL;
	if (!llm->run)
		return npu_error_set(err, -EINVAL, "%s: the model was opened to look at it only",
				     llm->job->path);
	s = calloc(1, sizeof(*s));
	if (s)
		s->blocks = calloc(llm->table_width, sizeof(*s->blocks));
	if (!s || !s->blocks) {
		free(s);
		return npu_error_set(err, -ENOMEM, "no memory for a session");
	}
	s->llm = npu_llm_get(llm);
	*session = s;
	return 0;
}

void npu_llm_session_destroy(struct npu_llm_session *s)
{
	uint32_t i;

	if (!s)
		return;
	npu_llm_batch_destroy(s->own);
	for (i = 0; i < s->num_blocks; i++)
		npu_llm_pool_drop(&s->llm->pool, s->blocks[i]);
	npu_llm_put(s->llm);
	free(s->blocks);
	free(s->tokens);
	free(s);
}

uint32_t npu_llm_session_length(const struct npu_llm_session *s)
{
	return s->length;
}

const int32_t *npu_llm_session_tokens(const struct npu_llm_session *s)
{
	return s->tokens;
}

int npu_llm_session_reserve(struct npu_llm_session *s, uint32_t num, struct npu_error *err)
{
	uint32_t need = s->length + num, room;
	int32_t *p;

	if (need <= s->room)
		return 0;
	room = need > s->room * 2 ? need : s->room * 2;
	p = realloc(s->tokens, room * sizeof(*p));
	if (!p)
		return npu_error_set(err, -ENOMEM, "no memory for %u tokens", room);
	s->tokens = p;
	s->room = room;
	return 0;
}

void npu_llm_session_append(struct npu_llm_session *s, const int32_t *tokens, uint32_t num)
{
	memcpy(s->tokens + s->length, tokens, num * sizeof(*tokens));
	s->length += num;
}

static uint32_t blocks_of(const struct npu_llm_session *s, uint32_t positions)
{
	uint32_t block = s->llm->info.block;

	return positions / block + (positions % block != 0);
}

void npu_llm_session_written(struct npu_llm_session *s, const int32_t *tokens, uint32_t num)
{
	uint32_t block = s->llm->info.block, i = s->length / block, left;

	npu_llm_session_append(s, tokens, num);
	for (; i < s->num_blocks; i++) {
		left = s->length - i * block;
		s->llm->pool.blocks[s->blocks[i]].used = left < block ? left : block;
	}
}

/* Another session of the step goes on in @block; returns whether that leaves it to others. */
static bool is_left(struct npu_llm_pool *pool, uint32_t block)
{
	struct npu_llm_block *b = &pool->blocks[block];

	b->writers = b->write_step == pool->step ? b->writers + 1 : 1;
	b->write_step = pool->step;
	return b->writers < npu_llm_pool_refs(pool, block);
}

/*
 * The block that the session goes on in, if that has positions already, is copied when others have
 * it too, unless all of them are in the step: then the last one to come keeps it.
 */
void npu_llm_session_demand(struct npu_llm_session *s, uint32_t num, struct npu_llm_demand *d)
{
	struct npu_llm_pool *pool = &s->llm->pool;
	uint32_t i, all = blocks_of(s, s->length + num), add = all - s->num_blocks;

	for (i = 0; i < s->num_blocks; i++)
		if (i == s->length / s->llm->info.block && is_left(pool, s->blocks[i]))
			add++;
		else
			d->slots += npu_llm_pool_need(pool, s->blocks[i]);
	d->slots += add;
	d->blocks += add;
}

int npu_llm_session_check(struct npu_llm *llm, const struct npu_llm_demand *d, uint32_t sessions,
			  struct npu_error *err)
{
	struct npu_llm_pool *pool = &llm->pool;
	uint64_t block = pool->block_bytes + pool->scale_bytes;
	uint32_t left = npu_llm_pool_free_blocks(pool);

	if (d->slots > pool->num_slots && pool->num_slots < pool->num)
		return npu_error_set(err, -E2BIG,
				     "a step of %u sessions needs %u blocks of %u positions (%llu KiB) on the NPU at once, its KV budget holds %u (%llu KiB): fewer sessions, or a larger budget",
				     sessions, d->slots, llm->info.block,
				     (unsigned long long)d->slots * block >> 10, pool->num_slots,
				     (unsigned long long)pool->num_slots * block >> 10);
	if (d->blocks > left)
		return npu_error_set(err, -ENOSPC,
				     "the KV cache is full: of %u blocks of %u positions %u are free, and a step of %u sessions takes %u more",
				     pool->num, llm->info.block, left, sessions, d->blocks);
	return 0;
}

/* A block on the NPU in place @i: a new one behind the last, or a copy of one that others have. */
static int new_block(struct npu_llm_session *s, uint32_t i, struct npu_error *err)
{
	struct npu_llm_pool *pool = &s->llm->pool;
	uint32_t block = npu_llm_pool_take(pool);
	int ret;

	if (block == NPU_LLM_NONE)
		return npu_error_set(err, -ENOSPC, "the KV cache is full: %u blocks", pool->num);
	npu_llm_pool_need(pool, block);
	ret = npu_llm_pool_bring(pool, block, err);
	if (!ret && i < s->num_blocks)
		ret = npu_llm_pool_copy(pool, block, s->blocks[i], s->length % s->llm->info.block,
					err);
	if (ret) {
		npu_llm_pool_drop(pool, block);
		return ret;
	}
	if (i < s->num_blocks)
		npu_llm_pool_drop(pool, s->blocks[i]);
	else
		s->num_blocks++;
	s->blocks[i] = block;
	return 0;
}

/* The block that is gone on in: from here on it has what this session has. */
static int own_block(struct npu_llm_session *s, uint32_t i, struct npu_error *err)
{
	struct npu_llm_pool *pool = &s->llm->pool;
	struct npu_llm_block *b = &pool->blocks[s->blocks[i]];
	uint32_t used = s->length % s->llm->info.block;

	if (npu_llm_pool_refs(pool, s->blocks[i]) > 1)
		return new_block(s, i, err);
	npu_llm_pool_need(pool, s->blocks[i]);	/* if its last other owner has just gone */
	b->used = used;
	b->kept = b->kept < used ? b->kept : used;
	return 0;
}

int npu_llm_session_grow(struct npu_llm_session *s, uint32_t num, struct npu_error *err)
{
	uint32_t all = blocks_of(s, s->length + num), last = s->length / s->llm->info.block, i;
	int ret = last < s->num_blocks ? own_block(s, last, err) : 0;

	for (i = 0; i < s->num_blocks && !ret; i++)
		ret = npu_llm_pool_bring(&s->llm->pool, s->blocks[i], err);
	while (s->num_blocks < all && !ret)
		ret = new_block(s, s->num_blocks, err);
	return ret;
}

static void drop_blocks(struct npu_llm_session *s, uint32_t keep)
{
	while (s->num_blocks > keep)
		npu_llm_pool_drop(&s->llm->pool, s->blocks[--s->num_blocks]);
}

int npu_llm_session_truncate(struct npu_llm_session *s, uint32_t length, struct npu_error *err)
{
	if (length > s->length)
		return npu_error_set(err, -EINVAL, "the session has %u tokens, can not keep %u",
				     s->length, length);
	s->length = length;
	drop_blocks(s, blocks_of(s, length));
	return 0;
}

int npu_llm_session_fork(const struct npu_llm_session *s, struct npu_llm_session **copy,
			 struct npu_error *err)
{
	uint32_t used = blocks_of(s, s->length), i;
	struct npu_llm_session *c;
	int ret = npu_llm_session_create(s->llm, copy, err);

	if (ret)
		return ret;
	c = *copy;
	ret = npu_llm_session_reserve(c, s->length, err);
	if (ret) {
		npu_llm_session_destroy(c);
		*copy = NULL;
		return ret;
	}
	if (s->length)
		npu_llm_session_append(c, s->tokens, s->length);
	for (i = 0; i < used; i++) {
		npu_llm_pool_share(&s->llm->pool, s->blocks[i]);
		c->blocks[c->num_blocks++] = s->blocks[i];
	}
	return 0;
}

void npu_llm_sessions_blocks(struct npu_llm *llm, struct npu_llm_session *const *sessions,
			     uint32_t num, uint32_t *all, uint32_t *own)
{
	struct npu_llm_block *b;
	uint32_t i, k;

	*all = *own = 0;
	pthread_mutex_lock(&llm->pool.lock);
	for (i = 0; i < num; i++)
		for (k = 0; sessions[i] && k < sessions[i]->num_blocks; k++)
			llm->pool.blocks[sessions[i]->blocks[k]].counted = 0;
	for (i = 0; i < num; i++) {
		for (k = 0; sessions[i] && k < sessions[i]->num_blocks; k++) {
			b = &llm->pool.blocks[sessions[i]->blocks[k]];
			*all += !b->counted;
			*own += ++b->counted == b->refs;
		}
	}
	pthread_mutex_unlock(&llm->pool.lock);
}

/* One run of the session's own batch; @want as in a batch. */
static int step(struct npu_llm_session *s, const int32_t *tokens, uint32_t num, bool last,
		struct npu_error *err)
{
	int ret;

	npu_llm_batch_clear(s->own);
	ret = npu_llm_batch_add(s->own, s, tokens, num,
				last ? NPU_LLM_WANT_LAST : NPU_LLM_WANT_NONE, err);
	return ret < 0 ? ret : npu_llm_batch_run(s->own, err);
}

/* In as many runs as it takes; @last: with logits after the last one. */
static int append_tokens(struct npu_llm_session *s, const int32_t *tokens, size_t num, bool last,
			 struct npu_error *err)
{
	uint32_t n;
	int ret = 0;

	if (!num || !tokens)
		return npu_error_set(err, -EINVAL, "npu_llm_prefill: no tokens");
	if (num > s->llm->info.context - s->length)
		return npu_error_set(err, -EINVAL,
				     "%zu tokens after %u: the context was compiled for %u", num,
				     s->length, s->llm->info.context);
	if (!s->own)
		ret = npu_llm_batch_create(s->llm, &s->own, err);
	for (; num && !ret; num -= n, tokens += n) {
		n = num < s->llm->info.max_rows ? (uint32_t)num : s->llm->info.max_rows;
		ret = step(s, tokens, n, n == num && last, err);
	}
	if (s->own)
		s->batch = s->batch == s->own ? NULL : s->batch;
	return ret;
}

int npu_llm_prefill(struct npu_llm_session *s, const int32_t *tokens, size_t num,
		    const float **logits, struct npu_error *err)
{
	int ret;

	if (logits)
		*logits = NULL;
	ret = append_tokens(s, tokens, num, logits, err);
	if (!ret && logits)
		*logits = npu_llm_batch_logits(s->own, 0, 0);
	return ret;
}

int npu_llm_next(struct npu_llm_session *s, const int32_t *tokens, size_t num,
		 struct npu_llm_sampler *sampler, int32_t *next, struct npu_error *err)
{
	int ret = append_tokens(s, tokens, num, true, err);
	int32_t token;

	if (ret)
		return ret;
	token = npu_llm_batch_sample(s->own, 0, 0, sampler, s->tokens, s->length);
	if (token < 0)
		return npu_error_set(err, token, "no token can be chosen: %s", strerror(-token));
	*next = token;
	return 0;
}

int npu_llm_decode(struct npu_llm_session *s, int32_t token, const float **logits,
		   struct npu_error *err)
{
	return npu_llm_prefill(s, &token, 1, logits, err);
}
