// SPDX-License-Identifier: MIT
/*
 *	cc pipeline/[a-z]*.c $(pkg-config --cflags --libs libnpu) -o pipeline
 *	./pipeline --file frames.nv12 detect.npu select.npu refine.npu
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "pipeline.h"

static const char usage[] =
"usage: pipeline --file FRAMES|--camera /dev/videoN [options] DETECT.npu SELECT.npu REFINE.npu\n"
"\n"
"A detector on a frame, the surest of its boxes, and a second model on that part of the same frame:\n"
"three jobs on two queues, chained by fences, several frames at once. DETECT takes frames\n"
"(npu-compile --input-format); SELECT has inputs named as DETECT's outputs, and an output 'box' of y0,\n"
"x0, y1, x1 in pixels; REFINE takes the same frames and a box (--input-format ...,crop=box).\n"
"\n"
"  -f, --file FILE      raw frames, one behind the other, again and again\n"
"  -c, --camera FILE    a V4L2 camera\n"
"  -n, --frames N       how many (100)\n"
"      --flight N       frames on the NPU at once (3)\n"
"      --wait           the CPU waits for each job before it hands over the next, to compare\n"
"      --heap NAME      --file: the frames lie in memory of /dev/dma_heap/NAME\n"
"  -j, --json           a line for each frame\n"
"      --points         REFINE's outputs are points in its input, x and y from 0 to 1: show them as pixels\n"
"      --dump DIR       raw bytes of frames and of all outputs to DIR/FRAME-NAME\n"
"      --npu URI        default: the first NPU, else 'sim'\n";

enum { OPT_FLIGHT = 256, OPT_WAIT, OPT_HEAP, OPT_POINTS, OPT_DUMP, OPT_NPU };

static const struct option longs[] = {
	{ "file", required_argument, NULL, 'f' },
	{ "camera", required_argument, NULL, 'c' },
	{ "frames", required_argument, NULL, 'n' },
	{ "flight", required_argument, NULL, OPT_FLIGHT },
	{ "wait", no_argument, NULL, OPT_WAIT },
	{ "heap", required_argument, NULL, OPT_HEAP },
	{ "json", no_argument, NULL, 'j' },
	{ "points", no_argument, NULL, OPT_POINTS },
	{ "dump", required_argument, NULL, OPT_DUMP },
	{ "npu", required_argument, NULL, OPT_NPU },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

int fail(struct npu_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	err->code = code;
	return code;
}

static int complain(const char *text)
{
	fprintf(stderr, "pipeline: %s\n", text);
	return 1;
}

static int number(const char *text, unsigned int max, unsigned int *out)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || !v || v > max) {
		fprintf(stderr, "pipeline: '%s' is not a number from 1 to %u\n", text, max);
		return 1;
	}
	*out = (unsigned int)v;
	return 0;
}

static int set_option(struct options *opt, int c, const char *arg)
{
	switch (c) {
	case 'f': opt->file = arg; return 0;
	case 'c': opt->camera = arg; return 0;
	case 'n': return number(arg, 10000000, &opt->frames);
	case 'j': opt->json = true; return 0;
	case OPT_FLIGHT: return number(arg, MAX_SLOTS - 2, &opt->flight);
	case OPT_WAIT: opt->wait = true; return 0;
	case OPT_HEAP: opt->heap = arg; return 0;
	case OPT_POINTS: opt->points = true; return 0;
	case OPT_DUMP: opt->dump = arg; return 0;
	case OPT_NPU: opt->npu = arg; return 0;
	case 'h': fputs(usage, stdout); return -1;
	default: return 1;
	}
}

static int parse(struct options *opt, int argc, char **argv)
{
	int c, i, ret;

	*opt = (struct options){ .frames = 100, .flight = 3 };
	while ((c = getopt_long(argc, argv, "f:c:n:jh", longs, NULL)) >= 0) {
		ret = set_option(opt, c, optarg);
		if (ret)
			return ret;
	}
	if (argc - optind != NUM_STAGES || !opt->file == !opt->camera)
		return complain("three job files, and --file or --camera, are needed (--help)");
	if (opt->heap && !opt->file)
		return complain("--heap goes with --file");
	for (i = 0; i < NUM_STAGES; i++)
		opt->model[i] = argv[optind + i];
	return 0;
}

int main(int argc, char **argv)
{
	struct options opt;
	struct pipeline *p;
	int ret = parse(&opt, argc, argv);

	if (ret)
		return ret < 0 ? 0 : ret;
	p = calloc(1, sizeof(*p));
	if (p)
		p->latency = calloc(opt.frames, sizeof(*p->latency));
	if (!p || !p->latency) {
		free(p);
		return complain("no memory");
	}
	p->opt = &opt;
	p->source = opt.camera ? &camera_source : &file_source;
	ret = pipeline_run(p);
	if (ret)
		complain(p->err.text);
	free(p->latency);
	free(p);
	return !!ret;
}
