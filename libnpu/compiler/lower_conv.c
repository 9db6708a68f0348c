// SPDX-License-Identifier: MIT
/* Convolutions. One-dimensional ones run as images of height 1. */
#include <errno.h>
#include <string.h>

#include "compiler/lower_quant.h"
#include "compiler/pack.h"

static const int nhwc[] = { 0, 2, 3, 1 }, nlc[] = { 0, 2, 1 };

/* Geometry of a convolution or pooling window; index 0 is the height. */
struct window {
	int64_t kernel[2], stride[2], dilation[2], pad[2];
};

/* [N, C, H, W] or [N, C, L] as the instruction's [N, H, W, C]. */
static int image_view(struct npu_lower *l, struct npu_lview *v)
{
	if (v->rank == 4) {
		npu_lview_permute(v, nhwc, v);
		return 0;
	}
	if (v->rank != 3)
		return npu_lower_refuse(l, NULL, "rank %d; images of rank 3 and 4 are supported",
					v->rank);
	npu_lview_permute(v, nlc, v);
	npu_lview_insert(v, 1);
	return 0;
}

static int read_pair(struct npu_lower *l, const struct npu_gnode *n, const char *name, int spatial,
		     int64_t low, int64_t high, int64_t out[2])
{
	size_t count = 0;
	const int64_t *v = npu_gnode_ints(n, name, &count);

	if (!v || count < (size_t)spatial)
		return npu_lower_refuse(l, name, "it has %zu entries, expected %d", count, spatial);
	for (int i = 0; i < spatial; i++) {
		if (v[i] < low || v[i] > high)
			return npu_lower_refuse(l, name, "%lld, supported are %lld to %lld",
						(long long)v[i], (long long)low, (long long)high);
		out[2 - spatial + i] = v[i];
	}
	return 0;
}

static int read_window(struct npu_lower *l, const struct npu_gnode *n, int rank, struct window *w)
{
	int spatial = rank - 2, err;

	*w = (struct window){ { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0, 0 } };
	if (spatial != 1 && spatial != 2)
		return npu_lower_refuse(l, "kernel_shape",
					"%d spatial dimensions; 1 and 2 are supported", spatial);
	err = read_pair(l, n, "kernel_shape", spatial, 1, 1 << 20, w->kernel);
	if (!err)
		err = read_pair(l, n, "strides", spatial, 1, 4096, w->stride);
	if (!err)
		err = read_pair(l, n, "dilations", spatial, 1, 4096, w->dilation);
	return err ? err : read_pair(l, n, "pads", spatial, 0, 65535, w->pad);
}

/*
 * The weight operand [O, KH, KW, C / groups]. Constants are packed; with one channel per group
 * (depthwise) they are stored [KH][KW][O], so that neighbouring channels are neighbours in memory.
 * @transposed: the model has [C, O / groups, ...].
 */
static int conv_weight(struct npu_lower *l, struct npu_gtensor *t, int64_t groups, bool transposed,
		       bool codes, struct npu_lview *view)
{
	int64_t d[4] = { 1, 1, 1, 1 }, outs, chans;
	struct npu_pack_source src;
	int err, spatial = t->rank - 2;

	for (int i = 0; i < 2; i++)
		d[i] = t->dim[i].base;
	for (int i = 0; i < spatial; i++)
		d[4 - spatial + i] = t->dim[2 + i].base;
	outs = transposed ? d[1] : d[0] / groups;
	chans = transposed ? d[0] / groups : d[1];
	src = (struct npu_pack_source){
		.t = t, .groups = groups, .outs = outs, .dim = { d[2], d[3], chans },
		.stride = { d[3], 1, d[2] * d[3] * (transposed ? d[1] : 1) },
		.out_stride = d[2] * d[3] * (transposed ? 1 : d[1]),
		.group_stride = (transposed ? chans : outs) * d[1] * d[2] * d[3],
		.codes = codes,
	};
	err = npu_pack_weight(l, &src, chans > 1 || groups == 1, view);
	if (err)
		return err;
	view->rank = 4;
	view->dim[0] = npu_dim_const(groups * outs);
	for (int i = 0; i < 3; i++)
		view->dim[1 + i] = npu_dim_const(src.dim[i]);
	if (view->layout == NPU_LAYOUT_STRIDED) {
		int64_t e = npu_dtype_bits(view->dtype) / 8, o = groups * outs;

		view->stride[0] = npu_poly_const(e);
		view->stride[1] = npu_poly_const(e * o * d[3]);
		view->stride[2] = npu_poly_const(e * o);
	}
	return 0;
}

