// SPDX-License-Identifier: MIT
/*
 * The compiler from end to end: import, optimize, lower, plan, emit; once per variant over one
 * weight section.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/camera.h"
#include "compiler/emit.h"
#include "compiler/lower_dump.h"
#include "compiler/report.h"
#include "compiler/shape_text.h"
#include "compiler/weights.h"
#include "core/digest.h"
#include "host/host.h"
#include "quant/quant.h"

/* One program on its way. */
struct variant {
	struct npu_graph *graph;
	struct npu_lower lower;
	struct npu_plan plan;
	struct npu_emitted emitted;
	struct npu_arena arena;
	const char **output_name;
	bool lowered, planned;
};

struct npu_compile_result {
	struct npu_arena arena;
	struct npu_diag diag;
	struct npu_report report;
	char *path;
	const char *messages;
	void *job;
	size_t job_size;
};

struct compile {
	struct npu_compile_options opt;
	struct npu_compile_result *result;
	const void *model;
	size_t model_size;
	const char *path;
	struct npu_shape_text *shapes;
	struct npu_camera *cameras;
	unsigned int num_variants;
	struct variant *variant;
	struct npu_weights weights;
	struct npu_quant_options quant_options;
	struct npu_quant *quant;	/* NULL: nothing is made int8 */
	struct npu_host_config host;
	struct npu_host_pin *pins;	/* host.pins: sorted by node; of the result's arena */
};

void npu_compile_options_init(struct npu_compile_options *options)
{
	memset(options, 0, sizeof(*options));
	options->size = sizeof(*options);
}

/* The lowering's own steps, after the graph passes. */
static const struct { const char *name, *help; } own_passes[] = {
	{ "camera", "frames of a camera in place of pictures (--input-format)" },
	{ "layout", "memory orders, and results written in place of parts of others" },
	{ "lower", "instructions on buffers" },
	{ "plan", "lifetimes, in-place results, on-chip memory, offsets" },
};

#define NUM_OWN	(sizeof(own_passes) / sizeof(*own_passes))

static unsigned int num_graph_passes(void)
{
	unsigned int n = 0;

	while (npu_pass_name(n))
		n++;
	return n;
}

const char *npu_compile_pass_name(unsigned int i)
{
	unsigned int n = num_graph_passes();

	return i < n ? npu_pass_name(i) : i - n < NUM_OWN ? own_passes[i - n].name : NULL;
}

const char *npu_compile_pass_help(unsigned int i)
{
	unsigned int n = num_graph_passes();

	return i < n ? npu_pass_help(i) : i - n < NUM_OWN ? own_passes[i - n].help : NULL;
}

/* Nothing of the try in floats that comes before int8. */
static bool dumps(const struct compile *c)
{
	return c->opt.dump && c->opt.dump_pass && (!c->opt.quant || c->quant);
}

static bool wants_dump(const struct compile *c, const char *pass)
{
	return dumps(c) && (!strcmp(c->opt.dump_pass, pass) || !strcmp(c->opt.dump_pass, "all"));
}

static bool is_own_pass(const char *name)
{
	for (unsigned int i = 0; i < NUM_OWN; i++)
		if (!strcmp(own_passes[i].name, name))
			return true;
	return false;
}

static int progress(struct compile *c, const char *stage, double fraction)
{
	if (!c->opt.progress || !c->opt.progress(c->opt.progress_arg, stage, fraction))
		return 0;
	return npu_diag_add(&c->result->diag, -ECANCELED, NULL, "cancelled while at '%s'", stage);
}

/* ---- one variant ----------------------------------------------------------------------------- */

/* A shape that is neither in the model nor given: name the input, and say what to write. */
static int check_inputs(struct compile *c, const struct npu_graph *g)
{
	int err = 0;

	for (unsigned int i = 0; i < g->num_inputs; i++) {
		const struct npu_gtensor *t = g->inputs[i];
		char text[160];
		bool unknown = t->rank < 0;

		for (int d = 0; d < t->rank; d++)
			unknown |= t->dim[d].sym == NPU_DIM_UNKNOWN;
		if (!unknown)
			continue;
		err = npu_diag_add(
			&c->result->diag, -EINVAL, "shape",
			"input '%s' has shape %s in the model: give its sizes, for example --shape "
			"'%s=1x3x224x224' or a range '{W=32..640:32}' for one of them",
			t->name, t->rank < 0 ? "unknown" : npu_shape_text(g, t, text, sizeof(text)),
			t->name);
	}
	return err;
}

