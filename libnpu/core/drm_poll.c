// SPDX-License-Identifier: MIT
/*
 * The drm backend: the ends of short jobs are looked for. An interrupt, a processor that comes out
 * of its idle state with nothing in its caches, and a thread that is woken can take as long as a
 * job. So whoever waits for a job that is not long sleeps until shortly before it will have ended,
 * if it takes what the last one of its stream took, and then asks the driver again and again. That
 * finds the end in the firmware's messages, and no interrupt is raised meanwhile. A job that takes
 * longer is waited for in the kernel, and so are the next ones of the queue.
 */
#include <errno.h>
#include <time.h>
#include "core/drm.h"

/* An end that comes early, by a cancel or the device's, is noticed so late at most. */
#define MAX_TOOK_NS	12000000u
/* What jobs of a stream differ by: this part of their time, and no more than this. */
#define PART		8u
#define MAX_PART_NS	500000u
#define WAKE_NS		100000u	/* a sleep ends so much later: the timer's slack, and waking up */
#define LATE_NS		150000u	/* a job begins, and its end is told, so late */
#define MISSES		4u	/* jobs that are not looked for behind one that took longer */

static void sleep_until(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* When @dw's job has begun at the earliest; 0: it is not to be looked for. */
static uint64_t begin_of(struct drm_queue *dq, const struct drm_work *dw)
{
	uint64_t begin;

	pthread_mutex_lock(&dq->lock);
	begin = dw->submitted > dq->told ? dw->submitted : dq->told;
	if (dq->misses) {
		dq->misses--;
		begin = 0;
	}
	pthread_mutex_unlock(&dq->lock);
	return begin;
}

/* The driver's number of its queue; 0: that was thrown away, and has taken its jobs with it. */
static uint32_t queue_of(struct drm_queue *dq, const struct drm_work *dw)
{
	uint32_t id;

	pthread_mutex_lock(&dq->lock);
	id = dw->kqueue->id;
	pthread_mutex_unlock(&dq->lock);
	return id;
}

/* Ask until then, once at least; whether it has ended. */
static bool ask_until(struct drm_queue *dq, struct drm_work *dw, uint64_t until)
{
	struct drm_npu_job_get_result *res = &dw->result;

	do {
		res->queue_id = queue_of(dq, dw);
		res->job_id = dw->job_id;
		if (!res->queue_id || drmIoctl(dq->drm->fd, DRM_IOCTL_NPU_JOB_GET_RESULT, res))
			return false;
		if (res->status != DRM_NPU_JOB_PENDING)
			return true;
	} while (npu_now() < until);
	return false;
}

bool drm_poll(struct drm_queue *dq, struct drm_work *dw, uint64_t deadline)
{
	uint64_t took = drm_code_took(dw->work->code), part = took / PART, now = npu_now();
	uint64_t begin, until;

	if (!dw->kqueue || !took || took > MAX_TOOK_NS)
		return false;
	if (part > MAX_PART_NS)
		part = MAX_PART_NS;
	begin = begin_of(dq, dw);
	until = begin + took + part + LATE_NS;
	if (!begin || until > deadline || until < now)
		return false;
	if (begin + took - part > now + WAKE_NS)
		sleep_until(begin + took - part - WAKE_NS);
	dw->known = ask_until(dq, dw, until);
	if (!dw->known) {
		pthread_mutex_lock(&dq->lock);
		dq->misses = MISSES;
		pthread_mutex_unlock(&dq->lock);
	}
	return dw->known;
}
