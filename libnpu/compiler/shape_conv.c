// SPDX-License-Identifier: MIT
/* Convolution and pooling: windows that slide over the dimensions after the second. */
#include <errno.h>
#include <string.h>

#include "compiler/shape.h"

#define MAX_SPATIAL	(NPU_GRAPH_MAX_RANK - 2)

struct window {
	int rank;	/* spatial dimensions */
	int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL];
	int64_t pad[2 * MAX_SPATIAL];	/* begin of all, then end of all */
	bool ceil;
};

/* A list attribute of @count entries, all in min..2^24; the default when it is absent. */
static int window_list(struct npu_shape *s, const char *name, int count, int64_t min, int64_t def,
		       int64_t *out)
{
	size_t have;
	const int64_t *v = npu_gnode_ints(s->n, name, &have);
	int i;

	for (i = 0; i < count; i++)
		out[i] = def;
	if (!v || (!have && def >= min))
		return 0;
	if (have != (size_t)count)
		return npu_diag_node(s->diag, -EINVAL, s->n, name, "%zu entries, expected %d", have,
				     count);
	for (i = 0; i < count; i++) {
		if (v[i] < min || v[i] > 1 << 24)
			return npu_diag_node(s->diag, -EINVAL, s->n, name,
					     "entry %d is %lld, expected %lld to %d", i,
					     (long long)v[i], (long long)min, 1 << 24);
		out[i] = v[i];
	}
	return 0;
}

static int window_read(struct npu_shape *s, const struct npu_gtensor *x,
		       const struct npu_gtensor *w, struct window *win)
{
	int i, err;

	memset(win, 0, sizeof(*win));
	win->rank = x->rank - 2;
	if (win->rank < 1)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "input '%s' has rank %d, expected 3 or more", x->name,
				     x->rank);
	if (w && (w->rank != x->rank || !npu_gtensor_is_static(w)))
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "weight '%s' has rank %d, expected %d and fixed sizes",
				     w->name, w->rank, x->rank);
	err = window_list(s, "kernel_shape", win->rank, 1, 0, win->kernel);
	if (!err)
		err = window_list(s, "strides", win->rank, 1, 1, win->stride);
	if (!err)
		err = window_list(s, "dilations", win->rank, 1, 1, win->dilation);
	/* negative pads (cropping) appear in no exporter's output and have no hardware form */
	if (!err)
		err = window_list(s, "pads", 2 * win->rank, 0, 0, win->pad);
	for (i = 0; i < win->rank && !err; i++) {
		if (w && win->kernel[i] && win->kernel[i] != w->dim[i + 2].base)
			return npu_diag_node(s->diag, -EINVAL, s->n, "kernel_shape",
					     "entry %d is %lld, the weight has %lld", i,
					     (long long)win->kernel[i],
					     (long long)w->dim[i + 2].base);
		if (w)
			win->kernel[i] = w->dim[i + 2].base;
		if (win->kernel[i] < 1)
			return npu_diag_node(s->diag, -EINVAL, s->n, "kernel_shape",
					     "is missing or has a zero");
	}
	win->ceil = npu_gnode_int(s->n, "ceil_mode", 0) != 0;
	return err;
}

/* Write the window back, so that nobody else needs to know about defaults and auto_pad. */
static int window_write(struct npu_shape *s, const struct window *win)
{
	int err = npu_gnode_set_ints(s->g, s->n, "kernel_shape", win->kernel, (size_t)win->rank);

	if (!err)
		err = npu_gnode_set_ints(s->g, s->n, "strides", win->stride, (size_t)win->rank);
	if (!err)
		err = npu_gnode_set_ints(s->g, s->n, "dilations", win->dilation, (size_t)win->rank);
	if (!err)
		err = npu_gnode_set_ints(s->g, s->n, "pads", win->pad, 2 * (size_t)win->rank);
	npu_gnode_del_attr(s->n, "auto_pad");
	return err;
}

enum auto_pad { PAD_EXPLICIT, PAD_VALID, PAD_UPPER, PAD_LOWER, PAD_BAD };

static enum auto_pad auto_pad(struct npu_shape *s)
{
	const char *mode = npu_gnode_string(s->n, "auto_pad", "NOTSET");

	if (!strcmp(mode, "NOTSET") || !*mode)
		return PAD_EXPLICIT;
	if (!strcmp(mode, "VALID"))
		return PAD_VALID;
	if (!strcmp(mode, "SAME_UPPER"))
		return PAD_UPPER;
	if (!strcmp(mode, "SAME_LOWER"))
		return PAD_LOWER;
	npu_diag_node(s->diag, -EINVAL, s->n, "auto_pad",
		      "'%.40s', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", mode);
	return PAD_BAD;
}

/*
 * SAME: out = ceil(in / stride); the padding that this takes must be one number whatever the
 * symbols are.
 */
