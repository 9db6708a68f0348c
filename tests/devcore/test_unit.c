// SPDX-License-Identifier: MIT
/*
 * Engine units, driven through their registers as the firmware does it: what commands do in every
 * state, real jobs whole, in slices and saved and restored behind every instruction, faults,
 * resets, records, two units at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../tap.h"
#include "capture.h"
#include "run.h"
#include "small.h"

#define PAGE	4096u

static const char *const state_name[] = { "IDLE", "RUNNING", "DONE", "YIELDED",
					  "STOPPED", "FAULT", "SAVING", "ERROR" };

/* Bring the unit to @state, from IDLE. */
static bool state_reach(struct guest *g, struct small *t, unsigned int state)
{
	unit_set(g, 0, t->queue, &t->job, state == YIELDED ? 0 : ~0u);
	small_fill(g, t);
	if (state == RUNNING || state == STOPPED)
		atomic_store(&g->dev->armed[NPU_VDEV_FAULT_HANG], 1);
	if (state == FAULT)
		put64(kernel_at(g, t->job.desc), 8, SMALL_STREAM + (1 << 20));
	if (state == ERROR)
		put32(kernel_at(g, t->job.desc), 20, 257);
	if (state != IDLE)
		unit_cmd(g, 0, CMD_START);
	if (state == STOPPED)
		unit_cmd(g, 0, CMD_STOP);
	if (state != RUNNING)
		unit_wait(g, 0);
	/* What comes next shall find a good job. */
	if (state == FAULT || state == ERROR)
		small_fill(g, t);
	return unit_reg(g, 0, 4) == state;
}

/* Where each command leads, 0 and 7 being none; from the comment in npu_hw.h. */
static const unsigned char leads_to[8][8] = {
	/*		0	 START	  CONT	   STOP	    SAVE     RESTORE  RELEASE  7 */
	[IDLE] =    { IDLE,    DONE,    IDLE,    IDLE,    IDLE,    DONE,    IDLE,    IDLE },
	[RUNNING] = { RUNNING, RUNNING, RUNNING, STOPPED, RUNNING, RUNNING, RUNNING, RUNNING },
	[DONE] =    { DONE,    DONE,    DONE,    DONE,    DONE,    DONE,    IDLE,    DONE },
	[YIELDED] = { YIELDED, YIELDED, YIELDED, YIELDED, IDLE,    YIELDED, IDLE,    YIELDED },
	[STOPPED] = { STOPPED, STOPPED, STOPPED, STOPPED, STOPPED, STOPPED, IDLE,    STOPPED },
	[FAULT] =   { FAULT,   FAULT,   FAULT,   FAULT,   FAULT,   FAULT,   IDLE,    FAULT },
	[ERROR] =   { ERROR,   ERROR,   ERROR,   ERROR,   ERROR,   ERROR,   IDLE,    ERROR },
};

static void test_commands(struct guest *g, struct small *t)
{
	unsigned int state, cmd, bad = 0, got;

	/* A save area of the first instruction, for RESTORE. */
	state_reach(g, t, YIELDED);
	unit_cmd(g, 0, CMD_SAVE);
	unit_wait(g, 0);
	for (state = IDLE; state <= ERROR; state++) {
		for (cmd = 0; cmd < 8 && state != SAVING; cmd++) {
			if (!state_reach(g, t, state)) {
				tap_diag("%s is not reached", state_name[state]);
				bad++;
			}
			if (state == IDLE)
				unit_set(g, 0, t->queue, &t->job, ~0u);
			unit_cmd(g, 0, cmd);
			if (state == RUNNING && cmd != CMD_STOP)
				usleep(2000);
			got = state == RUNNING && cmd != CMD_STOP ? unit_reg(g, 0, 4) :
								    unit_wait(g, 0);
			/* One instruction further: still YIELDED, the budget is 0. */
			if (got != leads_to[state][cmd]) {
				tap_diag("%s, command %u: %s, expected %s", state_name[state], cmd,
					 state_name[got], state_name[leads_to[state][cmd]]);
				bad++;
			}
			unit_cmd(g, 0, CMD_STOP);
			unit_wait(g, 0);
			unit_cmd(g, 0, CMD_RELEASE);
		}
	}
	tap_ok(!bad && unit_reg(g, 0, 4) == IDLE, "every command in every state: %u wrong", bad);
}

