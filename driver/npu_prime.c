// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: sharing of buffers
 *
 * An import keeps its attachment mapped, in both directions, until it goes or the device is
 * unplugged. Sizes and addresses are the exporter's word, so they are checked.
 *
 * We do not let memory be taken back: the attachment is one without invalidate_mappings(), for
 * which the core has the exporter pin. Import costs what it costs once; page tables that must be
 * written anew behind every move would make each submit look, and fences wait for that. An exporter
 * that moves memory waits until nobody has it pinned, and one that must be able to take it back at
 * any time refuses us: what is bound stays valid as long as it is bound.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/scatterlist.h>

#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "npu_compat.h"
#include "npu_device.h"
#include "npu_gem.h"

NPU_COMPAT_IMPORT_NS_DMA_BUF;

struct dma_buf *npu_gem_prime_export(struct drm_gem_object *obj, int flags)
{
	/* It shares the reservation of its VM, which is nobody else's business. */
	if (to_npu_bo(obj)->exclusive_root)
		return ERR_PTR(-EINVAL);

	return drm_gem_prime_export(obj, flags);
}

static int npu_gem_prime_check(struct drm_device *drm, const struct dma_buf *dma_buf,
			       struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 total = 0;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!PAGE_ALIGNED(sg_dma_address(sg)) || !PAGE_ALIGNED(sg_dma_len(sg))) {
			drm_dbg_prime(drm, "a piece of %s is not made of pages\n",
				      dma_buf->exp_name);
			return -EADDRNOTAVAIL;
		}
		total += sg_dma_len(sg);
	}
	if (total < dma_buf->size) {
		drm_dbg_prime(drm, "%s: %llu bytes are mapped of %zu\n", dma_buf->exp_name, total,
			      dma_buf->size);
		return -EBADMSG;
	}

	return 0;
}

struct drm_gem_object *npu_gem_prime_import_sg_table(struct drm_device *drm,
						     struct dma_buf_attachment *attach,
						     struct sg_table *sgt)
{
	struct npu_device *npu = to_npu_device(drm);
	struct drm_gem_object *obj;
	struct npu_bo *bo;
	int ret;

	ret = npu_gem_prime_check(drm, attach->dmabuf, sgt);
	if (ret)
		return ERR_PTR(ret);

	obj = drm_gem_shmem_prime_import_sg_table(drm, attach, sgt);
	if (IS_ERR(obj))
		return obj;

	bo = to_npu_bo(obj);
	bo->import = attach->dmabuf;
	if (npu_sgt_is_bounced(drm->dev, sgt))
		atomic_inc(&npu->gem.bounced);
	scoped_guard(mutex, &npu->gem.lock)
		list_add_tail(&bo->node, &npu->gem.list);

	return obj;
}

/**
 * npu_gem_prime_import() - make a buffer of another driver's memory
 * @drm: DRM device
 * @dma_buf: the memory
 *
 * One of our own gives the object that it was exported from.
 *
 * Return: object, or an error pointer: -EINVAL when it does not consist of whole pages,
 * -EADDRNOTAVAIL when its pieces do not, -EBADMSG when less is mapped than it says, or what its
 * exporter says: -EOPNOTSUPP when it wants to be able to take it back.
 */
struct drm_gem_object *npu_gem_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct npu_device *npu = to_npu_device(drm);

	/* The core's objects are made of pages, with a BUG() otherwise. */
	if (!dma_buf->size || !PAGE_ALIGNED(dma_buf->size)) {
		drm_dbg_prime(drm, "%s: size %zu is not one of pages\n", dma_buf->exp_name,
			      dma_buf->size);
		return ERR_PTR(-EINVAL);
	}

	/* To the end: the core completes the object after npu_gem_prime_import_sg_table(). */
	guard(rwsem_read)(&npu->gem.dma_lock);
	if (npu->gem.unplugged)
		return ERR_PTR(-ENODEV);

	return drm_gem_prime_import_dev(drm, dma_buf, drm->dev);
}

/**
 * npu_gem_prime_release() - give the attachment back
 * @bo: imported buffer
 *
 * Its reference to the dma-buf, whose reservation it uses, stays until it is freed.
 */
void npu_gem_prime_release(struct npu_bo *bo)
{
	struct dma_buf_attachment *attach = bo->base.base.import_attach;

	if (!attach)
		return;

	dma_buf_unmap_attachment_unlocked(attach, bo->base.sgt, DMA_BIDIRECTIONAL);
	dma_buf_detach(bo->import, attach);
	bo->base.sgt = NULL;
	bo->base.base.import_attach = NULL;
}
