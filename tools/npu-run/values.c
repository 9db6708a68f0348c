// SPDX-License-Identifier: MIT
/* Numbers and their texts. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "npu_half.h"
#include "npu_host.h"
#include "run.h"

size_t dtype_size(unsigned int dtype)
{
	return npu_host_dtype_size(dtype);
}

const char *dtype_name(unsigned int dtype)
{
	return npu_host_dtype_name(dtype);
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

const char *engine_text(const struct npu_device_info *dev, char buf[64])
{
	int n = 0;

	*buf = 0;
	if (dev->threads)
		n = snprintf(buf, 64, ", %u threads", dev->threads);
	if (*dev->simd)
		snprintf(buf + n, 64 - (size_t)n, ", %s", dev->simd);
	return buf;
}

double element(unsigned int dtype, const void *data, size_t index)
{
	const char *p = (const char *)data + index * dtype_size(dtype);
	union {
		float f;
		double d;
		uint16_t h;
		int16_t s;
		int32_t i;
		uint32_t u;
		int64_t l;
		uint64_t w;
		int8_t b;
		uint8_t c;
	} v;

	memcpy(&v, p, dtype_size(dtype));
	switch (dtype) {
	case NPU_F32: return v.f;
	case NPU_F16: return npu_half_widen(v.h);
	case NPU_BF16:
		return npu_bfloat_widen(v.h);
	case NPU_I8: return v.b;
	case NPU_I32: return v.i;
	case NPU_I64: return v.l;
	case NPU_HOST_F64: return v.d;
	case NPU_HOST_I16: return v.s;
	case NPU_HOST_U16: return v.h;
	case NPU_HOST_U32: return v.u;
	case NPU_HOST_U64: return v.w;
	default: return v.c;
	}
}

void element_store(unsigned int dtype, void *data, size_t index, float value)
{
	if (dtype == NPU_F32) {
		((float *)data)[index] = value;
	} else if (dtype == NPU_F16) {
		((uint16_t *)data)[index] = npu_half_narrow(value);
	} else {
		value = roundf(value);
		((uint8_t *)data)[index] = value < 0 ? 0 : value > 255 ? 255 : value;
	}
}
