// SPDX-License-Identifier: MIT
/* The camera: the ioctls of V4L2, with one plane of memory and with several. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cam.h"
#include "core/error.h"
#include "tools/common/heap.h"

#define FOURCC(f)	(char)((f) & 0x7f), (char)((f) >> 8 & 0x7f), \
			(char)((f) >> 16 & 0x7f), (char)((f) >> 24 & 0x7f)

static int video_ioctl(const struct camera *cam, unsigned long request, void *arg)
{
	int ret;

	do
		ret = ioctl(cam->fd, request, arg);
	while (ret && errno == EINTR);
	return ret ? -errno : 0;
}

static int camera_error(const struct options *opt, int ret, const char *what, struct npu_error *err)
{
	return npu_error_set(err, ret, "%s: %s: %s", opt->camera, what, strerror(-ret));
}

static int open_device(struct camera *cam, const struct options *opt, struct npu_error *err)
{
	struct v4l2_capability cap = { 0 };
	uint32_t caps;
	int ret;

	cam->fd = open(opt->camera, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (cam->fd < 0)
		return npu_error_set(err, -errno, "%s: %s", opt->camera, strerror(errno));
	ret = video_ioctl(cam, VIDIOC_QUERYCAP, &cap);
	if (ret)
		return npu_error_set(err, ret, "%s is not a V4L2 device", opt->camera);
	caps = cap.capabilities & V4L2_CAP_DEVICE_CAPS ? cap.device_caps : cap.capabilities;
	cam->mplane = caps & V4L2_CAP_VIDEO_CAPTURE_MPLANE;
	if (!cam->mplane && !(caps & V4L2_CAP_VIDEO_CAPTURE))
		return npu_error_set(err, -ENODEV, "%s (%.31s) does not capture video", opt->camera,
				     cap.card);
	if (!(caps & V4L2_CAP_STREAMING))
		return npu_error_set(err, -ENODEV, "%s (%.31s) has no buffers to stream with",
				     opt->camera, cap.card);
	snprintf(cam->card, sizeof(cam->card), "%.31s", cap.card);
	cam->type = cam->mplane ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
	return 0;
}

/* The formats that it has, for an error. */
static void list_formats(const struct camera *cam, char *text, size_t size)
{
	struct v4l2_fmtdesc desc = { .type = cam->type };
	size_t n = 0;

	*text = 0;
	for (; !video_ioctl(cam, VIDIOC_ENUM_FMT, &desc) && n + 8 < size; desc.index++)
		n += snprintf(text + n, size - n, "%s%c%c%c%c", n ? " " : "",
			      FOURCC(desc.pixelformat));
}

/* Ask for a format; what the camera makes of it is in *@cam. */
static int set_format(struct camera *cam, uint32_t fourcc, const struct format *want,
		      uint32_t stride, struct v4l2_format *f)
{
	unsigned int i;
	int ret;

	*f = (struct v4l2_format){ .type = cam->type };
	if (cam->mplane) {
		f->fmt.pix_mp.width = want->width;
		f->fmt.pix_mp.height = want->height;
		f->fmt.pix_mp.pixelformat = fourcc;
		f->fmt.pix_mp.field = V4L2_FIELD_NONE;
		f->fmt.pix_mp.num_planes = fourcc == want->fourcc ? 1 : 2;
		for (i = 0; i < f->fmt.pix_mp.num_planes; i++)
			f->fmt.pix_mp.plane_fmt[i].bytesperline = stride;
	} else {
		f->fmt.pix.width = want->width;
		f->fmt.pix.height = want->height;
		f->fmt.pix.pixelformat = fourcc;
		f->fmt.pix.field = V4L2_FIELD_NONE;
		f->fmt.pix.bytesperline = stride;
	}
	ret = video_ioctl(cam, VIDIOC_S_FMT, f);
	if (ret)
		return ret;
	if (!cam->mplane) {
		cam->num_planes = 1;
		cam->fourcc = f->fmt.pix.pixelformat;
		cam->plane[0].stride = f->fmt.pix.bytesperline;
		cam->plane[0].bytes = f->fmt.pix.sizeimage;
		return 0;
	}
	cam->fourcc = f->fmt.pix_mp.pixelformat;
	cam->num_planes = f->fmt.pix_mp.num_planes;
	for (i = 0; i < cam->num_planes && i < MAX_PLANES; i++) {
		cam->plane[i].stride = f->fmt.pix_mp.plane_fmt[i].bytesperline;
		cam->plane[i].bytes = f->fmt.pix_mp.plane_fmt[i].sizeimage;
	}
	return 0;
}

