// SPDX-License-Identifier: MIT
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run_case.h"
#include "tap.h"

struct run_data run;

struct npu_stream_header *run_header(struct run_stream *s)
{
	return (void *)s->words;
}

void run_stream_begin(struct run_stream *s)
{
	memset(s, 0, sizeof(*s));
	s->used = sizeof(struct npu_stream_header) / 4;
	*run_header(s) = (struct npu_stream_header){ .magic = NPU_STREAM_MAGIC,
						     .isa_major = NPU_ISA_MAJOR,
						     .isa_minor = NPU_ISA_MINOR,
						     .num_regions = NUM_REGIONS };
}

struct npu_insn_header *run_insn_add(struct run_stream *s, unsigned int opcode,
				     struct npu_operand **op, npu_u32 **param,
				     unsigned int num_terms)
{
	const struct npu_op_desc *desc = npu_op_desc(opcode);
	struct npu_insn_header *h = (void *)(s->words + s->used);
	npu_u32 words = (npu_u32)(sizeof(*h) + desc->num_slots * sizeof(**op)) / 4 +
			desc->num_params + 2 * num_terms;

	words += words % 2;
	*h = (struct npu_insn_header){ .opcode = (npu_u16)opcode,
				       .words = (npu_u16)words,
				       .num_operands = desc->num_slots,
				       .num_params = desc->num_params,
				       .num_terms = (npu_u8)num_terms,
				       .tag = 100 + run_header(s)->num_insns };
	if (op)
		*op = (void *)(h + 1);
	if (param)
		*param = s->words + s->used + (sizeof(*h) + desc->num_slots * sizeof(**op)) / 4;
	s->used += words;
	run_header(s)->num_insns++;
	return h;
}

void run_stream_end(struct run_stream *s)
{
	run_insn_add(s, NPU_OP_END, NULL, NULL, 0);
	run_header(s)->size = s->used * 4;
}

void run_matrix(struct npu_operand *op, unsigned int region, npu_u64 offset, npu_u32 rows,
		npu_u32 cols)
{
	*op = (struct npu_operand){ .region = (npu_u8)region, .dtype = NPU_F32, .rank = 2,
				    .offset = offset,
				    .dim = { rows, cols }, .stride = { (npu_s64)cols * 4, 4 } };
}

/* out[step] = a x b, rows of it */
struct npu_operand *run_matmul_add(struct run_stream *s, unsigned int step, npu_u32 rows,
				   npu_u32 **param, unsigned int terms)
{
	struct npu_operand *op;
	npu_u32 *p;
	float one = 1;

	run_insn_add(s, NPU_OP_MATMUL, &op, &p, terms);
	run_matrix(&op[NPU_MATMUL_OUT], REGION_OUT, step * sizeof(run.out[0]), rows, RUN_N);
	run_matrix(&op[NPU_MATMUL_A], REGION_A, 0, rows, RUN_K);
	run_matrix(&op[NPU_MATMUL_B], REGION_B, 0, RUN_K, RUN_N);
	memcpy(&p[NPU_MATMUL_P_POST_MUL], &one, 4);
	p[NPU_MATMUL_P_ACT] = step % 2 ? NPU_ACT_RELU : NPU_ACT_NONE;
	if (param)
		*param = p;
	return op;
}

void run_standard_stream(struct run_stream *s)
{
	unsigned int i;

	run_stream_begin(s);
	for (i = 0; i < RUN_STEPS; i++)
		run_matmul_add(s, i, RUN_M, NULL, 0);
	run_stream_end(s);
}

void run_regions_set(void)
{
	const npu_u32 rw = NPU_ACCESS_READ | NPU_ACCESS_WRITE;

	run.regions[REGION_A] = (struct npu_region){ (npu_u64)(uintptr_t)run.a, sizeof(run.a),
						     NPU_ACCESS_READ, 0 };
	run.regions[REGION_B] = (struct npu_region){ (npu_u64)(uintptr_t)run.b, sizeof(run.b),
						     NPU_ACCESS_READ, 0 };
	run.regions[REGION_OUT] = (struct npu_region){ (npu_u64)(uintptr_t)run.out, sizeof(run.out),
						       rw, 0 };
	run.regions[REGION_SRAM] = (struct npu_region){ 0, 1 << 20, rw | NPU_ACCESS_SRAM, 0 };
	run.regions[REGION_INT] = (struct npu_region){ (npu_u64)(uintptr_t)&run.number,
						       sizeof(run.number), NPU_ACCESS_READ, 0 };
}

/*
 * Plain C kernels are so slow that even the small products here are shared out among the threads.
 */
struct npu_engine *run_engine_make(unsigned int threads, enum npu_simd simd)
{
	struct npu_engine_config config = { .threads = threads, .simd = simd };
	struct npu_engine *e = NULL;

	if (npu_engine_create(&config, &e)) {
		printf("Bail out! no engine\n");
		exit(1);
	}
	return e;
}

int run_state_open(struct npu_engine *e, struct npu_engine_state *st, struct run_stream *s)
{
	memset(st, 0, sizeof(*st));
	st->stream = s->words;
	st->stream_size = s->used * 4;
	st->num_regions = NUM_REGIONS;
	st->regions = run.regions;
	return npu_engine_state_init(e, st);
}

bool run_outputs_right(void)
{
	return !memcmp(run.out, run.want, sizeof(run.out));
}

/* The plain chain of fused multiply-adds that the architecture defines. */
void run_expectation(void)
{
	int step, i, j, k;

	for (step = 0; step < RUN_STEPS; step++) {
		for (i = 0; i < RUN_M; i++) {
			for (j = 0; j < RUN_N; j++) {
				float acc = 0;

				for (k = 0; k < RUN_K; k++)
					acc = __builtin_fmaf(run.a[i * RUN_K + k],
							     run.b[k * RUN_N + j], acc);
				run.want[step][i * RUN_N + j] = step % 2 && acc < 0 ? 0 : acc;
			}
		}
	}
}

void run_data_init(void)
{
	int i;

	for (i = 0; i < RUN_M * RUN_K; i++)
		run.a[i] = (float)((i * 37) % 101 - 50) / 37;
	for (i = 0; i < RUN_K * RUN_N; i++)
		run.b[i] = (float)((i * 53) % 97 - 48) / 29;
	run_regions_set();
	run_expectation();
}

void run_whole(struct npu_engine *e, const char *what)
{
	struct npu_engine_state st;
	atomic_ullong progress = 0;
	struct run_stream s;

	memset(run.out, 0xff, sizeof(run.out));
	run_standard_stream(&s);
	tap_ok(run_state_open(e, &st, &s) == 0 &&
		       npu_engine_run(e, &st, UINT64_MAX, NULL, &progress) == NPU_RUN_DONE &&
		       run_outputs_right() && progress >= RUN_STEPS,
	       "%s: done, right, progress %llu", what, (unsigned long long)progress);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE,
	       "%s: done stays done", what);
	npu_engine_state_fini(&st);
}
