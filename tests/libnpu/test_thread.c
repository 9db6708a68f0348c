// SPDX-License-Identifier: MIT
/* Many threads at once: the same bits as alone, whatever runs beside. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "common/run.h"
#include "fixture.h"
#include "tap.h"

#define THREADS	4

struct shared {
	struct npu_device *dev;
	struct npu_job *tiny, *mix;
	struct npu_queue *queue;	/* used by all */
	float want[256];		/* of mix, alone */
	uint64_t digest;		/* of all its layers, alone */
	atomic_uint good, bad;
};

/* A matrix product and a scaling: out = (a a) * w in f32, a from a table in the weights. */
static void mix_make(struct fixture *f)
{
	struct npu_operand mm[NPU_MATMUL_NUM_SLOTS] = { asm_f32(1, 0, 16, 16),
							asm_f32(0, 0, 16, 16),
							asm_f32(0, 1024, 16, 16) };
	npu_u32 params[NPU_MATMUL_NUM_PARAMS] = { [NPU_MATMUL_P_POST_MUL] = asm_float(1) };
	struct npu_operand y = asm_f32(4, 0, 16, 16), t = asm_f32(1, 0, 16, 16),
			   x = asm_f32(3, 0, 1, 1);
	int i;

	tiny_make(f);
	asm_free(&f->stream);
	for (i = 0; i < 512; i++)
		f->weights[i] = (float)((i * 7919) % 1009) / 1009 - 0.5f;
	asm_begin(&f->stream);
	asm_insn(&f->stream, NPU_OP_MATMUL, mm, params, NULL, 0, 1);
	asm_ewise2(&f->stream, NPU_BINARY_MUL, NPU_ACT_NONE, &y, &t, &x, NULL, 0, 2);
	asm_end(&f->stream, 5, 0, NULL);
	f->regions[1].size = NPU_JOBFILE_CONST(1024);
	f->regions[3].size = NPU_JOBFILE_CONST(4);
	f->regions[4].size = NPU_JOBFILE_CONST(1024);
	f->tensors[0].rank = 0;
	f->tensors[1].dim[0] = f->tensors[1].dim[1] = NPU_JOBFILE_CONST(16);
	f->tensors[1].flags = NPU_JOBFILE_DENSE;
	f->programs[0].num_symbols = 0;
	f->programs[0].num_debug = 0;
	f->programs[0].stream = f->stream.words;
	f->programs[0].stream_size = asm_size(&f->stream);
}

static int run_mix(struct shared *s, struct npu_queue *queue, float *out, uint64_t *digest)
{
	struct npu_submit_options opt = { .size = sizeof(opt), .flags = NPU_SUBMIT_DIGEST };
	const struct npu_insn_digest *dig;
	struct npu_fence *fence = NULL;
	struct npu_error err;
	struct npu_run *run;
	float x = 3;
	size_t n, i;
	int ret;

	ret = npu_run_create(s->mix, &run, &err);
	if (ret)
		return ret;
	ret = npu_run_write(run, "x", &x, 4, &err);
	if (!ret)
		ret = npu_queue_submit(queue, run, &opt, &fence, &err);
	if (!ret)
		ret = npu_fence_wait(fence, NPU_FOREVER, &err);
	if (!ret)
		ret = npu_run_read(run, "y", out, 1024, &err);
	for (i = *digest = 0; !ret && !npu_fence_digests(fence, &dig, &n) && i < n; i++)
		*digest = *digest * 31 + dig[i].digest;
	npu_fence_put(fence);
	npu_run_destroy(run);
	return ret;
}

static int run_tiny(struct shared *s, struct npu_queue *queue, unsigned int rows)
{
	float x[TINY_ROWS * TINY_COLS], y[TINY_ROWS * TINY_COLS];
	int64_t dims[2] = { rows, TINY_COLS };
	struct npu_error err;
	struct npu_run *run;
	unsigned int i, bad = 0;
	int ret;

	for (i = 0; i < rows * TINY_COLS; i++)
		x[i] = (float)((i + 17 * rows) % 23) - 11;
	npu_run_create(s->tiny, &run, &err);
	ret = npu_run_set_shape(run, "x", 2, dims, &err) ||
	      npu_run_write(run, "x", x, rows * 16, &err) ||
	      run_and_wait(queue, run, &err) ||
	      npu_run_read(run, "y", y, rows * 16, &err);
	for (i = 0; i < rows * TINY_COLS && !ret; i++)
		bad += y[i] != tiny_ref(x[i], i % TINY_COLS);
	npu_run_destroy(run);
	return ret || bad;
}

static void *thread_main(void *arg)
{
	unsigned int i, n = tap_long() ? 5000 : 150;
	struct shared *s = arg;
	struct npu_queue *own;
	struct npu_error err;
	uint64_t digest;
	float out[256];

	if (npu_queue_create(s->dev, NULL, &own, &err))
		return NULL;
	for (i = 0; i < n; i++) {
		struct npu_queue *queue = i % 3 ? own : s->queue;
		int ret;

		if (i % 2)
			ret = run_tiny(s, queue, 1 + i % TINY_ROWS);
		else
			ret = run_mix(s, queue, out, &digest) ||
			      memcmp(out, s->want, sizeof(out)) || digest != s->digest;
		atomic_fetch_add(ret ? &s->bad : &s->good, 1);
	}
	npu_queue_destroy(own);
	return NULL;
}

