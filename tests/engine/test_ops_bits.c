// SPDX-License-Identifier: MIT
/*
 * The bits of a result do not depend on the host's instruction set or on threads: random
 * instructions (shapes, types, layouts, parameters, wild values) are carried out by the portable
 * engine on one thread and by every other combination that the host has, and all of the outputs'
 * memory is compared, gaps included.
 */
#include <math.h>
#include <string.h>
#include "tap.h"
#include "insn.h"

#define MAX_ENGINES	6
#define MAX_SLOTS	NPU_MAX_OPERANDS

struct engine_kind {
	const char *name;
	struct npu_engine_config config;
	struct npu_engine *engine;
};

static struct engine_kind engines[MAX_ENGINES] = {
	{ "portable", { .threads = 1, .simd = NPU_SIMD_PORTABLE }, NULL },
	{ "portable, 3 threads", { .threads = 3, .simd = NPU_SIMD_PORTABLE }, NULL },
	{ "avx2", { .threads = 1, .simd = NPU_SIMD_AVX2 }, NULL },
	{ "avx2, 2 threads", { .threads = 2, .simd = NPU_SIMD_AVX2 }, NULL },
	{ "avx512", { .threads = 1, .simd = NPU_SIMD_AVX512 }, NULL },
	{ "avx512, 2 threads", { .threads = 2, .simd = NPU_SIMD_AVX512 }, NULL },
};

struct test_case {
	struct test_rng rng;
	struct test_tensor slot[MAX_SLOTS];
	bool used[MAX_SLOTS];
	uint32_t param[NPU_MAX_PARAMS];
	bool in_place;			/* slot 1 is slot 0 */
};

static uint32_t pick(struct test_case *c, uint32_t n)
{
	return test_below(&c->rng, n);
}

static uint32_t between(struct test_case *c, uint32_t lo, uint32_t hi)
{
	return lo + pick(c, hi - lo + 1);
}

static float real(struct test_case *c, float lo, float hi)
{
	return lo + (hi - lo) * (float)pick(c, 1000) / 1000;
}

/*
 * Add an operand with random contents; 8-bit types and i32 are quantized half of the time when
 * @may_scale.
 */
