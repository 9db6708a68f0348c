// SPDX-License-Identifier: MIT
/* Evaluates element-wise operators on constants. */
#include <math.h>
#include <string.h>

#include "compiler/fold.h"

static bool unary_float(enum npu_gop op, double v, double *out)
{
	switch (op) {
	case NPU_GOP_Abs: *out = fabs(v); return true;
	case NPU_GOP_Neg: *out = -v; return true;
	case NPU_GOP_Exp: *out = exp(v); return true;
	case NPU_GOP_Log: *out = log(v); return true;
	case NPU_GOP_Sqrt: *out = sqrt(v); return true;
	case NPU_GOP_Reciprocal: *out = 1 / v; return true;
	case NPU_GOP_Floor: *out = floor(v); return true;
	case NPU_GOP_Ceil: *out = ceil(v); return true;
	case NPU_GOP_Round: *out = nearbyint(v); return true;
	case NPU_GOP_Sign: *out = (v > 0) - (v < 0); return true;
	case NPU_GOP_Erf: *out = erf(v); return true;
	case NPU_GOP_Sin: *out = sin(v); return true;
	case NPU_GOP_Cos: *out = cos(v); return true;
	case NPU_GOP_Tan: *out = tan(v); return true;
	case NPU_GOP_Atan: *out = atan(v); return true;
	case NPU_GOP_Identity: *out = v; return true;
	case NPU_GOP_Relu: *out = v < 0 ? 0 : v; return true;
	case NPU_GOP_Sigmoid: *out = 1 / (1 + exp(-v)); return true;
	case NPU_GOP_Tanh: *out = tanh(v); return true;
	case NPU_GOP_Softplus: *out = log1p(exp(v)); return true;
	case NPU_GOP_Not: *out = v == 0; return true;
	case NPU_GOP_IsNaN: *out = isnan(v); return true;
	default: return false;
	}
}

static bool unary_int(enum npu_gop op, int64_t v, int64_t *out)
{
	switch (op) {
	case NPU_GOP_Abs: *out = v < 0 ? (int64_t)(0 - (uint64_t)v) : v; return true;
	case NPU_GOP_Neg: *out = (int64_t)(0 - (uint64_t)v); return true;
	case NPU_GOP_Sign: *out = (v > 0) - (v < 0); return true;
	case NPU_GOP_Identity: *out = v; return true;
	case NPU_GOP_Relu: *out = v < 0 ? 0 : v; return true;
	case NPU_GOP_Not: *out = v == 0; return true;
	default: return false;
	}
}

static bool binary_float(const struct npu_gnode *n, double a, double b, double *out)
{
	switch (n->op) {
	case NPU_GOP_Add: case NPU_GOP_Sum: *out = a + b; return true;
	case NPU_GOP_Sub: *out = a - b; return true;
	case NPU_GOP_Mul: *out = a * b; return true;
	case NPU_GOP_Div: *out = a / b; return true;
	case NPU_GOP_Pow: *out = pow(a, b); return true;
	case NPU_GOP_Max: *out = isnan(a) || a > b ? a : b; return true;
	case NPU_GOP_Min: *out = isnan(a) || a < b ? a : b; return true;
	case NPU_GOP_Mod: *out = fmod(a, b); return npu_gnode_int(n, "fmod", 0) != 0;
	case NPU_GOP_Equal: *out = a == b; return true;
	case NPU_GOP_Less: *out = a < b; return true;
	case NPU_GOP_LessOrEqual: *out = a <= b; return true;
	case NPU_GOP_Greater: *out = a > b; return true;
	case NPU_GOP_GreaterOrEqual: *out = a >= b; return true;
	case NPU_GOP_PRelu: *out = a < 0 ? a * b : a; return true;
	default: return false;
	}
}

/*
 * Wraps like the machine types that runtimes use; dividing by zero is left to the runtime, so not
 * folded.
 */
static bool binary_int(const struct npu_gnode *n, int64_t a, int64_t b, int64_t *out)
{
	switch (n->op) {
	case NPU_GOP_Add:
	case NPU_GOP_Sum: *out = (int64_t)((uint64_t)a + (uint64_t)b); return true;
	case NPU_GOP_Sub: *out = (int64_t)((uint64_t)a - (uint64_t)b); return true;
	case NPU_GOP_Mul: *out = (int64_t)((uint64_t)a * (uint64_t)b); return true;
	case NPU_GOP_Div:
		if (!b || (b == -1 && a == INT64_MIN))
			return false;
		*out = a / b;
		return true;
	case NPU_GOP_Mod:
		if (!b || b == -1)
			return false;
		*out = a % b;
		if (!npu_gnode_int(n, "fmod", 0) && *out && (*out < 0) != (b < 0))
			*out += b;
		return true;
	case NPU_GOP_Max: *out = a > b ? a : b; return true;
	case NPU_GOP_Min: *out = a < b ? a : b; return true;
	case NPU_GOP_Equal: *out = a == b; return true;
	case NPU_GOP_Less: *out = a < b; return true;
	case NPU_GOP_LessOrEqual: *out = a <= b; return true;
	case NPU_GOP_Greater: *out = a > b; return true;
	case NPU_GOP_GreaterOrEqual: *out = a >= b; return true;
	case NPU_GOP_And: *out = a && b; return true;
	case NPU_GOP_Or: *out = a || b; return true;
	case NPU_GOP_Xor: *out = !a != !b; return true;
	default: return false;
	}
}

