// SPDX-License-Identifier: MIT
/*
 * CONV, CONV_TRANSPOSE and MATMUL give the same bits with every instruction set and with 1, 2 and 5
 * threads. Shapes are larger than those that the oracle has time for, so that several tiles,
 * strips, blocks and chunks take part, and odd on purpose. Prints how often each kernel path ran.
 */
#include "insn.h"
#include "../tap.h"

#define MAX_ENGINES	9

static struct npu_engine *engine[MAX_ENGINES];
static const char *engine_name[MAX_ENGINES];
static unsigned int engine_threads[MAX_ENGINES], num_engines;
static struct test_rng rng = { 0x9e3779b97f4a7c15u };

static void engines_make(void)
{
	static const enum npu_simd simd[] = { NPU_SIMD_PORTABLE, NPU_SIMD_AVX2, NPU_SIMD_AVX512 };
	static const unsigned int threads[] = { 1, 2, 5 };
	unsigned int i, t;

	for (i = 0; i < 3; i++) {
		for (t = 0; t < 3; t++) {
			struct npu_engine_config config = { .threads = threads[t],
							    .simd = simd[i] };

			if (npu_engine_create(&config, &engine[num_engines]))
				continue;
			engine_name[num_engines] = npu_engine_simd_name(engine[num_engines]);
			engine_threads[num_engines++] = threads[t];
		}
	}
}

static uint32_t pick(const uint32_t *list, uint32_t n)
{
	return list[test_below(&rng, n)];
}

#define PICK(...) pick((const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)

static unsigned int float_type(void)
{
	return PICK(NPU_F16, NPU_F16, NPU_F32, NPU_BF16);
}

/* A weight in panels: as many bytes as a dense tensor of the padded size. */
static struct test_tensor panel_make(unsigned int dtype, unsigned int rank, const uint32_t *dim,
				     uint32_t groups)
{
	uint32_t flat[3] = { groups, 0, 16 }, i;
	struct test_tensor t;

	if (rank == 4) {
		flat[1] = (dim[0] / groups + 15) / 16 * dim[1] * dim[2] * dim[3];
	} else {
		flat[1] = (dim[1] + 15) / 16 * dim[0];
	}
	t = test_tensor_make(&rng, dtype, 3, flat, TEST_DENSE);
	test_tensor_fill(&rng, &t, 0.5f, false);
	t.op.rank = (npu_u8)rank;
	t.op.layout = NPU_LAYOUT_PANEL16;
	memset(t.op.stride, 0, sizeof(t.op.stride));
	memset(t.op.dim, 0, sizeof(t.op.dim));
	for (i = 0; i < rank; i++)
		t.op.dim[i] = dim[i];
	return t;
}

/* Run on every engine; true when all agree with the first. */
static bool same_everywhere(unsigned int opcode, struct test_tensor **slots, const uint32_t *params,
			    const char *what)
{
	struct test_tensor *out = slots[0];
	char *first = malloc(out->size), text[256];
	struct npu_fault fault;
	unsigned int i;
	bool good = true;

	for (i = 0; i < num_engines && good; i++) {
		memset(out->mem, 0xa5, out->size);
		if (test_insn_run(engine[i], opcode, slots, params, &fault, text) != NPU_RUN_DONE) {
			tap_diag("%s: %s", what, text);
			good = false;
		} else if (i == 0) {
			memcpy(first, out->mem, out->size);
		} else if (memcmp(first, out->mem, out->size)) {
			tap_diag("%s: %s with %u threads differs from %s", what, engine_name[i],
				 engine_threads[i], engine_name[0]);
			good = false;
		}
	}
	free(first);
	return good;
}