static void test_small(struct guest *g, struct small *t)
{
	npu_u64 saves = reg_read64(g, 0x5050);
	npu_u32 n = 1;

	small_spoil(g, t);
	tap_ok(job_run(g, 0, t->queue, &t->job) == DONE && small_right(g, t) &&
		       result32(g, &t->job, RESULT_STATE) == DONE &&
		       result32(g, &t->job, RESULT_INSNS) == 4 &&
		       result32(g, &t->job, RESULT_QUEUE) == t->queue &&
		       result32(g, &t->job, RESULT_CONTEXT) == t->context,
	       "a job through SRAM, and its result");
	unit_cmd(g, 0, CMD_RELEASE);
	small_spoil(g, t);
	unit_set(g, 0, t->queue, &t->job, 0);
	unit_cmd(g, 0, CMD_START);
	while (unit_wait(g, 0) == YIELDED) {
		unit_cmd(g, 0, CMD_CONTINUE);
		n++;
	}
	tap_ok(unit_reg(g, 0, 4) == DONE && n == 4 && small_right(g, t),
	       "in slices of one instruction: %u", n);
	unit_cmd(g, 0, CMD_RELEASE);
	tap_ok(reg_read64(g, 0x5050) == saves, "nothing was saved for it");
}

/* ---- what is refused ---- */

static void expect_fault(struct guest *g, struct small *t, const char *what, npu_u32 code,
			 npu_u32 operand, npu_u32 access, npu_u64 address)
{
	npu_u32 state = job_run(g, 0, t->queue, &t->job);
	const unsigned char *r = kernel_at(g, t->job.result);

	tap_ok(state == FAULT && get32(r, RESULT_FAULT) == code &&
		       get32(r, RESULT_FAULT_OPERAND) == operand &&
		       get32(r, RESULT_FAULT_ACCESS) == access &&
		       get64(r, RESULT_ADDRESS) == address,
	       "%s: state %u, code %u, operand %d, access %u, address 0x%llx", what, state,
	       get32(r, RESULT_FAULT), (int)get32(r, RESULT_FAULT_OPERAND),
	       get32(r, RESULT_FAULT_ACCESS), (unsigned long long)get64(r, RESULT_ADDRESS));
	unit_cmd(g, 0, CMD_RELEASE);
}

static void test_faults(struct guest *g, struct small *t, struct small *other)
{
	npu_u64 keep = t->region[0].base;
	npu_u32 before;

	t->region[0].base = SMALL_IN + (1 << 20);
	small_fill(g, t);
	expect_fault(g, t, "an input that is not mapped", NPU_FAULT_MMU, NPU_EWISE1_IN,
		     NPU_ACCESS_READ, SMALL_IN + (1 << 20));
	t->region[0].base = SMALL_IN + PAGE;
	small_fill(g, t);
	expect_fault(g, t, "an input whose end is not mapped", NPU_FAULT_MMU, NPU_EWISE1_IN,
		     NPU_ACCESS_READ, SMALL_IN + 3 * PAGE);
	t->region[0].base = SMALL_STREAM;
	small_fill(g, t);
	expect_fault(g, t, "code as an input", NPU_FAULT_MMU, NPU_EWISE1_IN, NPU_ACCESS_READ,
		     SMALL_STREAM);
	t->region[0].base = keep;
	keep = t->region[1].base;
	t->region[1].base = SMALL_IN;
	small_fill(g, t);
	expect_fault(g, t, "a read-only page as an output", NPU_FAULT_MMU, NPU_EWISE1_OUT,
		     NPU_ACCESS_WRITE, SMALL_IN);
	t->region[1].base = 0x80000000;
	small_fill(g, t);
	expect_fault(g, t, "kernel memory as an output", NPU_FAULT_MMU, NPU_EWISE1_OUT,
		     NPU_ACCESS_WRITE, 0x80000000);
	t->region[1].base = keep;
	small_fill(g, t);
	put64(kernel_at(g, t->job.desc), 8, SMALL_OUT);
	expect_fault(g, t, "data as a stream", NPU_FAULT_FETCH, ~0u, NPU_ACCESS_EXEC, SMALL_OUT);
	small_fill(g, t);
	put32(kernel_at(g, t->job.desc), 16, 40);
	expect_fault(g, t, "a stream of 40 bytes", NPU_FAULT_STREAM, ~0u, 0, 0);
	small_fill(g, t);
	before = get32(kernel_at(g, other->job.desc), 0);
	put32(kernel_at(g, t->job.desc), 28, 4);
	tap_ok(job_run(g, 0, t->queue, &t->job) == ERROR &&
		       result32(g, &t->job, RESULT_STATE) == ERROR, "flags that are not known");
	unit_cmd(g, 0, CMD_RELEASE);
	small_fill(g, t);
	put32(kernel_at(g, t->job.desc), 24, GUEST_KERNEL + GUEST_KERNEL_SIZE - 8);
	tap_ok(job_run(g, 0, t->queue, &t->job) == ERROR,
	       "a region table outside of kernel memory");
	unit_cmd(g, 0, CMD_RELEASE);
	small_fill(g, t);
	tap_ok(job_run(g, 0, 40, &t->job) == ERROR, "a queue without a context");
	unit_cmd(g, 0, CMD_RELEASE);
	reg_write(g, 0x3000 + 4 * 41, 0x80000000u);
	tap_ok(job_run(g, 0, 41, &t->job) == ERROR, "a queue with the kernel's context");
	unit_cmd(g, 0, CMD_RELEASE);
	tap_ok(job_run(g, 0, 100000, &t->job) == ERROR, "a queue that there is not");
	unit_cmd(g, 0, CMD_RELEASE);
	tap_ok(before == 1 && job_run(g, 0, t->queue, &t->job) == DONE && small_right(g, t),
	       "then a good job runs");
	unit_cmd(g, 0, CMD_RELEASE);
}

