// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be seen of the device from outside: attributes in sysfs, the firmware's log in debugfs,
 * trace events, each held against what the ioctls say; and dumps of failures.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"

#define WAIT		60
#define SIZE		(16 * NPU_PAGE)
#define TRACING		"/sys/kernel/tracing"

/* Room for all of the firmware's log, or of what is traced here. */
#define TEXT_SIZE	(256u << 10)

FIXTURE(observe) {
	struct npu_dev dev;
	struct npu_buf data;
	struct npu_copy copy;
	char pci[NPU_SYS_NAME];
	char *text;
};

FIXTURE_SETUP(observe)
{
	int ret = npu_dev_open_buf(&self->dev, SIZE, &self->data, &self->copy);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_sys_pci(self->dev.fd, self->pci));
	self->text = malloc(TEXT_SIZE);
	ASSERT_NE(NULL, self->text);
}

FIXTURE_TEARDOWN(observe)
{
	free(self->text);
	npu_buf_destroy(self->dev.fd, &self->data);
	npu_dev_close(&self->dev);
}

/* A file as text; bytes of it, or a negative errno. */
static int read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, text + len, size - 1 - len);
		len += got > 0 ? got : 0;
	} while (got > 0 && len < size - 1);
	close(fd);
	text[len] = 0;
	return got < 0 ? -EIO : (int)len;
}

/* An attribute of the PCI device without its newline; "" when there is none. */
static const char *attribute(FIXTURE_DATA(observe) *self, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", self->pci, name);
	if (read_text(path, self->text, TEXT_SIZE) < 0)
		return "";
	self->text[strcspn(self->text, "\n")] = 0;
	return self->text;
}

static int64_t attribute_number(FIXTURE_DATA(observe) *self, const char *name)
{
	const char *text = attribute(self, name);

	return *text ? strtoll(text, NULL, 10) : -1;
}

static int query_fw(int fd, struct drm_npu_fw_info *info)
{
	struct drm_npu_dev_query query = {
		.type = DRM_NPU_DEV_QUERY_FW_INFO, .size = sizeof(*info),
		.pointer = (uintptr_t)info,
	};

	memset(info, 0, sizeof(*info));
	return npu_ioctl(fd, DRM_IOCTL_NPU_DEV_QUERY, &query);
}

/* --- sysfs --- */

TEST_F(observe, versions_in_sysfs)
{
	struct drm_npu_npu_info npu;
	struct drm_npu_fw_info fw;
	char version[32];

	ASSERT_EQ(0, npu_npu_info(self->dev.fd, &npu));
	ASSERT_EQ(0, query_fw(self->dev.fd, &fw));
	snprintf(version, sizeof(version), "%u.%u", npu.hw_version >> 16, npu.hw_version & 0xffff);
	EXPECT_STREQ(version, attribute(self, "npu_hw_version"));
	EXPECT_LT(0, strlen((char *)fw.version));
	EXPECT_STREQ((char *)fw.version, attribute(self, "npu_fw_version"));
}

/* Of all users together; here there is one. */
TEST_F(observe, busy_time_and_memory_in_sysfs)
{
	int64_t busy = attribute_number(self, "npu_busy_time_us"), memory, ns = 0;
	struct drm_npu_job_get_result result;
	struct npu_buf more;
	uint32_t i;

	ASSERT_LE(0, busy);
	for (i = 1; i <= 10; i++) {
		ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
		ASSERT_EQ(0, npu_job_result(self->dev.fd, self->dev.queue, i, &result));
		ns += result.busy_ns;
	}
	busy = attribute_number(self, "npu_busy_time_us") - busy;
	TH_LOG("busy for %lld us", (long long)busy);
	EXPECT_LT(0, ns);
	EXPECT_LE(ns / 1000 - 1, busy);
	EXPECT_GE(ns / 1000 + 1, busy);

	memory = attribute_number(self, "npu_memory_bytes");
	EXPECT_EQ(self->dev.stream.size + self->data.size, memory);
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, 3 * SIZE, 0, 0, &more));
	EXPECT_EQ(memory + 3 * SIZE, attribute_number(self, "npu_memory_bytes"));
	npu_buf_destroy(self->dev.fd, &more);
	EXPECT_EQ(memory, attribute_number(self, "npu_memory_bytes"));
}

TEST_F(observe, resets_in_sysfs)
{
	int64_t resets = attribute_number(self, "npu_resets");

	npu_expect_log("npu .*asked for");
	ASSERT_LE(0, resets);
	ASSERT_EQ(0, npu_sys_debugfs_write(self->pci, "force_reset", "1"));
	EXPECT_EQ(resets + 1, attribute_number(self, "npu_resets"));
	EXPECT_EQ(resets + 1, npu_sys_debugfs_number(self->pci, "counters", "device-resets"));
}

/* --- the firmware's log --- */

static int read_log(FIXTURE_DATA(observe) *self)
{
	char path[160];

	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/fw_log", self->pci);
	return read_text(path, self->text, TEXT_SIZE);
}

