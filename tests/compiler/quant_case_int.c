// SPDX-License-Identifier: MIT
/*
 * Convolutions and products: the sum of exact integer products in 64 bits, one result at a time,
 * and ONNX's requantization. Nothing is shared with the engine or its oracle.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quant_case.h"

/* ---- convolutions --------------------------------------------------------------------------- */

struct geometry {
	int64_t n, c, h, w, m, kh, kw, groups, stride[2], dil[2], pad[4], oh, ow;
};

static int64_t span(const struct geometry *g, int i)
{
	return ((i ? g->kw : g->kh) - 1) * g->dil[i] + 1;
}

static void geometry_init(struct geometry *g, uint32_t *seed)
{
	int64_t per = 1 + quant_random(seed, 9), chans = 1 + quant_random(seed, 12);
	bool deep = !quant_random(seed, 50);

	g->groups = quant_random(seed, 3) ? 1 : 1 + quant_random(seed, 8);
	if (!quant_random(seed, 4)) {	/* depthwise */
		g->groups = 1 + quant_random(seed, 40);
		per = chans = 1;
	}
	g->kh = 1 + quant_random(seed, 3);
	g->kw = 1 + quant_random(seed, 3);
	if (deep) {
		g->groups = 1;
		g->kh = g->kw = 3;
		chans = 300 + quant_random(seed, 600);
	}
	g->n = 1 + quant_random(seed, 2);
	g->c = chans * g->groups;
	g->m = per * g->groups;
	for (int i = 0; i < 2; i++) {
		g->stride[i] = 1 + quant_random(seed, 3);
		g->dil[i] = 1 + !quant_random(seed, 4);
		g->pad[i] = quant_random(seed, 3);
		g->pad[2 + i] = quant_random(seed, 3);
	}
	g->h = span(g, 0) + quant_random(seed, deep ? 2 : 7);
	g->w = span(g, 1) + quant_random(seed, deep ? 2 : 9);
	g->oh = (g->h + g->pad[0] + g->pad[2] - span(g, 0)) / g->stride[0] + 1;
	g->ow = (g->w + g->pad[1] + g->pad[3] - span(g, 1)) / g->stride[1] + 1;
}

static void geometry_attrs(const struct geometry *g, char *text, size_t size)
{
	snprintf(text, size,
		 "group=%d strides=[%d,%d] dilations=[%d,%d] pads=[%d,%d,%d,%d]", (int)g->groups,
		 (int)g->stride[0], (int)g->stride[1], (int)g->dil[0], (int)g->dil[1],
		 (int)g->pad[0], (int)g->pad[1], (int)g->pad[2], (int)g->pad[3]);
}

static int64_t conv_sum(const struct geometry *g, const struct npu_npy *x, int x_zero,
			const struct npu_npy *w, int w_zero, const int64_t at[4])
{
	int64_t cg = g->c / g->groups, first = at[1] / (g->m / g->groups) * cg, sum = 0;

	for (int64_t k = 0; k < cg * g->kh * g->kw; k++) {
		int64_t ch = k / (g->kh * g->kw), ky = k / g->kw % g->kh, kx = k % g->kw;
		int64_t y = at[2] * g->stride[0] + ky * g->dil[0] - g->pad[0];
		int64_t z = at[3] * g->stride[1] + kx * g->dil[1] - g->pad[1];

		if (y < 0 || y >= g->h || z < 0 || z >= g->w)
			continue;
		sum += (int64_t)(quant_code(x, (size_t)(((at[0] * g->c + first + ch) * g->h + y) *
								g->w +
							z)) -
				 x_zero) *
		       (quant_code(w, (size_t)(at[1] * cg * g->kh * g->kw + k)) - w_zero);
	}
	return sum;
}

enum form { QOPERATOR, QDQ, INTEGER };

