// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>
#include "op_case.h"

static uint32_t pick(struct op_case *c, uint32_t n)
{
	return test_below(&c->rng, n);
}

static uint32_t between(struct op_case *c, uint32_t lo, uint32_t hi)
{
	return lo + pick(c, hi - lo + 1);
}

static float real(struct op_case *c, float lo, float hi)
{
	return lo + (hi - lo) * (float)pick(c, 1000) / 1000;
}

void op_operand(struct op_case *c, unsigned int slot, unsigned int dtype, unsigned int rank,
		const uint32_t *dim, bool may_scale)
{
	struct test_tensor t = test_tensor_make(&c->rng, dtype, rank, dim,
						(enum test_layout)pick(c, TEST_NUM_LAYOUTS));

	test_tensor_fill(&c->rng, &t, pick(c, 2) ? 4.0f : 300.0f, pick(c, 3) == 0);
	if (may_scale && (dtype == NPU_I8 || dtype == NPU_U8 || dtype == NPU_I32)) {
		t.op.scale = real(c, 0.001f, 0.3f);
		t.op.zero_point = dtype == NPU_I8 ? (int)pick(c, 256) - 128 : (int)pick(c, 256);
	}
	c->slot[slot] = t;
	c->used[slot] = true;
}

static const uint8_t data_types[] = { NPU_F32, NPU_F16, NPU_BF16, NPU_F16, NPU_I8, NPU_U8 };
static const uint8_t int_types[] = { NPU_I8, NPU_U8, NPU_I32, NPU_I64, NPU_BOOL };
static const uint8_t all_types[] = { NPU_F32, NPU_F16, NPU_BF16, NPU_I8,
				     NPU_U8,  NPU_I32, NPU_I64,	 NPU_BOOL };

static unsigned int data_type(struct op_case *c)
{
	return data_types[pick(c, sizeof(data_types))];
}

static unsigned int int_type(struct op_case *c)
{
	return int_types[pick(c, sizeof(int_types))];
}

static unsigned int any_type(struct op_case *c)
{
	return all_types[pick(c, sizeof(all_types))];
}

/* A shape of up to @max elements or so. */
static unsigned int shape(struct op_case *c, uint32_t *dim, unsigned int min_rank,
			  unsigned int max_rank, uint32_t max)
{
	unsigned int rank = between(c, min_rank, max_rank), i, at = rank ? pick(c, rank) : 0;
	uint32_t n = 1;

	for (i = 0; i < rank; i++) {
		dim[i] = pick(c, 4) ? between(c, 1, 9) : 1;
		n *= dim[i];
	}
	/* one long dimension */
	if (rank && pick(c, 2)) {
		n /= dim[at];
		dim[at] = between(c, 1, n < max ? max / n : 1);
	}
	return rank;
}

static void broadcast(struct op_case *c, uint32_t *to, const uint32_t *from, unsigned int rank)
{
	unsigned int i, kind = pick(c, 4);

	for (i = 0; i < rank; i++)
		to[i] = kind == 0						? 1 :
			kind == 1 || (kind == 2 && i == rank - 1) || pick(c, 2) ? from[i] :
										  1;
}

static void make_tail(struct op_case *c, uint32_t *p, unsigned int slope_slot, bool prelu,
		      const uint32_t *dim, unsigned int rank)
{
	p[0] = pick(c, 2) ? pick(c, NPU_NUM_ACTS) : NPU_ACT_NONE;
	if (p[0] == NPU_ACT_PRELU && (!prelu || !rank))
		p[0] = NPU_ACT_TANH;
	if (p[0] == NPU_ACT_PRELU)
		op_operand(c, slope_slot, NPU_F32, 1, &dim[rank - 1], false);
	p[1] = test_f32(real(c, -0.5f, 0.4f));
	p[2] = test_f32(real(c, 0.5f, 3));
	p[3] = test_f32(pick(c, 3) ? 1 : real(c, -2, 2));
	p[4] = test_f32(pick(c, 3) ? 0 : real(c, -2, 2));
}

static bool unary_of_ints(unsigned int f)
{
	return f == NPU_UNARY_ABS || f == NPU_UNARY_NEG || f == NPU_UNARY_SIGN ||
	       f == NPU_UNARY_NOT || f == NPU_UNARY_SQUARE || f == NPU_UNARY_COPY ||
	       f == NPU_UNARY_BITNOT;
}

