// SPDX-License-Identifier: MIT
/*
 * What bad firmware might put into the message ring, armed from the control socket. The firmware
 * itself is the good one and goes on: after a message that it knows nothing of, the ring looks to
 * it as if that message were not there.
 */
#include <stddef.h>
#include "core.h"

static bool kernel_copy(struct npu_mcu *mcu, npu_u64 va, void *buf, npu_u64 size, npu_u32 access)
{
	return !npu_mmu_copy(&mcu->core->mmu, NPU_KERNEL_CONTEXT, va, buf, size, access, NULL);
}

static bool take(struct npu_mcu *mcu, enum npu_vdev_fault id)
{
	return npu_vdev_fault_take(mcu->core->dev, id);
}

/* Slip a message in behind the last one; the firmware does not know of it. */
static void insert_message(struct npu_mcu *mcu, const struct npu_fw_config *cfg, npu_u32 *tail,
			   struct npu_fw_msg *msg)
{
	npu_u64 next = cfg->msg_ring + *tail % cfg->msg_entries * sizeof(*msg);

	if (!kernel_copy(mcu, next, msg, sizeof(*msg), NPU_ACCESS_WRITE))
		return;
	++*tail;
	mcu->skew.messages++;
	mcu->skew.ring = cfg->msg_ring;
	mcu->skew.entries = cfg->msg_entries;
	mcu->skew.index = cfg->msg_index;
}

/* What the firmware says of the next job when it finds the tail of a queue's ring impossible. */
static struct npu_fw_msg bad_tail(const struct npu_fw_msg *msg)
{
	return (struct npu_fw_msg){ .type = NPU_FW_MSG_JOB, .queue = msg->queue,
				    .status = NPU_FW_BAD_INDEX, .job_id = msg->job_id + 1,
				    .arg = offsetof(struct npu_fw_index, tail) };
}

static void tamper_message(struct npu_mcu *mcu, const struct npu_fw_config *cfg, npu_u32 *tail)
{
	npu_u64 last = cfg->msg_ring + (*tail - 1) % cfg->msg_entries * sizeof(struct npu_fw_msg);
	struct npu_fw_msg msg, more;

	/* These are about jobs: answers to control messages pass. */
	if (!kernel_copy(mcu, last, &msg, sizeof(msg), NPU_ACCESS_READ) ||
	    msg.type != NPU_FW_MSG_JOB)
		return;
	more = msg;
	if (take(mcu, NPU_VDEV_FAULT_BAD_ID)) {
		msg.job_id += 1ull << 40;
	} else if (take(mcu, NPU_VDEV_FAULT_BAD_INDEX)) {
		msg.queue = NPU_HW_MAX_QUEUES + 1000;
	} else if (take(mcu, NPU_VDEV_FAULT_DUPLICATE)) {
		insert_message(mcu, cfg, tail, &more);
	} else if (take(mcu, NPU_VDEV_FAULT_BAD_TAIL)) {
		more = bad_tail(&msg);
		insert_message(mcu, cfg, tail, &more);
	}
	kernel_copy(mcu, last, &msg, sizeof(msg), NPU_ACCESS_WRITE);
}

/* Faults that are about the message ring. */
static bool any_armed(struct npu_mcu *mcu)
{
	static const enum npu_vdev_fault faults[] = {
		NPU_VDEV_FAULT_BAD_ID, NPU_VDEV_FAULT_BAD_INDEX, NPU_VDEV_FAULT_DUPLICATE,
		NPU_VDEV_FAULT_BAD_LENGTH, NPU_VDEV_FAULT_BAD_TAIL,
	};
	unsigned int i;

	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (npu_vdev_fault_armed(mcu->core->dev, faults[i]))
			return true;
	}
	return false;
}

void npu_mcu_tamper(struct npu_mcu *mcu, npu_u32 addr, npu_u32 *value)
{
	npu_u32 at = npu_reg_get(&mcu->core->regs, NPU_REG_FW_CONFIG);
	struct npu_fw_config cfg;

	if (!any_armed(mcu))
		return;
	if (!kernel_copy(mcu, at, &cfg, sizeof(cfg), NPU_ACCESS_READ) ||
	    cfg.magic != NPU_FW_CONFIG_MAGIC || !cfg.msg_entries ||
	    cfg.msg_entries & (cfg.msg_entries - 1) ||
	    addr != cfg.msg_index + offsetof(struct npu_fw_index, tail))
		return;
	if (take(mcu, NPU_VDEV_FAULT_BAD_LENGTH))
		*value += cfg.msg_entries + 1;
	else
		tamper_message(mcu, &cfg, value);
}

npu_u32 npu_mcu_skewed(const struct npu_mcu *mcu, npu_u32 addr)
{
	const struct npu_mcu_skew *s = &mcu->skew;
	npu_u64 bytes = (npu_u64)s->entries * sizeof(struct npu_fw_msg), at = addr - s->ring;

	if (!s->messages || addr < s->ring || at >= bytes)
		return addr;
	return s->ring + (npu_u32)((at + (npu_u64)s->messages * sizeof(struct npu_fw_msg)) % bytes);
}

bool npu_mcu_is_tail(const struct npu_mcu *mcu, npu_u32 addr)
{
	return mcu->skew.messages &&
	       addr == mcu->skew.index + offsetof(struct npu_fw_index, tail);
}
