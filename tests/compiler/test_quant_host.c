// SPDX-License-Identifier: MIT
/*
 * int8 for models with nodes on the host, at the start, in the middle, at the end and in a branch:
 * calibrated, compiled and run on data that calibration did not see, against ONNX Runtime in fp32.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "common/tmp.h"
#include "npu_host.h"
#include "ort_run.h"
#include "tap.h"

#define SAMPLES	6
#define MAX_OUT	4

struct model {
	const char *name;
	const char *lines[16];
	const char *outputs[MAX_OUT];
	const char *host;		/* the operator that is on the host */
	const char *shape;		/* lengths that each run chooses; NULL: none */
};

static const struct model models[] = {
	{ "in the middle",
	  { "c1: a = Conv(x, w1, b1) pads=[1,1,1,1]", "r1: b = Relu(a)",
	    "h: c = Shrink(b) lambd=0.1 bias=0.05",
	    "c2: d = Conv(c, w2) pads=[1,1,1,1]", "r2: e = Relu(d)",
	    "c3: y = Conv(e, w3) pads=[1,1,1,1]" },
	  { "y" }, "Shrink", NULL },
	{ "at the start",
	  { "h: a = Shrink(x) lambd=0.1 bias=0.05",
	    "c1: b = Conv(a, w1, b1) pads=[1,1,1,1]", "r1: c = Relu(b)", "c2: d = Conv(c, w2)",
	    "c3: y = Conv(d, w3)" },
	  { "y" }, "Shrink", NULL },
	{ "at the end",
	  { "c1: a = Conv(x, w1, b1) pads=[1,1,1,1]", "r1: b = Relu(a)",
	    "c2: c = Conv(b, w2) pads=[1,1,1,1]", "h: y = Shrink(c) lambd=0.2 bias=0.1" },
	  { "y" }, "Shrink", NULL },
	{ "in a branch",
	  { "c1: a = Conv(x, w1, b1) pads=[1,1,1,1]", "r1: b = Relu(a)",
	    "h: c = Shrink(b) lambd=0.1 bias=0.05",
	    "c2: d = Conv(b, w2) pads=[1,1,1,1]", "r2: e = Relu(d)", "j: f = Add(c, e)",
	    "c3: y = Conv(f, w3)", "p: z = GlobalAveragePool(e)" },
	  { "y", "z" }, "Shrink", NULL },
	{ "with several outputs",
	  { "c1: a = Conv(x, w1, b1) pads=[1,1,1,1]", "r1: b = Relu(a)",
	    "h: c, i = MaxPool(b) kernel_shape=[2,2] strides=[2,2]", "c2: d = Conv(c, w2)",
	    "c3: y = Conv(d, w3)" },
	  { "y" }, "MaxPool", "x=1x3x{H=16..64:8}x24" },
	{ "that its lowering refuses",
	  { "c1: a = Conv(x, w1, b1) pads=[1,1,1,1]", "r1: b = Relu(a)",
	    "h: c = Resize(b, , half) mode='linear' antialias=1",
	    "c2: d = Conv(c, w2) pads=[1,1,1,1]", "r2: e = Relu(d)", "c3: y = Conv(e, w3)" },
	  { "y" }, "Resize", "x=1x3x{H=16..64:8}x24" },
	{ "of any height",
	  { "c1: a = Conv(x, w1, b1) pads=[1,1,1,1]", "r1: b = Relu(a)",
	    "h: c = Shrink(b) lambd=0.1 bias=0.05",
	    "c2: d = Conv(c, w2) pads=[1,1,1,1]", "r2: e = Relu(d)",
	    "c3: y = Conv(e, w3) pads=[1,1,1,1]" },
	  { "y" }, "Shrink", "x=1x3x{H=16..64:8}x24" },
	{ "that selects at the end",
	  { "c1: a = Conv(x, w1, b1) pads=[1,1,1,1]", "r1: b = Relu(a)",
	    "c2: c = Conv(b, w2) pads=[1,1,1,1]", "c3: d = Conv(c, w3)",
	    "m: e = ReduceMean(d, plane) keepdims=0", "g: f = Greater(e, zero)",
	    "q: g = Reshape(f, flat)", "n: y = Compress(e, g) axis=1" },
	  { "y" }, "Compress", NULL },
	{ "that gives indices",
	  { "c1: a = Conv(x, w1, b1) pads=[1,1,1,1]", "r1: b = Relu(a)",
	    "c2: c = Conv(b, w2) pads=[1,1,1,1]", "c3: d = Conv(c, w2) strides=[8,8]",
	    "q: boxes = Reshape(d, four)", "c4: e = Conv(c, w4) strides=[8,8]",
	    "s: f = Sigmoid(e)", "t: scores = Reshape(f, lists)",
	    "n: y = NonMaxSuppression(boxes, scores, most, iou)" },
	  { "y" }, "NonMaxSuppression", NULL },
};

