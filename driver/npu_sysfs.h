/* SPDX-License-Identifier: GPL-2.0-only */
/* Attributes of the PCI device. */
#ifndef NPU_SYSFS_H
#define NPU_SYSFS_H

#include <linux/sysfs.h>

extern const struct attribute_group *npu_sysfs_groups[];

#endif
