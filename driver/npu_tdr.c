// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: timeouts
 *
 * While the hardware has jobs a worker looks at the oldest one of each queue a few times a second.
 * It counts the time that the job is on an engine, and that part of it in which the firmware shows
 * no progress; time spent waiting for jobs of others does not count, nor does time in which the
 * device did nothing at all, which the firmware's heartbeat tells. A job that had no progress for
 * NPU_JOB_TIMEOUT_MS, or NPU_JOB_LIMIT_MS in all, is ended:
 *
 * 1. the firmware aborts the queue, which stops the engine behind an instruction;
 * 2. if that does not help, the engine is reset: others' jobs go on;
 * 3. if that does not help either, the device is reset.
 *
 * The worker also finds what nobody tells: a lost interrupt, a lost doorbell, a firmware that
 * stands still. It runs on the same ordered workqueue as resets do.
 *
 * Of the time between two looks not more than two periods count: a processor that stood still has
 * not looked.
 */
#include <linux/ktime.h>

#include <drm/drm_print.h>

#include "npu_coredump.h"
#include "npu_device.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_pm.h"
#include "npu_queue.h"
#include "npu_reset.h"
#include "npu_tdr.h"
#include "npu_trace.h"

/* After an engine reset its job is reported within so long. */
#define NPU_TDR_ENGINE_MS	1000
#define NPU_TDR_POLL_MS		20

/* No engine is busy though there is work: the doorbell got lost, or the firmware is lost. */
#define NPU_TDR_RING_MS		1000
#define NPU_TDR_IDLE_MS		4000

/* The firmware's loop turns at least as often as its heartbeat and its watchdog want. */
#define NPU_TDR_HEARTBEAT_MS	4000

/**
 * struct npu_tdr_round - one look at all queues
 * @busy: an engine is busy
 * @passed_ns: time since the last look at which the device was alive; 0: it is not alive now
 * @late_ns: what is left out of it, as nobody looked or nothing moved
 */
struct npu_tdr_round {
	bool busy;
	u64 passed_ns;
	u64 late_ns;
};

static u32 npu_tdr_period_ms(struct npu_device *npu)
{
	u32 period = READ_ONCE(npu->reset.look_ms);

	if (period == NPU_TDR_PERIOD_MS)
		period = min(period, READ_ONCE(npu->reset.timeout_ms) / 4);

	return period;
}

/* No effect when it is running already. */
void npu_tdr_start(struct npu_device *npu)
{
	npu_reset_look(npu, msecs_to_jiffies(npu_tdr_period_ms(npu)), false);
}

/* Look now: there is a dead queue whose jobs the firmware still has. */
void npu_tdr_kick(struct npu_device *npu)
{
	npu_reset_look(npu, 0, true);
}

static u64 npu_queue_last_ringed(struct npu_queue *queue)
{
	u64 last;

	spin_lock_irq(&queue->lock);
	last = list_empty(&queue->jobs) ? 0 : queue->ringed;
	spin_unlock_irq(&queue->lock);

	return last;
}

static bool npu_queue_is_empty(struct npu_queue *queue)
{
	return !npu_queue_last_ringed(queue);
}

static int npu_tdr_reset_engine(struct npu_queue *queue)
{
	struct npu_device *npu = queue->npu;
	struct npu_fw_queue_state *state = npu_fw_queue_state(npu, queue->id);
	unsigned int looks = DIV_ROUND_UP(NPU_TDR_ENGINE_MS, NPU_TDR_POLL_MS);
	u32 engine = READ_ONCE(state->engine);

	if (READ_ONCE(state->state) != NPU_FW_QUEUE_RUNNING || engine >= npu->caps.num_engines)
		return -ETIMEDOUT;

	drm_warn(&npu->base, "resetting engine %u for queue %u\n", engine, queue->id);
	trace_npu_reset(npu, "engine", engine);
	npu->reset.engine_resets++;
	npu_hw_write(npu, NPU_REG_RESET, NPU_RESET_ENGINE(engine));
	/* Looks are counted, as in npu_fw_ctl_wait(). */
	while (!npu_queue_is_empty(queue)) {
		if (!looks--)
			return -ETIMEDOUT;
		wait_event_timeout(npu->irq.wait, npu_queue_is_empty(queue),
				   msecs_to_jiffies(NPU_TDR_POLL_MS));
		npu_hw_irq_process(npu);
	}

	return 0;
}

