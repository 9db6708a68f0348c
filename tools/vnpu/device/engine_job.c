// SPDX-License-Identifier: MIT
/*
 * What an engine unit reads and writes in kernel memory: a job's descriptor, region table and
 * scalars, copied once; its result; and the save area, whose contents are checked as if they were
 * the user's.
 */
#include <stddef.h>
#include <string.h>
#include "core.h"

static bool kernel_read(struct npu_unit *unit, npu_u64 va, void *buf, npu_u64 size)
{
	return !npu_mmu_copy(&unit->core->mmu, NPU_KERNEL_CONTEXT, va, buf, size, NPU_ACCESS_READ,
			     NULL);
}

static bool kernel_write(struct npu_unit *unit, npu_u64 va, void *buf, npu_u64 size)
{
	return !npu_mmu_copy(&unit->core->mmu, NPU_KERNEL_CONTEXT, va, buf, size, NPU_ACCESS_WRITE,
			     NULL);
}

/* The queue's context, from the driver's table alone; 0: it has none. */
static npu_u32 queue_context(struct npu_unit *unit, npu_u32 queue)
{
	npu_u32 entry;

	if (queue >= unit->core->config.queues)
		return 0;
	entry = npu_reg_get(&unit->core->regs, NPU_REG_QUEUE(queue));
	if (!(entry & NPU_QUEUE_VALID) || (entry & ~NPU_QUEUE_VALID) >= NPU_HW_MAX_CONTEXTS)
		return 0;
	return entry & ~NPU_QUEUE_VALID;
}

static bool desc_read(struct npu_unit *unit)
{
	struct npu_unit_job *job = &unit->job;
	struct npu_fw_job *desc = &job->desc;

	job->queue = unit->args.queue;
	job->context = queue_context(unit, job->queue);
	return job->context && kernel_read(unit, unit->args.job, desc, sizeof(*desc)) &&
	       !(desc->flags & ~NPU_JOB_FLAGS) && desc->num_regions <= NPU_MAX_REGIONS &&
	       kernel_read(unit, desc->regions, job->region,
			   desc->num_regions * sizeof(struct npu_region));
}

static bool save_read(struct npu_unit *unit, struct npu_hw_save *save)
{
	return kernel_read(unit, unit->args.save, save, sizeof(*save)) &&
	       save->magic == NPU_HW_SAVE_MAGIC && save->job_id == unit->job.desc.job_id &&
	       save->sram_bytes <= unit->core->config.sram_size &&
	       save->stream_offset >= sizeof(struct npu_stream_header) &&
	       !(save->stream_offset % 8) &&
	       kernel_read(unit, (npu_u64)unit->args.save + NPU_HW_SAVE_HEADER, unit->sram,
			   save->sram_bytes);
}

static void sram_clear(struct npu_unit *unit)
{
	if (npu_vdev_fault_armed(unit->core->dev, NPU_VDEV_MUTANT_SKIP_SCRUB))
		return;
	memset(unit->sram, 0, unit->sram_used);
	unit->sram_used = 0;
}

static void state_prepare(struct npu_unit *unit, const struct npu_hw_save *save)
{
	const struct npu_fw_job *desc = &unit->job.desc;

	unit->job.state = (struct npu_engine_state){
		.stream_va = desc->stream,
		.stream_size = desc->stream_size,
		.num_regions = desc->num_regions,
		.regions = unit->job.region,
		.space = { .resolve = npu_mmu_resolve, .release = npu_mmu_release,
			   .fetch = npu_mmu_fetch, .ctx = &unit->client },
		.sram = unit->sram,
		.sram_size = unit->core->config.sram_size,
		.sram_used = unit->sram_used,
	};
	memcpy(unit->job.state.scalar, save ? save->scalar : desc->scalar, sizeof(desc->scalar));
}

