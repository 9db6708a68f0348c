// SPDX-License-Identifier: MIT
/*
 * QuantizeLinear and DequantizeLinear whose scale or zero point is computed by the model: written
 * out in the arithmetic that they stand for.
 */
#include <errno.h>

#include "compiler/pass_canon.h"

/* @op of @a and @b with the result's shape like @like's and type f32. */
static struct npu_gtensor *step(struct npu_graph *g, struct npu_gnode *n, enum npu_gop op,
				struct npu_gtensor *a, struct npu_gtensor *b,
				const struct npu_gtensor *like, enum npu_gtype type)
{
	struct npu_gtensor *both[2] = { a, b };
	struct npu_gnode *made = a ? npu_graph_insert(g, op, n, both, b ? 2 : 1, like) : NULL;

	if (made)
		made->outputs[0]->type = type;
	return made ? made->outputs[0] : NULL;
}

static struct npu_gtensor *as_float(struct npu_graph *g, struct npu_gnode *n, struct npu_gtensor *t)
{
	return t->type == NPU_GT_F32 ? t : step(g, n, NPU_GOP_Cast, t, NULL, t, NPU_GT_F32);
}

static int clip_codes(struct npu_graph *g, struct npu_gnode *n, struct npu_gtensor **t,
		      enum npu_gtype codes)
{
	float lo = codes == NPU_GT_I8 ? -128 : 0;

	*t = step(g, n, NPU_GOP_Activation, *t, NULL, n->outputs[0], NPU_GT_F32);
	if (!*t)
		return -ENOMEM;
	(*t)->producer->ep.act = (struct npu_gact){ NPU_GA_CLIP, lo, lo + 255, -1 };
	return 0;
}

int npu_canon_quant(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	struct npu_gtensor *y = n->outputs[0], *zero = npu_gnode_in(n, 2), *t, *scale;
	const bool de = n->op == NPU_GOP_DequantizeLinear;

	(void)diag;
	if (npu_gtensor_is_const(n->inputs[1]) && (!zero || npu_gtensor_is_const(zero)))
		return 0;
	t = as_float(g, n, n->inputs[0]);
	scale = as_float(g, n, n->inputs[1]);
	zero = zero ? as_float(g, n, zero) : NULL;
	if (!t || !scale || (npu_gnode_in(n, 2) && !zero))
		return -ENOMEM;
	if (de) {
		t = zero ? step(g, n, NPU_GOP_Sub, t, zero, y, NPU_GT_F32) : t;
		t = step(g, n, NPU_GOP_Mul, t, scale, y, NPU_GT_F32);
	} else {
		t = step(g, n, NPU_GOP_Div, t, scale, y, NPU_GT_F32);
		t = step(g, n, NPU_GOP_Round, t, NULL, y, NPU_GT_F32);
		t = zero ? step(g, n, NPU_GOP_Add, t, zero, y, NPU_GT_F32) : t;
		if (!t || clip_codes(g, n, &t, y->type))
			return -ENOMEM;
	}
	if (t && t->type != y->type)
		t = step(g, n, NPU_GOP_Cast, t, NULL, y, y->type);
	return t ? npu_graph_substitute(g, n, t->producer) : -ENOMEM;
}
