// SPDX-License-Identifier: MIT
/*
 * Nodes on the host in every place of a model: results against plain loops written here, the plan
 * of memory against what is used, refusals, and operators of an application's own.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "core/object.h"
#include "npu_compiler.h"
#include "npu_host.h"
#include "npu_isa_desc.h"
#include "tap.h"

#define C	3
#define W	6
#define MAX_H	12
#define MAX_N	(2 * 4 * MAX_H * W)

static struct npu_error err;
static struct npu_device *dev;
static struct npu_queue *queue;

/* ---- the application's operators ---- */

static int like_input(const struct npu_host_call *call, struct npu_error *e)
{
	for (uint32_t i = 0; i < call->num_out; i++) {
		call->out[i].dtype = call->in[0].dtype;
		call->out[i].rank = call->in[0].rank;
		memcpy(call->out[i].dim, call->in[0].dim, sizeof(call->in[0].dim));
	}
	return 0;
}

static int cube(const struct npu_host_call *call, struct npu_error *e)
{
	float scale = (float)npu_host_float(call, "scale", 1);

	if (call->num_in != 1 || call->num_out != 1 || call->in[0].dtype != NPU_F32)
		return npu_host_fail(call, e, -EINVAL, "one f32 tensor is expected");
	for (int64_t i = 0; i < npu_host_elems(&call->in[0]); i++) {
		float v = ((const float *)call->in[0].data)[i];

		((float *)call->out[0].data)[i] = scale * v * v * v;
	}
	return 0;
}

/* The positive and the negative part; an output may be left out. */
static int parts(const struct npu_host_call *call, struct npu_error *e)
{
	for (int64_t i = 0; i < npu_host_elems(&call->in[0]); i++) {
		float v = ((const float *)call->in[0].data)[i];

		if (call->out[0].present)
			((float *)call->out[0].data)[i] = v > 0 ? v : 0;
		if (call->num_out > 1 && call->out[1].present)
			((float *)call->out[1].data)[i] = v < 0 ? v : 0;
	}
	return 0;
}

static int square_length(const struct npu_host_call *call, struct npu_error *e)
{
	call->out[0].dtype = NPU_F32;
	call->out[0].rank = 1;
	call->out[0].dim[0] = call->in[0].dim[2] * call->in[0].dim[2];
	return 0;
}

/* More dimensions, the longer the input is. */
static int many_dims(const struct npu_host_call *call, struct npu_error *e)
{
	call->out[0].dtype = NPU_F32;
	call->out[0].rank = call->in[0].dim[2] > 2 ? 2 : 1;
	call->out[0].dim[0] = call->out[0].dim[1] = 3;
	return 0;
}

static int huge_length(const struct npu_host_call *call, struct npu_error *e)
{
	call->out[0].dtype = NPU_F32;
	call->out[0].rank = 1;
	call->out[0].dim[0] = INT64_MAX;
	return 0;
}

static const struct npu_host_op own[] = {
	{ .domain = "test", .name = "Cube", .since = 1, .types = "f32", .limits = "", .run = cube,
	  .infer = like_input },
	{ .domain = "test", .name = "Parts", .since = 1, .types = "f32", .limits = "", .run = parts,
	  .infer = like_input },
	{ .domain = "test", .name = "NoInfer", .since = 1, .types = "f32", .limits = "",
	  .run = cube },
	{ .domain = "test", .name = "Square", .since = 1, .types = "f32", .limits = "", .run = cube,
	  .infer = square_length },
	{ .domain = "test", .name = "ManyDims", .since = 1, .types = "f32", .limits = "",
	  .run = cube, .infer = many_dims },
	{ .domain = "test", .name = "Huge", .since = 1, .types = "f32", .limits = "", .run = cube,
	  .infer = huge_length },
};

#define NUM_OWN	(sizeof(own) / sizeof(own[0]))

/* ---- models ---- */

static float weight[4 * C];

