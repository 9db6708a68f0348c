/* SPDX-License-Identifier: MIT */
/* The reason that goes with a negative errno. */
#ifndef NPU_CORE_ERROR_H
#define NPU_CORE_ERROR_H

#include "npu.h"

/*
 * Write the reason for @code (a negative errno) and return @code, so that an error path is one
 * line. @err may be NULL.
 */
__attribute__((format(printf, 3, 4)))
int npu_error_set(struct npu_error *err, int code, const char *fmt, ...);

/* Put "@prefix: " before the reason that is there; returns err's code, or @code without an err. */
__attribute__((format(printf, 3, 4)))
int npu_error_prefix(struct npu_error *err, int code, const char *fmt, ...);

/* Replace control characters by '?'; what the two above do with every text. */
void npu_text_clean(char *text);
/* The same for a text of several lines. */
void npu_text_clean_lines(char *text);

#endif
