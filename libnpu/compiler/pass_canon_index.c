// SPDX-License-Identifier: MIT
/*
 * GatherND and ScatterND: the tuples of an index become row numbers of the data seen as a matrix,
 * and the rows are gathered or scattered. Each part of a tuple is looked up in a table of where
 * that row begins, which counts negative ones from the end and refuses those that are outside, as
 * the device does.
 */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass_canon.h"

/* Data [batch .., indexed .., inner ..] with tuples [batch .., .., depth]. */
struct tuples {
	int batch, depth;
	/* of the indexed dimensions, in rows */
	int64_t size[NPU_GRAPH_MAX_RANK], step[NPU_GRAPH_MAX_RANK];
	int64_t batches, rows;	     /* rows of one batch */
	struct npu_dim count, inner; /* tuples in all; elements of a row */
};

/* Every dimension of the batch is one of both. */
static bool same_batch(const struct npu_gnode *n, int batch)
{
	for (int i = 0; i < batch; i++)
		if (!npu_dim_equal(n->inputs[0]->dim[i], n->inputs[1]->dim[i]))
			return false;
	return true;
}

static bool tuples_read(const struct npu_gnode *n, struct tuples *s)
{
	const struct npu_gtensor *x = n->inputs[0], *index = n->inputs[1];

	if (index->rank < 1 || !npu_dim_is_const(index->dim[index->rank - 1]))
		return false;
	s->batch = (int)npu_gnode_int(n, "batch_dims", 0);
	s->depth = (int)index->dim[index->rank - 1].base;
	if (s->depth < 1 || s->batch + s->depth > x->rank || s->batch >= index->rank ||
	    !same_batch(n, s->batch))
		return false;
	s->batches = s->rows = 1;
	for (int i = s->batch + s->depth - 1; i >= 0; i--) {
		int64_t *total = i < s->batch ? &s->batches : &s->rows;

		if (!npu_dim_is_const(x->dim[i]) || x->dim[i].base < 1 ||
		    (s->batch + s->depth > 1 && x->dim[i].base > NPU_CANON_TABLE_MAX) ||
		    x->dim[i].base > INT32_MAX / *total)
			return false;
		if (i >= s->batch) {
			s->size[i - s->batch] = x->dim[i].base;
			s->step[i - s->batch] = s->rows;
		}
		*total *= x->dim[i].base;
	}
	return s->batches <= INT32_MAX / s->rows && npu_canon_table_fits(s->batches, 1) &&
	       !npu_dims_product(index->dim, index->rank - 1, &s->count) &&
	       !npu_dims_product(&x->dim[s->batch + s->depth], x->rank - s->batch - s->depth,
				 &s->inner);
}

/* As many rows as there are tuples, also where these are known at run time only. */
static bool updates_fit(const struct npu_gnode *n, const struct tuples *s)
{
	struct npu_dim want, have;

	return !npu_dim_mul(s->count, s->inner, &want) &&
	       !npu_dims_product(n->inputs[2]->dim, n->inputs[2]->rank, &have) &&
	       npu_dim_equal(want, have);
}

/* Where the rows of index 0, 1, ... of dimension @k begin. */
static struct npu_gtensor *row_table(struct npu_graph *g, const struct tuples *s, int k)
{
	struct npu_gtensor *t = npu_graph_const(g, "rows", NPU_GT_I64, 1, &s->size[k], NULL);

	for (int64_t i = 0; t && i < s->size[k]; i++)
		npu_fold_put_int(t, (size_t)i, i * s->step[k]);
	return t;
}

/* Part @k of every tuple as the row that it begins at. */
static struct npu_gtensor *part(struct npu_graph *g, const struct npu_gnode *n,
				const struct tuples *s, struct npu_gtensor *pairs, int k)
{
	struct npu_dim start[2] = { npu_dim_const(0), npu_dim_const(k) },
		       dim[2] = { s->count, npu_dim_const(1) };
	const int64_t steps[2] = { 1, 1 };
	struct npu_gchain c = { g, n, pairs };
	struct npu_gnode *look, *slice;
	struct npu_gtensor *both[2];

	if (s->depth > 1) {
		slice = npu_gchain_add(&c, NPU_GOP_Slice, NULL, dim, 2);
		if (!slice || npu_gnode_set_dims(g, slice, "starts", start, 2) ||
		    npu_gnode_set_ints(g, slice, "steps", steps, 2))
			return NULL;
	}
	npu_gchain_reshape(&c, dim, 1);
	/* the device counts and checks rows by itself */
	if (s->depth == 1 && !s->batch)
		return c.t;
	both[0] = row_table(g, s, k);
	both[1] = c.t;
	if (!both[0] || !both[1])
		return NULL;
	look = npu_graph_insert(g, NPU_GOP_Gather, n, both, 2, c.t);
	if (!look || npu_gnode_set_int(g, look, "axis", 0))
		return NULL;
	look->outputs[0]->type = NPU_GT_I64;
	return look->outputs[0];
}

