/* SPDX-License-Identifier: MIT */
/*
 * NPU v1 opcodes. Include with the macros below defined; there is no include guard on purpose.
 *
 * OP(name, code, mnemonic, summary, formula)
 * SLOT(op, name, dir, types, min rank, max rank, flags, doc)
 *	dir: IN, OUT or INOUT
 * PARAM(op, name, kind, min, max, doc)
 *	kind: U32, I32, F32 (finite; max 1: or infinite), LEN (u32 that a term may name), MASK
 * PARAM_SINCE(minor, op, ...)
 *	a parameter that came with this minor version of the instruction set; PARAM() where it is
 *	not defined. 0 when it is left off.
 * END(op)
 *
 * Slots and parameters are encoded in the order written here and a minor version only appends to
 * them. types: T_* masks. flags:
 * S_REQ
 *	the operand must be there
 * S_PANEL
 *	weight layouts are allowed beside STRIDED
 * S_INPLACE
 *	the output may be exactly the first input (same region, offset, dims, strides, type size)
 * S_SINCE(minor)
 *	the slot came with this minor version of the instruction set: an instruction may leave such
 *	slots off at the end of its operands, and does when they are absent, so that what an older
 *	version can say stays readable to it. The same goes for parameters that are 0: an
 *	instruction has the operands and parameters of one version of the opcode. An opcode came
 *	with the minor version of its first slot.
 *
 * Formulas: every float operation is IEEE binary32, round to nearest even, operands widened exactly
 * on load and rounded once when stored; fma is one rounding; a NaN is stored as the quiet NaN with
 * zero payload and positive sign; subnormals are kept. sum16 is the fixed reduction: element i goes
 * to lane i % 16 in rising i starting from +0, then lanes are added
 * l += l + 8, l += l + 4, l += l + 2, l += l + 1. q() is the store: for an integer output with
 * scale != 0 clamp(rne(v / scale) + zero_point), else a cast. Loads of integer data with scale != 0
 * give (code - zero_point) * scale, the difference exact (i32: rounded to f32); plain integers that
 * meet floats are f32(code). A cast of f32 to a plain integer truncates towards zero and saturates,
 * NaN gives 0; to bool it is v != 0; q() of NaN is q() of 0. max and min are IEEE 754's maximum and
 * minimum: NaN when either is, +0 above -0; in activations they are single comparisons, which keep
 * a NaN and a -0. Operators that only move elements move the stored bits when type, scale and zero
 * point are the same on both sides. Documentation/hardware/numerics.md has it all in one place.
 * exp, log, sigmoid, tanh, erf, sin, cos and the others made of them are the fixed polynomials of
 * tools/vnpu/engine/npu_math.h.
 */

#ifndef PARAM_SINCE
#define PARAM_SINCE(minor, ...) PARAM(__VA_ARGS__)
#define NPU_ISA_TABLE_PARAMS
#endif

#ifndef OP	/* included by itself: nothing but the encoding */
#define NPU_ISA_TABLE_ALONE
#define OP(...)
#define SLOT(...)
#define PARAM(...)
#define END(...)
#include "npu_isa.h"
#endif

/*
 * v = acc + bias; v = act(v); v = fma(v, post_mul, post_add) unless they are 1 and 0;
 * v = v join residual; v = act2(v)
 */
#define EPILOGUE_SLOTS(op)									\
	SLOT(op, BIAS, IN, T_F32 | T_I32, 1, 1, 0, "[O]; added to the accumulator")		\
	SLOT(op, SCALE, IN, T_F32, 0, 1, 0, "[O] or []: integer accumulator to real value")	\
	SLOT(op, RESIDUAL, IN, T_DATA, 1, 6, 0, "same rank as out, dims equal out's or 1")	\
	SLOT(op, ACT_PARAM, IN, T_F32, 1, 1, 0, "[O]; slopes of prelu")				\
	SLOT(op, TABLE, IN, T_U8 | T_I8, 1, 1, 0,						\
	     "[256]; maps the stored code's bits, 8-bit out only")

#define EPILOGUE_PARAMS(op)									\
	PARAM(op, ACT,		U32, 0, NPU_NUM_ACTS - 1, "enum npu_act")			\
	PARAM(op, ACT_ALPHA,	F32, 0, 1, "")							\
	PARAM(op, ACT_BETA,	F32, 0, 1, "")							\
	PARAM(op, POST_MUL,	F32, 0, 0, "1: none")						\
	PARAM(op, POST_ADD,	F32, 0, 0, "0: none")						\
	PARAM(op, JOIN,		U32, 0, NPU_NUM_JOINS - 1, "enum npu_join, NONE without residual") \
	PARAM(op, ACT2,		U32, 0, NPU_NUM_ACTS - 1, "enum npu_act but PRELU")		\
	PARAM(op, ACT2_ALPHA,	F32, 0, 1, "")							\
	PARAM(op, ACT2_BETA,	F32, 0, 1, "")

OP(END, 0x00, "end", "end of the stream", "the job is done")
END(END)

OP(MARKER, 0x01, "marker", "a place for profilers and debuggers", "no effect")
	PARAM(MARKER, VALUE, U32, 0, 0xffffffff, "free")
END(MARKER)

OP(TIMESTAMP, 0x02, "timestamp", "write the device clock",
   "out[0] = device ticks when all earlier instructions have finished")
	SLOT(TIMESTAMP, OUT, OUT, T_I64, 0, 1, S_REQ, "[1]")
