// SPDX-License-Identifier: MIT
/*
 * Pooling that is more than a maximum or an average: the place of the maximum, and the norm of a
 * window. What every window sees becomes a row of its own, [N, C, OH, OW, KH * KW], which is then
 * reduced.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass_canon.h"

/* Windows over one or two dimensions of known size; [0] is the outer one. */
struct windows {
	int spatial;
	struct npu_window_axis axis[2];
	int64_t begin[2], end[2]; /* padding that all of the windows see */
	int64_t size[2];	  /* of the input */
};

static bool windows_read(const struct npu_graph *g, const struct npu_gnode *n, struct windows *w)
{
	const struct npu_gtensor *x = n->inputs[0], *y = n->outputs[0];
	int64_t taps = 1;
	size_t lists[4];
	const int64_t *kernel = npu_gnode_ints(n, "kernel_shape", &lists[0]);
	const int64_t *stride = npu_gnode_ints(n, "strides", &lists[1]);
	const int64_t *dilation = npu_gnode_ints(n, "dilations", &lists[2]);
	const int64_t *pad = npu_gnode_ints(n, "pads", &lists[3]);

	w->spatial = x->rank - 2;
	if (w->spatial < 1 || w->spatial > 2 || lists[0] != (size_t)w->spatial ||
	    lists[1] != lists[0] || lists[2] != lists[0] || lists[3] != 2 * lists[0])
		return false;
	for (int i = 0; i < w->spatial; i++) {
		struct npu_window_axis *a = &w->axis[i];
		int64_t reach;

		if (!npu_dim_is_const(x->dim[2 + i]) || !npu_dim_is_const(y->dim[2 + i]))
			return false;
		*a = (struct npu_window_axis){ y->dim[2 + i].base, kernel[i], stride[i],
					       dilation[i] };
		w->size[i] = x->dim[2 + i].base;
		w->begin[i] = pad[i];
		reach = (a->count - 1) * a->stride + (a->taps - 1) * a->dilation + 1 - pad[i];
		w->end[i] = reach > w->size[i] ? reach - w->size[i] : 0;
		taps *= a->taps;
		if (!npu_canon_table_fits(a->count, a->taps))
			return false;
	}
	return npu_canon_table_fits(taps, 1) && npu_canon_elems_fit(g, y->dim, y->rank, taps);
}

/* [N, C, H, W] to [N, C, OH, OW, KH * KW]; @outside is what padding holds. */
static void windows_as_rows(struct npu_gchain *c, const struct windows *w, float outside)
{
	static const int64_t taps_last[] = { 0, 1, 2, 4, 3, 5 };
	int64_t begin[4] = { 0 }, end[4] = { 0 };
	struct npu_dim dim[5];

	memcpy(&begin[2], w->begin, sizeof(w->begin));
	memcpy(&end[2], w->end, sizeof(w->end));
	npu_gchain_pad(c, begin, end, outside);
	npu_gchain_windows(c, 2, &w->axis[0]);
	if (w->spatial == 1)
		return;
	npu_gchain_windows(c, 4, &w->axis[1]);
	npu_gchain_transpose(c, taps_last);
	if (!c->t)
		return;
	memcpy(dim, c->t->dim, 4 * sizeof(*dim));
	dim[4] = npu_dim_const(w->axis[0].taps * w->axis[1].taps);
	npu_gchain_reshape(c, dim, 5);
}

/* ---- where the maximum is -------------------------------------------------------------------- */

/*
 * Index of the element @k of every window's first one, relative to the window: rows of W elements,
 * or, with @columns, columns of H.
 */
static void strides_of(const struct windows *w, bool columns, int64_t step[2])
{
	step[0] = w->spatial == 1 || columns ? 1 : w->size[1];
	step[1] = columns ? w->size[0] : 1;
}

static struct npu_gtensor *tap_offsets(struct npu_graph *g, const struct windows *w,
				       const int64_t *step)
{
	const struct npu_window_axis *a = &w->axis[0], *b = &w->axis[1];
	int64_t wide = w->spatial == 2 ? b->taps : 1, dims[1] = { a->taps * wide };
	struct npu_gtensor *t = npu_graph_const(g, "taps", NPU_GT_I64, 1, dims, NULL);

	for (int64_t k = 0; t && k < dims[0]; k++)
		npu_fold_put_int(t, (size_t)k,
				 k / wide * a->dilation * step[0] +
					 (w->spatial == 2 ? k % wide * b->dilation * step[1] : 0));
	return t;
}

/* Where windows begin, [OH, OW]. */
static struct npu_gtensor *window_offsets(struct npu_graph *g, const struct windows *w,
					  const int64_t *step)
{
	const struct npu_window_axis *a = &w->axis[0], *b = &w->axis[1];
	int64_t wide = w->spatial == 2 ? b->count : 1, dims[2] = { a->count, wide };
	struct npu_gtensor *t = npu_graph_const(g, "windows", NPU_GT_I64, w->spatial, dims, NULL);

	for (int64_t i = 0; t && i < a->count * wide; i++) {
		int64_t at = (i / wide * a->stride - w->begin[0]) * step[0];

		if (w->spatial == 2)
			at += (i % wide * b->stride - w->begin[1]) * step[1];
		npu_fold_put_int(t, (size_t)i, at);
	}
	return t;
}

/* Where the planes begin, [N, C, 1, 1]. */
static struct npu_gtensor *plane_offsets(struct npu_graph *g, const struct npu_gtensor *x)
{
	int64_t dims[4] = { x->dim[0].base, x->dim[1].base, 1, 1 }, size = 1;
	struct npu_gtensor *t = npu_graph_const(g, "planes", NPU_GT_I64, x->rank, dims, NULL);

