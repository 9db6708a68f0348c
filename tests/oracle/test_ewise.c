// SPDX-License-Identifier: MIT
/* EWISE1, EWISE2 and SELECT against the oracle. */
#include <string.h>
#include "../tap.h"
#include "harness.h"

static const unsigned char float_types[] = { NPU_F32, NPU_F16, NPU_BF16, NPU_I8, NPU_U8 };
static const unsigned char int_types[] = { NPU_I8, NPU_U8, NPU_I32, NPU_I64, NPU_BOOL };

static unsigned int random_dims(npu_u32 *dim)
{
	unsigned int rank = rng_range(1, rng_chance(3) ? 6 : 4);

	for (unsigned int i = 0; i < rank; i++)
		dim[i] = rng_range(1, i + 1 == rank ? (rng_chance(2) ? 70 : 12) : 4);
	return rank;
}

static void shrink(npu_u32 *to, const npu_u32 *from, unsigned int rank)
{
	int how = rng_below(4);

	for (unsigned int i = 0; i < rank; i++)
		to[i] = how == 0 || (how == 1 && i + 1 < rank) || (how == 2 && rng_chance(2)) ?
				1 :
				from[i];
}

/* Functions with a domain get operands from it, others everything. */
static void restrict_domain(struct tcase *c, unsigned int func)
{
	struct npu_operand *op = &c->operand[NPU_EWISE1_IN];
	npu_u64 n = (c->size[NPU_EWISE1_IN] - op->offset) / 4;
	float v;

	if (op->dtype != NPU_F32)
		return;
	for (npu_u64 i = 0; i + 16 < n; i++) {
		unsigned char *at = c->data[NPU_EWISE1_IN] + op->offset + i * 4;

		memcpy(&v, at, 4);
		if (func == NPU_UNARY_ASIN || func == NPU_UNARY_ACOS || func == NPU_UNARY_ATANH)
			v = v > 1 || v < -1 ? 0.5f : v;
		if (func == NPU_UNARY_TAN || func == NPU_UNARY_SIN || func == NPU_UNARY_COS)
			v = v > 1e4f || v < -1e4f ? 1 : v;
		memcpy(at, &v, 4);
	}
}

static void finish(struct tcase *c, unsigned int first_act, unsigned int prelu_slot)
{
	npu_u32 last = c->operand[0].dim[c->operand[0].rank - 1];

	case_param_f32(c, first_act + 3, 1);
	case_activation(c, first_act, 1);
	if (c->param[first_act] == NPU_ACT_PRELU)
		case_dense(c, prelu_slot, NPU_F32, 1, &last, CONTENTS_TAME);
	if (rng_chance(4)) {
		case_param_f32(c, first_act + 3, rng_float());
		case_param_f32(c, first_act + 4, rng_float());
	}
}

static void make_unary(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK], in[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim), func;
	unsigned int type = float_types[rng_below(5)];

	case_init(c, NPU_OP_EWISE1);
	do {
		func = rng_below(NPU_NUM_UNARIES);
	} while (func == NPU_UNARY_BITNOT || func == NPU_UNARY_NOT || func == NPU_UNARY_ISNAN ||
		 func == NPU_UNARY_ISINF);
	c->param[NPU_EWISE1_P_FUNC] = func;
	memcpy(in, dim, sizeof(in));
	if (rng_chance(4))
		shrink(in, dim, rank);
	case_tensor(c, 0, rng_chance(3) ? float_types[rng_below(5)] : type, rank, dim,
		    CONTENTS_TAME);
	case_quantize(c, 0);
	case_tensor(c, NPU_EWISE1_IN, type, rank, in,
		    rng_chance(4) ? CONTENTS_WILD : CONTENTS_TAME);
	case_quantize(c, NPU_EWISE1_IN);
	restrict_domain(c, func);
	finish(c, NPU_EWISE1_P_ACT, NPU_EWISE1_ACT_PARAM);
}

