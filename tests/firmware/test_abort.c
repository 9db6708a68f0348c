// SPDX-License-Identifier: MIT
/* Ends of jobs other than good ones: aborts in every state of a queue, resets, faults, suspend. */
#include "check.h"

enum { NORMAL = NPU_FW_PRIORITY_NORMAL, HIGH };

static struct mock m;

static npu_u32 abort_post(npu_u32 queue, npu_u64 job_id)
{
	struct npu_fw_ctl ctl = { .cmd = NPU_FW_CTL_QUEUE_ABORT, .queue = queue, .job_id = job_id };

	return mock_ctl_post(&m, &ctl);
}

/* Queue 1 is used again: nothing of the abort is left. */
static void expect_next(npu_u64 job)
{
	mock_submit(&m, 1, 100);
	mock_run(&m, 5000);
	expect_job(&m, 1, job, NPU_FW_OK, "and the next job is done");
	tap_ok(!m.bad_access && !mock_messages(&m),
	       "no command in a wrong state, no other message");
}

static void test_idle(void)
{
	npu_u32 seq;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	seq = abort_post(1, 100);
	mock_run(&m, 100);
	expect_answer(&m, seq, NPU_FW_OK, "idle: answered at once");
	expect_next(1);
}

static void test_ready(void)
{
	npu_u32 seq;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_queue_create(&m, 2, HIGH);
	mock_submit(&m, 2, 900);
	mock_run(&m, 10);
	mock_submit(&m, 1, 100);
	mock_submit(&m, 1, 100);
	mock_submit(&m, 1, 100);
	mock_run(&m, 10);
	seq = abort_post(1, 2);
	mock_run(&m, 10);
	expect_job(&m, 1, 1, NPU_FW_ABORTED, "waiting: the first");
	expect_job(&m, 1, 2, NPU_FW_ABORTED, "and the second job");
	expect_answer(&m, seq, NPU_FW_OK, "before the answer");
	mock_run(&m, 3000);
	expect_job(&m, 2, 1, NPU_FW_OK, "the other queue is not touched");
	expect_job(&m, 1, 3, NPU_FW_OK, "the third, which was not meant, is done");
	expect_next(4);
	tap_ok(mock_info(&m)->counter[NPU_FW_COUNTER_ABORTED] == 2, "counter of aborted jobs");
}

/* Written to the ring, but no doorbell yet. */
static void test_silent(void)
{
	npu_u32 seq;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_job_write(&m, 1, 100, MOCK_DONE);
	seq = abort_post(1, 1);
	mock_run(&m, 100);
	expect_job(&m, 1, 1, NPU_FW_ABORTED, "in the ring without a doorbell");
	expect_answer(&m, seq, NPU_FW_OK, "answered");
	expect_trace(&m, "", "never started");
	expect_next(2);
}

static void test_running(void)
{
	struct npu_fw_msg msg;
	npu_u32 seq;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_submit(&m, 1, 900);
	mock_submit(&m, 1, 900);
	mock_run(&m, 300);
	seq = abort_post(1, 2);
	mock_run(&m, 100);
	expect_trace(&m, "start 1, stop 1, release 1", "running: stopped");
	tap_ok(mock_message(&m, &msg) && msg.job_id == 1 && msg.status == NPU_FW_ABORTED &&
	       msg.busy_ns == 300000, "with the time that it had");
	expect_job(&m, 1, 2, NPU_FW_ABORTED, "the one behind it, too");
	expect_answer(&m, seq, NPU_FW_OK, "answered");
	expect_next(3);

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_submit(&m, 1, 900);
	mock_submit(&m, 1, 800);
	mock_run(&m, 300);
	mock_run(&m, 700);
	expect_job(&m, 1, 1, NPU_FW_OK, "one done");
	seq = abort_post(1, 1);
	mock_run(&m, 100);
	expect_answer(&m, seq, NPU_FW_OK, "an abort of what is over is answered at once");
	mock_run(&m, 1000);
	expect_job(&m, 1, 2, NPU_FW_OK, "and does not touch what runs");
	expect_trace(&m, "start 1, release 1, start 1, release 1", "no stop");
}

static void test_hang(void)
{
	npu_u32 seq;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_job_write(&m, 1, 100, MOCK_HANG);
	mock_ring(&m, 1);
	mock_run(&m, 100000);
	seq = abort_post(1, 1);
	mock_run(&m, 100);
	expect_job(&m, 1, 1, NPU_FW_ABORTED, "hanging: stopped");
	expect_answer(&m, seq, NPU_FW_OK, "answered");
	expect_next(2);
}

