// SPDX-License-Identifier: GPL-2.0-only
/*
 * More engines than one: jobs of different address spaces at the same time, and what becomes of one
 * engine's when another one's is cancelled, hangs, faults or is reset. tests/guest/test_engines.sh
 * runs it; a device with one engine skips it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"

#define SIZE		NPU_PAGE
#define WAIT		60
#define MAX_ENGINES	8u
#define USERS		3u

/* What the kernel may say while a fault is recovered from. */
#define LOG		"npu |firmware|queue|fatal|reset|device"

/* A slow job has 20 ms to an instruction: one to be there for all, one to outlive a recovery. */
#define SLOW_TIMES	200u
#define LONG_TIMES	400u

/* Users have a file and a VM each, in which the same addresses hold other bytes. */
FIXTURE(engines) {
	struct npu_dev user[USERS];
	struct npu_copy copy;
	uint32_t num;			/* of engines */
	int64_t engine_resets, device_resets;
};

static uint8_t *input_of(struct npu_dev *dev)
{
	return dev->stream.cpu + NPU_DATA_IN * NPU_PAGE;
}

static volatile uint8_t *output_of(struct npu_dev *dev)
{
	return dev->stream.cpu + NPU_DATA_OUT * NPU_PAGE;
}

FIXTURE_SETUP(engines)
{
	struct drm_npu_npu_info info;
	uint32_t i;
	int ret;

	for (i = 0; i < USERS; i++) {
		ret = npu_dev_open_paged(&self->user[i], &self->copy);
		if (ret == -ENODEV)
			SKIP(return, NPU_NO_DEVICE);
		ASSERT_EQ(0, ret);
		memset(input_of(&self->user[i]), i + 1, NPU_PAGE);
	}
	ASSERT_EQ(0, npu_npu_info(self->user[0].fd, &info));
	if (info.num_engines < 2)
		SKIP(return, "the device has one engine");
	if (npu_fault("disarm all"))
		SKIP(return, "there is no host that arms faults of the device");
	ASSERT_GE(MAX_ENGINES, info.num_engines);
	self->num = info.num_engines;
	self->engine_resets = npu_sys_counter(self->user[0].fd, "engine-resets");
	self->device_resets = npu_sys_counter(self->user[0].fd, "device-resets");
	ASSERT_LE(0, self->engine_resets);
	ASSERT_LE(0, self->device_resets);
}

FIXTURE_TEARDOWN(engines)
{
	uint32_t i;

	npu_fault("disarm all");
	for (i = 0; i < USERS; i++)
		npu_dev_close(&self->user[i]);
}

static bool output_is_right(struct npu_dev *dev)
{
	return !memcmp((void *)output_of(dev), input_of(dev), NPU_PAGE);
}

static uint32_t state_of(struct npu_dev *dev)
{
	struct drm_npu_queue_get_state state;

	return npu_queue_state(dev->fd, dev->queue, &state) ? ~0u : state.state;
}

static void expect_resets(struct __test_metadata *_metadata, FIXTURE_DATA(engines) *self,
			  uint32_t engines, uint32_t devices)
{
	int fd = self->user[0].fd;

	EXPECT_EQ(self->engine_resets + engines, npu_sys_counter(fd, "engine-resets"));
	EXPECT_EQ(self->device_resets + devices, npu_sys_counter(fd, "device-resets"));
}

/* A slow job of the user's that has begun, because it has written something. */
static void begin_slow(struct __test_metadata *_metadata, FIXTURE_DATA(engines) *self,
		       uint32_t user, uint32_t times, uint32_t *sync)
{
	struct npu_dev *dev = &self->user[user];
	struct npu_copy slow = self->copy;
	uint32_t i;

	slow.times = times;
	memset((void *)output_of(dev), 0, NPU_PAGE);
	ASSERT_EQ(0, npu_syncobj_create(dev->fd, sync));
	ASSERT_EQ(0, npu_fault("arm slow-job"));
	ASSERT_EQ(0, npu_long_copy_submit(dev, &slow, *sync));
	for (i = 0; i < 1000 && output_of(dev)[0] != user + 1; i++)
		usleep(10000);
	ASSERT_EQ(user + 1, output_of(dev)[0]);
}

