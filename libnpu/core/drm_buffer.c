// SPDX-License-Identifier: MIT
/* The drm backend: memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "core/drm.h"
#include "core/mapping.h"

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

/* Bytes of object @i of @bo, which begins at a multiple of the first one's. */
static uint64_t object_size(const struct drm_device *drm, const struct drm_bo *bo, uint32_t i)
{
	uint64_t at = i * drm->max_object;

	return bo->num == 1		       ? bo->size :
	       bo->size - at < drm->max_object ? bo->size - at :
						 drm->max_object;
}

static int bo_unbind(struct drm_device *drm, struct drm_bo *bo)
{
	struct drm_npu_vm_bind_op op = {
		.flags = DRM_NPU_VM_BIND_OP_TYPE_UNMAP,
		.va = bo->va,
		.size = bo->size,
	};
	int ret = vm_bind(drm, &op, NULL);

	/* Addresses that could not be unmapped are not given out again. */
	if (!ret)
		drm_va_free(drm, bo->va, bo->size);
	bo->va = 0;
	return ret;
}

/* Give the objects, the first one from @offset on, their places in the device's address space. */
static int bo_bind(struct drm_device *drm, struct drm_bo *bo, uint64_t offset, uint32_t flags,
		   struct npu_error *err)
{
	struct drm_npu_vm_bind_op op = {
		.flags = DRM_NPU_VM_BIND_OP_TYPE_MAP | flags,
		.bo_offset = offset,
	};
	int ret = drm_va_alloc(drm, bo->size, &bo->va);
	uint32_t i;

	if (ret)
		return npu_error_set(err, ret,
				     "device '%s': no room for %llu bytes in its addresses",
				     drm->dev->info.uri, (unsigned long long)bo->size);
	op.va = bo->va;
	for (i = 0; i < bo->num && !ret; i++) {
		op.bo_handle = bo->handles[i];
		op.size = object_size(drm, bo, i);
		ret = vm_bind(drm, &op, err);
		op.va += op.size;
		op.bo_offset = 0;
	}
	if (ret)
		bo_unbind(drm, bo);
	return ret;
}

/* Object @i for the host, @at being where the whole is. */
static int object_map(struct drm_device *drm, const struct drm_bo *bo, uint32_t i, char *at,
		      struct npu_error *err)
{
	struct drm_npu_bo_mmap_offset off = { .handle = bo->handles[i] };
	uint64_t size = object_size(drm, bo, i);
	int ret = drm_call(drm, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &off, err, "mapping a buffer");

	if (ret)
		return ret;
	if (mmap(at + i * drm->max_object, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 drm->fd, (off_t)off.offset) == MAP_FAILED)
		return npu_error_set(err, -errno, "device '%s': mapping %llu bytes: %s",
				     drm->dev->info.uri, (unsigned long long)size, strerror(errno));
	return 0;
}

static int bo_map(struct drm_device *drm, struct drm_bo *bo, struct npu_error *err)
{
	uint32_t i;
	int ret;

	bo->map = npu_mapping_new(bo->size, PROT_NONE);
	if (!bo->map)
		return npu_error_set(err, -errno, "no addresses for a buffer of %llu bytes",
				     (unsigned long long)bo->size);
	for (i = 0; i < bo->num; i++) {
		ret = object_map(drm, bo, i, bo->map, err);
		if (ret)
			return ret;	/* drm_bo_destroy() takes it all back */
	}
	return 0;
}

static int object_create(struct drm_device *drm, struct drm_bo *bo, uint64_t size, bool exclusive,
			 struct npu_error *err)
{
	struct drm_npu_bo_create create = {
		.size = size,
		.exclusive_vm_id = exclusive ? drm->vm : 0,
	};
	int ret = drm_call(drm, DRM_IOCTL_NPU_BO_CREATE, &create, err, "a buffer");

	if (ret)
		return ret;
	if (handle_get(drm, create.handle)) {
		drmCloseBufferHandle(drm->fd, create.handle);
		return npu_error_set(err, -ENOMEM, "no memory for a buffer");
	}
	bo->handles[bo->num++] = create.handle;
	bo->size += create.size;
	return 0;
}

int drm_bo_create(struct drm_device *drm, struct drm_bo *bo, uint64_t size, uint32_t flags,
		  bool exclusive, struct npu_error *err)
{
	uint64_t num = (size - 1) / drm->max_object + 1, left = size, piece;
	int ret = 0;

	*bo = (struct drm_bo){ 0 };
	bo->handles = num <= UINT32_MAX ? calloc(num, sizeof(*bo->handles)) : NULL;
	if (!bo->handles)
		return npu_error_set(err, -ENOMEM, "no memory for a buffer of %llu objects",
				     (unsigned long long)num);
	for (; left && !ret; left -= piece) {
		piece = left < drm->max_object ? left : drm->max_object;
		ret = object_create(drm, bo, piece, exclusive, err);
	}
	ret = ret ?: bo_map(drm, bo, err);
	ret = ret ?: bo_bind(drm, bo, 0, flags, err);
	if (ret)
		drm_bo_destroy(drm, bo);
	return ret;
}

