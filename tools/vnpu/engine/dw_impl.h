/* SPDX-License-Identifier: MIT */
/*
 * Depthwise kernels, included by one file per instruction set behind its vf_*.h and with DW
 * defined.
 */
#include "dw.h"

#define DW_MAX	  12
#define DW_INLINE static inline __attribute__((always_inline))

/*
 * Pixels of a block whose inputs are loaded once for a row of taps: as many as registers can hold
 * beside the row's weights.
 */
#if defined(__AVX512F__)
#define DW_ROW_MAX 16
#elif defined(__AVX2__)
#define DW_ROW_MAX 8
#else
#define DW_ROW_MAX 0
#endif

DW_INLINE void dw_block(const struct npu_dw_tile *t, size_t first, float *c, unsigned int n,
			ptrdiff_t step)
{
	size_t offset = t->offset + first * (size_t)step, k;
	const float *const *tap = t->tap;
	const float *w = t->w, *p;
	vf acc[DW_MAX], wv;
	unsigned int i;

#pragma GCC unroll 12
	for (i = 0; i < n; i++)
		acc[i] = vf_zero();
	for (k = 0; k < t->num_taps; k++, w += t->w_tap) {
		p = tap[k] + offset;
		wv = vf_load(w);
#pragma GCC unroll 12
		for (i = 0; i < n; i++)
			acc[i] = vf_fma(vf_load(p + (ptrdiff_t)i * step), wv, acc[i]);
	}
	if (t->w_zero) {
		wv = vf_load(t->w_zero);
#pragma GCC unroll 12
		for (i = 0; i < n; i++)
			acc[i] = vf_fma(vf_zero(), wv, acc[i]);
	}
#pragma GCC unroll 12
	for (i = 0; i < n; i++)
		vf_store(c + i * VL, acc[i]);
}

#if DW_ROW_MAX
/* As dw_block() for rows of @kw taps: a pixel still takes its taps in order. */
DW_INLINE void dw_row_block(const struct npu_dw_tile *t, size_t first, float *c, unsigned int n,
			    unsigned int kw)
{
	size_t offset = t->offset + first * VL, k;
	vf acc[DW_ROW_MAX], wv[5], v;
	const float *w = t->w, *p;
	unsigned int i, j;

#pragma GCC unroll 16
	for (i = 0; i < n; i++)
		acc[i] = vf_zero();
	for (k = 0; k < t->num_taps; k += kw) {
		p = t->tap[k] + offset;
#pragma GCC unroll 5
		for (j = 0; j < kw; j++, w += t->w_tap)
			wv[j] = vf_load(w);
#pragma GCC unroll 20
		for (i = 0; i < n + kw - 1; i++) {
			v = vf_load(p + i * VL);
#pragma GCC unroll 5
			for (j = 0; j < kw; j++)
				if (i >= j && i - j < n)
					acc[i - j] = vf_fma(v, wv[j], acc[i - j]);
		}
	}
	if (t->w_zero) {
		v = vf_load(t->w_zero);
#pragma GCC unroll 16
		for (i = 0; i < n; i++)
			acc[i] = vf_fma(vf_zero(), v, acc[i]);
	}
#pragma GCC unroll 16
	for (i = 0; i < n; i++)
		vf_store(c + i * VL, acc[i]);
}

/* Whole blocks of a tile; returns how many pixels they are. */
DW_INLINE size_t dw_rows(const struct npu_dw_tile *t, unsigned int kw)
{
	size_t i = 0;

	for (; i + DW_ROW_MAX <= t->count; i += DW_ROW_MAX)
		dw_row_block(t, i, t->c + i * VL, DW_ROW_MAX, kw);
	if (DW_ROW_MAX > 8 && i + 8 <= t->count) {
		dw_row_block(t, i, t->c + i * VL, 8, kw);
		i += 8;
	}
	if (i + 4 <= t->count) {
		dw_row_block(t, i, t->c + i * VL, 4, kw);
		i += 4;
	}
	return i;
}
#endif

/* Pixels from @i on. */
DW_INLINE void dw_pixels(const struct npu_dw_tile *t, size_t i, ptrdiff_t step)
{
	for (; i + DW_MAX <= t->count; i += DW_MAX)
		dw_block(t, i, t->c + i * VL, DW_MAX, step);
	if (i + 8 <= t->count) {
		dw_block(t, i, t->c + i * VL, 8, step);
		i += 8;
	}
	if (i + 4 <= t->count) {
		dw_block(t, i, t->c + i * VL, 4, step);
		i += 4;
	}
	if (i + 2 <= t->count) {
		dw_block(t, i, t->c + i * VL, 2, step);
		i += 2;
	}
	if (i < t->count)
		dw_block(t, i, t->c + i * VL, 1, step);
}

static void dw_tile(const struct npu_dw_tile *t)
{
	size_t done = 0;

#if DW_ROW_MAX
	if (t->row_taps == 3)
		done = dw_rows(t, 3);
	else if (t->row_taps == 5)
		done = dw_rows(t, 5);
#endif
	if (t->step == VL)
		dw_pixels(t, done, VL);
	else if (t->step == 2 * VL)
		dw_pixels(t, done, 2 * VL);
	else
		dw_pixels(t, done, t->step);
}

