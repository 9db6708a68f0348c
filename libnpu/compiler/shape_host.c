// SPDX-License-Identifier: MIT
/*
 * Shapes of operators that only the host does. A length that the data decide is given as its bound;
 * the table of host operators says which those are.
 */
#include <errno.h>
#include <string.h>

#include "compiler/onnx_import.h"
#include "compiler/shape.h"
#include "host/einsum.h"

static int bad_rank(struct npu_shape *s, unsigned int input, int rank, const char *expected)
{
	return npu_diag_node(s->diag, -EINVAL, s->n, NULL, "input %u has rank %d, expected %s",
			     input, rank, expected);
}

/* The product of all dims of @t; reports what is not linear in one length. */
static int all_elements(struct npu_shape *s, const struct npu_gtensor *t, struct npu_dim *out)
{
	if (npu_dims_product(t->dim, t->rank, out))
		return npu_shape_nonlinear(s, "size", t->dim[0], 0);
	return 0;
}

static int nms(struct npu_shape *s)
{
	const struct npu_gtensor *boxes = npu_shape_in(s, 0), *scores = npu_shape_in(s, 1),
				 *most = npu_shape_in(s, 2);
	struct npu_dim dims[2] = { npu_dim_const(0), npu_dim_const(3) }, value;

	if (boxes->rank != 3 || scores->rank != 3)
		return bad_rank(s, 0, boxes->rank, "3, as of the scores");
	dims[0] = scores->dim[2];
	if (!most)
		dims[0] = npu_dim_const(0);
	else if (npu_tensor_has_value(most) && npu_tensor_value(most, 0, &value) &&
		 npu_dim_is_const(value) && value.base < npu_dim_low(s->g, dims[0]))
		dims[0] = npu_dim_const(value.base > 0 ? value.base : 0);
	if (npu_dim_mul(dims[0], scores->dim[0], &dims[0]) ||
	    npu_dim_mul(dims[0], scores->dim[1], &dims[0]))
		return npu_shape_nonlinear(s, "scores", scores->dim[2], 0);
	return npu_shape_out(s, 0, NPU_GT_I64, 2, dims);
}

static int non_zero(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[2] = { npu_dim_const(x->rank ? x->rank : 1), npu_dim_const(1) };
	int err = x->rank ? all_elements(s, x, &dims[1]) : 0;

	return err ? err : npu_shape_out(s, 0, NPU_GT_I64, 2, dims);
}

/* Compress and Unique: along an axis, or of the flattened tensor. */
static int selection(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *cond = npu_shape_in(s, 1);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK], count;
	int axis = 0, rank = x->rank, err;
	unsigned int i;

	memcpy(dims, x->dim, sizeof(dims));
	if (npu_gnode_attr(s->n, "axis")) {
		err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", 0), x->rank, &axis);
		if (!err)
			err = npu_gnode_set_int(s->g, s->n, "axis", axis);
	} else {
		rank = 1;
		err = all_elements(s, x, &dims[0]);
	}
	if (err)
		return err;
	/* no more than there are conditions */
	if (s->n->op == NPU_GOP_Compress && cond->rank == 1)
		npu_dim_min(s->g, dims[axis], cond->dim[0], &dims[axis]);
	count = dims[axis];
	err = npu_shape_out(s, 0, x->type, rank, dims);
	for (i = 1; i < s->n->num_outputs && !err; i++)
		err = npu_shape_out(s, i, NPU_GT_I64, 1, &count);
	return err;
}

static int roi_align(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *rois = npu_shape_in(s, 1);
	struct npu_dim dims[4];

	if (x->rank != 4 || rois->rank != 2)
		return bad_rank(s, x->rank != 4 ? 0 : 1, x->rank != 4 ? x->rank : rois->rank,
				x->rank != 4 ? "4" : "2");
	dims[0] = rois->dim[0];
	dims[1] = x->dim[1];
	dims[2] = npu_dim_const(npu_gnode_int(s->n, "output_height", 1));
	dims[3] = npu_dim_const(npu_gnode_int(s->n, "output_width", 1));
	if (dims[2].base < 1 || dims[3].base < 1)
		return npu_diag_node(s->diag, -EINVAL, s->n, "output_height",
				     "%lld by %lld, expected 1 or more", (long long)dims[2].base,
				     (long long)dims[3].base);
	return npu_shape_out(s, 0, x->type, 4, dims);
}

