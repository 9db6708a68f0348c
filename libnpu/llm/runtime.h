/* SPDX-License-Identifier: MIT */
/* What the files that run language models share. */
#ifndef NPU_LLM_RUNTIME_H
#define NPU_LLM_RUNTIME_H

#include <pthread.h>
#include "core/memory.h"
#include "core/object.h"
#include "npu_llm.h"

/* Names of the step program's tensors; graph.c makes them, llm.c looks for them. */
#define NPU_LLM_T_TOKENS	"tokens"
#define NPU_LLM_T_POSITIONS	"positions"
#define NPU_LLM_T_SLOTS		"slot_mapping"
#define NPU_LLM_T_Q_START	"q_start"
#define NPU_LLM_T_KV_LEN	"kv_len"
#define NPU_LLM_T_TABLE		"block_table"
#define NPU_LLM_T_ROWS		"out_rows"
#define NPU_LLM_T_KV		"kv"
#define NPU_LLM_T_KV_SCALE	"kv_scale"
#define NPU_LLM_T_LOGITS	"logits"
#define NPU_LLM_T_ARGMAX	"argmax"

/*
 * The cache: blocks [layers][k, v][block size][kv heads][head dim], and for 8-bit codes as many
 * scales [layers][k, v][block size][kv heads]. A block has the same place in all layers.
 */
struct npu_llm_pool {
	pthread_mutex_t lock;		/* protects refs, free and num_free */
	uint32_t num, num_free;
	uint32_t *refs;			/* sessions that have the block */
	uint32_t *free;			/* stack of free ones */
	/* Constant. In a block: */
	uint64_t block_bytes, scale_bytes;
	struct npu_buffer *kv, *scale;	/* scale NULL: no codes */
};

struct npu_llm {
	atomic_uint refs;
	struct npu_device *dev;
	struct npu_job *job;
	struct npu_queue *queue;
	struct npu_llm_info info;	/* constant but for free_blocks */
	struct npu_llm_pool pool;
	uint32_t slots_per_block;	/* rows of a block that a slot mapping counts */
	uint32_t table_width;		/* blocks of a sequence at most */
	pthread_mutex_t run_lock;	/* one run at a time: protects run, and what is bound to it */
	struct npu_run *run;
	pthread_mutex_t fence_lock;	/* protects fence */
	struct npu_fence *fence;	/* of the run that is under way, or NULL */
};

struct npu_llm_session {
	struct npu_llm *llm;
	uint32_t length;		/* tokens whose keys and values are in the cache */
	uint32_t room;			/* of tokens */
	int32_t *tokens;
	uint32_t num_blocks;
	uint32_t *blocks;		/* [llm->table_width] */
	struct npu_llm_batch *batch;	/* that it is in, or NULL */
	struct npu_llm_batch *own;	/* for prefill and decode; made when needed */
};

/* The tensor @name of the step program, in *@t whatever it was; -EINVAL. */
int npu_llm_find_tensor(const struct npu_llm *llm, const char *name, struct npu_tensor_info *t,
			struct npu_error *err);
/* -ENOMEM with both figures when a largest step needs more than @room. */
int npu_llm_check_memory(const struct npu_llm *llm, const struct npu_memory_room *room,
			 struct npu_error *err);

struct npu_llm *npu_llm_get(struct npu_llm *llm);
void npu_llm_put(struct npu_llm *llm);

int npu_llm_pool_init(struct npu_llm_pool *pool, uint32_t num, struct npu_error *err);
void npu_llm_pool_fini(struct npu_llm_pool *pool);
/* A free block with one reference, or ~0. */
uint32_t npu_llm_pool_take(struct npu_llm_pool *pool);
void npu_llm_pool_share(struct npu_llm_pool *pool, uint32_t block);
void npu_llm_pool_drop(struct npu_llm_pool *pool, uint32_t block);
uint32_t npu_llm_pool_refs(struct npu_llm_pool *pool, uint32_t block);
uint32_t npu_llm_pool_free_blocks(struct npu_llm_pool *pool);
/* The host's view of a block: its @bytes of keys and values, or of scales. */
int npu_llm_pool_copy(struct npu_llm_pool *pool, uint32_t to, uint32_t from, struct npu_error *err);
int npu_llm_pool_read(struct npu_llm_pool *pool, uint32_t block, void *kv, void *scale,
		      struct npu_error *err);
int npu_llm_pool_write(struct npu_llm_pool *pool, uint32_t block, const void *kv,
		       const void *scale, struct npu_error *err);

/*
 * See to it that @s may write positions [length, length + num): blocks are taken and shared ones
 * are copied. On -ENOSPC (or an error of a copy) nothing has changed that matters.
 */
int npu_llm_session_grow(struct npu_llm_session *s, uint32_t num, struct npu_error *err);
/* Remember @num tokens behind the last one; their rows are in the cache. The room was reserved. */
void npu_llm_session_append(struct npu_llm_session *s, const int32_t *tokens, uint32_t num);
int npu_llm_session_reserve(struct npu_llm_session *s, uint32_t num, struct npu_error *err);

#endif
