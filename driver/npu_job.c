// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: how a job begins and ends
 *
 * A job with nothing to wait for is started by SUBMIT itself: npu_job_start() puts it on the
 * queue's list and, while the firmware knows the queue and the ring has room, into the ring. A job
 * whose in-fences have not signalled goes to the scheduler, as does one too many (see
 * NPU_QUEUE_MAX_STARTED), and as do those behind it until it has been started; npu_job_run() starts
 * it then. The order is that of SUBMIT either way.
 *
 * The job leaves the list in npu_job_end() and nowhere else: when the firmware says so, when
 * recovery decides that it is lost, or when the device is gone. In between it survives resets and
 * suspend: what has not been started is written to the ring again when the firmware is back, below
 * the scheduler, which notices nothing.
 *
 * Behind a job that ended badly the queue is dead: later jobs end with -ECANCELED, those in the
 * ring when the firmware has dropped them, the others behind them.
 */
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "npu_device.h"
#include "npu_file.h"
#include "npu_job.h"
#include "npu_queue.h"
#include "npu_reset.h"
#include "npu_tdr.h"
#include "npu_trace.h"

static const char *npu_fence_driver_name(struct dma_fence *fence)
{
	return "npu";
}

static const char *npu_fence_timeline_name(struct dma_fence *fence)
{
	return "npu-queue";
}

/* The last thing that is heard of a job. */
static void npu_fence_free(struct rcu_head *rcu)
{
	struct dma_fence *fence = container_of(rcu, struct dma_fence, rcu);

	kfree(container_of(fence, struct npu_job, fence));
	module_put(THIS_MODULE);
}

/* npu_exit() waits for what this leaves to RCU. */
static void npu_fence_release(struct dma_fence *fence)
{
	call_rcu(&fence->rcu, npu_fence_free);
}

/*
 * Somebody waits for it: only then the firmware tells of its end at once, see npu_ring.c. With its
 * lock held, before it has signalled.
 */
static bool npu_fence_enable_signaling(struct dma_fence *fence)
{
	struct npu_job *job = container_of(fence, struct npu_job, fence);

	npu_queue_notify(job->queue, job);

	return true;
}

/*
 * Somebody looks, perhaps again and again, and never waits: the next look is told. Nothing can be
 * signalled here, as others' locks may be held. Without the fence's lock the job may end meanwhile,
 * and the queue go; who has it, asks for the fence's status, which the clock of npu_tdr.c keeps.
 */
static bool npu_fence_signaled(struct dma_fence *fence)
{
	struct npu_job *job = container_of(fence, struct npu_job, fence);
	unsigned long flags;

	if (!spin_trylock_irqsave(&job->fence_lock, flags))
		return false;
	if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->flags))
		npu_queue_notify(job->queue, job);
	spin_unlock_irqrestore(&job->fence_lock, flags);

	return false;
}

/*
 * A fence may live longer than all files, in a sync file for one, and so do the scheduler's, which
 * hold ours: older kernels ask their operations for names even when they have signalled, and the
 * scheduler for its own. While there are any, or jobs that wait for their turn, the module stays.
 */
static const struct dma_fence_ops npu_fence_ops = {
	.get_driver_name = npu_fence_driver_name,
	.get_timeline_name = npu_fence_timeline_name,
	.enable_signaling = npu_fence_enable_signaling,
	.signaled = npu_fence_signaled,
	.release = npu_fence_release,
};

/**
 * npu_job_alloc() - allocate all that a job will need until it has ended
 * @queue: of it
 * @num_regions: room in its region table
 *
 * Return: job that has not been started and is not known to the scheduler, or NULL.
 */
struct npu_job *npu_job_alloc(struct npu_queue *queue, u32 num_regions)
{
	struct npu_job *job;

	job = kzalloc(struct_size(job, regions, num_regions), GFP_KERNEL_ACCOUNT);
	if (!job)
		return NULL;

