/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: depthwise kernels of 8-bit data with the four-way dot product.
 *
 * A quad is 32 bits: the codes of one channel of one column in four rows of the kernel. Where it
 * meets a quad of four weights one instruction does four taps of 16 channels. Codes are u8 (i8 ones
 * with the highest bit flipped), weights i8 less their zero point; the zero point of the codes
 * comes in through the accumulators' start.
 */
#ifndef NPU_DW8_H
#define NPU_DW8_H

#include "epilogue.h"

#define DW8_LANES	16
#define DW8_PIXELS	32	/* of a tile at most */

/*
 * One vector of channels of @count pixels: c[i * 16 + lane] = start[lane] + the sum over q < rows
 * and k < cols of quad[q * quad_row + k * quad_col + i * step + lane] times
 * w[(q * cols + k) * w_step + lane].
 */
struct npu_dw8_tile {
	const npu_u32 *quad;
	ptrdiff_t quad_row, quad_col, step;	/* quads */
	const npu_u32 *w;
	ptrdiff_t w_step;
	const npu_s32 *start;
	unsigned int rows, cols;
	npu_s32 *c;
	unsigned int count;
};

struct npu_dw8 {
	void (*tile)(const struct npu_dw8_tile *t);
	/*
	 * quad[i] = bytes i of the four rows, the first one lowest, each ^ @flip, for i < n rounded
	 * up to a whole number of 64.
	 */
	void (*interleave)(npu_u32 *quad, const npu_u8 *const row[4], size_t n, npu_u8 flip);
	/*
	 * The epilogue of @count pixels x channels [o, o + n), n <= 16, of the accumulators c[i *
	 * 16 + lane] (overwritten). Only where npu_dw8_finishes().
	 */
	void (*finish)(const struct npu_epi *e, npu_s32 *c, unsigned int count, npu_u32 o,
		       unsigned int n, const struct npu_epi_place *place);
};

/* NULL: this processor has no four-way dot product. */
const struct npu_dw8 *npu_dw8_select(enum npu_simd simd, bool vnni);
extern const struct npu_dw8 npu_dw8_avx512;

/* Dense output of codes, f32 or f16 that no residual, table or second activation takes part in. */
static inline bool npu_dw8_finishes(const struct npu_epi *e)
{
	bool codes = (e->out->dtype == NPU_I8 || e->out->dtype == NPU_U8) &&
		     e->out->scale != 0.0f && e->out_chan == 1;
	bool real = (e->out->dtype == NPU_F32 && e->out_chan == 4) ||
		    (e->out->dtype == NPU_F16 && e->out_chan == 2);

	return (codes || real) && e->scale && !e->res && !e->act2 && !e->table;
}

#endif
