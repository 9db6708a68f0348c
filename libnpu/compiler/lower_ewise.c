// SPDX-License-Identifier: MIT
/* Element-wise operators with numpy broadcasting. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/lower.h"

static void set_act(struct npu_linsn *insn, unsigned int param, const struct npu_lact *act)
{
	static const struct npu_lact none = { .mul = 1 };

	act = act ? act : &none;
	npu_linsn_param(insn, param, act->act);
	npu_linsn_float(insn, param + 1, act->alpha);
	npu_linsn_float(insn, param + 2, act->beta);
	npu_linsn_float(insn, param + 3, act->mul);
	npu_linsn_float(insn, param + 4, act->add);
}

int npu_lower_ewise1(struct npu_lower *l, const struct npu_lview *out, const struct npu_lview *in,
		     enum npu_unary func, const struct npu_lact *act)
{
	struct npu_lview o = *out, i = *in;
	struct npu_lview *both[] = { &o, &i };
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_EWISE1);
	int err;

	if (!insn)
		return -ENOMEM;
	npu_lview_extend(&i, o.rank, &i);
	npu_lview_canonical(l, both, 2, -1);
	npu_linsn_param(insn, NPU_EWISE1_P_FUNC, func);
	set_act(insn, NPU_EWISE1_P_ACT, act);
	err = npu_linsn_operand(l, insn, NPU_EWISE1_OUT, &o);
	return err ? err : npu_linsn_operand(l, insn, NPU_EWISE1_IN, &i);
}

int npu_lower_ewise2(struct npu_lower *l, const struct npu_lview *out, const struct npu_lview *a,
		     const struct npu_lview *b, enum npu_binary func, const struct npu_lact *act)
{
	struct npu_lview o = *out, x = *a, y = *b;
	struct npu_lview *all[] = { &o, &x, &y };
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_EWISE2);
	int err;

	if (!insn)
		return -ENOMEM;
	npu_lview_extend(&x, o.rank, &x);
	npu_lview_extend(&y, o.rank, &y);
	npu_lview_canonical(l, all, 3, -1);
	npu_linsn_param(insn, NPU_EWISE2_P_FUNC, func);
	set_act(insn, NPU_EWISE2_P_ACT, act);
	err = npu_linsn_operand(l, insn, NPU_EWISE2_OUT, &o);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_EWISE2_A, &x);
	return err ? err : npu_linsn_operand(l, insn, NPU_EWISE2_B, &y);
}

static int unary_func(enum npu_gop op)
{
	switch (op) {
	case NPU_GOP_Abs:	return NPU_UNARY_ABS;
	case NPU_GOP_Neg:	return NPU_UNARY_NEG;
	case NPU_GOP_Exp:	return NPU_UNARY_EXP;
	case NPU_GOP_Log:	return NPU_UNARY_LOG;
	case NPU_GOP_Sqrt:	return NPU_UNARY_SQRT;
	case NPU_GOP_Reciprocal: return NPU_UNARY_RECIP;
	case NPU_GOP_Floor:	return NPU_UNARY_FLOOR;
	case NPU_GOP_Ceil:	return NPU_UNARY_CEIL;
	case NPU_GOP_Round:	return NPU_UNARY_ROUND;
	case NPU_GOP_Sign:	return NPU_UNARY_SIGN;
	case NPU_GOP_Erf:	return NPU_UNARY_ERF;
	case NPU_GOP_Sin:	return NPU_UNARY_SIN;
	case NPU_GOP_Cos:	return NPU_UNARY_COS;
	case NPU_GOP_Tan:	return NPU_UNARY_TAN;
	case NPU_GOP_Asin:	return NPU_UNARY_ASIN;
	case NPU_GOP_Acos:	return NPU_UNARY_ACOS;
	case NPU_GOP_Atan:	return NPU_UNARY_ATAN;
	case NPU_GOP_Sinh:	return NPU_UNARY_SINH;
	case NPU_GOP_Cosh:	return NPU_UNARY_COSH;
	case NPU_GOP_Asinh:	return NPU_UNARY_ASINH;
	case NPU_GOP_Acosh:	return NPU_UNARY_ACOSH;
	case NPU_GOP_Atanh:	return NPU_UNARY_ATANH;
	case NPU_GOP_Not:	return NPU_UNARY_NOT;
	case NPU_GOP_BitwiseNot: return NPU_UNARY_BITNOT;
	case NPU_GOP_IsNaN:	return NPU_UNARY_ISNAN;
	case NPU_GOP_IsInf:	return NPU_UNARY_ISINF;
	default:		return -1;
	}
}

int npu_lower_unary(struct npu_lower *l, struct npu_gnode *n)
{
	bool negative = npu_gnode_int(n, "detect_negative", 1),
	     positive = npu_gnode_int(n, "detect_positive", 1);
	struct npu_lview in, out, limit;
	struct npu_lact act;
	int func = unary_func(n->op), err;

	err = npu_lower_in(l, n->inputs[0], &in);
	if (!err && n->op == NPU_GOP_IsInf && !(negative && positive)) {
		/* One sign, or none: then nothing equals a NaN. */
		err = npu_lower_scalar(l, NPU_F32,
				       negative ? -INFINITY :
				       positive ? INFINITY :
						  NAN,
				       &limit);
		if (!err)
			err = npu_lower_out(l, n->outputs[0], &out);
		return err ? err : npu_lower_ewise2(l, &out, &in, &limit, NPU_BINARY_EQ, NULL);
	}
	if (!err && n->op == NPU_GOP_Identity)
		return npu_lower_alias(l, n->outputs[0], &in);
	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (!err)
		err = npu_lower_node_act(l, n, &act);
	return err ? err : npu_lower_ewise1(l, &out, &in, (enum npu_unary)func, &act);
}

