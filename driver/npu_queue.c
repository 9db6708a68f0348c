// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: life of a queue
 *
 * A queue is in the device's table from npu_queue_create() to npu_queue_kill(). While it is there,
 * the firmware learns of it at each start (npu_queues_start()). Killing it makes it dead: the
 * firmware drops its jobs, and those that are still waiting for fences run into npu_job_run() one
 * after the other and are refused there, so that they signal in order and with -ECANCELED. Each of
 * them holds a reference; the last one leaves the release to a worker, as the scheduler can not
 * free itself.
 */
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include <drm/drm_print.h>

#include "npu_device.h"
#include "npu_file.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_kbo.h"
#include "npu_limits.h"
#include "npu_queue.h"
#include "npu_reset.h"
#include "npu_tdr.h"
#include "npu_vm.h"

static_assert((int)DRM_NPU_PRIORITY_LOW == (int)NPU_FW_PRIORITY_LOW);
static_assert((int)DRM_NPU_PRIORITY_REALTIME == (int)NPU_FW_PRIORITY_REALTIME);

/* A job that is on an engine is off it in a millisecond. */
#define NPU_QUEUE_DESTROY_TRIES	20

/**
 * struct npu_sched - a scheduler that is not freed before the module goes
 * @base: scheduler
 * @node: in npu_sched_pool
 *
 * On older kernels a fence that has signalled still asks its scheduler for the name.
 */
struct npu_sched {
	struct drm_gpu_scheduler base;
	struct list_head node;
};

/* Protects npu_sched_pool. */
static DEFINE_MUTEX(npu_sched_lock);
static LIST_HEAD(npu_sched_pool);

static struct drm_gpu_scheduler *npu_sched_get(void)
{
	struct npu_sched *sched;

	guard(mutex)(&npu_sched_lock);
	sched = list_first_entry_or_null(&npu_sched_pool, struct npu_sched, node);
	if (sched)
		list_del(&sched->node);
	else
		sched = kzalloc_obj(*sched);

	return sched ? &sched->base : NULL;
}

static void npu_sched_put(struct drm_gpu_scheduler *base)
{
	guard(mutex)(&npu_sched_lock);
	list_add(&container_of(base, struct npu_sched, base)->node, &npu_sched_pool);
}

void npu_sched_pool_fini(void)
{
	struct npu_sched *sched, *next;

	list_for_each_entry_safe(sched, next, &npu_sched_pool, node)
		kfree(sched);
}

static int npu_queue_init_sched(struct npu_queue *queue)
{
	struct npu_device *npu = queue->npu;
	const struct drm_sched_init_args args = {
		.ops = &npu_job_sched_ops,
		.submit_wq = npu_sched_wq,
		.num_rqs = 1,
		.credit_limit = queue->depth,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = "npu",
		.dev = npu->base.dev,
	};
	int ret;

	queue->sched = npu_sched_get();
	if (!queue->sched)
		return -ENOMEM;

	ret = drm_sched_init(queue->sched, &args);
	if (ret)
		goto err_put;

	ret = drm_sched_entity_init(&queue->entity, 0, &queue->sched, 1, NULL);
	if (ret)
		goto err_fini;

	return 0;

err_fini:
	drm_sched_fini(queue->sched);
err_put:
	npu_sched_put(queue->sched);
	return ret;
}

static void npu_queue_fini_sched(struct npu_queue *queue)
{
	/* There are no jobs: each has had a reference. */
	drm_sched_entity_fini(&queue->entity);
	drm_sched_fini(queue->sched);
	npu_sched_put(queue->sched);
}

/* Whoever comes first: npu_queue_kill(), or unplug. */
static void npu_queue_free_memory(struct npu_queue *queue)
{
	guard(mutex)(&queue->submit_lock);
	npu_kbo_destroy(queue->npu, queue->save);
	npu_kbo_destroy(queue->npu, queue->regions);
	npu_kbo_destroy(queue->npu, queue->ring);
	queue->save = NULL;
	queue->regions = NULL;
	queue->ring = NULL;
}

