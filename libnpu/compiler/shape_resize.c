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

static int resize_scales(struct npu_shape *s, const struct npu_gtensor *x, int input,
			 double *scales)
{
	const struct npu_gtensor *t = input >= 0 ? npu_shape_in(s, (unsigned int)input) : NULL;
	size_t count = 0, i;
	const float *list = npu_gnode_floats(s->n, "scales", &count);
	struct npu_dim v;

	if (!list && t && npu_tensor_has_value(t))
		count = t->value ? t->num_values : t->size / npu_gtype_size(t->type);
	/* an empty list is how older files say "see sizes" */
	if (!count)
		return -ENOENT;
	if (count != (size_t)x->rank)
		return npu_diag_node(s->diag, -EINVAL, s->n, "scales", "%zu entries, expected %d",
				     count, x->rank);
	for (i = 0; i < count; i++) {
		if (list)
			scales[i] = list[i];
		else if (t->data)
			scales[i] = npu_gtensor_elem(t, i);
		else if (npu_tensor_value(t, i, &v) && npu_dim_is_const(v))
			scales[i] = (double)v.base;
		else
			return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "scales",
					     "entry %zu must be a constant", i);
	}
	return 0;
}

static int resize_sizes(struct npu_shape *s, const struct npu_gtensor *x, double *scales,
			struct npu_dim *dims)
{
	struct npu_dim sizes[2 * NPU_GRAPH_MAX_RANK], back;
	int n = s->n->opset >= 11 ? npu_shape_list(s, NULL, 3, sizes) : -ENOENT, i;
	int64_t ratio;

	if (n == -ENOENT)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "neither scales nor sizes are known when compiling");
	if (n < 0)
		return n;
	if (n != x->rank)
		return npu_diag_node(s->diag, -EINVAL, s->n, "sizes", "%d entries, expected %d", n,
				     x->rank);
	for (i = 0; i < n; i++) {
		dims[i] = sizes[i];
		if (npu_dim_equal(sizes[i], x->dim[i]))
			scales[i] = 1;
		else if (npu_dim_is_const(sizes[i]) && npu_dim_is_const(x->dim[i]) &&
			 x->dim[i].base > 0)
			scales[i] = (double)((float)sizes[i].base / (float)x->dim[i].base);
		else if (!npu_dim_ratio(sizes[i], x->dim[i], &ratio))
			scales[i] = (double)ratio;
		else if (!npu_dim_ratio(x->dim[i], sizes[i], &ratio) &&
			 !npu_dim_div_floor(s->g, x->dim[i], ratio, &back))
			scales[i] = (double)(1.0f / (float)ratio);
		else
			return npu_shape_nonlinear(s, "sizes", sizes[i], 0);
	}
	return 0;
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
	double scales[NPU_GRAPH_MAX_RANK] = { 0 };
	bool upsample = s->n->op == NPU_GOP_Upsample;
	int err, i;

	if (npu_gnode_attr(s->n, "axes"))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "axes",
				     "is not supported, give all dimensions");
	if (strcmp(npu_gnode_string(s->n, "keep_aspect_ratio_policy", "stretch"), "stretch"))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "keep_aspect_ratio_policy",
				     "'%.40s', only stretch is supported",
				     npu_gnode_string(s->n, "keep_aspect_ratio_policy", ""));
	err = resize_scales(s, x, upsample || s->n->opset < 11 ? 1 : 2, scales);
	if (err == -ENOENT) {
		err = resize_sizes(s, x, scales, dims);
	} else {
		for (i = 0; i < x->rank && !err; i++)
			err = resize_scaled(s, x->dim[i], scales[i], &dims[i]);
	}
	if (!err)
		err = resize_attrs(s, scales, x->rank);
	return err ? err : npu_shape_out(s, 0, x->type, x->rank, dims);
}
