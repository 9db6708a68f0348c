// SPDX-License-Identifier: MIT
/* Camera frames: what a job tells of them, and how a run gets at their planes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "core/object.h"

#define ULL(v)	((unsigned long long)(v))

static const struct npu_jobfile_image *image_at(const struct npu_job *job, unsigned int program,
						unsigned int index)
{
	if (program >= job->file->num_programs ||
	    index >= job->file->programs[program].num_images)
		return NULL;
	return &job->file->programs[program].images[index];
}

/* Plane @k of an image; *@end: where the next one begins in one buffer. */
static void describe_plane(const struct npu_jobfile_program *prog,
			   const struct npu_jobfile_image *img, unsigned int k, uint64_t *end,
			   struct npu_plane_info *out)
{
	const struct npu_jobfile_tensor *t = &prog->tensors[img->plane[k]];
	npu_u64 min, max;

	npu_jobfile_plane_bounds(prog, t, &min, &max);
	*out = (struct npu_plane_info)NPU_INIT(*out);
	out->tensor = img->plane[k];
	out->rows = (uint32_t)t->dim[0].base;
	out->row_bytes = (uint32_t)t->dim[1].base;
	out->stride = (uint32_t)min;
	out->max_stride = (uint32_t)max;
	out->offset = *end;
	out->name = t->name;
	*end += (npu_u64)out->rows * min;
}

int npu_job_image(const struct npu_job *job, unsigned int program, unsigned int index,
		  struct npu_image_info *info)
{
	const struct npu_jobfile_image *img = image_at(job, program, index);
	struct npu_image_info out = NPU_INIT(out);
	struct npu_plane_info plane;
	unsigned int k;

	if (!img)
		return -ENOENT;
	out.fourcc = img->fourcc;
	out.width = img->width;
	out.height = img->height;
	out.num_planes = img->num_planes;
	for (k = 0; k < img->num_planes; k++)
		describe_plane(&job->file->programs[program], img, k, &out.bytes, &plane);
	out.name = img->name;
	out.spec = img->spec;
	return info ? npu_struct_write(info, info->size, &out, sizeof(out)) : -EINVAL;
}

int npu_job_plane(const struct npu_job *job, unsigned int program, unsigned int index,
		  unsigned int plane, struct npu_plane_info *info)
{
	const struct npu_jobfile_image *img = image_at(job, program, index);
	struct npu_plane_info out;
	uint64_t end = 0;
	unsigned int k;

	if (!img || plane >= img->num_planes)
		return -ENOENT;
	for (k = 0; k <= plane; k++)
		describe_plane(&job->file->programs[program], img, k, &end, &out);
	return info ? npu_struct_write(info, info->size, &out, sizeof(out)) : -EINVAL;
}

/* Whether the tensor is a plane of an image in any program. */
static bool is_plane(const struct npu_job *job, npu_u32 name)
{
	npu_u32 p, i, k;

	for (p = 0; p < job->file->num_programs; p++) {
		const struct npu_jobfile_program *prog = &job->file->programs[p];

		for (i = 0; i < prog->num_images; i++)
			for (k = 0; k < prog->images[i].num_planes; k++)
				if (prog->images[i].plane[k] == job->names[name].tensor[p])
					return true;
	}
	return false;
}

/* Does the plane take rows @bytes apart? Changes nothing. */
static int check_stride(struct npu_run *run, npu_u32 name, uint64_t bytes, struct npu_error *err)
{
	uint64_t old = run->slot[name].stride;
	int ret;

	run->slot[name].stride = bytes;
	ret = npu_run_check_shape(run, name, err);
	run->slot[name].stride = old;
	return ret;
}

static void set_stride(struct npu_run *run, npu_u32 name, uint64_t bytes)
{
	if (run->slot[name].stride != bytes)
		npu_run_forget(run);
	run->slot[name].stride = bytes;
}

