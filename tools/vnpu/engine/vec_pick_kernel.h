/* SPDX-License-Identifier: MIT */
/*
 * Pixels picked out of a row and interpolated along it, for COLOR. Part of vec_kernel.h: compiled
 * once per instruction set.
 */

static void vec_pick(float *restrict v, const float *restrict src, const int *restrict at,
		     const int *restrict next, const float *restrict f, size_t n)
{
	size_t i;

	if (!f) {
		for (i = 0; i < n; i++)
			v[i] = src[at[i]];
		return;
	}
	for (i = 0; i < n; i++)
		v[i] = npu_fma_f32(src[next[i]] - src[at[i]], f[i], src[at[i]]);
}

#if defined(__AVX512F__)
/* The bytes from @p on that there are, at most 64. */
__attribute__((target("avx512vbmi")))
static inline __m512i near_load(const npu_u8 *p, size_t left)
{
	return left >= 64 ? _mm512_loadu_si512(p) :
	       _mm512_maskz_loadu_epi8(((__mmask64)1 << left) - 1, p);
}

__attribute__((target("avx512vbmi")))
static inline __m512 near_floats(__m128i bytes)
{
	return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

__attribute__((target("avx512vbmi")))
static void vec_pick_near(float *v, const npu_u8 *src, size_t size, const struct npu_near *near,
			  const float *f, size_t n)
{
	for (; n; near++, v += NPU_NEAR_GROUP, n -= n < NPU_NEAR_GROUP ? n : NPU_NEAR_GROUP) {
		size_t left = size - near->base;
		__m512i lo = near_load(src + near->base, left);
		__m512i hi = left > 64 ? near_load(src + near->base + 64, left - 64) : lo;
		__m256i at = _mm256_loadu_si256((const void *)near->at), both;
		__m512 a, b;

		both = _mm512_castsi512_si256(
			_mm512_permutex2var_epi8(lo, _mm512_castsi256_si512(at), hi));
		a = near_floats(_mm256_castsi256_si128(both));
		if (f) {
			b = near_floats(_mm256_extracti128_si256(both, 1));
			a = _mm512_fmadd_ps(_mm512_sub_ps(b, a), _mm512_loadu_ps(f), a);
			f += NPU_NEAR_GROUP;
		}
		_mm512_storeu_ps(v, a);
	}
}

static bool vec_pick_near_fast(void)
{
	return __builtin_cpu_supports("avx512vbmi");
}
#else
#define vec_pick_near	NULL

static bool vec_pick_near_fast(void)
{
	return false;
}
#endif
