// SPDX-License-Identifier: MIT
/*
 * Real models, compiled and run in process, against ONNX Runtime in fp32: f16 jobs within 5e-3 and
 * f32 jobs within 1e-4 of the largest value of each output, and every multiply-accumulate on the
 * NPU. One dynamic job is run at several sizes. With arguments: only models whose name contains one
 * of them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tmp.h"
#include "ort_run.h"
#include "tap.h"
#include "tools/common/file.h"
#include "tools/common/image.h"

#define MAX_OUT	16

/* A picture, or a part of it, resized to the input. */
struct picture {
	const char *file;			/* NULL: random values */
	int x, y, width, height;		/* width 0: all of it */
	struct npu_image_norm norm;
};

struct model_case {
	const char *file, *input;
	const char *shape;			/* for the compiler, NULL: in the model */
	int64_t dims[3][4];			/* shapes to run, rank 4; zeros end the list */
	struct picture picture;
	bool nhwc;
	bool large;				/* f32 only in the long run */
};

#define TO_ONE	{ { 0.5f, 0.5f, 0.5f }, { 0.5f, 0.5f, 0.5f }, 0 }
#define IMAGENET { { 0.485f, 0.456f, 0.406f }, { 0.229f, 0.224f, 0.225f }, 1 }
#define NOISE	{ NULL, 0, 0, 0, 0, TO_ONE }
#define LINE	{ "imageTextN.png", 25, 15, 330, 19, TO_ONE }
#define PAGE	{ "imageTextN.png", 0, 0, 0, 0, IMAGENET }
#define FACE	{ "astronaut.png", 120, 20, 220, 220, TO_ONE }
#define PERSON	{ "astronaut.png", 0, 0, 0, 0, TO_ONE }

static const struct model_case cases[] = {
	{ "mnist-8", "Input3", NULL, { { 1, 1, 28, 28 } }, NOISE, false, false },
	{ "cls", "x", "x=1x3x48x192", { { 1, 3, 48, 192 } }, LINE, false, false },
	{ "blazeface_front", "input:0", NULL, { { 1, 128, 128, 3 } }, PERSON, true, false },
	{ "blazeface_back", "input:0", NULL, { { 1, 256, 256, 3 } }, PERSON, true, false },
	{ "fr_landmark", "input", NULL, { { 1, 1, 64, 64 } }, NOISE, false, false },
	{ "fr_detect", "input", NULL, { { 1, 3, 240, 320 } }, PERSON, false, false },
	{ "fr_feature", "input", NULL, { { 1, 3, 112, 112 } }, FACE, false, false },
	{ "rec", "x", "x=1x3x48x320", { { 1, 3, 48, 320 } }, LINE, false, false },
	{ "rec",
	  "x",
	  "x=1x3x48x{W=64..960:8}",
	  { { 1, 3, 48, 832 }, { 1, 3, 48, 64 }, { 1, 3, 48, 584 } },
	  LINE,
	  false,
	  true },
	{ "det",
	  "x",
	  "x=1x3x{H=32..640:32}x{W=32..640:32}",
	  { { 1, 3, 288, 576 }, { 1, 3, 96, 192 }, { 1, 3, 640, 640 } },
	  PAGE,
	  false,
	  true },
	/* A batch as well: the second picture and on are noise. */
	{ "cls",
	  "x",
	  "x={N=1..4}x3x48x192",
	  { { 1, 3, 48, 192 }, { 3, 3, 48, 192 } },
	  LINE,
	  false,
	  true },
	{ "rec",
	  "x",
	  "x={N=1..4}x3x48x{W=64..320:8}",
	  { { 2, 3, 48, 200 }, { 4, 3, 48, 64 } },
	  LINE,
	  false,
	  true },
	{ "det",
	  "x",
	  "x={N=1..2}x3x{H=32..160:32}x{W=32..160:32}",
	  { { 2, 3, 96, 160 }, { 1, 3, 128, 160 } },
	  PAGE,
	  false,
	  true },
};

static const char *models_dir(void)
{
	const char *s = getenv("NPU_MODELS");

	return s ? s : "build/models";
}

/* Each output beside ONNX Runtime's. */
static void compare_outputs(const struct model_case *c, const char *what,
			    const struct named_array *out, int n, double limit)
{
	for (int i = 0; i < n; i++) {
		struct npu_npy want = { 0 };
		struct npu_error why;
		struct difference d;

		if (ort_output(tmp_folder(), out[i].name, &want, &why)) {
			tap_ok(0, "%s %s output %s: %s", c->file, what, out[i].name, why.text);
			continue;
		}
		array_compare(&out[i].arr, &want, &d);
		tap_ok(d.rms <= limit * d.top && d.max <= limit * d.top,
		       "%s %s output %s: off by %.2e, rms %.2e of %.3g", c->file, what, out[i].name,
		       d.max / d.top, d.rms / d.top, d.top);
		npu_npy_free(&want);
	}
}

static int load_picture(const struct picture *p, int width, int height, struct npu_image *out,
			struct npu_error *why)
{
	struct npu_image whole = { 0 }, part = { 0 };
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/%s", models_dir(), p->file);
	err = npu_image_load(path, &whole, why);
	if (!err)
		err = npu_image_cut(&whole, p->x, p->y, p->width ? p->width : whole.width,
				    p->height ? p->height : whole.height, &part, why);
	if (!err)
		err = npu_image_resize(&part, width, height, out, why);
	npu_image_free(&whole);
	npu_image_free(&part);
	return err;
}