static uint8_t *build(const struct model *m, size_t *size)
{
	struct ob b;

	ob_init(&b, 19);
	ob_input(&b, "x", 1, 4, m->shape ? OB_DIMS(1, 3, -1, -1) : OB_DIMS(1, 3, 32, 24));
	free(ob_random(&b, "w1", 4, OB_DIMS(16, 3, 3, 3)));
	free(ob_random(&b, "b1", 1, OB_DIMS(16)));
	free(ob_random(&b, "w2", 4, OB_DIMS(16, 16, 3, 3)));
	free(ob_random(&b, "w3", 4, OB_DIMS(24, 16, 3, 3)));
	ob_const(&b, "half", 1, 1, OB_DIMS(4), (const float[]){ 1, 1, 0.5f, 0.5f }, 16);
	free(ob_random(&b, "w4", 4, OB_DIMS(8, 16, 3, 3)));
	ob_ints(&b, "plane", 2, OB_DIMS(2, 3));
	ob_ints(&b, "four", 3, OB_DIMS(1, -1, 4));
	ob_ints(&b, "lists", 3, OB_DIMS(1, 2, -1));
	ob_ints(&b, "most", 1, OB_DIMS(20));
	ob_scalar(&b, "iou", 0.5f);
	ob_ints(&b, "flat", 1, OB_DIMS(-1));
	ob_scalar(&b, "zero", 0);
	for (int i = 0; i < 16 && m->lines[i]; i++)
		ob_node(&b, m->lines[i]);
	for (int i = 0; i < MAX_OUT && m->outputs[i]; i++)
		ob_output(&b, m->outputs[i]);
	return ob_finish(&b, size);
}

/* Sample @i of the @seed: pictures have any of three heights when the model takes them. */
static void make_sample(struct npu_npy *x, const struct model *m, unsigned int seed, unsigned int i)
{
	array_alloc(x, NPU_NPY_F32, 4, OB_DIMS(1, 3, m->shape ? 16 + 16 * (i % 3) : 32, 24));
	array_random(x, seed + i, -1, 1);
}

struct samples {
	struct npu_npy x[SAMPLES];
	struct npu_calib_tensor tensor[SAMPLES];
	struct npu_calib_sample sample[SAMPLES];
};

static void make_samples(struct samples *s, const struct model *m)
{
	for (unsigned int i = 0; i < SAMPLES; i++) {
		make_sample(&s->x[i], m, 1, i);
		s->tensor[i] = (struct npu_calib_tensor){ .name = "x", .dtype = NPU_F32, .rank = 4,
							  .dims = s->x[i].dims,
							  .data = s->x[i].data };
		s->sample[i] = (struct npu_calib_sample){ &s->tensor[i], 1 };
	}
}

static void free_samples(struct samples *s)
{
	for (unsigned int i = 0; i < SAMPLES; i++)
		npu_npy_free(&s->x[i]);
}

static struct npu_compile_result *compile(const struct model *m, const uint8_t *onnx, size_t size,
					  const struct npu_compile_options *with, int *err)
{
	struct npu_compile_result *r = NULL;
	struct npu_quant_options q;
	struct npu_compile_options o;
	struct samples s;

	make_samples(&s, m);
	npu_quant_options_init(&q);
	q.samples = s.sample;
	q.num_samples = SAMPLES;
	q.budget = NPU_BUDGET_ACCURACY;
	q.budget_value = 0.99;
	npu_compile_options_init(&o);
	if (with)
		o = *with;
	o.quant = &q;
	o.shapes = &m->shape;
	o.num_shapes = m->shape != NULL;
	*err = npu_compile_onnx(onnx, size, "model.onnx", &o, &r);
	free_samples(&s);
	return r;
}

