// SPDX-License-Identifier: MIT
/*
 * Operators that move elements: transpose, concat, split, slice, pad, expand, tile, depth to space.
 */
#include <errno.h>
#include <string.h>

#include "compiler/shape.h"

int npu_shape_transpose(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	bool seen[NPU_GRAPH_MAX_RANK] = { false };
	int64_t perm[NPU_GRAPH_MAX_RANK];
	size_t count;
	const int64_t *given = npu_gnode_ints(s->n, "perm", &count);
	int i, err;

	if (given && count != (size_t)x->rank)
		return npu_diag_node(s->diag, -EINVAL, s->n, "perm", "%zu entries, expected %d",
				     count, x->rank);
	for (i = 0; i < x->rank; i++) {
		perm[i] = given ? given[i] : x->rank - 1 - i;
		if (perm[i] < 0 || perm[i] >= x->rank || seen[perm[i]])
			return npu_diag_node(s->diag, -EINVAL, s->n, "perm",
					     "is not a permutation of 0 to %d", x->rank - 1);
		seen[perm[i]] = true;
		dims[i] = x->dim[perm[i]];
	}
	err = npu_gnode_set_ints(s->g, s->n, "perm", perm, (size_t)x->rank);
	return err ? err : npu_shape_out(s, 0, x->type, x->rank, dims);
}

int npu_shape_concat(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	int axis, k, err;
	unsigned int i;

	err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", 1), x->rank, &axis);
	if (err)
		return err;
	memcpy(dims, x->dim, sizeof(dims));
	for (i = 1; i < s->n->num_inputs; i++) {
		const struct npu_gtensor *y = npu_shape_in(s, i);

		if (y->type != x->type)
			return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
					     "inputs '%s' and '%s' have types %s and %s", x->name,
					     y->name, npu_gtype_name(x->type),
					     npu_gtype_name(y->type));
		for (k = 0; k < x->rank && y->rank == x->rank; k++)
			if (k != axis && !npu_dim_equal(y->dim[k], x->dim[k]))
				break;
		if (y->rank != x->rank || k < x->rank)
			return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
					     "input %u '%s' differs from '%s' in more than axis %d",
					     i, y->name, x->name, axis);
		if (npu_dim_add(dims[axis], y->dim[axis], &dims[axis]))
			return npu_shape_nonlinear(s, "axis", y->dim[axis], 0);
	}
	err = npu_gnode_set_int(s->g, s->n, "axis", axis);
	return err ? err : npu_shape_out(s, 0, x->type, x->rank, dims);
}

int npu_shape_split(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK], part, used = npu_dim_const(0),
						       sizes[2 * NPU_GRAPH_MAX_RANK];
	unsigned int parts = s->n->num_outputs, i;
	int axis, n, err;

	err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", 0), x->rank, &axis);
	if (err)
		return err;
	memcpy(dims, x->dim, sizeof(dims));
	n = npu_shape_list(s, "split", 1, sizes);
	if (n < 0 && n != -ENOENT)
		return n;
	if (n >= 0 && n != (int)parts)
		return npu_diag_node(s->diag, -EINVAL, s->n, "split", "%d entries for %u outputs",
				     n, parts);
	if (n < 0 && npu_dim_div_ceil(s->g, x->dim[axis], parts, &part))
		return npu_shape_nonlinear(s, "split", x->dim[axis], parts);
	for (i = 0; i < parts && !err; i++) {
		if (n >= 0)
			dims[axis] = sizes[i];
		else if (i + 1 < parts)
			dims[axis] = part;
		/* the last one may be shorter */
		else if (npu_dim_sub(x->dim[axis], used, &dims[axis]))
			return npu_shape_nonlinear(s, "split", x->dim[axis], parts);
		err = npu_shape_out(s, i, x->type, x->rank, dims);
		if (!err && npu_dim_add(used, dims[axis], &used))
			return npu_shape_nonlinear(s, "split", dims[axis], 0);
	}
	if (!err && !npu_dim_equal(used, x->dim[axis]))
		return npu_diag_node(s->diag, -EINVAL, s->n, "split",
				     "the parts do not add up to axis %d", axis);
	return err ? err : npu_gnode_set_int(s->g, s->n, "axis", axis);
}

/*
 * Start or end of a slice as ONNX clamps it; @limit is the dimension. Large constants mean "to the
 * end".
 */
static int slice_clamp(struct npu_shape *s, struct npu_dim v, struct npu_dim limit, int64_t low,
		       struct npu_dim high, struct npu_dim *out)
{
	int err = 0;

	if (npu_dim_is_const(v) && v.base > INT32_MAX)
		v.base = INT32_MAX;
	if (npu_dim_is_const(v) && v.base < -(int64_t)INT32_MAX)
		v.base = -(int64_t)INT32_MAX;
	if (npu_dim_high(s->g, v) < 0)
		err = npu_dim_add(v, limit, &v);
	else if (npu_dim_low(s->g, v) < 0)
		err = -EDOM;
	if (!err)
		err = npu_dim_max(s->g, v, npu_dim_const(low), &v);
	if (!err)
		err = npu_dim_min(s->g, v, high, &v);
	*out = v;
	return err;
}

