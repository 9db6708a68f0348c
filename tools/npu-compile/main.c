// SPDX-License-Identifier: MIT
/* npu-compile: an ONNX model or a GGUF file in, a job file for npu-run and libnpu out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gguf.h"
#include "options.h"
#include "tools/common/calib.h"
#include "tools/common/file.h"

#define MODEL_LIMIT	(2ull << 30)

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
	int err = options_parse(&o, argc, argv);

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
