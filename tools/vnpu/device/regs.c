// SPDX-License-Identifier: MIT
#include "core.h"

/* ---- what is read ---- */

static npu_u32 read_id(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset)
{
	return NPU_HW_ID;
}

static npu_u32 read_version(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset)
{
	return NPU_HW_VERSION;
}

static npu_u32 read_isa(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset)
{
	return NPU_ISA_MAJOR << 16 | NPU_ISA_MINOR;
}

static npu_u32 read_cap(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset)
{
	const struct npu_vdev_config *c = &core->config;
	const npu_u32 cap[] = {
		c->mac_rows << 16 | c->mac_cols,
		c->sram_size,
		c->engines,
		c->queues,
		NPU_HW_MAX_CONTEXTS,
		NPU_MMU_VA_BITS | 52u << 8,
		(1u << NPU_NUM_DTYPES) - (1u << (NPU_NONE + 1)),
		NPU_TCM_SIZE,
		NPU_HW_SAVE_HEADER + c->sram_size,
		NPU_CLOCK_HZ,
	};

	return cap[index];
}

static npu_u32 read_opcodes(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset)
{
	npu_u32 bits = 0, i;

	for (i = 0; i < 32; i++)
		bits |= (npu_u32)npu_engine_supports(core->engine, index * 32 + i) << i;
	return bits;
}

static npu_u32 read_status(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset)
{
	return (atomic_load(&core->service.resets) ? 0 : NPU_STATUS_READY) |
	       (npu_mcu_running(&core->mcu) ? NPU_STATUS_MCU_RUN : 0) |
	       (atomic_load(&core->events.fatal) ? NPU_STATUS_FATAL : 0);
}

static npu_u32 read_epoch(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset)
{
	return core->keep->epoch;
}

static npu_u32 read_boot_status(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset)
{
	return atomic_load(&core->mcu.boot_status);
}

/* Half of a 64-bit value that moves: the low one keeps the high one of the same moment. */
static npu_u32 read_half(struct npu_regs *regs, npu_u32 offset, npu_u64 value)
{
	if (!(offset % 8)) {
		regs->latch = (npu_u32)(value >> 32);
		regs->latch_offset = offset + 4;
		return (npu_u32)value;
	}
	return regs->latch_offset == offset ? regs->latch : (npu_u32)(value >> 32);
}

static npu_u32 read_timestamp(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset)
{
	return read_half(&core->regs, offset, npu_core_now());
}

static npu_u64 counter_value(struct npu_vdev_core *core, npu_u32 n)
{
	struct npu_engine_counters engine;

	if (n == NPU_COUNTER_MCU_INSNS)
		return npu_mcu_instructions(&core->mcu);
	if (n == NPU_COUNTER_ENGINE_INSNS || n == NPU_COUNTER_ENGINE_MACS) {
		npu_engine_counters(core->engine, &engine);
		return n == NPU_COUNTER_ENGINE_INSNS ? engine.insns : engine.macs;
	}
	return atomic_load_explicit(&core->counter[n], memory_order_relaxed);
}

static npu_u32 read_counter(struct npu_vdev_core *core, npu_u32 index, npu_u32 offset)
{
	return read_half(&core->regs, offset, counter_value(core, index / 2));
}

/* ---- what is written ---- */

static void write_reset(struct npu_vdev_core *core, npu_u32 index, npu_u32 value)
{
	npu_u32 engines = 0, i;

	if (value & NPU_RESET_DEVICE) {
		npu_reset_begin(core);
		return;
	}
	for (i = 0; i < core->config.engines; i++)
		engines |= value & NPU_RESET_ENGINE(i);
	/* While the device is reset its engines are, too. */
	if (!engines || atomic_load(&core->service.resets) & NPU_RESET_DEVICE)
		return;
	npu_service_reset_start(core, engines);
	for (i = 0; i < core->config.engines; i++)
		if (engines & NPU_RESET_ENGINE(i))
			npu_unit_stop(&core->unit[i], NPU_UNIT_STOP_RESET);
	npu_service_reset(core, engines);
}

static void write_fw_copy(struct npu_vdev_core *core, npu_u32 index, npu_u32 value)
{
	const struct npu_service_copy copy = {
		.src = npu_reg_get64(&core->regs, NPU_REG_FW_SRC),
		.dst = npu_reg_get(&core->regs, NPU_REG_FW_DST),
		.size = npu_reg_get(&core->regs, NPU_REG_FW_SIZE),
	};

	npu_service_copy(core, &copy);
}

static void write_mcu_ctrl(struct npu_vdev_core *core, npu_u32 index, npu_u32 value)
{
	if (!(value & 1))
		npu_mcu_halt(&core->mcu);
	else if (!atomic_load(&core->events.fatal))
		npu_mcu_start(&core->mcu, npu_reg_get(&core->regs, NPU_REG_MCU_ENTRY));
}

static void write_events(struct npu_vdev_core *core, npu_u32 index, npu_u32 value)
{
	/* An address in two halves: it counts when the second one has come. */
	if (index == 1)
		npu_events_set(core, npu_reg_get64(&core->regs, NPU_REG_EVENTS) & ~3ull);
}

