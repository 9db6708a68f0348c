/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: plain matrix product, rows of A times panels of B; MATMUL and 1x1 convolutions.
 */
#ifndef NPU_GEMM_ROWS_H
#define NPU_GEMM_ROWS_H

#include "gemm_tiles.h"

/* Where the matrices of one batch are. */
struct npu_gemm_at {
	const char *a;
	const char *b;			/* panels */
	struct npu_epi_place place;	/* row 0 */
};

struct npu_gemm_rows {
	npu_s64 m, k, n, batch;
	unsigned int a_type;		/* f32, f16 or bf16 */
	ptrdiff_t a_row, a_k;		/* bytes from row to row, from k to k */
	int b_type;			/* enum npu_gemm_b */
	const struct npu_epi *epi;
	npu_epi_fn epi_fn;
	void (*at)(const struct npu_gemm_rows *g, npu_s64 batch, struct npu_gemm_at *at);
	const void *arg;		/* at()'s */

	/* npu_gemm_rows_run()'s */
	const struct npu_gemm *gemm;
	npu_s64 strip, num_strips;	/* rows */
	npu_s64 block, num_blocks;	/* columns that one item computes */
	ptrdiff_t lda;
	bool direct;			/* A is read where it is */
};

int npu_gemm_rows_run(struct npu_exec *x, struct npu_gemm_rows *g);

#endif
