// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: power management
 *
 * SUBMIT holds a runtime PM reference, as resuming may sleep and allocate; or, where there are jobs
 * in flight, it counts as one of them: the device is not suspended while there are any. A job that
 * it gives to the scheduler holds another reference until it is freed, so that npu_job_run() needs
 * none. One that has been started needs none either: the worker of npu_tdr.c, which runs as long,
 * asks for the device to be suspended when all have ended. Whatever else speaks to the device only
 * does so while it is online, under npu_device.hw.lock, and has nothing to do otherwise: a device
 * that is off knows no translation and no queue, and learns of all of them when it starts. It
 * always starts cold.
 *
 * System sleep and function level reset are the same with jobs under way. Those that have been
 * started are given a moment to end before sleep, and none before a reset; what is lost is told to
 * its submitter as an innocent loss.
 */
#include <linux/pci.h>
#include <linux/pm_runtime.h>

#include <drm/drm_print.h>

#include "npu_device.h"
#include "npu_fw.h"
#include "npu_pm.h"
#include "npu_reset.h"

#define NPU_PM_AUTOSUSPEND_MS	2500

/* For running jobs to end before system sleep. */
#define NPU_PM_DRAIN_MS		2500

static int npu_pm_runtime_suspend(struct device *dev)
{
	struct npu_device *npu = pci_get_drvdata(to_pci_dev(dev));

	if (atomic_read(&npu->inflight))
		return -EBUSY;

	down_write(&npu->hw.lock);
	npu_device_stop(npu);
	up_write(&npu->hw.lock);

	return 0;
}

static int npu_pm_runtime_resume(struct device *dev)
{
	struct npu_device *npu = pci_get_drvdata(to_pci_dev(dev));
	int ret = 0;

	down_write(&npu->hw.lock);
	if (!npu->hw.gone)
		ret = npu_device_resume(npu);
	up_write(&npu->hw.lock);

	return ret;
}

static int npu_pm_restart(struct npu_device *npu)
{
	int ret = 0;

	down_write(&npu->hw.lock);
	if (!npu->hw.gone)
		ret = npu_device_restart(npu);
	up_write(&npu->hw.lock);

	return ret;
}

/* Nothing more is started; running jobs may end, hung ones are cut off with the power. */
static void npu_pm_drain(struct npu_device *npu)
{
	struct npu_fw_ctl suspend = { .cmd = NPU_FW_CTL_SUSPEND };
	int ret = 0;

	down_read(&npu->hw.lock);
	if (npu->hw.online)
		ret = npu_fw_ctl(npu, &suspend, NPU_PM_DRAIN_MS);
	up_read(&npu->hw.lock);
	if (ret)
		drm_warn(&npu->base, "jobs are lost to system sleep\n");
}

static int npu_pm_suspend(struct device *dev)
{
	struct npu_device *npu = pci_get_drvdata(to_pci_dev(dev));

	npu_pm_drain(npu);
	down_write(&npu->hw.lock);
	npu_device_stop(npu);
	up_write(&npu->hw.lock);

	return 0;
}

static int npu_pm_resume(struct device *dev)
{
	return npu_pm_restart(pci_get_drvdata(to_pci_dev(dev)));
}

const struct dev_pm_ops npu_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(npu_pm_suspend, npu_pm_resume)
	RUNTIME_PM_OPS(npu_pm_runtime_suspend, npu_pm_runtime_resume, NULL)
};

/* Function level reset is about to come, from user space or from error recovery. */
void npu_pm_reset_prepare(struct pci_dev *pdev)
{
	struct npu_device *npu = pci_get_drvdata(pdev);

	down_write(&npu->hw.lock);
	npu_device_stop(npu);
	up_write(&npu->hw.lock);
}

void npu_pm_reset_done(struct pci_dev *pdev)
{
	npu_pm_restart(pci_get_drvdata(pdev));
}

/* The last jobs have ended, which may have kept it from being suspended. */
void npu_pm_idle(struct npu_device *npu)
{
	pm_runtime_mark_last_busy(npu->base.dev);
	pm_request_autosuspend(npu->base.dev);
}

/* The device is active, and probe holds the reference of the PCI core. */
void npu_pm_enable(struct npu_device *npu)
{
	struct device *dev = npu->base.dev;

	pm_runtime_set_autosuspend_delay(dev, NPU_PM_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_allow(dev);
	pm_runtime_mark_last_busy(dev);
	pm_runtime_put_autosuspend(dev);
}

void npu_pm_disable(struct npu_device *npu)
{
	struct device *dev = npu->base.dev;

	/* Whether it resumes or not: it will not suspend any more. */
	pm_runtime_get_sync(dev);
	pm_runtime_forbid(dev);
	pm_runtime_dont_use_autosuspend(dev);
}