	for (int i = 2; i < x->rank; i++)
		size *= x->dim[i].base;
	for (int64_t i = 0; t && i < dims[0] * dims[1]; i++)
		npu_fold_put_int(t, (size_t)i, i * size);
	return t;
}

/* The first of the largest elements; a NaN is larger than everything. */
static void first_largest(struct npu_gchain *c)
{
	struct npu_gnode *arg;

	arg = c->t ? npu_gchain_add(c, NPU_GOP_ArgMax, NULL, c->t->dim, c->t->rank - 1) : NULL;
	if (!arg)
		return;
	arg->outputs[0]->type = NPU_GT_I64;
	if (npu_gnode_set_int(c->g, arg, "axis", arg->inputs[0]->rank - 1) ||
	    npu_gnode_set_int(c->g, arg, "keepdims", 0) ||
	    npu_gnode_set_int(c->g, arg, "select_last_index", 0))
		c->t = NULL;
}

/* The number of tap that won, by way of tables, as the index in the whole input. */
static void taps_to_index(struct npu_gchain *c, const struct windows *w,
			  const struct npu_gtensor *x, bool columns)
{
	struct npu_gtensor *taps;
	struct npu_gnode *look;
	int64_t step[2];

	strides_of(w, columns, step);
	taps = tap_offsets(c->g, w, step);
	if (!c->t || !taps) {
		c->t = NULL;
		return;
	}
	look = npu_graph_insert(c->g, NPU_GOP_Gather, c->from,
				(struct npu_gtensor *[]){ taps, c->t }, 2, c->t);
	c->t = look && !npu_gnode_set_int(c->g, look, "axis", 0) ? look->outputs[0] : NULL;
	npu_gchain_binary(c, NPU_GOP_Add, window_offsets(c->g, w, step));
	npu_gchain_binary(c, NPU_GOP_Add, plane_offsets(c->g, x));
}

static int pool_indices(struct npu_graph *g, struct npu_gnode *n)
{
	const struct npu_gtensor *x = n->inputs[0];
	struct npu_gchain c = { g, n, n->inputs[0] };
	struct npu_gtensor *y = n->outputs[1];
	struct windows w;

	if (!npu_gtensor_is_static(x) || !windows_read(g, n, &w) ||
	    !npu_canon_table_fits(x->dim[0].base, x->dim[1].base) ||
	    !npu_canon_table_fits(w.axis[0].count, w.spatial == 2 ? w.axis[1].count : 1))
		return 0;
	/* below every integer, so that padding never wins */
	if (!npu_fold_is_float(x->type))
		npu_gchain_cast(&c, NPU_GT_F32);
	windows_as_rows(&c, &w, -INFINITY);
	first_largest(&c);
	taps_to_index(&c, &w, x, npu_gnode_int(n, "storage_order", 0) != 0);
	if (npu_gchain_replace(&c, y))
		return -ENOMEM;
	y->producer = NULL;
	n->outputs[1] = NULL;
	n->num_outputs = 1;
	return 0;
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* Over the dimensions from @first on, which stay as 1 with @keep. */
static void norm(struct npu_gchain *c, int first, int64_t p, const struct npu_gtensor *y, bool keep)
{
	enum npu_gop op = p == 1 ? NPU_GOP_ReduceL1 : p == 2 ? NPU_GOP_ReduceL2 : NPU_GOP_ReduceSum;
	int64_t axes[NPU_GRAPH_MAX_RANK];
	int rank = c->t ? c->t->rank : 0;
	struct npu_gnode *r;

	if (rank && p > 2) {
		npu_gchain_add(c, NPU_GOP_Abs, NULL, c->t->dim, rank);
		npu_gchain_binary(c, NPU_GOP_Pow,
				  npu_canon_scalar(c->g, c->from, y->type, (float)p));
	}
	for (int i = first; i < rank; i++)
		axes[i - first] = i;
	r = npu_gchain_add(c, op, NULL, y->dim, y->rank);
	if (r && (npu_gnode_set_ints(c->g, r, "axes", axes, (size_t)(rank - first)) ||
		  npu_gnode_set_int(c->g, r, "keepdims", keep)))
		c->t = NULL;
	if (p > 2)
		npu_gchain_binary(c, NPU_GOP_Pow,
				  npu_canon_scalar(c->g, c->from, y->type, 1 / (float)p));
}

static int lp_pool(struct npu_graph *g, struct npu_gnode *n)
{
	bool global = n->op == NPU_GOP_GlobalLpPool;
	int64_t p = npu_gnode_int(n, "p", 2);
	struct npu_gtensor *y = n->outputs[0];
	struct npu_gchain c = { g, n, n->inputs[0] };
	struct windows w;

	if (p < 1 || !npu_fold_is_float(y->type) || (!global && !windows_read(g, n, &w)))
		return 0;
	if (!global)
		windows_as_rows(&c, &w, 0);
	norm(&c, global ? 2 : n->inputs[0]->rank, p, y, global);
	if (npu_gchain_replace(&c, y))
		return -ENOMEM;
	npu_graph_remove(g, n);
	return 0;
}

int npu_canon_pool(struct npu_graph *g, struct npu_gnode *n)
{
	if (n->op == NPU_GOP_LpPool || n->op == NPU_GOP_GlobalLpPool)
		return lp_pool(g, n);
	if (n->op == NPU_GOP_MaxPool && n->num_outputs > 1 && n->outputs[1])
		return pool_indices(g, n);
	return npu_canon_volume(g, n);
}
