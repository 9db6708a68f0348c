// SPDX-License-Identifier: MIT
/* What the codes of quantized tensors stand for. */
#include <string.h>

#include "compiler/fold.h"
#include "compiler/graph.h"

static const struct npu_gquant *whole_tensor(struct npu_graph *g, float scale, int32_t zero,
					     bool chosen)
{
	struct npu_gquant *q = npu_arena_alloc(&g->arena, sizeof(*q));

	if (q)
		*q = (struct npu_gquant){ .scale = scale, .zero = zero, .axis = -1, .count = 1,
					  .chosen = chosen };
	return q;
}

const struct npu_gquant *npu_graph_quant(struct npu_graph *g, float scale, int32_t zero)
{
	return whole_tensor(g, scale, zero, false);
}

const struct npu_gquant *npu_graph_quant_chosen(struct npu_graph *g, float scale, int32_t zero)
{
	return whole_tensor(g, scale, zero, true);
}

const struct npu_gquant *npu_graph_quant_axis(struct npu_graph *g, int axis, unsigned int count,
					      const float *scale, const int32_t *zero)
{
	struct npu_gquant *q = npu_arena_alloc(&g->arena, sizeof(*q));
	float *s = npu_arena_array(&g->arena, count, sizeof(*s));
	int32_t *z = zero ? npu_arena_array(&g->arena, count, sizeof(*z)) : NULL;

	if (!q || !s || (zero && !z))
		return NULL;
	memcpy(s, scale, count * sizeof(*s));
	if (z)
		memcpy(z, zero, count * sizeof(*z));
	*q = (struct npu_gquant){ .axis = axis, .count = count, .ch_scale = s, .ch_zero = z };
	return q;
}

float npu_gquant_scale(const struct npu_gquant *q, size_t i)
{
	return q->axis < 0 ? q->scale : q->ch_scale[i];
}

int32_t npu_gquant_zero(const struct npu_gquant *q, size_t i)
{
	if (q->axis < 0)
		return q->zero;
	return q->ch_zero ? q->ch_zero[i] : 0;
}

bool npu_gquant_equal(const struct npu_gquant *a, const struct npu_gquant *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->axis != b->axis || a->count != b->count)
		return false;
	for (unsigned int i = 0; i < a->count; i++)
		if (npu_gquant_scale(a, i) != npu_gquant_scale(b, i) ||
		    npu_gquant_zero(a, i) != npu_gquant_zero(b, i))
			return false;
	return true;
}

size_t npu_gquant_index(const struct npu_gtensor *t, size_t i)
{
	const struct npu_gquant *q = t->quant;
	size_t inner = 1;

	if (q->axis < 0)
		return 0;
	for (int d = q->axis + 1; d < t->rank; d++)
		inner *= (size_t)t->dim[d].base;
	return i / inner % q->count;
}

bool npu_gtensor_is_real(const struct npu_gtensor *t)
{
	return t->quant || npu_fold_is_float(t->type);
}
