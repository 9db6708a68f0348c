/* SPDX-License-Identifier: MIT */
/*
 * A RISC-V hart: RV32IMC with Zicsr and Zifencei, machine mode only, as the management processor of
 * the NPU has it. It follows the unprivileged specification 20191213 and the privileged
 * specification 1.12. Where these leave a choice:
 *
 * - misaligned loads and stores trap; with the C extension no jump target is ever misaligned
 * - mtval holds the address of a memory fault, the encoding of an illegal instruction and, for
 *   ebreak, the address of the instruction
 * - one instruction is one cycle; mcycle also counts the cycle of a trap, minstret does not
 * - what the hart stores is seen by its own fetches after fence.i only
 *
 * No global state: any number of harts may exist. One thread at a time runs a hart and uses its
 * other functions, except where a function says otherwise.
 */
#ifndef RV32_H
#define RV32_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rv32;

/*
 * What lies outside of the tightly coupled memory. @addr is a multiple of @size, which is 1, 2 or 4
 * bytes; a value has its bytes in the low end. Anything but 0 from a function becomes an access
 * fault of the hart, and so does a function that is NULL. The functions are called from the thread
 * in rv32_run() and may call rv32_irq() and rv32_flush().
 */
struct rv32_bus {
	int (*load)(void *ctx, uint32_t addr, unsigned int size, uint32_t *value);
	int (*store)(void *ctx, uint32_t addr, unsigned int size, uint32_t value);
	int (*fetch)(void *ctx, uint32_t addr, uint16_t *parcel);
	void *ctx;
};

struct rv32_config {
	struct rv32_bus bus;
	/*
	 * Tightly coupled memory: read, written and executed from directly. Base and size are
	 * multiples of 4 and do not wrap around, the pointer is aligned to 4. The caller owns it;
	 * after changing code in it it calls rv32_flush(). Size 0: there is none.
	 */
	void *tcm;
	uint32_t tcm_base, tcm_size;
	uint32_t reset_pc;		/* even */
	uint32_t hart_id;
};

/* Interrupt lines by their bits in mip and mie. */
enum rv32_irq { RV32_IRQ_SOFTWARE = 3, RV32_IRQ_TIMER = 7, RV32_IRQ_EXTERNAL = 11 };

/* Causes of exceptions, as in mcause. */
enum rv32_cause {
	RV32_CAUSE_FETCH_FAULT = 1, RV32_CAUSE_ILLEGAL = 2, RV32_CAUSE_BREAKPOINT = 3,
	RV32_CAUSE_LOAD_MISALIGNED = 4, RV32_CAUSE_LOAD_FAULT = 5,
	RV32_CAUSE_STORE_MISALIGNED = 6, RV32_CAUSE_STORE_FAULT = 7, RV32_CAUSE_ECALL = 11
};

/* Why rv32_run() returned. */
enum rv32_stop {
	RV32_STOP_BUDGET,	/* as many instructions as were asked for */
	RV32_STOP_ASKED,	/* *stop is true */
	RV32_STOP_WAIT,		/* in wfi, and no enabled interrupt is pending */
	RV32_STOP_BREAK,	/* at a breakpoint, or at an ebreak with rv32_catch_ebreak() */
};

/* Numbers of rv32_reg() and rv32_set_reg(): 0 to 31 are x0 to x31. */
#define RV32_REG_PC	32u
#define RV32_MAX_BREAKS	64u

/* Returns 0, -EINVAL for a bad configuration, or -ENOMEM. The hart is as after rv32_reset(). */
int rv32_create(const struct rv32_config *config, struct rv32 **core);
void rv32_destroy(struct rv32 *core);

/* All registers and counters zero, interrupts off, pc at @pc; lines and breakpoints stay. */
void rv32_reset(struct rv32 *core, uint32_t pc);

/*
 * Run until @max instructions were tried (traps count, too), or *@stop is true, which may be set by
 * any thread and is looked at every 256 instructions. With @stop NULL only the other ends count.
 */
enum rv32_stop rv32_run(struct rv32 *core, uint64_t max, const atomic_bool *stop);

/*
 * Set an interrupt line. From any thread; a hart that runs takes it within 256 instructions. To
 * wake one that waits is up to the caller, who calls rv32_run() again.
 */
void rv32_irq(struct rv32 *core, enum rv32_irq line, bool level);

/* Would rv32_run() get anywhere: false in wfi without an enabled interrupt. From any thread. */
bool rv32_runnable(const struct rv32 *core);

/* Instructions retired since rv32_create(), whatever the firmware writes. From any thread. */
uint64_t rv32_instructions(const struct rv32 *core);

/* Forget decoded instructions: memory was changed from outside. */
void rv32_flush(struct rv32 *core);

/* Setting the pc takes the hart out of wfi. */
uint32_t rv32_reg(const struct rv32 *core, unsigned int reg);
void rv32_set_reg(struct rv32 *core, unsigned int reg, uint32_t value);

/* False when there is no such register, or none that can be written. */
bool rv32_csr(const struct rv32 *core, unsigned int csr, uint32_t *value);
bool rv32_set_csr(struct rv32 *core, unsigned int csr, uint32_t value);

/* For debuggers. Return how many bytes could be read or written before the first bad address. */
size_t rv32_peek(struct rv32 *core, uint32_t addr, void *data, size_t size);
size_t rv32_poke(struct rv32 *core, uint32_t addr, const void *data, size_t size);

/*
 * Breakpoints stop the hart before the instruction at @pc; the next rv32_run() goes past it.
 * Return 0, -EEXIST, -ENOSPC or -ENOENT.
 */
int rv32_break_add(struct rv32 *core, uint32_t pc);
int rv32_break_remove(struct rv32 *core, uint32_t pc);
void rv32_break_clear(struct rv32 *core);

/* Let ebreak stop the hart, with the pc at it, instead of trapping. */
void rv32_catch_ebreak(struct rv32 *core, bool on);

#endif
