// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of device and firmware. Each has a victim on one queue and a bystander on another, in a
 * file and a VM of its own; the victim's end, the bystander's, and the next job's are looked at.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/netlink.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"

#define WAIT	60

/* What the kernel may say while a fault is recovered from. */
#define LOG	"npu |firmware|queue|fatal|reset|device"

/* What comes and goes in the kernel's memory whatever a test does. */
#define MEMORY_NOISE	(256 << 10)

#define NO_FAULTS	"there is no host that arms faults of the device"

FIXTURE(recovery) {
	struct npu_dev victim, other;
	struct npu_copy copy;
};

/* Without faults; why the test is to be skipped in skip, NULL: it is not. */
static int open_faulty(struct npu_dev *dev, struct npu_copy *copy, const char **skip)
{
	int ret = npu_dev_open_paged(dev, copy);

	*skip = ret == -ENODEV ? NPU_NO_DEVICE : NULL;
	if (ret)
		return ret == -ENODEV ? 0 : ret;
	if (npu_fault("disarm all"))
		*skip = NO_FAULTS;
	npu_expect_log(LOG);
	return 0;
}

FIXTURE_SETUP(recovery)
{
	const char *skip;

	ASSERT_EQ(0, open_faulty(&self->victim, &self->copy, &skip));
	if (skip)
		SKIP(return, "%s", skip);
	ASSERT_EQ(0, npu_dev_open_paged(&self->other, NULL));
	ASSERT_EQ(0, npu_copy_run(&self->other, &self->copy, WAIT));
}

FIXTURE_TEARDOWN(recovery)
{
	npu_fault("disarm all");
	npu_dev_close(&self->victim);
	npu_dev_close(&self->other);
}

/* A job that works, on the device as it is now; prints how long after start it was done. */
static void expect_well(struct __test_metadata *_metadata, struct npu_dev *dev,
			struct npu_copy *copy, uint64_t start)
{
	memset(dev->stream.cpu + NPU_DATA_IN * NPU_PAGE, 0x5a, NPU_PAGE);
	memset(dev->stream.cpu + NPU_DATA_OUT * NPU_PAGE, 0, NPU_PAGE);
	ASSERT_EQ(0, npu_copy_run(dev, copy, WAIT));
	EXPECT_EQ(0x5a, dev->stream.cpu[(NPU_DATA_OUT + 1) * NPU_PAGE - 1]);
	TH_LOG("%.3f s from the fault to the next good job", (npu_now_ns() - start) / 1e9);
}

static uint32_t state_of(struct npu_dev *dev)
{
	struct drm_npu_queue_get_state state;

	return npu_queue_state(dev->fd, dev->queue, &state) ? ~0u : state.state;
}

/* 47: a job that hangs is ended, with those behind it; nobody else notices. */
TEST_F_TIMEOUT(recovery, hang, 120)
{
	uint64_t start = npu_now_ns(), id;
	struct drm_npu_job_get_result result;
	uint32_t sync, behind;

	ASSERT_EQ(0, npu_fault("arm hang"));
	ASSERT_EQ(0, npu_syncobj_create(self->victim.fd, &sync));
	ASSERT_EQ(0, npu_syncobj_create(self->victim.fd, &behind));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, sync, &id));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, behind, NULL));
	ASSERT_EQ(0, npu_syncobj_wait(self->victim.fd, sync, 0, WAIT));
	EXPECT_EQ(-ETIME, npu_syncobj_status(self->victim.fd, sync));
	ASSERT_EQ(0, npu_job_result(self->victim.fd, self->victim.queue, id, &result));
	EXPECT_EQ(DRM_NPU_JOB_TIMEDOUT, result.status);
	ASSERT_EQ(0, npu_syncobj_wait(self->victim.fd, behind, 0, WAIT));
	EXPECT_EQ(-ECANCELED, npu_syncobj_status(self->victim.fd, behind));
	EXPECT_EQ(DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_TIMEDOUT,
		  state_of(&self->victim));
	expect_well(_metadata, &self->other, &self->copy, start);
	EXPECT_EQ(0, state_of(&self->other));
	EXPECT_EQ(-EIO, npu_copy_submit(&self->victim, &self->copy, sync, NULL));
}