static int note_outputs(struct variant *v)
{
	const struct npu_graph *g = v->graph;

	v->output_name = npu_arena_array(&v->arena, g->num_outputs + 1, sizeof(*v->output_name));
	for (unsigned int i = 0; v->output_name && i < g->num_outputs; i++)
		v->output_name[i] = g->outputs[i]->name;
	return v->output_name ? 0 : -ENOMEM;
}

/* The model as it is, with the lengths of this variant. */
static int import_graph(struct compile *c, struct variant *v, unsigned int index)
{
	struct npu_diag *diag = &c->result->diag;
	int err;

	v->graph = npu_onnx_import_host(c->model, c->model_size, c->path, &c->host, diag);
	if (!v->graph)
		return npu_onnx_import_error(diag);
	err = note_outputs(v);
	if (!err && !index)
		err = npu_report_note_model(&c->result->report, v->graph);
	if (!err)
		err = npu_shape_text_bind(v->graph, c->shapes, c->opt.num_shapes, index, diag);
	return err ? err : check_inputs(c, v->graph);
}

static int read_graph(struct compile *c, struct variant *v, unsigned int index)
{
	struct npu_compile_result *r = c->result;
	struct npu_pass_options options = { .skip = c->opt.skip_passes };
	int err = import_graph(c, v, index);

	if (err)
		return err;
	if (dumps(c) && !is_own_pass(c->opt.dump_pass)) {
		options.dump_pass = c->opt.dump_pass;
		options.dump = c->opt.dump;
	}
	err = npu_graph_optimize(v->graph, &options, &r->diag);
	if (err == -EOPNOTSUPP)
		npu_refuse_rest(v->graph, &r->diag);
	if (!err && c->quant)
		err = npu_quant_apply(c->quant, v->graph);
	if (!err && c->opt.num_input_formats)
		err = npu_camera_insert(v->graph, c->cameras, c->opt.num_input_formats, &r->diag);
	if (!err && wants_dump(c, "camera"))
		npu_graph_dump(v->graph, c->opt.dump);
	return err;
}

static int lower_variant(struct compile *c, struct variant *v)
{
	struct npu_lower *l = &v->lower;
	int err;

	*l = (struct npu_lower){ .g = v->graph,
				 .arena = &v->arena,
				 .diag = &c->result->diag,
				 .weights = &c->weights,
				 .precision = c->opt.precision,
				 .all_f16 = c->opt.all_f16,
				 .count_clips = c->quant && !c->quant_options.no_clip_count,
				 .output_name = v->output_name };
	v->lowered = true;
	err = npu_lower_graph(l);
	if (wants_dump(c, "layout") && l->value)
		npu_lower_dump_layout(c->opt.dump, l);
	if (wants_dump(c, "lower"))
		npu_lower_dump_insns(c->opt.dump, l);
	if (err)
		return err;
	err = npu_plan_memory(l, c->opt.no_sram ? 0 : NPU_PLAN_SRAM, &v->plan);
	v->planned = !err;
	if (!err && wants_dump(c, "plan"))
		npu_lower_dump_plan(c->opt.dump, l, &v->plan);
	return err;
}

/* ---- int8 ------------------------------------------------------------------------------------ */

static int quant_progress(void *arg, const char *stage, double fraction)
{
	const struct compile *c = arg;

	return c->opt.progress ? c->opt.progress(c->opt.progress_arg, stage, fraction) : 0;
}

