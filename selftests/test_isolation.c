// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a job must not reach: what another context left in on-chip memory, in its address space or
 * in its region table, memory while bus mastering is off. tests/guest/in/mutants.sh runs these with
 * devices that have the defect.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"

#define WAIT		60

/* What recovery says. */
#define LOG		"npu |firmware|queue|fatal|reset|device|DMAR|fault"

#define NO_FAULTS	"there is no host that arms faults of the device"

/* Regions of the jobs here. */
enum { DATA, SRAM, NUM_REGIONS };

/* A program with a buffer that is twice as large as on-chip memory. */
struct user {
	struct npu_dev dev;
	struct npu_buf data;
	uint32_t sram;			/* bytes */
	struct drm_npu_region regions[NUM_REGIONS];
};

static int user_open(struct user *user)
{
	struct drm_npu_npu_info info;
	int ret = npu_dev_open(&user->dev);

	if (!ret)
		ret = npu_npu_info(user->dev.fd, &info);
	if (ret)
		return ret;
	user->sram = info.sram_size;
	ret = npu_buf_create(user->dev.fd, 2 * user->sram, 0, 0, &user->data);
	if (ret)
		return ret;
	user->regions[DATA] = (struct drm_npu_region) {
		.base = NPU_VA_IN, .size = user->data.size,
		.access = DRM_NPU_ACCESS_READ | DRM_NPU_ACCESS_WRITE,
	};
	user->regions[SRAM] = (struct drm_npu_region) {
		.size = user->sram,
		.access = DRM_NPU_ACCESS_READ | DRM_NPU_ACCESS_WRITE | DRM_NPU_ACCESS_SRAM,
	};
	return npu_bind(user->dev.fd, user->dev.vm, user->data.handle, 0, NPU_VA_IN,
			user->data.size, 0);
}

static void user_close(struct user *user)
{
	npu_buf_destroy(user->dev.fd, &user->data);
	npu_dev_close(&user->dev);
}

/* A job of these copies; it is not read any more when there is another one. */
static void user_job(struct user *user, const struct npu_line *lines, uint32_t count,
		     struct drm_npu_job *job)
{
	memset(user->dev.stream.cpu, 0, NPU_PAGE);
	*job = (struct drm_npu_job) {
		.stream = NPU_VA_STREAM,
		.stream_size = npu_lines_stream(user->dev.stream.cpu, lines, count, NUM_REGIONS),
		.regions = DRM_NPU_OBJ_ARRAY(NUM_REGIONS, user->regions),
	};
}

static int user_run(struct user *user, const struct npu_line *lines, uint32_t count)
{
	struct drm_npu_job job;

	user_job(user, lines, count, &job);
	return npu_job_run(user->dev.fd, user->dev.queue, &job, WAIT);
}

static bool is_filled(const uint8_t *bytes, size_t size, uint8_t value)
{
	return bytes[0] == value && !memcmp(bytes, bytes + 1, size - 1);
}

/* All of on-chip memory as a new job finds it, into the first half of the buffer. */
static int peek(struct user *user)
{
	const struct npu_line line = { .out = DATA, .in = SRAM, .size = user->sram };

	memset(user->data.cpu, 0xee, user->data.size);
	return user_run(user, &line, 1);
}

FIXTURE(isolation) {
	struct user first, second;
};

FIXTURE_SETUP(isolation)
{
	int ret;

	memset(self, 0, sizeof(*self));
	ret = user_open(&self->first);
	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, user_open(&self->second));
}

FIXTURE_TEARDOWN(isolation)
{
	user_close(&self->first);
	user_close(&self->second);
}

/* Fills on-chip memory and sees that it is there; then more copies, which take their time. */
static void fill_lines(struct npu_line lines[16], uint32_t sram)
{
	uint32_t i;

	lines[0] = (struct npu_line) { .out = SRAM, .in = DATA, .size = sram };
	for (i = 1; i < 16; i++)
		lines[i] = (struct npu_line) { .out = DATA, .in = SRAM, .to = sram, .size = sram };
}

/* A job of 16 lines that fills; sync.handle signals when it has ended. */
struct filler {
	struct drm_npu_sync_op sync;
	struct npu_line lines[16];
	struct drm_npu_job job;
};

