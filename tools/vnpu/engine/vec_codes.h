/* SPDX-License-Identifier: MIT */
/*
 * Dense lines of 8-bit codes to f32 and back, for the kernels of one instruction set each.
 *
 * q() divides. A quotient is many times as slow as a product, so the product with the reciprocal is
 * taken first: three roundings make less than 2^-13 up to CODES_CLAMP, and only when some
 * lane is that near to half way between two codes the quotients are needed. With scale 1 there is
 * nothing to divide.
 */
#ifndef NPU_VEC_CODES_H
#define NPU_VEC_CODES_H

#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#include "vec.h"

#define CODES_CLAMP	512.0f			/* beyond this every code is an end of the range */
#define CODES_NEAR	(0.5f - 0x1p-13f)	/* from a whole number; further is near half way */

#if defined(__AVX2__)
enum codes_way { CODES_PLAIN, CODES_ONE, CODES_PRODUCT, CODES_QUOTIENT };

static inline enum codes_way codes_way_of(float scale)
{
	if (scale == 0.0f)
		return CODES_PLAIN;
	if (scale == 1.0f)
		return CODES_ONE;
	return scale > 0x1p-100f && scale < 0x1p100f ? CODES_PRODUCT : CODES_QUOTIENT;
}
#endif

#if defined(__AVX512F__)
#define CODES_LANES	16
typedef __m512 codes_f;
typedef __m512i codes_i;

#define codes_set1(f)		_mm512_set1_ps(f)
#define codes_set1_i(i)		_mm512_set1_epi32(i)
#define codes_load(p)		_mm512_loadu_ps(p)
#define codes_store(p, v)	_mm512_storeu_ps(p, v)
#define codes_mul(a, b)		_mm512_mul_ps(a, b)
#define codes_div(a, b)		_mm512_div_ps(a, b)
#define codes_add_i(a, b)	_mm512_add_epi32(a, b)
#define codes_sub_i(a, b)	_mm512_sub_epi32(a, b)
#define codes_max(a, b)		_mm512_max_ps(a, b)
#define codes_min(a, b)		_mm512_min_ps(a, b)
#define codes_add(a, b)		_mm512_add_ps(a, b)
#define codes_sub(a, b)		_mm512_sub_ps(a, b)
#define codes_float(i)		_mm512_cvtepi32_ps(i)
#define codes_round(v) \
	_mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define codes_trunc(v)		_mm512_cvttps_epi32(v)
#define codes_u8(p)		_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(p)))
#define codes_i8(p)		_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(p)))

/* Within [lo, hi], NaN is 0. */
static inline __m512 codes_clamp(__m512 v, __m512 lo, __m512 hi)
{
	return _mm512_min_ps(hi, _mm512_maskz_max_ps(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v, lo));
}

/* How far from a whole number. */
static inline __m512 codes_off(__m512 v)
{
	return _mm512_abs_ps(_mm512_reduce_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline bool codes_doubtful(__m512 off)
{
	return _mm512_cmp_ps_mask(off, _mm512_set1_ps(CODES_NEAR), _CMP_GT_OQ) != 0;
}

static inline void codes_put_u8(char *p, __m512i r)
{
	r = _mm512_max_epi32(r, _mm512_setzero_si512());
	_mm_storeu_si128((__m128i *)p, _mm512_cvtusepi32_epi8(r));
}

static inline void codes_put_i8(char *p, __m512i r)
{
	_mm_storeu_si128((__m128i *)p, _mm512_cvtsepi32_epi8(r));
}

/* Four vectors at once: packing works within 128 bits, so dwords are put into order behind it. */
static inline void codes_put4(char *p, const __m512i *r, bool is_signed)
{
	const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11,
						15);
	__m512i a = _mm512_packs_epi32(r[0], r[1]), b = _mm512_packs_epi32(r[2], r[3]);

	a = is_signed ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
	_mm512_storeu_si512(p, _mm512_permutexvar_epi32(order, a));
}
#elif defined(__AVX2__)
#define CODES_LANES	8
typedef __m256 codes_f;
typedef __m256i codes_i;

#define codes_set1(f)		_mm256_set1_ps(f)
#define codes_set1_i(i)		_mm256_set1_epi32(i)
#define codes_load(p)		_mm256_loadu_ps(p)
#define codes_store(p, v)	_mm256_storeu_ps(p, v)
#define codes_mul(a, b)		_mm256_mul_ps(a, b)
#define codes_div(a, b)		_mm256_div_ps(a, b)
#define codes_add_i(a, b)	_mm256_add_epi32(a, b)
#define codes_sub_i(a, b)	_mm256_sub_epi32(a, b)
#define codes_max(a, b)		_mm256_max_ps(a, b)
#define codes_min(a, b)		_mm256_min_ps(a, b)
#define codes_add(a, b)		_mm256_add_ps(a, b)
#define codes_sub(a, b)		_mm256_sub_ps(a, b)
#define codes_float(i)		_mm256_cvtepi32_ps(i)
#define codes_round(v)		_mm256_cvtps_epi32(v)	/* to nearest: fpenv.h */
#define codes_trunc(v)		_mm256_cvttps_epi32(v)
#define codes_u8(p)		_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p)))
#define codes_i8(p)		_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(p)))

static inline __m256 codes_clamp(__m256 v, __m256 lo, __m256 hi)
{
	v = _mm256_and_ps(v, _mm256_cmp_ps(v, v, _CMP_ORD_Q));
	return _mm256_min_ps(hi, _mm256_max_ps(lo, v));
}

static inline __m256 codes_off(__m256 v)
{
	__m256 r = _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

	return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(v, r));
}

