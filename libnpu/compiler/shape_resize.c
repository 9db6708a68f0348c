// SPDX-License-Identifier: MIT
/* Resize and Upsample: sizes or scales, from attributes or inputs depending on the operator set. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/shape.h"

/*
 * out = floor(in * scale) as the specification has it; scale is a float, usually a whole number or
 * 1/2^k.
 */
static int resize_scaled(struct npu_shape *s, struct npu_dim in, double scale, struct npu_dim *out)
{
	int64_t den;

	if (!(scale > 0 && scale < 65536))
		return npu_diag_node(s->diag, -EINVAL, s->n, "scales",
				     "%g, expected a positive number", scale);
	if (npu_dim_is_const(in)) {
		*out = npu_dim_const((int64_t)floor((double)in.base * scale));
		return 0;
	}
	for (den = 1; den <= 64; den *= 2)
		if (scale * (double)den == floor(scale * (double)den))
			break;
	if (den > 64)
		return npu_shape_nonlinear(s, "scales", in, 0);
	if (npu_dim_scale(in, (int64_t)(scale * (double)den), &in))
		return npu_shape_nonlinear(s, "scales", in, 0);
	return npu_shape_div_floor(s, "scales", in, den, out);
}

/* What scales, sizes and roi are about: some of the dimensions, in any order, or all. */
struct resized {
	int num, axis[NPU_GRAPH_MAX_RANK];
};

static int resize_axes(struct npu_shape *s, int rank, struct resized *r)
{
	int64_t axes[NPU_GRAPH_MAX_RANK];
	size_t count = 0;
	const int64_t *list = npu_gnode_ints(s->n, "axes", &count);
	unsigned int seen = 0;
	int err = 0;

	r->num = list ? (int)count : rank;
	if (list && (!count || count > (size_t)rank))
		return npu_diag_node(s->diag, -EINVAL, s->n, "axes",
				     "%zu entries, expected 1 to %d", count, rank);
	for (int i = 0; i < r->num && !err; i++) {
		err = npu_shape_axis_arg(s, "axes", list ? list[i] : i, rank, &r->axis[i]);
		if (!err && seen & 1u << r->axis[i])
			err = npu_diag_node(s->diag, -EINVAL, s->n, "axes",
					    "dimension %d is there twice", r->axis[i]);
		if (err)
			return err;
		seen |= 1u << r->axis[i];
		axes[i] = r->axis[i];
	}
	return list ? npu_gnode_set_ints(s->g, s->n, "axes", axes, count) : 0;
}

static int resize_scales(struct npu_shape *s, const struct resized *r, int input, double *scales)
{
	const struct npu_gtensor *t = input >= 0 ? npu_shape_in(s, (unsigned int)input) : NULL;
	size_t count = 0;
	const float *list = npu_gnode_floats(s->n, "scales", &count);
	struct npu_dim v;

	if (!list && t && npu_tensor_has_value(t))
		count = t->value ? t->num_values : t->size / npu_gtype_size(t->type);
	/* an empty list is how older files say "see sizes" */
	if (!count)
		return -ENOENT;
	if (count != (size_t)r->num)
		return npu_diag_node(s->diag, -EINVAL, s->n, "scales", "%zu entries, expected %d",
				     count, r->num);
	for (size_t i = 0; i < count; i++) {
		double *scale = &scales[r->axis[i]];

		if (list)
			*scale = list[i];
		else if (t->data)
			*scale = npu_gtensor_elem(t, i);
		else if (npu_tensor_value(t, i, &v) && npu_dim_is_const(v))
			*scale = (double)v.base;
		else
			return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "scales",
					     "entry %zu must be a constant", i);
	}
	return 0;
}

/* The scale of one dimension that becomes @to long. */
static int resize_ratio(struct npu_shape *s, struct npu_dim from, struct npu_dim to, double *scale)
{
	struct npu_dim back;
	int64_t ratio;

	if (npu_dim_equal(to, from))
		*scale = 1;
	else if (npu_dim_is_const(to) && npu_dim_is_const(from) && from.base > 0)
		*scale = (double)((float)to.base / (float)from.base);
	else if (!npu_dim_ratio(to, from, &ratio))
		*scale = (double)ratio;
	else if (!npu_dim_ratio(from, to, &ratio) && !npu_dim_div_floor(s->g, from, ratio, &back))
		*scale = (double)(1.0f / (float)ratio);
	else
		return npu_shape_nonlinear(s, "sizes", to, 0);
	return 0;
}

