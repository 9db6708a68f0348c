// SPDX-License-Identifier: GPL-2.0-only
/* The device goes and comes back under its users: unbind, rescan, reset, sleep. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"
#include "npu_vgem.h"

#define WAIT	60
#define JOBS	64u

FIXTURE(lifecycle) {
	char pci[PATH_MAX];	/* folder of the PCI device in sysfs */
	char name[64];		/* its address */
	struct npu_copy copy;
};

/* udev, or mdev, may take a moment. */
static int open_again(struct npu_dev *dev)
{
	int i, ret = -ENODEV;

	for (i = 0; i < 100 && ret; i++) {
		ret = npu_dev_open_paged(dev, NULL);
		if (ret)
			usleep(100000);
	}
	return ret;
}

FIXTURE_SETUP(lifecycle)
{
	struct npu_dev dev;
	int ret = npu_dev_open_paged(&dev, &self->copy);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_pci_folder(dev.fd, self->pci, sizeof(self->pci)));
	npu_dev_close(&dev);
	snprintf(self->name, sizeof(self->name), "%s", strrchr(self->pci, '/') + 1);
}

FIXTURE_TEARDOWN(lifecycle)
{
	npu_write_file(self->pci, "power/autosuspend_delay_ms", "2500");
}

static void expect_well(struct __test_metadata *_metadata, struct npu_dev *dev,
			const struct npu_copy *copy)
{
	memset(dev->stream.cpu + NPU_DATA_IN * NPU_PAGE, 0x5a, NPU_PAGE);
	memset(dev->stream.cpu + NPU_DATA_OUT * NPU_PAGE, 0, NPU_PAGE);
	EXPECT_EQ(0, npu_copy_run(dev, copy, WAIT));
	EXPECT_EQ(0x5a, dev->stream.cpu[(NPU_DATA_OUT + 1) * NPU_PAGE - 1]);
}

static void submit_load(struct __test_metadata *_metadata, struct npu_dev *dev,
			const struct npu_copy *copy, uint32_t sync[JOBS])
{
	struct npu_copy load = *copy;
	uint32_t i;

	load.times = 16;
	load.slot = 1;
	for (i = 0; i < JOBS; i++) {
		ASSERT_EQ(0, npu_syncobj_create(dev->fd, &sync[i]));
		ASSERT_EQ(0, npu_copy_submit(dev, &load, sync[i], NULL));
	}
}

static sigjmp_buf bus_error;

static void on_bus_error(int signal)
{
	siglongjmp(bus_error, signal);
}

/* Memory of a device that is gone: the old data, or SIGBUS. */
static void touch(struct __test_metadata *_metadata, struct npu_buf *buf)
{
	volatile uint8_t byte;

	signal(SIGBUS, on_bus_error);
	if (!sigsetjmp(bus_error, 1)) {
		byte = buf->cpu[NPU_DATA_IN * NPU_PAGE];
		EXPECT_EQ(0x5a, byte);
	} else {
		TH_LOG("SIGBUS");
	}
	signal(SIGBUS, SIG_DFL);
}

/*
 * 61, 62: unbound with a file open, memory mapped, a dma-buf alive and fences pending. All fences
 * signal, all ioctls say so, all closes are clean, and the driver can be bound again meanwhile.
 */
