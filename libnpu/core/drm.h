/* SPDX-License-Identifier: MIT */
/*
 * The "drm" backend: a device behind the kernel driver npu.ko. A device is an open accel node with
 * one address space; buffers are GEM objects mapped into it. Each npu_queue has a queue of the
 * driver's, a syncobj for each job in flight, and a thread. Not one timeline for all: a point of
 * one is a fence that is signalled by the job's own, in another interrupt.
 *
 * Ends are told in order, by one thread at a time, which is in charge of the queue's oldest work:
 * that which waits for it in npu_fence_wait(), as waking another one and being woken by it would be
 * a good part of a short job's time; or the queue's own thread, when nobody waits for the oldest
 * one, when a user is to be called, or when others wait behind the one that is in charge.
 */
#ifndef NPU_CORE_DRM_H
#define NPU_CORE_DRM_H

#include <xf86drm.h>
#include "core/object.h"
#include "drm/npu_drm.h"
#include "npu_hw.h"

#define DRM_PAGE	4096ull
#define DRM_LARGE	(2ull << 20)	/* buffers so large begin at a multiple: large pages */
/*
 * Larger buffers are made of several objects. The driver pins an object and maps it for DMA as a
 * whole, at addresses in a row behind a system IOMMU.
 */
#define DRM_MAX_OBJECT	(1ull << 30)

/* Free addresses, sorted, no two touching. */
struct drm_range {
	struct drm_range *next;
	uint64_t start, size;
};

struct drm_device {
	struct npu_device *dev;
	int fd;
	uint32_t vm;
	uint32_t timeout_ms, limit_ms;	/* of a job, for texts */
	uint64_t max_object;		/* bytes, whole pages, and large ones if it has one */
	/* Protects free, handle_refs, num_handles and clock_*; never held while a fence signals. */
	pthread_mutex_t lock;
	struct drm_range *free;
	/* A GEM handle stands for one object however often it was imported: users of each. */
	uint32_t *handle_refs;
	uint32_t num_handles;
	uint64_t clock_device, clock_cpu;	/* ns at one moment */
	uint64_t clock_read;			/* npu_now() of it; 0: not asked yet */
};

/*
 * GEM objects side by side in the device's address space, and in the host's. The driver has them
 * all, so what a job sees is one range. All but the last have the size of the first.
 */
struct drm_bo {
	uint32_t num;			/* objects; 0: none */
	uint32_t *handles;		/* [num] */
	uint64_t size;			/* of all, whole pages */
	uint64_t va;
	void *map;			/* NULL: not mapped by us */
};

/* A queue of the driver's. One that died is kept until its last submit has been asked about. */
struct drm_kqueue {
	unsigned int refs;		/* under drm_queue.lock */
	uint32_t id;
};

/* A binary syncobj: of a job in flight, and of those being told to wait for it; else free. */
struct drm_sync {
	struct drm_sync *next;		/* free: one more */
	unsigned int refs;		/* both under drm_queue.lock */
	uint32_t handle;
};

struct drm_work {
	struct drm_work *next;
	struct npu_work *work;
	uint64_t seq;			/* the queue's so many-th */
	bool own_thread;		/* not to be ended on a thread that happens to wait */
	struct drm_kqueue *kqueue;	/* NULL: never reached the kernel */
	struct drm_sync *sync;		/* NULL with kqueue */
	uint64_t job_id;
	uint64_t submitted;		/* npu_now() of it */
	struct drm_npu_job_get_result result;	/* if known: how it ended */
	bool known;
	bool missed;			/* looked for in vain, or too late: by the one in charge */
	struct drm_bo trace;		/* size 0: none */
};

struct drm_queue {
	struct npu_queue *queue;
	struct drm_device *drm;
	pthread_t thread;
	bool started, orphan;
	/*
	 * Protects all below, drm_kqueue.refs and the syncs. Taken inside a fence's or an
	 * npu_queue's lock, never around one; held over the submit ioctl, never while waiting.
	 */
	pthread_mutex_t lock;
	pthread_cond_t wake;		/* work, or quit */
	struct drm_kqueue *kqueue;	/* of new submits; NULL: make one */
	struct drm_work *head, *tail;
	struct drm_sync *syncs;		/* free ones */
	uint64_t added, ended;		/* works, so far */
	uint64_t idle;			/* CLOCK_MONOTONIC of the newest end that the device told */
	unsigned int misses;		/* works, head first, that are not looked for */
	bool busy;			/* a thread is in charge of head, which stays meanwhile */
	bool hurry;			/* the queue's thread is to be, at once, until all ended */
	bool asleep;			/* that thread waits for wake, and for no time */
	bool quit;
};

/* An ioctl with the reason in words when it fails: "device '...': @what: ...". */
int drm_call(struct drm_device *drm, unsigned long request, void *arg, struct npu_error *err,
	     const char *what);

/* drm_va.c; -ENOSPC. @size: whole pages. */
int drm_va_alloc(struct drm_device *drm, uint64_t size, uint64_t *va);
void drm_va_free(struct drm_device *drm, uint64_t va, uint64_t size);
void drm_va_fini(struct drm_device *drm);

/* drm_buffer.c. @flags: enum drm_npu_vm_bind_op_flags; mapped for the host unless @map is false. */
int drm_bo_create(struct drm_device *drm, struct drm_bo *bo, uint64_t size, uint32_t flags,
		  bool exclusive, struct npu_error *err);
