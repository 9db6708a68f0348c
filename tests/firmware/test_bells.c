// SPDX-License-Identifier: MIT
/*
 * Doorbells that are not rung and interrupts that are not raised: nothing is lost with them. The
 * driver does its part between any two accesses of the firmware, each in turn, with the firmware's
 * stores seen at once, and as late as a processor may have them seen. Then the same with what the
 * rules ask for left out, to see that something would be lost.
 */
#include "check.h"

enum { NORMAL = NPU_FW_PRIORITY_NORMAL };

static struct mock m;

/* When the driver does its part, what that is, and what came of it. */
static npu_u32 act_at;
static bool acted, rung, found;
static npu_u32 irqs_before;

/* One more job; the bell is rung if the queue is idle. */
static void late_job(struct mock *mock)
{
	if (mock->accesses != act_at || acted)
		return;
	acted = true;
	mock_job_write(mock, 1, 100, MOCK_DONE);
	rung = mock_queue_state(mock, 1)->state == NPU_FW_QUEUE_IDLE;
	if (rung)
		mock_ring(mock, 1);
}

/* Somebody waits for the job: its entry is marked, and the message looked for. */
static void late_wait(struct mock *mock)
{
	struct npu_fw_job *entry = mock_at(mock, mock->ring[1]);

	if (mock->accesses != act_at || acted)
		return;
	acted = true;
	entry->notify = 1;
	found = mock_messages(mock) != 0;
	irqs_before = mock->host_irqs;
}

/* A firmware, and how its processor stores. */
struct scene {
	const char *image;		/* on the hart; NULL: built for the host */
	bool hold_stores, no_fence;
};

/* A machine with a queue and a job in it that nobody waits for, which then runs. */
static void play(const struct scene *s, void (*meanwhile)(struct mock *mock))
{
	mock_fini(&m);
	if (!mock_init(&m, s->image) || mock_boot(&m) != NPU_FW_BOOT_READY)
		abort();
	mock_queue_create(&m, 1, NORMAL);
	mock_job_write(&m, 1, 100, MOCK_DONE)->notify = 0;
	mock_ring(&m, 1);
	acted = rung = found = false;
	m.accesses = 0;
	m.meanwhile = meanwhile;
	m.hold_stores = s->hold_stores;
	m.no_fence = s->no_fence;
	mock_run(&m, 2000);
	m.meanwhile = NULL;
}

struct sum {
	unsigned int places, lost, rung, found;
};

/* A job more at each place in turn, until the firmware has no more: is one left behind? */
static struct sum late_jobs(const struct scene *s)
{
	struct sum sum = { 0 };

	acted = true;
	for (act_at = 1; acted; act_at++) {
		play(s, late_job);
		sum.lost += mock_messages(&m) != 1u + acted;
		sum.places += acted;
		sum.rung += rung;
	}
	return sum;
}

/* Somebody who begins to wait at each place: is he neither told, nor finds the message? */
static struct sum late_waits(const struct scene *s)
{
	struct sum sum = { 0 };

	acted = true;
	for (act_at = 1; acted; act_at++) {
		play(s, late_wait);
		sum.lost += mock_messages(&m) != 1 ||
			    (acted && !found && m.host_irqs == irqs_before);
		sum.places += acted;
		sum.found += found;
	}
	return sum;
}

/* Both, of a firmware that loses nothing. */
static void expect_none_lost(const char *what, const char *image, bool hold)
{
	const struct scene s = { image, hold, false };
	struct sum jobs = late_jobs(&s), waits = late_waits(&s);

	tap_ok(!jobs.lost && jobs.rung && jobs.rung < jobs.places,
	       "%s: a job at each of %u places is done, the bell was rung at %u", what, jobs.places,
	       jobs.rung);
	tap_ok(!waits.lost && waits.found && waits.found < waits.places,
	       "%s: a wait begun at each of %u places ends, the message was there at %u", what,
	       waits.places, waits.found);
}

static void test_places(void)
{
	const struct scene no_fence = { NULL, true, true };
	const struct scene lost_bell = { "mutant-lost_bell.bin", false, false };
	const struct scene lost_end = { "mutant-lost_end.bin", false, false };
	struct sum sum;

	expect_none_lost("in order", NULL, false);
	expect_none_lost("stores late", NULL, true);
	expect_none_lost("the image", "npu_fw.bin", false);

	sum = late_jobs(&no_fence);
	tap_ok(sum.lost, "without fences a job is left behind at %u of %u places", sum.lost,
	       sum.places);
	sum = late_waits(&no_fence);
	tap_ok(sum.lost, "and a wait does not end at %u of %u", sum.lost, sum.places);
	sum = late_jobs(&lost_bell);
	tap_ok(sum.lost, "firmware that does not look again leaves a job behind at %u of %u places",
	       sum.lost, sum.places);
	sum = late_waits(&lost_end);
	tap_ok(sum.lost, "firmware that looks too early does not end a wait at %u of %u places",
	       sum.lost, sum.places);
}

/* @count jobs that nobody waits for, taken by the driver or not; interrupts. */
static npu_u32 run_quiet(npu_u32 count, bool take)
{
	npu_u32 before = m.host_irqs;
	struct npu_fw_msg msg;

	for (; count; count--) {
		mock_job_write(&m, 1, 10, MOCK_DONE)->notify = 0;
		mock_ring(&m, 1);
		mock_run(&m, 100);
		if (take)
			mock_message(&m, &msg);
	}
	return m.host_irqs - before;
}

static void test_quiet(void)
{
	npu_u32 half = 0, before;
	struct npu_fw_msg msg;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	tap_ok(!run_quiet(200, true), "no interrupt for 200 jobs that nobody waits for");
	before = m.host_irqs;
	mock_job_write(&m, 1, 10, MOCK_FAULT)->notify = 0;
	mock_ring(&m, 1);
	mock_run(&m, 100);
	tap_ok(m.host_irqs == before + 1, "one for a job that ends badly");
	half = mock_config(&m)->msg_entries / 2;
	tap_ok(!run_quiet(half - 1, false) && run_quiet(1, false) == 1,
	       "one when more than half of the message ring is full");
	before = m.host_irqs;
	mock_ctl_simple(&m, NPU_FW_CTL_PING, 0, 0);
	tap_ok(m.host_irqs == before + 1, "one for an answer");

	mock_fini(&m);
	if (!mock_init(&m, NULL))
		abort();
	mock_config(&m)->abi = NPU_FW_ABI_QUIET - 1;
	if (mock_boot(&m) != NPU_FW_BOOT_READY)
		abort();
	mock_queue_create(&m, 1, NORMAL);
	tap_ok(run_quiet(20, true) == 20, "a driver of ABI %u is told of each job",
	       NPU_FW_ABI_QUIET - 1);
	mock_job_write(&m, 1, 10, MOCK_DONE)->notify = 1;
	mock_ring(&m, 1);
	mock_run(&m, 100);
	tap_ok(mock_message(&m, &msg) && msg.status == NPU_FW_BAD_JOB &&
	       msg.arg == offsetof(struct npu_fw_job, notify),
	       "to which a mark is a reserved word that is not zero");
}

int main(void)
{
	test_places();
	test_quiet();
	mock_fini(&m);
	return tap_done();
}