END(TIMESTAMP)

OP(LOAD_SCALAR, 0x03, "load_scalar", "take a job scalar from memory",
   "scalar[index] = in[0] when min <= in[0] <= max and the stream header's bound holds, "
   "else an INDEX fault")
	SLOT(LOAD_SCALAR, IN, IN, T_I32 | T_I64, 0, 1, S_REQ, "[1]")
	PARAM(LOAD_SCALAR, INDEX, U32, 0, NPU_MAX_SCALARS - 1, "which scalar")
	PARAM(LOAD_SCALAR, MIN, U32, 0, 0xffffffff, "")
	PARAM(LOAD_SCALAR, MAX, U32, 0, 0xffffffff, "")
END(LOAD_SCALAR)

OP(CONV, 0x10, "conv", "convolution: dense, grouped, depthwise, dilated; 1-D with H = 1",
   "float: acc = +0; for kh, kw, c in order: acc = fma(x, w, acc); "
   "integer: acc = exact sum of (x - zx) * (w - zw) in i32; "
   "x = in[n, oh*stride_h - pad_top + kh*dil_h, ow*stride_w - pad_left + kw*dil_w, "
   "g*C/groups + c], "
   "and outside of in the value 0, which takes part like any other; "
   "integer with SCALE: v = f32(acc + bias) * scale[o]; then the epilogue and q()")
	SLOT(CONV, OUT, OUT, T_DATA | T_I32, 4, 4, S_REQ, "[N, OH, OW, O]")
	SLOT(CONV, IN, IN, T_DATA, 4, 4, S_REQ,
	     "[N, H, W, C]; any strides, so NCHW data is read in place")
	SLOT(CONV, WEIGHT, IN, T_DATA, 4, 4, S_REQ | S_PANEL, "[O, KH, KW, C/groups]")
	EPILOGUE_SLOTS(CONV)
	SLOT(CONV, W_ZERO, IN, T_I8 | T_U8, 1, 1, 0,
	     "[O]; zero points of the weight, instead of the operand's")
	SLOT(CONV, X_ZERO, IN, T_I8 | T_U8, 0, 1, S_SINCE(1),
	     "[1]; zero point of in, known when it runs, instead of the operand's, which is 0")
	PARAM(CONV, STRIDE_H, U32, 1, 4096, "")
	PARAM(CONV, STRIDE_W, U32, 1, 4096, "")
	PARAM(CONV, DIL_H, U32, 1, 4096, "")
	PARAM(CONV, DIL_W, U32, 1, 4096, "")
	PARAM(CONV, PAD_TOP, U32, 0, 65535, "")
	PARAM(CONV, PAD_LEFT, U32, 0, 65535, "bottom and right follow from OH and OW")
	PARAM(CONV, GROUPS, U32, 1, 0x7fffffff, "")
	EPILOGUE_PARAMS(CONV)
END(CONV)

OP(CONV_TRANSPOSE, 0x11, "conv_transpose", "transposed convolution",
   "acc = +0; for kh, kw, c in order, where oh + pad_top - kh*dil_h = ih*stride_h and the same for "
   "w with (ih, iw) inside of in: acc = fma(in[n, ih, iw, g*C/groups + c], w[o, kh, kw, c], acc); "
   "integer as in conv; then the epilogue and q()")
	SLOT(CONV_TRANSPOSE, OUT, OUT, T_DATA | T_I32, 4, 4, S_REQ, "[N, OH, OW, O]")
	SLOT(CONV_TRANSPOSE, IN, IN, T_DATA, 4, 4, S_REQ, "[N, H, W, C]")
	SLOT(CONV_TRANSPOSE, WEIGHT, IN, T_DATA, 4, 4, S_REQ | S_PANEL, "[O, KH, KW, C/groups]")
	EPILOGUE_SLOTS(CONV_TRANSPOSE)
	PARAM(CONV_TRANSPOSE, STRIDE_H, U32, 1, 4096, "")
	PARAM(CONV_TRANSPOSE, STRIDE_W, U32, 1, 4096, "")
	PARAM(CONV_TRANSPOSE, DIL_H, U32, 1, 4096, "")
	PARAM(CONV_TRANSPOSE, DIL_W, U32, 1, 4096, "")
	PARAM(CONV_TRANSPOSE, PAD_TOP, U32, 0, 65535, "")
	PARAM(CONV_TRANSPOSE, PAD_LEFT, U32, 0, 65535, "")
	PARAM(CONV_TRANSPOSE, GROUPS, U32, 1, 0x7fffffff, "")
	EPILOGUE_PARAMS(CONV_TRANSPOSE)
END(CONV_TRANSPOSE)

