// SPDX-License-Identifier: MIT
/*
 * One strip of rows of codes times all panels, tile by tile, each finished by the epilogue while it
 * is in the L1 cache.
 */
#include "igemm_tiles.h"

#define FEW_QUADS	64	/* of K: then the epilogue takes the results of several tiles */

_Static_assert(IGEMM_MAX_ROWS * IGEMM_MAX_PANELS * NPU_PANEL <= IGEMM_TILE_WORDS, "a tile fits");

static npu_s64 min64(npu_s64 a, npu_s64 b)
{
	return a < b ? a : b;
}

/* Take off what the zero points of the rows and of the columns are too much. */
static void zeros_off(const struct npu_igemm_strip *s, npu_s64 r, unsigned int rows, npu_s64 o,
		      npu_s64 cols, ptrdiff_t width, npu_s32 *c)
{
	const npu_s32 *zero = c + (ptrdiff_t)rows * width;
	npu_u32 off[IGEMM_MAX_PANELS * NPU_PANEL];
	unsigned int i;
	npu_s64 j;

	if (s->zero_row) {
		for (j = 0; j < cols; j++)
			off[j] = (npu_u32)zero[j] -
				 (s->w_zero ? s->k_zero * (npu_u32)s->w_zero[o + j] : 0);
		for (i = 0; i < rows; i++)
			for (j = 0; j < cols; j++)
				c[i * width + j] = (npu_s32)((npu_u32)c[i * width + j] - off[j]);
	}
	if (s->row_sum)
		s->gemm->sub_rows(c, width, rows, (unsigned int)cols, s->row_sum + r,
				  s->w_zero + o);
}

size_t npu_igemm_strip_quads(const struct npu_igemm_strip *s)
{
	size_t sum = 0, i;

	for (i = 0; i < s->num_segs; i++)
		sum += s->seg[i].quads;
	return sum;
}

npu_s64 npu_igemm_batch(size_t quads, npu_s64 width)
{
	return quads <= FEW_QUADS ? IGEMM_TILE_WORDS / width : 1;
}

void npu_igemm_finish(const struct npu_igemm_strip *s, npu_s64 r, unsigned int rows, npu_s64 o,
		      npu_s64 cols, ptrdiff_t width, npu_s32 *c)
{
	struct npu_epi_place place = s->place;

	if (s->zero_row || s->row_sum)
		zeros_off(s, r, rows, o, cols, width, c);
	place.out += r * place.out_step;
	if (place.res)
		place.res += r * place.res_step;
	s->epi_fn(s->epi, (float *)(void *)c, (size_t)width, rows, (npu_u32)o, (unsigned int)cols,
		  &place);
}

/* The columns of @panels panels of all rows. */
static void columns(const struct npu_igemm_strip *s, npu_s64 rows, npu_s64 col, npu_s64 cols,
		    unsigned int panels, npu_s32 *c)
{
	npu_s64 width = npu_igemm_width(panels), all = rows + s->zero_row, done, r = 0, n;
	npu_s64 batch = s->zero_row ? all : npu_igemm_batch(npu_igemm_strip_quads(s), width);
	struct npu_igemm_tile t = {
		.seg = s->seg,
		.num_segs = s->num_segs,
		.b_panel = s->b_panel,
		.b_flip = s->b_flip,
		.lda = s->lda,
		.ldc = width,
		.b = s->b + col / NPU_PANEL * s->b_panel,
	};

	while (r < rows) {
		for (done = 0; r + done < all && done < batch; done += n) {
			/* one tile, or as many as the batch takes */
			n = batch == 1 ? all - r : min64(all - r, batch) - done;
			n = npu_igemm_tile_rows(s->gemm, panels, n);
			t.a = s->a + (r + done) * s->lda;
			t.c = c + done * width;
			s->gemm->fn[panels][n](&t);
		}
		done -= s->zero_row;
		npu_igemm_finish(s, r, (unsigned int)done, s->out0 + col, cols, width, c);
		r += done;
	}
}

void npu_igemm_strip(const struct npu_igemm_strip *s, npu_s64 rows, npu_s64 col, npu_s64 cols,
		     npu_s32 *c)
{
	npu_s64 end = col + cols, width;
	unsigned int panels;

	if (s->wide && rows >= IGEMM_WIDE_MIN && !s->zero_row && s->num_segs) {
		npu_igemm_strip_wide(s, rows, col, cols, c);
		return;
	}
	for (; col < end; col += width) {
		panels = npu_igemm_panels(s->gemm, end - col, rows + s->zero_row);
		width = npu_igemm_width(panels);
		columns(s, rows, col, min64(width, end - col), panels, c);
	}
}
