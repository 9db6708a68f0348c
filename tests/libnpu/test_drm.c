// SPDX-License-Identifier: MIT
/*
 * The drm backend against a stand-in for the kernel driver (fake_drm.h): what it asks for, what it
 * makes of every answer, and that nothing is left behind. The driver itself is tested in the guest.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fake_drm.h"
#include "fixture.h"
#include "npu_host.h"
#include "tap.h"

/*
 * What is waited for comes: deadlines are for faults. Races are looked for slowly, and on a busy
 * machine; a slow job is long against what happens meanwhile.
 */
#if defined(__SANITIZE_THREAD__)
#define SECONDS(n)	npu_deadline_after((n) * 20000000000ull)
#define SLOW_INSNS	20
#else
#define SECONDS(n)	npu_deadline_after((n) * 1000000000ull)
#define SLOW_INSNS	200
#endif

static struct npu_error err;

struct env {
	char uri[32];
	struct npu_device *dev, *sim;
	struct npu_queue *q[2], *simq;
	struct npu_job *tiny, *gather, *host;
};

static struct npu_run *run_from(struct npu_job *job, float first)
{
	return tiny_run(job, (float[TINY_COLS]){ first, 2, 3, 4 });
}

static bool tiny_right(struct npu_run *run, float first)
{
	float x[TINY_COLS] = { first, 2, 3, 4 }, y[TINY_COLS];
	unsigned int i;

	if (npu_run_read(run, "y", y, sizeof(y), &err))
		return false;
	for (i = 0; i < TINY_COLS; i++)
		if (y[i] != tiny_ref(x[i], i))
			return false;
	return true;
}

static void test_open(struct env *e, int fd)
{
	struct npu_device_info info = NPU_INIT(info);
	struct npu_device *dev;

	tap_ok(!npu_device_info(e->dev, &info, &err) && !strcmp(info.backend, "drm") &&
	       !strcmp(info.driver, "1.0.0") && !strcmp(info.firmware, "7.8.9") &&
	       info.sram_size == 2 << 20 && info.dtypes == 0xfe && info.isa_major == 1,
	       "the device's info is the driver's: %s, driver %s, firmware %s", info.name,
	       info.driver, info.firmware);
	fake_drm.major = 2;
	tap_ok(npu_device_open(e->uri, NULL, &dev, &err) == -ENOTSUP && strstr(err.text, "2.0"),
	       "another major version: %s", err.text);
	fake_drm.major = 1;
	fake_drm.name = "rocket";
	tap_ok(npu_device_open(e->uri, NULL, &dev, &err) == -ENODEV && strstr(err.text, "rocket"),
	       "another driver: %s", err.text);
	fake_drm.name = "npu";
	fake_drm.isa = 9;
	tap_ok(npu_device_open(e->uri, NULL, &dev, &err) == -ENOTSUP && strstr(err.text, "9."),
	       "another instruction set: %s", err.text);
	fake_drm.isa = 1;
	tap_ok(npu_device_open("drm:fd=x", NULL, &dev, &err) == -EINVAL, "no number: %s", err.text);
	tap_ok(npu_device_open("drm:fd=9999", NULL, &dev, &err) == -EBADF, "no file: %s", err.text);
	tap_ok(npu_device_open("/dev/accel/accel77", NULL, &dev, &err) == -ENODEV, "no node: %s",
	       err.text);
	tap_ok(fake_drm_live() > 0 && fd >= 0, "the first device is still there");
}

