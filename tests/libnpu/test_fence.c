// SPDX-License-Identifier: MIT
/* Queues and fences: order, waits, cancel, deadlines, callbacks, faults, profile and digest. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "tap.h"

static struct npu_error err;

struct env {
	struct npu_device *dev;
	struct npu_queue *q[2];
	struct npu_job *tiny, *slow, *gather;
};

static struct npu_run *quick_run(struct env *e)
{
	struct npu_run *run;

	npu_run_create(e->tiny, &run, &err);
	npu_run_set_shape(run, "x", 2, (int64_t[]){ 1, 4 }, &err);
	return run;
}

static void test_cancel(struct env *e)
{
	struct npu_run *slow, *after;
	struct npu_fence *fs, *fa;
	uint64_t t0;

	npu_run_create(e->slow, &slow, &err);
	after = quick_run(e);
	tap_ok(!npu_queue_submit(e->q[0], slow, NULL, &fs, &err), "a long job is submitted");
	tap_ok(!npu_queue_submit(e->q[0], after, NULL, &fa, &err), "and one behind it");
	tap_ok(npu_fence_status(fs) == -EINPROGRESS, "the long one is under way");
	tap_ok(npu_fence_wait(fs, 0, &err) == -ETIMEDOUT, "polling says so");
	tap_ok(npu_fence_wait(fs, npu_deadline_after(20000000), &err) == -ETIMEDOUT,
	       "a deadline of 20 ms passes");
	tap_ok(npu_queue_wait(e->q[0], npu_deadline_after(1000000), &err) == -ETIMEDOUT,
	       "for the queue, too");
	tap_ok(npu_queue_submit(e->q[0], slow, NULL, NULL, &err) == -EBUSY, "its run is busy: %s",
	       err.text);
	tap_ok(npu_run_write(slow, "x", &t0, 4, &err) == -EBUSY, "and can not be written");
	tap_ok(npu_run_set_shape(slow, "x", 1, (int64_t[]){ 1 }, &err) == -EBUSY,
	       "nor get a shape");
	tap_ok(npu_run_bind(slow, "x", NULL, 0, &err) == -EBUSY, "nor be bound");
	t0 = npu_deadline_after(0);
	npu_fence_cancel(fs);
	tap_ok(npu_fence_wait(fs, npu_deadline_after(5000000000u), &err) == -ECANCELED,
	       "cancelled: %s", err.text);
	tap_diag("cancel to fence: %.2f ms", (npu_deadline_after(0) - t0) / 1e6);
	tap_ok(!npu_fence_wait(fa, npu_deadline_after(5000000000u), &err),
	       "the job behind it runs");
	tap_ok(npu_run_read(slow, "y", &t0, 4, &err) == -ECANCELED,
	       "no output of a cancelled job: %s", err.text);
	npu_fence_cancel(fs);
	npu_fence_put(fs);
	npu_fence_put(fa);
	npu_run_destroy(slow);
	npu_run_destroy(after);
}

static void test_cancel_queue(struct env *e)
{
	struct npu_fence *f[5];
	struct npu_run *r[5];
	int i, n = 0;

	for (i = 0; i < 5; i++) {
		npu_run_create(e->slow, &r[i], &err);
		npu_queue_submit(e->q[1], r[i], NULL, &f[i], &err);
	}
	tap_ok(!npu_queue_cancel(e->q[1], &err), "cancel a queue");
	tap_ok(!npu_queue_wait(e->q[1], npu_deadline_after(5000000000u), &err), "it becomes empty");
	for (i = 0; i < 5; i++) {
		n += npu_fence_status(f[i]) == -ECANCELED;
		npu_fence_put(f[i]);
		npu_run_destroy(r[i]);
	}
	tap_ok(n == 5, "%d of 5 jobs were cancelled", n);
}

static void test_fault(struct env *e)
{
	npu_s32 idx[3] = { 7, 0, 9 };
	float y[12], want[12] = { 28, 29, 30, 31, 0, 1, 2, 3, 28, 29, 30, 31 };
	struct npu_fault fault;
	struct npu_fence *f;
	struct npu_run *run;

	npu_run_create(e->gather, &run, &err);
	tap_ok(npu_run_read(run, "y", y, sizeof(y), &err) == -ENODATA,
	       "no output before a submit: %s", err.text);
	npu_run_write(run, "idx", idx, sizeof(idx), &err);
	npu_queue_submit(e->q[0], run, NULL, &f, &err);
	tap_ok(npu_fence_wait(f, NPU_FOREVER, &err) == -EIO, "index 9 of 8 rows faults");
	tap_diag("%s", err.text);
	tap_ok(strstr(err.text, "gather.npu") && strstr(err.text, "Gather_0") &&
		       strstr(err.text, "instruction 0") && strstr(err.text, "'index'") &&
		       strstr(err.text, "region 3") && strstr(err.text, "9"),
	       "the text names file, node, instruction, operand, region and value");
	tap_ok(!npu_fence_fault(f, &fault) && fault.code == NPU_FAULT_INDEX && fault.value == 9 &&
		       fault.tag == 7 && fault.opcode == NPU_OP_GATHER,
	       "so does the record");
	tap_ok(npu_run_read(run, "y", y, sizeof(y), &err) == -EIO, "the output is not handed out");
	npu_fence_put(f);
	idx[2] = -1;
	npu_run_write(run, "idx", idx, sizeof(idx), &err);
	npu_queue_submit(e->q[0], run, NULL, &f, &err);
	tap_ok(!npu_fence_wait(f, NPU_FOREVER, &err), "the next job runs");
	tap_ok(!npu_run_read(run, "y", y, sizeof(y), &err) && !memcmp(y, want, sizeof(want)),
	       "and is right");
	tap_ok(npu_fence_fault(f, &fault) == -ENOENT && !*npu_fence_text(f),
	       "a good job has no fault and no text");
	npu_fence_put(f);
	npu_run_destroy(run);
}

static atomic_int done_calls;
static atomic_int done_status;

static void done(void *ctx, struct npu_fence *fence)
{
	atomic_store(&done_status, npu_fence_status(fence));
	atomic_fetch_add((atomic_int *)ctx, 1);
}

static void test_wait_fences(struct env *e)
{
	struct npu_submit_options opt = NPU_INIT(opt), cb = NPU_INIT(cb);
	struct npu_fence *fs, *fw, *fx, *deps[2];
	struct npu_run *slow, *waiting, *other;
	int i;

	npu_run_create(e->slow, &slow, &err);
	waiting = quick_run(e);
	other = quick_run(e);
	npu_queue_submit(e->q[0], slow, NULL, &fs, &err);
	deps[0] = fs;
	opt.wait = deps;
	opt.num_wait = 1;
	tap_ok(!npu_queue_submit(e->q[1], waiting, &opt, &fw, &err),
	       "submit on queue 1, waiting for a job of queue 0");
	cb.done = done;
	cb.done_ctx = &done_calls;
	npu_fence_wait(fw, npu_deadline_after(10000000), &err);
	tap_ok(npu_fence_status(fw) == -EINPROGRESS && npu_fence_status(fs) == -EINPROGRESS,
	       "it waits");
	npu_fence_cancel(fs);
	tap_ok(npu_fence_wait(fw, NPU_FOREVER, &err) == -ECANCELED, "a failed fence fails it: %s",
	       err.text);
	tap_ok(npu_fence_status(fs) == -ECANCELED, "after the one it waited for");
	deps[0] = fs;
	npu_fence_put(fw);
	tap_ok(!npu_queue_submit(e->q[1], waiting, &opt, &fw, &err) &&
		       npu_fence_wait(fw, NPU_FOREVER, &err) == -ECANCELED,
	       "the same with one that failed before");
	npu_fence_put(fw);
	npu_queue_submit(e->q[0], other, NULL, &fx, &err);
	deps[0] = fx;
	deps[1] = fx;
	opt.num_wait = 2;
	tap_ok(!npu_queue_submit(e->q[1], waiting, &opt, &fw, &err) &&
		       !npu_fence_wait(fw, NPU_FOREVER, &err),
	       "two good fences");
	npu_fence_put(fw);
	tap_ok(!npu_queue_submit(e->q[1], waiting, &cb, &fw, &err) &&
		       !npu_fence_wait(fw, NPU_FOREVER, &err),
	       "callback");
	/* The call comes just after waiters are woken. */
	for (i = 0; i < 1000 && !atomic_load(&done_calls); i++)
		npu_fence_wait(fw, 0, NULL), npu_queue_wait(e->q[1], 0, NULL), usleep(1000);
	tap_ok(atomic_load(&done_calls) == 1 && atomic_load(&done_status) == 0,
	       "is called once, with the fence signalled");
	/* Cancel one that still waits. */
	npu_fence_put(fs);
	npu_fence_put(fw);
	npu_queue_submit(e->q[0], slow, NULL, &fs, &err);
	deps[0] = fs;
	opt.num_wait = 1;
	npu_queue_submit(e->q[1], waiting, &opt, &fw, &err);
	npu_fence_cancel(fw);
	tap_ok(npu_fence_wait(fw, npu_deadline_after(5000000000u), &err) == -ECANCELED &&
	       npu_fence_status(fs) == -EINPROGRESS, "a waiting job can be cancelled at once");
	npu_fence_cancel(fs);
	npu_fence_wait(fs, NPU_FOREVER, NULL);
	npu_fence_put(fs);
	npu_fence_put(fw);
	npu_fence_put(fx);
	npu_run_destroy(slow);
	npu_run_destroy(waiting);
	npu_run_destroy(other);
}

