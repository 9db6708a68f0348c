// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <xf86drm.h>
#include "npu_share.h"
#include "odd/npu_odd.h"
#include "share_fences.h"
#include "share_sources.h"
#include "sum.h"
#include "tap.h"

#define PAGE	4096u
#define SECONDS(n)	npu_deadline_after((n) * 1000000000ull)
#define MOMENT		npu_deadline_after(100000000)

/* As include/uapi/drm/vgem_drm.h has it. */
struct vgem_fence_attach {
	uint32_t handle, flags, out_fence, pad;
};
struct vgem_fence_signal {
	uint32_t fence, flags;
};
#define VGEM_FENCE_WRITE	1
#define VGEM_FENCE_ATTACH	DRM_IOWR(DRM_COMMAND_BASE + 1, struct vgem_fence_attach)
#define VGEM_FENCE_SIGNAL	DRM_IOW(DRM_COMMAND_BASE + 2, struct vgem_fence_signal)

static struct npu_error err;

struct env {
	struct npu_device *dev;
	struct npu_queue *q;
	struct npu_buffer *buf;		/* shared, of the kernel module's */
	int odd, dmabuf;
};

/* A fence of the module's, pending, as one of ours. */
static struct npu_fence *odd_fence(struct env *e)
{
	struct npu_fence *fence = NULL;
	int file = -1;

	if (ioctl(e->odd, NPU_ODD_FENCE, &file))
		abort();
	npu_fence_import(e->dev, file, &fence, &err);
	close(file);
	return fence;
}

static void odd_signal(struct env *e, int error)
{
	if (ioctl(e->odd, NPU_ODD_SIGNAL, &error))
		abort();
}

static struct npu_fence *fill_after(struct env *e, struct npu_queue *q, struct npu_fence *wait)
{
	struct npu_submit_options opt = NPU_INIT(opt);
	struct npu_fence *fence = NULL;

	opt.wait = &wait;
	opt.num_wait = wait ? 1 : 0;
	submit_fill(q, e->buf, 0, PAGE, 1, &opt, &fence, &err);
	return fence;
}

static bool readable(int fd, short events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, ms) == 1;
}

/* A job waits for a fence of the kernel's, and so does the host. */
static void test_import(struct env *e)
{
	struct npu_fence *odd = odd_fence(e), *job;
	int fd;

	if (!tap_ok(odd != NULL, "a sync_file is imported"))
		return;
	tap_ok(npu_fence_status(odd) == -EINPROGRESS &&
	       npu_fence_wait(odd, MOMENT, &err) == -ETIMEDOUT, "it is pending: %s", err.text);
	job = fill_after(e, e->q, odd);
	tap_ok(job && npu_fence_wait(job, MOMENT, &err) == -ETIMEDOUT, "a job waits for it: %s", err.text);
	tap_ok(!npu_fence_pollable(job, &fd, &err) && !readable(fd, POLLIN, 0),
	       "its descriptor is not readable");
	odd_signal(e, 0);
	tap_ok(readable(fd, POLLIN, 20000) && npu_fence_status(job) == 0,
	       "until the fence signals and the job has ended");
	tap_ok(!npu_fence_wait(odd, 0, &err) && !npu_fence_status(odd), "the host sees the fence, too");
	close(fd);
	npu_fence_put(odd);
	npu_fence_put(job);
}

static void test_failed(struct env *e)
{
	struct npu_fence *odd = odd_fence(e), *job = fill_after(e, e->q, odd);
	int fd;

	odd_signal(e, -EILSEQ);
	tap_ok(npu_fence_wait(job, SECONDS(20), &err) == -ECANCELED, "a fence that fails fails the job: %s",
	       err.text);
	tap_ok(npu_fence_wait(odd, 0, &err) == -EILSEQ, "and has its error: %s", err.text);
	tap_ok(npu_fence_export(job, &fd, &err) < 0 && fd == -1, "a failed job has no sync_file: %s",
	       err.text);
	npu_fence_put(odd);
	npu_fence_put(job);
	job = fill_after(e, e->q, NULL);
	tap_ok(job && !npu_fence_wait(job, SECONDS(20), &err), "the queue goes on");
	npu_fence_put(job);
}