static int grid_sample(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *at = npu_shape_in(s, 1);
	struct npu_dim dims[4];

	if (x->rank != 4 || at->rank != 4)
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
				     "ranks %d and %d; pictures of rank 4 are supported", x->rank,
				     at->rank);
	dims[0] = x->dim[0];
	dims[1] = x->dim[1];
	dims[2] = at->dim[1];
	dims[3] = at->dim[2];
	return npu_shape_out(s, 0, x->type, 4, dims);
}

static int det(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);

	if (x->rank < 2 || !npu_dim_equal(x->dim[x->rank - 1], x->dim[x->rank - 2]))
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "input '%s' holds no square matrices", x->name);
	return npu_shape_out(s, 0, x->type, x->rank - 2, x->dim);
}

/* An element type of ONNX's in an integer attribute; @def when it is absent. */
static int type_attr(struct npu_shape *s, const char *name, enum npu_gtype def,
		     enum npu_gtype *type)
{
	int64_t v = npu_gnode_int(s->n, name, 0);

	*type = v ? npu_onnx_type(v > 0 && v < 1000 ? (int)v : -1) : def;
	if (*type == NPU_GT_NONE || *type == NPU_GT_STRING)
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, name,
				     "element type %lld is not supported", (long long)v);
	return 0;
}

static int eye_like(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	enum npu_gtype type;
	int err = type_attr(s, "dtype", x->type, &type);

	if (!err && x->rank != 2)
		err = bad_rank(s, 0, x->rank, "2");
	return err ? err : npu_shape_out(s, 0, type, 2, x->dim);
}

static int window(struct npu_shape *s)
{
	const struct npu_gtensor *size = npu_shape_in(s, 0);
	struct npu_dim n;
	enum npu_gtype type;
	int err = type_attr(s, "output_datatype", NPU_GT_F32, &type);

	if (err)
		return err;
	if (!npu_tensor_has_value(size) || !npu_tensor_value(size, 0, &n))
		return npu_diag_node(
			s->diag, -EOPNOTSUPP, s->n, "size",
			"it must be known when compiling: the result's length has no bound");
	return npu_shape_out(s, 0, type, 1, &n);
}

static int max_unpool(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	size_t kernels, strides, pads;
	const int64_t *k = npu_gnode_ints(s->n, "kernel_shape", &kernels);
	const int64_t *st = npu_gnode_ints(s->n, "strides", &strides);
	const int64_t *p = npu_gnode_ints(s->n, "pads", &pads);
	struct npu_dim dims[2 * NPU_GRAPH_MAX_RANK];
	size_t spatial = x->rank > 2 ? (size_t)x->rank - 2 : 0, i;
	int n;

	if (!spatial || kernels != spatial || (strides && strides != spatial) ||
	    (pads && pads != 2 * spatial))
		return npu_diag_node(s->diag, -EINVAL, s->n, "kernel_shape",
				     "the windows do not fit an input of rank %d", x->rank);
	n = npu_shape_in(s, 2) ? npu_shape_list(s, NULL, 2, dims) : -ENOENT;
	if (n >= 0 && n != x->rank)
		return npu_diag_node(s->diag, -EINVAL, s->n, "output_shape",
				     "%d entries, expected %d", n, x->rank);
	if (n != -ENOENT)
		return n < 0 ? n : npu_shape_out(s, 0, x->type, x->rank, dims);
	memcpy(dims, x->dim, sizeof(x->dim));
	for (i = 0; i < spatial; i++) {
		struct npu_dim *d = &dims[i + 2];

		if (k[i] < 1 || k[i] > 1 << 24 || (strides && (st[i] < 1 || st[i] > 1 << 24)) ||
		    (pads && (p[i] < 0 || p[i] > 1 << 24 || p[spatial + i] < 0 ||
			      p[spatial + i] > 1 << 24)))
			return npu_diag_node(s->diag, -EINVAL, s->n, "kernel_shape", "window %zu",
					     i);
		if (npu_dim_add(*d, npu_dim_const(-1), d) ||
		    npu_dim_scale(*d, strides ? st[i] : 1, d) ||
		    npu_dim_add(*d, npu_dim_const(k[i] - (pads ? p[i] + p[spatial + i] : 0)), d))
			return npu_shape_nonlinear(s, "strides", x->dim[i + 2], 0);
	}
	return npu_shape_out(s, 0, x->type, x->rank, dims);
}

