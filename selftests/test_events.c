// SPDX-License-Identifier: GPL-2.0-only
/*
 * What takes a device away, resets it or puts it to sleep, again and again and while four
 * processes submit jobs and look at every byte of their results. Files that are idle meanwhile keep
 * their data where the device stays, and learn that it is gone where it does not. Afterwards
 * nothing is left.
 *
 * NPU_EVENT_CYCLES is how often each event comes, 5 by default.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_census.h"
#include "npu_dev.h"
#include "npu_load.h"
#include "npu_test.h"

#define PROCESSES	4u
#define PROGRESS_JOBS	8u
#define PATIENCE	120.0		/* s; the host is busy */
#define WAIT		60
#define IDLE_SIZE	(4 * NPU_PAGE)
#define MAPPED		(4 * NPU_PAGE)	/* tables of pages, by where things lie; B */
#define MEMORY_KIB	1024		/* by which the kernel may grow, however many cycles */

/*
 * When the clock wakes the machine, in seconds. An alarm that comes before it sleeps is lost, and
 * it sleeps for good: the driver alone may take 2.5 s for jobs that hang.
 */
#define WAKE_AFTER	"+15"

/* The device, and how often its event has come. */
struct place {
	char pci[PATH_MAX - 64];
	char name[64];
	unsigned int cycle;
};

/* A file with data of its own that nobody looks at during the event. */
struct idle {
	struct npu_dev dev;
	struct npu_buf data;
	uint32_t seed;
};

/* --- events: 0, or a negative errno; -ENOTSUP where this machine does not have it --- */

static int unbind_bind(struct place *place)
{
	int ret = npu_write_file(place->pci, "driver/unbind", place->name);

	return ret ? ret : npu_write_file("/sys/bus/pci/drivers/npu", "bind", place->name);
}

static int remove_rescan(struct place *place)
{
	int ret = npu_write_file(place->pci, "remove", "1");

	return ret ? ret : npu_write_file("/sys/bus/pci", "rescan", "1");
}

/* The module stays while anyone has a file of it open, and goes when they have noticed. */
static int module_reload(struct place *place)
{
	int i, ret;

	if (!syscall(SYS_delete_module, "npu", O_NONBLOCK))
		return -EBUSY;
	ret = npu_write_file(place->pci, "driver/unbind", place->name);
	if (ret)
		return ret;
	for (i = 0; i < 1000 && syscall(SYS_delete_module, "npu", O_NONBLOCK); i++)
		usleep(10000);
	if (i == 1000)
		return -errno;
	return system("modprobe npu") ? -ENOEXEC : 0;
}

static int function_level_reset(struct place *place)
{
	return npu_write_file(place->pci, "reset", "1");
}

static int forced_reset(struct place *place)
{
	char folder[PATH_MAX];
	int ret;

	snprintf(folder, sizeof(folder), "/sys/kernel/debug/accel/%s", place->name);
	ret = npu_write_file(folder, "force_reset", "1");
	return ret == -ENOENT ? -ENOTSUP : ret;
}

/* Out of its slot and back. */
static int unplug_plug(const struct place *place)
{
	int ret = npu_host("unplug 0", NULL, 0);

	if (!ret && !access(place->pci, F_OK))
		return -EEXIST;
	return ret ? ret : npu_host("plug 0", NULL, 0);
}

static int hot_unplug(struct place *place)
{
	return unplug_plug(place);
}

/* It does not answer any more; the driver has to notice by itself, before the slot is empty. */
static int surprise_removal(struct place *place)
{
	int ret = npu_host("vdev 0 arm surprise-removal forever", NULL, 0), i;
	char node[PATH_MAX];

	if (ret)
		return ret;
	snprintf(node, sizeof(node), "%s/accel", place->pci);
	for (i = 0; i < 600 && !access(node, F_OK); i++)
		usleep(100000);
	ret = npu_host("vdev 0 disarm surprise-removal", NULL, 0);
	if (!ret)
		ret = unplug_plug(place);
	return i == 600 ? -ETIMEDOUT : ret;
}

/* --- system sleep --- */

/*
 * The ports of a virtio console are dead after sleep: its driver is taken from it meanwhile. Where
 * results go to one of them there is no sleep.
 */
