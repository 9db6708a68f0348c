// SPDX-License-Identifier: MIT
/*
 * Sums of products of 8-bit codes against the oracle, bit for bit: CONV, CONV_TRANSPOSE and MATMUL
 * in the shapes that networks have, with every zero point of both sides, codes at the ends of their
 * range (where sums of two products leave 16 bits), long K, and outputs that saturate.
 */
#include <math.h>
#include <string.h>
#include "../tap.h"
#include "harness.h"

struct shape {
	npu_u32 n, h, w, cg, og, groups, kh, kw, sh, sw, dh, dw, pt, pl, pb, pr;
};

/* What an operator's slots and parameters are called in the three opcodes. */
struct family {
	unsigned int opcode, bias, act, x_zero, w_zero;
};

static const struct family conv = { NPU_OP_CONV, NPU_CONV_BIAS, NPU_CONV_P_ACT, NPU_CONV_X_ZERO,
				    NPU_CONV_W_ZERO };
static const struct family deconv = { NPU_OP_CONV_TRANSPOSE, NPU_CONV_BIAS, NPU_CONV_P_ACT, ~0u,
				      ~0u };
static const struct family matmul = { NPU_OP_MATMUL, NPU_MATMUL_BIAS, NPU_MATMUL_P_ACT,
				      NPU_MATMUL_A_ZERO, NPU_MATMUL_B_ZERO };

static unsigned int code_type(void)
{
	return rng_chance(2) ? NPU_I8 : NPU_U8;
}

static npu_s32 any_zero(unsigned int dtype)
{
	return (npu_s32)rng_below(256) - (dtype == NPU_I8 ? 128 : 0);
}

/* All codes of a slot at the ends of the range, one of them or the other. */
static void make_extreme(struct tcase *c, unsigned int slot)
{
	unsigned char lo = c->operand[slot].dtype == NPU_I8 ? 0x80 : 0,
		      both = rng_chance(2) ? 0xff : 0;
	npu_u64 i;

	for (i = 0; i < c->size[slot]; i++)
		c->data[slot][i] = lo ^ (both && rng_chance(2) ? 0xff : 0) ^ (both ? 0 : 0xff);
}

/*
 * What fills up a panel stays 0, so only strided operands and whole panels can be made of ends
 * alone.
 */
static void extremes(struct tcase *c, bool whole)
{
	if (!rng_chance(4))
		return;
	make_extreme(c, 1);
	if (whole || c->operand[2].layout == NPU_LAYOUT_STRIDED)
		make_extreme(c, 2);
}

static void exact_act(struct tcase *c, unsigned int act)
{
	static const unsigned char acts[] = { NPU_ACT_NONE,	    NPU_ACT_NONE,
					      NPU_ACT_RELU,	    NPU_ACT_RELU6,
					      NPU_ACT_CLIP,	    NPU_ACT_LEAKY_RELU,
					      NPU_ACT_HARD_SIGMOID, NPU_ACT_HARD_SWISH };

	c->param[act] = acts[rng_below(8)];
	case_param_f32(c, act + 1, c->param[act] == NPU_ACT_CLIP ? -1.5f : 1.0f / 6);
	case_param_f32(c, act + 2, 0.5f);
}

static void residual(struct tcase *c, const struct family *f)
{
	static const unsigned char types[] = { NPU_I8, NPU_U8, NPU_U8, NPU_F16, NPU_F32, NPU_BF16 };
	const struct npu_operand *out = &c->operand[0];
	npu_u32 dim[NPU_MAX_RANK];

	for (unsigned int i = 0; i < out->rank; i++)
		dim[i] = rng_chance(6) ? 1 : out->dim[i];
	case_dense(c, f->bias + 2, types[rng_below(6)], out->rank, dim, CONTENTS_TAME);
	if (!rng_chance(8))
		case_quantize(c, f->bias + 2);
	c->param[f->act + 5] = rng_chance(4) ? NPU_JOIN_MUL : NPU_JOIN_ADD;
}

/*
 * The epilogue of quantized nets. Sums of @k products are brought to some @spread steps of the
 * output.
 */