static void make_ewise1(struct op_case *c)
{
	uint32_t dim[6], in[6], func = pick(c, NPU_NUM_UNARIES);
	unsigned int rank = shape(c, dim, 0, 6, 3000), type = data_type(c);
	bool ints = func == NPU_UNARY_BITNOT || (unary_of_ints(func) && pick(c, 3) == 0);

	c->param[NPU_EWISE1_P_FUNC] = func;
	op_operand(c, NPU_EWISE1_OUT,
		   ints && pick(c, 2) ? int_type(c) :
		   pick(c, 2)	      ? type :
					any_type(c),
		   rank, dim, !ints);
	if (!ints && pick(c, 4) == 0) {
		c->in_place = true;
		c->slot[0].op.scale =
			c->slot[0].op.dtype == NPU_I8 || c->slot[0].op.dtype == NPU_U8 ? 0.1f : 0;
		if (!npu_dtype_is_float(c->slot[0].op.dtype) && c->slot[0].op.scale == 0)
			c->in_place = false;
	}
	broadcast(c, in, dim, rank);
	if (!c->in_place)
		op_operand(c, NPU_EWISE1_IN, ints ? int_type(c) : type, rank, in, !ints);
	if (ints)
		c->param[NPU_EWISE1_P_POST_MUL] = test_f32(1);
	else
		make_tail(c, &c->param[NPU_EWISE1_P_ACT], NPU_EWISE1_ACT_PARAM, true, dim, rank);
}

static void make_ewise2(struct op_case *c)
{
	uint32_t dim[6], in[6], func = pick(c, NPU_NUM_BINARIES);
	unsigned int rank = shape(c, dim, 0, 6, 3000);
	bool ints = func >= NPU_BINARY_BITAND || pick(c, 4) == 0;

	c->param[NPU_EWISE2_P_FUNC] = func;
	op_operand(c, NPU_EWISE2_OUT, pick(c, 2) ? any_type(c) : data_type(c), rank, dim, !ints);
	broadcast(c, in, dim, rank);
	c->in_place = npu_dtype_is_float(c->slot[0].op.dtype) && pick(c, 3) == 0 && !ints;
	if (!c->in_place)
		op_operand(c, NPU_EWISE2_A, ints ? int_type(c) : data_type(c), rank, in, !ints);
	broadcast(c, in, dim, rank);
	op_operand(c, NPU_EWISE2_B, ints ? int_type(c) : data_type(c), rank, in, !ints);
	if (ints)
		c->param[NPU_EWISE2_P_POST_MUL] = test_f32(1);
	else
		make_tail(c, &c->param[NPU_EWISE2_P_ACT], NPU_EWISE2_ACT_PARAM, true, dim, rank);
}

static void make_copy(struct op_case *c)
{
	uint32_t dim[6], in[6];
	unsigned int rank = shape(c, dim, 0, 6, 20000), type = any_type(c);
	bool same = pick(c, 2);

	op_operand(c, NPU_COPY_OUT, type, rank, dim, !same);
	broadcast(c, in, dim, rank);
	op_operand(c, NPU_COPY_IN, same ? type : any_type(c), rank, pick(c, 3) ? dim : in, !same);
}

static void make_reduce(struct op_case *c)
{
	uint32_t dim[6], out[6], axes;
	unsigned int rank = shape(c, dim, 1, 6, 6000), i, func = pick(c, NPU_NUM_REDUCES);
	bool ints = (func <= NPU_REDUCE_L1 || func == NPU_REDUCE_SUM_SQUARE) && pick(c, 4) == 0;

	axes = pick(c, 1u << rank);
	for (i = 0; i < rank; i++)
		out[i] = axes >> i & 1 ? 1 : dim[i];
	c->param[NPU_REDUCE_P_FUNC] = func;
	c->param[NPU_REDUCE_P_AXES] = axes;
	op_operand(c, NPU_REDUCE_OUT, ints ? int_type(c) : data_type(c), rank, out, !ints);
	op_operand(c, NPU_REDUCE_IN, ints ? int_type(c) : data_type(c), rank, dim, !ints);
}

