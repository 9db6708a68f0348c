// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: shmem objects, of large pages where there are any. Memory is mapped for DMA when it is
 * first bound, and stays so until the buffer goes or the device is unplugged.
 */
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/swiotlb.h>

#include <drm/drm_print.h>

#include "../uapi/drm/npu_drm.h"

#include "npu_compat.h"
#include "npu_device.h"
#include "npu_gem.h"
#include "npu_vm.h"

/* Smaller ones can not have a large page. */
#define NPU_BO_LARGE	SZ_2M

int npu_gem_init(struct npu_device *npu)
{
	int ret;

	mutex_init(&npu->gem.lock);
	INIT_LIST_HEAD(&npu->gem.list);
	init_rwsem(&npu->gem.dma_lock);

	ret = npu_compat_huge_mnt_create(&npu->base, &npu->gem.mnt);
	if (ret)
		drm_info(&npu->base, "no large pages for buffers: %d\n", ret);

	return 0;
}

static void npu_bo_unmap_own(struct npu_bo *bo)
{
	struct drm_gem_shmem_object *shmem = &bo->base;

	dma_resv_lock(shmem->base.resv, NULL);
	if (shmem->sgt) {
		dma_unmap_sgtable(shmem->base.dev->dev, shmem->sgt, DMA_BIDIRECTIONAL, 0);
		sg_free_table(shmem->sgt);
		kfree(shmem->sgt);
		shmem->sgt = NULL;
	}
	dma_resv_unlock(shmem->base.resv);
}

/* The device must not have it mapped any more. */
static void npu_bo_unmap(struct npu_bo *bo)
{
	lockdep_assert_held(&to_npu_device(bo->base.base.dev)->gem.dma_lock);

	if (bo->import)
		npu_gem_prime_release(bo);
	else
		npu_bo_unmap_own(bo);
}

static void npu_bo_free(struct drm_gem_object *obj)
{
	struct npu_device *npu = to_npu_device(obj->dev);
	struct npu_bo *bo = to_npu_bo(obj);
	struct drm_gem_object *root = bo->exclusive_root;
	struct dma_buf *import = bo->import;

	scoped_guard(rwsem_read, &npu->gem.dma_lock) {
		scoped_guard(mutex, &npu->gem.lock)
			list_del(&bo->node);
		npu_bo_unmap(bo);
	}

	mutex_destroy(&bo->label_lock);
	kfree(bo->label);
	drm_gem_shmem_free(&bo->base);
	/* Last: the object used the reservation of one of them. */
	drm_gem_object_put(root);
	if (import)
		dma_buf_put(import);
}

/**
 * npu_gem_unplug() - unmap all buffers, before the device's DMA operations go away
 * @npu: device; it can not reach memory any more
 */
void npu_gem_unplug(struct npu_device *npu)
{
	struct npu_bo *bo;

	guard(rwsem_write)(&npu->gem.dma_lock);
	guard(mutex)(&npu->gem.lock);
	npu->gem.unplugged = true;
	list_for_each_entry(bo, &npu->gem.list, node)
		npu_bo_unmap(bo);
}

static int npu_bo_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct npu_bo *bo = to_npu_bo(obj);

	if (bo->import || (bo->flags & DRM_NPU_BO_NO_MMAP))
		return -EINVAL;

	return drm_gem_shmem_mmap(&bo->base, vma);
}

static enum drm_gem_object_status npu_bo_status(struct drm_gem_object *obj)
{
	struct npu_bo *bo = to_npu_bo(obj);

	return bo->import || bo->base.pages ? DRM_GEM_OBJECT_RESIDENT : 0;
}

