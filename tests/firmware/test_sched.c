// SPDX-License-Identifier: MIT
/*
 * Who runs when: the commands that engines get, in order, against sequences written down by hand
 * from the rules in Documentation/hardware/firmware.md. A slice is 1 ms, ageing 10 ms.
 */
#include "check.h"

enum { LOW = NPU_FW_PRIORITY_LOW, NORMAL, HIGH, REALTIME };

static struct mock m;

/* Queues 1, 2, ... of these priorities. */
static void make_queues(unsigned int count, const npu_u32 *priority)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		mock_queue_create(&m, i + 1, priority[i]);
}
#define QUEUES(...) make_queues(sizeof((npu_u32[]){ __VA_ARGS__ }) / 4, (npu_u32[]){ __VA_ARGS__ })

static void test_one(void)
{
	struct npu_fw_index *index;
	struct npu_fw_msg msg;
	npu_u64 start;

	begin(&m);
	QUEUES(NORMAL);
	index = mock_at(&m, m.index[1]);
	tap_ok(mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_IDLE &&
		       mock_queue_state(&m, 1)->job_seq == 0,
	       "a new queue is idle and has started nothing");
	start = m.now;
	m.host_irqs = 0;
	mock_submit(&m, 1, 500);
	mock_run(&m, 100);
	tap_ok(mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_RUNNING &&
	       mock_queue_state(&m, 1)->job_seq == 1 && mock_queue_state(&m, 1)->slices == 1 &&
	       mock_queue_state(&m, 1)->engine == 0 && index->head == 0,
	       "it runs, and its entry is still the firmware's");
	mock_run(&m, 1000);
	expect_trace(&m, "start 1, release 1", "started once, released once");
	tap_ok(mock_message(&m, &msg) && msg.type == NPU_FW_MSG_JOB && msg.queue == 1 &&
	       msg.job_id == 1 && msg.status == NPU_FW_OK && msg.started_ns == start &&
	       msg.ended_ns == start + 500000 && msg.busy_ns == 500000 && msg.insns == 500 &&
	       msg.slices == 1 && msg.engine == 0, "the message says when and how long");
	tap_ok(index->head == 1 && mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_IDLE &&
	       m.host_irqs == 1, "the entry is free again, one interrupt");
	tap_ok(m.told_at_release == 1, "which does not wait for the engine to clear its memory");
	tap_ok(mock_info(&m)->counter[NPU_FW_COUNTER_STARTED] == 1 &&
	       mock_info(&m)->counter[NPU_FW_COUNTER_DONE] == 1 &&
	       mock_info(&m)->counter[NPU_FW_COUNTER_DOORBELLS] == 1, "counters");
}

static void test_priorities(void)
{
	begin(&m);
	QUEUES(NORMAL, LOW, NORMAL, HIGH, REALTIME);
	mock_submit(&m, 1, 500);
	mock_run(&m, 100);
	mock_submit(&m, 2, 100);
	mock_submit(&m, 3, 100);
	mock_submit(&m, 4, 100);
	mock_submit(&m, 5, 100);
	mock_run(&m, 3000);
	expect_trace(&m, "start 1, release 1, start 5, release 5, start 4, release 4, start 3, "
		     "release 3, start 2, release 2", "higher priorities first");

	begin(&m);
	QUEUES(NORMAL, NORMAL, NORMAL, NORMAL);
	mock_submit(&m, 4, 100);
	mock_run(&m, 10);
	mock_submit(&m, 3, 100);
	mock_run(&m, 10);
	mock_submit(&m, 1, 100);
	mock_run(&m, 10);
	mock_submit(&m, 2, 100);
	mock_run(&m, 3000);
	expect_trace(
		&m,
		"start 4, release 4, start 3, release 3, start 1, release 1, start 2, release 2",
		"of equal priorities the one that waits longest");

	begin(&m);
	QUEUES(NORMAL, NORMAL);
	mock_submit(&m, 1, 100);
	mock_submit(&m, 1, 100);
	mock_submit(&m, 1, 100);
	mock_submit(&m, 2, 100);
	mock_submit(&m, 2, 100);
	mock_run(&m, 3000);
	expect_trace(&m, "start 1, release 1, start 2, release 2, start 1, release 1, start 2, "
		     "release 2, start 1, release 1", "short jobs of equal queues take turns");
}