static int filler_start(struct filler *f, struct user *user)
{
	int ret;

	f->sync = (struct drm_npu_sync_op) { .flags = DRM_NPU_SYNC_OP_SIGNAL };
	ret = npu_syncobj_create(user->dev.fd, &f->sync.handle);
	if (ret)
		return ret;
	fill_lines(f->lines, user->sram);
	memset(user->data.cpu, 0xa5, user->sram);
	memset(user->data.cpu + user->sram, 0, user->sram);
	user_job(user, f->lines, 16, &f->job);
	f->job.syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &f->sync);
	return npu_submit_jobs(user->dev.fd, user->dev.queue, &f->job, 1, NULL);
}

static void expect_zero(struct __test_metadata *_metadata, struct user *user)
{
	ASSERT_EQ(0, peek(user));
	EXPECT_TRUE(is_filled(user->data.cpu, user->sram, 0));
}

/* Whether the job before ends well, faults or is aborted, nothing of it is there for the next. */
TEST_F_TIMEOUT(isolation, sram_is_zero_at_the_start, 120)
{
	struct user *user = &self->first;
	struct npu_line lines[16];
	struct drm_npu_job job;
	uint32_t i;

	fill_lines(lines, user->sram);
	for (i = 0; i < 4; i++) {
		memset(user->data.cpu, 0xa5, user->sram);
		ASSERT_EQ(0, user_run(user, lines, 2));
		ASSERT_TRUE(is_filled(user->data.cpu + user->sram, user->sram, 0xa5));
		expect_zero(_metadata, &self->second);
	}
	/* Its own next job is no better off. */
	ASSERT_EQ(0, user_run(user, lines, 2));
	expect_zero(_metadata, user);

	memset(user->data.cpu, 0xa5, user->sram);
	lines[1].to = 2ull * user->sram;
	EXPECT_EQ(-EIO, user_run(user, lines, 2));
	expect_zero(_metadata, &self->second);

	fill_lines(lines, user->sram);
	ASSERT_EQ(0, npu_queue_destroy(user->dev.fd, user->dev.queue));
	ASSERT_EQ(0, npu_queue_create(user->dev.fd, user->dev.vm, 1, 0, &user->dev.queue));
	user_job(user, lines, 16, &job);
	ASSERT_EQ(0, npu_submit_jobs(user->dev.fd, user->dev.queue, &job, 1, NULL));
	ASSERT_EQ(0, npu_queue_destroy(user->dev.fd, user->dev.queue));
	expect_zero(_metadata, &self->second);
}

/* A job that makes room for a more urgent one finds what it had, and the other one nothing. */
TEST_F_TIMEOUT(isolation, sram_of_a_preempted_job, 120)
{
	struct user *user = &self->first, *other = &self->second;
	struct drm_npu_job_get_result result;
	struct filler filler;

	if (npu_fault("arm slow-job"))
		SKIP(return, NO_FAULTS);
	ASSERT_EQ(0, filler_start(&filler, user));
	ASSERT_EQ(0, npu_queue_destroy(other->dev.fd, other->dev.queue));
	ASSERT_EQ(0, npu_queue_create(other->dev.fd, other->dev.vm, DRM_NPU_PRIORITY_HIGH, 0,
				      &other->dev.queue));
	expect_zero(_metadata, other);
	ASSERT_EQ(0, npu_syncobj_wait(user->dev.fd, filler.sync.handle, 0, WAIT));
	ASSERT_EQ(1, npu_syncobj_status(user->dev.fd, filler.sync.handle));
	EXPECT_TRUE(is_filled(user->data.cpu + user->sram, user->sram, 0xa5));
	ASSERT_EQ(0, npu_job_result(user->dev.fd, user->dev.queue, filler.job.id, &result));
	EXPECT_LT(1, result.slices);
	expect_zero(_metadata, other);
}

/* The context number of the newest address space, as debugfs has it; in order of their numbers. */
static int64_t last_context(const char *pci)
{
	int64_t number = -ENOENT;
	char path[160], line[256];
	long long context;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/vms", pci);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "context %lld", &context) == 1)
			number = context;
	if (file)
		fclose(file);
	return number;
}

