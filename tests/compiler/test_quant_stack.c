// SPDX-License-Identifier: MIT
/*
 * Samples stacked in one tensor: the job is, byte by byte, that of the same samples one by one,
 * from memory and from files; what could be meant in two ways is refused.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/onnx_lines.h"
#include "common/tmp.h"
#include "run_job.h"
#include "tap.h"
#include "tools/common/calib.h"

#define SAMPLES	5
#define ELEMS	(3 * 16 * 12)

static float pixels[SAMPLES * ELEMS], gains[SAMPLES];

/* Two convolutions; with @two a second input that scales the picture. */
static uint8_t *build(bool open_batch, bool two, size_t *size)
{
	struct ob b;

	ob_init(&b, 14);
	ob_input(&b, "x", 1, 4, OB_DIMS(open_batch ? -1 : 1, 3, 16, 12));
	if (two)
		ob_input(&b, "gain", 1, 1, OB_DIMS(1));
	free(ob_random(&b, "w1", 4, OB_DIMS(8, 3, 3, 3)));
	free(ob_random(&b, "w2", 4, OB_DIMS(8, 8, 3, 3)));
	ob_node(&b, two ? "m: a = Mul(x, gain)" : "m: a = Relu(x)");
	ob_node(&b, "c1: b = Conv(a, w1)");
	ob_node(&b, "r: c = Relu(b)");
	ob_node(&b, "c2: y = Conv(c, w2)");
	ob_output(&b, "y");
	return ob_finish(&b, size);
}

/* What is compiled: the model, its shape, and what calibrates it. */
struct attempt {
	bool open_batch, two;
	const char *shape[2];
	const struct npu_calib_sample *sample;
	unsigned int num_samples;
};

static struct npu_compile_result *compile(const struct attempt *a, int *err)
{
	struct npu_compile_result *r = NULL;
	struct npu_quant_options q;
	struct npu_compile_options o;
	size_t size;
	uint8_t *model = build(a->open_batch, a->two, &size);

	npu_quant_options_init(&q);
	q.samples = a->sample;
	q.num_samples = a->num_samples;
	npu_compile_options_init(&o);
	o.quant = &q;
	o.shapes = a->shape;
	o.num_shapes = !!a->shape[0] + !!a->shape[1];
	*err = npu_compile_onnx(model, size, "model.onnx", &o, &r);
	free(model);
	return r;
}

static struct npu_calib_tensor picture(const float *data, int rank, const int64_t *dims)
{
	return (struct npu_calib_tensor){ .name = "x", .dtype = NPU_F32, .rank = rank, .dims = dims,
					  .data = data };
}

static struct npu_calib_tensor gain(const float *data, int rank, const int64_t *dims)
{
	return (struct npu_calib_tensor){ .name = "gain", .dtype = NPU_F32, .rank = rank,
					  .dims = dims, .data = data };
}

/* One by one, which is what all others are compared with. */
static struct npu_compile_result *one_by_one(struct attempt a, int *err)
{
	static const int64_t dims[] = { 1, 3, 16, 12 };
	struct npu_calib_tensor t[SAMPLES][2];
	struct npu_calib_sample s[SAMPLES];

	for (unsigned int i = 0; i < SAMPLES; i++) {
		t[i][0] = picture(pixels + (size_t)i * ELEMS, 4, dims);
		t[i][1] = gain(gains + i, 1, dims);
		s[i] = (struct npu_calib_sample){ t[i], a.two ? 2 : 1 };
	}
	a.sample = s;
	a.num_samples = SAMPLES;
	return compile(&a, err);
}

static void same_job(const struct attempt *a, const char *what)
{
	int err[2];
	struct npu_compile_result *got = compile(a, &err[0]), *want = one_by_one(*a, &err[1]);
	size_t size[2] = { 0, 1 };
	const void *job[2] = { npu_compile_job(got, &size[0]), npu_compile_job(want, &size[1]) };
	bool same = !err[0] && !err[1] && size[0] == size[1] && !memcmp(job[0], job[1], size[0]);

	if (!tap_ok(same, "%s: the job of %d samples", what, SAMPLES))
		tap_diag("%s%s", npu_compile_messages(got), npu_compile_messages(want));
	npu_compile_result_free(got);
	npu_compile_result_free(want);
}

