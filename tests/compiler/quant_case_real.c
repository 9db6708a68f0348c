// SPDX-License-Identifier: MIT
/*
 * Operators that compute with real numbers between codes; ONNX Runtime says what they give. Each is
 * made in its QLinear form, and as the operator between DequantizeLinear and QuantizeLinear.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quant_case.h"

#define RANK	4

/* A model of at most three quantized inputs of one shape. */
struct maker {
	struct quant_case *c;
	struct ob b;
	uint32_t *seed;
	bool is_unsigned;
	int64_t dims[RANK];
};

static void maker_init(struct maker *m, struct quant_case *c, uint32_t *seed, bool is_unsigned)
{
	static const int64_t most[RANK] = { 2, 9, 8, 9 };

	*m = (struct maker){ .c = c, .seed = seed, .is_unsigned = is_unsigned };
	for (int i = 0; i < RANK; i++)
		m->dims[i] = 1 + quant_random(seed, (uint32_t)most[i]);
	ob_init(&m->b, 13);
}

static struct quant_type operand(struct maker *m, const char *name, const int64_t *dims)
{
	struct quant_type q = quant_any_type(m->seed, m->is_unsigned, quant_scale(m->seed));
	struct npu_npy a;

	quant_codes(&a, m->seed, q, 8, RANK, dims);
	quant_input(m->c, &m->b, name, &a);
	quant_params(&m->b, name, q);
	return q;
}

static void result(struct maker *m, float scale)
{
	quant_params(&m->b, "y", quant_any_type(m->seed, m->is_unsigned, scale));
}

static void done(struct maker *m, const char *const *lines)
{
	for (; *lines; lines++)
		ob_node(&m->b, *lines);
	ob_output(&m->b, "y");
	m->c->model = ob_finish(&m->b, &m->c->size);
}

#define LINES(...)	((const char *const[]){ __VA_ARGS__, NULL })

static void binary(struct quant_case *c, uint32_t seed, const char *line, bool product)
{
	int64_t other[RANK];
	struct quant_type a, b;
	struct maker m;

	maker_init(&m, c, &seed, true);
	for (int i = 0; i < RANK; i++)
		other[i] = quant_random(&seed, 3) ? m.dims[i] : 1;
	a = operand(&m, "a", m.dims);
	b = operand(&m, "b", other);
	result(&m, product ? a.scale * b.scale * 64 : (a.scale + b.scale) * 0.7f);
	done(&m, LINES(line));
}

static void make_add(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	(void)plain, (void)narrow;
	binary(c, seed, "y = com.microsoft.QLinearAdd(a, a_s, a_z, b, b_s, b_z, y_s, y_z)", false);
}

static void make_mul(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	(void)plain, (void)narrow;
	binary(c, seed, "y = com.microsoft.QLinearMul(a, a_s, a_z, b, b_s, b_z, y_s, y_z)", true);
}

static void make_binary_qdq(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	static const char *const op[] = { "f = Add(af, bf)", "f = Sub(af, bf)", "f = Mul(af, bf)",
					  "f = Max(af, bf)" };
	unsigned int k = quant_random(&seed, 4);
	struct quant_type a, b;
	struct maker m;

	(void)plain, (void)narrow;
	maker_init(&m, c, &seed, quant_random(&seed, 2));
	a = operand(&m, "a", m.dims);
	b = operand(&m, "b", m.dims);
	result(&m, k == 2 ? a.scale * b.scale * 64 : (a.scale + b.scale) * 0.7f);
	done(&m, LINES("af = DequantizeLinear(a, a_s, a_z)", "bf = DequantizeLinear(b, b_s, b_z)",
		       op[k], "y = QuantizeLinear(f, y_s, y_z)"));
}

static void make_concat(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	struct quant_type a;
	struct maker m;

	(void)plain, (void)narrow;
	maker_init(&m, c, &seed, true);
	a = operand(&m, "a", m.dims);
	operand(&m, "b", m.dims);
	result(&m, a.scale);
	done(&m,
	     LINES("y = com.microsoft.QLinearConcat(y_s, y_z, a, a_s, a_z, b, b_s, b_z) axis=1"));
}

/* One operand; the result's scale is @scale, or that of the operand times @times. */
static void unary(struct quant_case *c, uint32_t seed, const char *line, float times, float scale,
		  bool is_unsigned)
{
	struct quant_type a;
	struct maker m;

	maker_init(&m, c, &seed, is_unsigned);
	a = operand(&m, "a", m.dims);
	result(&m, scale != 0 ? scale : a.scale * times);
	done(&m, LINES(line));
}