OP(MATMUL, 0x12, "matmul",
   "batched matrix product of two activations, or of an activation and a weight",
   "float: acc = +0; for k in order: acc = fma(a[.., m, k], b[.., k, n], acc); "
   "integer: exact sum of (a - za) * (b - zb) in i32; grouped weight, a i8: acc = +0; "
   "for groups in order: s = exact sum of a * (code - zero_point) in i32, "
   "acc = fma(f32(s), a_scale * scale, acc), and with minimums "
   "acc = fma(f32(sum of the group's a), a_scale * min, acc); a float: acc = +0; "
   "for k in order: acc = fma(a, w, acc), w = f32(code - zero_point) * scale, "
   "with minimums w = fma(f32(code - zero_point), scale, min). scale and min are GROUP_SCALE and "
   "GROUP_MIN of the group in f32, with SUPER times SUPER_SCALE of the second-level group, "
   "every product rounded; with CODEBOOK the code stands for codebook[code]; "
   "then the epilogue, with o = n, and q()")
	SLOT(MATMUL, OUT, OUT, T_DATA | T_I32, 2, 5, S_REQ, "[.., M, N]")
	SLOT(MATMUL, A, IN, T_DATA, 2, 5, S_REQ,
	     "[.., M, K]; same rank as out, leading dims equal out's or 1")
	SLOT(MATMUL, B, IN, T_DATA | T_SUB8, 2, 5, S_REQ | S_PANEL,
	     "[.., K, N]; same rank as out, leading dims equal out's or 1")
	EPILOGUE_SLOTS(MATMUL)
	SLOT(MATMUL, GROUP_SCALE, IN, T_F16 | T_F32 | T_INT8, 2, 2, S_PANEL,
	     "[ceil(K/group), N]; grouped weights")
	SLOT(MATMUL, GROUP_MIN, IN, T_F16 | T_F32 | T_INT8, 2, 2, S_PANEL,
	     "[ceil(K/group), N]; added, so a format that subtracts its minimums has them with the "
	     "other sign")
	SLOT(MATMUL, SUPER_SCALE, IN, T_F16 | T_F32, 2, 3, S_PANEL,
	     "[ceil(K/super), N] or [2, ..]; two-level scales, and minimums")
	SLOT(MATMUL, CODEBOOK, IN, T_I8, 1, 1, 0, "[16]; values of 4-bit codes")
	SLOT(MATMUL, B_ZERO, IN, T_I8 | T_U8, 1, 1, 0, "[N]; zero points of b, instead of the operand's")
	SLOT(MATMUL, A_SCALE, IN, T_F16 | T_F32, 1, 5, 0, "[.., M], with A_GROUP [.., M, ceil(K/a_group)]; scales of dynamically quantized rows; f16 since 1.4")
	SLOT(MATMUL, A_ZERO, IN, T_I8 | T_U8, 0, 1, S_SINCE(1),
	     "[1]; zero point of a, known when it runs, instead of the operand's, which is 0")
	PARAM(MATMUL, GROUP, U32, 0, 65536,
	      "elements of K that share a scale, 0: none; a multiple of 4")
	PARAM(MATMUL, SUPER, U32, 0, 65536,
	      "elements of K that share a second-level scale, 0: none")
	EPILOGUE_PARAMS(MATMUL)
	PARAM_SINCE(2, MATMUL, A_GROUP, U32, 0, 65536,
		    "elements of K that share a scale of a, 0: all of a row")
END(MATMUL)

OP(EWISE1, 0x20, "ewise1", "unary element-wise function",
   "v = func(in); float in f32, plain integers in i64 (stored modulo 2^bits); v = act(v); "
   "v = fma(v, post_mul, post_add); q()")
	SLOT(EWISE1, OUT, OUT, T_ALL, 0, 6, S_REQ | S_INPLACE, "")
	SLOT(EWISE1, IN, IN, T_ALL, 0, 6, S_REQ, "dims equal out's or 1")
	SLOT(EWISE1, ACT_PARAM, IN, T_F32, 1, 1, 0, "[last dim]; slopes of prelu")
	PARAM(EWISE1, FUNC, U32, 0, NPU_NUM_UNARIES - 1, "enum npu_unary")
	PARAM(EWISE1, ACT, U32, 0, NPU_NUM_ACTS - 1, "enum npu_act, float only")
	PARAM(EWISE1, ACT_ALPHA, F32, 0, 1, "")
	PARAM(EWISE1, ACT_BETA, F32, 0, 1, "")
	PARAM(EWISE1, POST_MUL, F32, 0, 0, "1: none")
	PARAM(EWISE1, POST_ADD, F32, 0, 0, "0: none")
END(EWISE1)

OP(EWISE2, 0x21, "ewise2", "binary element-wise function with broadcasting",
   "v = func(a, b); float when either is float or quantized, in f32; "
   "else in i64 (stored modulo 2^bits); comparisons give 0 or 1; v = act(v); "
   "v = fma(v, post_mul, post_add); q(). max and min: NaN when either is; "
   "div, mod and fmod of integers truncate or floor, by zero give 0; "
   "mod has the sign of b, fmod of a, both exact but for one rounding; "
   "pow as in numerics.md: by products for 1, 2 and 3, sqrt for 0.5, "
   "else exp(b * log(abs(a))) in f64, rounded once; of integers by products modulo 2^64; "
   "shl and shr (arithmetic) by a count outside 0 .. 63 give 0")
	SLOT(EWISE2, OUT, OUT, T_ALL, 0, 6, S_REQ | S_INPLACE, "")
	SLOT(EWISE2, A, IN, T_ALL, 0, 6, S_REQ, "same rank as out, dims equal out's or 1")
	SLOT(EWISE2, B, IN, T_ALL, 0, 6, S_REQ, "same rank as out, dims equal out's or 1")
	SLOT(EWISE2, ACT_PARAM, IN, T_F32, 1, 1, 0, "[last dim]; slopes of prelu")
	PARAM(EWISE2, FUNC, U32, 0, NPU_NUM_BINARIES - 1, "enum npu_binary")
	PARAM(EWISE2, ACT, U32, 0, NPU_NUM_ACTS - 1, "enum npu_act, float only")
	PARAM(EWISE2, ACT_ALPHA, F32, 0, 1, "")
	PARAM(EWISE2, ACT_BETA, F32, 0, 1, "")
	PARAM(EWISE2, POST_MUL, F32, 0, 0, "1: none")
	PARAM(EWISE2, POST_ADD, F32, 0, 0, "0: none")
