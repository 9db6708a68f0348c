// SPDX-License-Identifier: MIT
/* Normalizations. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/lower.h"

/* @v with other dimensions; when strides cannot say them, a dense copy. */
static int reshaped(struct npu_lower *l, struct npu_lview *v, const struct npu_dim *dim, int rank)
{
	struct npu_lview t;
	int err;

	if (!npu_lview_reshape(l, v, dim, rank, v))
		return 0;
	err = npu_lower_temp_like(l, v->dim, v->rank, v, &t);
	if (!err)
		err = npu_lower_copy(l, &t, v,
				     "the elements that are normalized together must lie in a row");
	if (!err && npu_lview_reshape(l, &t, dim, rank, v))
		err = npu_lower_refuse(
			l, NULL,
			"the elements that are normalized together mix two run-time lengths");
	return err;
}

static int norm_insn(struct npu_lower *l, const struct npu_lview *out, const struct npu_lview *in,
		     const struct npu_lview *gamma, const struct npu_lview *beta,
		     enum npu_norm kind, float eps)
{
	struct npu_lview o = *out, i = *in;
	struct npu_lview *both[] = { &o, &i };
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_NORM);
	int err;

	if (!insn)
		return -ENOMEM;
	npu_lview_canonical(l, both, 2, o.rank - 1);
	npu_linsn_param(insn, NPU_NORM_P_KIND, kind);
	npu_linsn_float(insn, NPU_NORM_P_EPS, eps);
	err = npu_linsn_operand(l, insn, NPU_NORM_OUT, &o);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_NORM_IN, &i);
	if (!err && gamma)
		err = npu_linsn_operand(l, insn, NPU_NORM_GAMMA, gamma);
	return err || !beta ? err : npu_linsn_operand(l, insn, NPU_NORM_BETA, beta);
}

/* Scale and shift, [D] in any form. */
static int norm_vector(struct npu_lower *l, struct npu_gtensor *t, struct npu_dim d,
		       struct npu_lview *v)
{
	int err = npu_lower_in(l, t, v);

	return err ? err : reshaped(l, v, &d, 1);
}

/* The second and third output: mean, and 1 / sqrt(variance + epsilon). */
static int norm_statistics(struct npu_lower *l, struct npu_gnode *n, const struct npu_lview *in,
			   int axis)
{
	const struct npu_lact eps = { .mul = 1, .add = npu_gnode_float(n, "epsilon", 1e-5f) };
	uint32_t axes = (1u << in->rank) - (1u << axis);
	struct npu_gtensor *stat[2] = { n->num_outputs > 1 ? n->outputs[1] : NULL,
					n->num_outputs > 2 ? n->outputs[2] : NULL };
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	struct npu_lview mean, off, var, out;
	int err;

	if (!stat[0] && !stat[1])
		return 0;
	for (int i = 0; i < in->rank; i++)
		dim[i] = i < axis ? in->dim[i] : npu_dim_const(1);
	err = stat[0] ? npu_lower_out(l, stat[0], &mean) :
			npu_lower_temp(l, dim, in->rank, NPU_F32, &mean);
	if (!err)
		err = npu_lower_reduce_view(l, &mean, in, NPU_REDUCE_MEAN, axes);
	if (err || !stat[1])
		return err;
	err = npu_lower_temp(l, in->dim, in->rank, NPU_F32, &off);
	if (!err)
		err = npu_lower_temp(l, dim, in->rank, NPU_F32, &var);
	if (!err)
		err = npu_lower_out(l, stat[1], &out);
	if (!err)
		err = npu_lower_ewise2(l, &off, in, &mean, NPU_BINARY_SUB, NULL);
	if (!err)
		err = npu_lower_ewise1(l, &off, &off, NPU_UNARY_SQUARE, NULL);
	if (!err)
		err = npu_lower_reduce_view(l, &var, &off, NPU_REDUCE_MEAN, axes);
	if (!err)
		err = npu_lower_ewise1(l, &var, &var, NPU_UNARY_COPY, &eps);
	return err ? err : npu_lower_ewise1(l, &out, &var, NPU_UNARY_RSQRT, NULL);
}

