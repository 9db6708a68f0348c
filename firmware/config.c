// SPDX-License-Identifier: MIT
/* The driver's configuration: read once, then checked member by member. */
#include "fw.h"

#define OFFSET(member)	offsetof(struct npu_fw_config, member)

bool fw_range_ok(npu_u32 addr, npu_u32 size, npu_u32 align)
{
	return addr >= NPU_KERNEL_VA_START && !(addr & (align - 1)) &&
	       size <= NPU_KERNEL_VA_END - addr;
}

static bool ring_ok(npu_u32 base, npu_u32 entries, npu_u32 size)
{
	return entries && entries <= FW_MAX_ENTRIES && !(entries & (entries - 1)) &&
	       fw_range_ok(base, entries * size, 8);
}

static bool index_ok(npu_u32 addr)
{
	return fw_range_ok(addr, sizeof(struct npu_fw_index), 4);
}

static bool log_ok(const struct npu_fw_config *c)
{
	npu_u32 data = c->log_size - sizeof(struct npu_fw_log);

	return c->log_size > sizeof(struct npu_fw_log) && !(data & (data - 1)) &&
	       fw_range_ok(c->log, c->log_size, 4);
}

/* Offset of the first member that is wrong; the structure's size when none is. */
static npu_u32 first_wrong(const struct npu_fw_config *c)
{
	npu_u32 i;

	if (c->magic != NPU_FW_CONFIG_MAGIC)
		return OFFSET(magic);
	if (c->size < sizeof(*c))
		return OFFSET(size);
	if (!c->num_queues || c->num_queues > NPU_HW_MAX_QUEUES)
		return OFFSET(num_queues);
	if (!ring_ok(c->ctl_ring, c->ctl_entries, sizeof(struct npu_fw_ctl)))
		return OFFSET(ctl_ring);
	if (!index_ok(c->ctl_index))
		return OFFSET(ctl_index);
	if (!ring_ok(c->msg_ring, c->msg_entries, sizeof(struct npu_fw_msg)))
		return OFFSET(msg_ring);
	if (!index_ok(c->msg_index))
		return OFFSET(msg_index);
	if (!log_ok(c))
		return OFFSET(log);
	if (!fw_range_ok(c->queue_state, c->num_queues * sizeof(struct npu_fw_queue_state), 4))
		return OFFSET(queue_state);
	if (!fw_range_ok(c->info, sizeof(struct npu_fw_info), 4))
		return OFFSET(info);
	if (!fw_range_ok(c->results, NPU_HW_MAX_ENGINES * sizeof(struct npu_hw_result), 8))
		return OFFSET(results);
	if (c->log_level > NPU_FW_LOG_DEBUG)
		return OFFSET(log_level);
	for (i = 0; i < sizeof(c->reserved) / 4; i++) {
		if (c->reserved[i])
			return OFFSET(reserved) + 4 * i;
	}
	return sizeof(*c);
}

/* Why a configuration is refused stands in the log, if that much of it is right. */
enum npu_fw_boot fw_config_load(struct fw *fw)
{
	struct npu_fw_config *c = &fw->config;
	npu_u32 at = fw_reg_read(NPU_MCU_FW_CONFIG), wrong;

	if (!fw_range_ok(at, sizeof(*c), 4) || !fw_copy_from(c, at, sizeof(*c) / 4))
		return NPU_FW_BOOT_BAD_CONFIG;
	if (c->magic == NPU_FW_CONFIG_MAGIC && log_ok(c))
		fw_log_init(fw);
	wrong = first_wrong(c);
	if (wrong != sizeof(*c)) {
		fw_log(fw, NPU_FW_LOG_ERROR, "the configuration is wrong at offset %u", wrong);
		return NPU_FW_BOOT_BAD_CONFIG;
	}
	if (c->abi < NPU_FW_ABI_MIN || c->abi > NPU_FW_ABI_MAX) {
		fw_log(fw, NPU_FW_LOG_ERROR, "ABI %u is asked for, this firmware has %u to %u",
		       c->abi, NPU_FW_ABI_MIN, NPU_FW_ABI_MAX);
		return NPU_FW_BOOT_BAD_ABI;
	}
	return NPU_FW_BOOT_READY;
}
