// SPDX-License-Identifier: MIT
/* Runs: lengths, memory and data of one binding of a job. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/object.h"
#include "npu_isa_desc.h"

#define ULL(v)	((unsigned long long)(v))

int npu_run_create(struct npu_job *job, struct npu_run **run, struct npu_error *err)
{
	struct npu_run *r;
	int ret;

	if (!run)
		return npu_error_set(err, -EINVAL, "npu_run_create: run is NULL");
	*run = NULL;
	ret = npu_device_check(job->dev, err);
	if (ret)
		return ret;
	r = calloc(1, sizeof(*r));
	if (r)
		r->slot = calloc(job->num_names + 1, sizeof(*r->slot));
	if (!r || !r->slot) {
		free(r);
		return npu_error_set(err, -ENOMEM, "%s: no memory for a run", job->path);
	}
	r->job = npu_job_get(job);
	*run = r;
	return 0;
}

void npu_run_destroy(struct npu_run *run)
{
	npu_u32 i;

	if (!run || !npu_device_is_ours(run->job->dev))
		return;
	for (i = 0; i < run->job->num_names; i++)
		npu_buffer_put(run->slot[i].buf);
	for (i = 0; i < NPU_MAX_REGIONS; i++)
		npu_buffer_put(run->scratch[i]);
	npu_fence_put(run->fence);
	npu_job_put(run->job);
	free(run->slot);
	free(run);
}

int npu_run_check_idle(struct npu_run *run, struct npu_error *err)
{
	int ret = npu_device_check(run->job->dev, err);

	if (ret)
		return ret;
	if (run->fence && npu_fence_status(run->fence) == -EINPROGRESS)
		return npu_error_set(err, -EBUSY, "%s: the run is in flight; wait for its fence",
				     run->job->path);
	return 0;
}

int npu_run_find_idle(struct npu_run *run, const char *tensor, npu_u32 *name,
		      struct npu_error *err)
{
	int ret = npu_run_check_idle(run, err);

	return ret ? ret : npu_job_find_name(run->job, tensor, name, err);
}

void npu_run_forget(struct npu_run *run)
{
	run->resolved = false;
	npu_fence_put(run->fence);
	run->fence = NULL;
}

int npu_run_set_shape(struct npu_run *run, const char *tensor, unsigned int rank,
		      const int64_t *dims, struct npu_error *err)
{
	struct npu_run_slot old, *slot;
	npu_u32 name;
	int ret;

	ret = npu_run_find_idle(run, tensor, &name, err);
	if (ret)
		return ret;
	if (rank > NPU_TENSOR_MAX_RANK || (rank && !dims))
		return npu_error_set(err, -EINVAL, "%s: '%s' can not have rank %u, the limit is %u",
				     run->job->path, tensor, rank, NPU_TENSOR_MAX_RANK);
	slot = &run->slot[name];
	old = *slot;
	slot->has_shape = true;
	slot->rank = rank;
	if (rank)
		memcpy(slot->dim, dims, rank * sizeof(*dims));
	ret = npu_run_check_shape(run, name, err);
	if (ret) {
		*slot = old;
		return ret;
	}
	if (!old.has_shape || old.rank != rank || memcmp(old.dim, slot->dim, rank * sizeof(*dims)))
		npu_run_forget(run);
	return 0;
}

/* The tensor of a name in the chosen program. */
static int find_tensor(struct npu_run *run, const char *tensor, npu_u32 *name,
		       const struct npu_jobfile_tensor **t, struct npu_error *err)
{
	npu_u32 i;
	int ret;

	ret = npu_job_find_name(run->job, tensor, name, err);
	if (!ret)
		ret = npu_run_choose(run, err);
	if (ret)
		return ret;
	i = run->job->names[*name].tensor[run->program];
	if (i == ~0u)
		return npu_error_set(err, -ENOENT,
				     "%s: program %u, which the shapes chose, has no '%s'",
				     run->job->path, run->program, tensor);
	*t = &run->job->file->programs[run->program].tensors[i];
	return 0;
}

/* The dims that the last run found out for a bounded tensor; NULL: none yet, or it is not one. */
static const int64_t *found_dims(const struct npu_run *run, const struct npu_jobfile_tensor *t)
{
	const struct npu_jobfile_program *prog = &run->job->file->programs[run->program];
	int64_t (*dims)[NPU_TENSOR_MAX_RANK];

	if (!(t->flags & NPU_JOBFILE_BOUNDED) || !run->fence || npu_fence_status(run->fence))
		return NULL;
	dims = npu_fence_dims(run->fence);
	return dims ? dims[t - prog->tensors] : NULL;
}

