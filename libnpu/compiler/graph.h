/* SPDX-License-Identifier: MIT */
/*
 * The compiler's graph: ONNX (or GGUF) operators on tensors with linear symbolic dimensions.
 *
 * An importer makes a graph, npu_graph_bind_shape() gives the inputs their shapes,
 * npu_graph_optimize() brings it to the canonical form below, the lowering reads that form.
 * Everything a graph points to lives in its arena and dies with npu_graph_free(). A graph belongs
 * to one thread at a time; there is no global state.
 *
 * Canonical form after npu_graph_optimize() (what the lowering may rely on):
 *  - nodes are in topological order, none is dead, every tensor has its type and shape;
 *  - Constant, Identity, Dropout, Shape, Flatten, Squeeze, Unsqueeze, Split, Sum, Mean, Upsample,
 *    Gemm and inference-mode BatchNormalization are gone: constants are tensors with data, the
 *    reshapes are Reshape with ONE input (the target is the output's shape), Split is several
 *    Slice, Upsample is Resize, Gemm is MatMul;
 *  - variadic Max and Min have two inputs; x / c with a constant power of two c is Mul, x - c is
 *   Add;
 *  - every activation (Relu, Clip, Sigmoid, HardSwish, PRelu, Gelu, ... and recovered patterns) is
 *    NPU_GOP_Activation with its kind in node->ep.act, or part of the epilogue of the node before
 *    it;
 *  - Conv, ConvTranspose, pools: `kernel_shape`, `strides`, `pads` (begin..., end...), `dilations`,
 *    `group` are all present and explicit (auto_pad is resolved; ceil_mode is in the output's
 *    shape, pads may be exceeded at the end); rank 3 (1-D) or 4 (2-D), 5 only if the model has it.
 *    W of Conv is [M, C/group, k...], of ConvTranspose [C, M/group, k...]; bias is inputs[2] or
 *    NULL;
 *  - MatMul: inputs A [..., M, K], B [..., K, N], optional inputs[2] = bias f32 [N]; int attributes
 *    `transA`, `transB` (default 0) say that the last two dimensions are stored the other way
 *    round;
 *  - Softmax, LogSoftmax: `axis` >= 0, one axis (the old flattening form is rewritten with
 *   Reshape);
 *  - Reduce*: ints `axes` (>= 0, ascending, never empty), `keepdims`; one input. Mean over all of
 *    H, W of a rank 4 tensor with keepdims is GlobalAveragePool;
 *  - Slice: dims `starts` and ints `steps`, both of full rank, one input; the lengths are the
 *   output's shape;
 *  - Pad: ints `pads` (2 * rank), string `mode`, float `value`, one input. Transpose: full `perm`.
 *   Tile: `repeats`;
 *  - Resize: floats `scales` of full rank (output = input * scale as the model states it; out/in
 *    when it gave sizes), `mode`, `coordinate_transformation_mode`, `nearest_mode`,
 *    `cubic_coeff_a`, `exclude_outside`, `extrapolation_value`; one input;
 *  - Expand: one input, target = output's shape. TopK: int `k`, one input. `axis` is >= 0
 *   everywhere;
 *  - QLinear operators are gone. A tensor between QuantizeLinear and DequantizeLinear has its quant
 *    and nodes read and write it; the two are left where scales run along an axis or readers
 *    disagree, and Cast between a quantized tensor and others quantizes. ConvInteger and
 *    MatMulInteger have the scale of a real result as inputs[4], and inputs[5], a constant along
 *    the outputs, as their residual;
 *  - an output of the graph may be an input, a constant, or listed twice: output_names[] has the
 *   model's names.
 */
#ifndef NPU_COMPILER_GRAPH_H
#define NPU_COMPILER_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compiler/arena.h"
#include "npu_host.h"

#define NPU_GRAPH_MAX_RANK	8
#define NPU_GRAPH_MAX_SYMS	16

/* ---- diagnostics ----------------------------------------------------------------------------- */

