/* SPDX-License-Identifier: MIT */
/* What the files of the hart share: the decoded instruction and the hart itself. */
#ifndef RV32_PRIV_H
#define RV32_PRIV_H

#include "rv32.h"

/*
 * The tables below are the only place that says what an operation computes. Of the operands, a is
 * rs1 and b is rs2 + imm: for the forms with a register imm is 0, for those with an immediate rs2
 * is x0. So lui is an addition to x0, and auipc one of the pc, which is known when decoding.
 */
#define RV32_ALU_OPS(X)						\
	X(ADD,	  a + b)					\
	X(SUB,	  a - b)					\
	X(SLL,	  a << (b & 31))				\
	X(SLT,	  (int32_t)a < (int32_t)b)			\
	X(SLTU,	  a < b)					\
	X(XOR,	  a ^ b)					\
	X(SRL,	  a >> (b & 31))				\
	X(SRA,	  (uint32_t)((int32_t)a >> (b & 31)))		\
	X(OR,	  a | b)					\
	X(AND,	  a & b)					\
	X(MUL,	  a * b)					\
	X(MULH,	  rv32_mulh(a, b))				\
	X(MULHSU, rv32_mulhsu(a, b))				\
	X(MULHU,  (uint32_t)((uint64_t)a * b >> 32))		\
	X(DIV,	  rv32_div(a, b))				\
	X(DIVU,	  b ? a / b : UINT32_MAX)			\
	X(REM,	  rv32_rem(a, b))				\
	X(REMU,	  b ? a % b : a)

/* Here c is rs2: imm is the distance of the target. */
#define RV32_BRANCH_OPS(X)					\
	X(BEQ,	a == c)						\
	X(BNE,	a != c)						\
	X(BLT,	(int32_t)a < (int32_t)c)			\
	X(BGE,	(int32_t)a >= (int32_t)c)			\
	X(BLTU,	a < c)						\
	X(BGEU,	a >= c)

/* Name, type in memory, type that extends it. */
#define RV32_LOAD_OPS(X)					\
	X(LB,	uint8_t,  int8_t)				\
	X(LH,	uint16_t, int16_t)				\
	X(LW,	uint32_t, uint32_t)				\
	X(LBU,	uint8_t,  uint8_t)				\
	X(LHU,	uint16_t, uint16_t)

#define RV32_STORE_OPS(X)					\
	X(SB,	uint8_t)					\
	X(SH,	uint16_t)					\
	X(SW,	uint32_t)

/* One function each, in rv32_system.c; all may change what the run loop has in hand. */
#define RV32_SYSTEM_OPS(X)					\
	X(CSR)							\
	X(ECALL)						\
	X(EBREAK)						\
	X(MRET)							\
	X(WFI)							\
	X(FENCE)						\
	X(FENCE_I)						\
	X(ILLEGAL)						\
	X(FETCH_FAULT)						\
	X(BREAKPOINT)

#define RV32_ENUM(name, ...) RV32_##name,
enum rv32_op {
	RV32_NOT_DECODED,
	RV32_ALU_OPS(RV32_ENUM)
	RV32_BRANCH_OPS(RV32_ENUM)
	RV32_LOAD_OPS(RV32_ENUM)
	RV32_STORE_OPS(RV32_ENUM)
	RV32_JAL,
	RV32_JALR,
	RV32_SYSTEM_OPS(RV32_ENUM)
	RV32_NUM_OPS
};

/* Writes to x0 go to a register that nobody reads. */
#define RV32_NOWHERE	32u

struct rv32_insn {
	uint8_t op;
	uint8_t rd;
	uint8_t rs1;		/* of CSR instructions with an immediate: the immediate */
	uint8_t rs2;		/* of CSR instructions: funct3 */
	/*
	 * The immediate; number of a CSR; of ILLEGAL the encoding; of FETCH_FAULT the bad address.
	 * Unsigned, since all sums are modulo 2^32.
	 */
	uint32_t imm;
	uint8_t length;
};

/* A counter runs with the ticks of the hart, from a value that software sets, or stands still. */
struct rv32_counter {
	uint64_t base;
	bool stopped;
};

struct rv32 {
	uint32_t x[RV32_NOWHERE + 1];
	uint32_t pc;

	/* Cached: what the run loop looks at, beside the registers. */
	uint8_t *tcm;
	uint32_t tcm_base, tcm_size;
	struct rv32_insn *decoded;	/* one for each two bytes of the memory */
	uint32_t first_decoded, end_decoded;	/* only between these anything is decoded */
	bool stale;			/* they are to be forgotten before the next is used */
	struct rv32_insn elsewhere;	/* what was fetched from outside of it */
	struct rv32_bus bus;

	/* Control and status registers; mip is the lines. */
	_Atomic uint32_t mip;
	_Atomic uint32_t mie;		/* atomic for rv32_runnable() only */
	atomic_bool waiting;		/* in wfi */
	bool interrupts;		/* mstatus.MIE */
	bool interrupts_before;		/* mstatus.MPIE */
	uint32_t mtvec, mscratch, mepc, mcause, mtval, mcountinhibit;
	uint32_t hart_id;
	struct rv32_counter mcycle, minstret;
	_Atomic uint64_t retired;	/* written by the thread that runs the hart */
	uint64_t traps;

	/* The exception of the instruction in hand. */
	uint32_t cause, tval;

	uint32_t breaks[RV32_MAX_BREAKS];
	unsigned int num_breaks;
	bool catch_ebreak;
	bool past_break;		/* the breakpoint at break_pc was reported */
	uint32_t break_pc;
};

static inline uint64_t rv32_retired(const struct rv32 *core)
{
	return atomic_load_explicit(&core->retired, memory_order_relaxed);
}

/* What became of a system instruction. */
enum rv32_result { RV32_NEXT, RV32_JUMPED, RV32_TRAP, RV32_BREAK };

/* rv32_decode.c, rv32_compressed.c */
void rv32_decode(uint32_t raw, uint32_t pc, struct rv32_insn *insn);
/* The 32-bit instruction that the 16-bit one @raw stands for, 0 when there is none. */
uint32_t rv32_expand(uint16_t raw);

/* rv32_fetch.c: the instruction at @pc, from the cache or decoded. */
const struct rv32_insn *rv32_fetch(struct rv32 *core, uint32_t pc);
void rv32_forget_decoded(struct rv32 *core);

/* rv32_memory.c: outside of the fast path. False: core->cause and core->tval say why. */
bool rv32_load(struct rv32 *core, uint32_t addr, unsigned int size, uint32_t *value);
bool rv32_store(struct rv32 *core, uint32_t addr, unsigned int size, uint32_t value);

/* rv32_system.c: executes one of RV32_SYSTEM_OPS at core->pc. */
enum rv32_result rv32_system(struct rv32 *core, const struct rv32_insn *insn);
void rv32_trap(struct rv32 *core, uint32_t cause, uint32_t tval);
/* Enter the handler of the most urgent interrupt, if one is pending and enabled. */
void rv32_interrupt(struct rv32 *core);

/* rv32_csr.c: a write by an instruction does the counting that the instruction else would. */
bool rv32_csr_write(struct rv32 *core, unsigned int csr, uint32_t value, unsigned int ticks);

#endif
