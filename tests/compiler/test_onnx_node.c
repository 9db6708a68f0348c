// SPDX-License-Identifier: MIT
/*
 * ONNX's own conformance tests of single operators: every model is compiled for f32. The tests give
 * weights, shapes and axes as inputs, where real models have constants: a model that is refused is
 * tried again with all inputs but the first, then with all but the second, as initializers. What is
 * refused is counted; what compiles must run and give the expected values. With arguments: only
 * tests whose name contains one of them, and the reasons for refusals are shown.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"
#include "run_job.h"
#include "tap.h"
#include "tools/common/file.h"

#define MAX_IO	16
#define AT_LEAST	560	/* tests that have to pass */

/*
 * Data of these divide by scale * size - 1; ONNX Runtime, like the compiler, by the size of the
 * result - 1.
 */
static const char *const wrong_data[] = {
	"test_resize_downsample_scales_cubic_align_corners",
	"test_resize_downsample_scales_linear_align_corners",
};

enum outcome { PASSED, REFUSED, SKIPPED, FAILED, NUM_OUTCOMES };

static bool verbose;

/*
 * What the models are compiled for, and how far float results may be off: absolute, and relative.
 */
static enum npu_precision precision;
static double tolerance[] = { [NPU_PRECISION_F16] = 4e-3, [NPU_PRECISION_F32] = 1e-4 };

static int npy_from_onnx(int type)
{
	switch (type) {
	case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT: return NPU_NPY_F32;
	case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16: return NPU_NPY_F16;
	case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE: return NPU_NPY_F64;
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT64: return NPU_NPY_I64;
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT32: return NPU_NPY_I32;
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT8: return NPU_NPY_I8;
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT8: return NPU_NPY_U8;
	case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL: return NPU_NPY_BOOL;
	default: return -1;
	}
}

/*
 * The tests store raw data. Returns 0, -ENOENT (no such file) or -ENOTSUP (a type or form that is
 * not compared).
 */
static int read_tensor(const char *path, struct npu_npy *arr)
{
	Onnx__TensorProto *t;
	struct npu_reason why;
	int64_t dims[NPU_NPY_RANK_MAX];
	uint8_t *data;
	size_t size, rank;
	int type, err = npu_file_read(path, 1 << 28, &data, &size, &why);

	if (err)
		return -ENOENT;
	t = onnx__tensor_proto__unpack(NULL, size, data);
	free(data);
	if (!t)
		return -ENOTSUP;
	type = npy_from_onnx(t->data_type);
	rank = t->n_dims;
	err = type < 0 || rank > NPU_NPY_RANK_MAX || !t->has_raw_data ? -ENOTSUP : 0;
	for (size_t i = 0; i < rank && !err; i++)
		dims[i] = t->dims[i];
	if (!err)
		err = array_alloc(arr, (enum npu_npy_type)type, (int)rank, dims);
	if (!err && t->raw_data.len != arr->count * npu_npy_type_size(arr->type))
		err = -ENOTSUP;
	if (!err && arr->count)
		memcpy(arr->data, t->raw_data.data, t->raw_data.len);
	onnx__tensor_proto__free_unpacked(t, NULL);
	return err;
}

/* input_0.pb, input_1.pb, ... in the order of the model's inputs; the same for outputs. */
static int read_set(const char *dir, const char *what, Onnx__ValueInfoProto **info, size_t n,
		    struct named_array *out)
{
	int count = 0;

	for (size_t i = 0; i < n && i < MAX_IO; i++) {
		char path[600];
		int err;

		snprintf(path, sizeof(path), "%s/test_data_set_0/%s_%zu.pb", dir, what, i);
		snprintf(out[count].name, sizeof(out[count].name), "%s", info[i]->name);
		err = read_tensor(path, &out[count].arr);
		if (err == -ENOENT)
			continue;
		count++;
		if (err)
			return err;
	}
	return count;
}

