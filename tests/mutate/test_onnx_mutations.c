// SPDX-License-Identifier: MIT
/*
 * Every truncation and 10,000 changes of an ONNX file: a clean error that says something, or a job
 * that loads and runs to its end. Meant for the AddressSanitizer build; without it crashes and
 * hangs still show.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../tap.h"
#include "npu.h"
#include "npu_compiler.h"
#include "common/onnx_lines.h"

static struct {
	unsigned int refused, ran, large, failed_run, silent;
} seen;

static uint64_t rng_state = 7;

static uint32_t rng_below(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rng_state >> 33) % n);
}

/*
 * A small net with a bit of everything: conv, depthwise, activation patterns, residual, pool,
 * resize, gemm, softmax.
 */
static unsigned char *make_model(size_t *size)
{
	struct ob b;

	ob_init(&b, 11);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, 8, 8));
	free(ob_random(&b, "w1", 4, OB_DIMS(8, 3, 3, 3)));
	free(ob_random(&b, "b1", 1, OB_DIMS(8)));
	free(ob_random(&b, "w2", 4, OB_DIMS(8, 1, 3, 3)));
	free(ob_random(&b, "w3", 4, OB_DIMS(8, 8, 1, 1)));
	free(ob_random(&b, "w4", 2, OB_DIMS(4, 8)));
	free(ob_random(&b, "b4", 1, OB_DIMS(4)));
	ob_ints(&b, "shape", 2, OB_DIMS(1, -1));
	ob_const(&b, "scales", 1, 1, OB_DIMS(4), (const float[]){ 1, 1, 2, 2 }, 4 * sizeof(float));
	ob_node(&b, "conv1: c1 = Conv(x, w1, b1) kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2]");
	ob_node(&b, "relu1: r1 = Relu(c1)");
	ob_node(&b, "conv2: c2 = Conv(r1, w2) group=8 pads=[1,1,1,1]");
	ob_node(&b, "sigmoid: s2 = Sigmoid(c2)");
	ob_node(&b, "silu: m2 = Mul(c2, s2)");
	ob_node(&b, "conv3: c3 = Conv(m2, w3)");
	ob_node(&b, "add: a3 = Add(c3, r1)");
	ob_node(&b, "pool: p3 = MaxPool(a3) kernel_shape=[2,2] strides=[1,1]");
	ob_node(&b,
		"resize: z3 = Resize(p3, , scales) mode='nearest' coordinate_transformation_mode='asymmetric' "
		"nearest_mode='floor'");
	ob_node(&b, "concat: k3 = Concat(z3, z3) axis=2");
	ob_node(&b, "gap: g3 = GlobalAveragePool(k3)");
	ob_node(&b, "reshape: f3 = Reshape(g3, shape)");
	ob_node(&b, "gemm: h4 = Gemm(f3, w4, b4) transB=1 alpha=0.5");
	ob_node(&b, "softmax: y = Softmax(h4) axis=1");
	ob_output(&b, "y");
	return ob_finish(&b, size);
}

/*
 * Quantized in every way: pairs of QuantizeLinear and DequantizeLinear around a convolution with
 * scales per channel and around an addition, QLinear operators, dynamic quantization.
 */
