// SPDX-License-Identifier: MIT
/* Workers that die: the client keeps its connection, its memory and its interrupt. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fixture.h"
#include "tap.h"

#define EVENTS	0x10000ull		/* DMA address of the page with the events */
#define CRASH	0x400u			/* registers of the core below */
#define EXIT	1000u			/* a value of CRASH; others are signals */
#define HANG	0x404u
#define HOLD	0x408u

static struct fixture f;
static struct client c;
static int event, mem;
static volatile uint32_t *page;

/* The echo core, with registers that kill or hold up the worker. */
static struct npu_vdev *device;

static struct npu_vdev_core *create(struct npu_vdev *dev, const struct npu_vdev_config *config,
				    char *why, size_t size)
{
	device = dev;
	return npu_vdev_echo_core.create(dev, config, why, size);
}

static void reg_write(struct npu_vdev_core *core, npu_u32 offset, npu_u32 value)
{
	static struct npu_vdev_pin pin;
	struct npu_vdev_run run;

	if (offset == CRASH && value == EXIT)
		_exit(7);
	else if (offset == CRASH)
		kill(getpid(), (int)value);
	else if (offset == HANG)
		sleep(100);
	else if (offset == HOLD)
		npu_vdev_dma_acquire(device, EVENTS, 4096, 1, &pin, &run, 1, NULL);
	npu_vdev_echo_core.reg_write(core, offset, value);
}

