// SPDX-License-Identifier: MIT
/*
 * Resize and Upsample: each axis by itself. Every position along it is a weighted sum of input
 * positions; axes are gone through one after the other.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/dense.h"

enum resize_mode { NEAREST, LINEAR, CUBIC };

struct resize {
	const struct npu_host_call *call;
	enum resize_mode mode;
	const char *coordinates, *nearest;
	double cubic_a, extrapolation;
	bool exclude_outside, antialias, crop;
	double scale[NPU_HOST_RANK];
	double start[NPU_HOST_RANK], end[NPU_HOST_RANK];	/* the region of a crop */
};

/* Positions of one axis: @taps indices and weights for each; outside: take the extrapolation value. */
struct axis_table {
	int64_t taps;
	int64_t *index;
	double *weight;
	bool *outside;
};

/* ---- parameters ------------------------------------------------------------------------------- */

/* The input at @i when it is there and has elements. */
static const struct npu_host_tensor *list_input(const struct npu_host_call *call, uint32_t i)
{
	const struct npu_host_tensor *t = npu_host_in(call, i);

	return t && npu_host_elems(t) > 0 ? t : NULL;
}

/* Value of dimension @d in a list that is for all dims, or for those of attribute axes; else @def. */
static double for_dim(const struct npu_host_call *call, double (*get)(const void *, int64_t),
		      const void *list, int64_t count, uint32_t d, double def)
{
	uint32_t rank = call->in[0].rank, num, i;
	const int64_t *axes = npu_host_ints(call, "axes", &num);
	int64_t axis;

	if (!num || count == (int64_t)rank)
		return (int64_t)d < count ? get(list, d) : def;
	for (i = 0; i < num; i++) {
		axis = axes[i];
		if (npu_host_index(&axis, rank) && axis == (int64_t)d && (int64_t)i < count)
			return get(list, i);
	}
	return def;
}

static double from_tensor(const void *t, int64_t i)
{
	return npu_host_get(t, i);
}

static double from_floats(const void *v, int64_t i)
{
	return ((const float *)v)[i];
}

static int find_scales(struct resize *r, struct npu_error *err)
{
	const struct npu_host_call *call = r->call;
	const struct npu_host_tensor *x = &call->in[0], *t;
	bool early = call->opset < 11 || !strcmp(call->op->name, "Upsample");
	const float *attr;
	uint32_t d, count;

	attr = npu_host_floats(call, "scales", &count);
	t = list_input(call, early ? 1 : 2);
	for (d = 0; d < x->rank; d++) {
		r->scale[d] = x->dim[d] ? (double)call->out[0].dim[d] / (double)x->dim[d] : 1;
		if (count)
			r->scale[d] = for_dim(call, from_floats, attr, count, d, 1);
		else if (t)
			r->scale[d] = for_dim(call, from_tensor, t, npu_host_elems(t), d, 1);
		if (!(r->scale[d] > 0) || !isfinite(r->scale[d]))
			return npu_host_fail(call, err, -EINVAL, "the scale of dimension %u is %g", d,
					     r->scale[d]);
	}
	return 0;
}

static double region_end(const void *t, int64_t i)
{
	return npu_host_get(t, npu_host_elems(t) / 2 + i);
}

static int find_region(struct resize *r, struct npu_error *err)
{
	const struct npu_host_tensor *roi = list_input(r->call, 1);
	int64_t half;
	uint32_t d;

	r->crop = !strcmp(r->coordinates, "tf_crop_and_resize");
	if (!r->crop)
		return 0;
	if (!roi)
		return npu_host_fail(r->call, err, -EINVAL, "tf_crop_and_resize needs the input roi");
	half = npu_host_elems(roi) / 2;
	for (d = 0; d < r->call->in[0].rank; d++) {
		r->start[d] = for_dim(r->call, from_tensor, roi, half, d, 0);
		r->end[d] = for_dim(r->call, region_end, roi, half, d, 1);
	}
	return 0;
}