enum npu_diag_level {
	NPU_DIAG_ERROR,
	NPU_DIAG_WARNING,
	NPU_DIAG_NOTE,
};

struct npu_diag_entry {
	/* names of the model nodes that the node stands for; NULL when it exists by name only */
	const char *const *sources;
	unsigned int num_sources;
	enum npu_diag_level level;
	int err;		/* negative errno for errors */
	const char *node;	/* model node, "" when it is about the file */
	const char *op;		/* ONNX operator, "" when unknown */
	const char *attr;	/* attribute, input or field concerned, "" when none */
	const char *text;	/* what is wrong and what was expected */
};

/**
 * struct npu_diag - a list of findings; all refused nodes of a model are reported together
 *
 * Zero-initialise, free with npu_diag_fini(). After NPU_DIAG_MAX entries only the count grows.
 */
#define NPU_DIAG_MAX	1000
struct npu_diag {
	struct npu_arena arena;
	struct npu_diag_entry *entry;
	unsigned int count, capacity;
	unsigned int errors;	/* all of them, also those not kept */
	const char *path;	/* model file, prefixed to the text; may be NULL; not owned */
	char *text;		/* npu_diag_text()'s buffer */
};

struct npu_gnode;

/**
 * npu_diag_add - record an error about the file as a whole; returns @err so that callers can
 * `return npu_diag_add()`
 */
__attribute__((format(printf, 4, 5)))
int npu_diag_add(struct npu_diag *diag, int err, const char *attr, const char *fmt, ...);

/**
 * npu_diag_node - record an error about one node (@attr: the attribute or input, or NULL); returns
 * @err
 */
__attribute__((format(printf, 5, 6)))
int npu_diag_node(struct npu_diag *diag, int err, const struct npu_gnode *node, const char *attr,
		  const char *fmt, ...);

/** npu_diag_named - the same for a node that exists by name only */
__attribute__((format(printf, 6, 7))) int npu_diag_named(struct npu_diag *diag,
							 enum npu_diag_level level, int err,
							 const char *node, const char *op,
							 const char *fmt, ...);

struct npu_graph;

/**
 * npu_refuse_rest - after a node was refused before lowering: report all others whose operator is
 * not supported as well
 */
void npu_refuse_rest(const struct npu_graph *g, struct npu_diag *diag);

/**
 * npu_diag_text - all entries, one per line; valid until the next call or npu_diag_fini(). Never
 * NULL.
 */
const char *npu_diag_text(struct npu_diag *diag);
void npu_diag_fini(struct npu_diag *diag);

/* ---- dimensions and symbols ------------------------------------------------------------------ */

/**
 * struct npu_dim - a linear dimension: base + factor * s
 * @sym: index of the symbol whose scalar is s, NPU_DIM_CONST (factor is 0) or NPU_DIM_UNKNOWN
 */
struct npu_dim {
	int64_t base, factor;
	int sym;
};
#define NPU_DIM_CONST	(-1)
#define NPU_DIM_UNKNOWN	(-2)

/** struct npu_symbol - a named run-time size: value = step * s with smin <= s <= smax */
struct npu_symbol {
	const char *name;
	int64_t min, max, step;	/* of the value; min and max are multiples of step */
	int64_t smin, smax;	/* of the scalar s */
	bool stride;		/* bytes from row to row of an input, not a length */
};

static inline struct npu_dim npu_dim_const(int64_t v)
{
	return (struct npu_dim){ v, 0, NPU_DIM_CONST };
}

static inline bool npu_dim_is_const(struct npu_dim d)
{
	return d.sym == NPU_DIM_CONST;
}

static inline bool npu_dim_equal(struct npu_dim a, struct npu_dim b)
{
	return a.sym != NPU_DIM_UNKNOWN && a.sym == b.sym && a.base == b.base &&
	       a.factor == b.factor;
}

/*
 * Value at given scalars (s of every symbol); dimensions that entered a graph cannot overflow
 * within the bounds.
 */
