/* SPDX-License-Identifier: MIT */
/* What start.S leaves of a trap; offsets are known there. */
#ifndef FW_TRAP_H
#define FW_TRAP_H

#include "npu_hw.h"

struct fw_trap {
	npu_u32 x[32];
	npu_u32 mcause, mepc, mtval, mstatus;
};

_Noreturn void fw_main(void);
_Noreturn void fw_panic(const struct fw_trap *trap);

#endif
