// SPDX-License-Identifier: MIT
/* Activations and the epilogue of convolutions and matrix products. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "compiler/lower_quant.h"

static const enum npu_act plain_act[NPU_GA_COUNT] = {
	[NPU_GA_NONE] = NPU_ACT_NONE,		[NPU_GA_RELU] = NPU_ACT_RELU,
	[NPU_GA_CLIP] = NPU_ACT_CLIP,		[NPU_GA_LEAKY] = NPU_ACT_LEAKY_RELU,
	[NPU_GA_PRELU] = NPU_ACT_PRELU,		[NPU_GA_SIGMOID] = NPU_ACT_SIGMOID,
	[NPU_GA_TANH] = NPU_ACT_TANH,		[NPU_GA_HARDSIGMOID] = NPU_ACT_HARD_SIGMOID,
	[NPU_GA_HARDSWISH] = NPU_ACT_HARD_SWISH, [NPU_GA_SILU] = NPU_ACT_SILU,
	[NPU_GA_GELU_ERF] = NPU_ACT_GELU_ERF,	[NPU_GA_GELU_TANH] = NPU_ACT_GELU_TANH,
	[NPU_GA_ELU] = NPU_ACT_ELU,		[NPU_GA_SELU] = NPU_ACT_ELU,
	[NPU_GA_SOFTPLUS] = NPU_ACT_SOFTPLUS,	[NPU_GA_MISH] = NPU_ACT_MISH,
};

/* Parameters are finite; an open end of a clip is the largest float. */
static float finite_bound(float v)
{
	return v > FLT_MAX ? FLT_MAX : v < -FLT_MAX ? -FLT_MAX : v;
}

int npu_lact_map(const struct npu_gact *a, struct npu_lact *out)
{
	*out = (struct npu_lact){ .mul = 1 };
	if ((unsigned int)a->kind >= NPU_GA_COUNT ||
	    (a->kind != NPU_GA_NONE && plain_act[a->kind] == NPU_ACT_NONE))
		return -EOPNOTSUPP;
	out->act = plain_act[a->kind];
	switch (a->kind) {
	case NPU_GA_CLIP:
		out->alpha = finite_bound(a->a);
		out->beta = finite_bound(a->b);
		if (a->a == 0 && !signbit(a->a) && a->b > FLT_MAX)
			*out = (struct npu_lact){ .act = NPU_ACT_RELU, .mul = 1 };
		else if (a->a == 0 && a->b == 6)
			*out = (struct npu_lact){ .act = NPU_ACT_RELU6, .mul = 1 };
		break;
	case NPU_GA_SELU:
		out->alpha = a->a;
		out->mul = a->b;
		break;
	case NPU_GA_LEAKY:
	case NPU_GA_ELU:
		out->alpha = a->a;
		break;
	case NPU_GA_HARDSIGMOID:
	case NPU_GA_HARDSWISH:
		out->alpha = a->a;
		out->beta = a->b;
		break;
	default:
		break;
	}
	return 0;
}

int npu_lower_slope(struct npu_lower *l, const struct npu_gtensor *slope,
		    const struct npu_gtensor *out, int axis, struct npu_lview *view)
{
	int shift = out->rank - slope->rank;
	size_t count = (size_t)npu_gtensor_const_elems(slope);
	float *f;

	if (!npu_gtensor_is_const(slope) || shift < 0)
		return -EDOM;
	for (int i = 0; i < slope->rank; i++)
		if (slope->dim[i].base != 1 && i + shift != axis)
			return -EDOM;
	if (!npu_dim_is_const(out->dim[axis]) || (int64_t)count != out->dim[axis].base)
		return -EDOM;
	f = npu_arena_array(l->arena, count, sizeof(*f));
	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		f[i] = (float)npu_gtensor_elem(slope, i);
	return npu_lower_vector(l, f, count, view);
}

/* A PRelu with one slope for all is a leaky relu. */
static bool one_slope(struct npu_gnode *n, struct npu_lact *act)
{
	double v;

	if (act->act != NPU_ACT_PRELU ||
	    !npu_gtensor_scalar(npu_gnode_in(n, (unsigned int)n->ep.act.slope), &v))
		return false;
	act->act = NPU_ACT_LEAKY_RELU;
	act->alpha = (float)v;
	return true;
}

