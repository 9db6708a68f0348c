// SPDX-License-Identifier: MIT
/* Operators that move data: views where addresses can say it, else one copy. */
#include <errno.h>
#include <string.h>

#include "compiler/lower.h"

int npu_lower_reshape(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_gtensor *out = n->outputs[0];
	struct npu_lvalue *val = &l->value[out->id];
	struct npu_lview in, v, whole;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (err)
		return err;
	if (!npu_lview_reshape(l, &in, out->dim, out->rank, &v))
		return npu_lower_alias(l, out, &v);
	/*
	 * Copy, straight to where the result belongs when that can be seen with the input's
	 * dimensions.
	 */
	if (val->placed && !npu_lview_reshape(l, &val->view, in.dim, in.rank, &whole)) {
		val->ready = true;
		return npu_lower_copy(l, &whole, &in, "the reshape crosses the memory order");
	}
	err = npu_lower_temp_like(l, in.dim, in.rank, &in, &whole);
	if (!err)
		err = npu_lower_copy(l, &whole, &in, "the reshape crosses the memory order");
	if (!err && npu_lview_reshape(l, &whole, out->dim, out->rank, &v))
		return npu_lower_refuse(
			l, "shape", "the new shape mixes two run-time lengths; fix one of them");
	return err ? err : npu_lower_alias(l, out, &v);
}

int npu_lower_transpose(struct npu_lower *l, struct npu_gnode *n)
{
	size_t count = 0;
	const int64_t *perm = npu_gnode_ints(n, "perm", &count);
	int order[NPU_GRAPH_MAX_RANK];
	struct npu_lview in;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (err)
		return err;
	if (count != (size_t)in.rank)
		return npu_lower_refuse(l, "perm", "%zu entries, expected %d", count, in.rank);
	for (int i = 0; i < in.rank; i++)
		order[i] = (int)perm[i];
	npu_lview_permute(&in, order, &in);
	return npu_lower_alias(l, n->outputs[0], &in);
}

/* Along one dimension backwards: rows picked by a constant list of indices. */
static int slice_backwards(struct npu_lower *l, struct npu_gnode *n, const struct npu_lview *in,
			   int axis, const struct npu_dim *start, const int64_t *step)
{
	struct npu_gtensor *out = n->outputs[0];
	int64_t count = out->dim[axis].base, dims[1] = { count };
	struct npu_dim zero[NPU_GRAPH_MAX_RANK], dim[NPU_GRAPH_MAX_RANK];
	int64_t ones[NPU_GRAPH_MAX_RANK];
	struct npu_gtensor *index;
	struct npu_lview part, dst;

	if (!npu_dim_is_const(start[axis]) || !npu_dim_is_const(out->dim[axis]))
		return npu_lower_refuse(l, "steps", "a negative step along a run-time length");
	index = npu_graph_const(l->g, "index", NPU_GT_I64, 1, dims, NULL);
	if (!index)
		return -ENOMEM;
	for (int64_t i = 0; i < count; i++)
		((int64_t *)index->data)[i] = start[axis].base + i * step[axis];
	for (int i = 0; i < in->rank; i++) {
		zero[i] = i == axis ? npu_dim_const(0) : start[i];
		ones[i] = i == axis ? 1 : step[i];
		dim[i] = i == axis ? in->dim[axis] : out->dim[i];
		if (i != axis && step[i] < 0)
			return npu_lower_refuse(l, "steps", "negative steps along two dimensions");
	}
	if (npu_lview_slice(in, zero, ones, dim, &part) || npu_lower_out(l, out, &dst))
		return npu_lower_refuse(l, "starts", "the offset mixes run-time lengths");
	return npu_lower_gather_rows(l, &dst, &part, index, axis);
}

