// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cam.h"
#include "core/error.h"

static const char usage[] =
"usage: npu-cam --device /dev/videoN --model MODEL.npu [options]\n"
"\n"
"Feed a camera's frames to a model, without a copy by the CPU. The model was compiled for them:\n"
"npu-compile MODEL.onnx --input-format nv12:1280x720, which also says format and size to the camera.\n"
"The last line is a summary: frames per second, and the latency of each stage in microseconds.\n"
"\n"
"  -d, --device FILE        the camera: a V4L2 device that captures\n"
"  -m, --model FILE.npu     the job file\n"
"  -n, --frames N           end after N frames; without it, with Ctrl-C\n"
"  -j, --json               a line of JSON for each frame: latency, and of each output a digest, the\n"
"                           largest value and the first ones\n"
"      --values N           how many first values of each output (8)\n"
"  -b, --buffers N          buffers of the camera, 2 to 32 (5)\n"
"      --flight N           frames on the NPU at once, fewer than buffers (3)\n"
"      --heap NAME          the buffers come from /dev/dma_heap/NAME; without it, from the camera\n"
"      --fps N              frames per second to ask the camera for; it may do the nearest that it can\n"
"      --stride N           bytes from row to row to ask the camera for\n"
"      --separate           planes in memory of their own: NV12M for NV12\n"
"      --copy               one copy by the CPU for each frame, to compare\n"
"      --dump DIR           raw bytes of each frame to DIR/FRAME-plane0.., its outputs to DIR/FRAME-OUTPUT\n"
"      --npu URI            default: the first NPU, else 'sim'; see npu-run --devices\n"
"  -h, --help               this text\n"
"  -V, --version            version of the library\n";

enum {
	OPT_VALUES = 256, OPT_FLIGHT, OPT_HEAP, OPT_FPS, OPT_STRIDE, OPT_SEPARATE, OPT_COPY, OPT_DUMP,
	OPT_NPU
};

static const struct option longs[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "model", required_argument, NULL, 'm' },
	{ "frames", required_argument, NULL, 'n' },
	{ "json", no_argument, NULL, 'j' },
	{ "values", required_argument, NULL, OPT_VALUES },
	{ "buffers", required_argument, NULL, 'b' },
	{ "flight", required_argument, NULL, OPT_FLIGHT },
	{ "heap", required_argument, NULL, OPT_HEAP },
	{ "fps", required_argument, NULL, OPT_FPS },
	{ "stride", required_argument, NULL, OPT_STRIDE },
	{ "separate", no_argument, NULL, OPT_SEPARATE },
	{ "copy", no_argument, NULL, OPT_COPY },
	{ "dump", required_argument, NULL, OPT_DUMP },
	{ "npu", required_argument, NULL, OPT_NPU },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 }
};

int fail(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	npu_text_clean_lines(text);
	fflush(stdout);
	fprintf(stderr, "npu-cam: %s\n", text);
	return 1;
}

static int number(const char *name, const char *text, unsigned int min, unsigned int max,
		  unsigned int *out)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || v < min || v > max)
		return fail("--%s %s: want a number from %u to %u", name, text, min, max);
	*out = (unsigned int)v;
	return 0;
}

static int set_option(struct options *opt, int c, const char *arg)
{
	switch (c) {
	case 'd': opt->camera = arg; return 0;
	case 'm': opt->model = arg; return 0;
	case 'n': return number("frames", arg, 1, 1000000000, &opt->frames);
	case 'j': opt->json = true; return 0;
	case 'b': return number("buffers", arg, 2, MAX_BUFFERS, &opt->buffers);
	case OPT_VALUES: return number("values", arg, 0, 1000000, &opt->values);
	case OPT_FLIGHT: return number("flight", arg, 1, MAX_BUFFERS - 1, &opt->flight);
	case OPT_HEAP: opt->heap = arg; return 0;
	case OPT_FPS: return number("fps", arg, 1, 100000, &opt->fps);
	case OPT_STRIDE: return number("stride", arg, 1, 1u << 20, &opt->stride);
	case OPT_SEPARATE: opt->separate = true; return 0;
	case OPT_COPY: opt->copy = true; return 0;
	case OPT_DUMP: opt->dump = arg; return 0;
	case OPT_NPU: opt->device = arg; return 0;
	case 'h': fputs(usage, stdout); return -1;
	case 'V': printf("npu-cam %s\n", npu_version()); return -1;
	default: return 1;
	}
}

int options_parse(struct options *opt, int argc, char **argv)
{
	int c, ret;

	*opt = (struct options){ .buffers = 5, .flight = 3, .values = 8 };
	while ((c = getopt_long(argc, argv, "d:m:n:jb:hV", longs, NULL)) >= 0) {
		ret = set_option(opt, c, optarg);
		if (ret)
			return ret;
	}
	if (optind < argc)
		return fail("unexpected argument '%s' (npu-cam --help)", argv[optind]);
	if (!opt->camera || !opt->model)
		return fail("--%s is missing (npu-cam --help)", opt->camera ? "model" : "device");
	if (opt->flight >= opt->buffers)
		return fail("--flight %u: one of %u buffers has to be the camera's", opt->flight,
			    opt->buffers);
	if (opt->copy && opt->heap)
		return fail("--copy and --heap: the CPU copies out of the camera's own buffers");
	if (opt->dump && !opt->json)
		return fail("--dump goes with --json");
	return 0;
}