static void test_buffers(struct env *e)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct npu_buffer *buf[40], *ro;
	unsigned int i, before = fake_drm_live();
	int fd, bad = 0;
	void *map;

	for (i = 0; i < 40; i++) {
		uint64_t size = (i % 5 + 1) * (i % 3 ? 5000 : 1 << 20);

		bad |= npu_buffer_create(e->dev, size, 0, &buf[i], &err);
		bad |= npu_buffer_write(buf[i], size - 4, &i, 4, &err);
	}
	for (i = 0; i < 40; i += 2)
		npu_buffer_put(buf[i]);
	for (i = 0; i < 40; i += 2)
		bad |= npu_buffer_create(e->dev, (i + 1) * 3000, 0, &buf[i], &err);
	for (i = 1; i < 40; i += 2) {
		unsigned int v = 0;

		bad |= npu_buffer_read(buf[i], npu_buffer_size(buf[i]) - 4, &v, 4, &err) || v != i;
	}
	tap_ok(!bad, "40 buffers, half of them replaced, keep what was written");
	for (i = 0; i < 40; i++)
		npu_buffer_put(buf[i]);
	tap_ok(fake_drm_live() == before, "all are given back, mappings too");
	tap_ok(!npu_buffer_import_host(e->dev, page, sizeof(page),
				       NPU_BUFFER_READ_ONLY, NULL, NULL, &ro, &err) &&
	       !npu_buffer_map(ro, &map, &err) && map == page,
	       "read-only memory is copied for the device and stays where it is for the host");
	tap_ok(npu_buffer_export_dmabuf(ro, &fd, &err) == -EACCES, "its copy is not shared: %s",
	       err.text);
	npu_buffer_put(ro);
	tap_ok(npu_buffer_import_host(e->dev, page, sizeof(page), 0, NULL, NULL,
				      &ro, &err) == -ENOTSUP,
	       "memory that would have to be written to is refused: %s", err.text);
	tap_ok(npu_buffer_import_dmabuf(e->dev, 0, &ro, &err) < 0, "what is no dma-buf: %s",
	       err.text);
	tap_ok(fake_drm_live() == before, "nothing is left of these");
}

static void test_jobs(struct env *e)
{
	struct npu_fence_times times = NPU_INIT(times);
	struct npu_run *run = run_from(e->tiny, -7);
	struct npu_fence *fence;
	float x[TINY_ROWS * TINY_COLS], y[2][TINY_ROWS * TINY_COLS];
	struct npu_job *job[2] = { e->tiny, NULL };
	struct npu_queue *queue[2] = { e->q[0], e->simq };
	struct fixture f;
	unsigned int i;
	int bad = 0;

	tap_ok(!npu_queue_submit(e->q[0], run, NULL, &fence, &err) &&
		       !npu_fence_wait(fence, SECONDS(5), &err) && tiny_right(run, -7),
	       "a job: right answer");
	tap_ok(!npu_fence_times(fence, &times) && times.slices == 1 && times.busy &&
	       times.started >= times.submitted && times.finished >= times.started,
	       "its times are on the host's clock");
	npu_fence_put(fence);
	npu_run_destroy(run);
	for (i = 0; i < TINY_ROWS * TINY_COLS; i++)
		x[i] = (float)i - 30;
	tiny_make(&f);
	job[1] = fixture_load(e->sim, &f, "tiny.npu");
	for (i = 0; i < 2; i++) {
		bad |= npu_run_create(job[i], &run, &err);
		bad |= npu_run_set_shape(run, "x", 2, (int64_t[]){ TINY_ROWS, 4 }, &err);
		bad |= npu_run_write(run, "x", x, sizeof(x), &err);
		bad |= npu_queue_submit(queue[i], run, NULL, NULL, &err);
		bad |= npu_queue_wait(queue[i], SECONDS(5), &err);
		bad |= npu_run_read(run, "y", y[i], sizeof(y[i]), &err);
		npu_run_destroy(run);
	}
	tap_ok(!bad && !memcmp(y[0], y[1], sizeof(y[0])), "16 rows: the bytes of the sim backend");
	npu_job_unload(job[1]);
	fixture_free(&f);
}

