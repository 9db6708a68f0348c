// SPDX-License-Identifier: MIT
/*
 * Depthwise CONV of 8-bit data against the oracle: every type, zero point and layout of the weight,
 * codes at the ends of the range, padding of every kind.
 */
#include <string.h>
#include "../tap.h"
#include "harness.h"

static npu_u32 out_size(npu_u32 in, npu_u32 pad, npu_u32 k, npu_u32 dil, npu_u32 stride)
{
	npu_u32 span = (k - 1) * dil + 1;

	return in + pad < span ? 1 : (in + pad - span) / stride + 1;
}

/* The weight as the compiler lays it out: [KH][KW][O]. */
static void taps_outermost(struct tcase *c, npu_u32 kh, npu_u32 kw, npu_u32 o, unsigned int type)
{
	struct npu_operand *w = &c->operand[NPU_CONV_WEIGHT];
	npu_u32 memory[4] = { kh, kw, 1, o }, dim[4] = { o, kh, kw, 1 };

	case_dense(c, NPU_CONV_WEIGHT, type, 4, memory, CONTENTS_TAME);
	memcpy(w->dim, dim, sizeof(dim));
	w->stride[0] = 1;
	w->stride[1] = (npu_s64)o * kw;
	w->stride[2] = o;
	w->stride[3] = 1;
}

/* The zero points that go wrong first are those at the ends. */
static npu_s32 zero_point(unsigned int type)
{
	npu_s32 lo = type == NPU_I8 ? -128 : 0;

	switch (rng_below(4)) {
	case 0:
		return lo;
	case 1:
		return lo + 255;
	case 2:
		return lo + 128;
	default:
		return lo + (npu_s32)rng_below(256);
	}
}

/* Sums become as large as they can when codes are only the ends. */
static void extreme_codes(struct tcase *c, unsigned int slot)
{
	npu_u64 i;

	for (i = 0; i < c->size[slot]; i++)
		c->data[slot][i] = c->operand[slot].dtype == NPU_U8 ? (rng_chance(9) ? 0 : 255) :
				   rng_chance(9)		    ? 127 :
								      0x80;
}

static void make_case(struct tcase *c, const npu_u32 k[2], const npu_u32 stride[2],
		      const npu_u32 dil[2], npu_u32 channels, int dense)
{
	static const unsigned char outs[] = { NPU_U8,  NPU_U8,	NPU_I8, NPU_I8,
					      NPU_I32, NPU_F32, NPU_F16 };
	unsigned int type = rng_chance(2) ? NPU_U8 : NPU_I8,
		     w_type = rng_chance(3) ? NPU_U8 : NPU_I8;
	unsigned int out_type = outs[rng_below(7)];
	npu_u32 in[4] = { rng_range(1, 2), rng_range(1, 14), rng_range(1, rng_chance(4) ? 70 : 16),
			  channels };
	npu_u32 out[4] = { in[0], 0, 0, channels }, weight[4] = { channels, k[0], k[1], 1 }, i,
		pad[2];
	npu_u32 *p = c->param;

	case_init(c, NPU_OP_CONV);
	for (i = 0; i < 2; i++) {
		p[NPU_CONV_P_STRIDE_H + i] = stride[i];
		p[NPU_CONV_P_DIL_H + i] = dil[i];
		pad[i] = rng_chance(3) ? rng_below(2 * k[i]) : k[i] / 2;
		p[NPU_CONV_P_PAD_TOP + i] = pad[i];
		pad[i] += rng_chance(3) ? rng_below(2 * k[i]) : k[i] / 2;
		out[1 + i] = out_size(in[1 + i], pad[i], k[i], dil[i], stride[i]);
	}
	p[NPU_CONV_P_GROUPS] = channels;
	if (dense) {
		case_dense(c, NPU_CONV_OUT, out_type, 4, out, CONTENTS_TAME);
		case_dense(c, NPU_CONV_IN, type, 4, in, CONTENTS_TAME);
		taps_outermost(c, k[0], k[1], channels, w_type);
	} else {
		case_tensor(c, NPU_CONV_OUT, out_type, 4, out, CONTENTS_TAME);
		case_tensor(c, NPU_CONV_IN, type, 4, in, CONTENTS_TAME);
		case_tensor(c, NPU_CONV_WEIGHT, w_type, 4, weight, CONTENTS_TAME);
		if (rng_chance(3))
			case_panel(c, NPU_CONV_WEIGHT, NPU_LAYOUT_PANEL16K4, 1,
				   (npu_u64)k[0] * k[1], channels);
	}
	case_quantize(c, NPU_CONV_OUT);
	case_quantize(c, NPU_CONV_IN);
	case_quantize(c, NPU_CONV_WEIGHT);
	c->operand[NPU_CONV_IN].zero_point = zero_point(type);
	c->operand[NPU_CONV_WEIGHT].zero_point =
		w_type == NPU_I8 && rng_chance(2) ? 0 : zero_point(w_type);
	if (rng_chance(5))
		extreme_codes(c, NPU_CONV_IN);
	if (rng_chance(5))
		extreme_codes(c, NPU_CONV_WEIGHT);
	if (out_type == NPU_U8 || out_type == NPU_I8) {
		c->operand[NPU_CONV_OUT].zero_point = zero_point(out_type);
		if (rng_chance(2))
			c->operand[NPU_CONV_OUT].scale = 1;
	}
	if (rng_chance(5)) {
		c->operand[NPU_CONV_WEIGHT].zero_point = 0;
		case_dense(c, NPU_CONV_W_ZERO, w_type, 1, &channels, CONTENTS_TAME);
	}
	case_epilogue(c, NPU_CONV_BIAS, NPU_CONV_P_ACT, 1);
}

static void make_hot(struct tcase *c)
{
	npu_u32 k = rng_chance(2) ? 3 : 5, s = rng_chance(3) ? 2 : 1;

	make_case(c, (npu_u32[]){ k, k }, (npu_u32[]){ s, rng_chance(6) ? 3 - s : s },
		  (npu_u32[]){ 1, 1 }, rng_chance(2) ? 8 * rng_range(1, 20) : rng_range(1, 150), 1);
}

static void make_any(struct tcase *c)
{
	npu_u32 k[2] = { rng_range(1, 9), rng_range(1, 9) };

	make_case(c, k, (npu_u32[]){ rng_range(1, 3), rng_range(1, 3) },
		  (npu_u32[]){ rng_chance(3) ? rng_range(1, 3) : 1,
			       rng_chance(3) ? rng_range(1, 3) : 1 },
		  rng_range(2, 70), rng_chance(2));
}

/* Past 258 taps sums are no longer exact in f32. */
static void make_large(struct tcase *c)
{
	npu_u32 k[2] = { rng_range(1, 40), rng_range(1, 40) }, one[2] = { 1, 1 };

	make_case(c, k, one, one, rng_range(2, 9), rng_chance(2));
	extreme_codes(c, NPU_CONV_IN);
	extreme_codes(c, NPU_CONV_WEIGHT);
}

int main(void)
{
	rng_seed(31);
	harness_many("depthwise int8, 3x3 and 5x5", 1200, make_hot);
	harness_many("depthwise int8, any", 800, make_any);
	harness_many("depthwise int8, many taps", 60, make_large);
	harness_report();
	return tap_done();
}
