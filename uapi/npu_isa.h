/* SPDX-License-Identifier: MIT */
/*
 * NPU v1 instruction set: encoding and limits.
 *
 * A command stream is a struct npu_stream_header followed by instructions. An instruction is
 *
 *	struct npu_insn_header
 *	struct npu_operand	operand[num_operands]
 *	u32			param[num_params]
 *	struct npu_term		term[num_terms]
 *
 * Operands stand in the order of the opcode's slots, and those of later minor versions may be left
 * off; parameters likewise. Terms are lengths given at run time. All is
 * little-endian, filled up with a zero word to a multiple of 8 bytes. Opcodes, slots,
 * parameters, their limits and the exact formula of each opcode stand in npu_isa_table.h, the
 * single source for the encoder, the engine's decoder, the verifier, the disassembler, the support
 * query and the generated reference.
 *
 * Terms stand in rising order of the word they name; several may name one word. Addresses are
 * region + offset. A term adds factor * scalar to one word of the instruction when it is fetched:
 * only words that hold a dimension, a stride or an offset, and parameters that the table marks
 * PARAM_LEN, may be named by a term.
 */
#ifndef NPU_ISA_H
#define NPU_ISA_H

#ifdef __KERNEL__
#include <linux/types.h>
typedef __u8 npu_u8;
typedef __u16 npu_u16;
typedef __u32 npu_u32;
typedef __s32 npu_s32;
typedef __u64 npu_u64;
typedef __s64 npu_s64;
#else
#include <stdint.h>
typedef uint8_t npu_u8;
typedef uint16_t npu_u16;
typedef uint32_t npu_u32;
typedef int32_t npu_s32;
typedef uint64_t npu_u64;
typedef int64_t npu_s64;
#endif

#define NPU_ISA_MAJOR		1	/* a change breaks old streams */
#define NPU_ISA_MINOR		4	/* a change only adds */

#define NPU_STREAM_MAGIC	0x3153504eu	/* "NPS1" */

#define NPU_MAX_REGIONS		256
#define NPU_MAX_SCALARS		16
#define NPU_MAX_RANK		6
#define NPU_MAX_OPERANDS	16
#define NPU_MAX_PARAMS		48
#define NPU_MAX_TERMS		128
#define NPU_MAX_STREAM_BYTES	(256u << 20)

/* Bounds that keep one instruction from holding a device. */
#define NPU_MAX_INSN_MACS	(1ull << 36)
#define NPU_MAX_INSN_BYTES	(1ull << 34)
#define NPU_MAX_DIM		0x7fffffffu
#define NPU_MAX_EXTENT		(1ull << 46)

#define NPU_PANEL		16	/* output channels in one weight panel */

/* Element types. bits: storage bits of one element. */
#define NPU_DTYPES(X)			\
	X(NONE,	0,  0,  "none")		\
	X(F32,	1,  32, "f32")		\
	X(F16,	2,  16, "f16")		\
	X(BF16,	3,  16, "bf16")		\
	X(I8,	4,  8,  "i8")		\
	X(U8,	5,  8,  "u8")		\
	X(I32,	6,  32, "i32")		\
	X(I64,	7,  64, "i64")		\
	X(BOOL,	8,  8,  "bool")		\
	X(U4,	9,  4,  "u4")		\
	X(U5,	10, 5,  "u5")		\
	X(U6,	11, 6,  "u6")

enum npu_dtype {
#define X(name, code, bits, text) NPU_##name = code,
	NPU_DTYPES(X)
#undef X
	NPU_NUM_DTYPES
};

