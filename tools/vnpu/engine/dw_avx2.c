// SPDX-License-Identifier: MIT
#include "vf_avx2.h"
#define DW npu_dw_avx2
#include "dw_impl.h"
