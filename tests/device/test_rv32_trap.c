// SPDX-License-Identifier: MIT
/*
 * Traps, interrupts, control and status registers and the bus of the hart. The expected values are
 * those of the privileged specification 1.12 and the unprivileged one 20191213, written by hand.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include "rv_asm.h"
#include "tap.h"
#include "tools/vnpu/device/rv32.h"

#define BASE	0x1000u
#define SIZE	0x1000u
#define HANDLER	0x1800u
#define DEVICE	0x40000000u	/* 16 words behind the bus; anything else there fails */
#define ROM	0x50000000u	/* 16 bytes that can only be fetched */

enum { MSTATUS = 0x300, MISA = 0x301, MIE = 0x304, MTVEC = 0x305, MCOUNTINHIBIT = 0x320,
       MSCRATCH = 0x340, MEPC = 0x341, MCAUSE = 0x342, MTVAL = 0x343, MIP = 0x344,
       MCYCLE = 0xb00, MINSTRET = 0xb02, MCYCLEH = 0xb80, MINSTRETH = 0xb82, INSTRET = 0xc02,
       MHARTID = 0xf14 };

struct machine {
	uint8_t memory[SIZE] __attribute__((aligned(4)));
	uint32_t device[16];
	uint16_t rom[8];
	struct rv32 *core;
	unsigned int loads, stores;
	unsigned int last_size;
	uint32_t last_addr;
	uint32_t at;			/* where the next instruction is put */
};

static struct machine m;

static int device_load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value)
{
	m.loads++;
	m.last_size = size;
	m.last_addr = addr;
	if (addr - DEVICE >= sizeof(m.device))
		return -1;
	*value = m.device[(addr - DEVICE) / 4] >> 8 * (addr & 3);
	return 0;
}

static int device_store(void *ctx, uint32_t addr, unsigned int size, uint32_t value)
{
	m.stores++;
	m.last_size = size;
	m.last_addr = addr;
	if (addr - DEVICE >= sizeof(m.device))
		return -1;
	m.device[(addr - DEVICE) / 4] = value;
	/* The first word is a line that the hart raises for itself. */
	if (addr == DEVICE)
		rv32_irq(m.core, RV32_IRQ_EXTERNAL, value);
	return 0;
}

static int device_fetch(void *ctx, uint32_t addr, uint16_t *parcel)
{
	if (addr - ROM >= sizeof(m.rom))
		return -1;
	*parcel = m.rom[(addr - ROM) / 2];
	return 0;
}

/* A fresh machine; the handler is at HANDLER. */
static void begin(void)
{
	struct rv32_config config = { .bus = { device_load, device_store, device_fetch, NULL },
				      .tcm = m.memory, .tcm_base = BASE, .tcm_size = SIZE,
				      .reset_pc = BASE, .hart_id = 7 };

	rv32_destroy(m.core);
	memset(&m, 0, sizeof(m));
	m.at = BASE;
	if (rv32_create(&config, &m.core))
		abort();
	rv32_set_csr(m.core, MTVEC, HANDLER);
}

static void put(uint32_t insn)
{
	unsigned int size = (insn & 3) == 3 ? 4 : 2;

	memcpy(m.memory + (m.at - BASE), &insn, size);
	m.at += size;
}

static uint32_t csr(unsigned int n)
{
	uint32_t v = 0xdeadbeef;

	return rv32_csr(m.core, n, &v) ? v : 0xdeadbeef;
}

static uint32_t reg(unsigned int n)
{
	return rv32_reg(m.core, n);
}

static void set_reg(unsigned int n, uint32_t v)
{
	rv32_set_reg(m.core, n, v);
}

static uint32_t pc(void)
{
	return rv32_reg(m.core, RV32_REG_PC);
}

static void step(unsigned int n)
{
	rv32_run(m.core, n, NULL);
}

