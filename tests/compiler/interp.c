// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp.h"

int64_t value_count(const struct value *x)
{
	int64_t n = 1;
	int i;

	for (i = 0; i < x->rank; i++)
		n *= x->dim[i];
	return n;
}

void value_free(struct value *x)
{
	free(x->v);
	x->v = NULL;
}

static void value_alloc(struct value *x)
{
	x->v = calloc((size_t)value_count(x) + 1, sizeof(*x->v));
	if (!x->v)
		abort();
}

static void shape_as(struct interp *s, const struct npu_gtensor *t, struct value *x)
{
	int i;

	x->rank = t->rank;
	for (i = 0; i < t->rank; i++)
		x->dim[i] = npu_dim_eval(t->dim[i], s->scalars);
}

struct value *interp_in(struct interp *s, const struct npu_gnode *n, unsigned int i)
{
	struct npu_gtensor *t = npu_gnode_in(n, i);
	struct value *x = t ? &s->val[t->id] : NULL;
	int64_t k;

	if (t && !x->v && t->data) {
		shape_as(s, t, x);
		value_alloc(x);
		for (k = 0; k < value_count(x); k++)
			x->v[k] = npu_gtensor_elem(t, (size_t)k);
	}
	return x;
}

static double act(const struct npu_gact *a, double v, double slope)
{
	double p = (double)a->a, q = (double)a->b;

	switch (a->kind) {
	case NPU_GA_RELU: return v > 0 ? v : 0;
	case NPU_GA_CLIP: return fmin(fmax(v, p), q);
	case NPU_GA_LEAKY: return v < 0 ? p * v : v;
	case NPU_GA_PRELU: return v < 0 ? slope * v : v;
	case NPU_GA_SIGMOID: return 1 / (1 + exp(-v));
	case NPU_GA_TANH: return tanh(v);
	case NPU_GA_HARDSIGMOID: return fmax(0, fmin(1, p * v + q));
	case NPU_GA_HARDSWISH: return v * fmax(0, fmin(1, p * v + q));
	case NPU_GA_SILU: return v / (1 + exp(-v));
	case NPU_GA_GELU_ERF: return 0.5 * v * (1 + erf(v / sqrt(2)));
	case NPU_GA_GELU_TANH:
		return 0.5 * v * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
	case NPU_GA_ELU: return v < 0 ? p * (exp(v) - 1) : v;
	case NPU_GA_SELU: return q * (v < 0 ? p * (exp(v) - 1) : v);
	case NPU_GA_CELU: return fmax(0, v) + fmin(0, p * (exp(v / p) - 1));
	case NPU_GA_SOFTPLUS: return log(1 + exp(v));
	case NPU_GA_SOFTSIGN: return v / (1 + fabs(v));
	case NPU_GA_MISH: return v * tanh(log(1 + exp(v)));
	case NPU_GA_THRESHOLD: return v > p ? v : 0;
	default: return v;
	}
}

/* Index of element @i of shape @y in an operand that is broadcast to it. */
static int64_t spread(const struct value *y, const struct value *x, int64_t i)
{
	int64_t at = 0, step = 1;
	int d;

	for (d = y->rank - 1; d >= y->rank - x->rank; d--) {
		int64_t n = x->dim[d - (y->rank - x->rank)];

		if (n != 1)
			at += i % y->dim[d] * step;
		step *= n;
		i /= y->dim[d];
	}
	return at;
}

static void epilogue(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	const struct npu_gepilogue *ep = &n->ep;
	const struct value *slope = ep->act.slope >= 0 ?
					    interp_in(s, n, (unsigned int)ep->act.slope) :
					    NULL;
	const struct value *res = ep->res >= 0 ? interp_in(s, n, (unsigned int)ep->res) : NULL;
	int64_t count = value_count(y), i;

	for (i = 0; i < count; i++) {
		double v = act(&ep->act, y->v[i], slope ? slope->v[spread(y, slope, i)] : 0);

		if (ep->has_affine)
			v = v * (double)ep->post_mul + (double)ep->post_add;
		if (res)
			v = ep->res_op == NPU_GR_ADD ? v + res->v[i] : v * res->v[i];
		y->v[i] = act(&ep->act2, v, 0);
	}
}

