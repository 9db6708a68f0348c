// SPDX-License-Identifier: MIT
/* Regions: BAR0, whose words go to the core, and the config space. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pci_config.h"
#include "vdev_priv.h"

/* Bus mastering or the power state may have changed: DMA ends before the write is answered. */
static void bus_master_update(struct npu_vdev *dev)
{
	bool on = pci_config_bus_master(dev->sh->config);

	if (on == dev->dma.bus_master)
		return;
	vdev_dma_bus_master(dev, on);
	dev->ops->bus_master(dev->core, on);
	if (!on)
		vdev_barrier_start(dev, 0, UINT64_MAX, NULL);
}

void vdev_reset(struct npu_vdev *dev, enum npu_vdev_reset kind)
{
	static const char *const text[] = { [NPU_VDEV_RESET_CONNECT] = "a client came",
					    [NPU_VDEV_RESET_BUS] = "of the bus",
					    [NPU_VDEV_RESET_FLR] = "function level",
					    [NPU_VDEV_RESET_POWER] = "D3hot to D0",
					    [NPU_VDEV_RESET_DISCONNECT] = "the client goes" };
	struct vdev_shared *sh = dev->sh;

	npu_vdev_log(dev, "reset: %s", text[kind]);
	vdev_count(dev, VDEV_COUNT_RESETS);
	pthread_mutex_lock(&dev->irq_lock);
	pci_config_init(sh->config);
	sh->irq_pending = false;
	pthread_mutex_unlock(&dev->irq_lock);
	if (kind == NPU_VDEV_RESET_CONNECT)
		memset(sh->keep, 0, sizeof(sh->keep));
	dev->ops->reset(dev->core, kind);
	bus_master_update(dev);
	vdev_barrier_start(dev, 0, UINT64_MAX, NULL);
}

static void config_access(struct npu_vdev *dev, npu_u32 offset, npu_u8 *data, npu_u32 count,
			  bool write)
{
	struct vdev_shared *sh = dev->sh;
	npu_u32 todo;

	vdev_count(dev, VDEV_COUNT_CONFIG);
	if (!write) {
		pthread_mutex_lock(&dev->irq_lock);
		pci_config_msi_pending(sh->config, sh->irq_pending);
		pthread_mutex_unlock(&dev->irq_lock);
		memcpy(data, sh->config + offset, count);
		return;
	}
	pthread_mutex_lock(&dev->irq_lock);
	todo = pci_config_write(sh->config, offset, data, count);
	pthread_mutex_unlock(&dev->irq_lock);
	if (todo & PCI_CONFIG_DO_FLR)
		vdev_reset(dev, NPU_VDEV_RESET_FLR);
	else if (todo & PCI_CONFIG_DO_POWER_ON)
		vdev_reset(dev, NPU_VDEV_RESET_POWER);
	else
		bus_master_update(dev);
	vdev_irq_update(dev);
}

/* Words go to the core, the low one of two first; what is not made of whole words does nothing. */
static void bar_access(struct npu_vdev *dev, npu_u32 offset, npu_u8 *data, npu_u32 count,
		       bool write)
{
	npu_u32 i, v;

	vdev_count(dev, write ? VDEV_COUNT_WRITES : VDEV_COUNT_READS);
	if ((offset | count) & 3 || !pci_config_memory(dev->sh->config)) {
		vdev_count(dev, VDEV_COUNT_BAD_ACCESS);
		if (!write)
			memset(data, 0xff, count);
		return;
	}
	if (write && npu_vdev_fault_take(dev, NPU_VDEV_FAULT_WORKER_ABORT)) {
		npu_vdev_log(dev, "worker-abort: armed");
		abort();
	}
	for (i = 0; i < count; i += 4) {
		if (write) {
			memcpy(&v, data + i, 4);
			dev->ops->reg_write(dev->core, offset + i, v);
		} else {
			v = dev->ops->reg_read(dev->core, offset + i);
			memcpy(data + i, &v, 4);
		}
	}
}

int vdev_region_access(struct npu_vdev *dev, npu_u32 region, npu_u64 offset, npu_u8 *data,
		       npu_u32 count, bool write)
{
	npu_u64 size = region == VFU_REGION_BAR0 ? NPU_BAR0_SIZE :
		       region == VFU_REGION_CONFIG ? PCI_CONFIG_SIZE : 0;

	if (!count || offset > size || count > size - offset)
		return EINVAL;
	if (vdev_removed(dev)) {
		if (!write)
			memset(data, 0xff, count);
		return 0;
	}
	if (region == VFU_REGION_BAR0)
		bar_access(dev, offset, data, count, write);
	else
		config_access(dev, offset, data, count, write);
	return 0;
}
