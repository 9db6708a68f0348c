/* SPDX-License-Identifier: MIT */
/* Engine internal: a strip of rows times panels. */
#ifndef NPU_GEMM_TILES_H
#define NPU_GEMM_TILES_H

#include "epilogue.h"
#include "gemm.h"

struct npu_gemm_strip {
	const struct npu_gemm *gemm;
	int b_type;			/* enum npu_gemm_b */
	const float *a;
	ptrdiff_t lda;
	const struct npu_gemm_seg *seg;
	size_t num_segs;
	const char *b;			/* panels of this group */
	ptrdiff_t b_panel;		/* bytes */
	const struct npu_epi *epi;
	npu_epi_fn epi_fn;
	npu_s64 out0;			/* output channel of the group's first column */
	struct npu_epi_place place;	/* of the first row */
};

/*
 * Columns [col, col + cols) of @rows rows; col is a multiple of 16. @c: scratch of GEMM_TILE_FLOATS
 * floats.
 */
#define GEMM_TILE_FLOATS	(GEMM_MAX_ROWS * GEMM_MAX_COLS)
void npu_gemm_strip(const struct npu_gemm_strip *s, npu_s64 rows, npu_s64 col, npu_s64 cols,
		    float *c);

#endif
