/* SPDX-License-Identifier: MIT */
/*
 * The block kernels of vec.h, compiled once per instruction set: the including file defines
 * VEC_TABLE, the name of its table. Plain loops that the compiler vectorises; what an instruction
 * set does in its own way (f16) is below vec_memory.h's conditions. No reduction is written as a
 * loop over one accumulator, so nothing depends on the width.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#include "npu_act.h"
#include "npu_math.h"
#include "vec.h"
#include "vec_codes.h"
#include "vec_codes_kernel.h"
#include "vec_memory.h"
#include "vec_pick_kernel.h"

static void trig(float *v, size_t n, enum npu_trig which)
{
	float big[NPU_BLOCK];
	size_t i, m;
	int any;

	for (; n; v += m, n -= m) {
		m = n < NPU_BLOCK ? n : NPU_BLOCK;
		any = 0;
		for (i = 0; i < m; i++) {
			float x = v[i];

			/* of a big angle a harmless one is taken here and the right one below */
			any |= !(npu_abs_f32(x) < (float)NPU_TRIG_BIG);
			big[i] = x;
			v[i] = npu_abs_f32(x) < (float)NPU_TRIG_BIG ? x : 0.0f;
		}
		if (which == NPU_TRIG_SIN)
			for (i = 0; i < m; i++)
				v[i] = npu_trig_small(v[i], NPU_TRIG_SIN);
		else if (which == NPU_TRIG_COS)
			for (i = 0; i < m; i++)
				v[i] = npu_trig_small(v[i], NPU_TRIG_COS);
		else
			for (i = 0; i < m; i++)
				v[i] = npu_trig_small(v[i], NPU_TRIG_TAN);
		for (i = 0; any && i < m; i++)
			if (!(npu_abs_f32(big[i]) < (float)NPU_TRIG_BIG))
				v[i] = npu_trig_f32(big[i], which);
	}
}

static void vec_unary(float *restrict v, size_t n, unsigned int func)
{
	size_t i;

	switch (func) {
#define UNARY(name, expr)							\
	case NPU_UNARY_##name:							\
		for (i = 0; i < n; i++) {					\
			float x = v[i];						\
										\
			v[i] = (expr);						\
		}								\
		return
	UNARY(ABS, npu_abs_f32(x));
	UNARY(NEG, -x);
	UNARY(EXP, npu_exp_f32(x));
	UNARY(LOG, npu_log_f32(x));
	UNARY(SQRT, __builtin_sqrtf(x));
	UNARY(RSQRT, npu_rsqrt_f32(x));
	UNARY(RECIP, 1.0f / x);
	UNARY(FLOOR, __builtin_floorf(x));
	UNARY(CEIL, __builtin_ceilf(x));
	UNARY(ROUND, __builtin_rintf(x));
	UNARY(SIGN, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? 0.0f : x);
	UNARY(ERF, npu_erf_f32(x));
	UNARY(NOT, x == 0.0f ? 1.0f : 0.0f);
	UNARY(SQUARE, x * x);
	UNARY(ISNAN, x != x ? 1.0f : 0.0f);
	UNARY(ISINF, npu_abs_f32(x) == __builtin_inff() ? 1.0f : 0.0f);
	UNARY(SOFTSIGN, x / (1.0f + npu_abs_f32(x)));
	UNARY(ASIN, npu_asin_f32(x));
	UNARY(ACOS, npu_acos_f32(x));
	UNARY(ATAN, npu_atan_f32(x));
	UNARY(SINH, npu_sinh_f32(x));
	UNARY(COSH, npu_cosh_f32(x));
	UNARY(ASINH, npu_asinh_f32(x));
	UNARY(ACOSH, npu_acosh_f32(x));
	UNARY(ATANH, npu_atanh_f32(x));
#undef UNARY
	case NPU_UNARY_SIN:
		trig(v, n, NPU_TRIG_SIN);
		return;
	case NPU_UNARY_COS:
		trig(v, n, NPU_TRIG_COS);
		return;
	case NPU_UNARY_TAN:
		trig(v, n, NPU_TRIG_TAN);
		return;
	}
}

