// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: SUBMIT
 *
 * First all is copied from the program and allocated, while nothing is held that others could wait
 * for: a program can make reading its memory take as long as it likes. Then, with the queue's
 * submit_lock and the reservations of the VM and of shared buffers locked once for all of them, the
 * jobs are taken one after the other, so that one may wait for what the one before it signals.
 *
 * A job whose in-fences have all signalled is started at once, unless the scheduler has jobs of the
 * queue that come before it, or too many have been started: there is nothing to schedule, as the
 * firmware arbitrates. The others go to the scheduler; with it, all that can fail comes before
 * drm_sched_job_arm(). When a job is refused those before it have been taken, and those behind it
 * are not looked at.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/pm_runtime.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_syncobj.h>

#include "../uapi/drm/npu_drm.h"

#include "npu_device.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_queue.h"
#include "npu_submit.h"
#include "npu_uobj.h"
#include "npu_vm.h"

static_assert(sizeof(struct drm_npu_region) == sizeof(struct npu_region));
static_assert((int)DRM_NPU_ACCESS_SRAM == (int)NPU_ACCESS_SRAM);
static_assert((int)DRM_NPU_JOB_TRACE_DIGEST == (int)NPU_JOB_TRACE_DIGEST);
static_assert(sizeof(struct drm_npu_fault) == sizeof(struct npu_fault));

/* Of most jobs; drm_exec makes room for more. */
#define NPU_SUBMIT_FEW_SYNCS	2
#define NPU_SUBMIT_FEW_BUFFERS	16

/**
 * struct npu_submit_sync - a syncobj that a job waits for or signals
 * @flags: enum drm_npu_sync_op_flags
 * @handle: of it
 * @point: of a timeline
 * @syncobj: signalled, with a reference
 * @chain: signalled, memory for the point of a timeline, NULL: binary
 * @fence: waited for, with a reference, NULL: has signalled
 */
struct npu_submit_sync {
	u32 flags;
	u32 handle;
	u64 point;
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	struct dma_fence *fence;
};

/**
 * struct npu_submit_job - a job on its way in
 * @job: it, NULL when the scheduler has it
 * @syncs: what it waits for and signals
 * @num_syncs: of them
 * @few: memory of @syncs, when there are no more
 */
struct npu_submit_job {
	struct npu_job *job;
	struct npu_submit_sync *syncs;
	u32 num_syncs;
	struct npu_submit_sync few[NPU_SUBMIT_FEW_SYNCS];
};

/**
 * struct npu_submit_ctx - a call of SUBMIT
 * @queue: of the jobs
 * @file: whose handles they name
 * @shared: the VM has buffers with reservations of their own
 * @exec: locked reservations, with @shared; else the VM's is
 * @fence: of the newest job that was taken, with a reference
 * @counted: the call is one of npu_device.inflight; else it has a reference of runtime PM
 * @unrung: jobs have gone into the ring since the doorbell was rung
 * @count: of @jobs that are prepared
 * @taken: of @jobs
 * @jobs: they
 */
struct npu_submit_ctx {
	struct npu_queue *queue;
	struct drm_file *file;
	bool shared;
	struct drm_exec exec;
	struct dma_fence *fence;
	bool counted;
	bool unrung;
	u32 count;
	u32 taken;
	struct npu_submit_job jobs[];
};

static bool npu_submit_range_ok(const struct npu_queue *queue, u64 base, u64 size)
{
	u64 end;

	return !check_add_overflow(base, size, &end) && end <= queue->vm->base.mm_range;
}

