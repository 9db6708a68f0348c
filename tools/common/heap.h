/* SPDX-License-Identifier: MIT */
/* dma-buf heaps. */
#ifndef TOOLS_COMMON_HEAP_H
#define TOOLS_COMMON_HEAP_H

#include "npu.h"

/*
 * @bytes (rounded up to pages) of /dev/dma_heap/@name as a dma-buf, zero; *@fd is the caller's.
 * Returns 0 or a negative errno; the text lists the heaps that there are when there is none of the
 * name.
 */
int npu_heap_alloc(const char *name, uint64_t bytes, int *fd, struct npu_error *err);

#endif
