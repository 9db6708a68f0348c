// SPDX-License-Identifier: MIT
/*
 * What a model takes of memory, from its job file alone: the buffers that a step of given lengths
 * has, as the device makes them, and what this process has beside them.
 */
#include <errno.h>
#include <string.h>
#include "core/mapping.h"
#include "llm/runtime.h"

/*
 * Measured, as are: scratch and stack of a thread of the engine; what its threads have in common.
 */
#define ENGINE_THREAD	(64u << 10)
#define ENGINE_SHARED	(128u << 10)
#define CODE		(900u << 10)	/* of this library that a first run touches */

/* Lengths of a step: of which tensor's first dim, and its bound. */
static void set_length(const struct npu_llm *llm, const char *tensor, uint32_t *value,
		       npu_u32 scalar[NPU_MAX_SCALARS])
{
	struct npu_tensor_info t;
	struct npu_symbol_info s = NPU_INIT(s);
	npu_u32 sym;

	if (npu_llm_find_tensor(llm, tensor, &t, NULL) || t.symbol[0] < 0)
		return;
	sym = (npu_u32)t.symbol[0];
	if (npu_job_symbol(llm->job, 0, sym, &s))
		return;
	if (!*value || *value > s.max)
		*value = s.max;
	scalar[sym] = *value / s.step;
}

/* Bytes of the buffers of a role; each is whole pages. */
static uint64_t role_bytes(const struct npu_llm *llm, npu_u32 role,
			   const npu_u32 scalar[NPU_MAX_SCALARS])
{
	const struct npu_jobfile_program *prog = &llm->job->file->programs[0];
	uint64_t sum = 0;
	npu_u64 size;
	npu_u32 i;

	for (i = 0; i < prog->num_regions; i++)
		if (prog->regions[i].role == role &&
		    !npu_jobfile_eval(&prog->regions[i].size, scalar, &size))
			sum += npu_mapping_size(size);
	return sum;
}

/* This process' tables for so many sequences whose tokens fill the cache, and for one batch. */
static uint64_t table_bytes(const struct npu_llm *llm, uint32_t sequences)
{
	const struct npu_llm_info *info = &llm->info;
	uint64_t tokens = (uint64_t)info->num_blocks * info->block,
		 all = (uint64_t)sequences * info->context;

	return sequences * (sizeof(struct npu_llm_session) + llm->table_width * sizeof(uint32_t)) +
	       (tokens < all ? tokens : all) * sizeof(int32_t) + npu_llm_batch_bytes(llm) +
	       info->num_blocks * (sizeof(struct npu_llm_block) + sizeof(uint32_t)) +
	       info->npu_blocks * sizeof(uint32_t);
}

/* What the engine works in, when it is in this process. */
static uint64_t engine_bytes(const struct npu_llm *llm)
{
	struct npu_device_info info = NPU_INIT(info);

	if (npu_device_info(llm->dev, &info, NULL) || strcmp(info.backend, "sim"))
		return 0;
	return ENGINE_SHARED + info.threads * ENGINE_THREAD;
}

/*
 * What blocks can have of the host's memory: all of them when they do not fit on the NPU together.
 */
static uint64_t host_cache(const struct npu_llm *llm)
{
	uint64_t bytes;

	if (llm->info.npu_blocks == llm->info.num_blocks)
		return 0;
	return __builtin_mul_overflow(llm->pool.block_bytes + llm->pool.scale_bytes,
				      llm->info.num_blocks, &bytes) ? UINT64_MAX : bytes;
}

int npu_llm_memory(const struct npu_llm *llm, struct npu_llm_memory *memory)
{
	struct npu_llm_memory m = NPU_INIT(m);
	const struct npu_jobfile *file = llm->job->file;
	npu_u32 scalar[NPU_MAX_SCALARS] = { 0 };
	uint32_t blocks = llm->info.npu_blocks, top;
	struct npu_job_info job = NPU_INIT(job);
	struct npu_memory_room room;

	if (!memory || memory->size < offsetof(struct npu_llm_memory, weights))
		return -EINVAL;
	m.rows = memory->rows;
	m.sequences = memory->sequences;
	m.logits = memory->logits;
	set_length(llm, NPU_LLM_T_TOKENS, &m.rows, scalar);
	set_length(llm, NPU_LLM_T_TABLE, &m.sequences, scalar);
	set_length(llm, NPU_LLM_T_LOGITS, &m.logits, scalar);
	set_length(llm, NPU_LLM_T_KV, &blocks, scalar);
	top = m.logits;
	set_length(llm, NPU_LLM_T_TOP_VALUES, &top, scalar);
	npu_job_info(llm->job, &job);
	m.weights = npu_mapping_size(file->weights_size);
	m.kv = role_bytes(llm, NPU_REGION_STATE, scalar);
	m.scratch = role_bytes(llm, NPU_REGION_SCRATCH, scalar) +
		    role_bytes(llm, NPU_REGION_INPUT, scalar) +
		    role_bytes(llm, NPU_REGION_OUTPUT, scalar);
	m.program = npu_mapping_size(job.streams);
	m.host = file->table_bytes + (llm->job->data_size - file->weights_size) +
		 table_bytes(llm, m.sequences) + engine_bytes(llm);
	m.kv_host = host_cache(llm);
	m.total = m.weights + m.kv + m.scratch + m.program + m.host;
	if (__builtin_add_overflow(m.total, m.kv_host, &m.total))
		m.total = UINT64_MAX;
	npu_memory_room("", &room);
	m.available = room.bytes;
	m.process = npu_memory_resident();
	m.process += m.process ? CODE : 0;
	return npu_struct_write(memory, memory->size, &m, sizeof(m));
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

int npu_llm_check_memory(const struct npu_llm *llm, const struct npu_memory_room *room,
			 struct npu_error *err)
{
	struct npu_llm_memory m = NPU_INIT(m);
	int ret = npu_llm_memory(llm, &m);

	if (ret || m.total <= room->bytes)
		return ret;
	return npu_error_set(err, -ENOMEM,
			     "%s: needs %.1f MiB (weights %.1f, KV cache %.1f and up to %.1f of the host, scratch %.1f, program and tables %.1f), %.1f MiB are available (%s); a smaller pool, context, batch or chunk needs less",
			     llm->job->path, mib(m.total), mib(m.weights), mib(m.kv),
			     mib(m.kv_host), mib(m.scratch), mib(m.program + m.host),
			     mib(room->bytes), room->limit);
}