static inline int64_t npu_dim_eval(struct npu_dim d, const int64_t *scalars)
{
	return d.sym >= 0 ? d.base + d.factor * scalars[d.sym] : d.base;
}

/* ---- tensors --------------------------------------------------------------------------------- */

enum npu_gtype {
	NPU_GT_NONE,
	NPU_GT_F32,
	NPU_GT_F16,
	NPU_GT_BF16,
	NPU_GT_I8,
	NPU_GT_U8,
	NPU_GT_I32,
	NPU_GT_I64,
	NPU_GT_BOOL,
	/* import only: a node that computes in one of these is refused or goes to the host */
	NPU_GT_F64,
	NPU_GT_I16,
	NPU_GT_U16,
	NPU_GT_U32,
	NPU_GT_U64,
	NPU_GT_STRING,
	NPU_GT_COUNT,
};

/* bytes per element; 0 for string and none */
size_t npu_gtype_size(enum npu_gtype type);
const char *npu_gtype_name(enum npu_gtype type);	/* "f32", ... */

/**
 * struct npu_gquant - what the codes of an 8-bit tensor (or of an i32 bias) stand for
 * @scale: of the whole tensor, finite and > 0; value = (code - @zero) * @scale
 * @axis: -1, or the dimension along which @ch_scale and @ch_zero (NULL: all 0) hold instead, one
 *	  entry per index; constants only
 * @chosen: by the compiler, so that what is rounded to these codes need not be exact; else the
 *	  model's, and results are expected to be the same codes everywhere
 *
 * Never changed once a tensor has it, so that tensors may share one.
 */
struct npu_gquant {
	float scale;
	int32_t zero;
	int axis;
	bool chosen;
	unsigned int count;		/* entries of the arrays */
	const float *ch_scale;
	const int32_t *ch_zero;
};

struct npu_gtensor {
	unsigned int id;
	const char *name;		/* unique in the graph */
	enum npu_gtype type;
	/* i8, u8, or i32 that stand for real numbers; NULL: plain, whatever the type is */
	const struct npu_gquant *quant;
	int rank;			/* 0..NPU_GRAPH_MAX_RANK; -1 = not inferred yet */
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];

	/* constant: dense little-endian elements in row-major order; NULL otherwise */
	const void *data;
	size_t size;			/* bytes of data */

	/* integer content that is known as linear forms (shape arithmetic), or NULL */
	struct npu_dim *value;
	size_t num_values;

	/* dims are upper bounds, the data give the real ones; only host steps read such a tensor */
	bool bounded;

	struct npu_gnode *producer;	/* NULL for inputs and constants */
	struct npu_gnode **consumer;	/* one entry per use */
	unsigned int num_consumers, max_consumers;
	bool is_input, is_output;
	/*
	 * of an input that is a plane of a frame, u8 [rows][bytes]: from row to row;
	 * factor and base 0: dense
	 */
	struct npu_dim pitch;
};

static inline bool npu_gtensor_is_const(const struct npu_gtensor *t)
{
	return t && t->data;
}

/* shape known and without symbols */
bool npu_gtensor_is_static(const struct npu_gtensor *t);
int64_t npu_gtensor_elems(const struct npu_gtensor *t, const int64_t *scalars);
/* of a static tensor; -1 otherwise */
int64_t npu_gtensor_const_elems(const struct npu_gtensor *t);

/**
 * npu_gtensor_scalar - value of a constant tensor with exactly one element, any numeric type; false
 * when it is not
 */
bool npu_gtensor_scalar(const struct npu_gtensor *t, double *value);

/**
 * npu_gtensor_elem - element @i of a numeric constant as double (i64 beyond 2^53 rounds); of a
 * quantized one the real number, computed in f32
 * npu_gtensor_elem_int - as integer, floats truncated; of a quantized one the code
 */
double npu_gtensor_elem(const struct npu_gtensor *t, size_t i);
int64_t npu_gtensor_elem_int(const struct npu_gtensor *t, size_t i);