/* The trap that @insn takes, alone, with x5 = @x5. */
static void expect_trap(const char *what, uint32_t insn, uint32_t x5, uint32_t cause, uint32_t tval)
{
	begin();
	rv32_set_csr(m.core, MSTATUS, 8);
	m.at = BASE + 0x10;
	put(insn);
	set_reg(RV32_REG_PC, BASE + 0x10);
	set_reg(5, x5);
	set_reg(6, 0x66666666);
	step(1);
	tap_ok(csr(MCAUSE) == cause && csr(MTVAL) == tval && csr(MEPC) == BASE + 0x10 &&
	       pc() == HANDLER && csr(MSTATUS) == 0x1880 && reg(6) == 0x66666666 &&
	       csr(MINSTRET) == 0 && csr(MCYCLE) == 1,
	       "%s: cause %u, value %#x", what, cause, tval);
	if (tap_failed)
		tap_diag("cause %u value %#x epc %#x pc %#x mstatus %#x", csr(MCAUSE), csr(MTVAL),
			 csr(MEPC), pc(), csr(MSTATUS));
}

static void test_traps(void)
{
	expect_trap("ecall", RV_ECALL, 0, 11, 0);
	expect_trap("ebreak", RV_EBREAK, 0, 3, BASE + 0x10);
	expect_trap("c.ebreak", RV_C_EBREAK, 0, 3, BASE + 0x10);
	expect_trap("all zeros", 0, 0, 2, 0);
	expect_trap("all ones", 0xffffffff, 0, 2, 0xffffffff);
	expect_trap("a 48-bit encoding", 0x1234001f, 0, 2, 0x1234001f);
	expect_trap("a reserved 16-bit encoding", 0x8002, 0, 2, 0x8002);
	expect_trap("c.flw", 0x6000, 0, 2, 0x6000);
	expect_trap("amoadd.w", 0x0062a32f, 0, 2, 0x0062a32f);
	expect_trap("sret", 0x10200073, 0, 2, 0x10200073);
	expect_trap("mret with a register", 0x302000f3, 0, 2, 0x302000f3);
	expect_trap("lw misaligned by 1", rv_lw(1, 5, 6), BASE + 0x100, 4, BASE + 0x101);
	expect_trap("lw misaligned by 2", rv_lw(2, 5, 6), BASE + 0x100, 4, BASE + 0x102);
	expect_trap("lh misaligned", rv_i(0, 5, 1, 6, 0x03), BASE + 0x101, 4, BASE + 0x101);
	expect_trap("lhu misaligned", rv_i(0, 5, 5, 6, 0x03), BASE + 0x103, 4, BASE + 0x103);
	expect_trap("sw misaligned", rv_sw(-1, 6, 5), BASE + 0x100, 6, BASE + 0xff);
	expect_trap("sh misaligned", rv_s(3, 6, 5, 1), BASE + 0x100, 6, BASE + 0x103);
	expect_trap("misaligned on the bus", rv_lw(0, 5, 6), DEVICE + 2, 4, DEVICE + 2);
	expect_trap("lw of nothing", rv_lw(0, 5, 6), 0, 5, 0);
	expect_trap("lb of nothing", rv_i(0, 5, 0, 6, 0x03), 0xffffffff, 5, 0xffffffff);
	expect_trap("lw behind the memory", rv_lw(0, 5, 6), BASE + SIZE, 5, BASE + SIZE);
	expect_trap("sw in front of it", rv_sw(0, 6, 5), BASE - 4, 7, BASE - 4);
	expect_trap("sb refused by the bus", rv_s(0, 6, 5, 0), DEVICE + 64, 7, DEVICE + 64);
	expect_trap("c.lw of nothing", rv_c_lw(0, 4, 8, 9), 0, 5, 4);
	expect_trap("csrrw of what is not there", rv_csr(RV_CSRRW, 0x180, 5, 6), 0, 2,
		    rv_csr(RV_CSRRW, 0x180, 5, 6));
	expect_trap("write to mhartid", rv_csr(RV_CSRRW, MHARTID, 5, 6), 0, 2,
		    rv_csr(RV_CSRRW, MHARTID, 5, 6));
	expect_trap("write to instret", rv_csr(RV_CSRRSI, INSTRET, 1, 6), 0, 2,
		    rv_csr(RV_CSRRSI, INSTRET, 1, 6));
	expect_trap("SYSTEM with funct3 4", rv_csr(4, MSCRATCH, 5, 6), 0, 2,
		    rv_csr(4, MSCRATCH, 5, 6));
}