DW_INLINE vf dw_widen(const char *p, unsigned int dtype)
{
	if (dtype == NPU_F32)
		return vf_load((const float *)(const void *)p);
	if (dtype == NPU_F16)
		return vf_f16((const npu_u16 *)(const void *)p);
	return vf_bf16((const npu_u16 *)(const void *)p);
}

DW_INLINE vf dw_widen_part(const char *p, unsigned int dtype, unsigned int n)
{
	npu_u16 h[VL] = { 0 };

	if (dtype == NPU_F32)
		return vf_load_part((const float *)(const void *)p, n);
	if (dtype == NPU_F16)
		return vf_f16_part((const npu_u16 *)(const void *)p, n);
	memcpy(h, p, n * sizeof(*h));
	return vf_bf16(h);
}

DW_INLINE void dw_load_type(float *dst, ptrdiff_t ld, const struct npu_dw_pixels *s,
			    unsigned int dtype)
{
	const size_t size = dtype == NPU_F32 ? 4 : 2;
	const char *p = s->p;
	size_t i, ch;
	float *d;

	for (i = 0; i < s->count; i++, p += s->step, dst += VL) {
		for (ch = 0, d = dst; ch + VL <= s->channels; ch += VL, d += ld)
			vf_store(d, dw_widen(p + ch * size, dtype));
		if (ch < s->channels)
			vf_store(d, dw_widen_part(p + ch * size, dtype,
						  (unsigned int)(s->channels - ch)));
	}
}

static void dw_codes(float *restrict dst, const char *restrict src, ptrdiff_t step, size_t n,
		     unsigned int dtype, npu_s32 zero)
{
	const signed char *i8 = (const signed char *)src;
	const unsigned char *u8 = (const unsigned char *)src;
	size_t i;

	if (step != 1)
		for (i = 0; i < n; i++)
			dst[i] = (float)((dtype == NPU_I8 ? i8[(ptrdiff_t)i * step] :
							    u8[(ptrdiff_t)i * step]) -
					 zero);
	else if (dtype == NPU_I8)
		for (i = 0; i < n; i++)
			dst[i] = (float)(i8[i] - zero);
	else
		for (i = 0; i < n; i++)
			dst[i] = (float)(u8[i] - zero);
}

DW_INLINE void dw_load_codes(float *dst, ptrdiff_t ld, const struct npu_dw_pixels *s,
			     unsigned int dtype)
{
	const char *p = s->p;
	size_t i, ch, j;
	float *d;

	for (i = 0; i < s->count; i++, p += s->step, dst += VL) {
		for (ch = 0, d = dst; ch + VL <= s->channels; ch += VL, d += ld)
			dw_codes(d, p + ch, 1, VL, dtype, s->zero);
		if (ch < s->channels) {
			dw_codes(d, p + ch, 1, s->channels - ch, dtype, s->zero);
			for (j = s->channels - ch; j < VL; j++)
				d[j] = 0.0f;
		}
	}
}

static void dw_to_int(float *acc, size_t n)
{
	npu_s32 v;
	size_t i;

	for (i = 0; i < n; i++) {
		v = (npu_s32)acc[i];
		memcpy(acc + i, &v, sizeof(v));
	}
}

static void dw_load(float *dst, ptrdiff_t ld, const struct npu_dw_pixels *src)
{
	if (src->dtype == NPU_U8) {
		dw_load_codes(dst, ld, src, NPU_U8);
		return;
	}
	if (src->dtype == NPU_I8) {
		dw_load_codes(dst, ld, src, NPU_I8);
		return;
	}
	if (src->dtype == NPU_F32)
		dw_load_type(dst, ld, src, NPU_F32);
	else if (src->dtype == NPU_F16)
		dw_load_type(dst, ld, src, NPU_F16);
	else
		dw_load_type(dst, ld, src, NPU_BF16);
}

/*
 * The and of their bits: the sign is that of a positive one if there is any, and it is finite as
 * all are.
 */
static bool dw_rest(float *restrict rest, const float *restrict w, size_t kh, size_t kw,
		    size_t period)
{
	npu_u32 a, v, any = 0;
	size_t x, y, o;

	for (y = kh; y-- > 0;) {
		float *r = rest + y * period;

		if (y + 1 < kh)
			memcpy(r, r + period, period * sizeof(*r));
		else
			memset(r, 0xff, period * sizeof(*r));
		for (x = 0; x < kw; x++) {
			const float *tap = w + (y * kw + x) * period;

			for (o = 0; o < period; o++) {
				memcpy(&v, tap + o, sizeof(v));
				memcpy(&a, r + o, sizeof(a));
				a &= v;
				memcpy(r + o, &a, sizeof(a));
				any |= (v & 0x7f800000u) == 0x7f800000u;
			}
		}
	}
	return !any;
}

const struct npu_dw DW = {
	.lanes = VL,
	.tile = dw_tile,
	.load = dw_load,
	.rest = dw_rest,
	.codes = dw_codes,
	.to_int = dw_to_int,
};