int npu_run_get_shape(struct npu_run *run, const char *tensor, unsigned int *rank, int64_t *dims,
		      struct npu_error *err)
{
	const struct npu_jobfile_tensor *t;
	const int64_t *found;
	npu_u32 name, d;
	npu_u64 v;
	int ret;

	ret = find_tensor(run, tensor, &name, &t, err);
	if (ret)
		return ret;
	if (!rank || !dims)
		return npu_error_set(err, -EINVAL, "npu_run_get_shape: %s is NULL",
				     rank ? "dims" : "rank");
	found = found_dims(run, t);
	for (d = 0; d < t->rank; d++) {
		if (found) {
			dims[d] = found[d];
			continue;
		}
		if (npu_jobfile_eval(&t->dim[d], run->scalar, &v))
			return npu_error_set(err, -EINVAL, "%s: '%s' has no valid dim %u",
					     run->job->path, tensor, d);
		dims[d] = v;
	}
	*rank = t->rank;
	return 0;
}

static int region_size(const struct npu_run *run, npu_u32 region, npu_u64 *size,
		       struct npu_error *err)
{
	const struct npu_jobfile_program *prog = &run->job->file->programs[run->program];

	if (!npu_jobfile_eval(&prog->regions[region].size, run->scalar, size))
		return 0;
	return npu_error_set(err, -EINVAL, "%s: region %u has no valid size", run->job->path,
			     region);
}

int npu_run_tensor_size(struct npu_run *run, const char *tensor, uint64_t *bytes,
			struct npu_error *err)
{
	const struct npu_jobfile_tensor *t;
	npu_u32 name;
	npu_u64 size;
	int ret;

	ret = find_tensor(run, tensor, &name, &t, err);
	if (!ret && !bytes)
		ret = npu_error_set(err, -EINVAL, "npu_run_tensor_size: bytes is NULL");
	if (!ret)
		ret = region_size(run, t->region, &size, err);
	if (!ret)
		*bytes = size;
	return ret;
}

int npu_run_program(struct npu_run *run, unsigned int *program, uint32_t *scalars,
		    struct npu_error *err)
{
	int ret = npu_run_choose(run, err);

	if (ret)
		return ret;
	if (program)
		*program = run->program;
	if (scalars)
		memcpy(scalars, run->scalar, sizeof(run->scalar));
	return 0;
}

/* True when any program writes the tensor. */
static bool is_written(const struct npu_job *job, npu_u32 name)
{
	npu_u32 p, t;

	for (p = 0; p < job->file->num_programs; p++) {
		t = job->names[name].tensor[p];
		if (t != ~0u && job->file->programs[p].tensors[t].role != NPU_TENSOR_INPUT)
			return true;
	}
	return false;
}

int npu_run_check_bind(const struct npu_run *run, npu_u32 name, const struct npu_buffer *buf,
		       uint64_t offset, struct npu_error *err)
{
	const char *tensor = run->job->names[name].name;

	if (buf && buf->dev != run->job->dev)
		return npu_error_set(err, -EINVAL, "%s: the buffer for '%s' is of another device",
				     run->job->path, tensor);
	if (buf && offset > buf->size)
		return npu_error_set(err, -EINVAL,
				     "%s: '%s' bound at byte %llu of a buffer that has %llu",
				     run->job->path, tensor, ULL(offset), ULL(buf->size));
	if (buf && buf->flags & NPU_BUFFER_READ_ONLY && is_written(run->job, name))
		return npu_error_set(err, -EACCES,
				     "%s: '%s' is written, the buffer was imported read only",
				     run->job->path, tensor);
	return 0;
}

void npu_run_set_bind(struct npu_run *run, npu_u32 name, struct npu_buffer *buf, uint64_t offset)
{
	struct npu_run_slot *slot = &run->slot[name];

	if (buf)
		npu_buffer_get(buf);
	npu_buffer_put(slot->buf);
	slot->buf = buf;
	slot->offset = buf ? offset : 0;
	slot->bound = buf != NULL;
}

int npu_run_bind(struct npu_run *run, const char *tensor, struct npu_buffer *buf, uint64_t offset,
		 struct npu_error *err)
{
	npu_u32 name;
	int ret;

	ret = npu_run_check_idle(run, err);
	if (!ret)
		ret = npu_job_find_name(run->job, tensor, &name, err);
	if (!ret)
		ret = npu_run_check_bind(run, name, buf, offset, err);
	if (!ret)
		npu_run_set_bind(run, name, buf, offset);
	return ret;
}

