// SPDX-License-Identifier: MIT
/*
 * --check: is a job computed as the architecture says, and is it still the model?
 *
 * The job is executed one instruction at a time by an engine of its own, each beside the oracle.
 * The model in f32 is another job that is executed the same way, with the same inputs; a layer is
 * compared with the one that makes the tensor of the same name there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "tools/common/calib.h"
#include "tools/common/file.h"

#define MODEL_MAX	((size_t)8 << 30)

/* A job under way: its bytes, what libnpu makes of them, and the machine that steps through it. */
struct side {
	uint8_t *file;			/* a job file, or NULL */
	struct npu_compile_result *result;
	const void *data;		/* the job file's bytes, in one of both */
	size_t size;
	struct npu_jobfile *job;
	struct npu_job *loaded;
	struct npu_run *run;
	struct npu_engine *engine;
	struct check_machine machine;
};

static bool is_job(const uint8_t *data, size_t size)
{
	return size >= 8 && !memcmp(data, "\x89NPU\r\n\x1a\n", 8);
}

static void side_free(struct side *s)
{
	check_machine_fini(&s->machine);
	npu_engine_destroy(s->engine);
	npu_run_destroy(s->run);
	npu_job_unload(s->loaded);
	npu_jobfile_free(s->job);
	npu_compile_result_free(s->result);
	free(s->file);
}

/* ---- models ---------------------------------------------------------------------------------- */

/* Does another --shape give a range for the same input? */
static bool has_range(const struct options *opt, const char *name)
{
	for (unsigned int i = 0; i < opt->num_shape; i++)
		if (!strcmp(opt->shape[i].name, name) && strchr(opt->shape[i].value, '{'))
			return true;
	return false;
}

/* The --shape options that are for the compiler; *@count of them, each from malloc(). */
static int given_shapes(const struct options *opt, char *text[MAX_ITEMS], unsigned int *count)
{
	*count = 0;
	for (unsigned int i = 0; i < opt->num_shape; i++) {
		const struct item *item = &opt->shape[i];

		if (!strchr(item->value, '{') && has_range(opt, item->name))
			continue;
		if (asprintf(&text[*count], "%s=%s", item->name, item->value) < 0)
			return fail("no memory");
		++*count;
	}
	return 0;
}

static bool is_box(const struct npu_image_info *img, const char *name)
{
	size_t n = strlen(img->name);

	return strstr(img->spec, ",crop=box") && !strncmp(name, img->name, n) &&
	       !strcmp(name + n, ".box");
}

/* A frame's plane, or the box of it that the run takes: the model has no such input. */
static bool is_of_frame(struct session *s, unsigned int tensor, const char *name)
{
	struct npu_plane_info plane = NPU_INIT(plane);
	struct npu_image_info img = NPU_INIT(img);
	unsigned int program, i, k;

	if (npu_run_program(s->run, &program, NULL, &s->err))
		return false;
	for (i = 0; !npu_job_image(s->job, program, i, &img); i++) {
		if (is_box(&img, name))
			return true;
		for (k = 0; !npu_job_plane(s->job, program, i, k, &plane); k++)
			if (plane.tensor == tensor)
				return true;
	}
	return false;
}

/* The shapes that a run has, and those given of frames' inputs, as the compiler's options. */
static int run_shapes(struct session *s, char *text[MAX_ITEMS], unsigned int *count)
{
	struct npu_image_info img;
	struct npu_tensor_info t;
	char dims[128];

	*count = 0;
	for (unsigned int i = 0; i < s->opt->num_shape; i++) {
		const struct item *item = &s->opt->shape[i];

		if (!find_frame(s, item->name, &img))
			continue;
		if (asprintf(&text[*count], "%s=%s", item->name, item->value) < 0)
			return fail("no memory");
		++*count;
	}
	for (unsigned int i = 0; session_tensor(s, i, &t) && *count < MAX_ITEMS; i++) {
		if (t.role != NPU_TENSOR_INPUT || is_of_frame(s, i, t.name))
			continue;
		if (asprintf(&text[*count], "%s=%s", t.name,
			     dims_text(t.rank, t.min_dim, dims)) < 0)
			return fail("no memory");
		++*count;
	}
	return 0;
}