static bool fold_unary(const struct npu_gnode *n, struct npu_gtensor *out)
{
	const struct npu_gtensor *x = n->inputs[0];
	int64_t count = npu_gtensor_const_elems(x), i, iv;
	double v;

	for (i = 0; i < count; i++) {
		if (npu_fold_is_float(x->type)) {
			if (!unary_float(n->op, npu_gtensor_elem(x, (size_t)i), &v))
				return false;
			npu_fold_put(out, (size_t)i, v);
		} else {
			if (!unary_int(n->op, npu_gtensor_elem_int(x, (size_t)i), &iv))
				return false;
			npu_fold_put_int(out, (size_t)i, iv);
		}
	}
	return true;
}

/*
 * Operand @k with the running result; variadic operators round after each step, as the type's
 * arithmetic would.
 */
static bool fold_step(const struct npu_gnode *n, struct npu_gtensor *out,
		      const struct npu_gtensor *a, const struct npu_gtensor *b)
{
	struct npu_fold_walk w;
	int64_t count = npu_gtensor_const_elems(out), i, iv;
	double v;

	npu_fold_walk_init(&w, out);
	npu_fold_walk_operand(&w, a);
	npu_fold_walk_operand(&w, b);
	for (i = 0; i < count; i++, npu_fold_walk_next(&w)) {
		size_t ia = (size_t)w.index[0], ib = (size_t)w.index[1];

		if (npu_fold_is_float(a->type) || npu_fold_is_float(b->type)) {
			if (!binary_float(n, npu_gtensor_elem(a, ia), npu_gtensor_elem(b, ib), &v))
				return false;
			npu_fold_put(out, (size_t)i, v);
		} else {
			if (!binary_int(n, npu_gtensor_elem_int(a, ia), npu_gtensor_elem_int(b, ib),
					&iv))
				return false;
			npu_fold_put_int(out, (size_t)i, iv);
		}
	}
	return true;
}

static bool fold_where(const struct npu_gnode *n, struct npu_gtensor *out)
{
	int64_t count = npu_gtensor_const_elems(out), i;
	size_t size = npu_gtype_size(out->type);
	struct npu_fold_walk w;
	unsigned int k;

	npu_fold_walk_init(&w, out);
	for (k = 0; k < 3; k++)
		npu_fold_walk_operand(&w, n->inputs[k]);
	for (i = 0; i < count; i++, npu_fold_walk_next(&w)) {
		k = npu_gtensor_elem_int(n->inputs[0], (size_t)w.index[0]) ? 1 : 2;
		memcpy((char *)out->data + (size_t)i * size,
		       (const char *)n->inputs[k]->data + (size_t)w.index[k] * size, size);
	}
	return true;
}

static bool fold_clip(const struct npu_gnode *n, struct npu_gtensor *out)
{
	const struct npu_gtensor *x = n->inputs[0], *lo = npu_gnode_in(n, 1),
				 *hi = npu_gnode_in(n, 2);
	int64_t count = npu_gtensor_const_elems(x), i;
	double low = npu_gnode_float(n, "min", -INFINITY),
	       high = npu_gnode_float(n, "max", INFINITY), v;

	if ((lo && !npu_gtensor_scalar(lo, &low)) || (hi && !npu_gtensor_scalar(hi, &high)) ||
	    x->type == NPU_GT_I64)
		return false;
	for (i = 0; i < count; i++) {
		v = npu_gtensor_elem(x, (size_t)i);
		v = v < low ? low : v;
		npu_fold_put(out, (size_t)i, v > high ? high : v);
	}
	return true;
}

bool npu_fold_elementwise(const struct npu_gnode *n, struct npu_gtensor *out)
{
	unsigned int k;

	/* whether Dropout is the identity is for the identity pass to say */
	if (!npu_gtype_size(out->type) || n->ep.act.kind || n->op == NPU_GOP_Dropout)
		return false;
	if (n->op == NPU_GOP_Where)
		return fold_where(n, out);
	if (n->op == NPU_GOP_Clip)
		return fold_clip(n, out);
	if (n->num_inputs == 1)
		return n->op != NPU_GOP_Mean &&
		       (npu_gnode_info(n)->family == NPU_GF_VARIADIC ?
				(memcpy((void *)out->data, n->inputs[0]->data, out->size), true) :
				fold_unary(n, out));
	if (n->op == NPU_GOP_Mean || !fold_step(n, out, n->inputs[0], n->inputs[1]))
		return false;
	for (k = 2; k < n->num_inputs; k++)
		if (!fold_step(n, out, out, n->inputs[k]))
			return false;
	return true;
}

bool npu_fold_cast(const struct npu_gnode *n, struct npu_gtensor *out)
{
	const struct npu_gtensor *x = n->inputs[0];
	int64_t count = npu_gtensor_const_elems(x), i;

	if (!npu_gtype_size(out->type))
		return false;
	for (i = 0; i < count; i++) {
		if (npu_fold_is_float(x->type))
			npu_fold_put(out, (size_t)i, npu_gtensor_elem(x, (size_t)i));
		else
			npu_fold_put_int(out, (size_t)i, npu_gtensor_elem_int(x, (size_t)i));
	}
	return true;
}
