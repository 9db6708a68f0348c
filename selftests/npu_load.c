// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "npu_dev.h"
#include "npu_load.h"
#include "npu_test.h"

#define BATCH		4u			/* jobs in flight, each with data of its own */
#define JOB_BYTES	(32 * NPU_PAGE)
#define JOB_TIMES	16u			/* so that many jobs are hit while they run */
#define OUT_OFFSET	(BATCH * JOB_BYTES)
#define FENCE_MS	40000			/* a hang takes 2 s, and the host is busy */

struct npu_load_shared {
	bool stop;
	struct npu_load_count count[NPU_LOAD_MAX];
};

/* A process and the device as it has it open. */
struct worker {
	struct npu_load *load;
	struct npu_load_count *count;
	struct npu_dev dev;
	struct npu_buf data;
	uint32_t sync[BATCH];
	int fence[BATCH];
	uint32_t seed;
};

/* Memory of a device that has gone answers with SIGBUS where it had not been touched. */
static sigjmp_buf bus_error;

static void on_bus_error(int signal)
{
	siglongjmp(bus_error, signal);
}

static uint32_t word_of(uint32_t seed, size_t i)
{
	uint32_t x = (seed + (uint32_t)i) * 2654435761u;

	return x ^ x >> 15;
}

void npu_load_fill(uint8_t *data, size_t size, uint32_t seed)
{
	uint32_t *words = (uint32_t *)data;
	size_t i;

	for (i = 0; i < size / 4; i++)
		words[i] = word_of(seed, i);
}

bool npu_load_same(const uint8_t *data, size_t size, uint32_t seed)
{
	const uint32_t *words = (const uint32_t *)data;
	size_t i;

	for (i = 0; i < size / 4 && words[i] == word_of(seed, i); i++)
		;
	return i == size / 4;
}

static bool stopping(struct worker *w)
{
	return __atomic_load_n(&w->load->shared->stop, __ATOMIC_RELAXED);
}

/* @value: the error, or whatever says more of it. */
static int bad(struct worker *w, const char *what, int value)
{
	if (!w->count->bad)
		snprintf(w->count->why, sizeof(w->count->why), "%s (%d)", what, value);
	__atomic_add_fetch(&w->count->bad, 1, __ATOMIC_RELEASE);
	return -EIO;
}

/* What a call returned: 0 goes on, -ENODEV is due when the device may go, all else is bad. */
static int judge(struct worker *w, const char *what, int ret)
{
	if (!ret)
		return 0;
	if (ret == -ENODEV && w->load->may & NPU_LOAD_MAY_GO)
		return ret;
	return bad(w, what, ret);
}

static int open_session(struct worker *w)
{
	unsigned int i;
	int ret;

	ret = npu_buf_create(w->dev.fd, 2 * OUT_OFFSET, 0, 0, &w->data);
	if (!ret)
		ret = npu_bind(w->dev.fd, w->dev.vm, w->data.handle, 0, NPU_VA_IN, w->data.size, 0);
	for (i = 0; i < BATCH && !ret; i++)
		ret = npu_syncobj_create(w->dev.fd, &w->sync[i]);
	return judge(w, "buffers", ret);
}

static void close_session(struct worker *w)
{
	npu_buf_destroy(w->dev.fd, &w->data);
	npu_dev_close(&w->dev);
}

static void prepare(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		npu_load_fill(w->data.cpu + i * JOB_BYTES, JOB_BYTES, w->seed + i);
	memset(w->data.cpu + OUT_OFFSET, 0, OUT_OFFSET);
}

static int submit(struct worker *w, unsigned int i)
{
	struct npu_copy copy = {
		.in = NPU_VA_IN + i * JOB_BYTES, .out = NPU_VA_IN + OUT_OFFSET + i * JOB_BYTES,
		.size = JOB_BYTES, .times = JOB_TIMES, .slot = i,
	};
	int ret = npu_copy_submit(&w->dev, &copy, w->sync[i], NULL);

	/* A file of the fence's own tells its end when the device can not be asked any more. */
	if (!ret)
		ret = npu_syncobj_fence(w->dev.fd, w->sync[i], &w->fence[i]);
	return judge(w, "submit", ret);
}

/* Behind a job that hung all others are canceled, and there is no use for the queue any more. */
#define STATE_HUNG	(DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_TIMEDOUT)

/* A job that was lost is to be known as innocent, unless one of its queue hung. */
static int lost(struct worker *w)
{
	struct drm_npu_queue_get_state state;
	int ret = npu_queue_state(w->dev.fd, w->dev.queue, &state);

	if (ret)
		return judge(w, "state of the queue", ret);
	if (w->load->may & NPU_LOAD_MAY_HANG && (state.state & STATE_HUNG) == STATE_HUNG)
		return -ETIME;
	if (state.state != DRM_NPU_QUEUE_STATE_INNOCENT)
		return bad(w, "a job was canceled though the queue is in this state", state.state);
	w->count->innocent++;
	return 0;
}

