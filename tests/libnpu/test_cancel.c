// SPDX-License-Identifier: MIT
/*
 * Cancel of one job among others of its queue, on both backends: it ends with -ECANCELED, the
 * others are done, in order and right, and the queue goes on.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fake_drm.h"
#include "fixture.h"
#include "tap.h"

#define SECONDS(n)	npu_deadline_after((n) * 1000000000ull)
#define JOBS		8
/* Long against what happens meanwhile, short against the deadlines: races are looked for slowly. */
#if defined(__SANITIZE_THREAD__)
#define SLOW_INSNS	100
#else
#define SLOW_INSNS	1000
#endif
#define THREADS		4

static struct npu_error err;

struct env {
	const char *name;
	struct npu_device *dev;
	struct npu_queue *q;
	struct npu_job *tiny, *slow;
};

static float value(unsigned int i, unsigned int col)
{
	return (float)(i + 1) * 0.5f + (float)col;
}

static struct npu_run *tiny_run_of(struct env *e, unsigned int i)
{
	float x[TINY_COLS];
	unsigned int c;

	for (c = 0; c < TINY_COLS; c++)
		x[c] = value(i, c);
	return tiny_run(e->tiny, x);
}

static bool tiny_right(struct npu_run *run, unsigned int i)
{
	float y[TINY_COLS];
	unsigned int c;

	if (npu_run_read(run, "y", y, sizeof(y), NULL))
		return false;
	for (c = 0; c < TINY_COLS; c++)
		if (y[c] != tiny_ref(value(i, c), c))
			return false;
	return true;
}

/* A long job, JOBS behind it, those of @mask cancelled while it runs, and it, too, with @head. */
static void check_some(struct env *e, unsigned int mask, bool head)
{
	struct npu_run *slow, *run[JOBS];
	struct npu_fence *fs, *fence[JOBS];
	unsigned int i, bad = 0;
	int status;

	npu_run_create(e->slow, &slow, &err);
	npu_queue_submit(e->q, slow, NULL, &fs, &err);
	for (i = 0; i < JOBS; i++) {
		run[i] = tiny_run_of(e, i);
		bad += npu_queue_submit(e->q, run[i], NULL, &fence[i], &err) != 0;
	}
	npu_fence_wait(fs, npu_deadline_after(2000000), NULL);
	for (i = 0; i < JOBS; i++)
		if (mask & 1u << i)
			npu_fence_cancel(fence[i]);
	bad += npu_fence_status(fs) != -EINPROGRESS;
	if (head)
		npu_fence_cancel(fs);
	bad += npu_fence_wait(fs, SECONDS(30), NULL) != (head ? -ECANCELED : 0);
	for (i = 0; i < JOBS; i++) {
		status = npu_fence_wait(fence[i], SECONDS(30), &err);
		if (mask & 1u << i)
			bad += status != -ECANCELED ||
			       !strstr(npu_fence_text(fence[i]), "cancelled") ||
			       npu_run_read(run[i], "y", (float[TINY_COLS]){ 0 }, 16, NULL) !=
				       -ECANCELED;
		else
			bad += status != 0 || !tiny_right(run[i], i);
		npu_fence_cancel(fence[i]);
		bad += npu_fence_status(fence[i]) != status;
		npu_fence_put(fence[i]);
		npu_run_destroy(run[i]);
	}
	npu_fence_put(fs);
	npu_run_destroy(slow);
	tap_ok(!bad, "%s: jobs %#x of %u are cancelled%s, the others are right", e->name, mask,
	       JOBS, head ? ", and the one that runs" : "");
}

struct thread {
	pthread_t id;
	struct env *env;
	unsigned int seed, rounds;
	unsigned int done, cancelled, bad;
};

static unsigned int below(struct thread *t, unsigned int n)
{
	t->seed = t->seed * 1664525u + 1013904223u;
	return (t->seed >> 8) % n;
}

/* Submits some, cancels one of them at any moment, and looks at all. */
static void random_round(struct thread *t)
{
	struct npu_run *run[3];
	struct npu_fence *fence[3];
	unsigned int i, victim = below(t, 3);
	int status;

	for (i = 0; i < 3; i++) {
		run[i] = tiny_run_of(t->env, i);
		if (npu_queue_submit(t->env->q, run[i], NULL, &fence[i], NULL))
			abort();
	}
	if (!below(t, 3))
		usleep(below(t, 50));
	npu_fence_cancel(fence[victim]);
	for (i = 0; i < 3; i++) {
		status = npu_fence_wait(fence[i], SECONDS(30), NULL);
		if (status == -ECANCELED && i == victim)
			t->cancelled++;
		else if (!status && tiny_right(run[i], i))
			t->done++;
		else
			t->bad++;
		npu_fence_put(fence[i]);
		npu_run_destroy(run[i]);
	}
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	unsigned int i;

	for (i = 0; i < t->rounds; i++)
		random_round(t);
	return NULL;
}