/* The slow job has neither been waited for nor harmed. */
static void expect_undisturbed(struct __test_metadata *_metadata, FIXTURE_DATA(engines) *self,
			       uint32_t user, uint32_t sync)
{
	struct npu_dev *dev = &self->user[user];
	struct drm_npu_job_get_result result;

	ASSERT_EQ(0, npu_syncobj_wait(dev->fd, sync, 0, WAIT));
	EXPECT_EQ(1, npu_syncobj_status(dev->fd, sync));
	ASSERT_EQ(0, npu_job_result(dev->fd, dev->queue, 1, &result));
	EXPECT_EQ(DRM_NPU_JOB_DONE, result.status);
	EXPECT_EQ(0, state_of(dev));
	EXPECT_TRUE(output_is_right(dev));
}

static bool is_pending(struct npu_dev *dev, uint32_t sync)
{
	return npu_syncobj_wait(dev->fd, sync, 0, 0) == -ETIME;
}

/* A job that works; prints how long that took. */
static void expect_well(struct __test_metadata *_metadata, FIXTURE_DATA(engines) *self,
			uint32_t user)
{
	struct npu_dev *dev = &self->user[user];
	uint64_t start = npu_now_ns();

	memset((void *)output_of(dev), 0, NPU_PAGE);
	ASSERT_EQ(0, npu_copy_run(dev, &self->copy, WAIT));
	EXPECT_TRUE(output_is_right(dev));
	TH_LOG("a job of user %u took %.3f s", user, (npu_now_ns() - start) / 1e9);
}

/* One of several queues of a user, with one job. */
struct lane {
	struct npu_dev *dev;
	uint32_t queue, sync;
	struct drm_npu_job_get_result result;
};

static void lane_submit(struct __test_metadata *_metadata, struct lane *lane, struct npu_dev *dev,
			struct drm_npu_job *job)
{
	struct drm_npu_sync_op sync = { .flags = DRM_NPU_SYNC_OP_SIGNAL };

	lane->dev = dev;
	ASSERT_EQ(0, npu_queue_create(dev->fd, dev->vm, DRM_NPU_PRIORITY_NORMAL, 0, &lane->queue));
	ASSERT_EQ(0, npu_syncobj_create(dev->fd, &lane->sync));
	sync.handle = lane->sync;
	job->syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &sync);
	ASSERT_EQ(0, npu_submit_jobs(dev->fd, lane->queue, job, 1, NULL));
}

static void lane_end(struct __test_metadata *_metadata, struct lane *lane, int status)
{
	ASSERT_EQ(0, npu_syncobj_wait(lane->dev->fd, lane->sync, 0, WAIT));
	EXPECT_EQ(status, npu_syncobj_status(lane->dev->fd, lane->sync));
	ASSERT_EQ(0, npu_job_result(lane->dev->fd, lane->queue, 1, &lane->result));
	npu_syncobj_destroy(lane->dev->fd, lane->sync);
}

/*
 * As many jobs as there are engines, of two users in turn: there is a moment at which all of them
 * run. By the times that the device gives.
 */
TEST_F_TIMEOUT(engines, all_run_at_once, 120)
{
	struct drm_npu_region regions[2][2];
	struct npu_copy slow = self->copy;
	struct lane lanes[MAX_ENGINES];
	uint64_t last = 0, first_end = ~0ull;
	struct drm_npu_job jobs[2];
	char arm[32];
	uint32_t i;

	slow.times = SLOW_TIMES;
	for (i = 0; i < 2; i++) {
		npu_long_copy_job(&self->user[i], &slow, regions[i], &jobs[i]);
		memset((void *)output_of(&self->user[i]), 0, NPU_PAGE);
	}
	snprintf(arm, sizeof(arm), "arm slow-job %u", self->num);
	ASSERT_EQ(0, npu_fault(arm));
	for (i = 0; i < self->num; i++)
		lane_submit(_metadata, &lanes[i], &self->user[i % 2], &jobs[i % 2]);
	for (i = 0; i < self->num; i++) {
		lane_end(_metadata, &lanes[i], 1);
		if (lanes[i].result.started_ns > last)
			last = lanes[i].result.started_ns;
		if (lanes[i].result.ended_ns < first_end)
			first_end = lanes[i].result.ended_ns;
		EXPECT_EQ(1, lanes[i].result.slices > 0);
	}
	EXPECT_LT(last, first_end);
	TH_LOG("%u jobs at the same time for %.3f s", self->num,
	       ((int64_t)first_end - (int64_t)last) / 1e9);
	for (i = 0; i < 2; i++)
		EXPECT_TRUE(output_is_right(&self->user[i]));
}

