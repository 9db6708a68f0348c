// SPDX-License-Identifier: MIT
/*
 * npu_compile_onnx(): options, messages, report, determinism, variants; and layouts that must cost
 * nothing.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "run_job.h"
#include "tap.h"

static struct npu_compile_result *compile(const uint8_t *model, size_t size,
					  enum npu_precision precision, const char *const *shapes,
					  unsigned int num_shapes, int *err)
{
	struct npu_compile_options o;
	struct npu_compile_result *r = NULL;

	npu_compile_options_init(&o);
	o.precision = precision;
	o.shapes = shapes;
	o.num_shapes = num_shapes;
	*err = npu_compile_onnx(model, size, "model.onnx", &o, &r);
	return r;
}

/* Two convolutions, a residual, a pool, a reshape and a product. */
static uint8_t *small_net(bool dynamic, size_t *size)
{
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, dynamic ? OB_DIMS(1, 3, -1, -1) : OB_DIMS(1, 3, 16, 24));
	free(ob_random(&b, "w1", 4, OB_DIMS(8, 3, 3, 3)));
	free(ob_random(&b, "b1", 1, OB_DIMS(8)));
	free(ob_random(&b, "w2", 4, OB_DIMS(8, 8, 1, 1)));
	free(ob_random(&b, "wf", 2, OB_DIMS(8, 5)));
	ob_node(&b, "c1: t1 = Conv(x, w1, b1) pads=[1,1,1,1]");
	ob_node(&b, "r1: t2 = Relu(t1)");
	ob_node(&b, "c2: t3 = Conv(t2, w2)");
	ob_node(&b, "a1: t4 = Add(t3, t2)");
	ob_node(&b, "g1: t5 = GlobalAveragePool(t4)");
	ob_node(&b, "f1: t6 = Flatten(t5) axis=1");
	ob_node(&b, "m1: y = MatMul(t6, wf)");
	ob_output(&b, "y");
	ob_output(&b, "t4");
	return ob_finish(&b, size);
}

static void test_determinism(const uint8_t *model, size_t size)
{
	struct npu_compile_result *a, *b;
	const void *ja, *jb;
	size_t sa, sb;
	int ea, eb;

	a = compile(model, size, NPU_PRECISION_F16, NULL, 0, &ea);
	b = compile(model, size, NPU_PRECISION_F16, NULL, 0, &eb);
	ja = npu_compile_job(a, &sa);
	jb = npu_compile_job(b, &sb);
	tap_ok(!ea && !eb && sa == sb && !memcmp(ja, jb, sa),
	       "the same model gives the same %zu bytes", sa);
	tap_ok(npu_compile_summary(a)->copies == 1,
	       "one copy: an output that other nodes read, too");
	npu_compile_result_free(a);
	npu_compile_result_free(b);
}

static void test_report(const uint8_t *model, size_t size)
{
	static const char *const where[] = { "npu", "fused", "npu", "fused", "npu", "view", "npu" };
	int err, right = 0;
	struct npu_compile_result *r = compile(model, size, NPU_PRECISION_F16, NULL, 0, &err);
	cJSON *json = cJSON_Parse(npu_compile_report_json(r));
	cJSON *list = cJSON_GetObjectItem(json, "placement"), *it;
	int i = 0;

	tap_ok(list && cJSON_GetArraySize(list) == 7, "the JSON report lists every node");
	cJSON_ArrayForEach(it, list) {
		const char *place = cJSON_GetStringValue(cJSON_GetObjectItem(it, "place"));

		if (i < 7 && place && !strcmp(place, where[i]))
			right++;
		else
			tap_diag("node %d is %s", i, place ? place : "?");
		i++;
	}
	tap_ok(right == 7, "and says where each one went");
	tap_ok(npu_compile_summary(r)->macs == 16 * 24 * 8 * 27 + 16 * 24 * 8 * 8 + 8 * 5 &&
		       npu_compile_summary(r)->npu_macs == npu_compile_summary(r)->macs,
	       "MACs are counted: %llu", (unsigned long long)npu_compile_summary(r)->macs);
	tap_ok(strstr(npu_compile_report_text(r), "7 of 7 operators") &&
		       strstr(npu_compile_report_text(r), "into c1"),
	       "so does the table");
	tap_ok(npu_compile_placement(r, 6) && !npu_compile_placement(r, 7) &&
	       !strcmp(npu_compile_placement(r, 6)->node, "m1"), "and the structure");
	cJSON_Delete(json);
	npu_compile_result_free(r);
}

