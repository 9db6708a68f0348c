// SPDX-License-Identifier: MIT
#include <errno.h>
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
		 "NAME=heap:system,file=FILE[,stride=B]: in memory of a dma-buf heap, which is\n"
		 "filled from a file"),
	OPT_CALL(0, "stride", "NAME=B", take_stride,
		 "rows of a raw frame (--input NAME=FILE) are B bytes apart, in all its planes"),
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
	OPT_NUMBER(0, "seed", "N", seed, 1, 4000000000u, "another set of random data"),
	OPT_LINE(""),
	OPT_CALL(0, "check", "[=json]", take_check,
		 "every instruction beside the oracle, a plain reference: the same bits? And\n"
		 "every layer beside the model in f32: how far off? Exit status 1 when not good"),
	OPT_TEXT(0, "against", "MODEL.onnx", against,
		 "the model that a checked job file was made from, for the second question"),
	OPT_CALL(0, "max-error", "V", take_max_error,
		 "what a layer may be off by, of its largest value (default: by type)"),
	OPT_CALL(0, "min-cosine", "V", take_min_cosine, "the same (default: by type)"),
	OPT_CALL(0, "check-work", "N", take_check_work,
		 "million MACs that the oracle does of a job, default 1000; 'all': no sampling"),
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
		 "library, compiler, driver, firmware, device and files: versions, which pair\n"
		 "does not fit, and what to do; exit status 1 when something is wrong"),
	OPT_TEXT(0, "root", "DIR", root, "--doctor looks for driver and device nodes below DIR"),
	OPT_LINE(""),
	OPT_TEXT('d', "device", "URI", device,
		 "default: the first NPU, else 'sim'; see 'npu-run --devices'"),
	OPT_NUMBER(0, "threads", "N", threads, 1, 256, "CPU threads of the sim device"),
	OPT_CALL(0, "devices", NULL, take_devices,
		 "what devices there are, and why one can not be used"),
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
	.column = 27,
};

/* Options that only say how another one is done. */
static const struct { const char *option, *needs; } details[] = {
	{ "sort", "profile" }, { "json", "profile" }, { "trace-runs", "trace" },
	{ "root", "doctor" }, { "against", "check" }, { "precision", "check" },
	{ "all-f16", "check" }, { "no-sram", "check" }, { "int8", "check" }, { "int8", "calib" },
	{ "calib", "int8" }, { "calib-method", "int8" }, { "budget", "int8" },
	{ "max-error", "check" }, { "min-cosine", "check" }, { "check-work", "check" },
	{ "stride", "input" },
};

/* What neither --check nor --doctor does. */
static const char *const actions[] = { "info", "report", "profile", "bench", "digest", "disasm",
				       "trace", "output", "top" };

/* How a checked model is compiled, which a job file is already. */
static const char *const for_models[] = { "precision", "all-f16", "no-sram", "int8" };

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
	items[(*count)++] = (struct item){ arg, value + 1 };
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
TAKE_ITEM(take_stride, stride, "NAME=BYTES")
TAKE_ITEM(take_shape, shape, "NAME=1x2x3")
TAKE_ITEM(take_output, output, "NAME=FILE")

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
	if (end == arg || *end || v == 0)
		return option_refuse(&table, name, arg, "V or A/B, not 0");
	opt->scale = (float)v;
	return 0;
}

static bool read_three(const char *arg, float out[3])
{
	char end;
	int n = sscanf(arg, "%f,%f,%f%c", &out[0], &out[1], &out[2], &end);

	if (n == 1 && !strchr(arg, ','))
		out[1] = out[2] = out[0];
	return n == 3 || (n == 1 && !strchr(arg, ','));
}

static int take_mean(void *options, const char *name, char *arg)
{
	return read_three(arg, ((struct options *)options)->mean) ?
		       0 : option_refuse(&table, name, arg, "A or A,B,C");
}

static int take_std(void *options, const char *name, char *arg)
{
	float *std = ((struct options *)options)->std;

	return read_three(arg, std) && std[0] != 0 && std[1] != 0 && std[2] != 0 ?
		       0 : option_refuse(&table, name, arg, "A or A,B,C, not 0");
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

static int take_limit(const char *name, const char *arg, double *out)
{
	char *end;

	*out = strtod(arg, &end);
	return end != arg && !*end && *out >= 0 ?
		       0 : option_refuse(&table, name, arg, "a number from 0 on");
}

static int take_max_error(void *options, const char *name, char *arg)
{
	return take_limit(name, arg, &((struct options *)options)->max_error);
}

static int take_min_cosine(void *options, const char *name, char *arg)
{
	return take_limit(name, arg, &((struct options *)options)->min_cosine);
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
	struct npu_quant_options *q = &((struct options *)options)->quant;

	return calib_parse_method(arg, &q->method, &q->percentile) ?
		       option_refuse(&table, name, arg, CALIB_METHODS) : 0;
}

static int take_budget(void *options, const char *name, char *arg)
{
	struct npu_quant_options *q = &((struct options *)options)->quant;

	return calib_parse_budget(arg, &q->budget, &q->budget_value) ?
		       option_refuse(&table, name, arg, CALIB_BUDGETS) : 0;
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

static int refuse_pair(const char *what, const char *a, const char *b)
{
	fprintf(stderr, "npu-run: --%s %s --%s; see npu-run --help\n", a, what, b);
	return 2;
}

/* An option that would do nothing is a mistake. */
static int check_together(const bool *seen)
{
	bool check = options_seen(&table, seen, "check"),
	     doctor = options_seen(&table, seen, "doctor");
	size_t i;

	for (i = 0; i < sizeof(details) / sizeof(details[0]); i++)
		if (options_seen(&table, seen, details[i].option) &&
		    !options_seen(&table, seen, details[i].needs))
			return refuse_pair("needs", details[i].option, details[i].needs);
	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if ((check || doctor) && options_seen(&table, seen, actions[i]))
			return refuse_pair("does not go with", actions[i],
					   check ? "check" : "doctor");
	return check && doctor ? refuse_pair("does not go with", "check", "doctor") : 0;
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
	for (size_t i = 0; i < sizeof(for_models) / sizeof(for_models[0]); i++)
		if (options_seen(&table, seen, for_models[i]))
			opt->for_model = for_models[i];
	ret = check_together(seen);
	if (ret)
		return ret;
	if (optind != argc - 1 && !opt->doctor) {
		fputs(table.head, stderr);
		return 2;
	}
	opt->models = argv + optind;
	opt->num_models = argc - optind;
	opt->model = argv[optind];
	return 0;
}
