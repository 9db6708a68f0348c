/* SPDX-License-Identifier: MIT */
/* One code of a quad of NPU_LAYOUT_GROUPED16; npu_isa.h says how they lie. */
#ifndef NPU_GROUPED_H
#define NPU_GROUPED_H

#include "npu_isa.h"

/* Bytes of a quad of a panel: 16 outputs times 4 consecutive k. */
static inline unsigned int npu_grouped_quad_bytes(unsigned int bits)
{
	return bits * 8;
}

/* Code of output @lane at position @k of the quad, of 4, 5, 6 or 8 bits. */
static inline unsigned int npu_grouped_get(const npu_u8 *quad, unsigned int bits, unsigned int lane,
					   unsigned int k)
{
	unsigned int i = lane * 4 + k, code;

	if (bits == 8)
		return quad[i];
	code = quad[i % 32] >> (i / 32 * 4) & 15;
	if (bits == 5)
		code |= (quad[32 + i / 8] >> i % 8 & 1u) << 4;
	else if (bits == 6)
		code |= (quad[32 + i % 16] >> i / 16 * 2 & 3u) << 4;
	return code;
}

/* The same the other way round, into a quad whose bits for this code are 0. */
static inline void npu_grouped_put(npu_u8 *quad, unsigned int bits, unsigned int lane,
				   unsigned int k, unsigned int code)
{
	unsigned int i = lane * 4 + k;

	if (bits == 8) {
		quad[i] = code;
		return;
	}
	quad[i % 32] |= (code & 15) << (i / 32 * 4);
	if (bits == 5)
		quad[32 + i / 8] |= (code >> 4 & 1) << i % 8;
	else if (bits == 6)
		quad[32 + i % 16] |= (code >> 4 & 3) << i / 16 * 2;
}

#endif
