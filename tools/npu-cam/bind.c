// SPDX-License-Identifier: MIT
/* Each buffer of the camera is imported once, and one run of the job is bound to it for good. */
#include <errno.h>
#include <string.h>
#include "cam.h"
#include "core/error.h"

/* The job reads one frame and nothing else. */
static int check_inputs(struct stream *s)
{
	struct npu_tensor_info t;
	struct npu_plane_info plane;
	unsigned int i, k;
	bool found;

	for (i = 0; ; i++) {
		t = (struct npu_tensor_info)NPU_INIT(t);
		if (npu_job_tensor(s->job, 0, i, &t))
			return 0;
		if (t.role != NPU_TENSOR_INPUT)
			continue;
		found = false;
		for (k = 0; k < s->image.num_planes && !found; k++) {
			plane = (struct npu_plane_info)NPU_INIT(plane);
			found = !npu_job_plane(s->job, 0, 0, k, &plane) && plane.tensor == i;
		}
		if (!found)
			return npu_error_set(&s->err, -EINVAL,
					     "%s: input '%s' is not of the frame; a camera feeds one frame and nothing else",
					     s->opt->model, t.name);
	}
}

static int check_bounced(struct stream *s, struct npu_buffer *buf)
{
	struct npu_buffer_info info = NPU_INIT(info);
	int ret = npu_buffer_info(buf, &info, &s->err);

	if (ret || !info.bounced)
		return ret;
	return npu_error_set(&s->err, -EOPNOTSUPP,
			     "%s: the kernel copies between its buffers and the NPU (swiotlb): the NPU would see old frames; use --copy",
			     s->opt->camera);
}

static int import_plane(struct stream *s, unsigned int index, unsigned int k)
{
	const struct plane *p = &s->cam.frame[index][k];
	struct npu_buffer **buf = &s->slot[index].buf[k];
	struct npu_dmabuf from = {
		.size = sizeof(from), .fd = p->fd, .flags = NPU_BUFFER_READ_ONLY,
	};
	int ret;

	if (s->opt->copy)
		return npu_buffer_create(s->dev, p->bytes, 0, buf, &s->err);
	ret = npu_buffer_import(s->dev, &from, buf, &s->err);
	return ret ? ret : check_bounced(s, *buf);
}

/* Planes in one piece of memory follow each other as V4L2 says; else each is in its own. */
int slot_rebind(struct stream *s, struct slot *slot, const struct frame_info *info)
{
	struct npu_plane_info plane;
	unsigned int k;
	int ret = 0;

	if (s->cam.num_planes == 1)
		return npu_run_bind_image(slot->run, s->image.name, slot->buf[0], info->offset[0],
					  s->cam.plane[0].stride, &s->err);
	for (k = 0; k < s->cam.num_planes && !ret; k++) {
		plane = (struct npu_plane_info)NPU_INIT(plane);
		ret = npu_job_plane(s->job, 0, 0, k, &plane);
		if (ret)
			return npu_error_set(&s->err, ret, "%s: the frame has no plane %u",
					     s->opt->model, k);
		ret = npu_run_set_stride(slot->run, plane.name, s->cam.plane[k].stride, &s->err);
		if (!ret)
			ret = npu_run_bind(slot->run, plane.name, slot->buf[k], info->offset[k],
					   &s->err);
	}
	return ret;
}

int slot_copy(struct stream *s, unsigned int index)
{
	struct slot *slot = &s->slot[index];
	unsigned int k;
	int ret = 0;

	for (k = 0; k < s->cam.num_planes && !ret; k++) {
		const struct plane *p = &s->cam.frame[index][k];

		ret = npu_buffer_write(slot->buf[k], 0, p->map, p->bytes, &s->err);
		s->copied += p->bytes;
	}
	return ret;
}

int stream_bind(struct stream *s)
{
	const struct frame_info start = { .offset = { 0 } };
	unsigned int i, k;
	int ret = check_inputs(s);

	for (i = 0; i < s->cam.num_buffers && !ret; i++) {
		for (k = 0; k < s->cam.num_planes && !ret; k++)
			ret = import_plane(s, i, k);
		if (!ret)
			ret = npu_run_create(s->job, &s->slot[i].run, &s->err);
		if (!ret)
			ret = slot_rebind(s, &s->slot[i], &start);
	}
	return ret;
}
