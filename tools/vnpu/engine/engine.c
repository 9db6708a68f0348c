// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "fpenv.h"
#include "run.h"

static npu_u64 clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (npu_u64)ts.tv_sec * 1000000000u + (npu_u64)ts.tv_nsec;
}

static unsigned int default_threads(void)
{
	unsigned int n = npu_pool_processors();

	return n < NPU_ENGINE_MAX_THREADS ? n : NPU_ENGINE_MAX_THREADS;
}

int npu_engine_create(const struct npu_engine_config *config, struct npu_engine **out)
{
	struct npu_engine *engine;
	int ret = -ENOMEM;

	*out = NULL;
	if (config->threads > NPU_ENGINE_MAX_THREADS || config->sram_size > (1ull << 40))
		return -EINVAL;
	if (config->simd != NPU_SIMD_AUTO && !npu_simd_available(config->simd))
		return -ENOTSUP;
	engine = calloc(1, sizeof(*engine));
	if (!engine)
		return -ENOMEM;
	engine->config = *config;
	if (!engine->config.sram_size)
		engine->config.sram_size = NPU_DEFAULT_SRAM;
	engine->simd = config->simd == NPU_SIMD_AUTO ? npu_simd_best() : config->simd;
	engine->num_workers = config->threads ? config->threads : default_threads();
	engine->pid = getpid();
	ret = -pthread_mutex_init(&engine->lock, NULL);
	if (ret)
		goto err_engine;
	ret = npu_pool_init(&engine->pool, config->parallel_for ? 0 : engine->num_workers - 1,
			    config->callers ? config->callers : 1);
	if (ret)
		goto err_lock;
	*out = engine;
	return 0;

err_lock:
	pthread_mutex_destroy(&engine->lock);
err_engine:
	free(engine);
	return ret;
}

void npu_engine_destroy(struct npu_engine *engine)
{
	bool child;

	if (!engine)
		return;
	child = engine->pid != getpid();
	npu_pool_fini(&engine->pool, child);
	npu_run_free_all(engine, child);
	npu_sram_free_all(engine);
	if (!child)
		pthread_mutex_destroy(&engine->lock);
	free(engine);
}

/* NULL for an opcode that this engine does not have. */
static npu_op_fn op_lookup(unsigned int opcode)
{
	switch (opcode) {
#define X(name, fn) case NPU_OP_##name: return fn;
#include "npu_op_list.h"
#undef X
	default:
		return NULL;
	}
}

bool npu_engine_supports(const struct npu_engine *engine, unsigned int opcode)
{
	switch (opcode) {
	case NPU_OP_END:
	case NPU_OP_MARKER:
	case NPU_OP_TIMESTAMP:
	case NPU_OP_LOAD_SCALAR:
		return true;
	default:
		return op_lookup(opcode);
	}
}

unsigned int npu_engine_threads(const struct npu_engine *engine)
{
	return engine->num_workers;
}

const char *npu_engine_simd_name(const struct npu_engine *engine)
{
	return npu_simd_name(engine->simd);
}

const char *npu_engine_path_name(unsigned int path)
{
	static const char *const name[] = {
#define X(name) #name,
		NPU_PATHS(X)
#undef X
	};

	return path < NPU_NUM_PATHS ? name[path] : NULL;
}

void npu_engine_counters(const struct npu_engine *engine, struct npu_engine_counters *out)
{
	unsigned int i;

	out->insns = atomic_load_explicit(&engine->insns, memory_order_relaxed);
	out->macs = atomic_load_explicit(&engine->macs, memory_order_relaxed);
	for (i = 0; i < 64; i++)
		out->path[i] = atomic_load_explicit(&engine->path[i], memory_order_relaxed);
}

static int load_scalar(struct npu_exec *x)
{
	unsigned int i = x->param[NPU_LOAD_SCALAR_P_INDEX];
	const struct npu_stream_header *h = &x->state->priv->header;
	npu_s64 value;
	npu_s32 narrow;

	if (x->operand[NPU_LOAD_SCALAR_IN].dtype == NPU_I64) {
		memcpy(&value, x->ptr[NPU_LOAD_SCALAR_IN], sizeof(value));
	} else {
		memcpy(&narrow, x->ptr[NPU_LOAD_SCALAR_IN], sizeof(narrow));
		value = narrow;
	}
	if (i >= h->num_scalars || value < x->param[NPU_LOAD_SCALAR_P_MIN] ||
	    value > x->param[NPU_LOAD_SCALAR_P_MAX] || value < h->scalar[i].min ||
	    value > h->scalar[i].max)
		return npu_exec_fault(x, 0, NPU_FAULT_INDEX, NPU_LOAD_SCALAR_IN,
				      NPU_LOAD_SCALAR_P_INDEX, value,
				      "load_scalar: %lld is outside the bounds of scalar %u",
				      (long long)value, i);
	x->state->scalar[i] = (npu_u32)value;
	return 0;
}

/*
 * The instructions that concern the run loop itself are carried out here, all others by their
 * op_*.c.
 */