static int fill_input(const struct model_case *c, const int64_t *dims, float *data,
		      struct npu_error *why)
{
	int rows = (int)dims[c->nhwc ? 1 : 2], cols = (int)dims[c->nhwc ? 2 : 3];
	size_t plane = (size_t)rows * (size_t)cols;
	struct npu_image img = { 0 };
	float *planes = calloc(3 * plane, sizeof(*planes));
	int err = planes ? load_picture(&c->picture, cols, rows, &img, why) : -ENOMEM;

	if (!err)
		err = npu_image_to_nchw(&img, &c->picture.norm, rows, cols, 0, planes);
	for (size_t i = 0; i < 3 * plane && !err; i++)
		data[i] = c->nhwc ? planes[i % 3 * plane + i / 3] : planes[i];
	npu_image_free(&img);
	free(planes);
	return err;
}

static int make_input(const struct model_case *c, const int64_t *dims, struct named_array *in)
{
	struct npu_error why = { 0 };
	int err;

	snprintf(in->name, sizeof(in->name), "%s", c->input);
	if (array_alloc(&in->arr, NPU_NPY_F32, 4, dims))
		return -ENOMEM;
	array_random(&in->arr, 7, -1, 1);
	err = c->picture.file ? fill_input(c, dims, in->arr.data, &why) : 0;
	if (err)
		tap_diag("%s", why.text);
	return err;
}

static int compile_model(const struct model_case *c, const uint8_t *model, size_t size,
			 enum npu_precision precision, struct npu_compile_result **result)
{
	struct npu_compile_options options;
	int err;

	npu_compile_options_init(&options);
	options.precision = precision;
	options.shapes = &c->shape;
	options.num_shapes = c->shape != NULL;
	err = npu_compile_onnx(model, size, c->file, &options, result);
	if (!tap_ok(!err, "%s compiles for %s%s%s", c->file,
		    precision == NPU_PRECISION_F16 ? "f16" : "f32", c->shape ? ", " : "",
		    c->shape ? c->shape : ""))
		tap_diag("%s", *result ? npu_compile_messages(*result) : strerror(-err));
	return err;
}

static void check_summary(const struct model_case *c, const struct npu_compile_result *r)
{
	const struct npu_compile_summary *s = npu_compile_summary(r);

	tap_ok(s->macs && s->npu_macs == s->macs && !s->count[NPU_PLACE_REFUSED],
	       "%s: all of %.1f million MACs on the NPU", c->file, (double)s->macs / 1e6);
	tap_diag(
		"%u nodes, %u instructions, %u copies; weights %llu, scratch %llu (at least %llu), on-chip %llu bytes",
		s->nodes, s->insns, s->copies, (unsigned long long)s->weight_bytes,
		(unsigned long long)s->scratch_bytes, (unsigned long long)s->scratch_lower,
		(unsigned long long)s->sram_bytes);
}

static void run_sizes(const struct model_case *c, struct npu_compile_result **result,
		      const char *path)
{
	static const double limit[] = { 5e-3, 1e-4 };
	static const char *const name[] = { "f16", "f32" };

	for (int k = 0; k < 3 && c->dims[k][0]; k++) {
		struct named_array in = { 0 }, out[MAX_OUT];
		char what[80];

		if (make_input(c, c->dims[k], &in) || ort_run(path, &in, 1, tmp_folder())) {
			tap_ok(0, "%s: ONNX Runtime runs", c->file);
			npu_npy_free(&in.arr);
			continue;
		}
		for (int p = 0; p < 2; p++) {
			struct runner r;
			size_t size;
			const void *job = result[p] ? npu_compile_job(result[p], &size) : NULL;
			int n = job ? runner_open(&r, job, size) : 0;

			if (!job)
				continue;
			if (!n)
				n = runner_run(&r, &in, 1, out, MAX_OUT);
			snprintf(what, sizeof(what), "%s at %lldx%lld", name[p],
				 (long long)c->dims[k][2], (long long)c->dims[k][3]);
			if (!tap_ok(n > 0, "%s %s runs", c->file, what))
				tap_diag("%s", r.why);
			compare_outputs(c, what, out, n, limit[p]);
			for (int i = 0; i < n; i++)
				npu_npy_free(&out[i].arr);
			runner_close(&r);
		}
		npu_npy_free(&in.arr);
	}
}

static void check_model(const struct model_case *c)
{
	struct npu_compile_result *result[2] = { NULL, NULL };
	struct npu_error why;
	uint8_t *model;
	size_t size;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s.onnx", models_dir(), c->file);
	if (npu_file_read(path, 1 << 30, &model, &size, &why)) {
		tap_ok(0, "%s", why.text);
		return;
	}
	for (int p = 0; p < 2; p++) {
		if (p && c->large && !tap_long())
			continue;
		if (!compile_model(c, model, size, p ? NPU_PRECISION_F32 : NPU_PRECISION_F16,
				   &result[p]))
			check_summary(c, result[p]);
	}
	run_sizes(c, result, path);
	for (int p = 0; p < 2; p++)
		npu_compile_result_free(result[p]);
	free(model);
}

static bool wanted(const char *file, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(file, argv[i]))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (wanted(cases[i].file, argc, argv))
			check_model(&cases[i]);
	return tap_done();
}
