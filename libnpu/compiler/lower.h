/* SPDX-License-Identifier: MIT */
/*
 * Lowering: from the canonical graph to a list of instructions on buffers.
 *
 * Every graph tensor becomes a view: a buffer with an offset and one stride per logical (ONNX
 * order) dimension. Operators that only rearrange addresses (Transpose, Reshape, Slice, Expand)
 * make a new view of the same buffer. Tensors of image operators lie channels-last in memory while
 * their logical order stays NCHW; the operator's lowering permutes the view into the order that the
 * instruction wants. See Documentation/compiler.md.
 */
#ifndef NPU_COMPILER_LOWER_H
#define NPU_COMPILER_LOWER_H

#include "compiler/dims.h"
#include "compiler/graph.h"
#include "compiler/poly.h"
#include "npu_compiler.h"
#include "npu_isa_desc.h"

/* ---- buffers and views ----------------------------------------------------------------------- */

enum npu_lbuf_kind {
	NPU_LBUF_SCRATCH,	/* planned: region 1, or 2 (on-chip memory) */
	NPU_LBUF_WEIGHT,	/* the whole weight section is one buffer */
	NPU_LBUF_INPUT,		/* model input @index */
	NPU_LBUF_OUTPUT,	/* model output @index */
	NPU_LBUF_STATE,		/* the counters of clipped values */
};

struct npu_lbuf {
	unsigned int id;
	enum npu_lbuf_kind kind;
	unsigned int index;
	uint64_t size;		/* bytes at the upper bound of every symbol */
	const char *name;	/* tensor that it was made for */

	/* filled in by the plan */
	/* shares the memory of this one (in place), NULL: stands for itself */
	struct npu_lbuf *same;
	int first, last;	/* instructions that use it; first > last: nobody */
	uint64_t traffic;	/* bytes read and written over all uses */
	bool on_chip;
	uint64_t offset;	/* in its region */
};

struct npu_lview {
	struct npu_lbuf *buf;
	enum npu_dtype dtype;
	enum npu_layout layout;
	/* of quantized data: value = (code - zero_point) * scale; 0: plain */
	float scale;
	int32_t zero_point;
	int rank;
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	/* bytes; of a dimension of size 1: anything */
	struct npu_poly stride[NPU_GRAPH_MAX_RANK];
	struct npu_poly offset;				/* bytes */
};

/* ---- instructions ---------------------------------------------------------------------------- */

/* An argument of a host step: dense, of the host's type @dtype. */
struct npu_lharg {
	const struct npu_gtensor *t;
	bool present;
	uint32_t dtype;			/* enum npu_dtype or enum npu_host_dtype */
	struct npu_lview view;		/* its dtype has the size of an element */
};

struct npu_lhost {
	const struct npu_gnode *node;
	unsigned int num_in, num_out;
	struct npu_lharg *arg;		/* inputs, then outputs */
};

struct npu_linsn {
	const struct npu_op_desc *desc;
	/* a step on the host, which has its arguments here and no operands; else NULL */
	const struct npu_lhost *host;
	struct npu_lview *operand[NPU_MAX_OPERANDS];	/* NULL: absent */
	uint32_t param[NPU_MAX_PARAMS];
	/* of LEN parameters; used instead of param when sym >= 0 */
	struct npu_dim len[NPU_MAX_PARAMS];
	const struct npu_gnode *node;
	unsigned int tag;
	/* counted as a layout conversion or a move */
	bool is_copy;
};

/* ---- where a tensor is ----------------------------------------------------------------------- */

struct npu_lvalue {
	bool ready;		/* view is valid */
	bool placed;		/* the producer must write exactly here */
	bool channels_last;	/* memory order of a tensor that is not placed */
	struct npu_lview view;
};

/* What became of a node. */
struct npu_lnode {
	const struct npu_gnode *node;
	enum npu_place place;
	unsigned int first_insn, num_insns;
	const char *reason;
};

struct npu_weights;

