// SPDX-License-Identifier: MIT
/*
 * MATMUL with codes in groups, and GATHER of rows of them, against the oracle: every width and
 * number of levels, minimums, codebook, layouts, short tails, codes and floats for a, extremes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../tap.h"
#include "harness.h"
#include "npu_half.h"

static const unsigned char widths[] = { NPU_U4, NPU_U4, NPU_U5, NPU_U6, NPU_U8 };

/* Memory of random bytes for a slot whose shape is set by hand. */
static void memory(struct tcase *c, unsigned int slot, npu_u64 bytes)
{
	struct npu_operand *op = &c->operand[slot];
	int extreme = rng_chance(4);

	op->region = slot;
	op->offset = 64;
	c->size[slot] = bytes + 128;
	c->data[slot] = malloc(c->size[slot]);
	for (npu_u64 i = 0; i < c->size[slot]; i++)
		c->data[slot][i] = extreme ? (rng_chance(9) ? 0 : 0xff) : rng() & 0xff;
}

/*
 * Factors [.., rows, cols] of groups: random strides, or in panels of 16 of the dim that outputs
 * are (@panel_dim).
 */
static void factors(struct tcase *c, unsigned int slot, unsigned int dtype, unsigned int rank,
		    const npu_u32 *dim, unsigned int panel_dim, enum contents contents)
{
	struct npu_operand *op = &c->operand[slot];
	npu_u64 bytes = npu_dtype_bits(dtype) / 8, elements;
	struct npu_operand old;
	unsigned char *data;

	case_tensor(c, slot, dtype, rank, dim, contents);
	if (rng_chance(3))
		return;
	old = *op;
	data = c->data[slot];
	elements = (dim[panel_dim] + 15ull) / 16 * 16 * dim[panel_dim ^ (rank == 3 ? 3 : 1)] *
		   (rank == 3 ? dim[0] : 1);
	op->layout = NPU_LAYOUT_PANEL16;
	memset(op->stride, 0, sizeof(op->stride));
	memory(c, slot, elements * bytes);
	/* any of the numbers that the strided one has */
	for (npu_u64 i = 0; i < elements; i++)
		memcpy(c->data[slot] + 64 + i * bytes,
		       data + old.offset +
			       (rank == 3 ? rng_below(dim[0]) * (npu_u64)old.stride[0] : 0) +
			       rng_below(dim[rank - 2]) * (npu_u64)old.stride[rank - 2] +
			       rng_below(dim[rank - 1]) * (npu_u64)old.stride[rank - 1],
		       bytes);
	free(data);
}

struct shape {
	npu_u32 k, n, group, super;
	int rows_first;
};

struct slots {
	unsigned int codes, scale, min, super, book, group, super_param;
};

static const struct slots matmul_slots = { NPU_MATMUL_B,	 NPU_MATMUL_GROUP_SCALE,
					   NPU_MATMUL_GROUP_MIN, NPU_MATMUL_SUPER_SCALE,
					   NPU_MATMUL_CODEBOOK,	 NPU_MATMUL_P_GROUP,
					   NPU_MATMUL_P_SUPER };
static const struct slots gather_slots = { NPU_GATHER_IN,	 NPU_GATHER_GROUP_SCALE,
					   NPU_GATHER_GROUP_MIN, NPU_GATHER_SUPER_SCALE,
					   NPU_GATHER_CODEBOOK,	 NPU_GATHER_P_GROUP,
					   NPU_GATHER_P_SUPER };

static void make_factors(struct tcase *c, const struct slots *s, const struct shape *d)
{
	npu_u32 groups = (d->k + d->group - 1) / d->group, book = 16;
	npu_u32 dim[3] = { 2, groups, d->n }, *two = dim + 1;
	enum contents contents = rng_chance(6) ? CONTENTS_WILD : CONTENTS_TAME;
	unsigned int panel_dim = d->rows_first ? 0 : 1,
		     float_type = rng_chance(2) ? NPU_F16 : NPU_F32;
	unsigned int int_type = rng_chance(2) ? NPU_U8 : NPU_I8;
	int has_min = rng_chance(2);

	if (d->rows_first) {
		two[0] = d->n;
		two[1] = groups;
	}
	factors(c, s->scale, d->super ? int_type : float_type, 2, two, panel_dim, contents);
	if (has_min)
		factors(c, s->min, d->super ? (rng_chance(2) ? NPU_U8 : NPU_I8) : float_type, 2,
			two, panel_dim, contents);
	if (d->super) {
		two[!panel_dim] = (d->k + d->super - 1) / d->super;
		factors(c, s->super, float_type, 2 + has_min, has_min ? dim : two,
			panel_dim + has_min, contents);
	}
	if (c->operand[s->codes].dtype == NPU_U4 && rng_chance(3)) {
		case_dense(c, s->book, NPU_I8, 1, &book, CONTENTS_TAME);
		c->operand[s->codes].zero_point = 0;
	}
	c->param[s->group] = d->group;
	c->param[s->super_param] = d->super;
}

