/* SPDX-License-Identifier: MIT */
/*
 * The "sim" backend: the engine in this process. One worker thread per device runs one job at a
 * time, which has all the engine's threads, for a slice of time; then the queue that is furthest
 * behind its share is next. Addresses are host addresses.
 */
#ifndef NPU_CORE_SIM_H
#define NPU_CORE_SIM_H

#include "core/object.h"
#include "npu_engine.h"

/* What a queue with more weight waits at most, plus one instruction. */
#define SIM_SLICE_NS	2000000u

struct sim_work;

struct sim_queue {
	struct npu_queue *queue;
	struct sim_queue *next;		/* in sim->queues */
	struct sim_work *head, *tail;	/* in the order of submits */
	uint64_t vtime;			/* device time had, divided by weight */
	uint32_t weight;
};

struct sim {
	struct npu_device *dev;
	struct npu_engine *engine;
	/*
	 * Protects all below, the members of sim_queue, and next, pending and wait_* of sim_work.
	 * Never held while a job runs, nor while a fence or a callback is called. Taken inside a
	 * fence's or a queue's lock, never around one.
	 */
	pthread_mutex_t lock;
	pthread_cond_t wake;		/* the worker has something to look at */
	pthread_t thread;
	bool started;			/* thread is there */
	bool quit;			/* no object of the device is left */
	bool orphan;			/* quit was asked for by the worker itself: it cleans up */
	struct sim_queue *queues;	/* those with work */
	uint64_t vtime;			/* of the queue that ran last */
};

/* What NPU_SUBMIT_PROFILE and NPU_SUBMIT_DIGEST collect. */
struct sim_record {
	struct npu_insn_profile *profile;
	struct npu_insn_digest *digests;
	size_t num_profile, num_digests, room_profile, room_digests;
	uint64_t first;			/* time of the first instruction */
	bool failed;			/* for want of memory */
};

struct sim_wait {
	struct npu_fence_cb cb;
	struct sim_work *work;
};

struct sim_work {
	atomic_uint refs;		/* the queue's, and one per callback that may still come */
	struct npu_work *work;
	struct sim *sim;
	struct sim_work *next;
	uint32_t pending;		/* fences that have not signalled */
	int wait_status;		/* of the first one that failed */
	char wait_text[NPU_ERROR_TEXT];

	/* The worker's only. */
	struct npu_engine_state state;
	bool begun;			/* state is initialised */
	uint32_t shared;		/* of work->bufs: those whose dma-bufs have been opened */
	uint64_t started, busy;
	uint32_t slices;
	struct sim_record record;
	struct sim_wait wait[];
};

/*
 * Run for a slice. Returns true when the job is over, with *@status, and state.fault when that is
 * -EIO.
 */
bool sim_work_slice(struct sim_work *sw, int *status, const char **text);

/* The end of what sim_work_slice() began: in all cases, once. */
void sim_work_close(struct sim_work *sw);

/* The engine's observer of a job with records; @ctx is its struct sim_work. */
void sim_record_insn(void *ctx, const struct npu_insn *insn, void *const *ptr, npu_u64 start,
		     npu_u64 ns);
void sim_record_hand_over(struct sim_work *sw);

int sim_queue_create(struct npu_queue *queue, struct npu_error *err);
void sim_queue_destroy(struct npu_queue *queue, bool wait);
int sim_submit(struct npu_work *work, struct npu_error *err);
void sim_cancel(struct npu_work *work);
void sim_cancel_queue(struct npu_queue *queue);
void sim_stop(struct sim *sim);
/* Frees engine, device and all. */
void sim_free(struct sim *sim);

#endif
