// SPDX-License-Identifier: MIT
/* The hardware: registers, engines, time. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fw.h"
#include "mock.h"

#define NEVER	(~0ull)
#define NS	1000ull

/* The firmware's functions have no argument for it. */
static struct mock *mock;

const npu_u8 fw_build_id[20] = "built for the host";

__attribute__((format(printf, 2, 3)))
static void trace(struct mock *m, const char *fmt, ...)
{
	size_t at = strlen(m->trace);
	va_list ap;

	va_start(ap, fmt);
	if (at && at + 2 < sizeof(m->trace)) {
		memcpy(m->trace + at, ", ", 3);
		at += 2;
	}
	vsnprintf(m->trace + at, sizeof(m->trace) - at, fmt, ap);
	va_end(ap);
}

void *mock_at(struct mock *m, npu_u32 address)
{
	npu_u32 at = address - NPU_MCU_KERNEL;

	return at < MOCK_MEMORY ? m->memory + at : NULL;
}

/* All of @size bytes, or NULL: what an engine can not use ends the job as an error. */
static void *object_at(struct mock *m, npu_u32 address, npu_u32 size)
{
	npu_u32 at = address - NPU_MCU_KERNEL;

	return at < MOCK_MEMORY && size <= MOCK_MEMORY - at ? m->memory + at : NULL;
}

/* ---- engines ---- */

static npu_u32 reg_of(const struct mock_engine *e, npu_u32 reg)
{
	return e->reg[reg / 4];
}

static void engine_result(struct mock *m, struct mock_engine *e, bool reset)
{
	struct npu_hw_result *result = mock_at(m, reg_of(e, NPU_ENGINE_RESULT));

	*result = (struct npu_hw_result){ .state = e->state, .insns = (npu_u32)(e->busy_ns / NS),
					  .busy_ns = e->busy_ns, .started_ns = e->started_ns,
					  .ended_ns = m->now, .queue = reg_of(e, NPU_ENGINE_QUEUE),
					  .reset = reset };
	if (e->state == NPU_ENGINE_FAULT)
		result->fault = (struct npu_fault){ .code = 7, .insn = 3, .address = 0x123456000 };
}

/* Leave RUNNING. */
static void engine_leave(struct mock *m, struct mock_engine *e, npu_u32 state, bool reset)
{
	npu_u64 ran = m->now - e->began;

	e->busy_ns += ran;
	e->left_ns = e->left_ns > ran ? e->left_ns - ran : 0;
	e->state = state;
	e->event_at = NEVER;
	engine_result(m, e, reset);
	m->engine_event |= 1u << (e - m->engine);
}

static void engine_slice(struct mock *m, struct mock_engine *e)
{
	npu_u64 budget = reg_of(e, NPU_ENGINE_BUDGET) == ~0u ? NEVER / 2 :
			 reg_of(e, NPU_ENGINE_BUDGET) * NS;
	static const npu_u32 ends[] = { [MOCK_DONE] = NPU_ENGINE_DONE,
					[MOCK_FAULT] = NPU_ENGINE_FAULT,
					[MOCK_ERROR] = NPU_ENGINE_ERROR };

	e->state = NPU_ENGINE_RUNNING;
	e->began = m->now;
	if (e->end == MOCK_HANG) {
		e->event_at = NEVER;
	} else if (e->left_ns <= budget) {
		e->event_at = m->now + e->left_ns;
		e->then = ends[e->end];
	} else {
		e->event_at = m->now + budget;
		e->then = NPU_ENGINE_YIELDED;
	}
}