/* What the firmware may have written to the save area. */
static void test_bad_save(struct guest *g, struct small *t)
{
	static const struct {
		const char *what;
		unsigned int offset;
		npu_u32 value;
		unsigned int state;
	} cases[] = {
		{ "another magic", 0, 0x12345678, ERROR },
		{ "more on-chip memory than there is", 4, 0x7fffffff, ERROR },
		{ "an offset that is not of an instruction", 8, 0xfffffff0, FAULT },
		{ "an offset in the header", 8, 8, ERROR },
		{ "an offset of an odd word", 8, 172, ERROR },
		{ "an index behind the end", 12, 1000, FAULT },
		{ "another job", 16, 99, ERROR },
		{ "more records than there is room", 40, 1, DONE },
	};
	unsigned char *save = kernel_at(g, t->job.save);
	unsigned int i, state;
	unsigned char head[128];

	small_fill(g, t);
	state_reach(g, t, YIELDED);
	unit_cmd(g, 0, CMD_SAVE);
	tap_ok(unit_wait(g, 0) == IDLE && get32(save, 0) == 0x5653504e &&
		       get32(save, 4) == 4096 + SMALL_BYTES && get32(save, 12) == 1,
	       "SAVE: %u bytes of on-chip memory", get32(save, 4));
	memcpy(head, save, sizeof(head));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(save, head, sizeof(head));
		put32(save, cases[i].offset, cases[i].value);
		unit_set(g, 0, t->queue, &t->job, ~0u);
		unit_cmd(g, 0, CMD_RESTORE);
		state = unit_wait(g, 0);
		tap_ok(state == cases[i].state, "a save area with %s: %s", cases[i].what,
		       state_name[state]);
		unit_cmd(g, 0, CMD_RELEASE);
	}
	memcpy(save, head, sizeof(head));
	put32(save, 4, 4096);
	small_spoil(g, t);
	unit_cmd(g, 0, CMD_RESTORE);
	tap_ok(unit_wait(g, 0) == DONE && !small_right(g, t),
	       "less on-chip memory: the rest is zero, the job is wrong, and that is all");
	unit_cmd(g, 0, CMD_RELEASE);
	tap_ok(job_run(g, 0, t->queue, &t->job) == DONE && small_right(g, t),
	       "then a good job runs");
	unit_cmd(g, 0, CMD_RELEASE);
}

/* ---- real models ---- */

