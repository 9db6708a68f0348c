// SPDX-License-Identifier: MIT
/* Fences: the end of a job, told once to everybody who waits. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/fence.h"

struct npu_fence *npu_fence_create(struct npu_device *dev)
{
	struct npu_fence *fence = malloc(sizeof(*fence));
	pthread_condattr_t attr;

	if (!fence)
		return NULL;
	memset(fence, 0, offsetof(struct npu_fence, text));
	atomic_init(&fence->refs, 1);
	fence->pid = dev->pid;
	fence->dev = dev;
	fence->kernel = dev->ops->fence_export != NULL;
	fence->file = fence->wake = -1;
	pthread_mutex_init(&fence->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&fence->cond, &attr);
	pthread_condattr_destroy(&attr);
	fence->times.size = sizeof(fence->times);
	fence->times.submitted = npu_now();
	return fence;
}

struct npu_fence *npu_fence_get(struct npu_fence *fence)
{
	npu_ref_take(&fence->refs);
	return fence;
}

void npu_fence_put(struct npu_fence *fence)
{
	if (!fence || fence->pid != npu_process() || !npu_ref_drop(&fence->refs))
		return;
	pthread_cond_destroy(&fence->cond);
	pthread_mutex_destroy(&fence->lock);
	if (fence->file >= 0)
		close(fence->file);
	if (fence->wake >= 0)
		close(fence->wake);
	free(fence->profile);
	free(fence->digests);
	free(fence->dims);
	free(fence);
}

int npu_fence_file(const struct npu_fence *fence)
{
	return fence->file;
}

void npu_fence_set_soft(struct npu_fence *fence)
{
	fence->soft = true;
}

bool npu_fence_is_for_host(const struct npu_fence *fence, const struct npu_device *dev)
{
	/* A file of the kernel's is good for every device of the kernel's. */
	return fence->soft || (dev->ops->own_fences_only && fence->dev != dev && fence->file < 0);
}

struct npu_queue *npu_fence_get_queue(struct npu_fence *fence)
{
	struct npu_queue *queue = NULL;

	pthread_mutex_lock(&fence->lock);
	if (fence->work) {
		queue = fence->work->queue;
		npu_ref_take(&queue->refs);
	}
	pthread_mutex_unlock(&fence->lock);
	return queue;
}

void npu_fence_set_dims(struct npu_fence *fence, int64_t (*dims)[NPU_TENSOR_MAX_RANK])
{
	fence->dims = dims;
}

int64_t (*npu_fence_dims(const struct npu_fence *fence))[NPU_TENSOR_MAX_RANK]
{
	return fence->dims;
}

void npu_fence_set_work(struct npu_fence *fence, struct npu_work *work)
{
	pthread_mutex_lock(&fence->lock);
	fence->work = work;
	pthread_mutex_unlock(&fence->lock);
}

void npu_fence_set_done(struct npu_fence *fence, void (*done)(void *ctx, struct npu_fence *fence),
			void *ctx)
{
	fence->done = done;
	fence->done_ctx = ctx;
}

bool npu_fence_add_cb(struct npu_fence *fence, struct npu_fence_cb *cb)
{
	bool added = false, alone = false;

	pthread_mutex_lock(&fence->lock);
	if (!atomic_load(&fence->signalled)) {
		alone = fence->file >= 0 && !fence->claimed && !npu_fence_file_watch(fence);
		added = !alone;
	}
	if (added) {
		cb->next = fence->callbacks;
		fence->callbacks = cb;
		if (fence->work && fence->work->queue->dev->ops->attend)
			fence->work->queue->dev->ops->attend(fence->work->queue);
	}
	pthread_mutex_unlock(&fence->lock);
	/* Without a thread there is nobody but the caller. */
	if (alone)
		npu_fence_file_wait(fence, NPU_FOREVER);
	return added;
}

bool npu_fence_remove_cb(struct npu_fence *fence, struct npu_fence_cb *cb)
{
	struct npu_fence_cb **at;
	bool found = false;

	pthread_mutex_lock(&fence->lock);
	for (at = &fence->callbacks; *at; at = &(*at)->next) {
		if (*at != cb)
			continue;
		*at = cb->next;
		found = true;
		break;
	}
	npu_fence_file_unwatch(fence);
	pthread_mutex_unlock(&fence->lock);
	return found;
}

void npu_fence_signal(struct npu_fence *fence, int status, const struct npu_fault *fault,
		      const char *text)
{
	struct npu_fence_cb *cb, *next;
	uint64_t now;

	fence->status = status;
	fence->has_fault = fault != NULL;
	if (fault)
		fence->fault = *fault;
	fence->text[0] = 0;
	if (text) {
		snprintf(fence->text, sizeof(fence->text), "%s", text);
		npu_text_clean(fence->text);
	}
	now = npu_now();
	if (!fence->times.finished || fence->times.finished > now)
		fence->times.finished = now;

	pthread_mutex_lock(&fence->lock);
	cb = fence->callbacks;
	fence->callbacks = NULL;
	atomic_store(&fence->signalled, true);
	pthread_cond_broadcast(&fence->cond);
	pthread_mutex_unlock(&fence->lock);

	for (; cb; cb = next) {
		next = cb->next;
		cb->fn(cb, fence);
	}
	if (fence->done)
		fence->done(fence->done_ctx, fence);
}