/* x [1, 3, h, 6]; a = Conv(x) of 1 x 1, which lies channels last. h < 0: a run-time length. */
static uint8_t *model(const char *const *lines, const char *const *outputs, int64_t h, size_t *size)
{
	static const int64_t dims[] = { 4, C, 1, 1 };
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, C, h, W));
	ob_const(&b, "w", 1, 4, dims, weight, sizeof(weight));
	for (; *lines; lines++)
		ob_node(&b, *lines);
	for (; *outputs; outputs++)
		ob_output(&b, *outputs);
	return ob_finish(&b, size);
}

static struct npu_compile_result *compile(const uint8_t *m, size_t size,
					  enum npu_precision precision, const char *shape,
					  bool fail_on_host, int *ret)
{
	struct npu_compile_result *r = NULL;
	struct npu_compile_options o;

	npu_compile_options_init(&o);
	o.precision = precision;
	o.shapes = shape ? &shape : NULL;
	o.num_shapes = shape != NULL;
	o.fail_on_host = fail_on_host;
	o.host_ops = own;
	o.num_host_ops = NUM_OWN;
	*ret = npu_compile_onnx(m, size, "m.onnx", &o, &r);
	return r;
}

static float input_at(size_t i)
{
	return (float)((int)(i * 37 % 23) - 11) / 8;
}

/* Runs at height @h; *@n elements of output @name into @y. */
static int run_at(const void *job, size_t size, int64_t h, const char *name, void *y, size_t elem,
		  int64_t *n)
{
	int64_t dims[NPU_TENSOR_MAX_RANK] = { 1, C, h, W };
	float x[C * MAX_H * W];
	struct npu_fence *fence;
	struct npu_job *j;
	struct npu_run *run;
	unsigned int rank;
	int ret = npu_job_load_memory(dev, job, size, "m.npu", 0, &j, &err);

	if (ret)
		return ret;
	for (int64_t i = 0; i < C * h * W; i++)
		x[i] = input_at((size_t)i);
	ret = npu_run_create(j, &run, &err);
	if (!ret)
		ret = npu_run_set_shape(run, "x", 4, dims, &err);
	if (!ret)
		ret = npu_run_write(run, "x", x, (size_t)(C * h * W) * 4, &err);
	if (!ret)
		ret = npu_queue_submit(queue, run, NULL, &fence, &err);
	if (!ret) {
		ret = npu_fence_wait(fence, NPU_FOREVER, &err);
		npu_fence_put(fence);
	}
	if (!ret)
		ret = npu_run_get_shape(run, name, &rank, dims, &err);
	if (!ret) {
		*n = 1;
		for (unsigned int i = 0; i < rank; i++)
			*n *= dims[i];
		ret = npu_run_read(run, name, y, (size_t)*n * elem, &err);
	}
	npu_run_destroy(run);
	npu_job_unload(j);
	return ret;
}

/* ---- what should come out ---- */

/* The convolution of @in [C][h][W] into @out [4][h][W]. */
static void conv(const float *in, int64_t h, float *out)
{
	for (int o = 0; o < 4; o++)
		for (int64_t i = 0; i < h * W; i++) {
			out[o * h * W + i] = 0;
			for (int c = 0; c < C; c++)
				out[o * h * W + i] += weight[o * C + c] * in[c * h * W + i];
		}
}

static float cubed(float v)
{
	return v * v * v;
}

struct place {
	const char *what;
	const char *lines[5];
	unsigned int host, npu_at_least;
	/* element @i of y, from x and a = conv(x) */
	float (*want)(const float *x, const float *a, int64_t h, size_t i);
};

static float want_middle(const float *x, const float *a, int64_t h, size_t i)
{
	return a[i] > 0 ? cubed(a[i]) : 0;
}

static float want_end(const float *x, const float *a, int64_t h, size_t i)
{
	return 0.5f * cubed(a[i]);
}

static float want_branch(const float *x, const float *a, int64_t h, size_t i)
{
	return a[i] + cubed(a[i]);
}

static float want_parts(const float *x, const float *a, int64_t h, size_t i) { return fabsf(a[i]); }
static float want_part(const float *x, const float *a, int64_t h, size_t i)
{
	return a[i] < 0 ? 2 * a[i] : 0;
}

static float want_row(const float *x, const float *a, int64_t h, size_t i)
{
	return a[i] > 0 ? cubed(cubed(a[i])) : 0;
}

