// SPDX-License-Identifier: MIT
/*
 * Who tells the end of a job on a kernel device: the thread that waits for it, the queue's own when
 * nobody does, when a user is to be called, or when others wait behind. Against a stand-in for the
 * driver (fake_drm.h), whose jobs end when they are told to.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fake_drm.h"
#include "fixture.h"
#include "npu_host.h"
#include "npu_share.h"
#include "tap.h"

#define MS		1000000ull
#define SOON		npu_deadline_after(20000 * MS)
#define JOBS		4u
#define STORM_THREADS	4u
#define STORM_JOBS	150u

static struct npu_device *dev;
static struct npu_queue *queue, *other;
static struct npu_job *tiny, *host;
static struct npu_run *run[JOBS];
static struct npu_error err;
static const float row[TINY_COLS] = { 1, 2, 3, 4 };

static void begin(int fd)
{
	struct npu_device_options opt = { .size = sizeof(opt), .host_ops = fixture_ops,
					  .num_host_ops = FIXTURE_OPS };
	struct fixture f;
	char uri[32];
	unsigned int i;

	snprintf(uri, sizeof(uri), "drm:fd=%d", fd);
	if (npu_device_open(uri, &opt, &dev, &err) || npu_queue_create(dev, NULL, &queue, &err) ||
	    npu_queue_create(dev, NULL, &other, &err))
		abort();
	tiny_make(&f);
	tiny = fixture_load(dev, &f, "tiny.npu");
	fixture_free(&f);
	host_make(&f);
	host = fixture_load(dev, &f, "host.npu");
	fixture_free(&f);
	for (i = 0; i < JOBS; i++)
		run[i] = tiny_run(tiny, row);
}

static void end(void)
{
	unsigned int i;

	for (i = 0; i < JOBS; i++)
		npu_run_destroy(run[i]);
	npu_job_unload(tiny);
	npu_job_unload(host);
	npu_queue_destroy(queue);
	npu_queue_destroy(other);
	npu_device_close(dev);
}

static void hang(bool on)
{
	fake_drm_set(&fake_drm.hang, on);
}

static struct npu_fence *submit(unsigned int i, const struct npu_submit_options *opt)
{
	struct npu_fence *fence;

	if (npu_queue_submit(queue, run[i], opt, &fence, &err))
		abort();
	return fence;
}

static void released(void *ctx)
{
	atomic_store((atomic_bool *)ctx, true);
}

/* A job's memory is given back although its fence is looked at by nobody. */
static void test_nobody(void)
{
	static float x[TINY_COLS] __attribute__((aligned(4096))) = { 1, 2, 3, 4 };
	struct npu_run *r = tiny_run(tiny, row);
	struct npu_buffer *buf;
	atomic_bool gone = false;
	unsigned int i;

	if (npu_buffer_import_host(dev, x, sizeof(x), NPU_BUFFER_READ_ONLY, released, &gone, &buf,
				   &err) ||
	    npu_run_bind(r, "x", buf, 0, &err) || npu_queue_submit(queue, r, NULL, NULL, &err))
		abort();
	npu_buffer_put(buf);
	npu_run_destroy(r);
	for (i = 0; i < 20000 && !atomic_load(&gone); i++)
		usleep(1000);
	tap_ok(atomic_load(&gone), "without a waiter a job lets go of its memory after %u ms", i);
}

static void test_polling(void)
{
	struct npu_fence *f;
	unsigned int i;

	hang(true);
	f = submit(0, NULL);
	tap_ok(npu_fence_status(f) == -EINPROGRESS && npu_fence_wait(f, 0, &err) == -ETIMEDOUT,
	       "a look at a job that hangs does not wait for it");
	tap_ok(npu_fence_wait(f, npu_deadline_after(20 * MS), &err) == -ETIMEDOUT,
	       "a deadline ends a wait: %s", err.text);
	hang(false);
	for (i = 0; i < 20000 && npu_fence_status(f) == -EINPROGRESS; i++)
		usleep(1000);
	tap_ok(!npu_fence_status(f), "looking is enough to see it end");
	npu_fence_put(f);
}

