// SPDX-License-Identifier: MIT
/*
 * GATHER, GATHER_ELEMENTS, SCATTER and SCATTER_ELEMENTS against the oracle, bad indices included.
 */
#include <string.h>
#include "../tap.h"
#include "harness.h"
#include "tools/vnpu/oracle/oracle.h"

static const unsigned char types[] = { NPU_F32, NPU_F16, NPU_BF16, NPU_I8,
				       NPU_U8,	NPU_I32, NPU_I64,  NPU_BOOL };

/* Fill slot @slot with indices of @rows rows; one in @bad cases gets an index outside. */
static void indices(struct tcase *c, unsigned int slot, npu_u32 rows, int allow_negative)
{
	struct npu_operand *op = &c->operand[slot];
	struct oracle_view v = { op, c->data[slot] + op->offset };
	npu_u32 index[NPU_MAX_RANK] = { 0 };

	do {
		int64_t i = rng_below(rows);

		if (allow_negative && rng_chance(4))
			i -= rows;
		oracle_store_int(v, oracle_at(v, index), i);
	} while (oracle_next(index, op->dim, op->rank));
	if (rng_chance(20)) {
		for (unsigned int d = 0; d < op->rank; d++)
			index[d] = rng_below(op->dim[d]);
		oracle_store_int(v, oracle_at(v, index),
				 rng_chance(2) ? (int64_t)rows + rng_below(5) : -(int64_t)rows - 2);
		c->want_fault = NPU_FAULT_INDEX;
	}
}

static void make_gather(struct tcase *c)
{
	unsigned int type = types[rng_below(8)];
	npu_u32 in[3] = { rng_range(1, 4), rng_range(1, 30), rng_range(1, 40) },
		count = rng_range(1, 20);
	npu_u32 out[3] = { in[0], count, in[2] };

	case_init(c, NPU_OP_GATHER);
	case_tensor(c, NPU_GATHER_OUT, rng_chance(4) ? NPU_F32 : type, 3, out, CONTENTS_TAME);
	case_tensor(c, NPU_GATHER_IN, type, 3, in, CONTENTS_WILD);
	case_tensor(c, NPU_GATHER_INDEX, rng_chance(2) ? NPU_I32 : NPU_I64, 1, &count,
		    CONTENTS_TAME);
	indices(c, NPU_GATHER_INDEX, in[1], 1);
}

static unsigned int random_dims(npu_u32 *dim)
{
	unsigned int rank = rng_range(1, 4);

	for (unsigned int i = 0; i < rank; i++)
		dim[i] = rng_range(1, 9);
	return rank;
}

static void make_gather_elements(struct tcase *c)
{
	npu_u32 in[NPU_MAX_RANK], out[NPU_MAX_RANK];
	unsigned int rank = random_dims(in), type = types[rng_below(8)], axis = rng_below(rank);

	case_init(c, NPU_OP_GATHER_ELEMENTS);
	for (unsigned int i = 0; i < rank; i++)
		out[i] = i == axis ? rng_range(1, 9) : rng_range(1, in[i]);
	c->param[NPU_GATHER_ELEMENTS_P_AXIS] = axis;
	case_tensor(c, NPU_GATHER_ELEMENTS_OUT, type, rank, out, CONTENTS_TAME);
	case_tensor(c, NPU_GATHER_ELEMENTS_IN, type, rank, in, CONTENTS_WILD);
	case_tensor(c, NPU_GATHER_ELEMENTS_INDEX, rng_chance(2) ? NPU_I32 : NPU_I64, rank, out,
		    CONTENTS_TAME);
	indices(c, NPU_GATHER_ELEMENTS_INDEX, in[axis], 1);
}

static void make_scatter(struct tcase *c)
{
	unsigned int type = types[rng_below(7)];
	npu_u32 io[3] = { rng_range(1, 4), rng_range(1, 30), rng_range(1, 40) },
		count = rng_range(1, 20);
	npu_u32 in[3] = { io[0], count, io[2] };

	case_init(c, NPU_OP_SCATTER);
	c->param[NPU_SCATTER_P_JOIN] = rng_below(NPU_NUM_SCATTERS);
	c->param[NPU_SCATTER_P_SKIP] = rng_below(2);
	case_tensor(c, NPU_SCATTER_INOUT, type, 3, io, CONTENTS_TAME);
	case_tensor(c, NPU_SCATTER_IN, type, 3, in, CONTENTS_TAME);
	case_tensor(c, NPU_SCATTER_INDEX, rng_chance(2) ? NPU_I32 : NPU_I64, 1, &count,
		    CONTENTS_TAME);
	indices(c, NPU_SCATTER_INDEX, io[1], 1);
}

static void make_scatter_elements(struct tcase *c)
{
	npu_u32 io[NPU_MAX_RANK], in[NPU_MAX_RANK];
	unsigned int rank = random_dims(io), type = types[rng_below(7)], axis = rng_below(rank);

	case_init(c, NPU_OP_SCATTER_ELEMENTS);
	for (unsigned int i = 0; i < rank; i++)
		in[i] = i == axis ? rng_range(1, 9) : rng_range(1, io[i]);
	c->param[NPU_SCATTER_ELEMENTS_P_AXIS] = axis;
	c->param[NPU_SCATTER_ELEMENTS_P_JOIN] = rng_below(NPU_NUM_SCATTERS);
	case_tensor(c, NPU_SCATTER_ELEMENTS_INOUT, type, rank, io, CONTENTS_TAME);
	case_tensor(c, NPU_SCATTER_ELEMENTS_IN, type, rank, in, CONTENTS_TAME);
	case_tensor(c, NPU_SCATTER_ELEMENTS_INDEX, rng_chance(2) ? NPU_I32 : NPU_I64, rank, in,
		    CONTENTS_TAME);
	indices(c, NPU_SCATTER_ELEMENTS_INDEX, io[axis], 1);
}

int main(void)
{
	rng_seed(26);
	harness_many("gather", 1500, make_gather);
	harness_many("gather_elements", 1000, make_gather_elements);
	harness_many("scatter", 1500, make_scatter);
	harness_many("scatter_elements", 1000, make_scatter_elements);
	harness_report();
	return tap_done();
}
