/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels that the driver is built for. The driver is written to the
 * newest names; here stands what an older kernel calls otherwise. npu_config.h is the result of
 * probes (scripts/probe.sh): point releases of stable kernels carry changes back, so that versions
 * tell nothing. For a kernel that has it all this file is empty.
 */
#ifndef NPU_COMPAT_H
#define NPU_COMPAT_H

#include <linux/module.h>
#include <linux/mount.h>
#include <linux/shmem_fs.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_managed.h>

#include "npu_config.h"

#ifdef HAVE_IMPORT_NS_TOKEN
#define NPU_COMPAT_IMPORT_NS_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#else
#define NPU_COMPAT_IMPORT_NS_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#endif

#ifdef HAVE_DRIVER_GEM_GPUVA
#define NPU_COMPAT_DRIVER_FEATURES	DRIVER_GEM_GPUVA
#else
#define NPU_COMPAT_DRIVER_FEATURES	0
#endif

#ifdef HAVE_DRM_DRIVER_DATE
#define NPU_COMPAT_DRIVER_DATE		.date = "20261129",
#else
#define NPU_COMPAT_DRIVER_DATE
#endif

#ifndef HAVE_GPUVM_BO_OBTAIN_LOCKED
#define drm_gpuvm_bo_obtain_locked	drm_gpuvm_bo_obtain
#endif

#ifndef HAVE_GPUVM_MAP_REQ
struct drm_gpuvm_map_req {
	struct drm_gpuva_op_map map;
};

static inline int npu_compat_sm_map(struct drm_gpuvm *gpuvm, void *priv,
				    const struct drm_gpuvm_map_req *req)
{
	return drm_gpuvm_sm_map(gpuvm, priv, req->map.va.addr, req->map.va.range,
				req->map.gem.obj, req->map.gem.offset);
}

#define drm_gpuvm_sm_map		npu_compat_sm_map
#endif

/*
 * *@mnt is the mount for npu_compat_gem_use_mnt(), or stays NULL when the core uses one by itself.
 */
#ifdef HAVE_GEM_HUGE_MNT
static inline int npu_compat_huge_mnt_create(struct drm_device *drm, struct vfsmount **mnt)
{
	return drm_gem_huge_mnt_create(drm, "within_size");
}

static inline int npu_compat_gem_use_mnt(struct drm_gem_object *obj, struct vfsmount *mnt)
{
	return 0;
}
#else
static inline void npu_compat_huge_mnt_free(struct drm_device *drm, void *mnt)
{
	kern_unmount(mnt);
}

static inline int npu_compat_huge_mnt_create(struct drm_device *drm, struct vfsmount **mnt)
{
	char options[] = "huge=within_size";
	struct file_system_type *type = get_fs_type("tmpfs");
	struct vfsmount *new;
	int ret;

	if (!type)
		return -ENODEV;

	new = vfs_kern_mount(type, SB_KERNMOUNT, type->name, options);
	if (IS_ERR(new))
		return PTR_ERR(new);

	ret = drmm_add_action_or_reset(drm, npu_compat_huge_mnt_free, new);
	if (!ret)
		*mnt = new;

	return ret;
}

/* An object without pages gets another file to take them from. */
static inline int npu_compat_gem_use_mnt(struct drm_gem_object *obj, struct vfsmount *mnt)
{
	struct file *file;

	file = shmem_file_setup_with_mnt(mnt, "drm mm object", obj->size, VM_NORESERVE);
	if (IS_ERR(file))
		return PTR_ERR(file);

	mapping_set_gfp_mask(file->f_mapping, mapping_gfp_mask(obj->filp->f_mapping));
	fput(obj->filp);
	obj->filp = file;

	return 0;
}
#endif

#endif
