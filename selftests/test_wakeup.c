// SPDX-License-Identifier: GPL-2.0-only
/*
 * Doorbells are left out while the firmware looks at a queue anyway, and interrupts while nobody
 * waits: no job and nobody who waits is left to the driver's clock, whatever comes when. The clock
 * looks so seldom here that it would be noticed.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"

#define SIZE		64u

/* Of the driver's clock; and what no wait takes, on a machine that has other things to do. */
#define LOOK_MS		"40000"
#define LATE		12.0

#define THREADS		4u
#define SYNCS		8u
#define ROUNDS		400u
#define DEPTH		8u		/* of the queue that all threads use */
#define MAX_PAUSE_US	200u
#define SWEEPS		4u

FIXTURE(wakeup) {
	struct npu_dev dev;
	char pci[NPU_SYS_NAME];
	struct npu_copy copy;
	uint32_t shared;		/* queue */
	int64_t jobs, bells, irqs;	/* when it began */
};

static int64_t counter(FIXTURE_DATA(wakeup) *self, const char *name)
{
	return npu_sys_debugfs_number(self->pci, "counters", name);
}

FIXTURE_SETUP(wakeup)
{
	int ret = npu_dev_open_paged(&self->dev, &self->copy);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_sys_pci(self->dev.fd, self->pci));
	if (npu_sys_debugfs_write(self->pci, "look_ms", LOOK_MS))
		SKIP(return, "no debugfs");
	ASSERT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, DRM_NPU_PRIORITY_NORMAL, DEPTH,
				      &self->shared));
	self->copy.size = SIZE;
	/* The stream is written now, and not while jobs may be reading it. */
	ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, 60));
	self->jobs = npu_sys_debugfs_number(self->pci, "fw_info", "jobs-started");
	self->bells = counter(self, "doorbells");
	self->irqs = counter(self, "irqs");
	ASSERT_LT(0, self->jobs);
}

FIXTURE_TEARDOWN(wakeup)
{
	npu_sys_debugfs_write(self->pci, "look_ms", "250");
	npu_dev_close(&self->dev);
}

/*
 * What it is about did happen: interrupts were left out. Whether a doorbell can be depends on who
 * has the processors.
 */
static void expect_quiet(struct __test_metadata *_metadata, FIXTURE_DATA(wakeup) *self)
{
	int64_t jobs = npu_sys_debugfs_number(self->pci, "fw_info", "jobs-started") - self->jobs;
	int64_t bells = counter(self, "doorbells") - self->bells;
	int64_t irqs = counter(self, "irqs") - self->irqs;

	TH_LOG("%lld jobs, %lld doorbells, %lld interrupts", (long long)jobs, (long long)bells,
	       (long long)irqs);
	EXPECT_LE(bells, jobs);
	EXPECT_LT(irqs, jobs);
	EXPECT_LT(0, irqs);
}

static void spin(unsigned int us)
{
	uint64_t end = npu_now_ns() + us * 1000ull;

	while (npu_now_ns() < end)
		;
}

static int submit(FIXTURE_DATA(wakeup) *self, uint32_t queue, uint32_t sync)
{
	struct drm_npu_sync_op op = { .flags = DRM_NPU_SYNC_OP_SIGNAL, .handle = sync };
	struct drm_npu_region regions[2];
	struct drm_npu_job job;

	npu_copy_job(&self->dev, &self->copy, regions, &job);
	job.syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &op);
	return npu_submit_jobs(self->dev.fd, queue, &job, 1, NULL);
}

/* Until a fence has signalled, in one of the ways there are; 0, or -ETIME when it is late. */
static int wait_some_way(int fd, uint32_t sync, unsigned int way)
{
	struct pollfd p = { .events = POLLIN };
	uint64_t end = npu_now_ns() + LATE * 1e9;
	int ret;

	switch (way % 3) {
	case 0:
		return npu_syncobj_wait(fd, sync, 0, LATE);
	case 1:
		/* Who only looks is told, too. */
		do {
			ret = npu_syncobj_wait(fd, sync, 0, 0);
		} while (ret == -ETIME && npu_now_ns() < end);
		return ret;
	default:
		ret = npu_syncobj_fence(fd, sync, &p.fd);
		if (ret)
			return ret;
		ret = poll(&p, 1, LATE * 1000) == 1 ? 0 : -ETIME;
		close(p.fd);
		return ret;
	}
}

/*
 * A job, another one behind it, and the wait: with pauses in between that put each of them before,
 * into and behind what the firmware does at the end of the first one.
 */
TEST_F_TIMEOUT(wakeup, at_every_moment, 300)
{
	uint32_t sync[2], i, pause, second;
	int fd = self->dev.fd, ret;

	ASSERT_EQ(0, npu_syncobj_create(fd, &sync[0]));
	ASSERT_EQ(0, npu_syncobj_create(fd, &sync[1]));
	for (i = 0; i < SWEEPS * MAX_PAUSE_US; i++) {
		pause = i % MAX_PAUSE_US;
		second = i / MAX_PAUSE_US % 2;
		ASSERT_EQ(0, submit(self, self->dev.queue, sync[0]));
		spin(pause);
		if (second)
			ASSERT_EQ(0, submit(self, self->dev.queue, sync[1]));
		ret = wait_some_way(fd, sync[second], i);
		ASSERT_EQ(0, ret) TH_LOG("%u us behind the first job, %s", pause,
					 second ? "a second one" : "a wait");
	}
	expect_quiet(_metadata, self);
}

