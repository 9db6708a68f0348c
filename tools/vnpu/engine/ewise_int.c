// SPDX-License-Identifier: MIT
#include "ewise_int.h"

bool npu_ewise_int_has_unary(unsigned int func)
{
	switch (func) {
	case NPU_UNARY_ABS:
	case NPU_UNARY_NEG:
	case NPU_UNARY_FLOOR:
	case NPU_UNARY_CEIL:
	case NPU_UNARY_ROUND:
	case NPU_UNARY_SIGN:
	case NPU_UNARY_NOT:
	case NPU_UNARY_SQUARE:
	case NPU_UNARY_ISNAN:
	case NPU_UNARY_ISINF:
	case NPU_UNARY_COPY:
	case NPU_UNARY_BITNOT:
		return true;
	default:
		return false;
	}
}

static npu_s64 wrap_neg(npu_s64 a)
{
	return (npu_s64)(0u - (npu_u64)a);
}

static npu_s64 wrap_mul(npu_s64 a, npu_s64 b)
{
	return (npu_s64)((npu_u64)a * (npu_u64)b);
}

void npu_ewise_int_unary(npu_s64 *v, size_t n, unsigned int func)
{
	size_t i;

	for (i = 0; i < n; i++) {
		npu_s64 a = v[i];

		switch (func) {
		case NPU_UNARY_ABS:
			a = a < 0 ? wrap_neg(a) : a;
			break;
		case NPU_UNARY_NEG:
			a = wrap_neg(a);
			break;
		case NPU_UNARY_SIGN:
			a = (a > 0) - (a < 0);
			break;
		case NPU_UNARY_NOT:
			a = !a;
			break;
		case NPU_UNARY_SQUARE:
			a = wrap_mul(a, a);
			break;
		case NPU_UNARY_ISNAN:
		case NPU_UNARY_ISINF:
			a = 0;
			break;
		case NPU_UNARY_BITNOT:
			a = ~a;
			break;
		}
		v[i] = a;
	}
}

static npu_s64 int_pow(npu_s64 a, npu_s64 b)
{
	npu_s64 r = 1;

	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	for (; b; b >>= 1, a = wrap_mul(a, a))
		if (b & 1)
			r = wrap_mul(r, a);
	return r;
}

static npu_s64 int_div(npu_s64 a, npu_s64 b)
{
	if (b == 0)
		return 0;
	return b == -1 ? wrap_neg(a) : a / b;
}

static npu_s64 int_fmod(npu_s64 a, npu_s64 b)
{
	return b == 0 || b == -1 ? 0 : a % b;
}

static npu_s64 int_mod(npu_s64 a, npu_s64 b)
{
	npu_s64 r = int_fmod(a, b);

	return r && (r < 0) != (b < 0) ? r + b : r;
}

static npu_s64 int_shift(npu_s64 a, npu_s64 b, bool left)
{
	if (b < 0 || b > 63)
		return 0;
	return left ? (npu_s64)((npu_u64)a << b) : a >> b;
}

static npu_s64 int_binary(npu_s64 a, npu_s64 b, unsigned int func)
{
	switch (func) {
	case NPU_BINARY_ADD:
		return (npu_s64)((npu_u64)a + (npu_u64)b);
	case NPU_BINARY_SUB:
		return (npu_s64)((npu_u64)a - (npu_u64)b);
	case NPU_BINARY_MUL:
		return wrap_mul(a, b);
	case NPU_BINARY_DIV:
		return int_div(a, b);
	case NPU_BINARY_MAX:
		return a > b ? a : b;
	case NPU_BINARY_MIN:
		return a < b ? a : b;
	case NPU_BINARY_POW:
		return int_pow(a, b);
	case NPU_BINARY_MOD:
		return int_mod(a, b);
	case NPU_BINARY_FMOD:
		return int_fmod(a, b);
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
		return int_shift(a, b, true);
	case NPU_BINARY_SHR:
		return int_shift(a, b, false);
	default:
		return 0;
	}
}

void npu_ewise_int_binary(npu_s64 *a, const npu_s64 *b, size_t n, unsigned int func)
{
	size_t i;

	for (i = 0; i < n; i++)
		a[i] = int_binary(a[i], b[i], func);
}
