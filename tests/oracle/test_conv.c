// SPDX-License-Identifier: MIT
/* CONV and CONV_TRANSPOSE against the oracle. */
#include <string.h>
#include "../tap.h"
#include "harness.h"

static const unsigned char float_types[] = { NPU_F32, NPU_F16, NPU_F16, NPU_BF16 };

struct shape {
	npu_u32 n, h, w, cg, og, groups, kh, kw, sh, sw, dh, dw, pt, pl, pb, pr;
};

static void random_shape(struct shape *s, int depthwise)
{
	s->n = rng_range(1, 2);
	s->h = rng_range(1, 9);
	s->w = rng_range(1, 20);
	s->groups = rng_chance(4) ? rng_range(2, 4) : 1;
	s->cg = rng_range(1, rng_chance(3) ? 40 : 9);
	s->og = rng_range(1, rng_chance(3) ? 50 : 18);
	if (depthwise) {
		s->groups = rng_range(1, 40);
		s->cg = 1;
		s->og = rng_chance(6) ? 2 : 1;
	}
	s->kh = rng_chance(2) ? 1 : rng_range(1, 5);
	s->kw = rng_chance(2) ? s->kh : rng_range(1, 5);
	s->sh = rng_range(1, 3);
	s->sw = rng_chance(3) ? rng_range(1, 3) : s->sh;
	s->dh = rng_chance(3) ? rng_range(1, 3) : 1;
	s->dw = rng_chance(3) ? rng_range(1, 3) : s->dh;
	s->pt = rng_below(s->kh + 1);
	s->pl = rng_below(s->kw + 1);
	s->pb = rng_below(s->kh + 1);
	s->pr = rng_below(s->kw + 1);
}

static npu_u32 conv_out(npu_u32 in, npu_u32 pad, npu_u32 k, npu_u32 dil, npu_u32 stride)
{
	npu_u32 span = (k - 1) * dil + 1;

	return in + pad < span ? 1 : (in + pad - span) / stride + 1;
}

static npu_u32 deconv_out(npu_u32 in, npu_u32 pad, npu_u32 k, npu_u32 dil, npu_u32 stride)
{
	npu_u32 full = (in - 1) * stride + (k - 1) * dil + 1;

	return full > pad ? full - pad : 1;
}

static void place(struct tcase *c, const struct shape *s, int transposed, unsigned int in_type,
		  unsigned int w_type, unsigned int out_type)
{
	npu_u32 in[4] = { s->n, s->h, s->w, s->cg * s->groups };
	npu_u32 weight[4] = { s->og * s->groups, s->kh, s->kw, s->cg };
	npu_u32 out[4] = { s->n, 0, 0, weight[0] };
	npu_u32 *p = c->param;
	int integer = in_type == NPU_I8 || in_type == NPU_U8;
	enum contents contents = rng_chance(10) ? CONTENTS_WILD : CONTENTS_TAME;

	out[1] = transposed ? deconv_out(s->h, s->pt + s->pb, s->kh, s->dh, s->sh) :
			      conv_out(s->h, s->pt + s->pb, s->kh, s->dh, s->sh);
	out[2] = transposed ? deconv_out(s->w, s->pl + s->pr, s->kw, s->dw, s->sw) :
			      conv_out(s->w, s->pl + s->pr, s->kw, s->dw, s->sw);
	case_tensor(c, NPU_CONV_OUT, out_type, 4, out, CONTENTS_TAME);
	case_quantize(c, NPU_CONV_OUT);
	case_tensor(c, NPU_CONV_IN, in_type, 4, in, contents);
	case_tensor(c, NPU_CONV_WEIGHT, w_type, 4, weight,
		    rng_chance(12) ? CONTENTS_WILD : CONTENTS_TAME);
	if (integer) {
		case_quantize(c, NPU_CONV_IN);
		case_quantize(c, NPU_CONV_WEIGHT);
	}
	if (rng_chance(3) ? 0 : !(s->cg == 1 && s->groups > 1))
		case_panel(c, NPU_CONV_WEIGHT, integer ? NPU_LAYOUT_PANEL16K4 : NPU_LAYOUT_PANEL16,
			   s->og, (npu_u64)s->kh * s->kw * s->cg, s->groups);
	p[NPU_CONV_P_STRIDE_H] = s->sh;
	p[NPU_CONV_P_STRIDE_W] = s->sw;
	p[NPU_CONV_P_DIL_H] = s->dh;
	p[NPU_CONV_P_DIL_W] = s->dw;
	p[NPU_CONV_P_PAD_TOP] = s->pt;
	p[NPU_CONV_P_PAD_LEFT] = s->pl;
	p[NPU_CONV_P_GROUPS] = s->groups;
	case_epilogue(c, NPU_CONV_BIAS, NPU_CONV_P_ACT, integer);
}