static int compile(struct side *side, const char *path, const uint8_t *model, size_t size,
		   struct npu_compile_options opt, char *const *shapes, unsigned int count)
{
	const char *text;
	int err, len;

	opt.shapes = (const char *const *)shapes;
	opt.num_shapes = count;
	err = npu_compile_onnx(model, size, path, &opt, &side->result);
	text = side->result ? npu_compile_messages(side->result) : "no memory to compile";
	if (err) {
		len = (int)strlen(text);
		if (len && text[len - 1] == '\n')	/* fail() ends the line */
			len--;
		return fail("%.*s", len, text);
	}
	side->data = npu_compile_job(side->result, &side->size);
	return 0;
}

/* ---- a job, loaded and ready to step --------------------------------------------------------- */

static int side_load(struct session *s, struct side *side, const char *name)
{
	if (npu_job_load_memory(s->dev, side->data, side->size, name, 0, &side->loaded, &s->err) ||
	    npu_run_create(side->loaded, &side->run, &s->err) ||
	    npu_jobfile_parse(side->data, side->size, 0, &side->job, &s->err))
		return fail("%s", s->err.text);
	return 0;
}

/* The inputs' and states' bytes as they lie in the run. */
static int copy_inputs(struct session *s, struct side *side)
{
	const struct npu_jobfile_program *p = side->machine.program;
	struct npu_buffer *buf;
	uint64_t offset;
	void *map;

	for (unsigned int i = 0; i < p->num_tensors; i++) {
		const struct npu_jobfile_tensor *t = &p->tensors[i];

		if (t->role != NPU_TENSOR_INPUT && t->role != NPU_TENSOR_STATE)
			continue;
		if (npu_run_buffer(side->run, t->name, &buf, &offset, &s->err) ||
		    npu_buffer_map(buf, &map, &s->err))
			return fail("%s", s->err.text);
		memcpy(side->machine.mem[t->region], (char *)map + offset,
		       side->machine.size[t->region]);
	}
	return 0;
}

static int side_start(struct session *s, struct side *side)
{
	struct npu_engine_config config = { .threads = s->opt->threads };
	npu_u32 scalar[NPU_MAX_SCALARS];
	unsigned int program;

	if (npu_run_program(side->run, &program, scalar, &s->err))
		return fail("%s; give it with --shape", s->err.text);
	if (npu_engine_create(&config, &side->engine))
		return fail("no engine: no memory or no threads");
	if (check_machine_init(&side->machine, side->job, program, scalar, side->engine, &s->err))
		return fail("%s: %s", s->opt->model, s->err.text);
	return copy_inputs(s, side);
}

/*
 * The same inputs for the job in f32: shapes first, then data, as the model sees them. Frames it
 * has none of.
 */
static int hand_over(struct session *s, struct side *ref)
{
	struct npu_tensor_info t;
	size_t bytes;
	void *data;
	int ret = 0;

	for (unsigned int i = 0; session_tensor(s, i, &t) && !ret; i++)
		if (t.role == NPU_TENSOR_INPUT && !is_of_frame(s, i, t.name))
			ret = npu_run_set_shape(ref->run, t.name, t.rank, t.min_dim, &s->err);
	for (unsigned int i = 0; session_tensor(s, i, &t) && !ret; i++) {
		if (t.role != NPU_TENSOR_INPUT || is_of_frame(s, i, t.name))
			continue;
		bytes = dtype_size(t.dtype);
		for (unsigned int d = 0; d < t.rank; d++)
			bytes *= t.min_dim[d];
		data = malloc(bytes + 1);
		if (!data)
			return fail("no memory for input '%s'", t.name);
		ret = npu_run_read(s->run, t.name, data, bytes, &s->err);
		if (!ret)
			ret = npu_run_write(ref->run, t.name, data, bytes, &s->err);
		free(data);
	}
	return ret ? fail("the model in f32: %s", s->err.text) : 0;
}

/* ---- model outputs --------------------------------------------------------------------------- */

/* Output @name as an operand, so that its elements can be read as numbers. */
static bool output_operand(const struct side *side, const char *name, struct npu_operand *op)
{
	const struct npu_jobfile_program *p = side->machine.program;

	for (unsigned int i = 0; i < p->num_tensors; i++)
		if (p->tensors[i].role == NPU_TENSOR_OUTPUT && !strcmp(p->tensors[i].name, name))
			return check_machine_tensor(&side->machine, i, op);
	return false;
}

