// SPDX-License-Identifier: MIT
/*
 * The same model and options give the same bytes: every real model of the tests and every model of
 * ONNX's conformance data is compiled twice in each precision. Between the two the heap is moved
 * and what malloc() returns is filled with another byte, so that an address, an order that follows
 * addresses, or memory that nobody wrote would show.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "npu_compiler.h"
#include "tap.h"
#include "tools/common/file.h"

static const struct {
	const char *file;
	const char *shape;	/* NULL: the model's own */
} models[] = {
	{ "mnist-8.onnx", NULL },
	{ "blazeface_front.onnx", NULL },
	{ "blazeface_back.onnx", NULL },
	{ "fr_detect.onnx", NULL },
	{ "fr_feature.onnx", NULL },
	{ "fr_landmark.onnx", NULL },
	{ "det.onnx", "x=1x3x{H=32..640:32}x{W=32..640:32}" },
	{ "rec.onnx", "x=1x3x48x{W=8..640:8}" },
	{ "cls.onnx", "x=1x3x48x192" },
};

struct compiled {
	void *job;
	size_t size;
	char *report, *messages;
	int err;
};

static void compile(const uint8_t *model, size_t size, const char *shape,
		    enum npu_precision precision, struct compiled *out)
{
	struct npu_compile_options options;
	struct npu_compile_result *result = NULL;
	const void *job;

	npu_compile_options_init(&options);
	options.precision = precision;
	options.shapes = shape ? &shape : NULL;
	options.num_shapes = shape ? 1 : 0;
	out->err = npu_compile_onnx(model, size, NULL, &options, &result);
	job = result ? npu_compile_job(result, &out->size) : NULL;
	out->job = malloc(out->size + 1);
	if (out->job && job)
		memcpy(out->job, job, out->size);
	out->report = strdup(result ? npu_compile_report_json(result) : "");
	out->messages = strdup(result ? npu_compile_messages(result) : "");
	npu_compile_result_free(result);
}

static void compiled_free(struct compiled *c)
{
	free(c->job);
	free(c->report);
	free(c->messages);
}

/* The same twice; what is refused is refused in the same words. */
static bool twice(const uint8_t *model, size_t size, const char *shape, const char **what)
{
	static const enum npu_precision precisions[] = { NPU_PRECISION_F16, NPU_PRECISION_F32 };
	bool same = true;

	for (int i = 0; i < 2 && same; i++) {
		struct compiled a = { 0 }, b = { 0 };
		void *hole;

		mallopt(M_PERTURB, 0x5a);
		compile(model, size, shape, precisions[i], &a);
		hole = malloc(12345);
		mallopt(M_PERTURB, 0xc3);
		compile(model, size, shape, precisions[i], &b);
		mallopt(M_PERTURB, 0);
		free(hole);
		*what = a.err != b.err			       ? "status" :
			a.size != b.size		       ? "size" :
			a.size && memcmp(a.job, b.job, a.size) ? "bytes" :
			strcmp(a.report, b.report)	       ? "report" :
			strcmp(a.messages, b.messages)	       ? "messages" :
								 NULL;
		same = !*what;
		compiled_free(&a);
		compiled_free(&b);
	}
	return same;
}

static bool file_twice(const char *path, const char *shape, bool *found)
{
	struct npu_error why;
	const char *what = NULL;
	uint8_t *model;
	size_t size;
	bool same;

	*found = !npu_file_read(path, 1 << 28, &model, &size, &why);
	if (!*found)
		return true;
	same = twice(model, size, shape, &what);
	if (!same)
		tap_diag("%s: the second time gives other %s", path, what);
	free(model);
	return same;
}

static void test_real(const char *base)
{
	char path[600];
	bool found;

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		bool same;

		snprintf(path, sizeof(path), "%s/%s", base, models[i].file);
		same = file_twice(path, models[i].shape, &found);
		if (found)
			tap_ok(same, "%s: the same bytes twice", models[i].file);
		else
			tap_skip(models[i].file, "the model is not there (scripts/models.sh)");
	}
}

static void test_conformance(const char *base, const char *group)
{
	unsigned int count = 0, wrong = 0;
	struct dirent **entry;
	char path[900];
	bool found;
	int n;

	snprintf(path, sizeof(path), "%s/onnx-tests/%s", base, group);
	n = scandir(path, &entry, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/onnx-tests/%s/%s/model.onnx", base, group,
			 entry[i]->d_name);
		if (*entry[i]->d_name != '.') {
			wrong += !file_twice(path, NULL, &found);
			count += found;
		}
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	if (count)
		tap_ok(!wrong,
		       "%s: each of %u models gives the same bytes, or the same refusal, twice",
		       group, count);
	else
		tap_skip(group, "no test data; scripts/models.sh onnx-tests fetches them");
}

int main(void)
{
	const char *base = getenv("NPU_MODELS");

	base = base ? base : "build/models";
	test_real(base);
	test_conformance(base, "node");
	test_conformance(base, "pytorch-converted");
	test_conformance(base, "pytorch-operator");
	test_conformance(base, "simple");
	return tap_done();
}
