// SPDX-License-Identifier: MIT
/*
 * A session's state as bytes: a header, the tokens, and the blocks of keys and values as they lie
 * in the pool, the positions beyond the last token zero.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "llm/runtime.h"

#define STATE_MAGIC	"NPULLMS\n"
#define STATE_VERSION	1u

struct state_header {
	char magic[8];
	uint32_t version;
	uint32_t crc;			/* of all bytes behind this header */
	uint64_t size;			/* bytes, the header included */
	uint8_t digest[32];		/* of the job file, which fixes model, types and layout */
	uint32_t length;		/* tokens */
	uint32_t reserved;		/* zero */
};

_Static_assert(sizeof(struct state_header) == 64, "header");

static uint64_t state_size(const struct npu_llm *llm, uint32_t length)
{
	uint64_t blocks = (length + llm->info.block - 1ull) / llm->info.block;

	return sizeof(struct state_header) + length * sizeof(int32_t) +
	       blocks * (llm->pool.block_bytes + llm->pool.scale_bytes);
}

static int save_blocks(const struct npu_llm_session *s, uint8_t *at, struct npu_error *err)
{
	struct npu_llm_pool *pool = &s->llm->pool;
	uint32_t block = s->llm->info.block, i, first, num;
	int ret = 0;

	for (i = 0; (first = i * block) < s->length && !ret; i++) {
		num = s->length - first < block ? s->length - first : block;
		ret = npu_llm_pool_read(pool, s->blocks[i], num, at, err);
		at += pool->block_bytes + pool->scale_bytes;
	}
	return ret;
}

int npu_llm_session_save(const struct npu_llm_session *s, void **data, size_t *size,
			 struct npu_error *err)
{
	struct state_header h = { .magic = STATE_MAGIC, .version = STATE_VERSION };
	uint8_t *out;
	int ret;

	if (!data || !size)
		return npu_error_set(err, -EINVAL, "npu_llm_session_save: %s is NULL",
				     data ? "size" : "data");
	h.size = state_size(s->llm, s->length);
	h.length = s->length;
	memcpy(h.digest, s->llm->job->file->digest, sizeof(h.digest));
	out = calloc(1, h.size);
	if (!out)
		return npu_error_set(err, -ENOMEM, "no memory for a state of %llu bytes",
				     (unsigned long long)h.size);
	if (s->length)
		memcpy(out + sizeof(h), s->tokens, s->length * sizeof(int32_t));
	pthread_mutex_lock(&s->llm->run_lock);	/* no run writes to the pool meanwhile */
	ret = save_blocks(s, out + sizeof(h) + s->length * sizeof(int32_t), err);
	pthread_mutex_unlock(&s->llm->run_lock);
	if (ret) {
		free(out);
		return ret;
	}
	h.crc = (uint32_t)crc32_z(0, out + sizeof(h), h.size - sizeof(h));
	memcpy(out, &h, sizeof(h));
	*data = out;
	*size = h.size;
	return 0;
}

static int check_state(const struct npu_llm *llm, const uint8_t *data, size_t size,
		       struct state_header *h, struct npu_error *err)
{
	uint32_t i;
	int32_t token;

	if (size < sizeof(*h) || memcmp(data, STATE_MAGIC, 8))
		return npu_error_set(err, -EBADMSG, "not a session's state: %zu bytes", size);
	memcpy(h, data, sizeof(*h));
	if (h->version != STATE_VERSION)
		return npu_error_set(err, -EINVAL, "a state of version %u, this libnpu reads %u",
				     h->version, STATE_VERSION);
	if (memcmp(h->digest, llm->job->file->digest, sizeof(h->digest)))
		return npu_error_set(err, -EINVAL,
				     "the state is of another model or another compilation of it");
	if (h->length > llm->info.context || h->size != size ||
	    size != state_size(llm, h->length) || h->reserved)
		return npu_error_set(err, -EBADMSG,
				     "a state of %u tokens in %zu bytes: truncated or damaged",
				     h->length, size);
	if (crc32_z(0, data + sizeof(*h), size - sizeof(*h)) != h->crc)
		return npu_error_set(err, -EBADMSG, "the state's check sum is wrong");
	for (i = 0; i < h->length; i++) {
		memcpy(&token, data + sizeof(*h) + i * sizeof(token), sizeof(token));
		if (token < 0 || (uint32_t)token >= llm->info.vocab)
			return npu_error_set(err, -EBADMSG,
					     "the state has token %d, the vocabulary has %u", token,
					     llm->info.vocab);
	}
	return 0;
}

/* Nothing leaves the NPU for them: they come there when the session is stepped. */
static int load_blocks(struct npu_llm_session *s, uint32_t length, const uint8_t *at,
		       struct npu_error *err)
{
	struct npu_llm_pool *pool = &s->llm->pool;
	uint32_t block = s->llm->info.block, first, num, i;
	int ret = 0;

	for (first = 0; first < length && !ret; first += num) {
		num = length - first < block ? length - first : block;
		i = npu_llm_pool_take(pool);
		if (i == NPU_LLM_NONE)
			return npu_error_set(err, -ENOSPC,
					     "the KV cache is full: %u blocks of %u positions, all taken; a state of %u tokens takes %u",
					     pool->num, block, length,
					     (length + block - 1) / block);
		s->blocks[s->num_blocks++] = i;
		ret = npu_llm_pool_write(pool, i, num, at, err);
		at += pool->block_bytes + pool->scale_bytes;
	}
	return ret;
}

int npu_llm_session_load(struct npu_llm *llm, const void *data, size_t size,
			 struct npu_llm_session **session, struct npu_error *err)
{
	const uint8_t *p = data;
	struct npu_llm_session *s;
	struct state_header h;
	int ret;

	if (!session || !data)
		return npu_error_set(err, -EINVAL, "npu_llm_session_load: %s is NULL",
				     data ? "session" : "data");
	*session = NULL;
	ret = check_state(llm, p, size, &h, err);
	ret = ret ?: npu_llm_session_create(llm, &s, err);
	if (ret)
		return ret;
	ret = npu_llm_session_reserve(s, h.length, err);
	if (!ret) {
		pthread_mutex_lock(&llm->run_lock);
		ret = load_blocks(s, h.length, p + sizeof(h) + h.length * sizeof(int32_t), err);
		pthread_mutex_unlock(&llm->run_lock);
	}
	if (ret) {
		npu_llm_session_destroy(s);
		return ret;
	}
	for (uint32_t i = 0; i < h.length; i++)
		memcpy(&s->tokens[i], p + sizeof(h) + i * sizeof(int32_t), sizeof(int32_t));
	s->length = h.length;
	*session = s;
	return 0;
}