static int computed_weight(struct npu_lower *l, struct npu_gtensor *t, bool transposed,
			   struct npu_lview *view)
{
	int err = npu_lower_in(l, t, view);

	if (err)
		return err;
	err = npu_lower_as_float(l, view);
	if (err)
		return err;
	if (transposed)
		return npu_lower_refuse(l, "W", "a transposed convolution needs a constant weight");
	return image_view(l, view);
}

/* Whether it is done in integers, which constant 8-bit weights are for. */
static int conv_integer(struct npu_lower *l, struct npu_gnode *n, bool transposed,
			struct npu_lview *in, struct npu_lint *li)
{
	const struct npu_gtensor *w = n->inputs[1];
	struct npu_lint_args args = { .x = in, .weight = w, .bias = npu_gnode_in(n, 2),
				      .axis = transposed, .outs = n->outputs[0]->dim[1].base,
				      .depth = 1, .has_zero_slot = !transposed };
	int64_t groups = npu_gnode_int(n, "group", 1);

	*li = (struct npu_lint){ .on = false };
	if (!npu_gtensor_is_const(w))
		return n->op == NPU_GOP_Conv || transposed ?
			       0 :
			       npu_lower_refuse(l, "w", "it must be a constant");
	/* [O, C / groups, ...] or, transposed, [C, O / groups, ...] */
	for (int i = 1; i < w->rank; i++)
		if (!(transposed && i == 1))
			args.depth *= w->dim[i].base;
	if (transposed)
		args.depth *= w->dim[0].base / groups;
	if (n->op == NPU_GOP_ConvInteger)
		return npu_lower_plain_integer(l, n, in, NULL, n->outputs[0]->dim[1], args.depth,
					       li);
	return npu_lower_integer(l, &args, li);
}

/* X, W and the result as the instruction's; @whole is the result as the graph has it. */
static int conv_views(struct npu_lower *l, struct npu_gnode *n, bool transposed,
		      struct npu_lint *li, struct npu_lview *v, struct npu_lview *whole)
{
	int64_t groups = npu_gnode_int(n, "group", 1);
	struct npu_gtensor *w = n->inputs[1];
	int err = npu_lower_in(l, n->inputs[0], &v[NPU_CONV_IN]);

	if (!err)
		err = conv_integer(l, n, transposed, &v[NPU_CONV_IN], li);
	if (!err && !li->on)
		err = npu_lower_as_float(l, &v[NPU_CONV_IN]);
	if (!err)
		err = li->on ? npu_lower_out(l, n->outputs[0], whole) :
			       npu_lower_out_float(l, n->outputs[0], whole);
	if (!err)
		err = npu_gtensor_is_const(w) ?
			      conv_weight(l, w, groups, transposed, li->on, &v[NPU_CONV_WEIGHT]) :
			      computed_weight(l, w, transposed, &v[NPU_CONV_WEIGHT]);
	if (err)
		return err;
	v[NPU_CONV_OUT] = *whole;
	err = image_view(l, &v[NPU_CONV_IN]);
	return err ? err : image_view(l, &v[NPU_CONV_OUT]);
}

static int conv_common(struct npu_lower *l, struct npu_gnode *n, enum npu_opcode op)
{
	const bool transposed = op == NPU_OP_CONV_TRANSPOSE;
	int64_t groups = npu_gnode_int(n, "group", 1);
	struct npu_gtensor *w = n->inputs[1];
	struct npu_lview v[3], whole;
	struct npu_linsn *insn;
	struct npu_lint li;
	struct window win;
	int err, rank = n->outputs[0]->rank;

	if (groups < 1 || w->rank != rank || (npu_gtensor_is_const(w) && w->dim[0].base % groups))
		return npu_lower_refuse(l, "group", "%lld groups of a weight of rank %d",
					(long long)groups, w->rank);
	if (n->op != NPU_GOP_ConvInteger && !npu_gtensor_is_real(n->inputs[0]))
		return npu_lower_refuse(
			l, "X", "type %s; floats and quantized 8-bit integers are supported",
			npu_gtype_name(n->inputs[0]->type));
	err = read_window(l, n, rank, &win);
	if (!err)
		err = conv_views(l, n, transposed, &li, v, &whole);
	if (err)
		return err;
	insn = npu_lower_insn(l, op);
	if (!insn)
		return -ENOMEM;
	/* Both opcodes have these places in common (checked where the instruction set is). */
	for (int i = 0; i < 2; i++) {
		npu_linsn_param(insn, NPU_CONV_P_STRIDE_H + (unsigned int)i,
				(uint32_t)win.stride[i]);
		npu_linsn_param(insn, NPU_CONV_P_DIL_H + (unsigned int)i,
				(uint32_t)win.dilation[i]);
		npu_linsn_param(insn, NPU_CONV_P_PAD_TOP + (unsigned int)i, (uint32_t)win.pad[i]);
	}
	npu_linsn_param(insn, NPU_CONV_P_GROUPS, (uint32_t)groups);
	for (unsigned int i = 0; i < 3 && !err; i++)
		err = npu_linsn_operand(l, insn, i, &v[i]);
	if (!err && li.on)
		err = npu_lint_zeros(l, &li, insn, NPU_CONV_WEIGHT, NPU_CONV_W_ZERO,
				     NPU_CONV_X_ZERO);
	if (!err)
		err = npu_lower_epilogue(l, insn, n, NPU_CONV_BIAS, NPU_CONV_P_ACT,
					 rank == 4 ? nhwc : nlc, 1, whole.dim[1].base, &li);
	return err ? err : npu_lower_finish(l, n->outputs[0], &whole);
}

