// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: sysfs
 *
 * npu_busy_time_us      time that engines have spent on jobs, all users together
 * npu_memory_bytes      memory of all buffers
 * npu_fw_version        of the firmware file
 * npu_hw_version        of the hardware, major.minor
 * npu_resets            of the device since probe
 */
#include <linux/device.h>
#include <linux/pci.h>

#include "npu_device.h"
#include "npu_gem.h"
#include "npu_hw.h"
#include "npu_sysfs.h"

static struct npu_device *npu_sysfs_device(struct device *dev)
{
	return pci_get_drvdata(to_pci_dev(dev));
}

static ssize_t npu_busy_time_us_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct npu_device *npu = npu_sysfs_device(dev);

	npu_hw_reap(npu);

	return sysfs_emit(buf, "%llu\n", div_u64(atomic64_read(&npu->busy_ns), NSEC_PER_USEC));
}
static DEVICE_ATTR_RO(npu_busy_time_us);

static ssize_t npu_memory_bytes_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct npu_device *npu = npu_sysfs_device(dev);
	struct npu_bo *bo;
	u64 total = 0;

	scoped_guard(mutex, &npu->gem.lock)
		list_for_each_entry(bo, &npu->gem.list, node)
			total += bo->base.base.size;

	return sysfs_emit(buf, "%llu\n", total);
}
static DEVICE_ATTR_RO(npu_memory_bytes);

static ssize_t npu_fw_version_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", npu_sysfs_device(dev)->fw.header.version);
}
static DEVICE_ATTR_RO(npu_fw_version);

static ssize_t npu_hw_version_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u32 version = npu_sysfs_device(dev)->caps.hw_version;

	return sysfs_emit(buf, "%u.%u\n", version >> 16, version & 0xffff);
}
static DEVICE_ATTR_RO(npu_hw_version);

static ssize_t npu_resets_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", npu_sysfs_device(dev)->reset.count);
}
static DEVICE_ATTR_RO(npu_resets);

static struct attribute *npu_sysfs_attrs[] = {
	&dev_attr_npu_busy_time_us.attr,
	&dev_attr_npu_memory_bytes.attr,
	&dev_attr_npu_fw_version.attr,
	&dev_attr_npu_hw_version.attr,
	&dev_attr_npu_resets.attr,
	NULL
};

static const struct attribute_group npu_sysfs_group = {
	.attrs = npu_sysfs_attrs,
};

const struct attribute_group *npu_sysfs_groups[] = {
	&npu_sysfs_group,
	NULL
};