/* In order, also when the last one is waited for. */
static void test_last(void)
{
	struct npu_fence *f[JOBS];
	unsigned int i, good = 0;

	hang(true);
	for (i = 0; i < JOBS; i++)
		f[i] = submit(i, NULL);
	hang(false);
	tap_ok(!npu_fence_wait(f[JOBS - 1], SOON, &err), "the last of %u jobs", JOBS);
	for (i = 0; i < JOBS; i++)
		good += npu_fence_wait(f[i], 0, &err) == 0;
	tap_ok(good == JOBS, "and those before it have ended then: %u", good);
	for (i = 0; i < JOBS; i++)
		npu_fence_put(f[i]);
}

struct waiter {
	pthread_t thread;
	struct npu_fence *fence;
	uint64_t deadline, back_at;
	atomic_bool back;
	int ret;
};

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;

	w->ret = npu_fence_wait(w->fence, w->deadline, NULL);
	w->back_at = npu_deadline_after(0);
	atomic_store(&w->back, true);
	return NULL;
}

/* It takes a thread of its own to find out that a call does not return. */
static bool comes_back(struct waiter *w)
{
	unsigned int i;

	for (i = 0; i < 20000 && !atomic_load(&w->back); i++)
		usleep(1000);
	return atomic_load(&w->back);
}

/*
 * Others wait for the same job and for later ones, and whoever came first gives up: somebody has
 * to go on with it.
 */
static void test_many(void)
{
	struct waiter w[2 * JOBS];
	unsigned int i, good = 0;

	hang(true);
	for (i = 0; i < 2 * JOBS; i++) {
		if (i < JOBS)
			w[i].fence = submit(i, NULL);
		else
			w[i].fence = npu_fence_get(w[i - JOBS].fence);
		w[i].deadline = i ? SOON : npu_deadline_after(100 * MS);
		pthread_create(&w[i].thread, NULL, waiter_run, &w[i]);
		usleep(10000);
	}
	pthread_join(w[0].thread, NULL);
	tap_ok(w[0].ret == -ETIMEDOUT, "the first of %u waiters gives up", 2 * JOBS);
	hang(false);
	for (i = 1; i < 2 * JOBS; i++) {
		pthread_join(w[i].thread, NULL);
		good += !w[i].ret;
	}
	tap_ok(good == 2 * JOBS - 1, "the others come to their end: %u", good);
	for (i = 0; i < 2 * JOBS; i++)
		npu_fence_put(w[i].fence);
}

struct called {
	atomic_uint times;
	pthread_t thread;
};

static void done(void *ctx, struct npu_fence *fence)
{
	struct called *c = ctx;

	c->thread = pthread_self();
	atomic_fetch_add(&c->times, 1);
}

/* A user's callback runs on the queue's thread, never on one that waits for another job. */
static void test_callback(void)
{
	struct called c = { 0 };
	struct npu_submit_options opt = NPU_INIT(opt);
	struct npu_fence *f[3];
	unsigned int i;

	opt.done = done;
	opt.done_ctx = &c;
	hang(true);
	f[0] = submit(0, NULL);
	f[1] = submit(1, &opt);
	f[2] = submit(2, NULL);
	hang(false);
	tap_ok(!npu_fence_wait(f[2], SOON, &err) && atomic_load(&c.times) == 1 &&
	       !pthread_equal(c.thread, pthread_self()), "a callback in front of a wait");
	npu_fence_put(f[1]);
	f[1] = submit(1, &opt);
	for (i = 0; i < 20000 && atomic_load(&c.times) < 2; i++)
		usleep(1000);
	tap_ok(atomic_load(&c.times) == 2, "and one that nobody waits for");
	npu_fence_wait(f[1], SOON, NULL);
	for (i = 0; i < 3; i++)
		npu_fence_put(f[i]);
}

/* A plain job behind one with host steps is not in the kernel when another queue waits for it. */
static void test_chained(void)
{
	struct npu_submit_options opt = NPU_INIT(opt);
	struct npu_run *h = tiny_run(host, row);
	struct npu_fence *fh, *f[2] = { NULL };

	hang(true);
	if (npu_queue_submit(queue, h, NULL, &fh, &err))
		abort();
	f[0] = submit(0, NULL);
	opt.wait = f;
	opt.num_wait = 1;
	tap_ok(!npu_queue_submit(other, run[1], &opt, &f[1], &err) &&
	       npu_fence_status(f[1]) == -EINPROGRESS,
	       "a job behind one that stands behind host steps: %s", err.text);
	hang(false);
	tap_ok(!npu_fence_wait(f[1], SOON, &err) && !npu_fence_status(f[0]) &&
	       !npu_fence_status(fh), "they end in their order: %s", npu_fence_text(f[1]));
	npu_fence_put(fh);
	npu_fence_put(f[0]);
	npu_fence_put(f[1]);
	npu_run_destroy(h);
}

