// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits: of the time that a job may take on an engine, whether it gets on or not; of the contexts
 * and queues that one user may have.
 */
#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"

#define WAIT		60

/* What an instruction takes longer in a slow job, in ms: slow-job of the virtual device. */
#define SLOW_MS		20u

/* Two users without privileges. */
#define ANN		65533u
#define BOB		65534u

#define MAX_OBJECTS	256u

static int query_info(int fd, struct drm_npu_queue_info *info)
{
	struct drm_npu_dev_query query = {
		.type = DRM_NPU_DEV_QUERY_QUEUE_INFO, .size = sizeof(*info),
		.pointer = (uintptr_t)info,
	};

	memset(info, 0, sizeof(*info));
	return npu_ioctl(fd, DRM_IOCTL_NPU_DEV_QUERY, &query);
}

FIXTURE(limits) {
	struct npu_dev dev;
	struct npu_copy copy;
	struct drm_npu_queue_info info;
};

FIXTURE_SETUP(limits)
{
	int ret = npu_dev_open_paged(&self->dev, &self->copy);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, query_info(self->dev.fd, &self->info));
}

FIXTURE_TEARDOWN(limits)
{
	npu_fault("disarm all");
	npu_dev_close(&self->dev);
}

/* --- of time --- */

/* One job that takes @ms and more, gets on all the time, and has no slices of others in between. */
static int run_slow(struct __test_metadata *_metadata, FIXTURE_DATA(limits) *self, uint32_t ms,
		    struct drm_npu_job_get_result *result)
{
	struct npu_copy slow = self->copy;
	struct drm_npu_region regions[2];
	struct drm_npu_job job;
	uint64_t start;
	int ret;

	slow.times = ms / SLOW_MS;
	if (slow.times > NPU_LONG_TIMES)
		return -E2BIG;
	npu_long_copy_job(&self->dev, &slow, regions, &job);
	start = npu_now_ns();
	ret = npu_job_run(self->dev.fd, self->dev.queue, &job, WAIT);
	TH_LOG("%u instructions: ended after %.1f s with %d", slow.times + 1,
	       (npu_now_ns() - start) / 1e9, ret);
	ASSERT_EQ(0, npu_job_result(self->dev.fd, self->dev.queue, job.id, result));
	TH_LOG("%.1f s of them on the engine, %u instructions done", result->busy_ns / 1e9,
	       result->insns);
	return ret;
}

/* 48: slow is not hung. One job, which takes twice the time that one may be without progress. */
TEST_F_TIMEOUT(limits, slow_job_is_not_ended, 120)
{
	uint64_t timeout_ns = self->info.timeout_ms * 1000000ull;
	struct drm_npu_queue_get_state state;
	struct drm_npu_job_get_result result;

	ASSERT_LT(2 * self->info.timeout_ms, self->info.limit_ms);
	if (npu_fault("arm slow-job"))
		SKIP(return, "there is no host that arms faults of the device");
	ASSERT_EQ(0, run_slow(_metadata, self, 2 * self->info.timeout_ms, &result));
	EXPECT_EQ(DRM_NPU_JOB_DONE, result.status);
	EXPECT_EQ(2 * self->info.timeout_ms / SLOW_MS + 1, result.insns);
	EXPECT_LE(2 * timeout_ns, result.busy_ns);
	ASSERT_EQ(0, npu_queue_state(self->dev.fd, self->dev.queue, &state));
	EXPECT_EQ(0, state.state);
	EXPECT_EQ(0, state.resets);
}

/* But only up to the cap: fences end. Another one's job goes on. */
TEST_F_TIMEOUT(limits, slow_job_is_ended_at_the_cap, 120)
{
	uint64_t limit_ns = self->info.limit_ms * 1000000ull;
	struct drm_npu_queue_get_state state;
	struct drm_npu_job_get_result result;
	struct npu_dev other;

	if (npu_fault("arm slow-job"))
		SKIP(return, "there is no host that arms faults of the device");
	npu_expect_log("npu .*takes too long");
	ASSERT_EQ(0, npu_dev_open_paged(&other, NULL));
	EXPECT_EQ(-ETIME, run_slow(_metadata, self, self->info.limit_ms + 4000, &result));
	EXPECT_EQ(DRM_NPU_JOB_TIMEDOUT, result.status);
	EXPECT_LE(limit_ns, result.busy_ns);
	EXPECT_LT(0, result.insns);
	EXPECT_GT((self->info.limit_ms + 4000) / SLOW_MS, result.insns);
	ASSERT_EQ(0, npu_queue_state(self->dev.fd, self->dev.queue, &state));
	EXPECT_EQ(DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_TIMEDOUT, state.state);
	EXPECT_EQ(0, npu_copy_run(&other, &self->copy, WAIT));
	npu_dev_close(&other);
}