void drm_bo_destroy(struct drm_device *drm, struct drm_bo *bo);
/*
 * One side has written bytes [offset, offset + size), the other will read them; @type: BO_SYNC's.
 */
int drm_bo_sync(struct drm_device *drm, const struct drm_bo *bo, uint64_t offset, uint64_t size,
		uint32_t type, struct npu_error *err);
int drm_buffer_create(struct npu_buffer *buf, struct npu_error *err);
int drm_buffer_import_host(struct npu_buffer *buf, struct npu_error *err);
int drm_buffer_import_dmabuf(struct npu_buffer *buf, struct npu_error *err);
int drm_buffer_export_dmabuf(struct npu_buffer *buf, int *fd, struct npu_error *err);
int drm_buffer_sync(struct npu_buffer *buf, uint64_t offset, uint64_t size, enum npu_sync direction,
		    struct npu_error *err);
int drm_buffer_is_bounced(struct npu_buffer *buf, bool *bounced, struct npu_error *err);
void drm_buffer_destroy(struct npu_buffer *buf);
int drm_code_create(struct npu_code *code, struct npu_error *err);
void drm_code_destroy(struct npu_code *code);
/*
 * How long the device had its last two jobs, from begin to end, ns. False: there were not so many.
 * Any thread.
 */
bool drm_code_took(const struct npu_code *code, uint64_t *least, uint64_t *most);
void drm_code_add_took(struct npu_code *code, uint64_t ns);

/* drm_queue.c, drm_submit.c */
int drm_queue_create(struct npu_queue *queue, struct npu_error *err);
void drm_queue_destroy(struct npu_queue *queue, bool wait);
int drm_submit(struct npu_work *work, struct npu_error *err);
void drm_cancel(struct npu_work *work);
void drm_cancel_queue(struct npu_queue *queue);
/* drm_wait.c: a sync_file of a job in flight; 0 and no file when its end is about to be told. */
int drm_fence_export(struct npu_queue *queue, const struct npu_fence *fence, int *fd,
		     struct npu_error *err);

#define DRM_FEW_WAITS	4

/* What a job waits for, as long as it has not ended; and what keeps it. */
struct drm_waits {
	struct drm_npu_sync_op *op;	/* room for one more: the signal */
	struct drm_wait_ref {
		struct npu_queue *queue;	/* NULL: the syncobj of op is ours */
		struct drm_sync *sync;
	} *ref;				/* of op */
	uint32_t num;
	bool failed;			/* one of them has failed already */
	/* Of a job with no more. */
	struct drm_npu_sync_op few_op[DRM_FEW_WAITS + 1];
	struct drm_wait_ref few_ref[DRM_FEW_WAITS];
};

/* drm_wait.c: the waits of @work. put() after a failed get(), too. */
int drm_waits_get(struct npu_work *work, struct drm_waits *w, struct npu_error *err);
void drm_waits_put(struct drm_device *drm, struct drm_waits *w);
int drm_kqueue_get(struct drm_queue *dq, struct drm_kqueue **out, struct npu_error *err);
void drm_kqueue_put(struct drm_queue *dq, struct drm_kqueue *kq);
/*
 * With dq->lock. One for a job that is about to be submitted; that of a job in flight: 1, 0 when
 * the queue does not have it, -ECANCELED when the kernel does not; either with a reference.
 */
int drm_sync_new(struct drm_queue *dq, struct drm_sync **out, struct npu_error *err);
int drm_sync_find(struct drm_queue *dq, const struct npu_fence *fence, struct drm_sync **out);
void drm_sync_put(struct drm_queue *dq, struct drm_sync *sync);
/* Queue the work; the thread is started when needed; with dq->lock. */
int drm_queue_start(struct drm_queue *dq, struct npu_error *err);
void drm_queue_add(struct drm_queue *dq, struct drm_work *dw);
void drm_wait(struct npu_queue *queue, struct npu_fence *fence, uint64_t deadline);
void drm_attend(struct npu_queue *queue);
void drm_work_free(struct drm_device *drm, struct drm_work *dw);

/*
 * drm_finish.c. Wait for the end of @dw's job: 0, -ETIME when @deadline came first, -ENODEV when
 * the device has gone and the job with it, -EBADF when the program has closed our file. Nothing
 * else ends it. Then tell the core, with what the wait returned, and free @dw.
 */
int drm_work_wait(struct drm_queue *dq, const struct drm_work *dw, uint64_t deadline);
void drm_work_end(struct drm_queue *dq, struct drm_work *dw, int ret);
/*
 * drm_poll.c. True: @dw's job has ended, and the result is in @dw; false: not while it was looked
 * for, if it was. By the one that is in charge of it, without dq->lock.
 */
#define DRM_POLL_MISSES	4u	/* jobs that are not looked for behind one that was missed */
bool drm_poll(struct drm_queue *dq, struct drm_work *dw, uint64_t deadline);
/* Device time to CLOCK_MONOTONIC. */
uint64_t drm_clock(struct drm_device *drm, uint64_t device_ns);

/* drm_trace.c: bytes for the records of a job, and the records from there to the fence. */
uint64_t drm_trace_size(const struct npu_work *work);
void drm_trace_hand_over(struct npu_work *work, const void *memory, uint64_t size);

#endif
