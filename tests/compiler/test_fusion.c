// SPDX-License-Identifier: MIT
/*
 * The graph passes. Each case is run twice by the test's own interpreter, once with the optional
 * passes left out and once with all of them: the numbers must agree, and what should be gone must
 * be gone.
 */
#include <math.h>
#include <stdlib.h>

#include "import_util.h"
#include "tap.h"

#define OPTIONAL	"pattern,norm,reshape,concat,matmul,scale,pad,fuse,prescale"

static struct npu_graph *build(const char *const *lines, int opset, const char *skip)
{
	static const float powers[4] = { 0.5f, 4, 0.25f, 2 };
	struct npu_pass_options options = { .skip = skip };
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	struct ob b;
	float *v;
	int i;

	ob_init(&b, opset);
	ob_input(&b, "x", 1, 4, OB_DIMS(2, 4, 6, 5));
	ob_input(&b, "m", 1, 3, OB_DIMS(2, 7, 6));
	free(ob_random(&b, "w1", 4, OB_DIMS(4, 4, 1, 1)));
	free(ob_random(&b, "w3", 4, OB_DIMS(4, 4, 3, 3)));
	free(ob_random(&b, "wd", 4, OB_DIMS(4, 1, 3, 3)));
	free(ob_random(&b, "wt", 4, OB_DIMS(4, 2, 2, 2)));
	free(ob_random(&b, "b4", 1, OB_DIMS(4)));
	free(ob_random(&b, "c4", 3, OB_DIMS(4, 1, 1)));
	free(ob_random(&b, "d4", 4, OB_DIMS(1, 4, 1, 1)));
	free(ob_random(&b, "mean", 1, OB_DIMS(4)));
	free(ob_random(&b, "mm", 2, OB_DIMS(6, 8)));
	free(ob_random(&b, "mmt", 2, OB_DIMS(8, 6)));
	free(ob_random(&b, "n8", 1, OB_DIMS(8)));
	free(ob_random(&b, "n6", 1, OB_DIMS(6)));
	free(ob_random(&b, "k6", 1, OB_DIMS(6)));
	free(ob_random(&b, "full", 4, OB_DIMS(2, 4, 6, 5)));
	v = ob_random(&b, "seed", 1, OB_DIMS(4));
	for (i = 0; i < 4; i++)
		v[i] = v[i] * v[i] + 0.1f;
	ob_const(&b, "var", 1, 1, OB_DIMS(4), v, 16);
	free(v);
	ob_const(&b, "p4", 1, 3, OB_DIMS(4, 1, 1), powers, 16);
	ob_const(&b, "two1", 1, 1, OB_DIMS(1), (float[]){ 2 }, 4);
	ob_scalar(&b, "zero", 0);
	ob_scalar(&b, "one", 1);
	ob_scalar(&b, "two", 2);
	ob_scalar(&b, "three", 3);
	ob_scalar(&b, "six", 6);
	ob_scalar(&b, "sixth", 1.0f / 6);
	ob_scalar(&b, "half", 0.5f);
	ob_scalar(&b, "seven", 0.7f);
	ob_scalar(&b, "eps", 1e-5f);
	ob_scalar(&b, "sqrt2", 1.41421354f);
	ob_scalar(&b, "rsqrt2", 0.707106769f);
	ob_scalar(&b, "gk", 0.797884583f);
	ob_scalar(&b, "gc", 0.0447149985f);
	ob_ints(&b, "sh", 4, OB_DIMS(2, 4, 5, 6));
	ob_ints(&b, "sh2", 3, OB_DIMS(2, -1, 10));
	ob_ints(&b, "sh3", 4, OB_DIMS(2, 4, 6, 5));
	ob_ints(&b, "pads", 8, OB_DIMS(0, 0, 1, 0, 0, 0, 2, 1));
	ob_ints(&b, "l1", 1, OB_DIMS(1));
	ob_ints(&b, "l2", 1, OB_DIMS(2));
	ob_ints(&b, "l3", 1, OB_DIMS(3));
	ob_ints(&b, "l6", 1, OB_DIMS(6));
	ob_ints(&b, "lm1", 1, OB_DIMS(-1));
	ob_ints(&b, "lmin", 1, OB_DIMS(INT64_MIN));
	ob_ints(&b, "cpads", 8, OB_DIMS(0, 1, 0, 0, 0, 0, 0, 0));
	for (; *lines; lines++)
		ob_node(&b, *lines);
	ob_output(&b, "y");
	g = import_built(&b, NULL, &diag);
	if (g && npu_graph_optimize(g, &options, &diag)) {
		npu_graph_free(g);
		g = NULL;
	}
	if (!g)
		tap_diag("%s", npu_diag_text(&diag));
	npu_diag_fini(&diag);
	return g;
}

