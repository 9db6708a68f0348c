// SPDX-License-Identifier: MIT
/* npu-compile: an ONNX model or a GGUF file in, a job file for npu-run and libnpu out. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gguf.h"
#include "npu_compiler.h"
#include "tools/common/file.h"
#include "tools/common/calib.h"

#define MAX_SHAPES	256
#define MAX_NODES	256
#define MAX_FORMATS	16
#define MODEL_LIMIT	(2ull << 30)

struct options {
	const char *model, *output;
	const char *shapes[MAX_SHAPES];
	const char *input_formats[MAX_FORMATS];
	struct npu_compile_options compile;
	bool report, quiet, int8;
	bool quant_option;		/* one that goes with --int8 */
	bool onnx_option, llm_option;	/* one that goes with models of one kind */
	bool gguf;			/* the model is a language model */
	struct npu_llm_compile_options llm;
	struct npu_quant_options quant;
	const char **calib;		/* as many as there are arguments */
	unsigned int num_calib;
	const char *float_nodes[MAX_NODES];
	const char *report_file;
};

static const char usage[] =
"usage: npu-compile MODEL.onnx [-o MODEL.npu] [options]\n"
"       npu-compile MODEL.gguf [-o MODEL.npu] [options of language models]\n"
"\n"
"  -o, --output FILE      where to write the job file (default: the model's name with .npu)\n"
"  -s, --shape NAME=DIMS  shape of an input: x=1x3x640x640, or a range that every run chooses\n"
"                         from: 'x=1x3x{H=32..1280:32}x{W=32..1280:32}'\n"
"                         ({symbol=min..max:step}). Once per input; an input named again starts\n"
"                         another program over the same weights\n"
"      --input-format [NAME=]FORMAT:WIDTHxHEIGHT[,KEY=VALUE...]\n"
"                         the input is fed with frames of a camera as they are: the NPU converts,\n"
"                         cuts, scales and normalises them. Formats and keys: see below\n"
"  -p, --precision TYPE   f16 (default) or f32: type of activations and weights (in f16, what a\n"
"                         sigmoid's or softmax's result is made of stays f32)\n"
"      --all-f16          f16 for that, too\n"
"      --fail-on-host     refuse a model with operators that would run on the host, and name\n"
"                         them\n"
"      --int8             convolutions and matrix products in int8 as far as the budget allows;\n"
"                         needs --calib\n"
"      --calib PATH       samples that show the ranges of activations; may be repeated: a folder\n"
"                         of .npy files (one input) or of folders with <input>.npy each,\n"
"                         file.npy, or input=file.npy; a file may hold N samples: N x the shape,\n"
"                         or N where the input's batch is 1\n"
"      --calib-method M   minmax, percentile[=99.99], mse, kl, or auto (default): minmax or mse,\n"
"                         what suits each tensor\n"
"      --budget B         accuracy=0.99 (default): fewest MACs in float with outputs that close\n"
"                         (cosine to float); speed=0.9: at least that share of MACs in int8, as\n"
"                         close as can be\n"
"      --keep-float NODE  this node stays float whatever the budget; may be repeated\n"
"      --no-clip-count    do not count clipped values at run time\n"
"      --report[=FILE]    print where every operator went and why; FILE: write it there as JSON\n"
"  -q, --quiet            nothing but errors\n"
"      --dump-pass NAME   print the graph or plan after this pass ('all': after each)\n"
"      --skip-pass NAMES  leave out optional passes, comma-separated\n"
"      --no-sram          keep activations out of on-chip memory\n"
"      --list-passes      the passes in their order\n"
"      --list-ops         every ONNX operator, where it runs, what it becomes, and its limits\n"
"      --version          version of the compiler\n"
"  -h, --help             this text\n"
"\n"
"language models:\n"
"      --quant TYPE       what float weights become: keep (default), f16, w8g32, w8, w4g32, w4g64,\n"
"                         w4g128; weights that are quantized are kept bit for bit\n"
"      --activations TYPE beside weights of codes: int8, f32, or auto (default): int8 beside rows\n"
"                         of 256 weights and more\n"
"      --context N        positions of a sequence (default: as trained, at most 4096)\n"
"      --batch N          sequences of a step at most (default 16)\n"
"      --chunk N          tokens of a step at most (default 512)\n"
"      --kv TYPE          keys and values in f16 (default), int8 or f32\n"
"      --pool N           positions of all sequences together (default: batch * context)\n";

/* From the compiler's own tables. */
static void print_usage(void)
{
	const char *name, *value, *help;
	bool keys = false;

	fputs(usage, stdout);
	puts("\nformats of --input-format:");
	for (unsigned int i = 0; npu_compile_input_format_help(i, &name, &value, &help); i++) {
		if (value && !keys)
			puts("\nkeys of --input-format, and what they are when left out:");
		keys |= value != NULL;
		if (value)
			printf("  %s=%s\n                         %s\n", name, value, help);
		else
			printf("  %-22s %s\n", name, help);
	}
}