static void operand(struct test_case *c, unsigned int slot, unsigned int dtype, unsigned int rank,
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

static unsigned int data_type(struct test_case *c)
{
	return data_types[pick(c, sizeof(data_types))];
}

static unsigned int int_type(struct test_case *c)
{
	return int_types[pick(c, sizeof(int_types))];
}

static unsigned int any_type(struct test_case *c)
{
	return all_types[pick(c, sizeof(all_types))];
}

/* A shape of up to @max elements or so. */
static unsigned int shape(struct test_case *c, uint32_t *dim, unsigned int min_rank,
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

static void broadcast(struct test_case *c, uint32_t *to, const uint32_t *from, unsigned int rank)
{
	unsigned int i, kind = pick(c, 4);

	for (i = 0; i < rank; i++)
		to[i] = kind == 0						? 1 :
			kind == 1 || (kind == 2 && i == rank - 1) || pick(c, 2) ? from[i] :
										  1;
}

static void make_tail(struct test_case *c, uint32_t *p, unsigned int slope_slot, bool prelu,
		      const uint32_t *dim, unsigned int rank)
{
	p[0] = pick(c, 2) ? pick(c, NPU_NUM_ACTS) : NPU_ACT_NONE;
	if (p[0] == NPU_ACT_PRELU && (!prelu || !rank))
		p[0] = NPU_ACT_TANH;
	if (p[0] == NPU_ACT_PRELU)
		operand(c, slope_slot, NPU_F32, 1, &dim[rank - 1], false);
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

static void make_ewise1(struct test_case *c)
{
	uint32_t dim[6], in[6], func = pick(c, NPU_NUM_UNARIES);
	unsigned int rank = shape(c, dim, 0, 6, 3000), type = data_type(c);
	bool ints = func == NPU_UNARY_BITNOT || (unary_of_ints(func) && pick(c, 3) == 0);

	c->param[NPU_EWISE1_P_FUNC] = func;
	operand(c, NPU_EWISE1_OUT,
		ints && pick(c, 2) ? int_type(c) :
		pick(c, 2)	   ? type :
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
		operand(c, NPU_EWISE1_IN, ints ? int_type(c) : type, rank, in, !ints);
	if (ints)
		c->param[NPU_EWISE1_P_POST_MUL] = test_f32(1);
	else
		make_tail(c, &c->param[NPU_EWISE1_P_ACT], NPU_EWISE1_ACT_PARAM, true, dim, rank);
}

static void make_ewise2(struct test_case *c)
{
	uint32_t dim[6], in[6], func = pick(c, NPU_NUM_BINARIES);
	unsigned int rank = shape(c, dim, 0, 6, 3000);
	bool ints = func >= NPU_BINARY_BITAND || pick(c, 4) == 0;

	c->param[NPU_EWISE2_P_FUNC] = func;
	operand(c, NPU_EWISE2_OUT, pick(c, 2) ? any_type(c) : data_type(c), rank, dim, !ints);
	broadcast(c, in, dim, rank);
	c->in_place = npu_dtype_is_float(c->slot[0].op.dtype) && pick(c, 3) == 0 && !ints;
	if (!c->in_place)
		operand(c, NPU_EWISE2_A, ints ? int_type(c) : data_type(c), rank, in, !ints);
	broadcast(c, in, dim, rank);
	operand(c, NPU_EWISE2_B, ints ? int_type(c) : data_type(c), rank, in, !ints);
	if (ints)
		c->param[NPU_EWISE2_P_POST_MUL] = test_f32(1);
	else
		make_tail(c, &c->param[NPU_EWISE2_P_ACT], NPU_EWISE2_ACT_PARAM, true, dim, rank);
}

static void make_copy(struct test_case *c)
{
	uint32_t dim[6], in[6];
	unsigned int rank = shape(c, dim, 0, 6, 20000), type = any_type(c);
	bool same = pick(c, 2);

	operand(c, NPU_COPY_OUT, type, rank, dim, !same);
	broadcast(c, in, dim, rank);
	operand(c, NPU_COPY_IN, same ? type : any_type(c), rank, pick(c, 3) ? dim : in, !same);
}

static void make_reduce(struct test_case *c)
{
	uint32_t dim[6], out[6], axes;
	unsigned int rank = shape(c, dim, 1, 6, 6000), i, func = pick(c, NPU_NUM_REDUCES);
	bool ints = (func <= NPU_REDUCE_L1 || func == NPU_REDUCE_SUM_SQUARE) && pick(c, 4) == 0;

	axes = pick(c, 1u << rank);
	for (i = 0; i < rank; i++)
		out[i] = axes >> i & 1 ? 1 : dim[i];
	c->param[NPU_REDUCE_P_FUNC] = func;
	c->param[NPU_REDUCE_P_AXES] = axes;
	operand(c, NPU_REDUCE_OUT, ints ? int_type(c) : data_type(c), rank, out, !ints);
	operand(c, NPU_REDUCE_IN, ints ? int_type(c) : data_type(c), rank, dim, !ints);
}

static void make_softmax(struct test_case *c)
{
	uint32_t dim[6];
	unsigned int rank = shape(c, dim, 1, 6, 12000);

	operand(c, NPU_SOFTMAX_OUT, data_type(c), rank, dim, true);
	if (c->slot[0].op.dtype != NPU_I8 && c->slot[0].op.dtype != NPU_U8 && pick(c, 4) == 0)
		c->in_place = true;
	else
		operand(c, NPU_SOFTMAX_IN, data_type(c), rank, dim, true);
	c->param[NPU_SOFTMAX_P_AXIS] = pick(c, rank);
	c->param[NPU_SOFTMAX_P_LOG] = pick(c, 2);
}

static void make_norm(struct test_case *c)
{
	uint32_t dim[6];
	unsigned int rank = shape(c, dim, 1, 6, 12000);

	operand(c, NPU_NORM_OUT, data_type(c), rank, dim, true);
	operand(c, NPU_NORM_IN, data_type(c), rank, dim, true);
	if (pick(c, 2))
		operand(c, NPU_NORM_GAMMA, NPU_F32 + pick(c, 3), 1, &dim[rank - 1], false);
	if (pick(c, 2))
		operand(c, NPU_NORM_BETA, NPU_F32 + pick(c, 3), 1, &dim[rank - 1], false);
	if (pick(c, 2))
		operand(c, NPU_NORM_ADDEND, data_type(c), rank, dim, true);
	if (pick(c, 2))
		operand(c, NPU_NORM_SUM, data_type(c), rank, dim, true);
	c->param[NPU_NORM_P_KIND] = pick(c, NPU_NUM_NORMS);
	c->param[NPU_NORM_P_EPS] = test_f32(1e-5f);
}

static void images(struct test_case *c, uint32_t out[4], uint32_t in[4])
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

static void make_pool(struct test_case *c)
{
	uint32_t out[4], in[4], i;

	images(c, out, in);
	operand(c, NPU_POOL_OUT, data_type(c), 4, out, true);
	operand(c, NPU_POOL_IN, data_type(c), 4, in, true);
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

static void make_resize(struct test_case *c)
{
	uint32_t out[4], in[4], i;

	images(c, out, in);
	operand(c, NPU_RESIZE_OUT, data_type(c), 4, out, true);
	operand(c, NPU_RESIZE_IN, data_type(c), 4, in, true);
	c->param[NPU_RESIZE_P_MODE] = pick(c, NPU_NUM_RESIZES);
	c->param[NPU_RESIZE_P_COORD] = pick(c, NPU_NUM_COORDS);
	c->param[NPU_RESIZE_P_NEAREST] = pick(c, NPU_NUM_NEARESTS);
	for (i = 0; i < 2; i++)
		c->param[NPU_RESIZE_P_SCALE_H + i] = test_f32((float)out[1 + i] / (float)in[1 + i]);
	c->param[NPU_RESIZE_P_CUBIC_A] = test_f32(-0.75f);
	c->param[NPU_RESIZE_P_EXCLUDE_OUTSIDE] = pick(c, 2);
}

static void make_select(struct test_case *c)
{
	uint32_t dim[6], in[6];
	unsigned int rank = shape(c, dim, 0, 6, 3000), type = any_type(c);
	bool scaled = pick(c, 3) == 0;

	operand(c, NPU_SELECT_OUT, pick(c, 2) ? type : any_type(c), rank, dim, scaled);
	broadcast(c, in, dim, rank);
	operand(c, NPU_SELECT_COND, NPU_BOOL, rank, in, false);
	broadcast(c, in, dim, rank);
	operand(c, NPU_SELECT_A, type, rank, in, scaled);
	broadcast(c, in, dim, rank);
	operand(c, NPU_SELECT_B, type, rank, in, scaled);
}

static void make_fill(struct test_case *c)
{
	uint32_t dim[6];
	unsigned int rank = shape(c, dim, 0, 6, 9000);

	operand(c, NPU_FILL_OUT, any_type(c), rank, dim, false);
	c->param[NPU_FILL_P_VALUE_LO] = test_rand(&c->rng);
	c->param[NPU_FILL_P_VALUE_HI] = test_rand(&c->rng);
}

static void make_iota(struct test_case *c)
{
	uint32_t dim[6];
	unsigned int rank = shape(c, dim, 1, 6, 9000);

	operand(c, NPU_IOTA_OUT, any_type(c), rank, dim, true);
	c->param[NPU_IOTA_P_AXIS] = pick(c, rank);
	c->param[NPU_IOTA_P_START] = test_f32(real(c, -9, 9));
	c->param[NPU_IOTA_P_STEP] = test_f32(real(c, -3, 3));
}

static void make_pad(struct test_case *c)
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
	operand(c, NPU_PAD_OUT, type, rank, dim, false);
	operand(c, NPU_PAD_IN, type, rank, in, false);
	c->param[NPU_PAD_P_VALUE_LO] = test_rand(&c->rng);
}

static void make_cumsum(struct test_case *c)
{
	uint32_t dim[6];
	unsigned int rank = shape(c, dim, 1, 6, 4000);
	bool ints = pick(c, 3) == 0;

	operand(c, NPU_CUMSUM_OUT, ints ? int_type(c) : data_type(c), rank, dim, !ints);
	operand(c, NPU_CUMSUM_IN, ints ? int_type(c) : data_type(c), rank, dim, !ints);
	c->param[NPU_CUMSUM_P_AXIS] = pick(c, rank);
	c->param[NPU_CUMSUM_P_EXCLUSIVE] = pick(c, 2);
	c->param[NPU_CUMSUM_P_REVERSE] = pick(c, 2);
}

static void make_arg_reduce(struct test_case *c)
{
	uint32_t dim[6], out[6];
	unsigned int rank = shape(c, dim, 1, 6, 4000), axis = pick(c, rank), type = any_type(c);

	memcpy(out, dim, sizeof(out));
	out[axis] = 1;
	operand(c, NPU_ARG_REDUCE_OUT, pick(c, 2) ? NPU_I32 : NPU_I64, rank, out, false);
	operand(c, NPU_ARG_REDUCE_IN, type, rank, dim, true);
	c->param[NPU_ARG_REDUCE_P_AXIS] = axis;
	c->param[NPU_ARG_REDUCE_P_IS_MIN] = pick(c, 2);
	c->param[NPU_ARG_REDUCE_P_LAST] = pick(c, 2);
}

static void make_topk(struct test_case *c)
{
	uint32_t dim[6], out[6];
	unsigned int rank = shape(c, dim, 1, 6, 4000), axis = pick(c, rank), type = any_type(c);

	memcpy(out, dim, sizeof(out));
	out[axis] = between(c, 1, dim[axis]);
	operand(c, NPU_TOPK_VALUES, type, rank, out, false);
	operand(c, NPU_TOPK_INDICES, pick(c, 2) ? NPU_I32 : NPU_I64, rank, out, false);
	operand(c, NPU_TOPK_IN, type, rank, dim, false);
	c->param[NPU_TOPK_P_AXIS] = axis;
	c->param[NPU_TOPK_P_SMALLEST] = pick(c, 2);
}

/* Indices within [lo, hi] everywhere in the operand's memory. */
static void indices(struct test_case *c, unsigned int slot, unsigned int dtype, unsigned int rank,
		    const uint32_t *dim, int64_t lo, int64_t hi)
{
	struct test_tensor *t = &c->slot[slot];
	size_t i, size = dtype == NPU_I64 ? 8 : 4;

	operand(c, slot, dtype, rank, dim, false);
	for (i = 0; i < t->size / size; i++) {
		int64_t v = lo + pick(c, (uint32_t)(hi - lo + 1));

		memcpy(t->mem + i * size, &v, size);
	}
}

static void make_gather(struct test_case *c)
{
	uint32_t in[3] = { between(c, 1, 3), between(c, 1, 40),
			   between(c, 1, pick(c, 2) ? 9 : 1500) };
	uint32_t out[3] = { in[0], between(c, 1, 40), in[2] };
	unsigned int type = any_type(c);

	operand(c, NPU_GATHER_OUT, pick(c, 2) ? type : any_type(c), 3, out, pick(c, 2));
	operand(c, NPU_GATHER_IN, type, 3, in, pick(c, 2));
	indices(c, NPU_GATHER_INDEX, pick(c, 2) ? NPU_I32 : NPU_I64, 1, &out[1], -(int64_t)in[1],
		in[1] - 1);
}

static void make_scatter(struct test_case *c)
{
	uint32_t data[3] = { between(c, 1, 3), between(c, 1, 40),
			     between(c, 1, pick(c, 2) ? 9 : 2500) };
	uint32_t in[3] = { data[0], between(c, 1, 60), data[2] };
	unsigned int type = any_type(c);

	operand(c, NPU_SCATTER_INOUT, type, 3, data, pick(c, 2));
	operand(c, NPU_SCATTER_IN, type, 3, in, false);
	c->slot[NPU_SCATTER_IN].op.scale = c->slot[NPU_SCATTER_INOUT].op.scale;
	c->slot[NPU_SCATTER_IN].op.zero_point = c->slot[NPU_SCATTER_INOUT].op.zero_point;
	indices(c, NPU_SCATTER_INDEX, pick(c, 2) ? NPU_I32 : NPU_I64, 1, &in[1], -(int64_t)data[1],
		data[1] - 1);
	c->param[NPU_SCATTER_P_JOIN] = pick(c, NPU_NUM_SCATTERS);
	c->param[NPU_SCATTER_P_SKIP] = pick(c, 2);
}

static void elements(struct test_case *c, unsigned int data, unsigned int other, unsigned int index,
		     unsigned int axis_param)
{
	uint32_t dim[6], part[6];
	unsigned int rank = shape(c, dim, 1, 6, 2000), axis = pick(c, rank), type = any_type(c), i;

	for (i = 0; i < rank; i++)
		part[i] = i == axis ? between(c, 1, 12) : between(c, 1, dim[i]);
	operand(c, data, type, rank, dim, false);
	operand(c, other, type, rank, part, false);
	indices(c, index, pick(c, 2) ? NPU_I32 : NPU_I64, rank, part, -(int64_t)dim[axis],
		dim[axis] - 1);
	c->param[axis_param] = axis;
}

static void make_gather_elements(struct test_case *c)
{
	elements(c, NPU_GATHER_ELEMENTS_IN, NPU_GATHER_ELEMENTS_OUT, NPU_GATHER_ELEMENTS_INDEX,
		 NPU_GATHER_ELEMENTS_P_AXIS);
}

static void make_scatter_elements(struct test_case *c)
{
	elements(c, NPU_SCATTER_ELEMENTS_INOUT, NPU_SCATTER_ELEMENTS_IN, NPU_SCATTER_ELEMENTS_INDEX,
		 NPU_SCATTER_ELEMENTS_P_AXIS);
	c->param[NPU_SCATTER_ELEMENTS_P_JOIN] = pick(c, NPU_NUM_SCATTERS);
}

static void make_rope(struct test_case *c)
{
	uint32_t dim[3] = { between(c, 1, 20), between(c, 1, 5), between(c, 2, 80) }, half,
		 table[2];

	half = between(c, 1, dim[2] / 2);
	operand(c, NPU_ROPE_OUT, NPU_F32 + pick(c, 3), 3, dim, false);
	c->in_place = pick(c, 4) == 0;
	if (!c->in_place)
		operand(c, NPU_ROPE_IN, NPU_F32 + pick(c, 3), 3, dim, false);
	table[0] = 2000;
	table[1] = half;
	if (pick(c, 2)) {
		operand(c, NPU_ROPE_COS_TABLE, NPU_F32 + pick(c, 3), 2, table, false);
		operand(c, NPU_ROPE_SIN_TABLE, NPU_F32 + pick(c, 3), 2, table, false);
	} else if (pick(c, 2)) {
		operand(c, NPU_ROPE_FACTORS, NPU_F32, 1, &half, false);
	}
	indices(c, NPU_ROPE_POSITIONS, NPU_I32, 1, dim, 0, 1999);
	c->param[NPU_ROPE_P_DIMS] = 2 * half;
	c->param[NPU_ROPE_P_PAIRING] = pick(c, 2);
	c->param[NPU_ROPE_P_BASE] = test_f32(10000);
	c->param[NPU_ROPE_P_POS_SCALE] = test_f32(pick(c, 2) ? 1 : 0.25f);
	c->param[NPU_ROPE_P_MSCALE] = test_f32(pick(c, 2) ? 1 : 1.1f);
}

static void make_dyn_quant(struct test_case *c)
{
	uint32_t dim[6], scale[6], group;
	unsigned int rank = shape(c, dim, 1, 6, 6000);
	bool groups = pick(c, 2);

	group = groups ? between(c, 1, 700) : 0;
	memcpy(scale, dim, sizeof(scale));
	if (groups)
		scale[rank - 1] = (dim[rank - 1] + group - 1) / group;
	operand(c, NPU_DYN_QUANT_OUT, groups ? NPU_I8 : NPU_U8, rank, dim, false);
	operand(c, NPU_DYN_QUANT_SCALE, groups ? NPU_F32 + pick(c, 2) : NPU_F32, groups ? rank : 0,
		scale, false);
	if (!groups)
		operand(c, NPU_DYN_QUANT_ZERO, NPU_U8, 0, scale, false);
	operand(c, NPU_DYN_QUANT_IN, NPU_F32 + pick(c, 3), rank, dim, false);
	c->param[NPU_DYN_QUANT_P_GROUP] = group;
}

static void make_count(struct test_case *c)
{
	uint32_t dim[6], counters = between(c, 2, 3);
	unsigned int rank = shape(c, dim, 0, 6, 60000);

	operand(c, NPU_COUNT_INOUT, NPU_I64, 1, &counters, false);
	operand(c, NPU_COUNT_IN, pick(c, 2) ? NPU_I8 : NPU_U8, rank, dim, true);
}

/* Boxes in pixels of an image of @h x @w, also across its edges. */
static void color_box(struct test_case *c, uint32_t n, uint32_t h, uint32_t w)
{
	uint32_t dim[2] = { n, 4 }, at[2];
	float size, v;

	operand(c, NPU_COLOR_BOX, NPU_F32, 2, dim, false);
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

static void make_color(struct test_case *c)
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
	operand(c, NPU_COLOR_OUT, data_type(c), 4, out, true);
	if (format == NPU_COLOR_NV12) {
		operand(c, NPU_COLOR_IN, NPU_U8, 3, in, false);
		in[1] /= 2;
		in[2] /= 2;
		in[3] = 2;
		operand(c, NPU_COLOR_CHROMA, NPU_U8, 4, in, false);
	} else {
		c->param[NPU_COLOR_P_SWAP] = format == NPU_COLOR_YUYV && pick(c, 2);
		in[3] = format == NPU_COLOR_YUYV ? 2 : 3;
		operand(c, NPU_COLOR_IN, NPU_U8, 4, in, false);
	}
	operand(c, NPU_COLOR_MATRIX, NPU_F32, 1, &eighteen, false);
	c->param[NPU_COLOR_P_FORMAT] = format;
}

static void make_crop_resize(struct test_case *c)
{
	uint32_t out[4], in[4], boxes[2] = { between(c, 1, 5), 4 };

	images(c, out, in);
	out[0] = boxes[0];
	operand(c, NPU_CROP_RESIZE_OUT, data_type(c), 4, out, true);
	operand(c, NPU_CROP_RESIZE_IN, data_type(c), 4, in, true);
	operand(c, NPU_CROP_RESIZE_BOXES, NPU_F32, 2, boxes, false);
	if (pick(c, 2) || in[0] == 1)
		indices(c, NPU_CROP_RESIZE_BATCH, NPU_I32, 1, boxes, 0, in[0] - 1);
	c->param[NPU_CROP_RESIZE_P_FILL] = test_f32(real(c, -1, 1));
}

/*
 * What the key or value cache is stored as; an 8-bit one has a scale for all, or one for each row.
 * @usual: f32, f16 or i8 with a scale for each position, which lie as a compiler has them.
 */
static void cache(struct test_case *c, unsigned int slot, unsigned int scale, const uint32_t dim[4],
		  bool usual)
{
	static const uint8_t usual_types[] = { NPU_F32, NPU_F16, NPU_I8 };
	unsigned int type = usual ? usual_types[pick(c, 3)] : data_type(c);

	operand(c, slot, type, 4, dim, true);
	if (usual) {
		test_tensor_free(&c->slot[slot]);
		c->slot[slot] = test_tensor_make(&c->rng, type, 4, dim, TEST_DENSE);
		test_tensor_fill(&c->rng, &c->slot[slot], 4.0f, pick(c, 3) == 0);
		c->slot[slot].op.zero_point = type == NPU_I8 ? (int)pick(c, 256) - 128 : 0;
	}
	if ((type == NPU_I8 || type == NPU_U8) && (usual || pick(c, 2))) {
		c->slot[slot].op.scale = 0;
		operand(c, scale, NPU_F32 + pick(c, 2), 3, dim, false);
	}
}

static void make_attention(struct test_case *c)
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
	operand(c, NPU_ATTENTION_Q, NPU_F32 + pick(c, 3), 3, q, false);
	cache(c, NPU_ATTENTION_K, NPU_ATTENTION_K_SCALE, k, even);
	k[3] = q[2] = even ? 16 * between(c, 1, 9) : between(c, 1, 40);
	cache(c, NPU_ATTENTION_V, NPU_ATTENTION_V_SCALE, k, even);
	operand(c, NPU_ATTENTION_OUT, NPU_F32 + pick(c, 3), 3, q, false);
	if (starts) {
		uint32_t n = batch + 1, at;

		operand(c, NPU_ATTENTION_Q_START, NPU_I32, 1, &n, false);
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
		operand(c, NPU_ATTENTION_MASK, NPU_F32 + pick(c, 3), 4, mask, false);
	if (pick(c, 2))
		indices(c, NPU_ATTENTION_KV_LEN, NPU_I32, 1, &batch, 0, len);
	if (pick(c, 2))
		indices(c, NPU_ATTENTION_POSITIONS, NPU_I32, 1, q, 0, len);
	if (pick(c, 2))
		operand(c, NPU_ATTENTION_SINKS, NPU_F32, 1, &heads, false);
	c->param[NPU_ATTENTION_P_BATCH] = batch;
	c->param[NPU_ATTENTION_P_SCALE] = test_f32(real(c, 0.01f, 0.3f));
	c->param[NPU_ATTENTION_P_CAUSAL] = pick(c, 2);
	c->param[NPU_ATTENTION_P_WINDOW] = pick(c, 2) ? 0 : between(c, 1, len);
	c->param[NPU_ATTENTION_P_SOFT_CAP] = test_f32(pick(c, 2) ? 0 : real(c, 5, 50));
}

/* Run the case on one engine from a copy of its tensors; the outputs' bytes are left in @copy. */
static bool run_on(struct engine_kind *e, unsigned int opcode, const struct test_case *c,
		   struct test_tensor *copy, char *text)
{
	const struct npu_op_desc *desc = npu_op_desc(opcode);
	struct test_tensor *slots[MAX_SLOTS] = { NULL };
	unsigned int i;

	for (i = 0; i < desc->num_slots; i++) {
		if (!c->used[i])
			continue;
		copy[i] = c->slot[i];
		copy[i].mem = malloc(c->slot[i].size ? c->slot[i].size : 1);
		memcpy(copy[i].mem, c->slot[i].mem, c->slot[i].size);
		slots[i] = &copy[i];
	}
	if (c->in_place)
		slots[1] = slots[0];
	return test_insn_run(e->engine, opcode, slots, c->param, NULL, text) == NPU_RUN_DONE;
}

static void free_copies(const struct test_case *c, struct test_tensor *copy)
{
	unsigned int i;

	for (i = 0; i < MAX_SLOTS; i++)
		if (c->used[i])
			test_tensor_free(&copy[i]);
}

/*
 * One random instruction on all engines. Returns how many differ from the first, or -1 when it does
 * not run at all.
 */
static int check_case(unsigned int opcode, struct test_case *c)
{
	struct test_tensor want[MAX_SLOTS], got[MAX_SLOTS];
	const struct npu_op_desc *desc = npu_op_desc(opcode);
	char text[256] = "";
	unsigned int i, e;
	int bad = 0;

	if (!run_on(&engines[0], opcode, c, want, text)) {
		tap_diag("%s: %s", desc->mnemonic, text);
		bad = -1;
	}
	for (e = 1; bad >= 0 && e < MAX_ENGINES; e++) {
		bool differs;

		if (!engines[e].engine)
			continue;
		differs = !run_on(&engines[e], opcode, c, got, text);
		for (i = 0; i < desc->num_slots; i++)
			differs |= c->used[i] && memcmp(want[i].mem, got[i].mem, c->slot[i].size);
		free_copies(c, got);
		if (differs && !bad++)
			tap_diag("%s differs on %s (out %s rank %u, params %u %u %u)",
				 desc->mnemonic, engines[e].name,
				 npu_dtype_name(c->slot[0].op.dtype), c->slot[0].op.rank,
				 c->param[0], c->param[1], c->param[2]);
	}
	free_copies(c, want);
	return bad;
}

static void check_op(unsigned int opcode, void (*make)(struct test_case *c), unsigned int count)
{
	unsigned int i, s, bad = 0, refused = 0;

	for (i = 0; i < count; i++) {
		struct test_case c = { .rng = { 1000003ull * opcode + i + 1 } };
		int ret;

		test_rand(&c.rng);
		make(&c);
		ret = check_case(opcode, &c);
		bad += ret > 0;
		refused += ret < 0;
		for (s = 0; s < MAX_SLOTS; s++)
			if (c.used[s])
				test_tensor_free(&c.slot[s]);
	}
	tap_ok(!bad && !refused, "%s: %u random instructions, %u differ, %u refused",
	       npu_op_desc(opcode)->mnemonic, count, bad, refused);
}

/* Every function and activation over bit patterns spread over all of f32. */
static void check_functions(unsigned int num)
{
	unsigned int f, bad = 0;
	uint32_t i;

	for (f = 0; f < NPU_NUM_UNARIES + NPU_NUM_ACTS; f++) {
		struct test_case c = { .rng = { f + 1 } };
		bool act = f >= NPU_NUM_UNARIES;

		if (f == NPU_UNARY_BITNOT || f == NPU_NUM_UNARIES + NPU_ACT_PRELU)
			continue;
		operand(&c, NPU_EWISE1_OUT, NPU_F32, 1, &num, false);
		operand(&c, NPU_EWISE1_IN, NPU_F32, 1, &num, false);
		for (i = 0; i < num; i++) {
			uint32_t bits = (uint32_t)(((uint64_t)i << 32) / num) + f * 977 + i % 251;

			memcpy(test_element(&c.slot[NPU_EWISE1_IN], &i), &bits, sizeof(bits));
		}
		c.param[NPU_EWISE1_P_FUNC] = act ? NPU_UNARY_COPY : f;
		c.param[NPU_EWISE1_P_ACT] = act ? f - NPU_NUM_UNARIES : NPU_ACT_NONE;
		c.param[NPU_EWISE1_P_ACT_ALPHA] = test_f32(0.2f);
		c.param[NPU_EWISE1_P_ACT_BETA] = test_f32(0.5f);
		c.param[NPU_EWISE1_P_POST_MUL] = test_f32(1);
		bad += check_case(NPU_OP_EWISE1, &c) != 0;
		test_tensor_free(&c.slot[NPU_EWISE1_OUT]);
		test_tensor_free(&c.slot[NPU_EWISE1_IN]);
	}
	tap_ok(!bad, "functions and activations of %u bit patterns", num);
}

/* Ways through an instruction that random ones might miss. */
static void check_paths(const char *prefix)
{
	struct npu_engine_counters n;
	unsigned int i, p;

	for (i = 0; i < MAX_ENGINES; i++) {
		if (!engines[i].engine)
			continue;
		npu_engine_counters(engines[i].engine, &n);
		for (p = 0; npu_engine_path_name(p); p++)
			if (!strncmp(npu_engine_path_name(p), prefix, strlen(prefix)))
				tap_ok(n.path[p] >= 10, "%s: %s %llu times", engines[i].name,
				       npu_engine_path_name(p), (unsigned long long)n.path[p]);
	}
}

/* How often engines went a way of their own. */
static unsigned long long path_count(const char *name)
{
	struct npu_engine_counters c;
	unsigned long long sum = 0;
	unsigned int i, p;

	for (p = 0; npu_engine_path_name(p) && strcmp(npu_engine_path_name(p), name); p++)
		;
	for (i = 0; i < MAX_ENGINES && npu_engine_path_name(p); i++) {
		if (!engines[i].engine)
			continue;
		npu_engine_counters(engines[i].engine, &c);
		sum += c.path[p];
	}
	return sum;
}

static void check_color_paths(void)
{
	unsigned long long near = path_count("COLOR_NEAR"), gather = path_count("COLOR_GATHER");
	bool can = false;

#if defined(__x86_64__)
	can = __builtin_cpu_supports("avx512vbmi");
#endif
	tap_ok(gather && !near == !can, "color: shuffled in %llu tiles, gathered in %llu", near,
	       gather);
}

int main(void)
{
	unsigned int i, count = tap_long() ? 5000 : 300;

	for (i = 0; i < MAX_ENGINES; i++)
		if (npu_engine_create(&engines[i].config, &engines[i].engine))
			tap_diag("this host has no %s", engines[i].name);
	if (!engines[0].engine) {
		printf("Bail out! no engine\n");
		return 1;
	}
	check_functions(tap_long() ? 4000000 : 40000);
	check_op(NPU_OP_EWISE1, make_ewise1, count * 2);
	check_op(NPU_OP_EWISE2, make_ewise2, count * 2);
	check_op(NPU_OP_COPY, make_copy, count);
	check_op(NPU_OP_REDUCE, make_reduce, count);
	check_op(NPU_OP_SOFTMAX, make_softmax, count);
	check_op(NPU_OP_NORM, make_norm, count);
	check_op(NPU_OP_POOL, make_pool, count);
	check_op(NPU_OP_RESIZE, make_resize, count);
	check_op(NPU_OP_SELECT, make_select, count);
	check_op(NPU_OP_FILL, make_fill, count / 4);
	check_op(NPU_OP_IOTA, make_iota, count / 4);
	check_op(NPU_OP_PAD, make_pad, count);
	check_op(NPU_OP_CUMSUM, make_cumsum, count / 2);
	check_op(NPU_OP_ARG_REDUCE, make_arg_reduce, count);
	check_op(NPU_OP_TOPK, make_topk, count);
	check_op(NPU_OP_GATHER, make_gather, count / 2);
	check_op(NPU_OP_GATHER_ELEMENTS, make_gather_elements, count / 2);
	check_op(NPU_OP_SCATTER, make_scatter, count / 2);
	check_op(NPU_OP_SCATTER_ELEMENTS, make_scatter_elements, count / 2);
	check_op(NPU_OP_ROPE, make_rope, count / 2);
	check_op(NPU_OP_DYN_QUANT, make_dyn_quant, count);
	check_op(NPU_OP_COUNT, make_count, count);
	check_op(NPU_OP_COLOR, make_color, count);
	check_color_paths();
	check_op(NPU_OP_CROP_RESIZE, make_crop_resize, count / 4);
	check_op(NPU_OP_ATTENTION, make_attention, count);
	check_paths("ATTENTION_");
	for (i = 0; i < MAX_ENGINES; i++)
		npu_engine_destroy(engines[i].engine);
	return tap_done();
}
