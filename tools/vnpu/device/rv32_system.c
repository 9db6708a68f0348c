// SPDX-License-Identifier: MIT
/* Traps, interrupts and the instructions that do more than compute. */
#include "rv32_priv.h"

#define CAUSE_INTERRUPT	(1u << 31)
#define VECTORED	1u

static void enter_handler(struct rv32 *core, uint32_t cause, uint32_t tval)
{
	uint32_t base = core->mtvec & ~3u;

	core->mepc = core->pc;
	core->mcause = cause;
	core->mtval = tval;
	core->interrupts_before = core->interrupts;
	core->interrupts = false;
	core->pc = base;
	if (cause & CAUSE_INTERRUPT && core->mtvec & VECTORED)
		core->pc += 4 * (cause & ~CAUSE_INTERRUPT);
}

void rv32_trap(struct rv32 *core, uint32_t cause, uint32_t tval)
{
	enter_handler(core, cause, tval);
	core->traps++;
}

void rv32_interrupt(struct rv32 *core)
{
	static const uint8_t by_urgency[] = { RV32_IRQ_EXTERNAL, RV32_IRQ_SOFTWARE,
					      RV32_IRQ_TIMER };
	uint32_t pending = core->mip & core->mie;
	unsigned int i;

	if (!core->interrupts || !pending)
		return;
	for (i = 0; !(pending >> by_urgency[i] & 1); i++)
		;
	enter_handler(core, CAUSE_INTERRUPT | by_urgency[i], 0);
}

static enum rv32_result raise(struct rv32 *core, uint32_t cause, uint32_t tval)
{
	core->cause = cause;
	core->tval = tval;
	return RV32_TRAP;
}

/* mtval has the encoding, which is in the fields. */
static enum rv32_result illegal_csr(struct rv32 *core, const struct rv32_insn *insn)
{
	uint32_t rd = insn->rd == RV32_NOWHERE ? 0 : insn->rd;

	return raise(core, RV32_CAUSE_ILLEGAL, insn->imm << 20 | (uint32_t)insn->rs1 << 15 |
					       (uint32_t)insn->rs2 << 12 | rd << 7 | 0x73);
}

/*
 * rs2 has funct3: bit 2 says that rs1 is the operand itself, the others write, set bits or clear
 * bits. Setting and clearing by x0 or 0 is no write, and may be done to read-only registers. A
 * csrrw to x0 need not read, but no register here minds.
 */
static enum rv32_result system_csr(struct rv32 *core, const struct rv32_insn *insn)
{
	enum { WRITE = 1, SET, CLEAR };
	unsigned int how = insn->rs2 & 3;
	uint32_t operand = insn->rs2 & 4 ? insn->rs1 : core->x[insn->rs1], old;

	if (!rv32_csr(core, insn->imm, &old))
		return illegal_csr(core, insn);
	if (how == SET)
		operand |= old;
	else if (how == CLEAR)
		operand = old & ~operand;
	if (how == WRITE || insn->rs1) {
		if (!rv32_csr_write(core, insn->imm, operand, 1))
			return illegal_csr(core, insn);
	}
	core->x[insn->rd] = old;
	return RV32_NEXT;
}

static enum rv32_result system_ebreak(struct rv32 *core)
{
	if (core->catch_ebreak)
		return RV32_BREAK;
	return raise(core, RV32_CAUSE_BREAKPOINT, core->pc);
}

static enum rv32_result system_mret(struct rv32 *core)
{
	core->interrupts = core->interrupts_before;
	core->interrupts_before = true;
	core->pc = core->mepc;
	return RV32_JUMPED;
}

enum rv32_result rv32_system(struct rv32 *core, const struct rv32_insn *insn)
{
	switch (insn->op) {
	case RV32_CSR:
		return system_csr(core, insn);
	case RV32_ECALL:
		return raise(core, RV32_CAUSE_ECALL, 0);
	case RV32_EBREAK:
		return system_ebreak(core);
	case RV32_MRET:
		return system_mret(core);
	case RV32_WFI:
		atomic_store(&core->waiting, true);
		return RV32_NEXT;
	case RV32_FENCE:
		/* Stores to the guest's memory are the host's: its processor must not keep them. */
		atomic_thread_fence(memory_order_seq_cst);
		return RV32_NEXT;
	case RV32_FENCE_I:
		rv32_flush(core);
		return RV32_NEXT;
	case RV32_FETCH_FAULT:
		return raise(core, RV32_CAUSE_FETCH_FAULT, insn->imm);
	case RV32_BREAKPOINT:
		core->past_break = true;
		core->break_pc = core->pc;
		return RV32_BREAK;
	default:
		return raise(core, RV32_CAUSE_ILLEGAL, insn->imm);
	}
}
