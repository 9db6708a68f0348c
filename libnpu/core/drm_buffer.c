// SPDX-License-Identifier: MIT
/* The drm backend: memory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/drm.h"

/* One more user of @handle; with the lock. */
static int handle_count(struct drm_device *drm, uint32_t handle)
{
	uint32_t room, *refs;

	if (handle >= drm->num_handles) {
		room = handle + 64;
		refs = realloc(drm->handle_refs, room * sizeof(*refs));
		if (!refs)
			return -ENOMEM;
		memset(refs + drm->num_handles, 0, (room - drm->num_handles) * sizeof(*refs));
		drm->handle_refs = refs;
		drm->num_handles = room;
	}
	drm->handle_refs[handle]++;
	return 0;
}

static int handle_get(struct drm_device *drm, uint32_t handle)
{
	int ret;

	pthread_mutex_lock(&drm->lock);
	ret = handle_count(drm, handle);
	pthread_mutex_unlock(&drm->lock);
	return ret;
}

/* With the lock, so that an import of the same object does not get the handle in between. */
static void handle_put(struct drm_device *drm, uint32_t handle)
{
	pthread_mutex_lock(&drm->lock);
	if (!--drm->handle_refs[handle])
		drmCloseBufferHandle(drm->fd, handle);
	pthread_mutex_unlock(&drm->lock);
}

static int vm_bind(struct drm_device *drm, const struct drm_npu_vm_bind_op *op,
		   struct npu_error *err)
{
	struct drm_npu_vm_bind bind = {
		.vm_id = drm->vm,
		.ops = DRM_NPU_OBJ_ARRAY(1, op),
	};

	return drm_call(drm, DRM_IOCTL_NPU_VM_BIND, &bind, err, "mapping a buffer");
}

/* Give the object its place in the device's address space. */
static int bo_bind(struct drm_device *drm, struct drm_bo *bo, uint32_t flags, struct npu_error *err)
{
	struct drm_npu_vm_bind_op op = { .bo_handle = bo->handle, .size = bo->size };
	int ret = drm_va_alloc(drm, bo->size, &bo->va);

	if (ret)
		return npu_error_set(err, ret, "device '%s': no room for %llu bytes in its addresses",
				     drm->dev->info.uri, (unsigned long long)bo->size);
	op.flags = DRM_NPU_VM_BIND_OP_TYPE_MAP | flags;
	op.va = bo->va;
	ret = vm_bind(drm, &op, err);
	if (ret) {
		drm_va_free(drm, bo->va, bo->size);
		bo->va = 0;
	}
	return ret;
}

static int bo_map(struct drm_device *drm, struct drm_bo *bo, struct npu_error *err)
{
	struct drm_npu_bo_mmap_offset off = { .handle = bo->handle };
	int ret = drm_call(drm, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &off, err, "mapping a buffer");
	void *map;

	if (ret)
		return ret;
	map = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, drm->fd, (off_t)off.offset);
	if (map == MAP_FAILED)
		return npu_error_set(err, -errno, "device '%s': mapping %llu bytes: %s",
				     drm->dev->info.uri, (unsigned long long)bo->size,
				     strerror(errno));
	bo->map = map;
	return 0;
}

int drm_bo_create(struct drm_device *drm, struct drm_bo *bo, uint64_t size, uint32_t flags,
		  bool exclusive, struct npu_error *err)
{
	struct drm_npu_bo_create create = {
		.size = size,
		.exclusive_vm_id = exclusive ? drm->vm : 0,
	};
	int ret = drm_call(drm, DRM_IOCTL_NPU_BO_CREATE, &create, err, "a buffer");

	*bo = (struct drm_bo){ .dmabuf = -1 };
	if (ret)
		return ret;
	if (handle_get(drm, create.handle)) {
		drmCloseBufferHandle(drm->fd, create.handle);
		return npu_error_set(err, -ENOMEM, "no memory for a buffer");
	}
	bo->handle = create.handle;
	bo->size = create.size;
	ret = bo_map(drm, bo, err);
	if (!ret)
		ret = bo_bind(drm, bo, flags, err);
	if (ret)
		drm_bo_destroy(drm, bo);
	return ret;
}

void drm_bo_destroy(struct drm_device *drm, struct drm_bo *bo)
{
	struct drm_npu_vm_bind_op op = {
		.flags = DRM_NPU_VM_BIND_OP_TYPE_UNMAP,
		.va = bo->va,
		.size = bo->size,
	};

	if (bo->map)
		munmap(bo->map, bo->size);
	/* Addresses that could not be unmapped are not given out again. */
	if (bo->va && !vm_bind(drm, &op, NULL))
		drm_va_free(drm, bo->va, bo->size);
	if (bo->handle)
		handle_put(drm, bo->handle);
	if (bo->dmabuf >= 0)
		close(bo->dmabuf);
	*bo = (struct drm_bo){ .dmabuf = -1 };
}

