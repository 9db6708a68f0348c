// SPDX-License-Identifier: MIT
/*
 * QuantizeLinear and its kin: types and shapes, and everything that can be wrong about scales and
 * zero points.
 */
#include <errno.h>
#include <math.h>

#include "compiler/fold.h"
#include "compiler/onnx_import.h"
#include "compiler/shape.h"

#define CODES		(1u << NPU_GT_I8 | 1u << NPU_GT_U8)
#define WIDE_CODES	(CODES | 1u << NPU_GT_I32)
#define REALS		(1u << NPU_GT_F32 | 1u << NPU_GT_F16 | 1u << NPU_GT_BF16)

static int want_type(struct npu_shape *s, const struct npu_gtensor *t, const char *what,
		     unsigned int types, const char *names)
{
	if (types >> t->type & 1)
		return 0;
	return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, what, "type %s, supported are %s",
			     npu_gtype_name(t->type), names);
}

static int check_scales(struct npu_shape *s, const struct npu_gtensor *scale, const char *what)
{
	int64_t count = npu_gtensor_is_const(scale) ? npu_gtensor_const_elems(scale) : 0;

	for (int64_t i = 0; i < count; i++) {
		double v = npu_gtensor_elem(scale, (size_t)i);

		if (!(v > 0) || !isfinite(v))
			return npu_diag_node(
				s->diag, -EINVAL, s->n, what,
				"scale %lld of '%s' is %g, expected a finite number above 0",
				(long long)i, scale->name, v);
	}
	return 0;
}

/* As many as there are scales; of i32 data only 0 is possible. */
static int check_zeros(struct npu_shape *s, const struct npu_gtensor *zero,
		       const struct npu_gtensor *scale, enum npu_gtype code, const char *what)
{
	if (!zero)
		return 0;
	if (zero->type != code)
		return npu_diag_node(s->diag, -EINVAL, s->n, what,
				     "'%s' has type %s, expected that of the codes, %s", zero->name,
				     npu_gtype_name(zero->type), npu_gtype_name(code));
	if (npu_gtensor_const_elems(zero) != npu_gtensor_const_elems(scale))
		return npu_diag_node(s->diag, -EINVAL, s->n, what,
				     "'%s' has %lld entries, expected one per scale, %lld",
				     zero->name, (long long)npu_gtensor_const_elems(zero),
				     (long long)npu_gtensor_const_elems(scale));
	if (code != NPU_GT_I32)
		return 0;
	for (int64_t i = 0; npu_gtensor_is_const(zero) && i < npu_gtensor_const_elems(zero); i++)
		if (npu_gtensor_elem_int(zero, (size_t)i))
			return npu_diag_node(s->diag, -EINVAL, s->n, what,
					     "'%s' is not 0, which it must be for i32", zero->name);
	return 0;
}

static int quant_axis(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0), *scale = npu_shape_in(s, 1);
	int axis = 0, err = 0;

	if (npu_gnode_int(s->n, "block_size", 0))
		return npu_diag_node(
			s->diag, -EOPNOTSUPP, s->n, "block_size",
			"blocks of %lld share a scale; one scale per tensor or per index "
			"of an axis is supported",
			(long long)npu_gnode_int(s->n, "block_size", 0));
	if (!npu_gtensor_is_static(scale))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
				     "scale '%s': its length must be known", scale->name);
	if (npu_gtensor_const_elems(scale) == 1)
		return npu_gnode_set_int(s->g, s->n, "axis", -1);
	err = npu_shape_axis_arg(s, "axis", npu_gnode_int(s->n, "axis", 1), x->rank, &axis);
	if (err)
		return err;
	if (scale->rank != 1 || !npu_dim_equal(scale->dim[0], x->dim[axis]))
		return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
				     "scale '%s': expected one value per entry of axis %d",
				     scale->name, axis);
	if (!npu_gtensor_is_const(scale))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, NULL,
				     "scale '%s': several of them must be constants", scale->name);
	return npu_gnode_set_int(s->g, s->n, "axis", axis);
}

static int dynamic(struct npu_shape *s)
{
	const struct npu_gtensor *x = npu_shape_in(s, 0);
	int err = want_type(s, x, "x", REALS, "floats");

	if (!err)
		err = npu_shape_out(s, 0, NPU_GT_U8, x->rank, x->dim);
	if (!err)
		err = npu_shape_out(s, 1, NPU_GT_F32, 0, NULL);
	return err ? err : npu_shape_out(s, 2, NPU_GT_U8, 0, NULL);
}

int npu_shape_quant(struct npu_shape *s)
{
	const bool de = s->n->op == NPU_GOP_DequantizeLinear;
	const struct npu_gtensor *x = npu_shape_in(s, 0), *scale = npu_shape_in(s, 1),
				 *zero = npu_shape_in(s, 2);
	int wanted = (int)npu_gnode_int(s->n, "output_dtype", 0), err;
	enum npu_gtype type = de ? scale->type : zero ? zero->type : NPU_GT_U8;

	if (s->n->op == NPU_GOP_DynamicQuantizeLinear)
		return dynamic(s);
	if (wanted)
		type = npu_onnx_type(wanted);
	if (type == NPU_GT_NONE || !((de ? REALS : CODES) >> type & 1))
		return npu_diag_node(s->diag, -EOPNOTSUPP, s->n,
				     de ? "output_dtype" : "y_zero_point",
				     "element type %s is not supported, %s are",
				     wanted ? npu_onnx_type_name(wanted) : npu_gtype_name(type),
				     de ? "floats" : "i8 and u8");
	err = de ? want_type(s, x, "x", WIDE_CODES, "i8, u8 and i32") :
		   want_type(s, x, "x", REALS | 1u << NPU_GT_I32, "floats and i32");
	if (!err)
		err = want_type(s, scale, de ? "x_scale" : "y_scale", REALS, "floats");
	if (!err)
		err = quant_axis(s);
	if (!err)
		err = check_scales(s, scale, de ? "x_scale" : "y_scale");
	if (!err)
		err = check_zeros(s, zero, scale, de ? x->type : type,
				  de ? "x_zero_point" : "y_zero_point");
	return err ? err : npu_shape_out(s, 0, type, x->rank, x->dim);
}
