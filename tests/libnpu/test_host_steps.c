// SPDX-License-Identifier: MIT
/*
 * Jobs with host steps: results, dims that the data give, order with other work, waits, cancels,
 * failures, records, lifetimes.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fixture.h"
#include "tap.h"

#define ROWS	5

static struct npu_error err;
static struct npu_device *dev;
static struct npu_queue *queue;
static struct npu_job *job;

static float ref(float x, unsigned int col)
{
	float t = x * tiny_w[col];

	return (float)((t < 0 ? 0 : t) * FIXTURE_FACTOR) + x;
}

static void make_input(float *x, unsigned int rows)
{
	for (unsigned int i = 0; i < rows * TINY_COLS; i++)
		x[i] = (float)((int)(i * 7 % 11) - 5);
}

static struct npu_run *new_run(unsigned int rows)
{
	int64_t dims[2] = { rows, TINY_COLS };
	float x[TINY_ROWS * TINY_COLS];
	struct npu_run *run;

	make_input(x, rows);
	if (npu_run_create(job, &run, &err) || npu_run_set_shape(run, "x", 2, dims, &err) ||
	    npu_run_write(run, "x", x, rows * TINY_COLS * 4, &err)) {
		tap_diag("%s", err.text);
		abort();
	}
	return run;
}

static int submit_wait(struct npu_run *run, uint32_t flags, struct npu_fence **fence)
{
	struct npu_submit_options opt = { .size = sizeof(opt), .flags = flags };
	struct npu_fence *f;
	int ret = npu_queue_submit(queue, run, &opt, &f, &err);

	if (ret)
		return ret;
	ret = npu_fence_wait(f, npu_deadline_after(20000000000u), &err);
	if (fence)
		*fence = f;
	else
		npu_fence_put(f);
	return ret;
}

/* Whether y and "where" are what the plain formulas give. */
static bool is_right(struct npu_run *run, unsigned int rows)
{
	int64_t dims[NPU_TENSOR_MAX_RANK], where[2 * TINY_ROWS * TINY_COLS];
	float x[TINY_ROWS * TINY_COLS], y[TINY_ROWS * TINY_COLS];
	unsigned int rank, i, found = 0, bad = 0;

	make_input(x, rows);
	if (npu_run_read(run, "y", y, rows * TINY_COLS * 4, &err) ||
	    npu_run_get_shape(run, "where", &rank, dims, &err) || rank != 2 || dims[0] != 2 ||
	    npu_run_read(run, "where", where, (size_t)dims[1] * 16, &err))
		return false;
	for (i = 0; i < rows * TINY_COLS; i++) {
		bad += y[i] != ref(x[i], i % TINY_COLS);
		if (x[i] * tiny_w[i % TINY_COLS] <= 0)
			continue;
		bad += found >= dims[1] || where[found] != i / TINY_COLS ||
		       where[dims[1] + found] != i % TINY_COLS;
		found++;
	}
	return !bad && found == dims[1];
}

static void results(void)
{
	int64_t dims[NPU_TENSOR_MAX_RANK], where[64];
	struct npu_tensor_info t = NPU_INIT(t);
	struct npu_run *run = new_run(ROWS);
	unsigned int rank;
	float zeros[TINY_COLS] = { 0 };

	tap_ok(!npu_job_tensor(job, 0, 2, &t) && t.bounded && t.max_dim[1] == TINY_ROWS * TINY_COLS,
	       "where's dims are bounds");
	tap_ok(!npu_run_get_shape(run, "where", &rank, dims, &err) && dims[1] == ROWS * TINY_COLS,
	       "the bound before the run");
	tap_ok(!submit_wait(run, 0, NULL), "it runs: %s", err.text);
	tap_ok(is_right(run, ROWS), "y, and where with the length found");
	tap_ok(npu_run_read(run, "where", where, sizeof(where), &err) == -EINVAL &&
		       strstr(err.text, "bytes"),
	       "read with the bound's size: %s", err.text);
	tap_ok(!submit_wait(run, 0, NULL) && is_right(run, ROWS), "and again");
	dims[0] = 1;
	dims[1] = TINY_COLS;
	npu_run_set_shape(run, "x", 2, dims, &err);
	npu_run_write(run, "x", zeros, sizeof(zeros), &err);
	tap_ok(!submit_wait(run, 0, NULL) && !npu_run_get_shape(run, "where", &rank, dims, &err) &&
		       dims[1] == 0 && !npu_run_read(run, "where", NULL, 0, &err),
	       "nothing found: a length of 0");
	npu_run_destroy(run);
}