static void make_codes(struct tcase *c, const struct slots *s, const struct shape *d,
		       unsigned int rank)
{
	struct npu_operand *op = &c->operand[s->codes];
	unsigned int type = widths[rng_below(5)], bits = npu_dtype_bits(type);

	memory(c, s->codes, (d->k + 3ull) / 4 * ((d->n + 15) / 16) * bits * 8);
	op->dtype = type;
	op->layout = NPU_LAYOUT_GROUPED16;
	op->rank = rank;
	for (unsigned int i = 0; i < rank; i++)
		op->dim[i] = 1;
	op->dim[rank - 2] = d->rows_first ? d->n : d->k;
	op->dim[rank - 1] = d->rows_first ? d->k : d->n;
	op->zero_point = rng_chance(3)	 ? 0
			 : rng_chance(2) ? 1 << (bits - 1)
					 : (int)rng_below(1u << bits);
}

static void shape_of(struct shape *d, npu_u32 max_k, npu_u32 max_n)
{
	static const npu_u32 groups[] = { 16, 32, 32, 64, 128, 4, 12, 256, 1024 };

	d->group = groups[rng_below(9)];
	d->k = rng_chance(3) ? 256 * rng_range(1, max_k > 512 ? max_k / 256 : 2)
			     : rng_range(1, max_k);
	d->n = rng_range(1, max_n);
	d->super = rng_chance(2) ? d->group * (rng_chance(2) ? 8 : rng_range(1, 20)) : 0;
}

static void make_grouped(struct tcase *c, const struct shape *d, npu_u32 m, unsigned int rank,
			 unsigned int a_type)
{
	npu_u32 out[NPU_MAX_RANK], a[NPU_MAX_RANK];

	for (unsigned int i = 0; i + 2 < rank; i++) {
		out[i] = rng_range(1, 3);
		a[i] = rng_chance(4) ? 1 : out[i];
	}
	out[rank - 2] = a[rank - 2] = m;
	out[rank - 1] = d->n;
	a[rank - 1] = d->k;
	case_tensor(c, NPU_MATMUL_OUT,
		    rng_chance(2)   ? NPU_F32
		    : rng_chance(3) ? NPU_BF16
				    : NPU_F16,
		    rank, out, CONTENTS_TAME);
	case_tensor(c, NPU_MATMUL_A, a_type, rank, a,
		    rng_chance(10) ? CONTENTS_WILD : CONTENTS_TAME);
	/* sums as far from 0 as they get */
	if (a_type == NPU_I8 && rng_chance(4))
		memset(c->data[NPU_MATMUL_A], rng_chance(2) ? 0x80 : 0x7f, c->size[NPU_MATMUL_A]);
	make_codes(c, &matmul_slots, d, rank);
	make_factors(c, &matmul_slots, d);
	if (a_type == NPU_I8 && rng_chance(5)) {
		c->operand[NPU_MATMUL_A].scale = 0.03125f * (float)rng_range(1, 99);
	} else if (a_type == NPU_I8) {
		npu_u32 per = rng_chance(3) ? 0 : d->group * (rng_chance(2) ? 1 : rng_range(1, 9));

		per = per > 65536 ? d->group : per;
		a[rank - 1] = per ? (d->k + per - 1) / per : 0;
		case_tensor(c, NPU_MATMUL_A_SCALE, rng_chance(2) ? NPU_F32 : NPU_F16,
			    per ? rank : rank - 1, a,
			    rng_chance(8) ? CONTENTS_WILD : CONTENTS_TAME);
		c->param[NPU_MATMUL_P_A_GROUP] = per;
	}
	case_epilogue(c, NPU_MATMUL_BIAS, NPU_MATMUL_P_ACT, 0);
}