static int npu_submit_check_job(const struct npu_queue *queue, const struct drm_npu_job *ujob)
{
	const u32 trace = DRM_NPU_JOB_TRACE_PROFILE | DRM_NPU_JOB_TRACE_DIGEST;

	if (ujob->flags & ~trace || ujob->pad)
		return -EINVAL;
	if (ujob->regions.count > NPU_MAX_REGIONS || ujob->scalars.count > NPU_MAX_SCALARS ||
	    ujob->syncs.count > NPU_SUBMIT_MAX_SYNCS)
		return -EINVAL;
	if (!IS_ALIGNED(ujob->stream, 8) || ujob->stream_size < sizeof(struct npu_stream_header) ||
	    ujob->stream_size > NPU_MAX_STREAM_BYTES ||
	    !npu_submit_range_ok(queue, ujob->stream, ujob->stream_size))
		return -EINVAL;
	if (!(ujob->flags & trace))
		return ujob->trace || ujob->trace_size ? -EINVAL : 0;
	if (!IS_ALIGNED(ujob->trace, 8) || ujob->trace_size < sizeof(struct npu_hw_trace) ||
	    !npu_submit_range_ok(queue, ujob->trace, ujob->trace_size))
		return -EINVAL;

	return 0;
}

static int npu_submit_check_region(const struct npu_queue *queue, const struct npu_region *region)
{
	const u32 known = NPU_ACCESS_READ | NPU_ACCESS_WRITE | NPU_ACCESS_SRAM;
	u64 sram = queue->npu->caps.sram_size;

	if (region->access & ~known || region->reserved)
		return -EINVAL;
	if (region->access & NPU_ACCESS_SRAM)
		return region->size > sram || region->base > sram - region->size ? -EINVAL : 0;

	return npu_submit_range_ok(queue, region->base, region->size) ? 0 : -EINVAL;
}

static int npu_submit_get_regions(const struct npu_queue *queue, struct npu_job *job,
				  const struct drm_npu_job *ujob)
{
	int ret;
	u32 i;

	ret = npu_uobj_array_copy(job->regions, &ujob->regions, sizeof(*job->regions),
				  sizeof(struct drm_npu_region));
	for (i = 0; i < ujob->regions.count && !ret; i++)
		ret = npu_submit_check_region(queue, &job->regions[i]);

	return ret;
}

static int npu_submit_get_scalars(struct npu_job *job, const struct drm_npu_job *ujob)
{
	u64 scalars[NPU_MAX_SCALARS];
	int ret;
	u32 i;

	ret = npu_uobj_array_copy(scalars, &ujob->scalars, sizeof(*scalars), sizeof(*scalars));
	for (i = 0; i < ujob->scalars.count && !ret; i++) {
		if (scalars[i] > U32_MAX)
			ret = -EINVAL;
		job->desc.scalar[i] = scalars[i];
	}

	return ret;
}

static int npu_submit_check_sync(const struct drm_npu_sync_op *sync)
{
	const u32 known = DRM_NPU_SYNC_OP_TIMELINE | DRM_NPU_SYNC_OP_WAIT | DRM_NPU_SYNC_OP_SIGNAL;
	bool wait = sync->flags & DRM_NPU_SYNC_OP_WAIT;
	bool signal = sync->flags & DRM_NPU_SYNC_OP_SIGNAL;
	bool timeline = sync->flags & DRM_NPU_SYNC_OP_TIMELINE;

	if (sync->flags & ~known || wait == signal)
		return -EINVAL;

	return timeline == !!sync->timeline_value ? 0 : -EINVAL;
}

static int npu_submit_get_signal(struct drm_file *file, struct npu_submit_sync *sync)
{
	sync->syncobj = drm_syncobj_find(file, sync->handle);
	if (!sync->syncobj)
		return -ENOENT;
	if (!(sync->flags & DRM_NPU_SYNC_OP_TIMELINE))
		return 0;

	sync->chain = dma_fence_chain_alloc();

	return sync->chain ? 0 : -ENOMEM;
}

/* Waits are looked up later: the job in front may signal what this one waits for. */
static int npu_submit_get_sync(struct drm_file *file, const struct drm_npu_sync_op *op,
			       struct npu_submit_sync *sync)
{
	int ret;

	ret = npu_submit_check_sync(op);
	if (ret)
		return ret;

	sync->flags = op->flags;
	sync->handle = op->handle;
	sync->point = op->timeline_value;

	return op->flags & DRM_NPU_SYNC_OP_SIGNAL ? npu_submit_get_signal(file, sync) : 0;
}

