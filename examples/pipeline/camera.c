// SPDX-License-Identifier: MIT
/*
 * Frames of a V4L2 camera: its buffers are imported once each, and no CPU touches a pixel. With one
 * plane of memory; tools/npu-cam is about all that cameras do.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "pipeline.h"

static const enum v4l2_buf_type capture = V4L2_BUF_TYPE_VIDEO_CAPTURE;
static int camera_ioctl(struct pipeline *p, unsigned long request, void *arg, const char *what)
{
	int ret;

	do
		ret = ioctl(p->video, request, arg);
	while (ret && errno == EINTR);
	if (!ret || errno == EAGAIN)
		return ret ? -EAGAIN : 0;
	return fail(&p->err, -errno, "%s: %s: %s", p->opt->camera, what, strerror(errno));
}

static int set_format(struct pipeline *p)
{
	struct v4l2_format f = { .type = capture };
	struct v4l2_pix_format *pix = &f.fmt.pix;
	int ret;

	pix->width = p->image.width;
	pix->height = p->image.height;
	pix->pixelformat = p->image.fourcc;
	pix->field = V4L2_FIELD_NONE;
	ret = camera_ioctl(p, VIDIOC_S_FMT, &f, "its format");
	if (ret)
		return ret;
	if (pix->width != p->image.width || pix->height != p->image.height ||
	    pix->pixelformat != p->image.fourcc || pix->field != V4L2_FIELD_NONE)
		return fail(&p->err, -EINVAL, "%s has no frames %s", p->opt->camera, p->image.spec);
	p->stride = pix->bytesperline;
	return 0;
}

static int camera_give(struct pipeline *p, unsigned int slot)
{
	struct v4l2_buffer buf = { .type = capture, .memory = V4L2_MEMORY_MMAP, .index = slot };

	return camera_ioctl(p, VIDIOC_QBUF, &buf, "taking a buffer back");
}

static int import_buffer(struct pipeline *p, unsigned int slot)
{
	struct v4l2_exportbuffer exp = { .type = capture, .index = slot,
					 .flags = O_RDONLY | O_CLOEXEC };
	struct npu_dmabuf from = { .size = sizeof(from), .flags = NPU_BUFFER_READ_ONLY };
	int ret = camera_ioctl(p, VIDIOC_EXPBUF, &exp, "exporting a buffer");

	if (ret)
		return ret;
	from.fd = exp.fd;
	ret = npu_buffer_import(p->dev, &from, &p->slot[slot].frame, &p->err);
	close(exp.fd);
	return ret ? ret : camera_give(p, slot);
}

static int camera_open(struct pipeline *p)
{
	struct v4l2_requestbuffers req = { .count = p->opt->flight + 2, .type = capture,
					   .memory = V4L2_MEMORY_MMAP };
	enum v4l2_buf_type type = capture;
	int ret;

	p->video = open(p->opt->camera, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (p->video < 0)
		return fail(&p->err, -errno, "%s: %s", p->opt->camera, strerror(errno));
	ret = set_format(p);
	if (!ret)
		ret = camera_ioctl(p, VIDIOC_REQBUFS, &req, "its buffers");
	if (!ret && (req.count <= p->opt->flight || req.count > MAX_SLOTS))
		ret = fail(&p->err, -ENOMEM, "%s gives %u buffers, want %u to %d", p->opt->camera,
			   req.count, p->opt->flight + 1, MAX_SLOTS);
	if (ret)
		return ret;
	for (; p->num_slots < req.count && !ret; p->num_slots++)
		ret = import_buffer(p, p->num_slots);
	return ret ? ret : camera_ioctl(p, VIDIOC_STREAMON, &type, "starting");
}

static int camera_take(struct pipeline *p, unsigned int *slot)
{
	struct v4l2_buffer buf = { .type = capture, .memory = V4L2_MEMORY_MMAP };
	int ret = camera_ioctl(p, VIDIOC_DQBUF, &buf, "no more frames");

	if (ret)
		return ret;
	if (buf.index >= p->num_slots)
		return fail(&p->err, -EPROTO, "%s: there is no buffer %u", p->opt->camera,
			    buf.index);
	*slot = buf.index;
	if (!(buf.flags & V4L2_BUF_FLAG_ERROR))
		return 0;
	ret = camera_give(p, buf.index);
	return ret ? ret : -EAGAIN;
}

static int camera_fd(const struct pipeline *p)
{
	return p->video;
}

static void camera_close(struct pipeline *p)
{
	if (p->video >= 0)
		close(p->video);
	p->video = -1;
}

const struct source camera_source = {
	.open = camera_open, .take = camera_take, .give = camera_give, .fd = camera_fd,
	.close = camera_close,
};
