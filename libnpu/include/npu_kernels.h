/* SPDX-License-Identifier: MIT */
/*
 * libnpu: building command streams without the compiler.
 *
 * For runtimes that have a graph or a list of operators of their own (llama.cpp, ONNX Runtime,
 * TFLite): describe operands as tensors (region, offset, type, dims, strides, quantization), append
 * one operator after the other to a stream builder, and submit the stream with a region table.
 * Operands take any strides, so views (slices, transposes, broadcasts) cost nothing. Lengths may be
 * `base + factor * scalar`: one stream then serves every prompt length or image width.
 *
 * Nothing here has global state or prints. A function that can fail returns a negative errno; the
 * reason in words is kept in the builder (npu_stream_error()) or written to the caller's buffer.
 * One builder may be used by one thread at a time; everything else is pure and thread safe.
 */
#ifndef NPU_KERNELS_H
#define NPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "npu_isa_desc.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- lengths --------------------------------------------------------------------------------- */

#define NPU_LEN_TERMS	3

/* A dimension, stride or offset: base + sum of factor * scalar. Unused terms have factor 0. */
struct npu_len {
	int64_t base;
	struct {
		int32_t factor;
		uint32_t scalar;	/* index in the stream's list of scalars */
	} term[NPU_LEN_TERMS];
};

static inline struct npu_len npu_len(int64_t value)
{
	struct npu_len len = { value, { { 0, 0 }, { 0, 0 }, { 0, 0 } } };

	return len;
}

static inline struct npu_len npu_len_scalar(int64_t base, int32_t factor, unsigned int scalar)
{
	struct npu_len len = { base, { { factor, scalar }, { 0, 0 }, { 0, 0 } } };

	return len;
}

/** npu_len_is_const - true when no scalar takes part */
bool npu_len_is_const(const struct npu_len *len);

/**
 * npu_len_add, npu_len_mul - sum, and product with a constant
 * npu_len_product - product of two lengths of which one is constant
 *
 * Return 0, -ERANGE (overflow, a factor beyond 32 bits, more than NPU_LEN_TERMS scalars) or, from
 * npu_len_product(), -EDOM when both vary.
 */
int npu_len_add(const struct npu_len *a, const struct npu_len *b, struct npu_len *sum);
int npu_len_mul(const struct npu_len *a, int64_t k, struct npu_len *product);
int npu_len_product(const struct npu_len *a, const struct npu_len *b, struct npu_len *product);

/* ---- tensors --------------------------------------------------------------------------------- */

/*
 * What an operand is. Plain data: copy it, change its fields; NULL stands for an operand that is
 * absent.
 */
struct npu_tensor {
	enum npu_dtype dtype;
	enum npu_layout layout;
	unsigned int region;
	unsigned int rank;			/* 0 .. NPU_MAX_RANK */
	struct npu_len offset;			/* bytes from the region's start */
	struct npu_len dim[NPU_MAX_RANK];	/* elements, outermost first */
	struct npu_len stride[NPU_MAX_RANK];	/* bytes; of a dim of size 1: anything */
	float scale;				/* 0: not quantized */
	int32_t zero_point;
};

/**
 * npu_tensor_dense - a row-major tensor
 * @dim: @rank lengths
 *
 * Strides follow from the dims, and vary with them: the tensor is dense at every length. Returns 0,
 * -EINVAL (rank or type) or -EDOM when a stride would be a product of two lengths that both vary
 * (pad one of them to its bound instead).
 */
int npu_tensor_dense(struct npu_tensor *t, unsigned int region, struct npu_len offset,
		     enum npu_dtype dtype, unsigned int rank, const struct npu_len *dim);

/** npu_tensor_fixed - the same with constant dims and offset */
int npu_tensor_fixed(struct npu_tensor *t, unsigned int region, uint64_t offset,
		     enum npu_dtype dtype, unsigned int rank, const uint32_t *dim);

/**
 * npu_tensor_weight - packed weights (see npu_pack_*): PANEL16, PANEL16K4 or GROUPED16, constant
 * dims
 */
