/* SPDX-License-Identifier: MIT */
/* The opcodes that the engine has: X(opcode, function). One line for each; see npu_op.h. No include guard on purpose. */
X(CONV, npu_op_conv)
X(CONV_TRANSPOSE, npu_op_conv_transpose)
X(MATMUL, npu_op_matmul)