static int parameters(struct resize *r, struct npu_error *err)
{
	const struct npu_host_call *call = r->call;
	const char *mode = npu_host_string(call, "mode", "nearest");
	bool early = call->opset < 11 || !strcmp(call->op->name, "Upsample");
	int ret;

	r->mode = !strcmp(mode, "nearest") ? NEAREST : !strcmp(mode, "cubic") ? CUBIC : LINEAR;
	if (r->mode == LINEAR && strcmp(mode, "linear") && strcmp(mode, "bilinear"))
		return npu_host_fail(call, err, -ENOTSUP, "mode '%.20s'", mode);
	r->coordinates = npu_host_string(call, "coordinate_transformation_mode",
					 early ? "asymmetric" : "half_pixel");
	r->nearest = npu_host_string(call, "nearest_mode", early ? "floor" : "round_prefer_floor");
	r->cubic_a = npu_host_float(call, "cubic_coeff_a", -0.75);
	r->extrapolation = npu_host_float(call, "extrapolation_value", 0);
	r->exclude_outside = npu_host_int(call, "exclude_outside", 0) != 0;
	r->antialias = npu_host_int(call, "antialias", 0) != 0;
	ret = find_scales(r, err);
	return ret ? ret : find_region(r, err);
}

/* ---- one axis --------------------------------------------------------------------------------- */

static double position(const struct resize *r, uint32_t d, int64_t i)
{
	double in = (double)r->call->in[0].dim[d], out = (double)r->call->out[0].dim[d], x = (double)i;
	double scale = r->scale[d];
	const char *c = r->coordinates;

	if (!strcmp(c, "asymmetric"))
		return x / scale;
	if (!strcmp(c, "align_corners"))
		return out > 1 ? x * (in - 1) / (out - 1) : 0;
	if (!strcmp(c, "tf_half_pixel_for_nn"))
		return (x + 0.5) / scale;
	if (!strcmp(c, "pytorch_half_pixel"))
		return out > 1 ? (x + 0.5) / scale - 0.5 : 0;
	if (!strcmp(c, "half_pixel_symmetric"))
		return in / 2 * (1 - out / (scale * in)) + (x + 0.5) / scale - 0.5;
	if (r->crop && out > 1)
		return r->start[d] * (in - 1) + x * (r->end[d] - r->start[d]) * (in - 1) / (out - 1);
	if (r->crop)
		return 0.5 * (r->start[d] + r->end[d]) * (in - 1);
	return (x + 0.5) / scale - 0.5;
}

static double nearest(const struct resize *r, double x)
{
	if (!strcmp(r->nearest, "floor"))
		return floor(x);
	if (!strcmp(r->nearest, "ceil"))
		return ceil(x);
	return !strcmp(r->nearest, "round_prefer_ceil") ? floor(x + 0.5) : ceil(x - 0.5);
}

