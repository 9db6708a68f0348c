// SPDX-License-Identifier: MIT
/*
 * MATMUL with codes in groups gives the same bits with every instruction set, with 1, 2 and 5
 * threads, and for a row alone as among others. Shapes are larger than those that the oracle has
 * time for. Prints how often each kernel path ran.
 */
#include "insn.h"
#include "../tap.h"

#define MAX_ENGINES	15

static struct npu_engine *engine[MAX_ENGINES];
static unsigned int engine_threads[MAX_ENGINES], num_engines;
static struct test_rng rng = { 0x243f6a8885a308d3u };

static void engines_make(void)
{
	static const unsigned int threads[] = { 1, 2, 5 };
	unsigned int simd, t;

	for (simd = NPU_SIMD_PORTABLE; simd < NPU_NUM_SIMDS; simd++) {
		for (t = 0; t < 3; t++) {
			struct npu_engine_config config = { .threads = threads[t],
							    .simd = (enum npu_simd)simd };

			if (npu_engine_create(&config, &engine[num_engines]))
				continue;
			engine_threads[num_engines++] = threads[t];
		}
	}
}

static uint32_t pick(const uint32_t *list, uint32_t n)
{
	return list[test_below(&rng, n)];
}

#define PICK(...) pick((const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)

/* [k][n] in panels: codes in quads, or factors. */
static struct test_tensor panel_make(unsigned int dtype, unsigned int layout, uint32_t k,
				     uint32_t n)
{
	uint32_t bits = npu_dtype_bits(dtype),
		 depth = layout == NPU_LAYOUT_GROUPED16 ? (k + 3) / 4 * 4 : k;
	uint32_t flat[2] = { (n + 15) / 16 * depth, 16 }, i;
	struct test_tensor t;

	if (bits < 8) {
		flat[1] = 2 * bits;
		t = test_tensor_make(&rng, NPU_U8, 2, flat, TEST_DENSE);
	} else {
		t = test_tensor_make(&rng, dtype, 2, flat, TEST_DENSE);
	}
	test_tensor_fill(&rng, &t, 0.01f, false);
	for (i = 0; bits <= 8 && i < t.size; i++)
		t.mem[i] = (char)test_rand(&rng);
	t.op.dtype = (npu_u8)dtype;
	t.op.layout = (npu_u8)layout;
	t.op.rank = 2;
	memset(t.op.stride, 0, sizeof(t.op.stride));
	t.op.dim[0] = k;
	t.op.dim[1] = n;
	return t;
}

struct product {
	struct test_tensor t[NPU_MATMUL_NUM_SLOTS];
	struct test_tensor *slot[NPU_MATMUL_NUM_SLOTS];
	uint32_t param[NPU_MATMUL_NUM_PARAMS];
	uint32_t m, k, n;
};

static void take(struct product *p, unsigned int slot, struct test_tensor t)
{
	p->t[slot] = t;
	p->slot[slot] = &p->t[slot];
}

static void product_make(struct product *p)
{
	uint32_t group = PICK(16, 32, 32, 64, 128),
		 bits = PICK(NPU_U4, NPU_U4, NPU_U5, NPU_U6, NPU_U8);
	uint32_t super = test_below(&rng, 2) ? 256 : 0,
		 a_group = test_below(&rng, 3) ? group * PICK(1, 1, 2, 4) : 0;
	uint32_t k = PICK(64, 256, 700, 768, 1024, 2050), n = PICK(1, 16, 40, 129, 300), book = 16;
	uint32_t m = PICK(1, 1, 2, 3, 4, 5, 12, 29, 150), groups = (k + group - 1) / group;
	uint32_t da[] = { m, k }, dout[] = { m, n }, ds[] = { m, 0 };
	unsigned int type = super ? PICK(NPU_U8, NPU_I8) : PICK(NPU_F16, NPU_F32);
	bool has_min = test_below(&rng, 2);

	memset(p, 0, sizeof(*p));
	p->m = m;
	p->k = k;
	p->n = n;
	take(p, NPU_MATMUL_OUT,
	     test_tensor_make(&rng, PICK(NPU_F16, NPU_F32), 2, dout, PICK(TEST_DENSE, TEST_GAPS)));
	take(p, NPU_MATMUL_A,
	     test_tensor_make(&rng, NPU_I8, 2, da,
			      PICK(TEST_DENSE, TEST_DENSE, TEST_GAPS, TEST_SHUFFLED)));
	test_tensor_fill(&rng, &p->t[NPU_MATMUL_A], 100, false);
	take(p, NPU_MATMUL_B, panel_make(bits, NPU_LAYOUT_GROUPED16, k, n));
	take(p, NPU_MATMUL_GROUP_SCALE, panel_make(type, NPU_LAYOUT_PANEL16, groups, n));
	if (has_min)
		take(p, NPU_MATMUL_GROUP_MIN, panel_make(type, NPU_LAYOUT_PANEL16, groups, n));
	if (super) {
		take(p, NPU_MATMUL_SUPER_SCALE,
		     panel_make(NPU_F16, NPU_LAYOUT_PANEL16, (k + 255) / 256,
				has_min ? 2 * ((n + 15) / 16 * 16) : n));
		p->t[NPU_MATMUL_SUPER_SCALE].op.dim[0] = (k + 255) / 256;
		p->t[NPU_MATMUL_SUPER_SCALE].op.dim[1] = n;
		if (has_min) {
			p->t[NPU_MATMUL_SUPER_SCALE].op.rank = 3;
			p->t[NPU_MATMUL_SUPER_SCALE].op.dim[0] = 2;
			p->t[NPU_MATMUL_SUPER_SCALE].op.dim[1] = (k + 255) / 256;
			p->t[NPU_MATMUL_SUPER_SCALE].op.dim[2] = n;
		}
	}
	if (bits == NPU_U4 && !test_below(&rng, 3)) {
		take(p, NPU_MATMUL_CODEBOOK, test_tensor_make(&rng, NPU_I8, 1, &book, TEST_DENSE));
		test_tensor_fill(&rng, &p->t[NPU_MATMUL_CODEBOOK], 100, false);
	} else {
		p->t[NPU_MATMUL_B].op.zero_point = 1 << (npu_dtype_bits(bits) - 1);
	}
	ds[1] = a_group ? (k + a_group - 1) / a_group : 0;
	take(p, NPU_MATMUL_A_SCALE,
	     test_tensor_make(&rng, NPU_F32, a_group ? 2 : 1, ds, TEST_DENSE));
	test_tensor_fill(&rng, &p->t[NPU_MATMUL_A_SCALE], 0.01f, !test_below(&rng, 8));
	p->param[NPU_MATMUL_P_GROUP] = group;
	p->param[NPU_MATMUL_P_SUPER] = super;
	p->param[NPU_MATMUL_P_A_GROUP] = a_group;
	p->param[NPU_MATMUL_P_POST_MUL] = test_f32(1);
	p->param[NPU_MATMUL_P_ACT] = PICK(NPU_ACT_NONE, NPU_ACT_NONE, NPU_ACT_SILU);
}

