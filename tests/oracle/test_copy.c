// SPDX-License-Identifier: MIT
/* COPY, FILL, PAD and IOTA against the oracle. */
#include <string.h>
#include "../tap.h"
#include "harness.h"

static const unsigned char types[] = { NPU_F32, NPU_F16, NPU_BF16, NPU_I8,
				       NPU_U8,	NPU_I32, NPU_I64,  NPU_BOOL };

static unsigned int random_dims(npu_u32 *dim)
{
	unsigned int rank = rng_range(1, rng_chance(3) ? 6 : 4);

	for (unsigned int i = 0; i < rank; i++)
		dim[i] = rng_range(1, rng_chance(4) ? 33 : 5);
	return rank;
}

static void make_copy(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK], in[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim), type = types[rng_below(8)];

	case_init(c, NPU_OP_COPY);
	for (unsigned int i = 0; i < rank; i++)
		in[i] = rng_chance(8) ? 1 : dim[i];
	case_tensor(c, 0, rng_chance(2) ? type : types[rng_below(8)], rank, dim, CONTENTS_TAME);
	case_tensor(c, 1, type, rank, in, rng_chance(3) ? CONTENTS_WILD : CONTENTS_TAME);
	if (rng_chance(2)) {
		case_quantize(c, 0);
		case_quantize(c, 1);
	}
}

/* Planar to channels-last and back, with a change of type. */
static void make_layout(struct tcase *c)
{
	npu_u32 dim[4] = { rng_range(1, 2), rng_range(1, 20), rng_range(1, 40), rng_range(1, 40) };
	unsigned int planar = rng_below(2);
	struct npu_operand *op;
	npu_s64 size;

	case_init(c, NPU_OP_COPY);
	case_dense(c, 0, rng_chance(2) ? NPU_F16 : NPU_F32, 4, dim, CONTENTS_TAME);
	case_dense(c, 1, rng_chance(2) ? NPU_F16 : NPU_F32, 4, dim, CONTENTS_TAME);
	op = &c->operand[planar];
	size = npu_dtype_bits(op->dtype) / 8;
	op->stride[3] = size * dim[1] * dim[2];
	op->stride[2] = size;
	op->stride[1] = size * dim[2];
}

/*
 * Matrices turned over, of any type: whole pieces and edges; sometimes with rows that share lines
 * of the cache.
 */
static void make_turned(struct tcase *c)
{
	npu_u32 crowded = rng_chance(3) ? 1024 : 0;
	npu_u32 dim[2] = { rng_range(1, 90), crowded ? crowded : rng_range(1, 300) }, swap;
	unsigned int type = types[rng_below(8)], side = rng_below(2);
	struct npu_operand *op;
	npu_s64 size = npu_dtype_bits(type) / 8;

	if (rng_chance(2)) {
		swap = dim[0];
		dim[0] = dim[1];
		dim[1] = swap;
	}
	case_init(c, NPU_OP_COPY);
	case_dense(c, 0, type, 2, dim, CONTENTS_TAME);
	case_dense(c, 1, type, 2, dim, CONTENTS_WILD);
	op = &c->operand[side];
	op->stride[0] = size;
	op->stride[1] = size * dim[0];
}

static void make_fill(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim), type = types[rng_below(8)];

	case_init(c, NPU_OP_FILL);
	c->param[NPU_FILL_P_VALUE_LO] = type == NPU_BOOL	   ? 1 :
					npu_dtype_bits(type) == 8  ? rng() & 0xff :
					npu_dtype_bits(type) == 16 ? rng() & 0xffff :
								     rng();
	c->param[NPU_FILL_P_VALUE_HI] = type == NPU_I64 ? rng() : 0;
	case_tensor(c, 0, type, rank, dim, CONTENTS_TAME);
}

static void make_pad(struct tcase *c)
{
	npu_u32 out[NPU_MAX_RANK], in[NPU_MAX_RANK];
	unsigned int rank = random_dims(in), type = types[rng_below(8)];

	case_init(c, NPU_OP_PAD);
	c->param[NPU_PAD_P_MODE] = rng_below(NPU_NUM_PADS);
	c->param[NPU_PAD_P_VALUE_LO] = type == NPU_BOOL		  ? 1 :
				       npu_dtype_bits(type) == 8  ? rng() & 0xff :
				       npu_dtype_bits(type) == 16 ? rng() & 0xffff :
								    rng();
	c->param[NPU_PAD_P_VALUE_HI] = type == NPU_I64 ? rng() : 0;
	for (unsigned int i = 0; i < rank; i++) {
		int before = 0, after = 0;

		/* Reflection needs an element beyond each pad. */
		if (c->param[NPU_PAD_P_MODE] == NPU_PAD_REFLECT && in[i] < 4)
			before = after = 0;
		else if (rng_chance(2)) {
			before = (int)rng_below(7) - 3;
			after = (int)rng_below(7) - 3;
			if ((int)in[i] + before + after < 1)
				before = after = 1;
		}
		c->param[NPU_PAD_P_BEFORE0 + i] = (npu_u32)before;
		out[i] = (npu_u32)((int)in[i] + before + after);
	}
	case_tensor(c, 0, type, rank, out, CONTENTS_TAME);
	case_tensor(c, 1, type, rank, in, CONTENTS_WILD);
}

static void make_iota(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim),
		     type = types[rng_chance(2) ? rng_below(3) : rng_range(5, 6)];

	case_init(c, NPU_OP_IOTA);
	c->param[NPU_IOTA_P_AXIS] = rng_below(rank);
	case_param_f32(c, NPU_IOTA_P_START,
		       type >= NPU_I8 ? (float)((int)rng_below(100) - 50) : rng_float());
	case_param_f32(c, NPU_IOTA_P_STEP,
		       type >= NPU_I8 ? (float)((int)rng_below(20) - 10) : rng_float());
	case_tensor(c, 0, type, rank, dim, CONTENTS_TAME);
}

int main(void)
{
	rng_seed(25);
	harness_many("copy", 3000, make_copy);
	harness_many("copy, layouts", 400, make_layout);
	harness_many("copy, turned", 600, make_turned);
	harness_many("fill", 1000, make_fill);
	harness_many("pad", 1500, make_pad);
	harness_many("iota", 1000, make_iota);
	harness_report();
	return tap_done();
}
