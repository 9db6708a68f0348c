/* SPDX-License-Identifier: MIT */
/* The table of graph passes. Each pass is one file pass_<name>.c with one function. */
#ifndef NPU_COMPILER_PASS_H
#define NPU_COMPILER_PASS_H

#include "compiler/graph.h"

/**
 * struct npu_pass - one step of npu_graph_optimize()
 * @run: changes the graph in place; returns 0 or a negative errno with the reason in @diag. Dead
 *	 nodes are dropped and the order is restored by the caller.
 * @optional: may be left out with npu_pass_options.skip without breaking the canonical form
 */
struct npu_pass {
	const char *name, *help;
	int (*run)(struct npu_graph *g, struct npu_diag *diag);
	bool optional;
};

/* X(function suffix, optional, help): the one list of passes, in the order in which they run. */
#define NPU_PASS_LIST(X) \
	X(qlinear, false, "QLinear operators written out between DequantizeLinear and QuantizeLinear") \
	X(infer, false, "types, shapes with symbols, constant folding") \
	X(identity, false, "drop Identity, Dropout, no-op casts and reshapes; dead code") \
	X(canon, false, "one form for every operator whatever its operator set") \
	X(pattern, true, "recover hard-swish, hard-sigmoid, SiLU, GELU written out") \
	X(norm, true, "recover LayerNormalization, RMSNormalization and Softmax written out") \
	X(reshape, true, "merge and cancel Reshape and Transpose") \
	X(concat, true, "merge Concat of Concat and Slice of Slice") \
	X(matmul, true, "transposes and constant factors of operands into MatMul") \
	X(scale, true, "BatchNormalization, Mul and Add by constants into weights and bias") \
	X(pad, true, "Pad into Conv and pooling") \
	X(qint, true, "scale and bias behind ConvInteger and MatMulInteger into them") \
	X(fuse, true, "activation, scale and residual into the epilogue of the node before") \
	X(prescale, true, "Mul and Add by constants into the weights that follow") \
	X(qdq, true, "DequantizeLinear and QuantizeLinear around a node: it works on the codes") \
	X(final, false, "check the canonical form, drop what nothing uses")

#define NPU_PASS_DECLARE(name, optional, help) \
	int npu_pass_##name(struct npu_graph *g, struct npu_diag *diag);
NPU_PASS_LIST(NPU_PASS_DECLARE)
#undef NPU_PASS_DECLARE

/**
 * npu_graph_sweep - remove nodes whose results nothing uses; dead nodes stay in the array until
 * npu_graph_sort()
 */
void npu_graph_sweep(struct npu_graph *g);

/* ---- helpers of the passes ---- */

/* The only consumer of @t when it has exactly one use and is no graph output; NULL otherwise. */
struct npu_gnode *npu_gtensor_only_consumer(const struct npu_gtensor *t);

/* Value of a constant float scalar (any float type, any shape with one element), as f32. */
bool npu_gtensor_float_scalar(const struct npu_gtensor *t, float *value);

/*
 * When @n is a binary node with one constant float scalar operand: the other operand (and its
 * index), else NULL.
 */
struct npu_gtensor *npu_gnode_scalar_operand(const struct npu_gnode *n, float *value,
					     unsigned int *index);

/* Same rank and dimensions. */
bool npu_gtensor_same_shape(const struct npu_gtensor *a, const struct npu_gtensor *b);
void npu_gtensor_copy_shape(struct npu_gtensor *to, const struct npu_gtensor *from);

/* True when @n carries nothing in its epilogue. */
bool npu_gnode_plain(const struct npu_gnode *n);

/*
 * New node before position is decided by the sort; output tensor gets the shape and type of @like.
 * NULL: no memory.
 */
struct npu_gnode *npu_graph_insert(struct npu_graph *g, enum npu_gop op,
				   const struct npu_gnode *from, struct npu_gtensor *const *inputs,
				   unsigned int num_inputs, const struct npu_gtensor *like);

/* Replace node @old by @by's first output; sources are handed over. 0 or -ENOMEM. */
int npu_graph_substitute(struct npu_graph *g, struct npu_gnode *old, struct npu_gnode *by);

#endif
