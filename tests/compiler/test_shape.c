// SPDX-License-Identifier: MIT
/*
 * Shape inference with symbols. The independent source: the window formula of ONNX counted out by
 * brute force, and, for whole nets, inference with plain numbers at every value of the symbol.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/dims.h"
#include "import_util.h"
#include "tap.h"

static struct npu_dim lin(int64_t base, int64_t factor)
{
	return (struct npu_dim){ base, factor, factor ? 0 : NPU_DIM_CONST };
}

/* x[1,3,8,W] with W = min..max step, one node "y = ..."; NULL when refused. */
static struct npu_graph *net(const char *const *lines, int64_t min, int64_t max, int64_t step,
			     int opset, struct npu_diag *diag)
{
	struct npu_dim dims[4] = { lin(1, 0), lin(3, 0), lin(8, 0) };
	struct npu_graph *g;
	struct ob b;
	int err;

	ob_init(&b, opset);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, 8, -1));
	free(ob_random(&b, "w3", 4, OB_DIMS(6, 3, 3, 3)));
	free(ob_random(&b, "wd", 4, OB_DIMS(3, 1, 2, 2)));
	ob_ints(&b, "i0", 1, OB_DIMS(0));
	ob_ints(&b, "i1", 1, OB_DIMS(1));
	ob_ints(&b, "i2", 1, OB_DIMS(2));
	ob_ints(&b, "i3", 1, OB_DIMS(3));
	ob_ints(&b, "im1", 1, OB_DIMS(-1));
	ob_ints(&b, "im4", 1, OB_DIMS(-4));
	ob_ints(&b, "big", 1, OB_DIMS(INT64_MAX));
	ob_ints(&b, "one_m1", 2, OB_DIMS(1, -1));
	ob_ints(&b, "nchw_m1", 4, OB_DIMS(0, 0, 0, -1));
	ob_ints(&b, "merge", 3, OB_DIMS(1, 24, -1));
	ob_ints(&b, "half", 4, OB_DIMS(1, 3, -1, 2));
	ob_scalar(&b, "fhalf", 0.5f);
	ob_const(&b, "up", 1, 1, OB_DIMS(4), (float[]){ 1, 1, 2, 2 }, 16);
	ob_const(&b, "none", 1, 1, OB_DIMS(0), "", 0);
	for (; *lines; lines++)
		ob_node(&b, *lines);
	ob_output(&b, "y");
	g = import_built(&b, NULL, diag);
	if (!g)
		return NULL;
	err = npu_graph_symbol_add(g, "W", min, max, step, diag);
	if (err >= 0) {
		dims[3] = npu_graph_symbol_dim(g, 0);
		err = npu_graph_bind_shape(g, "x", dims, 4, diag);
	}
	if (!err)
		err = npu_graph_optimize(g, NULL, diag);
	if (!err)
		return g;
	npu_graph_free(g);
	return NULL;
}

static void expect(const char *line1, const char *line2, int64_t step, int axis,
		   struct npu_dim want, int opset)
{
	const char *lines[] = { line1, line2, NULL };
	struct npu_diag diag = { 0 };
	struct npu_graph *g = net(lines, step, 64 * step, step, opset, &diag);
	const struct npu_gtensor *y = g ? g->outputs[0] : NULL;
	char text[128];

