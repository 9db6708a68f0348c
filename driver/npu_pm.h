/* SPDX-License-Identifier: GPL-2.0-only */
/* Runtime power management, system sleep, function level reset. */
#ifndef NPU_PM_H
#define NPU_PM_H

#include <linux/pm.h>

struct npu_device;
struct pci_dev;

extern const struct dev_pm_ops npu_pm_ops;

void npu_pm_idle(struct npu_device *npu);
void npu_pm_enable(struct npu_device *npu);
void npu_pm_disable(struct npu_device *npu);
void npu_pm_reset_prepare(struct pci_dev *pdev);
void npu_pm_reset_done(struct pci_dev *pdev);

#endif