static unsigned char *make_quantized(size_t *size)
{
	static const float scales[8] = { 0.01f, 0.02f, 0.03f, 0.04f, 0.01f, 0.02f, 0.03f, 0.04f };
	static const uint8_t zeros[8] = { 0 }, zero = 128;
	static const float one = 0.05f;
	uint8_t codes[8 * 3 * 9];
	int32_t bias[8];
	struct ob b;

	for (size_t i = 0; i < sizeof(codes); i++)
		codes[i] = (uint8_t)(i * 37);
	for (int i = 0; i < 8; i++)
		bias[i] = i * 1000 - 3000;
	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, 8, 8));
	ob_const(&b, "s", 1, 0, NULL, &one, 4);
	ob_const(&b, "z", 2, 0, NULL, &zero, 1);
	ob_const(&b, "w1", 3, 4, OB_DIMS(8, 3, 3, 3), codes, 216);
	ob_const(&b, "s1", 1, 1, OB_DIMS(8), scales, 32);
	ob_const(&b, "z1", 3, 1, OB_DIMS(8), zeros, 8);
	ob_const(&b, "b1", 6, 1, OB_DIMS(8), bias, 32);
	ob_const(&b, "w2", 2, 4, OB_DIMS(8, 1, 3, 3), codes, 72);
	ob_const(&b, "w3", 2, 2, OB_DIMS(8, 4), codes, 32);
	ob_const(&b, "w4", 2, 2, OB_DIMS(4, 4), codes, 16);
	ob_ints(&b, "shape", 2, OB_DIMS(-1, 8));
	ob_node(&b, "q0: xq = QuantizeLinear(x, s, z)");
	ob_node(&b, "d0: xf = DequantizeLinear(xq, s, z)");
	ob_node(&b, "d1: wf = DequantizeLinear(w1, s1, z1) axis=0");
	ob_node(&b, "conv1: c1 = Conv(xf, wf) pads=[1,1,1,1] strides=[2,2]");
	ob_node(&b, "relu1: r1 = Relu(c1)");
	ob_node(&b, "q1: rq = QuantizeLinear(r1, s, z)");
	ob_node(&b, "conv2: q2 = QLinearConv(rq, s, z, w2, s, z, s, z, b1) group=8 pads=[1,1,1,1]");
	ob_node(&b, "add: q3 = com.microsoft.QLinearAdd(rq, s, z, q2, s, z, s, z)");
	ob_node(&b, "concat: q4 = com.microsoft.QLinearConcat(s, z, q3, s, z, q2, s, z) axis=2");
	ob_node(&b, "pool: q5 = MaxPool(q4) kernel_shape=[2,2]");
	ob_node(&b, "move: q6 = Transpose(q5) perm=[0,2,3,1]");
	ob_node(&b, "flat: q7 = Reshape(q6, shape)");
	ob_node(&b, "dot: q8 = QLinearMatMul(q7, s, z, w3, s, z, s, z)");
	ob_node(&b, "d8: f8 = DequantizeLinear(q8, s, z)");
	ob_node(&b, "dyn: q9, s9, z9 = DynamicQuantizeLinear(f8)");
	ob_node(&b, "int: i9 = MatMulInteger(q9, w4, z9)");
	ob_node(&b, "cast: f9 = Cast(i9) to=1");
	ob_node(&b, "scale: g9 = Mul(f9, s9)");
	ob_node(&b, "d9: h9 = DequantizeLinear(q9, s9, z9)");
	ob_node(&b, "sum: y = Sub(h9, g9)");
	ob_output(&b, "y");
	ob_output(&b, "q9");
	return ob_finish(&b, size);
}

/* Zero inputs are enough: what matters is that the engine is content with the job. */
static int run_job(struct npu_device *dev, struct npu_queue *queue, const void *data, size_t size)
{
	struct npu_job_info info = NPU_INIT(info);
	struct npu_program_info program = NPU_INIT(program);
	struct npu_fence *fence = NULL;
	struct npu_job *job;
	struct npu_run *run;
	struct npu_error err;
	int ret = npu_job_load_memory(dev, data, size, "mutated", 0, &job, &err);

	if (ret) {
		tap_diag("a compiled job does not load: %s", err.text);
		return ret;
	}
	npu_job_info(job, &info);
	npu_job_program(job, 0, &program);
	if (info.scratch + info.input + info.output > 64u << 20 || program.macs > 100000000 ||
	    program.bytes > 1000000000) {
		seen.large++;
		npu_job_unload(job);
		return 0;
	}
	ret = npu_run_create(job, &run, &err);
	if (!ret) {
		ret = npu_queue_submit(queue, run, NULL, &fence, &err);
		if (!ret)
			ret = npu_fence_wait(fence, NPU_FOREVER, &err);
		npu_fence_put(fence);
		npu_run_destroy(run);
	}
	/* A host operator looks at its arguments when it runs, and may refuse them. */
	if (ret && ret != -EIO && program.num_host_steps && strstr(err.text, "on the host")) {
		seen.refused++;
		ret = 0;
	} else if (ret) {
		tap_diag("a compiled job does not run: %s", err.text);
	} else {
		seen.ran++;
	}
	npu_job_unload(job);
	return ret;
}

