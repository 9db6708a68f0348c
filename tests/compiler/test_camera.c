// SPDX-License-Identifier: MIT
/*
 * --input-format: what the device makes of a camera's frame is bit by bit what the documented
 * formula says, for every format, size, crop, fit and stride; it is near what libyuv makes; and a
 * model that is fed with it computes what it computes from the picture.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "common/run.h"
#include "frame_case.h"
#include "npu_compiler.h"
#include "npu.h"
#include "tap.h"

static struct npu_device *dev;
static struct npu_queue *queue;
static struct npu_error err;

/* ---- runs ------------------------------------------------------------------------------------ */

static struct npu_run *open_run(const struct npu_compile_result *r, struct npu_job **job)
{
	struct npu_run *run = NULL;
	size_t size;
	const void *data = npu_compile_job(r, &size);

	*job = NULL;
	if (!data) {
		tap_diag("%s", npu_compile_messages(r));
		return NULL;
	}
	if (npu_job_load_memory(dev, data, size, "m.npu", 0, job, &err) ||
	    npu_run_create(*job, &run, &err))
		tap_diag("%s", err.text);
	return run;
}

/* ---- frames in buffers ----------------------------------------------------------------------- */

/*
 * The frame's planes in a buffer from @at on, rows @stride apart, in memory that is full of
 * something else; bound as one, or plane by plane with a gap between them.
 */
static int bind(struct npu_job *job, struct npu_run *run, const struct frame_spec *s,
		const uint8_t *frame, size_t stride, size_t at, bool apart)
{
	struct npu_plane_info plane = NPU_INIT(plane);
	struct npu_buffer *buf;
	size_t row, rows, to = at;
	void *map;
	int ret = npu_buffer_create(dev, at + (stride + 8) * (size_t)s->height * 2 + 64, 0, &buf,
				    &err);

	if (ret || npu_buffer_map(buf, &map, &err))
		return ret ? ret : -EIO;
	memset(map, 0xa5, npu_buffer_size(buf));
	if (!apart)
		ret = npu_run_bind_image(run, "x", buf, at, stride, &err);
	for (int k = 0; k < frame_planes(s) && !ret; k++) {
		frame_plane(s, k, &row, &rows);
		for (size_t y = 0; y < rows; y++, frame += row)
			memcpy((uint8_t *)map + to + y * stride, frame, row);
		if (apart && (npu_job_plane(job, 0, 0, (unsigned int)k, &plane) ||
			      npu_run_set_stride(run, plane.name, stride, &err) ||
			      npu_run_bind(run, plane.name, buf, to, &err)))
			ret = -EINVAL;
		to += stride * rows + (apart ? 13 : 0);
	}
	npu_buffer_put(buf);
	return ret;
}

/* ---- against the formula --------------------------------------------------------------------- */

static void random_spec(struct frame_spec *s, const char *format, int w, int h, bool norm)
{
	frame_default(s, format, w, h);
	s->crop[0] = below(w);
	s->crop[1] = below(h);
	s->crop[2] = between(1, w - s->crop[0]);
	s->crop[3] = between(1, h - s->crop[1]);
	if (!below(4)) {
		s->crop[0] = s->crop[1] = 0;
		s->crop[2] = w;
		s->crop[3] = h;
	}
	s->fit = (const char *const[]){ "stretch", "letterbox", "crop" }[below(3)];
	frame_random_colours(s, norm);
}

static size_t differing(struct npu_run *run, const struct frame_input *d, const float *want)
{
	size_t bytes = (size_t)d->height * (size_t)d->width * 12, bad = 1;
	float *y = malloc(bytes);

	if (!npu_run_read(run, "y", y, bytes, &err))
		bad = frame_differing(d, 0, y, want);
	free(y);
	return bad;
}

