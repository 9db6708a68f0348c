// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: any bytes as memory and program of the management processor. Ends the program
 * when a register has a value that it cannot have, when more was executed than asked for, or when
 * running at one go and instruction by instruction differ.
 */
#include <stdlib.h>
#include <string.h>
#include "tools/vnpu/device/rv32.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE	0x1000u
#define SIZE	0x800u
#define STEPS	1000u

struct machine {
	uint8_t memory[SIZE] __attribute__((aligned(4)));
	struct rv32 *core;
	uint32_t noise;
};

static uint32_t next_noise(struct machine *m)
{
	m->noise = m->noise * 1664525 + 1013904223;
	return m->noise >> 8;
}

/* Half of the address space answers, and lines go up and down. */
static int bus_load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value)
{
	struct machine *m = ctx;

	if (addr % size || (size != 1 && size != 2 && size != 4))
		abort();
	*value = next_noise(m);
	return addr >> 31;
}

static int bus_store(void *ctx, uint32_t addr, unsigned int size, uint32_t value)
{
	static const enum rv32_irq lines[] = { RV32_IRQ_SOFTWARE, RV32_IRQ_TIMER,
					       RV32_IRQ_EXTERNAL };
	struct machine *m = ctx;

	if (addr % size || (size < 4 && value >> 8 * size))
		abort();
	rv32_irq(m->core, lines[addr % 3], value & 1);
	if (addr & 0x100)
		rv32_flush(m->core);
	return addr >> 31;
}

static int bus_fetch(void *ctx, uint32_t addr, uint16_t *parcel)
{
	if (addr & 1)
		abort();
	*parcel = (uint16_t)(addr * 40503u);
	return addr >> 31;
}

static void machine_init(struct machine *m, const uint8_t *data, size_t size)
{
	struct rv32_config config = { .bus = { bus_load, bus_store, bus_fetch, m },
				      .tcm = m->memory,
				      .tcm_base = BASE,
				      .tcm_size = SIZE,
				      .reset_pc = BASE };
	unsigned int i;

	memset(m->memory, 0, SIZE);
	memcpy(m->memory, data, size < SIZE ? size : SIZE);
	m->noise = (uint32_t)size;
	if (rv32_create(&config, &m->core))
		abort();
	for (i = 1; i < 32; i++)
		rv32_set_reg(m->core, i, i & 1 ? BASE + i * 32 : i * 0x10000001u);
	rv32_set_csr(m->core, 0x305, BASE + 0x400 + (size & 1));
	rv32_set_csr(m->core, 0x304, 0x888);
}

static void check(const struct rv32 *core)
{
	uint32_t value;

	if (rv32_reg(core, 0) || rv32_reg(core, RV32_REG_PC) & 1)
		abort();
	if (!rv32_csr(core, 0x341, &value) || value & 1)
		abort();
	if (!rv32_csr(core, 0x300, &value) || (value & ~0x88u) != 0x1800)
		abort();
	if (rv32_instructions(core) > STEPS)
		abort();
}

static void compare(const struct machine *a, const struct machine *b)
{
	static const uint16_t csrs[] = { 0x300, 0x304, 0x305, 0x320, 0x340, 0x341, 0x342, 0x343,
					 0x344, 0xb00, 0xb02, 0xb80, 0xb82 };
	uint32_t x, y;
	unsigned int i;

	for (i = 0; i <= RV32_REG_PC; i++) {
		if (rv32_reg(a->core, i) != rv32_reg(b->core, i))
			abort();
	}
	for (i = 0; i < sizeof(csrs) / sizeof(csrs[0]); i++) {
		if (!rv32_csr(a->core, csrs[i], &x) || !rv32_csr(b->core, csrs[i], &y) || x != y)
			abort();
	}
	if (memcmp(a->memory, b->memory, SIZE))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct machine once, steps;
	unsigned int i;

	machine_init(&once, data, size);
	machine_init(&steps, data, size);
	rv32_run(once.core, STEPS, NULL);
	for (i = 0; i < STEPS; i++)
		rv32_run(steps.core, 1, NULL);
	check(once.core);
	compare(&once, &steps);
	rv32_destroy(once.core);
	rv32_destroy(steps.core);
	return 0;
}
