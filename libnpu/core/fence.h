/* SPDX-License-Identifier: MIT */
/* What the files of fences share. */
#ifndef NPU_CORE_FENCE_H
#define NPU_CORE_FENCE_H

#include "core/object.h"

struct npu_fence {
	atomic_uint refs;
	pid_t pid;
	const struct npu_device *dev;	/* to be compared only: it may be gone once signalled */
	bool soft;			/* constant once the fence is handed out */
	bool kernel;			/* of a backend that exports fences */
	/* A sync_file that it stands for, else -1: it has no work, and signals when that does. */
	int file;
	atomic_bool signalled;		/* set last, under lock; nothing below changes after it */
	/* Protects work, callbacks, claimed, watched and the change of signalled. */
	pthread_mutex_t lock;
	pthread_cond_t cond;		/* signalled; CLOCK_MONOTONIC */
	struct npu_work *work;		/* that a cancel reaches */
	struct npu_fence_cb *callbacks;
	void (*done)(void *ctx, struct npu_fence *fence);
	void *done_ctx;
	bool claimed;			/* file has signalled, and somebody is about to say so */
	bool watched;			/* there is a thread that waits for file */
	int wake;			/* an eventfd: the thread is to look whether it is needed */

	/* Written by the thread that signals, before signalled; constant then. */
	int status;
	bool has_fault;
	struct npu_fault fault;
	struct npu_fence_times times;
	struct npu_insn_profile *profile;
	struct npu_insn_digest *digests;
	size_t num_profile, num_digests;
	int64_t (*dims)[NPU_TENSOR_MAX_RANK];
	char text[NPU_ERROR_TEXT];	/* last: written when it signals, and not cleared before */
};

/*
 * fence_file.c. Wait for the file of a fence that has one, until @deadline (0: only look), and
 * signal the fence when it is time.
 */
void npu_fence_file_wait(struct npu_fence *fence, uint64_t deadline);
/*
 * Somebody has a callback now: see to it that it is called. With the lock; false: no thread for it.
 */
bool npu_fence_file_watch(struct npu_fence *fence);
/* Nobody may have one any more. With the lock. */
void npu_fence_file_unwatch(struct npu_fence *fence);

/* A copy of a descriptor, closed at exec(). */
int npu_fd_copy(int fd, int *copy, struct npu_error *err);

#endif