int npu_lower_slice(struct npu_lower *l, struct npu_gnode *n)
{
	size_t num_starts = 0, num_steps = 0;
	const struct npu_dim *start = npu_gnode_dims(n, "starts", &num_starts);
	const int64_t *step = npu_gnode_ints(n, "steps", &num_steps);
	struct npu_gtensor *out = n->outputs[0];
	struct npu_lview in, v;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (err)
		return err;
	if (num_starts != (size_t)in.rank || (step && num_steps != (size_t)in.rank))
		return npu_lower_refuse(l, "starts", "%zu entries, expected %d", num_starts,
					in.rank);
	for (int i = 0; step && i < in.rank; i++)
		if (step[i] < 0 && !(npu_dim_is_const(out->dim[i]) && out->dim[i].base == 1))
			return slice_backwards(l, n, &in, i, start, step);
	if (step) {
		int64_t forward[NPU_GRAPH_MAX_RANK];

		for (int i = 0; i < in.rank; i++)
			forward[i] = step[i] < 0 ? 1 : step[i];
		err = npu_lview_slice(&in, start, forward, out->dim, &v);
	} else {
		err = npu_lview_slice(&in, start, NULL, out->dim, &v);
	}
	if (err)
		return npu_lower_refuse(l, "starts", "the offset mixes run-time lengths");
	return npu_lower_alias(l, out, &v);
}

/* All elements of a constant are the same number. */
static bool uniform(const struct npu_gtensor *t, double *value)
{
	size_t count = (size_t)npu_gtensor_const_elems(t), size = npu_gtype_size(t->type);

	if (!count || !size)
		return false;
	*value = npu_gtensor_elem(t, 0);
	for (size_t i = 1; i < count; i++)
		if (memcmp((const char *)t->data + i * size, t->data, size))
			return false;
	return true;
}

static int concat_part(struct npu_lower *l, struct npu_gtensor *t, const struct npu_lview *part)
{
	struct npu_lview in;
	double v;
	int err;

	if (npu_gtensor_is_const(t) && uniform(t, &v))
		return npu_lower_fill(l, part, v);
	err = npu_lower_in(l, t, &in);
	if (err || npu_lview_same_place(&in, part))
		return err;
	return npu_lower_copy(l, part, &in, "a part of the result lies elsewhere");
}

int npu_lower_concat(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_dim at = npu_dim_const(0);
	struct npu_lview whole, part;
	int axis = (int)npu_gnode_int(n, "axis", 0);
	int err = npu_lower_out(l, n->outputs[0], &whole);

	for (unsigned int k = 0; k < n->num_inputs && !err; k++) {
		struct npu_gtensor *t = n->inputs[k];

		if (npu_dim_is_const(t->dim[axis]) && !t->dim[axis].base)
			continue;
		if (npu_layout_part(n, &whole, k, &at, &part))
			return npu_lower_refuse(l, "axis",
						"the offset of input %u mixes run-time lengths", k);
		err = concat_part(l, t, &part);
	}
	return err;
}

/* The input was written in the middle of the result: fill what is in front of it and behind. */
static int pad_borders(struct npu_lower *l, struct npu_gnode *n, const struct npu_lview *whole,
		       const int64_t *pads)
{
	struct npu_dim start[NPU_GRAPH_MAX_RANK], dim[NPU_GRAPH_MAX_RANK], at;
	double value = npu_gnode_float(n, "value", 0);
	struct npu_lview part;
	int axis = 0, err = 0;

	for (int i = 0; i < whole->rank; i++) {
		start[i] = npu_dim_const(0);
		dim[i] = whole->dim[i];
		if (pads[i] || pads[i + whole->rank])
			axis = i;
	}
	if (pads[axis]) {
		dim[axis] = npu_dim_const(pads[axis]);
		err = npu_lview_slice(whole, start, NULL, dim, &part);
		if (!err)
			err = npu_lower_fill(l, &part, value);
	}
	if (!err && pads[axis + whole->rank]) {
		dim[axis] = npu_dim_const(pads[axis + whole->rank]);
		err = npu_dim_sub(whole->dim[axis], dim[axis], &at);
		start[axis] = at;
		if (!err)
			err = npu_lview_slice(whole, start, NULL, dim, &part);
		if (!err)
			err = npu_lower_fill(l, &part, value);
	}
	return err;
}