static float want_concat(const float *x, const float *a, int64_t h, size_t i)
{
	size_t half = (size_t)(4 * h * W);

	return i < half ? a[i] : cubed(a[i - half]);
}

static float want_start(const float *x, const float *a, int64_t h, size_t i)
{
	float in[C * MAX_H * W], out[4 * MAX_H * W];

	for (int64_t k = 0; k < C * h * W; k++)
		in[k] = cubed(x[k]);
	conv(in, h, out);
	return out[i];
}

static float want_only(const float *x, const float *a, int64_t h, size_t i) { return cubed(x[i]); }
static float want_moved(const float *x, const float *a, int64_t h, size_t i)
{
	/* [1, 4, h, 6] to [1, h, 6, 4] */
	return cubed(a[i % 4 * (size_t)(h * W) + i / 4]);
}

static const struct place places[] = {
	{ "in the middle", { "a = Conv(x, w)", "h: b = test.Cube(a)", "y = Relu(b)" }, 1, 2,
	  want_middle },
	{ "at the start", { "h: b = test.Cube(x)", "y = Conv(b, w)" }, 1, 1, want_start },
	{ "at the end, with an attribute", { "a = Conv(x, w)", "h: y = test.Cube(a) scale=0.5" },
	  1, 1, want_end },
	{ "in a branch", { "a = Conv(x, w)", "h: b = test.Cube(a)", "y = Add(a, b)" }, 1, 2,
	  want_branch },
	{ "two outputs", { "a = Conv(x, w)", "h: p, q = test.Parts(a)", "y = Sub(p, q)" }, 1, 2,
	  want_parts },
	{ "an output left out", { "a = Conv(x, w)", "h: , q = test.Parts(a)", "y = Add(q, q)" },
	  1, 2, want_part },
	{ "two in a row",
	  { "a = Conv(x, w)", "h: b = test.Cube(a)", "k: c = test.Cube(b)", "y = Relu(c)" }, 2, 2,
	  want_row },
	{ "into a Concat", { "a = Conv(x, w)", "h: b = test.Cube(a)", "y = Concat(a, b) axis=1" },
	  1, 1, want_concat },
	{ "the whole model", { "h: y = test.Cube(x)" }, 1, 0, want_only },
	{ "behind a Transpose",
	  { "a = Conv(x, w)", "t = Transpose(a) perm=[0,2,3,1]", "h: y = test.Cube(t)" }, 1, 1,
	  want_moved },
};

static double worst(const struct place *p, const float *y, int64_t n, int64_t h)
{
	float x[C * MAX_H * W], a[4 * MAX_H * W];
	double most = 0;

	for (int64_t i = 0; i < C * h * W; i++)
		x[i] = input_at((size_t)i);
	conv(x, h, a);
	for (int64_t i = 0; i < n; i++) {
		double want = (double)p->want(x, a, h, (size_t)i);
		double d = fabs((double)y[i] - want) / (1 + fabs(want));

		most = d > most || isnan(d) ? d : most;
	}
	return most;
}

static void test_place(const struct place *p, enum npu_precision precision, bool dynamic)
{
	static const char *const outputs[] = { "y", NULL };
	const struct npu_compile_summary *s;
	struct npu_compile_result *r, *again;
	size_t size, job_size, again_size;
	uint8_t *m = model(p->lines, outputs, dynamic ? -1 : 4, &size);
	float y[MAX_N];
	const void *job;
	int64_t n, h;
	int ret;

	r = compile(m, size, precision, dynamic ? "x=1x3x{H=2..12:2}x6" : NULL, false, &ret);
	s = npu_compile_summary(r);
	if (!tap_ok(!ret && s->count[NPU_PLACE_HOST] == p->host,
		    "%s, %s%s: compiles, %u on the host", p->what,
		    precision == NPU_PRECISION_F32 ? "f32" : "f16",
		    dynamic ? ", run-time height" : "", p->host))
		tap_diag("%s", npu_compile_messages(r));
	job = npu_compile_job(r, &job_size);
	for (h = dynamic ? 2 : 4; job && h <= (dynamic ? 12 : 4); h += dynamic ? 4 : 1) {
		ret = run_at(job, job_size, h, "y", y, 4, &n);
		if (!tap_ok(!ret && n > 0 &&
				    worst(p, y, n, h) <
					    (precision == NPU_PRECISION_F32 ? 1e-5 : 2e-2),
			    "%s: right at height %d", p->what, (int)h))
			tap_diag("%s; off by %g", err.text, ret ? 0 : worst(p, y, n, h));
	}
	again = compile(m, size, precision, dynamic ? "x=1x3x{H=2..12:2}x6" : NULL, false, &ret);
	tap_ok(npu_compile_job(again, &again_size) && again_size == job_size &&
		       !memcmp(npu_compile_job(again, NULL), job, job_size),
	       "%s: the same bytes again", p->what);
	npu_compile_result_free(again);
	npu_compile_result_free(r);
	free(m);
}

