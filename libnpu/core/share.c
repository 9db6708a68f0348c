// SPDX-License-Identifier: MIT
/* Buffers that others use, too: in and out as dma-bufs, and the fences on them. */
#include <errno.h>
#include <unistd.h>
#include "core/dmabuf.h"
#include "core/fence.h"
#include "core/object.h"

int npu_buffer_import(struct npu_device *dev, const struct npu_dmabuf *from,
		      struct npu_buffer **buf, struct npu_error *err)
{
	struct npu_dmabuf part;
	struct npu_buffer *b;
	int ret;

	if (!buf || !from)
		return npu_error_set(err, -EINVAL, "npu_buffer_import: %s is NULL",
				     buf ? "from" : "buf");
	*buf = NULL;
	ret = npu_device_check(dev, err);
	if (!ret)
		ret = npu_struct_read(&part, sizeof(part), from, from->size, "npu_dmabuf", err);
	if (ret)
		return ret;
	b = npu_buffer_new(dev, 0, 0);
	if (!b)
		return npu_error_set(err, -ENOMEM, "no memory for a buffer");
	ret = npu_dmabuf_open(b, &part, err);
	if (!ret)
		ret = dev->ops->buffer_import_dmabuf(b, err);
	if (ret) {
		npu_buffer_free(b);
		return ret;
	}
	*buf = b;
	return 0;
}

int npu_buffer_import_dmabuf(struct npu_device *dev, int fd, struct npu_buffer **buf,
			     struct npu_error *err)
{
	const struct npu_dmabuf whole = { .size = sizeof(whole), .fd = fd };

	return npu_buffer_import(dev, &whole, buf, err);
}

int npu_buffer_export_dmabuf(struct npu_buffer *buf, int *fd, struct npu_error *err)
{
	int ret;

	if (!fd)
		return npu_error_set(err, -EINVAL, "npu_buffer_export_dmabuf: fd is NULL");
	ret = npu_device_check(buf->dev, err);
	if (ret)
		return ret;
	if (buf->dmabuf >= 0)
		return npu_fd_copy(buf->dmabuf, fd, err);
	if (!buf->dev->ops->buffer_export_dmabuf)
		return npu_error_set(err, -ENOTSUP,
				     "device '%s' runs in process, its memory is not a dma-buf",
				     buf->dev->info.uri);
	return buf->dev->ops->buffer_export_dmabuf(buf, fd, err);
}

int npu_buffer_info(struct npu_buffer *buf, struct npu_buffer_info *info, struct npu_error *err)
{
	struct npu_buffer_info out = { .flags = buf->flags, .bytes = buf->size };
	bool bounced = false;
	int ret;

	if (!info)
		return npu_error_set(err, -EINVAL, "npu_buffer_info: info is NULL");
	ret = npu_device_check(buf->dev, err);
	if (!ret && buf->dev->ops->buffer_is_bounced)
		ret = buf->dev->ops->buffer_is_bounced(buf, &bounced, err);
	if (ret)
		return ret;
	out.imported = buf->dmabuf >= 0;
	out.bounced = bounced;
	ret = npu_struct_write(info, info->size, &out, sizeof(out));
	return ret ? npu_error_set(err, ret,
				   "npu_buffer_info: size is %u, set it to sizeof (NPU_INIT)",
				   info->size) :
		     0;
}

/* The buffer as a dma-buf, for a moment: its fences are the same whoever asks. */
static int open_shared(struct npu_buffer *buf, uint32_t access, int *fd, struct npu_error *err)
{
	if (!access || access & ~(NPU_ACCESS_READ | NPU_ACCESS_WRITE))
		return npu_error_set(err, -EINVAL,
				     "access 0x%x, want NPU_ACCESS_READ, NPU_ACCESS_WRITE or both",
				     access);
	if (buf->dev->ops->fence_export)
		return npu_buffer_export_dmabuf(buf, fd, err);
	return npu_error_set(err, -ENOTSUP,
			     "device '%s' runs in process: its jobs have no fences that others could see; npu_buffer_begin_access() waits for theirs",
			     buf->dev->info.uri);
}

int npu_buffer_get_fence(struct npu_buffer *buf, uint32_t access, struct npu_fence **fence,
			 struct npu_error *err)
{
	int dmabuf, file, ret;

	if (!fence)
		return npu_error_set(err, -EINVAL, "npu_buffer_get_fence: fence is NULL");
	*fence = NULL;
	ret = open_shared(buf, access, &dmabuf, err);
	if (ret)
		return ret;
	ret = npu_dmabuf_get_sync_file(dmabuf, access, &file, err);
	close(dmabuf);
	if (ret)
		return ret;
	ret = npu_fence_import(buf->dev, file, fence, err);
	close(file);
	return ret;
}

int npu_buffer_add_fence(struct npu_buffer *buf, uint32_t access, struct npu_fence *fence,
			 struct npu_error *err)
{
	int dmabuf, file, ret;

	ret = open_shared(buf, access, &dmabuf, err);
	if (ret)
		return ret;
	ret = npu_fence_export(fence, &file, err);
	if (!ret && file >= 0) {
		ret = npu_dmabuf_add_sync_file(dmabuf, access, file, err);
		close(file);
	}
	close(dmabuf);
	return ret;
}
