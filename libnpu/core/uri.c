// SPDX-License-Identifier: MIT
#include "core/uri.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"

int npu_uri_number(const char *key, const char *value, uint64_t min, uint64_t max, uint64_t *out,
		   struct npu_error *err)
{
	char *end;

	errno = 0;
	*out = strtoull(value, &end, 0);
	if (errno || end == value || *end || *value == '-' || *out < min || *out > max)
		return npu_error_set(err, -EINVAL,
				     "device option %s=%s: want a number from %llu to %llu", key,
				     value, (unsigned long long)min, (unsigned long long)max);
	return 0;
}

int npu_uri_options(const char *list,
		    int (*take)(void *ctx, const char *key, const char *value,
				struct npu_error *err),
		    void *ctx, struct npu_error *err)
{
	char *copy = strdup(list), *item, *value, *save = NULL;
	int ret = 0;

	if (!copy)
		return npu_error_set(err, -ENOMEM, "no memory to read '%s'", list);
	for (item = strtok_r(copy, ",", &save); item && !ret; item = strtok_r(NULL, ",", &save)) {
		value = strchr(item, '=');
		if (!value) {
			ret = npu_error_set(err, -EINVAL, "device option '%s' has no value", item);
			break;
		}
		*value++ = 0;
		ret = take(ctx, item, value, err);
	}
	free(copy);
	return ret;
}