int npu_run_set_stride(struct npu_run *run, const char *tensor, uint64_t bytes,
		       struct npu_error *err)
{
	npu_u32 name;
	int ret;

	ret = npu_run_find_idle(run, tensor, &name, err);
	if (ret)
		return ret;
	if (!is_plane(run->job, name))
		return npu_error_set(err, -EINVAL, "%s: '%s' is not a plane of a camera's frame",
				     run->job->path, tensor);
	ret = check_stride(run, name, bytes, err);
	if (!ret)
		set_stride(run, name, bytes);
	return ret;
}

static const struct npu_jobfile_image *find_in(const struct npu_jobfile_program *prog,
					       const char *name)
{
	npu_u32 i;

	for (i = 0; i < prog->num_images; i++)
		if (!strcmp(prog->images[i].name, name))
			return &prog->images[i];
	return NULL;
}

static int no_image(const struct npu_run *run, const char *name, struct npu_error *err)
{
	char names[200] = "";
	npu_u32 p, i;
	size_t n = 0;

	for (p = 0; p < run->job->file->num_programs; p++) {
		const struct npu_jobfile_program *prog = &run->job->file->programs[p];

		for (i = 0; i < prog->num_images && n < sizeof(names); i++)
			n += snprintf(names + n, sizeof(names) - n, "%s'%s'", n ? ", " : "",
				      prog->images[i].name);
	}
	return npu_error_set(err, -ENOENT, "%s: no input '%s' that takes a camera's frame; %s%s",
			     run->job->path, name, *names ? "there are: " : "there is none", names);
}

/* The image of that name in the program that the shapes chose. */
static int find_image(struct npu_run *run, const char *name,
		      const struct npu_jobfile_program **prog,
		      const struct npu_jobfile_image **img, struct npu_error *err)
{
	int ret;

	if (!name)
		return npu_error_set(err, -EINVAL, "%s: the name of the image is NULL",
				     run->job->path);
	ret = npu_run_choose(run, err);
	if (ret)
		return ret;
	*prog = &run->job->file->programs[run->program];
	*img = find_in(*prog, name);
	return *img ? 0 : no_image(run, name, err);
}

/* A plane of an image on its way to a place. */
struct place {
	npu_u32 name;			/* in job->names */
	uint64_t offset;
};

/* Where the planes of @img lie in @buf, one behind the other, if each can lie there. */
static int place_planes(struct npu_run *run, const struct npu_jobfile_program *prog,
			const struct npu_jobfile_image *img, const struct npu_buffer *buf,
			uint64_t offset, uint64_t stride, struct place *place,
			struct npu_error *err)
{
	struct npu_plane_info plane;
	uint64_t end = 0, size;
	unsigned int k;
	int ret = 0;

	for (k = 0; k < img->num_planes && !ret; k++) {
		describe_plane(prog, img, k, &end, &plane);
		place[k].offset = offset;
		ret = npu_job_find_name(run->job, plane.name, &place[k].name, err);
		if (!ret)
			ret = check_stride(run, place[k].name, stride, err);
		if (!ret)
			ret = npu_run_check_bind(run, place[k].name, buf, buf ? offset : 0, err);
		size = plane.rows * (stride ? stride : plane.stride);
		if (!ret && buf && __builtin_add_overflow(offset, size, &offset))
			ret = npu_error_set(err, -EINVAL, "%s: '%s': the planes end beyond 2^64",
					    run->job->path, img->name);
	}
	return ret;
}

int npu_run_bind_image(struct npu_run *run, const char *name, struct npu_buffer *buf,
		       uint64_t offset, uint64_t stride, struct npu_error *err)
{
	const struct npu_jobfile_program *prog;
	const struct npu_jobfile_image *img;
	struct place place[NPU_JOBFILE_PLANES];
	unsigned int k;
	int ret;

	ret = npu_run_check_idle(run, err);
	if (!ret)
		ret = find_image(run, name, &prog, &img, err);
	if (!ret)
		ret = place_planes(run, prog, img, buf, offset, stride, place, err);
	for (k = 0; !ret && k < img->num_planes; k++) {
		set_stride(run, place[k].name, stride);
		npu_run_set_bind(run, place[k].name, buf, place[k].offset);
	}
	return ret;
}