static double reported(const struct npu_compile_result *r, const char *key)
{
	cJSON *json = cJSON_Parse(npu_compile_report_json(r));
	cJSON *v = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "quantization"), key);
	double number = cJSON_IsNumber(v) ? v->valuedouble : NAN;

	cJSON_Delete(json);
	return number;
}

static bool on_host(const struct npu_compile_result *r, const char *op)
{
	const struct npu_placement *p;

	for (unsigned int i = 0; (p = npu_compile_placement(r, i)); i++)
		if (p->place == NPU_PLACE_HOST && !strcmp(p->op, op))
			return true;
	return false;
}

/* ---- against ONNX Runtime -------------------------------------------------------------------- */

struct sums {
	double ab, aa, bb;
};

/* Rows of integers that both have: of nearly equal scores either may be chosen. */
static bool same_rows(const struct npu_npy *a, const struct npu_npy *b)
{
	size_t row = a->rank == 2 && b->rank == 2 ? (size_t)a->dims[1] * sizeof(int64_t) : 0;
	int64_t found = 0;

	for (int64_t i = 0; row && i < a->dims[0]; i++)
		for (int64_t k = 0; k < b->dims[0]; k++)
			if (!memcmp((char *)a->data + (size_t)i * row,
				    (char *)b->data + (size_t)k * row, row))
				found++;
	tap_diag("%lld of %lld rows are ONNX Runtime's", (long long)found, (long long)b->dims[0]);
	return row && a->dims[1] == b->dims[1] && b->dims[0] > 4 && 10 * found >= 8 * b->dims[0] &&
	       10 * found >= 8 * a->dims[0];
}

static bool add_output(const struct named_array *out, struct sums *s)
{
	struct npu_npy want = { 0 };
	struct npu_error why;
	bool same;

	if (ort_output(tmp_folder(), out->name, &want, &why)) {
		tap_diag("%s", why.text);
		return false;
	}
	if (want.type == NPU_NPY_I64) {
		same = out->arr.type == NPU_NPY_I64 && same_rows(&out->arr, &want);
		npu_npy_free(&want);
		return same;
	}
	same = want.rank == out->arr.rank && want.type == out->arr.type &&
	       !memcmp(want.dims, out->arr.dims, (size_t)want.rank * sizeof(*want.dims));
	for (size_t i = 0; same && i < want.count; i++) {
		double a = array_at(&out->arr, i), b = array_at(&want, i);

		s->ab += a * b;
		s->aa += a * a;
		s->bb += b * b;
	}
	npu_npy_free(&want);
	return same;
}

/* One picture in both; false: something did not work, or a shape is another. */
static bool run_both(const struct npu_compile_result *r, const char *onnx, const struct model *m,
		     unsigned int i, struct sums *s)
{
	struct named_array in = { .name = "x" }, out[MAX_OUT] = { 0 };
	size_t size;
	const void *job = npu_compile_job(r, &size);
	struct runner run;
	bool good;
	int n;

	make_sample(&in.arr, m, 500, i);
	good = !ort_run(onnx, &in, 1, tmp_folder()) && !runner_open(&run, job, size);
	n = good ? runner_run(&run, &in, 1, out, MAX_OUT) : 0;
	if (n <= 0)
		tap_diag("%s", good ? run.why : "ONNX Runtime does not run it");
	for (int k = 0; k < n; k++) {
		good &= add_output(&out[k], s);
		npu_npy_free(&out[k].arr);
	}
	if (good)
		runner_close(&run);
	npu_npy_free(&in.arr);
	return good && n > 0;
}

static const char *save(const struct model *m, const uint8_t *onnx, size_t size)
{
	static char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%.3000s/%zu.onnx", tmp_folder(), (size_t)(m - models));
	f = fopen(path, "wb");
	if (!f || fwrite(onnx, 1, size, f) != size || fclose(f))
		exit(1);
	return path;
}

