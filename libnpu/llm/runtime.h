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
 * Not in jobs of before: the first of the rows with logits, their largest ones and which they are.
 */
#define NPU_LLM_T_TOP_VALUES	"top_values"
#define NPU_LLM_T_TOP_TOKENS	"top_tokens"

#define NPU_LLM_NONE	(~0u)		/* no block, no slot */

/*
 * A block of the cache: [layers][k, v][positions][kv heads][head dim], and for 8-bit codes as many
 * scales [layers][k, v][positions][kv heads]. It lies in a slot on the NPU, in the host's memory,
 * or in both. Its positions are written in order and one that is full does not change any more, so
 * what the host has of it stays right: only what is new has to be copied when it leaves the NPU.
 *
 * refs and counted are under the pool's lock, the rest under the model's run_lock; links are
 * changed with both.
 */
struct npu_llm_block {
	uint32_t refs;			/* sessions that have it, and a move under way */
	uint32_t counted;		/* of them by npu_llm_sessions_blocks() */
	uint32_t slot;			/* or NPU_LLM_NONE: it is not on the NPU */
	uint32_t older, newer;		/* of those on the NPU, by the step that needed them last */
	uint32_t used;			/* positions that are written */
	uint32_t kept;			/* the first of them that the host has, too */
	uint32_t writers;		/* sessions that go on in it in step write_step */
	uint64_t write_step;
	uint64_t step;			/* the last one that needed it */
	uint8_t *host;			/* keys and values, then scales; NULL: it never was away */
};

struct npu_llm_pool {
	pthread_mutex_t lock;		/* protects what struct npu_llm_block says, and: */
	uint32_t num, num_free;		/* blocks */
	uint32_t num_slots, num_free_slots;
	struct npu_llm_block *blocks;	/* [num] */
	uint32_t *free, *free_slots;	/* stacks of free ones */
	uint32_t oldest, newest;	/* of the blocks on the NPU */
	uint32_t num_resident;		/* of them */
	uint64_t num_host;		/* blocks that have memory of the host */
	uint64_t blocks_out, blocks_in, bytes_out, bytes_in;
	uint64_t step;			/* that is being made; run_lock */
	/* Constant. */
	uint32_t positions, planes;	/* of a block; planes: layers * 2 */
	uint64_t block_bytes, scale_bytes;
	struct npu_buffer *kv, *scale;	/* of all slots; scale NULL: no codes */
	uint8_t *kv_map, *scale_map;	/* the host's view of them */
};

/* What a step takes of the pool. */
struct npu_llm_demand {
	uint32_t blocks;		/* new ones */
	uint32_t slots;			/* on the NPU at once */
};

struct npu_llm {
	atomic_uint refs;
	struct npu_device *dev;
	struct npu_job *job;
	struct npu_queue *queue;
	struct npu_llm_info info;	/* constant but for what pool.c adds */
	struct npu_llm_pool pool;
	uint32_t slots_per_block;	/* rows of a block that a slot mapping counts */
	uint32_t table_width;		/* blocks of a sequence at most */
	uint32_t max_top, max_top_rows;	/* largest logits of a row, rows that have them; 0: none */
	/* One run at a time: protects run, what is bound to it, and where blocks are. */
	pthread_mutex_t run_lock;
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
	uint32_t *blocks;		/* [llm->table_width], of the pool */
	struct npu_llm_batch *batch;	/* that it is in, or NULL */
	struct npu_llm_batch *own;	/* for prefill and decode; made when needed */
};

/* The tensor @name of the step program, in *@t whatever it was; -EINVAL. */
int npu_llm_find_tensor(const struct npu_llm *llm, const char *name, struct npu_tensor_info *t,
			struct npu_error *err);
/* Bytes that a batch has of this process beside its logits. */
uint64_t npu_llm_batch_bytes(const struct npu_llm *llm);
/* -ENOMEM with both figures when a largest step needs more than @room. */
int npu_llm_check_memory(const struct npu_llm *llm, const struct npu_memory_room *room,
			 struct npu_error *err);

/*
 * How many of the largest logits are all that the sampler looks at, 0: it needs every one; and the
 * choice among so many, in the order of npu_llm_sample(). -EAGAIN: these will not do.
 */
