// SPDX-License-Identifier: MIT
/*
 * Operators on 8-bit codes with scale and zero point against the oracle: saturation, zero points at
 * the ends, scales from the smallest to the largest and 1, values half way between two codes and
 * next to that, infinities and NaN.
 */
#include <math.h>
#include <string.h>
#include "../tap.h"
#include "harness.h"

static unsigned int code_type(void)
{
	return rng_chance(2) ? NPU_U8 : NPU_I8;
}

static unsigned int mostly_code(void)
{
	return rng_chance(5) ? (rng_chance(2) ? NPU_F32 : NPU_F16) : code_type();
}

/* One of the scales that matter: any, 1, powers of two (exact halves), the ends of f32. */
static float scale(void)
{
	switch (rng_below(10)) {
	case 0:
	case 1:
	case 2:
		return 1;
	case 3:
		return ldexpf(1, -(int)rng_below(9));
	case 4:
		return rng_chance(2) ? ldexpf(1, (int)rng_below(250) - 125) :
				       ldexpf((float)rng_range(1, 8000), (int)rng_below(230) - 140);
	case 5:
		return rng_chance(2) ? 1e-42f : 3e38f;
	default:
		return (float)rng_range(1, 100000) / 1048576;
	}
}

static void quantize(struct tcase *c, unsigned int slot)
{
	struct npu_operand *op = &c->operand[slot];
	int lo = op->dtype == NPU_I8 ? -128 : 0;

	if (op->dtype != NPU_I8 && op->dtype != NPU_U8)
		return;
	op->scale = scale();
	op->zero_point = rng_chance(4) ? lo : rng_chance(4) ? lo + 255 : lo + (int)rng_below(256);
	if (rng_chance(16)) {
		op->scale = 0;
		op->zero_point = 0;
	}
}

static void tensor(struct tcase *c, unsigned int slot, unsigned int type, unsigned int rank,
		   const npu_u32 *dim)
{
	enum contents contents = rng_chance(4) ? CONTENTS_WILD : CONTENTS_TAME;

	if (rng_chance(2))
		case_dense(c, slot, type, rank, dim, contents);
	else
		case_tensor(c, slot, type, rank, dim, contents);
	quantize(c, slot);
}

/* The same quantization on both sides: what moves codes or gives them back. */
static void same_quantization(struct tcase *c, unsigned int slot, unsigned int other)
{
	c->operand[slot].scale = c->operand[other].scale;
	c->operand[slot].zero_point = c->operand[other].zero_point;
}

static unsigned int shape(npu_u32 *dim)
{
	unsigned int rank = rng_range(1, 4), i;

	for (i = 0; i < rank; i++)
		dim[i] = rng_range(1, i + 1 == rank ? (rng_chance(4) ? 700 : 90) : 6);
	return rank;
}

/* The reals that lie around halves of the output's codes, one after the other. */
static void halves(struct tcase *c, unsigned int in, unsigned int out)
{
	const struct npu_operand *i = &c->operand[in], *o = &c->operand[out];
	npu_u64 k, n = (c->size[in] - i->offset) / 4;
	int d, near;
	float f;

	for (k = 0; k < n; k++) {
		near = (int)rng_below(560) - 280;
		f = ((float)near + 0.5f) * (o->scale != 0 ? o->scale : 1);
		for (d = (int)rng_below(7) - 3; d; d += d < 0 ? 1 : -1)
			f = nextafterf(f, d < 0 ? -INFINITY : INFINITY);
		memcpy(c->data[in] + i->offset + 4 * k, &f, 4);
	}
}

static void make_quantize(struct tcase *c)
{
	npu_u32 dim[4];
	unsigned int rank = shape(dim);

	case_init(c, NPU_OP_COPY);
	tensor(c, NPU_COPY_OUT, code_type(), rank, dim);
	if (rng_chance(2)) {
		case_dense(c, NPU_COPY_IN, NPU_F32, rank, dim, CONTENTS_TAME);
		halves(c, NPU_COPY_IN, NPU_COPY_OUT);
	} else {
		tensor(c, NPU_COPY_IN,
		       rng_chance(2) ? NPU_F32 :
		       rng_chance(2) ? NPU_F16 :
				       NPU_BF16,
		       rank, dim);
	}
}