static int check_bound(const struct npu_run *run, npu_u32 name,
		       const struct npu_jobfile_region *region, npu_u64 size, struct npu_error *err)
{
	const struct npu_run_slot *slot = &run->slot[name];

	if (size > slot->buf->size - slot->offset)
		return npu_error_set(
			err, -EINVAL,
			"%s: '%s' needs %llu bytes, its buffer has %llu from byte %llu on",
			run->job->path, run->job->names[name].name, ULL(size),
			ULL(slot->buf->size - slot->offset), ULL(slot->offset));
	if ((slot->buf->va + slot->offset) % region->align)
		return npu_error_set(err, -EINVAL, "%s: '%s' must begin at a multiple of %u bytes",
				     run->job->path, run->job->names[name].name, region->align);
	return 0;
}

/* The region of a name that the chosen program has. */
static npu_u32 region_of(const struct npu_run *run, npu_u32 name)
{
	const struct npu_jobfile_program *prog = &run->job->file->programs[run->program];

	return prog->tensors[run->job->names[name].tensor[run->program]].region;
}

int npu_run_place(struct npu_run *run, npu_u32 name, struct npu_error *err)
{
	npu_u64 size;
	int ret = region_size(run, region_of(run, name), &size, err);

	return ret ? ret : npu_run_place_sized(run, name, size, err);
}

int npu_run_place_sized(struct npu_run *run, npu_u32 name, npu_u64 size, struct npu_error *err)
{
	const struct npu_jobfile_program *prog = &run->job->file->programs[run->program];
	struct npu_run_slot *slot = &run->slot[name];
	npu_u32 region = region_of(run, name);
	int ret;

	if (slot->bound)
		return check_bound(run, name, &prog->regions[region], size, err);
	if (slot->buf && slot->buf->size >= size)
		return 0;
	npu_buffer_put(slot->buf);
	slot->buf = NULL;
	slot->offset = 0;
	ret = npu_buffer_create(run->job->dev, size, 0, &slot->buf, err);
	return ret ? npu_error_prefix(err, ret, "%s: '%s'", run->job->path,
				      run->job->names[name].name)
		   : 0;
}

int npu_run_buffer(struct npu_run *run, const char *tensor, struct npu_buffer **buf,
		   uint64_t *offset, struct npu_error *err)
{
	const struct npu_jobfile_tensor *t;
	npu_u32 name;
	int ret;

	ret = npu_device_check(run->job->dev, err);
	if (!ret)
		ret = find_tensor(run, tensor, &name, &t, err);
	if (!ret && !buf)
		ret = npu_error_set(err, -EINVAL, "npu_run_buffer: buf is NULL");
	if (!ret)
		ret = npu_run_place(run, name, err);
	if (ret)
		return ret;
	*buf = run->slot[name].buf;
	if (offset)
		*offset = run->slot[name].offset;
	return 0;
}

/* A tensor in memory, for the host. */
struct view {
	char *at;
	npu_u32 rank;
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK];
	npu_u64 dense[NPU_TENSOR_MAX_RANK];	/* strides without gaps */
	npu_u64 elem, bytes;			/* of an element, of all elements */
};

static void copy_view(const struct view *v, npu_u32 d, char *at, char *user, bool write)
{
	npu_u32 k = v->rank;
	npu_u64 run = v->elem, i;

	if (!v->bytes)
		return;
	while (k > d && (v->stride[k - 1] == run || v->dim[k - 1] == 1))
		run *= v->dim[--k];
	if (k == d) {
		memcpy(write ? at : user, write ? user : at, run);
		return;
	}
	for (i = 0; i < v->dim[d]; i++)
		copy_view(v, d + 1, at + v->stride[d] * i, user + v->dense[d] * i, write);
}

static int size_error(const struct npu_run *run, const char *tensor,
		      const struct npu_jobfile_tensor *t, const struct view *v, size_t size,
		      struct npu_error *err)
{
	char shape[128] = "";
	size_t n = 0;
	npu_u32 d;

	for (d = 0; d < t->rank && n < sizeof(shape); d++)
		n += snprintf(shape + n, sizeof(shape) - n, "%s%llu", d ? "x" : "", ULL(v->dim[d]));
	return npu_error_set(err, -EINVAL, "%s: '%s' is %s %s, %llu bytes, not %zu", run->job->path,
			     tensor, npu_host_dtype_name(t->dtype), t->rank ? shape : "(rank 0)",
			     ULL(v->bytes), size);
}

static int open_view(struct npu_run *run, const char *tensor, const void *data, size_t size,
		     npu_u32 *name, const struct npu_jobfile_tensor **t, struct view *v,
		     struct npu_error *err)
{
	npu_u64 offset, extent, room;
	const int64_t *found;
	npu_u32 d;
	void *map;
	int ret;