/* Faults of the fetch are those of where the instruction, or its second half, should be. */
static void test_fetch(void)
{
	begin();
	put(rv_jalr(0, 5, 1));
	set_reg(5, 0x7001);
	step(2);
	tap_ok(csr(MCAUSE) == 1 && csr(MEPC) == 0x7000 && csr(MTVAL) == 0x7000 &&
		       reg(1) == BASE + 4,
	       "a jump to nowhere links and faults at its target");

	begin();
	m.at = BASE + SIZE - 2;
	put(0xffff0003 & 0xffff);
	memcpy(m.memory + SIZE - 2, (uint16_t[]){ 0x0013 }, 2);
	set_reg(RV32_REG_PC, BASE + SIZE - 2);
	step(1);
	tap_ok(csr(MCAUSE) == 1 && csr(MEPC) == BASE + SIZE - 2 && csr(MTVAL) == BASE + SIZE,
	       "an instruction with its second half outside: mtval names the half");

	begin();
	m.rom[0] = 0x4315;				/* c.li x6, 5 */
	m.rom[1] = rv_addi(3, 6, 6) & 0xffff;
	m.rom[2] = rv_addi(3, 6, 6) >> 16;
	set_reg(RV32_REG_PC, ROM);
	step(2);
	tap_ok(reg(6) == 8 && pc() == ROM + 6, "code runs from the bus");
	m.rom[0] = 0x4305;				/* c.li x6, 1: no copy is kept */
	set_reg(RV32_REG_PC, ROM);
	step(1);
	tap_ok(reg(6) == 1, "and is fetched each time");
}

static void test_csrs(void)
{
	begin();
	tap_ok(csr(MISA) == 0x40001104, "misa says RV32IMC");
	tap_ok(csr(MHARTID) == 7 && csr(0xf11) == 0 && csr(0xf12) == 0 && csr(0xf13) == 0,
	       "mhartid, mvendorid, marchid, mimpid");
	tap_ok(csr(MSTATUS) == 0x1800 && csr(0x310) == 0,
	       "mstatus after reset: previous mode is M");
	tap_ok(csr(0x323) == 0 && csr(0x33f) == 0 && csr(0xb03) == 0 && csr(0xb9f) == 0,
	       "the other counters exist and are zero");
	rv32_set_csr(m.core, MSTATUS, 0xffffffff);
	tap_ok(csr(MSTATUS) == 0x1888, "mstatus keeps MIE and MPIE");
	rv32_set_csr(m.core, MIE, 0xffffffff);
	tap_ok(csr(MIE) == 0x888, "mie keeps the three machine interrupts");
	rv32_set_csr(m.core, MTVEC, 0x12345677);
	tap_ok(csr(MTVEC) == 0x12345675, "mtvec: an unknown mode is not kept");
	rv32_set_csr(m.core, MEPC, 0xffffffff);
	tap_ok(csr(MEPC) == 0xfffffffe, "mepc has no last bit");
	rv32_set_csr(m.core, MISA, 0);
	tap_ok(csr(MISA) == 0x40001104, "misa can not be changed");
	rv32_set_csr(m.core, MIP, 0xfff);
	tap_ok(csr(MIP) == 0, "mip is what the lines say");
}