/* ---- quantization (quant.c) ------------------------------------------------------------------ */

/**
 * npu_graph_quant - quantization of a whole tensor, as the model says; NULL: no memory
 * npu_graph_quant_chosen - the same, as the compiler chose it
 * npu_graph_quant_axis - along dimension @axis; @zero may be NULL; the arrays are copied
 */
const struct npu_gquant *npu_graph_quant(struct npu_graph *g, float scale, int32_t zero);
const struct npu_gquant *npu_graph_quant_chosen(struct npu_graph *g, float scale, int32_t zero);
const struct npu_gquant *npu_graph_quant_axis(struct npu_graph *g, int axis, unsigned int count,
					      const float *scale, const int32_t *zero);

/* The same codes stand for the same numbers; NULL is equal to NULL only. */
bool npu_gquant_equal(const struct npu_gquant *a, const struct npu_gquant *b);
/* Scale and zero point at index @i of the axis; of a whole tensor the same for every @i. */
float npu_gquant_scale(const struct npu_gquant *q, size_t i);
int32_t npu_gquant_zero(const struct npu_gquant *q, size_t i);
/* Of element @i of @t, in row-major order. */
size_t npu_gquant_index(const struct npu_gtensor *t, size_t i);

/*
 * What QuantizeLinear or DequantizeLinear @n says. NULL: scale or zero point is no constant, or no
 * memory.
 */
const struct npu_gquant *npu_gnode_quant(struct npu_graph *g, const struct npu_gnode *n);

/* Floats and quantized tensors: what nodes compute with real numbers. */
bool npu_gtensor_is_real(const struct npu_gtensor *t);

/* ---- operators ------------------------------------------------------------------------------- */

enum npu_gop_family {
	NPU_GF_CONV,
	NPU_GF_POOL,
	NPU_GF_MATMUL,
	NPU_GF_UNARY,
	NPU_GF_ACT,
	NPU_GF_BINARY,
	NPU_GF_VARIADIC,
	NPU_GF_COMPARE,
	NPU_GF_LOGIC,
	NPU_GF_SELECT,
	NPU_GF_REDUCE,
	NPU_GF_ARG,
	NPU_GF_SOFTMAX,
	NPU_GF_NORM,
	NPU_GF_RESHAPE,
	NPU_GF_MOVE,
	NPU_GF_INDEX,
	NPU_GF_RESIZE,
	NPU_GF_SHAPEINFO,
	NPU_GF_CAST,
	NPU_GF_QUANT,
	NPU_GF_QCONV,
	NPU_GF_RNN,
	NPU_GF_HOST,	/* shapes and folding are the host operator's */
	NPU_GF_CONTROL,
	NPU_GF_OTHER,
};

enum npu_gop {
	NPU_GOP_NONE,
#define NPU_GOP(name, domain, since, in_min, in_max, out_min, out_max, family, attrs) \
	NPU_GOP_##name,
#include "compiler/ops.def"
#undef NPU_GOP
	NPU_GOP_COUNT,
};

struct npu_gop_info {
	const char *name;	/* ONNX name */
	const char *domain;	/* "" = ai.onnx, "com.microsoft", or "npu" for internal ones */
	int since;
	int in_min, in_max, out_min, out_max;	/* max -1: any number */
	enum npu_gop_family family;
	const char *attrs;	/* "name:t ...", t one of i f s t I F S; what an importer accepts */
};

const struct npu_gop_info *npu_gop_info(enum npu_gop op);
struct npu_gnode;
/* What the model calls the node's operator. */
const char *npu_gnode_op_name(const struct npu_gnode *n);
enum npu_gop npu_gop_find(const char *domain, const char *name);

/*
 * One row of onnx_ops.def. @why_not: what the operator is, when the stack has nothing for its kind;
 * "" else.
 */
struct npu_onnx_op {
	const char *domain, *name;
	int since;
	const char *why_not;
};