/**
 * npu_tdr_abort() - end all jobs of a queue that the firmware has
 * @queue: active
 *
 * Return: 0 when they have ended; otherwise only a reset of the device helps.
 */
int npu_tdr_abort(struct npu_queue *queue)
{
	struct npu_device *npu = queue->npu;
	struct npu_fw_ctl abort = { .cmd = NPU_FW_CTL_QUEUE_ABORT, .queue = queue->id };
	int ret;

	lockdep_assert_held(&npu->hw.lock);

	guard(mutex)(&queue->abort_lock);
	npu_hw_reap(npu);
	abort.job_id = npu_queue_last_ringed(queue);
	if (!abort.job_id)
		return 0;

	npu->reset.aborts++;
	ret = npu_fw_ctl(npu, &abort, NPU_FW_ABORT_MS);
	/* Messages about the jobs come before the answer. */
	npu_hw_irq_process(npu);
	if (!ret && npu_queue_is_empty(queue))
		return 0;
	if (ret == -EAGAIN)
		return ret;

	return npu_tdr_reset_engine(queue);
}

static void npu_tdr_end(struct npu_queue *queue, u64 job, const char *why)
{
	struct npu_device *npu = queue->npu;
	bool still;

	/* Then it is not to blame. */
	if (!npu_hw_is_there(npu)) {
		npu_reset_request(npu, "device does not answer");
		return;
	}

	/* It may have ended in the meantime. No job may follow it. */
	spin_lock_irq(&queue->lock);
	still = !list_empty(&queue->jobs) &&
		list_first_entry(&queue->jobs, struct npu_job, node)->id == job;
	if (still) {
		queue->timedout = job;
		queue->dead = true;
	}
	spin_unlock_irq(&queue->lock);
	if (!still)
		return;

	drm_err_ratelimited(&npu->base, "queue %u, job %llu: %s\n", queue->id, job, why);
	npu_coredump_capture(npu, why, queue);
	if (npu_tdr_abort(queue))
		npu_reset_request(npu, "job can not be stopped");
}

/* Once about each job: what it has used until now is not known. */
static void npu_tdr_begin(struct npu_queue *queue, u64 job, u32 progress)
{
	memset(&queue->tdr, 0, sizeof(queue->tdr));
	queue->tdr.job = job;
	queue->tdr.progress = progress;
}

static void npu_tdr_count(struct npu_queue *queue, bool running, u32 progress,
			  const struct npu_tdr_round *round)
{
	if (running && queue->tdr.running) {
		queue->tdr.ran_ns += round->passed_ns;
		queue->tdr.stuck_ns += round->passed_ns;
		queue->tdr.late_ns += round->late_ns;
	}
	if (progress != queue->tdr.progress || !running)
		queue->tdr.stuck_ns = 0;
	queue->tdr.idle_ns = running || round->busy ? 0 : queue->tdr.idle_ns + round->passed_ns;
	queue->tdr.running = running;
	queue->tdr.progress = progress;
}

/* The oldest job, if the firmware has it; *@dead: it is to be taken from it. */
static u64 npu_tdr_oldest(struct npu_queue *queue, bool *dead)
{
	struct npu_job *job;
	u64 id = 0;

	spin_lock_irq(&queue->lock);
	job = list_first_entry_or_null(&queue->jobs, struct npu_job, node);
	if (job && job->ringed && queue->active)
		id = job->id;
	*dead = queue->dead;
	spin_unlock_irq(&queue->lock);

	return id;
}

static void npu_tdr_judge(struct npu_queue *queue, u64 job)
{
	const u64 ms = NSEC_PER_MSEC;
	struct npu_device *npu = queue->npu;
	struct npu_fw_queue_state *state = npu_fw_queue_state(npu, queue->id);
	/* The firmware measures better, but its word is not taken for more than twice our count. */
	u64 busy = (u64)READ_ONCE(state->busy_us) * NSEC_PER_USEC;
	u64 ran = min(busy - min(busy, queue->tdr.late_ns), queue->tdr.ran_ns * 2);

	if (queue->tdr.stuck_ns > READ_ONCE(npu->reset.timeout_ms) * ms)
		npu_tdr_end(queue, job, "makes no progress");
	else if (ran > NPU_JOB_LIMIT_MS * ms || queue->tdr.ran_ns > 4 * NPU_JOB_LIMIT_MS * ms)
		npu_tdr_end(queue, job, "takes too long");
	else if (queue->tdr.idle_ns > NPU_TDR_IDLE_MS * ms)
		npu_reset_request(npu, "firmware does not start a job");
	else if (queue->tdr.idle_ns > NPU_TDR_RING_MS * ms)
		npu_hw_write(npu, NPU_REG_DOORBELL(queue->id), 1);
}

