// SPDX-License-Identifier: MIT
/* The core of the device: what npu_vdev_core_ops has behind it. For now the identification alone. */
#include <stdio.h>
#include <stdlib.h>
#include "vdev.h"

struct npu_vdev_core {
	struct npu_vdev *dev;
	struct npu_vdev_config config;
	npu_u32 epoch;
};

static struct npu_vdev_core *core_create(struct npu_vdev *dev, const struct npu_vdev_config *config,
					 char *why, size_t size)
{
	struct npu_vdev_core *core = calloc(1, sizeof(*core));

	if (!core) {
		snprintf(why, size, "no memory for the core");
		return NULL;
	}
	core->dev = dev;
	core->config = *config;
	return core;
}

static void core_destroy(struct npu_vdev_core *core)
{
	free(core);
}

static void core_reset(struct npu_vdev_core *core, enum npu_vdev_reset kind)
{
	core->epoch++;
}

static npu_u32 core_reg_read(struct npu_vdev_core *core, npu_u32 offset)
{
	const struct npu_vdev_config *c = &core->config;

	switch (offset) {
	case NPU_REG_ID:
		return NPU_HW_ID;
	case NPU_REG_VERSION:
		return NPU_HW_VERSION;
	case NPU_REG_ISA:
		return NPU_ISA_MAJOR << 16 | NPU_ISA_MINOR;
	case NPU_REG_CAP_MAC:
		return c->mac_rows << 16 | c->mac_cols;
	case NPU_REG_CAP_SRAM:
		return c->sram_size;
	case NPU_REG_CAP_ENGINES:
		return c->engines;
	case NPU_REG_CAP_QUEUES:
		return c->queues;
	case NPU_REG_STATUS:
		return NPU_STATUS_READY;
	case NPU_REG_EPOCH:
		return core->epoch;
	}
	return 0;
}

static void core_reg_write(struct npu_vdev_core *core, npu_u32 offset, npu_u32 value)
{
}

static void core_bus_master(struct npu_vdev_core *core, bool on)
{
}

static int core_dma_unmap(struct npu_vdev_core *core, npu_u64 first, npu_u64 last)
{
	return 0;
}

const struct npu_vdev_core_ops npu_vdev_core = { .create = core_create,
						 .destroy = core_destroy,
						 .reset = core_reset,
						 .reg_read = core_reg_read,
						 .reg_write = core_reg_write,
						 .bus_master = core_bus_master,
						 .dma_unmap = core_dma_unmap };
