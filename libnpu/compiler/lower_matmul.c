// SPDX-License-Identifier: MIT
/* Matrix products. */
#include <errno.h>
#include <string.h>

#include "compiler/lower_quant.h"
#include "compiler/pack.h"

static void swap_last(struct npu_lview *v)
{
	struct npu_dim d = v->dim[v->rank - 1];
	struct npu_poly s = v->stride[v->rank - 1];

	v->dim[v->rank - 1] = v->dim[v->rank - 2];
	v->stride[v->rank - 1] = v->stride[v->rank - 2];
	v->dim[v->rank - 2] = d;
	v->stride[v->rank - 2] = s;
}

/*
 * A constant [K, N] (or [N, K] when @trans), alone or with leading dimensions: panels of 16
 * columns.
 */
static int matmul_weight(struct npu_lower *l, const struct npu_gtensor *t, bool trans, bool codes,
			 int rank, struct npu_lview *view)
{
	int64_t k = t->dim[t->rank - (trans ? 1 : 2)].base,
		n = t->dim[t->rank - (trans ? 2 : 1)].base, batch = 1;
	struct npu_pack_source src;
	int err;

	for (int i = 0; i < t->rank - 2; i++)
		batch *= t->dim[i].base;
	src = (struct npu_pack_source){
		.t = t,
		.groups = batch,
		.outs = n,
		.dim = { 1, 1, k },
		.stride = { 0, 0, trans ? 1 : n },
		.out_stride = trans ? k : 1,
		.group_stride = k * n,
		.codes = codes,
	};
	err = npu_pack_weight(l, &src, true, view);
	view->rank = t->rank;
	for (int i = 0; i < t->rank; i++)
		view->dim[i] = t->dim[i];
	view->dim[t->rank - 2] = npu_dim_const(k);
	view->dim[t->rank - 1] = npu_dim_const(n);
	npu_lview_extend(view, rank, view);
	return err;
}

/* Merge leading dimension @i with the next in all three when it changes no address. */
static bool merge_leading(struct npu_lview **v, int i)
{
	struct npu_lview t[3];

	for (int k = 0; k < 3; k++) {
		struct npu_dim d;
		struct npu_poly s;
		bool one = npu_dim_is_const(v[k]->dim[i]) && v[k]->dim[i].base == 1;
		bool next = npu_dim_is_const(v[k]->dim[i + 1]) && v[k]->dim[i + 1].base == 1;

		t[k] = *v[k];
		if (one) {
			if (!next && !(v[0]->dim[i].base == 1 && npu_dim_is_const(v[0]->dim[i])))
				return false;
			npu_lview_drop(&t[k], i);
			continue;
		}
		if (npu_dim_mul(v[k]->dim[i], v[k]->dim[i + 1], &d))
			return false;
		if (next && v[0]->dim[i + 1].base == 1 && npu_dim_is_const(v[0]->dim[i + 1])) {
			npu_lview_drop(&t[k], i + 1);
			continue;
		}
		if (next || (v[k]->layout == NPU_LAYOUT_STRIDED &&
			     (npu_poly_mul_dim(&v[k]->stride[i + 1], v[k]->dim[i + 1], &s) ||
			      !npu_poly_equal(&s, &v[k]->stride[i]))))
			return false;
		npu_lview_drop(&t[k], i);
		t[k].dim[i] = d;
	}
	for (int k = 0; k < 3; k++)
		*v[k] = t[k];
	return true;
}

/*
 * [.., M, K] times one [K, N] is one product of all rows: the leading dimensions join M when a and
 * out are contiguous there, which gives the engine long runs of rows.
 */
static void fold_rows(struct npu_lview **v)
{
	while (v[0]->rank > 2) {
		int r = v[0]->rank;
		struct npu_lview out = *v[0], a = *v[1];
		struct npu_dim rows;
		struct npu_poly s;

		if (!npu_dim_is_const(v[2]->dim[r - 3]) || v[2]->dim[r - 3].base != 1 ||
		    !npu_dim_equal(out.dim[r - 3], a.dim[r - 3]) ||
		    npu_dim_mul(out.dim[r - 3], out.dim[r - 2], &rows))
			return;
		if (!npu_dim_is_const(out.dim[r - 3]) || out.dim[r - 3].base != 1)
			for (int k = 0; k < 2; k++)
				if (npu_poly_mul_dim(&v[k]->stride[r - 2], v[k]->dim[r - 2], &s) ||
				    !npu_poly_equal(&s, &v[k]->stride[r - 3]))
					return;
		npu_lview_drop(&out, r - 3);
		npu_lview_drop(&a, r - 3);
		out.dim[r - 3] = a.dim[r - 3] = rows;
		*v[0] = out;
		*v[1] = a;
		npu_lview_drop(v[2], r - 3);
	}
}

