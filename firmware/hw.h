/* SPDX-License-Identifier: MIT */
/*
 * All that the firmware asks of its hardware. On the MCU these are loads and stores; a host test
 * (FW_HOST) brings its own functions of the same names.
 */
#ifndef FW_HW_H
#define FW_HW_H

#include <stdbool.h>
#include <stddef.h>
#include "npu_hw.h"

#ifdef FW_HOST

npu_u32 fw_reg_read(npu_u32 offset);
void fw_reg_write(npu_u32 offset, npu_u32 value);
bool fw_copy_from(void *to, npu_u32 addr, npu_u32 words);
bool fw_copy_to(npu_u32 addr, const void *from, npu_u32 words);
bool fw_copy_bytes_to(npu_u32 addr, const void *from, npu_u32 bytes);
void fw_wait(void);
void fw_fence(void);

#else

/* Registers of the MCU, offsets NPU_MCU_*. */
static inline npu_u32 fw_reg_read(npu_u32 offset)
{
	return *(volatile npu_u32 *)(NPU_MCU_MMIO + offset);
}

static inline void fw_reg_write(npu_u32 offset, npu_u32 value)
{
	*(volatile npu_u32 *)(NPU_MCU_MMIO + offset) = value;
}

/*
 * Kernel memory. False, possibly half way, when an address faults: then it is not mapped, which is
 * the driver's doing and no reason to crash. Addresses and memory are multiples of 4; each word is
 * one access, in order.
 */
bool fw_copy_from(void *to, npu_u32 addr, npu_u32 words);
bool fw_copy_to(npu_u32 addr, const void *from, npu_u32 words);
bool fw_copy_bytes_to(npu_u32 addr, const void *from, npu_u32 bytes);

/* Sleep until an interrupt line is up. They are looked at in turn, none is ever taken. */
static inline void fw_wait(void)
{
	__asm__ volatile("wfi" ::: "memory");
}

/* What was stored before can be seen by the driver before anything is loaded behind it. */
static inline void fw_fence(void)
{
	__asm__ volatile("fence rw, rw" ::: "memory");
}

#endif

/* A word. */
bool fw_load(npu_u32 addr, npu_u32 *value);
bool fw_store(npu_u32 addr, npu_u32 value);

/* Device time in ns; reading the low half latches the high one. */
static inline npu_u64 fw_now(void)
{
	npu_u32 low = fw_reg_read(NPU_MCU_TIME);

	return (npu_u64)fw_reg_read(NPU_MCU_TIME + 4) << 32 | low;
}

static inline void fw_timer_set(npu_u64 at)
{
	/* Never in the past half way. */
	fw_reg_write(NPU_MCU_TIMER + 4, ~0u);
	fw_reg_write(NPU_MCU_TIMER, (npu_u32)at);
	fw_reg_write(NPU_MCU_TIMER + 4, (npu_u32)(at >> 32));
}

#endif