int npu_lower_norm(struct npu_lower *l, struct npu_gnode *n)
{
	const bool rms = n->op == NPU_GOP_RMSNormalization;
	struct npu_gtensor *x = n->inputs[0];
	int axis = (int)npu_gnode_int(n, "axis", x->rank - 1), err;
	struct npu_dim dim[NPU_GRAPH_MAX_RANK], d;
	struct npu_lview in, out, place, gamma, beta;
	struct npu_lact act;

	if (axis < 0)
		axis += x->rank;
	if (axis < 0 || axis >= x->rank || npu_dims_product(x->dim + axis, x->rank - axis, &d))
		return npu_lower_refuse(l, "axis", "%d", axis);
	memcpy(dim, x->dim, sizeof(dim));
	dim[axis] = d;
	err = npu_lower_out(l, n->outputs[0], &place);
	if (err)
		return err;
	out = place;
	err = npu_lower_in(l, x, &in);
	if (!err)
		err = norm_statistics(l, n, &in, axis);
	if (!err)
		err = npu_lower_node_act(l, n, &act);
	if (!err)
		err = reshaped(l, &in, dim, axis + 1);
	if (!err && npu_lview_reshape(l, &place, dim, axis + 1, &out))
		return npu_lower_refuse(l, "axis", "the result cannot be seen as rows");
	if (!err && npu_gnode_in(n, 1))
		err = norm_vector(l, n->inputs[1], d, &gamma);
	if (!err && npu_gnode_in(n, 2))
		err = norm_vector(l, n->inputs[2], d, &beta);
	if (!err)
		err = norm_insn(l, &out, &in, npu_gnode_in(n, 1) ? &gamma : NULL,
				npu_gnode_in(n, 2) ? &beta : NULL,
				rms ? NPU_NORM_RMS : NPU_NORM_LAYER,
				npu_gnode_float(n, "epsilon", 1e-5f));
	if (!err && (act.act != NPU_ACT_NONE || act.mul != 1 || act.add != 0))
		err = npu_lower_ewise1(l, &place, &place, NPU_UNARY_COPY, &act);
	return err;
}

/* A constant or computed [C] as something that broadcasts to [N, C, ...]. */
static int channel_view(struct npu_lower *l, struct npu_gtensor *t, int rank, struct npu_lview *v)
{
	int err = npu_lower_in(l, t, v);

	while (!err && v->rank < rank - 1)
		npu_lview_insert(v, v->rank);
	return err;
}

/*
 * Instance and group normalization: rows of a group's channels and all positions, then scale and
 * shift per channel.
 */
int npu_lower_instance_norm(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_gtensor *x = n->inputs[0];
	int64_t groups = n->op == NPU_GOP_GroupNormalization ? npu_gnode_int(n, "num_groups", 1) :
							       x->dim[1].base;
	struct npu_lview in, out, flat, norm, scale, bias;
	struct npu_dim dim[3], space;
	struct npu_lact act;
	int err;

	if (x->rank < 3 || !npu_dim_is_const(x->dim[1]) || groups < 1 || x->dim[1].base % groups)
		return npu_lower_refuse(l, "input", "rank %d or its channels", x->rank);
	if (npu_gtensor_is_const(n->inputs[1]) &&
	    npu_gtensor_const_elems(n->inputs[1]) != x->dim[1].base)
		return npu_lower_refuse(l, "scale", "it must have one element per channel");
	if (npu_dims_product(x->dim + 2, x->rank - 2, &space) ||
	    npu_dim_scale(space, x->dim[1].base / groups, &dim[2]))
		return npu_lower_refuse(l, "input", "its positions mix two run-time lengths");
	dim[0] = x->dim[0];
	dim[1] = npu_dim_const(groups);
	err = npu_lower_in(l, x, &in);
	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = npu_lower_node_act(l, n, &act);
	if (!err)
		err = reshaped(l, &in, dim, 3);
	if (!err)
		err = npu_lower_temp(l, x->dim, x->rank, NPU_F32, &norm);
	if (!err && npu_lview_reshape(l, &norm, dim, 3, &flat))
		err = npu_lower_refuse(l, "input", "its positions mix two run-time lengths");
	if (!err)
		err = norm_insn(l, &flat, &in, NULL, NULL, NPU_NORM_LAYER,
				npu_gnode_float(n, "epsilon", 1e-5f));
	if (!err)
		err = channel_view(l, n->inputs[1], x->rank, &scale);
	if (!err)
		err = channel_view(l, n->inputs[2], x->rank, &bias);
	if (!err)
		err = npu_lower_ewise2(l, &norm, &norm, &scale, NPU_BINARY_MUL, NULL);
	return err ? err : npu_lower_ewise2(l, &out, &norm, &bias, NPU_BINARY_ADD, &act);
}

