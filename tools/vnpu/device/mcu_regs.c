// SPDX-License-Identifier: MIT
/* The MCU's registers. All is called from the thread that has the hart. */
#include "core.h"

static npu_u32 read_time(struct npu_mcu *mcu, npu_u32 index)
{
	npu_u64 now;

	if (index)
		return mcu->time_high;
	now = npu_core_now();
	mcu->time_high = (npu_u32)(now >> 32);
	return (npu_u32)now;
}

static npu_u32 read_timer(struct npu_mcu *mcu, npu_u32 index)
{
	return (npu_u32)(mcu->timer >> 32 * index);
}

static void write_timer(struct npu_mcu *mcu, npu_u32 index, npu_u32 value)
{
	npu_u64 mask = 0xffffffffull << 32 * index;

	mcu->timer = (mcu->timer & ~mask) | (npu_u64)value << 32 * index;
}

static npu_u32 read_pending(struct npu_mcu *mcu, npu_u32 index)
{
	return npu_mcu_pending(mcu);
}

static npu_u32 read_enable(struct npu_mcu *mcu, npu_u32 index)
{
	return mcu->enable;
}

static void write_enable(struct npu_mcu *mcu, npu_u32 index, npu_u32 value)
{
	mcu->enable = value;
}

static npu_u32 read_boot_status(struct npu_mcu *mcu, npu_u32 index)
{
	return atomic_load(&mcu->boot_status);
}

static void write_boot_status(struct npu_mcu *mcu, npu_u32 index, npu_u32 value)
{
	atomic_store(&mcu->boot_status, value);
}

static npu_u32 read_config(struct npu_mcu *mcu, npu_u32 index)
{
	const struct npu_vdev_config *c = &mcu->core->config;
	const npu_u32 value[] = { npu_reg_get(&mcu->core->regs, NPU_REG_FW_CONFIG), c->engines,
				  c->queues, NPU_HW_SAVE_HEADER + c->sram_size };

	return value[index];
}

static void write_watchdog(struct npu_mcu *mcu, npu_u32 index, npu_u32 value)
{
	mcu->watchdog_us = value;
	mcu->watchdog_ns = 0;
}

static npu_u32 read_ctl(struct npu_mcu *mcu, npu_u32 index)
{
	return mcu->ctl;
}

static void write_ctl(struct npu_mcu *mcu, npu_u32 index, npu_u32 value)
{
	if (value & 1)
		mcu->ctl = false;
}

static npu_u32 read_doorbell(struct npu_mcu *mcu, npu_u32 index)
{
	return mcu->doorbell[index];
}

static void write_doorbell(struct npu_mcu *mcu, npu_u32 index, npu_u32 value)
{
	mcu->doorbell[index] &= ~value;
}

static npu_u32 read_engine_event(struct npu_mcu *mcu, npu_u32 index)
{
	return mcu->engine_event;
}

static void write_engine_event(struct npu_mcu *mcu, npu_u32 index, npu_u32 value)
{
	mcu->engine_event &= ~value;
}

/*
 * Those of the MCU alone; the functions are called with its lock. HOST_IRQ, FATAL and the engines'
 * reach further and are not here.
 */
static const struct mcu_reg {
	npu_u32 offset, count;
	npu_u32 (*read)(struct npu_mcu *mcu, npu_u32 index);
	void (*write)(struct npu_mcu *mcu, npu_u32 index, npu_u32 value);
	bool lines;			/* may a write move the interrupt lines? */
} table[] = {
	{ NPU_MCU_TIME, 2, read_time, NULL, false },
	{ NPU_MCU_TIMER, 2, read_timer, write_timer, true },
	{ NPU_MCU_PENDING, 1, read_pending, NULL, false },
	{ NPU_MCU_ENABLE, 1, read_enable, write_enable, true },
	{ NPU_MCU_BOOT_STATUS, 1, read_boot_status, write_boot_status, false },
	{ NPU_MCU_FW_CONFIG, 4, read_config, NULL, false },	/* to SAVE_SIZE */
	{ NPU_MCU_WATCHDOG, 1, NULL, write_watchdog, false },
	{ NPU_MCU_CTL, 1, read_ctl, write_ctl, true },
	{ NPU_MCU_DOORBELL(0), NPU_HW_MAX_QUEUES / 32, read_doorbell, write_doorbell, true },
	{ NPU_MCU_ENGINE_EVENT, 1, read_engine_event, write_engine_event, true },
};

static const struct mcu_reg *reg_find(npu_u32 offset)
{
	unsigned int i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (offset - table[i].offset < table[i].count * 4)
			return &table[i];
	return NULL;
}

/* The unit whose register @offset is, which becomes one of NPU_ENGINE_*; NULL: none's. */
static struct npu_unit *unit_find(struct npu_mcu *mcu, npu_u32 *offset)
{
	npu_u32 stride = NPU_MCU_ENGINE(1) - NPU_MCU_ENGINE(0);
	npu_u32 n = (*offset - NPU_MCU_ENGINE(0)) / stride;

	if (*offset < NPU_MCU_ENGINE(0) || n >= mcu->core->config.engines)
		return NULL;
	*offset = (*offset - NPU_MCU_ENGINE(0)) % stride;
	return &mcu->core->unit[n];
}

int npu_mcu_reg_load(struct npu_mcu *mcu, npu_u32 offset, npu_u32 *value)
{
	const struct mcu_reg *reg = reg_find(offset);
	struct npu_unit *unit;

	if (!reg) {
		unit = unit_find(mcu, &offset);
		return unit && npu_unit_read(unit, offset, value) ? 0 : -EFAULT;
	}
	if (!reg->read)
		return -EFAULT;
	pthread_mutex_lock(&mcu->lock);
	*value = reg->read(mcu, (offset - reg->offset) / 4);
	pthread_mutex_unlock(&mcu->lock);
	return 0;
}

int npu_mcu_reg_store(struct npu_mcu *mcu, npu_u32 offset, npu_u32 value)
{
	const struct mcu_reg *reg = reg_find(offset);
	struct npu_unit *unit;

	if (offset == NPU_MCU_HOST_IRQ) {
		npu_events_message(mcu->core);
		return 0;
	}
	if (offset == NPU_MCU_FATAL) {
		npu_mcu_fatal(mcu, NPU_FATAL_FIRMWARE, value);
		return 0;
	}
	if (!reg) {
		unit = unit_find(mcu, &offset);
		return unit && npu_unit_write(unit, offset, value) ? 0 : -EFAULT;
	}
	if (!reg->write)
		return -EFAULT;
	pthread_mutex_lock(&mcu->lock);
	reg->write(mcu, (offset - reg->offset) / 4, value);
	if (reg->lines)
		npu_mcu_lines(mcu);
	pthread_mutex_unlock(&mcu->lock);
	return 0;
}
