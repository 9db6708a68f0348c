// SPDX-License-Identifier: MIT
/* Loads and stores that leave the fast path: the bus, misaligned addresses, and debuggers. */
#include <string.h>
#include "rv32_priv.h"

static bool fault(struct rv32 *core, uint32_t cause, uint32_t addr)
{
	core->cause = cause;
	core->tval = addr;
	return false;
}

bool rv32_load(struct rv32 *core, uint32_t addr, unsigned int size, uint32_t *value)
{
	if (addr & (size - 1))
		return fault(core, RV32_CAUSE_LOAD_MISALIGNED, addr);
	if (!core->bus.load || core->bus.load(core->bus.ctx, addr, size, value))
		return fault(core, RV32_CAUSE_LOAD_FAULT, addr);
	return true;
}

bool rv32_store(struct rv32 *core, uint32_t addr, unsigned int size, uint32_t value)
{
	if (addr & (size - 1))
		return fault(core, RV32_CAUSE_STORE_MISALIGNED, addr);
	if (!core->bus.store || core->bus.store(core->bus.ctx, addr, size, value))
		return fault(core, RV32_CAUSE_STORE_FAULT, addr);
	return true;
}

/* The largest access at @addr that is aligned and not longer than @left. */
static unsigned int access_size(uint32_t addr, size_t left)
{
	if (!(addr & 3) && left >= 4)
		return 4;
	return !(addr & 1) && left >= 2 ? 2 : 1;
}

size_t rv32_peek(struct rv32 *core, uint32_t addr, void *data, size_t size)
{
	uint8_t *to = data;
	size_t done = 0;
	unsigned int step, i;
	uint32_t at, value;

	for (; done < size; done += step) {
		at = addr + (uint32_t)done;
		step = 1;
		if (at - core->tcm_base < core->tcm_size) {
			to[done] = core->tcm[at - core->tcm_base];
			continue;
		}
		step = access_size(at, size - done);
		if (!core->bus.load || core->bus.load(core->bus.ctx, at, step, &value))
			break;
		for (i = 0; i < step; i++)
			to[done + i] = (uint8_t)(value >> 8 * i);
	}
	return done;
}

size_t rv32_poke(struct rv32 *core, uint32_t addr, const void *data, size_t size)
{
	const uint8_t *from = data;
	size_t done = 0;
	unsigned int step, i;
	uint32_t at, value;

	for (; done < size; done += step) {
		at = addr + (uint32_t)done;
		step = 1;
		if (at - core->tcm_base < core->tcm_size) {
			core->tcm[at - core->tcm_base] = from[done];
			continue;
		}
		step = access_size(at, size - done);
		for (i = 0, value = 0; i < step; i++)
			value |= (uint32_t)from[done + i] << 8 * i;
		if (!core->bus.store || core->bus.store(core->bus.ctx, at, step, value))
			break;
	}
	rv32_flush(core);
	return done;
}
