// SPDX-License-Identifier: MIT
/*
 * Upsampling by a transposed convolution: with a kernel as large as the stride no two taps meet in one output, so that row kh of
 * the kernel makes the output rows stride * h + kh, and there (kw, o) are the outputs of a 1x1 convolution. A
 * single output channel (a segmentation map) would use one of the 16 columns of a panel per pixel; so it uses kw of them.
 */
#include <errno.h>
#include <string.h>

#include "compiler/lower_conv.h"
#include "compiler/pack.h"

bool npu_conv_rows_can(const struct npu_gnode *n, const struct npu_window *w, const struct npu_lview *out)
{
	int64_t o = out->dim[3].base;
	struct npu_poly row;

	if (!npu_gtensor_is_const(n->inputs[1]) || npu_gnode_int(n, "group", 1) != 1 || n->ep.res_op != NPU_GR_NONE ||
	    n->ep.act.kind == NPU_GA_PRELU || (npu_gnode_in(n, 2) && !npu_gtensor_is_const(n->inputs[2])))
		return false;
	for (int i = 0; i < 2; i++) {
		struct npu_dim in = n->inputs[0]->dim[n->inputs[0]->rank - 2 + i], whole;

		if (n->inputs[0]->rank != 4 || w->kernel[i] != w->stride[i] || w->pad[i] ||
		    npu_dim_scale(in, w->stride[i], &whole) || !npu_dim_equal(whole, out->dim[1 + i]))
			return false;
	}
	/* Outputs of one row of the kernel are neighbours in memory. */
	if (w->kernel[1] < 2 || o * w->kernel[1] > NPU_PANEL)
		return false;
	return o == 1 || (!npu_poly_scale(&out->stride[3], o, &row) && npu_poly_equal(&row, &out->stride[2]));
}

/* Where row @kh of the kernel writes: [N, H, W, kw * O] with H and W of the input. */
static int row_view(const struct npu_window *w, const struct npu_lview *in, const struct npu_lview *out, int64_t kh,
		    struct npu_lview *row)
{
	struct npu_poly down;
	int err = npu_poly_scale(&out->stride[1], kh, &down);

	*row = *out;
	if (!err)
		err = npu_poly_add(&out->offset, &down, &row->offset);
	if (!err)
		err = npu_poly_scale(&out->stride[1], w->stride[0], &row->stride[1]);
	if (!err)
		err = npu_poly_scale(&out->stride[2], w->stride[1], &row->stride[2]);
	row->dim[1] = in->dim[1];
	row->dim[2] = in->dim[2];
	row->dim[3] = npu_dim_const(out->dim[3].base * w->kernel[1]);
	if (out->dim[3].base == 1)
		row->stride[3] = out->stride[2];
	return err;
}

/* The model's [C, O, KH, KW]: of row @kh, output kw * O + o. */
static int row_weight(struct npu_lower *l, const struct npu_gtensor *t, const struct npu_window *w, int64_t kh,
		      struct npu_lview *view)
{
	int64_t c = t->dim[0].base, o = t->dim[1].base, taps = w->kernel[0] * w->kernel[1];
	struct npu_pack_source src = {
		.t = t, .groups = 1, .outs = o * w->kernel[1], .dim = { 1, 1, c }, .stride = { 0, 0, o * taps },
		.base = kh * w->kernel[1], .out_stride = taps, .outs_inner = o, .outer_stride = 1,
	};
	int err = npu_pack_weight(l, &src, true, view);

	view->rank = 4;
	view->dim[0] = npu_dim_const(src.outs);
	view->dim[1] = view->dim[2] = npu_dim_const(1);
	view->dim[3] = npu_dim_const(c);
	return err;
}

/* [O], once per column of the kernel. */
static int row_bias(struct npu_lower *l, const struct npu_gtensor *bias, int64_t kw, struct npu_lview *view)
{
	size_t o = (size_t)npu_gtensor_const_elems(bias), count = o * (size_t)kw;
	float *f = npu_arena_array(l->arena, count, sizeof(*f));

	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		f[i] = (float)npu_gtensor_elem(bias, i % o);
	return npu_lower_vector(l, f, count, view);
}

static int emit_row(struct npu_lower *l, struct npu_gnode *n, const struct npu_window *w, const struct npu_lview *in,
		    const struct npu_lview *out, int64_t kh)
{
	struct npu_lview row, weight, bias;
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_CONV);
	int err;

	if (!insn)
		return -ENOMEM;
	for (unsigned int i = 0; i < 2; i++) {
		npu_linsn_param(insn, NPU_CONV_P_STRIDE_H + i, 1);
		npu_linsn_param(insn, NPU_CONV_P_DIL_H + i, 1);
	}
	npu_linsn_param(insn, NPU_CONV_P_GROUPS, 1);
	if (row_view(w, in, out, kh, &row))
		return npu_lower_refuse(l, NULL, "the strides of its result are out of range");
	err = row_weight(l, n->inputs[1], w, kh, &weight);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_CONV_OUT, &row);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_CONV_IN, in);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_CONV_WEIGHT, &weight);
	if (!err)
		err = npu_lower_epilogue(l, insn, n, NPU_CONV_BIAS, NPU_CONV_P_ACT, NULL, 1, out->dim[3].base);
	if (err || !npu_gnode_in(n, 2))
		return err;
	err = row_bias(l, n->inputs[2], w->kernel[1], &bias);
	return err ? err : npu_linsn_operand(l, insn, NPU_CONV_BIAS, &bias);
}

int npu_lower_conv_rows(struct npu_lower *l, struct npu_gnode *n, const struct npu_window *w, const struct npu_lview *in,
			const struct npu_lview *out)
{
	int err = 0;

	for (int64_t kh = 0; kh < w->kernel[0] && !err; kh++)
		err = emit_row(l, n, w, in, out, kh);
	return err;
}