static void write_inv_seq(struct npu_vdev_core *core, npu_u32 index, npu_u32 value)
{
	const struct npu_service_inv inv = {
		.va = npu_reg_get64(&core->regs, NPU_REG_INV_VA),
		.size = npu_reg_get64(&core->regs, NPU_REG_INV_SIZE),
		.context = npu_reg_get(&core->regs, NPU_REG_INV_CONTEXT),
		.seq = value,
	};

	if (inv.context >= NPU_HW_MAX_CONTEXTS)
		npu_vdev_log(core->dev, "invalidation %u is ignored: there is no context %u",
			     inv.seq, inv.context);
	else if (!npu_service_invalidate(core, &inv))
		npu_vdev_log(core->dev, "invalidation %u is ignored: one waits already", inv.seq);
}

static void write_doorbell_ctl(struct npu_vdev_core *core, npu_u32 index, npu_u32 value)
{
	npu_core_count(core, NPU_COUNTER_DOORBELLS, 1);
	npu_mcu_doorbell_ctl(&core->mcu);
}

static void write_doorbell(struct npu_vdev_core *core, npu_u32 index, npu_u32 value)
{
	npu_core_count(core, NPU_COUNTER_DOORBELLS, 1);
	if (index < core->config.queues)
		npu_mcu_doorbell(&core->mcu, index);
}

static void write_root(struct npu_vdev_core *core, npu_u32 index, npu_u32 value)
{
	npu_u32 c = index / 2;

	atomic_store(&core->mmu.context[c].root_reg, npu_reg_get64(&core->regs, NPU_REG_ROOT(c)));
}

/* ---- the table ---- */

#define RO(reg, n, fn)	  { .offset = NPU_REG_##reg, .count = n, .readable = true, \
			    .name = #reg, .read = fn }
#define RW(reg, n)	  { .offset = NPU_REG_##reg, .count = n, .readable = true, \
			    .writable = true, .name = #reg }
#define RW_DO(reg, n, fn) { .offset = NPU_REG_##reg, .count = n, .readable = true, \
			    .writable = true, .name = #reg, .write = fn }
#define WO(reg, n, fn)	  { .offset = NPU_REG_##reg, .count = n, .writable = true, \
			    .name = #reg, .write = fn }

static const struct npu_reg_desc table[] = {
	RO(ID, 1, read_id),
	RO(VERSION, 1, read_version),
	RO(ISA, 1, read_isa),
	RO(CAP_MAC, 10, read_cap),	/* to CAP_CLOCK, without a gap */
	RO(CAP_OPCODES, 8, read_opcodes),
	RO(STATUS, 1, read_status),
	RO(EPOCH, 1, read_epoch),
	RO(TIMESTAMP, 2, read_timestamp),
	WO(RESET, 1, write_reset),
	RW(FW_SRC, 2),
	RW(FW_DST, 1),
	RW(FW_SIZE, 1),
	RW_DO(FW_COPY, 1, write_fw_copy),
	RW(FW_CONFIG, 1),
	RW(MCU_ENTRY, 1),
	RW_DO(MCU_CTRL, 1, write_mcu_ctrl),
	RO(BOOT_STATUS, 1, read_boot_status),
	RW_DO(EVENTS, 2, write_events),
	RW(INV_VA, 2),
	RW(INV_SIZE, 2),
	RW(INV_CONTEXT, 1),
	RW_DO(INV_SEQ, 1, write_inv_seq),
	WO(DOORBELL_CTL, 1, write_doorbell_ctl),
	WO(DOORBELL(0), NPU_HW_MAX_QUEUES, write_doorbell),
	RW_DO(ROOT(0), 2 * NPU_HW_MAX_CONTEXTS, write_root),
	RW(QUEUE(0), NPU_HW_MAX_QUEUES),
	RO(COUNTER(0), 2 * NPU_NUM_COUNTERS, read_counter),
};

const struct npu_reg_desc *npu_reg_desc(unsigned int i)
{
	return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
}

void npu_regs_init(struct npu_regs *regs)
{
	const struct npu_reg_desc *d;
	unsigned int i;
	npu_u32 k;

	for (i = 0; (d = npu_reg_desc(i)); i++)
		for (k = 0; k < d->count; k++)
			regs->row[d->offset / 4 + k] = (npu_u8)(i + 1);
}

void npu_regs_reset(struct npu_regs *regs)
{
	unsigned int i;

	for (i = 0; i < NPU_BAR0_SIZE / 4; i++)
		atomic_store_explicit(&regs->value[i], 0, memory_order_relaxed);
}

static const struct npu_reg_desc *desc_at(const struct npu_regs *regs, npu_u32 offset)
{
	return regs->row[offset / 4] ? &table[regs->row[offset / 4] - 1] : NULL;
}

npu_u32 npu_reg_read(struct npu_vdev_core *core, npu_u32 offset)
{
	const struct npu_reg_desc *d = desc_at(&core->regs, offset);

	if (!d || !d->readable)
		return 0;
	if (d->read)
		return d->read(core, (offset - d->offset) / 4, offset);
	return npu_reg_get(&core->regs, offset);
}

void npu_reg_write(struct npu_vdev_core *core, npu_u32 offset, npu_u32 value)
{
	const struct npu_reg_desc *d = desc_at(&core->regs, offset);

	if (!d || !d->writable)
		return;
	/* What comes now would be lost half way through the reset. */
	if (atomic_load(&core->service.resets) & NPU_RESET_DEVICE && offset != NPU_REG_RESET)
		return;
	/* The state of a copy is not the driver's to write. */
	if (offset != NPU_REG_FW_COPY)
		npu_reg_set(&core->regs, offset, value);
	if (d->write)
		d->write(core, (offset - d->offset) / 4, value);
}
