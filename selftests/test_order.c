// SPDX-License-Identifier: GPL-2.0-only
/*
 * Order: jobs of one queue run one behind the other, as SUBMIT took them, whether they wait for
 * fences or not, however many threads submit, and whatever is cancelled, reset or closed meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"

#define WAIT		60
#define THREADS		4u
#define CALLS		4u		/* of a thread, in a round */
#define MAX_JOBS	4u		/* of a call */
#define ROUND_JOBS	(THREADS * CALLS * MAX_JOBS)
#define ROUNDS		40u
#define DEPTH		8u		/* less than there are jobs */

/* What a job of the other queue copies, so that it takes a while. */
#define SLOW		(256 * NPU_PAGE)
#define NPU_VA_SLOW	0x80000000ull

#define MAY_CANCEL	1u
#define MAY_LOSE	2u		/* there are resets */

/* Page i of in is full of i + 1; all jobs of a round write to the one page of out. */
FIXTURE(order) {
	struct npu_dev dev;
	struct npu_buf in, out, slow;
	uint32_t other;			/* queue */
	uint64_t first;			/* job of the round */
	uint32_t tag[ROUND_JOBS];	/* page that the job copies, by number in the round */
	bool cancelled[ROUND_JOBS];
};

FIXTURE_SETUP(order)
{
	int ret = npu_dev_open(&self->dev), fd = self->dev.fd;
	uint32_t i;

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_queue_destroy(fd, self->dev.queue));
	ASSERT_EQ(0, npu_queue_create(fd, self->dev.vm, DRM_NPU_PRIORITY_NORMAL, DEPTH,
				      &self->dev.queue));
	ASSERT_EQ(0, npu_queue_create(fd, self->dev.vm, DRM_NPU_PRIORITY_NORMAL, 0, &self->other));
	ASSERT_EQ(0, npu_buf_create(fd, ROUND_JOBS * NPU_PAGE, 0, 0, &self->in));
	ASSERT_EQ(0, npu_buf_create(fd, NPU_PAGE, 0, 0, &self->out));
	ASSERT_EQ(0, npu_buf_create(fd, 2 * SLOW, 0, 0, &self->slow));
	ASSERT_EQ(0, npu_bind(fd, self->dev.vm, self->in.handle, 0, NPU_VA_IN, self->in.size,
			      DRM_NPU_VM_BIND_OP_READONLY));
	ASSERT_EQ(0, npu_bind(fd, self->dev.vm, self->out.handle, 0, NPU_VA_OUT, NPU_PAGE, 0));
	ASSERT_EQ(0, npu_bind(fd, self->dev.vm, self->slow.handle, 0, NPU_VA_SLOW, 2 * SLOW, 0));
	for (i = 0; i < ROUND_JOBS; i++)
		memset(self->in.cpu + i * NPU_PAGE, i + 1, NPU_PAGE);
}

FIXTURE_TEARDOWN(order)
{
	npu_buf_destroy(self->dev.fd, &self->in);
	npu_buf_destroy(self->dev.fd, &self->out);
	npu_buf_destroy(self->dev.fd, &self->slow);
	npu_dev_close(&self->dev);
}

struct thread {
	FIXTURE_DATA(order) *self;
	pthread_t id;
	uint32_t index, may;
	unsigned int seed;
	uint32_t wait, last;		/* syncobjs */
	uint64_t waits, bad;
};

static void slow_job(struct npu_dev *dev, uint32_t times, struct drm_npu_region regions[2],
		     struct drm_npu_job *job)
{
	struct npu_copy copy = {
		.in = NPU_VA_SLOW, .out = NPU_VA_SLOW + SLOW, .size = SLOW, .times = times,
		.slot = times,
	};

	npu_copy_job(dev, &copy, regions, job);
}

/* Of the streams each page is written once, before jobs may be reading it. */
static void write_streams(struct npu_dev *dev)
{
	struct npu_copy copy = { .in = NPU_VA_IN, .out = NPU_VA_OUT, .size = NPU_PAGE };
	struct drm_npu_region regions[2];
	struct drm_npu_job job;

	npu_copy_job(dev, &copy, regions, &job);
	slow_job(dev, 1, regions, &job);
	slow_job(dev, 8, regions, &job);
}

/* A job of the other queue is on its way, or just at its end, when SUBMIT looks at its fence. */
static int submit_other(struct thread *t)
{
	struct drm_npu_sync_op sync = { .flags = DRM_NPU_SYNC_OP_SIGNAL, .handle = t->wait };
	struct drm_npu_region regions[2];
	struct drm_npu_job job;

	slow_job(&t->self->dev, rand_r(&t->seed) % 4 ? 1 : 8, regions, &job);
	job.syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &sync);
	return npu_submit_jobs(t->self->dev.fd, t->self->other, &job, 1, NULL);
}