static bool unary(enum npu_gop op, double v, double *out)
{
	switch (op) {
	case NPU_GOP_Abs: *out = fabs(v); break;
	case NPU_GOP_Neg: *out = -v; break;
	case NPU_GOP_Exp: *out = exp(v); break;
	case NPU_GOP_Log: *out = log(v); break;
	case NPU_GOP_Sqrt: *out = sqrt(v); break;
	case NPU_GOP_Reciprocal: *out = 1 / v; break;
	case NPU_GOP_Floor: *out = floor(v); break;
	case NPU_GOP_Ceil: *out = ceil(v); break;
	case NPU_GOP_Round: *out = rint(v); break;
	case NPU_GOP_Sign: *out = v > 0 ? 1 : v < 0 ? -1 : 0; break;
	case NPU_GOP_Erf: *out = erf(v); break;
	case NPU_GOP_Sin: *out = sin(v); break;
	case NPU_GOP_Cos: *out = cos(v); break;
	case NPU_GOP_Tan: *out = tan(v); break;
	case NPU_GOP_Asin: *out = asin(v); break;
	case NPU_GOP_Acos: *out = acos(v); break;
	case NPU_GOP_Atan: *out = atan(v); break;
	case NPU_GOP_Sinh: *out = sinh(v); break;
	case NPU_GOP_Cosh: *out = cosh(v); break;
	case NPU_GOP_Asinh: *out = asinh(v); break;
	case NPU_GOP_Acosh: *out = acosh(v); break;
	case NPU_GOP_Atanh: *out = atanh(v); break;
	case NPU_GOP_Not: *out = v == 0; break;
	case NPU_GOP_IsNaN: *out = isnan(v); break;
	case NPU_GOP_Activation: *out = v; break;
	default: return false;
	}
	return true;
}

static bool binary(const struct npu_gnode *n, double a, double b, double *out)
{
	bool whole = n->outputs[0]->type != NPU_GT_F32 && n->outputs[0]->type != NPU_GT_F64 &&
		     n->outputs[0]->type != NPU_GT_F16;

	switch (n->op) {
	case NPU_GOP_Add: *out = a + b; break;
	case NPU_GOP_Sub: *out = a - b; break;
	case NPU_GOP_Mul: *out = a * b; break;
	case NPU_GOP_Div: *out = whole ? trunc(a / b) : a / b; break;
	case NPU_GOP_Pow: *out = pow(a, b); break;
	case NPU_GOP_Max: *out = a > b ? a : b; break;
	case NPU_GOP_Min: *out = a < b ? a : b; break;
	case NPU_GOP_Mod:
		*out = npu_gnode_int(n, "fmod", 0) ? fmod(a, b) : a - b * floor(a / b);
		break;
	case NPU_GOP_Equal: *out = a == b; break;
	case NPU_GOP_Less: *out = a < b; break;
	case NPU_GOP_LessOrEqual: *out = a <= b; break;
	case NPU_GOP_Greater: *out = a > b; break;
	case NPU_GOP_GreaterOrEqual: *out = a >= b; break;
	case NPU_GOP_And: *out = a != 0 && b != 0; break;
	case NPU_GOP_Or: *out = a != 0 || b != 0; break;
	case NPU_GOP_Xor: *out = (a != 0) != (b != 0); break;
	default: return false;
	}
	return true;
}

static bool elementwise(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	const struct value *a = interp_in(s, n, 0), *b = interp_in(s, n, 1),
			   *c = interp_in(s, n, 2);
	int64_t count = value_count(y), i;

	for (i = 0; i < count; i++) {
		double p = a->v[spread(y, a, i)];

		if (n->op == NPU_GOP_Where)
			y->v[i] = p != 0 ? b->v[spread(y, b, i)] : c->v[spread(y, c, i)];
		else if (n->op == NPU_GOP_Activation || n->num_inputs == 1 ?
				 !unary(n->op, p, &y->v[i]) :
				 !binary(n, p, b->v[spread(y, b, i)], &y->v[i]))
			return false;
	}
	return true;
}

