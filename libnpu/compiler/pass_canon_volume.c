// SPDX-License-Identifier: MIT
/*
 * Windows over three dimensions, for which the device has none, as windows over two and one:
 *
 *  - a convolution sees the slices of its window as channels: [N, C, D, H, W] becomes
 *    [N * OD, C * KD, H, W], which copies every slice KD times at most; the sum is one as before;
 *  - a transposed one makes KD results of every slice, [N * D, O * KD, OH, OW], and a transposed
 *    convolution over the depth alone, whose weight is the identity, adds them where they belong;
 *  - the maximum over a box is the maximum over its depth of the maxima over its slices, and so is
 *    the average: the number of elements is a product as well.
 */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass_canon.h"

#define RANK	5

/* [N, C, D, ..] to [N, D, C, ..] and back */
static const int64_t depth_first[] = { 0, 2, 1, 3, 4 };

/* Index 0 is the depth; pads: begin of all, end of all. */
struct volume {
	const int64_t *kernel, *stride, *dilation, *pad;
};

static bool volume_read(const struct npu_gnode *n, struct volume *v)
{
	size_t count[4];

	v->kernel = npu_gnode_ints(n, "kernel_shape", &count[0]);
	v->stride = npu_gnode_ints(n, "strides", &count[1]);
	v->dilation = npu_gnode_ints(n, "dilations", &count[2]);
	v->pad = npu_gnode_ints(n, "pads", &count[3]);
	return count[0] == 3 && count[1] == 3 && count[2] == 3 && count[3] == 6;
}

/* The part of a window over @count of its dimensions from @first on. */
static int set_window(struct npu_graph *g, struct npu_gnode *n, const struct volume *v, int first,
		      int count)
{
	int64_t list[4][6];
	int i;

	for (i = 0; i < count; i++) {
		list[0][i] = v->kernel[first + i];
		list[1][i] = v->stride[first + i];
		list[2][i] = v->dilation[first + i];
		list[3][i] = v->pad[first + i];
		list[3][i + count] = v->pad[3 + first + i];
	}
	if (npu_gnode_set_ints(g, n, "kernel_shape", list[0], (size_t)count) ||
	    npu_gnode_set_ints(g, n, "strides", list[1], (size_t)count) ||
	    npu_gnode_set_ints(g, n, "dilations", list[2], (size_t)count) ||
	    npu_gnode_set_ints(g, n, "pads", list[3], 2 * (size_t)count))
		return -ENOMEM;
	return 0;
}

/* One element at a time, from dimension @first on. */
static bool is_trivial(const struct volume *v, int first, int count)
{
	for (int i = first; i < first + count; i++)
		if (v->kernel[i] != 1 || v->stride[i] != 1 || v->pad[i] || v->pad[3 + i])
			return false;
	return true;
}

/* ---- convolution ----------------------------------------------------------------------------- */

/* [N, C, D, H, W] to [N * OD, C * KD, H, W] */
static void slices_as_channels(struct npu_gchain *c, const struct volume *v, int64_t count)
{
	static const int64_t perm[] = { 0, 2, 1, 3, 4, 5 };
	const int64_t begin[RANK] = { [2] = v->pad[0] }, end[RANK] = { [2] = v->pad[3] };
	const struct npu_window_axis depth = { count, v->kernel[0], v->stride[0], v->dilation[0] };
	struct npu_dim dim[4];

	npu_gchain_pad(c, begin, end, 0);
	npu_gchain_windows(c, 2, &depth);
	npu_gchain_transpose(c, perm);
	if (!c->t)
		return;
	memcpy(&dim[2], &c->t->dim[4], 2 * sizeof(*dim));
	if (npu_dim_scale(c->t->dim[0], count, &dim[0]) ||
	    npu_dim_scale(c->t->dim[2], v->kernel[0], &dim[1]))
		c->t = NULL;
	npu_gchain_reshape(c, dim, 4);
}