/* The last place of a text in the log; NULL: it is not there. */
static const char *last_of(FIXTURE_DATA(observe) *self, const char *what)
{
	const char *at = strstr(self->text, what), *found = NULL;

	for (; at; at = strstr(at + 1, what))
		found = at;
	return found;
}

/* How many lines are not "[seconds.us] level: text", or earlier than the one before. */
static uint32_t odd_lines(const char *text)
{
	double time, before = 0;
	char level[16];
	uint32_t odd = 0;

	/* The ring may have overwritten the first one's beginning. */
	for (text = strchr(text, '\n'); text && text[1]; text = strchr(text + 1, '\n')) {
		if (sscanf(text + 1, "[%lf] %15[a-z]: ", &time, level) != 2 || time < before)
			odd++;
		else
			before = time;
	}
	return odd;
}

/* What the firmware says of itself, and of a queue that is made; it goes on behind a reset. */
TEST_F(observe, log_of_the_firmware)
{
	char hello[160];
	struct drm_npu_queue_info info = {};
	struct drm_npu_dev_query query = {
		.type = DRM_NPU_DEV_QUERY_QUEUE_INFO, .size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};
	struct drm_npu_npu_info npu;
	struct drm_npu_fw_info fw;
	const char *at;
	uint32_t queue;

	ASSERT_EQ(0, npu_npu_info(self->dev.fd, &npu));
	ASSERT_EQ(0, query_fw(self->dev.fd, &fw));
	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_DEV_QUERY, &query));
	npu_expect_log("npu .*asked for");
	ASSERT_EQ(0, npu_sys_debugfs_write(self->pci, "force_reset", "1"));
	ASSERT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, DRM_NPU_PRIORITY_REALTIME, 32,
				      &queue));
	ASSERT_LT(0, read_log(self));
	EXPECT_EQ(0, odd_lines(self->text));
	snprintf(hello, sizeof(hello), "] info: NPU firmware %s, ABI %u, %u engines, %u queues\n",
		 (char *)fw.version, fw.abi, npu.num_engines, info.max_queues);
	at = last_of(self, hello);
	EXPECT_NE(NULL, at) TH_LOG("there is no '%s'", hello);
	ASSERT_NE(NULL, last_of(self, ": created, priority "));
	/* Behind its start: the queue before the reset, and then this one. */
	EXPECT_LT(at, last_of(self, ": created, priority 1, "));
	EXPECT_LT(last_of(self, ": created, priority 1, "),
		  last_of(self, ": created, priority 3, 32 entries, first job 1\n"));

	ASSERT_EQ(0, npu_queue_destroy(self->dev.fd, queue));
	ASSERT_LT(0, read_log(self));
	EXPECT_LT(last_of(self, ": created, "), last_of(self, ": destroyed\n"));
}

/* --- dumps --- */

/* How many dumps lie there, and the name of one. */
static uint32_t find_dump(char path[64])
{
	struct dirent *entry;
	uint32_t found = 0;
	DIR *dir = opendir("/sys/class/devcoredump");

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "devcd", 5))
			continue;
		snprintf(path, 64, "/sys/class/devcoredump/%.24s/data", entry->d_name);
		found++;
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool wait_for_dump(char path[64])
{
	uint32_t i;

	for (i = 0; i < 100; i++) {
		if (find_dump(path))
			return true;
		usleep(20000);
	}
	return false;
}

/* Nobody wants to read it any more: it goes in a moment. */
static int drop_dump(const char *path)
{
	int ret = npu_sys_write(path, "0");
	uint32_t i;

	for (i = 0; i < 100 && !access(path, F_OK); i++)
		usleep(20000);
	return ret ? ret : access(path, F_OK) ? 0 : -EBUSY;
}

/* What it says is "key: value" a line, up to the firmware's own words. */
static void check_dump(struct __test_metadata *_metadata, const char *path)
{
	uint32_t lines = 0, odd = 0, guilty = 0, queues = 0;
	bool log = false, victim = false, reason = false;
	char line[256];
	FILE *file = fopen(path, "r");

	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file) && !log) {
		lines++;
		odd += !strchr(line, ':');
		reason |= !strcmp(line, "reason: makes no progress\n");
		queues += !strncmp(line, "queue: ", 7);
		guilty += !strcmp(line, "  guilty: 1\n");
		/* The guilty one has had three jobs. */
		victim |= guilty && !strcmp(line, "  submitted: 3\n");
		log = !strcmp(line, "fw-log:\n");
	}
	EXPECT_TRUE(log);
	fclose(file);
	EXPECT_LT(20, lines);
	EXPECT_EQ(0, odd);
	EXPECT_TRUE(reason);
	EXPECT_EQ(2, queues);
	EXPECT_EQ(1, guilty);
	EXPECT_TRUE(victim);
}

static void hang_once(struct __test_metadata *_metadata, FIXTURE_DATA(observe) *self)
{
	ASSERT_EQ(0, npu_host("vdev 0 arm hang", NULL, 0));
	EXPECT_EQ(-ETIME, npu_copy_run(&self->dev, &self->copy, WAIT));
}

/*
 * 57: a failure leaves a dump that can be read, once, and is gone when it has been. While it lies
 * there a second failure leaves none.
 */