/* An engine that does not even stop is reset by the driver. */
static void test_reset(void)
{
	npu_u32 seq;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_job_write(&m, 1, 100, MOCK_HANG);
	mock_ring(&m, 1);
	mock_run(&m, 1000);
	m.stuck_stop = true;
	seq = abort_post(1, 1);
	mock_run(&m, 5000);
	tap_ok(!mock_messages(&m), "an engine that does not stop: no answer");
	expect_trace(&m, "start 1, stop 1", "told once");
	mock_engine_reset(&m, 0);
	mock_run(&m, 100);
	expect_job(&m, 1, 1, NPU_FW_ENGINE_RESET, "reset: the job says so");
	expect_answer(&m, seq, NPU_FW_OK, "and the abort is answered");
	m.stuck_stop = false;
	expect_next(2);

	mock_submit(&m, 1, 5000);
	mock_run(&m, 100);
	mock_engine_reset(&m, 0);
	mock_run(&m, 100);
	expect_job(&m, 1, 3, NPU_FW_ENGINE_RESET, "a reset that nobody ordered here");
	expect_next(4);
}

static void preempt(npu_u32 us)
{
	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_queue_create(&m, 2, HIGH);
	mock_submit(&m, 1, 5000);
	mock_run(&m, 100);
	mock_submit(&m, 2, 10000);
	mock_run(&m, us - 100);
}

static void test_saved(void)
{
	npu_u32 seq;

	preempt(2000);
	tap_ok(mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_SAVED, "preempted and saved");
	seq = abort_post(1, 1);
	mock_run(&m, 100);
	expect_job(&m, 1, 1, NPU_FW_ABORTED, "saved: ended");
	expect_answer(&m, seq, NPU_FW_OK, "answered");
	mock_run(&m, 12000);
	expect_job(&m, 2, 1, NPU_FW_OK, "the other one is not touched");
	expect_next(2);

	preempt(1020);
	tap_ok(mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_RUNNING, "still being saved");
	seq = abort_post(1, 1);
	mock_run(&m, 10);
	tap_ok(!mock_messages(&m), "in saving: not before that is over");
	mock_run(&m, 100);
	expect_job(&m, 1, 1, NPU_FW_ABORTED, "then ended");
	expect_answer(&m, seq, NPU_FW_OK, "answered");
	mock_run(&m, 12000);
	expect_job(&m, 2, 1, NPU_FW_OK, "the other one is not touched");
	expect_next(2);
	expect_trace(
		&m,
		"start 1, save 1, start 2, continue 2, continue 2, continue 2, continue 2, "
		"continue 2, continue 2, continue 2, continue 2, continue 2, release 2, start 1, "
		"release 1",
		"never restored");
}

/* The slice ends in the same moment: the engine has yielded when the abort is read. */
static void test_yielded(void)
{
	npu_u32 seq;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_submit(&m, 1, 5000);
	mock_run(&m, 999);
	seq = abort_post(1, 1);
	m.stuck_stop = true;
	mock_run(&m, 100);
	expect_job(&m, 1, 1, NPU_FW_ABORTED, "yielded: let go");
	expect_answer(&m, seq, NPU_FW_OK, "answered");
	expect_trace(&m, "start 1, stop 1, release 1", "and not continued");
	m.stuck_stop = false;
	expect_next(2);
}

static void test_twice(void)
{
	npu_u32 first, second;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_job_write(&m, 1, 100, MOCK_HANG);
	mock_submit(&m, 1, 100);
	mock_run(&m, 100);
	m.stuck_stop = true;
	first = abort_post(1, 1);
	mock_run(&m, 100);
	second = abort_post(1, 2);
	mock_run(&m, 100);
	expect_answer(&m, first, NPU_FW_BUSY, "an abort that is overtaken is answered as such");
	mock_engine_reset(&m, 0);
	mock_run(&m, 100);
	expect_job(&m, 1, 1, NPU_FW_ENGINE_RESET, "the job on the engine");
	expect_job(&m, 1, 2, NPU_FW_ABORTED, "what the second order named");
	expect_answer(&m, second, NPU_FW_OK, "answered");
	m.stuck_stop = false;
	expect_next(3);
}

static void test_destroy(void)
{
	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_submit(&m, 1, 900);
	mock_submit(&m, 1, 900);
	mock_run(&m, 100);
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_DESTROY, 1, 0) == NPU_FW_BUSY, "running: busy");
	abort_post(1, 1);
	mock_run(&m, 1);
	mock_messages(&m);
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_DESTROY, 1, 0) == NPU_FW_OK ||
		       mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_DESTROY, 1, 0) == NPU_FW_BUSY,
	       "after an abort");
	mock_run(&m, 2000);
	if (mock_queue_state(&m, 1)->state != NPU_FW_QUEUE_NONE)
		mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_DESTROY, 1, 0);
	tap_ok(mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_NONE, "destroyed");
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_DESTROY, 1, 0) == NPU_FW_BAD_QUEUE, "and gone");
	mock_ring(&m, 1);
	mock_run(&m, 100);
	tap_ok(mock_queue_create(&m, 1, HIGH) == NPU_FW_OK, "its number can be used again");
	while (mock_messages(&m))
		mock_message(&m, &(struct npu_fw_msg){ .type = 0 });
	expect_next(1);

	preempt(2000);
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_DESTROY, 1, 0) == NPU_FW_OK,
	       "a saved job is dropped");
	mock_run(&m, 20000);
	expect_job(&m, 2, 1, NPU_FW_OK, "the other queue's is done");
	tap_ok(!mock_messages(&m), "without a word about the dropped one");
}