static void refused(const struct attempt *a, const char *word, const char *word2)
{
	int err;
	struct npu_compile_result *r = compile(a, &err);
	const char *text = npu_compile_messages(r);

	tap_ok(err == -EINVAL && strstr(text, word) && strstr(text, word2), "refused: %.*s",
	       (int)strcspn(text, "\n"), text);
	npu_compile_result_free(r);
}

/* ---- from memory ----------------------------------------------------------------------------- */

static void test_stacks(void)
{
	struct npu_calib_tensor batch = picture(pixels, 4, OB_DIMS(SAMPLES, 3, 16, 12)),
				front = picture(pixels, 5, OB_DIMS(SAMPLES, 1, 3, 16, 12)),
				part = picture(pixels, 4, OB_DIMS(2, 3, 16, 12)),
				rest = picture(pixels + 2 * ELEMS, 4,
					       OB_DIMS(SAMPLES - 2, 3, 16, 12));
	struct npu_calib_sample s = { &batch, 1 }, f = { &front, 1 },
				parts[2] = { { &part, 1 }, { &rest, 1 } };
	struct attempt a = { .sample = &s, .num_samples = 1 };

	same_job(&a, "along the batch");
	a.open_batch = true;
	a.shape[0] = "x=1x3x16x12";
	same_job(&a, "along the batch that --shape makes 1");
	a.sample = &f;
	same_job(&a, "along a dimension of their own");
	a.shape[0] = "x={N=1..4}x3x16x12";
	same_job(&a, "along a dimension of their own, beside a batch that runs choose");
	a = (struct attempt){ .sample = parts, .num_samples = 2 };
	same_job(&a, "in two stacks");
}

/* A batch that runs choose: then eight pictures are one sample, like eight in a fixed batch. */
static void test_batches(void)
{
	struct npu_calib_tensor t = picture(pixels, 4, OB_DIMS(SAMPLES, 3, 16, 12));
	struct npu_calib_sample s = { &t, 1 };
	struct attempt a = { .open_batch = true, .shape = { "x={N=1..8}x3x16x12" }, .sample = &s,
			     .num_samples = 1 };
	static const char *const shapes[] = { "x={N=1..8}x3x16x12", "x=5x3x16x12" };
	int err;

	for (int i = 0; i < 2; i++) {
		struct npu_compile_result *r;

		a.shape[0] = shapes[i];
		r = compile(&a, &err);
		tap_ok(!err && strstr(npu_compile_report_text(r), "over 1 samples"),
		       "%s: %d pictures are one sample", shapes[i], SAMPLES);
		npu_compile_result_free(r);
	}
	a.shape[0] = "x={N=1..4}x3x16x12";
	t.source = "stack.npy";
	refused(&a, "sample 0 (stack.npy), input 'x': the first dimension is 5", "not clear");
	a.shape[1] = "x=1x3x16x12";
	refused(&a, "sample 0 (stack.npy), input 'x': the first dimension is 5", "not clear");
	a.shape[1] = "x=5x3x16x12";
	tap_ok((npu_compile_result_free(compile(&a, &err)), !err),
	       "a batch of one of two programs is one sample");
}