static void make_codes_case(struct tcase *c)
{
	struct shape d = { 0 };

	shape_of(&d, rng_chance(8) ? 1100 : 200, rng_chance(8) ? 130 : 40);
	case_init(c, NPU_OP_MATMUL);
	make_grouped(c, &d, rng_chance(3) ? 1 : rng_range(1, rng_chance(4) ? 40 : 6),
		     rng_range(2, rng_chance(4) ? 4 : 2), NPU_I8);
}

static void make_float_case(struct tcase *c)
{
	static const unsigned char types[] = { NPU_F32, NPU_F16, NPU_BF16 };
	struct shape d = { 0 };

	shape_of(&d, 200, 40);
	case_init(c, NPU_OP_MATMUL);
	make_grouped(c, &d, rng_chance(3) ? 1 : rng_range(1, rng_chance(4) ? 40 : 6),
		     rng_range(2, rng_chance(4) ? 4 : 2), types[rng_below(3)]);
}

/* As the files have them: whole blocks of 256, groups of 16 or 32, eight or sixteen to a block. */
static void make_blocks_case(struct tcase *c)
{
	struct shape d = { .k = 256 * rng_range(1, 8),
			   .n = rng_range(1, 70),
			   .group = rng_chance(2) ? 16 : 32 };

	d.super = rng_chance(3) ? 0 : 256;
	case_init(c, NPU_OP_MATMUL);
	make_grouped(c, &d, rng_chance(2) ? 1 : rng_range(2, 30), 2, NPU_I8);
}

/* Rows so long that nothing is kept of them. */
static void make_endless(struct tcase *c, npu_u32 k, unsigned int a_type)
{
	struct shape d = { .k = k + rng_below(9),
			   .n = rng_range(1, 3),
			   .group = rng_chance(2) ? 65536 : 4096 };

	case_init(c, NPU_OP_MATMUL);
	make_grouped(c, &d, 1, 2, a_type);
}

static void make_endless_codes(struct tcase *c)
{
	make_endless(c, 300000, NPU_I8);
}

static void make_endless_floats(struct tcase *c)
{
	make_endless(c, 70000, NPU_F16);
}

static void indices(struct tcase *c, npu_u32 rows, npu_u32 count)
{
	for (npu_u32 i = 0; i < count; i++)
		case_index(c, NPU_GATHER_INDEX, i,
			   (int64_t)rng_below(rows) - (rng_chance(4) ? rows : 0));
	if (rng_chance(20)) {
		case_index(c, NPU_GATHER_INDEX, rng_below(count),
			   rng_chance(2) ? (int64_t)rows + rng_below(5) : -(int64_t)rows - 2);
		c->want_fault = NPU_FAULT_INDEX;
	}
}

static void make_gather(struct tcase *c)
{
	npu_u32 count = rng_range(1, 20), out[3] = { 1, count };
	struct shape d = { .rows_first = 1 };
	struct npu_operand *in = &c->operand[NPU_GATHER_IN];

	shape_of(&d, rng_chance(6) ? 1500 : 300, 60);
	case_init(c, NPU_OP_GATHER);
	out[2] = d.k;
	case_tensor(c, NPU_GATHER_OUT,
		    rng_chance(2)   ? NPU_F32
		    : rng_chance(3) ? NPU_BF16
				    : NPU_F16,
		    3, out, CONTENTS_TAME);
	case_dense(c, NPU_GATHER_INDEX, rng_chance(2) ? NPU_I32 : NPU_I64, 1, &count,
		   CONTENTS_TAME);
	indices(c, d.n, count);
	make_codes(c, &gather_slots, &d, 3);
	if (rng_chance(2)) {
		npu_u64 row = (d.k * (npu_u64)npu_dtype_bits(in->dtype) + 7) / 8 + rng_below(3);

		in->layout = NPU_LAYOUT_STRIDED;
		in->stride[0] = 0;
		in->stride[1] = (npu_s64)row;
		in->stride[2] = in->dtype == NPU_U8;
		free(c->data[NPU_GATHER_IN]);
		memory(c, NPU_GATHER_IN, row * d.n);
	}
	make_factors(c, &gather_slots, &d);
}

int main(void)
{
	rng_seed(36);
	harness_many("matmul, i8 with codes in groups", 2000, make_codes_case);
	harness_many("matmul, i8 with blocks of 256", 300, make_blocks_case);
	harness_many("matmul, floats with codes in groups", 1000, make_float_case);
	harness_many("gather, codes in groups", 1500, make_gather);
	harness_many("matmul, i8 rows too long to keep anything of", 4, make_endless_codes);
	harness_many("matmul, floats too long", 4, make_endless_floats);
	harness_report();
	return tap_done();
}
