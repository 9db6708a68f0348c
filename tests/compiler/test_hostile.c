// SPDX-License-Identifier: MIT
/*
 * Models that are valid protobuf and nonsense: sizes without measure, lists of a wrong length,
 * axes that are not there, windows of nothing. Each must be refused, in words that name the node.
 * Each node is called 'bad'; what its operator reads comes from a good model around it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "npu_compiler.h"
#include "tap.h"

struct hostile {
	const char *line;
	int opset;
	const char *list;	/* constant k: numbers; NULL: none */
};

static const struct hostile cases[] = {
	/* windows */
	{ "y = Conv(x, w) kernel_shape=[3,3,3]", 13, NULL },
	{ "y = Conv(x, w) kernel_shape=[5,5]", 13, NULL },
	{ "y = Conv(x, w) strides=[0,1]", 13, NULL },
	{ "y = Conv(x, w) strides=[-1,1]", 13, NULL },
	{ "y = Conv(x, w) strides=[4611686018427387904,1]", 13, NULL },
	{ "y = Conv(x, w) dilations=[4611686018427387904,1]", 13, NULL },
	{ "y = Conv(x, w) pads=[-1,0,0,0]", 13, NULL },
	{ "y = Conv(x, w) pads=[9223372036854775807,0,9223372036854775807,0]", 13, NULL },
	{ "y = Conv(x, w) pads=[1,1]", 13, NULL },
	{ "y = Conv(x, w) group=0", 13, NULL },
	{ "y = Conv(x, w) group=-9223372036854775808", 13, NULL },
	{ "y = Conv(x, w) group=3", 13, NULL },
	{ "y = Conv(x, w) auto_pad='SOMETIMES'", 13, NULL },
	{ "y = Conv(x, v)", 13, NULL },
	{ "y = Conv(x, w, v)", 13, NULL },
	{ "y = Conv(v, w)", 13, NULL },
	{ "y = ConvTranspose(x, w) output_padding=[-5,0]", 13, NULL },
	{ "y = ConvTranspose(x, w) strides=[4611686018427387904,1]", 13, NULL },
	{ "y = ConvTranspose(x, w) output_shape=[9223372036854775807,1]", 13, NULL },
	{ "y = MaxPool(x)", 13, NULL },
	{ "y = MaxPool(x) kernel_shape=[0,0]", 13, NULL },
	{ "y = MaxPool(x) kernel_shape=[99,99]", 13, NULL },
	{ "y = MaxPool(x) kernel_shape=[2,2] pads=[2,2,2,2]", 13, NULL },
	{ "y = AveragePool(v) kernel_shape=[2]", 13, NULL },
	{ "y = LpPool(x) kernel_shape=[2,9223372036854775807]", 13, NULL },
	{ "y = GlobalAveragePool(v)", 13, NULL },
	{ "y = MaxUnpool(x, x) kernel_shape=[2]", 13, NULL },
	{ "y = MaxUnpool(x, x) kernel_shape=[2,2] strides=[4611686018427387904,2]", 13, NULL },
	{ "y = RoiAlign(x, x, k) output_height=1", 13, "0" },
	{ "y = RoiAlign(x, r, k) output_height=-7", 13, "0" },
	{ "y = RoiAlign(x, r, k) output_height=9223372036854775807", 13, "0" },
	/* shapes */
	{ "y = Reshape(x, k)", 13, "-1 -1" },
	{ "y = Reshape(x, k)", 13, "7 -1" },
	{ "y = Reshape(x, k)", 13, "-9223372036854775808 2" },
	{ "y = Reshape(x, k)", 13, "4611686018427387904 4" },
	{ "y = Reshape(x, k)", 13, "1 1 1 1 1 1 1 1 1 1 -1" },
	{ "y = Reshape(x, x)", 13, NULL },
	{ "y = Squeeze(x, k)", 13, "1" },
	{ "y = Squeeze(x, k)", 13, "99" },
	{ "y = Unsqueeze(x, k)", 13, "0 0" },
	{ "y = Unsqueeze(x, k)", 13, "0 1 2 3 4 5 6 7 8" },
	{ "y = Unsqueeze(x, k)", 13, "-9223372036854775808" },
	{ "y = Flatten(x) axis=9", 13, NULL },
	{ "y = Expand(x, k)", 13, "1 3 8 8" },
	{ "y = Expand(x, k)", 13, "1099511627776 4 8 8" },
	{ "y = Expand(x, k)", 13, "-1 4 8 8" },
	{ "y = Tile(x, k)", 13, "1 1" },
	{ "y = Tile(x, k)", 13, "1 1 1 4611686018427387904" },
	{ "y = Tile(x, k)", 13, "-1 1 1 1" },
	{ "y = ConstantOfShape(k)", 13, "-1" },
	{ "y = ConstantOfShape(k)", 13, "2147483647 2147483647 2147483647" },
	{ "y = Range(a, b, c)", 13, NULL },
	{ "y = OneHot(x, k, v)", 13, "-3" },
	{ "y = Transpose(x) perm=[0,0,1,2]", 13, NULL },
	{ "y = Transpose(x) perm=[0,1,2,4]", 13, NULL },
	{ "y = Transpose(x) perm=[0,1]", 13, NULL },
	/* axes and lists */
	{ "y = Concat(x, x) axis=4", 13, NULL },
	{ "y = Concat(x, v) axis=0", 13, NULL },
	{ "y = Concat(x, w) axis=1", 13, NULL },
	{ "y, z = Split(x, k) axis=1", 13, "1 1" },
	{ "y, z = Split(x, k) axis=1", 13, "-1 5" },
	{ "y, z = Split(x, k) axis=1", 13, "9223372036854775807 5" },
	{ "y = Softmax(x) axis=-5", 13, NULL },
	{ "y = ReduceSum(x, k)", 13, "4" },
	{ "y = ReduceMean(x) axes=[0,0,9]", 13, NULL },
	{ "y = ArgMax(x) axis=17", 13, NULL },
	{ "y, i = TopK(x, k)", 13, "-1" },
	{ "y, i = TopK(x, k)", 13, "9223372036854775807" },
	{ "y = Gather(x, k) axis=-9", 13, "0" },
	{ "y = GatherElements(x, k)", 13, "0" },
	{ "y = GatherND(x, k) batch_dims=3", 13, "0" },
	{ "y = GatherND(x, k)", 13, "0 0 0 0 0" },
	{ "y = ScatterND(x, k, v) reduction='sometimes'", 16, "0 0 0 0 0 0 0 0 0" },
	{ "y = Slice(x, k, k, k, k)", 13, "0" },
	{ "y = Slice(x, k, k, k)", 13, "9" },
	{ "y = Slice(x, k)", 13, "1" },
	{ "y = Pad(x, k)", 13, "1 1" },
	{ "y = Pad(x, k)", 13, "0 0 0 4611686018427387904 0 0 0 4611686018427387904" },
	{ "y = Pad(x, k)", 13, "0 0 0 -9 0 0 0 0" },
	{ "y = Pad(x, k) mode='mirror'", 13, "0 0 0 0 0 0 0 0" },
	{ "y = CumSum(x, k)", 13, "11" },
	{ "y = Trilu(v)", 14, NULL },
	{ "y = DepthToSpace(x) blocksize=0", 13, NULL },
	{ "y = DepthToSpace(x) blocksize=4611686018427387904", 13, NULL },
	{ "y = SpaceToDepth(x) blocksize=3", 13, NULL },
	{ "y = Unique(x) axis=6", 13, NULL },
	{ "y = Compress(x, k) axis=-6", 13, "1" },
	{ "y = ReverseSequence(x, k) time_axis=8", 13, "1" },
	/* numbers */
	{ "y = Upsample(x) scales=[1.0,1.0,0.0,1.0]", 7, NULL },
	{ "y = Upsample(x) scales=[1.0,1.0,-2.0,1.0]", 7, NULL },
	{ "y = Upsample(x) scales=[1.0,1.0,1.e30,1.0]", 7, NULL },
	{ "y = Upsample(x) scales=[1.0,1.0]", 7, NULL },
	{ "y = Resize(x, , , k)", 13, "1 4 -8 8" },
	{ "y = Resize(x, , , k)", 13, "1 4 1099511627776 8" },
	{ "y = Resize(x, , , k)", 13, "4 8" },
	{ "y = Resize(x)", 13, NULL },
	{ "y = Resize(x, , , k) axes=[2,2]", 18, "16 16" },
	{ "y = Resize(x, , , k) axes=[2,4]", 18, "16 16" },
	{ "y = Resize(x, , , k) axes=[2,3]", 18, "1 4 16 16" },
	{ "y = Resize(x, , , k) axes=[-9223372036854775808]", 18, "16" },
	{ "y = Resize(x, , , k) keep_aspect_ratio_policy='always'", 18, "1 4 16 16" },
	{ "y = Resize(x, , , k) mode='quintic'", 13, "1 4 16 16" },
	/* products and the rest */
	{ "y = MatMul(x, v)", 13, NULL },
	{ "y = MatMul(x, w)", 13, NULL },
	{ "y = Gemm(x, w)", 13, NULL },
	{ "y = Add(x, v)", 13, NULL },
	{ "y = Add(x, k)", 13, "1" },
	{ "y = Where(x, x, x)", 13, NULL },
	{ "y = Cast(x) to=99", 13, NULL },
	{ "y = Cast(x) to=-9223372036854775808", 13, NULL },
	{ "y = PRelu(x, w)", 13, NULL },
	{ "y = BatchNormalization(x, v, v, v, v)", 13, NULL },
	{ "y = InstanceNormalization(x, v, v)", 13, NULL },
	{ "y = LayerNormalization(x, v) axis=7", 17, NULL },
	{ "y = GroupNormalization(x, v, v) num_groups=0", 18, NULL },
	{ "y = GroupNormalization(x, v, v) num_groups=3", 18, NULL },
	{ "y = LRN(x) size=-1", 13, NULL },
	{ "y = Einsum(x, v) equation='ij,jk->ik'", 13, NULL },
	{ "y = Einsum(x) equation='abcd->e'", 13, NULL },
	{ "y = Einsum(x, x) equation='abcd,adcb->'", 13, NULL },
	{ "y = Einsum(x) equation='........'", 13, NULL },
	{ "y = Det(w)", 13, NULL },
	{ "y = EyeLike(x)", 13, NULL },
	{ "y = NonMaxSuppression(x, x)", 13, NULL },
	{ "y = GridSample(x, v)", 16, NULL },
	{ "y = HannWindow(k)", 17, "-4" },
	{ "y = HannWindow(k)", 17, "9223372036854775807" },
	{ "y = DFT(x) axis=3", 17, NULL },
	{ "y = DFT(x, k)", 17, "-1" },
	{ "y = STFT(x, k, v)", 17, "0" },
	{ "y, h = LSTM(x, w, w)", 14, NULL },
	{ "y = Add(x, v) broadcast=1 axis=3", 6, NULL },
	{ "y = Add(x, v) broadcast=1 axis=-17", 6, NULL },
	{ "y = Add(x, v)", 6, NULL },
	{ "y = Dropout(x)", 6, NULL },
};

