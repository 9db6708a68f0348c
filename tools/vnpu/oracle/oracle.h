/* SPDX-License-Identifier: MIT */
/*
 * The oracle: a plain reference of every opcode, written from the formulas of uapi/npu_isa_table.h
 * and from nothing else. It shares no code with the engine: one element at a time, one index at a
 * time, no layout tricks, no threads. Slow on purpose. What it prints or stores is what the engine
 * must store.
 *
 * Functions that the architecture defines as fixed polynomials (exp, tanh, ...) are evaluated here
 * in double precision by the C library, so results that pass through one agree within a few units
 * in the last place and not bit for bit; oracle_is_exact() tells which instructions are which.
 */
#ifndef NPU_ORACLE_H
#define NPU_ORACLE_H

#include "npu_isa_desc.h"

/*
 * Memory of one job: the host address of each region.
 *
 * Products of large models take too long here as a whole: with @step above 1, convolutions and
 * products compute only the outputs whose number in row-major order is @phase modulo @step.
 * Different phases may be computed by different threads. Other opcodes always compute all.
 */
struct oracle_memory {
	unsigned char *region[NPU_MAX_REGIONS];
	npu_u64 size[NPU_MAX_REGIONS];
	npu_u64 step, phase;
};

/* Whether output @number of an instruction is computed. */
static inline bool oracle_wanted(const struct oracle_memory *mem, npu_u64 number)
{
	return mem->step < 2 || number % mem->step == mem->phase;
}

/* True for the opcodes that @step and @phase of struct oracle_memory apply to. */
bool oracle_can_sample(const struct npu_insn *insn);

/*
 * One operand: its descriptor and the host address of its first element (NULL descriptor: absent).
 */
struct oracle_view {
	const struct npu_operand *op;
	unsigned char *base;
};

/*
 * Execute one decoded and checked instruction on @mem. Returns 0, -ENOTSUP for an opcode the oracle
 * does not know, -ERANGE when an index operand points outside.
 */
int oracle_execute(const struct npu_insn *insn, const struct oracle_memory *mem);

/*
 * True when every operation of the instruction is exactly defined, so that results must match bit
 * for bit.
 */
bool oracle_is_exact(const struct npu_insn *insn);

/* oracle_value.c: elements and indices. */
struct oracle_view oracle_view(const struct npu_insn *insn, const struct oracle_memory *mem,
			       unsigned int slot);
/* Zero point of operand @data: the one in memory in @slot (if there is such a slot), or its own. */
npu_s64 oracle_zero(const struct npu_insn *insn, const struct oracle_memory *mem, unsigned int data,
		    unsigned int slot);
bool oracle_present(struct oracle_view v);
unsigned char *oracle_at(struct oracle_view v, const npu_u32 *index);
/*
 * As oracle_at(), but an index is taken as 0 on dims of size 1; @rank trailing dims of @index are
 * used.
 */
unsigned char *oracle_at_broadcast(struct oracle_view v, const npu_u32 *index, unsigned int rank);
/* Step to the next index in row-major order; false after the last one. */
bool oracle_next(npu_u32 *index, const npu_u32 *dim, unsigned int rank);
bool oracle_is_real(struct oracle_view v);	/* float, or integer codes with a scale */
float oracle_load_real(struct oracle_view v, const unsigned char *at);
npu_s64 oracle_load_int(struct oracle_view v, const unsigned char *at);
void oracle_store_real(struct oracle_view v, unsigned char *at, float value);	/* q() */
void oracle_store_int(struct oracle_view v, unsigned char *at, npu_s64 value);	/* modulo 2^bits */
/* True when type, scale and zero point are the same, so that moved elements keep their bits. */
bool oracle_same_code(struct oracle_view a, struct oracle_view b);
/* An element moved: its bits when type, scale and zero point are the same, else converted. */
void oracle_move(struct oracle_view out, unsigned char *to, struct oracle_view in,
		 const unsigned char *from);
float oracle_param_f32(const struct npu_insn *insn, unsigned int param);
/* maximum and minimum of IEEE 754-2019: NaN when either is, +0 above -0. */
float oracle_max(float a, float b);
float oracle_min(float a, float b);
float oracle_sum16(const float *x, npu_u64 n);
/*
 * Weight element of output o (0 .. O-1) at k of the K order, in any layout; @outputs per group,
 * @k_size per output.
 */
float oracle_weight_real(struct oracle_view w, npu_u32 o, npu_u64 k, npu_u32 outputs,
			 npu_u64 k_size);
npu_s64 oracle_weight_int(struct oracle_view w, npu_u32 o, npu_u64 k, npu_u32 outputs,
			  npu_u64 k_size);

/* oracle_grouped.c: codes in groups, K by N. */
struct oracle_groups {
	struct oracle_view code, scale, min, super, book;
	npu_u32 k, n, group, per_super;
	bool rows_first;		/* the operands' dims are [N][K] */
};
struct oracle_groups oracle_groups_matmul(const struct npu_insn *insn,
					  const struct oracle_memory *mem);
struct oracle_groups oracle_groups_gather(const struct npu_insn *insn,
					  const struct oracle_memory *mem);
/* Code less its zero point, or what the codebook has for it. */
npu_s64 oracle_group_code(const struct oracle_groups *g, npu_u32 k, npu_u32 n);
float oracle_group_scale(const struct oracle_groups *g, npu_u32 group, npu_u32 n);
float oracle_group_min(const struct oracle_groups *g, npu_u32 group, npu_u32 n);
float oracle_group_weight(const struct oracle_groups *g, npu_u32 k, npu_u32 n);

/* oracle_math.c */
float oracle_act(unsigned int act, float v, float alpha, float beta, float slope);
bool oracle_act_is_exact(unsigned int act);

/* oracle_epilogue.c: what CONV, CONV_TRANSPOSE and MATMUL do after accumulating. */
struct oracle_epilogue {
	struct oracle_view bias, scale, residual, act_param, table;
	npu_u32 act, act2, join;
	float alpha, beta, post_mul, post_add, alpha2, beta2;
};
void oracle_epilogue_init(struct oracle_epilogue *e, const struct npu_insn *insn,
			  const struct oracle_memory *mem, unsigned int first_slot,
			  unsigned int first_param);
void oracle_epilogue_float(const struct oracle_epilogue *e, struct oracle_view out,
			   const npu_u32 *index, npu_u32 o, float acc);
void oracle_epilogue_int(const struct oracle_epilogue *e, struct oracle_view out,
			 const npu_u32 *index, npu_u32 o, npu_s64 acc);

/* A file per operator family. */
int oracle_conv(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_conv_transpose(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_matmul(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_ewise1(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_ewise2(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_select(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_reduce(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_arg_reduce(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_topk(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_cumsum(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_softmax(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_norm(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_pool(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_resize(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_crop_resize(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_copy(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_fill(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_pad(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_iota(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_gather(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_gather_elements(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_scatter(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_scatter_elements(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_attention(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_rope(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_dyn_quant(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_count(const struct npu_insn *insn, const struct oracle_memory *mem);
int oracle_color(const struct npu_insn *insn, const struct oracle_memory *mem);

#endif
