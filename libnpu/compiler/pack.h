/* SPDX-License-Identifier: MIT */
/*
 * Weights of convolutions and matrix products, brought into the device's layouts and put into the
 * weight section.
 */
#ifndef NPU_COMPILER_PACK_H
#define NPU_COMPILER_PACK_H

#include "compiler/lower.h"

/*
 * Where element (o, h, w, c) of a constant lies, in elements: o counts all outputs, c the channels
 * of one group.
 * @o_inner is the stride between outputs of one group; groups are @group_stride apart.
 */
struct npu_pack_source {
	const struct npu_gtensor *t;
	int64_t groups, outs;			/* outs: of one group */
	int64_t dim[3], stride[3];		/* kernel height, kernel width, channels */
	int64_t out_stride, group_stride;
	bool codes;		/* of 8-bit constants: as they are, for an integer instruction */
};

/*
 * Store as PANEL16 (@panel) or as [h][w][c][o] for one-channel groups, f16 or f32 as the program
 * wants it and the values allow; codes as PANEL16K4 or [h][w][c][o]. @view gets buffer, type,
 * layout and offset; the caller sets dims.
 */
int npu_pack_weight(struct npu_lower *l, const struct npu_pack_source *src, bool panel,
		    struct npu_lview *view);

#endif