/* A tensor whose codes are counted, and the node that computes it. */
struct npu_lclip {
	const char *name;		/* of the copy of a float tensor in 8 bits: that tensor's */
	const struct npu_gtensor *t;
	const struct npu_gnode *node;
};

struct npu_lower {
	struct npu_graph *g;
	struct npu_arena *arena;	/* of everything below */
	struct npu_diag *diag;
	struct npu_weights *weights;	/* shared by the programs of a job */
	enum npu_precision precision;
	bool all_f16;			/* f16 even where the result is steep */
	/* outputs lie in the memory order of their tensors: for who counts values only */
	bool any_order;
	bool count_clips;		/* count clipped values of 8-bit activations, */
	bool count_all_clips;		/* of all of them, whatever it costs */
	struct npu_lclip *clip;		/* in the order of their counters */
	unsigned int num_clips, max_clips;
	/* activations that could be counted: how many, how many so far, how many should be */
	uint64_t clip_candidates, seen_clips, clip_budget;
	struct npu_lbuf *clip_buf;	/* i64 [num_clips][3], NULL: nothing is counted */
	bool *keep_f32;			/* by tensor id: stays f32 in an f16 job (precision.c) */
	/* the model's; passes may put another tensor in an output's place */
	const char *const *output_name;

	struct npu_lvalue *value;	/* by tensor id */
	struct npu_lbuf **bufs;
	unsigned int num_bufs, max_bufs;
	struct npu_lbuf *weight_buf;
	struct npu_lbuf **input_buf, **output_buf;
	struct npu_linsn **insns;
	unsigned int num_insns, max_insns;
	struct npu_lnode *nodes;	/* one per graph node, in order */
	struct npu_lnode *cur;		/* the one being lowered */
	unsigned int num_tensors;
};

/**
 * npu_lower_graph - make the instructions of a program
 *
 * Every node that cannot be lowered is reported in l->diag and the rest is still looked at. Returns
 * 0, -EOPNOTSUPP when a node was refused, -ENOMEM or -EINVAL.
 */
int npu_lower_graph(struct npu_lower *l);

/*
 * Choose memory orders and let producers write where their consumers want the data; before
 * lowering.
 */
int npu_layout_choose(struct npu_lower *l);

/* ---- views (view.c) -------------------------------------------------------------------------- */

/* The view with its dimensions in the order @perm. */
void npu_lview_permute(const struct npu_lview *v, const int *perm, struct npu_lview *out);
/* The same elements with other dimensions, or -EDOM when strides cannot say it. */
int npu_lview_reshape(const struct npu_lower *l, const struct npu_lview *v,
		      const struct npu_dim *dim, int rank, struct npu_lview *out);
/* Elements start, start + step, ... of every dimension (steps > 0). */
int npu_lview_slice(const struct npu_lview *v, const struct npu_dim *start, const int64_t *step,
		    const struct npu_dim *dim, struct npu_lview *out);
/* Leading dimensions of size 1 up to @rank, then stride 0 where @dim is larger. */
int npu_lview_expand(const struct npu_lview *v, const struct npu_dim *dim, int rank,
		     struct npu_lview *out);
/* Only the leading dimensions of size 1; out's sizes stay. */
void npu_lview_extend(const struct npu_lview *v, int rank, struct npu_lview *out);
void npu_lview_insert(struct npu_lview *v, int at);	/* a dimension of size 1 */
void npu_lview_drop(struct npu_lview *v, int at);	/* one of size 1 */
/*
 * Dense strides for the memory order @order (order[0] outermost; NULL: logical order). A stride
 * that would be a product of two run-time lengths is, with @pad, constant at its bound: the device
 * checks what is written for every combination of lengths, and a product is one more length to it.
 */
int npu_lview_dense(const struct npu_lower *l, struct npu_lview *v, const int *order, bool pad);
bool npu_lview_same_place(const struct npu_lview *a, const struct npu_lview *b);
/* Equal bits mean the same: type, scale and zero point agree. */
bool npu_lview_same_elem(const struct npu_lview *a, const struct npu_lview *b);

