// SPDX-License-Identifier: MIT
#define VEC_TABLE npu_vec_avx512
#include "vec_kernel.h"
