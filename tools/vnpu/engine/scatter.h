/* SPDX-License-Identifier: MIT */
#ifndef NPU_SCATTER_H
#define NPU_SCATTER_H

#include "vec.h"

/*
 * dst[i] = join(dst[i], src[i]) of n elements; plain integers in i64 modulo 2^bits, others in f32.
 * The types are the same, the quantization need not be.
 */
void npu_scatter_line(const struct npu_vec *vec, unsigned int join, const struct npu_elem *de,
		      char *dst, npu_s64 dst_step, const struct npu_elem *se, const char *src,
		      npu_s64 src_step, npu_u64 n);

#endif