int npu_lower_conv(struct npu_lower *l, struct npu_gnode *n)
{
	return conv_common(l, n, NPU_OP_CONV);
}

int npu_lower_conv_integer(struct npu_lower *l, struct npu_gnode *n)
{
	return conv_common(l, n, NPU_OP_CONV);
}

int npu_lower_conv_transpose(struct npu_lower *l, struct npu_gnode *n)
{
	_Static_assert((int)NPU_CONV_TRANSPOSE_BIAS == (int)NPU_CONV_BIAS &&
			       (int)NPU_CONV_TRANSPOSE_P_STRIDE_H == (int)NPU_CONV_P_STRIDE_H &&
			       (int)NPU_CONV_TRANSPOSE_P_ACT == (int)NPU_CONV_P_ACT,
		       "the two share their code");
	return conv_common(l, n, NPU_OP_CONV_TRANSPOSE);
}

/* ---- pooling --------------------------------------------------------------------------------- */

static int pool_insn(struct npu_lower *l, struct npu_gnode *n, enum npu_pool kind,
		     struct npu_linsn **insn)
{
	struct npu_lview in, out;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = image_view(l, &in);
	if (!err)
		err = image_view(l, &out);
	if (err)
		return err;
	*insn = npu_lower_insn(l, NPU_OP_POOL);
	if (!*insn)
		return -ENOMEM;
	npu_linsn_param(*insn, NPU_POOL_P_KIND, kind);
	err = npu_linsn_operand(l, *insn, NPU_POOL_OUT, &out);
	return err ? err : npu_linsn_operand(l, *insn, NPU_POOL_IN, &in);
}

int npu_lower_pool(struct npu_lower *l, struct npu_gnode *n)
{
	int64_t include = npu_gnode_int(n, "count_include_pad", 0);
	size_t count;
	const int64_t *pads = npu_gnode_ints(n, "pads", &count);
	int rank = n->inputs[0]->rank, spatial = rank - 2, err;
	struct npu_linsn *insn;
	struct window w;

	if (n->num_outputs > 1 && n->outputs[1])
		return npu_lower_refuse(l, "Indices",
					"of 1-D and 2-D windows over known sizes only, which see up to "
					"2^30 elements");
	err = read_window(l, n, rank, &w);
	if (!err)
		err = pool_insn(l, n, n->op == NPU_GOP_MaxPool ? NPU_POOL_MAX : NPU_POOL_AVG,
				&insn);
	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		int from = i - (2 - spatial);
		int64_t end = from >= 0 ? pads[spatial + from] : 0;

		if (end < 0 || end > 65535)
			return npu_lower_refuse(l, "pads", "%lld, supported are 0 to 65535",
						(long long)end);
		npu_linsn_param(insn, NPU_POOL_P_KERNEL_H + (unsigned int)i, (uint32_t)w.kernel[i]);
		npu_linsn_param(insn, NPU_POOL_P_STRIDE_H + (unsigned int)i, (uint32_t)w.stride[i]);
		npu_linsn_param(insn, NPU_POOL_P_DIL_H + (unsigned int)i, (uint32_t)w.dilation[i]);
		npu_linsn_param(insn, NPU_POOL_P_PAD_TOP + (unsigned int)i, (uint32_t)w.pad[i]);
		npu_linsn_param(insn, NPU_POOL_P_PAD_BOTTOM + (unsigned int)i, (uint32_t)end);
	}
	npu_linsn_param(insn, NPU_POOL_P_INCLUDE_PAD, include ? 1 : 0);
	return 0;
}