void drm_bo_destroy(struct drm_device *drm, struct drm_bo *bo)
{
	uint32_t i;

	if (bo->map)
		munmap(bo->map, bo->size);
	if (bo->va)
		bo_unbind(drm, bo);
	for (i = 0; i < bo->num; i++)
		handle_put(drm, bo->handles[i]);
	free(bo->handles);
	*bo = (struct drm_bo){ 0 };
}

int drm_bo_sync(struct drm_device *drm, const struct drm_bo *bo, uint64_t offset, uint64_t size,
		uint32_t type, struct npu_error *err)
{
	struct drm_npu_bo_sync_op op = { .type = type };
	struct drm_npu_bo_sync sync = { .ops = DRM_NPU_OBJ_ARRAY(1, &op) };
	uint32_t i = bo->num == 1 ? 0 : (uint32_t)(offset / drm->max_object);
	uint64_t room;
	int ret = 0;

	op.offset = offset - i * drm->max_object;
	for (; size && !ret; size -= op.size) {
		room = object_size(drm, bo, i) - op.offset;
		op.size = size < room ? size : room;
		op.handle = bo->handles[i++];
		ret = drm_call(drm, DRM_IOCTL_NPU_BO_SYNC, &sync, err, "BO_SYNC");
		op.offset = 0;
	}
	return ret;
}

static void bo_set_label(struct drm_device *drm, const struct drm_bo *bo, const char *text)
{
	struct drm_npu_bo_set_label label = { .label = (uintptr_t)text };
	uint32_t i;

	for (i = 0; i < bo->num; i++) {
		label.handle = bo->handles[i];
		drmIoctl(drm->fd, DRM_IOCTL_NPU_BO_SET_LABEL, &label);
	}
}

/* Written by the host for the last time: the device reads @data there from now on. */
static int bo_fill(struct drm_device *drm, struct drm_bo *bo, const void *data, uint64_t size,
		   struct npu_error *err)
{
	int ret;

	memcpy(bo->map, data, size);
	ret = drm_bo_sync(drm, bo, 0, bo->size, DRM_NPU_BO_SYNC_TO_DEVICE, err);
	if (ret)
		return ret;
	munmap(bo->map, bo->size);
	bo->map = NULL;
	return 0;
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
	struct drm_device *drm = buf->dev->backend;
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
	ret = ret ?: bo_fill(drm, bo, buf->map, buf->size, err);
	if (ret) {
		drm_bo_destroy(drm, bo);
		free(bo);
		return ret;
	}
	bo_set_label(drm, bo, "read-only host memory");
	buf->backend = bo;
	buf->va = bo->va;
	return 0;
}

/* Why the driver, or an exporter, did not want to. */
static const char *import_reason(struct drm_device *drm, int error)
{
	struct drm_npu_dev_query q = { .type = DRM_NPU_DEV_QUERY_NPU_INFO };

	switch (error) {
	case -ENODEV:
		return drmIoctl(drm->fd, DRM_IOCTL_NPU_DEV_QUERY, &q) && errno == ENODEV ?
		       "the device is gone" :
		       "its exporter does not give the memory out (any more)";
	case -EADDRNOTAVAIL:
		return "its pieces do not begin and end at pages, which the device can not map";
	case -EOPNOTSUPP:
		return "its exporter gives it only to who lets it be taken back at any time";
	case -EBADMSG:
		return "its exporter has mapped less memory than the dma-buf's size";
	case -EINVAL:
		return "its exporter refuses the device";
	default:
		return strerror(-error);
	}
}

/* The handle of a dma-buf, counted. The same object has the same handle every time. */
static int import_handle(struct drm_device *drm, int fd, struct drm_bo *bo, struct npu_error *err)
{
	uint32_t handle;
	int ret = 0;

	bo->handles = calloc(1, sizeof(*bo->handles));
	if (!bo->handles)
		return npu_error_set(err, -ENOMEM, "no memory for a buffer");
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
		return npu_error_set(err, ret, "device '%s': importing a dma-buf: %s",
				     drm->dev->info.uri, import_reason(drm, ret));
	bo->handles[0] = handle;
	bo->num = 1;
	return 0;
}

