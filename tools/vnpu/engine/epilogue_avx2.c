// SPDX-License-Identifier: MIT
#include "vf_avx2.h"
#define EPI_FN npu_epi_avx2
#include "epilogue_impl.h"
