// SPDX-License-Identifier: MIT
/*
 * Fetching and decoding. What lies in the tightly coupled memory is decoded once. Breakpoints are
 * looked for when decoding, so they cost nothing where there is none.
 */
#include <errno.h>
#include <string.h>
#include "rv32_priv.h"

static bool in_tcm(const struct rv32 *core, uint32_t addr)
{
	return addr - core->tcm_base < core->tcm_size;
}

static bool fetch_parcel(struct rv32 *core, uint32_t addr, uint16_t *parcel)
{
	const uint8_t *p;

	if (in_tcm(core, addr)) {
		p = core->tcm + (addr - core->tcm_base);
		*parcel = (uint16_t)(p[0] | p[1] << 8);
		return true;
	}
	return core->bus.fetch && !core->bus.fetch(core->bus.ctx, addr, parcel);
}

static void decode_at(struct rv32 *core, uint32_t pc, struct rv32_insn *insn)
{
	uint16_t low, high = 0;
	uint32_t bad = pc;

	if (!fetch_parcel(core, pc, &low))
		goto fault;
	bad = pc + 2;
	if ((low & 3) == 3 && !fetch_parcel(core, bad, &high))
		goto fault;
	rv32_decode((uint32_t)high << 16 | low, pc, insn);
	return;
fault:
	*insn = (struct rv32_insn){ .op = RV32_FETCH_FAULT, .rd = RV32_NOWHERE, .imm = bad };
}

static int find_break(const struct rv32 *core, uint32_t pc)
{
	unsigned int i;

	for (i = 0; i < core->num_breaks; i++) {
		if (core->breaks[i] == pc)
			return (int)i;
	}
	return -ENOENT;
}

/* Only an instruction that lies in the memory whole may be kept. */
static struct rv32_insn *entry_of(struct rv32 *core, uint32_t pc)
{
	uint32_t index = (pc - core->tcm_base) / 2;

	if (!in_tcm(core, pc) || !in_tcm(core, pc + 3))
		return &core->elsewhere;
	if (index < core->first_decoded)
		core->first_decoded = index;
	if (index >= core->end_decoded)
		core->end_decoded = index + 1;
	return &core->decoded[index];
}

const struct rv32_insn *rv32_fetch(struct rv32 *core, uint32_t pc)
{
	struct rv32_insn *entry = entry_of(core, pc);

	/* Where a breakpoint is nothing is kept, so that this function sees it each time. */
	if (find_break(core, pc) >= 0) {
		entry = &core->elsewhere;
		if (!core->past_break || core->break_pc != pc) {
			*entry = (struct rv32_insn){ .op = RV32_BREAKPOINT, .rd = RV32_NOWHERE };
			return entry;
		}
		core->past_break = false;
	}
	decode_at(core, pc, entry);
	return entry;
}

void rv32_forget_decoded(struct rv32 *core)
{
	uint32_t first = core->first_decoded, end = core->end_decoded;

	if (first < end)
		memset(core->decoded + first, 0, (end - first) * sizeof(*core->decoded));
	core->first_decoded = core->tcm_size / 2;
	core->end_decoded = 0;
	core->stale = false;
}

/* Later, since the run loop may have a decoded instruction in hand. */
void rv32_flush(struct rv32 *core)
{
	core->stale = true;
}

/* It may be kept as what it was. */
static void forget(struct rv32 *core, uint32_t pc)
{
	entry_of(core, pc)->op = RV32_NOT_DECODED;
}

int rv32_break_add(struct rv32 *core, uint32_t pc)
{
	if (find_break(core, pc) >= 0)
		return -EEXIST;
	if (core->num_breaks == RV32_MAX_BREAKS)
		return -ENOSPC;
	core->breaks[core->num_breaks++] = pc;
	forget(core, pc);
	return 0;
}

int rv32_break_remove(struct rv32 *core, uint32_t pc)
{
	int i = find_break(core, pc);

	if (i < 0)
		return i;
	core->breaks[i] = core->breaks[--core->num_breaks];
	forget(core, pc);
	return 0;
}

void rv32_break_clear(struct rv32 *core)
{
	while (core->num_breaks)
		forget(core, core->breaks[--core->num_breaks]);
}