static void make_softmax(struct op_case *c)
{
	uint32_t dim[6];
	unsigned int rank = shape(c, dim, 1, 6, 12000);

	op_operand(c, NPU_SOFTMAX_OUT, data_type(c), rank, dim, true);
	if (c->slot[0].op.dtype != NPU_I8 && c->slot[0].op.dtype != NPU_U8 && pick(c, 4) == 0)
		c->in_place = true;
	else
		op_operand(c, NPU_SOFTMAX_IN, data_type(c), rank, dim, true);
	c->param[NPU_SOFTMAX_P_AXIS] = pick(c, rank);
	c->param[NPU_SOFTMAX_P_LOG] = pick(c, 2);
}

static void make_norm(struct op_case *c)
{
	uint32_t dim[6];
	unsigned int rank = shape(c, dim, 1, 6, 12000);

	op_operand(c, NPU_NORM_OUT, data_type(c), rank, dim, true);
	op_operand(c, NPU_NORM_IN, data_type(c), rank, dim, true);
	if (pick(c, 2))
		op_operand(c, NPU_NORM_GAMMA, NPU_F32 + pick(c, 3), 1, &dim[rank - 1], false);
	if (pick(c, 2))
		op_operand(c, NPU_NORM_BETA, NPU_F32 + pick(c, 3), 1, &dim[rank - 1], false);
	if (pick(c, 2))
		op_operand(c, NPU_NORM_ADDEND, data_type(c), rank, dim, true);
	if (pick(c, 2))
		op_operand(c, NPU_NORM_SUM, data_type(c), rank, dim, true);
	c->param[NPU_NORM_P_KIND] = pick(c, NPU_NUM_NORMS);
	c->param[NPU_NORM_P_EPS] = test_f32(1e-5f);
}

static void images(struct op_case *c, uint32_t out[4], uint32_t in[4])
{
	in[0] = out[0] = between(c, 1, 2);
	in[3] = out[3] = pick(c, 2) ? between(c, 1, 40) : between(c, 1, 5);
	if (pick(c, 16) == 0)
		in[3] = out[3] = between(c, 500, 600);
	in[1] = between(c, 1, 17);
	in[2] = between(c, 1, pick(c, 4) ? 17 : 90);
	out[1] = between(c, 1, 17);
	out[2] = between(c, 1, pick(c, 4) ? 17 : 90);
}

static void make_pool(struct op_case *c)
{
	uint32_t out[4], in[4], i;

	images(c, out, in);
	op_operand(c, NPU_POOL_OUT, data_type(c), 4, out, true);
	op_operand(c, NPU_POOL_IN, data_type(c), 4, in, true);
	c->param[NPU_POOL_P_KIND] = pick(c, 2);
	for (i = 0; i < 2; i++) {
		c->param[NPU_POOL_P_KERNEL_H + i] = between(c, 1, 6);
		c->param[NPU_POOL_P_STRIDE_H + i] = between(c, 1, 3);
		c->param[NPU_POOL_P_DIL_H + i] = between(c, 1, 2);
		c->param[NPU_POOL_P_PAD_TOP + i] = pick(c, 4);
		c->param[NPU_POOL_P_PAD_BOTTOM + i] = pick(c, 4);
	}
	c->param[NPU_POOL_P_INCLUDE_PAD] = pick(c, 2);
}

static void make_resize(struct op_case *c)
{
	uint32_t out[4], in[4], i;

	images(c, out, in);
	op_operand(c, NPU_RESIZE_OUT, data_type(c), 4, out, true);
	op_operand(c, NPU_RESIZE_IN, data_type(c), 4, in, true);
	c->param[NPU_RESIZE_P_MODE] = pick(c, NPU_NUM_RESIZES);
	c->param[NPU_RESIZE_P_COORD] = pick(c, NPU_NUM_COORDS);
	c->param[NPU_RESIZE_P_NEAREST] = pick(c, NPU_NUM_NEARESTS);
	for (i = 0; i < 2; i++)
		c->param[NPU_RESIZE_P_SCALE_H + i] = test_f32((float)out[1 + i] / (float)in[1 + i]);
	c->param[NPU_RESIZE_P_CUBIC_A] = test_f32(-0.75f);
	c->param[NPU_RESIZE_P_EXCLUDE_OUTSIDE] = pick(c, 2);
}