static int npu_queue_alloc_memory(struct npu_queue *queue)
{
	u64 ring = sizeof(struct npu_fw_index) + queue->depth * sizeof(struct npu_fw_job);
	struct npu_device *npu = queue->npu;

	queue->num_results = max(queue->depth, NPU_QUEUE_MIN_RESULTS);
	queue->results = kvcalloc(queue->num_results, sizeof(*queue->results), GFP_KERNEL_ACCOUNT);
	if (!queue->results)
		return -ENOMEM;

	queue->ring = npu_kbo_create(npu, ring, roundup_pow_of_two(ring));
	queue->regions = npu_kbo_create(npu, (u64)queue->depth * NPU_QUEUE_REGION_SLOT,
					NPU_QUEUE_REGION_SLOT);
	queue->save = npu_kbo_create(npu, npu->caps.save_size, PAGE_SIZE);
	if (IS_ERR(queue->ring) || IS_ERR(queue->regions) || IS_ERR(queue->save)) {
		npu_queue_free_memory(queue);
		kvfree(queue->results);
		return -ENOMEM;
	}

	return 0;
}

/* The part that needs no hardware. */
static void npu_queue_release(struct work_struct *work)
{
	struct npu_queue *queue = container_of(work, struct npu_queue, release_work);
	struct npu_device *npu = queue->npu;

	npu_queue_fini_sched(queue);
	npu_queue_free_memory(queue);
	kvfree(queue->results);
	npu_user_uncharge(npu, queue->user, NPU_LIMIT_QUEUES);
	npu_user_put(npu, queue->user);
	npu_stats_put(queue->stats);
	xa_destroy(&queue->cancels);
	mutex_destroy(&queue->abort_lock);
	mutex_destroy(&queue->submit_lock);
	/* Last: it keeps the device. */
	npu_vm_put(queue->vm);
	kfree(queue);
}

static void npu_queue_release_ref(struct kref *ref)
{
	struct npu_queue *queue = container_of(ref, struct npu_queue, ref);

	queue_work(npu_release_wq, &queue->release_work);
}

struct npu_queue *npu_queue_get(struct npu_queue *queue)
{
	kref_get(&queue->ref);

	return queue;
}

void npu_queue_put(struct npu_queue *queue)
{
	if (queue)
		kref_put(&queue->ref, npu_queue_release_ref);
}

/**
 * npu_queue_find() - queue of a hardware number
 * @npu: device
 * @id: number below NPU_HW_MAX_QUEUES
 *
 * Return: it, with a reference; or NULL.
 */
struct npu_queue *npu_queue_find(struct npu_device *npu, u32 id)
{
	struct npu_queue *queue;
	unsigned long flags;

	/*
	 * In the table there is a reference: npu_queue_kill() comes before the file's is dropped.
	 */
	spin_lock_irqsave(&npu->irq.lock, flags);
	queue = npu->queues[id];
	if (queue)
		npu_queue_get(queue);
	spin_unlock_irqrestore(&npu->irq.lock, flags);

	return queue;
}

/**
 * npu_queue_next() - go through the table of queues, see npu_for_each_queue()
 * @npu: device
 * @queue: what the last call returned, its reference is dropped; NULL at first
 *
 * Return: the next queue, with a reference; or NULL.
 */
struct npu_queue *npu_queue_next(struct npu_device *npu, struct npu_queue *queue)
{
	u32 id = queue ? queue->id + 1 : 0;
	struct npu_queue *next = NULL;

	for (; !next && id < npu->caps.num_queues; id++)
		next = npu_queue_find(npu, id);
	npu_queue_put(queue);

	return next;
}

static int npu_queue_publish(struct npu_queue *queue)
{
	struct npu_device *npu = queue->npu;
	int ret = -ENOSPC;
	u32 id;

	spin_lock_irq(&npu->irq.lock);
	for (id = 0; id < npu->caps.num_queues && ret; id++) {
		if (npu->queues[id])
			continue;
		queue->id = id;
		npu->queues[id] = queue;
		ret = 0;
	}
	spin_unlock_irq(&npu->irq.lock);

	return ret;
}

