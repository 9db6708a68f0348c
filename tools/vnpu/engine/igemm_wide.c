// SPDX-License-Identifier: MIT
/*
 * A strip of many rows of codes times panels that are widened to 16 bits for all of them, some at a
 * time. The rows are widened tile by tile, for all of these panels.
 */
#include "igemm_tiles.h"

#define GROUP_BYTES	(24u << 10)	/* of widened panels that stay in the L1 cache */
#define WIDE_MAX	(256u << 10)	/* and what a part of an L2 cache takes */
#define ROWS_BYTES	(IGEMM_WIDE_ROWS * IGEMM_WIDE_ROW_WORDS * sizeof(npu_u32))

/* Panels at a time. */
static unsigned int group_panels(size_t quads)
{
	size_t n = GROUP_BYTES / (quads * IGEMM_WIDE_BYTES);

	return n < 1 ? 1 : n > IGEMM_MAX_PANELS ? IGEMM_MAX_PANELS : (unsigned int)n;
}

/* Strips may have fewer segments, and more panels at a time then. */
size_t npu_igemm_wide_bytes(const struct npu_igemm *g, npu_s64 quads)
{
	size_t panel = (size_t)quads * IGEMM_WIDE_BYTES;

	if (!g->wide || quads > (npu_s64)(WIDE_MAX / IGEMM_WIDE_BYTES))
		return 0;
	return ROWS_BYTES + (panel > GROUP_BYTES ? panel : GROUP_BYTES);
}

/* One group of panels; @b: widened, those of a panel side by side. */
struct group {
	const struct npu_igemm_strip *s;
	npu_u32 *a;
	npu_u8 *b;
	size_t quads;
	npu_s64 col, cols;
	ptrdiff_t width;
};

static void panels_widen(const struct group *g, unsigned int panels)
{
	const struct npu_igemm_strip *s = g->s;
	npu_u8 *dst = g->b;
	unsigned int p;
	size_t i;

	for (p = 0; p < panels; p++) {
		for (i = 0; i < s->num_segs; i++) {
			s->gemm->wide->panel(dst,
					     s->b + (g->col / NPU_PANEL + p) * s->b_panel +
						     s->seg[i].b * IGEMM_QUAD_BYTES,
					     s->seg[i].quads, s->b_flip);
			dst += s->seg[i].quads * IGEMM_WIDE_BYTES;
		}
	}
}

/* Where in the segments the next quad is. */
struct cursor {
	size_t seg, quad;
};

/* Up to IGEMM_WIDE_QUADS of some rows. */
static size_t rows_widen(const struct group *g, const npu_u8 *a, unsigned int rows,
			 struct cursor *at)
{
	const struct npu_igemm_strip *s = g->s;
	size_t done = 0, n;

	while (done < IGEMM_WIDE_QUADS && at->seg < s->num_segs) {
		n = s->seg[at->seg].quads - at->quad;
		n = n < IGEMM_WIDE_QUADS - done ? n : IGEMM_WIDE_QUADS - done;
		s->gemm->wide->rows(g->a + done, a + s->seg[at->seg].a + at->quad * 4, s->lda, rows,
				    n);
		done += n;
		at->quad += n;
		if (at->quad == s->seg[at->seg].quads)
			*at = (struct cursor){ at->seg + 1, 0 };
	}
	return done;
}

/* Some rows times all columns of the group. */
static void tiles(const struct group *g, npu_s64 row, unsigned int rows, npu_s32 *c)
{
	const struct npu_igemm_strip *s = g->s;
	struct cursor at = { 0, 0 };
	size_t first, n;
	const npu_u8 *b;
	npu_s64 j;
	bool half;

	for (first = 0; first < g->quads; first += n) {
		n = rows_widen(g, s->a + row * s->lda, rows, &at);
		b = g->b + first * IGEMM_WIDE_BYTES;
		for (j = 0; j < g->cols; j += NPU_PANEL, b += g->quads * IGEMM_WIDE_BYTES) {
			half = g->cols - j <= NPU_PANEL / 2;
			s->gemm->wide->tile[half][rows](g->a, b, n, c + j, g->width, first != 0);
		}
	}
}

static void group_run(const struct group *g, npu_s64 rows, npu_s32 *c)
{
	npu_s64 batch = npu_igemm_batch(g->quads, g->width), r = 0, done, left;
	unsigned int n;

	while (r < rows) {
		done = 0;
		do {
			left = rows - r - done;
			n = left < IGEMM_WIDE_ROWS	 ? (unsigned int)left :
			    left < 2 * IGEMM_WIDE_ROWS ? (unsigned int)(left + 1) / 2 :
							 IGEMM_WIDE_ROWS;
			tiles(g, r + done, n, c + done * g->width);
			done += n;
		} while (r + done < rows && done + IGEMM_WIDE_ROWS <= batch);
		npu_igemm_finish(g->s, r, (unsigned int)done, g->s->out0 + g->col, g->cols,
				 g->width, c);
		r += done;
	}
}

void npu_igemm_strip_wide(const struct npu_igemm_strip *s, npu_s64 rows, npu_s64 col, npu_s64 cols,
			  npu_s32 *c)
{
	struct group g = {
		.s = s,
		.a = s->wide,
		.b = (npu_u8 *)s->wide + ROWS_BYTES,
		.quads = npu_igemm_strip_quads(s),
		.col = col,
	};
	unsigned int most = group_panels(g.quads), panels;
	npu_s64 end = col + cols;

	for (; g.col < end; g.col += g.width) {
		g.cols = end - g.col < most * NPU_PANEL ? end - g.col : most * NPU_PANEL;
		panels = (unsigned int)(g.cols + NPU_PANEL - 1) / NPU_PANEL;
		g.width = panels * NPU_PANEL;
		panels_widen(&g, panels);
		group_run(&g, rows, c);
	}
}