/* A job that hangs can be cancelled, and then its queue goes on. */
TEST_F_TIMEOUT(recovery, hang_is_cancelled, 120)
{
	uint64_t start = npu_now_ns(), id;
	uint32_t sync;

	ASSERT_EQ(0, npu_fault("arm hang"));
	ASSERT_EQ(0, npu_syncobj_create(self->victim.fd, &sync));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, sync, &id));
	usleep(100000);
	ASSERT_EQ(0, npu_job_cancel(self->victim.fd, self->victim.queue, id));
	ASSERT_EQ(0, npu_syncobj_wait(self->victim.fd, sync, 0, 1));
	EXPECT_EQ(-ECANCELED, npu_syncobj_status(self->victim.fd, sync));
	EXPECT_EQ(0, state_of(&self->victim));
	expect_well(_metadata, &self->victim, &self->copy, start);
}

/* Patience for hangs, in ms: of the driver, and the least that it lets a test have. */
static int set_timeout(struct npu_dev *dev, const char *ms)
{
	char name[NPU_SYS_NAME];
	int ret = npu_sys_pci(dev->fd, name);

	return ret ? ret : npu_sys_debugfs_write(name, "timeout_ms", ms);
}

static int make_queue(struct npu_dev *dev, uint32_t priority)
{
	int ret = npu_queue_destroy(dev->fd, dev->queue);

	return ret ? ret : npu_queue_create(dev->fd, dev->vm, priority, 0, &dev->queue);
}

TEST_F(recovery, patience_has_bounds)
{
	EXPECT_EQ(-EINVAL, set_timeout(&self->victim, "299"));
	EXPECT_EQ(-EINVAL, set_timeout(&self->victim, "2001"));
	EXPECT_EQ(-EINVAL, set_timeout(&self->victim, "0"));
	EXPECT_EQ(0, set_timeout(&self->victim, "300"));
	EXPECT_EQ(0, set_timeout(&self->victim, "2000"));
}

/* 49: the memory of the kernel is the same after many of them. */
TEST_F_TIMEOUT(recovery, hangs_in_a_row, 300)
{
	uint32_t i, count = npu_sys_long() ? 100 : 4;
	uint64_t start = npu_now_ns();
	int64_t before = 0, after;

	ASSERT_EQ(0, set_timeout(&self->victim, "300"));
	/* The first ones leave a dump, and fill caches. */
	for (i = 0; i < count + 2; i++) {
		if (i == 2)
			before = npu_sys_kernel_memory();
		ASSERT_EQ(0, npu_fault("arm hang"));
		EXPECT_EQ(-ETIME, npu_copy_run(&self->victim, &self->copy, WAIT));
		ASSERT_EQ(0, make_queue(&self->victim, 1));
	}
	after = npu_sys_kernel_memory();
	ASSERT_EQ(0, set_timeout(&self->victim, "2000"));
	TH_LOG("%u hangs in %.1f s, %lld KiB more", i, (npu_now_ns() - start) / 1e9,
	       (long long)(after - before) / 1024);
	EXPECT_LT(after, before + MEMORY_NOISE);
	expect_well(_metadata, &self->victim, &self->copy, npu_now_ns());
}

/*
 * Hangs that an abort does not end. Before the victim starts, a slow job of a bystander makes room
 * for it; behind that one waits another, which has not been started. A reset of the engine is
 * nobody's loss but the victim's. One of the device costs what had been started, too.
 */
struct hard_hang {
	struct npu_dev *victim, *other;
	struct npu_copy *copy;
	uint32_t guilty, behind;	/* syncobjs of the victim's jobs */
	uint32_t started, waiting;	/* of the bystander's */
	uint64_t id;
};

/*
 * So many instructions of 20 ms that it lasts until the victim has come, however slow the host is.
 * On another engine than the victim's it goes on, and lasts until the device is reset.
 */
#define SLOW_TIMES	200u
#define SLOW_TIMES_BESIDE	400u

static int submit_slow(struct npu_dev *dev, const struct npu_copy *copy, uint32_t sync)
{
	struct drm_npu_npu_info info;
	struct npu_copy slow = *copy;
	int ret = npu_npu_info(dev->fd, &info);

	slow.times = info.num_engines > 1 ? SLOW_TIMES_BESIDE : SLOW_TIMES;
	return ret ? ret : npu_long_copy_submit(dev, &slow, sync);
}

