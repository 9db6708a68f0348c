/* SPDX-License-Identifier: MIT */
/*
 * The integer matrix kernels, included by one file per instruction set, which has defined
 *
 *	vi, vq, vw	accumulators, one quad of a row for all lanes, a part of a quad of a panel
 *	PANEL_VECS	vi in a panel of 16 columns; a vw is 64 / PANEL_VECS bytes
 *	PRELOAD_ROWS	1: the rows' quads wait in registers, 0: the panels' do
 *	vi_zero(), vq_bcast(p), vw_flip(byte), vw_load(p, flip), vi_dot(acc, q, w)
 *	panel_store(c, acc)	the 16 sums of a panel
 *	half_store(c, acc)	the first 8 of them, where a tile may be half a panel
 */
#include "igemm.h"

/* Pointer checks of UBSan would make the many unrolled kernels ten times as long to compile. */
#define KERNEL __attribute__((no_sanitize("undefined")))
#define INLINE static inline __attribute__((always_inline, unused, no_sanitize("undefined")))

#define VW_BYTES	(IGEMM_QUAD_BYTES / PANEL_VECS)
#define MAX_VECS	(IGEMM_MAX_PANELS * PANEL_VECS)

/* Rows come in threes, as in gemm_impl.h: base, base + lda and base + 2 lda cost one register. */
#define A_BASES	((IGEMM_MAX_ROWS + 2) / 3)
#define OPAQUE(p) __asm__("" : "+r"(p))

INLINE const char *row_at(const char *const *pa, ptrdiff_t lda, unsigned int r, unsigned int quad)
{
	return pa[r / 3] + (ptrdiff_t)(r % 3) * lda + quad * 4;
}

INLINE const char *vec_at(const char *b, ptrdiff_t b_panel, unsigned int v, unsigned int quad)
{
	return b + (v / PANEL_VECS) * b_panel + v % PANEL_VECS * VW_BYTES + quad * IGEMM_QUAD_BYTES;
}

INLINE void tile_quad(const char *const *pa, ptrdiff_t lda, unsigned int quad, const char *b,
		      ptrdiff_t b_panel, vw flip, unsigned int rows, unsigned int nv,
		      vi (*acc)[MAX_VECS])
{
	unsigned int r, v;

#if PRELOAD_ROWS
	vq q[IGEMM_MAX_ROWS];

#pragma GCC unroll 16
	for (r = 0; r < rows; r++)
		q[r] = vq_bcast(row_at(pa, lda, r, quad));
#pragma GCC unroll 16
	for (v = 0; v < nv; v++) {
		vw w = vw_load(vec_at(b, b_panel, v, quad), flip);

#pragma GCC unroll 16
		for (r = 0; r < rows; r++)
			acc[r][v] = vi_dot(acc[r][v], q[r], w);
	}
#else
	vw w[MAX_VECS];

#pragma GCC unroll 16
	for (v = 0; v < nv; v++)
		w[v] = vw_load(vec_at(b, b_panel, v, quad), flip);
#pragma GCC unroll 16
	for (r = 0; r < rows; r++) {
		vq q = vq_bcast(row_at(pa, lda, r, quad));

#pragma GCC unroll 16
		for (v = 0; v < nv; v++)
			acc[r][v] = vi_dot(acc[r][v], q, w[v]);
	}
#endif
}

INLINE void tile(const struct npu_igemm_tile *t, unsigned int rows, unsigned int panels)
{
	const unsigned int nv = panels ? panels * PANEL_VECS : PANEL_VECS / 2;
	const ptrdiff_t lda = t->lda, b_panel = t->b_panel;
	const struct npu_igemm_seg *seg = t->seg, *end = seg + t->num_segs;
	const vw flip = vw_flip(t->b_flip);
	vi acc[IGEMM_MAX_ROWS][MAX_VECS];
	const char *pa[A_BASES];
	unsigned int r, v, i;

#pragma GCC unroll 16
	for (r = 0; r < rows; r++)
#pragma GCC unroll 16
		for (v = 0; v < nv; v++)
			acc[r][v] = vi_zero();
	for (; seg < end; seg++) {
		const char *b = (const char *)t->b + seg->b * IGEMM_QUAD_BYTES;
		size_t k = seg->quads;

#pragma GCC unroll 8
		for (i = 0; i * 3 < rows; i++) {
			pa[i] = (const char *)(t->a + seg->a) + (ptrdiff_t)i * 3 * lda;
			OPAQUE(pa[i]);
		}
		for (; k >= 2; k -= 2) {
			tile_quad(pa, lda, 0, b, b_panel, flip, rows, nv, acc);
			tile_quad(pa, lda, 1, b, b_panel, flip, rows, nv, acc);
			b += 2 * IGEMM_QUAD_BYTES;
#pragma GCC unroll 8
			for (i = 0; i * 3 < rows; i++)
				pa[i] += 8;
		}
		if (k)
			tile_quad(pa, lda, 0, b, b_panel, flip, rows, nv, acc);
	}
#pragma GCC unroll 16
	for (r = 0; r < rows; r++) {
#ifdef half_store
		if (!panels)
			half_store(t->c + (ptrdiff_t)r * t->ldc, acc[r]);
#endif
#pragma GCC unroll 4
		for (i = 0; i < panels; i++)
			panel_store(t->c + (ptrdiff_t)r * t->ldc + i * NPU_PANEL,
				    &acc[r][i * PANEL_VECS]);
	}
}