static int slice_axis(struct npu_shape *s, struct npu_dim limit, struct npu_dim start,
		      struct npu_dim end, int64_t step, struct npu_dim *first,
		      struct npu_dim *length)
{
	struct npu_dim last = limit, high;
	int err;

	if (!step || step < -INT32_MAX || step > INT32_MAX)
		return npu_diag_node(s->diag, -EINVAL, s->n, "steps", "%lld", (long long)step);
	if (npu_dim_sub(limit, npu_dim_const(1), &last))
		return -EDOM;
	high = step > 0 ? limit : last;
	err = slice_clamp(s, start, limit, 0, high, first);
	/*
	 * with a negative step an end before the start is -1, which a negative constant cannot be
	 * mistaken for
	 */
	if (!err && step < 0 && npu_dim_is_const(end) && end.base <= -(int64_t)INT32_MAX)
		end = npu_dim_const(-1);
	else if (!err)
		err = slice_clamp(s, end, limit, step > 0 ? 0 : -1, high, &end);
	if (!err)
		err = step > 0 ? npu_dim_sub(end, *first, length) :
				 npu_dim_sub(*first, end, length);
	if (!err && npu_dim_high(s->g, *length) <= 0) {
		*length = npu_dim_const(0);
		return 0;
	}
	if (!err)
		err = npu_dim_div_ceil(s->g, *length, step > 0 ? step : -step, length);
	return err ? npu_shape_nonlinear(s, "ends", limit, step > 0 ? step : -step) : 0;
}

int npu_shape_slice(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim starts[2 * NPU_GRAPH_MAX_RANK], ends[2 * NPU_GRAPH_MAX_RANK];
	struct npu_dim dims[NPU_GRAPH_MAX_RANK], first[NPU_GRAPH_MAX_RANK];
	int64_t axes[2 * NPU_GRAPH_MAX_RANK], steps[2 * NPU_GRAPH_MAX_RANK],
		full[NPU_GRAPH_MAX_RANK];
	int n, ne, na, ns, i, axis, err = 0;

	for (i = 1; i < (int)s->n->num_inputs; i++)
		if (s->n->inputs[i] && !npu_tensor_has_value(s->n->inputs[i])) {
			err = npu_shape_at_run_time(s, i == 1 ? "starts" :
						       i == 2 ? "ends" :
						       i == 3 ? "axes" :
								"steps");
			return err ? err : npu_shape_out(s, 0, x->type, x->rank, x->dim);
		}
	n = npu_shape_list(s, "starts", 1, starts);
	ne = npu_shape_list(s, "ends", 2, ends);
	na = npu_shape_ints(s, "axes", 3, axes);
	ns = npu_shape_ints(s, NULL, 4, steps);
	if (n < 0 || ne != n || (na != -ENOENT && na != n) || (ns != -ENOENT && ns != n))
		return npu_diag_node(
			s->diag, -EINVAL, s->n, "starts",
			"starts, ends, axes and steps must be known and of one length");
	for (i = 0; i < x->rank; i++) {
		dims[i] = x->dim[i];
		first[i] = npu_dim_const(0);
		full[i] = 1;
	}
	for (i = 0; i < n && !err; i++) {
		err = npu_shape_axis_arg(s, "axes", na >= 0 ? axes[i] : i, x->rank, &axis);
		if (err)
			break;
		full[axis] = ns >= 0 ? steps[i] : 1;
		err = slice_axis(s, x->dim[axis], starts[i], ends[i], full[axis], &first[axis],
				 &dims[axis]);
	}
	if (err)
		return err;
	npu_gnode_del_attr(s->n, "axes");
	npu_gnode_del_attr(s->n, "ends");
	err = npu_gnode_set_dims(s->g, s->n, "starts", first, (size_t)x->rank);
	if (!err)
		err = npu_gnode_set_ints(s->g, s->n, "steps", full, (size_t)x->rank);
	return err ? err : npu_shape_out(s, 0, x->type, x->rank, dims);
}

static int pad_value(struct npu_shape *s)
{
	const struct npu_gtensor *v = s->n->opset < 11 ? NULL : npu_shape_in(s, 2);
	double value = npu_gnode_float(s->n, "value", 0);

	if (v && !npu_gtensor_scalar(v, &value))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
				     "input 2 '%s' must be a constant number", v->name);
	return npu_gnode_set_float(s->g, s->n, "value", (float)value);
}

