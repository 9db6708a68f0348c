// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of device and firmware. Each has a victim on one queue and a bystander on another, in a
 * file and a VM of its own; the victim's end, the bystander's, and the next job's are looked at.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_test.h"

#define SIZE	4096u
#define WAIT	60

/* What the kernel may say while a fault is recovered from. */
#define LOG	"npu |firmware|queue|fatal|reset|device"

#define NO_FAULTS	"there is no host that arms faults of the device"

/* A command of the control socket of the virtual device. */
static int fault(const char *command)
{
	char request[64];

	snprintf(request, sizeof(request), "vdev 0 %s", command);
	return npu_host(request, NULL, 0);
}

FIXTURE(recovery) {
	struct npu_dev victim, other;
	struct npu_copy copy;
};

static int open_one(struct npu_dev *dev)
{
	int ret = npu_dev_open(dev);

	/* Two pages of the stream's buffer serve as data. */
	return ret ? ret : npu_bind(dev->fd, dev->vm, dev->stream.handle, 8 * NPU_PAGE, NPU_VA_IN,
				    2 * NPU_PAGE, 0);
}

FIXTURE_SETUP(recovery)
{
	int ret = open_one(&self->victim);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, open_one(&self->other));
	if (fault("disarm all"))
		SKIP(return, NO_FAULTS);
	npu_expect_log(LOG);
	self->copy = (struct npu_copy) {
		.in = NPU_VA_IN, .out = NPU_VA_IN + NPU_PAGE, .size = SIZE,
	};
	ASSERT_EQ(0, npu_copy_run(&self->other, &self->copy, WAIT));
}

FIXTURE_TEARDOWN(recovery)
{
	fault("disarm all");
	npu_dev_close(&self->victim);
	npu_dev_close(&self->other);
}

/* A job that works, on the device as it is now; prints how long after start it was done. */
static void expect_well(struct __test_metadata *_metadata, struct npu_dev *dev,
			struct npu_copy *copy, uint64_t start)
{
	memset(dev->stream.cpu + 8 * NPU_PAGE, 0x5a, NPU_PAGE);
	memset(dev->stream.cpu + 9 * NPU_PAGE, 0, NPU_PAGE);
	ASSERT_EQ(0, npu_copy_run(dev, copy, WAIT));
	EXPECT_EQ(0x5a, dev->stream.cpu[10 * NPU_PAGE - 1]);
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

	ASSERT_EQ(0, fault("arm hang"));
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

	ASSERT_EQ(0, fault("arm hang"));
	ASSERT_EQ(0, npu_syncobj_create(self->victim.fd, &sync));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, sync, &id));
	usleep(100000);
	ASSERT_EQ(0, npu_job_cancel(self->victim.fd, self->victim.queue, id));
	ASSERT_EQ(0, npu_syncobj_wait(self->victim.fd, sync, 0, 1));
	EXPECT_EQ(-ECANCELED, npu_syncobj_status(self->victim.fd, sync));
	EXPECT_EQ(0, state_of(&self->victim));
	expect_well(_metadata, &self->victim, &self->copy, start);
}

/*
 * 48: slow is not hung. 40 instructions of 20 ms and more, several times the time without progress.
 */
TEST_F_TIMEOUT(recovery, slow_job_is_not_ended, 120)
{
	struct npu_copy copy = self->copy;
	uint32_t sync;

	ASSERT_EQ(0, fault("arm slow-job forever"));
	copy.times = 16;
	ASSERT_EQ(0, npu_syncobj_create(self->victim.fd, &sync));
	for (int i = 0; i < 12; i++)
		ASSERT_EQ(0, npu_copy_submit(&self->victim, &copy, sync, NULL));
	ASSERT_EQ(0, npu_syncobj_wait(self->victim.fd, sync, 0, WAIT));
	EXPECT_EQ(1, npu_syncobj_status(self->victim.fd, sync));
	EXPECT_EQ(0, state_of(&self->victim));
}

/* 49 */
TEST_F_TIMEOUT(recovery, hangs_in_a_row, 300)
{
	uint32_t i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, fault("arm hang"));
		EXPECT_EQ(-ETIME, npu_copy_run(&self->victim, &self->copy, WAIT));
		ASSERT_EQ(0, npu_queue_destroy(self->victim.fd, self->victim.queue));
		ASSERT_EQ(0, npu_queue_create(self->victim.fd, self->victim.vm, 1, 0,
					      &self->victim.queue));
	}
	expect_well(_metadata, &self->victim, &self->copy, npu_now_ns());
}

/* 50: the file goes while its job hangs. */
TEST_F_TIMEOUT(recovery, hang_and_close, 120)
{
	uint64_t start = npu_now_ns();

	ASSERT_EQ(0, fault("arm hang"));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, 0, NULL));
	usleep(100000);
	npu_dev_close(&self->victim);
	expect_well(_metadata, &self->other, &self->copy, start);
	ASSERT_EQ(0, open_one(&self->victim));
	expect_well(_metadata, &self->victim, &self->copy, start);
}