static void test_model(struct guest *g, const struct capture *c, const char *name,
		       enum replay_pages pages)
{
	static const char *const page_name[] = { "scattered pages", "pages in a row",
						 "pages of the driver's" };
	struct replay r;
	npu_u32 state;

	replay_init(g, &r, c, 40 + pages, 20, pages);
	state = job_run(g, 0, 20, &r.job);
	tap_ok(state == DONE && replay_same(g, &r),
	       "%s, %s: the same bytes as in process, %u instructions", name,
	       page_name[pages], result32(g, &r.job, RESULT_INSNS));
	unit_cmd(g, 0, CMD_RELEASE);
}

/* SAVE and RESTORE behind every instruction; another context's job runs in between. */
static void test_preempt(struct guest *g, const struct capture *c, const char *name,
			 struct small *other)
{
	npu_u32 slices = 0, state, wrong = 0;
	struct replay r;

	replay_init(g, &r, c, 22, 22, PAGES_SCATTERED);
	unit_set(g, 0, 22, &r.job, 0);
	unit_cmd(g, 0, CMD_START);
	while ((state = unit_wait(g, 0)) == YIELDED) {
		unit_cmd(g, 0, CMD_SAVE);
		if (unit_wait(g, 0) != IDLE)
			break;
		if (slices++ % 8 == 0) {
			wrong += job_run(g, 0, other->queue, &other->job) != DONE;
			unit_cmd(g, 0, CMD_RELEASE);
		}
		unit_set(g, 0, 22, &r.job, 0);
		unit_cmd(g, 0, CMD_RESTORE);
	}
	tap_ok(state == DONE && !wrong && replay_same(g, &r) && small_right(g, other) &&
		       result32(g, &r.job, RESULT_INSNS) == slices + 1,
	       "%s: saved and restored %u times, the same bytes", name, slices);
	unit_cmd(g, 0, CMD_RELEASE);
}

struct trace_view {
	npu_u32 profile, digests, wrong;
};

/* Records against those of the in-process run, in its order. */
static struct trace_view trace_check(struct guest *g, const struct capture *c, npu_u32 context,
				     npu_u64 va, npu_u32 count)
{
	struct trace_view v = { 0 };
	unsigned char rec[40];
	npu_u64 last = 0;
	npu_u32 i;

	for (i = 0; i < count; i++) {
		guest_copy(g, context, va + 16 + 40 * i, rec, 40, false);
		if ((get32(rec, 0) & 0xffff) == 1) {
			v.wrong += get32(rec, 4) != v.profile || get64(rec, 24) < last;
			last = get64(rec, 24) + get64(rec, 32);
			v.profile++;
			continue;
		}
		if (v.digests >= c->num_digests) {
			v.wrong++;
			break;
		}
		v.wrong += (get32(rec, 0) & 0xffff) != 2 ||
			   get32(rec, 0) >> 16 != c->digest[v.digests].opcode ||
			   get32(rec, 4) != c->digest[v.digests].insn ||
			   get32(rec, 12) != c->digest[v.digests].tag ||
			   get32(rec, 16) != c->digest[v.digests].slot ||
			   get64(rec, 24) != c->digest[v.digests].digest;
		v.digests++;
	}
	return v;
}

