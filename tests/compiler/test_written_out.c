// SPDX-License-Identifier: MIT
/*
 * Operators that the compiler writes out as several nodes: windows over three dimensions, the place
 * of a maximum, norms of windows, tuples of indices, the kinds of Resize that the instruction
 * lacks. Random models, each of which has to be on the NPU as a whole, in f32.
 *
 * --write DIR COUNT: write COUNT models of every operator, their inputs and what came out, for
 * tests/ort/ort_cases.js to hold against ONNX Runtime.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "quant_case.h"
#include "tap.h"

#define MAX_SPATIAL 3

/* A case being made: the line grows with every attribute. */
struct draft {
	struct ob b;
	struct named_array in[3];
	int num_in;
	uint32_t seed;
	char line[600];
};

__attribute__((format(printf, 2, 3))) static void add(struct draft *d, const char *fmt, ...)
{
	size_t at = strlen(d->line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->line + at, sizeof(d->line) - at, fmt, ap);
	va_end(ap);
}

static int64_t pick(struct draft *d, int64_t low, int64_t high)
{
	return low + (int64_t)quant_random(&d->seed, (uint32_t)(high - low + 1));
}

/* Input @name; @coarse: values that are often equal. */
static void input(struct draft *d, const char *name, int rank, const int64_t *dims, bool coarse)
{
	struct named_array *a = &d->in[d->num_in++];

	snprintf(a->name, sizeof(a->name), "%s", name);
	if (array_alloc(&a->arr, NPU_NPY_F32, rank, dims))
		exit(1);
	array_random(&a->arr, d->seed, -1, 1);
	for (size_t i = 0; coarse && i < a->arr.count; i++)
		((float *)a->arr.data)[i] = rintf(((float *)a->arr.data)[i] * 4);
	ob_input(&d->b, name, 1, rank, dims);
}

static void indices(struct draft *d, const char *name, int rank, const int64_t *dims,
		    const int64_t *size)
{
	struct named_array *a = &d->in[d->num_in++];
	int64_t depth = dims[rank - 1];

	snprintf(a->name, sizeof(a->name), "%s", name);
	if (array_alloc(&a->arr, NPU_NPY_I64, rank, dims))
		exit(1);
	for (size_t i = 0; i < a->arr.count; i++) {
		int64_t n = size[i % (size_t)depth];

		((int64_t *)a->arr.data)[i] = pick(d, -n, n - 1);
	}
	ob_input(&d->b, name, 7, rank, dims);
}

static void list(struct draft *d, const char *name, const int64_t *v, int count)
{
	add(d, " %s=[", name);
	for (int i = 0; i < count; i++)
		add(d, "%s%lld", i ? "," : "", (long long)v[i]);
	add(d, "]");
}

struct window {
	int spatial;
	int64_t in[MAX_SPATIAL], kernel[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL];
	int64_t pad[2 * MAX_SPATIAL];
};

/* A window that fits; padding is less than the kernel's first step. */
static void window(struct draft *d, struct window *w, int spatial, bool dilated)
{
	w->spatial = spatial;
	for (int i = 0; i < spatial; i++) {
		w->kernel[i] = pick(d, 1, 3);
		w->stride[i] = pick(d, 1, 3);
		w->dilation[i] = dilated ? pick(d, 1, 2) : 1;
		w->pad[i] = pick(d, 0, w->kernel[i] - 1);
		w->pad[spatial + i] = pick(d, 0, w->kernel[i] - 1);
		w->in[i] = (w->kernel[i] - 1) * w->dilation[i] + pick(d, 1, 5);
	}
}

static void window_text(struct draft *d, const struct window *w, bool dilated)
{
	list(d, "kernel_shape", w->kernel, w->spatial);
	list(d, "strides", w->stride, w->spatial);
	list(d, "pads", w->pad, 2 * w->spatial);
	if (dilated)
		list(d, "dilations", w->dilation, w->spatial);
}

static void picture(struct draft *d, const struct window *w, int64_t channels, bool coarse)
{
	int64_t dims[2 + MAX_SPATIAL] = { pick(d, 1, 2), channels };

	memcpy(&dims[2], w->in, sizeof(w->in));
	input(d, "x", 2 + w->spatial, dims, coarse);
}

static void make_conv(struct draft *d, bool transposed)
{
	int64_t group = pick(d, 1, 2), per = pick(d, 1, 3), outs = pick(d, 1, 4), dims[5];
	bool bias = pick(d, 0, 1);
	struct window w;

	window(d, &w, 3, true);
	if (!pick(d, 0, 4)) /* over the depth alone */
		for (int i = 1; i < 3; i++)
			w.kernel[i] = w.stride[i] = 1, w.pad[i] = w.pad[3 + i] = 0;
	/* what is cut off must not be all there is */
	for (int i = 0; i < 3 && transposed; i++)
		w.pad[i] = w.pad[3 + i] = pick(d, 0, (w.kernel[i] - 1) * w.dilation[i] / 2);
	picture(d, &w, group * per, false);
	dims[0] = transposed ? group * per : group * outs;
	dims[1] = transposed ? outs : per;
	memcpy(&dims[2], w.kernel, sizeof(w.kernel));
	free(ob_random(&d->b, "w", 5, dims));
	if (bias)
		free(ob_random(&d->b, "b", 1, OB_DIMS(group * outs)));
	add(d, "y = %s(x, w%s) group=%lld", transposed ? "ConvTranspose" : "Conv",
	    bias ? ", b" : "", (long long)group);
	window_text(d, &w, true);
}

