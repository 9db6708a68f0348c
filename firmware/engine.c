// SPDX-License-Identifier: MIT
/* Engines: putting jobs on them, taking them off, and what they report. */
#include "fw.h"

static npu_u32 engine_read(const struct fw_engine *engine, npu_u32 reg)
{
	return fw_reg_read(NPU_MCU_ENGINE(engine->index) + reg);
}

static void engine_write(const struct fw_engine *engine, npu_u32 reg, npu_u32 value)
{
	fw_reg_write(NPU_MCU_ENGINE(engine->index) + reg, value);
}

static npu_u32 result_of(const struct fw *fw, const struct fw_engine *engine)
{
	return fw->config.results + engine->index * sizeof(struct npu_hw_result);
}

/* Begin a slice by @cmd. */
static void run_slice(struct fw *fw, struct fw_engine *engine, npu_u32 cmd)
{
	struct fw_queue *queue = engine->queue;

	queue->slices++;
	queue->begun = true;
	queue->engine = (npu_u8)engine->index;
	queue->state = NPU_FW_QUEUE_RUNNING;
	fw_queue_publish(fw, queue);
	fw_count(fw, NPU_FW_COUNTER_SLICES);
	engine->use = FW_ENGINE_RUNS;
	engine->stopped = false;
	engine_write(engine, NPU_ENGINE_BUDGET, fw->config.slice_us ? fw->config.slice_us : ~0u);
	engine_write(engine, NPU_ENGINE_CMD, cmd);
}

/*
 * The descriptor stays in the ring; the engine reads it there, and checks what it uses. A cancel
 * that comes behind this look finds the job begun.
 */
static enum npu_fw_status check_job(const struct fw *fw, const struct fw_queue *queue, npu_u32 at,
				    npu_u32 *arg)
{
	enum npu_fw_status status;
	struct npu_fw_job job;

	*arg = 0;
	if (!fw_copy_from(&job, at, sizeof(job) / 4))
		return NPU_FW_ENGINE_ERROR;
	status = fw_job_check(fw, &job, queue->job_id, arg);
	return status == NPU_FW_OK && job.cancel ? NPU_FW_ABORTED : status;
}

/* Needs room for a message. */
void fw_engine_start(struct fw *fw, struct fw_engine *engine, struct fw_queue *queue)
{
	npu_u32 at = fw_ring_entry(&queue->ring, queue->ring.head, sizeof(struct npu_fw_job)), arg;
	npu_u32 cmd = queue->begun ? NPU_ENGINE_CMD_RESTORE : NPU_ENGINE_CMD_START;
	enum npu_fw_status status = queue->begun ? NPU_FW_OK : check_job(fw, queue, at, &arg);

	fw_queue_unwait(fw, queue);
	if (status != NPU_FW_OK) {
		fw_queue_job_end(fw, queue, status, arg, NULL, 0);
		return;
	}
	if (!queue->begun)
		fw_count(fw, NPU_FW_COUNTER_STARTED);
	fw_debug(fw, "queue %u: job %llu on engine %u", queue->id,
		 (unsigned long long)queue->job_id, engine->index);
	engine->queue = queue;
	engine_write(engine, NPU_ENGINE_QUEUE, queue->id);
	engine_write(engine, NPU_ENGINE_JOB, at);
	engine_write(engine, NPU_ENGINE_RESULT, result_of(fw, engine));
	engine_write(engine, NPU_ENGINE_SAVE, queue->save);
	run_slice(fw, engine, cmd);
}

void fw_engine_stop(struct fw *fw, struct fw_engine *engine)
{
	if (engine->use != FW_ENGINE_RUNS || engine->stopped)
		return;
	engine->stopped = true;
	engine_write(engine, NPU_ENGINE_CMD, NPU_ENGINE_CMD_STOP);
}

/* Let go of the job; the engine clears its memory, and takes its time for that. */
static void release(struct fw_engine *engine)
{
	engine_write(engine, NPU_ENGINE_CMD, NPU_ENGINE_CMD_RELEASE);
	engine->queue = NULL;
	engine->use = engine_read(engine, NPU_ENGINE_STATE) == NPU_ENGINE_IDLE ? FW_ENGINE_FREE :
									      FW_ENGINE_CLEARS;
}