static void test_csr_instructions(void)
{
	begin();
	rv32_set_csr(m.core, MSCRATCH, 0x0f0f0000);
	set_reg(5, 0x00ff00ff);
	put(rv_csr(RV_CSRRW, MSCRATCH, 5, 6));
	put(rv_csr(RV_CSRRS, MSCRATCH, 7, 8));
	put(rv_csr(RV_CSRRC, MSCRATCH, 7, 9));
	put(rv_csr(RV_CSRRWI, MSCRATCH, 21, 10));
	put(rv_csr(RV_CSRRSI, MSCRATCH, 10, 11));
	put(rv_csr(RV_CSRRCI, MSCRATCH, 3, 12));
	put(rv_csr(RV_CSRRW, MSCRATCH, 5, 5));
	put(rv_csr(RV_CSRRS, MHARTID, 0, 13));
	put(rv_csr(RV_CSRRCI, MHARTID, 0, 14));
	set_reg(7, 0xff000000);
	step(9);
	tap_ok(reg(6) == 0x0f0f0000 && reg(8) == 0x00ff00ff && reg(9) == 0xffff00ff,
	       "csrrw, csrrs, csrrc");
	tap_ok(reg(10) == 0x00ff00ff && reg(11) == 21 && reg(12) == 31, "the immediate forms");
	tap_ok(reg(5) == 28 && csr(MSCRATCH) == 0x00ff00ff, "csrrw that swaps a register");
	tap_ok(reg(13) == 7 && reg(14) == 7,
	       "setting or clearing nothing may be done to a constant");
	set_reg(7, 0);
	m.at = BASE;
	rv32_flush(m.core);
	set_reg(RV32_REG_PC, BASE);
	put(rv_csr(RV_CSRRS, MHARTID, 7, 13));
	step(1);
	tap_ok(csr(MCAUSE) == 2, "but not by a register that happens to be zero");
}

static void test_counters(void)
{
	begin();
	put(rv_csr(RV_CSRRS, MINSTRET, 0, 5));
	put(RV_NOP);
	put(rv_csr(RV_CSRRS, INSTRET, 0, 6));
	set_reg(7, 1000);
	put(rv_csr(RV_CSRRW, MINSTRET, 7, 0));
	put(rv_csr(RV_CSRRS, MINSTRET, 0, 8));
	put(rv_csr(RV_CSRRWI, MINSTRETH, 3, 0));
	put(rv_csr(RV_CSRRS, MINSTRETH, 0, 9));
	put(rv_csr(RV_CSRRS, MINSTRET, 0, 10));
	step(8);
	tap_ok(reg(5) == 0 && reg(6) == 2, "minstret is what was retired before");
	tap_ok(reg(8) == 1000, "a value written is what the next instruction reads");
	tap_ok(reg(9) == 3 && reg(10) == 1002, "the halves are written one by one");
	tap_ok(rv32_instructions(m.core) == 8, "the count outside goes its own way");

	begin();
	put(rv_csr(RV_CSRRWI, MCOUNTINHIBIT, 5, 0));
	put(RV_NOP);
	put(RV_NOP);
	put(rv_csr(RV_CSRRWI, MCOUNTINHIBIT, 1, 0));
	put(RV_NOP);
	put(RV_NOP);
	put(RV_NOP);
	step(7);
	tap_ok(csr(MCYCLE) == 1 && csr(MINSTRET) == 4, "mcountinhibit stops and starts either");
	tap_ok(csr(MCOUNTINHIBIT) == 1, "mcountinhibit");

	begin();
	rv32_set_csr(m.core, MINSTRET, 0xffffffff);
	put(RV_NOP);
	step(1);
	tap_ok(csr(MINSTRET) == 0 && csr(MINSTRETH) == 1, "the low half carries");
}