TEST_F_TIMEOUT(lifecycle, unbind_with_all_alive, 180)
{
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_npu_vm_create vm = {};
	struct npu_dev dev, again;
	uint32_t sync[JOBS], i;

	npu_expect_log("npu");
	ASSERT_EQ(0, npu_dev_open_paged(&dev, NULL));
	expect_well(_metadata, &dev, &self->copy);
	prime.handle = dev.stream.handle;
	ASSERT_EQ(0, npu_ioctl(dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	submit_load(_metadata, &dev, &self->copy, sync);

	ASSERT_EQ(0, npu_write_file(self->pci, "driver/unbind", self->name));
	EXPECT_EQ(-ENODEV, npu_ioctl(dev.fd, DRM_IOCTL_NPU_VM_CREATE, &vm));
	EXPECT_EQ(-ENODEV, npu_copy_submit(&dev, &self->copy, 0, NULL));
	touch(_metadata, &dev.stream);

	ASSERT_EQ(0, npu_write_file("/sys/bus/pci/drivers/npu", "bind", self->name));
	ASSERT_EQ(0, open_again(&again));
	expect_well(_metadata, &again, &self->copy);
	for (i = 0; i < JOBS; i++)
		npu_syncobj_destroy(dev.fd, sync[i]);
	npu_dev_close(&dev);
	close(prime.fd);
	expect_well(_metadata, &again, &self->copy);
	npu_dev_close(&again);
}

/* A job that waits for a fence of vgem's; how it ends, the file says. */
static int submit_behind(struct npu_dev *dev, const struct npu_copy *copy, struct npu_vgem *vgem,
			 int *end)
{
	struct drm_npu_sync_op sync[2] = {
		{ .flags = DRM_NPU_SYNC_OP_WAIT }, { .flags = DRM_NPU_SYNC_OP_SIGNAL },
	};
	struct drm_npu_region regions[2];
	struct drm_npu_job job;
	int ret, file;

	ret = npu_vgem_fence(vgem, &file);
	if (ret)
		return ret;
	ret = npu_syncobj_create(dev->fd, &sync[0].handle);
	if (!ret)
		ret = npu_syncobj_create(dev->fd, &sync[1].handle);
	if (!ret)
		ret = npu_syncobj_import(dev->fd, sync[0].handle, file);
	close(file);
	if (ret)
		return ret;
	npu_copy_job(dev, copy, regions, &job);
	job.syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(2, sync);
	ret = npu_submit_jobs(dev->fd, dev->queue, &job, 1, NULL);
	return ret ? ret : npu_syncobj_fence(dev->fd, sync[1].handle, end);
}

static bool comes_to_sleep(const char *pci)
{
	int i;

	npu_write_file(pci, "power/autosuspend_delay_ms", "100");
	for (i = 0; i < 50 && !npu_file_says(pci, "power/runtime_status", "suspended"); i++)
		usleep(100000);
	return npu_file_says(pci, "power/runtime_status", "suspended");
}

/*
 * The driver goes though a job waits for another device, whose fence does not signal: with the
 * job's file open, or closed. The job keeps neither the next driver's device awake, nor ends before
 * what it waits for; but the module stays.
 */
static void unbind_before_stranger(struct __test_metadata *_metadata,
				   FIXTURE_DATA(lifecycle) *self, bool closed)
{
	struct npu_dev dev, again;
	struct npu_vgem vgem;
	uint64_t start;
	int end, i;

	npu_expect_log("npu");
	ASSERT_EQ(0, npu_dev_open_paged(&dev, NULL));
	ASSERT_EQ(0, npu_vgem_open(&vgem));
	ASSERT_EQ(0, submit_behind(&dev, &self->copy, &vgem, &end));
	if (closed)
		npu_dev_close(&dev);
	start = npu_now_ns();
	ASSERT_EQ(0, npu_write_file(self->pci, "driver/unbind", self->name));
	EXPECT_GT(5, (npu_now_ns() - start) / 1e9);
	EXPECT_EQ(0, npu_fence_status(end));
	EXPECT_EQ(-1, syscall(SYS_delete_module, "npu", O_NONBLOCK));
	ASSERT_EQ(0, npu_write_file("/sys/bus/pci/drivers/npu", "bind", self->name));
	ASSERT_EQ(0, open_again(&again));
	expect_well(_metadata, &again, &self->copy);
	npu_dev_close(&again);
	EXPECT_TRUE(comes_to_sleep(self->pci));
	EXPECT_EQ(0, npu_vgem_signal(&vgem));
	for (i = 0; i < 500 && !npu_fence_status(end); i++)
		usleep(10000);
	EXPECT_EQ(-ENODEV, npu_fence_status(end));
	if (!closed)
		npu_dev_close(&dev);
	close(end);
	npu_vgem_close(&vgem);
	ASSERT_EQ(0, open_again(&again));
	expect_well(_metadata, &again, &self->copy);
	npu_dev_close(&again);
	EXPECT_TRUE(comes_to_sleep(self->pci));
}

TEST_F_TIMEOUT(lifecycle, unbind_while_a_job_waits_for_a_stranger, 60)
{
	unbind_before_stranger(_metadata, self, false);
}

TEST_F_TIMEOUT(lifecycle, unbind_behind_a_file_whose_job_waits_for_a_stranger, 60)
{
	unbind_before_stranger(_metadata, self, true);
}

/* 63 */
TEST_F_TIMEOUT(lifecycle, remove_and_rescan, 180)
{
	struct npu_dev dev, again;
	uint32_t sync[JOBS];

	npu_expect_log("npu");
	ASSERT_EQ(0, npu_dev_open_paged(&dev, NULL));
	submit_load(_metadata, &dev, &self->copy, sync);
	ASSERT_EQ(0, npu_write_file(self->pci, "remove", "1"));
	EXPECT_EQ(-ENODEV, npu_copy_submit(&dev, &self->copy, 0, NULL));
	ASSERT_EQ(0, npu_write_file("/sys/bus/pci", "rescan", "1"));
	ASSERT_EQ(0, open_again(&again));
	expect_well(_metadata, &again, &self->copy);
	npu_dev_close(&dev);
	expect_well(_metadata, &again, &self->copy);
	npu_dev_close(&again);
}

/* 64 */
TEST_F(lifecycle, module_is_busy_while_a_file_is_open)
{
	struct npu_dev dev;

	ASSERT_EQ(0, npu_dev_open_paged(&dev, NULL));
	EXPECT_EQ(-1, syscall(SYS_delete_module, "npu", O_NONBLOCK));
	EXPECT_TRUE(errno == EAGAIN || errno == EBUSY);
	expect_well(_metadata, &dev, &self->copy);
	npu_dev_close(&dev);
}

/*
 * A fence in a file of its own outlives all other files of the device. What it has to say is the
 * module's, which stays as long.
 */
TEST_F_TIMEOUT(lifecycle, module_is_busy_while_a_fence_lives, 60)
{
	struct npu_dev dev;
	uint32_t sync;
	int fence, i;

	ASSERT_EQ(0, npu_dev_open_paged(&dev, NULL));
	ASSERT_EQ(0, npu_syncobj_create(dev.fd, &sync));
	ASSERT_EQ(0, npu_copy_submit(&dev, &self->copy, sync, NULL));
	ASSERT_EQ(0, npu_syncobj_wait(dev.fd, sync, 0, WAIT));
	ASSERT_EQ(0, npu_syncobj_fence(dev.fd, sync, &fence));
	npu_dev_close(&dev);
	EXPECT_EQ(-1, syscall(SYS_delete_module, "npu", O_NONBLOCK));
	EXPECT_TRUE(errno == EAGAIN || errno == EBUSY);
	EXPECT_EQ(1, npu_fence_status(fence));
	close(fence);
	for (i = 0; i < 100 && syscall(SYS_delete_module, "npu", O_NONBLOCK); i++)
		usleep(20000);
	EXPECT_LT(i, 100);
	ASSERT_EQ(0, system("modprobe npu"));
	ASSERT_EQ(0, open_again(&dev));
	expect_well(_metadata, &dev, &self->copy);
	npu_dev_close(&dev);
}

/* Each has ended, well or as an innocent; memory and queue go on. */
static void expect_innocent(struct __test_metadata *_metadata, struct npu_dev *dev,
			    const uint32_t *sync, const struct npu_copy *copy)
{
	struct drm_npu_queue_get_state state;
	uint32_t i, lost = 0;
	int status;

	for (i = 0; i < JOBS; i++) {
		ASSERT_EQ(0, npu_syncobj_wait(dev->fd, sync[i], 0, WAIT));
		status = npu_syncobj_status(dev->fd, sync[i]);
		EXPECT_TRUE(status == 1 || status == -ECANCELED);
		lost += status != 1;
		npu_syncobj_destroy(dev->fd, sync[i]);
	}
	TH_LOG("%u of %u jobs were lost", lost, JOBS);
	EXPECT_LE(lost, 1);
	ASSERT_EQ(0, npu_queue_state(dev->fd, dev->queue, &state));
	EXPECT_EQ(lost ? DRM_NPU_QUEUE_STATE_INNOCENT : 0,
		  state.state & ~DRM_NPU_QUEUE_STATE_INNOCENT ? ~0u : state.state);
	expect_well(_metadata, dev, copy);
}

/* 65 */
TEST_F_TIMEOUT(lifecycle, function_level_reset, 180)
{
	uint32_t sync[JOBS], i;
	struct npu_dev dev;

	npu_expect_log("npu");
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, npu_dev_open_paged(&dev, NULL));
		submit_load(_metadata, &dev, &self->copy, sync);
		ASSERT_EQ(0, npu_write_file(self->pci, "reset", "1"));
		expect_innocent(_metadata, &dev, sync, &self->copy);
		npu_dev_close(&dev);
	}
}