static void refused(const uint8_t *model, size_t size, const char *const *shapes, unsigned int n,
		    int want, const char *text, const char *what)
{
	int err;
	struct npu_compile_result *r = compile(model, size, NPU_PRECISION_F16, shapes, n, &err);

	if (!tap_ok(err == want && r && strstr(npu_compile_messages(r), text) &&
			    !npu_compile_job(r, NULL),
		    "%s", what))
		tap_diag("%d: %s", err, r ? npu_compile_messages(r) : "no result");
	npu_compile_result_free(r);
}

static void test_shapes(void)
{
	static const struct { const char *shape, *text, *what; } bad[] = {
		{ "x", "expected input=", "a shape without a name" },
		{ "x=", "must be a number", "a shape without sizes" },
		{ "x=1x3x0x5", "must be a number", "a size of 0" },
		{ "x=1x3x16x{32..8}", "multiples of the step", "bounds the wrong way round" },
		{ "x=1x3x16x{W=8..30:8}", "multiples of the step", "bounds off the step" },
		{ "x=1x3x16x{W=8..32", "'}' is missing", "a range without its end" },
		{ "x=1x3x16x{W=8-32}", "expected {symbol", "a range without dots" },
		{ "x=1x2x3x4x5x6x7x8x9", "more than 8", "too many sizes" },
		{ "x=99999999999999999999", "must be a number", "a size beyond all bounds" },
		{ "q=1x3x16x16", "q", "an input that the model does not have" },
		{ "x=1x3x16", "rank", "another rank" },
		{ "x=1x4x16x16", "4", "a size that the model fixes" },
	};
	size_t size;
	uint8_t *model = small_net(true, &size);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(model, size, &bad[i].shape, 1, -EINVAL, bad[i].text, bad[i].what);
	refused(model, size, NULL, 0, -EINVAL,
		"--shape 'x=", "a shape that is missing: the message says what to write");
	free(model);
}

static void test_refusals(void)
{
	struct npu_compile_options o;
	struct ob b;
	size_t size;
	uint8_t *model;
	struct npu_compile_result *r;
	int err;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 4, 8, 8));
	ob_node(&b, "one: a = MaxPool(x) kernel_shape=[1,1] strides=[1,5000]");
	ob_node(&b, "two: b = Relu(a)");
	ob_node(&b, "three: c = AveragePool(b) kernel_shape=[1,1] strides=[5000,1]");
	ob_output(&b, "c");
	model = ob_finish(&b, &size);
	npu_compile_options_init(&o);
	o.fail_on_host = true;
	err = npu_compile_onnx(model, size, "model.onnx", &o, &r);
	tap_ok(err == -EOPNOTSUPP && strstr(npu_compile_messages(r), "'one'") &&
		       strstr(npu_compile_messages(r), "strides") &&
		       strstr(npu_compile_messages(r), "'three'") &&
		       !strstr(npu_compile_messages(r), "'two'"),
	       "all refused nodes are named in one go, with what forced it");
	tap_ok(npu_compile_summary(r)->count[NPU_PLACE_REFUSED] == 2 &&
		       npu_compile_placement(r, 2)->place == NPU_PLACE_REFUSED &&
		       *npu_compile_placement(r, 2)->reason,
	       "and in the report");
	npu_compile_result_free(r);
	refused(model, size / 2, NULL, 0, -EINVAL, "model.onnx", "half a file");
	free(model);
}

static int cancel_at(void *arg, const char *stage, double fraction)
{
	return !strcmp(stage, arg);
}