static int hard_hang_begin(struct hard_hang *h, const char *kind)
{
	uint32_t *syncs[] = { &h->guilty, &h->behind, &h->started, &h->waiting };
	uint32_t i;
	int ret = 0;

	for (i = 0; i < 4 && !ret; i++)
		ret = npu_syncobj_create(i < 2 ? h->victim->fd : h->other->fd, syncs[i]);
	if (!ret)
		ret = npu_fault("arm slow-job");
	if (!ret)
		ret = submit_slow(h->other, h->copy, h->started);
	if (!ret)
		ret = npu_copy_submit(h->other, h->copy, h->waiting, NULL);
	usleep(60000);
	if (!ret)
		ret = npu_fault(kind);
	if (!ret)
		ret = make_queue(h->victim, DRM_NPU_PRIORITY_HIGH);
	if (!ret)
		ret = npu_copy_submit(h->victim, h->copy, h->guilty, &h->id);
	return ret ? ret : npu_copy_submit(h->victim, h->copy, h->behind, NULL);
}

static void expect_guilty(struct __test_metadata *_metadata, struct hard_hang *h)
{
	struct drm_npu_job_get_result result;

	ASSERT_EQ(0, npu_syncobj_wait(h->victim->fd, h->guilty, 0, WAIT));
	EXPECT_EQ(-ETIME, npu_syncobj_status(h->victim->fd, h->guilty));
	ASSERT_EQ(0, npu_job_result(h->victim->fd, h->victim->queue, h->id, &result));
	EXPECT_EQ(DRM_NPU_JOB_TIMEDOUT, result.status);
	ASSERT_EQ(0, npu_syncobj_wait(h->victim->fd, h->behind, 0, WAIT));
	EXPECT_EQ(-ECANCELED, npu_syncobj_status(h->victim->fd, h->behind));
	EXPECT_EQ(DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_TIMEDOUT, state_of(h->victim));
}

static void run_hard_hang(struct __test_metadata *_metadata, FIXTURE_DATA(recovery) *self,
			  const char *kind, int device_resets)
{
	struct hard_hang h = {
		.victim = &self->victim, .other = &self->other, .copy = &self->copy,
	};
	int64_t engines = npu_sys_counter(self->other.fd, "engine-resets");
	int64_t devices = npu_sys_counter(self->other.fd, "device-resets");
	uint64_t start;

	ASSERT_LE(0, engines);
	ASSERT_LE(0, devices);
	ASSERT_EQ(0, hard_hang_begin(&h, kind));
	start = npu_now_ns();
	expect_guilty(_metadata, &h);
	ASSERT_EQ(0, npu_syncobj_wait(self->other.fd, h.started, 0, WAIT));
	EXPECT_EQ(device_resets ? -ECANCELED : 1, npu_syncobj_status(self->other.fd, h.started));
	ASSERT_EQ(0, npu_syncobj_wait(self->other.fd, h.waiting, 0, WAIT));
	EXPECT_EQ(1, npu_syncobj_status(self->other.fd, h.waiting));
	EXPECT_EQ(device_resets ? DRM_NPU_QUEUE_STATE_INNOCENT : 0, state_of(&self->other));
	expect_well(_metadata, &self->other, &self->copy, start);
	EXPECT_EQ(engines + 1, npu_sys_counter(self->other.fd, "engine-resets"));
	EXPECT_EQ(devices + device_resets, npu_sys_counter(self->other.fd, "device-resets"));
	EXPECT_EQ(-EIO, npu_copy_submit(&self->victim, &self->copy, 0, NULL));
	ASSERT_EQ(0, make_queue(&self->victim, 1));
	expect_well(_metadata, &self->victim, &self->copy, npu_now_ns());
}

TEST_F_TIMEOUT(recovery, hang_that_an_engine_reset_ends, 120)
{
	run_hard_hang(_metadata, self, "arm hang-hard", 0);
}

TEST_F_TIMEOUT(recovery, hang_that_a_device_reset_ends, 120)
{
	run_hard_hang(_metadata, self, "arm hang-dead", 1);
}

/* 50: the file goes while its job hangs. */
TEST_F_TIMEOUT(recovery, hang_and_close, 120)
{
	uint64_t start = npu_now_ns();

	ASSERT_EQ(0, npu_fault("arm hang"));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, 0, NULL));
	usleep(100000);
	npu_dev_close(&self->victim);
	expect_well(_metadata, &self->other, &self->copy, start);
	ASSERT_EQ(0, npu_dev_open_paged(&self->victim, NULL));
	expect_well(_metadata, &self->victim, &self->copy, start);
}

