// SPDX-License-Identifier: MIT
/*
 * The control and status registers. Most are one word of the hart; what can be written of it is a
 * mask. The others have a case of their own.
 */
#include "rv32_priv.h"

enum {
	CSR_MSTATUS = 0x300,
	CSR_MISA = 0x301,
	CSR_MIE = 0x304,
	CSR_MTVEC = 0x305,
	CSR_MSTATUSH = 0x310,
	CSR_MCOUNTINHIBIT = 0x320,
	CSR_MHPMEVENT3 = 0x323,
	CSR_MHPMEVENT31 = 0x33f,
	CSR_MSCRATCH = 0x340,
	CSR_MEPC = 0x341,
	CSR_MCAUSE = 0x342,
	CSR_MTVAL = 0x343,
	CSR_MIP = 0x344,
	CSR_MCYCLE = 0xb00,
	CSR_MINSTRET = 0xb02,
	CSR_MHPMCOUNTER3 = 0xb03,
	CSR_MHPMCOUNTER31 = 0xb1f,
	CSR_MCYCLEH = 0xb80,
	CSR_MINSTRETH = 0xb82,
	CSR_MHPMCOUNTER3H = 0xb83,
	CSR_MHPMCOUNTER31H = 0xb9f,
	CSR_CYCLE = 0xc00,
	CSR_INSTRET = 0xc02,
	CSR_CYCLEH = 0xc80,
	CSR_INSTRETH = 0xc82,
	CSR_MVENDORID = 0xf11,
	CSR_MARCHID = 0xf12,
	CSR_MIMPID = 0xf13,
	CSR_MHARTID = 0xf14,
	CSR_MCONFIGPTR = 0xf15,
};

#define MSTATUS_MIE	(1u << 3)
#define MSTATUS_MPIE	(1u << 7)
#define MSTATUS_MPP	(3u << 11)	/* machine mode is all there is */
#define MISA		(1u << 30 | 1u << ('I' - 'A') | 1u << ('M' - 'A') | 1u << ('C' - 'A'))
#define IRQ_MASK	(1u << RV32_IRQ_SOFTWARE | 1u << RV32_IRQ_TIMER | 1u << RV32_IRQ_EXTERNAL)
#define INHIBIT_CYCLE	(1u << 0)
#define INHIBIT_INSTRET	(1u << 2)

static uint64_t ticks_of(const struct rv32 *core, const struct rv32_counter *counter)
{
	return rv32_retired(core) + (counter == &core->mcycle ? core->traps : 0);
}

static uint64_t counter_get(const struct rv32 *core, const struct rv32_counter *counter)
{
	return counter->base + (counter->stopped ? 0 : ticks_of(core, counter));
}

/* @ticks will be counted for the instruction that sets it, and must not show. */
static void counter_set(struct rv32 *core, struct rv32_counter *counter, uint64_t value,
			unsigned int ticks)
{
	counter->base = value - (counter->stopped ? 0 : ticks_of(core, counter) + ticks);
}

/* The instruction that stops a counter is the last, the one that starts it the last not, counted.
 */
static void counter_stop(struct rv32 *core, struct rv32_counter *counter, bool stop,
			 unsigned int ticks)
{
	uint64_t value = counter_get(core, counter);

	if (stop == counter->stopped)
		return;
	counter->stopped = stop;
	if (stop)
		counter->base = value + ticks;
	else
		counter_set(core, counter, value, ticks);
}

static bool counter_write(struct rv32 *core, struct rv32_counter *counter, bool high,
			  uint32_t value, unsigned int ticks)
{
	uint64_t now = counter_get(core, counter);

	now = high ? (uint64_t)value << 32 | (uint32_t)now : (now >> 32 << 32) | value;
	counter_set(core, counter, now, ticks);
	return true;
}

static bool in(unsigned int csr, unsigned int first, unsigned int last)
{
	return csr >= first && csr <= last;
}

