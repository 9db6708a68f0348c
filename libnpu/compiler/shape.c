// SPDX-License-Identifier: MIT
/* Which rule infers which operator, and the helpers that rules share. */
#include <errno.h>
#include <string.h>

#include "compiler/shape.h"

struct npu_gtensor *npu_shape_in(const struct npu_shape *s, unsigned int i)
{
	return npu_gnode_in(s->n, i);
}

int npu_shape_out(struct npu_shape *s, unsigned int i, enum npu_gtype type, int rank,
		  const struct npu_dim *dims)
{
	struct npu_gtensor *t = i < s->n->num_outputs ? s->n->outputs[i] : NULL;
	double elems = 1;
	int k;

	if (!t)
		return 0;
	if (rank > NPU_GRAPH_MAX_RANK)
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
				     "output of rank %d, at most %d are supported", rank,
				     NPU_GRAPH_MAX_RANK);
	for (k = 0; k < rank; k++) {
		if (dims[k].sym == NPU_DIM_UNKNOWN || npu_dim_low(s->g, dims[k]) < 0 ||
		    npu_dim_high(s->g, dims[k]) > INT32_MAX)
			return npu_diag_node(
				s->diag, -EINVAL, s->n, NULL,
				"output dimension %d would be %lld to %lld; the inputs are too small for it",
				k, (long long)npu_dim_low(s->g, dims[k]),
				(long long)npu_dim_high(s->g, dims[k]));
		t->dim[k] = dims[k];
		elems *= (double)npu_dim_high(s->g, dims[k]);
	}
	/* so that nobody after this has to fear an overflow in a size */
	if (elems > NPU_SHAPE_ELEMS_MAX)
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
				     "output of up to %.3g elements, at most %.3g are "
				     "supported",
				     elems, NPU_SHAPE_ELEMS_MAX);
	t->type = type;
	t->rank = rank;
	return 0;
}

int npu_shape_axis_arg(struct npu_shape *s, const char *what, int64_t axis, int rank, int *out)
{
	int limit = rank ? rank : 1;

	if (axis < -limit || axis >= limit)
		return npu_diag_node(s->diag, -EINVAL, s->n, what, "%lld, expected %d to %d",
				     (long long)axis, -limit, limit - 1);
	*out = (int)(axis < 0 ? axis + limit : axis);
	return 0;
}

bool npu_tensor_has_value(const struct npu_gtensor *t)
{
	return t && (t->value || (t->data && npu_gtype_size(t->type)));
}

bool npu_tensor_value(const struct npu_gtensor *t, size_t i, struct npu_dim *out)
{
	double v;

	if (t->value) {
		*out = t->value[i];
		return i < t->num_values && out->sym != NPU_DIM_UNKNOWN;
	}
	if (!t->data || !npu_gtype_size(t->type) || i >= t->size / npu_gtype_size(t->type))
		return false;
	switch (t->type) {
	case NPU_GT_F32: case NPU_GT_F64: case NPU_GT_F16: case NPU_GT_BF16:
		v = npu_gtensor_elem(t, i);
		if (!(v > -9e15 && v < 9e15) || (double)(int64_t)v != v)
			return false;
		*out = npu_dim_const((int64_t)v);
		return true;
	default:
		*out = npu_dim_const(npu_gtensor_elem_int(t, i));
		return true;
	}
}

int npu_shape_list(struct npu_shape *s, const char *attr, int input, struct npu_dim *list)
{
	const struct npu_gtensor *t = input >= 0 ? npu_shape_in(s, (unsigned int)input) : NULL;
	size_t count = 0, i;
	const int64_t *ints = attr ? npu_gnode_ints(s->n, attr, &count) : NULL;
	int64_t n;

	if (attr && npu_gnode_attr(s->n, attr) && !ints) {
		list[0] = npu_dim_const(npu_gnode_int(s->n, attr, 0));
		return 1;
	}
	if (!ints && !t)
		return -ENOENT;
	if (ints) {
		if (count > 2 * NPU_GRAPH_MAX_RANK)
			return npu_diag_node(s->diag, -EINVAL, s->n, attr,
					     "%zu entries, at most %d are supported", count,
					     2 * NPU_GRAPH_MAX_RANK);
		for (i = 0; i < count; i++)
			list[i] = npu_dim_const(ints[i]);
		return (int)count;
	}
	n = npu_gtensor_const_elems(t);
	if (!npu_tensor_has_value(t) || n < 0)
		return npu_diag_node(
			s->diag, -EOPNOTSUPP, s->n, NULL,
			"input %d '%s' (%s) must be known when compiling: a constant or made from shapes",
			input, t->name, attr ? attr : "parameter");
	if (n > 2 * NPU_GRAPH_MAX_RANK || t->rank > 1)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "input %d '%s': expected a list of at most %d", input, t->name,
				     2 * NPU_GRAPH_MAX_RANK);
	for (i = 0; i < (size_t)n; i++)
		if (!npu_tensor_value(t, i, &list[i]))
			return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
					     "input %d '%s': entry %zu is not known when compiling",
					     input, t->name, i);
	return (int)n;
}

