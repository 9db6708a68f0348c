/* SPDX-License-Identifier: MIT */
/* Engine internal: the weights of an integer convolution as the matrix kernels take them. */
#ifndef NPU_CONV_INT_H
#define NPU_CONV_INT_H

#include "conv.h"
#include "igemm.h"

/*
 * K is cut into units that lie side by side both in a row of pixels and in the weights: a row of
 * taps, or where taps are apart (dilation, groups, transposed) one tap. A unit begins with a quad.
 */
struct npu_conv_units {
	const struct npu_conv *c;
	const struct npu_igemm *gemm;
	bool rows;			/* a unit is a row of taps */
	npu_s64 num, bytes, quads;	/* units, codes and quads of one */
	npu_s64 num_panels;		/* of one group */
	npu_s32 x_zero;			/* shifted */
	npu_u8 a_flip, b_flip;		/* b_flip: of the panels */
	const npu_s32 *w_zero;		/* shifted, by output; NULL: all zero */
	bool packed;			/* panels are a copy: i8 codes, units filled with zeros */
	bool per_unit;			/* constants of each unit: not all take part everywhere */
	bool pointwise;			/* rows are matrix rows, filled with zeros (igemm_rows.h) */
	const npu_u8 *panels;
	ptrdiff_t b_panel;		/* bytes from panel to panel */
	/*
	 * NULL: all zero but for the bias. Else by output, cols_stride apart for each unit:
	 * K zx zw - zx sum w, without per_unit added to the bias. With pointwise not filled in, but
	 * there for npu_igemm_rows.
	 */
	npu_s32 *cols;
	npu_s64 cols_stride;
};

/* False when the weights are of no use to the kernels, or too large to be copied. */
bool npu_conv_units_init(struct npu_conv_units *u, const struct npu_exec *x,
			 const struct npu_conv *c, bool pointwise);

/*
 * Reserve memory (which moves c's vectors), copy the weights if needed and sum them up. Returns
 * what npu_exec_parallel() returned, or -ENOMEM.
 */
int npu_conv_units_make(struct npu_exec *x, struct npu_conv *c, struct npu_conv_units *u);

#endif