/*
 * Whether rows @apart bytes from each other lie in the plane's region. Both were verified at the
 * smallest and the largest lengths; a size that follows from other symbols leaves more between
 * them.
 */
static int check_rows(const struct npu_run *run, const struct npu_plane_info *plane, uint64_t apart,
		      struct npu_error *err)
{
	const struct npu_jobfile_program *prog = &run->job->file->programs[run->program];
	npu_u32 region = prog->tensors[plane->tensor].region;
	uint64_t bytes;
	npu_u64 room;

	if (!npu_jobfile_eval(&prog->regions[region].size, run->scalar, &room) && plane->rows &&
	    !__builtin_mul_overflow(plane->rows - 1, apart, &bytes) &&
	    !__builtin_add_overflow(bytes, plane->row_bytes, &bytes) && bytes <= room)
		return 0;
	return npu_error_set(err, -EINVAL,
			     "%s: '%s' has no valid shape and place at these lengths: %u rows, %llu bytes apart",
			     run->job->path, plane->name, plane->rows, ULL(apart));
}

static int write_plane(struct npu_run *run, const struct npu_plane_info *plane, const char *data,
		       size_t stride, struct npu_error *err)
{
	uint64_t offset, apart = 0;
	struct npu_buffer *buf;
	npu_u32 name, row;
	char *at;
	void *map;
	int ret;

	ret = npu_run_buffer(run, plane->name, &buf, &offset, err);
	if (!ret)
		ret = npu_job_find_name(run->job, plane->name, &name, err);
	if (!ret) {
		apart = run->slot[name].stride ? run->slot[name].stride : plane->stride;
		ret = check_rows(run, plane, apart, err);
	}
	if (!ret && buf->flags & NPU_BUFFER_READ_ONLY)
		return npu_error_set(err, -EACCES, "%s: the buffer of '%s' was imported read only",
				     run->job->path, plane->name);
	if (!ret)
		ret = npu_buffer_map(buf, &map, err);
	if (ret)
		return ret;
	at = (char *)map + offset;
	for (row = 0; row < plane->rows; row++)
		memcpy(at + row * apart, data + row * stride, plane->row_bytes);
	return npu_buffer_sync(buf, 0, buf->size, NPU_SYNC_TO_DEVICE, err);
}

int npu_run_write_image(struct npu_run *run, const char *name, const void *data, size_t size,
			struct npu_error *err)
{
	const struct npu_jobfile_program *prog;
	const struct npu_jobfile_image *img;
	struct npu_plane_info plane;
	uint64_t whole = 0, tight = 0, at = 0;
	unsigned int k;
	int ret;

	ret = npu_run_check_idle(run, err);
	if (!ret)
		ret = find_image(run, name, &prog, &img, err);
	if (ret)
		return ret;
	for (k = 0; k < img->num_planes; k++) {
		describe_plane(prog, img, k, &whole, &plane);
		tight += (uint64_t)plane.rows * plane.row_bytes;
	}
	if (!data || (size != tight && size != whole))
		return npu_error_set(err, -EINVAL, "%s: '%s' is a frame %s of %llu bytes, not %zu",
				     run->job->path, name, img->spec, ULL(tight), data ? size : 0);
	for (k = 0; k < img->num_planes && !ret; k++) {
		uint64_t stride;

		describe_plane(prog, img, k, &(uint64_t){ 0 }, &plane);
		stride = size == tight ? plane.row_bytes : plane.stride;
		ret = write_plane(run, &plane, (const char *)data + at, stride, err);
		at += plane.rows * stride;
	}
	return ret;
}
