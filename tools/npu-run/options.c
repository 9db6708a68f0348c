// SPDX-License-Identifier: MIT
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "run.h"
#include "tools/common/calib.h"
#include "tools/common/option_table.h"

#define OPTIONS	struct options

static option_take_fn take_input, take_dmabuf, take_stride, take_shape, take_output, take_scale,
		      take_mean, take_std, take_bench, take_check, take_calib, take_method,
		      take_budget, take_max_error, take_min_cosine, take_check_work, take_doctor,
		      take_devices;

static const struct option_row rows[] = {
	OPT_CALL('i', "input", "NAME=FILE", take_input,
		 "data of an input: .npy, a picture (PNG, JPEG), or raw bytes; 'zeros' or\n"
		 "'random' instead of FILE make data up"),
	OPT_CALL(0, "input-dmabuf", "NAME=fd:N[,offset=B][,bytes=B][,stride=B]", take_dmabuf,
		 "an input, or a camera's frame, in the dma-buf of an open descriptor; or\n"
		 "NAME=heap:system,file=FILE[,stride=B]: in memory of a dma-buf heap,\n"
		 "filled from a file"),
	OPT_CALL(0, "stride", "NAME=B", take_stride,
		 "rows of a raw frame (--input NAME=FILE) are B bytes apart, in every plane"),
	OPT_CALL('s', "shape", "NAME=1x3x64x64", take_shape,
		 "shape of an input (follows from .npy files and pictures)"),
	OPT_CALL('o', "output", "NAME=FILE", take_output,
		 "write an output: .npy, or raw bytes with any other name"),
	OPT_NUMBER('t', "top", "K", top, 1, 1000000, "print the K largest values of each output"),
	OPT_LINE("\npictures: tensor = (pixel * scale - mean) / std, RGB, size as the model's"),
	OPT_CALL(0, "scale", "V", take_scale, "default 1/255; 'V' or 'A/B'"),
	OPT_CALL(0, "mean", "A[,B,C]", take_mean, "default 0"),
	OPT_CALL(0, "std", "A[,B,C]", take_std, "default 1"),
	OPT_FLAG(0, "bgr", bgr, "channel 0 is blue"),
	OPT_WORD(0, "fit", "stretch|pad", fit,
		 "how a picture of another size is fitted (pad: top left, rest black)"),
	OPT_LINE(""),
	OPT_FLAG(0, "info", info, "tensors, memory, versions, how the model was made"),
	OPT_FLAG(0, "report", report, "the compiler's placement report (JSON)"),
	OPT_FLAG(0, "profile", profile, "time, MACs and bytes of each layer"),
	OPT_WORD(0, "sort", "order|time|macs|bytes", sort, "--profile in this order"),
	OPT_FLAG(0, "json", json, "--profile as JSON"),
	OPT_TEXT(0, "trace", "FILE.json", trace,
		 "time of each job, layer and instruction for Perfetto or chrome://tracing"),
	OPT_NUMBER(0, "trace-runs", "N", trace_runs, 1, 1000, "of N runs (1)"),
	OPT_CALL(0, "bench", "[=N]", take_bench,
		 "run N times (50) and print median, minimum and 90th percentile"),
	OPT_FLAG(0, "digest", digest,
		 "a digest of every layer's output, the same on every machine"),
	OPT_FLAG(0, "disasm", disasm, "the instructions"),
	OPT_NUMBER(0, "seed", "N", seed, 1, 4000000000u,
		   "another set of random data, where an input is made up so"),
	OPT_LINE(""),
	OPT_CALL(0, "check", "[=json]", take_check,
		 "every instruction beside the oracle, a plain reference: the same bits?\n"
		 "And every layer beside the model in f32: how far off? Exit status 1 when\n"
		 "not good"),
	OPT_TEXT(0, "against", "MODEL.onnx", against,
		 "the model that a checked job file was made from, for the second question"),
	OPT_CALL(0, "max-error", "V", take_max_error,
		 "what a layer may be off by, of its largest value (default: by type)"),
	OPT_CALL(0, "min-cosine", "V", take_min_cosine, "the same (default: by type)"),
	OPT_CALL(0, "check-work", "N", take_check_work,
		 "million MACs that the oracle does of a job (1000); 'all': no sampling"),
	OPT_LINE("of a model that is checked, as npu-compile's (and -s NAME=DIMS):"),
	OPT_WORD('p', "precision", "f16|f32", compile.precision, "of activations and weights"),
	OPT_FLAG(0, "all-f16", compile.all_f16, "f16 where it would be f32 for exactness"),
	OPT_FLAG(0, "no-sram", compile.no_sram, "no on-chip memory"),
	OPT_FLAG(0, "int8", int8, "in int8 as far as the budget allows"),
	OPT_CALL(0, "calib", "PATH", take_calib, "samples that show the ranges of activations"),
	OPT_CALL(0, "calib-method", "M", take_method, "how ranges are chosen"),
	OPT_CALL(0, "budget", "B", take_budget, "what int8 may cost"),
	OPT_LINE(""),
	OPT_CALL(0, "doctor", "[=json]", take_doctor,
		 "library, compiler, driver, firmware, device and files: versions, which\n"
		 "pair does not fit, and what to do; exit status 1 when something is wrong"),
	OPT_TEXT(0, "root", "DIR", root, "--doctor looks for driver and device nodes below DIR"),
	OPT_LINE(""),
	OPT_TEXT('d', "device", "URI", device,
		 "default: the first NPU, else 'sim'; see 'npu-run --devices'"),
	OPT_NUMBER(0, "threads", "N", threads, 1, 256, "CPU threads of the sim device"),
	OPT_CALL(0, "devices", NULL, take_devices,
		 "what devices there are, and why one can not be used"),
};