static void make_sigmoid(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	(void)plain, (void)narrow;
	unary(c, seed, "y = com.microsoft.QLinearSigmoid(a, a_s, a_z, y_s, y_z)", 0, 1 / 256.0f,
	      seed & 1);
}

static void make_leaky(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	(void)plain, (void)narrow;
	unary(c, seed, "y = com.microsoft.QLinearLeakyRelu(a, a_s, a_z, y_s, y_z) alpha=0.1", 0.9f,
	      0, seed & 1);
}

static void make_softmax(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	struct maker m;

	(void)plain, (void)narrow;
	maker_init(&m, c, &seed, true);
	m.dims[3]++;	/* of one element alone, ONNX Runtime's probability is 0 */
	operand(&m, "a", m.dims);
	quant_params(&m.b, "y", (struct quant_type){ 2, 1 / 255.0f, 0 });
	done(&m, LINES("y = com.microsoft.QLinearSoftmax(a, a_s, a_z, y_s, y_z) axis=-1 opset=13"));
}

static void make_average(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	struct quant_type a;
	struct maker m;

	(void)plain, (void)narrow;
	maker_init(&m, c, &seed, true);
	m.dims[2] += 3;
	m.dims[3] += 3;
	a = operand(&m, "a", m.dims);
	result(&m, a.scale * 0.9f);
	done(&m,
	     LINES("y = com.microsoft.QLinearAveragePool(a, a_s, a_z, y_s, y_z) kernel_shape=[3,2] "
		   "strides=[2,1] pads=[1,0,1,1]"));
}

static void make_global(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	(void)plain, (void)narrow;
	unary(c, seed, "y = com.microsoft.QLinearGlobalAveragePool(a, a_s, a_z, y_s, y_z)", 0.5f, 0,
	      true);
}

/* A chain of several operators that a quantizer puts between its pairs. */
static void make_chain(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	static const char *const op[] = {
		"f = MaxPool(af) kernel_shape=[2,2] pads=[1,1,1,1]", "f = Relu(af)",
		"f = Clip(af)", "f = Transpose(af) perm=[0,2,3,1]", "f = HardSigmoid(af)",
		"f = LeakyRelu(af) alpha=0.25", "f = Tanh(af)", "f = GlobalAveragePool(af)",
	};
	struct quant_type a;
	struct maker m;
	unsigned int k = quant_random(&seed, sizeof(op) / sizeof(op[0]));

	(void)plain, (void)narrow;
	maker_init(&m, c, &seed, quant_random(&seed, 2));
	a = operand(&m, "a", m.dims);
	quant_params(&m.b, "y",
		     k == 3 || k == 0
			     ? a
			     : quant_any_type(&seed, m.is_unsigned,
					      k == 6 || k == 4 ? 1 / 128.0f : a.scale * 0.8f));
	done(&m,
	     LINES("af = DequantizeLinear(a, a_s, a_z)", op[k], "y = QuantizeLinear(f, y_s, y_z)"));
}

static void floats(struct maker *m, const char *name, int rank, const int64_t *dims)
{
	struct npu_npy a;

	if (array_alloc(&a, NPU_NPY_F32, rank, dims))
		abort();
	array_random(&a, *m->seed, -3, 2);
	quant_input(m->c, &m->b, name, &a);
}

static void make_dynamic(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	struct maker m;

	(void)plain, (void)narrow;
	maker_init(&m, c, &seed, true);
	floats(&m, "x", RANK, m.dims);
	done(&m, LINES("y, s, z = DynamicQuantizeLinear(x)"));
}

/* What the dynamic quantizer makes of a MatMul, and of a Conv, with a bias behind it. */
static void make_dynamic_product(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	bool conv = quant_random(&seed, 2);
	int64_t n = 1 + quant_random(&seed, 20), k;
	struct quant_type w;
	struct npu_npy codes;
	struct maker m;

	(void)plain;
	maker_init(&m, c, &seed, true);
	m.dims[2] += 2;
	m.dims[3] += 2;
	floats(&m, "x", RANK, m.dims);
	w = quant_any_type(&seed, conv || quant_random(&seed, 2), quant_scale(&seed));
	k = conv ? m.dims[1] : m.dims[3];
	if (conv)
		quant_codes(&codes, &seed, w, narrow ? 7 : 8, 4, OB_DIMS(n, k, 3, 3));
	else
		quant_codes(&codes, &seed, w, narrow ? 7 : 8, 2, OB_DIMS(k, n));
	quant_const(&m.b, "w", &codes);
	quant_params(&m.b, "w", w);
	free(conv ? ob_random(&m.b, "b", 4, OB_DIMS(1, n, 1, 1))
		  : ob_random(&m.b, "b", 1, OB_DIMS(n)));
	done(&m, LINES("q, s, z = DynamicQuantizeLinear(x)",
		       conv ? "i = ConvInteger(q, w, z, w_z)" : "i = MatMulInteger(q, w, z, w_z)",
		       "f = Cast(i) to=1", "k = Mul(s, w_s)", "g = Mul(f, k)", "h = Add(g, b)",
		       "y = Relu(h)"));
}

