// SPDX-License-Identifier: MIT
/*
 * int8 from end to end: a small network is calibrated, compiled, run, and compared with the job in
 * f32; budgets, determinism, counters of clipped values, and what is refused.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "run_job.h"
#include "tap.h"

#define SAMPLES	6

/* Convolutions of all kinds, a residual, hard-swish, a gate, pools, a concatenation and a product.
 */
static uint8_t *network(bool dynamic, size_t *size)
{
	struct ob b;

	ob_init(&b, 14);
	ob_input(&b, "x", 1, 4, dynamic ? OB_DIMS(1, 3, -1, -1) : OB_DIMS(1, 3, 32, 24));
	free(ob_random(&b, "w1", 4, OB_DIMS(16, 3, 3, 3)));
	free(ob_random(&b, "b1", 1, OB_DIMS(16)));
	free(ob_random(&b, "wd", 4, OB_DIMS(16, 1, 3, 3)));
	free(ob_random(&b, "w2", 4, OB_DIMS(16, 16, 1, 1)));
	free(ob_random(&b, "wg", 4, OB_DIMS(16, 16, 1, 1)));
	free(ob_random(&b, "w3", 4, OB_DIMS(24, 32, 3, 3)));
	free(ob_random(&b, "wt", 4, OB_DIMS(24, 8, 2, 2)));
	free(ob_random(&b, "wf", 2, OB_DIMS(24, 10)));
	ob_node(&b, "c1: t1 = Conv(x, w1, b1) pads=[1,1,1,1] strides=[2,2]");
	ob_node(&b, "h1: t2 = HardSwish(t1)");
	ob_node(&b, "cd: t3 = Conv(t2, wd) pads=[1,1,1,1] group=16");
	ob_node(&b, "r1: t4 = Relu(t3)");
	ob_node(&b, "g1: s1 = GlobalAveragePool(t4)");
	ob_node(&b, "cg: s2 = Conv(s1, wg)");
	ob_node(&b, "hs: s3 = HardSigmoid(s2)");
	ob_node(&b, "m1: t5 = Mul(t4, s3)");
	ob_node(&b, "c2: t6 = Conv(t5, w2)");
	ob_node(&b, "a1: t7 = Add(t6, t2)");
	ob_node(&b, "k1: t8 = Concat(t7, t6) axis=1");
	ob_node(&b, "p1: t9 = MaxPool(t8) kernel_shape=[2,2] strides=[2,2]");
	ob_node(&b, "c3: t10 = Conv(t9, w3) pads=[1,1,1,1]");
	ob_node(&b, "r3: t11 = Relu(t10)");
	ob_node(&b, "ct: up = ConvTranspose(t11, wt) strides=[2,2]");
	ob_node(&b, "g2: t12 = GlobalAveragePool(t11)");
	ob_node(&b, "f1: t13 = Flatten(t12) axis=1");
	ob_node(&b, "mm: y = MatMul(t13, wf)");
	ob_output(&b, "y");
	ob_output(&b, "up");
	return ob_finish(&b, size);
}

/* Pictures that are smooth in places: what differs in size has a bound of its own. */
struct samples {
	struct npu_npy x[SAMPLES];
	struct npu_calib_tensor tensor[SAMPLES];
	struct npu_calib_sample sample[SAMPLES];
};

