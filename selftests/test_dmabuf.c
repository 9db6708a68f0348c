// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sharing of buffers by the ioctls of DRM: handles, lifetimes, flags, errors, with what every
 * kernel has to share. What all kinds of exporters give, odd ones too, is for libnpu's tests in the
 * guest (tests/guest/share.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_test.h"

#define SIZE	(64u * NPU_PAGE)
#define WAIT	30

FIXTURE(dmabuf) {
	struct npu_dev dev;
	struct npu_buf out;
};

FIXTURE_SETUP(dmabuf)
{
	int ret = npu_dev_open(&self->dev);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, 1024 * NPU_PAGE, 0, 0, &self->out));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, self->out.handle, 0, NPU_VA_OUT,
			      self->out.size, 0));
}

FIXTURE_TEARDOWN(dmabuf)
{
	npu_buf_destroy(self->dev.fd, &self->out);
	npu_dev_close(&self->dev);
}

static int export_handle(int fd, uint32_t handle)
{
	struct drm_prime_handle args = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	return ret ? ret : args.fd;
}

static int import_fd(int fd, int dmabuf, uint32_t *handle)
{
	struct drm_prime_handle args = { .fd = dmabuf };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	*handle = args.handle;
	return ret;
}

static void close_handle(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	npu_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

/* The device copies the imported buffer, and writes it; the exporter's view says what came. */
static void expect_shared(struct __test_metadata *_metadata, FIXTURE_DATA(dmabuf) *self,
			  int dmabuf, uint32_t size)
{
	struct npu_copy in = { .in = NPU_VA_IN, .out = NPU_VA_OUT, .size = size };
	struct npu_copy back = { .in = NPU_VA_OUT, .out = NPU_VA_IN, .size = size, .slot = 1 };
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	uint32_t handle, i;
	uint8_t *cpu;

	cpu = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	ASSERT_NE(MAP_FAILED, cpu);
	ASSERT_EQ(0, npu_ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync));
	for (i = 0; i < size; i += 64)
		cpu[i] = i / 64 * 7 + i / NPU_PAGE + 1;
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	ASSERT_EQ(0, npu_ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync));

	ASSERT_EQ(0, import_fd(self->dev.fd, dmabuf, &handle));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, handle, 0, NPU_VA_IN, size, 0));
	EXPECT_EQ(0, npu_copy_run(&self->dev, &in, WAIT));
	EXPECT_EQ(0, memcmp(cpu, self->out.cpu, size));

	for (i = 0; i < size; i += 64)
		self->out.cpu[i] ^= 0xa5;
	EXPECT_EQ(0, npu_copy_run(&self->dev, &back, WAIT));
	sync.flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ;
	ASSERT_EQ(0, npu_ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync));
	EXPECT_EQ(0, memcmp(cpu, self->out.cpu, size));
	munmap(cpu, size);
	close_handle(self->dev.fd, handle);
	EXPECT_EQ(0, npu_unbind(self->dev.fd, self->dev.vm, NPU_VA_IN, size));
}

/* 26 */
TEST_F(dmabuf, import_of_an_export_is_the_same_handle)
{
	struct drm_npu_bo_query_info info = {};
	struct npu_buf buf;
	uint32_t handle;
	int dmabuf;

	ASSERT_EQ(0, npu_buf_create(self->dev.fd, SIZE, 0, 0, &buf));
	dmabuf = export_handle(self->dev.fd, buf.handle);
	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, import_fd(self->dev.fd, dmabuf, &handle));
	EXPECT_EQ(buf.handle, handle);
	info.handle = handle;
	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_BO_QUERY_INFO, &info));
	EXPECT_EQ(SIZE, info.size);
	EXPECT_EQ(0, info.extra & DRM_NPU_BO_IS_IMPORTED);
	close(dmabuf);
	npu_buf_destroy(self->dev.fd, &buf);
}

/* 27, 28: another file has the memory; the dma-buf outlives the file that it came from. */
TEST_F(dmabuf, memory_outlives_its_file)
{
	struct npu_dev other;
	struct npu_buf buf;
	int dmabuf;

	ASSERT_EQ(0, npu_dev_open(&other));
	ASSERT_EQ(0, npu_buf_create(other.fd, SIZE, 0, 0, &buf));
	ASSERT_EQ(0, npu_bind(other.fd, other.vm, buf.handle, 0, NPU_VA_IN, SIZE, 0));
	dmabuf = export_handle(other.fd, buf.handle);
	ASSERT_LE(0, dmabuf);
	expect_shared(_metadata, self, dmabuf, SIZE);
	npu_buf_destroy(other.fd, &buf);
	npu_dev_close(&other);
	expect_shared(_metadata, self, dmabuf, SIZE);
	close(dmabuf);
}

static int heap_alloc(uint32_t size)
{
	struct dma_heap_allocation_data args = { .len = size, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC), ret;

	if (heap < 0)
		return -errno;
	ret = npu_ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &args);
	close(heap);
	return ret ? ret : (int)args.fd;
}