static void test_profile(struct env *e)
{
	struct npu_submit_options opt = { .size = sizeof(opt), .flags = NPU_SUBMIT_PROFILE };
	struct npu_run *run = run_from(e->tiny, 1);
	const struct npu_insn_profile *p;
	struct npu_fence *fence;
	size_t n = 0;

	if (!tap_ok(!npu_queue_submit(e->q[0], run, &opt, &fence, &err) &&
		    !npu_fence_wait(fence, SECONDS(5), &err), "a job with a profile"))
		return;
	tap_ok(!npu_fence_profile(fence, &p, &n) && n == 1 && p[0].ns == FAKE_DRM_TRACE_NS,
	       "its records are those that the device has written");
	npu_fence_put(fence);
	npu_run_destroy(run);
}

/* Of a run that is made again: SUBMIT, perhaps a wait, and the question how it ended. */
#define CALLS_OF_A_RUN	3u

static void test_calls(struct env *e)
{
	struct npu_run *run = run_from(e->tiny, 1);
	struct npu_fence *fence;
	unsigned int i, before = 0;

	for (i = 0; i < 11; i++) {
		if (i == 1)
			before = fake_drm_calls();
		if (npu_queue_submit(e->q[0], run, NULL, &fence, &err))
			break;
		npu_fence_wait(fence, SECONDS(5), &err);
		npu_fence_put(fence);
	}
	tap_ok(fake_drm_calls() - before <= 10 * CALLS_OF_A_RUN,
	       "10 runs of a job after the first one: %u calls of the driver",
	       fake_drm_calls() - before);
	npu_run_destroy(run);
}

/* y = x, of @n elements; tag @tag makes it another stream. */
static void copy_stream(struct asm_stream *s, npu_u32 n, npu_u32 tag)
{
	struct npu_operand ops[NPU_COPY_NUM_SLOTS] = { asm_f32(0, 0, 1, n), asm_f32(1, 0, 1, n) };

	asm_begin(s);
	asm_insn(s, NPU_OP_COPY, ops, NULL, NULL, 0, tag);
	asm_end(s, 2, 0, NULL);
}

static int run_stream(struct npu_queue *q, const struct npu_stream_submit *sub)
{
	struct npu_fence *fence;
	int ret = npu_queue_submit_stream(q, sub, NULL, &fence, &err);

	if (ret)
		return ret;
	ret = npu_fence_wait(fence, SECONDS(5), &err);
	npu_fence_put(fence);
	return ret;
}

static void test_streams(struct env *e)
{
	struct npu_stream_region regions[2] = { { .bytes = 64, .access = NPU_ACCESS_WRITE },
						{ .bytes = 64, .access = NPU_ACCESS_READ } };
	struct npu_stream_submit sub = NPU_INIT(sub);
	unsigned int i, before, live = fake_drm_live();
	float in[16], out[16];
	struct npu_queue *q;
	struct asm_stream s;
	int bad = 0;

	npu_queue_create(e->dev, NULL, &q, &err);
	npu_buffer_create(e->dev, 64, 0, &regions[0].buf, &err);
	npu_buffer_create(e->dev, 64, 0, &regions[1].buf, &err);
	sub.regions = regions;
	sub.num_regions = 2;
	copy_stream(&s, 16, 0);
	sub.stream = s.words;
	sub.stream_size = asm_size(&s);
	bad |= run_stream(q, &sub);
	before = fake_drm_calls();
	for (i = 0; i < 10; i++) {
		in[0] = in[15] = (float)i;
		bad |= npu_buffer_write(regions[1].buf, 0, in, 64, &err);
		bad |= run_stream(q, &sub) || npu_buffer_read(regions[0].buf, 0, out, 64, &err);
		bad |= out[0] != (float)i || out[15] != (float)i;
	}
	/* Each write and read is a BO_SYNC. */
	tap_ok(!bad && fake_drm_calls() - before <= 10 * (CALLS_OF_A_RUN + 2),
	       "a stream that comes again is not made again: %u calls for 10 runs, 20 of them for the data",
	       fake_drm_calls() - before);
	regions[1].bytes = 32;
	tap_ok(run_stream(q, &sub) == -EINVAL, "it is verified again for a smaller region: %s",
	       err.text);
	regions[1].bytes = 64;
	tap_ok(!run_stream(q, &sub), "and good again as it was: %s", err.text);
	asm_free(&s);

	before = fake_drm_live();
	for (i = 1; i < 40; i++) {
		copy_stream(&s, 16, i);
		sub.stream = s.words;
		bad |= run_stream(q, &sub);
		asm_free(&s);
	}
	tap_ok(!bad && fake_drm_live() - before <= 2 * 8,
	       "of 39 others few are kept: %u objects more", fake_drm_live() - before);
	npu_buffer_put(regions[0].buf);
	npu_buffer_put(regions[1].buf);
	npu_queue_destroy(q);
	for (i = 0; i < 5000 && fake_drm_live() != live; i++)
		usleep(1000);
	tap_ok(fake_drm_live() == live, "and none when the queue is gone: %u objects left",
	       fake_drm_live() - live);
}

