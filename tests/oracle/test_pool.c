// SPDX-License-Identifier: MIT
/* POOL, RESIZE and CROP_RESIZE against the oracle. */
#include <string.h>
#include "../tap.h"
#include "harness.h"

static const unsigned char types[] = { NPU_F32, NPU_F16, NPU_BF16, NPU_I8, NPU_U8 };

static void images(struct tcase *c, npu_u32 *out)
{
	npu_u32 in[4] = { out[0], rng_range(1, 12), rng_range(1, 20), out[3] };
	unsigned int type = types[rng_below(5)];

	case_tensor(c, 0, rng_chance(4) ? types[rng_below(5)] : type, 4, out, CONTENTS_TAME);
	case_quantize(c, 0);
	case_tensor(c, 1, type, 4, in, rng_chance(8) ? CONTENTS_WILD : CONTENTS_TAME);
	case_quantize(c, 1);
}

static void make_pool(struct tcase *c)
{
	npu_u32 out[4] = { rng_range(1, 2), 1, 1, rng_range(1, rng_chance(2) ? 50 : 6) },
		*p = c->param;
	npu_u32 k, span;

	case_init(c, NPU_OP_POOL);
	images(c, out);
	p[NPU_POOL_P_KIND] = rng_below(NPU_NUM_POOLS);
	p[NPU_POOL_P_INCLUDE_PAD] = rng_below(2);
	for (int a = 0; a < 2; a++) {
		npu_u32 size = c->operand[1].dim[1 + a], *dil = &p[NPU_POOL_P_DIL_H + a],
			*stride = &p[NPU_POOL_P_STRIDE_H + a];

		k = p[NPU_POOL_P_KERNEL_H + a] = rng_chance(6) ? size : rng_range(1, 5);
		*dil = rng_chance(4) ? 2 : 1;
		*stride = rng_range(1, 3);
		p[NPU_POOL_P_PAD_TOP + a] = rng_below(k);
		p[NPU_POOL_P_PAD_BOTTOM + a] = rng_below(k);
		span = (k - 1) * *dil + 1;
		size += p[NPU_POOL_P_PAD_TOP + a] + p[NPU_POOL_P_PAD_BOTTOM + a];
		out[1 + a] = size < span ?
				     1 :
				     (size - span + (rng_chance(2) ? *stride - 1 : 0)) / *stride +
					     1;
	}
	case_tensor(c, 0, c->operand[0].dtype, 4, out, CONTENTS_TAME);
	case_quantize(c, 0);
}

static void make_resize(struct tcase *c)
{
	npu_u32 out[4] = { rng_range(1, 2), rng_range(1, 24), rng_range(1, 30),
			   rng_range(1, rng_chance(2) ? 50 : 6) },
		*p = c->param;

	case_init(c, NPU_OP_RESIZE);
	images(c, out);
	p[NPU_RESIZE_P_MODE] = rng_below(NPU_NUM_RESIZES);
	p[NPU_RESIZE_P_COORD] = rng_below(NPU_NUM_COORDS);
	p[NPU_RESIZE_P_NEAREST] = rng_below(NPU_NUM_NEARESTS);
	case_param_f32(c, NPU_RESIZE_P_SCALE_H, (float)out[1] / (float)c->operand[1].dim[1]);
	case_param_f32(c, NPU_RESIZE_P_SCALE_W, (float)out[2] / (float)c->operand[1].dim[2]);
	case_param_f32(c, NPU_RESIZE_P_CUBIC_A, -0.75f);
	p[NPU_RESIZE_P_EXCLUDE_OUTSIDE] = p[NPU_RESIZE_P_MODE] == NPU_RESIZE_CUBIC && rng_chance(2);
}

/* Whole factors, as feature pyramids use. */
static void make_upsample(struct tcase *c)
{
	npu_u32 f = rng_range(2, 4),
		in[4] = { 1, rng_range(1, 8), rng_range(1, 12), rng_range(1, 60) };
	npu_u32 out[4] = { 1, in[1] * f, in[2] * f, in[3] };
	unsigned int type = rng_chance(2) ? NPU_F16 : NPU_F32;

	case_init(c, NPU_OP_RESIZE);
	c->param[NPU_RESIZE_P_MODE] = rng_below(2);
	c->param[NPU_RESIZE_P_COORD] = rng_chance(2) ? NPU_COORD_ASYMMETRIC : NPU_COORD_HALF_PIXEL;
	c->param[NPU_RESIZE_P_NEAREST] = NPU_NEAREST_FLOOR;
	case_dense(c, 0, type, 4, out, CONTENTS_TAME);
	case_dense(c, 1, type, 4, in, CONTENTS_TAME);
	case_param_f32(c, NPU_RESIZE_P_SCALE_H, (float)f);
	case_param_f32(c, NPU_RESIZE_P_SCALE_W, (float)f);
}

static void make_crop(struct tcase *c)
{
	npu_u32 rois = rng_range(1, 4),
		out[4] = { rng_range(1, 3), rng_range(1, 10), rng_range(1, 12), rng_range(1, 20) };
	npu_u32 boxes[2] = { rois, 4 };

	case_init(c, NPU_OP_CROP_RESIZE);
	images(c, out);
	case_dense(c, NPU_CROP_RESIZE_BOXES, NPU_F32, 2, boxes, CONTENTS_TAME);
	case_dense(c, NPU_CROP_RESIZE_BATCH, NPU_I32, 1, &rois, CONTENTS_TAME);
	for (npu_u32 i = 0; i < rois; i++) {
		float box[4] = { rng_float() * 4, rng_float() * 4, 0, 0 };

		box[2] = box[0] + (float)rng_range(1, 10);
		box[3] = box[1] + (float)rng_range(1, 16);
		memcpy(c->data[NPU_CROP_RESIZE_BOXES] + c->operand[NPU_CROP_RESIZE_BOXES].offset +
			       i * 16,
		       box, 16);
		case_index(c, NPU_CROP_RESIZE_BATCH, i, rng_below(out[0]));
	}
	out[0] = rois;
	case_tensor(c, 0, c->operand[0].dtype, 4, out, CONTENTS_TAME);
	case_quantize(c, 0);
	case_param_f32(c, NPU_CROP_RESIZE_P_FILL, 0.5f);
}

int main(void)
{
	rng_seed(24);
	harness_many("pool", 2000, make_pool);
	harness_many("resize", 1500, make_resize);
	harness_many("resize, whole factors", 400, make_upsample);
	harness_many("crop_resize", 1000, make_crop);
	harness_report();
	return tap_done();
}