static int conv_slices(struct npu_graph *g, struct npu_gnode *n, const struct volume *v)
{
	struct npu_gtensor *y = n->outputs[0], *w = n->inputs[1];
	const int64_t kernel[] = { w->dim[0].base, w->dim[1].base * v->kernel[0], v->kernel[1],
				   v->kernel[2] };
	struct npu_dim dim[RANK] = { y->dim[0], y->dim[2], y->dim[1], y->dim[3], y->dim[4] };
	struct npu_gchain before = { g, n, n->inputs[0] }, after = { g, n, NULL };

	slices_as_channels(&before, v, y->dim[2].base);
	w = npu_canon_reshaped(g, n, w, kernel, 4);
	if (!before.t || !w || npu_gnode_set_input(g, n, 0, before.t) ||
	    npu_gnode_set_input(g, n, 1, w) || set_window(g, n, v, 1, 2))
		return -ENOMEM;
	after.t = npu_canon_detach(
		g, n, (struct npu_dim[]){ before.t->dim[0], y->dim[1], y->dim[3], y->dim[4] }, 4);
	npu_gchain_reshape(&after, dim, RANK);
	npu_gchain_transpose(&after, depth_first);
	return npu_gchain_replace(&after, y);
}

/* A window of one pixel is one over a picture of D rows of H * W pixels. */
static int conv_depth(struct npu_graph *g, struct npu_gnode *n, const struct volume *v)
{
	struct npu_gtensor *y = n->outputs[0], *x = n->inputs[0], *w = n->inputs[1];
	const int64_t kernel[] = { w->dim[0].base, w->dim[1].base, v->kernel[0], 1 };
	struct npu_dim plane, dim[4] = { x->dim[0], x->dim[1], x->dim[2] };
	struct npu_gchain before = { g, n, x }, after = { g, n, NULL };
	const int64_t kernels[3] = { 0, v->kernel[0], 1 }, strides[3] = { 0, v->stride[0], 1 },
		      dilations[3] = { 0, v->dilation[0], 1 },
		      pads[6] = { 0, v->pad[0], 0, 0, v->pad[3], 0 };
	const struct volume rows = { kernels, strides, dilations, pads };

	if (npu_dims_product(&x->dim[3], 2, &plane))
		return 0;
	dim[3] = plane;
	npu_gchain_reshape(&before, dim, 4);
	w = npu_canon_reshaped(g, n, w, kernel, 4);
	if (!before.t || !w || npu_gnode_set_input(g, n, 0, before.t) ||
	    npu_gnode_set_input(g, n, 1, w) || set_window(g, n, &rows, 1, 2))
		return -ENOMEM;
	dim[1] = y->dim[1];
	dim[2] = y->dim[2];
	after.t = npu_canon_detach(g, n, dim, 4);
	npu_gchain_reshape(&after, y->dim, RANK);
	return npu_gchain_replace(&after, y);
}

static int volume_conv(struct npu_graph *g, struct npu_gnode *n)
{
	const struct npu_gtensor *x = n->inputs[0], *y = n->outputs[0];
	struct npu_dim batch;
	struct volume v;

	if (!volume_read(n, &v) || !npu_gtensor_is_static(n->inputs[1]))
		return 0;
	if (is_trivial(&v, 1, 2))
		return conv_depth(g, n, &v);
	/* the zero point that stands in the padding of ConvInteger may be known at run time only */
	if (n->op == NPU_GOP_ConvInteger && (v.pad[0] || v.pad[3]))
		return 0;
	if (!npu_dim_is_const(x->dim[2]) || npu_dim_scale(x->dim[0], y->dim[2].base, &batch) ||
	    !npu_canon_table_fits(y->dim[2].base, v.kernel[0]) ||
	    !npu_canon_elems_fit(g, (struct npu_dim[]){ batch, x->dim[1], x->dim[3], x->dim[4] }, 4,
				 v.kernel[0]))
		return 0;
	return conv_slices(g, n, &v);
}

/* ---- transposed convolution ------------------------------------------------------------------ */

/* [K, 1, K] with a 1 where both are the same. */
static struct npu_gtensor *identity_weight(struct npu_graph *g, enum npu_gtype type, int64_t k)
{
	const int64_t dims[3] = { k, 1, k };
	struct npu_gtensor *t = npu_graph_const(g, "identity", type, 3, dims, NULL);