static void test_options(const uint8_t *model, size_t size)
{
	struct npu_compile_options o;
	struct npu_compile_result *r;
	FILE *f = tmpfile();
	unsigned int passes = 0;

	npu_compile_options_init(&o);
	o.progress = cancel_at;
	o.progress_arg = "lower";
	tap_ok(npu_compile_onnx(model, size, NULL, &o, &r) == -ECANCELED &&
		       !npu_compile_job(r, NULL),
	       "progress can cancel");
	npu_compile_result_free(r);
	npu_compile_options_init(&o);
	o.dump_pass = "no-such-pass";
	tap_ok(npu_compile_onnx(model, size, NULL, &o, &r) == -EINVAL &&
		       strstr(npu_compile_messages(r), "no-such-pass"),
	       "an unknown pass is named");
	npu_compile_result_free(r);
	o.dump = f;
	while (npu_compile_pass_name(passes)) {
		long before = ftell(f);

		o.dump_pass = npu_compile_pass_name(passes++);
		if (npu_compile_onnx(model, size, NULL, &o, &r) || ftell(f) == before)
			tap_ok(0, "pass %s has a dump", o.dump_pass);
		npu_compile_result_free(r);
	}
	tap_ok(passes > 5, "each of the %u passes has a dump", passes);
	fclose(f);
	o.size = 4;
	tap_ok(npu_compile_onnx(model, size, NULL, &o, &r) == -EINVAL, "options of a wrong size");
	npu_compile_result_free(r);
	tap_ok(npu_compile_onnx(NULL, 0, NULL, NULL, &r) == -EINVAL, "no model");
}

static void test_support(void)
{
	struct npu_op_support s;
	unsigned int n = 0, npu = 0, host = 0, wrong = 0;

	for (; npu_compile_op_support(n, &s); n++) {
		npu += s.supported;
		host += !s.supported && *s.host;
		wrong += s.supported != (*s.insns != 0) || s.since < 1 ||
			 ((s.supported || *s.host) && *s.why_not) || !*s.host != !s.host_since;
	}
	tap_ok(n > 200 && npu > 100 && host > 0 && !wrong,
	       "of %u operators %u on the NPU, %u on the host", n, npu, host);
}

/* Run @r with input x and compare output @name with what @want says. */
static bool run_matches(const struct npu_compile_result *r, const int64_t *dims,
			const struct named_array *want, int n, double limit)
{
	struct named_array x = { .name = "x" }, out[8];
	struct runner run;
	size_t size;
	const void *job = npu_compile_job(r, &size);
	bool ok = true;
	int got = job ? runner_open(&run, job, size) : -EINVAL;

	array_alloc(&x.arr, NPU_NPY_F32, 4, dims);
	array_random(&x.arr, 3, -1, 1);
	if (!got)
		got = runner_run(&run, &x, 1, out, 8);
	if (got < 0)
		tap_diag("%s", job ? run.why : npu_compile_messages(r));
	for (int i = 0; i < n && got >= 0; i++) {
		struct difference d;

		array_compare(&out[i].arr, &want[i].arr, &d);
		ok &= d.max <= limit * (1 + d.top);
	}
	for (int i = 0; i < got; i++)
		npu_npy_free(&out[i].arr);
	npu_npy_free(&x.arr);
	if (job)
		runner_close(&run);
	return ok && got >= n;
}

static int reference(const uint8_t *model, size_t size, const char *shape, const int64_t *dims,
		     struct named_array *out)
{
	int err, n;
	struct npu_compile_result *r = compile(model, size, NPU_PRECISION_F32, &shape, 1, &err);
	struct named_array x = { .name = "x" };
	struct runner run;
	size_t job_size;
	const void *job = npu_compile_job(r, &job_size);

	array_alloc(&x.arr, NPU_NPY_F32, 4, dims);
	array_random(&x.arr, 3, -1, 1);
	n = job ? runner_open(&run, job, job_size) : -EINVAL;
	if (!n)
		n = runner_run(&run, &x, 1, out, 8);
	if (job)
		runner_close(&run);
	npu_npy_free(&x.arr);
	npu_compile_result_free(r);
	return n;
}

/*
 * One job with a range of sizes, and one with two exact sizes, compute what a job of that size
 * alone does.
 */
