// SPDX-License-Identifier: MIT
/* Elements, indices and layouts, one at a time. */
#include <math.h>
#include <string.h>
#include "oracle.h"

struct oracle_view oracle_view(const struct npu_insn *insn, const struct oracle_memory *mem,
			       unsigned int slot)
{
	const struct npu_operand *op = npu_insn_slot(insn, slot);
	struct oracle_view v = { NULL, NULL };

	if (op->dtype != NPU_NONE) {
		v.op = op;
		v.base = mem->region[op->region] + op->offset;
	}
	return v;
}

npu_s64 oracle_zero(const struct npu_insn *insn, const struct oracle_memory *mem, unsigned int data,
		    unsigned int slot)
{
	struct oracle_view v = oracle_view(insn, mem, slot);

	return oracle_present(v) ? oracle_load_int(v, v.base) : insn->operand[data].zero_point;
}

bool oracle_present(struct oracle_view v)
{
	return v.op != NULL;
}

unsigned char *oracle_at(struct oracle_view v, const npu_u32 *index)
{
	npu_s64 at = 0;

	for (unsigned int i = 0; i < v.op->rank; i++)
		at += (npu_s64)index[i] * v.op->stride[i];
	return v.base + at;
}

unsigned char *oracle_at_broadcast(struct oracle_view v, const npu_u32 *index, unsigned int rank)
{
	const npu_u32 *tail = index + (rank - v.op->rank);
	npu_s64 at = 0;

	for (unsigned int i = 0; i < v.op->rank; i++)
		if (v.op->dim[i] != 1)
			at += (npu_s64)tail[i] * v.op->stride[i];
	return v.base + at;
}

bool oracle_next(npu_u32 *index, const npu_u32 *dim, unsigned int rank)
{
	while (rank-- > 0) {
		if (++index[rank] < dim[rank])
			return true;
		index[rank] = 0;
	}
	return false;
}

bool oracle_is_real(struct oracle_view v)
{
	switch (v.op->dtype) {
	case NPU_F32:
	case NPU_F16:
	case NPU_BF16:
		return true;
	case NPU_I8:
	case NPU_U8:
	case NPU_I32:
		return v.op->scale != 0;
	default:
		return false;
	}
}

npu_s64 oracle_load_int(struct oracle_view v, const unsigned char *at)
{
	npu_s64 i64;
	npu_s32 i32;

	switch (v.op->dtype) {
	case NPU_I8:
		return (signed char)*at;
	case NPU_U8:
		return *at;
	case NPU_BOOL:
		return *at != 0;
	case NPU_I32:
		memcpy(&i32, at, sizeof(i32));
		return i32;
	default:
		memcpy(&i64, at, sizeof(i64));
		return i64;
	}
}

/* A half is its significand times a power of two; the engine widens by moving bits instead. */
static float from_f16(npu_u32 bits)
{
	int exponent = bits >> 10 & 0x1f, significand = bits & 0x3ff;
	float magnitude;

	if (exponent == 31)
		magnitude = significand ? NAN : INFINITY;
	else if (exponent)
		magnitude = ldexpf((float)(significand + 1024), exponent - 25);
	else
		magnitude = ldexpf((float)significand, -24);
	return bits & 0x8000 ? -magnitude : magnitude;
}

/*
 * The nearest multiple, even when two are as near, of the last place that a half of this size has.
 */
static npu_u32 to_f16(float value)
{
	npu_u32 sign = signbit(value) ? 0x8000 : 0;
	double steps;
	int exponent;

	if (isnan(value))
		return 0x7e00;
	if (fabsf(value) >= 65520)
		return sign | 0x7c00;
	frexp(fabsf(value), &exponent);
	if (value == 0 || exponent < -13)
		exponent = -13;		/* subnormals have the last place of the smallest normal */
	steps = rint(ldexp(fabsf(value), 11 - exponent));
	/* Rounded up to the next power of two, steps is 2048, and the exponent grows by itself. */
	return sign | (npu_u32)(((exponent + 13) << 10) + (int)steps);
}

float oracle_load_real(struct oracle_view v, const unsigned char *at)
{
	npu_u32 bits;
	float f;

	switch (v.op->dtype) {
	case NPU_F32:
		memcpy(&f, at, sizeof(f));
		return f;
	case NPU_F16:
		return from_f16(at[0] | at[1] << 8);
	case NPU_BF16:
		bits = (npu_u32)(at[0] | at[1] << 8) << 16;
		memcpy(&f, &bits, sizeof(f));
		return f;
	default:
		if (v.op->scale != 0)
			return (float)(oracle_load_int(v, at) - v.op->zero_point) * v.op->scale;
		return (float)oracle_load_int(v, at);
	}
}

/* Round to bfloat16, nearest even, by looking at both neighbours. */
static npu_u32 to_bf16(float value)
{
	npu_u32 bits, low, high;
	double d = value, dl, dh;
	float fl, fh;

	memcpy(&bits, &value, sizeof(bits));
	low = bits & 0xffff0000u;
	high = low + 0x10000u;
	memcpy(&fl, &low, sizeof(fl));
	memcpy(&fh, &high, sizeof(fh));
	if (isinf(value))
		return low >> 16;
	dl = fabs(d - fl);
	/* Beyond the largest finite value the next step stands for infinity, a full step away. */
	dh = isinf(fh) ? fabs((double)fl) / 255 - dl : fabs(fh - d);
	if (dl < dh || (dl == dh && !(low & 0x10000u)))
		return low >> 16;
	return high >> 16;
}