static void test_inputs(void)
{
	struct npu_calib_tensor t[2] = { picture(pixels, 5, OB_DIMS(SAMPLES, 1, 3, 16, 12)),
					 gain(gains, 1, OB_DIMS(SAMPLES)) };
	struct npu_calib_sample s = { t, 2 };
	struct attempt a = { .two = true, .sample = &s, .num_samples = 1 };

	same_job(&a, "of two inputs");
	t[1].dims = OB_DIMS(SAMPLES - 1);
	refused(&a, "5 samples of input 'x'", "4 of 'gain'");
	t[1].dims = OB_DIMS(1);
	refused(&a, "5 samples of input 'x'", "1 of 'gain'");
	t[1].dims = OB_DIMS(SAMPLES);
	t[0].dims = OB_DIMS(0, 1, 3, 16, 12);
	refused(&a, "the first dimension is 0", "expected 1 to");
	t[0].dims = OB_DIMS(200000, 1, 3, 16, 12);
	refused(&a, "the first dimension is 200000", "expected 1 to");
	t[0].dims = OB_DIMS(SAMPLES, 1, INT64_MAX / 2, INT64_MAX / 2, 12);
	refused(&a, "does not fit", "sample 0");
	t[0].dims = OB_DIMS(SAMPLES, 1, 3, 12, 16);
	refused(&a, "sample 0, input 'x': shape [1,3,12,16]", "expected [1,3,16,12]");
	t[0].dims = OB_DIMS(SAMPLES, 2, 3, 16, 12);
	refused(&a, "sample 0, input 'x': shape [2,3,16,12]", "expected [1,3,16,12]");
}

/* ---- from files ------------------------------------------------------------------------------ */

static void save(const char *name, const float *data, int rank, const int64_t *dims)
{
	struct npu_npy arr = { .type = NPU_NPY_F32, .rank = rank, .data = (void *)(uintptr_t)data };
	struct npu_error why;
	char path[PATH_MAX];

	for (int i = 0; i < rank; i++)
		arr.dims[i] = dims[i];
	snprintf(path, sizeof(path), "%.3000s/%s", tmp_folder(), name);
	if (npu_npy_write(path, &arr, &why)) {
		tap_diag("%s", why.text);
		exit(1);
	}
}

/* The samples of --calib options, which are names in the test's folder. */
static void from_files(bool two, const char *first, const char *second, const char *what)
{
	char path[2][PATH_MAX];
	const char *list[2] = { path[0], path[1] }, *names[2] = { first, second };
	struct attempt a = { .two = two };
	struct calib_set set;
	struct npu_error why = { 0 };

	for (int i = 0; i < 2 && names[i]; i++) {
		const char *equals = strchr(names[i], '=');

		snprintf(path[i], sizeof(path[i]), "%.*s%.3000s/%s",
			 equals ? (int)(equals + 1 - names[i]) : 0, names[i], tmp_folder(),
			 equals ? equals + 1 : names[i]);
	}
	if (!tap_ok(!calib_load(&set, list, second ? 2 : 1, &why), "%s: loaded", what))
		tap_diag("%s", why.text);
	a.sample = set.sample;
	a.num_samples = set.num_samples;
	if (strncmp(what, "not", 3))
		same_job(&a, what);
	else
		refused(&a, "x.npy), input 'x': shape", "expected [1,3,16,12]");
	calib_free(&set);
}

static void test_files(void)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.3000s/dir", tmp_folder());
	mkdir(folder, 0700);
	save("x.npy", pixels, 4, OB_DIMS(SAMPLES, 3, 16, 12));
	save("gain.npy", gains, 2, OB_DIMS(SAMPLES, 1));
	save("dir/a.npy", pixels, 4, OB_DIMS(2, 3, 16, 12));
	save("dir/b.npy", pixels + 2 * ELEMS, 5, OB_DIMS(SAMPLES - 2, 1, 3, 16, 12));
	from_files(false, "x.npy", NULL, "a file");
	from_files(false, "dir", NULL, "a folder of two files");
	from_files(true, "x=x.npy", "gain=gain.npy", "a file for each of two inputs");
	save("x.npy", pixels, 4, OB_DIMS(SAMPLES, 3, 12, 16));
	from_files(false, "x.npy", NULL, "not of its shape");
}

int main(void)
{
	for (size_t i = 0; i < SAMPLES * ELEMS; i++)
		pixels[i] = ob_noise(7, (uint32_t)i) + (i % 5 ? 0.0f : 0.3f);
	for (size_t i = 0; i < SAMPLES; i++)
		gains[i] = 0.5f + 0.2f * (float)i;
	test_stacks();
	test_batches();
	test_inputs();
	test_files();
	return tap_done();
}