static bool run(const struct npu_graph *g, struct value *out)
{
	struct value in[2] = { random_input(g, 0, NULL), random_input(g, 1, NULL) };
	const char *why = "";
	bool ok = !interp_run(g, NULL, in, out, &why);

	if (!ok)
		tap_diag("the interpreter has no %s", why);
	value_free(&in[0]);
	value_free(&in[1]);
	return ok;
}

/* Largest difference, relative to the largest value. */
static double difference(const struct value *a, const struct value *b)
{
	double worst = 0, size = 1e-3;
	int64_t i;

	for (i = 0; i < value_count(a); i++) {
		double e = fabs(a->v[i] - b->v[i]);

		worst = e > worst || isnan(e) ? e : worst;
		size = fmax(size, fabs(a->v[i]));
	}
	return worst / size;
}

/* Graph after all passes, numerically checked; NULL when that failed. */
static struct npu_graph *same(const char *what, int opset, const char *const *lines)
{
	struct npu_graph *plain = build(lines, opset, OPTIONAL), *full = build(lines, opset, NULL);
	struct value a = { 0 }, b = { 0 };
	double d = NAN;

	if (plain && full && run(plain, &a) && run(full, &b) && value_count(&a) == value_count(&b))
		d = difference(&a, &b);
	if (!tap_ok(d <= 1e-6, "%s: same numbers (%.1e)", what, d)) {
		if (full)
			npu_graph_dump(full, stdout);
		npu_graph_free(full);
		full = NULL;
	}
	value_free(&a);
	value_free(&b);
	npu_graph_free(plain);
	return full;
}

#define L(...)	((const char *const[]){ __VA_ARGS__, NULL })

/* All becomes one activation of a kind. */
static void to_act(const char *what, enum npu_act_kind kind, const char *const *lines)
{
	struct npu_graph *g = same(what, 13, lines);

	tap_ok(g && g->num_nodes == 1 && count_act(g, kind) == 1 &&
		       g->nodes[0]->op == NPU_GOP_Activation,
	       "%s: is one %s", what, npu_gact_name(kind));
	npu_graph_free(g);
}

static void test_patterns(void)
{
	to_act("x * clip(x + 3, 0, 6) / 6", NPU_GA_HARDSWISH,
	       L("a = Add(x, three)", "c = Clip(a, zero, six)", "p = Mul(x, c)",
		 "y = Div(p, six)"));
	to_act("clip(x + 3, 0, 6) / 6 * x", NPU_GA_HARDSWISH,
	       L("a = Add(three, x)", "c = Clip(a, zero, six)", "p = Div(c, six)",
		 "y = Mul(p, x)"));
	to_act("x * (clip(x + 3, 0, 6) * (1 / 6))", NPU_GA_HARDSWISH,
	       L("a = Add(x, three)", "c = Clip(a, zero, six)", "p = Mul(c, sixth)",
		 "y = Mul(x, p)"));
	to_act("x * hardsigmoid(x)", NPU_GA_HARDSWISH,
	       L("h = HardSigmoid(x) alpha=0.16666667", "y = Mul(x, h)"));
	to_act("clip(x * 0.7 + 0.5, 0, 1)", NPU_GA_HARDSIGMOID,
	       L("a = Mul(x, seven)", "b = Add(a, half)", "y = Clip(b, zero, one)"));
	to_act("clip((x + 3) / 6, 0, 1)", NPU_GA_HARDSIGMOID,
	       L("a = Add(x, three)", "b = Div(a, six)", "y = Clip(b, zero, one)"));
	to_act("x * sigmoid(x)", NPU_GA_SILU, L("s = Sigmoid(x)", "y = Mul(s, x)"));
	to_act("x * tanh(softplus(x))", NPU_GA_MISH,
	       L("s = Softplus(x)", "t = Tanh(s)", "y = Mul(x, t)"));
	to_act("0.5 x (1 + erf(x / sqrt 2))", NPU_GA_GELU_ERF,
	       L("d = Div(x, sqrt2)", "e = Erf(d)", "o = Add(e, one)", "p = Mul(x, o)",
		 "y = Mul(p, half)"));
	to_act("x (0.5 (1 + erf(x * 0.7071)))", NPU_GA_GELU_ERF,
	       L("d = Mul(x, rsqrt2)", "e = Erf(d)", "o = Add(one, e)", "p = Mul(o, half)",
		 "y = Mul(x, p)"));
	to_act("(0.5 x) (1 + erf(x / sqrt 2))", NPU_GA_GELU_ERF,
	       L("h = Mul(half, x)", "d = Div(x, sqrt2)", "e = Erf(d)", "o = Add(e, one)",
		 "y = Mul(h, o)"));
	to_act("GELU with tanh and x ^ 3", NPU_GA_GELU_TANH,
	       L("c = Pow(x, three)", "k = Mul(c, gc)", "s = Add(x, k)", "u = Mul(s, gk)",
		 "t = Tanh(u)", "o = Add(t, one)", "h = Mul(x, half)", "y = Mul(h, o)"));
	to_act("clip is relu without an upper bound", NPU_GA_RELU, L("y = Clip(x, zero)"));
	to_act("PRelu with one slope is leaky", NPU_GA_LEAKY, L("y = PRelu(x, half)"));
}