	ret = npu_run_check_idle(run, err);
	if (!ret)
		ret = find_tensor(run, tensor, name, t, err);
	if (!ret)
		ret = npu_run_place(run, *name, err);
	if (ret)
		return ret;
	v->rank = (*t)->rank;
	v->elem = v->bytes = npu_host_dtype_size((*t)->dtype);
	/*
	 * Verified at the smallest and the largest lengths; several symbols leave more between
	 * them.
	 */
	if (npu_jobfile_layout(*t, run->scalar, v->dim, v->stride, &offset, &extent) ||
	    region_size(run, (*t)->region, &room, NULL) || extent > room || offset > room - extent)
		return npu_error_set(err, -EINVAL,
				     "%s: '%s' has no valid shape and place at these lengths",
				     run->job->path, tensor);
	found = found_dims(run, *t);
	for (d = v->rank; d-- > 0; v->bytes *= v->dim[d]) {
		v->dense[d] = v->bytes;
		if (!found)
			continue;
		v->dim[d] = (npu_u64)found[d];
		v->stride[d] = v->bytes;
	}
	if (size != v->bytes || (!data && size))
		return size_error(run, tensor, *t, v, data ? size : 0, err);
	ret = npu_buffer_host(run->slot[*name].buf, &map, err);
	if (ret)
		return npu_error_prefix(err, ret, "%s: '%s'", run->job->path, tensor);
	v->at = (char *)map + run->slot[*name].offset + offset;
	return 0;
}

int npu_run_write(struct npu_run *run, const char *tensor, const void *data, size_t size,
		  struct npu_error *err)
{
	const struct npu_jobfile_tensor *t;
	struct npu_buffer *buf;
	struct view v;
	npu_u32 name;
	int ret;

	ret = open_view(run, tensor, data, size, &name, &t, &v, err);
	if (ret)
		return ret;
	buf = run->slot[name].buf;
	if (buf->flags & NPU_BUFFER_READ_ONLY)
		return npu_error_set(err, -EACCES, "%s: the buffer of '%s' was imported read only",
				     run->job->path, tensor);
	copy_view(&v, 0, v.at, (char *)(uintptr_t)data, true);
	return npu_buffer_sync(buf, 0, buf->size, NPU_SYNC_TO_DEVICE, err);
}

int npu_run_read(struct npu_run *run, const char *tensor, void *data, size_t size,
		 struct npu_error *err)
{
	const struct npu_jobfile_tensor *t;
	struct npu_buffer *buf;
	struct view v;
	npu_u32 name;
	int ret;

	ret = open_view(run, tensor, data, size, &name, &t, &v, err);
	if (ret)
		return ret;
	if (t->role == NPU_TENSOR_OUTPUT && !run->fence)
		return npu_error_set(
			err, -ENODATA,
			"%s: '%s' has not been computed: nothing was submitted at these lengths",
			run->job->path, tensor);
	if (t->role != NPU_TENSOR_INPUT && run->fence && npu_fence_status(run->fence))
		return npu_fence_wait(run->fence, 0, err);
	buf = run->slot[name].buf;
	ret = npu_buffer_sync(buf, 0, buf->size, NPU_SYNC_FROM_DEVICE, err);
	if (!ret)
		copy_view(&v, 0, v.at, data, false);
	return ret;
}

int npu_run_reset_state(struct npu_run *run, struct npu_error *err)
{
	const struct npu_jobfile_program *prog;
	npu_u32 n, t;
	npu_u64 size;
	void *map;
	int ret;

	ret = npu_run_check_idle(run, err);
	if (!ret)
		ret = npu_run_choose(run, err);
	if (ret)
		return ret;
	prog = &run->job->file->programs[run->program];
	for (n = 0; n < run->job->num_names; n++) {
		t = run->job->names[n].tensor[run->program];
		if (t == ~0u || prog->tensors[t].role != NPU_TENSOR_STATE)
			continue;
		ret = npu_run_place(run, n, err);
		if (!ret)
			ret = region_size(run, prog->tensors[t].region, &size, err);
		if (ret)
			return ret;
		ret = npu_buffer_host(run->slot[n].buf, &map, err);
		if (ret)
			return npu_error_prefix(err, ret, "%s: '%s'", run->job->path,
						run->job->names[n].name);
		memset((char *)map + run->slot[n].offset, 0, size);
		ret = npu_buffer_sync(run->slot[n].buf, run->slot[n].offset, size,
				      NPU_SYNC_TO_DEVICE, err);
		if (ret)
			return ret;
	}
	return 0;
}
