/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: f32 matrix kernels. A tile is up to GEMM_MAX_ROWS rows (pixels) times some
 * columns (outputs) and the whole of K: every accumulator starts at +0 and runs through K in order
 * with fused multiply-adds, in registers. So vectors lie along the columns, never along K, and any
 * tiling gives the same bits.
 *
 * A is f32, read one element at a time: row r, position k of a segment is a[r * lda + seg.a + k]. B
 * is in panels of 16 columns; a convolution's taps are segments with their own place in both.
 */
#ifndef NPU_GEMM_H
#define NPU_GEMM_H

#include "npu_op.h"

#define GEMM_MAX_ROWS	24
#define GEMM_MAX_COLS	64

struct npu_gemm_seg {
	ptrdiff_t a;		/* floats from the tile's a */
	ptrdiff_t b;		/* k index in the panels */
	size_t len;		/* >= 1 */
};

struct npu_gemm_tile {
	const float *a;
	ptrdiff_t lda;		/* floats from row to row */
	const struct npu_gemm_seg *seg;
	size_t num_segs;
	const void *b;		/* first panel */
	ptrdiff_t b_panel;	/* bytes from panel to panel */
	/* result: row r, column j at c[r * ldc + j]; whole vectors are written */
	float *c;
	ptrdiff_t ldc;
};

typedef void (*npu_gemm_fn)(const struct npu_gemm_tile *t);

/* Columns of a tile: these kinds exist for all instruction sets. */
enum npu_gemm_kind { GEMM_8, GEMM_16, GEMM_24, GEMM_32, GEMM_64, GEMM_NUM_KINDS };

enum npu_gemm_b { GEMM_B_F32, GEMM_B_F16, GEMM_NUM_B };

struct npu_gemm {
	npu_u8 rows[GEMM_NUM_KINDS];	/* most rows of a tile; 0: no kernel of this kind */
	/*
	 * There is not a kernel for every number of rows (NULL), but one for 1:
	 * npu_gemm_tile_rows() picks.
	 */
	npu_gemm_fn fn[GEMM_NUM_B][GEMM_NUM_KINDS][GEMM_MAX_ROWS + 1];
	/* @n elements, @stride bytes apart, widened to f32 */
	void (*load_f32)(float *dst, const char *src, ptrdiff_t stride, size_t n);
	void (*load_f16)(float *dst, const char *src, ptrdiff_t stride, size_t n);
	void (*load_bf16)(float *dst, const char *src, ptrdiff_t stride, size_t n);
	enum npu_path path;
};

const struct npu_gemm *npu_gemm_select(enum npu_simd simd);
extern const struct npu_gemm npu_gemm_portable, npu_gemm_avx2, npu_gemm_avx512;

static inline unsigned int npu_gemm_cols(enum npu_gemm_kind kind)
{
	static const npu_u8 cols[] = { 8, 16, 24, 32, 64 };

	return cols[kind];
}

/* An estimate of the nanoseconds of one multiplication, for the size of chunks only. */
static inline double npu_gemm_ns(enum npu_simd simd)
{
	return simd == NPU_SIMD_AVX512 ? 0.012 : simd == NPU_SIMD_AVX2 ? 0.025 : 2.0;
}

/* The kernel for the next columns of @left ones when there are @rows rows. */
enum npu_gemm_kind npu_gemm_kind(const struct npu_gemm *g, npu_s64 left, npu_s64 rows);

/*
 * Rows of the next tile of @kind when @left are left: even parts rather than full tiles and a rest.
 */
unsigned int npu_gemm_tile_rows(const struct npu_gemm *g, enum npu_gemm_kind kind, npu_s64 left);

/* Weights' type as the kernels know it, or -1. */
int npu_gemm_b_type(unsigned int dtype);

/* @n elements of type @dtype (f32, f16, bf16) to f32. */
void npu_gemm_load(const struct npu_gemm *g, unsigned int dtype, float *dst, const char *src,
		   ptrdiff_t stride, size_t n);

#endif
