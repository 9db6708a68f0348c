// SPDX-License-Identifier: GPL-2.0-only
/*
 * The firmware file: every field of its header is checked, and the name of the one that is wrong
 * goes to the log. It is kept for DMA, because the device loads it again at each reset.
 */
#include <linux/crc32.h>
#include <linux/dma-mapping.h>
#include <linux/firmware.h>
#include <linux/overflow.h>

#include <drm/drm_print.h>

#include "npu_device.h"
#include "npu_fw.h"
#include "npu_hw.h"

#define NPU_FW_NAME		"npu/npu_fw.bin"
#define NPU_FW_COPY_MS		1000

MODULE_FIRMWARE(NPU_FW_NAME);

static int npu_fw_bad(struct npu_device *npu, const char *field, u64 value, const char *expected,
		      u64 limit)
{
	drm_err(&npu->base, NPU_FW_NAME ": %s is %#llx, expected %s %#llx\n", field, value,
		expected, limit);

	return -EINVAL;
}

/* The check sum is over the file with its own field zero. */
static u32 npu_fw_image_crc(const struct firmware *file)
{
	const size_t at = offsetof(struct npu_fw_image, crc);
	const u32 zero = 0;
	u32 crc;

	crc = crc32_le(~0, file->data, at);
	crc = crc32_le(crc, (const u8 *)&zero, sizeof(zero));
	crc = crc32_le(crc, file->data + at + sizeof(zero), file->size - at - sizeof(zero));

	return ~crc;
}

static int npu_fw_check_file(struct npu_device *npu, const struct firmware *file)
{
	struct npu_fw_image *header = &npu->fw.header;

	if (file->size < sizeof(*header))
		return npu_fw_bad(npu, "file size", file->size, "at least", sizeof(*header));
	if (file->size > NPU_FW_MAX_IMAGE)
		return npu_fw_bad(npu, "file size", file->size, "at most", NPU_FW_MAX_IMAGE);

	memcpy(header, file->data, sizeof(*header));
	if (header->magic != NPU_FW_IMAGE_MAGIC)
		return npu_fw_bad(npu, "magic", header->magic, "equal to", NPU_FW_IMAGE_MAGIC);
	if (header->header_size != sizeof(*header))
		return npu_fw_bad(npu, "header_size", header->header_size, "equal to",
				  sizeof(*header));
	if (header->image_size != file->size)
		return npu_fw_bad(npu, "image_size", header->image_size, "the file's", file->size);
	if (header->crc != npu_fw_image_crc(file))
		return npu_fw_bad(npu, "crc", header->crc, "equal to", npu_fw_image_crc(file));

	return 0;
}

static int npu_fw_check_header(struct npu_device *npu)
{
	const u32 hw_version = npu->caps.hw_version;
	struct npu_fw_image *header = &npu->fw.header;
	int i;

	if (header->abi_min > header->abi_max)
		return npu_fw_bad(npu, "abi_min", header->abi_min, "at most abi_max",
				  header->abi_max);
	if (header->abi_min > NPU_FW_ABI_MAX)
		return npu_fw_bad(npu, "abi_min", header->abi_min, "at most", NPU_FW_ABI_MAX);
	if (header->abi_max < NPU_FW_ABI_MIN)
		return npu_fw_bad(npu, "abi_max", header->abi_max, "at least", NPU_FW_ABI_MIN);
	if (NPU_HW_VERSION_MAJOR(header->hw_version) != NPU_HW_VERSION_MAJOR(hw_version) ||
	    header->hw_version > hw_version)
		return npu_fw_bad(npu, "hw_version", header->hw_version, "one that fits",
				  hw_version);
	if (header->tcm_size > npu->caps.tcm_size)
		return npu_fw_bad(npu, "tcm_size", header->tcm_size, "at most",
				  npu->caps.tcm_size);
	if (header->num_ranges < 1 || header->num_ranges > NPU_FW_MAX_RANGES)
		return npu_fw_bad(npu, "num_ranges", header->num_ranges, "1 to",
				  NPU_FW_MAX_RANGES);
	if (strnlen(header->version, sizeof(header->version)) == sizeof(header->version))
		return npu_fw_bad(npu, "version", 0, "a text shorter than",
				  sizeof(header->version));
	for (i = 0; i < ARRAY_SIZE(header->reserved); i++) {
		if (header->reserved[i])
			return npu_fw_bad(npu, "reserved", header->reserved[i], "equal to", 0);
	}

	return 0;
}

static int npu_fw_check_range(struct npu_device *npu, const struct npu_fw_range *range, u64 data)
{
	const struct npu_fw_image *header = &npu->fw.header;

	if (range->file_offset % 4 || range->file_offset < data)
		return npu_fw_bad(npu, "range.file_offset", range->file_offset,
				  "a multiple of 4 from", data);
	if (range->file_offset > header->image_size)
		return npu_fw_bad(npu, "range.file_offset", range->file_offset, "at most",
				  header->image_size);
	if (range->file_size > header->image_size - range->file_offset)
		return npu_fw_bad(npu, "range.file_size", range->file_size, "at most",
				  header->image_size - range->file_offset);
	if (range->mem_size < range->file_size)
		return npu_fw_bad(npu, "range.mem_size", range->mem_size, "at least",
				  range->file_size);
	if (range->load_address % 4 || range->load_address > npu->caps.tcm_size)
		return npu_fw_bad(npu, "range.load_address", range->load_address,
				  "a multiple of 4 up to", npu->caps.tcm_size);
	if (range->mem_size > npu->caps.tcm_size - range->load_address)
		return npu_fw_bad(npu, "range.mem_size", range->mem_size, "at most",
				  npu->caps.tcm_size - range->load_address);

	return 0;
}