static void make_select(struct op_case *c)
{
	uint32_t dim[6], in[6];
	unsigned int rank = shape(c, dim, 0, 6, 3000), type = any_type(c);
	bool scaled = pick(c, 3) == 0;

	op_operand(c, NPU_SELECT_OUT, pick(c, 2) ? type : any_type(c), rank, dim, scaled);
	broadcast(c, in, dim, rank);
	op_operand(c, NPU_SELECT_COND, NPU_BOOL, rank, in, false);
	broadcast(c, in, dim, rank);
	op_operand(c, NPU_SELECT_A, type, rank, in, scaled);
	broadcast(c, in, dim, rank);
	op_operand(c, NPU_SELECT_B, type, rank, in, scaled);
}

static void make_fill(struct op_case *c)
{
	uint32_t dim[6];
	unsigned int rank = shape(c, dim, 0, 6, 9000);

	op_operand(c, NPU_FILL_OUT, any_type(c), rank, dim, false);
	c->param[NPU_FILL_P_VALUE_LO] = test_rand(&c->rng);
	c->param[NPU_FILL_P_VALUE_HI] = test_rand(&c->rng);
}

static void make_iota(struct op_case *c)
{
	uint32_t dim[6];
	unsigned int rank = shape(c, dim, 1, 6, 9000);

	op_operand(c, NPU_IOTA_OUT, any_type(c), rank, dim, true);
	c->param[NPU_IOTA_P_AXIS] = pick(c, rank);
	c->param[NPU_IOTA_P_START] = test_f32(real(c, -9, 9));
	c->param[NPU_IOTA_P_STEP] = test_f32(real(c, -3, 3));
}

static void make_pad(struct op_case *c)
{
	uint32_t dim[6], in[6];
	unsigned int rank = shape(c, in, 1, 6, 1000), type = any_type(c), i;

	c->param[NPU_PAD_P_MODE] = pick(c, NPU_NUM_PADS);
	for (i = 0; i < rank; i++) {
		c->param[NPU_PAD_P_BEFORE0 + i] = pick(c, 2) ? 0 : pick(c, 7) - 2;
		dim[i] = pick(c, 2) ? in[i] : between(c, 1, in[i] + 5);
		if (c->param[NPU_PAD_P_MODE] == NPU_PAD_REFLECT) {
			c->param[NPU_PAD_P_BEFORE0 + i] = pick(c, in[i]);
			dim[i] = in[i] + c->param[NPU_PAD_P_BEFORE0 + i] + pick(c, in[i]);
		}
	}
	op_operand(c, NPU_PAD_OUT, type, rank, dim, false);
	op_operand(c, NPU_PAD_IN, type, rank, in, false);
	c->param[NPU_PAD_P_VALUE_LO] = test_rand(&c->rng);
}

static void make_cumsum(struct op_case *c)
{
	uint32_t dim[6];
	unsigned int rank = shape(c, dim, 1, 6, 4000);
	bool ints = pick(c, 3) == 0;

	op_operand(c, NPU_CUMSUM_OUT, ints ? int_type(c) : data_type(c), rank, dim, !ints);
	op_operand(c, NPU_CUMSUM_IN, ints ? int_type(c) : data_type(c), rank, dim, !ints);
	c->param[NPU_CUMSUM_P_AXIS] = pick(c, rank);
	c->param[NPU_CUMSUM_P_EXCLUSIVE] = pick(c, 2);
	c->param[NPU_CUMSUM_P_REVERSE] = pick(c, 2);
}

static void make_arg_reduce(struct op_case *c)
{
	uint32_t dim[6], out[6];
	unsigned int rank = shape(c, dim, 1, 6, 4000), axis = pick(c, rank), type = any_type(c);

	memcpy(out, dim, sizeof(out));
	out[axis] = 1;
	op_operand(c, NPU_ARG_REDUCE_OUT, pick(c, 2) ? NPU_I32 : NPU_I64, rank, out, false);
	op_operand(c, NPU_ARG_REDUCE_IN, type, rank, dim, true);
	c->param[NPU_ARG_REDUCE_P_AXIS] = axis;
	c->param[NPU_ARG_REDUCE_P_IS_MIN] = pick(c, 2);
	c->param[NPU_ARG_REDUCE_P_LAST] = pick(c, 2);
}