static struct drm_bo *bo_new(struct npu_error *err)
{
	struct drm_bo *bo = calloc(1, sizeof(*bo));

	if (!bo)
		npu_error_set(err, -ENOMEM, "no memory for a buffer");
	return bo;
}

int drm_buffer_create(struct npu_buffer *buf, struct npu_error *err)
{
	struct drm_bo *bo = bo_new(err);
	int ret;

	if (!bo)
		return -ENOMEM;
	ret = drm_bo_create(buf->dev->backend, bo, buf->size, 0, false, err);
	if (ret) {
		free(bo);
		return ret;
	}
	buf->backend = bo;
	buf->map = bo->map;
	buf->va = bo->va;
	return 0;
}

/*
 * The device reaches only memory that the driver knows. Memory that never changes is copied once;
 * the host goes on looking at its own.
 */
int drm_buffer_import_host(struct npu_buffer *buf, struct npu_error *err)
{
	struct drm_npu_bo_set_label label = { .label = (uintptr_t)"read-only host memory" };
	struct drm_device *drm = buf->dev->backend;
	struct drm_npu_bo_sync_op op = { .type = DRM_NPU_BO_SYNC_TO_DEVICE };
	struct drm_npu_bo_sync sync = { .ops = DRM_NPU_OBJ_ARRAY(1, &op) };
	struct drm_bo *bo;
	int ret;

	if (!(buf->flags & NPU_BUFFER_READ_ONLY))
		return npu_error_set(err, -ENOTSUP,
				     "device '%s' can not write to the program's own memory; use npu_buffer_create(), or a dma-buf",
				     buf->dev->info.uri);
	bo = bo_new(err);
	if (!bo)
		return -ENOMEM;
	ret = drm_bo_create(drm, bo, buf->size, DRM_NPU_VM_BIND_OP_READONLY, true, err);
	if (ret) {
		free(bo);
		return ret;
	}
	memcpy(bo->map, buf->map, buf->size);
	op.handle = label.handle = bo->handle;
	op.size = bo->size;
	ret = drm_call(drm, DRM_IOCTL_NPU_BO_SYNC, &sync, err, "a copy of read-only memory");
	if (ret) {
		drm_bo_destroy(drm, bo);
		free(bo);
		return ret;
	}
	drmIoctl(drm->fd, DRM_IOCTL_NPU_BO_SET_LABEL, &label);
	munmap(bo->map, bo->size);
	bo->map = NULL;
	buf->backend = bo;
	buf->va = bo->va;
	return 0;
}

/* The handle of a dma-buf, counted. The same object has the same handle every time. */
static int import_handle(struct drm_device *drm, int fd, struct drm_bo *bo, struct npu_error *err)
{
	struct drm_npu_bo_query_info info = { 0 };
	uint32_t handle;
	int ret = 0;

	pthread_mutex_lock(&drm->lock);
	if (drmPrimeFDToHandle(drm->fd, fd, &handle)) {
		ret = -errno;
	} else if (handle_count(drm, handle)) {
		/* Beyond the table, so nobody else has it. */
		drmCloseBufferHandle(drm->fd, handle);
		ret = -ENOMEM;
	}
	pthread_mutex_unlock(&drm->lock);
	if (ret)
		return npu_error_set(err, ret, "device '%s': importing descriptor %d: %s",
				     drm->dev->info.uri, fd, ret == -ENODEV ? "the device is gone" :
				     ret == -EBADF || ret == -EINVAL ? "it is not a dma-buf that the driver takes" :
				     strerror(-ret));
	bo->handle = info.handle = handle;
	ret = drm_call(drm, DRM_IOCTL_NPU_BO_QUERY_INFO, &info, err, "asking about a dma-buf");
	bo->size = info.size;
	return ret;
}

