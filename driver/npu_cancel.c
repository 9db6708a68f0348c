// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: cancel of one job
 *
 * A job that is to be cancelled goes the way of all others, so that fences signal in order: through
 * the scheduler, if it waits for fences, into the ring and to the firmware, which ends it there
 * without having run it. A mark in its descriptor says so. While the scheduler has the job, until
 * npu_job_start(), its id in npu_queue.cancels stands for the mark. A job that has begun has been
 * looked at before; the firmware is told of it by a message.
 */
#include <linux/rwsem.h>

#include "npu_device.h"
#include "npu_fw.h"
#include "npu_job.h"
#include "npu_queue.h"

static struct npu_job *npu_cancel_find(struct npu_queue *queue, u64 id)
{
	struct npu_job *job;

	lockdep_assert_held(&queue->lock);

	list_for_each_entry(job, &queue->jobs, node) {
		if (job->id == id)
			return job;
	}

	return NULL;
}

/* Returns 1 when there is something to do, 0 when the job has ended. */
static int npu_cancel_check(struct npu_queue *queue, u64 id)
{
	int ret = 1;

	if (queue->npu->fw.abi < NPU_FW_ABI_CANCEL)
		return -EOPNOTSUPP;

	spin_lock_irq(&queue->lock);
	if (!id || id > queue->submitted)
		ret = -ENOENT;
	else if (id <= queue->completed)
		ret = 0;
	spin_unlock_irq(&queue->lock);

	return ret;
}

/* Returns whether the firmware has the job. */
static bool npu_cancel_mark(struct npu_queue *queue, u64 id)
{
	struct npu_job *job;
	bool ringed = false;

	spin_lock_irq(&queue->lock);
	job = npu_cancel_find(queue, id);
	if (job) {
		npu_queue_cancel_job(queue, job);
		ringed = job->ringed && queue->active;
	}
	/* What has been on the list does not come there again. */
	if (job || id <= queue->completed)
		xa_erase(&queue->cancels, id);
	spin_unlock_irq(&queue->lock);

	return ringed;
}

/*
 * While the job is on the list and abort_lock is held, the queue's number is this queue's. A
 * firmware that does not answer is a matter of npu_tdr.c; the mark outlives the reset.
 */
static void npu_cancel_tell(struct npu_queue *queue, u64 id)
{
	struct npu_fw_ctl cancel = {
		.cmd = NPU_FW_CTL_JOB_CANCEL,
		.queue = queue->id,
		.job_id = id,
	};
	struct npu_device *npu = queue->npu;

	down_read(&npu->hw.lock);
	mutex_lock(&queue->abort_lock);
	if (npu->hw.online && npu_cancel_mark(queue, id))
		npu_fw_ctl(npu, &cancel, NPU_FW_CTL_MS);
	mutex_unlock(&queue->abort_lock);
	up_read(&npu->hw.lock);
}

/**
 * npu_job_cancel() - for DRM_IOCTL_NPU_JOB_CANCEL
 * @queue: of the job
 * @id: of the job
 *
 * Does not wait for the job's end.
 *
 * Return: 0, also when it has ended; -ENOENT for a job that was not submitted, -EOPNOTSUPP,
 * -ENOMEM.
 */
int npu_job_cancel(struct npu_queue *queue, u64 id)
{
	int ret = npu_cancel_check(queue, id);

	if (ret <= 0)
		return ret;

	/* First this: npu_job_start() may take the job at any time. */
	ret = xa_err(xa_store_irq(&queue->cancels, id, xa_mk_value(1), GFP_KERNEL));
	if (ret)
		return ret;

	if (npu_cancel_mark(queue, id))
		npu_cancel_tell(queue, id);

	return 0;
}
