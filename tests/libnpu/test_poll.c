// SPDX-License-Identifier: MIT
/*
 * Which jobs' ends are looked for before they are waited for in the kernel: those of streams whose
 * last job was short, and not behind one that took longer. Against a stand-in for the driver
 * (fake_drm.h), which counts the waits.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "fake_drm.h"
#include "fixture.h"
#include "tap.h"

#define MS		1000000ull
#define SOON		npu_deadline_after(20000 * MS)
#define TRIES		300u
#define LONG_US		20000u
#define MISSES		4u	/* as libnpu/core/drm_poll.c has it */

static struct npu_device *dev;
static struct npu_queue *queue;
static struct npu_job *tiny;
static struct npu_run *run;
static struct npu_error err;

static void begin(int fd)
{
	float x[TINY_COLS] = { 1, 2, 3, 4 };
	struct npu_device_options opt = NPU_INIT(opt);
	struct fixture f;
	char uri[32];

	snprintf(uri, sizeof(uri), "drm:fd=%d", fd);
	if (npu_device_open(uri, &opt, &dev, &err) || npu_queue_create(dev, NULL, &queue, &err))
		abort();
	tiny_make(&f);
	tiny = fixture_load(dev, &f, "tiny.npu");
	fixture_free(&f);
	if (npu_run_create(tiny, &run, &err) ||
	    npu_run_set_shape(run, "x", 2, (int64_t[]){ 1, TINY_COLS }, &err) ||
	    npu_run_write(run, "x", x, sizeof(x), &err))
		abort();
}

static void end(void)
{
	npu_run_destroy(run);
	npu_job_unload(tiny);
	npu_queue_destroy(queue);
	npu_device_close(dev);
}

static struct npu_fence *submit(void)
{
	struct npu_fence *fence;

	if (npu_queue_submit(queue, run, NULL, &fence, &err))
		abort();
	return fence;
}

/* Submit a job and wait for it. Returns what the wait does; *@waits: how often in the kernel. */
static int run_one(unsigned int *waits)
{
	unsigned int before = fake_drm_kernel_waits();
	struct npu_fence *f = submit();
	int ret = npu_fence_wait(f, SOON, &err);

	*waits = fake_drm_kernel_waits() - before;
	npu_fence_put(f);
	return ret;
}

/* Jobs until one is not waited for in the kernel: a machine that is busy can be late. */
static unsigned int runs_until_found(int *ret)
{
	unsigned int i, waits = 1;

	for (i = 0; i < TRIES && waits; i++)
		*ret = run_one(&waits);
	return waits ? 0 : i;
}

static void test_first(void)
{
	unsigned int waits;
	int ret = run_one(&waits);

	tap_ok(!ret && waits == 1, "a stream's first job is waited for: %u", waits);
}

static void test_short(unsigned int us)
{
	int ret = -1;
	unsigned int n;

	fake_drm.job_us = us;
	n = runs_until_found(&ret);
	tap_ok(n && !ret, "the end of one that takes %u us is found without it, the %u-th", us, n);
}

/* How it ended comes with the answer. One that did not run says nothing of the next one's time. */
static void test_failed(void)
{
	unsigned int i, waits = 1;
	int ret = 0, good = 0;

	fake_drm.job_us = 0;
	for (i = 0; i < TRIES && waits; i++) {
		runs_until_found(&good);
		fake_drm.lose = true;
		ret = run_one(&waits);
		fake_drm.lose = false;
	}
	tap_ok(!waits && !good && ret == -ECANCELED,
	       "so is that of one that is lost, the %u-th: %s", i, err.text);
}

static void *let_go(void *arg)
{
	usleep(50000);
	fake_drm_set(&fake_drm.hang, false);
	return NULL;
}

/* @n jobs that are all waited for in the kernel. */
static bool all_wait(unsigned int n)
{
	unsigned int i, waits, sum = 0;

	for (i = 0; i < n; i++) {
		if (run_one(&waits))
			return false;
		sum += waits;
	}
	return sum == n;
}

static void test_missed(void)
{
	int ret = -1, found = -1;
	unsigned int waits;
	pthread_t thread;
	bool good;

	fake_drm.job_us = 0;
	runs_until_found(&ret);
	fake_drm_set(&fake_drm.hang, true);
	pthread_create(&thread, NULL, let_go, NULL);
	ret = run_one(&waits);
	pthread_join(thread, NULL);
	tap_ok(!ret && waits == 1, "one that takes longer is waited for in the kernel: %u", waits);
	good = all_wait(MISSES);
	tap_ok(good, "and so are the next %u", MISSES);
	tap_ok(runs_until_found(&found) && !found, "and no more of them");
}

/* It is not looked for how long the last one took when the time of the caller is shorter. */
static void test_deadline(void)
{
	unsigned int before = fake_drm_kernel_waits();
	struct npu_fence *f;
	int ret;

	fake_drm_set(&fake_drm.hang, true);
	f = submit();
	ret = npu_fence_wait(f, npu_deadline_after(MS / 20), &err);
	tap_ok(ret == -ETIMEDOUT && fake_drm_kernel_waits() == before + 1,
	       "a deadline that comes before the end is the kernel's");
	fake_drm_set(&fake_drm.hang, false);
	tap_ok(!npu_fence_wait(f, SOON, &err), "the job ends");
	npu_fence_put(f);
}

/* The first one after that may have been looked for, and in vain. */
static void test_long(void)
{
	unsigned int waits;
	bool good;

	fake_drm.job_us = LONG_US;
	run_one(&waits);
	good = all_wait(2 * MISSES);
	tap_ok(good, "jobs of %u us are not looked for", LONG_US);
	fake_drm.job_us = 0;
}

int main(void)
{
	int fd = fake_drm_open(), i;

	begin(fd);
	test_first();
	test_short(0);
	test_short(1000);
	test_short(4000);
	test_failed();
	test_missed();
	test_deadline();
	test_long();
	end();
	for (i = 0; i < 5000 && fake_drm_live(); i++)
		usleep(1000);
	tap_ok(!fake_drm_live(), "nothing is left: %u objects", fake_drm_live());
	fake_drm_close(fd);
	return tap_done();
}
