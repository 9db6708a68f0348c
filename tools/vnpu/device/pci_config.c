// SPDX-License-Identifier: MIT
#include <string.h>
#include "npu_hw.h"
#include "pci_config.h"

#define COMMAND			0x04u
#define COMMAND_MEMORY		0x0002u
#define COMMAND_MASTER		0x0004u
#define PMCSR			(PCI_CONFIG_PM + 4)
#define PMCSR_STATE		0x0003u
#define MSI_MASK		(PCI_CONFIG_MSI + 0x10)
#define MSI_PENDING		(PCI_CONFIG_MSI + 0x14)
#define DEVCTL			(PCI_CONFIG_EXPRESS + 8)
#define DEVCTL_FLR		0x8000u

/*
 * All that is not zero: offset, size in bytes, value at reset, bits that a write changes. One MSI
 * vector with a mask, no MSI-X, no INTx; BAR0 alone, 64 bits, not prefetchable.
 */
static const struct field {
	npu_u16 offset, size;
	npu_u32 reset, writable;
} fields[] = {
	{ 0x00, 2, NPU_PCI_VENDOR_ID, 0 },
	{ 0x02, 2, NPU_PCI_DEVICE_ID, 0 },
	{ COMMAND, 2, 0, 0x0546 },		/* memory, master, parity, SERR, INTx disable */
	{ 0x06, 2, 0x0010, 0 },			/* status: there are capabilities */
	{ 0x08, 4, NPU_PCI_CLASS << 8 | NPU_PCI_REVISION, 0 },
	{ 0x0c, 1, 0, 0xff },			/* cache line size */
	{ 0x10, 4, 0x4, ~(NPU_BAR0_SIZE - 1) },	/* BAR0: 64 bits */
	{ 0x14, 4, 0, 0xffffffff },
	{ 0x2c, 2, NPU_PCI_VENDOR_ID, 0 },	/* subsystem */
	{ 0x2e, 2, 0x0001, 0 },
	{ 0x34, 1, PCI_CONFIG_PM, 0 },
	{ 0x3c, 1, 0, 0xff },			/* interrupt line; no pin */

	{ PCI_CONFIG_PM, 2, PCI_CONFIG_MSI << 8 | 0x01, 0 },
	{ PCI_CONFIG_PM + 2, 2, 0x0003, 0 },	/* version 1.2; D0 and D3hot, no PME */
	{ PMCSR, 2, 0, PMCSR_STATE },		/* D3hot to D0 resets */

	{ PCI_CONFIG_MSI, 2, PCI_CONFIG_EXPRESS << 8 | 0x05, 0 },
	{ PCI_CONFIG_MSI + 2, 2, 0x0180, 0x0071 }, /* one vector, 64 bits, maskable */
	{ PCI_CONFIG_MSI + 4, 4, 0, 0xfffffffc },
	{ PCI_CONFIG_MSI + 8, 4, 0, 0xffffffff },
	{ PCI_CONFIG_MSI + 0xc, 2, 0, 0xffff },
	{ MSI_MASK, 4, 0, 0x1 },
	{ MSI_PENDING, 4, 0, 0 },

	{ PCI_CONFIG_EXPRESS, 2, 0x10, 0 },	/* the last one */
	{ PCI_CONFIG_EXPRESS + 2, 2, 0x0002, 0 }, /* version 2, endpoint */
	{ PCI_CONFIG_EXPRESS + 4, 4, 0x10008000, 0 }, /* FLR, role based errors, 128 bytes */
	{ DEVCTL, 2, 0x2810, 0x78ff },
	{ PCI_CONFIG_EXPRESS + 0xc, 4, 0x00000011, 0 }, /* x1, 2.5 GT/s */
	{ PCI_CONFIG_EXPRESS + 0x10, 2, 0, 0x00c3 },
	{ PCI_CONFIG_EXPRESS + 0x12, 2, 0x0011, 0 },
};

static npu_u32 get(const npu_u8 *config, npu_u32 offset, npu_u32 size)
{
	npu_u32 v = 0, i;

	for (i = 0; i < size; i++)
		v |= (npu_u32)config[offset + i] << 8 * i;
	return v;
}

static void put(npu_u8 *config, npu_u32 offset, npu_u32 size, npu_u32 v)
{
	npu_u32 i;

	for (i = 0; i < size; i++)
		config[offset + i] = v >> 8 * i;
}

void pci_config_init(npu_u8 *config)
{
	npu_u32 i;

	memset(config, 0, PCI_CONFIG_SIZE);
	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		put(config, fields[i].offset, fields[i].size, fields[i].reset);
}

/* The bits of the byte at @offset that a write changes. */
static npu_u8 writable(npu_u32 offset)
{
	npu_u32 i;

	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (offset - fields[i].offset < fields[i].size)
			return fields[i].writable >> 8 * (offset - fields[i].offset);
	return 0;
}

npu_u32 pci_config_write(npu_u8 *config, npu_u32 offset, const npu_u8 *data, npu_u32 size)
{
	npu_u32 i, power = get(config, PMCSR, 2) & PMCSR_STATE, state, todo = 0;

	for (i = 0; i < size; i++) {
		npu_u8 mask = writable(offset + i), old = config[offset + i];

		config[offset + i] = (old & ~mask) | (data[i] & mask);
		if (offset + i == DEVCTL + 1 && (data[i] & DEVCTL_FLR >> 8))
			todo |= PCI_CONFIG_DO_FLR;
	}
	state = get(config, PMCSR, 2) & PMCSR_STATE;
	/* There are D0 and D3hot alone: a write of another state does nothing. */
	if (state == 1 || state == 2)
		config[PMCSR] = (config[PMCSR] & ~PMCSR_STATE) | power;
	else if (power && !state)
		todo |= PCI_CONFIG_DO_POWER_ON;
	return todo;
}

static bool is_on(const npu_u8 *config, npu_u32 bit)
{
	return (get(config, COMMAND, 2) & bit) && !(get(config, PMCSR, 2) & PMCSR_STATE);
}

bool pci_config_bus_master(const npu_u8 *config)
{
	return is_on(config, COMMAND_MASTER);
}

bool pci_config_memory(const npu_u8 *config)
{
	return is_on(config, COMMAND_MEMORY);
}

bool pci_config_msi_masked(const npu_u8 *config)
{
	return get(config, MSI_MASK, 4) & 1;
}

void pci_config_msi_pending(npu_u8 *config, bool pending)
{
	put(config, MSI_PENDING, 4, pending);
}