static void make_unary_int(struct tcase *c)
{
	static const unsigned char funcs[] = {
		NPU_UNARY_ABS,	  NPU_UNARY_NEG,    NPU_UNARY_SIGN, NPU_UNARY_NOT,
		NPU_UNARY_BITNOT, NPU_UNARY_SQUARE, NPU_UNARY_COPY,
	};
	npu_u32 dim[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim), type = int_types[rng_below(4)];

	case_init(c, NPU_OP_EWISE1);
	c->param[NPU_EWISE1_P_FUNC] = funcs[rng_below(sizeof(funcs))];
	case_param_f32(c, NPU_EWISE1_P_POST_MUL, 1);
	if (c->param[NPU_EWISE1_P_FUNC] == NPU_UNARY_NOT)
		type = NPU_BOOL;
	case_tensor(c, 0, type, rank, dim, CONTENTS_TAME);
	case_tensor(c, NPU_EWISE1_IN, type, rank, dim, CONTENTS_WILD);
}

static void make_binary(struct tcase *c)
{
	static const unsigned char funcs[] = {
		NPU_BINARY_ADD, NPU_BINARY_SUB, NPU_BINARY_MUL, NPU_BINARY_DIV,	 NPU_BINARY_MAX,
		NPU_BINARY_MIN, NPU_BINARY_ADD, NPU_BINARY_MUL, NPU_BINARY_FMOD, NPU_BINARY_MOD,
	};
	npu_u32 dim[NPU_MAX_RANK], a[NPU_MAX_RANK], b[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim), type = float_types[rng_below(5)];
	enum contents contents = rng_chance(4) ? CONTENTS_WILD : CONTENTS_TAME;

	case_init(c, NPU_OP_EWISE2);
	c->param[NPU_EWISE2_P_FUNC] = funcs[rng_below(sizeof(funcs))];
	memcpy(a, dim, sizeof(a));
	memcpy(b, dim, sizeof(b));
	if (rng_chance(2))
		shrink(rng_chance(2) ? a : b, dim, rank);
	case_tensor(c, 0, rng_chance(3) ? float_types[rng_below(5)] : type, rank, dim,
		    CONTENTS_TAME);
	case_quantize(c, 0);
	case_tensor(c, NPU_EWISE2_A, type, rank, a, contents);
	case_quantize(c, NPU_EWISE2_A);
	case_tensor(c, NPU_EWISE2_B, rng_chance(4) ? float_types[rng_below(5)] : type, rank, b,
		    contents);
	case_quantize(c, NPU_EWISE2_B);
	finish(c, NPU_EWISE2_P_ACT, NPU_EWISE2_ACT_PARAM);
}

/* Bases above zero and exponents of moderate size. */
static void make_pow(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim);

	case_init(c, NPU_OP_EWISE2);
	c->tolerance = 2e-5;
	c->param[NPU_EWISE2_P_FUNC] = NPU_BINARY_POW;
	case_param_f32(c, NPU_EWISE2_P_POST_MUL, 1);
	case_tensor(c, 0, NPU_F32, rank, dim, CONTENTS_TAME);
	case_tensor(c, NPU_EWISE2_A, NPU_U8, rank, dim, CONTENTS_TAME);
	c->operand[NPU_EWISE2_A].scale = 1.0f / 64;
	case_tensor(c, NPU_EWISE2_B, NPU_F16, rank, dim, CONTENTS_TAME);
}

static void make_compare(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim),
		     type = rng_chance(2) ? float_types[rng_below(2)] : int_types[rng_below(4)];

	case_init(c, NPU_OP_EWISE2);
	c->param[NPU_EWISE2_P_FUNC] = rng_range(NPU_BINARY_EQ, NPU_BINARY_XOR);
	if (c->param[NPU_EWISE2_P_FUNC] >= NPU_BINARY_AND)
		type = NPU_BOOL;
	case_param_f32(c, NPU_EWISE2_P_POST_MUL, 1);
	case_tensor(c, 0, NPU_BOOL, rank, dim, CONTENTS_TAME);
	case_tensor(c, NPU_EWISE2_A, type, rank, dim, CONTENTS_WILD);
	case_tensor(c, NPU_EWISE2_B, type, rank, dim, CONTENTS_WILD);
}

