// SPDX-License-Identifier: MIT
/* Operators that give the same elements another shape. */
#include <errno.h>
#include <string.h>

#include "compiler/shape.h"

/* Dimensions of Reshape's target: 0 copies, one -1 takes the rest. */
static int reshape_target(struct npu_shape *s, const struct npu_gtensor *x, struct npu_dim *dims,
			  int rank)
{
	bool zero = npu_gnode_int(s->n, "allowzero", 0) != 0;
	int i, infer = -1;

	for (i = 0; i < rank; i++) {
		if (!npu_dim_is_const(dims[i]))
			continue;
		if (dims[i].base == -1) {
			if (infer >= 0)
				return npu_diag_node(s->diag, -EINVAL, s->n, "shape",
						     "-1 is given twice");
			infer = i;
		} else if (dims[i].base == 0 && !zero) {
			if (i >= x->rank)
				return npu_diag_node(
					s->diag, -EINVAL, s->n, "shape",
					"entry %d copies a dimension that the input does not have",
					i);
			dims[i] = x->dim[i];
		} else if (dims[i].base < 0) {
			return npu_diag_node(s->diag, -EINVAL, s->n, "shape", "entry %d is %lld", i,
					     (long long)dims[i].base);
		}
	}
	return infer < 0 ? -ENOENT : infer;
}

/*
 * The -1 of a target. Dimensions that appear on both sides cancel first, so that two symbols in one
 * shape are no problem as long as they are carried over; the rest must be linear.
 */
static int reshape_rest(struct npu_shape *s, const struct npu_gtensor *x,
			const struct npu_dim *dims, int rank, int infer, struct npu_dim *out)
{
	struct npu_dim have = npu_dim_const(1), used = npu_dim_const(1);
	bool gone[NPU_GRAPH_MAX_RANK] = { false };
	int64_t ratio;
	int i, k;

	for (i = 0; i < rank; i++) {
		if (i == infer)
			continue;
		for (k = 0; k < x->rank &&
			    (gone[k] || dims[i].sym < 0 || !npu_dim_equal(dims[i], x->dim[k]));
		     k++)
			;
		if (k < x->rank)
			gone[k] = true;
		else if (npu_dim_mul(used, dims[i], &used))
			return npu_shape_nonlinear(s, "shape", dims[i], 0);
	}
	for (k = 0; k < x->rank; k++)
		if (!gone[k] && npu_dim_mul(have, x->dim[k], &have))
			return npu_shape_nonlinear(s, "shape", x->dim[k], 0);
	if (npu_dim_is_const(used) && used.base > 0) {
		if (npu_dim_is_const(have) ? have.base % used.base :
					     (have.factor % used.base || have.base % used.base))
			return npu_shape_nonlinear(s, "shape", have, used.base);
		return npu_dim_div_floor(s->g, have, used.base, out);
	}
	if (npu_dim_ratio(have, used, &ratio))
		return npu_shape_nonlinear(s, "shape", have, 0);
	*out = npu_dim_const(ratio);
	return 0;
}

/* Both sides must hold the same number of elements for every value of the symbols. */
static int reshape_check(struct npu_shape *s, const struct npu_gtensor *x,
			 const struct npu_dim *dims, int rank)
{
	int64_t low[NPU_GRAPH_MAX_SYMS], high[NPU_GRAPH_MAX_SYMS], mixed[NPU_GRAPH_MAX_SYMS];
	struct npu_gtensor y = { .rank = rank };
	unsigned int i;

	memcpy(y.dim, dims, (size_t)rank * sizeof(*dims));
	for (i = 0; i < s->g->num_syms; i++) {
		low[i] = s->g->syms[i].smin;
		high[i] = s->g->syms[i].smax;
		mixed[i] = i & 1 ? low[i] : (low[i] + high[i]) / 2;
	}
	if (npu_gtensor_elems(x, low) == npu_gtensor_elems(&y, low) &&
	    npu_gtensor_elems(x, high) == npu_gtensor_elems(&y, high) &&
	    npu_gtensor_elems(x, mixed) == npu_gtensor_elems(&y, mixed))
		return 0;
	return npu_diag_node(s->diag, -EINVAL, s->n, "shape",
			     "the input '%s' has %lld elements, the target has %lld", x->name,
			     (long long)npu_gtensor_elems(x, low),
			     (long long)npu_gtensor_elems(&y, low));
}