static void product_free(struct product *p)
{
	unsigned int i;

	for (i = 0; i < NPU_MATMUL_NUM_SLOTS; i++)
		if (p->slot[i])
			test_tensor_free(&p->t[i]);
}

static bool run(const struct product *p, unsigned int e)
{
	struct npu_fault fault;
	char text[256];

	memset(p->t[NPU_MATMUL_OUT].mem, 0xa5, p->t[NPU_MATMUL_OUT].size);
	if (test_insn_run(engine[e], NPU_OP_MATMUL, p->slot, p->param, &fault, text) ==
	    NPU_RUN_DONE)
		return true;
	tap_diag("%ux%ux%u: %s", p->m, p->k, p->n, text);
	return false;
}

/* Rows [@from, @from + @count) alone give what they gave among all, which is @whole. */
static bool rows_alone(const struct product *p, uint32_t from, uint32_t count, const char *whole)
{
	static const unsigned int sliced[] = { NPU_MATMUL_OUT, NPU_MATMUL_A, NPU_MATMUL_A_SCALE };
	struct product part = *p;
	uint32_t index[2] = { 0 };
	unsigned int i, bytes = npu_dtype_bits(p->t[NPU_MATMUL_OUT].op.dtype) / 8;
	size_t at;

	for (i = 0; i < NPU_MATMUL_NUM_SLOTS; i++)
		part.slot[i] = p->slot[i] ? &part.t[i] : NULL;
	for (i = 0; i < 3; i++) {
		part.t[sliced[i]].op.dim[0] = count;
		part.t[sliced[i]].op.offset += from * (npu_u64)part.t[sliced[i]].op.stride[0];
	}
	if (!run(&part, num_engines - 1))
		return false;
	for (index[0] = from; index[0] < from + count; index[0]++) {
		for (index[1] = 0; index[1] < p->n; index[1]++) {
			at = (size_t)((char *)test_element(&p->t[NPU_MATMUL_OUT], index) -
				      p->t[NPU_MATMUL_OUT].mem);
			if (memcmp(p->t[NPU_MATMUL_OUT].mem + at, whole + at, bytes)) {
				tap_diag("row %u of %u differs beside %u others", index[0], p->m,
					 count - 1);
				return false;
			}
		}
	}
	return true;
}

static bool same_everywhere(const struct product *p)
{
	size_t size = p->t[NPU_MATMUL_OUT].size;
	char *first = malloc(size);
	uint32_t from = test_below(&rng, p->m);
	bool good = run(p, 0);
	unsigned int e;

	memcpy(first, p->t[NPU_MATMUL_OUT].mem, size);
	for (e = 1; e < num_engines && good; e++) {
		good = run(p, e) && !memcmp(first, p->t[NPU_MATMUL_OUT].mem, size);
		if (!good)
			tap_diag("%ux%ux%u, codes %s, group %u: %s with %u threads differs", p->m,
				 p->k, p->n, npu_dtype_name(p->t[NPU_MATMUL_B].op.dtype),
				 p->param[NPU_MATMUL_P_GROUP], npu_engine_simd_name(engine[e]),
				 engine_threads[e]);
	}
	good = good && rows_alone(p, from, 1, first) && rows_alone(p, from, p->m - from, first);
	free(first);
	return good;
}

static void paths_print(void)
{
	struct npu_engine_counters c;
	unsigned int i, p;

	for (i = 0; i < num_engines; i++) {
		npu_engine_counters(engine[i], &c);
		printf("# %s, %u threads: %llu instructions;", npu_engine_simd_name(engine[i]),
		       engine_threads[i], (unsigned long long)c.insns);
		for (p = 0; npu_engine_path_name(p); p++)
			if (c.path[p])
				printf(" %s %llu", npu_engine_path_name(p),
				       (unsigned long long)c.path[p]);
		printf("\n");
	}
}

int main(void)
{
	unsigned int count = tap_long() ? 2000 : 150, i, good = 0;
	struct product p;

	engines_make();
	for (i = 0; i < count; i++) {
		product_make(&p);
		good += same_everywhere(&p);
		product_free(&p);
	}
	tap_ok(good == count, "codes in groups: %u of %u products the same everywhere", good,
	       count);
	paths_print();
	for (i = 0; i < num_engines; i++)
		npu_engine_destroy(engine[i]);
	return tap_done();
}
