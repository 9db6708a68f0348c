// SPDX-License-Identifier: GPL-2.0-only
/* Cancel of one job: it ends, in its turn; all others of its queue are done, and right. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_test.h"

#define WAIT	60
#define JOBS	8u
#define THREADS	4u
#define ROUNDS	250u		/* of a thread, a cancel each */

/* A job of the engine's that takes long for the guest's processor, too. */
#define SLOW		(16u << 20)
#define SLOW_TIMES	16u
#define NPU_VA_SLOW	0x80000000ull

FIXTURE(cancel) {
	struct npu_dev dev;
	struct npu_buf in, out, slow;
};

FIXTURE_SETUP(cancel)
{
	int ret = npu_dev_open(&self->dev), fd = self->dev.fd;
	uint32_t i;

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_buf_create(fd, NPU_PAGE, 0, 0, &self->in));
	ASSERT_EQ(0, npu_buf_create(fd, (THREADS + 1) * JOBS * NPU_PAGE, 0, 0, &self->out));
	ASSERT_EQ(0, npu_buf_create(fd, 2 * SLOW, 0, 0, &self->slow));
	ASSERT_EQ(0, npu_bind(fd, self->dev.vm, self->in.handle, 0, NPU_VA_IN, NPU_PAGE,
			      DRM_NPU_VM_BIND_OP_READONLY));
	ASSERT_EQ(0, npu_bind(fd, self->dev.vm, self->out.handle, 0, NPU_VA_OUT, self->out.size,
			      0));
	ASSERT_EQ(0, npu_bind(fd, self->dev.vm, self->slow.handle, 0, NPU_VA_SLOW, 2 * SLOW, 0));
	for (i = 0; i < NPU_PAGE; i++)
		self->in.cpu[i] = i * 7 + 1;
}

FIXTURE_TEARDOWN(cancel)
{
	npu_buf_destroy(self->dev.fd, &self->in);
	npu_buf_destroy(self->dev.fd, &self->out);
	npu_buf_destroy(self->dev.fd, &self->slow);
	npu_dev_close(&self->dev);
}

/* What a test submits together; job 0 may be the slow one. */
struct batch {
	struct drm_npu_job jobs[JOBS + 1];
	struct drm_npu_region regions[JOBS + 1][2];
	struct drm_npu_sync_op syncs[JOBS + 1];
};

static int batch_create(int fd, struct batch *batch)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i <= JOBS && !ret; i++) {
		batch->syncs[i] = (struct drm_npu_sync_op) { .flags = DRM_NPU_SYNC_OP_SIGNAL };
		ret = npu_syncobj_create(fd, &batch->syncs[i].handle);
	}
	return ret;
}

static void batch_destroy(int fd, struct batch *batch)
{
	uint32_t i;

	for (i = 0; i <= JOBS; i++)
		npu_syncobj_destroy(fd, batch->syncs[i].handle);
}

/* Job i copies to page @first + i - 1 of out. */
static void batch_fill(struct npu_dev *dev, struct batch *batch, uint32_t first)
{
	struct npu_copy copy = {
		.in = NPU_VA_SLOW, .out = NPU_VA_SLOW + SLOW, .size = SLOW, .times = SLOW_TIMES,
	};
	uint32_t i;

	for (i = 0; i <= JOBS; i++) {
		npu_copy_job(dev, &copy, batch->regions[i], &batch->jobs[i]);
		batch->jobs[i].syncs = (struct drm_npu_obj_array)
			DRM_NPU_OBJ_ARRAY(1, &batch->syncs[i]);
		copy = (struct npu_copy) {
			.in = NPU_VA_IN, .out = NPU_VA_OUT + (first + i) * NPU_PAGE,
			.size = NPU_PAGE, .slot = 1,
		};
	}
}

