// SPDX-License-Identifier: MIT
/* Matrix products. */
#include <errno.h>

#include "compiler/shape.h"

static int inner_mismatch(struct npu_shape *s, struct npu_dim a, struct npu_dim b)
{
	char ta[64], tb[64];

	return npu_diag_node(s->diag, -EINVAL, s->n, NULL, "the inner sizes differ: %s and %s",
			     npu_dim_text(s->g, a, ta, sizeof(ta)),
			     npu_dim_text(s->g, b, tb, sizeof(tb)));
}

/*
 * numpy's matmul: rank 1 operands get a dimension that is dropped again, the leading ones are
 * broadcast.
 */
static int matmul_dims(struct npu_shape *s, const struct npu_gtensor *a,
		       const struct npu_gtensor *b, struct npu_dim *out, int *rank)
{
	struct npu_dim inner_a, inner_b;
	int lead_a = a->rank > 2 ? a->rank - 2 : 0, lead_b = b->rank > 2 ? b->rank - 2 : 0;
	int n = lead_a > lead_b ? lead_a : lead_b;

	if (a->rank < 1 || b->rank < 1)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "expected operands of rank 1 or more");
	inner_a = a->dim[a->rank - 1];
	inner_b = b->dim[b->rank > 1 ? b->rank - 2 : 0];
	if (!npu_dim_equal(inner_a, inner_b))
		return inner_mismatch(s, inner_a, inner_b);
	if (npu_dims_broadcast(a->dim, lead_a, b->dim, lead_b, out))
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "the leading dimensions cannot be broadcast");
	if (a->rank > 1)
		out[n++] = a->dim[a->rank - 2];
	if (b->rank > 1)
		out[n++] = b->dim[b->rank - 1];
	*rank = n;
	return 0;
}

int npu_shape_matmul(struct npu_shape *s)
{
	bool q = s->n->op == NPU_GOP_QLinearMatMul;
	const struct npu_gtensor *a = npu_shape_in(s, 0), *b = npu_shape_in(s, q ? 3 : 1);
	struct npu_dim dims[NPU_GRAPH_MAX_RANK + 1];
	enum npu_gtype type = a->type;
	int rank = 0, err;

	err = matmul_dims(s, a, b, dims, &rank);
	if (err)
		return err;
	if (q)
		type = npu_shape_in(s, 7) ? npu_shape_in(s, 7)->type : NPU_GT_U8;
	else if (s->n->op == NPU_GOP_MatMulInteger)
		type = NPU_GT_I32;
	else if (a->type != b->type && !b->quant)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "operands have types %s and %s, expected the same",
				     npu_gtype_name(a->type), npu_gtype_name(b->type));
	return npu_shape_out(s, 0, type, rank, dims);
}

int npu_shape_gemm(struct npu_shape *s)
{
	const struct npu_gtensor *a = npu_shape_in(s, 0), *b = npu_shape_in(s, 1),
				 *c = npu_shape_in(s, 2);
	int ta = npu_gnode_int(s->n, "transA", 0) != 0, tb = npu_gnode_int(s->n, "transB", 0) != 0;
	struct npu_dim dims[2], out[NPU_GRAPH_MAX_RANK];

	if (a->rank != 2 || b->rank != 2)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "operands have rank %d and %d, expected 2", a->rank, b->rank);
	if (!npu_dim_equal(a->dim[!ta], b->dim[tb]))
		return inner_mismatch(s, a->dim[!ta], b->dim[tb]);
	dims[0] = a->dim[ta];
	dims[1] = b->dim[!tb];
	if (c && (c->rank > 2 || npu_dims_broadcast(dims, 2, c->dim, c->rank, out) ||
		  !npu_dim_equal(out[0], dims[0]) || !npu_dim_equal(out[1], dims[1])))
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "input C '%s' cannot be broadcast to the result", c->name);
	return npu_shape_out(s, 0, a->type, 2, dims);
}