static void vec_binary(float *restrict a, const float *restrict b, size_t n, unsigned int func)
{
	size_t i;

	switch (func) {
#define BINARY(name, expr)							\
	case NPU_BINARY_##name:							\
		for (i = 0; i < n; i++) {					\
			float x = a[i], y = b[i];				\
										\
			a[i] = (expr);						\
		}								\
		return
#define TRUTH(expr) ((expr) ? 1.0f : 0.0f)
	BINARY(ADD, x + y);
	BINARY(SUB, x - y);
	BINARY(MUL, x * y);
	BINARY(DIV, x / y);
	BINARY(MAX, npu_max_f32(x, y));
	BINARY(MIN, npu_min_f32(x, y));
	BINARY(POW, npu_pow_f32(x, y));
	BINARY(MOD, npu_mod_f32(x, y));
	BINARY(FMOD, npu_fmod_f32(x, y));
	BINARY(EQ, TRUTH(x == y));
	BINARY(LT, TRUTH(x < y));
	BINARY(LE, TRUTH(x <= y));
	BINARY(GT, TRUTH(x > y));
	BINARY(GE, TRUTH(x >= y));
	BINARY(AND, TRUTH((x != 0.0f) & (y != 0.0f)));
	BINARY(OR, TRUTH((x != 0.0f) | (y != 0.0f)));
	BINARY(XOR, TRUTH((x != 0.0f) ^ (y != 0.0f)));
#undef BINARY
#undef TRUTH
	}
}

static void vec_act(float *v, size_t n, unsigned int act, float alpha, float beta,
		    const float *slope)
{
	npu_act_block(v, n, act, alpha, beta, slope);
}

static void vec_muladd(float *v, size_t n, float mul, float add)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = npu_fma_f32(v[i], mul, add);
}

#define FOLDS(X)								\
	X(SUM, a + x)								\
	X(ABS, a + npu_abs_f32(x))						\
	X(SQUARE, npu_fma_f32(x, x, a))						\
	X(PROD, a * x)

#if defined(__AVX512F__)
/*
 * npu_max_f32() and npu_min_f32(): range orders zeros by sign, a NaN on either side comes through
 * the sum.
 */
static inline __m512 max_v(__m512 a, __m512 b)
{
	return _mm512_mask_add_ps(_mm512_range_ps(a, b, 5), _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q),
				  a, b);
}

static inline __m512 min_v(__m512 a, __m512 b)
{
	return _mm512_mask_add_ps(_mm512_range_ps(a, b, 4), _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q),
				  a, b);
}

#define EXTREME_LOOP(op)									\
	for (i = 0; i + 16 <= n; i += 16)							\
		_mm512_storeu_ps(acc + i, op(_mm512_loadu_ps(acc + i), _mm512_loadu_ps(v + i))); \
	if (i < n) {										\
		__mmask16 m = (__mmask16)((1u << (n - i)) - 1u);				\
												\
		_mm512_mask_storeu_ps(acc + i, m, op(_mm512_maskz_loadu_ps(m, acc + i),		\
						     _mm512_maskz_loadu_ps(m, v + i)));		\
	}

static void fold_max(float *acc, const float *v, size_t n)
{
	size_t i;

	EXTREME_LOOP(max_v)
}

static void fold_min(float *acc, const float *v, size_t n)
{
	size_t i;

	EXTREME_LOOP(min_v)
}
#else
static void fold_max(float *restrict acc, const float *restrict v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		acc[i] = npu_max_f32(acc[i], v[i]);
}

static void fold_min(float *restrict acc, const float *restrict v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		acc[i] = npu_min_f32(acc[i], v[i]);
}
#endif

static void vec_fold(float *restrict acc, const float *restrict v, size_t n,
		     enum npu_fold_kind kind)
{
	size_t i;

