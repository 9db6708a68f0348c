/* SPDX-License-Identifier: MIT */
/*
 * The operators that the networks this stack is made for consist of, and how ONNX's tests of a
 * single one of them fare: every one has to be on the NPU as a whole.
 */
#ifndef OPERATOR_SETS_H
#define OPERATOR_SETS_H

#include "onnx_case.h"

/* Forget what was noted. */
void operator_sets_reset(void);

/*
 * Note test @name when it is one of a single operator of the sets; @place: what became of it, @npu:
 * nothing is elsewhere.
 */
void operator_sets_note(const char *name, const struct onnx_case *c, const char *place, bool npu);

/* Cases noted, and those of them that are not on the NPU. */
int operator_sets_cases(void);
int operator_sets_elsewhere(void);

/* The text of Documentation/conformance/operator-sets.txt; the caller's to free. */
char *operator_sets_file(void);

#endif
