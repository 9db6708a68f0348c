// SPDX-License-Identifier: MIT
/* The drm backend: queues, and who is in charge of their jobs' ends. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/drm.h"

/* How long the end of a job may stay untold when nobody waits for it or asks. */
#define LINGER_NS	5000000u

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
		npu_error_set(err, ret,
			      "device '%s': all its queues, or all that one user may have, are taken",
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

int drm_sync_new(struct drm_queue *dq, struct drm_sync **out, struct npu_error *err)
{
	struct drm_sync *sync = dq->syncs;
	int ret;

	if (sync) {
		dq->syncs = sync->next;
		sync->refs = 1;
		*out = sync;
		return 0;
	}
	sync = malloc(sizeof(*sync));
	if (!sync)
		return npu_error_set(err, -ENOMEM, "no memory for a submit");
	if (drmSyncobjCreate(dq->drm->fd, 0, &sync->handle)) {
		ret = npu_error_set(err, -errno, "device '%s': a syncobj: %s",
				    dq->drm->dev->info.uri, strerror(errno));
		free(sync);
		return ret;
	}
	sync->refs = 1;
	*out = sync;
	return 0;
}

static struct drm_work *work_find(const struct drm_queue *dq, const struct npu_fence *fence)
{
	struct drm_work *dw;

	for (dw = dq->head; dw && dw->work->fence != fence; dw = dw->next)
		;
	return dw;
}

int drm_sync_find(struct drm_queue *dq, const struct npu_fence *fence, struct drm_sync **out)
{
	struct drm_work *dw = work_find(dq, fence);

	if (!dw)
		return 0;
	/* It never went to the kernel: what it waits for has failed, or it was cancelled. */
	if (!dw->sync)
		return -ECANCELED;
	dw->sync->refs++;
	*out = dw->sync;
	return 1;
}

/* It is signalled, or about to be, and nobody asks any more: the next job's fence replaces it. */
void drm_sync_put(struct drm_queue *dq, struct drm_sync *sync)
{
	if (--sync->refs)
		return;
	sync->next = dq->syncs;
	dq->syncs = sync;
}

static void syncs_free(struct drm_queue *dq)
{
	struct drm_sync *sync;

	while ((sync = dq->syncs)) {
		dq->syncs = sync->next;
		drmSyncobjDestroy(dq->drm->fd, sync->handle);
		free(sync);
	}
}

/* With the lock. In a timed wait the queue's thread looks by itself soon enough. */
static void thread_wake(struct drm_queue *dq)
{
	if (dq->asleep || dq->hurry)
		pthread_cond_signal(&dq->wake);
}

static void hurry(struct drm_queue *dq)
{
	if (dq->hurry)
		return;
	dq->hurry = true;
	pthread_cond_signal(&dq->wake);
}

/*
 * Whether all that the work waited for has been told, which its own end takes. It has ended when
 * this work's job has, but who is to tell it may be held up in a callback of the user's.
 */
static bool waits_told(const struct npu_work *work)
{
	uint32_t i;

	for (i = 0; i < work->num_wait; i++)
		if (npu_fence_status(work->wait[i]) == -EINPROGRESS)
			return false;
	return true;
}

/*
 * Be in charge of the oldest work, of which there is one with nobody in charge, until it has ended
 * or the deadline has come: false. False, too, on a thread that is not the queue's (@own) and finds
 * the end to be one that only that can tell. With the lock, dropped meanwhile.
 */
static bool end_head(struct drm_queue *dq, uint64_t deadline, bool own)
{
	struct drm_work *dw = dq->head;
	bool ended, leave;
	int ret;

	dq->busy = true;
	pthread_mutex_unlock(&dq->lock);
	/* Nobody is kept waiting by the queue's thread: it need not hurry. */
	ret = !own && drm_poll(dq, dw, deadline) ? 0 : drm_work_wait(dq, dw, deadline);
	ended = ret != -ETIME;
	leave = ended && !own && !waits_told(dw->work);
	if (ended && !leave)
		drm_work_end(dq, dw, ret);
	pthread_mutex_lock(&dq->lock);
	dq->busy = false;
	if (leave) {
		dw->own_thread = true;
		hurry(dq);
	}
	return ended && !leave;
}

/*
 * Leave the oldest work to whoever comes to wait for it. True: there is a reason to look again;
 * false: the time is up. With the lock.
 */
static bool linger(struct drm_queue *dq)
{
	uint64_t until = npu_now() + LINGER_NS, ended = dq->ended;
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000u),
			       .tv_nsec = (long)(until % 1000000000u) };

	while (!dq->hurry && !dq->quit) {
		if (pthread_cond_timedwait(&dq->wake, &dq->lock, &ts) == ETIMEDOUT)
			return dq->hurry || dq->busy || dq->ended != ended;
	}
	return true;
}

