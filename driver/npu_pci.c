// SPDX-License-Identifier: GPL-2.0-only
/* PCI driver. */
#include <linux/module.h>
#include <linux/pci.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>

#include "npu_debugfs.h"
#include "npu_device.h"
#include "npu_drv.h"
#include "npu_pm.h"
#include "npu_queue.h"
#include "npu_sysfs.h"

struct workqueue_struct *npu_release_wq;
struct workqueue_struct *npu_sched_wq;

static int npu_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct npu_device *npu;
	int ret;

	npu = devm_drm_dev_alloc(&pdev->dev, &npu_drm_driver, struct npu_device, base);
	if (IS_ERR(npu))
		return PTR_ERR(npu);

	pci_set_drvdata(pdev, npu);
	ret = npu_device_init(npu, pdev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "NPU can not be started\n");

	npu_debugfs_init(npu);
	ret = drm_dev_register(&npu->base, 0);
	if (ret) {
		npu_device_fini(npu);
		return ret;
	}
	npu_pm_enable(npu);

	return 0;
}

static void npu_pci_remove(struct pci_dev *pdev)
{
	struct npu_device *npu = pci_get_drvdata(pdev);

	npu_pm_disable(npu);
	npu_device_fini(npu);
}

/*
 * Before another kernel starts: it must not find us writing to its memory. Nothing is unmapped: an
 * IOMMU that flushes lazily would do so when it has been shut down itself, and a virtual one, asked
 * then, never answers.
 */
static void npu_pci_shutdown(struct pci_dev *pdev)
{
	struct npu_device *npu = pci_get_drvdata(pdev);

	npu_pm_disable(npu);
	npu_device_shut(npu);
}

static const struct pci_error_handlers npu_pci_err_handler = {
	.reset_prepare = npu_pm_reset_prepare,
	.reset_done = npu_pm_reset_done,
};

static const struct pci_device_id npu_pci_ids[] = {
	{ PCI_DEVICE(NPU_PCI_VENDOR_ID, NPU_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, npu_pci_ids);

static struct pci_driver npu_pci_driver = {
	.name = "npu",
	.id_table = npu_pci_ids,
	.probe = npu_pci_probe,
	.remove = npu_pci_remove,
	.shutdown = npu_pci_shutdown,
	.err_handler = &npu_pci_err_handler,
	.dev_groups = npu_sysfs_groups,
	.driver.pm = pm_ptr(&npu_pm_ops),
};

static int __init npu_init(void)
{
	int ret = -ENOMEM;

	npu_release_wq = alloc_workqueue("npu-release", WQ_UNBOUND, 0);
	if (!npu_release_wq)
		return ret;
	npu_sched_wq = alloc_workqueue("npu-sched", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_HIGHPRI, 0);
	if (!npu_sched_wq)
		goto err_release_wq;

	ret = pci_register_driver(&npu_pci_driver);
	if (ret)
		goto err_sched_wq;

	return 0;

err_sched_wq:
	destroy_workqueue(npu_sched_wq);
err_release_wq:
	destroy_workqueue(npu_release_wq);
	return ret;
}
module_init(npu_init);

static void __exit npu_exit(void)
{
	pci_unregister_driver(&npu_pci_driver);
	destroy_workqueue(npu_release_wq);
	destroy_workqueue(npu_sched_wq);
	npu_sched_pool_fini();
	/* For fences, which are freed with the last reference on the module. */
	rcu_barrier();
}
module_exit(npu_exit);

MODULE_DESCRIPTION("DRM accel driver of the NPU");
MODULE_AUTHOR("The NPU project");
MODULE_LICENSE("GPL");
