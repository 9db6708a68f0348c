// SPDX-License-Identifier: MIT
/*
 * Camera frames to model inputs: one COLOR instruction each, milliseconds of processor time of the
 * median run, beside the time that it takes to copy the frame's bytes and to write the input's:
 * what memory alone would need.
 * The last rows convert all of the frame first and resample then, as two instructions.
 *
 * usage: bench_camera [-d URI] [-n runs]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "npu.h"
#include "npu_kernels.h"

enum region { OUT, IN, CHROMA, CONST, MIDDLE, NUM_REGIONS };

#define MAX_OUT		((size_t)1920 * 1080 * 12)
#define MAX_FRAME	((size_t)1920 * 1080 * 3)

static const struct row {
	const char *name;
	enum npu_color format;
	unsigned int w, h, out_w, out_h;
	enum npu_dtype dtype;
	bool planar;			/* channels first */
	bool two;			/* the whole frame is converted first */
} rows[] = {
	{ "nv12  1280x720  -> f32 128x128", NPU_COLOR_NV12, 1280, 720, 128, 128, NPU_F32, false,
	  false },
	{ "nv12  1280x720  -> f32 640x360 planar", NPU_COLOR_NV12, 1280, 720, 640, 360, NPU_F32,
	  true, false },
	{ "nv12  1280x720  -> f32 640x360", NPU_COLOR_NV12, 1280, 720, 640, 360, NPU_F32, false,
	  false },
	{ "nv12  1280x720  -> u8  640x360", NPU_COLOR_NV12, 1280, 720, 640, 360, NPU_U8, false,
	  false },
	{ "nv12  1280x720  -> f32 640x640 planar", NPU_COLOR_NV12, 1280, 720, 640, 640, NPU_F32,
	  true, false },
	{ "nv12  1920x1080 -> f32 640x360 planar", NPU_COLOR_NV12, 1920, 1080, 640, 360, NPU_F32,
	  true, false },
	{ "nv12  1280x720  -> f32 1280x720 planar", NPU_COLOR_NV12, 1280, 720, 1280, 720, NPU_F32,
	  true, false },
	{ "yuyv  1280x720  -> f32 640x360 planar", NPU_COLOR_YUYV, 1280, 720, 640, 360, NPU_F32,
	  true, false },
	{ "rgb24 1280x720  -> f32 640x360 planar", NPU_COLOR_RGB24, 1280, 720, 640, 360, NPU_F32,
	  true, false },
	{ "nv12  1280x720  -> f32 128x128, two steps", NPU_COLOR_NV12, 1280, 720, 128, 128, NPU_F32,
	  false, true },
	{ "nv12  1280x720  -> f32 640x360, two steps", NPU_COLOR_NV12, 1280, 720, 640, 360, NPU_F32,
	  false, true },
};

static struct npu_device *dev;
static struct npu_queue *queue;
static struct npu_buffer *buf[NUM_REGIONS];
static unsigned int runs = 31;
static clockid_t clock_id = CLOCK_PROCESS_CPUTIME_ID;	/* of a device elsewhere: CLOCK_MONOTONIC */

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench_camera: %s: %s\n", what, why);
	exit(1);
}

static struct npu_tensor tensor(unsigned int region, uint64_t offset, enum npu_dtype dtype,
				unsigned int rank, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const uint32_t dim[4] = { a, b, c, d };
	struct npu_tensor t;

	if (npu_tensor_fixed(&t, region, offset, dtype, rank, dim))
		die("tensor", "its dims");
	if (dtype == NPU_U8 && region == OUT)
		t.scale = 1;
	return t;
}

static struct npu_tensor picture(unsigned int region, enum npu_dtype dtype, unsigned int w,
				 unsigned int h, bool planar)
{
	struct npu_tensor t = tensor(region, 0, dtype, 4, 1, h, w, 3);
	int64_t size = dtype == NPU_U8 ? 1 : 4;

	if (planar) {
		t.stride[1] = npu_len(size * w);
		t.stride[2] = npu_len(size);
		t.stride[3] = npu_len(size * w * h);
	}
	return t;
}

/* The frame's operands; the whole of it when @whole. */
static int emit_color(struct npu_stream_builder *b, const struct row *r,
		      const struct npu_tensor *out, bool whole)
{
	bool nv12 = r->format == NPU_COLOR_NV12;
	struct npu_tensor in = tensor(IN, 0, NPU_U8, nv12 ? 3 : 4, 1, r->h, r->w,
				      r->format == NPU_COLOR_YUYV ? 2 : 3);
	struct npu_tensor chroma = tensor(CHROMA, 0, NPU_U8, 4, 1, r->h / 2, r->w / 2, 2);
	struct npu_tensor matrix = tensor(CONST, 0, NPU_F32, 1, 18, 1, 1, 1);
	struct npu_tensor box = tensor(CONST, 128, NPU_F32, 2, 1, 4, 1, 1);
	const struct npu_color_args args = {
		.out = out, .in = &in, .chroma = nv12 ? &chroma : NULL, .matrix = &matrix,
		.box = whole ? NULL : &box, .format = r->format, .limit = 255,
	};

	return npu_emit_color(b, &args);
}