static void epilogue(struct tcase *c, const struct family *f, npu_u64 k)
{
	const struct npu_operand *out = &c->operand[0];
	npu_u32 o = out->dim[out->rank - 1], codes = 256, i;
	float spread = rng_chance(4) ? 3000.0f : rng_chance(3) ? 1.0f : 60.0f, step, v;

	case_param_f32(c, f->act + 3, 1);
	if (!rng_chance(4))
		case_dense(c, f->bias, NPU_I32, 1, &o, CONTENTS_TAME);
	if (out->dtype == NPU_I32 && out->scale == 0)
		return;
	step = spread * (out->scale != 0 ? out->scale : 0.01f) / (100.0f * 74.0f * sqrtf((float)k));
	case_dense(c, f->bias + 1, NPU_F32, rng_chance(6) ? 0 : 1, &o, CONTENTS_TAME);
	for (i = 0; i < (c->operand[f->bias + 1].rank ? o : 1); i++) {
		v = step * (float)rng_range(50, 200) / 1.5f;
		memcpy(c->data[f->bias + 1] + c->operand[f->bias + 1].offset + 4ul * i, &v, 4);
	}
	exact_act(c, f->act);
	if (rng_chance(6)) {
		c->param[f->act] = NPU_ACT_PRELU;
		case_dense(c, f->bias + 3, NPU_F32, 1, &o, CONTENTS_TAME);
	}
	if (rng_chance(5)) {
		case_param_f32(c, f->act + 3, rng_float());
		case_param_f32(c, f->act + 4, rng_float());
	}
	if (rng_chance(3))
		residual(c, f);
	if (rng_chance(6))
		exact_act(c, f->act + 6);
	if (rng_chance(4) && (out->dtype == NPU_I8 || out->dtype == NPU_U8))
		case_dense(c, f->bias + 4, out->dtype, 1, &codes, CONTENTS_TAME);
}

static void out_quantize(struct tcase *c)
{
	case_quantize(c, 0);
	/* as the compiler writes it: everything in steps of the output */
	if (c->operand[0].scale != 0 && rng_chance(2))
		c->operand[0].scale = 1;
	/* i32 with a scale is an output like any other */
	if (c->operand[0].dtype == NPU_I32 && rng_chance(3)) {
		c->operand[0].scale = 0.25f;
		c->operand[0].zero_point = (npu_s32)rng_below(1000) - 500;
	}
}

static unsigned int out_type(void)
{
	static const unsigned char types[] = { NPU_U8,	NPU_U8,	 NPU_I8,  NPU_I8,
					       NPU_I32, NPU_F16, NPU_F32, NPU_BF16 };

	return types[rng_below(8)];
}

