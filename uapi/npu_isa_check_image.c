// SPDX-License-Identifier: MIT
/* Static checks of pooling, resampling and colour conversion. */
#include "npu_isa_priv.h"

/* [N, H, W, C] on both sides, with N and C the same. */
static int check_images(struct npu_check *c, unsigned int out, unsigned int in)
{
	return npu_want_dim(c, out, 0, c->op[in].dim[0], "the batch of in") ?:
	       npu_want_dim(c, out, 3, c->op[in].dim[3], "channels of in");
}

int npu_check_pool(struct npu_check *c)
{
	const struct npu_operand *out = &c->op[NPU_POOL_OUT];
	const npu_u32 *p = c->param;
	unsigned int i;

	if (check_images(c, NPU_POOL_OUT, NPU_POOL_IN))
		return -EINVAL;
	for (i = 0; i < 2; i++) {
		npu_u64 last = (npu_u64)(out->dim[1 + i] - 1) * p[NPU_POOL_P_STRIDE_H + i] +
			       (npu_u64)(p[NPU_POOL_P_KERNEL_H + i] - 1) * p[NPU_POOL_P_DIL_H + i];

		if (last > NPU_MAX_DIM / 2)
			return check_fail(c, SHAPE, NPU_POOL_OUT, 1 + i, last,
					  "out dim %u reaches position %llu, expected at most %u",
					  1 + i, (unsigned long long)last, NPU_MAX_DIM / 2);
	}
	return 0;
}

static int check_scale(struct npu_check *c, unsigned int param)
{
	float scale = npu_param_f32(c->param[param]);

	if (scale > 0)
		return 0;
	return check_fail(c, PARAM, NPU_NO_FIELD, param, c->param[param],
			  "parameter %s is %g, expected > 0", c->insn->desc->params[param].name,
			  (double)scale);
}

int npu_check_resize(struct npu_check *c)
{
	return check_images(c, NPU_RESIZE_OUT, NPU_RESIZE_IN) ?:
	       check_scale(c, NPU_RESIZE_P_SCALE_H) ?: check_scale(c, NPU_RESIZE_P_SCALE_W);
}

int npu_check_crop_resize(struct npu_check *c)
{
	npu_u32 boxes = c->op[NPU_CROP_RESIZE_OUT].dim[0];

	return npu_want_dim(c, NPU_CROP_RESIZE_OUT, 3, c->op[NPU_CROP_RESIZE_IN].dim[3],
			    "channels of in") ?:
		       npu_want_dim(c, NPU_CROP_RESIZE_BOXES, 0, boxes, "boxes")      ?:
		       npu_want_dim(c, NPU_CROP_RESIZE_BOXES, 1, 4, "y0, x0, y1, x1") ?:
		       npu_want_vector(c, NPU_CROP_RESIZE_BATCH, boxes, "boxes");
}

static int want_even(struct npu_check *c, unsigned int slot, unsigned int dim)
{
	npu_u32 got = c->op[slot].dim[dim];

	if (got % 2 == 0)
		return 0;
	return check_fail(c, SHAPE, slot, dim, got,
			  "%s dim %u is %u, expected an even size for this format",
			  c->insn->desc->slots[slot].name, dim, got);
}

static int check_chroma(struct npu_check *c)
{
	const struct npu_operand *in = &c->op[NPU_COLOR_IN];

	return npu_want_present(c, NPU_COLOR_CHROMA, "by nv12") ?:
	       npu_want_rank(c, NPU_COLOR_IN, 3, "a plane of luma") ?:
	       want_even(c, NPU_COLOR_IN, 1) ?: want_even(c, NPU_COLOR_IN, 2) ?:
	       npu_want_dim(c, NPU_COLOR_CHROMA, 0, in->dim[0], "the batch of in") ?:
	       npu_want_dim(c, NPU_COLOR_CHROMA, 1, in->dim[1] / 2, "half the height") ?:
	       npu_want_dim(c, NPU_COLOR_CHROMA, 2, in->dim[2] / 2, "half the width") ?:
	       npu_want_dim(c, NPU_COLOR_CHROMA, 3, 2, "u and v");
}

/* Without BOX pixels stay where they are; with it there is one for each image of out. */
static int check_box(struct npu_check *c)
{
	const struct npu_operand *out = &c->op[NPU_COLOR_OUT], *in = &c->op[NPU_COLOR_IN];
	unsigned int i;

	if (npu_insn_slot(c->insn, NPU_COLOR_BOX)->dtype == NPU_NONE) {
		for (i = 0; i < 3; i++)
			if (npu_want_dim(c, NPU_COLOR_IN, i, out->dim[i], "that of out"))
				return -EINVAL;
		return 0;
	}
	if (in->dim[0] != 1 && npu_want_dim(c, NPU_COLOR_IN, 0, out->dim[0], "the batch of out"))
		return -EINVAL;
	return npu_want_dim(c, NPU_COLOR_BOX, 0, out->dim[0], "the batch of out") ?:
	       npu_want_dim(c, NPU_COLOR_BOX, 1, 4, "y0, x0, y1, x1");
}

static int check_color_params(struct npu_check *c, npu_u32 format)
{
	npu_u32 limit = npu_insn_param(c->insn, NPU_COLOR_P_LIMIT);

	if (npu_param_f32(limit) < 0)
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_COLOR_P_LIMIT, limit,
				  "parameter limit is %g, expected >= 0",
				  (double)npu_param_f32(limit));
	if (npu_insn_param(c->insn, NPU_COLOR_P_SWAP) && format != NPU_COLOR_YUYV)
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_COLOR_P_SWAP, 1,
				  "parameter swap is 1, expected 0 but with yuyv");
	return 0;
}

int npu_check_color(struct npu_check *c)
{
	npu_u32 format = c->param[NPU_COLOR_P_FORMAT];

	if (npu_want_dim(c, NPU_COLOR_OUT, 3, 3, "components") ||
	    npu_want_vector(c, NPU_COLOR_MATRIX, 18, "coefficients") || check_box(c) ||
	    check_color_params(c, format))
		return -EINVAL;
	if (format == NPU_COLOR_NV12)
		return check_chroma(c);
	if (npu_want_absent(c, NPU_COLOR_CHROMA, "but with nv12") ||
	    npu_want_rank(c, NPU_COLOR_IN, 4, "an interleaved image"))
		return -EINVAL;
	if (format == NPU_COLOR_YUYV)
		return want_even(c, NPU_COLOR_IN, 2) ?:
			       npu_want_dim(c, NPU_COLOR_IN, 3, 2, "y and u or v");
	return npu_want_dim(c, NPU_COLOR_IN, 3, 3, "components");
}
