/* SPDX-License-Identifier: MIT */
/*
 * A plain interpreter of graphs in canonical form, for tests only: everything is computed in
 * double, operator by operator as ONNX defines it, so a graph before and after a rewrite must agree
 * far below f32's precision.
 */
#ifndef TESTS_INTERP_H
#define TESTS_INTERP_H

#include "compiler/graph.h"

struct value {
	int rank;
	int64_t dim[NPU_GRAPH_MAX_RANK];
	double *v;
};

int64_t value_count(const struct value *x);
void value_free(struct value *x);

/*
 * Run @g. @in: one value per graph input, shaped as bound at @scalars. Returns 0 and fills @out
 * (one per graph output, to be freed), or -1 with the operator that is not covered in @why.
 */
int interp_run(const struct npu_graph *g, const int64_t *scalars, const struct value *in,
	       struct value *out, const char **why);

/* Operator kernels of interp_ops.c; false when not covered. */
struct interp {
	const struct npu_graph *g;
	const int64_t *scalars;
	struct value *val;	/* by tensor id */
};

bool interp_conv(struct interp *s, const struct npu_gnode *n, struct value *y);
bool interp_conv_transpose(struct interp *s, const struct npu_gnode *n, struct value *y);
bool interp_pool(struct interp *s, const struct npu_gnode *n, struct value *y);
bool interp_matmul(struct interp *s, const struct npu_gnode *n, struct value *y);
bool interp_resize(struct interp *s, const struct npu_gnode *n, struct value *y);

struct value *interp_in(struct interp *s, const struct npu_gnode *n, unsigned int i);

#endif