static void *thread_main(void *arg)
{
	struct drm_queue *dq = arg;
	bool orphan;

	pthread_mutex_lock(&dq->lock);
	while (dq->head || !dq->quit) {
		if (!dq->head || dq->busy) {
			dq->asleep = true;
			pthread_cond_wait(&dq->wake, &dq->lock);
			dq->asleep = false;
		} else if (dq->hurry || !linger(dq)) {
			end_head(dq, NPU_FOREVER, true);
		}
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
	dw->seq = ++dq->added;
	/* One that never runs ends with what it waits for, which nobody asked to wait for. */
	dw->own_thread |= !dw->kqueue;
	if (dw->own_thread)
		hurry(dq);
	else
		thread_wake(dq);
}

void drm_wait(struct npu_queue *queue, struct npu_fence *fence, uint64_t deadline)
{
	struct drm_queue *dq = queue->backend;
	const struct drm_work *dw;
	uint64_t seq;

	pthread_mutex_lock(&dq->lock);
	dw = work_find(dq, fence);
	seq = dw ? dw->seq : 0;
	while (dq->ended < seq) {
		if (dq->busy || dq->head->own_thread) {
			/* Who only looks leaves it to those who wait. */
			if (deadline)
				hurry(dq);
			break;
		}
		if (!end_head(dq, deadline, false))
			break;
	}
	if (dq->head && !dq->busy)
		thread_wake(dq);
	pthread_mutex_unlock(&dq->lock);
}

void drm_attend(struct npu_queue *queue)
{
	struct drm_queue *dq = queue->backend;

	pthread_mutex_lock(&dq->lock);
	if (dq->head)
		hurry(dq);
	pthread_mutex_unlock(&dq->lock);
}

int drm_queue_create(struct npu_queue *queue, struct npu_error *err)
{
	struct drm_queue *dq = calloc(1, sizeof(*dq));
	pthread_condattr_t attr;
	int ret;

	if (!dq)
		return npu_error_set(err, -ENOMEM, "no memory for a queue");
	dq->queue = queue;
	dq->drm = queue->dev->backend;
	/* What the user may not have is said now and not at the first submit. */
	ret = kqueue_create(dq, err);
	if (ret) {
		free(dq);
		return ret;
	}
	pthread_mutex_init(&dq->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&dq->wake, &attr);
	pthread_condattr_destroy(&attr);
	queue->backend = dq;
	return 0;
}

/*
 * No work is left. The last reference may have gone with work that this queue's thread ended. Busy
 * without work it is in a callback; others who are in charge have a reference.
 */
void drm_queue_destroy(struct npu_queue *queue, bool wait)
{
	struct drm_queue *dq = queue->backend;
	bool leave = false;

	pthread_mutex_lock(&dq->lock);
	if (dq->kqueue)
		drm_kqueue_put(dq, dq->kqueue);
	dq->kqueue = NULL;
	syncs_free(dq);
	if (dq->started)
		leave = pthread_equal(dq->thread, pthread_self()) || (!wait && dq->busy);
	/* Then it frees the rest on its way out, and looks at nothing else. */
	if (leave)
		pthread_detach(dq->thread);
	dq->quit = true;
	dq->orphan = leave;
	pthread_cond_signal(&dq->wake);
	pthread_mutex_unlock(&dq->lock);
	if (leave)
		return;
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