static void make_topk(struct op_case *c)
{
	uint32_t dim[6], out[6];
	unsigned int rank = shape(c, dim, 1, 6, 4000), axis = pick(c, rank), type = any_type(c);

	memcpy(out, dim, sizeof(out));
	out[axis] = between(c, 1, dim[axis]);
	op_operand(c, NPU_TOPK_VALUES, type, rank, out, false);
	op_operand(c, NPU_TOPK_INDICES, pick(c, 2) ? NPU_I32 : NPU_I64, rank, out, false);
	op_operand(c, NPU_TOPK_IN, type, rank, dim, false);
	c->param[NPU_TOPK_P_AXIS] = axis;
	c->param[NPU_TOPK_P_SMALLEST] = pick(c, 2);
}

/* Indices within [lo, hi] everywhere in the operand's memory. */
static void indices(struct op_case *c, unsigned int slot, unsigned int dtype, unsigned int rank,
		    const uint32_t *dim, int64_t lo, int64_t hi)
{
	struct test_tensor *t = &c->slot[slot];
	size_t i, size = dtype == NPU_I64 ? 8 : 4;

	op_operand(c, slot, dtype, rank, dim, false);
	for (i = 0; i < t->size / size; i++) {
		int64_t v = lo + pick(c, (uint32_t)(hi - lo + 1));

		memcpy(t->mem + i * size, &v, size);
	}
}

static void make_gather(struct op_case *c)
{
	uint32_t in[3] = { between(c, 1, 3), between(c, 1, 40),
			   between(c, 1, pick(c, 2) ? 9 : 1500) };
	uint32_t out[3] = { in[0], between(c, 1, 40), in[2] };
	unsigned int type = any_type(c);

	op_operand(c, NPU_GATHER_OUT, pick(c, 2) ? type : any_type(c), 3, out, pick(c, 2));
	op_operand(c, NPU_GATHER_IN, type, 3, in, pick(c, 2));
	indices(c, NPU_GATHER_INDEX, pick(c, 2) ? NPU_I32 : NPU_I64, 1, &out[1], -(int64_t)in[1],
		in[1] - 1);
}

static void make_scatter(struct op_case *c)
{
	uint32_t data[3] = { between(c, 1, 3), between(c, 1, 40),
			     between(c, 1, pick(c, 2) ? 9 : 2500) };
	uint32_t in[3] = { data[0], between(c, 1, 60), data[2] };
	unsigned int type = any_type(c);

	op_operand(c, NPU_SCATTER_INOUT, type, 3, data, pick(c, 2));
	op_operand(c, NPU_SCATTER_IN, type, 3, in, false);
	c->slot[NPU_SCATTER_IN].op.scale = c->slot[NPU_SCATTER_INOUT].op.scale;
	c->slot[NPU_SCATTER_IN].op.zero_point = c->slot[NPU_SCATTER_INOUT].op.zero_point;
	indices(c, NPU_SCATTER_INDEX, pick(c, 2) ? NPU_I32 : NPU_I64, 1, &in[1], -(int64_t)data[1],
		data[1] - 1);
	c->param[NPU_SCATTER_P_JOIN] = pick(c, NPU_NUM_SCATTERS);
	c->param[NPU_SCATTER_P_SKIP] = pick(c, 2);
}

static void elements(struct op_case *c, unsigned int data, unsigned int other, unsigned int index,
		     unsigned int axis_param)
{
	uint32_t dim[6], part[6];
	unsigned int rank = shape(c, dim, 1, 6, 2000), axis = pick(c, rank), type = any_type(c), i;

	for (i = 0; i < rank; i++)
		part[i] = i == axis ? between(c, 1, 12) : between(c, 1, dim[i]);
	op_operand(c, data, type, rank, dim, false);
	op_operand(c, other, type, rank, part, false);
	indices(c, index, pick(c, 2) ? NPU_I32 : NPU_I64, rank, part, -(int64_t)dim[axis],
		dim[axis] - 1);
	c->param[axis_param] = axis;
}

static void make_gather_elements(struct op_case *c)
{
	elements(c, NPU_GATHER_ELEMENTS_IN, NPU_GATHER_ELEMENTS_OUT, NPU_GATHER_ELEMENTS_INDEX,
		 NPU_GATHER_ELEMENTS_P_AXIS);
}

static void make_scatter_elements(struct op_case *c)
{
	elements(c, NPU_SCATTER_ELEMENTS_INOUT, NPU_SCATTER_ELEMENTS_IN, NPU_SCATTER_ELEMENTS_INDEX,
		 NPU_SCATTER_ELEMENTS_P_AXIS);
	c->param[NPU_SCATTER_ELEMENTS_P_JOIN] = pick(c, NPU_NUM_SCATTERS);
}