/* What ends the hang that was armed. */
static npu_u32 hang_take(struct npu_vdev *dev)
{
	if (npu_vdev_fault_take(dev, NPU_VDEV_FAULT_HANG))
		return NPU_UNIT_STOP_FIRMWARE | NPU_UNIT_STOP_RESET | NPU_UNIT_STOP_DEVICE;
	if (npu_vdev_fault_take(dev, NPU_VDEV_FAULT_HANG_HARD))
		return NPU_UNIT_STOP_RESET | NPU_UNIT_STOP_DEVICE;
	if (npu_vdev_fault_take(dev, NPU_VDEV_FAULT_HANG_DEAD))
		return NPU_UNIT_STOP_DEVICE;
	return 0;
}

enum npu_engine_state_code npu_unit_job_open(struct npu_unit *unit, bool restore)
{
	struct npu_unit_job *job = &unit->job;
	struct npu_engine_state *state = &job->state;
	struct npu_hw_save save = { 0 };
	int ret;

	memset(job, 0, sizeof(*job));
	job->started_ns = npu_core_now();
	sram_clear(unit);
	if (!desc_read(unit))
		return NPU_ENGINE_ERROR;
	if (restore) {
		/* Cleared with the job, whatever comes of it. */
		unit->sram_used = unit->core->config.sram_size;
		if (!save_read(unit, &save))
			return NPU_ENGINE_ERROR;
		unit->sram_used = save.sram_bytes;
		job->started_ns = save.started_ns;
		atomic_store(&unit->busy_ns, save.busy_ns);
	}
	atomic_store(&unit->client.context, job->context);
	unit->client.lost_write = false;
	state_prepare(unit, restore ? &save : NULL);
	if (!npu_trace_open(unit, restore ? &save : NULL))
		return NPU_ENGINE_ERROR;
	ret = npu_engine_state_init(unit->core->engine, state);
	if (ret)
		return ret == -EINVAL ? NPU_ENGINE_FAULT : NPU_ENGINE_ERROR;
	job->open = true;
	if (restore) {
		state->offset = save.stream_offset;
		state->insn = save.insn;
	}
	job->hang = hang_take(unit->core->dev);
	job->slow = npu_vdev_fault_take(unit->core->dev, NPU_VDEV_FAULT_SLOW_JOB);
	return NPU_ENGINE_DONE;
}

void npu_unit_job_close(struct npu_unit *unit)
{
	struct npu_unit_job *job = &unit->job;

	if (job->open) {
		unit->sram_used = job->state.sram_used;
		npu_engine_state_fini(&job->state);
	}
	job->open = false;
	sram_clear(unit);
}

bool npu_unit_job_save(struct npu_unit *unit)
{
	struct npu_unit_job *job = &unit->job;
	const struct npu_engine_state *state = &job->state;
	struct npu_hw_save save = {
		.magic = NPU_HW_SAVE_MAGIC,
		.sram_bytes = (npu_u32)state->sram_used,
		.stream_offset = state->offset,
		.insn = state->insn,
		.job_id = job->desc.job_id,
		.busy_ns = atomic_load(&unit->busy_ns),
		.started_ns = job->started_ns,
		.trace_count = job->trace.count,
		.trace_dropped = job->trace.dropped,
		.trace_start_ns = job->trace.start_ns,
	};

	memcpy(save.scalar, state->scalar, sizeof(save.scalar));
	npu_core_count(unit->core, NPU_COUNTER_SAVES, 1);
	return kernel_write(unit, unit->args.save, &save, sizeof(save)) &&
	       kernel_write(unit, (npu_u64)unit->args.save + NPU_HW_SAVE_HEADER, unit->sram,
			    save.sram_bytes);
}

bool npu_unit_result_write(struct npu_unit *unit, enum npu_engine_state_code state, bool reset)
{
	const struct npu_unit_job *job = &unit->job;
	struct npu_hw_result result = {
		.state = state,
		.insns = job->state.insn,
		.busy_ns = atomic_load(&unit->busy_ns),
		.started_ns = job->started_ns,
		.ended_ns = npu_core_now(),
		.queue = job->queue,
		.context = job->context,
		.reset = reset,
	};

	if (state == NPU_ENGINE_FAULT)
		result.fault = job->state.fault;
	return kernel_write(unit, unit->args.result, &result, sizeof(result));
}