int drm_buffer_import_dmabuf(struct npu_buffer *buf, int fd, struct npu_error *err)
{
	struct drm_device *drm = buf->dev->backend;
	struct drm_bo *bo = bo_new(err);
	void *map;
	int ret;

	if (!bo)
		return -ENOMEM;
	bo->dmabuf = -1;
	ret = import_handle(drm, fd, bo, err);
	if (!ret)
		ret = bo_bind(drm, bo, 0, err);
	if (!ret) {
		bo->dmabuf = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (bo->dmabuf < 0)
			ret = npu_error_set(err, -errno, "descriptor %d: %s", fd, strerror(errno));
	}
	if (ret) {
		drm_bo_destroy(drm, bo);
		free(bo);
		return ret;
	}
	/* An exporter may refuse the host: then the buffer is the device's only. */
	map = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	bo->map = map == MAP_FAILED ? NULL : map;
	buf->backend = bo;
	buf->map = bo->map;
	buf->size = bo->size;
	buf->va = bo->va;
	return 0;
}

int drm_buffer_export_dmabuf(struct npu_buffer *buf, int *fd, struct npu_error *err)
{
	struct drm_device *drm = buf->dev->backend;
	struct drm_bo *bo = buf->backend;

	if (buf->flags & NPU_BUFFER_READ_ONLY)
		return npu_error_set(err, -EACCES,
				     "device '%s' has a copy of this read-only memory, which is not shared",
				     buf->dev->info.uri);
	if (!drmPrimeHandleToFD(drm->fd, bo->handle, DRM_CLOEXEC | DRM_RDWR, fd))
		return 0;
	return npu_error_set(err, -errno, "device '%s': exporting a buffer: %s", buf->dev->info.uri,
			     strerror(errno));
}

/*
 * A dma-buf has the exporter's rules: the host's access is bracketed. Opening the bracket for what
 * the host is about to read makes the device's writes seen, closing it makes the host's seen.
 */
static int dmabuf_sync(const struct drm_bo *bo, enum npu_sync direction)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_RW };
	int ret;

	sync.flags |= direction == NPU_SYNC_TO_DEVICE ? DMA_BUF_SYNC_END : DMA_BUF_SYNC_START;
	do
		ret = ioctl(bo->dmabuf, DMA_BUF_IOCTL_SYNC, &sync);
	while (ret && (errno == EINTR || errno == EAGAIN));
	return ret ? -errno : 0;
}

int drm_buffer_sync(struct npu_buffer *buf, uint64_t offset, uint64_t size, enum npu_sync direction,
		    struct npu_error *err)
{
	const struct drm_bo *bo = buf->backend;
	struct drm_npu_bo_sync_op op = {
		.handle = bo->handle,
		.type = direction == NPU_SYNC_TO_DEVICE ? DRM_NPU_BO_SYNC_TO_DEVICE :
							  DRM_NPU_BO_SYNC_FROM_DEVICE,
		.offset = offset,
		.size = size,
	};
	struct drm_npu_bo_sync sync = { .ops = DRM_NPU_OBJ_ARRAY(1, &op) };
	int ret;

	if (!size || buf->flags & NPU_BUFFER_READ_ONLY)
		return 0;
	if (bo->dmabuf < 0)
		return drm_call(buf->dev->backend, DRM_IOCTL_NPU_BO_SYNC, &sync, err, "BO_SYNC");
	ret = dmabuf_sync(bo, direction);
	return ret ? npu_error_set(err, ret, "dma-buf: DMA_BUF_IOCTL_SYNC: %s", strerror(-ret)) : 0;
}

void drm_buffer_destroy(struct npu_buffer *buf)
{
	drm_bo_destroy(buf->dev->backend, buf->backend);
	free(buf->backend);
}

int drm_code_create(struct npu_code *code, struct npu_error *err)
{
	struct drm_device *drm = code->dev->backend;
	struct drm_npu_bo_sync_op op = { .type = DRM_NPU_BO_SYNC_TO_DEVICE };
	struct drm_npu_bo_sync sync = { .ops = DRM_NPU_OBJ_ARRAY(1, &op) };
	struct drm_bo *bo = bo_new(err);
	int ret;

	if (!bo)
		return -ENOMEM;
	ret = drm_bo_create(drm, bo, code->size, DRM_NPU_VM_BIND_OP_EXEC, true, err);
	if (ret) {
		free(bo);
		return ret;
	}
	memcpy(bo->map, code->stream, code->size);
	op.handle = bo->handle;
	op.size = bo->size;
	ret = drm_call(drm, DRM_IOCTL_NPU_BO_SYNC, &sync, err, "a command stream");
	if (ret) {
		drm_bo_destroy(drm, bo);
		free(bo);
		return ret;
	}
	munmap(bo->map, bo->size);
	bo->map = NULL;
	code->backend = bo;
	code->va = bo->va;
	return 0;
}

void drm_code_destroy(struct npu_code *code)
{
	drm_bo_destroy(code->dev->backend, code->backend);
	free(code->backend);
}