static int loss(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *target = npu_shape_in(s, 1);
	bool none = !strcmp(npu_gnode_string(s->n, "reduction", "mean"), "none");
	int err;

	if (x->rank < 2 || target->rank != x->rank - 1)
		return bad_rank(s, 1, target->rank, "one less than the scores'");
	err = npu_shape_out(s, 0, x->type, none ? target->rank : 0, target->dim);
	return err ? err : npu_shape_out(s, 1, x->type, x->rank, x->dim);
}

/* A parameter that is an input and has to be one number known now. */
static int number_input(struct npu_shape *s, unsigned int i, const char *what, int64_t *out)
{
	const struct npu_gtensor *t = npu_shape_in(s, i);
	struct npu_dim d;

	if (!npu_tensor_has_value(t) || !npu_tensor_value(t, 0, &d) || !npu_dim_is_const(d))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, what,
				     "it must be known when compiling");
	*out = d.base;
	return 0;
}

static int dft(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	bool onesided = npu_gnode_int(s->n, "onesided", 0) != 0;
	int64_t at = npu_gnode_int(s->n, "axis", s->n->opset < 20 ? 1 : -2), length;
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	int axis, err = 0;

	if (x->rank < 2)
		return bad_rank(s, 0, x->rank, "2 or more");
	if (npu_shape_in(s, 2))
		err = number_input(s, 2, "axis", &at);
	if (!err)
		err = npu_shape_axis_arg(s, "axis", at, x->rank, &axis);
	if (err)
		return err;
	if (onesided && npu_gnode_int(s->n, "inverse", 0))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "onesided",
				     "of an inverse transform");
	memcpy(dims, x->dim, sizeof(dims));
	dims[x->rank - 1] = npu_dim_const(2);
	if (npu_shape_in(s, 1)) {
		err = number_input(s, 1, "dft_length", &length);
		dims[axis] = npu_dim_const(err ? 0 : length);
	}
	if (!err && onesided)
		err = npu_shape_div_floor(s, "onesided", dims[axis], 2, &dims[axis]);
	if (!err && onesided)
		err = npu_dim_add(dims[axis], npu_dim_const(1), &dims[axis]);
	return err ? err : npu_shape_out(s, 0, x->type, x->rank, dims);
}

static int stft(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *w = npu_shape_in(s, 2);
	struct npu_dim dims[4] = { npu_dim_const(1) };
	int64_t step, frame = 0;
	int err = number_input(s, 1, "frame_step", &step);

	if (!err && npu_shape_in(s, 3))
		err = number_input(s, 3, "frame_length", &frame);
	else if (!err && w && w->rank == 1 && npu_dim_is_const(w->dim[0]))
		frame = w->dim[0].base;
	if (err)
		return err;
	if (x->rank < 2 || step < 1 || frame < 1)
		return npu_diag_node(s->diag, -EINVAL, s->n, "frame_length",
				     "frames of %lld every %lld of a signal of rank %d",
				     (long long)frame, (long long)step, x->rank);
	dims[0] = x->dim[0];
	if (npu_dim_add(x->dim[1], npu_dim_const(-frame), &dims[1]))
		return npu_shape_nonlinear(s, "signal", x->dim[1], 0);
	err = npu_shape_div_floor(s, "frame_step", dims[1], step, &dims[1]);
	if (!err)
		err = npu_dim_add(dims[1], npu_dim_const(1), &dims[1]);
	dims[2] = npu_dim_const(npu_gnode_int(s->n, "onesided", 1) ? frame / 2 + 1 : frame);
	dims[3] = npu_dim_const(2);
	return err ? err : npu_shape_out(s, 0, x->type, 4, dims);
}