static void test_slices(void)
{
	struct npu_fw_msg msg;

	begin(&m);
	QUEUES(NORMAL);
	mock_submit(&m, 1, 2500);
	mock_run(&m, 5000);
	expect_trace(&m, "start 1, continue 1, continue 1, release 1",
		     "alone: goes on behind each slice");

	begin(&m);
	QUEUES(NORMAL, NORMAL);
	mock_submit(&m, 1, 2500);
	mock_submit(&m, 2, 2500);
	mock_run(&m, 900);
	tap_ok(mock_queue_state(&m, 2)->state == NPU_FW_QUEUE_READY, "the second waits");
	mock_run(&m, 600);
	tap_ok(mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_SAVED &&
	       mock_queue_state(&m, 2)->state == NPU_FW_QUEUE_RUNNING, "and has its turn");
	mock_run(&m, 10000);
	expect_trace(&m, "start 1, save 1, start 2, save 2, restore 1, save 1, restore 2, save 2, "
		     "restore 1, release 1, restore 2, release 2", "two long ones take turns");
	tap_ok(mock_message(&m, &msg) && msg.queue == 1 && msg.slices == 3 &&
		       msg.busy_ns == 2500000 && mock_message(&m, &msg) && msg.queue == 2 &&
		       msg.slices == 3 && msg.busy_ns == 2500000,
	       "3 slices each, and no time of the other's");
	tap_ok(mock_info(&m)->counter[NPU_FW_COUNTER_PREEMPTED] == 4 &&
	       mock_info(&m)->counter[NPU_FW_COUNTER_SLICES] == 6 &&
	       mock_info(&m)->counter[NPU_FW_COUNTER_STARTED] == 2, "counters of slices");

	begin(&m);
	QUEUES(NORMAL, NORMAL);
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_SLICE, 0, 0) == NPU_FW_OK, "slices switched off");
	mock_submit(&m, 1, 2500);
	mock_submit(&m, 2, 2500);
	mock_run(&m, 10000);
	expect_trace(&m, "start 1, release 1, start 2, release 2", "then jobs run to their end");
}

static void test_preempt(void)
{
	begin(&m);
	QUEUES(LOW, HIGH);
	mock_submit(&m, 1, 3000);
	mock_run(&m, 200);
	mock_submit(&m, 2, 300);
	mock_run(&m, 5000);
	expect_trace(&m, "start 1, save 1, start 2, release 2, restore 1, continue 1, release 1",
		     "a higher one takes the next slice");

	begin(&m);
	QUEUES(LOW, HIGH);
	mock_submit(&m, 2, 3000);
	mock_run(&m, 200);
	mock_submit(&m, 1, 300);
	mock_run(&m, 5000);
	expect_trace(&m, "start 2, continue 2, continue 2, release 2, start 1, release 1",
		     "a lower one does not");
}

/* When the low queue's job ran, in us from its doorbell; 0: it did not within 200 ms. */
static npu_u64 wait_of_low(npu_u32 age_us, npu_u32 priority)
{
	struct npu_fw_msg msg;
	npu_u64 start;
	npu_u32 i;

	mock_fini(&m);
	mock_init(&m, NULL);
	mock_config(&m)->age_us = age_us;
	mock_boot(&m);
	QUEUES(LOW, priority);
	mock_submit(&m, 2, 1000);
	mock_submit(&m, 2, 1000);
	mock_run(&m, 10);
	start = m.now;
	mock_submit(&m, 1, 50);
	for (i = 0; i < 2000; i++) {
		if (m.job_id[2] - mock_queue_state(&m, 2)->job_seq < 2)
			mock_submit(&m, 2, 1000);
		mock_run(&m, 100);
		while (mock_message(&m, &msg)) {
			if (msg.type == NPU_FW_MSG_JOB && msg.queue == 1)
				return (msg.started_ns - start) / 1000;
		}
	}
	return 0;
}

static void test_ageing(void)
{
	npu_u64 us;

	tap_ok(!wait_of_low(0, NORMAL), "without ageing a busy queue starves those below");
	us = wait_of_low(10000, NORMAL);
	tap_ok(us >= 10000 && us <= 11100, "one priority is gained in 10 ms (%llu us)",
	       (unsigned long long)us);
	us = wait_of_low(10000, REALTIME);
	tap_ok(us >= 30000 && us <= 31100, "three in 30 ms (%llu us)", (unsigned long long)us);
	tap_ok(mock_info(&m)->counter[NPU_FW_COUNTER_AGED] == 1, "counter of aged queues");
	us = wait_of_low(500, REALTIME);
	tap_ok(us >= 1500 && us <= 2700, "and as fast as is asked for (%llu us)",
	       (unsigned long long)us);
}

/* What was gained by waiting lasts for one slice. */
static void test_aged_slice(void)
{
	begin(&m);
	QUEUES(LOW, HIGH);
	mock_submit(&m, 2, 1000000);
	mock_run(&m, 500);
	mock_submit(&m, 1, 2500);
	mock_run(&m, 19000);
	m.trace[0] = '\0';
	mock_run(&m, 4500);
	expect_trace(&m, "continue 2, save 2, start 1, save 1, restore 2, continue 2",
		     "an aged job runs one slice, then the higher one goes on");
}

