/* SPDX-License-Identifier: GPL-2.0-only */
/* What there is of a device's objects, its DMA mappings, and memory of the kernel. */
#ifndef NPU_CENSUS_H
#define NPU_CENSUS_H

#include <stdint.h>

struct npu_census {
	int64_t objects;	/* buffers, address spaces and queues; -1: debugfs does not say */
	int64_t mapped;		/* bytes, by the device's own count; -1: no host */
	int64_t memory;		/* KiB that are the kernel's, caches of files left out */
};

/*
 * Count, of the device of this PCI address, with no user left; waits a moment for what is released
 * in the background.
 */
void npu_census_take(const char *name, struct npu_census *census);

#endif