static void npu_queue_unpublish(struct npu_queue *queue)
{
	struct npu_device *npu = queue->npu;

	spin_lock_irq(&npu->irq.lock);
	npu->queues[queue->id] = NULL;
	spin_unlock_irq(&npu->irq.lock);
}

static void npu_queue_activate(struct npu_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue->active = true;
	npu_queue_feed(queue, true);
	spin_unlock_irq(&queue->lock);
}

/* Jobs of a queue are numbered without a gap as far as the firmware sees them. */
static int npu_queue_start(struct npu_queue *queue)
{
	struct npu_device *npu = queue->npu;
	struct npu_fw_ctl ctl = {
		.cmd = NPU_FW_CTL_QUEUE_CREATE,
		.queue = queue->id,
		.job_id = npu_queue_rewind(queue),
		.priority = queue->priority,
		.ring = npu_kbo_va(queue->ring) + sizeof(struct npu_fw_index),
		.entries = queue->depth,
		.index = npu_kbo_va(queue->ring),
		.save = npu_kbo_va(queue->save),
	};
	int ret;

	lockdep_assert_held(&npu->hw.lock);

	npu_hw_write(npu, NPU_REG_QUEUE(queue->id), queue->vm->context | NPU_QUEUE_VALID);
	ret = npu_fw_ctl(npu, &ctl, NPU_FW_CTL_MS);
	if (ret)
		return ret;

	npu_queue_activate(queue);

	return 0;
}

static struct npu_queue *npu_queue_alloc(struct npu_device *npu, const struct npu_queue_args *args)
{
	struct npu_queue *queue;

	queue = kzalloc_obj(*queue, GFP_KERNEL_ACCOUNT);
	if (!queue)
		return NULL;

	kref_init(&queue->ref);
	mutex_init(&queue->submit_lock);
	mutex_init(&queue->abort_lock);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->jobs);
	xa_init_flags(&queue->cancels, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	INIT_WORK(&queue->release_work, npu_queue_release);
	queue->npu = npu;
	queue->depth = args->depth;
	queue->priority = args->priority;
	queue->fence_context = dma_fence_context_alloc(1);

	return queue;
}

/* When it is off the firmware learns of the queue when it starts. */
static int npu_queue_start_if_online(struct npu_queue *queue)
{
	struct npu_device *npu = queue->npu;
	int ret = 0;

	down_read(&npu->hw.lock);
	if (npu->hw.online && !queue->active)
		ret = npu_queue_start(queue);
	up_read(&npu->hw.lock);

	return ret;
}

/* Behind an error of npu_fw_ctl(). -EAGAIN: a reset is coming; one more would cost jobs again. */
static void npu_queue_reset(struct npu_queue *queue, int error, const char *cause)
{
	if (error != -EAGAIN)
		npu_reset_request(queue->npu, cause);
	npu_reset_wait(queue->npu);
}

/*
 * A firmware that does not answer is reset, and learns of the queue when it is back; an error of
 * the device, or its end, is the queue's.
 */
static int npu_queue_start_or_reset(struct npu_queue *queue)
{
	int ret = npu_queue_start_if_online(queue);

	if (ret != -ETIMEDOUT && ret != -EAGAIN)
		return ret;

	npu_queue_reset(queue, ret, "firmware does not take a queue");

	return READ_ONCE(queue->npu->hw.gone) ? -ENODEV : 0;
}

/**
 * npu_queue_create() - make a queue
 * @npu: device
 * @args: what it is made with
 *
 * Return: it, or an error pointer: -ENOSPC when no queue is free, or the user has enough.
 */
struct npu_queue *npu_queue_create(struct npu_device *npu, const struct npu_queue_args *args)
{
	struct npu_queue *queue;
	int ret;

	queue = npu_queue_alloc(npu, args);
	if (!queue)
		return ERR_PTR(-ENOMEM);

	ret = npu_user_charge(npu, args->user, NPU_LIMIT_QUEUES);
	if (ret)
		goto err_free;
	ret = npu_queue_alloc_memory(queue);
	if (ret)
		goto err_uncharge;
	ret = npu_queue_init_sched(queue);
	if (ret)
		goto err_free_memory;

