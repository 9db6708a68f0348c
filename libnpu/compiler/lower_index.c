// SPDX-License-Identifier: MIT
/* Operators with indices in memory. */
#include <errno.h>
#include <string.h>

#include "compiler/lower.h"

/* Three dimensions: before @axis, @axis, behind it. */
static int three_dims(struct npu_lower *l, const struct npu_lview *v, int axis, int axes,
		      struct npu_lview *out)
{
	struct npu_dim d[3];

	if (npu_dims_product(v->dim, axis, &d[0]) || npu_dims_product(v->dim + axis, axes, &d[1]) ||
	    npu_dims_product(v->dim + axis + axes, v->rank - axis - axes, &d[2]))
		return -EDOM;
	return npu_lview_reshape(l, v, d, 3, out);
}

static int index_vector(struct npu_lower *l, struct npu_gtensor *t, struct npu_lview *v)
{
	struct npu_dim count;
	struct npu_lview dense;
	int err = npu_lower_in(l, t, v);

	if (err)
		return err;
	if (npu_dims_product(v->dim, v->rank, &count))
		return npu_lower_refuse(l, "indices", "their number mixes two run-time lengths");
	if (!npu_lview_reshape(l, v, &count, 1, v))
		return 0;
	err = npu_lower_temp_like(l, v->dim, v->rank, v, &dense);
	if (!err)
		err = npu_lower_copy(l, &dense, v, "indices must lie in a row");
	return err ? err : npu_lview_reshape(l, &dense, &count, 1, v);
}

static int gather_insn(struct npu_lower *l, const struct npu_lview *out, const struct npu_lview *in,
		       const struct npu_lview *index)
{
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_GATHER);
	int err;

	if (!insn)
		return -ENOMEM;
	err = npu_linsn_operand(l, insn, NPU_GATHER_OUT, out);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_GATHER_IN, in);
	return err ? err : npu_linsn_operand(l, insn, NPU_GATHER_INDEX, index);
}

int npu_lower_gather_rows(struct npu_lower *l, const struct npu_lview *out,
			  const struct npu_lview *in, struct npu_gtensor *index, int axis)
{
	struct npu_lview rows, dst, ix, dense, whole = *out;
	int axes = index->rank, err = index_vector(l, index, &ix);

	if (err)
		return err;
	if (three_dims(l, in, axis, 1, &rows)) {
		err = npu_lower_temp_like(l, in->dim, in->rank, in, &dense);
		if (!err)
			err = npu_lower_copy(l, &dense, in, "rows must be evenly spaced");
		if (!err && three_dims(l, &dense, axis, 1, &rows))
			err = npu_lower_refuse(l, "data", "its size mixes two run-time lengths");
		if (err)
			return err;
	}
	if (!three_dims(l, out, axis, axes, &dst))
		return gather_insn(l, &dst, &rows, &ix);
	err = npu_lower_temp_like(l, out->dim, out->rank, out, &whole);
	if (!err && three_dims(l, &whole, axis, axes, &dst))
		err = npu_lower_refuse(l, "data", "its size mixes two run-time lengths");
	if (!err)
		err = gather_insn(l, &dst, &rows, &ix);
	return err ? err : npu_lower_copy(l, out, &whole, "the result's memory order is another");
}

/* Constant indices a, a + s, a + 2s, ... are a slice. */
static bool index_run(const struct npu_gtensor *t, int64_t size, int64_t *start, int64_t *step)
{
	int64_t count = npu_gtensor_const_elems(t);

	if (count < 1 || t->rank > 1)
		return false;
	*start = npu_gtensor_elem_int(t, 0);
	*step = count > 1 ? npu_gtensor_elem_int(t, 1) - *start : 1;
	if (*start < 0)
		*start += size;
	for (int64_t i = 1; i < count; i++)
		if (npu_gtensor_elem_int(t, (size_t)i) - npu_gtensor_elem_int(t, (size_t)i - 1) !=
		    *step)
			return false;
	return *step > 0 && *start >= 0 && *start + (count - 1) * *step < size;
}

static int gather_slice(struct npu_lower *l, struct npu_gnode *n, const struct npu_lview *in,
			int axis, int64_t start, int64_t step)
{
	struct npu_gtensor *index = n->inputs[1];
	struct npu_dim first[NPU_GRAPH_MAX_RANK], dim[NPU_GRAPH_MAX_RANK];
	int64_t steps[NPU_GRAPH_MAX_RANK];
	struct npu_lview v;

	for (int i = 0; i < in->rank; i++) {
		first[i] = npu_dim_const(i == axis ? start : 0);
		steps[i] = i == axis ? step : 1;
		dim[i] = i == axis ? npu_dim_const(npu_gtensor_const_elems(index)) : in->dim[i];
	}
	if (npu_lview_slice(in, first, steps, dim, &v))
		return npu_lower_refuse(l, "indices", "the offset mixes run-time lengths");
	if (!index->rank)
		npu_lview_drop(&v, axis);
	return npu_lower_alias(l, n->outputs[0], &v);
}