static bool same(const struct npu_npy *got, const struct npu_npy *want, char *text, size_t size)
{
	const bool exact = want->type != NPU_NPY_F32 && want->type != NPU_NPY_F16 &&
			   want->type != NPU_NPY_F64;
	double limit = want->type == NPU_NPY_F16 ? 4e-3 : tolerance[precision], top = 1;

	if (got->type != want->type || got->rank != want->rank || got->count != want->count ||
	    memcmp(got->dims, want->dims, (size_t)want->rank * sizeof(want->dims[0]))) {
		snprintf(text, size,
			 "type %s rank %d with %zu elements, expected %s rank %d with %zu",
			 npu_npy_type_name(got->type), got->rank, got->count,
			 npu_npy_type_name(want->type), want->rank, want->count);
		return false;
	}
	for (size_t i = 0; i < want->count && precision == NPU_PRECISION_F16; i++)
		if (isfinite(array_at(want, i)) && fabs(array_at(want, i)) > top)
			top = fabs(array_at(want, i));
	for (size_t i = 0; i < got->count; i++) {
		double a = array_at(got, i), b = array_at(want, i);

		if (a == b || (isnan(a) && isnan(b)))
			continue;
		if (exact || !(fabs(a - b) <= limit * (top + fabs(b)))) {
			snprintf(text, size, "element %zu is %.9g, expected %.9g", i, a, b);
			return false;
		}
	}
	return true;
}

static enum outcome run_and_compare(const char *name, const void *job, size_t size,
				    const struct named_array *in, int num_in,
				    const struct named_array *want, int num_want)
{
	struct named_array got[MAX_IO];
	enum outcome outcome = PASSED;
	char text[300] = "";
	struct runner r;
	int n = runner_open(&r, job, size);

	if (!n)
		n = runner_run(&r, in, num_in, got, MAX_IO);
	if (n < 0) {
		tap_ok(0, "%s runs: %s", name, r.why);
		outcome = FAILED;
	}
	for (int i = 0; i < num_want && n >= 0; i++) {
		int k = 0;

		while (k < n && strcmp(got[k].name, want[i].name))
			k++;
		if (k < n && same(&got[k].arr, &want[i].arr, text, sizeof(text)))
			continue;
		tap_ok(0, "%s output %s: %s", name, want[i].name, k < n ? text : "missing");
		outcome = FAILED;
	}
	for (int i = 0; i < n; i++)
		npu_npy_free(&got[i].arr);
	runner_close(&r);
	return outcome;
}

static enum outcome compile_and_run(const char *name, const uint8_t *model, size_t size,
				    const struct named_array *in, int num_in,
				    const struct named_array *want, int num_want)
{
	struct npu_compile_options options;
	struct npu_compile_result *result;
	enum outcome outcome = REFUSED;
	size_t job_size;
	int err;

	npu_compile_options_init(&options);
	options.precision = precision;
	err = npu_compile_onnx(model, size, name, &options, &result);
	if (err && !*npu_compile_messages(result)) {
		tap_ok(0, "%s is refused with a reason", name);
		outcome = FAILED;
	}
	if (err && verbose)
		tap_diag("%s", npu_compile_messages(result));
	if (!err) {
		const void *job = npu_compile_job(result, &job_size);

		outcome = run_and_compare(name, job, job_size, in, num_in, want, num_want);
	}
	npu_compile_result_free(result);
	return outcome;
}

/*
 * The model with every input but @keep as an initializer with the test's value; NULL when that
 * changes nothing.
 */
static uint8_t *with_constants(Onnx__ModelProto *m, const struct named_array *in, int num_in,
			       int keep, size_t *size)
{
	Onnx__TensorProto tensor[MAX_IO], *list[2 * MAX_IO], **old = m->graph->initializer;
	size_t n = m->graph->n_initializer, num_old = n;
	uint8_t *data;

	if (num_in < 2 || n > MAX_IO)
		return NULL;
	for (size_t i = 0; i < n; i++)
		list[i] = old[i];
	for (int i = 0; i < num_in; i++) {
		if (i == keep)
			continue;
		onnx__tensor_proto__init(&tensor[i]);
		tensor[i].name = (char *)in[i].name;
		tensor[i].n_dims = (size_t)in[i].arr.rank;
		tensor[i].dims = (int64_t *)in[i].arr.dims;
		tensor[i].has_data_type = 1;
		for (int t = 0; t < 32; t++)
			if (npy_from_onnx(t) == (int)in[i].arr.type)
				tensor[i].data_type = t;
		tensor[i].has_raw_data = 1;
		tensor[i].raw_data.data = in[i].arr.data;
		tensor[i].raw_data.len = in[i].arr.count * npu_npy_type_size(in[i].arr.type);
		list[n++] = &tensor[i];
	}
	m->graph->initializer = list;
	m->graph->n_initializer = n;
	*size = onnx__model_proto__get_packed_size(m);
	data = malloc(*size + 1);
	if (data)
		onnx__model_proto__pack(m, data);
	m->graph->initializer = old;
	m->graph->n_initializer = num_old;
	return data;
}

