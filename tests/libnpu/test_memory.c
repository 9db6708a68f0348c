// SPDX-License-Identifier: MIT
/*
 * Load, run, unload a thousand times: memory, mappings, descriptors and threads return to where
 * they were.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/run.h"
#include "common/tmp.h"
#include "fixture.h"
#include "tap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static struct npu_error err;

struct usage {
	size_t heap;		/* bytes in use */
	long rss, maps, fds, threads;
};

static long count_dir(const char *path)
{
	DIR *d = opendir(path);
	long n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static long status_field(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long v = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			v = strtol(line + strlen(name), NULL, 10);
	if (f)
		fclose(f);
	return v;
}

static long count_lines(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = 0;
	int c;

	while (f && (c = fgetc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static struct usage take(void)
{
	struct mallinfo2 m;
	struct usage u;

	malloc_trim(0);
	m = mallinfo2();
	u.heap = m.uordblks + m.hblkhd;
	u.rss = status_field("VmRSS:");
	u.threads = status_field("Threads:");
	u.maps = count_lines("/proc/self/maps");
	u.fds = count_dir("/proc/self/fd");
	return u;
}

/*
 * What the device's thread still holds of the last job goes a moment later: wait for that, up to a
 * second.
 */
static struct usage settle(const struct usage *before)
{
	struct usage u = take();

	for (int i = 0; i < 50 && (u.heap > before->heap || u.threads > before->threads); i++) {
		usleep(20000);
		u = take();
	}
	return u;
}

static int cycle(const char *path, struct npu_device *dev, int i)
{
	int64_t dims[2] = { 1 + i % TINY_ROWS, 4 };
	struct npu_device *own = NULL;
	struct npu_queue *queue;
	struct npu_buffer *big;
	struct npu_run *run;
	struct npu_job *job;
	int ret;

	/* Now and then with a device of its own. */
	if (!dev && npu_device_open("sim:threads=2", NULL, &own, &err))
		return -1;
	if (!dev)
		dev = own;
	ret = npu_job_load(dev, path, 0, &job, &err);
	if (ret)
		return ret;
	npu_run_create(job, &run, &err);
	npu_queue_create(dev, NULL, &queue, &err);
	npu_buffer_create(dev, 3 << 20, 0, &big, &err);
	npu_run_set_shape(run, "x", 2, dims, &err);
	if (i % 3 == 0)
		npu_run_bind(run, "x", big, 4096, &err);
	ret = run_and_wait(queue, run, &err);
	npu_run_destroy(run);
	npu_job_unload(job);
	npu_buffer_put(big);
	npu_queue_destroy(queue);
	npu_device_close(own);
	return ret;
}

static void compare(const char *what, const struct usage *a, const struct usage *b, int cycles)
{
	/*
	 * The C library's own: its arenas and caches. The smallest block lost in each cycle is 32
	 * bytes.
	 */
	tap_ok(SANITIZED || b->heap < a->heap + 3000 + 8 * (size_t)cycles,
	       "%s: heap %zu -> %zu bytes", what, a->heap, b->heap);
	tap_ok(SANITIZED || b->rss < a->rss + 512, "%s: resident %ld -> %ld KiB", what, a->rss,
	       b->rss);
	tap_ok(SANITIZED || b->maps <= a->maps + 4, "%s: %ld -> %ld mappings", what, a->maps,
	       b->maps);
	tap_ok(b->fds == a->fds, "%s: %ld -> %ld file descriptors", what, a->fds, b->fds);
	tap_ok(b->threads == a->threads, "%s: %ld -> %ld threads", what, a->threads, b->threads);
}

int main(void)
{
	int i, n = SANITIZED ? 200 : 1000, good = 0;
	const char *path = tmp_path("job.npu");
	struct npu_device *dev;
	struct usage a, b;
	struct fixture f;

	tiny_make(&f);
	if (npu_jobfile_save(&f.job, path, &err) ||
	    npu_device_open("sim:threads=2", NULL, &dev, &err)) {
		tap_ok(0, "%s", err.text);
		return tap_done();
	}
	/* Pools, and the C library's caches of each thread, fill in the first rounds. */
	for (i = 0; i < 200; i++)
		cycle(path, dev, i);
	a = take();
	for (i = 0; i < n; i++)
		good += !cycle(path, dev, i);
	b = settle(&a);
	tap_ok(good == n, "%d of %d cycles are good", good, n);
	compare("load, run, unload", &a, &b, n);

	/* Those of a device's threads, of which each cycle has new ones, take longer. */
	for (i = 0; i < 60; i++)
		cycle(path, NULL, i);
	usleep(20000);
	a = take();
	for (i = good = 0; i < 100; i++)
		good += !cycle(path, NULL, i);
	b = settle(&a);
	tap_ok(good == 100, "%d of 100 cycles with their own device are good", good);
	compare("open to close", &a, &b, 100);
	npu_device_close(dev);
	fixture_free(&f);
	return tap_done();
}
