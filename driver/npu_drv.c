// SPDX-License-Identifier: GPL-2.0-only
/*
 * DRM driver: files and ioctls. A handler first looks at flags and padding, then at the objects
 * that the arguments name, then it works, between drm_dev_enter() and drm_dev_exit(). Memory of
 * programs is looked at outside of these: it may take as long as the program likes, and unplug
 * waits for all that is in between.
 */
#include <linux/module.h>
#include <linux/uaccess.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "../uapi/drm/npu_drm.h"

#include "npu_compat.h"
#include "npu_device.h"
#include "npu_drv.h"
#include "npu_file.h"
#include "npu_gem.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_limits.h"
#include "npu_query.h"
#include "npu_queue.h"
#include "npu_submit.h"
#include "npu_uobj.h"
#include "npu_vm.h"

/* Operations of one BO_SYNC. */
#define NPU_MAX_SYNC_OPS	4096

/* Ids start at 1: 0 means "none" in arguments. */
#define NPU_ID_LIMIT		XA_LIMIT(1, S32_MAX)

/**
 * npu_file_get_vm() - VM of an id
 * @file: whose
 * @id: it
 *
 * Return: VM with a reference, or NULL.
 */
struct npu_vm *npu_file_get_vm(struct npu_file *file, u32 id)
{
	struct npu_vm *vm;

	xa_lock(&file->vms);
	vm = xa_load(&file->vms, id);
	if (vm)
		npu_vm_get(vm);
	xa_unlock(&file->vms);

	return vm;
}

/**
 * npu_file_get_queue() - queue of an id
 * @file: whose
 * @id: it
 *
 * Return: queue with a reference, or NULL.
 */
struct npu_queue *npu_file_get_queue(struct npu_file *file, u32 id)
{
	struct npu_queue *queue;

	xa_lock(&file->queues);
	queue = xa_load(&file->queues, id);
	if (queue)
		npu_queue_get(queue);
	xa_unlock(&file->queues);

	return queue;
}

static int npu_ioctl_dev_query(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	return npu_query(npu, data);
}

static int npu_ioctl_vm_create(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct npu_file *file = drm_file->driver_priv;
	u64 all = npu_query_user_va_end(npu);
	struct drm_npu_vm_create *args = data;
	struct npu_vm *vm;
	int ret;

	if (args->flags)
		return -EINVAL;
	if (!args->user_va_range)
		args->user_va_range = all;
	if (args->user_va_range > all || !IS_ALIGNED(args->user_va_range, PAGE_SIZE))
		return -EINVAL;

	vm = npu_vm_create(npu, file->user, args->user_va_range);
	if (IS_ERR(vm))
		return PTR_ERR(vm);

	ret = xa_alloc(&file->vms, &args->id, vm, NPU_ID_LIMIT, GFP_KERNEL);
	if (ret)
		npu_vm_put(vm);

	return ret;
}

/* Takes the file's reference over. */
static void npu_file_end_queue(struct npu_queue *queue)
{
	npu_queue_kill(queue);
	npu_queue_put(queue);
}

static void npu_file_end_queues_of(struct npu_file *file, struct npu_vm *vm)
{
	struct npu_queue *queue;
	unsigned long id;

	xa_for_each(&file->queues, id, queue) {
		/* Another thread may destroy it meanwhile. */
		queue = npu_file_get_queue(file, id);
		/* Whoever takes it out ends it. */
		if (queue && queue->vm == vm &&
		    xa_cmpxchg(&file->queues, id, queue, NULL, 0) == queue)
			npu_file_end_queue(queue);
		npu_queue_put(queue);
	}
}

static int npu_ioctl_vm_destroy(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct npu_file *file = drm_file->driver_priv;
	struct drm_npu_vm_destroy *args = data;
	struct npu_vm *vm;

	if (args->pad)
		return -EINVAL;

	vm = xa_erase(&file->vms, args->id);
	if (!vm)
		return -ENOENT;

	npu_file_end_queues_of(file, vm);
	npu_vm_put(vm);

	return 0;
}