/* ---- the plan ---- */

/* The highest byte of region @region that the program's instructions and host steps touch. */
static uint64_t touched(const struct npu_job *job, npu_u32 region)
{
	const struct npu_jobfile_program *prog = &job->file->programs[0];
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], offset, extent;
	npu_u32 upper[NPU_MAX_SCALARS];
	struct npu_jobfile_step step;
	uint64_t most = 0;

	npu_jobfile_bounds(prog, true, upper);
	for (npu_u32 i = 0; npu_jobfile_step_at(prog, i, &step); i++) {
		npu_u32 at = sizeof(struct npu_stream_header);

		for (npu_u32 k = 0; step.kind == NPU_STEP_HOST && k < step.num_in + step.num_out;
		     k++) {
			npu_u32 t = k < step.num_in ? step.in[k] : step.out[k - step.num_in];

			if (t == NPU_JOBFILE_ABSENT || prog->tensors[t].region != region)
				continue;
			npu_jobfile_layout(&prog->tensors[t], upper, dim, stride, &offset, &extent);
			most = offset + extent > most ? offset + extent : most;
		}
		while (step.kind == NPU_STEP_STREAM && at < step.stream_size) {
			struct npu_insn insn;
			npu_u32 words[4096];
			size_t left = (step.stream_size - at) / 4;

			memcpy(words, (const char *)step.stream + at,
			       (left < 4096 ? left : 4096) * 4);
			if (npu_insn_decode(words, left < 4096 ? left : 4096, &insn, NULL) ||
			    npu_insn_apply_terms(words, upper, NULL))
				abort();
			for (unsigned int s = 0; s < insn.desc->num_slots; s++) {
				const struct npu_operand *op = &insn.operand[s];
				uint64_t end = op->offset + npu_dtype_bits(op->dtype) / 8;

				if (op->dtype == NPU_NONE || op->region != region)
					continue;
				for (unsigned int d = 0; d < op->rank; d++)
					end += (uint64_t)op->stride[d] * (op->dim[d] - 1);
				most = end > most ? end : most;
			}
			at += insn.header->words * 4;
		}
	}
	return most;
}