static void list_passes(void)
{
	for (unsigned int i = 0; npu_compile_pass_name(i); i++)
		printf("%-12s %s\n", npu_compile_pass_name(i), npu_compile_pass_help(i));
}

static void list_ops(void)
{
	unsigned int all = 0, npu = 0, host = 0;
	struct npu_op_support s;
	char name[80];

	for (unsigned int i = 0; npu_compile_op_support(i, &s); i++) {
		const char *where = s.supported && *s.host ? "npu, host" :
				    s.supported		   ? "npu" :
				    *s.host		   ? "host" :
							     "refused";

		snprintf(name, sizeof(name), "%s%s%s", s.domain, *s.domain ? "." : "", s.op);
		printf("%-46s %-10s %-34s %s\n", name, where, s.insns,
		       s.supported ? s.limits : *s.host ? s.host_limits : s.why_not);
		all += !*s.domain;
		npu += !*s.domain && s.supported;
		host += !*s.domain && !s.supported && *s.host;
	}
	printf("of %u operators of ai.onnx %u on the NPU, %u on the host, %u refused\n", all, npu,
	       host, all - npu - host);
}

enum {
	OPT_REPORT = 256,
	OPT_DUMP,
	OPT_SKIP,
	OPT_NO_SRAM,
	OPT_ALL_F16,
	OPT_FAIL_ON_HOST,
	OPT_INT8,
	OPT_CALIB,
	OPT_METHOD,
	OPT_BUDGET,
	OPT_KEEP_FLOAT,
	OPT_NO_CLIP,
	OPT_QUANT,	/* as enum gguf_option */
	OPT_KV,
	OPT_CONTEXT,
	OPT_BATCH,
	OPT_CHUNK,
	OPT_POOL,
	OPT_ACT,
	OPT_PASSES,
	OPT_OPS,
	OPT_FORMAT,
	OPT_VERSION
};

static const struct option long_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "shape", required_argument, NULL, 's' },
	{ "input-format", required_argument, NULL, OPT_FORMAT },
	{ "precision", required_argument, NULL, 'p' },
	{ "report", optional_argument, NULL, OPT_REPORT },
	{ "quiet", no_argument, NULL, 'q' },
	{ "dump-pass", required_argument, NULL, OPT_DUMP },
	{ "skip-pass", required_argument, NULL, OPT_SKIP },
	{ "no-sram", no_argument, NULL, OPT_NO_SRAM },
	{ "all-f16", no_argument, NULL, OPT_ALL_F16 },
	{ "fail-on-host", no_argument, NULL, OPT_FAIL_ON_HOST },
	{ "int8", no_argument, NULL, OPT_INT8 },
	{ "calib", required_argument, NULL, OPT_CALIB },
	{ "calib-method", required_argument, NULL, OPT_METHOD },
	{ "budget", required_argument, NULL, OPT_BUDGET },
	{ "keep-float", required_argument, NULL, OPT_KEEP_FLOAT },
	{ "no-clip-count", no_argument, NULL, OPT_NO_CLIP },
	{ "quant", required_argument, NULL, OPT_QUANT },
	{ "kv", required_argument, NULL, OPT_KV },
	{ "context", required_argument, NULL, OPT_CONTEXT },
	{ "batch", required_argument, NULL, OPT_BATCH },
	{ "chunk", required_argument, NULL, OPT_CHUNK },
	{ "pool", required_argument, NULL, OPT_POOL },
	{ "activations", required_argument, NULL, OPT_ACT },
	{ "list-passes", no_argument, NULL, OPT_PASSES },
	{ "list-ops", no_argument, NULL, OPT_OPS },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int parse_precision(struct options *o, const char *s)
{
	if (!strcmp(s, "f16"))
		o->compile.precision = NPU_PRECISION_F16;
	else if (!strcmp(s, "f32"))
		o->compile.precision = NPU_PRECISION_F32;
	else
		return -EINVAL;
	return 0;
}

/* Options of --int8. Returns 0, -EINVAL on a mistake that was reported, -ENOENT: none of them. */
static int take_quant_option(struct options *o, int c)
{
	struct npu_quant_options *q = &o->quant;

	switch (c) {
	case OPT_INT8:
		o->int8 = true;
		return 0;
	case OPT_CALIB:
		o->calib[o->num_calib++] = optarg;
		return 0;
	case OPT_METHOD:
		if (!calib_parse_method(optarg, &q->method, &q->percentile))
			return 0;
		fprintf(stderr,
			"npu-compile: --calib-method %s: expected auto, minmax, percentile, "
			"percentile=50..100, mse or kl\n", optarg);
		return -EINVAL;
	case OPT_BUDGET:
		if (!calib_parse_budget(optarg, &q->budget, &q->budget_value))
			return 0;
		fprintf(stderr,
			"npu-compile: --budget %s: expected accuracy=0..1 or speed=0..1\n",
			optarg);
		return -EINVAL;
	case OPT_KEEP_FLOAT:
		if (q->num_float_nodes < MAX_NODES) {
			o->float_nodes[q->num_float_nodes++] = optarg;
			return 0;
		}
		fprintf(stderr, "npu-compile: more than %d --keep-float options\n", MAX_NODES);
		return -EINVAL;
	case OPT_NO_CLIP:
		q->no_clip_count = true;
		return 0;
	default:
		return -ENOENT;
	}
}

