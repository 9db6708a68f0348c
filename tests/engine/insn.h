/* SPDX-License-Identifier: MIT */
/*
 * For tests of the engine: tensors in memory of their own, and one instruction over them carried
 * out.
 */
#ifndef TEST_INSN_H
#define TEST_INSN_H

#include <stdint.h>
#include "npu_engine.h"
#include "npu_isa_desc.h"

struct test_tensor {
	struct npu_operand op;
	char *mem;		/* op.offset is 0; owned */
	size_t size;		/* bytes */
};

/* xorshift; the same numbers on every host */
struct test_rng {
	uint64_t state;
};
uint32_t test_rand(struct test_rng *rng);
uint32_t test_below(struct test_rng *rng, uint32_t n);

/*
 * Memory layouts: dense; with a gap behind rows; with the last dimension not innermost; strides
 * permuted at random.
 */
enum test_layout { TEST_DENSE, TEST_GAPS, TEST_CHANNEL_FIRST, TEST_SHUFFLED, TEST_NUM_LAYOUTS };

/* Make a tensor with zeroed memory. Ends the test when memory is short. */
struct test_tensor test_tensor_make(struct test_rng *rng, unsigned int dtype, unsigned int rank,
				    const uint32_t *dim, enum test_layout layout);
void test_tensor_free(struct test_tensor *t);

/*
 * Fill all of the memory; floats mostly within [-range, range], with infinities, NaN and tiny
 * numbers when @wild.
 */
void test_tensor_fill(struct test_rng *rng, struct test_tensor *t, float range, bool wild);

/* Address of an element. */
void *test_element(const struct test_tensor *t, const uint32_t *index);

uint32_t test_f32(float f);	/* as a parameter */

/*
 * Run one instruction. @slots: as many as the opcode has, NULL for an absent one; two entries may
 * be the same tensor (in place). Returns NPU_RUN_DONE, or NPU_RUN_FAULT with *@fault and @text (256
 * bytes; both may be NULL).
 */
enum npu_run_result test_insn_run(struct npu_engine *engine, unsigned int opcode,
				  struct test_tensor *const *slots, const uint32_t *params,
				  struct npu_fault *fault, char *text);

#endif
