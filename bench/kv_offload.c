// SPDX-License-Identifier: MIT
/*
 * kv_offload MODEL.npu [DEVICE]: two sessions take the NPU's part of the KV cache from each other.
 * What it costs to move one out and the other in, beside memcpy() of as many bytes in the same
 * order, in turns, medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "llm/runtime.h"

#define ROUNDS	41

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All of @s to the NPU; the host's copies of what leaves for it are @stale or not. */
static double bring(struct npu_llm_session *s, struct npu_llm_session *leaves, bool stale)
{
	struct npu_llm_pool *pool = &s->llm->pool;
	struct npu_error err = { .text = "" };
	uint32_t i, failed = 0;
	double start;

	for (i = 0; stale && i < leaves->num_blocks; i++)
		pool->blocks[leaves->blocks[i]].kept = 0;
	pthread_mutex_lock(&s->llm->run_lock);
	start = seconds();
	npu_llm_pool_begin_step(pool);
	for (i = 0; i < s->num_blocks; i++)
		npu_llm_pool_need(pool, s->blocks[i]);
	for (i = 0; i < s->num_blocks; i++)
		failed += npu_llm_pool_bring(pool, s->blocks[i], &err) != 0;
	start = seconds() - start;
	pthread_mutex_unlock(&s->llm->run_lock);
	if (failed)
		fprintf(stderr, "%s\n", err.text);
	return start;
}

/* The same by memcpy() alone: @slots, and what the host has of two sessions. */
struct plain {
	uint8_t *slots, *host[2];
	uint64_t block;
	uint32_t blocks;
};

static double copy(const struct plain *p, int in, bool out)
{
	double start = seconds();
	uint64_t i;

	for (i = 0; i < p->blocks; i++) {
		if (out)
			memcpy(p->host[!in] + i * p->block, p->slots + i * p->block, p->block);
		memcpy(p->slots + i * p->block, p->host[in] + i * p->block, p->block);
	}
	return seconds() - start;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double rate(double *times, uint64_t bytes)
{
	qsort(times, ROUNDS, sizeof(*times), compare);
	return (double)bytes / times[ROUNDS / 2] / 1e9;
}

static uint8_t *bytes_of(uint64_t size)
{
	uint8_t *p = malloc(size);

	if (!p)
		exit(1);
	return memset(p, 1, size);
}

static void measure(struct npu_llm_session *s[2], uint64_t block)
{
	struct plain p = { .block = block, .blocks = s[0]->num_blocks };
	uint64_t bytes = p.blocks * block;
	double both[ROUNDS], in[ROUNDS], plain_both[ROUNDS], plain_in[ROUNDS];
	int i;

	p.slots = bytes_of(bytes);
	p.host[0] = bytes_of(bytes);
	p.host[1] = bytes_of(bytes);
	bring(s[0], s[1], true);
	bring(s[1], s[0], true);
	for (i = 0; i < ROUNDS; i++) {
		both[i] = bring(s[i & 1], s[~i & 1], true);
		in[i] = bring(s[~i & 1], s[i & 1], false);
		bring(s[i & 1], s[~i & 1], false);
		plain_both[i] = copy(&p, i & 1, true);
		plain_in[i] = copy(&p, ~i & 1, false);
		copy(&p, i & 1, false);
	}
	printf("%u blocks of %.0f KiB, GB/s: out and in %.2f (memcpy %.2f), in alone, as the host has copies, %.2f (%.2f)\n",
	       p.blocks, (double)block / 1024, rate(both, 2 * bytes), rate(plain_both, 2 * bytes),
	       rate(in, bytes), rate(plain_in, bytes));
	free(p.slots);
	free(p.host[0]);
	free(p.host[1]);
}

int main(int argc, char **argv)
{
	struct npu_llm_options opt = NPU_INIT(opt);
	struct npu_llm_info info = NPU_INIT(info);
	struct npu_error err = { .text = "" };
	struct npu_llm_session *s[2];
	struct npu_llm *llm;
	int32_t *ids;
	int i, ret;

	opt.device = argc == 3 ? argv[2] : NULL;
	ret = argc < 2 ? 1 : npu_llm_open(argv[1], &opt, &llm, &err);
	if (!ret) {
		npu_llm_info(llm, &info);
		npu_llm_close(llm);
		opt.kv_budget = (uint64_t)info.context * info.kv_per_token;
		ret = npu_llm_open(argv[1], &opt, &llm, &err);
	}
	ids = calloc(info.context ? info.context : 1, sizeof(*ids));
	for (i = 0; i < 2 && !ret && ids; i++) {
		ret = npu_llm_session_create(llm, &s[i], &err);
		ret = ret ?: npu_llm_prefill(s[i], ids, info.context, NULL, &err);
	}
	ret = ids ? ret : 1;
	free(ids);
	if (ret) {
		fprintf(stderr, "usage: kv_offload MODEL.npu [DEVICE]\n%s\n", err.text);
		return 1;
	}
	measure(s, info.block * info.kv_per_token);
	npu_llm_session_destroy(s[0]);
	npu_llm_session_destroy(s[1]);
	npu_llm_close(llm);
	return 0;
}
