/* SPDX-License-Identifier: MIT */
/* What this build is: 20 bytes that the linker made from all of it. */
#ifndef FW_BUILD_H
#define FW_BUILD_H

#include "npu_hw.h"

#ifndef NPU_FW_VERSION
#define NPU_FW_VERSION	NPU_VERSION
#endif

extern const npu_u8 fw_build_id[20];

#endif