static bool cast(const struct npu_gnode *n, const struct value *x, struct value *y)
{
	enum npu_gtype t = n->outputs[0]->type;
	int64_t i;

	for (i = 0; i < value_count(y); i++) {
		double v = x->v[i];

		if (t == NPU_GT_BOOL)
			v = v != 0;
		else if (t == NPU_GT_F32)
			v = (double)(float)v;
		else if (t != NPU_GT_F64 && t != NPU_GT_F16 && t != NPU_GT_BF16)
			v = trunc(v);
		y->v[i] = v;
	}
	return t != NPU_GT_F16 && t != NPU_GT_BF16;
}

/* Rows along @axis: @fn sees @len elements that are @step apart. */
typedef void (*row_fn)(const struct npu_gnode *n, const double *x, double *y, int64_t len,
		       int64_t step);

static void rows(const struct npu_gnode *n, const struct value *x, struct value *y, int axis,
		 row_fn fn)
{
	int64_t outer = 1, inner = 1, o, i;
	int d;

	for (d = 0; d < x->rank; d++) {
		outer *= d < axis ? x->dim[d] : 1;
		inner *= d > axis ? x->dim[d] : 1;
	}
	for (o = 0; o < outer; o++)
		for (i = 0; i < inner; i++)
			fn(n, x->v + o * x->dim[axis] * inner + i,
			   y->v + o * y->dim[axis] * inner + i, x->dim[axis], inner);
}

static void softmax_row(const struct npu_gnode *n, const double *x, double *y, int64_t len,
			int64_t step)
{
	double max = -INFINITY, sum = 0;
	int64_t i;

	for (i = 0; i < len; i++)
		max = fmax(max, x[i * step]);
	for (i = 0; i < len; i++)
		sum += exp(x[i * step] - max);
	for (i = 0; i < len; i++)
		y[i * step] = n->op == NPU_GOP_Softmax ? exp(x[i * step] - max) / sum :
							 x[i * step] - max - log(sum);
}

static void cumsum_row(const struct npu_gnode *n, const double *x, double *y, int64_t len,
		       int64_t step)
{
	bool ex = npu_gnode_int(n, "exclusive", 0) != 0, rev = npu_gnode_int(n, "reverse", 0) != 0;
	double sum = 0;
	int64_t i, k;

	for (i = 0; i < len; i++) {
		k = rev ? len - 1 - i : i;
		sum += ex ? 0 : x[k * step];
		y[k * step] = sum;
		sum += ex ? x[k * step] : 0;
	}
}

static bool reduce(const struct npu_gnode *n, const struct value *x, struct value *y)
{
	bool hit[NPU_GRAPH_MAX_RANK] = { false };
	size_t c, k;
	const int64_t *axes = npu_gnode_ints(n, "axes", &c);
	int64_t outs = value_count(y), i, q, at, step;
	double per = outs ? (double)value_count(x) / (double)outs : 0;
	int d;

	for (k = 0; k < c; k++)
		hit[axes[k]] = true;
	for (i = 0; i < outs; i++)
		y->v[i] = n->op == NPU_GOP_ReduceMax ? -INFINITY :
			  n->op == NPU_GOP_ReduceMin ? INFINITY :
						       n->op == NPU_GOP_ReduceProd;
	for (i = 0; i < value_count(x); i++) {
		double v = x->v[i];

		for (q = i, at = 0, step = 1, d = x->rank - 1; d >= 0; d--) {
			at += hit[d] ? 0 : q % x->dim[d] * step;
			step *= hit[d] ? 1 : x->dim[d];
			q /= x->dim[d];
		}
		switch (n->op) {
		case NPU_GOP_ReduceMax: y->v[at] = fmax(y->v[at], v); break;
		case NPU_GOP_ReduceMin: y->v[at] = fmin(y->v[at], v); break;
		case NPU_GOP_ReduceProd: y->v[at] *= v; break;
		case NPU_GOP_ReduceL1: y->v[at] += fabs(v); break;
		case NPU_GOP_ReduceL2: case NPU_GOP_ReduceSumSquare: y->v[at] += v * v; break;
		case NPU_GOP_ReduceLogSumExp: y->v[at] += exp(v); break;
		default: y->v[at] += v; break;
		}
	}
	for (i = 0; i < outs; i++) {
		if (n->op == NPU_GOP_ReduceMean)
			y->v[i] /= per;
		else if (n->op == NPU_GOP_ReduceL2)
			y->v[i] = sqrt(y->v[i]);
		else if (n->op == NPU_GOP_ReduceLogSum || n->op == NPU_GOP_ReduceLogSumExp)
			y->v[i] = log(y->v[i]);
	}
	return true;
}

