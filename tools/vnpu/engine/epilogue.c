// SPDX-License-Identifier: MIT
#include <math.h>
#include "epilogue.h"
#include "npu_math.h"

float npu_elem_load(const struct npu_operand *op, const void *p)
{
	npu_u16 h;
	npu_s32 i;
	float f;

	switch (op->dtype) {
	case NPU_F32:
		memcpy(&f, p, sizeof(f));
		return f;
	case NPU_F16:
		memcpy(&h, p, sizeof(h));
		return npu_f16_to_f32(h);
	case NPU_BF16:
		memcpy(&h, p, sizeof(h));
		return npu_bf16_to_f32(h);
	case NPU_I8:
		i = *(const signed char *)p;
		break;
	case NPU_U8:
		i = *(const unsigned char *)p;
		break;
	default:
		memcpy(&i, p, sizeof(i));
	}
	if (op->scale != 0.0f)
		return (float)((npu_s64)i - op->zero_point) * op->scale;
	return (float)i;
}

/* To an integer type: rounded with a scale, else truncated; saturated; NaN as 0. */
static npu_s32 quantize(const struct npu_operand *op, float v)
{
	npu_s32 lo = op->dtype == NPU_I8 ? -128 : op->dtype == NPU_U8 ? 0 : INT32_MIN;
	npu_s32 hi = op->dtype == NPU_I8 ? 127 : op->dtype == NPU_U8 ? 255 : INT32_MAX;
	double d;

	v = v != v ? 0.0f : v;
	if (op->scale != 0.0f)
		d = (double)rintf(v / op->scale) + op->zero_point;
	else
		d = truncf(v);
	return d <= lo ? lo : d >= hi ? hi : (npu_s32)d;
}

void npu_elem_store(const struct npu_operand *op, void *p, float v)
{
	npu_u16 h;
	npu_s32 i;

	switch (op->dtype) {
	case NPU_F32:
		v = npu_canon_f32(v);
		memcpy(p, &v, sizeof(v));
		return;
	case NPU_F16:
		h = npu_f32_to_f16(v);
		memcpy(p, &h, sizeof(h));
		return;
	case NPU_BF16:
		h = npu_f32_to_bf16(v);
		memcpy(p, &h, sizeof(h));
		return;
	case NPU_I8:
	case NPU_U8:
		*(unsigned char *)p = (unsigned char)quantize(op, v);
		return;
	default:
		i = quantize(op, v);
		memcpy(p, &i, sizeof(i));
	}
}

npu_epi_fn npu_epi_select(enum npu_simd simd)
{
	switch (simd) {
#if defined(__x86_64__)
	case NPU_SIMD_AVX512:
		return npu_epi_avx512;
	case NPU_SIMD_AVX2:
		return npu_epi_avx2;
#endif
	default:
		return npu_epi_portable;
	}
}

static size_t padded(npu_u32 outputs)
{
	/* Kernels read whole pairs of panels from any channel on. */
	return ((size_t)outputs + 4 * NPU_PANEL - 1) & ~(size_t)(NPU_PANEL - 1);
}

size_t npu_epi_bytes(npu_u32 outputs)
{
	return padded(outputs) * 4 * sizeof(float) + 256;
}

/*
 * A vector with any stride (or one element for all) as contiguous 32-bit words, filled up with
 * zeros.
 */
static void *vector_pack(const struct npu_exec *x, unsigned int slot, npu_u32 outputs, char **mem)
{
	const struct npu_operand *op = &x->operand[slot];
	const char *src = x->ptr[slot];
	char *dst = *mem;
	bool dense;
	npu_u32 i;

	if (op->dtype == NPU_NONE)
		return NULL;
	dense = op->rank && op->dim[0] == outputs && op->stride[0] == 4;
	if (dense)
		memcpy(dst, src, (size_t)outputs * 4);
	for (i = 0; !dense && i < outputs; i++)
		memcpy(dst + (size_t)i * 4,
		       src + (op->rank && op->dim[0] > 1 ? op->stride[0] * (npu_s64)i : 0), 4);
	memset(dst + (size_t)outputs * 4, 0, (padded(outputs) - outputs) * 4);
	*mem += padded(outputs) * 4;
	return dst;
}

static bool is_below(float v, float bound)
{
	return v > -bound && v < bound;
}