static void consoles(const char *action)
{
	const char *driver = "/sys/bus/virtio/drivers/virtio_console";
	static char name[4][32];
	static unsigned int num;
	struct dirent *entry;
	unsigned int i;
	DIR *dir;

	if (!strcmp(action, "unbind")) {
		num = 0;
		dir = opendir(driver);
		while (dir && (entry = readdir(dir)) && num < 4)
			if (sscanf(entry->d_name, "virtio%u", &i) == 1)
				snprintf(name[num++], sizeof(*name), "virtio%u", i);
		if (dir)
			closedir(dir);
	}
	for (i = 0; i < num; i++)
		npu_write_file(driver, action, name[i]);
}

/*
 * How deep: devices only, with the platform's part, with processors off; and in earnest when
 * NPU_SLEEP is "deep". NULL when that is not set: some machines do not come back.
 */
static const char *sleep_level(const struct place *place)
{
	static const char * const levels[] = { "devices", "platform", "core", "none" };
	const char *may = getenv("NPU_SLEEP");

	if (!may || !*may)
		return NULL;
	return levels[place->cycle % (strcmp(may, "deep") ? 3 : 4)];
}

/*
 * An emulated processor may miss the call that starts it again: that is not the driver's, and the
 * work goes on without it, or with it by a second call.
 */
static void processors_wake(void)
{
	char name[48];
	int i;

	for (i = 1; i < get_nprocs_conf(); i++) {
		snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%d", i);
		npu_write_file(name, "online", "1");
	}
}

static int system_sleep(struct place *place)
{
	const char *level = sleep_level(place);
	int ret;

	if (!level || npu_write_file("/sys/power", "pm_test", level))
		return -ENOTSUP;
	npu_write_file("/sys/module/suspend/parameters", "pm_test_delay", "0");
	npu_expect_log("RealTimeClock events|CPU[0-9]+ failed to report alive|Error taking CPU");
	if (!strcmp(level, "none")) {
		npu_write_file("/sys/class/rtc/rtc0", "wakealarm", "0");
		ret = npu_write_file("/sys/class/rtc/rtc0", "wakealarm", WAKE_AFTER);
		if (ret)
			return ret;
	}
	consoles("unbind");
	ret = npu_write_file("/sys/power", "state", "mem");
	consoles("bind");
	npu_write_file("/sys/power", "pm_test", "none");
	processors_wake();
	return ret;
}

/* 51: a job of one of the processes hangs, and the others' wait behind it. */
static int sleep_while_a_job_hangs(struct place *place)
{
	int ret = sleep_level(place) ? npu_host("vdev 0 arm hang", NULL, 0) : -ENOTSUP;

	usleep(50000);
	return ret ? ret : system_sleep(place);
}

/* --- the test --- */

FIXTURE(events) {
	struct place place;
	struct npu_census first;
	unsigned int cycles;
};

FIXTURE_VARIANT(events) {
	int (*event)(struct place *place);
	unsigned int may;	/* what the processes may see, NPU_LOAD_MAY_* */
	bool host;		/* that has to do something */
	bool no_idle;		/* files: they would be in the way */
};

#define EVENT(name, ...) FIXTURE_VARIANT_ADD(events, name) { .event = name, __VA_ARGS__ }

EVENT(function_level_reset);
EVENT(forced_reset);
EVENT(unbind_bind, .may = NPU_LOAD_MAY_GO);
EVENT(remove_rescan, .may = NPU_LOAD_MAY_GO);
EVENT(module_reload, .may = NPU_LOAD_MAY_GO, .no_idle = true);
EVENT(hot_unplug, .may = NPU_LOAD_MAY_GO, .host = true);
EVENT(surprise_removal, .may = NPU_LOAD_MAY_GO, .host = true);
/* Last: a virtual machine that has slept in earnest hears of no slots any more. */
EVENT(system_sleep);
EVENT(sleep_while_a_job_hangs, .may = NPU_LOAD_MAY_HANG, .host = true);

FIXTURE_SETUP(events)
{
	const char *cycles = getenv("NPU_EVENT_CYCLES");
	int fd = npu_open();

	if (fd == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, npu_pci_folder(fd, self->place.pci, sizeof(self->place.pci)));
	close(fd);
	snprintf(self->place.name, sizeof(self->place.name), "%s",
		 strrchr(self->place.pci, '/') + 1);
	self->place.cycle = 0;
	self->cycles = cycles ? atoi(cycles) : 5;
	ASSERT_LE(1, self->cycles);
	if (variant->host && npu_host("sync", NULL, 0))
		SKIP(return, "there is no host that does it");
}

