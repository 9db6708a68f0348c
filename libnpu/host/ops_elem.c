// SPDX-License-Identifier: MIT
/*
 * Element by element, with broadcasting, for the types that the NPU lacks and for bits. Integers
 * are computed modulo their width, floats in double and rounded once.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "host/dense.h"

enum binary {
	B_ADD, B_SUB, B_MUL, B_DIV, B_MOD, B_FMOD, B_POW, B_MAX, B_MIN, B_AND, B_OR, B_XOR, B_LEFT,
	B_RIGHT, B_EQ, B_LT, B_LE, B_GT, B_GE,
};

static double binary_float(enum binary op, double a, double b)
{
	switch (op) {
	case B_ADD: return a + b;
	case B_SUB: return a - b;
	case B_MUL: return a * b;
	case B_DIV: return a / b;
	case B_MOD: return b == 0 ? NAN : a - b * floor(a / b);
	case B_FMOD: return fmod(a, b);
	case B_POW: return pow(a, b);
	case B_MAX: return isnan(a) || a > b ? a : b;
	case B_MIN: return isnan(a) || a < b ? a : b;
	case B_AND: return a != 0 && b != 0;
	case B_OR: return a != 0 || b != 0;
	case B_XOR: return (a != 0) != (b != 0);
	case B_EQ: return a == b;
	case B_LT: return a < b;
	case B_LE: return a <= b;
	case B_GT: return a > b;
	case B_GE: return a >= b;
	default: return 0;
	}
}

/* a to the power of b, modulo 2^64; below 0: 1 / a cut off. */
static uint64_t integer_power(uint64_t a, int64_t b)
{
	uint64_t r = 1;

	if (b < 0)
		return a == 1 ? 1 : a == UINT64_MAX ? (b & 1 ? a : 1) : 0;
	for (; b; b >>= 1, a *= a)
		if (b & 1)
			r *= a;
	return r;
}

/* Division by zero gives 0, as ONNX leaves it open; nothing traps. */
static uint64_t divide(enum binary op, uint64_t a, uint64_t b, bool is_unsigned)
{
	int64_t x = (int64_t)a, y = (int64_t)b, r;

	if (!b)
		return 0;
	if (is_unsigned)
		return op == B_DIV ? a / b : a % b;
	if (y == -1)
		return op == B_DIV ? 0 - a : 0;
	if (op == B_DIV)
		return (uint64_t)(x / y);
	r = x % y;
	return (uint64_t)(op == B_MOD && r && (r < 0) != (y < 0) ? r + y : r);
}

static uint64_t binary_int(enum binary op, uint64_t a, uint64_t b, bool is_unsigned)
{
	bool less = is_unsigned ? a < b : (int64_t)a < (int64_t)b;

	switch (op) {
	case B_ADD: return a + b;
	case B_SUB: return a - b;
	case B_MUL: return a * b;
	case B_DIV: case B_MOD: case B_FMOD: return divide(op, a, b, is_unsigned);
	case B_POW: return integer_power(a, (int64_t)b);
	case B_MAX: return less ? b : a;
	case B_MIN: return less ? a : b;
	case B_AND: return a & b;
	case B_OR: return a | b;
	case B_XOR: return a ^ b;
	case B_LEFT: return b < 64 ? a << b : 0;
	case B_RIGHT: return b < 64 ? a >> b : 0;
	case B_EQ: return a == b;
	case B_LT: return less;
	case B_LE: return less || a == b;
	case B_GT: return !less && a != b;
	case B_GE: return !less;
	default: return 0;
	}
}

/* One step of out = a op b; @a may be the output itself. */
static int apply(const struct npu_host_call *call, enum binary op, const struct npu_host_tensor *a,
		 const struct npu_host_tensor *b, struct npu_error *err)
{
	int64_t sa[NPU_HOST_RANK], sb[NPU_HOST_RANK], index[NPU_HOST_RANK] = { 0 }, at = 0;
	struct npu_host_tensor *out = &call->out[0];
	bool whole = !npu_host_is_float(a->dtype) && !npu_host_is_float(b->dtype);
	bool is_unsigned = npu_host_is_unsigned(a->dtype);
	int ret = npu_host_broadcast(call, a, out, sa, err);

	if (!ret)
		ret = npu_host_broadcast(call, b, out, sb, err);
	if (ret || !npu_host_elems(out))
		return ret;
	do {
		int64_t ia = npu_host_offset(out->rank, index, sa),
			ib = npu_host_offset(out->rank, index, sb);

		if (NPU_HOST_NOW_AND_THEN(at, call, err))
			return -ECANCELED;
		if (whole)
			npu_host_set_int(out, at,
					 (int64_t)binary_int(op, (uint64_t)npu_host_get_int(a, ia),
							     (uint64_t)npu_host_get_int(b, ib),
							     is_unsigned));
		else
			npu_host_set(out, at,
				     binary_float(op, npu_host_get(a, ia), npu_host_get(b, ib)));
		at++;
	} while (npu_host_next(out->rank, out->dim, index));
	return 0;
}