static void job_end(struct fw *fw, struct fw_engine *engine, enum npu_fw_status status)
{
	struct fw_queue *queue = engine->queue;
	struct npu_hw_result result;
	/* What stands behind the fault tells of a job that did not come to its end. */
	npu_u32 size = status == NPU_FW_OK ? offsetof(struct npu_hw_result, fault) : sizeof(result);
	bool known = fw_copy_from(&result, result_of(fw, engine), size / 4);

	if (known && status == NPU_FW_ABORTED && result.reset)
		status = NPU_FW_ENGINE_RESET;
	fw_queue_job_end(fw, queue, status, 0, known ? &result : NULL, engine->index);
	/* Not behind the release: clearing takes its time, and the driver need not wait for it. */
	fw_msg_tell(fw);
	release(engine);
}

/* The slice is over: who has waited long enough goes first. */
static void end_of_slice(struct fw *fw, struct fw_engine *engine)
{
	struct fw_queue *queue = engine->queue, *other;
	npu_u64 now = fw_now();

	fw_queue_publish_progress(fw, queue, engine);
	other = fw_sched_pick(fw, now);
	if (!other || fw_sched_level(fw, other, now) < fw_sched_rank(queue)) {
		run_slice(fw, engine, NPU_ENGINE_CMD_CONTINUE);
		return;
	}
	fw_count(fw, NPU_FW_COUNTER_PREEMPTED);
	queue->waiting_since = now;
	engine->use = FW_ENGINE_SAVES;
	engine_write(engine, NPU_ENGINE_CMD, NPU_ENGINE_CMD_SAVE);
}

/* An engine that runs, or did. */
static void look_running(struct fw *fw, struct fw_engine *engine)
{
	npu_u32 state = engine_read(engine, NPU_ENGINE_STATE);

	if (state == NPU_ENGINE_RUNNING)
		return;
	if (state == NPU_ENGINE_YIELDED && !fw_queue_is_doomed(engine->queue)) {
		end_of_slice(fw, engine);
		return;
	}
	if (!fw_msg_room(fw, 1))
		return;
	switch (state) {
	case NPU_ENGINE_DONE:
		job_end(fw, engine, NPU_FW_OK);
		break;
	case NPU_ENGINE_FAULT:
		job_end(fw, engine, NPU_FW_FAULTED);
		break;
	case NPU_ENGINE_YIELDED:
	case NPU_ENGINE_STOPPED:
		job_end(fw, engine, NPU_FW_ABORTED);
		break;
	case NPU_ENGINE_ERROR:
		job_end(fw, engine, NPU_FW_ENGINE_ERROR);
		break;
	default:
		/* Idle without a word: something took the job from under it. */
		job_end(fw, engine, NPU_FW_ENGINE_RESET);
	}
}

static void look_saving(struct fw *fw, struct fw_engine *engine)
{
	npu_u32 state = engine_read(engine, NPU_ENGINE_STATE);
	struct fw_queue *queue = engine->queue;

	if (state == NPU_ENGINE_SAVING)
		return;
	if (state == NPU_ENGINE_IDLE) {
		engine->use = FW_ENGINE_FREE;
		engine->queue = NULL;
		fw_queue_wait(fw, queue, NPU_FW_QUEUE_SAVED);
		return;
	}
	if (!fw_msg_room(fw, 1))
		return;
	job_end(fw, engine,
		state == NPU_ENGINE_STOPPED ? NPU_FW_ENGINE_RESET : NPU_FW_ENGINE_ERROR);
}

static void look(struct fw *fw, struct fw_engine *engine)
{
	switch (engine->use) {
	case FW_ENGINE_RUNS:
		look_running(fw, engine);
		break;
	case FW_ENGINE_SAVES:
		look_saving(fw, engine);
		break;
	case FW_ENGINE_CLEARS:
		if (engine_read(engine, NPU_ENGINE_STATE) == NPU_ENGINE_IDLE)
			engine->use = FW_ENGINE_FREE;
		break;
	default:
		break;
	}
}

void fw_engines(struct fw *fw)
{
	npu_u32 i;

	/* As with doorbells: first forget, then look. */
	if (fw->pending & NPU_MCU_PENDING_ENGINE)
		fw_reg_write(NPU_MCU_ENGINE_EVENT, ~0u);
	for (i = 0; i < fw->num_engines; i++)
		look(fw, &fw->engine[i]);
}

void fw_engines_progress(struct fw *fw)
{
	npu_u32 i;

	for (i = 0; i < fw->num_engines; i++) {
		if (fw->engine[i].use == FW_ENGINE_RUNS)
			fw_queue_publish_progress(fw, fw->engine[i].queue, &fw->engine[i]);
	}
}

bool fw_engines_all_free(const struct fw *fw)
{
	npu_u32 i;

	for (i = 0; i < fw->num_engines; i++) {
		if (fw->engine[i].use != FW_ENGINE_FREE)
			return false;
	}
	return true;
}