END(EWISE2)

OP(SELECT, 0x22, "select", "choose by a condition", "out = cond ? a : b, cast to out's type")
	SLOT(SELECT, OUT, OUT, T_ALL, 0, 6, S_REQ, "")
	SLOT(SELECT, COND, IN, T_BOOL, 0, 6, S_REQ, "same rank as out, dims equal out's or 1")
	SLOT(SELECT, A, IN, T_ALL, 0, 6, S_REQ, "same type as b")
	SLOT(SELECT, B, IN, T_ALL, 0, 6, S_REQ, "")
END(SELECT)

OP(REDUCE, 0x28, "reduce", "reduction over any set of axes",
   "over the reduced elements in row-major order: sum = sum16(x), mean = sum16(x) / f32(count), "
   "l1 = sum16(abs(x)), sum_square = sum16 by fma(x, x, lane), l2 = sqrt(sum_square), "
   "log_sum = log(sum), log_sum_exp = max + log(sum16(exp(x - max))), "
   "max alone when it is infinite, prod: 16 lanes from 1 and the same tree; "
   "max and min NaN when any is; plain integers exact in i64 modulo 2^bits, mean truncates; q()")
	SLOT(REDUCE, OUT, OUT, T_ALL, 0, 6, S_REQ, "same rank as in, reduced dims 1")
	SLOT(REDUCE, IN, IN, T_ALL, 0, 6, S_REQ, "")
	PARAM(REDUCE, FUNC, U32, 0, NPU_NUM_REDUCES - 1, "enum npu_reduce")
	PARAM(REDUCE, AXES, MASK, 0, 63, "bit i: dim i is reduced")
END(REDUCE)

OP(ARG_REDUCE, 0x29, "arg_reduce", "index of the largest or smallest element along one axis",
   "out = index of the first (LAST: last) extreme element; NaN counts as larger than all for max "
   "and smaller than all for min; -0 equals +0")
	SLOT(ARG_REDUCE, OUT, OUT, T_I32 | T_I64, 0, 6, S_REQ, "same rank as in, the axis 1")
	SLOT(ARG_REDUCE, IN, IN, T_ALL, 1, 6, S_REQ, "")
	PARAM(ARG_REDUCE, AXIS, U32, 0, 5, "")
	PARAM(ARG_REDUCE, IS_MIN, U32, 0, 1, "")
	PARAM(ARG_REDUCE, LAST, U32, 0, 1, "")
END(ARG_REDUCE)

OP(TOPK, 0x2a, "topk", "the k largest or smallest along one axis, sorted",
   "stable: equal values keep their order of index; NaN is above all numbers; "
   "k is values' size on the axis")
	SLOT(TOPK, VALUES, OUT, T_ALL, 1, 6, S_REQ, "")
	SLOT(TOPK, INDICES, OUT, T_I32 | T_I64, 1, 6, S_REQ, "")
	SLOT(TOPK, IN, IN, T_ALL, 1, 6, S_REQ, "")
	PARAM(TOPK, AXIS, U32, 0, 5, "")
	PARAM(TOPK, SMALLEST, U32, 0, 1, "")
END(TOPK)

OP(CUMSUM, 0x2b, "cumsum", "running sum along one axis",
   "out[i] = sum of in[j], j <= i (EXCLUSIVE: j < i), in order from +0 in f32, "
   "plain integers in i64; REVERSE from the end")
	SLOT(CUMSUM, OUT, OUT, T_ALL, 1, 6, S_REQ, "")
	SLOT(CUMSUM, IN, IN, T_ALL, 1, 6, S_REQ, "")
	PARAM(CUMSUM, AXIS, U32, 0, 5, "")
	PARAM(CUMSUM, EXCLUSIVE, U32, 0, 1, "")
	PARAM(CUMSUM, REVERSE, U32, 0, 1, "")
END(CUMSUM)

OP(SOFTMAX, 0x2c, "softmax", "softmax or log-softmax along one axis",
   "m = max(x); e = exp2((x - m) * 1.44269504); s = sum16(e); softmax: e / s; "
   "log: (x - m) - log(s)")
	SLOT(SOFTMAX, OUT, OUT, T_DATA, 1, 6, S_REQ | S_INPLACE, "")
	SLOT(SOFTMAX, IN, IN, T_DATA, 1, 6, S_REQ, "")
	PARAM(SOFTMAX, AXIS, U32, 0, 5, "")
	PARAM(SOFTMAX, LOG, U32, 0, 1, "")
END(SOFTMAX)

OP(NORM, 0x2d, "norm", "layer or RMS normalization over the last dim, with the add before it",
   "x = in (+ addend); layer: mean = sum16(x) / f32(D); d = x - mean; "
   "var = sum16(fma(d, d, lane)) / f32(D); y = d * (1 / sqrt(var + eps)); "
   "rms: y = x * (1 / sqrt(sum16(fma(x, x, lane)) / f32(D) + eps)); "
   "out = fma(y, gamma, beta), y * gamma without beta, y + beta without gamma; "
   "sum = x, rounded where it is stored only")
	SLOT(NORM, OUT, OUT, T_DATA, 1, 6, S_REQ | S_INPLACE, "")
	SLOT(NORM, IN, IN, T_DATA, 1, 6, S_REQ, "[.., D]")
	SLOT(NORM, GAMMA, IN, T_FLOAT, 1, 1, 0, "[D]; absent: 1")
	SLOT(NORM, BETA, IN, T_FLOAT, 1, 1, 0, "[D]")
	SLOT(NORM, ADDEND, IN, T_DATA, 1, 6, 0, "dims of in")
	SLOT(NORM, SUM, OUT, T_DATA, 1, 6, 0, "dims of in")
	PARAM(NORM, KIND, U32, 0, NPU_NUM_NORMS - 1, "enum npu_norm")
	PARAM(NORM, EPS, F32, 0, 0, "")
