// SPDX-License-Identifier: MIT
/*
 * Real models fed with a camera's frame give the bits that they give when the picture, computed
 * from the frame by the documented formula, is their input: in f32, f16 and int8. With --int8 no
 * tensor lies between the frame and the first layer's codes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame_case.h"
#include "run_job.h"
#include "tap.h"
#include "tools/common/file.h"

#define SAMPLES	2

struct model_case {
	const char *file, *input, *shape;
	int height, width;
	bool nhwc;
	const char *format;
	int frame_width, frame_height, crop[4];
	const char *fit;
	bool bgr, grey;
	double scale, mean, std;
};

static const struct model_case cases[] = {
	{ "blazeface_front.onnx", "input:0", NULL, 128, 128, true, "nv12", 320, 240,
	  { 31, 7, 251, 201 },
	  "letterbox", false, false, 1 / 127.5, 1, 1 },
	{ "ch_ppocr_mobile_v2.0_cls_infer.onnx", "x", "x=1x3x48x192", 48, 192, false,
	  "uyvy", 640, 480, { 0, 0, 640, 480 }, "crop", true, false, 1.0 / 255, 0.5, 0.5 },
	{ "ch_PP-OCRv4_det_infer.onnx", "x", "x=1x3x96x160", 96, 160, false, "rgb24", 161, 99,
	  { 0, 0, 161, 99 }, "stretch", true, false, 1.0 / 255, 0.45, 0.225 },
	{ "fr_landmark.onnx", "input", NULL, 64, 64, false, "nv12", 320, 240, { 31, 7, 251, 201 },
	  "letterbox", false, true, 1.0 / 256, 0, 1 },
	{ "fr_landmark.onnx", "input", NULL, 64, 64, false, "bgr24", 161, 99, { 0, 0, 161, 99 },
	  "crop", false, true, 1.0 / 256, 0, 1 },
};

static void make_spec(const struct model_case *c, struct frame_spec *s)
{
	frame_default(s, c->format, c->frame_width, c->frame_height);
	memcpy(s->crop, c->crop, sizeof(s->crop));
	s->fit = c->fit;
	s->bgr = c->bgr;
	s->grey = c->grey;
	s->norm = true;
	s->scale = c->scale;
	for (int i = 0; i < 3; i++) {
		s->mean[i] = c->mean;
		s->std[i] = c->std;
		s->pad[i] = 114;
	}
}

/* The model's input, of a frame of noise that is smooth over some pixels. */
static void make_frame(const struct frame_spec *s, uint32_t seed, uint8_t *frame)
{
	size_t size = frame_bytes(s);

	frame_noise(frame, size, seed);
	for (size_t i = 4; i < size; i++)
		frame[i] = (uint8_t)((frame[i - 4] * 7 + frame[i]) / 8);
}

static int make_picture(const struct model_case *c, const struct frame_spec *s,
			const uint8_t *frame, struct named_array *in)
{
	const size_t k = c->grey ? 1 : 3, plane = (size_t)c->height * (size_t)c->width;
	const int64_t nhwc[] = { 1, c->height, c->width, 3 },
		      nchw[] = { 1, (int64_t)k, c->height, c->width };
	float *rgb = malloc(plane * 12), *data;

	snprintf(in->name, sizeof(in->name), "%s", c->input);
	if (!rgb || array_alloc(&in->arr, NPU_NPY_F32, 4, c->nhwc ? nhwc : nchw)) {
		free(rgb);
		return -ENOMEM;
	}
	data = in->arr.data;
	frame_picture(s, frame, c->height, c->width, false, rgb);
	for (size_t i = 0; i < k * plane; i++)
		data[i] = c->nhwc ? rgb[i] : rgb[i % plane * k + i / plane];
	free(rgb);
	return 0;
}

struct data {
	const struct model_case *c;
	struct frame_spec spec;
	uint8_t *model, *frame;
	size_t size;
	struct named_array picture[SAMPLES];	/* the first is that of the frame */
};

static bool load(struct data *d)
{
	const char *dir = getenv("NPU_MODELS");
	struct npu_error why;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "build/models", d->c->file);
	make_spec(d->c, &d->spec);
	d->frame = malloc(frame_bytes(&d->spec));
	if (!tap_ok(!npu_file_read(path, 1 << 30, &d->model, &d->size, &why), "%s", d->c->file))
		return false;
	for (int i = SAMPLES; i-- > 0;) {
		make_frame(&d->spec, 5 + (uint32_t)i, d->frame);
		if (make_picture(d->c, &d->spec, d->frame, &d->picture[i]))
			return false;
	}
	return true;
}

