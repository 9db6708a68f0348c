// SPDX-License-Identifier: MIT
/*
 * --input-format with crop=box: the device takes the boxes that a run is given, one for each
 * picture, and makes of each what the formula says, bit by bit; of boxes that reach out of the
 * frame, lie outside of it, are empty, wrong way round, or no numbers, too, without a fault. And
 * inputs of one channel.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frame_case.h"
#include "run_job.h"
#include "tap.h"

/* ---- boxes ----------------------------------------------------------------------------------- */

enum kind {
	INSIDE, ACROSS, OUTSIDE, EMPTY, POINT, REVERSED, NOT_A_NUMBER, INFINITE, HUGE_ONE, NUM_KINDS
};

static const char *const kind_names[NUM_KINDS] = {
	"inside the frame", "across its edge", "outside of it", "empty", "smaller than a pixel",
	"wrong way round", "not numbers", "infinite", "huge",
};

static float anywhere(int size)
{
	return (float)between(0, 16 * size) / 16;
}

static float one_of(int n, const float *v)
{
	return v[below(n)];
}

static void make_box(enum kind kind, int height, int width, float box[4])
{
	const int size[2] = { height, width };

	for (int i = 0; i < 2; i++) {
		float a = anywhere(size[i]), b = anywhere(size[i]);
		float lo = fminf(a, b), hi = fmaxf(a, b) + 1;

		if (kind == ACROSS) {
			lo -= (float)below(2 * size[i]);
			hi += (float)below(2 * size[i]);
		} else if (kind == OUTSIDE) {
			lo += one_of(4, (const float[]){ 1e3f, -1e3f, 1e9f, -1e9f });
			hi = lo + (float)between(1, 50);
		} else if (kind == EMPTY) {
			hi = lo;
		} else if (kind == POINT) {
			hi = lo + (float)between(1, 9) * 0.01f;
		} else if (kind == REVERSED) {
			float t = lo;

			lo = hi;
			hi = t;
		}
		box[i] = lo;
		box[2 + i] = hi;
	}
	if (kind == NOT_A_NUMBER)
		box[below(4)] = NAN;
	if (kind == INFINITE)
		box[below(4)] = below(2) ? INFINITY : -INFINITY;
	if (kind == HUGE_ONE)
		for (int i = 0; i < 4; i++)
			box[i] = one_of(4, (const float[]){ 3e38f, -3e38f, 1e20f, -1e20f });
}

/* ---- one job --------------------------------------------------------------------------------- */

/* The planes of @frame, and the boxes, as inputs; returns how many. */
static int make_inputs(const struct frame_spec *s, const struct frame_input *d, uint8_t *frame,
		       float *boxes, struct named_array in[3])
{
	int n = 0;

	memset(in, 0, 3 * sizeof(*in));
	for (; n < frame_planes(s); n++) {
		size_t row, rows;

		frame_plane(s, n, &row, &rows);
		snprintf(in[n].name, sizeof(in[n].name), n ? "x.uv" : "x");
		in[n].arr = (struct npu_npy){ .type = NPU_NPY_U8, .rank = 2, .count = row * rows,
					      .dims = { (int64_t)rows, (int64_t)row },
					      .data = frame };
		frame += row * rows;
	}
	if (!s->boxed)
		return n;
	snprintf(in[n].name, sizeof(in[n].name), "x.box");
	in[n].arr = (struct npu_npy){ .type = NPU_NPY_F32, .rank = 2,
				      .count = (size_t)d->pictures * 4,
				      .dims = { d->pictures, 4 }, .data = boxes };
	return n + 1;
}

static size_t check_pictures(const struct frame_spec *s, const struct frame_input *d,
			     const uint8_t *frame, const float *boxes, const float *y)
{
	float *want = malloc((size_t)d->height * (size_t)d->width * (size_t)d->channels * 4);
	size_t bad = 0;

	for (int i = 0; i < d->pictures; i++) {
		if (s->boxed)
			frame_cut(s, frame, boxes + 4 * i, d->height, d->width, d->type == 2, want);
		else
			frame_picture(s, frame, d->height, d->width, d->type == 2, want);
		bad += frame_differing(d, i, y, want);
		if (bad && s->boxed)
			tap_diag("box %g %g %g %g", (double)boxes[4 * i], (double)boxes[4 * i + 1],
				 (double)boxes[4 * i + 2], (double)boxes[4 * i + 3]);
	}
	free(want);
	return bad;
}

static bool try_job(const struct frame_spec *s, const struct frame_input *d, float *boxes)
{
	size_t size, job_size, bytes = frame_bytes(s), bad = 1;
	uint8_t *model = frame_mirror(d, &size), *frame = malloc(bytes);
	struct named_array in[3], out[1];
	struct npu_compile_result *r;
	struct runner run;
	const void *job;
	char text[600];

	frame_text(s, text, sizeof(text));
	frame_noise(frame, bytes, frame_seed);
	r = frame_compile(model, size, text);
	job = r ? npu_compile_job(r, &job_size) : NULL;
	if (!job) {
		tap_diag("%s: %s", text, r ? npu_compile_messages(r) : "no result");
	} else if (runner_open(&run, job, job_size) ||
		   runner_run(&run, in, make_inputs(s, d, frame, boxes, in), out, 1) != 1) {
		tap_diag("%s: %s", text, run.why);
		runner_close(&run);
	} else {
		bad = check_pictures(s, d, frame, boxes, out[0].arr.data);
		if (bad)
			tap_diag("%s: other bits", text);
		npu_npy_free(&out[0].arr);
		runner_close(&run);
	}
	npu_compile_result_free(r);
	free(frame);
	free(model);
	return !bad;
}

