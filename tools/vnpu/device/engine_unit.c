// SPDX-License-Identifier: MIT
/* An engine unit's commands and the slices of its job. What a job is made of is in engine_job.c. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "core.h"

/* A YIELDED job whose engine is reset; follows the commands of the firmware. */
#define CMD_RESET	(NPU_ENGINE_CMD_RELEASE + 1)

#define SLOW_NS		20000000u

static npu_u32 stop_asked(const struct npu_unit *unit)
{
	return atomic_load(&unit->why) & ~NPU_UNIT_STOP_UNMAP;
}

/* Until @until of CLOCK_MONOTONIC or, what comes first, one of these reasons to stop. */
static void sleep_until(struct npu_unit *unit, npu_u64 until, npu_u32 reasons)
{
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000u),
			       .tv_nsec = (long)(until % 1000000000u) };

	pthread_mutex_lock(&unit->lock);
	while (!(stop_asked(unit) & reasons) && npu_core_now() < until)
		pthread_cond_timedwait(&unit->wake, &unit->lock, &ts);
	pthread_mutex_unlock(&unit->lock);
}

/* ---- a slice ---- */

static enum npu_run_result job_fault(struct npu_unit *unit, npu_u64 address, npu_u32 access)
{
	struct npu_engine_state *state = &unit->job.state;

	state->fault = (struct npu_fault){ .code = NPU_FAULT_MMU,
					   .insn = state->insn,
					   .stream_offset = state->offset,
					   .operand = ~0u,
					   .field = ~0u,
					   .access = access,
					   .address = address };
	return NPU_RUN_FAULT;
}

static enum npu_run_result run_plain(struct npu_unit *unit, npu_u64 budget)
{
	struct npu_engine_state *state = &unit->job.state;
	npu_u64 start = npu_core_now(), used = 0;
	enum npu_run_result result;

	for (;;) {
		atomic_store(&unit->stop, false);
		if (stop_asked(unit))
			return NPU_RUN_STOPPED;
		result = npu_engine_run(unit->core->engine, state,
					budget == UINT64_MAX ? budget : budget - used, &unit->stop,
					&unit->progress);
		if (result != NPU_RUN_STOPPED || stop_asked(unit))
			return result;
		/*
		 * Memory went away under the instruction. What is left of it tells at the second
		 * try, with the operand and the address; one that has overwritten its input has
		 * none.
		 */
		atomic_fetch_and(&unit->why, ~NPU_UNIT_STOP_UNMAP);
		if (!state->resumable)
			return job_fault(unit, 0, NPU_ACCESS_READ | NPU_ACCESS_WRITE);
		used = npu_core_now() - start;
		if (budget != UINT64_MAX && used > budget)
			used = budget;
	}
}

static enum npu_run_result run_slow(struct npu_unit *unit, npu_u64 budget)
{
	npu_u64 start = npu_core_now();
	enum npu_run_result result;

	for (;;) {
		result = run_plain(unit, 0);
		if (result != NPU_RUN_YIELD)
			return result;
		sleep_until(unit, npu_core_now() + SLOW_NS, ~0u);
		atomic_fetch_add(&unit->progress, 1);
		if (budget != UINT64_MAX && npu_core_now() - start >= budget)
			return NPU_RUN_YIELD;
	}
}

static enum npu_run_result run_hang(struct npu_unit *unit)
{
	npu_u32 reasons = unit->job.hang;

	while (!(stop_asked(unit) & reasons))
		sleep_until(unit, UINT64_MAX / 2, reasons);
	return NPU_RUN_STOPPED;
}

static enum npu_engine_state_code run_slice(struct npu_unit *unit)
{
	static const enum npu_engine_state_code code[] = {
		[NPU_RUN_DONE] = NPU_ENGINE_DONE,
		[NPU_RUN_YIELD] = NPU_ENGINE_YIELDED,
		[NPU_RUN_STOPPED] = NPU_ENGINE_STOPPED,
		[NPU_RUN_FAULT] = NPU_ENGINE_FAULT,
	};
	npu_u64 budget = unit->args.budget == ~0u ? UINT64_MAX : unit->args.budget * 1000ull;
	npu_u64 start = npu_core_now(), ns;
	struct npu_unit_job *job = &unit->job;
	enum npu_run_result result;

	atomic_store(&unit->slice_ns, start);
	result = job->hang ? run_hang(unit) : job->slow ? run_slow(unit, budget) :
							  run_plain(unit, budget);
	if (job->trace.flags)
		npu_trace_flush(unit);
	if (result != NPU_RUN_FAULT && unit->client.lost_write)
		result = job_fault(unit, unit->client.lost_va, NPU_ACCESS_WRITE);
	if (result != NPU_RUN_FAULT && job->trace.failed)
		result = job_fault(unit, job->trace.bad, NPU_ACCESS_WRITE);
	ns = npu_core_now() - start;
	atomic_fetch_add(&unit->busy_ns, ns);
	atomic_store(&unit->slice_ns, 0);
	npu_core_count(unit->core, NPU_COUNTER_ENGINE_NS, ns);
	return code[result];
}