/* Instructions compute in f32 with it: floats and quantized data. */
static inline bool npu_lview_is_real(const struct npu_lview *v)
{
	return npu_dtype_is_float(v->dtype) || v->scale != 0;
}
/* of the elements, at the bound */
int64_t npu_lview_bytes(const struct npu_lower *l, const struct npu_lview *v);

/*
 * Bring the dimensions of an element-wise instruction into the memory order of @view[0] and merge
 * what can be merged. All views have the same rank with dims equal to view[0]'s or 1. @keep_last:
 * the last logical dimension @channel becomes the last of the instruction and is not merged
 * (channel < 0: none).
 */
void npu_lview_canonical(const struct npu_lower *l, struct npu_lview **view, unsigned int count,
			 int channel);

/* perm: the dimensions of @v from the outermost in memory to the innermost. */
void npu_lview_order(const struct npu_lower *l, const struct npu_lview *v, int *perm);

/* ---- for the lowerings (lower.c) ------------------------------------------------------------- */

struct npu_lbuf *npu_lower_buf(struct npu_lower *l, enum npu_lbuf_kind kind, uint64_t size,
			       const char *name);

/*
 * Where tensor @t is; constants are put into the weight section. -EOPNOTSUPP (reported) when it
 * cannot be read.
 */
int npu_lower_in(struct npu_lower *l, struct npu_gtensor *t, struct npu_lview *out);
/* A constant with elements of type @dtype. */
int npu_lower_const(struct npu_lower *l, const struct npu_gtensor *t, enum npu_dtype dtype,
		    struct npu_lview *out);
/* The type that npu_lower_in() stores constant @t as. */
enum npu_dtype npu_lower_const_dtype(const struct npu_lower *l, const struct npu_gtensor *t);
/* Fill in keep_f32. */
int npu_precision_choose(struct npu_lower *l);

/* An f32 vector [count] of the weight section. */
int npu_lower_vector(struct npu_lower *l, const float *data, size_t count, struct npu_lview *out);
/* One element, rank 0. */
int npu_lower_scalar(struct npu_lower *l, enum npu_dtype dtype, double value,
		     struct npu_lview *out);
/* The same with the type and the quantization of @like. */
int npu_lower_scalar_like(struct npu_lower *l, const struct npu_lview *like, double value,
			  struct npu_lview *out);
/*
 * Where the node's output @t must be written: placed by a consumer, or a new buffer in its memory
 * order.
 */
int npu_lower_out(struct npu_lower *l, struct npu_gtensor *t, struct npu_lview *out);
/*
 * The same for an instruction that must write elements like those of @like (type, scale, zero
 * point): when @t has others, or was placed as others, @out is a temporary that npu_lower_finish()
 * copies to its place.
 */
int npu_lower_out_like(struct npu_lower *l, struct npu_gtensor *t, const struct npu_lview *like,
		       struct npu_lview *out);
int npu_lower_finish(struct npu_lower *l, struct npu_gtensor *t, const struct npu_lview *out);
/*
 * The same for an instruction that writes floats only, when @t may be quantized; npu_lower_finish()
 * is needed.
 */
int npu_lower_out_float(struct npu_lower *l, struct npu_gtensor *t, struct npu_lview *out);
/* A new dense buffer that is nobody's output. */
int npu_lower_temp(struct npu_lower *l, const struct npu_dim *dim, int rank, enum npu_dtype dtype,
		   struct npu_lview *out);
/* The same with the type and the quantization of @like. */
int npu_lower_temp_like(struct npu_lower *l, const struct npu_dim *dim, int rank,
			const struct npu_lview *like, struct npu_lview *out);
/*
 * For an instruction that takes floats only: quantized data is copied to the program's float type,
 * in the memory order that it has.
 */
