/* SPDX-License-Identifier: MIT */
/* The page of ONNX operators, printed from the compiler's and the host's own tables. */
#ifndef GEN_OPERATORS_H
#define GEN_OPERATORS_H

#include <stdio.h>

void npu_gen_operators(FILE *f);

#endif