static bool arg(const struct npu_gnode *n, const struct value *x, struct value *y)
{
	int64_t axis = npu_gnode_int(n, "axis", 0), inner = 1, outer = 1, o, i, k;
	bool last = npu_gnode_int(n, "select_last_index", 0) != 0, max = n->op == NPU_GOP_ArgMax;
	int d;

	for (d = 0; d < x->rank; d++) {
		outer *= d < axis ? x->dim[d] : 1;
		inner *= d > axis ? x->dim[d] : 1;
	}
	for (o = 0; o < outer; o++) {
		for (i = 0; i < inner; i++) {
			const double *r = x->v + o * x->dim[axis] * inner + i;
			int64_t best = 0;

			for (k = 1; k < x->dim[axis]; k++) {
				double a = r[k * inner], b = r[best * inner];

				if (a == b ? last : max ? a > b : a < b)
					best = k;
			}
			y->v[o * inner + i] = (double)best;
		}
	}
	return true;
}

static bool norm(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	const struct value *x = interp_in(s, n, 0), *g = interp_in(s, n, 1),
			   *b = interp_in(s, n, 2);
	double eps = (double)npu_gnode_float(n, "epsilon", 1e-5f);
	bool inst = n->op == NPU_GOP_InstanceNormalization, rms = n->op == NPU_GOP_RMSNormalization;
	int64_t axis = inst ? 2 : npu_gnode_int(n, "axis", -1), len = 1, r, i, c;
	int d;

	if ((!inst && !rms && n->op != NPU_GOP_LayerNormalization) ||
	    (n->num_outputs > 1 && n->outputs[1]))
		return false;
	for (d = (int)axis; d < x->rank; d++)
		len *= x->dim[d];
	for (r = 0; r < value_count(x) / len; r++) {
		const double *p = x->v + r * len;
		double mean = 0, var = 0;

		for (i = 0; i < len && !rms; i++)
			mean += p[i] / (double)len;
		for (i = 0; i < len; i++)
			var += (p[i] - mean) * (p[i] - mean) / (double)len;
		for (i = 0; i < len; i++) {
			c = inst ? r % x->dim[1] : i;
			y->v[r * len + i] = (p[i] - mean) / sqrt(var + eps) *
						    g->v[value_count(g) == 1 ? 0 : c] +
					    (b ? b->v[value_count(b) == 1 ? 0 : c] : 0);
		}
	}
	return true;
}