static int epilogue_bias(struct npu_lower *l, struct npu_linsn *insn, struct npu_gtensor *bias,
			 unsigned int slot, int64_t channels)
{
	struct npu_lview v, f;
	int err;

	if (!bias)
		return 0;
	if (npu_gtensor_is_const(bias)) {
		if (npu_gtensor_const_elems(bias) != channels)
			return npu_lower_refuse(l, "bias", "it has %lld elements, expected %lld",
						(long long)npu_gtensor_const_elems(bias),
						(long long)channels);
		err = npu_lower_const(l, bias, NPU_F32, &v);
		if (err)
			return err;
		v.rank = 1;	/* [O] or [1, O] */
		v.dim[0] = npu_dim_const(channels);
		v.stride[0] = npu_poly_const(4);
		return npu_linsn_operand(l, insn, slot, &v);
	}
	err = npu_lower_in(l, bias, &v);
	if (err)
		return err;
	if (v.dtype != NPU_F32)
		return npu_lower_refuse(l, "bias", "a computed bias must be f32");
	err = npu_lview_reshape(l, &v, (struct npu_dim[]){ npu_dim_const(channels) }, 1, &f);
	return err ? npu_lower_refuse(l, "bias", "its shape is not [%lld]", (long long)channels) :
		     npu_linsn_operand(l, insn, slot, &f);
}

static int epilogue_residual(struct npu_lower *l, struct npu_linsn *insn, struct npu_gnode *n,
			     unsigned int slot, const int *perm)
{
	struct npu_lview v;
	int err = npu_lower_in(l, n->inputs[n->ep.res], &v);

	if (err)
		return err;
	npu_lview_extend(&v, n->outputs[0]->rank, &v);
	if (perm)
		npu_lview_permute(&v, perm, &v);
	if (n->outputs[0]->rank == 3 && perm)
		npu_lview_insert(&v, 1);	/* [N, L, C] as an image of height 1 */
	return npu_linsn_operand(l, insn, slot, &v);
}

int npu_lower_epilogue(struct npu_lower *l, struct npu_linsn *insn, struct npu_gnode *n,
		       unsigned int slot, unsigned int param, const int *perm, int axis,
		       int64_t channels, const struct npu_lint *li)
{
	const struct npu_gepilogue *ep = &n->ep;
	const bool integer = li && li->on;
	struct npu_lact a, b;
	struct npu_lview slope;
	int err = 0;

	if (npu_lact_map(&ep->act, &a) || npu_lact_map(&ep->act2, &b) || b.mul != 1 ||
	    b.act == NPU_ACT_PRELU)
		return npu_lower_refuse(l, NULL, "activation %s cannot be part of an epilogue",
					npu_gact_name(npu_lact_map(&ep->act, &a) ? ep->act.kind :
										   ep->act2.kind));
	if (!integer)
		err = epilogue_bias(l, insn, npu_gnode_in(n, 2), slot, channels);
	if (!err && a.act == NPU_ACT_PRELU && !one_slope(n, &a)) {
		err = npu_lower_slope(l, n->inputs[ep->act.slope], n->outputs[0], axis, &slope);
		err = err ? npu_lower_refuse(l, "slope", "it must be a constant per channel") :
			    npu_linsn_operand(l, insn, slot + 3, &slope);
	}
	if (!err && ep->res_op != NPU_GR_NONE)
		err = epilogue_residual(l, insn, n, slot + 2, perm);
	if (ep->has_affine) {
		a.mul *= ep->post_mul;
		a.add = a.add * ep->post_mul + ep->post_add;
	}
	if (!err && integer) {
		npu_lint_divide(li, insn->operand[0], insn->operand[slot + 2],
				ep->res_op == NPU_GR_MUL, &a, &b);
		err = npu_lint_operands(l, li, insn, slot);
	}
	npu_linsn_param(insn, param, a.act);
	npu_linsn_float(insn, param + 1, a.alpha);
	npu_linsn_float(insn, param + 2, a.beta);
	npu_linsn_float(insn, param + 3, a.mul);
	npu_linsn_float(insn, param + 4, a.add);
	npu_linsn_param(insn, param + 5, ep->res_op == NPU_GR_ADD ? NPU_JOIN_ADD :
					 ep->res_op == NPU_GR_MUL ? NPU_JOIN_MUL : NPU_JOIN_NONE);
	npu_linsn_param(insn, param + 6, b.act);
	npu_linsn_float(insn, param + 7, b.alpha);
	npu_linsn_float(insn, param + 8, b.beta);
	return err;
}

