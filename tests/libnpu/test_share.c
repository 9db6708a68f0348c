// SPDX-License-Identifier: MIT
/*
 * Sharing, as far as it goes in process and on a machine without dma-bufs: pollable fences, access
 * of the host's, and refusals. The rest is tested in the guest: tests/guest/test_share.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "npu_share.h"
#include "tap.h"

#define SECONDS(n)	npu_deadline_after((n) * 1000000000ull)

static struct npu_error err;

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 && p.revents == POLLIN;
}

static int count_descriptors(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_pollable(struct npu_queue *queue, struct npu_job *slow)
{
	struct npu_run *run;
	struct npu_fence *fence;
	int before = count_descriptors(), a, b, late, i;

	npu_run_create(slow, &run, &err);
	if (npu_queue_submit(queue, run, NULL, &fence, &err)) {
		tap_ok(0, "%s", err.text);
		return;
	}
	tap_ok(!npu_fence_pollable(fence, &a, &err) && !npu_fence_pollable(fence, &b, &err) &&
	       a != b,
	       "two descriptors of a job that runs");
	tap_ok(!readable(a, 0) && npu_fence_status(fence) == -EINPROGRESS, "are not readable");
	close(b);
	npu_fence_cancel(fence);
	tap_ok(readable(a, 20000) && npu_fence_status(fence) == -ECANCELED, "until it has ended");
	tap_ok(!npu_fence_pollable(fence, &late, &err) && readable(late, 0),
	       "one of a job that has ended is readable at once");
	close(a);
	close(late);
	npu_run_destroy(run);
	npu_fence_put(fence);
	/* The device's thread closes its own behind the write that was seen. */
	for (i = 0; i < 1000 && count_descriptors() != before; i++)
		usleep(1000);
	tap_ok(count_descriptors() == before, "no descriptor is left");
}

static void refused(int ret, int code, const char *word, const char *what)
{
	tap_ok(ret == code && err.code == code && strstr(err.text, word), "%s: %s", what, err.text);
}

static void test_refusals(struct npu_device *dev, struct npu_queue *queue, struct npu_job *tiny)
{
	struct npu_dmabuf from = NPU_INIT(from);
	struct npu_fence *fence = NULL, *none;
	struct npu_buffer *buf = NULL, *got;
	struct npu_run *run;
	int fd;

	from.fd = 0;
	refused(npu_buffer_import(dev, NULL, &got, &err), -EINVAL, "from is NULL", "nothing");
	refused(npu_buffer_import(dev, &from, NULL, &err), -EINVAL, "buf is NULL", "no place");
	refused(npu_buffer_import(dev, &from, &got, &err), -EINVAL, "not a dma-buf", "a file");
	from.size = 2;
	refused(npu_buffer_import(dev, &from, &got, &err), -EINVAL, "npu_dmabuf",
		"size of the struct");
	refused(npu_fence_import(dev, 0, &none, &err), -EINVAL, "not a sync_file",
		"a file as a fence");
	refused(npu_fence_import(dev, 999, &none, &err), -EBADF, "not open", "no file as a fence");
	npu_run_create(tiny, &run, &err);
	npu_run_set_shape(run, "x", 2, (int64_t[]){ 1, 4 }, &err);
	npu_queue_submit(queue, run, NULL, &fence, &err);
	refused(npu_fence_export(fence, &fd, &err), -ENOTSUP, "in process", "a job in process");
	tap_ok(fd == -1 && !npu_fence_wait(fence, SECONDS(20), &err), "it ends");
	refused(npu_fence_export(fence, &fd, &err), -ENOTSUP, "in process", "and then");
	refused(npu_fence_export(fence, NULL, &err), -EINVAL, "NULL", "no place for a descriptor");
	refused(npu_fence_pollable(fence, NULL, &err), -EINVAL, "NULL", "nor for this one");
	npu_buffer_create(dev, 64, 0, &buf, &err);
	refused(npu_buffer_get_fence(buf, NPU_ACCESS_READ, &none, &err), -ENOTSUP, "in process",
		"fences of a buffer");
	refused(npu_buffer_add_fence(buf, NPU_ACCESS_READ, fence, &err), -ENOTSUP, "in process",
		"a fence on a buffer");
	npu_buffer_put(buf);
	npu_fence_put(fence);
	npu_run_destroy(run);
}

static void test_access(struct npu_device *dev)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct npu_buffer_info info = NPU_INIT(info);
	struct npu_buffer *buf, *ro;

	npu_buffer_create(dev, 64, 0, &buf, &err);
	npu_buffer_import_host(dev, page, sizeof(page), NPU_BUFFER_READ_ONLY, NULL, NULL, &ro,
			       &err);
	tap_ok(!npu_buffer_begin_access(buf, NPU_ACCESS_READ | NPU_ACCESS_WRITE, &err) &&
	       !npu_buffer_end_access(buf, NPU_ACCESS_READ | NPU_ACCESS_WRITE, &err),
	       "the host's access to a buffer that is not shared");
	refused(npu_buffer_begin_access(buf, 0, &err), -EINVAL, "access 0x0", "no access");
	refused(npu_buffer_end_access(buf, NPU_ACCESS_SRAM, &err), -EINVAL, "access",
		"another one");
	refused(npu_buffer_begin_access(ro, NPU_ACCESS_WRITE, &err), -EACCES, "read only",
		"writing");
	tap_ok(!npu_buffer_begin_access(ro, NPU_ACCESS_READ, &err), "reading");
	tap_ok(!npu_buffer_info(ro, &info, &err) && info.bytes == 4096 && !info.imported &&
	       !info.bounced && info.flags == NPU_BUFFER_READ_ONLY,
	       "what there is to say of a buffer");
	info.size = 1;
	refused(npu_buffer_info(ro, &info, &err), -EINVAL, "size is 1", "a struct without room");
	refused(npu_buffer_info(ro, NULL, &err), -EINVAL, "NULL", "none");
	npu_buffer_put(ro);
	npu_buffer_put(buf);
}

int main(void)
{
	struct npu_device *dev;
	struct npu_queue *queue;
	struct npu_job *tiny, *slow;
	struct fixture f;

	if (npu_device_open("sim:threads=1", NULL, &dev, &err) ||
	    npu_queue_create(dev, NULL, &queue, &err))
		abort();
	tiny_make(&f);
	tiny = fixture_load(dev, &f, "tiny.npu");
	fixture_free(&f);
	slow_make(&f, 4000);
	slow = fixture_load(dev, &f, "slow.npu");
	fixture_free(&f);
	test_pollable(queue, slow);
	test_refusals(dev, queue, tiny);
	test_access(dev);
	npu_job_unload(tiny);
	npu_job_unload(slow);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