/* 53 */
TEST_F_TIMEOUT(recovery, mmu_fault, 120)
{
	uint64_t start = npu_now_ns();

	ASSERT_EQ(0, fault("arm mmu-fault"));
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
	int ret = open_one(&self->dev);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	if (fault("disarm all"))
		SKIP(return, NO_FAULTS);
	npu_expect_log(LOG);
	self->copy = (struct npu_copy) {
		.in = NPU_VA_IN, .out = NPU_VA_IN + NPU_PAGE, .size = SIZE,
	};
	ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
}

FIXTURE_TEARDOWN(device)
{
	fault("disarm all");
	npu_dev_close(&self->dev);
}

TEST_F_TIMEOUT(device, recovers, 180)
{
	uint32_t sync[24], i, good = 0, lost = 0;
	struct drm_npu_queue_get_state state;
	uint64_t start = npu_now_ns();
	int status, ret;

	/* Nobody is left to answer a kill. */
	ret = fault(variant->command);
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

/* The first register write of QUEUE_CREATE is the device's last. */
TEST_F_TIMEOUT(recovery, queue_made_while_the_device_dies, 120)
{
	uint64_t start = npu_now_ns();

	ASSERT_EQ(0, npu_queue_destroy(self->victim.fd, self->victim.queue));
	ASSERT_EQ(0, fault("arm worker-abort"));
	ASSERT_EQ(0, npu_queue_create(self->victim.fd, self->victim.vm, DRM_NPU_PRIORITY_NORMAL, 0,
				      &self->victim.queue));
	expect_well(_metadata, &self->victim, &self->copy, start);
	EXPECT_EQ(0, state_of(&self->victim));
}

static int write_driver_file(const char *name, const char *text)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/npu/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* The address of the PCI device; while the driver has it. */
static int pci_name(struct npu_dev *dev, char name[64])
{
	char link[64], pci[PATH_MAX];
	struct stat st;

	if (fstat(dev->fd, &st))
		return -errno;
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	if (!realpath(link, pci))
		return -errno;
	snprintf(name, 64, "%s", strrchr(pci, '/') + 1);
	return 0;
}

/* Takes the driver from the device and gives it back. */
static int rebind(const char *name)
{
	int ret = write_driver_file("unbind", name);

	return ret ? ret : write_driver_file("bind", name);
}

/* 52: unbound while a job hangs. */
TEST_F_TIMEOUT(recovery, hang_and_unbind, 120)
{
	struct npu_dev again;
	char name[64];

	ASSERT_EQ(0, pci_name(&self->victim, name));
	ASSERT_EQ(0, fault("arm hang"));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, 0, NULL));
	usleep(50000);
	ASSERT_EQ(0, rebind(name));
	EXPECT_EQ(-ENODEV, npu_copy_submit(&self->victim, &self->copy, 0, NULL));
	ASSERT_EQ(0, open_one(&again));
	expect_well(_metadata, &again, &self->copy, npu_now_ns());
	npu_dev_close(&again);
}

/*
 * Bus mastering goes under the driver: the device can not reach memory, and a reset brings it back.
 */
TEST_F_TIMEOUT(recovery, bus_mastering_off, 120)
{
	struct drm_npu_queue_get_state state;
	const uint16_t command = 0x0402;	/* memory space, no INTx, no bus mastering */
	char name[64], path[128];
	uint32_t sync;
	int fd;

	ASSERT_EQ(0, pci_name(&self->victim, name));
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
	expect_well(_metadata, &self->victim, &self->copy, npu_now_ns());
}

/* 54: a device that does not come back is taken from its users; a new start brings it back. */
TEST_F_TIMEOUT(recovery, beyond_recovery, 120)
{
	struct npu_dev again;
	char name[64];
	uint32_t sync;

	ASSERT_EQ(0, pci_name(&self->victim, name));
	ASSERT_EQ(0, npu_syncobj_create(self->victim.fd, &sync));
	ASSERT_EQ(0, fault("arm boot-failure forever"));
	ASSERT_EQ(0, fault("arm firmware-crash"));
	ASSERT_EQ(0, npu_copy_submit(&self->victim, &self->copy, sync, NULL));
	/* The fence signals; whether there is still a device to ask is another matter. */
	while (!npu_copy_submit(&self->victim, &self->copy, 0, NULL))
		usleep(100000);
	EXPECT_EQ(-ENODEV, npu_copy_submit(&self->victim, &self->copy, 0, NULL));
	ASSERT_EQ(0, fault("disarm all"));
	ASSERT_EQ(0, rebind(name));
	ASSERT_EQ(0, open_one(&again));
	expect_well(_metadata, &again, &self->copy, npu_now_ns());
	npu_dev_close(&again);
}

TEST_HARNESS_MAIN
