// SPDX-License-Identifier: MIT
/*
 * The bits of a result do not depend on the host's instruction set or on threads: random
 * instructions (shapes, types, layouts, parameters, wild values) are carried out by the portable
 * engine on one thread and by every other combination that the host has, and all of the outputs'
 * memory is compared, gaps included.
 */
#include <string.h>
#include "tap.h"
#include "op_case.h"

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

/* Run the case on one engine from a copy of its tensors; the outputs' bytes are left in @copy. */
static bool run_on(struct engine_kind *e, unsigned int opcode, const struct op_case *c,
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

static void free_copies(const struct op_case *c, struct test_tensor *copy)
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
static int check_case(unsigned int opcode, struct op_case *c)
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

static void check_op(unsigned int opcode, void (*make)(struct op_case *c), unsigned int count)
{
	unsigned int i, s, bad = 0, refused = 0;

	for (i = 0; i < count; i++) {
		struct op_case c = { .rng = { 1000003ull * opcode + i + 1 } };
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
		struct op_case c = { .rng = { f + 1 } };
		bool act = f >= NPU_NUM_UNARIES;

		if (f == NPU_UNARY_BITNOT || f == NPU_NUM_UNARIES + NPU_ACT_PRELU)
			continue;
		op_operand(&c, NPU_EWISE1_OUT, NPU_F32, 1, &num, false);
		op_operand(&c, NPU_EWISE1_IN, NPU_F32, 1, &num, false);
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
	for (i = 0; op_makers[i].make; i++)
		check_op(op_makers[i].opcode, op_makers[i].make, count * op_makers[i].weight / 4);
	check_color_paths();
	check_paths("ATTENTION_");
	for (i = 0; i < MAX_ENGINES; i++)
		npu_engine_destroy(engines[i].engine);
	return tap_done();
}