/* With a long job in one queue, a short job in another one is not kept waiting. */
static void test_fairness(struct env *e)
{
	struct npu_fence_times times = NPU_INIT(times);
	struct npu_run *slow, *quick;
	struct npu_fence *fs, *fq;
	int i, before = 0;

	npu_run_create(e->slow, &slow, &err);
	quick = quick_run(e);
	npu_queue_submit(e->q[0], slow, NULL, &fs, &err);
	for (i = 0; i < 20; i++) {
		npu_queue_submit(e->q[1], quick, NULL, &fq, &err);
		before += !npu_fence_wait(fq, npu_deadline_after(5000000000u), &err) &&
			  npu_fence_status(fs) == -EINPROGRESS;
		npu_fence_put(fq);
	}
	tap_ok(before == 20, "%d of 20 short jobs end while a long one of another queue runs",
	       before);
	/* Long enough for a second slice, which under a sanitizer begins late. */
	npu_fence_wait(fs, npu_deadline_after(tap_short() ? 1000000000 : 100000000), NULL);
	npu_fence_cancel(fs);
	npu_fence_wait(fs, NPU_FOREVER, NULL);
	tap_ok(!npu_fence_times(fs, &times), "times");
	tap_ok(times.submitted <= times.started && times.started < times.finished &&
		       times.busy > 0 && times.slices > 1,
	       "times: %u slices, %.1f ms busy of %.1f ms", times.slices, times.busy / 1e6,
	       (times.finished - times.started) / 1e6);
	npu_fence_put(fs);
	npu_run_destroy(slow);
	npu_run_destroy(quick);
}