static void make_copy(struct tcase *c)
{
	static const unsigned char types[] = { NPU_U8, NPU_I8, NPU_F32, NPU_F16, NPU_I32 };
	npu_u32 dim[4];
	unsigned int rank = shape(dim), in = code_type();

	case_init(c, NPU_OP_COPY);
	tensor(c, NPU_COPY_OUT, rng_chance(3) ? in : types[rng_below(5)], rank, dim);
	if (rng_chance(8))
		dim[rng_below(rank)] = 1;
	tensor(c, NPU_COPY_IN, in, rank, dim);
	if (in == c->operand[NPU_COPY_OUT].dtype && rng_chance(3))
		same_quantization(c, NPU_COPY_OUT, NPU_COPY_IN);
}

static void make_ewise1(struct tcase *c)
{
	static const unsigned char funcs[] = { NPU_UNARY_COPY, NPU_UNARY_COPY, NPU_UNARY_COPY,
					       NPU_UNARY_ABS,  NPU_UNARY_NEG,  NPU_UNARY_SQUARE,
					       NPU_UNARY_SQRT, NPU_UNARY_FLOOR };
	static const unsigned char acts[] = { NPU_ACT_NONE,	  NPU_ACT_RELU,
					      NPU_ACT_RELU6,	  NPU_ACT_CLIP,
					      NPU_ACT_LEAKY_RELU, NPU_ACT_HARD_SIGMOID,
					      NPU_ACT_HARD_SWISH };
	npu_u32 dim[4];
	unsigned int rank = shape(dim);

	if (rng_chance(3))
		dim[rank - 1] = rng_range(2048, 5000);
	case_init(c, NPU_OP_EWISE1);
	tensor(c, NPU_EWISE1_OUT, mostly_code(), rank, dim);
	if (rng_chance(10))
		dim[rng_below(rank)] = 1;
	tensor(c, NPU_EWISE1_IN, mostly_code(), rank, dim);
	c->param[NPU_EWISE1_P_FUNC] = funcs[rng_below(sizeof(funcs))];
	c->param[NPU_EWISE1_P_ACT] = acts[rng_below(sizeof(acts))];
	case_param_f32(c, NPU_EWISE1_P_ACT_ALPHA, 0.2f);
	case_param_f32(c, NPU_EWISE1_P_ACT_BETA, 0.5f);
	case_param_f32(c, NPU_EWISE1_P_POST_MUL, rng_chance(4) ? rng_float() : 1);
	case_param_f32(c, NPU_EWISE1_P_POST_ADD, rng_chance(4) ? rng_float() : 0);
	if (!c->operand[NPU_EWISE1_IN].scale && (c->operand[NPU_EWISE1_IN].dtype == NPU_I8 ||
						 c->operand[NPU_EWISE1_IN].dtype == NPU_U8))
		quantize(c, NPU_EWISE1_IN);
	if (!c->operand[NPU_EWISE1_IN].scale) {
		c->param[NPU_EWISE1_P_FUNC] = NPU_UNARY_COPY;
		c->param[NPU_EWISE1_P_ACT] = 0;
		case_param_f32(c, NPU_EWISE1_P_POST_MUL, 1);
		case_param_f32(c, NPU_EWISE1_P_POST_ADD, 0);
	}
}