	/* The caller has a file open. */
	__module_get(THIS_MODULE);
	spin_lock_init(&job->fence_lock);
	INIT_LIST_HEAD(&job->node);
	job->queue = npu_queue_get(queue);
	drm_dev_get(&queue->npu->base);
	atomic_inc(&queue->npu->jobs);

	return job;
}

/* Not when unbind has dropped it, see npu_device_fini(). */
static void npu_job_put_pm(struct npu_device *npu)
{
	if (atomic_dec_if_positive(&npu->pm_refs) < 0)
		return;

	pm_runtime_mark_last_busy(npu->base.dev);
	pm_runtime_put_autosuspend(npu->base.dev);
}

/* What it holds. In the interrupt, too: then the queue has other references, see npu_job_end(). */
static void npu_job_release(struct npu_job *job)
{
	struct npu_device *npu = job->queue->npu;

	if (job->has_pm)
		npu_job_put_pm(npu);
	npu_queue_put(job->queue);
	atomic_dec(&npu->jobs);
	drm_dev_put(&npu->base);
}

static void npu_job_put(struct npu_job *job)
{
	if (job->fence_live) {
		dma_fence_put(&job->fence);
		return;
	}

	/* It never came to be pushed, and the caller still has the file open. */
	kfree(job);
	module_put(THIS_MODULE);
}

/* The scheduler has forgotten it, or never knew it; it has not been started without it. */
void npu_job_free(struct npu_job *job)
{
	npu_job_release(job);
	npu_job_put(job);
}

static void npu_job_record(struct npu_queue *queue, const struct npu_result *result)
{
	queue->results[result->id % queue->num_results] = *result;
	queue->completed = max(queue->completed, result->id);

	switch (result->status) {
	case DRM_NPU_JOB_FAULTED:
		queue->state |= DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_FAULTED;
		break;
	case DRM_NPU_JOB_TIMEDOUT:
		queue->state |= DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_TIMEDOUT;
		break;
	case DRM_NPU_JOB_INNOCENT:
		queue->state |= DRM_NPU_QUEUE_STATE_INNOCENT;
		return;
	default:
		return;
	}

	queue->dead = true;
	if (!queue->bad) {
		queue->bad = result->id;
		queue->fault = result->fault;
	}
}

/**
 * npu_job_end() - take a job off its queue's list and signal its fence
 * @job: it may be freed when this returns
 * @result: how it ended
 * @error: of the fence, 0: none
 *
 * The caller has a reference on the queue, or holds npu_device.irq.lock while the queue is in the
 * table: the job's is not the last one.
 */
void npu_job_end(struct npu_job *job, const struct npu_result *result, int error)
{
	struct npu_queue *queue = job->queue;
	struct npu_device *npu = queue->npu;

	lockdep_assert_held(&queue->lock);

	npu_queue_del(queue, job);
	atomic_dec(&npu->inflight);
	atomic64_add(result->busy_ns, &npu->busy_ns);
	npu_stats_add(queue->stats, result->busy_ns);
	npu_job_record(queue, result);
	trace_npu_job_end(queue, result, error);

	if (error)
		dma_fence_set_error(&job->fence, error);
	dma_fence_signal(&job->fence);
	if (!job->scheduled)
		npu_job_release(job);
	dma_fence_put(&job->fence);
}

/**
 * npu_job_end_early() - npu_job_end() for a job that the firmware has told nothing about
 * @job: it may be freed when this returns
 * @status: enum drm_npu_job_status
 * @error: of the fence
 */
void npu_job_end_early(struct npu_job *job, u32 status, int error)
{
	struct npu_result result = { .id = job->id, .status = status };

	npu_job_end(job, &result, error);
}

