// SPDX-License-Identifier: GPL-2.0-only
/*
 * The order in which queues of different priority are served, by the times that the device gives to
 * their jobs. tests/guest/in/firmware.sh runs it with a firmware that has the order reversed.
 */
#include <errno.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_test.h"

#define WAIT	60
#define SIZE	0x100000u
#define QUEUES	3u
#define JOBS	32u
#define ALL	(QUEUES * JOBS)

/* Who submits may have been kept from it so long that there is nothing left to compare. */
#define TRIES	20u

/* Queues of one priority, and when their jobs ran. */
struct group {
	uint32_t priority;
	uint32_t queue[QUEUES];
	uint64_t started[ALL], ended[ALL];
};

FIXTURE(priority) {
	struct npu_dev dev;
	struct npu_buf in, out;
	struct npu_copy copy;
};

FIXTURE_SETUP(priority)
{
	int ret = npu_dev_open(&self->dev);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, SIZE, 0, 0, &self->in));
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, SIZE, 0, 0, &self->out));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, self->in.handle, 0, NPU_VA_IN, SIZE, 0));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, self->out.handle, 0, NPU_VA_OUT, SIZE,
			      0));
	self->copy = (struct npu_copy) {
		.in = NPU_VA_IN, .out = NPU_VA_OUT, .size = SIZE, .times = 8,
	};
}

FIXTURE_TEARDOWN(priority)
{
	npu_buf_destroy(self->dev.fd, &self->in);
	npu_buf_destroy(self->dev.fd, &self->out);
	npu_dev_close(&self->dev);
}

/* All jobs of a queue in one call; the last one signals @done. */
static int submit_queue(struct npu_dev *dev, const struct npu_copy *copy, uint32_t queue,
			uint32_t done)
{
	struct drm_npu_sync_op last = { .flags = DRM_NPU_SYNC_OP_SIGNAL, .handle = done };
	struct drm_npu_region regions[2];
	struct drm_npu_job jobs[JOBS];
	uint32_t i;

	for (i = 0; i < JOBS; i++)
		npu_copy_job(dev, copy, regions, &jobs[i]);
	jobs[JOBS - 1].syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &last);
	return npu_submit_jobs(dev->fd, queue, jobs, JOBS, NULL);
}

/* The time of the device, as of started and ended of jobs. */
static uint64_t device_ns(int fd)
{
	struct drm_npu_timestamp_info info = {};
	struct drm_npu_dev_query args = {
		.type = DRM_NPU_DEV_QUERY_TIMESTAMP, .size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};

	return npu_ioctl(fd, DRM_IOCTL_NPU_DEV_QUERY, &args) ? 0 : info.device;
}

/* Returns when all of them were there. */
static uint64_t run_groups(struct __test_metadata *_metadata, struct npu_dev *dev,
			   const struct npu_copy *copy, struct group *groups)
{
	uint32_t done[2 * QUEUES], i;
	uint64_t there;

	for (i = 0; i < 2 * QUEUES; i++) {
		ASSERT_EQ(0, npu_syncobj_create(dev->fd, &done[i]));
		ASSERT_EQ(0, npu_queue_create(dev->fd, dev->vm, groups[i / QUEUES].priority, 0,
					      &groups[i / QUEUES].queue[i % QUEUES]));
	}
	for (i = 0; i < 2 * QUEUES; i++)
		ASSERT_EQ(0, submit_queue(dev, copy, groups[i / QUEUES].queue[i % QUEUES],
					  done[i]));
	there = device_ns(dev->fd);
	for (i = 0; i < 2 * QUEUES; i++) {
		ASSERT_EQ(0, npu_syncobj_wait(dev->fd, done[i], 0, WAIT));
		npu_syncobj_destroy(dev->fd, done[i]);
	}
	return there;
}

static void take_times(struct __test_metadata *_metadata, struct npu_dev *dev, struct group *group)
{
	struct drm_npu_job_get_result result;
	uint32_t i;

	for (i = 0; i < ALL; i++) {
		ASSERT_EQ(0, npu_job_result(dev->fd, group->queue[i / JOBS], i % JOBS + 1,
					    &result));
		ASSERT_EQ(DRM_NPU_JOB_DONE, result.status);
		group->started[i] = result.started_ns;
		group->ended[i] = result.ended_ns;
	}
	for (i = 0; i < QUEUES; i++)
		ASSERT_EQ(0, npu_queue_destroy(dev->fd, group->queue[i]));
}

/*
 * Of the jobs that were waiting when all were there hardly one of the other group starts before the
 * last one of this group has ended; and of both there were enough.
 */
static bool comes_first(const struct group *group, const struct group *other, uint64_t there)
{
	uint32_t i, waiting = 0, rest = 0, between = 0;
	uint64_t end = 0;

	for (i = 0; i < ALL; i++) {
		waiting += group->started[i] > there;
		rest += other->started[i] > there;
		if (group->ended[i] > end)
			end = group->ended[i];
	}
	for (i = 0; i < ALL; i++)
		between += other->started[i] > there && other->started[i] < end;
	return waiting >= ALL / 4 && rest >= ALL / 4 && between <= rest / 10 + 1;
}

/* Submitted in the order of the arguments: the priority that came first, -1: neither did. */
static int first_of(struct __test_metadata *_metadata, FIXTURE_DATA(priority) *self,
		    uint32_t first, uint32_t second)
{
	struct group groups[2] = { { .priority = first }, { .priority = second } };
	uint64_t there;
	uint32_t i, g;

	for (i = 0; i < TRIES; i++) {
		there = run_groups(_metadata, &self->dev, &self->copy, groups);
		for (g = 0; g < 2; g++)
			take_times(_metadata, &self->dev, &groups[g]);
		for (g = 0; g < 2; g++)
			if (comes_first(&groups[g], &groups[!g], there))
				return groups[g].priority;
	}
	return -1;
}

/* 45: whoever was there first. */
TEST_F_TIMEOUT(priority, high_ones_come_before_low_ones, 120)
{
	static const uint32_t orders[2][2] = {
		{ DRM_NPU_PRIORITY_LOW, DRM_NPU_PRIORITY_HIGH },
		{ DRM_NPU_PRIORITY_HIGH, DRM_NPU_PRIORITY_LOW },
	};
	uint32_t i;
	int got;

	for (i = 0; i < 2; i++) {
		got = first_of(_metadata, self, orders[i][0], orders[i][1]);
		TH_LOG("the first ones had priority %d", got);
		EXPECT_EQ(DRM_NPU_PRIORITY_HIGH, got);
	}
}

TEST_HARNESS_MAIN
