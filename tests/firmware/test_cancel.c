// SPDX-License-Identifier: MIT
/* Cancels of one job, in every state that it may be in: the others of its queue go on. */
#include "check.h"

enum { NORMAL = NPU_FW_PRIORITY_NORMAL, HIGH };

static struct mock m;

static npu_u32 cancel(npu_u32 queue, npu_u64 job_id)
{
	struct npu_fw_ctl ctl = { .cmd = NPU_FW_CTL_JOB_CANCEL, .queue = queue, .job_id = job_id };

	return mock_ctl_post(&m, &ctl);
}

/* What is expected of a queue when all that is under way has ended. */
static void expect_next(npu_u64 job)
{
	mock_submit(&m, 1, 100);
	mock_run(&m, 5000);
	expect_job(&m, 1, job, NPU_FW_OK, "and the next job is done");
	tap_ok(!m.bad_access && !mock_messages(&m),
	       "no command in a wrong state, no other message");
}

static void test_marked(void)
{
	npu_u32 i;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	for (i = 1; i <= 6; i++)
		mock_job_write(&m, 1, 300, MOCK_DONE)->cancel = i % 2;
	mock_ring(&m, 1);
	mock_run(&m, 5000);
	for (i = 1; i <= 6; i++)
		expect_job(&m, 1, i, i % 2 ? NPU_FW_ABORTED : NPU_FW_OK,
			   "marked ones are skipped, in order");
	expect_trace(&m, "start 1, release 1, start 1, release 1, start 1, release 1",
		     "and never started");
	tap_ok(mock_info(&m)->counter[NPU_FW_COUNTER_ABORTED] == 3 &&
	       mock_info(&m)->counter[NPU_FW_COUNTER_STARTED] == 3, "counters");
	expect_next(7);
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
	seq = cancel(1, 1);
	mock_run(&m, 1000);
	expect_answer(&m, seq, NPU_FW_OK, "running: answered at once");
	tap_ok(mock_message(&m, &msg) && msg.job_id == 1 && msg.status == NPU_FW_ABORTED &&
	       msg.busy_ns == 300000, "stopped, with the time that it had");
	expect_job(&m, 1, 2, NPU_FW_OK, "the one behind it is done");
	expect_trace(&m, "start 1, stop 1, release 1, start 1, release 1", "one stop");
	expect_next(3);
}

/* The message alone does nothing to a job that is not the oldest. */
static void test_others(void)
{
	npu_u32 seq, i;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	for (i = 0; i < 3; i++)
		mock_submit(&m, 1, 900);
	mock_run(&m, 300);
	for (i = 0; i <= 5; i++) {
		if (i == 1)
			continue;
		seq = cancel(1, i);
		mock_run(&m, 10);
		expect_answer(&m, seq, NPU_FW_OK, "not the oldest one: answered");
	}
	mock_run(&m, 5000);
	for (i = 1; i <= 3; i++)
		expect_job(&m, 1, i, NPU_FW_OK, "and none is touched");
	seq = cancel(1, 4);
	mock_run(&m, 10);
	expect_answer(&m, seq, NPU_FW_OK, "idle: answered");
	expect_next(4);
	seq = cancel(1, 4);
	mock_run(&m, 10);
	expect_answer(&m, seq, NPU_FW_OK, "over: answered");
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_JOB_CANCEL, 2, 1) == NPU_FW_BAD_QUEUE &&
	       mock_ctl_simple(&m, NPU_FW_CTL_JOB_CANCEL, ~0u, 1) == NPU_FW_BAD_QUEUE,
	       "a queue that is not there");
	expect_next(5);
}

static void preempt(npu_u32 us)
{
	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_queue_create(&m, 2, HIGH);
	mock_submit(&m, 1, 5000);
	mock_submit(&m, 1, 100);
	mock_run(&m, 100);
	mock_submit(&m, 2, 10000);
	mock_run(&m, us - 100);
}

/* The engine is another queue's: a job that is half done, or waits, ends nevertheless. */
static void test_saved(void)
{
	npu_u32 seq;

	preempt(2000);
	tap_ok(mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_SAVED, "preempted and saved");
	seq = cancel(1, 1);
	mock_run(&m, 10);
	expect_answer(&m, seq, NPU_FW_OK, "saved: answered");
	expect_job(&m, 1, 1, NPU_FW_ABORTED, "and ended at once");
	seq = cancel(1, 2);
	mock_run(&m, 10);
	expect_answer(&m, seq, NPU_FW_OK, "waiting: answered");
	expect_job(&m, 1, 2, NPU_FW_ABORTED, "and ended at once");
	mock_run(&m, 12000);
	expect_job(&m, 2, 1, NPU_FW_OK, "the other queue is not touched");
	expect_next(3);

	preempt(1020);
	tap_ok(mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_RUNNING, "still being saved");
	seq = cancel(1, 1);
	mock_run(&m, 10);
	expect_answer(&m, seq, NPU_FW_OK, "in saving: answered");
	tap_ok(!mock_messages(&m), "but not ended before that is over");
	mock_run(&m, 100);
	expect_job(&m, 1, 1, NPU_FW_ABORTED, "then ended");
	mock_run(&m, 20000);
	expect_job(&m, 2, 1, NPU_FW_OK, "the other queue's job is done");
	expect_job(&m, 1, 2, NPU_FW_OK, "and the one behind the cancelled one");
	expect_next(3);
}

