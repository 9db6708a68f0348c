// SPDX-License-Identifier: MIT
/*
 * Integer content of small tensors as linear forms: Shape -> Gather -> Mul -> Concat -> Reshape and
 * the like are evaluated while compiling, also when the sizes are symbols. What is not linear
 * becomes "unknown" entry by entry, and is an error only when somebody needs it.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/shape.h"

static const struct npu_dim unknown = { 0, 0, NPU_DIM_UNKNOWN };

static struct npu_dim value_at(const struct npu_gtensor *t, size_t i)
{
	struct npu_dim d;

	return npu_tensor_has_value(t) && npu_tensor_value(t, i, &d) ? d : unknown;
}

static struct npu_dim value_div(struct npu_shape *s, struct npu_dim a, struct npu_dim b)
{
	struct npu_dim out = unknown;
	int64_t ratio;

	if (!npu_dim_ratio(a, b, &ratio))
		return npu_dim_const(ratio);
	/* integer division rounds towards zero, so a negative numerator is left alone */
	if (npu_dim_is_const(b) && b.base > 0 && npu_dim_low(s->g, a) >= 0 &&
	    !npu_dim_div_floor(s->g, a, b.base, &out))
		return out;
	return unknown;
}

static struct npu_dim value_compare(struct npu_shape *s, enum npu_gop op, struct npu_dim a,
				    struct npu_dim b)
{
	struct npu_dim diff;
	int64_t low, high;

	if (npu_dim_sub(a, b, &diff))
		return unknown;
	low = npu_dim_low(s->g, diff);
	high = npu_dim_high(s->g, diff);
	switch (op) {
	case NPU_GOP_Equal:
		return !low && !high	   ? npu_dim_const(1) :
		       low > 0 || high < 0 ? npu_dim_const(0) :
					     unknown;
	case NPU_GOP_Less:
		return high < 0 ? npu_dim_const(1) : low >= 0 ? npu_dim_const(0) : unknown;
	case NPU_GOP_Greater:
		return low > 0 ? npu_dim_const(1) : high <= 0 ? npu_dim_const(0) : unknown;
	default:
		return unknown;
	}
}

static struct npu_dim value_binary(struct npu_shape *s, enum npu_gop op, struct npu_dim a,
				   struct npu_dim b)
{
	struct npu_dim out = unknown;
	int err;

	if (a.sym == NPU_DIM_UNKNOWN || b.sym == NPU_DIM_UNKNOWN)
		return unknown;
	switch (op) {
	case NPU_GOP_Add: case NPU_GOP_Sum:
		err = npu_dim_add(a, b, &out);
		break;
	case NPU_GOP_Sub:
		err = npu_dim_sub(a, b, &out);
		break;
	case NPU_GOP_Mul:
		err = npu_dim_mul(a, b, &out);
		break;
	case NPU_GOP_Div:
		return value_div(s, a, b);
	case NPU_GOP_Max:
		err = npu_dim_max(s->g, a, b, &out);
		break;
	case NPU_GOP_Min:
		err = npu_dim_min(s->g, a, b, &out);
		break;
	default:
		return value_compare(s, op, a, b);
	}
	return err ? unknown : out;
}

/* Index into an operand of a broadcast; shape arithmetic has rank 0 or 1 only. */
static size_t operand_index(const struct npu_gtensor *t, size_t i)
{
	return npu_gtensor_const_elems(t) == 1 ? 0 : i;
}

static bool is_float(enum npu_gtype t)
{
	return t == NPU_GT_F32 || t == NPU_GT_F64 || t == NPU_GT_F16;
}

/*
 * Float chains (Cast, Mul by 0.5, Floor, Cast) of exported Resize: a factor p / 2^k, or a division
 * that is exact.
 */
static struct npu_dim value_float_scale(struct npu_shape *s, struct npu_dim a, double factor)
{
	struct npu_dim out;
	int64_t den;

	for (den = 1; den <= 64; den *= 2)
		if (factor * (double)den == floor(factor * (double)den))
			break;
	if (a.sym == NPU_DIM_UNKNOWN || den > 64 || fabs(factor) > 1e6 ||
	    npu_dim_scale(a, (int64_t)(factor * (double)den), &a))
		return unknown;
	/* without a Floor in between the quotient itself must be whole */
	if (a.base % den || a.factor % den || npu_dim_div_floor(s->g, a, den, &out))
		return unknown;
	return out;
}

static void values_binary(struct npu_shape *s, struct npu_dim *out, size_t count)
{
	const struct npu_gtensor *a = npu_shape_in(s, 0), *b;
	struct npu_dim x, y;
	unsigned int k;
	size_t i;

	for (i = 0; i < count; i++) {
		out[i] = value_at(a, operand_index(a, i));
		for (k = 1; k < s->n->num_inputs; k++) {
			b = npu_shape_in(s, k);
			x = out[i];
			y = value_at(b, operand_index(b, i));
			if (is_float(b->type) && s->n->op == NPU_GOP_Mul && b->data)
				out[i] =
					value_float_scale(s, x,
							  npu_gtensor_elem(b, operand_index(b, i)));
			else if (is_float(b->type) && s->n->op == NPU_GOP_Div && b->data)
				out[i] = value_float_scale(
					s, x, 1 / npu_gtensor_elem(b, operand_index(b, i)));
			else
				out[i] = value_binary(s, s->n->op, x, y);
		}
	}
}

static void values_gather(struct npu_shape *s, struct npu_dim *out, size_t count)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *idx = npu_shape_in(s, 1);
	int64_t n = npu_gtensor_const_elems(x);
	size_t i;

	for (i = 0; i < count; i++) {
		struct npu_dim k = value_at(idx, i);

		out[i] = unknown;
		if (!npu_dim_is_const(k) || x->rank != 1)
			continue;
		k.base = k.base < 0 ? k.base + n : k.base;
		if (k.base >= 0 && k.base < n)
			out[i] = value_at(x, (size_t)k.base);
	}
}