/* When it has signalled: 1, or the error. */
static int batch_status(int fd, struct batch *batch, uint32_t i)
{
	int ret = npu_syncobj_wait(fd, batch->syncs[i].handle, 0, WAIT);

	return ret ? ret : npu_syncobj_status(fd, batch->syncs[i].handle);
}

static void check_result(struct __test_metadata *_metadata, FIXTURE_DATA(cancel) *self,
			 struct batch *batch, uint32_t i, bool cancelled)
{
	const uint8_t *page = self->out.cpu + (i - 1) * NPU_PAGE;
	struct drm_npu_job_get_result result;
	uint32_t k, written = 0;

	EXPECT_EQ(cancelled ? -ECANCELED : 1, batch_status(self->dev.fd, batch, i))
		TH_LOG("job %u", i);
	ASSERT_EQ(0, npu_job_result(self->dev.fd, self->dev.queue, batch->jobs[i].id, &result));
	EXPECT_EQ(cancelled ? DRM_NPU_JOB_CANCELED : DRM_NPU_JOB_DONE, result.status);
	if (!i)
		return;
	for (k = 0; k < NPU_PAGE; k++)
		written += page[k] != 0;
	if (cancelled) {
		EXPECT_EQ(0, result.started_ns);
		EXPECT_EQ(0, written) TH_LOG("job %u has run", i);
	} else {
		EXPECT_EQ(0, memcmp(self->in.cpu, page, NPU_PAGE)) TH_LOG("job %u", i);
	}
}

/*
 * Submits the batch behind more slow jobs and cancels those of @mask. Returns 0 when job 0 had not
 * ended before, -EAGAIN when it had.
 */
static int submit_and_cancel(struct npu_dev *dev, struct batch *batch, uint32_t mask, uint32_t more)
{
	struct drm_npu_job slow = batch->jobs[0];
	uint32_t i;
	int ret = 0;

	slow.syncs.count = 0;
	for (i = 0; i < more && !ret; i++)
		ret = npu_submit_jobs(dev->fd, dev->queue, &slow, 1, NULL);
	if (!ret)
		ret = npu_submit_jobs(dev->fd, dev->queue, batch->jobs, JOBS + 1, NULL);
	for (i = JOBS; i > 0 && !ret; i--) {
		if (mask & 1u << i)
			ret = npu_job_cancel(dev->fd, dev->queue, batch->jobs[i].id);
	}
	if (!ret && mask & 1)
		ret = npu_job_cancel(dev->fd, dev->queue, batch->jobs[0].id);
	else if (!ret && npu_syncobj_wait(dev->fd, batch->syncs[0].handle, 0, 0) != -ETIME)
		return -EAGAIN;
	if (!ret && mask & 1 && batch_status(dev->fd, batch, 0) == 1)
		return -EAGAIN;
	return ret;
}

/* Bit i of @mask: job i is cancelled while job 0, the slow one, runs. */
static void cancel_some(struct __test_metadata *_metadata, FIXTURE_DATA(cancel) *self,
			uint32_t mask)
{
	struct drm_npu_queue_get_state state;
	struct batch batch;
	uint32_t i, tries;
	int ret = -EAGAIN;

	/* How long the engine takes, and the guest, depends on what else the host does. */
	for (tries = 0; ret == -EAGAIN && tries < 6; tries++) {
		if (tries)
			batch_destroy(self->dev.fd, &batch);
		ASSERT_EQ(0, batch_create(self->dev.fd, &batch));
		batch_fill(&self->dev, &batch, 0);
		memset(self->out.cpu, 0, self->out.size);
		ret = submit_and_cancel(&self->dev, &batch, mask, (1u << tries) - 1);
		ASSERT_EQ(0, npu_syncobj_wait(self->dev.fd, batch.syncs[JOBS].handle, 0, WAIT));
	}
	ASSERT_EQ(0, ret);
	for (i = 0; i <= JOBS; i++)
		check_result(_metadata, self, &batch, i, mask & 1u << i);
	ASSERT_EQ(0, npu_queue_state(self->dev.fd, self->dev.queue, &state));
	EXPECT_EQ(0, state.state);
	EXPECT_EQ(batch.jobs[JOBS].id, state.completed);
	batch_destroy(self->dev.fd, &batch);
}

