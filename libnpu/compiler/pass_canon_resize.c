// SPDX-License-Identifier: MIT
/*
 * Resize and Upsample. What RESIZE does not say is written out axis by axis, with the tables of the
 * host operator (host/resize.h): nearest is a gather with constant indices, a weighted sum a
 * product with a constant matrix, and what a crop takes from outside of the picture is chosen at
 * the end.
 */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass_canon.h"
#include "host/resize.h"

/* What RESIZE has: pictures, these coordinates, no widened kernel. */
static bool instruction_does(const struct npu_gnode *n, const float *scale)
{
	static const char *const coords[] = { "half_pixel", "pytorch_half_pixel", "align_corners",
					      "asymmetric" };
	const char *coord = npu_gnode_string(n, "coordinate_transformation_mode", "half_pixel");
	int rank = n->inputs[0]->rank;
	bool known = false;

	for (size_t i = 0; i < sizeof(coords) / sizeof(coords[0]); i++)
		known |= !strcmp(coord, coords[i]);
	return known && (rank == 3 || rank == 4) && scale[0] == 1 && scale[1] == 1 &&
	       !npu_gnode_int(n, "antialias", 0);
}

static bool find_mode(const struct npu_gnode *n, enum npu_resize *mode)
{
	static const char *const modes[] = { "nearest", "linear", "cubic" };
	const char *s = npu_gnode_string(n, "mode", "nearest");

	for (int i = 0; i < NPU_NUM_RESIZES; i++)
		if (!strcmp(s, modes[i])) {
			*mode = (enum npu_resize)i;
			return true;
		}
	return false;
}

static bool is_crop(const struct npu_gnode *n)
{
	return !strcmp(npu_gnode_string(n, "coordinate_transformation_mode", ""),
		       "tf_crop_and_resize");
}

/* What roi says of axis @d, all of it where that is none of the node's axes; false: not known. */
static bool region_of(const struct npu_gnode *n, int d, struct npu_resize_axis *a)
{
	const struct npu_gtensor *roi = npu_gnode_in(n, 1);
	size_t count = 0, k = 0;
	const int64_t *axes = npu_gnode_ints(n, "axes", &count);

	if (!axes) {
		count = (size_t)n->inputs[0]->rank;
		k = (size_t)d;
	}
	while (axes && k < count && axes[k] != d)
		k++;
	if (k == count)
		return true;
	if (!npu_gtensor_is_const(roi) || npu_gtensor_const_elems(roi) != 2 * (int64_t)count)
		return false;
	a->start = npu_gtensor_elem(roi, k);
	a->end = npu_gtensor_elem(roi, k + count);
	return true;
}

/* Axis @d as the host operator sees it; false when the region or a size is not known. */
static bool axis_of(const struct npu_gnode *n, int d, float scale, struct npu_resize_axis *a)
{
	const struct npu_gtensor *x = n->inputs[0];
	const char *coord = npu_gnode_string(n, "coordinate_transformation_mode", "half_pixel");

	*a = (struct npu_resize_axis){
		.coordinates = coord,
		.nearest = npu_gnode_string(n, "nearest_mode", "round_prefer_floor"),
		.cubic_a = (double)npu_gnode_float(n, "cubic_coeff_a", -0.75f),
		.exclude_outside = npu_gnode_int(n, "exclude_outside", 0) != 0,
		.antialias = npu_gnode_int(n, "antialias", 0) != 0,
		.scale = (double)scale,
		.end = 1,
	};
	if (!npu_dim_is_const(x->dim[d]) || !npu_dim_is_const(n->outputs[0]->dim[d]) ||
	    !(scale > 0) || !find_mode(n, &a->mode))
		return false;
	a->in = x->dim[d].base;
	a->out = n->outputs[0]->dim[d].base;
	if (!is_crop(n))
		return true;
	return region_of(n, d, a);
}

static bool stays(const struct npu_resize_axis *a)
{
	return a->in == a->out && a->scale == 1 && strcmp(a->coordinates, "tf_crop_and_resize");
}

/* Every axis can be done; before anything is changed. */
static bool can_write_out(const struct npu_gnode *n, const float *scale)
{
	struct npu_resize_axis a;
	int64_t mask = 1;

	for (int d = 0; d < n->inputs[0]->rank; d++) {
		bool same = npu_dim_equal(n->inputs[0]->dim[d], n->outputs[0]->dim[d]) &&
			    scale[d] == 1 && !is_crop(n);

		if (same)
			continue;
		if (!axis_of(n, d, scale[d], &a) || a.in < 1 || a.out < 1 ||
		    !npu_canon_table_fits(a.out, a.mode == NPU_RESIZE_NEAREST ? 1 : a.in) ||
		    (a.mode != NPU_RESIZE_NEAREST && !npu_fold_is_float(n->inputs[0]->type)))
			return false;
		if (!is_crop(n))
			continue;
		if (!npu_canon_table_fits(mask, a.out))
			return false;
		mask *= a.out;
	}
	return true;
}

static void pick(struct npu_gchain *c, int d, const struct npu_resize_axis *a,
		 const struct npu_resize_table *table)
{
	struct npu_gtensor *index =
		npu_graph_const(c->g, "nearest", NPU_GT_I64, 1, &a->out, table->index);

	npu_gchain_gather(c, d, index);
}

