/* SPDX-License-Identifier: MIT */
#ifndef NPU_COMPILER_LOWER_DUMP_H
#define NPU_COMPILER_LOWER_DUMP_H

#include <stdio.h>

#include "compiler/lower.h"
#include "compiler/plan.h"

/* Print to @f; @l has been lowered (dump_layout: its memory orders are chosen). */
void npu_lower_dump_insns(FILE *f, const struct npu_lower *l);
void npu_lower_dump_layout(FILE *f, const struct npu_lower *l);
void npu_lower_dump_plan(FILE *f, const struct npu_lower *l, const struct npu_plan *p);

#endif