static void test_interrupts(void)
{
	static const enum rv32_irq line[] = { RV32_IRQ_EXTERNAL, RV32_IRQ_SOFTWARE,
					      RV32_IRQ_TIMER };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		begin();
		put(RV_NOP);
		m.at = HANDLER;
		put(RV_NOP);
		rv32_irq(m.core, line[i], true);
		step(1);
		tap_ok(pc() == BASE + 4, "line %d: not without mstatus.MIE and mie", line[i]);
		rv32_set_csr(m.core, MIE, 0x888);
		rv32_set_csr(m.core, MSTATUS, 8);
		step(1);
		tap_ok(pc() == HANDLER + 4 && csr(MCAUSE) == (0x80000000u | line[i]) &&
		       csr(MEPC) == BASE + 4 && csr(MSTATUS) == 0x1880 && csr(MTVAL) == 0,
		       "line %d: taken in front of the next instruction", line[i]);
	}

	begin();
	rv32_set_csr(m.core, MIE, 0x888);
	rv32_set_csr(m.core, MSTATUS, 8);
	rv32_set_csr(m.core, MTVEC, HANDLER | 1);
	for (i = 0; i < 3; i++)
		rv32_irq(m.core, line[i], true);
	for (i = 0; i < 3; i++) {
		m.at = HANDLER + 4 * line[i];
		put(RV_NOP);
		step(1);
		tap_ok(pc() == HANDLER + 4 * line[i] + 4,
		       "vectored; line %d is number %u in urgency", line[i], i);
		rv32_irq(m.core, line[i], false);
		rv32_set_csr(m.core, MSTATUS, 8);
	}
	m.at = BASE;
	put(RV_ECALL);
	set_reg(RV32_REG_PC, BASE);
	step(1);
	tap_ok(pc() == HANDLER, "exceptions go to the base, vectored or not");
}

/* What enables an interrupt that is pending has it taken before the next instruction. */
static void test_enable(void)
{
	begin();
	rv32_set_csr(m.core, MIE, 0x800);
	rv32_irq(m.core, RV32_IRQ_EXTERNAL, true);
	put(rv_csr(RV_CSRRSI, MSTATUS, 8, 0));
	put(rv_addi(1, 6, 6));
	m.at = HANDLER;
	put(RV_NOP);
	step(2);
	tap_ok(reg(6) == 0 && csr(MEPC) == BASE + 4, "csrsi mstatus: taken at once");

	begin();
	rv32_set_csr(m.core, MIE, 0x800);
	rv32_set_csr(m.core, MSTATUS, 0x80);
	rv32_set_csr(m.core, MEPC, BASE + 0x20);
	rv32_irq(m.core, RV32_IRQ_EXTERNAL, true);
	put(RV_MRET);
	m.at = BASE + 0x20;
	put(rv_addi(1, 6, 6));
	m.at = HANDLER;
	put(RV_NOP);
	step(2);
	tap_ok(reg(6) == 0 && csr(MEPC) == BASE + 0x20 && csr(MCAUSE) == 0x8000000b,
	       "mret that enables: taken in front of where it returns to");

	begin();
	rv32_set_csr(m.core, MIE, 0x800);
	rv32_set_csr(m.core, MSTATUS, 8);
	set_reg(5, DEVICE);
	set_reg(7, 1);
	put(rv_sw(0, 7, 5));
	put(rv_addi(1, 6, 6));
	m.at = HANDLER;
	put(RV_NOP);
	step(2);
	tap_ok(reg(6) == 0 && csr(MEPC) == BASE + 4, "a store that raises the line: taken at once");
}

static void test_mret(void)
{
	begin();
	rv32_set_csr(m.core, MEPC, BASE + 0x103);
	rv32_set_csr(m.core, MSTATUS, 0x80);
	put(RV_MRET);
	step(1);
	tap_ok(pc() == BASE + 0x102 && csr(MSTATUS) == 0x1888, "mret: MIE from MPIE, MPIE set");
	m.at = BASE + 0x102;
	put(RV_MRET);
	rv32_set_csr(m.core, MSTATUS, 8);
	step(1);
	tap_ok(csr(MSTATUS) == 0x1880, "mret: MIE off where MPIE was off");
}