/* 53 */
TEST_F_TIMEOUT(recovery, mmu_fault, 120)
{
	uint64_t start = npu_now_ns();

	ASSERT_EQ(0, npu_fault("arm mmu-fault"));
	EXPECT_EQ(-EIO, npu_copy_run(&self->victim, &self->copy, WAIT));
	EXPECT_EQ(DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_FAULTED, state_of(&self->victim));
	expect_well(_metadata, &self->other, &self->copy, start);
}

/*
 * 54, 55: what firmware and device do wrong. Jobs may be lost to the reset, and then innocently;
 * queues go on.
 */
FIXTURE(device) {
	struct npu_dev dev;
	struct npu_copy copy;
};

FIXTURE_VARIANT(device) {
	const char *command;
	bool resets;		/* the device has to be reset */
	uint32_t jobs;
};

FIXTURE_VARIANT_ADD(device, lost_interrupt) { "arm lost-interrupt 3", false, 24 };
FIXTURE_VARIANT_ADD(device, bad_completion_id) { "arm bad-completion-id", true, 24 };
FIXTURE_VARIANT_ADD(device, bad_completion_length) { "arm bad-completion-length", true, 1 };
FIXTURE_VARIANT_ADD(device, duplicate_completion) { "arm duplicate-completion", true, 24 };
FIXTURE_VARIANT_ADD(device, bad_index) { "arm bad-index", true, 24 };
FIXTURE_VARIANT_ADD(device, firmware_crash) { "arm firmware-crash", true, 24 };
FIXTURE_VARIANT_ADD(device, worker_abort) { "arm worker-abort", true, 24 };
FIXTURE_VARIANT_ADD(device, worker_killed) { "kill", true, 24 };

FIXTURE_SETUP(device)
{
	const char *skip;

	ASSERT_EQ(0, open_faulty(&self->dev, &self->copy, &skip));
	if (skip)
		SKIP(return, "%s", skip);
	ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
}

FIXTURE_TEARDOWN(device)
{
	npu_fault("disarm all");
	npu_dev_close(&self->dev);
}

TEST_F_TIMEOUT(device, recovers, 180)
{
	uint32_t sync[24], i, good = 0, lost = 0;
	struct drm_npu_queue_get_state state;
	uint64_t start = npu_now_ns();
	int status, ret;

	/* Nobody is left to answer a kill. */
	ret = npu_fault(variant->command);
	ASSERT_TRUE(!ret || !strcmp(variant->command, "kill"));
	for (i = 0; i < variant->jobs; i++) {
		ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync[i]));
		ASSERT_EQ(0, npu_copy_submit(&self->dev, &self->copy, sync[i], NULL));
	}
	for (i = 0; i < variant->jobs; i++) {
		ASSERT_EQ(0, npu_syncobj_wait(self->dev.fd, sync[i], 0, WAIT));
		status = npu_syncobj_status(self->dev.fd, sync[i]);
		good += status == 1;
		lost += status == -ECANCELED;
	}
	EXPECT_EQ(variant->jobs, good + lost);
	/* One was under way at a time; what waited in the ring is run again. */
	EXPECT_LE(lost, 2);
	ASSERT_EQ(0, npu_queue_state(self->dev.fd, self->dev.queue, &state));
	EXPECT_EQ(lost ? DRM_NPU_QUEUE_STATE_INNOCENT : 0, state.state);
	/* The interrupt asks for it, a worker does it: all jobs may have ended before. */
	for (i = 0; i < 500 && variant->resets && !state.resets; i++) {
		usleep(10000);
		ASSERT_EQ(0, npu_queue_state(self->dev.fd, self->dev.queue, &state));
	}
	EXPECT_EQ(variant->resets, state.resets > 0);
	TH_LOG("%u jobs were lost, %u resets", lost, state.resets);
	expect_well(_metadata, &self->dev, &self->copy, start);
}

/* The same with a job on the engine, which is lost, innocently; what waits behind it runs. */
FIXTURE(busy_device) {
	struct npu_dev dev;
	struct npu_copy copy;
};

