// SPDX-License-Identifier: MIT
/*
 * libnpu's builder: each emitter against instructions encoded from text by other code, views,
 * lengths, errors, the support query.
 */
#include <stdlib.h>
#include <string.h>
#include "npu_half.h"
#include "npu_kernels.h"
#include "sample.h"
#include "tap.h"

/* Tensors of one test; taken anew by each. */
static struct npu_tensor pool[32];
static unsigned int used;

static struct npu_tensor *tensor(unsigned int region, enum npu_dtype dtype, unsigned int rank,
				 const uint32_t *dim)
{
	struct npu_tensor *t = &pool[used++ % 32];

	if (npu_tensor_fixed(t, region, 0, dtype, rank, dim))
		tap_ok(0, "a tensor of the test is wrong");
	return t;
}

static struct npu_tensor *quant(struct npu_tensor *t, float scale, int32_t zero_point)
{
	npu_tensor_quant(t, scale, zero_point);
	return t;
}

static struct npu_tensor *weight(enum npu_dtype dtype, enum npu_layout layout, unsigned int rank,
				 const uint32_t *dim)
{
	struct npu_tensor *t = &pool[used++ % 32];

	npu_tensor_weight(t, 2, 0, dtype, layout, rank, dim);
	return t;
}

#define D(...)		sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (const uint32_t[]){ __VA_ARGS__ }
#define T(region, type, ...)	tensor(region, NPU_##type, D(__VA_ARGS__))
#define SCALAR(region, type)	tensor(region, NPU_##type, 0, NULL)

static struct npu_stream_builder *b;

/* The last instruction appended is what the text says. */
static void same(int ret, unsigned int opcode, const char *text, size_t at)
{
	const void *data;
	struct sample s;
	size_t size;

	sample_parse(&s, opcode, text, NULL);
	((struct npu_insn_header *)s.words)->tag = 7;
	if (!tap_ok(!ret, "emits: %.100s", text)) {
		tap_diag("%s", npu_stream_error(b));
		return;
	}
	tap_ok(npu_stream_offset(b) - at == s.num_words * 4, "of the same length");
	npu_stream_finish(b, &data, &size);
	tap_ok(!memcmp((const char *)data + at, s.words, s.num_words * 4), "and the same words");
}

static size_t begin(void)
{
	unsigned int i;

	npu_stream_destroy(b);
	used = 0;
	if (npu_stream_create(NPU_MAX_OPERANDS, &b))
		tap_ok(0, "create");
	for (i = 0; i < 4; i++)
		npu_stream_scalar(b, 1, 8);
	return npu_stream_offset(b);
}