static void epilogue(uint32_t *p, unsigned int act)
{
	p[act] = PICK(NPU_ACT_NONE, NPU_ACT_RELU, NPU_ACT_RELU6, NPU_ACT_HARD_SWISH,
		      NPU_ACT_HARD_SIGMOID, NPU_ACT_SIGMOID, NPU_ACT_SILU, NPU_ACT_GELU_ERF,
		      NPU_ACT_CLIP, NPU_ACT_LEAKY_RELU);
	p[act + 1] = test_f32(0.1666f);
	p[act + 2] = test_f32(0.5f);
	p[act + 3] = test_f32(test_below(&rng, 3) ? 1.0f : 1.25f);
	p[act + 4] = test_f32(test_below(&rng, 3) ? 0.0f : -0.125f);
	p[act + 6] = PICK(NPU_ACT_NONE, NPU_ACT_NONE, NPU_ACT_RELU, NPU_ACT_TANH);
	p[act + 7] = test_f32(0.25f);
	p[act + 8] = test_f32(0.75f);
}

struct shape {
	uint32_t h, w, c, o, k, kw, stride, dil, pad, groups;
};

static void shape_random(struct shape *s, bool depthwise)
{
	*s = (struct shape){
		.h = 1 + test_below(&rng, 14),
		.w = PICK(1, 5, 17, 40, 80, 131),
		.c = PICK(1, 3, 8, 16, 24, 33, 96, 130),
		.o = PICK(1, 2, 6, 8, 12, 16, 18, 24, 31, 48, 56, 72, 97),
		.k = PICK(1, 1, 2, 3, 5),
		.kw = 0,
		.stride = PICK(1, 1, 2, 3),
		.dil = PICK(1, 1, 1, 2),
		.groups = 1,
	};
	s->kw = test_below(&rng, 4) ? s->k : 1 + test_below(&rng, 4);
	s->pad = test_below(&rng, s->k);
	if (depthwise) {
		s->groups = s->o = s->c;
	} else if (s->c % 3 == 0 && !test_below(&rng, 4)) {
		s->groups = 3;
		s->o = (s->o + 2) / 3 * 3;
	}
}

static bool conv_case(bool transposed, bool depthwise)
{
	struct test_tensor *slots[NPU_CONV_NUM_SLOTS] = { 0 }, out, in, weight, bias, res;
	unsigned int opcode = transposed ? NPU_OP_CONV_TRANSPOSE : NPU_OP_CONV, type = float_type();
	uint32_t params[NPU_CONV_NUM_PARAMS] = { 0 };
	struct shape s;
	uint32_t oh, ow;
	char what[200];
	bool good;

	shape_random(&s, depthwise);
	if (transposed) {
		oh = (s.h - 1) * s.stride + (s.k - 1) * s.dil + 1 - (s.h > 1 ? s.pad : 0);
		ow = (s.w - 1) * s.stride + (s.kw - 1) * s.dil + 1;
	} else {
		oh = s.h + 2 * s.pad > (s.k - 1) * s.dil ?
			     (s.h + 2 * s.pad - (s.k - 1) * s.dil - 1) / s.stride + 1 :
			     1;
		ow = s.w + 2 * s.pad > (s.kw - 1) * s.dil ?
			     (s.w + 2 * s.pad - (s.kw - 1) * s.dil - 1) / s.stride + 1 :
			     1;
	}
	{
		uint32_t din[] = { 1, s.h, s.w, s.c }, dout[] = { 1, oh, ow, s.o };
		uint32_t dw[] = { s.o, s.k, s.kw, s.c / s.groups }, dres[] = { 1, oh, ow, s.o };

		in = test_tensor_make(&rng, type, 4, din,
				      PICK(TEST_DENSE, TEST_DENSE, TEST_GAPS, TEST_CHANNEL_FIRST));
		out = test_tensor_make(&rng, float_type(), 4, dout,
				       PICK(TEST_DENSE, TEST_DENSE, TEST_GAPS, TEST_CHANNEL_FIRST));
		res = test_tensor_make(&rng, float_type(), 4, dres, TEST_DENSE);
		weight = depthwise ? test_tensor_make(&rng, type, 4, dw, TEST_DENSE) :
				     panel_make(type, 4, dw, s.groups);
		bias = test_tensor_make(&rng, NPU_F32, 1, &s.o, TEST_DENSE);
	}
	test_tensor_fill(&rng, &in, 2.0f, test_below(&rng, 8) == 0);
	test_tensor_fill(&rng, &res, 2.0f, false);
	test_tensor_fill(&rng, &bias, 1.0f, false);
	if (depthwise)
		test_tensor_fill(&rng, &weight, 0.5f, false);
	slots[NPU_CONV_OUT] = &out;
	slots[NPU_CONV_IN] = &in;
	slots[NPU_CONV_WEIGHT] = &weight;
	slots[NPU_CONV_BIAS] = test_below(&rng, 3) ? &bias : NULL;
	params[NPU_CONV_P_STRIDE_H] = params[NPU_CONV_P_STRIDE_W] = s.stride;
	params[NPU_CONV_P_DIL_H] = params[NPU_CONV_P_DIL_W] = s.dil;
	params[NPU_CONV_P_PAD_TOP] = params[NPU_CONV_P_PAD_LEFT] = s.pad;
	params[NPU_CONV_P_GROUPS] = s.groups;
	epilogue(params, NPU_CONV_P_ACT);
	if (test_below(&rng, 3) == 0) {
		slots[NPU_CONV_RESIDUAL] = &res;
		params[NPU_CONV_P_JOIN] = NPU_JOIN_ADD;
	}
	snprintf(what, sizeof(what),
		 "%s %ux%ux%u -> %u, kernel %ux%u stride %u dil %u pad %u groups %u",
		 transposed ? "deconv" : "conv", s.h, s.w, s.c, s.o, s.k, s.kw, s.stride, s.dil,
		 s.pad, s.groups);
	good = same_everywhere(opcode, slots, params, what);
	test_tensor_free(&in);
	test_tensor_free(&out);
	test_tensor_free(&res);
	test_tensor_free(&weight);
	test_tensor_free(&bias);
	return good;
}