static enum outcome check_models(const char *name, Onnx__ModelProto *m, const uint8_t *data,
				 size_t size, const struct named_array *in, int num_in,
				 const struct named_array *want, int num_want)
{
	enum outcome outcome = compile_and_run(name, data, size, in, num_in, want, num_want);

	for (int keep = 0; keep < 2 && outcome == REFUSED; keep++) {
		uint8_t *model = with_constants(m, in, num_in, keep, &size);

		if (model)
			outcome = compile_and_run(name, model, size, in + keep, 1, want, num_want);
		free(model);
	}
	return outcome;
}

static enum outcome check_test(const char *dir, const char *name)
{
	struct named_array in[MAX_IO] = { 0 }, want[MAX_IO] = { 0 };
	Onnx__ModelProto *m = NULL;
	enum outcome outcome = SKIPPED;
	struct npu_reason why;
	uint8_t *data = NULL;
	size_t size;
	char path[600];
	int num_in = -1, num_want = -1;

	for (size_t i = 0; i < sizeof(wrong_data) / sizeof(wrong_data[0]); i++)
		if (!strcmp(name, wrong_data[i]))
			return SKIPPED;
	snprintf(path, sizeof(path), "%s/model.onnx", dir);
	if (npu_file_read(path, 1 << 28, &data, &size, &why))
		return SKIPPED;
	m = onnx__model_proto__unpack(NULL, size, data);
	if (m && m->graph) {
		num_in = read_set(dir, "input", m->graph->input, m->graph->n_input, in);
		num_want = read_set(dir, "output", m->graph->output, m->graph->n_output, want);
	}
	if (num_in >= 0 && num_want > 0)
		outcome = check_models(name, m, data, size, in, num_in, want, num_want);
	for (int i = 0; i < MAX_IO; i++) {
		npu_npy_free(&in[i].arr);
		npu_npy_free(&want[i].arr);
	}
	if (m)
		onnx__model_proto__free_unpacked(m, NULL);
	free(data);
	return outcome;
}

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(name, argv[i]))
			return true;
	return argc < 2;
}

static void run_all(int argc, char **argv)
{
	const char *models = getenv("NPU_MODELS"),
		   *type = precision == NPU_PRECISION_F16 ? "f16" : "f32";
	int count[NUM_OUTCOMES] = { 0 };
	struct dirent **entry;
	char base[300], dir[600];
	int n;

	snprintf(base, sizeof(base), "%s/onnx-tests/node", models ? models : "build/models");
	n = scandir(base, &entry, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (*entry[i]->d_name != '.' && wanted(entry[i]->d_name, argc, argv)) {
			snprintf(dir, sizeof(dir), "%s/%s", base, entry[i]->d_name);
			count[check_test(dir, entry[i]->d_name)]++;
		}
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	tap_diag(
		"%s: %d tests passed, %d refused by the compiler, %d not compared (types, data), %d failed",
		type, count[PASSED], count[REFUSED], count[SKIPPED], count[FAILED]);
	if (argc < 2)
		tap_ok(count[PASSED] >= AT_LEAST,
		       "%d operator tests of ONNX pass in %s, at least %d are expected",
		       count[PASSED], type, AT_LEAST);
	tap_ok(!count[FAILED], "nothing that compiles for %s is computed wrongly", type);
}

int main(int argc, char **argv)
{
	verbose = argc > 1;
	precision = NPU_PRECISION_F32;
	run_all(argc, argv);
	precision = NPU_PRECISION_F16;
	run_all(argc, argv);
	return tap_done();
}
