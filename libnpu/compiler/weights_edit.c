// SPDX-License-Identifier: MIT
/* Changes to constant weights and biases. */
#include <errno.h>

#include "compiler/fold.h"
#include "compiler/weights_edit.h"

bool npu_weights_per_channel(const struct npu_gtensor *k, const struct npu_gtensor *y, int axis)
{
	int i, off;

	if (!npu_gtensor_is_const(k) || !npu_fold_is_float(k->type) || k->rank > y->rank)
		return false;
	off = y->rank - k->rank;
	for (i = 0; i < k->rank; i++)
		if (k->dim[i].base != 1 &&
		    (i + off != axis || !npu_dim_equal(k->dim[i], y->dim[axis])))
			return false;
	return true;
}

static double channel(const struct npu_gtensor *k, int64_t i)
{
	return npu_gtensor_elem(k, npu_gtensor_const_elems(k) == 1 ? 0 : (size_t)i);
}

static struct npu_gtensor *like(struct npu_graph *g, const struct npu_gtensor *w)
{
	int64_t dims[NPU_GRAPH_MAX_RANK];
	int i;

	for (i = 0; i < w->rank; i++)
		dims[i] = w->dim[i].base;
	return npu_graph_const(g, w->name, w->type, w->rank, dims, NULL);
}

/*
 * Output channel of weight element @i. Conv: [M, C/g, k...]; ConvTranspose: [C, M/g, k...], where
 * the group follows from the input channel; MatMul: the last dimension, or the one before when
 * transposed.
 */
static int64_t out_channel(const struct npu_gnode *n, const struct npu_gtensor *w, int64_t i,
			   int64_t inner)
{
	int64_t group, c;

	if (n->op == NPU_GOP_MatMul)
		return npu_gnode_int(n, "transB", 0) ? i / w->dim[1].base : i % w->dim[1].base;
	if (n->op == NPU_GOP_Conv)
		return i / inner;
	group = npu_gnode_int(n, "group", 1);
	c = i / inner / w->dim[1].base;
	return c / (w->dim[0].base / group) * w->dim[1].base + i / inner % w->dim[1].base;
}

static int64_t in_channel(const struct npu_gnode *n, const struct npu_gtensor *w, int64_t i,
			  int64_t inner)
{
	int64_t group, m;

	if (n->op == NPU_GOP_MatMul)
		return npu_gnode_int(n, "transB", 0) ? i % w->dim[1].base : i / w->dim[1].base;
	if (n->op == NPU_GOP_ConvTranspose)
		return i / (inner * w->dim[1].base);
	group = npu_gnode_int(n, "group", 1);
	m = i / (inner * w->dim[1].base);
	return m / (w->dim[0].base / group) * w->dim[1].base + i / inner % w->dim[1].base;
}

/* Elements of one (output, input) channel pair; for the output channel of Conv, of one filter. */
static int64_t inner_size(const struct npu_gtensor *w, int from)
{
	int64_t inner = 1;
	int i;

	for (i = from; i < w->rank; i++)
		inner *= w->dim[i].base;
	return inner;
}

int npu_weights_scale_out(struct npu_graph *g, struct npu_gnode *n, const struct npu_gtensor *k)
{
	const struct npu_gtensor *w = n->inputs[1];
	struct npu_gtensor *t = like(g, w);
	int64_t count = npu_gtensor_const_elems(w),
		inner = inner_size(w, n->op == NPU_GOP_Conv ? 1 : 2), i;

	if (!t)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		npu_fold_put(t, (size_t)i,
			     npu_gtensor_elem(w, (size_t)i) *
				     channel(k, out_channel(n, w, i, inner)));
	return npu_gnode_set_input(g, n, 1, t);
}

int npu_weights_scale_in(struct npu_graph *g, struct npu_gnode *n, const struct npu_gtensor *k)
{
	const struct npu_gtensor *w = n->inputs[1];
	struct npu_gtensor *t = like(g, w);
	int64_t count = npu_gtensor_const_elems(w), inner = inner_size(w, 2), i;

	if (!t)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		npu_fold_put(t, (size_t)i,
			     npu_gtensor_elem(w, (size_t)i) *
				     channel(k, in_channel(n, w, i, inner)));
	return npu_gnode_set_input(g, n, 1, t);
}

int npu_weights_bias(struct npu_graph *g, struct npu_gnode *n, int64_t channels,
		     const struct npu_gtensor *mul, const struct npu_gtensor *add)
{
	const struct npu_gtensor *old = npu_gnode_in(n, 2);
	struct npu_gtensor *t = npu_graph_const(g, old ? old->name : n->name,
						old ? old->type : NPU_GT_F32, 1, &channels, NULL);
	int64_t i;

	if (!t)
		return -ENOMEM;
	for (i = 0; i < channels; i++) {
		double v = old ? npu_gtensor_elem(old, (size_t)i) : 0;

		npu_fold_put(t, (size_t)i,
			     v * (mul ? channel(mul, i) : 1) + (add ? channel(add, i) : 0));
	}
	return npu_gnode_set_input(g, n, 2, t);
}

int npu_weights_shift_in(struct npu_graph *g, struct npu_gnode *n, const struct npu_gtensor *k)
{
	const struct npu_gtensor *w = n->inputs[1];
	int64_t count = npu_gtensor_const_elems(w), inner = inner_size(w, 2),
		row = inner_size(w, n->op == NPU_GOP_Conv ? 1 : 2);
	int64_t i, channels = n->op == NPU_GOP_Conv ? w->dim[0].base :
			      w->dim[npu_gnode_int(n, "transB", 0) ? 0 : 1].base;
	struct npu_gtensor *sum = npu_graph_const(g, n->name, NPU_GT_F64, 1, &channels, NULL);

	if (!sum)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		int64_t m = out_channel(n, w, i, row);

		npu_fold_put(sum, (size_t)m,
			     npu_gtensor_elem(sum, (size_t)m) +
				     npu_gtensor_elem(w, (size_t)i) *
					     channel(k, in_channel(n, w, i, inner)));
	}
	return npu_weights_bias(g, n, channels, NULL, sum);
}
