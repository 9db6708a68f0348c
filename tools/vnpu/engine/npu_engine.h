/* SPDX-License-Identifier: MIT */
/*
 * The engine: executes a job's command stream. The same library stands behind the virtual PCI
 * device and behind libnpu's sim backend; this header is the whole seam.
 */
#ifndef NPU_ENGINE_H
#define NPU_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include "npu_isa.h"

struct npu_engine;
struct npu_insn;

/*
 * Instruction sets of the host that kernels may use; results never depend on the choice. AVX_VNNI
 * is AVX2 with dot products of 8-bit codes, AVX512_VNNI the same of AVX512.
 */
enum npu_simd {
	NPU_SIMD_AUTO, NPU_SIMD_PORTABLE, NPU_SIMD_AVX2, NPU_SIMD_AVX512, NPU_SIMD_AVX_VNNI,
	NPU_SIMD_AVX512_VNNI, NPU_NUM_SIMDS
};

struct npu_engine_config {
	/* 0: one per CPU; threads beside the caller of npu_engine_run are threads - 1 */
	unsigned int threads;
	/* threads that call npu_engine_run() at a time; 0: one. More may, at the cost of time */
	unsigned int callers;
	enum npu_simd simd;		/* a set that the host lacks is refused with -ENOTSUP */
	/* bytes of on-chip memory that a state owns; 0: the default of 2 MiB */
	npu_u64 sram_size;
	/*
	 * The caller's own thread pool instead of the engine's: run fn(arg, i) for every i < n, in
	 * any order and on any threads, and return when all have finished. May run them one after
	 * the other.
	 */
	void (*parallel_for)(void *ctx, unsigned int n, void (*fn)(void *arg, unsigned int i),
			     void *arg);
	void *parallel_ctx;
};

/*
 * Address space of a context. resolve() gives the host address of [va, va + size), all of it
 * accessible for @access (NPU_ACCESS_*), or NULL with the first bad address in *@bad. What it
 * returned stays valid until release(), which is called once per successful resolve() after the
 * instruction. Both are called from the thread that runs the engine. With resolve == NULL addresses
 * are host addresses (in process).
 */
struct npu_address_space {
	void *(*resolve)(void *ctx, npu_u64 va, npu_u64 size, npu_u32 access, npu_u64 *bad);
	void (*release)(void *ctx, npu_u64 va, npu_u64 size);
	/*
	 * With state->stream == NULL: copy [va, va + size) of the stream to @buf. Returns 0, or a
	 * negative errno with the first address in *@bad that can not be fetched from. Called twice
	 * for an instruction, for no byte twice.
	 */
	int (*fetch)(void *ctx, npu_u64 va, void *buf, npu_u32 size, npu_u64 *bad);
	void *ctx;
};

/*
 * Called after each instruction that was carried out, END too, from the thread that runs the
 * engine: @insn as it ran, with its terms applied, its operands at @ptr[slot] and still held;
 * state->insn and state->offset are still those of @insn. It began at @start_ns of CLOCK_MONOTONIC.
 */
struct npu_observer {
	void (*insn)(void *ctx, const struct npu_insn *insn, void *const *ptr, npu_u64 start_ns,
		     npu_u64 ns);
	void *ctx;
};

/* One job in execution. Zero it, fill the upper half in, call npu_engine_state_init(). */
struct npu_engine_state {
	/*
	 * Host memory, or NULL: then space.fetch() reads it at stream_va. May change under the
	 * engine, each instruction is copied once.
	 */
	const void *stream;
	npu_u64 stream_va;
	npu_u32 stream_size;
	npu_u32 num_regions;
	const struct npu_region *regions;	/* must not change while the job runs */
	npu_u32 scalar[NPU_MAX_SCALARS];
	struct npu_address_space space;
	struct npu_observer observer;	/* insn == NULL: none */
	/*
	 * On-chip memory. NULL: the engine's own, which reads as zero when the job starts. Else
	 * sram_size bytes of the caller's, aligned to 64 bytes, of which the first sram_used may be
	 * other than zero; clearing them is up to the caller. sram_used grows with what is written.
	 */
	void *sram;
	npu_u64 sram_size;
	npu_u64 sram_used;

	/*
	 * The engine's: the resume point. After npu_engine_state_init() and before the first run
	 * the caller may set it to where another state of the same job, with these scalars and this
	 * on-chip memory, had come to; it is checked like the stream.
	 */
	npu_u32 offset;			/* of the next instruction */
	npu_u32 insn;			/* its index */
	npu_u32 num_regions_named;	/* from the header */
	bool started;
	bool resumable;			/* false: an in-place instruction was stopped half way */
	struct npu_fault fault;		/* after NPU_RUN_FAULT */
	char fault_text[256];		/* the same in words */
	struct npu_engine *engine;	/* the one of npu_engine_state_init() */
	struct npu_state_priv *priv;
};

enum npu_run_result { NPU_RUN_DONE, NPU_RUN_YIELD, NPU_RUN_STOPPED, NPU_RUN_FAULT };

/* Counters that show which kernel paths ran; for tests ("path-hit counts") and profiles. */
struct npu_engine_counters {
	npu_u64 insns;
	npu_u64 macs;
	npu_u64 path[64];
};

/*
 * Returns 0 or a negative errno (-ENOMEM, -ENOTSUP, -EINVAL, -EAGAIN). *@engine is freed with
 * npu_engine_destroy(). After fork() the child has none of the engine's threads: there
 * npu_engine_run() faults (INTERNAL) and npu_engine_state_init() returns -ECHILD;
 * npu_engine_destroy() and npu_engine_state_fini() work, and a new engine may be made. An engine
 * with the caller's parallel_for has no threads of its own and may be used in a child.
 */
int npu_engine_create(const struct npu_engine_config *config, struct npu_engine **engine);
void npu_engine_destroy(struct npu_engine *engine);

/*
 * Validate the stream's header and the scalars and allocate on-chip memory. Returns 0, -ENOMEM or
 * -EINVAL (fault filled).
 */
int npu_engine_state_init(struct npu_engine *engine, struct npu_engine_state *state);
void npu_engine_state_fini(struct npu_engine_state *state);

/*
 * Run from the resume point. At least one instruction is executed; when @budget_ns have passed it
 * yields at the next instruction boundary (0: after each instruction, UINT64_MAX: never). @stop is
 * polled at least once per millisecond of work; when it becomes true the result is NPU_RUN_STOPPED
 * and, with state->resumable, a later call repeats the interrupted instruction. @progress, when not
 * NULL, is increased as work is done (a heartbeat). An engine runs one state at a time per calling
 * thread; several threads may call it at once with different states (work is shared out by
 * instruction).
 */
enum npu_run_result npu_engine_run(struct npu_engine *engine, struct npu_engine_state *state,
				   npu_u64 budget_ns, const atomic_bool *stop,
				   atomic_ullong *progress);

/* The most threads that an engine takes. */
#define NPU_ENGINE_MAX_THREADS	256u

/*
 * Whether the engine implements @opcode; threads in use, the caller's among them; name of the SIMD
 * set in use; a snapshot of counters; names of paths (NULL past the end).
 */
bool npu_engine_supports(const struct npu_engine *engine, unsigned int opcode);
unsigned int npu_engine_threads(const struct npu_engine *engine);
const char *npu_engine_simd_name(const struct npu_engine *engine);
/* The name of a set, as it is written in options; NULL past the end. */
const char *npu_simd_name(unsigned int simd);
void npu_engine_counters(const struct npu_engine *engine, struct npu_engine_counters *out);
const char *npu_engine_path_name(unsigned int path);

#endif
