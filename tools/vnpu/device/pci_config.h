/* SPDX-License-Identifier: MIT */
/* The config space of the PCI function: its bytes at reset, what a write changes, what it means. */
#ifndef NPU_PCI_CONFIG_H
#define NPU_PCI_CONFIG_H

#include <stdbool.h>
#include "npu_isa.h"

#define PCI_CONFIG_SIZE		4096u

/* Where the capabilities are. */
#define PCI_CONFIG_PM		0x40u
#define PCI_CONFIG_MSI		0x50u
#define PCI_CONFIG_EXPRESS	0x70u

/* What a write asks for, beside the bytes. */
#define PCI_CONFIG_DO_FLR	1u	/* function level reset */
#define PCI_CONFIG_DO_POWER_ON	2u	/* from D3hot to D0, which resets */

void pci_config_init(npu_u8 *config);

/* Offset and size are in range. Returns PCI_CONFIG_DO_*. */
npu_u32 pci_config_write(npu_u8 *config, npu_u32 offset, const npu_u8 *data, npu_u32 size);

/* Bus master enable, in D0. */
bool pci_config_bus_master(const npu_u8 *config);
/* Registers answer: memory space enable, in D0. */
bool pci_config_memory(const npu_u8 *config);
bool pci_config_msi_masked(const npu_u8 *config);
void pci_config_msi_pending(npu_u8 *config, bool pending);

#endif
