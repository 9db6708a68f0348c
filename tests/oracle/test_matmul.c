// SPDX-License-Identifier: MIT
/* MATMUL against the oracle. */
#include "../tap.h"
#include "harness.h"

static const unsigned char float_types[] = { NPU_F32, NPU_F16, NPU_F16, NPU_BF16 };

static void place(struct tcase *c, unsigned int a_type, unsigned int b_type, unsigned int out_type,
		  npu_u32 max)
{
	unsigned int rank = rng_range(2, rng_chance(3) ? 5 : 3);
	npu_u32 m = rng_chance(4) ? 1 : rng_range(1, max), k = rng_range(1, max),
		n = rng_range(1, max);
	npu_u32 out[NPU_MAX_RANK], a[NPU_MAX_RANK], b[NPU_MAX_RANK];
	int integer = a_type == NPU_I8 || a_type == NPU_U8;
	npu_u32 batches = 1;

	for (unsigned int i = 0; i + 2 < rank; i++) {
		out[i] = rng_range(1, 3);
		a[i] = rng_chance(4) ? 1 : out[i];
		b[i] = rng_chance(2) ? 1 : out[i];
		batches *= b[i];
	}
	out[rank - 2] = a[rank - 2] = m;
	out[rank - 1] = b[rank - 1] = n;
	a[rank - 1] = b[rank - 2] = k;
	case_tensor(c, NPU_MATMUL_OUT, out_type, rank, out, CONTENTS_TAME);
	case_quantize(c, NPU_MATMUL_OUT);
	case_tensor(c, NPU_MATMUL_A, a_type, rank, a,
		    rng_chance(10) ? CONTENTS_WILD : CONTENTS_TAME);
	case_tensor(c, NPU_MATMUL_B, b_type, rank, b, CONTENTS_TAME);
	if (integer) {
		case_quantize(c, NPU_MATMUL_A);
		case_quantize(c, NPU_MATMUL_B);
	}
	if (rng_chance(2))
		case_panel(c, NPU_MATMUL_B, integer ? NPU_LAYOUT_PANEL16K4 : NPU_LAYOUT_PANEL16, n,
			   k, batches);
	case_epilogue(c, NPU_MATMUL_BIAS, NPU_MATMUL_P_ACT, integer);
	if (integer && rng_chance(4)) {
		c->operand[NPU_MATMUL_B].zero_point = 0;
		case_dense(c, NPU_MATMUL_B_ZERO, b_type, 1, &n, CONTENTS_TAME);
	}
	if (integer && rng_chance(4)) {
		npu_u32 one = 1;

		c->operand[NPU_MATMUL_A].zero_point = 0;
		case_dense(c, NPU_MATMUL_A_ZERO, a_type, rng_below(2), &one, CONTENTS_TAME);
	}
}

static void make_float(struct tcase *c)
{
	unsigned int type = float_types[rng_below(4)];

	case_init(c, NPU_OP_MATMUL);
	place(c, type, rng_chance(3) ? float_types[rng_below(4)] : type,
	      rng_chance(3) ? float_types[rng_below(4)] : type, rng_chance(8) ? 130 : 40);
}

static void make_int(struct tcase *c)
{
	static const unsigned char outs[] = { NPU_I8, NPU_U8, NPU_I32, NPU_F32, NPU_F16 };

	case_init(c, NPU_OP_MATMUL);
	place(c, rng_chance(2) ? NPU_I8 : NPU_U8, rng_chance(3) ? NPU_U8 : NPU_I8,
	      outs[rng_below(5)], rng_chance(8) ? 130 : 40);
}

/* Long K: the order of accumulation is what is tested. */
static void make_long(struct tcase *c)
{
	npu_u32 k = rng_range(1000, 8192), out[2] = { rng_range(1, 4), rng_range(1, 20) };
	npu_u32 a[2] = { out[0], k }, b[2] = { k, out[1] };
	int integer = rng_chance(2);
	unsigned int type = integer ? NPU_I8 : rng_chance(2) ? NPU_F16 : NPU_F32;

	case_init(c, NPU_OP_MATMUL);
	case_dense(c, NPU_MATMUL_OUT, integer ? NPU_I32 : NPU_F32, 2, out, CONTENTS_TAME);
	case_dense(c, NPU_MATMUL_A, type, 2, a, CONTENTS_TAME);
	case_dense(c, NPU_MATMUL_B, type, 2, b, CONTENTS_TAME);
	if (rng_chance(2))
		case_panel(c, NPU_MATMUL_B, integer ? NPU_LAYOUT_PANEL16K4 : NPU_LAYOUT_PANEL16,
			   out[1], k, 1);
	case_epilogue(c, NPU_MATMUL_BIAS, NPU_MATMUL_P_ACT, integer);
}

int main(void)
{
	rng_seed(21);
	harness_many("matmul, float", 2000, make_float);
	harness_many("matmul, integer", 2000, make_int);
	harness_many("matmul, K to 8192", 60, make_long);
	harness_report();
	return tap_done();
}
