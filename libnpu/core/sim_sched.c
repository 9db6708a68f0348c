// SPDX-License-Identifier: MIT
/* The sim backend's worker: which queue is next, and for how long. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include "core/sim.h"

static void sim_work_put(struct sim_work *sw)
{
	if (npu_ref_drop(&sw->refs))
		free(sw);
}

static bool is_ready(const struct sim_work *sw)
{
	return !sw->pending || atomic_load(&sw->work->stop);
}

/* The queue with work to do that has had least of its share; NULL: none. */
static struct sim_queue *pick_queue(struct sim *sim)
{
	struct sim_queue *sq, *best = NULL;

	for (sq = sim->queues; sq; sq = sq->next)
		if (is_ready(sq->head) && (!best || sq->vtime < best->vtime))
			best = sq;
	return best;
}

static void pop_work(struct sim *sim, struct sim_queue *sq)
{
	struct sim_queue **at;

	sq->head = sq->head->next;
	if (sq->head)
		return;
	sq->tail = NULL;
	for (at = &sim->queues; *at != sq; at = &(*at)->next)
		;
	*at = sq->next;
	sq->next = NULL;
}

static void end_work(struct sim_work *sw, int status, const char *text)
{
	struct npu_fault fault = sw->state.fault;
	char copy[NPU_ERROR_TEXT];
	uint32_t i;

	snprintf(copy, sizeof(copy), "%s", text ? text : "");
	sim_work_close(sw);
	/* Each put drops a wait's reference, not the last one. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	for (i = 0; i < sw->work->num_wait; i++)
		if (sw->wait[i].work && npu_fence_remove_cb(sw->work->wait[i], &sw->wait[i].cb))
			sim_work_put(sw);
	npu_work_set_times(sw->work, sw->started, sw->busy, sw->slices);
	sim_record_hand_over(sw);
	npu_work_finish(sw->work, status, status == -EIO ? &fault : NULL, copy);
	sim_work_put(sw);
}

/* One slice of @sq's first job. Called with the lock, which is dropped meanwhile. */
static void serve(struct sim *sim, struct sim_queue *sq)
{
	struct sim_work *sw = sq->head;
	uint64_t before = sw->busy;
	const char *text = NULL;
	int status = 0;
	bool over;

	if (sq->vtime > sim->vtime)
		sim->vtime = sq->vtime;
	if (sw->wait_status && !atomic_load(&sw->work->stop)) {
		over = true;
		status = -ECANCELED;
		text = sw->wait_text;
	} else {
		pthread_mutex_unlock(&sim->lock);
		over = sim_work_slice(sw, &status, &text);
		pthread_mutex_lock(&sim->lock);
	}
	sq->vtime += (sw->busy - before) / sq->weight + 1;
	if (!over)
		return;
	pop_work(sim, sq);
	pthread_mutex_unlock(&sim->lock);
	end_work(sw, status, text);
	pthread_mutex_lock(&sim->lock);
}

static void *worker(void *arg)
{
	struct sim *sim = arg;
	struct sim_queue *sq;
	bool orphan;

	pthread_mutex_lock(&sim->lock);
	while (!sim->quit) {
		sq = pick_queue(sim);
		if (sq)
			serve(sim, sq);
		else
			pthread_cond_wait(&sim->wake, &sim->lock);
	}
	orphan = sim->orphan;
	pthread_mutex_unlock(&sim->lock);
	if (orphan)
		sim_free(sim);
	return NULL;
}

/* At every queue_create(); the first one starts the thread. Returns 0 or -EAGAIN. */
static int sim_start(struct sim *sim, struct npu_error *err)
{
	sigset_t all, old;
	int ret = 0;

	pthread_mutex_lock(&sim->lock);
	if (!sim->started) {
		/* The program's signals are for the program's threads. */
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &old);
		ret = -pthread_create(&sim->thread, NULL, worker, sim);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		sim->started = !ret;
	}
	pthread_mutex_unlock(&sim->lock);
	return ret ? npu_error_set(err, ret, "the device's thread can not be started: %s",
				   strerror(-ret))
		   : 0;
}

