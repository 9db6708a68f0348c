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

static int no_blocks(const struct npu_llm_session *s, uint32_t want, struct npu_error *err)
{
	return npu_error_set(err, -ENOSPC,
			     "the KV cache is full: %u blocks of %u positions, all taken; a session of %u tokens needs %u",
			     s->llm->pool.num, s->llm->info.block, s->length, want);
}

/* A block that others have too is copied before it is written to. */
static int own_block(struct npu_llm_session *s, uint32_t i, struct npu_error *err)
{
	struct npu_llm_pool *pool = &s->llm->pool;
	uint32_t copy;
	int ret;

	if (npu_llm_pool_refs(pool, s->blocks[i]) == 1)
		return 0;
	copy = npu_llm_pool_take(pool);
	if (copy == ~0u)
		return no_blocks(s, i + 1, err);
	ret = npu_llm_pool_copy(pool, copy, s->blocks[i], err);
	if (ret) {
		npu_llm_pool_drop(pool, copy);
		return ret;
	}
	npu_llm_pool_drop(pool, s->blocks[i]);
	s->blocks[i] = copy;
	return 0;
}

int npu_llm_session_grow(struct npu_llm_session *s, uint32_t num, struct npu_error *err)
{
	uint32_t block = s->llm->info.block, need = (s->length + num + block - 1) / block, i;
	int ret;

	for (i = s->length / block; i < s->num_blocks && i < need; i++) {
		ret = own_block(s, i, err);
		if (ret)
			return ret;
	}
	while (s->num_blocks < need) {
		i = npu_llm_pool_take(&s->llm->pool);
		if (i == ~0u)
			return no_blocks(s, need, err);
		s->blocks[s->num_blocks++] = i;
	}
	return 0;
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
	drop_blocks(s, (length + s->llm->info.block - 1) / s->llm->info.block);
	return 0;
}

int npu_llm_session_fork(const struct npu_llm_session *s, struct npu_llm_session **copy,
			 struct npu_error *err)
{
	uint32_t used = (s->length + s->llm->info.block - 1) / s->llm->info.block, i;
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

int npu_llm_prefill(struct npu_llm_session *s, const int32_t *tokens, size_t num,
		    const float **logits, struct npu_error *err)
{
	uint32_t n;
	int ret = 0;

	if (logits)
		*logits = NULL;
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
		ret = step(s, tokens, n, n == num && logits, err);
	}
	if (!ret && logits)
		*logits = npu_llm_batch_logits(s->own, 0, 0);
	if (s->own)
		s->batch = s->batch == s->own ? NULL : s->batch;
	return ret;
}

int npu_llm_decode(struct npu_llm_session *s, int32_t token, const float **logits,
		   struct npu_error *err)
{
	return npu_llm_prefill(s, &token, 1, logits, err);
}