/* Somebody with a secret at NPU_VA_IN, who has used it and goes. His context, or an error. */
static int64_t leave_secret(const char *pci, size_t size)
{
	const struct npu_line line = { .out = DATA, .in = DATA, .to = size / 2, .size = size / 2 };
	struct drm_npu_region region = {
		.base = NPU_VA_IN, .size = size,
		.access = DRM_NPU_ACCESS_READ | DRM_NPU_ACCESS_WRITE,
	};
	struct drm_npu_job job;
	struct npu_dev dev;
	struct npu_buf secret;
	int64_t context;
	int ret = npu_dev_open(&dev);

	if (!ret)
		ret = npu_buf_create(dev.fd, size, 0, 0, &secret);
	if (!ret)
		ret = npu_bind(dev.fd, dev.vm, secret.handle, 0, NPU_VA_IN, size, 0);
	if (ret)
		return ret;
	memset(secret.cpu, 0xa5, size);
	job = (struct drm_npu_job) {
		.stream = NPU_VA_STREAM,
		.stream_size = npu_lines_stream(dev.stream.cpu, &line, 1, 1),
		.regions = DRM_NPU_OBJ_ARRAY(1, &region),
	};
	ret = npu_job_run(dev.fd, dev.queue, &job, WAIT);
	context = last_context(pci);
	npu_buf_destroy(dev.fd, &secret);
	npu_dev_close(&dev);
	return ret ? ret : context;
}

/*
 * Who gets the context of somebody who has gone finds nothing at his addresses, whose translations
 * the device had, and nothing of his in the memory that is new.
 */
TEST_F_TIMEOUT(isolation, memory_of_a_context_before, 120)
{
	const size_t size = 64 * NPU_PAGE;
	struct drm_npu_queue_get_state state;
	char pci[NPU_SYS_NAME];
	struct npu_copy copy = { .in = NPU_VA_IN, .out = NPU_VA_OUT, .size = size };
	struct npu_buf fresh, out;
	struct npu_dev dev;
	int64_t context;
	int lines, i;

	ASSERT_EQ(0, npu_sys_pci(self->first.dev.fd, pci));
	lines = npu_sys_debugfs_lines(pci);
	context = leave_secret(pci, size);
	ASSERT_LT(0, context);
	/* What is released is released by workers. */
	for (i = 0; i < 500 && npu_sys_debugfs_lines(pci) != lines; i++)
		usleep(10000);
	ASSERT_EQ(0, npu_dev_open(&dev));
	ASSERT_EQ(context, last_context(pci));
	ASSERT_EQ(0, npu_buf_create(dev.fd, size, 0, 0, &out));
	ASSERT_EQ(0, npu_bind(dev.fd, dev.vm, out.handle, 0, NPU_VA_OUT, size, 0));
	EXPECT_EQ(-EIO, npu_copy_run(&dev, &copy, WAIT));
	ASSERT_EQ(0, npu_queue_state(dev.fd, dev.queue, &state));
	EXPECT_EQ(NPU_VA_IN, state.fault.address);
	EXPECT_TRUE(is_filled(out.cpu, size, 0));

	ASSERT_EQ(0, npu_queue_destroy(dev.fd, dev.queue));
	ASSERT_EQ(0, npu_queue_create(dev.fd, dev.vm, 1, 0, &dev.queue));
	ASSERT_EQ(0, npu_buf_create(dev.fd, size, 0, 0, &fresh));
	ASSERT_EQ(0, npu_bind(dev.fd, dev.vm, fresh.handle, 0, NPU_VA_IN, size, 0));
	memset(out.cpu, 0xee, size);
	EXPECT_EQ(0, npu_copy_run(&dev, &copy, WAIT));
	EXPECT_TRUE(is_filled(out.cpu, size, 0));
	npu_buf_destroy(dev.fd, &fresh);
	npu_buf_destroy(dev.fd, &out);
	npu_dev_close(&dev);
}

/*
 * A job has the regions of its own table, not those that the slot of the ring has from a job
 * before: the stream may name two, and the table has none, or one.
 */
