/* SPDX-License-Identifier: MIT */
/* A vector of f32 in AVX-512; the same words as in vf_avx2.h and vf_portable.h. */
#ifndef NPU_VF_AVX512_H
#define NPU_VF_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#define VL 16
typedef __m512 vf;

static inline __m512 bf16_widen(__m256i h)
{
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

#define vf_zero()	_mm512_setzero_ps()
#define vf_load(p)	_mm512_loadu_ps(p)
#define vf_store(p, v)	_mm512_storeu_ps(p, v)
#define vf_fma(a, b, c)	_mm512_fmadd_ps(a, b, c)
#define vf_add(a, b)	_mm512_add_ps(a, b)
#define vf_mul(a, b)	_mm512_mul_ps(a, b)
#define vf_bcast(p)	_mm512_set1_ps(*(p))
#define vf_set1(f)	_mm512_set1_ps(f)
#define vf_f16(p)	_mm512_cvtph_ps(_mm256_loadu_si256((const void *)(p)))
#define vf_bf16(p)	bf16_widen(_mm256_loadu_si256((const void *)(p)))
/* a > b ? a : b and a < b ? a : b: b when they are equal or one is NaN */
#define vf_max(a, b)	_mm512_max_ps(a, b)
#define vf_min(a, b)	_mm512_min_ps(a, b)
/* v < 0 ? n : v */
#define vf_if_neg(v, n) \
	_mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ), n)

static inline vf vf_canon(vf v)
{
	return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q),
				  _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
}

/* Integers in the same lanes, and codes: 8-bit integers in memory, @n of them, minus @zero. */
typedef __m512i vn;
#define vn_zero()	_mm512_setzero_si512()
#define vn_load(p)	_mm512_loadu_si512(p)
#define vf_div(a, b)	_mm512_div_ps(a, b)
#define vf_nan_to_0(v)	_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v)

/* The sums in @acc plus @bias, which wraps. */
static inline vf vf_from_sum(const float *acc, vn bias)
{
	return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_loadu_si512(acc), bias));
}

static inline vf vf_codes(const unsigned char *p, int is_signed, int zero, unsigned int n)
{
	__m128i c = n == VL ? _mm_loadu_si128((const void *)p) :
			      _mm_maskz_loadu_epi8((__mmask16)((1u << n) - 1), p);
	__m512i i = is_signed ? _mm512_cvtepi8_epi32(c) : _mm512_cvtepu8_epi32(c);

	return _mm512_cvtepi32_ps(_mm512_sub_epi32(i, _mm512_set1_epi32(zero)));
}

/* @v is between the lowest and the highest code minus @zero. */
static inline void vf_store_codes(unsigned char *p, vf v, int zero, unsigned int n)
{
	__m128i c = _mm512_cvtepi32_epi8(
		_mm512_add_epi32(_mm512_cvtps_epi32(v), _mm512_set1_epi32(zero)));

	if (n == VL)
		_mm_storeu_si128((void *)p, c);
	else
		_mm_mask_storeu_epi8(p, (__mmask16)((1u << n) - 1), c);
}

/* The first @n lanes only, n <= VL. */
static inline vf vf_load_part(const float *p, unsigned int n)
{
	return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

static inline void vf_store_part(float *p, vf v, unsigned int n)
{
	_mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), v);
}

static inline void vf_store_f16(uint16_t *p, vf v)
{
	_mm256_storeu_si256((void *)p,
			    _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline vf vf_f16_part(const uint16_t *p, unsigned int n)
{
	return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16((__mmask16)((1u << n) - 1), p));
}

static inline void vf_store_f16_part(uint16_t *p, vf v, unsigned int n)
{
	_mm256_mask_storeu_epi16(p, (__mmask16)((1u << n) - 1),
				 _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

#endif