static int npu_submit_get_syncs(struct drm_file *file, struct npu_submit_job *sub,
				const struct drm_npu_job *ujob)
{
	struct drm_npu_sync_op few[NPU_SUBMIT_FEW_SYNCS], *ops = few;
	u32 count = ujob->syncs.count;
	int ret = 0;

	sub->syncs = sub->few;
	if (count <= NPU_SUBMIT_FEW_SYNCS) {
		ret = npu_uobj_array_copy(few, &ujob->syncs, sizeof(*ops), sizeof(*ops));
	} else {
		ops = npu_uobj_array_get(&ujob->syncs, sizeof(*ops), sizeof(*ops));
		if (IS_ERR(ops))
			return PTR_ERR(ops);
		sub->syncs = kvcalloc(count, sizeof(*sub->syncs), GFP_KERNEL_ACCOUNT);
		ret = sub->syncs ? 0 : -ENOMEM;
	}

	/* The one that fails is counted: it may have got something. */
	while (!ret && sub->num_syncs < count) {
		ret = npu_submit_get_sync(file, &ops[sub->num_syncs], &sub->syncs[sub->num_syncs]);
		sub->num_syncs++;
	}
	if (ops != few)
		kvfree(ops);

	return ret;
}

static void npu_submit_job_fini(struct npu_submit_job *sub)
{
	u32 i;

	for (i = 0; i < sub->num_syncs; i++) {
		struct npu_submit_sync *sync = &sub->syncs[i];

		dma_fence_chain_free(sync->chain);
		dma_fence_put(sync->fence);
		if (sync->syncobj)
			drm_syncobj_put(sync->syncobj);
	}
	if (sub->syncs != sub->few)
		kvfree(sub->syncs);
	if (sub->job)
		npu_job_free(sub->job);
}

static void npu_submit_fill_desc(struct npu_job *job, const struct drm_npu_job *ujob)
{
	job->desc.stream = ujob->stream;
	job->desc.stream_size = ujob->stream_size;
	job->desc.num_regions = ujob->regions.count;
	job->desc.flags = ujob->flags;
	job->desc.trace = ujob->trace;
	job->desc.trace_size = ujob->trace_size;
}

/* All that does not depend on the job in front. */
static int npu_submit_prepare_job(struct npu_submit_ctx *ctx, struct npu_submit_job *sub,
				  const struct drm_npu_job *ujob)
{
	struct npu_queue *queue = ctx->queue;
	int ret;

	ret = npu_submit_check_job(queue, ujob);
	if (ret)
		return ret;

	sub->job = npu_job_alloc(queue, ujob->regions.count);
	if (!sub->job)
		return -ENOMEM;

	npu_submit_fill_desc(sub->job, ujob);
	ret = npu_submit_get_regions(queue, sub->job, ujob);
	if (!ret)
		ret = npu_submit_get_scalars(sub->job, ujob);
	if (!ret)
		ret = npu_submit_get_syncs(ctx->file, sub, ujob);

	return ret;
}

static u64 __user *npu_submit_id(const struct drm_npu_obj_array *jobs, u32 i)
{
	return u64_to_user_ptr(jobs->array + (u64)i * jobs->stride +
			       offsetof(struct drm_npu_job, id));
}

/* Until the first that is refused. That its id can not be written is found out here, too. */
static int npu_submit_prepare(struct npu_submit_ctx *ctx, const struct drm_npu_obj_array *jobs)
{
	struct drm_npu_obj_array one = { .stride = jobs->stride, .count = 1 };
	struct drm_npu_job ujob;
	int ret = 0;
	u32 i;

	for (i = 0; i < jobs->count && !ret; i++) {
		one.array = jobs->array + (u64)i * jobs->stride;
		ret = npu_uobj_array_copy(&ujob, &one, sizeof(ujob), sizeof(ujob));
		if (!ret)
			ret = npu_submit_prepare_job(ctx, &ctx->jobs[i], &ujob);
		if (!ret && put_user(0, npu_submit_id(jobs, i)))
			ret = -EFAULT;
		ctx->count += !ret;
	}

	return ret;
}