int npu_tensor_weight(struct npu_tensor *t, unsigned int region, uint64_t offset,
		      enum npu_dtype dtype, enum npu_layout layout, unsigned int rank,
		      const uint32_t *dim);

/** npu_tensor_quant - make it quantized data: value = scale * (code - zero_point) */
void npu_tensor_quant(struct npu_tensor *t, float scale, int32_t zero_point);

/**
 * Views of the same memory; all work in place on @t and return 0, -EINVAL (axis, order, a panel
 * layout), -ERANGE or -EDOM (the result would be a product of two lengths that both vary).
 *
 * npu_tensor_slice - @count elements of @axis from @start in steps of @step >= 1
 * npu_tensor_transpose - dim i of the result is dim @order[i]
 * npu_tensor_broadcast - a dim of size 1 becomes @size, with stride 0 (inputs only)
 * npu_tensor_insert - a new dim of size 1 before @axis
 * npu_tensor_remove - take out @axis, of size 1
 * npu_tensor_split - @axis of constant size becomes two, the inner of @inner elements
 */
int npu_tensor_slice(struct npu_tensor *t, unsigned int axis, struct npu_len start,
		     struct npu_len count, uint32_t step);
int npu_tensor_transpose(struct npu_tensor *t, const unsigned int *order);
int npu_tensor_broadcast(struct npu_tensor *t, unsigned int axis, struct npu_len size);
int npu_tensor_insert(struct npu_tensor *t, unsigned int axis);
int npu_tensor_remove(struct npu_tensor *t, unsigned int axis);
int npu_tensor_split(struct npu_tensor *t, unsigned int axis, uint32_t inner);

/* ---- streams --------------------------------------------------------------------------------- */

struct npu_stream_builder;

/* A LEN parameter that varies: replaces param[index]. */
struct npu_param_len {
	unsigned int index;
	struct npu_len len;
};

/**
 * npu_stream_create - an empty stream
 * @num_regions: regions that operands may name: 0 .. num_regions - 1
 *
 * Free it with npu_stream_destroy(). Returns 0, -EINVAL or -ENOMEM.
 */
int npu_stream_create(unsigned int num_regions, struct npu_stream_builder **builder);
void npu_stream_destroy(struct npu_stream_builder *b);

/**
 * npu_stream_scalar - declare the next scalar and its bounds, both inclusive
 *
 * Has to come before instructions that use it. Returns its index, -EINVAL (min > max) or -ENOSPC
 * (NPU_MAX_SCALARS are taken).
 */
int npu_stream_scalar(struct npu_stream_builder *b, uint32_t min, uint32_t max);

/**
 * npu_stream_emit - append an instruction from its encoded parts
 * @operands: as many as the opcode has slots, in their order; absent ones all zero
 * @params: as many as the opcode has parameters
 * @terms: what varies, in any order
 * @tag: free for the caller: comes back in fault records
 *
 * The instruction is checked as the device will, at the bounds of all scalars. Returns 0, -ENOMEM,
 * -ENOSPC (the stream is at its limit) or
 * -EINVAL; the stream is unchanged then.
 */
int npu_stream_emit(struct npu_stream_builder *b, enum npu_opcode opcode,
		    const struct npu_operand *operands, const npu_u32 *params,
		    const struct npu_term *terms, unsigned int num_terms, npu_u32 tag);

/**
 * npu_stream_emit_tensors - the same from tensors; operands[i] NULL: absent. @lens: LEN parameters
 * that vary.
 */
int npu_stream_emit_tensors(struct npu_stream_builder *b, enum npu_opcode opcode,
			    const struct npu_tensor *const *operands, const npu_u32 *params,
			    const struct npu_param_len *lens, unsigned int num_lens, npu_u32 tag);

/**
 * npu_stream_num_insns, npu_stream_offset - instructions so far, and the byte offset at which the
 * next one will start
 */
unsigned int npu_stream_num_insns(const struct npu_stream_builder *b);
size_t npu_stream_offset(const struct npu_stream_builder *b);

