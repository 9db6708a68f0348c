// SPDX-License-Identifier: MIT
/*
 * Running the hart: whichever thread of the crew has it does that until it sleeps in wfi, or is
 * halted. All but hart_run() is called with the MCU's lock.
 */
#include "core.h"
#include "rv32.h"
#include "rv32_gdb.h"

/* Between two looks at the timer, at what others want and at the watchdog. */
#define SLICE_INSNS	4096u
/*
 * An instruction takes no longer, whatever the clock says: while others had the processor the
 * firmware did nothing that it could be blamed for.
 */
#define MAX_INSN_NS	100u
#define CSR_MTVEC	0x305u
/* Where traps go before the firmware has said so: nothing can be fetched there. */
#define NO_HANDLER	0x3ffffffcu
#define NOWHERE		0x3ffffff0u

static void fresh_start(struct npu_mcu *mcu)
{
	mcu->fresh = false;
	mcu->enable = 0;
	mcu->timer = UINT64_MAX;
	mcu->watchdog_us = 0;
	mcu->skew.messages = 0;
	atomic_store(&mcu->boot_status, NPU_FW_BOOT_NONE);
	atomic_store(&mcu->stop, false);
	rv32_reset(mcu->hart, mcu->entry & ~1u);
	rv32_set_csr(mcu->hart, CSR_MTVEC, NO_HANDLER);
}

static void watchdog_count(struct npu_mcu *mcu, npu_u64 ns, npu_u64 insns)
{
	if (ns > insns * MAX_INSN_NS)
		ns = insns * MAX_INSN_NS;
	mcu->watchdog_ns += ns;
	if (mcu->watchdog_us && !atomic_load(&mcu->stop) &&
	    mcu->watchdog_ns > mcu->watchdog_us * 1000ull)
		npu_mcu_fatal(mcu, NPU_FATAL_WATCHDOG, rv32_reg(mcu->hart, RV32_REG_PC));
}

/* A while of the firmware's work. @why the last one ended is for the debugger, who may hold it. */
static enum rv32_stop hart_run(struct npu_mcu *mcu, enum rv32_stop why)
{
	uint64_t n = rv32_gdb_gate(mcu->gdb, why, SLICE_INSNS), insns;
	npu_u64 start;

	if (!n)
		return RV32_STOP_BUDGET;
	if (npu_vdev_fault_take(mcu->core->dev, NPU_VDEV_FAULT_FW_CRASH))
		rv32_set_reg(mcu->hart, RV32_REG_PC, NOWHERE);
	insns = rv32_instructions(mcu->hart);
	start = npu_core_now();
	why = rv32_run(mcu->hart, n, &mcu->stop);
	watchdog_count(mcu, npu_core_now() - start, rv32_instructions(mcu->hart) - insns);
	return why;
}

static enum rv32_stop run(struct npu_mcu *mcu, enum rv32_stop why)
{
	mcu->parked = false;
	if (mcu->fresh)
		fresh_start(mcu);
	npu_mcu_lines(mcu);
	/* What waits for this thread to get to it has waited for a while. */
	npu_crew_unlock(mcu->core, mcu->core->crew.commands);
	why = hart_run(mcu, why);
	pthread_mutex_lock(&mcu->lock);
	return why;
}

/* Halted: a debugger may look at the hart. */
static enum rv32_stop stand(struct npu_mcu *mcu)
{
	mcu->parked = true;
	pthread_cond_broadcast(&mcu->parked_cond);
	/* A debugger's patience is no command's. */
	npu_crew_unlock(mcu->core, mcu->core->crew.commands);
	rv32_gdb_gate(mcu->gdb, RV32_STOP_BUDGET, 0);
	pthread_mutex_lock(&mcu->lock);
	return RV32_STOP_BUDGET;
}

static bool has_to_do(struct npu_mcu *mcu)
{
	if (rv32_gdb_holds(mcu->gdb))
		return true;
	if (!mcu->run)
		return false;
	npu_mcu_lines(mcu);
	return mcu->fresh || rv32_runnable(mcu->hart);
}

bool npu_mcu_wants(struct npu_mcu *mcu)
{
	return !mcu->taken && has_to_do(mcu);
}

bool npu_mcu_is_mine(const struct npu_mcu *mcu)
{
	return mcu->taken && pthread_equal(mcu->owner, pthread_self());
}

npu_u64 npu_mcu_deadline(const struct npu_mcu *mcu)
{
	return mcu->taken || !mcu->run || mcu->timer_up ? UINT64_MAX : mcu->timer;
}

void npu_mcu_turn(struct npu_mcu *mcu)
{
	enum rv32_stop why = RV32_STOP_BUDGET;

	mcu->taken = true;
	mcu->owner = pthread_self();
	while (!mcu->core->crew.quit && has_to_do(mcu))
		why = mcu->run ? run(mcu, why) : stand(mcu);
	mcu->taken = false;
	mcu->parked = true;
	pthread_cond_broadcast(&mcu->parked_cond);
}