/* A fence that does not signal: deadlines pass, and a cancel is no reason to wait. */
static void test_never(struct env *e)
{
	struct npu_fence *odd = odd_fence(e), *job = fill_after(e, e->q, odd), *dropped;

	npu_fence_cancel(job);
	npu_fence_wait(job, MOMENT, &err);
	odd_signal(e, 0);
	tap_ok(npu_fence_wait(job, SECONDS(20), &err) == -ECANCELED, "a job that waits is cancelled: %s",
	       err.text);
	npu_fence_put(job);
	npu_fence_put(odd);
	/* Nobody waits any more: nothing keeps it. */
	dropped = odd_fence(e);
	npu_fence_put(dropped);
	odd_signal(e, 0);
}

/* A buffer's fences: a job waits for another user's, and others wait for the job's. */
static void test_buffer(struct env *e)
{
	struct npu_fence *theirs = odd_fence(e), *ready = NULL, *gate, *job;
	int file;

	tap_ok(!npu_buffer_get_fence(e->buf, NPU_ACCESS_WRITE, &ready, &err) &&
	       npu_fence_wait(ready, 0, &err) == 0, "nobody uses the buffer");
	npu_fence_put(ready);
	tap_ok(!npu_buffer_add_fence(e->buf, NPU_ACCESS_READ, theirs, &err) &&
	       !npu_buffer_get_fence(e->buf, NPU_ACCESS_READ, &ready, &err) &&
	       npu_fence_wait(ready, 0, &err) == 0, "a reader does not wait for a reader");
	npu_fence_put(ready);
	tap_ok(!npu_buffer_get_fence(e->buf, NPU_ACCESS_WRITE, &ready, &err) &&
	       npu_fence_status(ready) == -EINPROGRESS, "a writer does");
	job = fill_after(e, e->q, ready);
	tap_ok(npu_fence_wait(job, MOMENT, &err) == -ETIMEDOUT, "as a job");
	odd_signal(e, 0);
	tap_ok(!npu_fence_wait(job, SECONDS(20), &err), "until that one is done");
	npu_fence_put(job);
	npu_fence_put(ready);
	npu_fence_put(theirs);

	gate = odd_fence(e);
	job = fill_after(e, e->q, gate);
	tap_ok(readable(e->dmabuf, POLLOUT, 0), "libnpu puts no fence on a buffer by itself");
	tap_ok(!npu_buffer_add_fence(e->buf, NPU_ACCESS_WRITE, job, &err), "a job's fence is put on it");
	tap_ok(!readable(e->dmabuf, POLLIN, 100), "poll() on the dma-buf waits for the job");
	tap_ok(!npu_fence_export(job, &file, &err) && file >= 0 && !readable(file, POLLIN, 0),
	       "and its sync_file does");
	odd_signal(e, 0);
	tap_ok(readable(e->dmabuf, POLLIN, 20000) && readable(file, POLLIN, 20000), "until it has ended");
	npu_fence_wait(job, SECONDS(20), &err);
	close(file);
	tap_ok(!npu_fence_export(job, &file, &err) && file == -1, "which needs no sync_file any more");
	npu_fence_put(job);
	npu_fence_put(gate);
}

