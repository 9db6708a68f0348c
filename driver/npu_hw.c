// SPDX-License-Identifier: GPL-2.0-only
/* Capabilities, reset and interrupts of the device. */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/pci.h>

#include <drm/drm_print.h>

#include "npu_fw.h"
#include "npu_hw.h"
#include "npu_reset.h"

/* A reset waits for engines to stop, which they do within a millisecond of work. */
#define NPU_HW_RESET_MS		2000

/* How long npu_hw_poll() sleeps between two looks: first, and when it has waited for long. */
#define NPU_HW_POLL_US		200
#define NPU_HW_POLL_MAX_US	20000ul

static void npu_hw_read_caps(struct npu_device *npu)
{
	struct npu_caps *caps = &npu->caps;
	u32 mac = npu_hw_read(npu, NPU_REG_CAP_MAC);
	u32 addr = npu_hw_read(npu, NPU_REG_CAP_ADDR);
	int i;

	caps->hw_version = npu_hw_read(npu, NPU_REG_VERSION);
	caps->isa_version = npu_hw_read(npu, NPU_REG_ISA);
	caps->mac_rows = mac >> 16;
	caps->mac_columns = mac & 0xffff;
	caps->sram_size = npu_hw_read(npu, NPU_REG_CAP_SRAM);
	caps->num_engines = npu_hw_read(npu, NPU_REG_CAP_ENGINES);
	caps->num_queues = npu_hw_read(npu, NPU_REG_CAP_QUEUES);
	caps->num_contexts = npu_hw_read(npu, NPU_REG_CAP_CONTEXTS);
	caps->va_bits = addr & 0xff;
	caps->dma_bits = addr >> 8 & 0xff;
	caps->dtypes = npu_hw_read(npu, NPU_REG_CAP_DTYPES);
	caps->tcm_size = npu_hw_read(npu, NPU_REG_CAP_TCM);
	caps->save_size = npu_hw_read(npu, NPU_REG_CAP_SAVE);
	caps->clock_hz = npu_hw_read(npu, NPU_REG_CAP_CLOCK);
	for (i = 0; i < ARRAY_SIZE(caps->opcodes); i++)
		caps->opcodes[i] = npu_hw_read(npu, NPU_REG_CAP_OPCODES + 4 * i);
}

/* Sizes that memory is allocated by must make sense, whatever a broken device says. */
static int npu_hw_check_caps(struct npu_device *npu)
{
	const struct {
		const char *name;
		u32 value, min, max;
	} limits[] = {
		{ "engines", npu->caps.num_engines, 1, NPU_HW_MAX_ENGINES },
		{ "queues", npu->caps.num_queues, 1, NPU_HW_MAX_QUEUES },
		{ "contexts", npu->caps.num_contexts, 2, NPU_HW_MAX_CONTEXTS },
		{ "address bits", npu->caps.va_bits, 40, NPU_MMU_VA_BITS },
		{ "DMA address bits", npu->caps.dma_bits, 32, 64 },
		{ "bytes of TCM", npu->caps.tcm_size, SZ_4K, SZ_16M },
		{ "bytes of a save area", npu->caps.save_size, NPU_HW_SAVE_HEADER, SZ_64M },
		{ "Hz", npu->caps.clock_hz, 1, U32_MAX },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		if (limits[i].value >= limits[i].min && limits[i].value <= limits[i].max)
			continue;
		drm_err(&npu->base, "device says %u %s, expected %u to %u\n", limits[i].value,
			limits[i].name, limits[i].min, limits[i].max);
		return -ENODEV;
	}

	return 0;
}

/**
 * npu_hw_identify() - see that the device is an NPU of a version we know, and read what it can do
 * @npu: device
 *
 * Return: 0 or -ENODEV, with the reason in the log.
 */
int npu_hw_identify(struct npu_device *npu)
{
	u32 id = npu_hw_read(npu, NPU_REG_ID);

	if (id != NPU_HW_ID) {
		drm_err(&npu->base, "register ID is %#x, expected %#x\n", id, NPU_HW_ID);
		return -ENODEV;
	}

	npu_hw_read_caps(npu);
	if (NPU_HW_VERSION_MAJOR(npu->caps.hw_version) != NPU_HW_VERSION_MAJOR(NPU_HW_VERSION)) {
		drm_err(&npu->base, "hardware version %#x, this driver knows %#x\n",
			npu->caps.hw_version, NPU_HW_VERSION);
		return -ENODEV;
	}

	return npu_hw_check_caps(npu);
}

/**
 * npu_hw_poll() - read a register until it says what is waited for
 * @npu: device
 * @reg: register
 * @is_done: does this value end the wait?
 * @timeout_ms: how long to wait, at least
 * @value: set to what was read last
 *
 * Looks are counted with the sleep before each, as in npu_fw_ctl_wait(): the time that a read
 * takes, because the device comes late to answer it, is not held against the device.
 *
 * Return: 0 or -ETIMEDOUT.
 */
int npu_hw_poll(struct npu_device *npu, u32 reg, bool (*is_done)(u32 value),
		unsigned int timeout_ms, u32 *value)
{
	unsigned long left = timeout_ms * USEC_PER_MSEC, sleep = NPU_HW_POLL_US;

	for (;;) {
		*value = npu_hw_read(npu, reg);
		if (is_done(*value))
			return 0;
		if (!left)
			return -ETIMEDOUT;
		sleep = min(sleep, left);
		usleep_range(sleep, sleep + sleep / 4);
		left -= sleep;
		sleep = min(sleep + sleep / 4, NPU_HW_POLL_MAX_US);
	}
}