/* The engine is free for the next job at once, while the other one is still busy. */
TEST_F_TIMEOUT(engines, cancel_of_one, 120)
{
	uint32_t cancelled, other;

	begin_slow(_metadata, self, 0, SLOW_TIMES, &other);
	begin_slow(_metadata, self, 1, LONG_TIMES, &cancelled);
	ASSERT_EQ(0, npu_job_cancel(self->user[1].fd, self->user[1].queue, 1));
	ASSERT_EQ(0, npu_syncobj_wait(self->user[1].fd, cancelled, 0, WAIT));
	EXPECT_EQ(-ECANCELED, npu_syncobj_status(self->user[1].fd, cancelled));
	EXPECT_EQ(0, state_of(&self->user[1]));
	expect_well(_metadata, self, 1);
	EXPECT_TRUE(is_pending(&self->user[0], other));
	expect_undisturbed(_metadata, self, 0, other);
	expect_resets(_metadata, self, 0, 0);
}

/* An abort: the queue goes while its job is on an engine. */
TEST_F_TIMEOUT(engines, abort_of_one, 120)
{
	uint32_t gone, other;

	begin_slow(_metadata, self, 0, SLOW_TIMES, &other);
	begin_slow(_metadata, self, 1, LONG_TIMES, &gone);
	ASSERT_EQ(0, npu_queue_destroy(self->user[1].fd, self->user[1].queue));
	ASSERT_EQ(0, npu_syncobj_wait(self->user[1].fd, gone, 0, WAIT));
	EXPECT_EQ(-ECANCELED, npu_syncobj_status(self->user[1].fd, gone));
	expect_well(_metadata, self, 2);
	EXPECT_TRUE(is_pending(&self->user[0], other));
	expect_undisturbed(_metadata, self, 0, other);
	expect_resets(_metadata, self, 0, 0);
}

/* A fault on one engine. */
TEST_F_TIMEOUT(engines, fault_of_one, 120)
{
	uint32_t other;

	npu_expect_log(LOG);
	begin_slow(_metadata, self, 0, SLOW_TIMES, &other);
	ASSERT_EQ(0, npu_unbind(self->user[1].fd, self->user[1].vm, NPU_VA_IN, 2 * NPU_PAGE));
	EXPECT_EQ(-EIO, npu_copy_run(&self->user[1], &self->copy, WAIT));
	EXPECT_EQ(DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_FAULTED,
		  state_of(&self->user[1]));
	EXPECT_TRUE(is_pending(&self->user[0], other));
	expect_undisturbed(_metadata, self, 0, other);
	expect_well(_metadata, self, 2);
	expect_resets(_metadata, self, 0, 0);
}

/* No other job takes the fault: the user's is on an engine with it when this returns. */
static void begin_hang(struct __test_metadata *_metadata, FIXTURE_DATA(engines) *self,
		       uint32_t user, const char *fault, uint32_t *sync)
{
	struct npu_dev *dev = &self->user[user];
	char request[64], answer[64] = "";
	uint32_t i;

	snprintf(request, sizeof(request), "arm %s", fault);
	ASSERT_EQ(0, npu_fault(request));
	ASSERT_EQ(0, npu_syncobj_create(dev->fd, sync));
	ASSERT_EQ(0, npu_copy_submit(dev, &self->copy, *sync, NULL));
	snprintf(request, sizeof(request), "armed 0 %s", fault);
	for (i = 0; i < 1000 && strcmp(answer, "0"); i++) {
		usleep(10000);
		ASSERT_EQ(0, npu_host(request, answer, sizeof(answer)));
	}
	ASSERT_STREQ("0", answer);
}

static void expect_timedout(struct __test_metadata *_metadata, struct npu_dev *dev, uint32_t sync)
{
	ASSERT_EQ(0, npu_syncobj_wait(dev->fd, sync, 0, WAIT));
	EXPECT_EQ(-ETIME, npu_syncobj_status(dev->fd, sync));
	EXPECT_EQ(DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_TIMEDOUT, state_of(dev));
}

