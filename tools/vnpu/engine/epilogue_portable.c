// SPDX-License-Identifier: MIT
#define EPI_FN npu_epi_portable
#include "epilogue_impl.h"