/*
 * How an operand's elements lie in memory.
 *
 * STRIDED	element (i0, i1, ...) at offset + sum(i * stride), strides in bytes, >= 0; a
 *		dimension of size 1 may have any stride, and stride 0 repeats data (inputs only).
 * PANEL16	float weights of CONV, CONV_TRANSPOSE and MATMUL. Logical dims [O][K...] (CONV: O,
 *		KH, KW, C/g) or, for MATMUL's b, [K][N]. Memory: for each group, for each panel of
 *		16 outputs, for each k in K order, 16 elements; the last panel of a group is filled
 *		up with zeros. Dense, strides unused (zero). For MATMUL leading batch dims precede,
 *		dense.
 * PANEL16K4	i8/u8 weights: as PANEL16, but for each quad of k (K filled up to a multiple of 4
 *		with zeros): 16 outputs x 4 consecutive k.
 * GROUPED16	group-quantized weights, MATMUL's b and rows of GATHER: unsigned codes of 4, 5, 6 or
 *		8 bits in quads as PANEL16K4, 64 codes each, number i being output i / 4 of the
 *		panel, k i % 4 of the quad. A quad of 8-bit codes is 64 bytes. For fewer bits it is
 *		32 bytes, byte j with the lower four bits of code j in its lower half and of code 32
 *		+ j in the upper one; then for 5 bits 8 bytes, bit i of which (bit i % 8 of byte i /
 *		8) is the fifth bit of code i, for 6 bits 16 bytes, where bits 2 * (i / 16) and the
 *		next of byte i % 16 are the upper two bits of code i. Codes of k beyond K and of
 *		outputs beyond the last mean nothing. In GATHER, whose dims are [1][N][K], the
 *		memory is that of the same weight as b of MATMUL, [K][N]. Scales and minimums are
 *		operands of their own, STRIDED or PANEL16 with their groups for K.
 *
 * 4-, 5- and 6-bit codes in a STRIDED operand (rows of GATHER): the last dim is packed lowest bits
 * first, its stride is zero, and each row starts at a byte. Their zero point is that of the
 * operand.
 */
#define NPU_LAYOUTS(X)			\
	X(STRIDED,	0, "strided")	\
	X(PANEL16,	1, "panel16")	\
	X(PANEL16K4,	2, "panel16k4")	\
	X(GROUPED16,	3, "grouped16")

enum npu_layout {
#define X(name, code, text) NPU_LAYOUT_##name = code,
	NPU_LAYOUTS(X)
#undef X
	NPU_NUM_LAYOUTS
};

/*
 * Activations. alpha and beta are parameters; slope[c] is the act_param operand. One f32 operation
 * each.
 */
#define NPU_ACTS(X)										\
	X(NONE,		0,  "none",		"v")						\
	X(RELU,		1,  "relu",		"v < 0 ? 0 : v")				\
	X(RELU6,	2,  "relu6",		"min(max(v, 0), 6)")				\
	X(CLIP,		3,  "clip",		"min(max(v, alpha), beta)")			\
	X(LEAKY_RELU,	4,  "leaky_relu",	"v < 0 ? v * alpha : v")			\
	X(PRELU,	5,  "prelu",		"v < 0 ? v * slope[c] : v")			\
	X(SIGMOID,	6,  "sigmoid",		"sigmoid(v)")					\
	X(TANH,		7,  "tanh",		"tanh(v)")					\
	X(HARD_SIGMOID,	8,  "hard_sigmoid",	"min(max(fma(v, alpha, beta), 0), 1)")		\
	X(HARD_SWISH,	9,  "hard_swish",	"v * min(max(fma(v, alpha, beta), 0), 1)")	\
	X(SILU,		10, "silu",		"v * sigmoid(v)")				\
	X(GELU_ERF,	11, "gelu_erf",		"(0.5 * v) * (1 + erf(v * 0.70710678))")	\
	X(GELU_TANH,	12, "gelu_tanh",						\
	  "(0.5 * v) * (1 + tanh(0.79788456 * fma(0.044715 * v * v, v, v)))")			\
	X(ELU,		13, "elu",		"v < 0 ? alpha * expm1(v) : v")			\
	X(SOFTPLUS,	14, "softplus",		"max(v, 0) + log1p(exp(-abs(v)))")		\
	X(MISH,		15, "mish",		"v * tanh(softplus(v))")

enum npu_act {
#define X(name, code, text, formula) NPU_ACT_##name = code,
	NPU_ACTS(X)
#undef X
	NPU_NUM_ACTS
};

/* Unary functions of EWISE1, beside the activations. */
#define NPU_UNARIES(X)										\
	X(ABS, 0, "abs") X(NEG, 1, "neg") X(EXP, 2, "exp") X(LOG, 3, "log") X(SQRT, 4, "sqrt")	\
	X(RSQRT, 5, "rsqrt") X(RECIP, 6, "recip") X(FLOOR, 7, "floor") X(CEIL, 8, "ceil")	\
	X(ROUND, 9, "round") X(SIGN, 10, "sign") X(ERF, 11, "erf") X(SIN, 12, "sin")		\
	X(COS, 13, "cos") X(NOT, 14, "not") X(SQUARE, 15, "square") X(ISNAN, 16, "isnan")	\
	X(ISINF, 17, "isinf") X(COPY, 18, "copy") X(SOFTSIGN, 19, "softsign")			\
	X(TAN, 20, "tan") X(ASIN, 21, "asin") X(ACOS, 22, "acos") X(ATAN, 23, "atan")		\
	X(SINH, 24, "sinh") X(COSH, 25, "cosh") X(ASINH, 26, "asinh") X(ACOSH, 27, "acosh")	\
	X(ATANH, 28, "atanh") X(BITNOT, 29, "bitnot")