static bool try_frame(const struct frame_spec *s, const struct frame_input *d)
{
	size_t size, row, rows, bytes = frame_bytes(s), bad = 1;
	uint8_t *model = frame_mirror(d, &size),
		*frame = malloc(bytes);
	float *want = malloc((size_t)d->height * (size_t)d->width * 12);
	struct npu_compile_result *r;
	struct npu_job *job;
	struct npu_run *run;
	char text[512];

	frame_text(s, text, sizeof(text));
	r = frame_compile(model, size, text);
	run = r ? open_run(r, &job) : NULL;
	frame_plane(s, 0, &row, &rows);
	frame_noise(frame, bytes, frame_seed);
	frame_picture(s, frame, d->height, d->width, d->type == 2, want);
	if (run &&
	    (below(3) ? !bind(job, run, s, frame,
			      s->stride ? (size_t)s->stride :
					  row + (size_t)below(2) * (size_t)below((int)row),
			      (size_t)below(70), below(2)) :
			!npu_run_write_image(run, "x", frame, bytes, &err)) &&
	    !run_and_wait(queue, run, &err))
		bad = differing(run, d, want);
	if (bad)
		tap_diag("%s: %s", text, bad > 1 ? "other bits" : err.text);
	npu_run_destroy(run);
	npu_job_unload(job);
	npu_compile_result_free(r);
	free(want);
	free(frame);
	free(model);
	return !bad;
}

/* Small ones of all kinds. */
static void test_random(void)
{
	int count = getenv("NPU_TEST_LONG") ? 2000 : 60;

	for (int f = 0; f < FRAME_NUM_FORMATS; f++) {
		int good = 0;

		for (int i = 0; i < count; i++) {
			const char *format = frame_formats[f];
			int even = !strstr(format, "24"), tall = even && format[0] == 'n';
			int w = between(1, 40) * (even ? 2 : 1),
			    h = between(1, 40) * (tall ? 2 : 1);
			struct frame_input d = { 1, between(1, 40), between(1, 40), 3,
						 below(4) ? 1 : below(2) ? 10 : 2, below(2) };
			struct frame_spec s;

			d.height += d.nhwc && d.height == 3;	/* else it is 1x3xHxW */
			random_spec(&s, format, w, h, d.type != 2 && below(2));
			if (!below(4))
				s.stride = w * (tall ? 1 : even ? 2 : 3) + below(20);
			good += try_frame(&s, &d);
		}
		tap_ok(good == count, "%s: %d of %d frames give the bits of the formula",
		       frame_formats[f], good, count);
	}
}

/* The sizes that cameras have. */
static void test_sizes(void)
{
	static const int sizes[][2] = { { 640, 480 }, { 1280, 720 }, { 1920, 1080 } };
	static const struct frame_input inputs[] = { { 1, 128, 128, 3, 1, true },
						     { 1, 360, 640, 3, 1, false },
						     { 1, 480, 640, 3, 1, false } };
	static const char *const some[] = { "nv12", "yuyv", "rgb24" };

	for (int i = 0; i < 3; i++)
		for (int f = 0; f < 3; f++) {
			struct frame_spec s;
			int good = 0;

			for (int k = 0; k < 3; k++) {
				frame_default(&s, some[f], sizes[i][0], sizes[i][1]);
				s.fit = (const char *const[]){ "letterbox", "crop", "stretch" }[k];
				good += try_frame(&s, &inputs[k]);
			}
			tap_ok(good == 3, "%s %dx%d: %d of 3 pictures", some[f], sizes[i][0],
			       sizes[i][1], good);
		}
}

/* ---- against libyuv -------------------------------------------------------------------------- */

typedef int (*packed_fn)(const uint8_t *src, int stride, uint8_t *dst, int dst_stride, int w,
			 int h);
typedef int (*planar_fn)(const uint8_t *y, int y_stride, const uint8_t *uv, int uv_stride,
			 uint8_t *dst, int dst_stride, const void *constants, int w, int h);