/* Things that look like a pattern and are none: the passes must leave the numbers alone. */
static void test_near_misses(void)
{
	struct npu_graph *g;

	g = same("x * clip(x + 2, 0, 6) / 6", 13,
		 L("a = Add(x, two)", "c = Clip(a, zero, six)", "p = Mul(x, c)",
		   "y = Div(p, six)"));
	tap_ok(g && (count_act(g, NPU_GA_HARDSWISH) == 0 || g->nodes[0]->ep.act.b != 0.5f),
	       "not the usual hard-swish");
	npu_graph_free(g);
	g = same("x * clip(x + 3, 0, 6) / 3", 13,
		 L("a = Add(x, three)", "c = Clip(a, zero, six)", "p = Mul(x, c)",
		   "y = Div(p, three)"));
	tap_ok(g && count_act(g, NPU_GA_HARDSWISH) == 0, "a hard-swish needs the right divisor");
	npu_graph_free(g);
	g = same("sigmoid of another tensor", 13,
		 L("r = Relu(x)", "s = Sigmoid(r)", "y = Mul(s, x)"));
	tap_ok(g && count_act(g, NPU_GA_SILU) == 0, "no SiLU");
	npu_graph_free(g);
	g = same("erf without the one", 13,
		 L("d = Div(x, sqrt2)", "e = Erf(d)", "p = Mul(x, e)", "y = Mul(p, half)"));
	tap_ok(g && count_op(g, NPU_GOP_Erf) == 1, "no GELU");
	npu_graph_free(g);
	g = same("GELU whose inner value is used elsewhere", 13,
		 L("d = Div(x, sqrt2)", "e = Erf(d)", "o = Add(e, one)", "p = Mul(x, o)",
		   "q = Mul(p, half)", "y = Add(q, o)"));
	npu_graph_free(g);
}