	switch (kind) {
	case NPU_FOLD_MAX:
		fold_max(acc, v, n);
		return;
	case NPU_FOLD_MIN:
		fold_min(acc, v, n);
		return;
#define FOLD(name, expr)							\
	case NPU_FOLD_##name:							\
		for (i = 0; i < n; i++) {					\
			float a = acc[i], x = v[i];				\
										\
			acc[i] = (expr);					\
		}								\
		return;
	FOLDS(FOLD)
#undef FOLD
	}
}

#if defined(__AVX512F__)
#define LINE_INLINE	static inline __attribute__((always_inline))

/* Some elements widened; lanes without are anything. */
LINE_INLINE __m512 line_load(const char *src, __mmask16 m, const struct npu_elem *e, npu_u32 dtype)
{
	__m512i c;

	if (dtype == NPU_F16)
		return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, src));
	if (dtype == NPU_F32)
		return _mm512_maskz_loadu_ps(m, src);
	c = dtype == NPU_I8 ? _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(m, src)) :
			      _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(m, src));
	return codes_real(c, _mm512_set1_epi32(e->zero), _mm512_set1_ps(e->scale));
}

LINE_INLINE void fold_line_type(float *acc, const char *src, size_t n, const struct npu_elem *e,
				npu_u32 dtype, bool max)
{
	const unsigned int size = dtype == NPU_F16 ? 2 : 1;
	__m512 a, x;
	size_t i;

	for (i = 0; i < n; i += 16) {
		__mmask16 m = n - i >= 16 ? 0xffff : (__mmask16)((1u << (n - i)) - 1u);

		x = line_load(src + size * i, m, e, dtype);
		a = _mm512_maskz_loadu_ps(m, acc + i);
		_mm512_mask_storeu_ps(acc + i, m, max ? max_v(a, x) : _mm512_add_ps(a, x));
	}
}

/* A line of dense f16 or codes in one pass, a maximum or a sum; false: it is something else. */
static bool fold_line(float *acc, const char *src, size_t n, const struct npu_elem *e,
		      enum npu_fold_kind kind)
{
#define LINE(type)								\
	if (kind == NPU_FOLD_MAX)						\
		fold_line_type(acc, src, n, e, type, true);			\
	else									\
		fold_line_type(acc, src, n, e, type, false);			\
	return true
	if (kind != NPU_FOLD_MAX && kind != NPU_FOLD_SUM)
		return false;
	if (e->dtype == NPU_F16) {
		LINE(NPU_F16);
	} else if (e->dtype == NPU_I8 && e->scale != 0.0f) {
		LINE(NPU_I8);
	} else if (e->dtype == NPU_U8 && e->scale != 0.0f) {
		LINE(NPU_U8);
	}
#undef LINE
	return false;
}
#else
static bool fold_line(float *acc, const char *src, size_t n, const struct npu_elem *e,
		      enum npu_fold_kind kind)
{
	return false;
}
#endif

static void vec_load_fold(float *acc, const struct npu_elem *e, const struct npu_patch *s,
			  enum npu_fold_kind kind)
{
	float v[2 * NPU_BLOCK];
	struct npu_patch p = *s;
	npu_u32 r, c, step;

	if (s->row == s->col * (npu_s64)s->cols)
		p = (struct npu_patch){
			.p = s->p, .col = s->col, .rows = 1, .cols = s->rows * s->cols
		};
	if (s->col == (npu_s64)e->size && fold_line(acc, p.p, p.cols, e, kind)) {
		for (r = 1; r < p.rows; r++)
			fold_line(acc + (size_t)r * p.cols, p.p + (npu_s64)r * p.row, p.cols, e,
				  kind);
		return;
	}
	/* some rows, or parts of one, at a time */
	step = p.cols <= 2 * NPU_BLOCK ? 2 * NPU_BLOCK / p.cols : 1;
	for (r = 0; r < p.rows; r += step) {
		for (c = 0; c < p.cols; c += 2 * NPU_BLOCK) {
			struct npu_patch q = p;

			q.p = p.p + (npu_s64)r * p.row + (npu_s64)c * p.col;
			q.rows = p.rows - r < step ? p.rows - r : step;
			q.cols = p.cols - c < 2 * NPU_BLOCK ? p.cols - c : 2 * NPU_BLOCK;
			vec_load(v, e, &q);
			vec_fold(acc + (size_t)r * p.cols + c, v, (size_t)q.rows * q.cols, kind);
		}
	}
}

