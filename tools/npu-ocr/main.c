// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ocr.h"
#include "output.h"
#include "tools/common/file.h"

static const char usage[] =
	"Usage: npu-ocr [OPTION]... PICTURE\n"
	"Read the text in a PNG or JPEG picture with PP-OCRv4 on the NPU.\n"
	"\n"
	"  --json            print one JSON object\n"
	"  --annotate FILE   write a PNG with boxes, numbers and the text beside the picture\n"
	"  --models DIR      where the .onnx files and ppocr_keys_v1.txt are\n"
	"                    (default: $NPU_MODELS, or build/models, /usr/share/npu/models)\n"
	"  --cache DIR       where compiled job files are kept (default: $XDG_CACHE_HOME/npu or ~/.cache/npu)\n"
	"  --device NAME     a device node, or 'sim' for in process (default: the first there is)\n"
	"  --precision T     f16 (default), f32: slower, and nearer to the model, or int8 (needs --calib)\n"
	"  --calib DIR       samples for int8, as --dump-calib leaves them for typical pictures\n"
	"  --job NET=FILE    a job file for det, cls or rec, as npu-compile makes it, in place of the model\n"
	"  --threads N       threads of the in-process NPU (default: all CPUs)\n"
	"  --det-limit N     longest side that detection looks at, 32 to 1280 pixels (default: 960)\n"
	"  --cls, --no-cls   do or do not look for lines that are upside down (default: do)\n"
	"  --dump DIR        write every network input and output (.npy) and every crop (.png)\n"
	"  --dump-calib DIR  write what each network is given to DIR/det, DIR/cls and DIR/rec: samples\n"
	"                    for npu-compile --calib. Further pictures add to them\n"
	"  --quiet           print the lines only: no progress, no times\n"
	"  --help, --version\n"
	"\n"
	"Prints a line of text each: confidence, the box's corners from the text's top left clockwise, the text.\n"
	"Exit status: 0 when the picture was read (even if there is no text in it), 1 on errors, 2 on wrong usage.\n";

struct args {
	const char *picture, *annotate, *models;
	struct ocr_options opt;
	struct ocr_runtime_options rt;
	int json, quiet;
	char models_buf[PATH_MAX], cache_buf[PATH_MAX];
};

static int arg_int(const char *name, const char *text, int lo, int hi, int *value)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < lo || v > hi) {
		fprintf(stderr, "npu-ocr: --%s '%s': a number from %d to %d is expected\n", name,
			text, lo, hi);
		return -EINVAL;
	}
	*value = (int)v;
	return 0;
}

static int arg_precision(const char *text, enum ocr_precision *precision)
{
	const char *name;

	for (*precision = 0; (name = ocr_precision_name(*precision)); ++*precision)
		if (!strcmp(text, name))
			return 0;
	fprintf(stderr, "npu-ocr: --precision '%s': f16, f32 or int8 is expected\n", text);
	return -EINVAL;
}

/* "det=FILE" */
static int arg_job(const char *text, struct ocr_options *opt)
{
	const char *eq = strchr(text, '=');
	size_t len = eq ? (size_t)(eq - text) : 0;
	const char **job = len != 3			? NULL :
			   !strncmp(text, "det", 3)	? &opt->det_job :
			   !strncmp(text, "cls", 3)	? &opt->cls_job :
			   !strncmp(text, "rec", 3)	? &opt->rec_job :
							  NULL;

	if (job && eq[1]) {
		*job = eq + 1;
		return 0;
	}
	fprintf(stderr, "npu-ocr: --job '%s': det=FILE, cls=FILE or rec=FILE is expected\n", text);
	return -EINVAL;
}

enum {
	OPT_JSON = 256,
	OPT_ANNOTATE,
	OPT_MODELS,
	OPT_CACHE,
	OPT_DEVICE,
	OPT_PRECISION,
	OPT_CALIB,
	OPT_JOB,
	OPT_THREADS,
	OPT_DET_LIMIT,
	OPT_CLS,
	OPT_NO_CLS,
	OPT_DUMP,
	OPT_DUMP_CALIB,
	OPT_QUIET,
	OPT_VERSION
};

static const struct option options[] = {
	{ "json", no_argument, NULL, OPT_JSON },
	{ "annotate", required_argument, NULL, OPT_ANNOTATE },
	{ "models", required_argument, NULL, OPT_MODELS },
	{ "cache", required_argument, NULL, OPT_CACHE },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "precision", required_argument, NULL, OPT_PRECISION },
	{ "calib", required_argument, NULL, OPT_CALIB },
	{ "job", required_argument, NULL, OPT_JOB },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "det-limit", required_argument, NULL, OPT_DET_LIMIT },
	{ "cls", no_argument, NULL, OPT_CLS },
	{ "no-cls", no_argument, NULL, OPT_NO_CLS },
	{ "dump", required_argument, NULL, OPT_DUMP },
	{ "dump-calib", required_argument, NULL, OPT_DUMP_CALIB },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ 0 }
};

/*
 * Returns 0 to go on, 1 when there is nothing more to do, or a negative errno after telling what is
 * wrong.
 */
