/* SPDX-License-Identifier: MIT */
/* Engine internal: a strip of rows of codes times panels of codes. */
#ifndef NPU_IGEMM_TILES_H
#define NPU_IGEMM_TILES_H

#include "epilogue.h"
#include "igemm.h"

struct npu_igemm_strip {
	const struct npu_igemm *gemm;
	const npu_u8 *a;
	ptrdiff_t lda;
	const struct npu_igemm_seg *seg;
	size_t num_segs;
	const npu_u8 *b;		/* panels of this group */
	ptrdiff_t b_panel;		/* bytes */
	npu_u8 b_flip;
	/*
	 * Shifted zero points of the outputs and the sum of each row, or both NULL: all zero. What
	 * is constant in a column is in epi->ibias, but with @zero_row.
	 */
	const npu_s32 *w_zero;
	const npu_s32 *row_sum;
	/*
	 * Few rows, where the panels are read once: one row more follows, all zero points of the
	 * rows, whose result is what the others' have too much. (Then npu_igemm_strip() takes as
	 * many rows as one tile has.)
	 */
	bool zero_row;
	npu_u32 k_zero;			/* K times the zero point, with @zero_row and @w_zero */
	const struct npu_epi *epi;
	npu_epi_fn epi_fn;
	void *wide;			/* npu_igemm_wide_bytes() of scratch */
	npu_s64 out0;			/* output channel of the group's first column */
	struct npu_epi_place place;	/* of the first row */
};

/*
 * Columns [col, col + cols) of @rows rows; col is a multiple of 16. @c: scratch of IGEMM_TILE_WORDS
 * words.
 */
#define IGEMM_TILE_WORDS	4096
void npu_igemm_strip(const struct npu_igemm_strip *s, npu_s64 rows, npu_s64 col, npu_s64 cols,
		     npu_s32 *c);

/* For strips of @quads of K in all their segments together. 0: none is needed. */
size_t npu_igemm_wide_bytes(const struct npu_igemm *g, npu_s64 quads);

/* Strips of @rows rows are widened. */
static inline bool npu_igemm_widens(const struct npu_igemm *g, npu_s64 quads, npu_s64 rows)
{
	return rows >= IGEMM_WIDE_MIN && npu_igemm_wide_bytes(g, quads);
}

/* The same as npu_igemm_strip() for many rows; s->gemm->wide and s->wide are there. */
void npu_igemm_strip_wide(const struct npu_igemm_strip *s, npu_s64 rows, npu_s64 col, npu_s64 cols,
			  npu_s32 *c);

/* Zero points off the sums of rows [r, r + rows), columns from @o on, and then the epilogue. */
void npu_igemm_finish(const struct npu_igemm_strip *s, npu_s64 r, unsigned int rows, npu_s64 o,
		      npu_s64 cols, ptrdiff_t width, npu_s32 *c);

/* Rows of the results that the epilogue takes at once. */
npu_s64 npu_igemm_batch(size_t quads, npu_s64 width);
size_t npu_igemm_strip_quads(const struct npu_igemm_strip *s);

#endif