/* The save area has what is left, in place of a stream's position. */
static void engine_begin(struct mock *m, struct mock_engine *e, bool restore)
{
	const struct npu_fw_job *job = object_at(m, reg_of(e, NPU_ENGINE_JOB), sizeof(*job));
	const struct npu_hw_save *save = object_at(m, reg_of(e, NPU_ENGINE_SAVE), sizeof(*save));

	e->began = m->now;
	if (!job || (restore && !save)) {
		engine_leave(m, e, NPU_ENGINE_ERROR, false);
		return;
	}
	e->left_ns = job->scalar[MOCK_SCALAR_US] * NS;
	e->end = job->scalar[MOCK_SCALAR_END];
	e->busy_ns = 0;
	e->started_ns = m->now;
	e->holds = true;
	if (restore) {
		e->left_ns -= save->busy_ns;
		e->busy_ns = save->busy_ns;
		e->started_ns = save->started_ns;
	}
	engine_slice(m, e);
}

static void engine_save(struct mock *m, struct mock_engine *e)
{
	struct npu_hw_save *save = object_at(m, reg_of(e, NPU_ENGINE_SAVE), sizeof(*save));
	bool broken = m->broken_save || !save;

	if (save)
		*save = (struct npu_hw_save){ .magic = NPU_HW_SAVE_MAGIC, .busy_ns = e->busy_ns,
					      .started_ns = e->started_ns };
	e->state = NPU_ENGINE_SAVING;
	e->then = broken ? NPU_ENGINE_ERROR : NPU_ENGINE_IDLE;
	e->event_at = m->now + MOCK_SAVE_US * NS;
	e->holds = broken;
}

/* The state is left when memory has been cleared. */
static void engine_release(struct mock *m, struct mock_engine *e)
{
	e->then = NPU_ENGINE_IDLE;
	e->event_at = m->now + MOCK_CLEAR_US * NS;
	e->holds = false;
	m->told_at_release = m->host_irqs;
}

static bool in_state(const struct mock_engine *e, npu_u32 cmd)
{
	bool over = e->state == NPU_ENGINE_DONE || e->state == NPU_ENGINE_STOPPED ||
		    e->state == NPU_ENGINE_FAULT || e->state == NPU_ENGINE_ERROR;

	switch (cmd) {
	case NPU_ENGINE_CMD_START:
	case NPU_ENGINE_CMD_RESTORE:
		return e->state == NPU_ENGINE_IDLE;
	case NPU_ENGINE_CMD_CONTINUE:
	case NPU_ENGINE_CMD_SAVE:
		return e->state == NPU_ENGINE_YIELDED;
	case NPU_ENGINE_CMD_STOP:
		/* It may have ended just before. */
		return over || e->state == NPU_ENGINE_RUNNING || e->state == NPU_ENGINE_YIELDED;
	default:
		return over || e->state == NPU_ENGINE_YIELDED;
	}
}

static void engine_command(struct mock *m, struct mock_engine *e, npu_u32 cmd)
{
	static const char *const name[] = { "0", "start", "continue", "stop", "save", "restore",
					    "release" };

	if (cmd > NPU_ENGINE_CMD_RELEASE || !in_state(e, cmd)) {
		m->bad_access++;
		return;
	}
	trace(m, "%s %u", name[cmd], reg_of(e, NPU_ENGINE_QUEUE));
	switch (cmd) {
	case NPU_ENGINE_CMD_START:
	case NPU_ENGINE_CMD_RESTORE:
		engine_begin(m, e, cmd == NPU_ENGINE_CMD_RESTORE);
		break;
	case NPU_ENGINE_CMD_CONTINUE:
		engine_slice(m, e);
		break;
	case NPU_ENGINE_CMD_STOP:
		if (e->state == NPU_ENGINE_RUNNING && !m->stuck_stop)
			engine_leave(m, e, NPU_ENGINE_STOPPED, false);
		break;
	case NPU_ENGINE_CMD_SAVE:
		engine_save(m, e);
		break;
	default:
		engine_release(m, e);
	}
}

void mock_engine_reset(struct mock *m, npu_u32 engine)
{
	if (m->engine[engine].state == NPU_ENGINE_RUNNING)
		engine_leave(m, &m->engine[engine], NPU_ENGINE_STOPPED, true);
}