static void test_norms(void)
{
	const struct npu_gnode *n;
	struct npu_graph *g;

	g = same("LayerNorm written out", 11,
		 L("u = ReduceMean(m) axes=[-1]", "d = Sub(m, u)", "s = Pow(d, two)",
		   "v = ReduceMean(s) axes=[-1]", "e = Add(v, eps)", "r = Sqrt(e)", "q = Div(d, r)",
		   "w = Mul(q, n6)", "y = Add(w, k6)"));
	n = g ? first_op(g, NPU_GOP_LayerNormalization) : NULL;
	tap_ok(n && g->num_nodes == 1 && npu_gnode_int(n, "axis", -1) == 2 && n->num_inputs == 3 &&
		       n->num_sources == 9,
	       "LayerNorm: one node that stands for nine");
	npu_graph_free(g);
	g = same("LayerNorm with two differences and no parameters", 11,
		 L("u = ReduceMean(m) axes=[2]", "d = Sub(m, u)", "d2 = Sub(m, u)",
		   "s = Mul(d2, d2)", "v = ReduceMean(s) axes=[2]", "e = Add(v, eps)",
		   "r = Sqrt(e)", "y = Div(d, r)"));
	tap_ok(g && g->num_nodes == 1 && count_op(g, NPU_GOP_LayerNormalization) == 1,
	       "LayerNorm: parameters are made up");
	npu_graph_free(g);
	g = same("RMSNorm written out", 13,
		 L("s = Mul(m, m)", "v = ReduceMean(s) axes=[-1]", "e = Add(v, eps)", "r = Sqrt(e)",
		   "i = Reciprocal(r)", "q = Mul(m, i)", "y = Mul(n6, q)"));
	tap_ok(g && g->num_nodes == 1 && count_op(g, NPU_GOP_RMSNormalization) == 1,
	       "RMSNorm: one node");
	npu_graph_free(g);
	g = same("a mean over another axis is no LayerNorm", 11,
		 L("u = ReduceMean(m) axes=[1]", "d = Sub(m, u)", "s = Mul(d, d)",
		   "v = ReduceMean(s) axes=[1]", "e = Add(v, eps)", "r = Sqrt(e)",
		   "y = Div(d, r)"));
	tap_ok(g && count_op(g, NPU_GOP_LayerNormalization) == 0, "left as it is");
	npu_graph_free(g);
	g = same("softmax written out", 11,
		 L("u = ReduceMax(m) axes=[1]", "d = Sub(m, u)", "e = Exp(d)",
		   "s = ReduceSum(e) axes=[1]", "y = Div(e, s)"));
	n = g ? first_op(g, NPU_GOP_Softmax) : NULL;
	tap_ok(n && g->num_nodes == 1 && npu_gnode_int(n, "axis", 0) == 1, "softmax: one node");
	npu_graph_free(g);
}

/* Everything ends in one Conv (or whatever @op is). */
static struct npu_graph *to_one(const char *what, enum npu_gop op, int opset,
				const char *const *lines)
{
	struct npu_graph *g = same(what, opset, lines);

	if (!tap_ok(g && g->num_nodes == 1 && count_op(g, op) == 1, "%s: one %s", what,
		    npu_gop_info(op)->name) &&
	    g)
		npu_graph_dump(g, stdout);
	return g;
}

static void test_scales(void)
{
	struct npu_graph *g;

	npu_graph_free(to_one("Conv, BatchNormalization", NPU_GOP_Conv, 13,
			      L("c = Conv(x, w3) pads=[1,1,1,1]",
				"y = BatchNormalization(c, b4, mean, b4, var)")));
	npu_graph_free(to_one("Conv with bias, BatchNormalization, Relu", NPU_GOP_Conv, 13,
			      L("c = Conv(x, w3, b4) pads=[1,1,1,1]",
				"n = BatchNormalization(c, b4, mean, mean, var)", "y = Relu(n)")));
	npu_graph_free(to_one("depthwise Conv, BatchNormalization", NPU_GOP_Conv, 13,
			      L("c = Conv(x, wd) group=4",
				"y = BatchNormalization(c, mean, b4, b4, var)")));
	npu_graph_free(to_one("grouped ConvTranspose, BatchNormalization", NPU_GOP_ConvTranspose,
			      13,
			      L("c = ConvTranspose(x, wt) group=2 strides=[2,2]",
				"y = BatchNormalization(c, b4, mean, b4, var)")));
	npu_graph_free(to_one("Conv, Mul and Add by channel and by number", NPU_GOP_Conv, 13,
			      L("c = Conv(x, w3)", "k = Mul(c, d4)", "l = Add(c4, k)",
				"q = Mul(seven, l)", "y = Sub(q, three)")));
	npu_graph_free(to_one("MatMul, Mul by column, Add", NPU_GOP_MatMul, 13,
			      L("c = MatMul(m, mm)", "k = Mul(c, n8)", "y = Add(k, n8)")));
	g = same("Gemm with everything", 13,
		 L("s = ReduceMean(m) axes=[0] keepdims=0",
		   "y = Gemm(s, mmt, n8) alpha=0.7 beta=-2.0 transB=1"));
	tap_ok(g && g->num_nodes == 2 && count_op(g, NPU_GOP_MatMul) == 1, "is one MatMul");
	npu_graph_free(g);
	g = same("Mul before Conv with padding", 13,
		 L("k = Mul(x, d4)", "y = Conv(k, w3) pads=[1,1,1,1]"));
	tap_ok(g && g->num_nodes == 1, "goes into the weights behind it");
	npu_graph_free(g);
	g = same("Add before Conv without padding", 13, L("k = Add(x, d4)", "y = Conv(k, w3, b4)"));
	tap_ok(g && g->num_nodes == 1, "goes into the bias behind it");
	npu_graph_free(g);
	g = same("Add before Conv with padding", 13,
		 L("k = Add(x, d4)", "y = Conv(k, w3, b4) pads=[1,1,1,1]"));
	tap_ok(g && g->num_nodes == 2, "stays: the padding is not shifted");
	npu_graph_free(g);
	g = same("BatchNormalization before a depthwise Conv", 13,
		 L("n = BatchNormalization(x, b4, mean, b4, var)", "y = Conv(n, wd) group=4"));
	tap_ok(g && g->num_nodes == 1, "goes into the Conv behind it");
	npu_graph_free(g);
	g = same("Mul by a full picture", 13, L("c = Conv(x, w1)", "y = Mul(c, full)"));
	tap_ok(g && count_op(g, NPU_GOP_Conv) == 1, "is no scale");
	npu_graph_free(g);
	g = same("Conv result that two read", 13,
		 L("c = Conv(x, w1)", "k = Mul(c, d4)", "y = Add(k, c)"));
	tap_ok(g && g->num_nodes >= 2, "its weights are left alone");
	npu_graph_free(g);
}

