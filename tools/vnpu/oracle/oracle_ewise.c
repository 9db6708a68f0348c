// SPDX-License-Identifier: MIT
/* EWISE1, EWISE2 and SELECT. */
#include <math.h>
#include "oracle.h"

static float round_half_even(float v)
{
	return rintf(v);
}

static float unary_real(unsigned int func, float v)
{
	double d = v;

	switch (func) {
	case NPU_UNARY_ABS:
		return fabsf(v);
	case NPU_UNARY_NEG:
		return -v;
	case NPU_UNARY_EXP:
		return (float)exp(d);
	case NPU_UNARY_LOG:
		return (float)log(d);
	case NPU_UNARY_SQRT:
		return sqrtf(v);
	case NPU_UNARY_RSQRT:
		return 1 / sqrtf(v);
	case NPU_UNARY_RECIP:
		return 1 / v;
	case NPU_UNARY_FLOOR:
		return floorf(v);
	case NPU_UNARY_CEIL:
		return ceilf(v);
	case NPU_UNARY_ROUND:
		return round_half_even(v);
	case NPU_UNARY_SIGN:
		return isnan(v) ? NAN : (float)((v > 0) - (v < 0));
	case NPU_UNARY_ERF:
		return (float)erf(d);
	case NPU_UNARY_SIN:
		return (float)sin(d);
	case NPU_UNARY_COS:
		return (float)cos(d);
	case NPU_UNARY_NOT:
		return v == 0;
	case NPU_UNARY_SQUARE:
		return v * v;
	case NPU_UNARY_ISNAN:
		return isnan(v) != 0;
	case NPU_UNARY_ISINF:
		return isinf(v) != 0;
	case NPU_UNARY_SOFTSIGN:
		return v / (1 + fabsf(v));
	case NPU_UNARY_TAN:
		return (float)tan(d);
	case NPU_UNARY_ASIN:
		return (float)asin(d);
	case NPU_UNARY_ACOS:
		return (float)acos(d);
	case NPU_UNARY_ATAN:
		return (float)atan(d);
	case NPU_UNARY_SINH:
		return (float)sinh(d);
	case NPU_UNARY_COSH:
		return (float)cosh(d);
	case NPU_UNARY_ASINH:
		return (float)asinh(d);
	case NPU_UNARY_ACOSH:
		return (float)acosh(d);
	case NPU_UNARY_ATANH:
		return (float)atanh(d);
	default:
		return v;
	}
}

static npu_s64 unary_int(unsigned int func, npu_s64 v)
{
	switch (func) {
	case NPU_UNARY_ABS:
		return v < 0 ? (npu_s64)(0 - (npu_u64)v) : v;
	case NPU_UNARY_NEG:
		return (npu_s64)(0 - (npu_u64)v);
	case NPU_UNARY_SIGN:
		return (v > 0) - (v < 0);
	case NPU_UNARY_NOT:
		return v == 0;
	case NPU_UNARY_BITNOT:
		return ~v;
	case NPU_UNARY_SQUARE:
		return (npu_s64)((npu_u64)v * (npu_u64)v);
	case NPU_UNARY_ISNAN:
	case NPU_UNARY_ISINF:
		return 0;
	default:
		return v;
	}
}

static float load_slope(struct oracle_view slope, const npu_u32 *index, unsigned int rank)
{
	return oracle_present(slope) ? oracle_load_real(slope, oracle_at(slope, &index[rank - 1])) :
				       0;
}

/* Of plain integers: modulo 2^bits, or q() when the output has a scale. */
static void store_result(struct oracle_view out, unsigned char *at, npu_s64 v)
{
	if (out.op->scale != 0)
		oracle_store_real(out, at, (float)v);
	else
		oracle_store_int(out, at, v);
}

int oracle_ewise1(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_EWISE1_OUT),
			   in = oracle_view(insn, mem, NPU_EWISE1_IN);
	struct oracle_view slope = oracle_view(insn, mem, NPU_EWISE1_ACT_PARAM);
	float alpha = oracle_param_f32(insn, NPU_EWISE1_P_ACT_ALPHA),
	      beta = oracle_param_f32(insn, NPU_EWISE1_P_ACT_BETA);
	float mul = oracle_param_f32(insn, NPU_EWISE1_P_POST_MUL),
	      add = oracle_param_f32(insn, NPU_EWISE1_P_POST_ADD);
	unsigned int func = insn->param[NPU_EWISE1_P_FUNC], act = insn->param[NPU_EWISE1_P_ACT],
		     rank = out.op->rank;
	npu_u32 index[NPU_MAX_RANK] = { 0 };

	do {
		unsigned char *at = oracle_at(out, index),
			      *from = oracle_at_broadcast(in, index, rank);

		if (oracle_is_real(in)) {
			float v = oracle_act(act, unary_real(func, oracle_load_real(in, from)),
					     alpha, beta, load_slope(slope, index, rank));

			if (mul != 1 || add != 0)
				v = fmaf(v, mul, add);
			oracle_store_real(out, at, v);
		} else {
			store_result(out, at, unary_int(func, oracle_load_int(in, from)));
		}
	} while (oracle_next(index, out.op->dim, rank));
	return 0;
}

static float power(float a, float b)
{
	return (float)pow(a, b);
}

