// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gguf.h"
#include "options.h"
#include "tools/common/calib.h"
#include "tools/common/option_table.h"

#define OPTIONS	struct options

static option_take_fn take_shape, take_format, take_calib, take_method, take_budget,
		      take_keep_float, take_report, take_dump, take_list_passes, take_list_ops,
		      take_quant, take_kv, take_activations;

static const struct option_row rows[] = {
	OPT_TEXT('o', "output", "FILE", output,
		 "where to write the job file (default: the model's name with .npu)"),
	OPT_CALL('s', "shape", "NAME=DIMS", take_shape,
		 "shape of an input: x=1x3x640x640, or a range that every run chooses from:\n"
		 "'x=1x3x{H=32..1280:32}x{W=32..1280:32}' ({symbol=min..max:step}). Once per\n"
		 "input; an input named again starts another program over the same weights"),
	OPT_CALL(0, "input-format", "[NAME=]FORMAT:WIDTHxHEIGHT[,KEY=VALUE...]", take_format,
		 "the input is fed with frames of a camera as they are: the NPU converts, cuts,\n"
		 "scales and normalises them. Formats and keys: see below"),
	OPT_WORD('p', "precision", "f16|f32", compile.precision,
		 "type of activations and weights, f16 by default (where what a sigmoid's or\n"
		 "softmax's result is made of stays f32)"),
	OPT_FLAG(0, "all-f16", compile.all_f16, "f16 for that, too"),
	OPT_FLAG(0, "fail-on-host", compile.fail_on_host,
		 "refuse a model with operators that would run on the host, and name them"),
	OPT_FLAG(0, "int8", int8,
		 "convolutions and matrix products in int8 as far as the budget allows; needs\n"
		 "--calib"),
	OPT_CALL(0, "calib", "PATH", take_calib,
		 "samples that show the ranges of activations; may be repeated: a folder of\n"
		 ".npy files (one input) or of folders with <input>.npy each, file.npy, or\n"
		 "input=file.npy; a file may hold N samples: N x the shape, or N where the\n"
		 "input's batch is 1"),
	OPT_CALL(0, "calib-method", "M", take_method,
		 "minmax, percentile[=99.99], mse, kl, or auto (default): minmax or mse, what\n"
		 "suits each tensor"),
	OPT_CALL(0, "budget", "B", take_budget,
		 "accuracy=0.99 (default): fewest MACs in float with outputs that close (cosine\n"
		 "to float); speed=0.9: at least that share of MACs in int8, as close as can be"),
	OPT_CALL(0, "keep-float", "NODE", take_keep_float,
		 "this node stays float whatever the budget; may be repeated"),
	OPT_FLAG(0, "no-clip-count", quant.no_clip_count,
		 "do not count clipped values at run time"),
	OPT_CALL(0, "report", "[=FILE]", take_report,
		 "print where every operator went and why; FILE: write it there as JSON"),
	OPT_FLAG('q', "quiet", quiet, "nothing but errors"),
	OPT_CALL(0, "dump-pass", "NAME", take_dump,
		 "print the graph or plan after this pass ('all': after each)"),
	OPT_TEXT(0, "skip-pass", "NAMES", compile.skip_passes,
		 "leave out optional passes, comma-separated"),
	OPT_FLAG(0, "no-sram", compile.no_sram, "keep activations out of on-chip memory"),
	OPT_CALL(0, "list-passes", NULL, take_list_passes, "the passes in their order"),
	OPT_CALL(0, "list-ops", NULL, take_list_ops,
		 "every ONNX operator, where it runs, what it becomes, and its limits"),
	OPT_LINE("\nlanguage models:"),
	OPT_CALL(0, "quant", "TYPE", take_quant,
		 "what float weights become: keep (default), f16, w8g32, w8, w4g32, w4g64,\n"
		 "w4g128; weights that are quantized are kept bit for bit"),
	OPT_CALL(0, "activations", "TYPE", take_activations,
		 "beside weights of codes: int8, f32, or auto (default): int8 beside rows of\n"
		 "256 weights and more"),
	OPT_NUMBER(0, "context", "N", llm.context, 1, UINT32_MAX,
		   "positions of a sequence (default: as trained, at most 4096)"),
	OPT_NUMBER(0, "batch", "N", llm.batch, 1, UINT32_MAX,
		   "sequences of a step at most (default 16)"),
	OPT_NUMBER(0, "chunk", "N", llm.chunk, 1, UINT32_MAX,
		   "tokens of a step at most (default 512)"),
	OPT_CALL(0, "kv", "TYPE", take_kv, "keys and values in f16 (default), int8 or f32"),
	OPT_NUMBER(0, "pool", "N", llm.pool, 1, UINT32_MAX,
		   "positions of all sequences together (default: batch * context)"),
	OPT_LINE(""),
};