const struct npu_onnx_op *npu_onnx_op(unsigned int i);	/* NULL past the end */
const struct npu_onnx_op *npu_onnx_op_find(const char *domain, const char *name);

/* ---- epilogue -------------------------------------------------------------------------------- */

enum npu_act_kind {
	NPU_GA_NONE,
	NPU_GA_RELU,
	NPU_GA_CLIP,		/* min(max(v, a), b); relu6 is clip(0, 6); a or b may be infinite */
	NPU_GA_LEAKY,		/* v < 0 ? a * v : v */
	/* v < 0 ? slope[c] * v : v; slope = inputs[act.slope], f32, broadcastable to the output */
	NPU_GA_PRELU,
	NPU_GA_SIGMOID,
	NPU_GA_TANH,
	NPU_GA_HARDSIGMOID,	/* max(0, min(1, a * v + b)) */
	/* v * max(0, min(1, a * v + b)); a = 1/6, b = 0.5 in ONNX's operator */
	NPU_GA_HARDSWISH,
	NPU_GA_SILU,		/* v * sigmoid(v) */
	NPU_GA_GELU_ERF,
	NPU_GA_GELU_TANH,
	NPU_GA_ELU,		/* v < 0 ? a * (exp(v) - 1) : v */
	NPU_GA_SELU,		/* b * (v < 0 ? a * (exp(v) - 1) : v) */
	NPU_GA_CELU,		/* max(0, v) + min(0, a * (exp(v / a) - 1)) */
	NPU_GA_SOFTPLUS,
	NPU_GA_SOFTSIGN,
	NPU_GA_MISH,
	NPU_GA_THRESHOLD,	/* ThresholdedRelu: v > a ? v : 0 */
	NPU_GA_COUNT,
};

/* npu_gact: uapi/npu_isa.h has the device's enum npu_act and npu_act_name(). */
const char *npu_gact_name(enum npu_act_kind kind);

struct npu_gact {
	enum npu_act_kind kind;
	float a, b;
	int slope;		/* index into node->inputs, -1 when not PRELU */
};

enum npu_residual_op {
	NPU_GR_NONE,
	NPU_GR_ADD,
	NPU_GR_MUL,
};

/**
 * struct npu_gepilogue - what happens to a result before it is stored, in this order:
 * v = acc + bias; v = act(v); v = fma(v, post_mul, post_add); v = v (add|mul) residual; v = act2(v)
 *
 * Conv, ConvTranspose and MatMul may use all of it; NPU_GOP_Activation, element-wise, pooling and
 * normalisation nodes use act only. The residual is computed by another node (or an input), never a
 * constant but behind ConvInteger and MatMulInteger, and has exactly the output's shape; both are
 * real numbers.
 */
struct npu_gepilogue {
	struct npu_gact act;
	bool has_affine;
	float post_mul, post_add;
	enum npu_residual_op res_op;
	int res;		/* index into node->inputs, -1 when none */
	struct npu_gact act2;
};

/* ---- nodes ----------------------------------------------------------------------------------- */

enum npu_attr_type {
	NPU_ATTR_INT,
	NPU_ATTR_FLOAT,
	NPU_ATTR_STRING,
	NPU_ATTR_TENSOR,
	NPU_ATTR_INTS,
	NPU_ATTR_FLOATS,
	NPU_ATTR_STRINGS,
	NPU_ATTR_DIMS,
};

struct npu_attr {
	const char *name;
	enum npu_attr_type type;
	int64_t i;
	float f;
	const char *s;
	struct npu_gtensor *t;		/* constant, not listed in the graph */
	size_t count;			/* of the arrays below */
	const int64_t *ints;
	const float *floats;
	const char *const *strings;
	const struct npu_dim *dims;
};

/**
 * struct npu_ghost - what a node of NPU_GOP_Host runs; its inputs and attributes are the model's,
 * as they were before shape inference resolved anything
 * @domain, @name: of the operator in the model
 * @reason: why it is not on the NPU: attribute, input, type or operator
 * @types: element types of the inputs, then the outputs, as the operator has them; tensors may have
 *	been given others since
 */