END(NORM)

OP(POOL, 0x30, "pool", "max or average pooling",
   "window (kh, kw) in order over elements inside of in; max: NaN when any is, "
   "average: sum from +0 in order, / f32(count), count of elements inside of in, "
   "or with INCLUDE_PAD inside of in padded by top, left, bottom, right; "
   "an empty window gives 0 (average) or q(-infinity) (max)")
	SLOT(POOL, OUT, OUT, T_DATA, 4, 4, S_REQ, "[N, OH, OW, C]")
	SLOT(POOL, IN, IN, T_DATA, 4, 4, S_REQ, "[N, H, W, C]")
	PARAM(POOL, KIND, U32, 0, NPU_NUM_POOLS - 1, "enum npu_pool")
	PARAM(POOL, KERNEL_H, LEN, 1, 0x7fffffff, "")
	PARAM(POOL, KERNEL_W, LEN, 1, 0x7fffffff, "")
	PARAM(POOL, STRIDE_H, U32, 1, 4096, "")
	PARAM(POOL, STRIDE_W, U32, 1, 4096, "")
	PARAM(POOL, DIL_H, U32, 1, 4096, "")
	PARAM(POOL, DIL_W, U32, 1, 4096, "")
	PARAM(POOL, PAD_TOP, U32, 0, 65535, "")
	PARAM(POOL, PAD_LEFT, U32, 0, 65535, "")
	PARAM(POOL, PAD_BOTTOM, U32, 0, 65535, "")
	PARAM(POOL, PAD_RIGHT, U32, 0, 65535, "")
	PARAM(POOL, INCLUDE_PAD, U32, 0, 1, "")
END(POOL)

OP(RESIZE, 0x31, "resize", "nearest, linear or cubic resampling of H and W",
   "source coordinate in f32 from COORD: half_pixel (o + 0.5) / scale - 0.5, "
   "pytorch_half_pixel the same but 0 when the output is 1, "
   "align_corners o * ((in - 1) / (out - 1)), 0 when out is 1, asymmetric o / scale, "
   "each operation rounded to f32; nearest: ceil(x - 0.5), floor(x + 0.5), "
   "floor or ceil by NEAREST, clamped; linear: taps floor and floor + 1 clamped, "
   "weights 1 - f and f, fma(b - a, f, a) first along W, then along H; "
   "cubic: 4 taps with coefficient CUBIC_A (weights in numerics.md), outside ones clamped, "
   "W first, fma in order from +0; EXCLUDE_OUTSIDE: outside taps weigh 0 and the rest is divided "
   "by their sum")
	SLOT(RESIZE, OUT, OUT, T_DATA, 4, 4, S_REQ, "[N, OH, OW, C]")
	SLOT(RESIZE, IN, IN, T_DATA, 4, 4, S_REQ, "[N, H, W, C]")
	PARAM(RESIZE, MODE, U32, 0, NPU_NUM_RESIZES - 1, "enum npu_resize")
	PARAM(RESIZE, COORD, U32, 0, NPU_NUM_COORDS - 1, "enum npu_coord")
	PARAM(RESIZE, NEAREST, U32, 0, NPU_NUM_NEARESTS - 1, "enum npu_nearest")
	PARAM(RESIZE, SCALE_H, F32, 0, 0, "output over input; > 0")
	PARAM(RESIZE, SCALE_W, F32, 0, 0, "")
	PARAM(RESIZE, CUBIC_A, F32, 0, 0, "")
	PARAM(RESIZE, EXCLUDE_OUTSIDE, U32, 0, 1, "")
END(RESIZE)

OP(CROP_RESIZE, 0x32, "crop_resize", "cut boxes out and resample them",
   "y = fma(oh + 0.5, (y1 - y0) / OH, y0) - 0.5 over the box y0, x0, y1, x1 in pixels, x likewise; "
   "four taps at the floors and one beyond, a tap outside of in[batch[i]] is FILL; "
   "fma(b - a, f, a) along W, then along H")
	SLOT(CROP_RESIZE, OUT, OUT, T_DATA, 4, 4, S_REQ, "[R, OH, OW, C]")
	SLOT(CROP_RESIZE, IN, IN, T_DATA, 4, 4, S_REQ, "[N, H, W, C]")
	SLOT(CROP_RESIZE, BOXES, IN, T_F32, 2, 2, S_REQ, "[R, 4]")
	SLOT(CROP_RESIZE, BATCH, IN, T_I32, 1, 1, 0, "[R]; absent: 0")
	PARAM(CROP_RESIZE, FILL, F32, 0, 0, "")
END(CROP_RESIZE)

