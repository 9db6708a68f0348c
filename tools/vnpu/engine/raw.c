// SPDX-License-Identifier: MIT
#include <string.h>
#include "raw.h"

void npu_raw_line(char *dst, npu_s64 dst_step, const char *src, npu_s64 src_step, size_t n,
		  npu_u32 size)
{
	size_t i;

	if (dst_step == size && src_step == size) {
		memcpy(dst, src, n * size);
		return;
	}
	switch (size) {
#define LINE(bytes)										\
	case bytes:										\
		for (i = 0; i < n; i++)								\
			memcpy(dst + (npu_s64)i * dst_step, src + (npu_s64)i * src_step, bytes); \
		return
	LINE(1);
	LINE(2);
	LINE(4);
	LINE(8);
#undef LINE
	}
}

void npu_raw_fill(char *dst, npu_s64 step, npu_u64 bits, size_t n, npu_u32 size)
{
	size_t i;

	switch (size) {
#define FILL(bytes)										\
	case bytes:										\
		if (step == bytes) {								\
			for (i = 0; i < n; i++)							\
				memcpy(dst + i * bytes, &bits, bytes);				\
			return;									\
		}										\
		for (i = 0; i < n; i++)								\
			memcpy(dst + (npu_s64)i * step, &bits, bytes);				\
		return
	FILL(1);
	FILL(2);
	FILL(4);
	FILL(8);
#undef FILL
	}
}
