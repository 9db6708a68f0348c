// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of a camera as dma-bufs, by the kernel's virtual one: pages of vmalloc(), one by one. And
 * the camera is taken from its driver while its frame is in use.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/dma-buf.h>
#include <linux/videodev2.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_sys.h"
#include "npu_test.h"

#define WAIT		30
#define WIDTH		320u
#define HEIGHT		180u
#define MAX_VIDEO	16

#define VIVID		"/sys/bus/platform/drivers/vivid/"
#define NO_CAMERA	"no virtual camera (vivid)"

FIXTURE(camera) {
	struct npu_dev dev;
	struct npu_buf out;
	int video, frame;	/* the camera, and its frame as a dma-buf */
	size_t size;		/* of the frame, in pages */
	uint8_t *cpu;
};

static int open_vivid(void)
{
	struct v4l2_capability cap = {};
	char path[32];
	int i, fd;

	for (i = 0; i < MAX_VIDEO; i++) {
		snprintf(path, sizeof(path), "/dev/video%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!npu_ioctl(fd, VIDIOC_QUERYCAP, &cap) && !strcmp((char *)cap.driver, "vivid") &&
		    cap.device_caps & V4L2_CAP_VIDEO_CAPTURE)
			return fd;
		close(fd);
	}
	return -ENODEV;
}

/* One buffer of small frames, exported. */
static int make_frame(int video, int *frame, size_t *size)
{
	struct v4l2_format format = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };
	struct v4l2_requestbuffers request = {
		.count = 2, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP,
	};
	struct v4l2_exportbuffer export = {
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .flags = O_RDWR | O_CLOEXEC,
	};
	int ret;

	format.fmt.pix.width = WIDTH;
	format.fmt.pix.height = HEIGHT;
	format.fmt.pix.pixelformat = V4L2_PIX_FMT_YUYV;
	ret = npu_ioctl(video, VIDIOC_S_FMT, &format);
	if (!ret)
		ret = npu_ioctl(video, VIDIOC_REQBUFS, &request);
	if (!ret)
		ret = npu_ioctl(video, VIDIOC_EXPBUF, &export);
	if (ret)
		return ret;
	*frame = export.fd;
	*size = lseek(export.fd, 0, SEEK_END);
	return 0;
}

/* The camera takes a picture; what is in the second buffer is of no interest. */
static int take_picture(int video)
{
	struct v4l2_buffer buf = {
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP,
	};
	int type = V4L2_BUF_TYPE_VIDEO_CAPTURE, i, ret = 0;

	for (i = 0; i < 2 && !ret; i++) {
		buf.index = i;
		ret = npu_ioctl(video, VIDIOC_QBUF, &buf);
	}
	if (!ret)
		ret = npu_ioctl(video, VIDIOC_STREAMON, &type);
	do {
		if (!ret)
			ret = npu_ioctl(video, VIDIOC_DQBUF, &buf);
	} while (!ret && buf.index);
	return ret;
}

FIXTURE_SETUP(camera)
{
	struct drm_prime_handle prime = {};
	int ret = npu_dev_open(&self->dev);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	if (system("modprobe vivid n_devs=1 node_types=1 2>/dev/null"))
		SKIP(return, NO_CAMERA);
	self->video = open_vivid();
	if (self->video < 0)
		SKIP(return, NO_CAMERA);
	ASSERT_EQ(0, make_frame(self->video, &self->frame, &self->size));
	ASSERT_LE(WIDTH * HEIGHT * 2, self->size);
	self->cpu = mmap(NULL, self->size, PROT_READ, MAP_SHARED, self->frame, 0);
	ASSERT_NE(MAP_FAILED, self->cpu);
	prime.fd = self->frame;
	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, prime.handle, 0, NPU_VA_IN, self->size,
			      DRM_NPU_VM_BIND_OP_READONLY));
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, self->size, 0, 0, &self->out));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, self->out.handle, 0, NPU_VA_OUT,
			      self->size, 0));
}

FIXTURE_TEARDOWN(camera)
{
	close(self->video);
	npu_dev_close(&self->dev);
}

/* The device sees the frame that the processor sees. */
static void expect_frame(struct __test_metadata *_metadata, FIXTURE_DATA(camera) *self)
{
	const struct npu_copy copy = { .in = NPU_VA_IN, .out = NPU_VA_OUT, .size = self->size };
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };

	memset(self->out.cpu, 0, self->size);
	ASSERT_EQ(0, npu_copy_run(&self->dev, &copy, WAIT));
	ASSERT_EQ(0, npu_ioctl(self->frame, DMA_BUF_IOCTL_SYNC, &sync));
	EXPECT_EQ(0, memcmp(self->cpu, self->out.cpu, self->size));
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ;
	ASSERT_EQ(0, npu_ioctl(self->frame, DMA_BUF_IOCTL_SYNC, &sync));
}

static bool is_picture(const uint8_t *bytes, size_t size)
{
	return memcmp(bytes, bytes + 1, size - 1) != 0;
}

/* 29 */
TEST_F_TIMEOUT(camera, frame_is_read_by_the_device, 60)
{
	ASSERT_EQ(0, take_picture(self->video));
	EXPECT_TRUE(is_picture(self->cpu, WIDTH * HEIGHT * 2));
	expect_frame(_metadata, self);
}

/* 34: its memory outlives the camera, and the file that it came from. */
TEST_F_TIMEOUT(camera, camera_goes_while_its_frame_is_used, 60)
{
	ASSERT_EQ(0, take_picture(self->video));
	expect_frame(_metadata, self);
	ASSERT_EQ(0, npu_sys_write(VIVID "unbind", "vivid.0"));
	expect_frame(_metadata, self);
	close(self->video);
	self->video = -1;
	EXPECT_TRUE(is_picture(self->cpu, WIDTH * HEIGHT * 2));
	expect_frame(_metadata, self);
	EXPECT_EQ(0, npu_sys_write(VIVID "bind", "vivid.0"));
}

TEST_HARNESS_MAIN