static void info(void)
{
	struct npu_program_info p = NPU_INIT(p);
	uint32_t offset = 0, lines = 0, host = 0;
	char line[1024];

	tap_ok(!npu_job_program(job, 0, &p) && p.num_host_steps == 2 && !p.stream &&
		       p.num_insns == 4,
	       "2 host steps, 4 instructions in all streams");
	/* t twice, u, and where: 16 * 4 elements of 4, 4, 4 and 2 * 8 bytes. */
	tap_ok(p.host_bytes == 16 * 4 * (4 + 16 + 4 + 4), "%llu bytes for host steps",
	       (unsigned long long)p.host_bytes);
	while (!npu_job_disassemble(job, 0, &offset, line, sizeof(line))) {
		lines++;
		host += !strcmp(line, "host NonZero(t) -> where") ||
			!strcmp(line, "host test.Scale(t) -> u");
	}
	tap_ok(lines == 6 && host == 2, "6 lines of disassembly, 2 of host steps");
}

static void records(void)
{
	const struct npu_insn_profile *p;
	const struct npu_insn_digest *d, *e;
	struct npu_run *run = new_run(ROWS);
	struct npu_fence *fence, *again;
	struct npu_fence_times times = NPU_INIT(times);
	size_t n = 0, m = 0, i;
	bool ordered = true, same;
	uint32_t offset = 0;
	char line[64];

	tap_ok(!submit_wait(run, NPU_SUBMIT_PROFILE | NPU_SUBMIT_DIGEST, &fence) &&
	       !npu_fence_profile(fence, &p, &n) && n == 6, "6 records of a profile");
	for (i = 1; i < n; i++)
		ordered &= p[i].offset > p[i - 1].offset && p[i].insn > p[i - 1].insn &&
			   p[i].start >= p[i - 1].start;
	tap_ok(ordered, "instructions, offsets and times count through");
	/* The first is known by its record only; all others follow from the one before. */
	for (i = 0, same = true; i < n; i++) {
		same &= !npu_job_disassemble(job, 0, &offset, line, sizeof(line));
		same &= offset == (i + 1 < n ? p[i + 1].offset : offset);
	}
	tap_ok(same && npu_job_disassemble(job, 0, &offset, line, sizeof(line)) == -ENOENT,
	       "the disassembly has the offsets of the profile");
	for (i = 0, same = true; i < n; i++) {
		offset = p[i].offset;
		same &= !npu_job_disassemble(job, 0, &offset, line, sizeof(line));
	}
	tap_ok(same, "and takes each of them");
	tap_ok(n == 6 && p[2].opcode == NPU_PROFILE_HOST && p[2].tag == 11 && p[3].tag == 12 &&
	       p[3].bytes == 2 * 16 * ROWS, "host steps have their tags and bytes");
	tap_ok(!npu_fence_digests(fence, &d, &n) && n == 4, "4 digests");
	submit_wait(run, NPU_SUBMIT_DIGEST, &again);
	same = !npu_fence_digests(again, &e, &m) && m == n;
	for (i = 0; same && i < n; i++)
		same = d[i].digest == e[i].digest && d[i].tag == e[i].tag;
	tap_ok(same, "the same digests every time");
	tap_ok(!npu_fence_times(fence, &times) && times.finished >= times.started && times.busy > 0,
	       "times");
	npu_fence_put(fence);
	npu_fence_put(again);
	npu_run_destroy(run);
}

static void failure(void)
{
	float x[TINY_COLS] = { NAN, NAN, NAN, NAN };
	struct npu_run *run = new_run(1);
	struct npu_fence *fence;
	int ret;

	npu_run_write(run, "x", x, sizeof(x), &err);
	ret = submit_wait(run, 0, &fence);
	/* relu(NaN) may be 0 or NaN: see numerics.md. A NaN that is left reaches the operator. */
	if (ret)
		tap_ok(ret == -EDOM && strstr(err.text, "Scale_2") &&
			       strstr(err.text, "not a number"),
		       "an operator's refusal ends the job: %s", err.text);
	else
		tap_skip("an operator's refusal", "relu takes NaN away");
	npu_fence_put(fence);
	npu_run_destroy(run);
}

/* What a fence says while a job is under way is no end of one. */
static void odd_status(void)
{
	static const int codes[] = { -EINPROGRESS, -ETIMEDOUT, 7 };
	struct npu_run *run = new_run(1);

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		fixture_scale_status = codes[i];
		tap_ok(submit_wait(run, 0, NULL) == -EINVAL && strstr(err.text, "as the test said"),
		       "an operator that returns %d fails the job: %s", codes[i], err.text);
	}
	fixture_scale_status = 0;
	npu_run_destroy(run);
}