/* Row numbers of all tuples, [count]. NULL: no memory. */
static struct npu_gtensor *row_numbers(struct npu_graph *g, const struct npu_gnode *n,
				       const struct tuples *s)
{
	struct npu_dim dim[2] = { s->count, npu_dim_const(s->depth) };
	struct npu_gchain c = { g, n, n->inputs[1] };
	struct npu_gtensor *pairs, *first;
	int64_t dims[2] = { s->batches, 1 };

	npu_gchain_reshape(&c, dim, 2);
	pairs = c.t;
	for (int k = 0; k < s->depth && c.t; k++) {
		struct npu_gtensor *t = part(g, n, s, pairs, k);

		if (!k || !t)
			c.t = t;
		else
			npu_gchain_binary(&c, NPU_GOP_Add, t);
	}
	if (s->batch < 1)
		return c.t;
	first = npu_graph_const(g, "batches", NPU_GT_I64, 2, dims, NULL);
	for (int64_t i = 0; first && i < s->batches; i++)
		npu_fold_put_int(first, (size_t)i, i * s->rows);
	dim[0] = npu_dim_const(s->batches);
	if (npu_dims_product(&n->inputs[1]->dim[s->batch], n->inputs[1]->rank - 1 - s->batch,
			     &dim[1]))
		return NULL;
	npu_gchain_reshape(&c, dim, 2);
	npu_gchain_binary(&c, NPU_GOP_Add, first);
	npu_gchain_reshape(&c, &s->count, 1);
	return c.t;
}

/* The same of constant tuples into *@rows. */
static int constant_rows(struct npu_graph *g, const struct npu_gnode *n, const struct tuples *s,
			 struct npu_gtensor **rows, struct npu_diag *diag)
{
	const struct npu_gtensor *index = n->inputs[1];
	struct npu_gtensor *t = npu_graph_const(g, "rows", NPU_GT_I64, 1, &s->count.base, NULL);
	int64_t each = s->count.base / s->batches;

	for (int64_t i = 0; t && i < s->count.base; i++) {
		int64_t row = i / each * s->rows;

		for (int k = 0; k < s->depth; k++) {
			int64_t v = npu_gtensor_elem_int(index, (size_t)(i * s->depth + k));

			if (v < -s->size[k] || v >= s->size[k])
				return npu_diag_node(diag, -EINVAL, n, "indices",
						     "element %lld is %lld, expected %lld to %lld",
						     (long long)(i * s->depth + k), (long long)v,
						     (long long)-s->size[k],
						     (long long)s->size[k] - 1);
			row += (v < 0 ? v + s->size[k] : v) * s->step[k];
		}
		npu_fold_put_int(t, (size_t)i, row);
	}
	*rows = t;
	return t ? 0 : -ENOMEM;
}

static int rows_of(struct npu_graph *g, const struct npu_gnode *n, const struct tuples *s,
		   struct npu_gtensor **rows, struct npu_diag *diag)
{
	if (npu_gtensor_is_const(n->inputs[1]) && s->count.base > 0)
		return constant_rows(g, n, s, rows, diag);
	*rows = row_numbers(g, n, s);
	return *rows ? 0 : -ENOMEM;
}

static int gather_rows(struct npu_graph *g, struct npu_gnode *n, const struct tuples *s,
		       struct npu_gtensor *rows)
{
	struct npu_dim dim[2] = { npu_dim_const(s->batches * s->rows), s->inner };
	struct npu_gchain c = { g, n, n->inputs[0] };
	struct npu_gnode *gather;

	npu_gchain_reshape(&c, dim, 2);
	dim[0] = s->count;
	gather = npu_gchain_add(&c, NPU_GOP_Gather, rows, dim, 2);
	if (gather && npu_gnode_set_int(g, gather, "axis", 0))
		c.t = NULL;
	npu_gchain_reshape(&c, n->outputs[0]->dim, n->outputs[0]->rank);
	if (npu_gchain_replace(&c, n->outputs[0]))
		return -ENOMEM;
	npu_graph_remove(g, n);
	return 0;
}

/* Every element of a row goes where its row goes. */
static int scatter_rows(struct npu_graph *g, struct npu_gnode *n, const struct tuples *s,
			struct npu_gtensor *rows)
{
	struct npu_dim dim[2] = { s->count, s->inner },
		       all[2] = { npu_dim_const(s->rows), s->inner };
	struct npu_gchain index = { g, n, rows }, in = { g, n, n->inputs[2] },
			  c = { g, n, n->inputs[0] };
	struct npu_gnode *scatter;

	npu_gchain_reshape(&index, (struct npu_dim[]){ s->count, npu_dim_const(1) }, 2);
	npu_gchain_add(&index, NPU_GOP_Expand, NULL, dim, 2);
	npu_gchain_reshape(&in, dim, 2);
	npu_gchain_reshape(&c, all, 2);
	if (!index.t || !in.t || !c.t)
		return -ENOMEM;
	scatter = npu_graph_insert(g, NPU_GOP_ScatterElements, n,
				   (struct npu_gtensor *[]){ c.t, index.t, in.t }, 3, c.t);
	if (!scatter || npu_gnode_set_int(g, scatter, "axis", 0) ||
	    npu_gnode_set_string(g, scatter, "reduction", npu_gnode_string(n, "reduction", "none")))
		return -ENOMEM;
	c.t = scatter->outputs[0];
	npu_gchain_reshape(&c, n->outputs[0]->dim, n->outputs[0]->rank);
	if (npu_gchain_replace(&c, n->outputs[0]))
		return -ENOMEM;
	npu_graph_remove(g, n);
	return 0;
}

int npu_canon_index(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	struct npu_gtensor *rows = NULL;
	struct tuples s;
	int err;

	if (n->op == NPU_GOP_Scatter) {
		n->op = NPU_GOP_ScatterElements;
		return 0;
	}
	if (!tuples_read(n, &s) || (n->op == NPU_GOP_ScatterND && !updates_fit(n, &s)))
		return 0;
	err = rows_of(g, n, &s, &rows, diag);
	if (err)
		return err;
	return n->op == NPU_GOP_GatherND ? gather_rows(g, n, &s, rows) :
					   scatter_rows(g, n, &s, rows);
}
