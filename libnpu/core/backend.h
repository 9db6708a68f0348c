/* SPDX-License-Identifier: MIT */
/*
 * The seam between libnpu's core and what stands behind a device: the engine in process ("sim"), or
 * a kernel driver.
 *
 * The core owns objects, references, checks of arguments and texts; a backend owns memory and
 * execution. Everything the core hands over has been checked: buffers are large enough for their
 * regions, scalars are within bounds. An operation that is NULL is not there, and the core says so
 * to the user.
 *
 * A backend never calls into the core with one of its own locks held, except for npu_buffer_put()
 * and friends where noted.
 */
#ifndef NPU_CORE_BACKEND_H
#define NPU_CORE_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include "core/error.h"
#include "core/jobfile.h"

struct npu_backend_ops;

struct npu_device {
	atomic_uint refs;
	pid_t pid;			/* that opened it; it is no use to others */
	const struct npu_backend_ops *ops;
	struct npu_device_info info;	/* filled in by open(), constant then */
	/* The application's, set before jobs are loaded. */
	const struct npu_host_op *host_ops;
	unsigned int num_host_ops;
	void *backend;
};

struct npu_buffer {
	atomic_uint refs;
	struct npu_device *dev;
	uint64_t size;
	uint32_t flags;
	/*
	 * For the host. NULL: not visible to it, or a dma-buf that it has not asked for, see
	 * npu_buffer_host(); does not change once it is set.
	 */
	_Atomic(void *) map;
	npu_u64 va;			/* in the device's address space */
	int dmabuf;			/* imported: a descriptor of our own, else -1 */
	uint64_t dmabuf_offset;		/* of the buffer's first byte in it */
	uint64_t dmabuf_size;		/* of all of it */
	void (*release)(void *ctx);	/* imported: tell the owner */
	void *release_ctx;
	void *backend;
};

/* A verified stream, ready to be fetched by the device. Immutable. */
struct npu_code {
	atomic_uint refs;
	struct npu_device *dev;
	npu_u64 va;			/* filled in by code_create() */
	npu_u32 size;
	void *backend;
	npu_u64 stream[];		/* private copy */
};

struct npu_queue {
	atomic_uint refs;
	struct npu_device *dev;
	uint32_t priority;
	pthread_mutex_t lock; /* protects last and streams; submits keep the order of fences */
	struct npu_fence *last;		/* of the newest submit */
	struct npu_chain *chain;	/* for jobs with host steps (chain.c); made when needed */
	struct npu_stream_cache *streams;	/* under lock; made when needed */
	void *backend;
};

/* One submit on its way through the device. */
struct npu_work {
	struct npu_queue *queue;
	struct npu_code *code;
	struct npu_job *job;		/* for texts; NULL: a bare stream */
	unsigned int program;
	struct npu_fence *fence;
	uint32_t flags;			/* NPU_SUBMIT_* */
	uint32_t num_regions, num_bufs, num_wait;
	struct npu_region *region;	/* with bufs and wait in the work's own memory */
	npu_u32 scalar[NPU_MAX_SCALARS];
	struct npu_buffer **bufs;	/* referenced until the end */
	struct npu_fence **wait;	/* referenced until the end */
	bool has_done;			/* the user is called when it ends */
	atomic_bool stop;		/* set by cancel() */
	/* In the queue's chain (under its lock): the backend has not seen it, or never will. */
	atomic_bool chained;
	struct npu_work *chain_next;
	struct npu_fence *after;	/* of the submit before a job with host steps, or NULL */
	struct npu_work_host *host;	/* a job with host steps; NULL: one stream */
	/* Of a stream that is a step of such a job: what comes before it in the program. */
	npu_u32 first_insn, first_byte;
	void *backend;
};

/* Where the host finds the regions of a job with host steps. */
struct npu_work_host {
	struct npu_buffer *buf[NPU_MAX_REGIONS];
	npu_u64 offset[NPU_MAX_REGIONS];
};

struct npu_backend_ops {
	const char *name;
	/* submit() takes fences of the same device only: the core waits for others before it */
	bool own_fences_only;

	/* Candidates in the order of preference; -ENOENT past the last. */
	int (*candidate)(unsigned int index, struct npu_device_candidate *out);
	/* Whether @uri is of this backend. */
	bool (*match)(const char *uri);
	/* Fills in dev->info and dev->backend. */
	int (*open)(struct npu_device *dev, const char *uri,
		    const struct npu_device_options *options, struct npu_error *err);
	/*
	 * No object of the device is left. May be called on a thread of the backend's own, from
	 * within npu_work_finish(). Frees @dev with npu_device_free() as soon as nothing uses it.
	 */
	void (*close)(struct npu_device *dev);

