/* SPDX-License-Identifier: MIT */
/* What AVX2 and AVX-VNNI have in common: 8 outputs in a vector, two of them in a panel. */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>
#include "grouped.h"

typedef __m256i vi;
typedef __m256 vf;

#define NV	2
#define MANY_ROWS(X, kind)	X(kind, 1) X(kind, 2) X(kind, 3) X(kind, 4)

#define vi_set1(v)	_mm256_set1_epi32(v)
#define vi_u8(p)	_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(p)))
#define vi_i8(p)	_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(p)))
#define vf_zero()	_mm256_setzero_ps()
#define vf_set1(v)	_mm256_set1_ps(v)
#define vf_load(p)	_mm256_loadu_ps(p)
#define vf_store(p, v)	_mm256_storeu_ps(p, v)
#define vf_mul(a, b)	_mm256_mul_ps(a, b)
#define vf_fma(a, b, c)	_mm256_fmadd_ps(a, b, c)
#define vf_of(v)	_mm256_cvtepi32_ps(v)

static inline vi vi_bcast(const npu_u8 *p)
{
	npu_s32 v;

	memcpy(&v, p, sizeof(v));
	return _mm256_set1_epi32(v);
}

/* The fifth bits of 32 codes, in place: 0 or 16. */
static inline __attribute__((always_inline)) vi fifth_bits(const npu_u8 *p)
{
	const vi byte =
		_mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
	const vi bit = _mm256_set1_epi64x((long long)0x8040201008040201);
	vi v = _mm256_shuffle_epi8(vi_bcast(p), byte);

	v = _mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit);
	return _mm256_and_si256(v, _mm256_set1_epi8(16));
}

static inline __attribute__((always_inline)) void codes_load(vi w[NV], const npu_u8 *p,
							     enum npu_gq_kind kind, bool packed,
							     const npu_u8 *book)
{
	const vi low = _mm256_set1_epi8(15), upper = _mm256_set1_epi8(48);
	vi v = _mm256_loadu_si256((const void *)p);

	if (!packed || kind == GQ_U8) {
		w[0] = v;
		w[1] = _mm256_loadu_si256((const void *)(p + 32));
		return;
	}
	w[0] = _mm256_and_si256(v, low);
	w[1] = _mm256_and_si256(_mm256_srli_epi16(v, 4), low);
	if (kind == GQ_BOOK) {
		v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)book));
		w[0] = _mm256_shuffle_epi8(v, w[0]);
		w[1] = _mm256_shuffle_epi8(v, w[1]);
	} else if (kind == GQ_U5) {
		w[0] = _mm256_or_si256(w[0], fifth_bits(p + 32));
		w[1] = _mm256_or_si256(w[1], fifth_bits(p + 36));
	} else if (kind == GQ_U6) {
		v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(p + 32)));
		w[0] = _mm256_or_si256(w[0], _mm256_and_si256(upper,
				_mm256_sllv_epi32(v, _mm256_setr_epi32(4, 4, 4, 4, 2, 2, 2, 2))));
		w[1] = _mm256_or_si256(w[1], _mm256_and_si256(upper,
				_mm256_srlv_epi32(v, _mm256_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2))));
	}
}