int npu_lower_gather(struct npu_lower *l, struct npu_gnode *n)
{
	int axis = (int)npu_gnode_int(n, "axis", 0);
	struct npu_gtensor *index = n->inputs[1];
	struct npu_lview in, out;
	int64_t start, step;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (err)
		return err;
	if (npu_gtensor_is_const(index) && npu_dim_is_const(in.dim[axis]) &&
	    index_run(index, in.dim[axis].base, &start, &step))
		return gather_slice(l, n, &in, axis, start, step);
	err = npu_lower_out(l, n->outputs[0], &out);
	return err ? err : npu_lower_gather_rows(l, &out, &in, index, axis);
}

int npu_lower_gather_elements(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_lview in, index, out;
	struct npu_linsn *insn;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (!err)
		err = npu_lower_in(l, n->inputs[1], &index);
	if (!err)
		err = npu_lower_out_like(l, n->outputs[0], &in, &out);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_GATHER_ELEMENTS);
	if (!insn)
		return -ENOMEM;
	npu_linsn_param(insn, NPU_GATHER_ELEMENTS_P_AXIS, (uint32_t)npu_gnode_int(n, "axis", 0));
	err = npu_linsn_operand(l, insn, NPU_GATHER_ELEMENTS_OUT, &out);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_GATHER_ELEMENTS_IN, &in);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_GATHER_ELEMENTS_INDEX, &index);
	return err ? err : npu_lower_finish(l, n->outputs[0], &out);
}

/* One index for all of a row: a matrix is scattered by rows, which is faster. */
static bool by_rows(const struct npu_gnode *n, const struct npu_lview *index)
{
	const struct npu_poly zero = npu_poly_const(0);

	return index->rank == 2 && npu_gnode_int(n, "axis", 0) == 0 &&
	       (npu_poly_equal(&index->stride[1], &zero) ||
		(npu_dim_is_const(index->dim[1]) && index->dim[1].base == 1));
}

static int scatter_rows(struct npu_lower *l, const struct npu_lview *inout,
			const struct npu_lview *in, const struct npu_lview *index,
			unsigned int join)
{
	struct npu_lview to = *inout, from = *in, rows = *index;
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_SCATTER);
	int err;

	if (!insn)
		return -ENOMEM;
	npu_lview_insert(&to, 0);
	npu_lview_insert(&from, 0);
	rows.dim[1] = npu_dim_const(1);
	npu_lview_drop(&rows, 1);
	npu_linsn_param(insn, NPU_SCATTER_P_JOIN, join);
	err = npu_linsn_operand(l, insn, NPU_SCATTER_INOUT, &to);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_SCATTER_IN, &from);
	return err ? err : npu_linsn_operand(l, insn, NPU_SCATTER_INDEX, &rows);
}

int npu_lower_scatter_elements(struct npu_lower *l, struct npu_gnode *n)
{
	static const char *const joins[] = { "none", "add", "mul", "min", "max" };
	const char *join = npu_gnode_string(n, "reduction", "none");
	struct npu_lview data, index, in, out, same;
	struct npu_linsn *insn;
	unsigned int j = 0;
	int err;

	while (j < NPU_NUM_SCATTERS && strcmp(join, joins[j]))
		j++;
	if (j == NPU_NUM_SCATTERS)
		return npu_lower_refuse(l, "reduction", "%s", join);
	err = npu_lower_in(l, n->inputs[0], &data);
	if (!err)
		err = npu_lower_in(l, n->inputs[1], &index);
	if (!err)
		err = npu_lower_in(l, n->inputs[2], &in);
	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = npu_lower_copy(l, &out, &data, NULL);
	if (!err && !npu_lview_same_elem(&in, &out)) {
		err = npu_lower_temp_like(l, in.dim, in.rank, &out, &same);
		if (!err)
			err = npu_lower_copy(l, &same, &in, "the updates' type differs");
		in = same;
	}
	if (err)
		return err;
	if (by_rows(n, &index) && npu_dim_equal(in.dim[1], out.dim[1]))
		return scatter_rows(l, &out, &in, &index, j);
	insn = npu_lower_insn(l, NPU_OP_SCATTER_ELEMENTS);
	if (!insn)
		return -ENOMEM;
	npu_linsn_param(insn, NPU_SCATTER_ELEMENTS_P_AXIS, (uint32_t)npu_gnode_int(n, "axis", 0));
	npu_linsn_param(insn, NPU_SCATTER_ELEMENTS_P_JOIN, j);
	err = npu_linsn_operand(l, insn, NPU_SCATTER_ELEMENTS_INOUT, &out);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_SCATTER_ELEMENTS_IN, &in);
	return err ? err : npu_linsn_operand(l, insn, NPU_SCATTER_ELEMENTS_INDEX, &index);
}
