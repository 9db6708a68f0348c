// SPDX-License-Identifier: MIT
/*
 * Quantized tensors in whole graphs: what is fused and what is moved, with run-time lengths as
 * without, and where codes and floats meet.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "run_job.h"
#include "tap.h"

struct built {
	struct npu_compile_result *result;
	const struct npu_compile_summary *sum;
	struct named_array out;
};

static void built_free(struct built *b)
{
	npu_npy_free(&b->out.arr);
	npu_compile_result_free(b->result);
}

/* Compile and run with one input; false when either fails. */
static bool build(struct ob *b, const char *shape, const struct npu_npy *x, struct built *out)
{
	struct npu_compile_options options;
	struct runner r = { .queue = NULL };
	struct named_array in = { .name = "x", .arr = *x };
	size_t size, job_size;
	uint8_t *model = ob_finish(b, &size);
	const void *job;
	int err;

	memset(out, 0, sizeof(*out));
	npu_compile_options_init(&options);
	options.shapes = &shape;
	options.num_shapes = shape != NULL;
	err = npu_compile_onnx(model, size, NULL, &options, &out->result);
	free(model);
	if (err) {
		tap_diag("%s", out->result ? npu_compile_messages(out->result) : "no memory");
		return false;
	}
	out->sum = npu_compile_summary(out->result);
	job = npu_compile_job(out->result, &job_size);
	err = runner_open(&r, job, job_size);
	if (!err)
		err = runner_run(&r, &in, 1, &out->out, 1) == 1 ? 0 : -1;
	if (err)
		tap_diag("%s", r.why);
	runner_close(&r);
	return !err;
}

static void params(struct ob *b, const char *name, int type, float scale, int zero)
{
	uint8_t z = (uint8_t)zero;
	char text[32];

	snprintf(text, sizeof(text), "%s_s", name);
	ob_const(b, text, 1, 0, NULL, &scale, 4);
	snprintf(text, sizeof(text), "%s_z", name);
	ob_const(b, text, type, 0, NULL, &z, 1);
}

static void weight(struct ob *b, const char *name, int rank, const int64_t *dims)
{
	uint8_t codes[2048];
	size_t count = 1;
	char text[32];

	for (int i = 0; i < rank; i++)
		count *= (size_t)dims[i];
	for (size_t i = 0; i < count; i++)
		codes[i] = (uint8_t)(int)(ob_noise((uint32_t)name[0] + (uint32_t)name[1],
						   (uint32_t)i) *
					  100);
	snprintf(text, sizeof(text), "%s", name);
	ob_const(b, text, 3, rank, dims, codes, count);
	params(b, name, 3, 0.01f, 0);
}

static struct npu_npy random_input(int64_t h, int64_t w)
{
	struct npu_npy x;

	if (array_alloc(&x, NPU_NPY_F32, 4, (const int64_t[]){ 1, 3, h, w }))
		abort();
	array_random(&x, (unsigned int)(h * 100 + w), -1, 1);
	return x;
}

/* Two convolutions, an addition of both branches, concatenation, pooling, a head. */
static void residual(struct ob *b, int64_t h, int64_t w)
{
	ob_init(b, 13);
	ob_input(b, "x", 1, 4, (const int64_t[]){ 1, 3, h, w });
	weight(b, "w1", 4, OB_DIMS(16, 3, 3, 3));
	weight(b, "w2", 4, OB_DIMS(16, 1, 3, 3));
	weight(b, "w3", 4, OB_DIMS(8, 32, 1, 1));
	params(b, "x", 2, 1 / 128.0f, 128);
	params(b, "a", 2, 0.02f, 0);
	params(b, "b", 2, 0.05f, 100);
	params(b, "c", 2, 0.06f, 90);
	params(b, "y", 2, 0.03f, 20);
	ob_node(b, "xq = QuantizeLinear(x, x_s, x_z)");
	ob_node(b, "xf = DequantizeLinear(xq, x_s, x_z)");
	ob_node(b, "f1 = DequantizeLinear(w1, w1_s, w1_z)");
	ob_node(b, "c1 = Conv(xf, f1) pads=[1,1,1,1]");
	ob_node(b, "r1 = Relu(c1)");
	ob_node(b, "q1 = QuantizeLinear(r1, a_s, a_z)");
	ob_node(b, "d1 = DequantizeLinear(q1, a_s, a_z)");
	ob_node(b, "f2 = DequantizeLinear(w2, w2_s, w2_z)");
	ob_node(b, "c2 = Conv(d1, f2) pads=[1,1,1,1] group=16");
	ob_node(b, "q2 = QuantizeLinear(c2, b_s, b_z)");
	ob_node(b, "d2 = DequantizeLinear(q2, b_s, b_z)");
	ob_node(b, "s3 = Add(d1, d2)");
	ob_node(b, "q3 = QuantizeLinear(s3, c_s, c_z)");
	ob_node(b, "d3 = DequantizeLinear(q3, c_s, c_z)");
	ob_node(b, "m3 = MaxPool(d3) kernel_shape=[3,3] pads=[1,1,1,1]");
	ob_node(b, "p3 = QuantizeLinear(m3, c_s, c_z)");
	ob_node(b, "e3 = DequantizeLinear(p3, c_s, c_z)");
	ob_node(b, "k4 = Concat(e3, d3) axis=1");
	ob_node(b, "q4 = QuantizeLinear(k4, c_s, c_z)");
	ob_node(b, "d4 = DequantizeLinear(q4, c_s, c_z)");
	ob_node(b, "f5 = DequantizeLinear(w3, w3_s, w3_z)");
	ob_node(b, "c5 = Conv(d4, f5) strides=[2,2]");
	ob_node(b, "y = QuantizeLinear(c5, y_s, y_z)");
	ob_output(b, "y");
}