FIXTURE_TEARDOWN(events)
{
	npu_write_file("/sys/power", "pm_test", "none");
	/* A failure may have left it without the driver. */
	if (access("/sys/module/npu", F_OK) && system("modprobe npu"))
		TH_LOG("the module does not come back");
	npu_write_file("/sys/bus/pci/drivers/npu", "bind", self->place.name);
}

static int idle_open(struct idle *idle, uint32_t seed)
{
	int i, ret = -ENODEV;

	/* A device that has come back may take a moment. */
	for (i = 0; i < 100 && ret; i++) {
		ret = npu_dev_open(&idle->dev);
		if (ret)
			usleep(100000);
	}
	if (!ret)
		ret = npu_buf_create(idle->dev.fd, 2 * IDLE_SIZE, 0, 0, &idle->data);
	if (!ret)
		ret = npu_bind(idle->dev.fd, idle->dev.vm, idle->data.handle, 0, NPU_VA_IN,
			       2 * IDLE_SIZE, 0);
	if (!ret)
		npu_load_fill(idle->data.cpu, IDLE_SIZE, seed);
	idle->seed = seed;
	return ret;
}

static void idle_close(struct idle *idle)
{
	npu_buf_destroy(idle->dev.fd, &idle->data);
	npu_dev_close(&idle->dev);
}

/* Data, mappings and queue are as they were: a job finds its input, and leaves its output. */
static void idle_kept(struct __test_metadata *_metadata, struct idle *idle)
{
	struct npu_copy copy = {
		.in = NPU_VA_IN, .out = NPU_VA_IN + IDLE_SIZE, .size = IDLE_SIZE,
	};
	struct drm_npu_queue_get_state state;

	EXPECT_TRUE(npu_load_same(idle->data.cpu, IDLE_SIZE, idle->seed));
	memset(idle->data.cpu + IDLE_SIZE, 0, IDLE_SIZE);
	EXPECT_EQ(0, npu_copy_run(&idle->dev, &copy, WAIT));
	EXPECT_TRUE(npu_load_same(idle->data.cpu + IDLE_SIZE, IDLE_SIZE, idle->seed));
	EXPECT_EQ(0, npu_queue_state(idle->dev.fd, idle->dev.queue, &state));
	EXPECT_EQ(0, state.state);
}

static void idle_gone(struct __test_metadata *_metadata, struct idle *idle)
{
	struct npu_copy copy = {
		.in = NPU_VA_IN, .out = NPU_VA_IN + IDLE_SIZE, .size = IDLE_SIZE,
	};
	uint32_t vm;

	EXPECT_EQ(-ENODEV, npu_copy_submit(&idle->dev, &copy, 0, NULL));
	EXPECT_EQ(-ENODEV, npu_vm_create(idle->dev.fd, &vm));
}

static void idle_end(struct __test_metadata *_metadata, struct idle *idle, bool gone)
{
	if (gone)
		idle_gone(_metadata, idle);
	else
		idle_kept(_metadata, idle);
	idle_close(idle);
}

/* The event, with the processes at work before and after it. */
static int load_cycle(struct place *place, int (*event)(struct place *), unsigned int may,
		      struct npu_load_count *sum)
{
	struct npu_load load;
	int ret = npu_load_start(&load, PROCESSES, may);

	if (ret)
		return ret;
	ret = npu_load_progress(&load, PROGRESS_JOBS, false, PATIENCE);
	if (!ret)
		ret = event(place);
	if (!ret)
		ret = npu_load_progress(&load, PROGRESS_JOBS, may & NPU_LOAD_MAY_GO, PATIENCE);
	npu_load_stop(&load, sum);
	return ret;
}