int npu_lower_node_act(struct npu_lower *l, const struct npu_gnode *n, struct npu_lact *act)
{
	if (npu_lact_map(&n->ep.act, act) || act->act == NPU_ACT_PRELU)
		return npu_lower_refuse(l, NULL,
					"activation %s cannot follow %s in one instruction",
					npu_gact_name(n->ep.act.kind), npu_gnode_info(n)->name);
	if (n->ep.res_op != NPU_GR_NONE || n->ep.act2.kind != NPU_GA_NONE)
		return npu_lower_refuse(l, NULL, "%s carries no residual", npu_gnode_info(n)->name);
	if (n->ep.has_affine) {
		act->add = act->add * n->ep.post_mul + n->ep.post_add;
		act->mul *= n->ep.post_mul;
	}
	return 0;
}

/* ---- activations that stand alone ------------------------------------------------------------ */

static int const_like(struct npu_lower *l, int rank, enum npu_dtype dtype, double value,
		      struct npu_lview *v)
{
	float f = (float)value;
	int64_t n = (int64_t)value;
	uint64_t offset;
	int err = npu_dtype_is_float(dtype) ? npu_lower_vector(l, &f, 1, v) : 0;

	if (!npu_dtype_is_float(dtype)) {
		memset(v, 0, sizeof(*v));
		v->dtype = NPU_I64;
		v->rank = 1;
		v->dim[0] = npu_dim_const(1);
		v->buf = l->weight_buf;
		err = npu_weights_add(l->weights, &n, sizeof(n), &offset);
		if (!err)
			v->offset = npu_poly_const((int64_t)offset);
	}
	if (!rank)
		npu_lview_drop(v, 0);
	npu_lview_extend(v, rank, v);
	return err;
}

/* Relu and Clip of integers. */
static int integer_clip(struct npu_lower *l, const struct npu_gact *a, const struct npu_lview *out,
			const struct npu_lview *in)
{
	double low = a->kind == NPU_GA_RELU ? 0 : a->a,
	       high = a->kind == NPU_GA_RELU ? INFINITY : a->b;
	struct npu_lview c;
	const struct npu_lview *from = in;
	int err = 0;

	if (a->kind != NPU_GA_RELU && a->kind != NPU_GA_CLIP)
		return npu_lower_refuse(l, NULL, "%s of integers", npu_gact_name(a->kind));
	if ((isfinite(low) && fabs(low) > 0x1p24) || (isfinite(high) && fabs(high) > 0x1p24))
		return npu_lower_refuse(l, NULL, "clip of integers with a bound above 2^24");
	if (isfinite(low) || !isfinite(high)) {
		err = const_like(l, in->rank, in->dtype, isfinite(low) ? low : -0x1p62, &c);
		if (!err)
			err = npu_lower_ewise2(l, out, from, &c, NPU_BINARY_MAX, NULL);
		from = out;
	}
	if (!err && isfinite(high)) {
		err = const_like(l, in->rank, in->dtype, high, &c);
		if (!err)
			err = npu_lower_ewise2(l, out, from, &c, NPU_BINARY_MIN, NULL);
	}
	return err;
}

/* x / a, then elu with alpha 1, times a. */
static int celu(struct npu_lower *l, const struct npu_gact *a, const struct npu_lview *out,
		const struct npu_lview *in)
{
	struct npu_lact scale = { .act = NPU_ACT_NONE, .mul = 1 / a->a };
	struct npu_lact elu = { .act = NPU_ACT_ELU, .alpha = 1, .mul = a->a };
	struct npu_lview t;
	int err = npu_lower_temp(l, in->dim, in->rank, NPU_F32, &t);

	if (!err)
		err = npu_lower_ewise1(l, &t, in, NPU_UNARY_COPY, &scale);
	return err ? err : npu_lower_ewise1(l, out, &t, NPU_UNARY_COPY, &elu);
}

/* x > a ? x : 0 */
static int threshold(struct npu_lower *l, const struct npu_gact *a, const struct npu_lview *out,
		     const struct npu_lview *in)
{
	struct npu_lview limit, cond, zero, v[4];
	struct npu_lview *all[] = { &v[0], &v[1], &v[2], &v[3] };
	struct npu_linsn *insn;
	int err = const_like(l, in->rank, NPU_F32, a->a, &limit);

	if (!err)
		err = npu_lower_temp(l, in->dim, in->rank, NPU_BOOL, &cond);
	if (!err)
		err = npu_lower_ewise2(l, &cond, in, &limit, NPU_BINARY_GT, NULL);
	if (!err)
		err = npu_lower_scalar_like(l, in, 0, &zero);
	if (err)
		return err;
	npu_lview_extend(&zero, in->rank, &zero);
	insn = npu_lower_insn(l, NPU_OP_SELECT);
	if (!insn)
		return -ENOMEM;
	v[0] = *out;
	v[1] = cond;
	v[2] = *in;
	v[3] = zero;
	npu_lview_canonical(l, all, 4, -1);
	for (unsigned int i = 0; i < 4 && !err; i++)
		err = npu_linsn_operand(l, insn, i, &v[i]);
	return err;
}

