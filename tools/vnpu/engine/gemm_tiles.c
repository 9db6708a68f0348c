// SPDX-License-Identifier: MIT
/* One strip of rows of A times all panels of B, tile by tile, each finished by the epilogue while it is in the L1 cache. */
#include "gemm_tiles.h"

static npu_s64 min64(npu_s64 a, npu_s64 b)
{
	return a < b ? a : b;
}

void npu_gemm_strip(const struct npu_gemm_strip *s, npu_s64 rows, npu_s64 col, npu_s64 cols, float *c)
{
	struct npu_gemm_tile t = { .seg = s->seg, .num_segs = s->num_segs, .b_panel = s->b_panel, .c = c, .lda = s->lda };
	enum npu_gemm_kind kind;
	npu_s64 end = col + cols, width, r, n;
	struct npu_epi_place place;

	for (; col < end; col += width) {
		kind = npu_gemm_kind(s->gemm, end - col, rows);
		width = npu_gemm_cols(kind);
		t.b = s->b + col / NPU_PANEL * s->b_panel;
		t.ldc = width;
		for (r = 0; r < rows; r += n) {
			n = npu_gemm_tile_rows(s->gemm, kind, rows - r);
			t.a = s->a + r * s->lda;
			s->gemm->fn[s->b_type][kind][n](&t);
			place = s->place;
			place.out += r * place.out_step;
			if (place.res)
				place.res += r * place.res_step;
			s->epi_fn(s->epi, c, (size_t)width, (unsigned int)n, (npu_u32)(s->out0 + col),
				  (unsigned int)min64(width, end - col), &place);
		}
	}
}
