// SPDX-License-Identifier: MIT
/*
 * A core that answers each doorbell at once with an event and the interrupt: what submitting to a
 * device costs at least, when the device itself costs nothing.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "vdev.h"

struct npu_vdev_core {
	struct npu_vdev *dev;
	struct npu_vdev_config config;
	npu_u64 events;			/* DMA address, 0: none */
	npu_u64 doorbells, irqs;
	npu_u32 *epoch;			/* kept */
};

static struct npu_vdev_core *echo_create(struct npu_vdev *dev, const struct npu_vdev_config *config,
					 char *why, size_t size)
{
	struct npu_vdev_core *c = calloc(1, sizeof(*c));

	if (!c) {
		snprintf(why, size, "no memory for the core");
		return NULL;
	}
	c->dev = dev;
	c->config = *config;
	c->epoch = npu_vdev_keep(dev);
	return c;
}

static void echo_destroy(struct npu_vdev_core *c)
{
	free(c);
}

static void echo_reset(struct npu_vdev_core *c, enum npu_vdev_reset kind)
{
	++*c->epoch;
	c->events = 0;
}

static npu_u32 echo_reg_read(struct npu_vdev_core *c, npu_u32 offset)
{
	switch (offset) {
	case NPU_REG_ID:
		return NPU_HW_ID;
	case NPU_REG_VERSION:
		return NPU_HW_VERSION;
	case NPU_REG_CAP_QUEUES:
		return c->config.queues;
	case NPU_REG_STATUS:
		return NPU_STATUS_READY;
	case NPU_REG_EPOCH:
		return *c->epoch;
	case NPU_REG_EVENTS:
		return c->events;
	case NPU_REG_EVENTS + 4:
		return c->events >> 32;
	case NPU_REG_COUNTER(NPU_COUNTER_DOORBELLS):
		return c->doorbells;
	case NPU_REG_COUNTER(NPU_COUNTER_IRQS):
		return c->irqs;
	}
	return 0;
}

static void doorbell(struct npu_vdev_core *c)
{
	npu_u64 at = c->events + offsetof(struct npu_hw_events, msg_count);
	npu_u32 count;

	c->doorbells++;
	if (!c->events)
		return;
	/* On from what stands there: a count that does not change would be no news. */
	if (npu_vdev_dma_load32(c->dev, at, &count, NULL) ||
	    npu_vdev_dma_store32(c->dev, at, count + 1, NULL)) {
		npu_vdev_dma_report(c->dev, at, NPU_ACCESS_READ | NPU_ACCESS_WRITE);
		return;
	}
	c->irqs++;
	npu_vdev_irq_raise(c->dev);
}

static void echo_reg_write(struct npu_vdev_core *c, npu_u32 offset, npu_u32 value)
{
	if (offset == NPU_REG_EVENTS)
		c->events = (c->events & ~0xffffffffull) | value;
	else if (offset == NPU_REG_EVENTS + 4)
		c->events = (c->events & 0xffffffffull) | (npu_u64)value << 32;
	else if (offset == NPU_REG_DOORBELL_CTL ||
		 (offset >= NPU_REG_DOORBELL(0) && offset < NPU_REG_DOORBELL(c->config.queues)))
		doorbell(c);
}

static void echo_bus_master(struct npu_vdev_core *c, bool on)
{
}

static int echo_dma_unmap(struct npu_vdev_core *c, npu_u64 first, npu_u64 last)
{
	return 0;
}

const struct npu_vdev_core_ops npu_vdev_echo_core = { .create = echo_create,
						      .destroy = echo_destroy,
						      .reset = echo_reset,
						      .reg_read = echo_reg_read,
						      .reg_write = echo_reg_write,
						      .bus_master = echo_bus_master,
						      .dma_unmap = echo_dma_unmap };
