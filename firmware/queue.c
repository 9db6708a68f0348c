// SPDX-License-Identifier: MIT
/* Queues: what of their rings is waiting, and how jobs leave them. */
#include "fw.h"

static npu_u32 state_of(const struct fw *fw, const struct fw_queue *queue)
{
	return fw->config.queue_state + queue->id * sizeof(struct npu_fw_queue_state);
}

/*
 * After a reset the driver counts jobs up to job_seq as started: it has to be in memory before the
 * engine is told, and in front of the first job when none was.
 */
void fw_queue_publish(struct fw *fw, struct fw_queue *queue)
{
	npu_u32 at = state_of(fw, queue);

	fw_store(at + offsetof(struct npu_fw_queue_state, job_seq),
		 (npu_u32)(queue->begun ? queue->job_id : queue->job_id - 1));
	fw_store(at + offsetof(struct npu_fw_queue_state, engine), queue->engine);
	fw_store(at + offsetof(struct npu_fw_queue_state, slices), queue->slices);
	fw_store(at + offsetof(struct npu_fw_queue_state, state), queue->state);
}

void fw_queue_publish_progress(struct fw *fw, struct fw_queue *queue,
			       const struct fw_engine *engine)
{
	npu_u32 at = state_of(fw, queue), regs = NPU_MCU_ENGINE(engine->index);

	fw_store(at + offsetof(struct npu_fw_queue_state, progress),
		 fw_reg_read(regs + NPU_ENGINE_PROGRESS) + queue->slices);
	fw_store(at + offsetof(struct npu_fw_queue_state, busy_us),
		 fw_reg_read(regs + NPU_ENGINE_BUSY));
}

void fw_queue_wait(struct fw *fw, struct fw_queue *queue, npu_u32 state)
{
	queue->state = state;
	if (!queue->waits) {
		queue->waits = true;
		queue->place = (npu_u16)fw->num_waiting;
		fw->waiting[fw->num_waiting++] = queue->id;
	}
	fw_queue_publish(fw, queue);
}

/* The last one moves into its place. */
void fw_queue_unwait(struct fw *fw, struct fw_queue *queue)
{
	npu_u16 last;

	if (!queue->waits)
		return;
	queue->waits = false;
	last = fw->waiting[--fw->num_waiting];
	fw->waiting[queue->place] = last;
	fw->queue[last].place = queue->place;
}

void fw_queue_forget(struct fw *fw, struct fw_queue *queue)
{
	if (queue->ring.broken && !queue->ring.said)
		fw->num_unsaid--;
	queue->ring.broken = false;
	queue->ring.said = false;
}

/* To be said once, not with every doorbell, and when there is room. */
static void look_at_tail(struct fw *fw, struct fw_queue *queue)
{
	if (fw_ring_update(&queue->ring)) {
		fw_queue_forget(fw, queue);
	} else if (!queue->ring.broken) {
		queue->ring.broken = true;
		fw->num_unsaid++;
		fw_log(fw, NPU_FW_LOG_ERROR,
		       "queue %u: the tail of its ring is not within %u of %u", queue->id,
		       queue->ring.entries, queue->ring.head);
	}
}

static void say_broken(struct fw *fw, struct fw_queue *queue)
{
	struct npu_fw_msg msg = { .type = NPU_FW_MSG_JOB, .queue = queue->id,
				  .status = NPU_FW_BAD_INDEX, .job_id = queue->job_id,
				  .arg = offsetof(struct npu_fw_index, tail) };

	if (!fw_msg_room(fw, 1))
		return;
	queue->ring.said = true;
	fw->num_unsaid--;
	fw_msg_post(fw, &msg);
}

/* Is there an entry in its ring? Then it waits. */
static bool has_entry(struct fw *fw, struct fw_queue *queue)
{
	look_at_tail(fw, queue);
	if (queue->ring.tail == queue->ring.head)
		return false;
	fw_queue_wait(fw, queue, NPU_FW_QUEUE_READY);
	return true;
}

/*
 * Firmware that is wrong on purpose, for the tests that must notice, takes its time where it is
 * wrong: what gets lost in between does so once in a long while otherwise.
 */
#if defined(NPU_FW_MUTANT_LOST_BELL) || defined(NPU_FW_MUTANT_LOST_END)
static void dawdle(void)
{
	npu_u32 i;

	for (i = 0; i < FW_DAWDLE; i++)
		fw_now();
}
#endif

/*
 * The driver stores the tail and then looks at the state: if that is not IDLE it need not ring. So
 * IDLE is stored first here, and the tail looked at behind it once more. With a full barrier on
 * both sides at least one of the two sees what the other has stored.
 */
static void settle(struct fw *fw, struct fw_queue *queue)
{
	if (has_entry(fw, queue))
		return;
#ifdef NPU_FW_MUTANT_LOST_BELL
	dawdle();
#endif
	fw_queue_unwait(fw, queue);
	queue->state = NPU_FW_QUEUE_IDLE;
	fw_queue_publish(fw, queue);
#ifndef NPU_FW_MUTANT_LOST_BELL
	fw_fence();
	has_entry(fw, queue);
#endif
}

/*
 * Does the driver want to be told of the end of this entry's job at once? It marks the entry and
 * then looks for the message. So the message is stored first, and the mark looked at behind it: as
 * above, what one of the two misses the other one sees.
 */