static void conv_lines(struct ob *b, enum form form, const struct geometry *g, bool bias, bool relu)
{
	char attrs[160], line[320];

	geometry_attrs(g, attrs, sizeof(attrs));
	if (form == QDQ) {
		ob_node(b, "xf = DequantizeLinear(x, x_s, x_z)");
		ob_node(b, "wf = DequantizeLinear(w, w_s, w_z) axis=0");
		if (bias)
			ob_node(b, "bf = DequantizeLinear(b, b_s) axis=0");
		snprintf(line, sizeof(line), "c = Conv(xf, wf%s) %s", bias ? ", bf" : "", attrs);
		ob_node(b, line);
		if (relu)
			ob_node(b, "r = Relu(c)");
		ob_node(b, relu ? "y = QuantizeLinear(r, y_s, y_z)"
				: "y = QuantizeLinear(c, y_s, y_z)");
		return;
	}
	if (form == INTEGER)
		snprintf(line, sizeof(line), "y = ConvInteger(x, w, x_z, w_z) %s", attrs);
	else
		snprintf(line, sizeof(line),
			 "y = QLinearConv(x, x_s, x_z, w, w_s, w_z, y_s, y_z%s) %s",
			 bias ? ", b" : "", attrs);
	ob_node(b, line);
}

static void make_conv(struct quant_case *c, uint32_t seed, bool plain, bool narrow, enum form form)
{
	uint32_t *s = &seed;
	bool xu = plain ? form != QDQ : quant_random(s, 2);
	bool wu = plain ? form == INTEGER : quant_random(s, 2),
	     relu = form == QDQ && quant_random(s, 2);
	struct quant_type xq = quant_any_type(s, xu, quant_scale(s)), yq;
	struct geometry g;
	struct quant_weight w;
	struct npu_npy x;
	int32_t *bias;
	struct ob b;

	geometry_init(&g, s);
	quant_weight_init(&w, s, wu, g.m, plain);
	if (plain && !wu)	/* all that its integer kernels take */
		w.q.zero = 0;
	for (int64_t o = 0; plain && o < g.m; o++)
		w.zero[o] = w.q.zero;
	if (plain && form == INTEGER)
		w.per_output = false;
	c->depth = g.c / g.groups * g.kh * g.kw;
	bias = form == INTEGER ? NULL : quant_bias(s, g.m);
	yq = quant_any_type(s, xu, quant_result_scale(s, xq.scale, w.scale[0], c->depth));
	quant_codes(&x, s, xq, 8, 4, OB_DIMS(g.n, g.c, g.h, g.w));
	quant_codes(&w.codes, s, w.q, narrow ? 7 : 8, 4, OB_DIMS(g.m, g.c / g.groups, g.kh, g.kw));
	if (array_alloc(&c->want, form == INTEGER ? NPU_NPY_I32 : quant_npy(yq.type), 4,
			OB_DIMS(g.n, g.m, g.oh, g.ow)))
		abort();
	for (size_t i = 0; i < c->want.count; i++) {
		int64_t at[4] = { (int64_t)i / (g.m * g.oh * g.ow),
				  (int64_t)i / (g.oh * g.ow) % g.m, (int64_t)i / g.ow % g.oh,
				  (int64_t)i % g.ow };
		int64_t sum = conv_sum(&g, &x, xq.zero, &w.codes, w.zero[at[1]], at);
		float v;

		if (form == INTEGER) {
			((int32_t *)c->want.data)[i] = (int32_t)sum;
			continue;
		}
		sum += bias ? bias[at[1]] : 0;
		v = (float)(int32_t)sum * (xq.scale * w.scale[at[1]] / yq.scale);
		quant_put(&c->want, i, quant_store(relu && v < 0 ? 0 : v, yq));
	}
	ob_init(&b, 13);
	quant_input(c, &b, "x", &x);
	quant_params(&b, "x", xq);
	quant_params(&b, "y", yq);
	quant_const(&b, "w", &w.codes);
	if (bias) {
		float *scale = malloc((size_t)g.m * sizeof(*scale));

		for (int64_t o = 0; o < g.m; o++)
			scale[o] = xq.scale * w.scale[o];
		ob_const(&b, "b", 6, 1, OB_DIMS(g.m), bias, 4 * (size_t)g.m);
		if (form == QDQ)
			ob_const(&b, "b_s", 1, w.per_output, OB_DIMS(g.m), scale,
				 w.per_output ? 4 * (size_t)g.m : 4);
		free(scale);
	}
	quant_weight_params(&b, &w, form != INTEGER);
	conv_lines(&b, form, &g, bias != NULL, relu);
	ob_output(&b, "y");
	c->model = ob_finish(&b, &c->size);
	free(bias);
}