	for (int64_t i = 0; t && i < k; i++)
		npu_fold_put(t, (size_t)(i * k + i), 1);
	return t;
}

/*
 * [N, D, O, KD, OH, OW] to [N, O, OD, OH, OW]: result k of slice d goes to slice d * stride + k *
 * dilation.
 */
static void add_slices(struct npu_gchain *c, const struct volume *v, const struct npu_gtensor *y)
{
	static const int64_t depth_last[] = { 0, 2, 4, 5, 3, 1 }, back[] = { 0, 1, 4, 2, 3 };
	struct npu_dim dim[RANK] = { y->dim[0], y->dim[1], y->dim[3], y->dim[4], y->dim[2] };
	struct npu_dim row[3];
	struct npu_gnode *conv;

	npu_gchain_transpose(c, depth_last);
	if (!c->t || npu_dims_product(dim, 4, &row[0])) {
		c->t = NULL;
		return;
	}
	row[1] = c->t->dim[4];
	row[2] = c->t->dim[5];
	npu_gchain_reshape(c, row, 3);
	row[1] = npu_dim_const(1);
	row[2] = y->dim[2];
	conv = npu_gchain_add(c, NPU_GOP_ConvTranspose,
			      identity_weight(c->g, y->type, v->kernel[0]), row, 3);
	if (!conv || conv->num_inputs != 2 || set_window(c->g, conv, v, 0, 1) ||
	    npu_gnode_set_int(c->g, conv, "group", 1)) {
		c->t = NULL;
		return;
	}
	npu_gchain_reshape(c, dim, RANK);
	npu_gchain_transpose(c, back);
}

