// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: SUBMIT
 *
 * Jobs of a call are taken one after the other, so that one may wait for what the one before it
 * signals. All that can fail comes before drm_sched_job_arm(): copies, checks, memory for the fence
 * and for points of timelines, look-up of syncobjs, a runtime PM reference, locks. When a job is
 * refused those before it have been taken, and those behind it are not looked at.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/pm_runtime.h>
#include <linux/uaccess.h>

#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_syncobj.h>

#include "../uapi/drm/npu_drm.h"

#include "npu_device.h"
#include "npu_job.h"
#include "npu_queue.h"
#include "npu_submit.h"
#include "npu_uobj.h"
#include "npu_vm.h"

static_assert(sizeof(struct drm_npu_region) == sizeof(struct npu_region));
static_assert((int)DRM_NPU_ACCESS_SRAM == (int)NPU_ACCESS_SRAM);
static_assert((int)DRM_NPU_JOB_TRACE_DIGEST == (int)NPU_JOB_TRACE_DIGEST);
static_assert(sizeof(struct drm_npu_fault) == sizeof(struct npu_fault));

/**
 * struct npu_submit_signal - a syncobj that a job signals
 * @syncobj: with a reference
 * @chain: memory for the point of a timeline, NULL: binary
 * @point: of it
 */
