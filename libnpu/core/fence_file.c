// SPDX-License-Identifier: MIT
/*
 * Fences as descriptors: sync_files of the kernel's in both directions, and what event loops poll.
 * A fence that came from a sync_file signals when somebody looks; only where a callback has to be
 * made is there a thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "core/fence.h"
#include "npu_share.h"

/* As many fences as may be joined in a file and still be told apart; see file_status(). */
#define MAX_JOINED	64

/* From a poll() that failed to the next. */
#define AGAIN_MS	2

int npu_fd_copy(int fd, int *copy, struct npu_error *err)
{
	*copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return *copy >= 0 ? 0 : npu_error_set(err, -errno, "another descriptor: %s",
					      strerror(errno));
}

/* ---- from the kernel ------------------------------------------------------------------------ */

/*
 * 0, or the error of the first fence in the file that failed. The kernel tells it only to those who
 * ask for each of the fences.
 */
static int file_status(int fd)
{
	struct sync_fence_info fences[MAX_JOINED] = { 0 };
	struct sync_file_info info = {
		.num_fences = MAX_JOINED,
		.sync_fence_info = (uintptr_t)fences,
	};
	uint32_t i;

	if (ioctl(fd, SYNC_IOC_FILE_INFO, &info)) {
		/* More than there is room for. */
		info = (struct sync_file_info){ 0 };
		if (ioctl(fd, SYNC_IOC_FILE_INFO, &info))
			return -errno;
	}
	for (i = 0; i < info.num_fences && i < MAX_JOINED; i++)
		if (fences[i].status < 0)
			return fences[i].status;
	return info.status < 0 ? info.status : 0;
}

/* The file has signalled: the first who sees it tells the others. */
static void signal_file(struct npu_fence *fence)
{
	struct npu_error err = { .text = "" };
	bool first;
	int status;

	pthread_mutex_lock(&fence->lock);
	first = !fence->claimed;
	fence->claimed = true;
	while (!first && !atomic_load(&fence->signalled))
		pthread_cond_wait(&fence->cond, &fence->lock);
	pthread_mutex_unlock(&fence->lock);
	if (!first)
		return;
	status = file_status(fence->file);
	if (status)
		npu_error_set(&err, status, "an imported fence failed: %s", strerror(-status));
	npu_fence_signal(fence, status, NULL, err.text);
}

/* Milliseconds for poll() to @deadline, rounded up. */
static int poll_time(uint64_t deadline)
{
	uint64_t now = npu_now(), ms;

	if (deadline == NPU_FOREVER)
		return -1;
	ms = deadline > now ? (deadline - now + 999999) / 1000000 : 0;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* As poll(). That it fails, for want of memory, says nothing of the fence: then a moment passes. */
static int poll_patiently(struct pollfd *p, nfds_t num, int ms)
{
	int n = poll(p, num, ms);

	if (n < 0 && errno != EINTR)
		poll(NULL, 0, ms < 0 || ms > AGAIN_MS ? AGAIN_MS : ms);
	return n;
}

void npu_fence_file_wait(struct npu_fence *fence, uint64_t deadline)
{
	struct pollfd p = { .fd = fence->file, .events = POLLIN };
	int n, ms;

	do {
		ms = poll_time(deadline);
		n = poll_patiently(&p, 1, ms);
	} while ((n < 0 && (ms || errno == EINTR)) || (!n && ms == INT_MAX));
	if (n > 0)
		signal_file(fence);
}

/* Whether the thread ends: nobody has a callback. */
static bool is_idle(struct npu_fence *fence)
{
	eventfd_t count;
	bool idle;

	pthread_mutex_lock(&fence->lock);
	eventfd_read(fence->wake, &count);
	idle = !fence->callbacks;
	if (idle)
		fence->watched = false;
	pthread_mutex_unlock(&fence->lock);
	return idle;
}

static void *watch(void *arg)
{
	struct npu_fence *fence = arg;
	struct pollfd p[2] = {
		{ .fd = fence->file, .events = POLLIN },
		{ .fd = fence->wake, .events = POLLIN },
	};

	do {
		if (poll_patiently(p, 2, -1) > 0 && p[0].revents) {
			signal_file(fence);
			break;
		}
	} while (!is_idle(fence));
	npu_fence_put(fence);
	return NULL;
}

bool npu_fence_file_watch(struct npu_fence *fence)
{
	sigset_t all, old;
	pthread_t thread;

	if (fence->watched)
		return true;
	if (fence->wake < 0)
		fence->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fence->wake < 0)
		return false;
	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	npu_fence_get(fence);
	fence->watched = !pthread_create(&thread, NULL, watch, fence);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (fence->watched)
		pthread_detach(thread);
	else
		/* Not the last one: the caller has one. */
		npu_fence_put(fence);
	return fence->watched;
}

