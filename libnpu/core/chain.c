// SPDX-License-Identifier: MIT
/*
 * Chains: a queue's thread for jobs with host steps. It runs their steps, waiting for the device in
 * between, and holds back the work that comes after them, so that a backend sees plain streams with
 * fences of its own and never waits for the host.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/object.h"

struct npu_chain {
	/*
	 * Protects all below. Taken inside a queue's or a fence's lock; within it nothing else is
	 * taken.
	 */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool quit;			/* the queue is gone */
	bool orphan;			/* nobody waits for the thread: it cleans up */
	struct npu_work *head, *tail;	/* waiting for their turn */
	bool busy;			/* the thread is at one */
	struct npu_work *current;	/* which; NULL as soon as that may be gone */
	struct npu_fence *child;	/* of current's stream on the device; referenced */
};

/* What the steps of a job leave for its fence. */
struct result {
	int status;
	bool has_fault;
	struct npu_fault fault;
	struct npu_error err;
	uint64_t started, busy;
	uint32_t slices;
	struct npu_insn_profile *profile;
	struct npu_insn_digest *digests;
	size_t num_profile, num_digests;
};

/* ---- waiting --------------------------------------------------------------------------------- */

struct chain_wait {
	struct npu_fence_cb cb;
	struct npu_chain *chain;
	bool done;			/* under the chain's lock */
};

static void wait_callback(struct npu_fence_cb *cb, struct npu_fence *fence)
{
	struct chain_wait *w = (struct chain_wait *)((char *)cb - offsetof(struct chain_wait, cb));

	pthread_mutex_lock(&w->chain->lock);
	w->done = true;
	pthread_cond_broadcast(&w->chain->wake);
	pthread_mutex_unlock(&w->chain->lock);
}

/* Until @fence has signalled or @work is to stop. */
static void wait_fence(struct npu_chain *chain, struct npu_work *work, struct npu_fence *fence)
{
	struct chain_wait w = { .cb.fn = wait_callback, .chain = chain };
	bool done;

	if (!npu_fence_add_cb(fence, &w.cb))
		return;
	pthread_mutex_lock(&chain->lock);
	while (!w.done && !atomic_load(&work->stop))
		pthread_cond_wait(&chain->wake, &chain->lock);
	done = w.done;
	pthread_mutex_unlock(&chain->lock);
	if (done || npu_fence_remove_cb(fence, &w.cb))
		return;
	/* The call is on its way, and what it is about to write is on this stack. */
	pthread_mutex_lock(&chain->lock);
	while (!w.done)
		pthread_cond_wait(&chain->wake, &chain->lock);
	pthread_mutex_unlock(&chain->lock);
}

/* What @work waits for; a fence that failed fails it, too. */
static int wait_for_others(struct npu_chain *chain, struct npu_work *work, struct result *res)
{
	uint32_t i;

	if (work->after)
		wait_fence(chain, work, work->after);
	for (i = 0; i < work->num_wait && !atomic_load(&work->stop); i++) {
		wait_fence(chain, work, work->wait[i]);
		if (!npu_fence_peek(work->wait[i]) ||
		    npu_fence_peek(work->wait[i]) == -EINPROGRESS)
			continue;
		return npu_error_set(&res->err, -ECANCELED, "%s: a fence it waited for failed: %s",
				     work->job->path, npu_fence_text(work->wait[i]));
	}
	return 0;
}

/* ---- records --------------------------------------------------------------------------------- */

/* @count more records of @size at the end of *@array. */
static void *grow(void *array, size_t *have, size_t count, size_t size)
{
	char **p = array, *bigger;

	bigger = realloc(*p, (*have + count + 1) * size);
	if (!bigger)
		return NULL;
	*p = bigger;
	bigger += *have * size;
	*have += count;
	return bigger;
}

static int take_profile(struct result *res, const struct npu_job_step *step,
			struct npu_fence *child, uint64_t started)
{
	const struct npu_insn_profile *rec;
	struct npu_insn_profile *to;
	size_t n, i;

	if (npu_fence_profile(child, &rec, &n))
		return 0;
	to = grow(&res->profile, &res->num_profile, n, sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		to[i] = rec[i];
		to[i].insn += step->first_insn;
		to[i].offset += step->offset;
		to[i].start += started - res->started;
	}
	return 0;
}

static int take_digests(struct result *res, const struct npu_job_step *step,
			struct npu_fence *child)
{
	const struct npu_insn_digest *rec;
	struct npu_insn_digest *to;
	size_t n, i;