static void test_wfi(void)
{
	begin();
	put(RV_WFI);
	put(rv_addi(1, 6, 6));
	put(RV_WFI);
	tap_ok(rv32_run(m.core, 100, NULL) == RV32_STOP_WAIT && pc() == BASE + 4 &&
	       !rv32_runnable(m.core), "wfi waits");
	rv32_irq(m.core, RV32_IRQ_TIMER, true);
	tap_ok(rv32_run(m.core, 100, NULL) == RV32_STOP_WAIT && reg(6) == 0,
	       "not for a line that mie masks");
	rv32_set_csr(m.core, MIE, 0x80);
	tap_ok(rv32_runnable(m.core) && rv32_run(m.core, 1, NULL) == RV32_STOP_BUDGET &&
		       reg(6) == 1,
	       "goes on for one that is enabled, without a trap where mstatus.MIE is off");
	rv32_irq(m.core, RV32_IRQ_TIMER, false);
	rv32_set_csr(m.core, MSTATUS, 8);
	m.at = HANDLER;
	put(rv_addi(1, 7, 7));
	tap_ok(rv32_run(m.core, 100, NULL) == RV32_STOP_WAIT, "waits again");
	rv32_irq(m.core, RV32_IRQ_TIMER, true);
	step(1);
	tap_ok(reg(7) == 1 && csr(MEPC) == BASE + 12, "and traps with the pc behind the wfi");
}

static void test_bus(void)
{
	begin();
	m.device[1] = 0x8091a2b3;
	set_reg(5, DEVICE);
	set_reg(7, 0x12345678);
	put(rv_i(5, 5, 0, 8, 0x03));	/* lb */
	put(rv_i(5, 5, 4, 9, 0x03));	/* lbu */
	put(rv_i(6, 5, 1, 10, 0x03));	/* lh */
	put(rv_i(6, 5, 5, 11, 0x03));	/* lhu */
	put(rv_lw(4, 5, 12));
	put(rv_s(8, 7, 5, 0));
	put(rv_s(12, 7, 5, 1));
	put(rv_sw(16, 7, 5));
	step(8);
	tap_ok(reg(8) == 0xffffffa2 && reg(9) == 0xa2 && reg(10) == 0xffff8091 &&
		       reg(11) == 0x8091 && reg(12) == 0x8091a2b3 && m.loads == 5,
	       "loads from the bus extend as they should");
	tap_ok(m.device[2] == 0x78 && m.device[3] == 0x5678 && m.device[4] == 0x12345678 &&
	       m.stores == 3 && m.last_size == 4 && m.last_addr == DEVICE + 16,
	       "stores give the bus no more than their size");
}

static void test_fence_i(void)
{
	begin();
	put(rv_addi(1, 6, 6));
	set_reg(5, BASE);
	set_reg(7, rv_addi(100, 6, 6));
	put(rv_sw(0, 7, 5));
	put(RV_FENCE_I);
	put(rv_jal(-12, 0));
	step(5);
	tap_ok(reg(6) == 101, "fence.i: what was stored is executed");
	tap_ok(rv32_poke(m.core, BASE, (uint32_t[]){ rv_addi(7, 0, 6) }, 4) == 4, "poke");
	set_reg(RV32_REG_PC, BASE);
	step(1);
	tap_ok(reg(6) == 7, "and so is what a debugger wrote");
}

static void test_breaks(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < 4; i++)
		put(rv_addi(1, 6, 6));
	put(rv_jal(-16, 0));
	step(5);
	tap_ok(!rv32_break_add(m.core, BASE + 8) && rv32_break_add(m.core, BASE + 8) == -EEXIST,
	       "a breakpoint where code was decoded before");
	tap_ok(rv32_run(m.core, 100, NULL) == RV32_STOP_BREAK && pc() == BASE + 8 && reg(6) == 6,
	       "stops in front of the instruction");
	tap_ok(rv32_run(m.core, 100, NULL) == RV32_STOP_BREAK && pc() == BASE + 8 && reg(6) == 10,
	       "goes past it, and stops when it comes again");
	tap_ok(!rv32_break_remove(m.core, BASE + 8) &&
		       rv32_break_remove(m.core, BASE + 8) == -ENOENT &&
		       rv32_run(m.core, 100, NULL) == RV32_STOP_BUDGET,
	       "and is gone when removed");
	for (i = 0; i < RV32_MAX_BREAKS; i++)
		rv32_break_add(m.core, 0x9000 + 2 * i);
	tap_ok(rv32_break_add(m.core, 0x9800) == -ENOSPC, "so many and no more");
	rv32_break_clear(m.core);
	tap_ok(!rv32_break_add(m.core, 0x9800), "all removed");
	m.at = BASE;
	put(RV_EBREAK);
	rv32_flush(m.core);
	rv32_catch_ebreak(m.core, true);
	set_reg(RV32_REG_PC, BASE);
	tap_ok(rv32_run(m.core, 100, NULL) == RV32_STOP_BREAK && pc() == BASE && csr(MCAUSE) == 0,
	       "an ebreak stops where a debugger wants that");
}