FIXTURE_VARIANT(busy_device) {
	const char *command;
};

FIXTURE_VARIANT_ADD(busy_device, firmware_crash) { "arm firmware-crash" };
FIXTURE_VARIANT_ADD(busy_device, worker_abort) { "arm worker-abort" };
FIXTURE_VARIANT_ADD(busy_device, worker_killed) { "kill" };

FIXTURE_SETUP(busy_device)
{
	const char *skip;

	ASSERT_EQ(0, open_faulty(&self->dev, &self->copy, &skip));
	if (skip)
		SKIP(return, "%s", skip);
}

FIXTURE_TEARDOWN(busy_device)
{
	npu_fault("disarm all");
	npu_dev_close(&self->dev);
}

TEST_F_TIMEOUT(busy_device, loses_the_job, 120)
{
	volatile uint8_t *out = self->dev.stream.cpu + NPU_DATA_OUT * NPU_PAGE;
	struct drm_npu_queue_get_state state;
	struct drm_npu_job_get_result result;
	uint32_t sync[4], other, i;
	uint64_t start;
	int ret;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync[i]));
	memset(self->dev.stream.cpu + NPU_DATA_IN * NPU_PAGE, 0x5a, NPU_PAGE);
	ASSERT_EQ(0, npu_fault("arm slow-job"));
	ASSERT_EQ(0, submit_slow(&self->dev, &self->copy, sync[0]));
	for (i = 0; i < 1000 && out[0] != 0x5a; i++)
		usleep(10000);
	ASSERT_EQ(0x5a, out[0]);
	EXPECT_EQ(-ETIME, npu_syncobj_wait(self->dev.fd, sync[0], 0, 0));

	start = npu_now_ns();
	ret = npu_fault(variant->command);
	ASSERT_TRUE(!ret || !strcmp(variant->command, "kill"));
	for (i = 1; i < 4; i++)
		ASSERT_EQ(0, npu_copy_submit(&self->dev, &self->copy, sync[i], NULL));
	/* A register write, which jobs for a busy queue need not. */
	ASSERT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, DRM_NPU_PRIORITY_NORMAL, 0,
				      &other));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, npu_syncobj_wait(self->dev.fd, sync[i], 0, WAIT));
		EXPECT_EQ(i ? 1 : -ECANCELED, npu_syncobj_status(self->dev.fd, sync[i]));
		ASSERT_EQ(0, npu_job_result(self->dev.fd, self->dev.queue, i + 1, &result));
		EXPECT_EQ(i ? DRM_NPU_JOB_DONE : DRM_NPU_JOB_INNOCENT, result.status);
	}
	expect_well(_metadata, &self->dev, &self->copy, start);
	ASSERT_EQ(0, npu_queue_state(self->dev.fd, self->dev.queue, &state));
	EXPECT_EQ(DRM_NPU_QUEUE_STATE_INNOCENT, state.state);
	EXPECT_EQ(1, state.resets);
}

/* The first register write of QUEUE_CREATE is the device's last. */
TEST_F_TIMEOUT(recovery, queue_made_while_the_device_dies, 120)
{
	uint64_t start = npu_now_ns();

	ASSERT_EQ(0, npu_queue_destroy(self->victim.fd, self->victim.queue));
	ASSERT_EQ(0, npu_fault("arm worker-abort"));
	ASSERT_EQ(0, npu_queue_create(self->victim.fd, self->victim.vm, DRM_NPU_PRIORITY_NORMAL, 0,
				      &self->victim.queue));
	expect_well(_metadata, &self->victim, &self->copy, start);
	EXPECT_EQ(0, state_of(&self->victim));
}

/*
 * A device that does nothing for two seconds, as when others have its processor, is late and not
 * broken: nobody loses anything.
 */
TEST_F_TIMEOUT(recovery, device_that_is_late, 120)
{
	int64_t resets = npu_sys_counter(self->other.fd, "device-resets");
	uint64_t start = npu_now_ns();
	uint32_t queue;

	ASSERT_LE(0, resets);
	ASSERT_EQ(0, npu_host("stall 0 2000", NULL, 0));
	EXPECT_EQ(0, npu_queue_create(self->victim.fd, self->victim.vm, DRM_NPU_PRIORITY_NORMAL, 0,
				      &queue));
	EXPECT_LE(1.5, (npu_now_ns() - start) / 1e9);
	EXPECT_EQ(0, npu_queue_destroy(self->victim.fd, queue));
	expect_well(_metadata, &self->victim, &self->copy, start);
	EXPECT_EQ(resets, npu_sys_counter(self->other.fd, "device-resets"));
	EXPECT_EQ(0, state_of(&self->victim));
}

