// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: debugfs
 *
 * In accel/<PCI address>/:
 *
 * fw_log        the firmware's log
 * fw_info       version, heartbeat and counters of the firmware
 * counters      of the hardware, the driver and recovery
 * gems          buffers: size, flags, label
 * vms           address spaces and their mappings
 * queues        queues, as the driver and as the firmware see them
 * force_reset   write anything: the device is reset
 * look_ms       how often the clock of npu_tdr.c looks at jobs, for tests that must notice when it
 *               has to find what an interrupt or a doorbell should have told
 * timeout_ms    how long a job may be without progress, for tests that have many of them hang
 */
#include <linux/debugfs.h>
#include <linux/pm_runtime.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_file.h>

#include "../uapi/drm/npu_drm.h"

#include "npu_debugfs.h"
#include "npu_device.h"
#include "npu_fw.h"
#include "npu_gem.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_queue.h"
#include "npu_tdr.h"
#include "npu_vm.h"

static struct npu_device *npu_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_npu_device(entry->dev);
}

static int npu_debugfs_fw_log(struct seq_file *m, void *data)
{
	struct npu_device *npu = npu_debugfs_device(m);
	size_t size;
	char *text;

	text = vmalloc(NPU_FW_LOG_DATA);
	if (!text)
		return -ENOMEM;

	size = npu_fw_log_read(npu, text, NPU_FW_LOG_DATA);
	seq_write(m, text, size);
	vfree(text);

	return 0;
}

static int npu_debugfs_fw_info(struct seq_file *m, void *data)
{
	static const char * const names[] = {
#define X(name, index, text) \
	[index] = text,
		NPU_FW_COUNTERS(X)
#undef X
	};
	struct npu_device *npu = npu_debugfs_device(m);
	const struct npu_fw_info *info = npu_fw_info(npu);
	int i;

	seq_printf(m, "version: %s\n", npu->fw.header.version);
	seq_printf(m, "build-id: %*phN\n", (int)sizeof(npu->fw.header.build_id),
		   npu->fw.header.build_id);
	seq_printf(m, "abi: %u\n", npu->fw.abi);
	seq_printf(m, "status: %s\n", npu_fw_boot_text(READ_ONCE(info->boot_status)));
	seq_printf(m, "heartbeat: %u\n", READ_ONCE(info->heartbeat));
	for (i = 0; i < ARRAY_SIZE(names); i++)
		seq_printf(m, "%s: %u\n", names[i], READ_ONCE(info->counter[i]));

	return 0;
}

static void npu_debugfs_hw_counters(struct seq_file *m, struct npu_device *npu)
{
	static const char * const names[] = {
#define X(name, index, text, what) \
	[index] = text,
		NPU_HW_COUNTERS(X)
#undef X
	};
	int i;

	down_read(&npu->hw.lock);
	for (i = 0; npu->hw.online && i < ARRAY_SIZE(names); i++)
		seq_printf(m, "%s: %llu\n", names[i], npu_hw_read64(npu, NPU_REG_COUNTER(i)));
	up_read(&npu->hw.lock);
}

static int npu_debugfs_counters(struct seq_file *m, void *data)
{
	struct npu_device *npu = npu_debugfs_device(m);
	int ret;

	ret = pm_runtime_resume_and_get(npu->base.dev);
	if (ret)
		return ret;
	npu_debugfs_hw_counters(m, npu);
	npu_hw_reap(npu);
	pm_runtime_mark_last_busy(npu->base.dev);
	pm_runtime_put_autosuspend(npu->base.dev);

	seq_printf(m, "interrupts: %llu\n", READ_ONCE(npu->irq.count));
	seq_printf(m, "jobs: %d\n", atomic_read(&npu->jobs));
	seq_printf(m, "in-flight: %d\n", atomic_read(&npu->inflight));
	seq_printf(m, "busy-ns: %lld\n", atomic64_read(&npu->busy_ns));
	seq_printf(m, "aborts: %u\n", npu->reset.aborts);
	seq_printf(m, "engine-resets: %u\n", npu->reset.engine_resets);
	seq_printf(m, "device-resets: %u\n", npu->reset.count);
	seq_printf(m, "bounced-imports: %d\n", atomic_read(&npu->gem.bounced));

	return 0;
}

static void npu_debugfs_gem(struct seq_file *m, struct npu_bo *bo)
{
	struct drm_gem_object *obj = &bo->base.base;

	guard(mutex)(&bo->label_lock);
	seq_printf(m, "%12zu %4u %c%c%c%c %s\n", obj->size, kref_read(&obj->refcount),
		   bo->import ? 'i' : '-', obj->dma_buf && !bo->import ? 'e' : '-',
		   bo->exclusive_root ? 'x' : '-', bo->flags & DRM_NPU_BO_NO_MMAP ? 'n' : '-',
		   bo->label ?: "");
}

static int npu_debugfs_gems(struct seq_file *m, void *data)
{
	struct npu_device *npu = npu_debugfs_device(m);
	u64 total = 0, count = 0;
	struct npu_bo *bo;

	seq_puts(m, "        size refs flags (imported, exported, exclusive, no mmap) label\n");
	guard(mutex)(&npu->gem.lock);
	list_for_each_entry(bo, &npu->gem.list, node) {
		npu_debugfs_gem(m, bo);
		total += bo->base.base.size;
		count++;
	}
	seq_printf(m, "total: %llu bytes in %llu buffers\n", total, count);

	return 0;
}