static void test_engines(void)
{
	begin(&m);
	mock_fini(&m);
	mock_init(&m, NULL);
	m.num_engines = 2;
	mock_boot(&m);
	QUEUES(NORMAL, NORMAL, NORMAL);
	mock_submit(&m, 1, 2500);
	mock_submit(&m, 2, 400);
	mock_submit(&m, 3, 400);
	mock_run(&m, 200);
	tap_ok(mock_queue_state(&m, 1)->engine == 0 && mock_queue_state(&m, 2)->engine == 1 &&
	       mock_queue_state(&m, 3)->state == NPU_FW_QUEUE_READY, "two engines, two jobs");
	mock_run(&m, 5000);
	expect_trace(&m, "start 1, start 2, release 2, start 3, release 3, continue 1, continue 1, "
		     "release 1", "the third has the engine that is free first");

	mock_submit(&m, 1, 1500);
	mock_submit(&m, 2, 1300);
	mock_run(&m, 100);
	mock_submit(&m, 3, 5000);
	mock_run(&m, 3000);
	tap_ok(mock_queue_state(&m, 3)->state == NPU_FW_QUEUE_RUNNING, "more jobs than engines");
	mock_run(&m, 8000);
	tap_ok(!m.bad_access && mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_IDLE &&
		       mock_queue_state(&m, 2)->state == NPU_FW_QUEUE_IDLE &&
		       mock_queue_state(&m, 3)->state == NPU_FW_QUEUE_IDLE,
	       "all come to their end: %s", m.trace);
}

/* A job that is moved to another engine by being saved and restored goes on there. */
static void test_migrate(void)
{
	struct npu_fw_msg msg;

	mock_fini(&m);
	mock_init(&m, NULL);
	m.num_engines = 2;
	mock_boot(&m);
	QUEUES(NORMAL, HIGH, REALTIME);
	mock_submit(&m, 3, 1500);
	mock_run(&m, 10);
	mock_submit(&m, 1, 3000);
	mock_run(&m, 10);
	mock_submit(&m, 2, 3000);
	mock_run(&m, 1000);
	tap_ok(mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_SAVED ||
	       mock_queue_state(&m, 1)->engine == 1, "preempted on engine 1");
	mock_run(&m, 10000);
	expect_trace(&m,
		     "start 3, start 1, continue 3, save 1, start 2, release 3, restore 1, "
		     "continue 2, continue 1, continue 2, release 1, release 2",
		     "restored on engine 0");
	while (mock_message(&m, &msg) && msg.queue != 1)
		;
	tap_ok(msg.queue == 1 && msg.engine == 0 && msg.busy_ns == 3000000,
	       "with what it had done");
}

static void test_wrap(void)
{
	struct npu_fw_ctl ctl;
	struct npu_fw_index *index;
	struct npu_fw_msg msg;
	unsigned int i, bad = 0;

	begin(&m);
	ctl = mock_queue_message(&m, 1, NORMAL);
	index = mock_at(&m, ctl.index);
	index->head = index->tail = 0xfffffff0;
	ctl.job_id = 0xfffffffc;
	m.job_id[1] = 0xfffffffb;
	tap_ok(mock_ctl(&m, &ctl, NULL) == NPU_FW_OK &&
		       mock_queue_state(&m, 1)->job_seq == 0xfffffffb,
	       "a queue whose counts are about to wrap");
	for (i = 0; i < 100; i++) {
		mock_submit(&m, 1, 10);
		if (i % 3 == 2)
			mock_submit(&m, 1, 10);
		mock_run(&m, 100);
		while (mock_message(&m, &msg))
			bad += msg.status != NPU_FW_OK || msg.busy_ns != 10000;
	}
	tap_ok(!bad && index->head == index->tail && index->head == 0xfffffff0 + 133u &&
		       mock_queue_state(&m, 1)->job_seq == 0xfffffffb + 133u,
	       "133 jobs over the end of the counts");
}

static void test_progress(void)
{
	npu_u32 before;

	begin(&m);
	QUEUES(NORMAL);
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_SLICE, 0, 1000000) == NPU_FW_OK, "long slices");
	mock_submit(&m, 1, 100000);
	mock_run(&m, 6000);
	before = mock_queue_state(&m, 1)->progress;
	mock_run(&m, 6000);
	tap_ok(mock_queue_state(&m, 1)->progress != before &&
		       mock_queue_state(&m, 1)->busy_us >= 10000 &&
		       mock_queue_state(&m, 1)->busy_us <= 12000,
	       "progress and time are shown within the heartbeat");
	before = mock_info(&m)->heartbeat;
	tap_ok(m.watchdog_at > m.now, "the watchdog is looked after");
	mock_run(&m, 6000);
	tap_ok(mock_info(&m)->heartbeat != before, "the loop turns");

	begin(&m);
	QUEUES(NORMAL);
	mock_job_write(&m, 1, 1000, MOCK_HANG);
	mock_ring(&m, 1);
	mock_run(&m, 6000);
	before = mock_queue_state(&m, 1)->progress;
	mock_run(&m, 60000);
	tap_ok(mock_queue_state(&m, 1)->progress == before &&
		       mock_queue_state(&m, 1)->busy_us > 50000,
	       "a job that hangs shows time and no progress");
}

int main(void)
{
	test_one();
	test_priorities();
	test_slices();
	test_preempt();
	test_ageing();
	test_aged_slice();
	test_engines();
	test_migrate();
	test_wrap();
	test_progress();
	mock_fini(&m);
	return tap_done();
}
