/* SPDX-License-Identifier: MIT */
/* The text that goes with a negative errno: what was wrong, where, and what was expected. */
#ifndef TOOLS_REASON_H
#define TOOLS_REASON_H

struct npu_reason {
	char text[512];
};

/*
 * Write the reason for @err (a negative errno) and return @err, so that an error path is one line.
 * @why may be NULL. A reason that is already there is replaced.
 */
__attribute__((format(printf, 3, 4)))
int npu_reason_set(struct npu_reason *why, int err, const char *fmt, ...);

/* Put "@prefix: " before the reason that is there; returns @err. */
int npu_reason_prefix(struct npu_reason *why, int err, const char *prefix);

#endif