#define SAME(name, OPCODE, text, ...) do {							\
	size_t at = begin();									\
	struct npu_##name##_args args = { .tag = 7, __VA_ARGS__ };				\
	char why[256] = "x";									\
												\
	same(npu_emit_##name(b, &args), NPU_OP_##OPCODE, text, at);				\
	tap_ok(npu_supports(NPU_OP_##OPCODE, &args, why, sizeof(why)) && !why[0],		\
	       "and is supported");								\
} while (0)

static void test_gemm_emitters(void)
{
	SAME(conv, CONV,
	     "out=f16[1,8,8,32] in=f16[1,8,8,16] weight=f16[32,3,3,16]/panel16 bias=f32[32] "
	     "residual=f16[1,1,1,32] act_param=f32[32] pad_top=1 pad_left=2 groups=1 act=5 act2=3 "
	     "act2_alpha=-1 act2_beta=2 post_mul=3 post_add=4 join=1",
	     .out = T(0, F16, 1, 8, 8, 32), .in = T(1, F16, 1, 8, 8, 16),
	     .weight = weight(NPU_F16, NPU_LAYOUT_PANEL16, D(32, 3, 3, 16)), .pad_top = 1,
	     .pad_left = 2,
	     .epilogue = { .bias = T(3, F32, 32),
			   .residual = T(5, F16, 1, 1, 1, 32),
			   .act_param = T(6, F32, 32),
			   .act = NPU_ACT_PRELU,
			   .act2 = NPU_ACT_CLIP,
			   .act2_alpha = -1,
			   .act2_beta = 2,
			   .post = true,
			   .post_mul = 3,
			   .post_add = 4 });
	SAME(conv, CONV,
	     "out=i8[2,4,4,12]*0.5:-3 in=u8[2,9,9,6]*0.25:128 weight=i8[12,2,3,3]*0.1:0/panel16k4 "
	     "scale=f32[] table=i8[256] w_zero=i8[12] stride_h=2 stride_w=3 dil_h=4 dil_w=5 "
	     "groups=2 act=3 act_alpha=-1 act_beta=1",
	     .out = quant(T(0, I8, 2, 4, 4, 12), 0.5f, -3),
	     .in = quant(T(1, U8, 2, 9, 9, 6), 0.25f, 128),
	     .weight = quant(weight(NPU_I8, NPU_LAYOUT_PANEL16K4, D(12, 2, 3, 3)), 0.1f, 0),
	     .w_zero = T(8, I8, 12), .stride_h = 2, .stride_w = 3, .dil_h = 4, .dil_w = 5,
	     .groups = 2,
	     .epilogue = { .scale = SCALAR(4, F32),
			   .table = T(7, I8, 256),
			   .act = NPU_ACT_CLIP,
			   .act_alpha = -1,
			   .act_beta = 1 });
	SAME(conv_transpose, CONV_TRANSPOSE,
	     "out=f32[1,16,16,8] in=f32[1,8,8,4] weight=f32[8,2,2,4] bias=f32[8] stride_h=2 "
	     "stride_w=2 pad_left=1 act=1",
	     .out = T(0, F32, 1, 16, 16, 8), .in = T(1, F32, 1, 8, 8, 4),
	     .weight = T(2, F32, 8, 2, 2, 4), .stride_h = 2, .stride_w = 2, .pad_left = 1,
	     .epilogue = { .bias = T(3, F32, 8), .act = NPU_ACT_RELU });
	SAME(matmul, MATMUL,
	     "out=f16[4,8,24] a=f16[4,8,40] b=f16[1,40,24]/panel16 bias=f32[24] "
	     "residual=f16[4,8,24] join=2 act=10",
	     .out = T(0, F16, 4, 8, 24), .a = T(1, F16, 4, 8, 40),
	     .b = weight(NPU_F16, NPU_LAYOUT_PANEL16, D(1, 40, 24)),
	     .epilogue = { .bias = T(3, F32, 24),
			   .residual = T(5, F16, 4, 8, 24),
			   .join = NPU_JOIN_MUL,
			   .act = NPU_ACT_SILU });
	SAME(matmul, MATMUL,
	     "out=f16[8,24] a=i8[8,512] b=u4[512,24]/grouped16 group_scale=u8[16,24] "
	     "group_min=u8[16,24] super_scale=f16[2,2,24] codebook=i8[16] a_scale=f32[8] group=32 "
	     "super=256",
	     .out = T(0, F16, 8, 24), .a = T(1, I8, 8, 512),
	     .b = weight(NPU_U4, NPU_LAYOUT_GROUPED16, D(512, 24)), .group_scale = T(8, U8, 16, 24),
	     .group_min = T(9, U8, 16, 24), .super_scale = T(10, F16, 2, 2, 24),
	     .codebook = T(11, I8, 16), .a_scale = T(13, F32, 8), .group = 32, .super = 256);
	SAME(matmul, MATMUL,
	     "out=f32[8,24] a=i8[8,100] b=u6[100,24]*0:32/grouped16 group_scale=f16[4,24] "
	     "a_scale=f32[8,2] group=32 a_group=64",
	     .out = T(0, F32, 8, 24), .a = T(1, I8, 8, 100),
	     .b = quant(weight(NPU_U6, NPU_LAYOUT_GROUPED16, D(100, 24)), 0, 32),
	     .group_scale = T(8, F16, 4, 24), .a_scale = T(13, F32, 8, 2), .group = 32,
	     .a_group = 64);
	SAME(matmul, MATMUL, "out=i32[8,24] a=u8[8,40] b=i8[40,24] b_zero=i8[24]",
	     .out = T(0, I32, 8, 24), .a = T(1, U8, 8, 40), .b = T(2, I8, 40, 24),
	     .b_zero = T(12, I8, 24));
}

static void test_zero_emitters(void)
{
	SAME(conv, CONV, "out=i32[1,8,8,4] in=u8[1,8,8,4] weight=u8[4,1,1,4] x_zero=u8[1]",
	     .out = T(0, I32, 1, 8, 8, 4), .in = T(1, U8, 1, 8, 8, 4),
	     .weight = T(2, U8, 4, 1, 1, 4), .x_zero = T(9, U8, 1));
	SAME(matmul, MATMUL, "out=i32[8,24] a=u8[8,40] b=i8[40,24] a_zero=u8[1]",
	     .out = T(0, I32, 8, 24), .a = T(1, U8, 8, 40), .b = T(2, I8, 40, 24),
	     .a_zero = T(14, U8, 1));
}

static void test_ewise_emitters(void)
{
	SAME(unary, EWISE1,
	     "out=f16[2,3] in=f16[2,1] act_param=f32[3] func=2 act=5 act_alpha=1 act_beta=2 "
	     "post_mul=3 post_add=4",
	     .out = T(0, F16, 2, 3), .in = T(1, F16, 2, 1), .act_param = T(2, F32, 3),
	     .func = NPU_UNARY_EXP, .act = NPU_ACT_PRELU, .act_alpha = 1, .act_beta = 2,
	     .post = true, .post_mul = 3, .post_add = 4);
	SAME(binary, EWISE2,
	     "out=f32[2,3] a=f32[2,1] b=f16[1,3] act_param=f32[3] func=3 act=5 post_mul=1",
	     .out = T(0, F32, 2, 3), .a = T(1, F32, 2, 1), .b = T(2, F16, 1, 3),
	     .act_param = T(3, F32, 3), .func = NPU_BINARY_DIV, .act = NPU_ACT_PRELU);
	SAME(select, SELECT, "out=f32[4,4] cond=bool[4,1] a=f16[1,4] b=f16[1,1]",
	     .out = T(0, F32, 4, 4), .cond = T(1, BOOL, 4, 1), .a = T(2, F16, 1, 4),
	     .b = T(3, F16, 1, 1));
	SAME(reduce, REDUCE, "out=f32[2,1,4] in=f32[2,3,4] func=6 axes=2",
	     .out = T(0, F32, 2, 1, 4), .in = T(1, F32, 2, 3, 4), .func = NPU_REDUCE_L2, .axes = 2);
	SAME(arg_reduce, ARG_REDUCE, "out=i64[2,1] in=f16[2,300] axis=1 is_min=1 last=0",
	     .out = T(0, I64, 2, 1), .in = T(1, F16, 2, 300), .axis = 1, .is_min = true);
	SAME(arg_reduce, ARG_REDUCE, "out=i64[1,300] in=f16[2,300] axis=0 last=1",
	     .out = T(0, I64, 1, 300), .in = T(1, F16, 2, 300), .last = true);
	SAME(topk, TOPK, "values=f32[2,5] indices=i64[2,5] in=f32[2,300] axis=1 smallest=1",
	     .values = T(0, F32, 2, 5), .indices = T(1, I64, 2, 5), .in = T(2, F32, 2, 300),
	     .axis = 1, .smallest = true);
	SAME(cumsum, CUMSUM, "out=f32[2,5] in=f32[2,5] axis=1 exclusive=1", .out = T(0, F32, 2, 5),
	     .in = T(1, F32, 2, 5), .axis = 1, .exclusive = true);
	SAME(cumsum, CUMSUM, "out=f32[2,5] in=f32[2,5] reverse=1", .out = T(0, F32, 2, 5),
	     .in = T(1, F32, 2, 5), .reverse = true);
	SAME(softmax, SOFTMAX, "out=f16[2,5] in=f16[2,5] axis=1 log=1", .out = T(0, F16, 2, 5),
	     .in = T(1, F16, 2, 5), .axis = 1, .log = true);
	SAME(norm, NORM,
	     "out=f16[3,64] in=f16[3,64] gamma=f16[64] beta=f32[64] addend=f16[3,64] sum=f32[3,64] "
	     "kind=1 eps=1e-5",
	     .out = T(0, F16, 3, 64), .in = T(1, F16, 3, 64), .gamma = T(2, F16, 64),
	     .beta = T(3, F32, 64), .addend = T(4, F16, 3, 64), .sum = T(5, F32, 3, 64),
	     .kind = NPU_NORM_RMS, .eps = 1e-5f);
	SAME(copy, COPY, "out=f16[4,3] in=i8[4,1]*0.5:7", .out = T(0, F16, 4, 3),
	     .in = quant(T(1, I8, 4, 1), 0.5f, 7));
	SAME(fill, FILL, "out=i64[4] value_lo=0x89abcdef value_hi=0x1234567", .out = T(0, I64, 4),
	     .bits = 0x0123456789abcdefull);
	SAME(pad, PAD, "out=f32[6,9] in=f32[4,5] mode=2 before0=-1 before1=2 value_lo=3 value_hi=4",
	     .out = T(0, F32, 6, 9), .in = T(1, F32, 4, 5), .mode = NPU_PAD_EDGE,
	     .before = { -1, 2 }, .bits = 0x400000003ull);
	SAME(iota, IOTA, "out=i32[2,10] axis=1 start=5 step=-2", .out = T(0, I32, 2, 10), .axis = 1,
	     .start = 5, .step = -2);
}

static void test_image_emitters(void)
{
	SAME(pool, POOL,
	     "out=f16[1,4,4,8] in=f16[1,8,8,8] kind=1 kernel_h=2 kernel_w=3 stride_h=4 stride_w=5 "
	     "dil_h=6 dil_w=7 pad_top=8 pad_left=9 pad_bottom=10 pad_right=11 include_pad=1",
	     .out = T(0, F16, 1, 4, 4, 8), .in = T(1, F16, 1, 8, 8, 8), .kind = NPU_POOL_AVG,
	     .kernel_h = npu_len(2), .kernel_w = npu_len(3), .stride_h = 4, .stride_w = 5,
	     .dil_h = 6, .dil_w = 7, .pad_top = 8, .pad_left = 9, .pad_bottom = 10, .pad_right = 11,
	     .include_pad = true);
	SAME(resize, RESIZE,
	     "out=f16[1,16,24,8] in=f16[1,8,8,8] mode=2 coord=1 nearest=3 scale_h=2 scale_w=3 "
	     "cubic_a=-0.75 exclude_outside=1",
	     .out = T(0, F16, 1, 16, 24, 8), .in = T(1, F16, 1, 8, 8, 8), .mode = NPU_RESIZE_CUBIC,
	     .coord = NPU_COORD_PYTORCH_HALF_PIXEL, .nearest = NPU_NEAREST_CEIL, .scale_h = 2,
	     .scale_w = 3, .cubic_a = -0.75f, .exclude_outside = true);
	SAME(crop_resize, CROP_RESIZE,
	     "out=f32[5,7,7,8] in=f32[2,32,32,8] boxes=f32[5,4] batch=i32[5] fill=0.5",
	     .out = T(0, F32, 5, 7, 7, 8), .in = T(1, F32, 2, 32, 32, 8), .boxes = T(2, F32, 5, 4),
	     .batch = T(3, I32, 5), .fill = 0.5f);
	SAME(color, COLOR,
	     "out=f16[1,8,8,3] in=u8[1,8,8] chroma=u8[1,4,4,2] matrix=f32[18] format=0",
	     .out = T(0, F16, 1, 8, 8, 3), .in = T(1, U8, 1, 8, 8), .chroma = T(2, U8, 1, 4, 4, 2),
	     .matrix = T(3, F32, 18), .format = NPU_COLOR_NV12);
	SAME(color, COLOR,
	     "out=f32[2,5,7,3] in=u8[1,8,8,2] matrix=f32[18] box=f32[2,4] format=1 limit=255 "
	     "swap=1",
	     .out = T(0, F32, 2, 5, 7, 3), .in = T(1, U8, 1, 8, 8, 2), .matrix = T(3, F32, 18),
	     .box = T(4, F32, 2, 4), .format = NPU_COLOR_YUYV, .limit = 255, .swap = true);
}

static void test_index_emitters(void)
{
	SAME(gather, GATHER,
	     "out=f16[1,7,64] in=u8[1,1000,64] index=i64[7] group_scale=u8[1000,2] "
	     "group_min=u8[1000,2] super_scale=f16[2,1000,1] group=32 super=64",
	     .out = T(0, F16, 1, 7, 64), .in = T(1, U8, 1, 1000, 64), .index = T(2, I64, 7),
	     .group_scale = T(3, U8, 1000, 2), .group_min = T(4, U8, 1000, 2),
	     .super_scale = T(5, F16, 2, 1000, 1), .group = 32, .super = 64);
	SAME(gather_elements, GATHER_ELEMENTS, "out=f32[2,9] in=f32[3,4] index=i64[2,9] axis=1",
	     .out = T(0, F32, 2, 9), .in = T(1, F32, 3, 4), .index = T(2, I64, 2, 9), .axis = 1);
	SAME(scatter, SCATTER, "inout=f16[2,50,8] in=f16[2,3,8] index=i32[3] join=3 skip=1",
	     .inout = T(0, F16, 2, 50, 8), .in = T(1, F16, 2, 3, 8), .index = T(2, I32, 3),
	     .join = NPU_SCATTER_MIN, .skip = true);
	SAME(scatter_elements, SCATTER_ELEMENTS,
	     "inout=f32[4,4] in=f32[2,4] index=i64[2,4] axis=0 join=2", .inout = T(0, F32, 4, 4),
	     .in = T(1, F32, 2, 4), .index = T(2, I64, 2, 4), .join = NPU_SCATTER_MUL);
	SAME(attention, ATTENTION,
	     "out=f16[6,8,64] q=f16[6,8,64] k=i8[32,16,4,64] v=i8[32,16,4,64] mask=f32[2,8,6,144] "
	     "positions=i32[6] q_start=i32[3] kv_len=i32[2] block_table=i32[2,9] sinks=f32[8] "
	     "k_scale=f16[32,16,4] v_scale=f32[32,16,4] batch=2 scale=0.125 causal=1 window=9 "
	     "soft_cap=30",
	     .out = T(0, F16, 6, 8, 64), .q = T(1, F16, 6, 8, 64), .k = T(2, I8, 32, 16, 4, 64),
	     .v = T(3, I8, 32, 16, 4, 64), .mask = T(4, F32, 2, 8, 6, 144),
	     .positions = T(5, I32, 6), .q_start = T(6, I32, 3), .kv_len = T(7, I32, 2),
	     .block_table = T(8, I32, 2, 9), .sinks = T(9, F32, 8),
	     .k_scale = T(10, F16, 32, 16, 4), .v_scale = T(11, F32, 32, 16, 4),
	     .batch = npu_len(2), .scale = 0.125f, .causal = true, .window = 9, .soft_cap = 30);
	SAME(rope, ROPE,
	     "out=f16[6,8,64] in=f16[6,8,64] positions=i32[6] factors=f32[32] dims=64 pairing=1 "
	     "base=10000 pos_scale=0.5 mscale=2",
	     .out = T(0, F16, 6, 8, 64), .in = T(1, F16, 6, 8, 64), .positions = T(2, I32, 6),
	     .factors = T(3, F32, 32), .dims = 64, .pairing = NPU_ROPE_HALVES, .base = 10000,
	     .pos_scale = 0.5f, .mscale = 2);
	SAME(rope, ROPE,
	     "out=f16[6,8,64] in=f16[6,8,64] positions=i32[6] cos_table=f32[512,16] "
	     "sin_table=f16[512,16] dims=32 pos_scale=1 mscale=1",
	     .out = T(0, F16, 6, 8, 64), .in = T(1, F16, 6, 8, 64), .positions = T(2, I32, 6),
	     .cos_table = T(4, F32, 512, 16), .sin_table = T(5, F16, 512, 16), .dims = 32);
	SAME(dyn_quant, DYN_QUANT, "out=u8[4,70] scale=f32[] zero=u8[1] in=f32[4,70]",
	     .out = T(0, U8, 4, 70), .scale = SCALAR(1, F32), .zero = T(2, U8, 1),
	     .in = T(3, F32, 4, 70));
	SAME(dyn_quant, DYN_QUANT, "out=i8[4,70] scale=f32[4,3] in=f16[4,70] group=32",
	     .out = T(0, I8, 4, 70), .scale = T(1, F32, 4, 3), .in = T(3, F16, 4, 70), .group = 32);
	SAME(dyn_quant, DYN_QUANT, "out=i8[4,70] scale=f16[4,3] in=f32[4,70] group=32",
	     .out = T(0, I8, 4, 70), .scale = T(1, F16, 4, 3), .in = T(3, F32, 4, 70), .group = 32);
	SAME(count, COUNT, "inout=i64[3] in=u8[4,70]", .inout = T(0, I64, 3),
	     .in = T(1, U8, 4, 70));
	SAME(marker, MARKER, "value=9", .value = 9);
	SAME(timestamp, TIMESTAMP, "out=i64[1]", .out = T(0, I64, 1));
	SAME(load_scalar, LOAD_SCALAR, "in=i32[1] index=2 min=3 max=8", .in = T(0, I32, 1),
	     .index = 2, .min = 3, .max = 8);
}

/* Every good instruction of the tests through the generic call, terms given backwards. */
static void test_generic(void)
{
	struct npu_isa_error err;
	struct npu_term terms[NPU_MAX_TERMS];
	unsigned int i, j, wrong = 0;
	const void *data;
	size_t size, want_size;
	void *want = sample_stream(&want_size);

	begin();
	for (i = 0; i + 1 < sample_num_good; i++) {
		unsigned int slots = npu_op_desc(sample_good[i].opcode)->num_slots;
		struct npu_operand operand[NPU_MAX_OPERANDS] = { 0 };
		npu_u32 param[NPU_MAX_PARAMS];
		struct npu_insn insn;
		struct sample s;

		sample_parse(&s, sample_good[i].opcode, sample_good[i].text, NULL);
		wrong += !!npu_insn_decode(s.words, s.num_words, &insn, &err);
		for (j = 0; j < slots; j++)
			operand[j] = *npu_insn_slot(&insn, j);
		for (j = 0; j < NPU_MAX_PARAMS; j++)
			param[j] = npu_insn_param(&insn, j);
		for (j = 0; j < insn.header->num_terms; j++) {
			terms[j] = insn.term[insn.header->num_terms - 1 - j];
			if (terms[j].word >= 4 + 26 * insn.desc->num_slots)
				terms[j].word += 26 * (slots - insn.desc->num_slots);
		}
		wrong += !!npu_stream_emit(b, sample_good[i].opcode, operand, param,
					   terms, insn.header->num_terms, 42);
	}
	tap_ok(!wrong && npu_stream_num_insns(b) == sample_num_good - 1,
	       "all good instructions through npu_stream_emit()");
	tap_ok(!npu_stream_finish(b, &data, &size), "finish");
	/* END carries no tag here. */
	((struct npu_insn_header *)((char *)want + want_size - 16))->tag = 0;
	tap_ok(size == want_size && !memcmp(data, want, size),
	       "the same stream as encoded by the test");
	tap_ok(!npu_stream_verify(data, size, sample_regions, NPU_MAX_OPERANDS, 0, &err),
	       "which verifies");
	tap_ok(npu_stream_emit(b, NPU_OP_MARKER, NULL, (npu_u32[]){ 0 }, NULL, 0, 0) == -22 &&
		       strstr(npu_stream_error(b), "finished"),
	       "nothing comes after finish");
	free(want);
}

/* Codes in groups, and the parameter that came with them. */
static void test_version_2(void)
{
	struct npu_matmul_args a = { .out = T(0, F32, 8, 24), .a = T(1, I8, 8, 64),
				     .b = weight(NPU_U4, NPU_LAYOUT_GROUPED16, D(64, 24)),
				     .group_scale = T(8, F16, 2, 24), .a_scale = T(13, F32, 8),
				     .group = 32 };
	const struct npu_tensor *groups = T(13, F32, 8, 2);
	struct npu_stream_header header;
	const npu_u8 *insn;
	const void *data;
	size_t size;

	begin();
	if (!tap_ok(!npu_emit_matmul(b, &a) && !npu_stream_finish(b, &data, &size),
		    "codes in groups")) {
		tap_diag("%s", npu_stream_error(b));
		return;
	}
	memcpy(&header, data, sizeof(header));
	insn = (const npu_u8 *)data + sizeof(header);
	tap_ok(header.isa_minor == 2 && insn[4] == 14 && insn[5] == 11,
	       "14 operands and 11 parameters, the stream says 1.2");
	a.a_scale = groups;
	a.a_group = 32;
	begin();
	if (!tap_ok(!npu_emit_matmul(b, &a) && !npu_stream_finish(b, &data, &size), "and a's too"))
		tap_diag("%s", npu_stream_error(b));
	insn = (const npu_u8 *)data + sizeof(header);
	tap_ok(insn[4] == 15 && insn[5] == 12, "15 operands and 12 parameters");
	tap_ok(!npu_op_desc_of(NPU_OP_MATMUL, 14, 12) && !npu_op_desc_of(NPU_OP_COUNT, 0, 0) &&
		       !npu_op_desc_at(NPU_OP_COUNT, 0) && npu_op_desc_at(NPU_OP_COUNT, 1) &&
		       !npu_op_desc_at(NPU_OP_MATMUL, NPU_ISA_MINOR + 1),
	       "versions are not mixed, and an opcode begins with its own");
}

/* Scales of rows as f16: what reads them, and what writes them. */
static void test_version_4(void)
{
	struct npu_dyn_quant_args q = { .out = T(0, I8, 8, 64), .scale = T(1, F16, 8, 2),
					.in = T(3, F32, 8, 64), .group = 32 };
	struct npu_matmul_args a = { .out = T(0, F32, 8, 24), .a = T(1, I8, 8, 64),
				     .b = weight(NPU_U4, NPU_LAYOUT_GROUPED16, D(64, 24)),
				     .group_scale = T(8, F16, 2, 24), .a_scale = T(13, F16, 8, 2),
				     .group = 32, .a_group = 32 };
	struct npu_stream_header header;
	const void *data = NULL;
	size_t size;

	begin();
	tap_ok(!npu_emit_dyn_quant(b, &q) && !npu_stream_finish(b, &data, &size), "codes with scales in f16");
	memcpy(&header, data, sizeof(header));
	tap_ok(header.isa_minor == 4, "the stream says 1.4");
	begin();
	tap_ok(!npu_emit_matmul(b, &a) && !npu_stream_finish(b, &data, &size), "a product with them");
	memcpy(&header, data, sizeof(header));
	tap_ok(header.isa_minor == 4, "the stream says 1.4");
	begin();
	q = (struct npu_dyn_quant_args){ .out = T(0, I8, 8, 64), .scale = T(1, F32, 8, 2),
					 .in = T(3, F32, 8, 64), .group = 32 };
	tap_ok(!npu_emit_dyn_quant(b, &q) && !npu_stream_finish(b, &data, &size), "scales in f32");
	memcpy(&header, data, sizeof(header));
	tap_ok(!header.isa_minor, "are of 1.0");
}

/* A stream says the version that its instructions need, and what says less than that is refused. */
static void test_versions(void)
{
	struct npu_matmul_args old = { .out = T(0, I32, 8, 24), .a = T(1, U8, 8, 40),
				       .b = T(2, U8, 40, 24) };
	struct npu_matmul_args new = old;
	struct npu_stream_header header;
	struct npu_isa_error err = { 0 };
	const void *data;
	size_t size;
	char *copy;

	new.a_zero = T(14, U8, 1);
	begin();
	tap_ok(!npu_emit_matmul(b, &old) && !npu_stream_finish(b, &data, &size), "a matmul of 1.0");
	memcpy(&header, data, sizeof(header));
	tap_ok(header.isa_major == 1 && header.isa_minor == 0 &&
		       ((const npu_u8 *)data)[sizeof(header) + 4] == 14,
	       "has 14 operands, the stream says 1.0");
	begin();
	tap_ok(!npu_emit_matmul(b, &old) && !npu_emit_matmul(b, &new) &&
		       !npu_stream_finish(b, &data, &size),
	       "one with a_zero");
	memcpy(&header, data, sizeof(header));
	tap_ok(header.isa_minor == 1 &&
		       !npu_stream_verify(data, size, sample_regions, NPU_MAX_OPERANDS, 0, &err),
	       "the stream says 1.1 and verifies");
	copy = malloc(size);
	memcpy(copy, data, size);
	((struct npu_stream_header *)copy)->isa_minor = 0;
	tap_ok(npu_stream_verify(copy, size, sample_regions, NPU_MAX_OPERANDS, 0, &err) &&
		       strstr(err.text, "version 1.1 in a stream of version 1.0") &&
		       err.fault.insn == 1,
	       "saying 1.0 it is refused: %s", err.text);
	free(copy);
	test_version_2();
	test_version_4();
}

/* Dense at every length: what the device sees at s0 = 3 is what a dense tensor of that size is. */
static void test_lengths(void)
{
	struct npu_len dim[4] = { npu_len(2), npu_len(6), npu_len_scalar(4, 8, 0), npu_len(16) };
	struct npu_tensor in, out, fixed;
	struct npu_isa_error err;
	const npu_u32 scalar[NPU_MAX_SCALARS] = { 3 };
	npu_u32 words[NPU_MAX_INSN_WORDS] __attribute__((aligned(8)));
	struct npu_insn insn;
	const void *data;
	size_t size, at = begin();
	unsigned int i;
	int ret;

	tap_ok(!npu_tensor_dense(&in, 1, npu_len_scalar(64, 32, 1), NPU_F16, 4, dim),
	       "a dense tensor of varying width");
	tap_ok(!npu_tensor_dense(&out, 0, npu_len(0), NPU_F16, 4, dim), "another");
	ret = npu_emit_copy(b, &(struct npu_copy_args){ .out = &out, .in = &in });
	tap_ok(!ret, "is copied %s", npu_stream_error(b));
	npu_stream_finish(b, &data, &size);
	memcpy(words, (const char *)data + at, size - 16 - at);
	ret = npu_insn_decode(words, (size - 16 - at) / 4, &insn, &err) ?:
	      npu_insn_apply_terms(words, scalar, &err) ?: npu_insn_check(&insn, &err);
	npu_tensor_fixed(&fixed, 1, 64, NPU_F16, 4, (uint32_t[]){ 2, 6, 28, 16 });
	for (i = 0; i < 4; i++)
		ret |= insn.operand[1].dim[i] != fixed.dim[i].base ||
		       insn.operand[1].stride[i] != fixed.stride[i].base;
	tap_ok(!ret && insn.operand[1].offset == 64, "dense at s0 = 3");

	/* Two lengths that vary: fine while no stride is their product. */
	dim[1] = npu_len_scalar(0, 2, 1);
	tap_ok(npu_tensor_dense(&in, 1, npu_len(0), NPU_F16, 4, dim) == -33,
	       "a stride would be a product of two scalars");
	dim[0] = npu_len(1);
	tap_ok(!npu_tensor_dense(&in, 1, npu_len(0), NPU_F16, 4, dim),
	       "but the stride of a dim of 1 is free");
}

static void test_len_arithmetic(void)
{
	struct npu_len a = npu_len_scalar(5, 3, 1), c = npu_len_scalar(-2, -3, 1), r;

	tap_ok(!npu_len_add(&a, &c, &r) && npu_len_is_const(&r) && r.base == 3, "terms cancel");
	tap_ok(!npu_len_mul(&a, -4, &r) && r.base == -20 && r.term[0].factor == -12 &&
		       r.term[0].scalar == 1,
	       "times a constant");
	tap_ok(npu_len_mul(&a, INT64_MAX, &r) == -34 && npu_len_mul(&a, 1ll << 31, &r) == -34,
	       "overflows are refused");
	tap_ok(npu_len_product(&a, &c, &r) == -33, "a product of two that vary");
	c = npu_len_scalar(0, 1, 2);
	npu_len_add(&a, &c, &a);
	c = npu_len_scalar(0, 1, 3);
	tap_ok(!npu_len_add(&a, &c, &a), "three scalars");
	c = npu_len_scalar(0, 1, 4);
	tap_ok(npu_len_add(&a, &c, &a) == -34, "but not four");
	c = npu_len_scalar(0, -1, 2);
	tap_ok(!npu_len_add(&a, &c, &a) && a.term[1].factor == 0, "a place becomes free");
}

static bool is(const struct npu_tensor *t, unsigned int rank, int64_t offset, const int64_t *dim,
	       const int64_t *stride)
{
	unsigned int i;

	if (t->rank != rank || t->offset.base != offset)
		return false;
	for (i = 0; i < rank; i++)
		if (t->dim[i].base != dim[i] || (dim[i] != 1 && t->stride[i].base != stride[i]))
			return false;
	return true;
}

#define IS(t, offset, dims, strides) \
	is(t, sizeof((int64_t[])dims) / 8, offset, (int64_t[])dims, (int64_t[])strides)
#define L(...) { __VA_ARGS__ }

static void test_views(void)
{
	const struct npu_len dim[2] = { npu_len(4), npu_len_scalar(0, 8, 0) };
	struct npu_tensor t;

	npu_tensor_fixed(&t, 1, 100, NPU_F32, 3, (uint32_t[]){ 2, 6, 10 });
	tap_ok(IS(&t, 100, L(2, 6, 10), L(240, 40, 4)), "dense");
	tap_ok(!npu_tensor_slice(&t, 1, npu_len(1), npu_len(2), 3) &&
		       IS(&t, 140, L(2, 2, 10), L(240, 120, 4)),
	       "slice with a step");
	tap_ok(!npu_tensor_transpose(&t, (unsigned int[]){ 2, 0, 1 }) &&
		       IS(&t, 140, L(10, 2, 2), L(4, 240, 120)),
	       "transpose");
	tap_ok(!npu_tensor_split(&t, 0, 5) && IS(&t, 140, L(2, 5, 2, 2), L(20, 4, 240, 120)),
	       "split");
	tap_ok(!npu_tensor_insert(&t, 4) && IS(&t, 140, L(2, 5, 2, 2, 1), L(20, 4, 240, 120, 0)),
	       "insert at the end");
	tap_ok(!npu_tensor_broadcast(&t, 4, npu_len(7)) &&
		       IS(&t, 140, L(2, 5, 2, 2, 7), L(20, 4, 240, 120, 0)),
	       "broadcast");
	tap_ok(npu_tensor_broadcast(&t, 3, npu_len(7)) == -22, "broadcast of a dim that is not 1");
	tap_ok(npu_tensor_remove(&t, 0) == -22 && npu_tensor_remove(&t, 5) == -22,
	       "remove of a dim that is not 1, or not there");
	tap_ok(npu_tensor_transpose(&t, (unsigned int[]){ 0, 1, 2, 3, 3 }) == -22,
	       "an order that is none");
	tap_ok(npu_tensor_slice(&t, 5, npu_len(0), npu_len(1), 1) == -22 &&
		       npu_tensor_slice(&t, 0, npu_len(0), npu_len(1), 0) == -22,
	       "slice of no axis, in steps of 0");
	tap_ok(npu_tensor_split(&t, 1, 2) == -22 && npu_tensor_split(&t, 1, 0) == -22,
	       "split with a rest");
	npu_tensor_fixed(&t, 1, 0, NPU_F32, 3, (uint32_t[]){ 2, 1, 10 });
	tap_ok(!npu_tensor_remove(&t, 1) && IS(&t, 0, L(2, 10), L(40, 4)), "remove");

	npu_tensor_dense(&t, 1, npu_len(0), NPU_F16, 2, dim);
	tap_ok(npu_tensor_slice(&t, 0, npu_len_scalar(0, 1, 1), npu_len(1), 1) == -33,
	       "a start that varies over a stride that does");
	tap_ok(!npu_tensor_slice(&t, 1, npu_len_scalar(0, 1, 1), npu_len(1), 1) &&
		       t.offset.term[0].factor == 2,
	       "a start that varies");
	tap_ok(npu_tensor_dense(&t, 1, npu_len(0), NPU_U4, 2, dim) == -22 &&
		       npu_tensor_dense(&t, 1, npu_len(0), NPU_F16, 7, dim) == -22,
	       "types and ranks that have no dense form");
}

static void expect_error(int ret, unsigned int code, unsigned int operand, const char *text)
{
	const struct npu_fault *f = npu_stream_fault(b);

	if (!tap_ok(ret == -22 && f->code == code && f->operand == operand &&
			    strstr(npu_stream_error(b), text),
		    "refused: %s", text))
		tap_diag("%d, code %u, operand %u, '%s'", ret, f->code, f->operand,
			 npu_stream_error(b));
}

static void test_errors(void)
{
	struct npu_conv_args conv = { .out = T(0, F16, 1, 8, 8, 32),
				      .in = T(1, F16, 1, 8, 8, 16),
				      .weight = T(2, F16, 32, 3, 3, 12) };
	struct npu_copy_args copy;
	struct npu_stream_builder *none;
	struct npu_tensor t;
	size_t at = begin();

	conv.out = T(0, F16, 1, 8, 8, 32);
	conv.in = T(1, F16, 1, 8, 8, 16);
	conv.weight = T(2, F16, 32, 3, 3, 12);
	expect_error(npu_emit_conv(b, &conv), NPU_FAULT_SHAPE, NPU_CONV_WEIGHT,
		     "conv: weight dim 3 is 12, expected channels / groups = 16");
	conv.in = NULL;
	expect_error(npu_emit_conv(b, &conv), NPU_FAULT_OPERAND, NPU_CONV_IN, "conv: in is absent");
	copy = (struct npu_copy_args) { .out = T(0, F32, 8), .in = T(16, F32, 8) };
	expect_error(npu_emit_copy(b, &copy), NPU_FAULT_REGION, NPU_COPY_IN,
		     "copy: in is in region 16, the stream has 16");
	copy.in = T(1000, F32, 8);
	expect_error(npu_emit_copy(b, &copy), NPU_FAULT_REGION, NPU_COPY_IN, "region 1000");
	t = *T(1, F32, 8);
	copy.in = &t;
	t.rank = 7;
	expect_error(npu_emit_copy(b, &copy), NPU_FAULT_OPERAND, NPU_COPY_IN, "rank of in is 7");
	t.rank = 1;
	t.dtype = 77;
	expect_error(npu_emit_copy(b, &copy), NPU_FAULT_OPERAND, NPU_COPY_IN, "not known");
	t.dtype = NPU_F32;
	t.dim[0] = npu_len(1ll << 32);
	expect_error(npu_emit_copy(b, &copy), NPU_FAULT_SHAPE, NPU_COPY_IN,
		     "expected a 32-bit number");
	t.dim[0] = npu_len_scalar(0, 1, 4);
	expect_error(npu_emit_copy(b, &copy), NPU_FAULT_ENCODING, ~0u,
		     "names scalar 4, the stream declares 4");
	/* right at the lowest value of the scalar, wrong at the highest */
	t.dim[0] = npu_len_scalar(7, 1, 0);
	expect_error(npu_emit_copy(b, &copy), NPU_FAULT_SHAPE, NPU_COPY_IN, "in dim 0 is 15");
	t.dim[0] = npu_len(8);
	t.offset = npu_len(-4);
	expect_error(npu_emit_copy(b, &copy), NPU_FAULT_OPERAND, NPU_COPY_IN, "offset of in is -4");
	expect_error(npu_stream_emit(b, 0x04, NULL, NULL, NULL, 0, 0), NPU_FAULT_OPCODE, ~0u,
		     "opcode 0x4");
	expect_error(npu_stream_emit(b, NPU_OP_END, NULL, NULL, NULL, 0, 0), NPU_FAULT_STREAM, ~0u,
		     "npu_stream_finish");
	expect_error(npu_stream_scalar(b, 2, 1), NPU_FAULT_STREAM, ~0u, "expected at most max");
	tap_ok(npu_stream_offset(b) == at && !npu_stream_num_insns(b), "the stream is unchanged");
	while (npu_stream_scalar(b, 0, 1) >= 0)
		;
	tap_ok(npu_stream_scalar(b, 0, 1) == -28 && strstr(npu_stream_error(b), "16 scalars"),
	       "no more than 16 scalars");
	tap_ok(npu_stream_create(257, &none) == -22 && !none, "no more than 256 regions");
	npu_stream_destroy(none);
}

static void test_supports(void)
{
	struct npu_conv_args conv;
	struct npu_copy_args copy;
	char why[256];
	struct npu_tensor t;
	size_t at = begin();

	conv = (struct npu_conv_args){ .out = T(0, F16, 1, 8, 8, 32),
				       .in = T(1, F16, 1, 8, 8, 16),
				       .weight = T(2, F16, 32, 3, 3, 12) };
	tap_ok(!npu_supports(NPU_OP_CONV, &conv, why, sizeof(why)) &&
		       strstr(why, "expected channels / groups = 16"),
	       "says why not");
	tap_ok(!npu_supports(NPU_OP_CONV, &conv, NULL, 0) &&
		       !npu_supports(NPU_OP_CONV, &conv, why, 5) && !strcmp(why, "conv"),
	       "into any buffer");
	tap_ok(!npu_supports(NPU_OP_END, NULL, why, sizeof(why)) &&
		       !npu_supports(0x77, NULL, why, sizeof(why)),
	       "not an operator");
	t = *T(1, F32, 8);
	t.dim[0] = npu_len_scalar(0, 8, 0);
	copy = (struct npu_copy_args) { .out = &t, .in = &t };
	copy.out = &pool[used++ % 32];
	pool[(used - 1) % 32] = t;
	pool[(used - 1) % 32].region = 0;
	tap_ok(!npu_supports(NPU_OP_COPY, &copy, why, sizeof(why)) && strstr(why, "scalar"),
	       "lengths that vary need a builder");
	npu_stream_dry_run(b, true);
	tap_ok(!npu_emit_copy(b, &copy) && npu_stream_offset(b) == at && !npu_stream_num_insns(b),
	       "a dry run appends nothing");
	npu_stream_dry_run(b, false);
	tap_ok(!npu_emit_copy(b, &copy) && npu_stream_num_insns(b) == 1, "and a real one does");
}

int main(void)
{
	test_gemm_emitters();
	test_zero_emitters();
	test_ewise_emitters();
	test_image_emitters();
	test_index_emitters();
	test_generic();
	test_versions();
	test_lengths();
	test_len_arithmetic();
	test_views();
	test_errors();
	test_supports();
	npu_stream_destroy(b);
	return tap_done();
}