int npu_lower_pad(struct npu_lower *l, struct npu_gnode *n)
{
	static const char *const modes[] = { "constant", "reflect", "edge", "wrap" };
	const char *mode = npu_gnode_string(n, "mode", "constant");
	size_t count = 0;
	const int64_t *pads = npu_gnode_ints(n, "pads", &count);
	struct npu_lview in, out, part, i, o;
	struct npu_linsn *insn;
	int perm[NPU_GRAPH_MAX_RANK], m = 0, err = npu_lower_in(l, n->inputs[0], &in);

	if (err)
		return err;
	if (!pads || count != 2 * (size_t)in.rank)
		return npu_lower_refuse(l, "pads", "%zu entries, expected %d", count, 2 * in.rank);
	while (m < 4 && strcmp(mode, modes[m]))
		m++;
	if (m == 4)
		return npu_lower_refuse(l, "mode", "%s", mode);
	if (l->value[n->outputs[0]->id].placed &&
	    npu_layout_pad_part(n, &l->value[n->outputs[0]->id].view, &part) &&
	    npu_lview_same_place(&part, &in)) {
		l->value[n->outputs[0]->id].ready = true;
		return pad_borders(l, n, &l->value[n->outputs[0]->id].view, pads);
	}
	err = npu_lower_out_like(l, n->outputs[0], &in, &out);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_PAD);
	if (!insn)
		return -ENOMEM;
	npu_lview_order(l, &out, perm);
	npu_lview_permute(&in, perm, &i);
	npu_lview_permute(&out, perm, &o);
	npu_linsn_param(insn, NPU_PAD_P_MODE, (uint32_t)m);
	for (int d = 0; d < in.rank && d < NPU_MAX_RANK; d++) {
		if (pads[perm[d]] > INT32_MAX || pads[perm[d]] < -INT32_MAX)
			return npu_lower_refuse(l, "pads", "%lld", (long long)pads[perm[d]]);
		npu_linsn_param(insn, NPU_PAD_P_BEFORE0 + (unsigned int)d,
				(uint32_t)(int32_t)pads[perm[d]]);
	}
	npu_linsn_bits(insn, NPU_PAD_P_VALUE_LO, &in, npu_gnode_float(n, "value", 0));
	err = npu_linsn_operand(l, insn, NPU_PAD_OUT, &o);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_PAD_IN, &i);
	return err ? err : npu_lower_finish(l, n->outputs[0], &out);
}

int npu_lower_expand(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_gtensor *out = n->outputs[0];
	struct npu_lview in, v;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (err)
		return err;
	if (npu_lview_expand(&in, out->dim, out->rank, &v))
		return npu_lower_refuse(l, "shape", "the input does not broadcast to it");
	return npu_lower_alias(l, out, &v);
}

/* Dimension @at of @v, of @inner * n elements, becomes [n, inner]. */
static int split_dim(struct npu_lview *v, int at, struct npu_dim outer, struct npu_dim inner)
{
	if (v->rank == NPU_GRAPH_MAX_RANK)
		return -EDOM;
	npu_lview_insert(v, at);
	v->dim[at] = outer;
	v->dim[at + 1] = inner;
	return npu_poly_mul_dim(&v->stride[at + 1], inner, &v->stride[at]);
}

int npu_lower_tile(struct npu_lower *l, struct npu_gnode *n)
{
	size_t count = 0;
	const int64_t *repeats = npu_gnode_ints(n, "repeats", &count);
	struct npu_gtensor *t = n->outputs[0];
	struct npu_lview in, out;
	bool copy = false;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (err)
		return err;
	if (!repeats || count != (size_t)in.rank)
		return npu_lower_refuse(l, "repeats", "it must be a constant with %d entries",
					in.rank);
	for (int i = 0; i < in.rank; i++)
		copy |= repeats[i] > 1 && !(npu_dim_is_const(in.dim[i]) && in.dim[i].base == 1);
	if (!copy)
		return npu_lview_expand(&in, t->dim, t->rank, &in) ?
			       npu_lower_refuse(l, "repeats", "shape") :
			       npu_lower_alias(l, t, &in);
	err = npu_lower_out(l, t, &out);
	for (int i = in.rank - 1; i >= 0 && !err; i--) {
		struct npu_dim d = in.dim[i];

		if (repeats[i] == 1)
			continue;
		if (npu_dim_is_const(d) && d.base == 1)
			continue;
		err = split_dim(&out, i, npu_dim_const(repeats[i]), d);
		if (!err && in.rank == NPU_GRAPH_MAX_RANK)
			err = -EDOM;
		if (!err)
			npu_lview_insert(&in, i);	/* size 1: repeated */
	}
	if (err == -EDOM)
		return npu_lower_refuse(l, "repeats", "too many dimensions are repeated");
	return err ? err : npu_lower_copy(l, &out, &in, NULL);
}

