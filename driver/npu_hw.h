/* SPDX-License-Identifier: GPL-2.0-only */
/* Register access, and interrupts, whose causes are in memory. */
#ifndef NPU_HW_ACCESS_H
#define NPU_HW_ACCESS_H

#include <linux/io.h>
#include <linux/types.h>

#include "npu_device.h"

static inline u32 npu_hw_read(struct npu_device *npu, u32 reg)
{
	return readl(npu->hw.regs + reg);
}

static inline void npu_hw_write(struct npu_device *npu, u32 reg, u32 value)
{
	writel(value, npu->hw.regs + reg);
}

/*
 * The low half first: where a value takes effect when it is written, it does so with the high one.
 */
static inline void npu_hw_write64(struct npu_device *npu, u32 reg, u64 value)
{
	npu_hw_write(npu, reg, lower_32_bits(value));
	npu_hw_write(npu, reg + 4, upper_32_bits(value));
}

/* The low half first: reading it latches the high one. */
static inline u64 npu_hw_read64(struct npu_device *npu, u32 reg)
{
	u32 low = npu_hw_read(npu, reg);

	return (u64)npu_hw_read(npu, reg + 4) << 32 | low;
}

/* A device that has been pulled out reads as all ones. Slow: not where jobs pass. */
static inline bool npu_hw_is_there(struct npu_device *npu)
{
	return npu_hw_read(npu, NPU_REG_STATUS) != U32_MAX;
}

int npu_hw_identify(struct npu_device *npu);
int npu_hw_events_init(struct npu_device *npu);
void npu_hw_events_fini(struct npu_device *npu);
void npu_hw_events_start(struct npu_device *npu);
void npu_hw_events_stop(struct npu_device *npu);
int npu_hw_poll(struct npu_device *npu, u32 reg, bool (*is_done)(u32 value),
		unsigned int timeout_ms, u32 *value);
int npu_hw_reset(struct npu_device *npu);
int npu_hw_irq_init(struct npu_device *npu);
void npu_hw_irq_fini(struct npu_device *npu);
void npu_hw_irq_process(struct npu_device *npu);
void npu_hw_reap(struct npu_device *npu);
void npu_hw_reap_soon(struct npu_device *npu);
const char *npu_hw_fatal_text(u32 code);

#endif
