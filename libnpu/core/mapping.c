// SPDX-License-Identifier: MIT
#include "core/mapping.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#define PAGE	4096u

uint64_t npu_mapping_size(uint64_t size)
{
	return (size + PAGE - 1) / PAGE * PAGE;
}

/* Aligned by mapping more and giving both ends back. */
void *npu_mapping_new(uint64_t size, int prot)
{
	uint64_t room = npu_mapping_size(size), skip;
	uint64_t more = room < NPU_HUGE_PAGE ? 0 : NPU_HUGE_PAGE;
	char *p;

	if (room < size || room > SIZE_MAX - more) {
		errno = ENOMEM;
		return NULL;
	}
	p = mmap(NULL, room + more, prot,
		 MAP_PRIVATE | MAP_ANONYMOUS | (prot == PROT_NONE ? MAP_NORESERVE : 0), -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (!more)
		return p;
	skip = -(uintptr_t)p % NPU_HUGE_PAGE;
	if (skip)
		munmap(p, skip);
	if (more > skip)
		munmap(p + skip + room, more - skip);
	return p + skip;
}
