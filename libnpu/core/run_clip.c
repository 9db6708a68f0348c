// SPDX-License-Identifier: MIT
/* Counters of clipped values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/jobfile.h"
#include "core/object.h"

/* Clearly more: three times the share of calibration and half a percent besides. */
#define SUSPICIOUS_TIMES	3
#define SUSPICIOUS_MORE		0.005

/*
 * The state tensor with the counters, or NULL. Its dims have one value, so that the file's checks
 * have bounded them.
 */
static const struct npu_jobfile_tensor *counters(const struct npu_jobfile_program *prog)
{
	for (npu_u32 t = 0; t < prog->num_tensors; t++) {
		const struct npu_jobfile_tensor *c = &prog->tensors[t];

		if (c->role == NPU_TENSOR_STATE && c->dtype == NPU_I64 && c->rank == 2 &&
		    !strcmp(c->name, NPU_CLIP_TENSOR) && npu_jobfile_is_fixed(&c->dim[0]) &&
		    npu_jobfile_is_fixed(&c->dim[1]) && c->dim[1].base == 3)
			return c;
	}
	return NULL;
}

static const struct npu_jobfile_tensor *counter(const struct npu_jobfile_program *prog,
						npu_u32 region, unsigned int index)
{
	for (npu_u32 t = 0; t < prog->num_tensors; t++) {
		const struct npu_jobfile_tensor *c = &prog->tensors[t];

		if (c->role == NPU_TENSOR_INTERNAL && c->region == region &&
		    npu_jobfile_is_fixed(&c->offset) && !index--)
			return c;
	}
	return NULL;
}

/* The share that calibration noted, or -1. */
static double calibrated(const struct npu_jobfile *file, const char *tensor)
{
	const size_t prefix = strlen(NPU_CLIP_RECORD);

	for (npu_u32 i = 0; i < file->num_records; i++) {
		const struct npu_jobfile_record *r = &file->records[i];

		if (!strncmp(r->key, NPU_CLIP_RECORD, prefix) && !strcmp(r->key + prefix, tensor))
			return (double)strtoull(r->value, NULL, 10) / 1e9;
	}
	return -1;
}

int npu_run_clipped(struct npu_run *run, unsigned int index, struct npu_clip_info *info,
		    struct npu_error *err)
{
	const struct npu_jobfile_program *prog;
	const struct npu_jobfile_tensor *all, *one;
	struct npu_clip_info out = NPU_INIT(out);
	npu_s64 *data;
	npu_u64 rows, at, clipped;
	int ret;

	if (!info || npu_struct_write(info, info->size, &out, sizeof(out)))
		return npu_error_set(err, -EINVAL,
				     "npu_clip_info: size is not set, see NPU_INIT()");
	ret = npu_run_choose(run, err);
	if (ret)
		return ret;
	prog = &run->job->file->programs[run->program];
	all = counters(prog);
	one = all ? counter(prog, all->region, index) : NULL;
	if (!one)
		return npu_error_set(err, -ENOENT, "%s: no counter %u of clipped values",
				     run->job->path, index);
	if (!run->fence)
		return npu_error_set(err, -ENODATA, "%s: nothing was submitted at these lengths",
				     run->job->path);
	rows = (npu_u64)all->dim[0].base;
	at = (npu_u64)one->offset.base / sizeof(*data);
	data = at + 3 <= 3 * rows ? malloc(3 * rows * sizeof(*data)) : NULL;
	if (!data)
		return npu_error_set(err, -ENOMEM, "%s: no memory", run->job->path);
	ret = npu_run_read(run, NPU_CLIP_TENSOR, data, 3 * rows * sizeof(*data), err);
	if (!ret) {
		/* a range that ends at zero has all its zeros there: that end says nothing */
		clipped = (npu_u64)(one->zero_point > 0 ? data[at] : 0) +
			  (npu_u64)(one->zero_point < 255 ? data[at + 1] : 0);
		out.looked_at = (npu_u64)data[at + 2];
		out.share = out.looked_at ? (double)clipped / (double)out.looked_at : 0;
		out.calibrated = calibrated(run->job->file, one->name);
		out.suspicious = out.calibrated >= 0 &&
				 out.share > SUSPICIOUS_TIMES * out.calibrated + SUSPICIOUS_MORE;
		out.tensor = one->name;
		out.node = one->node;
		npu_struct_write(info, info->size, &out, sizeof(out));
	}
	free(data);
	return ret;
}