static void make_ewise2(struct tcase *c)
{
	static const unsigned char funcs[] = { NPU_BINARY_ADD, NPU_BINARY_ADD, NPU_BINARY_MUL,
					       NPU_BINARY_MUL, NPU_BINARY_SUB, NPU_BINARY_MAX,
					       NPU_BINARY_MIN, NPU_BINARY_DIV };
	static const unsigned char acts[] = { NPU_ACT_NONE,  NPU_ACT_NONE, NPU_ACT_RELU,
					      NPU_ACT_RELU6, NPU_ACT_CLIP, NPU_ACT_HARD_SWISH };
	npu_u32 dim[4], b[4], i;
	unsigned int rank = shape(dim);

	case_init(c, NPU_OP_EWISE2);
	memcpy(b, dim, sizeof(b));
	for (i = 0; i < rank; i++)
		if (rng_chance(4))
			b[i] = 1;
	tensor(c, NPU_EWISE2_OUT, mostly_code(), rank, dim);
	tensor(c, rng_chance(4) ? NPU_EWISE2_B : NPU_EWISE2_A, mostly_code(), rank, dim);
	tensor(c, c->size[NPU_EWISE2_A] ? NPU_EWISE2_B : NPU_EWISE2_A, mostly_code(), rank, b);
	c->param[NPU_EWISE2_P_FUNC] = funcs[rng_below(sizeof(funcs))];
	c->param[NPU_EWISE2_P_ACT] = acts[rng_below(sizeof(acts))];
	case_param_f32(c, NPU_EWISE2_P_ACT_ALPHA, -0.7f);
	case_param_f32(c, NPU_EWISE2_P_ACT_BETA, rng_chance(5) ? NAN : 2.5f);
	if (c->param[NPU_EWISE2_P_ACT] == NPU_ACT_HARD_SWISH || rng_chance(2))
		case_param_f32(c, NPU_EWISE2_P_ACT_BETA, 0.5f);
	case_param_f32(c, NPU_EWISE2_P_ACT_BETA, 0.5f);
	case_param_f32(c, NPU_EWISE2_P_POST_MUL, rng_chance(8) ? rng_float() : 1);
	case_param_f32(c, NPU_EWISE2_P_POST_ADD, 0);
	for (i = NPU_EWISE2_A; i <= NPU_EWISE2_B; i++)
		while (!c->operand[i].scale &&
		       (c->operand[i].dtype == NPU_I8 || c->operand[i].dtype == NPU_U8))
			quantize(c, i);
}

static void make_pool(struct tcase *c)
{
	npu_u32 in[4] = { rng_range(1, 2), rng_range(1, 12), rng_range(1, 24),
			  rng_chance(4) ? rng_range(1, 600) : rng_range(1, 70) };
	npu_u32 out[4] = { in[0], 1, 1, in[3] }, *p = c->param, size, span;
	unsigned int type = code_type(), a;

	case_init(c, NPU_OP_POOL);
	p[NPU_POOL_P_KIND] = rng_below(NPU_NUM_POOLS);
	p[NPU_POOL_P_INCLUDE_PAD] = rng_below(2);
	for (a = 0; a < 2; a++) {
		npu_u32 k = rng_chance(5) ? in[1 + a] : rng_range(1, 5);

		p[NPU_POOL_P_KERNEL_H + a] = k;
		p[NPU_POOL_P_DIL_H + a] = rng_chance(4) ? 2 : 1;
		p[NPU_POOL_P_STRIDE_H + a] = rng_range(1, 3);
		p[NPU_POOL_P_PAD_TOP + a] = rng_below(k);
		p[NPU_POOL_P_PAD_BOTTOM + a] = rng_below(k);
		span = (k - 1) * p[NPU_POOL_P_DIL_H + a] + 1;
		size = in[1 + a] + p[NPU_POOL_P_PAD_TOP + a] + p[NPU_POOL_P_PAD_BOTTOM + a];
		out[1 + a] = size < span ? 1 : (size - span) / p[NPU_POOL_P_STRIDE_H + a] + 1;
	}
	tensor(c, NPU_POOL_OUT, rng_chance(4) ? mostly_code() : type, 4, out);
	tensor(c, NPU_POOL_IN, type, 4, in);
	if (c->operand[NPU_POOL_OUT].dtype == type && rng_chance(2))
		same_quantization(c, NPU_POOL_OUT, NPU_POOL_IN);
}