static void test_residual(void)
{
	struct npu_npy x = random_input(12, 16);
	struct built fixed, open;
	struct difference d;
	struct ob b;

	residual(&b, 12, 16);
	if (!tap_ok(build(&b, NULL, &x, &fixed), "a block with two branches compiles and runs"))
		return;
	/* quantize, conv, conv, add, pool and the last conv */
	tap_ok(fixed.sum->insns == 6 && !fixed.sum->copies,
	       "one instruction for what stands between two roundings: %u, %u of them copies",
	       fixed.sum->insns, fixed.sum->copies);
	residual(&b, -1, -1);
	if (tap_ok(build(&b, "x=1x3x{H=4..32:4}x{W=4..32:4}", &x, &open),
		   "and with run-time lengths")) {
		array_compare(&open.out.arr, &fixed.out.arr, &d);
		tap_ok(d.max == 0 && d.top > 0, "all codes are the same (%zu)",
		       fixed.out.arr.count);
	}
	built_free(&open);
	built_free(&fixed);
	npu_npy_free(&x);
}

static double code(double v, double scale, double zero)
{
	v = rint((float)(float)v / (float)scale) + zero;
	return v < 0 ? 0 : v > 255 ? 255 : v;
}

/* Codes read with other numbers than they were written with, and moved between the two. */
static void test_moved(void)
{
	struct npu_npy x = random_input(6, 6);
	struct built got;
	unsigned int wrong = 0;
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, 6, 6));
	params(&b, "a", 2, 0.01f, 120);
	params(&b, "b", 2, 0.5f, 3);
	ob_node(&b, "q = QuantizeLinear(x, a_s, a_z)");
	ob_node(&b, "t = Transpose(q) perm=[0,2,3,1]");
	ob_node(&b, "y = DequantizeLinear(t, b_s, b_z)");
	ob_output(&b, "y");
	if (!tap_ok(build(&b, NULL, &x, &got), "codes that are read with another scale"))
		return;
	for (size_t i = 0; i < got.out.arr.count; i++) {
		size_t from = i % 3 * 36 + i / 3;

		wrong += array_at(&got.out.arr, i) !=
			 (code(array_at(&x, from), 0.01f, 120) - 3) * 0.5;
	}
	tap_ok(!wrong, "%zu of them, %u wrong", got.out.arr.count, wrong);
	built_free(&got);
	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, 6, 6));
	params(&b, "a", 2, 0.01f, 120);
	ob_node(&b, "q = QuantizeLinear(x, a_s, a_z)");
	ob_node(&b, "t = Transpose(q) perm=[0,2,3,1]");
	ob_node(&b, "s = Slice(t, from, to)");
	ob_node(&b, "y = DequantizeLinear(s, a_s, a_z)");
	ob_ints(&b, "from", 4, OB_DIMS(0, 1, 0, 0));
	ob_ints(&b, "to", 4, OB_DIMS(1, 5, 6, 3));
	ob_output(&b, "y");
	if (tap_ok(build(&b, NULL, &x, &got), "codes that are moved"))
		tap_ok(got.sum->insns == 2, "are views: %u instructions, 2 to change the type",
		       got.sum->insns);
	built_free(&got);
	npu_npy_free(&x);
}

/* Where only one side is quantized the instruction computes with floats. */
static void test_mixed(void)
{
	static const char *const lines[][3] = {
		{ "y = Conv(x, f1)", "weights alone" },
		{ "y = Conv(d, w)", "data alone" },
		{ "y = Conv(d, f1)", "both" },
	};
	struct npu_npy x = random_input(8, 8);
	struct built got[3];
	struct difference d;
	bool ok = true;
	struct ob b;

	for (int i = 0; i < 3; i++) {
		ob_init(&b, 13);
		ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, 8, 8));
		weight(&b, "w1", 4, OB_DIMS(16, 3, 3, 3));
		params(&b, "a", 2, 1 / 64.0f, 128);
		ob_node(&b, "q = QuantizeLinear(x, a_s, a_z)");
		ob_node(&b, "d = DequantizeLinear(q, a_s, a_z)");
		ob_node(&b, "f1 = DequantizeLinear(w1, w1_s, w1_z)");
		if (i == 1) {	/* the same numbers, as floats of the file */
			float w[432];

			for (uint32_t k = 0; k < 432; k++)
				w[k] = (float)(int)(ob_noise('w' + '1', k) * 100) * 0.01f;
			ob_const(&b, "w", 1, 4, OB_DIMS(16, 3, 3, 3), w, sizeof(w));
		}
		ob_node(&b, lines[i][0]);
		ob_output(&b, "y");
		ok &= tap_ok(build(&b, NULL, &x, &got[i]), "a convolution with quantized %s",
			     lines[i][1]);
	}
	if (ok) {
		array_compare(&got[1].out.arr, &got[2].out.arr, &d);
		tap_ok(d.max <= 2e-3 * d.top, "floats and codes agree: off by %.2g of %.2g", d.max,
		       d.top);
		array_compare(&got[0].out.arr, &got[2].out.arr, &d);
		tap_ok(d.max <= 5e-2 * d.top && d.max > 0,
		       "data that are not quantized are not rounded to codes: %.2g of %.2g apart",
		       d.max, d.top);
	}
	for (int i = 0; i < 3; i++)
		built_free(&got[i]);
	npu_npy_free(&x);
}

int main(void)
{
	test_residual();
	test_moved();
	test_mixed();
	return tap_done();
}