static void add_list(struct ob *b, const char *text)
{
	int64_t v[16];
	int n = 0;
	char *end;

	for (; *text; text = *end ? end + 1 : end)
		v[n++] = strtoll(text, &end, 10);
	ob_ints(b, "k", n, v);
}

static void test_case(const struct hostile *c)
{
	struct npu_compile_result *result = NULL;
	const char *text;
	char line[200];
	uint8_t *model;
	size_t size;
	struct ob b;
	int err;

	ob_init(&b, c->opset);
	ob_input(&b, "in", 1, 4, OB_DIMS(1, 4, 8, 8));
	ob_node(&b, "good: x = Relu(in)");
	free(ob_random(&b, "w", 4, OB_DIMS(6, 4, 3, 5)));
	free(ob_random(&b, "v", 1, OB_DIMS(7)));
	free(ob_random(&b, "r", 2, OB_DIMS(1, 4)));
	ob_scalar(&b, "a", 0);
	ob_scalar(&b, "b", 1e30f);
	ob_scalar(&b, "c", 1e-30f);
	if (c->list)
		add_list(&b, c->list);
	snprintf(line, sizeof(line), "bad: %s", c->line);
	ob_node(&b, line);
	ob_output(&b, "y");
	model = ob_finish(&b, &size);
	err = npu_compile_onnx(model, size, NULL, NULL, &result);
	text = result ? npu_compile_messages(result) : "";
	tap_ok((err == -EINVAL || err == -EOPNOTSUPP || err == -EDOM || err == -ERANGE) &&
		       strstr(text, "'bad'") && !strstr(text, "'good'"),
	       "%s %s: refused by name (%d): %.*s", c->line, c->list ? c->list : "", err,
	       (int)strcspn(text, "\n"), text);
	npu_compile_result_free(result);
	free(model);
}