static int calibrate(struct compile *c)
{
	struct npu_quant_setup setup = {
		.model = { c->model, c->model_size, c->path, c->opt.skip_passes, &c->host,
			   c->shapes, c->opt.num_shapes, c->num_variants },
		.precision = c->opt.precision, .all_f16 = c->opt.all_f16, .diag = &c->result->diag,
		.progress = quant_progress, .progress_arg = c,
	};

	setup.options = c->quant_options;
	return npu_quant_create(&setup, &c->quant);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void free_variants(struct compile *c)
{
	for (unsigned int i = 0; c->variant && i < c->num_variants; i++) {
		npu_emit_free(&c->variant[i].emitted);
		npu_arena_fini(&c->variant[i].arena);
		npu_graph_free(c->variant[i].graph);
	}
	free(c->variant);
	c->variant = NULL;
	npu_weights_fini(&c->weights);
	memset(&c->weights, 0, sizeof(c->weights));
}

static int compile_variants(struct compile *c)
{
	double n = c->num_variants;
	int err = 0;

	c->variant = calloc(c->num_variants, sizeof(*c->variant));
	if (!c->variant)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->num_variants && !err; i++) {
		struct variant *v = &c->variant[i];

		err = progress(c, "graph", i / n);
		if (!err)
			err = read_graph(c, v, i);
		if (!err)
			err = progress(c, "lower", (i + 0.5) / n);
		if (!err)
			err = lower_variant(c, v);
	}
	return err;
}

/* ---- host placement: what was refused is tried again with those nodes on the host ------------ */

static int by_node(const void *a, const void *b)
{
	return strcmp(((const struct npu_host_pin *)a)->node,
		      ((const struct npu_host_pin *)b)->node);
}

static bool is_pinned(const struct compile *c, const char *node)
{
	for (unsigned int i = 0; i < c->host.num_pins; i++)
		if (!strcmp(c->pins[i].node, node))
			return true;
	return false;
}

/* Whether the host has the operator of the model node @name, or with @op only if it is that one. */
static bool host_has(const struct compile *c, const char *name, const char *op)
{
	const struct npu_report *r = &c->result->report;
	const struct npu_model_node *m = npu_report_model_node(r, name);

	return m && (!op || !strcmp(m->op, op)) &&
	       npu_host_op_find_in(c->host.ops, c->host.num_ops, m->domain, m->op);
}

/*
 * The model node that a refusal is about: of several in one the one whose operator it is, else the
 * last that the host has.
 */
static const char *refused_node(const struct compile *c, const struct npu_diag_entry *e)
{
	for (unsigned int i = 0; i < e->num_sources; i++)
		if (host_has(c, e->sources[i], e->op) && !is_pinned(c, e->sources[i]))
			return e->sources[i];
	for (unsigned int i = e->num_sources; i-- > 0;)
		if (host_has(c, e->sources[i], NULL) && !is_pinned(c, e->sources[i]))
			return e->sources[i];
	return NULL;
}

/* Pin what @e refused; 1 when that is new, 0, or -ENOMEM. */
static int add_pin(struct compile *c, const struct npu_diag_entry *e)
{
	struct npu_arena *a = &c->result->arena;
	const char *node =
		e->level == NPU_DIAG_ERROR && e->err == -EOPNOTSUPP ? refused_node(c, e) : NULL;
	struct npu_host_pin *pins;
	unsigned int n = c->host.num_pins;

	if (!node)
		return 0;
	if (!(n & (n - 1))) {	/* room for as many as there are, at every power of two */
		pins = npu_arena_array(a, n ? 2 * n : 1, sizeof(*pins));
		if (!pins)
			return -ENOMEM;
		if (n)
			memcpy(pins, c->pins, n * sizeof(*pins));
		c->pins = pins;
	}
	c->pins[n].node = npu_arena_strdup(a, node);
	c->pins[n].reason = *e->attr ? npu_arena_printf(a, "%s: %s", e->attr, e->text) :
				       npu_arena_strdup(a, e->text);
	if (!c->pins[n].node || !c->pins[n].reason)
		return -ENOMEM;
	c->host.pins = c->pins;
	c->host.num_pins++;
	return 1;
}

/* Forget the last try, all but the pins. */
static void start_again(struct compile *c)
{
	struct npu_diag *diag = &c->result->diag;
	const char *path = c->result->path;

	free_variants(c);
	npu_diag_fini(diag);
	diag->path = path;
}

/* Name all nodes that are on the host; true when there are any. */
static bool refuse_host(struct compile *c)
{
	const struct npu_graph *g = c->variant ? c->variant[0].graph : NULL;
	bool any = false;

	for (unsigned int i = 0; g && i < g->num_nodes; i++) {
		const struct npu_gnode *n = g->nodes[i];

		if (n->dead || !n->host)
			continue;
		npu_diag_node(&c->result->diag, -EOPNOTSUPP, n, NULL,
			      "would run on the host, which is not wanted (--fail-on-host): %s",
			      n->host->reason);
		any = true;
	}
	return any;
}