static npu_s64 saturate(double v, npu_s64 lo, npu_s64 hi)
{
	if (isnan(v))
		return 0;
	if (v <= (double)lo)
		return lo;
	if (v >= (double)hi)
		return hi;
	return (npu_s64)v;
}

static void limits(unsigned int dtype, npu_s64 *lo, npu_s64 *hi)
{
	switch (dtype) {
	case NPU_I8:
		*lo = -128;
		*hi = 127;
		break;
	case NPU_U8:
		*lo = 0;
		*hi = 255;
		break;
	case NPU_I32:
		*lo = INT32_MIN;
		*hi = INT32_MAX;
		break;
	default:
		*lo = INT64_MIN;
		*hi = INT64_MAX;
	}
}

void oracle_store_real(struct oracle_view v, unsigned char *at, float value)
{
	npu_u32 bits;
	npu_s64 lo, hi;

	switch (v.op->dtype) {
	case NPU_F32:
		memcpy(&bits, &value, sizeof(bits));
		if (isnan(value))
			bits = 0x7fc00000u;
		memcpy(at, &bits, sizeof(bits));
		return;
	case NPU_F16:
		bits = to_f16(value);
		at[0] = bits & 0xff;
		at[1] = bits >> 8;
		return;
	case NPU_BF16:
		bits = isnan(value) ? 0x7fc0u : to_bf16(value);
		at[0] = bits & 0xff;
		at[1] = bits >> 8;
		return;
	case NPU_BOOL:
		*at = value != 0;
		return;
	default:
		limits(v.op->dtype, &lo, &hi);
		if (v.op->scale != 0 && isnan(value))
			value = 0;
		if (v.op->scale != 0)
			oracle_store_int(v, at,
					 saturate((double)rintf(value / v.op->scale) +
							  v.op->zero_point,
						  lo, hi));
		else
			oracle_store_int(v, at, saturate(truncf(value), lo, hi));
	}
}

void oracle_store_int(struct oracle_view v, unsigned char *at, npu_s64 value)
{
	npu_u32 u32 = (npu_u32)value;

	switch (v.op->dtype) {
	case NPU_I8:
	case NPU_U8:
		*at = (unsigned char)value;
		return;
	case NPU_BOOL:
		*at = value != 0;
		return;
	case NPU_I32:
		memcpy(at, &u32, sizeof(u32));
		return;
	case NPU_I64:
		memcpy(at, &value, sizeof(value));
		return;
	default:
		oracle_store_real(v, at, (float)value);
	}
}

bool oracle_same_code(struct oracle_view a, struct oracle_view b)
{
	return a.op->dtype == b.op->dtype && a.op->scale == b.op->scale &&
	       a.op->zero_point == b.op->zero_point;
}

void oracle_move(struct oracle_view out, unsigned char *to, struct oracle_view in,
		 const unsigned char *from)
{
	if (oracle_same_code(out, in))
		memcpy(to, from, npu_dtype_bits(in.op->dtype) / 8);
	else if (oracle_is_real(in) || oracle_is_real(out))
		oracle_store_real(out, to, oracle_load_real(in, from));
	else
		oracle_store_int(out, to, oracle_load_int(in, from));
}

float oracle_param_f32(const struct npu_insn *insn, unsigned int param)
{
	float f;

	memcpy(&f, &insn->param[param], sizeof(f));
	return f;
}

float oracle_max(float a, float b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == b)
		return signbit(a) ? b : a;
	return a > b ? a : b;
}

float oracle_min(float a, float b)
{
	return -oracle_max(-a, -b);
}

float oracle_sum16(const float *x, npu_u64 n)
{
	float lane[16] = { 0 };

	for (npu_u64 i = 0; i < n; i++)
		lane[i % 16] += x[i];
	for (unsigned int step = 8; step; step /= 2)
		for (unsigned int l = 0; l < step; l++)
			lane[l] += lane[l + step];
	return lane[0];
}

static unsigned char *weight_at(struct oracle_view w, npu_u32 o, npu_u64 k, npu_u32 outputs,
				npu_u64 k_size)
{
	npu_u64 size = npu_dtype_bits(w.op->dtype) / 8;
	npu_u64 group = o / outputs, in_group = o % outputs;
	npu_u64 panel = group * ((outputs + 15) / 16) + in_group / 16;
	npu_u64 quads = (k_size + 3) / 4;

	if (w.op->layout == NPU_LAYOUT_PANEL16)
		return w.base + ((panel * k_size + k) * 16 + in_group % 16) * size;
	return w.base + ((panel * quads + k / 4) * 64 + in_group % 16 * 4 + k % 4) * size;
}

float oracle_weight_real(struct oracle_view w, npu_u32 o, npu_u64 k, npu_u32 outputs,
			 npu_u64 k_size)
{
	return oracle_load_real(w, weight_at(w, o, k, outputs, k_size));
}

npu_s64 oracle_weight_int(struct oracle_view w, npu_u32 o, npu_u64 k, npu_u32 outputs,
			  npu_u64 k_size)
{
	return oracle_load_int(w, weight_at(w, o, k, outputs, k_size));
}
