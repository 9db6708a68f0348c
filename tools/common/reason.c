// SPDX-License-Identifier: MIT
#include "tools/common/reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int npu_reason_set(struct npu_reason *why, int err, const char *fmt, ...)
{
	va_list ap;

	if (!why)
		return err;
	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return err;
}

int npu_reason_prefix(struct npu_reason *why, int err, const char *prefix)
{
	char old[sizeof(why->text)];

	if (!why)
		return err;
	memcpy(old, why->text, sizeof(old));
	snprintf(why->text, sizeof(why->text), "%.200s: %.300s", prefix, old);
	return err;
}