static bool matmul_case(void)
{
	struct test_tensor *slots[NPU_MATMUL_NUM_SLOTS] = { 0 }, out, a, b, bias;
	uint32_t params[NPU_MATMUL_NUM_PARAMS] = { 0 };
	uint32_t m = PICK(1, 2, 5, 15, 40, 113), k = PICK(1, 7, 64, 120, 260, 700),
		 n = PICK(1, 9, 24, 40, 64, 97, 200);
	uint32_t batch = PICK(1, 1, 1, 4);
	unsigned int type = float_type();
	bool panel = batch == 1 && test_below(&rng, 2) && type != NPU_BF16, good;
	uint32_t da[] = { batch, m, k }, db[] = { batch, k, n }, dout[] = { batch, m, n };
	unsigned int skip = batch == 1, rank = 3 - skip;
	char what[100];

	a = test_tensor_make(&rng, type, rank, da + skip,
			     PICK(TEST_DENSE, TEST_GAPS, TEST_SHUFFLED));
	b = panel ? panel_make(type, 2, db + 1, 1) :
		    test_tensor_make(&rng, type, rank, db + skip,
				     PICK(TEST_DENSE, TEST_GAPS, TEST_SHUFFLED));
	out = test_tensor_make(&rng, float_type(), rank, dout + skip,
			       PICK(TEST_DENSE, TEST_GAPS, TEST_SHUFFLED));
	bias = test_tensor_make(&rng, NPU_F32, 1, &n, TEST_DENSE);
	test_tensor_fill(&rng, &a, 2.0f, test_below(&rng, 8) == 0);
	if (!panel)
		test_tensor_fill(&rng, &b, 0.5f, false);
	test_tensor_fill(&rng, &bias, 1.0f, false);
	slots[NPU_MATMUL_OUT] = &out;
	slots[NPU_MATMUL_A] = &a;
	slots[NPU_MATMUL_B] = &b;
	slots[NPU_MATMUL_BIAS] = test_below(&rng, 2) ? &bias : NULL;
	epilogue(params, NPU_MATMUL_P_ACT);
	snprintf(what, sizeof(what), "matmul %u x %ux%ux%u %s", batch, m, k, n,
		 panel ? "panels" : "strided");
	good = same_everywhere(NPU_OP_MATMUL, slots, params, what);
	test_tensor_free(&a);
	test_tensor_free(&b);
	test_tensor_free(&out);
	test_tensor_free(&bias);
	return good;
}

