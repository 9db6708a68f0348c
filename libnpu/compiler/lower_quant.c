// SPDX-License-Identifier: MIT
/*
 * Integer arithmetic of convolutions and products: when an instruction may use it, and the scales,
 * biases and zero points that it takes.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/lower_quant.h"

/* A bias is taken as it is when its scale is the accumulator's, give or take this share. */
#define SAME_SCALE	1e-5

static bool is_code(const struct npu_lview *v)
{
	return (v->dtype == NPU_I8 || v->dtype == NPU_U8) && v->scale != 0;
}

static bool is_code_weight(const struct npu_gtensor *w, int axis, int64_t outs)
{
	if ((w->type != NPU_GT_I8 && w->type != NPU_GT_U8) || !w->quant)
		return false;
	return w->quant->axis < 0 || (w->quant->axis == axis && w->quant->count &&
				      outs % w->quant->count == 0);
}

/* The largest |code - zero point|. */
static int64_t reach(bool is_signed, int32_t zero)
{
	int64_t lo = is_signed ? -128 : 0, hi = lo + 255;

	return zero - lo > hi - zero ? zero - lo : hi - zero;
}

static int fill_scales(struct npu_lower *l, struct npu_lint *li, const struct npu_lint_args *a)
{
	li->scale = npu_arena_array(l->arena, (size_t)a->outs, sizeof(*li->scale));
	if (!li->scale)
		return -ENOMEM;
	for (int64_t o = 0; o < a->outs; o++) {
		float w = a->weight ? npu_gquant_scale(a->weight->quant,
						       (size_t)o % a->weight->quant->count) :
				      a->computed->scale;

		li->scale[o] = a->x->scale * w;
		if (!isnormal(li->scale[o]))
			return npu_lower_refuse(
				l, "scale", "the product of scales %g and %g is out of range",
				(double)a->x->scale, (double)w);
	}
	return 0;
}

/* Zero points of the weight: one, or a vector in memory. */
static int fill_zeros(struct npu_lower *l, struct npu_lint *li, const struct npu_lint_args *a)
{
	const struct npu_gquant *q = a->weight ? a->weight->quant : NULL;

	li->w_zero = q ? npu_gquant_zero(q, 0) : a->computed->zero_point;
	for (unsigned int i = 1; q && i < q->count; i++) {
		if (npu_gquant_zero(q, i) == li->w_zero)
			continue;
		if (!a->has_zero_slot) {
			npu_lower_note(l, "the weight has zero points per output: floats instead");
			return 1;
		}
		li->zeros = npu_arena_array(l->arena, (size_t)a->outs, 1);
		if (!li->zeros)
			return -ENOMEM;
		for (int64_t o = 0; o < a->outs; o++)
			li->zeros[o] = (uint8_t)npu_gquant_zero(q, (size_t)o % q->count);
		li->w_zero = 0;
		return 0;
	}
	return 0;
}

/* In units of the accumulator. 1: it does not fit. */
static int fill_bias(struct npu_lower *l, struct npu_lint *li, const struct npu_lint_args *a,
		     int64_t room)
{
	const struct npu_gtensor *b = a->bias;
	size_t step;

	if (!b)
		return 0;
	if (!npu_gtensor_is_const(b))
		return 1;
	step = npu_gtensor_const_elems(b) == a->outs;
	if (!step && npu_gtensor_const_elems(b) != 1)
		return npu_lower_refuse(l, "bias", "it has %lld elements, expected %lld",
					(long long)npu_gtensor_const_elems(b), (long long)a->outs);
	li->bias = npu_arena_array(l->arena, (size_t)a->outs, sizeof(*li->bias));
	if (!li->bias)
		return -ENOMEM;
	for (size_t o = 0; o < (size_t)a->outs; o++) {
		size_t at = o * step;
		double s = (double)li->scale[o], v;
		bool as_it_is = b->quant && b->type == NPU_GT_I32 &&
				fabs((double)npu_gquant_scale(b->quant, npu_gquant_index(b, at)) -
				     s) <= s * SAME_SCALE;

		v = as_it_is ? (double)npu_gtensor_elem_int(b, at)
			     : rint(npu_gtensor_elem(b, at) / s);
		if (!(fabs(v) <= (double)room))
			return 1;
		li->bias[o] = (int32_t)v;
	}
	return 0;
}