/* What has not signalled, and is not in front of it in the queue anyway. */
static int npu_submit_get_waits(struct npu_submit_ctx *ctx, struct npu_submit_job *sub, bool *waits)
{
	u32 i;
	int ret;

	for (i = 0; i < sub->num_syncs; i++) {
		struct npu_submit_sync *sync = &sub->syncs[i];
		struct dma_fence *fence;

		if (!(sync->flags & DRM_NPU_SYNC_OP_WAIT))
			continue;
		/* On error there may be a pointer, but no reference. */
		ret = drm_syncobj_find_fence(ctx->file, sync->handle, sync->point, 0, &fence);
		if (ret)
			return ret;
		if (fence->context == ctx->queue->fence_context || dma_fence_is_signaled(fence)) {
			dma_fence_put(fence);
			continue;
		}
		sync->fence = fence;
		*waits = true;
	}

	return 0;
}

static void npu_submit_signal(struct npu_submit_job *sub, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < sub->num_syncs; i++) {
		struct npu_submit_sync *sync = &sub->syncs[i];

		if (!sync->syncobj)
			continue;
		if (sync->chain)
			drm_syncobj_add_point(sync->syncobj, sync->chain, fence, sync->point);
		else
			drm_syncobj_replace_fence(sync->syncobj, fence);
		/* Consumed. */
		sync->chain = NULL;
	}
}

/* Without jobs of the scheduler's all that have not ended are on the list. */
static bool npu_submit_may_start(const struct npu_queue *queue)
{
	return !queue->num_scheduled &&
	       queue->submitted - queue->completed < NPU_QUEUE_MAX_STARTED;
}

/*
 * The doorbell is rung for the first job of a call, which the device can begin with, and for all
 * others together.
 *
 * Return: 0, -EBUSY when it @waits for fences or for jobs that the scheduler has, -ENODEV, or -EIO.
 */
static int npu_submit_start(struct npu_submit_ctx *ctx, struct npu_job *job, bool waits)
{
	struct npu_queue *queue = ctx->queue;
	int ret = -EBUSY;

	spin_lock_irq(&queue->lock);
	if (READ_ONCE(queue->npu->hw.gone))
		ret = -ENODEV;
	else if (queue->dead)
		ret = -EIO;
	else if (!waits && npu_submit_may_start(queue))
		ret = 0;
	if (!ret) {
		npu_job_init_fence(job);
		ret = npu_job_start(job, !ctx->taken);
	}
	if (!ret)
		queue->submitted = job->id;
	spin_unlock_irq(&queue->lock);
	if (!ret)
		ctx->unrung = ctx->taken;

	return ret;
}

/* From drm_sched_job_arm() on nothing fails: what is armed must be pushed. */
static struct dma_fence *npu_submit_push(struct npu_submit_ctx *ctx, struct npu_submit_job *sub)
{
	struct npu_queue *queue = ctx->queue;
	struct npu_job *job = sub->job;
	struct dma_fence *fence;

	atomic_inc(&queue->npu->pm_refs);
	job->has_pm = true;
	job->scheduled = true;

	spin_lock_irq(&queue->lock);
	queue->submitted = job->id;
	queue->num_scheduled++;
	spin_unlock_irq(&queue->lock);

	drm_sched_job_arm(&job->base);
	fence = dma_fence_get(&job->base.s_fence->finished);
	sub->job = NULL;
	drm_sched_entity_push_job(&job->base);

	return fence;
}

static struct dma_fence *npu_submit_schedule(struct npu_submit_ctx *ctx, struct npu_submit_job *sub)
{
	struct drm_sched_job *base = &sub->job->base;
	int ret;
	u32 i;

	ret = drm_sched_job_init(base, &ctx->queue->entity, 1, NULL, ctx->file->client_id);
	if (ret)
		return ERR_PTR(ret);

	for (i = 0; i < sub->num_syncs; i++) {
		struct npu_submit_sync *sync = &sub->syncs[i];

		if (!sync->fence)
			continue;
		ret = drm_sched_job_add_dependency(base, sync->fence);
		/* Consumed, in any case. */
		sync->fence = NULL;
		if (ret) {
			drm_sched_job_cleanup(base);
			return ERR_PTR(ret);
		}
	}

	/* It has to be on when the job's turn comes. It is on: a reference is only counted up. */
	if (pm_runtime_resume_and_get(ctx->queue->npu->base.dev)) {
		drm_sched_job_cleanup(base);
		return ERR_PTR(-ENODEV);
	}