OP(COPY, 0x38, "copy",
   "N-d strided copy with cast: transpose, slice, concat, layout change, quantize, dequantize",
   "out = q(in), or in's bits when nothing is to be converted; float to plain integer truncates "
   "towards zero and saturates, NaN gives 0; integer to narrower integer is modulo 2^bits; "
   "to bool is != 0")
	SLOT(COPY, OUT, OUT, T_ALL, 0, 6, S_REQ, "")
	SLOT(COPY, IN, IN, T_ALL, 0, 6, S_REQ, "same rank as out, dims equal out's or 1")
END(COPY)

OP(FILL, 0x39, "fill", "a constant everywhere",
   "out = VALUE_LO | VALUE_HI << 32: the element's stored bits")
	SLOT(FILL, OUT, OUT, T_ALL, 0, 6, S_REQ, "")
	PARAM(FILL, VALUE_LO, U32, 0, 0xffffffff, "")
	PARAM(FILL, VALUE_HI, U32, 0, 0xffffffff, "")
END(FILL)

OP(PAD, 0x3a, "pad", "padding: constant, reflect, edge or wrap",
   "out[i] = in[i - before]; outside: VALUE bits, or in at the mirrored, clamped or wrapped index")
	SLOT(PAD, OUT, OUT, T_ALL, 1, 6, S_REQ, "")
	SLOT(PAD, IN, IN, T_ALL, 1, 6, S_REQ, "same rank and type as out")
	PARAM(PAD, MODE, U32, 0, NPU_NUM_PADS - 1, "enum npu_pad")
	PARAM(PAD, BEFORE0, I32, -0x7fffffff, 0x7fffffff,
	      "elements in front of each dim; negative crops")
	PARAM(PAD, BEFORE1, I32, -0x7fffffff, 0x7fffffff, "")
	PARAM(PAD, BEFORE2, I32, -0x7fffffff, 0x7fffffff, "")
	PARAM(PAD, BEFORE3, I32, -0x7fffffff, 0x7fffffff, "")
	PARAM(PAD, BEFORE4, I32, -0x7fffffff, 0x7fffffff, "")
	PARAM(PAD, BEFORE5, I32, -0x7fffffff, 0x7fffffff, "")
	PARAM(PAD, VALUE_LO, U32, 0, 0xffffffff, "the element's stored bits")
	PARAM(PAD, VALUE_HI, U32, 0, 0xffffffff, "")
END(PAD)

OP(IOTA, 0x3b, "iota", "a rising sequence along one axis",
   "fma(f32(index on AXIS), step, start), then q(); plain integers: "
   "i64(start) + index * i64(step), start and step truncated")
	SLOT(IOTA, OUT, OUT, T_ALL, 1, 6, S_REQ, "")
	PARAM(IOTA, AXIS, U32, 0, 5, "")
	PARAM(IOTA, START, F32, 0, 0, "")
	PARAM(IOTA, STEP, F32, 0, 0, "")
END(IOTA)

OP(GATHER, 0x40, "gather", "rows by index",
   "out[o, i, n] = in[o, index[i], n], cast; quantized rows: w as the grouped weight of matmul "
   "beside a float a, then q(); a negative index counts from the end; "
   "an index outside faults with its value")
	SLOT(GATHER, OUT, OUT, T_ALL, 3, 3, S_REQ, "[outer, count, inner]")
	SLOT(GATHER, IN, IN, T_ALL | T_SUB8, 3, 3, S_REQ | S_PANEL,
	     "[outer, rows, inner]; quantized rows too, also out of a grouped16 weight of matmul "
	     "[inner, rows]")
	SLOT(GATHER, INDEX, IN, T_I32 | T_I64, 1, 1, S_REQ, "[count]")
	SLOT(GATHER, GROUP_SCALE, IN, T_F16 | T_F32 | T_INT8, 2, 2, S_PANEL,
	     "[rows, ceil(inner/group)]; quantized rows; in panels the memory is that of matmul's")
	SLOT(GATHER, GROUP_MIN, IN, T_F16 | T_F32 | T_INT8, 2, 2, S_PANEL,
	     "[rows, ceil(inner/group)]")
	SLOT(GATHER, SUPER_SCALE, IN, T_F16 | T_F32, 2, 3, S_PANEL,
	     "[rows, ceil(inner/super)] or [2, ..]")
	SLOT(GATHER, CODEBOOK, IN, T_I8, 1, 1, 0, "[16]")
	PARAM(GATHER, GROUP, U32, 0, 65536, "0: plain rows")
	PARAM(GATHER, SUPER, U32, 0, 65536, "")
END(GATHER)

OP(GATHER_ELEMENTS, 0x41, "gather_elements", "one element per index along an axis",
   "out[.., i, ..] = in[.., index[.., i, ..], ..]; negative counts from the end; outside faults")
	SLOT(GATHER_ELEMENTS, OUT, OUT, T_ALL, 1, 6, S_REQ, "dims of index")
	SLOT(GATHER_ELEMENTS, IN, IN, T_ALL, 1, 6, S_REQ, "same type as out")
	SLOT(GATHER_ELEMENTS, INDEX, IN, T_I32 | T_I64, 1, 6, S_REQ, "")
	PARAM(GATHER_ELEMENTS, AXIS, U32, 0, 5, "")
END(GATHER_ELEMENTS)