static const struct drm_gem_object_funcs npu_bo_funcs = {
	.free = npu_bo_free,
	.print_info = drm_gem_shmem_object_print_info,
	.export = npu_gem_prime_export,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = npu_bo_mmap,
	.status = npu_bo_status,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

struct drm_gem_object *npu_gem_create_object(struct drm_device *drm, size_t size)
{
	struct npu_bo *bo;

	bo = kzalloc_obj(*bo, GFP_KERNEL_ACCOUNT);
	if (!bo)
		return ERR_PTR(-ENOMEM);

	bo->base.base.funcs = &npu_bo_funcs;
	INIT_LIST_HEAD(&bo->node);
	mutex_init(&bo->label_lock);

	return &bo->base.base;
}

static void npu_bo_publish(struct npu_device *npu, struct npu_bo *bo)
{
	guard(mutex)(&npu->gem.lock);
	list_add_tail(&bo->node, &npu->gem.list);
}

/**
 * npu_bo_create() - make a buffer
 * @npu: device
 * @size: bytes, a multiple of pages
 * @flags: enum drm_npu_bo_flags
 * @exclusive: the only VM that it will be mapped in, or NULL
 *
 * Return: it, or an error pointer.
 */
struct npu_bo *npu_bo_create(struct npu_device *npu, u64 size, u32 flags, struct npu_vm *exclusive)
{
	struct drm_gem_shmem_object *shmem;
	struct npu_bo *bo;
	int ret;

	shmem = drm_gem_shmem_create(&npu->base, size);
	if (IS_ERR(shmem))
		return ERR_CAST(shmem);

	bo = to_npu_bo(&shmem->base);
	bo->flags = flags;
	npu_bo_publish(npu, bo);
	if (exclusive) {
		bo->exclusive_root = npu_vm_resv_obj(exclusive);
		drm_gem_object_get(bo->exclusive_root);
		shmem->base.resv = bo->exclusive_root->resv;
	}

	if (size >= NPU_BO_LARGE && npu->gem.mnt) {
		ret = npu_compat_gem_use_mnt(&shmem->base, npu->gem.mnt);
		if (ret) {
			drm_gem_object_put(&shmem->base);
			return ERR_PTR(ret);
		}
	}

	return bo;
}

/**
 * npu_bo_get_sgt() - the buffer's memory, mapped for DMA
 * @bo: buffer
 *
 * Return: table, valid while the device can reach memory; or an error pointer, -EINTR among them.
 */
struct sg_table *npu_bo_get_sgt(struct npu_bo *bo)
{
	struct npu_device *npu = to_npu_device(bo->base.base.dev);

	guard(rwsem_read)(&npu->gem.dma_lock);
	if (npu->gem.unplugged)
		return ERR_PTR(-ENODEV);

	return bo->import ? bo->base.sgt : drm_gem_shmem_get_pages_sgt(&bo->base);
}

static void npu_bo_sync_piece(struct device *dev, u32 type, dma_addr_t dma, size_t size)
{
	if (type == DRM_NPU_BO_SYNC_TO_DEVICE)
		dma_sync_single_for_device(dev, dma, size, DMA_BIDIRECTIONAL);
	else
		dma_sync_single_for_cpu(dev, dma, size, DMA_BIDIRECTIONAL);
}

/**
 * npu_bo_sync() - make caches and bounce buffers agree
 * @bo: buffer, not imported
 * @type: enum drm_npu_bo_sync_type
 * @offset: first byte
 * @size: bytes, in the buffer
 *
 * Return: 0 or -EINTR. Nothing to do for a buffer that the device has never seen.
 */
int npu_bo_sync(struct npu_bo *bo, u32 type, u64 offset, u64 size)
{
	struct drm_gem_object *obj = &bo->base.base;
	struct npu_device *npu = to_npu_device(obj->dev);
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	guard(rwsem_read)(&npu->gem.dma_lock);
	ret = dma_resv_lock_interruptible(obj->resv, NULL);
	if (ret)
		return ret;
	if (!bo->base.sgt)
		goto out_unlock;

	for_each_sgtable_dma_sg(bo->base.sgt, sg, i) {
		u64 length = sg_dma_len(sg), piece;

		if (offset >= length) {
			offset -= length;
			continue;
		}
		piece = min(length - offset, size);
		if (!piece)
			break;
		npu_bo_sync_piece(obj->dev->dev, type, sg_dma_address(sg) + offset, piece);
		size -= piece;
		offset = 0;
	}

out_unlock:
	dma_resv_unlock(obj->resv);
	return 0;
}

/*
 * Behind an IOMMU the DMA API has one answer for all of a device's addresses, which is yes from the
 * first copy on: there it is looked up where the address leads to. Pools that grow at run time can
 * not be asked by a module; with them its answer stands.
 */
static bool npu_dma_is_bounced(struct device *dev, dma_addr_t dma)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (!dma_need_sync(dev, dma))
		return false;
	if (!domain || !(domain->type & __IOMMU_DOMAIN_PAGING) ||
	    IS_ENABLED(CONFIG_SWIOTLB_DYNAMIC))
		return true;

	return swiotlb_find_pool(dev, iommu_iova_to_phys(domain, dma));
}

/**
 * npu_sgt_is_bounced() - whether the kernel copies between memory and what the device sees
 * @dev: device
 * @sgt: the memory, mapped for it
 *
 * Return: true when any piece is copied. Where caches are not coherent there is no telling.
 */
bool npu_sgt_is_bounced(struct device *dev, struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;

	if (!dev_is_dma_coherent(dev))
		return false;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (npu_dma_is_bounced(dev, sg_dma_address(sg)))
			return true;
	}

	return false;
}

/* The same of a buffer; what is not mapped is not copied. */
bool npu_bo_is_bounced(struct npu_bo *bo)
{
	struct npu_device *npu = to_npu_device(bo->base.base.dev);

	guard(rwsem_read)(&npu->gem.dma_lock);

	return bo->base.sgt && npu_sgt_is_bounced(bo->base.base.dev->dev, bo->base.sgt);
}

/* Takes over @label. */
void npu_bo_set_label(struct npu_bo *bo, char *label)
{
	char *old;

	scoped_guard(mutex, &bo->label_lock) {
		old = bo->label;
		bo->label = label;
	}
	kfree(old);
}
