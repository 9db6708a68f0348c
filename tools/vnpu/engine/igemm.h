/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: integer matrix kernels. Products of 8-bit codes are summed exactly in i32, so
 * any order gives the same bits.
 *
 * The kernels know one combination, u8 rows times i8 panels. Other types come to it by flipping the
 * highest bit: an i8 code x is the u8 code x + 128, a u8 code w the i8 code w - 128, and so are
 * their zero points. Here a "shifted" code or zero point is one in those terms. Zero points are
 * not subtracted from the codes but from the sums:
 *
 *	sum (x - zx)(w - zw) = sum xw - zx sum w - zw sum x + K zx zw
 *
 * where the second and the last term are a constant of the column, added with the bias, and the
 * third is left out for the many weights whose shifted zero point is 0.
 *
 * A quad is four consecutive k of a row, and 64 bytes of a panel (PANEL16K4): 16 columns times four
 * k. K that is no multiple of 4 is filled up so that the products are 0.
 */
#ifndef NPU_IGEMM_H
#define NPU_IGEMM_H

#include "npu_op.h"

#define IGEMM_MAX_ROWS	16
#define IGEMM_MAX_PANELS	4	/* side by side in a tile */
#define IGEMM_QUAD_BYTES	64	/* of a panel */

struct npu_igemm_seg {
	ptrdiff_t a;		/* bytes from the tile's a */
	ptrdiff_t b;		/* quads from the panel's first */
	size_t quads;		/* >= 1 */
	size_t bytes;		/* of a row, without what fills up the last quad */
};

struct npu_igemm_tile {
	const npu_u8 *a;	/* shifted codes; whole quads are read */
	ptrdiff_t lda;		/* bytes from row to row */
	const struct npu_igemm_seg *seg;
	size_t num_segs;
	const npu_u8 *b;	/* first panel */
	ptrdiff_t b_panel;	/* bytes from panel to panel */
	npu_u8 b_flip;		/* 0x80: the panels hold u8 codes, 0: i8 */
	/* result: row r, column j at c[r * ldc + j] */
	npu_s32 *c;
	ptrdiff_t ldc;
};

typedef void (*npu_igemm_fn)(const struct npu_igemm_tile *t);

/*
 * Where there is no instruction for four products of bytes: codes are widened to 16 bits and
 * multiplied in pairs, which is exact. Both sides are widened before the loop, even codes of a quad
 * apart from odd ones, for several tiles at once.
 */
#define IGEMM_WIDE_ROWS		6
#define IGEMM_WIDE_MIN		12	/* rows that are worth it */
#define IGEMM_WIDE_QUADS	128	/* of a row at a time */
#define IGEMM_WIDE_STEP		(IGEMM_WIDE_QUADS + 16)	/* words from even to odd pairs of a row */
#define IGEMM_WIDE_ROW_WORDS	(2 * IGEMM_WIDE_STEP)
#define IGEMM_WIDE_BYTES	128	/* of a quad of a panel */

typedef void (*npu_igemm_wide_fn)(const npu_u32 *a, const npu_u8 *b, size_t quads, npu_s32 *c,
				  ptrdiff_t ldc, bool add);

struct npu_igemm_wide {
	/*
	 * Quads of @rows rows: row r's to pairs from dst[r * IGEMM_WIDE_ROW_WORDS] on. Up to 7
	 * words behind them are overwritten.
	 */
	void (*rows)(npu_u32 *dst, const npu_u8 *src, ptrdiff_t lda, unsigned int rows,
		     size_t quads);
	void (*panel)(npu_u8 *dst, const npu_u8 *src, size_t quads, npu_u8 flip);
	/* By rows, and 1: of the first half of a panel only. @add: to what is in c. */
	npu_igemm_wide_fn tile[2][IGEMM_WIDE_ROWS + 1];
};

struct npu_igemm {
	/*
	 * by panels of a tile, 0 being the first half of one: most rows; 0: there is no such tile
	 */
	npu_u8 rows[IGEMM_MAX_PANELS + 1];
	/* Not for every number of rows (NULL), but for 1: npu_igemm_tile_rows() picks. */
	npu_igemm_fn fn[IGEMM_MAX_PANELS + 1][IGEMM_MAX_ROWS + 1];
	/* @n codes with the highest bit flipped, or as they are */
	void (*copy)(npu_u8 *dst, const npu_u8 *src, size_t n, npu_u8 flip);
	/* sum[j] = sum of the @k codes of column j of one panel, shifted */
	void (*col_sums)(const npu_u8 *panel, size_t k, npu_u8 flip, npu_s32 sum[16]);
	/* sum[r] = sum of the codes that row r of the tile reads; @rows of any number */
	void (*row_sums)(const struct npu_igemm_tile *t, npu_s64 rows, npu_s32 *sum);
	/* c[r][j] -= row[r] * zero[j] */
	void (*sub_rows)(npu_s32 *c, ptrdiff_t ldc, unsigned int rows, unsigned int cols,
			 const npu_s32 *row, const npu_s32 *zero);
	/* @count pixels of three planes, @step apart, to pixels side by side, flipped or not */
	void (*planes3)(npu_u8 *dst, const npu_u8 *src, ptrdiff_t step, size_t count, npu_u8 flip);
	/* four rows of 16 bytes, @step apart, to one quad of a panel */
	void (*interleave)(npu_u8 *dst, const npu_u8 *src, ptrdiff_t step);
	const struct npu_igemm_wide *wide;	/* NULL: there is something better */
	double ns;		/* estimated time of one product, for the size of chunks only */
	enum npu_path path;
};

const struct npu_igemm *npu_igemm_select(enum npu_simd simd, bool vnni);
extern const struct npu_igemm npu_igemm_portable, npu_igemm_avx2, npu_igemm_avxvnni,
	npu_igemm_avx512, npu_igemm_avx512vnni;

/* Panels of the next tile when @left columns are left and there are @rows rows; 0: half a panel. */
unsigned int npu_igemm_panels(const struct npu_igemm *g, npu_s64 left, npu_s64 rows);

/* Columns of a tile. */
static inline npu_s64 npu_igemm_width(unsigned int panels)
{
	return panels ? panels * NPU_PANEL : NPU_PANEL / 2;
}

/* Rows of the next tile of @panels: even parts rather than full tiles and a rest. */
unsigned int npu_igemm_tile_rows(const struct npu_igemm *g, unsigned int panels, npu_s64 left);

/* What to flip in codes of this type on the side of the rows, and on that of the panels. */
static inline npu_u8 npu_igemm_a_flip(unsigned int dtype)
{
	return dtype == NPU_I8 ? 0x80 : 0;
}

static inline npu_u8 npu_igemm_b_flip(unsigned int dtype)
{
	return dtype == NPU_U8 ? 0x80 : 0;
}

/*
 * Shift @n zero points of weights in place. Returns them, or NULL when all are 0 then. They are
 * followed by as many zeros as fill up the last panel.
 */
npu_s32 *npu_igemm_shift_zeros(npu_s32 *zero, npu_s64 n, npu_u8 flip);

/* Words of the constants of @n columns, readable in whole tiles. */
static inline npu_s64 npu_igemm_cols_stride(npu_s64 n)
{
	return (n + NPU_PANEL - 1) / NPU_PANEL * NPU_PANEL + IGEMM_MAX_PANELS * NPU_PANEL;
}

static inline npu_s64 npu_igemm_quads(npu_s64 k)
{
	return (k + 3) / 4;
}

#endif