TEST_F_TIMEOUT(isolation, regions_of_a_job_before, 120)
{
	struct user *user = &self->first;
	struct drm_npu_queue_get_state state;
	struct npu_line lines[16];
	struct drm_npu_job job;
	uint32_t count;

	fill_lines(lines, user->sram);
	memset(user->data.cpu, 0xa5, user->sram);
	for (count = 0; count < NUM_REGIONS; count++) {
		/* A queue of one slot. */
		ASSERT_EQ(0, npu_queue_destroy(user->dev.fd, user->dev.queue));
		ASSERT_EQ(0, npu_queue_create(user->dev.fd, user->dev.vm, 1, 1, &user->dev.queue));
		ASSERT_EQ(0, user_run(user, lines, 2));
		memset(user->data.cpu + user->sram, 0, user->sram);
		user_job(user, lines, 2, &job);
		job.regions.count = count;
		EXPECT_EQ(-EIO, npu_job_run(user->dev.fd, user->dev.queue, &job, WAIT));
		EXPECT_TRUE(is_filled(user->data.cpu + user->sram, user->sram, 0));
		ASSERT_EQ(0, npu_queue_state(user->dev.fd, user->dev.queue, &state));
		EXPECT_EQ(DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_FAULTED, state.state);
		EXPECT_LT(0, state.fault.code);
	}
}

/* The configuration space of the PCI device. */
static int open_config(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", name);
	return open(path, O_RDWR | O_CLOEXEC);
}

#define PCI_COMMAND		4
#define PCI_COMMAND_MASTER	4u

static bool is_master(int config)
{
	uint16_t command = 0;

	return pread(config, &command, 2, PCI_COMMAND) == 2 && command & PCI_COMMAND_MASTER;
}

static int master_off(int config)
{
	uint16_t command;

	if (pread(config, &command, 2, PCI_COMMAND) != 2)
		return -EIO;
	command &= ~PCI_COMMAND_MASTER;
	return pwrite(config, &command, 2, PCI_COMMAND) == 2 ? 0 : -EIO;
}

/* Nothing comes as long as the driver has not switched it on again. How often that was seen. */
static uint32_t watch_out(struct __test_metadata *_metadata, struct user *user, int config,
			  uint32_t sync)
{
	volatile uint8_t *out = user->data.cpu + user->sram;
	uint32_t looks = 0;
	bool clean;

	while (npu_syncobj_wait(user->dev.fd, sync, 0, 0) == -ETIME) {
		clean = !out[0] && !out[user->sram - 1];
		if (is_master(config))
			break;
		EXPECT_TRUE(clean);
		if (!clean)
			break;
		looks++;
		usleep(5000);
	}
	return looks;
}

/*
 * Bus mastering is switched off under a job that runs, and so for a job that comes then: neither
 * changes a byte before the driver, which notices, has switched it on again.
 */
TEST_F_TIMEOUT(isolation, nothing_is_written_without_bus_mastering, 120)
{
	struct user *user = &self->first;
	volatile uint8_t *out = user->data.cpu + user->sram;
	char name[NPU_SYS_NAME];
	struct filler filler;
	uint32_t i, looks;
	int config;

	ASSERT_EQ(0, npu_sys_pci(user->dev.fd, name));
	config = open_config(name);
	ASSERT_LE(0, config);
	npu_expect_log(LOG);
	if (npu_fault("arm slow-job"))
		SKIP(return, NO_FAULTS);
	/* The driver has to notice; not so late. */
	npu_sys_debugfs_write(name, "timeout_ms", "300");
	ASSERT_EQ(0, filler_start(&filler, user));
	for (i = 0; i < 1000 && !out[0]; i++)
		usleep(1000);
	ASSERT_EQ(0xa5, out[0]);

	ASSERT_EQ(0, master_off(config));
	ASSERT_FALSE(is_master(config));
	ASSERT_EQ(0, npu_submit_jobs(user->dev.fd, user->dev.queue, &filler.job, 1, NULL));
	/* Each of the copies writes all of it. */
	memset(user->data.cpu + user->sram, 0, user->sram);
	looks = watch_out(_metadata, user, config, filler.sync.handle);
	TH_LOG("looked %u times while bus mastering was off", looks);
	EXPECT_LT(5, looks);
	ASSERT_EQ(0, npu_syncobj_wait(user->dev.fd, filler.sync.handle, 0, WAIT));
	close(config);
	npu_sys_debugfs_write(name, "timeout_ms", "2000");
	expect_zero(_metadata, &self->second);
}

TEST_HARNESS_MAIN