void quant_make_conv(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	make_conv(c, seed, plain, narrow, QOPERATOR);
}

void quant_make_conv_qdq(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	make_conv(c, seed, plain, narrow, QDQ);
}

void quant_make_conv_integer(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	make_conv(c, seed, plain, narrow, INTEGER);
}

/* ---- products ------------------------------------------------------------------------------- */

static void make_matmul(struct quant_case *c, uint32_t seed, bool plain, bool narrow,
			enum form form)
{
	static const char *const line[] = {
		[QOPERATOR] = "y = QLinearMatMul(x, x_s, x_z, w, w_s, w_z, y_s, y_z)",
		[INTEGER] = "y = MatMulInteger(x, w, x_z, w_z)",
	};
	uint32_t *s = &seed;
	bool xu = quant_random(s, 2), wu = quant_random(s, 2);
	struct quant_type xq, yq;
	int64_t batch = 1 + quant_random(s, 3), m = 1 + quant_random(s, 12),
		n = 1 + quant_random(s, 40);
	int64_t k = quant_random(s, 20) ? 1 + quant_random(s, 200) : 1 + quant_random(s, 8192);
	bool computed = !quant_random(s, 4);	/* both sides are inputs */
	struct quant_weight w;
	struct npu_npy x;
	struct ob b;

	if (plain) {
		xu = form != QDQ || xu;
		wu = wu && xu && form != QDQ;
	}
	xq = quant_any_type(s, xu, quant_scale(s));
	quant_weight_init(&w, s, wu, n, plain);
	if (plain || computed) {
		w.per_output = false;
		for (int64_t o = 0; o < n; o++) {
			w.zero[o] = w.q.zero;
			w.scale[o] = w.q.scale;
		}
	}
	c->depth = k;
	yq = quant_any_type(s, xu, quant_result_scale(s, xq.scale, w.scale[0], k));
	quant_codes(&x, s, xq, 8, 3, OB_DIMS(batch, m, k));
	quant_codes(&w.codes, s, w.q, narrow ? 7 : 8, 2, OB_DIMS(k, n));
	if (array_alloc(&c->want, form == INTEGER ? NPU_NPY_I32 : quant_npy(yq.type), 3,
			OB_DIMS(batch, m, n)))
		abort();
	for (size_t i = 0; i < c->want.count; i++) {
		size_t col = i % (size_t)n, row = i / (size_t)n;
		int64_t sum = 0;

		for (size_t j = (size_t)k; j-- > 0;)
			sum += (int64_t)(quant_code(&x, row * (size_t)k + j) - xq.zero) *
			       (quant_code(&w.codes, j * (size_t)n + col) - w.zero[col]);
		if (form == INTEGER)
			((int32_t *)c->want.data)[i] = (int32_t)sum;
		else
			quant_put(&c->want, i,
				  quant_store((float)(int32_t)sum *
						      (xq.scale * w.scale[col] / yq.scale), yq));
	}
	ob_init(&b, 13);
	quant_input(c, &b, "x", &x);
	if (computed)
		quant_input(c, &b, "w", &w.codes);
	else
		quant_const(&b, "w", &w.codes);
	quant_params(&b, "x", xq);
	quant_params(&b, "y", yq);
	quant_weight_params(&b, &w, form != INTEGER);
	if (form == QDQ) {
		ob_node(&b, "xf = DequantizeLinear(x, x_s, x_z)");
		ob_node(&b, "wf = DequantizeLinear(w, w_s, w_z) axis=1");
		ob_node(&b, "f = MatMul(xf, wf)");
		ob_node(&b, "y = QuantizeLinear(f, y_s, y_z)");
	} else {
		ob_node(&b, line[form]);
	}
	ob_output(&b, "y");
	c->model = ob_finish(&b, &c->size);
}

void quant_make_matmul(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	make_matmul(c, seed, plain, narrow, QOPERATOR);
}

void quant_make_matmul_qdq(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	make_matmul(c, seed, plain, narrow, QDQ);
}

void quant_make_matmul_integer(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	make_matmul(c, seed, plain, narrow, INTEGER);
}