static int reshape_dims(struct npu_shape *s, const struct npu_gtensor *x, struct npu_dim *dims,
			int *rank)
{
	struct npu_dim list[2 * NPU_GRAPH_MAX_RANK];
	int n = npu_shape_list(s, "shape", 1, list), infer, err = 0;

	if (n == -ENOENT)
		return npu_diag_node(s->diag, -EINVAL, s->n, "shape", "is missing");
	if (n > NPU_GRAPH_MAX_RANK)
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "shape",
				     "rank %d, at most %d are supported", n, NPU_GRAPH_MAX_RANK);
	if (n < 0)
		return n;
	infer = reshape_target(s, x, list, n);
	if (infer < 0 && infer != -ENOENT)
		return infer;
	if (infer >= 0)
		err = reshape_rest(s, x, list, n, infer, &list[infer]);
	memcpy(dims, list, NPU_GRAPH_MAX_RANK * sizeof(*dims));
	*rank = n;
	return err;
}

static int flatten_dims(struct npu_shape *s, const struct npu_gtensor *x, struct npu_dim *dims,
			int *rank)
{
	int64_t axis = npu_gnode_int(s->n, "axis", 1);

	if (axis < -x->rank || axis > x->rank)
		return npu_diag_node(s->diag, -EINVAL, s->n, "axis", "%lld, expected %d to %d",
				     (long long)axis, -x->rank, x->rank);
	axis = axis < 0 ? axis + x->rank : axis;
	*rank = 2;
	if (npu_dims_product(x->dim, (int)axis, &dims[0]) ||
	    npu_dims_product(x->dim + axis, x->rank - (int)axis, &dims[1]))
		return npu_shape_nonlinear(s, "axis", x->dim[x->rank - 1], 0);
	return 0;
}

static int squeeze_dims(struct npu_shape *s, const struct npu_gtensor *x, struct npu_dim *dims,
			int *rank)
{
	bool drop[NPU_GRAPH_MAX_RANK] = { false };
	int64_t axes[2 * NPU_GRAPH_MAX_RANK];
	int n = npu_shape_ints(s, "axes", 1, axes), i, axis, err;

	if (n < 0 && n != -ENOENT)
		return n;
	for (i = 0; i < n; i++) {
		err = npu_shape_axis_arg(s, "axes", axes[i], x->rank, &axis);
		if (err)
			return err;
		if (!npu_dim_equal(x->dim[axis], npu_dim_const(1)))
			return npu_diag_node(s->diag, -EINVAL, s->n, "axes",
					     "dimension %d is not 1", axis);
		drop[axis] = true;
	}
	*rank = 0;
	for (i = 0; i < x->rank; i++)
		if (!(drop[i] || (n == -ENOENT && npu_dim_equal(x->dim[i], npu_dim_const(1)))))
			dims[(*rank)++] = x->dim[i];
	return 0;
}

static int unsqueeze_dims(struct npu_shape *s, const struct npu_gtensor *x, struct npu_dim *dims,
			  int *rank)
{
	bool add[NPU_GRAPH_MAX_RANK] = { false };
	int64_t axes[2 * NPU_GRAPH_MAX_RANK];
	int n = npu_shape_ints(s, "axes", 1, axes), i, axis, err, from = 0;

	if (n == -ENOENT)
		return npu_diag_node(s->diag, -EINVAL, s->n, "axes", "is missing");
	if (n < 0)
		return n;
	if (x->rank + n > NPU_GRAPH_MAX_RANK)
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, "axes",
				     "output of rank %d, at most %d are supported", x->rank + n,
				     NPU_GRAPH_MAX_RANK);
	*rank = x->rank + n;
	for (i = 0; i < n; i++) {
		err = npu_shape_axis_arg(s, "axes", axes[i], *rank, &axis);
		if (err)
			return err;
		if (add[axis])
			return npu_diag_node(s->diag, -EINVAL, s->n, "axes",
					     "axis %d is listed twice", axis);
		add[axis] = true;
	}
	for (i = 0; i < *rank; i++)
		dims[i] = add[i] ? npu_dim_const(1) : x->dim[from++];
	return 0;
}

int npu_shape_reshape(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	int rank = 0, err;

	switch (s->n->op) {
	case NPU_GOP_Flatten:
		err = flatten_dims(s, x, dims, &rank);
		break;
	case NPU_GOP_Squeeze:
		err = squeeze_dims(s, x, dims, &rank);
		break;
	case NPU_GOP_Unsqueeze:
		err = unsqueeze_dims(s, x, dims, &rank);
		break;
	default:
		err = reshape_dims(s, x, dims, &rank);
		break;
	}
	if (!err)
		err = reshape_check(s, x, dims, rank);
	return err ? err : npu_shape_out(s, 0, x->type, rank, dims);
}
