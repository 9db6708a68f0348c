// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: VM_BIND
 *
 * Operations are carried out one after the other under the VM's lock, and are complete when the
 * ioctl returns. For each of them everything that can fail comes first: the buffer is looked up and
 * mapped for DMA, nodes and page tables are allocated. Then drm_gpuvm works out which mappings are
 * replaced or cut, and its callbacks only change what is there. Translations are invalidated once
 * for all operations, and only then references to buffers are dropped.
 */
#include <linux/dma-resv.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_print.h>

#include "../uapi/drm/npu_drm.h"

#include "npu_compat.h"
#include "npu_device.h"
#include "npu_gem.h"
#include "npu_limits.h"
#include "npu_mmu.h"
#include "npu_uobj.h"
#include "npu_vm.h"

/**
 * struct npu_va - a mapping
 * @base: where, and of what
 * @prot: NPU_PTE_READ, NPU_PTE_WRITE, NPU_PTE_EXEC
 */
struct npu_va {
	struct drm_gpuva base;
	u64 prot;
};

/**
 * struct npu_vm_op - one operation under way
 * @vm: whose
 * @prot: of the new mapping
 * @sgt: memory of the new mapping
 * @vm_bo: of the new mapping
 * @map: node for the new mapping
 * @prev: node for what stays in front of it
 * @next: node for what stays behind it
 * @gather: what must be invalidated
 * @dead: mappings that are gone, to be freed after the invalidation
 */
struct npu_vm_op {
	struct npu_vm *vm;
	u64 prot;
	struct sg_table *sgt;
	struct drm_gpuvm_bo *vm_bo;
	struct npu_va *map;
	struct npu_va *prev;
	struct npu_va *next;
	struct npu_pt_gather *gather;
	struct list_head *dead;
};

static struct npu_va *to_npu_va(struct drm_gpuva *va)
{
	return container_of(va, struct npu_va, base);
}

static void npu_va_link(struct npu_va *va, struct drm_gpuvm_bo *vm_bo)
{
	struct drm_gem_object *obj = va->base.gem.obj;

	dma_resv_lock(obj->resv, NULL);
	drm_gpuva_link(&va->base, vm_bo);
	dma_resv_unlock(obj->resv);
}

/* The last mapping of a buffer may hold its last reference. */
static void npu_va_free(struct npu_va *va)
{
	struct drm_gem_object *obj = va->base.gem.obj;

	drm_gem_object_get(obj);
	dma_resv_lock(obj->resv, NULL);
	drm_gpuva_unlink(&va->base);
	dma_resv_unlock(obj->resv);
	drm_gem_object_put(obj);
	kfree(va);
}

/* From here on nobody finds it; its node in the tree is free to be that of the list. */
static void npu_va_bury(struct npu_vm_op *op, struct npu_va *va)
{
	list_add_tail(&va->base.rb.entry, op->dead);
}

static int npu_vm_step_map(struct drm_gpuva_op *step, void *data)
{
	struct npu_vm_op *op = data;
	struct npu_va *va = op->map;

	op->map = NULL;
	va->prot = op->prot;
	drm_gpuva_map(&op->vm->base, &va->base, &step->map);
	npu_va_link(va, op->vm_bo);
	npu_pt_map(&op->vm->pt, va->base.va.addr, va->base.va.range, op->sgt,
		   va->base.gem.offset, va->prot, op->gather);

	return 0;
}

static int npu_vm_step_unmap(struct drm_gpuva_op *step, void *data)
{
	struct npu_vm_op *op = data;
	struct npu_va *va = to_npu_va(step->unmap.va);

	npu_pt_unmap(&op->vm->pt, va->base.va.addr, va->base.va.range, op->gather);
	drm_gpuva_unmap(&step->unmap);
	npu_va_bury(op, va);

	return 0;
}

static struct npu_va *npu_vm_take(struct npu_va **node, const struct drm_gpuva_op_map *keep,
				  u64 prot)
{
	struct npu_va *va = *node;

	if (!keep)
		return NULL;

	*node = NULL;
	va->prot = prot;

	return va;
}

/* A mapping is cut: what stays of it gets nodes of its own, its pages stay where they are. */
static int npu_vm_step_remap(struct drm_gpuva_op *step, void *data)
{
	struct drm_gpuva_op_remap *remap = &step->remap;
	struct npu_va *va = to_npu_va(remap->unmap->va), *prev, *next;
	u64 start = va->base.va.addr, end = start + va->base.va.range;
	struct npu_vm_op *op = data;

	if (remap->prev)
		start = remap->prev->va.addr + remap->prev->va.range;
	if (remap->next)
		end = remap->next->va.addr;
	npu_pt_unmap(&op->vm->pt, start, end - start, op->gather);

	prev = npu_vm_take(&op->prev, remap->prev, va->prot);
	next = npu_vm_take(&op->next, remap->next, va->prot);
	drm_gpuva_remap(prev ? &prev->base : NULL, next ? &next->base : NULL, remap);
	if (prev)
		npu_va_link(prev, va->base.vm_bo);
	if (next)
		npu_va_link(next, va->base.vm_bo);
	npu_va_bury(op, va);

	return 0;
}