static void test_plan(void)
{
	static const char *const lines[] = { "a = Conv(x, w)",
					     "h: b = test.Cube(a)",
					     "c = Conv(b, v)",
					     "k: d = test.Cube(c)",
					     "e = Add(d, b)",
					     "y = Relu(e)",
					     NULL };
	static const int64_t dims[] = { 4, 4, 1, 1 };
	static float v[16] = { 1, 0.5f, 0, 0, 0, 1 };
	struct npu_program_info p = NPU_INIT(p);
	struct npu_job_info info = NPU_INIT(info);
	int64_t shape[] = { 1, C, MAX_H, W };
	struct npu_compile_result *r;
	size_t size, job_size;
	struct npu_job *job;
	struct npu_run *run;
	struct ob b;
	uint8_t *m;
	uint64_t used, host = 0;
	const void *data;
	int ret;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, C, -1, W));
	ob_const(&b, "w", 1, 4, OB_DIMS(4, C, 1, 1), weight, sizeof(weight));
	ob_const(&b, "v", 1, 4, dims, v, sizeof(v));
	for (int i = 0; lines[i]; i++)
		ob_node(&b, lines[i]);
	ob_output(&b, "y");
	m = ob_finish(&b, &size);
	r = compile(m, size, NPU_PRECISION_F32, "x=1x3x{H=2..12:2}x6", false, &ret);
	data = npu_compile_job(r, &job_size);
	if (!tap_ok(!ret && !npu_job_load_memory(dev, data, job_size, "plan.npu", 0, &job, &err),
		    "a model with two host steps"))
		return;
	npu_job_info(job, &info);
	npu_job_program(job, 0, &p);
	used = touched(job, 1);
	/* The last buffer may end before a multiple of the alignment. */
	tap_ok(used <= p.scratch && p.scratch - used < 64 && p.scratch == info.scratch,
	       "scratch: %llu bytes are said, %llu are touched", (unsigned long long)p.scratch,
	       (unsigned long long)used);
	tap_ok(npu_compile_summary(r)->scratch_bytes == p.scratch &&
	       p.scratch == npu_compile_summary(r)->scratch_lower, "no more than is alive at once");
	tap_ok(touched(job, 2) <= p.sram && p.sram - touched(job, 2) < 64,
	       "on-chip memory likewise");
	npu_run_create(job, &run, &err);
	npu_run_set_shape(run, "x", 4, shape, &err);
	ret = npu_queue_submit(queue, run, NULL, NULL, &err);
	npu_queue_wait(queue, NPU_FOREVER, &err);
	tap_ok(!ret && run->scratch[1] && run->scratch[1]->size == p.scratch,
	       "and a run allocates just that");
	/* Four arguments of 4 * 12 * 6 f32, and the sizes in the report. */
	host = 4ull * 4 * MAX_H * W * 4;
	tap_ok(p.num_host_steps == 2 && p.host_bytes == host &&
		       npu_compile_summary(r)->host_bytes == host,
	       "%llu bytes for host steps", (unsigned long long)host);
	tap_ok(strstr(npu_compile_summary_text(r), "4 of 6 operators on the NPU") &&
	       strstr(npu_compile_summary_text(r), "bytes moved for host steps") &&
	       strstr(info.report, npu_compile_summary_text(r)), "%s", npu_compile_summary_text(r));
	npu_run_destroy(run);
	npu_job_unload(job);
	npu_compile_result_free(r);
	free(m);
}

/* ---- nodes that end on the host, and why ---- */

static const struct npu_placement *placement(const struct npu_compile_result *r, const char *node)
{
	for (unsigned int i = 0; npu_compile_placement(r, i); i++)
		if (!strcmp(npu_compile_placement(r, i)->node, node))
			return npu_compile_placement(r, i);
	return NULL;
}

/*
 * MaxPool's lowering refuses the second output over run-time lengths, so the node is tried again on
 * the host.
 */
static void test_refused_lowering(void)
{
	static const char *const lines[] = {
		"a = Conv(x, w)", "pool: b, i = MaxPool(a) kernel_shape=[2,2] strides=[2,2]",
		"y = Relu(b)", NULL
	};
	static const char *const outputs[] = { "y", "i", NULL };
	float x[C * 4 * W], a[4 * 4 * W], y[MAX_N];
	const struct npu_placement *p;
	struct npu_compile_result *r;
	int64_t at[MAX_N], n = 0, k = 0;
	size_t size, job_size;
	uint8_t *m = model(lines, outputs, -1, &size);
	unsigned int bad = 0;
	const void *job;
	int ret;

	r = compile(m, size, NPU_PRECISION_F32, "x=1x3x{H=2..12:2}x6", false, &ret);
	p = placement(r, "pool");
	tap_ok(!ret && p && p->place == NPU_PLACE_HOST && strstr(p->reason, "Indices") &&
		       !strcmp(p->insns, "host"),
	       "MaxPool with Indices: %s", p ? p->reason : "?");
	job = npu_compile_job(r, &job_size);
	ret = ret ? ret : run_at(job, job_size, 4, "y", y, 4, &n);
	ret = ret ? ret : run_at(job, job_size, 4, "i", at, 8, &k);
	for (int i = 0; i < C * 4 * W; i++)
		x[i] = input_at((size_t)i);
	conv(x, 4, a);
	for (int i = 0; i < n && !ret; i++) {
		int c = i / 6, row = i / 3 % 2, col = i % 3, from = c * 24 + row * 12 + col * 2,
		    best = from;
		const int other[3] = { from + 1, from + 6, from + 7 };

		for (int o = 0; o < 3; o++)
			best = a[other[o]] > a[best] ? other[o] : best;
		bad += at[i] != best || fabsf(y[i] - (a[best] > 0 ? a[best] : 0)) > 1e-5f;
	}
	tap_ok(!ret && n == 24 && k == 24 && !bad, "its results: %u of 24 wrong %s", bad,
	       ret ? err.text : "");
	npu_compile_result_free(r);
	free(m);
}

