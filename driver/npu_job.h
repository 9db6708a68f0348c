/* SPDX-License-Identifier: GPL-2.0-only */
/* Jobs: one run of a command stream. */
#ifndef NPU_JOB_H
#define NPU_JOB_H

#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <drm/gpu_scheduler.h>

#include "../uapi/drm/npu_drm.h"
#include "../uapi/npu_hw.h"

struct npu_device;
struct npu_queue;

/* A job without progress for so long, or on an engine for so long in all, is ended. */
#define NPU_JOB_TIMEOUT_MS	2000
#define NPU_JOB_LIMIT_MS	10000

/* A test may have less patience, but the firmware shows progress every NPU_FW_HEARTBEAT_US only. */
#define NPU_JOB_TIMEOUT_MIN_MS	300

/**
 * struct npu_job - a job
 *
 * Its memory is that of its fence, which may live longer than the job and the queue.
 */
struct npu_job {
	/** @fence: signals when the hardware has done with it; with it the job is freed */
	struct dma_fence fence;

	/** @fence_lock: protects @fence; its own, as the queue may be gone before it */
	spinlock_t fence_lock;

	/** @fence_live: @fence has been initialized */
	bool fence_live;

	/** @scheduled: the scheduler frees what it holds, else npu_job_end() does */
	bool scheduled;

	/** @ringed: it is in the queue's ring. Changed under npu_queue.lock */
	bool ringed;

	/** @slot: where in the ring, with @ringed. Changed under npu_queue.lock */
	u32 slot;

	/** @has_pm: it holds one of npu_device.pm_refs */
	bool has_pm;

	/** @base: scheduler's part, with @scheduled */
	struct drm_sched_job base;

	/** @queue: of it; a reference is held */
	struct npu_queue *queue;

	/** @node: in npu_queue.jobs, from npu_job_start() until it has ended; with a reference */
	struct list_head node;

	/** @id: in the queue, from 1 */
	u64 id;

	/**
	 * @desc: what the firmware gets, save for the address of the regions. Its cancel is under
	 * npu_queue.lock; its notify is set without a lock, see npu_queue_notify()
	 */
	struct npu_fw_job desc;

	/** @regions: region table, desc.num_regions of them */
	struct npu_region regions[];
};

#define to_npu_job(ptr)	container_of(ptr, struct npu_job, base)

/**
 * struct npu_result - how a job ended
 * @id: of the job
 * @status: enum drm_npu_job_status
 * @insns: instructions executed
 * @slices: times it was put on an engine
 * @started_ns: device time, 0: it never ran
 * @ended_ns: device time
 * @busy_ns: on an engine
 * @fault: with DRM_NPU_JOB_FAULTED
 */
struct npu_result {
	u64 id;
	u32 status;
	u32 insns;
	u32 slices;
	u64 started_ns;
	u64 ended_ns;
	u64 busy_ns;
	struct npu_fault fault;
};

extern const struct drm_sched_backend_ops npu_job_sched_ops;

struct npu_job *npu_job_alloc(struct npu_queue *queue, u32 num_regions);
void npu_job_free(struct npu_job *job);
void npu_job_init_fence(struct npu_job *job);
int npu_job_start(struct npu_job *job, bool ring);
int npu_job_complete(struct npu_device *npu, const struct npu_fw_msg *msg);
void npu_job_end(struct npu_job *job, const struct npu_result *result, int error);
void npu_job_end_early(struct npu_job *job, u32 status, int error);
int npu_job_cancel(struct npu_queue *queue, u64 id);

/* Status of a job that a reset has cost. */
static inline u32 npu_job_lost(const struct npu_job *job)
{
	return job->desc.cancel ? DRM_NPU_JOB_CANCELED : DRM_NPU_JOB_INNOCENT;
}

#endif