static int binary_func(const struct npu_gnode *n)
{
	switch (n->op) {
	case NPU_GOP_Add:	return NPU_BINARY_ADD;
	case NPU_GOP_Sub:	return NPU_BINARY_SUB;
	case NPU_GOP_Mul:	return NPU_BINARY_MUL;
	case NPU_GOP_Div:	return NPU_BINARY_DIV;
	case NPU_GOP_Pow:	return NPU_BINARY_POW;
	case NPU_GOP_Mod: return npu_gnode_int(n, "fmod", 0) ? NPU_BINARY_FMOD : NPU_BINARY_MOD;
	case NPU_GOP_Max:	return NPU_BINARY_MAX;
	case NPU_GOP_Min:	return NPU_BINARY_MIN;
	case NPU_GOP_Equal:	return NPU_BINARY_EQ;
	case NPU_GOP_Less:	return NPU_BINARY_LT;
	case NPU_GOP_LessOrEqual: return NPU_BINARY_LE;
	case NPU_GOP_Greater:	return NPU_BINARY_GT;
	case NPU_GOP_GreaterOrEqual: return NPU_BINARY_GE;
	case NPU_GOP_And:	return NPU_BINARY_AND;
	case NPU_GOP_Or:	return NPU_BINARY_OR;
	case NPU_GOP_Xor:	return NPU_BINARY_XOR;
	case NPU_GOP_BitwiseAnd: return NPU_BINARY_BITAND;
	case NPU_GOP_BitwiseOr:	return NPU_BINARY_BITOR;
	case NPU_GOP_BitwiseXor: return NPU_BINARY_BITXOR;
	case NPU_GOP_BitShift:
		return strcmp(npu_gnode_string(n, "direction", ""), "LEFT") ? NPU_BINARY_SHR :
									      NPU_BINARY_SHL;
	default:		return -1;
	}
}

/*
 * A result with a scale is divided by it when it is stored. What is linear in the scales is divided
 * here instead, once: the operands' scales, or their product's, over the result's, in f32, and the
 * stored number is in steps of the result. It is what ONNX Runtime's integer kernels compute.
 */
static void fold_out_scale(struct npu_lview *out, struct npu_lview *a, struct npu_lview *b,
			   enum npu_binary func, struct npu_lact *act)
{
	float scale = out->scale, ratio;

	if (scale == 0 || a->scale == 0 || b->scale == 0 || act->mul != 1 || act->add != 0 ||
	    (act->act != NPU_ACT_NONE && act->act != NPU_ACT_RELU))
		return;
	switch (func) {
	case NPU_BINARY_ADD:
	case NPU_BINARY_SUB:
	case NPU_BINARY_MAX:
	case NPU_BINARY_MIN:
		if (!isnormal(a->scale / scale) || !isnormal(b->scale / scale))
			return;
		a->scale /= scale;
		b->scale /= scale;
		break;
	case NPU_BINARY_MUL:
	case NPU_BINARY_DIV:
		ratio = func == NPU_BINARY_MUL ? a->scale * b->scale / scale :
						 a->scale / b->scale / scale;
		if (!isnormal(ratio))
			return;
		a->scale = b->scale = 1;
		act->mul = ratio;
		break;
	default:
		return;
	}
	out->scale = 1;
}

/* x * c, x + c and x - c need no second operand. */
static bool scalar_affine(const struct npu_gnode *n, unsigned int *tensor, struct npu_lact *act)
{
	for (unsigned int i = 0; i < 2; i++) {
		double c;

		if (!npu_gtensor_scalar(n->inputs[i], &c) || !isfinite((float)c) ||
		    act->act != NPU_ACT_NONE || act->mul != 1 || act->add != 0 ||
		    n->inputs[1 - i]->rank != n->outputs[0]->rank)
			continue;
		*tensor = 1 - i;
		if (n->op == NPU_GOP_Mul)
			act->mul = (float)c;
		else if (n->op == NPU_GOP_Add || (n->op == NPU_GOP_Sub && i == 1))
			act->add = n->op == NPU_GOP_Add ? (float)c : -(float)c;
		else
			return false;
		return true;
	}
	return false;
}