/* 29, 31, 32 */
TEST_F(dmabuf, system_heap)
{
	struct drm_npu_bo_mmap_offset offset = {};
	struct drm_npu_bo_query_info info = {};
	struct drm_npu_bo_sync_op op = {};
	struct drm_npu_bo_sync sync = { .ops = DRM_NPU_OBJ_ARRAY(1, &op) };
	struct stat first, second;
	int dmabuf, again;

	dmabuf = heap_alloc(SIZE);
	if (dmabuf == -ENOENT)
		SKIP(return, "no system heap");
	ASSERT_LE(0, dmabuf);
	expect_shared(_metadata, self, dmabuf, SIZE);

	ASSERT_EQ(0, import_fd(self->dev.fd, dmabuf, &info.handle));
	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_BO_QUERY_INFO, &info));
	EXPECT_NE(0, info.extra & DRM_NPU_BO_IS_IMPORTED);
	offset.handle = info.handle;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &offset));
	op.handle = info.handle;
	op.size = NPU_PAGE;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_BO_SYNC, &sync));
	again = export_handle(self->dev.fd, info.handle);
	ASSERT_LE(0, again);
	ASSERT_EQ(0, fstat(dmabuf, &first));
	ASSERT_EQ(0, fstat(again, &second));
	EXPECT_EQ(first.st_ino, second.st_ino);
	close(again);
	close(dmabuf);
	close_handle(self->dev.fd, info.handle);
}

/* Pages of a memfd, the last one first: as scattered as can be. */
static int udmabuf_alloc(uint32_t pages)
{
	struct udmabuf_create_list *list;
	int memfd, dev, ret;
	uint32_t i;

	memfd = memfd_create("npu", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	list = calloc(1, sizeof(*list) + pages * sizeof(list->list[0]));
	if (dev < 0 || memfd < 0 || !list || ftruncate(memfd, pages * NPU_PAGE) ||
	    fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		free(list);
		return -ENOENT;
	}
	list->flags = UDMABUF_FLAGS_CLOEXEC;
	list->count = pages;
	for (i = 0; i < pages; i++) {
		list->list[i].memfd = memfd;
		list->list[i].offset = (pages - 1 - i) * NPU_PAGE;
		list->list[i].size = NPU_PAGE;
	}
	ret = ioctl(dev, UDMABUF_CREATE_LIST, list);
	ret = ret < 0 ? -errno : ret;
	free(list);
	close(dev);
	close(memfd);
	return ret;
}

/* 30 */
TEST_F_TIMEOUT(dmabuf, scattered_pages, 60)
{
	static const uint32_t pages[] = { 1, 2, 1024 };
	uint32_t i;
	int dmabuf;

	for (i = 0; i < 3; i++) {
		dmabuf = udmabuf_alloc(pages[i]);
		if (dmabuf == -ENOENT)
			SKIP(return, "no udmabuf");
		ASSERT_LE(0, dmabuf);
		expect_shared(_metadata, self, dmabuf, pages[i] * NPU_PAGE);
		close(dmabuf);
	}
}

/* 33 */
TEST_F(dmabuf, what_is_no_dmabuf)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint32_t handle;

	EXPECT_EQ(-EINVAL, import_fd(self->dev.fd, null, &handle));
	EXPECT_EQ(-EBADF, import_fd(self->dev.fd, -1, &handle));
	close(null);
}

/* 35: a job's fence on a buffer, and back. */
TEST_F(dmabuf, sync_files)
{
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	struct drm_syncobj_handle handle = {
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, .fd = -1,
	};
	struct npu_copy copy = {
		.in = NPU_VA_OUT, .out = NPU_VA_OUT + SIZE, .size = SIZE, .times = 16,
	};
	int dmabuf = export_handle(self->dev.fd, self->out.handle);

	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &handle.handle));
	ASSERT_EQ(0, npu_copy_submit(&self->dev, &copy, handle.handle, NULL));
	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &handle));
	import.fd = handle.fd;
	ASSERT_EQ(0, npu_ioctl(dmabuf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	ASSERT_EQ(0, npu_ioctl(dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export));
	handle.fd = export.fd;
	handle.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE;
	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &handle));
	EXPECT_EQ(0, npu_syncobj_wait(self->dev.fd, handle.handle, 0, WAIT));
	EXPECT_EQ(1, npu_syncobj_status(self->dev.fd, handle.handle));
	close(export.fd);
	close(import.fd);
	close(dmabuf);
}

/* 36: the same memory twice in one job, by two handles and two addresses. */
TEST_F(dmabuf, twice_in_one_job)
{
	struct npu_copy copy = {
		.in = NPU_VA_IN, .out = NPU_VA_IN + SIZE + NPU_PAGE, .size = NPU_PAGE,
	};
	struct npu_dev other;
	struct npu_buf buf;
	uint32_t handle;
	int dmabuf;

	ASSERT_EQ(0, npu_dev_open(&other));
	ASSERT_EQ(0, npu_buf_create(other.fd, SIZE, 0, 0, &buf));
	dmabuf = export_handle(other.fd, buf.handle);
	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, import_fd(self->dev.fd, dmabuf, &handle));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, handle, 0, NPU_VA_IN, SIZE, 0));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, handle, 0, NPU_VA_IN + SIZE, SIZE, 0));
	memset(buf.cpu, 0x77, NPU_PAGE);
	EXPECT_EQ(0, npu_copy_run(&self->dev, &copy, WAIT));
	EXPECT_EQ(0, memcmp(buf.cpu, buf.cpu + NPU_PAGE, NPU_PAGE));
	close_handle(self->dev.fd, handle);
	close(dmabuf);
	npu_buf_destroy(other.fd, &buf);
	npu_dev_close(&other);
}

TEST_HARNESS_MAIN