/* vgem stands for another driver that puts its fences on its buffers by itself. */
static void test_vgem(struct env *e)
{
	struct vgem_fence_attach attach = { .flags = VGEM_FENCE_WRITE };
	struct vgem_fence_signal signal = { 0 };
	struct npu_fence *ready = NULL, *job = NULL;
	struct npu_buffer *buf, *mine = e->buf;
	int card, fd = vgem_alloc(16 * PAGE, &card, &attach.handle);

	if (fd < 0) {
		tap_skip("fences of vgem", strerror(-fd));
		return;
	}
	if (drmIoctl(card, VGEM_FENCE_ATTACH, &attach) ||
	    npu_buffer_import_dmabuf(e->dev, fd, &buf, &err)) {
		tap_ok(0, "vgem: %s %s", strerror(errno), err.text);
		return;
	}
	tap_ok(!npu_buffer_get_fence(buf, NPU_ACCESS_READ, &ready, &err) &&
	       npu_fence_status(ready) == -EINPROGRESS, "vgem writes to its buffer");
	e->buf = buf;
	job = fill_after(e, e->q, ready);
	tap_ok(npu_fence_wait(job, MOMENT, &err) == -ETIMEDOUT, "a job waits for vgem");
	signal.fence = attach.out_fence;
	tap_ok(!drmIoctl(card, VGEM_FENCE_SIGNAL, &signal) &&
		       !npu_fence_wait(job, SECONDS(20), &err),
	       "until it is done");
	npu_fence_put(ready);
	npu_fence_put(job);
	npu_buffer_put(buf);
	e->buf = mine;
	close(fd);
	close(card);
}

/* In process the host waits, in a thread or where it begins its access. */
static void test_in_process(struct env *e)
{
	struct npu_fence *odd = odd_fence(e), *job = fill_after(e, e->q, odd), *none;
	int fd;

	tap_ok(npu_fence_wait(job, MOMENT, &err) == -ETIMEDOUT, "in process, a job waits for a sync_file");
	tap_ok(npu_fence_export(job, &fd, &err) == -ENOTSUP && strstr(err.text, "in process"),
	       "it can not be one: %s", err.text);
	odd_signal(e, 0);
	tap_ok(!npu_fence_wait(job, SECONDS(20), &err), "until that signals");
	tap_ok(npu_buffer_get_fence(e->buf, NPU_ACCESS_READ, &none, &err) == -ENOTSUP, "%s",
	       err.text);
	npu_fence_put(job);
	npu_fence_put(odd);
	odd = odd_fence(e);
	job = fill_after(e, e->q, odd);
	npu_fence_cancel(job);
	tap_ok(npu_fence_wait(job, SECONDS(20), &err) == -ECANCELED,
	       "one that waits for a fence that never signals is cancelled: %s", err.text);
	npu_fence_put(job);
	npu_fence_put(odd);
	odd_signal(e, 0);
}

static void test_bad_fences(struct env *e)
{
	struct npu_fence *fence = (struct npu_fence *)e;

	tap_ok(npu_fence_import(e->dev, -1, &fence, &err) == -EBADF && !fence, "no fence: %s", err.text);
	tap_ok(npu_fence_import(e->dev, e->dmabuf, &fence, &err) == -EINVAL && strstr(err.text, "sync_file"),
	       "a dma-buf is no fence: %s", err.text);
}

void test_fences(struct npu_device *dev, bool in_process)
{
	struct env e = { .dev = dev,
			 .odd = odd_open(),
			 .dmabuf = odd_alloc(NPU_ODD_NOTHING, 4, 2) };
	struct npu_odd_count n = { 0 };
	int i;

	if (npu_queue_create(dev, NULL, &e.q, &err) ||
	    npu_buffer_import_dmabuf(dev, e.dmabuf, &e.buf, &err)) {
		tap_ok(0, "%s", err.text);
		return;
	}
	test_bad_fences(&e);
	test_import(&e);
	test_failed(&e);
	if (in_process) {
		test_in_process(&e);
	} else {
		test_never(&e);
		test_buffer(&e);
		test_vgem(&e);
	}
	npu_buffer_put(e.buf);
	npu_queue_destroy(e.q);
	close(e.dmabuf);
	/* The end of a queue drops its last references behind its fences. */
	for (i = 0; i < 100; i++) {
		if (ioctl(e.odd, NPU_ODD_COUNT, &n) || (!n.fences && !n.bufs && !n.mappings))
			break;
		usleep(20000);
	}
	tap_ok(!n.fences && !n.bufs && !n.attachments && !n.mappings && !n.pins,
	       "nothing is left: %u fences, %u buffers, %u importers, %u mappings", n.fences, n.bufs,
	       n.attachments, n.mappings);
	close(e.odd);
}
