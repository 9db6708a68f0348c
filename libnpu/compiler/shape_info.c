// SPDX-License-Identifier: MIT
/* Operators whose result is about shapes: Constant, Shape, Size, ConstantOfShape, Range. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/shape.h"

#define CONST_MAX	(256u << 20)	/* largest constant that is made up, bytes */

static int constant(struct npu_shape *s)
{
	struct npu_gtensor *t = s->n->outputs[0];
	const struct npu_attr *a;
	size_t i;

	if (s->n->num_attrs != 1)
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "%u attributes, expected exactly one value", s->n->num_attrs);
	a = &s->n->attrs[0];
	switch (a->type) {
	case NPU_ATTR_TENSOR:
		memcpy(t->dim, a->t->dim, sizeof(t->dim));
		t->type = a->t->type;
		t->rank = a->t->rank;
		t->data = a->t->data;
		t->size = a->t->size;
		return 0;
	case NPU_ATTR_FLOAT: case NPU_ATTR_FLOATS:
		t->type = NPU_GT_F32;
		break;
	default:
		t->type = NPU_GT_I64;
		break;
	}
	t->rank = a->type == NPU_ATTR_INTS || a->type == NPU_ATTR_FLOATS;
	t->dim[0] = npu_dim_const((int64_t)a->count);
	t->size = (t->rank ? a->count : 1) * npu_gtype_size(t->type);
	t->data = npu_arena_alloc(&s->g->arena, t->size ? t->size : 1);
	if (!t->data)
		return -ENOMEM;
	for (i = 0; i < (t->rank ? a->count : 1); i++) {
		if (t->type == NPU_GT_F32)
			((float *)t->data)[i] = t->rank ? a->floats[i] : a->f;
		else
			((int64_t *)t->data)[i] = t->rank ? a->ints[i] : a->i;
	}
	return 0;
}

static int set_values(struct npu_shape *s, struct npu_gtensor *t, const struct npu_dim *v,
		      size_t count)
{
	t->value = npu_arena_array(&s->g->arena, count ? count : 1, sizeof(*v));
	if (!t->value)
		return -ENOMEM;
	memcpy(t->value, v, count * sizeof(*v));
	t->num_values = count;
	return 0;
}

static int shape_of(struct npu_shape *s, const struct npu_gtensor *x)
{
	int64_t start = npu_gnode_int(s->n, "start", 0), end = npu_gnode_int(s->n, "end", x->rank);
	struct npu_dim len;
	int err;

	start = start < 0 ? start + x->rank : start;
	end = end < 0 ? end + x->rank : end;
	start = start < 0 ? 0 : start > x->rank ? x->rank : start;
	end = end < start ? start : end > x->rank ? x->rank : end;
	len = npu_dim_const(end - start);
	err = npu_shape_out(s, 0, NPU_GT_I64, 1, &len);
	return err ? err : set_values(s, s->n->outputs[0], x->dim + start, (size_t)(end - start));
}

static int size_of(struct npu_shape *s, const struct npu_gtensor *x)
{
	struct npu_dim n;
	int err;

	if (npu_dims_product(x->dim, x->rank, &n))
		return npu_shape_nonlinear(s, NULL, x->dim[x->rank - 1], 0);
	err = npu_shape_out(s, 0, NPU_GT_I64, 0, NULL);
	return err ? err : set_values(s, s->n->outputs[0], &n, 1);
}

/*
 * A filled tensor; the shape may be symbolic only if somebody else (Expand) can make it, so it must
 * be fixed here.
 */