static void random_shape(struct frame_input *d)
{
	*d = (struct frame_input){ between(1, 3), between(1, 40), between(1, 40), below(3) ? 3 : 1,
			     below(4) ? 1 : 2, below(2) };
	/* not what is taken for channels */
	d->height = d->height == 3 || d->height == 1 ? 4 : d->height;
	d->width = d->width == 3 || d->width == 1 ? 5 : d->width;
}

static void random_spec(struct frame_spec *s, const char *format, const struct frame_input *d)
{
	bool even = !strstr(format, "24"), tall = format[0] == 'n';

	frame_default(s, format, between(4, 40) * (even ? 2 : 1), between(4, 40) * (tall ? 2 : 1));
	s->grey = d->channels == 1;
	frame_random_colours(s, d->type == 1 && below(2));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static int num_tries(void)
{
	return getenv("NPU_TEST_LONG") ? 400 : 24;
}

static void test_kinds(void)
{
	for (int k = 0; k < NUM_KINDS; k++) {
		int good = 0;

		for (int i = 0; i < num_tries(); i++) {
			struct frame_spec s;
			struct frame_input d;
			float boxes[12];

			random_shape(&d);
			random_spec(&s, frame_formats[i % FRAME_NUM_FORMATS], &d);
			s.boxed = true;
			for (int n = 0; n < d.pictures; n++)
				make_box((enum kind)k, s.height, s.width, boxes + 4 * n);
			good += try_job(&s, &d, boxes);
		}
		tap_ok(good == num_tries(), "boxes %s: %d of %d jobs give the bits of the formula",
		       kind_names[k], good, num_tries());
	}
}

/* A camera's frame, and the sizes that second stages have. */
static void test_sizes(void)
{
	static const struct frame_input inputs[] = { { 1, 64, 64, 1, 1, false },
						     { 1, 112, 112, 3, 1, false },
						     { 4, 192, 192, 3, 1, true } };

	for (int i = 0; i < 3; i++) {
		struct frame_spec s;
		float boxes[16];

		frame_default(&s, i == 1 ? "yuyv" : "nv12", 1280, 720);
		s.boxed = true;
		s.grey = inputs[i].channels == 1;
		for (int n = 0; n < inputs[i].pictures; n++)
			make_box(n % 2 ? ACROSS : INSIDE, 720, 1280, boxes + 4 * n);
		tap_ok(try_job(&s, &inputs[i], boxes), "1280x720 to %d of %dx%d",
		       inputs[i].pictures, inputs[i].height, inputs[i].width);
	}
}

/* Grey with all that has to do with a fixed part of the frame. */
static void test_grey(void)
{
	int good = 0;

	for (int i = 0; i < num_tries(); i++) {
		struct frame_spec s;
		struct frame_input d;

		random_shape(&d);
		d.pictures = d.channels = 1;
		random_spec(&s, frame_formats[i % FRAME_NUM_FORMATS], &d);
		s.fit = (const char *const[]){ "stretch", "letterbox", "crop" }[below(3)];
		good += try_job(&s, &d, NULL);
	}
	tap_ok(good == num_tries(), "grey: %d of %d pictures of the formula", good, num_tries());
}

static void test_refused(void)
{
	static const struct frame_input colours = { 1, 8, 8, 3, 1, false },
				  two = { 2, 8, 8, 3, 1, false }, grey = { 1, 8, 8, 1, 1, false },
				  four = { 1, 8, 8, 4, 1, false };
	static const struct {
		const struct frame_input *input;
		const char *text, *says;
	} cases[] = {
		{ &colours, "nv12:64x48,crop=box,fit=letterbox", "crop=box: the box is stretched" },
		{ &colours, "nv12:64x48,fit=crop,crop=box", "crop=box: the box is stretched" },
		{ &colours, "nv12:64x48,crop=boxes", "X:Y:WIDTH:HEIGHT, or box" },
		{ &colours, "nv12:64x48,crop=box:1", "X:Y:WIDTH:HEIGHT, or box" },
		{ &colours, "nv12:64x48,crop=box,crop=0:0:9:9", "crop is there twice" },
		{ &two, "nv12:64x48", "no picture of a known size, 1x3xHxW or 1xHxWx3 (1: grey)" },
		{ &four, "nv12:64x48,crop=box", "no picture of a known size, Nx3xHxW" },
		{ &grey, "nv12:64x48,order=bgr", "order: input 'x' has one channel" },
		{ &grey, "nv12:64x48,mean=1:2:3", "mean: input 'x' has one channel" },
		{ &grey, "nv12:64x48,std=1:1:2", "std: input 'x' has one channel" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t size;
		uint8_t *model = frame_mirror(cases[i].input, &size);

		frame_is_refused(model, size, cases[i].text, cases[i].says);
		free(model);
	}
}

int main(void)
{
	frame_seed = 7;
	test_kinds();
	test_sizes();
	test_grey();
	test_refused();
	return tap_done();
}
