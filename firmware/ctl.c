// SPDX-License-Identifier: MIT
/* Control messages. */
#include "fw.h"

#define OFFSET(member)	offsetof(struct npu_fw_ctl, member)

/* What a command comes to; DEFERRED: the answer is given later. */
struct outcome {
	enum npu_fw_status status;
	npu_u32 arg;
	bool deferred;
};

static struct outcome refuse(enum npu_fw_status status, npu_u32 arg)
{
	return (struct outcome){ .status = status, .arg = arg };
}

static struct outcome done(void)
{
	return (struct outcome){ .status = NPU_FW_OK };
}

static bool entries_ok(npu_u32 entries)
{
	return entries && entries <= FW_MAX_ENTRIES && !(entries & (entries - 1));
}

/* Offset of the first member that is wrong; the message's size when none is. */
static npu_u32 first_wrong(const struct fw *fw, const struct npu_fw_ctl *ctl)
{
	npu_u32 i;

	if (!ctl->job_id)
		return OFFSET(job_id);
	if (ctl->priority >= NPU_NUM_FW_PRIORITIES)
		return OFFSET(priority);
	if (!entries_ok(ctl->entries))
		return OFFSET(entries);
	if (!fw_range_ok(ctl->ring, ctl->entries * sizeof(struct npu_fw_job), 8))
		return OFFSET(ring);
	if (!fw_range_ok(ctl->index, sizeof(struct npu_fw_index), 4))
		return OFFSET(index);
	if (!fw_range_ok(ctl->save, fw->save_size, 8))
		return OFFSET(save);
	for (i = 0; i < sizeof(ctl->reserved) / 4; i++) {
		if (ctl->reserved[i])
			return OFFSET(reserved) + 4 * i;
	}
	return sizeof(*ctl);
}

static struct outcome queue_create(struct fw *fw, const struct npu_fw_ctl *ctl)
{
	npu_u32 wrong = first_wrong(fw, ctl);
	struct fw_queue *queue;

	if (ctl->queue >= fw->num_queues || fw->queue[ctl->queue].state != NPU_FW_QUEUE_NONE)
		return refuse(NPU_FW_BAD_QUEUE, OFFSET(queue));
	if (wrong != sizeof(*ctl))
		return refuse(NPU_FW_BAD_ARG, wrong);
	queue = &fw->queue[ctl->queue];
	*queue = (struct fw_queue){ .state = NPU_FW_QUEUE_IDLE, .priority = ctl->priority,
				    .save = ctl->save, .job_id = ctl->job_id,
				    .id = (npu_u16)ctl->queue };
	fw_ring_init(&queue->ring, ctl->ring, ctl->entries, ctl->index);
	fw_log(fw, NPU_FW_LOG_INFO, "queue %u: created, priority %u, %u entries, first job %llu",
	       queue->id, queue->priority, ctl->entries, (unsigned long long)queue->job_id);
	fw_queue_publish(fw, queue);
	fw_queue_look(fw, queue);
	return done();
}

static struct fw_queue *find_queue(struct fw *fw, const struct npu_fw_ctl *ctl)
{
	if (ctl->queue >= fw->num_queues || fw->queue[ctl->queue].state == NPU_FW_QUEUE_NONE)
		return NULL;
	return &fw->queue[ctl->queue];
}

/* What is in its ring or saved is dropped without a word. */
static struct outcome queue_destroy(struct fw *fw, const struct npu_fw_ctl *ctl)
{
	struct fw_queue *queue = find_queue(fw, ctl);

	if (!queue)
		return refuse(NPU_FW_BAD_QUEUE, OFFSET(queue));
	if (queue->state == NPU_FW_QUEUE_RUNNING || queue->aborting || queue->cancelling)
		return refuse(NPU_FW_BUSY, 0);
	fw_queue_unwait(fw, queue);
	fw_queue_forget(fw, queue);
	queue->state = NPU_FW_QUEUE_NONE;
	fw_queue_publish(fw, queue);
	fw_log(fw, NPU_FW_LOG_INFO, "queue %u: destroyed", queue->id);
	return done();
}

/* The new order stands for the one before it, which is answered as overtaken. */
static struct outcome queue_abort(struct fw *fw, const struct npu_fw_ctl *ctl)
{
	struct fw_queue *queue = find_queue(fw, ctl);

	if (!queue)
		return refuse(NPU_FW_BAD_QUEUE, OFFSET(queue));
	if (queue->aborting)
		fw_msg_answer(fw, queue->abort_seq, queue->id, NPU_FW_BUSY, 0);
	else
		fw->num_ending++;
	if (!queue->aborting || ctl->job_id > queue->abort_to)
		queue->abort_to = ctl->job_id;
	queue->aborting = true;
	queue->abort_seq = ctl->seq;
	fw_log(fw, NPU_FW_LOG_INFO, "queue %u: abort up to job %llu", queue->id,
	       (unsigned long long)queue->abort_to);
	/* Entries that no doorbell has told of yet are meant, too. */
	fw_queue_look(fw, queue);
	if (queue->state == NPU_FW_QUEUE_RUNNING && fw_queue_is_doomed(queue))
		fw_engine_stop(fw, &fw->engine[queue->engine]);
	return (struct outcome){ .deferred = true };
}

