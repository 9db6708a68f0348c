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