static void test_epilogues(void)
{
	const struct npu_gnode *n;
	struct npu_graph *g;

	g = to_one("Conv, hard-swish, Mul, Add, residual, Relu", NPU_GOP_Conv, 13,
		   L("c = Conv(x, w1, b4)", "a = Add(c, three)", "l = Clip(a, zero, six)",
		     "p = Mul(c, l)", "h = Div(p, six)", "s = Mul(h, seven)", "t = Add(s, half)",
		     "r = Add(x, t)", "y = Relu(r)"));
	n = g ? g->nodes[0] : NULL;
	tap_ok(n && n->ep.act.kind == NPU_GA_HARDSWISH && n->ep.has_affine &&
		       n->ep.post_mul == 0.7f && n->ep.post_add == 0.5f &&
		       n->ep.res_op == NPU_GR_ADD && n->inputs[n->ep.res] == g->inputs[0] &&
		       n->ep.act2.kind == NPU_GA_RELU && n->num_sources == 9,
	       "the whole epilogue, in the hardware's order");
	npu_graph_free(g);
	g = same("the sum of two Convs", 13,
		 L("a = Conv(x, w1)", "b = Conv(x, w3) pads=[1,1,1,1]", "s = Add(a, b)",
		   "y = Relu(s)"));
	n = g ? g->nodes[g->num_nodes - 1] : NULL;
	tap_ok(n && g->num_nodes == 2 && n->ep.res_op == NPU_GR_ADD &&
		       n->ep.act2.kind == NPU_GA_RELU &&
		       n->inputs[n->ep.res]->producer == g->nodes[0],
	       "the later one adds the earlier one");
	npu_graph_free(g);
	g = same("gate: Conv * Conv", 13,
		 L("a = Conv(x, w1)", "s = Sigmoid(a)", "b = Conv(x, w3) pads=[1,1,1,1]",
		   "y = Mul(s, b)"));
	tap_ok(g && g->num_nodes == 2 && g->nodes[1]->ep.res_op == NPU_GR_MUL,
	       "is a multiplying residual");
	npu_graph_free(g);
	g = same("squeeze and excite", 13,
		 L("c = Conv(x, w3)", "p = GlobalAveragePool(c)", "e = Conv(p, w1)",
		   "s = HardSigmoid(e)", "y = Mul(c, s)"));
	tap_ok(g && g->num_nodes == 4 && count_op(g, NPU_GOP_Mul) == 1,
	       "the gate stays a broadcast Mul");
	npu_graph_free(g);
	g = same("x + x is no residual", 13, L("c = Conv(x, w1)", "y = Add(c, c)"));
	tap_ok(g && g->num_nodes == 2, "stays");
	npu_graph_free(g);
	g = same("PRelu per channel", 13,
		 L("c = Conv(x, w1)", "p = PRelu(c, c4)", "y = Add(p, x)"));
	tap_ok(g && g->num_nodes == 1 && g->nodes[0]->ep.act.kind == NPU_GA_PRELU &&
		       g->nodes[0]->ep.act.slope == 3 && g->nodes[0]->ep.res == 4,
	       "slope and residual are extra inputs");
	npu_graph_free(g);
	g = same("residual that needs the result itself", 13,
		 L("c = Conv(x, w1)", "r = Relu(c)", "d = Conv(r, w3) pads=[1,1,1,1]",
		   "y = Add(r, d)"));
	tap_ok(g && g->num_nodes == 2 && g->nodes[1]->ep.res_op == NPU_GR_ADD,
	       "only the second Conv can add it");
	npu_graph_free(g);
	g = same("two residuals in a row", 13,
		 L("c = Conv(x, w1)", "a = Add(c, x)", "y = Add(a, full)"));
	tap_ok(g && g->num_nodes == 2, "the second one stays an Add");
	npu_graph_free(g);
	g = same("Relu after Add", 13, L("a = Add(x, full)", "y = Relu(a)"));
	tap_ok(g && g->num_nodes == 1 && g->nodes[0]->ep.act.kind == NPU_GA_RELU,
	       "is fused into it");
	npu_graph_free(g);
}

