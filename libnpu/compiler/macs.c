// SPDX-License-Identifier: MIT
/* How much work a node is, in multiply-accumulates. */
#include "compiler/graph.h"

static int64_t mul(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static int64_t per_output(const struct npu_gtensor *w)
{
	int64_t n = 1;
	int i;

	for (i = 1; i < w->rank; i++)
		n = mul(n, w->dim[i].base);
	return n;
}

/*
 * X [steps, batch, in] or [batch, steps, in]; every step meets all of W and R of every direction.
 */
static int64_t recurrent(const struct npu_gnode *n, const int64_t *scalars)
{
	const struct npu_gtensor *x = n->inputs[0], *w = npu_gnode_in(n, 1),
				 *r = npu_gnode_in(n, 2);
	int64_t steps, weights;

	if (x->rank != 3 || !w || !r || w->rank != 3 || r->rank != 3)
		return 0;
	steps = mul(npu_dim_eval(x->dim[0], scalars), npu_dim_eval(x->dim[1], scalars));
	if (__builtin_add_overflow(npu_gtensor_elems(w, scalars), npu_gtensor_elems(r, scalars),
				   &weights))
		weights = INT64_MAX;
	return mul(steps, weights);
}

int64_t npu_gnode_macs(const struct npu_gnode *n, const int64_t *scalars)
{
	const struct npu_gtensor *x = npu_gnode_in(n, 0),
				 *y = n->num_outputs ? n->outputs[0] : NULL, *w;
	int inner;

	if (n->dead || !x || !y || y->rank < 0 || x->rank < 0)
		return 0;
	switch (n->host ? n->model_op : n->op) {
	case NPU_GOP_Conv: case NPU_GOP_ConvInteger:
		return mul(npu_gtensor_elems(y, scalars), per_output(n->inputs[1]));
	case NPU_GOP_QLinearConv:
		return mul(npu_gtensor_elems(y, scalars), per_output(n->inputs[3]));
	case NPU_GOP_ConvTranspose:
		/* every input element meets every weight of its channel: W is [C, M/group, k...] */
		w = n->inputs[1];
		return mul(npu_gtensor_elems(x, scalars), per_output(w));
	case NPU_GOP_MatMul: case NPU_GOP_MatMulInteger: case NPU_GOP_QLinearMatMul:
		inner = x->rank > 1 && npu_gnode_int(n, "transA", 0) ? x->rank - 2 : x->rank - 1;
		return inner < 0 ? 0 :
				   mul(npu_gtensor_elems(y, scalars),
				       npu_dim_eval(x->dim[inner], scalars));
	case NPU_GOP_Gemm:
		inner = npu_gnode_int(n, "transA", 0) ? 0 : 1;
		return mul(npu_gtensor_elems(y, scalars), npu_dim_eval(x->dim[inner], scalars));
	case NPU_GOP_RNN: case NPU_GOP_GRU: case NPU_GOP_LSTM:
		return recurrent(n, scalars);
	default:
		return 0;
	}
}
