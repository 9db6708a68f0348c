// SPDX-License-Identifier: MIT
/* Chains: one model node written out as several nodes, each on the result of the one before. */
#include <errno.h>
#include <string.h>

#include "compiler/pass_canon.h"

bool npu_canon_elems_fit(const struct npu_graph *g, const struct npu_dim *dim, int rank,
			 int64_t times)
{
	double elems = (double)times;

	for (int i = 0; i < rank; i++)
		elems *= (double)npu_dim_high(g, dim[i]);
	return elems <= NPU_CANON_ELEMS_MAX;
}

struct npu_gnode *npu_gchain_add(struct npu_gchain *c, enum npu_gop op, struct npu_gtensor *more,
				const struct npu_dim *dim, int rank)
{
	struct npu_gtensor *in[2] = { c->t, more };
	struct npu_gnode *n;
	struct npu_gtensor *y;

	if (!c->t)
		return NULL;
	n = npu_graph_insert(c->g, op, c->from, in, more ? 2 : 1, c->t);
	c->t = n ? n->outputs[0] : NULL;
	if (!n)
		return NULL;
	y = n->outputs[0];
	y->rank = rank;
	if (rank)
		memmove(y->dim, dim, (size_t)rank * sizeof(*dim));
	return n;
}

void npu_gchain_reshape(struct npu_gchain *c, const struct npu_dim *dim, int rank)
{
	npu_gchain_add(c, NPU_GOP_Reshape, NULL, dim, rank);
}

void npu_gchain_transpose(struct npu_gchain *c, const int64_t *perm)
{
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	int rank = c->t ? c->t->rank : 0;
	struct npu_gnode *n;

	for (int i = 0; i < rank; i++)
		dim[i] = c->t->dim[perm[i]];
	n = npu_gchain_add(c, NPU_GOP_Transpose, NULL, dim, rank);
	if (n && npu_gnode_set_ints(c->g, n, "perm", perm, (size_t)rank))
		c->t = NULL;
}

void npu_gchain_gather(struct npu_gchain *c, int axis, struct npu_gtensor *index)
{
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	struct npu_gnode *n;
	int rank = 0;

	if (!c->t || !index || c->t->rank - 1 + index->rank > NPU_GRAPH_MAX_RANK) {
		c->t = NULL;
		return;
	}
	for (int i = 0; i < axis; i++)
		dim[rank++] = c->t->dim[i];
	for (int i = 0; i < index->rank; i++)
		dim[rank++] = index->dim[i];
	for (int i = axis + 1; i < c->t->rank; i++)
		dim[rank++] = c->t->dim[i];
	n = npu_gchain_add(c, NPU_GOP_Gather, index, dim, rank);
	if (n && npu_gnode_set_int(c->g, n, "axis", axis))
		c->t = NULL;
}

/* Positions i * step + k * dilation of [count][taps]: what the windows along an axis see. */
static struct npu_gtensor *window_index(struct npu_graph *g, const struct npu_window_axis *a)
{
	const int64_t dims[2] = { a->count, a->taps };
	struct npu_gtensor *t = npu_graph_const(g, "window", NPU_GT_I64, 2, dims, NULL);

	for (int64_t i = 0; t && i < a->count; i++)
		for (int64_t k = 0; k < a->taps; k++)
			((int64_t *)t->data)[i * a->taps + k] = i * a->stride + k * a->dilation;
	return t;
}

void npu_gchain_windows(struct npu_gchain *c, int axis, const struct npu_window_axis *a)
{
	npu_gchain_gather(c, axis, window_index(c->g, a));
}

void npu_gchain_pad(struct npu_gchain *c, const int64_t *begin, const int64_t *end, float value)
{
	int64_t pads[2 * NPU_GRAPH_MAX_RANK];
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	int rank = c->t ? c->t->rank : 0;
	bool any = false;
	struct npu_gnode *n;

	for (int i = 0; i < rank; i++) {
		pads[i] = begin[i];
		pads[i + rank] = end[i];
		any |= begin[i] || end[i];
		if (npu_dim_add(c->t->dim[i], npu_dim_const(begin[i] + end[i]), &dim[i])) {
			c->t = NULL;
			return;
		}
	}
	if (!any)
		return;
	n = npu_gchain_add(c, NPU_GOP_Pad, NULL, dim, rank);
	if (n && (npu_gnode_set_ints(c->g, n, "pads", pads, 2 * (size_t)rank) ||
		  npu_gnode_set_string(c->g, n, "mode", "constant") ||
		  npu_gnode_set_float(c->g, n, "value", value)))
		c->t = NULL;
}

void npu_gchain_cast(struct npu_gchain *c, enum npu_gtype type)
{
	struct npu_gnode *n;

	if (!c->t || c->t->type == type)
		return;
	n = npu_gchain_add(c, NPU_GOP_Cast, NULL, c->t->dim, c->t->rank);
	if (n)
		n->outputs[0]->type = type;
}

void npu_gchain_binary(struct npu_gchain *c, enum npu_gop op, struct npu_gtensor *other)
{
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	int rank;

	if (!c->t || !other ||
	    npu_dims_broadcast(c->t->dim, c->t->rank, other->dim, other->rank, dim)) {
		c->t = NULL;
		return;
	}
	rank = c->t->rank > other->rank ? c->t->rank : other->rank;
	npu_gchain_add(c, op, other, dim, rank);
}

int npu_gchain_replace(struct npu_gchain *c, struct npu_gtensor *y)
{
	return c->t ? npu_graph_replace(c->g, y, c->t) : -ENOMEM;
}

struct npu_gtensor *npu_canon_detach(struct npu_graph *g, struct npu_gnode *n,
				     const struct npu_dim *dim, int rank)
{
	struct npu_gtensor *y = n->outputs[0], *mid = npu_graph_tensor(g, NULL, y->name, y->type);

	if (!mid)
		return NULL;
	mid->rank = rank;
	memcpy(mid->dim, dim, (size_t)rank * sizeof(*dim));
	mid->producer = n;
	n->outputs[0] = mid;
	y->producer = NULL;
	return mid;
}

struct npu_gtensor *npu_canon_reshaped(struct npu_graph *g, const struct npu_gnode *n,
				       struct npu_gtensor *t, const int64_t *dims, int rank)
{
	struct npu_gchain c = { g, n, t };
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];

	for (int i = 0; i < rank; i++)
		dim[i] = npu_dim_const(dims[i]);
	if (!npu_gtensor_is_const(t)) {
		npu_gchain_reshape(&c, dim, rank);
		return c.t;
	}
	/* the bytes are shared */
	c.t = npu_graph_tensor(g, NULL, t->name, t->type);
	if (!c.t)
		return NULL;
	c.t->data = t->data;
	c.t->size = t->size;
	c.t->quant = t->quant;
	c.t->rank = rank;
	memcpy(c.t->dim, dim, sizeof(dim));
	return c.t;
}