static void test_pads(void)
{
	struct npu_graph *g;

	npu_graph_free(to_one("Pad, Conv with pads", NPU_GOP_Conv, 13,
			      L("p = Pad(x, pads)", "y = Conv(p, w3) pads=[0,1,1,0]")));
	npu_graph_free(to_one("Pad, AveragePool", NPU_GOP_AveragePool, 13,
			      L("p = Pad(x, pads)",
				"y = AveragePool(p) kernel_shape=[3,3] strides=[2,1]")));
	g = same("Pad by zeros, MaxPool of anything", 13,
		 L("p = Pad(x, pads)", "y = MaxPool(p) kernel_shape=[3,3]"));
	tap_ok(g && g->num_nodes == 2, "stays: a zero may win");
	npu_graph_free(g);
	g = same("Pad by zeros, MaxPool after Relu", 13,
		 L("r = Relu(x)", "p = Pad(r, pads)", "y = MaxPool(p) kernel_shape=[3,3]"));
	tap_ok(g && count_op(g, NPU_GOP_Pad) == 0, "merges: nothing is below zero");
	npu_graph_free(g);
	g = same("Pad of channels", 13,
		 L("p = Pad(x, cpads)", "y = MaxPool(p) kernel_shape=[3,3]"));
	tap_ok(g && count_op(g, NPU_GOP_Pad) == 1, "stays");
	npu_graph_free(g);
	g = same("Pad by a number, Conv", 13, L("p = Pad(x, pads, one)", "y = Conv(p, w3)"));
	tap_ok(g && count_op(g, NPU_GOP_Pad) == 1, "stays");
	npu_graph_free(g);
}