/**
 * npu_stream_finish - append END and hand out the stream
 *
 * *@data belongs to the builder and stays valid until it is destroyed; nothing can be appended any
 * more. Returns 0, -ENOMEM or -ENOSPC.
 */
int npu_stream_finish(struct npu_stream_builder *b, const void **data, size_t *size);

/**
 * npu_stream_error - why the last call failed, in words; "" when it did not. Valid until the next
 * call.
 */
const char *npu_stream_error(const struct npu_stream_builder *b);

/** npu_stream_fault - the same as a fault record (code, operand, field, value) */
const struct npu_fault *npu_stream_fault(const struct npu_stream_builder *b);

/* ---- operators ------------------------------------------------------------------------------- */

/*
 * One npu_emit_<operator>() per operator, each with a struct of arguments: zero it, fill in what is
 * needed. Tensors that are NULL are absent; those marked (o) may be. Shapes and formulas stand in
 * Documentation/hardware/instructions.md. @tag comes back in fault records. Strides, dilations and
 * groups of 0 mean 1.
 *
 * All return 0, -EINVAL (npu_stream_error() tells which operand or parameter and what was
 * expected), -ENOMEM or -ENOSPC, and leave the stream as it was on failure.
 */

/*
 * What comes after the accumulator: bias, activation, v * post_mul + post_add, residual, second
 * activation.
 */
struct npu_epilogue {
	const struct npu_tensor *bias;		/* (o) [O] f32, i32 for integers */
	/* (o) [O] or [] f32: integer accumulator to real value */
	const struct npu_tensor *scale;
	const struct npu_tensor *residual;	/* (o) broadcasts to out */
	const struct npu_tensor *act_param;	/* (o) [O] slopes of prelu */
	const struct npu_tensor *table;		/* (o) [256] */
	enum npu_act act;
	float act_alpha, act_beta;
	bool post;				/* post_mul and post_add are used */
	float post_mul, post_add;
	enum npu_join join;			/* NONE with a residual means ADD */
	enum npu_act act2;
	float act2_alpha, act2_beta;
};

struct npu_conv_args {
	const struct npu_tensor *out, *in;	/* [N, OH, OW, O], [N, H, W, C] */
	const struct npu_tensor *weight;	/* [O, KH, KW, C / groups] */
	const struct npu_tensor *w_zero;	/* (o) [O]; not for conv_transpose */
	uint32_t stride_h, stride_w, dil_h, dil_w, pad_top, pad_left, groups;
	struct npu_epilogue epilogue;
	uint32_t tag;
	/*
	 * (o) [1], of the type of in: its zero point, instead of in's own, which is 0; not for
	 * conv_transpose
	 */
	const struct npu_tensor *x_zero;
};

struct npu_matmul_args {
	const struct npu_tensor *out, *a, *b;	/* [.., M, N], [.., M, K], [.., K, N] */
	/* (o) grouped weights */
	const struct npu_tensor *group_scale, *group_min, *super_scale, *codebook;
	const struct npu_tensor *b_zero;	/* (o) [N] */
	const struct npu_tensor *a_scale;	/* (o) [.., M], or by groups of K with a_group */
	uint32_t group, super;
	struct npu_epilogue epilogue;
	uint32_t tag;
	/* (o) [1], of the type of a: its zero point, instead of a's own, which is 0 */
	const struct npu_tensor *a_zero;
	uint32_t a_group;			/* a_scale is [.., M, ceil(K / a_group)] */
};

struct npu_unary_args {
	const struct npu_tensor *out, *in;
	const struct npu_tensor *act_param;	/* (o) [last dim] */
	enum npu_unary func;
	/* after func; with func NPU_UNARY_COPY the activation alone */
	enum npu_act act;
	float act_alpha, act_beta;
	bool post;
	float post_mul, post_add;
	uint32_t tag;
};