/* Slopes per channel: the channel becomes the last dimension. */
static int prelu_channels(struct npu_lower *l, const struct npu_lview *out,
			  const struct npu_lview *in, int axis, const struct npu_lview *slope)
{
	struct npu_lview o = *out, i = *in;
	struct npu_lview *both[] = { &o, &i };
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_EWISE1);
	int err;

	if (!insn)
		return -ENOMEM;
	npu_lview_canonical(l, both, 2, axis);
	npu_linsn_param(insn, NPU_EWISE1_P_FUNC, NPU_UNARY_COPY);
	npu_linsn_param(insn, NPU_EWISE1_P_ACT, NPU_ACT_PRELU);
	npu_linsn_float(insn, NPU_EWISE1_P_POST_MUL, 1);
	err = npu_linsn_operand(l, insn, NPU_EWISE1_OUT, &o);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_EWISE1_IN, &i);
	return err ? err : npu_linsn_operand(l, insn, NPU_EWISE1_ACT_PARAM, slope);
}

/* max(x, 0) + slope * min(x, 0) for slopes of any shape. */
static int prelu_general(struct npu_lower *l, const struct npu_lview *out,
			 const struct npu_lview *in, struct npu_gtensor *slope)
{
	const struct npu_lact relu = { .act = NPU_ACT_RELU, .mul = 1 };
	struct npu_lview s, zero, low, high;
	int err = npu_lower_in(l, slope, &s);

	if (!err)
		err = npu_lower_temp(l, in->dim, in->rank, NPU_F32, &low);
	if (!err)
		err = npu_lower_temp(l, in->dim, in->rank, NPU_F32, &high);
	if (!err)
		err = const_like(l, in->rank, NPU_F32, 0, &zero);
	if (!err)
		err = npu_lower_ewise2(l, &low, in, &zero, NPU_BINARY_MIN, NULL);
	if (!err)
		err = npu_lower_ewise2(l, &low, &low, &s, NPU_BINARY_MUL, NULL);
	if (!err)
		err = npu_lower_ewise1(l, &high, in, NPU_UNARY_COPY, &relu);
	return err ? err : npu_lower_ewise2(l, out, &high, &low, NPU_BINARY_ADD, NULL);
}

static int prelu(struct npu_lower *l, struct npu_gnode *n, const struct npu_lview *out,
		 const struct npu_lview *in)
{
	struct npu_gtensor *slope = n->inputs[n->ep.act.slope];
	struct npu_lview s;

	/* ONNX slopes are [C, 1, 1] as a rule; a plain vector counts for the last dimension. */
	for (int axis = 1; axis < in->rank; axis++) {
		int err = npu_lower_slope(l, slope, n->outputs[0], axis, &s);

		if (err != -EDOM)
			return err ? err : prelu_channels(l, out, in, axis, &s);
	}
	return prelu_general(l, out, in, slope);
}

int npu_lower_activation(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_lview in, out;
	struct npu_lact act;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (err)
		return err;
	if (!npu_lview_is_real(&in))
		return integer_clip(l, &n->ep.act, &out, &in);
	if (n->ep.act.kind == NPU_GA_CELU)
		return celu(l, &n->ep.act, &out, &in);
	if (n->ep.act.kind == NPU_GA_THRESHOLD)
		return threshold(l, &n->ep.act, &out, &in);
	if (n->ep.act.kind == NPU_GA_SOFTSIGN)
		return npu_lower_ewise1(l, &out, &in, NPU_UNARY_SOFTSIGN, NULL);
	err = npu_lact_map(&n->ep.act, &act);
	if (err)
		return npu_lower_refuse(l, NULL, "activation %s", npu_gact_name(n->ep.act.kind));
	if (act.act == NPU_ACT_PRELU && !one_slope(n, &act))
		return prelu(l, n, &out, &in);
	if (n->ep.has_affine) {
		act.add = act.add * n->ep.post_mul + n->ep.post_add;
		act.mul *= n->ep.post_mul;
	}
	return npu_lower_ewise1(l, &out, &in, NPU_UNARY_COPY, &act);
}
