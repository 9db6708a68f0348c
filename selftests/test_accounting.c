// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is counted: a file's engine time, jobs and memory in fdinfo, the work of MMU, firmware and
 * engines in debugfs; and that nothing is left of what has been destroyed.
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
#define SIZE		(64u << 10)

/* What comes and goes in the kernel's memory whatever a test does. */
#define MEMORY_NOISE	(256 << 10)

FIXTURE(accounting) {
	struct npu_dev dev;
	struct npu_buf data;
	struct npu_copy copy;
	char pci[NPU_SYS_NAME];
};

FIXTURE_SETUP(accounting)
{
	int ret = npu_dev_open_buf(&self->dev, SIZE, &self->data, &self->copy);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_sys_pci(self->dev.fd, self->pci));
}

FIXTURE_TEARDOWN(accounting)
{
	npu_buf_destroy(self->dev.fd, &self->data);
	npu_dev_close(&self->dev);
}

static int64_t counter(FIXTURE_DATA(accounting) *self, const char *name)
{
	return npu_sys_debugfs_number(self->pci, "counters", name);
}

/* 66: jobs and time are those of the jobs' results, to the nanosecond; of this file alone. */
TEST_F(accounting, fdinfo_counts_jobs_and_engine_time)
{
	struct drm_npu_job_get_result result;
	struct drm_npu_npu_info info;
	int64_t busy = 0, instructions = 0, device = counter(self, "busy-ns");
	struct npu_dev idle;
	uint32_t i;

	ASSERT_EQ(0, npu_dev_open(&idle));
	ASSERT_EQ(0, npu_npu_info(self->dev.fd, &info));
	EXPECT_EQ(info.num_engines, npu_sys_fdinfo(self->dev.fd, "drm-engine-capacity-npu"));
	EXPECT_EQ(0, npu_sys_fdinfo(self->dev.fd, "drm-engine-npu"));
	EXPECT_EQ(0, npu_sys_fdinfo(self->dev.fd, "npu-jobs"));
	for (i = 1; i <= 10; i++) {
		ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
		ASSERT_EQ(0, npu_job_result(self->dev.fd, self->dev.queue, i, &result));
		EXPECT_LT(0, result.busy_ns);
		EXPECT_LE(result.busy_ns, result.ended_ns - result.started_ns);
		busy += result.busy_ns;
		instructions += result.insns;
		EXPECT_EQ(i, npu_sys_fdinfo(self->dev.fd, "npu-jobs"));
		EXPECT_EQ(busy, npu_sys_fdinfo(self->dev.fd, "drm-engine-npu"));
	}
	EXPECT_EQ(10 * 5, instructions);
	EXPECT_EQ(device + busy, counter(self, "busy-ns"));
	EXPECT_EQ(0, npu_sys_fdinfo(idle.fd, "npu-jobs"));
	EXPECT_EQ(0, npu_sys_fdinfo(idle.fd, "drm-engine-npu"));
	/* A queue takes its jobs along; the file's count stays. */
	ASSERT_EQ(0, npu_queue_destroy(self->dev.fd, self->dev.queue));
	EXPECT_EQ(10, npu_sys_fdinfo(self->dev.fd, "npu-jobs"));
	npu_dev_close(&idle);
}

/* Memory is what the file's buffers have. */
TEST_F(accounting, fdinfo_counts_memory)
{
	int fd = self->dev.fd;
	int64_t before = npu_sys_fdinfo(fd, "drm-total-memory");
	struct npu_buf buf[4];
	uint32_t i;

	EXPECT_EQ(self->dev.stream.size + self->data.size, before);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, npu_buf_create(fd, SIZE << i, 0, 0, &buf[i]));
		EXPECT_EQ(before + ((int64_t)(SIZE << (i + 1)) - SIZE),
			  npu_sys_fdinfo(fd, "drm-total-memory"));
	}
	for (i = 0; i < 4; i++)
		npu_buf_destroy(fd, &buf[i]);
	EXPECT_EQ(before, npu_sys_fdinfo(fd, "drm-total-memory"));
}

