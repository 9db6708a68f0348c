/* SPDX-License-Identifier: MIT */
/* Engine internal: the engine object, and one call of npu_engine_run() in progress. */
#ifndef NPU_RUN_H
#define NPU_RUN_H

#include <pthread.h>
#include <sys/types.h>
#include "npu_op.h"
#include "pool.h"

#define NPU_DEFAULT_SRAM	(2u << 20)

struct npu_arena {
	void *mem;
	size_t size;
};

/*
 * What a caller of npu_engine_run() owns while it is inside; kept by the engine for the next one.
 */
struct npu_run {
	struct npu_engine *engine;
	struct npu_run *next;
	struct npu_exec exec;
	struct npu_batch batch;
	struct npu_arena *arena;	/* one per worker */
	struct npu_arena shared;
	const atomic_bool *stop;
	atomic_ullong *progress;

	/* The loop that npu_exec_parallel() shares out. */
	npu_chunk_fn chunk_fn;
	void *chunk_arg;
	npu_u64 num_items, align, min_chunk, max_chunk;
	_Atomic(npu_u64) next_item;
	double alone_ns;		/* that helpers slept through, since one was woken for it */
	atomic_bool cut;		/* faulted: take no more chunks */
	atomic_bool unfinished;		/* a chunk was left before its end */

	pthread_mutex_t fault_lock;	/* protects the three below; any worker may find a fault */
	npu_u64 fault_order;
	struct npu_fault fault;
	char fault_text[256];

	/* Address ranges of the present instruction that release() must be called for. */
	struct {
		npu_u64 va, size;
	} held[NPU_MAX_OPERANDS];
	unsigned int num_held;
	/* the instruction overwrites what it reads: no second try after a stop */
	bool in_place;

	_Alignas(64) npu_u32 words[NPU_MAX_INSN_WORDS + 1];
};

/* On-chip memory of states that have ended, to be used again. */
struct npu_sram_block {
	void *base;			/* of the allocation that mem lies in, aligned */
	void *mem;
	npu_u64 used;			/* bytes from the start that may be other than zero */
	struct npu_sram_block *next;
};

/* What a state needs beside its public fields. */
struct npu_state_priv {
	struct npu_stream_header header;	/* a checked copy */
	struct npu_sram_block *block;		/* NULL: on-chip memory is the caller's */
	bool done, failed;
};

struct npu_engine {
	struct npu_engine_config config;
	enum npu_simd simd;		/* as configured, never AUTO */
	unsigned int num_workers;
	pid_t pid;			/* of the process that has the threads */
	struct npu_thread_pool pool;
	pthread_mutex_t lock;		/* protects the two lists */
	struct npu_run *idle_runs;
	struct npu_sram_block *idle_sram;
	_Atomic(npu_u64) insns, macs, path[64];
};

/* dispatch.c: the best set that this CPU has; whether it has @simd. */
enum npu_simd npu_simd_best(void);
bool npu_simd_available(enum npu_simd simd);
/* The set that the float kernels of @simd are of; *@vnni: whether it has dot products of codes. */
enum npu_simd npu_simd_base(enum npu_simd simd, bool *vnni);

/*
 * scratch.c: @arena holds at least @size bytes afterwards, its contents are lost when it grows.
 * Returns 0 or -ENOMEM.
 */
int npu_arena_grow(struct npu_arena *arena, size_t size);
void npu_arena_free(struct npu_arena *arena);
/* A block of zeros; given back with npu_sram_put(), which needs to know how much was written. */
struct npu_sram_block *npu_sram_get(struct npu_engine *engine);
void npu_sram_put(struct npu_engine *engine, struct npu_sram_block *block);
void npu_sram_free_all(struct npu_engine *engine);
struct npu_run *npu_run_get(struct npu_engine *engine);
void npu_run_put(struct npu_run *run);
void npu_run_free_all(struct npu_engine *engine, bool abandon);

/* resolve.c: a piece of the stream, wherever it is. 0 or -EFAULT (state's fault filled). */
int npu_stream_copy(struct npu_engine_state *state, npu_u32 offset, void *buf, npu_u32 size);
/*
 * resolve.c: fetch, decode and check the next instruction; then operands to pointers. 0 or -EFAULT
 * (state's fault filled).
 */
int npu_run_fetch(struct npu_run *run, struct npu_engine_state *state);
int npu_run_resolve(struct npu_run *run, struct npu_engine_state *state);
void npu_run_release(struct npu_run *run, struct npu_engine_state *state);

/* state.c: fill in the state's fault and its text for the present instruction. Returns -EFAULT. */
int npu_state_fault(struct npu_engine_state *state, enum npu_fault_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same from a decoder's or checker's error. */
int npu_state_fault_isa(struct npu_engine_state *state, const struct npu_isa_error *err);

#endif