/* A fault in a stream behind a host step; outputs in the memory of inputs. */
static void second_step(void)
{
	npu_s32 idx[3] = { 7, 0, 9 };
	struct npu_fault fault;
	struct npu_fence *fence;
	struct npu_buffer *buf;
	struct npu_job *gather;
	struct npu_run *run;
	struct fixture fx;
	uint32_t offset = 0;
	char line[1024];

	gather_host_make(&fx);
	gather = fixture_load(dev, &fx, "gather.npu");
	fixture_free(&fx);
	npu_job_disassemble(gather, 0, &offset, line, sizeof(line));
	npu_run_create(gather, &run, &err);
	npu_run_write(run, "idx", idx, sizeof(idx), &err);
	tap_ok(submit_wait(run, 0, &fence) == -EIO && !npu_fence_fault(fence, &fault) &&
	       strstr(err.text, "instruction 1 ") && strstr(err.text, "Gather_0"), "%s", err.text);
	tap_ok(fault.insn == 1 && fault.stream_offset == offset,
	       "the fault has its place in the program");
	npu_fence_put(fence);
	npu_buffer_create(dev, 4096, 0, &buf, &err);
	npu_run_bind(run, "idx", buf, 64, &err);
	npu_run_bind(run, "nz", buf, 64, &err);
	idx[2] = 1;
	npu_run_write(run, "idx", idx, sizeof(idx), &err);
	tap_ok(submit_wait(run, 0, NULL) == -EINVAL &&
		       strstr(err.text, "'nz' shares memory with input 'idx'"),
	       "%s", err.text);
	npu_run_bind(run, "nz", buf, 128, &err);
	tap_ok(!submit_wait(run, 0, NULL), "side by side they may lie");
	npu_buffer_put(buf);
	npu_run_destroy(run);
	npu_job_unload(gather);
}

