// SPDX-License-Identifier: GPL-2.0-only
/* Making a device ready for its users, and taking it from them. */
#include <linux/dma-mapping.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "npu_coredump.h"
#include "npu_device.h"
#include "npu_fw.h"
#include "npu_gem.h"
#include "npu_hw.h"
#include "npu_kbo.h"
#include "npu_limits.h"
#include "npu_mmu.h"
#include "npu_queue.h"
#include "npu_reset.h"
#include "npu_vm.h"

static void npu_device_init_locks(struct npu_device *npu)
{
	init_rwsem(&npu->hw.lock);
	spin_lock_init(&npu->irq.lock);
	init_waitqueue_head(&npu->irq.wait);
	npu_limits_init(npu);
}

static int npu_device_map(struct npu_device *npu, struct pci_dev *pdev)
{
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;

	if (pci_resource_len(pdev, 0) < NPU_BAR0_SIZE) {
		drm_err(&npu->base, "BAR 0 has %llu bytes, expected %u\n",
			(u64)pci_resource_len(pdev, 0), NPU_BAR0_SIZE);
		return -ENODEV;
	}
	npu->hw.regs = pcim_iomap_region(pdev, 0, "npu");

	return PTR_ERR_OR_ZERO(npu->hw.regs);
}

static int npu_device_identify(struct npu_device *npu)
{
	struct device *dev = npu->base.dev;
	int ret;

	ret = npu_hw_identify(npu);
	if (ret)
		return ret;

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(npu->caps.dma_bits));
	if (ret)
		return ret;
	dma_set_max_seg_size(dev, UINT_MAX);

	return 0;
}

/* With bus mastering still off: whatever it was doing before, it does not do to us. */
static int npu_device_first_start(struct npu_device *npu)
{
	int ret;

	down_write(&npu->hw.lock);
	ret = npu_hw_reset(npu);
	if (!ret)
		ret = npu_device_start_patiently(npu);
	up_write(&npu->hw.lock);

	return ret;
}

static int npu_device_init_memory(struct npu_device *npu)
{
	int ret;

	ret = npu_hw_events_init(npu);
	if (ret)
		return ret;
	ret = npu_mmu_init(npu);
	if (ret)
		goto err_events;
	ret = npu_kbo_init(npu);
	if (ret)
		goto err_mmu;
	ret = npu_fw_init(npu);
	if (ret)
		goto err_kbo;

	return 0;

err_kbo:
	npu_kbo_fini(npu);
err_mmu:
	npu_mmu_fini(npu);
err_events:
	npu_hw_events_fini(npu);
	return ret;
}

static void npu_device_fini_memory(struct npu_device *npu)
{
	npu_fw_fini(npu);
	npu_kbo_fini(npu);
	npu_mmu_fini(npu);
	npu_hw_events_fini(npu);
}

/**
 * npu_device_shut() - take the device off the bus, for good
 * @npu: device
 *
 * It can not reach memory any more when this returns; what is mapped stays mapped.
 */
void npu_device_shut(struct npu_device *npu)
{
	down_write(&npu->hw.lock);
	npu_device_stop(npu);
	WRITE_ONCE(npu->hw.gone, true);
	pci_clear_master(to_pci_dev(npu->base.dev));
	up_write(&npu->hw.lock);
}

/**
 * npu_device_init() - everything before users can come
 * @npu: device, zero but for its DRM part
 * @pdev: PCI function
 *
 * Return: 0 or a negative errno, with nothing left behind.
 */
int npu_device_init(struct npu_device *npu, struct pci_dev *pdev)
{
	int ret;

	npu_device_init_locks(npu);
	ret = npu_device_map(npu, pdev);
	if (!ret)
		ret = npu_device_identify(npu);
	if (!ret)
		ret = npu_gem_init(npu);
	if (!ret)
		ret = npu_device_init_memory(npu);
	if (ret)
		return ret;

	ret = npu_coredump_init(npu);
	if (ret)
		goto err_memory;
	ret = npu_reset_init(npu);
	if (ret)
		goto err_coredump;
	ret = npu_hw_irq_init(npu);
	if (ret)
		goto err_reset;
	ret = npu_device_first_start(npu);
	if (ret)
		goto err_shut;

	return 0;

err_shut:
	npu_device_shut(npu);
	npu_hw_irq_fini(npu);
err_reset:
	npu_reset_fini(npu);
err_coredump:
	npu_coredump_fini(npu);
err_memory:
	npu_device_fini_memory(npu);
	return ret;
}

/* The next driver finds a device that nobody keeps awake; jobs that live on let go of nothing. */
static void npu_device_drop_pm_refs(struct npu_device *npu)
{
	int refs = atomic_xchg(&npu->pm_refs, 0);

	while (refs--)
		pm_runtime_put_noidle(npu->base.dev);
}

/**
 * npu_device_fini() - take the device from its users
 * @npu: device
 *
 * Files, mappings, dma-bufs and fences may live on; from here on they have nothing to do with the
 * hardware. So may jobs that wait for fences of others: they are refused in npu_job_run() when
 * these have signalled, and not before, as what waits for them relies on that.
 */
void npu_device_fini(struct npu_device *npu)
{
	/* A device that has been given up may be unplugged already. */
	cancel_work_sync(&npu->reset.unplug);
	if (!drm_dev_is_unplugged(&npu->base))
		drm_dev_unplug(&npu->base);

	npu_device_shut(npu);
	npu_queues_end(npu);
	npu_reset_fini(npu);
	npu_hw_irq_fini(npu);
	flush_workqueue(npu_release_wq);

	npu_queues_unplug(npu);
	npu_vm_unplug_all(npu);
	npu_gem_unplug(npu);
	npu_coredump_fini(npu);
	npu_device_fini_memory(npu);
	npu_device_drop_pm_refs(npu);
}