/* [in][out], the table's weights where its indices say. */
static struct npu_gtensor *matrix(struct npu_graph *g, enum npu_gtype type,
				  const struct npu_resize_axis *a,
				  const struct npu_resize_table *table)
{
	const int64_t dims[2] = { a->in, a->out };
	struct npu_gtensor *t = npu_graph_const(g, "resample", type, 2, dims, NULL);

	for (int64_t i = 0; t && i < a->out; i++)
		for (int64_t k = i * table->taps; k < (i + 1) * table->taps; k++) {
			size_t at = (size_t)(table->index[k] * a->out + i);

			npu_fold_put(t, at, npu_gtensor_elem(t, at) + table->weight[k]);
		}
	return t;
}

/* A product over the last dimension, with axis @d brought there. */
static void sum_up(struct npu_gchain *c, int d, const struct npu_resize_axis *a,
		   const struct npu_resize_table *table)
{
	int64_t perm[NPU_GRAPH_MAX_RANK], back[NPU_GRAPH_MAX_RANK];
	struct npu_gtensor *m = c->t ? matrix(c->g, c->t->type, a, table) : NULL;
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	int rank = c->t ? c->t->rank : 0;

	if (!m) {
		c->t = NULL;
		return;
	}
	for (int i = 0; i < rank; i++) {
		perm[i] = i < d ? i : i < rank - 1 ? i + 1 : d;
		back[perm[i]] = i;
	}
	if (d < rank - 1)
		npu_gchain_transpose(c, perm);
	if (c->t)
		memcpy(dim, c->t->dim, sizeof(dim));
	dim[rank - 1] = npu_dim_const(a->out);
	npu_gchain_add(c, NPU_GOP_MatMul, m, dim, rank);
	if (d < rank - 1)
		npu_gchain_transpose(c, back);
}

/*
 * True where the result lies outside along axis @d, over all other dimensions; NULL: nowhere. 0 or
 * -ENOMEM.
 */
static int outside_mask(struct npu_graph *g, const struct npu_gnode *n, int d,
			const struct npu_resize_table *table, struct npu_gtensor **mask)
{
	int64_t dims[NPU_GRAPH_MAX_RANK], size = n->outputs[0]->dim[d].base;
	int rank = n->outputs[0]->rank;
	bool any = false;

	*mask = NULL;
	for (int64_t i = 0; i < size; i++)
		any |= table->outside[i];
	if (!any)
		return 0;
	for (int i = 0; i < rank; i++)
		dims[i] = i == d ? size : 1;
	*mask = npu_graph_const(g, "outside", NPU_GT_BOOL, rank, dims, table->outside);
	return *mask ? 0 : -ENOMEM;
}

/* The extrapolation value where @mask is true. */
static void put_outside(struct npu_gchain *c, struct npu_gtensor *mask)
{
	const struct npu_gnode *n = c->from;
	struct npu_gtensor *fill = npu_canon_scalar(c->g, n, n->outputs[0]->type,
						    npu_gnode_float(n, "extrapolation_value", 0));
	struct npu_gtensor *in[3] = { mask, fill, c->t };
	struct npu_gnode *where = NULL;

	if (fill && c->t)
		where = npu_graph_insert(c->g, NPU_GOP_Where, n, in, 3, n->outputs[0]);
	c->t = where ? where->outputs[0] : NULL;
}

static int write_out(struct npu_graph *g, struct npu_gnode *n, const float *scale)
{
	struct npu_gchain c = { g, n, n->inputs[0] };
	struct npu_gtensor *mask[NPU_GRAPH_MAX_RANK] = { NULL };
	struct npu_resize_table table;
	struct npu_resize_axis a;
	int rank = n->inputs[0]->rank, err, d;

	_Static_assert(sizeof(*table.outside) == 1, "a mask's elements are a table's");
	for (d = 0; d < rank && c.t; d++) {
		if (!axis_of(n, d, scale[d], &a) || stays(&a))
			continue;
		err = npu_resize_table_make(&a, &table);
		if (!err)
			err = outside_mask(g, n, d, &table, &mask[d]);
		if (!err && a.mode == NPU_RESIZE_NEAREST)
			pick(&c, d, &a, &table);
		else if (!err)
			sum_up(&c, d, &a, &table);
		npu_resize_table_free(&table);
		if (err)
			return err;
	}
	/* at the end, so that no later axis mixes it with the picture */
	for (d = 0; d < rank; d++)
		if (mask[d])
			put_outside(&c, mask[d]);
	if (npu_gchain_replace(&c, n->outputs[0]))
		return -ENOMEM;
	npu_graph_remove(g, n);
	return 0;
}

int npu_canon_resize(struct npu_graph *g, struct npu_gnode *n)
{
	size_t count = 0;
	const float *scale = npu_gnode_floats(n, "scales", &count);

	n->op = NPU_GOP_Resize;
	if (scale && count == (size_t)n->inputs[0]->rank && !instruction_does(n, scale) &&
	    can_write_out(n, scale))
		return write_out(g, n, scale);
	npu_gnode_trim_inputs(n, 1);
	return 0;
}
