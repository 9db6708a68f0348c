/* SPDX-License-Identifier: MIT */
/* npu-fw-pack: from the linker's ELF file to the image that the driver loads. */
#ifndef FW_PACK_H
#define FW_PACK_H

#include <stddef.h>
#include "npu_hw.h"

/* What of an ELF file goes into an image. Data points into the file. */
struct fw_elf {
	npu_u32 entry;
	npu_u32 num_ranges;
	struct npu_fw_range range[NPU_FW_MAX_RANGES];	/* file_offset is that in the ELF file */
	npu_u8 build_id[20];
};

/* 0, or -1 with the reason, which names what was found and expected, in @why. */
int fw_elf_parse(const npu_u8 *file, size_t size, struct fw_elf *elf, char *why, size_t why_size);

/*
 * The image, for the caller to free; NULL with the reason in @why. @version is at most 31
 * characters.
 */
npu_u8 *fw_image_make(const npu_u8 *file, const struct fw_elf *elf, const char *version,
		      size_t *image_size, char *why, size_t why_size);

#endif
