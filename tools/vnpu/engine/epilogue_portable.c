// SPDX-License-Identifier: MIT
#include "vf_portable.h"
#define EPI_FN npu_epi_portable
#include "epilogue_impl.h"
