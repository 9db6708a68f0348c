// SPDX-License-Identifier: MIT
/*
 * A model with an operator that only this program knows: compile it, load it from memory, run it.
 *	cc host_op.c $(pkg-config --cflags --libs libnpu) -o host_op && ./host_op model.onnx
 * The operator is example.Threshold: its f32 input with every element below the attribute "level"
 * as 0.
 */
#include <errno.h>
#include <npu.h>
#include <npu_compiler.h>
#include <npu_host.h>
#include <stdio.h>
#include <stdlib.h>

/* Called when compiling and by threads of libnpu's: it may use its arguments only. */
static int threshold(const struct npu_host_call *call, struct npu_error *err)
{
	double level = npu_host_float(call, "level", 0);
	const float *x = call->in[0].data;
	float *y = call->out[0].data;

	if (level != level)
		return npu_host_fail(call, err, -EINVAL, "attribute level is not a number");
	for (int64_t i = 0; i < npu_host_elems(&call->in[0]); i++)
		y[i] = x[i] < level ? 0 : x[i];
	return 0;
}

/* Type and shape of the output, before there are data. */
static int threshold_infer(const struct npu_host_call *call, struct npu_error *err)
{
	if (call->num_in != 1 || call->num_out != 1 || call->in[0].dtype != NPU_F32)
		return npu_host_fail(call, err, -EINVAL,
				     "one f32 input and one output are expected");
	call->out[0].dtype = NPU_F32;
	call->out[0].rank = call->in[0].rank;
	for (uint32_t i = 0; i < call->in[0].rank; i++)
		call->out[0].dim[i] = call->in[0].dim[i];
	return 0;
}

/* The compiler and the device get the same table. */
static const struct npu_host_op ops[] = {
	{ .domain = "example", .name = "Threshold", .since = 1, .types = "f32", .limits = "",
	  .run = threshold, .infer = threshold_infer },
};

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;
	long end = -1;

	if (f && !fseek(f, 0, SEEK_END) && (end = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET))
		data = malloc((size_t)end + 1);
	if (data && fread(data, 1, (size_t)end, f) != (size_t)end) {
		free(data);
		data = NULL;
	}
	if (data)
		*size = (size_t)end;
	else
		perror(path);
	if (f)
		fclose(f);
	return data;
}

static struct npu_compile_result *compile(const char *path)
{
	struct npu_compile_result *result = NULL;
	struct npu_compile_options options;
	size_t size = 0;
	void *model = read_file(path, &size);

	if (!model)
		return NULL;
	npu_compile_options_init(&options);
	options.host_ops = ops;
	options.num_host_ops = 1;
	if (npu_compile_onnx(model, size, path, &options, &result)) {
		fputs(result ? npu_compile_messages(result) : "out of memory\n", stderr);
		npu_compile_result_free(result);
		result = NULL;
	}
	free(model);
	if (result)
		printf("%s%s\n", npu_compile_report_text(result), npu_compile_summary_text(result));
	return result;
}

/* Elements of f32 tensor @name at the lengths set, and memory for them. */
static int tensor_memory(struct npu_run *run, const char *name, float **data, size_t *count,
			 struct npu_error *err)
{
	int64_t dims[NPU_TENSOR_MAX_RANK];
	unsigned int rank, i;
	int res = npu_run_get_shape(run, name, &rank, dims, err);

	*count = 1;
	for (i = 0; !res && i < rank; i++)
		*count *= (size_t)dims[i];
	*data = res ? NULL : calloc(*count + 1, sizeof(**data));
	if (!res && !*data) {
		snprintf(err->text, sizeof(err->text), "out of memory");
		res = -ENOMEM;
	}
	return res;
}

/* Counts up in the inputs: -2, -1, 0, ... */
static int write_inputs(struct npu_job *job, struct npu_run *run, struct npu_error *err)
{
	struct npu_tensor_info t = NPU_INIT(t);
	size_t count, k;
	float *data;
	int res = 0;

	for (unsigned int i = 0; !res && !npu_job_tensor(job, 0, i, &t); i++) {
		if (t.role != NPU_TENSOR_INPUT)
			continue;
		res = npu_run_set_shape(run, t.name, t.rank, t.max_dim, err);
		if (!res)
			res = tensor_memory(run, t.name, &data, &count, err);
		if (res)
			break;
		for (k = 0; k < count; k++)
			data[k] = (float)k - 2;
		res = npu_run_write(run, t.name, data, count * sizeof(*data), err);
		free(data);
	}
	return res;
}

/* The first values of each output. */
static int print_outputs(struct npu_job *job, struct npu_run *run, struct npu_error *err)
{
	struct npu_tensor_info t = NPU_INIT(t);
	size_t count, k;
	float *data;
	int res = 0;

	for (unsigned int i = 0; !res && !npu_job_tensor(job, 0, i, &t); i++) {
		if (t.role != NPU_TENSOR_OUTPUT)
			continue;
		res = tensor_memory(run, t.name, &data, &count, err);
		if (res)
			break;
		res = npu_run_read(run, t.name, data, count * sizeof(*data), err);
		printf("%s:", t.name);
		for (k = 0; !res && k < count && k < 8; k++)
			printf(" %g", data[k]);
		printf("\n");
		free(data);
	}
	return res;
}

static int run_once(struct npu_device *dev, struct npu_job *job, struct npu_error *err)
{
	struct npu_queue *queue = NULL;
	struct npu_fence *fence = NULL;
	struct npu_run *run = NULL;
	int res = npu_queue_create(dev, NULL, &queue, err);

	if (!res)
		res = npu_run_create(job, &run, err);
	if (!res)
		res = write_inputs(job, run, err);
	if (!res)
		res = npu_queue_submit(queue, run, NULL, &fence, err);
	if (!res)
		res = npu_fence_wait(fence, npu_deadline_after(10000000000u), err);
	if (!res)
		res = print_outputs(job, run, err);
	npu_fence_put(fence);
	npu_run_destroy(run);
	npu_queue_destroy(queue);
	return res;
}

int main(int argc, char **argv)
{
	struct npu_device_options options = NPU_INIT(options);
	struct npu_compile_result *result;
	struct npu_device *dev = NULL;
	struct npu_job *job = NULL;
	struct npu_error err;
	const void *bytes;
	size_t size;
	int res;

	result = compile(argc > 1 ? argv[1] : "model.onnx");
	if (!result)
		return 1;
	bytes = npu_compile_job(result, &size);
	options.host_ops = ops;
	options.num_host_ops = 1;
	res = npu_device_open(NULL, &options, &dev, &err);
	if (!res)
		res = npu_job_load_memory(dev, bytes, size, argc > 1 ? argv[1] : "model.onnx", 0,
					  &job, &err);
	npu_compile_result_free(result);
	if (!res)
		res = run_once(dev, job, &err);
	if (res)
		fprintf(stderr, "%s\n", err.text);
	npu_job_unload(job);
	npu_device_close(dev);
	return !!res;
}