/* An option that would do nothing is a mistake. */
static const struct option_rule rules[] = {
	{ "doctor", OPTION_ONLY_WITH, "root|device|threads" },
	{ "check", OPTION_NOT_WITH, "info|report|profile|bench|digest|disasm|trace|output|top" },
	{ "sort", OPTION_NEEDS, "profile" },
	{ "json", OPTION_NEEDS, "profile" },
	{ "trace-runs", OPTION_NEEDS, "trace" },
	{ "root", OPTION_NEEDS, "doctor" },
	{ "against", OPTION_NEEDS, "check" },
	{ "precision", OPTION_NEEDS, "check" },
	{ "all-f16", OPTION_NEEDS, "check" },
	{ "no-sram", OPTION_NEEDS, "check" },
	{ "int8", OPTION_NEEDS, "check" },
	{ "int8", OPTION_NEEDS, "calib" },
	{ "calib", OPTION_NEEDS, "int8" },
	{ "calib-method", OPTION_NEEDS, "int8" },
	{ "budget", OPTION_NEEDS, "int8" },
	{ "max-error", OPTION_NEEDS, "check" },
	{ "min-cosine", OPTION_NEEDS, "check" },
	{ "check-work", OPTION_NEEDS, "check" },
	{ "stride", OPTION_NEEDS, "input" },
	{ "scale", OPTION_NEEDS, "input" },
	{ "mean", OPTION_NEEDS, "input" },
	{ "std", OPTION_NEEDS, "input" },
	{ "bgr", OPTION_NEEDS, "input" },
	{ "fit", OPTION_NEEDS, "input" },
	{ "seed", OPTION_NEEDS, "input|profile|bench|digest|trace|check" },
};

static const struct option_table table = {
	.program = "npu-run",
	.head = "usage: npu-run MODEL.npu [options]\n"
		"       npu-run --check MODEL.onnx|MODEL.npu [options]\n"
		"       npu-run --doctor [MODEL.npu...]\n"
		"\n"
		"Run a compiled model. Without --output or --top, a summary of each output is printed.\n"
		"\n",
	.row = rows,
	.num = sizeof(rows) / sizeof(rows[0]),
	.rule = rules,
	.num_rules = sizeof(rules) / sizeof(rules[0]),
	.column = 27,
};