static bool is_awaited(const struct fw *fw, npu_u32 entry)
{
	npu_u32 notify;

	if (fw->config.abi < NPU_FW_ABI_QUIET)
		return true;
	fw_fence();
	return !fw_load(entry + offsetof(struct npu_fw_job, notify), &notify) || notify;
}

void fw_queue_look(struct fw *fw, struct fw_queue *queue)
{
	if (queue->state != NPU_FW_QUEUE_IDLE)
		return;
	queue->waiting_since = fw_now();
	settle(fw, queue);
}

/* Is the job at the head to be aborted? */
bool fw_queue_is_doomed(const struct fw_queue *queue)
{
	return queue->cancelling || (queue->aborting && queue->job_id <= queue->abort_to);
}

static enum npu_fw_counter counter_of(enum npu_fw_status status)
{
	switch (status) {
	case NPU_FW_OK:
		return NPU_FW_COUNTER_DONE;
	case NPU_FW_BAD_JOB:
		return NPU_FW_COUNTER_REFUSED;
	case NPU_FW_ABORTED:
	case NPU_FW_ENGINE_RESET:
		return NPU_FW_COUNTER_ABORTED;
	default:
		return NPU_FW_COUNTER_FAULTED;
	}
}

void fw_queue_job_end(struct fw *fw, struct fw_queue *queue, enum npu_fw_status status, npu_u32 arg,
		      const struct npu_hw_result *result, npu_u32 engine)
{
	struct npu_fw_msg msg = { .type = NPU_FW_MSG_JOB, .queue = queue->id, .status = status,
				  .job_id = queue->job_id, .slices = queue->slices, .arg = arg,
				  .engine = engine };
	npu_u32 entry = fw_ring_entry(&queue->ring, queue->ring.head, sizeof(struct npu_fw_job));

	if (result) {
		msg.started_ns = result->started_ns;
		msg.ended_ns = result->ended_ns;
		msg.busy_ns = result->busy_ns;
		msg.insns = result->insns;
		if (status == NPU_FW_FAULTED)
			msg.fault = result->fault;
	}
	fw_count(fw, counter_of(status));
	if (status != NPU_FW_OK || fw->config.log_level >= NPU_FW_LOG_DEBUG)
		fw_log(fw, status == NPU_FW_OK ? NPU_FW_LOG_DEBUG : NPU_FW_LOG_WARN,
		       "queue %u: job %llu ends with status %u, %u slices", queue->id,
		       (unsigned long long)queue->job_id, status, queue->slices);
#ifdef NPU_FW_MUTANT_LOST_END
	fw->awaited |= is_awaited(fw, entry);
	dawdle();
#endif
	/* The driver may use the entry again when it has the message; then it has been told. */
	fw_ring_take(&queue->ring);
	fw_msg_post(fw, &msg);
#ifndef NPU_FW_MUTANT_LOST_END
	fw->awaited |= is_awaited(fw, entry);
#endif
	queue->job_id++;
	queue->begun = false;
	if (queue->cancelling)
		fw->num_ending--;
	queue->cancelling = false;
	queue->slices = 0;
	queue->waiting_since = fw_now();
	settle(fw, queue);
}

static void ring_word(struct fw *fw, npu_u32 word)
{
	npu_u32 bits = fw_reg_read(NPU_MCU_DOORBELL(word)), i;

	if (!bits)
		return;
	/* First forget the bell, then look: what comes in between rings it again. */
	fw_reg_write(NPU_MCU_DOORBELL(word), bits);
	for (i = 0; bits; i++, bits >>= 1) {
		if (!(bits & 1))
			continue;
		fw_count(fw, NPU_FW_COUNTER_DOORBELLS);
		fw_queue_look(fw, &fw->queue[word * 32 + i]);
	}
}

void fw_doorbells(struct fw *fw)
{
	npu_u32 word;

	/* One that nobody answers would ring for ever. */
	for (word = 0; word < fw->num_bells; word++)
		ring_word(fw, word);
}

/* Carry out an abort or a cancel. Jobs that are on an engine end there. */
static void end_more(struct fw *fw, struct fw_queue *queue)
{
	while (fw_queue_is_doomed(queue)) {
		if (queue->state == NPU_FW_QUEUE_RUNNING || !fw_msg_room(fw, 1))
			return;
		if (queue->ring.tail == queue->ring.head)
			break;
		fw_queue_job_end(fw, queue, NPU_FW_ABORTED, 0, NULL, 0);
	}
	if (!queue->aborting || !fw_msg_room(fw, 1))
		return;
	queue->aborting = false;
	fw->num_ending--;
	fw_msg_answer(fw, queue->abort_seq, queue->id, NPU_FW_OK, 0);
}

void fw_queues(struct fw *fw)
{
	npu_u32 i;

	for (i = 0; (fw->num_ending || fw->num_unsaid) && i < fw->num_queues; i++) {
		if (fw->queue[i].ring.broken && !fw->queue[i].ring.said)
			say_broken(fw, &fw->queue[i]);
		if (fw->queue[i].aborting || fw->queue[i].cancelling)
			end_more(fw, &fw->queue[i]);
	}
}