static inline bool codes_doubtful(__m256 off)
{
	return _mm256_movemask_ps(_mm256_cmp_ps(off, _mm256_set1_ps(CODES_NEAR), _CMP_GT_OQ)) != 0;
}

static inline __m128i codes_words(__m256i r)
{
	return _mm_packs_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
}

static inline void codes_put_u8(char *p, __m256i r)
{
	__m128i w = codes_words(r);

	_mm_storel_epi64((__m128i *)p, _mm_packus_epi16(w, w));
}

static inline void codes_put_i8(char *p, __m256i r)
{
	__m128i w = codes_words(r);

	_mm_storel_epi64((__m128i *)p, _mm_packs_epi16(w, w));
}

static inline void codes_put4(char *p, const __m256i *r, bool is_signed)
{
	__m256i a = _mm256_packs_epi32(r[0], r[1]), b = _mm256_packs_epi32(r[2], r[3]);

	a = is_signed ? _mm256_packs_epi16(a, b) : _mm256_packus_epi16(a, b);
	a = _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
	_mm256_storeu_si256((__m256i *)p, a);
}
#endif

#if defined(__AVX2__)
#define CODES_INLINE	static inline __attribute__((always_inline))

/* What one line's q() needs in registers. */
struct codes_q {
	codes_f scale, inverse, lo, hi;
	codes_i zero;
};

CODES_INLINE struct codes_q codes_q_of(const struct npu_elem *e, enum codes_way way)
{
	return (struct codes_q){
		.scale = codes_set1(e->scale),
		.inverse = codes_set1(way == CODES_PRODUCT ? 1.0f / e->scale : 0.0f),
		.lo = codes_set1(-CODES_CLAMP),
		.hi = codes_set1(CODES_CLAMP),
		.zero = codes_set1_i(e->zero),
	};
}

/* The codes of @n vectors in place of the values, not yet clamped to their type. */
CODES_INLINE void codes_of(codes_i *r, const codes_f *v, unsigned int n, enum codes_way way,
			   const struct codes_q *q)
{
	codes_f t[4], off;
	unsigned int i;

#pragma GCC unroll 4
	for (i = 0; i < n; i++) {
		t[i] = way == CODES_PRODUCT  ? codes_mul(v[i], q->inverse) :
		       way == CODES_QUOTIENT ? codes_div(v[i], q->scale) :
					       v[i];
		t[i] = codes_clamp(t[i], q->lo, q->hi);
	}
	if (way == CODES_PRODUCT) {
		off = codes_off(t[0]);
#pragma GCC unroll 4
		for (i = 1; i < n; i++)
			off = codes_max(off, codes_off(t[i]));
		if (__builtin_expect(codes_doubtful(off), 0)) {
#pragma GCC unroll 4
			for (i = 0; i < n; i++)
				t[i] = codes_clamp(codes_div(v[i], q->scale), q->lo, q->hi);
		}
	}
#pragma GCC unroll 4
	for (i = 0; i < n; i++)
		r[i] = way == CODES_PLAIN ? codes_trunc(t[i]) :
					    codes_add_i(codes_round(t[i]), q->zero);
}

