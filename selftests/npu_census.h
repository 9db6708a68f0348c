/* SPDX-License-Identifier: GPL-2.0-only */
/* What there is of a device's objects, its DMA mappings, and memory of the kernel. */
#ifndef NPU_CENSUS_H
#define NPU_CENSUS_H

#include <stdint.h>

struct npu_census {
	int64_t objects;	/* buffers, address spaces and queues; -1: debugfs does not say */
	int64_t mapped;		/* bytes, by the device's own count: npu_census_vdev() */
	int64_t memory;		/* KiB that are the kernel's, caches of files left out */
};

/* The host answers, but not with that. */
#define NPU_CENSUS_UNKNOWN	(-2)

/*
 * A counter of the first virtual device. -1 when there is no host; NPU_CENSUS_UNKNOWN when it does
 * not know the counter, which no test may take for an answer.
 */
int64_t npu_census_vdev(const char *name);

/*
 * Count, of the device of this PCI address, with no user left; waits a moment for what is released
 * in the background.
 */
void npu_census_take(const char *name, struct npu_census *census);

#endif