static int finish(struct worker *w, unsigned int i)
{
	struct pollfd poll_fd = { .fd = w->fence[i], .events = POLLIN };
	int status;

	if (poll(&poll_fd, 1, FENCE_MS) != 1)
		return bad(w, "a fence did not signal in so many ms", FENCE_MS);
	status = npu_fence_status(w->fence[i]);
	if (status == -ECANCELED)
		return lost(w);
	if (status == -ETIME && w->load->may & NPU_LOAD_MAY_HANG) {
		w->count->hung++;
		return -ETIME;
	}
	if (status != 1)
		return judge(w, "a job", status ? status : -EINPROGRESS);
	if (!npu_load_same(w->data.cpu + OUT_OFFSET + i * JOB_BYTES, JOB_BYTES, w->seed + i))
		return bad(w, "this job of a batch wrote wrong data", i);
	__atomic_add_fetch(&w->count->good, 1, __ATOMIC_RELEASE);
	return 0;
}

/* Address space and queues change, too. */
static int change(struct worker *w)
{
	uint32_t queue;
	int ret;

	ret = npu_unbind(w->dev.fd, w->dev.vm, NPU_VA_IN, w->data.size);
	if (!ret)
		ret = npu_bind(w->dev.fd, w->dev.vm, w->data.handle, 0, NPU_VA_IN, w->data.size, 0);
	if (!ret)
		ret = npu_queue_create(w->dev.fd, w->dev.vm, DRM_NPU_PRIORITY_LOW, 0, &queue);
	if (!ret)
		ret = npu_queue_destroy(w->dev.fd, queue);
	return judge(w, "address space or another queue", ret);
}

static int run_batch(struct worker *w)
{
	unsigned int i, submitted;
	int ret = 0, end;

	prepare(w);
	for (submitted = 0; submitted < BATCH && !ret; submitted += !ret)
		ret = submit(w, submitted);
	for (i = 0; i < submitted; i++) {
		end = finish(w, i);
		ret = ret ? ret : end;
		close(w->fence[i]);
	}
	w->seed += BATCH;
	return ret || w->seed / BATCH % 8 ? ret : change(w);
}

/* From open to close. */
static int session(struct worker *w)
{
	int ret = npu_dev_open(&w->dev);

	if (ret)
		return judge(w, "open", ret);
	w->count->opened++;
	ret = open_session(w);
	if (sigsetjmp(bus_error, 1))
		ret = judge(w, "SIGBUS", -ENODEV);
	while (!ret && !stopping(w))
		ret = run_batch(w);
	close_session(w);
	return ret;
}

static void work(struct npu_load *load, unsigned int id)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGBUS, on_bus_error);
	w->load = load;
	w->count = &load->shared->count[id];
	w->seed = id << 24;
	while (!stopping(w) && !w->count->bad) {
		if (session(w) == -ENODEV) {
			w->count->gone++;
			usleep(20000);
		}
	}
	_exit(0);
}

int npu_load_start(struct npu_load *load, unsigned int num, unsigned int may)
{
	unsigned int i;

	memset(load, 0, sizeof(*load));
	load->may = may;
	load->shared = mmap(NULL, sizeof(*load->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (load->shared == MAP_FAILED)
		return -errno;
	fflush(NULL);
	for (i = 0; i < num && i < NPU_LOAD_MAX; i++) {
		load->pid[i] = fork();
		if (!load->pid[i])
			work(load, i);
		if (load->pid[i] < 0) {
			npu_load_stop(load, NULL);
			return -EAGAIN;
		}
		load->num++;
	}
	return 0;
}

int npu_load_progress(struct npu_load *load, unsigned int jobs, bool reopened, double seconds)
{
	const struct npu_load_count *count = load->shared->count;
	uint64_t end = npu_now_ns() + seconds * 1e9, good[NPU_LOAD_MAX];
	unsigned int i;

	for (i = 0; i < load->num; i++)
		good[i] = count[i].good;
	for (i = 0; i < load->num; usleep(2000)) {
		if (__atomic_load_n(&count[i].bad, __ATOMIC_ACQUIRE))
			return -EIO;
		if (npu_now_ns() > end)
			return -ETIMEDOUT;
		i += __atomic_load_n(&count[i].good, __ATOMIC_ACQUIRE) >= good[i] + jobs &&
		     (!reopened || count[i].opened > load->opened[i]);
	}
	for (i = 0; i < load->num; i++)
		load->opened[i] = count[i].opened;
	return 0;
}

static void add_count(struct npu_load_count *sum, const struct npu_load_count *count)
{
	sum->good += count->good;
	sum->innocent += count->innocent;
	sum->gone += count->gone;
	sum->hung += count->hung;
	sum->opened += count->opened;
	if (count->bad && !sum->bad)
		memcpy(sum->why, count->why, sizeof(sum->why));
	sum->bad += count->bad;
}

void npu_load_stop(struct npu_load *load, struct npu_load_count *sum)
{
	unsigned int i;
	int status;

	__atomic_store_n(&load->shared->stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < load->num; i++) {
		waitpid(load->pid[i], &status, 0);
		if (!sum)
			continue;
		add_count(sum, &load->shared->count[i]);
		if (status && !sum->bad++)
			snprintf(sum->why, sizeof(sum->why), "a process ended with %#x", status);
	}
	munmap(load->shared, sizeof(*load->shared));
	load->num = 0;
}