/* One option. Returns 0 to go on, 1 when all is done, -EINVAL on a mistake that was reported. */
static int take_option(struct options *o, int c)
{
	int ret;

	if (c >= OPT_QUANT && c <= OPT_ACT) {
		o->llm_option = true;
		return gguf_take_option(&o->llm, (enum gguf_option)(c - OPT_QUANT), optarg);
	}
	ret = take_quant_option(o, c);
	o->onnx_option |= ret != -ENOENT || (c != 'o' && c != 'q');
	if (ret != -ENOENT) {
		o->quant_option |= c != OPT_INT8;
		return ret;
	}
	switch (c) {
	case 'o':
		o->output = optarg;
		return 0;
	case 's':
		if (o->compile.num_shapes == MAX_SHAPES) {
			fprintf(stderr, "npu-compile: more than %d --shape options\n", MAX_SHAPES);
			return -EINVAL;
		}
		o->shapes[o->compile.num_shapes++] = optarg;
		return 0;
	case OPT_FORMAT:
		if (o->compile.num_input_formats == MAX_FORMATS) {
			fprintf(stderr, "npu-compile: more than %d --input-format options\n",
				MAX_FORMATS);
			return -EINVAL;
		}
		o->input_formats[o->compile.num_input_formats++] = optarg;
		return 0;
	case 'p':
		if (!parse_precision(o, optarg))
			return 0;
		fprintf(stderr, "npu-compile: --precision %s: expected f16 or f32\n", optarg);
		return -EINVAL;
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_REPORT:
		o->report |= !optarg;
		o->report_file = optarg ? optarg : o->report_file;
		return 0;
	case OPT_DUMP:
		o->compile.dump_pass = optarg;
		o->compile.dump = stdout;
		return 0;
	case OPT_SKIP:
		o->compile.skip_passes = optarg;
		return 0;
	case OPT_NO_SRAM:
		o->compile.no_sram = true;
		return 0;
	case OPT_FAIL_ON_HOST:
		o->compile.fail_on_host = true;
		return 0;
	case OPT_ALL_F16:
		o->compile.all_f16 = true;
		return 0;
	case OPT_PASSES:
		list_passes();
		return 1;
	case OPT_OPS:
		list_ops();
		return 1;
	case OPT_VERSION:
		puts("npu-compile " NPU_VERSION);
		return 1;
	case 'h':
		print_usage();
		return 1;
	default:
		fputs("Try 'npu-compile --help'.\n", stderr);
		return -EINVAL;
	}
}

static int check_quant(struct options *o)
{
	if (o->int8 && !o->num_calib)
		fputs("npu-compile: --int8: ranges are needed: --calib with samples of typical "
		      "inputs\n", stderr);
	else if (!o->int8 && o->quant_option)
		fputs("npu-compile: --calib, --calib-method, --budget, --keep-float and "
		      "--no-clip-count go with --int8\n", stderr);
	else
		return 0;
	return -EINVAL;
}

/* Options of one kind of models with a model of the other. */
static int check_kind(const struct options *o)
{
	if (o->gguf ? !o->onnx_option : !o->llm_option)
		return 0;
	fprintf(stderr, o->gguf ? "npu-compile: %s: a language model takes --quant, --context, --batch, --chunk, --kv, --pool, --activations, -o and -q\n" :
				  "npu-compile: %s: --quant, --context, --batch, --chunk, --kv, --pool and --activations are for GGUF files\n",
		o->model);
	return -EINVAL;
}

static int parse_args(struct options *o, int argc, char **argv)
{
	int c, ret;

	npu_compile_options_init(&o->compile);
	o->llm.size = sizeof(o->llm);
	npu_quant_options_init(&o->quant);
	o->calib = calloc((size_t)argc, sizeof(*o->calib));
	if (!o->calib)
		return -ENOMEM;
	while ((c = getopt_long(argc, argv, "o:s:p:qh", long_options, NULL)) != -1) {
		ret = take_option(o, c);
		if (ret)
			return ret;
	}
	o->compile.shapes = o->shapes;
	o->compile.input_formats = o->input_formats;
	o->quant.float_nodes = o->float_nodes;
	if (optind + 1 != argc) {
		fprintf(stderr,
			"npu-compile: expected one model, got %d\nTry 'npu-compile --help'.\n",
			argc - optind);
		return -EINVAL;
	}
	o->model = argv[optind];
	o->gguf = gguf_is_one(o->model);
	return check_kind(o) ?: check_quant(o);
}