struct npu_ghost {
	const struct npu_host_op *op;
	const char *domain, *name, *reason;
	const enum npu_gtype *types;
};

struct npu_gnode {
	unsigned int id;
	enum npu_gop op;
	/* what the model called it, for messages; op may have been rewritten */
	enum npu_gop model_op;
	int opset;			/* version of the operator set the node was written for */
	const char *name;		/* unique; made up when the model's was empty */
	struct npu_gtensor **inputs;	/* NULL entry = absent optional input */
	unsigned int num_inputs;
	struct npu_gtensor **outputs;	/* NULL entry = unused optional output, never the first */
	unsigned int num_outputs;
	struct npu_attr *attrs;
	unsigned int num_attrs, max_attrs;
	struct npu_gepilogue ep;
	const struct npu_ghost *host;	/* of NPU_GOP_Host, else NULL */
	const struct npu_gimage *image;	/* of NPU_GOP_Camera, else NULL */
	/* names of the model's nodes this one stands for, in execution order */
	const char **sources;
	unsigned int num_sources;
	bool dead;			/* removed; dropped from the array at the end of the pass */
	unsigned int mark;		/* scratch of the pass that runs */
};

static inline struct npu_gtensor *npu_gnode_in(const struct npu_gnode *n, unsigned int i)
{
	return i < n->num_inputs ? n->inputs[i] : NULL;
}

static inline const struct npu_gop_info *npu_gnode_info(const struct npu_gnode *n)
{
	return npu_gop_info(n->op);
}

/* Attribute access; the default is returned when the attribute is absent or of another type. */
const struct npu_attr *npu_gnode_attr(const struct npu_gnode *n, const char *name);
int64_t npu_gnode_int(const struct npu_gnode *n, const char *name, int64_t def);
float npu_gnode_float(const struct npu_gnode *n, const char *name, float def);
const char *npu_gnode_string(const struct npu_gnode *n, const char *name, const char *def);
const int64_t *npu_gnode_ints(const struct npu_gnode *n, const char *name, size_t *count);
const float *npu_gnode_floats(const struct npu_gnode *n, const char *name, size_t *count);
const struct npu_dim *npu_gnode_dims(const struct npu_gnode *n, const char *name, size_t *count);

/* ---- frames of a camera (camera.h) ----------------------------------------------------------- */

struct npu_camera;

/* An input of the model that comes as planes, which are inputs of the graph instead. */
struct npu_gimage {
	const char *name;		/* of the model's input */
	const struct npu_camera *camera;
	unsigned int num_planes;
	struct npu_gtensor *plane[2];
	struct npu_gtensor *box;	/* f32 [N, 4], a graph input, too; NULL: it is fixed */
};

/* ---- host placement -------------------------------------------------------------------------- */

/* A node of the model that was found to need the host when it was lowered. */
struct npu_host_pin {
	const char *node, *reason;
};

/**
 * struct npu_host_config - what may run on the host; see host_place.c
 * @ops: the application's own operators, beside libnpu's table; may be NULL
 * @pins: nodes that go there by name, sorted
 */
struct npu_host_config {
	const struct npu_host_op *ops;
	unsigned int num_ops;
	const struct npu_host_pin *pins;
	unsigned int num_pins;
};

/* ---- the graph ------------------------------------------------------------------------------- */

struct npu_graph {
	struct npu_arena arena;
	const char *name, *producer;	/* of the model */
	const char *path;		/* file, "" when from memory */
	int ir_version;
	int opset;			/* of the default domain */
	int opset_ms;			/* of com.microsoft, 0 when not imported */

	struct npu_gtensor **tensors;	/* all, by id; unused ones stay */
	unsigned int num_tensors, max_tensors;
	struct npu_gnode **nodes;	/* in execution order */
	unsigned int num_nodes, max_nodes;
	unsigned int next_node_id;