#define BINARY(name, op)									\
int npu_host_##name(const struct npu_host_call *call, struct npu_error *err)			\
{												\
	int ret = npu_host_fit(call, &call->out[0], err);					\
												\
	return ret ? ret : apply(call, op, &call->in[0], &call->in[1], err);			\
}

BINARY(add, B_ADD)
BINARY(sub, B_SUB)
BINARY(mul, B_MUL)
BINARY(div, B_DIV)
BINARY(pow, B_POW)
BINARY(and, B_AND)
BINARY(or, B_OR)
BINARY(xor, B_XOR)
BINARY(equal, B_EQ)
BINARY(less, B_LT)
BINARY(less_or_equal, B_LE)
BINARY(greater, B_GT)
BINARY(greater_or_equal, B_GE)

int npu_host_mod(const struct npu_host_call *call, struct npu_error *err)
{
	enum binary op = npu_host_int(call, "fmod", 0) ? B_FMOD : B_MOD;
	int ret = npu_host_fit(call, &call->out[0], err);

	return ret ? ret : apply(call, op, &call->in[0], &call->in[1], err);
}

int npu_host_bit_shift(const struct npu_host_call *call, struct npu_error *err)
{
	bool left = !strcmp(npu_host_string(call, "direction", ""), "LEFT");

	int ret = npu_host_fit(call, &call->out[0], err);

	return ret ? ret : apply(call, left ? B_LEFT : B_RIGHT, &call->in[0], &call->in[1], err);
}

/* Any number of inputs: the first is copied, the others join it. */
static int variadic(const struct npu_host_call *call, enum binary op, struct npu_error *err)
{
	struct npu_host_tensor *out = &call->out[0];
	/* what a value joined with itself gives is the value */
	enum binary copy = npu_host_is_float(out->dtype) ? B_MAX : B_OR;
	uint32_t i;
	int ret = npu_host_fit(call, out, err);

	if (!ret)
		ret = npu_host_is_float(call->in[0].dtype) == npu_host_is_float(out->dtype) ?
			      apply(call, copy, &call->in[0], &call->in[0], err) :
			      npu_host_want_type(call, out, call->in[0].dtype, err);
	for (i = 1; i < call->num_in && !ret; i++) {
		ret = npu_host_poll(call, err);
		if (!ret)
			ret = apply(call, op, out, &call->in[i], err);
	}
	return ret;
}

int npu_host_max(const struct npu_host_call *call, struct npu_error *err)
{
	return variadic(call, B_MAX, err);
}

int npu_host_min(const struct npu_host_call *call, struct npu_error *err)
{
	return variadic(call, B_MIN, err);
}

int npu_host_sum(const struct npu_host_call *call, struct npu_error *err)
{
	return variadic(call, B_ADD, err);
}

int npu_host_mean(const struct npu_host_call *call, struct npu_error *err)
{
	int64_t i;
	int ret = variadic(call, B_ADD, err);

	for (i = 0; !ret && i < npu_host_elems(&call->out[0]); i++)
		npu_host_set(&call->out[0], i,
			     npu_host_get(&call->out[0], i) / (double)call->num_in);
	return ret;
}

int npu_host_where(const struct npu_host_call *call, struct npu_error *err)
{
	int64_t stride[3][NPU_HOST_RANK], index[NPU_HOST_RANK] = { 0 }, at = 0;
	struct npu_host_tensor *out = &call->out[0];
	size_t size = npu_host_dtype_size(out->dtype);
	int k, ret = npu_host_fit(call, out, err);

	for (k = 1; k < 3 && !ret; k++)
		ret = npu_host_want_type(call, &call->in[k], out->dtype, err);
	for (k = 0; k < 3 && !ret; k++)
		ret = npu_host_broadcast(call, &call->in[k], out, stride[k], err);
	if (ret || !npu_host_elems(out))
		return ret;
	do {
		if (NPU_HOST_NOW_AND_THEN(at, call, err))
			return -ECANCELED;
		k = npu_host_get_int(&call->in[0], npu_host_offset(out->rank, index, stride[0]))
			    ? 1
			    : 2;
		memcpy((char *)out->data + (size_t)at++ * size,
		       (const char *)call->in[k].data +
			       (size_t)npu_host_offset(out->rank, index, stride[k]) * size,
		       size);
	} while (npu_host_next(out->rank, out->dim, index));
	return 0;
}

/* ---- one input ------------------------------------------------------------------------------- */

