// SPDX-License-Identifier: MIT
/* Evaluates reductions and small matrix products on constants. */
#include <math.h>
#include <stdlib.h>

#include "compiler/fold.h"

static bool reduce_step(enum npu_gop op, double v, double *acc)
{
	switch (op) {
	case NPU_GOP_ReduceMean: case NPU_GOP_ReduceSum: case NPU_GOP_ReduceLogSum:
		*acc += v;
		return true;
	case NPU_GOP_ReduceL1:
		*acc += fabs(v);
		return true;
	case NPU_GOP_ReduceL2: case NPU_GOP_ReduceSumSquare:
		*acc += v * v;
		return true;
	case NPU_GOP_ReduceProd:
		*acc *= v;
		return true;
	case NPU_GOP_ReduceMax:
		*acc = v > *acc ? v : *acc;
		return true;
	case NPU_GOP_ReduceMin:
		*acc = v < *acc ? v : *acc;
		return true;
	default:
		return false;
	}
}

static double reduce_start(enum npu_gop op)
{
	switch (op) {
	case NPU_GOP_ReduceProd: return 1;
	case NPU_GOP_ReduceMax: return -INFINITY;
	case NPU_GOP_ReduceMin: return INFINITY;
	default: return 0;
	}
}

static double reduce_end(enum npu_gop op, double acc, double count)
{
	switch (op) {
	case NPU_GOP_ReduceMean: return acc / count;
	case NPU_GOP_ReduceL2: return sqrt(acc);
	case NPU_GOP_ReduceLogSum: return log(acc);
	default: return acc;
	}
}

bool npu_fold_reduce(const struct npu_gnode *n, struct npu_gtensor *out)
{
	const struct npu_gtensor *x = n->inputs[0];
	int64_t count = npu_gtensor_const_elems(x), results = npu_gtensor_const_elems(out), i,
		step = 1;
	bool hit[NPU_GRAPH_MAX_RANK] = { false };
	struct npu_fold_walk w;
	size_t num, k;
	const int64_t *axes = npu_gnode_ints(n, "axes", &num);
	double *acc;
	bool ok = true;

	if (!count || !results || !npu_gtype_size(out->type))
		return false;
	acc = malloc((size_t)results * sizeof(*acc));
	if (!acc)
		return false;
	for (i = 0; i < results; i++)
		acc[i] = reduce_start(n->op);
	for (k = 0; k < num; k++)
		hit[axes[k]] = true;
	npu_fold_walk_init(&w, x);
	w.operands = 1;
	for (i = x->rank - 1; i >= 0; i--) {
		w.stride[0][i] = hit[i] ? 0 : step;
		step *= hit[i] ? 1 : x->dim[i].base;
	}
	for (i = 0; i < count && ok; i++, npu_fold_walk_next(&w))
		ok = reduce_step(n->op, npu_gtensor_elem(x, (size_t)i), &acc[w.index[0]]);
	for (i = 0; i < results && ok; i++)
		npu_fold_put(out, (size_t)i,
			     reduce_end(n->op, acc[i], (double)count / (double)results));
	free(acc);
	return ok;
}

bool npu_fold_matmul(const struct npu_gnode *n, struct npu_gtensor *out)
{
	const struct npu_gtensor *a = n->inputs[0], *b = n->inputs[1];
	int64_t rows, cols, inner, i, j, k;

	if (a->rank != 2 || b->rank != 2 || !npu_fold_is_float(a->type) || n->num_inputs > 2)
		return false;
	rows = a->dim[0].base;
	inner = a->dim[1].base;
	cols = b->dim[1].base;
	if ((double)rows * (double)inner * (double)cols > 1e8)
		return false;
	for (i = 0; i < rows; i++) {
		for (j = 0; j < cols; j++) {
			double sum = 0;

			for (k = 0; k < inner; k++)
				sum += npu_gtensor_elem(a, (size_t)(i * inner + k)) *
				       npu_gtensor_elem(b, (size_t)(k * cols + j));
			npu_fold_put(out, (size_t)(i * cols + j), sum);
		}
	}
	return true;
}