enum npu_unary {
#define X(name, code, text) NPU_UNARY_##name = code,
	NPU_UNARIES(X)
#undef X
	NPU_NUM_UNARIES
};

/* Binary functions of EWISE2. Comparisons and logic give bool. */
#define NPU_BINARIES(X)										\
	X(ADD, 0, "add") X(SUB, 1, "sub") X(MUL, 2, "mul") X(DIV, 3, "div") X(MAX, 4, "max")	\
	X(MIN, 5, "min") X(POW, 6, "pow") X(MOD, 7, "mod") X(FMOD, 8, "fmod") X(EQ, 9, "eq")	\
	X(LT, 10, "lt") X(LE, 11, "le") X(GT, 12, "gt") X(GE, 13, "ge") X(AND, 14, "and")	\
	X(OR, 15, "or") X(XOR, 16, "xor") X(BITAND, 17, "bitand") X(BITOR, 18, "bitor")		\
	X(BITXOR, 19, "bitxor") X(SHL, 20, "shl") X(SHR, 21, "shr")

enum npu_binary {
#define X(name, code, text) NPU_BINARY_##name = code,
	NPU_BINARIES(X)
#undef X
	NPU_NUM_BINARIES
};

#define NPU_REDUCES(X)										\
	X(SUM, 0, "sum") X(MEAN, 1, "mean") X(MAX, 2, "max") X(MIN, 3, "min") X(PROD, 4, "prod") \
	X(L1, 5, "l1") X(L2, 6, "l2") X(SUM_SQUARE, 7, "sum_square") X(LOG_SUM, 8, "log_sum")	\
	X(LOG_SUM_EXP, 9, "log_sum_exp")

enum npu_reduce {
#define X(name, code, text) NPU_REDUCE_##name = code,
	NPU_REDUCES(X)
#undef X
	NPU_NUM_REDUCES
};

enum npu_pool { NPU_POOL_MAX, NPU_POOL_AVG, NPU_NUM_POOLS };
enum npu_norm { NPU_NORM_LAYER, NPU_NORM_RMS, NPU_NUM_NORMS };
enum npu_pad { NPU_PAD_CONSTANT, NPU_PAD_REFLECT, NPU_PAD_EDGE, NPU_PAD_WRAP, NPU_NUM_PADS };
enum npu_scatter {
	NPU_SCATTER_NONE, NPU_SCATTER_ADD, NPU_SCATTER_MUL, NPU_SCATTER_MIN, NPU_SCATTER_MAX,
	NPU_NUM_SCATTERS
};
/* How the epilogue joins the residual operand. */
enum npu_join { NPU_JOIN_NONE, NPU_JOIN_ADD, NPU_JOIN_MUL, NPU_NUM_JOINS };
enum npu_resize { NPU_RESIZE_NEAREST, NPU_RESIZE_LINEAR, NPU_RESIZE_CUBIC, NPU_NUM_RESIZES };
enum npu_coord {
	NPU_COORD_HALF_PIXEL, NPU_COORD_PYTORCH_HALF_PIXEL, NPU_COORD_ALIGN_CORNERS,
	NPU_COORD_ASYMMETRIC, NPU_NUM_COORDS
};
enum npu_nearest {
	NPU_NEAREST_ROUND_PREFER_FLOOR, NPU_NEAREST_ROUND_PREFER_CEIL, NPU_NEAREST_FLOOR,
	NPU_NEAREST_CEIL, NPU_NUM_NEARESTS
};
enum npu_rope { NPU_ROPE_ADJACENT, NPU_ROPE_HALVES, NPU_NUM_ROPES };
enum npu_color { NPU_COLOR_NV12, NPU_COLOR_YUYV, NPU_COLOR_RGB24, NPU_COLOR_BGR24, NPU_NUM_COLORS };