/* ---- what a file says beside its nodes ------------------------------------------------------- */

static void finish(const char *what, struct ob *b, const char *name)
{
	struct npu_compile_result *result = NULL;
	const char *text;
	uint8_t *model;
	size_t size;
	int err;

	ob_output(b, "y");
	model = ob_finish(b, &size);
	err = npu_compile_onnx(model, size, NULL, NULL, &result);
	text = result ? npu_compile_messages(result) : "";
	tap_ok(err < 0 && err != -ENOMEM && strstr(text, name), "%s: refused (%d): %.*s", what, err,
	       (int)strcspn(text, "\n"), text);
	npu_compile_result_free(result);
	free(model);
}

static void test_input(const char *what, int type, int rank, const int64_t *dims)
{
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "strange", type, rank, dims);
	ob_node(&b, "y = Relu(strange)");
	finish(what, &b, "strange");
}

static void test_files(void)
{
	struct ob b;

	test_input("an input beyond memory", 1, 2, OB_DIMS(1ll << 40, 1ll << 40));
	test_input("an input whose size overflows", 1, 4,
		   OB_DIMS(INT32_MAX, INT32_MAX, INT32_MAX, 4));
	test_input("an input of 9 dimensions", 1, 9, OB_DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1));
	test_input("an input of strings", 8, 1, OB_DIMS(4));
	test_input("an input of a type that there is not", 77, 1, OB_DIMS(4));
	test_input("an input without elements", 1, 2, OB_DIMS(0, 4));
	test_input("an input of unknown size", 1, 2, OB_DIMS(-1, 4));

	ob_init(&b, 13);
	ob_input(&b, "twice", 1, 1, OB_DIMS(4));
	ob_input(&b, "twice", 1, 1, OB_DIMS(5));
	ob_node(&b, "y = Relu(twice)");
	finish("an input twice", &b, "twice");

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 1, OB_DIMS(4));
	free(ob_random(&b, "twice", 1, OB_DIMS(4)));
	free(ob_random(&b, "twice", 1, OB_DIMS(4)));
	ob_node(&b, "y = Add(x, twice)");
	finish("a constant twice", &b, "twice");

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 1, OB_DIMS(4));
	free(ob_random(&b, "taken", 1, OB_DIMS(4)));
	ob_node(&b, "maker: taken = Relu(x)");
	ob_node(&b, "y = Relu(taken)");
	finish("a constant that a node makes too", &b, "taken");

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 1, OB_DIMS(4));
	ob_node(&b, "left: a = Add(x, c)");
	ob_node(&b, "right: c = Relu(a)");
	ob_node(&b, "y = Relu(c)");
	finish("nodes in a circle", &b, "left");

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 1, OB_DIMS(4));
	ob_const(&b, "short", 1, 2, OB_DIMS(1ll << 33, 1ll << 33), "", 0);
	ob_node(&b, "y = Add(x, short)");
	finish("a constant larger than its data", &b, "short");

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 1, OB_DIMS(4));
	ob_const(&b, "minus", 1, 1, OB_DIMS(-4), "", 0);
	ob_node(&b, "y = Add(x, minus)");
	finish("a constant of negative size", &b, "minus");
}