/* A job of 4 s that has begun, because it has written something; 0 or a negative errno. */
static int begin_slow(struct npu_dev *dev, const struct npu_copy *copy, uint32_t sync)
{
	volatile uint8_t *out = dev->stream.cpu + NPU_DATA_OUT * NPU_PAGE;
	struct npu_copy slow = *copy;
	uint32_t i;
	int ret;

	memset(dev->stream.cpu + NPU_DATA_IN * NPU_PAGE, 0x5a, NPU_PAGE);
	slow.times = SLOW_TIMES;
	ret = npu_fault("arm slow-job");
	if (!ret)
		ret = npu_long_copy_submit(dev, &slow, sync);
	for (i = 0; !ret && i < 1000 && out[0] != 0x5a; i++)
		usleep(10000);
	return ret ? ret : out[0] == 0x5a ? 0 : -ETIMEDOUT;
}

/*
 * The same with a job on the engine: up to the heartbeat's 4 s nobody pays. Behind them it is the
 * device that is broken, and not the job: its loss is innocent, and what waits behind it runs.
 */
static void run_late(struct __test_metadata *_metadata, FIXTURE_DATA(recovery) *self,
		     const char *stall, bool is_lost)
{
	int64_t resets = npu_sys_counter(self->other.fd, "device-resets");
	struct drm_npu_job_get_result result;
	struct npu_dev *dev = &self->victim;
	uint32_t sync[2], i;
	uint64_t start;

	ASSERT_LE(0, resets);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, npu_syncobj_create(dev->fd, &sync[i]));
	ASSERT_EQ(0, begin_slow(dev, &self->copy, sync[0]));
	ASSERT_EQ(0, npu_copy_submit(dev, &self->copy, sync[1], NULL));
	start = npu_now_ns();
	ASSERT_EQ(0, npu_host(stall, NULL, 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, npu_syncobj_wait(dev->fd, sync[i], 0, WAIT));
	EXPECT_EQ(is_lost ? -ECANCELED : 1, npu_syncobj_status(dev->fd, sync[0]));
	EXPECT_EQ(1, npu_syncobj_status(dev->fd, sync[1]));
	ASSERT_EQ(0, npu_job_result(dev->fd, dev->queue, 1, &result));
	EXPECT_EQ(is_lost ? DRM_NPU_JOB_INNOCENT : DRM_NPU_JOB_DONE, result.status);
	EXPECT_EQ(is_lost ? DRM_NPU_QUEUE_STATE_INNOCENT : 0, state_of(dev));
	EXPECT_EQ(resets + is_lost, npu_sys_counter(self->other.fd, "device-resets"));
	EXPECT_EQ(0, state_of(&self->other));
	expect_well(_metadata, dev, &self->copy, start);
}

TEST_F_TIMEOUT(recovery, device_that_is_late_with_a_job, 120)
{
	run_late(_metadata, self, "stall 0 3000", false);
}

TEST_F_TIMEOUT(recovery, device_that_stands_still_with_a_job, 120)
{
	run_late(_metadata, self, "stall 0 6000", true);
}

/*
 * The firmware says that it can not read a ring, and goes on with the job that it has. That one has
 * not ended by this: when its fence signals nothing of it may be written any more.
 */