/* Fills npu_fw.ranges; *@zeros is the most that one of them has to be cleared. */
static int npu_fw_check_ranges(struct npu_device *npu, const struct firmware *file, u32 *zeros)
{
	struct npu_fw *fw = &npu->fw;
	u64 data = sizeof(fw->header) + (u64)fw->header.num_ranges * sizeof(struct npu_fw_range);
	bool entry = false;
	u32 i;
	int ret;

	if (data > file->size)
		return npu_fw_bad(npu, "num_ranges", fw->header.num_ranges, "to fit in a file of",
				  file->size);

	*zeros = 0;
	for (i = 0; i < fw->header.num_ranges; i++) {
		struct npu_fw_range range;

		memcpy(&range, file->data + sizeof(fw->header) + i * sizeof(range), sizeof(range));
		ret = npu_fw_check_range(npu, &range, data);
		if (ret)
			return ret;
		fw->ranges[i] = (struct npu_fw_range_copy) {
			.offset = range.file_offset,
			.file_size = range.file_size,
			.address = range.load_address,
			.mem_size = range.mem_size,
		};
		*zeros = max(*zeros, range.mem_size - range.file_size);
		entry |= fw->header.entry >= range.load_address &&
			 fw->header.entry - range.load_address < range.file_size;
	}
	if (!entry || fw->header.entry % 2)
		return npu_fw_bad(npu, "entry", fw->header.entry, "an even address in one of",
				  fw->header.num_ranges);

	return 0;
}

static int npu_fw_check(struct npu_device *npu, const struct firmware *file, u32 *zeros)
{
	int ret;

	ret = npu_fw_check_file(npu, file);
	if (!ret)
		ret = npu_fw_check_header(npu);
	if (!ret)
		ret = npu_fw_check_ranges(npu, file, zeros);

	return ret;
}

/**
 * npu_fw_image_load() - read the file, check it, keep it for the device
 * @npu: device
 *
 * Return: 0, -EINVAL when the file is refused, or another negative errno.
 */
int npu_fw_image_load(struct npu_device *npu)
{
	struct npu_fw *fw = &npu->fw;
	const struct firmware *file;
	u32 zeros;
	int ret;

	ret = request_firmware(&file, NPU_FW_NAME, npu->base.dev);
	if (ret) {
		drm_err(&npu->base, NPU_FW_NAME " can not be read: %d\n", ret);
		return ret;
	}

	ret = npu_fw_check(npu, file, &zeros);
	if (ret)
		goto out_release;

	/* Copies are whole words; zeros come from behind the file. */
	fw->image_alloc = ALIGN(file->size, 8) + ALIGN(zeros, 4) + 4;
	fw->image = dma_alloc_coherent(npu->base.dev, fw->image_alloc, &fw->image_dma, GFP_KERNEL);
	if (!fw->image) {
		ret = -ENOMEM;
		goto out_release;
	}
	memcpy(fw->image, file->data, file->size);
	fw->abi = min(fw->header.abi_max, NPU_FW_ABI_MAX);

out_release:
	release_firmware(file);
	return ret;
}

void npu_fw_image_unload(struct npu_device *npu)
{
	struct npu_fw *fw = &npu->fw;

	dma_free_coherent(npu->base.dev, fw->image_alloc, fw->image, fw->image_dma);
	fw->image = NULL;
}

static bool npu_fw_copy_is_done(u32 state)
{
	return state != NPU_FW_COPY_BUSY;
}

static int npu_fw_copy(struct npu_device *npu, u64 offset, u32 address, u32 size)
{
	u32 state;
	int ret;

	if (!size)
		return 0;

	npu_hw_write64(npu, NPU_REG_FW_SRC, npu->fw.image_dma + offset);
	npu_hw_write(npu, NPU_REG_FW_DST, address);
	npu_hw_write(npu, NPU_REG_FW_SIZE, size);
	npu_hw_write(npu, NPU_REG_FW_COPY, 1);
	ret = npu_hw_poll(npu, NPU_REG_FW_COPY, npu_fw_copy_is_done, NPU_FW_COPY_MS, &state);
	if (ret || state != NPU_FW_COPY_DONE) {
		drm_err(&npu->base, "copying firmware to %#x failed: state %u\n", address, state);
		return -EIO;
	}

	return 0;
}

/**
 * npu_fw_image_copy() - load the firmware into the halted management processor
 * @npu: device
 *
 * Return: 0 or -EIO.
 */
int npu_fw_image_copy(struct npu_device *npu)
{
	struct npu_fw *fw = &npu->fw;
	u64 zeros = ALIGN(fw->header.image_size, 8);
	u32 i;
	int ret;

	for (i = 0; i < fw->header.num_ranges; i++) {
		const struct npu_fw_range_copy *range = &fw->ranges[i];

		ret = npu_fw_copy(npu, range->offset, range->address, range->file_size);
		if (!ret)
			ret = npu_fw_copy(npu, zeros, range->address + range->file_size,
					  range->mem_size - range->file_size);
		if (ret)
			return ret;
	}

	return 0;
}