static void test_fault(struct env *e)
{
	npu_s32 idx[3] = { 7, 0, 9 };
	struct npu_fault fault;
	struct npu_fence *f, *behind;
	struct npu_run *run, *tiny = run_from(e->tiny, 1);

	npu_run_create(e->gather, &run, &err);
	npu_run_write(run, "idx", idx, sizeof(idx), &err);
	fake_drm_set(&fake_drm.hang, true);
	npu_queue_submit(e->q[0], run, NULL, &f, &err);
	npu_queue_submit(e->q[0], tiny, NULL, &behind, &err);
	fake_drm_set(&fake_drm.hang, false);
	tap_ok(npu_fence_wait(f, SECONDS(5), &err) == -EIO && strstr(err.text, "gather.npu") &&
		       strstr(err.text, "Gather_0") && strstr(err.text, "'index'") &&
		       strstr(err.text, ": 9"),
	       "a fault is told in words: %s", err.text);
	tap_ok(!npu_fence_fault(f, &fault) && fault.code == NPU_FAULT_INDEX && fault.value == 9,
	       "and as a record");
	tap_ok(npu_fence_wait(behind, SECONDS(5), &err) == -ECANCELED &&
		       strstr(err.text, "before it"),
	       "the job behind it in the queue is cancelled: %s", err.text);
	npu_fence_put(f);
	npu_fence_put(behind);
	tap_ok(!npu_queue_submit(e->q[0], tiny, NULL, &f, &err) &&
		       !npu_fence_wait(f, SECONDS(5), &err) && tiny_right(tiny, 1),
	       "the queue goes on with the next submit");
	npu_fence_put(f);
	npu_run_destroy(run);
	npu_run_destroy(tiny);
}

/* One submit that the driver ends with @flag set. */
static void check_ending(struct env *e, bool *flag, int status, const char *word)
{
	struct npu_run *run = run_from(e->tiny, 1);
	struct npu_fence *f;

	fake_drm_set(flag, true);
	npu_queue_submit(e->q[1], run, NULL, &f, &err);
	tap_ok(npu_fence_wait(f, SECONDS(5), &err) == status && strstr(err.text, word), "%s",
	       err.text);
	fake_drm_set(flag, false);
	npu_fence_put(f);
	tap_ok(!npu_queue_submit(e->q[1], run, NULL, &f, &err) &&
		       !npu_fence_wait(f, SECONDS(5), &err) && tiny_right(run, 1),
	       "and the next one runs");
	npu_fence_put(f);
	npu_run_destroy(run);
}