static int emit(struct npu_stream_builder *b, const struct row *r)
{
	struct npu_tensor out = picture(OUT, r->dtype, r->out_w, r->out_h, r->planar);
	struct npu_tensor middle = picture(MIDDLE, NPU_F32, r->w, r->h, false);
	struct npu_tensor boxes = tensor(CONST, 128, NPU_F32, 2, 1, 4, 1, 1);
	const struct npu_crop_resize_args resize = { .out = &out, .in = &middle, .boxes = &boxes };

	if (!r->two)
		return emit_color(b, r, &out, r->w == r->out_w && r->h == r->out_h);
	return emit_color(b, r, &middle, true) ?: npu_emit_crop_resize(b, &resize);
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(clock_id, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double run_stream(const void *stream, size_t size)
{
	struct npu_stream_region region[NUM_REGIONS] = { 0 };
	struct npu_stream_submit submit = { .size = sizeof(submit), .num_regions = NUM_REGIONS,
					    .stream = stream, .stream_size = size,
					    .regions = region };
	struct npu_fence *fence = NULL;
	struct npu_error err;
	double ms[1000];
	unsigned int i;

	for (i = 0; i < NUM_REGIONS; i++)
		region[i] = (struct npu_stream_region){
			.buf = buf[i], .bytes = npu_buffer_size(buf[i]),
			.access = NPU_ACCESS_READ | NPU_ACCESS_WRITE };
	for (i = 0; i < runs; i++) {
		ms[i] = now();
		if (npu_queue_submit_stream(queue, &submit, NULL, &fence, &err) ||
		    npu_fence_wait(fence, NPU_FOREVER, &err))
			die("run", err.text);
		ms[i] = now() - ms[i];
		npu_fence_put(fence);
	}
	qsort(ms, runs, sizeof(*ms), by_value);
	return ms[runs / 2];
}

/* The frame's bytes copied, the input's bytes written. */
static double run_memory(size_t frame, size_t out, char *from, char *to)
{
	double ms[1000];

	for (unsigned int i = 0; i < runs; i++) {
		ms[i] = now();
		memcpy(to, from, frame);
		memset(to + MAX_FRAME, (int)i, out);
		ms[i] = now() - ms[i];
	}
	qsort(ms, runs, sizeof(*ms), by_value);
	return ms[runs / 2];
}

static void fill_constants(const struct row *r)
{
	const float m[36] = { 16, 128, 128,
			      1.164f, 0, 1.596f, 1.164f, -0.392f, -0.813f, 1.164f, 2.017f, 0,
			      1 / 127.5f, 1 / 127.5f, 1 / 127.5f, -1, -1, -1,
			      [32] = 0, 0, (float)r->h, (float)r->w };
	struct npu_error err;

	if (npu_buffer_write(buf[CONST], 0, m, sizeof(m), &err))
		die("constants", err.text);
}

static void bench(const struct row *r, char *from, char *to)
{
	size_t pixels = (size_t)r->w * r->h, size;
	size_t frame = r->format == NPU_COLOR_NV12 ? pixels * 3 / 2 :
		       r->format == NPU_COLOR_YUYV ? pixels * 2 : pixels * 3;
	size_t out = (size_t)r->out_w * r->out_h * (r->dtype == NPU_U8 ? 3 : 12);
	struct npu_stream_builder *b;
	const void *stream;
	double ms, memory;

	fill_constants(r);
	if (npu_stream_create(NUM_REGIONS, &b))
		die(r->name, "no memory");
	if (emit(b, r) || npu_stream_finish(b, &stream, &size))
		die(r->name, npu_stream_error(b));
	ms = run_stream(stream, size);
	memory = run_memory(frame, out, from, to);
	printf("%-44s %8.3f ms %8.3f ms %6.1f %8.2f ns/pixel of the input\n", r->name, ms, memory,
	       ms / memory, ms * 1e6 / ((double)r->out_w * r->out_h));
	npu_stream_destroy(b);
}

int main(int argc, char **argv)
{
	const size_t bytes[NUM_REGIONS] = { MAX_OUT, MAX_FRAME, MAX_FRAME, 4096, MAX_OUT };
	const char *uri = "sim:threads=1";
	struct npu_error err;
	char *from, *to;
	int c;

	while ((c = getopt(argc, argv, "d:n:")) != -1) {
		if (c == 'd') {
			uri = optarg;
			clock_id = strncmp(uri, "sim", 3) ? CLOCK_MONOTONIC : clock_id;
		}
		else if (c == 'n' && atoi(optarg) > 0 && atoi(optarg) <= 1000)
			runs = (unsigned int)atoi(optarg);
		else
			die("usage", "bench_camera [-d URI] [-n runs]");
	}
	if (npu_device_open(uri, NULL, &dev, &err) || npu_queue_create(dev, NULL, &queue, &err))
		die(uri, err.text);
	for (unsigned int i = 0; i < NUM_REGIONS; i++)
		if (npu_buffer_create(dev, bytes[i], 0, &buf[i], &err))
			die("buffer", err.text);
	from = calloc(1, MAX_FRAME);
	to = calloc(1, MAX_FRAME + MAX_OUT);
	if (!from || !to)
		die("buffer", "no memory");
	for (size_t i = 0; i < MAX_FRAME; i++)
		from[i] = (char)(i * 2654435761u >> 24);
	if (npu_buffer_write(buf[IN], 0, from, MAX_FRAME, &err) ||
	    npu_buffer_write(buf[CHROMA], 0, from, MAX_FRAME, &err))
		die("frame", err.text);
	printf("%-44s %11s %11s %6s\n", "frame -> input", "NPU", "memory", "times");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		bench(&rows[i], from, to);
	free(from);
	free(to);
	for (unsigned int i = 0; i < NUM_REGIONS; i++)
		npu_buffer_put(buf[i]);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return 0;
}