/* Moves: every output element names the input element it copies. */
static bool move(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	const struct value *x = interp_in(s, n, 0);
	int64_t at[NPU_GRAPH_MAX_RANK], from[NPU_GRAPH_MAX_RANK], i, q, k;
	size_t c, cs;
	const int64_t *perm = npu_gnode_ints(n, "perm", &c), *pads = npu_gnode_ints(n, "pads", &c);
	const struct npu_dim *starts = npu_gnode_dims(n, "starts", &c);
	const int64_t *steps = npu_gnode_ints(n, "steps", &cs);
	const char *mode = npu_gnode_string(n, "mode", "");
	int64_t b = npu_gnode_int(n, "blocksize", 1);
	int d;

	for (i = 0; i < value_count(y); i++) {
		bool fill = false;

		for (q = i, d = y->rank - 1; d >= 0; d--) {
			at[d] = q % y->dim[d];
			q /= y->dim[d];
		}
		for (d = 0; d < y->rank && d < NPU_GRAPH_MAX_RANK; d++) {
			switch (n->op) {
			case NPU_GOP_Transpose:
				from[perm[d]] = at[d];
				break;
			case NPU_GOP_Slice:
				from[d] = npu_dim_eval(starts[d], s->scalars) + at[d] * steps[d];
				break;
			case NPU_GOP_Tile:
				from[d] = at[d] % x->dim[d];
				break;
			case NPU_GOP_Pad:
				k = at[d] - pads[d];
				if (!strcmp(mode, "constant"))
					fill |= k < 0 || k >= x->dim[d];
				else if (!strcmp(mode, "edge"))
					k = k < 0 ? 0 : k >= x->dim[d] ? x->dim[d] - 1 : k;
				else if (!strcmp(mode, "reflect"))
					k = k < 0 ? -k : k >= x->dim[d] ? 2 * x->dim[d] - 2 - k : k;
				else
					return false;
				from[d] = k;
				break;
			default:
				break;
			}
		}
		if (n->op == NPU_GOP_SpaceToDepth) {
			from[0] = at[0];
			from[1] = at[1] % x->dim[1];
			from[2] = at[2] * b + at[1] / x->dim[1] / b;
			from[3] = at[3] * b + at[1] / x->dim[1] % b;
		} else if (n->op == NPU_GOP_DepthToSpace) {
			q = at[2] % b * b + at[3] % b;
			from[0] = at[0];
			from[1] = strcmp(mode, "CRD") ? q * y->dim[1] + at[1] : at[1] * b * b + q;
			from[2] = at[2] / b;
			from[3] = at[3] / b;
		}
		for (q = 0, d = 0; d < x->rank; d++)
			q = q * x->dim[d] + from[d];
		y->v[i] = fill ? (double)npu_gnode_float(n, "value", 0) : x->v[q];
	}
	return true;
}

static bool concat(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	int64_t axis = npu_gnode_int(n, "axis", 0), inner = 1, outer = 1, o, done = 0;
	unsigned int k;
	int d;

	for (d = 0; d < y->rank; d++) {
		outer *= d < axis ? y->dim[d] : 1;
		inner *= d > axis ? y->dim[d] : 1;
	}
	for (k = 0; k < n->num_inputs; k++) {
		const struct value *x = interp_in(s, n, k);
		int64_t row = x->dim[axis] * inner;

		for (o = 0; o < outer && row; o++)
			memcpy(y->v + o * y->dim[axis] * inner + done, x->v + o * row,
			       (size_t)row * sizeof(*x->v));
		done += row;
	}
	return true;
}

static bool gather(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	const struct value *x = interp_in(s, n, 0), *idx = interp_in(s, n, 1);
	int64_t axis = npu_gnode_int(n, "axis", 0), inner = 1, outer = 1, o, i, k, p;
	int d;

	if (n->op != NPU_GOP_Gather)
		return false;
	for (d = 0; d < x->rank; d++) {
		outer *= d < axis ? x->dim[d] : 1;
		inner *= d > axis ? x->dim[d] : 1;
	}
	for (o = 0; o < outer; o++) {
		for (p = 0; p < value_count(idx); p++) {
			k = (int64_t)idx->v[p];
			k = k < 0 ? k + x->dim[axis] : k;
			for (i = 0; i < inner; i++)
				y->v[(o * value_count(idx) + p) * inner + i] =
					x->v[(o * x->dim[axis] + k) * inner + i];
		}
	}
	return true;
}