#define ITILE_FN(rows, panels)								\
	KERNEL static void itile_##rows##_##panels(const struct npu_igemm_tile *t)	\
	{										\
		tile(t, rows, panels);							\
	}
#define ITILE_ROW(rows, panels)	[panels][rows] = itile_##rows##_##panels

static void copy_codes(npu_u8 *restrict dst, const npu_u8 *restrict src, size_t n, npu_u8 flip)
{
	size_t i;

	if (!flip) {
		memcpy(dst, src, n);
		return;
	}
	for (i = 0; i < n; i++)
		dst[i] = src[i] ^ 0x80;
}

/* Products with ones. Two sums of quads in turn hide the latency. */
KERNEL static void col_sums(const npu_u8 *panel, size_t k, npu_u8 flip, npu_s32 sum[16])
{
	static const npu_u8 ones[4][4] = { { 1, 1, 1, 1 }, { 1 }, { 1, 1 }, { 1, 1, 1 } };
	const vw f = vw_flip(flip);
	const char *b = (const char *)panel;
	vi acc[2][PANEL_VECS];
	npu_s32 half[16];
	vq q = vq_bcast((const char *)ones[0]);
	unsigned int v, i;
	size_t at;

	for (v = 0; v < PANEL_VECS; v++)
		acc[0][v] = acc[1][v] = vi_zero();
	for (at = 0; at + 8 <= k; at += 8, b += 2 * IGEMM_QUAD_BYTES)
		for (i = 0; i < 2; i++)
			for (v = 0; v < PANEL_VECS; v++)
				acc[i][v] = vi_dot(acc[i][v], q,
						   vw_load(vec_at(b, 0, v, i), f));
	for (; at < k; at += 4, b += IGEMM_QUAD_BYTES) {
		q = vq_bcast((const char *)ones[k - at < 4 ? k - at : 0]);
		for (v = 0; v < PANEL_VECS; v++)
			acc[0][v] = vi_dot(acc[0][v], q, vw_load(vec_at(b, 0, v, 0), f));
	}
	panel_store(sum, acc[0]);
	panel_store(half, acc[1]);
	for (i = 0; i < 16; i++)
		sum[i] = (npu_s32)((npu_u32)sum[i] + (npu_u32)half[i]);
}

static npu_u32 sum_bytes(const npu_u8 *p, size_t n)
{
	npu_u32 sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += p[i];
	return sum;
}

static void row_sums(const struct npu_igemm_tile *t, npu_s64 rows, npu_s32 *sum)
{
	npu_u32 s;
	npu_s64 r;
	size_t i;

	for (r = 0; r < rows; r++) {
		s = 0;
		for (i = 0; i < t->num_segs; i++)
			s += sum_bytes(t->a + r * t->lda + t->seg[i].a, t->seg[i].bytes);
		sum[r] = (npu_s32)s;
	}
}

static void sub_rows(npu_s32 *restrict c, ptrdiff_t ldc, unsigned int rows, unsigned int cols,
		     const npu_s32 *restrict row, const npu_s32 *restrict zero)
{
	unsigned int r, j;

	for (r = 0; r < rows; r++, c += ldc)
		for (j = 0; j < cols; j++)
			c[j] = (npu_s32)((npu_u32)c[j] - (npu_u32)row[r] * (npu_u32)zero[j]);
}

static void planes3(npu_u8 *restrict dst, const npu_u8 *restrict src, ptrdiff_t step, size_t count,
		    npu_u8 flip)
{
	const npu_u8 *restrict b = src + step, *restrict c = b + step;
	size_t i;

	for (i = 0; i < count; i++) {
		dst[3 * i] = src[i] ^ flip;
		dst[3 * i + 1] = b[i] ^ flip;
		dst[3 * i + 2] = c[i] ^ flip;
	}
}

static void interleave(npu_u8 *restrict dst, const npu_u8 *restrict src, ptrdiff_t step)
{
	unsigned int j;

	for (j = 0; j < NPU_PANEL; j++) {
		dst[4 * j] = src[j];
		dst[4 * j + 1] = src[j + step];
		dst[4 * j + 2] = src[j + 2 * step];
		dst[4 * j + 3] = src[j + 3 * step];
	}
}

#define IGEMM_COMMON									\
	.copy = copy_codes, .col_sums = col_sums, .row_sums = row_sums, .sub_rows = sub_rows,	\
	.planes3 = planes3, .interleave = interleave
