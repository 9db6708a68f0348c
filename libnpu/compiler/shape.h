/* SPDX-License-Identifier: MIT */
/*
 * Shape inference. A rule sets type and dimensions of every output of a node, and leaves the node's
 * attributes resolved (axes >= 0, pads explicit, ...) as graph.h describes the canonical form;
 * inputs that only carried such parameters stay until the canon pass. A rule runs once per node, in
 * topological order, with typed and shaped inputs; parameters are constants or linear forms in
 * tensor->value.
 */
#ifndef NPU_COMPILER_SHAPE_H
#define NPU_COMPILER_SHAPE_H

#include "compiler/dims.h"

struct npu_shape {
	struct npu_graph *g;
	struct npu_diag *diag;
	struct npu_gnode *n;
	/* a host operator does the node if the NPU can not */
	bool host;
	/* set by npu_shape_nonlinear(): the step of symbol need_sym times need would do */
	int need_sym;
	int64_t need;
	uint32_t told;	/* bit per symbol: the user has been told that its step is too small */
	/* a rule's: the node's parameters are known at run time only, its outputs are bounds */
	const char *host_reason;
};

#define NPU_SHAPE_ELEMS_MAX	1099511627776.0	/* of one tensor: 2^40 */
#define NPU_VALUE_MAX	4096	/* longest tensor whose integer content is followed */

/* Rules, one per family; 0, or a negative errno with the reason in the diagnostics. */
int npu_shape_conv(struct npu_shape *s);	/* Conv, QLinearConv, ConvInteger */
int npu_shape_conv_transpose(struct npu_shape *s);
int npu_shape_pool(struct npu_shape *s);
int npu_shape_global_pool(struct npu_shape *s);
int npu_shape_matmul(struct npu_shape *s);	/* MatMul, QLinearMatMul, MatMulInteger */
int npu_shape_gemm(struct npu_shape *s);
int npu_shape_same(struct npu_shape *s);	/* output like input 0 */
int npu_shape_elementwise(struct npu_shape *s);	/* broadcasting, any number of inputs */
int npu_shape_cast(struct npu_shape *s);
int npu_shape_quant(struct npu_shape *s);
int npu_shape_reduce(struct npu_shape *s);
int npu_shape_arg(struct npu_shape *s);
int npu_shape_topk(struct npu_shape *s);
int npu_shape_cumsum(struct npu_shape *s);
/* Softmax and others that keep the shape and have an axis */
int npu_shape_axis(struct npu_shape *s);
int npu_shape_norm(struct npu_shape *s);
int npu_shape_reshape(struct npu_shape *s);	/* Reshape, Flatten, Squeeze, Unsqueeze */
int npu_shape_transpose(struct npu_shape *s);
int npu_shape_concat(struct npu_shape *s);
int npu_shape_split(struct npu_shape *s);
int npu_shape_slice(struct npu_shape *s);
int npu_shape_pad(struct npu_shape *s);
int npu_shape_expand(struct npu_shape *s);
int npu_shape_tile(struct npu_shape *s);
int npu_shape_depth_space(struct npu_shape *s);
int npu_shape_resize(struct npu_shape *s);
/* Gather and scatter kinds, OneHot, Trilu, CumSum */
int npu_shape_index(struct npu_shape *s);
int npu_shape_info(struct npu_shape *s);	/* Constant, Shape, Size, ConstantOfShape, Range */
int npu_shape_rnn(struct npu_shape *s);
int npu_shape_host(struct npu_shape *s);	/* NPU_GF_HOST */

/** npu_shape_node - run the rule of one node */
int npu_shape_node(struct npu_shape *s);

/**
 * npu_value_node - follow the integer content of shape arithmetic through one node; 0 or -ENOMEM
 */
int npu_value_node(struct npu_shape *s);

/*
 * Operator sets before 7 (shape_legacy.c): the second operand of an element-wise node and the slope
 * of PRelu brought to where broadcasting expects them; is_test of Dropout and BatchNormalization.
 */
#define NPU_OPSET_BROADCAST	7	/* the first with broadcasting as NumPy does it */
int npu_shape_legacy_broadcast(struct npu_shape *s);
int npu_shape_legacy_slope(struct npu_shape *s);
int npu_shape_legacy_training(struct npu_shape *s);

/* ---- helpers for rules ---- */

struct npu_gtensor *npu_shape_in(const struct npu_shape *s, unsigned int i);

/* Set output @i (ignored when the output is absent). */
int npu_shape_out(struct npu_shape *s, unsigned int i, enum npu_gtype type, int rank,
		  const struct npu_dim *dims);

/*
 * Negative axis made positive; -EINVAL with a message when it is out of range. @rank 0 accepts 0
 * and -1.
 */
int npu_shape_axis_arg(struct npu_shape *s, const char *what, int64_t axis, int rank, int *out);

/**
 * npu_shape_list - a list of integers from attribute @attr or, when the node has it, input @input
 * @list: NPU_GRAPH_MAX_RANK * 2 entries
 *
 * Returns the number of entries, -ENOENT when neither is there, or an error with a message.
 */
int npu_shape_list(struct npu_shape *s, const char *attr, int input, struct npu_dim *list);

/* The same, for plain integers. */
int npu_shape_ints(struct npu_shape *s, const char *attr, int input, int64_t *list);

/*
 * Parameter @what of the node is known at run time only: with a host operator for it the rule goes
 * on and gives its outputs their bounds (0), else it is refused (-EOPNOTSUPP, reported).
 */
int npu_shape_at_run_time(struct npu_shape *s, const char *what);

/* Linear form @i of a tensor's integer content; false when it is not known. */
bool npu_tensor_value(const struct npu_gtensor *t, size_t i, struct npu_dim *out);
bool npu_tensor_has_value(const struct npu_gtensor *t);

/*
 * -EDOM and friends in words: dimension @what of the node cannot be expressed; names the step that
 * would help.
 */
int npu_shape_nonlinear(struct npu_shape *s, const char *what, struct npu_dim d, int64_t divisor);

/* Dimension arithmetic that reports its failure. */
int npu_shape_div_floor(struct npu_shape *s, const char *what, struct npu_dim d, int64_t k,
			struct npu_dim *out);

#endif