/* Whether it is done in integers: both sides are 8-bit codes. */
static int matmul_integer(struct npu_lower *l, struct npu_gnode *n, struct npu_lview *a,
			  struct npu_lview *b, struct npu_lint *li)
{
	const struct npu_gtensor *gb = n->inputs[1];
	const bool weight = npu_gtensor_is_const(gb) && gb->rank >= 2;
	int axis = gb->rank - (npu_gnode_int(n, "transB", 0) ? 2 : 1);
	struct npu_lint_args args = { .x = a, .weight = weight ? gb : NULL, .computed = b,
				      .bias = npu_gnode_in(n, 2), .axis = axis, .outs = 1,
				      .has_zero_slot = true };

	args.depth = npu_dim_high(l->g, a->dim[a->rank - 1]);
	if (n->op == NPU_GOP_MatMulInteger)
		return npu_lower_plain_integer(
			l, n, a, weight ? NULL : b,
			gb->rank > 1 ? gb->dim[axis] : npu_dim_const(1), args.depth, li);
	if (weight)
		args.outs = gb->dim[axis].base;
	else if (args.bias && npu_gtensor_is_const(args.bias))
		args.outs = npu_gtensor_const_elems(args.bias);
	return npu_lower_integer(l, &args, li);
}

/* A, B and the result (@whole as the graph has it) with both sides at least matrices. */
static int matmul_views(struct npu_lower *l, struct npu_gnode *n, struct npu_lint *li,
			struct npu_lview *v, struct npu_lview *whole)
{
	const bool ta = npu_gnode_int(n, "transA", 0), tb = npu_gnode_int(n, "transB", 0);
	struct npu_gtensor *ga = n->inputs[0], *gb = n->inputs[1], *gout = n->outputs[0];
	const bool weight = npu_gtensor_is_const(gb) && gb->rank >= 2;
	struct npu_lview *out = &v[NPU_MATMUL_OUT], *a = &v[NPU_MATMUL_A], *b = &v[NPU_MATMUL_B];
	int err = npu_lower_in(l, ga, a);

	if (!err && ta && ga->rank > 1)
		swap_last(a);
	if (!err && !weight)
		err = npu_lower_in(l, gb, b);
	if (!err)
		err = matmul_integer(l, n, a, b, li);
	if (!err && !li->on)
		err = npu_lower_as_float(l, a);
	if (!err && !li->on && !weight)
		err = npu_lower_as_float(l, b);
	if (!err)
		err = li->on ? npu_lower_out(l, gout, whole) : npu_lower_out_float(l, gout, whole);
	if (err)
		return err;
	*out = *whole;
	/*
	 * numpy: a vector on the left is a row, on the right a column, and the result loses that
	 * dimension.
	 */
	if (ga->rank == 1) {
		npu_lview_insert(a, 0);
		npu_lview_insert(out, out->rank - (gb->rank > 1 ? 1 : 0));
	}
	if (gb->rank == 1)
		npu_lview_insert(out, out->rank);
	if (weight)
		return matmul_weight(l, gb, tb, li->on, out->rank, b);
	if (gb->rank == 1)
		npu_lview_insert(b, 1);
	else if (tb)
		swap_last(b);
	return 0;
}

int npu_lower_matmul_integer(struct npu_lower *l, struct npu_gnode *n)
{
	return npu_lower_matmul(l, n);
}

int npu_lower_matmul(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_lview v[3], whole;
	struct npu_lview *all[] = { &v[NPU_MATMUL_OUT], &v[NPU_MATMUL_A], &v[NPU_MATMUL_B] };
	struct npu_linsn *insn;
	struct npu_lint li;
	int rank, err = 0;

	for (unsigned int i = 0; i < 2 && n->op == NPU_GOP_MatMul; i++)
		if (!npu_gtensor_is_real(n->inputs[i]))
			return npu_lower_refuse(
				l, i ? "B" : "A",
				"type %s; floats and quantized 8-bit integers are supported",
				npu_gtype_name(n->inputs[i]->type));
	err = matmul_views(l, n, &li, v, &whole);
	if (err)
		return err;
	rank = v[NPU_MATMUL_OUT].rank;
	npu_lview_extend(&v[NPU_MATMUL_A], rank, &v[NPU_MATMUL_A]);
	npu_lview_extend(&v[NPU_MATMUL_B], rank, &v[NPU_MATMUL_B]);
	if (n->ep.res_op == NPU_GR_NONE) {
		fold_rows(all);
		for (int i = 0; v[0].rank > 2 && i + 3 < v[0].rank;)
			if (!merge_leading(all, i))
				i++;
	}
	insn = npu_lower_insn(l, NPU_OP_MATMUL);
	if (!insn)
		return -ENOMEM;
	for (unsigned int i = 0; i < 3 && !err; i++)
		err = npu_linsn_operand(l, insn, i, &v[i]);
	if (!err && li.on)
		err = npu_lint_zeros(l, &li, insn, NPU_MATMUL_B, NPU_MATMUL_B_ZERO,
				     NPU_MATMUL_A_ZERO);
	if (!err)
		err = npu_lower_epilogue(l, insn, n, NPU_MATMUL_BIAS, NPU_MATMUL_P_ACT, NULL,
					 n->outputs[0]->rank - 1, v[0].dim[v[0].rank - 1].base,
					 &li);
	return err ? err : npu_lower_finish(l, n->outputs[0], &whole);
}
