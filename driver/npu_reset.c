// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: reset of the device
 *
 * Whoever finds the device in a state that it does not come out of by itself asks for a reset; a
 * worker carries it out with npu_device.hw.lock held for writing. Schedulers are not stopped: while
 * a queue is not active its jobs gather on its list, and what has not been started goes into the
 * ring again when the firmware is back. A device that does not come back after a few tries loses
 * its bus mastering, so that memory can be freed, and is taken from its users.
 */
#include <linux/pci.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "npu_coredump.h"
#include "npu_device.h"
#include "npu_fw.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_queue.h"
#include "npu_reset.h"
#include "npu_tdr.h"
#include "npu_trace.h"

#define NPU_RESET_TRIES		3

/* Queues that the firmware did take may have jobs under way: they do not run a second time. */
static void npu_device_start_undo(struct npu_device *npu)
{
	npu_device_stop(npu);
	npu_queues_sort_out(npu);
}

/**
 * npu_device_start() - reset the device, start the firmware, give it queues and jobs
 * @npu: device
 *
 * Allocates nothing.
 *
 * Return: 0, or a negative errno, and then the device is not online.
 */
static int npu_device_start(struct npu_device *npu)
{
	int ret;

	lockdep_assert_held_write(&npu->hw.lock);

	if (npu->hw.gone)
		return -ENODEV;

	ret = npu_hw_reset(npu);
	if (ret) {
		drm_err(&npu->base, "reset failed: %d\n", ret);
		return ret;
	}

	pci_set_master(to_pci_dev(npu->base.dev));
	ret = npu_fw_boot(npu);
	if (!ret) {
		npu->hw.online = true;
		npu->hw.starting = true;
		ret = npu_queues_start(npu);
		npu->hw.starting = false;
	}
	if (ret)
		npu_device_start_undo(npu);

	return ret;
}

/*
 * From here on the device is not spoken to, and what it says is not heard. Jobs that have ended
 * until now are taken note of.
 */
static void npu_device_quiesce(struct npu_device *npu)
{
	lockdep_assert_held_write(&npu->hw.lock);

	npu_queues_stop(npu);
	/* Jobs that it ended or started behind the last look at its messages would be lost. */
	if (npu->hw.online)
		npu_fw_halt(npu);
	npu_hw_irq_process(npu);
	npu_hw_events_stop(npu);
	npu->hw.online = false;
}

/**
 * npu_device_stop() - end all DMA
 * @npu: device
 *
 * The device is left in reset. If it does not obey, bus mastering is switched off.
 */
void npu_device_stop(struct npu_device *npu)
{
	lockdep_assert_held_write(&npu->hw.lock);

	npu_device_quiesce(npu);
	if (npu_hw_reset(npu))
		pci_clear_master(to_pci_dev(npu->base.dev));
}

/* Beyond recovery: memory is made safe, fences are signalled, the rest is a worker's. */
static void npu_device_give_up(struct npu_device *npu)
{
	lockdep_assert_held_write(&npu->hw.lock);

	drm_err(&npu->base, "device can not be recovered\n");
	WRITE_ONCE(npu->hw.gone, true);
	pci_clear_master(to_pci_dev(npu->base.dev));
	npu_queues_end(npu);
	queue_work(npu_release_wq, &npu->reset.unplug);
}

/**
 * npu_device_start_patiently() - npu_device_start(), a few times if need be
 * @npu: device
 *
 * Return: 0, or what the last try returned.
 */
int npu_device_start_patiently(struct npu_device *npu)
{
	int ret = -ENODEV, tries;

	for (tries = 0; ret && tries < NPU_RESET_TRIES; tries++)
		ret = npu_device_start(npu);

	return ret;
}

/**
 * npu_device_resume() - start a device that has no jobs
 * @npu: device
 *
 * Return: 0, or -ENODEV when the device has been given up.
 */
int npu_device_resume(struct npu_device *npu)
{
	lockdep_assert_held_write(&npu->hw.lock);

	if (!npu_device_start_patiently(npu))
		return 0;
	npu_device_give_up(npu);

	return -ENODEV;
}

/**
 * npu_device_restart() - start a device that may have lost jobs
 * @npu: device; it has been stopped
 *
 * Return: 0, or -ENODEV when the device has been given up.
 */
int npu_device_restart(struct npu_device *npu)
{
	lockdep_assert_held_write(&npu->hw.lock);

	npu->reset.count++;
	npu_queues_sort_out(npu);

	return npu_device_resume(npu);
}

static void npu_reset_device(struct npu_device *npu, const char *why)
{
	int ret;

	drm_warn(&npu->base, "resetting the device: %s\n", why);
	npu_coredump_capture(npu, why, NULL);
	/* Fences of lost jobs signal next: nothing may be written behind them. */
	npu_device_stop(npu);
	ret = npu_device_restart(npu);
	trace_npu_reset(npu, why, ret);
}

