// SPDX-License-Identifier: MIT
/* Descriptors of shared memory: checks, the host's view, fences. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "core/dmabuf.h"

#ifndef DMA_BUF_MAGIC
#define DMA_BUF_MAGIC	0x444d4142
#endif

#define ULL(x)	((unsigned long long)(x))

/* Is it a dma-buf, and may it be used so? Its size is written to @size. */
static int check_descriptor(const struct npu_dmabuf *from, uint64_t *size, struct npu_error *err)
{
	int mode = fcntl(from->fd, F_GETFL);
	struct statfs fs;
	off_t end;

	if (mode < 0 || fstatfs(from->fd, &fs))
		return npu_error_set(err, -EBADF, "descriptor %d is not open", from->fd);
	if (fs.f_type != DMA_BUF_MAGIC)
		return npu_error_set(err, -EINVAL, "descriptor %d is not a dma-buf", from->fd);
	end = lseek(from->fd, 0, SEEK_END);
	if (end < 0)
		return npu_error_set(err, -errno, "descriptor %d does not tell its size: %s",
				     from->fd, strerror(errno));
	if (!end)
		return npu_error_set(err, -EINVAL, "descriptor %d is a dma-buf of 0 bytes",
				     from->fd);
	if ((mode & O_ACCMODE) == O_RDONLY && !(from->flags & NPU_BUFFER_READ_ONLY))
		return npu_error_set(err, -EACCES,
				     "descriptor %d is open for reading only: import it with NPU_BUFFER_READ_ONLY",
				     from->fd);
	*size = (uint64_t)end;
	return 0;
}

/* The part that is wanted of a dma-buf of @size bytes: the buffer's size. */
static int check_part(const struct npu_device *dev, const struct npu_dmabuf *from, uint64_t size,
		      uint64_t *bytes, struct npu_error *err)
{
	if (from->offset >= size || from->bytes > size - from->offset)
		return npu_error_set(err, -EINVAL,
				     "descriptor %d: bytes %llu + %llu of a dma-buf that has %llu",
				     from->fd, ULL(from->offset), ULL(from->bytes), ULL(size));
	*bytes = from->bytes ? from->bytes : size - from->offset;
	if (*bytes > dev->info.max_buffer)
		return npu_error_set(err, -E2BIG,
				     "descriptor %d: %llu bytes, device '%s' takes at most %llu",
				     from->fd, ULL(*bytes), dev->info.uri,
				     ULL(dev->info.max_buffer));
	return 0;
}

int npu_dmabuf_open(struct npu_buffer *buf, const struct npu_dmabuf *from, struct npu_error *err)
{
	uint64_t size = 0, bytes = 0;
	int ret;

	if (from->flags & ~NPU_BUFFER_READ_ONLY || from->reserved)
		return npu_error_set(err, -EINVAL,
				     "npu_dmabuf: flags 0x%x or reserved 0x%x are not known",
				     from->flags & ~NPU_BUFFER_READ_ONLY, from->reserved);
	ret = check_descriptor(from, &size, err);
	if (!ret)
		ret = check_part(buf->dev, from, size, &bytes, err);
	if (ret)
		return ret;
	buf->dmabuf = fcntl(from->fd, F_DUPFD_CLOEXEC, 3);
	if (buf->dmabuf < 0)
		return npu_error_set(err, -errno, "descriptor %d: %s", from->fd, strerror(errno));
	buf->dmabuf_offset = from->offset;
	buf->dmabuf_size = size;
	buf->size = bytes;
	buf->flags = from->flags;
	return 0;
}

/*
 * Bytes that are mapped, always from the first on: what DRM drivers export takes an offset of
 * mmap() and shows the first pages all the same.
 */
static size_t map_size(const struct npu_buffer *buf)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (buf->dmabuf_offset + buf->size + page - 1) / page * page;
}

void npu_dmabuf_close(struct npu_buffer *buf)
{
	char *map = buf->map;

	if (map)
		munmap(map - buf->dmabuf_offset, map_size(buf));
	close(buf->dmabuf);
}

int npu_dmabuf_map(struct npu_buffer *buf, struct npu_error *err)
{
	int prot = PROT_READ | (buf->flags & NPU_BUFFER_READ_ONLY ? 0 : PROT_WRITE);
	size_t size = map_size(buf);
	void *none = NULL;
	char *map;

	if (buf->map)
		return 0;
	map = mmap(NULL, size, prot, MAP_SHARED, buf->dmabuf, 0);
	if (map == MAP_FAILED)
		return npu_error_set(err, -ENOTSUP,
				     "this buffer can not be seen by the host: its exporter does not map it: %s",
				     strerror(errno));
	/* Another thread may have been faster. */
	if (!atomic_compare_exchange_strong(&buf->map, &none, map + buf->dmabuf_offset))
		munmap(map, size);
	return 0;
}

static int dmabuf_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	do
		ret = ioctl(fd, request, arg);
	while (ret && (errno == EINTR || errno == EAGAIN));
	return ret ? -errno : 0;
}

static uint32_t access_flags(uint32_t access)
{
	return (access & NPU_ACCESS_READ ? DMA_BUF_SYNC_READ : 0) |
	       (access & NPU_ACCESS_WRITE ? DMA_BUF_SYNC_WRITE : 0);
}

int npu_dmabuf_begin(const struct npu_buffer *buf, uint32_t access, struct npu_error *err)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | access_flags(access) };
	int ret = dmabuf_ioctl(buf->dmabuf, DMA_BUF_IOCTL_SYNC, &sync);

	return ret ? npu_error_set(err, ret, "dma-buf: the host's access can not begin: %s",
				   strerror(-ret)) : 0;
}

int npu_dmabuf_end(const struct npu_buffer *buf, uint32_t access, struct npu_error *err)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_END | access_flags(access) };
	int ret = dmabuf_ioctl(buf->dmabuf, DMA_BUF_IOCTL_SYNC, &sync);

	/* udmabuf wants a beginning before an end; without one it has nothing to make agree. */
	if (ret == -EINVAL)
		ret = 0;
	return ret ? npu_error_set(err, ret, "dma-buf: the host's access can not end: %s",
				   strerror(-ret)) : 0;
}

static int fence_error(struct npu_error *err, int ret, const char *what)
{
	return npu_error_set(err, ret, "dma-buf: %s: %s", what,
			     ret == -ENOTTY ? "this kernel has no ioctl for it (6.0 has)" :
					      strerror(-ret));
}

int npu_dmabuf_get_sync_file(int dmabuf, uint32_t access, int *fd, struct npu_error *err)
{
	struct dma_buf_export_sync_file arg = { .flags = access_flags(access), .fd = -1 };
	int ret = dmabuf_ioctl(dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &arg);

	if (ret)
		return fence_error(err, ret, "asking for its fences");
	*fd = arg.fd;
	return 0;
}

int npu_dmabuf_add_sync_file(int dmabuf, uint32_t access, int fd, struct npu_error *err)
{
	struct dma_buf_import_sync_file arg = { .flags = access_flags(access), .fd = fd };
	int ret = dmabuf_ioctl(dmabuf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &arg);

	return ret ? fence_error(err, ret, "putting a fence on it") : 0;
}
