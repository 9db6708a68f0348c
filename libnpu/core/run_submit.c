// SPDX-License-Identifier: MIT
/* From a run to a submit: the region table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/object.h"

static void use_buffer(struct npu_work *work, npu_u32 region, struct npu_buffer *buf,
		       npu_u64 offset)
{
	work->region[region].base = buf->va + offset;
	if (work->host) {
		work->host->buf[region] = buf;
		work->host->offset[region] = offset;
	}
	work->bufs[work->num_bufs++] = npu_buffer_get(buf);
}

static int place_scratch(struct npu_run *run, npu_u32 region, npu_u64 size, struct npu_error *err)
{
	struct npu_buffer **buf = &run->scratch[region];
	int ret;

	if (*buf && (*buf)->size >= size)
		return 0;
	npu_buffer_put(*buf);
	*buf = NULL;
	ret = npu_buffer_create(run->job->dev, size, 0, buf, err);
	return ret ? npu_error_prefix(err, ret, "%s: scratch memory", run->job->path) : 0;
}

static int place_region(struct npu_run *run, npu_u32 i, struct npu_work *work,
			struct npu_error *err)
{
	const struct npu_jobfile_region *r = &run->job->file->programs[run->program].regions[i];
	npu_u64 size;
	int ret;

	if (npu_jobfile_eval(&r->size, run->scalar, &size))
		return npu_error_set(err, -EINVAL,
				     "%s: region %u has no valid size at these lengths",
				     run->job->path, i);
	work->region[i] = (struct npu_region){ .size = size, .access = r->access };
	if (!size)
		return 0;
	if (r->role == NPU_REGION_WEIGHTS) {
		use_buffer(work, i, run->job->weights, r->offset);
	} else if (r->role == NPU_REGION_SRAM) {
		work->region[i].base = r->offset;
	} else if (r->role == NPU_REGION_SCRATCH) {
		ret = place_scratch(run, i, size, err);
		if (ret)
			return ret;
		use_buffer(work, i, run->scratch[i], 0);
	}
	return 0;
}

static int place_tensors(struct npu_run *run, struct npu_work *work, struct npu_error *err)
{
	const struct npu_jobfile_program *prog = &run->job->file->programs[run->program];
	npu_u32 n, t, region;
	int ret;

	for (n = 0; n < run->job->num_names; n++) {
		t = run->job->names[n].tensor[run->program];
		if (t == ~0u)
			continue;
		region = prog->tensors[t].region;
		ret = npu_run_place_sized(run, n, work->region[region].size, err);
		if (ret)
			return ret;
		use_buffer(work, region, run->slot[n].buf, run->slot[n].offset);
	}
	return 0;
}

/* The table of dims begins with the bounds; host steps put in what they find out. */
static int prepare_host(struct npu_run *run, struct npu_work *work, struct npu_error *err)
{
	const struct npu_jobfile_program *prog = &run->job->file->programs[run->program];
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], offset, extent;
	int64_t (*dims)[NPU_TENSOR_MAX_RANK] = calloc(prog->num_tensors + 1, sizeof(*dims));
	npu_u32 i, d;

	npu_fence_set_dims(work->fence, dims);
	work->host = calloc(1, sizeof(*work->host));
	if (!dims || !work->host)
		return npu_error_set(err, -ENOMEM, "%s: no memory for a submit", run->job->path);
	npu_fence_set_soft(work->fence);
	for (i = 0; i < prog->num_tensors; i++) {
		if (npu_jobfile_layout(&prog->tensors[i], run->scalar, dim, stride, &offset,
				       &extent))
			return npu_error_set(err, -EINVAL,
					     "%s: '%s' has no valid shape at these lengths",
					     run->job->path, prog->tensors[i].name);
		for (d = 0; d < prog->tensors[i].rank; d++)
			dims[i][d] = (int64_t)dim[d];
	}
	return 0;
}

static int fill_work(struct npu_run *run, struct npu_work *work, struct npu_error *err)
{
	npu_u32 i;
	int ret;

	work->job = npu_job_get(run->job);
	work->program = run->program;
	if (run->job->programs[run->program].has_host) {
		ret = prepare_host(run, work, err);
		if (ret)
			return ret;
	} else {
		work->code = run->job->programs[run->program].steps[0].code;
		npu_ref_take(&work->code->refs);
	}
	memcpy(work->scalar, run->scalar, sizeof(work->scalar));
	for (i = 0; i < work->num_regions; i++) {
		ret = place_region(run, i, work, err);
		if (ret)
			return ret;
	}
	return place_tensors(run, work, err);
}

int npu_queue_submit(struct npu_queue *queue, struct npu_run *run,
		     const struct npu_submit_options *options, struct npu_fence **fence,
		     struct npu_error *err)
{
	struct npu_submit_options opt;
	struct npu_fence *before;
	struct npu_work *work;
	npu_u32 num_regions;
	int ret;

	if (fence)
		*fence = NULL;
	if (queue->dev != run->job->dev)
		return npu_error_set(err, -EINVAL, "%s: run and queue are of different devices",
				     run->job->path);
	ret = npu_run_check_idle(run, err);
	if (!ret)
		ret = npu_submit_options_read(queue->dev, options, &opt, err);
	if (!ret)
		ret = npu_run_choose(run, err);
	if (ret)
		return ret;
	num_regions = run->job->file->programs[run->program].num_regions;
	/* At most one buffer per region. */
	work = npu_work_create(queue, &opt, num_regions, num_regions, err);
	if (!work)
		return -ENOMEM;
	ret = fill_work(run, work, err);
	if (ret) {
		npu_work_destroy(work);
		return ret;
	}
	/*
	 * The job's callback may hand the run to its next submit before this returns: the run is
	 * not touched any more then.
	 */
	before = run->fence;
	run->fence = npu_fence_get(work->fence);
	ret = npu_work_submit(work, fence, err);
	if (ret) {
		npu_fence_put(run->fence);
		run->fence = before;
		return ret;
	}
	npu_fence_put(before);
	return 0;
}