static void check_threads(struct env *e)
{
	unsigned int i, n = tap_cases(1000) / THREADS, done = 0, cancelled = 0, bad = 0;
	struct thread t[THREADS];

	for (i = 0; i < THREADS; i++) {
		t[i] = (struct thread){ .env = e, .seed = i + 1, .rounds = n };
		if (pthread_create(&t[i].id, NULL, thread_main, &t[i]))
			abort();
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i].id, NULL);
		done += t[i].done;
		cancelled += t[i].cancelled;
		bad += t[i].bad;
	}
	tap_ok(!bad && cancelled && done + cancelled == 3 * n * THREADS,
	       "%s: %u cancels from %u threads: %u jobs done, %u cancelled, %u wrong", e->name,
	       n * THREADS, THREADS, done, cancelled, bad);
}

static void begin(struct env *e, const char *name, const char *uri)
{
	struct fixture f;

	e->name = name;
	if (npu_device_open(uri, NULL, &e->dev, &err) ||
	    npu_queue_create(e->dev, NULL, &e->q, &err))
		abort();
	tiny_make(&f);
	e->tiny = fixture_load(e->dev, &f, "tiny.npu");
	fixture_free(&f);
	slow_make(&f, SLOW_INSNS);
	e->slow = fixture_load(e->dev, &f, "slow.npu");
	fixture_free(&f);
}

static void end(struct env *e)
{
	npu_job_unload(e->slow);
	npu_job_unload(e->tiny);
	npu_queue_destroy(e->q);
	npu_device_close(e->dev);
}

static void check_all(struct env *e)
{
	check_some(e, 1u << 0, false);
	check_some(e, 1u << 3, false);
	check_some(e, 1u << (JOBS - 1), false);
	check_some(e, 1u << 0 | 1u << 3 | 1u << 4 | 1u << (JOBS - 1), true);
	check_some(e, (1u << JOBS) - 1, false);
	check_some(e, 0, true);
	check_threads(e);
}

/* A driver that can not: alone in its queue a job is stopped, else it comes to its end. */
static void check_old(struct env *e)
{
	struct npu_run *run[2] = { tiny_run_of(e, 0), tiny_run_of(e, 1) };
	struct npu_fence *fence[2];
	unsigned int i;

	fake_drm_set(&fake_drm.no_cancel, true);
	fake_drm_set(&fake_drm.hang, true);
	for (i = 0; i < 2; i++)
		npu_queue_submit(e->q, run[i], NULL, &fence[i], &err);
	npu_fence_cancel(fence[0]);
	npu_fence_cancel(fence[1]);
	tap_ok(npu_fence_wait(fence[0], npu_deadline_after(20000000), &err) == -ETIMEDOUT,
	       "an old driver: with another behind it a job goes on");
	fake_drm_set(&fake_drm.hang, false);
	for (i = 0; i < 2; i++) {
		tap_ok(!npu_fence_wait(fence[i], SECONDS(5), &err) && tiny_right(run[i], i),
		       "and both are done");
		npu_fence_put(fence[i]);
	}
	fake_drm_set(&fake_drm.hang, true);
	npu_queue_submit(e->q, run[0], NULL, &fence[0], &err);
	npu_fence_cancel(fence[0]);
	tap_ok(npu_fence_wait(fence[0], SECONDS(5), &err) == -ECANCELED, "alone it is stopped");
	npu_fence_put(fence[0]);
	fake_drm_set(&fake_drm.hang, false);
	for (i = 0; i < 2; i++)
		npu_run_destroy(run[i]);
	fake_drm_set(&fake_drm.no_cancel, false);
}

int main(void)
{
	struct env e = { 0 };
	char uri[32];
	int fd;

	begin(&e, "sim", "sim:threads=1");
	check_all(&e);
	end(&e);

	fd = fake_drm_open();
	snprintf(uri, sizeof(uri), "drm:fd=%d", fd);
	begin(&e, "drm", uri);
	check_all(&e);
	check_old(&e);
	check_some(&e, 1u << 3, true);
	end(&e);
	fake_drm_close(fd);
	return tap_done();
}
