// SPDX-License-Identifier: MIT
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run.h"
#include "tools/common/calib.h"

static const char usage[] =
"usage: npu-run MODEL.npu [options]\n"
"       npu-run --check MODEL.onnx|MODEL.npu [options]\n"
"       npu-run --doctor [MODEL.npu...]\n"
"\n"
"Run a compiled model. Without --output or --top, a summary of each output is printed.\n"
"\n"
"  -i, --input NAME=FILE    data of an input: .npy, a picture (PNG, JPEG), or raw bytes;\n"
"                           'zeros' or 'random' instead of FILE make data up\n"
"      --input-dmabuf NAME=fd:N[,offset=B][,bytes=B][,stride=B]   an input, or a camera's frame, in the\n"
"                           dma-buf of an open descriptor; or NAME=heap:system,file=FILE[,stride=B]: in memory\n"
"                           of a dma-buf heap, which is filled from a file\n"
"      --stride NAME=B      rows of a raw frame (--input NAME=FILE) are B bytes apart, in all its planes\n"
"  -s, --shape NAME=1x3x64x64   shape of an input (follows from .npy files and pictures)\n"
"  -o, --output NAME=FILE   write an output: .npy, or raw bytes with any other name\n"
"  -t, --top K              print the K largest values of each output\n"
"\n"
"pictures: tensor = (pixel * scale - mean) / std, RGB, rows and columns as the model's\n"
"      --scale V            default 1/255; 'V' or 'A/B'\n"
"      --mean A[,B,C]       default 0\n"
"      --std A[,B,C]        default 1\n"
"      --bgr                channel 0 is blue\n"
"      --fit stretch|pad    how a picture of another size is fitted (pad: top left, rest black)\n"
"\n"
"      --info               tensors, memory, versions, how the model was made\n"
"      --report             the compiler's placement report (JSON)\n"
"      --profile            time, MACs and bytes of each layer; --sort order|time|macs|bytes\n"
"      --json               --profile as JSON\n"
"      --trace FILE.json    time of each job, layer and instruction for Perfetto or chrome://tracing;\n"
"                           --trace-runs N: of N runs (1)\n"
"      --bench[=N]          run N times (50) and print median, minimum and 90th percentile\n"
"      --digest             a digest of every layer's output, the same on every machine\n"
"      --disasm             the instructions\n"
"      --seed N             another set of random data\n"
"\n"
"      --check[=json]       every instruction beside the oracle, a plain reference: the same bits? And\n"
"                           every layer beside the model in f32: how far off? Exit status 1 when not good\n"
"      --against MODEL.onnx   the model that a checked job file was made from, for the second question\n"
"  -p, --precision f16|f32, --all-f16, --no-sram, -s NAME=DIMS,\n"
"      --int8, --calib PATH, --calib-method M, --budget B   as of npu-compile, for a checked model\n"
"      --max-error V, --min-cosine V   what a layer may be off by, of its largest value (default: by type)\n"
"      --check-work N       million MACs that the oracle does of a job, default 1000; 'all': no sampling\n"
"\n"
"      --doctor[=json]      library, compiler, driver, firmware, device and files: versions, which pair\n"
"                           does not fit, and what to do; exit status 1 when something is wrong\n"
"      --root DIR           --doctor looks for driver and device nodes below DIR\n"
"\n"
"  -d, --device URI         default: the first NPU, else 'sim'; see 'npu-run --devices'\n"
"      --threads N          CPU threads of the sim device\n"
"      --devices            what devices there are, and why one can not be used\n"
"  -h, --help               this text\n"
"  -V, --version            version of the library\n";