static unsigned int irqs(int wait_ms)
{
	struct pollfd p = { event, POLLIN, 0 };
	uint64_t n = 0;

	poll(&p, 1, wait_ms);
	return read(event, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static uint32_t epoch(void)
{
	return client_read32(&c, 0, NPU_REG_EPOCH);
}

/* Memory, interrupt and registers as a driver sets them up. */
static bool setup(void)
{
	if (!client_open(&c, f.socket) || client_map(&c, mem, 0, EVENTS, 16 * 4096, 3))
		return false;
	client_enable(&c);
	client_set_irqs(&c, 0x24, 1, 0, 1, &event, 1);
	client_write32(&c, 0, NPU_REG_EVENTS, EVENTS);
	return true;
}

/* A doorbell has its event and its interrupt. */
static bool works(void)
{
	uint32_t before, v = 1;

	client_write32(&c, 0, NPU_REG_EVENTS, EVENTS);
	before = page[0];
	irqs(0);
	client_post(&c, 0, NPU_REG_DOORBELL(3), &v, 4);
	return irqs(3000) == 1 && page[0] != before;
}

/* The worker's process; 0 when it does not say, or is no child of the supervisor. */
static pid_t worker(void)
{
	long long pid = fixture_number(&f, "status", "worker");
	char path[64], line[256] = "";
	int parent = 0;
	FILE *in;

	if (pid <= 1 || f.pid <= 1)
		return 0;
	snprintf(path, sizeof(path), "/proc/%lld/stat", pid);
	in = fopen(path, "r");
	if (!in)
		return 0;
	if (fgets(line, sizeof(line), in) && strrchr(line, ')'))
		sscanf(strrchr(line, ')'), ") %*c %d", &parent);
	fclose(in);
	return parent == f.pid ? (pid_t)pid : 0;
}

/* SIGKILL to @pid of worker(). kill() takes 0 and -1 for everybody, so they are kept from it. */
static bool end(pid_t pid)
{
	return pid > 1 && !kill(pid, SIGKILL);
}

static bool worker_end(void)
{
	return end(worker());
}

static void echo_test(void)
{
	tap_ok(works(), "a doorbell is echoed");
	tap_ok(epoch() > 0, "there is a reset epoch");
	tap_ok(worker() > 0 && worker() != f.pid, "the worker is a process of its own");
}

static void signal_test(int number, const char *name)
{
	uint32_t before = epoch();

	tap_ok(client_write32(&c, 0, CRASH, number) == EIO, "%s in a write: the write fails", name);
	tap_ok(epoch() == before + 1, "the reset epoch is raised");
	tap_ok(works(), "memory and interrupt are still there");
}

/* Idle, in the middle of posted writes, in the middle of reads, mappings and unmappings. */
static void kill_test(void)
{
	unsigned int i, k, n = tap_short() ? 5 : 30, bad = 0, failed = 0;
	uint32_t v = 1;

	for (i = 0; i < n; i++) {
		bad += !worker_end();
		bad += !works();
	}
	tap_ok(!bad, "killed %u times between messages", n);
	for (i = bad = 0; i < n; i++) {
		pid_t pid = worker();

		for (k = 0; k < 50; k++) {
			if (k == i % 50)
				bad += !end(pid);
			client_post(&c, 0, NPU_REG_DOORBELL(0), &v, 4);
		}
		bad += !works();
	}
	tap_ok(!bad, "and %u times in posted writes", n);
	for (i = bad = 0; i < n; i++) {
		uint64_t iova = 0x1000000 + i * 0x10000ull;
		int ret;

		bad += !worker_end();
		for (k = 0; k < 16; k++)
			bad += client_map(&c, mem, k * 4096, iova + k * 4096, 4096, 3) != 0;
		bad += !worker_end();
		bad += client_unmap(&c, iova, 8 * 4096, 0) != 0;
		ret = client_read(&c, 7, 0, &v, 4);
		failed += ret == EIO;
		bad += ret && ret != EIO;
	}
	tap_ok(!bad, "mapping and unmapping never fail (%u reads did)", failed);
	tap_ok(fixture_number(&f, "counters", "dma-live") == 1 + 8 * (long long)n &&
	       fixture_number(&f, "counters", "dma-live-bytes") == (16 + 8 * (long long)n) * 4096 &&
	       works(), "and the table is right: %lld", fixture_number(&f, "counters", "dma-live"));
}

/* A race of kills against messages, at every point of one. */
static void storm_test(void)
{
	unsigned int i, n = tap_short() ? 10 : 60, gone = 0, asked = 0, failed = 0;
	uint32_t v;

	for (i = 0; i < n && !gone; i++) {
		pid_t pid = worker(), killer = fork();
		unsigned int k;
		int status = 0;

		if (!killer) {
			usleep(i * 17 % 400);
			_exit(!end(pid));
		}
		for (k = 0; k < 40 && !gone; k++, asked++)
			gone = client_read(&c, 7, 0, &v, 4) == CLIENT_GONE;
		if (killer > 0)
			waitpid(killer, &status, 0);
		failed += status != 0;
	}
	tap_ok(!gone && !failed, "%u workers killed beside %u reads: each has one answer", i,
	       asked);
	tap_ok(works(), "the device works");
}

/* Half a message is there when the worker dies. */
static void half_test(void)
{
	uint8_t m[32] = { 0 };
	static struct incoming in;
	uint32_t v;

	put16(m, 77);
	put16(m + 2, C_REGION_READ);
	put32(m + 4, 32);
	put32(m + 16 + 8, 7);
	put32(m + 16 + 12, 4);
	client_send_raw(&c, m, 23, NULL, 0);
	usleep(20000);
	worker_end();
	usleep(50000);
	client_send_raw(&c, m + 23, 9, NULL, 0);
	tap_ok(client_receive(&c, &in) == 1 && in.id == 77 && in.size == 36 &&
	       get32(in.payload + 16) == 0x4e501234, "half a message outlives the worker");
	tap_ok(!client_read(&c, 7, 0, &v, 4), "the stream is in step");
}

static void stuck_test(void)
{
	c.timeout_ms = 8000;
	tap_ok(client_write32(&c, 0, HANG, 1) == EIO,
	       "a core that does not come back is killed in time");
	tap_ok(works(), "the next one works");
	client_write32(&c, 0, HOLD, 1);
	tap_ok(!client_unmap(&c, EVENTS, 16 * 4096, 0),
	       "unmapping what is held for ever ends with the worker");
	tap_ok(!client_map(&c, mem, 0, EVENTS, 16 * 4096, 3) && works(), "and all goes on");
}

static void fault_test(void)
{
	uint32_t before = epoch();

	fixture_control(&f, "arm worker-abort");
	tap_ok(client_write32(&c, 0, 0x100, 1) == EIO && epoch() == before + 1,
	       "the fault worker-abort");
	fixture_control(&f, "kill");
	tap_ok(works(), "the command kill");
	tap_ok(fixture_number(&f, "counters", "worker-restarts") > 10, "%lld restarts are counted",
	       fixture_number(&f, "counters", "worker-restarts"));
}

/* A file that becomes shorter under a mapping: the access ends the worker, and that is all. */
static void shrink_test(void)
{
	int other = memory_make(16 * 4096, 0);

	client_map(&c, other, 0, 0x8000000, 16 * 4096, 3);
	client_write32(&c, 0, NPU_REG_EVENTS, 0x8000000);
	tap_ok(!ftruncate(other, 0) && client_write32(&c, 0, NPU_REG_DOORBELL(0), 1) == EIO,
	       "a file that was cut off");
	tap_ok(works(), "other memory is still there");
	client_unmap(&c, 0x8000000, 16 * 4096, 0);
	close(other);
}

/* The files of dead workers do not pile up. */
static unsigned int open_files(void)
{
	char path[64], line[64] = "0";
	FILE *p;

	snprintf(path, sizeof(path), "ls /proc/%d/fd | wc -l", f.pid);
	p = popen(path, "r");
	if (p && !fgets(line, sizeof(line), p))
		line[0] = 0;
	if (p)
		pclose(p);
	return atoi(line);
}

static void files_test(void)
{
	unsigned int i, before;

	worker_end();
	works();
	before = open_files();
	for (i = 0; i < 5; i++) {
		worker_end();
		works();
	}
	tap_ok(before > 3 && open_files() == before, "%u open files, as many as before", before);
}

/* Gives up a client whose workers all die, without a reset of its socket. */
static void give_up_test(void)
{
	static struct incoming in;
	unsigned int i;

	client_send(&c, C_GET_INFO, 0, "x", 1, NULL, 0);
	client_receive(&c, &in);
	for (i = 0; i < 8 && worker_end(); i++)
		usleep(50000);
	c.timeout_ms = 1000;
	tap_ok(client_receive(&c, &in) == -1,
	       "after five in a row without a message the client is given up");
	client_close(&c);
	tap_ok(setup() && works(), "the next one is served");
}

int main(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	struct npu_vdev_core_ops ops = npu_vdev_echo_core;

	ops.create = create;
	ops.reg_write = reg_write;
	event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	mem = memory_make(16 * 4096, 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mem, 0);
	if (!tap_ok(fixture_process(&f, &config, &ops) && setup(),
		    "a supervised device and a client"))
		return tap_done();
	echo_test();
	signal_test(SIGKILL, "SIGKILL");
	signal_test(SIGABRT, "abort");
	signal_test(EXIT, "an exit");
	kill_test();
	storm_test();
	half_test();
	stuck_test();
	fault_test();
	shrink_test();
	files_test();
	give_up_test();
	client_close(&c);
	fixture_end(&f);
	return tap_done();
}