	/* @buf has size and flags; fill in map, va, backend. */
	int (*buffer_create)(struct npu_buffer *buf, struct npu_error *err);
	/*
	 * map is the host's address. NPU_BUFFER_READ_ONLY memory (a job's weights) never changes,
	 * so a backend whose device can not reach it may copy it once into memory of its own.
	 */
	int (*buffer_import_host)(struct npu_buffer *buf, struct npu_error *err);
	/* dmabuf and what belongs to it are filled in, and closed by the core */
	int (*buffer_import_dmabuf)(struct npu_buffer *buf, struct npu_error *err);
	/* of memory that is not imported */
	int (*buffer_export_dmabuf)(struct npu_buffer *buf, int *fd, struct npu_error *err);
	/* not of dma-bufs, whose brackets are the core's */
	int (*buffer_sync)(struct npu_buffer *buf, uint64_t offset, uint64_t size,
			   enum npu_sync direction, struct npu_error *err);
	/* Whether it is copied behind the program's back. */
	int (*buffer_is_bounced)(struct npu_buffer *buf, bool *bounced, struct npu_error *err);
	void (*buffer_destroy)(struct npu_buffer *buf);

	int (*code_create)(struct npu_code *code, struct npu_error *err);
	void (*code_destroy)(struct npu_code *code);

	int (*queue_create)(struct npu_queue *queue, struct npu_error *err);
	/*
	 * No work of it is left. @wait: nor is a callback of the user's under way on the queue's
	 * threads when this returns. Else it may be, and what it may wait for the caller may hold.
	 */
	void (*queue_destroy)(struct npu_queue *queue, bool wait);

	/*
	 * Take @work, which is one stream, over: run it after the queue's earlier work and after
	 * work->wait, then call npu_work_finish() once. On error nothing was taken. Called with
	 * queue->lock held, which fixes the order.
	 */
	int (*submit)(struct npu_work *work, struct npu_error *err);
	/* Hurry: @work->stop was set. Called with the fence's lock held, so @work is there. */
	void (*cancel)(struct npu_work *work);
	/* Stop all work of @queue. */
	void (*cancel_queue)(struct npu_queue *queue);
	/* A sync_file of @fence, of work of @queue; 0 and *@fd untouched: it needs none. */
	int (*fence_export)(struct npu_queue *queue, const struct npu_fence *fence, int *fd,
			    struct npu_error *err);
	/*
	 * NULL: work comes to its end without help. Else the caller waits for @fence, of work of
	 * @queue, without locks: carry ends out on this thread, that of the fence included, as far
	 * as the backend likes and until @deadline (0: those that have come).
	 */
	void (*wait)(struct npu_queue *queue, struct npu_fence *fence, uint64_t deadline);
	/* Nobody waits, but the end is to be told at once. May be called with a fence's lock. */
	void (*attend)(struct npu_queue *queue);
};

extern const struct npu_backend_ops npu_backend_drm, npu_backend_sim;

/* An accel node of our driver: could it be opened? Fills in status and reason. */
void npu_drm_probe(struct npu_device_candidate *c);

/*
 * The end of @work: @status is 0 or a negative errno; @fault and @text tell more (may be NULL).
 * References of the work are dropped, then the fence signals and its callbacks run on this thread;
 * @work is gone afterwards.
 */
void npu_work_finish(struct npu_work *work, int status, const struct npu_fault *fault,
		     const char *text);
/* The same with a text that is complete already. */
void npu_work_end(struct npu_work *work, int status, const struct npu_fault *fault,
		  const char *full);

/* Records for the fence; arrays from malloc(), taken over. Before npu_work_finish(). */
void npu_work_set_profile(struct npu_work *work, struct npu_insn_profile *records, size_t count);
void npu_work_set_digests(struct npu_work *work, struct npu_insn_digest *records, size_t count);
void npu_work_set_times(struct npu_work *work, uint64_t started, uint64_t busy, uint32_t slices);
/* When the job ended, if that was before it is told; else the moment of that counts. */
void npu_work_set_finished(struct npu_work *work, uint64_t finished);

/* A call when a fence signals, made by the signalling thread without locks. */
struct npu_fence_cb {
	struct npu_fence_cb *next;
	void (*fn)(struct npu_fence_cb *cb, struct npu_fence *fence);
};

/* Returns false when the fence has signalled already: there will be no call. */
bool npu_fence_add_cb(struct npu_fence *fence, struct npu_fence_cb *cb);
/* Returns true when @cb was still there: there will be no call. */
bool npu_fence_remove_cb(struct npu_fence *fence, struct npu_fence_cb *cb);

/* The queue of a fence whose work has not ended, with a reference, or NULL. */
struct npu_queue *npu_fence_get_queue(struct npu_fence *fence);

void npu_device_free(struct npu_device *dev);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t npu_now(void);

#endif
