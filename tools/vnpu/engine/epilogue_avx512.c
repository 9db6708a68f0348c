// SPDX-License-Identifier: MIT
#include "vf_avx512.h"
#define EPI_FN npu_epi_avx512
#include "epilogue_impl.h"