struct thread {
	FIXTURE_DATA(wakeup) *self;
	pthread_t id;
	unsigned int seed;
	uint32_t queue, sync[SYNCS];
	uint64_t worst;
	int bad;
};

static void pause_some(struct thread *t)
{
	switch (rand_r(&t->seed) % 4) {
	case 0:
		spin(rand_r(&t->seed) % MAX_PAUSE_US);
		break;
	case 1:
		usleep(rand_r(&t->seed) % MAX_PAUSE_US);
		break;
	default:
		break;
	}
}

/* One to all of its fences anew, and a wait for one of them, or none. */
static int round_of(struct thread *t)
{
	unsigned int num = 1 + rand_r(&t->seed) % SYNCS, i;
	uint64_t start;
	int ret = 0;

	for (i = 0; i < num && !ret; i++) {
		ret = submit(t->self, rand_r(&t->seed) % 2 ? t->queue : t->self->shared,
			     t->sync[i]);
		pause_some(t);
	}
	if (ret || !(rand_r(&t->seed) % 4))
		return ret;
	start = npu_now_ns();
	ret = wait_some_way(t->self->dev.fd, t->sync[rand_r(&t->seed) % num], rand_r(&t->seed));
	if (npu_now_ns() - start > t->worst)
		t->worst = npu_now_ns() - start;
	return ret;
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	unsigned int i, rounds = npu_sys_long() ? 20 * ROUNDS : ROUNDS;

	for (i = 0; i < rounds && !t->bad; i++)
		t->bad = round_of(t);
	for (i = 0; i < SYNCS && !t->bad; i++)
		t->bad = npu_syncobj_wait(t->self->dev.fd, t->sync[i], 0, LATE);
	return NULL;
}

static int thread_init(struct thread *t, FIXTURE_DATA(wakeup) *self, unsigned int index)
{
	int ret = npu_queue_create(self->dev.fd, self->dev.vm, DRM_NPU_PRIORITY_NORMAL, 0,
				   &t->queue);
	unsigned int i;

	t->self = self;
	t->seed = index + 1;
	for (i = 0; i < SYNCS && !ret; i++) {
		ret = npu_syncobj_create(self->dev.fd, &t->sync[i]);
		/* There is something in each of them from the start. */
		if (!ret)
			ret = submit(self, t->queue, t->sync[i]);
	}
	return ret;
}

TEST_F_TIMEOUT(wakeup, threads, 600)
{
	struct thread t[THREADS] = {};
	uint64_t worst = 0;
	unsigned int i;
	int bad = 0;

	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, thread_init(&t[i], self, i));
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&t[i].id, NULL, thread_main, &t[i]));
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i].id, NULL);
	for (i = 0; i < THREADS; i++) {
		bad = bad ? bad : t[i].bad;
		worst = t[i].worst > worst ? t[i].worst : worst;
	}
	TH_LOG("longest wait %.0f ms", worst / 1e6);
	EXPECT_EQ(0, bad);
	expect_quiet(_metadata, self);
}

/* More than the ring holds, and nobody waits but for the last one: the ring is fed nevertheless. */
TEST_F_TIMEOUT(wakeup, a_full_ring_goes_on, 120)
{
	struct drm_npu_sync_op op = { .flags = DRM_NPU_SYNC_OP_SIGNAL };
	const uint32_t count = 16 * DEPTH;
	struct drm_npu_region regions[2];
	struct drm_npu_job jobs[16 * DEPTH];
	uint32_t i;

	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &op.handle));
	for (i = 0; i < count; i++)
		npu_copy_job(&self->dev, &self->copy, regions, &jobs[i]);
	jobs[count - 1].syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &op);
	ASSERT_EQ(0, npu_submit_jobs(self->dev.fd, self->shared, jobs, count, NULL));
	EXPECT_EQ(0, npu_syncobj_wait(self->dev.fd, op.handle, 0, LATE));
	expect_quiet(_metadata, self);
}

/* Who asks for results, and never waits, gets them. */
TEST_F_TIMEOUT(wakeup, results_without_a_wait, 120)
{
	struct drm_npu_job_get_result result;
	uint64_t end = npu_now_ns() + LATE * 1e9, id;

	ASSERT_EQ(0, npu_copy_submit(&self->dev, &self->copy, 0, &id));
	do {
		ASSERT_EQ(0, npu_job_result(self->dev.fd, self->dev.queue, id, &result));
	} while (result.status == DRM_NPU_JOB_PENDING && npu_now_ns() < end);
	EXPECT_EQ(DRM_NPU_JOB_DONE, result.status);
}

TEST_HARNESS_MAIN