	struct npu_gtensor **inputs;	/* without those that have an initializer */
	unsigned int num_inputs;
	/* may repeat, and may be an input or a constant (pass-through) */
	struct npu_gtensor **outputs;
	/* the model's names; passes may have replaced the tensor behind one */
	const char **output_names;
	unsigned int num_outputs;

	struct npu_name_map *tensor_names, *node_names;	/* used by graph.c */

	const struct npu_host_config *host;	/* NULL: nothing goes to the host; not owned */

	struct npu_gimage *images;
	unsigned int num_images;

	struct npu_symbol syms[NPU_GRAPH_MAX_SYMS];
	unsigned int num_syms;

	void (*release)(void *priv);	/* frees what the importer kept alive for constant data */
	void *priv;
};

struct npu_graph *npu_graph_new(void);
void npu_graph_free(struct npu_graph *g);

/**
 * npu_graph_symbol_add - declare a run-time size
 * @min, @max: bounds of the value, multiples of @step, 1 <= min <= max
 *
 * Returns the symbol's index, -EINVAL (bad bounds, text in @diag), -ENOSPC (NPU_GRAPH_MAX_SYMS) or
 * -ENOMEM.
 */
int npu_graph_symbol_add(struct npu_graph *g, const char *name, int64_t min, int64_t max,
			 int64_t step, struct npu_diag *diag);

/** npu_graph_symbol_dim - the dimension whose value is symbol @sym's value: { 0, step, sym } */
struct npu_dim npu_graph_symbol_dim(const struct npu_graph *g, int sym);

/**
 * npu_graph_bind_shape - give the input called @input its shape
 * @dims: @rank dimensions, constants or linear in a declared symbol
 *
 * Returns 0, -ENOENT (no such input), -EINVAL (rank or a fixed dimension disagrees with the model);
 * text in @diag.
 */
int npu_graph_bind_shape(struct npu_graph *g, const char *input, const struct npu_dim *dims,
			 int rank, struct npu_diag *diag);

struct npu_pass_options {
	const char *dump_pass;	/* print the graph after this pass; "all": each; NULL: never */
	FILE *dump;		/* where to, NULL = nowhere */
	/* comma-separated optional passes to leave out (debugging); NULL = none */
	const char *skip;
};

/**
 * npu_graph_optimize - run every pass of the table in pass.h
 * @options: may be NULL
 *
 * Returns 0; a negative errno when a node is refused or a shape cannot be inferred, with every
 * finding in @diag. The graph stays valid for npu_graph_free() and npu_graph_dump() in either case.
 */
int npu_graph_optimize(struct npu_graph *g, const struct npu_pass_options *options,
		       struct npu_diag *diag);

/* Name and one-line description of pass @i of the table; NULL past the end. */
const char *npu_pass_name(unsigned int i);
const char *npu_pass_help(unsigned int i);

/** npu_graph_dump - print the graph as text, one node a line; the same graph gives the same text */
void npu_graph_dump(const struct npu_graph *g, FILE *out);

/**
 * npu_gnode_macs - multiply-accumulates of a node (bias and epilogue are not counted) at given
 * scalars
 */
int64_t npu_gnode_macs(const struct npu_gnode *n, const int64_t *scalars);

/**
 * npu_onnx_import - read an ONNX model
 * @data, @size: the file's contents, needed during the call only
 * @path: used in messages, and its folder is where external data is looked for (never outside of
 *        it); NULL = external data is refused
 *
 * Returns the graph, or NULL with at least one entry in @diag. Every unsupported node and attribute
 * is reported.
 */
struct npu_graph *npu_onnx_import(const void *data, size_t size, const char *path,
				  struct npu_diag *diag);
/*
 * The same for a model whose nodes may go to the host, operators of the application's among them.
 */
struct npu_graph *npu_onnx_import_host(const void *data, size_t size, const char *path,
				       const struct npu_host_config *host, struct npu_diag *diag);