/* BGRA of all of a frame by libyuv, whose coefficients have six bits behind the point. */
static bool by_libyuv(void *lib, const struct frame_spec *s, const uint8_t *frame, uint8_t *bgra)
{
	int w = s->width, h = s->height;
	const char *name = !strcmp(s->format, "yuyv") ? "YUY2ToARGB" : "UYVYToARGB";
	union { void *sym; packed_fn packed; planar_fn planar; } fn;
	const void *constants;

	if (s->format[0] != 'n') {
		fn.sym = dlsym(lib, name);
		return fn.sym && !fn.packed(frame, 2 * w, bgra, 4 * w, w, h);
	}
	fn.sym = dlsym(lib, !strcmp(s->format, "nv12") ? "NV12ToARGBMatrix" : "NV21ToARGBMatrix");
	constants = dlsym(lib, !strcmp(s->matrix, "bt709") ? "kYuvH709Constants" :
			       !strcmp(s->range, "full")   ? "kYuvJPEGConstants" :
							     "kYuvI601Constants");
	return fn.sym && constants &&
	       !fn.planar(frame, w, frame + w * h, w, bgra, 4 * w, constants, w, h);
}

/* The picture that was shown to be the device's, in colours. */
static void test_libyuv(void)
{
	static const char *const cases[][3] = {
		{ "nv12", "bt601", "limited" }, { "nv12", "bt709", "limited" },
		{ "nv12", "bt601", "full" }, { "nv21", "bt601", "limited" },
		{ "yuyv", "bt601", "limited" }, { "uyvy", "bt601", "limited" },
	};
	enum { W = 64, H = 48 };
	void *lib = dlopen("libyuv.so.0", RTLD_NOW);
	uint8_t frame[W * H * 2], bgra[W * H * 4];
	float *rgb = malloc(W * H * 12);
	struct frame_spec s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double worst = 0, sum = 0;

		if (!lib) {
			tap_ok(1, "# SKIP no libyuv here");
			continue;
		}
		frame_default(&s, cases[i][0], W, H);
		s.matrix = cases[i][1];
		s.range = cases[i][2];
		s.scale = 1;
		frame_noise(frame, frame_bytes(&s), (uint32_t)i);
		frame_picture(&s, frame, H, W, false, rgb);
		if (!tap_ok(by_libyuv(lib, &s, frame, bgra), "%s %s %s by libyuv", cases[i][0],
			    cases[i][1], cases[i][2]))
			continue;
		for (int k = 0; k < W * H * 3; k++) {
			size_t at = (size_t)(k / 3 * 4 + 2 - k % 3);
			double d = fabs((double)rgb[k] - bgra[at]);

			worst = d > worst ? d : worst;
			sum += d;
		}
		/* it has no more than 2.0 for what HD's u adds to blue, 2.11 */
		tap_ok(worst <= (s.matrix[2] == '7' ? 15 : 3) && sum / (W * H * 3) < 1.2,
		       "at most %.2f of 255 off, %.2f on average", worst, sum / (W * H * 3));
	}
	free(rgb);
	if (lib)
		dlclose(lib);
}

/* ---- refused --------------------------------------------------------------------------------- */

