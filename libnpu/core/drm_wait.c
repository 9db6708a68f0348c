// SPDX-License-Identifier: MIT
/* The drm backend: what jobs wait for, and fences for others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/drm.h"

void drm_waits_put(struct drm_device *drm, struct drm_waits *w)
{
	struct drm_queue *dq;
	uint32_t i;

	for (i = 0; i < w->num; i++) {
		if (!w->ref[i].queue) {
			drmSyncobjDestroy(drm->fd, w->op[i].handle);
			continue;
		}
		dq = w->ref[i].queue->backend;
		pthread_mutex_lock(&dq->lock);
		drm_sync_put(dq, w->ref[i].sync);
		pthread_mutex_unlock(&dq->lock);
		npu_queue_put(w->ref[i].queue);
	}
	if (w->op != w->few_op) {
		free(w->op);
		free(w->ref);
	}
}

/* Room for @num of them; put() after an error, too. */
static int waits_init(struct drm_waits *w, uint32_t num)
{
	w->num = 0;
	w->failed = false;
	w->op = w->few_op;
	w->ref = w->few_ref;
	if (num <= DRM_FEW_WAITS)
		return 0;
	w->op = calloc(num + 1, sizeof(*w->op));
	w->ref = calloc(num, sizeof(*w->ref));
	return w->op && w->ref ? 0 : -ENOMEM;
}

/* As drm_sync_find(). */
static int sync_get(struct npu_queue *queue, const struct npu_fence *fence, struct drm_sync **sync)
{
	struct drm_queue *dq = queue->backend;
	int ret;

	pthread_mutex_lock(&dq->lock);
	ret = drm_sync_find(dq, fence, sync);
	pthread_mutex_unlock(&dq->lock);
	return ret;
}

/* 1: @fence's job is in flight, and queue and syncobj are the caller's to put; or its end. */
static int ref_get(struct npu_fence *fence, struct drm_wait_ref *ref)
{
	int ret = 0;

	ref->queue = npu_fence_get_queue(fence);
	if (ref->queue) {
		ret = sync_get(ref->queue, fence, &ref->sync);
		if (ret > 0)
			return ret;
		npu_queue_put(ref->queue);
	}
	/* If it has ended its fence says so in a moment at the latest. */
	return ret ? ret : npu_fence_wait(fence, NPU_FOREVER, NULL);
}

/* A fence of the kernel's, as a syncobj for the length of a submit. */
static int wait_for_file(struct drm_device *drm, struct drm_waits *w, int file,
			 struct npu_error *err)
{
	uint32_t handle;

	if (drmSyncobjCreate(drm->fd, 0, &handle))
		return npu_error_set(err, -errno, "device '%s': a syncobj: %s", drm->dev->info.uri,
				     strerror(errno));
	w->ref[w->num].queue = NULL;
	w->op[w->num++] = (struct drm_npu_sync_op){
		.flags = DRM_NPU_SYNC_OP_WAIT,
		.handle = handle,
	};
	if (drmSyncobjImportSyncFile(drm->fd, handle, file))
		return npu_error_set(err, -errno, "device '%s': a fence to wait for: %s",
				     drm->dev->info.uri, strerror(errno));
	return 0;
}

static int wait_for(struct drm_device *drm, struct drm_waits *w, struct npu_fence *fence,
		    struct npu_error *err)
{
	struct drm_wait_ref ref;
	int ret;

	if (npu_fence_file(fence) >= 0 && npu_fence_status(fence) == -EINPROGRESS)
		return wait_for_file(drm, w, npu_fence_file(fence), err);
	ret = ref_get(fence, &ref);
	w->failed |= ret < 0;
	if (ret <= 0)
		return 0;
	w->op[w->num] = (struct drm_npu_sync_op){
		.flags = DRM_NPU_SYNC_OP_WAIT,
		.handle = ref.sync->handle,
	};
	w->ref[w->num++] = ref;
	return 0;
}

/* Fences of other devices, and those that the kernel does not know, went through a chain. */
int drm_waits_get(struct npu_work *work, struct drm_waits *w, struct npu_error *err)
{
	uint32_t i;
	int ret = 0;

	if (waits_init(w, work->num_wait))
		return npu_error_set(err, -ENOMEM, "no memory for a submit");
	for (i = 0; i < work->num_wait && !ret; i++)
		ret = wait_for(work->queue->dev->backend, w, work->wait[i], err);
	return ret;
}

int drm_fence_export(struct npu_queue *queue, const struct npu_fence *fence, int *fd,
		     struct npu_error *err)
{
	struct drm_device *drm = queue->dev->backend;
	struct drm_queue *dq = queue->backend;
	struct drm_sync *sync;
	int ret = sync_get(queue, fence, &sync);

	if (ret < 0)
		return npu_error_set(err, ret,
				     "the job will not run: it was cancelled, or a fence it waits for failed");
	if (!ret)
		return 0;
	ret = 0;
	if (drmSyncobjExportSyncFile(drm->fd, sync->handle, fd))
		ret = npu_error_set(err, -errno, "device '%s': a sync_file: %s", drm->dev->info.uri,
				    errno == ENODEV ? "the device is gone" : strerror(errno));
	pthread_mutex_lock(&dq->lock);
	drm_sync_put(dq, sync);
	pthread_mutex_unlock(&dq->lock);
	return ret;
}