void npu_work_set_profile(struct npu_work *work, struct npu_insn_profile *records, size_t count)
{
	work->fence->profile = records;
	work->fence->num_profile = count;
}

void npu_work_set_digests(struct npu_work *work, struct npu_insn_digest *records, size_t count)
{
	work->fence->digests = records;
	work->fence->num_digests = count;
}

void npu_work_set_times(struct npu_work *work, uint64_t started, uint64_t busy, uint32_t slices)
{
	work->fence->times.started = started;
	work->fence->times.busy = busy;
	work->fence->times.slices = slices;
}

void npu_work_set_finished(struct npu_work *work, uint64_t finished)
{
	work->fence->times.finished = finished;
}

int npu_fence_peek(const struct npu_fence *fence)
{
	return atomic_load(&fence->signalled) ? fence->status : -EINPROGRESS;
}

/* A backend may leave the end of a job to the thread that waits for it. */
static void wait_backend(struct npu_fence *fence, uint64_t deadline)
{
	struct npu_queue *queue = NULL;

	pthread_mutex_lock(&fence->lock);
	if (fence->work && fence->work->queue->dev->ops->wait) {
		queue = fence->work->queue;
		npu_ref_take(&queue->refs);
	}
	pthread_mutex_unlock(&fence->lock);
	if (!queue)
		return;
	queue->dev->ops->wait(queue, fence, deadline);
	npu_queue_put(queue);
}

int npu_fence_status(struct npu_fence *fence)
{
	if (!atomic_load(&fence->signalled) && fence->file >= 0)
		npu_fence_file_wait(fence, 0);
	else if (!atomic_load(&fence->signalled) && fence->pid == npu_process())
		wait_backend(fence, 0);
	return npu_fence_peek(fence);
}

static int wait_signal(struct npu_fence *fence, uint64_t deadline)
{
	struct timespec ts = { .tv_sec = deadline / 1000000000u,
			       .tv_nsec = deadline % 1000000000u };
	int ret = 0;

	if (fence->file >= 0) {
		npu_fence_file_wait(fence, deadline);
		return atomic_load(&fence->signalled) ? 0 : -ETIMEDOUT;
	}
	if (!deadline)
		return -ETIMEDOUT;
	pthread_mutex_lock(&fence->lock);
	while (!ret && !atomic_load(&fence->signalled)) {
		if (deadline == NPU_FOREVER)
			pthread_cond_wait(&fence->cond, &fence->lock);
		else
			ret = pthread_cond_timedwait(&fence->cond, &fence->lock, &ts);
	}
	pthread_mutex_unlock(&fence->lock);
	return atomic_load(&fence->signalled) ? 0 : -ETIMEDOUT;
}

int npu_fence_wait(struct npu_fence *fence, uint64_t deadline, struct npu_error *err)
{
	if (!atomic_load(&fence->signalled)) {
		if (fence->pid != npu_process())
			return npu_error_set(err, -ENODEV,
					     "the job was submitted by process %ld, before fork()",
					     (long)fence->pid);
		wait_backend(fence, deadline);
		if (npu_fence_peek(fence) == -EINPROGRESS && wait_signal(fence, deadline))
			return npu_error_set(err, -ETIMEDOUT, "the job has not ended yet");
	}
	if (fence->status)
		npu_error_set(err, fence->status, "%s", fence->text);
	return fence->status;
}

const char *npu_fence_text(struct npu_fence *fence)
{
	return atomic_load(&fence->signalled) ? fence->text : "";
}

int npu_fence_fault(struct npu_fence *fence, struct npu_fault *fault)
{
	if (!atomic_load(&fence->signalled))
		return -EINPROGRESS;
	if (!fence->has_fault)
		return -ENOENT;
	if (fault)
		*fault = fence->fault;
	return 0;
}

int npu_fence_times(struct npu_fence *fence, struct npu_fence_times *times)
{
	if (!times)
		return -EINVAL;
	if (!atomic_load(&fence->signalled))
		return -EINPROGRESS;
	return npu_struct_write(times, times->size, &fence->times, sizeof(fence->times));
}

int npu_fence_profile(struct npu_fence *fence, const struct npu_insn_profile **records,
		      size_t *count)
{
	if (!atomic_load(&fence->signalled))
		return -EINPROGRESS;
	if (!fence->profile)
		return -ENOENT;
	*records = fence->profile;
	*count = fence->num_profile;
	return 0;
}

int npu_fence_digests(struct npu_fence *fence, const struct npu_insn_digest **records,
		      size_t *count)
{
	if (!atomic_load(&fence->signalled))
		return -EINPROGRESS;
	if (!fence->digests)
		return -ENOENT;
	*records = fence->digests;
	*count = fence->num_digests;
	return 0;
}

void npu_fence_cancel(struct npu_fence *fence)
{
	if (fence->pid != npu_process() || atomic_load(&fence->signalled))
		return;
	pthread_mutex_lock(&fence->lock);
	if (fence->work) {
		atomic_store(&fence->work->stop, true);
		if (atomic_load(&fence->work->chained))
			npu_chain_cancel(fence->work);
		else
			fence->work->queue->dev->ops->cancel(fence->work);
	}
	pthread_mutex_unlock(&fence->lock);
}