static npu_u64 path_count(const struct npu_engine *e, const char *name)
{
	struct npu_engine_counters c;
	unsigned int p = 0;

	npu_engine_counters(e, &c);
	while (npu_engine_path_name(p) && strcmp(npu_engine_path_name(p), name))
		p++;
	return npu_engine_path_name(p) ? c.path[p] : 0;
}

/*
 * One row by 1024 x 1024: few products, but 1 and 2 MiB of weights that one thread alone does not
 * get out of memory as fast as two do.
 */
static bool row_is_shared(unsigned int type)
{
	const uint32_t da[] = { 1, 1024 }, db[] = { 1024, 1024 };
	struct test_tensor *slots[NPU_MATMUL_NUM_SLOTS] = { 0 }, out, a, b;
	unsigned int result = type == NPU_I8 ? NPU_I32 : NPU_F32, i;
	uint32_t params[NPU_MATMUL_NUM_PARAMS] = { 0 };
	npu_u64 before;
	bool good = true;
	char text[256] = "";

	a = test_tensor_make(&rng, type, 2, da, TEST_DENSE);
	b = panel_make(type, 2, db, 1);
	if (type == NPU_I8)
		b.op.layout = NPU_LAYOUT_PANEL16K4;
	out = test_tensor_make(&rng, result, 2, da, TEST_DENSE);
	test_tensor_fill(&rng, &a, 2.0f, false);
	slots[NPU_MATMUL_OUT] = &out;
	slots[NPU_MATMUL_A] = &a;
	slots[NPU_MATMUL_B] = &b;
	params[NPU_MATMUL_P_POST_MUL] = test_f32(1.0f);
	for (i = 0; i < num_engines; i++) {
		before = path_count(engine[i], "PARALLEL");
		good &= test_insn_run(engine[i], NPU_OP_MATMUL, slots, params, NULL, text) ==
				NPU_RUN_DONE &&
			(path_count(engine[i], "PARALLEL") > before) == (engine_threads[i] > 1);
	}
	if (!good)
		tap_diag("%s", text);
	test_tensor_free(&a);
	test_tensor_free(&b);
	test_tensor_free(&out);
	return good;
}

static void paths_print(void)
{
	struct npu_engine_counters c;
	unsigned int i, p;

	for (i = 0; i < num_engines; i++) {
		npu_engine_counters(engine[i], &c);
		printf("# %s, %u threads: %llu instructions;", engine_name[i], engine_threads[i],
		       (unsigned long long)c.insns);
		for (p = 0; npu_engine_path_name(p); p++)
			if (c.path[p])
				printf(" %s %llu", npu_engine_path_name(p),
				       (unsigned long long)c.path[p]);
		printf("\n");
	}
}

int main(void)
{
	unsigned int count = tap_long() ? 2000 : 40, i, good;

	engines_make();
	for (i = good = 0; i < count; i++)
		good += conv_case(false, false);
	tap_ok(good == count, "conv: %u of %u shapes the same everywhere", good, count);
	for (i = good = 0; i < count; i++)
		good += conv_case(false, true);
	tap_ok(good == count, "depthwise conv: %u of %u", good, count);
	for (i = good = 0; i < count; i++)
		good += conv_case(true, false);
	tap_ok(good == count, "conv_transpose: %u of %u", good, count);
	for (i = good = 0; i < count; i++)
		good += matmul_case();
	tap_ok(good == count, "matmul: %u of %u", good, count);
	tap_ok(row_is_shared(NPU_F16), "a row by 2 MiB of f16 weights is work for every thread");
	tap_ok(row_is_shared(NPU_I8), "a row by 1 MiB of int8 weights is work for every thread");
	paths_print();
	for (i = 0; i < num_engines; i++)
		npu_engine_destroy(engine[i]);
	return tap_done();
}