static int einsum(struct npu_shape *s)
{
	const char *equation = npu_gnode_string(s->n, "equation", "");
	struct npu_dim size[NPU_EINSUM_LABELS], dims[NPU_EINSUM_RANK];
	bool known[NPU_EINSUM_LABELS] = { false };
	int rank[NPU_EINSUM_TERMS] = { 0 }, i, k, label;
	struct npu_einsum e;

	for (i = 0; i < (int)s->n->num_inputs && i < NPU_EINSUM_TERMS; i++)
		rank[i] = npu_shape_in(s, (unsigned int)i)->rank;
	if (!npu_einsum_parse(&e, equation, (int)s->n->num_inputs, rank))
		return npu_diag_node(s->diag, -EINVAL, s->n, "equation",
				     "'%.100s' does not fit %u inputs of these ranks", equation,
				     s->n->num_inputs);
	for (i = 0; i < e.num_terms; i++)
		for (k = 0; k < e.rank[i]; k++) {
			struct npu_dim d = npu_shape_in(s, (unsigned int)i)->dim[k];
			bool one = npu_dim_is_const(d) && d.base == 1;

			label = e.label[i][k];
			if (known[label] && !one && !npu_dim_equal(size[label], d) &&
			    !(npu_dim_is_const(size[label]) && size[label].base == 1))
				return npu_diag_node(
					s->diag, -EINVAL, s->n, "equation",
					"dimension %d of input %d has another size than the same letter elsewhere",
					k, i);
			if (!known[label] || !one)
				size[label] = d;
			known[label] = true;
		}
	for (i = 0; i < e.rank[NPU_EINSUM_RESULT]; i++) {
		label = e.label[NPU_EINSUM_RESULT][i];
		if (!known[label])
			return npu_diag_node(s->diag, -EINVAL, s->n, "equation",
					     "a letter of the result is in no input");
		dims[i] = size[label];
	}
	return npu_shape_out(s, 0, npu_shape_in(s, 0)->type, e.rank[NPU_EINSUM_RESULT], dims);
}

int npu_shape_host(struct npu_shape *s)
{
	switch (s->n->op) {
	case NPU_GOP_NonMaxSuppression:
		return nms(s);
	case NPU_GOP_NonZero:
		return non_zero(s);
	case NPU_GOP_Compress: case NPU_GOP_Unique:
		return selection(s);
	case NPU_GOP_RoiAlign:
		return roi_align(s);
	case NPU_GOP_GridSample:
		return grid_sample(s);
	case NPU_GOP_Det:
		return det(s);
	case NPU_GOP_EyeLike:
		return eye_like(s);
	case NPU_GOP_HannWindow: case NPU_GOP_HammingWindow: case NPU_GOP_BlackmanWindow:
		return window(s);
	case NPU_GOP_MaxUnpool:
		return max_unpool(s);
	case NPU_GOP_NegativeLogLikelihoodLoss: case NPU_GOP_SoftmaxCrossEntropyLoss:
		return loss(s);
	case NPU_GOP_DFT:
		return dft(s);
	case NPU_GOP_STFT:
		return stft(s);
	case NPU_GOP_Einsum:
		return einsum(s);
	case NPU_GOP_BitShift:
	case NPU_GOP_BitwiseAnd:
	case NPU_GOP_BitwiseOr:
	case NPU_GOP_BitwiseXor: return npu_shape_elementwise(s);
	default:
		return npu_shape_same(s);	/* Shrink, ... */
	}
}
