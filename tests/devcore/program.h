/* SPDX-License-Identifier: MIT */
/*
 * Programs of the management processor, put together instruction by instruction, loaded by the
 * device's own copy and run; and what the device says of it in the events.
 */
#ifndef TESTS_DEVCORE_PROGRAM_H
#define TESTS_DEVCORE_PROGRAM_H

#include "device/rv_asm.h"
#include "guest.h"

enum { ZERO, T0 = 5, T1 = 6, T2 = 7, A0 = 10, A1, A2, A3, A4, A5 };

/* The one that is being put together. */
struct program {
	npu_u32 code[512];
	unsigned int num;
	npu_u32 page;			/* of guest memory, where it is loaded from */
};

extern struct program mcu;

/* Append an instruction; the two that load a constant. */
void mcu_op(npu_u32 word);
void mcu_li(int rd, npu_u32 value);

/* Begin a program, the device having just been reset; or reset it first. */
void mcu_begin(struct guest *g);
void mcu_restart(struct guest *g);
/* By the device's own copy, to @dst; what the copy says. */
npu_u32 mcu_load(struct guest *g, npu_u32 dst, npu_u32 size);
/* Load what was put together at 0x100 and run it. */
bool mcu_run(struct guest *g);
bool mcu_wait_boot(struct guest *g, npu_u32 status);

/* A word of the events, by its offset. */
npu_u32 guest_event(struct guest *g, unsigned int offset);
/* News: a count other than @seen. */
bool guest_wait_event(struct guest *g, unsigned int offset, npu_u32 seen);

#endif