static bool engine_read(struct mock *m, struct mock_engine *e, npu_u32 reg, npu_u32 *value)
{
	npu_u64 busy = e->busy_ns + (e->state == NPU_ENGINE_RUNNING ? m->now - e->began : 0);

	switch (reg) {
	case NPU_ENGINE_STATE:
		*value = e->state;
		return true;
	case NPU_ENGINE_PROGRESS:
		*value = e->end == MOCK_HANG ? 0 : (npu_u32)(busy / NS);
		return true;
	case NPU_ENGINE_BUSY:
		*value = (npu_u32)(busy / NS);
		return true;
	default:
		return false;
	}
}

static void engines_advance(struct mock *m)
{
	struct mock_engine *e;

	for (e = m->engine; e < m->engine + m->num_engines; e++) {
		if (e->event_at > m->now)
			continue;
		if (e->state == NPU_ENGINE_RUNNING) {
			engine_leave(m, e, e->then, false);
		} else {
			/* The end of saving is an event, that of clearing is none. */
			if (e->state == NPU_ENGINE_SAVING)
				m->engine_event |= 1u << (e - m->engine);
			e->state = e->then;
			e->event_at = NEVER;
		}
	}
}

/* ---- registers ---- */

static npu_u32 pending(const struct mock *m)
{
	npu_u32 bells = 0, i;

	for (i = 0; i < 8; i++)
		bells |= m->doorbell[i];
	return (m->ctl ? NPU_MCU_PENDING_CTL : 0) | (bells ? NPU_MCU_PENDING_QUEUE : 0) |
	       (m->engine_event ? NPU_MCU_PENDING_ENGINE : 0);
}

bool mock_external(const struct mock *m)
{
	return pending(m) & m->enable;
}

bool mock_reg_read(struct mock *m, npu_u32 offset, npu_u32 *value)
{
	npu_u32 n;

	if (offset >= NPU_MCU_ENGINE(0)) {
		n = (offset - NPU_MCU_ENGINE(0)) / 0x40;
		return n < m->num_engines && engine_read(m, &m->engine[n], offset % 0x40, value);
	}
	if (offset >= NPU_MCU_DOORBELL(0) && offset < NPU_MCU_DOORBELL(8)) {
		*value = m->doorbell[(offset - NPU_MCU_DOORBELL(0)) / 4];
		return true;
	}
	switch (offset) {
	case NPU_MCU_TIME:		*value = (npu_u32)m->now;
					m->time_high = (npu_u32)(m->now >> 32); return true;
	case NPU_MCU_TIME + 4:		*value = m->time_high; return true;
	case NPU_MCU_PENDING:		*value = pending(m); return true;
	case NPU_MCU_FW_CONFIG:		*value = m->config; return true;
	case NPU_MCU_NUM_ENGINES:	*value = m->num_engines; return true;
	case NPU_MCU_NUM_QUEUES:	*value = MOCK_QUEUES; return true;
	case NPU_MCU_SAVE_SIZE:		*value = MOCK_SAVE_SIZE; return true;
	case NPU_MCU_CTL:		*value = m->ctl; return true;
	case NPU_MCU_ENGINE_EVENT:	*value = m->engine_event; return true;
	}
	m->bad_access++;
	return false;
}

static bool write_engine(struct mock *m, npu_u32 offset, npu_u32 value)
{
	npu_u32 n = (offset - NPU_MCU_ENGINE(0)) / 0x40, reg = offset % 0x40;

	if (n >= m->num_engines || reg > NPU_ENGINE_BUDGET || reg == NPU_ENGINE_STATE)
		return false;
	if (reg == NPU_ENGINE_CMD)
		engine_command(m, &m->engine[n], value);
	else
		m->engine[n].reg[reg / 4] = value;
	return true;
}

