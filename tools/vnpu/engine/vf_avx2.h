/* SPDX-License-Identifier: MIT */
/* A vector of f32 in AVX2 with FMA and F16C; the same words as in vf_avx512.h and vf_portable.h. */
#ifndef NPU_VF_AVX2_H
#define NPU_VF_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VL 8
typedef __m256 vf;

static inline __m256 bf16_widen(__m128i h)
{
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

#define vf_zero()	_mm256_setzero_ps()
#define vf_load(p)	_mm256_loadu_ps(p)
#define vf_store(p, v)	_mm256_storeu_ps(p, v)
#define vf_fma(a, b, c)	_mm256_fmadd_ps(a, b, c)
#define vf_add(a, b)	_mm256_add_ps(a, b)
#define vf_mul(a, b)	_mm256_mul_ps(a, b)
#define vf_bcast(p)	_mm256_broadcast_ss(p)
#define vf_set1(f)	_mm256_set1_ps(f)
#define vf_f16(p)	_mm256_cvtph_ps(_mm_loadu_si128((const void *)(p)))
#define vf_bf16(p)	bf16_widen(_mm_loadu_si128((const void *)(p)))
#define vf_max(a, b)	_mm256_max_ps(a, b)
#define vf_min(a, b)	_mm256_min_ps(a, b)
#define vf_if_neg(v, n)	_mm256_blendv_ps(v, n, _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ))

static inline vf vf_canon(vf v)
{
	return _mm256_blendv_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)),
				_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}

/* Integers in the same lanes, and codes: 8-bit integers in memory, @n of them, minus @zero. */
typedef __m256i vn;
#define vn_zero()	_mm256_setzero_si256()
#define vn_load(p)	_mm256_loadu_si256((const void *)(p))
#define vf_div(a, b)	_mm256_div_ps(a, b)
#define vf_nan_to_0(v)	_mm256_and_ps(v, _mm256_cmp_ps(v, v, _CMP_ORD_Q))

/* The sums in @acc plus @bias, which wraps. */
static inline vf vf_from_sum(const float *acc, vn bias)
{
	return _mm256_cvtepi32_ps(_mm256_add_epi32(vn_load(acc), bias));
}

static inline vf vf_codes(const unsigned char *p, int is_signed, int zero, unsigned int n)
{
	unsigned char part[8] = { 0 };
	__m128i c;
	__m256i i;

	if (n < VL)
		p = memcpy(part, p, n);
	c = _mm_loadl_epi64((const void *)p);
	i = is_signed ? _mm256_cvtepi8_epi32(c) : _mm256_cvtepu8_epi32(c);
	return _mm256_cvtepi32_ps(_mm256_sub_epi32(i, _mm256_set1_epi32(zero)));
}

/* @v is between the lowest and the highest code minus @zero. */
static inline void vf_store_codes(unsigned char *p, vf v, int zero, unsigned int n)
{
	/* the lowest byte of each lane, by four lanes */
	const __m256i low = _mm256_set1_epi64x(0x0c080400);
	__m256i i = _mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(zero));
	unsigned char part[8];
	__m128i c;

	i = _mm256_shuffle_epi8(i, low);
	c = _mm_unpacklo_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
	if (n == VL) {
		_mm_storel_epi64((void *)p, c);
		return;
	}
	_mm_storel_epi64((void *)part, c);
	memcpy(p, part, n);
}

/*
 * Four rows of codes, @step bytes apart: @hi is the highest code minus @zero, and packing cuts off
 * below the lowest one.
 */
#define VF_CODES4 1
static inline void vf_store_codes4(unsigned char *p, ptrdiff_t step, const vf *v, vf hi, int zero,
				   int is_signed)
{
	const __m256i zeros = _mm256_set1_epi16((short)zero);
	__m256i a = _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_min_ps(v[0], hi)),
				       _mm256_cvtps_epi32(_mm256_min_ps(v[1], hi)));
	__m256i b = _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_min_ps(v[2], hi)),
				       _mm256_cvtps_epi32(_mm256_min_ps(v[3], hi)));
	__m128i c, d;

	a = _mm256_adds_epi16(a, zeros);
	b = _mm256_adds_epi16(b, zeros);
	a = is_signed ? _mm256_packs_epi16(a, b) : _mm256_packus_epi16(a, b);
	a = _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
	c = _mm256_castsi256_si128(a);
	d = _mm256_extracti128_si256(a, 1);
	_mm_storel_epi64((void *)p, c);
	_mm_storel_epi64((void *)(p + step), _mm_unpackhi_epi64(c, c));
	_mm_storel_epi64((void *)(p + 2 * step), d);
	_mm_storel_epi64((void *)(p + 3 * step), _mm_unpackhi_epi64(d, d));
}

static inline __m256i vf_part_mask(unsigned int n)
{
	static const int32_t mask[16] = { -1, -1, -1, -1, -1, -1, -1, -1 };

	return _mm256_loadu_si256((const void *)(mask + 8 - n));
}

static inline vf vf_load_part(const float *p, unsigned int n)
{
	return _mm256_maskload_ps(p, vf_part_mask(n));
}

static inline void vf_store_part(float *p, vf v, unsigned int n)
{
	_mm256_maskstore_ps(p, vf_part_mask(n), v);
}

static inline void vf_store_f16(uint16_t *p, vf v)
{
	_mm_storeu_si128((void *)p,
			 _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline vf vf_f16_part(const uint16_t *p, unsigned int n)
{
	uint16_t h[8] = { 0 };

	memcpy(h, p, n * sizeof(*h));
	return vf_f16(h);
}

static inline void vf_store_f16_part(uint16_t *p, vf v, unsigned int n)
{
	uint16_t h[8];

	vf_store_f16(h, v);
	memcpy(p, h, n * sizeof(*h));
}

#endif
