/* SPDX-License-Identifier: MIT */
/*
 * Memory that this process can still have. A pure function of the file system below @root ("" is
 * the real one; tests use others). Thread safe.
 */
#ifndef NPU_CORE_MEMORY_H
#define NPU_CORE_MEMORY_H

#include <stdint.h>

#define NPU_MEMORY_UNKNOWN	UINT64_MAX

struct npu_memory_room {
	uint64_t bytes;			/* or NPU_MEMORY_UNKNOWN: nothing says */
	char limit[160];		/* what sets the bound, for texts */
};

/*
 * The least of what the machine has (what it can take back of file caches included), what the
 * control groups of the process leave, of version 2 and 1, and what ulimit -v leaves.
 */
void npu_memory_room(const char *root, struct npu_memory_room *out);

/* Bytes of this process that are resident, code and libraries included; 0: not known. */
uint64_t npu_memory_resident(void);

#endif
