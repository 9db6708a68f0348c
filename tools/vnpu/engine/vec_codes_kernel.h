/* SPDX-License-Identifier: MIT */
/* Part of vec_kernel.h: functions from codes to codes, and counts of them. */
#ifndef NPU_VEC_CODES_KERNEL_H
#define NPU_VEC_CODES_KERNEL_H

#include "vec.h"
#include "vec_codes.h"

static inline void look_up_plain(npu_u8 *dst, const npu_u8 *src, size_t n, const npu_u8 table[256])
{
	size_t i;

	for (i = 0; i < n; i++)
		dst[i] = table[src[i]];
}

#if defined(__AVX2__)
static void vec_binary_codes(const struct npu_patch p[3], const struct npu_codes_binary *f)
{
	switch (f->func) {
	case NPU_BINARY_ADD:
		codes_binary(p, f, NPU_BINARY_ADD);
		break;
	case NPU_BINARY_SUB:
		codes_binary(p, f, NPU_BINARY_SUB);
		break;
	default:
		codes_binary(p, f, NPU_BINARY_MUL);
	}
}
#else
#define vec_binary_codes	NULL
#endif

#if defined(__AVX2__)
/*
 * Sixteen shuffles of 16 entries: a byte whose upper half is that of the entries becomes 0x7., any
 * other gets its highest bit, for which a shuffle gives 0.
 */
static void look_up_shuffle(npu_u8 *dst, const npu_u8 *src, size_t n, const npu_u8 table[256])
{
	const __m256i up = _mm256_set1_epi8(0x70);
	__m256i t[16];
	size_t i;
	int k;

	for (k = 0; k < 16; k++)
		t[k] = _mm256_broadcastsi128_si256(
			_mm_loadu_si128((const __m128i *)(table + 16 * k)));
	for (i = 0; i + 32 <= n; i += 32) {
		__m256i c = _mm256_loadu_si256((const __m256i *)(src + i)),
			r = _mm256_setzero_si256();

#pragma GCC unroll 16
		for (k = 0; k < 16; k++) {
			__m256i x = _mm256_xor_si256(c, _mm256_set1_epi8((char)(16 * k)));

			r = _mm256_or_si256(r, _mm256_shuffle_epi8(t[k], _mm256_adds_epu8(x, up)));
		}
		_mm256_storeu_si256((__m256i *)(dst + i), r);
	}
	look_up_plain(dst + i, src + i, n - i, table);
}
#endif

#if defined(__AVX512F__)
__attribute__((target("avx512vbmi")))
static void look_up_vbmi(npu_u8 *dst, const npu_u8 *src, size_t n, const npu_u8 table[256])
{
	const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
	const __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
	size_t i;

	for (i = 0; i < n; i += 64) {
		__mmask64 m = n - i >= 64 ? ~0ull : (1ull << (n - i)) - 1;
		__m512i c = _mm512_maskz_loadu_epi8(m, src + i);
		__m512i lo = _mm512_permutex2var_epi8(t0, c, t1),
			hi = _mm512_permutex2var_epi8(t2, c, t3);

		_mm512_mask_storeu_epi8(dst + i, m,
					_mm512_mask_blend_epi8(_mm512_movepi8_mask(c), lo, hi));
	}
}

static void vec_look_up(npu_u8 *dst, const npu_u8 *src, size_t n, const npu_u8 table[256])
{
	if (__builtin_cpu_supports("avx512vbmi"))
		look_up_vbmi(dst, src, n, table);
	else
		look_up_shuffle(dst, src, n, table);
}
#elif defined(__AVX2__)
#define vec_look_up	look_up_shuffle
#else
#define vec_look_up	look_up_plain
#endif

static bool vec_look_up_fast(void)
{
#if defined(__AVX2__)
	return true;
#else
	return false;
#endif
}

#define MAX_LINE(name, type)									\
static void max_line_##name(type *restrict acc, const type *restrict src, npu_s64 step,		\
			    size_t n)								\
{												\
	size_t i;										\
												\
	if (step == 1)										\
		for (i = 0; i < n; i++)								\
			acc[i] = acc[i] > src[i] ? acc[i] : src[i];				\
	else											\
		for (i = 0; i < n; i++, src += step)						\
			acc[i] = acc[i] > *src ? acc[i] : *src;					\
}
MAX_LINE(i8, signed char)
MAX_LINE(u8, unsigned char)

static void vec_max_codes(npu_u8 *acc, unsigned int dtype, const struct npu_patch *src)
{
	size_t cols = src->cols;
	npu_u32 rows = src->rows, r;

	if (src->row == src->col * (npu_s64)src->cols) {
		cols *= rows;
		rows = 1;
	}
	for (r = 0; r < rows; r++, acc += cols) {
		const char *p = src->p + (npu_s64)r * src->row;

		if (dtype == NPU_I8)
			max_line_i8((signed char *)acc, (const signed char *)p, src->col, cols);
		else
			max_line_u8(acc, (const unsigned char *)p, src->col, cols);
	}
}

static void vec_count8(npu_u64 found[2], const char *p, size_t n, const npu_u8 code[2])
{
	npu_u64 lo = 0, hi = 0;
	size_t i = 0;

#if defined(__AVX512F__)
	const __m512i a = _mm512_set1_epi8((char)code[0]), b = _mm512_set1_epi8((char)code[1]);

	for (; i + 64 <= n; i += 64) {
		__m512i v = _mm512_loadu_si512(p + i);

		lo += (npu_u64)__builtin_popcountll(_mm512_cmpeq_epi8_mask(v, a));
		hi += (npu_u64)__builtin_popcountll(_mm512_cmpeq_epi8_mask(v, b));
	}
#elif defined(__AVX2__)
	const __m256i a = _mm256_set1_epi8((char)code[0]), b = _mm256_set1_epi8((char)code[1]);

	for (; i + 32 <= n; i += 32) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(p + i));

		lo += (npu_u64)__builtin_popcount(
			(unsigned int)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, a)));
		hi += (npu_u64)__builtin_popcount(
			(unsigned int)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, b)));
	}
#endif
	for (; i < n; i++) {
		lo += (npu_u8)p[i] == code[0];
		hi += (npu_u8)p[i] == code[1];
	}
	found[0] += lo;
	found[1] += hi;
}

#endif
