// SPDX-License-Identifier: MIT
#define VEC_TABLE npu_vec_portable
#include "vec_kernel.h"
