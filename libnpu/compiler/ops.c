// SPDX-License-Identifier: MIT
/* Tables of operators, activations and element types. */
#include <math.h>
#include <string.h>

#include "compiler/graph.h"
#include "npu_half.h"

static const struct npu_gop_info op_table[NPU_GOP_COUNT] = {
	[NPU_GOP_NONE] = { "None", "npu", 1, 0, 0, 0, 0, NPU_GF_OTHER, "" },
#define NPU_GOP(name, domain, since, in_min, in_max, out_min, out_max, family, attrs) \
	[NPU_GOP_##name] = { #name, domain, since, in_min, in_max, out_min, out_max, family, \
			     attrs },
#include "compiler/ops.def"
#undef NPU_GOP
};

/* Operators that com.microsoft defines with the meaning of one of ours. */
static const struct {
	const char *name;
	enum npu_gop op;
} ms_table[] = {
	{ "Gelu", NPU_GOP_Gelu },
	{ "QuantizeLinear", NPU_GOP_QuantizeLinear },
	{ "DequantizeLinear", NPU_GOP_DequantizeLinear },
};

const struct npu_gop_info *npu_gop_info(enum npu_gop op)
{
	return &op_table[op < NPU_GOP_COUNT ? op : NPU_GOP_NONE];
}

enum npu_gop npu_gop_find(const char *domain, const char *name)
{
	size_t i;

	if (!strcmp(domain, "ai.onnx"))
		domain = "";
	if (!strcmp(domain, "com.microsoft")) {
		for (i = 0; i < sizeof(ms_table) / sizeof(ms_table[0]); i++)
			if (!strcmp(ms_table[i].name, name))
				return ms_table[i].op;
	}
	for (i = NPU_GOP_NONE + 1; i < NPU_GOP_COUNT; i++)
		if (!strcmp(op_table[i].name, name) && !strcmp(op_table[i].domain, domain))
			return (enum npu_gop)i;
	return NPU_GOP_NONE;
}

const char *npu_gnode_op_name(const struct npu_gnode *n)
{
	return n->host ? n->host->name : npu_gop_info(n->model_op)->name;
}

const char *npu_gact_name(enum npu_act_kind kind)
{
	static const char *const names[NPU_GA_COUNT] = {
		[NPU_GA_NONE] = "none",
		[NPU_GA_RELU] = "relu",
		[NPU_GA_CLIP] = "clip",
		[NPU_GA_LEAKY] = "leaky",
		[NPU_GA_PRELU] = "prelu",
		[NPU_GA_SIGMOID] = "sigmoid",
		[NPU_GA_TANH] = "tanh",
		[NPU_GA_HARDSIGMOID] = "hardsigmoid",
		[NPU_GA_HARDSWISH] = "hardswish",
		[NPU_GA_SILU] = "silu",
		[NPU_GA_GELU_ERF] = "gelu_erf",
		[NPU_GA_GELU_TANH] = "gelu_tanh",
		[NPU_GA_ELU] = "elu",
		[NPU_GA_SELU] = "selu",
		[NPU_GA_CELU] = "celu",
		[NPU_GA_SOFTPLUS] = "softplus",
		[NPU_GA_SOFTSIGN] = "softsign",
		[NPU_GA_MISH] = "mish",
		[NPU_GA_THRESHOLD] = "threshold",
	};

	return kind < NPU_GA_COUNT ? names[kind] : "?";
}

static const struct {
	const char *name;
	size_t size;
} type_table[NPU_GT_COUNT] = {
	[NPU_GT_NONE] = { "none", 0 }, [NPU_GT_F32] = { "f32", 4 }, [NPU_GT_F16] = { "f16", 2 },
	[NPU_GT_BF16] = { "bf16", 2 }, [NPU_GT_I8] = { "i8", 1 }, [NPU_GT_U8] = { "u8", 1 },
	[NPU_GT_I32] = { "i32", 4 }, [NPU_GT_I64] = { "i64", 8 }, [NPU_GT_BOOL] = { "bool", 1 },
	[NPU_GT_F64] = { "f64", 8 }, [NPU_GT_I16] = { "i16", 2 }, [NPU_GT_U16] = { "u16", 2 },
	[NPU_GT_U32] = { "u32", 4 }, [NPU_GT_U64] = { "u64", 8 }, [NPU_GT_STRING] = { "string", 0 },
};

size_t npu_gtype_size(enum npu_gtype type)
{
	return type < NPU_GT_COUNT ? type_table[type].size : 0;
}

const char *npu_gtype_name(enum npu_gtype type)
{
	return type < NPU_GT_COUNT ? type_table[type].name : "?";
}

static double quantized_elem(const struct npu_gtensor *t, size_t i)
{
	size_t c = npu_gquant_index(t, i);
	int64_t code = npu_gtensor_elem_int(t, i) - npu_gquant_zero(t->quant, c);

	return (double)((float)code * npu_gquant_scale(t->quant, c));
}

double npu_gtensor_elem(const struct npu_gtensor *t, size_t i)
{
	const unsigned char *p = (const unsigned char *)t->data + i * npu_gtype_size(t->type);
	union { float f; double d; uint64_t u64; uint16_t u16; } v = { 0 };

	if (t->quant)
		return quantized_elem(t, i);
	memcpy(&v, p, npu_gtype_size(t->type));
	switch (t->type) {
	case NPU_GT_F32: return v.f;
	case NPU_GT_F64: return v.d;
	case NPU_GT_F16: return npu_half_widen(v.u16);
	case NPU_GT_BF16: return npu_bfloat_widen(v.u16);
	case NPU_GT_U64: return (double)v.u64;
	default: return (double)npu_gtensor_elem_int(t, i);
	}
}

int64_t npu_gtensor_elem_int(const struct npu_gtensor *t, size_t i)
{
	const unsigned char *p = (const unsigned char *)t->data + i * npu_gtype_size(t->type);
	union {
		int8_t i8;
		int16_t i16;
		uint16_t u16;
		int32_t i32;
		uint32_t u32;
		int64_t i64;
	} v = { 0 };
	double d;

	memcpy(&v, p, npu_gtype_size(t->type));
	switch (t->type) {
	case NPU_GT_I8: return v.i8;
	case NPU_GT_U8: return *p;
	case NPU_GT_BOOL: return !!*p;
	case NPU_GT_I16: return v.i16;
	case NPU_GT_U16: return v.u16;
	case NPU_GT_I32: return v.i32;
	case NPU_GT_U32: return v.u32;
	case NPU_GT_I64: case NPU_GT_U64: return v.i64;
	case NPU_GT_F32: case NPU_GT_F64: case NPU_GT_F16: case NPU_GT_BF16:
		d = npu_gtensor_elem(t, i);
		/* casting NaN or a value out of range is undefined in C */
		return d >= -9.2e18 && d <= 9.2e18 ? (int64_t)d : 0;
	default: return 0;
	}
}

bool npu_gtensor_scalar(const struct npu_gtensor *t, double *value)
{
	if (!npu_gtensor_is_const(t) || !npu_gtype_size(t->type) || npu_gtensor_const_elems(t) != 1)
		return false;
	*value = npu_gtensor_elem(t, 0);
	return true;
}