/* The same pixels with planes in memory of their own, or 0. */
static uint32_t separate_of(uint32_t fourcc)
{
	return fourcc == V4L2_PIX_FMT_NV12 ? V4L2_PIX_FMT_NV12M :
	       fourcc == V4L2_PIX_FMT_NV21 ? V4L2_PIX_FMT_NV21M : 0;
}

static int choose_format(struct camera *cam, const struct options *opt, const struct format *want,
			 struct npu_error *err)
{
	uint32_t other = cam->mplane ? separate_of(want->fourcc) : 0;
	uint32_t fourcc = opt->separate ? other : want->fourcc, width, height, field;
	struct v4l2_format f;
	char text[200];
	int ret;

	if (!fourcc)
		return npu_error_set(err, -EINVAL,
				     "%s: %c%c%c%c has no form with planes in memory of their own there",
				     opt->camera, FOURCC(want->fourcc));
	ret = set_format(cam, fourcc, want, opt->stride, &f);
	if (!ret && cam->fourcc != fourcc && other && !opt->separate) {
		fourcc = other;
		ret = set_format(cam, fourcc, want, opt->stride, &f);
	}
	if (ret)
		return camera_error(opt, ret, "its format", err);
	width = cam->mplane ? f.fmt.pix_mp.width : f.fmt.pix.width;
	height = cam->mplane ? f.fmt.pix_mp.height : f.fmt.pix.height;
	field = cam->mplane ? f.fmt.pix_mp.field : f.fmt.pix.field;
	list_formats(cam, text, sizeof(text));
	if (cam->fourcc != fourcc)
		return npu_error_set(err, -EINVAL,
				     "%s has no %c%c%c%c; compile the model for one of: %s",
				     opt->camera, FOURCC(want->fourcc), text);
	if (width != want->width || height != want->height)
		return npu_error_set(err, -EINVAL,
				     "%s does not do %ux%u but %ux%u: compile the model for that",
				     opt->camera, want->width, want->height, width, height);
	if (field != V4L2_FIELD_NONE)
		return npu_error_set(err, -EINVAL, "%s: frames are interlaced (field %u)",
				     opt->camera, field);
	if (!cam->num_planes || cam->num_planes > MAX_PLANES)
		return npu_error_set(err, -EINVAL, "%s: frames of %u planes", opt->camera,
				     cam->num_planes);
	return 0;
}

/* What it does now, and when @opt says so, what it is asked to do before. */
static int choose_rate(struct camera *cam, const struct options *opt, struct npu_error *err)
{
	struct v4l2_streamparm parm = { .type = cam->type };
	struct v4l2_fract *t = &parm.parm.capture.timeperframe;
	int ret = video_ioctl(cam, VIDIOC_G_PARM, &parm);

	if (!ret && opt->fps && parm.parm.capture.capability & V4L2_CAP_TIMEPERFRAME) {
		*t = (struct v4l2_fract){ 1, opt->fps };
		ret = video_ioctl(cam, VIDIOC_S_PARM, &parm);
		if (ret)
			return camera_error(opt, ret, "its frame rate", err);
	} else if (opt->fps) {
		return npu_error_set(err, -EOPNOTSUPP, "%s: its frame rate can not be chosen (--fps)",
				     opt->camera);
	}
	cam->fps = !ret && t->numerator ? (double)t->denominator / t->numerator : 0;
	return 0;
}