static void test_waits(struct env *e)
{
	struct npu_run *a = run_from(e->tiny, 3), *b = run_from(e->tiny, 4);
	struct npu_submit_options opt = NPU_INIT(opt);
	struct npu_fence *fa, *fb, *list[1] = { NULL };
	unsigned int waits = fake_drm_waits;

	opt.wait = list;
	opt.num_wait = 1;
	fake_drm_set(&fake_drm.hang, true);
	npu_queue_submit(e->q[0], a, NULL, &fa, &err);
	list[0] = fa;
	tap_ok(!npu_queue_submit(e->q[1], b, &opt, &fb, &err) && fake_drm_waits == waits + 1,
	       "the driver is told to wait, not the host");
	fake_drm_set(&fake_drm.hang, false);
	tap_ok(!npu_fence_wait(fb, SECONDS(5), &err) && !npu_fence_wait(fa, SECONDS(5), &err) &&
	       tiny_right(b, 4), "both run");
	npu_fence_put(fb);
	tap_ok(!npu_queue_submit(e->q[1], b, &opt, &fb, &err) &&
		       !npu_fence_wait(fb, SECONDS(5), &err),
	       "a fence that has signalled");
	npu_fence_put(fa);
	npu_fence_put(fb);
	fake_drm_set(&fake_drm.time_out, true);
	npu_queue_submit(e->q[0], a, NULL, &fa, &err);
	npu_fence_wait(fa, SECONDS(5), &err);
	fake_drm_set(&fake_drm.time_out, false);
	list[0] = fa;
	tap_ok(!npu_queue_submit(e->q[1], b, &opt, &fb, &err) &&
	       npu_fence_wait(fb, SECONDS(5), &err) == -ECANCELED && strstr(err.text, "limits"),
	       "one that failed fails the job: %s", err.text);
	npu_fence_put(fa);
	npu_fence_put(fb);
	npu_run_destroy(a);
	npu_run_destroy(b);
}

/*
 * A wait that fails tells nothing of the job: it does not end before it has ended, whoever is in
 * charge of it, and its result is not what the wait said.
 */
static void check_wait_error(struct env *e, int error, bool no_result)
{
	struct npu_run *run = run_from(e->tiny, 6);
	struct npu_fence *f;

	fake_drm_set(&fake_drm.hang, true);
	fake_drm.wait_error = error;
	fake_drm_set(&fake_drm.no_result, no_result);
	npu_queue_submit(e->q[0], run, NULL, &f, &err);
	tap_ok(npu_fence_wait(f, npu_deadline_after(20000000), &err) == -ETIMEDOUT &&
	       npu_fence_status(f) == -EINPROGRESS, "waits fail, %s%s: the job has not ended",
	       strerror(error), no_result ? ", and the driver does not say" : "");
	/* The queue's own thread is in charge now. */
	npu_fence_status(f);
	usleep(20000);
	tap_ok(npu_fence_status(f) == -EINPROGRESS, "nor a while later");
	fake_drm_set(&fake_drm.hang, false);
	fake_drm_set(&fake_drm.no_result, false);
	tap_ok(!npu_fence_wait(f, SECONDS(5), &err) && tiny_right(run, 6),
	       "and when it has ended, it has ended well");
	fake_drm.wait_error = 0;
	npu_fence_put(f);
	npu_run_destroy(run);
}

static void test_wait_errors(struct env *e)
{
	static const int errors[] = { ENOMEM, EINTR, EAGAIN, EINVAL, ENOENT, EIO, EFAULT };
	unsigned int i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		check_wait_error(e, errors[i], i % 2);
}