/* MMU, firmware and engines do the work, not something beside them. */
TEST_F(accounting, counters_move_with_the_work)
{
	static const char * const names[] = {
		"page-walks", "tlb-hits", "mcu-insns", "engine-insns", "engine-ns", "doorbells",
		"irqs",
	};
	int64_t before[7], few[7], many[7];
	uint32_t i, k;

	for (i = 0; i < 7; i++) {
		before[i] = counter(self, names[i]);
		ASSERT_LE(0, before[i]);
	}
	ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
	for (i = 0; i < 7; i++)
		few[i] = counter(self, names[i]) - before[i];
	for (k = 0; k < 20; k++) {
		/* Mapped anew each time: the TLB has nothing of it. */
		ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, self->data.handle, 0, NPU_VA_IN,
				      2 * SIZE, 0));
		ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
	}
	for (i = 0; i < 7; i++) {
		many[i] = counter(self, names[i]) - before[i] - few[i];
		TH_LOG("%s: %lld by one job, %lld by 20", names[i], (long long)few[i],
		       (long long)many[i]);
	}
	/* Each job reads 16 pages and writes 16, by four copies and an end. */
	EXPECT_LE(20 * 32, many[0]);
	EXPECT_LE(1, many[1]);
	EXPECT_LE(20 * 100, many[2]);
	EXPECT_EQ(5, few[3]);
	EXPECT_EQ(20 * 5, many[3]);
	EXPECT_LT(0, few[4]);
	EXPECT_LT(0, many[4]);
	EXPECT_LE(20, many[5]);
	EXPECT_LE(1, many[6]);
}

/* Messages to the virtual device that map memory, up to now; a negative errno. */
static int64_t map_messages(void)
{
	static const char key[] = "\"dma-maps\":";
	char answer[1024];
	int ret = npu_host("vdev 0 counters", answer, sizeof(answer));
	const char *at;

	if (ret)
		return ret;
	at = strstr(answer, key);
	return at ? strtoll(at + strlen(key), NULL, 10) : -ENOENT;
}

/*
 * Behind an IOMMU each piece of memory is a message, so a large buffer is made of large ones. Else
 * there is none, all of memory is mapped from the beginning.
 */
TEST_F_TIMEOUT(accounting, messages_that_map_a_large_buffer, 60)
{
	bool intel = !access("/sys/class/iommu/dmar0", F_OK);
	const size_t size = 64u << 20;
	struct npu_buf large;
	int64_t before, now;

	before = map_messages();
	if (before < 0)
		SKIP(return, "there is no host that counts them");
	/* What programs before have left in pieces. */
	npu_sys_write("/proc/sys/vm/compact_memory", "1");
	before = map_messages();
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, size, 0, 0, &large));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, large.handle, 0, NPU_VA_OUT, size, 0));
	self->copy = (struct npu_copy) {
		.in = NPU_VA_OUT, .out = NPU_VA_OUT + size / 2, .size = size / 2,
	};
	memset(large.cpu, 0x5a, size / 2);
	ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
	EXPECT_EQ(0x5a, large.cpu[size - 1]);
	now = map_messages();
	TH_LOG("%lld messages for 64 MiB", (long long)(now - before));
	EXPECT_LE(intel ? 1 : 0, now - before);
	EXPECT_GE(64, now - before);
	npu_buf_destroy(self->dev.fd, &large);
}

/* One of everything. */
struct things {
	struct npu_buf buf;
	uint32_t vm, queue;
};

static int make(struct npu_dev *dev, struct things *t, uint32_t round)
{
	int ret = npu_vm_create(dev->fd, &t->vm);

	if (!ret)
		ret = npu_buf_create(dev->fd, NPU_PAGE << round % 4, 0, round % 3 ? 0 : t->vm,
				     &t->buf);
	if (!ret)
		ret = npu_bind(dev->fd, t->vm, t->buf.handle, 0, NPU_VA_IN, t->buf.size, 0);
	return ret ? ret : npu_queue_create(dev->fd, dev->vm, 1, 1 << round % 5, &t->queue);
}

