// SPDX-License-Identifier: MIT
/* Matrix products. */
#include <errno.h>
#include <string.h>

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
static int matmul_weight(struct npu_lower *l, const struct npu_gtensor *t, bool trans, int rank,
			 struct npu_lview *view)
{
	int64_t k = t->dim[t->rank - (trans ? 1 : 2)].base, n = t->dim[t->rank - (trans ? 2 : 1)].base, batch = 1;
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

int npu_lower_matmul(struct npu_lower *l, struct npu_gnode *n)
{
	const bool ta = npu_gnode_int(n, "transA", 0), tb = npu_gnode_int(n, "transB", 0);
	struct npu_gtensor *ga = n->inputs[0], *gb = n->inputs[1];
	struct npu_lview out, a, b;
	struct npu_lview *all[] = { &out, &a, &b };
	struct npu_linsn *insn;
	int rank, err = npu_lower_out(l, n->outputs[0], &out);

	if (!err)
		err = npu_lower_in(l, ga, &a);
	if (err)
		return err;
	if (!npu_dtype_is_float(npu_lower_dtype(l, n->outputs[0])))
		return npu_lower_refuse(l, NULL, "type %s; floats are supported",
					npu_gtype_name(ga->type));
	/*
	 * numpy: a vector on the left is a row, on the right a column, and the result loses that
	 * dimension.
	 */
	if (ga->rank == 1) {
		npu_lview_insert(&a, 0);
		npu_lview_insert(&out, out.rank - (gb->rank > 1 ? 1 : 0));
	} else if (ta) {
		swap_last(&a);
	}
	if (gb->rank == 1)
		npu_lview_insert(&out, out.rank);
	rank = out.rank;
	if (npu_gtensor_is_const(gb) && gb->rank >= 2) {
		err = matmul_weight(l, gb, tb, rank, &b);
	} else {
		err = npu_lower_in(l, gb, &b);
		if (!err && gb->rank == 1)
			npu_lview_insert(&b, 1);
		else if (!err && tb)
			swap_last(&b);
	}
	if (err)
		return err;
	npu_lview_extend(&a, rank, &a);
	npu_lview_extend(&b, rank, &b);
	if (n->ep.res_op == NPU_GR_NONE) {
		fold_rows(all);
		for (int i = 0; out.rank > 2 && i + 3 < out.rank;)
			if (!merge_leading(all, i))
				i++;
	}
	insn = npu_lower_insn(l, NPU_OP_MATMUL);
	if (!insn)
		return -ENOMEM;
	err = npu_linsn_operand(l, insn, NPU_MATMUL_OUT, &out);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_MATMUL_A, &a);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_MATMUL_B, &b);
	return err ? err : npu_lower_epilogue(l, insn, n, NPU_MATMUL_BIAS, NPU_MATMUL_P_ACT, NULL,
					      n->outputs[0]->rank - 1, out.dim[out.rank - 1].base);
}
