/* SPDX-License-Identifier: MIT */
/*
 * gdb's remote protocol for a hart: registers, memory, breakpoints, single step, interrupt. A
 * thread of the stub talks to one debugger at a time; the thread that runs the hart passes a gate
 * in front of every rv32_run(), and is held there while the debugger has the hart.
 *
 *	for (;;) {
 *		n = rv32_gdb_gate(gdb, why, SOME);
 *		stop = false;
 *		why = n ? rv32_run(core, n, &stop) : RV32_STOP_BUDGET;
 *		if (why == RV32_STOP_WAIT)
 *			sleep until rv32_runnable(core) or rv32_gdb_holds(gdb)
 *	}
 *
 * where kick() ends the sleep and, if SOME is large, sets stop.
 */
#ifndef RV32_GDB_H
#define RV32_GDB_H

#include "rv32.h"

struct rv32_gdb;

struct rv32_gdb_config {
	struct rv32 *core;
	/* "unix:PATH", which is created, or a TCP port on the loopback, in decimal. */
	const char *address;
	/*
	 * Get the thread that runs the hart to the gate soon. Called from the stub's thread,
	 * without any lock of the stub.
	 */
	void (*kick)(void *ctx);
	void *ctx;
};

/* Returns 0 or a negative errno: -EINVAL for the address, or of the socket. */
int rv32_gdb_start(const struct rv32_gdb_config *config, struct rv32_gdb **gdb);

/* After the thread that runs the hart has ended (see rv32_gdb_release()). */
void rv32_gdb_stop(struct rv32_gdb *gdb);

/*
 * From the thread that runs the hart, with what its last rv32_run() returned. Blocks while the
 * debugger holds the hart. Returns how many instructions to run: @budget, fewer when the debugger
 * steps, or 0 after rv32_gdb_release(). NULL for @gdb: @budget.
 */
uint64_t rv32_gdb_gate(struct rv32_gdb *gdb, enum rv32_stop why, uint64_t budget);

/* Does the debugger want the hart at the gate? From any thread. NULL: no. */
bool rv32_gdb_holds(struct rv32_gdb *gdb);

/*
 * Let who is at the gate through, once, without running anything: the hart is to be halted, reset
 * or done with. The debugger still holds it: a thread that has halted the hart comes to the gate
 * again.
 */
void rv32_gdb_release(struct rv32_gdb *gdb);

#endif
