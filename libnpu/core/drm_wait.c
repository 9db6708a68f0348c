// SPDX-License-Identifier: MIT
/* The drm backend: what jobs wait for, and fences for others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/drm.h"

void drm_waits_put(struct drm_device *drm, struct drm_waits *w)
{
	uint32_t i;

	for (i = 0; i < w->num; i++) {
		if (w->queue[i])
			npu_queue_destroy(w->queue[i]);
		else
			drmSyncobjDestroy(drm->fd, w->op[i].handle);
	}
	free(w->op);
	free(w->queue);
}

/* A fence of the kernel's, as a syncobj for the length of a submit. */
static int wait_for_file(struct drm_device *drm, struct drm_waits *w, int file,
			 struct npu_error *err)
{
	uint32_t handle;

	if (drmSyncobjCreate(drm->fd, 0, &handle))
		return npu_error_set(err, -errno, "device '%s': a syncobj: %s", drm->dev->info.uri,
				     strerror(errno));
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
	struct npu_queue *queue;
	uint64_t point;

	if (npu_fence_file(fence) >= 0 && npu_fence_status(fence) == -EINPROGRESS)
		return wait_for_file(drm, w, npu_fence_file(fence), err);
	queue = npu_fence_get_queue(fence, &point);
	if (!queue) {
		/* It has ended; its fence says so in a moment at the latest. */
		w->failed |= npu_fence_wait(fence, NPU_FOREVER, NULL) != 0;
		return 0;
	}
	w->op[w->num] = (struct drm_npu_sync_op){
		.flags = DRM_NPU_SYNC_OP_TIMELINE | DRM_NPU_SYNC_OP_WAIT,
		.handle = ((struct drm_queue *)queue->backend)->syncobj,
		.timeline_value = point,
	};
	w->queue[w->num++] = queue;
	return 0;
}

/* Fences of other devices, and those that the kernel does not know, went through a chain. */
int drm_waits_get(struct npu_work *work, struct drm_waits *w, struct npu_error *err)
{
	uint32_t i;
	int ret = 0;

	*w = (struct drm_waits){ 0 };
	w->op = calloc(work->num_wait + 1, sizeof(*w->op));
	w->queue = calloc(work->num_wait + 1, sizeof(*w->queue));
	if (!w->op || !w->queue)
		return npu_error_set(err, -ENOMEM, "no memory for a submit");
	for (i = 0; i < work->num_wait && !ret; i++)
		ret = wait_for(work->queue->dev->backend, w, work->wait[i], err);
	return ret;
}

int drm_fence_export(struct npu_queue *queue, uint64_t point, int *fd, struct npu_error *err)
{
	struct drm_device *drm = queue->dev->backend;
	struct drm_queue *dq = queue->backend;
	uint32_t handle;
	int ret = 0;

	/* Only a binary syncobj has a file. */
	if (drmSyncobjCreate(drm->fd, 0, &handle))
		return npu_error_set(err, -errno, "device '%s': a syncobj: %s", drm->dev->info.uri,
				     strerror(errno));
	if (drmSyncobjTransfer(drm->fd, handle, 0, dq->syncobj, point, 0) ||
	    drmSyncobjExportSyncFile(drm->fd, handle, fd))
		ret = npu_error_set(err, -errno, "device '%s': a sync_file: %s", drm->dev->info.uri,
				    errno == ENODEV ? "the device is gone" : strerror(errno));
	drmSyncobjDestroy(drm->fd, handle);
	return ret;
}
