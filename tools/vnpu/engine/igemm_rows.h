/* SPDX-License-Identifier: MIT */
/* Engine internal: rows of codes times panels; MATMUL and CONV of 1x1 are such products. */
#ifndef NPU_IGEMM_ROWS_H
#define NPU_IGEMM_ROWS_H

#include "igemm_tiles.h"

/* Where one matrix of a batch lies. */
struct npu_igemm_at {
	const char *a;
	const npu_u8 *b;
	npu_s64 b_index;		/* of b's matrix, for the sums of its columns */
	struct npu_epi_place place;
};

struct npu_igemm_rows {
	npu_s64 m, k, n, batch;
	npu_s64 a_row, a_k;		/* bytes from row to row, from k to k + 1 */
	npu_u8 a_flip, b_flip;
	npu_s32 x_zero;			/* shifted zero point of the rows */
	/* shifted zero points of the columns, readable in whole panels; NULL: all zero */
	const npu_s32 *w_zero;
	npu_s64 b_matrices;		/* how many matrices b has */
	const npu_u8 *b;		/* the first of them; they follow each other densely */
	const struct npu_epi *epi;
	npu_epi_fn epi_fn;
	void (*at)(const struct npu_igemm_rows *g, npu_s64 batch, struct npu_igemm_at *at);
	const void *arg;
	/*
	 * npu_igemm_rows_bytes() of memory for the constants of the columns that stays in place
	 * while the instruction runs.
	 */
	npu_s32 *cols;

	/* chosen by npu_igemm_rows_run() */
	const struct npu_igemm *gemm;
	bool direct, zero_row, use_cols;
	npu_s64 strip, num_strips, block, num_blocks;
	ptrdiff_t lda;
};

/* Bytes of the constants of @n columns of @matrices matrices; SIZE_MAX when there are too many. */
size_t npu_igemm_cols_bytes(npu_s64 n, npu_s64 matrices);

/* Returns what npu_exec_parallel() returned, or -ENOMEM. */
int npu_igemm_rows_run(struct npu_exec *x, struct npu_igemm_rows *g);

#endif