	return npu_submit_push(ctx, sub);
}

static int npu_submit_commit_job(struct npu_submit_ctx *ctx, struct npu_submit_job *sub)
{
	struct npu_job *job = sub->job;
	struct dma_fence *fence;
	bool waits = false;
	int ret;

	/* Under submit_lock, which all who submit to the queue hold. */
	job->id = ctx->queue->submitted + 1;
	ret = npu_submit_get_waits(ctx, sub, &waits);
	if (ret)
		return ret;

	ret = npu_submit_start(ctx, job, waits);
	if (!ret) {
		/* With the maker's reference. What the job holds is npu_job_end()'s to drop. */
		fence = &job->fence;
		sub->job = NULL;
	} else if (ret == -EBUSY) {
		fence = npu_submit_schedule(ctx, sub);
		if (IS_ERR(fence))
			return PTR_ERR(fence);
	} else {
		return ret;
	}

	npu_submit_signal(sub, fence);
	dma_fence_put(ctx->fence);
	ctx->fence = fence;

	return 0;
}

/* All that is mapped, and ever was, has the VM's reservation. */
static int npu_submit_lock_alone(struct drm_gpuvm *gpuvm)
{
	struct dma_resv *resv = drm_gpuvm_resv(gpuvm);
	int ret;

	ret = dma_resv_lock_interruptible(resv, NULL);
	if (ret)
		return ret;
	ret = dma_resv_reserve_fences(resv, 1);
	if (ret)
		dma_resv_unlock(resv);

	return ret;
}

static int npu_submit_lock(struct npu_submit_ctx *ctx)
{
	struct drm_gpuvm *gpuvm = &ctx->queue->vm->base;
	int ret = 0;

	ctx->shared = READ_ONCE(ctx->queue->vm->shared);
	if (!ctx->shared)
		return npu_submit_lock_alone(gpuvm);

	/* With its default it allocates a page. */
	drm_exec_init(&ctx->exec, DRM_EXEC_INTERRUPTIBLE_WAIT, NPU_SUBMIT_FEW_BUFFERS);
	drm_exec_until_all_locked(&ctx->exec) {
		ret = drm_gpuvm_prepare_vm(gpuvm, &ctx->exec, 1);
		drm_exec_retry_on_contention(&ctx->exec);
		if (!ret)
			ret = drm_gpuvm_prepare_objects(gpuvm, &ctx->exec, 1);
		drm_exec_retry_on_contention(&ctx->exec);
		if (ret)
			break;
	}
	if (ret)
		drm_exec_fini(&ctx->exec);

	return ret;
}

/* With the fence of the last job, which is that of all of them: they end in order. */
static void npu_submit_unlock(struct npu_submit_ctx *ctx)
{
	struct drm_gpuvm *gpuvm = &ctx->queue->vm->base;
	struct dma_resv *resv = drm_gpuvm_resv(gpuvm);

	if (!ctx->shared) {
		if (ctx->fence)
			dma_resv_add_fence(resv, ctx->fence, DMA_RESV_USAGE_BOOKKEEP);
		dma_resv_unlock(resv);
		return;
	}
	if (ctx->fence)
		drm_gpuvm_resv_add_fence(gpuvm, &ctx->exec, ctx->fence, DMA_RESV_USAGE_BOOKKEEP,
					 DMA_RESV_USAGE_BOOKKEEP);
	drm_exec_fini(&ctx->exec);
}

static int npu_submit_commit(struct npu_submit_ctx *ctx)
{
	struct npu_queue *queue = ctx->queue;
	int ret;

	ret = npu_submit_lock(ctx);
	if (ret)
		return ret;

	while (!ret && ctx->taken < ctx->count) {
		ret = npu_submit_commit_job(ctx, &ctx->jobs[ctx->taken]);
		ctx->taken += !ret;
	}
	if (ctx->unrung)
		npu_queue_ring(queue);
	npu_submit_unlock(ctx);

	return ret;
}