static void print_formats(void);

static const struct option_table table = {
	.program = "npu-compile",
	.head = "usage: npu-compile MODEL.onnx [-o MODEL.npu] [options]\n"
		"       npu-compile MODEL.gguf [-o MODEL.npu] [options of language models]\n"
		"\n",
	.row = rows,
	.num = sizeof(rows) / sizeof(rows[0]),
	.column = 25,
	.tail = print_formats,
};

/* What only one kind of models takes; of ONNX it is all but these and the common ones. */
static const char *const llm_options[] = { "quant", "context", "batch", "chunk", "kv", "pool",
					   "activations" };
static const char *const common_options[] = { "output", "quiet" };
static const char *const int8_options[] = { "calib", "calib-method", "budget", "keep-float",
					    "no-clip-count" };

/* ---- what there is ---- */

/* The end of the help, from the compiler's own tables. */
static void print_formats(void)
{
	const char *name, *value, *help;
	bool keys = false;

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

static int take_list_passes(void *options, const char *name, char *arg)
{
	for (unsigned int i = 0; npu_compile_pass_name(i); i++)
		printf("%-12s %s\n", npu_compile_pass_name(i), npu_compile_pass_help(i));
	return OPTIONS_DONE;
}

static int take_list_ops(void *options, const char *name, char *arg)
{
	unsigned int all = 0, npu = 0, host = 0;
	struct npu_op_support s;
	char op[80];

	for (unsigned int i = 0; npu_compile_op_support(i, &s); i++) {
		const char *where = s.supported && *s.host ? "npu, host" :
				    s.supported		   ? "npu" :
				    *s.host		   ? "host" :
							     "refused";

		snprintf(op, sizeof(op), "%s%s%s", s.domain, *s.domain ? "." : "", s.op);
		printf("%-46s %-10s %-34s %s\n", op, where, s.insns,
		       s.supported ? s.limits : *s.host ? s.host_limits : s.why_not);
		all += !*s.domain;
		npu += !*s.domain && s.supported;
		host += !*s.domain && !s.supported && *s.host;
	}
	printf("of %u operators of ai.onnx %u on the NPU, %u on the host, %u refused\n", all, npu,
	       host, all - npu - host);
	return OPTIONS_DONE;
}

/* ---- arguments ---- */

static int take_shape(void *options, const char *name, char *arg)
{
	struct options *o = options;

	return option_append(&table, name, arg, o->shapes, MAX_SHAPES, &o->compile.num_shapes);
}

static int take_format(void *options, const char *name, char *arg)
{
	struct options *o = options;

	return option_append(&table, name, arg, o->input_formats, MAX_FORMATS,
			     &o->compile.num_input_formats);
}

static int take_calib(void *options, const char *name, char *arg)
{
	struct options *o = options;

	o->calib[o->num_calib++] = arg;
	return 0;
}

static int take_method(void *options, const char *name, char *arg)
{
	return calib_take_method(&table, name, arg, &((struct options *)options)->quant);
}

static int take_budget(void *options, const char *name, char *arg)
{
	return calib_take_budget(&table, name, arg, &((struct options *)options)->quant);
}

static int take_keep_float(void *options, const char *name, char *arg)
{
	struct options *o = options;

	return option_append(&table, name, arg, o->float_nodes, MAX_NODES,
			     &o->quant.num_float_nodes);
}

static int take_report(void *options, const char *name, char *arg)
{
	struct options *o = options;

	o->report |= !arg;
	o->report_file = arg ? arg : o->report_file;
	return 0;
}

static int take_dump(void *options, const char *name, char *arg)
{
	struct options *o = options;

	o->compile.dump_pass = arg;
	o->compile.dump = stdout;
	return 0;
}

static const char *quant_name(unsigned int i)
{
	return npu_llm_quant_name(i);
}

static const char *kv_name(unsigned int i)
{
	return npu_llm_kv_name(i);
}

static const char *activation_name(unsigned int i)
{
	return npu_llm_activation_name(i);
}

/* The number of the name @arg among those that @name_of has. */
static int pick(const char *name, const char *arg, const char *(*name_of)(unsigned int),
		uint32_t *value)
{
	char all[200] = "";
	size_t n = 0;

	for (*value = 0; name_of(*value); ++*value) {
		if (!strcmp(arg, name_of(*value)))
			return 0;
		n += (size_t)snprintf(all + n, n < sizeof(all) ? sizeof(all) - n : 0, "%s%s",
				      n ? ", " : "", name_of(*value));
	}
	return option_refuse(&table, name, arg, all);
}

static int take_quant(void *options, const char *name, char *arg)
{
	return pick(name, arg, quant_name, &((struct options *)options)->llm.quant);
}

static int take_kv(void *options, const char *name, char *arg)
{
	return pick(name, arg, kv_name, &((struct options *)options)->llm.kv);
}

static int take_activations(void *options, const char *name, char *arg)
{
	return pick(name, arg, activation_name, &((struct options *)options)->llm.activations);
}

/* ---- all of them ---- */

static unsigned int count_seen(const bool *seen, const char *const *names, size_t num)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < num; i++)
		n += options_seen(&table, seen, names[i]);
	return n;
}

