/* SPDX-License-Identifier: MIT */
/* The canon pass is in several files, one per kind of operator; each function rewrites one node. */
#ifndef NPU_COMPILER_PASS_CANON_H
#define NPU_COMPILER_PASS_CANON_H

#include "compiler/pass.h"

int npu_canon_act(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_binary(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_variadic(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_softmax(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_reduce(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_batchnorm(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_gemm(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_quant(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_split(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_tile(struct npu_graph *g, struct npu_gnode *n);
int npu_canon_slice(struct npu_graph *g, struct npu_gnode *n);
int npu_canon_einsum(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);

/* f32 constant scalar. NULL: no memory. */
struct npu_gtensor *npu_canon_scalar(struct npu_graph *g, const struct npu_gnode *n,
				     enum npu_gtype type, float v);

#endif