static void npu_job_refuse(struct npu_job *job, int error)
{
	struct npu_result result = { .id = job->id, .status = DRM_NPU_JOB_CANCELED };

	npu_job_record(job->queue, &result);
	trace_npu_job_end(job->queue, &result, error);
	dma_fence_set_error(&job->fence, error);
	dma_fence_signal(&job->fence);
}

/* A job that is refused has a fence, too: see npu_fence_ops. */
void npu_job_init_fence(struct npu_job *job)
{
	dma_fence_init(&job->fence, &npu_fence_ops, &job->fence_lock, job->queue->fence_context,
		       job->id);
	job->fence_live = true;
}

/**
 * npu_job_start() - hand a job over to the hardware
 * @job: the next one of its queue
 * @ring: the firmware is told at once; else npu_queue_ring() comes later
 *
 * When the device is off or the ring is full it only goes on the queue's list, from which it goes
 * into the ring in its turn. In the path that fences wait for: nothing is allocated, nothing
 * sleeps.
 *
 * Its fence has been initialized.
 *
 * Return: 0, or the error that the fence is to have: it ends at once.
 */
int npu_job_start(struct npu_job *job, bool ring)
{
	struct npu_queue *queue = job->queue;
	struct npu_device *npu = queue->npu;

	lockdep_assert_held(&queue->lock);

	/* It goes to the firmware nevertheless, which ends it in its turn. */
	if (xa_erase(&queue->cancels, job->id))
		job->desc.cancel = 1;
	/* Fences signal in order: behind others it ends with them, and they when DMA has. */
	if (list_empty(&queue->jobs) && READ_ONCE(npu->hw.gone))
		return -ENODEV;
	if (list_empty(&queue->jobs) && queue->dead)
		return -ECANCELED;

	/* For the list. */
	dma_fence_get(&job->fence);
	npu_queue_add(queue, job);
	/* The clock runs until it finds that there is none. */
	if (atomic_inc_return(&npu->inflight) == 1)
		npu_tdr_start(npu);
	trace_npu_job_run(job);
	npu_queue_feed(queue, ring);

	return 0;
}

/* In the path that fences wait for, too. */
static struct dma_fence *npu_job_run(struct drm_sched_job *sched_job)
{
	struct npu_job *job = to_npu_job(sched_job);
	struct npu_queue *queue = job->queue;
	int ret;

	npu_job_init_fence(job);
	/* For the scheduler. */
	dma_fence_get(&job->fence);
	spin_lock_irq(&queue->lock);
	queue->num_scheduled--;
	ret = npu_job_start(job, true);
	if (ret)
		npu_job_refuse(job, ret);
	spin_unlock_irq(&queue->lock);

	return &job->fence;
}

static void npu_job_sched_free(struct drm_sched_job *sched_job)
{
	struct npu_job *job = to_npu_job(sched_job);

	drm_sched_job_cleanup(sched_job);
	npu_job_free(job);
}

/*
 * Without .timedout_job: the scheduler's clock is off, npu_tdr.c has one that knows about
 * priorities and preemption.
 */
const struct drm_sched_backend_ops npu_job_sched_ops = {
	.run_job = npu_job_run,
	.free_job = npu_job_sched_free,
};

static void npu_job_set_status(struct npu_result *result, u32 status, int *error, int value)
{
	result->status = status;
	*error = value;
}

/* What a message of the firmware means for a job. */
static int npu_job_judge(struct npu_job *job, const struct npu_fw_msg *msg,
			 struct npu_result *result)
{
	struct npu_queue *queue = job->queue;
	bool hung = queue->timedout == job->id;
	int error = 0;