CODES_INLINE void codes_put(char *p, codes_i r, bool is_signed)
{
	if (is_signed)
		codes_put_i8(p, r);
	else
		codes_put_u8(p, r);
}

CODES_INLINE void store_codes_way(const float *src, char *dst, size_t n, const struct npu_elem *e,
				  enum codes_way way, bool is_signed)
{
	const struct codes_q q = codes_q_of(e, way);
	float part[CODES_LANES] = { 0 };
	char last[CODES_LANES];
	codes_f v[4];
	codes_i r[4];
	size_t i;
	int j;

	for (i = 0; i + 4 * CODES_LANES <= n; i += 4 * CODES_LANES) {
#pragma GCC unroll 4
		for (j = 0; j < 4; j++)
			v[j] = codes_load(src + i + j * CODES_LANES);
		codes_of(r, v, 4, way, &q);
		codes_put4(dst + i, r, is_signed);
	}
	for (; i + CODES_LANES <= n; i += CODES_LANES) {
		v[0] = codes_load(src + i);
		codes_of(r, v, 1, way, &q);
		codes_put(dst + i, r[0], is_signed);
	}
	if (i == n)
		return;
	memcpy(part, src + i, (n - i) * sizeof(*src));
	v[0] = codes_load(part);
	codes_of(r, v, 1, way, &q);
	codes_put(last, r[0], is_signed);
	memcpy(dst + i, last, n - i);
}

CODES_INLINE void store_codes(const float *src, char *dst, size_t n, const struct npu_elem *e,
			      bool is_signed)
{
	switch (codes_way_of(e->scale)) {
	case CODES_PLAIN:
		store_codes_way(src, dst, n, e, CODES_PLAIN, is_signed);
		break;
	case CODES_ONE:
		store_codes_way(src, dst, n, e, CODES_ONE, is_signed);
		break;
	case CODES_PRODUCT:
		store_codes_way(src, dst, n, e, CODES_PRODUCT, is_signed);
		break;
	case CODES_QUOTIENT:
		store_codes_way(src, dst, n, e, CODES_QUOTIENT, is_signed);
		break;
	}
}

/* code, or (code - zero) * scale; with scale 1 the product is the difference. */
CODES_INLINE codes_f codes_real(codes_i c, codes_i zero, codes_f scale)
{
	return codes_mul(codes_float(codes_sub_i(c, zero)), scale);
}

CODES_INLINE void load_codes(float *dst, const char *src, size_t n, const struct npu_elem *e,
			     bool is_signed)
{
	const codes_f scale = codes_set1(e->scale == 0.0f ? 1.0f : e->scale);
	const codes_i zero = codes_set1_i(e->scale == 0.0f ? 0 : e->zero);
	char last[CODES_LANES] = { 0 };
	float part[CODES_LANES];
	size_t i;

	for (i = 0; i + CODES_LANES <= n; i += CODES_LANES)
		codes_store(dst + i, codes_real(is_signed ? codes_i8(src + i) : codes_u8(src + i),
						zero, scale));
	if (i == n)
		return;
	memcpy(last, src + i, n - i);
	codes_store(part, codes_real(is_signed ? codes_i8(last) : codes_u8(last), zero, scale));
	memcpy(dst + i, part, (n - i) * sizeof(*dst));
}

/* One operand of codes_binary(): i8 codes are taken as u8 ones with the highest bit flipped. */
struct codes_side {
	codes_f scale;
	codes_i zero;
	__m128i flip;
};

CODES_INLINE struct codes_side codes_side_of(const struct npu_elem *e)
{
	bool is_signed = e->dtype == NPU_I8;

	return (struct codes_side){
		.scale = codes_set1(e->scale),
		.zero = codes_set1_i(e->zero + (is_signed ? 128 : 0)),
		.flip = _mm_set1_epi8((char)(is_signed ? 0x80 : 0)),
	};
}

#if defined(__AVX512F__)
#define codes_raw(p)		_mm_loadu_si128((const __m128i *)(p))
#define codes_wide(c)		_mm512_cvtepu8_epi32(c)
#else
#define codes_raw(p)		_mm_loadl_epi64((const __m128i *)(p))
#define codes_wide(c)		_mm256_cvtepu8_epi32(c)
#endif

CODES_INLINE codes_f codes_side_load(const struct codes_side *s, const char *p)
{
	return codes_real(codes_wide(_mm_xor_si128(codes_raw(p), s->flip)), s->zero, s->scale);
}

