// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core.h"
#include "rv32.h"
#include "rv32_gdb.h"

#define CSR_MTVEC	0x305u
#define CSR_MEPC	0x341u
#define CSR_MCAUSE	0x342u

/* ---- the bus ---- */

static int bus_load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value)
{
	struct npu_mcu *mcu = ctx;
	int ret;

	if (addr < NPU_MCU_KERNEL)
		return addr >= NPU_MCU_MMIO && size == 4 ?
			       npu_mcu_reg_load(mcu, addr - NPU_MCU_MMIO, value) :
			       -EFAULT;
	ret = npu_mmu_load(&mcu->core->mmu, NPU_KERNEL_CONTEXT, npu_mcu_skewed(mcu, addr), size,
			   value);
	if (!ret && npu_mcu_is_tail(mcu, addr))
		*value -= mcu->skew.messages;
	return ret;
}

static int bus_store(void *ctx, uint32_t addr, unsigned int size, uint32_t value)
{
	struct npu_mcu *mcu = ctx;

	if (addr < NPU_MCU_KERNEL)
		return addr >= NPU_MCU_MMIO && size == 4 ?
			       npu_mcu_reg_store(mcu, addr - NPU_MCU_MMIO, value) :
			       -EFAULT;
	if (npu_mcu_is_tail(mcu, addr))
		value += mcu->skew.messages;
	npu_mcu_tamper(mcu, addr, &value);
	return npu_mmu_store(&mcu->core->mmu, NPU_KERNEL_CONTEXT, npu_mcu_skewed(mcu, addr), size,
			     value);
}

/* Code is in the tightly coupled memory alone, where the hart fetches by itself. */
static int bus_fetch(void *ctx, uint32_t addr, uint16_t *parcel)
{
	struct npu_mcu *mcu = ctx;
	uint32_t mtvec = 0, mcause = 0, mepc = 0;

	rv32_csr(mcu->hart, CSR_MTVEC, &mtvec);
	if (addr == (mtvec & ~3u) && !atomic_load(&mcu->stop)) {
		rv32_csr(mcu->hart, CSR_MCAUSE, &mcause);
		rv32_csr(mcu->hart, CSR_MEPC, &mepc);
		npu_vdev_log(mcu->core->dev, "firmware: trap %u at 0x%x", mcause, mepc);
		npu_mcu_fatal(mcu, NPU_FATAL_MCU_TRAP, mcause);
	}
	return -EFAULT;
}

/* ---- lines ---- */

npu_u32 npu_mcu_pending(const struct npu_mcu *mcu)
{
	npu_u32 bits = mcu->ctl ? NPU_MCU_PENDING_CTL : 0, i;

	for (i = 0; i < NPU_HW_MAX_QUEUES / 32; i++)
		if (mcu->doorbell[i])
			bits |= NPU_MCU_PENDING_QUEUE;
	if (mcu->engine_event)
		bits |= NPU_MCU_PENDING_ENGINE;
	return bits;
}

void npu_mcu_lines(struct npu_mcu *mcu)
{
	mcu->timer_up = mcu->timer != UINT64_MAX && npu_core_now() >= mcu->timer;
	rv32_irq(mcu->hart, RV32_IRQ_EXTERNAL, npu_mcu_pending(mcu) & mcu->enable);
	rv32_irq(mcu->hart, RV32_IRQ_TIMER, mcu->timer_up);
}

/* Unlocks: what has become pending may wake it. */
static void lines_moved(struct npu_mcu *mcu)
{
	npu_mcu_lines(mcu);
	npu_crew_unlock(mcu->core, npu_mcu_wants(mcu));
}

void npu_mcu_doorbell_ctl(struct npu_mcu *mcu)
{
	pthread_mutex_lock(&mcu->lock);
	mcu->ctl = true;
	lines_moved(mcu);
}

void npu_mcu_doorbell(struct npu_mcu *mcu, npu_u32 queue)
{
	pthread_mutex_lock(&mcu->lock);
	mcu->doorbell[queue / 32] |= 1u << queue % 32;
	lines_moved(mcu);
}

void npu_mcu_engine_event(struct npu_mcu *mcu, npu_u32 n)
{
	pthread_mutex_lock(&mcu->lock);
	mcu->engine_event |= 1u << n;
	npu_mcu_lines(mcu);
	pthread_mutex_unlock(&mcu->lock);
}

void npu_mcu_fatal(struct npu_mcu *mcu, enum npu_hw_fatal code, npu_u32 info)
{
	npu_mcu_halt(mcu);
	if (code != NPU_FATAL_FIRMWARE)
		atomic_store(&mcu->boot_status, NPU_FW_BOOT_CRASHED);
	npu_events_fatal(mcu->core, code, info);
}