static const unsigned char *element_at(const struct side *side, const struct npu_operand *op,
				       npu_u64 number)
{
	const unsigned char *p = check_machine_region(&side->machine, op->region) + op->offset;

	for (unsigned int d = op->rank; d-- > 0; number /= op->dim[d])
		p += (npu_s64)(number % op->dim[d]) * op->stride[d];
	return p;
}

static void compare_output(const struct side *job, const struct side *ref, const char *name,
			   struct check_output *out)
{
	struct check_dot dot = { 0, 0, 0 };
	struct npu_operand a, b;
	npu_u64 n = 1;

	*out = (struct check_output){ .name = name, .fp32 = { .match = CHECK_ABSENT } };
	if (!output_operand(job, name, &a) || !output_operand(ref, name, &b))
		return;
	out->fp32.match = CHECK_RESHAPED;
	if (a.rank != b.rank || memcmp(a.dim, b.dim, sizeof(a.dim)))
		return;
	out->fp32.match = check_is_real(a.dtype) || a.scale != 0 ? CHECK_COMPARED : CHECK_INTEGER;
	for (unsigned int d = 0; d < a.rank; d++)
		n *= a.dim[d];
	for (npu_u64 i = 0; i < n; i++)
		check_difference_add(&out->fp32, &dot, check_value(&a, element_at(job, &a, i)),
				     check_value(&b, element_at(ref, &b, i)));
	check_difference_end(&out->fp32, &dot);
}