/* Pin all that was refused: how many are new, or -ENOMEM. */
static int add_pins(struct compile *c)
{
	const struct npu_diag *diag = &c->result->diag;
	int news = 0, ret;

	for (unsigned int i = 0; i < diag->count; i++) {
		ret = add_pin(c, &diag->entry[i]);
		if (ret < 0)
			return ret;
		news += ret;
	}
	if (news)
		qsort(c->pins, c->host.num_pins, sizeof(*c->pins), by_node);
	return news;
}

static int compile_float(struct compile *c)
{
	int err = compile_variants(c), news;

	while (err == -EOPNOTSUPP) {
		news = add_pins(c);
		if (news < 0)
			return news;
		if (!news)
			break;
		start_again(c);
		err = compile_variants(c);
	}
	if ((!err || err == -EOPNOTSUPP) && c->opt.fail_on_host && refuse_host(c))
		err = -EOPNOTSUPP;
	return err;
}

/*
 * Calibration and its trials run the nodes where the job will have them. The choice of layers is
 * made for one set of graphs: a node that is refused only now begins it anew.
 */
static int compile_int8(struct compile *c)
{
	int err, news;

	for (;;) {
		start_again(c);
		err = calibrate(c);
		if (!err)
			err = compile_variants(c);
		if (err != -EOPNOTSUPP || c->opt.fail_on_host)
			return err;
		news = add_pins(c);
		if (news <= 0)
			return news ? news : err;
		npu_quant_destroy(c->quant);
		c->quant = NULL;
	}
}

/* Calibration may take minutes: what is wrong without it is said before. */
static int compile_model(struct compile *c)
{
	int err = compile_float(c);

	return err || !c->opt.quant ? err : compile_int8(c);
}

static const char *variant_name(struct compile *c, unsigned int index)
{
	const char *name = "";

	for (unsigned int i = 0; i < c->opt.num_shapes && name; i++) {
		if (c->shapes[i].variant != index)
			continue;
		name = *name ? npu_arena_printf(&c->result->arena, "%s %s", name,
						c->opt.shapes[i]) :
			       npu_arena_strdup(&c->result->arena, c->opt.shapes[i]);
	}
	return name;
}

/* How the job was made. NULL: no memory. */
static const struct npu_jobfile_record *make_records(struct compile *c, unsigned int *count)
{
	struct npu_arena *a = &c->result->arena;
	const struct npu_graph *g = c->variant[0].graph;
	struct npu_jobfile_record *r;
	unsigned int clips = 0, n = 0;
	struct npu_sha256 sha;
	npu_u8 digest[32];
	char hex[65];
	uint64_t parts;

	while (c->quant && npu_quant_clipped(c->quant, clips, &parts))
		clips++;
	r = npu_arena_array(a, 10 + clips, sizeof(*r));
	if (!r)
		return NULL;
	npu_sha256_init(&sha);
	npu_sha256_update(&sha, c->model, c->model_size);
	npu_sha256_final(&sha, digest);
	npu_sha256_hex(digest, hex);
	r[n++] = (struct npu_jobfile_record){ "source", "onnx" };
	r[n++] = (struct npu_jobfile_record){ "model", g->name ? g->name : "" };
	r[n++] = (struct npu_jobfile_record){ "producer", g->producer ? g->producer : "" };
	r[n++] = (struct npu_jobfile_record){ "model sha256", npu_arena_strdup(a, hex) };
	r[n++] = (struct npu_jobfile_record){ "precision", c->opt.precision == NPU_PRECISION_F32 ?
								   "f32" :
							   c->opt.all_f16 ? "f16 throughout" :
									    "f16" };
	if (c->quant) {
		r[n++] = (struct npu_jobfile_record){ "int8 ranges",
						      npu_quant_method_text(c->quant) };
		r[n++] = (struct npu_jobfile_record){ "int8 budget",
						      npu_quant_budget_text(c->quant) };
		r[n++] = (struct npu_jobfile_record){ "int8", npu_quant_result_text(c->quant) };
	}
	for (unsigned int i = 0; i < clips; i++, n++) {
		const char *name = npu_quant_clipped(c->quant, i, &parts);

		r[n].key = npu_arena_printf(a, NPU_CLIP_RECORD "%s", name);
		r[n].value = npu_arena_printf(a, "%llu", (unsigned long long)parts);
	}
	for (unsigned int i = 0; i < n; i++)
		if (!r[i].key || !r[i].value)
			return NULL;
	*count = n;
	return r;
}

