// SPDX-License-Identifier: MIT
/*
 * The hart and its run loop. The loop keeps the pc and the count of instructions in registers and
 * looks at interrupts and the stop flag between bursts; whatever may change either of them ends a
 * burst.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rv32_priv.h"

#define BURST	256u

static uint32_t rv32_mulh(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int32_t)b) >> 32);
}

static uint32_t rv32_mulhsu(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int64_t)b) >> 32);
}

/* By zero the quotient is all ones and the remainder the dividend; INT_MIN / -1 overflows. */
static uint32_t rv32_div(uint32_t a, uint32_t b)
{
	if (!b)
		return UINT32_MAX;
	return b == UINT32_MAX ? 0 - a : (uint32_t)((int32_t)a / (int32_t)b);
}

static uint32_t rv32_rem(uint32_t a, uint32_t b)
{
	if (!b)
		return a;
	return b == UINT32_MAX ? 0 : (uint32_t)((int32_t)a % (int32_t)b);
}

/*
 * Memory is little endian, and each access is one access: others may look at the memory while the
 * hart runs.
 */
static inline uint32_t get_uint8_t(const uint8_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline uint32_t get_uint16_t(const uint8_t *p)
{
	return le16toh(__atomic_load_n((const uint16_t *)(const void *)p, __ATOMIC_RELAXED));
}

static inline uint32_t get_uint32_t(const uint8_t *p)
{
	return le32toh(__atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_RELAXED));
}

static inline void put_uint8_t(uint8_t *p, uint32_t v)
{
	__atomic_store_n(p, (uint8_t)v, __ATOMIC_RELAXED);
}

static inline void put_uint16_t(uint8_t *p, uint32_t v)
{
	__atomic_store_n((uint16_t *)(void *)p, htole16((uint16_t)v), __ATOMIC_RELAXED);
}

static inline void put_uint32_t(uint8_t *p, uint32_t v)
{
	__atomic_store_n((uint32_t *)(void *)p, htole32(v), __ATOMIC_RELAXED);
}

static void retire(struct rv32 *core, uint32_t n)
{
	atomic_store_explicit(&core->retired, rv32_retired(core) + n, memory_order_relaxed);
}

/* The pc and the counters in the hart are right here; the burst ends with this instruction. */
static bool execute_system(struct rv32 *core, const struct rv32_insn *insn)
{
	switch (rv32_system(core, insn)) {
	case RV32_NEXT:
		core->pc += insn->length;
		retire(core, 1);
		return false;
	case RV32_JUMPED:
		retire(core, 1);
		return false;
	case RV32_TRAP:
		rv32_trap(core, core->cause, core->tval);
		return false;
	default:
		return true;
	}
}

/*
 * Execute up to *@tried instructions, at least one, and leave in it how many were. Returns true
 * when the last one is a breakpoint, which counts as none.
 */
static bool run_burst(struct rv32 *core, uint32_t *tried)
{
	uint8_t *const tcm = core->tcm;
	const uint32_t base = core->tcm_base, size = core->tcm_size;
	uint32_t *const x = core->x, max = *tried;
	uint32_t pc = core->pc, n, a, b, c, at, value;
	const struct rv32_insn *insn;
	bool slow = false, at_break;

	for (n = 0; n < max && !slow; n++, pc += insn->length) {
		insn = pc - base < size ? &core->decoded[(pc - base) / 2] : NULL;
		if (!insn || insn->op == RV32_NOT_DECODED)
			insn = rv32_fetch(core, pc);
		a = x[insn->rs1];
		c = x[insn->rs2];
		b = c + insn->imm;
		at = a + insn->imm;
		switch (insn->op) {
#define ALU(name, result)						\
		case RV32_##name:					\
			x[insn->rd] = (result);				\
			break;
#define BRANCH(name, taken)						\
		case RV32_##name:					\
			if (taken)					\
				pc += insn->imm - insn->length;		\
			break;
#define LOAD(name, type, extended)					\
		case RV32_##name:					\
			if (at - base < size && !(at % sizeof(type))) {	\
				value = get_##type(tcm + (at - base));	\
			} else {					\
				slow = true;				\
				if (!rv32_load(core, at, sizeof(type), &value)) \
					goto trap;			\
			}						\
			x[insn->rd] = (uint32_t)(extended)value;	\
			break;
#define STORE(name, type)						\
		case RV32_##name:					\
			if (at - base < size && !(at % sizeof(type))) {	\
				put_##type(tcm + (at - base), c);	\
			} else {					\
				slow = true;				\
				if (!rv32_store(core, at, sizeof(type), (type)c)) \
					goto trap;			\
			}						\
			break;
		RV32_ALU_OPS(ALU)
		RV32_BRANCH_OPS(BRANCH)
		RV32_LOAD_OPS(LOAD)
		RV32_STORE_OPS(STORE)
#undef ALU
#undef BRANCH
#undef LOAD
#undef STORE
		case RV32_JAL:
			x[insn->rd] = pc + insn->length;
			pc += insn->imm - insn->length;
			break;
		case RV32_JALR:
			x[insn->rd] = pc + insn->length;
			pc = (at & ~1u) - insn->length;
			break;
		default:
			core->pc = pc;
			retire(core, n);
			at_break = execute_system(core, insn);
			*tried = n + !at_break;
			return at_break;
		}
	}
	core->pc = pc;
	retire(core, n);
	*tried = n;
	return false;
trap:
	core->pc = pc;
	retire(core, n);
	rv32_trap(core, core->cause, core->tval);
	*tried = n + 1;
	return false;
}