/* One scale for all, with which none is larger, or smaller, than its size; in f32. */
static int keep_aspect(struct npu_shape *s, const struct npu_gtensor *x, const struct resized *r,
		       double *scales, struct npu_dim *dims)
{
	const char *policy = npu_gnode_string(s->n, "keep_aspect_ratio_policy", "stretch");
	bool larger = !strcmp(policy, "not_smaller");
	float scale = 0;

	if (!strcmp(policy, "stretch"))
		return 0;
	if (!larger && strcmp(policy, "not_larger"))
		return npu_diag_node(s->diag, -EINVAL, s->n, "keep_aspect_ratio_policy",
				     "'%.40s', expected stretch, not_larger or not_smaller",
				     policy);
	for (int i = 0; i < r->num; i++) {
		struct npu_dim from = x->dim[r->axis[i]], to = dims[r->axis[i]];
		float one = (float)to.base / (float)from.base;

		if (!npu_dim_is_const(from) || !npu_dim_is_const(to) || from.base < 1)
			return npu_shape_nonlinear(s, "keep_aspect_ratio_policy", from, 0);
		if (!i || (larger ? one > scale : one < scale))
			scale = one;
	}
	for (int i = 0; i < r->num; i++) {
		int d = r->axis[i];

		dims[d] = npu_dim_const((int64_t)roundf(scale * (float)x->dim[d].base));
		scales[d] = (double)scale;
	}
	return 0;
}

static int resize_sizes(struct npu_shape *s, const struct npu_gtensor *x, const struct resized *r,
			double *scales, struct npu_dim *dims)
{
	struct npu_dim sizes[2 * NPU_GRAPH_MAX_RANK];
	int n = s->n->opset >= 11 ? npu_shape_list(s, NULL, 3, sizes) : -ENOENT, err = 0;

	if (n == -ENOENT)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "neither scales nor sizes are known when compiling");
	if (n < 0)
		return n;
	if (n != r->num)
		return npu_diag_node(s->diag, -EINVAL, s->n, "sizes", "%d entries, expected %d", n,
				     r->num);
	memcpy(dims, x->dim, (size_t)x->rank * sizeof(*dims));
	for (int i = 0; i < n && !err; i++) {
		int d = r->axis[i];

		dims[d] = sizes[i];
		err = resize_ratio(s, x->dim[d], dims[d], &scales[d]);
	}
	return err ? err : keep_aspect(s, x, r, scales, dims);
}

static int resize_attrs(struct npu_shape *s, const double *scales, int rank)
{
	float list[NPU_GRAPH_MAX_RANK];
	bool old = s->n->op == NPU_GOP_Upsample || s->n->opset < 11;
	int i, err;

	for (i = 0; i < rank; i++)
		list[i] = (float)scales[i];
	err = npu_gnode_set_floats(s->g, s->n, "scales", list, (size_t)rank);
	/* the first version had one formula: x_in = x_out / scale, rounded down */
	if (!err && (old || !npu_gnode_attr(s->n, "coordinate_transformation_mode")))
		err = npu_gnode_set_string(s->g, s->n, "coordinate_transformation_mode",
					   old ? "asymmetric" : "half_pixel");
	if (!err && (old || !npu_gnode_attr(s->n, "nearest_mode")))
		err = npu_gnode_set_string(s->g, s->n, "nearest_mode",
					   old ? "floor" : "round_prefer_floor");
	if (!err && !npu_gnode_attr(s->n, "mode"))
		err = npu_gnode_set_string(s->g, s->n, "mode", "nearest");
	if (!err && !strcmp(npu_gnode_string(s->n, "mode", ""), "bilinear"))
		err = npu_gnode_set_string(s->g, s->n, "mode", "linear");
	if (!err && !npu_gnode_attr(s->n, "cubic_coeff_a"))
		err = npu_gnode_set_float(s->g, s->n, "cubic_coeff_a", -0.75f);
	if (!err)
		err = npu_gnode_set_int(s->g, s->n, "exclude_outside",
					npu_gnode_int(s->n, "exclude_outside", 0));
	if (!err)
		err = npu_gnode_set_float(s->g, s->n, "extrapolation_value",
					  npu_gnode_float(s->n, "extrapolation_value", 0));
	return err;
}

int npu_shape_resize(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	double scales[NPU_GRAPH_MAX_RANK];
	bool upsample = s->n->op == NPU_GOP_Upsample;
	struct resized r;
	int err = resize_axes(s, x->rank, &r), i;

	if (err)
		return err;
	for (i = 0; i < x->rank; i++)
		scales[i] = 1;
	err = resize_scales(s, &r, upsample || s->n->opset < 11 ? 1 : 2, scales);
	if (err == -ENOENT) {
		err = resize_sizes(s, x, &r, scales, dims);
	} else {
		for (i = 0; i < x->rank && !err; i++)
			err = resize_scaled(s, x->dim[i], scales[i], &dims[i]);
	}
	if (!err)
		err = resize_attrs(s, scales, x->rank);
	return err ? err : npu_shape_out(s, 0, x->type, x->rank, dims);
}