int npu_lower_binary(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_lview a, b, out;
	struct npu_lact act;
	unsigned int tensor;
	int func = binary_func(n), err;

	if (n->num_inputs == 1 && (n->op == NPU_GOP_Max || n->op == NPU_GOP_Min)) {
		err = npu_lower_in(l, n->inputs[0], &a);
		return err ? err : npu_lower_alias(l, n->outputs[0], &a);
	}
	if (n->num_inputs != 2)
		return npu_lower_refuse(l, NULL, "%u inputs, expected 2", n->num_inputs);
	err = npu_lower_node_act(l, n, &act);
	if (!err)
		err = npu_lower_out(l, n->outputs[0], &out);
	if (err)
		return err;
	if (npu_lview_is_real(&out) && npu_gtensor_is_real(n->inputs[0]) &&
	    npu_gtensor_is_real(n->inputs[1]) && scalar_affine(n, &tensor, &act)) {
		err = npu_lower_in(l, n->inputs[tensor], &a);
		return err ? err : npu_lower_ewise1(l, &out, &a, NPU_UNARY_COPY, &act);
	}
	err = npu_lower_in(l, n->inputs[0], &a);
	if (!err)
		err = npu_lower_in(l, n->inputs[1], &b);
	if (err)
		return err;
	fold_out_scale(&out, &a, &b, (enum npu_binary)func, &act);
	return npu_lower_ewise2(l, &out, &a, &b, (enum npu_binary)func, &act);
}

/* Bring @v to the type @like: constants are stored so, others are copied. */
static int as_type(struct npu_lower *l, struct npu_gtensor *t, struct npu_lview like,
		   struct npu_lview *v)
{
	struct npu_lview c;
	int err;

	if (npu_lview_same_elem(v, &like))
		return 0;
	if (npu_gtensor_is_const(t) && like.scale == 0)
		return npu_lower_const(l, t, like.dtype, v);
	err = npu_lower_temp_like(l, v->dim, v->rank, &like, &c);
	if (!err)
		err = npu_lower_copy(l, &c, v, "both choices must have one type");
	*v = c;
	return err;
}

int npu_lower_where(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_lview v[4];
	struct npu_lview *all[] = { &v[0], &v[1], &v[2], &v[3] };
	struct npu_lview like = { .dtype = NPU_F32 };
	struct npu_linsn *insn;
	int err = npu_lower_out(l, n->outputs[0], &v[0]);

	for (unsigned int i = 0; i < 3 && !err; i++)
		err = npu_lower_in(l, n->inputs[i], &v[i + 1]);
	if (err)
		return err;
	/*
	 * The wider of the two, unless only constants ask for it. Numbers of two scales meet in
	 * f32.
	 */
	if (v[2].scale == 0 && v[3].scale == 0)
		like.dtype = npu_gtensor_is_const(n->inputs[1])			     ? v[3].dtype :
			     npu_gtensor_is_const(n->inputs[2])			     ? v[2].dtype :
			     npu_dtype_bits(v[2].dtype) > npu_dtype_bits(v[3].dtype) ? v[2].dtype :
										       v[3].dtype;
	else if (npu_lview_same_elem(&v[2], &v[3]))
		like = v[2];
	err = as_type(l, n->inputs[1], like, &v[2]);
	if (!err)
		err = as_type(l, n->inputs[2], like, &v[3]);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_SELECT);
	if (!insn)
		return -ENOMEM;
	for (unsigned int i = 1; i < 4; i++)
		npu_lview_extend(&v[i], v[0].rank, &v[i]);
	npu_lview_canonical(l, all, 4, -1);
	for (unsigned int i = 0; i < 4 && !err; i++)
		err = npu_linsn_operand(l, insn, i, &v[i]);
	return err;
}

int npu_lower_cast(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_lview in, out;
	struct npu_lview *both[] = { &out, &in };
	struct npu_linsn *insn;
	int err = npu_lower_in(l, n->inputs[0], &in);

	if (err)
		return err;
	npu_lview_of(n->outputs[0], npu_lower_dtype(l, n->outputs[0]), &out);
	if (npu_lview_same_elem(&in, &out) ||
	    (n->inputs[0]->type == n->outputs[0]->type &&
	     npu_gquant_equal(n->inputs[0]->quant, n->outputs[0]->quant)))
		return npu_lower_alias(l, n->outputs[0], &in);
	err = npu_lower_out(l, n->outputs[0], &out);
	if (err)
		return err;
	insn = npu_lower_insn(l, NPU_OP_COPY);
	if (!insn)
		return -ENOMEM;
	npu_lview_canonical(l, both, 2, -1);
	err = npu_linsn_operand(l, insn, NPU_COPY_OUT, &out);
	return err ? err : npu_linsn_operand(l, insn, NPU_COPY_IN, &in);
}