/*
 * A convolution that only the host does, whose weight and bias are codes behind a DequantizeLinear:
 * the NPU's would take the codes, the host's needs the numbers.
 */
static void test_coded_weight(void)
{
	static const char *const lines[] = { "r = Reshape(x, s)",
					     "wd = DequantizeLinear(wq, ws) axis=0",
					     "bd = DequantizeLinear(bq, bs) axis=0",
					     "conv: y = Conv(r, wd, bd)", NULL };
	static const float ws[] = { 0.25f, 0.5f }, bs[] = { 0.125f, 2 };
	static const int32_t bq[] = { 40, -3 };
	int8_t wq[2 * C * 2 * 2 * 2];
	float y[MAX_N];
	const struct npu_placement *p;
	struct npu_compile_result *r;
	size_t size, job_size;
	unsigned int bad = 0;
	const void *job;
	int64_t n = 0;
	uint8_t *m;
	struct ob b;
	int ret;

	for (size_t i = 0; i < sizeof(wq); i++)
		wq[i] = (int8_t)(i * 29 % 255 - 127);
	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, C, 4, W));
	ob_ints(&b, "s", 6, OB_DIMS(1, C, 2, 1, 2, W));
	ob_const(&b, "wq", 3, 6, OB_DIMS(2, C, 2, 1, 2, 2), wq, sizeof(wq));
	ob_const(&b, "ws", 1, 1, OB_DIMS(2), ws, sizeof(ws));
	ob_const(&b, "bq", 6, 1, OB_DIMS(2), bq, sizeof(bq));
	ob_const(&b, "bs", 1, 1, OB_DIMS(2), bs, sizeof(bs));
	for (unsigned int i = 0; lines[i]; i++)
		ob_node(&b, lines[i]);
	ob_output(&b, "y");
	m = ob_finish(&b, &size);
	r = compile(m, size, NPU_PRECISION_F32, NULL, false, &ret);
	p = placement(r, "conv");
	tap_ok(!ret && p && p->place == NPU_PLACE_HOST && p->macs == 240,
	       "a 4-D convolution of codes is on the host, with its MACs: %s",
	       p ? p->reason : npu_compile_messages(r));
	tap_ok(strstr(npu_compile_summary_text(r), " 0.0 % of 0.0 million MACs") != NULL,
	       "which count: %s", npu_compile_summary_text(r));
	job = npu_compile_job(r, &job_size);
	ret = ret ? ret : run_at(job, job_size, 4, "y", y, 4, &n);
	for (int o = 0; o < 2; o++)
		for (int at = 0; at < 5; at++) {
			double sum = (double)bq[o] * (double)bs[o];

			for (int k = 0; k < C * 8; k++)	/* channel, depth, row, column */
				sum += (double)wq[o * C * 8 + k] * (double)ws[o] *
				       (double)input_at(
					       (size_t)(k / 8 * 24 + k / 2 % 4 * 6 + k % 2 + at));
			bad += !(fabs(sum - (double)y[o * 5 + at]) < 1e-4);
		}
	tap_ok(!ret && n == 10 && !bad, "its results: %u of 10 wrong %s", bad, ret ? err.text : "");
	npu_compile_result_free(r);
	free(m);
}

/*
 * The work of recurrent nodes counts as well: 7 steps of 2 sequences, 4 gates of 5 that see 3 + 5.
 */