TEST_F_TIMEOUT(recovery, damaged_ring, 120)
{
	volatile uint8_t *out = self->victim.stream.cpu + NPU_DATA_OUT * NPU_PAGE;
	struct drm_npu_queue_get_state state;
	struct npu_copy slow = self->copy;
	uint64_t start = npu_now_ns();
	uint32_t sync[2], i;
	int status;

	ASSERT_EQ(0, npu_fault("arm slow-job 2"));
	ASSERT_EQ(0, npu_fault("arm bad-tail"));
	slow.times = 16;
	memset(self->victim.stream.cpu + NPU_DATA_IN * NPU_PAGE, 0x5a, NPU_PAGE);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, npu_syncobj_create(self->victim.fd, &sync[i]));
		ASSERT_EQ(0, npu_copy_submit(&self->victim, &slow, sync[i], NULL));
	}
	ASSERT_EQ(0, npu_syncobj_wait(self->victim.fd, sync[1], 0, WAIT));
	status = npu_syncobj_status(self->victim.fd, sync[1]);
	EXPECT_TRUE(status == 1 || status == -ECANCELED);
	out[0] = 0;
	usleep(100000);
	EXPECT_EQ(0, out[0]);
	ASSERT_EQ(0, npu_queue_state(self->victim.fd, self->victim.queue, &state));
	EXPECT_EQ(1, state.resets);
	expect_well(_metadata, &self->victim, &self->copy, start);
}

/* Takes the driver from the device and gives it back. */
static int rebind(const char *name)
{
	int ret = npu_sys_write("/sys/bus/pci/drivers/npu/unbind", name);

	return ret ? ret : npu_sys_write("/sys/bus/pci/drivers/npu/bind", name);
}

/* 52: unbound while a job hangs. */
TEST_F_TIMEOUT(recovery, hang_and_unbind, 120)
{
	uint64_t start = npu_now_ns();
	struct npu_dev again;
	char name[NPU_SYS_NAME];

	ASSERT_EQ(0, npu_sys_pci(self->victim.fd, name));
	ASSERT_EQ(0, npu_fault("arm hang"));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, 0, NULL));
	usleep(50000);
	ASSERT_EQ(0, rebind(name));
	EXPECT_EQ(-ENODEV, npu_copy_submit(&self->victim, &self->copy, 0, NULL));
	ASSERT_EQ(0, npu_dev_open_paged(&again, NULL));
	expect_well(_metadata, &again, &self->copy, start);
	npu_dev_close(&again);
}

#define CLOSERS	4u

/*
 * A process whose job hangs closes its file, which takes until the driver gives up on the queue. On
 * a busy machine the device may have gone before it comes to that.
 */
static void closer(const struct npu_copy *copy)
{
	struct npu_dev dev;
	int ret = npu_dev_open_paged(&dev, NULL);

	if (!ret) {
		ret = npu_copy_submit(&dev, copy, 0, NULL);
		npu_dev_close(&dev);
	}
	_exit(ret && ret != -ENODEV);
}

/*
 * Files whose queues do not come back ask for a reset of the device, just when the driver is taken
 * from it: what would carry it out may be gone.
 */
TEST_F_TIMEOUT(recovery, closes_and_unbind, 180)
{
	uint64_t start = npu_now_ns();
	struct npu_dev again;
	char name[NPU_SYS_NAME];
	pid_t pid[CLOSERS];
	uint32_t i, round;
	int status;

	ASSERT_EQ(0, npu_sys_pci(self->victim.fd, name));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, npu_fault("arm hang-dead forever"));
		for (i = 0; i < CLOSERS; i++) {
			pid[i] = fork();
			if (!pid[i])
				closer(&self->copy);
			ASSERT_LT(0, pid[i]);
		}
		/* An abort and a reset of the engine have a second each. */
		usleep(1000000 + round * 500000);
		ASSERT_EQ(0, npu_sys_write("/sys/bus/pci/drivers/npu/unbind", name));
		for (i = 0; i < CLOSERS; i++) {
			ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
			EXPECT_EQ(0, status);
		}
		ASSERT_EQ(0, npu_fault("disarm all"));
		ASSERT_EQ(0, npu_sys_write("/sys/bus/pci/drivers/npu/bind", name));
	}
	ASSERT_EQ(0, npu_dev_open_paged(&again, NULL));
	expect_well(_metadata, &again, &self->copy, start);
	npu_dev_close(&again);
}

/*
 * Bus mastering goes under the driver: the device can not reach memory, and a reset brings it back.
 */
TEST_F_TIMEOUT(recovery, bus_mastering_off, 120)
{
	struct drm_npu_queue_get_state state;
	const uint16_t command = 0x0402;	/* memory space, no INTx, no bus mastering */
	uint64_t start = npu_now_ns();
	char name[NPU_SYS_NAME], path[128];
	uint32_t sync;
	int fd;

	ASSERT_EQ(0, npu_sys_pci(self->victim.fd, name));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(2, pwrite(fd, &command, 2, 4));
	close(fd);
	ASSERT_EQ(0, npu_syncobj_create(self->victim.fd, &sync));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, sync, NULL));
	ASSERT_EQ(0, npu_syncobj_wait(self->victim.fd, sync, 0, WAIT));
	ASSERT_EQ(0, npu_queue_state(self->victim.fd, self->victim.queue, &state));
	EXPECT_LT(0, state.resets);
	expect_well(_metadata, &self->victim, &self->copy, start);
}

