/* SPDX-License-Identifier: MIT */
/*
 * Random instructions: shapes, types, layouts, parameters, wild values, of every opcode that is not
 * a product of matrices.
 */
#ifndef TEST_OP_CASE_H
#define TEST_OP_CASE_H

#include "insn.h"

struct op_case {
	struct test_rng rng;
	struct test_tensor slot[NPU_MAX_OPERANDS];
	bool used[NPU_MAX_OPERANDS];
	uint32_t param[NPU_MAX_PARAMS];
	bool in_place;			/* slot 1 is slot 0 */
};

/*
 * Add an operand with random contents; 8-bit types and i32 are quantized half of the time when
 * @may_scale.
 */
void op_operand(struct op_case *c, unsigned int slot, unsigned int dtype, unsigned int rank,
		const uint32_t *dim, bool may_scale);

/* Fills in a case whose rng is set; each makes @weight of them where others make 4. */
extern const struct op_maker {
	unsigned int opcode;
	void (*make)(struct op_case *c);	/* NULL: the end */
	unsigned int weight;
} op_makers[];

#endif
