/* SPDX-License-Identifier: GPL-2.0-only */
/* Queues: a ring of jobs that the firmware works off in order. */
#ifndef NPU_QUEUE_H
#define NPU_QUEUE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/gpu_scheduler.h>

#include "../uapi/drm/npu_drm.h"
#include "../uapi/npu_hw.h"

struct npu_device;
struct npu_job;
struct npu_kbo;
struct npu_result;
struct npu_stats;
struct npu_user;
struct npu_vm;

#define NPU_QUEUE_DEPTH		64u
#define NPU_QUEUE_MAX_DEPTH	256u
#define NPU_QUEUE_MIN_RESULTS	64u

/* Bytes for the region table of an entry of the ring. */
#define NPU_QUEUE_REGION_SLOT	SZ_8K

/*
 * With so many that have not ended SUBMIT starts no job itself: the scheduler starts no more than
 * depth. What looks at all of the list does so with interrupts off.
 */
#define NPU_QUEUE_MAX_STARTED	512u

/**
 * struct npu_queue - a queue, and its scheduler
 */
struct npu_queue {
	/** @ref: the file's, and one of each job */
	struct kref ref;

	/** @npu: device */
	struct npu_device *npu;

	/** @vm: where its jobs live; a reference is held */
	struct npu_vm *vm;

	/** @user: whom it is charged to */
	struct npu_user *user;

	/** @stats: of the file that made it */
	struct npu_stats *stats;

	/** @id: of the hardware */
	u32 id;

	/** @depth: entries of the ring, a power of two */
	u32 depth;

	/** @priority: enum drm_npu_priority, which is enum npu_fw_priority */
	u32 priority;

	/** @sched: scheduler of this queue alone */
	struct drm_gpu_scheduler *sched;

	/** @entity: its only entity */
	struct drm_sched_entity entity;

	/** @submit_lock: makes jobs enter the entity in the order of their ids */
	struct mutex submit_lock;

	/**
	 * @abort_lock: one abort at a time; the second finds that there is nothing left to end.
	 * While it is held the firmware keeps the queue as long as there are jobs on the list
	 */
	struct mutex abort_lock;

	/** @ring: struct npu_fw_index and struct npu_fw_job[depth] behind it */
	struct npu_kbo *ring;

	/** @regions: NPU_QUEUE_REGION_SLOT bytes for each entry */
	struct npu_kbo *regions;

	/** @save: state of a preempted job */
	struct npu_kbo *save;

	/** @fence_context: of the hardware's fences */
	u64 fence_context;

	/**
	 * @cancels: ids of jobs to be cancelled that npu_job_start() has not seen yet. Its own lock
	 * is taken inside @lock, too
	 */
	struct xarray cancels;

	/** @lock: protects all members below it; taken inside npu_device.irq.lock */
	spinlock_t lock;

	/**
	 * @jobs: jobs that the hardware has, or will have when there is room in the ring or when it
	 * is back; oldest first, those in the ring before the others
	 */
	struct list_head jobs;

	/** @next: first one of them that is not in the ring, NULL: none */
	struct npu_job *next;

	/** @num_ringed: those of them in the ring, at most @depth */
	u32 num_ringed;

	/** @num_scheduled: jobs that the scheduler has and has not yet started */
	u32 num_scheduled;

	/** @tail: entries written to the ring */
	u32 tail;

	/** @active: the firmware knows the queue, entries may be written */
	bool active;

	/** @dead: no job runs any more */
	bool dead;

	/** @state: enum drm_npu_queue_state */
	u32 state;

	/** @resets: of the device, lived through */
	u32 resets;

	/** @submitted: newest job */
	u64 submitted;

	/** @completed: newest job that has ended */
	u64 completed;

	/** @ringed: newest job written to the ring */
	u64 ringed;

	/** @timedout: job that is being ended because it hung, 0: none */
	u64 timedout;

	/** @bad: first job that ended badly, 0: none */
	u64 bad;

	/** @fault: of @bad */
	struct npu_fault fault;

	/** @results: how the last jobs ended, by id % @num_results */
	struct npu_result *results;

	/** @num_results: at least NPU_QUEUE_MIN_RESULTS */
	u32 num_results;

	/** @tdr: what npu_tdr.c remembers of the oldest job; only its worker touches it */
	struct {
		/** @tdr.job: id, 0: none */
		u64 job;

		/** @tdr.progress: last seen */
		u32 progress;

		/** @tdr.running: it was on an engine */
		bool running;

		/** @tdr.stuck_ns: engine time without progress */
		u64 stuck_ns;

		/** @tdr.ran_ns: engine time in all */
		u64 ran_ns;

		/** @tdr.late_ns: time in which it was on an engine and which did not count */
		u64 late_ns;

		/** @tdr.idle_ns: time in which no engine was busy, though there was this job */
		u64 idle_ns;
	} tdr;

	/** @release_work: the last reference may be dropped by the scheduler itself */
	struct work_struct release_work;
};

/**
 * struct npu_queue_args - what a queue is made with
 * @vm: where its jobs live
 * @user: whom it is charged to
 * @stats: of the file
 * @priority: enum drm_npu_priority
 * @depth: entries of the ring
 */
struct npu_queue_args {
	struct npu_vm *vm;
	struct npu_user *user;
	struct npu_stats *stats;
	u32 priority;
	u32 depth;
};

struct npu_queue *npu_queue_create(struct npu_device *npu, const struct npu_queue_args *args);
void npu_queue_kill(struct npu_queue *queue);
struct npu_queue *npu_queue_get(struct npu_queue *queue);
void npu_queue_put(struct npu_queue *queue);
struct npu_queue *npu_queue_find(struct npu_device *npu, u32 id);
struct npu_queue *npu_queue_next(struct npu_device *npu, struct npu_queue *queue);

/* Who leaves it early has a reference to drop. */
#define npu_for_each_queue(queue, npu)						\
	for ((queue) = npu_queue_next(npu, NULL); (queue);			\
	     (queue) = npu_queue_next(npu, queue))

int npu_queues_start(struct npu_device *npu);
void npu_queues_stop(struct npu_device *npu);
void npu_queues_sort_out(struct npu_device *npu);
void npu_queues_end(struct npu_device *npu);
void npu_queues_unplug(struct npu_device *npu);

void npu_queue_get_state(struct npu_queue *queue, struct drm_npu_queue_get_state *state);
int npu_queue_get_result(struct npu_queue *queue, struct drm_npu_job_get_result *args);

void npu_sched_pool_fini(void);

/* npu_ring.c */
void npu_queue_add(struct npu_queue *queue, struct npu_job *job);
void npu_queue_del(struct npu_queue *queue, struct npu_job *job);
void npu_queue_feed(struct npu_queue *queue, bool ring);
void npu_queue_ring(struct npu_queue *queue);
void npu_queue_notify(struct npu_queue *queue, struct npu_job *job);
void npu_queue_cancel_job(struct npu_queue *queue, struct npu_job *job);
u64 npu_queue_rewind(struct npu_queue *queue);

#endif