struct npu_submit_signal {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

/**
 * struct npu_submit_ctx - a job on its way in
 * @queue: of it
 * @file: whose handles it names
 * @job: it, NULL when the scheduler has it
 * @syncs: what it waits for and signals
 * @num_syncs: of them
 * @signals: what it signals
 * @num_signals: of them
 */
struct npu_submit_ctx {
	struct npu_queue *queue;
	struct drm_file *file;
	struct npu_job *job;
	struct drm_npu_sync_op *syncs;
	u32 num_syncs;
	struct npu_submit_signal *signals;
	u32 num_signals;
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

static int npu_submit_get_regions(struct npu_submit_ctx *ctx, const struct drm_npu_job *ujob)
{
	struct npu_job *job = ctx->job;
	u32 i;
	int ret;

	job->regions = npu_uobj_array_get(&ujob->regions, sizeof(*job->regions),
					  sizeof(struct drm_npu_region));
	if (IS_ERR(job->regions)) {
		ret = PTR_ERR(job->regions);
		job->regions = NULL;
		return ret;
	}

	for (i = 0; i < ujob->regions.count; i++) {
		ret = npu_submit_check_region(ctx->queue, &job->regions[i]);
		if (ret)
			return ret;
	}

	return 0;
}

static int npu_submit_get_scalars(struct npu_submit_ctx *ctx, const struct drm_npu_job *ujob)
{
	u64 *scalars;
	int ret = 0;
	u32 i;

	scalars = npu_uobj_array_get(&ujob->scalars, sizeof(*scalars), sizeof(*scalars));
	if (IS_ERR(scalars))
		return PTR_ERR(scalars);

	for (i = 0; i < ujob->scalars.count && !ret; i++) {
		if (scalars[i] > U32_MAX)
			ret = -EINVAL;
		ctx->job->desc.scalar[i] = scalars[i];
	}
	kvfree(scalars);

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

static int npu_submit_get_signal(struct npu_submit_ctx *ctx, const struct drm_npu_sync_op *sync)
{
	struct npu_submit_signal *signal = &ctx->signals[ctx->num_signals];

	signal->syncobj = drm_syncobj_find(ctx->file, sync->handle);
	if (!signal->syncobj)
		return -ENOENT;

	ctx->num_signals++;
	signal->point = sync->timeline_value;
	signal->chain = NULL;
	if (!(sync->flags & DRM_NPU_SYNC_OP_TIMELINE))
		return 0;

	signal->chain = dma_fence_chain_alloc();

	return signal->chain ? 0 : -ENOMEM;
}

/* Waits are looked up later: the job in front may signal what this one waits for. */
static int npu_submit_get_syncs(struct npu_submit_ctx *ctx, const struct drm_npu_job *ujob)
{
	u32 i;
	int ret;

	ctx->syncs = npu_uobj_array_get(&ujob->syncs, sizeof(*ctx->syncs), sizeof(*ctx->syncs));
	if (IS_ERR(ctx->syncs)) {
		ret = PTR_ERR(ctx->syncs);
		ctx->syncs = NULL;
		return ret;
	}
	ctx->num_syncs = ujob->syncs.count;
	if (!ctx->num_syncs)
		return 0;

	ctx->signals = kvcalloc(ctx->num_syncs, sizeof(*ctx->signals), GFP_KERNEL_ACCOUNT);
	if (!ctx->signals)
		return -ENOMEM;

	for (i = 0; i < ctx->num_syncs; i++) {
		ret = npu_submit_check_sync(&ctx->syncs[i]);
		if (!ret && ctx->syncs[i].flags & DRM_NPU_SYNC_OP_SIGNAL)
			ret = npu_submit_get_signal(ctx, &ctx->syncs[i]);
		if (ret)
			return ret;
	}

	return 0;
}

static void npu_submit_ctx_fini(struct npu_submit_ctx *ctx)
{
	u32 i;

	for (i = 0; i < ctx->num_signals; i++) {
		dma_fence_chain_free(ctx->signals[i].chain);
		drm_syncobj_put(ctx->signals[i].syncobj);
	}
	kvfree(ctx->signals);
	kvfree(ctx->syncs);
	if (ctx->job)
		npu_job_free(ctx->job);
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
static int npu_submit_prepare(struct npu_submit_ctx *ctx, const struct drm_npu_job *ujob)
{
	struct npu_device *npu = ctx->queue->npu;
	int ret;

	ret = npu_submit_check_job(ctx->queue, ujob);
	if (ret)
		return ret;

	ctx->job = npu_job_alloc(ctx->queue);
	if (!ctx->job)
		return -ENOMEM;

	npu_submit_fill_desc(ctx->job, ujob);
	ret = npu_submit_get_regions(ctx, ujob);
	if (!ret)
		ret = npu_submit_get_scalars(ctx, ujob);
	if (!ret)
		ret = npu_submit_get_syncs(ctx, ujob);
	if (ret)
		return ret;

	/* The caller has one: it is only counted up. */
	pm_runtime_get_noresume(npu->base.dev);
	ctx->job->has_pm = true;

	return 0;
}

static int npu_submit_add_waits(struct npu_submit_ctx *ctx)
{
	u32 i;
	int ret;

	for (i = 0; i < ctx->num_syncs; i++) {
		const struct drm_npu_sync_op *sync = &ctx->syncs[i];

		if (!(sync->flags & DRM_NPU_SYNC_OP_WAIT))
			continue;
		ret = drm_sched_job_add_syncobj_dependency(&ctx->job->base, ctx->file,
							   sync->handle, sync->timeline_value);
		if (ret)
			return ret;
	}

	return 0;
}

static void npu_submit_signal(struct npu_submit_ctx *ctx, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < ctx->num_signals; i++) {
		struct npu_submit_signal *signal = &ctx->signals[i];

		if (signal->chain)
			drm_syncobj_add_point(signal->syncobj, signal->chain, fence, signal->point);
		else
			drm_syncobj_replace_fence(signal->syncobj, fence);
		/* Consumed. */
		signal->chain = NULL;
	}
}

/* From here on nothing fails: what is armed must be pushed. */
static void npu_submit_push(struct npu_submit_ctx *ctx, struct drm_gpuvm_exec *exec)
{
	struct npu_queue *queue = ctx->queue;
	struct npu_job *job = ctx->job;
	struct dma_fence *fence;

	spin_lock_irq(&queue->lock);
	queue->submitted = job->id;
	spin_unlock_irq(&queue->lock);

	drm_sched_job_arm(&job->base);
	fence = dma_fence_get(&job->base.s_fence->finished);
	drm_gpuvm_exec_resv_add_fence(exec, fence, DMA_RESV_USAGE_BOOKKEEP,
				      DMA_RESV_USAGE_BOOKKEEP);
	ctx->job = NULL;
	drm_sched_entity_push_job(&job->base);
	npu_submit_signal(ctx, fence);
	dma_fence_put(fence);
}

static int npu_submit_commit(struct npu_submit_ctx *ctx, u64 client, bool interruptible)
{
	struct npu_queue *queue = ctx->queue;
	struct drm_gpuvm_exec exec = {
		.vm = &queue->vm->base,
		.flags = interruptible ? DRM_EXEC_INTERRUPTIBLE_WAIT : 0,
		.num_fences = 1,
	};
	int ret;

	ret = drm_sched_job_init(&ctx->job->base, &queue->entity, 1, NULL, client);
	if (ret)
		return ret;

	ret = npu_submit_add_waits(ctx);
	if (ret)
		goto err_cleanup;

	ret = drm_gpuvm_exec_lock(&exec);
	if (ret)
		goto err_cleanup;

	npu_submit_push(ctx, &exec);
	drm_gpuvm_exec_unlock(&exec);

	return 0;

err_cleanup:
	drm_sched_job_cleanup(&ctx->job->base);
	return ret;
}

static bool npu_submit_queue_is_dead(struct npu_queue *queue)
{
	bool dead;

	spin_lock_irq(&queue->lock);
	dead = queue->dead;
	spin_unlock_irq(&queue->lock);

	return dead;
}

static int npu_submit_one(struct npu_queue *queue, struct drm_file *file,
			  const struct drm_npu_job *ujob, void __user *out, bool first)
{
	struct npu_submit_ctx ctx = { .queue = queue, .file = file };
	int ret;

	if (npu_submit_queue_is_dead(queue))
		return READ_ONCE(queue->npu->hw.gone) ? -ENODEV : -EIO;

	ret = npu_submit_prepare(&ctx, ujob);
	if (!ret) {
		/* Under submit_lock, which all who submit to the queue hold. */
		ctx.job->id = queue->submitted + 1;
		if (put_user(ctx.job->id, (u64 __user *)out))
			ret = -EFAULT;
	}
	if (!ret)
		ret = npu_submit_commit(&ctx, file->client_id, first);
	npu_submit_ctx_fini(&ctx);

	return ret;
}

static int npu_submit_all(struct npu_queue *queue, struct drm_file *file,
			  struct drm_npu_submit *args, const struct drm_npu_job *ujobs)
{
	void __user *out = u64_to_user_ptr(args->jobs.array) + offsetof(struct drm_npu_job, id);
	int ret;
	u32 i;

	ret = mutex_lock_interruptible(&queue->submit_lock);
	if (ret)
		return ret;

	for (i = 0; i < args->jobs.count && !ret; i++) {
		ret = npu_submit_one(queue, file, &ujobs[i], out + (size_t)i * args->jobs.stride,
				     i == 0);
		args->done += !ret;
	}
	mutex_unlock(&queue->submit_lock);

	return ret;
}

/**
 * npu_submit() - take jobs into a queue
 * @queue: queue
 * @file: whose handles they name
 * @args: arguments, flags and padding already checked; done is filled in
 *
 * Return: 0 or a negative errno; interrupted only before the first job.
 */
int npu_submit(struct npu_queue *queue, struct drm_file *file, struct drm_npu_submit *args)
{
	struct npu_device *npu = queue->npu;
	struct drm_npu_job *ujobs;
	int ret;

	if (!args->jobs.count || args->jobs.count > NPU_SUBMIT_MAX_JOBS)
		return -EINVAL;
	ujobs = npu_uobj_array_get(&args->jobs, sizeof(*ujobs), sizeof(*ujobs));
	if (IS_ERR(ujobs))
		return PTR_ERR(ujobs);

	ret = pm_runtime_resume_and_get(npu->base.dev);
	if (ret) {
		/* It has been given up. Later calls have an error of runtime PM's own. */
		ret = -ENODEV;
		goto out_free;
	}

	ret = npu_submit_all(queue, file, args, ujobs);
	pm_runtime_mark_last_busy(npu->base.dev);
	pm_runtime_put_autosuspend(npu->base.dev);

out_free:
	kvfree(ujobs);
	return ret;
}