/* The slice ends in the same moment: the engine has yielded when the order is read. */
static void test_yielded(void)
{
	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_submit(&m, 1, 5000);
	mock_run(&m, 999);
	cancel(1, 1);
	m.stuck_stop = true;
	mock_run(&m, 100);
	mock_message(&m, &(struct npu_fw_msg){ .type = 0 });
	expect_job(&m, 1, 1, NPU_FW_ABORTED, "yielded: let go");
	expect_trace(&m, "start 1, stop 1, release 1", "and not continued");
	m.stuck_stop = false;
	expect_next(2);
}

/* It may be done when the engine hears of it, or hang. */
static void test_ends(void)
{
	npu_u32 seq;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_submit(&m, 1, 900);
	mock_run(&m, 300);
	m.stuck_stop = true;
	seq = cancel(1, 1);
	mock_run(&m, 1000);
	expect_answer(&m, seq, NPU_FW_OK, "done before it stopped: answered");
	expect_job(&m, 1, 1, NPU_FW_OK, "and done");
	m.stuck_stop = false;
	expect_next(2);

	mock_job_write(&m, 1, 100, MOCK_HANG);
	mock_submit(&m, 1, 100);
	mock_run(&m, 100000);
	seq = cancel(1, 3);
	mock_run(&m, 1000);
	expect_answer(&m, seq, NPU_FW_OK, "hanging: answered");
	expect_job(&m, 1, 3, NPU_FW_ABORTED, "stopped");
	expect_job(&m, 1, 4, NPU_FW_OK, "the one behind it is done");

	mock_job_write(&m, 1, 100, MOCK_HANG);
	mock_run(&m, 1);
	mock_ring(&m, 1);
	mock_run(&m, 1000);
	m.stuck_stop = true;
	seq = cancel(1, 5);
	mock_run(&m, 1000);
	expect_answer(&m, seq, NPU_FW_OK, "an engine that does not stop: answered");
	tap_ok(!mock_messages(&m), "and nothing else");
	mock_engine_reset(&m, 0);
	mock_run(&m, 100);
	expect_job(&m, 1, 5, NPU_FW_ENGINE_RESET, "reset: the job says so");
	m.stuck_stop = false;
	expect_next(6);
}

/* Beside an abort neither gets lost, in whatever order. */
static void test_abort(void)
{
	struct npu_fw_ctl abort = { .cmd = NPU_FW_CTL_QUEUE_ABORT, .queue = 1, .job_id = 2 };
	npu_u32 first, second, i, round;

	for (round = 0; round < 2; round++) {
		begin(&m);
		mock_queue_create(&m, 1, NORMAL);
		for (i = 0; i < 3; i++)
			mock_submit(&m, 1, 900);
		mock_run(&m, 300);
		m.stuck_stop = true;
		first = round ? cancel(1, 1) : mock_ctl_post(&m, &abort);
		mock_run(&m, 100);
		second = round ? mock_ctl_post(&m, &abort) : cancel(1, 1);
		mock_run(&m, 100);
		expect_answer(&m, round ? first : second, NPU_FW_OK,
			      "the cancel is answered at once");
		tap_ok(!mock_messages(&m), "the abort is not");
		tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_DESTROY, 1, 0) == NPU_FW_BUSY,
		       "meanwhile the queue can not go");
		mock_engine_reset(&m, 0);
		mock_run(&m, 100);
		m.stuck_stop = false;
		expect_job(&m, 1, 1, NPU_FW_ENGINE_RESET, "the running job");
		expect_job(&m, 1, 2, NPU_FW_ABORTED, "the aborted one");
		expect_answer(&m, round ? second : first, NPU_FW_OK, "then the abort is answered");
		mock_run(&m, 2000);
		expect_job(&m, 1, 3, NPU_FW_OK, "the third is done");
		expect_next(4);
	}
}

int main(void)
{
	test_marked();
	test_running();
	test_others();
	test_saved();
	test_yielded();
	test_ends();
	test_abort();
	mock_fini(&m);
	return tap_done();
}
