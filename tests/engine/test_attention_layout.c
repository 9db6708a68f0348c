// SPDX-License-Identifier: MIT
/*
 * A cache may have its heads beside each other at each position, or each head's positions by
 * themselves, as [batch, heads, length, depth]: decoding gives the same bits of both, and takes
 * about the same time, as no more of a cache is looked at than there is in it.
 */
#include <time.h>
#include "tap.h"
#include "insn.h"

#define HEADS	8u
#define LENGTH	2048u
#define DEPTH	64u
#define ROUNDS	5
#define SLOWER	20	/* at most; fetching what lies between heads makes it a hundred times so */

static struct npu_engine *engine;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The elements of @from as [1, heads, length, depth] in memory, with the same dims. */
static struct test_tensor heads_apart(const struct test_tensor *from)
{
	static const uint32_t dim[4] = { 1, HEADS, LENGTH, DEPTH };
	struct test_rng rng = { 0 };
	struct test_tensor t = test_tensor_make(&rng, from->op.dtype, 4, dim, TEST_DENSE);
	int64_t head = t.op.stride[1], position = t.op.stride[2];
	uint32_t i[4] = { 0 };

	memcpy(t.op.dim, from->op.dim, sizeof(t.op.dim));
	t.op.stride[1] = position;
	t.op.stride[2] = head;
	for (i[1] = 0; i[1] < LENGTH; i[1]++)
		for (i[2] = 0; i[2] < HEADS; i[2]++)
			memcpy(test_element(&t, i), test_element(from, i), (size_t)position);
	return t;
}

/* The least seconds of some runs, or a negative number. */
static double least(struct test_tensor *const *slots, double best)
{
	const uint32_t params[] = { 1, test_f32(0.125f), 1, 0, 0 };
	double began = seconds(), took;

	if (test_insn_run(engine, NPU_OP_ATTENTION, slots, params, NULL, NULL) != NPU_RUN_DONE)
		return -1;
	took = seconds() - began;
	return best == 0 || took < best ? took : best;
}

static void check_type(unsigned int dtype)
{
	static const uint32_t row[3] = { 1, HEADS, DEPTH }, dim[4] = { 1, LENGTH, HEADS, DEPTH };
	struct test_rng rng = { 5 + dtype };
	struct test_tensor q = test_tensor_make(&rng, NPU_F32, 3, row, TEST_DENSE),
			   k = test_tensor_make(&rng, dtype, 4, dim, TEST_DENSE),
			   v = test_tensor_make(&rng, dtype, 4, dim, TEST_DENSE),
			   near = test_tensor_make(&rng, NPU_F32, 3, row, TEST_DENSE),
			   far = test_tensor_make(&rng, NPU_F32, 3, row, TEST_DENSE), k2, v2;
	double a = 0, b = 0;

	test_tensor_fill(&rng, &q, 1, false);
	test_tensor_fill(&rng, &k, 1, false);
	test_tensor_fill(&rng, &v, 1, false);
	k2 = heads_apart(&k);
	v2 = heads_apart(&v);
	for (int i = 0; i < ROUNDS && a >= 0 && b >= 0; i++) {
		a = least((struct test_tensor *[16]){ &near, &q, &k, &v }, a);
		b = least((struct test_tensor *[16]){ &far, &q, &k2, &v2 }, b);
	}
	tap_ok(a > 0 && b > 0 && !memcmp(near.mem, far.mem, near.size),
	       "%s: the same bits wherever heads lie", npu_dtype_name(dtype));
	tap_ok(b < SLOWER * a, "%s: %.0f us, and %.0f with heads by themselves",
	       npu_dtype_name(dtype), 1e6 * a, 1e6 * b);
	test_tensor_free(&q);
	test_tensor_free(&k);
	test_tensor_free(&v);
	test_tensor_free(&k2);
	test_tensor_free(&v2);
	test_tensor_free(&near);
	test_tensor_free(&far);
}

int main(void)
{
	struct npu_engine_config config = { .threads = 1 };

	if (npu_engine_create(&config, &engine)) {
		printf("Bail out! no engine\n");
		return 1;
	}
	check_type(NPU_F32);
	check_type(NPU_F16);
	npu_engine_destroy(engine);
	return tap_done();
}