static float binary_real(unsigned int func, float a, float b)
{
	switch (func) {
	case NPU_BINARY_ADD:
		return a + b;
	case NPU_BINARY_SUB:
		return a - b;
	case NPU_BINARY_MUL:
		return a * b;
	case NPU_BINARY_DIV:
		return a / b;
	case NPU_BINARY_MAX:
		return oracle_max(a, b);
	case NPU_BINARY_MIN:
		return oracle_min(a, b);
	case NPU_BINARY_POW:
		return power(a, b);
	case NPU_BINARY_MOD: {
		float r = fmodf(a, b);

		if (r == 0)
			return copysignf(0, b);
		return (r < 0) != (b < 0) ? r + b : r;
	}
	case NPU_BINARY_FMOD:
		return fmodf(a, b);
	case NPU_BINARY_EQ:
		return a == b;
	case NPU_BINARY_LT:
		return a < b;
	case NPU_BINARY_LE:
		return a <= b;
	case NPU_BINARY_GT:
		return a > b;
	case NPU_BINARY_GE:
		return a >= b;
	case NPU_BINARY_AND:
		return a != 0 && b != 0;
	case NPU_BINARY_OR:
		return a != 0 || b != 0;
	default:
		return (a != 0) != (b != 0);
	}
}

static npu_s64 power_int(npu_s64 a, npu_s64 b)
{
	npu_u64 r = 1, base = (npu_u64)a;

	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
	for (; b; b >>= 1, base *= base)
		if (b & 1)
			r *= base;
	return (npu_s64)r;
}

static npu_s64 binary_int(unsigned int func, npu_s64 a, npu_s64 b, unsigned int bits)
{
	npu_s64 r;

	switch (func) {
	case NPU_BINARY_ADD:
		return (npu_s64)((npu_u64)a + (npu_u64)b);
	case NPU_BINARY_SUB:
		return (npu_s64)((npu_u64)a - (npu_u64)b);
	case NPU_BINARY_MUL:
		return (npu_s64)((npu_u64)a * (npu_u64)b);
	case NPU_BINARY_DIV:
		return b == 0 ? 0 : b == -1 ? (npu_s64)(0 - (npu_u64)a) : a / b;
	case NPU_BINARY_MAX:
		return a > b ? a : b;
	case NPU_BINARY_MIN:
		return a < b ? a : b;
	case NPU_BINARY_POW:
		return power_int(a, b);
	case NPU_BINARY_MOD:
		r = b == 0 || b == -1 ? 0 : a % b;
		return r && (r < 0) != (b < 0) ? r + b : r;
	case NPU_BINARY_FMOD:
		return b == 0 || b == -1 ? 0 : a % b;
	case NPU_BINARY_EQ:
		return a == b;
	case NPU_BINARY_LT:
		return a < b;
	case NPU_BINARY_LE:
		return a <= b;
	case NPU_BINARY_GT:
		return a > b;
	case NPU_BINARY_GE:
		return a >= b;
	case NPU_BINARY_AND:
		return a && b;
	case NPU_BINARY_OR:
		return a || b;
	case NPU_BINARY_XOR:
		return !a != !b;
	case NPU_BINARY_BITAND:
		return a & b;
	case NPU_BINARY_BITOR:
		return a | b;
	case NPU_BINARY_BITXOR:
		return a ^ b;
	case NPU_BINARY_SHL:
		return b < 0 || b >= (npu_s64)bits ? 0 : (npu_s64)((npu_u64)a << b);
	default:
		return b < 0 || b >= (npu_s64)bits ? 0 : (npu_s64)((npu_u64)a >> b);
	}
}

int oracle_ewise2(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_EWISE2_OUT),
			   a = oracle_view(insn, mem, NPU_EWISE2_A);
	struct oracle_view b = oracle_view(insn, mem, NPU_EWISE2_B),
			   slope = oracle_view(insn, mem, NPU_EWISE2_ACT_PARAM);
	float alpha = oracle_param_f32(insn, NPU_EWISE2_P_ACT_ALPHA),
	      beta = oracle_param_f32(insn, NPU_EWISE2_P_ACT_BETA);
	float mul = oracle_param_f32(insn, NPU_EWISE2_P_POST_MUL),
	      add = oracle_param_f32(insn, NPU_EWISE2_P_POST_ADD);
	unsigned int func = insn->param[NPU_EWISE2_P_FUNC], act = insn->param[NPU_EWISE2_P_ACT],
		     rank = out.op->rank;
	bool real = oracle_is_real(a) || oracle_is_real(b);
	npu_u32 index[NPU_MAX_RANK] = { 0 };

	do {
		unsigned char *at = oracle_at(out, index);
		unsigned char *pa = oracle_at_broadcast(a, index, rank),
			      *pb = oracle_at_broadcast(b, index, rank);

		if (real) {
			float v = binary_real(func, oracle_load_real(a, pa),
					      oracle_load_real(b, pb));

			v = oracle_act(act, v, alpha, beta, load_slope(slope, index, rank));
			if (mul != 1 || add != 0)
				v = fmaf(v, mul, add);
			oracle_store_real(out, at, v);
		} else {
			store_result(out, at,
				     binary_int(func, oracle_load_int(a, pa),
						oracle_load_int(b, pb),
						npu_dtype_bits(a.op->dtype)));
		}
	} while (oracle_next(index, out.op->dim, rank));
	return 0;
}

int oracle_select(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_SELECT_OUT),
			   cond = oracle_view(insn, mem, NPU_SELECT_COND);
	struct oracle_view a = oracle_view(insn, mem, NPU_SELECT_A),
			   b = oracle_view(insn, mem, NPU_SELECT_B);
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	unsigned int rank = out.op->rank;

	do {
		struct oracle_view from = *oracle_at_broadcast(cond, index, rank) ? a : b;
		unsigned char *p = oracle_at_broadcast(from, index, rank);

		oracle_move(out, oracle_at(out, index), from, p);
	} while (oracle_next(index, out.op->dim, rank));
	return 0;
}