static int volume_conv_transpose(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gtensor *x = n->inputs[0], *y = n->outputs[0], *w = n->inputs[1];
	struct npu_gtensor *bias = npu_gnode_in(n, 2);
	struct npu_dim dim[6], batch, row;
	int64_t kernel[4], filters = y->dim[1].base;
	struct npu_gchain c = { g, n, x };
	struct volume v;

	/* one scale per output would be one per output and slice */
	if (!volume_read(n, &v) || !npu_gtensor_is_static(w) || (w->quant && w->quant->axis >= 0) ||
	    !npu_dim_is_const(x->dim[2]) || !npu_dim_is_const(y->dim[2]) ||
	    !npu_canon_table_fits(v.kernel[0], v.kernel[0]) ||
	    npu_dim_scale(x->dim[0], x->dim[2].base, &batch) ||
	    !npu_canon_elems_fit(g, (struct npu_dim[]){ batch, y->dim[1], y->dim[3], y->dim[4] }, 4,
				 v.kernel[0]) ||
	    npu_dims_product((struct npu_dim[]){ y->dim[0], y->dim[3], y->dim[4] }, 3, &row))
		return 0;
	memcpy(kernel,
	       (int64_t[]){ w->dim[0].base, w->dim[1].base * v.kernel[0], v.kernel[1],
			    v.kernel[2] },
	       sizeof(kernel));
	npu_gchain_transpose(&c, depth_first);
	npu_gchain_reshape(&c, (struct npu_dim[]){ batch, x->dim[1], x->dim[3], x->dim[4] }, 4);
	w = npu_canon_reshaped(g, n, w, kernel, 4);
	if (!c.t || !w || npu_gnode_set_input(g, n, 0, c.t) || npu_gnode_set_input(g, n, 1, w) ||
	    set_window(g, n, &v, 1, 2))
		return -ENOMEM;
	npu_gnode_trim_inputs(n, 2);
	dim[0] = batch;
	dim[1] = npu_dim_const(filters * v.kernel[0]);
	dim[2] = y->dim[3];
	dim[3] = y->dim[4];
	c.t = npu_canon_detach(g, n, dim, 4);
	npu_gchain_reshape(&c,
			   (struct npu_dim[]){ y->dim[0], x->dim[2], y->dim[1],
					       npu_dim_const(v.kernel[0]), y->dim[3], y->dim[4] },
			   6);
	add_slices(&c, &v, y);
	if (bias)
		npu_gchain_binary(
			&c, NPU_GOP_Add,
			npu_canon_reshaped(g, n, bias, (int64_t[]){ filters, 1, 1, 1 }, 4));
	return npu_gchain_replace(&c, y);
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* The same pooling as @n's over a part of its window. */
static void pool_part(struct npu_gchain *c, const struct npu_gnode *n, const struct volume *v,
		      int first, int count, const struct npu_dim *dim)
{
	struct npu_gnode *p = npu_gchain_add(c, n->op, NULL, dim, count + 2);

	if (!p || set_window(c->g, p, v, first, count) ||
	    npu_gnode_set_int(c->g, p, "ceil_mode", npu_gnode_int(n, "ceil_mode", 0)) ||
	    npu_gnode_set_int(c->g, p, "count_include_pad",
			      npu_gnode_int(n, "count_include_pad", 0)))
		c->t = NULL;
}

static int volume_pool(struct npu_graph *g, struct npu_gnode *n)
{
	static const int64_t swap[] = { 0, 2, 1 };
	struct npu_gtensor *x = n->inputs[0], *y = n->outputs[0];
	struct npu_dim slices, rows, plane, dim[4];
	struct npu_gchain c = { g, n, x };
	struct volume v;

	if (!volume_read(n, &v) || (n->num_outputs > 1 && n->outputs[1]) ||
	    npu_dims_product(&x->dim[1], 2, &slices) || npu_dims_product(x->dim, 2, &rows) ||
	    npu_dims_product(&y->dim[3], 2, &plane))
		return 0;
	memcpy(dim, (struct npu_dim[]){ x->dim[0], slices, x->dim[3], x->dim[4] }, sizeof(dim));
	if (!is_trivial(&v, 1, 2)) {
		npu_gchain_reshape(&c, dim, 4);
		dim[2] = y->dim[3];
		dim[3] = y->dim[4];
		pool_part(&c, n, &v, 1, 2, dim);
	}
	npu_gchain_reshape(&c, (struct npu_dim[]){ rows, x->dim[2], plane }, 3);
	npu_gchain_transpose(&c, swap);
	pool_part(&c, n, &v, 0, 1, (struct npu_dim[]){ rows, plane, y->dim[2] });
	npu_gchain_transpose(&c, swap);
	npu_gchain_reshape(&c, y->dim, RANK);
	if (npu_gchain_replace(&c, y))
		return -ENOMEM;
	npu_graph_remove(g, n);
	return 0;
}

/* Over all of the volume, whatever its rank: one row of pixels. */
static int volume_global_pool(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gtensor *x = n->inputs[0], *y = n->outputs[0];
	struct npu_dim dim[3] = { x->dim[0], x->dim[1] };
	struct npu_gchain c = { g, n, x };

	if (npu_dims_product(&x->dim[2], x->rank - 2, &dim[2]))
		return 0;
	npu_gchain_reshape(&c, dim, 3);
	dim[2] = npu_dim_const(1);
	npu_gchain_add(&c, n->op, NULL, dim, 3);
	npu_gchain_reshape(&c, y->dim, y->rank);
	if (npu_gchain_replace(&c, y))
		return -ENOMEM;
	npu_graph_remove(g, n);
	return 0;
}

int npu_canon_volume(struct npu_graph *g, struct npu_gnode *n)
{
	int rank = n->inputs[0]->rank;

	if ((n->op == NPU_GOP_GlobalAveragePool || n->op == NPU_GOP_GlobalMaxPool) && rank >= RANK)
		return volume_global_pool(g, n);
	if (rank != RANK)
		return 0;
	switch (n->op) {
	case NPU_GOP_Conv:
	case NPU_GOP_ConvInteger:
		return volume_conv(g, n);
	case NPU_GOP_ConvTranspose:
		return volume_conv_transpose(g, n);
	case NPU_GOP_MaxPool:
	case NPU_GOP_AveragePool:
		return volume_pool(g, n);
	default:
		return 0;
	}
}
