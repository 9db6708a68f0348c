/* SPDX-License-Identifier: MIT */
/* What AVX-512 and AVX-512 VNNI have in common: the 16 outputs of a panel are a vector. */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>
#include "grouped.h"

typedef __m512i vi;
typedef __m512 vf;

#define NV	1

#define vi_set1(v)	_mm512_set1_epi32(v)
#define vi_u8(p)	_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p)))
#define vi_i8(p)	_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(p)))
#define vf_zero()	_mm512_setzero_ps()
#define vf_set1(v)	_mm512_set1_ps(v)
#define vf_load(p)	_mm512_loadu_ps(p)
#define vf_store(p, v)	_mm512_storeu_ps(p, v)
#define vf_mul(a, b)	_mm512_mul_ps(a, b)
#define vf_fma(a, b, c)	_mm512_fmadd_ps(a, b, c)
#define vf_of(v)	_mm512_cvtepi32_ps(v)

static inline vi vi_bcast(const npu_u8 *p)
{
	npu_s32 v;

	memcpy(&v, p, sizeof(v));
	return _mm512_set1_epi32(v);
}

static inline __attribute__((always_inline)) void codes_load(vi w[NV], const npu_u8 *p,
							     enum npu_gq_kind kind, bool packed,
							     const npu_u8 *book)
{
	const vi shift = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(4), 1);
	const vi turn = _mm512_setr_epi32(4, 4, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0, 30, 30, 30, 30);
	__mmask64 fifth;
	vi v;

	if (!packed || kind == GQ_U8) {
		w[0] = _mm512_loadu_si512(p);
		return;
	}
	v = _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)p));
	w[0] = _mm512_and_si512(_mm512_srlv_epi16(v, shift), _mm512_set1_epi8(15));
	if (kind == GQ_BOOK) {
		v = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)book));
		w[0] = _mm512_shuffle_epi8(v, w[0]);
	} else if (kind == GQ_U5) {
		memcpy(&fifth, p + 32, sizeof(fifth));
		w[0] = _mm512_mask_add_epi8(w[0], fifth, w[0], _mm512_set1_epi8(16));
	} else if (kind == GQ_U6) {
		v = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(p + 32)));
		/* w | (turned & 48) */
		w[0] = _mm512_ternarylogic_epi32(w[0], _mm512_rolv_epi32(v, turn),
						 _mm512_set1_epi8(48), 0xf8);
	}
}