int npu_lower_global_pool(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_gtensor *in = n->inputs[0];
	struct npu_linsn *insn;
	int err = pool_insn(l, n, n->op == NPU_GOP_GlobalMaxPool ? NPU_POOL_MAX : NPU_POOL_AVG,
			    &insn);

	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		unsigned int p = NPU_POOL_P_KERNEL_H + (unsigned int)i;
		struct npu_dim d = i < 4 - in->rank ? npu_dim_const(1) : in->dim[in->rank - 2 + i];

		insn->len[p] = d;
		npu_linsn_param(insn, p, (uint32_t)npu_dim_high(l->g, d));
		npu_linsn_param(insn, NPU_POOL_P_STRIDE_H + (unsigned int)i, 1);
		npu_linsn_param(insn, NPU_POOL_P_DIL_H + (unsigned int)i, 1);
	}
	return 0;
}

/* ---- resampling ------------------------------------------------------------------------------ */

static int lookup(const char *s, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(s, names[i]))
			return i;
	return -1;
}

int npu_lower_resize(struct npu_lower *l, struct npu_gnode *n)
{
	static const char *const modes[] = { "nearest", "linear", "cubic" };
	static const char *const coords[] = { "half_pixel", "pytorch_half_pixel", "align_corners",
					      "asymmetric" };
	static const char *const nearests[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
						"ceil" };
	const char *mode_s = npu_gnode_string(n, "mode", "nearest");
	const char *coord_s = npu_gnode_string(n, "coordinate_transformation_mode", "half_pixel");
	const char *near_s = npu_gnode_string(n, "nearest_mode", "round_prefer_floor");
	int mode = lookup(mode_s, modes, 3), coord = lookup(coord_s, coords, 4),
	    nearest = lookup(near_s, nearests, 4);
	struct npu_lview in, out;
	struct npu_linsn *insn;
	size_t count = 0;
	const float *scales = npu_gnode_floats(n, "scales", &count);
	int rank = n->inputs[0]->rank, err;

	if (mode < 0)
		return npu_lower_refuse(l, "mode", "%s", mode_s);
	if (coord < 0)
		return npu_lower_refuse(l, "coordinate_transformation_mode", "%s", coord_s);
	if (nearest < 0 && mode == NPU_RESIZE_NEAREST)
		return npu_lower_refuse(l, "nearest_mode", "%s", near_s);
	if (npu_gnode_int(n, "antialias", 0))
		return npu_lower_refuse(l, "antialias", "it must be 0");
	if (!scales || count != (size_t)rank || (rank != 3 && rank != 4))
		return npu_lower_refuse(
			l, "scales",
			"rank %d with %zu scales; images of rank 3 and 4 are supported", rank,
			count);
	if (scales[0] != 1 || scales[1] != 1)
		return npu_lower_refuse(l, "scales", "batch and channels cannot be resized");
	err = npu_lower_in(l, n->inputs[0], &in);
	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = image_view(l, &in);
	if (!err)
		err = image_view(l, &out);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_RESIZE);
	if (!insn)
		return -ENOMEM;
	npu_linsn_param(insn, NPU_RESIZE_P_MODE, (uint32_t)mode);
	npu_linsn_param(insn, NPU_RESIZE_P_COORD, (uint32_t)coord);
	npu_linsn_param(insn, NPU_RESIZE_P_NEAREST, nearest < 0 ? 0 : (uint32_t)nearest);
	npu_linsn_float(insn, NPU_RESIZE_P_SCALE_H, rank == 4 ? scales[2] : 1);
	npu_linsn_float(insn, NPU_RESIZE_P_SCALE_W, scales[rank - 1]);
	npu_linsn_float(insn, NPU_RESIZE_P_CUBIC_A, npu_gnode_float(n, "cubic_coeff_a", -0.75f));
	npu_linsn_param(insn, NPU_RESIZE_P_EXCLUDE_OUTSIDE,
			npu_gnode_int(n, "exclude_outside", 0) ? 1 : 0);
	err = npu_linsn_operand(l, insn, NPU_RESIZE_OUT, &out);
	return err ? err : npu_linsn_operand(l, insn, NPU_RESIZE_IN, &in);
}