static int npu_ioctl_vm_bind(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_vm_bind *args = data;
	struct npu_vm *vm;
	int ret;

	args->done = 0;
	if (args->flags || args->pad)
		return -EINVAL;

	vm = npu_file_get_vm(drm_file->driver_priv, args->vm_id);
	if (!vm)
		return -ENOENT;

	ret = npu_vm_bind(vm, drm_file, args);
	npu_vm_put(vm);

	return ret;
}

static int npu_ioctl_vm_get_state(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_vm_get_state *args = data;
	struct npu_vm *vm;

	vm = npu_file_get_vm(drm_file->driver_priv, args->vm_id);
	if (!vm)
		return -ENOENT;

	args->state = npu_vm_is_unusable(vm) ? DRM_NPU_VM_STATE_UNUSABLE :
					       DRM_NPU_VM_STATE_USABLE;
	npu_vm_put(vm);

	return 0;
}

/* The handle comes last: from then on another thread may close it. */
static int npu_bo_create_with_handle(struct npu_device *npu, struct drm_file *drm_file,
				     struct drm_npu_bo_create *args, struct npu_vm *vm)
{
	struct npu_bo *bo;
	int ret;

	bo = npu_bo_create(npu, args->size, args->flags, vm);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	ret = drm_gem_handle_create(drm_file, &bo->base.base, &args->handle);
	drm_gem_object_put(&bo->base.base);

	return ret;
}

/* A buffer has a table of its pages, and the kernel warns of one that is larger. */
#define NPU_BO_MAX_PAGES	(INT_MAX / sizeof(struct page *))

static int npu_ioctl_bo_create(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_bo_create *args = data;
	struct npu_vm *vm = NULL;
	int ret;

	if (args->flags & ~DRM_NPU_BO_NO_MMAP || args->pad)
		return -EINVAL;
	if (!args->size || args->size > npu_query_user_va_end(npu))
		return -EINVAL;
	args->size = PAGE_ALIGN(args->size);
	if (args->size >> PAGE_SHIFT > min(totalram_pages(), NPU_BO_MAX_PAGES))
		return -ENOMEM;

	if (args->exclusive_vm_id) {
		vm = npu_file_get_vm(drm_file->driver_priv, args->exclusive_vm_id);
		if (!vm)
			return -ENOENT;
	}

	ret = npu_bo_create_with_handle(npu, drm_file, args, vm);
	npu_vm_put(vm);

	return ret;
}

static int npu_ioctl_bo_mmap_offset(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_bo_mmap_offset *args = data;
	struct drm_gem_object *obj;
	int ret = 0;

	if (args->pad)
		return -EINVAL;

	obj = drm_gem_object_lookup(drm_file, args->handle);
	if (!obj)
		return -ENOENT;

	/* The offset exists since the object does. */
	if (to_npu_bo(obj)->import || to_npu_bo(obj)->flags & DRM_NPU_BO_NO_MMAP)
		ret = -EINVAL;
	else
		args->offset = drm_vma_node_offset_addr(&obj->vma_node);
	drm_gem_object_put(obj);

	return ret;
}

static int npu_bo_sync_op(struct drm_file *drm_file, const struct drm_npu_bo_sync_op *op)
{
	struct drm_gem_object *obj;
	int ret = -EINVAL;

	if (op->type > DRM_NPU_BO_SYNC_FROM_DEVICE)
		return -EINVAL;

	obj = drm_gem_object_lookup(drm_file, op->handle);
	if (!obj)
		return -ENOENT;

	if (!to_npu_bo(obj)->import && op->offset <= obj->size &&
	    op->size <= obj->size - op->offset)
		ret = npu_bo_sync(to_npu_bo(obj), op->type, op->offset, op->size);
	drm_gem_object_put(obj);

	return ret;
}

