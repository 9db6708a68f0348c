// SPDX-License-Identifier: MIT
/* REDUCE, ARG_REDUCE, TOPK, CUMSUM, SOFTMAX and NORM against the oracle. */
#include <string.h>
#include "../tap.h"
#include "harness.h"

static const unsigned char types[] = {
	NPU_F32, NPU_F16, NPU_BF16, NPU_I8, NPU_U8, NPU_I32, NPU_I64
};

static unsigned int random_dims(npu_u32 *dim, unsigned int max_rank)
{
	unsigned int rank = rng_range(1, max_rank);

	for (unsigned int i = 0; i < rank; i++)
		dim[i] = rng_range(1, rng_chance(4) ? 60 : 7);
	return rank;
}

static void make_reduce_of(struct tcase *c, unsigned int type, unsigned int func)
{
	npu_u32 in[NPU_MAX_RANK], out[NPU_MAX_RANK];
	unsigned int rank = random_dims(in, 4), axes = rng_range(1, (1u << rank) - 1);

	case_init(c, NPU_OP_REDUCE);
	c->tolerance = 1e-5;
	c->param[NPU_REDUCE_P_FUNC] = func;
	c->param[NPU_REDUCE_P_AXES] = axes;
	for (unsigned int i = 0; i < rank; i++)
		out[i] = axes >> i & 1 ? 1 : in[i];
	case_tensor(c, NPU_REDUCE_OUT, type, rank, out, CONTENTS_TAME);
	case_tensor(c, NPU_REDUCE_IN, type, rank, in,
		    rng_chance(6) && func < NPU_REDUCE_LOG_SUM ? CONTENTS_WILD : CONTENTS_TAME);
}

static void make_reduce(struct tcase *c)
{
	unsigned int func = rng_below(NPU_NUM_REDUCES);

	make_reduce_of(c, types[rng_below(5)], func);
	case_quantize(c, NPU_REDUCE_OUT);
	case_quantize(c, NPU_REDUCE_IN);
	/* The logarithm of a sum needs terms above zero. */
	if (func == NPU_REDUCE_LOG_SUM && c->operand[NPU_REDUCE_IN].dtype != NPU_U8)
		c->param[NPU_REDUCE_P_FUNC] = NPU_REDUCE_SUM;
	else if (func == NPU_REDUCE_LOG_SUM)
		c->operand[NPU_REDUCE_IN].zero_point = 0;
}

static void make_reduce_int(struct tcase *c)
{
	make_reduce_of(c, types[rng_range(3, 6)], rng_below(NPU_REDUCE_L1 + 1));
}

/* Mean over H and W of channels-last data, as conv nets end. */
static void make_global_pool(struct tcase *c)
{
	npu_u32 in[4] = { rng_range(1, 2), rng_range(1, 20), rng_range(1, 20), rng_range(1, 100) };
	npu_u32 out[4] = { in[0], 1, 1, in[3] };
	unsigned int type = rng_chance(2) ? NPU_F16 : NPU_F32;

	case_init(c, NPU_OP_REDUCE);
	c->param[NPU_REDUCE_P_FUNC] = rng_chance(4) ? rng_below(NPU_REDUCE_LOG_SUM) :
						      NPU_REDUCE_MEAN;
	c->param[NPU_REDUCE_P_AXES] = 6;
	case_dense(c, NPU_REDUCE_OUT, type, 4, out, CONTENTS_TAME);
	case_dense(c, NPU_REDUCE_IN, type, 4, in, CONTENTS_TAME);
}

static void make_arg(struct tcase *c)
{
	npu_u32 in[NPU_MAX_RANK], out[NPU_MAX_RANK];
	unsigned int rank = random_dims(in, 4), axis = rng_below(rank), type = types[rng_below(7)];

	case_init(c, NPU_OP_ARG_REDUCE);
	c->param[NPU_ARG_REDUCE_P_AXIS] = axis;
	c->param[NPU_ARG_REDUCE_P_IS_MIN] = rng_below(2);
	c->param[NPU_ARG_REDUCE_P_LAST] = rng_below(2);
	memcpy(out, in, sizeof(out));
	out[axis] = 1;
	case_tensor(c, NPU_ARG_REDUCE_OUT, rng_chance(2) ? NPU_I32 : NPU_I64, rank, out,
		    CONTENTS_TAME);
	case_tensor(c, NPU_ARG_REDUCE_IN, type, rank, in,
		    rng_chance(3) ? CONTENTS_WILD : CONTENTS_TAME);
	case_quantize(c, NPU_ARG_REDUCE_IN);
}