/* One event, from an idle device to an idle device. False: there is no such event here. */
static bool one_cycle(struct __test_metadata *_metadata, struct place *place,
		      const FIXTURE_VARIANT(events) *variant, struct npu_load_count *sum)
{
	unsigned int num = variant->no_idle ? 0 : 2, i;
	struct idle idle[2];
	int ret;

	for (i = 0; i < num; i++)
		ASSERT_EQ(0, idle_open(&idle[i], 0x80000000 + 2 * place->cycle + i));
	/* One with a past, and one whose queue has never been used. */
	if (num)
		idle_kept(_metadata, &idle[0]);
	ret = load_cycle(place, variant->event, variant->may, sum);
	for (i = 0; i < num; i++)
		idle_end(_metadata, &idle[i], !ret && variant->may & NPU_LOAD_MAY_GO);
	if (ret == -ENOTSUP)
		return false;
	ASSERT_EQ(0, ret)
		TH_LOG("cycle %u: %s: %s", place->cycle, strerror(-ret), sum->why);
	ASSERT_EQ(0, sum->bad)
		TH_LOG("cycle %u: %s", place->cycle, sum->why);
	return true;
}

/*
 * What was released goes in the background: work queues, and an IOMMU that flushes now and then.
 * What leaks stays.
 */
static void census_settle(const char *name, const struct npu_census *most, struct npu_census *now)
{
	unsigned int tries = 100;

	npu_census_take(name, now);
	while ((now->mapped > most->mapped || now->memory > most->memory) && tries--) {
		usleep(100000);
		npu_census_take(name, now);
	}
}

/* There is nothing to compare with yet: the least that is seen in a second. */
static void census_least(const char *name, struct npu_census *least)
{
	struct npu_census now;
	unsigned int i;

	npu_census_take(name, least);
	for (i = 0; i < 10; i++) {
		usleep(100000);
		npu_census_take(name, &now);
		if (now.mapped < least->mapped)
			least->mapped = now.mapped;
	}
	least->memory = now.memory;
	least->objects = now.objects;
}

/* Nothing is left of this cycle; the second is what later ones are compared with. */
static void take_census(struct __test_metadata *_metadata, const struct place *place,
			struct npu_census *first, struct npu_census *now)
{
	struct npu_census most = *first;

	most.mapped += MAPPED;
	most.memory += MEMORY_KIB;
	if (place->cycle < 2) {
		census_least(place->name, first);
		*now = *first;
	} else {
		census_settle(place->name, &most, now);
	}
	EXPECT_GE(0, now->objects);
	EXPECT_NE(NPU_CENSUS_UNKNOWN, now->mapped);
	EXPECT_LE(now->mapped, first->mapped + MAPPED);
	EXPECT_LE(now->memory, first->memory + MEMORY_KIB);
}

/* What the events are measured with: a counter that is not there is not one that stays the same. */
TEST(counter_that_the_host_does_not_know)
{
	int fd = npu_open();

	if (fd == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_LE(0, fd);
	close(fd);
	if (npu_census_vdev("dma-live-bytes") == -1)
		SKIP(return, "there is no host that counts");
	EXPECT_LE(0, npu_census_vdev("dma-live-bytes"));
	EXPECT_EQ(NPU_CENSUS_UNKNOWN, npu_census_vdev("no-such-counter"));
}

TEST_F_TIMEOUT(events, under_load, 3600)
{
	struct npu_load_count sum = {};
	struct npu_census now = {};
	uint64_t start = npu_now_ns();

	npu_expect_log("npu");
	for (; self->place.cycle < self->cycles; self->place.cycle++) {
		if (!one_cycle(_metadata, &self->place, variant, &sum))
			SKIP(return, "this machine does not do it, or must not");
		take_census(_metadata, &self->place, &self->first, &now);
	}
	TH_LOG("%u cycles in %.1f s: %llu jobs good, %llu lost, %llu hung; device gone %llu times",
	       self->cycles, (npu_now_ns() - start) / 1e9, (unsigned long long)sum.good,
	       (unsigned long long)sum.innocent, (unsigned long long)sum.hung,
	       (unsigned long long)sum.gone);
	TH_LOG("mapped for the device %lld bytes, then %lld; memory of the kernel %+lld KiB",
	       (long long)self->first.mapped, (long long)now.mapped,
	       (long long)(now.memory - self->first.memory));
	EXPECT_LE(variant->may & NPU_LOAD_MAY_GO ? PROCESSES * self->cycles : 0, sum.gone);
}

TEST_HARNESS_MAIN