static int destroy(struct npu_dev *dev, struct things *t)
{
	struct drm_npu_vm_destroy vm = { .id = t->vm };
	int ret = npu_queue_destroy(dev->fd, t->queue);

	npu_buf_destroy(dev->fd, &t->buf);
	return ret ? ret : npu_ioctl(dev->fd, DRM_IOCTL_NPU_VM_DESTROY, &vm);
}

static int make_use_and_destroy(struct npu_dev *dev, const struct npu_copy *copy, uint32_t round)
{
	struct npu_dev other = *dev;
	struct things t;
	int ret = make(dev, &t, round);

	other.queue = t.queue;
	if (!ret && !(round % 8))
		ret = npu_copy_run(&other, copy, WAIT);
	return ret ? ret : destroy(dev, &t);
}

struct reader {
	const char *pci;
	volatile bool quit;
	uint32_t reads, bad;
};

static void *read_all(void *arg)
{
	static const char * const names[] = {
		"fw_log", "fw_info", "counters", "gems", "vms", "queues", "timeout_ms",
	};
	struct reader *r = arg;
	char path[160], line[256];
	uint32_t i, got;
	FILE *file;

	for (i = 0; !r->quit; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/%s", r->pci, names[i % 7]);
		file = fopen(path, "r");
		for (got = 0; file && fgets(line, sizeof(line), file); got++)
			;
		r->bad += !got;
		r->reads++;
		if (file)
			fclose(file);
	}
	return NULL;
}

/* 67: debugfs is read while jobs run, buffers and queues come and go, and the device is reset. */
TEST_F_TIMEOUT(accounting, debugfs_under_load, 120)
{
	struct reader reader = { .pci = self->pci };
	struct things things;
	pthread_t thread;
	uint32_t i;
	int ret;

	npu_expect_log("npu .*(asked for|resetting)");
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_all, &reader));
	for (i = 0; i < 60; i++) {
		ASSERT_EQ(0, make(&self->dev, &things, i));
		if (i % 20 == 10)
			ASSERT_EQ(0, npu_sys_debugfs_write(self->pci, "force_reset", "1"));
		ret = npu_copy_run(&self->dev, &self->copy, WAIT);
		ASSERT_TRUE(!ret || ret == -ECANCELED);
		ASSERT_EQ(0, destroy(&self->dev, &things));
	}
	reader.quit = true;
	pthread_join(thread, NULL);
	TH_LOG("%u files were read", reader.reads);
	EXPECT_LT(7, reader.reads);
	EXPECT_EQ(0, reader.bad);
}

/* 24: the kernel's memory is the same after many of them. */
TEST_F_TIMEOUT(accounting, nothing_is_left_of_many, 600)
{
	uint32_t i, warm = 100, count = npu_sys_long() ? 10000 : 500;
	int64_t before = 0, after, live, mapped = npu_sys_fdinfo(self->dev.fd, "drm-total-memory");
	struct things some[8];

	for (i = 0; i < warm + count; i++) {
		if (i == warm)
			before = npu_sys_kernel_memory();
		ASSERT_EQ(0, make_use_and_destroy(&self->dev, &self->copy, i));
	}
	/* What is released is released by workers. */
	usleep(200000);
	after = npu_sys_kernel_memory();
	TH_LOG("%u times: %lld KiB more", count, (long long)(after - before) / 1024);
	ASSERT_LT(0, before);
	EXPECT_LT(after, before + MEMORY_NOISE);
	EXPECT_EQ(mapped, npu_sys_fdinfo(self->dev.fd, "drm-total-memory"));

	/* One that measured nothing would say the same. */
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, make(&self->dev, &some[i], i));
	live = npu_sys_kernel_memory();
	TH_LOG("8 that are alive have %lld KiB", (long long)(live - after) / 1024);
	EXPECT_LT(after + MEMORY_NOISE, live);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, destroy(&self->dev, &some[i]));
}

TEST_HARNESS_MAIN