/* --- of objects --- */

/* Who may use the device, but is no administrator. */
static int become(FIXTURE_DATA(limits) *self, uid_t uid)
{
	struct stat st;

	if (!uid)
		return seteuid(0) ? -errno : 0;
	if (fstat(self->dev.fd, &st) || seteuid(0) || setgroups(1, &st.st_gid) || seteuid(uid))
		return -errno;
	return 0;
}

/* How many more there are for who is asking, up to the first refusal: that is *@why. */
static uint32_t make_queues(struct npu_dev *dev, int *why)
{
	uint32_t queue, count;

	for (count = 0; count < MAX_OBJECTS; count++) {
		*why = npu_queue_create(dev->fd, dev->vm, DRM_NPU_PRIORITY_LOW, 1, &queue);
		if (*why)
			break;
	}
	return count;
}

static uint32_t make_vms(struct npu_dev *dev, int *why)
{
	uint32_t vm, count;

	for (count = 0; count < MAX_OBJECTS; count++) {
		*why = npu_vm_create(dev->fd, &vm);
		if (*why)
			break;
	}
	return count;
}

/*
 * A user has half of them, in however many files; another one has a half of his own, and the
 * administrator the rest. Who closes his files has all that was his again.
 */
static void run_shares(struct __test_metadata *_metadata, FIXTURE_DATA(limits) *self,
		       uint32_t all, uint32_t share, uint32_t (*make)(struct npu_dev *, int *))
{
	struct npu_dev first, second, other;
	int why, ret;

	ASSERT_EQ((all + 1) / 2, share);
	ASSERT_EQ(0, become(self, BOB));
	ASSERT_EQ(0, npu_dev_open_paged(&first, NULL));
	EXPECT_EQ(share - 1, make(&first, &why));
	EXPECT_EQ(-ENOSPC, why);
	ret = npu_dev_open_paged(&second, NULL);
	EXPECT_EQ(-ENOSPC, ret);

	/* The fixture's own one is the administrator's. */
	ASSERT_EQ(0, become(self, ANN));
	ASSERT_EQ(0, npu_dev_open_paged(&other, NULL));
	ASSERT_EQ(0, become(self, 0));
	EXPECT_EQ(all - share - 2, make(&self->dev, &why));
	EXPECT_EQ(-ENOSPC, why);

	npu_dev_close(&first);
	ASSERT_EQ(0, become(self, BOB));
	ASSERT_EQ(0, npu_dev_open_paged(&second, NULL));
	EXPECT_EQ(share - 1, make(&second, &why));
	npu_dev_close(&second);
	npu_dev_close(&other);
	ASSERT_EQ(0, become(self, 0));
}

/* What the driver says that a user without privileges may have. */
static int user_info(FIXTURE_DATA(limits) *self, struct drm_npu_queue_info *info)
{
	int ret = become(self, BOB);

	if (!ret)
		ret = query_info(self->dev.fd, info);
	return ret ? ret : become(self, 0);
}

TEST_F_TIMEOUT(limits, queues_of_a_user, 60)
{
	struct drm_npu_queue_info info;

	ASSERT_EQ(0, user_info(self, &info));
	TH_LOG("%u of %u queues", info.max_queues_user, info.max_queues);
	EXPECT_EQ(self->info.max_queues, info.max_queues);
	EXPECT_EQ(self->info.max_queues, self->info.max_queues_user);
	run_shares(_metadata, self, info.max_queues, info.max_queues_user, make_queues);
}

TEST_F_TIMEOUT(limits, contexts_of_a_user, 60)
{
	struct drm_npu_queue_info info;

	ASSERT_EQ(0, user_info(self, &info));
	TH_LOG("%u of %u contexts", info.max_vms_user, self->info.max_vms_user);
	run_shares(_metadata, self, self->info.max_vms_user, info.max_vms_user, make_vms);
}

TEST_HARNESS_MAIN
