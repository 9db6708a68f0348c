// SPDX-License-Identifier: MIT
/*
 * Quantized operators, imported: random models, each compiled and run. Those whose result is a
 * matter of integers must be equal to an exact computation at every element.
 *
 * --write DIR COUNT: write COUNT models of every operator, their inputs and what came out, for
 * tests/ort/ort_cases.js to hold against ONNX Runtime.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quant_case.h"
#include "tap.h"

/* Compile and run; 0 or a negative errno. *@out is the only output looked at. */
static int run_case(const struct quant_case *c, struct npu_npy *out)
{
	struct npu_compile_options options;
	struct npu_compile_result *result = NULL;
	struct named_array outs[3];
	struct runner r = { .queue = NULL };
	size_t size;
	const void *job;
	int err, n = 0;

	npu_compile_options_init(&options);
	err = npu_compile_onnx(c->model, c->size, NULL, &options, &result);
	if (err) {
		tap_diag("%s", result ? npu_compile_messages(result) : "no memory");
		npu_compile_result_free(result);
		return err;
	}
	job = npu_compile_job(result, &size);
	err = runner_open(&r, job, size);
	if (!err)
		n = runner_run(&r, c->in, c->num_in, outs, 3);
	if (err || n < 1)
		tap_diag("%s", r.why);
	for (int i = 1; i < n; i++)
		npu_npy_free(&outs[i].arr);
	runner_close(&r);
	npu_compile_result_free(result);
	if (n > 0)
		*out = outs[0].arr;
	return err ? err : n < 1 ? n - !n : 0;
}

static void dump(const char *dir, const char *name, const struct quant_case *c,
		 const struct npu_npy *out)
{
	const uint8_t *model = c->plain ? c->plain : c->model;
	size_t size = c->plain ? c->plain_size : c->size;
	struct npu_error why = { 0 };
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.onnx", dir, name);
	f = fopen(path, "wb");
	if (!f || fwrite(model, 1, size, f) != size)
		tap_diag("cannot write %s", path);
	if (f)
		fclose(f);
	for (int i = 0; i < c->num_in; i++) {
		snprintf(path, sizeof(path), "%s/%s.%s.npy", dir, name, c->in[i].name);
		npu_npy_write(path, &c->in[i].arr, &why);
	}
	snprintf(path, sizeof(path), "%s/%s.out.npy", dir, name);
	npu_npy_write(path, out, &why);
}

/* ONNX Runtime's sums of 8-bit products are exact on processors with dot products only. */
static bool no_dot_products(void)
{
#if defined(__x86_64__)
	return !__builtin_cpu_supports("avx512vnni");
#else
	return false;
#endif
}

static int write_cases(const char *dir, unsigned int count)
{
	int failed = 0;

	for (unsigned int k = 0; k < num_quant_ops; k++)
		for (unsigned int i = 0; i < count; i++) {
			struct quant_case c = { 0 };
			struct npu_npy out = { 0 };
			char name[80];

			quant_ops[k].make(&c, i * 977 + 1, true, no_dot_products());
			snprintf(name, sizeof(name), "%s.%d.%04u", quant_ops[k].name,
				 quant_ops[k].off_by, i);
			if (run_case(&c, &out))
				failed++, fprintf(stderr, "%s failed\n", name);
			else
				dump(dir, name, &c, &out);
			npu_npy_free(&out);
			quant_case_free(&c);
		}
	return failed;
}

static void test_op(const struct quant_op *op, unsigned int count)
{
	unsigned int equal = 0, failed = 0;

	memset(&quant_reach, 0, sizeof(quant_reach));
	for (unsigned int i = 0; i < count; i++) {
		struct quant_case c = { 0 };
		struct npu_npy out = { 0 };
		size_t e = 0;

		op->make(&c, i + 1, false, false);
		if (c.depth > quant_reach.depth)
			quant_reach.depth = c.depth;
		if (run_case(&c, &out)) {
			failed++;
		} else {
			while (out.count == c.want.count && e < out.count &&
			       array_at(&out, e) == array_at(&c.want, e))
				e++;
			equal += out.count == c.want.count && e == out.count;
			if (e != out.count && equal + 5 > i)
				tap_diag("%s %u: element %zu of %zu is %g, expected %g", op->name,
					 i, e, out.count, array_at(&out, e), array_at(&c.want, e));
		}
		npu_npy_free(&out);
		quant_case_free(&c);
	}
	tap_ok(equal == count, "%s: %u of %u random models equal the exact result", op->name, equal,
	       count);
	if (failed)
		tap_diag("%u did not compile or run", failed);
}

static void test_reach(const struct quant_op *op)
{
	/* A tenth of the cases, as a sanitizer's leg has, does not meet every one. */
	unsigned int zeros = 0, least = getenv("NPU_TEST_SHORT") ? 200 : 256;

	for (int i = 0; i < 256; i++)
		zeros += quant_reach.zero[i];
	tap_ok(zeros >= least && quant_reach.at_limits,
	       "%s: %u zero points, products up to %lld deep, %llu of %llu results saturated",
	       op->name, zeros, (long long)quant_reach.depth,
	       (unsigned long long)quant_reach.saturated, (unsigned long long)quant_reach.elements);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--write"))
		return write_cases(argv[2], (unsigned int)atoi(argv[3])) ? 1 : 0;
	for (unsigned int k = 0; k < num_quant_ops; k++) {
		if (!quant_ops[k].exact || (argc > 1 && !strstr(quant_ops[k].name, argv[1])))
			continue;
		test_op(&quant_ops[k], getenv("NPU_TEST_SHORT") ? 200 : 2000);
		test_reach(&quant_ops[k]);
	}
	return tap_done();
}
