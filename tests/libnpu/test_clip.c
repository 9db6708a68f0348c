// SPDX-License-Identifier: MIT
/*
 * npu_run_clipped() on counters that the test writes itself, and on tables that a file got wrong.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "fixture.h"
#include "tap.h"

static struct npu_error err;
static struct npu_device *dev;
static struct npu_queue *queue;

/* The tiny model with a table of two counters, of tensor a (zero point 5) and b (0). */
static void clip_make(struct fixture *f)
{
	tiny_make(f);
	((struct npu_stream_header *)f->stream.words)->num_regions = 6;
	f->regions[5] = (struct npu_jobfile_region){ .name = "", .role = NPU_REGION_STATE,
						     .access = NPU_ACCESS_READ | NPU_ACCESS_WRITE,
						     .size = NPU_JOBFILE_CONST(48), .align = 16 };
	f->tensors[2] = (struct npu_jobfile_tensor){ .name = NPU_CLIP_TENSOR, .node = "",
						     .role = NPU_TENSOR_STATE, .dtype = NPU_I64,
						     .rank = 2, .region = 5,
						     .flags = NPU_JOBFILE_DENSE,
						     .dim = { NPU_JOBFILE_CONST(2),
							      NPU_JOBFILE_CONST(3) } };
	for (int i = 0; i < 2; i++)
		f->tensors[3 + i] = (struct npu_jobfile_tensor){
			.name = i ? "b" : "a", .node = i ? "B" : "A", .role = NPU_TENSOR_INTERNAL,
			.dtype = NPU_I64, .rank = 1, .region = 5, .flags = NPU_JOBFILE_DENSE,
			.dim = { NPU_JOBFILE_CONST(3) }, .offset = NPU_JOBFILE_CONST(24 * i),
			.scale = 0.5f, .zero_point = i ? 0 : 5 };
	f->records[0] = (struct npu_jobfile_record){ NPU_CLIP_RECORD "a", "20000000" };
	f->programs[0].num_regions = 6;
	f->programs[0].num_tensors = 5;
}

static struct npu_run *clip_run(const struct fixture *f, struct npu_job **job)
{
	static const float x[TINY_COLS] = { 1, 2, 3, 4 };
	int64_t dims[2] = { 1, TINY_COLS };
	struct npu_run *run;

	*job = fixture_load(dev, f, "clip.npu");
	if (npu_run_create(*job, &run, &err) || npu_run_set_shape(run, "x", 2, dims, &err) ||
	    npu_run_write(run, "x", x, sizeof(x), &err)) {
		tap_diag("%s", err.text);
		abort();
	}
	return run;
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-12;
}

static void counters(void)
{
	static const int64_t table[6] = { 5, 7, 100, 90, 3, 200 };
	struct npu_clip_info c = NPU_INIT(c), none = { 0 };
	struct {
		struct npu_clip_info c;
		char more[8];
	} newer = { .c.size = sizeof(newer), .more = "1234567" };
	struct npu_fence *fence = NULL;
	struct npu_job *job;
	struct npu_run *run;
	struct fixture f;

	clip_make(&f);
	run = clip_run(&f, &job);
	fixture_free(&f);
	tap_ok(npu_run_clipped(run, 0, &c, &err) == -ENODATA, "before a submit: %s", err.text);
	if (npu_run_write(run, NPU_CLIP_TENSOR, table, sizeof(table), &err) ||
	    npu_queue_submit(queue, run, NULL, &fence, &err) ||
	    npu_fence_wait(fence, NPU_FOREVER, &err))
		tap_diag("%s", err.text);
	npu_fence_put(fence);
	tap_ok(!npu_run_clipped(run, 0, &c, &err) && !strcmp(c.tensor, "a") &&
		       !strcmp(c.node, "A") && c.looked_at == 100 && near(c.share, 0.12) &&
		       near(c.calibrated, 0.02) && c.suspicious,
	       "12 of 100 at an end, 2 %% in calibration: suspicious");
	tap_ok(!npu_run_clipped(run, 1, &c, &err) && !strcmp(c.tensor, "b") &&
		       near(c.share, 3 / 200.0) && c.calibrated < 0 && !c.suspicious,
	       "zeros at the end of the range that is zero do not count; nothing is known of calibration");
	tap_ok(npu_run_clipped(run, 2, &c, &err) == -ENOENT, "past the last: %s", err.text);
	tap_ok(npu_run_clipped(run, 0, &none, &err) == -EINVAL &&
		       npu_run_clipped(run, 0, NULL, &err) == -EINVAL,
	       "without a size: %s", err.text);
	tap_ok(!npu_run_clipped(run, 0, &newer.c, &err) && newer.c.size == sizeof(newer) &&
		       !newer.more[0] && newer.c.looked_at == 100,
	       "a program with a larger struct gets what there is, and zeros");
	npu_run_destroy(run);
	npu_job_unload(job);
}

/* Sums that are right only modulo 2^64, in a table of two rows and a counter in its last bytes. */
static void wrong_table(void)
{
	struct npu_clip_info c = NPU_INIT(c);
	struct npu_fence *fence;
	struct npu_job *job;
	struct npu_run *run;
	struct fixture f;

	clip_make(&f);
	f.symbols[0].max = 1;
	f.tensors[2].dim[0] = (struct npu_jobfile_expr){ .base = 2 - (1ll << 61),
							 .factor = { 1ll << 61 } };
	f.tensors[4].rank = 0;
	f.tensors[4].offset = NPU_JOBFILE_CONST(40);
	run = clip_run(&f, &job);
	fixture_free(&f);
	if (!npu_queue_submit(queue, run, NULL, &fence, &err)) {
		npu_fence_wait(fence, NPU_FOREVER, NULL);
		npu_fence_put(fence);
	}
	tap_ok(npu_run_clipped(run, 1, &c, &err) == -ENOENT, "rows that wrap around: %s", err.text);
	npu_run_destroy(run);
	npu_job_unload(job);
}

int main(void)
{
	if (npu_device_open("sim:threads=1", NULL, &dev, &err) ||
	    npu_queue_create(dev, NULL, &queue, &err)) {
		tap_ok(0, "open: %s", err.text);
		return tap_done();
	}
	counters();
	wrong_table();
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
