// SPDX-License-Identifier: MIT
/* Where start.S goes: the loop, and what is left to do when the firmware itself was wrong. */
#include "fw.h"
#include "trap.h"

static struct fw fw;

static _Noreturn void sleep_for_good(void)
{
	fw_reg_write(NPU_MCU_ENABLE, 0);
	fw_timer_set(FW_NEVER);
	for (;;)
		fw_wait();
}

/* A wrong configuration is the driver's to see in the boot status; nothing more happens then. */
_Noreturn void fw_main(void)
{
	if (fw_boot(&fw) != NPU_FW_BOOT_READY)
		sleep_for_good();
	for (;;) {
		if (fw_turn(&fw))
			continue;
		fw_count(&fw, NPU_FW_COUNTER_IDLE);
		fw_wait();
	}
}

/* A trap inside of this comes back, and then there is nothing left but to say so. */
_Noreturn void fw_panic(const struct fw_trap *trap)
{
	static bool again;
	npu_u32 i;

	fw_reg_write(NPU_MCU_BOOT_STATUS, NPU_FW_BOOT_CRASHED);
	if (!again) {
		again = true;
		fw_log(&fw, NPU_FW_LOG_ERROR, "trap: mcause %x mepc %08x mtval %08x mstatus %x",
		       trap->mcause, trap->mepc, trap->mtval, trap->mstatus);
		for (i = 1; i < 32; i += 4)
			fw_log(&fw, NPU_FW_LOG_ERROR, "x%02u: %08x %08x %08x %08x", i, trap->x[i],
			       trap->x[i + 1], trap->x[i + 2], i + 3 < 32 ? trap->x[i + 3] : 0);
		fw_set_boot(&fw, NPU_FW_BOOT_CRASHED);
	}
	fw_reg_write(NPU_MCU_FATAL, trap->mcause);
	sleep_for_good();
}