struct npu_binary_args {
	/* the same rank; dims of a and b equal out's or are 1 */
	const struct npu_tensor *out, *a, *b;
	const struct npu_tensor *act_param;	/* (o) [last dim] */
	enum npu_binary func;
	enum npu_act act;
	float act_alpha, act_beta;
	bool post;
	float post_mul, post_add;
	uint32_t tag;
};

struct npu_select_args {
	const struct npu_tensor *out, *cond, *a, *b;
	uint32_t tag;
};

struct npu_reduce_args {
	const struct npu_tensor *out, *in;	/* the same rank, reduced dims 1 */
	enum npu_reduce func;
	uint32_t axes;				/* bit i: dim i */
	uint32_t tag;
};

struct npu_arg_reduce_args {
	const struct npu_tensor *out, *in;
	uint32_t axis;
	bool is_min, last;
	uint32_t tag;
};

struct npu_topk_args {
	const struct npu_tensor *values, *indices, *in;
	uint32_t axis;
	bool smallest;
	uint32_t tag;
};

struct npu_cumsum_args {
	const struct npu_tensor *out, *in;
	uint32_t axis;
	bool exclusive, reverse;
	uint32_t tag;
};

struct npu_softmax_args {
	const struct npu_tensor *out, *in;
	uint32_t axis;
	bool log;
	uint32_t tag;
};

struct npu_norm_args {
	const struct npu_tensor *out, *in;	/* [.., D] */
	const struct npu_tensor *gamma, *beta;	/* (o) [D] */
	/* (o) in + addend is normalized and stored to sum */
	const struct npu_tensor *addend, *sum;
	enum npu_norm kind;
	float eps;
	uint32_t tag;
};

struct npu_pool_args {
	const struct npu_tensor *out, *in;	/* [N, OH, OW, C], [N, H, W, C] */
	enum npu_pool kind;
	struct npu_len kernel_h, kernel_w;	/* may vary: global pooling of any size */
	uint32_t stride_h, stride_w, dil_h, dil_w, pad_top, pad_left, pad_bottom, pad_right;
	bool include_pad;
	uint32_t tag;
};

struct npu_resize_args {
	const struct npu_tensor *out, *in;	/* [N, OH, OW, C], [N, H, W, C] */
	enum npu_resize mode;
	enum npu_coord coord;
	enum npu_nearest nearest;
	float scale_h, scale_w;			/* output over input */
	float cubic_a;
	bool exclude_outside;
	uint32_t tag;
};

struct npu_crop_resize_args {
	const struct npu_tensor *out, *in;	/* [R, OH, OW, C], [N, H, W, C] */
	const struct npu_tensor *boxes;		/* [R, 4] */
	const struct npu_tensor *batch;		/* (o) [R] */
	float fill;
	uint32_t tag;
};

struct npu_copy_args {
	const struct npu_tensor *out, *in;
	uint32_t tag;
};

struct npu_fill_args {
	const struct npu_tensor *out;
	uint64_t bits;				/* of one element, as stored */
	uint32_t tag;
};

struct npu_pad_args {
	const struct npu_tensor *out, *in;
	enum npu_pad mode;
	int32_t before[NPU_MAX_RANK];		/* elements in front of each dim; negative crops */
	uint64_t bits;				/* of the constant, as stored */
	uint32_t tag;
};

struct npu_iota_args {
	const struct npu_tensor *out;
	uint32_t axis;
	float start, step;
	uint32_t tag;
};

struct npu_gather_args {
	/* [outer, count, inner], [outer, rows, inner], [count] */
	const struct npu_tensor *out, *in, *index;
	/* (o) quantized rows */
	const struct npu_tensor *group_scale, *group_min, *super_scale, *codebook;
	uint32_t group, super;
	uint32_t tag;
};

struct npu_gather_elements_args {
	const struct npu_tensor *out, *in, *index;
	uint32_t axis;
	uint32_t tag;
};

struct npu_scatter_args {
	/* [outer, rows, inner], [outer, count, inner], [count] */
	const struct npu_tensor *inout, *in, *index;
	enum npu_scatter join;
	bool skip;				/* index -1 skips the row */
	uint32_t tag;
};

