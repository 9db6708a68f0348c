// SPDX-License-Identifier: MIT
/* Structs of the interface that grow from version to version. */
#include <errno.h>
#include <string.h>
#include "core/object.h"

int npu_struct_read(void *out, size_t known, const void *in, uint32_t size, const char *what,
		    struct npu_error *err)
{
	const unsigned char *p = in;
	size_t i;

	memset(out, 0, known);
	if (size < sizeof(size))
		return npu_error_set(err, -EINVAL, "%s: size is %u, set it to sizeof (NPU_INIT)",
				     what, size);
	for (i = known; i < size; i++)
		if (p[i])
			return npu_error_set(err, -EINVAL,
					     "%s: byte %zu is set, this libnpu (%s) knows %zu",
					     what, i, NPU_VERSION, known);
	memcpy(out, in, size < known ? size : known);
	return 0;
}

int npu_struct_write(void *out, uint32_t size, const void *in, size_t known)
{
	if (size < sizeof(size))
		return -EINVAL;
	memset(out, 0, size);
	memcpy(out, in, size < known ? size : known);
	memcpy(out, &size, sizeof(size));
	return 0;
}
