// SPDX-License-Identifier: MIT
/*
 * Operators on quantized tensors that carry all their scales as inputs, written out: dequantize
 * every operand, compute with real numbers, quantize the result. Pass qdq makes one integer
 * instruction of it again. Runs before shapes are known, so that none of them needs a shape rule.
 */
#include <errno.h>
#include <string.h>

#include "compiler/pass.h"

/* The node being written out. */
struct expand {
	struct npu_graph *g;
	struct npu_gnode *n;
	bool failed;		/* out of memory */
};

static struct npu_gtensor *in(const struct expand *x, unsigned int i)
{
	return npu_gnode_in(x->n, i);
}

/* A node that stands for the one being written out, or for a part of it. */
static struct npu_gnode *node(struct expand *x, enum npu_gop op, struct npu_gtensor *const *inputs,
			      unsigned int num_inputs, struct npu_gtensor *const *outputs,
			      unsigned int num_outputs)
{
	struct npu_gnode *n = npu_graph_node(x->g, op, x->n->name, inputs, num_inputs, outputs,
					     num_outputs);

	if (!n || npu_gnode_take_sources(x->g, n, x->n)) {
		x->failed = true;
		return NULL;
	}
	n->opset = x->g->opset > 13 ? x->g->opset : 13;
	n->model_op = x->n->model_op;
	return n;
}

static struct npu_gtensor *tensor(struct expand *x)
{
	struct npu_gtensor *t = npu_graph_tensor(x->g, NULL, x->n->outputs[0]->name, NPU_GT_NONE);

	if (!t)
		x->failed = true;
	return t;
}

/* One result, of no name in the model. */
static struct npu_gtensor *make(struct expand *x, enum npu_gop op,
				struct npu_gtensor *const *inputs, unsigned int count,
				struct npu_gnode **made)
{
	struct npu_gtensor *t = tensor(x);
	struct npu_gnode *n = t ? node(x, op, inputs, count, &t, 1) : NULL;

	if (made)
		*made = n;
	return n ? t : NULL;
}

static struct npu_gtensor *binary(struct expand *x, enum npu_gop op, struct npu_gtensor *a,
				  struct npu_gtensor *b)
{
	return make(x, op, (struct npu_gtensor *[]){ a, b }, 2, NULL);
}

static struct npu_gtensor *dequantize(struct expand *x, struct npu_gtensor *codes,
				      struct npu_gtensor *scale, struct npu_gtensor *zero, int axis)
{
	struct npu_gtensor *all[] = { codes, scale, zero };
	struct npu_gnode *n;
	struct npu_gtensor *t = make(x, NPU_GOP_DequantizeLinear, all, zero ? 3 : 2, &n);

	if (n && npu_gnode_set_int(x->g, n, "axis", axis))
		x->failed = true;
	return t;
}

/* Operand @i of the model's node, with scale and zero point behind it. */
static struct npu_gtensor *operand(struct expand *x, unsigned int i, int axis)
{
	return dequantize(x, in(x, i), in(x, i + 1), in(x, i + 2), axis);
}

/* The model's result: @y itself without a scale, else its codes. The old node goes away. */
static void result(struct expand *x, struct npu_gnode *last, struct npu_gtensor *scale,
		   struct npu_gtensor *zero)
{
	struct npu_gtensor *out = x->n->outputs[0];
	struct npu_gtensor *all[] = { last ? last->outputs[0] : NULL, scale, zero };

	if (!last || x->failed)
		return;
	npu_graph_remove(x->g, x->n);
	if (scale) {
		node(x, NPU_GOP_QuantizeLinear, all, zero ? 3 : 2, &out, 1);
		return;
	}
	last->outputs[0]->producer = NULL;
	last->outputs[0] = out;
	out->producer = last;
}

/* The attributes of the model's node, without those that only say how it is quantized. */
static void take_attrs(struct npu_gnode *to, struct npu_gnode *from)
{
	if (!to)
		return;
	to->attrs = from->attrs;
	to->num_attrs = from->num_attrs;
	to->max_attrs = from->max_attrs;
	npu_gnode_del_attr(to, "channels_last");
	npu_gnode_del_attr(to, "opset");
	from->attrs = NULL;
	from->num_attrs = from->max_attrs = 0;
}

/* X, X scale, X zero, W, .., Y scale, Y zero, B: B has the scale of the products. */
static void conv(struct expand *x)
{
	struct npu_gtensor *all[3] = { operand(x, 0, 1), operand(x, 3, 0), NULL };
	unsigned int count = 2;
	struct npu_gnode *n;

	if (in(x, 8)) {
		struct npu_gtensor *scale = binary(x, NPU_GOP_Mul, in(x, 1), in(x, 4));

		all[count++] = dequantize(x, in(x, 8), scale, NULL, 0);
	}
	make(x, NPU_GOP_Conv, all, count, &n);
	take_attrs(n, x->n);
	result(x, n, in(x, 6), in(x, 7));
}

