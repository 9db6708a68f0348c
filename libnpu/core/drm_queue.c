// SPDX-License-Identifier: MIT
/* The drm backend: queues, and the thread of each that waits for its jobs in order. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/drm.h"

static const uint32_t kernel_priority[NPU_NUM_PRIORITIES] = {
	[NPU_PRIORITY_LOW] = DRM_NPU_PRIORITY_LOW,
	[NPU_PRIORITY_NORMAL] = DRM_NPU_PRIORITY_NORMAL,
	[NPU_PRIORITY_HIGH] = DRM_NPU_PRIORITY_HIGH,
};

void drm_kqueue_put(struct drm_queue *dq, struct drm_kqueue *kq)
{
	struct drm_npu_queue_destroy destroy = { .id = kq->id };

	if (--kq->refs)
		return;
	if (kq->id)
		drmIoctl(dq->drm->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy);
	free(kq);
}

static int kqueue_create(struct drm_queue *dq, struct npu_error *err)
{
	struct drm_npu_queue_create create = {
		.vm_id = dq->drm->vm,
		.priority = kernel_priority[dq->queue->priority],
	};
	struct drm_kqueue *kq = calloc(1, sizeof(*kq));
	int ret;

	if (!kq)
		return npu_error_set(err, -ENOMEM, "no memory for a queue");
	ret = drm_call(dq->drm, DRM_IOCTL_NPU_QUEUE_CREATE, &create, err, "a queue");
	if (ret == -EACCES)
		npu_error_set(err, ret,
			      "device '%s': queues of high priority need CAP_SYS_NICE",
			      dq->drm->dev->info.uri);
	if (ret == -ENOSPC)
		npu_error_set(err, ret, "device '%s': all its queues, or all that one user may have, are taken",
			      dq->drm->dev->info.uri);
	if (ret) {
		free(kq);
		return ret;
	}
	kq->id = create.id;
	kq->refs = 1;
	dq->kqueue = kq;
	return 0;
}

int drm_kqueue_get(struct drm_queue *dq, struct drm_kqueue **out, struct npu_error *err)
{
	int ret = dq->kqueue ? 0 : kqueue_create(dq, err);

	if (ret)
		return ret;
	dq->kqueue->refs++;
	*out = dq->kqueue;
	return 0;
}

static void *thread_main(void *arg)
{
	struct drm_queue *dq = arg;
	struct drm_work *dw;
	bool orphan;

	pthread_mutex_lock(&dq->lock);
	for (;;) {
		while (!dq->head && !dq->quit)
			pthread_cond_wait(&dq->wake, &dq->lock);
		dw = dq->head;
		if (!dw)
			break;
		pthread_mutex_unlock(&dq->lock);
		drm_work_end(dq, dw);
		pthread_mutex_lock(&dq->lock);
	}
	orphan = dq->orphan;
	pthread_mutex_unlock(&dq->lock);
	if (orphan) {
		pthread_cond_destroy(&dq->wake);
		pthread_mutex_destroy(&dq->lock);
		free(dq);
	}
	return NULL;
}

int drm_queue_start(struct drm_queue *dq, struct npu_error *err)
{
	sigset_t all, old;
	int ret;

	if (dq->started)
		return 0;
	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	ret = -pthread_create(&dq->thread, NULL, thread_main, dq);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	dq->started = !ret;
	return ret ? npu_error_set(err, ret, "a queue's thread can not be started: %s",
				   strerror(-ret))
		   : 0;
}

void drm_queue_add(struct drm_queue *dq, struct drm_work *dw)
{
	if (dq->tail)
		dq->tail->next = dw;
	else
		dq->head = dw;
	dq->tail = dw;
	pthread_cond_signal(&dq->wake);
}

int drm_queue_create(struct npu_queue *queue, struct npu_error *err)
{
	struct drm_device *drm = queue->dev->backend;
	struct drm_queue *dq = calloc(1, sizeof(*dq));
	int ret;

	if (!dq)
		return npu_error_set(err, -ENOMEM, "no memory for a queue");
	dq->queue = queue;
	dq->drm = drm;
	if (drmSyncobjCreate(drm->fd, 0, &dq->syncobj)) {
		ret = npu_error_set(err, -errno, "device '%s': a syncobj: %s", drm->dev->info.uri,
				    strerror(errno));
		free(dq);
		return ret;
	}
	/* What the user may not have is said now and not at the first submit. */
	ret = kqueue_create(dq, err);
	if (ret) {
		drmSyncobjDestroy(drm->fd, dq->syncobj);
		free(dq);
		return ret;
	}
	pthread_mutex_init(&dq->lock, NULL);
	pthread_cond_init(&dq->wake, NULL);
	queue->backend = dq;
	return 0;
}

/* No work is left. The last reference may have gone with work that this queue's thread ended. */
void drm_queue_destroy(struct npu_queue *queue)
{
	struct drm_queue *dq = queue->backend;
	bool self = dq->started && pthread_equal(dq->thread, pthread_self());

	pthread_mutex_lock(&dq->lock);
	if (dq->kqueue)
		drm_kqueue_put(dq, dq->kqueue);
	dq->kqueue = NULL;
	dq->quit = true;
	dq->orphan = self;
	pthread_cond_signal(&dq->wake);
	pthread_mutex_unlock(&dq->lock);
	drmSyncobjDestroy(dq->drm->fd, dq->syncobj);
	if (self) {
		/* It frees the rest on its way out, and looks at nothing else. */
		pthread_detach(dq->thread);
		return;
	}
	if (dq->started)
		pthread_join(dq->thread, NULL);
	pthread_cond_destroy(&dq->wake);
	pthread_mutex_destroy(&dq->lock);
	free(dq);
}

/* The driver aborts a queue's jobs when it goes; the next submit makes another. With the lock. */
static void kqueue_abort(struct drm_queue *dq)
{
	struct drm_kqueue *kq = dq->kqueue;
	struct drm_npu_queue_destroy destroy = { 0 };

	if (!kq)
		return;
	destroy.id = kq->id;
	kq->id = 0;
	dq->kqueue = NULL;
	drmIoctl(dq->drm->fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &destroy);
	drm_kqueue_put(dq, kq);
}

void drm_cancel(struct npu_work *work)
{
	struct drm_queue *dq = work->queue->backend;
	struct drm_npu_job_cancel cancel = { 0 };
	struct drm_work *dw;

	pthread_mutex_lock(&dq->lock);
	for (dw = dq->head; dw && dw->work != work; dw = dw->next)
		;
	if (dw && dw->kqueue) {
		cancel.queue_id = dw->kqueue->id;
		cancel.job_id = dw->job_id;
	}
	/*
	 * A driver or firmware from before JOB_CANCEL stops queues, not jobs. With others behind it
	 * this one comes to its end by itself there, which the driver's time limit bounds.
	 */
	if (cancel.queue_id && drmIoctl(dq->drm->fd, DRM_IOCTL_NPU_JOB_CANCEL, &cancel) &&
	    dw == dq->head && !dw->next && dw->kqueue == dq->kqueue)
		kqueue_abort(dq);
	pthread_mutex_unlock(&dq->lock);
}

void drm_cancel_queue(struct npu_queue *queue)
{
	struct drm_queue *dq = queue->backend;
	struct drm_work *dw;

	pthread_mutex_lock(&dq->lock);
	for (dw = dq->head; dw; dw = dw->next)
		atomic_store(&dw->work->stop, true);
	if (dq->head)
		kqueue_abort(dq);
	pthread_mutex_unlock(&dq->lock);
}