static void npu_reset_work(struct work_struct *work)
{
	struct npu_device *npu = container_of(work, struct npu_device, reset.work);
	const char *why;

	down_write(&npu->hw.lock);
	why = READ_ONCE(npu->reset.cause);
	WRITE_ONCE(npu->reset.pending, false);
	/* One that is off starts anew anyway. */
	if (npu->hw.online)
		npu_reset_device(npu, why);
	up_write(&npu->hw.lock);
}

/**
 * npu_reset_request() - ask for a reset of the device
 * @npu: device
 * @cause: why, a text that stays
 *
 * From any context, also of those who outlive the driver's hold on the device: a file that is being
 * closed, a buffer that goes. Nothing happens when one has been asked for already, or when the
 * device is being taken from its driver.
 */
void npu_reset_request(struct npu_device *npu, const char *cause)
{
	unsigned long flags;

	spin_lock_irqsave(&npu->reset.lock, flags);
	if (!npu->reset.closed && !READ_ONCE(npu->hw.gone) && !npu->reset.pending) {
		WRITE_ONCE(npu->reset.cause, cause);
		WRITE_ONCE(npu->reset.pending, true);
		queue_work(npu->reset.wq, &npu->reset.work);
	}
	spin_unlock_irqrestore(&npu->reset.lock, flags);

	wake_up_all(&npu->irq.wait);
}

/**
 * npu_reset_look() - have npu_tdr_work() run
 * @npu: device
 * @delay: jiffies until then
 * @sooner: also when it is to run already, but later
 *
 * From any context, as npu_reset_request().
 */
void npu_reset_look(struct npu_device *npu, unsigned long delay, bool sooner)
{
	unsigned long flags;

	spin_lock_irqsave(&npu->reset.lock, flags);
	if (!npu->reset.closed && sooner)
		mod_delayed_work(npu->reset.wq, &npu->reset.tdr, delay);
	else if (!npu->reset.closed)
		queue_delayed_work(npu->reset.wq, &npu->reset.tdr, delay);
	spin_unlock_irqrestore(&npu->reset.lock, flags);
}

/**
 * npu_reset_is_coming() - will the device be reset, whatever it answers now?
 * @npu: device; hw.lock is held
 *
 * Then there is no use in waiting for it, and the reset waits for whoever does. Not for those who
 * start the device: to them it means that they have to try once more.
 *
 * Return: whether it will.
 */
bool npu_reset_is_coming(struct npu_device *npu)
{
	lockdep_assert_held(&npu->hw.lock);

	return npu->hw.online && !npu->hw.starting && READ_ONCE(npu->reset.pending);
}

/* Until a reset that has been asked for is over. Not from recovery itself. */
void npu_reset_wait(struct npu_device *npu)
{
	/* What npu_reset_is_coming() has seen is queued before the lock is dropped. */
	spin_lock_irq(&npu->reset.lock);
	spin_unlock_irq(&npu->reset.lock);
	flush_work(&npu->reset.work);
}

/*
 * What drm_dev_wedged_event() would send, if it did not take it for granted that a device has a
 * primary minor; accelerators have none.
 */
static void npu_reset_tell(struct npu_device *npu)
{
	char event[] = "WEDGED=rebind,bus-reset";
	char *env[2] = { event, NULL };

	kobject_uevent_env(&npu->base.accel->kdev->kobj, KOBJ_CHANGE, env);
}

/* Not a part of npu_reset_work(): users of the device may wait for that one. */
static void npu_reset_unplug_work(struct work_struct *work)
{
	struct npu_device *npu = container_of(work, struct npu_device, reset.unplug);

	npu_reset_tell(npu);
	drm_dev_unplug(&npu->base);
}

int npu_reset_init(struct npu_device *npu)
{
	spin_lock_init(&npu->reset.lock);
	INIT_WORK(&npu->reset.work, npu_reset_work);
	INIT_DELAYED_WORK(&npu->reset.tdr, npu_tdr_work);
	INIT_WORK(&npu->reset.unplug, npu_reset_unplug_work);
	npu->reset.look_ms = NPU_TDR_PERIOD_MS;
	npu->reset.timeout_ms = NPU_JOB_TIMEOUT_MS;
	npu->reset.tdr_idle = true;
	npu->reset.wq = alloc_ordered_workqueue("npu-reset", WQ_MEM_RECLAIM);

	return npu->reset.wq ? 0 : -ENOMEM;
}

/* None of the jobs there are will be started. Whoever asks for a reset from here on is late. */
void npu_reset_fini(struct npu_device *npu)
{
	spin_lock_irq(&npu->reset.lock);
	npu->reset.closed = true;
	spin_unlock_irq(&npu->reset.lock);

	cancel_delayed_work_sync(&npu->reset.tdr);
	cancel_work_sync(&npu->reset.work);
	cancel_work_sync(&npu->reset.unplug);
	destroy_workqueue(npu->reset.wq);
}