static void test_model(const struct model *m)
{
	size_t size;
	uint8_t *onnx = build(m, &size);
	int err;
	struct npu_compile_result *r = compile(m, onnx, size, NULL, &err);
	double share = reported(r, "int8_macs") / reported(r, "macs"), c = reported(r, "cosine");
	struct sums s = { 0 };
	bool good = true;

	/* 1 is what a comparison of nothing would give */
	if (!tap_ok(!err && on_host(r, m->host) && share > 0.5 && c > 0.99 && c < 1,
		    "a host node %s: %s on the host, %.1f %% of MACs in int8, cosine %.5f reported",
		    m->name, m->host, 100 * share, c))
		tap_diag("%s%s", npu_compile_messages(r), npu_compile_summary_text(r));
	if (err || !ort_is_there()) {
		tap_skip(m->name, "no job, or NPU_ORT does not say where ONNX Runtime is");
	} else {
		const char *path = save(m, onnx, size);

		for (unsigned int i = 0; i < 2; i++)
			good &= run_both(r, path, m, i, &s);
		/* of integers only the rows are compared */
		tap_ok(good && s.ab >= 0.985 * sqrt(s.aa * s.bb),
		       "%s: beside ONNX Runtime's fp32, cosine %.5f", m->name,
		       s.ab / sqrt(s.aa * s.bb));
	}
	npu_compile_result_free(r);
	free(onnx);
}

/* ---- an operator of the application's ------------------------------------------------------ */

static int calls;

static int own_run(const struct npu_host_call *call, struct npu_error *err)
{
	const float *x = call->in[0].data;
	float *y = call->out[0].data;

	(void)err;
	for (int64_t i = 0; i < npu_host_elems(&call->in[0]); i++)
		y[i] = x[i] > 1 ? 1 + logf(x[i]) : x[i];
	calls++;
	return 0;
}

static int own_infer(const struct npu_host_call *call, struct npu_error *err)
{
	(void)err;
	call->out[0].dtype = call->in[0].dtype;
	call->out[0].rank = call->in[0].rank;
	memcpy(call->out[0].dim, call->in[0].dim, sizeof(call->in[0].dim));
	return 0;
}

static void test_own(void)
{
	static const struct npu_host_op op = { .domain = "own", .name = "Squash", .since = 1,
					       .types = "f32", .limits = "", .run = own_run,
					       .infer = own_infer };
	static const struct model m = {
		"of the application",
		{ "c1: a = Conv(x, w1, b1) pads=[1,1,1,1]", "h: b = own.Squash(a)",
		  "c2: c = Conv(b, w2) pads=[1,1,1,1]", "c3: y = Conv(c, w3)" },
		{ "y" }, "Squash", NULL
	};
	struct npu_compile_options o;
	struct npu_compile_result *r;
	double share;
	size_t size;
	uint8_t *onnx = build(&m, &size);
	int err;

	npu_compile_options_init(&o);
	o.host_ops = &op;
	o.num_host_ops = 1;
	r = compile(&m, onnx, size, &o, &err);
	share = reported(r, "int8_macs") / reported(r, "macs");
	tap_ok(!err && calls > SAMPLES && share > 0.5,
	       "a host node %s: called %d times by calibration, %.1f %% of MACs in int8%s", m.name,
	       calls, 100 * share, err ? npu_compile_messages(r) : "");
	npu_compile_result_free(r);
	o.fail_on_host = true;
	calls = 0;
	r = compile(&m, onnx, size, &o, &err);
	tap_ok(err == -EOPNOTSUPP && !calls && strstr(npu_compile_messages(r), "'h'"),
	       "--fail-on-host refuses before calibration: %.*s",
	       (int)strcspn(npu_compile_messages(r), "\n"), npu_compile_messages(r));
	npu_compile_result_free(r);
	free(onnx);
}

/* What can not be on the host can not be in int8 either, and is said before calibration. */
static void test_refused(void)
{
	struct model m = models[0];
	struct npu_compile_result *r;
	size_t size;
	uint8_t *onnx;
	int err;

	m.shape = "x=1x3x{H=16..64:8}x{W=16..64:8}";
	onnx = build(&m, &size);
	r = compile(&m, onnx, size, NULL, &err);
	tap_ok(err == -EOPNOTSUPP && strstr(npu_compile_messages(r), "node 'h' (Shrink): b:") &&
		       strstr(npu_compile_messages(r), "two run-time lengths"),
	       "refused: %.*s", (int)strcspn(npu_compile_messages(r), "\n"),
	       npu_compile_messages(r));
	npu_compile_result_free(r);
	free(onnx);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		test_model(&models[i]);
	test_own();
	test_refused();
	return tap_done();
}