/* How a checked model is compiled, which a job file is already. */
static const char *const for_models[] = { "precision", "all-f16", "no-sram", "int8" };

static const char *const for_pictures[] = { "scale", "mean", "std", "bgr", "fit" };

/* ---- arguments ---- */

static int add_item(struct item *items, unsigned int *count, const char *name, char *arg,
		    const char *what)
{
	char *value = strchr(arg, '=');

	if (!value || value == arg || !value[1])
		return option_refuse(&table, name, arg, what);
	if (*count == MAX_ITEMS) {
		fprintf(stderr, "npu-run: more than %d --%s options\n", MAX_ITEMS, name);
		return -EINVAL;
	}
	*value = 0;
	items[(*count)++] = (struct item){ .name = arg, .value = value + 1 };
	return 0;
}

#define TAKE_ITEM(function, list, what) \
	static int function(void *options, const char *name, char *arg) \
	{ \
		struct options *opt = options; \
		return add_item(opt->list, &opt->num_##list, name, arg, what); \
	}

TAKE_ITEM(take_input, input, "NAME=FILE")
TAKE_ITEM(take_dmabuf, dmabuf, "NAME=fd:N, or NAME=heap:HEAP")
TAKE_ITEM(take_shape, shape, "NAME=1x2x3")
TAKE_ITEM(take_output, output, "NAME=FILE")

static int take_stride(void *options, const char *name, char *arg)
{
	struct options *opt = options;
	struct item *item = &opt->stride[opt->num_stride];
	int ret = add_item(opt->stride, &opt->num_stride, name, arg, "NAME=BYTES");
	char whose[256];

	if (ret)
		return ret;
	snprintf(whose, sizeof(whose), "%s %s", name, item->name);
	return option_number(&table, whose, item->value, 1, UINT32_MAX, &item->bytes);
}

/* "a", "a/b" */
static int take_scale(void *options, const char *name, char *arg)
{
	struct options *opt = options;
	char *end;
	double v = strtod(arg, &end), d;

	if (end != arg && *end == '/') {
		char *below = end + 1;

		d = strtod(below, &end);
		v = end != below && d != 0 ? v / d : 0;
	}
	/* What a float does not have is infinite, or 0, only now. */
	opt->scale = (float)v;
	if (end == arg || *end || !isfinite(opt->scale) || opt->scale == 0)
		return option_refuse(&table, name, arg, "V or A/B, of a float's range, not 0");
	return 0;
}

/* "a", for all three, or "a,b,c" */
static bool read_three(const char *arg, float out[3])
{
	unsigned int n = 0;
	char *end;

	do {
		out[n] = strtof(arg, &end);
		if (end == arg || !isfinite(out[n++]))
			return false;
		arg = end + 1;
	} while (*end == ',' && n < 3);
	if (n == 1)
		out[1] = out[2] = out[0];
	return !*end && n != 2;
}

static int take_mean(void *options, const char *name, char *arg)
{
	return read_three(arg, ((struct options *)options)->mean) ?
		       0 : option_refuse(&table, name, arg, "A or A,B,C, of a float's range");
}

static int take_std(void *options, const char *name, char *arg)
{
	float *std = ((struct options *)options)->std;

	return read_three(arg, std) && std[0] != 0 && std[1] != 0 && std[2] != 0 ?
		       0 : option_refuse(&table, name, arg, "A or A,B,C, of a float's range, not 0");
}

static int take_count(const char *name, const char *arg, unsigned int *out)
{
	uint64_t value;
	int ret = option_number(&table, name, arg, 1, 1000000, &value);

	*out = ret ? 0 : (unsigned int)value;
	return ret;
}

static int take_bench(void *options, const char *name, char *arg)
{
	struct options *opt = options;

	opt->bench = 50;
	return arg ? take_count(name, arg, &opt->bench) : 0;
}

static int take_check_work(void *options, const char *name, char *arg)
{
	struct options *opt = options;

	opt->check_all = !strcmp(arg, "all");
	return opt->check_all ? 0 : take_count(name, arg, &opt->check_work);
}

static int take_limit(const char *name, const char *arg, double max, const char *what,
		      double *out)
{
	char *end;

	*out = strtod(arg, &end);
	return end != arg && !*end && *out >= 0 && *out <= max ?
		       0 : option_refuse(&table, name, arg, what);
}

static int take_max_error(void *options, const char *name, char *arg)
{
	return take_limit(name, arg, DBL_MAX, "a number from 0 on",
			  &((struct options *)options)->max_error);
}

static int take_min_cosine(void *options, const char *name, char *arg)
{
	return take_limit(name, arg, 1, "a number from 0 to 1",
			  &((struct options *)options)->min_cosine);
}

static int take_format(const char *name, const char *arg, enum format *out)
{
	*out = arg ? FORMAT_JSON : FORMAT_TEXT;
	return !arg || !strcmp(arg, "json") ? 0 :
					      option_refuse(&table, name, arg, "nothing, or =json");
}

static int take_check(void *options, const char *name, char *arg)
{
	return take_format(name, arg, &((struct options *)options)->check);
}

static int take_doctor(void *options, const char *name, char *arg)
{
	return take_format(name, arg, &((struct options *)options)->doctor);
}

static int take_calib(void *options, const char *name, char *arg)
{
	struct options *opt = options;

	return option_append(&table, name, arg, opt->calib, MAX_ITEMS, &opt->num_calib);
}

static int take_method(void *options, const char *name, char *arg)
{
	return calib_take_method(&table, name, arg, &((struct options *)options)->quant);
}

static int take_budget(void *options, const char *name, char *arg)
{
	return calib_take_budget(&table, name, arg, &((struct options *)options)->quant);
}

static int take_devices(void *options, const char *name, char *arg)
{
	struct npu_device_candidate c;
	unsigned int i;

	for (i = 0; c = (struct npu_device_candidate)NPU_INIT(c), !npu_device_candidate(i, &c); i++)
		printf("%-24s %-40s %s\n", c.uri, c.name, c.status ? c.reason : "usable");
	return OPTIONS_DONE;
}

/* ---- all of them ---- */

bool options_run(const struct options *opt)
{
	return !(opt->info || opt->report || opt->disasm) || opt->bench || opt->profile ||
	       opt->digest || opt->trace || opt->num_input || opt->num_dmabuf ||
	       opt->num_output || opt->top;
}

/* The last of the @names[@num] that was there, or NULL. */
static const char *find_seen(const bool *seen, const char *const *names, size_t num)
{
	while (num && !options_seen(&table, seen, names[num - 1]))
		num--;
	return num ? names[num - 1] : NULL;
}

__attribute__((format(printf, 1, 2)))
static int refuse(const char *fmt, ...)
{
	va_list ap;

	fputs("npu-run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\nTry 'npu-run --help'.\n", stderr);
	return 2;
}

int options_parse(struct options *opt, int argc, char **argv)
{
	bool seen[sizeof(rows) / sizeof(rows[0])] = { false };
	int ret;

	*opt = (struct options){ .std = { 1, 1, 1 }, .scale = 1.0f / 255, .max_error = -1,
				 .min_cosine = -1, .check_work = 1000, .trace_runs = 1 };
	npu_compile_options_init(&opt->compile);
	npu_quant_options_init(&opt->quant);
	ret = options_take(&table, opt, argc, argv, seen);
	if (ret)
		return ret < 0 ? 2 : -1;
	opt->for_model = find_seen(seen, for_models, sizeof(for_models) / sizeof(for_models[0]));
	opt->for_picture = find_seen(seen, for_pictures,
				     sizeof(for_pictures) / sizeof(for_pictures[0]));
	opt->models = argv + optind;
	opt->num_models = argc - optind;
	opt->model = argv[optind];
	if (opt->num_models != 1 && !opt->doctor)
		return refuse("expected one model, got %u", opt->num_models);
	if (opt->num_shape && !options_run(opt))
		return refuse("--shape is of a run, and --info, --report and --disasm alone do none");
	return 0;
}
