// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quant_case.h"

struct quant_reach quant_reach;

uint32_t quant_random(uint32_t *seed, uint32_t below)
{
	uint64_t x = *seed + 0x9e3779b9u;

	*seed += 0x6d2b79f5u;
	x = (x ^ (x >> 16)) * 0x85ebca6bu;
	x = ((uint32_t)x ^ ((uint32_t)x >> 13)) * 0xc2b2ae35ull;
	return (uint32_t)((((uint32_t)x ^ ((uint32_t)x >> 16)) * (uint64_t)below) >> 32);
}

float quant_scale(uint32_t *seed)
{
	return ldexpf(1 + (float)quant_random(seed, 1 << 20) / (1 << 20),
		      -(int)quant_random(seed, 9));
}

struct quant_type quant_any_type(uint32_t *seed, bool is_unsigned, float scale)
{
	struct quant_type q = { is_unsigned ? 2 : 3, scale, 0 };

	q.zero = quant_low(q) + (int)quant_random(seed, 256);
	quant_reach.zero[q.zero - quant_low(q)] = 1;
	return q;
}

enum npu_npy_type quant_npy(int onnx_type)
{
	return onnx_type == 2	? NPU_NPY_U8
	       : onnx_type == 3 ? NPU_NPY_I8
	       : onnx_type == 6 ? NPU_NPY_I32
				: NPU_NPY_F32;
}

void quant_put(struct npu_npy *a, size_t i, int code)
{
	((uint8_t *)a->data)[i] = (uint8_t)code;
}

int quant_code(const struct npu_npy *a, size_t i)
{
	return a->type == NPU_NPY_I8 ? ((const int8_t *)a->data)[i] : ((const uint8_t *)a->data)[i];
}

void quant_codes(struct npu_npy *a, uint32_t *seed, struct quant_type q, int bits, int rank,
		 const int64_t *dims)
{
	int low = q.type == 3 ? -(1 << (bits - 1)) : 0, span = (1 << bits) - 1;
	bool extreme = !quant_random(seed, 4);

	if (array_alloc(a, quant_npy(q.type), rank, dims))
		abort();
	for (size_t i = 0; i < a->count; i++) {
		int v = extreme ? (int)quant_random(seed, 2) * span
				: (int)quant_random(seed, (uint32_t)span + 1);

		quant_put(a, i, low + v);
		quant_reach.at_limits += v == 0 || v == span;
	}
}

static int onnx_type(const struct npu_npy *a)
{
	switch (a->type) {
	case NPU_NPY_U8: return 2;
	case NPU_NPY_I8: return 3;
	case NPU_NPY_I32: return 6;
	case NPU_NPY_BOOL: return 9;
	default: return 1;
	}
}

void quant_input(struct quant_case *c, struct ob *b, const char *name, struct npu_npy *a)
{
	struct named_array *in = &c->in[c->num_in++];

	ob_input(b, name, onnx_type(a), a->rank, a->dims);
	snprintf(in->name, sizeof(in->name), "%s", name);
	in->arr = *a;
}

void quant_const(struct ob *b, const char *name, struct npu_npy *a)
{
	ob_const(b, name, onnx_type(a), a->rank, a->dims, a->data,
		 a->count * npu_npy_type_size(a->type));
	npu_npy_free(a);
}

void quant_params(struct ob *b, const char *name, struct quant_type q)
{
	uint8_t zero = (uint8_t)q.zero;
	char text[40];

	snprintf(text, sizeof(text), "%s_s", name);
	ob_const(b, text, 1, 0, NULL, &q.scale, 4);
	snprintf(text, sizeof(text), "%s_z", name);
	ob_const(b, text, q.type, 0, NULL, &zero, 1);
}

int quant_store(float v, struct quant_type q)
{
	long code = v > 1e6f ? 1000000 : v < -1e6f ? -1000000 : lrintf(v);

	code += q.zero;
	quant_reach.elements++;
	if (code >= quant_low(q) && code <= quant_low(q) + 255)
		return (int)code;
	quant_reach.saturated++;
	return code < quant_low(q) ? quant_low(q) : quant_low(q) + 255;
}

void quant_weight_init(struct quant_weight *w, uint32_t *seed, bool is_unsigned, int64_t outs,
			bool plain)
{
	w->q = quant_any_type(seed, is_unsigned, quant_scale(seed));
	w->outs = outs;
	w->per_output = quant_random(seed, 2);
	w->scale = calloc((size_t)outs, sizeof(*w->scale));
	w->zero = calloc((size_t)outs, sizeof(*w->zero));
	for (int64_t o = 0; o < outs; o++) {
		bool own = w->per_output && !plain;

		w->scale[o] = w->per_output ? quant_scale(seed) : w->q.scale;
		w->zero[o] = own ? quant_any_type(seed, is_unsigned, 1).zero : w->q.zero;
	}
}

void quant_weight_params(struct ob *b, struct quant_weight *w, bool scales)
{
	uint8_t *zero = malloc((size_t)w->outs);

	for (int64_t o = 0; o < w->outs; o++)
		zero[o] = (uint8_t)w->zero[o];
	if (scales)
		ob_const(b, "w_s", 1, w->per_output, &w->outs, w->scale,
			 w->per_output ? 4 * (size_t)w->outs : 4);
	ob_const(b, "w_z", w->q.type, w->per_output, &w->outs, zero,
		 w->per_output ? (size_t)w->outs : 1);
	free(zero);
	free(w->scale);
	free(w->zero);
}

float quant_result_scale(uint32_t *seed, float in, float w, int64_t depth)
{
	return in * w * 20 * sqrtf((float)depth) * ldexpf(1 + (float)quant_random(seed, 100) / 100,
							  (int)quant_random(seed, 9));
}

int32_t *quant_bias(uint32_t *seed, int64_t outs)
{
	int32_t *bias = quant_random(seed, 3) ? calloc((size_t)outs, sizeof(*bias)) : NULL;

	for (int64_t o = 0; bias && o < outs; o++)
		bias[o] = (int32_t)quant_random(seed, 1 << 17) - (1 << 16);
	return bias;
}

void quant_case_free(struct quant_case *c)
{
	free(c->model);
	free(c->plain);
	for (int i = 0; i < c->num_in; i++)
		npu_npy_free(&c->in[i].arr);
	npu_npy_free(&c->want);
	memset(c, 0, sizeof(*c));
}