#if defined(__AVX512F__)
#define WINDOW_VECTORS	4
#define WINDOW_INLINE	static inline __attribute__((always_inline))

/*
 * @n vectors of columns of one pixel stay in registers for all taps; @last: the lanes of the last
 * one.
 */
WINDOW_INLINE void window_vectors(float *acc, const char *p, const struct npu_window *w,
				  unsigned int n, __mmask16 last, const struct npu_elem *e,
				  npu_u32 dtype, bool max)
{
	const unsigned int size = dtype == NPU_F32 ? 4 : dtype == NPU_F16 ? 2 : 1;
	__m512 a[WINDOW_VECTORS], v;
	unsigned int i;
	npu_u32 y, x;

	for (i = 0; i < n; i++)
		a[i] = w->begin ? _mm512_set1_ps(max ? -__builtin_inff() : 0.0f) :
				  _mm512_maskz_loadu_ps(i + 1 < n ? 0xffff : last, acc + 16 * i);
	for (y = 0; y < w->taps[0]; y++) {
		for (x = 0; x < w->taps[1]; x++) {
			const char *q = p + (npu_s64)y * w->step[0] + (npu_s64)x * w->step[1];

			for (i = 0; i < n; i++) {
				__mmask16 m = i + 1 < n ? 0xffff : last;

				v = line_load(q + 16 * size * i, m, e, dtype);
				a[i] = max ? max_v(a[i], v) : _mm512_add_ps(a[i], v);
			}
		}
	}
	for (i = 0; i < n; i++)
		_mm512_mask_storeu_ps(acc + 16 * i, i + 1 < n ? 0xffff : last, a[i]);
}

WINDOW_INLINE void window_pixels(float *acc, const struct npu_window *w, const struct npu_elem *e,
				 npu_u32 dtype, bool max)
{
	const unsigned int group = 16 * WINDOW_VECTORS,
			   size = dtype == NPU_F32 ? 4 : dtype == NPU_F16 ? 2 : 1;
	const char *p;
	npu_u32 i, c, rest = w->cols % group, rest_vectors = (rest + 15) / 16;
	__mmask16 last = (__mmask16)(rest % 16 ? (1u << rest % 16) - 1u : 0xffffu);

	for (i = 0; i < w->pixels; i++, acc += w->cols) {
		p = w->p + (npu_s64)i * w->pixel;
		for (c = 0; c + group <= w->cols; c += group)
			window_vectors(acc + c, p + c * size, w, WINDOW_VECTORS, 0xffff, e, dtype,
				       max);
		switch (rest_vectors) {
		case 1:
			window_vectors(acc + c, p + c * size, w, 1, last, e, dtype, max);
			break;
		case 2:
			window_vectors(acc + c, p + c * size, w, 2, last, e, dtype, max);
			break;
		case 3:
			window_vectors(acc + c, p + c * size, w, 3, last, e, dtype, max);
			break;
		case 4:
			window_vectors(acc + c, p + c * size, w, 4, last, e, dtype, max);
			break;
		}
	}
}

static bool window_fast(float *acc, const struct npu_elem *e, const struct npu_window *w,
			enum npu_fold_kind kind)
{
	bool max = kind == NPU_FOLD_MAX;

	if ((kind != NPU_FOLD_SUM && !max) || w->col != e->size)
		return false;
#define WINDOW(type)							\
	if (max)							\
		window_pixels(acc, w, e, type, true);			\
	else								\
		window_pixels(acc, w, e, type, false);			\
	return true
	switch (e->dtype) {
	case NPU_F32:
		WINDOW(NPU_F32);
	case NPU_F16:
		WINDOW(NPU_F16);
	case NPU_I8:
		if (e->scale == 0.0f)
			return false;
		WINDOW(NPU_I8);
	case NPU_U8:
		if (e->scale == 0.0f)
			return false;
		WINDOW(NPU_U8);
	}
#undef WINDOW
	return false;
}
#else
static bool window_fast(float *acc, const struct npu_elem *e, const struct npu_window *w,
			enum npu_fold_kind kind)
{
	return false;
}
#endif