static int npu_ioctl_bo_sync(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_bo_sync_op *ops;
	struct drm_npu_bo_sync *args = data;
	int cookie, ret = 0;
	u32 i;

	if (args->ops.count > NPU_MAX_SYNC_OPS)
		return -EINVAL;
	ops = npu_uobj_array_get(&args->ops, sizeof(*ops), sizeof(*ops));
	if (IS_ERR(ops))
		return PTR_ERR(ops);

	if (drm_dev_enter(&npu->base, &cookie)) {
		for (i = 0; i < args->ops.count && !ret; i++)
			ret = npu_bo_sync_op(drm_file, &ops[i]);
		drm_dev_exit(cookie);
	} else {
		ret = -ENODEV;
	}
	kvfree(ops);

	return ret;
}

static int npu_ioctl_bo_query_info(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_bo_query_info *args = data;
	struct drm_gem_object *obj;

	if (args->pad)
		return -EINVAL;

	obj = drm_gem_object_lookup(drm_file, args->handle);
	if (!obj)
		return -ENOENT;

	args->create_flags = to_npu_bo(obj)->flags;
	args->size = obj->size;
	args->extra = (to_npu_bo(obj)->import ? DRM_NPU_BO_IS_IMPORTED : 0) |
		      (npu_bo_is_bounced(to_npu_bo(obj)) ? DRM_NPU_BO_IS_BOUNCED : 0);
	drm_gem_object_put(obj);

	return 0;
}

static char *npu_bo_get_label(u64 pointer)
{
	char *label;

	if (!pointer)
		return NULL;

	label = strndup_user(u64_to_user_ptr(pointer), DRM_NPU_BO_LABEL_MAX);

	return label == ERR_PTR(-EINVAL) ? ERR_PTR(-E2BIG) : label;
}

static int npu_ioctl_bo_set_label(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_bo_set_label *args = data;
	struct drm_gem_object *obj;
	char *label;

	if (args->pad)
		return -EINVAL;

	label = npu_bo_get_label(args->label);
	if (IS_ERR(label))
		return PTR_ERR(label);

	obj = drm_gem_object_lookup(drm_file, args->handle);
	if (!obj) {
		kfree(label);
		return -ENOENT;
	}
	npu_bo_set_label(to_npu_bo(obj), label);
	drm_gem_object_put(obj);

	return 0;
}

static int npu_queue_create_with_id(struct npu_device *npu, struct npu_file *file,
				    struct npu_vm *vm, struct drm_npu_queue_create *args)
{
	const struct npu_queue_args queue_args = {
		.vm = vm,
		.user = file->user,
		.stats = file->stats,
		.priority = args->priority,
		.depth = args->depth,
	};
	struct npu_queue *queue;
	int ret;

	queue = npu_queue_create(npu, &queue_args);
	if (IS_ERR(queue))
		return PTR_ERR(queue);

	ret = xa_alloc(&file->queues, &args->id, queue, NPU_ID_LIMIT, GFP_KERNEL);
	if (ret)
		npu_file_end_queue(queue);

	return ret;
}

static int npu_ioctl_queue_create(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct npu_file *file = drm_file->driver_priv;
	struct drm_npu_queue_create *args = data;
	struct npu_vm *vm;
	int ret;

	if (args->flags || args->pad || args->priority > DRM_NPU_PRIORITY_REALTIME ||
	    args->depth > NPU_QUEUE_MAX_DEPTH)
		return -EINVAL;
	if (!npu_query_may_priority(args->priority))
		return -EACCES;
	args->depth = roundup_pow_of_two(args->depth ?: NPU_QUEUE_DEPTH);

	vm = npu_file_get_vm(file, args->vm_id);
	if (!vm)
		return -ENOENT;

	ret = npu_queue_create_with_id(npu, file, vm, args);
	npu_vm_put(vm);

	return ret;
}

static int npu_ioctl_queue_destroy(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct npu_file *file = drm_file->driver_priv;
	struct drm_npu_queue_destroy *args = data;
	struct npu_queue *queue;

	if (args->pad)
		return -EINVAL;

	queue = xa_erase(&file->queues, args->id);
	if (!queue)
		return -ENOENT;

	npu_file_end_queue(queue);

	return 0;
}