static void npu_vm_free(struct drm_gpuvm *gpuvm)
{
	kfree(container_of(gpuvm, struct npu_vm, base));
}

static const struct drm_gpuvm_ops npu_vm_ops = {
	.vm_free = npu_vm_free,
	.sm_step_map = npu_vm_step_map,
	.sm_step_remap = npu_vm_step_remap,
	.sm_step_unmap = npu_vm_step_unmap,
};

static int npu_vm_init_context(struct npu_vm *vm)
{
	int ret;

	ret = npu_mmu_context_alloc(vm->npu, vm);
	if (ret < 0)
		return ret;

	vm->context = ret;
	ret = npu_pt_init(&vm->pt, vm->npu, vm->context);
	if (ret) {
		npu_mmu_context_free(vm->npu, vm->context);
		return ret;
	}
	npu_mmu_set_root(vm->npu, vm->context, npu_pt_root(&vm->pt));

	return 0;
}

static struct npu_vm *npu_vm_alloc(struct npu_device *npu, u64 range)
{
	struct drm_gem_object *resv_obj;
	struct npu_vm *vm;

	vm = kzalloc_obj(*vm, GFP_KERNEL_ACCOUNT);
	if (!vm)
		return NULL;

	resv_obj = drm_gpuvm_resv_object_alloc(&npu->base);
	if (!resv_obj) {
		kfree(vm);
		return NULL;
	}

	kref_init(&vm->ref);
	mutex_init(&vm->lock);
	vm->npu = npu;
	drm_gpuvm_init(&vm->base, "npu", 0, &npu->base, resv_obj, 0, range, 0, 0, &npu_vm_ops);
	drm_gem_object_put(resv_obj);

	return vm;
}

/**
 * npu_vm_create() - make an address space
 * @npu: device
 * @user: whom it is charged to
 * @range: addresses from 0 on
 *
 * Return: it, or an error pointer: -ENOSPC when no context is free, or the user has enough.
 */
struct npu_vm *npu_vm_create(struct npu_device *npu, struct npu_user *user, u64 range)
{
	struct npu_vm *vm;
	int ret;

	vm = npu_vm_alloc(npu, range);
	if (!vm)
		return ERR_PTR(-ENOMEM);

	ret = npu_user_charge(npu, user, NPU_LIMIT_VMS);
	if (ret)
		goto err_put;

	ret = npu_vm_init_context(vm);
	if (ret)
		goto err_uncharge;

	vm->user = npu_user_get(npu, user);

	return vm;

err_uncharge:
	npu_user_uncharge(npu, user, NPU_LIMIT_VMS);
err_put:
	drm_gpuvm_put(&vm->base);
	return ERR_PTR(ret);
}

struct npu_vm *npu_vm_get(struct npu_vm *vm)
{
	kref_get(&vm->ref);

	return vm;
}

static void npu_vm_release(struct kref *ref)
{
	struct npu_vm *vm = container_of(ref, struct npu_vm, ref);
	struct npu_device *npu = vm->npu;
	struct drm_gpuva *va, *next;

	/* First of all the device forgets all of it. */
	npu_mmu_set_root(npu, vm->context, 0);
	/* The context's table still names it: debugfs and unplug may look at it. */
	scoped_guard(mutex, &vm->lock) {
		drm_gpuvm_for_each_va_safe(va, next, &vm->base) {
			drm_gpuva_remove(va);
			npu_va_free(to_npu_va(va));
		}
		npu_pt_fini(&vm->pt);
	}
	npu_mmu_context_free(npu, vm->context);
	npu_user_uncharge(npu, vm->user, NPU_LIMIT_VMS);
	npu_user_put(npu, vm->user);
	mutex_destroy(&vm->lock);
	drm_gpuvm_put(&vm->base);
}

/* May wait for the device; not in atomic context. */
void npu_vm_put(struct npu_vm *vm)
{
	if (vm)
		kref_put(&vm->ref, npu_vm_release);
}

bool npu_vm_is_unusable(struct npu_vm *vm)
{
	guard(mutex)(&vm->lock);

	return vm->unusable || READ_ONCE(vm->npu->hw.gone);
}

/**
 * npu_vm_unplug_all() - free all page tables, before the device's DMA operations go away
 * @npu: device; it can not reach memory any more
 */