static int compare_outputs(const struct side *job, const struct side *ref, struct check_report *r)
{
	const struct npu_jobfile_program *p = job->machine.program;

	r->output = calloc(p->num_tensors + 1, sizeof(*r->output));
	if (!r->output)
		return fail("no memory for the outputs");
	for (unsigned int i = 0; i < p->num_tensors; i++)
		if (p->tensors[i].role == NPU_TENSOR_OUTPUT)
			compare_output(job, ref, p->tensors[i].name,
				       &r->output[r->num_outputs++]);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

struct progress {
	const char *what;
	double start;
};

static void show_progress(void *arg, npu_u32 insns)
{
	const struct progress *p = arg;

	if (now_ms() - p->start > 1000)
		fprintf(stderr, "\rnpu-run: %s: instruction %u ", p->what, insns);
}

static int step_through(struct session *s, struct side *side, const char *what, bool capture,
			struct check_report *r, struct check_layers *out)
{
	npu_u64 macs = check_machine_macs(&side->machine), work = s->opt->check_work * 1000000ull;
	struct progress progress = { what, now_ms() };
	struct check_how how = { .step = 1, .threads = s->opt->threads };
	bool tty = isatty(STDERR_FILENO);
	int ret;

	if (!how.threads)
		how.threads = (unsigned int)npu_engine_threads(side->engine);
	/* Odd, so that a sample does not keep to some of the channels. */
	if (!s->opt->check_all && macs > work)
		how.step = ((macs + work - 1) / work) | 1;
	if (how.step > r->step)
		r->step = how.step;
	ret = check_layers_run(&side->machine, &how, capture, tty ? show_progress : NULL,
			       &progress, out, &s->err);
	if (tty)
		fputs("\r\033[K", stderr);
	return ret ? fail("%s, instruction %u: %s", what, side->machine.done, s->err.text) : 0;
}

/* The model as npu-compile would make it with these options. */
static int compile_checked(struct session *s, struct side *job, const uint8_t *model, size_t size)
{
	const struct options *opt = s->opt;
	struct npu_compile_options compile_opt = opt->compile;
	struct npu_quant_options quant = opt->quant;
	struct calib_set set = { 0 };
	char *shapes[MAX_ITEMS];
	unsigned int count = 0;
	int ret = given_shapes(opt, shapes, &count);

	if (!ret && opt->int8 && calib_load(&set, opt->calib, opt->num_calib, &s->err))
		ret = fail("--calib: %s", s->err.text);
	quant.samples = set.sample;
	quant.num_samples = set.num_samples;
	compile_opt.quant = opt->int8 ? &quant : NULL;
	if (!ret)
		ret = compile(job, opt->model, model, size, compile_opt, shapes, count);
	calib_free(&set);
	while (count)
		free(shapes[--count]);
	return ret;
}

/* The job that is checked. */
static int open_job(struct session *s, struct side *job, const uint8_t *model, size_t size)
{
	int ret = is_job(model, size) ? 0 : compile_checked(s, job, model, size);

	if (!ret)
		ret = side_load(s, job, s->opt->model);
	s->job = job->loaded;
	s->run = job->run;
	if (!ret)
		ret = inputs_fill(s);
	return ret ? ret : side_start(s, job);
}

/* The same model in f32. */
static int open_reference(struct session *s, struct side *ref, const char *path,
			  const uint8_t *model, size_t size, struct check_report *r)
{
	struct npu_compile_options opt = s->opt->compile;
	char *shapes[MAX_ITEMS];
	unsigned int count = 0;
	int ret;

	opt.precision = NPU_PRECISION_F32;
	opt.all_f16 = false;
	ret = s->opt->against ? run_shapes(s, shapes, &count)
			      : given_shapes(s->opt, shapes, &count);
	if (!ret)
		ret = compile(ref, path, model, size, opt, shapes, count);
	while (count)
		free(shapes[--count]);
	if (!ret)
		ret = side_load(s, ref, path);
	if (!ret)
		ret = hand_over(s, ref);
	if (!ret)
		ret = check_frames_convert(s, ref->run, ref->loaded, r);
	return ret ? ret : side_start(s, ref);
}

static int check_both(struct session *s, struct side *job, struct side *ref,
		      struct check_report *r)
{
	double start = now_ms();
	int ret = 0;

	/* The reference first: it is the one that says what is kept. */
	if (r->reference)
		ret = step_through(s, ref, "the model in f32", true, r, &r->ref);
	if (!ret)
		ret = step_through(s, job, s->opt->model, r->reference, r, &r->job);
	if (!ret && r->reference) {
		check_layers_compare(&r->job, &r->ref);
		check_frames_compare(r);
		ret = compare_outputs(job, ref, r);
	}
	r->seconds = (now_ms() - start) / 1000;
	return ret;
}

static int report(struct check_report *r)
{
	int ret = 0;

	check_judge(r);
	if (r->opt->check == FORMAT_JSON)
		ret = check_print_json(r);
	else
		check_print_text(r);
	if (!r->ok)
		check_print_reasons(r);
	return ret || !r->ok;
}

static int check_model(struct session *s, const uint8_t *model, size_t size, uint8_t *against,
		       size_t against_size)
{
	struct npu_device_options dev = { .size = sizeof(dev), .threads = s->opt->threads };
	struct check_report r = { .opt = s->opt };
	struct side job = { .data = model, .size = size }, ref = { .data = NULL };
	int ret;

	if (npu_device_open(s->opt->device, &dev, &s->dev, &s->err))
		return fail("%s", s->err.text);
	ret = open_job(s, &job, model, size);
	r.reference = against || !is_job(model, size);
	if (!ret && r.reference)
		ret = open_reference(s, &ref, against ? s->opt->against : s->opt->model,
				     against ? against : model, against ? against_size : size, &r);
	if (!ret)
		ret = check_both(s, &job, &ref, &r);
	if (!ret)
		ret = report(&r);
	check_layers_free(&r.job);
	check_layers_free(&r.ref);
	check_frames_free(&r);
	free(r.output);
	side_free(&job);
	side_free(&ref);
	s->job = NULL;
	s->run = NULL;
	return ret;
}

int check_run(struct session *s)
{
	const struct options *opt = s->opt;
	uint8_t *model = NULL, *against = NULL;
	size_t size = 0, against_size = 0;
	struct npu_error why;
	int ret = 0;

	if (npu_file_read(opt->model, MODEL_MAX, &model, &size, &why) ||
	    (opt->against && npu_file_read(opt->against, MODEL_MAX, &against, &against_size, &why)))
		ret = fail("%s", why.text);
	else if (opt->for_model && is_job(model, size))
		ret = fail("--%s is for models: %s is a job file and checked as it is",
			   opt->for_model, opt->model);
	else if (opt->against && !is_job(model, size))
		ret = fail("--against is for job files: %s is compared with itself in f32",
			   opt->model);
	else
		ret = check_model(s, model, size, against, against_size);
	free(model);
	free(against);
	return ret;
}
