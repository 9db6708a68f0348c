/* SPDX-License-Identifier: MIT */
/*
 * Bounds that keep one instruction from needing much memory beside its operands: those may repeat
 * one element (stride 0), and so be longer than any memory. Beside the bounds of work in npu_isa.h,
 * and like them part of the instruction set.
 */
#ifndef NPU_ISA_LIMITS_H
#define NPU_ISA_LIMITS_H

/* output channels of CONV and CONV_TRANSPOSE, columns of MATMUL */
#define NPU_MAX_OUTPUTS		(1u << 22)
/* last dim of q, k and v of ATTENTION, and of ROPE's rows */
#define NPU_MAX_HEAD		(1u << 16)
/* k of TOPK */
#define NPU_MAX_TOPK		(1u << 22)

#endif