static int npu_ioctl_queue_get_state(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_queue_get_state *args = data;
	struct npu_queue *queue;

	if (args->pad)
		return -EINVAL;

	queue = npu_file_get_queue(drm_file->driver_priv, args->id);
	if (!queue)
		return -ENOENT;

	npu_queue_get_state(queue, args);
	npu_queue_put(queue);

	return 0;
}

static int npu_ioctl_job_get_result(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_job_get_result *args = data;
	struct npu_queue *queue;
	int ret;

	queue = npu_file_get_queue(drm_file->driver_priv, args->queue_id);
	if (!queue)
		return -ENOENT;

	ret = npu_queue_get_result(queue, args);
	npu_queue_put(queue);

	return ret;
}

static int npu_ioctl_job_cancel(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_job_cancel *args = data;
	struct npu_queue *queue;
	int ret;

	if (args->flags)
		return -EINVAL;

	queue = npu_file_get_queue(drm_file->driver_priv, args->queue_id);
	if (!queue)
		return -ENOENT;

	ret = npu_job_cancel(queue, args->job_id);
	npu_queue_put(queue);

	return ret;
}

static int npu_ioctl_submit(struct npu_device *npu, void *data, struct drm_file *drm_file)
{
	struct drm_npu_submit *args = data;
	struct npu_queue *queue;
	int ret;

	args->done = 0;
	if (args->flags || args->pad)
		return -EINVAL;

	queue = npu_file_get_queue(drm_file->driver_priv, args->queue_id);
	if (!queue)
		return -ENOENT;

	ret = npu_submit(queue, drm_file, args);
	npu_queue_put(queue);

	return ret;
}

/* An unplugged device is gone for every ioctl, and does not go while one is under way. */
#define NPU_IOCTL_FUNC(name)									\
static int npu_drm_ioctl_##name(struct drm_device *drm, void *data, struct drm_file *drm_file)	\
{												\
	int cookie, ret;									\
												\
	if (!drm_dev_enter(drm, &cookie))							\
		return -ENODEV;									\
	ret = npu_ioctl_##name(to_npu_device(drm), data, drm_file);				\
	drm_dev_exit(cookie);									\
												\
	return ret;										\
}

/*
 * These look at memory of the program, and enter when that is over. That a device has gone long ago
 * drm_ioctl() has found out.
 */
#define NPU_IOCTL_FUNC_USER(name)								\
static int npu_drm_ioctl_##name(struct drm_device *drm, void *data, struct drm_file *drm_file)	\
{												\
	return npu_ioctl_##name(to_npu_device(drm), data, drm_file);				\
}

NPU_IOCTL_FUNC_USER(dev_query)
NPU_IOCTL_FUNC(vm_create)
NPU_IOCTL_FUNC(vm_destroy)
NPU_IOCTL_FUNC_USER(vm_bind)
NPU_IOCTL_FUNC(vm_get_state)
NPU_IOCTL_FUNC(bo_create)
NPU_IOCTL_FUNC(bo_mmap_offset)
NPU_IOCTL_FUNC_USER(bo_sync)
NPU_IOCTL_FUNC(bo_query_info)
NPU_IOCTL_FUNC_USER(bo_set_label)
NPU_IOCTL_FUNC(queue_create)
NPU_IOCTL_FUNC(queue_destroy)
NPU_IOCTL_FUNC(queue_get_state)
NPU_IOCTL_FUNC_USER(submit)
NPU_IOCTL_FUNC(job_get_result)
NPU_IOCTL_FUNC(job_cancel)

