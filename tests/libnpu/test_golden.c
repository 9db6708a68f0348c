// SPDX-License-Identifier: MIT
/*
 * Job files of every released format keep loading and computing the same. The expected outputs are
 * not from this stack: ONNX Runtime fp32 for mnist, exact arithmetic for rows (y = relu(x * w + x),
 * the number of rows given at run time) and for det (y = -det(relu(x)) of small integers, Det on
 * the host); for frame (y = -x, x a picture out of a camera's frame) the formulas of
 * Documentation/camera.md, pixel by pixel (tests/compiler/test_golden_frame.c makes them).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/run.h"
#include "npu.h"
#include "tap.h"
#include "tools/common/npy.h"

static struct npu_error err;
static struct npu_error why;

struct golden {
	const char *name, *input, *output;
	double tolerance;	/* of the largest value */
};

static const struct golden files[] = {
	{ "golden-1.0-mnist", "Input3", "Plus214_Output_0", 5e-3 },
	{ "golden-1.0-rows", "x", "y", 0 },
	{ "golden-1.1-det", "x", "y", 1e-6 },
};

static int read_npy(const struct golden *g, const char *part, struct npu_npy *arr)
{
	char path[128];

	snprintf(path, sizeof(path), "tests/data/%s.%s.npy", g->name, part);
	return npu_npy_read(path, arr, &why);
}

static double worst(const float *a, const float *b, size_t n)
{
	double d = 0, most = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		d = fmax(d, isnan(a[i]) ? INFINITY : fabs((double)a[i] - b[i]));
		most = fmax(most, fabs(b[i]));
	}
	return d / most;
}

static void check(struct npu_device *dev, struct npu_queue *queue, const struct golden *g)
{
	struct npu_npy in = { 0 }, want = { 0 };
	struct npu_run *run = NULL;
	struct npu_job *job = NULL;
	float out[64];
	char path[128];
	double d;
	int ret;

	snprintf(path, sizeof(path), "tests/data/%s.npu", g->name);
	if (!tap_ok(!npu_job_load(dev, path, NPU_JOB_CHECK_DIGEST, &job, &err), "%s loads %s", path,
		    err.text))
		return;
	if (!tap_ok(!read_npy(g, "in", &in) && !read_npy(g, "out", &want) && want.count <= 64,
		    "its data %s", why.text))
		goto out_job;
	ret = npu_run_create(job, &run, &err) ||
	      npu_run_set_shape(run, g->input, in.rank, in.dims, &err) ||
	      npu_run_write(run, g->input, in.data, in.count * 4, &err) ||
	      run_and_wait(queue, run, &err) ||
	      npu_run_read(run, g->output, out, want.count * 4, &err);
	if (tap_ok(!ret, "%s runs %s", g->name, err.text)) {
		d = worst(out, want.data, want.count);
		tap_ok(d <= g->tolerance, "%s: %.3g of the largest value off, %.3g allowed",
		       g->name, d, g->tolerance);
	}
	npu_run_destroy(run);
out_job:
	npu_npy_free(&in);
	npu_npy_free(&want);
	npu_job_unload(job);
}

/* Format 1.3: the frame in rows that are further apart than they were for anybody before. */
static void check_frame(struct npu_device *dev, struct npu_queue *queue)
{
	const struct golden g = { "golden-1.3-frame", "x", "y", 0 };
	struct npu_image_info img = NPU_INIT(img);
	struct npu_npy in = { 0 }, want = { 0 };
	struct npu_run *run = NULL;
	struct npu_job *job = NULL;
	float out[720];
	int ret;

	if (!tap_ok(!npu_job_load(dev, "tests/data/golden-1.3-frame.npu", NPU_JOB_CHECK_DIGEST,
				  &job, &err) &&
		    !npu_job_image(job, 0, 0, &img) && img.width == 24 && img.height == 18 &&
		    !memcmp(&img.fourcc, "NV12", 4),
		    "%s loads %s", g.name, err.text))
		return;
	if (!tap_ok(!read_npy(&g, "in", &in) && !read_npy(&g, "out", &want) && want.count == 720,
		    "its data %s", why.text))
		goto out_job;
	ret = npu_run_create(job, &run, &err) || npu_run_set_stride(run, "x", 61, &err) ||
	      npu_run_set_stride(run, "x.uv", 29, &err) ||
	      npu_run_write_image(run, "x", in.data, in.count, &err) ||
	      run_and_wait(queue, run, &err) ||
	      npu_run_read(run, "y", out, sizeof(out), &err);
	tap_ok(!ret && worst(out, want.data, 720) == 0, "%s: the same bits %s", g.name, err.text);
	npu_run_destroy(run);
out_job:
	npu_npy_free(&in);
	npu_npy_free(&want);
	npu_job_unload(job);
}

int main(void)
{
	struct npu_device *dev;
	struct npu_queue *queue;
	size_t i;

	if (!tap_ok(!npu_device_open("sim", NULL, &dev, &err) &&
			    !npu_queue_create(dev, NULL, &queue, &err),
		    "open"))
		return tap_done();
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		memset(&err, 0, sizeof(err));
		check(dev, queue, &files[i]);
	}
	memset(&err, 0, sizeof(err));
	check_frame(dev, queue);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