/* Run @rh in @high and @rn in another queue, both for @ns; how long each has had the device. */
static void share_device(struct env *e, struct npu_queue *high, struct npu_run *rh,
			 struct npu_run *rn, uint64_t ns, struct npu_fence_times *th,
			 struct npu_fence_times *tn)
{
	struct npu_fence *fh, *fn;

	npu_queue_submit(e->q[0], rn, NULL, &fn, &err);
	npu_queue_submit(high, rh, NULL, &fh, &err);
	npu_fence_wait(fh, npu_deadline_after(ns), &err);
	npu_fence_cancel(fh);
	npu_fence_cancel(fn);
	npu_fence_wait(fh, NPU_FOREVER, NULL);
	npu_fence_wait(fn, NPU_FOREVER, NULL);
	npu_fence_times(fh, th);
	npu_fence_times(fn, tn);
	npu_fence_put(fh);
	npu_fence_put(fn);
}

/* Two long jobs: the one of the queue with more weight gets more of the device. */
static void test_priority(struct env *e)
{
	struct npu_queue_options opt = { .size = sizeof(opt), .priority = NPU_PRIORITY_HIGH };
	struct npu_fence_times th = NPU_INIT(th), tn = NPU_INIT(tn);
	uint64_t ns = 100000000;
	struct npu_run *rh, *rn;
	struct npu_queue *high;

	npu_run_create(e->slow, &rh, &err);
	npu_run_create(e->slow, &rn, &err);
	tap_ok(!npu_queue_create(e->dev, &opt, &high, &err), "a queue of high priority");
	/* On a busy machine it takes some time until the slices of either one add up. */
	do {
		ns *= 3;
		share_device(e, high, rh, rn, ns, &th, &tn);
	} while ((!tn.busy || th.busy <= 2 * tn.busy) && ns < 10000000000u);
	tap_ok(tn.busy && th.busy > 2 * tn.busy,
	       "it gets more time, the other does not starve: %.1f and %.1f ms", th.busy / 1e6,
	       tn.busy / 1e6);
	npu_run_destroy(rh);
	npu_run_destroy(rn);
	npu_queue_destroy(high);
}

