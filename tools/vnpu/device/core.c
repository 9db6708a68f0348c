// SPDX-License-Identifier: MIT
/* The core of the device: what npu_vdev_core_ops has behind it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "core.h"

npu_u64 npu_core_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (npu_u64)ts.tv_sec * 1000000000u + (npu_u64)ts.tv_nsec;
}

static void units_fini(struct npu_vdev_core *core)
{
	unsigned int i;

	for (i = 0; i < core->config.engines; i++)
		if (core->unit[i].core)
			npu_unit_fini(&core->unit[i]);
}

static int units_init(struct npu_vdev_core *core)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < core->config.engines && !ret; i++)
		ret = npu_unit_init(core, i);
	return ret;
}

static int engine_init(struct npu_vdev_core *core)
{
	const struct npu_engine_config config = { .threads = core->config.threads,
						  .callers = core->config.engines,
						  .simd = core->config.simd,
						  .sram_size = core->config.sram_size };

	return npu_engine_create(&config, &core->engine);
}

static void core_destroy(struct npu_vdev_core *core)
{
	npu_reset_begin(core);
	npu_service_fini(core);
	npu_crew_stop(core);
	npu_mcu_stop(&core->mcu);
	units_fini(core);
	npu_mcu_fini(&core->mcu);
	npu_crew_fini(core);
	npu_mmu_fini(&core->mmu);
	npu_events_fini(core);
	npu_engine_destroy(core->engine);
	free(core);
}

static struct npu_vdev_core *core_create(struct npu_vdev *dev, const struct npu_vdev_config *config,
					 char *why, size_t size)
{
	struct npu_vdev_core *core = calloc(1, sizeof(*core));
	int ret = -ENOMEM;

	if (!core)
		goto err;
	core->dev = dev;
	core->config = *config;
	core->keep = npu_vdev_keep(dev);
	npu_regs_init(&core->regs);
	ret = engine_init(core);
	if (ret)
		goto err_core;
	ret = npu_events_init(core);
	if (ret)
		goto err_engine;
	ret = npu_mmu_init(&core->mmu, core);
	if (ret)
		goto err_events;
	ret = units_init(core);
	if (ret)
		goto err_units;
	npu_crew_init(core);
	ret = npu_mcu_init(core);
	if (ret)
		goto err_mcu;
	ret = npu_crew_start(core);
	if (ret)
		goto err_crew;
	ret = npu_service_init(core);
	if (ret)
		goto err_crew;
	return core;

err_crew:
	npu_crew_stop(core);
err_mcu:
	npu_mcu_stop(&core->mcu);
	npu_mcu_fini(&core->mcu);
	npu_crew_fini(core);
err_units:
	units_fini(core);
	npu_mmu_fini(&core->mmu);
err_events:
	npu_events_fini(core);
err_engine:
	npu_engine_destroy(core->engine);
err_core:
	free(core);
err:
	snprintf(why, size, "the core of the device can not be made: %s", strerror(-ret));
	return NULL;
}

static void core_reset(struct npu_vdev_core *core, enum npu_vdev_reset kind)
{
	npu_u64 events = core->keep->events;

	npu_reset_begin(core);
	if (kind != NPU_VDEV_RESET_RESTART || !events)
		return;
	npu_events_set(core, events);
	npu_events_fatal(core, NPU_FATAL_RESTART, 0);
}

static void core_bus_master(struct npu_vdev_core *core, bool on)
{
	/* What is cached was got while it was on. */
	if (!on && !npu_vdev_fault_armed(core->dev, NPU_VDEV_MUTANT_IGNORE_BME))
		npu_mmu_dma_unmap(&core->mmu, 0, UINT64_MAX);
}

static int core_dma_unmap(struct npu_vdev_core *core, npu_u64 first, npu_u64 last)
{
	int ret = npu_mmu_dma_unmap(&core->mmu, first, last);

	if (!ret && atomic_load(&core->mmu.stale))
		npu_service_sweep(core);
	return ret;
}

const struct npu_vdev_core_ops npu_vdev_core = { .create = core_create,
						 .destroy = core_destroy,
						 .reset = core_reset,
						 .reg_read = npu_reg_read,
						 .reg_write = npu_reg_write,
						 .bus_master = core_bus_master,
						 .dma_unmap = core_dma_unmap };