bool mock_reg_write(struct mock *m, npu_u32 offset, npu_u32 value)
{
	if (offset >= NPU_MCU_ENGINE(0))
		return write_engine(m, offset, value);
	if (offset >= NPU_MCU_DOORBELL(0) && offset < NPU_MCU_DOORBELL(8)) {
		m->doorbell[(offset - NPU_MCU_DOORBELL(0)) / 4] &= ~value;
		return true;
	}
	switch (offset) {
	case NPU_MCU_TIMER:		m->timer = m->timer >> 32 << 32 | value; return true;
	case NPU_MCU_TIMER + 4:
		m->timer = (npu_u32)m->timer | (npu_u64)value << 32;
		return true;
	case NPU_MCU_ENABLE:		m->enable = value; return true;
	case NPU_MCU_HOST_IRQ:		m->host_irqs++; return true;
	case NPU_MCU_BOOT_STATUS:	m->boot_status = value; return true;
	case NPU_MCU_WATCHDOG:		m->watchdog_at = m->now + value * NS; return true;
	case NPU_MCU_FATAL:		m->fatal = value; return true;
	case NPU_MCU_CTL:		m->ctl &= ~value; return true;
	case NPU_MCU_ENGINE_EVENT:	m->engine_event &= ~value; return true;
	}
	m->bad_access++;
	return false;
}

/* ---- the firmware built for the host ---- */

void mock_access(struct mock *m)
{
	m->accesses++;
	if (m->meanwhile)
		m->meanwhile(m);
}

static void store_now(const struct mock_store *s)
{
	memcpy(mock->memory + (s->addr - NPU_MCU_KERNEL), &s->value, 4);
}

static void drain(void)
{
	npu_u32 i;

	for (i = 0; i < mock->num_held; i++)
		store_now(&mock->held[i]);
	mock->num_held = 0;
}

npu_u32 fw_reg_read(npu_u32 offset)
{
	npu_u32 value = 0;

	mock_access(mock);
	drain();
	mock_reg_read(mock, offset, &value);
	return value;
}

void fw_reg_write(npu_u32 offset, npu_u32 value)
{
	mock_access(mock);
	drain();
	mock_reg_write(mock, offset, value);
}

void fw_fence(void)
{
	mock_access(mock);
	if (!mock->no_fence)
		drain();
}

/* What the MCU would take for an access fault. */
static void *range(npu_u32 addr, npu_u32 size, npu_u32 align)
{
	npu_u32 at = addr - NPU_MCU_KERNEL;

	return addr % align || at > MOCK_MEMORY || size > MOCK_MEMORY - at ? NULL
									   : mock->memory + at;
}

/* A processor sees its own stores. */
static npu_u32 load_word(npu_u32 addr)
{
	npu_u32 i, value;

	mock_access(mock);
	for (i = mock->num_held; i--; )
		if (mock->held[i].addr == addr)
			return mock->held[i].value;
	memcpy(&value, mock->memory + (addr - NPU_MCU_KERNEL), 4);
	return value;
}

/* The oldest one leaves when there is no room. */
static void store_word(npu_u32 addr, npu_u32 value)
{
	struct mock_store s = { addr, value };

	mock_access(mock);
	if (!mock->hold_stores) {
		store_now(&s);
		return;
	}
	if (mock->num_held == MOCK_HELD) {
		store_now(&mock->held[0]);
		memmove(mock->held, mock->held + 1, --mock->num_held * sizeof(s));
	}
	mock->held[mock->num_held++] = s;
}

bool fw_copy_from(void *to, npu_u32 addr, npu_u32 words)
{
	npu_u32 *w = to, i;

	if (!range(addr, 4 * words, 4))
		return false;
	for (i = 0; i < words; i++)
		w[i] = load_word(addr + 4 * i);
	return true;
}

bool fw_copy_to(npu_u32 addr, const void *from, npu_u32 words)
{
	const npu_u32 *w = from;
	npu_u32 i;

	if (!range(addr, 4 * words, 4))
		return false;
	for (i = 0; i < words; i++)
		store_word(addr + 4 * i, w[i]);
	return true;
}

bool fw_load(npu_u32 addr, npu_u32 *value)
{
	return fw_copy_from(value, addr, 1);
}

bool fw_store(npu_u32 addr, npu_u32 value)
{
	return fw_copy_to(addr, &value, 1);
}