static void test_trace(struct guest *g, const struct capture *c, const char *name, bool preempt)
{
	npu_u64 va = 0xf0000000ull;
	npu_u32 room = 16 + 40 * 4096, state;
	unsigned char head[16];
	struct trace_view v;
	struct replay r;

	replay_init(g, &r, c, preempt ? 24 : 23, 23, PAGES_DRIVER);
	guest_map(g, r.context, va, room, P_R | P_W, true);
	put32(kernel_at(g, r.job.desc), 28, 3);
	put64(kernel_at(g, r.job.desc), 32, va);
	put32(kernel_at(g, r.job.desc), 40, room);
	unit_set(g, 0, 23, &r.job, preempt ? 0 : ~0u);
	unit_cmd(g, 0, CMD_START);
	while ((state = unit_wait(g, 0)) == YIELDED) {
		unit_cmd(g, 0, CMD_SAVE);
		unit_wait(g, 0);
		/* What the user does to his own copy changes nothing. */
		memset(head, 0x33, sizeof(head));
		guest_copy(g, r.context, va, head, 16, true);
		unit_cmd(g, 0, CMD_RESTORE);
	}
	guest_copy(g, r.context, va, head, 16, false);
	v = trace_check(g, c, r.context, va, get32(head, 0));
	tap_ok(state == DONE && replay_same(g, &r) && !v.wrong && !get32(head, 4) &&
		       v.profile == result32(g, &r.job, RESULT_INSNS) &&
		       v.digests == c->num_digests,
	       "%s%s: %u times and %u digests, as in process", name,
	       preempt ? ", saved and restored" : "", v.profile, v.digests);
	if (v.wrong || state != DONE)
		tap_diag("%u records are wrong, state %u, %u instructions", v.wrong, state,
			 result32(g, &r.job, RESULT_INSNS));
	unit_cmd(g, 0, CMD_RELEASE);
	if (preempt)
		return;
	put32(kernel_at(g, r.job.desc), 40, 16 + 40 * 3 + 39);
	state = job_run(g, 0, 23, &r.job);
	guest_copy(g, r.context, va, head, 16, false);
	tap_ok(state == DONE && get32(head, 0) == 3 && get32(head, 4) == v.profile + v.digests - 3,
	       "%s: room for 3 records, %u dropped", name, get32(head, 4));
	unit_cmd(g, 0, CMD_RELEASE);
	put64(kernel_at(g, r.job.desc), 32, r.stream);
	state = job_run(g, 0, 23, &r.job);
	tap_ok(state == FAULT && get32(kernel_at(g, r.job.result), RESULT_FAULT) == NPU_FAULT_MMU &&
		       get64(kernel_at(g, r.job.result), RESULT_ADDRESS) == r.stream + 16,
	       "%s: records where nothing can be written", name);
	unit_cmd(g, 0, CMD_RELEASE);
	put32(kernel_at(g, r.job.desc), 40, 15);
	tap_ok(job_run(g, 0, 23, &r.job) == ERROR, "%s: no room for the head of records", name);
	unit_cmd(g, 0, CMD_RELEASE);
}

/* ---- stops and resets ---- */

static void test_resets(struct guest *g, struct small *t)
{
	npu_u32 epoch = reg_read(g, 0x64), state, progress, i;

	small_fill(g, t);
	state_reach(g, t, RUNNING);
	for (i = 0; i < 10000 && unit_reg(g, 0, 0x20) < 500; i++)
		usleep(1000);
	progress = unit_reg(g, 0, 0x1c);
	usleep(5000);
	tap_ok(unit_reg(g, 0, 4) == RUNNING && i < 10000 && unit_reg(g, 0, 0x1c) == progress,
	       "a job that hangs is busy and makes no progress");
	reg_write(g, 0x70, 0x100);
	tap_ok(wait_ready(g) && unit_reg(g, 0, 4) == STOPPED &&
		       result32(g, &t->job, RESULT_STATE) == STOPPED &&
		       result32(g, &t->job, RESULT_RESET) == 1 && reg_read(g, 0x64) == epoch,
	       "the engine is reset under a job that hangs");
	unit_cmd(g, 0, CMD_RELEASE);
	state_reach(g, t, YIELDED);
	reg_write(g, 0x70, 0x100);
	tap_ok(wait_ready(g) && unit_reg(g, 0, 4) == STOPPED &&
		       result32(g, &t->job, RESULT_RESET) == 1,
	       "the engine is reset while a job waits for its next slice");
	unit_cmd(g, 0, CMD_RELEASE);
	state_reach(g, t, STOPPED);
	tap_ok(result32(g, &t->job, RESULT_RESET) == 0, "a stop by the firmware is no reset");
	unit_cmd(g, 0, CMD_RELEASE);
	tap_ok(job_run(g, 0, t->queue, &t->job) == DONE && small_right(g, t),
	       "then a good job runs");
	unit_cmd(g, 0, CMD_RELEASE);
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_SLOW_JOB], 1);
	state = job_run(g, 0, t->queue, &t->job);
	tap_ok(state == DONE && unit_reg(g, 0, 0x20) > 60000 && small_right(g, t),
	       "a slow job gets done: %u us", unit_reg(g, 0, 0x20));
	unit_cmd(g, 0, CMD_RELEASE);
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_MMU_FAULT], 1);
	tap_ok(job_run(g, 0, t->queue, &t->job) == FAULT &&
		       get32(kernel_at(g, t->job.result), RESULT_FAULT) == NPU_FAULT_MMU,
	       "a translation that fails when the control socket says so");
	unit_cmd(g, 0, CMD_RELEASE);
}