static void unload(struct data *d)
{
	for (int i = 0; i < SAMPLES; i++)
		npu_npy_free(&d->picture[i].arr);
	free(d->model);
	free(d->frame);
}

/* The model in one precision, for frames when @text says which. */
static struct npu_compile_result *compile(const struct data *d, const char *how, const char *text)
{
	struct npu_calib_tensor tensor[SAMPLES];
	struct npu_calib_sample sample[SAMPLES];
	struct npu_compile_result *r = NULL;
	struct npu_compile_options o;
	struct npu_quant_options q;

	npu_compile_options_init(&o);
	npu_quant_options_init(&q);
	for (int i = 0; i < SAMPLES; i++) {
		tensor[i] = (struct npu_calib_tensor){ .dtype = NPU_F32, .rank = 4,
						       .dims = d->picture[i].arr.dims,
						       .data = d->picture[i].arr.data };
		sample[i] = (struct npu_calib_sample){ &tensor[i], 1 };
	}
	q.samples = sample;
	q.num_samples = SAMPLES;
	q.method = NPU_CALIB_MINMAX;
	q.budget = NPU_BUDGET_SPEED;
	q.budget_value = 1;
	o.precision = !strcmp(how, "f32") ? NPU_PRECISION_F32 : NPU_PRECISION_F16;
	o.quant = !strcmp(how, "int8") ? &q : NULL;
	o.shapes = &d->c->shape;
	o.num_shapes = d->c->shape ? 1 : 0;
	o.input_formats = &text;
	o.num_input_formats = text ? 1 : 0;
	if (npu_compile_onnx(d->model, d->size, "model.onnx", &o, &r))
		tap_diag("%s", r ? npu_compile_messages(r) : "no result");
	return r;
}

/* All outputs for the frame, or for its picture. */
static int run(const struct data *d, const struct npu_compile_result *r, bool frame,
	       struct named_array *out, int max)
{
	struct runner job;
	size_t size;
	const void *data = r ? npu_compile_job(r, &size) : NULL;
	struct npu_error err;
	int n = -1;

	if (!data || runner_open(&job, data, size))
		return -1;
	if (frame &&
	    npu_run_write_image(job.run, d->c->input, d->frame, frame_bytes(&d->spec), &err))
		tap_diag("%s", err.text);
	else
		n = runner_run(&job, d->picture, frame ? 0 : 1, out, max);
	if (n < 0)
		tap_diag("%s", job.why);
	runner_close(&job);
	return n;
}

static void test_precision(const struct data *d, const char *how)
{
	const struct npu_compile_summary *a, *b;
	struct named_array got[8], want[8];
	struct npu_compile_result *plain, *camera;
	char text[600];
	unsigned int fills;
	int n, m, same = 0;

	n = snprintf(text, sizeof(text), "%s=", d->c->input);
	frame_text(&d->spec, text + n, sizeof(text) - (size_t)n);
	plain = compile(d, how, NULL);
	camera = compile(d, how, text);
	n = run(d, plain, false, want, 8);
	m = run(d, camera, true, got, 8);
	for (int i = 0; i < n && i < m; i++)
		same += got[i].arr.count == want[i].arr.count &&
			!memcmp(got[i].arr.data, want[i].arr.data, want[i].arr.count * 4);
	tap_ok(n > 0 && m == n && same == n, "%s, %s: %d of %d outputs are those of the picture",
	       d->c->file, how, same, n);
	a = npu_compile_summary(plain);
	b = npu_compile_summary(camera);
	/* the conversion, borders, and in int8 no rounding of floats to codes */
	fills = !strcmp(d->c->fit, "letterbox") ? 2 : 0;
	tap_ok(b->copies <= a->copies && b->insns == a->insns + fills + !!strcmp(how, "int8"),
	       "%u instructions, %u without the frame", b->insns, a->insns);
	for (int i = 0; i < n; i++)
		npu_npy_free(&want[i].arr);
	for (int i = 0; i < m; i++)
		npu_npy_free(&got[i].arr);
	npu_compile_result_free(plain);
	npu_compile_result_free(camera);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct data d = { .c = &cases[i] };

		if (load(&d)) {
			test_precision(&d, "f32");
			test_precision(&d, "f16");
			test_precision(&d, "int8");
		}
		unload(&d);
	}
	return tap_done();
}