/* ---- commands, on a thread of the crew ---- */

static enum npu_engine_state_code job_save(struct npu_unit *unit)
{
	bool ok = npu_unit_job_save(unit);

	npu_unit_job_close(unit);
	return ok ? NPU_ENGINE_IDLE : NPU_ENGINE_ERROR;
}

static enum npu_engine_state_code command_do(struct npu_unit *unit, npu_u32 cmd)
{
	enum npu_engine_state_code state = NPU_ENGINE_DONE;
	npu_u32 why;

	if (cmd == NPU_ENGINE_CMD_SAVE)
		return job_save(unit);
	if (cmd == NPU_ENGINE_CMD_START || cmd == NPU_ENGINE_CMD_RESTORE)
		state = npu_unit_job_open(unit, cmd == NPU_ENGINE_CMD_RESTORE);
	if (cmd == CMD_RESET)
		state = NPU_ENGINE_STOPPED;
	else if (state == NPU_ENGINE_DONE)
		state = run_slice(unit);
	why = atomic_load(&unit->why);
	/* Nobody waits for it, and where it would go to is not the driver's any more. */
	if (why & NPU_UNIT_STOP_DEVICE)
		return state;
	if (!npu_unit_result_write(unit, state,
				   state == NPU_ENGINE_STOPPED && why & NPU_UNIT_STOP_RESET))
		state = NPU_ENGINE_ERROR;
	return state;
}

void npu_unit_work(struct npu_unit *unit)
{
	enum npu_engine_state_code state;

	/* Nobody writes it while the unit is busy. */
	state = command_do(unit, unit->cmd);
	pthread_mutex_lock(&unit->lock);
	unit->state = state;
	unit->busy = false;
	/* Of what it ended, or of an engine with nothing to do: not of the next job. */
	atomic_fetch_and(&unit->why, ~NPU_UNIT_STOP_RESET);
	pthread_cond_broadcast(&unit->idle);
	pthread_mutex_unlock(&unit->lock);
	if (!(atomic_load(&unit->why) & NPU_UNIT_STOP_DEVICE))
		npu_mcu_engine_event(&unit->core->mcu, unit->index);
}

/* ---- registers ---- */

/* With the lock, on a unit that is not busy. The caller tells the crew. */
static void command_post(struct npu_unit *unit, npu_u32 cmd, enum npu_engine_state_code state)
{
	unit->args = unit->reg;
	unit->cmd = cmd;
	unit->state = state;
	unit->busy = true;
}

/* True: posted. */
static bool command_write(struct npu_unit *unit, npu_u32 cmd)
{
	enum npu_engine_state_code state = unit->state;

	switch (cmd) {
	case NPU_ENGINE_CMD_START:
	case NPU_ENGINE_CMD_RESTORE:
		if (state != NPU_ENGINE_IDLE || unit->busy)
			break;
		atomic_fetch_and(&unit->why, ~(NPU_UNIT_STOP_FIRMWARE | NPU_UNIT_STOP_RESET |
					       NPU_UNIT_STOP_UNMAP));
		atomic_store(&unit->busy_ns, 0);
		command_post(unit, cmd, NPU_ENGINE_RUNNING);
		return true;
	case NPU_ENGINE_CMD_CONTINUE:
		if (state != NPU_ENGINE_YIELDED || unit->busy)
			break;
		command_post(unit, cmd, NPU_ENGINE_RUNNING);
		return true;
	case NPU_ENGINE_CMD_STOP:
		if (state != NPU_ENGINE_RUNNING)
			break;
		atomic_fetch_or(&unit->why, NPU_UNIT_STOP_FIRMWARE);
		atomic_store(&unit->stop, true);
		pthread_cond_broadcast(&unit->wake);
		break;
	case NPU_ENGINE_CMD_SAVE:
		if (state != NPU_ENGINE_YIELDED || unit->busy)
			break;
		command_post(unit, cmd, NPU_ENGINE_SAVING);
		return true;
	case NPU_ENGINE_CMD_RELEASE:
		if (unit->busy || state == NPU_ENGINE_IDLE)
			break;
		npu_unit_job_close(unit);
		unit->state = NPU_ENGINE_IDLE;
		break;
	}
	return false;
}

static npu_u32 *register_at(struct npu_unit *unit, npu_u32 offset)
{
	switch (offset) {
	case NPU_ENGINE_QUEUE:
		return &unit->reg.queue;
	case NPU_ENGINE_JOB:
		return &unit->reg.job;
	case NPU_ENGINE_RESULT:
		return &unit->reg.result;
	case NPU_ENGINE_SAVE:
		return &unit->reg.save;
	case NPU_ENGINE_BUDGET:
		return &unit->reg.budget;
	}
	return NULL;
}

