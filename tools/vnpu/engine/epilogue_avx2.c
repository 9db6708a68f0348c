// SPDX-License-Identifier: MIT
#define EPI_FN npu_epi_avx2
#include "epilogue_impl.h"
