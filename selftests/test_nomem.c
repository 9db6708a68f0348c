// SPDX-License-Identifier: GPL-2.0-only
/*
 * 69: calls that run out of memory. The kernels that this is for are built without failslab; a
 * memory cgroup with a little more room each time makes those allocations fail that are charged to
 * programs, one after the other. A call is done or says -ENOMEM, and leaves nothing behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"

#define WAIT		30
#define GROUPS		"/tmp/npu-cgroup"
#define GROUP		GROUPS "/npu"

#define BO_PAGES	24u
#define JOBS		8u
#define REGIONS		200u

/* So often in a row nothing fails: there is room enough. */
#define ENOUGH		4u
#define MAX_PAGES	1000u

#define STEPS(X) X(OPEN) X(VM) X(BO) X(MMAP) X(BIND) X(QUEUE) X(SYNCOBJ) X(SUBMIT) X(EXPORT)

enum step {
#define X(name) name,
	STEPS(X)
#undef X
	NUM_STEPS
};

static const char * const step_name[] = {
#define X(name) #name,
	STEPS(X)
#undef X
};

/* What comes of it, in memory that the parent has, too. */
struct outcome {
	uint32_t rounds, enough;
	uint32_t good[NUM_STEPS], nomem[NUM_STEPS], other[NUM_STEPS];
	int error;			/* the last other one; or what the test could not do */
};

/* What one round has made. */
struct things {
	int fd;
	uint32_t vm, queue, sync;
	struct drm_npu_bo_create bo;
};

static struct drm_npu_region regions[REGIONS];
static struct drm_npu_job jobs[JOBS];

static int submit(struct things *t)
{
	static struct drm_npu_sync_op op;
	uint32_t i;
	int ret;

	op = (struct drm_npu_sync_op) { .flags = DRM_NPU_SYNC_OP_SIGNAL, .handle = t->sync };
	for (i = 0; i < REGIONS; i++)
		regions[i] = (struct drm_npu_region) {
			.base = NPU_VA_IN, .size = NPU_PAGE, .access = DRM_NPU_ACCESS_READ,
		};
	/* There is no stream: that they fault is the end of each. */
	for (i = 0; i < JOBS; i++)
		jobs[i] = (struct drm_npu_job) {
			.stream = NPU_VA_STREAM, .stream_size = NPU_PAGE,
			.regions = DRM_NPU_OBJ_ARRAY(REGIONS, regions),
			.syncs = DRM_NPU_OBJ_ARRAY(1, &op),
		};
	ret = npu_submit_jobs(t->fd, t->queue, jobs, JOBS, NULL);
	/* The first one has faulted before the last one came. */
	return ret == -EIO ? 0 : ret;
}

static int export_bo(struct things *t)
{
	struct drm_prime_handle prime = { .handle = t->bo.handle, .flags = DRM_CLOEXEC };
	int ret = npu_ioctl(t->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);

	if (!ret)
		close(prime.fd);
	return ret;
}

static int do_step(struct things *t, enum step step)
{
	struct drm_npu_bo_mmap_offset offset = { .handle = t->bo.handle };

	switch (step) {
	case OPEN:
		t->fd = npu_open();
		/* It is there: what could be opened only once is what is looked for. */
		return t->fd < 0 ? (t->fd == -ENODEV ? -ENOMEM : t->fd) : 0;
	case VM:
		return npu_vm_create(t->fd, &t->vm);
	case BO:
		return npu_ioctl(t->fd, DRM_IOCTL_NPU_BO_CREATE, &t->bo);
	case MMAP:
		return npu_ioctl(t->fd, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &offset);
	case BIND:
		return npu_bind(t->fd, t->vm, t->bo.handle, 0, NPU_VA_IN, t->bo.size, 0);
	case QUEUE:
		return npu_queue_create(t->fd, t->vm, 1, 0, &t->queue);
	case SYNCOBJ:
		return npu_syncobj_create(t->fd, &t->sync);
	case SUBMIT:
		return submit(t);
	default:
		return export_bo(t);
	}
}

/* All steps, until one fails; then the file takes everything with it. */
static bool run_round(struct outcome *out)
{
	struct things t = { .fd = -1, .bo = { .size = BO_PAGES * NPU_PAGE } };
	uint32_t step;
	int ret = 0;

	for (step = 0; step < NUM_STEPS && !ret; step++) {
		ret = do_step(&t, step);
		out->good[step] += !ret;
		out->nomem[step] += ret == -ENOMEM;
		out->other[step] += ret && ret != -ENOMEM;
		if (ret && ret != -ENOMEM)
			out->error = ret;
	}
	if (t.fd >= 0)
		close(t.fd);
	return !ret;
}

static int64_t read_number(int fd)
{
	char text[32] = "";

	return pread(fd, text, sizeof(text) - 1, 0) <= 0 ? -errno : strtoll(text, NULL, 10);
}