#define COUNT_SEEN(seen, names)	count_seen(seen, names, sizeof(names) / sizeof(names[0]))

static int check_quant(const struct options *o, const bool *seen)
{
	if (o->int8 && !o->num_calib)
		fputs("npu-compile: --int8: ranges are needed: --calib with samples of typical "
		      "inputs\n", stderr);
	else if (!o->int8 && COUNT_SEEN(seen, int8_options))
		fputs("npu-compile: --calib, --calib-method, --budget, --keep-float and "
		      "--no-clip-count go with --int8\n", stderr);
	else
		return 0;
	return -EINVAL;
}

/* Options of one kind of models with a model of the other. */
static int check_kind(const struct options *o, const bool *seen)
{
	unsigned int all = 0, llm = COUNT_SEEN(seen, llm_options), i;

	for (i = 0; i < table.num; i++)
		all += seen[i];
	if (o->gguf ? all == llm + COUNT_SEEN(seen, common_options) : !llm)
		return 0;
	fprintf(stderr, o->gguf ?
		"npu-compile: %s: a language model takes --quant, --context, --batch, --chunk, --kv, --pool, --activations, -o and -q\n" :
		"npu-compile: %s: --quant, --context, --batch, --chunk, --kv, --pool and --activations are for GGUF files\n",
		o->model);
	return -EINVAL;
}

int options_parse(struct options *o, int argc, char **argv)
{
	bool seen[sizeof(rows) / sizeof(rows[0])] = { false };
	int ret;

	npu_compile_options_init(&o->compile);
	o->llm.size = sizeof(o->llm);
	npu_quant_options_init(&o->quant);
	o->calib = calloc((size_t)argc, sizeof(*o->calib));
	if (!o->calib)
		return -ENOMEM;
	ret = options_take(&table, o, argc, argv, seen);
	if (ret)
		return ret;
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
	return check_kind(o, seen) ?: check_quant(o, seen);
}