	if (!tap_ok(y && axis < y->rank && npu_dim_equal(y->dim[axis], want), "%s%s%s, step %d",
		    line1, line2 ? "; " : "", line2 ? line2 : "", (int)step))
		tap_diag("%s %s", y ? npu_shape_text(g, y, text, sizeof(text)) : "",
			 npu_diag_text(&diag));
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

static void refused(const char *line, int64_t step, const char *a, const char *word)
{
	const char *lines[] = { line, NULL };
	struct npu_diag diag = { 0 };
	struct npu_graph *g = net(lines, step, 64 * step, step, 13, &diag);

	if (!tap_ok(!g && diag_says(&diag, a, word, NULL), "refused: %s, step %d: %s", line,
		    (int)step, word))
		tap_diag("%s", npu_diag_text(&diag));
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

static void test_windows(void)
{
	/* W = 8 s: the values of base + factor * s are (W + pads - k) / stride + 1 */
	expect("y = Conv(x, w3) pads=[1,1,1,1] strides=[2,2]", NULL, 8, 3, lin(0, 4), 13);
	expect("y = Conv(x, w3) pads=[1,1,1,1] strides=[1,1]", NULL, 8, 3, lin(0, 8), 13);
	expect("y = Conv(x, w3) strides=[1,1]", NULL, 8, 3, lin(-2, 8), 13);
	expect("y = Conv(x, w3) pads=[1,1,1,1] strides=[4,4]", NULL, 8, 3, lin(0, 2), 13);
	expect("y = Conv(x, w3) auto_pad='SAME_UPPER' strides=[2,2]", NULL, 8, 3, lin(0, 4), 13);
	expect("y = Conv(x, w3) pads=[2,2,2,2] dilations=[2,2]", NULL, 8, 3, lin(0, 8), 13);
	expect("y = MaxPool(x) kernel_shape=[2,2] strides=[2,2]", NULL, 8, 3, lin(0, 4), 13);
	expect("y = MaxPool(x) kernel_shape=[3,3] strides=[2,2] ceil_mode=1", NULL, 8, 3, lin(0, 4),
	       13);
	expect("y = AveragePool(x) kernel_shape=[3,2] strides=[3,2]", NULL, 8, 2, lin(2, 0), 13);
	expect("y = ConvTranspose(x, wd) group=3 strides=[2,2]", NULL, 8, 3, lin(0, 16), 13);
	expect("y = ConvTranspose(x, wd) group=3 strides=[2,2] output_padding=[1,1] pads=[1,1,0,0]",
	       NULL, 8, 3, lin(0, 16), 13);
	expect("y = GlobalAveragePool(x)", NULL, 8, 3, lin(1, 0), 13);
	refused("n: y = Conv(x, w3) pads=[1,1,1,1] strides=[2,2]", 3, "node 'n'", "multiple of 6");
	refused("n: y = Conv(x, w3) pads=[1,1,1,1] strides=[4,4]", 2, "node 'n'", "multiple of 4");
	refused("n: y = Conv(x, w3)", 1, "node 'n'", "does not fit");
	expect("y = Conv(x, w3) pads=[1,1,1,1] strides=[2,2]", NULL, 6, 3, lin(0, 3), 13);
}

/* The step that the message names is the one that works, at once and for the whole net. */
static void test_advice(void)
{
	static const char *const lines[] = { "a = Conv(x, w3) pads=[1,1,1,1] strides=[1,2]",
					     "b = MaxPool(a) kernel_shape=[1,2] strides=[1,2]",
					     "s = Shape(b)",
					     "w = Gather(s, i3)",
					     "k = Concat(im1, w) axis=0",
					     "r = Reshape(b, k)",
					     "t = Slice(b, i0, big, i3, i3)",
					     "y = AveragePool(t) kernel_shape=[1,2] strides=[1,2]",
					     NULL };
	struct npu_diag diag = { 0 };
	struct npu_graph *g = net(lines, 24, 240, 1, 13, &diag);

	if (!tap_ok(!g && diag.errors == 2 &&
			    diag_says(&diag, "multiple of 2,", "4 nodes divide it",
				      "multiple of 24 suits", NULL),
		    "one message names the step for the whole net"))
		tap_diag("%s", npu_diag_text(&diag));
	npu_diag_fini(&diag);
	g = net(lines, 24, 240, 24, 13, &diag);
	tap_ok(g != NULL, "and that step is accepted");
	npu_graph_free(g);
	npu_diag_fini(&diag);
	g = net(lines, 12, 240, 12, 13, &diag);
	tap_ok(!g, "half of it is not");
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

static void test_moves(void)
{
	expect("y = Concat(x, x) axis=3", NULL, 8, 3, lin(0, 16), 13);
	expect("y = Transpose(x) perm=[0,3,1,2]", NULL, 8, 1, lin(0, 8), 13);
	expect("y = Slice(x, im4, big, i3)", NULL, 8, 3, lin(4, 0), 13);
	expect("y = Slice(x, i1, big, i3)", NULL, 8, 3, lin(-1, 8), 13);
	expect("y = Slice(x, i0, im1, i3)", NULL, 8, 3, lin(-1, 8), 13);
	expect("y = Slice(x, i0, big, i3, i2)", NULL, 8, 3, lin(0, 4), 13);
	expect("y = Slice(x) starts=[0,0] ends=[100,-2] axes=[1,3]", NULL, 8, 3, lin(-2, 8), 9);
	expect("y = Flatten(x) axis=1", NULL, 8, 1, lin(0, 192), 13);
	expect("y = Reshape(x, one_m1)", NULL, 8, 1, lin(0, 192), 13);
	expect("y = Reshape(x, nchw_m1)", NULL, 8, 3, lin(0, 8), 13);
	expect("y = Reshape(x, merge)", NULL, 8, 2, lin(0, 8), 13);
	expect("y = Reshape(x, half)", NULL, 8, 2, lin(0, 32), 13);
	expect("y = Resize(x, , up) mode='nearest'", NULL, 8, 3, lin(0, 16), 13);
	expect("y = Pad(x) pads=[0,0,1,2,0,0,3,4]", NULL, 8, 3, lin(6, 8), 9);
	expect("y = ReduceMean(x) axes=[2] keepdims=0", NULL, 8, 2, lin(0, 8), 13);
	expect("y = ArgMax(x) axis=1 keepdims=0", NULL, 8, 2, lin(0, 8), 13);
	expect("a, y = Split(x) axis=3", NULL, 8, 3, lin(0, 4), 11);
	expect("t = Squeeze(x) axes=[0]", "y = Unsqueeze(t) axes=[0,4]", 8, 3, lin(0, 8), 11);
	expect("t = Squeeze(x, i0)", "y = Unsqueeze(t, i0)", 8, 3, lin(0, 8), 13);
	refused("n: a, y = Split(x) axis=3", 3, "node 'n'", "multiple of 6");
}

/* Chains of shape arithmetic as exporters write them. */
static void test_values(void)
{
	static const char *const reshape[] = { "s = Shape(x)",
					       "h = Gather(s, i2)",
					       "w = Gather(s, i3)",
					       "hw = Mul(h, w)",
					       "t = Concat(i1, i3, hw) axis=0",
					       "y = Reshape(x, t)",
					       NULL };
	static const char *const half[] = { "s = Shape(x)",
					    "sl = Slice(s, i2, big)",
					    "f = Cast(sl) to=1",
					    "m = Mul(f, fhalf)",
					    "fl = Floor(m)",
					    "k = Cast(fl) to=7",
					    "t = Concat(i1, i3, k) axis=0",
					    "y = Resize(x, , , t) mode='nearest'",
					    NULL };
	static const char *const expand[] = { "s = Shape(x)",
					      "o = Gather(s, i0)",
					      "c = ConstantOfShape(i1)",
					      "q = Concat(o, o, o, i1) axis=0",
					      "e = Equal(q, im1)",
					      "p = Where(e, q, s)",
					      "y = Expand(x, p)",
					      NULL };
	static const struct {
		const char *const *lines;
		const char *what;
		int axis;
		struct npu_dim want;
	} c[] = {
		{ reshape, "Shape, Gather, Mul, Concat, Reshape", 2, { 0, 64, 0 } },
		{ half, "Shape, Slice, Cast, Mul 0.5, Floor, Cast, Resize", 3, { 0, 4, 0 } },
		{ expand, "Equal and Where on shapes", 3, { 0, 8, 0 } },
	};
	struct npu_diag diag = { 0 };
	unsigned int i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct npu_graph *g = net(c[i].lines, 8, 64, 8, 13, &diag);
		const struct npu_gtensor *y = g ? g->outputs[0] : NULL;

		if (!tap_ok(y && npu_dim_equal(y->dim[c[i].axis], c[i].want), "%s", c[i].what))
			tap_diag("%s", npu_diag_text(&diag));
		tap_ok(g && g->num_nodes <= 1, "%s: no shape arithmetic is left", c[i].what);
		npu_graph_free(g);
		npu_diag_fini(&diag);
	}
}

/* How many windows start inside, counted one by one. */
static int64_t count_windows(int64_t in, int64_t k, int64_t stride, int64_t dil, int64_t p0,
			     int64_t p1, bool ceil)
{
	int64_t span = (k - 1) * dil + 1, n = 0, at;

	for (at = 0; at + span <= in + p0 + p1; at += stride)
		n++;
	/* one more that hangs over the end, when it begins before the trailing padding */
	if (ceil && at < in + p0 && at - stride + span < in + p0 + p1)
		n++;
	return n;
}

static void test_brute_force(void)
{
	unsigned int rounds = tap_long() ? 20000 : 1500, wrong = 0, linear = 0, refusals = 0, i;
	uint32_t r = 1;

	for (i = 0; i < rounds; i++) {
		int64_t v[8], step, s;
		struct npu_diag diag = { 0 };
		struct npu_graph *g;
		char line[200];
		bool pool, ok = true;
		unsigned int k;

		for (k = 0; k < 8; k++)
			v[k] = (int64_t)((ob_noise(r, k) + 1) * 500000);
		r++;
		int64_t kernel = 1 + v[0] % 3, stride = 1 + v[1] % 4, dil = 1 + v[2] % 2,
			p0 = v[3] % kernel, p1 = v[4] % kernel;
		bool ceil = v[5] % 2;

		step = 1 + v[6] % 12;
		pool = v[7] % 2;
		if (pool)
			snprintf(
				line, sizeof(line),
				"y = MaxPool(x) kernel_shape=[1,%d] strides=[1,%d] dilations=[1,%d] pads=[0,%d,0,%d] ceil_mode=%d",
				(int)kernel, (int)stride, (int)dil, (int)p0, (int)p1, ceil);
		else
			snprintf(
				line, sizeof(line),
				"y = Conv(x, w3) kernel_shape=[3,3] strides=[1,%d] dilations=[1,%d] pads=[0,%d,0,%d]",
				(int)stride, (int)dil, (int)p0, (int)p1);
		if (!pool) {
			kernel = 3;
			ceil = false;
		}
		g = net((const char *const[]){ line, NULL }, 6 * step, 20 * step, step, 13, &diag);
		for (s = 6; s <= 20; s++) {
			int64_t want = count_windows(s * step, kernel, stride, dil, p0, p1, ceil);

			if (g)
				ok &= npu_dim_eval(g->outputs[0]->dim[3], &s) == want;
			if (g && npu_dim_eval(g->outputs[0]->dim[3], &s) != want)
				tap_diag("%s W=%d: %d, counted %d", line, (int)(s * step),
					 (int)npu_dim_eval(g->outputs[0]->dim[3], &s), (int)want);
		}
		linear += g != NULL;
		refusals += !g;
		/*
		 * a refusal must have a reason: the counts over s are no line, or the window does
		 * not fit
		 */
		if (!g) {
			int64_t a = count_windows(6 * step, kernel, stride, dil, p0, p1, ceil);
			int64_t d = count_windows(7 * step, kernel, stride, dil, p0, p1, ceil) - a;
			bool line_after_all = true;

			for (s = 8; s <= 20; s++)
				line_after_all &= count_windows(s * step, kernel, stride, dil, p0,
								p1, ceil) == a + (s - 6) * d;
			if (line_after_all && a > 0 && step % stride == 0) {
				tap_diag("needlessly refused: %s step %d: %s", line, (int)step,
					 npu_diag_text(&diag));
				ok = false;
			}
		}
		wrong += !ok;
		npu_graph_free(g);
		npu_diag_fini(&diag);
	}
	tap_ok(!wrong && linear > rounds / 4 && refusals > rounds / 20,
	       "%u random windows: %u are linear and counted right, %u refused", rounds, linear,
	       refusals);
}

/* The same net with a number in place of the symbol has the same shapes. */
static void test_net(void)
{
	static const char *const lines[] = { "a = Conv(x, w3) pads=[1,1,1,1] strides=[2,2]",
					     "r = Relu(a)",
					     "p = MaxPool(r) kernel_shape=[2,2] strides=[2,2]",
					     "u = Resize(p, , up) mode='nearest'",
					     "c = Concat(u, r) axis=1",
					     "t = Transpose(c) perm=[0,2,3,1]",
					     "s = Shape(t)",
					     "n = Gather(s, i2)",
					     "f = Gather(s, i3)",
					     "q = Concat(i1, im1, n, f) axis=0",
					     "v = Reshape(t, q)",
					     "y = ReduceMean(v) axes=[1] keepdims=0",
					     NULL };
	struct npu_diag diag = { 0 };
	struct npu_graph *sym = net(lines, 16, 160, 8, 11, &diag), *fix;
	unsigned int wrong = 0, compared = 0, i;
	int64_t s;
	int d;

	tap_ok(sym != NULL, "a net with one symbol");
	for (s = 2; sym && s <= 20; s++) {
		fix = net(lines, 8 * s, 8 * s, 8 * s, 11, &diag);
		for (i = 0; fix && i < sym->num_tensors; i++) {
			const struct npu_gtensor *a = sym->tensors[i],
						 *b = npu_graph_find_tensor(fix, a->name);

			if (!b || a->rank < 0 || a->rank != b->rank || a->data)
				continue;
			for (d = 0; d < a->rank; d++)
				wrong += npu_dim_eval(a->dim[d], &s) !=
					 npu_dim_eval(b->dim[d], (int64_t[]){ 1 });
			compared++;
		}
		npu_graph_free(fix);
	}
	tap_ok(!wrong && compared > 100, "%u shapes agree with inference at fixed sizes", compared);
	npu_graph_free(sym);
	npu_diag_fini(&diag);
}

/* Multiplications counted by hand: outputs times what goes into one. */
static void test_macs(void)
{
	static const struct { const char *line; int64_t at_w16, at_w64;
	} c[] = {
		{ "y = Conv(x, w3) pads=[1,1,1,1]", 6 * 8 * 16 * 27, 6 * 8 * 64 * 27 },
		{ "y = ConvTranspose(x, wd) group=3 strides=[2,2]", 3 * 8 * 16 * 4,
		  3 * 8 * 64 * 4 },
		{ "t = Transpose(x) perm=[0,1,3,2]; y = MatMul(x, t)", 3 * 8 * 8 * 16,
		  3 * 8 * 8 * 64 },
		{ "y = Relu(x)", 0, 0 },
	};
	unsigned int i, k;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct npu_diag diag = { 0 };
		char line[128];
		const char *lines[3] = { line, NULL, NULL };
		int64_t small = 0, large = 0;
		struct npu_graph *g;
		char *second;

		snprintf(line, sizeof(line), "%s", c[i].line);
		second = strstr(line, "; ");
		if (second) {
			*second = 0;
			lines[1] = second + 2;
		}
		g = net(lines, 8, 64, 8, 13, &diag);
		for (k = 0; g && k < g->num_nodes; k++) {
			small += npu_gnode_macs(g->nodes[k], (int64_t[]){ 2 });
			large += npu_gnode_macs(g->nodes[k], (int64_t[]){ 8 });
		}
		if (!tap_ok(g && small == c[i].at_w16 && large == c[i].at_w64,
			    "multiplications: %s", c[i].line))
			tap_diag("%lld, %lld %s", (long long)small, (long long)large,
				 npu_diag_text(&diag));
		npu_graph_free(g);
		npu_diag_fini(&diag);
	}
}

static void test_dims(void)
{
	struct npu_graph *g = npu_graph_new();
	struct npu_diag diag = { 0 };
	struct npu_dim out;
	int64_t ratio;
	char text[64];

	npu_graph_symbol_add(g, "W", 8, 80, 8, &diag);
	npu_graph_symbol_add(g, "H", 16, 32, 16, &diag);
	tap_ok(!strcmp(npu_dim_text(g, lin(3, 4), text, sizeof(text)), "W/2+3"),
	       "a dimension in words: %s", text);
	tap_ok(npu_dim_mul(lin(0, 8), (struct npu_dim){ 0, 16, 1 }, &out) == -EDOM,
	       "the product of two symbols is refused");
	tap_ok(npu_dim_add(lin(INT64_MAX, 0), lin(1, 0), &out) == -ERANGE &&
	       npu_dim_scale(lin(1, 1ll << 62), 4, &out) == -ERANGE, "overflow is found");
	tap_ok(!npu_dim_ratio(lin(4, 16), lin(1, 4), &ratio) && ratio == 4 &&
		       npu_dim_ratio(lin(5, 16), lin(1, 4), &ratio),
	       "the ratio of two linear forms");
	tap_ok(!npu_dim_min(g, lin(0, 8), lin(8, 0), &out) && npu_dim_equal(out, lin(8, 0)) &&
		       npu_dim_min(g, lin(0, 8), lin(40, 0), &out) == -EDOM,
	       "a minimum that the bounds decide, and one they do not");
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

int main(void)
{
	test_dims();
	test_windows();
	test_advice();
	test_moves();
	test_values();
	test_macs();
	test_net();
	test_brute_force();
	return tap_done();
}