/* Text of the log, which no order matters for. */
bool fw_copy_bytes_to(npu_u32 addr, const void *from, npu_u32 bytes)
{
	void *to = range(addr, bytes, 1);

	if (to)
		memcpy(to, from, bytes);
	return to;
}

void fw_wait(void)
{
}

static void run_host(struct mock *m)
{
	unsigned int turns = 0;

	mock = m;
	do {
		if (turns++ > 10000) {
			m->bad_access++;
			return;
		}
	} while (fw_turn(m->fw) || mock_external(m));
	/* It sleeps, and nothing waits in its processor for ever. */
	drain();
}

/* ---- time ---- */

static npu_u64 next_event(const struct mock *m)
{
	npu_u64 at = m->timer;
	npu_u32 i;

	for (i = 0; i < m->num_engines; i++) {
		if (m->engine[i].event_at < at)
			at = m->engine[i].event_at;
	}
	return at;
}

/* What changes without raising a line is not seen by a firmware that waits. */
static void wake(struct mock *m)
{
	mock = m;
	if (mock_external(m) || m->now >= m->timer)
		m->run(m);
}

void mock_run(struct mock *m, npu_u64 us)
{
	npu_u64 end = m->now + us * NS, at;

	for (wake(m); (at = next_event(m)) <= end && !m->fatal; wake(m)) {
		/* A timer in the past would go on for ever. */
		m->now = at > m->now ? at : m->now + 1;
		engines_advance(m);
	}
	if (end > m->now)
		m->now = end;
}

npu_u32 mock_boot(struct mock *m)
{
	mock = m;
	if (m->core || fw_boot(m->fw) == NPU_FW_BOOT_READY)
		m->run(m);
	return m->boot_status;
}

static void mock_config_default(struct mock *m)
{
	struct npu_fw_config *c;

	m->config = mock_alloc(m, sizeof(*c), 8);
	c = mock_config(m);
	*c = (struct npu_fw_config){ .magic = NPU_FW_CONFIG_MAGIC, .size = sizeof(*c),
				     .abi = NPU_FW_ABI_MAX,
				     .num_queues = MOCK_QUEUES, .ctl_entries = MOCK_CTL,
				     .msg_entries = 64, .slice_us = 1000, .age_us = 10000,
				     .heartbeat_us = 5000, .log_level = NPU_FW_LOG_INFO,
				     .log_size = sizeof(struct npu_fw_log) + 4096 };
	c->ctl_ring = mock_alloc(m, c->ctl_entries * sizeof(struct npu_fw_ctl), 8);
	c->ctl_index = mock_alloc(m, sizeof(struct npu_fw_index), 8);
	c->msg_ring = mock_alloc(m, c->msg_entries * sizeof(struct npu_fw_msg), 8);
	c->msg_index = mock_alloc(m, sizeof(struct npu_fw_index), 8);
	c->log = mock_alloc(m, c->log_size, 8);
	c->queue_state = mock_alloc(m, c->num_queues * sizeof(struct npu_fw_queue_state), 8);
	c->info = mock_alloc(m, sizeof(struct npu_fw_info), 8);
	c->results = mock_alloc(m, NPU_HW_MAX_ENGINES * sizeof(struct npu_hw_result), 8);
}

bool mock_init(struct mock *m, const char *image)
{
	unsigned int i;

	memset(m, 0, sizeof(*m));
	m->num_engines = 1;
	m->now = 1000000000;
	m->timer = NEVER;
	m->watchdog_at = NEVER;
	m->next_free = NPU_MCU_KERNEL + 64;
	for (i = 0; i < NPU_HW_MAX_ENGINES; i++)
		m->engine[i].event_at = NEVER;
	mock_config_default(m);
	if (image)
		return mock_hart_init(m, image);
	m->fw = calloc(1, sizeof(*m->fw));
	m->run = run_host;
	return m->fw;
}

void mock_fini(struct mock *m)
{
	free(m->fw);
	mock_hart_fini(m);
	m->fw = NULL;
}