/* Of the pages that the part lies in, nothing but they is mapped. */
int drm_buffer_import_dmabuf(struct npu_buffer *buf, struct npu_error *err)
{
	uint32_t flags = buf->flags & NPU_BUFFER_READ_ONLY ? DRM_NPU_VM_BIND_OP_READONLY : 0;
	uint64_t skip = buf->dmabuf_offset % DRM_PAGE;
	struct drm_device *drm = buf->dev->backend;
	struct drm_bo *bo;
	int ret;

	if (buf->dmabuf_size % DRM_PAGE)
		return npu_error_set(err, -EINVAL,
				     "device '%s': the dma-buf has %llu bytes, which are not whole pages of %llu",
				     drm->dev->info.uri, (unsigned long long)buf->dmabuf_size,
				     (unsigned long long)DRM_PAGE);
	bo = bo_new(err);
	if (!bo)
		return -ENOMEM;
	ret = import_handle(drm, buf->dmabuf, bo, err);
	if (!ret) {
		bo->size = (skip + buf->size + DRM_PAGE - 1) / DRM_PAGE * DRM_PAGE;
		ret = bo_bind(drm, bo, buf->dmabuf_offset - skip, flags, err);
	}
	if (ret) {
		drm_bo_destroy(drm, bo);
		free(bo);
		return ret;
	}
	buf->backend = bo;
	buf->va = bo->va + skip;
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
	if (bo->num > 1)
		return npu_error_set(err, -ENOTSUP,
				     "device '%s': a buffer of %llu bytes is %u objects, a dma-buf is one; max-object= makes it one (up to %llu bytes)",
				     buf->dev->info.uri, (unsigned long long)bo->size, bo->num,
				     (unsigned long long)drm->dev->info.max_buffer);
	if (!drmPrimeHandleToFD(drm->fd, bo->handles[0], DRM_CLOEXEC | DRM_RDWR, fd))
		return 0;
	return npu_error_set(err, -errno, "device '%s': exporting a buffer: %s", buf->dev->info.uri,
			     strerror(errno));
}

int drm_buffer_sync(struct npu_buffer *buf, uint64_t offset, uint64_t size, enum npu_sync direction,
		    struct npu_error *err)
{
	if (buf->flags & NPU_BUFFER_READ_ONLY)
		return 0;
	return drm_bo_sync(buf->dev->backend, buf->backend, offset, size,
			   direction == NPU_SYNC_TO_DEVICE ? DRM_NPU_BO_SYNC_TO_DEVICE :
							     DRM_NPU_BO_SYNC_FROM_DEVICE, err);
}

int drm_buffer_is_bounced(struct npu_buffer *buf, bool *bounced, struct npu_error *err)
{
	const struct drm_bo *bo = buf->backend;
	struct drm_npu_bo_query_info info = { 0 };
	uint32_t i;
	int ret = 0;

	for (i = 0; i < bo->num && !ret; i++) {
		info.handle = bo->handles[i];
		ret = drm_call(buf->dev->backend, DRM_IOCTL_NPU_BO_QUERY_INFO, &info, err,
			       "a buffer");
		*bounced |= !!(info.extra & DRM_NPU_BO_IS_BOUNCED);
	}
	return ret;
}

void drm_buffer_destroy(struct npu_buffer *buf)
{
	drm_bo_destroy(buf->dev->backend, buf->backend);
	free(buf->backend);
}

/* Of a struct npu_code. */
#define CODE_TIMES	2

struct drm_code {
	struct drm_bo bo;
	_Atomic uint64_t took[CODE_TIMES];	/* of its newest jobs, ns; 0: not so many yet */
	atomic_uint num_took;
};

int drm_code_create(struct npu_code *code, struct npu_error *err)
{
	struct drm_device *drm = code->dev->backend;
	struct drm_code *dc = calloc(1, sizeof(*dc));
	int ret;

	if (!dc)
		return npu_error_set(err, -ENOMEM, "no memory for a stream");
	ret = drm_bo_create(drm, &dc->bo, code->size, DRM_NPU_VM_BIND_OP_EXEC, true, err);
	ret = ret ?: bo_fill(drm, &dc->bo, code->stream, code->size, err);
	if (ret) {
		drm_bo_destroy(drm, &dc->bo);
		free(dc);
		return ret;
	}
	code->backend = dc;
	code->va = dc->bo.va;
	return 0;
}

void drm_code_destroy(struct npu_code *code)
{
	struct drm_code *dc = code->backend;

	drm_bo_destroy(code->dev->backend, &dc->bo);
	free(dc);
}

bool drm_code_took(const struct npu_code *code, uint64_t *least, uint64_t *most)
{
	const struct drm_code *dc = code->backend;
	unsigned int i;

	*least = UINT64_MAX;
	*most = 0;
	for (i = 0; i < CODE_TIMES; i++) {
		uint64_t took = atomic_load_explicit(&dc->took[i], memory_order_relaxed);

		*least = took < *least ? took : *least;
		*most = took > *most ? took : *most;
	}
	return *least;
}

void drm_code_add_took(struct npu_code *code, uint64_t ns)
{
	struct drm_code *dc = code->backend;
	unsigned int i = atomic_fetch_add_explicit(&dc->num_took, 1, memory_order_relaxed);

	atomic_store_explicit(&dc->took[i % CODE_TIMES], ns, memory_order_relaxed);
}
