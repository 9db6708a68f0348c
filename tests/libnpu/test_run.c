// SPDX-License-Identifier: MIT
/*
 * Load, run, read: the main path, with several lengths, threads, SIMD sets and ways to give memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/run.h"
#include "fixture.h"
#include "tap.h"

static struct npu_error err;

static void fill(float *x, unsigned int n, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		x[i] = (int)(seed >> 8) % 20001 / 64.0f - 100;
	}
}

static int right(const float *x, const float *y, unsigned int rows)
{
	unsigned int i, bad = 0;

	for (i = 0; i < rows * TINY_COLS; i++) {
		float want = tiny_ref(x[i], i % TINY_COLS);

		bad += memcmp(&want, &y[i], 4) != 0;
	}
	return !bad;
}

static int run_once(struct npu_queue *queue, struct npu_run *run, unsigned int rows,
		    unsigned int seed)
{
	float x[TINY_ROWS * TINY_COLS], y[TINY_ROWS * TINY_COLS] = { 0 };
	int64_t dims[2] = { rows, TINY_COLS };
	int ret;

	fill(x, rows * TINY_COLS, seed);
	ret = npu_run_set_shape(run, "x", 2, dims, &err) ||
	      npu_run_write(run, "x", x, rows * 16, &err) ||
	      run_and_wait(queue, run, &err) ||
	      npu_run_read(run, "y", y, rows * 16, &err);
	if (ret)
		tap_diag("%s", err.text);
	return !ret && right(x, y, rows);
}

static void test_devices(const struct fixture *f)
{
	static const char *const uris[] = { "sim",
					    "sim:threads=1",
					    "sim:threads=2,simd=portable",
					    "sim:threads=3,simd=auto,sram=65536",
					    "sim:simd=avx2",
					    "sim:simd=avx512" };
	struct npu_device *dev;
	struct npu_queue *queue;
	struct npu_job *job;
	struct npu_run *run;
	unsigned int i, rows, good;
	int ret;

	for (i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
		ret = npu_device_open(uris[i], NULL, &dev, &err);
		if (ret == -ENOTSUP) {
			tap_skip(uris[i], err.text);
			continue;
		}
		if (!tap_ok(!ret, "open %s", uris[i]))
			continue;
		job = fixture_load(dev, f, "tiny.npu");
		npu_run_create(job, &run, &err);
		npu_queue_create(dev, NULL, &queue, &err);
		for (rows = 1, good = 0; rows <= TINY_ROWS; rows++)
			good += run_once(queue, run, rows, rows);
		for (rows = TINY_ROWS; rows >= 1; rows--)
			good += run_once(queue, run, rows, 100 + rows);
		tap_ok(good == 2 * TINY_ROWS, "%s: %u of %u runs are right", uris[i], good,
		       2 * TINY_ROWS);
		npu_queue_destroy(queue);
		npu_run_destroy(run);
		npu_job_unload(job);
		npu_device_close(dev);
	}
}

static unsigned int calls;

static void serial_for(void *ctx, unsigned int n, void (*fn)(void *arg, unsigned int i), void *arg)
{
	unsigned int i;

	__atomic_add_fetch((unsigned int *)ctx, 1, __ATOMIC_RELAXED);
	for (i = n; i-- > 0; )
		fn(arg, i);
}

static void test_caller_pool(const struct fixture *f)
{
	struct npu_device_options opt = { .size = sizeof(opt),
					  .threads = 4,
					  .parallel_for = serial_for,
					  .parallel_ctx = &calls };
	struct npu_device *dev;
	struct npu_queue *queue;
	struct npu_job *job;
	struct npu_run *run;
	struct fixture slow;

	if (!tap_ok(!npu_device_open("sim", &opt, &dev, &err),
		    "open with the caller's thread pool"))
		return;
	job = fixture_load(dev, f, "tiny.npu");
	npu_run_create(job, &run, &err);
	npu_queue_create(dev, NULL, &queue, &err);
	tap_ok(run_once(queue, run, 7, 1), "right with the caller's thread pool");
	npu_run_destroy(run);
	npu_job_unload(job);
	slow_make(&slow, 1);
	job = fixture_load(dev, &slow, "slow.npu");
	npu_run_create(job, &run, &err);
	tap_ok(!npu_queue_submit(queue, run, NULL, NULL, &err) &&
		       !npu_queue_wait(queue, NPU_FOREVER, &err),
	       "a matrix product on it");
	tap_ok(calls > 0, "it was used (%u times)", calls);
	npu_run_destroy(run);
	npu_job_unload(job);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	fixture_free(&slow);
}

static void released(void *ctx)
{
	++*(int *)ctx;
}

static void test_bind(struct npu_device *dev, struct npu_job *job, struct npu_queue *queue)
{
	_Alignas(64) float x[TINY_ROWS * TINY_COLS];
	struct npu_buffer *in, *out, *where;
	float y[TINY_ROWS * TINY_COLS];
	int64_t dims[2] = { 5, 4 };
	struct npu_fence *fence;
	struct npu_run *run;
	uint64_t offset = 0, bytes = 0;
	int gone = 0;

	fill(x, 5 * TINY_COLS, 3);
	npu_run_create(job, &run, &err);
	tap_ok(!npu_buffer_import_host(dev, x, sizeof(x), NPU_BUFFER_READ_ONLY, released, &gone,
				       &in, &err),
	       "import");
	tap_ok(!npu_buffer_create(dev, 4096, 0, &out, &err), "create");
	tap_ok(!npu_run_set_shape(run, "x", 2, dims, &err), "set shape");
	tap_ok(!npu_run_tensor_size(run, "y", &bytes, &err) && bytes == 80, "y has 80 bytes");
	tap_ok(!npu_run_bind(run, "x", in, 0, &err) && !npu_run_bind(run, "y", out, 128, &err),
	       "bind");
	npu_buffer_put(in);
	tap_ok(!npu_run_buffer(run, "y", &where, &offset, &err) && where == out && offset == 128,
	       "y lies where it was bound");
	tap_ok(!npu_queue_submit(queue, run, NULL, &fence, &err), "submit");
	npu_run_destroy(run);
	tap_ok(!npu_fence_wait(fence, npu_deadline_after(5000000000u), &err),
	       "runs on though the run is destroyed");
	npu_fence_put(fence);
	tap_ok(!npu_buffer_read(out, 128, y, 80, &err) && right(x, y, 5), "right, at its offset");
	tap_ok(gone == 1, "the imported memory is released once");
	npu_buffer_put(out);
}

static void test_lifetime(const struct fixture *f)
{
	struct npu_device *dev;
	struct npu_queue *queue;
	struct npu_fence *fence[8];
	struct npu_job *job;
	struct npu_run *run;
	int i, good = 0;

	npu_device_open("sim:threads=2", NULL, &dev, &err);
	job = fixture_load(dev, f, "tiny.npu");
	npu_queue_create(dev, NULL, &queue, &err);
	for (i = 0; i < 8; i++) {
		int64_t dims[2] = { i + 1, 4 };

		npu_run_create(job, &run, &err);
		npu_run_set_shape(run, "x", 2, dims, &err);
		npu_queue_submit(queue, run, NULL, &fence[i], &err);
		npu_run_destroy(run);
	}
	npu_job_unload(job);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	for (i = 0; i < 8; i++) {
		good += !npu_fence_wait(fence[i], NPU_FOREVER, &err);
		npu_fence_put(fence[i]);
	}
	tap_ok(good == 8, "all handles dropped at once after submit: %d of 8 jobs end well", good);
}

int main(void)
{
	struct npu_device *dev;
	struct npu_queue *queue;
	struct npu_job *job;
	struct fixture f;

	tiny_make(&f);
	test_devices(&f);
	test_caller_pool(&f);
	npu_device_open("sim", NULL, &dev, &err);
	job = fixture_load(dev, &f, "tiny.npu");
	npu_queue_create(dev, NULL, &queue, &err);
	test_bind(dev, job, queue);
	npu_queue_destroy(queue);
	npu_job_unload(job);
	npu_device_close(dev);
	test_lifetime(&f);
	fixture_free(&f);
	return tap_done();
}