static void make_rope(struct op_case *c)
{
	uint32_t dim[3] = { between(c, 1, 20), between(c, 1, 5), between(c, 2, 80) }, half,
		 table[2];

	half = between(c, 1, dim[2] / 2);
	op_operand(c, NPU_ROPE_OUT, NPU_F32 + pick(c, 3), 3, dim, false);
	c->in_place = pick(c, 4) == 0;
	if (!c->in_place)
		op_operand(c, NPU_ROPE_IN, NPU_F32 + pick(c, 3), 3, dim, false);
	table[0] = 2000;
	table[1] = half;
	if (pick(c, 2)) {
		op_operand(c, NPU_ROPE_COS_TABLE, NPU_F32 + pick(c, 3), 2, table, false);
		op_operand(c, NPU_ROPE_SIN_TABLE, NPU_F32 + pick(c, 3), 2, table, false);
	} else if (pick(c, 2)) {
		op_operand(c, NPU_ROPE_FACTORS, NPU_F32, 1, &half, false);
	}
	indices(c, NPU_ROPE_POSITIONS, NPU_I32, 1, dim, 0, 1999);
	c->param[NPU_ROPE_P_DIMS] = 2 * half;
	c->param[NPU_ROPE_P_PAIRING] = pick(c, 2);
	c->param[NPU_ROPE_P_BASE] = test_f32(10000);
	c->param[NPU_ROPE_P_POS_SCALE] = test_f32(pick(c, 2) ? 1 : 0.25f);
	c->param[NPU_ROPE_P_MSCALE] = test_f32(pick(c, 2) ? 1 : 1.1f);
}

static void make_dyn_quant(struct op_case *c)
{
	uint32_t dim[6], scale[6], group;
	unsigned int rank = shape(c, dim, 1, 6, 6000);
	bool groups = pick(c, 2);

	group = groups ? between(c, 1, 700) : 0;
	memcpy(scale, dim, sizeof(scale));
	if (groups)
		scale[rank - 1] = (dim[rank - 1] + group - 1) / group;
	op_operand(c, NPU_DYN_QUANT_OUT, groups ? NPU_I8 : NPU_U8, rank, dim, false);
	op_operand(c, NPU_DYN_QUANT_SCALE, groups ? NPU_F32 + pick(c, 2) : NPU_F32,
		   groups ? rank : 0, scale, false);
	if (!groups)
		op_operand(c, NPU_DYN_QUANT_ZERO, NPU_U8, 0, scale, false);
	op_operand(c, NPU_DYN_QUANT_IN, NPU_F32 + pick(c, 3), rank, dim, false);
	c->param[NPU_DYN_QUANT_P_GROUP] = group;
}

static void make_count(struct op_case *c)
{
	uint32_t dim[6], counters = between(c, 2, 3);
	unsigned int rank = shape(c, dim, 0, 6, 60000);

	op_operand(c, NPU_COUNT_INOUT, NPU_I64, 1, &counters, false);
	op_operand(c, NPU_COUNT_IN, pick(c, 2) ? NPU_I8 : NPU_U8, rank, dim, true);
}

/* Boxes in pixels of an image of @h x @w, also across its edges. */
static void color_box(struct op_case *c, uint32_t n, uint32_t h, uint32_t w)
{
	uint32_t dim[2] = { n, 4 }, at[2];
	float size, v;

	op_operand(c, NPU_COLOR_BOX, NPU_F32, 2, dim, false);
	if (!pick(c, 4))
		return;		/* anything */
	for (at[0] = 0; at[0] < n; at[0]++)
		for (at[1] = 0; at[1] < 4; at[1]++) {
			size = (float)(at[1] % 2 ? w : h);
			v = at[1] < 2 ? real(c, -1, size * 0.4f) : real(c, size * 0.5f, size + 2);
			v = pick(c, 2) ? floorf(v) : v;
			memcpy(test_element(&c->slot[NPU_COLOR_BOX], at), &v, sizeof(v));
		}
}

