// SPDX-License-Identifier: MIT
/* Memory that host and device share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/object.h"

static struct npu_buffer *new_buffer(struct npu_device *dev, uint64_t size, uint32_t flags)
{
	struct npu_buffer *buf = calloc(1, sizeof(*buf));

	if (!buf)
		return NULL;
	atomic_init(&buf->refs, 1);
	buf->dev = npu_device_get(dev);
	buf->size = size;
	buf->flags = flags;
	return buf;
}

static void drop_buffer(struct npu_buffer *buf)
{
	npu_device_put(buf->dev);
	free(buf);
}

static int check_size(const struct npu_device *dev, uint64_t size, struct npu_error *err)
{
	if (!size)
		return npu_error_set(err, -EINVAL, "a buffer of 0 bytes");
	if (size > dev->info.max_buffer)
		return npu_error_set(err, -E2BIG,
				     "a buffer of %llu bytes, device '%s' takes at most %llu",
				     (unsigned long long)size, dev->info.uri,
				     (unsigned long long)dev->info.max_buffer);
	return 0;
}

int npu_buffer_create(struct npu_device *dev, uint64_t size, uint32_t flags,
		      struct npu_buffer **buf, struct npu_error *err)
{
	struct npu_buffer *b;
	int ret;

	if (!buf)
		return npu_error_set(err, -EINVAL, "npu_buffer_create: buf is NULL");
	*buf = NULL;
	if (flags)
		return npu_error_set(err, -EINVAL, "npu_buffer_create: flags 0x%x are not known",
				     flags);
	ret = npu_device_check(dev, err);
	if (!ret)
		ret = check_size(dev, size, err);
	if (ret)
		return ret;
	b = new_buffer(dev, size, flags);
	if (!b)
		return npu_error_set(err, -ENOMEM, "no memory for a buffer");
	ret = dev->ops->buffer_create(b, err);
	if (ret) {
		drop_buffer(b);
		return ret;
	}
	*buf = b;
	return 0;
}

int npu_buffer_import_host(struct npu_device *dev, void *ptr, uint64_t size, uint32_t flags,
			   void (*release)(void *ctx), void *ctx, struct npu_buffer **buf,
			   struct npu_error *err)
{
	struct npu_buffer *b;
	int ret;

	if (!buf || !ptr)
		return npu_error_set(err, -EINVAL, "npu_buffer_import_host: %s is NULL",
				     buf ? "ptr" : "buf");
	*buf = NULL;
	if (flags & ~NPU_BUFFER_READ_ONLY)
		return npu_error_set(err, -EINVAL,
				     "npu_buffer_import_host: flags 0x%x are not known", flags);
	ret = npu_device_check(dev, err);
	if (!ret)
		ret = check_size(dev, size, err);
	if (ret)
		return ret;
	if ((uintptr_t)ptr % dev->info.buffer_align)
		return npu_error_set(
			err, -EINVAL,
			"imported memory begins at %p, device '%s' needs a multiple of %u", ptr,
			dev->info.uri, dev->info.buffer_align);
	b = new_buffer(dev, size, flags);
	if (!b)
		return npu_error_set(err, -ENOMEM, "no memory for a buffer");
	b->map = ptr;
	ret = dev->ops->buffer_import_host(b, err);
	if (ret) {
		drop_buffer(b);
		return ret;
	}
	b->release = release;
	b->release_ctx = ctx;
	*buf = b;
	return 0;
}

int npu_buffer_import_dmabuf(struct npu_device *dev, int fd, struct npu_buffer **buf,
			     struct npu_error *err)
{
	struct npu_buffer *b;
	int ret;

	if (!buf)
		return npu_error_set(err, -EINVAL, "npu_buffer_import_dmabuf: buf is NULL");
	*buf = NULL;
	ret = npu_device_check(dev, err);
	if (ret)
		return ret;
	if (!dev->ops->buffer_import_dmabuf)
		return npu_error_set(
			err, -ENOTSUP,
			"device '%s' runs in process and can not import a dma-buf; map it and use npu_buffer_import_host()",
			dev->info.uri);
	b = new_buffer(dev, 0, 0);
	if (!b)
		return npu_error_set(err, -ENOMEM, "no memory for a buffer");
	ret = dev->ops->buffer_import_dmabuf(b, fd, err);
	if (ret) {
		drop_buffer(b);
		return ret;
	}
	*buf = b;
	return 0;
}

int npu_buffer_export_dmabuf(struct npu_buffer *buf, int *fd, struct npu_error *err)
{
	int ret;

	if (!fd)
		return npu_error_set(err, -EINVAL, "npu_buffer_export_dmabuf: fd is NULL");
	ret = npu_device_check(buf->dev, err);
	if (ret)
		return ret;
	if (!buf->dev->ops->buffer_export_dmabuf)
		return npu_error_set(err, -ENOTSUP,
				     "device '%s' runs in process, its memory is not a dma-buf",
				     buf->dev->info.uri);
	return buf->dev->ops->buffer_export_dmabuf(buf, fd, err);
}

struct npu_buffer *npu_buffer_get(struct npu_buffer *buf)
{
	npu_ref_take(&buf->refs);
	return buf;
}

void npu_buffer_put(struct npu_buffer *buf)
{
	if (!buf || !npu_device_is_ours(buf->dev) || !npu_ref_drop(&buf->refs))
		return;
	if (buf->dev->ops->buffer_destroy)
		buf->dev->ops->buffer_destroy(buf);
	if (buf->release)
		buf->release(buf->release_ctx);
	drop_buffer(buf);
}

uint64_t npu_buffer_size(const struct npu_buffer *buf)
{
	return buf->size;
}

int npu_buffer_map(struct npu_buffer *buf, void **ptr, struct npu_error *err)
{
	if (!ptr)
		return npu_error_set(err, -EINVAL, "npu_buffer_map: ptr is NULL");
	*ptr = buf->map;
	return buf->map ? 0
			: npu_error_set(err, -ENOTSUP, "this buffer can not be seen by the host");
}

static int check_range(const struct npu_buffer *buf, uint64_t offset, uint64_t size,
		       struct npu_error *err)
{
	if (offset <= buf->size && size <= buf->size - offset)
		return 0;
	return npu_error_set(err, -EINVAL, "bytes %llu + %llu of a buffer that has %llu",
			     (unsigned long long)offset, (unsigned long long)size,
			     (unsigned long long)buf->size);
}

int npu_buffer_sync(struct npu_buffer *buf, uint64_t offset, uint64_t size, enum npu_sync direction,
		    struct npu_error *err)
{
	int ret = check_range(buf, offset, size, err);

	if (ret)
		return ret;
	if (direction != NPU_SYNC_TO_DEVICE && direction != NPU_SYNC_FROM_DEVICE)
		return npu_error_set(err, -EINVAL, "npu_buffer_sync: direction %d is not known",
				     (int)direction);
	ret = npu_device_check(buf->dev, err);
	if (ret || !buf->dev->ops->buffer_sync)
		return ret;
	return buf->dev->ops->buffer_sync(buf, offset, size, direction, err);
}

static int check_copy(struct npu_buffer *buf, uint64_t offset, const void *data, size_t size,
		      struct npu_error *err)
{
	int ret = check_range(buf, offset, size, err);

	if (ret)
		return ret;
	if (size && !data)
		return npu_error_set(err, -EINVAL, "data is NULL");
	if (!buf->map)
		return npu_error_set(err, -ENOTSUP, "this buffer can not be seen by the host");
	return npu_device_check(buf->dev, err);
}

int npu_buffer_write(struct npu_buffer *buf, uint64_t offset, const void *data, size_t size,
		     struct npu_error *err)
{
	int ret = check_copy(buf, offset, data, size, err);

	if (ret)
		return ret;
	if (buf->flags & NPU_BUFFER_READ_ONLY)
		return npu_error_set(err, -EACCES, "the buffer was imported read only");
	if (size)
		memcpy((char *)buf->map + offset, data, size);
	return npu_buffer_sync(buf, offset, size, NPU_SYNC_TO_DEVICE, err);
}

int npu_buffer_read(struct npu_buffer *buf, uint64_t offset, void *data, size_t size,
		    struct npu_error *err)
{
	int ret = check_copy(buf, offset, data, size, err);

	if (!ret)
		ret = npu_buffer_sync(buf, offset, size, NPU_SYNC_FROM_DEVICE, err);
	if (!ret && size)
		memcpy(data, (char *)buf->map + offset, size);
	return ret;
}