TEST_F_TIMEOUT(lifecycle, forced_reset, 180)
{
	char folder[PATH_MAX];
	uint32_t sync[JOBS];
	struct npu_dev dev;

	npu_expect_log("npu");
	snprintf(folder, sizeof(folder), "/sys/kernel/debug/accel/%s", self->name);
	ASSERT_EQ(0, npu_dev_open_paged(&dev, NULL));
	submit_load(_metadata, &dev, &self->copy, sync);
	if (npu_write_file(folder, "force_reset", "1"))
		SKIP(return, "no debugfs");
	expect_innocent(_metadata, &dev, sync, &self->copy);
	npu_dev_close(&dev);
}

/* 58: data and queues of a device that was off in between. */
TEST_F_TIMEOUT(lifecycle, autosuspend, 60)
{
	struct npu_dev dev;
	int i;

	ASSERT_EQ(0, npu_dev_open_paged(&dev, NULL));
	expect_well(_metadata, &dev, &self->copy);
	ASSERT_EQ(0, npu_write_file(self->pci, "power/autosuspend_delay_ms", "100"));
	for (i = 0; i < 100 && !npu_file_says(self->pci, "power/runtime_status", "suspended"); i++)
		usleep(100000);
	ASSERT_TRUE(npu_file_says(self->pci, "power/runtime_status", "suspended"));
	/* An address space changes while nobody listens. */
	ASSERT_EQ(0, npu_unbind(dev.fd, dev.vm, NPU_VA_IN, 2 * NPU_PAGE));
	ASSERT_EQ(0, npu_bind(dev.fd, dev.vm, dev.stream.handle, NPU_DATA_IN * NPU_PAGE,
			      NPU_VA_IN, 2 * NPU_PAGE, 0));
	ASSERT_TRUE(npu_file_says(self->pci, "power/runtime_status", "suspended"));
	expect_well(_metadata, &dev, &self->copy);
	npu_dev_close(&dev);
}