/* What a line needs in registers. */
struct codes_pair {
	struct codes_side a, b;
	struct codes_q q;
	codes_f lo, hi, same;
	bool b_same, is_signed;
	bool tame;	/* nothing can become infinite or NaN: one pair of bounds is enough */
};

CODES_INLINE void codes_pair_vectors(char *dst, const char *a, const char *b, unsigned int n,
				     const struct codes_pair *p, unsigned int func,
				     enum codes_way way)
{
	codes_f v[4], y;
	codes_i r[4];
	unsigned int j;

#pragma GCC unroll 4
	for (j = 0; j < n; j++) {
		v[j] = codes_side_load(&p->a, a + j * CODES_LANES);
		y = p->b_same ? p->same : codes_side_load(&p->b, b + j * CODES_LANES);
		v[j] = func == NPU_BINARY_ADD ? codes_add(v[j], y) :
		       func == NPU_BINARY_SUB ? codes_sub(v[j], y) :
						codes_mul(v[j], y);
		v[j] = codes_min(p->hi, codes_max(p->lo, v[j]));
	}
	if (p->tame && way == CODES_ONE) {
#pragma GCC unroll 4
		for (j = 0; j < n; j++)
			r[j] = codes_add_i(codes_round(v[j]), p->q.zero);
	} else {
		codes_of(r, v, n, way, &p->q);
	}
	if (n == 4)
		codes_put4(dst, r, p->is_signed);
	else
		codes_put(dst, r[0], p->is_signed);
}

CODES_INLINE void codes_pair_line(char *dst, const char *a, const char *b, size_t n,
				  struct codes_pair *p, unsigned int func, enum codes_way way)
{
	char la[CODES_LANES] = { 0 }, lb[CODES_LANES] = { 0 }, ld[CODES_LANES];
	size_t i;

	if (p->b_same) {
		memset(lb, *b, sizeof(lb));
		p->same = codes_side_load(&p->b, lb);
	}
	for (i = 0; i + 4 * CODES_LANES <= n; i += 4 * CODES_LANES)
		codes_pair_vectors(dst + i, a + i, b + i, 4, p, func, way);
	for (; i + CODES_LANES <= n; i += CODES_LANES)
		codes_pair_vectors(dst + i, a + i, b + i, 1, p, func, way);
	if (i == n)
		return;
	memcpy(la, a + i, n - i);
	if (!p->b_same)
		memcpy(lb, b + i, n - i);
	codes_pair_vectors(ld, la, lb, 1, p, func, way);
	memcpy(dst + i, ld, n - i);
}

CODES_INLINE void codes_pair_patch(const struct npu_patch p[3], const struct npu_codes_binary *f,
				   unsigned int func, enum codes_way way)
{
	/* bounds on both sides of 0, and on this side of what codes are clamped to */
	const bool tame = way == CODES_ONE && f->a.scale < 0x1p50f && f->b.scale < 0x1p50f &&
			  f->lo <= CODES_CLAMP && f->hi >= -CODES_CLAMP;
	struct codes_pair pair = {
		.a = codes_side_of(&f->a),
		.b = codes_side_of(&f->b),
		.q = codes_q_of(&f->out, way),
		.lo = codes_set1(tame && f->lo < -CODES_CLAMP ? -CODES_CLAMP : f->lo),
		.hi = codes_set1(tame && f->hi > CODES_CLAMP ? CODES_CLAMP : f->hi),
		.b_same = f->b_same,
		.tame = tame,
		.is_signed = f->out.dtype == NPU_I8,
	};
	npu_u32 r;

	for (r = 0; r < p[0].rows; r++)
		codes_pair_line(p[0].p + (npu_s64)r * p[0].row, p[1].p + (npu_s64)r * p[1].row,
				p[2].p + (npu_s64)r * p[2].row, p[0].cols, &pair, func, way);
}

CODES_INLINE void codes_binary(const struct npu_patch p[3], const struct npu_codes_binary *f,
			       unsigned int func)
{
	switch (codes_way_of(f->out.scale)) {
	case CODES_ONE:
		codes_pair_patch(p, f, func, CODES_ONE);
		break;
	case CODES_PRODUCT:
		codes_pair_patch(p, f, func, CODES_PRODUCT);
		break;
	default:
		codes_pair_patch(p, f, func, CODES_QUOTIENT);
	}
}
#endif

#endif