OP(SCATTER, 0x42, "scatter", "rows by index",
   "for i in order: inout[o, index[i], n] = join(inout, in[o, i, n]), joins as in ewise2; "
   "index -1 skips the row when SKIP is set, else counts from the end; outside faults")
	SLOT(SCATTER, INOUT, INOUT, T_ALL, 3, 3, S_REQ, "[outer, rows, inner]")
	SLOT(SCATTER, IN, IN, T_ALL, 3, 3, S_REQ, "[outer, count, inner]")
	SLOT(SCATTER, INDEX, IN, T_I32 | T_I64, 1, 1, S_REQ, "[count]")
	PARAM(SCATTER, JOIN, U32, 0, NPU_NUM_SCATTERS - 1, "enum npu_scatter")
	PARAM(SCATTER, SKIP, U32, 0, 1, "")
END(SCATTER)

OP(SCATTER_ELEMENTS, 0x43, "scatter_elements", "one element per index along an axis",
   "for every element of in in row-major order: inout[.., index, ..] = join(inout, in)")
	SLOT(SCATTER_ELEMENTS, INOUT, INOUT, T_ALL, 1, 6, S_REQ, "")
	SLOT(SCATTER_ELEMENTS, IN, IN, T_ALL, 1, 6, S_REQ, "dims of index")
	SLOT(SCATTER_ELEMENTS, INDEX, IN, T_I32 | T_I64, 1, 6, S_REQ, "")
	PARAM(SCATTER_ELEMENTS, AXIS, U32, 0, 5, "")
	PARAM(SCATTER_ELEMENTS, JOIN, U32, 0, NPU_NUM_SCATTERS - 1, "enum npu_scatter")
END(SCATTER_ELEMENTS)

OP(ATTENTION, 0x48, "attention", "attention of a ragged batch over a KV cache",
   "per sequence b, query row t at position p = positions[t] (absent: kv_len - q_len + t), head h, "
   "kv head h / (heads / kv_heads): s = dot16(q, k) * scale (dot16: fma(q, k, lane) as in sum16), "
   "soft cap: cap * tanh(s / cap), + mask; keys j <= p when causal, "
   "j > p - window when window is set, j < kv_len; t = s * 1.44269504. "
   "Positions in chunks of 512 from 0 in order, n = -inf (with a sink ceil(t of the sink)), "
   "sum = 0 (w of the sink), acc = 0; per chunk with a key above -inf: m = ceil(max of t), "
   "when m > n: sum and acc *= exp2(n - m), n = m; w = exp2(t - n), 0 for keys not seen; "
   "sum += sum16(w) with lane j % 16; part = +0, part = fma(w, v, part) for keys seen in order; "
   "acc += part. out = acc / sum, 0 when sum is 0. "
   "8-bit k and v: (code - zero_point) * scale of the operand or of its row")
	SLOT(ATTENTION, OUT, OUT, T_FLOAT, 3, 3, S_REQ, "[T, heads, DV]; T rows of all sequences")
	SLOT(ATTENTION, Q, IN, T_FLOAT, 3, 3, S_REQ, "[T, heads, D]")
	SLOT(ATTENTION, K, IN, T_DATA, 4, 4, S_REQ,
	     "[blocks, block size, kv_heads, D], or [B, L, kv_heads, D] without block_table")
	SLOT(ATTENTION, V, IN, T_DATA, 4, 4, S_REQ, "[blocks, block size, kv_heads, DV]")
	SLOT(ATTENTION, MASK, IN, T_FLOAT, 4, 4, 0,
	     "[B or 1, heads or 1, Tq or 1, L]; added to the scores; "
	     "Tq: T with q_start, else T / B")
	SLOT(ATTENTION, POSITIONS, IN, T_I32, 1, 1, 0,
	     "[T]; position of each query row in its sequence")
	SLOT(ATTENTION, Q_START, IN, T_I32, 1, 1, 0,
	     "[B + 1]; cumulative query lengths, absent: T / B each")
	SLOT(ATTENTION, KV_LEN, IN, T_I32, 1, 1, 0, "[B]; absent: all L")
	SLOT(ATTENTION, BLOCK_TABLE, IN, T_I32, 2, 2, 0, "[B, max blocks]")
	SLOT(ATTENTION, SINKS, IN, T_F32, 1, 1, 0, "[heads]")
	SLOT(ATTENTION, K_SCALE, IN, T_F16 | T_F32, 3, 3, 0,
	     "[blocks, block size, kv_heads]; int8 cache")
	SLOT(ATTENTION, V_SCALE, IN, T_F16 | T_F32, 3, 3, 0, "")
	PARAM(ATTENTION, BATCH, LEN, 1, 65536, "B")
	PARAM(ATTENTION, SCALE, F32, 0, 0, "")
	PARAM(ATTENTION, CAUSAL, U32, 0, 1, "")
	PARAM(ATTENTION, WINDOW, U32, 0, 0x7fffffff, "0: none")
	PARAM(ATTENTION, SOFT_CAP, F32, 0, 0, "0: none")
END(ATTENTION)