/* A call: some of its jobs wait. */
static int submit_some(struct thread *t, uint32_t page, uint32_t count)
{
	FIXTURE_DATA(order) *self = t->self;
	struct drm_npu_sync_op sync[MAX_JOBS][2];
	struct drm_npu_region regions[MAX_JOBS][2];
	struct drm_npu_job jobs[MAX_JOBS];
	uint32_t i, victim = MAX_JOBS, num;
	int ret = submit_other(t);

	for (i = 0; i < count; i++) {
		struct npu_copy copy = {
			.in = NPU_VA_IN + (page + i) * NPU_PAGE, .out = NPU_VA_OUT,
			.size = NPU_PAGE,
		};

		npu_copy_job(&self->dev, &copy, regions[i], &jobs[i]);
		num = rand_r(&t->seed) % 3 == 0;
		t->waits += num;
		sync[i][0] = (struct drm_npu_sync_op) {
			.flags = DRM_NPU_SYNC_OP_WAIT, .handle = t->wait,
		};
		sync[i][num] = (struct drm_npu_sync_op) {
			.flags = DRM_NPU_SYNC_OP_SIGNAL, .handle = t->last,
		};
		jobs[i].syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(num + 1, sync[i]);
	}
	if (!ret)
		ret = npu_submit_jobs(self->dev.fd, self->dev.queue, jobs, count, NULL);
	if (ret)
		return ret;

	if (t->may & MAY_CANCEL && !(rand_r(&t->seed) % 2)) {
		victim = rand_r(&t->seed) % count;
		ret = npu_job_cancel(self->dev.fd, self->dev.queue, jobs[victim].id);
	}
	for (i = 0; i < count; i++) {
		self->tag[jobs[i].id - self->first] = page + i;
		self->cancelled[jobs[i].id - self->first] = i == victim;
	}
	return ret;
}

/* Each job has a page of its own. */
static void *thread_main(void *arg)
{
	struct thread *t = arg;
	uint32_t page = t->index * CALLS * MAX_JOBS, i, count;

	for (i = 0; i < CALLS && !t->bad; i++) {
		count = 1 + rand_r(&t->seed) % MAX_JOBS;
		t->bad += submit_some(t, page, count) != 0;
		page += count;
	}
	if (!t->bad)
		t->bad = npu_syncobj_wait(t->self->dev.fd, t->last, 0, WAIT) != 0;
	return NULL;
}

static int start_threads(FIXTURE_DATA(order) *self, struct thread t[THREADS], uint32_t may,
			 unsigned int seed)
{
	uint32_t i;
	int ret;

	for (i = 0; i < THREADS; i++) {
		t[i] = (struct thread) {
			.self = self, .index = i, .may = may, .seed = seed * THREADS + i,
		};
		ret = npu_syncobj_create(self->dev.fd, &t[i].wait);
		if (!ret)
			ret = npu_syncobj_create(self->dev.fd, &t[i].last);
		if (!ret)
			ret = -pthread_create(&t[i].id, NULL, thread_main, &t[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static uint64_t join_threads(FIXTURE_DATA(order) *self, struct thread t[THREADS], uint64_t *waits)
{
	uint64_t bad = 0;
	uint32_t i;

	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i].id, NULL);
		npu_syncobj_destroy(self->dev.fd, t[i].wait);
		npu_syncobj_destroy(self->dev.fd, t[i].last);
		bad += t[i].bad;
		*waits += t[i].waits;
	}
	return bad;
}

/* By the device's clock, and by what was written last. */
static void check_round(struct __test_metadata *_metadata, FIXTURE_DATA(order) *self, uint32_t may)
{
	struct drm_npu_job_get_result result;
	struct drm_npu_queue_get_state state;
	uint64_t end = 0, id;
	uint32_t last = 0, n;

	ASSERT_EQ(0, npu_queue_state(self->dev.fd, self->dev.queue, &state));
	EXPECT_EQ(state.submitted, state.completed);
	EXPECT_EQ(0, state.state & ~(may & MAY_LOSE ? DRM_NPU_QUEUE_STATE_INNOCENT : 0));
	for (id = self->first; id <= state.submitted; id++) {
		n = id - self->first;
		ASSERT_EQ(0, npu_job_result(self->dev.fd, self->dev.queue, id, &result));
		EXPECT_TRUE(result.status == DRM_NPU_JOB_DONE ||
			    (result.status == DRM_NPU_JOB_INNOCENT && may & MAY_LOSE) ||
			    (result.status == DRM_NPU_JOB_CANCELED && self->cancelled[n]))
			TH_LOG("job %u of the round ended with %u", n, result.status);
		last = n;
		if (!result.started_ns)
			continue;
		EXPECT_LE(end, result.started_ns) TH_LOG("job %u of the round", n);
		end = result.ended_ns;
	}
	/* One that was lost or cancelled may have written, too. */
	if (!may) {
		EXPECT_EQ(self->tag[last] + 1, self->out.cpu[0]);
		EXPECT_EQ(0, memcmp(self->out.cpu, self->in.cpu + self->tag[last] * NPU_PAGE,
				    NPU_PAGE));
	}
	self->first = state.submitted + 1;
}

static void run_rounds(struct __test_metadata *_metadata, FIXTURE_DATA(order) *self, uint32_t may,
		       const char *folder)
{
	struct thread t[THREADS];
	uint64_t waits = 0;
	uint32_t i;

	self->first = 1;
	write_streams(&self->dev);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, start_threads(self, t, may, i));
		if (folder)
			EXPECT_EQ(0, npu_write_file(folder, "force_reset", "1"));
		ASSERT_EQ(0, join_threads(self, t, &waits));
		check_round(_metadata, self, may);
	}
	TH_LOG("%llu jobs, %llu of them with a fence to wait for",
	       (unsigned long long)self->first - 1, (unsigned long long)waits);
	EXPECT_LT(0, waits);
}