static void test_many(struct shared *s)
{
	unsigned int n = THREADS * (tap_long() ? 5000 : 150);
	pthread_t thread[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, thread_main, s);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	tap_ok(s->good == n && !s->bad,
	       "%u of %u jobs of %d threads on own and shared queues have the bits of a job alone",
	       s->good, n, THREADS);
}

struct chain {
	struct shared *s;
	struct npu_run *run;
	pthread_mutex_t lock;	/* protects left */
	pthread_cond_t cond;
	int left;
};

/* The end of a job submits the next one from the device's thread. */
static void chain_next(void *ctx, struct npu_fence *fence)
{
	struct chain *c = ctx;
	struct npu_submit_options opt = { .size = sizeof(opt), .done = chain_next, .done_ctx = c };
	bool more;

	pthread_mutex_lock(&c->lock);
	more = !npu_fence_status(fence) && --c->left > 0;
	if (!more)
		pthread_cond_signal(&c->cond);
	pthread_mutex_unlock(&c->lock);
	if (more)
		npu_queue_submit(c->s->queue, c->run, &opt, NULL, NULL);
}

static void test_chain(struct shared *s)
{
	struct chain c = { .s = s,
			   .lock = PTHREAD_MUTEX_INITIALIZER,
			   .cond = PTHREAD_COND_INITIALIZER,
			   .left = 100 };
	struct npu_submit_options opt = { .size = sizeof(opt), .done = chain_next, .done_ctx = &c };
	struct npu_error err;

	npu_run_create(s->mix, &c.run, &err);
	npu_queue_submit(s->queue, c.run, &opt, NULL, &err);
	pthread_mutex_lock(&c.lock);
	while (c.left > 0)
		pthread_cond_wait(&c.cond, &c.lock);
	pthread_mutex_unlock(&c.lock);
	npu_queue_wait(s->queue, NPU_FOREVER, &err);
	tap_ok(!c.left, "a run submits itself 100 times from its callback");
	npu_run_destroy(c.run);
}

static void *canceller(void *arg)
{
	struct npu_fence *fence = arg;

	npu_fence_cancel(fence);
	npu_fence_wait(fence, NPU_FOREVER, NULL);
	npu_fence_put(fence);
	return NULL;
}

/* Cancel against the job's own end, from another thread. */
static void test_cancel_race(struct shared *s)
{
	unsigned int i, n = 200, done = 0, cancelled = 0;
	struct npu_fence *fence;
	struct npu_error err;
	struct npu_run *run;
	pthread_t thread;

	npu_run_create(s->mix, &run, &err);
	for (i = 0; i < n; i++) {
		if (npu_queue_submit(s->queue, run, NULL, &fence, &err))
			break;
		pthread_create(&thread, NULL, canceller, npu_fence_get(fence));
		switch (npu_fence_wait(fence, NPU_FOREVER, &err)) {
		case 0: done++; break;
		case -ECANCELED: cancelled++; break;
		}
		pthread_join(thread, NULL);
		npu_fence_put(fence);
	}
	tap_ok(done + cancelled == n, "%u jobs raced with a cancel: %u done, %u cancelled", n, done,
	       cancelled);
	npu_run_destroy(run);
}

static void *closer(void *arg)
{
	unsigned int i, good = 0;
	struct fixture f;

	tiny_make(&f);
	for (i = 0; i < 20; i++) {
		struct shared own = { 0 };
		struct npu_error err;

		if (npu_device_open("sim:threads=2", NULL, &own.dev, &err) ||
		    npu_queue_create(own.dev, NULL, &own.queue, &err))
			break;
		own.tiny = fixture_load(own.dev, &f, "tiny.npu");
		good += !run_tiny(&own, own.queue, 5);
		npu_device_close(own.dev);
		npu_queue_destroy(own.queue);
		npu_job_unload(own.tiny);
	}
	fixture_free(&f);
	*(unsigned int *)arg = good;
	return NULL;
}

static void test_devices(void)
{
	unsigned int good[2] = { 0 };
	pthread_t thread[2];
	int i;

	for (i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, closer, &good[i]);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	tap_ok(good[0] == 20 && good[1] == 20, "two threads open, use and close %u + %u devices",
	       good[0], good[1]);
}

int main(void)
{
	struct fixture tiny, mix;
	struct npu_error err;
	struct shared s = { 0 };

	tiny_make(&tiny);
	mix_make(&mix);
	if (!tap_ok(!npu_device_open("sim:threads=3", NULL, &s.dev, &err), "open"))
		return tap_done();
	npu_queue_create(s.dev, NULL, &s.queue, &err);
	s.tiny = fixture_load(s.dev, &tiny, "tiny.npu");
	s.mix = fixture_load(s.dev, &mix, "mix.npu");
	tap_ok(!run_mix(&s, s.queue, s.want, &s.digest), "alone");
	test_many(&s);
	test_chain(&s);
	test_cancel_race(&s);
	test_devices();
	npu_queue_destroy(s.queue);
	npu_job_unload(s.tiny);
	npu_job_unload(s.mix);
	npu_device_close(s.dev);
	fixture_free(&tiny);
	fixture_free(&mix);
	return tap_done();
}
