// SPDX-License-Identifier: MIT
/*
 * One strip of rows of A times all panels of B, tile by tile, each finished by the epilogue while
 * it is in the L1 cache.
 */
#include "gemm_tiles.h"

static npu_s64 min64(npu_s64 a, npu_s64 b)
{
	return a < b ? a : b;
}

/*
 * Rows that go through the epilogue together: where a row is short, the epilogue works along the
 * rows.
 */
static npu_s64 batch_rows(enum npu_gemm_kind kind)
{
	return kind == GEMM_8 ? GEMM_TILE_FLOATS / 3 / 8 : 1;
}

/* One group of columns of all rows. */
static void columns(const struct npu_gemm_strip *s, npu_s64 rows, npu_s64 col, npu_s64 cols,
		    enum npu_gemm_kind kind, float *c)
{
	npu_s64 width = npu_gemm_cols(kind), batch = batch_rows(kind), done, r = 0, n;
	struct npu_gemm_tile t = {
		.seg = s->seg,
		.num_segs = s->num_segs,
		.b_panel = s->b_panel,
		.lda = s->lda,
		.ldc = width,
		.b = s->b + col / NPU_PANEL * s->b_panel,
	};
	struct npu_epi_place place;

	while (r < rows) {
		for (done = 0; r + done < rows && done < batch; done += n) {
			n = npu_gemm_tile_rows(s->gemm, kind, rows - r - done);
			t.a = s->a + (r + done) * s->lda;
			t.c = c + done * width;
			s->gemm->fn[s->b_type][kind][n](&t);
		}
		place = s->place;
		place.out += r * place.out_step;
		if (place.res)
			place.res += r * place.res_step;
		s->epi_fn(s->epi, c, (size_t)width, (unsigned int)done, (npu_u32)(s->out0 + col),
			  (unsigned int)cols, &place);
		r += done;
	}
}

void npu_gemm_strip(const struct npu_gemm_strip *s, npu_s64 rows, npu_s64 col, npu_s64 cols,
		    float *c)
{
	enum npu_gemm_kind kind;
	npu_s64 end = col + cols, width;

	for (; col < end; col += width) {
		kind = npu_gemm_kind(s->gemm, end - col, rows);
		width = npu_gemm_cols(kind);
		columns(s, rows, col, min64(width, end - col), kind, c);
	}
}