/*
 * That job is handed to the kernel while somebody waits for it already: he is told at once, and not
 * when the queue's thread comes by.
 */
static void test_forwarded(void)
{
	struct npu_fence_times times = NPU_INIT(times);
	struct npu_run *h = tiny_run(host, row);
	uint64_t late = UINT64_MAX;
	struct waiter w = { 0 };
	struct npu_fence *fh;
	unsigned int i;

	for (i = 0; i < 20 && late > 2 * MS; i++) {
		hang(true);
		if (npu_queue_submit(queue, h, NULL, &fh, &err))
			abort();
		w.fence = submit(0, NULL);
		w.deadline = SOON;
		pthread_create(&w.thread, NULL, waiter_run, &w);
		usleep(20000);
		hang(false);
		pthread_join(w.thread, NULL);
		if (!npu_fence_times(w.fence, &times) && w.back_at - times.finished < late)
			late = w.back_at - times.finished;
		npu_fence_put(w.fence);
		npu_fence_put(fh);
	}
	tap_ok(late <= 2 * MS, "who waits behind host steps is told after %llu us",
	       (unsigned long long)late / 1000);
	npu_run_destroy(h);
}

struct held {
	sem_t in, go;
};

static void done_held(void *ctx, struct npu_fence *fence)
{
	struct held *h = ctx;

	sem_post(&h->in);
	while (sem_wait(&h->go))
		;
}

/*
 * A deadline holds although the job has ended: what it waited for is not told, as a callback in
 * front of that takes its time.
 */
static void test_held(void)
{
	struct npu_submit_options call = NPU_INIT(call), wait = NPU_INIT(wait);
	struct waiter w = { 0 };
	struct npu_fence *f[3];
	struct held h;

	sem_init(&h.in, 0, 0);
	sem_init(&h.go, 0, 0);
	call.done = done_held;
	call.done_ctx = &h;
	wait.wait = &f[1];
	wait.num_wait = 1;
	if (npu_queue_submit(other, run[0], &call, &f[0], &err) ||
	    npu_queue_submit(other, run[1], NULL, &f[1], &err) ||
	    npu_queue_submit(queue, run[2], &wait, &f[2], &err))
		abort();
	while (sem_wait(&h.in))
		;
	w.fence = f[2];
	w.deadline = npu_deadline_after(100 * MS);
	pthread_create(&w.thread, NULL, waiter_run, &w);
	tap_ok(comes_back(&w) && w.ret == -ETIMEDOUT, "a deadline holds while a callback blocks");
	sem_post(&h.go);
	pthread_join(w.thread, NULL);
	tap_ok(!npu_fence_wait(f[2], SOON, &err) && !npu_fence_status(f[1]),
	       "and the job ends behind it: %s", npu_fence_text(f[2]));
	npu_fence_put(f[0]);
	npu_fence_put(f[1]);
	npu_fence_put(f[2]);
	sem_destroy(&h.in);
	sem_destroy(&h.go);
}

#define DROPS	200u

/* what callbacks and lookers want */
static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;

static void done_wants(void *ctx, struct npu_fence *fence)
{
	pthread_mutex_lock(&wanted);
	pthread_mutex_unlock(&wanted);
	atomic_fetch_add((atomic_uint *)ctx, 1);
}

static void *looker_run(void *arg)
{
	struct npu_submit_options opt = NPU_INIT(opt);
	static atomic_uint calls;
	struct waiter *w = arg;
	struct npu_queue *q;
	unsigned int i;

	opt.done = done_wants;
	opt.done_ctx = &calls;
	for (i = 0; i < DROPS && !w->ret; i++) {
		if (npu_queue_create(dev, NULL, &q, NULL) ||
		    npu_queue_submit(q, run[0], &opt, &w->fence, NULL))
			abort();
		npu_queue_destroy(q);
		pthread_mutex_lock(&wanted);
		do
			w->ret = npu_fence_status(w->fence);
		while (w->ret == -EINPROGRESS);
		pthread_mutex_unlock(&wanted);
		npu_fence_put(w->fence);
	}
	while (!w->ret && atomic_load(&calls) < DROPS)
		usleep(100);
	atomic_store(&w->back, true);
	return NULL;
}

