// SPDX-License-Identifier: MIT
/*
 * Which jobs' ends are looked for before they are waited for in the kernel: those of streams whose
 * last two jobs were short and took the same, and not behind one that took something else; and
 * when. Against a stand-in for the driver (fake_drm.h), which counts the waits and the questions. A
 * machine that is busy makes things late: what is to come soon has to do so once of a few times.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "fake_drm.h"
#include "fixture.h"
#include "tap.h"

#define MS		1000000ull
#define SOON		npu_deadline_after(20000 * MS)
#define TRIES		300u
#define LONG_US		20000u
#define MISSES		4u	/* as libnpu/core/drm.h has it */
#define ATTEMPTS	12u
#define NUM_RUNS	10u

static struct npu_device *dev;
static struct npu_queue *queue;
static struct npu_job *tiny, *tiny2;
static struct npu_run *runs[NUM_RUNS], *other;	/* of tiny, and of tiny2: another stream */
static struct npu_error err;

static const float row[TINY_COLS] = { 1, 2, 3, 4 };

static void begin(int fd)
{
	struct npu_device_options opt = NPU_INIT(opt);
	struct fixture f;
	unsigned int i;
	char uri[32];

	snprintf(uri, sizeof(uri), "drm:fd=%d", fd);
	if (npu_device_open(uri, &opt, &dev, &err) || npu_queue_create(dev, NULL, &queue, &err))
		abort();
	tiny_make(&f);
	tiny = fixture_load(dev, &f, "tiny.npu");
	tiny2 = fixture_load(dev, &f, "tiny.npu");
	fixture_free(&f);
	for (i = 0; i < NUM_RUNS; i++)
		runs[i] = tiny_run(tiny, row);
	other = tiny_run(tiny2, row);
}

static void end(void)
{
	unsigned int i;

	npu_run_destroy(other);
	for (i = 0; i < NUM_RUNS; i++)
		npu_run_destroy(runs[i]);
	npu_job_unload(tiny2);
	npu_job_unload(tiny);
	npu_queue_destroy(queue);
	npu_device_close(dev);
}

static struct npu_fence *submit(struct npu_run *run)
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
	struct npu_fence *f = submit(runs[0]);
	int ret = npu_fence_wait(f, SOON, &err);

	*waits = fake_drm_kernel_waits() - before;
	npu_fence_put(f);
	return ret;
}

/* Jobs until one is not waited for in the kernel: a machine that is busy can be late. */
static unsigned int runs_until_found(int *ret)
{
	uint64_t until = npu_deadline_after(10000 * MS);
	unsigned int n = 0, waits = 1;

	while (waits && npu_deadline_after(0) < until) {
		*ret = run_one(&waits);
		n++;
	}
	return waits ? 0 : n;
}