/* Fences of another device, and of jobs with host steps, are waited for by the host. */
static void test_foreign(struct env *e)
{
	struct npu_run *sim_run, *b = run_from(e->tiny, 5), *host;
	struct npu_submit_options opt = NPU_INIT(opt);
	struct npu_fence *fa, *fb, *list[1];
	float x[4] = { 1, 2, 3, 4 };
	struct npu_job *slow;
	struct fixture f;

	slow_make(&f, SLOW_INSNS);
	slow = fixture_load(e->sim, &f, "slow.npu");
	npu_run_create(slow, &sim_run, &err);
	npu_queue_submit(e->simq, sim_run, NULL, &fa, &err);
	list[0] = fa;
	opt.wait = list;
	opt.num_wait = 1;
	tap_ok(!npu_queue_submit(e->q[1], b, &opt, &fb, &err) &&
		       !npu_fence_wait(fb, SECONDS(20), &err) && npu_fence_status(fa) == 0 &&
		       tiny_right(b, 5),
	       "after a job of the sim backend");
	npu_fence_put(fa);
	npu_fence_put(fb);
	npu_run_destroy(sim_run);
	npu_job_unload(slow);
	fixture_free(&f);
	npu_run_create(e->host, &host, &err);
	npu_run_set_shape(host, "x", 2, (int64_t[]){ 1, 4 }, &err);
	npu_run_write(host, "x", x, sizeof(x), &err);
	tap_ok(!npu_queue_submit(e->q[0], host, NULL, &fa, &err), "a job with host steps: %s",
	       err.text);
	list[0] = fa;
	tap_ok(!npu_queue_submit(e->q[1], b, &opt, &fb, &err) &&
		       !npu_fence_wait(fb, SECONDS(5), &err) && npu_fence_status(fa) == 0,
	       "and one behind it on another queue");
	npu_fence_put(fa);
	npu_fence_put(fb);
	npu_run_destroy(host);
	npu_run_destroy(b);
}

static void test_cancel(struct env *e)
{
	struct npu_run *a = run_from(e->tiny, 3), *b = run_from(e->tiny, 4);
	struct npu_fence *fa, *fb;

	fake_drm_set(&fake_drm.hang, true);
	npu_queue_submit(e->q[0], a, NULL, &fa, &err);
	npu_fence_cancel(fa);
	tap_ok(npu_fence_wait(fa, SECONDS(5), &err) == -ECANCELED, "a cancelled job: %s", err.text);
	npu_fence_put(fa);
	npu_queue_submit(e->q[0], a, NULL, &fa, &err);
	npu_queue_submit(e->q[0], b, NULL, &fb, &err);
	tap_ok(!npu_queue_cancel(e->q[0], &err) &&
		       npu_fence_wait(fa, SECONDS(5), &err) == -ECANCELED &&
		       npu_fence_wait(fb, SECONDS(5), &err) == -ECANCELED,
	       "a cancelled queue: %s", err.text);
	fake_drm_set(&fake_drm.hang, false);
	npu_fence_put(fa);
	npu_fence_put(fb);
	tap_ok(!npu_queue_submit(e->q[0], b, NULL, &fb, &err) &&
		       !npu_fence_wait(fb, SECONDS(5), &err),
	       "and it takes the next job");
	npu_fence_put(fb);
	npu_run_destroy(a);
	npu_run_destroy(b);
}

struct hammer {
	struct env *e;
	unsigned int good;
};

static void *hammer(void *arg)
{
	struct hammer *h = arg;
	struct npu_queue *queue;
	struct npu_run *run = run_from(h->e->tiny, 9);
	struct npu_fence *fence;
	struct npu_error why;
	unsigned int i;

	if (npu_queue_create(h->e->dev, NULL, &queue, &why))
		return NULL;
	for (i = 0; i < 50; i++) {
		if (npu_queue_submit(queue, run, NULL, &fence, &why) ||
		    npu_fence_wait(fence, SECONDS(20), &why))
			break;
		h->good++;
		npu_fence_put(fence);
	}
	/* The last submit ends after its queue is gone for the program. */
	npu_queue_submit(queue, run, NULL, NULL, &why);
	npu_queue_destroy(queue);
	npu_run_destroy(run);
	return NULL;
}

static void test_threads(struct env *e)
{
	struct hammer h[4] = { 0 };
	pthread_t t[4];
	unsigned int i, good = 0;

	for (i = 0; i < 4; i++) {
		h[i].e = e;
		pthread_create(&t[i], NULL, hammer, &h[i]);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		good += h[i].good;
	}
	tap_ok(good == 200, "4 threads with a queue each: %u of 200 jobs", good);
}