static npu_u32 busy_us(struct npu_unit *unit)
{
	npu_u64 slice = atomic_load(&unit->slice_ns), now = npu_core_now();
	npu_u64 ns = atomic_load(&unit->busy_ns);

	if (slice && now > slice)
		ns += now - slice;
	return (npu_u32)(ns / 1000);
}

bool npu_unit_read(struct npu_unit *unit, npu_u32 offset, npu_u32 *value)
{
	npu_u32 *reg = register_at(unit, offset);
	bool ok = true;

	pthread_mutex_lock(&unit->lock);
	if (reg)
		*value = *reg;
	else if (offset == NPU_ENGINE_STATE)
		*value = unit->state;
	else if (offset == NPU_ENGINE_PROGRESS)
		*value = (npu_u32)atomic_load(&unit->progress);
	else if (offset == NPU_ENGINE_BUSY)
		*value = busy_us(unit);
	else
		ok = false;
	pthread_mutex_unlock(&unit->lock);
	return ok;
}

bool npu_unit_write(struct npu_unit *unit, npu_u32 offset, npu_u32 value)
{
	npu_u32 *reg = register_at(unit, offset);
	bool ok = true, posted = false;

	pthread_mutex_lock(&unit->lock);
	if (reg)
		*reg = value;
	else if (offset == NPU_ENGINE_CMD)
		posted = command_write(unit, value);
	else
		ok = false;
	pthread_mutex_unlock(&unit->lock);
	if (posted)
		npu_crew_command(unit->core, unit->index);
	return ok;
}

/* ---- stops and resets ---- */

void npu_unit_stop(struct npu_unit *unit, npu_u32 why)
{
	atomic_fetch_or(&unit->why, why);
	atomic_store(&unit->stop, true);
	/* Who sleeps accesses nothing, and this may come from below a context's lock. */
	if (why == NPU_UNIT_STOP_UNMAP)
		return;
	pthread_mutex_lock(&unit->lock);
	pthread_cond_broadcast(&unit->wake);
	pthread_mutex_unlock(&unit->lock);
}

static void unmapped(void *ctx)
{
	npu_unit_stop(ctx, NPU_UNIT_STOP_UNMAP);
}

static void wait_idle(struct npu_unit *unit)
{
	while (unit->busy)
		pthread_cond_wait(&unit->idle, &unit->lock);
}

static bool reset_asked(const struct npu_unit *unit)
{
	return atomic_load(&unit->why) & NPU_UNIT_STOP_RESET;
}

/*
 * With the lock: until what is under way has ended; the firmware may have begun another job then.
 */
static void wait_reset(struct npu_unit *unit)
{
	while (unit->busy && reset_asked(unit))
		pthread_cond_wait(&unit->idle, &unit->lock);
}

void npu_unit_reset_finish(struct npu_unit *unit)
{
	pthread_mutex_lock(&unit->lock);
	wait_reset(unit);
	/* A job that waits for its next slice is lost with the engine's state. */
	if (reset_asked(unit) && unit->state == NPU_ENGINE_YIELDED) {
		command_post(unit, CMD_RESET, NPU_ENGINE_RUNNING);
		pthread_mutex_unlock(&unit->lock);
		npu_crew_command(unit->core, unit->index);
		pthread_mutex_lock(&unit->lock);
		wait_reset(unit);
	}
	atomic_fetch_and(&unit->why, ~NPU_UNIT_STOP_RESET);
	pthread_mutex_unlock(&unit->lock);
}

void npu_unit_reset_device(struct npu_unit *unit)
{
	pthread_mutex_lock(&unit->lock);
	wait_idle(unit);
	npu_unit_job_close(unit);
	unit->state = NPU_ENGINE_IDLE;
	memset(&unit->reg, 0, sizeof(unit->reg));
	atomic_store(&unit->busy_ns, 0);
	atomic_store(&unit->why, 0);
	pthread_mutex_unlock(&unit->lock);
}

static void conds_init(struct npu_unit *unit)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&unit->wake, &attr);
	pthread_cond_init(&unit->idle, &attr);
	pthread_condattr_destroy(&attr);
}

int npu_unit_init(struct npu_vdev_core *core, unsigned int index)
{
	struct npu_unit *unit = &core->unit[index];

	unit->core = core;
	unit->index = index;
	unit->client.mmu = &core->mmu;
	unit->client.stop = unmapped;
	unit->client.ctx = unit;
	core->mmu.client[index] = &unit->client;
	pthread_mutex_init(&unit->lock, NULL);
	conds_init(unit);
	unit->sram = aligned_alloc(4096, core->config.sram_size);
	if (!unit->sram)
		return -ENOMEM;
	memset(unit->sram, 0, core->config.sram_size);
	return 0;
}

void npu_unit_fini(struct npu_unit *unit)
{
	npu_unit_job_close(unit);
	free(unit->sram);
	pthread_cond_destroy(&unit->wake);
	pthread_cond_destroy(&unit->idle);
	pthread_mutex_destroy(&unit->lock);
}
