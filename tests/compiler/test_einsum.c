// SPDX-License-Identifier: MIT
/*
 * Einsum on the NPU: equations of transformers and odd ones, compiled and run, against a sum over
 * every combination of the letters. What no product of matrices can say is refused or goes to the
 * host, and must be right there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "run_job.h"
#include "tap.h"

#define LETTERS	26

struct equation {
	const char *text;	/* letters, one comma at most, an arrow */
	bool on_npu;
};

static const struct equation equations[] = {
	{ "bhqd,bhkd->bhqk", true }, { "bhqk,bhkd->bhqd", true }, { "bqhd,bkhd->bhqk", true },
	{ "bhqk,bkhd->bqhd", true }, { "ij,jk->ik", true }, { "ij,kj->ki", true },
	{ "i,j->ij", true }, { "ij,ij->", true }, { "ij,ij->ij", true }, { "abc,cd->abd", true },
	{ "abc,d->abd", true }, { "ab,cd->", true }, { "abcd->dcba", true }, { "abc->b", true },
	{ "abc->", true }, { "ab,bc->ca", true }, { "aij,ajk->aki", true },
	{ "bnij,bmj->bnmi", true },
	{ "ii->i", false }, { "ij,jj->i", false },
};

static int64_t size_of(char letter)
{
	return 2 + (letter * 7) % 5;
}

/* Offset of an element: the term's letters are its dims, row-major. */
static int64_t offset(const char *term, const int64_t *index)
{
	int64_t at = 0;

	for (; *term >= 'a' && *term <= 'z'; term++)
		at = at * size_of(*term) + index[*term - 'a'];
	return at;
}

static void expect(const char *text, const struct npu_npy *a, const struct npu_npy *b, double *sum)
{
	const char *second = strchr(text, ','), *result = strchr(text, '>') + 1;
	int64_t index[LETTERS] = { 0 };
	bool used[LETTERS] = { false };
	int l;

	for (const char *p = text; p < result; p++)
		if (*p >= 'a' && *p <= 'z')
			used[*p - 'a'] = true;
	do {
		sum[offset(result, index)] +=
			array_at(a, (size_t)offset(text, index)) *
			(second ? array_at(b, (size_t)offset(second + 1, index)) : 1);
		for (l = 0; l < LETTERS; l++) {
			if (!used[l])
				continue;
			if (++index[l] < size_of((char)('a' + l)))
				break;
			index[l] = 0;
		}
	} while (l < LETTERS);
}

static int term_dims(const char *term, int64_t *dims)
{
	int rank = 0;

	for (; *term >= 'a' && *term <= 'z'; term++)
		dims[rank++] = size_of(*term);
	return rank;
}

static void run_equation(const struct equation *e, const void *job, size_t size,
			 struct named_array *in, int num_in)
{
	double *want = calloc(1 << 16, sizeof(*want)), worst = 0;
	struct named_array out[1];
	struct runner r;
	int n = runner_open(&r, job, size);

	if (!n)
		n = runner_run(&r, in, num_in, out, 1);
	if (n != 1 || !want) {
		tap_ok(0, "%s runs: %s", e->text, r.why);
	} else {
		expect(e->text, &in[0].arr, &in[1].arr, want);
		for (size_t i = 0; i < out[0].arr.count; i++)
			worst = fmax(worst, fabs(array_at(&out[0].arr, i) - want[i]) /
						    (1 + fabs(want[i])));
		tap_ok(worst < 1e-5, "%s: off by %.2g", e->text, worst);
		npu_npy_free(&out[0].arr);
	}
	free(want);
	runner_close(&r);
}

static void test_equation(const struct equation *e)
{
	const char *second = strchr(e->text, ',');
	struct npu_compile_result *result = NULL;
	struct npu_compile_options options;
	struct named_array in[2] = { 0 };
	char line[200];
	size_t size, job_size;
	uint8_t *model;
	struct ob b;
	int num_in = second ? 2 : 1, err;

	ob_init(&b, 13);
	for (int i = 0; i < num_in; i++) {
		int64_t dims[8];
		int rank = term_dims(i ? second + 1 : e->text, dims);

		snprintf(in[i].name, sizeof(in[i].name), "%c", 'p' + i);
		ob_input(&b, in[i].name, 1, rank, dims);
		if (array_alloc(&in[i].arr, NPU_NPY_F32, rank, dims))
			return;
		array_random(&in[i].arr, (unsigned int)i + 7, -1, 1);
	}
	snprintf(line, sizeof(line), "e: y = Einsum(p%s) equation='%s'", second ? ", q" : "",
		 e->text);
	ob_node(&b, line);
	ob_output(&b, "y");
	model = ob_finish(&b, &size);
	npu_compile_options_init(&options);
	options.precision = NPU_PRECISION_F32;
	err = npu_compile_onnx(model, size, NULL, &options, &result);
	if (!err) {
		const struct npu_placement *p = npu_compile_placement(result, 0);
		const void *job = npu_compile_job(result, &job_size);

		if (e->on_npu)
			tap_ok(p && strcmp(npu_place_name(p->place), "host"), "%s is on the NPU",
			       e->text);
		run_equation(e, job, job_size, in, num_in);
	} else {
		tap_ok(!e->on_npu && strstr(npu_compile_messages(result), "'e'"),
		       "%s is refused by name: %s", e->text, npu_compile_messages(result));
	}
	npu_compile_result_free(result);
	npu_npy_free(&in[0].arr);
	npu_npy_free(&in[1].arr);
	free(model);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(equations) / sizeof(equations[0]); i++)
		test_equation(&equations[i]);
	return tap_done();
}