static void test_recurrent_work(void)
{
	struct npu_compile_result *r;
	const struct npu_placement *p;
	size_t size;
	uint8_t *m;
	struct ob b;
	int ret;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 3, OB_DIMS(7, 2, 3));
	free(ob_random(&b, "w", 3, OB_DIMS(1, 20, 3)));
	free(ob_random(&b, "r", 3, OB_DIMS(1, 20, 5)));
	ob_node(&b, "lstm: y = LSTM(x, w, r) hidden_size=5");
	ob_output(&b, "y");
	m = ob_finish(&b, &size);
	r = compile(m, size, NPU_PRECISION_F32, NULL, false, &ret);
	p = placement(r, "lstm");
	tap_ok(!ret && p && p->place == NPU_PLACE_HOST && p->macs == 7 * 2 * 4 * 5 * (3 + 5),
	       "LSTM is on the host, with its MACs: %s", p ? p->reason : npu_compile_messages(r));
	npu_compile_result_free(r);
	free(m);
}

/* Lengths that the data decide: to outputs, and through operators that follow. */
static void test_bounded(void)
{
	static const char *const lines[] = { "a = Relu(x)", "f = Reshape(a, flat)",
					     "nz: i = NonZero(f)", "g: y = Gather(f, i)", NULL };
	static const char *const outputs[] = { "i", "y", NULL };
	static const char *const neg[] = { "a = Relu(x)", "nz: i = NonZero(a)",
					   "bad: y = Softmax(i) axis=0", NULL };
	static const char *const shape[] = { "nz: i = NonZero(x)", "bad: y = Shape(i)", NULL };
	static const char *const y_only[] = { "y", NULL };
	static const int64_t flat = -1;
	struct npu_compile_result *r;
	int64_t at[MAX_N], n = 0, k = 0, found = 0;
	float y[MAX_N];
	size_t size, job_size;
	unsigned int bad = 0;
	const void *job;
	struct ob b;
	uint8_t *m;
	int ret;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, C, 4, W));
	ob_ints(&b, "flat", 1, &flat);
	for (int i = 0; lines[i]; i++)
		ob_node(&b, lines[i]);
	for (int i = 0; outputs[i]; i++)
		ob_output(&b, outputs[i]);
	m = ob_finish(&b, &size);
	r = compile(m, size, NPU_PRECISION_F32, NULL, false, &ret);
	job = npu_compile_job(r, &job_size);
	if (ret)
		tap_diag("%s", npu_compile_messages(r));
	ret = ret ? ret : run_at(job, job_size, 4, "i", at, 8, &n);
	ret = ret ? ret : run_at(job, job_size, 4, "y", y, 4, &k);
	for (size_t i = 0; i < C * 4 * W; i++) {
		if (input_at(i) <= 0)
			continue;
		bad += found >= n || at[found] != (int64_t)i || y[found] != input_at(i);
		found++;
	}
	tap_ok(!ret && n == found && k == found && found > 0 && !bad,
	       "NonZero and Gather: %d of 72 %s", (int)found, ret ? err.text : "");
	npu_compile_result_free(r);
	free(m);
	m = model(neg, y_only, 4, &size);
	r = compile(m, size, NPU_PRECISION_F32, NULL, false, &ret);
	tap_ok(ret == -EOPNOTSUPP && strstr(npu_compile_messages(r), "'bad'") &&
		       strstr(npu_compile_messages(r), "the data decide"),
	       "a node that can not: %s", npu_compile_messages(r));
	npu_compile_result_free(r);
	free(m);
	m = model(shape, y_only, 4, &size);
	r = compile(m, size, NPU_PRECISION_F32, NULL, false, &ret);
	tap_ok(ret == -EOPNOTSUPP && strstr(npu_compile_messages(r), "'bad'"),
	       "its Shape is no constant: %s", npu_compile_messages(r));
	npu_compile_result_free(r);
	free(m);
}

static void refuse(const char *const *lines, bool fail_on_host, const char *shape, int want,
		   const char *text, const char *what)
{
	static const char *const outputs[] = { "y", NULL };
	struct npu_compile_result *r;
	size_t size;
	uint8_t *m = model(lines, outputs, shape ? -1 : 4, &size);
	int ret;

	r = compile(m, size, NPU_PRECISION_F32, shape, fail_on_host, &ret);
	tap_ok(ret == want && strstr(npu_compile_messages(r), text) && !npu_compile_job(r, NULL),
	       "%s: %s", what, npu_compile_messages(r));
	npu_compile_result_free(r);
	free(m);
}