static void make_resize(struct tcase *c)
{
	npu_u32 out[4] = { 1, rng_range(1, 24), rng_range(1, 30),
			   rng_range(1, rng_chance(2) ? 80 : 6) };
	npu_u32 in[4] = { 1, rng_range(1, 12), rng_range(1, 20), out[3] }, *p = c->param;
	unsigned int type = code_type();

	case_init(c, NPU_OP_RESIZE);
	p[NPU_RESIZE_P_MODE] = rng_below(NPU_NUM_RESIZES);
	p[NPU_RESIZE_P_COORD] = rng_below(NPU_NUM_COORDS);
	p[NPU_RESIZE_P_NEAREST] = rng_below(NPU_NUM_NEARESTS);
	case_param_f32(c, NPU_RESIZE_P_SCALE_H, (float)out[1] / (float)in[1]);
	case_param_f32(c, NPU_RESIZE_P_SCALE_W, (float)out[2] / (float)in[2]);
	case_param_f32(c, NPU_RESIZE_P_CUBIC_A, -0.75f);
	tensor(c, NPU_RESIZE_OUT, rng_chance(4) ? mostly_code() : type, 4, out);
	tensor(c, NPU_RESIZE_IN, type, 4, in);
	if (c->operand[NPU_RESIZE_OUT].dtype == type && rng_chance(2))
		same_quantization(c, NPU_RESIZE_OUT, NPU_RESIZE_IN);
}

static void make_reduce(struct tcase *c)
{
	npu_u32 dim[4], out[4], i;
	unsigned int rank = shape(dim);

	case_init(c, NPU_OP_REDUCE);
	c->param[NPU_REDUCE_P_AXES] = rng_below(1u << rank);
	c->param[NPU_REDUCE_P_FUNC] = rng_chance(2) ? NPU_REDUCE_MEAN : rng_below(NPU_REDUCE_PROD);
	for (i = 0; i < rank; i++)
		out[i] = c->param[NPU_REDUCE_P_AXES] >> i & 1 ? 1 : dim[i];
	tensor(c, NPU_REDUCE_OUT, mostly_code(), rank, out);
	tensor(c, NPU_REDUCE_IN, code_type(), rank, dim);
	while (!c->operand[NPU_REDUCE_IN].scale)
		quantize(c, NPU_REDUCE_IN);
}

static void make_gather(struct tcase *c)
{
	npu_u32 rows = rng_range(1, 12), count = rng_range(1, 9), inner = rng_range(1, 150), i;
	npu_u32 out[3] = { rng_range(1, 3), count, inner }, in[3] = { out[0], rows, inner };
	unsigned int type = code_type();

	case_init(c, NPU_OP_GATHER);
	tensor(c, NPU_GATHER_OUT, rng_chance(2) ? mostly_code() : type, 3, out);
	tensor(c, NPU_GATHER_IN, type, 3, in);
	if (c->operand[NPU_GATHER_OUT].dtype == type && rng_chance(2))
		same_quantization(c, NPU_GATHER_OUT, NPU_GATHER_IN);
	case_dense(c, NPU_GATHER_INDEX, NPU_I32, 1, &count, CONTENTS_TAME);
	for (i = 0; i < count; i++)
		case_index(c, NPU_GATHER_INDEX, i, rng_below(rows));
}

int main(void)
{
	rng_seed(33);
	harness_many("quantize", 2500, make_quantize);
	harness_many("copy of codes", 2000, make_copy);
	harness_many("ewise1 of codes", 2000, make_ewise1);
	harness_many("ewise2 of codes", 3000, make_ewise2);
	harness_many("pool of codes", 2000, make_pool);
	harness_many("resize of codes", 2000, make_resize);
	harness_many("reduce of codes", 2000, make_reduce);
	harness_many("gather of codes", 2000, make_gather);
	harness_report();
	return tap_done();
}