void sim_stop(struct sim *sim)
{
	bool started, self;

	pthread_mutex_lock(&sim->lock);
	started = sim->started;
	self = started && pthread_equal(sim->thread, pthread_self());
	sim->quit = true;
	sim->orphan = self;
	pthread_cond_signal(&sim->wake);
	pthread_mutex_unlock(&sim->lock);
	if (self) {
		/*
		 * The last reference went with a job that ended: the thread can not wait for
		 * itself.
		 */
		pthread_detach(sim->thread);
		return;
	}
	if (started)
		pthread_join(sim->thread, NULL);
	sim_free(sim);
}

int sim_queue_create(struct npu_queue *queue, struct npu_error *err)
{
	static const uint32_t weight[NPU_NUM_PRIORITIES] = { 1, 4, 16 };
	struct sim_queue *sq;
	int ret = sim_start(queue->dev->backend, err);

	if (ret)
		return ret;
	sq = calloc(1, sizeof(*sq));
	if (!sq)
		return npu_error_set(err, -ENOMEM, "no memory for a queue");
	sq->queue = queue;
	sq->weight = weight[queue->priority];
	queue->backend = sq;
	return 0;
}

/* All work holds a reference on its queue, so there is none. The thread is the device's. */
void sim_queue_destroy(struct npu_queue *queue, bool wait)
{
	free(queue->backend);
}

static void wait_signalled(struct sim_work *sw, struct npu_fence *fence)
{
	int status = npu_fence_status(fence);

	pthread_mutex_lock(&sw->sim->lock);
	sw->pending--;
	if (status && !sw->wait_status) {
		sw->wait_status = status;
		snprintf(sw->wait_text, sizeof(sw->wait_text), "a fence it waited for failed: %s",
			 npu_fence_text(fence));
	}
	pthread_cond_signal(&sw->sim->wake);
	pthread_mutex_unlock(&sw->sim->lock);
}

static void wait_callback(struct npu_fence_cb *cb, struct npu_fence *fence)
{
	struct sim_wait *wait = (struct sim_wait *)((char *)cb - offsetof(struct sim_wait, cb));

	wait_signalled(wait->work, fence);
	sim_work_put(wait->work);
}

/* The work is not in its queue yet, so it can not end, and go, while this looks at it. */
static void register_waits(struct sim_work *sw)
{
	struct npu_work *work = sw->work;
	uint32_t i;

	for (i = 0; i < work->num_wait; i++) {
		/* What is put below is the wait's reference; the caller's is still held. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		sw->wait[i].cb.fn = wait_callback;
		sw->wait[i].work = sw;
		npu_ref_take(&sw->refs);
		if (npu_fence_add_cb(work->wait[i], &sw->wait[i].cb))
			continue;
		sw->wait[i].work = NULL;
		wait_signalled(sw, work->wait[i]);
		sim_work_put(sw);
	}
}

int sim_submit(struct npu_work *work, struct npu_error *err)
{
	struct sim *sim = work->queue->dev->backend;
	struct sim_queue *sq = work->queue->backend;
	struct sim_work *sw = calloc(1, sizeof(*sw) + work->num_wait * sizeof(sw->wait[0]));

	if (!sw)
		return npu_error_set(err, -ENOMEM, "no memory for a submit");
	atomic_init(&sw->refs, 1);
	sw->work = work;
	sw->sim = sim;
	sw->pending = work->num_wait;
	work->backend = sw;
	register_waits(sw);

	pthread_mutex_lock(&sim->lock);
	if (sq->tail) {
		sq->tail->next = sw;
	} else {
		sq->head = sw;
		sq->next = sim->queues;
		sim->queues = sq;
		/* A queue that was idle has no claim on the time it did not ask for. */
		if (sq->vtime < sim->vtime)
			sq->vtime = sim->vtime;
	}
	sq->tail = sw;
	pthread_cond_signal(&sim->wake);
	pthread_mutex_unlock(&sim->lock);
	return 0;
}

void sim_cancel(struct npu_work *work)
{
	struct sim *sim = work->queue->dev->backend;

	pthread_mutex_lock(&sim->lock);
	pthread_cond_signal(&sim->wake);
	pthread_mutex_unlock(&sim->lock);
}

void sim_cancel_queue(struct npu_queue *queue)
{
	struct sim *sim = queue->dev->backend;
	struct sim_queue *sq = queue->backend;
	struct sim_work *sw;

	pthread_mutex_lock(&sim->lock);
	for (sw = sq->head; sw; sw = sw->next)
		atomic_store(&sw->work->stop, true);
	pthread_cond_signal(&sim->wake);
	pthread_mutex_unlock(&sim->lock);
}
