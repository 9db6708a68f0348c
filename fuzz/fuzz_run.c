// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: a job file that is loaded and run to its end, host steps too. The last bytes of
 * the file fill its inputs. A job may fail, but says why; what takes long is cancelled and must
 * then end.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "npu.h"
#include "repair.h"

#define MEMORY	(16u << 20)
#define WORK	200000000u	/* MACs or bytes of streams */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct npu_device *dev;
static struct npu_queue *queue;

static void open_device(void)
{
	struct npu_error err;

	if (!dev && (npu_device_open("sim:threads=1", NULL, &dev, &err) ||
		     npu_queue_create(dev, NULL, &queue, &err)))
		abort();
}

static bool is_small(const struct npu_job *job, unsigned int num_programs)
{
	unsigned int i;

	for (i = 0; i < num_programs; i++) {
		struct npu_program_info p = NPU_INIT(p);

		if (npu_job_program(job, i, &p) || p.macs > WORK || p.bytes > WORK ||
		    p.host_bytes > MEMORY)
			return false;
	}
	return true;
}

/* Each input at its largest lengths, from the end of the file on backwards, over and over. */
static void fill_input(struct npu_run *run, const struct npu_tensor_info *t, const uint8_t *data,
		       size_t size)
{
	uint64_t bytes, i;
	uint8_t *p;

	if (npu_run_set_shape(run, t->name, t->rank, t->max_dim, NULL) ||
	    npu_run_tensor_size(run, t->name, &bytes, NULL) || bytes > MEMORY)
		return;
	p = malloc(bytes + 1);
	for (i = 0; i < bytes; i++)
		p[i] = data[size - 1 - i % size];
	npu_run_write(run, t->name, p, bytes, NULL);
	free(p);
}

static void read_output(struct npu_run *run, const struct npu_tensor_info *t)
{
	int64_t dim[NPU_TENSOR_MAX_RANK];
	unsigned int rank;
	uint64_t bytes;
	void *p;

	if (npu_run_get_shape(run, t->name, &rank, dim, NULL) ||
	    npu_run_tensor_size(run, t->name, &bytes, NULL) || bytes > MEMORY)
		return;
	p = malloc(bytes + 1);
	npu_run_read(run, t->name, p, bytes, NULL);
	free(p);
}

static void submit(struct npu_run *run)
{
	struct npu_submit_options opt = { .size = sizeof(opt),
					  .flags = NPU_SUBMIT_DIGEST | NPU_SUBMIT_PROFILE };
	struct npu_error err = { 0 };
	struct npu_fence *fence;
	int ret = npu_queue_submit(queue, run, &opt, &fence, &err);

	if (!ret) {
		ret = npu_fence_wait(fence, npu_deadline_after(2000000000), &err);
		if (ret == -ETIMEDOUT) {
			npu_fence_cancel(fence);
			ret = npu_fence_wait(fence, NPU_FOREVER, &err);
		}
		npu_fence_put(fence);
	}
	if (ret && !err.text[0])
		abort();	/* a refusal has a reason */
}

static void run_job(struct npu_job *job, const uint8_t *data, size_t size)
{
	struct npu_tensor_info t = NPU_INIT(t);
	struct npu_run *run;
	unsigned int i;

	if (npu_run_create(job, &run, NULL))
		return;
	for (i = 0; !npu_job_tensor(job, 0, i, &t); i++)
		if (t.role == NPU_TENSOR_INPUT)
			fill_input(run, &t, data, size);
	submit(run);
	for (i = 0; !npu_job_tensor(job, 0, i, &t); i++)
		read_output(run, &t);
	npu_run_destroy(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npu_job_info info = NPU_INIT(info);
	struct npu_error err = { 0 };
	uint8_t *copy = malloc(size + 8);
	struct npu_job *job;

	open_device();
	if (!copy || !size) {
		free(copy);
		return 0;
	}
	memcpy(copy, data, size);
	fuzz_repair(copy, size);
	if (npu_job_load_memory(dev, copy, size, "fuzzed", 0, &job, &err)) {
		if (!err.text[0])
			abort();
		free(copy);
		return 0;
	}
	npu_job_info(job, &info);
	if (info.scratch <= MEMORY && info.input <= MEMORY && info.output <= MEMORY &&
	    info.state <= MEMORY && info.weights <= MEMORY && is_small(job, info.num_programs))
		run_job(job, data, size);
	npu_job_unload(job);
	free(copy);
	return 0;
}