/* Several scales of A are those of its rows, of B those of its columns. */
static void matmul(struct expand *x)
{
	struct npu_gtensor *all[2] = { operand(x, 0, -2), operand(x, 3, -1) };
	struct npu_gnode *n;

	make(x, NPU_GOP_MatMul, all, 2, &n);
	result(x, n, in(x, 6), in(x, 7));
}

/* y = alpha * A B + C, C with the scale alpha * A scale * B scale. */
static void gemm(struct expand *x)
{
	float alpha = npu_gnode_float(x->n, "alpha", 1);
	bool tb = npu_gnode_int(x->n, "transB", 0) != 0;
	struct npu_gtensor *all[3], *scale = in(x, 4), *k;
	unsigned int count = 2;
	struct npu_gnode *n;

	if (alpha != 1) {
		k = npu_graph_const(x->g, "alpha", NPU_GT_F32, 0, NULL, &alpha);
		x->failed |= !k;
		scale = k ? binary(x, NPU_GOP_Mul, scale, k) : NULL;
	}
	all[0] = operand(x, 0, 1);
	all[1] = dequantize(x, in(x, 3), scale, in(x, 5), tb ? 0 : 1);
	if (in(x, 6)) {
		scale = binary(x, NPU_GOP_Mul, in(x, 1), scale);
		all[count++] = dequantize(x, in(x, 6), scale, NULL, -1);
	}
	make(x, NPU_GOP_Gemm, all, count, &n);
	take_attrs(n, x->n);
	if (n)
		npu_gnode_del_attr(n, "alpha");
	result(x, n, in(x, 7), in(x, 8));
}

static void elementwise(struct expand *x, enum npu_gop op)
{
	struct npu_gtensor *all[2] = { operand(x, 0, -1), operand(x, 3, -1) };
	struct npu_gnode *n;

	make(x, op, all, 2, &n);
	result(x, n, in(x, 6), in(x, 7));
}

/* One input, its scale and zero point, those of the result. */
static void unary(struct expand *x, enum npu_gop op)
{
	struct npu_gtensor *all[1] = { operand(x, 0, -1) };
	int opset = (int)npu_gnode_int(x->n, "opset", 0);
	struct npu_gnode *n;

	make(x, op, all, 1, &n);
	take_attrs(n, x->n);
	if (n && op == NPU_GOP_Softmax) {
		n->opset = opset ? opset : n->opset;
		if (!npu_gnode_attr(n, "axis") && npu_gnode_set_int(x->g, n, "axis", -1))
			x->failed = true;
	}
	if (n && op == NPU_GOP_ReduceMean)
		n->opset = 13;	/* axes as an attribute */
	result(x, n, in(x, 3), in(x, 4));
}

static void concat(struct expand *x)
{
	unsigned int count = (x->n->num_inputs - 2) / 3;
	struct npu_gtensor **all = npu_arena_array(&x->g->arena, count + 1, sizeof(*all));
	struct npu_gnode *n;

	x->failed |= !all;
	for (unsigned int i = 0; all && i < count; i++)
		all[i] = operand(x, 2 + 3 * i, -1);
	if (!all)
		return;
	make(x, NPU_GOP_Concat, all, count, &n);
	take_attrs(n, x->n);
	result(x, n, in(x, 0), in(x, 1));
}

static void where(struct expand *x)
{
	struct npu_gtensor *all[3] = { in(x, 0), operand(x, 1, -1), operand(x, 4, -1) };
	struct npu_gnode *n;

	make(x, NPU_GOP_Where, all, 3, &n);
	result(x, n, in(x, 7), in(x, 8));
}

/* (A - A zero) (B - B zero) * (A scale * B scale) + bias */
static void scaled_product(struct expand *x, struct npu_gtensor *const *ab,
			   struct npu_gtensor *const *zeros, struct npu_gtensor *a_scale,
			   struct npu_gtensor *b_scale, struct npu_gtensor *bias)
{
	struct npu_gtensor *all[4] = { ab[0], ab[1], zeros[0], zeros[1] }, *scale, *y;
	struct npu_gnode *n;