static void npu_tdr_check(struct npu_queue *queue, const struct npu_tdr_round *round)
{
	struct npu_device *npu = queue->npu;
	struct npu_fw_queue_state *state = npu_fw_queue_state(npu, queue->id);
	u32 progress = READ_ONCE(state->progress);
	bool dead, running;
	u64 job;

	job = npu_tdr_oldest(queue, &dead);
	if (job && dead) {
		if (npu_tdr_abort(queue))
			npu_reset_request(npu, "job can not be stopped");
		return;
	}
	if (!job || job != queue->tdr.job) {
		npu_tdr_begin(queue, job, progress);
		return;
	}

	running = READ_ONCE(state->state) == NPU_FW_QUEUE_RUNNING &&
		  READ_ONCE(state->job_seq) == (u32)job;
	npu_tdr_count(queue, running, progress, round);
	npu_tdr_judge(queue, job);
}

static bool npu_tdr_is_busy(struct npu_device *npu)
{
	u32 id;

	for (id = 0; id < npu->caps.num_queues; id++) {
		if (READ_ONCE(npu_fw_queue_state(npu, id)->state) == NPU_FW_QUEUE_RUNNING)
			return true;
	}

	return false;
}

/*
 * Fills in what has passed, and asks for a reset when there is no hope. A period that is shorter
 * than the heartbeat's sees none now and then, and makes up for it.
 */
static void npu_tdr_check_heartbeat(struct npu_device *npu, struct npu_tdr_round *round)
{
	u32 heartbeat = READ_ONCE(npu_fw_info(npu)->heartbeat);
	const u64 most = 2ull * NSEC_PER_MSEC * npu_tdr_period_ms(npu);
	ktime_t now = ktime_get();
	u64 still = npu->reset.still_ns +
		    min_t(u64, ktime_to_ns(ktime_sub(now, npu->reset.looked)), most);

	npu->reset.looked = now;
	npu->reset.still_ns = 0;
	if (heartbeat != npu->reset.heartbeat) {
		round->passed_ns = min(still, most);
		round->late_ns = ktime_to_ns(ktime_sub(now, npu->reset.alive)) - round->passed_ns;
		npu->reset.heartbeat = heartbeat;
		npu->reset.alive = now;
	} else if (still > (u64)NPU_TDR_HEARTBEAT_MS * NSEC_PER_MSEC) {
		npu_reset_request(npu, "firmware stands still");
	} else {
		npu->reset.still_ns = still;
	}
}

static void npu_tdr_check_all(struct npu_device *npu)
{
	struct npu_tdr_round round = { .busy = npu_tdr_is_busy(npu) };
	struct npu_queue *queue;

	npu_tdr_check_heartbeat(npu, &round);
	npu_for_each_queue(queue, npu) {
		if (READ_ONCE(npu->reset.pending)) {
			npu_queue_put(queue);
			return;
		}
		npu_tdr_check(queue, &round);
	}
}

void npu_tdr_work(struct work_struct *work)
{
	struct npu_device *npu = container_of(work, struct npu_device, reset.tdr.work);

	npu_hw_irq_process(npu);
	if (!atomic_read(&npu->inflight)) {
		npu->reset.tdr_idle = true;
		npu_pm_idle(npu);
		return;
	}

	/* The heartbeat is only looked at while there are jobs. */
	if (npu->reset.tdr_idle) {
		npu->reset.looked = ktime_get();
		npu->reset.alive = npu->reset.looked;
		npu->reset.still_ns = 0;
	}
	npu->reset.tdr_idle = false;
	down_read(&npu->hw.lock);
	if (npu->hw.online)
		npu_tdr_check_all(npu);
	up_read(&npu->hw.lock);

	npu_tdr_start(npu);
}