/* 55: it does not start at the first try, behind a reset and when the driver comes. */
TEST_F_TIMEOUT(recovery, starts_at_the_second_try, 120)
{
	uint64_t start = npu_now_ns();
	struct drm_npu_queue_get_state state;
	char name[NPU_SYS_NAME];
	struct npu_dev again;

	ASSERT_EQ(0, npu_sys_pci(self->victim.fd, name));
	ASSERT_EQ(0, npu_fault("arm boot-failure"));
	ASSERT_EQ(0, npu_sys_debugfs_write(name, "force_reset", "1"));
	expect_well(_metadata, &self->victim, &self->copy, start);
	ASSERT_EQ(0, npu_queue_state(self->victim.fd, self->victim.queue, &state));
	EXPECT_EQ(2, state.resets);
	EXPECT_EQ(0, state.state);

	ASSERT_EQ(0, npu_sys_write("/sys/bus/pci/drivers/npu/unbind", name));
	ASSERT_EQ(0, npu_fault("arm boot-failure forever"));
	EXPECT_GT(0, npu_sys_write("/sys/bus/pci/drivers/npu/bind", name));
	EXPECT_EQ(-ENODEV, npu_dev_open(&again));
	ASSERT_EQ(0, npu_fault("disarm all"));
	start = npu_now_ns();
	ASSERT_EQ(0, npu_sys_write("/sys/bus/pci/drivers/npu/bind", name));
	ASSERT_EQ(0, npu_dev_open_paged(&again, NULL));
	expect_well(_metadata, &again, &self->copy, start);
	npu_dev_close(&again);
}

/* Messages of the kernel about devices; -1: there are none to be had. */
static int open_uevents(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Has there been one about an accel device with this word, or comes one within a second? */
static bool uevent_says(int fd, const char *word)
{
	char text[4096], *at;
	bool accel, said;
	ssize_t got;
	uint32_t i;

	for (i = 0; i < 100; i++) {
		for (; (got = recv(fd, text, sizeof(text) - 1, 0)) > 0;) {
			text[got] = 0;
			accel = said = false;
			for (at = text; at < text + got; at += strlen(at) + 1) {
				accel |= !strcmp(at, "SUBSYSTEM=accel");
				said |= !strcmp(at, word);
			}
			if (accel && said)
				return true;
		}
		usleep(10000);
	}
	return false;
}

/*
 * 54: a device that does not come back is taken from its users, and programs that look after
 * devices are told; a new start brings it back.
 */
TEST_F_TIMEOUT(recovery, beyond_recovery, 120)
{
	uint64_t start = npu_now_ns();
	struct npu_dev again;
	char name[NPU_SYS_NAME];
	int uevents = open_uevents();
	uint32_t sync;

	ASSERT_LE(0, uevents);
	ASSERT_EQ(0, npu_sys_pci(self->victim.fd, name));
	ASSERT_EQ(0, npu_syncobj_create(self->victim.fd, &sync));
	ASSERT_EQ(0, npu_fault("arm boot-failure forever"));
	ASSERT_EQ(0, npu_fault("arm firmware-crash"));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, sync, NULL));
	/* The fence signals; whether there is still a device to ask is another matter. */
	while (!npu_copy_submit(&self->victim, &self->copy, 0, NULL))
		usleep(100000);
	EXPECT_EQ(-ENODEV, npu_copy_submit(&self->victim, &self->copy, 0, NULL));
	EXPECT_TRUE(uevent_says(uevents, "WEDGED=rebind,bus-reset"));
	close(uevents);
	ASSERT_EQ(0, npu_fault("disarm all"));
	ASSERT_EQ(0, rebind(name));
	ASSERT_EQ(0, npu_dev_open_paged(&again, NULL));
	expect_well(_metadata, &again, &self->copy, start);
	npu_dev_close(&again);
}

TEST_HARNESS_MAIN