/* ---- from outside ---- */

void npu_mcu_start(struct npu_mcu *mcu, npu_u32 entry)
{
	if (npu_vdev_fault_take(mcu->core->dev, NPU_VDEV_FAULT_BOOT_FAIL))
		return;
	pthread_mutex_lock(&mcu->lock);
	if (!mcu->run) {
		mcu->run = true;
		mcu->fresh = true;
		mcu->entry = entry;
	}
	npu_crew_unlock(mcu->core, !mcu->taken);
	rv32_gdb_release(mcu->gdb);
}

void npu_mcu_halt(struct npu_mcu *mcu)
{
	pthread_mutex_lock(&mcu->lock);
	mcu->run = false;
	atomic_store(&mcu->stop, true);
	pthread_mutex_unlock(&mcu->lock);
	rv32_gdb_release(mcu->gdb);
}

bool npu_mcu_running(struct npu_mcu *mcu)
{
	bool run;

	pthread_mutex_lock(&mcu->lock);
	run = mcu->run;
	pthread_mutex_unlock(&mcu->lock);
	return run;
}

npu_u64 npu_mcu_instructions(struct npu_mcu *mcu)
{
	return rv32_instructions(mcu->hart);
}

void npu_mcu_reset(struct npu_mcu *mcu)
{
	npu_mcu_halt(mcu);
	pthread_mutex_lock(&mcu->lock);
	while (!mcu->parked)
		pthread_cond_wait(&mcu->parked_cond, &mcu->lock);
	mcu->ctl = false;
	mcu->engine_event = 0;
	memset(mcu->doorbell, 0, sizeof(mcu->doorbell));
	atomic_store(&mcu->boot_status, NPU_FW_BOOT_NONE);
	pthread_mutex_unlock(&mcu->lock);
}

bool npu_mcu_load(struct npu_mcu *mcu, npu_u64 src, npu_u32 dst, npu_u32 size)
{
	bool ok = false;

	pthread_mutex_lock(&mcu->lock);
	while (!mcu->run && !mcu->parked)
		pthread_cond_wait(&mcu->parked_cond, &mcu->lock);
	if (!mcu->run && dst <= NPU_TCM_SIZE && size <= NPU_TCM_SIZE - dst) {
		ok = !size || !npu_vdev_dma_read(mcu->core->dev, src, mcu->tcm + dst, size, NULL);
		rv32_flush(mcu->hart);
	}
	pthread_mutex_unlock(&mcu->lock);
	return ok;
}

static void gdb_kick(void *ctx)
{
	struct npu_mcu *mcu = ctx;

	pthread_mutex_lock(&mcu->lock);
	npu_crew_unlock(mcu->core, !mcu->taken);
}

static int gdb_init(struct npu_mcu *mcu)
{
	struct rv32_gdb_config config = { .core = mcu->hart, .kick = gdb_kick, .ctx = mcu };
	npu_u32 port = mcu->core->config.fw_gdb_port;
	char address[16];
	int ret;

	if (!port)
		return 0;
	snprintf(address, sizeof(address), "%u", port);
	config.address = address;
	ret = rv32_gdb_start(&config, &mcu->gdb);
	if (ret)
		npu_vdev_log(mcu->core->dev, "firmware: no debugger on port %u: %s", port,
			     strerror(-ret));
	return ret;
}

int npu_mcu_init(struct npu_vdev_core *core)
{
	struct npu_mcu *mcu = &core->mcu;
	struct rv32_config config = {
		.bus = { .load = bus_load, .store = bus_store, .fetch = bus_fetch, .ctx = mcu },
		.tcm_base = NPU_MCU_TCM,
		.tcm_size = NPU_TCM_SIZE,
	};

	mcu->core = core;
	mcu->timer = UINT64_MAX;
	mcu->parked = true;
	pthread_mutex_init(&mcu->lock, NULL);
	pthread_cond_init(&mcu->parked_cond, NULL);
	mcu->tcm = calloc(1, NPU_TCM_SIZE);
	config.tcm = mcu->tcm;
	if (!mcu->tcm || rv32_create(&config, &mcu->hart))
		return -ENOMEM;
	return gdb_init(mcu);
}

void npu_mcu_release(struct npu_mcu *mcu)
{
	rv32_gdb_release(mcu->gdb);
}

void npu_mcu_stop(struct npu_mcu *mcu)
{
	rv32_gdb_stop(mcu->gdb);
	mcu->gdb = NULL;
}

void npu_mcu_fini(struct npu_mcu *mcu)
{
	if (mcu->hart)
		rv32_destroy(mcu->hart);
	free(mcu->tcm);
	pthread_cond_destroy(&mcu->parked_cond);
	pthread_mutex_destroy(&mcu->lock);
}