/*
 * Of a queue that was dropped behind its last job, libnpu itself has the last reference: who looks
 * does not wait for the callback then, which may wait for him.
 */
static void test_dropped(void)
{
	struct waiter w = { 0 };

	pthread_create(&w.thread, NULL, looker_run, &w);
	if (!tap_ok(comes_back(&w) && !w.ret, "looks do not wait for callbacks of dropped queues"))
		exit(tap_done());	/* there is no way on */
	pthread_join(w.thread, NULL);
}

static void *exporter_run(void *arg)
{
	struct waiter *w = arg;
	int fd;

	w->ret = npu_fence_export(w->fence, &fd, NULL);
	atomic_store(&w->back, true);
	return NULL;
}

/* A job that never runs has no fence for others, and they do not wait for its turn. */
static void test_export(void)
{
	struct npu_submit_options opt = NPU_INIT(opt);
	struct waiter w = { 0 };
	struct npu_fence *f[3];

	hang(true);
	f[0] = submit(0, NULL);
	npu_fence_cancel(f[0]);
	npu_fence_wait(f[0], SOON, NULL);
	f[1] = submit(1, NULL);
	opt.wait = &f[0];
	opt.num_wait = 1;
	w.fence = f[2] = submit(2, &opt);
	pthread_create(&w.thread, NULL, exporter_run, &w);
	tap_ok(comes_back(&w) && w.ret == -ECANCELED, "a job that never runs is not exported");
	hang(false);
	pthread_join(w.thread, NULL);
	tap_ok(npu_fence_wait(f[2], SOON, &err) == -ECANCELED && !npu_fence_wait(f[1], SOON, &err),
	       "and says so in its turn: %s", npu_fence_text(f[2]));
	npu_fence_put(f[0]);
	npu_fence_put(f[1]);
	npu_fence_put(f[2]);
}

struct storm {
	pthread_t thread;
	unsigned int seed, good, calls;
	struct called called;
};

/* Waits with and without a deadline, looks, and callbacks, by turns. */
static void *storm_run(void *arg)
{
	struct storm *s = arg;
	struct npu_submit_options opt = NPU_INIT(opt);
	struct npu_run *r = tiny_run(tiny, row);
	struct npu_fence *f;
	struct npu_error why;
	unsigned int i, kind;

	opt.done = done;
	opt.done_ctx = &s->called;
	for (i = 0; i < STORM_JOBS; i++) {
		kind = (unsigned int)rand_r(&s->seed) % 4;
		if (npu_queue_submit(queue, r, kind == 3 ? &opt : NULL, &f, &why))
			break;
		s->calls += kind == 3;
		if (kind == 1)
			npu_fence_wait(f, npu_deadline_after(MS / 20), NULL);
		while (kind == 2 && npu_fence_status(f) == -EINPROGRESS)
			usleep(50);
		s->good += !npu_fence_wait(f, SOON, &why);
		npu_fence_put(f);
	}
	npu_run_destroy(r);
	/* They come behind the fence, and must not come when *s is gone. */
	while (atomic_load(&s->called.times) < s->calls)
		usleep(100);
	return NULL;
}

static void test_storm(void)
{
	struct storm s[STORM_THREADS] = { 0 };
	unsigned int i, good = 0;

	for (i = 0; i < STORM_THREADS; i++) {
		s[i].seed = i + 1;
		pthread_create(&s[i].thread, NULL, storm_run, &s[i]);
	}
	for (i = 0; i < STORM_THREADS; i++) {
		pthread_join(s[i].thread, NULL);
		good += s[i].good;
	}
	tap_ok(good == STORM_THREADS * STORM_JOBS, "%u threads on one queue: %u of %u jobs",
	       STORM_THREADS, good, STORM_THREADS * STORM_JOBS);
}

int main(void)
{
	int fd = fake_drm_open(), i;

	begin(fd);
	test_nobody();
	test_polling();
	test_last();
	test_many();
	test_callback();
	test_chained();
	test_forwarded();
	test_held();
	test_dropped();
	test_export();
	test_storm();
	end();
	/* A callback is made before its work's last references go. */
	for (i = 0; i < 5000 && fake_drm_live(); i++)
		usleep(1000);
	tap_ok(!fake_drm_live(), "nothing is left: %u objects", fake_drm_live());
	fake_drm_close(fd);
	return tap_done();
}