void npu_fence_file_unwatch(struct npu_fence *fence)
{
	if (fence->watched && !fence->callbacks)
		eventfd_write(fence->wake, 1);
}

int npu_fence_import(struct npu_device *dev, int fd, struct npu_fence **fence,
		     struct npu_error *err)
{
	struct sync_file_info info = { 0 };
	struct npu_fence *f;
	int ret;

	if (!fence)
		return npu_error_set(err, -EINVAL, "npu_fence_import: fence is NULL");
	*fence = NULL;
	ret = npu_device_check(dev, err);
	if (ret)
		return ret;
	if (fcntl(fd, F_GETFD) < 0)
		return npu_error_set(err, -EBADF, "descriptor %d is not open", fd);
	if (ioctl(fd, SYNC_IOC_FILE_INFO, &info))
		return npu_error_set(err, -EINVAL, "descriptor %d is not a sync_file", fd);
	f = npu_fence_create(dev);
	if (!f)
		return npu_error_set(err, -ENOMEM, "no memory for a fence");
	ret = npu_fd_copy(fd, &f->file, err);
	if (ret) {
		npu_fence_put(f);
		return ret;
	}
	*fence = f;
	return 0;
}

/* ---- to others ------------------------------------------------------------------------------ */

int npu_fence_export(struct npu_fence *fence, int *fd, struct npu_error *err)
{
	struct npu_queue *queue;
	int ret = 0;

	if (!fd)
		return npu_error_set(err, -EINVAL, "npu_fence_export: fd is NULL");
	*fd = -1;
	if (fence->pid != npu_process())
		return npu_error_set(err, -ENODEV, "the fence is of process %ld, before fork()",
				     (long)fence->pid);
	if (fence->file >= 0)
		return npu_fd_copy(fence->file, fd, err);
	if (!fence->kernel || fence->soft)
		return npu_error_set(
			err, -ENOTSUP, "%s",
			fence->kernel ?
				"the job has host steps, or comes behind one that has: only libnpu knows when it ends" :
				"the job runs in process: only libnpu knows when it ends");
	queue = npu_fence_get_queue(fence);
	if (queue) {
		ret = queue->dev->ops->fence_export(queue, fence, fd, err);
		npu_queue_put(queue);
	}
	/* It has ended, and says so in a moment at the latest. */
	return ret || *fd >= 0 ? ret : npu_fence_wait(fence, NPU_FOREVER, err);
}

struct poll_cb {
	struct npu_fence_cb cb;
	int fd;
};

static void poll_callback(struct npu_fence_cb *cb, struct npu_fence *fence)
{
	struct poll_cb *p = (struct poll_cb *)((char *)cb - offsetof(struct poll_cb, cb));

	eventfd_write(p->fd, 1);
	close(p->fd);
	free(p);
}

int npu_fence_pollable(struct npu_fence *fence, int *fd, struct npu_error *err)
{
	struct poll_cb *p;
	int ret;

	if (!fd)
		return npu_error_set(err, -EINVAL, "npu_fence_pollable: fd is NULL");
	*fd = -1;
	if (fence->pid != npu_process() && !atomic_load(&fence->signalled))
		return npu_error_set(err, -ENODEV, "the fence is of process %ld, before fork()",
				     (long)fence->pid);
	if (fence->file >= 0)
		return npu_fd_copy(fence->file, fd, err);
	p = malloc(sizeof(*p));
	if (!p)
		return npu_error_set(err, -ENOMEM, "no memory for a fence");
	*p = (struct poll_cb){ .cb.fn = poll_callback };
	*fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (*fd < 0) {
		ret = npu_error_set(err, -errno, "an eventfd: %s", strerror(errno));
		goto err_free;
	}
	ret = npu_fd_copy(*fd, &p->fd, err);
	if (ret) {
		close(*fd);
		*fd = -1;
		goto err_free;
	}
	if (!npu_fence_add_cb(fence, &p->cb))
		poll_callback(&p->cb, fence);
	return 0;

err_free:
	free(p);
	return ret;
}