	y = make(x, NPU_GOP_MatMulInteger, all, zeros[1] ? 4 : zeros[0] ? 3 : 2, NULL);
	y = make(x, NPU_GOP_Cast, &y, 1, &n);
	if (n && npu_gnode_set_int(x->g, n, "to", 1))
		x->failed = true;
	scale = binary(x, NPU_GOP_Mul, a_scale, b_scale);
	make(x, NPU_GOP_Mul, (struct npu_gtensor *[]){ y, scale }, 2, &n);
	if (bias && n)
		make(x, NPU_GOP_Add, (struct npu_gtensor *[]){ n->outputs[0], bias }, 2, &n);
	result(x, n, NULL, NULL);
}

static void integer_to_float(struct expand *x)
{
	struct npu_gtensor *ab[2] = { in(x, 0), in(x, 1) }, *zeros[2] = { in(x, 4), in(x, 5) };

	scaled_product(x, ab, zeros, in(x, 2), in(x, 3), in(x, 6));
}

static void dynamic_matmul(struct expand *x)
{
	struct npu_gtensor *a = in(x, 0), *q[3] = { tensor(x), tensor(x), tensor(x) };
	struct npu_gtensor *ab[2] = { q[0], in(x, 1) }, *zeros[2] = { q[2], in(x, 3) };

	if (x->failed || !node(x, NPU_GOP_DynamicQuantizeLinear, &a, 1, q, 3))
		return;
	scaled_product(x, ab, zeros, q[1], in(x, 2), in(x, 4));
}

static int refuse(struct expand *x, struct npu_diag *diag, const char *attr, const char *why)
{
	return npu_diag_node(diag, -EOPNOTSUPP, x->n, attr, "%s", why);
}

/* Inputs that the operator cannot do without; absent ones would be read as others. */
static int check_node(struct expand *x, struct npu_diag *diag)
{
	const struct npu_gnode *n = x->n;
	const struct npu_gop_info *info = npu_gnode_info(n);

	if (npu_gnode_int(n, "channels_last", 0))
		return refuse(x, diag, "channels_last", "1 is not supported, expected 0");
	if (n->op == NPU_GOP_QLinearConcat && n->num_inputs % 3 != 2)
		return npu_diag_node(diag, -EINVAL, n, NULL,
				     "%u inputs, expected two and three for every part",
				     n->num_inputs);
	for (unsigned int i = 0; i < n->num_inputs && (int)i < info->in_min; i++) {
		bool zero = n->op == NPU_GOP_QLinearConcat ? i % 3 == 1 : i % 3 == 2;

		if (n->op == NPU_GOP_QLinearWhere || n->op == NPU_GOP_MatMulIntegerToFloat ||
		    n->op == NPU_GOP_DynamicQuantizeMatMul)
			zero = false;
		if (!n->inputs[i] && !zero)
			return npu_diag_node(diag, -EINVAL, n, NULL, "input %u is absent", i);
	}
	return 0;
}

static bool expand_node(struct expand *x)
{
	switch (x->n->op) {
	case NPU_GOP_QLinearConv:		conv(x); break;
	case NPU_GOP_QLinearMatMul:		matmul(x); break;
	case NPU_GOP_QGemm:			gemm(x); break;
	case NPU_GOP_QLinearAdd:		elementwise(x, NPU_GOP_Add); break;
	case NPU_GOP_QLinearMul:		elementwise(x, NPU_GOP_Mul); break;
	case NPU_GOP_QLinearConcat:		concat(x); break;
	case NPU_GOP_QLinearSoftmax:		unary(x, NPU_GOP_Softmax); break;
	case NPU_GOP_QLinearSigmoid:		unary(x, NPU_GOP_Sigmoid); break;
	case NPU_GOP_QLinearLeakyRelu:		unary(x, NPU_GOP_LeakyRelu); break;
	case NPU_GOP_QLinearAveragePool:	unary(x, NPU_GOP_AveragePool); break;
	case NPU_GOP_QLinearGlobalAveragePool:	unary(x, NPU_GOP_GlobalAveragePool); break;
	case NPU_GOP_QLinearReduceMean:		unary(x, NPU_GOP_ReduceMean); break;
	case NPU_GOP_QLinearWhere:		where(x); break;
	case NPU_GOP_MatMulIntegerToFloat:	integer_to_float(x); break;
	case NPU_GOP_DynamicQuantizeMatMul:	dynamic_matmul(x); break;
	default:				return false;
	}
	return true;
}

int npu_pass_qlinear(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int count = g->num_nodes;
	int err, first = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct expand x = { .g = g, .n = g->nodes[i] };

		if (x.n->dead || npu_gnode_info(x.n)->family != NPU_GF_QCONV ||
		    x.n->op == NPU_GOP_ConvInteger || x.n->op == NPU_GOP_MatMulInteger)
			continue;
		err = check_node(&x, diag);
		first = first ? first : err;
		if (!err && expand_node(&x) && x.failed)
			return -ENOMEM;
	}
	return first;
}
