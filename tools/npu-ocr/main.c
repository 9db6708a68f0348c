// SPDX-License-Identifier: MIT
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ocr.h"
#include "output.h"
#include "tools/common/file.h"
#include "tools/common/option_table.h"

struct args {
	const char *picture, *annotate, *models;
	struct ocr_options opt;
	struct ocr_runtime_options rt;
	bool json;
	char models_buf[PATH_MAX], cache_buf[PATH_MAX];
};

#define OPTIONS	struct args

static option_take_fn take_job, take_cls, take_no_cls;

static const struct option_row rows[] = {
	OPT_FLAG(0, "json", json, "print one JSON object"),
	OPT_TEXT(0, "annotate", "FILE", annotate,
		 "write a PNG with boxes, numbers and the text beside the picture"),
	OPT_TEXT(0, "models", "DIR", models,
		 "where the .onnx files and ppocr_keys_v1.txt are (default: $NPU_MODELS, or\n"
		 "build/models, /usr/share/npu/models)"),
	OPT_TEXT(0, "cache", "DIR", rt.cache,
		 "where compiled job files are kept (default: $XDG_CACHE_HOME/npu or\n"
		 "~/.cache/npu)"),
	OPT_TEXT(0, "device", "NAME", rt.device,
		 "a device node, or 'sim' for in process (default: the first there is)"),
	OPT_WORD(0, "precision", "f16|f32|int8", rt.precision,
		 "f16 (default), f32: slower, and nearer to the model, or int8 (needs --calib)"),
	OPT_TEXT(0, "calib", "DIR", rt.calib,
		 "samples for int8, as --dump-calib leaves them for typical pictures"),
	OPT_CALL(0, "job", "NET=FILE", take_job,
		 "a job file for det, cls or rec, as npu-compile makes it, in place of the model"),
	OPT_NUMBER(0, "threads", "N", rt.threads, 1, 256,
		   "threads of the in-process NPU (default: all CPUs)"),
	OPT_NUMBER(0, "det-limit", "N", opt.det_limit, 32, 1280,
		   "longest side that detection looks at, 32 to 1280 pixels (default: 960)"),
	OPT_CALL(0, "cls", NULL, take_cls, "look for lines that are upside down (default)"),
	OPT_CALL(0, "no-cls", NULL, take_no_cls, "do not"),
	OPT_TEXT(0, "dump", "DIR", opt.dump,
		 "write every network input and output (.npy) and every crop (.png)"),
	OPT_TEXT(0, "dump-calib", "DIR", opt.calib_out,
		 "write what each network is given to DIR/det, DIR/cls and DIR/rec: samples for\n"
		 "npu-compile --calib. Further pictures add to them"),
	OPT_FLAG(0, "quiet", rt.quiet, "print the lines only: no progress, no times"),
};

static void print_end(void)
{
	puts("\nPrints a line of text each: confidence, the box's corners from the text's top left\n"
	     "clockwise, the text. Exit status: 0 when the picture was read (even if there is no\n"
	     "text in it), 1 on errors, 2 on wrong usage.");
}

static const struct option_table table = {
	.program = "npu-ocr",
	.head = "usage: npu-ocr [OPTION]... PICTURE\n"
		"Read the text in a PNG or JPEG picture with PP-OCRv4 on the NPU.\n"
		"\n",
	.row = rows,
	.num = sizeof(rows) / sizeof(rows[0]),
	.column = 25,
	.tail = print_end,
};

/* "det=FILE" */
static int take_job(void *options, const char *name, char *arg)
{
	struct ocr_options *opt = &((struct args *)options)->opt;
	const char *eq = strchr(arg, '=');
	size_t len = eq ? (size_t)(eq - arg) : 0;
	const char **job = len != 3		      ? NULL :
			   !strncmp(arg, "det", 3) ? &opt->det_job :
			   !strncmp(arg, "cls", 3) ? &opt->cls_job :
			   !strncmp(arg, "rec", 3) ? &opt->rec_job :
						     NULL;

	if (!job || !eq[1])
		return option_refuse(&table, name, arg, "det=FILE, cls=FILE or rec=FILE");
	*job = eq + 1;
	return 0;
}

static int take_cls(void *options, const char *name, char *arg)
{
	((struct args *)options)->opt.classify = true;
	return 0;
}

static int take_no_cls(void *options, const char *name, char *arg)
{
	((struct args *)options)->opt.classify = false;
	return 0;
}

static int args_parse(struct args *a, int argc, char **argv)
{
	bool seen[sizeof(rows) / sizeof(rows[0])] = { false };
	int ret;

	memset(a, 0, sizeof(*a));
	ocr_options_default(&a->opt);
	ret = options_take(&table, a, argc, argv, seen);
	if (ret)
		return ret;
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
	if (!a->json && !a->rt.quiet)
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