/* The firmware hears of the end of a job before the reset that ended it is over. */
static void test_job_behind_reset(struct guest *g, struct small *t)
{
	unsigned int i, bad = 0;

	for (i = 0; i < 300; i++) {
		bad += !state_reach(g, t, RUNNING);
		reg_write(g, 0x70, 0x100);
		bad += unit_wait(g, 0) != STOPPED;
		unit_cmd(g, 0, CMD_RELEASE);
		bad += job_run(g, 0, t->queue, &t->job) != DONE;
		unit_cmd(g, 0, CMD_RELEASE);
		bad += !wait_ready(g);
	}
	tap_ok(!bad, "a job that starts right behind one that a reset ended: %u of 300 wrong", bad);
}

/* Hangs that take more than the firmware's word; the last one takes all of the device with it. */
static void test_hard_hangs(struct guest *g, struct small *t)
{
	small_fill(g, t);
	unit_set(g, 0, t->queue, &t->job, ~0u);
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_HANG_HARD], 1);
	unit_cmd(g, 0, CMD_START);
	unit_cmd(g, 0, CMD_STOP);
	usleep(20000);
	tap_ok(unit_reg(g, 0, 4) == RUNNING, "a hard hang does not heed the firmware");
	reg_write(g, 0x70, 0x100);
	tap_ok(wait_ready(g) && unit_reg(g, 0, 4) == STOPPED &&
		       result32(g, &t->job, RESULT_RESET) == 1,
	       "but the reset of its engine");
	unit_cmd(g, 0, CMD_RELEASE);
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_HANG_DEAD], 1);
	unit_cmd(g, 0, CMD_START);
	unit_cmd(g, 0, CMD_STOP);
	reg_write(g, 0x70, 0x100);
	usleep(20000);
	tap_ok(unit_reg(g, 0, 4) == RUNNING && !(reg_read(g, 0x60) & NPU_STATUS_READY),
	       "a dead hang does not heed the reset of its engine");
	reg_write(g, 0x70, 1);
	tap_ok(wait_ready(g), "but that of the device");
	guest_restart(g);
	small_init(g, t, 1, 1);
	tap_ok(job_run(g, 0, t->queue, &t->job) == DONE && small_right(g, t),
	       "then a good job runs");
	unit_cmd(g, 0, CMD_RELEASE);
}

static long resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long size = 0, pages = 0;

	if (!f || fscanf(f, "%ld %ld", &size, &pages) != 2)
		pages = -1;
	if (f)
		fclose(f);
	return pages;
}

/* Hangs that end with a reset of the engine leave nothing behind. */
static void test_hangs(struct guest *g, struct small *t)
{
	unsigned int i, bad = 0;
	long before = 0, after;

	for (i = 0; i < 110; i++) {
		if (i == 10)
			before = resident_pages();
		bad += !state_reach(g, t, RUNNING);
		reg_write(g, 0x70, 0x100);
		bad += !wait_ready(g) || unit_reg(g, 0, 4) != STOPPED;
		unit_cmd(g, 0, CMD_RELEASE);
	}
	after = resident_pages();
	tap_ok(!bad && before > 0 && after - before < 64,
	       "100 hangs, each ended by a reset of the engine: %ld pages more", after - before);
	tap_ok(job_run(g, 0, t->queue, &t->job) == DONE && small_right(g, t),
	       "then a good job runs");
	unit_cmd(g, 0, CMD_RELEASE);
}

/* Twenty products of 2 GMAC each: there is time to be inside of one. */
#define BIG		1280u
#define BIG_BYTES	(BIG * BIG * 4)