/* One engine hangs until the driver's patience is over; the others go on with jobs of others. */
TEST_F_TIMEOUT(engines, hang_of_one, 120)
{
	uint32_t sync, jobs = 0;

	npu_expect_log(LOG);
	begin_hang(_metadata, self, 0, "hang", &sync);
	while (is_pending(&self->user[0], sync)) {
		ASSERT_EQ(0, npu_copy_run(&self->user[1 + jobs % 2], &self->copy, WAIT));
		jobs++;
	}
	TH_LOG("%u jobs while one hung", jobs);
	EXPECT_LE(10, jobs);
	expect_timedout(_metadata, &self->user[0], sync);
	EXPECT_EQ(0, state_of(&self->user[1]));
	EXPECT_EQ(0, state_of(&self->user[2]));
	expect_resets(_metadata, self, 0, 0);
}

/* Only a reset of its engine ends it; what others are at goes on, and so do those that wait. */
TEST_F_TIMEOUT(engines, reset_of_one, 120)
{
	uint32_t guilty, other;

	npu_expect_log(LOG);
	begin_slow(_metadata, self, 0, LONG_TIMES, &other);
	begin_hang(_metadata, self, 1, "hang-hard", &guilty);
	expect_well(_metadata, self, 2);
	EXPECT_TRUE(is_pending(&self->user[1], guilty));
	expect_timedout(_metadata, &self->user[1], guilty);
	expect_undisturbed(_metadata, self, 0, other);
	expect_well(_metadata, self, 2);
	expect_resets(_metadata, self, 1, 0);
}

/*
 * All have a guilty job, and innocent ones of other contexts wait for an engine: each engine
 * is reset, and no innocent one is lost.
 */
TEST_F_TIMEOUT(engines, reset_of_all, 300)
{
	struct lane guilty[MAX_ENGINES], innocent[MAX_ENGINES];
	struct drm_npu_region regions[USERS][2];
	struct drm_npu_job jobs[USERS];
	char arm[32];
	uint32_t i;

	npu_expect_log(LOG);
	for (i = 0; i < USERS; i++)
		npu_copy_job(&self->user[i], &self->copy, regions[i], &jobs[i]);
	snprintf(arm, sizeof(arm), "arm hang-hard %u", self->num);
	ASSERT_EQ(0, npu_fault(arm));
	for (i = 0; i < self->num; i++)
		lane_submit(_metadata, &guilty[i], &self->user[i % 2], &jobs[i % 2]);
	for (i = 0; i < self->num; i++)
		lane_submit(_metadata, &innocent[i], &self->user[2 - i % 2], &jobs[2 - i % 2]);
	for (i = 0; i < self->num; i++) {
		lane_end(_metadata, &guilty[i], -ETIME);
		EXPECT_EQ(DRM_NPU_JOB_TIMEDOUT, guilty[i].result.status);
	}
	for (i = 0; i < self->num; i++) {
		lane_end(_metadata, &innocent[i], 1);
		EXPECT_EQ(DRM_NPU_JOB_DONE, innocent[i].result.status);
	}
	expect_resets(_metadata, self, self->num, 0);
	for (i = 0; i < USERS; i++)
		expect_well(_metadata, self, i);
}

/* What is lost with the device is what was on its engines, of each; what waited is done. */
TEST_F_TIMEOUT(engines, device_lost_with_all_busy, 120)
{
	struct drm_npu_queue_get_state state;
	uint32_t sync[2], behind[2], i;

	npu_expect_log(LOG);
	for (i = 0; i < 2; i++)
		begin_slow(_metadata, self, i, LONG_TIMES, &sync[i]);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, npu_syncobj_create(self->user[i].fd, &behind[i]));
		ASSERT_EQ(0, npu_copy_submit(&self->user[i], &self->copy, behind[i], NULL));
	}
	ASSERT_EQ(0, npu_fault("arm firmware-crash"));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, npu_syncobj_wait(self->user[i].fd, sync[i], 0, WAIT));
		EXPECT_EQ(-ECANCELED, npu_syncobj_status(self->user[i].fd, sync[i]));
		ASSERT_EQ(0, npu_syncobj_wait(self->user[i].fd, behind[i], 0, WAIT));
		EXPECT_EQ(1, npu_syncobj_status(self->user[i].fd, behind[i]));
		ASSERT_EQ(0, npu_queue_state(self->user[i].fd, self->user[i].queue, &state));
		EXPECT_EQ(DRM_NPU_QUEUE_STATE_INNOCENT, state.state);
	}
	expect_resets(_metadata, self, 0, 1);
	for (i = 0; i < USERS; i++)
		expect_well(_metadata, self, i);
}

TEST_HARNESS_MAIN
