// SPDX-License-Identifier: MIT
/* Memory that host and device share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/dmabuf.h"
#include "core/object.h"

struct npu_buffer *npu_buffer_new(struct npu_device *dev, uint64_t size, uint32_t flags)
{
	struct npu_buffer *buf = calloc(1, sizeof(*buf));

	if (!buf)
		return NULL;
	atomic_init(&buf->refs, 1);
	buf->dev = npu_device_get(dev);
	buf->size = size;
	buf->flags = flags;
	buf->dmabuf = -1;
	return buf;
}

void npu_buffer_free(struct npu_buffer *buf)
{
	if (buf->dmabuf >= 0)
		npu_dmabuf_close(buf);
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
	b = npu_buffer_new(dev, size, flags);
	if (!b)
		return npu_error_set(err, -ENOMEM, "no memory for a buffer");
	ret = dev->ops->buffer_create(b, err);
	if (ret) {
		npu_buffer_free(b);
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
	b = npu_buffer_new(dev, size, flags);
	if (!b)
		return npu_error_set(err, -ENOMEM, "no memory for a buffer");
	b->map = ptr;
	ret = dev->ops->buffer_import_host(b, err);
	if (ret) {
		npu_buffer_free(b);
		return ret;
	}
	b->release = release;
	b->release_ctx = ctx;
	*buf = b;
	return 0;
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
	npu_buffer_free(buf);
}

uint64_t npu_buffer_size(const struct npu_buffer *buf)
{
	return buf->size;
}

int npu_buffer_host(struct npu_buffer *buf, void **ptr, struct npu_error *err)
{
	int ret = 0;

	if (!buf->map)
		ret = buf->dmabuf >= 0 ? npu_dmabuf_map(buf, err) :
		      npu_error_set(err, -ENOTSUP, "this buffer can not be seen by the host");
	*ptr = buf->map;
	return ret;
}

int npu_buffer_map(struct npu_buffer *buf, void **ptr, struct npu_error *err)
{
	int ret;

	if (!ptr)
		return npu_error_set(err, -EINVAL, "npu_buffer_map: ptr is NULL");
	*ptr = NULL;
	ret = npu_device_check(buf->dev, err);
	return ret ? ret : npu_buffer_host(buf, ptr, err);
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

/*
 * Opening the bracket around the host's access to a dma-buf makes the device's writes seen, closing
 * it makes the host's seen.
 */
int npu_buffer_agree(struct npu_buffer *buf, uint64_t offset, uint64_t size,
		     enum npu_sync direction, struct npu_error *err)
{
	if (!size)
		return 0;
	if (buf->dmabuf >= 0)
		return direction == NPU_SYNC_TO_DEVICE ?
		       npu_dmabuf_end(buf, NPU_ACCESS_WRITE, err) :
		       npu_dmabuf_begin(buf, NPU_ACCESS_READ, err);
	return buf->dev->ops->buffer_sync ?
	       buf->dev->ops->buffer_sync(buf, offset, size, direction, err) : 0;
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
	return ret ? ret : npu_buffer_agree(buf, offset, size, direction, err);
}

static int check_access(const struct npu_buffer *buf, uint32_t access, struct npu_error *err)
{
	if (!access || access & ~(NPU_ACCESS_READ | NPU_ACCESS_WRITE))
		return npu_error_set(err, -EINVAL,
				     "access 0x%x, want NPU_ACCESS_READ, NPU_ACCESS_WRITE or both",
				     access);
	if (access & NPU_ACCESS_WRITE && buf->flags & NPU_BUFFER_READ_ONLY)
		return npu_error_set(err, -EACCES, "the buffer was imported read only");
	return npu_device_check(buf->dev, err);
}

static int begin(struct npu_buffer *buf, uint64_t offset, uint64_t size, uint32_t access,
		 struct npu_error *err)
{
	if (buf->dmabuf >= 0)
		return npu_dmabuf_begin(buf, access, err);
	return access & NPU_ACCESS_READ ?
	       npu_buffer_sync(buf, offset, size, NPU_SYNC_FROM_DEVICE, err) : 0;
}

static int end(struct npu_buffer *buf, uint64_t offset, uint64_t size, uint32_t access,
	       struct npu_error *err)
{
	if (buf->dmabuf >= 0)
		return npu_dmabuf_end(buf, access, err);
	return access & NPU_ACCESS_WRITE ?
	       npu_buffer_sync(buf, offset, size, NPU_SYNC_TO_DEVICE, err) : 0;
}

int npu_buffer_begin_access(struct npu_buffer *buf, uint32_t access, struct npu_error *err)
{
	int ret = check_access(buf, access, err);

	return ret ? ret : begin(buf, 0, buf->size, access, err);
}

int npu_buffer_end_access(struct npu_buffer *buf, uint32_t access, struct npu_error *err)
{
	int ret = check_access(buf, access, err);

	return ret ? ret : end(buf, 0, buf->size, access, err);
}

/* The bytes from @offset on, whose access may begin. */
static int open_copy(struct npu_buffer *buf, uint64_t offset, const void *data, size_t size,
		     uint32_t access, void **at, struct npu_error *err)
{
	int ret = check_range(buf, offset, size, err);

	if (!ret && size && !data)
		ret = npu_error_set(err, -EINVAL, "data is NULL");
	if (!ret)
		ret = check_access(buf, access, err);
	if (!ret)
		ret = npu_buffer_host(buf, at, err);
	if (!ret)
		ret = begin(buf, offset, size, access, err);
	if (!ret)
		*at = (char *)*at + offset;
	return ret;
}

int npu_buffer_write(struct npu_buffer *buf, uint64_t offset, const void *data, size_t size,
		     struct npu_error *err)
{
	void *at;
	int ret = open_copy(buf, offset, data, size, NPU_ACCESS_WRITE, &at, err);

	if (ret)
		return ret;
	if (size)
		memcpy(at, data, size);
	return end(buf, offset, size, NPU_ACCESS_WRITE, err);
}

int npu_buffer_read(struct npu_buffer *buf, uint64_t offset, void *data, size_t size,
		    struct npu_error *err)
{
	void *at;
	int ret = open_copy(buf, offset, data, size, NPU_ACCESS_READ, &at, err);

	if (ret)
		return ret;
	if (size)
		memcpy(data, at, size);
	return end(buf, offset, size, NPU_ACCESS_READ, err);
}