static void test_faults(void)
{
	struct npu_fw_msg msg;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_job_write(&m, 1, 100, MOCK_FAULT);
	mock_job_write(&m, 1, 100, MOCK_ERROR);
	mock_ring(&m, 1);
	mock_run(&m, 1000);
	tap_ok(mock_message(&m, &msg) && msg.job_id == 1 && msg.status == NPU_FW_FAULTED &&
	       msg.fault.code == 7 && msg.fault.insn == 3 && msg.fault.address == 0x123456000,
	       "a fault: the record is passed on");
	expect_job(&m, 1, 2, NPU_FW_ENGINE_ERROR, "an engine that cannot use kernel memory");
	tap_ok(mock_info(&m)->counter[NPU_FW_COUNTER_FAULTED] == 2, "counter of faulted jobs");
	expect_next(3);

	m.broken_save = true;
	mock_queue_create(&m, 2, HIGH);
	mock_submit(&m, 1, 5000);
	mock_run(&m, 500);
	mock_submit(&m, 2, 100);
	mock_run(&m, 5000);
	expect_job(&m, 1, 4, NPU_FW_ENGINE_ERROR, "a state that cannot be saved");
	expect_job(&m, 2, 1, NPU_FW_OK, "the one that wanted the engine has it");
	m.broken_save = false;
	expect_next(5);
}

static void test_suspend(void)
{
	struct npu_fw_ctl ctl = { .cmd = NPU_FW_CTL_SUSPEND };
	npu_u32 seq;

	preempt(2000);
	mock_queue_create(&m, 3, NORMAL);
	mock_submit(&m, 3, 100);
	mock_submit(&m, 2, 100);
	mock_run(&m, 10);
	seq = mock_ctl_post(&m, &ctl);
	mock_run(&m, 8000);
	tap_ok(!mock_messages(&m) && m.boot_status == NPU_FW_BOOT_READY,
	       "not while a job is half done");
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_SUSPEND, 0, 0) == NPU_FW_BUSY, "asked again: busy");
	mock_run(&m, 20000);
	expect_job(&m, 2, 1, NPU_FW_OK, "suspend: what runs is finished");
	expect_job(&m, 1, 1, NPU_FW_OK, "and what was saved");
	expect_answer(&m, seq, NPU_FW_OK, "then it is answered");
	tap_ok(m.boot_status == NPU_FW_BOOT_SUSPENDED && m.timer == ~0ull, "status; no timer runs");
	m.trace[0] = '\0';
	mock_submit(&m, 3, 100);
	mock_run(&m, 20000);
	expect_trace(&m, "", "nothing more begins");
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_PING, 0, 0) == NPU_FW_OK, "it still answers");

	begin(&m);
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_SUSPEND, 0, 0) == NPU_FW_OK, "idle: at once");
}

/* The driver does not read its messages: nothing is lost, nothing is overwritten. */
static void test_full(void)
{
	struct npu_fw_msg msg;
	npu_u32 seq, i, j, bad = 0, jobs[4] = { 0 };

	begin(&m);
	for (i = 1; i <= 3; i++)
		mock_queue_create(&m, i, NORMAL);
	for (i = 0; i < 12; i++) {
		for (j = 1; j <= 3; j++) {
			while (m.job_id[j] - mock_queue_state(&m, j)->job_seq < MOCK_ENTRIES - 1)
				mock_submit(&m, j, 10);
		}
		mock_run(&m, 1000);
	}
	tap_ok(mock_messages(&m) == 64, "a full ring is full and not fuller");
	tap_ok(mock_info(&m)->counter[NPU_FW_COUNTER_MSG_FULL] > 0, "counter of waiting for room");
	seq = abort_post(2, m.job_id[2]);
	mock_run(&m, 1000);
	tap_ok(mock_messages(&m) == 64 && !m.bad_access, "commands wait, too");
	for (i = 0; i < 200; i++) {
		while (mock_message(&m, &msg)) {
			if (msg.type == NPU_FW_MSG_JOB)
				bad += msg.job_id != ++jobs[msg.queue];
			else
				bad += msg.seq != seq || jobs[2] != m.job_id[2];
		}
		mock_run(&m, 300);
	}
	tap_ok(!bad && jobs[1] == m.job_id[1] && jobs[2] == m.job_id[2] && jobs[3] == m.job_id[3],
	       "when there is room all come, in order: %u, %u, %u", jobs[1], jobs[2], jobs[3]);
}

int main(void)
{
	test_idle();
	test_ready();
	test_silent();
	test_running();
	test_hang();
	test_reset();
	test_saved();
	test_yielded();
	test_twice();
	test_destroy();
	test_faults();
	test_suspend();
	test_full();
	mock_fini(&m);
	return tap_done();
}
