// SPDX-License-Identifier: MIT
/* One host step of a job: arguments from regions, the call, what came out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/digest.h"
#include "core/object.h"
#include "host/host.h"

/* The arguments of a call, and where they lie. */
struct args {
	struct npu_host_tensor *in, *out;
	struct npu_error *err;
};

static const struct npu_jobfile_program *program_of(const struct npu_work *work)
{
	return &work->job->file->programs[work->program];
}

static int fail(const struct npu_work *work, const struct npu_job_step *step, int code,
		const char *what, struct npu_error *err)
{
	return npu_error_set(err, code, "%s: node '%s' (%s) on the host: %s", work->job->path,
			     step->desc.node, step->desc.op, what);
}

/* Tensor @index as an argument; its region's bytes are there for the host. */
static int open_tensor(const struct npu_work *work, const struct npu_job_step *step, npu_u32 index,
		       struct npu_host_tensor *out, uint64_t *bytes, struct npu_error *err)
{
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], offset, extent;
	const struct npu_jobfile_tensor *t;
	const struct npu_buffer *buf;

	memset(out, 0, sizeof(*out));
	out->name = "";
	if (index == NPU_JOBFILE_ABSENT)
		return 0;
	t = &program_of(work)->tensors[index];
	/* Verified at the smallest and the largest lengths; several symbols leave more between them. */
	if (npu_jobfile_layout(t, work->scalar, dim, stride, &offset, &extent) ||
	    extent > work->region[t->region].size ||
	    offset > work->region[t->region].size - extent)
		return fail(work, step, -EINVAL, "a tensor has no valid shape and place at these lengths",
			    err);
	buf = work->host->buf[t->region];
	if (!buf || !buf->map)
		return fail(work, step, -ENOTSUP, "a buffer can not be seen by the host", err);
	out->name = t->name;
	out->dtype = t->dtype;
	out->rank = t->rank;
	memcpy(out->dim, npu_fence_dims(work->fence)[index], sizeof(out->dim));
	out->data = (char *)buf->map + work->host->offset[t->region] + offset;
	out->present = true;
	*bytes += (uint64_t)npu_host_elems(out) * npu_host_dtype_size(t->dtype);
	return 0;
}

static int sync_tensor(const struct npu_work *work, npu_u32 index, enum npu_sync direction,
		       struct npu_error *err)
{
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], offset, extent;
	const struct npu_jobfile_tensor *t;
	struct npu_buffer *buf;

	if (index == NPU_JOBFILE_ABSENT || !work->job->dev->ops->buffer_sync)
		return 0;
	t = &program_of(work)->tensors[index];
	npu_jobfile_layout(t, work->scalar, dim, stride, &offset, &extent);
	buf = work->host->buf[t->region];
	return work->job->dev->ops->buffer_sync(buf, work->host->offset[t->region] + offset, extent,
						direction, err);
}

static int open_args(const struct npu_work *work, const struct npu_job_step *step, struct args *a,
		     uint64_t *bytes)
{
	const struct npu_jobfile_step *s = &step->desc;
	npu_u32 i;
	int ret = 0;

	for (i = 0; i < s->num_in && !ret; i++) {
		ret = open_tensor(work, step, s->in[i], &a->in[i], bytes, a->err);
		if (!ret)
			ret = sync_tensor(work, s->in[i], NPU_SYNC_FROM_DEVICE, a->err);
	}
	for (i = 0; i < s->num_out && !ret; i++)
		ret = open_tensor(work, step, s->out[i], &a->out[i], bytes, a->err);
	return ret;
}

/* The operator may have lowered the dims of a bounded output, and nothing else. */
static int take_output(const struct npu_work *work, const struct npu_job_step *step, npu_u32 index,
		       const struct npu_host_tensor *out, struct npu_error *err)
{
	int64_t *dims = npu_fence_dims(work->fence)[index];
	const struct npu_jobfile_tensor *t = &program_of(work)->tensors[index];
	npu_u32 d;

	for (d = 0; d < t->rank; d++) {
		if (out->dim[d] < 0 || out->dim[d] > dims[d] ||
		    (out->dim[d] != dims[d] && !(t->flags & NPU_JOBFILE_BOUNDED)))
			return fail(work, step, -EINVAL,
				    "the operator changed the shape of an output to one it can not have", err);
		dims[d] = out->dim[d];
	}
	return sync_tensor(work, index, NPU_SYNC_TO_DEVICE, err);
}

int npu_host_step_run(const struct npu_work *work, const struct npu_job_step *step, uint64_t *bytes,
		      struct npu_error *err)
{
	const struct npu_jobfile_step *s = &step->desc;
	struct npu_host_call call = { .op = step->op, .opset = s->opset, .num_in = s->num_in,
				      .num_out = s->num_out, .num_attr = s->num_attr,
				      .node = s->node, .attr = s->attr, .stop = &work->stop };
	struct npu_error reason = { 0 };
	struct args a = { .err = err };
	npu_u32 i;
	int ret;

	a.in = calloc((size_t)s->num_in + s->num_out + 1, sizeof(*a.in));
	if (!a.in)
		return fail(work, step, -ENOMEM, "no memory for its arguments", err);
	a.out = a.in + s->num_in;
	ret = open_args(work, step, &a, bytes);
	if (!ret) {
		call.in = a.in;
		call.out = a.out;
		ret = npu_host_check_places(&call, &reason);
		if (!ret)
			ret = step->op->run(&call, &reason);
		/* Of a fence the last two mean that the job is under way. */
		if (ret > 0 || ret == -EINPROGRESS || ret == -ETIMEDOUT)
			ret = -EINVAL;
		if (ret)
			npu_error_set(err, ret, "%s: %s", work->job->path,
				      *reason.text ? reason.text : "a host operator failed");
	}
	for (i = 0; i < s->num_out && !ret; i++)
		if (s->out[i] != NPU_JOBFILE_ABSENT)
			ret = take_output(work, step, s->out[i], &a.out[i], err);
	free(a.in);
	return ret;
}

size_t npu_host_step_digest(const struct npu_work *work, const struct npu_job_step *step,
			    struct npu_insn_digest *out)
{
	struct npu_host_tensor t;
	struct npu_xxh64 xxh;
	uint64_t bytes = 0;
	size_t n = 0;
	npu_u32 i;

	for (i = 0; i < step->desc.num_out; i++) {
		if (step->desc.out[i] == NPU_JOBFILE_ABSENT ||
		    open_tensor(work, step, step->desc.out[i], &t, &bytes, NULL))
			continue;
		npu_xxh64_init(&xxh);
		npu_xxh64_update(&xxh, t.data, (size_t)npu_host_elems(&t) * npu_host_dtype_size(t.dtype));
		out[n++] = (struct npu_insn_digest){ .insn = step->first_insn, .tag = step->desc.tag,
						     .opcode = NPU_PROFILE_HOST, .slot = i,
						     .digest = npu_xxh64_final(&xxh) };
	}
	return n;
}