static void big_init(struct guest *g, struct small *t, npu_u32 context, npu_u32 queue)
{
	npu_u32 i;

	t->context = context;
	t->queue = queue;
	guest_context(g, context);
	reg_write(g, 0x3000 + 4 * queue, context | 0x80000000u);
	stream_begin(&t->s, 3);
	for (i = 0; i < 20; i++)
		stream_matmul(&t->s, 2, 0, 1, BIG);
	stream_end(&t->s);
	guest_map(g, context, SMALL_STREAM, stream_bytes(&t->s), P_X, true);
	guest_copy(g, context, SMALL_STREAM, t->s.words, stream_bytes(&t->s), true);
	for (i = 0; i < 3; i++) {
		guest_map(g, context, (i + 2) * 0x10000000ull, BIG_BYTES, P_R | P_W, true);
		t->region[i] = (struct npu_region){ (i + 2) * 0x10000000ull, BIG_BYTES, 3, 0 };
	}
	job_alloc(g, &t->job);
	job_fill(g, &t->job, 1, SMALL_STREAM, stream_bytes(&t->s), t->region, 3);
}

static npu_u64 now_us(void)
{
	return npu_core_now() / 1000;
}

/* Until unit 0 is inside of an instruction. */
static void wait_inside(struct guest *g, npu_u32 context)
{
	struct npu_mmu_client *client = &g->core->unit[0].client;
	struct npu_mmu_context *c = &g->core->mmu.context[context];
	unsigned int i;
	bool inside = false;

	for (i = 0; i < 600000 && !inside; i++) {
		usleep(100);
		pthread_mutex_lock(&c->lock);
		inside = client->context == context && client->num_holds == 3;
		pthread_mutex_unlock(&c->lock);
	}
}

/* Invalidations while instructions of a job are under way. */
static void test_invalidate(struct guest *g)
{
	npu_u64 start, us, free_us = UINT64_MAX, used_us = 0, insn_us;
	static struct small t;
	unsigned int i;

	big_init(g, &t, 30, 30);
	unit_set(g, 0, t.queue, &t.job, ~0u);
	unit_cmd(g, 0, CMD_START);
	for (i = 0; i < 5; i++) {
		wait_inside(g, 30);
		start = now_us();
		guest_invalidate(g, 30, 0x60000000, 1 << 20);
		guest_invalidate(g, 30, SMALL_STREAM, PAGE);
		us = (now_us() - start) / 2;
		free_us = us < free_us ? us : free_us;
		wait_inside(g, 30);
		start = now_us();
		guest_invalidate(g, 30, 0x20000000, BIG_BYTES);
		us = now_us() - start;
		used_us = us > used_us ? us : used_us;
	}
	unit_cmd(g, 0, CMD_STOP);
	unit_wait(g, 0);
	insn_us = unit_reg(g, 0, 0x20) / (result32(g, &t.job, RESULT_INSNS) + 1);
	tap_ok(free_us * 2 < used_us && used_us < 10 * insn_us + 1000000,
	       "an instruction takes %llu us; an invalidation of its operand %llu, of others and of "
	       "the stream %llu",
	       (unsigned long long)insn_us, (unsigned long long)used_us,
	       (unsigned long long)free_us);
	unit_cmd(g, 0, CMD_RELEASE);
}

/* The client takes memory away from a running instruction. */
static void test_unmap(struct guest *g)
{
	npu_u64 start, took;
	static struct small t;
	npu_u32 page, state;

	big_init(g, &t, 31, 31);
	page = (npu_u32)((*table_entry(g, 31, 0x20000000 + 5 * PAGE, 0) - FAKE_IOVA_BASE) / PAGE);
	unit_set(g, 0, t.queue, &t.job, ~0u);
	unit_cmd(g, 0, CMD_START);
	wait_inside(g, 31);
	start = now_us();
	fake_unmap(g->dev, g->core, page, 1);
	took = now_us() - start;
	state = unit_wait(g, 0);
	tap_ok(state == FAULT && result32(g, &t.job, RESULT_FAULT) == NPU_FAULT_MMU &&
		       get64(kernel_at(g, t.job.result), RESULT_ADDRESS) == 0x20000000 + 5 * PAGE &&
		       took < 1000000,
	       "memory goes away under an instruction: let go within %llu us, then a fault there",
	       (unsigned long long)took);
	fake_map(g->dev, page, page, true);
	unit_cmd(g, 0, CMD_RELEASE);
}

/* Nanoseconds that this thread has run. */
static npu_u64 thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (npu_u64)ts.tv_sec * 1000000000u + (npu_u64)ts.tv_nsec;
}

