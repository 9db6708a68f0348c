// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/run.h"
#include "npu_host.h"
#include "run_job.h"

int array_alloc(struct npu_npy *arr, enum npu_npy_type type, int rank, const int64_t *dims)
{
	memset(arr, 0, sizeof(*arr));
	arr->type = type;
	arr->rank = rank;
	arr->count = 1;
	for (int i = 0; i < rank; i++) {
		arr->dims[i] = dims[i];
		arr->count *= (size_t)dims[i];
	}
	arr->data = calloc(arr->count + 1, npu_npy_type_size(type));
	return arr->data ? 0 : -ENOMEM;
}

void array_random(struct npu_npy *arr, unsigned int seed, float low, float high)
{
	uint64_t s = seed * 0x9e3779b97f4a7c15ull + 1;

	for (size_t i = 0; i < arr->count; i++) {
		s = s * 6364136223846793005ull + 1442695040888963407ull;
		((float *)arr->data)[i] = low + (high - low) * (float)(s >> 40) / 16777216.0f;
	}
}

static float half_value(uint16_t h)
{
	int exp = (h >> 10) & 31, mant = h & 1023;
	float v = exp == 31 ? (mant ? NAN : INFINITY) :
		  exp	    ? ldexpf((float)(mant + 1024), exp - 25) :
			      ldexpf((float)mant, -24);

	return h & 0x8000 ? -v : v;
}

double array_at(const struct npu_npy *arr, size_t i)
{
	switch (arr->type) {
	case NPU_NPY_F32: return ((const float *)arr->data)[i];
	case NPU_NPY_F16: return half_value(((const uint16_t *)arr->data)[i]);
	case NPU_NPY_F64: return ((const double *)arr->data)[i];
	case NPU_NPY_I64: return (double)((const int64_t *)arr->data)[i];
	case NPU_NPY_I32: return ((const int32_t *)arr->data)[i];
	case NPU_NPY_I16: return ((const int16_t *)arr->data)[i];
	case NPU_NPY_I8: return ((const int8_t *)arr->data)[i];
	case NPU_NPY_U64: return (double)((const uint64_t *)arr->data)[i];
	case NPU_NPY_U32: return ((const uint32_t *)arr->data)[i];
	case NPU_NPY_U16: return ((const uint16_t *)arr->data)[i];
	case NPU_NPY_U8:
	case NPU_NPY_BOOL: return ((const uint8_t *)arr->data)[i];
	default: return NAN;
	}
}

void array_compare(const struct npu_npy *got, const struct npu_npy *want, struct difference *diff)
{
	*diff = (struct difference){ 0, 0, 0 };
	if (got->count != want->count) {
		diff->max = diff->rms = INFINITY;
		return;
	}
	for (size_t i = 0; i < got->count; i++) {
		double a = array_at(got, i), b = array_at(want, i), d = fabs(a - b);

		if (a == b || (isnan(a) && isnan(b)))
			d = 0;
		if (isnan(d))
			d = INFINITY;
		diff->max = d > diff->max ? d : diff->max;
		diff->rms += d * d;
		if (isfinite(b) && fabs(b) > diff->top)
			diff->top = fabs(b);
	}
	diff->rms = got->count ? sqrt(diff->rms / (double)got->count) : 0;
}

/*
 * One device for all runs of the process: starting threads for each would take longer than most of
 * the models do.
 */
static struct npu_device *shared_dev;
static pid_t shared_by;

static void close_shared(void)
{
	npu_device_close(shared_dev);
}

static int open_shared(struct npu_error *err)
{
	int ret;

	if (shared_dev && shared_by == getpid())
		return 0;
	ret = npu_device_open("sim", NULL, &shared_dev, err);
	if (!ret && !shared_by)
		atexit(close_shared);
	shared_by = getpid();
	return ret;
}

int runner_open(struct runner *r, const void *job, size_t size)
{
	struct npu_error err = { 0 };
	int ret;

	memset(r, 0, sizeof(*r));
	ret = open_shared(&err);
	if (!ret)
		ret = npu_queue_create(shared_dev, NULL, &r->queue, &err);
	if (!ret)
		ret = npu_job_load_memory(shared_dev, job, size, "test", 0, &r->job, &err);
	if (!ret)
		ret = npu_run_create(r->job, &r->run, &err);
	snprintf(r->why, sizeof(r->why), "%s", err.text);
	return ret;
}

static enum npu_npy_type npy_type(uint32_t dtype)
{
	switch (dtype) {
	case NPU_F32: return NPU_NPY_F32;
	case NPU_F16: return NPU_NPY_F16;
	case NPU_BF16: return NPU_NPY_U16;	/* its bits: NumPy has no such type */
	case NPU_I64: return NPU_NPY_I64;
	case NPU_I32: return NPU_NPY_I32;
	case NPU_I8: return NPU_NPY_I8;
	case NPU_BOOL: return NPU_NPY_BOOL;
	case NPU_HOST_F64: return NPU_NPY_F64;
	case NPU_HOST_I16: return NPU_NPY_I16;
	case NPU_HOST_U16: return NPU_NPY_U16;
	case NPU_HOST_U32: return NPU_NPY_U32;
	case NPU_HOST_U64: return NPU_NPY_U64;
	default: return NPU_NPY_U8;
	}
}

static int read_outputs(struct runner *r, struct named_array *out, int max, struct npu_error *err)
{
	uint32_t scalars[16];
	unsigned int program = 0;
	int n = 0, ret = npu_run_program(r->run, &program, scalars, err);

	for (unsigned int i = 0; !ret; i++) {
		struct npu_tensor_info info = NPU_INIT(info);
		int64_t dims[NPU_TENSOR_MAX_RANK];
		unsigned int rank;

		if (npu_job_tensor(r->job, program, i, &info))
			break;
		if (info.role != NPU_TENSOR_OUTPUT)
			continue;
		if (n == max)
			return -ENOSPC;
		ret = npu_run_get_shape(r->run, info.name, &rank, dims, err);
		if (ret)
			break;
		snprintf(out[n].name, sizeof(out[n].name), "%s", info.name);
		ret = array_alloc(&out[n].arr, npy_type(info.dtype), (int)rank, dims);
		if (ret)
			break;
		ret = npu_run_read(r->run, info.name, out[n].arr.data,
				   out[n].arr.count * npu_npy_type_size(out[n].arr.type), err);
		n++;
	}
	return ret ? ret : n;
}

int runner_run(struct runner *r, const struct named_array *in, int num_in, struct named_array *out,
	       int max)
{
	struct npu_error err = { 0 };
	int ret = 0;

	for (int i = 0; i < num_in && !ret; i++)
		ret = npu_run_set_shape(r->run, in[i].name, (unsigned int)in[i].arr.rank,
					in[i].arr.dims, &err);
	for (int i = 0; i < num_in && !ret; i++)
		ret = npu_run_write(r->run, in[i].name, in[i].arr.data,
				    in[i].arr.count * npu_npy_type_size(in[i].arr.type), &err);
	if (!ret)
		ret = run_and_wait(r->queue, r->run, &err);
	if (!ret)
		ret = read_outputs(r, out, max, &err);
	snprintf(r->why, sizeof(r->why), "%s", err.text);
	return ret;
}

void runner_close(struct runner *r)
{
	npu_run_destroy(r->run);
	npu_job_unload(r->job);
	npu_queue_destroy(r->queue);
	memset(r, 0, sizeof(*r));
}
