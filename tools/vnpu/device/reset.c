// SPDX-License-Identifier: MIT
/*
 * Resets of the device, whoever asked: the register, the function level reset, the bus, a client
 * that comes or goes. The first half is done at once and waits for nothing; the second one, on the
 * service thread, begins when engines and MCU stand still.
 */
#include "core.h"

void npu_reset_begin(struct npu_vdev_core *core)
{
	unsigned int i;

	npu_service_reset_start(core, NPU_RESET_DEVICE);
	npu_events_reset(core);
	atomic_store(&core->mmu.frozen, true);
	for (i = 0; i < core->config.engines; i++)
		npu_unit_stop(&core->unit[i], NPU_UNIT_STOP_DEVICE);
	npu_mcu_halt(&core->mcu);
	/* What is in use now is what the transport waits for. */
	npu_mmu_dma_unmap(&core->mmu, 0, UINT64_MAX);
	npu_service_reset(core, NPU_RESET_DEVICE);
}

void npu_reset_finish(struct npu_vdev_core *core)
{
	unsigned int i;

	npu_mcu_reset(&core->mcu);
	for (i = 0; i < core->config.engines; i++)
		npu_unit_reset_device(&core->unit[i]);
	npu_mmu_reset(&core->mmu);
	npu_regs_reset(&core->regs);
}