/* The names of nodes need not be unique in a file; both are told apart and run. */
static void test_same_names(void)
{
	struct npu_compile_result *result = NULL;
	uint8_t *model;
	struct ob b;
	size_t size;
	int err;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 1, OB_DIMS(4));
	ob_node(&b, "n: a = Relu(x)");
	ob_node(&b, "n: y = Sigmoid(a)");
	ob_output(&b, "y");
	model = ob_finish(&b, &size);
	err = npu_compile_onnx(model, size, NULL, NULL, &result);
	tap_ok(!err && npu_compile_placement(result, 1) &&
		       strcmp(npu_compile_placement(result, 0)->node,
			      npu_compile_placement(result, 1)->node),
	       "two nodes of one name compile, and the report tells them apart");
	npu_compile_result_free(result);
	free(model);
}

/* Seven ways through each of thirty nodes are looked at once, not 7^30 times. */
static void test_many_paths(void)
{
	struct npu_compile_result *result = NULL;
	char line[160];
	uint8_t *model;
	struct ob b;
	size_t size;
	int err;

	ob_init(&b, 13);
	ob_input(&b, "v0", 1, 1, OB_DIMS(4));
	for (int i = 0; i < 30; i++) {
		const char *s = i % 2 ? "Sum" : "Max";

		snprintf(line, sizeof(line), "v%d = %s(v%d, v%d, v%d, v%d, v%d, v%d, v%d)", i + 1,
			 s, i, i, i, i, i, i, i);
		ob_node(&b, line);
	}
	ob_scalar(&b, "scale", 0.5f);
	ob_node(&b, "y = QuantizeLinear(v30, scale)");
	ob_output(&b, "y");
	model = ob_finish(&b, &size);
	err = npu_compile_onnx(model, size, NULL, NULL, &result);
	tap_ok(!err, "many paths to one tensor: %s",
	       err ? npu_compile_messages(result) : "compiled at once");
	npu_compile_result_free(result);
	free(model);
}

int main(void)
{
	test_files();
	test_many_paths();
	test_same_names();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		test_case(&cases[i]);
	return tap_done();
}