static int insn_execute(struct npu_run *run, struct npu_engine_state *state)
{
	struct npu_exec *x = &run->exec;
	npu_s64 ticks;
	npu_op_fn fn;

	switch (x->insn.header->opcode) {
	case NPU_OP_END:
	case NPU_OP_MARKER:
		return 0;
	case NPU_OP_TIMESTAMP:
		ticks = (npu_s64)clock_ns();
		memcpy(x->ptr[NPU_TIMESTAMP_OUT], &ticks, sizeof(ticks));
		return 0;
	case NPU_OP_LOAD_SCALAR:
		return load_scalar(x);
	}
	fn = op_lookup(x->insn.header->opcode);
	if (!fn)
		return npu_exec_fault(x, 0, NPU_FAULT_OPCODE, ~0u, ~0u, x->insn.header->opcode,
				      "%s is not supported by this engine", x->insn.desc->mnemonic);
	return fn(x);
}

/* Move a fault that an opcode reported into the state. */
static int insn_fault(struct npu_run *run, struct npu_engine_state *state, int ret)
{
	const struct npu_insn_header *h = run->exec.insn.header;

	if (ret == -ENOMEM)
		npu_state_fault(state, NPU_FAULT_INTERNAL, "%s: no memory for scratch",
				run->exec.insn.desc->mnemonic);
	else if (run->fault.code)
		npu_state_fault(state, run->fault.code, "%s", run->fault_text);
	else
		npu_state_fault(state, NPU_FAULT_INTERNAL, "%s: error %d",
				run->exec.insn.desc->mnemonic, -ret);
	if (run->fault.code) {
		state->fault.operand = run->fault.operand;
		state->fault.field = run->fault.field;
		state->fault.value = run->fault.value;
	}
	state->fault.opcode = h->opcode;
	state->fault.tag = h->tag;
	return -EFAULT;
}

/* One instruction: 0, -EINTR or -EFAULT with the state's fault filled in. */
static int step(struct npu_run *run, struct npu_engine_state *state)
{
	npu_u64 start = state->observer.insn ? clock_ns() : 0;
	int ret;

	ret = npu_run_fetch(run, state);
	if (ret)
		return ret;
	ret = npu_run_resolve(run, state);
	if (ret)
		return ret;
	run->fault.code = NPU_FAULT_NONE;
	atomic_store_explicit(&run->cut, false, memory_order_relaxed);
	ret = insn_execute(run, state);
	if (!ret && state->observer.insn)
		state->observer.insn(state->observer.ctx, &run->exec.insn, run->exec.ptr, start,
				     clock_ns() - start);
	npu_run_release(run, state);
	if (ret == -EINTR) {
		state->resumable = !run->in_place;
		return ret;
	}
	if (ret)
		return insn_fault(run, state, ret);
	state->offset += run->exec.insn.header->words * 4u;
	state->insn++;
	state->priv->done = run->exec.insn.header->opcode == NPU_OP_END;
	atomic_fetch_add_explicit(&run->engine->insns, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&run->engine->macs, npu_insn_macs(&run->exec.insn),
				  memory_order_relaxed);
	if (run->progress)
		atomic_fetch_add_explicit(run->progress, 1, memory_order_relaxed);
	return 0;
}

static enum npu_run_result loop(struct npu_run *run, struct npu_engine_state *state,
				npu_u64 budget_ns)
{
	npu_u64 start = budget_ns && budget_ns != UINT64_MAX ? clock_ns() : 0;
	int ret;

	for (;;) {
		if (run->stop && atomic_load_explicit(run->stop, memory_order_relaxed))
			return NPU_RUN_STOPPED;
		state->started = true;
		ret = step(run, state);
		if (ret == -EINTR)
			return NPU_RUN_STOPPED;
		if (ret) {
			state->priv->failed = true;
			return NPU_RUN_FAULT;
		}
		if (state->priv->done)
			return NPU_RUN_DONE;
		if (!budget_ns || (start && clock_ns() - start >= budget_ns))
			return NPU_RUN_YIELD;
	}
}

enum npu_run_result npu_engine_run(struct npu_engine *engine, struct npu_engine_state *state,
				   npu_u64 budget_ns, const atomic_bool *stop,
				   atomic_ullong *progress)
{
	enum npu_run_result result;
	struct npu_run *run;
	npu_fpenv old;

	if (!state->priv || state->priv->failed)
		return NPU_RUN_FAULT;
	if (state->priv->done)
		return NPU_RUN_DONE;
	if (!engine->config.parallel_for && engine->pid != getpid()) {
		npu_state_fault(state, NPU_FAULT_INTERNAL,
				"engine belongs to the process before fork()");
		return NPU_RUN_FAULT;
	}
	if (!state->resumable) {
		npu_state_fault(state, NPU_FAULT_INTERNAL,
				"job was stopped inside of an in-place instruction");
		return NPU_RUN_FAULT;
	}
	run = npu_run_get(engine);
	if (!run) {
		npu_state_fault(state, NPU_FAULT_INTERNAL, "no memory to run");
		return NPU_RUN_FAULT;
	}
	run->stop = stop;
	run->progress = progress;
	run->alone_ns = 0;
	run->exec.simd = npu_simd_base(engine->simd, &run->exec.vnni);
	run->exec.num_workers = engine->num_workers;
	run->exec.state = state;
	run->exec.run = run;
	old = npu_fpenv_enter();
	result = loop(run, state, budget_ns);
	npu_fpenv_leave(old);
	npu_run_put(run);
	return result;
}