/* ---- order, waits and cancels: an operator that waits for the test ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_cond = PTHREAD_COND_INITIALIZER;
static bool gate_open, gate_reached;

static void at_gate(int64_t rows)
{
	pthread_mutex_lock(&gate);
	gate_reached = true;
	pthread_cond_broadcast(&gate_cond);
	while (!gate_open)
		pthread_cond_wait(&gate_cond, &gate);
	pthread_mutex_unlock(&gate);
}

static void close_gate(void)
{
	gate_open = gate_reached = false;
	fixture_scale_hook = at_gate;
}

static void await_gate(void)
{
	pthread_mutex_lock(&gate);
	while (!gate_reached)
		pthread_cond_wait(&gate_cond, &gate);
	pthread_mutex_unlock(&gate);
}

static void open_gate(void)
{
	pthread_mutex_lock(&gate);
	gate_open = true;
	pthread_cond_broadcast(&gate_cond);
	pthread_mutex_unlock(&gate);
}

static void order(void)
{
	struct npu_fence *f[3] = { NULL }, *other;
	struct npu_submit_options opt = NPU_INIT(opt);
	struct npu_run *host = new_run(ROWS), *plain;
	struct npu_queue *q2;
	struct npu_job *tiny;
	struct fixture fx;
	float x[4] = { 1, 1, 1, 1 };
	int64_t dims[2] = { 1, 4 };

	tiny_make(&fx);
	tiny = fixture_load(dev, &fx, "tiny.npu");
	fixture_free(&fx);
	npu_queue_create(dev, NULL, &q2, &err);
	npu_run_create(tiny, &plain, &err);
	npu_run_set_shape(plain, "x", 2, dims, &err);
	npu_run_write(plain, "x", x, sizeof(x), &err);
	close_gate();
	tap_ok(!npu_queue_submit(queue, host, NULL, &f[0], &err), "a job with host steps");
	await_gate();
	tap_ok(npu_queue_submit(queue, host, NULL, &f[1], &err) == -EBUSY, "its run is in flight");
	tap_ok(!npu_queue_submit(queue, plain, NULL, &f[1], &err),
	       "a stream behind it in the queue");
	opt.wait = f;
	opt.num_wait = 1;
	tap_ok(npu_fence_wait(f[1], npu_deadline_after(20000000), NULL) == -ETIMEDOUT &&
		       npu_fence_status(f[0]) == -EINPROGRESS &&
		       npu_queue_wait(queue, 0, NULL) == -ETIMEDOUT,
	       "is held back");
	{
		struct npu_run *third;

		npu_run_create(tiny, &third, &err);
		npu_run_set_shape(third, "x", 2, dims, &err);
		npu_run_write(third, "x", x, sizeof(x), &err);
		tap_ok(!npu_queue_submit(q2, third, &opt, &other, &err) &&
		       npu_fence_wait(other, npu_deadline_after(20000000), NULL) == -ETIMEDOUT,
		       "so is one of another queue that waits for it");
		open_gate();
		tap_ok(!npu_fence_wait(other, NPU_FOREVER, &err) && !npu_fence_status(f[0]),
		       "until it is done");
		npu_run_destroy(third);
	}
	tap_ok(!npu_fence_wait(f[1], NPU_FOREVER, &err) && is_right(host, ROWS),
	       "and the stream ran");
	tap_ok(!npu_queue_wait(queue, NPU_FOREVER, &err), "the queue is empty");
	for (int i = 0; i < 2; i++)
		npu_fence_put(f[i]);
	npu_fence_put(other);
	npu_run_destroy(plain);
	npu_run_destroy(host);
	npu_job_unload(tiny);
	npu_queue_destroy(q2);
	fixture_scale_hook = NULL;
}

static void cancel(void)
{
	struct npu_run *a = new_run(ROWS), *b = new_run(ROWS), *c = new_run(ROWS);
	struct npu_fence *fa, *fb, *fc;

	close_gate();
	npu_queue_submit(queue, a, NULL, &fa, &err);
	npu_queue_submit(queue, b, NULL, &fb, &err);
	npu_queue_submit(queue, c, NULL, &fc, &err);
	await_gate();
	npu_fence_cancel(fa);
	npu_fence_cancel(fb);
	tap_ok(npu_fence_status(fa) == -EINPROGRESS,
	       "an operator of the application is not interrupted");
	open_gate();
	tap_ok(npu_fence_wait(fa, NPU_FOREVER, &err) == -ECANCELED && strstr(err.text, "cancelled"),
	       "but the job ends behind it: %s", err.text);
	tap_ok(fixture_scale_stops == 1, "and it could see so");
	tap_ok(npu_fence_wait(fb, NPU_FOREVER, &err) == -ECANCELED, "one that waited, too");
	tap_ok(!npu_fence_wait(fc, NPU_FOREVER, &err) && is_right(c, ROWS),
	       "others are not touched: %s", err.text);
	tap_ok(fixture_scale_stops == 1, "their operators neither");
	npu_fence_put(fa);
	npu_fence_put(fb);
	npu_fence_put(fc);
	close_gate();
	npu_queue_submit(queue, a, NULL, &fa, &err);
	npu_queue_submit(queue, b, NULL, &fb, &err);
	await_gate();
	npu_queue_cancel(queue, &err);
	open_gate();
	tap_ok(npu_fence_wait(fa, NPU_FOREVER, NULL) == -ECANCELED &&
		       npu_fence_wait(fb, NPU_FOREVER, NULL) == -ECANCELED,
	       "all of a queue");
	npu_fence_put(fa);
	npu_fence_put(fb);
	fixture_scale_hook = NULL;
	tap_ok(!submit_wait(a, 0, NULL) && is_right(a, ROWS), "the queue goes on");
	npu_run_destroy(a);
	npu_run_destroy(b);
	npu_run_destroy(c);
}

/* A wait that fails, fails the job. */
static void failed_wait(void)
{
	struct npu_run *a = new_run(ROWS), *b = new_run(ROWS);
	struct npu_submit_options opt = NPU_INIT(opt);
	struct npu_fence *fa, *fb;
	struct npu_queue *q2;

	npu_queue_create(dev, NULL, &q2, &err);
	close_gate();
	npu_queue_submit(queue, a, NULL, &fa, &err);
	await_gate();
	opt.wait = &fa;
	opt.num_wait = 1;
	npu_queue_submit(q2, b, &opt, &fb, &err);
	npu_fence_cancel(fa);
	open_gate();
	tap_ok(npu_fence_wait(fb, NPU_FOREVER, &err) == -ECANCELED &&
		       strstr(err.text, "waited for failed"),
	       "%s", err.text);
	npu_fence_put(fa);
	npu_fence_put(fb);
	npu_run_destroy(a);
	npu_run_destroy(b);
	npu_queue_destroy(q2);
	fixture_scale_hook = NULL;
}