static void try_model(struct npu_device *dev, struct npu_queue *queue, const unsigned char *model,
		      size_t size)
{
	/* An exact copy, so that a read past the end is seen. */
	unsigned char *copy = malloc(size ? size : 1);
	struct npu_compile_result *result = NULL;
	const void *job;
	size_t job_size;
	int ret;

	if (size)
		memcpy(copy, model, size);
	ret = npu_compile_onnx(copy, size, NULL, NULL, &result);
	job = result ? npu_compile_job(result, &job_size) : NULL;
	if (ret) {
		seen.refused++;
		/* -ENOMEM may come without a result; everything else says why. */
		if (ret != -ENOMEM && (!result || !npu_compile_messages(result)[0])) {
			seen.silent++;
			tap_diag("error %d without a message", ret);
		}
	} else if (!job || run_job(dev, queue, job, job_size)) {
		seen.failed_run++;
	}
	npu_compile_result_free(result);
	free(copy);
}

static void change(unsigned char *m, size_t size)
{
	size_t i = rng_below((uint32_t)size), n = 1 + rng_below(8);

	switch (rng_below(6)) {
	case 0:
		m[i] ^= 1u << rng_below(8);
		break;
	case 1:
		m[i] = rng_below(256);
		break;
	case 2:
		memset(m + i, rng_below(2) ? 0xff : 0, n < size - i ? n : size - i);
		break;
	case 3:		/* move a piece */
		n = rng_below(40);
		if (i + n < size)
			memmove(m + i, m + rng_below((uint32_t)(size - n)), n);
		break;
	case 4:		/* exchange two bytes of names or numbers */
		m[i] = m[rng_below((uint32_t)size)];
		break;
	default:
		m[i]++;
	}
}

/* Every truncation, then @mutations changed ones. */
static void try_all(struct npu_device *dev, struct npu_queue *queue, const char *what,
		    unsigned char *model, size_t size, unsigned int mutations)
{
	unsigned char *work = malloc(size);

	memset(&seen, 0, sizeof(seen));
	try_model(dev, queue, model, size);
	tap_ok(seen.ran == 1, "%s: the model itself compiles and runs (%zu bytes)", what, size);
	for (size_t n = 0; n < size; n++)
		try_model(dev, queue, model, n);
	tap_ok(!seen.failed_run && !seen.silent,
	       "%s: %zu truncations: %u refused with a message, %u ran", what, size, seen.refused,
	       seen.ran - 1);
	memset(&seen, 0, sizeof(seen));
	for (unsigned int i = 0; i < mutations; i++) {
		memcpy(work, model, size);
		for (unsigned int k = 1 + rng_below(4); k--;)
			change(work, size);
		try_model(dev, queue, work, size);
	}
	tap_ok(!seen.failed_run && !seen.silent,
	       "%s: %u changed models: %u refused with a message, %u ran, %u too large to try",
	       what, mutations, seen.refused, seen.ran, seen.large);
	tap_ok(seen.refused > mutations / 20 && seen.ran > mutations / 20,
	       "%s: both ends are reached often", what);
	free(work);
	free(model);
}

int main(void)
{
	unsigned int mutations = tap_long() ? 100000 : 10000;
	struct npu_queue *queue;
	struct npu_device *dev;
	struct npu_error err;
	unsigned char *model;
	size_t size;

	if (npu_device_open("sim:threads=1", NULL, &dev, &err) ||
	    npu_queue_create(dev, NULL, &queue, &err)) {
		tap_ok(0, "open the device: %s", err.text);
		return tap_done();
	}
	model = make_model(&size);
	try_all(dev, queue, "floats", model, size, mutations);
	model = make_quantized(&size);
	try_all(dev, queue, "quantized", model, size, mutations);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
