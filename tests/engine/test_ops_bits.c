// SPDX-License-Identifier: MIT
/*
 * The bits of a result do not depend on the host's instruction set or on threads: random instructions (shapes, types,
 * layouts, parameters, wild values) are carried out by the portable engine on one thread and by every other
 * combination that the host has, and all of the outputs' memory is compared, gaps included.
 */
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

/* Add an operand with random contents; 8-bit types and i32 are quantized half of the time when @may_scale. */
static void operand(struct test_case *c, unsigned int slot, unsigned int dtype, unsigned int rank, const uint32_t *dim,
		    bool may_scale)
{
	struct test_tensor t = test_tensor_make(&c->rng, dtype, rank, dim, (enum test_layout)pick(c, TEST_NUM_LAYOUTS));

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
static const uint8_t all_types[] = { NPU_F32, NPU_F16, NPU_BF16, NPU_I8, NPU_U8, NPU_I32, NPU_I64, NPU_BOOL };

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
static unsigned int shape(struct test_case *c, uint32_t *dim, unsigned int min_rank, unsigned int max_rank, uint32_t max)
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
		to[i] = kind == 0 ? 1 : kind == 1 || (kind == 2 && i == rank - 1) || pick(c, 2) ? from[i] : 1;
}

static void make_tail(struct test_case *c, uint32_t *p, unsigned int slope_slot, bool prelu, const uint32_t *dim, unsigned int rank)
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
	return f == NPU_UNARY_ABS || f == NPU_UNARY_NEG || f == NPU_UNARY_SIGN || f == NPU_UNARY_NOT ||
	       f == NPU_UNARY_SQUARE || f == NPU_UNARY_COPY || f == NPU_UNARY_BITNOT;
}

static void make_ewise1(struct test_case *c)
{
	uint32_t dim[6], in[6], func = pick(c, NPU_NUM_UNARIES);
	unsigned int rank = shape(c, dim, 0, 6, 3000), type = data_type(c);
	bool ints = func == NPU_UNARY_BITNOT || (unary_of_ints(func) && pick(c, 3) == 0);

	c->param[NPU_EWISE1_P_FUNC] = func;
	operand(c, NPU_EWISE1_OUT, ints && pick(c, 2) ? int_type(c) : pick(c, 2) ? type : any_type(c), rank, dim, !ints);
	if (!ints && pick(c, 4) == 0) {
		c->in_place = true;
		c->slot[0].op.scale = c->slot[0].op.dtype == NPU_I8 || c->slot[0].op.dtype == NPU_U8 ? 0.1f : 0;
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

/* Run the case on one engine from a copy of its tensors; the outputs' bytes are left in @copy. */
static bool run_on(struct engine_kind *e, unsigned int opcode, const struct test_case *c, struct test_tensor *copy, char *text)
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

/* One random instruction on all engines. Returns how many differ from the first, or -1 when it does not run at all. */
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
			tap_diag("%s differs on %s (out %s rank %u, params %u %u %u)", desc->mnemonic, engines[e].name,
				 npu_dtype_name(c->slot[0].op.dtype), c->slot[0].op.rank, c->param[0], c->param[1], c->param[2]);
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
	tap_ok(!bad && !refused, "%s: %u random instructions, %u differ, %u refused", npu_op_desc(opcode)->mnemonic, count, bad,
	       refused);
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
	check_op(NPU_OP_EWISE1, make_ewise1, count * 2);
	check_op(NPU_OP_EWISE2, make_ewise2, count * 2);
	check_op(NPU_OP_COPY, make_copy, count);
	check_op(NPU_OP_REDUCE, make_reduce, count);
	check_op(NPU_OP_SOFTMAX, make_softmax, count);
	check_op(NPU_OP_NORM, make_norm, count);
	check_op(NPU_OP_POOL, make_pool, count);
	check_op(NPU_OP_RESIZE, make_resize, count);
	for (i = 0; i < MAX_ENGINES; i++)
		npu_engine_destroy(engines[i].engine);
	return tap_done();
}