/* model.onnx -> model.npu, beside it. */
static char *default_output(const char *model)
{
	const char *slash = strrchr(model, '/'), *dot = strrchr(model, '.');
	size_t len = dot && (!slash || dot > slash + 1) ? (size_t)(dot - model) : strlen(model);
	char *out = malloc(len + 5);

	if (out)
		sprintf(out, "%.*s.npu", (int)len, model);
	return out;
}

/* Shown only when it takes long and somebody looks. */
static int show_progress(void *arg, const char *stage, double fraction)
{
	const struct timespec *start = arg;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - start->tv_sec >= 1)
		fprintf(stderr, "\rnpu-compile: %-11s %3.0f %%", stage, 100 * fraction);
	return 0;
}

/* A report is worth most when a model was refused. */
static int write_report(const struct options *o, const struct npu_compile_result *r)
{
	const char *json = npu_compile_report_json(r);
	struct npu_error why;
	int err;

	if (o->report)
		fputs(npu_compile_report_text(r), stdout);
	err = o->report_file ? npu_file_write(o->report_file, json, strlen(json), &why) : 0;
	if (err)
		fprintf(stderr, "npu-compile: %s\n", why.text);
	return err;
}

static int write_outputs(const struct options *o, const struct npu_compile_result *r)
{
	char *named = o->output ? NULL : default_output(o->model);
	const char *path = o->output ? o->output : named;
	const struct npu_compile_summary *s = npu_compile_summary(r);
	struct npu_error why;
	size_t size;
	const void *job = npu_compile_job(r, &size);
	int err = path ? npu_file_write(path, job, size, &why) :
			 npu_error_set(&why, -ENOMEM, "out of memory");

	if (err)
		fprintf(stderr, "npu-compile: %s\n", why.text);
	else if (!o->quiet)
		printf("%s: %s; %u instructions, %u copies; weights %.1f MiB, "
		       "activations %.1f MiB\n",
		       path, npu_compile_summary_text(r), s->insns, s->copies,
		       (double)s->weight_bytes / (1 << 20),
		       (double)(s->scratch_bytes + s->sram_bytes) / (1 << 20));
	free(named);
	return err;
}

/* Calibration samples, when asked for, and then the model. */
static int compile(struct options *o, const uint8_t *model, size_t size,
		   struct npu_compile_result **result)
{
	struct calib_set set = { 0 };
	struct npu_error why;
	int err = o->int8 ? calib_load(&set, o->calib, o->num_calib, &why) : 0;

	if (err) {
		fprintf(stderr, "npu-compile: --calib: %s\n", why.text);
	} else {
		o->quant.samples = set.sample;
		o->quant.num_samples = set.num_samples;
		o->compile.quant = o->int8 ? &o->quant : NULL;
		err = npu_compile_onnx(model, size, o->model, &o->compile, result);
		if (!*result)
			fprintf(stderr, "npu-compile: %s\n", strerror(-err));
	}
	calib_free(&set);
	return err;
}

static int compile_gguf(struct options *o)
{
	char *named = o->output ? NULL : default_output(o->model);
	const char *path = o->output ? o->output : named;
	int err = path ? gguf_compile(o->model, path, &o->llm, o->quiet) : -ENOMEM;

	free(named);
	return err;
}

int main(int argc, char **argv)
{
	struct npu_compile_result *result = NULL;
	struct timespec start;
	struct options o = { 0 };
	struct npu_error why;
	uint8_t *model;
	size_t size;
	int err = parse_args(&o, argc, argv);

	if (err) {
		free(o.calib);
		return err < 0 ? 2 : 0;
	}
	if (o.gguf) {
		free(o.calib);
		return compile_gguf(&o) ? 1 : 0;
	}
	if (npu_file_read(o.model, MODEL_LIMIT, &model, &size, &why)) {
		fprintf(stderr, "npu-compile: %s\n", why.text);
		free(o.calib);
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (!o.quiet && isatty(STDERR_FILENO)) {
		o.compile.progress = show_progress;
		o.compile.progress_arg = &start;
	}
	err = compile(&o, model, size, &result);
	if (o.compile.progress)
		fputs("\r\033[K", stderr);
	free(model);
	free(o.calib);
	if (!result)
		return 1;
	fputs(npu_compile_messages(result), stderr);
	if (write_report(&o, result) && !err)
		err = -EIO;
	if (!err)
		err = write_outputs(&o, result);
	npu_compile_result_free(result);
	return err ? 1 : 0;
}