int npu_lower_integer(struct npu_lower *l, const struct npu_lint_args *a, struct npu_lint *li)
{
	bool w_signed = a->weight ? a->weight->type == NPU_GT_I8 :
				    a->computed && a->computed->dtype == NPU_I8;
	int64_t most, sum;
	int err;

	*li = (struct npu_lint){ .outs = a->outs };
	if (!is_code(a->x) || (a->weight ? !is_code_weight(a->weight, a->axis, a->outs) :
					   !a->computed || !is_code(a->computed)))
		return 0;
	err = fill_scales(l, li, a);
	if (!err)
		err = fill_zeros(l, li, a);
	if (err)
		return err < 0 ? err : 0;
	most = reach(a->x->dtype == NPU_I8, a->x->zero_point) *
	       (li->zeros ? 255 : reach(w_signed, li->w_zero));
	if (__builtin_mul_overflow(most, a->depth, &sum) || sum > INT32_MAX) {
		npu_lower_note(l,
			       "%lld products could leave the 32-bit accumulator: floats instead",
			       (long long)a->depth);
		return 0;
	}
	err = fill_bias(l, li, a, INT32_MAX - sum);
	if (err < 0)
		return err;
	li->on = !err;
	if (err)
		npu_lower_note(l, "the bias is no constant within 32 bits: floats instead");
	return 0;
}

/* ---- operands -------------------------------------------------------------------------------- */

int npu_lint_zeros(struct npu_lower *l, const struct npu_lint *li, struct npu_linsn *insn,
		   unsigned int weight_slot, unsigned int w_zero_slot, unsigned int x_zero_slot)
{
	struct npu_lview v = { .dtype = insn->operand[weight_slot]->dtype, .rank = 1 };
	uint64_t offset;
	int err = 0;

	insn->operand[weight_slot]->scale = 1;
	insn->operand[weight_slot]->zero_point = li->w_zero;
	if (li->x_run.buf)
		err = npu_linsn_operand(l, insn, x_zero_slot, &li->x_run);
	if (!err && li->w_run.buf)
		err = npu_linsn_operand(l, insn, w_zero_slot, &li->w_run);
	if (err || !li->zeros)
		return err;
	err = npu_weights_add(l->weights, li->zeros, (size_t)li->outs, &offset);
	if (err)
		return err;
	v.buf = l->weight_buf;
	v.offset = npu_poly_const((int64_t)offset);
	v.dim[0] = npu_dim_const(li->outs);
	v.stride[0] = npu_poly_const(1);
	return npu_linsn_operand(l, insn, w_zero_slot, &v);
}

/* act(k * v) = k * act'(v) for every k > 0; @act becomes act'. */
static bool divide_act(struct npu_lact *act, float scale)
{
	switch (act->act) {
	case NPU_ACT_NONE:
	case NPU_ACT_RELU:
	case NPU_ACT_LEAKY_RELU:
	case NPU_ACT_PRELU:
		return true;
	case NPU_ACT_RELU6:
		*act = (struct npu_lact){ .act = NPU_ACT_CLIP, .beta = 6 / scale, .mul = act->mul,
					  .add = act->add };
		return isfinite(act->beta);
	case NPU_ACT_CLIP:
		if (fabsf(act->alpha) < FLT_MAX)
			act->alpha /= scale;
		if (fabsf(act->beta) < FLT_MAX)
			act->beta /= scale;
		return isfinite(act->alpha) && isfinite(act->beta);
	default:
		return false;
	}
}

bool npu_lint_divide(const struct npu_lint *li, struct npu_lview *out, struct npu_lview *residual,
		     bool product, struct npu_lact *a, struct npu_lact *b)
{
	struct npu_lact a1 = *a, b1 = *b;
	float scale = out->scale;

	if (li->plain || scale == 0 || (residual && !product && (residual->scale == 0 ||
						    !isnormal(residual->scale / scale))) ||
	    !divide_act(&a1, scale) || !divide_act(&b1, scale) || !isfinite(a1.add / scale))
		return false;
	for (int64_t o = 0; o < li->outs; o++)
		if (!isnormal(li->scale[o] / scale))
			return false;
	for (int64_t o = 0; o < li->outs; o++)
		li->scale[o] /= scale;
	if (residual && !product)
		residual->scale /= scale;
	a1.add /= scale;
	*a = a1;
	*b = b1;
	out->scale = 1;
	return true;
}

int npu_lint_operands(struct npu_lower *l, const struct npu_lint *li, struct npu_linsn *insn,
		      unsigned int bias_slot)
{
	struct npu_lview v;
	uint64_t offset;
	int err;

	if (li->run_scale.buf)
		return npu_linsn_operand(l, insn, bias_slot + 1, &li->run_scale);
	if (li->plain)
		return 0;
	err = npu_lower_vector(l, li->scale, (size_t)li->outs, &v);

	if (li->outs == 1)
		v.rank = 0;
	if (!err)
		err = npu_linsn_operand(l, insn, bias_slot + 1, &v);
	if (err || !li->bias)
		return err;
	err = npu_weights_add(l->weights, li->bias, (size_t)li->outs * sizeof(*li->bias), &offset);
	v.dtype = NPU_I32;
	v.rank = 1;
	v.offset = npu_poly_const((int64_t)offset);
	return err ? err : npu_linsn_operand(l, insn, bias_slot, &v);
}