OP(ROPE, 0x49, "rope", "rotary position embedding",
   "for pair i of the first DIMS elements: "
   "a = (f32(position) * POS_SCALE) * (pow(BASE, -f32(2i) / f32(DIMS)) / factor[i]); "
   "(x, y) -> (x cos a - y sin a, x sin a + y cos a) * MSCALE, every operation rounded; "
   "the rest is kept; pairs (2i, 2i + 1) or (i, i + DIMS/2); "
   "with a cos/sin table row = position instead of a")
	SLOT(ROPE, OUT, OUT, T_FLOAT, 3, 3, S_REQ | S_INPLACE, "[T, heads, D]")
	SLOT(ROPE, IN, IN, T_FLOAT, 3, 3, S_REQ, "")
	SLOT(ROPE, POSITIONS, IN, T_I32, 1, 1, S_REQ, "[T]")
	SLOT(ROPE, FACTORS, IN, T_F32, 1, 1, 0, "[DIMS/2]")
	SLOT(ROPE, COS_TABLE, IN, T_FLOAT, 2, 2, 0, "[max position, DIMS/2]")
	SLOT(ROPE, SIN_TABLE, IN, T_FLOAT, 2, 2, 0, "")
	PARAM(ROPE, DIMS, U32, 2, 65536, "even")
	PARAM(ROPE, PAIRING, U32, 0, NPU_NUM_ROPES - 1, "enum npu_rope")
	PARAM(ROPE, BASE, F32, 0, 0, "")
	PARAM(ROPE, POS_SCALE, F32, 0, 0, "multiplies the position")
	PARAM(ROPE, MSCALE, F32, 0, 0, "1: none")
END(ROPE)

OP(DYN_QUANT, 0x50, "dyn_quant", "quantize by the range of the data",
   "u8 per tensor as ONNX DynamicQuantizeLinear: lo = min(0, x), hi = max(0, x), scale = (hi - lo) / 255, 1 when that is 0, zero = rne(clamp(0 - lo / scale, 0, "
   "255)); i8 per group of GROUP elements of the last dim: scale = max(abs(x)) / 127, code = rne(x / scale) clamped to i8, 0 when scale is 0; "
   "an f16 SCALE is rounded when it is stored, behind the codes")
	SLOT(DYN_QUANT, OUT, OUT, T_I8 | T_U8, 1, 6, S_REQ, "dims of in")
	SLOT(DYN_QUANT, SCALE, OUT, T_F16 | T_F32, 0, 6, S_REQ, "[] or [.., ceil(D/group)]; f16 since 1.4, with GROUP")
	SLOT(DYN_QUANT, ZERO, OUT, T_U8, 0, 1, 0, "[]; u8 only")
	SLOT(DYN_QUANT, IN, IN, T_FLOAT, 1, 6, S_REQ, "")
	PARAM(DYN_QUANT, GROUP, U32, 0, 0x7fffffff, "0: per tensor")
END(DYN_QUANT)

OP(COLOR, 0x51, "color", "camera pixels, cut out and resampled, to a planar or interleaved tensor",
   "v = (y, u, v) or (r, g, b) of each pixel, those of a pixel of NV12 and YUYV being the nearest "
   "to its left and above; with BOX y0, x0, y1, x1 of n, in pixels of in: "
   "y = fma(oh + 0.5, (y1 - y0) / OH, y0) - 0.5, x likewise, v = the components of the four pixels "
   "t at the floors and one beyond, t > first ? min(t, last) : first with those of the box: "
   "floor(y0) and ceil(y1) - 1, each 0 below 0 and for NaN, H - 1 above it; "
   "fma(b - a, f, a) along W, then along H; acc = +0; for i in order: "
   "acc = fma(v[i] - OFFSET[i], matrix[c][i], acc); with LIMIT acc = 0 below 0 and LIMIT above it; "
   "fma(acc, MUL[c], ADD[c]), q()")
	SLOT(COLOR, OUT, OUT, T_DATA, 4, 4, S_REQ, "[N, OH, OW, 3]; OH = H and OW = W without BOX")
	SLOT(COLOR, IN, IN, T_U8, 3, 4, S_REQ,
	     "[N, H, W] luma of NV12, [N, H, W, 2] YUYV, [N, H, W, 3] RGB; "
	     "N may be 1 with BOX: one image for all boxes")
	SLOT(COLOR, CHROMA, IN, T_U8, 4, 4, 0, "[N, H/2, W/2, 2]; NV12, N as in in")
	SLOT(COLOR, MATRIX, IN, T_F32, 1, 1, S_REQ, "[18]: offset 3, matrix 9, mul 3, add 3")
	SLOT(COLOR, BOX, IN, T_F32, 2, 2, S_SINCE(3), "[N, 4]: y0, x0, y1, x1")
	PARAM(COLOR, FORMAT, U32, 0, NPU_NUM_COLORS - 1, "enum npu_color")
	PARAM_SINCE(3, COLOR, LIMIT, F32, 0, 0, "0: none")
	PARAM_SINCE(3, COLOR, SWAP, U32, 0, 1, "of yuyv: the bytes of a pair change places, UYVY")
END(COLOR)

OP(COUNT, 0x52, "count", "count the codes at both ends of the range: how much was clipped",
   "inout[0] += number of elements whose code is the type's lowest (0 of u8, -128 of i8), "
   "inout[1] += of its highest (255, 127), inout[2] += number of elements; modulo 2^64")
	SLOT(COUNT, INOUT, INOUT, T_I64, 1, 1, S_REQ | S_SINCE(1),
	     "[2], or [3] for the number of elements too")
	SLOT(COUNT, IN, IN, T_I8 | T_U8, 0, 6, S_REQ | S_SINCE(1),
	     "any strides, so that some rows of a tensor stand for it; "
	     "scale and zero point do not matter")
END(COUNT)

#undef EPILOGUE_SLOTS
#undef EPILOGUE_PARAMS
#ifdef NPU_ISA_TABLE_PARAMS
#undef NPU_ISA_TABLE_PARAMS
#undef PARAM_SINCE
#endif
#ifdef NPU_ISA_TABLE_ALONE
#undef NPU_ISA_TABLE_ALONE
#undef OP
#undef SLOT
#undef PARAM
#undef END
#endif