static void test_first(void)
{
	unsigned int waits[2];
	int ret = run_one(&waits[0]) ?: run_one(&waits[1]);

	tap_ok(!ret && waits[0] == 1 && waits[1] == 1, "a stream's first two jobs are waited for");
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
	usleep(3000);
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

/* One that takes so much longer that it is looked for in vain; whether it was waited for then. */
static bool run_late(void)
{
	unsigned int before = fake_drm_early_asks(), waits;
	pthread_t thread;
	int ret;

	fake_drm_set(&fake_drm.hang, true);
	pthread_create(&thread, NULL, let_go, NULL);
	ret = run_one(&waits);
	pthread_join(thread, NULL);
	return !ret && waits == 1 && fake_drm_early_asks() > before;
}

/* How many jobs of 1 ms are not looked for until one is. */
static unsigned int count_left_alone(void)
{
	unsigned int n, waits = 1, before;

	for (n = 0; n < TRIES; n++) {
		before = fake_drm_early_asks();
		if (run_one(&waits) || !waits || fake_drm_early_asks() != before)
			break;
	}
	return n;
}

/* Wait for a job in slices that are all too short for it. */
static bool run_sliced(void)
{
	struct npu_fence *f;
	bool good = true;
	unsigned int i;

	fake_drm_set(&fake_drm.hang, true);
	f = submit(runs[0]);
	for (i = 0; i < 4 * MISSES; i++)
		good &= npu_fence_wait(f, npu_deadline_after(MS / 20), &err) == -ETIMEDOUT;
	fake_drm_set(&fake_drm.hang, false);
	good &= !npu_fence_wait(f, SOON, &err);
	npu_fence_put(f);
	return good;
}

/* Jobs that did not take the same are left alone as well: the fewest of a few times count. */
static void test_missed(bool sliced)
{
	unsigned int i, n, want = sliced ? MISSES - 1 : MISSES, fewest = TRIES;
	bool good = true;
	int ret = -1;

	fake_drm.job_us = 1000;
	for (i = 0; i < ATTEMPTS; i++) {
		good &= runs_until_found(&ret) && !ret;
		if (!run_late())
			continue;
		good &= !sliced || run_sliced();
		n = count_left_alone();
		fewest = n < fewest ? n : fewest;
	}
	tap_ok(good && fewest == want,
	       "behind one that was looked for in vain%s %u are not looked for: %u",
	       sliced ? " and one that is waited for in slices" : "", want, fewest);
}

/* It is not looked for how long the last one took when the time of the caller is shorter. */
static void test_deadline(void)
{
	unsigned int waits, asks;
	struct npu_fence *f;
	int ret = -1;

	fake_drm.job_us = 0;
	tap_ok(runs_until_found(&ret) && !ret, "one is looked for");
	waits = fake_drm_kernel_waits();
	asks = fake_drm_early_asks();
	fake_drm_set(&fake_drm.hang, true);
	f = submit(runs[0]);
	ret = npu_fence_wait(f, npu_deadline_after(MS / 20), &err);
	waits = fake_drm_kernel_waits() - waits;
	asks = fake_drm_early_asks() - asks;
	tap_ok(ret == -ETIMEDOUT && waits == 1 && !asks,
	       "a deadline that comes before the end is the kernel's: %u waits, %u questions",
	       waits, asks);
	fake_drm_set(&fake_drm.hang, false);
	tap_ok(!npu_fence_wait(f, SOON, &err), "the job ends");
	npu_fence_put(f);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Looking is for the last part of a job's time: the processor's others have the rest. */
static void test_sleep(void)
{
	uint64_t ns[ATTEMPTS], before;
	unsigned int i, n, waits;
	int ret = -1;

	fake_drm.job_us = 8000;
	for (i = n = 0; i < TRIES && n < ATTEMPTS; i++) {
		before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		ret = run_one(&waits);
		if (!waits)
			ns[n++] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	}
	qsort(ns, n, sizeof(ns[0]), by_size);
	tap_ok(!ret && n == ATTEMPTS && ns[n / 2] < 2 * MS,
	       "of 8 ms the one who waits has a processor for less than 2: %.2f",
	       n ? (double)ns[n / 2] / (double)MS : 0.0);
}

/* How late a fence is told to one who waits for it from now on. */
static uint64_t told_late(struct npu_fence *f)
{
	struct npu_fence_times times = NPU_INIT(times);
	uint64_t begun = clock_ns(CLOCK_MONOTONIC);

	if (npu_fence_wait(f, SOON, &err) || npu_fence_times(f, &times))
		abort();
	return clock_ns(CLOCK_MONOTONIC) - (begun > times.finished ? begun : times.finished);
}

/* All have run for long when the last one is waited for: then the ends of all are told. */
static uint64_t wait_behind_all(void)
{
	struct npu_fence *f[NUM_RUNS];
	uint64_t late;
	unsigned int i;

	for (i = 0; i < NUM_RUNS; i++)
		f[i] = submit(runs[i]);
	usleep(32000);
	late = told_late(f[NUM_RUNS - 1]);
	for (i = 0; i < NUM_RUNS; i++)
		npu_fence_put(f[i]);
	return late;
}

/* One of 1 ms is told when the next one of its queue, of 3 ms, has run for most of these. */
static uint64_t wait_behind_one(void)
{
	struct npu_fence *f[2];
	uint64_t late;

	fake_drm_set_job_us(1000);
	f[0] = submit(other);
	usleep(500);
	fake_drm_set_job_us(3000);
	f[1] = submit(runs[0]);
	usleep(2500);
	late = told_late(f[1]);
	npu_fence_put(f[0]);
	npu_fence_put(f[1]);
	return late;
}

static void test_behind(uint64_t (*wait)(void), unsigned int limit_us, const char *what)
{
	uint64_t late[ATTEMPTS];
	unsigned int i;
	int ret = -1;

	fake_drm_set_job_us(3000);
	for (i = 0; i < ATTEMPTS; i++) {
		if (!runs_until_found(&ret) || ret)
			break;
		late[i] = wait();
	}
	qsort(late, i, sizeof(late[0]), by_size);
	tap_ok(i == ATTEMPTS && late[i / 2] < limit_us * 1000u,
	       "a job of 3 ms behind %s is told in less than %u us: %.0f", what, limit_us,
	       i ? (double)late[i / 2] / 1000 : 0.0);
}

/* Whoever sleeps for a long one is late for a short one. */
static void test_in_turn(void)
{
	unsigned int i, waits, n = 0;

	for (i = 0; i < ATTEMPTS; i++) {
		fake_drm_set_job_us(8000);
		run_one(&waits);
		fake_drm_set_job_us(500);
		run_one(&waits);
		n += !waits;
	}
	tap_ok(n <= 1, "jobs of 8 ms and of 0.5 in turn are not looked for: %u are", n);
}

/*
 * That comes once, and then the next ones are left alone. A host that is busy may let a job be
 * waited for, or come to ask when one has ended: some of the tries are not disturbed.
 */
static void test_shorter(void)
{
	unsigned int i, n = 0, waits, tries = 0, exact = 0;
	int ret = -1;

	for (i = 0; i < ATTEMPTS; i++) {
		fake_drm_set_job_us(8000);
		runs_until_found(&ret);
		fake_drm_set_job_us(1000);
		run_one(&waits);
		if (waits)
			continue;
		n = count_left_alone();
		tries++;
		exact += n == MISSES;
	}
	tap_ok(!ret && exact,
	       "behind one that was slept through %u are not looked for: %u of %u times",
	       MISSES, exact, tries);
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
	test_missed(false);
	test_missed(true);
	test_deadline();
	test_sleep();
	test_behind(wait_behind_all, 1000, "others that ended long ago");
	test_behind(wait_behind_one, 750, "one that ended long ago");
	test_in_turn();
	test_shorter();
	test_long();
	end();
	for (i = 0; i < 5000 && fake_drm_live(); i++)
		usleep(1000);
	tap_ok(!fake_drm_live(), "nothing is left: %u objects", fake_drm_live());
	fake_drm_close(fd);
	return tap_done();
}