static void test_refusals(void)
{
	static const char *const two[] = {
		"a = Conv(x, w)", "h: b = test.Cube(a)",
		"pool: c = MaxPool(b) kernel_shape=[1,1] strides=[5000,1]", "y = Add(c, b)", NULL
	};
	static const char *const unknown[] = { "h: y = test.Nobody(x)", NULL };
	static const char *const other[] = { "h: y = other.Cube(x)", NULL };
	static const char *const no_infer[] = { "h: y = test.NoInfer(x)", NULL };
	static const char *const square[] = { "h: y = test.Square(x)", NULL };
	static const char *const dims[] = { "h: y = test.ManyDims(x)", NULL }, *const huge[] = {
		"h: y = test.Huge(x)", NULL
	};

	static const char *const mixed[] = { "j = Cast(x) to=7", "k = Mod(j, j)",
					     "h: y = Mod(x, k) fmod=1", NULL };
	static const char *const parts[] = { "j = Cast(x) to=11", "k = Cast(x) to=6",
					     "h: y = Concat(j, j, k) axis=1", NULL };
	static const char *const scatter[] = { "j = Cast(x) to=7", "k = Cast(x) to=11",
					       "h: y = ScatterElements(x, j, k)", NULL };
	static const char *const clip[] = { "k = Cast(x) to=11", "m = ReduceMax(k) keepdims=0",
					    "h: y = Clip(x, , m)", NULL };

	refuse(mixed, false, NULL, -EINVAL, "'h' (Mod): inputs 'x' and 'k' have types f32 and i64",
	       "inputs of two types");
	refuse(scatter, false, NULL, -EINVAL,
	       "'h' (ScatterElements): inputs 'x' (f32) and 'k' (f64)", "scatter");
	refuse(clip, false, NULL, -EINVAL, "'h' (Clip): inputs 'x' (f32) and 'm' (f64)", "clip");
	refuse(parts, false, NULL, -EINVAL,
	       "'h' (Concat): inputs 'j' and 'k' have types f64 and i32", "parts of two types");
	refuse(two, true, NULL, -EOPNOTSUPP, "'h' (Cube): would run on the host", "--fail-on-host");
	refuse(two, true, NULL, -EOPNOTSUPP, "'pool' (MaxPool): would run on the host",
	       "--fail-on-host names all");
	refuse(unknown, false, NULL, -EOPNOTSUPP, "'h' (Nobody)", "an operator that nobody has");
	refuse(other, false, NULL, -EOPNOTSUPP, "domain other", "a domain that nobody has");
	refuse(no_infer, false, NULL, -EINVAL, "no infer()",
	       "an operator that does not say its shapes");
	refuse(square, false, "x=1x3x{H=2..12:2}x6", -EOPNOTSUPP, "not linear",
	       "a length that is not linear");
	refuse(dims, false, "x=1x3x{H=2..12:2}x6", -EOPNOTSUPP, "not linear",
	       "a rank that depends on a length");
	refuse(huge, false, NULL, -EINVAL, "dimension 0 of output 0 is 9223372036854775807",
	       "a length beyond all bounds");
}

int main(void)
{
	struct npu_device_options opt = { .size = sizeof(opt),
					  .host_ops = own,
					  .num_host_ops = NUM_OWN };

	for (size_t i = 0; i < 4 * C; i++)
		weight[i] = (float)((int)(i * 5 % 7) - 3) / 4;
	if (npu_device_open("sim:threads=2", &opt, &dev, &err) ||
	    npu_queue_create(dev, NULL, &queue, &err)) {
		tap_ok(0, "open: %s", err.text);
		return tap_done();
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		test_place(&places[i], NPU_PRECISION_F32, false);
		test_place(&places[i], NPU_PRECISION_F32, true);
		test_place(&places[i], NPU_PRECISION_F16, false);
	}
	test_plan();
	test_refused_lowering();
	test_coded_weight();
	test_recurrent_work();
	test_bounded();
	test_refusals();
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