void npu_vm_unplug_all(struct npu_device *npu)
{
	u32 context;

	guard(mutex)(&npu->mmu.ctx_lock);
	for (context = 0; context < NPU_HW_MAX_CONTEXTS; context++) {
		struct npu_vm *vm = npu->mmu.vms[context];

		if (!vm)
			continue;
		guard(mutex)(&vm->lock);
		vm->unusable = true;
		npu_pt_fini(&vm->pt);
	}
}

static u64 npu_vm_prot(u32 flags)
{
	if (flags & DRM_NPU_VM_BIND_OP_EXEC)
		return NPU_PTE_EXEC;

	return flags & DRM_NPU_VM_BIND_OP_READONLY ? NPU_PTE_READ : NPU_PTE_READ | NPU_PTE_WRITE;
}

static int npu_vm_op_check(struct npu_vm *vm, const struct drm_npu_vm_bind_op *uop)
{
	const u32 known = DRM_NPU_VM_BIND_OP_READONLY | DRM_NPU_VM_BIND_OP_EXEC |
			  DRM_NPU_VM_BIND_OP_TYPE_MASK;
	u64 end;

	if (uop->flags & ~known)
		return -EINVAL;
	if (!uop->size || !IS_ALIGNED(uop->va | uop->size | uop->bo_offset, PAGE_SIZE))
		return -EINVAL;
	if (check_add_overflow(uop->va, uop->size, &end) || end > vm->base.mm_range)
		return -EINVAL;

	switch (uop->flags & DRM_NPU_VM_BIND_OP_TYPE_MASK) {
	case DRM_NPU_VM_BIND_OP_TYPE_MAP:
		if (uop->flags & DRM_NPU_VM_BIND_OP_READONLY &&
		    uop->flags & DRM_NPU_VM_BIND_OP_EXEC)
			return -EINVAL;
		return 0;
	case DRM_NPU_VM_BIND_OP_TYPE_UNMAP:
		if (uop->flags != DRM_NPU_VM_BIND_OP_TYPE_UNMAP || uop->bo_handle || uop->bo_offset)
			return -EINVAL;
		return 0;
	default:
		return -EINVAL;
	}
}

static void npu_vm_op_fini(struct npu_vm_op *op)
{
	if (op->vm_bo) {
		struct drm_gem_object *obj = op->vm_bo->obj;

		drm_gem_object_get(obj);
		dma_resv_lock(obj->resv, NULL);
		drm_gpuvm_bo_put(op->vm_bo);
		dma_resv_unlock(obj->resv);
		drm_gem_object_put(obj);
	}
	kfree(op->map);
	kfree(op->prev);
	kfree(op->next);
}

static int npu_vm_op_alloc(struct npu_vm_op *op)
{
	op->map = kzalloc_obj(*op->map, GFP_KERNEL_ACCOUNT);
	op->prev = kzalloc_obj(*op->prev, GFP_KERNEL_ACCOUNT);
	op->next = kzalloc_obj(*op->next, GFP_KERNEL_ACCOUNT);

	return op->map && op->prev && op->next ? 0 : -ENOMEM;
}

static int npu_vm_op_get_bo(struct npu_vm_op *op, struct drm_gem_object *obj,
			    const struct drm_npu_vm_bind_op *uop)
{
	struct npu_bo *bo = to_npu_bo(obj);
	struct drm_gpuvm_bo *vm_bo;
	u64 end;

	if (check_add_overflow(uop->bo_offset, uop->size, &end) || end > obj->size)
		return -EINVAL;
	if (bo->exclusive_root && bo->exclusive_root != npu_vm_resv_obj(op->vm))
		return -EINVAL;

	op->sgt = npu_bo_get_sgt(bo);
	if (IS_ERR(op->sgt))
		return PTR_ERR(op->sgt);

	/* First this: jobs that are submitted from here on have its reservation, too. */
	if (!bo->exclusive_root)
		WRITE_ONCE(op->vm->shared, true);
	dma_resv_lock(obj->resv, NULL);
	vm_bo = drm_gpuvm_bo_obtain_locked(&op->vm->base, obj);
	if (!IS_ERR(vm_bo))
		drm_gpuvm_bo_extobj_add(vm_bo);
	dma_resv_unlock(obj->resv);
	if (IS_ERR(vm_bo))
		return PTR_ERR(vm_bo);
	op->vm_bo = vm_bo;

	return 0;
}

