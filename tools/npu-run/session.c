// SPDX-License-Identifier: MIT
/* What a model is run with, and what all of npu-run says things with. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include "core/error.h"
#include "run.h"

static void print_clean(FILE *f, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	npu_text_clean_lines(text);
	fputs(text, f);
	free(text);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_clean(stdout, fmt, ap);
	va_end(ap);
}

int fail(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("npu-run: ", stderr);
	va_start(ap, fmt);
	print_clean(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

int json_print(cJSON *root)
{
	char *text = cJSON_Print(root);

	cJSON_Delete(root);
	if (!text)
		return fail("no memory for the report");
	puts(text);
	free(text);
	return 0;
}

double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

int session_submit(struct session *s, uint32_t flags, struct npu_fence **fence)
{
	struct npu_submit_options opt = { .size = sizeof(opt), .flags = flags };
	struct npu_fence *f;
	int ret;

	if (npu_queue_submit(s->queue, s->run, &opt, &f, &s->err))
		return fail("%s", s->err.text);
	ret = npu_fence_wait(f, NPU_FOREVER, &s->err);
	if (ret || !fence)
		npu_fence_put(f);
	else
		*fence = f;
	return ret ? fail("%s", s->err.text) : 0;
}

bool session_tensor(struct session *s, unsigned int index, struct npu_tensor_info *info)
{
	unsigned int program, rank;

	*info = (struct npu_tensor_info)NPU_INIT(*info);
	if (npu_run_program(s->run, &program, NULL, &s->err) ||
	    npu_job_tensor(s->job, program, index, info))
		return false;
	if (info->role != NPU_TENSOR_INTERNAL)
		npu_run_get_shape(s->run, info->name, &rank, info->min_dim, &s->err);
	return true;
}

/*
 * A model in place of a job file: its name says so, or its first field, which is the version of
 * ONNX (protobuf: field 1, a number).
 */
static bool is_model(const char *path)
{
	size_t len = strlen(path), n = 0;
	unsigned char head[8];
	FILE *f;

	if (len > 5 && !strcasecmp(path + len - 5, ".onnx"))
		return true;
	f = fopen(path, "rbe");
	if (f) {
		n = fread(head, 1, sizeof(head), f);
		fclose(f);
	}
	return n == sizeof(head) && head[0] == 0x08 && head[1] >= 1 && head[1] < 32;
}

static int load_failed(const struct session *s, int ret)
{
	const char *path = s->opt->model;
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	int stem = dot && (!slash || dot > slash) ? (int)(dot - path) : (int)strlen(path);

	if (ret != -EBADMSG || !is_model(path))
		return fail("%s", s->err.text);
	return fail("%s: this is an ONNX model, not a job file; compile it first: "
		    "npu-compile %s -o %.*s.npu", path, path, stem, path);
}

int session_open(struct session *s)
{
	struct npu_device_options opt = { .size = sizeof(opt), .threads = s->opt->threads };
	double start;
	int ret;

	if (npu_device_open(s->opt->device, &opt, &s->dev, &s->err))
		return fail("%s", s->err.text);
	start = now_ms();
	ret = npu_job_load(s->dev, s->opt->model, 0, &s->job, &s->err);
	if (ret)
		return load_failed(s, ret);
	s->load_ms = now_ms() - start;
	if (npu_queue_create(s->dev, NULL, &s->queue, &s->err) ||
	    npu_run_create(s->job, &s->run, &s->err))
		return fail("%s", s->err.text);
	return 0;
}

void session_close(struct session *s)
{
	npu_run_destroy(s->run);
	npu_job_unload(s->job);
	npu_queue_destroy(s->queue);
	npu_device_close(s->dev);
}