static void make_binary_int(struct tcase *c)
{
	static const unsigned char funcs[] = {
		NPU_BINARY_ADD,	   NPU_BINARY_SUB,   NPU_BINARY_MUL,	NPU_BINARY_DIV,
		NPU_BINARY_MAX,	   NPU_BINARY_MIN,   NPU_BINARY_MOD,	NPU_BINARY_FMOD,
		NPU_BINARY_BITAND, NPU_BINARY_BITOR, NPU_BINARY_BITXOR,
	};
	npu_u32 dim[NPU_MAX_RANK], b[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim), type = int_types[rng_below(4)];

	case_init(c, NPU_OP_EWISE2);
	c->param[NPU_EWISE2_P_FUNC] = funcs[rng_below(sizeof(funcs))];
	case_param_f32(c, NPU_EWISE2_P_POST_MUL, 1);
	memcpy(b, dim, sizeof(b));
	if (rng_chance(2))
		shrink(b, dim, rank);
	case_tensor(c, 0, type, rank, dim, CONTENTS_TAME);
	case_tensor(c, NPU_EWISE2_A, type, rank, dim, CONTENTS_WILD);
	case_tensor(c, NPU_EWISE2_B, type, rank, b, CONTENTS_WILD);
}

static void make_select(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK], a[NPU_MAX_RANK], b[NPU_MAX_RANK], cond[NPU_MAX_RANK];
	unsigned int rank = random_dims(dim),
		     type = rng_chance(2) ? float_types[rng_below(3)] : int_types[rng_below(5)];

	case_init(c, NPU_OP_SELECT);
	memcpy(a, dim, sizeof(a));
	memcpy(b, dim, sizeof(b));
	memcpy(cond, dim, sizeof(cond));
	shrink(rng_chance(2) ? a : rng_chance(2) ? b : cond, dim, rank);
	case_tensor(c, 0, type, rank, dim, CONTENTS_TAME);
	case_tensor(c, NPU_SELECT_COND, NPU_BOOL, rank, cond, CONTENTS_TAME);
	case_tensor(c, NPU_SELECT_A, type, rank, a, CONTENTS_WILD);
	case_tensor(c, NPU_SELECT_B, type, rank, b, CONTENTS_WILD);
}

/* Dense lines of any length, each input whole or repeated: what is done by whole vectors. */
static void make_select_lines(struct tcase *c)
{
	static const unsigned char types[] = { NPU_F32, NPU_F16, NPU_U8, NPU_I32, NPU_I64 };
	npu_u32 dim[2] = { rng_range(1, 4), rng_range(1, rng_chance(8) ? 9000 : 200) }, in[2];
	unsigned int type = types[rng_below(5)];

	case_init(c, NPU_OP_SELECT);
	case_dense(c, 0, type, 2, dim, CONTENTS_TAME);
	for (unsigned int slot = NPU_SELECT_COND; slot <= NPU_SELECT_B; slot++) {
		in[0] = rng_chance(4) ? 1 : dim[0];
		in[1] = rng_chance(3) ? 1 : dim[1];
		case_dense(c, slot, slot == NPU_SELECT_COND ? NPU_BOOL : type, 2, in,
			   slot == NPU_SELECT_COND ? CONTENTS_TAME : CONTENTS_WILD);
	}
}

int main(void)
{
	rng_seed(22);
	harness_many("ewise1, real", 2500, make_unary);
	harness_many("ewise1, integer", 1000, make_unary_int);
	harness_many("ewise2, real", 2500, make_binary);
	harness_many("ewise2, pow", 300, make_pow);
	harness_many("ewise2, comparisons and logic", 1000, make_compare);
	harness_many("ewise2, integer", 1500, make_binary_int);
	harness_many("select", 1000, make_select);
	harness_many("select, lines", 600, make_select_lines);
	harness_report();
	return tap_done();
}