static bool run_op(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	const struct value *x = interp_in(s, n, 0);
	int64_t i;

	switch (n->op) {
	case NPU_GOP_Conv: return interp_conv(s, n, y);
	case NPU_GOP_ConvTranspose: return interp_conv_transpose(s, n, y);
	case NPU_GOP_MatMul: return interp_matmul(s, n, y);
	case NPU_GOP_Resize: return interp_resize(s, n, y);
	case NPU_GOP_Cast: return cast(n, x, y);
	case NPU_GOP_Reshape:
		memcpy(y->v, x->v, (size_t)value_count(y) * sizeof(*y->v));
		return true;
	case NPU_GOP_Expand:
		for (i = 0; i < value_count(y); i++)
			y->v[i] = x->v[spread(y, x, i)];
		return true;
	case NPU_GOP_Concat: return concat(s, n, y);
	case NPU_GOP_CumSum:
		i = (int64_t)interp_in(s, n, 1)->v[0];
		rows(n, x, y, (int)(i < 0 ? i + x->rank : i), cumsum_row);
		return true;
	case NPU_GOP_Softmax: case NPU_GOP_LogSoftmax:
		rows(n, x, y, (int)npu_gnode_int(n, "axis", 0), softmax_row);
		return true;
	case NPU_GOP_Transpose:
	case NPU_GOP_Slice:
	case NPU_GOP_Pad:
	case NPU_GOP_Tile:
	case NPU_GOP_DepthToSpace:
	case NPU_GOP_SpaceToDepth:
		return move(s, n, y);
	case NPU_GOP_ArgMax: case NPU_GOP_ArgMin: return arg(n, x, y);
	default: break;
	}
	switch (npu_gnode_info(n)->family) {
	case NPU_GF_POOL: return interp_pool(s, n, y);
	case NPU_GF_UNARY:
	case NPU_GF_ACT:
	case NPU_GF_BINARY:
	case NPU_GF_VARIADIC:
	case NPU_GF_COMPARE:
	case NPU_GF_LOGIC: case NPU_GF_SELECT:
		return elementwise(s, n, y);
	case NPU_GF_REDUCE: return reduce(n, x, y);
	case NPU_GF_NORM: return norm(s, n, y);
	case NPU_GF_INDEX: return gather(s, n, y);
	default: return false;
	}
}

static void copy_out(struct interp *s, const struct npu_gtensor *t, struct value *out)
{
	struct npu_gtensor *list[1] = { (struct npu_gtensor *)t };
	struct npu_gnode holder = { .inputs = list, .num_inputs = 1 };
	const struct value *x = interp_in(s, &holder, 0);

	shape_as(s, t, out);
	value_alloc(out);
	memcpy(out->v, x->v, (size_t)value_count(out) * sizeof(*out->v));
}

int interp_run(const struct npu_graph *g, const int64_t *scalars, const struct value *in,
	       struct value *out, const char **why)
{
	struct interp s = { g, scalars, calloc(g->num_tensors + 1, sizeof(struct value)) };
	unsigned int i;
	int err = 0;

	if (!s.val)
		abort();
	for (i = 0; i < g->num_tensors; i++)
		if (g->tensors[i]->quant &&
		    (g->tensors[i]->num_consumers || g->tensors[i]->is_output))
			err = -ENOTSUP;
	if (err)
		*why = "quantized tensors";
	for (i = 0; i < g->num_inputs; i++) {
		struct value *x = &s.val[g->inputs[i]->id];

		*x = in[i];
		value_alloc(x);
		memcpy(x->v, in[i].v, (size_t)value_count(x) * sizeof(*x->v));
	}
	for (i = 0; i < g->num_nodes && !err; i++) {
		const struct npu_gnode *n = g->nodes[i];
		struct value *y = n->outputs[0] ? &s.val[n->outputs[0]->id] : NULL;

		if (y) {
			shape_as(&s, n->outputs[0], y);
			value_alloc(y);
		}
		if (!y || !run_op(&s, n, y)) {
			*why = npu_gnode_info(n)->name;
			err = -1;
		} else {
			epilogue(&s, n, y);
		}
	}
	for (i = 0; i < g->num_outputs && !err; i++)
		copy_out(&s, g->outputs[i], &out[i]);
	for (i = 0; i < g->num_tensors; i++)
		free(s.val[i].v);
	free(s.val);
	return err;
}
