/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffers. */
#ifndef NPU_GEM_H
#define NPU_GEM_H

#include <linux/mutex.h>

#include <drm/drm_gem_shmem_helper.h>

struct drm_npu_bo_sync_op;
struct npu_device;
struct npu_vm;

/**
 * struct npu_bo - a buffer
 */
struct npu_bo {
	/** @base: shmem object, also of imported memory */
	struct drm_gem_shmem_object base;

	/** @node: in npu_device.gem.list */
	struct list_head node;

	/** @flags: enum drm_npu_bo_flags */
	u32 flags;

	/** @exclusive_root: the only VM's resv object, NULL: any; a reference is held */
	struct drm_gem_object *exclusive_root;

	/** @import: dma-buf that this is an import of, NULL: our own; a reference is held */
	struct dma_buf *import;

	/** @label_lock: protects @label */
	struct mutex label_lock;

	/** @label: for debugfs and dumps, or NULL */
	char *label;
};

#define to_npu_bo(obj)	container_of(to_drm_gem_shmem_obj(obj), struct npu_bo, base)

int npu_gem_init(struct npu_device *npu);
void npu_gem_unplug(struct npu_device *npu);

struct drm_gem_object *npu_gem_create_object(struct drm_device *drm, size_t size);
struct npu_bo *npu_bo_create(struct npu_device *npu, u64 size, u32 flags, struct npu_vm *exclusive);
struct sg_table *npu_bo_get_sgt(struct npu_bo *bo);
int npu_bo_sync(struct npu_bo *bo, u32 type, u64 offset, u64 size);
bool npu_sgt_is_bounced(struct device *dev, struct sg_table *sgt);
bool npu_bo_is_bounced(struct npu_bo *bo);
void npu_bo_set_label(struct npu_bo *bo, char *label);

struct drm_gem_object *npu_gem_prime_import(struct drm_device *drm, struct dma_buf *dma_buf);
struct drm_gem_object *npu_gem_prime_import_sg_table(struct drm_device *drm,
						     struct dma_buf_attachment *attach,
						     struct sg_table *sgt);
struct dma_buf *npu_gem_prime_export(struct drm_gem_object *obj, int flags);
void npu_gem_prime_release(struct npu_bo *bo);

#endif