int npu_lower_lp_norm(struct npu_lower *l, struct npu_gnode *n)
{
	int64_t axis = npu_gnode_int(n, "axis", -1), p = npu_gnode_int(n, "p", 2);
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	struct npu_lview in, out, len;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (axis < 0)
		axis += in.rank;
	if (p != 1 && p != 2)
		return npu_lower_refuse(l, "p", "%lld; 1 and 2 are supported", (long long)p);
	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (err)
		return err;
	memcpy(dim, in.dim, sizeof(dim));
	dim[axis] = npu_dim_const(1);
	err = npu_lower_temp(l, dim, in.rank, NPU_F32, &len);
	if (!err)
		err = npu_lower_reduce_view(l, &len, &in, p == 1 ? NPU_REDUCE_L1 : NPU_REDUCE_L2,
					    1u << axis);
	return err ? err : npu_lower_ewise2(l, &out, &in, &len, NPU_BINARY_DIV, NULL);
}

/*
 * x / (bias + alpha / size * (sum of squares over a window of channels)) ^ beta. The mean over the
 * window is average pooling along the channels, with padding counted.
 */
int npu_lower_lrn(struct npu_lower *l, struct npu_gnode *n)
{
	int64_t size = npu_gnode_int(n, "size", 1);
	float beta = npu_gnode_float(n, "beta", 0.75f);
	struct npu_lact scale = { .mul = npu_gnode_float(n, "alpha", 1e-4f),
				  .add = npu_gnode_float(n, "bias", 1) };
	struct npu_lview in, out, square, mean, power, s, m;
	struct npu_linsn *insn;
	struct npu_dim dim[4];
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (err)
		return err;
	if (in.rank < 3 || size < 1 || size > 65535 ||
	    npu_dims_product(in.dim + 2, in.rank - 2, &dim[1]))
		return npu_lower_refuse(l, "size", "%lld channels of a tensor of rank %d",
					(long long)size, in.rank);
	err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = npu_lower_temp(l, in.dim, in.rank, NPU_F32, &square);
	if (!err)
		err = npu_lower_temp(l, in.dim, in.rank, NPU_F32, &mean);
	if (!err)
		err = npu_lower_ewise1(l, &square, &in, NPU_UNARY_SQUARE, NULL);
	/* [N, positions, C, 1]: the channels are what the window moves along. */
	dim[0] = in.dim[0];
	dim[2] = in.dim[1];
	if (!err &&
	    (npu_lview_reshape(l, &square, (struct npu_dim[]){ dim[0], dim[2], dim[1] }, 3, &s) ||
	     npu_lview_reshape(l, &mean, (struct npu_dim[]){ dim[0], dim[2], dim[1] }, 3, &m)))
		err = npu_lower_refuse(l, "input", "its positions mix two run-time lengths");
	if (err)
		return err;
	npu_lview_permute(&s, (int[]){ 0, 2, 1 }, &s);
	npu_lview_permute(&m, (int[]){ 0, 2, 1 }, &m);
	npu_lview_insert(&s, 3);
	npu_lview_insert(&m, 3);
	insn = npu_lower_insn(l, NPU_OP_POOL);
	if (!insn)
		return -ENOMEM;
	npu_linsn_param(insn, NPU_POOL_P_KIND, NPU_POOL_AVG);
	npu_linsn_param(insn, NPU_POOL_P_KERNEL_H, 1);
	npu_linsn_param(insn, NPU_POOL_P_KERNEL_W, (uint32_t)size);
	for (unsigned int i = 0; i < 2; i++) {
		npu_linsn_param(insn, NPU_POOL_P_STRIDE_H + i, 1);
		npu_linsn_param(insn, NPU_POOL_P_DIL_H + i, 1);
	}
	npu_linsn_param(insn, NPU_POOL_P_PAD_LEFT, (uint32_t)((size - 1) / 2));
	npu_linsn_param(insn, NPU_POOL_P_PAD_RIGHT, (uint32_t)(size - 1 - (size - 1) / 2));
	npu_linsn_param(insn, NPU_POOL_P_INCLUDE_PAD, 1);
	err = npu_linsn_operand(l, insn, NPU_POOL_OUT, &m);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_POOL_IN, &s);
	if (!err)
		err = npu_lower_ewise1(l, &mean, &mean, NPU_UNARY_COPY, &scale);
	if (!err)
		err = npu_lower_vector(l, &beta, 1, &power);
	if (!err)
		err = npu_lower_ewise2(l, &mean, &mean, &power, NPU_BINARY_POW, NULL);
	return err ? err : npu_lower_ewise2(l, &out, &in, &mean, NPU_BINARY_DIV, NULL);
}
