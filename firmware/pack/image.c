// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "pack.h"

static npu_u32 round_up(npu_u32 n)
{
	return (n + 3) & ~3u;
}

/* Bytes of header, ranges and data; ranges begin at multiples of 4. */
static npu_u64 image_size_of(const struct fw_elf *elf)
{
	npu_u64 size = sizeof(struct npu_fw_image) + elf->num_ranges * sizeof(struct npu_fw_range);
	npu_u32 i;

	for (i = 0; i < elf->num_ranges; i++)
		size += (npu_u64)elf->range[i].file_size + 3;
	return size;
}

/* The end of the highest range. */
static npu_u32 memory_needed(const struct fw_elf *elf)
{
	npu_u32 end = 0, i;

	for (i = 0; i < elf->num_ranges; i++) {
		if (elf->range[i].load_address + elf->range[i].mem_size > end)
			end = elf->range[i].load_address + elf->range[i].mem_size;
	}
	return round_up(end);
}

/* The data of each range, behind one another; returns where they end. */
static npu_u32 put_ranges(npu_u8 *image, const npu_u8 *file, const struct fw_elf *elf)
{
	struct npu_fw_range *range = (void *)(image + sizeof(struct npu_fw_image));
	npu_u32 at = sizeof(struct npu_fw_image) + elf->num_ranges * sizeof(*range), i;

	for (i = 0; i < elf->num_ranges; i++) {
		range[i] = elf->range[i];
		range[i].file_offset = at;
		memcpy(image + at, file + elf->range[i].file_offset, range[i].file_size);
		at = round_up(at + range[i].file_size);
	}
	return at;
}

npu_u8 *fw_image_make(const npu_u8 *file, const struct fw_elf *elf, const char *version,
		      size_t *image_size, char *why, size_t why_size)
{
	struct npu_fw_image *header;
	npu_u8 *image;

	if (strlen(version) >= sizeof(header->version)) {
		snprintf(why, why_size, "version '%s' has more than %zu characters", version,
			 sizeof(header->version) - 1);
		return NULL;
	}
	if (image_size_of(elf) > NPU_FW_MAX_IMAGE) {
		snprintf(why, why_size, "the image would have more than %u bytes",
			 NPU_FW_MAX_IMAGE);
		return NULL;
	}
	image = calloc(1, image_size_of(elf));
	if (!image) {
		snprintf(why, why_size, "no memory");
		return NULL;
	}
	header = (void *)image;
	*header = (struct npu_fw_image){ .magic = NPU_FW_IMAGE_MAGIC,
					 .header_size = sizeof(*header),
					 .abi_min = NPU_FW_ABI_MIN,
					 .abi_max = NPU_FW_ABI_MAX,
					 .hw_version = NPU_HW_VERSION,
					 .entry = elf->entry,
					 .num_ranges = elf->num_ranges,
					 .tcm_size = memory_needed(elf) };
	memcpy(header->build_id, elf->build_id, sizeof(header->build_id));
	memcpy(header->version, version, strlen(version));
	header->image_size = put_ranges(image, file, elf);
	header->crc = (npu_u32)crc32(0, image, header->image_size);
	*image_size = header->image_size;
	return image;
}