int npu_lower_as_float(struct npu_lower *l, struct npu_lview *v);
/*
 * Tensor @t is this view (an alias of something that exists). Copies when @t was placed elsewhere.
 */
int npu_lower_alias(struct npu_lower *l, struct npu_gtensor *t, const struct npu_lview *view);

/* NULL: no memory */
struct npu_linsn *npu_lower_insn(struct npu_lower *l, enum npu_opcode op);
int npu_linsn_operand(struct npu_lower *l, struct npu_linsn *insn, unsigned int slot,
		      const struct npu_lview *view);
static inline void npu_linsn_param(struct npu_linsn *insn, unsigned int i, uint32_t v)
{
	insn->param[i] = v;
}
void npu_linsn_float(struct npu_linsn *insn, unsigned int i, float v);
/* Parameters VALUE_LO, VALUE_HI: the bits that @value has when it is stored like @like. */
void npu_linsn_bits(struct npu_linsn *insn, unsigned int lo, const struct npu_lview *like,
		    double value);

/* COPY @in to @out (same logical dims; in's may be 1). @why is what the report says. */
int npu_lower_copy(struct npu_lower *l, const struct npu_lview *out, const struct npu_lview *in,
		   const char *why);
/* FILL @out with the value. */
int npu_lower_fill(struct npu_lower *l, const struct npu_lview *out, double value);

/* Refuse the node being lowered; returns -EOPNOTSUPP. */
__attribute__((format(printf, 3, 4)))
int npu_lower_refuse(struct npu_lower *l, const char *attr, const char *fmt, ...);
/* Add to what the report says about the node. */
__attribute__((format(printf, 2, 3)))
void npu_lower_note(struct npu_lower *l, const char *fmt, ...);

/* Type in memory of a graph tensor; NPU_NONE when the device has none. */
enum npu_dtype npu_lower_dtype(const struct npu_lower *l, const struct npu_gtensor *t);
/* The same for what users see of it: f32 of the model stays f32 whatever the precision. */
enum npu_dtype npu_lower_user_dtype(const struct npu_lower *l, const struct npu_gtensor *t);
/* Type, quantization and dims of @t stored as @dtype; no buffer, no strides. */
void npu_lview_of(const struct npu_gtensor *t, enum npu_dtype dtype, struct npu_lview *v);

/* ---- activations (lower_act.c) --------------------------------------------------------------- */

struct npu_lint;

/*
 * The device's form of a graph activation: v = act(v) * mul + add. -EOPNOTSUPP: needs instructions
 * of its own.
 */
struct npu_lact {
	enum npu_act act;
	float alpha, beta;
	float mul, add;
};
int npu_lact_map(const struct npu_gact *a, struct npu_lact *out);

/*
 * Bias and epilogue of node @n for CONV, CONV_TRANSPOSE or MATMUL: slots from @slot (BIAS) on,
 * parameters from @param (ACT) on. @perm brings the logical order of the output into the
 * instruction's (NULL: as it is); @channels is the size of its last dimension and @axis that
 * dimension's logical place. @li: the accumulator's integer side, when that is on. The result's
 * operand is there already.
 */
int npu_lower_epilogue(struct npu_lower *l, struct npu_linsn *insn, struct npu_gnode *n,
		       unsigned int slot, unsigned int param, const int *perm, int axis,
		       int64_t channels, const struct npu_lint *li);
/*
 * Slopes of PRelu as an f32 vector when they differ along logical dimension @axis of @out only,
 * else -EDOM.
 */
int npu_lower_slope(struct npu_lower *l, const struct npu_gtensor *slope,
		    const struct npu_gtensor *out, int axis, struct npu_lview *view);

/* One EWISE1 or EWISE2; views in logical order. @act may be NULL. */
int npu_lower_ewise1(struct npu_lower *l, const struct npu_lview *out, const struct npu_lview *in,
		     enum npu_unary func, const struct npu_lact *act);
