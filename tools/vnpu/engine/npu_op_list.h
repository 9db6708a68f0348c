/* SPDX-License-Identifier: MIT */
/* The opcodes that the engine has: X(opcode, function). One line for each; see npu_op.h. No include guard on purpose. */
X(CONV, npu_op_conv)
X(CONV_TRANSPOSE, npu_op_conv_transpose)
X(MATMUL, npu_op_matmul)
X(EWISE1, npu_op_ewise1)
X(EWISE2, npu_op_ewise2)
X(REDUCE, npu_op_reduce)
X(SOFTMAX, npu_op_softmax)
X(NORM, npu_op_norm)
X(POOL, npu_op_pool)
X(RESIZE, npu_op_resize)
X(COPY, npu_op_copy)