static void vec_fold_window(float *acc, const struct npu_elem *e, const struct npu_window *w,
			    enum npu_fold_kind kind)
{
	struct npu_patch p = { .row = w->pixel, .col = w->col, .rows = w->pixels, .cols = w->cols };
	npu_u32 y, x, i;

	if (window_fast(acc, e, w, kind))
		return;
	for (i = 0; w->begin && i < w->pixels * w->cols; i++)
		acc[i] = npu_fold_start(kind);
	for (y = 0; y < w->taps[0]; y++) {
		for (x = 0; x < w->taps[1]; x++) {
			p.p = (char *)w->p + (npu_s64)y * w->step[0] + (npu_s64)x * w->step[1];
			vec_load_fold(acc, e, &p, kind);
		}
	}
}

/*
 * The largest and the smallest do not depend on the order: 64 lanes at a time, so that none waits
 * for the one before.
 */
static void extreme16(float *lane, const float *v, size_t n,
		      void (*fold)(float *acc, const float *v, size_t n))
{
	float wide[128];
	size_t i;

	for (i = 0; n >= sizeof(wide) / 4 && i + sizeof(wide) / 4 <= n; i += sizeof(wide) / 4) {
		if (i)
			fold(wide, v + i, sizeof(wide) / 4);
		else
			memcpy(wide, v, sizeof(wide));
	}
	if (i) {
		fold(wide, wide + 64, 64);
		fold(wide, wide + 32, 32);
		fold(wide, wide + 16, 16);
		fold(lane, wide, 16);
	}
	for (; i < n; i += 16)
		fold(lane, v + i, n - i < 16 ? n - i : 16);
}

static void vec_fold16(float *restrict lane, const float *restrict v, size_t n,
		       enum npu_fold_kind kind)
{
	size_t i, j;

	switch (kind) {
	case NPU_FOLD_MAX:
		extreme16(lane, v, n, fold_max);
		return;
	case NPU_FOLD_MIN:
		extreme16(lane, v, n, fold_min);
		return;
#define FOLD(name, expr)							\
	case NPU_FOLD_##name: {							\
		float l[16];							\
										\
		for (j = 0; j < 16; j++)					\
			l[j] = lane[j];						\
		for (i = 0; i + 16 <= n; i += 16) {				\
			for (j = 0; j < 16; j++) {				\
				float a = l[j], x = v[i + j];			\
										\
				l[j] = (expr);					\
			}							\
		}								\
		for (j = 0; j < 16; j++)					\
			lane[j] = l[j];						\
		for (j = 0; i + j < n; j++) {					\
			float a = lane[j], x = v[i + j];			\
										\
			lane[j] = (expr);					\
		}								\
		return;								\
	}
	FOLDS(FOLD)
#undef FOLD
	}
}

static void vec_add(float *v, size_t n, float c)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = v[i] + c;
}

static void vec_scale(float *v, size_t n, float c)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = v[i] * c;
}

static void vec_div(float *v, size_t n, float c)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = v[i] / c;
}

static void vec_exp2_scaled(float *v, size_t n, float sub, float mul)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = npu_exp2_f32((v[i] - sub) * mul);
}

static void vec_exp2_scaled_cols(float *restrict v, const float *restrict sub, size_t n, float mul)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = npu_exp2_f32((v[i] - sub[i]) * mul);
}

static void vec_lerp(float *v, const float *a, const float *b, size_t n, float f)
{
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = npu_fma_f32(b[i] - a[i], f, a[i]);
}

static inline float mix3_sum(float a, float b, float c, const float o[3], const float w[3])
{
	return npu_fma_f32(c - o[2], w[2],
			   npu_fma_f32(b - o[1], w[1], npu_fma_f32(a - o[0], w[0], 0.0f)));
}