void camera_init(struct camera *cam)
{
	unsigned int i, k;

	cam->fd = -1;
	for (i = 0; i < MAX_BUFFERS; i++)
		for (k = 0; k < MAX_PLANES; k++)
			cam->frame[i][k].fd = -1;
}

int camera_open(struct camera *cam, const struct options *opt, const struct format *want,
		struct npu_error *err)
{
	int ret = open_device(cam, opt, err);

	if (!ret)
		ret = choose_format(cam, opt, want, err);
	return ret ? ret : choose_rate(cam, opt, err);
}

void camera_close(struct camera *cam)
{
	unsigned int i, k;

	for (i = 0; i < MAX_BUFFERS; i++) {
		for (k = 0; k < MAX_PLANES; k++) {
			if (cam->frame[i][k].map)
				munmap(cam->frame[i][k].map, cam->frame[i][k].bytes);
			if (cam->frame[i][k].fd >= 0)
				close(cam->frame[i][k].fd);
		}
	}
	if (cam->fd >= 0)
		close(cam->fd);
}

static int request_buffers(struct camera *cam, const struct options *opt, struct npu_error *err)
{
	struct v4l2_requestbuffers req = { .count = opt->buffers, .type = cam->type };
	int ret;

	cam->memory = opt->heap ? V4L2_MEMORY_DMABUF : V4L2_MEMORY_MMAP;
	req.memory = cam->memory;
	ret = video_ioctl(cam, VIDIOC_REQBUFS, &req);
	if (ret)
		return camera_error(opt, ret, opt->heap ? "taking buffers of others (V4L2_MEMORY_DMABUF)" :
				    "its buffers", err);
	if (req.count <= opt->flight || req.count > MAX_BUFFERS)
		return npu_error_set(err, -ENOMEM,
				     "%s gives %u buffers; %u frames in flight need one more, and %u is the limit",
				     opt->camera, req.count, opt->flight, MAX_BUFFERS);
	cam->num_buffers = req.count;
	return 0;
}

static int export_plane(struct camera *cam, const struct options *opt, unsigned int index,
			unsigned int k, struct npu_error *err)
{
	struct v4l2_exportbuffer exp = {
		.type = cam->type, .index = index, .plane = k, .flags = O_RDONLY | O_CLOEXEC,
	};
	int ret = video_ioctl(cam, VIDIOC_EXPBUF, &exp);
	off_t size;

	if (ret)
		return camera_error(opt, ret, "exporting a buffer (VIDIOC_EXPBUF)", err);
	cam->frame[index][k].fd = exp.fd;
	size = lseek(exp.fd, 0, SEEK_END);
	cam->frame[index][k].bytes = size < 0 ? 0 : (uint64_t)size;
	return 0;
}

/* --copy: the CPU sees them. */
static int map_plane(struct camera *cam, const struct options *opt, unsigned int index,
		     unsigned int k, struct npu_error *err)
{
	struct v4l2_plane planes[VIDEO_MAX_PLANES] = { 0 };
	struct v4l2_buffer buf = { .type = cam->type, .memory = V4L2_MEMORY_MMAP, .index = index };
	struct plane *p = &cam->frame[index][k];
	void *map;
	int ret;

	if (cam->mplane) {
		buf.m.planes = planes;
		buf.length = VIDEO_MAX_PLANES;
	}
	ret = video_ioctl(cam, VIDIOC_QUERYBUF, &buf);
	if (ret)
		return camera_error(opt, ret, "a buffer", err);
	p->bytes = cam->mplane ? planes[k].length : buf.length;
	map = mmap(NULL, p->bytes, PROT_READ, MAP_SHARED, cam->fd,
		   cam->mplane ? planes[k].m.mem_offset : buf.m.offset);
	if (map == MAP_FAILED)
		return camera_error(opt, -errno, "mapping a buffer", err);
	p->map = map;
	return 0;
}