static void make_color(struct op_case *c)
{
	uint32_t out[4] = { between(c, 1, 2), 2 * between(c, 1, 9),
			    2 * between(c, 1, pick(c, 3) ? 20 : 900), 3 },
		 in[4], eighteen = 18;
	uint32_t format = pick(c, NPU_NUM_COLORS);

	memcpy(in, out, sizeof(in));
	if (pick(c, 2)) {
		out[1] = between(c, 1, 25);
		out[2] = between(c, 1, pick(c, 3) ? 40 : 1500);
		in[0] = pick(c, 2) ? 1 : in[0];
		color_box(c, out[0], in[1], in[2]);
	}
	c->param[NPU_COLOR_P_LIMIT] = pick(c, 2) ? test_f32(real(c, 0, 255)) : 0;
	op_operand(c, NPU_COLOR_OUT, data_type(c), 4, out, true);
	if (format == NPU_COLOR_NV12) {
		op_operand(c, NPU_COLOR_IN, NPU_U8, 3, in, false);
		in[1] /= 2;
		in[2] /= 2;
		in[3] = 2;
		op_operand(c, NPU_COLOR_CHROMA, NPU_U8, 4, in, false);
	} else {
		c->param[NPU_COLOR_P_SWAP] = format == NPU_COLOR_YUYV && pick(c, 2);
		in[3] = format == NPU_COLOR_YUYV ? 2 : 3;
		op_operand(c, NPU_COLOR_IN, NPU_U8, 4, in, false);
	}
	op_operand(c, NPU_COLOR_MATRIX, NPU_F32, 1, &eighteen, false);
	c->param[NPU_COLOR_P_FORMAT] = format;
}

static void make_crop_resize(struct op_case *c)
{
	uint32_t out[4], in[4], boxes[2] = { between(c, 1, 5), 4 };

	images(c, out, in);
	out[0] = boxes[0];
	op_operand(c, NPU_CROP_RESIZE_OUT, data_type(c), 4, out, true);
	op_operand(c, NPU_CROP_RESIZE_IN, data_type(c), 4, in, true);
	op_operand(c, NPU_CROP_RESIZE_BOXES, NPU_F32, 2, boxes, false);
	if (pick(c, 2) || in[0] == 1)
		indices(c, NPU_CROP_RESIZE_BATCH, NPU_I32, 1, boxes, 0, in[0] - 1);
	c->param[NPU_CROP_RESIZE_P_FILL] = test_f32(real(c, -1, 1));
}

/*
 * What the key or value cache is stored as; an 8-bit one has a scale for all, or one for each row.
 * @usual: f32, f16 or i8 with a scale for each position, which lie as a compiler has them.
 */
static void cache(struct op_case *c, unsigned int slot, unsigned int scale, const uint32_t dim[4],
		  bool usual)
{
	static const uint8_t usual_types[] = { NPU_F32, NPU_F16, NPU_I8 };
	unsigned int type = usual ? usual_types[pick(c, 3)] : data_type(c);

	op_operand(c, slot, type, 4, dim, true);
	if (usual) {
		test_tensor_free(&c->slot[slot]);
		c->slot[slot] = test_tensor_make(&c->rng, type, 4, dim, TEST_DENSE);
		test_tensor_fill(&c->rng, &c->slot[slot], 4.0f, pick(c, 3) == 0);
		c->slot[slot].op.zero_point = type == NPU_I8 ? (int)pick(c, 256) - 128 : 0;
	}
	if ((type == NPU_I8 || type == NPU_U8) && (usual || pick(c, 2))) {
		c->slot[slot].op.scale = 0;
		op_operand(c, scale, NPU_F32 + pick(c, 2), 3, dim, false);
	}
}