struct npu_scatter_elements_args {
	const struct npu_tensor *inout, *in, *index;
	uint32_t axis;
	enum npu_scatter join;
	uint32_t tag;
};

struct npu_attention_args {
	const struct npu_tensor *out, *q;	/* [T, heads, DV], [T, heads, D] */
	/* [blocks, block size, kv_heads, D], the same with DV */
	const struct npu_tensor *k, *v;
	/* (o) */
	const struct npu_tensor *mask, *positions, *q_start, *kv_len, *block_table, *sinks;
	const struct npu_tensor *k_scale, *v_scale;
	struct npu_len batch;
	float scale;
	bool causal;
	uint32_t window;
	float soft_cap;
	uint32_t tag;
};

struct npu_rope_args {
	const struct npu_tensor *out, *in, *positions;	/* [T, heads, D] twice, [T] */
	const struct npu_tensor *factors, *cos_table, *sin_table;	/* (o) */
	uint32_t dims;
	enum npu_rope pairing;
	float base;
	float pos_scale, mscale;		/* 0 means 1 */
	uint32_t tag;
};

struct npu_dyn_quant_args {
	const struct npu_tensor *out, *scale;
	const struct npu_tensor *zero;		/* u8 per tensor only */
	const struct npu_tensor *in;
	uint32_t group;				/* 0: per tensor */
	uint32_t tag;
};

struct npu_color_args {
	const struct npu_tensor *out, *in;
	const struct npu_tensor *chroma;	/* NV12 only */
	const struct npu_tensor *matrix;	/* [18] */
	const struct npu_tensor *box;		/* [N, 4], pixels; absent: out is as large as in */
	enum npu_color format;
	float limit;				/* colours are clamped to 0 .. limit; 0: not */
	bool swap;				/* YUYV's pairs are UYVY's */
	uint32_t tag;
};

/* Clipped codes, added up over instructions and submits: whoever reads the counters zeroes them. */
struct npu_count_args {
	const struct npu_tensor *inout;		/* i64 [2] lowest, highest code; [3]: elements */
	const struct npu_tensor *in;		/* i8 or u8, any strides */
	uint32_t tag;
};

struct npu_marker_args {
	uint32_t value;
	uint32_t tag;
};

struct npu_timestamp_args {
	const struct npu_tensor *out;
	uint32_t tag;
};

struct npu_load_scalar_args {
	const struct npu_tensor *in;
	uint32_t index, min, max;
	uint32_t tag;
};

/*
 * Operators and their opcodes: X(name, OPCODE). conv_transpose takes struct npu_conv_args; the
 * others struct npu_<name>_args.
 */
#define NPU_EMITTERS(X)										\
	X(conv, CONV) X(conv_transpose, CONV_TRANSPOSE) X(matmul, MATMUL) X(unary, EWISE1)	\
	X(binary, EWISE2) X(select, SELECT) X(reduce, REDUCE) X(arg_reduce, ARG_REDUCE)		\
	X(topk, TOPK) X(cumsum, CUMSUM) X(softmax, SOFTMAX) X(norm, NORM) X(pool, POOL)		\
	X(resize, RESIZE) X(crop_resize, CROP_RESIZE) X(copy, COPY) X(fill, FILL) X(pad, PAD)	\
	X(iota, IOTA) X(gather, GATHER) X(gather_elements, GATHER_ELEMENTS)			\
	X(scatter, SCATTER) X(scatter_elements, SCATTER_ELEMENTS) X(attention, ATTENTION)	\
	X(rope, ROPE) X(dyn_quant, DYN_QUANT) X(color, COLOR) X(count, COUNT)			\
	X(marker, MARKER) X(timestamp, TIMESTAMP) X(load_scalar, LOAD_SCALAR)

#define npu_conv_transpose_args npu_conv_args
#define X(name, op) \
	int npu_emit_##name(struct npu_stream_builder *b, const struct npu_##name##_args *args);
NPU_EMITTERS(X)
#undef X