static void vec_mix3(float *restrict v, const float *const component[3], size_t n,
		     const struct npu_mix3 *mix)
{
	const float *restrict a = component[0], *restrict b = component[1],
		    *restrict c = component[2];
	const float o[3] = { mix->offset[0], mix->offset[1], mix->offset[2] };
	const float w[3] = { mix->weight[0], mix->weight[1], mix->weight[2] };
	float limit = mix->limit, mul = mix->mul, add = mix->add;
	size_t i;

	if (limit == 0.0f) {
		for (i = 0; i < n; i++)
			v[i] = npu_fma_f32(mix3_sum(a[i], b[i], c[i], o, w), mul, add);
		return;
	}
	for (i = 0; i < n; i++) {
		float s = mix3_sum(a[i], b[i], c[i], o, w);

		s = s < 0.0f ? 0.0f : s;
		s = s > limit ? limit : s;
		v[i] = npu_fma_f32(s, mul, add);
	}
}

static void vec_interleave3(float *restrict v, const float *const channel[3], size_t n)
{
	const float *restrict a = channel[0], *restrict b = channel[1], *restrict c = channel[2];
	size_t i;

	for (i = 0; i < n; i++) {
		v[3 * i] = a[i];
		v[3 * i + 1] = b[i];
		v[3 * i + 2] = c[i];
	}
}

static void vec_axpy(float *restrict acc, const float *restrict x, size_t n, float c)
{
	size_t i;

	for (i = 0; i < n; i++)
		acc[i] = npu_fma_f32(x[i], c, acc[i]);
}

static void vec_affine(float *restrict v, float mul, const float *restrict g,
		       const float *restrict b, size_t n)
{
	size_t i;

	if (g && b) {
		for (i = 0; i < n; i++)
			v[i] = npu_fma_f32(v[i] * mul, g[i], b[i]);
	} else if (g) {
		for (i = 0; i < n; i++)
			v[i] = (v[i] * mul) * g[i];
	} else if (b) {
		for (i = 0; i < n; i++)
			v[i] = v[i] * mul + b[i];
	} else {
		for (i = 0; i < n; i++)
			v[i] = v[i] * mul;
	}
}

#if defined(__AVX512F__)
static void vec_dot16_cols(float *s, const float *q, const float *kt, npu_u32 depth, npu_u32 stride,
			   npu_u32 n)
{
	npu_u32 j, d;

	/* sixteen lanes of sixteen columns, by name so that they stay in registers */
#define LANES(X)	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) \
			X(13) X(14) X(15)
#define ZERO(i)		__m512 a##i = _mm512_setzero_ps();
#define STEP(i) \
	a##i = _mm512_fmadd_ps(_mm512_set1_ps(q[d + i]),					\
			       _mm512_loadu_ps(p + (size_t)(i) * stride), a##i);
#define TAIL(i)		if (d + i < depth) STEP(i)
	for (j = 0; j < n; j += 16) {
		const float *p = kt + j;
		LANES(ZERO)

		for (d = 0; d + 16 <= depth; d += 16, p += 16 * (size_t)stride) {
			LANES(STEP)
		}
		LANES(TAIL)
		a0 = _mm512_add_ps(_mm512_add_ps(a0, a8), _mm512_add_ps(a4, a12));
		a1 = _mm512_add_ps(_mm512_add_ps(a1, a9), _mm512_add_ps(a5, a13));
		a2 = _mm512_add_ps(_mm512_add_ps(a2, a10), _mm512_add_ps(a6, a14));
		a3 = _mm512_add_ps(_mm512_add_ps(a3, a11), _mm512_add_ps(a7, a15));
		a0 = _mm512_add_ps(a0, a2);
		a1 = _mm512_add_ps(a1, a3);
		_mm512_storeu_ps(s + j, _mm512_add_ps(a0, a1));
	}
#undef LANES
#undef ZERO
#undef STEP
#undef TAIL
}