enum {
	OPT_SCALE = 256,
	OPT_MEAN,
	OPT_STD,
	OPT_BGR,
	OPT_FIT,
	OPT_INFO,
	OPT_REPORT,
	OPT_PROFILE,
	OPT_SORT,
	OPT_JSON,
	OPT_BENCH,
	OPT_DIGEST,
	OPT_DISASM,
	OPT_THREADS,
	OPT_DEVICES,
	OPT_SEED,
	OPT_CHECK,
	OPT_AGAINST,
	OPT_ALL_F16,
	OPT_NO_SRAM,
	OPT_INT8,
	OPT_CALIB,
	OPT_METHOD,
	OPT_BUDGET,
	OPT_MAX_ERROR,
	OPT_MIN_COSINE,
	OPT_CHECK_WORK,
	OPT_DOCTOR,
	OPT_ROOT,
	OPT_TRACE,
	OPT_TRACE_RUNS,
	OPT_INPUT_DMABUF,
	OPT_STRIDE,
	NUM_OPTS
};

static const struct option longs[] = { { "input", required_argument, NULL, 'i' },
				       { "shape", required_argument, NULL, 's' },
				       { "output", required_argument, NULL, 'o' },
				       { "top", required_argument, NULL, 't' },
				       { "device", required_argument, NULL, 'd' },
				       { "help", no_argument, NULL, 'h' },
				       { "version", no_argument, NULL, 'V' },
				       { "scale", required_argument, NULL, OPT_SCALE },
				       { "mean", required_argument, NULL, OPT_MEAN },
				       { "std", required_argument, NULL, OPT_STD },
				       { "bgr", no_argument, NULL, OPT_BGR },
				       { "fit", required_argument, NULL, OPT_FIT },
				       { "info", no_argument, NULL, OPT_INFO },
				       { "report", no_argument, NULL, OPT_REPORT },
				       { "profile", no_argument, NULL, OPT_PROFILE },
				       { "sort", required_argument, NULL, OPT_SORT },
				       { "json", no_argument, NULL, OPT_JSON },
				       { "bench", optional_argument, NULL, OPT_BENCH },
				       { "digest", no_argument, NULL, OPT_DIGEST },
				       { "disasm", no_argument, NULL, OPT_DISASM },
				       { "threads", required_argument, NULL, OPT_THREADS },
				       { "devices", no_argument, NULL, OPT_DEVICES },
				       { "seed", required_argument, NULL, OPT_SEED },
				       { "check", optional_argument, NULL, OPT_CHECK },
				       { "against", required_argument, NULL, OPT_AGAINST },
				       { "precision", required_argument, NULL, 'p' },
				       { "all-f16", no_argument, NULL, OPT_ALL_F16 },
				       { "no-sram", no_argument, NULL, OPT_NO_SRAM },
				       { "int8", no_argument, NULL, OPT_INT8 },
				       { "calib", required_argument, NULL, OPT_CALIB },
				       { "calib-method", required_argument, NULL, OPT_METHOD },
				       { "budget", required_argument, NULL, OPT_BUDGET },
				       { "max-error", required_argument, NULL, OPT_MAX_ERROR },
				       { "min-cosine", required_argument, NULL, OPT_MIN_COSINE },
				       { "check-work", required_argument, NULL, OPT_CHECK_WORK },
				       { "doctor", optional_argument, NULL, OPT_DOCTOR },
				       { "trace", required_argument, NULL, OPT_TRACE },
				       { "trace-runs", required_argument, NULL, OPT_TRACE_RUNS },
				       { "root", required_argument, NULL, OPT_ROOT },
				       { "input-dmabuf", required_argument, NULL, OPT_INPUT_DMABUF },
				       { "stride", required_argument, NULL, OPT_STRIDE },
				       { NULL, 0, NULL, 0 } };