static void make_samples(struct samples *s, unsigned int seed, float amplitude, bool sizes)
{
	for (unsigned int i = 0; i < SAMPLES; i++) {
		array_alloc(&s->x[i], NPU_NPY_F32, 4,
			    OB_DIMS(1, 3, sizes ? 16 + 16 * (i % 3) : 32,
				    sizes ? 32 - 8 * (i % 2) : 24));
		array_random(&s->x[i], seed + i, -amplitude, amplitude);
		s->tensor[i] = (struct npu_calib_tensor){ .name = i % 2 ? "x" : NULL,
							  .dtype = NPU_F32,
							  .rank = 4,
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

static const uint8_t *model;
static size_t model_size;

static struct npu_compile_result *compile(const struct npu_quant_options *q,
					  enum npu_precision precision, const char *shape, int *err)
{
	struct npu_compile_options o;
	struct npu_compile_result *r = NULL;

	npu_compile_options_init(&o);
	o.precision = precision;
	o.quant = q;
	o.shapes = &shape;
	o.num_shapes = shape ? 1 : 0;
	*err = npu_compile_onnx(model, model_size, "model.onnx", &o, &r);
	return r;
}

static void options(struct npu_quant_options *q, const struct samples *s)
{
	npu_quant_options_init(q);
	q->samples = s->sample;
	q->num_samples = SAMPLES;
}

/* A number of the report's quantization, NAN when it has none. */
static double reported(const struct npu_compile_result *r, const char *key)
{
	cJSON *json = cJSON_Parse(npu_compile_report_json(r));
	cJSON *v = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "quantization"), key);
	double number = cJSON_IsNumber(v) ? v->valuedouble : NAN;

	cJSON_Delete(json);
	return number;
}

/* The outputs of @job for all samples, one behind the other; returns their number. */
static size_t run_all(const void *job, size_t size, const struct samples *s, double *values,
		      size_t max)
{
	struct runner r;
	size_t n = 0;

	if (runner_open(&r, job, size)) {
		tap_diag("%s", r.why);
		return 0;
	}
	for (unsigned int i = 0; i < SAMPLES; i++) {
		struct named_array in = { .name = "x", .arr = s->x[i] }, out[4] = { 0 };
		int count = runner_run(&r, &in, 1, out, 4);

		if (count < 0)
			tap_diag("%s", r.why);
		for (int k = 0; k < count; k++) {
			for (size_t e = 0; e < out[k].arr.count && n < max; e++)
				values[n++] = array_at(&out[k].arr, e);
			npu_npy_free(&out[k].arr);
		}
	}
	runner_close(&r);
	return n;
}

static double cosine(const double *a, const double *b, size_t n)
{
	double ab = 0, aa = 0, bb = 0;

	for (size_t i = 0; i < n; i++) {
		ab += a[i] * b[i];
		aa += a[i] * a[i];
		bb += b[i] * b[i];
	}
	return n ? ab / sqrt(aa * bb) : 0;
}

#define MAX_VALUES	200000

/* Cosine of the outputs of @r's job to those of the f32 job, on samples that nobody calibrated
 * with. */
static double closeness(const struct npu_compile_result *r, const char *shape, bool sizes)
{
	double *a = calloc(MAX_VALUES, sizeof(*a)), *b = calloc(MAX_VALUES, sizeof(*b)), c = 0;
	struct npu_compile_result *f;
	struct samples other;
	const void *job, *plain;
	size_t size, plain_size, n;
	int err;

	make_samples(&other, 77, 1, sizes);
	f = compile(NULL, NPU_PRECISION_F32, shape, &err);
	job = npu_compile_job(r, &size);
	plain = npu_compile_job(f, &plain_size);
	if (!err && job) {
		n = run_all(job, size, &other, a, MAX_VALUES);
		if (n && n == run_all(plain, plain_size, &other, b, MAX_VALUES))
			c = cosine(a, b, n);
	}
	npu_compile_result_free(f);
	free_samples(&other);
	free(a);
	free(b);
	return c;
}

static void test_methods(const struct samples *s)
{
	struct npu_quant_options q;

	for (int m = 0; m < NPU_NUM_CALIB_METHODS; m++) {
		struct npu_compile_result *r;
		double c, said, all;
		int err;

		options(&q, s);
		q.method = (enum npu_calib_method)m;
		q.budget = NPU_BUDGET_SPEED;
		q.budget_value = 1;
		r = compile(&q, NPU_PRECISION_F16, NULL, &err);
		c = err ? 0 : closeness(r, NULL, false);
		said = reported(r, "cosine");
		all = reported(r, "int8_macs") / reported(r, "macs");
		tap_ok(!err && c > 0.99 && fabs(c - said) < 0.01 && all > 0.99,
		       "%s: cosine %.5f on other data, %.5f reported, %.1f %% of MACs in int8%s%s",
		       npu_calib_method_name((enum npu_calib_method)m), c, said, 100 * all,
		       err ? ": " : "", err ? npu_compile_messages(r) : "");
		npu_compile_result_free(r);
	}
}

/* The largest error that a layer has inside of the job: tensors are compared element by element. */
static double worst_inside(const struct npu_compile_result *r)
{
	static const char key[] = "\"inside\": ";
	double worst = -1;

	for (const char *p = npu_compile_report_json(r); (p = strstr(p, key));) {
		p += sizeof(key) - 1;
		worst = fmax(worst, atof(p));
	}
	return worst;
}

static void test_budgets(const struct samples *s)
{
	static const double accuracy[] = { 0.9, 0.999, 0.9998, 1 }, speed[] = { 0, 0.3, 0.6, 0.9 };
	struct npu_quant_options q;
	double last = 2, best = 2;
	int err;

	options(&q, s);
	for (int i = 0; i < 4; i++) {
		struct npu_compile_result *r;
		double share, c;

		q.budget = NPU_BUDGET_ACCURACY;
		q.budget_value = accuracy[i];
		r = compile(&q, NPU_PRECISION_F32, NULL, &err);
		share = reported(r, "int8_macs") / reported(r, "macs");
		c = reported(r, "cosine");
		/* the f32 rest reaches any target, in the worst case with nothing in int8 */
		tap_ok(!err && c >= accuracy[i] - 1e-9 && share <= last,
		       "accuracy %.4f: cosine %.6f with %.1f %% of MACs in int8", accuracy[i], c,
		       100 * share);
		last = share;
		npu_compile_result_free(r);
	}
	tap_ok(last < 0.99, "and accuracy costs int8");
	for (int i = 0; i < 4; i++) {
		struct npu_compile_result *r;
		double share, c;

		q.budget = NPU_BUDGET_SPEED;
		q.budget_value = speed[i];
		r = compile(&q, NPU_PRECISION_F32, NULL, &err);
		share = reported(r, "int8_macs") / reported(r, "macs");
		c = reported(r, "cosine");
		tap_ok(!err && share >= speed[i] && c <= best + 1e-4,
		       "speed %.1f: %.1f %% of MACs in int8, cosine %.6f", speed[i], 100 * share,
		       c);
		best = c;
		npu_compile_result_free(r);
	}
}

static void test_determinism(const struct samples *s)
{
	struct npu_quant_options q;
	struct npu_compile_result *a, *b;
	const void *ja, *jb;
	size_t sa = 0, sb = 0;
	int ea, eb;

	options(&q, s);
	a = compile(&q, NPU_PRECISION_F16, NULL, &ea);
	b = compile(&q, NPU_PRECISION_F16, NULL, &eb);
	ja = npu_compile_job(a, &sa);
	jb = npu_compile_job(b, &sb);
	tap_ok(!ea && !eb && sa && sa == sb && !memcmp(ja, jb, sa),
	       "the same samples give the same %zu bytes", sa);
	tap_ok(strstr(npu_compile_report_text(a), "million MACs in int8; cosine") != NULL,
	       "the report has the table of choices");
	tap_ok(worst_inside(a) >= 0 && worst_inside(a) < 0.05,
	       "no layer is off by more than %.5f inside", worst_inside(a));
	npu_compile_result_free(a);
	npu_compile_result_free(b);
}

static void test_keep_float(const struct samples *s)
{
	static const char *const names[] = { "c3", "ct" };
	struct npu_quant_options q;
	struct npu_compile_result *r;
	int err;

	options(&q, s);
	q.budget = NPU_BUDGET_SPEED;
	q.budget_value = 0;
	q.float_nodes = names;
	q.num_float_nodes = 2;
	r = compile(&q, NPU_PRECISION_F16, NULL, &err);
	tap_ok(!err && strstr(npu_compile_report_json(r), "\"reason\": \"as the options say\""),
	       "nodes that are named stay float");
	tap_ok(worst_inside(r) >= 0 && worst_inside(r) < 0.05,
	       "beside them no layer is off by more than %.5f inside", worst_inside(r));
	npu_compile_result_free(r);
}

/* ---- run time -------------------------------------------------------------------------------- */

/* Suspicious counters, and all of them, for samples of the amplitude. */
static int clips(const void *job, size_t size, float amplitude, int *all, double *most)
{
	struct samples s;
	struct runner r;
	int suspicious = 0;

	*all = 0;
	*most = 0;
	make_samples(&s, 500, amplitude, false);
	if (!runner_open(&r, job, size)) {
		struct named_array in = { .name = "x", .arr = s.x[0] }, out[4] = { 0 };
		struct npu_clip_info c = NPU_INIT(c);
		int count = runner_run(&r, &in, 1, out, 4);

		for (; count > 0 && !npu_run_clipped(r.run, (unsigned int)*all, &c, NULL); ++*all) {
			suspicious += (int)c.suspicious;
			*most = fmax(*most, c.share);
			if (!c.looked_at || c.calibrated < 0 || !*c.tensor)
				suspicious += 1000;
		}
		for (int k = 0; k < count; k++)
			npu_npy_free(&out[k].arr);
	}
	runner_close(&r);
	free_samples(&s);
	return suspicious;
}

static void test_clips(const struct samples *s)
{
	struct npu_quant_options q;
	struct npu_compile_result *r;
	int err, all = 0, found;
	double most = 0;
	size_t size;
	const void *job;

	options(&q, s);
	r = compile(&q, NPU_PRECISION_F16, NULL, &err);
	job = npu_compile_job(r, &size);
	found = job ? clips(job, size, 1, &all, &most) : -1;
	tap_ok(!err && found == 0 && all == 1,
	       "data like those of calibration: %d counters, none suspicious, at most %.2f %%", all,
	       100 * most);
	found = job ? clips(job, size, 8, &all, &most) : -1;
	tap_ok(found > 0 && found < 1000 && most > 0.2,
	       "data eight times as large: %d of %d are, at most %.1f %%", found, all, 100 * most);
	npu_compile_result_free(r);
	q.no_clip_count = true;
	r = compile(&q, NPU_PRECISION_F16, NULL, &err);
	job = npu_compile_job(r, &size);
	found = job ? clips(job, size, 8, &all, &most) : -1;
	tap_ok(!err && !found && !all, "no counters when they are not wanted");
	npu_compile_result_free(r);
}

static void test_sizes(void)
{
	static const char shape[] = "x=1x3x{H=16..64:8}x{W=16..64:8}";
	struct npu_quant_options q;
	struct npu_compile_result *r;
	struct samples s;
	size_t old_size = model_size;
	const uint8_t *old = model;
	uint8_t *dynamic = network(true, &model_size);
	double c;
	int err;

	model = dynamic;
	make_samples(&s, 3, 1, true);
	options(&q, &s);
	r = compile(&q, NPU_PRECISION_F16, shape, &err);
	c = err ? 0 : closeness(r, shape, true);
	tap_ok(!err && c > 0.99, "samples of six sizes for a model of any size: cosine %.5f%s%s", c,
	       err ? ": " : "", err ? npu_compile_messages(r) : "");
	npu_compile_result_free(r);
	free_samples(&s);
	free(dynamic);
	model = old;
	model_size = old_size;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refuse(const struct npu_quant_options *q, const char *word, const char *word2)
{
	int err;
	struct npu_compile_result *r = compile(q, NPU_PRECISION_F16, NULL, &err);

	tap_ok(err == -EINVAL && strstr(npu_compile_messages(r), word) &&
		       strstr(npu_compile_messages(r), word2),
	       "refused: %.*s", (int)strcspn(npu_compile_messages(r), "\n"),
	       npu_compile_messages(r));
	npu_compile_result_free(r);
}

static void test_refusals(struct samples *s)
{
	static const char *const unknown[] = { "c9" };
	struct npu_calib_tensor two[2] = { s->tensor[0], s->tensor[0] }, *t = &s->tensor[2];
	const struct npu_calib_tensor good = *t;
	struct npu_quant_options q;
	float *data = s->x[3].data, keep = data[17];

	options(&q, s);
	q.num_samples = 0;
	refuse(&q, "calib", "samples");
	options(&q, s);
	q.size = 8;
	refuse(&q, "size is 8", "npu_quant_options_init");
	options(&q, s);
	q.method = 17;
	refuse(&q, "calib_method", "17");
	options(&q, s);
	q.percentile = 20;
	refuse(&q, "percentile", "50 to 100");
	options(&q, s);
	q.budget = NPU_BUDGET_SPEED;
	q.budget_value = 1.5;
	refuse(&q, "budget", "0 to 1");
	options(&q, s);
	q.float_nodes = unknown;
	q.num_float_nodes = 1;
	refuse(&q, "float_nodes", "c9");
	options(&q, s);
	t->dims = OB_DIMS(1, 3, 24, 32);
	refuse(&q, "sample 2, input 'x': shape [1,3,24,32]", "[1,3,32,24]");
	*t = good;
	t->rank = 3;
	refuse(&q, "sample 2, input 'x'", "expected");
	*t = good;
	t->dtype = NPU_I64;
	refuse(&q, "sample 2, input 'x': type i64", "f32");
	*t = good;
	t->name = "z";
	refuse(&q, "sample 2", "nothing for input 'x'");
	*t = good;
	t->data = NULL;
	refuse(&q, "sample 2, input 'x'", "no data");
	*t = good;
	s->sample[4] = (struct npu_calib_sample){ two, 2 };
	refuse(&q, "sample 4 has 2 tensors", "1 input");
	s->sample[4] = (struct npu_calib_sample){ &s->tensor[4], 1 };
	data[17] = NAN;
	refuse(&q, "sample 3, input 'x': element 17 is NaN", "");
	data[17] = keep;
}

static int stop_at(void *arg, const char *stage, double fraction)
{
	return !strcmp(stage, arg);
}

static void test_cancel(const struct samples *s)
{
	static char stage[] = "sensitivity";
	struct npu_compile_options o;
	struct npu_compile_result *r = NULL;
	struct npu_quant_options q;
	int err;

	options(&q, s);
	npu_compile_options_init(&o);
	o.quant = &q;
	o.progress = stop_at;
	o.progress_arg = stage;
	err = npu_compile_onnx(model, model_size, "model.onnx", &o, &r);
	tap_ok(err == -ECANCELED && !npu_compile_job(r, NULL), "cancelled while measuring");
	npu_compile_result_free(r);
}

static int note_stage(void *arg, const char *stage, double fraction)
{
	*(bool *)arg |= !strcmp(stage, "calibrate") || !strcmp(stage, "sensitivity");
	return 0;
}

/* An input whose lengths nobody gave is no reason to calibrate first. */
static void test_shapes_first(const struct samples *s)
{
	struct npu_compile_options o;
	struct npu_compile_result *r = NULL;
	struct npu_quant_options q;
	bool calibrated = false;
	size_t size;
	uint8_t *m = network(true, &size);
	int err;

	options(&q, s);
	npu_compile_options_init(&o);
	o.quant = &q;
	o.progress = note_stage;
	o.progress_arg = &calibrated;
	err = npu_compile_onnx(m, size, "model.onnx", &o, &r);
	tap_ok(err == -EINVAL && !calibrated && strstr(npu_compile_messages(r), "give its sizes"),
	       "a missing shape is found before calibration");
	npu_compile_result_free(r);
	free(m);
}

/* Every dump of an int8 job, whose instructions name a buffer that other jobs have not. */
static void test_dump(const struct samples *s)
{
	struct npu_compile_options o;
	struct npu_compile_result *r = NULL;
	struct npu_quant_options q;
	char *text = NULL;
	size_t size = 0;
	int err;

	options(&q, s);
	q.budget = NPU_BUDGET_SPEED;
	q.budget_value = 1;
	npu_compile_options_init(&o);
	o.quant = &q;
	o.dump_pass = "all";
	o.dump = open_memstream(&text, &size);
	err = o.dump ? npu_compile_onnx(model, model_size, "model.onnx", &o, &r) : -ENOMEM;
	if (o.dump)
		fclose(o.dump);
	tap_ok(!err && text && strstr(text, "state"), "the dump names the counters' buffer");
	npu_compile_result_free(r);
	free(text);
}

int main(void)
{
	struct samples s;
	uint8_t *m = network(false, &model_size);

	model = m;
	make_samples(&s, 1, 1, false);
	test_methods(&s);
	test_budgets(&s);
	test_determinism(&s);
	test_keep_float(&s);
	test_clips(&s);
	test_sizes();
	test_refusals(&s);
	test_cancel(&s);
	test_shapes_first(&s);
	test_dump(&s);
	free_samples(&s);
	free(m);
	return tap_done();
}
