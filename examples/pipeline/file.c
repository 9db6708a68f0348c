// SPDX-License-Identifier: MIT
/*
 * Frames of a file, in memory before the first is needed, as those of a camera would be: the NPU's
 * own, or of a dma-buf heap, from which the NPU imports it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "pipeline.h"

/* A dma-buf of @bytes or more in *@fd. */
static int heap_allocate(struct pipeline *p, size_t bytes, int *fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct dma_heap_allocation_data args = {
		.len = (bytes + page - 1) / page * page, .fd_flags = O_RDWR | O_CLOEXEC,
	};
	char path[128];
	int heap, ret;

	snprintf(path, sizeof(path), "/dev/dma_heap/%s", p->opt->heap);
	heap = open(path, O_RDWR | O_CLOEXEC);
	if (heap < 0)
		return fail(&p->err, -errno, "%s: %s", path, strerror(errno));
	ret = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &args) ? -errno : 0;
	close(heap);
	if (ret)
		return fail(&p->err, ret, "%s: %zu bytes: %s", path, bytes, strerror(-ret));
	*fd = (int)args.fd;
	return 0;
}

static int make_buffer(struct pipeline *p, size_t bytes, struct npu_buffer **buf)
{
	struct npu_dmabuf from = NPU_INIT(from);
	int ret;

	if (!p->opt->heap)
		return npu_buffer_create(p->dev, bytes, 0, buf, &p->err);
	ret = heap_allocate(p, bytes, &from.fd);
	if (ret)
		return ret;
	ret = npu_buffer_import(p->dev, &from, buf, &p->err);
	close(from.fd);
	return ret;
}

/* All of the file; *@frames of @bytes each. */
static void *read_frames(struct pipeline *p, size_t bytes, size_t *frames)
{
	const char *path = p->opt->file;
	FILE *f = fopen(path, "rb");
	char *data = malloc(bytes * MAX_SLOTS + 1);
	size_t size;

	if (!f || !data) {
		fail(&p->err, -errno, "%s: %s", path, strerror(errno));
	} else {
		size = fread(data, 1, bytes * MAX_SLOTS + 1, f);
		*frames = size / bytes;
		if (size && size % bytes == 0 && *frames <= MAX_SLOTS) {
			fclose(f);
			return data;
		}
		fail(&p->err, -EINVAL,
		     "%s: %zu bytes; a frame %s has %zu, and at most %d of them are taken", path,
		     size, p->image.spec, bytes, MAX_SLOTS);
	}
	if (f)
		fclose(f);
	free(data);
	return NULL;
}

/* A slot for each frame, and as many more, with the same ones, as are in flight. */
static int file_open(struct pipeline *p)
{
	struct npu_plane_info plane = NPU_INIT(plane);
	size_t bytes = p->image.bytes, frames = 0;
	char *data;
	int ret = 0;

	npu_job_plane(p->job[DETECT], 0, 0, 0, &plane);
	p->stride = plane.stride;
	data = read_frames(p, bytes, &frames);
	if (!data)
		return p->err.code;
	for (; !ret && (p->num_slots < frames || p->num_slots < p->opt->flight); p->num_slots++) {
		struct npu_buffer **buf = &p->slot[p->num_slots].frame;

		ret = make_buffer(p, bytes, buf);
		if (!ret)
			ret = npu_buffer_write(*buf, 0, data + p->num_slots % frames * bytes, bytes,
					       &p->err);
	}
	free(data);
	return ret;
}

/* One after the other: the oldest in flight is always the next that comes back. */
static int file_take(struct pipeline *p, unsigned int *slot)
{
	*slot = p->taken % p->num_slots;
	return 0;
}

static int file_give(struct pipeline *p, unsigned int slot)
{
	(void)p;
	(void)slot;
	return 0;
}

static int file_fd(const struct pipeline *p)
{
	(void)p;
	return -1;
}

static void file_close(struct pipeline *p)
{
	(void)p;
}

const struct source file_source = {
	.open = file_open, .take = file_take, .give = file_give, .fd = file_fd, .close = file_close,
};