	queue->vm = npu_vm_get(args->vm);
	queue->user = npu_user_get(npu, args->user);
	queue->stats = npu_stats_get(args->stats);
	ret = npu_queue_publish(queue);
	if (ret) {
		npu_queue_put(queue);
		return ERR_PTR(ret);
	}

	ret = npu_queue_start_or_reset(queue);
	if (ret) {
		npu_queue_kill(queue);
		npu_queue_put(queue);
		return ERR_PTR(ret);
	}

	return queue;

err_free_memory:
	npu_queue_free_memory(queue);
	kvfree(queue->results);
err_uncharge:
	npu_user_uncharge(npu, args->user, NPU_LIMIT_QUEUES);
err_free:
	mutex_destroy(&queue->abort_lock);
	mutex_destroy(&queue->submit_lock);
	kfree(queue);
	return ERR_PTR(ret);
}

static int npu_queue_forget(struct npu_queue *queue)
{
	struct npu_fw_ctl destroy = { .cmd = NPU_FW_CTL_QUEUE_DESTROY, .queue = queue->id };
	struct npu_device *npu = queue->npu;
	int ret, tries;

	ret = npu_tdr_abort(queue);
	for (tries = 0; !ret && tries < NPU_QUEUE_DESTROY_TRIES; tries++) {
		ret = npu_fw_ctl(npu, &destroy, NPU_FW_CTL_MS);
		if (ret != -EBUSY)
			break;
		usleep_range(1000, 2000);
		ret = 0;
	}
	npu_hw_write(npu, NPU_REG_QUEUE(queue->id), 0);

	return ret;
}

static void npu_queue_die(struct npu_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue->dead = true;
	spin_unlock_irq(&queue->lock);
}

static void npu_queue_deactivate(struct npu_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue->active = false;
	spin_unlock_irq(&queue->lock);
}

/* What the hardware did not give back will not come any more. */
static void npu_queue_end_all(struct npu_queue *queue, int error)
{
	struct npu_job *job, *next;

	spin_lock_irq(&queue->lock);
	list_for_each_entry_safe(job, next, &queue->jobs, node)
		npu_job_end_early(job, DRM_NPU_JOB_CANCELED, error);
	spin_unlock_irq(&queue->lock);
}

/**
 * npu_queue_kill() - end all jobs, and take the queue from the hardware
 * @queue: published; the caller's reference stays
 */
void npu_queue_kill(struct npu_queue *queue)
{
	struct npu_device *npu = queue->npu;
	int ret = 0;

	npu_queue_die(queue);
	down_read(&npu->hw.lock);
	if (npu->hw.online && queue->active)
		ret = npu_queue_forget(queue);
	up_read(&npu->hw.lock);
	if (ret)
		npu_queue_reset(queue, ret, "firmware does not give a queue back");

	/* The reset has ended what was left, as the queue is dead. */
	npu_queue_deactivate(queue);
	npu_queue_end_all(queue, -ECANCELED);
	/* In this order: unplug waits for those that are in the table. */
	npu_queue_free_memory(queue);
	npu_queue_unpublish(queue);
}

/**
 * npu_queues_start() - tell the firmware about all queues, and give it what it has not yet started
 * @npu: device
 *
 * Return: 0 or a negative errno.
 */
int npu_queues_start(struct npu_device *npu)
{
	struct npu_queue *queue;
	int ret;

	lockdep_assert_held_write(&npu->hw.lock);

	npu_for_each_queue(queue, npu) {
		ret = queue->dead ? 0 : npu_queue_start(queue);
		if (ret) {
			npu_queue_put(queue);
			return ret;
		}
	}

	return 0;
}

/* Nothing is written to rings any more. */
void npu_queues_stop(struct npu_device *npu)
{
	struct npu_queue *queue;

	lockdep_assert_held_write(&npu->hw.lock);

	npu_for_each_queue(queue, npu)
		npu_queue_deactivate(queue);
}

/* It will be written again. */
static void npu_queue_take_back(struct npu_queue *queue, struct npu_job *job)
{
	WRITE_ONCE(job->ringed, false);
	queue->num_ringed--;
}

