// SPDX-License-Identifier: MIT
/*
 * Quantization as nodes of their own: what pass qdq left, and the dynamic and integer operators,
 * whose tensors are plain integers.
 */
#include <errno.h>
#include <string.h>

#include "compiler/lower_quant.h"

/* Scales or zero points along @axis of @rank dimensions, as f32. */
static int axis_vector(struct npu_lower *l, const float *v, unsigned int count, int axis, int rank,
		       struct npu_lview *out)
{
	int err = npu_lower_vector(l, v, count, out);

	npu_lview_extend(out, axis + 1, out);
	while (!err && out->rank < rank)
		npu_lview_insert(out, out->rank);
	return err;
}

/* Vectors of both; *@zeros tells whether any zero point is not 0. */
static int axis_vectors(struct npu_lower *l, const struct npu_gquant *q, int rank,
			struct npu_lview *scale, struct npu_lview *zero, bool *zeros)
{
	float *z = npu_arena_array(l->arena, q->count, sizeof(*z));
	int err;

	if (!z)
		return -ENOMEM;
	*zeros = false;
	for (unsigned int i = 0; i < q->count; i++) {
		z[i] = (float)npu_gquant_zero(q, i);
		*zeros |= z[i] != 0;
	}
	err = axis_vector(l, q->ch_scale, q->count, q->axis, rank, scale);
	return err ? err : axis_vector(l, z, q->count, q->axis, rank, zero);
}

/* (code - zero[c]) * scale[c] */
static int dequantize_axis(struct npu_lower *l, struct npu_gnode *n, const struct npu_gquant *q)
{
	struct npu_lview in, out, scale, zero, diff;
	bool zeros;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = axis_vectors(l, q, in.rank, &scale, &zero, &zeros);
	if (!err && zeros) {
		err = npu_lower_temp(l, in.dim, in.rank, NPU_F32, &diff);
		if (!err)
			err = npu_lower_ewise2(l, &diff, &in, &zero, NPU_BINARY_SUB, NULL);
		in = diff;
	}
	return err ? err : npu_lower_ewise2(l, &out, &in, &scale, NPU_BINARY_MUL, NULL);
}

/* v / scale[c], to even, + zero[c], saturated when it is stored in steps of 1. */
static int quantize_axis(struct npu_lower *l, struct npu_gnode *n, const struct npu_gquant *q)
{
	struct npu_lview in, out, scale, zero, step;
	bool zeros;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = axis_vectors(l, q, in.rank, &scale, &zero, &zeros);
	if (err)
		return err;
	out.scale = 1;
	if (!zeros)
		return npu_lower_ewise2(l, &out, &in, &scale, NPU_BINARY_DIV, NULL);
	err = npu_lower_temp(l, in.dim, in.rank, NPU_F32, &step);
	if (!err)
		err = npu_lower_ewise2(l, &step, &in, &scale, NPU_BINARY_DIV, NULL);
	if (!err)
		err = npu_lower_ewise1(l, &step, &step, NPU_UNARY_ROUND, NULL);
	return err ? err : npu_lower_ewise2(l, &out, &step, &zero, NPU_BINARY_ADD, NULL);
}

int npu_lower_dequantize(struct npu_lower *l, struct npu_gnode *n)
{
	const struct npu_gquant *q = npu_gnode_quant(l->g, n);
	struct npu_lview in;
	int err;

	if (!q)
		return npu_lower_refuse(l, "x_scale", "it must be a constant");
	if (q->axis >= 0)
		return dequantize_axis(l, n, q);
	err = npu_lower_in(l, n->inputs[0], &in);
	in.scale = q->scale;
	in.zero_point = q->zero;
	return err ? err : npu_lower_alias(l, n->outputs[0], &in);
}

int npu_lower_quantize(struct npu_lower *l, struct npu_gnode *n)
{
	const struct npu_gquant *q = npu_gnode_quant(l->g, n);
	struct npu_lview in, out;
	int err;

	if (!q)
		return npu_lower_refuse(l, "y_scale", "it must be a constant");
	if (q->axis >= 0)
		return quantize_axis(l, n, q);
	err = npu_lower_in(l, n->inputs[0], &in);
	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (err)
		return err;
	/* The instruction sees the scale, readers of the tensor plain codes. */
	out.scale = q->scale;
	out.zero_point = q->zero;
	return npu_lower_copy(l, &out, &in, NULL);
}

int npu_lower_dynamic_quantize(struct npu_lower *l, struct npu_gnode *n)
{
	const struct npu_lview f32 = { .dtype = NPU_F32 }, u8 = { .dtype = NPU_U8 };
	struct npu_lview in, out, scale, zero;
	struct npu_lview *both[] = { &out, &in };
	struct npu_linsn *insn;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (!err)
		err = npu_lower_as_float(l, &in);
	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = n->num_outputs > 1 && n->outputs[1] ?
			      npu_lower_out_like(l, n->outputs[1], &f32, &scale) :
			      npu_lower_temp_like(l, NULL, 0, &f32, &scale);
	if (!err)
		err = n->num_outputs > 2 && n->outputs[2] ?
			      npu_lower_out_like(l, n->outputs[2], &u8, &zero) :
			      npu_lower_temp_like(l, NULL, 0, &u8, &zero);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_DYN_QUANT);
	if (!insn)
		return -ENOMEM;
	npu_lview_canonical(l, both, 2, -1);
	if (!out.rank) {
		npu_lview_insert(&out, 0);
		npu_lview_insert(&in, 0);
	}
	err = npu_linsn_operand(l, insn, NPU_DYN_QUANT_OUT, &out);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_DYN_QUANT_SCALE, &scale);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_DYN_QUANT_ZERO, &zero);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_DYN_QUANT_IN, &in);
	if (!err && n->num_outputs > 1 && n->outputs[1])
		err = npu_lower_finish(l, n->outputs[1], &scale);
	return err || n->num_outputs < 3 || !n->outputs[2] ?
		       err : npu_lower_finish(l, n->outputs[2], &zero);
}