static void make_conv3(struct draft *d)
{
	make_conv(d, false);
}

static void make_conv_transpose3(struct draft *d)
{
	make_conv(d, true);
}

static void make_max_pool3(struct draft *d)
{
	struct window w;

	window(d, &w, 3, true);
	picture(d, &w, pick(d, 1, 3), true);
	add(d, "y = MaxPool(x) ceil_mode=%lld", (long long)pick(d, 0, 1));
	window_text(d, &w, true);
}

static void make_average_pool3(struct draft *d)
{
	struct window w;

	bool include = pick(d, 0, 1);

	window(d, &w, 3, false);
	/* ONNX Runtime counts with the padding of another side then */
	for (int i = 0; i < 6 && include; i++)
		w.pad[i] = w.kernel[0] > 1 && w.kernel[1] > 1 && w.kernel[2] > 1;
	picture(d, &w, pick(d, 1, 3), false);
	add(d, "y = AveragePool(x) count_include_pad=%d", include);
	window_text(d, &w, false);
}

static void make_max_pool_indices(struct draft *d)
{
	struct window w;

	window(d, &w, (int)pick(d, 1, 2), true);
	picture(d, &w, pick(d, 1, 3), true);
	add(d, "m, y = MaxPool(x) ceil_mode=%lld storage_order=%lld", (long long)pick(d, 0, 1),
	    (long long)(w.spatial == 2 ? pick(d, 0, 1) : 0));
	window_text(d, &w, true);
}

static void make_lp_pool(struct draft *d)
{
	struct window w;

	window(d, &w, (int)pick(d, 1, 2), false);
	picture(d, &w, pick(d, 1, 3), false);
	add(d, "y = LpPool(x) p=%lld", (long long)pick(d, 1, 3));
	window_text(d, &w, false);
}

static void make_gather_nd(struct draft *d)
{
	int rank = (int)pick(d, 2, 4), batch = (int)pick(d, 0, 1),
	    depth = (int)pick(d, 1, rank - batch), n = 0;
	int64_t dims[4], tuple[4];

	for (int i = 0; i < rank; i++)
		dims[i] = pick(d, 1, 5);
	input(d, "x", rank, dims, false);
	if (batch)
		tuple[n++] = dims[0];
	tuple[n++] = pick(d, 1, 4);
	if (pick(d, 0, 1))
		tuple[n++] = pick(d, 1, 3);
	tuple[n++] = depth;
	indices(d, "i", n, tuple, dims + batch);
	add(d, "y = GatherND(x, i) batch_dims=%d", batch);
}

static void make_scatter_nd(struct draft *d)
{
	static const char *const reductions[] = { "none", "add", "mul", "min", "max" };
	int rank = (int)pick(d, 1, 4), depth = (int)pick(d, 1, rank), how = (int)pick(d, 0, 4),
	    n = 0;
	int64_t dims[4], tuple[2], updates[5];

	for (int i = 0; i < rank; i++)
		dims[i] = pick(d, 1, 5);
	input(d, "x", rank, dims, false);
	/* with the same place twice the order would matter */
	tuple[0] = how ? pick(d, 1, 6) : 1;
	tuple[1] = depth;
	indices(d, "i", 2, tuple, dims);
	updates[n++] = tuple[0];
	for (int i = depth; i < rank; i++)
		updates[n++] = dims[i];
	input(d, "u", n, updates, false);
	add(d, "y = ScatterND(x, i, u) reduction='%s'", reductions[how]);
}

/* Coordinates and kernels that the instruction lacks. */
static void make_resize(struct draft *d)
{
	static const char *const modes[] = { "nearest", "linear", "cubic" };
	int64_t dims[4] = { 1, pick(d, 1, 3), pick(d, 3, 9), pick(d, 3, 9) };
	int64_t sizes[4] = { dims[0], dims[1], pick(d, 1, 14), pick(d, 1, 14) };
	int kind = (int)pick(d, 0, 2), mode = (int)pick(d, kind == 1, 2);
	/* ONNX Runtime wants the region of all dimensions, the standard that of the axes */
	int axes = kind && pick(d, 0, 1), first = axes ? 2 : 0, count = 4 - first;
	int kept = (int)pick(d, 0, 2);	/* 1: not larger, 2: not smaller */
	float roi[8] = { 0 };

	for (int i = 0; i < count; i++) {
		int at = first + i;
		bool cut = at >= 2;

		/* or ONNX Runtime does not crop */
		sizes[at] += cut && sizes[at] == dims[at];
		roi[i] = cut ? (float)pick(d, -2, 4) / 10 : 0;
		roi[count + i] = cut ? (float)pick(d, 6, 12) / 10 : 1;
	}
	input(d, "x", 4, dims, false);
	ob_const(&d->b, "roi", 1, 1, OB_DIMS(2 * count), roi, 2 * (size_t)count * sizeof(*roi));
	ob_const(&d->b, "sizes", 7, 1, OB_DIMS(count), sizes + first,
		 (size_t)count * sizeof(*sizes));
	add(d, "y = Resize(x, %s, , sizes) mode='%s'", kind ? "" : "roi", modes[mode]);
	if (kind == 0)
		add(d,
		    " coordinate_transformation_mode='tf_crop_and_resize' extrapolation_value=2.5");
	else if (kind == 1)
		add(d, " antialias=1");
	else
		add(d, " coordinate_transformation_mode='half_pixel_symmetric'");
	if (axes)
		add(d, " axes=[2,3]");
	if (axes && kind == 2 && kept)
		add(d, " keep_aspect_ratio_policy='not_%s'", kept == 1 ? "larger" : "smaller");
}

