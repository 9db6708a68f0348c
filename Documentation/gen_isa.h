/* SPDX-License-Identifier: MIT */
#ifndef GEN_ISA_H
#define GEN_ISA_H

#include <stdio.h>

/* Write the instruction reference to @out. */
void npu_gen_isa(FILE *out);

#endif
