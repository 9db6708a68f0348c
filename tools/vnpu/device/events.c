// SPDX-License-Identifier: MIT
/*
 * News for the driver: words in its memory first, the interrupt second. Counts outlive a reset and
 * the worker, so that a count is never the one seen last by chance.
 */
#include <stddef.h>
#include "core.h"

int npu_events_init(struct npu_vdev_core *core)
{
	return -pthread_mutex_init(&core->events.lock, NULL);
}

void npu_events_fini(struct npu_vdev_core *core)
{
	pthread_mutex_destroy(&core->events.lock);
}

static void store(struct npu_vdev_core *core, size_t offset, npu_u32 value)
{
	npu_vdev_dma_store32(core->dev, core->events.address + offset, value, NULL);
}

#define STORE(core, member, value) store(core, offsetof(struct npu_hw_events, member), value)

void npu_events_set(struct npu_vdev_core *core, npu_u64 address)
{
	pthread_mutex_lock(&core->events.lock);
	core->events.address = address;
	core->keep->events = address;
	pthread_mutex_unlock(&core->events.lock);
}

void npu_events_reset(struct npu_vdev_core *core)
{
	pthread_mutex_lock(&core->events.lock);
	core->keep->epoch++;
	core->events.address = 0;
	core->keep->events = 0;
	atomic_store(&core->events.fatal, false);
	pthread_mutex_unlock(&core->events.lock);
}

/* With the lock; the words have been stored. */
static void interrupt(struct npu_vdev_core *core)
{
	npu_core_count(core, NPU_COUNTER_IRQS, 1);
	npu_vdev_irq_raise(core->dev);
}

void npu_events_message(struct npu_vdev_core *core)
{
	pthread_mutex_lock(&core->events.lock);
	core->keep->msg_count++;
	if (core->events.address) {
		STORE(core, msg_count, core->keep->msg_count);
		interrupt(core);
	}
	pthread_mutex_unlock(&core->events.lock);
}

void npu_events_invalidated(struct npu_vdev_core *core, npu_u32 seq)
{
	pthread_mutex_lock(&core->events.lock);
	if (core->events.address) {
		STORE(core, inv_seq, seq);
		interrupt(core);
	}
	pthread_mutex_unlock(&core->events.lock);
}

/*
 * With the lock. What the firmware says of itself while the device is reset is over with it: behind
 * the reset it would keep the next one from starting.
 */
static bool is_over(struct npu_vdev_core *core, enum npu_hw_fatal code)
{
	return code != NPU_FATAL_RESTART &&
	       atomic_load(&core->service.resets) & NPU_RESET_DEVICE;
}

void npu_events_fatal(struct npu_vdev_core *core, enum npu_hw_fatal code, npu_u32 info)
{
	static const char *const text[] = {
#define X(name, code, text) [code] = text,
		NPU_HW_FATALS(X)
#undef X
	};

	npu_vdev_log(core->dev, "fatal: %s (0x%x)", text[code], info);
	pthread_mutex_lock(&core->events.lock);
	if (is_over(core, code))
		goto out_unlock;
	atomic_store(&core->events.fatal, true);
	core->keep->fatal_count++;
	if (core->events.address) {
		STORE(core, fatal_code, code);
		STORE(core, fatal_info, info);
		STORE(core, epoch, core->keep->epoch);
		STORE(core, fatal_count, core->keep->fatal_count);
		interrupt(core);
	}
out_unlock:
	pthread_mutex_unlock(&core->events.lock);
}