/* Options that only say how another one is done. */
static const struct { int option, needs; } details[] = {
	{ OPT_SORT, OPT_PROFILE },	{ OPT_JSON, OPT_PROFILE },
	{ OPT_TRACE_RUNS, OPT_TRACE },	{ OPT_ROOT, OPT_DOCTOR },
	{ OPT_AGAINST, OPT_CHECK },	{ 'p', OPT_CHECK },
	{ OPT_ALL_F16, OPT_CHECK },	{ OPT_NO_SRAM, OPT_CHECK },
	{ OPT_INT8, OPT_CHECK },	{ OPT_INT8, OPT_CALIB },
	{ OPT_CALIB, OPT_INT8 },	{ OPT_METHOD, OPT_INT8 },
	{ OPT_BUDGET, OPT_INT8 },
	{ OPT_MAX_ERROR, OPT_CHECK },	{ OPT_MIN_COSINE, OPT_CHECK },
	{ OPT_CHECK_WORK, OPT_CHECK },	{ OPT_STRIDE, 'i' },
};

/* What neither --check nor --doctor does. */
static const int actions[] = { OPT_INFO, OPT_REPORT, OPT_PROFILE, OPT_BENCH, OPT_DIGEST,
			       OPT_DISASM, OPT_TRACE, 'o', 't' };

static int usage_error(const char *what, const char *value)
{
	fprintf(stderr, "npu-run: %s: '%s'; see npu-run --help\n", what, value);
	return 2;
}

static int add_item(struct item *items, unsigned int *count, char *arg, const char *what)
{
	char *value = strchr(arg, '=');

	if (!value || value == arg || !value[1])
		return usage_error(what, arg);
	if (*count == MAX_ITEMS)
		return usage_error("too many of these", arg);
	*value = 0;
	items[(*count)++] = (struct item){ arg, value + 1 };
	return 0;
}

static int parse_count(const char *what, const char *arg, unsigned int max, unsigned int *out)
{
	char *end;
	unsigned long v = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || !v || v > max)
		return usage_error(what, arg);
	*out = v;
	return 0;
}

/* "a", "a/b" */
static int parse_ratio(const char *arg, float *out)
{
	char *end;
	double v = strtod(arg, &end), d;

	if (end != arg && *end == '/') {
		arg = end + 1;
		d = strtod(arg, &end);
		v = d != 0 ? v / d : 0;
	}
	if (end == arg || *end || v == 0)
		return usage_error("--scale wants V or A/B, not 0", arg);
	*out = v;
	return 0;
}

static int parse_three(const char *what, const char *arg, bool not_zero, float out[3])
{
	int n = 0;
	char end;

	n = sscanf(arg, "%f,%f,%f%c", &out[0], &out[1], &out[2], &end);
	if (n == 1 && !strchr(arg, ','))
		out[1] = out[2] = out[0];
	else if (n != 3)
		return usage_error(what, arg);
	if (not_zero && (out[0] == 0 || out[1] == 0 || out[2] == 0))
		return usage_error(what, arg);
	return 0;
}

static int parse_word(const char *what, const char *arg, const char *const *words, int *out)
{
	int i;

	for (i = 0; words[i]; i++) {
		if (strcmp(arg, words[i]))
			continue;
		*out = i;
		return 0;
	}
	return usage_error(what, arg);
}

static int parse_limit(const char *what, const char *arg, double *out)
{
	char *end;

	*out = strtod(arg, &end);
	return end == arg || *end || !(*out >= 0) ? usage_error(what, arg) : 0;
}

static int parse_format(const char *what, const char *arg, enum format *out)
{
	*out = arg ? FORMAT_JSON : FORMAT_TEXT;
	return arg && strcmp(arg, "json") ? usage_error(what, arg) : 0;
}

/* Those of --check that are for int8; -1: none of them. */
static int parse_int8(struct options *opt, int c, char *arg)
{
	switch (c) {
	case OPT_INT8: opt->int8 = true; return 0;
	case OPT_CALIB:
		if (opt->num_calib == MAX_ITEMS)
			return usage_error("too many of these", arg);
		opt->calib[opt->num_calib++] = arg;
		return 0;
	case OPT_METHOD:
		return calib_parse_method(arg, &opt->quant.method, &opt->quant.percentile)
			       ? usage_error(
					 "--calib-method wants auto, minmax, percentile[=50..100], mse or kl",
					 arg)
			       : 0;
	case OPT_BUDGET:
		return calib_parse_budget(arg, &opt->quant.budget, &opt->quant.budget_value) ?
			       usage_error("--budget wants accuracy=0..1 or speed=0..1", arg) : 0;
	default:
		return -1;
	}
}

