// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: a job file. Its check sums are made good first, or nothing behind them would be
 * reached; what parses is looked at from all sides.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "core/jobfile_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void repair(uint8_t *file, size_t size)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npu_jobfile *job = NULL;
	struct npu_error err = { 0 };
	uint8_t *copy = malloc(size + 8);
	void *again = NULL;
	size_t again_size;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	repair(copy, size);
	if (npu_jobfile_parse(copy, size, 0, &job, &err)) {
		if (!err.text[0])
			abort();	/* a refusal has a reason */
	} else {
		/* What was read can be written. */
		if (npu_jobfile_encode(job, &again, &again_size, &err) == -22)
			abort();
		free(again);
		npu_jobfile_free(job);
	}
	free(copy);
	return 0;
}