TEST_F_TIMEOUT(cancel, first, 120)
{
	cancel_some(_metadata, self, 1u << 1);
}

TEST_F_TIMEOUT(cancel, middle, 120)
{
	cancel_some(_metadata, self, 1u << 4);
}

TEST_F_TIMEOUT(cancel, last, 120)
{
	cancel_some(_metadata, self, 1u << JOBS);
}

TEST_F_TIMEOUT(cancel, the_running_one, 120)
{
	cancel_some(_metadata, self, 1u << 0);
}

TEST_F_TIMEOUT(cancel, several, 120)
{
	cancel_some(_metadata, self, 1u << 0 | 1u << 1 | 1u << 4 | 1u << 5 | 1u << JOBS);
	cancel_some(_metadata, self, (1u << (JOBS + 1)) - 2);
	cancel_some(_metadata, self, (1u << (JOBS + 1)) - 1);
}

/* More of them than the ring has entries. */
TEST_F_TIMEOUT(cancel, behind_the_ring, 120)
{
	uint32_t queue = self->dev.queue;

	ASSERT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, DRM_NPU_PRIORITY_NORMAL, 2,
				      &self->dev.queue));
	cancel_some(_metadata, self, 1u << 1 | 1u << 2 | 1u << 5 | 1u << JOBS);
	cancel_some(_metadata, self, (1u << (JOBS + 1)) - 1);
	ASSERT_EQ(0, npu_queue_destroy(self->dev.fd, self->dev.queue));
	self->dev.queue = queue;
}

/* A job that waits for another queue ends behind what it waits for. */
TEST_F_TIMEOUT(cancel, while_it_waits, 120)
{
	struct drm_npu_sync_op syncs[2];
	struct batch batch;
	uint32_t queue;

	ASSERT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, DRM_NPU_PRIORITY_NORMAL, 0,
				      &queue));
	memset(self->out.cpu, 0, self->out.size);
	ASSERT_EQ(0, batch_create(self->dev.fd, &batch));
	batch_fill(&self->dev, &batch, 0);
	ASSERT_EQ(0, npu_submit_jobs(self->dev.fd, queue, batch.jobs, 1, NULL));
	syncs[0] = batch.syncs[1];
	syncs[1] = (struct drm_npu_sync_op) {
		.flags = DRM_NPU_SYNC_OP_WAIT, .handle = batch.syncs[0].handle,
	};
	batch.jobs[1].syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(2, syncs);
	ASSERT_EQ(0, npu_submit_jobs(self->dev.fd, self->dev.queue, &batch.jobs[1], 2, NULL));
	ASSERT_EQ(0, npu_job_cancel(self->dev.fd, self->dev.queue, batch.jobs[1].id));
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->dev.fd, batch.syncs[1].handle, 0, 0));
	check_result(_metadata, self, &batch, 1, true);
	check_result(_metadata, self, &batch, 2, false);
	EXPECT_EQ(1, npu_syncobj_status(self->dev.fd, batch.syncs[0].handle));
	batch_destroy(self->dev.fd, &batch);
}