#define UNARY(name, float_expr, int_expr)							\
int npu_host_##name(const struct npu_host_call *call, struct npu_error *err)			\
{												\
	const struct npu_host_tensor *in = &call->in[0];					\
	int64_t n = npu_host_elems(in), i;							\
	int ret = npu_host_fit(call, &call->out[0], err);					\
												\
	for (i = 0; i < n && !ret; i++) {							\
		ret = NPU_HOST_NOW_AND_THEN(i, call, err);					\
		if (npu_host_is_float(in->dtype)) {						\
			double v = npu_host_get(in, i);						\
												\
			npu_host_set(&call->out[0], i, float_expr);				\
		} else {									\
			int64_t v = npu_host_get_int(in, i);					\
												\
			npu_host_set_int(&call->out[0], i, int_expr);				\
		}										\
	}											\
	return ret;										\
}

#define NEGATED(v)	((int64_t)(0 - (uint64_t)(v)))
#define SIGNED(v)	(!npu_host_is_unsigned(in->dtype) && (v) < 0)

UNARY(abs, fabs(v), SIGNED(v) ? NEGATED(v) : v)
UNARY(neg, -v, NEGATED(v))
UNARY(sign, v > 0 ? 1 : v < 0 ? -1 : v, SIGNED(v) ? -1 : v != 0)
UNARY(relu, v < 0 ? 0 : v, SIGNED(v) ? 0 : v)
UNARY(floor, floor(v), v)
UNARY(ceil, ceil(v), v)
UNARY(round, nearbyint(v), v)
UNARY(sqrt, sqrt(v), v)
UNARY(exp, exp(v), v)
UNARY(log, log(v), v)
UNARY(sin, sin(v), v)
UNARY(cos, cos(v), v)
UNARY(tanh, tanh(v), v)
UNARY(sigmoid, 1 / (1 + exp(-v)), v)
UNARY(reciprocal, 1 / v, v)
UNARY(erf, erf(v), v)
UNARY(identity, v, v)
UNARY(is_nan, isnan(v), 0 * v)
UNARY(bitwise_not, v, ~v)
UNARY(not, v == 0, !v)

/* Cast and CastLike: floats are cut off, integers wrap, everything but 0 is true. */
int npu_host_cast(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *in = &call->in[0];
	struct npu_host_tensor *out = &call->out[0];
	int64_t n = npu_host_elems(in), i;
	/* CastLike's second input has a shape of its own */
	int ret = npu_host_want(call, out, 0, in->rank, in->dim, err);

	for (i = 0; i < n && !ret; i++) {
		ret = NPU_HOST_NOW_AND_THEN(i, call, err);
		if (npu_host_is_float(in->dtype))
			npu_host_set(out, i, npu_host_get(in, i));
		else if (out->dtype == NPU_BOOL)
			npu_host_set(out, i, npu_host_get_int(in, i) != 0);
		else if (npu_host_is_float(out->dtype))
			npu_host_set(out, i, npu_host_get(in, i));
		else
			npu_host_set_int(out, i, npu_host_get_int(in, i));
	}
	return ret;
}

int npu_host_shrink(const struct npu_host_call *call, struct npu_error *err)
{
	double lambd = npu_host_float(call, "lambd", 0.5), bias = npu_host_float(call, "bias", 0),
	       v;
	int64_t i;
	int ret = npu_host_fit(call, &call->out[0], err);

	for (i = 0; !ret && i < npu_host_elems(&call->in[0]); i++) {
		v = npu_host_get(&call->in[0], i);
		npu_host_set(&call->out[0], i, v < -lambd ? v + bias : v > lambd ? v - bias : 0);
	}
	return ret;
}

/* Bounds are attributes before operator set 11, then inputs. */
int npu_host_clip(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *lo = npu_host_in(call, 1),
				     *hi = npu_host_in(call, 2);
	bool whole = !npu_host_is_float(x->dtype), is_unsigned = npu_host_is_unsigned(x->dtype);
	double low, high, v;
	uint64_t w;
	int64_t i;
	int ret = npu_host_want_number(call, 1, err);

	if (!ret)
		ret = npu_host_want_number(call, 2, err);
	if (!ret)
		ret = npu_host_want(call, &call->out[0], 0, x->rank, x->dim, err);
	if (ret)
		return ret;
	low = lo ? npu_host_get(lo, 0) : npu_host_float(call, "min", -INFINITY);
	high = hi ? npu_host_get(hi, 0) : npu_host_float(call, "max", INFINITY);
	for (i = 0; i < npu_host_elems(x); i++) {
		if (whole) {
			w = (uint64_t)npu_host_get_int(x, i);
			if (lo)
				w = binary_int(B_MAX, w, (uint64_t)npu_host_get_int(lo, 0),
					       is_unsigned);
			if (hi)
				w = binary_int(B_MIN, w, (uint64_t)npu_host_get_int(hi, 0),
					       is_unsigned);
			npu_host_set_int(&call->out[0], i, (int64_t)w);
			continue;
		}
		v = npu_host_get(x, i);
		v = v < low ? low : v;
		npu_host_set(&call->out[0], i, v > high ? high : v);
	}
	return 0;
}