static int heap_plane(struct camera *cam, const struct options *opt, unsigned int index,
		      unsigned int k, struct npu_error *err)
{
	struct plane *p = &cam->frame[index][k];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	p->bytes = (cam->plane[k].bytes + page - 1) / page * page;
	return npu_heap_alloc(opt->heap, p->bytes, &p->fd, err);
}

int camera_allocate(struct camera *cam, const struct options *opt, struct npu_error *err)
{
	unsigned int i, k;
	int ret = request_buffers(cam, opt, err);

	for (i = 0; i < cam->num_buffers && !ret; i++)
		for (k = 0; k < cam->num_planes && !ret; k++)
			ret = opt->heap ? heap_plane(cam, opt, i, k, err) :
			      opt->copy ? map_plane(cam, opt, i, k, err) :
					  export_plane(cam, opt, i, k, err);
	return ret;
}

/* ---- streaming ------------------------------------------------------------------------------- */

static void describe(const struct camera *cam, unsigned int index, struct v4l2_buffer *buf,
		     struct v4l2_plane *planes)
{
	const struct plane *p = cam->frame[index];
	unsigned int k;

	*buf = (struct v4l2_buffer){ .type = cam->type, .memory = cam->memory, .index = index };
	memset(planes, 0, VIDEO_MAX_PLANES * sizeof(*planes));
	if (cam->mplane) {
		buf->m.planes = planes;
		buf->length = cam->num_planes;
	}
	if (cam->memory != V4L2_MEMORY_DMABUF)
		return;
	for (k = 0; cam->mplane && k < cam->num_planes; k++) {
		planes[k].m.fd = p[k].fd;
		planes[k].length = (uint32_t)p[k].bytes;
	}
	if (!cam->mplane) {
		buf->m.fd = p[0].fd;
		buf->length = (uint32_t)p[0].bytes;
	}
}

int camera_queue(struct camera *cam, unsigned int index, struct npu_error *err)
{
	struct v4l2_plane planes[VIDEO_MAX_PLANES];
	struct v4l2_buffer buf;
	int ret;

	describe(cam, index, &buf, planes);
	ret = video_ioctl(cam, VIDIOC_QBUF, &buf);
	if (!ret)
		return 0;
	return npu_error_set(err, ret, "%s: it does not take buffer %u: %s%s", cam->card, index,
			     strerror(-ret),
			     cam->memory != V4L2_MEMORY_DMABUF ? "" :
			     " (its memory may have to be in one piece, or mapped by the CPU, which this heap's is not)");
}

int camera_dequeue(struct camera *cam, struct frame_info *info, struct npu_error *err)
{
	struct v4l2_plane planes[VIDEO_MAX_PLANES];
	struct v4l2_buffer buf;
	unsigned int k;
	int ret;

	describe(cam, 0, &buf, planes);
	ret = video_ioctl(cam, VIDIOC_DQBUF, &buf);
	if (ret == -EAGAIN)
		return ret;
	if (ret)
		return npu_error_set(err, ret, "%s: no more frames: %s", cam->card, strerror(-ret));
	if (buf.index >= cam->num_buffers)
		return npu_error_set(err, -EPROTO, "%s: there is no buffer %u", cam->card, buf.index);
	*info = (struct frame_info){
		.index = buf.index,
		.sequence = buf.sequence,
		.broken = buf.flags & V4L2_BUF_FLAG_ERROR,
	};
	for (k = 0; cam->mplane && k < cam->num_planes; k++)
		info->offset[k] = planes[k].data_offset;
	return 0;
}

int camera_start(struct camera *cam, struct npu_error *err)
{
	int ret = video_ioctl(cam, VIDIOC_STREAMON, &cam->type);

	return ret ? npu_error_set(err, ret, "%s: it does not stream: %s", cam->card, strerror(-ret)) : 0;
}

void camera_stop(struct camera *cam)
{
	video_ioctl(cam, VIDIOC_STREAMOFF, &cam->type);
}