/* Milliseconds that the device has slept for, to be read while it is awake; or a negative errno. */
static int64_t slept_ms(const char *pci)
{
	char path[PATH_MAX + 32];
	long long ms = -EIO;
	FILE *file;

	snprintf(path, sizeof(path), "%s/power/runtime_suspended_time", pci);
	file = fopen(path, "r");
	if (!file)
		return -errno;
	if (fscanf(file, "%lld", &ms) != 1)
		ms = -EIO;
	fclose(file);
	return ms;
}

/*
 * 59: a job as soon as the device wants to sleep, again and again, until it has slept so often.
 * Pauses go from less to more than it takes to fall asleep.
 */
TEST_F_TIMEOUT(lifecycle, suspend_against_submit, 900)
{
	const int count = npu_sys_long() ? 1000 : 60;
	int64_t asleep, before = 0;
	uint64_t start = npu_now_ns();
	int i, slept = 0;
	struct npu_dev dev;

	ASSERT_EQ(0, npu_dev_open_paged(&dev, NULL));
	ASSERT_EQ(0, npu_write_file(self->pci, "power/autosuspend_delay_ms", "0"));
	for (i = 0; slept < count && i < 50 * count; i++) {
		ASSERT_EQ(0, npu_copy_run(&dev, &self->copy, WAIT));
		asleep = slept_ms(self->pci);
		ASSERT_LE(before, asleep);
		slept += i && asleep > before;
		before = asleep;
		usleep(i * 37 % 60 * 1000);
	}
	EXPECT_EQ(count, slept);
	TH_LOG("asleep %d times in %d jobs and %.1f s", slept, i, (npu_now_ns() - start) / 1e9);
	npu_dev_close(&dev);
}

TEST_HARNESS_MAIN
