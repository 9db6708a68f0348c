// SPDX-License-Identifier: MIT
/*
 * Transposed convolutions: every input is spread over the results that it meets, in 64 bits, and
 * ONNX's requantization. Nothing is shared with the engine or its oracle.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quant_case.h"

/* x [n, c, h, w], weight [c, m, kh, kw]; the result has m channels for every group. */
struct geometry {
	int64_t n, c, h, w, m, groups, k[2], stride[2], dil[2], pad[4], more[2], out[2];
};

static void geometry_init(struct geometry *g, uint32_t *seed)
{
	bool deep = !quant_random(seed, 40);
	const int64_t in[2] = { 1 + quant_random(seed, deep ? 2 : 6),
				1 + quant_random(seed, deep ? 2 : 8) };

	g->groups = deep || quant_random(seed, 4) ? 1 : 1 + quant_random(seed, 4);
	g->n = 1 + quant_random(seed, 2);
	g->c = deep ? 300 + quant_random(seed, 700) : 1 + quant_random(seed, 30);
	g->c *= g->groups;
	g->m = 1 + quant_random(seed, 20);
	g->h = in[0];
	g->w = in[1];
	for (int i = 0; i < 2; i++) {
		int64_t span;

		g->k[i] = 1 + quant_random(seed, 4);
		g->stride[i] = 1 + quant_random(seed, 3);
		g->dil[i] = 1 + !quant_random(seed, 4);
		g->more[i] = quant_random(seed, (uint32_t)g->stride[i]);
		span = (in[i] - 1) * g->stride[i] + (g->k[i] - 1) * g->dil[i] + 1;
		for (int side = 0; side < 2; side++) {
			int64_t most = (span - 1) / 2 < g->k[i] - 1 ? (span - 1) / 2 : g->k[i] - 1;

			g->pad[i + 2 * side] = quant_random(seed, (uint32_t)most + 1);
		}
		g->out[i] = span - g->pad[i] - g->pad[i + 2] + g->more[i];
	}
}

static size_t place(const struct geometry *g, int64_t n, int64_t m, int64_t y, int64_t x)
{
	return (size_t)(((n * g->m * g->groups + m) * g->out[0] + y) * g->out[1] + x);
}

/* All that input @at of channel @c gives, with weights less their zero points. */
static void spread(const struct geometry *g, const struct quant_weight *w, const int64_t at[4],
		   int64_t value, int64_t *sum)
{
	for (int64_t i = 0; i < g->m * g->k[0] * g->k[1]; i++) {
		int64_t m = i / (g->k[0] * g->k[1]), ky = i / g->k[1] % g->k[0], kx = i % g->k[1];
		int64_t y = at[2] * g->stride[0] + ky * g->dil[0] - g->pad[0];
		int64_t x = at[3] * g->stride[1] + kx * g->dil[1] - g->pad[1];
		int64_t tap = at[1] * g->m * g->k[0] * g->k[1] + i;
		int64_t first = at[1] / (g->c / g->groups) * g->m;

		if (y >= 0 && y < g->out[0] && x >= 0 && x < g->out[1])
			sum[place(g, at[0], first + m, y, x)] +=
				value * (quant_code(&w->codes, (size_t)tap) - w->zero[m]);
	}
}

static void fill_want(struct quant_case *c, const struct geometry *g, const struct npu_npy *x,
		      struct quant_type xq, const struct quant_weight *w, const int32_t *bias,
		      struct quant_type yq)
{
	int64_t *sum;

