/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: the slab. The input rows that an output row of a convolution needs are widened
 * to f32 once, with their padding, into a ring of rows in the worker's scratch. The next output row
 * finds most of them there. Codes of 8 bits become code - zero point, exactly.
 */
#ifndef NPU_SLAB_H
#define NPU_SLAB_H

#include "conv.h"
#include "dw.h"
#include "gemm.h"

struct npu_slab {
	const struct npu_conv *c;
	const struct npu_gemm *gemm;
	npu_s64 ring;			/* rows */
	npu_s64 tile_w, num_tiles;	/* output columns of a tile */
	npu_s64 cols;			/* input columns of a tile, padding included */
	npu_s64 row_floats;
	bool planar;			/* [channel][column] instead of [column][channel] */
	/* not NULL: [vector of channels][column][lane], one vector is cols * lanes floats */
	const struct npu_dw *dw;
	npu_dw_codes_fn codes;		/* loads 8-bit input */
};

/* A worker's part. */
struct npu_slab_ring {
	/* ring + 1 rows; the last one is all zero once it is asked for */
	float *rows;
	bool zeroed;
	npu_s64 *loaded;		/* input row in each slot, or -1 */
	npu_s64 n, t;			/* batch and tile that the ring holds, or -1 */
	npu_s64 x0, x1;			/* output columns of the tile */
	npu_s64 col0;			/* input column of the slab's first */
};

/*
 * Choose tiles; s->dw is set before. @slack: floats that kernels may read past the end of a row.
 * False when the slab would be too large.
 */
bool npu_slab_plan(struct npu_slab *s, const struct npu_conv *c, const struct npu_gemm *gemm,
		   npu_s64 slack);

/* A ring in npu_slab_bytes() of scratch. */
size_t npu_slab_bytes(const struct npu_slab *s);
void npu_slab_ring_init(const struct npu_slab *s, struct npu_slab_ring *r, void *mem);

/* Turn to a tile; forgets the rows when it is another one. */
void npu_slab_move(const struct npu_slab *s, struct npu_slab_ring *r, npu_s64 n, npu_s64 t);

/*
 * Floats from r->rows to input row @ih: loaded when it is not there yet, the row of zeros when it
 * is padding.
 */
npu_s64 npu_slab_row(const struct npu_slab *s, struct npu_slab_ring *r, npu_s64 ih);

/* Input columns that the output columns [x0, x1) need: the first and how many. */
void npu_slab_tile_cols(const struct npu_conv *c, npu_s64 x0, npu_s64 x1, npu_s64 *first,
			npu_s64 *count);

/*
 * Input position of output @o under tap @k of a transposed convolution; false when there is none.
 */
bool npu_deconv_tap(npu_s64 o, npu_s64 k, npu_s64 pad, npu_s64 dil, npu_s64 stride, npu_s64 size,
		    npu_s64 *i);
/* How many of the columns x, x + stride_w, ... before x1 have the same taps. */
npu_s64 npu_deconv_count(const struct npu_conv *c, npu_s64 x, npu_s64 x1);

static inline npu_s64 npu_floor_div(npu_s64 a, npu_s64 b)
{
	return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static inline npu_s64 npu_ceil_div(npu_s64 a, npu_s64 b)
{
	return -npu_floor_div(-a, b);
}

#endif