static int npu_vm_op_map(struct npu_vm_op *op, struct drm_gem_object *obj,
			 const struct drm_npu_vm_bind_op *uop)
{
	struct npu_vm *vm = op->vm;
	struct drm_gpuvm_map_req req = {
		.map.va.addr = uop->va,
		.map.va.range = uop->size,
		.map.gem.obj = obj,
		.map.gem.offset = uop->bo_offset,
	};
	int ret;

	op->prot = npu_vm_prot(uop->flags);
	ret = npu_vm_op_get_bo(op, obj, uop);
	if (ret)
		return ret;

	ret = npu_pt_prepare(&vm->pt, uop->va, uop->size, op->sgt, uop->bo_offset);
	if (ret) {
		npu_pt_prune(&vm->pt, uop->va, uop->size, op->gather);
		return ret;
	}

	return drm_gpuvm_sm_map(&vm->base, op, &req);
}

static int npu_vm_op_unmap(struct npu_vm_op *op, const struct drm_npu_vm_bind_op *uop)
{
	struct npu_vm *vm = op->vm;
	int ret;

	ret = npu_pt_prepare_unmap(&vm->pt, uop->va, uop->size);
	if (ret)
		return ret;

	ret = drm_gpuvm_sm_unmap(&vm->base, op, uop->va, uop->size);
	npu_pt_prune(&vm->pt, uop->va, uop->size, op->gather);

	return ret;
}

static int npu_vm_op_run(struct npu_vm_op *op, struct drm_file *file,
			 const struct drm_npu_vm_bind_op *uop)
{
	struct drm_gem_object *obj;
	int ret;

	ret = npu_vm_op_check(op->vm, uop);
	if (ret)
		return ret;

	ret = npu_vm_op_alloc(op);
	if (ret)
		return ret;

	if ((uop->flags & DRM_NPU_VM_BIND_OP_TYPE_MASK) == DRM_NPU_VM_BIND_OP_TYPE_UNMAP)
		return npu_vm_op_unmap(op, uop);

	obj = drm_gem_object_lookup(file, uop->bo_handle);
	if (!obj)
		return -ENOENT;
	ret = npu_vm_op_map(op, obj, uop);
	drm_gem_object_put(obj);

	return ret;
}

static void npu_vm_bury(struct list_head *dead)
{
	struct npu_va *va, *next;

	list_for_each_entry_safe(va, next, dead, base.rb.entry) {
		list_del(&va->base.rb.entry);
		npu_va_free(va);
	}
}

static int npu_vm_bind_locked(struct npu_vm *vm, struct drm_file *file,
			      const struct drm_npu_vm_bind_op *uops, u32 count, u32 *done)
{
	struct npu_pt_gather gather;
	LIST_HEAD(dead);
	int ret = 0;

	lockdep_assert_held(&vm->lock);

	npu_pt_gather_init(&gather);
	for (*done = 0; *done < count && !ret; *done += !ret) {
		struct npu_vm_op op = { .vm = vm, .gather = &gather, .dead = &dead };

		ret = npu_vm_op_run(&op, file, &uops[*done]);
		npu_vm_op_fini(&op);
	}

	npu_pt_gather_flush(&vm->pt, &gather);
	npu_vm_bury(&dead);
	vm->unusable |= READ_ONCE(vm->npu->hw.gone);

	return ret;
}

static int npu_vm_bind_enter(struct npu_vm *vm, struct drm_file *file,
			     const struct drm_npu_vm_bind_op *uops, struct drm_npu_vm_bind *args)
{
	int cookie, ret;

	if (!drm_dev_enter(&vm->npu->base, &cookie))
		return -ENODEV;

	ret = mutex_lock_interruptible(&vm->lock);
	if (ret)
		goto out_exit;

	if (!vm->pt.root)
		ret = -ENODEV;
	else
		ret = npu_vm_bind_locked(vm, file, uops, args->ops.count, &args->done);
	mutex_unlock(&vm->lock);

out_exit:
	drm_dev_exit(cookie);
	return ret;
}

/**
 * npu_vm_bind() - carry out a VM_BIND
 * @vm: address space
 * @file: whose handles the operations name
 * @args: arguments, flags and padding already checked; done is filled in
 *
 * Called without drm_dev_enter().
 *
 * Return: 0 or a negative errno. When interrupted, the call may be repeated: doing operations
 * twice, in order, gives the same as doing them once.
 */
int npu_vm_bind(struct npu_vm *vm, struct drm_file *file, struct drm_npu_vm_bind *args)
{
	struct drm_npu_vm_bind_op *uops;
	int ret;

	if (args->ops.count > NPU_VM_MAX_OPS)
		return -EINVAL;
	uops = npu_uobj_array_get(&args->ops, sizeof(*uops),
				  offsetofend(struct drm_npu_vm_bind_op, size));
	if (IS_ERR(uops))
		return PTR_ERR(uops);

	ret = npu_vm_bind_enter(vm, file, uops, args);
	kvfree(uops);

	return ret;
}