static void test_moves(void)
{
	struct npu_graph *g;

	g = same("transposes around element-wise operators", 13,
		 L("c = Conv(x, w1)", "t = Transpose(c) perm=[0,2,3,1]", "r = Relu(t)",
		   "s = Mul(r, seven)", "y = Transpose(s) perm=[0,3,1,2]"));
	tap_ok(g && g->num_nodes == 1, "cancel, and the rest is fused");
	npu_graph_free(g);
	g = same("transposes on both sides of Add and Concat", 13,
		 L("c = Conv(x, w1)", "d = Conv(x, w3) pads=[1,1,1,1]",
		   "p = Transpose(c) perm=[0,2,3,1]", "q = Transpose(d) perm=[0,2,3,1]",
		   "s = Add(p, q)", "z = Transpose(x) perm=[0,2,3,1]", "k = Concat(s, z) axis=3",
		   "y = Transpose(k) perm=[0,3,1,2]"));
	tap_ok(g && count_op(g, NPU_GOP_Transpose) == 0 &&
		       npu_gnode_int(first_op(g, NPU_GOP_Concat), "axis", 0) == 1,
	       "cancel; the axis of Concat follows");
	npu_graph_free(g);
	g = same("reshapes in a row", 13,
		 L("a = Reshape(x, sh)", "b = Reshape(a, sh2)", "y = Reshape(b, sh3)"));
	tap_ok(g && g->num_nodes == 0, "cancel");
	npu_graph_free(g);
	g = same("transpose of a dimension of 1", 13,
		 L("a = GlobalAveragePool(x)", "y = Transpose(a) perm=[0,2,3,1]"));
	tap_ok(g && count_op(g, NPU_GOP_Transpose) == 0 && count_op(g, NPU_GOP_Reshape) == 1,
	       "is a reshape");
	npu_graph_free(g);
	g = same("q times k transposed", 13,
		 L("t = Transpose(m) perm=[0,2,1]", "s = MatMul(m, t)", "y = Mul(s, half)"));
	tap_ok(g && g->num_nodes == 1 && npu_gnode_int(g->nodes[0], "transB", 0) == 1 &&
		       g->nodes[0]->ep.post_mul == 0.5f,
	       "is one MatMul with a flag and a factor");
	npu_graph_free(g);
	g = same("Split", 13, L("a, b = Split(x) axis=1", "y = Concat(b, a) axis=1"));
	tap_ok(g && count_op(g, NPU_GOP_Slice) == 2 && count_op(g, NPU_GOP_Split) == 0,
	       "is slices");
	npu_graph_free(g);
	g = same("Concat of Concat", 13,
		 L("a = Concat(x, full) axis=1", "r = Relu(x)", "b = Concat(a, r, x) axis=1",
		   "y = Concat(b, b) axis=2"));
	tap_ok(g && count_op(g, NPU_GOP_Concat) == 2, "is one along one axis, and two along two");
	npu_graph_free(g);
	g = same("Slice of Slice", 11,
		 L("a = Slice(x, l1, l6, l2, l2)", "b = Slice(a, l1, l6, l2)",
		   "c = Slice(b, lm1, lmin, l3, lm1)", "y = Slice(c, l1, l6, l3, l2)"));
	tap_ok(g && g->num_nodes == 1, "is one Slice");
	npu_graph_free(g);
	g = same("a factor on q before the product", 13,
		 L("q = Mul(m, seven)", "t = Transpose(m) perm=[0,2,1]", "k = Mul(t, half)",
		   "y = MatMul(q, k)"));
	tap_ok(g && g->num_nodes == 1 && npu_gnode_int(g->nodes[0], "transB", 0) == 1 &&
	       fabsf(g->nodes[0]->ep.post_mul - 0.35f) < 1e-6f, "is applied to the result");
	npu_graph_free(g);
	g = same("mean over the picture", 13,
		 L("a = ReduceMean(x) axes=[-1,-2] keepdims=0", "y = Relu(a)"));
	tap_ok(g && count_op(g, NPU_GOP_GlobalAveragePool) == 1, "is a global pool");
	npu_graph_free(g);
	g = same("softmax of operator set 11", 11, L("y = Softmax(x) axis=2"));
	tap_ok(g && count_op(g, NPU_GOP_Reshape) == 2, "runs over the flattened rest");
	npu_graph_free(g);
	g = same("Max and Sum of three", 13, L("a = Max(x, full, d4)", "y = Sum(a, x, c4)"));
	tap_ok(g && count_op(g, NPU_GOP_Max) == 2 && count_op(g, NPU_GOP_Add) == 2, "are pairs");
	npu_graph_free(g);
}

