// SPDX-License-Identifier: MIT
#include "vf_avx512.h"
#define DW npu_dw_avx512
#include "dw_impl.h"
