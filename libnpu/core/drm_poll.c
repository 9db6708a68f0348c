// SPDX-License-Identifier: MIT
/*
 * The drm backend: the ends of short jobs are looked for. An interrupt, a processor that comes out
 * of its idle state with nothing in its caches, and a thread that is woken can take as long as a
 * job. So whoever waits for a job that is not long sleeps until shortly before it will have ended,
 * if it takes what the last two of its stream took, and then asks the driver again and again. That
 * finds the end in the firmware's messages, and no interrupt is raised meanwhile. A job that takes
 * longer is waited for in the kernel, and so are the next ones of the queue, which are as well when
 * a job took so much less that the sleep was longer than that. What a job takes can depend on its
 * scalars: of a stream whose last two differ nothing is expected.
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
	uint64_t begin = 0;

	pthread_mutex_lock(&dq->lock);
	if (!dq->misses && !dw->missed)
		begin = dw->submitted > dq->idle ? dw->submitted : dq->idle;
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

/* When to look for the end; false: not at all, or not with this deadline. */
static bool plan(struct drm_queue *dq, const struct drm_work *dw, uint64_t deadline,
		 uint64_t *from, uint64_t *until)
{
	uint64_t least, most, part, begin;

	if (!dw->kqueue || !drm_code_took(dw->work->code, &least, &most) || most > MAX_TOOK_NS)
		return false;
	part = least / PART < MAX_PART_NS ? least / PART : MAX_PART_NS;
	if (most - least > 2 * part + LATE_NS)
		return false;
	begin = begin_of(dq, dw);
	*from = begin + least - part;
	*until = begin + most + part + LATE_NS;
	return begin && *until <= deadline;
}

bool drm_poll(struct drm_queue *dq, struct drm_work *dw, uint64_t deadline)
{
	uint64_t from, until, now = npu_now(), end;

	if (!plan(dq, dw, deadline, &from, &until))
		return false;
	/* It may have ended before anybody came to wait, whatever the others of its stream took. */
	if (now > dw->submitted + LATE_NS)
		dw->known = ask_until(dq, dw, 0);
	if (dw->known || until < now)
		return dw->known;
	if (from > now + WAKE_NS)
		sleep_until(from - WAKE_NS);
	dw->known = ask_until(dq, dw, until);
	end = dw->known ? drm_clock(dq->drm, dw->result.ended_ns) : 0;
	dw->missed = !dw->known || (end && end + WAKE_NS + LATE_NS < from);
	return dw->known;
}