static void make_dynamic_matmul(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	struct quant_type w;
	struct npu_npy codes;
	struct maker m;
	int64_t n = 1 + quant_random(&seed, 20);

	(void)plain;
	maker_init(&m, c, &seed, true);
	floats(&m, "x", RANK, m.dims);
	w = quant_any_type(&seed, quant_random(&seed, 2), quant_scale(&seed));
	quant_codes(&codes, &seed, w, narrow ? 7 : 8, 2, OB_DIMS(m.dims[3], n));
	quant_const(&m.b, "w", &codes);
	quant_params(&m.b, "w", w);
	free(ob_random(&m.b, "b", 1, OB_DIMS(n)));
	done(&m, LINES("y = com.microsoft.DynamicQuantizeMatMul(x, w, w_s, w_z, b)"));
}

static void make_gemm(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	int64_t rows = 1 + quant_random(&seed, 9), n = 1 + quant_random(&seed, 30),
		k = 1 + quant_random(&seed, 100);
	struct quant_type a, w;
	struct npu_npy codes;
	int32_t bias[32];
	struct maker m;

	(void)plain;
	maker_init(&m, c, &seed, true);
	a = quant_any_type(&seed, true, quant_scale(&seed));
	w = quant_any_type(&seed, true, quant_scale(&seed));
	quant_codes(&codes, &seed, a, 8, 2, OB_DIMS(rows, k));
	quant_input(c, &m.b, "a", &codes);
	quant_params(&m.b, "a", a);
	quant_codes(&codes, &seed, w, narrow ? 7 : 8, 2, OB_DIMS(n, k));
	quant_const(&m.b, "w", &codes);
	quant_params(&m.b, "w", w);
	for (int64_t i = 0; i < n; i++)
		bias[i] = (int32_t)quant_random(&seed, 20000) - 10000;
	ob_const(&m.b, "b", 6, 1, OB_DIMS(n), bias, 4 * (size_t)n);
	result(&m, a.scale * w.scale * 60 * sqrtf((float)k));
	done(&m,
	     LINES("y = com.microsoft.QGemm(a, a_s, a_z, w, w_s, w_z, b, y_s, y_z) transB=1 "
		   "alpha=1.0"));
}

/* @op with the axes that @seed says, and what comes before and behind it. */
static void mean(struct quant_case *c, uint32_t seed, const char *before, const char *op,
		 const char *behind)
{
	static const char *const axes[] = { "[2,3]", "[1]", "[-1]", "[0,2]", "[0,1,2,3]" };
	struct quant_type a;
	struct maker m;
	char line[160];

	maker_init(&m, c, &seed, quant_random(&seed, 2));
	a = operand(&m, "a", m.dims);
	result(&m, a.scale * 0.6f);
	if (before)
		ob_node(&m.b, before);
	snprintf(line, sizeof(line), "%s axes=%s keepdims=%u", op, axes[quant_random(&seed, 5)],
		 quant_random(&seed, 2));
	done(&m, LINES(line, behind));
}

/* ONNX Runtime knows the operator, but has nothing that does it: it gets what it stands for. */
static void make_mean(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	struct quant_case other = { 0 };

	(void)plain, (void)narrow;
	mean(c, seed, NULL, "y = com.microsoft.QLinearReduceMean(a, a_s, a_z, y_s, y_z)", NULL);
	mean(&other, seed, "af = DequantizeLinear(a, a_s, a_z)", "f = ReduceMean(af)",
	     "y = QuantizeLinear(f, y_s, y_z)");
	c->plain = other.model;
	c->plain_size = other.size;
	other.model = NULL;
	quant_case_free(&other);
}