static void make_attention(struct op_case *c)
{
	uint32_t batch = between(c, 1, 3), kv_heads = between(c, 1, 3),
		 heads = kv_heads * between(c, 1, 5), t = between(c, 1, 9);
	/* multiples of 16 for the kernels that read the cache where it lies */
	bool even = pick(c, 3);
	uint32_t q[3] = { batch * t, heads, even ? 16 * between(c, 1, 9) : between(c, 1, 40) },
		 block = between(c, 1, 64), table[2] = { batch, between(c, 1, 20) };
	uint32_t k[4] = { batch, pick(c, 2) ? between(c, 1, 60) : between(c, 400, 1300), kv_heads,
			  q[2] },
		 len = k[1], mask[4], i;
	bool tables = pick(c, 2), starts = pick(c, 2);

	if (tables) {
		k[0] = between(c, 1, 30);
		k[1] = block;
		len = block * table[1];
		indices(c, NPU_ATTENTION_BLOCK_TABLE, NPU_I32, 2, table, 0, k[0] - 1);
	}
	op_operand(c, NPU_ATTENTION_Q, NPU_F32 + pick(c, 3), 3, q, false);
	cache(c, NPU_ATTENTION_K, NPU_ATTENTION_K_SCALE, k, even);
	k[3] = q[2] = even ? 16 * between(c, 1, 9) : between(c, 1, 40);
	cache(c, NPU_ATTENTION_V, NPU_ATTENTION_V_SCALE, k, even);
	op_operand(c, NPU_ATTENTION_OUT, NPU_F32 + pick(c, 3), 3, q, false);
	if (starts) {
		uint32_t n = batch + 1, at;

		op_operand(c, NPU_ATTENTION_Q_START, NPU_I32, 1, &n, false);
		for (i = 0; i <= batch; i++) {
			at = i * t;
			if (i && i < batch)
				at = at - t + pick(c, t + 1);
			memcpy(test_element(&c->slot[NPU_ATTENTION_Q_START], &i), &at, sizeof(at));
		}
	}
	mask[0] = pick(c, 2) ? 1 : batch;
	mask[1] = pick(c, 2) ? 1 : heads;
	mask[2] = pick(c, 2) ? 1 : starts ? q[0] : t;
	mask[3] = len;
	if (pick(c, 2))
		op_operand(c, NPU_ATTENTION_MASK, NPU_F32 + pick(c, 3), 4, mask, false);
	if (pick(c, 2))
		indices(c, NPU_ATTENTION_KV_LEN, NPU_I32, 1, &batch, 0, len);
	if (pick(c, 2))
		indices(c, NPU_ATTENTION_POSITIONS, NPU_I32, 1, q, 0, len);
	if (pick(c, 2))
		op_operand(c, NPU_ATTENTION_SINKS, NPU_F32, 1, &heads, false);
	c->param[NPU_ATTENTION_P_BATCH] = batch;
	c->param[NPU_ATTENTION_P_SCALE] = test_f32(real(c, 0.01f, 0.3f));
	c->param[NPU_ATTENTION_P_CAUSAL] = pick(c, 2);
	c->param[NPU_ATTENTION_P_WINDOW] = pick(c, 2) ? 0 : between(c, 1, len);
	c->param[NPU_ATTENTION_P_SOFT_CAP] = test_f32(pick(c, 2) ? 0 : real(c, 5, 50));
}

const struct op_maker op_makers[] = {
	{ NPU_OP_EWISE1, make_ewise1, 8 },
	{ NPU_OP_EWISE2, make_ewise2, 8 },
	{ NPU_OP_COPY, make_copy, 4 },
	{ NPU_OP_REDUCE, make_reduce, 4 },
	{ NPU_OP_SOFTMAX, make_softmax, 4 },
	{ NPU_OP_NORM, make_norm, 4 },
	{ NPU_OP_POOL, make_pool, 4 },
	{ NPU_OP_RESIZE, make_resize, 4 },
	{ NPU_OP_SELECT, make_select, 4 },
	{ NPU_OP_FILL, make_fill, 1 },
	{ NPU_OP_IOTA, make_iota, 1 },
	{ NPU_OP_PAD, make_pad, 4 },
	{ NPU_OP_CUMSUM, make_cumsum, 2 },
	{ NPU_OP_ARG_REDUCE, make_arg_reduce, 4 },
	{ NPU_OP_TOPK, make_topk, 4 },
	{ NPU_OP_GATHER, make_gather, 2 },
	{ NPU_OP_GATHER_ELEMENTS, make_gather_elements, 2 },
	{ NPU_OP_SCATTER, make_scatter, 2 },
	{ NPU_OP_SCATTER_ELEMENTS, make_scatter_elements, 2 },
	{ NPU_OP_ROPE, make_rope, 2 },
	{ NPU_OP_DYN_QUANT, make_dyn_quant, 4 },
	{ NPU_OP_COUNT, make_count, 4 },
	{ NPU_OP_COLOR, make_color, 4 },
	{ NPU_OP_CROP_RESIZE, make_crop_resize, 1 },
	{ NPU_OP_ATTENTION, make_attention, 4 },
	{ 0, NULL, 0 },
};