static int write_job(struct compile *c, const struct npu_jobfile_program *programs)
{
	struct npu_compile_result *r = c->result;
	unsigned int num_records = 0;
	const struct npu_jobfile_record *records = make_records(c, &num_records);
	struct npu_jobfile job = {
		.compiler = "npu-compile " NPU_VERSION,
		.weights = c->weights.data, .weights_size = c->weights.size,
		.programs = programs, .num_programs = c->num_variants,
		.report = r->report.json, .records = records, .num_records = num_records,
	};
	struct npu_error err = { 0 };
	int ret = records ? npu_jobfile_encode(&job, &r->job, &r->job_size, &err) : -ENOMEM;

	return ret && ret != -ENOMEM ? npu_diag_add(&r->diag, ret, "job file", "%s", err.text) :
				       ret;
}

static int emit_all(struct compile *c)
{
	struct npu_jobfile_program *programs = calloc(c->num_variants, sizeof(*programs));
	int err = programs ? progress(c, "write", 0.9) : -ENOMEM;

	for (unsigned int i = 0; i < c->num_variants && !err; i++) {
		struct variant *v = &c->variant[i];
		const char *name = variant_name(c, i);

		err = name ? npu_emit_program(&v->lower, &v->plan, c->weights.size, name,
					      &v->emitted) :
			     -ENOMEM;
		if (!err)
			programs[i] = v->emitted.program;
	}
	if (!err)
		err = write_job(c, programs);
	free(programs);
	return err;
}

static int fill_report(struct compile *c, bool failed)
{
	struct npu_compile_result *r = c->result;
	struct variant *v = c->variant;
	int err;

	r->report.precision = c->opt.precision;
	r->report.quant = c->quant;
	r->report.summary.programs = failed ? 0 : c->num_variants;
	if (v && v->graph && v->graph->name)
		r->report.model_name = npu_arena_strdup(&r->arena, v->graph->name);
	if (!r->report.model_name)
		r->report.model_name = "";
	err = npu_report_fill(&r->report, v && v->lowered ? &v->lower : NULL,
			      v && v->planned ? &v->plan : NULL, &r->diag);
	return err ? err : npu_report_write(&r->report);
}

static int copy_strings(struct npu_compile_result *r)
{
	/* The report outlives the graphs whose strings it shows. */
	for (unsigned int i = 0; i < r->report.num_model; i++) {
		struct npu_placement *p = &r->report.placement[i];

		p->into = npu_arena_strdup(&r->arena, p->into);
		p->insns = npu_arena_strdup(&r->arena, p->insns);
		p->type = npu_arena_strdup(&r->arena, p->type);
		p->reason = npu_arena_strdup(&r->arena, p->reason);
		if (!p->into || !p->insns || !p->type || !p->reason)
			return -ENOMEM;
	}
	return 0;
}

static int check_options(struct compile *c, const struct npu_compile_options *options)
{
	struct npu_diag *diag = &c->result->diag;
	unsigned int i = 0;

	if (options->size < offsetof(struct npu_compile_options, no_sram) ||
	    options->size > sizeof(*options))
		return npu_diag_add(diag, -EINVAL, "options",
				    "size is %zu, expected %zu: use npu_compile_options_init()",
				    options->size, sizeof(*options));
	memcpy(&c->opt, options, options->size);
	if (c->opt.precision != NPU_PRECISION_F16 && c->opt.precision != NPU_PRECISION_F32)
		return npu_diag_add(diag, -EINVAL, "precision", "%d is none",
				    (int)c->opt.precision);
	if (c->opt.quant && npu_quant_options_check(c->opt.quant, &c->quant_options, diag))
		return -EINVAL;
	if (c->opt.num_host_ops && !c->opt.host_ops)
		return npu_diag_add(diag, -EINVAL, "host_ops", "NULL with num_host_ops %u",
				    c->opt.num_host_ops);
	for (unsigned int k = 0; k < c->opt.num_host_ops; k++)
		if (!c->opt.host_ops[k].domain || !c->opt.host_ops[k].name ||
		    !c->opt.host_ops[k].run)
			return npu_diag_add(diag, -EINVAL, "host_ops",
					    "entry %u needs domain, name and run", k);
	c->host =
		(struct npu_host_config){ .ops = c->opt.host_ops, .num_ops = c->opt.num_host_ops };
	if (c->opt.num_shapes && !c->opt.shapes)
		return npu_diag_add(diag, -EINVAL, "shapes", "NULL with num_shapes %u",
				    c->opt.num_shapes);
	if (c->opt.num_input_formats && !c->opt.input_formats)
		return npu_diag_add(diag, -EINVAL, "input_formats",
				    "NULL with num_input_formats %u", c->opt.num_input_formats);
	if (!c->opt.dump_pass || !strcmp(c->opt.dump_pass, "all"))
		return 0;
	while (npu_compile_pass_name(i) && strcmp(npu_compile_pass_name(i), c->opt.dump_pass))
		i++;
	return npu_compile_pass_name(i) ?
		       0 :
		       npu_diag_add(diag, -EINVAL, "dump_pass", "there is no pass '%.40s'",
				    c->opt.dump_pass);
}

