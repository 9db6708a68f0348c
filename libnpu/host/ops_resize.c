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
#include "host/resize.h"

struct resize {
	const struct npu_host_call *call;
	enum npu_resize mode;
	const char *coordinates, *nearest;
	double cubic_a, extrapolation;
	bool exclude_outside, antialias, crop;
	double scale[NPU_HOST_RANK];
	double start[NPU_HOST_RANK], end[NPU_HOST_RANK];	/* the region of a crop */
};

/* ---- parameters ------------------------------------------------------------------------------ */

/* The input at @i when it is there and has elements. */
static const struct npu_host_tensor *list_input(const struct npu_host_call *call, uint32_t i)
{
	const struct npu_host_tensor *t = npu_host_in(call, i);

	return t && npu_host_elems(t) > 0 ? t : NULL;
}

/*
 * Value of dimension @d in a list that is for all dims, or for those of attribute axes; else @def.
 */
static double for_dim(const struct npu_host_call *call, double (*get)(const void *, int64_t),
		      const void *list, int64_t count, uint32_t d, double def)
{
	uint32_t rank = call->in[0].rank, num, i;
	const int64_t *axes = npu_host_ints(call, "axes", &num);
	int64_t axis;

	if (!num || (count == (int64_t)rank && num != rank))
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

/* What sizes say of dimension @d; 0: nothing. */
static double size_of(const struct npu_host_call *call, uint32_t d)
{
	const struct npu_host_tensor *sizes = list_input(call, 3);

	return sizes ? for_dim(call, from_tensor, sizes, npu_host_elems(sizes), d, 0) : 0;
}

/* With keep_aspect_ratio_policy the one scale of all dimensions that sizes are about; 0: none. */
static double kept_scale(const struct npu_host_call *call)
{
	const char *policy = npu_host_string(call, "keep_aspect_ratio_policy", "stretch");
	const struct npu_host_tensor *x = &call->in[0];
	bool larger = !strcmp(policy, "not_smaller");
	float scale = 0;

	if (!larger && strcmp(policy, "not_larger"))
		return 0;
	for (uint32_t d = 0; d < x->rank; d++) {
		float one = x->dim[d] ? (float)size_of(call, d) / (float)x->dim[d] : 0;

		if (one > 0 && (scale == 0 || (larger ? one > scale : one < scale)))
			scale = one;
	}
	return (double)scale;
}

static int find_scales(struct resize *r, struct npu_error *err)
{
	const struct npu_host_call *call = r->call;
	const struct npu_host_tensor *x = &call->in[0], *t;
	bool early = call->opset < 11 || !strcmp(call->op->name, "Upsample");
	double kept = kept_scale(call);
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
		else if (kept > 0 && size_of(call, d) > 0)
			r->scale[d] = kept;
		if (!(r->scale[d] > 0) || !isfinite(r->scale[d]))
			return npu_host_fail(call, err, -EINVAL, "the scale of dimension %u is %g",
					     d, r->scale[d]);
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
		return npu_host_fail(r->call, err, -EINVAL,
				     "tf_crop_and_resize needs the input roi");
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

	r->mode = !strcmp(mode, "nearest") ? NPU_RESIZE_NEAREST :
		  !strcmp(mode, "cubic")   ? NPU_RESIZE_CUBIC :
					     NPU_RESIZE_LINEAR;
	if (r->mode == NPU_RESIZE_LINEAR && strcmp(mode, "linear") && strcmp(mode, "bilinear"))
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

/* ---- the walk over the axes ------------------------------------------------------------------ */

static struct npu_resize_axis axis_of(const struct resize *r, uint32_t d)
{
	return (struct npu_resize_axis){
		.mode = r->mode, .coordinates = r->coordinates, .nearest = r->nearest,
		.cubic_a = r->cubic_a, .exclude_outside = r->exclude_outside,
		.antialias = r->antialias, .in = r->call->in[0].dim[d],
		.out = r->call->out[0].dim[d], .scale = r->scale[d], .start = r->start[d],
		.end = r->end[d],
	};
}

/* [outer][in][inner] to [outer][out][inner] */
static int resample(const struct resize *r, const struct npu_resize_table *t, const double *from,
		    double *to, struct npu_error *err, int64_t outer, int64_t in, int64_t out,
		    int64_t inner)
{
	int64_t o, i, k, c;

	for (o = 0; o < outer; o++)
		for (i = 0; i < out; i++) {
			if (npu_host_poll(r->call, err))
				return -ECANCELED;
			for (c = 0; c < inner; c++) {
				double sum = 0;

				for (k = i * t->taps; k < (i + 1) * t->taps; k++)
					sum += t->weight[k] *
					       from[(o * in + t->index[k]) * inner + c];
				to[(o * out + i) * inner + c] = t->outside[i] ? r->extrapolation :
										sum;
			}
		}
	return 0;
}

int npu_host_resize(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *y = &call->out[0];
	struct resize r = { .call = call };
	struct npu_resize_table table;
	struct npu_resize_axis axis;
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
		next = npu_host_alloc(call,
				      npu_host_span(y, 0, d + 1) * npu_host_span(x, d + 1, x->rank),
				      sizeof(*next), err);
		axis = axis_of(&r, d);
		if (npu_resize_table_make(&axis, &table))
			ret = npu_host_fail(call, err, -ENOMEM, "out of memory");
		if (!ret && next)
			ret = resample(&r, &table, now, next, err, npu_host_span(y, 0, d),
				       x->dim[d], y->dim[d], npu_host_span(x, d + 1, x->rank));
		npu_resize_table_free(&table);
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