TEST_F_TIMEOUT(cancel, what_can_not_be, 120)
{
	struct npu_copy copy = { .in = NPU_VA_IN, .out = NPU_VA_OUT, .size = NPU_PAGE };
	struct drm_npu_job_get_result result;
	int fd = self->dev.fd, other;
	uint32_t sync;
	uint64_t id;

	ASSERT_EQ(0, npu_syncobj_create(fd, &sync));
	EXPECT_EQ(-ENOENT, npu_job_cancel(fd, self->dev.queue, 0));
	EXPECT_EQ(-ENOENT, npu_job_cancel(fd, self->dev.queue, 1));
	ASSERT_EQ(0, npu_copy_submit(&self->dev, &copy, sync, &id));
	ASSERT_EQ(0, npu_syncobj_wait(fd, sync, 0, WAIT));
	EXPECT_EQ(0, npu_job_cancel(fd, self->dev.queue, id));
	EXPECT_EQ(-ENOENT, npu_job_cancel(fd, self->dev.queue, id + 1));
	EXPECT_EQ(-ENOENT, npu_job_cancel(fd, self->dev.queue, ~0ull));
	EXPECT_EQ(-ENOENT, npu_job_cancel(fd, self->dev.queue + 1000, id));
	ASSERT_EQ(0, npu_job_result(fd, self->dev.queue, id, &result));
	EXPECT_EQ(DRM_NPU_JOB_DONE, result.status);
	other = npu_open();
	ASSERT_LE(0, other);
	EXPECT_EQ(-ENOENT, npu_job_cancel(other, self->dev.queue, id));
	close(other);
	/* The one that was not there when it was named is not meant. */
	EXPECT_EQ(0, npu_copy_run(&self->dev, &copy, WAIT));
}

struct thread {
	pthread_t id;
	struct npu_dev *dev;
	const struct npu_buf *in, *out;
	uint32_t seed, index, done, cancelled, bad;
};

static uint32_t below(struct thread *t, uint32_t n)
{
	t->seed = t->seed * 1664525u + 1013904223u;
	return (t->seed >> 8) % n;
}

static void one_round(struct thread *t, struct batch *batch)
{
	uint32_t first = t->index * JOBS, victim = 1 + below(t, JOBS), i;
	int status;

	for (i = 0; i < JOBS; i++)
		memset(t->out->cpu + (first + i) * NPU_PAGE, 0, 64);
	if (npu_submit_jobs(t->dev->fd, t->dev->queue, &batch->jobs[1], JOBS, NULL)) {
		t->bad++;
		return;
	}
	if (!below(t, 3))
		usleep(below(t, 1000));
	t->bad += npu_job_cancel(t->dev->fd, t->dev->queue, batch->jobs[victim].id) != 0;
	for (i = 1; i <= JOBS; i++) {
		status = batch_status(t->dev->fd, batch, i);
		if (status == -ECANCELED && i == victim)
			t->cancelled++;
		else if (status == 1 &&
			 !memcmp(t->in->cpu, t->out->cpu + (first + i - 1) * NPU_PAGE, 64))
			t->done++;
		else
			t->bad++;
	}
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	struct batch batch;
	uint32_t i;

	if (batch_create(t->dev->fd, &batch)) {
		t->bad++;
		return NULL;
	}
	batch_fill(t->dev, &batch, t->index * JOBS);
	for (i = 0; i < ROUNDS && !t->bad; i++)
		one_round(t, &batch);
	batch_destroy(t->dev->fd, &batch);
	return NULL;
}

/* One queue for all: each cancels a job of its own among those of the others. */
TEST_F_TIMEOUT(cancel, from_threads, 600)
{
	uint32_t done = 0, cancelled = 0, i;
	struct thread t[THREADS];
	struct batch batch;

	/* The streams are there before a job may be reading them. */
	batch_fill(&self->dev, &batch, 0);
	for (i = 0; i < THREADS; i++) {
		t[i] = (struct thread) { .dev = &self->dev, .in = &self->in, .out = &self->out,
					 .seed = i + 1, .index = i };
		ASSERT_EQ(0, pthread_create(&t[i].id, NULL, thread_main, &t[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i].id, NULL);
		done += t[i].done;
		cancelled += t[i].cancelled;
		EXPECT_EQ(0, t[i].bad);
	}
	TH_LOG("%u jobs done, %u cancelled", done, cancelled);
	EXPECT_EQ(THREADS * ROUNDS * JOBS, done + cancelled);
	EXPECT_LT(0, cancelled);
}

TEST_HARNESS_MAIN
