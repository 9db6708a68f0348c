/* SPDX-License-Identifier: MIT */
/* Engine internal: what the kernels of MATMUL share. */
#ifndef NPU_MATMUL_H
#define NPU_MATMUL_H

#include "epilogue.h"

struct npu_matmul {
	const struct npu_operand *out, *a, *b;
	char *out_ptr;
	const char *a_ptr, *b_ptr, *res_ptr;
	struct npu_epi epi;
	npu_epi_fn epi_fn;
	npu_s64 m, k, n, batch;			/* batch: product of the leading dims of out */
	unsigned int rank;
	npu_s32 *b_zero;			/* per column, in whole panels; integer only */
	npu_s32 a_zero;
	bool integer;
	bool grouped;
	/* as many bytes of shared memory as the kernel asks for, aligned to 64 */
	char *pack_mem;
	const char *packed;			/* b as f32 panels, or NULL */
};

/* Where the matrices of one batch index begin. b_index counts the matrices of b. */
struct npu_matmul_batch {
	const char *a, *b;
	char *out;
	const char *res;
	npu_s64 b_index;
};

int npu_matmul_init(struct npu_matmul *m, struct npu_exec *x);
void npu_matmul_batch(const struct npu_matmul *m, npu_s64 batch, struct npu_matmul_batch *at);
/* Matrices of b; where matrix @index of a strided b begins. */
npu_s64 npu_matmul_b_count(const struct npu_matmul *m);
const char *npu_matmul_b_matrix(const struct npu_matmul *m, npu_s64 index);
/*
 * Whether all matrices of a batch use one b and their rows follow each other at one distance: then
 * they are one tall matrix.
 */
bool npu_matmul_batch_folds(const struct npu_matmul *m);
/* Row @row of a batch as an epilogue's place. */
void npu_matmul_place(const struct npu_matmul *m, const struct npu_matmul_batch *at, npu_s64 row,
		      struct npu_epi_place *place);

/* Float, by the matrix kernels: b in panels, or strided and packed first. */
bool npu_matmul_panel_can(const struct npu_matmul *m);
size_t npu_matmul_pack_bytes(const struct npu_matmul *m);
int npu_matmul_panel(struct npu_exec *x, struct npu_matmul *m);
int npu_matmul_strided(struct npu_exec *x, struct npu_matmul *m);
/* Codes: b in panels, or packed first. */
bool npu_matmul_int_can(const struct npu_matmul *m);
size_t npu_matmul_int_bytes(const struct npu_matmul *m);
int npu_matmul_int(struct npu_exec *x, struct npu_matmul *m);
/* Codes in groups beside rows of codes, beside float rows, and beside any. */
bool npu_matmul_grouped_can(struct npu_exec *x, struct npu_matmul *m);
size_t npu_matmul_grouped_bytes(struct npu_exec *x, struct npu_matmul *m);
int npu_matmul_grouped(struct npu_exec *x, struct npu_matmul *m);
bool npu_matmul_grouped_float_can(const struct npu_matmul *m);
size_t npu_matmul_grouped_float_bytes(const struct npu_matmul *m);
int npu_matmul_grouped_float(struct npu_exec *x, struct npu_matmul *m);
int npu_matmul_grouped_generic(struct npu_exec *x, struct npu_matmul *m);
/* Anything. */
int npu_matmul_generic(struct npu_exec *x, struct npu_matmul *m);

#endif