static void *stop_soon(void *arg)
{
	usleep(20000);
	atomic_store((atomic_bool *)arg, true);
	return NULL;
}

static void *irq_soon(void *arg)
{
	usleep(20000);
	rv32_irq(m.core, RV32_IRQ_EXTERNAL, true);
	return NULL;
}

/* From other threads; and a firmware whose handler is nowhere ends by its budget. */
static void test_endless(void)
{
	atomic_bool stop = false;
	pthread_t thread;

	begin();
	put(rv_jal(0, 0));
	pthread_create(&thread, NULL, stop_soon, &stop);
	tap_ok(rv32_run(m.core, UINT64_MAX, &stop) == RV32_STOP_ASKED, "stopped by another thread");
	pthread_join(thread, NULL);

	rv32_set_csr(m.core, MIE, 0x800);
	rv32_set_csr(m.core, MSTATUS, 8);
	m.at = HANDLER;
	put(rv_jal(0, 0));
	pthread_create(&thread, NULL, irq_soon, NULL);
	while (rv32_run(m.core, 1000, NULL) == RV32_STOP_BUDGET && csr(MCAUSE) != 0x8000000b)
		;
	pthread_join(thread, NULL);
	tap_ok(csr(MCAUSE) == 0x8000000b, "interrupted by another thread");

	begin();
	rv32_set_csr(m.core, MTVEC, 0x7000);
	put(RV_ECALL);
	tap_ok(rv32_run(m.core, 1000, NULL) == RV32_STOP_BUDGET && csr(MEPC) == 0x7000 &&
		       csr(MCYCLE) == 1000 && csr(MINSTRET) == 0,
	       "a handler that is nowhere: 1000 traps, no more");
}

static void test_create(void)
{
	static uint8_t memory[64] __attribute__((aligned(4)));
	struct rv32_config good = { .tcm = memory, .tcm_base = 0xffffffc0, .tcm_size = 64 }, bad;
	struct rv32 *core;

	tap_ok(!rv32_create(&good, &core), "memory at the very end of the address space");
	rv32_destroy(core);
	bad = good;
	bad.tcm_base = 0xffffffe0;
	tap_ok(rv32_create(&bad, &core) == -EINVAL, "memory that wraps around");
	bad = good;
	bad.tcm_size = 62;
	tap_ok(rv32_create(&bad, &core) == -EINVAL, "a size that is no multiple of 4");
	bad = good;
	bad.tcm = memory + 1;
	tap_ok(rv32_create(&bad, &core) == -EINVAL, "memory that is not aligned");
	bad = good;
	bad.reset_pc = 1;
	tap_ok(rv32_create(&bad, &core) == -EINVAL, "an odd reset address");
	bad = (struct rv32_config){ .reset_pc = 0 };
	tap_ok(!rv32_create(&bad, &core), "no memory and no bus");
	tap_ok(rv32_run(core, 10, NULL) == RV32_STOP_BUDGET && rv32_instructions(core) == 0,
	       "nothing can be fetched then");
	rv32_destroy(core);
}

int main(void)
{
	test_traps();
	test_fetch();
	test_csrs();
	test_csr_instructions();
	test_counters();
	test_interrupts();
	test_enable();
	test_mret();
	test_wfi();
	test_bus();
	test_fence_i();
	test_breaks();
	test_endless();
	test_create();
	rv32_destroy(m.core);
	return tap_done();
}
