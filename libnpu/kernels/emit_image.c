// SPDX-License-Identifier: MIT
/* Builders of pooling, resampling and colour conversion. */
#include "kernels/emit.h"

int npu_emit_pool(struct npu_stream_builder *b, const struct npu_pool_args *a)
{
	const struct npu_param_len lens[] = {
		{ NPU_POOL_P_KERNEL_H, a->kernel_h }, { NPU_POOL_P_KERNEL_W, a->kernel_w },
	};
	SLOTS(POOL);
	PARAMS(POOL);

	t[NPU_POOL_OUT] = a->out;
	t[NPU_POOL_IN] = a->in;
	p[NPU_POOL_P_KIND] = a->kind;
	p[NPU_POOL_P_STRIDE_H] = emit_or_one(a->stride_h);
	p[NPU_POOL_P_STRIDE_W] = emit_or_one(a->stride_w);
	p[NPU_POOL_P_DIL_H] = emit_or_one(a->dil_h);
	p[NPU_POOL_P_DIL_W] = emit_or_one(a->dil_w);
	p[NPU_POOL_P_PAD_TOP] = a->pad_top;
	p[NPU_POOL_P_PAD_LEFT] = a->pad_left;
	p[NPU_POOL_P_PAD_BOTTOM] = a->pad_bottom;
	p[NPU_POOL_P_PAD_RIGHT] = a->pad_right;
	p[NPU_POOL_P_INCLUDE_PAD] = a->include_pad;
	return npu_stream_emit_tensors(b, NPU_OP_POOL, t, p, lens, 2, a->tag);
}

int npu_emit_resize(struct npu_stream_builder *b, const struct npu_resize_args *a)
{
	SLOTS(RESIZE);
	PARAMS(RESIZE);

	t[NPU_RESIZE_OUT] = a->out;
	t[NPU_RESIZE_IN] = a->in;
	p[NPU_RESIZE_P_MODE] = a->mode;
	p[NPU_RESIZE_P_COORD] = a->coord;
	p[NPU_RESIZE_P_NEAREST] = a->nearest;
	p[NPU_RESIZE_P_SCALE_H] = emit_f32(a->scale_h);
	p[NPU_RESIZE_P_SCALE_W] = emit_f32(a->scale_w);
	p[NPU_RESIZE_P_CUBIC_A] = emit_f32(a->cubic_a);
	p[NPU_RESIZE_P_EXCLUDE_OUTSIDE] = a->exclude_outside;
	return EMIT(RESIZE);
}

int npu_emit_crop_resize(struct npu_stream_builder *b, const struct npu_crop_resize_args *a)
{
	SLOTS(CROP_RESIZE);
	PARAMS(CROP_RESIZE);

	t[NPU_CROP_RESIZE_OUT] = a->out;
	t[NPU_CROP_RESIZE_IN] = a->in;
	t[NPU_CROP_RESIZE_BOXES] = a->boxes;
	t[NPU_CROP_RESIZE_BATCH] = a->batch;
	p[NPU_CROP_RESIZE_P_FILL] = emit_f32(a->fill);
	return EMIT(CROP_RESIZE);
}

int npu_emit_color(struct npu_stream_builder *b, const struct npu_color_args *a)
{
	SLOTS(COLOR);
	PARAMS(COLOR);

	t[NPU_COLOR_OUT] = a->out;
	t[NPU_COLOR_IN] = a->in;
	t[NPU_COLOR_CHROMA] = a->chroma;
	t[NPU_COLOR_MATRIX] = a->matrix;
	t[NPU_COLOR_BOX] = a->box;
	p[NPU_COLOR_P_FORMAT] = a->format;
	p[NPU_COLOR_P_LIMIT] = emit_f32(a->limit);
	p[NPU_COLOR_P_SWAP] = a->swap;
	return EMIT(COLOR);
}