static void make_topk(struct tcase *c)
{
	npu_u32 in[NPU_MAX_RANK], out[NPU_MAX_RANK];
	unsigned int rank = random_dims(in, 3), axis = rng_below(rank), type = types[rng_below(7)];

	case_init(c, NPU_OP_TOPK);
	c->param[NPU_TOPK_P_AXIS] = axis;
	c->param[NPU_TOPK_P_SMALLEST] = rng_below(2);
	memcpy(out, in, sizeof(out));
	out[axis] = rng_range(1, in[axis]);
	case_tensor(c, NPU_TOPK_VALUES, type, rank, out, CONTENTS_TAME);
	case_tensor(c, NPU_TOPK_INDICES, rng_chance(2) ? NPU_I32 : NPU_I64, rank, out,
		    CONTENTS_TAME);
	case_tensor(c, NPU_TOPK_IN, type, rank, in, rng_chance(3) ? CONTENTS_WILD : CONTENTS_TAME);
}

static void make_cumsum(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim, 4), type = types[rng_below(7)];

	case_init(c, NPU_OP_CUMSUM);
	c->param[NPU_CUMSUM_P_AXIS] = rng_below(rank);
	c->param[NPU_CUMSUM_P_EXCLUSIVE] = rng_below(2);
	c->param[NPU_CUMSUM_P_REVERSE] = rng_below(2);
	case_tensor(c, NPU_CUMSUM_OUT, type, rank, dim, CONTENTS_TAME);
	case_tensor(c, NPU_CUMSUM_IN, type, rank, dim, CONTENTS_TAME);
}

static void make_softmax(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim, 4), type = types[rng_below(5)];

	case_init(c, NPU_OP_SOFTMAX);
	c->param[NPU_SOFTMAX_P_AXIS] = rng_chance(2) ? rank - 1 : rng_below(rank);
	c->param[NPU_SOFTMAX_P_LOG] = rng_chance(4);
	if (rng_chance(4))
		dim[c->param[NPU_SOFTMAX_P_AXIS]] = rng_range(1, 1500);
	case_tensor(c, NPU_SOFTMAX_OUT, rng_chance(3) ? NPU_F32 : type, rank, dim, CONTENTS_TAME);
	case_quantize(c, NPU_SOFTMAX_OUT);
	case_tensor(c, NPU_SOFTMAX_IN, type, rank, dim, CONTENTS_TAME);
	case_quantize(c, NPU_SOFTMAX_IN);
}

static void make_norm(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim, 3), type = types[rng_below(3)];
	npu_u32 *d = &dim[rank - 1];

	case_init(c, NPU_OP_NORM);
	if (rng_chance(2))
		*d = rng_range(1, 300);
	c->param[NPU_NORM_P_KIND] = rng_below(2);
	case_param_f32(c, NPU_NORM_P_EPS, 1e-5f);
	case_tensor(c, NPU_NORM_OUT, type, rank, dim, CONTENTS_TAME);
	case_tensor(c, NPU_NORM_IN, type, rank, dim,
		    rng_chance(10) ? CONTENTS_WILD : CONTENTS_TAME);
	if (rng_chance(2))
		case_dense(c, NPU_NORM_GAMMA, types[rng_below(3)], 1, d, CONTENTS_TAME);
	if (rng_chance(2))
		case_dense(c, NPU_NORM_BETA, types[rng_below(3)], 1, d, CONTENTS_TAME);
	if (rng_chance(3))
		case_tensor(c, NPU_NORM_ADDEND, type, rank, dim, CONTENTS_TAME);
	if (rng_chance(3))
		case_tensor(c, NPU_NORM_SUM, type, rank, dim, CONTENTS_TAME);
}

int main(void)
{
	rng_seed(23);
	harness_many("reduce, real", 2000, make_reduce);
	harness_many("reduce, integer", 1000, make_reduce_int);
	harness_many("reduce, global pooling", 500, make_global_pool);
	harness_many("arg_reduce", 1000, make_arg);
	harness_many("topk", 1000, make_topk);
	harness_many("cumsum", 1000, make_cumsum);
	harness_many("softmax", 1000, make_softmax);
	harness_many("norm", 1000, make_norm);
	harness_report();
	return tap_done();
}