/* Registers that exist and read as zero. */
static bool reads_zero(unsigned int csr)
{
	return csr == CSR_MSTATUSH || csr == CSR_MVENDORID || csr == CSR_MARCHID ||
	       csr == CSR_MIMPID || csr == CSR_MCONFIGPTR ||
	       in(csr, CSR_MHPMEVENT3, CSR_MHPMEVENT31) ||
	       in(csr, CSR_MHPMCOUNTER3, CSR_MHPMCOUNTER31) ||
	       in(csr, CSR_MHPMCOUNTER3H, CSR_MHPMCOUNTER31H);
}

static uint32_t read_mstatus(const struct rv32 *core)
{
	return MSTATUS_MPP | (core->interrupts ? MSTATUS_MIE : 0) |
	       (core->interrupts_before ? MSTATUS_MPIE : 0);
}

bool rv32_csr(const struct rv32 *core, unsigned int csr, uint32_t *value)
{
	switch (csr) {
	case CSR_MSTATUS:	*value = read_mstatus(core); break;
	case CSR_MISA:		*value = MISA; break;
	case CSR_MIE:		*value = core->mie; break;
	case CSR_MTVEC:		*value = core->mtvec; break;
	case CSR_MCOUNTINHIBIT:	*value = core->mcountinhibit; break;
	case CSR_MSCRATCH:	*value = core->mscratch; break;
	case CSR_MEPC:		*value = core->mepc; break;
	case CSR_MCAUSE:	*value = core->mcause; break;
	case CSR_MTVAL:		*value = core->mtval; break;
	case CSR_MIP:		*value = core->mip; break;
	case CSR_MHARTID:	*value = core->hart_id; break;
	case CSR_CYCLE:
	case CSR_MCYCLE:	*value = (uint32_t)counter_get(core, &core->mcycle); break;
	case CSR_CYCLEH:
	case CSR_MCYCLEH:	*value = counter_get(core, &core->mcycle) >> 32; break;
	case CSR_INSTRET:
	case CSR_MINSTRET:	*value = (uint32_t)counter_get(core, &core->minstret); break;
	case CSR_INSTRETH:
	case CSR_MINSTRETH:	*value = counter_get(core, &core->minstret) >> 32; break;
	default:
		*value = 0;
		return reads_zero(csr);
	}
	return true;
}

static void write_mcountinhibit(struct rv32 *core, uint32_t value, unsigned int ticks)
{
	core->mcountinhibit = value & (INHIBIT_CYCLE | INHIBIT_INSTRET);
	counter_stop(core, &core->mcycle, value & INHIBIT_CYCLE, ticks);
	counter_stop(core, &core->minstret, value & INHIBIT_INSTRET, ticks);
}

bool rv32_csr_write(struct rv32 *core, unsigned int csr, uint32_t value, unsigned int ticks)
{
	/* The two top bits of a number say that its register can not be written. */
	if (csr >> 10 == 3)
		return false;
	switch (csr) {
	case CSR_MSTATUS:
		core->interrupts = value & MSTATUS_MIE;
		core->interrupts_before = value & MSTATUS_MPIE;
		break;
	case CSR_MIE:		core->mie = value & IRQ_MASK; break;
	case CSR_MTVEC:		core->mtvec = value & ~2u; break;
	case CSR_MSCRATCH:	core->mscratch = value; break;
	case CSR_MEPC:		core->mepc = value & ~1u; break;
	case CSR_MCAUSE:	core->mcause = value; break;
	case CSR_MTVAL:		core->mtval = value; break;
	case CSR_MCOUNTINHIBIT:	write_mcountinhibit(core, value, ticks); break;
	case CSR_MCYCLE:	return counter_write(core, &core->mcycle, false, value, ticks);
	case CSR_MCYCLEH:	return counter_write(core, &core->mcycle, true, value, ticks);
	case CSR_MINSTRET:	return counter_write(core, &core->minstret, false, value, ticks);
	case CSR_MINSTRETH:	return counter_write(core, &core->minstret, true, value, ticks);
	case CSR_MISA:		/* nothing can be switched off */
	case CSR_MIP:		/* the bits are lines from outside */
		break;
	default:
		return reads_zero(csr);
	}
	return true;
}

bool rv32_set_csr(struct rv32 *core, unsigned int csr, uint32_t value)
{
	return rv32_csr_write(core, csr, value, 0);
}
