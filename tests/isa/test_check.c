// SPDX-License-Identifier: MIT
/*
 * Every opcode: good instructions pass, and bad ones are refused with the fault code, the operand
 * and the words that they deserve.
 */
#include <string.h>
#include "sample.h"
#include "tap.h"

static const npu_u32 scalars[NPU_MAX_SCALARS] = { 3, 5, 2, 1 };

/* Decode, terms, check and regions, as the engine does. */
static int run(struct sample *s, struct npu_isa_error *err)
{
	struct npu_insn insn;
	int ret;

	ret = npu_insn_decode(s->words, s->num_words, &insn, err);
	if (!ret)
		ret = npu_insn_apply_terms(s->words, scalars, err);
	if (!ret)
		ret = npu_insn_check(&insn, err);
	if (!ret)
		ret = npu_insn_check_regions(&insn, sample_regions, NPU_MAX_OPERANDS, 0, err);
	return ret;
}

struct bad {
	/* index of the good instruction of this opcode, counted per opcode */
	unsigned int base;
	unsigned int opcode;
	const char *change;
	enum npu_fault_code code;
	const char *operand;		/* "" none */
	const char *text;		/* part of the message */
};

#define B(op, nth, change, code, operand, text) \
	{ nth, NPU_OP_##op, change, NPU_FAULT_##code, operand, text }

static const struct bad bads[] = {
	/* what holds for every opcode */
	B(COPY, 0, "out=-", OPERAND, "out", "out is absent"),
	B(COPY, 0, "in=f32[1,4,4]", SHAPE, "in", "rank of in is 3"),
	B(COPY, 0, "out=f16[1,0,4,3]", SHAPE, "out", "out dim 1 is 0"),
	B(COPY, 0, "out=f16[1,4,4,3]@0+1", OPERAND, "out", "offset of out is 1"),
	B(COPY, 0, "in=f32[1,4,4,3]/(48,12,3,4)", OPERAND, "in", "stride 2 of in is 3"),
	B(COPY, 0, "in=f32[1,4,4,3]/(192,16,-4,64)", OPERAND, "in", "stride 2 of in is -4"),
	B(COPY, 0, "out=f16[1,4,4,3]/(96,24,6,0)", OPERAND, "out", "stride 3 of output out is 0"),
	B(COPY, 0, "out=f16[1,4,4,3]/(96,24,4,2)", OPERAND, "out", "stride 2 of output out is 4"),
	B(COPY, 0, "out=f16[1,4,4,3]*0.5:0", OPERAND, "out", "only i8, u8 and i32"),
	B(COPY, 0, "out=i8[1,4,4,3]*0.5:128", OPERAND, "out", "zero point of out is 128"),
	B(COPY, 0, "out=i8[1,4,4,3]*-0.5:1", OPERAND, "out", "finite number >= 0"),
	B(COPY, 0, "out=i8[1,4,4,3]*inf:1", OPERAND, "out", "finite number >= 0"),
	B(COPY, 0, "out=f16[1,4,4,3]/panel16", OPERAND, "out", "expected strided"),
	B(COPY, 0, "out=u4[1,4,4,3]", OPERAND, "out", "can not have"),
	B(COPY, 0, "out=f16[2147483647,2147483647,4,3]/(0,0,0,0)", OPERAND, "out",
	  "of output out is 0"),
	B(COPY, 0, "in=f32[1,2147483647,4,3]/(0,9223372036854775800,4,4)", LIMIT, "in",
	  "spans more than"),
	B(COPY, 0, "out=f32[8,1073741824] in=f32[8,1]", LIMIT, "", "bytes read and written"),
	B(FILL, 0, "out=-", OPERAND, "out", "out is absent"),
	B(MARKER, 0, "~value=1*s0", ENCODING, "", "is not a length"),
	B(POOL, 1, "~out.s1=3*s0", ENCODING, "out", "multiple of the element's 2 bytes"),
	B(POOL, 1, "~in.d2=2147483647*s0", SHAPE, "in", "out of range"),
	B(POOL, 1, "~in.d2=-100*s0", SHAPE, "in", "out of range"),
	B(POOL, 1, "~in.off=-8*s0", SHAPE, "in", "out of range"),
	B(POOL, 1, "~kernel_w=-4*s0", PARAM, "", "parameter kernel_w is 0"),
	B(TIMESTAMP, 0, "out=i64[2]", SHAPE, "out", "expected one element = 1"),
	B(LOAD_SCALAR, 0, "min=9", PARAM, "", "at most max = 8"),
	B(LOAD_SCALAR, 0, "index=16", PARAM, "", "index is 16"),
	B(LOAD_SCALAR, 0, "in=i32[3]", SHAPE, "in", "in dim 0 is 3"),

	B(CONV, 0, "weight=f16[32,3,3,12]/panel16", SHAPE, "weight",
	  "weight dim 3 is 12, expected channels / groups = 16"),
	B(CONV, 0, "weight=f16[31,3,3,16]/panel16", SHAPE, "weight",
	  "expected output channels = 32"),
	B(CONV, 0, "groups=3", SHAPE, "in", "multiple of groups = 3"),
	B(CONV, 0, "groups=16 out=f16[1,8,8,33] weight=f16[33,3,3,1]", SHAPE, "out",
	  "multiple of groups = 16"),
	B(CONV, 0, "groups=0", PARAM, "", "parameter groups is 0"),
	B(CONV, 0, "stride_h=0", PARAM, "", "parameter stride_h is 0"),
	B(CONV, 0, "out=f16[2,8,8,32]", SHAPE, "out", "the batch of in = 1"),
	B(CONV, 0, "weight=i8[32,3,3,16]", OPERAND, "weight", "beside a float operand"),
	B(CONV, 0, "weight=f16[32,3,3,16]/panel16k4", OPERAND, "weight",
	  "expected strided or panel16 "),
	B(CONV, 0, "weight=f16[32,3,3,16]/grouped16", OPERAND, "weight",
	  "layout of weight is grouped16"),
	B(CONV, 0, "out=i8[1,8,8,32]*1:0", OPERAND, "out", "f32, f16 or bf16 for float operands"),
	B(CONV, 0, "bias=f32[31]", SHAPE, "bias", "bias dim 0 is 31"),
	B(CONV, 0, "bias=i32[32]", OPERAND, "bias", "f32 for a float accumulator"),
	B(CONV, 0, "scale=f32[32]", OPERAND, "scale", "with a float accumulator"),
	B(CONV, 0, "act=16", PARAM, "", "parameter act is 16"),
	B(CONV, 0, "act=5", OPERAND, "act_param", "required by prelu"),
	B(CONV, 0, "act_param=f32[32]", OPERAND, "act_param", "without prelu"),
	B(CONV, 0, "act2=5", PARAM, "", "act2 is prelu"),
	B(CONV, 0, "act_alpha=nan", PARAM, "", "parameter act_alpha"),
	B(CONV, 0, "post_mul=inf", PARAM, "", "expected a finite number"),
	B(CONV, 0, "join=1", OPERAND, "residual", "required by parameter join"),
	B(CONV, 0, "residual=f16[1,8,8,32]", OPERAND, "residual", "without parameter join"),
	B(CONV, 0, "join=1 residual=f16[1,8,4,32]", SHAPE, "residual",
	  "residual dim 2 is 4, expected 1 or that of out = 8"),
	B(CONV, 0, "table=u8[256]", OPERAND, "out", "i8 or u8 with a table"),
	B(CONV, 0, "w_zero=i8[32]", OPERAND, "w_zero", "with float operands"),
	B(CONV, 0, "in=f16[1,8,2147483647,16]/(0,0,0,0)", SHAPE, "in", "reaches position"),
	B(CONV, 0, "weight=f16[32,8,1073741823,16]/(0,0,0,0) dil_w=4", SHAPE, "out",
	  "reaches position"),
	B(CONV, 0, "out=f16[1,65536,65536,32] stride_h=1", LIMIT, "", "multiply-accumulates"),
	B(CONV, 1, "scale=-", OPERAND, "out", "integer accumulator without scale"),
	B(CONV, 1, "out=i8[2,4,4,12]", OPERAND, "out", "has no scale"),
	B(CONV, 1, "w_zero=u8[12]", OPERAND, "w_zero", "that of the data"),
	B(CONV, 1, "w_zero=i8[11]", SHAPE, "w_zero", "w_zero dim 0 is 11"),
	B(CONV, 1, "weight=i8[12,3,3,3]*0.1:5/panel16k4", OPERAND, "weight",
	  "expected 0 beside operand w_zero"),
	B(CONV, 1, "bias=f32[12]", OPERAND, "bias", "i32 for an integer accumulator"),
	B(CONV, 1, "table=u8[256]", OPERAND, "table", "that of out"),
	B(CONV, 1, "table=i8[255]", SHAPE, "table", "every code = 256"),
	B(CONV, 1, "scale=f32[2]", SHAPE, "scale", "scale dim 0 is 2"),
	B(CONV, 1, "in=u8[2,9,9,8192]*1:0 weight=i8[12,3,3,4096]*1:0/panel16k4", LIMIT, "weight",
	  "do not fit the i32 accumulator"),
	B(CONV, 2, "out=f32[1,8,8,4]", OPERAND, "out", "integer accumulator without scale"),
	B(CONV, 2, "act=1", PARAM, "", "an epilogue beside bias"),
	B(CONV, 2, "post_add=1", PARAM, "", "an epilogue beside bias"),
	B(CONV, 0, "x_zero=i8[1]", OPERAND, "x_zero", "with float operands"),
	B(CONV, 4, "x_zero=i8[1]", OPERAND, "x_zero", "that of the data"),
	B(CONV, 4, "x_zero=u8[2]", SHAPE, "x_zero", "one element"),
	B(CONV, 4, "in=u8[1,8,8,4]*1:7", OPERAND, "in", "expected 0 beside operand x_zero"),
	B(CONV, 4, "in=u8[1,8,8,33026] weight=u8[4,1,1,33026]", LIMIT, "weight",
	  "do not fit the i32 accumulator"),
	B(CONV_TRANSPOSE, 0, "weight=f32[8,2,2,3]", SHAPE, "weight", "channels / groups = 4"),

	B(MATMUL, 0, "a=f16[4,8,41]", SHAPE, "b", "b dim 1 is 40, expected the last dim of a = 41"),
	B(MATMUL, 0, "a=f16[3,8,40]", SHAPE, "a", "expected 1 or that of out = 4"),
	B(MATMUL, 0, "b=f16[40,24]/panel16", SHAPE, "b", "rank of b is 2"),
	B(MATMUL, 0, "b=f16[1,40,25]/panel16", SHAPE, "b", "columns of out = 24"),
	B(MATMUL, 0, "a=f16[4,9,40]", SHAPE, "a", "rows of out = 8"),
	B(MATMUL, 0, "group=32", PARAM, "", "b is not grouped16"),
	B(MATMUL, 0, "group_scale=f16[2,24]", OPERAND, "group_scale", "without a grouped weight"),
	B(MATMUL, 0, "b=u4[1,40,24]", OPERAND, "b", "expected grouped16"),
	B(MATMUL, 1, "b_zero=i8[23]", SHAPE, "b_zero", "b_zero dim 0 is 23"),
	B(MATMUL, 0, "a_zero=u8[1]", OPERAND, "a_zero", "with float operands"),
	B(MATMUL, 2, "a_zero=i8[1]", OPERAND, "a_zero", "with a grouped weight"),
	B(MATMUL, 4, "a_zero=i8[1]", OPERAND, "a_zero", "that of the data"),
	B(MATMUL, 4, "a_zero=u8[8]", SHAPE, "a_zero", "one element"),
	B(MATMUL, 4, "a=u8[8,40]*1:1", OPERAND, "a", "expected 0 beside operand a_zero"),
	B(MATMUL, 2, "group=0", PARAM, "", "group is 0"),
	B(MATMUL, 2, "group=8", SHAPE, "group_scale", "groups = 5"),
	B(MATMUL, 2, "group_scale=-", OPERAND, "group_scale", "required by parameter group"),
	B(MATMUL, 2, "group_scale=u8[2,24]", OPERAND, "group_scale",
	  "f16 or f32 without parameter super"),
	B(MATMUL, 2, "a_scale=-", OPERAND, "a", "a has no scale"),
	B(MATMUL, 2, "a_scale=f32[7]", SHAPE, "a_scale", "a_scale dim 0 is 7"),
	B(MATMUL, 2, "a=f16[8,40]", OPERAND, "a_scale", "with a float a"),
	B(MATMUL, 2, "a=u8[8,40]", OPERAND, "a", "beside a grouped weight"),
	B(MATMUL, 2, "a=i8[8,40]*1:3", OPERAND, "a", "zero point of a is 3"),
	B(MATMUL, 2, "group=10", PARAM, "", "a multiple of 4"),
	B(MATMUL, 2, "b=i8[40,24]/grouped16 codebook=-", OPERAND, "b",
	  "u8, u6, u5 or u4 in groups"),
	B(MATMUL, 2, "b=u4[40,24]*0:8/grouped16", OPERAND, "b", "expected 0 beside a codebook"),
	B(MATMUL, 2, "b=u4[40,24]*0:16/grouped16 codebook=-", OPERAND, "b",
	  "expected 0 and 0 to 15"),
	B(MATMUL, 2, "b=u4[40,24]*1:8/grouped16 codebook=-", OPERAND, "b",
	  "expected 0 and 0 to 15"),
	B(MATMUL, 2, "b=u8[40,24]*1:8/grouped16 codebook=-", OPERAND, "b", "a scale of its own"),
	B(MATMUL, 2, "group_scale=f16[2,24]/panel16k4", OPERAND, "group_scale",
	  "strided or panel16"),
	B(MATMUL, 2, "a_group=40", PARAM, "", "expected a multiple of group = 32"),
	B(MATMUL, 2, "a_group=32", SHAPE, "a_scale", "that of out with a_group = 2"),
	B(MATMUL, 2, "a_group=32 a_scale=f32[8,3]", SHAPE, "a_scale", "groups of a = 2"),
	B(MATMUL, 2, "a=i8[8,40]*1:0 a_scale=- a_group=32", OPERAND, "a", "with a_group a_scale"),
	B(MATMUL, 2, "a_group=65540", PARAM, "", "a_group is 65540"),
	B(MATMUL, 0, "a_group=32", PARAM, "", "b is not grouped16"),
	B(MATMUL, 6, "a_group=40", PARAM, "", "expected 0 with a float a"),
	B(MATMUL, 6, "b=u8[40,24]*0:256/grouped16", OPERAND, "b", "expected 0 to 255"),
	B(MATMUL, 3, "group_scale=f16[16,24]", OPERAND, "group_scale", "with parameter super"),
	B(MATMUL, 3, "group_scale=u8[16,24]*1:0", OPERAND, "group_scale",
	  "expected plain integers"),
	B(MATMUL, 2, "b=u5[40,24]/grouped16", OPERAND, "b", "u4 beside a codebook"),
	B(MATMUL, 3, "super=100", PARAM, "", "multiple of group = 32"),
	B(MATMUL, 3, "super_scale=f16[2,24]", SHAPE, "super_scale", "2, or 3 with minimums"),
	B(MATMUL, 3, "super_scale=f16[2,3,24]", SHAPE, "super_scale", "second-level groups = 2"),
	B(MATMUL, 3, "group_min=u8[15,24]", SHAPE, "group_min", "that of group_scale = 16"),

	B(EWISE1, 0, "in=f16[2,2,4]", SHAPE, "in", "in dim 1 is 2, expected 1 or that of out = 3"),
	B(EWISE1, 0, "in=i32[2,1,4]", OPERAND, "in", "exp takes floats"),
	B(EWISE1, 0, "func=29", OPERAND, "in", "bitnot takes plain integers"),
	B(EWISE1, 0, "func=30", PARAM, "", "func is 30"),
	B(EWISE1, 0, "act=5 act_param=f32[3]", SHAPE, "act_param", "the last dim of out = 4"),
	B(EWISE1, 1, "act=1", PARAM, "", "on plain integers"),
	B(EWISE1, 1, "post_mul=2", PARAM, "", "on plain integers"),
	B(EWISE2, 0, "b=f16[3,1]", SHAPE, "b", "rank of b is 2"),
	B(EWISE2, 0, "func=17", OPERAND, "a", "bitand takes plain integers"),
	B(EWISE2, 0, "a=f32[2,3,5]", SHAPE, "a", "a dim 2 is 5"),
	B(SELECT, 0, "cond=u8[4,1]", OPERAND, "cond", "can not have"),
	B(SELECT, 0, "b=f32[1,1]", OPERAND, "b", "that of a"),
	B(SELECT, 0, "a=f16[1,3]", SHAPE, "a", "a dim 1 is 3"),
	B(REDUCE, 0, "axes=8", PARAM, "", "beyond the rank"),
	B(REDUCE, 0, "axes=64", PARAM, "", "axes is 0x40"),
	B(REDUCE, 0, "axes=6", SHAPE, "out", "a reduced dim = 1"),
	B(REDUCE, 0, "in=f32[2,3,5]", SHAPE, "out", "that of in = 5"),
	B(REDUCE, 0, "in=i32[2,3,4] func=6", OPERAND, "in", "l2 takes floats"),
	B(ARG_REDUCE, 0, "axis=2", PARAM, "", "less than the rank of in = 2"),
	B(ARG_REDUCE, 0, "out=i64[2,2]", SHAPE, "out", "a reduced dim = 1"),
	B(ARG_REDUCE, 0, "out=f32[2,1]", OPERAND, "out", "can not have"),
	B(TOPK, 0, "values=f32[2,301] indices=i64[2,301]", SHAPE, "values",
	  "at most that of in = 300"),
	B(TOPK, 0, "indices=i64[2,4]", SHAPE, "indices", "that of values = 5"),
	B(TOPK, 0, "values=f16[2,5]", OPERAND, "values", "that of in = f32"),
	B(CUMSUM, 0, "out=f32[2,6]", SHAPE, "out", "that of in = 5"),
	B(CUMSUM, 0, "axis=6", PARAM, "", "axis is 6"),
	B(SOFTMAX, 0, "axis=3", PARAM, "", "less than the rank"),
	B(SOFTMAX, 0, "in=f16[2,6]", SHAPE, "out", "that of in = 6"),
	B(NORM, 0, "gamma=f16[63]", SHAPE, "gamma", "the last dim of in = 64"),
	B(NORM, 0, "addend=f16[1,64]", SHAPE, "addend", "that of in = 3"),
	B(NORM, 0, "eps=-1", PARAM, "", "eps is -1"),
	B(NORM, 0, "sum=f16[3,65]", SHAPE, "sum", "that of in = 64"),

	B(POOL, 0, "in=f16[1,8,8,9]", SHAPE, "out", "channels of in = 9"),
	B(POOL, 0, "kernel_h=0", PARAM, "", "kernel_h is 0"),
	B(POOL, 0, "kernel_h=2147483647 kernel_w=2147483647 dil_h=1 dil_w=1", SHAPE, "out",
	  "reaches position"),
	B(POOL, 0, "kernel_h=1000000 kernel_w=1000000", LIMIT, "", "multiply-accumulates"),
	B(POOL, 0, "kind=2", PARAM, "", "kind is 2"),
	B(RESIZE, 0, "scale_h=0", PARAM, "", "scale_h is 0, expected > 0"),
	B(RESIZE, 0, "scale_w=-2", PARAM, "", "scale_w"),
	B(RESIZE, 0, "out=f16[1,16,16,7]", SHAPE, "out", "channels of in = 8"),
	B(CROP_RESIZE, 0, "boxes=f32[5,5]", SHAPE, "boxes", "y0, x0, y1, x1 = 4"),
	B(CROP_RESIZE, 0, "boxes=f32[4,4]", SHAPE, "boxes", "boxes = 5"),
	B(CROP_RESIZE, 0, "batch=i32[4]", SHAPE, "batch", "boxes = 5"),
	B(PAD, 0, "in=f16[4,5]", OPERAND, "in", "that of out = f32"),
	B(PAD, 0, "before2=1", PARAM, "", "beyond the rank"),
	B(PAD, 0, "before0=4 out=f32[9,9]", SHAPE, "out", "reflect allows"),
	B(PAD, 0, "out=f32[9,9]", SHAPE, "out", "reflect allows"),
	B(IOTA, 0, "start=4.7e18", PARAM, "", "start is 4.7e+18, expected less than 2^62"),
	B(IOTA, 0, "step=-1e30", PARAM, "", "step is -1e+30"),
	B(IOTA, 0, "axis=1", PARAM, "", "less than the rank"),

	B(GATHER, 0, "index=i64[8]", SHAPE, "index", "rows of out = 7"),
	B(GATHER, 0, "index=f32[7]", OPERAND, "index", "can not have"),
	B(GATHER, 0, "out=f16[1,7,63]", SHAPE, "out", "inner of in = 64"),
	B(GATHER, 0, "in=u4[1,1000,64]/(32000,32,0)", OPERAND, "in", "8 bits or more"),
	B(GATHER, 0, "super=4", PARAM, "", "expected 0 without group"),
	B(GATHER, 0, "codebook=i8[16]", OPERAND, "codebook", "without parameter group"),
	B(GATHER, 1, "group_scale=f16[100,2]", SHAPE, "group_scale", "groups = 3"),
	B(GATHER, 1, "in=u5[1,100,70]/(4400,44,1)", OPERAND, "in", "codes are packed"),
	B(GATHER, 1, "out=i32[1,7,70]", OPERAND, "out", "for quantized rows"),
	B(GATHER, 1, "in=u8[1,100,70]/panel16k4", OPERAND, "in", "expected strided or grouped16"),
	B(GATHER, 0, "in=f16[1,1000,64]/panel16", OPERAND, "in", "expected strided for plain rows"),
	B(GATHER, 2, "super_scale=f16[100,3]/panel16", SHAPE, "super_scale",
	  "second-level groups = 2"),
	B(GATHER, 2, "group=18", PARAM, "", "a multiple of 4"),
	B(GATHER_ELEMENTS, 0, "index=i64[4,9] out=f32[4,9]", SHAPE, "index",
	  "at most that of in = 3"),
	B(GATHER_ELEMENTS, 0, "out=f32[2,8]", SHAPE, "out", "that of index = 9"),
	B(SCATTER, 0, "in=f16[2,3,7]", SHAPE, "in", "inner of inout = 8"),
	B(SCATTER, 0, "in=f32[2,3,8]", OPERAND, "in", "that of inout = f16"),
	B(SCATTER, 0, "join=5", PARAM, "", "join is 5"),
	B(SCATTER_ELEMENTS, 0, "in=f32[2,5] index=i64[2,5]", SHAPE, "index",
	  "at most that of inout = 4"),
	B(SCATTER_ELEMENTS, 0, "axis=2", PARAM, "", "less than the rank"),

	B(ATTENTION, 0, "q=f16[6,7,64] out=f16[6,7,32]", SHAPE, "q", "multiple of kv_heads = 2"),
	B(ATTENTION, 0, "out=f16[6,8,64]", SHAPE, "out", "the last dim of v = 32"),
	B(ATTENTION, 0, "batch=4", SHAPE, "q", "multiple of batch = 4"),
	B(ATTENTION, 0, "batch=3", SHAPE, "kv_len", "batch = 3"),
	B(ATTENTION, 0, "batch=0", PARAM, "", "batch is 0"),
	B(ATTENTION, 0, "mask=f32[1,1,3,127]", SHAPE, "mask", "positions of the cache = 128"),
	B(ATTENTION, 0, "mask=f32[1,4,3,128]", SHAPE, "mask", "1 or heads = 8"),
	B(ATTENTION, 0, "mask=f32[1,1,6,128]", SHAPE, "mask", "1 or query rows = 3"),
	B(ATTENTION, 0, "v=f16[2,127,2,32]", SHAPE, "v", "that of k = 128"),
	B(ATTENTION, 0, "k_scale=f16[2,128,2]", OPERAND, "k_scale", "with a float cache"),
	B(ATTENTION, 0, "k=f16[2,128,2,32]", SHAPE, "k", "the last dim of q = 64"),
	B(ATTENTION, 0, "soft_cap=-1", PARAM, "", "soft_cap"),
	B(ATTENTION, 1, "k_scale=-", OPERAND, "k", "without a scale"),
	B(ATTENTION, 1, "k_scale=f16[32,16,3]", SHAPE, "k_scale", "that of the cache = 4"),
	B(ATTENTION, 1, "q_start=i32[2]", SHAPE, "q_start", "batch + 1 = 3"),
	B(ATTENTION, 1, "positions=i32[5]", SHAPE, "positions", "rows of q = 6"),
	B(ATTENTION, 1, "sinks=f32[7]", SHAPE, "sinks", "heads = 8"),
	B(ATTENTION, 1, "block_table=i32[3,9]", SHAPE, "block_table", "batch = 2"),
	B(ATTENTION, 1, "block_table=i32[2,1000000000]", LIMIT, "block_table",
	  "positions of the cache"),
	B(ROPE, 0, "dims=65", PARAM, "", "an even number"),
	B(ROPE, 0, "dims=66", PARAM, "", "up to the last dim of in = 64"),
	B(ROPE, 0, "base=0", PARAM, "", "expected > 0 without a table"),
	B(ROPE, 0, "factors=f32[31]", SHAPE, "factors", "dims / 2 = 32"),
	B(ROPE, 0, "sin_table=f32[512,32]", OPERAND, "sin_table", "without cos_table"),
	B(ROPE, 1, "sin_table=-", OPERAND, "sin_table", "beside cos_table"),
	B(ROPE, 1, "sin_table=f32[511,16]", SHAPE, "sin_table", "that of cos_table = 512"),
	B(ROPE, 1, "positions=i32[7]", SHAPE, "positions", "rows of in = 6"),
	B(DYN_QUANT, 0, "zero=-", OPERAND, "zero", "required without parameter group"),
	B(DYN_QUANT, 0, "out=i8[4,70]", OPERAND, "out", "u8 without parameter group"),
	B(DYN_QUANT, 0, "scale=f32[4]", SHAPE, "scale", "one element = 1"),
	B(DYN_QUANT, 0, "scale=f16[]", OPERAND, "scale", "f32 without parameter group"),
	B(DYN_QUANT, 1, "scale=bf16[4,3]", OPERAND, "scale", "scale"),
	B(DYN_QUANT, 1, "group=16", SHAPE, "scale", "groups of the last dim = 5"),
	B(DYN_QUANT, 1, "zero=u8[1]", OPERAND, "zero", "with parameter group"),
	B(COLOR, 0, "chroma=-", OPERAND, "chroma", "required by nv12"),
	B(COLOR, 0, "out=f16[1,7,8,3] in=u8[1,7,8]", SHAPE, "in", "an even size"),
	B(COLOR, 0, "chroma=u8[1,4,3,2]", SHAPE, "chroma", "half the width = 4"),
	B(COLOR, 1, "chroma=u8[1,4,4,2]", OPERAND, "chroma", "but with nv12"),
	B(COLOR, 1, "matrix=f32[17]", SHAPE, "matrix", "coefficients = 18"),
	B(COLOR, 1, "format=1", SHAPE, "in", "y and u or v = 2"),
	B(COLOR, 1, "in=u8[1,8,6,3]", SHAPE, "in", "that of out = 8"),
	B(COLOR, 2, "box=-", SHAPE, "in", "that of out = 3"),
	B(COLOR, 2, "box=f32[1,4]", SHAPE, "box", "the batch of out = 3"),
	B(COLOR, 2, "box=f32[3,5]", SHAPE, "box", "y0, x0, y1, x1 = 4"),
	B(COLOR, 2, "in=u8[2,8,6] chroma=u8[2,4,3,2]", SHAPE, "in", "the batch of out = 3"),
	B(COLOR, 2, "in=u8[1,8,7]", SHAPE, "in", "an even size"),
	B(COLOR, 2, "chroma=u8[3,4,3,2]", SHAPE, "chroma", "the batch of in = 1"),
	B(COLOR, 2, "limit=-1", PARAM, "", "limit is -1"),
	B(COLOR, 2, "swap=1", PARAM, "", "but with yuyv"),
	B(COUNT, 0, "inout=i64[4]", SHAPE, "inout", "2 or 3 counters"),
	B(COUNT, 0, "inout=i32[2]", OPERAND, "inout", "i32"),
	B(COUNT, 0, "in=f16[8]", OPERAND, "in", "f16"),
	B(COUNT, 0, "inout=i64[2]@1+8", OVERLAP, "inout", "overlaps input in"),

	/* regions */
	B(COPY, 0, "out=f16[1,4,4,3]@200", REGION, "out", "is in region 200"),
	B(COPY, 0, "out=f16[1,4,4,3]@0+1099511627776", REGION, "out", "spans 96 bytes"),
	B(COPY, 0, "out=f16[1,4,4,3]@0+1099511627682", REGION, "out", "region 0 has 1099511627776"),
	B(COPY, 0, "out=f16[1,4,4,3]@0+18446744073709551614", REGION, "out", "from offset"),
	B(COPY, 0, "out=f32[1,4,4,3]@1", OVERLAP, "out", "output out overlaps input in"),
	B(COPY, 0, "out=f16[1,4,4,3]@1+190", OVERLAP, "out", "output out overlaps input in"),
	B(SOFTMAX, 0, "out=f16[2,5]@1+2", OVERLAP, "out", "output out overlaps input in"),
	B(TOPK, 0, "indices=i64[2,5]@0+8", OVERLAP, "values", "overlaps output indices"),
	B(EWISE2, 0, "out=f32[2,3,4]@2 b=f32[2,3,4]@2", OVERLAP, "out", "overlaps input b"),
	B(SCATTER, 0, "in=f16[2,3,8]@0", OVERLAP, "inout", "overlaps input in"),
};

/* Not wrong: the nearest neighbours of what is refused above. */
static const struct bad goods[] = {
	B(COPY, 0, "out=f16[1,4,4,3]@1+192", NONE, "", ""),
	B(COPY, 0, "out=f16[1,4,4,3]@0+1099511627680", NONE, "", ""),
	B(COPY, 0, "in=f32[1,1,4,3]/(-7,-8,12,4)", NONE, "", ""),
	B(COPY, 0, "in=f32[1,4,4,3]/(0,0,0,0)", NONE, "", ""),
	B(COPY, 0, "out=f16[1,4,4,3]/(2,6,24,2)", NONE, "", ""),
	B(SOFTMAX, 0, "out=f16[2,5]@1", NONE, "", ""),
	B(EWISE2, 0, "out=f32[2,1,4]@1 b=f16[1,1,1]", NONE, "", ""),
	B(PAD, 0, "before0=-1", NONE, "", ""),
	B(IOTA, 0, "out=f32[10] start=1e30", NONE, "", ""),
	B(PAD, 0, "out=f32[7,9] before0=3", NONE, "", ""),
	/* 255 * 255 each, as the zero point may be any */
	B(CONV, 4, "in=u8[1,8,8,33025] weight=u8[4,1,1,33025]", NONE, "", ""),
	/* two channel slices of one image */
	B(CONV, 0, "out=f16[1,8,8,32]/(6144,768,96,2)@1+32 in=f16[1,8,8,16]/(6144,768,96,2)@1",
	  NONE, "", ""),
	/* output positions that see nothing but padding */
	B(CONV, 0, "out=f16[1,8,100,32] pad_left=40", NONE, "", ""),
};
static const struct bad near_miss = /* one channel more and they meet */
	B(CONV, 0, "out=f16[1,8,8,32]/(6144,768,96,2)@1+30 in=f16[1,8,8,16]/(6144,768,96,2)@1",
	  OVERLAP, "out", "overlaps input in");

static const char *base_text(const struct bad *b)
{
	unsigned int i, nth = 0;

	for (i = 0; i < sample_num_good; i++)
		if (sample_good[i].opcode == b->opcode && nth++ == b->base)
			return sample_good[i].text;
	return "?";
}

static void test_bad(const struct bad *b)
{
	const struct npu_op_desc *d = npu_op_desc(b->opcode);
	struct npu_isa_error err;
	struct sample s;
	const char *operand = "";
	int ret;

	memset(&err, 0x55, sizeof(err));
	sample_parse(&s, b->opcode, base_text(b), b->change);
	ret = run(&s, &err);
	if (ret && err.fault.operand < d->num_slots)
		operand = d->slots[err.fault.operand].name;
	if (!tap_ok(ret && err.fault.code == b->code && !strcmp(operand, b->operand) &&
			    strstr(err.text, b->text) && err.fault.opcode == b->opcode &&
			    err.fault.tag == 42 &&
			    !strncmp(err.text, d->mnemonic, strlen(d->mnemonic)),
		    "%s with %s: %s", d->mnemonic, b->change, b->text))
		tap_diag("got %d, code %u, operand '%s', text: %s", ret, ret ? err.fault.code : 0,
			 operand, ret ? err.text : "");
}

static void test_good(unsigned int opcode, const char *text, const char *change)
{
	struct npu_isa_error err;
	struct sample s;
	int ret;

	sample_parse(&s, opcode, text, change);
	ret = run(&s, &err);
	if (!tap_ok(!ret, "%s passes: %.60s %s", npu_op_desc(opcode)->mnemonic, text,
		    change ? change : ""))
		tap_diag("%s", err.text);
}

static npu_u64 extent(unsigned int opcode, const char *text, unsigned int slot)
{
	struct npu_isa_error err;
	struct npu_insn insn;
	struct sample s;
	npu_u64 bytes = 0;

	sample_parse(&s, opcode, text, NULL);
	if (npu_insn_decode(s.words, s.num_words, &insn, &err) ||
	    npu_insn_operand_extent(&insn, slot, &bytes))
		return ~0ull;
	return bytes;
}

/* Sizes worked out by hand from the layouts' text. */
static void test_sizes(void)
{
	const char *conv =
		"out=f16[1,8,8,36] in=f16[1,8,8,10] weight=f16[36,3,3,5]/panel16 groups=2 "
		"pad_top=1 pad_left=1";
	const char *k4 =
		"out=i32[1,8,8,36] in=i8[1,8,8,10] weight=i8[36,3,3,5]/panel16k4 groups=2 "
		"pad_top=1 pad_left=1";
	const char *kn = "out=f16[3,8,24] a=f16[3,8,40] b=f16[3,40,24]/panel16";
	const char *q =
		"out=f16[8,24] a=i8[8,40]*1:0 b=u5[40,24]/grouped16 group=32 group_scale=f16[2,24]";
	const char *two = "out=f16[8,24] a=i8[8,42]*1:0 b=u6[42,24]/grouped16 group=16 super=32 "
			  "group_scale=i8[3,24]/panel16 group_min=u8[3,24]/panel16 "
			  "super_scale=f16[2,2,24]/panel16";
	const char *rows = "out=f16[1,7,42] in=u6[1,24,42]/grouped16 index=i32[7] group=16 "
			   "super=32 group_scale=i8[24,3]/panel16 group_min=u8[24,3]/panel16 "
			   "super_scale=f16[2,24,2]/panel16";
	struct npu_isa_error err;
	struct npu_insn insn;
	struct sample s;

	/* 2 groups, each 18 outputs = 2 panels, K = 45, 16 lanes of 2 bytes */
	tap_ok(extent(NPU_OP_CONV, conv, NPU_CONV_WEIGHT) == 2 * 2 * 45 * 32,
	       "bytes of a panel16 weight in groups");
	tap_ok(extent(NPU_OP_CONV, k4, NPU_CONV_WEIGHT) == 2 * 2 * 48 * 16,
	       "bytes of a panel16k4 weight: K is filled up to 48");
	tap_ok(extent(NPU_OP_MATMUL, kn, NPU_MATMUL_B) == 3 * 2 * 40 * 32,
	       "bytes of a batch of panel16 matrices");
	tap_ok(extent(NPU_OP_MATMUL, q, NPU_MATMUL_B) == 2 * 40 * 10,
	       "bytes of a grouped16 weight of u5");
	/*
	 * 2 panels of 11 quads of 32 + 16 bytes; 2 matrices of 2 panels of 2 rows of 16 lanes of 2
	 * bytes
	 */
	tap_ok(extent(NPU_OP_MATMUL, two, NPU_MATMUL_B) == 2 * 11 * 48 &&
		       extent(NPU_OP_MATMUL, two, NPU_MATMUL_SUPER_SCALE) == 2 * 2 * 2 * 32 &&
		       extent(NPU_OP_MATMUL, two, NPU_MATMUL_GROUP_SCALE) == 2 * 3 * 16,
	       "bytes of a grouped16 weight of u6, and of its scales in panels");
	tap_ok(extent(NPU_OP_GATHER, rows, NPU_GATHER_IN) == 2 * 11 * 48 &&
		       extent(NPU_OP_GATHER, rows, NPU_GATHER_SUPER_SCALE) == 2 * 2 * 2 * 32,
	       "and the same memory as rows");
	tap_ok(extent(NPU_OP_GATHER, "out=f16[1,7,70] in=u5[1,100,70]/(4400,44,0) index=i32[7]",
		      NPU_GATHER_IN) == 99 * 44 + 44,
	       "bytes of packed rows");
	tap_ok(extent(NPU_OP_COPY, "out=f16[1,4,4,3]/(2,6,24,2) in=f16[1,1,1,1]", NPU_COPY_OUT) ==
		       2 + 18 + 72 + 4,
	       "bytes of a strided tensor");
	sample_parse(&s, NPU_OP_CONV, conv, NULL);
	npu_insn_decode(s.words, s.num_words, &insn, &err);
	tap_ok(npu_insn_macs(&insn) == 8 * 8 * 36 * 45, "multiply-accumulates of a convolution");
	tap_ok(npu_insn_bytes(&insn) == 2 * (8 * 8 * 36 + 8 * 8 * 10 + 36 * 45),
	       "bytes of a convolution");
}

/* On-chip memory is a space of its own, with a size of its own. */
static void test_sram(void)
{
	struct npu_region r[2] = { { 0, 4096, NPU_ACCESS_WRITE | NPU_ACCESS_SRAM, 0 },
				   { 0, 4096, NPU_ACCESS_READ, 0 } };
	struct npu_isa_error err;
	struct npu_insn insn;
	struct sample s;

	sample_parse(&s, NPU_OP_COPY, "out=f32[64] in=f32[64]", NULL);
	npu_insn_decode(s.words, s.num_words, &insn, &err);
	tap_ok(!npu_insn_check_regions(&insn, r, 2, 256, &err),
	       "the same numbers in on-chip memory do not overlap");
	tap_ok(npu_insn_check_regions(&insn, r, 2, 255, &err) && err.fault.code == NPU_FAULT_SRAM,
	       "beyond on-chip memory");
	r[0].base = 4;
	tap_ok(npu_insn_check_regions(&insn, r, 2, 256, &err) && err.fault.code == NPU_FAULT_SRAM,
	       "the base counts");
	r[0].base = 0;
	r[0].access = NPU_ACCESS_READ;
	tap_ok(npu_insn_check_regions(&insn, r, 2, 256, &err) &&
		       err.fault.code == NPU_FAULT_ACCESS && err.fault.operand == 0 &&
		       err.fault.access == NPU_ACCESS_WRITE,
	       "no write access: %s", err.text);
	r[0] = (struct npu_region) { 1000, 4096, NPU_ACCESS_WRITE, 0 };
	r[1].base = 1252;
	tap_ok(npu_insn_check_regions(&insn, r, 2, 0, &err) && err.fault.code == NPU_FAULT_OVERLAP,
	       "two regions bound to the same memory");
	r[1].base = 1256;
	tap_ok(!npu_insn_check_regions(&insn, r, 2, 0, &err), "two regions bound side by side");
	r[1].base = 1258;
	tap_ok(npu_insn_check_regions(&insn, r, 2, 0, &err) && err.fault.code == NPU_FAULT_REGION,
	       "a base that is not aligned");
	r[1].base = ~0ull - 99;
	tap_ok(npu_insn_check_regions(&insn, r, 2, 0, &err) && err.fault.code == NPU_FAULT_REGION,
	       "a region that wraps around");
}

/* Every opcode of the table is among the good instructions. */
static void test_coverage(void)
{
	unsigned int op, i;

	for (op = 0; op < NPU_NUM_OPCODES; op++) {
		if (!npu_op_desc(op))
			continue;
		for (i = 0; i < sample_num_good && sample_good[i].opcode != op; i++)
			;
		if (i == sample_num_good)
			tap_ok(0, "%s has no good instruction here", npu_op_desc(op)->mnemonic);
	}
	tap_ok(!npu_op_desc(0x04) && !npu_op_desc(NPU_NUM_OPCODES) && !npu_op_desc(~0u),
	       "unknown opcodes have no descriptor");
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < sample_num_good; i++)
		test_good(sample_good[i].opcode, sample_good[i].text, NULL);
	for (i = 0; i < sizeof(goods) / sizeof(goods[0]); i++)
		test_good(goods[i].opcode, base_text(&goods[i]), goods[i].change);
	for (i = 0; i < sizeof(bads) / sizeof(bads[0]); i++)
		test_bad(&bads[i]);
	test_bad(&near_miss);
	test_sizes();
	test_sram();
	test_coverage();
	return tap_done();
}
