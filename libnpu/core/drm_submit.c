// SPDX-License-Identifier: MIT
/* The drm backend: handing a job to the driver. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/drm.h"

_Static_assert(sizeof(struct drm_npu_region) == sizeof(struct npu_region), "one layout");
_Static_assert(NPU_ACCESS_READ == DRM_NPU_ACCESS_READ && NPU_ACCESS_WRITE == DRM_NPU_ACCESS_WRITE &&
	       NPU_ACCESS_SRAM == DRM_NPU_ACCESS_SRAM, "one meaning");
_Static_assert(NPU_JOB_TRACE_PROFILE == DRM_NPU_JOB_TRACE_PROFILE &&
	       NPU_JOB_TRACE_DIGEST == DRM_NPU_JOB_TRACE_DIGEST, "one meaning");

void drm_work_free(struct drm_device *drm, struct drm_work *dw)
{
	if (dw->trace.num)
		drm_bo_destroy(drm, &dw->trace);
	free(dw);
}

static struct drm_work *drm_work_new(struct npu_work *work, struct npu_error *err)
{
	struct drm_device *drm = work->queue->dev->backend;
	struct drm_work *dw = calloc(1, sizeof(*dw));
	uint64_t size = drm_trace_size(work);

	if (!dw) {
		npu_error_set(err, -ENOMEM, "no memory for a submit");
		return NULL;
	}
	dw->work = work;
	dw->own_thread = work->has_done;
	if (size && drm_bo_create(drm, &dw->trace, size, 0, true, err)) {
		drm_work_free(drm, dw);
		return NULL;
	}
	work->backend = dw;
	return dw;
}

static int submit_job(struct drm_queue *dq, struct drm_work *dw, struct drm_waits *w,
		      struct npu_error *err)
{
	const struct npu_work *work = dw->work;
	uint64_t scalar[NPU_MAX_SCALARS];
	struct drm_npu_job job = {
		.stream = work->code->va,
		.stream_size = work->code->size,
		.regions = DRM_NPU_OBJ_ARRAY(work->num_regions, work->region),
		.scalars = DRM_NPU_OBJ_ARRAY(NPU_MAX_SCALARS, scalar),
		.syncs = DRM_NPU_OBJ_ARRAY(w->num + 1, w->op),
		.trace = dw->trace.va,
		.trace_size = (uint32_t)dw->trace.size,
	};
	struct drm_npu_submit submit = {
		.queue_id = dw->kqueue->id,
		.jobs = DRM_NPU_OBJ_ARRAY(1, &job),
	};
	unsigned int i;
	int ret;

	for (i = 0; i < NPU_MAX_SCALARS; i++)
		scalar[i] = work->scalar[i];
	if (work->flags & NPU_SUBMIT_PROFILE)
		job.flags |= DRM_NPU_JOB_TRACE_PROFILE;
	if (work->flags & NPU_SUBMIT_DIGEST)
		job.flags |= DRM_NPU_JOB_TRACE_DIGEST;
	w->op[w->num] = (struct drm_npu_sync_op){
		.flags = DRM_NPU_SYNC_OP_SIGNAL,
		.handle = dw->sync->handle,
	};
	ret = drm_call(dq->drm, DRM_IOCTL_NPU_SUBMIT, &submit, err, "submit");
	if (ret)
		return ret;
	dw->job_id = job.id;
	dw->submitted = npu_now();
	return 0;
}

/* A queue of the driver's dies with a job that ends badly: then try once more on a new one. */
static int submit_locked(struct drm_queue *dq, struct drm_work *dw, struct drm_waits *w,
			 struct npu_error *err)
{
	int ret = drm_queue_start(dq, err), tries;

	if (!ret)
		ret = drm_sync_new(dq, &dw->sync, err);
	for (tries = 0; !ret && tries < 2; tries++) {
		ret = drm_kqueue_get(dq, &dw->kqueue, err);
		if (ret)
			break;
		ret = submit_job(dq, dw, w, err);
		if (!ret)
			return 0;
		drm_kqueue_put(dq, dw->kqueue);
		if (ret != -EIO || tries)
			break;
		if (dq->kqueue == dw->kqueue) {
			drm_kqueue_put(dq, dq->kqueue);
			dq->kqueue = NULL;
		}
		ret = 0;
	}
	dw->kqueue = NULL;
	if (dw->sync)
		drm_sync_put(dq, dw->sync);
	return ret;
}

int drm_submit(struct npu_work *work, struct npu_error *err)
{
	struct drm_device *drm = work->queue->dev->backend;
	struct drm_queue *dq = work->queue->backend;
	struct drm_work *dw = drm_work_new(work, err);
	struct drm_waits w;
	int ret;

	if (!dw)
		return err ? err->code : -ENOMEM;
	ret = drm_waits_get(work, &w, err);
	if (ret)
		goto out_waits;
	pthread_mutex_lock(&dq->lock);
	/*
	 * Cancelled, or behind a fence that failed, it never runs; it says so when its turn comes.
	 */
	if (w.failed || atomic_load(&work->stop))
		ret = drm_queue_start(dq, err);
	else
		ret = submit_locked(dq, dw, &w, err);
	if (!ret)
		drm_queue_add(dq, dw);
	pthread_mutex_unlock(&dq->lock);
out_waits:
	drm_waits_put(drm, &w);
	if (ret)
		drm_work_free(drm, dw);
	return ret;
}