static void test_refused(void)
{
	static const struct { const char *text, *says; } cases[] = {
		{ "nv13:64x64", "no format 'nv13', expected nv12, nv21" },
		{ "nv12", "'nv12' comes :WIDTHxHEIGHT" },
		{ "nv12:64", ":WIDTHxHEIGHT" },
		{ "nv12:64x", ":WIDTHxHEIGHT" },
		{ "nv12:64x48x3", ":WIDTHxHEIGHT" },
		{ "nv12:0x48", "0x48 pixels, expected 1 to 16384" },
		{ "nv12:99999x48", "99999x48 pixels" },
		{ "nv12:63x48", "an even width and height is needed" },
		{ "nv12:64x47", "an even width and height is needed" },
		{ "uyvy:63x47", "an even width is needed" },
		{ "nv12:64x48,crop=0:0:65:48", "crop=0:0:65:48: expected a part of the frame" },
		{ "nv12:64x48,crop=64:0:1:1", "a part of the frame" },
		{ "nv12:64x48,crop=0:1:64:48", "a part of the frame" },
		{ "nv12:64x48,crop=0:0:4294967296:48", "X:Y:WIDTH:HEIGHT" },
		{ "nv12:64x48,crop=0:0:0:48", "width and a height from 1" },
		{ "nv12:64x48,crop=0:0:9", "X:Y:WIDTH:HEIGHT" },
		{ "nv12:64x48,crop=-1:0:9:9", "X:Y:WIDTH:HEIGHT" },
		{ "nv12:64x48,fit=pad", "fit=pad: expected stretch, letterbox or crop" },
		{ "nv12:64x48,pad=256", "pad=256: expected colours from 0 to 255" },
		{ "nv12:64x48,pad=1:2", "three separated by ':'" },
		{ "nv12:64x48,matrix=bt2020", "bt601 or bt709" },
		{ "rgb24:64x48,matrix=bt601", "a format of luma and chroma" },
		{ "rgb24:64x48,range=full", "a format of luma and chroma" },
		{ "nv12:64x48,range=tv", "limited or full" },
		{ "nv12:64x48,stride=63", "stride=63: expected at least the bytes of a row" },
		{ "rgb24:64x48,stride=191", "at least the bytes of a row" },
		{ "nv12:64x48,stride=9999999", "at most 1048576" },
		{ "nv12:64x48,stride=x", "bytes, or any" },
		{ "nv12:64x48,order=gbr", "rgb or bgr" },
		{ "nv12:64x48,scale=x", "a number" },
		{ "nv12:64x48,scale=1/0", "other than 0" },
		{ "nv12:64x48,scale=nan", "a finite number" },
		{ "nv12:64x48,std=0", "numbers other than 0" },
		{ "nv12:64x48,mean=1:2:3:4", "three separated by ':'" },
		{ "nv12:64x48,mean", "expected mean=M" },
		{ "nv12:64x48,color=red", "no key 'color', expected crop, fit, pad" },
		{ "nv12:64x48,", "no key ''" },
		{ "nv12:64x48,scale=1,scale=1", "scale is there twice" },
		{ "z=nv12:64x48", "no input 'z', expected 'x'" },
	};
	size_t size;
	uint8_t *model = frame_mirror(&(struct frame_input){ 1, 8, 8, 3, 1, false }, &size);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		frame_is_refused(model, size, cases[i].text, cases[i].says);
	free(model);
}

/* Inputs that take no picture. */
static void test_wrong_input(void)
{
	static const struct {
		int type, rank;
		int64_t dims[4];
		const char *text, *says;
	} cases[] = {
		{ 1, 4, { 1, 4, 8, 8 }, "nv12:64x48", "no picture" },
		{ 1, 4, { 2, 3, 8, 8 }, "nv12:64x48", "no picture" },
		{ 1, 3, { 3, 8, 8 }, "nv12:64x48", "no picture" },
		{ 6, 4, { 1, 3, 8, 8 }, "nv12:64x48", "of type i32" },
		{ 2, 4, { 1, 3, 8, 8 }, "nv12:64x48,mean=1", "without scale, mean and std" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t size;
		uint8_t *model;
		struct ob b;

		ob_init(&b, 13);
		ob_input(&b, "x", cases[i].type, cases[i].rank, cases[i].dims);
		ob_node(&b, cases[i].type == 1 ? "n: y = Neg(x)" : "n: y = Cast(x) to=1");
		ob_output(&b, "y");
		model = ob_finish(&b, &size);
		frame_is_refused(model, size, cases[i].text, cases[i].says);
		free(model);
	}
}

int main(void)
{
	if (!tap_ok(!npu_device_open("sim", NULL, &dev, &err) &&
		    !npu_queue_create(dev, NULL, &queue, &err), "open %s", err.text))
		return tap_done();
	test_random();
	test_sizes();
	test_libyuv();
	test_refused();
	test_wrong_input();
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
