// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: what driver and firmware do not tell each other
 *
 * A doorbell and an interrupt cost more than an empty job. With NPU_FW_ABI_QUIET they are left out
 * where the other side looks anyway:
 *
 * - The driver writes an entry and the tail, and then looks at the state of the queue. While that
 *   is not IDLE the firmware will look at the tail by itself, and no doorbell is rung. The firmware
 *   publishes IDLE, and then looks at the tail once more.
 * - The driver marks an entry whose fence somebody waits for, and then looks whether the message
 *   about it is there. The firmware writes the message, and then looks whether the entry is marked;
 *   if not, it raises no interrupt, and the message is found by whoever looks next: the next
 *   SUBMIT, a question about a job or a queue, or the clock of npu_tdr.c, which does so four times
 *   a second.
 *
 * Both are the same pattern: each side stores, and then loads what the other one stores. A full
 * barrier between the two, dma_mb() here and FENCE there, sees to it that not both load what was
 * there before. Without it on either side both may, and the job waits for the clock; then tests
 * (test_wakeup, tests/firmware/test_bells) fail.
 *
 * The first entry of each half of the ring is marked in any case. So what comes behind a full ring
 * finds room in time, and what ended jobs hold is given back; and the firmware tells, too, when
 * half of the message ring is full. Ends that are not good, and answers, are always told at once.
 *
 * Older firmware is rung for each entry and tells of each end; a mark is a reserved word to it, for
 * which it would refuse the job.
 */
#include "npu_device.h"
#include "npu_fw.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_kbo.h"
#include "npu_queue.h"

static_assert(NPU_MAX_REGIONS * sizeof(struct npu_region) <= NPU_QUEUE_REGION_SLOT);

static struct npu_fw_index *npu_queue_index(struct npu_queue *queue)
{
	return npu_kbo_at(queue->ring, 0);
}

static struct npu_fw_job *npu_queue_entry(struct npu_queue *queue, u32 slot)
{
	return npu_kbo_at(queue->ring,
			  sizeof(struct npu_fw_index) + slot * sizeof(struct npu_fw_job));
}

static bool npu_queue_is_quiet(struct npu_queue *queue)
{
	return queue->npu->fw.abi >= NPU_FW_ABI_QUIET;
}

/* The first of each half. */
static bool npu_queue_is_milestone(struct npu_queue *queue, u32 slot)
{
	return !(slot & (max(queue->depth / 2, 1u) - 1));
}

static void npu_queue_write_job(struct npu_queue *queue, struct npu_job *job)
{
	u32 slot = queue->tail & (queue->depth - 1);
	u64 regions = (u64)slot * NPU_QUEUE_REGION_SLOT;
	struct npu_fw_job *desc = npu_queue_entry(queue, slot);

	*desc = job->desc;
	desc->job_id = job->id;
	if (desc->num_regions) {
		desc->regions = npu_kbo_va(queue->regions) + regions;
		memcpy(npu_kbo_at(queue->regions, regions), job->regions,
		       desc->num_regions * sizeof(*job->regions));
	}

	WRITE_ONCE(job->slot, slot);
	/* Whoever sees it ringed sees the slot. */
	smp_store_release(&job->ringed, true);
	/* Pairs with that of npu_queue_notify(): one of the two sees what the other has written. */
	smp_mb();
	if (READ_ONCE(job->desc.notify) ||
	    (npu_queue_is_quiet(queue) && npu_queue_is_milestone(queue, slot)))
		WRITE_ONCE(desc->notify, 1);

	queue->num_ringed++;
	queue->ringed = job->id;
	dma_wmb();
	WRITE_ONCE(npu_queue_index(queue)->tail, ++queue->tail);
}

static struct npu_job *npu_queue_behind(struct npu_queue *queue, struct npu_job *job)
{
	return list_is_last(&job->node, &queue->jobs) ? NULL : list_next_entry(job, node);
}

/**
 * npu_queue_add() - put a job on the list
 * @queue: its lock is held
 * @job: the next one
 */
void npu_queue_add(struct npu_queue *queue, struct npu_job *job)
{
	lockdep_assert_held(&queue->lock);

	list_add_tail(&job->node, &queue->jobs);
	if (!queue->next)
		queue->next = job;
}

/**
 * npu_queue_del() - take a job off the list
 * @queue: its lock is held
 * @job: it
 */
void npu_queue_del(struct npu_queue *queue, struct npu_job *job)
{
	lockdep_assert_held(&queue->lock);

	if (queue->next == job)
		queue->next = npu_queue_behind(queue, job);
	queue->num_ringed -= job->ringed;
	list_del_init(&job->node);
}