	if (npu_fence_digests(child, &rec, &n))
		return 0;
	to = grow(&res->digests, &res->num_digests, n, sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		to[i] = rec[i];
		to[i].insn += step->first_insn;
	}
	return 0;
}

static int record_host(struct result *res, const struct npu_work *work,
		       const struct npu_job_step *step, uint64_t start, uint64_t ns, uint64_t bytes)
{
	struct npu_insn_profile *p;
	struct npu_insn_digest *d;
	size_t room = step->desc.num_out;

	if (work->flags & NPU_SUBMIT_PROFILE) {
		p = grow(&res->profile, &res->num_profile, 1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		*p = (struct npu_insn_profile){ .insn = step->first_insn, .offset = step->offset,
						.tag = step->desc.tag, .opcode = NPU_PROFILE_HOST,
						.start = start - res->started, .ns = ns,
						.bytes = bytes };
	}
	if (work->flags & NPU_SUBMIT_DIGEST) {
		d = grow(&res->digests, &res->num_digests, room, sizeof(*d));
		if (!d)
			return -ENOMEM;
		res->num_digests -= room - npu_host_step_digest(work, step, d);
	}
	return 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A submit of one stream, with the regions of @work, which keeps them alive. */
static struct npu_work *child_create(struct npu_work *work, const struct npu_job_step *step,
				     struct npu_error *err)
{
	struct npu_submit_options opt = { .size = sizeof(opt), .flags = work->flags };
	struct npu_work *child = npu_work_create(work->queue, &opt, work->num_regions, 0, err);
	struct npu_stream_header header;
	npu_u32 i;

	if (!child)
		return NULL;
	child->job = npu_job_get(work->job);
	child->program = work->program;
	child->first_insn = step->first_insn;
	child->first_byte = step->offset;
	child->code = step->code;
	npu_ref_take(&step->code->refs);
	memcpy(child->region, work->region, work->num_regions * sizeof(*child->region));
	memcpy(child->scalar, work->scalar, sizeof(child->scalar));
	memcpy(&header, step->desc.stream, sizeof(header));
	/* The scalars that no symbol stands for are set by the stream itself. */
	for (i = work->job->file->programs[work->program].num_symbols; i < header.num_scalars; i++)
		child->scalar[i] = header.scalar[i].min;
	return child;
}

/* Make @child the one that a cancel reaches, and hand it to the device. */
static int child_submit(struct npu_chain *chain, struct npu_work *work, struct npu_work *child,
			struct npu_error *err)
{
	struct npu_queue *queue = work->queue;
	int ret = -ECANCELED;
	bool stop;

	npu_fence_set_work(child->fence, child);
	pthread_mutex_lock(&chain->lock);
	chain->child = npu_fence_get(child->fence);
	stop = atomic_load(&work->stop);
	pthread_mutex_unlock(&chain->lock);
	if (!stop) {
		pthread_mutex_lock(&queue->lock);
		ret = queue->dev->ops->submit(child, err);
		pthread_mutex_unlock(&queue->lock);
	}
	if (ret) {
		npu_fence_set_work(child->fence, NULL);
		npu_work_destroy(child);
	}
	return ret;
}

static void take_child(struct npu_work *work, const struct npu_job_step *step,
		       struct npu_fence *child, struct result *res)
{
	struct npu_fence_times times = NPU_INIT(times);

	npu_fence_times(child, &times);
	res->busy += times.busy;
	res->slices += times.slices;
	res->status = npu_fence_status(child);
	if (res->status) {
		npu_error_set(&res->err, res->status, "%s", npu_fence_text(child));
		res->has_fault = !npu_fence_fault(child, &res->fault);
		res->fault.insn += step->first_insn;
		res->fault.stream_offset += step->offset;
	}
	if (take_profile(res, step, child, times.started) || take_digests(res, step, child))
		res->status = npu_error_set(&res->err, -ENOMEM, "%s: no memory for records",
					    work->job->path);
}

static void run_stream(struct npu_chain *chain, struct npu_work *work,
		       const struct npu_job_step *step, struct result *res)
{
	struct npu_work *child = child_create(work, step, &res->err);
	struct npu_fence *fence;

	if (!child) {
		res->status = -ENOMEM;
		return;
	}
	fence = npu_fence_get(child->fence);
	res->status = child_submit(chain, work, child, &res->err);
	if (!res->status) {
		npu_fence_wait(fence, NPU_FOREVER, NULL);
		take_child(work, step, fence, res);
	}
	pthread_mutex_lock(&chain->lock);
	chain->child = NULL;
	pthread_mutex_unlock(&chain->lock);
	npu_fence_put(fence);		/* the chain's */
	npu_fence_put(fence);
}

static void run_host(struct npu_work *work, const struct npu_job_step *step, struct result *res)
{
	uint64_t start = npu_now(), bytes = 0, ns;

	res->status = npu_host_step_run(work, step, &bytes, &res->err);
	ns = npu_now() - start;
	res->busy += ns;
	if (!res->status && record_host(res, work, step, start, ns, bytes))
		res->status = npu_error_set(&res->err, -ENOMEM, "%s: no memory for records",
					    work->job->path);
}

static void hand_over(struct npu_chain *chain, struct npu_work *work, struct result *res)
{
	/* An array that was asked for and stayed empty is not the same as one that was not. */
	if (work->flags & NPU_SUBMIT_PROFILE)
		npu_work_set_profile(work,
				     res->profile ? res->profile : calloc(1, sizeof(*res->profile)),
				     res->num_profile);
	if (work->flags & NPU_SUBMIT_DIGEST)
		npu_work_set_digests(work,
				     res->digests ? res->digests : calloc(1, sizeof(*res->digests)),
				     res->num_digests);
	npu_work_set_times(work, res->started, res->busy, res->slices);
	pthread_mutex_lock(&chain->lock);
	chain->current = NULL;
	pthread_mutex_unlock(&chain->lock);
	npu_work_end(work, res->status, res->has_fault ? &res->fault : NULL, res->err.text);
}

static void run_job(struct npu_chain *chain, struct npu_work *work)
{
	const struct npu_job_program *prog = &work->job->programs[work->program];
	struct result res = { 0 };
	npu_u32 i;

	res.status = wait_for_others(chain, work, &res);
	res.started = npu_now();
	for (i = 0; i < prog->num_steps && !res.status && !atomic_load(&work->stop); i++) {
		if (prog->steps[i].code)
			run_stream(chain, work, &prog->steps[i], &res);
		else
			run_host(work, &prog->steps[i], &res);
	}
	if (atomic_load(&work->stop) && (i < prog->num_steps || res.status == -ECANCELED))
		res.status = npu_error_set(&res.err, -ECANCELED, "%s: cancelled", work->job->path);
	hand_over(chain, work, &res);
}

/* A stream that came behind such a job, or waits for one: now it is the backend's. */
static void forward(struct npu_chain *chain, struct npu_work *work)
{
	struct npu_queue *queue = work->queue;
	struct npu_error err = { 0 };
	uint32_t i;
	int ret;

	for (i = 0; i < work->num_wait; i++)
		if (npu_fence_is_for_host(work->wait[i], queue->dev))
			wait_fence(chain, work, work->wait[i]);
	/* The work may be over, and gone, before submit() returns. */
	npu_ref_take(&queue->refs);
	pthread_mutex_lock(&queue->lock);
	atomic_store(&work->chained, false);
	ret = queue->dev->ops->submit(work, &err);
	/* Who waits for it has been doing so for its fence, out of the backend's sight. */
	if (!ret && queue->dev->ops->attend)
		queue->dev->ops->attend(queue);
	/* Nobody looks at current without the queue's lock, but for comparing it. */
	pthread_mutex_lock(&chain->lock);
	chain->current = NULL;
	pthread_mutex_unlock(&chain->lock);
	pthread_mutex_unlock(&queue->lock);
	if (ret)
		npu_work_finish(work, ret, NULL, err.text);
	npu_queue_put(queue);
}

static void *chain_thread(void *arg)
{
	struct npu_chain *chain = arg;
	struct npu_work *work;
	bool orphan;

	pthread_mutex_lock(&chain->lock);
	while (!chain->quit) {
		work = chain->head;
		if (!work) {
			pthread_cond_wait(&chain->wake, &chain->lock);
			continue;
		}
		chain->head = work->chain_next;
		if (!chain->head)
			chain->tail = NULL;
		chain->current = work;
		chain->busy = true;
		pthread_mutex_unlock(&chain->lock);
		if (work->host)
			run_job(chain, work);
		else
			forward(chain, work);
		pthread_mutex_lock(&chain->lock);
		chain->busy = false;
	}
	orphan = chain->orphan;
	pthread_mutex_unlock(&chain->lock);
	if (orphan) {
		pthread_cond_destroy(&chain->wake);
		pthread_mutex_destroy(&chain->lock);
		free(chain);
	}
	return NULL;
}

/* ---- for queues and fences ------------------------------------------------------------------- */

bool npu_chain_wants(const struct npu_queue *queue, const struct npu_work *work)
{
	struct npu_chain *chain = queue->chain;
	bool busy = false;
	uint32_t i;

	for (i = 0; i < work->num_wait; i++)
		if (npu_fence_is_for_host(work->wait[i], queue->dev) &&
		    npu_fence_peek(work->wait[i]) == -EINPROGRESS)
			return true;
	if (chain) {
		pthread_mutex_lock(&chain->lock);
		busy = chain->busy || chain->head;
		pthread_mutex_unlock(&chain->lock);
	}
	return work->host || busy;
}

static int chain_create(struct npu_queue *queue, struct npu_error *err)
{
	struct npu_chain *chain = calloc(1, sizeof(*chain));
	sigset_t all, old;
	int ret;

	if (!chain)
		return npu_error_set(err, -ENOMEM, "no memory for a queue's thread");
	pthread_mutex_init(&chain->lock, NULL);
	pthread_cond_init(&chain->wake, NULL);
	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	ret = -pthread_create(&chain->thread, NULL, chain_thread, chain);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret) {
		pthread_cond_destroy(&chain->wake);
		pthread_mutex_destroy(&chain->lock);
		free(chain);
		return npu_error_set(err, ret,
				     "the queue's thread for host steps can not be started: %s",
				     strerror(-ret));
	}
	queue->chain = chain;
	return 0;
}

int npu_chain_add(struct npu_queue *queue, struct npu_work *work, struct npu_error *err)
{
	struct npu_chain *chain;
	int ret;

	if (!queue->chain) {
		ret = chain_create(queue, err);
		if (ret)
			return ret;
	}
	chain = queue->chain;
	/* What is held back signals when libnpu says so, as far as others can tell. */
	npu_fence_set_soft(work->fence);
	atomic_store(&work->chained, true);
	if (work->host && queue->last)
		work->after = npu_fence_get(queue->last);
	pthread_mutex_lock(&chain->lock);
	if (chain->tail)
		chain->tail->chain_next = work;
	else
		chain->head = work;
	chain->tail = work;
	pthread_cond_broadcast(&chain->wake);
	pthread_mutex_unlock(&chain->lock);
	return 0;
}

void npu_chain_cancel(struct npu_work *work)
{
	struct npu_chain *chain = work->queue->chain;
	struct npu_fence *child = NULL;

	pthread_mutex_lock(&chain->lock);
	if (chain->current == work && chain->child)
		child = npu_fence_get(chain->child);
	pthread_cond_broadcast(&chain->wake);
	pthread_mutex_unlock(&chain->lock);
	if (child)
		npu_fence_cancel(child);
	npu_fence_put(child);
}

void npu_chain_cancel_all(struct npu_queue *queue)
{
	struct npu_chain *chain = queue->chain;
	struct npu_fence *child = NULL;
	struct npu_work *work;

	if (!chain)
		return;
	pthread_mutex_lock(&chain->lock);
	for (work = chain->head; work; work = work->chain_next)
		atomic_store(&work->stop, true);
	if (chain->current)
		atomic_store(&chain->current->stop, true);
	if (chain->child)
		child = npu_fence_get(chain->child);
	pthread_cond_broadcast(&chain->wake);
	pthread_mutex_unlock(&chain->lock);
	if (child)
		npu_fence_cancel(child);
	npu_fence_put(child);
}

void npu_chain_stop(struct npu_chain *chain, bool wait)
{
	bool leave;

	if (!chain)
		return;
	pthread_mutex_lock(&chain->lock);
	/*
	 * The last reference may have gone with a job that ended here: it can not wait for itself.
	 * Busy without work it is in a callback.
	 */
	leave = pthread_equal(chain->thread, pthread_self()) || (!wait && chain->busy);
	if (leave)
		pthread_detach(chain->thread);
	chain->quit = true;
	chain->orphan = leave;
	pthread_cond_broadcast(&chain->wake);
	pthread_mutex_unlock(&chain->lock);
	if (leave)
		return;
	pthread_join(chain->thread, NULL);
	pthread_cond_destroy(&chain->wake);
	pthread_mutex_destroy(&chain->lock);
	free(chain);
}