static const struct {
	const char *name;
	void (*make)(struct draft *d);
} makers[] = {
	{ "Conv3", make_conv3 },
	{ "ConvTranspose3", make_conv_transpose3 },
	{ "MaxPool3", make_max_pool3 },
	{ "AveragePool3", make_average_pool3 },
	{ "MaxPoolIndices", make_max_pool_indices },
	{ "LpPool", make_lp_pool },
	{ "GatherND", make_gather_nd },
	{ "ScatterND", make_scatter_nd },
	{ "Resize", make_resize },
};

#define NUM_MAKERS (sizeof(makers) / sizeof(makers[0]))

/* Compile for the NPU alone and run; 0 or a negative errno. */
static int run_case(const uint8_t *model, size_t size, const struct draft *d, struct npu_npy *out)
{
	struct npu_compile_options options;
	struct npu_compile_result *result = NULL;
	struct named_array outs[1];
	struct runner r = { .queue = NULL };
	size_t job_size;
	const void *job;
	int err, n = 0;

	npu_compile_options_init(&options);
	options.precision = NPU_PRECISION_F32;
	options.fail_on_host = true;
	err = npu_compile_onnx(model, size, NULL, &options, &result);
	if (err) {
		tap_diag("%s", result ? npu_compile_messages(result) : "no memory");
		npu_compile_result_free(result);
		return err;
	}
	job = npu_compile_job(result, &job_size);
	err = runner_open(&r, job, job_size);
	if (!err)
		n = runner_run(&r, d->in, d->num_in, outs, 1);
	if (err || n != 1)
		tap_diag("%s", r.why);
	runner_close(&r);
	npu_compile_result_free(result);
	if (n == 1)
		*out = outs[0].arr;
	return err ? err : n == 1 ? 0 : -EINVAL;
}

static bool dump(const char *dir, const char *name, const uint8_t *model, size_t size,
		 const struct draft *d, const struct npu_npy *out)
{
	struct npu_error why = { 0 };
	char path[600];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.onnx", dir, name);
	f = fopen(path, "wb");
	ok = f && fwrite(model, 1, size, f) == size;
	if (f)
		fclose(f);
	for (int i = 0; i < d->num_in; i++) {
		snprintf(path, sizeof(path), "%s/%s.%s.npy", dir, name, d->in[i].name);
		ok &= !npu_npy_write(path, &d->in[i].arr, &why);
	}
	snprintf(path, sizeof(path), "%s/%s.out.npy", dir, name);
	return ok & !npu_npy_write(path, out, &why);
}

/* Make case @number of an operator, run it, and with @dir write it there. */
static bool one_case(size_t k, unsigned int number, const char *dir)
{
	struct draft d = { .seed = number * 7919 + (uint32_t)k + 1 };
	struct npu_npy out = { 0 };
	char name[80];
	uint8_t *model;
	size_t size;
	bool ok;

	ob_init(&d.b, 19);
	makers[k].make(&d);
	ob_node(&d.b, d.line);
	ob_output(&d.b, "y");
	model = ob_finish(&d.b, &size);
	snprintf(name, sizeof(name), "%s.0.%04u", makers[k].name, number);
	ok = !run_case(model, size, &d, &out);
	if (ok && dir)
		ok = dump(dir, name, model, size, &d, &out);
	if (!ok)
		tap_diag("%s: %s", name, d.line);
	npu_npy_free(&out);
	for (int i = 0; i < d.num_in; i++)
		npu_npy_free(&d.in[i].arr);
	free(model);
	return ok;
}

int main(int argc, char **argv)
{
	const char *dir = argc == 4 && !strcmp(argv[1], "--write") ? argv[2] : NULL;
	unsigned int count = dir ? (unsigned int)atoi(argv[3]) : 50;

	for (size_t k = 0; k < NUM_MAKERS; k++) {
		unsigned int good = 0;

		for (unsigned int i = 0; i < count; i++)
			good += one_case(k, i, dir);
		tap_ok(good == count, "%s: %u of %u random models are on the NPU", makers[k].name,
		       good, count);
	}
	return tap_done();
}