#define NPU_IOCTL(upper, lower)									\
	DRM_IOCTL_DEF_DRV(NPU_##upper, npu_drm_ioctl_##lower, 0)

static const struct drm_ioctl_desc npu_ioctls[] = {
	NPU_IOCTL(DEV_QUERY, dev_query),
	NPU_IOCTL(VM_CREATE, vm_create),
	NPU_IOCTL(VM_DESTROY, vm_destroy),
	NPU_IOCTL(VM_BIND, vm_bind),
	NPU_IOCTL(VM_GET_STATE, vm_get_state),
	NPU_IOCTL(BO_CREATE, bo_create),
	NPU_IOCTL(BO_MMAP_OFFSET, bo_mmap_offset),
	NPU_IOCTL(BO_SYNC, bo_sync),
	NPU_IOCTL(BO_QUERY_INFO, bo_query_info),
	NPU_IOCTL(BO_SET_LABEL, bo_set_label),
	NPU_IOCTL(QUEUE_CREATE, queue_create),
	NPU_IOCTL(QUEUE_DESTROY, queue_destroy),
	NPU_IOCTL(QUEUE_GET_STATE, queue_get_state),
	NPU_IOCTL(SUBMIT, submit),
	NPU_IOCTL(JOB_GET_RESULT, job_get_result),
	NPU_IOCTL(JOB_CANCEL, job_cancel),
};

static int npu_file_init(struct npu_file *file, struct npu_device *npu)
{
	file->stats = kzalloc_obj(*file->stats);
	if (!file->stats)
		return -ENOMEM;

	file->user = npu_user_find(npu, current_euid());
	if (!file->user) {
		kfree(file->stats);
		return -ENOMEM;
	}

	kref_init(&file->stats->ref);
	file->npu = npu;
	xa_init_flags(&file->vms, XA_FLAGS_ALLOC1);
	xa_init_flags(&file->queues, XA_FLAGS_ALLOC1);

	return 0;
}

static int npu_drm_open(struct drm_device *drm, struct drm_file *drm_file)
{
	struct npu_file *file;
	int ret;

	file = kzalloc_obj(*file);
	if (!file)
		return -ENOMEM;

	ret = npu_file_init(file, to_npu_device(drm));
	if (ret) {
		kfree(file);
		return ret;
	}
	drm_file->driver_priv = file;

	return 0;
}

static void npu_drm_postclose(struct drm_device *drm, struct drm_file *drm_file)
{
	struct npu_file *file = drm_file->driver_priv;
	struct npu_queue *queue;
	struct npu_vm *vm;
	unsigned long id;

	xa_for_each(&file->queues, id, queue)
		npu_file_end_queue(queue);
	xa_for_each(&file->vms, id, vm)
		npu_vm_put(vm);

	xa_destroy(&file->queues);
	xa_destroy(&file->vms);
	npu_user_put(file->npu, file->user);
	npu_stats_put(file->stats);
	kfree(file);
}

static void npu_drm_show_fdinfo(struct drm_printer *p, struct drm_file *drm_file)
{
	struct npu_file *file = drm_file->driver_priv;
	int cookie;

	if (drm_dev_enter(&file->npu->base, &cookie)) {
		npu_hw_reap(file->npu);
		drm_dev_exit(cookie);
	}
	drm_printf(p, "drm-engine-npu:\t%lld ns\n", atomic64_read(&file->stats->busy_ns));
	drm_printf(p, "drm-engine-capacity-npu:\t%u\n", file->npu->caps.num_engines);
	drm_printf(p, "npu-jobs:\t%lld\n", atomic64_read(&file->stats->jobs));
	drm_show_memory_stats(p, drm_file);
}

static const struct file_operations npu_drm_fops = {
	.owner = THIS_MODULE,
	DRM_ACCEL_FOPS,
	.show_fdinfo = drm_show_fdinfo,
};

const struct drm_driver npu_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_COMPUTE_ACCEL | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE | NPU_COMPAT_DRIVER_FEATURES,
	.open = npu_drm_open,
	.postclose = npu_drm_postclose,
	.show_fdinfo = npu_drm_show_fdinfo,
	.ioctls = npu_ioctls,
	.num_ioctls = ARRAY_SIZE(npu_ioctls),
	.fops = &npu_drm_fops,
	.gem_create_object = npu_gem_create_object,
	.gem_prime_import = npu_gem_prime_import,
	.gem_prime_import_sg_table = npu_gem_prime_import_sg_table,
	.name = "npu",
	.desc = "NPU",
	.major = DRM_NPU_DRIVER_MAJOR,
	.minor = DRM_NPU_DRIVER_MINOR,
	NPU_COMPAT_DRIVER_DATE
};