/* Random nets out of everything above: whatever the passes make of them, the numbers stay. */
static void test_random(void)
{
	static const char *const steps[] = {
		"%s = Conv(%s, w1)",
		"%s = Conv(%s, w3, b4) pads=[1,1,1,1]",
		"%s = Conv(%s, wd) group=4 pads=[1,1,1,1]",
		"%s = Relu(%s)",
		"%s = Mul(%s, d4)",
		"%s = Add(%s, c4)",
		"%s = Mul(%s, seven)",
		"%s = Add(%s, half)",
		"%s = Div(%s, p4)",
		"%s = Sub(%s, three)",
		"%s = HardSigmoid(%s)",
		"%s = Sigmoid(%s)",
		"%s = Clip(%s, zero, six)",
		"%s = Add(%s, three)",
		"%s = Div(%s, six)",
		"%s = PRelu(%s, c4)",
		"%s = BatchNormalization(%s, b4, mean, b4, var)",
		"%s = LeakyRelu(%s) alpha=0.3",
		"%s = Tanh(%s)",
	};
	unsigned int rounds = tap_long() ? 5000 : 250, i, k, wrong = 0, fused = 0;
	uint32_t r = 0;

	for (i = 0; i < rounds; i++) {
		unsigned int len = 4 + i % 12;
		char text[16][64], names[16][8] = { "x" };
		const char *lines[17] = { NULL };
		struct npu_graph *plain, *full;
		struct value a = { 0 }, b = { 0 };

		for (k = 0; k < len; k++) {
			unsigned int pick = (unsigned int)((ob_noise(77, r++) + 1) * 500000);
			unsigned int from = k - (k && pick % 4 == 0 ? pick / 4 % (k + 1) : 0);

			snprintf(names[k + 1 < 16 ? k + 1 : 15], 8, k + 1 == len ? "y" : "t%u", k);
			if (k && pick % 3 == 0)
				snprintf(text[k], 64,
					 pick / 3 % 2 ? "%s = Add(%s, %s)" : "%s = Mul(%s, %s)",
					 names[k + 1], names[k], names[from]);
			else
				snprintf(text[k], 64,
					 steps[pick / 7 % (sizeof(steps) / sizeof(steps[0]))],
					 names[k + 1], names[from]);
			lines[k] = text[k];
		}
		plain = build(lines, 13, OPTIONAL);
		full = build(lines, 13, NULL);
		if (!plain || !full || !run(plain, &a) || !run(full, &b) ||
		    !(difference(&a, &b) <= 1e-5)) {
			wrong++;
			for (k = 0; k < len; k++)
				tap_diag("  %s", lines[k]);
			tap_diag("difference %g", a.v && b.v ? difference(&a, &b) : NAN);
		}
		fused += plain && full ? plain->num_nodes - full->num_nodes : 0;
		value_free(&a);
		value_free(&b);
		npu_graph_free(plain);
		npu_graph_free(full);
	}
	tap_ok(!wrong && fused > rounds, "%u random nets keep their numbers; %u nodes went", rounds,
	       fused);
}

static void test_options(void)
{
	struct npu_pass_options o = { .dump_pass = "nonsense" };
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	size_t size = 0;
	char *text = NULL;
	struct ob b;
	unsigned int i;

	for (i = 0; npu_pass_name(i); i++)
		if (!*npu_pass_help(i))
			break;
	tap_ok(i >= 10 && !npu_pass_name(i), "every pass has a name and a description");
	ob_init(&b, 13);
	ob_input(&b, "x", 1, 1, OB_DIMS(3));
	ob_node(&b, "r: y = Relu(x)");
	ob_output(&b, "y");
	g = import_built(&b, NULL, &diag);
	tap_ok(g && npu_graph_optimize(g, &o, &diag) &&
		       diag_says(&diag, "no pass 'nonsense'", NULL),
	       "an unknown pass to dump is refused");
	npu_diag_fini(&diag);
	o = (struct npu_pass_options){ .skip = "fuse,canon" };
	tap_ok(g && npu_graph_optimize(g, &o, &diag) &&
		       diag_says(&diag, "needs pass 'canon'", NULL),
	       "a pass that is needed cannot be left out");
	npu_diag_fini(&diag);
	o.skip = "fuse,fusel";
	tap_ok(g && npu_graph_optimize(g, &o, &diag) && diag_says(&diag, "no pass 'fusel'", NULL),
	       "an unknown pass to leave out is refused");
	npu_diag_fini(&diag);
	o = (struct npu_pass_options){ .dump_pass = "canon" };
	o.dump = open_memstream(&text, &size);
	if (g && o.dump)
		npu_graph_optimize(g, &o, &diag);
	if (o.dump)
		fclose(o.dump);
	tap_ok(text && strstr(text, "after canon:") &&
		       strstr(text, "%y:f32[3] = Activation(%x:f32[3]) act=relu <r>"),
	       "a pass prints the graph");
	free(text);
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

int main(void)
{
	test_patterns();
	test_near_misses();
	test_norms();
	test_scales();
	test_epilogues();
	test_pads();
	test_moves();
	test_options();
	test_random();
	return tap_done();
}
