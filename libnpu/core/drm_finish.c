// SPDX-License-Identifier: MIT
/* The drm backend: the end of a job, and why it came. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "core/drm.h"
#include "npu_isa_desc.h"

_Static_assert(sizeof(struct drm_npu_fault) == sizeof(struct npu_fault), "one layout");

#define CLOCK_TRIES	4
#define CLOCK_FAST_NS	100000u		/* no need to ask again */
#define WAIT_AGAIN_NS	2000000u	/* from a wait that failed to the next */

struct ending {
	int status;
	bool dead;			/* the queue of the driver's, too */
	bool has_fault;
	struct npu_fault fault;
	char text[NPU_ERROR_TEXT];
};

/*
 * Ask for both clocks, with drm->lock. Others may have the processor between the two readings: of a
 * few answers the one that came fastest counts.
 */
static void clock_ask(struct drm_device *drm)
{
	struct drm_npu_timestamp_info info = { 0 };
	struct drm_npu_dev_query q = {
		.type = DRM_NPU_DEV_QUERY_TIMESTAMP,
		.size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};
	uint64_t begin, took, best = UINT64_MAX;
	int tries;

	for (tries = 0; tries < CLOCK_TRIES && best > CLOCK_FAST_NS; tries++) {
		begin = npu_now();
		if (drmIoctl(drm->fd, DRM_IOCTL_NPU_DEV_QUERY, &q))
			return;
		took = npu_now() - begin;
		if (took >= best)
			continue;
		best = took;
		drm->clock_device = info.device;
		drm->clock_cpu = info.cpu_ns;
		drm->clock_read = begin;
	}
}

uint64_t drm_clock(struct drm_device *drm, uint64_t device_ns)
{
	uint64_t ns;

	if (!device_ns)
		return 0;
	pthread_mutex_lock(&drm->lock);
	/* The clocks drift; asking costs register reads, so it is done once a second. */
	if (!drm->clock_read || npu_now() - drm->clock_read > 1000000000u)
		clock_ask(drm);
	ns = drm->clock_cpu + (device_ns - drm->clock_device);
	pthread_mutex_unlock(&drm->lock);
	return ns;
}

static void fault_text(const struct npu_fault *fault, char *out, size_t size)
{
	const char *what = npu_fault_text(fault->code);

	if (fault->code == NPU_FAULT_MMU || fault->code == NPU_FAULT_FETCH)
		snprintf(out, size, "%s: 0x%llx, to be %s", what,
			 (unsigned long long)fault->address,
			 fault->access & NPU_ACCESS_EXEC  ? "fetched" :
			 fault->access & NPU_ACCESS_WRITE ? "written" :
							    "read");
	else if (fault->value)
		snprintf(out, size, "%s: %lld", what, (long long)fault->value);
	else
		snprintf(out, size, "%s", what);
}

static void cancelled(struct ending *e)
{
	e->status = -ECANCELED;
	snprintf(e->text, sizeof(e->text), "cancelled");
}

static void from_result(struct drm_device *drm, const struct drm_work *dw,
			const struct drm_npu_job_get_result *res, struct ending *e)
{
	bool stop = atomic_load(&dw->work->stop);

	switch (res->status) {
	case DRM_NPU_JOB_DONE:
		break;
	case DRM_NPU_JOB_FAULTED:
		e->status = -EIO;
		e->dead = true;
		e->has_fault = true;
		memcpy(&e->fault, &res->fault, sizeof(e->fault));
		fault_text(&e->fault, e->text, sizeof(e->text));
		break;
	case DRM_NPU_JOB_TIMEDOUT:
		e->status = -ETIME;
		e->dead = true;
		snprintf(e->text, sizeof(e->text),
			 "stopped by the driver after %llu ms on the device (limits: %u ms without progress, %u ms in all)",
			 (unsigned long long)res->busy_ns / 1000000, drm->timeout_ms,
			 drm->limit_ms);
		break;
	case DRM_NPU_JOB_INNOCENT:
		e->status = -ECANCELED;
		snprintf(e->text, sizeof(e->text),
			 "lost to a reset of the device that it did not cause; it may be submitted again");
		break;
	case DRM_NPU_JOB_CANCELED:
		/* By itself, or behind one that ended before: the queue died with that. */
		e->status = -ECANCELED;
		snprintf(e->text, sizeof(e->text), "%s", stop ? "cancelled" :
			 "a job before it in its queue failed, so it was not run");
		break;
	default:
		e->status = -EIO;
		e->dead = true;
		snprintf(e->text, sizeof(e->text),
			 "the driver tells a status that is not known: %u", res->status);
	}
}

/* A fence that failed fails what waits for it, although the kernel lets that run. */
static void check_waits(const struct npu_work *work, struct ending *e)
{
	uint32_t i;

	for (i = 0; i < work->num_wait && !e->status; i++) {
		if (!npu_fence_wait(work->wait[i], NPU_FOREVER, NULL))
			continue;
		e->status = -ECANCELED;
		snprintf(e->text, sizeof(e->text), "a fence it waited for failed: %.400s",
			 npu_fence_text(work->wait[i]));
	}
}

/*
 * 0 when the driver says that the job has ended, or knows it no more; -EAGAIN when it has not, or
 * can not be asked just now; -ENODEV and -EBADF: nobody is there to be asked.
 */