static void test_priority(struct env *e)
{
	struct npu_queue_options opt = { .size = sizeof(opt), .priority = NPU_PRIORITY_HIGH };
	struct npu_queue *queue;

	fake_drm.no_nice = true;
	tap_ok(npu_queue_create(e->dev, &opt, &queue, &err) == -EACCES &&
		       strstr(err.text, "CAP_SYS_NICE"),
	       "high priority without the right: %s", err.text);
	fake_drm.no_nice = false;
	tap_ok(!npu_queue_create(e->dev, &opt, &queue, &err), "and with it");
	npu_queue_destroy(queue);
}

static void test_gone(struct env *e)
{
	struct npu_run *run = run_from(e->tiny, 1);
	struct npu_buffer *buf;
	struct npu_fence *f;

	fake_drm_set(&fake_drm.hang, true);
	npu_queue_submit(e->q[0], run, NULL, &f, &err);
	fake_drm_set(&fake_drm.gone, true);
	fake_drm_set(&fake_drm.hang, false);
	tap_ok(npu_fence_wait(f, SECONDS(5), &err) <= 0, "the device goes with a job under way: %s",
	       npu_fence_text(f));
	npu_fence_put(f);
	tap_ok(npu_queue_submit(e->q[0], run, NULL, &f, &err) == -ENODEV &&
		       strstr(err.text, "gone"),
	       "a submit: %s", err.text);
	tap_ok(npu_buffer_create(e->dev, 100, 0, &buf, &err) == -ENODEV, "a buffer: %s", err.text);
	npu_run_destroy(run);
}

static void begin(struct env *e, int fd)
{
	struct npu_device_options opt = { .size = sizeof(opt), .host_ops = fixture_ops,
					  .num_host_ops = FIXTURE_OPS };
	struct fixture f;

	snprintf(e->uri, sizeof(e->uri), "drm:fd=%d", fd);
	if (!tap_ok(!npu_device_open(e->uri, &opt, &e->dev, &err), "open: %s", err.text))
		exit(tap_done());
	npu_device_open("sim:threads=1", NULL, &e->sim, &err);
	npu_queue_create(e->dev, NULL, &e->q[0], &err);
	npu_queue_create(e->dev, NULL, &e->q[1], &err);
	npu_queue_create(e->sim, NULL, &e->simq, &err);
	tiny_make(&f);
	e->tiny = fixture_load(e->dev, &f, "tiny.npu");
	fixture_free(&f);
	gather_make(&f);
	e->gather = fixture_load(e->dev, &f, "gather.npu");
	fixture_free(&f);
	host_make(&f);
	e->host = fixture_load(e->dev, &f, "host.npu");
	fixture_free(&f);
}

static void end(struct env *e)
{
	npu_job_unload(e->gather);
	npu_job_unload(e->host);
	npu_job_unload(e->tiny);
	npu_queue_destroy(e->q[0]);
	npu_queue_destroy(e->q[1]);
	npu_queue_destroy(e->simq);
	npu_device_close(e->dev);
	npu_device_close(e->sim);
}

int main(void)
{
	struct env e = { 0 };
	int fd = fake_drm_open(), i;

	begin(&e, fd);
	test_open(&e, fd);
	test_buffers(&e);
	test_jobs(&e);
	test_profile(&e);
	test_calls(&e);
	test_streams(&e);
	test_fault(&e);
	check_ending(&e, &fake_drm.time_out, -ETIME, "2000 ms");
	check_ending(&e, &fake_drm.lose, -ECANCELED, "did not cause");
	test_waits(&e);
	test_wait_errors(&e);
	test_foreign(&e);
	test_cancel(&e);
	test_threads(&e);
	test_priority(&e);
	end(&e);
	/* What was under way when its queue was dropped comes to its end first. */
	for (i = 0; i < 5000 && fake_drm_live(); i++)
		usleep(1000);
	tap_ok(fake_drm_live() == 0, "everything is given back: %u objects are left",
	       fake_drm_live());
	fake_drm_close(fd);

	fd = fake_drm_open();
	begin(&e, fd);
	test_gone(&e);
	end(&e);
	fake_drm_close(fd);
	return tap_done();
}