/* Everything is dropped while the job is under way. */
static void lifetime(void)
{
	struct npu_device_options opt = { .size = sizeof(opt),
					  .host_ops = fixture_ops,
					  .num_host_ops = FIXTURE_OPS };
	struct npu_device *d;
	struct npu_queue *q;
	struct npu_job *j;
	struct npu_run *r;
	struct npu_fence *f;
	struct fixture fx;
	int64_t dims[2] = { 2, 4 };

	npu_device_open("sim:threads=1", &opt, &d, &err);
	host_make(&fx);
	j = fixture_load(d, &fx, "host.npu");
	fixture_free(&fx);
	npu_queue_create(d, NULL, &q, &err);
	npu_run_create(j, &r, &err);
	npu_run_set_shape(r, "x", 2, dims, &err);
	close_gate();
	npu_queue_submit(q, r, NULL, &f, &err);
	await_gate();
	npu_run_destroy(r);
	npu_queue_destroy(q);
	npu_job_unload(j);
	npu_device_close(d);
	open_gate();
	tap_ok(!npu_fence_wait(f, NPU_FOREVER, &err), "a job outlives what it was submitted with");
	npu_fence_put(f);
	fixture_scale_hook = NULL;
}

static void *hammer(void *arg)
{
	struct npu_queue *q = arg;
	struct npu_run *run = new_run(ROWS);
	struct npu_fence *f;
	uintptr_t bad = 0;

	for (int i = 0; i < 50; i++) {
		if (npu_queue_submit(q, run, NULL, &f, NULL)) {
			bad++;
			continue;
		}
		if (i % 5 == 4)
			npu_fence_cancel(f);
		npu_fence_wait(f, NPU_FOREVER, NULL);
		bad += i % 5 != 4 && !is_right(run, ROWS);
		npu_fence_put(f);
	}
	npu_run_destroy(run);
	return (void *)bad;
}

static void threads(void)
{
	pthread_t t[4];
	uintptr_t bad = 0;
	void *r;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, hammer, queue);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		bad += (uintptr_t)r;
	}
	tap_ok(!bad, "4 threads, one queue, 200 submits, every fifth cancelled");
}

static void refusals(void)
{
	struct npu_device_options opt = { .size = sizeof(opt), .num_host_ops = 1 };
	struct npu_host_op half = { .domain = "x", .name = "y" };
	struct npu_device *d, *bare;
	struct npu_job *j = NULL;
	struct fixture fx;
	size_t size;
	void *data;

	tap_ok(npu_device_open("sim", &opt, &d, &err) == -EINVAL && strstr(err.text, "host_ops"),
	       "%s", err.text);
	opt.host_ops = &half;
	tap_ok(npu_device_open("sim", &opt, &d, &err) == -EINVAL && strstr(err.text, "host_ops[0]"),
	       "%s", err.text);
	npu_device_open("sim:threads=1", NULL, &bare, &err);
	host_make(&fx);
	data = fixture_encode(&fx, &size);
	tap_ok(npu_job_load_memory(bare, data, size, "host.npu", 0, &j, &err) == -ENOTSUP &&
	       strstr(err.text, "'Scale_2' needs the host operator test.Scale"), "%s", err.text);
	free(data);
	fixture_free(&fx);
	npu_device_close(bare);
}

/* A job file whose step has operands of two types: said when it is loaded. */
static void mixed_types(void)
{
	struct npu_job *j = NULL;
	struct fixture f;
	size_t size;
	void *data;

	host_make(&f);
	for (int i = 0; i < 4; i++) {
		struct npu_jobfile_step *s = &f.steps[i];

		if (s->kind != NPU_STEP_HOST || strcmp(s->op, "Scale"))
			continue;
		f.args[6] = s->in[0];
		f.args[7] = f.steps[i - 1].out[0];	/* what NonZero gives */
		s->domain = "";
		s->op = "Add";
		s->num_in = 2;
		s->in = &f.args[6];
	}
	f.regions[5].access |= NPU_ACCESS_READ;
	data = fixture_encode(&f, &size);
	tap_ok(npu_job_load_memory(dev, data, size, "mixed.npu", 0, &j, &err) == -EINVAL &&
	       strstr(err.text, "'Scale_2' (Add)") && strstr(err.text, "'t' (f32)") &&
	       strstr(err.text, "'where' (i64)"), "%s", err.text);
	free(data);
	fixture_free(&f);
}

int main(void)
{
	struct npu_device_options opt = { .size = sizeof(opt),
					  .host_ops = fixture_ops,
					  .num_host_ops = FIXTURE_OPS };
	struct fixture f;

	if (npu_device_open("sim:threads=2", &opt, &dev, &err) ||
	    npu_queue_create(dev, NULL, &queue, &err)) {
		tap_ok(0, "open: %s", err.text);
		return tap_done();
	}
	host_make(&f);
	job = fixture_load(dev, &f, "host.npu");
	fixture_free(&f);
	results();
	info();
	records();
	failure();
	odd_status();
	second_step();
	order();
	cancel();
	failed_wait();
	lifetime();
	threads();
	refusals();
	mixed_types();
	npu_job_unload(job);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