static int window_same(struct npu_shape *s, struct window *win, int i, struct npu_dim in,
		       bool upper, struct npu_dim *out)
{
	int64_t span = (win->kernel[i] - 1) * win->dilation[i] + 1, total;
	struct npu_dim need;

	if (npu_dim_div_ceil(s->g, in, win->stride[i], out))
		return npu_shape_nonlinear(s, "auto_pad", in, win->stride[i]);
	if (npu_dim_scale(*out, win->stride[i], &need) || npu_dim_sub(need, in, &need) ||
	    npu_dim_add(need, npu_dim_const(span - win->stride[i]), &need) ||
	    !npu_dim_is_const(need))
		return npu_shape_nonlinear(s, "auto_pad", in, win->stride[i]);
	total = need.base > 0 ? need.base : 0;
	win->pad[i] = upper ? total / 2 : total - total / 2;
	win->pad[win->rank + i] = total - win->pad[i];
	return 0;
}

static int window_out(struct npu_shape *s, const struct window *win, int i, struct npu_dim in,
		      struct npu_dim *out)
{
	int64_t span = (win->kernel[i] - 1) * win->dilation[i] + 1,
		pads = win->pad[i] + win->pad[win->rank + i];
	struct npu_dim room, last;

	if (npu_dim_add(in, npu_dim_const(pads - span), &room) || npu_dim_low(s->g, room) < 0)
		return npu_diag_node(
			s->diag, -EINVAL, s->n, "kernel_shape",
			"the window of %lld does not fit spatial dimension %d (at least %lld with padding)",
			(long long)span, i, (long long)(npu_dim_low(s->g, in) + pads));
	if (win->ceil ? npu_dim_div_ceil(s->g, room, win->stride[i], out) :
			npu_dim_div_floor(s->g, room, win->stride[i], out))
		return npu_shape_nonlinear(s, "strides", room, win->stride[i]);
	if (!win->ceil)
		return npu_dim_add(*out, npu_dim_const(1), out);
	/* a last window that would start in the padding at the end is left out */
	if (npu_dim_scale(*out, win->stride[i], &last) || npu_dim_sub(last, in, &last) ||
	    npu_dim_add(last, npu_dim_const(-win->pad[i]), &last))
		return npu_shape_nonlinear(s, "ceil_mode", room, win->stride[i]);
	if (npu_dim_high(s->g, last) < 0)
		return npu_dim_add(*out, npu_dim_const(1), out);
	return npu_dim_low(s->g, last) >= 0 ?
		       0 :
		       npu_shape_nonlinear(s, "ceil_mode", room, win->stride[i]);
}

static int window_shape(struct npu_shape *s, struct window *win, const struct npu_gtensor *x,
			struct npu_dim *dims)
{
	enum auto_pad mode = auto_pad(s);
	int i, err = 0;

	if (mode == PAD_BAD)
		return -EINVAL;
	if (mode != PAD_EXPLICIT)
		memset(win->pad, 0, sizeof(win->pad));
	for (i = 0; i < win->rank && !err; i++) {
		if (mode == PAD_UPPER || mode == PAD_LOWER)
			err = window_same(s, win, i, x->dim[i + 2], mode == PAD_UPPER,
					  &dims[i + 2]);
		else
			err = window_out(s, win, i, x->dim[i + 2], &dims[i + 2]);
	}
	return err;
}

static int conv_groups(struct npu_shape *s, const struct npu_gtensor *x,
		       const struct npu_gtensor *w, bool transposed)
{
	int64_t group = npu_gnode_int(s->n, "group", 1), in = x->dim[1].base, per;

	if (!npu_dim_is_const(x->dim[1]))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
				     "the number of channels must be a constant");
	if (group < 1 || in % group || w->dim[0].base % group)
		return npu_diag_node(s->diag, -EINVAL, s->n, "group",
				     "%lld does not divide %lld input channels and %lld filters",
				     (long long)group, (long long)in, (long long)w->dim[0].base);
	per = transposed ? w->dim[0].base : w->dim[1].base * group;
	if (per != in)
		return npu_diag_node(
			s->diag, -EINVAL, s->n, NULL,
			"input '%s' has %lld channels, the weight '%s' is made for %lld", x->name,
			(long long)in, w->name, (long long)per);
	return npu_gnode_set_int(s->g, s->n, "group", group);
}

static int conv_bias(struct npu_shape *s, const struct npu_gtensor *b, int64_t filters)
{
	if (!b || (b->rank == 1 && npu_dim_is_const(b->dim[0]) && b->dim[0].base == filters))
		return 0;
	return npu_diag_node(s->diag, -EINVAL, s->n, NULL, "bias '%s': expected a list of %lld",
			     b->name, (long long)filters);
}

int npu_shape_conv(struct npu_shape *s)
{
	bool q = s->n->op == NPU_GOP_QLinearConv;
	const struct npu_gtensor *x = npu_shape_in(s, 0), *w = npu_shape_in(s, q ? 3 : 1);
	const struct npu_gtensor *b = q			       ? npu_shape_in(s, 8) :
				      s->n->op == NPU_GOP_Conv ? npu_shape_in(s, 2) :
								 NULL;
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	enum npu_gtype type = x->type;
	struct window win;
	int err;

	err = window_read(s, x, w, &win);
	if (!err)
		err = conv_groups(s, x, w, false);
	if (!err)
		err = conv_bias(s, b, w->dim[0].base);
	if (!err)
		err = window_shape(s, &win, x, dims);
	if (!err)
		err = window_write(s, &win);
	if (err)
		return err;
	if (q)
		type = npu_shape_in(s, 7) ? npu_shape_in(s, 7)->type : NPU_GT_U8;
	else if (s->n->op == NPU_GOP_ConvInteger)
		type = NPU_GT_I32;
	dims[0] = x->dim[0];
	dims[1] = w->dim[0];
	return npu_shape_out(s, 0, type, x->rank, dims);
}