static void test_device_reset(struct guest *g)
{
	static struct small t;
	npu_u32 epoch = reg_read(g, 0x64), state;
	npu_u64 start, call, all;

	big_init(g, &t, 32, 32);
	unit_set(g, 0, t.queue, &t.job, ~0u);
	unit_cmd(g, 0, CMD_START);
	wait_inside(g, 32);
	memset(kernel_at(g, t.job.result), 0xaa, 96);
	start = now_us();
	call = thread_ns();
	reg_write(g, 0x70, 1);
	/* By the thread's own clock: it may be for others that it has to wait. */
	call = (thread_ns() - call) / 1000;
	state = reg_read(g, 0x60) & 1;
	reg_write(g, 0x98, 0x1234);
	wait_ready(g);
	all = now_us() - start;
	tap_ok(call < 20000 && unit_reg(g, 0, 4) == IDLE && reg_read(g, 0x64) == epoch + 1 &&
		       !reg_read(g, 0x2000 + 8 * 32) && !reg_read(g, 0x3000 + 4 * 32) &&
		       !reg_read(g, 0xb0) && !reg_read(g, 0x98) &&
		       result32(g, &t.job, 0) == 0xaaaaaaaa,
	       "the device is reset under a job: call %llu us, ready %u, all %llu us",
	       (unsigned long long)call, state, (unsigned long long)all);
}

/* Two units, two contexts with the same addresses. */
static void test_two(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	static struct small t[2];
	unsigned int i, k, bad = 0;
	struct guest g;

	config.engines = 2;
	config.threads = 2;
	config.sram_size = 64 << 10;
	guest_init(&g, &config);
	tap_ok(g.core->engine->config.callers == 2, "the engines' helpers are for two threads");
	for (i = 0; i < 2; i++)
		small_init(&g, &t[i], 1 + i, 5 + i);
	for (k = 0; k < 50; k++) {
		for (i = 0; i < 2; i++) {
			small_spoil(&g, &t[i]);
			unit_set(&g, i, t[i].queue, &t[i].job, ~0u);
		}
		for (i = 0; i < 2; i++)
			unit_cmd(&g, i, CMD_START);
		for (i = 0; i < 2; i++) {
			bad += unit_wait(&g, i) != DONE || !small_right(&g, &t[i]);
			unit_cmd(&g, i, CMD_RELEASE);
		}
	}
	tap_ok(!bad, "two engines at once, contexts with the same addresses: %u wrong", bad);
	guest_fini(&g);
}

static void test_models(struct guest *g, struct small *other)
{
	static const struct {
		const char *model, *shape;
	} models[] = { { "mnist-8", NULL },
		       { "cls", "x=1x3x48x192" },
		       { "blazeface_front", NULL } };
	struct capture c;
	unsigned int i;

	for (i = 0; i < (tap_short() ? 1 : 3); i++) {
		if (!tap_ok(capture_init(&c, models[i].model, models[i].shape, 2), "%s in process",
			    models[i].model))
			continue;
		test_model(g, &c, models[i].model, PAGES_ROW);
		test_model(g, &c, models[i].model, PAGES_SCATTERED);
		test_model(g, &c, models[i].model, PAGES_DRIVER);
		test_preempt(g, &c, models[i].model, other);
		test_trace(g, &c, models[i].model, false);
		test_trace(g, &c, models[i].model, true);
		capture_fini(&c);
		/* Memory of the guest is not given back. */
		reg_write(g, 0x70, 1);
		wait_ready(g);
		guest_restart(g);
		small_init(g, other, 2, 2);
	}
}

int main(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	static struct small t, other;
	struct guest g;

	config.threads = 2;
	guest_init(&g, &config);
	small_init(&g, &t, 1, 1);
	small_init(&g, &other, 2, 2);
	test_small(&g, &t);
	test_commands(&g, &t);
	test_faults(&g, &t, &other);
	test_bad_save(&g, &t);
	test_resets(&g, &t);
	test_hangs(&g, &t);
	test_job_behind_reset(&g, &t);
	test_hard_hangs(&g, &t);
	small_init(&g, &other, 2, 2);
	test_models(&g, &other);
	test_invalidate(&g);
	test_unmap(&g);
	test_device_reset(&g);
	guest_fini(&g);
	test_two();
	return tap_done();
}