static int constant_of_shape(struct npu_shape *s)
{
	const struct npu_attr *a = npu_gnode_attr(s->n, "value");
	struct npu_gtensor *t = s->n->outputs[0];
	struct npu_dim list[2 * NPU_GRAPH_MAX_RANK];
	int n = npu_shape_list(s, NULL, 0, list), i, err;
	size_t bytes, size, k;

	if (n < 0)
		return n;
	if (a && (a->type != NPU_ATTR_TENSOR || npu_gtensor_const_elems(a->t) != 1 ||
		  !npu_gtype_size(a->t->type)))
		return npu_diag_node(s->diag, -EINVAL, s->n, "value",
				     "expected a tensor with one number");
	err = npu_shape_out(s, 0, a ? a->t->type : NPU_GT_F32, n, list);
	if (err)
		return err;
	size = bytes = npu_gtype_size(t->type);
	for (i = 0; i < n; i++) {
		if (!npu_dim_is_const(list[i]))
			return npu_diag_node(
				s->diag, -EOPNOTSUPP, s->n, NULL,
				"dimension %d depends on the symbol %s; give this size exactly", i,
				s->g->syms[list[i].sym].name);
		if (__builtin_mul_overflow(bytes, (size_t)list[i].base, &bytes) ||
		    bytes > CONST_MAX)
			return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
					     "the constant is larger than %u MiB", CONST_MAX >> 20);
	}
	t->data = npu_arena_alloc(&s->g->arena, bytes ? bytes : 1);
	if (!t->data)
		return -ENOMEM;
	t->size = bytes;
	for (k = 0; a && k < bytes; k += size)
		memcpy((char *)t->data + k, a->t->data, size);
	return 0;
}

static void range_fill(struct npu_shape *s, struct npu_gtensor *t, size_t count)
{
	uint64_t start = (uint64_t)npu_gtensor_elem_int(npu_shape_in(s, 0), 0);
	uint64_t step = (uint64_t)npu_gtensor_elem_int(npu_shape_in(s, 2), 0);
	double first = npu_gtensor_elem(npu_shape_in(s, 0), 0),
	       delta = npu_gtensor_elem(npu_shape_in(s, 2), 0);
	size_t i;

	for (i = 0; i < count; i++) {
		if (t->type == NPU_GT_F32)
			((float *)t->data)[i] = (float)(first + (double)i * delta);
		else if (t->type == NPU_GT_I64)
			((int64_t *)t->data)[i] = (int64_t)(start + i * step);
		else
			((int32_t *)t->data)[i] = (int32_t)(start + i * step);
	}
}

static int range(struct npu_shape *s)
{
	struct npu_gtensor *t = s->n->outputs[0];
	enum npu_gtype type = npu_shape_in(s, 0)->type;
	double v[3], count;
	struct npu_dim len;
	unsigned int i;
	int err;

	for (i = 0; i < 3; i++)
		if (!npu_gtensor_scalar(npu_shape_in(s, i), &v[i]) ||
		    npu_shape_in(s, i)->type != type)
			return npu_diag_node(
				s->diag, -EOPNOTSUPP, s->n, NULL,
				"input %u '%s' must be a constant number; give the sizes exactly",
				i, npu_shape_in(s, i)->name);
	if (type != NPU_GT_F32 && type != NPU_GT_I64 && type != NPU_GT_I32)
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
				     "element type %s is not supported", npu_gtype_name(type));
	count = ceil((v[1] - v[0]) / v[2]);
	if (!(count > 0))
		count = 0;
	if (v[2] == 0 || !(count * (double)npu_gtype_size(type) <= CONST_MAX) ||
	    isnan(v[0] + v[1] + v[2]))
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL, "from %g to %g in steps of %g",
				     v[0], v[1], v[2]);
	len = npu_dim_const((int64_t)count);
	err = npu_shape_out(s, 0, type, 1, &len);
	if (err)
		return err;
	t->size = (size_t)count * npu_gtype_size(type);
	t->data = npu_arena_alloc(&s->g->arena, t->size ? t->size : 1);
	if (!t->data)
		return -ENOMEM;
	range_fill(s, t, (size_t)count);
	return 0;
}

int npu_shape_info(struct npu_shape *s)
{
	switch (s->n->op) {
	case NPU_GOP_Constant:
		return constant(s);
	case NPU_GOP_Shape:
		return shape_of(s, npu_shape_in(s, 0));
	case NPU_GOP_Size:
		return size_of(s, npu_shape_in(s, 0));
	case NPU_GOP_ConstantOfShape:
		return constant_of_shape(s);
	default:
		return range(s);
	}
}
