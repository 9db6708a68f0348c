// SPDX-License-Identifier: MIT
/* Constants of the graph, and those that lowering makes, as elements of the weight section. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/half.h"
#include "compiler/lower.h"
#include "compiler/weights.h"
#include "npu_half.h"

/* Constants up to this many elements stay f32 in an f16 job: they cost nothing and lose nothing. */
#define SMALL_CONST	16384

static void store_elem(uint8_t *p, enum npu_dtype dtype, const struct npu_gtensor *t, size_t i)
{
	int64_t n;
	float f;
	uint16_t h;

	switch (dtype) {
	case NPU_F32:
		f = (float)npu_gtensor_elem(t, i);
		memcpy(p, &f, 4);
		break;
	case NPU_F16:
	case NPU_BF16:
		f = (float)npu_gtensor_elem(t, i);
		h = dtype == NPU_F16 ? npu_half_narrow(f) : npu_bfloat_narrow(f);
		memcpy(p, &h, 2);
		break;
	default:
		n = npu_gtensor_elem_int(t, i);
		memcpy(p, &n, npu_dtype_bits(dtype) / 8);
		break;
	}
}

int npu_lower_const(struct npu_lower *l, const struct npu_gtensor *t, enum npu_dtype dtype,
		    struct npu_lview *out)
{
	size_t count = (size_t)npu_gtensor_const_elems(t), size = npu_dtype_bits(dtype) / 8;
	uint64_t offset;
	uint8_t *p;
	int err;

	npu_lview_of(t, dtype, out);
	p = npu_weights_reserve(l->weights, count * size);
	if (!p)
		return -ENOMEM;
	if (dtype == NPU_F32 && t->type == NPU_GT_F32)
		memcpy(p, t->data, count * size);
	else
		for (size_t i = 0; i < count; i++)
			store_elem(p + i * size, dtype, t, i);
	err = npu_weights_add(l->weights, p, count * size, &offset);
	if (err)
		return err;
	out->buf = l->weight_buf;
	out->offset = npu_poly_const((int64_t)offset);
	return npu_lview_dense(l, out, NULL, true);
}

int npu_lower_vector(struct npu_lower *l, const float *data, size_t count, struct npu_lview *out)
{
	uint64_t offset;
	int err = npu_weights_add(l->weights, data, count * sizeof(*data), &offset);

	if (err)
		return err;
	memset(out, 0, sizeof(*out));
	out->dtype = NPU_F32;
	out->rank = 1;
	out->dim[0] = npu_dim_const((int64_t)count);
	out->stride[0] = npu_poly_const(4);
	out->buf = l->weight_buf;
	out->offset = npu_poly_const((int64_t)offset);
	return 0;
}

enum npu_dtype npu_lower_const_dtype(const struct npu_lower *l, const struct npu_gtensor *t)
{
	enum npu_dtype dtype = npu_lower_dtype(l, t);
	struct npu_half_fit fit = { 0 };
	int64_t count = npu_gtensor_const_elems(t);

	if (t->quant && t->quant->axis >= 0)
		return NPU_F32;	/* one operand has one scale */
	if (dtype != NPU_F16 || t->type != NPU_GT_F32)
		return dtype;
	for (int64_t i = 0; i < count && count > SMALL_CONST; i++)
		npu_half_fit_add(&fit, (float)npu_gtensor_elem(t, (size_t)i));
	return count > SMALL_CONST && npu_half_fit_ok(&fit) ? NPU_F16 : NPU_F32;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The code that the device would store: divided, rounded to even, saturated. */
static int64_t quantized_code(const struct npu_lview *like, double value)
{
	double lo = like->dtype == NPU_I8 ? -128 : like->dtype == NPU_U8 ? 0 : INT32_MIN;
	double hi = like->dtype == NPU_I8 ? 127 : like->dtype == NPU_U8 ? 255 : INT32_MAX;
	double code = (double)rintf((float)value / like->scale) + like->zero_point;

	if (isnan(code))
		code = like->zero_point;
	return (int64_t)(code < lo ? lo : code > hi ? hi : code);
}

/* What @value is stored as in an element like @like's. */
static uint64_t elem_bits(const struct npu_lview *like, double value)
{
	uint64_t bits = 0;
	int64_t n = isnan(value)     ? 0 :
		    value >= 9.2e18  ? INT64_MAX :
		    value <= -9.2e18 ? INT64_MIN :
				       (int64_t)value;
	float f = (float)value;

	if (like->scale != 0 && !npu_dtype_is_float(like->dtype))
		n = quantized_code(like, value);
	switch (like->dtype) {
	case NPU_F32:
		memcpy(&bits, &f, sizeof(f));
		return bits;
	case NPU_F16:
		return npu_half_narrow(f);
	case NPU_BF16:
		return npu_bfloat_narrow(f);
	case NPU_BOOL:
		return value != 0;
	default:
		memcpy(&bits, &n, npu_dtype_bits(like->dtype) / 8);
		return bits;
	}
}

int npu_lower_scalar(struct npu_lower *l, enum npu_dtype dtype, double value, struct npu_lview *out)
{
	const struct npu_lview like = { .dtype = dtype };

	return npu_lower_scalar_like(l, &like, value, out);
}

int npu_lower_scalar_like(struct npu_lower *l, const struct npu_lview *like, double value,
			  struct npu_lview *out)
{
	const struct npu_lview v = { .dtype = like->dtype, .scale = like->scale,
				     .zero_point = like->zero_point };
	uint64_t bits = elem_bits(&v, value), offset;
	int err = npu_weights_add(l->weights, &bits, npu_dtype_bits(v.dtype) / 8, &offset);

	*out = v;
	out->buf = l->weight_buf;
	out->offset = npu_poly_const((int64_t)offset);
	return err;
}

void npu_linsn_bits(struct npu_linsn *insn, unsigned int lo, const struct npu_lview *like,
		    double value)
{
	uint64_t bits = elem_bits(like, value);

	insn->param[lo] = (uint32_t)bits;
	insn->param[lo + 1] = (uint32_t)(bits >> 32);
}
