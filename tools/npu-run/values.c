// SPDX-License-Identifier: MIT
/* Numbers and their texts. */
#include <stdio.h>
#include <string.h>
#include "npu_isa_desc.h"
#include "run.h"

size_t dtype_size(unsigned int dtype)
{
	return npu_dtype_bits(dtype) / 8;
}

const char *dtype_name(unsigned int dtype)
{
	return npu_dtype_name(dtype);
}

const char *dims_text(unsigned int rank, const int64_t *dims, char buf[128])
{
	size_t n = 0;
	unsigned int i;

	strcpy(buf, "scalar");
	for (i = 0; i < rank && n < 128; i++)
		n += snprintf(buf + n, 128 - n, "%s%lld", i ? "x" : "", (long long)dims[i]);
	return buf;
}

const char *bytes_text(uint64_t bytes, char buf[32])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double v = bytes;
	int u = 0;

	for (; v >= 1024 && u < 4; u++)
		v /= 1024;
	snprintf(buf, 32, u ? "%.1f %s" : "%.0f %s", v, units[u]);
	return buf;
}

float half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, mant = h & 0x3ff, exp = h >> 10 & 31, u;
	float f;

	if (exp == 0) {
		f = mant / 16777216.0f;
		return sign ? -f : f;
	}
	u = sign | (exp == 31 ? 0x7f800000 : (exp + 112) << 23) | mant << 13;
	memcpy(&f, &u, 4);
	return f;
}

/* Round to nearest even. */
uint16_t half_from_float(float f)
{
	uint32_t u, sign, mant, half;
	int exp, shift;

	memcpy(&u, &f, 4);
	sign = u >> 16 & 0x8000;
	exp = (int)(u >> 23 & 255) - 112;
	mant = u & 0x7fffff;
	if (exp >= 31)
		return sign | 0x7c00 | (exp == 143 && mant ? 0x200 : 0);
	if (exp < -10)
		return sign;
	shift = 13;
	if (exp <= 0) {
		mant |= 0x800000;
		shift = 14 - exp;
		exp = 0;
	}
	half = (uint32_t)exp << 10 | mant >> shift;
	mant &= (1u << shift) - 1;
	if (mant > 1u << (shift - 1) || (mant == 1u << (shift - 1) && half & 1))
		half++;
	return sign | half;
}

double element(unsigned int dtype, const void *data, size_t index)
{
	const char *p = (const char *)data + index * dtype_size(dtype);
	union { float f; uint16_t h; uint32_t u; int32_t i; int64_t l; int8_t b; uint8_t c; } v;

	memcpy(&v, p, dtype_size(dtype));
	switch (dtype) {
	case NPU_F32: return v.f;
	case NPU_F16: return half_to_float(v.h);
	case NPU_BF16:
		v.u = (uint32_t)v.h << 16;
		return v.f;
	case NPU_I8: return v.b;
	case NPU_I32: return v.i;
	case NPU_I64: return v.l;
	default: return v.c;
	}
}
