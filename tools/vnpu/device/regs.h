/* SPDX-License-Identifier: MIT */
/* BAR0: one table says what each register is. Reads and writes come from the transport's thread. */
#ifndef NPU_REGS_H
#define NPU_REGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include "npu_hw.h"

struct npu_vdev_core;

/* A register, or @count of them, 4 bytes apart. */
struct npu_reg_desc {
	npu_u32 offset, count;
	bool readable, writable;
	const char *name;
	/* NULL: what was stored. @index: which of @count. */
	npu_u32 (*read)(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset);
	/* After the value was stored. */
	void (*write)(struct npu_vdev_core *core, npu_u32 index, npu_u32 value);
};

struct npu_regs {
	npu_u8 row[NPU_BAR0_SIZE / 4];		/* of the table, + 1; 0: there is nothing */
	_Atomic(npu_u32) value[NPU_BAR0_SIZE / 4];
	/* High half of the 64-bit register whose low half was read last. */
	npu_u32 latch, latch_offset;
};

void npu_regs_init(struct npu_regs *regs);
/* All that is stored becomes zero. */
void npu_regs_reset(struct npu_regs *regs);
npu_u32 npu_reg_read(struct npu_vdev_core *core, npu_u32 offset);
void npu_reg_write(struct npu_vdev_core *core, npu_u32 offset, npu_u32 value);

/* Row @i of the table, NULL behind its end. */
const struct npu_reg_desc *npu_reg_desc(unsigned int i);

/* The stored value, from any thread. */
static inline npu_u32 npu_reg_get(const struct npu_regs *regs, npu_u32 offset)
{
	return atomic_load(&regs->value[offset / 4]);
}

static inline npu_u64 npu_reg_get64(const struct npu_regs *regs, npu_u32 offset)
{
	return npu_reg_get(regs, offset) | (npu_u64)npu_reg_get(regs, offset + 4) << 32;
}

static inline void npu_reg_set(struct npu_regs *regs, npu_u32 offset, npu_u32 value)
{
	atomic_store(&regs->value[offset / 4], value);
}

#endif