static void test_records(struct env *e)
{
	struct npu_submit_options opt = { .size = sizeof(opt),
					  .flags = NPU_SUBMIT_PROFILE | NPU_SUBMIT_DIGEST };
	const struct npu_insn_profile *prof;
	const struct npu_insn_digest *dig;
	float x[4] = { 1, 2, 3, 4 };
	int64_t dims[2] = { 1, 4 };
	struct npu_fence *f;
	struct npu_run *run;
	size_t np, nd;

	npu_run_create(e->tiny, &run, &err);
	npu_run_set_shape(run, "x", 2, dims, &err);
	npu_run_write(run, "x", x, sizeof(x), &err);
	tap_ok(!npu_queue_submit(e->q[0], run, &opt, &f, &err) &&
		       !npu_fence_wait(f, NPU_FOREVER, &err),
	       "submit with profile and digest");
	if (!tap_ok(!npu_fence_profile(f, &prof, &np) && !npu_fence_digests(f, &dig, &nd),
		    "both are there"))
		return;
	tap_ok(np == 3 && prof[0].tag == 10 && prof[1].tag == 11 &&
		       prof[0].opcode == NPU_OP_EWISE2 &&
		       prof[1].start >= prof[0].start + prof[0].ns && prof[0].bytes == 48,
	       "three instructions with times and bytes (%llu)", (unsigned long long)prof[0].bytes);
	/* Of the little-endian floats 1.5 -4.5 0.3 4000, by the xxhsum program. */
	tap_ok(nd == 2 && dig[0].slot == 0 && dig[0].digest == 0xcf045787e28d30e8ull,
	       "digests %016llx %016llx", (unsigned long long)dig[0].digest,
	       (unsigned long long)dig[1].digest);
	npu_fence_put(f);
	npu_queue_submit(e->q[0], run, NULL, &f, &err);
	npu_fence_wait(f, NPU_FOREVER, &err);
	tap_ok(npu_fence_profile(f, &prof, &np) == -ENOENT &&
		       npu_fence_digests(f, &dig, &nd) == -ENOENT,
	       "none when they were not asked for");
	npu_fence_put(f);
	npu_run_destroy(run);
}

int main(void)
{
	struct fixture tiny, slow, gather;
	struct env e;

	tiny_make(&tiny);
	slow_make(&slow, 20000);
	gather_make(&gather);
	if (!tap_ok(!npu_device_open("sim:threads=2", NULL, &e.dev, &err), "open"))
		return tap_done();
	e.tiny = fixture_load(e.dev, &tiny, "tiny.npu");
	e.slow = fixture_load(e.dev, &slow, "slow.npu");
	e.gather = fixture_load(e.dev, &gather, "gather.npu");

	npu_queue_create(e.dev, NULL, &e.q[0], &err);
	npu_queue_create(e.dev, NULL, &e.q[1], &err);
	test_cancel(&e);
	test_cancel_queue(&e);
	test_fault(&e);
	test_wait_fences(&e);
	test_fairness(&e);
	test_priority(&e);
	test_records(&e);
	npu_queue_destroy(e.q[0]);
	npu_queue_destroy(e.q[1]);
	npu_job_unload(e.tiny);
	npu_job_unload(e.slow);
	npu_job_unload(e.gather);

	npu_device_close(e.dev);
	fixture_free(&tiny);
	fixture_free(&slow);
	fixture_free(&gather);
	return tap_done();
}