static void compile_fini(struct compile *c)
{
	free_variants(c);
	npu_quant_destroy(c->quant);
	npu_shape_text_free(c->shapes, c->opt.num_shapes);
	npu_camera_free(c->cameras, c->opt.num_input_formats);
}

static struct npu_compile_result *result_new(const char *path)
{
	struct npu_compile_result *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->report.arena = &r->arena;
	r->report.model_name = "";
	r->path = path ? strdup(path) : NULL;
	r->diag.path = r->path;
	return r;
}

int npu_compile_onnx(const void *model, size_t model_size, const char *path,
		     const struct npu_compile_options *options, struct npu_compile_result **result)
{
	struct compile c = { .model = model, .model_size = model_size, .path = path };
	struct npu_compile_options defaults;
	int err, ret;

	if (!model || !result)
		return -EINVAL;
	*result = c.result = result_new(path);
	if (!c.result)
		return -ENOMEM;
	npu_compile_options_init(&defaults);
	err = check_options(&c, options ? options : &defaults);
	if (!err)
		err = npu_shape_text_parse(c.opt.shapes, c.opt.num_shapes, &c.shapes,
					   &c.num_variants, &c.result->diag);
	if (!err)
		err = npu_camera_parse(c.opt.input_formats, c.opt.num_input_formats, &c.cameras,
				       &c.result->diag);
	if (!err)
		err = compile_model(&c);
	ret = fill_report(&c, err);
	if (!err)
		err = ret;
	if (!err)
		err = emit_all(&c);
	if (err && !ret)
		ret = fill_report(&c, true);	/* with what the emitter refused */
	if (!ret)
		ret = copy_strings(c.result);
	compile_fini(&c);
	if (err && !c.result->diag.errors)
		npu_diag_add(&c.result->diag, err, NULL, "%s",
			     err == -ENOMEM ? "out of memory" : strerror(-err));
	c.result->messages = npu_diag_text(&c.result->diag);
	return err ? err : ret;
}

void npu_compile_result_free(struct npu_compile_result *r)
{
	if (!r)
		return;
	free(r->job);
	free(r->path);
	npu_report_free(&r->report);
	npu_diag_fini(&r->diag);
	npu_arena_fini(&r->arena);
	free(r);
}

/* ---- what came out --------------------------------------------------------------------------- */

const void *npu_compile_job(const struct npu_compile_result *r, size_t *size)
{
	if (size)
		*size = r->job_size;
	return r->job;
}

const char *npu_compile_messages(const struct npu_compile_result *r)
{
	return r->messages ? r->messages : "";
}

const char *npu_compile_report_text(const struct npu_compile_result *r)
{
	return r->report.text ? r->report.text : "";
}

const char *npu_compile_report_json(const struct npu_compile_result *r)
{
	return r->report.json ? r->report.json : "{}";
}

const struct npu_placement *npu_compile_placement(const struct npu_compile_result *r,
						  unsigned int i)
{
	return r->report.placement && i < r->report.num_model ? &r->report.placement[i] : NULL;
}

const char *npu_compile_summary_text(const struct npu_compile_result *r)
{
	return r->report.line;
}

const struct npu_compile_summary *npu_compile_summary(const struct npu_compile_result *r)
{
	return &r->report.summary;
}
