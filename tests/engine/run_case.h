/* SPDX-License-Identifier: MIT */
/* For tests of the run loop: streams of some products of the same two matrices. */
#ifndef TEST_RUN_CASE_H
#define TEST_RUN_CASE_H

#include "npu_engine.h"
#include "npu_isa_desc.h"

#define RUN_MAX_WORDS	4096
#define RUN_M		64
#define RUN_K		96
#define RUN_N		80
#define RUN_STEPS	4

enum { REGION_A, REGION_B, REGION_OUT, REGION_SRAM, REGION_INT, NUM_REGIONS };

struct run_stream {
	npu_u32 words[RUN_MAX_WORDS];
	npu_u32 used;			/* words */
};

/* What regions are of, and what a standard stream leaves in out. */
extern struct run_data {
	float a[RUN_M * RUN_K], b[RUN_K * RUN_N];
	float out[RUN_STEPS][RUN_M * RUN_N], want[RUN_STEPS][RUN_M * RUN_N];
	npu_s32 number;			/* REGION_INT */
	struct npu_region regions[NUM_REGIONS];
} run;

/* Fill in all of it. */
void run_data_init(void);
/* Regions as they are at first. */
void run_regions_set(void);
/* What run.a and run.b make: the plain chain of fused multiply-adds that the architecture has. */
void run_expectation(void);
bool run_outputs_right(void);

struct npu_stream_header *run_header(struct run_stream *s);
void run_stream_begin(struct run_stream *s);
/* *@op and *@param (may be NULL): where its operands and parameters are, to be filled in. */
struct npu_insn_header *run_insn_add(struct run_stream *s, unsigned int opcode,
				     struct npu_operand **op, npu_u32 **param,
				     unsigned int num_terms);
void run_stream_end(struct run_stream *s);
/* A dense matrix of f32. */
void run_matrix(struct npu_operand *op, unsigned int region, npu_u64 offset, npu_u32 rows,
		npu_u32 cols);
/* out[step] = a x b, @rows of it; returns its operands. */
struct npu_operand *run_matmul_add(struct run_stream *s, unsigned int step, npu_u32 rows,
				   npu_u32 **param, unsigned int terms);
/* All steps. */
void run_standard_stream(struct run_stream *s);

/* Ends the test without one. */
struct npu_engine *run_engine_make(unsigned int threads, enum npu_simd simd);
/* npu_engine_state_init() of a new @st for @s and the regions. */
int run_state_open(struct npu_engine *e, struct npu_engine_state *st, struct run_stream *s);
/* Reports that a standard stream is done, and right. */
void run_whole(struct npu_engine *e, const char *what);

#endif