static void make_where(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	int64_t part[3][RANK];
	struct quant_type a, b;
	struct npu_npy which;
	struct maker m;

	(void)plain, (void)narrow;
	maker_init(&m, c, &seed, quant_random(&seed, 2));
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < RANK; i++)
			part[k][i] = quant_random(&seed, 3) ? m.dims[i] : 1;
	if (array_alloc(&which, NPU_NPY_BOOL, RANK, part[0]))
		abort();
	for (size_t i = 0; i < which.count; i++)
		((uint8_t *)which.data)[i] = (uint8_t)quant_random(&seed, 2);
	quant_input(c, &m.b, "c", &which);
	a = operand(&m, "a", part[1]);
	b = operand(&m, "b", part[2]);
	result(&m, (a.scale > b.scale ? a.scale : b.scale) * 0.9f);
	done(&m, LINES("y = com.microsoft.QLinearWhere(c, a, a_s, a_z, b, b_s, b_z, y_s, y_z)"));
}

/* With scales per column or one, zero points or none, a bias or none. */
static void make_to_float(struct quant_case *c, uint32_t seed, bool plain, bool narrow)
{
	int64_t n = 1 + quant_random(&seed, 30), k = 1 + quant_random(&seed, 200);
	bool columns = quant_random(&seed, 2), zeros = quant_random(&seed, 3);
	struct quant_type a, w;
	struct npu_npy codes;
	struct maker m;
	char line[160];

	(void)plain;
	maker_init(&m, c, &seed, true);
	a = quant_any_type(&seed, true, quant_scale(&seed));
	w = quant_any_type(&seed, quant_random(&seed, 2), quant_scale(&seed));
	quant_codes(&codes, &seed, a, 8, 3, OB_DIMS(m.dims[0], m.dims[1], k));
	quant_input(c, &m.b, "a", &codes);
	quant_params(&m.b, "a", a);
	quant_codes(&codes, &seed, w, narrow ? 7 : 8, 2, OB_DIMS(k, n));
	quant_const(&m.b, "w", &codes);
	quant_params(&m.b, "w", w);
	free(ob_random(&m.b, "ws", 1, OB_DIMS(n)));
	free(ob_random(&m.b, "b", 1, OB_DIMS(n)));
	ob_node(&m.b, "wa = Abs(ws)");
	snprintf(line, sizeof(line),
		 "y = com.microsoft.MatMulIntegerToFloat(a, w, a_s, %s, %s, %s%s)",
		 columns ? "wa" : "w_s", zeros ? "a_z" : "", zeros ? "w_z" : "",
		 quant_random(&seed, 2) ? ", b" : "");
	done(&m, LINES(line));
}

const struct quant_op quant_ops[] = {
	{ "QLinearConv", quant_make_conv, true, 0 },
	{ "QDQ-Conv", quant_make_conv_qdq, true, 0 },
	{ "ConvInteger", quant_make_conv_integer, true, 0 },
	{ "QLinearMatMul", quant_make_matmul, true, 0 },
	{ "QDQ-MatMul", quant_make_matmul_qdq, true, 0 },
	{ "MatMulInteger", quant_make_matmul_integer, true, 0 },
	{ "QDQ-ConvTranspose", quant_make_transpose_qdq, true, 1 },
	{ "QGemm", make_gemm, false, 0 },
	{ "DynamicQuantizeLinear", make_dynamic, false, 0 },
	{ "dynamic-product", make_dynamic_product, false, 0 },
	{ "DynamicQuantizeMatMul", make_dynamic_matmul, false, 0 },
	{ "MatMulIntegerToFloat", make_to_float, false, 0 },
	{ "QLinearAdd", make_add, false, 1 },
	{ "QLinearMul", make_mul, false, 1 },
	{ "QDQ-binary", make_binary_qdq, false, 1 },
	{ "QDQ-chain", make_chain, false, 1 },
	{ "QLinearConcat", make_concat, false, 1 },
	{ "QLinearSigmoid", make_sigmoid, false, 1 },
	{ "QLinearLeakyRelu", make_leaky, false, 1 },
	{ "QLinearSoftmax", make_softmax, false, 1 },
	{ "QLinearAveragePool", make_average, false, 1 },
	{ "QLinearGlobalAveragePool", make_global, false, 1 },
	{ "QLinearReduceMean", make_mean, false, 1 },
	{ "QLinearWhere", make_where, false, 1 },
};
const unsigned int num_quant_ops = sizeof(quant_ops) / sizeof(quant_ops[0]);
