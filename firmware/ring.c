// SPDX-License-Identifier: MIT
/* Rings in kernel memory, and the messages to the driver. */
#include "fw.h"

static npu_u32 tail_of(const struct fw_ring *ring)
{
	return ring->index + offsetof(struct npu_fw_index, tail);
}

static npu_u32 head_of(const struct fw_ring *ring)
{
	return ring->index + offsetof(struct npu_fw_index, head);
}

/* Both counts go on from where memory has them. */
void fw_ring_init(struct fw_ring *ring, npu_u32 base, npu_u32 entries, npu_u32 index)
{
	*ring = (struct fw_ring){ .base = base, .index = index, .entries = entries };
	fw_load(head_of(ring), &ring->head);
	fw_load(tail_of(ring), &ring->tail);
	if (ring->tail - ring->head > entries)
		ring->tail = ring->head;
}

npu_u32 fw_ring_entry(const struct fw_ring *ring, npu_u32 count, npu_u32 size)
{
	return ring->base + (count & (ring->entries - 1)) * size;
}

bool fw_ring_update(struct fw_ring *ring)
{
	npu_u32 tail;

	if (!fw_load(tail_of(ring), &tail) || tail - ring->head > ring->entries) {
		ring->tail = ring->head;
		return false;
	}
	ring->tail = tail;
	return true;
}

/* The entry at the head is done with. */
bool fw_ring_take(struct fw_ring *ring)
{
	ring->head++;
	return fw_store(head_of(ring), ring->head);
}

/*
 * Asked before anything that ends in a message is done: what there is no room for stays where it
 * is, a finished job on its engine and a command in its ring, and is looked at again later.
 */
bool fw_msg_room(struct fw *fw, npu_u32 count)
{
	struct fw_ring *ring = &fw->msg;
	npu_u32 head;

	if (ring->tail - ring->head + count <= ring->entries)
		return true;
	if (fw_load(head_of(ring), &head) && ring->tail - head <= ring->entries) {
		ring->head = head;
		ring->broken = false;
	} else if (!ring->broken) {
		ring->broken = true;
		fw_log(fw, NPU_FW_LOG_ERROR, "the head of the message ring is not within %u of %u",
		       ring->entries, ring->tail);
	}
	if (ring->tail - ring->head + count <= ring->entries)
		return true;
	if (!fw->msg_full)
		fw_count(fw, NPU_FW_COUNTER_MSG_FULL);
	fw->msg_full = true;
	return false;
}

/*
 * A driver that takes messages when it comes by may leave the ring to fill up, and is told before
 * that holds up jobs. Its count is as it was at the last look, so there may be less.
 */
static bool is_half_full(struct fw_ring *ring)
{
	npu_u32 head;

	if (ring->tail - ring->head <= ring->entries / 2)
		return false;
	if (fw_load(head_of(ring), &head) && ring->tail - head <= ring->entries)
		ring->head = head;
	return ring->tail - ring->head > ring->entries / 2;
}

void fw_msg_post(struct fw *fw, const struct npu_fw_msg *msg)
{
	struct fw_ring *ring = &fw->msg;
	/* The fault is the last member, and there is one with FAULTED alone. */
	npu_u32 size = msg->status == NPU_FW_FAULTED ? sizeof(*msg) :
						       offsetof(struct npu_fw_msg, fault);

	fw_copy_to(fw_ring_entry(ring, ring->tail, sizeof(*msg)), msg, size / 4);
	ring->tail++;
	fw_store(tail_of(ring), ring->tail);
	if (msg->type != NPU_FW_MSG_JOB || msg->status != NPU_FW_OK || is_half_full(ring))
		fw->awaited = true;
}

void fw_msg_tell(struct fw *fw)
{
	if (fw->awaited)
		fw_reg_write(NPU_MCU_HOST_IRQ, 1);
	fw->awaited = false;
}

void fw_msg_answer(struct fw *fw, npu_u32 seq, npu_u32 queue, enum npu_fw_status status,
		   npu_u32 arg)
{
	struct npu_fw_msg msg = { .type = NPU_FW_MSG_CTL, .seq = seq, .queue = queue,
				  .status = status, .arg = arg };

	fw_msg_post(fw, &msg);
}