static void values_slice(struct npu_shape *s, struct npu_dim *out, size_t count)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	size_t n, m, i;
	const struct npu_dim *start = npu_gnode_dims(s->n, "starts", &n);
	const int64_t *step = npu_gnode_ints(s->n, "steps", &m);

	for (i = 0; i < count; i++)
		out[i] = x->rank == 1 && n == 1 && m == 1 && npu_dim_is_const(start[0]) ?
			 value_at(x, (size_t)(start[0].base + (int64_t)i * step[0])) : unknown;
}

static void values_concat(struct npu_shape *s, struct npu_dim *out, size_t count)
{
	size_t at = 0, i;
	unsigned int k;

	for (k = 0; k < s->n->num_inputs; k++) {
		int64_t n = npu_gtensor_const_elems(npu_shape_in(s, k));

		for (i = 0; i < (size_t)n && at < count; i++)
			out[at++] = value_at(npu_shape_in(s, k), i);
	}
}

static void values_where(struct npu_shape *s, struct npu_dim *out, size_t count)
{
	const struct npu_gtensor *c = npu_shape_in(s, 0), *a = npu_shape_in(s, 1),
				 *b = npu_shape_in(s, 2);
	size_t i;

	for (i = 0; i < count; i++) {
		struct npu_dim cond = value_at(c, operand_index(c, i));
		struct npu_dim x = value_at(a, operand_index(a, i)),
			       y = value_at(b, operand_index(b, i));

		if (npu_dim_is_const(cond))
			out[i] = cond.base ? x : y;
		else
			out[i] = npu_dim_equal(x, y) ? x : unknown;
	}
}

static void values_product(struct npu_shape *s, struct npu_dim *out)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	int64_t n = npu_gtensor_const_elems(x), i;

	*out = npu_dim_const(1);
	for (i = 0; i < n; i++)
		*out = value_binary(s, NPU_GOP_Mul, *out, value_at(x, (size_t)i));
}

static bool values_node(struct npu_shape *s, struct npu_dim *out, size_t count)
{
	size_t i;

	switch (s->n->op) {
	case NPU_GOP_Identity:
	case NPU_GOP_Cast:
	case NPU_GOP_Squeeze:
	case NPU_GOP_Unsqueeze:
	case NPU_GOP_Reshape:
	case NPU_GOP_Floor: case NPU_GOP_Ceil: case NPU_GOP_Flatten: case NPU_GOP_CastLike:
		for (i = 0; i < count; i++)
			out[i] = value_at(npu_shape_in(s, 0), i);
		return true;
	case NPU_GOP_Neg:
		for (i = 0; i < count; i++)
			out[i] = value_binary(s, NPU_GOP_Sub, npu_dim_const(0),
					      value_at(npu_shape_in(s, 0), i));
		return true;
	case NPU_GOP_Add:
	case NPU_GOP_Sub:
	case NPU_GOP_Mul:
	case NPU_GOP_Div:
	case NPU_GOP_Max:
	case NPU_GOP_Min:
	case NPU_GOP_Sum: case NPU_GOP_Equal: case NPU_GOP_Less: case NPU_GOP_Greater:
		values_binary(s, out, count);
		return true;
	case NPU_GOP_Gather:
		values_gather(s, out, count);
		return true;
	case NPU_GOP_Slice:
		values_slice(s, out, count);
		return true;
	case NPU_GOP_Concat:
		values_concat(s, out, count);
		return true;
	case NPU_GOP_Where:
		values_where(s, out, count);
		return true;
	case NPU_GOP_Expand:
		for (i = 0; i < count; i++)
			out[i] = value_at(npu_shape_in(s, 0), operand_index(npu_shape_in(s, 0), i));
		return true;
	case NPU_GOP_ReduceProd:
		values_product(s, out);
		return count == 1;
	default:
		return false;
	}
}

/* Split is the one that has several outputs. */
static int values_split(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	size_t at = 0, i;
	unsigned int k;

	if (x->rank != 1)
		return 0;
	for (k = 0; k < s->n->num_outputs; k++) {
		struct npu_gtensor *t = s->n->outputs[k];
		int64_t n = t ? npu_gtensor_const_elems(t) : 0;

		if (n < 0 || !t)
			return 0;
		t->value = npu_arena_array(&s->g->arena, (size_t)n + 1, sizeof(*t->value));
		if (!t->value)
			return -ENOMEM;
		t->num_values = (size_t)n;
		for (i = 0; i < (size_t)n; i++)
			t->value[i] = value_at(x, at++);
	}
	return 0;
}

int npu_value_node(struct npu_shape *s)
{
	struct npu_gtensor *t = s->n->num_outputs ? s->n->outputs[0] : NULL;
	bool any = false;
	int64_t count;
	unsigned int k;
	size_t i;

	for (k = 0; k < s->n->num_inputs; k++)
		any |= s->n->inputs[k] && s->n->inputs[k]->value;
	if (!any || !t || t->value || t->data || t->rank > 1)
		return 0;
	if (s->n->op == NPU_GOP_Split)
		return values_split(s);
	count = npu_gtensor_const_elems(t);
	if (count < 0 || count > NPU_VALUE_MAX)
		return 0;
	t->value = npu_arena_array(&s->g->arena, (size_t)count + 1, sizeof(*t->value));
	if (!t->value)
		return -ENOMEM;
	for (i = 0; i < (size_t)count; i++)
		t->value[i] = unknown;
	t->num_values = (size_t)count;
	if (!values_node(s, t->value, (size_t)count))
		t->value = NULL;
	return 0;
}