TEST_F_TIMEOUT(order, threads, 300)
{
	run_rounds(_metadata, self, 0, NULL);
}

TEST_F_TIMEOUT(order, threads_that_cancel, 300)
{
	run_rounds(_metadata, self, MAY_CANCEL, NULL);
}

TEST_F_TIMEOUT(order, threads_and_resets, 300)
{
	char path[128], folder[192];

	npu_expect_log("npu");
	ASSERT_EQ(0, npu_pci_folder(self->dev.fd, path, sizeof(path)));
	snprintf(folder, sizeof(folder), "/sys/kernel/debug/accel/%s", strrchr(path, '/') + 1);
	if (access(folder, X_OK))
		SKIP(return, "no debugfs");
	run_rounds(_metadata, self, MAY_CANCEL | MAY_LOSE, folder);
}

/*
 * The interrupt, a cancel and recovery look at what the hardware has and will have: a program does
 * not make that as long as it likes. All jobs end, in order, nevertheless.
 */
TEST_F_TIMEOUT(order, many_jobs, 300)
{
	const uint32_t count = 128, calls = 24, most = 1024;
	struct drm_npu_sync_op sync = { .flags = DRM_NPU_SYNC_OP_SIGNAL };
	struct drm_npu_region regions[2], slow_regions[2];
	struct drm_npu_job jobs[128], slow;
	struct drm_npu_queue_get_state state;
	int fd = self->dev.fd, ret = 0;
	uint32_t i, tries, others;
	int64_t inflight = 0;

	if (npu_sys_counter(fd, "in-flight") < 0)
		SKIP(return, "no debugfs");
	ASSERT_EQ(0, npu_syncobj_create(fd, &sync.handle));
	slow_job(&self->dev, 16, slow_regions, &slow);
	for (i = 0; i < count; i++)
		npu_copy_job(&self->dev, &(struct npu_copy) {
			.in = NPU_VA_IN, .out = NPU_VA_OUT, .size = NPU_PAGE }, regions, &jobs[i]);

	/* How long the slow ones take depends on the host: more and more of them. */
	for (tries = 0, others = 16; tries < 4 && !ret; tries++, others *= 4) {
		for (i = 0; i < others; i++) {
			slow.syncs = (struct drm_npu_obj_array)
				DRM_NPU_OBJ_ARRAY(i == others - 1, &sync);
			ASSERT_EQ(0, npu_submit_jobs(fd, self->dev.queue, &slow, 1, NULL));
		}
		for (i = 0; i < calls; i++)
			ASSERT_EQ(0, npu_submit_jobs(fd, self->dev.queue, jobs, count, NULL));
		inflight = npu_sys_counter(fd, "in-flight");
		ret = npu_syncobj_wait(fd, sync.handle, 0, 0);
		EXPECT_LE(inflight, most);
		jobs[count - 1].syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &sync);
		ASSERT_EQ(0, npu_submit_jobs(fd, self->dev.queue, jobs, count, NULL));
		jobs[count - 1].syncs.count = 0;
		ASSERT_EQ(0, npu_syncobj_wait(fd, sync.handle, 0, WAIT));
	}
	EXPECT_EQ(-ETIME, ret) TH_LOG("the slow jobs ended too early");
	EXPECT_EQ(1, npu_syncobj_status(fd, sync.handle));
	TH_LOG("%lld of %u jobs were the hardware's", (long long)inflight, count * calls);
	ASSERT_EQ(0, npu_queue_state(fd, self->dev.queue, &state));
	EXPECT_EQ(state.submitted, state.completed);
	EXPECT_EQ(0, state.state);
}

TEST_HARNESS_MAIN
