/* SPDX-License-Identifier: MIT */
/*
 * Makes the check sums of a job file good, or a fuzzer would never get behind them. @size bytes at
 * @file, aligned to 8.
 */
#ifndef FUZZ_REPAIR_H
#define FUZZ_REPAIR_H

#include <stdint.h>
#include <zlib.h>
#include "core/jobfile_format.h"

static inline void fuzz_repair(uint8_t *file, size_t size)
{
	struct npu_jf_header *h = (struct npu_jf_header *)file;
	struct npu_jf_section *s;
	npu_u32 i;

	if (size < sizeof(*h))
		return;
	h->file_size = size;
	if (h->section_offset % 8 == 0 && h->section_offset <= size &&
	    h->section_size == sizeof(*s) && h->num_sections <= NPU_JF_MAX_SECTIONS &&
	    h->num_sections * sizeof(*s) <= size - h->section_offset) {
		s = (struct npu_jf_section *)(file + h->section_offset);
		for (i = 0; i < h->num_sections; i++)
			if (s[i].offset <= size && s[i].size <= size - s[i].offset)
				s[i].crc = crc32_z(0, file + s[i].offset, s[i].size);
		h->section_crc = crc32_z(0, (uint8_t *)s, h->num_sections * sizeof(*s));
	}
	h->header_crc = 0;
	if (h->header_size <= size)
		h->header_crc = crc32_z(0, file, h->header_size);
}

#endif