	switch (msg->status) {
	case NPU_FW_OK:
		/* What ran behind a bad job was given wrong input. */
		if (hung)
			npu_job_set_status(result, DRM_NPU_JOB_TIMEDOUT, &error, -ETIME);
		else if (queue->dead)
			npu_job_set_status(result, DRM_NPU_JOB_CANCELED, &error, -ECANCELED);
		else
			result->status = DRM_NPU_JOB_DONE;
		break;
	case NPU_FW_FAULTED:
	case NPU_FW_BAD_JOB:
		npu_job_set_status(result, DRM_NPU_JOB_FAULTED, &error, -EIO);
		if (msg->status == NPU_FW_FAULTED)
			result->fault = msg->fault;
		else
			result->fault.code = NPU_FAULT_INTERNAL;
		break;
	case NPU_FW_ABORTED:
		if (hung)
			npu_job_set_status(result, DRM_NPU_JOB_TIMEDOUT, &error, -ETIME);
		else
			npu_job_set_status(result, DRM_NPU_JOB_CANCELED, &error, -ECANCELED);
		break;
	default:
		if (hung)
			npu_job_set_status(result, DRM_NPU_JOB_TIMEDOUT, &error, -ETIME);
		else
			npu_job_set_status(result, npu_job_lost(job), &error, -ECANCELED);
		break;
	}

	return error;
}

static void npu_job_complete_locked(struct npu_device *npu, struct npu_job *job,
				    const struct npu_fw_msg *msg)
{
	struct npu_queue *queue = job->queue;
	struct npu_result result = {
		.id = job->id,
		.insns = msg->insns,
		.slices = msg->slices,
		.started_ns = msg->started_ns,
		.ended_ns = msg->ended_ns,
		.busy_ns = msg->busy_ns,
	};
	int error = npu_job_judge(job, msg, &result);

	if (msg->status == NPU_FW_BAD_JOB)
		drm_dbg(&npu->base, "queue %u, job %llu: member at %u of the descriptor is refused\n",
			queue->id, job->id, msg->arg);
	if (msg->status == NPU_FW_ENGINE_ERROR)
		npu_reset_request(npu, "engine can not use kernel memory");

	npu_job_end(job, &result, error);
	/* The firmware goes on with what is behind it in the ring: it must be told not to. */
	if (queue->dead && !list_empty(&queue->jobs))
		npu_tdr_kick(npu);
}

/* Until @id is the oldest one: the firmware has ended those in front of it without a word. */
static void npu_job_skip_to(struct npu_queue *queue, u64 id)
{
	struct npu_job *job, *next;

	list_for_each_entry_safe(job, next, &queue->jobs, node) {
		if (!job->ringed || job->id >= id)
			break;
		npu_job_end_early(job, DRM_NPU_JOB_INNOCENT, -ECANCELED);
	}
}

static int npu_job_complete_in(struct npu_queue *queue, const struct npu_fw_msg *msg)
{
	struct npu_job *job = list_first_entry_or_null(&queue->jobs, struct npu_job, node);
	int ret = 0;

	if (!job || !job->ringed || msg->job_id < job->id || msg->job_id > queue->ringed)
		return -EINVAL;

	if (msg->job_id != job->id) {
		npu_job_skip_to(queue, msg->job_id);
		job = list_first_entry(&queue->jobs, struct npu_job, node);
		ret = -EINVAL;
	}
	npu_job_complete_locked(queue->npu, job, msg);
	npu_queue_feed(queue, true);

	return ret;
}

/**
 * npu_job_complete() - the firmware says that a job has ended
 * @npu: device
 * @msg: what it says; the queue's number has been checked
 *
 * Jobs of a queue end in order, so it can be the oldest one only. If it is another one of those in
 * the ring the messages about the older ones have got lost, and these jobs with them.
 *
 * Return: 0, or -EINVAL when it can not be.
 */
int npu_job_complete(struct npu_device *npu, const struct npu_fw_msg *msg)
{
	struct npu_queue *queue = npu->queues[msg->queue];
	int ret;

	lockdep_assert_held(&npu->irq.lock);

	if (!queue)
		return -EINVAL;

	spin_lock(&queue->lock);
	ret = npu_job_complete_in(queue, msg);
	spin_unlock(&queue->lock);

	return ret;
}
