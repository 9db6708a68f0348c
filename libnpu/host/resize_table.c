// SPDX-License-Identifier: MIT
/* Where the outputs along one axis of a Resize come from. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/resize.h"

static bool is_crop(const struct npu_resize_axis *a)
{
	return !strcmp(a->coordinates, "tf_crop_and_resize");
}

/*
 * In f32 like ONNX Runtime and RESIZE: which of two neighbours is nearer, and what lies outside, is
 * a matter of the last bit.
 */
static float position(const struct npu_resize_axis *a, float x)
{
	float in = (float)a->in, out = (float)a->out, scale = (float)a->scale;
	float start = (float)a->start, end = (float)a->end;
	const char *c = a->coordinates;

	if (!strcmp(c, "asymmetric"))
		return x / scale;
	if (!strcmp(c, "align_corners"))
		return out > 1 ? x * (in - 1) / (out - 1) : 0;
	if (!strcmp(c, "tf_half_pixel_for_nn"))
		return (x + 0.5f) / scale;
	if (!strcmp(c, "pytorch_half_pixel"))
		return out > 1 ? (x + 0.5f) / scale - 0.5f : 0;
	if (!strcmp(c, "half_pixel_symmetric"))
		return in / 2 * (1 - out / (scale * in)) + (x + 0.5f) / scale - 0.5f;
	if (is_crop(a) && out > 1)
		return start * (in - 1) + x * (end - start) * (in - 1) / (out - 1);
	if (is_crop(a))
		return 0.5f * (start + end) * (in - 1);
	return (x + 0.5f) / scale - 0.5f;
}

static double nearest(const struct npu_resize_axis *a, double x)
{
	if (!strcmp(a->nearest, "floor"))
		return floor(x);
	if (!strcmp(a->nearest, "ceil"))
		return ceil(x);
	return !strcmp(a->nearest, "round_prefer_ceil") ? floor(x + 0.5) : ceil(x - 0.5);
}

/* Weight at distance @t: a triangle, or Keys' cubic. */
static double kernel(const struct npu_resize_axis *r, double t)
{
	double a = r->cubic_a;

	t = fabs(t);
	if (r->mode == NPU_RESIZE_LINEAR)
		return t < 1 ? 1 - t : 0;
	if (t <= 1)
		return ((a + 2) * t - (a + 3)) * t * t + 1;
	return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

static int64_t clamp_index(double i, int64_t size)
{
	return i < 0 ? 0 : i > (double)(size - 1) ? size - 1 : (int64_t)i;
}

/* With antialias a reduction widens the kernel to what one output covers. */
static double squeeze(const struct npu_resize_axis *a)
{
	return a->antialias && a->mode != NPU_RESIZE_NEAREST && a->scale < 1 ? a->scale : 1;
}

static void fill_taps(const struct npu_resize_axis *a, double x, int64_t taps, int64_t *index,
		      double *weight)
{
	double s = squeeze(a), sum = 0, first;
	int64_t half = taps / 2, k;

	if (a->mode == NPU_RESIZE_NEAREST) {
		index[0] = clamp_index(nearest(a, x), a->in);
		weight[0] = 1;
		return;
	}
	first = floor(x) - (double)half + 1;
	for (k = 0; k < taps; k++) {
		double at = first + (double)k;
		bool outside = at < 0 || at > (double)(a->in - 1);

		index[k] = clamp_index(at, a->in);
		weight[k] = a->exclude_outside && outside ? 0 : kernel(a, (at - x) * s);
		sum += weight[k];
	}
	for (k = 0; k < taps && (a->exclude_outside || s < 1) && sum != 0; k++)
		weight[k] /= sum;
}

void npu_resize_table_free(struct npu_resize_table *t)
{
	free(t->index);
	free(t->weight);
	free(t->outside);
	memset(t, 0, sizeof(*t));
}

int npu_resize_table_make(const struct npu_resize_axis *a, struct npu_resize_table *t)
{
	double half = ceil((a->mode == NPU_RESIZE_CUBIC ? 2 : 1) / squeeze(a)), x;
	int64_t count, i;

	memset(t, 0, sizeof(*t));
	/* Where there is one output at least, 1 / scale is no more than the input's size. */
	if (!(half <= 2 * (double)a->in + 4))
		half = 2 * (double)a->in + 4;
	t->taps = a->mode == NPU_RESIZE_NEAREST ? 1 : 2 * (int64_t)half;
	if (__builtin_mul_overflow(a->out, t->taps, &count))
		return -ENOMEM;
	t->index = calloc((size_t)count, sizeof(*t->index));
	t->weight = calloc((size_t)count, sizeof(*t->weight));
	t->outside = calloc((size_t)a->out, sizeof(*t->outside));
	if (!t->index || !t->weight || !t->outside)
		return -ENOMEM;
	for (i = 0; i < a->out; i++) {
		x = (double)position(a, (float)i);
		t->outside[i] = is_crop(a) && !(x >= 0 && x <= (double)(a->in - 1));
		fill_taps(a, isfinite(x) ? x : 0, t->taps, t->index + i * t->taps,
			  t->weight + i * t->taps);
	}
	return 0;
}