TEST_F_TIMEOUT(observe, dump_of_a_hang, 120)
{
	char path[64], second[64];
	uint32_t other;
	int64_t time;

	if (npu_host("sync", NULL, 0))
		SKIP(return, "there is no host that arms faults of the device");
	npu_expect_log("npu .*no progress");
	/* One that has nothing to do with it. */
	ASSERT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, 1, 0, &other));
	while (find_dump(path))
		ASSERT_EQ(0, drop_dump(path));
	ASSERT_EQ(0, npu_sys_debugfs_write(self->pci, "timeout_ms", "300"));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
	hang_once(_metadata, self);
	ASSERT_TRUE(wait_for_dump(path));
	EXPECT_EQ(1, npu_sys_number(path, "npu-coredump"));
	EXPECT_LE(1, npu_sys_number(path, "fw-abi"));
	time = npu_sys_number(path, "time-ns");
	EXPECT_LT(0, time);
	check_dump(_metadata, path);

	ASSERT_EQ(0, npu_queue_destroy(self->dev.fd, self->dev.queue));
	ASSERT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, 1, 0, &self->dev.queue));
	hang_once(_metadata, self);
	ASSERT_EQ(0, npu_sys_debugfs_write(self->pci, "timeout_ms", "2000"));
	usleep(200000);
	EXPECT_EQ(1, find_dump(second));
	EXPECT_STREQ(path, second);
	EXPECT_EQ(time, npu_sys_number(path, "time-ns"));
	EXPECT_EQ(0, drop_dump(path));
	EXPECT_EQ(0, find_dump(second));
}

/* --- trace events --- */

static int trace_write(const char *name, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), TRACING "/%s", name);
	return npu_sys_write(path, text);
}

static int trace_start(void)
{
	int ret;

	if (access(TRACING "/trace", F_OK) && mount("none", TRACING, "tracefs", 0, NULL))
		return -ENOTSUP;
	/* Opened for writing with O_TRUNC it is emptied. */
	ret = open(TRACING "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (ret < 0)
		return -errno;
	close(ret);
	return trace_write("events/npu/enable", "1");
}

/* Lines of the trace that have this event and these words. */
static uint32_t traced(FIXTURE_DATA(observe) *self, const char *event, const char *words)
{
	char *copy = strdup(self->text), *line, *next;
	uint32_t count = 0;

	for (next = copy; (line = strsep(&next, "\n"));)
		count += strstr(line, event) && strstr(line, self->pci) && strstr(line, words);
	free(copy);
	return count;
}

static void expect_traced(struct __test_metadata *_metadata, FIXTURE_DATA(observe) *self,
			  uint32_t queue, uint64_t job, int error)
{
	struct drm_npu_job_get_result result;
	char words[160];

	ASSERT_EQ(0, npu_job_result(self->dev.fd, queue, job, &result));
	snprintf(words, sizeof(words), "job=%llu regions=2", (unsigned long long)job);
	EXPECT_EQ(1, traced(self, "npu_job_run:", words));
	snprintf(words, sizeof(words), "job=%llu status=%u error=%d busy_ns=%llu slices=%u",
		 (unsigned long long)job, result.status, error, (unsigned long long)result.busy_ns,
		 result.slices);
	EXPECT_EQ(1, traced(self, "npu_job_end:", words)) TH_LOG("'%s'", words);
	snprintf(words, sizeof(words), "job=%llu", (unsigned long long)job);
	EXPECT_LE(1, traced(self, "npu_fw_msg:", words));
}

TEST_F(observe, trace_events)
{
	uint32_t queue, i;
	int ret = trace_start();

	if (ret == -ENOTSUP)
		SKIP(return, "there is no tracefs");
	ASSERT_EQ(0, ret);
	npu_expect_log("npu .*asked for");
	/* Three that end well, in a queue that is made while it is looked at; one that faults. */
	ASSERT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, DRM_NPU_PRIORITY_NORMAL, 0,
				      &queue));
	ASSERT_EQ(0, npu_queue_destroy(self->dev.fd, self->dev.queue));
	self->dev.queue = queue;
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
	self->copy.in = NPU_VA_OUT;
	EXPECT_EQ(-EIO, npu_copy_run(&self->dev, &self->copy, WAIT));
	ASSERT_EQ(0, npu_sys_debugfs_write(self->pci, "force_reset", "1"));
	ASSERT_EQ(0, trace_write("events/npu/enable", "0"));
	ASSERT_LT(0, read_text(TRACING "/trace", self->text, TEXT_SIZE));

	EXPECT_EQ(4, traced(self, "npu_job_run:", ""));
	EXPECT_EQ(4, traced(self, "npu_job_end:", ""));
	for (i = 1; i <= 4; i++)
		expect_traced(_metadata, self, queue, i, i < 4 ? 0 : -EIO);
	/* Made and destroyed, and after the reset told to the firmware again. */
	EXPECT_LE(2, traced(self, "npu_fw_ctl:", "cmd="));
	EXPECT_EQ(1, traced(self, "npu_reset:", "asked for ret=0"));
}

TEST_HARNESS_MAIN