static int ask_whether_ended(struct drm_queue *dq, const struct drm_work *dw)
{
	struct drm_npu_job_get_result res = { .job_id = dw->job_id };
	int ret = 0;

	pthread_mutex_lock(&dq->lock);
	res.queue_id = dw->kqueue->id;
	/* A queue that was thrown away has taken its jobs with it. */
	if (res.queue_id && drmIoctl(dq->drm->fd, DRM_IOCTL_NPU_JOB_GET_RESULT, &res))
		ret = -errno;
	pthread_mutex_unlock(&dq->lock);
	switch (ret) {
	case 0:
		return res.queue_id && res.status == DRM_NPU_JOB_PENDING ? -EAGAIN : 0;
	case -ENOENT:
		return 0;
	case -ENODEV:
	case -EBADF:
		return ret;
	default:
		return -EAGAIN;
	}
}

/* Until @deadline, or for a moment. -ETIME: it has come. */
static int wait_a_moment(uint64_t deadline)
{
	struct timespec moment = { .tv_nsec = WAIT_AGAIN_NS };
	uint64_t now = npu_now();

	if (now >= deadline)
		return -ETIME;
	if (deadline - now < WAIT_AGAIN_NS)
		moment.tv_nsec = (long)(deadline - now);
	nanosleep(&moment, NULL);
	return 0;
}

/*
 * That waiting failed, for want of memory for one, says nothing of the job: it may be running, and
 * what it uses must not be used for something else. Then the driver is asked now and again.
 */
int drm_work_wait(struct drm_queue *dq, const struct drm_work *dw, uint64_t deadline)
{
	int64_t until = deadline > INT64_MAX ? INT64_MAX : (int64_t)deadline;
	int ret;

	if (!dw->kqueue)
		return 0;
	for (;;) {
		ret = drmSyncobjWait(dq->drm->fd, &dw->sync->handle, 1, until, 0, NULL);
		if (!ret || ret == -ETIME || ret == -ENODEV)
			return ret;
		ret = ask_whether_ended(dq, dw);
		if (ret != -EAGAIN)
			return ret;
		if (wait_a_moment(deadline))
			return -ETIME;
	}
}

/* What became of the job that has been waited for. */
static void ask(struct drm_queue *dq, struct drm_work *dw, struct drm_npu_job_get_result *res,
		struct ending *e, int ret)
{
	uint32_t id;

	if (dw->known) {
		*res = dw->result;
		from_result(dq->drm, dw, res, e);
		return;
	}
	pthread_mutex_lock(&dq->lock);
	id = dw->kqueue->id;
	res->queue_id = id;
	res->job_id = dw->job_id;
	if (!ret && id && drmIoctl(dq->drm->fd, DRM_IOCTL_NPU_JOB_GET_RESULT, res))
		ret = -errno;
	pthread_mutex_unlock(&dq->lock);
	if (!ret && id) {
		from_result(dq->drm, dw, res, e);
	} else if (!ret) {
		/* Its queue was thrown away to stop it. */
		cancelled(e);
	} else {
		e->status = ret;
		snprintf(e->text, sizeof(e->text), "%s", ret == -ENODEV ? "the device is gone" :
							 strerror(-ret));
	}
}

/*
 * What drm_poll() goes by, with dq->lock. The end may be told long after it came, when the next job
 * has run as well. Of one that never ran there is none: the next is then looked for too early.
 */
static void note_end(struct drm_queue *dq, const struct drm_work *dw, uint64_t ended)
{
	uint64_t now = npu_now();

	if (ended)
		dq->idle = ended < now ? ended : now;
	if (dw->missed)
		dq->misses = DRM_POLL_MISSES;
	else if (dq->misses)
		dq->misses--;
}

void drm_work_end(struct drm_queue *dq, struct drm_work *dw, int ret)
{
	struct drm_npu_job_get_result res = { 0 };
	struct npu_work *work = dw->work;
	struct drm_device *drm = dq->drm;
	struct ending e;
	uint64_t started, ended;

	e.status = 0;
	e.dead = e.has_fault = false;
	e.text[0] = 0;
	if (dw->kqueue)
		ask(dq, dw, &res, &e, ret);
	else if (atomic_load(&work->stop))
		cancelled(&e);
	check_waits(work, &e);
	started = drm_clock(drm, res.started_ns);
	ended = started ? started + (res.ended_ns - res.started_ns) : 0;

	pthread_mutex_lock(&dq->lock);
	dq->head = dw->next;
	dq->ended++;
	note_end(dq, dw, ended);
	if (!dq->head) {
		dq->tail = NULL;
		dq->hurry = false;
	}
	/* A dead queue takes no submits; the next one makes another. */
	if (e.dead && dq->kqueue == dw->kqueue) {
		drm_kqueue_put(dq, dq->kqueue);
		dq->kqueue = NULL;
	}
	if (dw->kqueue) {
		drm_kqueue_put(dq, dw->kqueue);
		drm_sync_put(dq, dw->sync);
	}
	pthread_mutex_unlock(&dq->lock);

	/* One that was cut short says nothing of the next one's time. */
	if (res.status == DRM_NPU_JOB_DONE && res.ended_ns > res.started_ns)
		drm_code_add_took(work->code, res.ended_ns - res.started_ns);
	npu_work_set_times(work, started, res.busy_ns, res.slices);
	if (ended)
		npu_work_set_finished(work, ended);
	if (dw->trace.size) {
		/* Without the device there is nothing to be seen, and the job has failed anyway. */
		drm_bo_sync(drm, &dw->trace, 0, dw->trace.size, DRM_NPU_BO_SYNC_FROM_DEVICE, NULL);
		drm_trace_hand_over(work, dw->trace.map, dw->trace.size);
	}
	drm_work_free(drm, dw);
	npu_work_finish(work, e.status, e.has_fault ? &e.fault : NULL, e.text);
}