	if (array_alloc(&c->want, quant_npy(yq.type), 4,
			OB_DIMS(g->n, g->m * g->groups, g->out[0], g->out[1])))
		abort();
	sum = calloc(c->want.count + 1, sizeof(*sum));
	if (!sum)
		abort();
	for (size_t i = 0; i < x->count; i++) {
		const int64_t at[4] = { (int64_t)i / (g->c * g->h * g->w),
					(int64_t)i / (g->h * g->w) % g->c,
					(int64_t)i / g->w % g->h, (int64_t)i % g->w };

		spread(g, w, at, quant_code(x, i) - xq.zero, sum);
	}
	for (size_t i = 0; i < c->want.count; i++) {
		int64_t m = (int64_t)i / (g->out[0] * g->out[1]) % (g->m * g->groups);

		sum[i] += bias ? bias[m] : 0;
		m %= g->m;
		quant_put(&c->want, i,
			  quant_store((float)(int32_t)sum[i] *
					      (xq.scale * w->scale[m] / yq.scale), yq));
	}
	free(sum);
}

static void put_bias(struct ob *b, const struct geometry *g, const struct quant_weight *w,
		     float in_scale, const int32_t *bias)
{
	const int64_t outs = g->m * g->groups;
	float *scale = calloc((size_t)outs, sizeof(*scale));

	for (int64_t o = 0; o < outs; o++)
		scale[o] = in_scale * w->scale[o % g->m];
	ob_const(b, "b", 6, 1, &outs, bias, 4 * (size_t)outs);
	ob_const(b, "b_s", 1, w->per_output, &outs, scale,
		 w->per_output ? 4 * (size_t)outs : 4);
	free(scale);
	ob_node(b, "bf = DequantizeLinear(b, b_s) axis=0");
}

void quant_make_transpose_qdq(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	uint32_t *s = &seed;
	struct quant_type xq = quant_any_type(s, quant_random(s, 2), quant_scale(s)), yq;
	struct geometry g;
	struct quant_weight w;
	struct npu_npy x;
	int32_t *bias;
	char line[256];
	struct ob b;

	(void)plain;
	geometry_init(&g, s);
	/* one zero point for all: the instruction has no vector of them */
	quant_weight_init(&w, s, quant_random(s, 2), g.m, true);
	for (int64_t o = 0; g.groups > 1 && o < g.m; o++)
		w.scale[o] = w.q.scale;
	w.per_output &= g.groups == 1;
	bias = quant_bias(s, g.m * g.groups);
	c->depth = g.c / g.groups * g.k[0] * g.k[1];
	yq = quant_any_type(s, xq.type == 2, quant_result_scale(s, xq.scale, w.scale[0], c->depth));
	quant_codes(&x, s, xq, 8, 4, OB_DIMS(g.n, g.c, g.h, g.w));
	quant_codes(&w.codes, s, w.q, narrow ? 7 : 8, 4, OB_DIMS(g.c, g.m, g.k[0], g.k[1]));
	fill_want(c, &g, &x, xq, &w, bias, yq);
	ob_init(&b, 13);
	quant_input(c, &b, "x", &x);
	quant_params(&b, "x", xq);
	quant_params(&b, "y", yq);
	quant_const(&b, "w", &w.codes);
	if (bias)
		put_bias(&b, &g, &w, xq.scale, bias);
	quant_weight_params(&b, &w, true);
	ob_node(&b, "xf = DequantizeLinear(x, x_s, x_z)");
	ob_node(&b, "wf = DequantizeLinear(w, w_s, w_z) axis=1");
	snprintf(line, sizeof(line),
		 "c = ConvTranspose(xf, wf%s) group=%d strides=[%d,%d] dilations=[%d,%d] "
		 "pads=[%d,%d,%d,%d] output_padding=[%d,%d]", bias ? ", bf" : "", (int)g.groups,
		 (int)g.stride[0], (int)g.stride[1], (int)g.dil[0], (int)g.dil[1], (int)g.pad[0],
		 (int)g.pad[1], (int)g.pad[2], (int)g.pad[3], (int)g.more[0], (int)g.more[1]);
	ob_node(&b, line);
	ob_node(&b, "y = QuantizeLinear(c, y_s, y_z)");
	ob_output(&b, "y");
	c->model = ob_finish(&b, &c->size);
	free(bias);
}