uint32_t npu_llm_sampler_top(const struct npu_llm_sampler *s);
int32_t npu_llm_sample_top(struct npu_llm_sampler *s, const float *values, const int32_t *tokens);

struct npu_llm *npu_llm_get(struct npu_llm *llm);
void npu_llm_put(struct npu_llm *llm);

/* ---- pool.c: whose blocks are; from any thread ---- */

int npu_llm_pool_init(struct npu_llm_pool *pool, uint32_t num, uint32_t num_slots,
		      struct npu_error *err);
void npu_llm_pool_fini(struct npu_llm_pool *pool);
/* A free block with one reference, nowhere yet, or NPU_LLM_NONE. */
uint32_t npu_llm_pool_take(struct npu_llm_pool *pool);
void npu_llm_pool_share(struct npu_llm_pool *pool, uint32_t block);
void npu_llm_pool_drop(struct npu_llm_pool *pool, uint32_t block);
uint32_t npu_llm_pool_refs(struct npu_llm_pool *pool, uint32_t block);
uint32_t npu_llm_pool_free_blocks(struct npu_llm_pool *pool);
void npu_llm_pool_info(struct npu_llm_pool *pool, struct npu_llm_info *info);

/* For offload.c, with the lock: the list of blocks on the NPU. */
void npu_llm_pool_link(struct npu_llm_pool *pool, uint32_t block);
void npu_llm_pool_unlink(struct npu_llm_pool *pool, uint32_t block);

/* ---- offload.c: where blocks are; with the model's run_lock ---- */

/* A new step: no block is needed yet. */
void npu_llm_pool_begin_step(struct npu_llm_pool *pool);
/* The step needs @block, which stays on the NPU if it is there; returns whether that is new. */
bool npu_llm_pool_need(struct npu_llm_pool *pool, uint32_t block);
/*
 * See to it that a block that is needed is on the NPU: one that is not may have to leave. On
 * -ENOMEM (the host has no memory for that one) and errors of a copy all blocks have what they had.
 */
int npu_llm_pool_bring(struct npu_llm_pool *pool, uint32_t block, struct npu_error *err);
/* The first @num positions of @from to @to, which is on the NPU. */
int npu_llm_pool_copy(struct npu_llm_pool *pool, uint32_t to, uint32_t from, uint32_t num,
		      struct npu_error *err);
/* The same to and from memory: @data is as struct npu_llm_block's host. */
int npu_llm_pool_read(struct npu_llm_pool *pool, uint32_t block, uint32_t num, uint8_t *data,
		      struct npu_error *err);
/* To a new block: on the NPU while there is room without that another leaves, else to the host. */
int npu_llm_pool_write(struct npu_llm_pool *pool, uint32_t block, uint32_t num,
		       const uint8_t *data, struct npu_error *err);

/* ---- host_memory.c: where blocks are that are away ---- */

void *npu_llm_host_alloc(size_t size);
void npu_llm_host_free(void *p);

/* ---- session.c ---- */

/* Add what @s takes when @num positions are written behind its last one; with run_lock. */
void npu_llm_session_demand(struct npu_llm_session *s, uint32_t num, struct npu_llm_demand *d);
/* Whether the pool has that; -ENOSPC or -E2BIG says what it has. */
int npu_llm_session_check(struct npu_llm *llm, const struct npu_llm_demand *d, uint32_t sessions,
			  struct npu_error *err);
/*
 * See to it that @s may write positions [length, length + num), which was checked: blocks are
 * taken, shared ones are copied, and all are brought to the NPU. On an error nothing has changed
 * that matters. With run_lock.
 */
int npu_llm_session_grow(struct npu_llm_session *s, uint32_t num, struct npu_error *err);
/* Remember @num tokens behind the last one. The room was reserved. */
void npu_llm_session_append(struct npu_llm_session *s, const int32_t *tokens, uint32_t num);
/* The same, and the blocks have their keys and values; with run_lock. */
void npu_llm_session_written(struct npu_llm_session *s, const int32_t *tokens, uint32_t num);
int npu_llm_session_reserve(struct npu_llm_session *s, uint32_t num, struct npu_error *err);

#endif
