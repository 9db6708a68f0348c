// SPDX-License-Identifier: MIT
/*
 * Memory of the host for blocks of the KV cache that are not on the NPU. It is a file of its own so
 * that a test can run out of it.
 */
#include <stdlib.h>
#include "llm/runtime.h"

void *npu_llm_host_alloc(size_t size)
{
	return malloc(size);
}

void npu_llm_host_free(void *p)
{
	free(p);
}
