/* SPDX-License-Identifier: MIT */
/*
 * Random instructions, run by the engine in every configuration this host has (portable, AVX2,
 * AVX-512; 1 and 2 threads) and by the oracle. All engine runs must give the same bits; they must
 * equal the oracle's bits where the instruction is exactly defined, and be within a tolerance where
 * it passes through a polynomial. Bytes that no output element covers must be untouched.
 */
#ifndef TEST_ORACLE_HARNESS_H
#define TEST_ORACLE_HARNESS_H

#include <stdint.h>
#include "npu_isa_desc.h"

#define CASE_GUARD	64	/* bytes around every region that nothing may touch */

/*
 * One instruction to try. Slot i lives in region i, so an in-place case shares the region by hand.
 */
struct tcase {
	unsigned int opcode;
	struct npu_operand operand[NPU_MAX_OPERANDS];
	npu_u32 param[NPU_MAX_PARAMS];
	unsigned char *data[NPU_MAX_OPERANDS];	/* initial contents of each region */
	npu_u64 size[NPU_MAX_OPERANDS];
	/* relative to the tensor's largest value, for inexact instructions */
	double tolerance;
	int want_fault;		/* enum npu_fault_code that the engine must report, 0: none */
};

/* ---- rng.c ---- */

/* A deterministic generator; every test program starts from its own seed and prints it. */
void rng_seed(uint64_t seed);
uint32_t rng(void);
uint32_t rng_below(uint32_t n);			/* 0 .. n - 1 */
uint32_t rng_range(uint32_t lo, uint32_t hi);	/* inclusive */
int rng_chance(uint32_t one_in);
float rng_float(void);				/* mostly of moderate size */

/* ---- case.c ---- */

void case_init(struct tcase *c, unsigned int opcode);
void case_free(struct tcase *c);
void case_param_f32(struct tcase *c, unsigned int param, float value);

/*
 * Give slot @slot a tensor of these dims with random strides (dense, with gaps, permuted) and
 * random contents; @wild: contents include infinities, NaN, subnormal and huge values.
 */
enum contents { CONTENTS_TAME, CONTENTS_WILD };
void case_tensor(struct tcase *c, unsigned int slot, unsigned int dtype, unsigned int rank,
		 const npu_u32 *dim, enum contents contents);
/* The same, dense in row-major order. */
void case_dense(struct tcase *c, unsigned int slot, unsigned int dtype, unsigned int rank,
		const npu_u32 *dim, enum contents contents);
/* Scale and zero point for an 8-bit tensor of slot @slot. */
void case_quantize(struct tcase *c, unsigned int slot);
/*
 * Change the layout of a weight operand: allocates the panel form with random contents (groups:
 * CONV's).
 */
void case_panel(struct tcase *c, unsigned int slot, unsigned int layout, npu_u32 outputs,
		npu_u64 k_size, npu_u32 groups);
/* Write an index (i32 or i64) into element @i of a rank-1 slot. */
void case_index(struct tcase *c, unsigned int slot, npu_u32 i, int64_t value);
/*
 * Random epilogue for the family whose bias slot and ACT parameter are given; @rank and @out_dim
 * describe out.
 */
void case_epilogue(struct tcase *c, unsigned int bias_slot, unsigned int act_param, int integer);
/* Activation parameters for the parameter run ACT, ACT_ALPHA, ACT_BETA. */
void case_activation(struct tcase *c, unsigned int act_param, int allow_prelu);

/* ---- harness.c ---- */

/* Run everywhere and compare. Returns 1 when all agree; prints what differs as TAP diagnostics. */
int case_run(struct tcase *c);

/* Print which kernel paths the engine took since the start, and free the engines. */
void harness_report(void);

/* @n cases of @make, reported as one TAP result; counts are multiplied in long mode. */
void harness_many(const char *name, unsigned int n, void (*make)(struct tcase *c));

#endif
