// SPDX-License-Identifier: MIT
/*
 * Constant folding: integer rules, types, limits. The numbers are worked out by hand from ONNX's
 * text.
 */
#include <math.h>
#include <stdlib.h>

#include "compiler/fold.h"
#include "import_util.h"
#include "npu_half.h"
#include "tap.h"

/* Fold "y = ..." over a fixed set of constants; compare y with @want. */
static void folds(const char *line, enum npu_gtype type, int count, const double *want)
{
	static const int64_t a[4] = { 7, -7, 5, 0 }, b[4] = { 2, 2, -3, 5 }, idx[2] = { -1, 0 };
	static const float f[4] = { 0.5f, -1.5f, 2.5f, 3 }, m[6] = { 1, 2, 3, 4, 5, 6 };
	static const int32_t i32[2] = { INT32_MAX, INT32_MIN };
	static const int8_t i8[2] = { 127, -128 };
	static const uint8_t bools[4] = { 1, 0, 1, 0 };
	const struct npu_gtensor *y;
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	bool ok;
	struct ob o;
	int k;

	ob_init(&o, 13);
	ob_input(&o, "x", 1, 1, OB_DIMS(1));
	ob_ints(&o, "a", 4, a);
	ob_ints(&o, "b", 4, b);
	ob_ints(&o, "idx", 2, idx);
	ob_ints(&o, "ax0", 1, OB_DIMS(0));
	ob_ints(&o, "ax1", 1, OB_DIMS(1));
	ob_ints(&o, "m1", 1, OB_DIMS(-1));
	ob_ints(&o, "s0", 1, OB_DIMS(-1));
	ob_ints(&o, "e0", 1, OB_DIMS(INT64_MIN));
	ob_ints(&o, "sh", 2, OB_DIMS(3, -1));
	ob_ints(&o, "ex", 3, OB_DIMS(2, 1, 4));
	ob_ints(&o, "rep", 2, OB_DIMS(1, 2));
	ob_ints(&o, "pads", 4, OB_DIMS(0, 1, 1, 0));
	ob_const(&o, "f", 1, 1, OB_DIMS(4), f, sizeof(f));
	ob_const(&o, "m", 1, 2, OB_DIMS(2, 3), m, sizeof(m));
	ob_const(&o, "i32", 6, 1, OB_DIMS(2), i32, sizeof(i32));
	ob_const(&o, "i8", 3, 1, OB_DIMS(2), i8, sizeof(i8));
	ob_const(&o, "one32", 6, 1, OB_DIMS(1), (int32_t[]){ 1 }, 4);
	ob_const(&o, "one8", 3, 1, OB_DIMS(1), (int8_t[]){ 1 }, 1);
	ob_const(&o, "cond", 9, 1, OB_DIMS(4), bools, sizeof(bools));
	ob_const(&o, "r0", 7, 0, NULL, (int64_t[]){ 10 }, 8);
	ob_const(&o, "r1", 7, 0, NULL, (int64_t[]){ 1 }, 8);
	ob_const(&o, "r2", 7, 0, NULL, (int64_t[]){ -4 }, 8);
	ob_node(&o, line);
	ob_output(&o, "y");
	g = import_built(&o, NULL, &diag);
	if (g)
		npu_graph_optimize(g, NULL, &diag);
	y = g ? g->outputs[0] : NULL;
	ok = y && y->data && y->type == type && npu_gtensor_const_elems(y) == count &&
	     !g->num_nodes;
	for (k = 0; k < count && ok; k++) {
		double v = npu_gtensor_elem(y, (size_t)k);

		ok = v == want[k] || (isnan(v) && isnan(want[k]));
		if (!ok)
			tap_diag("element %d is %.17g, expected %.17g", k, v, want[k]);
	}
	if (!tap_ok(ok, "%s", line))
		tap_diag("%s", npu_diag_text(&diag));
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

#define W(...)	(int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), (double[]){ __VA_ARGS__ }

static void test_values(void)
{
	folds("y = Div(a, b)", NPU_GT_I64, W(3, -3, -1, 0));			/* towards zero */
	/* sign of the divisor */
	folds("y = Mod(a, b)", NPU_GT_I64, W(1, 1, -1, 0));
	/* sign of the dividend */
	folds("y = Mod(a, b) fmod=1", NPU_GT_I64, W(1, -1, 2, 0));
	folds("y = Add(i32, one32)", NPU_GT_I32, W(-2147483648.0, -2147483647.0));	/* wraps */
	folds("y = Sub(i8, one8)", NPU_GT_I8, W(126, 127));
	folds("y = Neg(i8)", NPU_GT_I8, W(-127, -128));
	folds("y = Less(a, b)", NPU_GT_BOOL, W(0, 1, 0, 1));
	folds("y = Equal(a, a)", NPU_GT_BOOL, W(1, 1, 1, 1));
	folds("y = Where(cond, a, b)", NPU_GT_I64, W(7, 2, 5, 5));
	folds("y = Cast(f) to=7", NPU_GT_I64, W(0, -1, 2, 3));
	folds("y = Cast(f) to=9", NPU_GT_BOOL, W(1, 1, 1, 1));
	folds("y = Cast(a) to=1", NPU_GT_F32, W(7, -7, 5, 0));
	folds("y = Round(f)", NPU_GT_F32, W(0, -2, 2, 3));			/* half to even */
	folds("y = Clip(f)", NPU_GT_F32, W(0.5, -1.5, 2.5, 3));
	folds("y = Reciprocal(f)", NPU_GT_F32,
	      W(2, (double)(1.0f / -1.5f), (double)(1.0f / 2.5f), (double)(1.0f / 3)));
	folds("y = Sqrt(f)", NPU_GT_F32,
	      W((double)sqrtf(0.5f), NAN, (double)sqrtf(2.5f), (double)sqrtf(3)));
	folds("y = Transpose(m)", NPU_GT_F32, W(1, 4, 2, 5, 3, 6));
	folds("y = Reshape(m, sh)", NPU_GT_F32, W(1, 2, 3, 4, 5, 6));
	folds("y = Gather(m, idx) axis=1", NPU_GT_F32, W(3, 1, 6, 4));
	folds("y = Gather(a, idx)", NPU_GT_I64, W(0, 7));
	folds("y = Concat(m, m) axis=1", NPU_GT_F32, W(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
	folds("y = Slice(m, s0, e0, ax1, m1)", NPU_GT_F32, W(3, 2, 1, 6, 5, 4));
	folds("y = Expand(f, ex)", NPU_GT_F32, W(0.5, -1.5, 2.5, 3, 0.5, -1.5, 2.5, 3));
	folds("y = Tile(m, rep)", NPU_GT_F32, W(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
	folds("y = Pad(m, pads)", NPU_GT_F32, W(0, 1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0));
	folds("y = ReduceMean(m) axes=[0]", NPU_GT_F32, W(2.5, 3.5, 4.5));
	folds("y = ReduceSum(m, ax1) keepdims=0", NPU_GT_F32, W(6, 15));
	folds("y = ReduceProd(a) keepdims=0", NPU_GT_I64, W(0));
	folds("y = Shape(m)", NPU_GT_I64, W(2, 3));
	folds("y = Size(m)", NPU_GT_I64, W(6));
	folds("y = Range(r0, r1, r2)", NPU_GT_I64, W(10, 6, 2));
	folds("y = ConstantOfShape(rep)", NPU_GT_F32, W(0, 0));
	folds("y = Constant() value_ints=[3,-4]", NPU_GT_I64, W(3, -4));
	folds("y = Constant() value_float=2.5", NPU_GT_F32, W(2.5));
}

/* All 65536 halves survive the way to float and back; ties go to the even one. */
static void test_half(void)
{
	struct npu_gtensor t = { .type = NPU_GT_F16, .rank = 0 };
	unsigned int wrong = 0, i;
	uint16_t h;

	for (i = 0; i < 65536; i++) {
		h = (uint16_t)i;
		t.data = &h;
		double v = npu_gtensor_elem(&t, 0);

		wrong += isnan(v) ? (h & 0x7fff) <= 0x7c00 : npu_half_narrow((float)v) != h;
	}
	tap_ok(!wrong, "every half survives");
}

static void test_limits(void)
{
	struct npu_diag diag = { 0 };
	struct npu_graph *g;
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 1, OB_DIMS(1));
	ob_ints(&b, "huge", 3, OB_DIMS(1 << 20, 1 << 20, 1));
	ob_node(&b, "c: y = ConstantOfShape(huge)");
	ob_output(&b, "y");
	g = import_built(&b, NULL, &diag);
	tap_ok(g && npu_graph_optimize(g, NULL, &diag) &&
		       diag_says(&diag, "node 'c'", "larger than", NULL),
	       "a constant of terabytes is refused");
	npu_graph_free(g);
	npu_diag_fini(&diag);

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 1, OB_DIMS(1));
	ob_scalar(&b, "k", 2);
	ob_ints(&b, "huge", 2, OB_DIMS(1 << 15, 1 << 15));
	ob_node(&b, "y = Expand(k, huge)");
	ob_output(&b, "y");
	g = import_built(&b, NULL, &diag);
	tap_ok(g && !npu_graph_optimize(g, NULL, &diag) && count_op(g, NPU_GOP_Expand) == 1,
	       "a large Expand of a constant is left to run");
	npu_graph_free(g);
	npu_diag_fini(&diag);

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 2, OB_DIMS(1, 2));
	ob_const(&b, "w", 3, 2, OB_DIMS(2, 2), "\1\2\3\4", 4);
	ob_scalar(&b, "s", 0.5f);
	ob_node(&b, "f = DequantizeLinear(w, s)");
	ob_node(&b, "y = MatMul(x, f)");
	ob_output(&b, "y");
	g = import_built(&b, NULL, &diag);
	tap_ok(g && !npu_graph_optimize(g, NULL, &diag) &&
		       !count_op(g, NPU_GOP_DequantizeLinear) &&
		       g->nodes[0]->inputs[1]->quant && g->nodes[0]->inputs[1]->type == NPU_GT_I8,
	       "quantized weights stay codes");
	tap_ok(npu_gtensor_elem(g->nodes[0]->inputs[1], 2) == 1.5 &&
		       npu_gtensor_elem_int(g->nodes[0]->inputs[1], 2) == 3,
	       "read as numbers, or as codes");
	npu_graph_free(g);
	npu_diag_fini(&diag);
}

int main(void)
{
	test_values();
	test_half();
	test_limits();
	return tap_done();
}