static bool npu_hw_reset_is_done(u32 status)
{
	return status == U32_MAX || (status & NPU_STATUS_READY);
}

/**
 * npu_hw_reset() - reset all of the device but its PCI configuration
 * @npu: device
 *
 * Page-table roots and the table of queues are cleared, no DMA is under way when it returns 0.
 *
 * Return: 0, -ENODEV when the device is gone, -ETIMEDOUT when the reset does not end.
 */
int npu_hw_reset(struct npu_device *npu)
{
	u32 status;
	int ret;

	lockdep_assert_held_write(&npu->hw.lock);

	npu_hw_write(npu, NPU_REG_RESET, NPU_RESET_DEVICE);
	ret = npu_hw_poll(npu, NPU_REG_STATUS, npu_hw_reset_is_done, NPU_HW_RESET_MS, &status);
	if (status == U32_MAX)
		return -ENODEV;

	return ret;
}

int npu_hw_events_init(struct npu_device *npu)
{
	npu->hw.events = dma_alloc_coherent(npu->base.dev, sizeof(*npu->hw.events),
					    &npu->hw.events_dma, GFP_KERNEL);

	return npu->hw.events ? 0 : -ENOMEM;
}

void npu_hw_events_fini(struct npu_device *npu)
{
	dma_free_coherent(npu->base.dev, sizeof(*npu->hw.events), npu->hw.events,
			  npu->hw.events_dma);
	npu->hw.events = NULL;
}

/* After a reset, before anything raises an interrupt. */
void npu_hw_events_start(struct npu_device *npu)
{
	lockdep_assert_held_write(&npu->hw.lock);

	spin_lock_irq(&npu->irq.lock);
	memset(npu->hw.events, 0, sizeof(*npu->hw.events));
	npu->irq.fatal_count = 0;
	npu->irq.enabled = true;
	spin_unlock_irq(&npu->irq.lock);

	npu_hw_write64(npu, NPU_REG_EVENTS, npu->hw.events_dma);
}

/* From here on nothing is taken from the events page or the message ring. */
void npu_hw_events_stop(struct npu_device *npu)
{
	lockdep_assert_held_write(&npu->hw.lock);

	spin_lock_irq(&npu->irq.lock);
	npu->irq.enabled = false;
	spin_unlock_irq(&npu->irq.lock);
}

const char *npu_hw_fatal_text(u32 code)
{
	static const char * const text[] = {
#define X(name, code, text) \
	[code] = text,
		NPU_HW_FATALS(X)
#undef X
	};

	return code < ARRAY_SIZE(text) && text[code] ? text[code] : "unknown";
}

static void npu_hw_irq_fatal(struct npu_device *npu)
{
	u32 code = READ_ONCE(npu->hw.events->fatal_code);
	u32 info = READ_ONCE(npu->hw.events->fatal_info);

	drm_err_ratelimited(&npu->base, "fatal: %s (code %u, detail %#x)\n",
			    npu_hw_fatal_text(code), code, info);
	npu_reset_request(npu, "fatal event");
}

/**
 * npu_hw_irq_process() - look at what the device has written to memory
 * @npu: device
 *
 * Called from the interrupt, and by whoever has waited too long for one. Reads no register.
 */
void npu_hw_irq_process(struct npu_device *npu)
{
	unsigned long flags;
	u32 fatal_count;

	spin_lock_irqsave(&npu->irq.lock, flags);
	if (npu->irq.enabled) {
		npu_fw_process_messages(npu);
		fatal_count = READ_ONCE(npu->hw.events->fatal_count);
		if (fatal_count != npu->irq.fatal_count) {
			npu->irq.fatal_count = fatal_count;
			npu_hw_irq_fatal(npu);
		}
	}
	spin_unlock_irqrestore(&npu->irq.lock, flags);

	wake_up_all(&npu->irq.wait);
}

/**
 * npu_hw_reap() - look at messages that no interrupt has told of, see npu_ring.c
 * @npu: device whose memory has not been freed
 *
 * Costs two words read where there are none.
 */
void npu_hw_reap(struct npu_device *npu)
{
	if (npu_fw_has_messages(npu))
		npu_hw_irq_process(npu);
}

static void npu_hw_reap_work(struct irq_work *work)
{
	npu_hw_irq_process(container_of(work, struct npu_device, irq.work));
}

/**
 * npu_hw_reap_soon() - npu_hw_reap(), from where the locks that it takes may be held
 * @npu: device whose memory has not been freed
 *
 * A full barrier comes first, for what has been written to the firmware's memory.
 */
void npu_hw_reap_soon(struct npu_device *npu)
{
	dma_mb();
	if (npu_fw_has_messages(npu))
		irq_work_queue(&npu->irq.work);
}

static irqreturn_t npu_hw_irq_handler(int irq, void *data)
{
	struct npu_device *npu = data;

	npu->irq.count++;
	npu_hw_irq_process(npu);

	return IRQ_HANDLED;
}

int npu_hw_irq_init(struct npu_device *npu)
{
	struct pci_dev *pdev = to_pci_dev(npu->base.dev);
	int ret;

	init_irq_work(&npu->irq.work, npu_hw_reap_work);
	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (ret < 0)
		return ret;

	npu->hw.irq = pci_irq_vector(pdev, 0);
	ret = request_irq(npu->hw.irq, npu_hw_irq_handler, 0, "npu", npu);
	if (ret)
		pci_free_irq_vectors(pdev);

	return ret;
}

void npu_hw_irq_fini(struct npu_device *npu)
{
	free_irq(npu->hw.irq, npu);
	irq_work_sync(&npu->irq.work);
	pci_free_irq_vectors(to_pci_dev(npu->base.dev));
}
