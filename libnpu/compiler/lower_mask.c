// SPDX-License-Identifier: MIT
/* Operators that compare positions: triangles, one-hot vectors, the position of the largest. */
#include <errno.h>
#include <string.h>

#include "compiler/lower.h"

/* 0, 1, ... + @first as i64 along dimension @axis of @rank. */
static int positions(struct npu_lower *l, int rank, int axis, int64_t count, int64_t first,
		     struct npu_lview *v)
{
	struct npu_gtensor *t = npu_graph_const(l->g, "positions", NPU_GT_I64, 1, &count, NULL);
	int err;

	if (!t)
		return -ENOMEM;
	for (int64_t i = 0; i < count; i++)
		((int64_t *)t->data)[i] = first + i;
	err = npu_lower_const(l, t, NPU_I64, v);
	npu_lview_extend(v, axis + 1, v);
	while (!err && v->rank < rank)
		npu_lview_insert(v, v->rank);
	return err;
}

/* @out = @cond ? @a : @b. */
static int select_insn(struct npu_lower *l, const struct npu_lview *out,
		       const struct npu_lview *cond, const struct npu_lview *a,
		       const struct npu_lview *b)
{
	struct npu_lview v[4] = { *out, *cond, *a, *b };
	struct npu_lview *all[] = { &v[0], &v[1], &v[2], &v[3] };
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_SELECT);
	int err = 0;

	if (!insn)
		return -ENOMEM;
	for (int i = 1; i < 4; i++)
		npu_lview_extend(&v[i], out->rank, &v[i]);
	npu_lview_canonical(l, all, 4, -1);
	for (unsigned int i = 0; i < 4 && !err; i++)
		err = npu_linsn_operand(l, insn, i, &v[i]);
	return err;
}

int npu_lower_trilu(struct npu_lower *l, struct npu_gnode *n)
{
	const bool upper = npu_gnode_int(n, "upper", 1);
	struct npu_gtensor *x = n->inputs[0], *mask;
	int64_t size[2];
	struct npu_lview in, out, m, zero;
	double k = 0;
	int err;

	if (npu_gnode_in(n, 1) && !npu_gtensor_scalar(n->inputs[1], &k))
		return npu_lower_refuse(l, "k", "it must be a constant");
	if (x->rank < 2 || !npu_dim_is_const(x->dim[x->rank - 1]) ||
	    !npu_dim_is_const(x->dim[x->rank - 2]))
		return npu_lower_refuse(l, "input", "its last two dimensions must be known");
	for (int i = 0; i < 2; i++)
		size[i] = x->dim[x->rank - 2 + i].base;
	mask = npu_graph_const(l->g, "triangle", NPU_GT_BOOL, 2, size, NULL);
	if (!mask)
		return -ENOMEM;
	for (int64_t i = 0; i < size[0] * size[1]; i++) {
		int64_t row = i / size[1], column = i % size[1];
		double past = (double)(column - row) - k;

		((uint8_t *)mask->data)[i] = upper ? past >= 0 : past <= 0;
	}
	err = npu_lower_in(l, x, &in);
	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = npu_lower_const(l, mask, NPU_BOOL, &m);
	if (!err)
		err = npu_lower_scalar_like(l, &in, 0, &zero);
	return err ? err : select_insn(l, &out, &m, &in, &zero);
}

int npu_lower_one_hot(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_gtensor *out = n->outputs[0], *values = n->inputs[2];
	int axis = (int)npu_gnode_int(n, "axis", -1), err;
	struct npu_lview in, to, up, down, hit, hit2, on, off;

	if (axis < 0)
		axis += out->rank;
	if (!npu_gtensor_is_const(values) || npu_gtensor_const_elems(values) != 2 ||
	    !npu_dim_is_const(out->dim[axis]))
		return npu_lower_refuse(l, "values", "depth and values must be constants");
	err = npu_lower_in(l, n->inputs[0], &in);
	if (!err)
		err = npu_lower_out(l, out, &to);
	if (err)
		return err;
	npu_lview_insert(&in, axis);
	/* A negative index counts from the end; one out of range hits nothing. */
	err = positions(l, out->rank, axis, out->dim[axis].base, 0, &up);
	if (!err)
		err = positions(l, out->rank, axis, out->dim[axis].base, -out->dim[axis].base,
				&down);
	if (!err)
		err = npu_lower_temp(l, out->dim, out->rank, NPU_BOOL, &hit);
	if (!err)
		err = npu_lower_temp(l, out->dim, out->rank, NPU_BOOL, &hit2);
	if (!err)
		err = npu_lower_ewise2(l, &hit, &in, &up, NPU_BINARY_EQ, NULL);
	if (!err)
		err = npu_lower_ewise2(l, &hit2, &in, &down, NPU_BINARY_EQ, NULL);
	if (!err)
		err = npu_lower_ewise2(l, &hit, &hit, &hit2, NPU_BINARY_OR, NULL);
	if (!err)
		err = npu_lower_scalar(l, npu_lower_dtype(l, values), npu_gtensor_elem(values, 1),
				       &on);
	if (!err)
		err = npu_lower_scalar(l, npu_lower_dtype(l, values), npu_gtensor_elem(values, 0),
				       &off);
	return err ? err : select_insn(l, &to, &hit, &on, &off);
}

int npu_lower_hardmax(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_gtensor *out = n->outputs[0];
	int axis = (int)npu_gnode_int(n, "axis", out->rank - 1), err;
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	struct npu_lview in, to, best, at, hit;
	struct npu_linsn *insn;

	if (!npu_dim_is_const(out->dim[axis]))
		return npu_lower_refuse(l, "axis", "along a run-time length");
	memcpy(dim, out->dim, sizeof(dim));
	dim[axis] = npu_dim_const(1);
	err = npu_lower_in(l, n->inputs[0], &in);
	if (!err)
		err = npu_lower_out(l, out, &to);
	if (!err)
		err = npu_lower_temp(l, dim, out->rank, NPU_I64, &best);
	if (!err)
		err = npu_lower_temp(l, out->dim, out->rank, NPU_BOOL, &hit);
	if (!err)
		err = positions(l, out->rank, axis, out->dim[axis].base, 0, &at);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_ARG_REDUCE);
	if (!insn)
		return -ENOMEM;
	npu_linsn_param(insn, NPU_ARG_REDUCE_P_AXIS, (uint32_t)axis);
	err = npu_linsn_operand(l, insn, NPU_ARG_REDUCE_OUT, &best);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_ARG_REDUCE_IN, &in);
	if (!err)
		err = npu_lower_ewise2(l, &hit, &best, &at, NPU_BINARY_EQ, NULL);
	return err ? err : npu_lower_copy(l, &to, &hit, NULL);
}