/* One that is not at the head yet is kept from beginning by its entry, see check_job(). */
static struct outcome job_cancel(struct fw *fw, const struct npu_fw_ctl *ctl)
{
	struct fw_queue *queue = find_queue(fw, ctl);

	if (!queue)
		return refuse(NPU_FW_BAD_QUEUE, OFFSET(queue));
	if (queue->state == NPU_FW_QUEUE_IDLE || queue->job_id != ctl->job_id || queue->cancelling)
		return done();
	queue->cancelling = true;
	fw->num_ending++;
	fw_log(fw, NPU_FW_LOG_INFO, "queue %u: cancel of job %llu", queue->id,
	       (unsigned long long)queue->job_id);
	if (queue->state == NPU_FW_QUEUE_RUNNING)
		fw_engine_stop(fw, &fw->engine[queue->engine]);
	return done();
}

static struct outcome suspend(struct fw *fw, const struct npu_fw_ctl *ctl)
{
	if (fw->suspending)
		return refuse(NPU_FW_BUSY, 0);
	fw->suspending = true;
	fw->suspend_seq = ctl->seq;
	return (struct outcome){ .deferred = true };
}

static struct outcome execute(struct fw *fw, const struct npu_fw_ctl *ctl)
{
	switch (ctl->cmd) {
	case NPU_FW_CTL_PING:
		return done();
	case NPU_FW_CTL_QUEUE_CREATE:
		return queue_create(fw, ctl);
	case NPU_FW_CTL_QUEUE_DESTROY:
		return queue_destroy(fw, ctl);
	case NPU_FW_CTL_QUEUE_ABORT:
		return queue_abort(fw, ctl);
	case NPU_FW_CTL_SUSPEND:
		return suspend(fw, ctl);
	case NPU_FW_CTL_LOG_LEVEL:
		if (ctl->arg > NPU_FW_LOG_DEBUG)
			return refuse(NPU_FW_BAD_ARG, OFFSET(arg));
		fw->config.log_level = ctl->arg;
		return done();
	case NPU_FW_CTL_SLICE:
		fw->config.slice_us = ctl->arg;
		return done();
	case NPU_FW_CTL_JOB_CANCEL:
		return job_cancel(fw, ctl);
	default:
		return refuse(NPU_FW_BAD_CMD, OFFSET(cmd));
	}
}

static void handle(struct fw *fw, const struct npu_fw_ctl *ctl)
{
	struct outcome outcome = execute(fw, ctl);

	fw_count(fw, NPU_FW_COUNTER_CTL);
	if (outcome.deferred)
		return;
	if (outcome.status != NPU_FW_OK)
		fw_log(fw, NPU_FW_LOG_WARN, "command %u (queue %u): status %u at offset %u",
		       ctl->cmd, ctl->queue, outcome.status, outcome.arg);
	fw_msg_answer(fw, ctl->seq, ctl->queue, outcome.status, outcome.arg);
}

/* Said once. */
static void look_at_tail(struct fw *fw)
{
	if (fw_ring_update(&fw->ctl)) {
		fw->ctl.broken = false;
		return;
	}
	if (fw->ctl.broken || !fw_msg_room(fw, 1))
		return;
	fw->ctl.broken = true;
	fw_log(fw, NPU_FW_LOG_ERROR, "the tail of the control ring is not within %u of %u",
	       fw->ctl.entries, fw->ctl.head);
	fw_msg_answer(fw, 0, 0, NPU_FW_BAD_INDEX, offsetof(struct npu_fw_index, tail));
}

static void ctl_commands(struct fw *fw)
{
	struct npu_fw_ctl ctl;

	while (fw->ctl.head != fw->ctl.tail && fw_msg_room(fw, 1)) {
		npu_u32 at = fw_ring_entry(&fw->ctl, fw->ctl.head, sizeof(ctl));

		if (!fw_copy_from(&ctl, at, sizeof(ctl) / 4))
			ctl = (struct npu_fw_ctl){ .cmd = 0 };
		fw_ring_take(&fw->ctl);
		handle(fw, &ctl);
	}
}

static bool nothing_begun(const struct fw *fw)
{
	npu_u32 i;

	for (i = 0; i < fw->num_waiting; i++) {
		if (fw->queue[fw->waiting[i]].begun)
			return false;
	}
	return fw_engines_all_free(fw);
}

void fw_ctl_suspend(struct fw *fw)
{
	if (fw->suspended || !nothing_begun(fw) || !fw_msg_room(fw, 1))
		return;
	fw->suspended = true;
	fw_log(fw, NPU_FW_LOG_INFO, "suspended");
	fw_set_boot(fw, NPU_FW_BOOT_SUSPENDED);
	fw_msg_answer(fw, fw->suspend_seq, 0, NPU_FW_OK, 0);
}

void fw_ctl_turn(struct fw *fw)
{
	if (fw->pending & NPU_MCU_PENDING_CTL) {
		fw_reg_write(NPU_MCU_CTL, 1);
		look_at_tail(fw);
	}
	ctl_commands(fw);
}