static void npu_debugfs_vm(struct seq_file *m, struct npu_vm *vm)
{
	struct drm_gpuva *va;

	seq_printf(m, "context %u%s\n", vm->context, vm->unusable ? " unusable" : "");
	drm_gpuvm_for_each_va(va, &vm->base)
		seq_printf(m, "  %#014llx %#014llx offset %#llx\n", va->va.addr,
			   va->va.addr + va->va.range, va->gem.offset);
}

static int npu_debugfs_vms(struct seq_file *m, void *data)
{
	struct npu_device *npu = npu_debugfs_device(m);
	u32 context;

	guard(mutex)(&npu->mmu.ctx_lock);
	for (context = 0; context < npu->caps.num_contexts; context++) {
		struct npu_vm *vm = npu->mmu.vms[context];

		if (!vm)
			continue;
		guard(mutex)(&vm->lock);
		npu_debugfs_vm(m, vm);
	}

	return 0;
}

static void npu_debugfs_queue(struct seq_file *m, struct npu_queue *queue)
{
	const struct npu_fw_queue_state *state = npu_fw_queue_state(queue->npu, queue->id);
	struct drm_npu_queue_get_state args = {};
	bool active, dead;

	npu_queue_get_state(queue, &args);
	spin_lock_irq(&queue->lock);
	active = queue->active;
	dead = queue->dead;
	spin_unlock_irq(&queue->lock);

	seq_printf(m, "queue %u context %u priority %u depth %u%s%s\n", queue->id,
		   queue->vm->context, queue->priority, queue->depth, active ? " active" : "",
		   dead ? " dead" : "");
	seq_printf(m, "  submitted %llu completed %llu bad %llu state %#x resets %u\n",
		   args.submitted, args.completed, args.job_id, args.state, args.resets);
	seq_printf(m, "  fw: state %u engine %u job %u progress %u busy %u us slices %u\n",
		   READ_ONCE(state->state), READ_ONCE(state->engine), READ_ONCE(state->job_seq),
		   READ_ONCE(state->progress), READ_ONCE(state->busy_us),
		   READ_ONCE(state->slices));
}

static int npu_debugfs_queues(struct seq_file *m, void *data)
{
	struct npu_device *npu = npu_debugfs_device(m);
	struct npu_queue *queue;

	npu_for_each_queue(queue, npu)
		npu_debugfs_queue(m, queue);

	return 0;
}

static ssize_t npu_debugfs_force_reset(struct file *file, const char __user *buf, size_t size,
				       loff_t *pos)
{
	struct npu_device *npu = file->private_data;
	int ret;

	/* A device that is off would not be reset, it would only be started. */
	ret = pm_runtime_resume_and_get(npu->base.dev);
	if (ret)
		return ret;
	npu_reset_request(npu, "asked for");
	npu_reset_wait(npu);
	pm_runtime_mark_last_busy(npu->base.dev);
	pm_runtime_put_autosuspend(npu->base.dev);

	return size;
}

static const struct file_operations npu_debugfs_force_reset_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = npu_debugfs_force_reset,
	.llseek = noop_llseek,
};

static int npu_debugfs_get_look(void *data, u64 *value)
{
	struct npu_device *npu = data;

	*value = READ_ONCE(npu->reset.look_ms);

	return 0;
}

static int npu_debugfs_set_look(void *data, u64 value)
{
	struct npu_device *npu = data;

	if (value < NPU_TDR_PERIOD_MS || value > NPU_TDR_PERIOD_MAX_MS)
		return -EINVAL;
	WRITE_ONCE(npu->reset.look_ms, value);
	/* What it would have found later it finds now. */
	npu_tdr_kick(npu);

	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(npu_debugfs_look_fops, npu_debugfs_get_look, npu_debugfs_set_look,
			 "%llu\n");

static int npu_debugfs_get_timeout(void *data, u64 *value)
{
	struct npu_device *npu = data;

	*value = READ_ONCE(npu->reset.timeout_ms);

	return 0;
}

static int npu_debugfs_set_timeout(void *data, u64 value)
{
	struct npu_device *npu = data;

	if (value < NPU_JOB_TIMEOUT_MIN_MS || value > NPU_JOB_TIMEOUT_MS)
		return -EINVAL;
	WRITE_ONCE(npu->reset.timeout_ms, value);

	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(npu_debugfs_timeout_fops, npu_debugfs_get_timeout,
			 npu_debugfs_set_timeout, "%llu\n");

static const struct drm_debugfs_info npu_debugfs_files[] = {
	{ "fw_log", npu_debugfs_fw_log, 0 },
	{ "fw_info", npu_debugfs_fw_info, 0 },
	{ "counters", npu_debugfs_counters, 0 },
	{ "gems", npu_debugfs_gems, 0 },
	{ "vms", npu_debugfs_vms, 0 },
	{ "queues", npu_debugfs_queues, 0 },
};

/* The core does not call drm_driver.debugfs_init for accelerators. */
void npu_debugfs_init(struct npu_device *npu)
{
	drm_debugfs_add_files(&npu->base, npu_debugfs_files, ARRAY_SIZE(npu_debugfs_files));
	debugfs_create_file("force_reset", 0200, npu->base.debugfs_root, npu,
			    &npu_debugfs_force_reset_fops);
	debugfs_create_file("look_ms", 0600, npu->base.debugfs_root, npu, &npu_debugfs_look_fops);
	debugfs_create_file("timeout_ms", 0600, npu->base.debugfs_root, npu,
			    &npu_debugfs_timeout_fops);
}