int npu_shape_ints(struct npu_shape *s, const char *attr, int input, int64_t *list)
{
	struct npu_dim dims[2 * NPU_GRAPH_MAX_RANK];
	int n = npu_shape_list(s, attr, input, dims), i;

	for (i = 0; i < n; i++) {
		if (!npu_dim_is_const(dims[i]))
			return npu_diag_node(
				s->diag, -EOPNOTSUPP, s->n, attr,
				"entry %d depends on the symbol %s; here a constant is needed, so give this size "
				"exactly",
				i, s->g->syms[dims[i].sym].name);
		list[i] = dims[i].base;
	}
	return n;
}

int npu_shape_at_run_time(struct npu_shape *s, const char *what)
{
	if (!s->host)
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, what,
				     "it must be known when compiling: a constant or made from shapes");
	s->host_reason = npu_arena_printf(&s->g->arena, "%s: known at run time only", what);
	return s->host_reason ? 0 : -ENOMEM;
}

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t t = a % b;

		a = b;
		b = t;
	}
	return a < 0 ? -a : a;
}

int npu_shape_nonlinear(struct npu_shape *s, const char *what, struct npu_dim d, int64_t divisor)
{
	char text[64];

	npu_dim_text(s->g, d, text, sizeof(text));
	s->need = 0;
	if (d.sym >= 0 && divisor > 1 && d.factor) {
		s->need_sym = d.sym;
		s->need = divisor / gcd(d.factor, divisor);
		if (s->told & 1u << d.sym)
			return -EDOM;
	}
	if (s->need)
		return npu_diag_node(
			s->diag, -EDOM, s->n, what,
			"(%s) / %lld is not a whole number of steps for every %s; declare %s with a step that is a "
			"multiple of %lld, or give an exact size",
			text, (long long)divisor, s->g->syms[d.sym].name, s->g->syms[d.sym].name,
			(long long)(s->g->syms[d.sym].step * s->need));
	return npu_diag_node(
		s->diag, -EDOM, s->n, what,
		"the result with %s is not linear in one symbol; give one of the sizes exactly",
		text);
}

int npu_shape_div_floor(struct npu_shape *s, const char *what, struct npu_dim d, int64_t k,
			struct npu_dim *out)
{
	return npu_dim_div_floor(s->g, d, k, out) ? npu_shape_nonlinear(s, what, d, k) : 0;
}

static int shape_unsupported(struct npu_shape *s)
{
	return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL, "no shape rule");
}

static int (*family_rule(enum npu_gop_family family))(struct npu_shape *)
{
	switch (family) {
	case NPU_GF_UNARY: case NPU_GF_ACT:
		return npu_shape_same;
	case NPU_GF_BINARY:
	case NPU_GF_VARIADIC:
	case NPU_GF_COMPARE:
	case NPU_GF_LOGIC:
	case NPU_GF_SELECT: return npu_shape_elementwise;
	case NPU_GF_REDUCE:
		return npu_shape_reduce;
	case NPU_GF_ARG:
		return npu_shape_arg;
	case NPU_GF_SOFTMAX:
		return npu_shape_axis;
	case NPU_GF_NORM:
		return npu_shape_norm;
	case NPU_GF_RESHAPE:
		return npu_shape_reshape;
	case NPU_GF_INDEX:
		return npu_shape_index;
	case NPU_GF_RESIZE:
		return npu_shape_resize;
	case NPU_GF_SHAPEINFO:
		return npu_shape_info;
	case NPU_GF_CAST:
		return npu_shape_cast;
	case NPU_GF_QUANT:
		return npu_shape_quant;
	case NPU_GF_POOL:
		return npu_shape_pool;
	case NPU_GF_MATMUL:
		return npu_shape_matmul;
	case NPU_GF_RNN:
		return npu_shape_rnn;
	case NPU_GF_HOST:
		return npu_shape_host;
	default:
		return shape_unsupported;
	}
}

int npu_shape_node(struct npu_shape *s)
{
	switch (s->n->op) {
	case NPU_GOP_Conv: case NPU_GOP_QLinearConv: case NPU_GOP_ConvInteger:
		return npu_shape_conv(s);
	case NPU_GOP_ConvTranspose:
		return npu_shape_conv_transpose(s);
	case NPU_GOP_GlobalAveragePool: case NPU_GOP_GlobalMaxPool: case NPU_GOP_GlobalLpPool:
		return npu_shape_global_pool(s);
	case NPU_GOP_QLinearMatMul: case NPU_GOP_MatMulInteger:
		return npu_shape_matmul(s);
	case NPU_GOP_Gemm:
		return npu_shape_gemm(s);
	case NPU_GOP_TopK:
		return npu_shape_topk(s);
	case NPU_GOP_Transpose:
		return npu_shape_transpose(s);
	case NPU_GOP_Concat:
		return npu_shape_concat(s);
	case NPU_GOP_Split:
		return npu_shape_split(s);
	case NPU_GOP_Slice:
		return npu_shape_slice(s);
	case NPU_GOP_Pad:
		return npu_shape_pad(s);
	case NPU_GOP_Expand:
		return npu_shape_expand(s);
	case NPU_GOP_Tile:
		return npu_shape_tile(s);
	case NPU_GOP_DepthToSpace: case NPU_GOP_SpaceToDepth:
		return npu_shape_depth_space(s);
	case NPU_GOP_CumSum:
		return npu_shape_cumsum(s);
	default:
		return family_rule(npu_gnode_info(s->n)->family)(s);
	}
}
