// SPDX-License-Identifier: MIT
/* Numbers and their texts. */
#include <stdio.h>
#include <string.h>
#include "npu_half.h"
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

	snprintf(buf, 128, "scalar");
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

double element(unsigned int dtype, const void *data, size_t index)
{
	const char *p = (const char *)data + index * dtype_size(dtype);
	union { float f; uint16_t h; int32_t i; int64_t l; int8_t b; uint8_t c; } v;

	memcpy(&v, p, dtype_size(dtype));
	switch (dtype) {
	case NPU_F32: return v.f;
	case NPU_F16: return npu_half_widen(v.h);
	case NPU_BF16:
		return npu_bfloat_widen(v.h);
	case NPU_I8: return v.b;
	case NPU_I32: return v.i;
	case NPU_I64: return v.l;
	default: return v.c;
	}
}
