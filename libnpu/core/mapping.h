/* SPDX-License-Identifier: MIT */
#ifndef NPU_CORE_MAPPING_H
#define NPU_CORE_MAPPING_H

#include <stdint.h>

#define NPU_HUGE_PAGE	(2u << 20)

/* @size rounded up to pages: what munmap() of an npu_mapping_new() takes. */
uint64_t npu_mapping_size(uint64_t size);

/*
 * Anonymous addresses of this process, zero at first; @prot as for mmap(), PROT_NONE: nothing is
 * there yet. Those of a large page and more begin at a multiple of one. NULL with errno.
 */
void *npu_mapping_new(uint64_t size, int prot);

#endif
