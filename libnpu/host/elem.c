// SPDX-License-Identifier: MIT
/* Elements of any type, one at a time. */
#include <math.h>
#include <string.h>
#include "host/host.h"
#include "npu_half.h"

/* TYPE(element type, C type): integers, which convert by value. */
#define INTEGERS(TYPE)			\
	TYPE(NPU_I8, int8_t)		\
	TYPE(NPU_U8, uint8_t)		\
	TYPE(NPU_I32, int32_t)		\
	TYPE(NPU_I64, int64_t)		\
	TYPE(NPU_BOOL, uint8_t)		\
	TYPE(NPU_HOST_I16, int16_t)	\
	TYPE(NPU_HOST_U16, uint16_t)	\
	TYPE(NPU_HOST_U32, uint32_t)	\
	TYPE(NPU_HOST_U64, uint64_t)

double npu_host_get(const struct npu_host_tensor *t, int64_t i)
{
	switch (t->dtype) {
#define TYPE(dtype, ctype) case dtype: return (double)((const ctype *)t->data)[i];
	INTEGERS(TYPE)
#undef TYPE
	case NPU_F32:
		return ((const float *)t->data)[i];
	case NPU_HOST_F64:
		return ((const double *)t->data)[i];
	case NPU_F16:
		return npu_half_widen(((const uint16_t *)t->data)[i]);
	case NPU_BF16:
		return npu_bfloat_widen(((const uint16_t *)t->data)[i]);
	default:
		return 0;
	}
}

static int64_t to_int(double v)
{
	return isnan(v)			     ? 0
	       : v >= 9223372036854775808.0  ? INT64_MAX
	       : v <= -9223372036854775808.0 ? INT64_MIN
					     : (int64_t)v;
}

int64_t npu_host_get_int(const struct npu_host_tensor *t, int64_t i)
{
	switch (t->dtype) {
#define TYPE(dtype, ctype) case dtype: return (int64_t)((const ctype *)t->data)[i];
	INTEGERS(TYPE)
#undef TYPE
	default:
		return to_int(npu_host_get(t, i));
	}
}

void npu_host_set_int(struct npu_host_tensor *t, int64_t i, int64_t v)
{
	switch (t->dtype) {
#define TYPE(dtype, ctype) case dtype: ((ctype *)t->data)[i] = (ctype)v; break;
	INTEGERS(TYPE)
#undef TYPE
	default:
		npu_host_set(t, i, (double)v);
	}
}

static double clamp(double v, double lo, double hi)
{
	return isnan(v) ? 0 : v < lo ? lo : v > hi ? hi : v;
}

void npu_host_set(struct npu_host_tensor *t, int64_t i, double v)
{
	switch (t->dtype) {
	case NPU_F32:
		((float *)t->data)[i] = (float)v;
		break;
	case NPU_HOST_F64:
		((double *)t->data)[i] = v;
		break;
	case NPU_F16:
		((uint16_t *)t->data)[i] = npu_half_narrow((float)v);
		break;
	case NPU_BF16:
		((uint16_t *)t->data)[i] = npu_bfloat_narrow((float)v);
		break;
	case NPU_BOOL:
		((uint8_t *)t->data)[i] = v != 0;
		break;
	case NPU_I8:
		((int8_t *)t->data)[i] = (int8_t)clamp(v, -128, 127);
		break;
	case NPU_U8:
		((uint8_t *)t->data)[i] = (uint8_t)clamp(v, 0, 255);
		break;
	case NPU_HOST_I16:
		((int16_t *)t->data)[i] = (int16_t)clamp(v, -32768, 32767);
		break;
	case NPU_HOST_U16:
		((uint16_t *)t->data)[i] = (uint16_t)clamp(v, 0, 65535);
		break;
	case NPU_I32:
		((int32_t *)t->data)[i] = (int32_t)clamp(v, INT32_MIN, INT32_MAX);
		break;
	case NPU_HOST_U32:
		((uint32_t *)t->data)[i] = (uint32_t)clamp(v, 0, UINT32_MAX);
		break;
	case NPU_I64:
		((int64_t *)t->data)[i] = to_int(v);
		break;
	case NPU_HOST_U64:
		((uint64_t *)t->data)[i] = isnan(v) || v <= 0 ? 0 :
					   v >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)v;
		break;
	default:
		break;
	}
}