/*
 * Padding of a transposed convolution that is given through output_shape or SAME. A result larger
 * than what the window reaches is not cut at all; what is beyond holds the bias only.
 */
static void transpose_pads(struct window *win, int i, int64_t total, bool upper)
{
	total = total < 0 ? 0 : total;
	win->pad[i] = upper ? total / 2 : total - total / 2;
	win->pad[win->rank + i] = total - win->pad[i];
}

static int transpose_out(struct npu_shape *s, struct window *win, int i, struct npu_dim in,
			 int64_t extra, const int64_t *want, enum auto_pad mode,
			 struct npu_dim *out)
{
	int64_t span = (win->kernel[i] - 1) * win->dilation[i] + 1;
	struct npu_dim full, rest;
	int err;

	/* (in - 1) * stride + span + output_padding, before the pads are cut off */
	err = npu_dim_add(in, npu_dim_const(-1), &full);
	if (!err)
		err = npu_dim_scale(full, win->stride[i], &full);
	if (!err)
		err = npu_dim_add(full, npu_dim_const(span + extra), &full);
	if (err)
		return npu_shape_nonlinear(s, "strides", in, 0);
	if (want || mode == PAD_UPPER || mode == PAD_LOWER) {
		*out = want ? npu_dim_const(want[i]) : in;
		if (!want)
			err = npu_dim_scale(in, win->stride[i], out);
		if (err || npu_dim_sub(full, *out, &rest) || !npu_dim_is_const(rest))
			return npu_shape_nonlinear(s, "output_shape", in, 0);
		transpose_pads(win, i, rest.base, mode == PAD_UPPER);
		return 0;
	}
	return npu_dim_add(full, npu_dim_const(-win->pad[i] - win->pad[win->rank + i]), out);
}

int npu_shape_conv_transpose(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *w = npu_shape_in(s, 1);
	int64_t extra[MAX_SPATIAL], want[MAX_SPATIAL + 2], filters;
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	enum auto_pad mode = auto_pad(s);
	struct window win;
	size_t have = 0;
	int err, i;

	err = mode == PAD_BAD ? -EINVAL : window_read(s, x, w, &win);
	if (!err)
		err = conv_groups(s, x, w, true);
	if (!err)
		err = window_list(s, "output_padding", win.rank, 0, 0, extra);
	npu_gnode_ints(s->n, "output_shape", &have);
	if (!err && have)
		err = window_list(s, "output_shape", win.rank, 1, 0, want);
	if (err)
		return err;
	filters = w->dim[1].base * npu_gnode_int(s->n, "group", 1);
	err = conv_bias(s, npu_shape_in(s, 2), filters);
	for (i = 0; i < win.rank && !err; i++)
		err = transpose_out(s, &win, i, x->dim[i + 2], extra[i], have ? want : NULL, mode,
				    &dims[i + 2]);
	if (!err)
		err = window_write(s, &win);
	if (err)
		return err;
	/* the output's shape says all that these two said */
	npu_gnode_del_attr(s->n, "output_shape");
	npu_gnode_del_attr(s->n, "output_padding");
	dims[0] = x->dim[0];
	dims[1] = npu_dim_const(filters);
	return npu_shape_out(s, 0, x->type, x->rank, dims);
}

int npu_shape_pool(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	struct window win;
	int err, i;

	err = window_read(s, x, NULL, &win);
	for (i = 0; i < 2 * win.rank && !err; i++)
		if (win.pad[i] >= (win.kernel[i % win.rank] - 1) * win.dilation[i % win.rank] + 1)
			err = npu_diag_node(
				s->diag, -EINVAL, s->n, "pads",
				"entry %d is %lld: padding as large as the window leaves windows without data",
				i, (long long)win.pad[i]);
	if (!err)
		err = window_shape(s, &win, x, dims);
	if (!err)
		err = window_write(s, &win);
	if (err)
		return err;
	dims[0] = x->dim[0];
	dims[1] = x->dim[1];
	err = npu_shape_out(s, 0, x->type, x->rank, dims);
	return err ? err : npu_shape_out(s, 1, NPU_GT_I64, x->rank, dims);
}

int npu_shape_global_pool(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	int i;

	if (x->rank < 3)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "input '%s' has rank %d, expected 3 or more", x->name,
				     x->rank);
	for (i = 0; i < x->rank; i++)
		dims[i] = i < 2 ? x->dim[i] : npu_dim_const(1);
	return npu_shape_out(s, 0, x->type, x->rank, dims);
}