bool rv32_runnable(const struct rv32 *core)
{
	return !atomic_load(&core->waiting) || (atomic_load(&core->mip) & atomic_load(&core->mie));
}

enum rv32_stop rv32_run(struct rv32 *core, uint64_t max, const atomic_bool *stop)
{
	uint32_t n;

	/* The debugger moved it away: when it comes again it is news. */
	if (core->pc != core->break_pc)
		core->past_break = false;
	while (max) {
		if (stop && atomic_load_explicit(stop, memory_order_relaxed))
			return RV32_STOP_ASKED;
		if (!rv32_runnable(core))
			return RV32_STOP_WAIT;
		atomic_store_explicit(&core->waiting, false, memory_order_relaxed);
		if (core->stale)
			rv32_forget_decoded(core);
		rv32_interrupt(core);
		n = max < BURST ? (uint32_t)max : BURST;
		if (run_burst(core, &n))
			return RV32_STOP_BREAK;
		max -= n;
	}
	return RV32_STOP_BUDGET;
}

void rv32_irq(struct rv32 *core, enum rv32_irq line, bool level)
{
	/* Mostly it is so already, and a look costs less than a write. */
	if ((atomic_load(&core->mip) >> line & 1) == level)
		return;
	if (level)
		atomic_fetch_or(&core->mip, 1u << line);
	else
		atomic_fetch_and(&core->mip, ~(1u << line));
}

uint64_t rv32_instructions(const struct rv32 *core)
{
	return rv32_retired(core);
}

uint32_t rv32_reg(const struct rv32 *core, unsigned int reg)
{
	if (reg == RV32_REG_PC)
		return core->pc;
	return reg < RV32_REG_PC ? core->x[reg] : 0;
}

void rv32_set_reg(struct rv32 *core, unsigned int reg, uint32_t value)
{
	if (reg == RV32_REG_PC) {
		core->pc = value & ~1u;
		atomic_store(&core->waiting, false);
	} else if (reg && reg < RV32_REG_PC) {
		core->x[reg] = value;
	}
}

void rv32_catch_ebreak(struct rv32 *core, bool on)
{
	core->catch_ebreak = on;
}

/* The counters of instructions go on: their bases hide what was before. */
void rv32_reset(struct rv32 *core, uint32_t pc)
{
	memset(core->x, 0, sizeof(core->x));
	core->pc = pc & ~1u;
	core->interrupts = false;
	core->interrupts_before = false;
	core->mtvec = 0;
	core->mscratch = 0;
	core->mepc = 0;
	core->mcause = 0;
	core->mtval = 0;
	core->mcountinhibit = 0;
	core->traps = 0;
	core->mcycle = (struct rv32_counter){ .base = 0 - rv32_retired(core) };
	core->minstret = core->mcycle;
	core->past_break = false;
	atomic_store(&core->mie, 0);
	atomic_store(&core->waiting, false);
	rv32_forget_decoded(core);
}

static bool config_is_good(const struct rv32_config *config)
{
	uint64_t end = (uint64_t)config->tcm_base + config->tcm_size;

	if (config->reset_pc & 1)
		return false;
	if (!config->tcm_size)
		return true;
	return config->tcm && !((uintptr_t)config->tcm & 3) && !(config->tcm_base & 3) &&
	       !(config->tcm_size & 3) && end <= 1ull << 32;
}

int rv32_create(const struct rv32_config *config, struct rv32 **core_ret)
{
	struct rv32 *core;

	if (!config_is_good(config))
		return -EINVAL;
	core = calloc(1, sizeof(*core));
	if (!core)
		return -ENOMEM;
	core->decoded = calloc(config->tcm_size / 2 + 1, sizeof(*core->decoded));
	if (!core->decoded) {
		free(core);
		return -ENOMEM;
	}
	core->bus = config->bus;
	core->tcm = config->tcm;
	core->tcm_base = config->tcm_base;
	core->tcm_size = config->tcm_size;
	core->hart_id = config->hart_id;
	rv32_reset(core, config->reset_pc);
	*core_ret = core;
	return 0;
}

void rv32_destroy(struct rv32 *core)
{
	if (!core)
		return;
	free(core->decoded);
	free(core);
}
