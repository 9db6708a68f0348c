/* SPDX-License-Identifier: MIT */
/*
 * The text that goes with a negative errno: what was wrong, where, and what was expected. The tools
 * have libnpu's, under the name that they had before.
 */
#ifndef TOOLS_REASON_H
#define TOOLS_REASON_H

#include "core/error.h"

#define npu_reason			npu_error
#define npu_reason_set			npu_error_set
#define npu_reason_prefix(why, err, prefix)	npu_error_prefix(why, err, "%s", prefix)

#endif
