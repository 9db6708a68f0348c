/* SPDX-License-Identifier: MIT */
/* Elements moved as bits: what needs no conversion. */
#ifndef NPU_RAW_H
#define NPU_RAW_H

#include "vec.h"

/* True when the stored bits mean the same on both sides. */
static inline bool npu_elem_same_code(const struct npu_elem *a, const struct npu_elem *b)
{
	return a->dtype == b->dtype && a->scale == b->scale &&
	       (a->scale == 0.0f || a->zero == b->zero);
}

/* n elements of @size bytes (1, 2, 4, 8) with steps in bytes; memcpy where both are dense. */
void npu_raw_line(char *dst, npu_s64 dst_step, const char *src, npu_s64 src_step, size_t n,
		  npu_u32 size);

/* n times the element whose bits are @bits. */
void npu_raw_fill(char *dst, npu_s64 step, npu_u64 bits, size_t n, npu_u32 size);

#endif
