/* SPDX-License-Identifier: MIT */
/* Options behind a device's name: "sim:threads=2,simd=portable". Thread safe. */
#ifndef NPU_CORE_URI_H
#define NPU_CORE_URI_H

#include <stdint.h>
#include "npu.h"

/*
 * Call @take for each option of @list, "key=value,key=value", in order, until one fails; "" has
 * none.
 * @ctx is passed on. -EINVAL (one without a value), -ENOMEM, or what @take returns.
 */
int npu_uri_options(const char *list,
		    int (*take)(void *ctx, const char *key, const char *value,
				struct npu_error *err),
		    void *ctx, struct npu_error *err);

/* The value as a number from @min to @max, decimal or 0x hexadecimal. -EINVAL. */
int npu_uri_number(const char *key, const char *value, uint64_t min, uint64_t max, uint64_t *out,
		   struct npu_error *err);

#endif