/* None of these makes a NaN of numbers that stay far from overflow. */
static bool act_is_tame(npu_u32 act, float alpha, float beta)
{
	const float bound = 0x1p10f;

	switch (act) {
	case NPU_ACT_NONE:
	case NPU_ACT_RELU:
	case NPU_ACT_RELU6:
		return true;
	case NPU_ACT_CLIP:
		return alpha < bound && beta > -bound;
	case NPU_ACT_LEAKY_RELU:
	case NPU_ACT_HARD_SIGMOID:
	case NPU_ACT_HARD_SWISH:
		return is_below(alpha, bound) && is_below(beta, bound);
	default:
		return false;
	}
}

/*
 * A sum is below 2^31, times a scale below 2^20, grown by at most 2^10 in each step, joined with
 * a residual below 2^18: all far below 2^127, so that there is no infinity to make a NaN of.
 */
static bool is_tame(const struct npu_epi *e, npu_u32 outputs)
{
	npu_u32 i;

	if (!e->scale || e->slope || !act_is_tame(e->act, e->alpha, e->beta) ||
	    !act_is_tame(e->act2, e->alpha2, e->beta2) || !is_below(e->post_mul, 0x1p10f) ||
	    !is_below(e->post_add, 0x1p10f))
		return false;
	if (e->res && ((e->res->dtype != NPU_I8 && e->res->dtype != NPU_U8) ||
		       e->res->scale > 0x1p10f))
		return false;
	for (i = 0; i < outputs; i++)
		if (!is_below(e->scale[i], 0x1p20f))
			return false;
	return true;
}

void npu_epi_init(struct npu_epi *e, const struct npu_exec *x, unsigned int first_slot,
		  unsigned int first_param, bool integer, void *mem)
{
	/* The opcodes have these in one run, in the order of CONV's. */
	unsigned int s = first_slot - NPU_CONV_BIAS, p = first_param - NPU_CONV_P_ACT, i;
	npu_u32 outputs = x->operand[0].dim[x->operand[0].rank - 1];
	const struct npu_operand *table = &x->operand[s + NPU_CONV_TABLE];
	const char *codes = x->ptr[s + NPU_CONV_TABLE];
	char *at = mem;

	memset(e, 0, sizeof(*e));
	e->out = &x->operand[0];
	e->out_chan = e->out->stride[e->out->rank - 1];
	if (integer)
		e->ibias = vector_pack(x, s + NPU_CONV_BIAS, outputs, &at);
	else
		e->bias = vector_pack(x, s + NPU_CONV_BIAS, outputs, &at);
	e->scale = vector_pack(x, s + NPU_CONV_SCALE, outputs, &at);
	e->slope = vector_pack(x, s + NPU_CONV_ACT_PARAM, outputs, &at);
	e->raw = integer && !e->scale && e->out->dtype == NPU_I32 && e->out->scale == 0.0f;
	if (table->dtype != NPU_NONE) {
		for (i = 0; i < 256; i++)
			at[i] = codes[table->stride[0] * i];
		e->table = (npu_u8 *)at;
	}
	e->act = x->param[p + NPU_CONV_P_ACT];
	e->alpha = npu_exec_param_f32(x, p + NPU_CONV_P_ACT_ALPHA);
	e->beta = npu_exec_param_f32(x, p + NPU_CONV_P_ACT_BETA);
	e->post_mul = npu_exec_param_f32(x, p + NPU_CONV_P_POST_MUL);
	e->post_add = npu_exec_param_f32(x, p + NPU_CONV_P_POST_ADD);
	e->post = e->post_mul != 1.0f || e->post_add != 0.0f;
	e->act2 = x->param[p + NPU_CONV_P_ACT2];
	e->alpha2 = npu_exec_param_f32(x, p + NPU_CONV_P_ACT2_ALPHA);
	e->beta2 = npu_exec_param_f32(x, p + NPU_CONV_P_ACT2_BETA);
	if (x->operand[s + NPU_CONV_RESIDUAL].dtype != NPU_NONE) {
		e->join = x->param[p + NPU_CONV_P_JOIN];
		if (e->join)
			e->res = &x->operand[s + NPU_CONV_RESIDUAL];
		e->res_chan = npu_epi_res_stride(e, e->out->rank - 1);
	}
	e->tame = is_tame(e, outputs);
}

ptrdiff_t npu_epi_res_stride(const struct npu_epi *e, unsigned int d)
{
	unsigned int skip;

	if (!e->res)
		return 0;
	skip = e->out->rank - e->res->rank;
	if (d < skip || e->res->dim[d - skip] == 1)
		return 0;
	return e->res->stride[d - skip];
}
