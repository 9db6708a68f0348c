// SPDX-License-Identifier: MIT
/* One host step of a job: arguments from regions, the call, what came out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/digest.h"
#include "core/host_step.h"
#include "core/object.h"
#include "host/host.h"

/* A call on its way. */
struct step {
	const struct npu_host_frame *f;
	const struct npu_jobfile_step *desc;
	struct npu_host_tensor *in, *out;
	struct npu_error *err;
};

static int fail(const struct step *s, int code, const char *what)
{
	return npu_error_set(s->err, code, "%s: node '%s' (%s) on the host: %s", s->f->path,
			     s->desc->node, s->desc->op, what);
}

/* Tensor @index as an argument; its region's bytes are there for the host. */
static int open_tensor(const struct step *s, npu_u32 index, struct npu_host_tensor *out,
		       uint64_t *bytes)
{
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], offset, extent;
	const struct npu_host_frame *f = s->f;
	const struct npu_jobfile_tensor *t;
	struct npu_buffer *buf;
	void *map;

	memset(out, 0, sizeof(*out));
	out->name = "";
	if (index == NPU_JOBFILE_ABSENT)
		return 0;
	t = &f->program->tensors[index];
	/*
	 * Verified at the smallest and the largest lengths; several symbols leave more between
	 * them.
	 */
	if (npu_jobfile_layout(t, f->scalar, dim, stride, &offset, &extent) ||
	    extent > f->region[t->region].size || offset > f->region[t->region].size - extent)
		return fail(s, -EINVAL, "a tensor has no valid shape and place at these lengths");
	buf = f->buf[t->region];
	if (!buf || npu_buffer_host(buf, &map, NULL))
		return fail(s, -ENOTSUP, "a buffer can not be seen by the host");
	out->name = t->name;
	out->dtype = t->dtype;
	out->rank = t->rank;
	memcpy(out->dim, f->dims[index], sizeof(out->dim));
	out->data = (char *)map + f->offset[t->region] + offset;
	out->present = true;
	*bytes += (uint64_t)npu_host_elems(out) * npu_host_dtype_size(t->dtype);
	return 0;
}

static int sync_tensor(const struct step *s, npu_u32 index, enum npu_sync direction)
{
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], offset, extent;
	const struct npu_host_frame *f = s->f;
	const struct npu_jobfile_tensor *t;
	struct npu_buffer *buf;

	if (index == NPU_JOBFILE_ABSENT)
		return 0;
	t = &f->program->tensors[index];
	buf = f->buf[t->region];
	npu_jobfile_layout(t, f->scalar, dim, stride, &offset, &extent);
	return npu_buffer_agree(buf, f->offset[t->region] + offset, extent, direction, s->err);
}

static int open_args(struct step *s, uint64_t *bytes)
{
	npu_u32 i;
	int ret = 0;

	for (i = 0; i < s->desc->num_in && !ret; i++) {
		ret = open_tensor(s, s->desc->in[i], &s->in[i], bytes);
		if (!ret)
			ret = sync_tensor(s, s->desc->in[i], NPU_SYNC_FROM_DEVICE);
	}
	for (i = 0; i < s->desc->num_out && !ret; i++)
		ret = open_tensor(s, s->desc->out[i], &s->out[i], bytes);
	return ret;
}

/* The operator may have lowered the dims of a bounded output, and nothing else. */
static int take_output(const struct step *s, npu_u32 index, const struct npu_host_tensor *out)
{
	const struct npu_jobfile_tensor *t = &s->f->program->tensors[index];
	int64_t *dims = s->f->dims[index];
	npu_u32 d;

	for (d = 0; d < t->rank; d++) {
		if (out->dim[d] < 0 || out->dim[d] > dims[d] ||
		    (out->dim[d] != dims[d] && !(t->flags & NPU_JOBFILE_BOUNDED)))
			return fail(s, -EINVAL,
				    "the operator changed the shape of an output to one it can not have");
		dims[d] = out->dim[d];
	}
	return sync_tensor(s, index, NPU_SYNC_TO_DEVICE);
}

static int call_op(const struct step *s, const struct npu_host_op *op)
{
	const struct npu_jobfile_step *d = s->desc;
	struct npu_host_call call = { .op = op, .opset = d->opset, .num_in = d->num_in,
				      .num_out = d->num_out, .num_attr = d->num_attr,
				      .node = d->node, .attr = d->attr, .stop = s->f->stop,
				      .in = s->in, .out = s->out };
	struct npu_error reason = { 0 };
	int ret = npu_host_check_places(&call, &reason);

	if (!ret)
		ret = op->run(&call, &reason);
	/* Of a fence the last two mean that the job is under way. */
	if (ret > 0 || ret == -EINPROGRESS || ret == -ETIMEDOUT)
		ret = -EINVAL;
	if (ret)
		npu_error_set(s->err, ret, "%s: %s", s->f->path,
			      *reason.text ? reason.text : "a host operator failed");
	return ret;
}

int npu_host_frame_run(const struct npu_host_frame *f, const struct npu_jobfile_step *desc,
		       const struct npu_host_op *op, uint64_t *bytes, struct npu_error *err)
{
	struct step s = { .f = f, .desc = desc, .err = err };
	npu_u32 i;
	int ret;

	s.in = calloc((size_t)desc->num_in + desc->num_out + 1, sizeof(*s.in));
	if (!s.in)
		return fail(&s, -ENOMEM, "no memory for its arguments");
	s.out = s.in + desc->num_in;
	ret = open_args(&s, bytes);
	if (!ret)
		ret = call_op(&s, op);
	for (i = 0; i < desc->num_out && !ret; i++)
		if (desc->out[i] != NPU_JOBFILE_ABSENT)
			ret = take_output(&s, desc->out[i], &s.out[i]);
	free(s.in);
	return ret;
}

/* ---- steps of submitted work ----------------------------------------------------------------- */

static struct npu_host_frame frame_of(const struct npu_work *work)
{
	return (struct npu_host_frame){
		.path = work->job->path, .program = &work->job->file->programs[work->program],
		.scalar = work->scalar, .buf = work->host->buf, .offset = work->host->offset,
		.region = work->region, .dims = npu_fence_dims(work->fence), .stop = &work->stop,
	};
}

int npu_host_step_run(const struct npu_work *work, const struct npu_job_step *step, uint64_t *bytes,
		      struct npu_error *err)
{
	const struct npu_host_frame f = frame_of(work);

	return npu_host_frame_run(&f, &step->desc, step->op, bytes, err);
}

size_t npu_host_step_digest(const struct npu_work *work, const struct npu_job_step *step,
			    struct npu_insn_digest *out)
{
	const struct npu_host_frame f = frame_of(work);
	const struct step s = { .f = &f, .desc = &step->desc };
	struct npu_host_tensor t;
	struct npu_xxh64 xxh;
	uint64_t bytes = 0;
	size_t n = 0;
	npu_u32 i;

	for (i = 0; i < step->desc.num_out; i++) {
		if (step->desc.out[i] == NPU_JOBFILE_ABSENT ||
		    open_tensor(&s, step->desc.out[i], &t, &bytes))
			continue;
		npu_xxh64_init(&xxh, 0);
		npu_xxh64_update(&xxh, t.data,
				 (size_t)npu_host_elems(&t) * npu_host_dtype_size(t.dtype));
		out[n++] = (struct npu_insn_digest){ .insn = step->first_insn,
						     .tag = step->desc.tag,
						     .opcode = NPU_PROFILE_HOST, .slot = i,
						     .digest = npu_xxh64_final(&xxh) };
	}
	return n;
}