/* Weight at distance @t: a triangle, or Keys' cubic. */
static double kernel(const struct resize *r, double t)
{
	double a = r->cubic_a;

	t = fabs(t);
	if (r->mode == LINEAR)
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
static double squeeze(const struct resize *r, uint32_t d)
{
	return r->antialias && r->mode != NEAREST && r->scale[d] < 1 ? r->scale[d] : 1;
}

static void fill_taps(const struct resize *r, uint32_t d, double x, int64_t taps, int64_t *index,
		      double *weight)
{
	int64_t size = r->call->in[0].dim[d], k;
	double first = floor(x) - (double)(taps / 2) + 1, s = squeeze(r, d), sum = 0;

	if (r->mode == NEAREST) {
		index[0] = clamp_index(nearest(r, x), size);
		weight[0] = 1;
		return;
	}
	for (k = 0; k < taps; k++) {
		double at = first + (double)k;
		bool outside = at < 0 || at > (double)(size - 1);

		index[k] = clamp_index(at, size);
		weight[k] = r->exclude_outside && outside ? 0 : kernel(r, (at - x) * s);
		sum += weight[k];
	}
	for (k = 0; k < taps && (r->exclude_outside || s < 1) && sum != 0; k++)
		weight[k] /= sum;
}

static void table_free(struct axis_table *t)
{
	free(t->index);
	free(t->weight);
	free(t->outside);
}

static int table_make(const struct resize *r, uint32_t d, struct axis_table *t, struct npu_error *err)
{
	int64_t out = r->call->out[0].dim[d], size = r->call->in[0].dim[d], i;
	double s = squeeze(r, d), half = ceil((r->mode == CUBIC ? 2 : 1) / s), x;

	memset(t, 0, sizeof(*t));
	if (!(half <= (double)size + 4))
		half = (double)size + 4;	/* beyond the input's own size weights are outside */
	t->taps = r->mode == NEAREST ? 1 : 2 * (int64_t)half;
	t->index = npu_host_alloc(r->call, out * t->taps, sizeof(*t->index), err);
	t->weight = npu_host_alloc(r->call, out * t->taps, sizeof(*t->weight), err);
	t->outside = npu_host_alloc(r->call, out, sizeof(*t->outside), err);
	if (!t->index || !t->weight || !t->outside)
		return -ENOMEM;
	for (i = 0; i < out; i++) {
		x = position(r, d, i);
		t->outside[i] = r->crop && !(x >= 0 && x <= (double)(size - 1));
		fill_taps(r, d, isfinite(x) ? x : 0, t->taps, t->index + i * t->taps,
			  t->weight + i * t->taps);
	}
	return 0;
}

/* [outer][in][inner] to [outer][out][inner] */
static int resample(const struct resize *r, const struct axis_table *t, const double *from, double *to,
		    struct npu_error *err, int64_t outer, int64_t in, int64_t out, int64_t inner)
{
	int64_t o, i, k, c;

	for (o = 0; o < outer; o++)
		for (i = 0; i < out; i++) {
			if (npu_host_poll(r->call, err))
				return -ECANCELED;
			for (c = 0; c < inner; c++) {
				double sum = 0;

				for (k = i * t->taps; k < (i + 1) * t->taps; k++)
					sum += t->weight[k] * from[(o * in + t->index[k]) * inner + c];
				to[(o * out + i) * inner + c] = t->outside[i] ? r->extrapolation : sum;
			}
		}
	return 0;
}

int npu_host_resize(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *y = &call->out[0];
	struct resize r = { .call = call };
	struct axis_table table;
	double *now, *next;
	int64_t i;
	uint32_t d;
	int ret = parameters(&r, err);

	if (!ret && (x->rank != y->rank || (!npu_host_elems(x) && npu_host_elems(y))))
		ret = npu_host_fail(call, err, -EINVAL, "nothing to take a result from");
	if (ret || !npu_host_elems(y))
		return ret;
	now = npu_host_doubles(call, x, err);
	for (d = 0; d < x->rank && now && !ret; d++) {
		/* an axis that stays as it is has one tap of weight 1 everywhere */
		if (x->dim[d] == y->dim[d] && r.scale[d] == 1 && !r.crop)
			continue;
		next = npu_host_alloc(call, npu_host_span(y, 0, d + 1) * npu_host_span(x, d + 1, x->rank),
				      sizeof(*next), err);
		ret = table_make(&r, d, &table, err);
		if (!ret && next)
			ret = resample(&r, &table, now, next, err, npu_host_span(y, 0, d), x->dim[d], y->dim[d],
				 npu_host_span(x, d + 1, x->rank));
		table_free(&table);
		free(now);
		now = next;
	}
	for (i = 0; now && !ret && i < npu_host_elems(y); i++) {
		ret = NPU_HOST_NOW_AND_THEN(i, call, err);
		npu_host_set(&call->out[0], i, now[i]);
	}
	ret = now ? ret : -ENOMEM;
	free(now);
	return ret;
}