static void float_conv(struct tcase *c, int transposed, int depthwise)
{
	unsigned int in = float_types[rng_below(4)];
	struct shape s;

	case_init(c, transposed ? NPU_OP_CONV_TRANSPOSE : NPU_OP_CONV);
	random_shape(&s, depthwise);
	place(c, &s, transposed, in, rng_chance(3) ? float_types[rng_below(4)] : in,
	      rng_chance(3) ? float_types[rng_below(4)] : in);
}

static void int_conv(struct tcase *c, int transposed, int depthwise)
{
	static const unsigned char outs[] = { NPU_I8, NPU_U8, NPU_I32, NPU_F32, NPU_F16 };
	struct shape s;

	case_init(c, transposed ? NPU_OP_CONV_TRANSPOSE : NPU_OP_CONV);
	random_shape(&s, depthwise);
	place(c, &s, transposed, rng_chance(2) ? NPU_I8 : NPU_U8, rng_chance(3) ? NPU_U8 : NPU_I8,
	      outs[rng_below(5)]);
	if (!transposed && rng_chance(4)) {
		npu_u32 o = c->operand[NPU_CONV_OUT].dim[3];

		c->operand[NPU_CONV_WEIGHT].zero_point = 0;
		case_dense(c, NPU_CONV_W_ZERO, c->operand[NPU_CONV_WEIGHT].dtype, 1, &o,
			   CONTENTS_TAME);
	}
	if (!transposed && rng_chance(4)) {
		npu_u32 one = 1;

		c->operand[NPU_CONV_IN].zero_point = 0;
		case_dense(c, NPU_CONV_X_ZERO, c->operand[NPU_CONV_IN].dtype, rng_below(2), &one,
			   CONTENTS_TAME);
	}
}

static void make_dense(struct tcase *c)
{
	float_conv(c, 0, 0);
}

static void make_depthwise(struct tcase *c)
{
	float_conv(c, 0, 1);
}

static void make_transposed(struct tcase *c)
{
	float_conv(c, 1, rng_chance(4));
}

static void make_int(struct tcase *c)
{
	int_conv(c, 0, rng_chance(4));
}

static void make_int_transposed(struct tcase *c)
{
	int_conv(c, 1, rng_chance(4));
}

/*
 * The shapes that conv nets are made of: channels last, dense, f16, so that the fast paths are what
 * runs.
 */
static void make_typical(struct tcase *c)
{
	static const npu_u32 kernel[] = { 1, 1, 3, 3, 5, 7 };
	int depthwise = rng_chance(3);
	struct shape s = { .n = 1, .h = rng_range(4, 24), .w = rng_range(4, 40), .dh = 1, .dw = 1 };
	unsigned int type = rng_chance(4) ? NPU_F32 : NPU_F16;
	npu_u32 in[4], weight[4], out[4];

	case_init(c, NPU_OP_CONV);
	s.kh = s.kw = kernel[rng_below(6)];
	s.sh = s.sw = rng_chance(3) ? 2 : 1;
	s.pt = s.pl = s.pb = s.pr = s.kh / 2;
	s.groups = depthwise ? rng_range(1, 96) : 1;
	s.cg = depthwise ? 1 : rng_chance(5) ? 3 : rng_range(1, 12) * 8;
	s.og = depthwise ? 1 : rng_range(1, 12) * 8;
	place(c, &s, 0, type, type, type);
	memcpy(out, c->operand[NPU_CONV_OUT].dim, sizeof(out));
	memcpy(in, c->operand[NPU_CONV_IN].dim, sizeof(in));
	memcpy(weight, c->operand[NPU_CONV_WEIGHT].dim, sizeof(weight));
	case_dense(c, NPU_CONV_OUT, type, 4, out, CONTENTS_TAME);
	case_dense(c, NPU_CONV_IN, type, 4, in, CONTENTS_TAME);
	if (depthwise) {
		struct npu_operand *w = &c->operand[NPU_CONV_WEIGHT];
		npu_u32 memory[4] = { s.kh, s.kw, 1, s.groups };
		npu_s64 size = npu_dtype_bits(type) / 8;

		case_dense(c, NPU_CONV_WEIGHT, type, 4, memory, CONTENTS_TAME);
		memcpy(w->dim, weight, sizeof(weight));
		w->stride[0] = size;
		w->stride[1] = size * s.groups * s.kw;
		w->stride[2] = size * s.groups;
		w->stride[3] = size;
	}
}

int main(void)
{
	rng_seed(20);
	harness_many("conv, float", 700, make_dense);
	harness_many("conv, float, depthwise", 400, make_depthwise);
	harness_many("conv, typical layers", 200, make_typical);
	harness_many("conv, integer", 600, make_int);
	harness_many("conv_transpose, float", 700, make_transposed);
	harness_many("conv_transpose, integer", 400, make_int_transposed);
	harness_report();
	return tap_done();
}