/**
 * npu_supports - whether the architecture can run an operator
 * @args: the struct of arguments of the opcode's npu_emit_<operator>()
 * @why: NULL, or where the reason goes
 *
 * The same check as emitting it, without a builder: pure, no allocation, about a microsecond.
 * Lengths must be constant; those that vary are asked about with npu_stream_dry_run(). Returns true
 * or false.
 */
bool npu_supports(enum npu_opcode opcode, const void *args, char *why, size_t size);

/**
 * npu_stream_dry_run - from now on check what is emitted but append nothing (or append again, with
 * false)
 */
void npu_stream_dry_run(struct npu_stream_builder *b, bool on);

/* ---- weights --------------------------------------------------------------------------------- */

/*
 * A weight outside of the panel layouts: element (batch, group, output of the group, kh, kw,
 * channel of the group) lies at the sum of index * stride, strides in elements, >= 0. A matrix has
 * kh = kw = 1, K channels and N outputs.
 */
struct npu_pack_shape {
	uint32_t batch, groups;
	uint32_t outputs;		/* of all groups; a multiple of groups */
	uint32_t kh, kw;
	uint32_t channels;		/* of one group */
	int64_t stride[6];
};

/**
 * Shapes of dense weights, by the order in which they lie in memory:
 * npu_pack_oihw - ONNX Conv [outputs][channels][kh][kw]
 * npu_pack_ohwi - TFLite and the NPU's own [outputs][kh][kw][channels]
 * npu_pack_iohw - ONNX ConvTranspose [groups * channels][outputs / groups][kh][kw]
 * npu_pack_kn, npu_pack_nk - matrices [batch][k][n] (ONNX MatMul) and [batch][n][k] (its transpose;
 * GGUF)
 */
void npu_pack_oihw(struct npu_pack_shape *s, uint32_t groups, uint32_t outputs, uint32_t channels,
		   uint32_t kh, uint32_t kw);
void npu_pack_ohwi(struct npu_pack_shape *s, uint32_t groups, uint32_t outputs, uint32_t kh,
		   uint32_t kw, uint32_t channels);
void npu_pack_iohw(struct npu_pack_shape *s, uint32_t groups, uint32_t outputs, uint32_t channels,
		   uint32_t kh, uint32_t kw);
void npu_pack_kn(struct npu_pack_shape *s, uint32_t batch, uint32_t k, uint32_t n);
void npu_pack_nk(struct npu_pack_shape *s, uint32_t batch, uint32_t n, uint32_t k);

/**
 * npu_pack_size - bytes of packed weights
 * @layout: PANEL16 (f32, f16, bf16), PANEL16K4 (i8, u8) or GROUPED16 (u8, u6, u5, u4)
 *
 * Returns 0, -EINVAL (layout, type, a zero in the shape, outputs that groups do not divide) or
 * -EOVERFLOW.
 */
int npu_pack_size(enum npu_layout layout, enum npu_dtype dtype, const struct npu_pack_shape *s,
		  size_t *bytes);

/**
 * npu_pack_weights - pack into a panel layout
 * @src_type: any float type for a float @type (rounded to nearest even); the same type for i8 and
 *	u8; u8, one code each, for u4 to u6 (codes beyond the type lose their upper bits)
 * @src_size: bytes that may be read at @src
 * @dst_size: exactly what npu_pack_size() gives
 *
 * Lanes that no output uses become zero. Returns 0, -EINVAL or -EOVERFLOW, and writes nothing then.
 */
int npu_pack_weights(enum npu_layout layout, const struct npu_pack_shape *s,
		     enum npu_dtype src_type, const void *src, size_t src_size, enum npu_dtype type,
		     void *dst, size_t dst_size);

/**
 * npu_unpack_weights - the inverse, for reading weights back; elements of @dst that the shape does
 * not reach stay as they are
 */
int npu_unpack_weights(enum npu_layout layout, const struct npu_pack_shape *s, enum npu_dtype type,
		       const void *src, size_t src_size, enum npu_dtype dst_type, void *dst,
		       size_t dst_size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