/* Does the firmware look at the tail, which has been written, only when it is told to? */
static bool npu_queue_is_idle(struct npu_queue *queue)
{
	if (!npu_queue_is_quiet(queue))
		return true;

	/* The firmware has one between its store of IDLE and its look at the tail. */
	dma_mb();
	switch (READ_ONCE(npu_fw_queue_state(queue->npu, queue->id)->state)) {
	case NPU_FW_QUEUE_READY:
	case NPU_FW_QUEUE_RUNNING:
	case NPU_FW_QUEUE_SAVED:
		return false;
	default:
		return true;
	}
}

static void npu_queue_doorbell(struct npu_queue *queue)
{
	if (npu_queue_is_idle(queue))
		npu_hw_write(queue->npu, NPU_REG_DOORBELL(queue->id), 1);
}

/* Of a dead queue nothing goes into the ring any more: behind what is in there all jobs end. */
static void npu_queue_feed_dead(struct npu_queue *queue)
{
	struct npu_job *job, *next;

	if (queue->num_ringed)
		return;

	list_for_each_entry_safe(job, next, &queue->jobs, node)
		npu_job_end_early(job, DRM_NPU_JOB_CANCELED, -ECANCELED);
}

/**
 * npu_queue_feed() - put jobs into the ring, as many as there is room for
 * @queue: its lock is held
 * @ring: tell the firmware, if there is something new
 *
 * Called when there is a new job, or new room.
 */
void npu_queue_feed(struct npu_queue *queue, bool ring)
{
	bool new = false;

	lockdep_assert_held(&queue->lock);

	if (queue->dead) {
		npu_queue_feed_dead(queue);
		return;
	}
	if (!queue->active)
		return;

	while (queue->next && queue->num_ringed < queue->depth) {
		npu_queue_write_job(queue, queue->next);
		queue->next = npu_queue_behind(queue, queue->next);
		new = true;
	}
	if (new && ring)
		npu_queue_doorbell(queue);
}

/* Tell the firmware about what npu_queue_feed() has not told it about. */
void npu_queue_ring(struct npu_queue *queue)
{
	spin_lock_irq(&queue->lock);
	if (queue->active)
		npu_queue_doorbell(queue);
	spin_unlock_irq(&queue->lock);
}

/**
 * npu_queue_notify() - somebody waits for a job's end: the firmware is to tell of it at once
 * @queue: of it
 * @job: it, whose fence has not signalled; so it, the queue and the ring are there
 *
 * From any context, with the fence's lock held: nothing that an interrupt takes may be taken. A
 * mark on an entry that has another job by now costs an interrupt and nothing else.
 */
void npu_queue_notify(struct npu_queue *queue, struct npu_job *job)
{
	if (!npu_queue_is_quiet(queue))
		return;

	WRITE_ONCE(job->desc.notify, 1);
	/* Pairs with that of npu_queue_write_job(). */
	smp_mb();
	/* And then the slot. */
	if (smp_load_acquire(&job->ringed))
		WRITE_ONCE(npu_queue_entry(queue, READ_ONCE(job->slot))->notify, 1);
	/* The firmware may not have seen the mark: then its message is there. */
	npu_hw_reap_soon(queue->npu);
}

/**
 * npu_queue_cancel_job() - see to it that a job does not begin
 * @queue: of it
 * @job: on the queue's list
 *
 * If it has begun, or does so just now, the firmware must be told, too.
 */
void npu_queue_cancel_job(struct npu_queue *queue, struct npu_job *job)
{
	u32 behind = queue->ringed - job->id;

	lockdep_assert_held(&queue->lock);

	job->desc.cancel = 1;
	if (job->ringed)
		WRITE_ONCE(npu_queue_entry(queue, (queue->tail - 1 - behind) &
						  (queue->depth - 1))->cancel, 1);
}

/**
 * npu_queue_rewind() - make the ring empty; its first job is to be the oldest one on the list
 * @queue: not active
 *
 * Return: the number of that job, or of the next one.
 */
u64 npu_queue_rewind(struct npu_queue *queue)
{
	struct npu_job *job;
	u64 first;

	spin_lock_irq(&queue->lock);
	list_for_each_entry(job, &queue->jobs, node)
		WRITE_ONCE(job->ringed, false);
	job = list_first_entry_or_null(&queue->jobs, struct npu_job, node);
	first = job ? job->id : queue->ringed + 1;
	queue->next = job;
	queue->tail = 0;
	queue->num_ringed = 0;
	memset(npu_queue_index(queue), 0, sizeof(struct npu_fw_index));
	spin_unlock_irq(&queue->lock);

	return first;
}