/* Zero points of both sides: in the operands, or in memory. */
static void zeros(struct tcase *c, const struct family *f, npu_s32 x, npu_s32 w)
{
	npu_u32 o = c->operand[0].dim[c->operand[0].rank - 1], one = 1;
	bool vectors = f->x_zero != ~0u;

	case_quantize(c, 1);
	case_quantize(c, 2);
	c->operand[1].zero_point = x;
	c->operand[2].zero_point = rng_chance(3) ? w : c->operand[2].dtype == NPU_I8 ? 0 : 128;
	if (vectors && rng_chance(4)) {
		case_dense(c, f->x_zero, c->operand[1].dtype, rng_below(2), &one, CONTENTS_TAME);
		c->data[f->x_zero][c->operand[f->x_zero].offset] = (unsigned char)x;
		c->operand[1].zero_point = 0;
	}
	if (vectors && rng_chance(4)) {
		case_dense(c, f->w_zero, c->operand[2].dtype, 1, &o, CONTENTS_TAME);
		c->data[f->w_zero][c->operand[f->w_zero].offset] = (unsigned char)w;
		c->operand[2].zero_point = 0;
	}
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

/* Channels last, or planar as a model's input is; the latter with any distance of the pixels. */
static void image(struct tcase *c, unsigned int slot, unsigned int dtype, const npu_u32 *dim)
{
	npu_u32 memory[4] = { dim[0], dim[3], dim[1], dim[2] };
	struct npu_operand *op = &c->operand[slot];

	if (!rng_chance(5)) {
		case_dense(c, slot, dtype, 4, dim, CONTENTS_TAME);
		return;
	}
	if (rng_chance(3)) {
		case_tensor(c, slot, dtype, 4, dim, CONTENTS_TAME);
		return;
	}
	case_dense(c, slot, dtype, 4, memory, CONTENTS_TAME);
	memcpy(op->dim, dim, sizeof(memory));
	op->stride[3] = (npu_s64)dim[1] * dim[2];
	op->stride[1] = dim[2];
	op->stride[2] = 1;
}

static void place(struct tcase *c, const struct family *f, const struct shape *s, npu_s32 x_zero,
		  npu_s32 w_zero, unsigned int x_type, unsigned int w_type)
{
	bool transposed = f == &deconv;
	npu_u32 in[4] = { s->n, s->h, s->w, s->cg * s->groups };
	npu_u32 weight[4] = { s->og * s->groups, s->kh, s->kw, s->cg };
	npu_u32 out[4] = { s->n, 0, 0, weight[0] }, *p = c->param;
	npu_u64 k = (npu_u64)s->kh * s->kw * s->cg;

	out[1] = (transposed ? deconv_out : conv_out)(s->h, s->pt + s->pb, s->kh, s->dh, s->sh);
	out[2] = (transposed ? deconv_out : conv_out)(s->w, s->pl + s->pr, s->kw, s->dw, s->sw);
	case_dense(c, 0, out_type(), 4, out, CONTENTS_TAME);
	out_quantize(c);
	image(c, 1, x_type, in);
	case_dense(c, 2, w_type, 4, weight, CONTENTS_TAME);
	zeros(c, f, x_zero, w_zero);
	if (!rng_chance(4))
		case_panel(c, 2, NPU_LAYOUT_PANEL16K4, s->og, k, s->groups);
	extremes(c, k % 4 == 0 && s->og % 16 == 0);
	p[NPU_CONV_P_STRIDE_H] = s->sh;
	p[NPU_CONV_P_STRIDE_W] = s->sw;
	p[NPU_CONV_P_DIL_H] = s->dh;
	p[NPU_CONV_P_DIL_W] = s->dw;
	p[NPU_CONV_P_PAD_TOP] = s->pt;
	p[NPU_CONV_P_PAD_LEFT] = s->pl;
	p[NPU_CONV_P_GROUPS] = s->groups;
	epilogue(c, f, k);
}

static void random_shape(struct shape *s)
{
	*s = (struct shape){ .n = rng_chance(4) ? 2 : 1,
			     .groups = rng_chance(5) ? rng_range(2, 3) : 1 };
	s->h = rng_range(1, 6);
	s->w = rng_range(1, rng_chance(3) ? 70 : 14);
	s->cg = rng_chance(4) ? 4 * rng_range(1, 16) : rng_range(1, 9);
	s->og = rng_chance(3) ? rng_range(1, 70) : rng_range(1, 20);
	s->kh = rng_chance(3) ? 1 : rng_range(1, 4);
	s->kw = rng_chance(2) ? s->kh : rng_range(1, 4);
	s->sh = rng_range(1, 2);
	s->sw = rng_range(1, 3);
	s->dh = rng_chance(4) ? 2 : 1;
	s->dw = rng_chance(4) ? 2 : 1;
	s->pt = rng_below(s->kh);
	s->pl = rng_below(s->kw);
	s->pb = rng_below(s->kh + 1);
	s->pr = rng_below(s->kw + 1);
}

static void random_conv(struct tcase *c, const struct family *f)
{
	unsigned int x = code_type(), w = code_type();
	struct shape s;

	case_init(c, f->opcode);
	random_shape(&s);
	place(c, f, &s, any_zero(x), any_zero(w), x, w);
}

static void make_conv(struct tcase *c)
{
	random_conv(c, &conv);
}

static void make_deconv(struct tcase *c)
{
	random_conv(c, &deconv);
}

static void make_deconv_2x2(struct tcase *c)
{
	unsigned int x = code_type(), w = code_type();
	struct shape s = { .n = 1, .h = rng_range(1, 5), .w = rng_range(1, 30), .groups = 1,
			   .cg = rng_range(1, 30), .og = rng_range(1, 40), .kh = 2, .kw = 2,
			   .sh = 2, .sw = 2, .dh = 1, .dw = 1 };

	case_init(c, deconv.opcode);
	place(c, &deconv, &s, any_zero(x), any_zero(w), x, w);
}

static void make_pointwise(struct tcase *c)
{
	unsigned int x = code_type(), w = code_type();
	struct shape s = { .n = rng_range(1, 2), .h = rng_range(1, 6), .w = rng_range(1, 30),
			   .groups = 1, .cg = rng_range(1, 100), .og = rng_range(1, 100), .kh = 1,
			   .kw = 1, .sh = 1, .sw = 1, .dh = 1, .dw = 1 };

	case_init(c, conv.opcode);
	place(c, &conv, &s, any_zero(x), any_zero(w), x, w);
}

/* A model's first layer. */
static void make_stem(struct tcase *c)
{
	unsigned int x = code_type(), w = code_type();
	npu_u32 k = rng_chance(2) ? 3 : rng_range(2, 7);
	struct shape s = { .n = 1, .h = rng_range(4, 12), .w = rng_range(4, 50), .groups = 1,
			   .cg = 3, .og = rng_range(1, 33), .kh = k, .kw = k, .sh = 2, .sw = 2,
			   .dh = 1, .dw = 1, .pt = k / 2, .pl = k / 2, .pb = k / 2, .pr = k / 2 };

	case_init(c, conv.opcode);
	place(c, &conv, &s, any_zero(x), any_zero(w), x, w);
}

static void matrices(struct tcase *c, const npu_u32 *out, const npu_u32 *a, const npu_u32 *b,
		     unsigned int rank, npu_s32 a_zero, npu_s32 b_zero, unsigned int a_type,
		     unsigned int b_type)
{
	npu_u32 k = a[rank - 1], n = out[rank - 1], batches = rank > 2 ? b[0] : 1;
	npu_u32 turned[3] = { b[0], b[rank - 1], b[rank - 2] };

	case_dense(c, 0, out_type(), rank, out, CONTENTS_TAME);
	out_quantize(c);
	case_dense(c, 1, a_type, rank, a, CONTENTS_TAME);
	if (rng_chance(3)) {
		/* the transpose of a dense matrix */
		case_dense(c, 2, b_type, rank, rank > 2 ? turned : turned + 1, CONTENTS_TAME);
		memcpy(c->operand[2].dim, b, rank * sizeof(*b));
		c->operand[2].stride[rank - 1] = k;
		c->operand[2].stride[rank - 2] = 1;
	} else {
		case_dense(c, 2, b_type, rank, b, CONTENTS_TAME);
	}
	zeros(c, &matmul, a_zero, b_zero);
	if (rng_chance(2))
		case_panel(c, 2, NPU_LAYOUT_PANEL16K4, n, k, batches);
	extremes(c, k % 4 == 0 && n % 16 == 0);
	epilogue(c, &matmul, k);
}

static void random_matmul(struct tcase *c, npu_u32 m, npu_u32 k, npu_u32 n)
{
	unsigned int a_type = code_type(), b_type = code_type(), rank = rng_chance(3) ? 3 : 2;
	npu_u32 batch = rng_range(1, 3);
	npu_u32 out[3] = { batch, m, n }, a[3] = { rng_chance(4) ? 1 : batch, m, k },
		b[3] = { rng_chance(2) ? 1 : batch, k, n };

	case_init(c, matmul.opcode);
	matrices(c, out + 3 - rank, a + 3 - rank, b + 3 - rank, rank, any_zero(a_type),
		 any_zero(b_type), a_type, b_type);
}

static void make_matmul(struct tcase *c)
{
	random_matmul(c, rng_chance(3) ? 1 : rng_range(1, 40), rng_range(1, 70), rng_range(1, 70));
}

static void make_long(struct tcase *c)
{
	random_matmul(c, rng_range(1, 5), rng_range(2000, 8192), rng_range(1, 20));
}

/* Rows and columns of many tiles, K of more than one part of them. */
static void make_many_rows(struct tcase *c)
{
	random_matmul(c, rng_range(12, 150), rng_range(1, rng_chance(4) ? 1500 : 300),
		      rng_range(1, 150));
}

static void make_wide_conv(struct tcase *c)
{
	unsigned int x = code_type(), w = code_type();
	npu_u32 k = rng_chance(2) ? 3 : rng_range(2, 5);
	struct shape s = { .n = 1, .h = rng_range(2, 5), .w = rng_range(12, 60), .groups = 1,
			   .kh = k, .cg = rng_range(8, rng_chance(4) ? 120 : 40),
			   .og = rng_range(1, 80), .kw = k, .sh = 1, .sw = 1, .dh = 1,
			   .dw = rng_chance(4) ? 2 : 1, .pt = k / 2, .pl = k / 2, .pb = k / 2,
			   .pr = k / 2 };

	case_init(c, conv.opcode);
	place(c, &conv, &s, any_zero(x), any_zero(w), x, w);
}

/* Every zero point of both sides, in all four combinations of types. */
static unsigned int turn;

static void turn_of(npu_s32 *x, npu_s32 *w, unsigned int *x_type, unsigned int *w_type)
{
	unsigned int t = turn++;

	*x_type = t >> 8 & 1 ? NPU_I8 : NPU_U8;
	*w_type = t >> 9 & 1 ? NPU_I8 : NPU_U8;
	*x = (npu_s32)(t & 255) - (*x_type == NPU_I8 ? 128 : 0);
	*w = (npu_s32)((t * 37 + 11) & 255) - (*w_type == NPU_I8 ? 128 : 0);
}

static void zero_conv(struct tcase *c, const struct family *f)
{
	struct shape s = { .n = 1, .h = 3, .w = 4, .groups = 1, .cg = 5, .og = 17, .kh = 2, .kw = 3,
			   .sh = 1, .sw = 1, .dh = 1, .dw = 1, .pt = 1, .pl = 1, .pr = 1 };
	unsigned int x_type, w_type;
	npu_s32 x, w;

	case_init(c, f->opcode);
	turn_of(&x, &w, &x_type, &w_type);
	place(c, f, &s, x, w, x_type, w_type);
	if (f == &deconv)
		c->operand[2].zero_point = w;
}

static void make_zero_conv(struct tcase *c)
{
	zero_conv(c, &conv);
}

static void make_zero_deconv(struct tcase *c)
{
	zero_conv(c, &deconv);
}

static void make_zero_matmul(struct tcase *c)
{
	npu_u32 out[2] = { 7, 18 }, a[2] = { 7, 13 }, b[2] = { 13, 18 };
	unsigned int x_type, w_type;
	npu_s32 x, w;

	case_init(c, matmul.opcode);
	turn_of(&x, &w, &x_type, &w_type);
	matrices(c, out, a, b, 2, x, w, x_type, w_type);
}

int main(void)
{
	rng_seed(22);
	harness_many("integer conv", 900, make_conv);
	harness_many("integer conv, 1x1", 400, make_pointwise);
	harness_many("integer conv, first layers", 200, make_stem);
	harness_many("integer conv, every zero point", 1024, make_zero_conv);
	harness_many("integer conv_transpose", 700, make_deconv);
	harness_many("integer conv_transpose, 2x2", 300, make_deconv_2x2);
	harness_many("integer conv_transpose, every zero point", 1024, make_zero_deconv);
	harness_many("integer matmul", 1000, make_matmul);
	harness_many("integer matmul, many rows", 200, make_many_rows);
	harness_many("integer conv, long K and wide", 100, make_wide_conv);
	harness_many("integer matmul, K to 8192", 60, make_long);
	harness_many("integer matmul, every zero point", 1024, make_zero_matmul);
	harness_report();
	return tap_done();
}