struct npu_stream_header {
	npu_u32 magic;			/* NPU_STREAM_MAGIC */
	npu_u16 isa_major;
	npu_u16 isa_minor;
	npu_u32 size;			/* bytes, this header included */
	npu_u32 num_insns;		/* END included */
	npu_u16 num_regions;		/* regions the stream may name: 0 .. num_regions - 1 */
	npu_u16 num_scalars;
	npu_u32 reserved;		/* zero */
	struct {
		npu_u32 min;
		npu_u32 max;		/* both inclusive; a job with a scalar outside is refused */
	} scalar[NPU_MAX_SCALARS];
};

struct npu_insn_header {
	npu_u16 opcode;
	npu_u16 words;			/* 32-bit words of the whole instruction, header included */
	npu_u8 num_operands;
	npu_u8 num_params;
	npu_u8 num_terms;
	npu_u8 reserved;		/* zero */
	npu_u32 tag;			/* for people: index into the job file's debug map */
	npu_u32 reserved2;		/* zero */
};

/* An absent optional operand is all zero (dtype NPU_NONE). */
struct npu_operand {
	npu_u8 region;
	npu_u8 dtype;			/* enum npu_dtype */
	npu_u8 rank;			/* dims used, outermost first; 0: a scalar */
	npu_u8 layout;			/* enum npu_layout */
	npu_u32 reserved;		/* zero */
	npu_u64 offset;			/* bytes from the start of the region */
	npu_u32 dim[NPU_MAX_RANK];	/* >= 1; unused ones zero */
	npu_u32 reserved2[2];		/* zero */
	npu_s64 stride[NPU_MAX_RANK];	/* bytes; unused ones zero */
	/* i8, u8, i32 as quantized data: value = scale * (code - zero_point) */
	float scale;
	/*
	 * scale 0: plain integers, no quantization; of grouped codes the zero point counts all the
	 * same
	 */
	npu_s32 zero_point;
};

struct npu_term {
	npu_u16 word;			/* index of a 32-bit word in the instruction */
	npu_u8 scalar;
	npu_u8 wide;			/* 1: the 64-bit value at word, word + 1 */
	npu_s32 factor;
};

/* One entry of a job's region table. */
struct npu_region {
	npu_u64 base;			/* address in the context's address space */
	npu_u64 size;			/* bytes */
	npu_u32 access;			/* NPU_ACCESS_* */
	npu_u32 reserved;
};

#define NPU_ACCESS_READ		1u
#define NPU_ACCESS_WRITE	2u
#define NPU_ACCESS_SRAM		4u	/* base is an offset into on-chip memory */
#define NPU_ACCESS_EXEC		8u	/* of a stream's fetch, in npu_fault.access alone */

/*
 * Why a job stopped; one table for the engine, the firmware ABI, the driver's record and libnpu's
 * texts.
 */
#define NPU_FAULTS(X)										\
	X(NONE,		0,  "no fault")								\
	X(STREAM,	1,  "stream header is malformed")					\
	X(FETCH,	2,  "instruction can not be fetched")					\
	X(OPCODE,	3,  "opcode is not known or not supported by this device")		\
	X(ENCODING,	4,  "instruction is malformed")						\
	X(OPERAND,	5,  "operand is not valid for the opcode")				\
	X(SHAPE,	6,  "shapes of the operands do not agree")				\
	X(PARAM,	7,  "parameter is out of its range")					\
	X(SCALAR,	8,  "scalar is outside the bound of the stream header")			\
	X(REGION,	9,  "operand reaches outside its region")				\
	X(ACCESS,	10, "region does not allow this access")				\
	X(MMU,		11, "address is not mapped for this access")				\
	X(OVERLAP,	12, "output overlaps an input")						\
	X(INDEX,	13, "index in memory is out of range")					\
	X(LIMIT,	14, "instruction exceeds the bound of work")				\
	X(SRAM,		15, "operand reaches outside the on-chip memory")			\
	X(INTERNAL,	16, "device error")

enum npu_fault_code {
#define X(name, code, text) NPU_FAULT_##name = code,
	NPU_FAULTS(X)
#undef X
	NPU_NUM_FAULTS
};

struct npu_fault {
	npu_u32 code;			/* enum npu_fault_code */
	npu_u32 insn;			/* index in the stream */
	npu_u32 stream_offset;		/* bytes */
	npu_u32 opcode;
	npu_u32 tag;
	npu_u32 operand;		/* slot, or ~0 */
	npu_u32 access;			/* NPU_ACCESS_* wanted */
	npu_u32 field;			/* parameter or dimension index, or ~0 */
	/* of the access in the context's address space, where known */
	npu_u64 address;
	npu_s64 value;			/* the offending value: an index, a parameter, an extent */
};

#endif