static void vec_axpy_rows(float *acc, const float *w, const float *v, npu_u32 n, npu_u32 depth)
{
	npu_u32 d, j;

	for (d = 0; d + 64 <= depth; d += 64) {
		__m512 a = _mm512_loadu_ps(acc + d), b = _mm512_loadu_ps(acc + d + 16);
		__m512 c = _mm512_loadu_ps(acc + d + 32), e = _mm512_loadu_ps(acc + d + 48);

		for (j = 0; j < n; j++) {
			const float *p = v + (size_t)j * depth + d;
			__m512 x = _mm512_set1_ps(w[j]);

			a = _mm512_fmadd_ps(x, _mm512_loadu_ps(p), a);
			b = _mm512_fmadd_ps(x, _mm512_loadu_ps(p + 16), b);
			c = _mm512_fmadd_ps(x, _mm512_loadu_ps(p + 32), c);
			e = _mm512_fmadd_ps(x, _mm512_loadu_ps(p + 48), e);
		}
		_mm512_storeu_ps(acc + d, a);
		_mm512_storeu_ps(acc + d + 16, b);
		_mm512_storeu_ps(acc + d + 32, c);
		_mm512_storeu_ps(acc + d + 48, e);
	}
	for (; d < depth; d += 16) {
		__mmask16 m = depth - d >= 16 ? 0xffff : (__mmask16)((1u << (depth - d)) - 1u);
		__m512 a = _mm512_maskz_loadu_ps(m, acc + d);

		for (j = 0; j < n; j++)
			a = _mm512_fmadd_ps(_mm512_set1_ps(w[j]),
					    _mm512_maskz_loadu_ps(m, v + (size_t)j * depth + d), a);
		_mm512_mask_storeu_ps(acc + d, m, a);
	}
}
#else
static void vec_dot16_cols(float *s, const float *q, const float *kt, npu_u32 depth, npu_u32 stride,
			   npu_u32 n)
{
	npu_u32 j, d, i, k, half;

	for (j = 0; j < n; j += 16) {
		float a[16][16] = { { 0 } };

		for (d = 0; d < depth; d++) {
			const float *restrict p = kt + (size_t)d * stride + j;
			float *restrict l = a[d % 16], x = q[d];

			for (k = 0; k < 16; k++)
				l[k] = npu_fma_f32(x, p[k], l[k]);
		}
		for (half = 8; half; half >>= 1)
			for (i = 0; i < half; i++)
				for (k = 0; k < 16; k++)
					a[i][k] += a[i + half][k];
		memcpy(s + j, a[0], sizeof(a[0]));
	}
}

static void vec_axpy_rows(float *restrict acc, const float *restrict w, const float *restrict v,
			  npu_u32 n, npu_u32 depth)
{
	npu_u32 d, j;

	for (j = 0; j < n; j++)
		for (d = 0; d < depth; d++)
			acc[d] = npu_fma_f32(w[j], v[(size_t)j * depth + d], acc[d]);
}
#endif

const struct npu_vec VEC_TABLE = {
	.load = vec_load,
	.store = vec_store,
	.load_int = vec_load_int,
	.store_int = vec_store_int,
	.unary = vec_unary,
	.binary = vec_binary,
	.act = vec_act,
	.muladd = vec_muladd,
	.fold = vec_fold,
	.load_fold = vec_load_fold,
	.fold_window = vec_fold_window,
	.fold16 = vec_fold16,
	.add = vec_add,
	.scale = vec_scale,
	.div = vec_div,
	.exp2_scaled = vec_exp2_scaled,
	.exp2_scaled_cols = vec_exp2_scaled_cols,
	.dot16_cols = vec_dot16_cols,
	.axpy_rows = vec_axpy_rows,
	.lerp = vec_lerp,
	.pick = vec_pick,
	.pick_near = vec_pick_near,
	.pick_near_fast = vec_pick_near_fast,
	.mix3 = vec_mix3,
	.interleave3 = vec_interleave3,
	.axpy = vec_axpy,
	.affine = vec_affine,
	.look_up = vec_look_up,
	.look_up_fast = vec_look_up_fast,
	.binary_codes = vec_binary_codes,
	.max_codes = vec_max_codes,
	.count8 = vec_count8,
	.transpose = vec_transpose,
	.select = vec_select,
};