int npu_lower_ewise2(struct npu_lower *l, const struct npu_lview *out, const struct npu_lview *a,
		     const struct npu_lview *b, enum npu_binary func, const struct npu_lact *act);
/*
 * The activation in node->ep.act of an element-wise node, or an empty one; refuses what an
 * instruction cannot carry.
 */
int npu_lower_node_act(struct npu_lower *l, const struct npu_gnode *n, struct npu_lact *act);

/*
 * REDUCE over the logical dimensions in the bit mask @axes; same rank on both sides
 * (lower_reduce.c).
 */
int npu_lower_reduce_view(struct npu_lower *l, const struct npu_lview *out,
			  const struct npu_lview *in, enum npu_reduce func, uint32_t axes);
/* @out = rows of @in along @axis, picked by the indices in tensor @index (lower_index.c). */
int npu_lower_gather_rows(struct npu_lower *l, const struct npu_lview *out,
			  const struct npu_lview *in, struct npu_gtensor *index, int axis);

/*
 * Counters of clipped values (lower_clip.c): begin before the first node, then behind each node.
 */
int npu_lower_clip_begin(struct npu_lower *l);
int npu_lower_clip(struct npu_lower *l, const struct npu_gnode *n);

/* ---- places (layout.c) ----------------------------------------------------------------------- */

/*
 * Channels last: the logical dimensions of an image of @rank from the outermost in memory to the
 * innermost; NULL: it is none.
 */
const int *npu_layout_channels_last(int rank);

/*
 * Where part @k of Concat node @n lies in its result. @at is where it starts along the axis and
 * goes on to the next part: start at 0 and ask for the parts in order. -EDOM once a start mixes
 * lengths.
 */
int npu_layout_part(const struct npu_gnode *n, const struct npu_lview *whole, unsigned int k,
		    struct npu_dim *at, struct npu_lview *out);
/* The same for the input of a Pad with constants along one dimension; false for other Pads. */
bool npu_layout_pad_part(const struct npu_gnode *n, const struct npu_lview *whole,
			 struct npu_lview *out);

/* ---- one lowering per operator family -------------------------------------------------------- */

typedef int (*npu_lower_fn)(struct npu_lower *l, struct npu_gnode *n);

int npu_lower_conv(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_conv_transpose(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_matmul(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_activation(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_unary(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_binary(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_where(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_cast(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_reduce(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_arg(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_topk(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_cumsum(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_softmax(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_norm(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_instance_norm(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_lrn(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_lp_norm(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_pool(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_global_pool(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_resize(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_camera(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_reshape(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_transpose(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_slice(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_concat(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_pad(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_expand(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_tile(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_depth_space(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_gather(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_gather_elements(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_scatter_elements(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_trilu(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_one_hot(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_hardmax(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_constant_of_shape(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_range(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_quantize(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_dequantize(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_dynamic_quantize(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_conv_integer(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_matmul_integer(struct npu_lower *l, struct npu_gnode *n);
int npu_lower_host(struct npu_lower *l, struct npu_gnode *n);
/* What elements of @type lie in memory as: a device's type of the same size when it has no own. */
enum npu_dtype npu_lower_host_dtype(enum npu_gtype type);

/* ---- the operator table (constraints.c) ------------------------------------------------------ */

/* Memory order that an operator's image tensors want. */
enum npu_op_layout {
	NPU_OL_ANY,		/* follows its inputs */
	NPU_OL_IMAGE,		/* channels last */
	NPU_OL_NATURAL,		/* logical order */
	NPU_OL_VIEW,		/* addresses only */
};

struct npu_op_rule {
	enum npu_gop op;
	npu_lower_fn lower;	/* NULL: gone after optimization, or refused when @insns is "" */
	enum npu_op_layout layout;
	bool retypes;		/* may write its result in another float type than its inputs' */
	/* the result of an f16 job stays f32: its range or its small differences matter */
	bool wide;
	const char *insns;
	const char *limits;
};

const struct npu_op_rule *npu_op_rule(enum npu_gop op);

#endif
