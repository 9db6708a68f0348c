/* SPDX-License-Identifier: MIT */
/* What the files of the core share. */
#ifndef NPU_CORE_OBJECT_H
#define NPU_CORE_OBJECT_H

#include "core/backend.h"

/*
 * True when this was the last one; the release and acquire order the other users' accesses before
 * the end.
 */
static inline bool npu_ref_drop(atomic_uint *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

static inline void npu_ref_take(atomic_uint *refs)
{
	atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* process.c: getpid() at the cost of a load. Thread safe, and right behind fork(). */
pid_t npu_process(void);

/* 0, or -ENODEV in a child of the process that opened the device. */
int npu_device_check(const struct npu_device *dev, struct npu_error *err);
/* The same without a reason: may references be dropped here? */
bool npu_device_is_ours(const struct npu_device *dev);
struct npu_device *npu_device_get(struct npu_device *dev);
void npu_device_put(struct npu_device *dev);

/*
 * The caller's @size of a growing struct against what the library knows: copies the struct into
 * @out (of @known bytes, zero filled), -EINVAL when it is too small to be one or has bytes set that
 * this library does not know.
 */
int npu_struct_read(void *out, size_t known, const void *in, uint32_t size, const char *what,
		    struct npu_error *err);
/*
 * The other way round: write min(size, known) bytes of @in to @out, keep out's size member, zero
 * what is beyond.
 */
int npu_struct_write(void *out, uint32_t size, const void *in, size_t known);

/*
 * The host's address of @buf, which maps an import at the first time. -ENOTSUP: it can not be seen
 * by the host.
 */
int npu_buffer_host(struct npu_buffer *buf, void **ptr, struct npu_error *err);
/* npu_buffer_sync() of what has been checked. */
int npu_buffer_agree(struct npu_buffer *buf, uint64_t offset, uint64_t size,
		     enum npu_sync direction, struct npu_error *err);
/* A buffer with one reference; -1 for what is not there. NULL: no memory. */
struct npu_buffer *npu_buffer_new(struct npu_device *dev, uint64_t size, uint32_t flags);
void npu_buffer_free(struct npu_buffer *buf);

int npu_code_create(struct npu_device *dev, const void *stream, npu_u32 size,
		    struct npu_code **code, struct npu_error *err);
void npu_code_put(struct npu_code *code);

/*
 * stream_cache.c: the last streams of npu_queue_submit_stream(). get() sets work->code if it has
 * that stream; true: it was verified for the scalars and the region table of @work. put() keeps
 * work->code, and with @proven that it was verified for @work. Neither fails: without memory
 * nothing is kept. Both lock work->queue.
 */
bool npu_stream_cache_get(struct npu_work *work, const void *stream, npu_u32 size);
void npu_stream_cache_put(const struct npu_work *work, bool proven);
void npu_stream_cache_free(struct npu_stream_cache *cache);

struct npu_fence *npu_fence_create(struct npu_device *dev);
/* npu_fence_status() of what has been told so far: asks no backend, so locks may be held. */
int npu_fence_peek(const struct npu_fence *fence);
/* The work that a cancel reaches; NULL when there is none any more. */
void npu_fence_set_work(struct npu_fence *fence, struct npu_work *work);
/* The user's callback; before the work is submitted. */
void npu_fence_set_done(struct npu_fence *fence, void (*done)(void *ctx, struct npu_fence *fence),
			void *ctx);
void npu_fence_signal(struct npu_fence *fence, int status, const struct npu_fault *fault,
		      const char *text);

/*
 * A fence that no backend knows: it signals when libnpu says so. Set before it is handed out;
 * whoever waits for one goes through a chain.
 */
void npu_fence_set_soft(struct npu_fence *fence);
/* The sync_file that the fence stands for, or -1: the fence's. */
int npu_fence_file(const struct npu_fence *fence);
/* Whether only the host can wait for it before work for @dev starts: then there is a chain. */
bool npu_fence_is_for_host(const struct npu_fence *fence, const struct npu_device *dev);
/*
 * The dims that host steps found out, by tensor of the program: the fence's, freed with free().
 * Written by the chain's thread before the fence signals, constant then; NULL when there are none.
 */
void npu_fence_set_dims(struct npu_fence *fence, int64_t (*dims)[NPU_TENSOR_MAX_RANK]);
int64_t (*npu_fence_dims(const struct npu_fence *fence))[NPU_TENSOR_MAX_RANK];

/*
 * A queue's chain: a thread that runs the steps of jobs with host steps, and holds back what comes
 * behind them. @queue->lock is held by the caller of the first two.
 */
bool npu_chain_wants(const struct npu_queue *queue, const struct npu_work *work);
/* Takes @work over; on error nothing was taken. -EAGAIN (no thread), -ENOMEM. */
int npu_chain_add(struct npu_queue *queue, struct npu_work *work, struct npu_error *err);
/* @work->stop was set: look at it. Called with the fence's lock held. */
void npu_chain_cancel(struct npu_work *work);
/* Stop all that is in the chain, with @queue->lock held. */
void npu_chain_cancel_all(struct npu_queue *queue);
/* No work is left; the end of the queue, as queue_destroy(). Also on the chain's own thread. */
void npu_chain_stop(struct npu_chain *chain, bool wait);
/*
 * Drop a reference of libnpu's own: npu_queue_destroy() that waits for no callback of the user's,
 * who did not ask for the end of a queue.
 */
void npu_queue_put(struct npu_queue *queue);

/* With a table of @num_regions, to be filled, and room for @num_bufs. NULL: no memory. */
struct npu_work *npu_work_create(struct npu_queue *queue, const struct npu_submit_options *options,
				 uint32_t num_regions, uint32_t num_bufs, struct npu_error *err);
/* Never submitted. */
void npu_work_destroy(struct npu_work *work);
int npu_work_submit(struct npu_work *work, struct npu_fence **fence, struct npu_error *err);
int npu_submit_options_read(const struct npu_device *dev, const struct npu_submit_options *in,
			    struct npu_submit_options *out, struct npu_error *err);

/* One name of a tensor that users see, over all programs of a job. */
struct npu_job_name {
	const char *name;
	npu_u32 *tensor;		/* per program: index of the tensor, or ~0 */
};

/* A step of a program's schedule, ready to run: a stream, or a host operator. */
struct npu_job_step {
	struct npu_code *code;		/* NULL: a host step */
	const struct npu_host_op *op;
	struct npu_jobfile_step desc;
	npu_u32 offset;			/* of it in the program, see npu_jobfile_step_span() */
	npu_u32 first_insn;		/* index of its first instruction in the program */
};

struct npu_job_program {
	struct npu_job_step *steps;
	npu_u32 num_steps;
	bool has_host;
};

struct npu_job {
	atomic_uint refs;
	struct npu_device *dev;
	struct npu_jobfile *file;
	char *path;
	void *data;			/* what file->weights points into */
	size_t data_size;
	int data_kind;			/* enum npu_job_data of job.c */
	struct npu_buffer *weights;	/* NULL: none */
	struct npu_job_program *programs;
	struct npu_job_name *names;
	npu_u32 num_names;
};

/*
 * npu_job_load() in two steps, so that what a job needs is known before its weights take memory:
 * all but the weights, whose check sum has not been looked at; and the weights. Nothing runs in
 * between.
 */
int npu_job_open(struct npu_device *dev, const char *path, struct npu_job **job,
		 struct npu_error *err);
int npu_job_place_weights(struct npu_job *job, uint32_t flags, struct npu_error *err);
struct npu_job *npu_job_get(struct npu_job *job);
void npu_job_put(struct npu_job *job);

/* The name's index in job->names, or -ENOENT with a text that lists those there are. */
int npu_job_find_name(const struct npu_job *job, const char *name, npu_u32 *index,
		      struct npu_error *err);

/* A tensor's memory and shape in a run, by index of job->names. */
struct npu_run_slot {
	bool has_shape;
	npu_u32 rank;			/* as set by the user */
	int64_t dim[NPU_TENSOR_MAX_RANK];
	uint64_t stride;		/* of rows, as set by the user; 0: the job's */
	struct npu_buffer *buf;
	uint64_t offset;
	bool bound;			/* by the user; else buf is the run's own */
};

struct npu_run {
	struct npu_job *job;
	struct npu_run_slot *slot;
	struct npu_buffer *scratch[NPU_MAX_REGIONS];	/* by region; kept and grown */
	struct npu_fence *fence;	/* of the last submit */
	bool resolved;			/* program and scalar are valid */
	unsigned int program;
	npu_u32 scalar[NPU_MAX_SCALARS];
};

/*
 * Choose the program and work the scalars out from the shapes; nothing to do when that is known.
 * -EINVAL.
 */
int npu_run_choose(struct npu_run *run, struct npu_error *err);
/* Would any program take shape and stride of @name, whatever the others are? -EINVAL. */
int npu_run_check_shape(struct npu_run *run, npu_u32 name, struct npu_error *err);
/* -EBUSY while a submit is in flight. */
int npu_run_check_idle(struct npu_run *run, struct npu_error *err);
/* The same, and the place of @tensor in run->job->names. -ENOENT. */
int npu_run_find_idle(struct npu_run *run, const char *tensor, npu_u32 *name,
		      struct npu_error *err);
/*
 * What run of a host step of @work is: builds the arguments, calls the operator, keeps the dims
 * that it found. *@bytes: read and written.
 */
int npu_host_step_run(const struct npu_work *work, const struct npu_job_step *step, uint64_t *bytes,
		      struct npu_error *err);
/* Digests of its outputs, appended at @out, which has room for its num_out; returns how many. */
size_t npu_host_step_digest(const struct npu_work *work, const struct npu_job_step *step,
			    struct npu_insn_digest *out);

/* May @buf (NULL: none) be bound there? As npu_run_bind(); changes nothing. */
int npu_run_check_bind(const struct npu_run *run, npu_u32 name, const struct npu_buffer *buf,
		       uint64_t offset, struct npu_error *err);
/* What npu_run_check_bind() has found good. */
void npu_run_set_bind(struct npu_run *run, npu_u32 name, struct npu_buffer *buf, uint64_t offset);

/* Lengths changed: what was computed before does not count any more. */
void npu_run_forget(struct npu_run *run);

/* Memory of slot @name at the lengths set: check the bound buffer, or see to an own one. */
int npu_run_place(struct npu_run *run, npu_u32 name, struct npu_error *err);
/* The same with the size of its region known. */
int npu_run_place_sized(struct npu_run *run, npu_u32 name, npu_u64 size, struct npu_error *err);

#endif
