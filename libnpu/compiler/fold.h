/* SPDX-License-Identifier: MIT */
/* Constant folding: nodes whose inputs are all constants are evaluated while compiling. */
#ifndef NPU_COMPILER_FOLD_H
#define NPU_COMPILER_FOLD_H

#include "compiler/graph.h"

/**
 * npu_fold_node - evaluate @n when its inputs are constants and its output is small enough
 *
 * Outputs become constants and @n is removed. Returns 1 when folded, 0 when left alone, -ENOMEM.
 * Floats are computed in double and rounded once to the output's type, which for + - * / and sqrt
 * equals the type's own arithmetic. What DequantizeLinear makes of codes stays codes, with their
 * quantization, where a convolution or product uses it as its weight or bias.
 */
int npu_fold_node(struct npu_graph *g, struct npu_gnode *n);

/* ---- shared by fold_*.c ---- */

bool npu_fold_is_float(enum npu_gtype type);

/* Write element @i of a constant that is being made. */
void npu_fold_put(struct npu_gtensor *t, size_t i, double v);
void npu_fold_put_int(struct npu_gtensor *t, size_t i, int64_t v);

/*
 * Walks the elements of a static shape in row-major order and keeps the element index of up to four
 * operands, each with its own strides (0 on broadcast dimensions).
 */
struct npu_fold_walk {
	int rank;
	unsigned int operands;
	int64_t dim[NPU_GRAPH_MAX_RANK], at[NPU_GRAPH_MAX_RANK];
	int64_t stride[4][NPU_GRAPH_MAX_RANK];
	int64_t index[4];
};

void npu_fold_walk_init(struct npu_fold_walk *w, const struct npu_gtensor *shape);
/* Add an operand that is broadcast to the walked shape. */
void npu_fold_walk_operand(struct npu_fold_walk *w, const struct npu_gtensor *t);
void npu_fold_walk_next(struct npu_fold_walk *w);

/*
 * Evaluators: outputs are allocated, inputs constant. False when the operator or type is not
 * covered.
 */
bool npu_fold_elementwise(const struct npu_gnode *n, struct npu_gtensor *out);
bool npu_fold_cast(const struct npu_gnode *n, struct npu_gtensor *out);
bool npu_fold_move(const struct npu_gnode *n, struct npu_gtensor *const *outs);
bool npu_fold_reduce(const struct npu_gnode *n, struct npu_gtensor *out);
/* By the host operator of that name; dims of @outs become what it says. */
bool npu_fold_host(const struct npu_gnode *n, struct npu_gtensor **outs);
/* QuantizeLinear and DequantizeLinear of constants: 1, 0 when left alone, -ENOMEM. */
int npu_fold_quant(struct npu_graph *g, struct npu_gnode *n);
/* The real numbers of constant @codes as a new constant of float @type; NULL: no memory. */
struct npu_gtensor *npu_fold_dequantized(struct npu_graph *g, const struct npu_gtensor *codes,
					 enum npu_gtype type);
/* The quantization of the result of a Transpose that was folded. 0 or -ENOMEM. */
int npu_fold_quant_transpose(struct npu_graph *g, struct npu_gnode *n);
bool npu_fold_matmul(const struct npu_gnode *n, struct npu_gtensor *out);

#endif
