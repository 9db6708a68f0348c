// SPDX-License-Identifier: MIT
/*
 * The last streams of npu_queue_submit_stream(), so that one that comes again is neither verified
 * nor, on a device with memory of its own, made and mapped again.
 *
 * A queue has one, so that it ends with the queue: what is kept holds references on the device.
 */
#include <stdlib.h>
#include <string.h>
#include "core/object.h"

#define CACHE_STREAMS	8u
#define CACHE_BYTES	(8u << 20)

/* What a stream was proven for. */
struct proof {
	npu_u32 scalar[NPU_MAX_SCALARS];
	uint32_t num_regions;
	struct npu_region region[];
};

struct entry {
	struct npu_code *code;
	struct proof *proof;		/* NULL: none */
};

/* All of it under npu_queue.lock. */
struct npu_stream_cache {
	struct entry entry[CACHE_STREAMS];	/* the one used last comes first */
	unsigned int num;
	size_t bytes;
};

/* Where a buffer lies makes no difference to the proof, how large it is does. */
static npu_u64 base_of(const struct npu_region *r)
{
	return r->access & NPU_ACCESS_SRAM ? r->base : 0;
}

static struct proof *proof_new(const struct npu_work *work)
{
	struct proof *p = malloc(sizeof(*p) + work->num_regions * sizeof(*p->region));
	uint32_t i;

	if (!p)
		return NULL;
	memcpy(p->scalar, work->scalar, sizeof(p->scalar));
	p->num_regions = work->num_regions;
	for (i = 0; i < work->num_regions; i++)
		p->region[i] = (struct npu_region){ .base = base_of(&work->region[i]),
						    .size = work->region[i].size,
						    .access = work->region[i].access };
	return p;
}

static bool proof_holds(const struct proof *p, const struct npu_work *work)
{
	uint32_t i;

	if (!p || p->num_regions != work->num_regions ||
	    memcmp(p->scalar, work->scalar, sizeof(p->scalar)))
		return false;
	for (i = 0; i < p->num_regions; i++)
		if (p->region[i].base != base_of(&work->region[i]) ||
		    p->region[i].size != work->region[i].size ||
		    p->region[i].access != work->region[i].access)
			return false;
	return true;
}

/* Make entry @i the first one. */
static struct entry *touch(struct npu_stream_cache *cache, unsigned int i)
{
	struct entry e = cache->entry[i];

	memmove(&cache->entry[1], &cache->entry[0], i * sizeof(e));
	cache->entry[0] = e;
	return &cache->entry[0];
}

static struct entry *find(struct npu_stream_cache *cache, const void *stream, npu_u32 size)
{
	const struct npu_code *code;
	unsigned int i;

	for (i = 0; cache && i < cache->num; i++) {
		code = cache->entry[i].code;
		if (code->size == size && !memcmp(code->stream, stream, size))
			return touch(cache, i);
	}
	return NULL;
}

bool npu_stream_cache_get(struct npu_work *work, const void *stream, npu_u32 size)
{
	struct npu_queue *queue = work->queue;
	bool proven = false;
	struct entry *e;

	pthread_mutex_lock(&queue->lock);
	e = find(queue->streams, stream, size);
	if (e) {
		work->code = e->code;
		npu_ref_take(&e->code->refs);
		proven = proof_holds(e->proof, work);
	}
	pthread_mutex_unlock(&queue->lock);
	return proven;
}

/* Take the one that was not used for longest out. */
static void drop(struct npu_stream_cache *cache, struct entry *out)
{
	*out = cache->entry[--cache->num];
	cache->bytes -= out->code->size;
}

static void insert(struct npu_stream_cache *cache, struct npu_code *code, struct proof *proof)
{
	memmove(&cache->entry[1], &cache->entry[0], cache->num * sizeof(cache->entry[0]));
	cache->entry[0] = (struct entry){ .code = code, .proof = proof };
	npu_ref_take(&code->refs);
	cache->num++;
	cache->bytes += code->size;
}

void npu_stream_cache_put(const struct npu_work *work, bool proven)
{
	struct proof *proof = proven ? proof_new(work) : NULL, *old = NULL;
	struct entry gone[CACHE_STREAMS];
	struct npu_queue *queue = work->queue;
	struct npu_code *code = work->code;
	struct npu_stream_cache *cache;
	unsigned int num_gone = 0;
	struct entry *e;

	pthread_mutex_lock(&queue->lock);
	if (!queue->streams)
		queue->streams = calloc(1, sizeof(*queue->streams));
	cache = queue->streams;
	e = find(cache, code->stream, code->size);
	if (e && proof) {
		old = e->proof;
		e->proof = proof;
		proof = NULL;
	} else if (!e && cache && code->size <= CACHE_BYTES) {
		while (cache->num == CACHE_STREAMS || cache->bytes + code->size > CACHE_BYTES)
			drop(cache, &gone[num_gone++]);
		insert(cache, code, proof);
		proof = NULL;
	}
	pthread_mutex_unlock(&queue->lock);
	/* Without the lock: it may be work for the driver. */
	while (num_gone) {
		npu_code_put(gone[--num_gone].code);
		free(gone[num_gone].proof);
	}
	free(old);
	free(proof);
}

void npu_stream_cache_free(struct npu_stream_cache *cache)
{
	unsigned int i;

	for (i = 0; cache && i < cache->num; i++) {
		npu_code_put(cache->entry[i].code);
		free(cache->entry[i].proof);
	}
	free(cache);
}
