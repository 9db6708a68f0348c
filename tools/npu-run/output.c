// SPDX-License-Identifier: MIT
/* Outputs: to files, the largest values, or a summary. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "npu_host.h"
#include "run.h"
#include "tools/common/file.h"

static const struct { unsigned int dtype; enum npu_npy_type npy;
} npy_types[] = {
	{ NPU_F32, NPU_NPY_F32 },   { NPU_F16, NPU_NPY_F16 }, { NPU_I8, NPU_NPY_I8 },
	{ NPU_U8, NPU_NPY_U8 },	    { NPU_I32, NPU_NPY_I32 }, { NPU_I64, NPU_NPY_I64 },
	{ NPU_BOOL, NPU_NPY_BOOL }, { NPU_HOST_F64, NPU_NPY_F64 }, { NPU_HOST_I16, NPU_NPY_I16 },
	{ NPU_HOST_U16, NPU_NPY_U16 }, { NPU_HOST_U32, NPU_NPY_U32 }, { NPU_HOST_U64, NPU_NPY_U64 },
};

static int write_npy(const char *path, const struct npu_tensor_info *t, void *data)
{
	struct npu_npy arr = { .rank = t->rank, .data = data };
	struct npu_error why;
	size_t i, n = sizeof(npy_types) / sizeof(npy_types[0]);

	for (i = 0; i < n && npy_types[i].dtype != t->dtype; i++)
		;
	if (i == n)
		return fail("%s: .npy has no type for %s of '%s'; write it raw", path,
			    dtype_name(t->dtype), t->name);
	arr.type = npy_types[i].npy;
	for (i = 0; i < t->rank; i++)
		arr.dims[i] = t->min_dim[i];
	return npu_npy_write(path, &arr, &why) ? fail("%s", why.text) : 0;
}

static int write_one(const char *path, const struct npu_tensor_info *t, void *data, size_t size)
{
	size_t n = strlen(path);
	struct npu_error why;

	if (n > 4 && !strcmp(path + n - 4, ".npy"))
		return write_npy(path, t, data);
	return npu_file_write(path, data, size, &why) ? fail("%s", why.text) : 0;
}

/* The largest first; of equal ones the one with the lower index. */
static void print_top(const struct npu_tensor_info *t, const void *data, size_t count,
		      unsigned int top)
{
	size_t *best = calloc(top, sizeof(*best)), n = 0, i, k;

	if (!best)
		return;
	for (i = 0; i < count; i++) {
		double v = element(t->dtype, data, i);

		if (n == top && !(v > element(t->dtype, data, best[n - 1])))
			continue;
		if (n < top)
			n++;
		for (k = n - 1; k > 0 && v > element(t->dtype, data, best[k - 1]); k--)
			best[k] = best[k - 1];
		best[k] = i;
	}
	for (k = 0; k < n; k++)
		say("%s[%zu] = %.6g\n", t->name, best[k], element(t->dtype, data, best[k]));
	free(best);
}

static void print_summary(const struct npu_tensor_info *t, const void *data, size_t count)
{
	double min = INFINITY, max = -INFINITY, sum = 0, v;
	size_t i, nans = 0;
	char dims[128];

	for (i = 0; i < count; i++) {
		v = element(t->dtype, data, i);
		if (isnan(v)) {
			nans++;
			continue;
		}
		min = v < min ? v : min;
		max = v > max ? v : max;
		sum += v;
	}
	if (!count) {
		say("%s %s %s: empty\n", t->name, dtype_name(t->dtype),
		    dims_text(t->rank, t->min_dim, dims));
		return;
	}
	say("%s %s %s: min %.6g max %.6g mean %.6g", t->name, dtype_name(t->dtype),
	    dims_text(t->rank, t->min_dim, dims), min, max, sum / (count - nans));
	if (nans)
		say(", %zu NaN", nans);
	say(", first");
	for (i = 0; i < count && i < 4; i++)
		say(" %.6g", element(t->dtype, data, i));
	say("\n");
}

static int do_output(struct session *s, const struct npu_tensor_info *t, const char *path)
{
	size_t count = 1;
	unsigned int d;
	void *data;
	int ret;

	for (d = 0; d < t->rank; d++)
		count *= t->min_dim[d];
	data = malloc(count * dtype_size(t->dtype) + 1);
	if (!data)
		return fail("no memory for output '%s'", t->name);
	if (npu_run_read(s->run, t->name, data, count * dtype_size(t->dtype), &s->err))
		ret = fail("%s", s->err.text);
	else
		ret = path ? write_one(path, t, data, count * dtype_size(t->dtype)) : 0;
	if (!ret && s->opt->top)
		print_top(t, data, count, s->opt->top);
	else if (!ret && !s->opt->num_output)
		print_summary(t, data, count);
	free(data);
	return ret;
}

int outputs_write(struct session *s)
{
	const struct options *opt = s->opt;
	struct npu_tensor_info t;
	unsigned int i, k, used = 0;

	for (i = 0; session_tensor(s, i, &t); i++) {
		const char *path = NULL;

		if (t.role != NPU_TENSOR_OUTPUT && t.role != NPU_TENSOR_STATE)
			continue;
		for (k = 0; k < opt->num_output; k++) {
			if (strcmp(opt->output[k].name, t.name))
				continue;
			path = opt->output[k].value;
			used++;
		}
		if (t.role == NPU_TENSOR_STATE && !path)
			continue;
		if (do_output(s, &t, path))
			return 1;
	}
	if (used == opt->num_output)
		return 0;
	for (k = 0; k < opt->num_output; k++)
		if (npu_run_get_shape(s->run, opt->output[k].name, &i,
				      (int64_t[NPU_TENSOR_MAX_RANK]){ 0 }, &s->err))
			return fail("--output: %s", s->err.text);
	return fail("--output: an input can not be written");
}