static void test_variants(void)
{
	static const char *const range[] = { "x=1x3x{H=8..64:8}x{W=8..64:8}" };
	static const char *const both[] = { "x=1x3x16x24", "x=1x3x40x8" };
	static const int64_t dims[2][4] = { { 1, 3, 16, 24 }, { 1, 3, 40, 8 } };
	struct npu_compile_result *r, *v, *f32;
	size_t size, single, two;
	uint8_t *model = small_net(true, &size);
	int err, err2, err3;

	r = compile(model, size, NPU_PRECISION_F32, range, 1, &err);
	v = compile(model, size, NPU_PRECISION_F32, both, 2, &err2);
	f32 = compile(model, size, NPU_PRECISION_F32, both, 1, &err3);
	if (err || err2 || err3)
		tap_diag("%s%s", npu_compile_messages(r), npu_compile_messages(v));
	tap_ok(npu_compile_summary(v)->programs == 2, "an input named twice: two programs");
	npu_compile_job(v, &two);
	npu_compile_job(f32, &single);
	tap_ok(npu_compile_summary(v)->weight_bytes == npu_compile_summary(f32)->weight_bytes,
	       "over the same weights");
	for (int i = 0; i < 2; i++) {
		struct named_array want[8];
		int n = reference(model, size, both[i], dims[i], want);

		tap_ok(n == 2, "a job for %s alone", both[i]);
		tap_ok(run_matches(v, dims[i], want, n, 0),
		       "the program for it gives the same bits");
		tap_ok(run_matches(r, dims[i], want, n, 0), "so does one over a range of sizes");
		for (int k = 0; k < n; k++)
			npu_npy_free(&want[k].arr);
	}
	npu_compile_result_free(r);
	npu_compile_result_free(v);
	npu_compile_result_free(f32);
	free(model);
}

static void no_copies(struct ob *b, const char *what, unsigned int insns)
{
	size_t size;
	uint8_t *model = ob_finish(b, &size);
	int err;
	struct npu_compile_result *r = compile(model, size, NPU_PRECISION_F16, NULL, 0, &err);

	if (!tap_ok(!err && !npu_compile_summary(r)->copies &&
			    npu_compile_summary(r)->insns == insns,
		    "%s: %u instructions, no copy", what, insns))
		tap_diag("%u copies, %u instructions; %s%s", npu_compile_summary(r)->copies,
			 npu_compile_summary(r)->insns, npu_compile_messages(r),
			 npu_compile_report_text(r));
	npu_compile_result_free(r);
	free(model);
}

/* What must come out free. */
static void test_layouts(void)
{
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 8, 8, 3));
	free(ob_random(&b, "w", 4, OB_DIMS(4, 3, 3, 3)));
	ob_node(&b, "t = Transpose(x) perm=[0,3,1,2]");
	ob_node(&b, "c = Conv(t, w)");
	ob_node(&b, "y = Transpose(c) perm=[0,2,3,1]");
	ob_output(&b, "y");
	no_copies(&b, "a model in NHWC", 1);

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, 8, 8));
	free(ob_random(&b, "w", 4, OB_DIMS(4, 3, 3, 3)));
	free(ob_random(&b, "v", 4, OB_DIMS(6, 3, 3, 3)));
	free(ob_random(&b, "u", 4, OB_DIMS(2, 10, 1, 1)));
	ob_node(&b, "a = Conv(x, w)");
	ob_node(&b, "c = Conv(x, v)");
	ob_node(&b, "d = Concat(a, c) axis=1");
	ob_node(&b, "y = Conv(d, u)");
	ob_output(&b, "y");
	no_copies(&b, "a concatenation of channels", 3);

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, 8, 8));
	free(ob_random(&b, "w", 4, OB_DIMS(4, 3, 3, 3)));
	free(ob_random(&b, "v", 4, OB_DIMS(6, 3, 3, 3)));
	ob_node(&b, "a = Conv(x, w)");
	ob_node(&b, "at = Transpose(a) perm=[0,2,3,1]");
	ob_ints(&b, "s", 3, OB_DIMS(1, -1, 2));
	ob_node(&b, "ar = Reshape(at, s)");
	ob_node(&b, "c = Conv(x, v)");
	ob_node(&b, "ct = Transpose(c) perm=[0,2,3,1]");
	ob_node(&b, "cr = Reshape(ct, s)");
	ob_node(&b, "y = Concat(ar, cr) axis=1");
	ob_output(&b, "y");
	no_copies(&b, "heads of a detector, transposed, reshaped and joined", 2);

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 6, 8, 8));
	free(ob_random(&b, "w", 4, OB_DIMS(2, 3, 1, 1)));
	ob_node(&b, "a, c = Split(x) axis=1");
	ob_node(&b, "d = Conv(a, w)");
	ob_node(&b, "e = Conv(c, w)");
	ob_node(&b, "y = Add(d, e)");
	ob_output(&b, "y");
	no_copies(&b, "a split", 2);
}

int main(void)
{
	size_t size;
	uint8_t *model = small_net(false, &size);

	test_determinism(model, size);
	test_report(model, size);
	test_options(model, size);
	free(model);
	test_shapes();
	test_refusals();
	test_support();
	test_variants();
	test_layouts();
	return tap_done();
}