/*
 * Both are one copy between the same six dimensions; which of them make up the channels, and in
 * which order, is all that differs.
 */
int npu_lower_depth_space(struct npu_lower *l, struct npu_gnode *n)
{
	const bool to_space = n->op == NPU_GOP_DepthToSpace;
	const bool crd = to_space && !strcmp(npu_gnode_string(n, "mode", "DCR"), "CRD");
	int64_t b = npu_gnode_int(n, "blocksize", 0);
	/*
	 * Of the deep side after its channels are split in three: where batch, C, H, b, W, b are.
	 */
	static const int dcr_order[] = { 0, 3, 4, 1, 5, 2 }, crd_order[] = { 0, 1, 4, 2, 5, 3 };
	struct npu_lview in, out, deep, wide;
	struct npu_dim bd = npu_dim_const(b), c, rest;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (err)
		return err;
	if (in.rank != 4 || b < 1)
		return npu_lower_refuse(l, "blocksize", "rank %d, block %lld", in.rank,
					(long long)b);
	err = npu_lower_out(l, n->outputs[0], &out);
	if (err)
		return err;
	deep = to_space ? in : out;
	wide = to_space ? out : in;
	if (!npu_dim_is_const(deep.dim[1]) || deep.dim[1].base % (b * b))
		return npu_lower_refuse(l, "blocksize",
					"channels are not a multiple of its square");
	c = npu_dim_const(deep.dim[1].base / (b * b));
	rest = npu_dim_const(crd ? b * b : deep.dim[1].base / b);
	err = split_dim(&deep, 1, crd ? c : bd, rest);
	if (!err)
		err = split_dim(&deep, 2, bd, crd ? bd : c);
	if (!err)
		err = split_dim(&wide, 3, deep.dim[5], bd);
	if (!err)
		err = split_dim(&wide, 2, deep.dim[4], bd);
	if (err)
		return npu_lower_refuse(l, "blocksize", "run-time lengths");
	npu_lview_permute(&deep, crd ? crd_order : dcr_order, &deep);
	return npu_lower_copy(l, to_space ? &wide : &deep, to_space ? &deep : &wide, NULL);
}

int npu_lower_constant_of_shape(struct npu_lower *l, struct npu_gnode *n)
{
	const struct npu_attr *a = npu_gnode_attr(n, "value");
	struct npu_lview out;
	double v = 0;
	int err = npu_lower_out(l, n->outputs[0], &out);

	if (a && a->t && !npu_gtensor_scalar(a->t, &v))
		return npu_lower_refuse(l, "value", "it must have one element");
	return err ? err : npu_lower_fill(l, &out, v);
}

int npu_lower_range(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_lview out;
	struct npu_linsn *insn;
	double start, step;
	int err;

	if (!npu_gtensor_scalar(n->inputs[0], &start) || !npu_gtensor_scalar(n->inputs[2], &step))
		return npu_lower_refuse(l, "start, delta", "they must be constants");
	if ((double)(float)start != start || (double)(float)step != step)
		return npu_lower_refuse(l, "start, delta", "they must be exact as f32");
	err = npu_lower_out(l, n->outputs[0], &out);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_IOTA);
	if (!insn)
		return -ENOMEM;
	npu_linsn_float(insn, NPU_IOTA_P_START, (float)start);
	npu_linsn_float(insn, NPU_IOTA_P_STEP, (float)step);
	return npu_linsn_operand(l, insn, NPU_IOTA_OUT, &out);
}