/*
 * The device is on until npu_submit_let_go(). With jobs in flight, as which the call counts then,
 * it is not suspended: see npu_pm_runtime_suspend(). Else it may have to be switched on.
 */
static int npu_submit_hold(struct npu_submit_ctx *ctx)
{
	struct npu_device *npu = ctx->queue->npu;

	ctx->counted = atomic_inc_not_zero(&npu->inflight);
	if (ctx->counted)
		return 0;

	/* It has been given up. Later calls have an error of runtime PM's own. */
	return pm_runtime_resume_and_get(npu->base.dev) ? -ENODEV : 0;
}

static void npu_submit_let_go(struct npu_submit_ctx *ctx)
{
	struct npu_device *npu = ctx->queue->npu;

	if (ctx->counted) {
		atomic_dec(&npu->inflight);
		return;
	}
	pm_runtime_mark_last_busy(npu->base.dev);
	pm_runtime_put_autosuspend(npu->base.dev);
}

/* Nothing of the program's memory is looked at in here. */
static int npu_submit_take(struct npu_submit_ctx *ctx, u64 *first)
{
	struct npu_queue *queue = ctx->queue;
	int cookie, ret;

	if (!drm_dev_enter(&queue->npu->base, &cookie))
		return -ENODEV;

	ret = npu_submit_hold(ctx);
	if (ret)
		goto out_exit;

	npu_hw_reap(queue->npu);
	ret = mutex_lock_interruptible(&queue->submit_lock);
	if (!ret) {
		*first = queue->submitted + 1;
		ret = npu_submit_commit(ctx);
		mutex_unlock(&queue->submit_lock);
	}
	npu_submit_let_go(ctx);

out_exit:
	drm_dev_exit(cookie);
	return ret;
}

/* A program that takes away the memory meanwhile does without. */
static int npu_submit_put_ids(const struct npu_submit_ctx *ctx,
			      const struct drm_npu_obj_array *jobs, u64 first)
{
	u32 i;

	for (i = 0; i < ctx->taken; i++) {
		if (put_user(first + i, npu_submit_id(jobs, i)))
			return -EFAULT;
	}

	return 0;
}

static void npu_submit_fini(struct npu_submit_ctx *ctx, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		npu_submit_job_fini(&ctx->jobs[i]);
	dma_fence_put(ctx->fence);
}

/* As npu_submit(), with an empty context that has room for all jobs. */
static int npu_submit_in(struct npu_submit_ctx *ctx, struct drm_npu_submit *args)
{
	int ret, bad;
	u64 first;

	bad = npu_submit_prepare(ctx, &args->jobs);
	ret = ctx->count ? npu_submit_take(ctx, &first) : 0;
	args->done = ctx->taken;
	if (!ret)
		ret = bad;
	if (ctx->taken && npu_submit_put_ids(ctx, &args->jobs, first) && !ret)
		ret = -EFAULT;
	npu_submit_fini(ctx, args->jobs.count);

	return ret;
}

static int npu_submit_one(struct npu_queue *queue, struct drm_file *file,
			  struct drm_npu_submit *args)
{
	DEFINE_RAW_FLEX(struct npu_submit_ctx, ctx, jobs, 1);

	ctx->queue = queue;
	ctx->file = file;

	return npu_submit_in(ctx, args);
}

/**
 * npu_submit() - take jobs into a queue
 * @queue: queue
 * @file: whose handles they name
 * @args: arguments, flags and padding already checked; done is filled in
 *
 * Called without drm_dev_enter().
 *
 * Return: 0 or a negative errno; interrupted only before the first job.
 */
int npu_submit(struct npu_queue *queue, struct drm_file *file, struct drm_npu_submit *args)
{
	struct npu_submit_ctx *ctx;
	int ret;

	if (!args->jobs.count || args->jobs.count > NPU_SUBMIT_MAX_JOBS)
		return -EINVAL;
	if (args->jobs.count == 1)
		return npu_submit_one(queue, file, args);

	ctx = kvzalloc(struct_size(ctx, jobs, args->jobs.count), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return -ENOMEM;
	ctx->queue = queue;
	ctx->file = file;
	ret = npu_submit_in(ctx, args);
	kvfree(ctx);

	return ret;
}