/*
 * Which jobs have been started is the firmware's word: if it is wrong, an innocent job is lost or
 * one is run again, and that is all.
 */
static void npu_queue_sort_out(struct npu_queue *queue)
{
	u32 started = READ_ONCE(npu_fw_queue_state(queue->npu, queue->id)->job_seq);
	struct npu_job *job, *next;

	spin_lock_irq(&queue->lock);
	queue->resets++;
	list_for_each_entry_safe(job, next, &queue->jobs, node) {
		if (job->ringed && job->id == queue->timedout)
			npu_job_end_early(job, DRM_NPU_JOB_TIMEDOUT, -ETIME);
		else if (queue->dead)
			npu_job_end_early(job, DRM_NPU_JOB_CANCELED, -ECANCELED);
		else if (job->ringed && (s32)((u32)job->id - started) <= 0)
			npu_job_end_early(job, npu_job_lost(job), -ECANCELED);
		else if (job->ringed)
			npu_queue_take_back(queue, job);
	}
	queue->next = list_first_entry_or_null(&queue->jobs, struct npu_job, node);
	spin_unlock_irq(&queue->lock);
}

/**
 * npu_queues_sort_out() - decide which jobs a reset has cost
 * @npu: device; its firmware does nothing any more
 *
 * What was started is lost, with an error for the guilty and another for the innocent; the rest is
 * written to the ring again by npu_queues_start().
 */
void npu_queues_sort_out(struct npu_device *npu)
{
	struct npu_queue *queue;

	lockdep_assert_held_write(&npu->hw.lock);

	npu_for_each_queue(queue, npu)
		npu_queue_sort_out(queue);
}

/* The device is gone. */
void npu_queues_end(struct npu_device *npu)
{
	struct npu_queue *queue;

	npu_for_each_queue(queue, npu) {
		npu_queue_die(queue);
		npu_queue_end_all(queue, -ENODEV);
	}
}

/* Free what the hardware has used, before the device's DMA operations go away. */
void npu_queues_unplug(struct npu_device *npu)
{
	struct npu_queue *queue;

	npu_for_each_queue(queue, npu)
		npu_queue_free_memory(queue);
}

/* For DRM_IOCTL_NPU_QUEUE_GET_STATE. */
void npu_queue_get_state(struct npu_queue *queue, struct drm_npu_queue_get_state *state)
{
	static_assert(sizeof(state->fault) == sizeof(queue->fault));

	npu_hw_reap(queue->npu);
	spin_lock_irq(&queue->lock);
	state->state = queue->state;
	state->job_id = queue->bad;
	state->submitted = queue->submitted;
	state->completed = queue->completed;
	state->resets = queue->resets;
	memcpy(&state->fault, &queue->fault, sizeof(state->fault));
	spin_unlock_irq(&queue->lock);
}

static void npu_result_to_user(const struct npu_result *result, struct drm_npu_job_get_result *args)
{
	args->status = result->status;
	args->started_ns = result->started_ns;
	args->ended_ns = result->ended_ns;
	args->busy_ns = result->busy_ns;
	args->insns = result->insns;
	args->slices = result->slices;
	memcpy(&args->fault, &result->fault, sizeof(args->fault));
}

/**
 * npu_queue_get_result() - for DRM_IOCTL_NPU_JOB_GET_RESULT
 * @queue: queue
 * @args: job_id is looked up, the rest is filled in
 *
 * Return: 0, or -ENOENT for a job that is not known yet, or not any more.
 */
int npu_queue_get_result(struct npu_queue *queue, struct drm_npu_job_get_result *args)
{
	const struct npu_result *result;
	struct npu_result pending = { .status = DRM_NPU_JOB_PENDING };
	int ret = 0;

	npu_hw_reap(queue->npu);
	spin_lock_irq(&queue->lock);
	result = &queue->results[args->job_id % queue->num_results];
	if (!args->job_id || args->job_id > queue->submitted || result->id > args->job_id)
		ret = -ENOENT;
	else
		npu_result_to_user(result->id == args->job_id ? result : &pending, args);
	spin_unlock_irq(&queue->lock);

	return ret;
}