/* ---- plain integers -------------------------------------------------------------------------- */

static int plain_type(struct npu_lower *l, const char *what, enum npu_dtype dtype)
{
	if (dtype == NPU_I8 || dtype == NPU_U8)
		return 0;
	return npu_lower_refuse(l, what, "type %s; i8 and u8 are supported", npu_dtype_name(dtype));
}

/*
 * The zero point of X: a constant (entries that are all the same count as one), or a number that
 * the program computes.
 */
static int x_zero(struct npu_lower *l, struct npu_gtensor *t, struct npu_lview *x,
		  struct npu_lint *li)
{
	int64_t count = t ? npu_gtensor_const_elems(t) : 0;
	int err;

	if (!t)
		return 0;
	if (!npu_gtensor_is_const(t)) {
		if (count != 1)
			return npu_lower_refuse(l, "x_zero_point",
						"%lld computed entries, supported is one",
						(long long)count);
		err = npu_lower_in(l, t, &li->x_run);
		if (!err && li->x_run.dtype != x->dtype)
			err = npu_lower_refuse(l, "x_zero_point",
					       "its type is not that of the data");
		li->x_run.rank = 0;
		return err;
	}
	for (int64_t i = 1; i < count; i++)
		if (npu_gtensor_elem_int(t, (size_t)i) != npu_gtensor_elem_int(t, 0))
			return npu_lower_refuse(l, "x_zero_point",
						"one per row; one for all is supported");
	x->zero_point = count ? (int32_t)npu_gtensor_elem_int(t, 0) : 0;
	return 0;
}

/* Of W: one, or one per output; the latter may be computed, too. */
static int w_zero(struct npu_lower *l, struct npu_gtensor *t, struct npu_dim outs,
		  struct npu_lint *li)
{
	int64_t count = t ? npu_gtensor_const_elems(t) : 0;
	struct npu_lview v;
	int err;

	if (!t)
		return 0;
	if (count < 1 || (count != 1 && !(npu_dim_is_const(outs) && count == outs.base)))
		return npu_lower_refuse(l, "w_zero_point",
					"%lld entries, supported are one and one per output",
					(long long)count);
	if (npu_gtensor_is_const(t) && count == 1) {
		li->w_zero = (int32_t)npu_gtensor_elem_int(t, 0);
		return 0;
	}
	err = npu_lower_in(l, t, &v);
	if (!err)
		err = npu_lview_reshape(l, &v, (struct npu_dim[]){ npu_dim_const(count) }, 1, &v);
	if (!err)
		err = npu_lview_expand(&v, &outs, 1, &li->w_run);
	return err;
}

/* [] or [outs], from a tensor that broadcasts along the outputs only. */
static int run_scale(struct npu_lower *l, struct npu_gtensor *t, struct npu_lint *li)
{
	struct npu_dim count = npu_dim_const(t ? npu_gtensor_const_elems(t) : 0);
	struct npu_lview v;
	int err;

	if (!t)
		return 0;
	err = npu_gtensor_is_const(t) ? npu_lower_const(l, t, NPU_F32, &v) : npu_lower_in(l, t, &v);
	if (err)
		return err;
	if (v.dtype != NPU_F32)
		return npu_lower_refuse(l, "scale", "type %s, f32 is supported",
					npu_dtype_name(v.dtype));
	return npu_lview_reshape(l, &v, &count, count.base != 1, &li->run_scale);
}

int npu_lower_plain_integer(struct npu_lower *l, const struct npu_gnode *n, struct npu_lview *x,
			    struct npu_lview *computed, struct npu_dim outs, int64_t depth,
			    struct npu_lint *li)
{
	struct npu_gtensor *w = n->inputs[1];
	bool w_signed = w->type == NPU_GT_I8;
	int64_t most, sum;
	int err = plain_type(l, "x", x->dtype);

	*li = (struct npu_lint){ .on = true, .plain = true };
	if (!err)
		err = plain_type(l, "w", computed ? computed->dtype : npu_lower_dtype(l, w));
	x->scale = 0;
	x->zero_point = 0;
	if (!err)
		err = x_zero(l, npu_gnode_in(n, 2), x, li);
	if (!err)
		err = w_zero(l, npu_gnode_in(n, 3), outs, li);
	if (!err)
		err = run_scale(l, npu_gnode_in(n, 4), li);
	if (err)
		return err;
	most = (li->x_run.buf ? 255 : reach(x->dtype == NPU_I8, x->zero_point)) *
	       (li->w_run.buf ? 255 : reach(w_signed, li->w_zero));
	if (__builtin_mul_overflow(most, depth, &sum) || sum > INT32_MAX)
		return npu_lower_refuse(l, NULL, "%lld products per result could leave 32 bits",
					(long long)depth);
	return 0;
}
