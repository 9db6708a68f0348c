/* SPDX-License-Identifier: GPL-2.0-only */
/* Address spaces of programs. */
#ifndef NPU_VM_H
#define NPU_VM_H

#include <linux/kref.h>
#include <linux/mutex.h>

#include <drm/drm_gpuvm.h>

#include "npu_pt.h"

struct drm_npu_vm_bind;
struct npu_device;
struct npu_file;
struct npu_user;

/* Operations of one VM_BIND. */
#define NPU_VM_MAX_OPS	4096

/**
 * struct npu_vm - an address space
 */
struct npu_vm {
	/** @base: who is mapped where; keeps the memory of this structure */
	struct drm_gpuvm base;

	/** @ref: the file's, and one of each queue; at zero nothing is mapped any more */
	struct kref ref;

	/** @npu: device */
	struct npu_device *npu;

	/** @user: whom it is charged to */
	struct npu_user *user;

	/** @context: of the device */
	u32 context;

	/** @lock: protects what is mapped: @base's tree, @pt, @unusable */
	struct mutex lock;

	/** @pt: page tables */
	struct npu_pt pt;

	/**
	 * @shared: something has been mapped that has a reservation of its own. Set under @lock,
	 * and never cleared
	 */
	bool shared;

	/** @unusable: an invalidation failed, and the reset after it */
	bool unusable;
};

struct npu_vm *npu_vm_create(struct npu_device *npu, struct npu_user *user, u64 range);
struct npu_vm *npu_vm_get(struct npu_vm *vm);
void npu_vm_put(struct npu_vm *vm);
int npu_vm_bind(struct npu_vm *vm, struct drm_file *file, struct drm_npu_vm_bind *args);
bool npu_vm_is_unusable(struct npu_vm *vm);
void npu_vm_unplug_all(struct npu_device *npu);

static inline struct drm_gem_object *npu_vm_resv_obj(struct npu_vm *vm)
{
	return vm->base.r_obj;
}

#endif
