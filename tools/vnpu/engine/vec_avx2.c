// SPDX-License-Identifier: MIT
#define VEC_TABLE npu_vec_avx2
#include "vec_kernel.h"
