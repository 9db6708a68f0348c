/* SPDX-License-Identifier: MIT */
/* A vector of f32 in plain C; the same words as in vf_avx2.h and vf_avx512.h. */
#ifndef NPU_VF_PORTABLE_H
#define NPU_VF_PORTABLE_H

#include "npu_math.h"

#define VL 8
typedef struct {
	float f[VL];
} vf;

#define VF_EACH(i)	for (unsigned int i = 0; i < VL; i++)
#define VF_FN		static inline __attribute__((unused))

VF_FN vf vf_set1(float f)
{
	vf v;

	VF_EACH(i)
		v.f[i] = f;
	return v;
}

VF_FN vf vf_zero(void)
{
	return vf_set1(0.0f);
}

VF_FN vf vf_load_part(const float *p, unsigned int n)
{
	vf v = vf_zero();

	memcpy(&v, p, n * sizeof(*p));
	return v;
}

VF_FN void vf_store_part(float *p, vf v, unsigned int n)
{
	memcpy(p, &v, n * sizeof(*p));
}

VF_FN vf vf_load(const float *p)
{
	return vf_load_part(p, VL);
}

VF_FN void vf_store(float *p, vf v)
{
	vf_store_part(p, v, VL);
}

VF_FN vf vf_fma(vf a, vf b, vf c)
{
	VF_EACH(i)
		c.f[i] = npu_fma_f32(a.f[i], b.f[i], c.f[i]);
	return c;
}

VF_FN vf vf_add(vf a, vf b)
{
	VF_EACH(i)
		a.f[i] += b.f[i];
	return a;
}

VF_FN vf vf_mul(vf a, vf b)
{
	VF_EACH(i)
		a.f[i] *= b.f[i];
	return a;
}

VF_FN vf vf_max(vf a, vf b)
{
	VF_EACH(i)
		a.f[i] = a.f[i] > b.f[i] ? a.f[i] : b.f[i];
	return a;
}

VF_FN vf vf_min(vf a, vf b)
{
	VF_EACH(i)
		a.f[i] = a.f[i] < b.f[i] ? a.f[i] : b.f[i];
	return a;
}

/* Integers in the same lanes, and codes: 8-bit integers in memory, @n of them, minus @zero. */
typedef struct {
	int32_t i[VL];
} vn;

VF_FN vn vn_zero(void)
{
	return (vn){ { 0 } };
}

VF_FN vn vn_load(const int32_t *p)
{
	vn v;

	memcpy(&v, p, sizeof(v));
	return v;
}

VF_FN vf vf_div(vf a, vf b)
{
	VF_EACH(i)
		a.f[i] /= b.f[i];
	return a;
}

VF_FN vf vf_nan_to_0(vf v)
{
	VF_EACH(i)
		v.f[i] = v.f[i] == v.f[i] ? v.f[i] : 0.0f;
	return v;
}

/* The sums in @acc plus @bias, which wraps. */
VF_FN vf vf_from_sum(const float *acc, vn bias)
{
	uint32_t sum[VL];
	vf v;

	memcpy(sum, acc, sizeof(sum));
	VF_EACH(i)
		v.f[i] = (float)(int32_t)(sum[i] + (uint32_t)bias.i[i]);
	return v;
}

VF_FN vf vf_codes(const unsigned char *p, int is_signed, int zero, unsigned int n)
{
	unsigned char c[VL] = { 0 };
	vf v;

	memcpy(c, p, n);
	VF_EACH(i)
		v.f[i] = (float)((is_signed ? (int32_t)(signed char)c[i] : (int32_t)c[i]) - zero);
	return v;
}

/* @v is between the lowest and the highest code minus @zero. */
VF_FN void vf_store_codes(unsigned char *p, vf v, int zero, unsigned int n)
{
	unsigned char c[VL];

	VF_EACH(i)
		c[i] = (unsigned char)((int32_t)__builtin_rintf(v.f[i]) + zero);
	memcpy(p, c, n);
}

VF_FN vf vf_if_neg(vf v, vf n)
{
	VF_EACH(i)
		v.f[i] = v.f[i] < 0.0f ? n.f[i] : v.f[i];
	return v;
}

VF_FN vf vf_canon(vf v)
{
	VF_EACH(i)
		v.f[i] = npu_canon_f32(v.f[i]);
	return v;
}

VF_FN vf vf_bcast(const float *p)
{
	float f;

	memcpy(&f, p, sizeof(f));
	return vf_set1(f);
}

VF_FN vf vf_f16_part(const uint16_t *p, unsigned int n)
{
	uint16_t h[VL] = { 0 };
	vf v;

	memcpy(h, p, n * sizeof(*h));
	VF_EACH(i)
		v.f[i] = npu_f16_to_f32(h[i]);
	return v;
}

VF_FN vf vf_f16(const uint16_t *p)
{
	return vf_f16_part(p, VL);
}

VF_FN void vf_store_f16_part(uint16_t *p, vf v, unsigned int n)
{
	uint16_t h[VL];

	VF_EACH(i)
		h[i] = npu_f32_to_f16(v.f[i]);
	memcpy(p, h, n * sizeof(*h));
}

VF_FN void vf_store_f16(uint16_t *p, vf v)
{
	vf_store_f16_part(p, v, VL);
}

VF_FN vf vf_bf16(const uint16_t *p)
{
	uint16_t h[VL];
	vf v;

	memcpy(h, p, sizeof(h));
	VF_EACH(i)
		v.f[i] = npu_bf16_to_f32(h[i]);
	return v;
}

#endif
