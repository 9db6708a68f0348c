// SPDX-License-Identifier: MIT
/*
 * Time and memory of the compiler are in proportion to the model: thousands of nodes, constants
 * that a few bytes of model make endless. Time is processor time of this process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/onnx_lines.h"
#include "npu_compiler.h"
#include "tap.h"

static double seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static uint8_t *chain(unsigned int nodes, bool backwards, size_t *size)
{
	char line[128];
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "t0", 1, 1, OB_DIMS(8));
	for (unsigned int i = 0; i < nodes; i++) {
		unsigned int k = backwards ? nodes - 1 - i : i;

		snprintf(line, sizeof(line), "node%u: t%u = Sigmoid(t%u)", k, k + 1, k);
		ob_node(&b, line);
	}
	snprintf(line, sizeof(line), "t%u", nodes);
	ob_output(&b, line);
	return ob_finish(&b, size);
}

static double compile_seconds(unsigned int nodes, bool backwards)
{
	struct npu_compile_result *r = NULL;
	size_t size;
	uint8_t *model = chain(nodes, backwards, &size);
	double start = seconds();
	int err = npu_compile_onnx(model, size, NULL, NULL, &r);

	start = seconds() - start;
	if (err || npu_compile_summary(r)->insns != nodes) {
		tap_diag("%u nodes: error %d: %s", nodes, err, npu_compile_messages(r));
		start = 1e9;
	}
	npu_compile_result_free(r);
	free(model);
	return start;
}

static void test_many_nodes(bool backwards)
{
	double few = compile_seconds(2000, backwards), many = compile_seconds(16000, backwards);

	tap_ok(many < 0.2 + 20 * few, "eight times the nodes, %s: not 64 times as long",
	       backwards ? "last first" : "in order");
	tap_diag("%.3f s, %.3f s", few, many);
}

/* Each node is twice as long as the one before. */
static void test_doubled_constants(void)
{
	struct npu_compile_result *r = NULL;
	const float one = 1;
	char line[128];
	uint8_t *model;
	struct ob b;
	size_t size, job = 0;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 1, OB_DIMS(1));
	ob_const(&b, "c0", 1, 1, OB_DIMS(1), &one, sizeof(one));
	for (unsigned int i = 0; i < 28; i++) {
		snprintf(line, sizeof(line), "n%u: c%u = Concat(c%u, c%u) axis=0", i, i + 1, i, i);
		ob_node(&b, line);
	}
	ob_node(&b, "y = Add(x, c28)");
	ob_output(&b, "y");
	model = ob_finish(&b, &size);
	if (!npu_compile_onnx(model, size, NULL, NULL, &r))
		npu_compile_job(r, &job);
	tap_ok(job < (128u << 20), "constants that double do not fill the job file (%zu bytes)",
	       job);
	npu_compile_result_free(r);
	free(model);
}

/* An axis far outside was converted to an unsigned number before anybody looked. */
static void test_axis(double axis)
{
	struct npu_compile_result *r = NULL;
	int64_t v = (int64_t)axis;
	uint8_t *model;
	struct ob b;
	size_t size;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 2, OB_DIMS(3, 4));
	ob_ints(&b, "a", 1, &v);
	ob_node(&b, "y = CumSum(x, a)");
	ob_output(&b, "y");
	model = ob_finish(&b, &size);
	tap_ok(npu_compile_onnx(model, size, NULL, NULL, &r) &&
		       strstr(npu_compile_messages(r), "expected -2 to 1"),
	       "CumSum along axis %g is refused", axis);
	npu_compile_result_free(r);
	free(model);
}

int main(void)
{
	test_many_nodes(false);
	test_many_nodes(true);
	test_doubled_constants();
	test_axis(-3);
	test_axis(2);
	test_axis(-0x1p62);
	return tap_done();
}