static int arg_option(struct args *a, int opt)
{
	switch (opt) {
	case OPT_JSON:
		a->json = 1;
		return 0;
	case OPT_ANNOTATE:
		a->annotate = optarg;
		return 0;
	case OPT_MODELS:
		a->models = optarg;
		return 0;
	case OPT_CACHE:
		a->rt.cache = optarg;
		return 0;
	case OPT_DEVICE:
		a->rt.device = optarg;
		return 0;
	case OPT_PRECISION:
		return arg_precision(optarg, &a->rt.precision);
	case OPT_CALIB:
		a->rt.calib = optarg;
		return 0;
	case OPT_JOB:
		return arg_job(optarg, &a->opt);
	case OPT_THREADS:
		return arg_int("threads", optarg, 1, 256, &a->rt.threads);
	case OPT_DET_LIMIT:
		return arg_int("det-limit", optarg, 32, 1280, &a->opt.det_limit);
	case OPT_CLS:
	case OPT_NO_CLS:
		a->opt.classify = opt == OPT_CLS;
		return 0;
	case OPT_DUMP:
		a->opt.dump = optarg;
		return 0;
	case OPT_DUMP_CALIB:
		a->opt.calib_out = optarg;
		return 0;
	case OPT_QUIET:
		a->quiet = a->rt.quiet = 1;
		return 0;
	case 'h':
		fputs(usage, stdout);
		return 1;
	case OPT_VERSION:
		puts("npu-ocr " NPU_VERSION);
		return 1;
	default:
		return -EINVAL;
	}
}

static int args_parse(struct args *a, int argc, char **argv)
{
	int opt, err;

	memset(a, 0, sizeof(*a));
	ocr_options_default(&a->opt);
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		err = arg_option(a, opt);
		if (err)
			return err;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "npu-ocr: %s; see npu-ocr --help\n",
			optind < argc ? "more than one picture" : "which picture?");
		return -EINVAL;
	}
	if ((a->rt.precision == OCR_INT8) != (a->rt.calib != NULL)) {
		fprintf(stderr, "npu-ocr: --precision int8 and --calib DIR go together\n");
		return -EINVAL;
	}
	a->picture = argv[optind];
	a->opt.picture = strrchr(a->picture, '/') ? strrchr(a->picture, '/') + 1 : a->picture;
	return 0;
}

static int find_cache(struct args *a, struct npu_error *why)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	if (a->rt.cache)
		return 0;
	if (xdg && *xdg == '/')
		n = snprintf(a->cache_buf, sizeof(a->cache_buf), "%s/npu", xdg);
	else if (home && *home)
		n = snprintf(a->cache_buf, sizeof(a->cache_buf), "%s/.cache/npu", home);
	else
		return npu_error_set(why, -ENOENT,
				     "neither HOME nor XDG_CACHE_HOME is set; use --cache");
	if (n >= (int)sizeof(a->cache_buf))
		return npu_error_set(why, -ENAMETOOLONG,
				     "the name of the cache directory is too long");
	a->rt.cache = a->cache_buf;
	return 0;
}

static struct ocr_placement placement_sum(const struct ocr *ocr)
{
	const struct ocr_net *nets[] = { ocr->det, ocr->cls, ocr->rec };
	struct ocr_placement sum = { 0 }, one;
	size_t i;

	for (i = 0; i < 3; i++) {
		if (!nets[i])
			continue;
		ocr_net_placement(nets[i], &one);
		sum.nodes += one.nodes;
		sum.nodes_npu += one.nodes_npu;
		sum.macs += one.macs;
		sum.macs_npu += one.macs_npu;
	}
	return sum;
}

static int print_result(const struct args *a, const struct ocr *ocr, const struct ocr_runtime *rt,
			const struct npu_image *img, const struct ocr_lines *lines,
			struct npu_error *why)
{
	struct ocr_summary s = {
		.picture = a->picture,
		.width = img->width,
		.height = img->height,
		.lines = lines,
		.runtime = ocr_runtime_name(rt),
		.times = &ocr->times,
		.placement = placement_sum(ocr),
	};
	int err = 0;

	if (a->json)
		err = ocr_output_json(stdout, &s);
	else
		ocr_output_lines(stdout, lines);
	if (!a->json && !a->quiet)
		ocr_output_summary(stdout, &s);
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = -EIO;
	return err ? npu_error_set(why, err, "standard output: %s", strerror(-err)) : 0;
}

static int run(struct args *a, struct npu_error *why)
{
	struct ocr_runtime *rt = NULL;
	struct ocr_lines lines = { 0 };
	struct npu_image img = { 0 };
	struct ocr ocr = { 0 };
	double t0 = ocr_now(), t1;
	int err;

	/* The picture first: a wrong name should not wait for a compiler. */
	err = npu_image_load(a->picture, &img, why);
	t1 = ocr_now();
	ocr.times.load = t1 - t0;
	if (!err && !a->models)
		err = ocr_models_find(a->models_buf, sizeof(a->models_buf), why);
	if (!err)
		err = find_cache(a, why);
	if (!err && a->opt.dump)
		err = npu_file_mkdirs(a->opt.dump, why);
	if (!err)
		err = ocr_runtime_open(&rt, &a->rt, why);
	if (!err)
		err = ocr_models_open(&ocr, rt, a->models ? a->models : a->models_buf, &a->opt,
				      why);
	ocr.times.start = ocr_now() - t1;
	if (!err)
		err = ocr_read(&ocr, &img, &lines, why);
	t0 = ocr_now();
	if (!err && a->annotate)
		err = ocr_annotate(&img, &lines, a->annotate, why);
	ocr.times.annotate = ocr_now() - t0;
	if (!err)
		err = print_result(a, &ocr, rt, &img, &lines, why);
	ocr_lines_free(&lines);
	ocr_models_close(&ocr);
	ocr_runtime_close(rt);
	npu_image_free(&img);
	return err;
}

int main(int argc, char **argv)
{
	struct npu_error why = { 0 };
	struct args a;
	int err;

	err = args_parse(&a, argc, argv);
	if (err)
		return err < 0 ? 2 : 0;
	err = run(&a, &why);
	if (err)
		fprintf(stderr, "npu-ocr: %s\n", *why.text ? why.text : strerror(-err));
	return err ? 1 : 0;
}