static int write_number(int fd, int64_t number)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%lld", (long long)number);

	return pwrite(fd, text, len, 0) == len ? 0 : -errno;
}

/* Room for @pages more than there are, and none in the pockets of processors. */
static int set_room(int limit, int current, uint32_t pages)
{
	int ret = write_number(limit, NPU_PAGE);
	int64_t used = read_number(current);

	if (ret || used < 0)
		return ret ? ret : used;
	return write_number(limit, used + (int64_t)pages * NPU_PAGE);
}

/* In the group, and not to be killed: then allocations fail. Nothing is to be paged in later. */
static int enter_group(void)
{
	int ret = npu_sys_write("/proc/self/oom_score_adj", "-1000");

	if (!ret)
		ret = npu_sys_write(GROUP "/cgroup.procs", "0");
	return ret ? ret : mlockall(MCL_CURRENT | MCL_FUTURE) ? -errno : 0;
}

static void sweep(struct outcome *out)
{
	int limit = open(GROUP "/memory.max", O_RDWR | O_CLOEXEC);
	int current = open(GROUP "/memory.current", O_RDONLY | O_CLOEXEC);
	struct outcome warm = {};
	uint32_t pages;

	out->error = limit < 0 || current < 0 ? -errno : enter_group();
	if (out->error)
		_exit(1);
	/* The first look at a file of the kernel's allocates, too. */
	if (read_number(current) < 0 || !run_round(&warm)) {
		out->error = warm.error;
		_exit(2);
	}
	for (pages = 0; pages < MAX_PAGES && out->enough < ENOUGH; pages++) {
		out->error = set_room(limit, current, pages);
		if (out->error)
			_exit(3);
		out->enough = run_round(out) ? out->enough + 1 : 0;
		out->rounds++;
		if (pwrite(limit, "max", 3, 0) != 3)
			_exit(4);
	}
	_exit(0);
}

/* The second hierarchy, with the controller of memory; -ENOTSUP where there is none. */
static int make_group(void)
{
	int ret;

	mkdir(GROUPS, 0700);
	if (mount("none", GROUPS, "cgroup2", 0, NULL))
		return -ENOTSUP;
	ret = npu_sys_write(GROUPS "/cgroup.subtree_control", "+memory");
	if (!ret && mkdir(GROUP, 0700))
		ret = -errno;
	if (ret)
		umount(GROUPS);
	return ret ? -ENOTSUP : 0;
}

static void remove_group(void)
{
	uint32_t i;

	/* What is released by workers is charged until then. */
	for (i = 0; i < 100 && rmdir(GROUP); i++)
		usleep(20000);
	umount(GROUPS);
	rmdir(GROUPS);
}

static void report(struct __test_metadata *_metadata, const struct outcome *out)
{
	uint32_t step;

	TH_LOG("%u rounds", out->rounds);
	for (step = 0; step < NUM_STEPS; step++)
		TH_LOG("%-8s done %u times, without memory %u times, other errors %u",
		       step_name[step], out->good[step], out->nomem[step], out->other[step]);
}

FIXTURE(nomem) {
};

FIXTURE_SETUP(nomem)
{
}

FIXTURE_TEARDOWN(nomem)
{
}

TEST_F_TIMEOUT(nomem, calls_without_memory, 170)
{
	struct outcome *out = mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int64_t left, memory;
	char pci[NPU_SYS_NAME];
	struct npu_dev dev;
	uint32_t step, failed = 0;
	int status, ret = npu_dev_open(&dev);
	pid_t pid;

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_NE(MAP_FAILED, out);
	ASSERT_EQ(0, npu_sys_pci(dev.fd, pci));
	if (make_group())
		SKIP(return, "69: no memory cgroup, and no failslab");
	left = npu_sys_debugfs_lines(pci);
	npu_expect_log("npu ");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		sweep(out);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	remove_group();
	report(_metadata, out);
	EXPECT_EQ(0, status) TH_LOG("error %d", out->error);
	EXPECT_EQ(ENOUGH, out->enough);
	for (step = 0; step < NUM_STEPS; step++) {
		EXPECT_EQ(0, out->other[step]) TH_LOG("%s: %d", step_name[step], out->error);
		failed += out->nomem[step] > 0;
	}
	/* Of those that allocate for a program most have been without. */
	EXPECT_LE(3, failed);
	for (step = 0; step < 100 && npu_sys_debugfs_lines(pci) != left; step++)
		usleep(20000);
	EXPECT_EQ(left, npu_sys_debugfs_lines(pci));
	memory = npu_sys_fdinfo(dev.fd, "drm-total-memory");
	EXPECT_EQ(dev.stream.size, memory);
	npu_dev_close(&dev);
}

TEST_HARNESS_MAIN
