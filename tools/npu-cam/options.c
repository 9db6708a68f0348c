// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include "cam.h"
#include "core/error.h"
#include "tools/common/option_table.h"

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

#define OPTIONS	struct options

static const struct option_row rows[] = {
	OPT_TEXT('d', "device", "FILE", camera, "the camera: a V4L2 device that captures"),
	OPT_TEXT('m', "model", "FILE.npu", model, "the job file"),
	OPT_NUMBER('n', "frames", "N", frames, 1, 1000000000,
		   "end after N frames; without it, with Ctrl-C"),
	OPT_FLAG('j', "json", json,
		 "a line of JSON for each frame: latency, and of each output a digest, the\n"
		 "largest value and the first ones"),
	OPT_NUMBER(0, "values", "N", values, 0, 1000000,
		   "how many first values of each output (8)"),
	OPT_NUMBER('b', "buffers", "N", buffers, 2, MAX_BUFFERS,
		   "buffers of the camera, 2 to 32 (5)"),
	OPT_NUMBER(0, "flight", "N", flight, 1, MAX_BUFFERS - 1,
		   "frames on the NPU at once, fewer than buffers (3)"),
	OPT_TEXT(0, "heap", "NAME", heap,
		 "the buffers come from /dev/dma_heap/NAME; without it, from the camera"),
	OPT_NUMBER(0, "fps", "N", fps, 1, 100000,
		   "frames per second to ask the camera for; it may do the nearest that it can"),
	OPT_NUMBER(0, "stride", "N", stride, 1, 1u << 20,
		   "bytes from row to row to ask the camera for"),
	OPT_FLAG(0, "separate", separate, "planes in memory of their own: NV12M for NV12"),
	OPT_FLAG(0, "copy", copy, "one copy by the CPU for each frame, to compare"),
	OPT_TEXT(0, "dump", "DIR", dump,
		 "raw bytes of each frame to DIR/FRAME-plane0.., its outputs to DIR/FRAME-OUTPUT"),
	OPT_TEXT(0, "npu", "URI", device,
		 "default: the first NPU, else 'sim'; see npu-run --devices"),
};

static const struct option_table table = {
	.program = "npu-cam",
	.head = "usage: npu-cam --device /dev/videoN --model MODEL.npu [options]\n"
		"\n"
		"Feed a camera's frames to a model, without a copy by the CPU. The model was\n"
		"compiled for them: npu-compile MODEL.onnx --input-format nv12:1280x720, which also\n"
		"says format and size to the camera. The last line is a summary: frames per second,\n"
		"and the latency of each stage in microseconds.\n"
		"\n",
	.row = rows,
	.num = sizeof(rows) / sizeof(rows[0]),
	.column = 27,
};

int options_parse(struct options *opt, int argc, char **argv)
{
	bool seen[sizeof(rows) / sizeof(rows[0])] = { false };
	int ret;

	*opt = (struct options){ .buffers = 5, .flight = 3, .values = 8 };
	ret = options_take(&table, opt, argc, argv, seen);
	if (ret)
		return ret < 0 ? 1 : -1;
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
