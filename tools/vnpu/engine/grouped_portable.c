// SPDX-License-Identifier: MIT
/* The kernels of codes in groups in plain C. */
#include "grouped.h"
#include "npu_grouped.h"
#include "npu_math.h"

static void quad_add(npu_u32 acc[NPU_PANEL], const npu_u8 *w, const npu_u8 *a)
{
	const signed char *s = (const signed char *)a;
	unsigned int j;

	for (j = 0; j < NPU_PANEL; j++, w += 4)
		acc[j] += (npu_u32)(w[0] * s[0] + w[1] * s[1] + w[2] * s[2] + w[3] * s[3]);
}

static void group_add(const struct npu_gq_tile *t, npu_s64 r, npu_s64 g,
		      const npu_u32 sum[NPU_PANEL], float acc[NPU_PANEL])
{
	const float *scale = t->scale + g * NPU_PANEL,
		    *min = t->min ? t->min + g * NPU_PANEL : NULL;
	float as = t->a_scale[r * t->step + g];
	unsigned int j;

	for (j = 0; j < NPU_PANEL; j++)
		acc[j] = npu_fma_f32((float)(npu_s32)sum[j], as * scale[j], acc[j]);
	for (j = 0; min && j < NPU_PANEL; j++)
		acc[j] = npu_fma_f32(t->a_sum[r * t->step + g], as * min[j], acc[j]);
}

static void tile_row(const struct npu_gq_tile *t, npu_s64 r)
{
	const npu_u8 *w = t->w, *a = t->a + r * t->lda;
	float acc[NPU_PANEL] = { 0 };
	npu_u32 sum[NPU_PANEL];
	npu_s64 g, q, quads;
	unsigned int j;

	for (g = 0; g < t->groups; g++) {
		for (j = 0; j < NPU_PANEL; j++)
			sum[j] = (npu_u32)t->start[r * t->step + g];
		quads = g + 1 < t->groups ? t->quads : t->last;
		for (q = 0; q < quads; q++, w += GQ_QUAD, a += 4)
			quad_add(sum, w, a);
		group_add(t, r, g, sum, acc);
	}
	memcpy(t->c + r * t->ldc, acc, sizeof(acc));
}

static void tile1(const struct npu_gq_tile *t)
{
	tile_row(t, 0);
}

static void tile4(const struct npu_gq_tile *t)
{
	npu_s64 r;

	for (r = 0; r < 4; r++)
		tile_row(t, r);
}

static void unpack(npu_u8 *dst, const npu_u8 *src, npu_s64 quads, unsigned int bits,
		   const npu_u8 *book)
{
	unsigned int i, code;

	for (; quads; quads--, src += npu_grouped_quad_bytes(bits), dst += GQ_QUAD) {
		for (i = 0; i < GQ_QUAD; i++) {
			code = npu_grouped_get(src, bits, i / 4, i % 4);
			dst[i] = book ? book[code] : (npu_u8)code;
		}
	}
}

static void unpack4(npu_u8 *dst, const npu_u8 *src, npu_s64 quads, const npu_u8 *book)
{
	unpack(dst, src, quads, 4, NULL);
}

static void unpack_book(npu_u8 *dst, const npu_u8 *src, npu_s64 quads, const npu_u8 *book)
{
	unpack(dst, src, quads, 4, book);
}

static void unpack5(npu_u8 *dst, const npu_u8 *src, npu_s64 quads, const npu_u8 *book)
{
	unpack(dst, src, quads, 5, NULL);
}

static void unpack6(npu_u8 *dst, const npu_u8 *src, npu_s64 quads, const npu_u8 *book)
{
	unpack(dst, src, quads, 6, NULL);
}

#include "grouped_common.h"

static void two_level(float *restrict dst, const npu_u8 *restrict src, bool is_signed,
		      const float *restrict super, npu_s64 groups, npu_s64 per)
{
	const float *f = super;
	npu_s64 g, left = per;
	unsigned int j;

	for (g = 0; g < groups; g++, dst += NPU_PANEL, src += NPU_PANEL, left--) {
		if (!left) {
			f += NPU_PANEL;
			left = per;
		}
		if (is_signed)
			for (j = 0; j < NPU_PANEL; j++)
				dst[j] = (float)(signed char)src[j] * f[j];
		else
			for (j = 0; j < NPU_PANEL; j++)
				dst[j] = (float)src[j] * f[j];
	}
}

#define MANY	{ [1] = tile1, [4] = tile4 }

const struct npu_gq npu_gq_portable = {
	.many = { MANY, MANY, MANY, MANY, MANY },
	.few = { [GQ_U8] = { [1] = tile1, [4] = tile4 } },
	.unpack = { [GQ_U4] = unpack4,
		    [GQ_BOOK] = unpack_book,
		    [GQ_U5] = unpack5,
		    [GQ_U6] = unpack6 },
	.sums = sums,
	.two_level = two_level,
	.quantize = quantize,
	.dequant = dequant,
	.ns = 0.4,
	.path = NPU_PATH_GROUPED_PORTABLE,
};