int npu_shape_pad(struct npu_shape *s)
{
	const char *mode = npu_gnode_string(s->n, "mode", "constant");
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	int64_t list[2 * NPU_GRAPH_MAX_RANK], axes[2 * NPU_GRAPH_MAX_RANK],
		pads[2 * NPU_GRAPH_MAX_RANK] = { 0 };
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	int n = npu_shape_ints(s, "pads", 1, list), na = npu_shape_ints(s, NULL, 3, axes), i, axis,
	    err;

	if (strcmp(mode, "constant") && strcmp(mode, "reflect") && strcmp(mode, "edge") &&
	    strcmp(mode, "wrap"))
		return npu_diag_node(s->diag, -EINVAL, s->n, "mode",
				     "'%.40s', expected constant, reflect, edge or wrap", mode);
	if (n < 0 && n != -ENOENT)
		return n;
	if (na < 0 && na != -ENOENT)
		return na;
	if (n < 0 || n != 2 * (na >= 0 ? na : x->rank))
		return npu_diag_node(s->diag, -EINVAL, s->n, "pads", "expected %d entries",
				     2 * (na >= 0 ? na : x->rank));
	for (i = 0; i < n / 2; i++) {
		err = npu_shape_axis_arg(s, "axes", na >= 0 ? axes[i] : i, x->rank, &axis);
		if (err)
			return err;
		if (list[i] < -INT32_MAX || list[i] > INT32_MAX || list[n / 2 + i] < -INT32_MAX ||
		    list[n / 2 + i] > INT32_MAX)
			return npu_diag_node(s->diag, -EINVAL, s->n, "pads",
					     "entry %d is out of range", i);
		pads[axis] = list[i];
		pads[x->rank + axis] = list[n / 2 + i];
	}
	for (i = 0; i < x->rank; i++)
		if (npu_dim_add(x->dim[i], npu_dim_const(pads[i] + pads[x->rank + i]), &dims[i]))
			return npu_shape_nonlinear(s, "pads", x->dim[i], 0);
	err = pad_value(s);
	if (!err)
		err = npu_gnode_set_ints(s->g, s->n, "pads", pads, 2 * (size_t)x->rank);
	if (!err && !npu_gnode_attr(s->n, "mode"))
		err = npu_gnode_set_string(s->g, s->n, "mode", "constant");
	return err ? err : npu_shape_out(s, 0, x->type, x->rank, dims);
}

int npu_shape_expand(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	struct npu_dim list[2 * NPU_GRAPH_MAX_RANK], dims[2 * NPU_GRAPH_MAX_RANK];
	int n = npu_shape_list(s, NULL, 1, list);

	if (n < 0)
		return n;
	if (n > NPU_GRAPH_MAX_RANK || npu_dims_broadcast(x->dim, x->rank, list, n, dims))
		return npu_diag_node(s->diag, -EINVAL, s->n, "shape",
				     "input '%s' cannot be broadcast to it", x->name);
	return npu_shape_out(s, 0, x->type, n > x->rank ? n : x->rank, dims);
}

int npu_shape_tile(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	int64_t repeats[2 * NPU_GRAPH_MAX_RANK];
	struct npu_dim dims[NPU_GRAPH_MAX_RANK];
	int n = npu_shape_ints(s, NULL, 1, repeats), i, err;

	if (n < 0)
		return n;
	if (n != x->rank)
		return npu_diag_node(s->diag, -EINVAL, s->n, "repeats", "%d entries, expected %d",
				     n, x->rank);
	for (i = 0; i < n; i++)
		if (repeats[i] < 0 || npu_dim_scale(x->dim[i], repeats[i], &dims[i]))
			return npu_diag_node(s->diag, -EINVAL, s->n, "repeats", "entry %d is %lld",
					     i, (long long)repeats[i]);
	err = npu_gnode_set_ints(s->g, s->n, "repeats", repeats, (size_t)n);
	return err ? err : npu_shape_out(s, 0, x->type, x->rank, dims);
}

int npu_shape_depth_space(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	int64_t b = npu_gnode_int(s->n, "blocksize", 0);
	bool to_space = s->n->op == NPU_GOP_DepthToSpace;
	struct npu_dim dims[4];
	int i, err = 0;

	if (x->rank != 4 || b < 1 || b > 1024)
		return npu_diag_node(s->diag, -EINVAL, s->n, "blocksize",
				     "%lld with an input of rank %d", (long long)b, x->rank);
	dims[0] = x->dim[0];
	if (to_space && (!npu_dim_is_const(x->dim[1]) || x->dim[1].base % (b * b)))
		return npu_diag_node(s->diag, -EINVAL, s->n, "blocksize",
				     "the channels are no multiple of its square");
	if (npu_dim_scale(x->dim[1], b * b, &dims[1]))
		return npu_shape_nonlinear(s, "blocksize", x->dim[1], 0);
	if (to_space)
		dims[1] = npu_dim_const(x->dim[1].base / (b * b));
	for (i = 2; i < 4 && !err; i++) {
		if (to_space)
			err = npu_dim_scale(x->dim[i], b, &dims[i]);
		else if (x->dim[i].base % b || x->dim[i].factor % b)
			return npu_shape_nonlinear(s, "blocksize", x->dim[i], b);
		else
			err = npu_dim_div_floor(s->g, x->dim[i], b, &dims[i]);
	}
	return err ? npu_shape_nonlinear(s, "blocksize", x->dim[2], b) :
		     npu_shape_out(s, 0, x->type, 4, dims);
}