/* Options that only --check has. */
static int parse_check(struct options *opt, int c, char *arg)
{
	static const char *const types[] = { "f16", "f32", NULL };
	int ret = parse_int8(opt, c, arg), word = 0;

	if (ret >= 0)
		return ret;
	switch (c) {
	case OPT_CHECK: return parse_format("--check takes nothing or =json", arg, &opt->check);
	case OPT_AGAINST: opt->against = arg; return 0;
	case 'p':
		ret = parse_word("--precision wants f16 or f32", arg, types, &word);
		opt->compile.precision = word ? NPU_PRECISION_F32 : NPU_PRECISION_F16;
		return ret;
	case OPT_ALL_F16: opt->compile.all_f16 = true; return 0;
	case OPT_NO_SRAM: opt->compile.no_sram = true; return 0;
	case OPT_MAX_ERROR:
		return parse_limit("--max-error wants a number from 0 on", arg, &opt->max_error);
	case OPT_MIN_COSINE:
		return parse_limit("--min-cosine wants a number from 0 on", arg, &opt->min_cosine);
	case OPT_CHECK_WORK:
		opt->check_all = !strcmp(arg, "all");
		return opt->check_all ? 0
				      : parse_count("--check-work wants 1 to 1000000, or all", arg,
						    1000000, &opt->check_work);
	default:
		return 2;	/* getopt has said what */
	}
}

static int print_devices(void)
{
	struct npu_device_candidate c;
	unsigned int i;

	for (i = 0; c = (struct npu_device_candidate)NPU_INIT(c), !npu_device_candidate(i, &c); i++)
		printf("%-24s %-40s %s\n", c.uri, c.name, c.status ? c.reason : "usable");
	return -1;
}

static int parse_one(struct options *opt, int c, char *arg)
{
	static const char *const fits[] = { "stretch", "pad", NULL };
	static const char *const sorts[] = { "order", "time", "macs", "bytes", NULL };
	unsigned int seed = 0;
	int ret, word = 0;

	switch (c) {
	case 'i': return add_item(opt->input, &opt->num_input, arg, "--input wants NAME=FILE");
	case OPT_INPUT_DMABUF:
		return add_item(opt->dmabuf, &opt->num_dmabuf, arg, "--input-dmabuf wants NAME=fd:N");
	case OPT_STRIDE:
		return add_item(opt->stride, &opt->num_stride, arg, "--stride wants NAME=BYTES");
	case 's': return add_item(opt->shape, &opt->num_shape, arg, "--shape wants NAME=1x2x3");
	case 'o': return add_item(opt->output, &opt->num_output, arg, "--output wants NAME=FILE");
	case 't': return parse_count("--top wants 1 to 1000000", arg, 1000000, &opt->top);
	case 'd': opt->device = arg; return 0;
	case OPT_SCALE: return parse_ratio(arg, &opt->scale);
	case OPT_MEAN: return parse_three("--mean wants A or A,B,C", arg, false, opt->mean);
	case OPT_STD: return parse_three("--std wants A or A,B,C, not 0", arg, true, opt->std);
	case OPT_BGR: opt->bgr = true; return 0;
	case OPT_FIT:
		ret = parse_word("--fit wants stretch or pad", arg, fits, &word);
		opt->fit = word;
		return ret;
	case OPT_INFO: opt->info = true; return 0;
	case OPT_REPORT: opt->report = true; return 0;
	case OPT_PROFILE: opt->profile = true; return 0;
	case OPT_SORT:
		ret = parse_word("--sort wants order, time, macs or bytes", arg, sorts, &word);
		opt->sort = word;
		return ret;
	case OPT_JSON: opt->json = true; return 0;
	case OPT_BENCH:
		opt->bench = 50;
		return !arg ? 0 : parse_count("--bench wants 1 to 1000000 runs", arg, 1000000,
					       &opt->bench);
	case OPT_DIGEST: opt->digest = true; return 0;
	case OPT_DISASM: opt->disasm = true; return 0;
	case OPT_THREADS: return parse_count("--threads wants 1 to 256", arg, 256, &opt->threads);
	case OPT_DEVICES: return print_devices();
	case OPT_DOCTOR: return parse_format("--doctor takes nothing or =json", arg, &opt->doctor);
	case OPT_TRACE: opt->trace = arg; return 0;
	case OPT_TRACE_RUNS:
		return parse_count("--trace-runs wants 1 to 1000", arg, 1000, &opt->trace_runs);
	case OPT_ROOT: opt->root = arg; return 0;
	case OPT_SEED:
		ret = parse_count("--seed wants 1 to 4000000000", arg, 4000000000u, &seed);
		opt->seed = seed;
		return ret;
	case 'V':
		printf("npu-run %s, libnpu %s\n", NPU_VERSION, npu_version());
		return -1;
	case 'h':
		fputs(usage, stdout);
		return -1;
	default:
		return parse_check(opt, c, arg);
	}
}