/*
 * Why an import gave NULL: -EINVAL for a file that is no valid model, -EOPNOTSUPP for one of
 * operators that are not supported.
 */
int npu_onnx_import_error(const struct npu_diag *diag);

/* ---- building and changing a graph ----------------------------------------------------------- */

/*
 * New tensor without shape; @name may be NULL (made up from @stem) or taken (a suffix is added).
 * NULL: no memory.
 */
struct npu_gtensor *npu_graph_tensor(struct npu_graph *g, const char *name, const char *stem,
				     enum npu_gtype type);

/*
 * Constant with a copy of @data (NULL: zeroed; write through the returned tensor's data before
 * anyone reads it).
 */
struct npu_gtensor *npu_graph_const(struct npu_graph *g, const char *stem, enum npu_gtype type,
				    int rank, const int64_t *dims, const void *data);

/* New node at the end of the array; @name as for tensors. Inputs and outputs are connected. */
struct npu_gnode *npu_graph_node(struct npu_graph *g, enum npu_gop op, const char *name,
				 struct npu_gtensor *const *inputs, unsigned int num_inputs,
				 struct npu_gtensor *const *outputs, unsigned int num_outputs);

/* Replace input @i (growing the list when needed), keeping consumer lists right. 0 or -ENOMEM. */
int npu_gnode_set_input(struct npu_graph *g, struct npu_gnode *n, unsigned int i,
			struct npu_gtensor *t);
void npu_gnode_trim_inputs(struct npu_gnode *n, unsigned int count);

/*
 * Everybody who used @from uses @to, graph outputs included (output_names[] keeps their names). 0
 * or -ENOMEM.
 */
int npu_graph_replace(struct npu_graph *g, struct npu_gtensor *from, struct npu_gtensor *to);

/* Take a node out: its inputs lose a consumer, its outputs their producer. */
void npu_graph_remove(struct npu_graph *g, struct npu_gnode *n);

/*
 * npu_graph_revive - put a node back that npu_graph_remove() took out and npu_graph_sort() has
 * forgotten, with no more inputs than it had
 *
 * 0 or -ENOMEM. The graph wants to be sorted.
 */
int npu_graph_revive(struct npu_graph *g, struct npu_gnode *n, struct npu_gtensor *const *inputs,
		     unsigned int num_inputs);

/* Append the sources of @from to those of @to. */
int npu_gnode_take_sources(struct npu_graph *g, struct npu_gnode *to, const struct npu_gnode *from);

int npu_gnode_set_int(struct npu_graph *g, struct npu_gnode *n, const char *name, int64_t v);
int npu_gnode_set_float(struct npu_graph *g, struct npu_gnode *n, const char *name, float v);
int npu_gnode_set_string(struct npu_graph *g, struct npu_gnode *n, const char *name, const char *v);
int npu_gnode_set_ints(struct npu_graph *g, struct npu_gnode *n, const char *name, const int64_t *v,
		       size_t count);
int npu_gnode_set_floats(struct npu_graph *g, struct npu_gnode *n, const char *name, const float *v,
			 size_t count);
int npu_gnode_set_dims(struct npu_graph *g, struct npu_gnode *n, const char *name,
		       const struct npu_dim *v, size_t count);
int npu_gnode_set_strings(struct npu_graph *g, struct npu_gnode *n, const char *name,
			  const char *const *v, size_t count);
int npu_gnode_set_tensor(struct npu_graph *g, struct npu_gnode *n, const char *name,
			 struct npu_gtensor *t);
void npu_gnode_del_attr(struct npu_gnode *n, const char *name);

struct npu_gtensor *npu_graph_find_tensor(const struct npu_graph *g, const char *name);

/*
 * Drop dead nodes and restore topological order, keeping the present order where it is one. -ELOOP
 * on a cycle.
 */
int npu_graph_sort(struct npu_graph *g, struct npu_diag *diag);

#endif
