// SPDX-License-Identifier: MIT
#include "vf_portable.h"
#define DW npu_dw_portable
#include "dw_impl.h"