static const char *option_name(int c)
{
	const struct option *o = longs;

	while (o->name && o->val != c)
		o++;
	return o->name ? o->name : "?";
}

static int refuse_pair(const char *what, int a, int b)
{
	fprintf(stderr, "npu-run: --%s %s --%s; see npu-run --help\n", option_name(a), what,
		option_name(b));
	return 2;
}

/* How a checked model is compiled, which a job file is already. */
static const int for_models[] = { 'p', OPT_ALL_F16, OPT_NO_SRAM, OPT_INT8 };

/* An option that would do nothing is a mistake. */
static int check_together(const bool *seen)
{
	size_t i;

	for (i = 0; i < sizeof(details) / sizeof(details[0]); i++)
		if (seen[details[i].option] && !seen[details[i].needs])
			return refuse_pair("needs", details[i].option, details[i].needs);
	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (seen[actions[i]] && seen[OPT_CHECK])
			return refuse_pair("does not go with", actions[i], OPT_CHECK);
		if (seen[actions[i]] && seen[OPT_DOCTOR])
			return refuse_pair("does not go with", actions[i], OPT_DOCTOR);
	}
	return seen[OPT_CHECK] && seen[OPT_DOCTOR] ?
		       refuse_pair("does not go with", OPT_CHECK, OPT_DOCTOR) : 0;
}

int options_parse(struct options *opt, int argc, char **argv)
{
	bool seen[NUM_OPTS] = { false };
	int c, ret;

	*opt = (struct options){ .std = { 1, 1, 1 }, .scale = 1.0f / 255, .max_error = -1,
				 .min_cosine = -1, .check_work = 1000, .trace_runs = 1 };
	npu_compile_options_init(&opt->compile);
	npu_quant_options_init(&opt->quant);
	while ((c = getopt_long(argc, argv, "i:s:o:t:d:p:hV", longs, NULL)) != -1) {
		ret = parse_one(opt, c, optarg);
		if (ret)
			return ret;
		seen[c] = true;
	}
	for (size_t i = 0; i < sizeof(for_models) / sizeof(for_models[0]); i++)
		if (seen[for_models[i]])
			opt->for_model = option_name(for_models[i]);
	ret = check_together(seen);
	if (ret)
		return ret;
	if (optind != argc - 1 && !opt->doctor) {
		fputs(usage, stderr);
		return 2;
	}
	opt->models = argv + optind;
	opt->num_models = argc - optind;
	opt->model = argv[optind];
	return 0;
}
